/* cmd_sim.c - `shoal sim`: replay a trace under policies, side by side, and say what each would
 * have done. */
#include "cli/cli.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/event.h"
#include "base/text.h"
#include "cli/cluster.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/sim_prices.h"
#include "cli/sim_show.h"
#include "cli/sim_work.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char cli_sim_cluster[] = "16x4:t4";

static shoal_status find_story_job(struct cli_sim *w, shoal_err *err)
{
    const char *near = NULL;
    size_t distance = 4;

    w->story_job = SIM_NONE;
    if (w->v->job == NULL)
        return SHOAL_OK;
    for (size_t i = 0; i < w->trace->job_count; i++) {
        const char *name = w->trace->jobs[i].name;
        if (strcmp(name, w->v->job) == 0) {
            w->story_job = (uint32_t)i;
            return SHOAL_OK;
        }
        size_t d = i < 10000 ? base_edit_distance(name, w->v->job) : distance;
        if (d < distance) {
            near = name;
            distance = d;
        }
    }
    base_err(err, SHOAL_E_NOTFOUND, "no job '%s' in the trace", w->v->job);
    if (near != NULL)
        base_err_hint(err, "did you mean '%s'?", near);
    return SHOAL_E_NOTFOUND;
}

static void work_fini(struct cli_sim *w)
{
    for (size_t i = 0; i < w->run_count; i++)
        sim_result_free(w->runs[i].result);
    sim_prices_free(w->prices);
    sim_trace_free(w->trace);
    sched_cluster_fini(&w->cluster);
    base_buf_fini(&w->words);
    base_free(env_alloc(w->cx->env), w);
}

/* Seconds since *began, which moves to now. */
static double lap(shoal_env *env, uint64_t *began)
{
    uint64_t now = env_now_ns(env);
    double seconds = (double)(now - *began) * 1e-9;

    *began = now;
    return seconds;
}

/* What is written must not be what is read, nor written twice. */
static shoal_status check_outputs(const struct cli_sim *w, const char *const *args,
                                  size_t arg_count, shoal_err *err)
{
    const struct cli_sim_values *v = w->v;
    const char *others[] = {v->cluster, v->profiles, v->prices};
    const char *outputs[] = {v->report, v->events};

    if (v->events != NULL && strcmp(v->events, "-") == 0)
        return base_err(err, SHOAL_E_INVAL, "--events: use a file, or /dev/stdout");
    if (cli_sim_to_stdout(w) && w->cx->json)
        return base_err(err, SHOAL_E_INVAL,
                        "--report -: standard output has the JSON already; use a file");
    for (size_t i = 0; i < BASE_COUNT(outputs); i++) {
        shoal_status st = cli_output_check(w->cx, outputs[i], args, arg_count, err);
        if (st == SHOAL_OK)
            st = cli_output_check(w->cx, outputs[i], others, BASE_COUNT(others), err);
        if (st != SHOAL_OK)
            return st;
    }
    if (v->report != NULL && v->events != NULL && cli_output_same(w->cx, v->report, v->events))
        return base_err(err, SHOAL_E_INVAL, "--report and --events name the same file '%s'",
                        v->report);
    return SHOAL_OK;
}

static shoal_status prepare(struct cli_sim *w, const char *const *args, size_t arg_count,
                            shoal_err *err)
{
    shoal_env *env = w->cx->env;
    uint64_t began = env_now_ns(env);

    shoal_status st = check_outputs(w, args, arg_count, err);
    if (st == SHOAL_OK)
        st = cli_sim_policies(w, err);
    if (st == SHOAL_OK)
        st = cli_cluster_load(w->cx, w->v->cluster, &w->cluster, err);
    if (st == SHOAL_OK)
        st = cli_sim_prices_load(w->cx, w->v->prices, w->v->prices_from, &w->cluster, &w->prices,
                                 err);
    if (st == SHOAL_OK)
        st = sim_trace_load(env, args, arg_count, (enum sim_format)w->v->format, &w->trace, err);
    if (st != SHOAL_OK)
        return st;
    base_log(&w->cx->log, BASE_LOG_DEBUG, "read %zu job%s (%s) in %.3f s", w->trace->job_count,
             w->trace->job_count == 1 ? "" : "s", w->trace->format, lap(env, &began));
    if (w->trace->skipped > 0)
        base_log(&w->cx->log, BASE_LOG_WARN,
                 "%llu line%s of the trace %s left out by a rule of its format, such as jobs "
                 "without GPUs",
                 (unsigned long long)w->trace->skipped, w->trace->skipped == 1 ? "" : "s",
                 w->trace->skipped == 1 ? "was" : "were");
    st = sim_trace_bind(env, w->trace, &w->cluster, w->v->profiles, err);
    base_log(&w->cx->log, BASE_LOG_DEBUG, "bound them to %u GPU%s of %u kind%s in %.3f s",
             w->cluster.gpus, w->cluster.gpus == 1 ? "" : "s", w->cluster.kind_count,
             w->cluster.kind_count == 1 ? "" : "s", lap(env, &began));
    return st == SHOAL_OK ? find_story_job(w, err) : st;
}

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    shoal_err err = SHOAL_ERR_INIT;
    struct cli_sim *w = base_calloc(env_alloc(cx->env), 1, sizeof *w);
    int rc = 0;

    if (w == NULL)
        return cli_fail(cx, base_err_nomem(&err, "starting"), &err);
    w->cx = cx;
    w->v = values;
    base_buf_init(&w->words, env_alloc(cx->env), 1 << 16);
    shoal_status st = prepare(w, args, arg_count, &err);
    cli_interrupt_start(); /* from here on there are files to tidy up */
    if (st == SHOAL_OK)
        st = cli_sim_open_events(w, &err);
    if (st == SHOAL_OK)
        st = cli_sim_run_all(w, &err);
    shoal_status closed = cli_sim_close_events(w, st == SHOAL_OK, st == SHOAL_OK ? &err : NULL);
    st = st == SHOAL_OK ? closed : st;
    if (st == SHOAL_OK && w->v->report != NULL)
        st = cli_sim_report(w, args, arg_count, &err);
    cli_interrupt_stop();
    if (st != SHOAL_OK)
        rc = cli_fail(cx, st, &err);
    else if (cx->json)
        rc = cli_sim_json(cx, w->results, w->run_count, w->v->seed);
    else if (cli_sim_to_stdout(w))
        rc = 0;
    else if (w->v->job != NULL)
        cli_sim_story(cx, w->results, w->run_count);
    else
        rc = cli_sim_table(cx, w->results, w->run_count);
    if (rc == 0 && !cx->json && !cli_sim_to_stdout(w))
        cli_sim_notes(w);
    work_fini(w);
    if (st == SHOAL_E_CANCELLED) {
        fflush(cx->out);
        cli_interrupt_raise();
    }
    return rc;
}

