/* cmd_sim.c - `shoal sim`: replay a trace under policies, side by side, and say what each would
 * have done. */
#include "cli/cli.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/event.h"
#include "base/text.h"
#include "cli/cluster.h"
#include "cli/columns.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/repeat.h"
#include "cli/sim_prices.h"
#include "cli/sim_show.h"
#include "shoal/version.h"
#include "sim/choice.h"
#include "sim/report.h"
#include "sim/run.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 32, KNOBS_MAX = 128, TEXT_MAX = 64 << 20 };

#define WORK_ERROR_MAX 10.0 /* nothing is told */

static const char default_cluster[] = "16x4:t4";

struct values {
    const char *cluster, *policy, *profiles, *report, *job, *events, *prices, *prices_from;
    uint32_t format;
    double round_s, react_s, restart_s, lease_s, node_mtbf_s, node_repair_s, checkpoint_s;
    double interference, report_noise, work_error, halving;
    bool job_failures, spread, neighbours;
    uint64_t seed, threads, report_bad;
    struct base_opt_list sets;
};

/* One policy with its knobs, and what came of it. */
struct one_run {
    struct sim_choice choice;
    struct sim_opts opts;
    struct sim_result *result;
    shoal_status status;
    shoal_err err;
};

struct work {
    struct cli_context *cx;
    const struct values *v;
    struct sched_cluster cluster;
    struct sim_prices *prices; /* NULL: those of the cluster */
    struct sim_trace *trace;
    struct base_buf words; /* the policy list, cut at its commas and colons */
    struct one_run runs[RUNS_MAX];
    const struct sim_result *results[RUNS_MAX]; /* of the runs, once all are done */
    size_t run_count;
    uint32_t story_job;
    atomic_uint_fast64_t done;
    struct env_out *events;
};

/* ---- policies and knobs ---- */

static bool knows(const struct sched_policy *p, const char *set)
{
    char name[64];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(set, "="), set);
    return base_opt_find(p->opts, p->opt_count, name) != NULL ||
           base_opt_find(sched_place_rows, sched_place_row_count, name) != NULL;
}

/* The names of the knobs of `count` runs and of placement, once each. */
static size_t knob_names(const struct one_run *runs, size_t count, const char **names)
{
    size_t used = 0;

    for (size_t r = 0; r <= count; r++) {
        const struct base_opt *rows = r < count ? runs[r].choice.policy->opts : sched_place_rows;
        size_t row_count = r < count ? runs[r].choice.policy->opt_count : sched_place_row_count;
        for (size_t i = 0; i < row_count; i++) {
            size_t k = 0;
            while (k < used && strcmp(names[k], rows[i].name) != 0)
                k++;
            if (k == used && used < KNOBS_MAX)
                names[used++] = rows[i].name;
        }
    }
    return used;
}

