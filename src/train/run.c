/* run.c - the public face of training (shoal/job.h): options to a job of job.c, what is checked before hours are
 * spent, the job's name and folder, and its result.
 *
 * The owner's thread does everything but two things: shoal_job_scale and shoal_job_stop leave what is wanted in
 * atomics and post a look at them to the loop. Tests: tests/unit/train/test_run.c, tests/cli/test_train*.py. */
#include "train/job.h"

#include "app/app.h"
#include "base/arena.h"
#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "base/watch.h"
#include "data/corpus.h"
#include "env/folder.h"
#include "env/system.h"
#include "train/checkpoint.h"
#include "train/listing.h"
#include "train/options.h"
#include "train/result.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SETTINGS_MAX = 1 << 16, STALENESS_MAX = 1000, NAMES_MAX = 100 };

struct shoal_job {
    shoal_env *env;
    struct base_arena arena; /* words of the options */
    shoal_job_opts asked;
    const char *word; /* of the application */
    struct train_job_opts opts;
    const char *program[2];
    char address[WIRE_ADDRESS_SIZE];
    struct base_log log;
    struct base_buf settings;
    struct train_learnt learnt;
    int folder; /* of checkpoints; -1: none */
    struct train_claim claim;
    struct train_job *job;
    shoal_watch *watch;
    double cpu_s; /* of this process, when the job began */
    double data_bytes;
    bool over, stopping;
    shoal_status status; /* since it is over */
    shoal_err err;
    struct train_job_result result;
    const shoal_result *made;
    /* for other threads */
    atomic_uint wanted; /* workers; 0: as many as there shall be already */
    atomic_bool stop, ended;
};

/* ---- options ---- */

#define AT(member) offsetof(shoal_job_opts, member)

