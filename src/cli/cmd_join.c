/* cmd_join.c - `shoal join ADDRESS`: gives this machine to a job of another one. */
#include "cli/cli.h"

#include "base/err.h"
#include "cli/address.h"
#include "cli/apps.h"
#include "cli/interrupt.h"
#include "cli/memory.h"
#include "env/spill.h"
#include "train/job.h"
#include <stddef.h>
#include <string.h>
#include <unistd.h>

struct values {
    uint64_t threads;
    const char *key, *spill;
    bool tls;
};

static const struct base_opt rows[] = {
    {.name = "threads",
     .letter = 't',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "0",
     .help = "threads that run tasks; 0: one per core",
     .max = 4096,
     .offset = offsetof(struct values, threads)},
    {.name = "key",
     .letter = 'k',
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .fallback = "-",
     .help = "file with the job's key; '-' is standard input",
     .complete = "file",
     .offset = offsetof(struct values, key)},
    {.name = "tls",
     .type = BASE_OPT_FLAG,
     .help = "the job was started with --tls; the same as 'tls://' before ADDRESS",
     .offset = offsetof(struct values, tls)},
    {.name = "spill",
     .type = BASE_OPT_STR,
     .meta = "DIR",
     .help = "keep the job's data and tables in files of this folder, not in memory",
     .complete = "dir",
     .offset = offsetof(struct values, spill)},
};

struct guest {
    struct cli_context *cx;
    const char *address;
    uint32_t threads;
    shoal_err err;     /* why the application was not found */
    uint64_t since_ns; /* began to wait for the driver; 0: waits no more, or said so */
    bool joined, leaving;
};

static const uint64_t QUIET_NS = 5ull * 1000 * 1000 * 1000; /* waiting is told of after that */

/* The driver has said what it trains: we are in, or cannot take part. */
static const shoal_app *find(void *ctx, const char *name)
{
    struct guest *guest = ctx;
    const shoal_app *app = cli_app_find(name, &guest->err);

    guest->joined = app != NULL;
    guest->since_ns = 0;
    if (app != NULL)
        base_log(&guest->cx->log, BASE_LOG_INFO,
                 "joined %s at %s with %u thread%s; Ctrl-C leaves it in good order", app->name,
                 guest->address, guest->threads, guest->threads == 1 ? "" : "s");
    return app;
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
    char host[64] = "", address[CLI_ADDRESS_SIZE];
    struct guest guest = {.cx = cx,
                          .address = address,
                          .threads =
                              v->threads > 0 ? (uint32_t)v->threads : env_cpu_count(cx->env)};
    struct train_work_opts opts = {.address = address,
                                   .threads = guest.threads,
                                   .pid = getpid(),
                                   .host = host,
                                   .segment = -1,
                                   .find = find,
                                   .stop = stop,
                                   .ctx = &guest};
    shoal_status st;

    (void)arg_count;
    if (cli_address(args[0], v->tls, address, &err) != SHOAL_OK)
        return cli_usage_err(cx, &err);
    (void)gethostname(host, sizeof host - 1);
    if (strcmp(v->key, "-") == 0 && isatty(STDIN_FILENO) == 1)
        base_log(&cx->log, BASE_LOG_INFO,
                 "paste the key that 'shoal jobs --key JOB' prints, then Enter and Ctrl-D");
    st = wire_key_load(cx->env, v->key, &opts.key, &err);
    if (strcmp(err.where, "-") == 0)
        base_err_where(&err, "standard input");
    if (st == SHOAL_OK && v->spill != NULL) {
        cli_memory_watch(cx, v->spill);
        st = env_spill_start(cx->env, v->spill, &err);
    }
    if (st == SHOAL_OK) {
        cli_interrupt_start();
        guest.since_ns = env_now_ns(cx->env);
        st = train_work_run(cx->env, &opts, &err);
        cli_interrupt_stop();
    }
    cli_memory_explain(cx, v->spill, st, &err);
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
    .description = "ADDRESS is where the job listens (see 'shoal train --listen'), as 'shoal jobs "
                   "--json' shows it there: with 'tls://' in front, or with --tls, all that passes "
                   "is encrypted, and a job that does not do so is not joined. The key is the "
                   "one that 'shoal jobs --key JOB' prints there. The job takes this machine as "
                   "one more worker until it ends. Ctrl-C or SIGTERM leaves it in good order: what "
                   "runs here is finished and handed over, so that nothing is lost or done twice.",
    .example = "join 10.0.0.5:7000 --key job.key",
    .opts = rows,
    .opt_count = sizeof rows / sizeof rows[0],
    .values_size = sizeof(struct values),
    .arg_min = 1,
    .arg_max = 1,
    .run = run,
};
