/* cmd_join.c - `shoal join ADDRESS` gives this machine to a job of another one; `shoal worker` is a worker process
 * of a job, started by its driver: the key comes on standard input, the job's memory as descriptor 3. */
#include "cli/cli.h"

#include "app/app.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/report.h"
#include "env/spill.h"
#include "env/system.h"
#include "train/job.h"
#include "wire/peer.h"
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* ---- join ---- */

struct values {
    uint64_t threads;
    const char *key, *spill;
    double retry_s;
    bool tls;
};

#define AT(member) offsetof(struct values, member)

static const shoal_opt rows[] = {
    {AT(threads), SHOAL_OPT_U64, "threads", 't', "N", "0",
     "threads that run tasks; 0: one per core", .max = TRAIN_THREADS_MAX},
    {AT(key), SHOAL_OPT_STR, "key-file", 0, "FILE", "-",
     "file with the key to join the job; '-' is standard input", .complete = "file"},
    {AT(tls), SHOAL_OPT_FLAG, "tls",
     .help = "the job was started with --tls; the same as 'tls://' before ADDRESS"},
    {AT(retry_s), SHOAL_OPT_DURATION, "retry", 0, "TIME", "1m",
     "how long to try to join again when the line was cut; 0: end instead", .max = 86400},
    {AT(spill), SHOAL_OPT_STR, "spill", 0, "DIR", NULL,
     "keep the job's data and tables in files of this folder, not in memory", .complete = "dir"},
};

struct guest {
    struct cli_context *cx;
    const char *address;
    uint32_t threads;
    shoal_err err;     /* why the application was not found */
    uint64_t since_ns; /* began to wait for the driver; 0: waits no more, or said so */
    bool joined, leaving;
    double retry_s;
};

static const uint64_t QUIET_NS = 5ull * 1000 * 1000 * 1000; /* waiting is told of after that */

/* The driver has said what it trains: we are in, or cannot take part. */
static const shoal_app *find(void *ctx, const char *name)
{
    struct guest *guest = ctx;
    const shoal_app *app = app_open(name, &guest->err);

    guest->since_ns = 0;
    if (app != NULL)
        base_log(&guest->cx->log, BASE_LOG_INFO,
                 "joined %s at %s%s with %u thread%s; Ctrl-C leaves it in good order", app->name,
                 guest->address, guest->joined ? " again" : "", guest->threads,
                 guest->threads == 1 ? "" : "s");
    guest->joined = app != NULL;
    return app;
}

static void cut(void *ctx, const shoal_err *why)
{
    const struct guest *guest = ctx;
    char time[32];

    base_log(&guest->cx->log, BASE_LOG_WARN, "lost the connection to %s (%s); retrying for %s",
             guest->address, why->message, base_format_duration(guest->retry_s, time, sizeof time));
}

static bool stop(void *ctx)
{
    struct guest *guest = ctx;

    if (guest->since_ns > 0 && env_now_ns(guest->cx->env) - guest->since_ns > QUIET_NS) {
        base_log(&guest->cx->log, BASE_LOG_INFO,
                 "%s has not answered yet; a driver may be busy for a while; Ctrl-C gives up",
                 guest->address);
        guest->since_ns = 0;
    }
    if (!atomic_load_explicit(cli_interrupt_flag(), memory_order_relaxed))
        return false;
    guest->leaving = true;
    base_log(&guest->cx->log, BASE_LOG_INFO, "leaving when the tasks here are done");
    return true;
}

/* What can be done about it, where the library cannot know. */
static int explain(const struct guest *guest, shoal_status st, shoal_err *err)
{
    char why[200];

    snprintf(why, sizeof why, "%.199s", err->message);
    if (guest->joined && (st == SHOAL_E_IO || st > 0)) {
        st = base_err(err, SHOAL_E_IO, "the job is gone: %s", why);
        base_err_hint(err, "if it still runs, it does again elsewhere what was begun here");
    }
    if (err->hint[0] == 0 && st == SHOAL_E_DENIED)
        base_err_hint(err, "'shoal jobs --key JOB' prints the key on the job's machine");
    else if (err->hint[0] == 0 && st == SHOAL_E_IO)
        base_err_hint(err, "'shoal jobs --json' says where jobs listen, on their machine");
    return cli_fail(guest->cx, st, err);
}

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    const struct values *v = values;
    shoal_err err = SHOAL_ERR_INIT;
    char host[64] = "", address[WIRE_ADDRESS_SIZE];
    struct guest guest = {.cx = cx,
                          .address = address,
                          .retry_s = v->retry_s,
                          .threads =
                              v->threads > 0 ? (uint32_t)v->threads : env_cpu_count(cx->env)};
    struct train_work_opts opts = {.address = address,
                                   .threads = guest.threads,
                                   .pid = getpid(),
                                   .host = host,
                                   .segment = -1,
                                   .find = find,
                                   .stop = stop,
                                   .retry_ms = (uint64_t)(1000 * v->retry_s),
                                   .cut = cut,
                                   .ctx = &guest};
    shoal_status st;

    (void)arg_count;
    if (wire_address(args[0], v->tls, address, &err) != SHOAL_OK)
        return cli_usage_err(cx, &err);
    (void)gethostname(host, sizeof host - 1);
    if (strcmp(v->key, "-") == 0 && isatty(STDIN_FILENO) == 1)
        base_log(&cx->log, BASE_LOG_INFO,
                 "paste the key that 'shoal jobs --key JOB' prints, then Enter and Ctrl-D");
    st = wire_key_load(cx->env, v->key, &opts.key, &err);
    opts.key.joins = true;
    if (strcmp(err.where, "-") == 0)
        base_err_where(&err, "standard input");
    cli_memory_watch(cx, v->spill);
    if (st == SHOAL_OK && v->spill != NULL)
        st = env_spill_start(cx->env, v->spill, &err);
    if (st == SHOAL_OK) {
        cli_interrupt_start();
        guest.since_ns = env_now_ns(cx->env);
        st = train_work_run(cx->env, &opts, &err);
        cli_interrupt_stop();
    }
    env_memory_explain(cx->env, v->spill, st, &err);
    wire_key_wipe(&opts.key);
    if (st == SHOAL_OK)
        base_log(&cx->log, BASE_LOG_INFO, guest.leaving ? "left" : "the job has ended");
    if (st != SHOAL_OK && guest.err.message[0] != 0)
        err = guest.err;
    if (st == SHOAL_E_CANCELLED && err.message[0] != 0) {
        (void)cli_fail(cx, st, &err);
        cli_interrupt_raise();
    }
    return st == SHOAL_OK ? 0 : explain(&guest, st, &err);
}

