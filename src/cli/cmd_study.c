/* cmd_study.c - `shoal study`: what is wrong with a cluster, from the trace of its jobs, and what
 * to do about it. */
#include "cli/cli.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/cluster.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/study_show.h"
#include "study/advice.h"
#include "study/machines.h"
#include "study/page.h"
#include <stddef.h>
#include <string.h>

enum { SPEC_MAX = 16 << 20 };

static const double DEMAND_FAR = 1.5; /* times the GPUs there are */

struct values {
    const char *cluster, *quotas, *profiles, *report;
    uint32_t format, failures;
    double round_s, restart_s, trial_s;
    uint64_t seed, draws, threads;
    struct base_opt_list sets;
};

struct work {
    struct cli_context *cx;
    const struct values *v;
    struct sched_cluster cluster;
    struct base_buf spec; /* of the cluster */
    struct sim_trace *trace;
    struct study *study;
    bool written; /* the report */
    atomic_uint_fast64_t done;
};

/* ---- inputs ---- */

/* The page takes the place of the table. */
static bool to_stdout(const struct work *w)
{
    return cli_report_to_stdout(w->v->report);
}

static shoal_status check_outputs(const struct work *w, const char *const *args, size_t arg_count,
                                  shoal_err *err)
{
    const char *others[] = {w->v->cluster, w->v->quotas, w->v->profiles};

    if (to_stdout(w) && w->cx->json)
        return base_err(err, SHOAL_E_INVAL,
                        "--report -: standard output has the JSON already; use a file");
    shoal_status st = cli_output_check(w->cx, w->v->report, args, arg_count, err);
    if (st == SHOAL_OK)
        st = cli_output_check(w->cx, w->v->report, others, BASE_COUNT(others), err);
    if (st != SHOAL_OK || w->v->report == NULL || to_stdout(w))
        return st;
    struct env_out *out; /* it must be writable before minutes are spent on it */
    st = env_create(w->cx->env, w->v->report, &out, err);
    if (st == SHOAL_OK)
        env_discard(out);
    return st;
}

/* Queues that only grow are simulated to their end, which takes long: said before it begins. A trace
 * whose jobs do not all state durations says nothing. */
static void warn_of_demand(const struct work *w)
{
    double gpus;

    if (w->v->cluster == NULL || study_machines_demand(w->trace, &gpus, NULL) != SHOAL_OK ||
        gpus < DEMAND_FAR * w->cluster.gpus)
        return;
    base_log(
        &w->cx->log, BASE_LOG_WARN,
        "the jobs ask for %.0f GPUs at a time on average, and there are %u: they will wait for "
        "capacity, whatever the guideline, and the simulation may take long",
        gpus, w->cluster.gpus);
}

/* As given, or by the rule of machines.h; then a kind that a job asks for is not looked at. */
static shoal_status find_cluster(struct work *w, shoal_err *err)
{
    shoal_status st;

    if (w->v->cluster != NULL) {
        st = cli_cluster_load(w->cx, w->v->cluster, &w->cluster, err);
        if (st == SHOAL_OK)
            sched_cluster_format(&w->cluster, &w->spec);
        return st;
    }
    st = study_machines_choose(w->trace, &w->spec, err);
    if (st == SHOAL_OK)
        st = sched_cluster_parse(env_alloc(w->cx->env), w->spec.data, &w->cluster, err);
    for (size_t i = 0; st == SHOAL_OK && i < w->trace->job_count; i++)
        w->trace->jobs[i].want_kinds = 0;
    return st;
}

static shoal_status prepare(struct work *w, const char *const *args, size_t arg_count,
                            shoal_err *err)
{
    shoal_env *env = w->cx->env;
    shoal_status st = check_outputs(w, args, arg_count, err);

    if (st == SHOAL_OK)
        st = sim_trace_load(env, args, arg_count, (enum sim_format)w->v->format, &w->trace, err);
    if (st == SHOAL_OK && w->trace->skipped > 0)
        base_log(&w->cx->log, BASE_LOG_WARN,
                 "%llu line%s of the trace %s left out by a rule of its format, such as jobs "
                 "without GPUs",
                 (unsigned long long)w->trace->skipped, w->trace->skipped == 1 ? "" : "s",
                 w->trace->skipped == 1 ? "was" : "were");
    if (st == SHOAL_OK)
        st = find_cluster(w, err);
    if (st == SHOAL_OK)
        st = sim_trace_bind(env, w->trace, &w->cluster, w->v->profiles, err);
    if (st == SHOAL_OK)
        warn_of_demand(w);
    return st;
}

/* ---- running ---- */

static shoal_status run_study(struct work *w, shoal_err *err)
{
    const struct values *v = w->v;
    struct study_opts opts;

    study_opts_init(&opts);
    opts.quotas = v->quotas;
    opts.failures = (enum study_failures)v->failures;
    opts.round_s = v->round_s;
    opts.restart_s = v->restart_s;
    opts.trial_s = v->trial_s;
    opts.sets = v->sets.items;
    opts.set_count = v->sets.count;
    opts.seed = v->seed;
    opts.draws = (uint32_t)v->draws;
    opts.threads = (uint32_t)v->threads;
    opts.done = &w->done;
    opts.stop = cli_interrupt_flag();
    struct cli_progress *progress = cli_progress_start(
        w->cx, "study", &w->done, study_run_count(&opts) * (uint64_t)w->trace->job_count);
    shoal_status st = study_make(w->cx->env, w->trace, &w->cluster, &opts, &w->study, err);
    cli_progress_stop(progress);
    return st;
}