/* Offers the nearest knob, else all of them. err has the message already. */
static shoal_status hint_knobs(const struct one_run *runs, size_t count, const char *set,
                               shoal_err *err)
{
    const char *names[KNOBS_MAX];
    char name[64], list[170] = "";
    size_t used = knob_names(runs, count, names);

    snprintf(name, sizeof name, "%.*s", (int)strcspn(set, "="), set);
    const char *near = base_nearest(name, names, used);
    if (near != NULL) {
        base_err_hint(err, "did you mean '%s'?", near);
        return SHOAL_E_INVAL;
    }
    for (size_t i = 0; i < used; i++) {
        size_t length = strlen(list);
        if (length + strlen(names[i]) + 8 > sizeof list) {
            snprintf(list + length, sizeof list - length, ", ...");
            break;
        }
        snprintf(list + length, sizeof list - length, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    base_err_hint(err, "there are %s", list);
    return SHOAL_E_INVAL;
}

/* Knobs after colons are for their own policy. */
static shoal_status check_sets(const struct one_run *run, shoal_err *err)
{
    for (size_t i = 0; i < run->choice.set_count; i++) {
        const char *set = run->choice.sets[i];
        if (strchr(set, '=') == NULL || knows(run->choice.policy, set))
            continue;
        base_err(err, SHOAL_E_INVAL, "policy '%s' has no knob '%.*s'", run->choice.policy->name,
                 (int)strcspn(set, "="), set);
        return hint_knobs(run, 1, set, err);
    }
    return SHOAL_OK;
}

/* A --set goes to every policy that has the knob; one that none has is a mistake. */
static shoal_status spread_sets(struct work *w, shoal_err *err)
{
    for (size_t i = 0; i < w->v->sets.count; i++) {
        const char *set = w->v->sets.items[i];
        size_t taken = 0;
        for (size_t r = 0; r < w->run_count; r++)
            if (knows(w->runs[r].choice.policy, set) &&
                w->runs[r].choice.set_count < SIM_SETS_MAX) {
                w->runs[r].choice.sets[w->runs[r].choice.set_count++] = set;
                taken++;
            }
        if (taken == 0) {
            base_err(err, SHOAL_E_INVAL, "no policy here has a knob '%.*s'", (int)strcspn(set, "="),
                     set);
            return hint_knobs(w->runs, w->run_count, set, err);
        }
    }
    return SHOAL_OK;
}

/* The comma after which the next policy of the list begins, or NULL. A word with a '=' names none:
 * after a knob it belongs to that, as in hierarchical:weights=research=2,web=1. */
static char *next_comma(char *list)
{
    char *comma = strchr(list, ',');

    while (comma != NULL && comma[1 + strcspn(comma + 1, ",:=")] == '=' &&
           memchr(list, ':', (size_t)(comma - list)) != NULL)
        comma = strchr(comma + 1, ',');
    return comma;
}

static shoal_status parse_policies(struct work *w, shoal_err *err)
{
    base_buf_puts(&w->words, w->v->policy);
    if (base_buf_status(&w->words) != SHOAL_OK)
        return base_err_nomem(err, "reading the policies");
    for (char *p = w->words.data; p != NULL;) {
        char *comma = next_comma(p);
        if (comma != NULL)
            *comma = '\0';
        if (w->run_count == RUNS_MAX)
            return base_err(err, SHOAL_E_INVAL, "more than %d policies at once", RUNS_MAX);
        shoal_status st = sim_choice_parse(p, &w->runs[w->run_count].choice, err);
        if (st == SHOAL_OK)
            st = check_sets(&w->runs[w->run_count], err);
        if (st == SHOAL_E_NOTFOUND) { /* an unknown name in an option is a mistake in the call */
            if (strchr(p, '=') != NULL)
                base_err_hint(
                    err, "knobs follow their policy after a colon: %s:%s",
                    w->run_count > 0 ? w->runs[w->run_count - 1].choice.policy->name : "POLICY", p);
            err->code = SHOAL_E_INVAL;
            return SHOAL_E_INVAL;
        }
        if (st != SHOAL_OK)
            return st;
        w->run_count++;
        p = comma != NULL ? comma + 1 : NULL;
    }
    return spread_sets(w, err);
}

/* ---- inputs ---- */

static shoal_status find_story_job(struct work *w, shoal_err *err)
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

/* ---- running ---- */

static shoal_status write_event(void *ctx, const char *line, size_t size, shoal_err *err)
{
    struct work *w = ctx;

    return env_append(w->events, line, size, err);
}

static shoal_status open_events(struct work *w, shoal_err *err)
{
    if (w->v->events == NULL)
        return SHOAL_OK;
    if (w->run_count != 1)
        return base_err(err, SHOAL_E_INVAL, "--events takes one policy, not %zu", w->run_count);
    return env_create(w->cx->env, w->v->events, &w->events, err);
}

static shoal_status close_events(struct work *w, bool keep, shoal_err *err)
{
    struct env_out *events = w->events;

    w->events = NULL;
    if (events != NULL && keep)
        return env_commit(events, err);
    env_discard(events);
    return SHOAL_OK;
}

static void prepare_run(struct work *w, struct one_run *run)
{
    const struct values *v = w->v;

    sim_opts_init(&run->opts);
    run->opts.policy = run->choice.policy;
    run->opts.sets = run->choice.sets;
    run->opts.set_count = run->choice.set_count;
    run->opts.round_s = v->round_s;
    run->opts.react_s = v->react_s;
    run->opts.restart_s = v->restart_s;
    run->opts.lease_s = v->lease_s;
    run->opts.interference = v->interference;
    run->opts.spread = v->spread;
    run->opts.neighbours = v->neighbours;
    run->opts.report_noise = v->report_noise;
    run->opts.report_bad = (uint32_t)v->report_bad;
    run->opts.work_error = v->work_error < WORK_ERROR_MAX ? v->work_error : (double)INFINITY;
    run->opts.halving = v->halving;
    run->opts.node_mtbf_s = v->node_mtbf_s;
    run->opts.node_repair_s = v->node_repair_s;
    run->opts.job_failures = v->job_failures;
    run->opts.checkpoint_s = v->checkpoint_s;
    run->opts.prices = w->prices;
    run->opts.seed = v->seed;
    run->opts.record = v->report != NULL;
    run->opts.shares = w->cx->json || w->story_job != SIM_NONE;
    run->opts.story_job = w->story_job;
    run->opts.done = &w->done;
    run->opts.stop = cli_interrupt_flag();
    if (w->events != NULL) {
        run->opts.on_event = write_event;
        run->opts.event_ctx = w;
    }
}

static void run_one(void *ctx, size_t index)
{
    struct work *w = ctx;
    struct one_run *run = &w->runs[index];

    run->status = sim_run(w->cx->env, w->trace, &w->cluster, &run->opts, &run->result, &run->err);
}

static shoal_status run_all(struct work *w, shoal_err *err)
{
    for (size_t i = 0; i < w->run_count; i++)
        prepare_run(w, &w->runs[i]);
    struct cli_progress *progress =
        cli_progress_start(w->cx, "sim", &w->done, (uint64_t)w->run_count * w->trace->job_count);
    shoal_status st =
        env_parallel(w->cx->env, w->run_count, (uint32_t)w->v->threads, run_one, w, err);
    cli_progress_stop(progress);
    for (size_t i = 0; i < w->run_count && st == SHOAL_OK; i++) {
        const struct one_run *run = &w->runs[i];
        w->results[i] = run->result;
        if (run->status != SHOAL_OK) {
            st = run->status;
            *err = run->err;
        } else {
            const struct sim_metrics *m = &run->result->metrics;
            base_log(&w->cx->log, BASE_LOG_DEBUG,
                     "%s: %llu rounds, %.3f CPU s, %.3f of them deciding", run->result->policy,
                     (unsigned long long)m->rounds, m->cpu_s, m->decision_s);
        }
    }
    return st;
}

/* ---- output ---- */

/* Jobs that failed for good, which may differ between policies. */
static void note_failed(const struct work *w)
{
    uint64_t least = UINT64_MAX, most = 0;
    char failed[32], jobs[32];

    for (size_t i = 0; i < w->run_count; i++) {
        uint64_t n = w->results[i]->metrics.failed;
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    if (most == 0)
        return;
    base_log(&w->cx->log, BASE_LOG_WARN,
             "%s%s of %s jobs failed and %s left out of the completion times",
             least < most ? "up to " : "", base_format_count(most, failed, sizeof failed),
             base_format_count(w->results[0]->metrics.jobs, jobs, sizeof jobs),
             most == 1 ? "is" : "are");
}

static void note_cost(const struct work *w)
{
    const struct sched_kind *kind = w->cluster.kinds;

    if (w->prices != NULL) {
        base_log(&w->cx->log, BASE_LOG_INFO,
                 "no cost: a GPU kind was used when neither the price history nor the cluster "
                 "(usd=) has a price");
        return;
    }

    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        if (w->cluster.kinds[k].usd_gpu_h < 0) {
            kind = &w->cluster.kinds[k];
            break;
        }
    base_log(
        &w->cx->log, BASE_LOG_INFO,
        "no cost: GPU kind '%s' has no list price; give one, such as --cluster 4x8:%s:usd=2.10",
        kind->name, kind->name);
}

/* What the table does not say, and what to do next. */
static void print_notes(const struct work *w)
{
    const struct sim_metrics *m = &w->runs[0].result->metrics;
    const struct base_log *log = &w->cx->log;

    if (!cli_flush(w->cx)) /* so that they come after the table */
        return;
    if (w->v->cluster == default_cluster)
        base_log(log, BASE_LOG_INFO, "cluster: %s, as none was given; choose with --cluster",
                 default_cluster);
    if (m->rejected > 0)
        base_log(log, BASE_LOG_WARN,
                 "%llu of %llu job%s can never run on this cluster and %s left out",
                 (unsigned long long)m->rejected, (unsigned long long)m->jobs,
                 m->jobs == 1 ? "" : "s", m->rejected == 1 ? "was" : "were");
    if (m->stopped > 0)
        base_log(log, BASE_LOG_INFO, "%llu of %llu jobs were stopped at a rung of their sweep",
                 (unsigned long long)m->stopped, (unsigned long long)m->jobs);
    else if (w->v->halving > 0)
        base_log(log, BASE_LOG_WARN,
                 "--halving stopped nobody: it needs jobs of one app that all have a score");
    note_failed(w);
    cli_sim_note_unproven(w->cx, w->results, w->run_count);
    if (w->prices != NULL)
        cli_sim_prices_note(w->cx, w->prices, &w->cluster);
    if (isnan(m->cost_usd))
        note_cost(w);
    if (w->v->report != NULL)
        base_log(log, BASE_LOG_INFO, "report: %s", w->v->report);
    else if (w->v->job == NULL)
        base_log(log, BASE_LOG_INFO,
                 "add --report out.html for pictures, --job NAME for the story of one job");
}

/* The page takes the place of the table. */
static bool to_stdout(const struct work *w)
{
    return w->v->report != NULL && strcmp(w->v->report, "-") == 0;
}

static shoal_status write_report(const struct work *w, const char *const *args, size_t arg_count,
                                 shoal_err *err)
{
    struct base_buf page, command;

    base_buf_init(&page, env_alloc(w->cx->env), TEXT_MAX);
    base_buf_init(&command, env_alloc(w->cx->env), TEXT_MAX);
    cli_repeat_command(w->cx->command, w->v, args, arg_count, &command);
    shoal_status st = base_buf_status(&command);
    struct sim_report_opts opts = {.command = command.data,
                                   .seed = w->v->seed,
                                   .round_s = w->v->round_s,
                                   .react_s = w->v->react_s};
    st = st == SHOAL_OK ? sim_report(w->results, w->run_count, &opts, &page, err)
                        : base_err_nomem(err, "writing the report");
    if (st == SHOAL_OK && to_stdout(w))
        (void)cli_put(w->cx, page.data, page.size);
    else if (st == SHOAL_OK)
        st = env_write_whole(w->cx->env, w->v->report, page.data, page.size, err);
    base_buf_fini(&page);
    base_buf_fini(&command);
    return st;
}

static void work_fini(struct work *w)
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
static shoal_status check_outputs(const struct work *w, const char *const *args, size_t arg_count,
                                  shoal_err *err)
{
    const struct values *v = w->v;
    const char *others[] = {v->cluster, v->profiles, v->prices};
    const char *outputs[] = {v->report, v->events};

    if (v->events != NULL && strcmp(v->events, "-") == 0)
        return base_err(err, SHOAL_E_INVAL, "--events: use a file, or /dev/stdout");
    if (to_stdout(w) && w->cx->json)
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

static shoal_status prepare(struct work *w, const char *const *args, size_t arg_count,
                            shoal_err *err)
{
    shoal_env *env = w->cx->env;
    uint64_t began = env_now_ns(env);

    shoal_status st = check_outputs(w, args, arg_count, err);
    if (st == SHOAL_OK)
        st = parse_policies(w, err);
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
    struct work *w = base_calloc(env_alloc(cx->env), 1, sizeof *w);
    int rc = 0;

    if (w == NULL)
        return cli_fail(cx, base_err_nomem(&err, "starting"), &err);
    w->cx = cx;
    w->v = values;
    base_buf_init(&w->words, env_alloc(cx->env), 1 << 16);
    shoal_status st = prepare(w, args, arg_count, &err);
    cli_interrupt_start(); /* from here on there are files to tidy up */
    if (st == SHOAL_OK)
        st = open_events(w, &err);
    if (st == SHOAL_OK)
        st = run_all(w, &err);
    shoal_status closed = close_events(w, st == SHOAL_OK, st == SHOAL_OK ? &err : NULL);
    st = st == SHOAL_OK ? closed : st;
    if (st == SHOAL_OK && w->v->report != NULL)
        st = write_report(w, args, arg_count, &err);
    cli_interrupt_stop();
    if (st != SHOAL_OK)
        rc = cli_fail(cx, st, &err);
    else if (cx->json)
        rc = cli_sim_json(cx, w->results, w->run_count, w->v->seed);
    else if (to_stdout(w))
        rc = 0;
    else if (w->v->job != NULL)
        cli_sim_story(cx, w->results, w->run_count);
    else
        rc = cli_sim_table(cx, w->results, w->run_count);
    if (rc == 0 && !cx->json && !to_stdout(w))
        print_notes(w);
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
     .fallback = default_cluster,
     .complete = "file",
     .help = "machines as nodes x GPUs : kind, such as 6x4:t4,2x8:a100, or a file of such groups",
     .offset = offsetof(struct values, cluster)},
    {.name = "policy",
     .letter = 'p',
     .type = BASE_OPT_STR,
     .meta = "NAME",
     .fallback = "shoal,fifo,srtf,las,tiresias",
     .complete = "policy",
     .help = "policies to compare, with commas; knobs after colons: fifo,fifo:backfill=easy; see "
             "'shoal policy list'",
     .offset = offsetof(struct values, policy)},
    {.name = "set",
     .type = BASE_OPT_LIST,
     .meta = "KEY=VALUE",
     .complete = "knob",
     .help = "a knob for every policy here that has it, see 'shoal policy show'",
     .offset = offsetof(struct values, sets)},
    {.name = "profiles",
     .type = BASE_OPT_STR,
     .meta = "PATH",
     .complete = "file",
     .help = "speeds of models: a throughput table or fitted model (.json), or folder of profiles",
     .offset = offsetof(struct values, profiles)},
    {.name = "format",
     .type = BASE_OPT_CHOICE,
     .meta = "NAME",
     .fallback = "auto",
     .choices = sim_format_names,
     .help = "format of the trace",
     .offset = offsetof(struct values, format)},
    {.name = "prices",
     .type = BASE_OPT_STR,
     .meta = "PATH",
     .complete = "file",
     .help = "a history of prices, see 'shoal market': a GPU costs at each time what the cheapest "
             "offer of its name does",
     .offset = offsetof(struct values, prices)},
    {.name = "prices-from",
     .type = BASE_OPT_STR,
     .meta = "DATE",
     .help = "the date at which the trace begins [the first in the history]",
     .offset = offsetof(struct values, prices_from)},
    {.name = "round",
     .letter = 'r',
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "60s",
     .min = 1,
     .max = 1e7,
     .help = "time between two decisions",
     .offset = offsetof(struct values, round_s)},
    {.name = "react",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "0s",
     .min = 0,
     .max = 1e7,
     .help = "decide also when a job comes or ends or a node fails, at most once in this time; 0: "
             "at rounds only",
     .offset = offsetof(struct values, react_s)},
    {.name = "restart",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "30s",
     .min = 0,
     .max = 1e7,
     .help = "time a job needs after a start or a move before it makes progress",
     .offset = offsetof(struct values, restart_s)},
    {.name = "lease",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "0s",
     .min = 0,
     .max = 1e9,
     .help = "a job that was placed is not moved for this long",
     .offset = offsetof(struct values, lease_s)},
    {.name = "interference",
     .type = BASE_OPT_F64,
     .meta = "SHARE",
     .fallback = "0",
     .min = 0,
     .max = 0.99,
     .help = "speed lost by jobs that span nodes and meet another such job on one",
     .offset = offsetof(struct values, interference)},
    {.name = "spread",
     .type = BASE_OPT_FLAG,
     .help = "jobs on more nodes than they need run slower, as in the Philly study",
     .offset = offsetof(struct values, spread)},
    {.name = "neighbours",
     .type = BASE_OPT_FLAG,
     .help = "jobs of several GPUs beside other such jobs run slower, likewise",
     .offset = offsetof(struct values, neighbours)},
    {.name = "report-noise",
     .type = BASE_OPT_F64,
     .meta = "SHARE",
     .fallback = "0",
     .min = 0,
     .max = 0.99,
     .help = "times and gradients that adapting jobs report are wrong by up to this share",
     .offset = offsetof(struct values, report_noise)},
    {.name = "report-bad",
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "0",
     .min = 0,
     .max = UINT32_MAX,
     .help = "one job in N reports nonsense; 0: none",
     .offset = offsetof(struct values, report_bad)},
    {.name = "work-error",
     .type = BASE_OPT_F64,
     .meta = "SIGMA",
     .fallback = "0",
     .min = 0,
     .max = WORK_ERROR_MAX,
     .help = "what is told of a job's work is wrong by exp(SIGMA z), z normal; 10: nothing is told",
     .offset = offsetof(struct values, work_error)},
    {.name = "halving",
     .type = BASE_OPT_F64,
     .meta = "ETA",
     .fallback = "0",
     .min = 0,
     .max = 1000,
     .help = "at each rung of a sweep with scores the best 1 in ETA jobs go on; 0: all do",
     .offset = offsetof(struct values, halving)},
    {.name = "node-mtbf",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "0s",
     .min = 0,
     .max = 1e10,
     .help = "mean time between failures of a node; 0: nodes do not fail",
     .offset = offsetof(struct values, node_mtbf_s)},
    {.name = "node-repair",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "2h",
     .min = 1,
     .max = 1e7,
     .help = "mean time until a failed node is back",
     .offset = offsetof(struct values, node_repair_s)},
    {.name = "job-failures",
     .type = BASE_OPT_FLAG,
     .help = "jobs fail by class, with the shapes of the Philly study",
     .offset = offsetof(struct values, job_failures)},
    {.name = "checkpoint",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "0s",
     .min = 0,
     .max = 1e9,
     .help = "work between two checkpoints, lost when a node or job fails; 0: a failure loses "
             "nothing",
     .offset = offsetof(struct values, checkpoint_s)},
    {.name = "seed",
     .letter = 's',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1",
     .help = "seed of everything drawn: failures, and policies that draw",
     .offset = offsetof(struct values, seed)},
    {.name = "threads",
     .letter = 't',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "0",
     .min = 0,
     .max = 1024,
     .help = "policies run at the same time; 0: one per core",
     .offset = offsetof(struct values, threads)},
    {.name = "job",
     .letter = 'j',
     .type = BASE_OPT_STR,
     .meta = "NAME",
     .help = "tell the story of one job: when it waited and why, where it ran, what it cost",
     .offset = offsetof(struct values, job)},
    {.name = "report",
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .complete = "file",
     .help = "write an HTML page with pictures",
     .offset = offsetof(struct values, report)},
    {.name = "events",
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .complete = "file",
     .help = "write everything that happened as JSON lines (one policy)",
     .offset = offsetof(struct values, events)},
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
    .values_size = sizeof(struct values),
    .arg_min = 1,
    .arg_max = 4096,
    .arg_complete = "file",
    .json = true,
    .run = run,
};
