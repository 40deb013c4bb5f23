/* cmd_jobs.c - `shoal jobs`, `shoal scale JOB N` and `shoal drain JOB WORKER`: a look at the jobs
 * that run here, and a hand on them. */
#include "cli/cli.h"

#include "base/err.h"
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

static shoal_status show_key(const struct cli_context *cx, const char *word, shoal_err *err)
{
    char key[SHOAL_JOB_KEY_SIZE];
    shoal_status st = shoal_jobs_key(cx->env, word, key, err);

    if (st == SHOAL_OK)
        fprintf(cx->out, cx->json ? "{\"v\":1,\"key\":\"%s\"}\n" : "%s\n", key);
    return st;
}

static shoal_status list(struct cli_call *call, shoal_err *err)
{
    const struct jobs_values *v = call->values;

    return v->key != NULL ? show_key(call->cx, v->key, err)
                          : shoal_jobs(call->cx->env, NULL, call->result, err);
}

static shoal_status parse_number(const char *text, const char *what, uint32_t *out, shoal_err *err)
{
    uint64_t n;

    if (!base_parse_u64(text, strlen(text), &n) || n > UINT32_MAX)
        return base_err(err, SHOAL_E_INVAL, "expected %s, found '%.40s'", what, text);
    *out = (uint32_t)n;
    return SHOAL_OK;
}

static shoal_status scale(struct cli_call *call, shoal_err *err)
{
    uint32_t workers;
    shoal_status st = parse_number(call->args[1], "a whole number of workers", &workers, err);

    return st != SHOAL_OK
               ? st
               : shoal_jobs_scale(call->cx->env, call->args[0], workers, call->result, err);
}

static shoal_status drain(struct cli_call *call, shoal_err *err)
{
    uint32_t worker;
    shoal_status st = parse_number(call->args[1], "the number of a worker", &worker, err);

    return st != SHOAL_OK
               ? st
               : shoal_jobs_drain(call->cx->env, call->args[0], worker, call->result, err);
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
    .make = list,
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
    .make = scale,
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
    .make = drain,
};