/* ---- output ---- */

static shoal_status make_page(const void *ctx, const char *command, struct base_buf *out,
                              shoal_err *err)
{
    const struct work *w = ctx;
    struct study_page_opts opts = {
        .command = command, .cluster = w->spec.data, .cluster_chosen = w->v->cluster == NULL};

    return study_page(w->study, &opts, out, err);
}

/* What the tables do not say, and what to do next. */
static void print_notes(const struct work *w)
{
    const struct base_log *log = &w->cx->log;
    const struct study_jobs *jobs = &w->study->jobs;

    if (!cli_flush(w->cx)) /* so that they come after the tables */
        return;
    if (w->v->cluster == NULL)
        base_log(log, BASE_LOG_INFO,
                 "cluster: %u GPUs chosen for a demand of about %.0f %%, as none was given; choose "
                 "with --cluster",
                 w->cluster.gpus, 100 * STUDY_DEMAND);
    if (jobs->too_large > 0)
        base_log(
            log, BASE_LOG_WARN,
            "%llu job%s can never run on this cluster and %s left out, first '%.60s' (%u GPUs)",
            (unsigned long long)jobs->too_large, jobs->too_large == 1 ? "" : "s",
            jobs->too_large == 1 ? "was" : "were", jobs->named[0].name, jobs->named[0].gpus);
    if (w->study->quotas.sum > w->cluster.gpus)
        base_log(log, BASE_LOG_WARN, "the quotas promise %llu GPUs, and there are %u",
                 (unsigned long long)w->study->quotas.sum, w->cluster.gpus);
    for (enum study_run_id r = STUDY_BASE; r < STUDY_RUNS; r++)
        if (!w->study->runs[r].possible)
            base_log(log, BASE_LOG_INFO, "not simulated: %s, as %s", study_guidelines[r].name,
                     w->study->runs[r].why_not);
    if (w->study->pool.gpus > 0) {
        char hours[48];
        base_log(
            log, BASE_LOG_INFO,
            "trial pool: %u GPU%s; trials waited %s hours for it, which the columns of waiting "
            "do not have",
            w->study->pool.gpus, w->study->pool.gpus == 1 ? "" : "s",
            study_hours(w->study->pool_wait_s, hours, sizeof hours));
    }
    if (w->v->failures == STUDY_FAILURES_MODEL && !w->study->few)
        base_log(log, BASE_LOG_INFO,
                 "speeds and failures are modelled, the trace does not tell them; --failures none "
                 "leaves failures out");
    if (w->v->report != NULL && w->written)
        base_log(log, BASE_LOG_INFO, "report: %s", w->v->report);
    else if (w->v->report != NULL)
        return; /* why not is said last */
    else
        base_log(log, BASE_LOG_INFO, "add --report out.html for the page to send on");
}

static void work_fini(struct work *w)
{
    study_free(w->study);
    sim_trace_free(w->trace);
    sched_cluster_fini(&w->cluster);
    base_buf_fini(&w->spec);
    base_free(env_alloc(w->cx->env), w);
}

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    shoal_err err = SHOAL_ERR_INIT;
    struct work *w = base_calloc(env_alloc(cx->env), 1, sizeof *w);
    int rc = 0;

    if (w == NULL)
        return cli_fail(cx, base_err_nomem(&err, "starting"), &err);
    w->cx = cx;
    w->v = values;
    base_buf_init(&w->spec, env_alloc(cx->env), SPEC_MAX);
    shoal_status st = prepare(w, args, arg_count, &err);
    cli_interrupt_start(); /* from here on it is asked for often */
    if (st == SHOAL_OK)
        st = run_study(w, &err);
    bool studied = st == SHOAL_OK;
    if (studied && w->v->report != NULL) {
        st = cli_report_write(&(struct cli_report){w->cx, w->v->report, w->v, args, arg_count},
                              make_page, w, &err);
        w->written = st == SHOAL_OK;
    }
    cli_interrupt_stop();
    struct cli_study shown = {.study = w->study,
                              .cluster = w->spec.data != NULL ? w->spec.data : "",
                              .chosen = w->v->cluster == NULL};
    if (studied && !cx->json && !to_stdout(w)) { /* whatever became of the report */
        rc = cli_study_table(cx, &shown);
        if (rc == 0)
            print_notes(w);
    }
    if (st != SHOAL_OK)
        rc = cli_fail(cx, st, &err);
    else if (cx->json)
        rc = cli_study_json(cx, &shown);
    work_fini(w);
    if (st == SHOAL_E_CANCELLED) {
        fflush(cx->out);
        cli_interrupt_raise();
    }
    return rc;
}

