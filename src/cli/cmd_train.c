/* cmd_train.c - `shoal train APP DATA`: trains a model on worker processes of this machine.
 * Tests: tests/cli/test_train*.py, tests/cli/transcripts/train.txt. */
#include "cli/cli.h"

#include "base/err.h"
#include "base/text.h"
#include "cli/address.h"
#include "app/app.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/repeat.h"
#include "cli/train_page.h"
#include "cli/train_show.h"
#include "data/corpus.h"
#include "env/system.h"
#include "train/checkpoint.h"
#include "train/listing.h"
#include "train/options.h"
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SETTINGS_MAX = 1 << 16, SAID_MAX = 1 << 20, STALENESS_MAX = 1000 };

struct values {
    uint64_t workers, threads, seed;
    const char *staleness, *out, *name, *listen;
    const char *checkpoint, *spill, *report;
    double every_s, patience_s, stall_s;
    bool resume, tls;
    shoal_opt_list set;
};

#define AT(member) offsetof(struct values, member)

static const shoal_opt rows[] = {
    {AT(workers), SHOAL_OPT_U64, "workers", 'w', "N", "1",
     "worker processes on this machine; change it later with 'shoal scale'", .min = 1,
     .max = TRAIN_WORKERS_MAX - 1},
    {AT(threads), SHOAL_OPT_U64, "threads", 't', "N", "0",
     "threads of each worker; 0: the machine's cores shared out", .max = TRAIN_THREADS_MAX},
    {AT(staleness), SHOAL_OPT_STR, "staleness", 0, "N",
     .help = "clocks a worker may be ahead of the slowest; 0: none, results equal bit for bit [the "
             "application's]"},
    {AT(set), SHOAL_OPT_LIST, "set", 0, "KEY=VALUE", NULL,
     "an option of the application, see 'shoal app show APP'", .complete = "setting"},
    {AT(out), SHOAL_OPT_STR, "output", 'o', "FILE", NULL, "write the model there",
     .complete = "file"},
    {AT(report), SHOAL_OPT_STR, "report", 0, "FILE", NULL,
     "write an HTML page about the job and what it has learnt", .complete = "file"},
    {AT(seed), SHOAL_OPT_U64, "seed", 's', "N", "1", .help = "of everything drawn"},
    {AT(name), SHOAL_OPT_STR, "name", 0, "NAME", .help = "what 'shoal jobs' calls it [APP-PID]"},
    {AT(listen), SHOAL_OPT_STR, "listen", 0, "ADDRESS", "127.0.0.1:0",
     .help = "where workers and onlookers connect; beyond this machine use --tls"},
    {AT(tls), SHOAL_OPT_FLAG, "tls",
     .help = "encrypt what passes between this process and its workers (TLS 1.3)"},
    {AT(patience_s), SHOAL_OPT_DURATION, "patience", 0, "TIME", "2m",
     "how long workers of other machines wait for this process while it is silent", .min = 2,
     .max = 86400},
    {AT(stall_s), SHOAL_OPT_DURATION, "stall", 0, "TIME", "5m",
     "how long a worker of another machine may have work and end none, before others get it; at "
     "least 10 times the longest task here",
     .min = 1, .max = 1e7},
    {AT(checkpoint), SHOAL_OPT_STR, "checkpoint", 0, "DIR", NULL,
     "keep the job in this folder, for --resume; its files are removed after a good end",
     .complete = "dir"},
    {AT(every_s), SHOAL_OPT_DURATION, "checkpoint-every", 0, "TIME", "60s",
     "time between checkpoints", .min = 0.01, .max = 1e7},
    {AT(resume), SHOAL_OPT_FLAG, "resume",
     .help = "go on from the checkpoint; all else as it was, but for workers and threads"},
    {AT(spill), SHOAL_OPT_STR, "spill", 0, "DIR", NULL,
     "keep data and tables in files of this folder, for data larger than memory",
     .complete = "dir"},
};

/* ---- options to settings ---- */