const struct cli_command cli_cmd_join = {
    .name = "join",
    .usage = "[options] ADDRESS",
    .summary = "Give this machine to a training job of another one.",
    .description =
        "ADDRESS is where the job listens (see 'shoal train --listen'), as 'shoal jobs "
        "--json' shows it there: with 'tls://' in front, or with --tls, all that passes "
        "is encrypted, and a job that does not do so is not joined. The key is the "
        "one that 'shoal jobs --key JOB' prints there. The job takes this machine as "
        "one more worker until it ends. Ctrl-C or SIGTERM leaves it in good order: what "
        "runs here is finished and handed over, so that nothing is lost or done twice. "
        "When the connection is lost it joins again by itself, for as long as --retry says; "
        "what was under way then runs again, and nothing counts twice.",
    .example = "join 10.0.0.5:7000 --key-file job.key",
    .opts = rows,
    .opt_count = sizeof rows / sizeof rows[0],
    .values_size = sizeof(struct values),
    .arg_min = 1,
    .arg_max = 1,
    .run = run,
};

/* ---- worker ---- */

enum { SEGMENT = 3 };

struct worker_values {
    uint64_t slot, threads;
};

#undef AT
#define AT(member) offsetof(struct worker_values, member)

static const shoal_opt worker_rows[] = {
    {AT(slot), SHOAL_OPT_U64, "slot", 0, "N", "1", "which worker of the job this is", .min = 1,
     .max = TRAIN_WORKERS_MAX},
    {AT(threads), SHOAL_OPT_U64, "threads", 0, "N", "1", "threads that work tasks", .min = 1,
     .max = TRAIN_THREADS_MAX},
};

static const shoal_app *find_app(void *ctx, const char *name)
{
    return app_open(name, ctx);
}

/* SIGTERM is a notice: the executors go elsewhere before we do. */
static bool noticed(void *ctx)
{
    (void)ctx;
    return atomic_load_explicit(cli_interrupt_flag(), memory_order_relaxed);
}

/* The job's memory is a file of a folder where the driver spills, and has none otherwise. */
static void watch_memory(const struct cli_context *cx)
{
    char path[PATH_MAX], name[32];
    snprintf(name, sizeof name, "/proc/self/fd/%d", SEGMENT);
    ssize_t size = readlink(name, path, sizeof path - 1);
    if (size <= 0 || strncmp(path, "/memfd:", 7) == 0)
        return;
    path[size] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return;
    *slash = '\0';
    cli_memory_watch(cx, path);
}

static int work(struct cli_context *cx, const void *values, const char *const *args,
                size_t arg_count)
{
    const struct worker_values *v = values;
    shoal_err err = SHOAL_ERR_INIT;
    char host[64] = "", key[2 * WIRE_KEY_SIZE];
    struct train_work_opts opts = {.address = args[0],
                                   .threads = (uint32_t)v->threads,
                                   .slot = (uint32_t)v->slot,
                                   .pid = getpid(),
                                   .host = host,
                                   .segment = SEGMENT,
                                   .find = find_app,
                                   .stop = noticed,
                                   .ctx = &err};
    shoal_status st;

    (void)arg_count;
    (void)gethostname(host, sizeof host - 1);
    if (fread(key, 1, sizeof key, stdin) != sizeof key)
        return cli_usage(cx, "a worker is started by 'shoal train' and reads its key from it");
    st = wire_key_parse(key, sizeof key, &opts.key, &err);
    (void)signal(SIGINT, SIG_IGN); /* Ctrl-C is the driver's, which tells us */
    watch_memory(cx);
    cli_interrupt_start();
    if (st == SHOAL_OK)
        st = train_work_run(cx->env, &opts, &err);
    cli_interrupt_stop();
    return st == SHOAL_OK ? 0 : 1; /* the driver knows and tells */
}

const struct cli_command cli_cmd_worker = {
    .name = "worker",
    .usage = "[options] ADDRESS",
    .summary = "Run tasks for a job; started by 'shoal train'.",
    .example = "worker --slot 1 127.0.0.1:7000",
    .opts = worker_rows,
    .opt_count = sizeof worker_rows / sizeof worker_rows[0],
    .values_size = sizeof(struct worker_values),
    .arg_min = 1,
    .arg_max = 1,
    .no_config = true,
    .run = work,
};
