/* cmd_worker.c - `shoal worker`: a worker process of a job, started by its driver. The key comes on
 * standard input, the job's memory as descriptor 3. */
#include "cli/cli.h"

#include "base/err.h"
#include "cli/apps.h"
#include "cli/interrupt.h"
#include "cli/memory.h"
#include "train/job.h"
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { SEGMENT = 3 };

struct values {
    uint64_t slot, threads;
};

static const struct base_opt rows[] = {
    {.name = "slot",
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1",
     .help = "which worker of the job this is",
     .min = 1,
     .max = TRAIN_WORKERS_MAX,
     .offset = offsetof(struct values, slot)},
    {.name = "threads",
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1",
     .help = "threads that run tasks",
     .min = 1,
     .max = 4096,
     .offset = offsetof(struct values, threads)},
};

static const shoal_app *find(void *ctx, const char *name)
{
    return cli_app_find(name, ctx);
}

/* SIGTERM is a notice: the executors go elsewhere before we do. */
static bool stop(void *ctx)
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

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    const struct values *v = values;
    shoal_err err = SHOAL_ERR_INIT;
    char host[64] = "", key[2 * WIRE_KEY_SIZE];
    struct train_work_opts opts = {.address = args[0],
                                   .threads = (uint32_t)v->threads,
                                   .slot = (uint32_t)v->slot,
                                   .pid = getpid(),
                                   .host = host,
                                   .segment = SEGMENT,
                                   .find = find,
                                   .stop = stop,
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
    .opts = rows,
    .opt_count = sizeof rows / sizeof rows[0],
    .values_size = sizeof(struct values),
    .arg_min = 1,
    .arg_max = 1,
    .no_config = true,
    .run = run,
};