static const struct base_opt rows[] = {
    {.name = "cluster",
     .letter = 'c',
     .type = BASE_OPT_STR,
     .meta = "SPEC",
     .fallback = cli_sim_cluster,
     .complete = "file",
     .help = "machines as nodes x GPUs : kind, such as 6x4:t4,2x8:a100, or a file of such groups",
     .offset = offsetof(struct cli_sim_values, cluster)},
    {.name = "policy",
     .letter = 'p',
     .type = BASE_OPT_STR,
     .meta = "NAME",
     .fallback = "shoal,fifo,srtf,las,tiresias",
     .complete = "policy",
     .help = "policies to compare, with commas; knobs after colons: fifo,fifo:backfill=easy; see "
             "'shoal policy list'",
     .offset = offsetof(struct cli_sim_values, policy)},
    {.name = "set",
     .type = BASE_OPT_LIST,
     .meta = "KEY=VALUE",
     .complete = "knob",
     .help = "a knob for every policy here that has it, see 'shoal policy show'",
     .offset = offsetof(struct cli_sim_values, sets)},
    {.name = "profiles",
     .type = BASE_OPT_STR,
     .meta = "PATH",
     .complete = "file",
     .help = "speeds of models: a throughput table or fitted model (.json), or folder of profiles",
     .offset = offsetof(struct cli_sim_values, profiles)},
    {.name = "format",
     .type = BASE_OPT_CHOICE,
     .meta = "NAME",
     .fallback = "auto",
     .choices = sim_format_names,
     .help = "format of the trace",
     .offset = offsetof(struct cli_sim_values, format)},
    {.name = "prices",
     .type = BASE_OPT_STR,
     .meta = "PATH",
     .complete = "file",
     .help = "a history of prices, see 'shoal market': a GPU costs at each time what the cheapest "
             "offer of its name does",
     .offset = offsetof(struct cli_sim_values, prices)},
    {.name = "prices-from",
     .type = BASE_OPT_STR,
     .meta = "DATE",
     .help = "the date at which the trace begins [the first in the history]",
     .offset = offsetof(struct cli_sim_values, prices_from)},
    {.name = "round",
     .letter = 'r',
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "60s",
     .min = 1,
     .max = 1e7,
     .help = "time between two decisions",
     .offset = offsetof(struct cli_sim_values, round_s)},
    {.name = "react",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "0s",
     .min = 0,
     .max = 1e7,
     .help = "decide also when a job comes or ends or a node fails, at most once in this time; 0: "
             "at rounds only",
     .offset = offsetof(struct cli_sim_values, react_s)},
    {.name = "restart",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "30s",
     .min = 0,
     .max = 1e7,
     .help = "time a job needs after a start or a move before it makes progress",
     .offset = offsetof(struct cli_sim_values, restart_s)},
    {.name = "lease",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "0s",
     .min = 0,
     .max = 1e9,
     .help = "a job that was placed is not moved for this long",
     .offset = offsetof(struct cli_sim_values, lease_s)},
    {.name = "interference",
     .type = BASE_OPT_F64,
     .meta = "SHARE",
     .fallback = "0",
     .min = 0,
     .max = 0.99,
     .help = "speed lost by jobs that span nodes and meet another such job on one",
     .offset = offsetof(struct cli_sim_values, interference)},
    {.name = "spread",
     .type = BASE_OPT_FLAG,
     .help = "jobs on more nodes than they need run slower, as in the Philly study",
     .offset = offsetof(struct cli_sim_values, spread)},
    {.name = "neighbours",
     .type = BASE_OPT_FLAG,
     .help = "jobs of several GPUs beside other such jobs run slower, likewise",
     .offset = offsetof(struct cli_sim_values, neighbours)},
    {.name = "report-noise",
     .type = BASE_OPT_F64,
     .meta = "SHARE",
     .fallback = "0",
     .min = 0,
     .max = 0.99,
     .help = "times and gradients that adapting jobs report are wrong by up to this share",
     .offset = offsetof(struct cli_sim_values, report_noise)},
    {.name = "report-bad",
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "0",
     .min = 0,
     .max = UINT32_MAX,
     .help = "one job in N reports nonsense; 0: none",
     .offset = offsetof(struct cli_sim_values, report_bad)},
    {.name = "work-error",
     .type = BASE_OPT_F64,
     .meta = "SIGMA",
     .fallback = "0",
     .min = 0,
     .max = CLI_SIM_WORK_ERROR_MAX,
     .help = "what is told of a job's work is wrong by exp(SIGMA z), z normal; 10: nothing is told",
     .offset = offsetof(struct cli_sim_values, work_error)},
    {.name = "halving",
     .type = BASE_OPT_F64,
     .meta = "ETA",
     .fallback = "0",
     .min = 0,
     .max = 1000,
     .help = "at each rung of a sweep with scores the best 1 in ETA jobs go on; 0: all do",
     .offset = offsetof(struct cli_sim_values, halving)},
    {.name = "node-mtbf",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "0s",
     .min = 0,
     .max = 1e10,
     .help = "mean time between failures of a node; 0: nodes do not fail",
     .offset = offsetof(struct cli_sim_values, node_mtbf_s)},
    {.name = "node-repair",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "2h",
     .min = 1,
     .max = 1e7,
     .help = "mean time until a failed node is back",
     .offset = offsetof(struct cli_sim_values, node_repair_s)},
    {.name = "job-failures",
     .type = BASE_OPT_FLAG,
     .help = "jobs fail by class, with the shapes of the Philly study",
     .offset = offsetof(struct cli_sim_values, job_failures)},
    {.name = "checkpoint",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "0s",
     .min = 0,
     .max = 1e9,
     .help = "work between two checkpoints, lost when a node or job fails; 0: a failure loses "
             "nothing",
     .offset = offsetof(struct cli_sim_values, checkpoint_s)},
    {.name = "seed",
     .letter = 's',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1",
     .help = "seed of everything drawn: failures, and policies that draw",
     .offset = offsetof(struct cli_sim_values, seed)},
    {.name = "threads",
     .letter = 't',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "0",
     .min = 0,
     .max = 1024,
     .help = "policies run at the same time; 0: one per core",
     .offset = offsetof(struct cli_sim_values, threads)},
    {.name = "job",
     .letter = 'j',
     .type = BASE_OPT_STR,
     .meta = "NAME",
     .help = "tell the story of one job: when it waited and why, where it ran, what it cost",
     .offset = offsetof(struct cli_sim_values, job)},
    {.name = "report",
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .complete = "file",
     .help = "write an HTML page with pictures",
     .offset = offsetof(struct cli_sim_values, report)},
    {.name = "events",
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .complete = "file",
     .help = "write everything that happened as JSON lines (one policy)",
     .offset = offsetof(struct cli_sim_values, events)},
};