static shoal_status join_settings(const struct values *v, struct base_buf *out, shoal_err *err)
{
    for (size_t i = 0; i < v->set.count; i++) {
        if (strchr(v->set.items[i], '\n') != NULL)
            return base_err(err, SHOAL_E_INVAL, "--set: a value has no line breaks");
        base_buf_printf(out, "%s\n", v->set.items[i]);
    }
    base_buf_puts(out, "");
    if (base_buf_status(out) == SHOAL_E_LIMIT)
        return base_err(err, SHOAL_E_LIMIT, "--set: more than %d bytes in all", SETTINGS_MAX);
    return base_buf_status(out) == SHOAL_OK ? SHOAL_OK : base_err_nomem(err, "reading options");
}

/* A mistake in them is told before anything is made or read. They become the one text for what they say:
 * it is kept in the model, which the order of options shall not change. */
static shoal_status check_settings(const struct cli_context *cx, const shoal_app *app,
                                   const char *word, struct base_buf *settings, shoal_err *err)
{
    struct base_buf text;
    shoal_status st;

    base_buf_init(&text, settings->alloc, settings->size_max);
    st = train_options_text(env_alloc(cx->env), app, settings->data, &text, err);
    if (st == SHOAL_OK) {
        base_buf_fini(settings);
        *settings = text;
    } else {
        base_buf_fini(&text);
    }
    if (st == SHOAL_E_INVAL && err->hint[0] == 0)
        base_err_hint(err, "'shoal app show %s' shows what it takes", word);
    return st;
}

static shoal_status parse_staleness(const struct values *v, const shoal_app *app, uint32_t *out,
                                    shoal_err *err)
{
    char *end;

    *out = app->staleness;
    if (v->staleness == NULL)
        return SHOAL_OK;
    unsigned long value = strtoul(v->staleness, &end, 10);
    if (*v->staleness < '0' || *v->staleness > '9' || *end != 0 || value > STALENESS_MAX)
        return base_err(err, SHOAL_E_INVAL,
                        "--staleness: expected a whole number up to %d, found '%.40s'",
                        STALENESS_MAX, v->staleness);
    *out = (uint32_t)value;
    return SHOAL_OK;
}

