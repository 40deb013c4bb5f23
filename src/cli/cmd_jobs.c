/* cmd_jobs.c - `shoal jobs`, `shoal scale JOB N` and `shoal drain JOB WORKER`: a look at the jobs
 * that run here, and a hand on them. */
#include "cli/cli.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/columns.h"
#include "cli/jobs.h"
#include "cli/train_show.h"
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { OUT_MAX = 64 << 20, ANSWER_MAX = 4 << 20 };

/* ---- jobs ---- */

/* `saved`: with a column for when. */
static void add_row(struct cli_columns *table, const struct train_listing *job,
                    const struct cli_job_answer *answer, bool saved)
{
    const json_t *status = answer->status;
    double progress = cli_jobs_number(status, "progress"), value = cli_jobs_number(status, "value");
    double age = cli_jobs_number(status, "checkpoint_age_s");
    char ago[32], text[32];

    cli_columns_cell(table, CLI_BOLD, "%s", job->name);
    cli_columns_cell(table, CLI_PLAIN, "%s", job->app);
    cli_columns_cell(table, CLI_PLAIN, "%s", cli_jobs_state(job, answer));
    if (status == NULL) {
        for (int i = saved ? 0 : 1; i < 5; i++)
            cli_columns_cell(table, CLI_DIM, "-");
    } else {
        cli_columns_cell(table, CLI_PLAIN, "%.0f", cli_jobs_number(status, "workers"));
        cli_columns_cell(table, CLI_PLAIN, isfinite(progress) ? "%.0f %%" : "-",
                         floor(100 * progress));
        cli_columns_cell(table, CLI_PLAIN, "%s",
                         isfinite(value) ? cli_train_value(value, 5, text, sizeof text) : "-");
        cli_columns_cell(table, CLI_PLAIN, "%.0f", cli_jobs_number(status, "clocks"));
        if (saved)
            cli_columns_cell(table, CLI_PLAIN, isfinite(age) ? "%s ago" : "-",
                             base_format_duration(floor(fmax(age, 0)), ago, sizeof ago));
    }
    cli_columns_cell(table, CLI_PLAIN, "%s", job->data);
}

static int print_table(const struct cli_context *cx, const struct train_listing *jobs,
                       const struct cli_job_answer *answers, size_t count)
{
    static const char *const HEADS[] = {"JOB",       "APP",    "STATE", "WORKERS", "DONE",
                                        "OBJECTIVE", "CLOCKS", "SAVED", "DATA"};
    enum { SAVED = 7 };
    struct cli_columns table;
    bool saved = false;
    int rc;

    for (size_t i = 0; i < count; i++)
        saved |= isfinite(cli_jobs_number(answers[i].status, "checkpoint_age_s"));
    cli_columns_init(&table, cx, saved ? "lllrrrrrx" : "lllrrrrx");
    for (size_t i = 0; i < BASE_COUNT(HEADS); i++)
        if (i != SAVED || saved)
            cli_columns_cell(&table, CLI_DIM, "%s", HEADS[i]);
    for (size_t i = 0; i < count; i++)
        add_row(&table, &jobs[i], &answers[i], saved);
    rc = cli_columns_print(&table);
    cli_columns_fini(&table);
    for (size_t i = 0; i < count && rc == 0; i++)
        if (answers[i].status == NULL && !cli_jobs_loading(&jobs[i]))
            base_log(&cx->log, BASE_LOG_WARN, "%s", answers[i].err.message);
    return rc;
}

static int show_jobs(const struct cli_context *cx, const struct train_listing *jobs, size_t count)
{
    shoal_err err = SHOAL_ERR_INIT;
    struct cli_job_answer *answers;
    struct base_buf out;
    shoal_status st = cli_jobs_ask_all(cx, jobs, count, &answers, &err);
    int rc;

    if (st != SHOAL_OK)
        return cli_fail(cx, st, &err);
    base_buf_init(&out, env_alloc(cx->env), OUT_MAX);
    if (cx->json) {
        cli_jobs_json(&out, jobs, answers, count);
        rc = cli_print(cx, &out);
    } else {
        rc = print_table(cx, jobs, answers, count);
    }
    base_buf_fini(&out);
    cli_jobs_answers_free(cx, answers, count);
    return rc;
}

struct jobs_values {
    const char *key;
};

static const struct base_opt jobs_rows[] = {
    {.name = "key",
     .type = BASE_OPT_STR,
     .meta = "JOB",
     .help = "print the key of a job instead, for 'shoal join' on another machine",
     .complete = "job",
     .offset = offsetof(struct jobs_values, key)},
};

