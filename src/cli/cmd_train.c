/* cmd_train.c - `shoal train APP DATA`: trains a model on worker processes of this machine.
 * Tests: tests/cli/test_train*.py, tests/cli/transcripts/train.txt. */
#include "cli/cli.h"

#include "app/app.h"
#include "base/err.h"
#include "cli/report.h"
#include "cli/train_show.h"
#include "train/job.h"
#include "train/result.h"
#include <string.h>

static const double LOOK_S = 0.1; /* between two looks at the job */

/* Words about checkpoints come while the line is drawn. */
struct talk {
    const struct cli_context *cx;
    struct cli_train_line *line;
};

static void say(void *ctx, shoal_note_level level, const char *text)
{
    static const enum base_log_level LEVELS[] = {[SHOAL_NOTE_WARNING] = BASE_LOG_WARN,
                                                 [SHOAL_NOTE_INFO] = BASE_LOG_INFO,
                                                 [SHOAL_NOTE_HINT] = BASE_LOG_DEBUG};
    const struct talk *talk = ctx;

    cli_train_line_end(talk->line);
    base_log(&talk->cx->log, LEVELS[level], "%s", text);
}

/* What to do next, for people. */
static void hint(const struct cli_context *cx, const shoal_job_opts *v, const shoal_app *app)
{
    if (!cx->terminal || cx->json || cx->csv)
        return;
    if (v->model == NULL && app->save != NULL)
        base_log(&cx->log, BASE_LOG_INFO, "model not saved; add --output FILE");
    if (v->report == NULL)
        base_log(&cx->log, BASE_LOG_INFO, "add --report out.html for a page about it");
}

/* What came of the job; a model or page that cannot be written any more does not take the rest
 * away. JSON is one object, with the error in it; where both failed it has the model's, and the
 * page's is a warning. `model`: why there is none. */
static int show(const struct cli_context *cx, const shoal_job_opts *v, const char *const *args,
                const shoal_app *app, const shoal_result *result, shoal_status model_status,
                const shoal_err *model)
{
    shoal_job_opts again = *v;
    struct cli_report report = {cx, v->report, &again, args, 2};
    shoal_err page = SHOAL_ERR_INIT;

    again.resume = false; /* from the beginning: what it went on from is no more */
    if (v->report != NULL) {
        train_result_wrote(result, v->report, NULL);
        page.code = cli_report_write(&report, result, &page);
        if (page.code != SHOAL_OK)
            train_result_wrote(result, NULL, &page);
    }
    bool paged = page.code == SHOAL_OK, kept = model_status == SHOAL_OK;
    int rc = cli_show(cx, result);
    if (paged && v->report != NULL && !cx->json && !cx->csv && cli_flush(cx))
        base_log(&cx->log, BASE_LOG_INFO, "report: %s", v->report);
    if (kept && paged) {
        hint(cx, v, app);
        return rc;
    }
    if (!paged && !kept && cx->json)
        base_log(&cx->log, BASE_LOG_WARN, "no page: %s", page.message);
    else if (!paged && !kept)
        (void)cli_fail(cx, page.code, &page);
    return cx->json ? 1 : cli_fail(cx, kept ? page.code : model_status, kept ? &page : model);
}

/* Data may take hours to read, and nothing is lost then: until the job has begun signals end it at once. */
static shoal_status train(const struct cli_context *cx, const shoal_job_opts *opts,
                          const char *const *args, struct cli_train_line *line, shoal_job **out_job,
                          shoal_err *err)
{
    shoal_status st =
        shoal_job_start(cx->env, args[0], args[1], opts, cli_interrupt_watch(), out_job, err);

    if (st != SHOAL_OK)
        return st;
    cli_interrupt_start();
    for (st = SHOAL_AGAIN; st == SHOAL_AGAIN; st = shoal_job_wait(*out_job, LOOK_S, err)) {
        cli_train_line_draw(line, train_run_master(*out_job));
        cli_train_line_strangers(line, train_run_master(*out_job));
    }
    cli_interrupt_stop();
    return st;
}

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    shoal_job_opts opts = *(const shoal_job_opts *)values;
    struct cli_train_line line = {.cx = cx};
    struct talk talk = {cx, &line};
    shoal_err err = SHOAL_ERR_INIT;
    shoal_job *job = NULL;
    const shoal_app *app = app_open(args[0], &err);

    (void)arg_count;
    if (app == NULL)
        return strchr(args[0], '/') != NULL ? cli_fail(cx, err.code, &err)
                                            : cli_usage_err(cx, &err);
    opts.struct_size = sizeof opts;
    opts.program = ""; /* this one */
    opts.note = say;
    opts.ctx = &talk;
    cli_memory_watch(cx, opts.spill);
    cli_train_line_start(&line, cx, app, args[1]);
    shoal_status st = train(cx, &opts, args, &line, &job, &err);
    cli_train_line_end(&line);
    const shoal_result *result = shoal_job_result(job);
    int rc = result != NULL ? show(cx, &opts, args, app, result, st, &err) : cli_fail(cx, st, &err);
    shoal_job_free(job);
    if (st == SHOAL_E_CANCELLED) {
        fflush(cx->out);
        cli_interrupt_raise();
    }
    return rc;
}

const struct cli_command cli_cmd_train = {
    .name = "train",
    .usage = "[options] APP DATA",
    .summary = "Train a model on worker processes that may come, go and die.",
    .description =
        "APP is one of 'shoal app list', or the path of a shared object with an application in "
        "it. The driver runs in the foreground and starts workers on this machine. While it "
        "runs, 'shoal jobs' lists it, 'shoal scale' changes the number of workers, and killing "
        "any of them costs at most the task it was at. With --checkpoint, killing the driver "
        "costs at most the work since the last checkpoint: the same command with --resume goes "
        "on from there. Ctrl-C writes one more before it ends.\n\n"
        "With --report a page of HTML is written at the end: how the job went and what the "
        "application has learnt, such as topics to browse or paths of coefficients.",
    .example = "train logreg data.svm --workers 2 --output model.shoal",
    .opts_of = shoal_job_opt_rows,
    .values_size = sizeof(shoal_job_opts),
    .arg_min = 2,
    .arg_max = 2,
    .arg_complete = "data",
    .schema_of = shoal_train_schema,
    .json = true,
    .csv = true,
    .run = run,
};