static bool good_name(const char *name)
{
    return name[0] != 0 && strlen(name) < 60 &&
           name[strspn(name,
                       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")] == 0 &&
           name[0] != '.';
}

/* ---- running ---- */

/* Data may take hours to read, and nothing is lost then: up to the first tick signals end it at
 * once. */
static bool tick(void *ctx, const struct train_master *master)
{
    struct cli_train_line *line = ctx;

    if (line->begun_ns == 0)
        cli_interrupt_start();
    cli_train_line_draw(line, master);
    cli_train_line_strangers(line, master);
    return !atomic_load_explicit(cli_interrupt_flag(), memory_order_relaxed);
}

/* Not one of the files that options of the application name. */
static shoal_status check_sets(const struct cli_context *cx, const char *path,
                               const shoal_opt_list *sets, shoal_err *err)
{
    for (size_t i = 0; i < sets->count; i++) {
        const char *value = strchr(sets->items[i], '=');
        if (value != NULL && env_same(cx->env, value + 1, path))
            return base_err(err, SHOAL_E_INVAL, "cannot write '%s': it is also an input", path);
    }
    return SHOAL_OK;
}

/* A file must be writable before hours are spent on it. */
static shoal_status check_file(const struct cli_context *cx, const char *path,
                               const struct train_job_opts *opts, const struct values *v,
                               shoal_err *err)
{
    char beside[PATH_MAX]; /* names of a corpus's words, which are read with it */
    const char *const inputs[] = {opts->path, opts->word, beside};
    struct env_out *out;
    shoal_status st;

    data_corpus_vocab_beside(opts->path, beside, sizeof beside);
    st = cli_output_check(cx, path, inputs, 3, err);
    if (st == SHOAL_OK)
        st = check_sets(cx, path, &v->set, err);
    if (st == SHOAL_OK)
        st = env_create(cx->env, path, &out, err);
    if (st == SHOAL_OK)
        env_discard(out);
    return st;
}

static shoal_status check_model(const struct cli_context *cx, const struct train_job_opts *opts,
                                const struct values *v, shoal_err *err)
{
    if (opts->model == NULL)
        return SHOAL_OK;
    if (opts->app->save == NULL)
        return base_err(err, SHOAL_E_INVAL, "application '%s' leaves no model for --out",
                        opts->app->name);
    if (strcmp(opts->model, "-") == 0)
        return base_err(err, SHOAL_E_INVAL, "--out: a model is a file, not standard output");
    return check_file(cx, opts->model, opts, v, err);
}

/* Nothing else is kept in the folder of checkpoints, which is emptied at the end. */
static shoal_status check_apart(const char *option, const char *path, const char *checkpoints,
                                shoal_err *err)
{
    if (path == NULL || checkpoints == NULL || !env_in_folder(path, checkpoints))
        return SHOAL_OK;
    return base_err(err, SHOAL_E_INVAL, "%s: '%s' is in the folder of checkpoints", option, path);
}

static shoal_status check_report(const struct cli_context *cx, const struct train_job_opts *opts,
                                 const struct values *v, shoal_err *err)
{
    if (v->report == NULL)
        return SHOAL_OK;
    if (strcmp(v->report, "-") == 0)
        return base_err(err, SHOAL_E_INVAL, "--report: a page is a file, not standard output");
    if (env_is_pipe(v->report))
        return base_err(err, SHOAL_E_INVAL, "--report: a page is a file, and '%s' is a pipe",
                        v->report);
    if (v->out != NULL && env_same_place(cx->env, v->report, v->out))
        return base_err(err, SHOAL_E_INVAL, "--report and --out name the same file '%s'",
                        v->report);
    return check_file(cx, v->report, opts, v, err);
}

/* A job that cannot be listed runs all the same, which is told; one of that name stops it. */
static shoal_status claim(const struct cli_context *cx, struct train_job_opts *opts,
                          struct train_claim *out, shoal_err *err)
{
    shoal_status st =
        train_claim_take(cx->env, opts->name, opts->app->name, opts->path, opts->pid, out, err);

    if (st == SHOAL_OK)
        opts->listing = out->listing;
    if (st == SHOAL_OK || st == SHOAL_E_EXISTS)
        return st;
    base_log(&cx->log, BASE_LOG_WARN, "'shoal jobs' will not show this one: %s", err->message);
    *err = (shoal_err)SHOAL_ERR_INIT;
    return SHOAL_OK;
}

static void warn_if_open(const struct cli_context *cx, const char *address)
{
    if (cli_address_is_open(address))
        base_log(
            &cx->log, BASE_LOG_WARN,
            "traffic on '%s' is not encrypted: anyone on that network can read and change it; use "
            "--tls",
            address);
}

/* ---- from beginning to end ---- */

/* Words about checkpoints come while the line is drawn. */
struct talk {
    const struct cli_context *cx;
    struct cli_train_line *line;
};

static void say(void *ctx, enum base_log_level level, const char *text)
{
    const struct talk *talk = ctx;

    cli_train_line_end(talk->line);
    base_log(&talk->cx->log, level, "%s", text);
}

static shoal_status train(struct cli_context *cx, struct train_job_opts *opts,
                          struct cli_trained *trained, shoal_err *err)
{
    struct cli_train_line line;
    struct train_claim ours = {.lock = -1};
    struct talk talk = {cx, &line};
    struct base_log log = {BASE_LOG_DEBUG, say, &talk};
    char steps[48];
    int folder = -1;
    shoal_status st = SHOAL_OK;

    if (opts->checkpoint.dir != NULL)
        st = train_shelf_take(opts->checkpoint.dir, opts->checkpoint.resume, &folder, err);
    if (st == SHOAL_OK)
        st = claim(cx, opts, &ours, err);
    if (st != SHOAL_OK)
        goto out;
    opts->checkpoint.log = &log;
    opts->tick = tick;
    opts->ctx = &line;
    cli_train_line_start(&line, cx, opts->app, opts->path);
    st = train_job_run(cx->env, opts, &trained->result, err);
    if (line.begun_ns != 0)
        cli_interrupt_stop();
    cli_train_line_end(&line);
    train_claim_drop(&ours);
    if (st == SHOAL_E_CANCELLED) {
        shoal_err why = *err;
        base_err(err, st, "stopped after %s", cli_train_steps(&line.stats, steps, sizeof steps));
        base_err_hint(err, "%s", why.hint);
    }
    if (st == SHOAL_OK && folder >= 0 && trained->result.model_status == SHOAL_OK)
        train_shelf_empty(folder);
    trained->cpu_s = env_cpu_all_s();
    opts->checkpoint.log = NULL;
    opts->ctx = NULL;
out:
    env_folder_drop(folder);
    return st;
}

/* The page of the job that has ended, in place of what the file was. */
static shoal_status write_page(const struct cli_context *cx, const struct values *v,
                               const char *const *args, const struct train_job_opts *opts,
                               const struct cli_trained *trained, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(cx->env);
    struct base_buf page, command;
    struct values again = *v;
    shoal_status st;

    again.resume = false; /* from the beginning: what it went on from is no more */
    base_buf_init(&page, alloc, CLI_TRAIN_PAGE_MAX);
    base_buf_init(&command, alloc, SETTINGS_MAX);
    cli_repeat_command(cx->command, &again, args, 2, &command);
    st = base_buf_status(&command);
    if (st == SHOAL_E_LIMIT)
        base_err(err, st, "cannot write the page: a command of more than %d bytes", SETTINGS_MAX);
    else if (st != SHOAL_OK)
        base_err_nomem(err, "writing the page");
    if (st == SHOAL_OK)
        st = cli_train_page(&(struct cli_train_page){trained, opts, command.data, opts->page},
                            &page, err);
    if (st == SHOAL_OK)
        st = env_write_whole(cx->env, v->report, page.data, page.size, err);
    base_buf_fini(&page);
    base_buf_fini(&command);
    return st;
}

/* With --checkpoint the work is not lost: what is left to do can be done again. */
static shoal_err model_error(const struct values *v, const struct cli_trained *trained)
{
    shoal_err err = trained->result.model_err;

    err.code = trained->result.model_status;
    if (v->checkpoint != NULL && (v->resume || trained->result.stats.checkpoints > 0))
        base_err_hint(&err,
                      "the checkpoint in '%s' is kept: mend that and run it again with --resume",
                      v->checkpoint);
    return err;
}

/* What came of the job; a model or page that cannot be written any more does not take the rest
 * away. JSON is one object, with the error in it; where both failed it has the model's, and the
 * page's is a warning. */
static int show(const struct cli_context *cx, const struct values *v, const char *const *args,
                const struct train_job_opts *opts, struct cli_trained *trained)
{
    shoal_err page = SHOAL_ERR_INIT, model = model_error(v, trained);
    bool paged, kept = model.code == SHOAL_OK;

    page.code = v->report != NULL ? write_page(cx, v, args, opts, trained, &page) : SHOAL_OK;
    paged = page.code == SHOAL_OK;
    trained->report = paged ? v->report : NULL;
    trained->model = kept ? trained->model : NULL;
    trained->error = kept ? page : model;
    cli_train_warn(cx, trained);
    int rc = cli_train_print(cx, trained);
    if (!paged && !kept && cx->json)
        base_log(&cx->log, BASE_LOG_WARN, "no page: %s", page.message);
    else if (!paged && !kept)
        (void)cli_fail(cx, page.code, &page);
    if (kept && paged)
        return rc;
    return cx->json ? 1 : cli_fail(cx, trained->error.code, &trained->error);
}

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    const struct values *v = values;
    shoal_err err = SHOAL_ERR_INIT;
    struct train_job_opts opts = TRAIN_JOB_OPTS_INIT;
    struct cli_trained trained = {.model = v->out};
    struct base_buf settings, page;
    char name[64], word[PATH_MAX], address[CLI_ADDRESS_SIZE];
    uint32_t cores = env_cpu_count(cx->env);
    shoal_status st;
    int rc;

    (void)arg_count;
    opts.app = app_open(args[0], &err);
    if (opts.app == NULL)
        return strchr(args[0], '/') != NULL ? cli_fail(cx, err.code, &err)
                                            : cli_usage_err(cx, &err);
    if (v->name != NULL && !good_name(v->name))
        return cli_usage(cx,
                         "--name: up to 59 letters, digits, '-', '_' and '.', the first no '.'");
    if (cli_address(v->listen, v->tls, address, &err) != SHOAL_OK)
        return cli_usage_err(cx, &err);
    if (v->name != NULL && strcmp(v->name, "last") == 0)
        return cli_usage(cx, "--name: 'last' is the job that was started last, whatever its name");
    if (v->resume && v->checkpoint == NULL)
        return cli_usage(cx, "--resume wants to know the folder: --checkpoint DIR");
    snprintf(name, sizeof name, "%s-%lld", opts.app->name, (long long)getpid());
    opts.name = trained.name = v->name != NULL ? v->name : name;
    opts.word = strchr(args[0], '/') != NULL ? env_full_path(args[0], word) : NULL;
    opts.path = args[1];
    opts.workers = (uint32_t)v->workers;
    opts.threads =
        v->threads > 0 ? (uint32_t)v->threads : (cores + opts.workers - 1) / opts.workers;
    opts.seed = v->seed;
    opts.patience_ms = (uint32_t)(1000 * v->patience_s);
    opts.stall_ms = (uint64_t)(1000 * v->stall_s);
    opts.pid = getpid();
    opts.address = address;
    opts.model = v->out;
    opts.checkpoint.dir = v->checkpoint;
    opts.checkpoint.every_ms = (uint64_t)(1000 * v->every_s);
    opts.checkpoint.resume = v->resume;
    trained.app = opts.app;
    trained.threads = opts.threads;
    trained.data_bytes = env_file_bytes(opts.path);
    base_buf_init(&settings, env_alloc(cx->env), SETTINGS_MAX);
    base_buf_init(&trained.said, env_alloc(cx->env), SAID_MAX);
    base_buf_init(&page, env_alloc(cx->env), SHOAL_PAGE_MAX);
    opts.said = &trained.said;
    opts.page = v->report != NULL ? &page : NULL;
    cli_memory_watch(cx, v->spill);
    st = join_settings(v, &settings, &err);
    if (st == SHOAL_OK)
        st = check_settings(cx, opts.app, args[0], &settings, &err);
    if (st == SHOAL_OK)
        st = parse_staleness(v, opts.app, &opts.staleness, &err);
    opts.settings = trained.settings = settings.data;
    if (st == SHOAL_OK)
        st = check_model(cx, &opts, v, &err);
    if (st == SHOAL_OK)
        st = check_apart("--out", v->out, v->checkpoint, &err);
    if (st == SHOAL_OK)
        st = check_apart("--report", v->report, v->checkpoint, &err);
    if (st == SHOAL_OK)
        st = check_report(cx, &opts, v, &err);
    if (st == SHOAL_OK)
        st = env_memory_start(cx->env, v->spill, opts.path, 2, &err);
    opts.memory_max = env_memory_space(cx->env, opts.memory_max);
    if (st == SHOAL_OK) {
        warn_if_open(cx, address);
        st = train(cx, &opts, &trained, &err);
    }
    env_memory_explain(cx->env, v->spill, st, &err);
    rc = st == SHOAL_OK ? show(cx, v, args, &opts, &trained) : cli_fail(cx, st, &err);
    base_buf_fini(&settings);
    base_buf_fini(&page);
    base_buf_fini(&trained.said);
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
    .opts = rows,
    .opt_count = sizeof rows / sizeof rows[0],
    .values_size = sizeof(struct values),
    .arg_min = 2,
    .arg_max = 2,
    .arg_complete = "data",
    .json = true,
    .run = run,
};