static const char *const failure_names[] = {"model", "none", NULL};

static const struct base_opt rows[] = {
    {.name = "cluster",
     .letter = 'c',
     .type = BASE_OPT_STR,
     .meta = "SPEC",
     .complete = "file",
     .help =
         "machines as nodes x GPUs : kind, such as 321x2:gpu,231x8:gpu, or a file of such groups; "
         "not given: chosen for the trace",
     .offset = offsetof(struct values, cluster)},
    {.name = "quotas",
     .letter = 'q',
     .type = BASE_OPT_STR,
     .meta = "SPEC",
     .complete = "file",
     .help =
         "GPUs each group has a right to, such as vision=64,speech=32, or a file of such lines; "
         "not given: by share of GPU time; none: no quotas",
     .offset = offsetof(struct values, quotas)},
    {.name = "failures",
     .type = BASE_OPT_CHOICE,
     .meta = "HOW",
     .fallback = "model",
     .choices = failure_names,
     .help = "how jobs ended, which no trace says: modelled, or not looked at",
     .offset = offsetof(struct values, failures)},
    {.name = "trial",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "5m",
     .min = 1,
     .max = 1e7,
     .help = "longest run of a job in the trial pool",
     .offset = offsetof(struct values, trial_s)},
    {.name = "set",
     .type = BASE_OPT_LIST,
     .meta = "KEY=VALUE",
     .complete = "knob",
     .help = "a knob of the policy philly for every run, see 'shoal policy show philly'",
     .offset = offsetof(struct values, sets)},
    {.name = "profiles",
     .type = BASE_OPT_STR,
     .meta = "PATH",
     .complete = "file",
     .help = "speeds of models: a throughput table (.json) or a folder of profiles",
     .offset = offsetof(struct values, profiles)},
    {.name = "format",
     .type = BASE_OPT_CHOICE,
     .meta = "NAME",
     .fallback = "auto",
     .choices = sim_format_names,
     .help = "format of the trace",
     .offset = offsetof(struct values, format)},
    {.name = "round",
     .letter = 'r',
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "60s",
     .min = 1,
     .max = 1e7,
     .help = "time between two decisions",
     .offset = offsetof(struct values, round_s)},
    {.name = "restart",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "30s",
     .min = 0,
     .max = 1e7,
     .help = "time a job needs after a start or a move before it makes progress",
     .offset = offsetof(struct values, restart_s)},
    {.name = "seed",
     .letter = 's',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1",
     .help = "seed of the failures drawn",
     .offset = offsetof(struct values, seed)},
    {.name = "draws",
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "3",
     .min = 1,
     .max = STUDY_DRAWS_MAX,
     .help =
         "draws of failures and of submissions up to a round later, for ranges; time grows with "
         "them",
     .offset = offsetof(struct values, draws)},
    {.name = "threads",
     .letter = 't',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "0",
     .min = 0,
     .max = 1024,
     .help = "simulations at the same time; 0: one per core",
     .offset = offsetof(struct values, threads)},
    {.name = "report",
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .complete = "file",
     .help = "write an HTML page to send on",
     .offset = offsetof(struct values, report)},
};

const struct cli_command cli_cmd_study = {
    .name = "study",
    .usage = "[options] TRACE...",
    .summary =
        "Find what is wrong with a cluster from the trace of its jobs, and what to do first.",
    .description =
        "Replays the trace under the policy philly: gangs, quotas per group, locality that is "
        "strict first and given up after waiting. Waiting is split into fragmentation (enough "
        "GPUs are free, but scattered), fair share (the group has used its quota and others have "
        "not) and capacity, by size of job. Then each guideline of the Philly study is simulated "
        "by itself, and all "
        "of them: wait longer for locality, migrate to defragment, dedicated servers, a trial "
        "pool, retry only what can succeed.\n\n"
        "Without --cluster one is chosen: 2- and 8-GPU servers mixed as in the Philly cluster, so "
        "many that the mean demand is about 65 % of the GPUs. Without --quotas each group has the "
        "share of the GPUs that it has of the GPU time. Traces do not say how fast jobs ran "
        "where, or how they ended: both are modelled after the Philly study, and the report says "
        "so.\n\n"
        "Columns: waiting is in hours of all jobs; GPU H SAVED are GPU-hours held less than as it "
        "is, trials counted, of the first draw, beside it the least and the most of all --draws; ~ "
        "is "
        "where a difference may be luck of placement (the base line, run again with submissions "
        "up to a round later, differs as much, or draws differ in its sign); waiting in the trial "
        "pool is in AVG JCT and in no column of waiting; USEFUL is the GPU time of "
        "work "
        "that passes over that of all GPUs, in the same span for every row; AVG JCT is the "
        "completion time of jobs that pass.\n\n"
        "The same trace, options and seed give the same study.",
    .example = "study --report study.html jobs.csv",
    .opts = rows,
    .opt_count = BASE_COUNT(rows),
    .values_size = sizeof(struct values),
    .arg_min = 1,
    .arg_max = 4096,
    .arg_complete = "file",
    .json = true,
    .run = run,
};
