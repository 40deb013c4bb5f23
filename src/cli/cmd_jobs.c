/* cmd_jobs.c - `shoal jobs`, `shoal scale JOB N` and `shoal drain JOB WORKER`: a look at the jobs
 * that run here, and a hand on them. */
#include "cli/cli.h"

#include "base/text.h"
#include "shoal/jobs.h"
#include <string.h>

struct jobs_values {
    const char *key;
};

static const shoal_opt jobs_rows[] = {
    {offsetof(struct jobs_values, key), SHOAL_OPT_STR, "key", 0, "JOB", NULL,
     "print the key to join a job instead, for 'shoal join' on another machine", .complete = "job"},
};

static int show_key(const struct cli_context *cx, const char *word)
{
    shoal_err err = SHOAL_ERR_INIT;
    char key[SHOAL_JOB_KEY_SIZE];
    shoal_status st = shoal_jobs_key(cx->env, word, key, &err);

    if (st != SHOAL_OK)
        return cli_fail(cx, st, &err);
    fprintf(cx->out, cx->json ? "{\"v\":1,\"key\":\"%s\"}\n" : "%s\n", key);
    return 0;
}

static int finish(const struct cli_context *cx, shoal_status st, const shoal_result *result,
                  const shoal_err *err)
{
    int rc = st == SHOAL_OK ? cli_show(cx, result) : cli_fail(cx, st, err);

    shoal_result_free(result);
    return rc;
}

static int run_jobs(struct cli_context *cx, const void *values, const char *const *args,
                    size_t arg_count)
{
    const struct jobs_values *v = values;
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    (void)args, (void)arg_count;
    if (v->key != NULL)
        return show_key(cx, v->key);
    shoal_status st = shoal_jobs(cx->env, NULL, &result, &err);
    return finish(cx, st, result, &err);
}

static bool parse_number(const char *text, uint32_t *out)
{
    uint64_t n;

    if (!base_parse_u64(text, strlen(text), &n) || n > UINT32_MAX)
        return false;
    *out = (uint32_t)n;
    return true;
}

static int run_scale(struct cli_context *cx, const void *values, const char *const *args,
                     size_t arg_count)
{
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    uint32_t workers;

    (void)values, (void)arg_count;
    if (!parse_number(args[1], &workers))
        return cli_usage(cx, "expected a whole number of workers, found '%.40s'", args[1]);
    shoal_status st = shoal_jobs_scale(cx->env, args[0], workers, &result, &err);
    return finish(cx, st, result, &err);
}

static int run_drain(struct cli_context *cx, const void *values, const char *const *args,
                     size_t arg_count)
{
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    uint32_t worker;

    (void)values, (void)arg_count;
    if (!parse_number(args[1], &worker))
        return cli_usage(cx, "expected the number of a worker, found '%.40s'", args[1]);
    shoal_status st = shoal_jobs_drain(cx->env, args[0], worker, &result, &err);
    return finish(cx, st, result, &err);
}

const struct cli_command cli_cmd_jobs = {
    .name = "jobs",
    .schema_of = shoal_jobs_schema,
    .usage = "[options]",
    .summary = "List the training jobs that run on this machine.",
    .description = "STATE is 'running', 'loading' while a job reads its data, or 'silent' when it "
                   "does not answer. SAVED AGO, where some job has "
                   "a checkpoint, is how old the last one is.",
    .example = "jobs",
    .opts = jobs_rows,
    .opt_count = sizeof jobs_rows / sizeof jobs_rows[0],
    .values_size = sizeof(struct jobs_values),
    .json = true,
    .run = run_jobs,
};

const struct cli_command cli_cmd_scale = {
    .name = "scale",
    .usage = "[options] JOB WORKERS",
    .summary = "Change the number of workers of a job while it runs.",
    .description = "JOB is a name of 'shoal jobs' or the beginning of one, a process number, or "
                   "'last'. WORKERS is how many run on the job's "
                   "own machine; those that joined from others are not counted. The job does not "
                   "stop: executors move one by one.",
    .example = "scale last 4",
    .arg_min = 2,
    .arg_max = 2,
    .arg_complete = "job",
    .json = true,
    .run = run_scale,
};

const struct cli_command cli_cmd_drain = {
    .name = "drain",
    .usage = "[options] JOB WORKER",
    .summary = "Drain a worker: let it finish its tasks, then remove it.",
    .description =
        "JOB is a name of 'shoal jobs' or the beginning of one, a process number, or "
        "'last'; WORKER is its number "
        "in 'shoal top'. The last worker cannot be drained. What it was at is finished, "
        "nothing runs twice, and the job goes on with one worker less. Asked again while "
        "it leaves, it is ended at once, and what it had begun runs elsewhere: for one "
        "that hangs.",
    .example = "drain last 2",
    .arg_min = 2,
    .arg_max = 2,
    .arg_complete = "job",
    .json = true,
    .run = run_drain,
};