const struct cli_command cli_cmd_sim = {
    .name = "sim",
    .usage = "[options] TRACE...",
    .summary = "Replay a job trace under scheduling policies and compare what each would do.",
    .description =
        "The trace is read whole first; a bad line stops with file, line and column. Formats are "
        "recognised by their first line, or named with --format. '-' is standard input. "
        "Jobs that state a model instead of a duration need --profiles.\n\n"
        "Decisions are made at rounds, all through the run. With --react one is also made when a "
        "job "
        "arrives, ends or fails and when a node fails or returns, though not within that time of "
        "the decision before or of the next round.\n\n"
        "Columns: JCT is completion time, from submission to end; RHO compares it with the time "
        "the job would take "
        "alone on its share of the cluster, 1 or less is fair, WORST is the worst job, UNFAIR the "
        "share of jobs above "
        "1; MISSED, where jobs have deadlines, counts those that did not end in time; BUSY is the "
        "share of GPU time held by jobs; DECIDES is the median time of one decision.\n\n"
        "A job that asks for more GPUs of one kind than the cluster has is rejected when it "
        "arrives, counted, and left "
        "out of the figures. The same trace, options and seed give the same events, byte for byte.",
    .example = "sim --cluster 6x4:t4,2x8:a100 --policy las,srtf jobs.csv",
    .opts = rows,
    .opt_count = BASE_COUNT(rows),
    .values_size = sizeof(struct cli_sim_values),
    .arg_min = 1,
    .arg_max = 4096,
    .arg_complete = "file",
    .json = true,
    .run = run,
};