static const shoal_opt rows[] = {
    {AT(workers), SHOAL_OPT_U64, "workers", 'w', "N", "1",
     "worker processes on this machine; change it later with 'shoal scale'", .min = 1,
     .max = TRAIN_WORKERS_MAX - 1},
    {AT(threads), SHOAL_OPT_U64, "threads", 't', "N", "0",
     "threads of each worker; 0: the machine's cores shared out", .max = TRAIN_THREADS_MAX},
    {AT(staleness), SHOAL_OPT_STR, "staleness", 0, "N",
     .help = "clocks a worker may be ahead of the slowest; 0: none, results equal bit for bit [the "
             "application's]"},
    {AT(sets), SHOAL_OPT_LIST, "set", 0, "KEY=VALUE", NULL,
     "an option of the application, see 'shoal app show APP'", .complete = "setting"},
    {AT(model), SHOAL_OPT_STR, "output", 'o', "FILE", NULL, "write the model there",
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
    {AT(checkpoint_every_s), SHOAL_OPT_DURATION, "checkpoint-every", 0, "TIME", "60s",
     "time between checkpoints", .min = 0.01, .max = 1e7},
    {AT(resume), SHOAL_OPT_FLAG, "resume",
     .help = "go on from the checkpoint; all else as it was, but for workers and threads"},
    {AT(spill), SHOAL_OPT_STR, "spill", 0, "DIR", NULL,
     "keep data and tables in files of this folder, for data larger than memory",
     .complete = "dir"},
};
#undef AT

const shoal_opt *shoal_job_opt_rows(size_t *out_count)
{
    *out_count = BASE_COUNT(rows);
    return rows;
}

void shoal_job_opts_init(shoal_job_opts *opts)
{
    *opts = (shoal_job_opts){.struct_size = sizeof *opts};
    base_opt_defaults(rows, BASE_COUNT(rows), opts);
}

static shoal_status join_settings(const shoal_opt_list *sets, struct base_buf *out, shoal_err *err)
{
    for (size_t i = 0; i < sets->count; i++) {
        if (strchr(sets->items[i], '\n') != NULL)
            return base_err(err, SHOAL_E_INVAL, "--set: a value has no line breaks");
        base_buf_printf(out, "%s\n", sets->items[i]);
    }
    base_buf_puts(out, "");
    if (base_buf_status(out) == SHOAL_E_LIMIT)
        return base_err(err, SHOAL_E_LIMIT, "--set: more than %d bytes in all", SETTINGS_MAX);
    return base_buf_status(out) == SHOAL_OK ? SHOAL_OK : base_err_nomem(err, "reading options");
}

/* A mistake in them is told before anything is made or read. They become the one text for what they say:
 * it is kept in the model, which the order of options shall not change. */
static shoal_status read_settings(shoal_job *job, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(job->env);
    struct base_buf given;

    base_buf_init(&given, alloc, SETTINGS_MAX);
    shoal_status st = join_settings(&job->asked.sets, &given, err);
    if (st == SHOAL_OK) {
        st = train_options_text(alloc, job->opts.app, given.data, &job->settings, err);
        if (st == SHOAL_E_INVAL && err->hint[0] == 0)
            base_err_hint(err, "'shoal app show %s' shows what it takes", job->word);
    }
    base_buf_fini(&given);
    job->opts.settings = job->settings.data;
    return st;
}

static shoal_status parse_staleness(const char *text, const shoal_app *app, uint32_t *out,
                                    shoal_err *err)
{
    char *end;

    *out = app->staleness;
    if (text == NULL)
        return SHOAL_OK;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != 0 || value > STALENESS_MAX)
        return base_err(err, SHOAL_E_INVAL,
                        "--staleness: expected a whole number up to %d, found '%.40s'",
                        STALENESS_MAX, text);
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

static shoal_status check_words(const shoal_job_opts *o, shoal_err *err)
{
    if (o->name != NULL && !good_name(o->name))
        return base_err(err, SHOAL_E_INVAL,
                        "--name: up to 59 letters, digits, '-', '_' and '.', the first no '.'");
    if (o->name != NULL && strcmp(o->name, "last") == 0)
        return base_err(err, SHOAL_E_INVAL,
                        "--name: 'last' is the job that was started last, whatever its name");
    if (o->resume && o->checkpoint == NULL)
        return base_err(err, SHOAL_E_INVAL, "--resume wants to know the folder: --checkpoint DIR");
    return base_opt_check(rows, BASE_COUNT(rows), o, err);
}

/* What workers run is looked for before the data is read. */
static shoal_status find_program(shoal_job *job, shoal_err *err)
{
    const char *word = job->asked.program != NULL ? job->asked.program : "shoal";
    char path[ENV_PATH_SIZE];

    if (*word == '\0')
        return SHOAL_OK; /* this one */
    shoal_status st = env_program_find(word, path, err);
    if (st != SHOAL_OK) {
        base_err_hint(err, "workers run the command 'shoal': install it where $PATH leads, or name "
                           "it in shoal_job_opts.program");
        return st;
    }
    job->program[0] = base_arena_strndup(&job->arena, path, strlen(path));
    job->opts.program = job->program;
    return job->program[0] != NULL ? SHOAL_OK : base_err_nomem(err, "starting a job");
}

/* ---- outputs, before hours are spent ---- */

/* Not one of the files that options of the application name. */
static shoal_status check_sets(const shoal_job *job, const char *path, shoal_err *err)
{
    const shoal_opt_list *sets = &job->asked.sets;

    for (size_t i = 0; i < sets->count; i++) {
        const char *value = strchr(sets->items[i], '=');
        if (value != NULL && env_same(job->env, value + 1, path))
            return base_err(err, SHOAL_E_INVAL, "cannot write '%s': it is also an input", path);
    }
    return SHOAL_OK;
}

/* Nothing that is read, and writable; nothing else is kept in the folder of checkpoints, which is emptied at
 * the end. */
static shoal_status check_output(const shoal_job *job, const char *option, const char *path,
                                 shoal_err *err)
{
    const struct train_job_opts *o = &job->opts;
    char beside[PATH_MAX]; /* names of a corpus's words, which are read with it */
    const char *const inputs[] = {o->path, o->word, beside};
    struct env_out *out;

    if (o->checkpoint.dir != NULL && env_in_folder(path, o->checkpoint.dir))
        return base_err(err, SHOAL_E_INVAL, "%s: '%s' is in the folder of checkpoints", option,
                        path);
    data_corpus_vocab_beside(o->path, beside, sizeof beside);
    shoal_status st = env_folder_spares(job->env, path, inputs, BASE_COUNT(inputs), err);
    if (st == SHOAL_OK)
        st = check_sets(job, path, err);
    if (st == SHOAL_OK)
        st = env_create(job->env, path, &out, err);
    if (st == SHOAL_OK)
        env_discard(out);
    return st;
}

static shoal_status check_model(const shoal_job *job, shoal_err *err)
{
    const char *path = job->opts.model;

    if (path == NULL)
        return SHOAL_OK;
    if (job->opts.app->save == NULL)
        return base_err(err, SHOAL_E_INVAL, "application '%s' leaves no model for --output",
                        job->opts.app->name);
    if (strcmp(path, "-") == 0)
        return base_err(err, SHOAL_E_INVAL, "--output: a model is a file, not standard output");
    return check_output(job, "--output", path, err);
}

static shoal_status check_report(const shoal_job *job, shoal_err *err)
{
    const char *path = job->asked.report, *model = job->opts.model;

    if (path == NULL)
        return SHOAL_OK;
    if (strcmp(path, "-") == 0)
        return base_err(err, SHOAL_E_INVAL, "--report: a page is a file, not standard output");
    if (env_is_pipe(path))
        return base_err(err, SHOAL_E_INVAL, "--report: a page is a file, and '%s' is a pipe", path);
    if (model != NULL && env_same_place(job->env, path, model))
        return base_err(err, SHOAL_E_INVAL, "--report and --output name the same file '%s'", path);
    return check_output(job, "--report", path, err);
}

/* ---- what is told on the way ---- */

static void tell(void *ctx, enum base_log_level level, const char *line)
{
    const shoal_job *job = ctx;

    if (job->asked.note != NULL)
        job->asked.note(job->asked.ctx,
                        level <= BASE_LOG_WARN   ? SHOAL_NOTE_WARNING
                        : level == BASE_LOG_INFO ? SHOAL_NOTE_INFO
                                                 : SHOAL_NOTE_HINT,
                        line);
}

/* What other threads, or the watch, have asked for. */
static void obey(shoal_job *job)
{
    struct train_master *master = train_job_master(job->job);
    uint32_t wanted = atomic_exchange_explicit(&job->wanted, 0, memory_order_relaxed);

    if (wanted > 0)
        (void)!train_master_scale(master, wanted, NULL); /* unless it is ending */
    if (!job->stopping && (atomic_load_explicit(&job->stop, memory_order_relaxed) ||
                           base_watch_stopped(job->watch))) {
        job->stopping = true;
        train_master_stop(master);
    }
}

static void obey_post(void *ctx)
{
    obey(ctx);
}

static void count(shoal_watch *watch, const struct train_stats *s)
{
    if (watch == NULL)
        return;
    double all = s->progress > 0 ? (double)s->units / s->progress : 0;
    atomic_store_explicit(&watch->done, s->units, memory_order_relaxed);
    atomic_store_explicit(&watch->total, isfinite(all) && all < 0x1p63 ? (uint64_t)all : 0,
                          memory_order_relaxed);
}

static bool tick(void *ctx, const struct train_master *master)
{
    shoal_job *job = ctx;
    struct train_stats stats = train_master_stats(master);

    count(job->watch, &stats);
    obey(job);
    return true;
}

/* ---- the start ---- */

/* The caller's words, for as long as the job lives. */
static shoal_status keep_words(shoal_job *job, const char **app, const char **data, shoal_err *err)
{
    shoal_job_opts *o = &job->asked;
    const char **const words[] = {app,        data,       &o->staleness,  &o->model,
                                  &o->name,   &o->listen, &o->checkpoint, &o->spill,
                                  &o->report, &o->program};

    for (size_t i = 0; i < BASE_COUNT(words) + o->sets.count; i++) {
        const char **word =
            i < BASE_COUNT(words) ? words[i] : &o->sets.items[i - BASE_COUNT(words)];
        if (*word == NULL)
            continue;
        *word = base_arena_strndup(&job->arena, *word, strlen(*word));
        if (*word == NULL)
            return base_err_nomem(err, "starting a job");
    }
    return SHOAL_OK;
}

static shoal_status fill_opts(shoal_job *job, const char *data, shoal_err *err)
{
    const shoal_job_opts *a = &job->asked;
    struct train_job_opts *o = &job->opts;
    uint32_t cores = env_cpu_count(job->env), workers = (uint32_t)a->workers;
    char path[ENV_PATH_SIZE];

    if (strchr(job->word, '/') != NULL) {
        const char *full = env_full_path(job->word, path);
        o->word = base_arena_strndup(&job->arena, full, strlen(full));
        if (o->word == NULL)
            return base_err_nomem(err, "starting a job");
    }
    o->path = data;
    o->name = a->name;
    o->workers = workers;
    o->threads = a->threads > 0 ? (uint32_t)a->threads : (cores + workers - 1) / workers;
    o->seed = a->seed;
    o->patience_ms = (uint32_t)(1000 * a->patience_s);
    o->stall_ms = (uint64_t)(1000 * a->stall_s);
    o->pid = env_pid();
    o->address = job->address;
    o->model = a->model;
    o->checkpoint.dir = a->checkpoint;
    o->checkpoint.every_ms = (uint64_t)(1000 * a->checkpoint_every_s);
    o->checkpoint.resume = a->resume;
    o->checkpoint.log = &job->log;
    job->learnt.shown = a->report != NULL;
    o->learnt = &job->learnt;
    o->tick = tick;
    o->ctx = job;
    return SHOAL_OK;
}

/* A name that nobody gave is APP-PID, with a number behind it where this process has such a job already. */
static shoal_status name_it(shoal_job *job, unsigned number, shoal_err *err)
{
    char name[80];

    if (job->asked.name != NULL)
        return SHOAL_OK;
    snprintf(name, sizeof name, number > 1 ? "%s-%lld-%u" : "%s-%lld", job->opts.app->name,
             (long long)job->opts.pid, number);
    job->opts.name = base_arena_strndup(&job->arena, name, strlen(name));
    return job->opts.name != NULL ? SHOAL_OK : base_err_nomem(err, "starting a job");
}

/* A job that cannot be listed runs all the same, which is told; one of that name stops it. */
static shoal_status claim(shoal_job *job, shoal_err *err)
{
    struct train_job_opts *o = &job->opts;
    shoal_status st = SHOAL_E_EXISTS;

    for (unsigned i = 1; st == SHOAL_E_EXISTS && i < NAMES_MAX; i++) {
        *err = (shoal_err)SHOAL_ERR_INIT;
        st = name_it(job, i, err);
        if (st != SHOAL_OK)
            return st;
        st = train_claim_take(job->env, o->name, o->app->name, o->path, o->pid, &job->claim, err);
        if (job->asked.name != NULL)
            break;
    }
    if (st == SHOAL_OK)
        o->listing = job->claim.listing;
    if (st == SHOAL_OK || st == SHOAL_E_EXISTS)
        return st;
    base_log(&job->log, BASE_LOG_WARN, "'shoal jobs' will not show this one: %s", err->message);
    *err = (shoal_err)SHOAL_ERR_INIT;
    return SHOAL_OK;
}

static void let_go(shoal_job *job)
{
    train_claim_drop(&job->claim);
    job->claim.lock = -1;
    env_folder_drop(job->folder);
    job->folder = -1;
}

/* All that can be wrong, in the order in which it is cheap to know. */
static shoal_status check(shoal_job *job, const char *data, shoal_err *err)
{
    shoal_status st = check_words(&job->asked, err);

    if (st == SHOAL_OK)
        st = wire_address(job->asked.listen, job->asked.tls, job->address, err);
    if (st == SHOAL_OK)
        st = fill_opts(job, data, err);
    if (st == SHOAL_OK)
        st = read_settings(job, err);
    if (st == SHOAL_OK)
        st = parse_staleness(job->asked.staleness, job->opts.app, &job->opts.staleness, err);
    if (st == SHOAL_OK)
        st = check_model(job, err);
    if (st == SHOAL_OK)
        st = check_report(job, err);
    if (st == SHOAL_OK)
        st = find_program(job, err);
    return st;
}

static shoal_status start(shoal_job *job, const char *app, const char *data, shoal_err *err)
{
    shoal_status st = keep_words(job, &app, &data, err);

    if (st != SHOAL_OK)
        return st;
    job->word = app;
    job->opts.app = app_open(app, err);
    if (job->opts.app == NULL)
        return err->code != SHOAL_OK ? err->code : SHOAL_E_NOTFOUND;
    st = check(job, data, err);
    if (st != SHOAL_OK)
        return st;
    job->data_bytes = env_file_bytes(data);
    st = env_memory_start(job->env, job->asked.spill, data, 2, err);
    job->opts.memory_max = env_memory_space(job->env, job->opts.memory_max);
    if (st == SHOAL_OK && wire_address_is_open(job->address))
        base_log(&job->log, BASE_LOG_WARN,
                 "traffic on '%s' is not encrypted: anyone on that network can read and change it; "
                 "use --tls",
                 job->address);
    if (st == SHOAL_OK && job->asked.checkpoint != NULL)
        st = train_shelf_take(job->asked.checkpoint, job->asked.resume, &job->folder, err);
    if (st == SHOAL_OK)
        st = claim(job, err);
    base_watch_begin(job->watch, job->opts.app->units, 0);
    env_watch(job->env, job->watch);
    if (st == SHOAL_OK)
        st = train_job_new(job->env, &job->opts, &job->job, err);
    env_watch(job->env, NULL);
    env_memory_explain(job->env, job->asked.spill, st, err);
    return st;
}

shoal_status shoal_job_start(shoal_env *env, const char *app, const char *data,
                             const shoal_job_opts *given, shoal_watch *watch, shoal_job **out_job,
                             shoal_err *err)
{
    shoal_err own =
        SHOAL_ERR_INIT; /* of what was tried, too: the caller's tells of failures alone */
    shoal_job *job;

    if (env == NULL || app == NULL || data == NULL || out_job == NULL)
        return base_err(err, SHOAL_E_INVAL, "a job needs an application, data and a place for it");
    job = base_calloc(env_alloc(env), 1, sizeof *job);
    if (job == NULL)
        return base_err_nomem(err, "starting a job");
    job->env = env;
    job->watch = watch;
    job->cpu_s = env_cpu_all_s();
    job->folder = job->claim.lock = -1;
    job->log = (struct base_log){BASE_LOG_DEBUG, tell, job};
    job->opts = (struct train_job_opts)TRAIN_JOB_OPTS_INIT;
    base_arena_init(&job->arena, env_alloc(env), 0);
    base_buf_init(&job->settings, env_alloc(env), SETTINGS_MAX);
    train_learnt_init(&job->learnt, env_alloc(env), false);
    shoal_job_opts_init(&job->asked);
    if (given != NULL && given->struct_size >= sizeof given->struct_size)
        memcpy(&job->asked, given,
               given->struct_size < sizeof job->asked ? given->struct_size : sizeof job->asked);
    if (job->asked.listen == NULL)
        job->asked.listen = "127.0.0.1:0";
    shoal_status st = start(job, app, data, &own);
    if (st == SHOAL_OK) {
        *out_job = job;
        return st;
    }
    if (err != NULL)
        *err = own;
    shoal_job_free(job);
    return st;
}

void shoal_job_free(shoal_job *job)
{
    if (job == NULL)
        return;
    train_job_free(job->job);
    let_go(job);
    shoal_result_free(job->made);
    base_buf_fini(&job->settings);
    train_learnt_fini(&job->learnt);
    base_arena_fini(&job->arena);
    base_free(env_alloc(job->env), job);
}

/* ---- the end ---- */

const struct train_master *train_run_master(const shoal_job *job)
{
    return train_job_master(job->job);
}

static void say_stopped(const shoal_job *job, shoal_err *err)
{
    struct train_stats stats = train_master_stats(train_job_master(job->job));
    shoal_err why = *err;
    char steps[48];

    base_err(err, SHOAL_E_CANCELLED, "stopped after %s",
             train_steps_text(&stats, steps, sizeof steps));
    if (why.hint[0] == '\0' && job->asked.checkpoint == NULL)
        base_err_hint(err, "nothing was saved; with --checkpoint DIR, --resume goes on from there");
    else
        base_err_hint(err, "%s", why.hint);
}

static shoal_status end_well(shoal_job *job, shoal_err *err)
{
    struct train_ended ended = {&job->opts, &job->result, 0, job->data_bytes};
    shoal_err model = train_result_model_error(&ended);

    count(job->watch, &job->result.stats);
    if (job->folder >= 0 && model.code == SHOAL_OK)
        train_shelf_empty(job->folder);
    ended.cpu_s = env_cpu_all_s() - job->cpu_s;
    shoal_status st = train_result_make(&ended, &job->learnt, &job->made, err);
    if (st == SHOAL_OK && model.code != SHOAL_OK)
        *err = model;
    return st != SHOAL_OK ? st : model.code;
}

static uint64_t to_ns(double seconds)
{
    return seconds < 1e9 ? (uint64_t)(1e9 * fmax(seconds, 0)) : UINT64_MAX;
}

shoal_status shoal_job_wait(shoal_job *job, double timeout_s, shoal_err *err)
{
    if (job == NULL)
        return base_err(err, SHOAL_E_INVAL, "no job to wait for");
    if (!job->over) {
        shoal_err *why = &job->err;
        shoal_status st = train_job_step(job->job, to_ns(timeout_s), &job->result, why);
        if (st == SHOAL_AGAIN)
            return st;
        job->over = true;
        atomic_store_explicit(&job->ended, true, memory_order_relaxed);
        if (st == SHOAL_E_CANCELLED)
            say_stopped(job, why);
        if (st == SHOAL_OK)
            st = end_well(job, why);
        else
            env_memory_explain(job->env, job->asked.spill, st, why);
        job->status = st;
        let_go(job);
    }
    if (job->status != SHOAL_OK && err != NULL)
        *err = job->err;
    return job->status;
}

/* ---- on the way ---- */

void shoal_job_read(const shoal_job *job, shoal_job_state *out)
{
    const struct train_master *master = train_job_master(job->job);
    struct train_stats s = train_master_stats(master);
    double seconds = (double)(env_now_ns(job->env) - train_job_begun_ns(job->job)) * 1e-9;
    size_t size = out->struct_size;
    shoal_job_state state = {.struct_size = size,
                             .progress = s.progress,
                             .value = s.value,
                             .held_out = s.held_out,
                             .seconds = job->made != NULL ? job->result.seconds : seconds,
                             .units_per_s = s.units_per_s,
                             .units = s.units,
                             .iterations = s.iterations,
                             .clocks = s.clocks,
                             .tasks = s.tasks,
                             .checkpoints = s.checkpoints,
                             .workers = s.workers,
                             .wanted = s.wanted,
                             .workers_lost = s.workers_lost,
                             .executors = s.executors,
                             .address = train_master_address(master),
                             .refused = s.refused,
                             .refusal = train_master_refusal(master),
                             .ended = job->over,
                             .resumed = s.resumed};

    memcpy(out, &state, size < sizeof state ? size : sizeof state);
}

shoal_status shoal_job_scale(shoal_job *job, uint32_t workers, shoal_err *err)
{
    if (job == NULL || workers == 0 || workers >= TRAIN_WORKERS_MAX)
        return base_err(err, SHOAL_E_INVAL, "cannot run on %u workers; 1 to %d are allowed",
                        workers, TRAIN_WORKERS_MAX - 1);
    if (atomic_load_explicit(&job->ended, memory_order_relaxed))
        return base_err(err, SHOAL_E_INVAL, "the job has ended");
    atomic_store_explicit(&job->wanted, workers, memory_order_relaxed);
    (void)!env_loop_post(train_job_loop(job->job), obey_post, job); /* else the next tick looks */
    return SHOAL_OK;
}

void shoal_job_stop(shoal_job *job)
{
    if (job == NULL || atomic_load_explicit(&job->ended, memory_order_relaxed))
        return;
    atomic_store_explicit(&job->stop, true, memory_order_relaxed);
    (void)!env_loop_post(train_job_loop(job->job), obey_post, job);
}

const shoal_result *shoal_job_result(const shoal_job *job)
{
    return job != NULL ? job->made : NULL;
}