static int show_key(const struct cli_context *cx, const char *word)
{
    shoal_err err = SHOAL_ERR_INIT;
    struct train_listing job;
    char text[2 * WIRE_KEY_SIZE + 1];
    shoal_status st = cli_jobs_find(cx, word, &job, &err);

    if (st != SHOAL_OK)
        return cli_fail(cx, st, &err);
    if (cli_jobs_loading(&job)) {
        base_err(&err, SHOAL_E_IO, "job '%s' still reads its data", job.name);
        base_err_hint(&err, "ask again in a moment");
        return cli_fail(cx, SHOAL_E_IO, &err);
    }
    wire_key_format(&job.key, text);
    fprintf(cx->out, cx->json ? "{\"v\":1,\"key\":\"%s\"}\n" : "%s\n", text);
    return 0;
}

static int run_jobs(struct cli_context *cx, const void *values, const char *const *args,
                    size_t arg_count)
{
    const struct jobs_values *v = values;
    shoal_err err = SHOAL_ERR_INIT;
    struct train_listing *jobs;
    size_t count;
    shoal_status st;
    int rc = 0;

    (void)args, (void)arg_count;
    if (v->key != NULL)
        return show_key(cx, v->key);
    st = cli_jobs_all(cx, &jobs, &count, &err);
    if (st != SHOAL_OK)
        return cli_fail(cx, st, &err);
    if (count == 0 && !cx->json)
        fputs("no job runs here; start one: shoal train APP DATA\n", cx->err);
    else
        rc = show_jobs(cx, jobs, count);
    base_free(env_alloc(cx->env), jobs);
    return rc;
}

/* ---- scale and drain ---- */

/* Of a status: this worker was told to leave before. */
static bool leaves_already(const json_t *status, uint64_t worker)
{
    const json_t *crew = json_object_get(status, "crew"), *one;
    size_t i;

    json_array_foreach(crew, i, one)
    {
        const char *state = json_string_value(json_object_get(one, "state"));
        if (cli_jobs_number(one, "worker") == (double)worker && state != NULL)
            return strcmp(state, "leaving") == 0;
    }
    return false;
}

static void say(const struct cli_context *cx, const char *name, const char *verb, uint64_t n,
                const json_t *before)
{
    double had = cli_jobs_number(before, "wanted");

    if (strcmp(verb, "drain") == 0)
        fprintf(cx->out, "worker %" PRIu64 " of %s %s", n, name,
                leaves_already(before, n) ? "is ended" : "leaves when its tasks are done");
    else if (had == (double)n)
        fprintf(cx->out, "%s has %" PRIu64 " worker%s already", name, n, n == 1 ? "" : "s");
    else
        fprintf(cx->out, "scaled %s %.0f -> %" PRIu64, name, had, n);
    fprintf(cx->out, "    watch: shoal top %s\n", name);
}

static int tell(struct cli_context *cx, const char *word, const char *verb, const char *argument)
{
    shoal_err err = SHOAL_ERR_INIT;
    struct train_listing job;
    struct base_buf text;
    uint64_t n;
    char line[64];
    json_t *answer = NULL, *before = NULL;
    int rc = 0;

    if (!base_parse_u64(argument, strlen(argument), &n) || n > UINT32_MAX)
        return cli_usage(cx, "expected %s, found '%.40s'",
                         strcmp(verb, "scale") == 0 ? "a whole number of workers"
                                                    : "the number of a worker",
                         argument);
    shoal_status st = cli_jobs_find(cx, word, &job, &err);
    if (st != SHOAL_OK)
        return cli_fail(cx, st, &err);
    base_buf_init(&text, env_alloc(cx->env), ANSWER_MAX);
    before = cli_jobs_ask(cx->env, &job, "status", &text, &err);
    snprintf(line, sizeof line, "%s %" PRIu64, verb, n);
    if (before != NULL)
        answer = cli_jobs_ask(cx->env, &job, line, &text, &err);
    if (answer == NULL)
        rc = cli_fail(cx, err.code, &err);
    else if (cx->json)
        fprintf(cx->out, "%s\n", text.data);
    else
        say(cx, job.name, verb, n, before);
    json_decref(before);
    json_decref(answer);
    base_buf_fini(&text);
    return rc;
}

static int run_scale(struct cli_context *cx, const void *values, const char *const *args,
                     size_t arg_count)
{
    (void)values, (void)arg_count;
    return tell(cx, args[0], "scale", args[1]);
}

static int run_drain(struct cli_context *cx, const void *values, const char *const *args,
                     size_t arg_count)
{
    (void)values, (void)arg_count;
    return tell(cx, args[0], "drain", args[1]);
}

const struct cli_command cli_cmd_jobs = {
    .name = "jobs",
    .usage = "[options]",
    .summary = "List the training jobs that run on this machine.",
    .description = "STATE is 'running', 'loading' while a job reads its data, or 'silent' when it "
                   "does not answer. SAVED, where some job has "
                   "one, is when its last checkpoint was written.",
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
    .summary = "Let a worker of a job end its tasks and go.",
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
