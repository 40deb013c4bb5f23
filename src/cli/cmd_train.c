/* cmd_train.c - `shoal train APP DATA`: trains a model on worker processes of this machine.
 * Tests: tests/cli/test_train*.py, tests/cli/transcripts/train.txt. */
#include "cli/cli.h"

#include "app/app.h"
#include "base/err.h"
#include "cli/interrupt.h"
#include "cli/repeat.h"
#include "cli/train_page.h"
#include "cli/train_show.h"
#include "train/job.h"
#include <string.h>

enum { COMMAND_MAX = 1 << 16 };
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

/* The page of the job that has ended, in place of what the file was. */
static shoal_status write_page(const struct cli_context *cx, const shoal_job_opts *v,
                               const char *const *args, const struct train_run_end *end,
                               const struct cli_trained *trained, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(cx->env);
    struct base_buf page, command;
    shoal_job_opts again = *v;
    shoal_status st;

    again.resume = false; /* from the beginning: what it went on from is no more */
    base_buf_init(&page, alloc, CLI_TRAIN_PAGE_MAX);
    base_buf_init(&command, alloc, COMMAND_MAX);
    cli_repeat_command(cx->command, &again, args, 2, &command);
    st = base_buf_status(&command);
    if (st == SHOAL_E_LIMIT)
        base_err(err, st, "cannot write the page: a command of more than %d bytes", COMMAND_MAX);
    else if (st != SHOAL_OK)
        base_err_nomem(err, "writing the page");
    if (st == SHOAL_OK)
        st = cli_train_page(&(struct cli_train_page){trained, end->opts, command.data, end->page},
                            &page, err);
    if (st == SHOAL_OK)
        st = env_write_whole(cx->env, v->report, page.data, page.size, err);
    base_buf_fini(&page);
    base_buf_fini(&command);
    return st;
}

/* What came of the job; a model or page that cannot be written any more does not take the rest
 * away. JSON is one object, with the error in it; where both failed it has the model's, and the
 * page's is a warning. `model`: why there is none. */
static int show(const struct cli_context *cx, const shoal_job_opts *v, const char *const *args,
                const struct train_run_end *end, const shoal_err *model)
{
    const struct train_job_opts *o = end->opts;
    bool paged, kept = model->code == SHOAL_OK;
    shoal_err page = SHOAL_ERR_INIT;
    struct cli_trained trained = {.app = o->app,
                                  .name = o->name,
                                  .model = kept ? o->model : NULL,
                                  .result = *end->result,
                                  .said = *end->said,
                                  .cpu_s = end->cpu_s,
                                  .settings = o->settings,
                                  .threads = o->threads,
                                  .data_bytes = end->data_bytes};

    page.code = v->report != NULL ? write_page(cx, v, args, end, &trained, &page) : SHOAL_OK;
    paged = page.code == SHOAL_OK;
    trained.report = paged ? v->report : NULL;
    trained.error = kept ? page : *model;
    cli_train_warn(cx, &trained);
    int rc = cli_train_print(cx, &trained);
    if (!paged && !kept && cx->json)
        base_log(&cx->log, BASE_LOG_WARN, "no page: %s", page.message);
    else if (!paged && !kept)
        (void)cli_fail(cx, page.code, &page);
    if (kept && paged)
        return rc;
    return cx->json ? 1 : cli_fail(cx, trained.error.code, &trained.error);
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
    struct train_run_end end;
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
    bool well = job != NULL && train_run_end(job, &end);
    int rc = well ? show(cx, &opts, args, &end, &err) : cli_fail(cx, st, &err);
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
    .example = "train logreg data.svm --workers 2 --out model.shoal",
    .opts_of = shoal_job_opt_rows,
    .values_size = sizeof(shoal_job_opts),
    .arg_min = 2,
    .arg_max = 2,
    .arg_complete = "data",
    .json = true,
    .run = run,
};
