/* api.c - the public face of the simulator (shoal/sim.h): its options as rows, traces loaded once, policies run on
 * them side by side, and the log of events.
 *
 * Tests: tests/unit/sim/test_api.c. */
#include "sim/compare.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/text.h"
#include "market/prices.h"
#include "market/reader.h"
#include "market/when.h"
#include "page/field.h"
#include "page/make.h"
#include "sched/plan.h"
#include "shoal/list.h"
#include "shoal/sim.h"
#include "sim/cluster_load.h"
#include "sim/info.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

const char sim_cluster_default[] = "16x4:t4";

#define AT(member) offsetof(shoal_sim_opts, member)

static const shoal_opt opt_rows[] = {
    {AT(cluster), SHOAL_OPT_STR, "cluster", 'c', "SPEC", sim_cluster_default,
     "machines as nodes x GPUs : kind, such as 6x4:t4,2x8:a100, or a file of such groups",
     .complete = "file"},
    {AT(policy), SHOAL_OPT_STR, "policy", 'p', "NAME", "shoal,fifo,srtf,las,tiresias",
     "policies to compare, with commas; knobs after colons: fifo,fifo:backfill=easy; see 'shoal "
     "policy list'",
     .complete = "policy"},
    {AT(sets), SHOAL_OPT_LIST, "set", 0, "KEY=VALUE", NULL,
     "a knob for every policy here that has it, see 'shoal policy show'", .complete = "knob"},
    {AT(profiles), SHOAL_OPT_STR, "profiles", 0, "PATH", NULL,
     "speeds of models: a throughput table or fitted model (.json), or folder of profiles",
     .complete = "file"},
    {AT(format), SHOAL_OPT_CHOICE, "format", 'f', "FORMAT", "auto", "format of the trace",
     .choices = sim_format_names},
    {AT(prices), SHOAL_OPT_STR, "prices", 0, "PATH", NULL,
     "a history of prices, see 'shoal market': a GPU costs at each time what the cheapest offer of "
     "its name does",
     .complete = "file"},
    {AT(prices_from), SHOAL_OPT_STR, "prices-from", 0, "DATE",
     .help = "the date at which the trace begins [the first in the history]"},
    {AT(round_s), SHOAL_OPT_DURATION, "round", 'r', "TIME", "60s", "time between two decisions",
     .min = 1, .max = 1e7},
    {AT(react_s), SHOAL_OPT_DURATION, "react", 0, "TIME", "0s",
     "decide also when a job comes or ends or a node fails, at most once in this time; 0: at "
     "rounds only",
     .max = 1e7},
    {AT(restart_s), SHOAL_OPT_DURATION, "restart", 0, "TIME", "30s",
     "time a job needs after a start or a move before it makes progress", .max = 1e7},
    {AT(lease_s), SHOAL_OPT_DURATION, "lease", 0, "TIME", "0s",
     "a job that was placed is not moved for this long", .max = 1e9},
    {AT(interference), SHOAL_OPT_F64, "interference", 0, "SHARE", "0",
     "speed lost by jobs that span nodes and meet another such job on one", .max = 0.99},
    {AT(spread), SHOAL_OPT_FLAG, "spread",
     .help = "jobs on more nodes than they need run slower, as in the Philly study"},
    {AT(neighbours), SHOAL_OPT_FLAG, "neighbours",
     .help = "jobs of several GPUs beside other such jobs run slower, likewise"},
    {AT(report_noise), SHOAL_OPT_F64, "report-noise", 0, "SHARE", "0",
     "times and gradients that adapting jobs report are wrong by up to this share", .max = 0.99},
    {AT(report_bad), SHOAL_OPT_U64, "report-bad", 0, "N", "0",
     "one job in N reports nonsense; 0: none", .max = UINT32_MAX},
    {AT(work_error), SHOAL_OPT_F64, "work-error", 0, "SIGMA", "0",
     "what is told of a job's work is wrong by exp(SIGMA z), z normal; 10: nothing is told",
     .max = SIM_WORK_ERROR_MAX},
    {AT(halving), SHOAL_OPT_F64, "halving", 0, "ETA", "0",
     "at each rung of a sweep with scores the best 1 in ETA jobs go on; 0: all do", .max = 1000},
    {AT(node_mtbf_s), SHOAL_OPT_DURATION, "node-mtbf", 0, "TIME", "0s",
     "mean time between failures of a node; 0: nodes do not fail", .max = 1e10},
    {AT(node_repair_s), SHOAL_OPT_DURATION, "node-repair", 0, "TIME", "2h",
     "mean time until a failed node is back", .min = 1, .max = 1e7},
    {AT(job_failures), SHOAL_OPT_FLAG, "job-failures",
     .help = "jobs fail by class, with the shapes of the Philly study"},
    {AT(checkpoint_s), SHOAL_OPT_DURATION, "checkpoint-every", 0, "TIME", "0s",
     "work between two checkpoints, lost when a node or job fails; 0: a failure loses nothing",
     .max = 1e9},
    {AT(seed), SHOAL_OPT_U64, "seed", 's', "N", "1",
     .help = "seed of everything drawn: failures, and policies that draw"},
    {AT(threads), SHOAL_OPT_U64, "threads", 't', "N", "0",
     "policies run at the same time; 0: one per core", .max = 1024},
    {AT(job), SHOAL_OPT_STR, "job", 'j', "NAME",
     .help = "tell the story of one job: when it waited and why, where it ran, what it cost"},
    {AT(events), SHOAL_OPT_STR, "events", 0, "FILE", NULL,
     "write everything that happened as JSON lines (one policy)", .complete = "file"},
};

const shoal_opt *shoal_sim_opt_rows(size_t *out_count)
{
    *out_count = BASE_COUNT(opt_rows);
    return opt_rows;
}

void shoal_sim_opts_init(shoal_sim_opts *opts)
{
    base_opt_take(opt_rows, BASE_COUNT(opt_rows), NULL, opts, sizeof *opts);
}

/* ---- policies by name: reads "policy:key=value:key=value", and lists them (shoal/list.h) ---- */

shoal_status sim_choice_parse(char *text, struct sim_choice *out, shoal_err *err)
{
    struct sim_choice choice = {0};
    char *rest = strchr(text, ':');

    if (rest != NULL)
        *rest++ = '\0';
    choice.policy = sched_policy_find(text, err);
    if (choice.policy == NULL)
        return SHOAL_E_NOTFOUND;
    while (rest != NULL) {
        if (choice.set_count == SIM_SETS_MAX)
            return base_err(err, SHOAL_E_INVAL, "more than %d knobs for policy '%s'", SIM_SETS_MAX,
                            text);
        choice.sets[choice.set_count++] = rest;
        rest = strchr(rest, ':');
        if (rest != NULL)
            *rest++ = '\0';
    }
    *out = choice;
    return SHOAL_OK;
}

/* ---- listings ---- */

struct record { /* of one policy */
    const char *name, *summary;
    bool preempts, work_conserving, starvation_free;
    const char *optimises, *paper;
    shoal_records knobs, own, placement; /* all; and for people, apart */
};

#define ROW struct record

static const shoal_field fields[] = {
    FIELD(name, "NAME", NONE, 0, 1, "its name"),
    FIELD(preempts, "PREEMPTS", NONE, 0, 1, "it may stop a running job"),
    FIELD(work_conserving, "NO IDLING", NONE, 0, 1,
          "it leaves no GPU idle that a waiting job could use"),
    FIELD(starvation_free, "NO STARVING", NONE, 0, 1, "it starts every job in the end"),
    FIELD(summary, "SUMMARY", NONE, 0, 1, "what it is", WRAPPED),
    DATA(optimises, NONE, 0, "what it makes best"),
    DATA(paper, NONE, 0, "where it comes from"),
    LIST(knobs, "knobs", NULL, 0, page_option_schema, "its knobs"),
    LIST(own, NULL, "knobs (--set KEY=VALUE)", 1, page_option_schema, NULL),
    LIST(placement, NULL, "placement (--set, the same for all policies)", 1, page_option_schema,
         NULL),
};
#undef ROW
enum { LISTED = 5 }; /* of them, in a list of policies */

static const shoal_schema listed_schema = {"policy", NULL, "A scheduling policy.", fields, LISTED};
static const shoal_schema shown_schema = SCHEMA_OF("policy", NULL, "A scheduling policy.", fields);
static const shoal_field list_fields[] = {
    {0, SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "policies", .help = "all policies",
     .of = &listed_schema},
};
static const shoal_schema list_schema = {"policies", NULL, "The scheduling policies.", list_fields,
                                         1};

static struct record record_of(const struct sched_policy *policy)
{
    return (struct record){.name = policy->name,
                           .summary = policy->summary,
                           .preempts = policy->preempts,
                           .work_conserving = policy->work_conserving,
                           .starvation_free = policy->starvation_free,
                           .optimises = policy->optimises,
                           .paper = policy->paper};
}

shoal_status shoal_policy_list(const shoal_result **out_result, shoal_err *err)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);
    struct page_made *made = page_made_new(&base_alloc_libc);
    shoal_records *list = page_made_alloc(made, 1, sizeof *list);
    struct record *records = page_made_alloc(made, count, sizeof *records);

    if (list != NULL && records != NULL) {
        for (size_t i = 0; i < count; i++)
            records[i] = record_of(policies[i]);
        *list = page_records(records, count);
        made->result.schema = &list_schema;
        made->result.records = page_records(list, 1);
    }
    return page_made_finish(made, out_result, err);
}

/* Its own knobs and those of placement behind them. */
static void put_knobs(struct page_made *made, const struct sched_policy *policy, struct record *r)
{
    size_t count = policy->opt_count + sched_place_row_count;

    r->own = page_made_options(made, policy->opts, policy->opt_count, false);
    r->placement = page_made_options(made, sched_place_rows, sched_place_row_count, true);
    size_t stride = r->placement.stride;
    char *all = page_made_alloc(made, count, stride);
    if (all == NULL || r->own.first == NULL || r->placement.first == NULL)
        return;
    memcpy(all, r->own.first, policy->opt_count * stride);
    memcpy(all + policy->opt_count * stride, r->placement.first, sched_place_row_count * stride);
    r->knobs = (shoal_records){.first = all, .stride = stride, .count = count};
}

shoal_status shoal_policy_show(const char *name, const shoal_result **out_result, shoal_err *err)
{
    const struct sched_policy *policy = sched_policy_find(name, err);

    if (policy == NULL)
        return SHOAL_E_NOTFOUND;
    struct page_made *made = page_made_new(&base_alloc_libc);
    struct record *record = page_made_alloc(made, 1, sizeof *record);
    if (record != NULL) {
        *record = record_of(policy);
        put_knobs(made, policy, record);
        made->result.schema = &shown_schema;
        made->result.records = page_records(record, 1);
    }
    page_made_head(made, "%s: %s\n\n%s\n\npreempts: %s   no idling: %s   no starving: %s\n",
                   policy->name, policy->summary, policy->optimises,
                   policy->preempts ? "yes" : "no", policy->work_conserving ? "yes" : "no",
                   policy->starvation_free ? "yes" : "no");
    if (policy->paper != NULL && policy->paper[0] != '\0')
        page_made_say(made, "%s\n", policy->paper);
    return page_made_finish(made, out_result, err);
}

/* ---- which policies run, and which knobs each of them gets ---- */

enum { KNOBS_MAX = 128 };

static bool knows(const struct sched_policy *p, const char *set)
{
    char name[64];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(set, "="), set);
    return base_opt_find(p->opts, p->opt_count, name) != NULL ||
           base_opt_find(sched_place_rows, sched_place_row_count, name) != NULL;
}

/* The names of the knobs of `count` runs and of placement, once each. */
static size_t knob_names(const struct sim_compared *runs, size_t count, const char **names)
{
    size_t used = 0;

    for (size_t r = 0; r <= count; r++) {
        const shoal_opt *rows = r < count ? runs[r].choice.policy->opts : sched_place_rows;
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
static shoal_status hint_knobs(const struct sim_compared *runs, size_t count, const char *set,
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
static shoal_status check_sets(const struct sim_compared *run, shoal_err *err)
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
static shoal_status spread_sets(struct sim_compare *c, shoal_err *err)
{
    for (size_t i = 0; i < c->sim->opts.sets.count; i++) {
        const char *set = c->sim->opts.sets.items[i];
        size_t taken = 0;
        for (size_t r = 0; r < c->count; r++)
            if (knows(c->runs[r].choice.policy, set) &&
                c->runs[r].choice.set_count < SIM_SETS_MAX) {
                c->runs[r].choice.sets[c->runs[r].choice.set_count++] = set;
                taken++;
            }
        if (taken == 0) {
            base_err(err, SHOAL_E_INVAL, "no policy here has a knob '%.*s'", (int)strcspn(set, "="),
                     set);
            return hint_knobs(c->runs, c->count, set, err);
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

static shoal_status choose(struct sim_compare *c, const char *policies, shoal_err *err)
{
    base_buf_puts(&c->words, policies);
    if (base_buf_status(&c->words) != SHOAL_OK)
        return base_err_nomem(err, "reading the policies");
    for (char *p = c->words.data; p != NULL;) {
        char *comma = next_comma(p);
        if (comma != NULL)
            *comma = '\0';
        if (c->count == SIM_RUNS_MAX)
            return base_err(err, SHOAL_E_INVAL, "more than %d policies at once", SIM_RUNS_MAX);
        shoal_status st = sim_choice_parse(p, &c->runs[c->count].choice, err);
        if (st == SHOAL_OK)
            st = check_sets(&c->runs[c->count], err);
        if (st == SHOAL_E_NOTFOUND) { /* an unknown name in an option is a mistake in the call */
            if (strchr(p, '=') != NULL)
                base_err_hint(err, "knobs follow their policy after a colon: %s:%s",
                              c->count > 0 ? c->runs[c->count - 1].choice.policy->name : "POLICY",
                              p);
            if (err != NULL)
                err->code = SHOAL_E_INVAL;
            return SHOAL_E_INVAL;
        }
        if (st != SHOAL_OK)
            return st;
        c->count++;
        p = comma != NULL ? comma + 1 : NULL;
    }
    return spread_sets(c, err);
}

/* ---- the runs, side by side ---- */

static shoal_status write_event(void *ctx, const char *line, size_t size, shoal_err *err)
{
    struct sim_compare *c = ctx;

    return env_append(c->events, line, size, err);
}

/* It takes one policy, and does not take the place of what is read. */
static shoal_status open_events(struct sim_compare *c, shoal_err *err)
{
    const shoal_sim_opts *o = &c->sim->opts;
    const char *inputs[] = {o->cluster, o->profiles, o->prices};

    if (o->events == NULL)
        return SHOAL_OK;
    if (c->count != 1)
        return base_err(err, SHOAL_E_INVAL, "--events takes one policy, not %zu", c->count);
    for (size_t i = 0; i < o->trace_count + sizeof inputs / sizeof inputs[0]; i++) {
        const char *input = i < o->trace_count ? o->traces[i] : inputs[i - o->trace_count];
        if (input != NULL && env_same(c->sim->env, input, o->events))
            return base_err(err, SHOAL_E_INVAL, "cannot write '%s': it is also an input",
                            o->events);
    }
    return env_create(c->sim->env, o->events, &c->events, err);
}

/* The file is kept, or is as if it had never been opened. */
static shoal_status close_events(struct sim_compare *c, bool keep, shoal_err *err)
{
    struct env_out *events = c->events;

    c->events = NULL;
    if (events != NULL && keep)
        return env_commit(events, err);
    env_discard(events);
    return SHOAL_OK;
}

static void prepare_run(struct sim_compare *c, struct sim_compared *run)
{
    const shoal_sim_opts *o = &c->sim->opts;

    sim_opts_init(&run->opts);
    run->opts.policy = run->choice.policy;
    run->opts.sets = run->choice.sets;
    run->opts.set_count = run->choice.set_count;
    run->opts.how = *o;
    if (o->work_error >= SIM_WORK_ERROR_MAX)
        run->opts.how.work_error = (double)INFINITY;
    run->opts.prices = c->sim->prices;
    run->opts.record = o->pictures;
    run->opts.shares = true;
    run->opts.story_job = c->sim->story_job;
    run->opts.done = base_watch_done(c->watch);
    run->opts.stop = base_watch_flag(c->watch);
    if (c->events != NULL) {
        run->opts.on_event = write_event;
        run->opts.event_ctx = c;
    }
}

static void run_one(void *ctx, size_t index)
{
    struct sim_compare *c = ctx;
    struct sim_compared *run = &c->runs[index];

    run->status =
        sim_run(c->sim->env, c->sim->trace, &c->sim->cluster, &run->opts, &run->result, &run->err);
}

/* Rules of placement may leave out every job, where the cluster would not. */
static shoal_status check_some_ran(const struct sim_result *r, shoal_err *err)
{
    const struct sim_metrics *m = &r->metrics;

    if (m->jobs == 0 || m->rejected < m->jobs)
        return SHOAL_OK;
    base_err(err, SHOAL_E_IMPOSSIBLE,
             "policy '%s' can place no job: its placement rules never allow as many GPUs as jobs "
             "ask for",
             r->policy);
    base_err_hint(err, "allow them less locality: --set locality=anywhere, or --set relax=10m");
    return SHOAL_E_IMPOSSIBLE;
}

static shoal_status run_all(struct sim_compare *c, shoal_err *err)
{
    shoal_status st = open_events(c, err);

    for (size_t i = 0; i < c->count; i++)
        prepare_run(c, &c->runs[i]);
    if (st == SHOAL_OK) {
        base_watch_begin(c->watch, "sim", (uint64_t)c->count * c->sim->trace->job_count);
        st = env_parallel(c->sim->env, c->count, (uint32_t)c->sim->opts.threads, run_one, c, err);
    }
    for (size_t i = 0; i < c->count && st == SHOAL_OK; i++) {
        const struct sim_compared *run = &c->runs[i];
        c->results[i] = run->result;
        st = run->status;
        if (st == SHOAL_OK)
            st = check_some_ran(run->result, err);
        else if (err != NULL)
            *err = run->err;
    }
    shoal_status closed = close_events(c, st == SHOAL_OK, st == SHOAL_OK ? err : NULL);
    return st == SHOAL_OK ? closed : st;
}

static void free_compare(struct sim_compare *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->count; i++)
        sim_result_free(c->runs[i].result);
    base_buf_fini(&c->words);
    base_free(env_alloc(c->sim->env), c);
}

/* ---- a simulation ---- */

static const char *keep(struct shoal_sim *sim, const char *text)
{
    return text == NULL ? NULL : base_arena_strndup(&sim->texts, text, strlen(text));
}

/* Copies the options with their texts; false when memory is short. */
static bool keep_options(struct shoal_sim *sim, const shoal_sim_opts *given)
{
    shoal_sim_opts *o = &sim->opts;
    const char **texts[] = {&o->cluster,     &o->policy, &o->profiles, &o->prices,
                            &o->prices_from, &o->job,    &o->events};
    const char **traces = base_arena_calloc(&sim->texts, given->trace_count, sizeof *traces);
    bool whole = traces != NULL;

    *o = *given;
    o->traces = traces;
    for (size_t i = 0; i < given->trace_count && whole; i++)
        whole = (traces[i] = keep(sim, given->traces[i])) != NULL;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && whole; i++)
        if (*texts[i] != NULL)
            whole = (*texts[i] = keep(sim, *texts[i])) != NULL;
    for (size_t i = 0; i < o->sets.count && whole; i++)
        whole = (o->sets.items[i] = keep(sim, o->sets.items[i])) != NULL;
    return whole;
}

static shoal_status load_prices(struct shoal_sim *sim, shoal_err *err)
{
    const char *path = sim->opts.prices, *from = sim->opts.prices_from;
    struct market_load_opts opts = {.format = MARKET_FORMAT_AUTO};
    struct market_prices *market = NULL;
    double from_s = (double)NAN;

    if (path == NULL)
        return from == NULL ? SHOAL_OK
                            : base_err(err, SHOAL_E_INVAL, "--prices-from needs --prices");
    if (from != NULL && !market_when_parse(from, strlen(from), &from_s))
        return base_err(err, SHOAL_E_INVAL,
                        "--prices-from: expected a date such as 2025-03-01, found '%.60s'", from);
    shoal_status st = market_prices_load(sim->env, &path, 1, &opts, &market, err);
    if (st != SHOAL_OK)
        return st;
    st = sim_prices_new(env_alloc(sim->env), market, &sim->cluster,
                        isnan(from_s) ? market->from_s : from_s, &sim->prices, err);
    memcpy(sim->prices_ignored, market->odd.ignored, sizeof sim->prices_ignored);
    market_prices_free(market);
    return st;
}

static shoal_status find_story_job(struct shoal_sim *sim, shoal_err *err)
{
    const char *wanted = sim->opts.job, *near = NULL;
    size_t distance = 4;

    sim->story_job = SIM_NONE;
    if (wanted == NULL)
        return SHOAL_OK;
    for (size_t i = 0; i < sim->trace->job_count; i++) {
        const char *name = sim->trace->jobs[i].name;
        if (strcmp(name, wanted) == 0) {
            sim->story_job = (uint32_t)i;
            return SHOAL_OK;
        }
        size_t d = i < 10000 ? base_edit_distance(name, wanted) : distance;
        if (d < distance) {
            near = name;
            distance = d;
        }
    }
    base_err(err, SHOAL_E_NOTFOUND, "no job '%s' in the trace", wanted);
    if (near != NULL)
        base_err_hint(err, "did you mean '%s'?", near);
    return SHOAL_E_NOTFOUND;
}

/* Policies are looked at before the trace is read, which may take long. */
static shoal_status check_policies(struct shoal_sim *sim, shoal_err *err)
{
    struct sim_compare *c = base_calloc(env_alloc(sim->env), 1, sizeof *c);

    if (c == NULL)
        return base_err_nomem(err, "starting a simulation");
    c->sim = sim;
    base_buf_init(&c->words, env_alloc(sim->env), 1 << 16);
    shoal_status st = choose(c, sim->opts.policy, err);
    free_compare(c);
    return st;
}

static shoal_status load(struct shoal_sim *sim, shoal_err *err)
{
    const shoal_sim_opts *o = &sim->opts;
    shoal_status st = check_policies(sim, err);

    if (st == SHOAL_OK)
        st = sim_cluster_given(sim->env, o->cluster, &sim->cluster, err);
    if (st == SHOAL_OK)
        st = load_prices(sim, err);
    if (st == SHOAL_OK)
        st = sim_trace_load(sim->env, o->traces, o->trace_count, (enum sim_format)o->format,
                            &sim->trace, err);
    if (st == SHOAL_OK)
        st = sim_trace_bind(sim->env, sim->trace, &sim->cluster, o->profiles, err);
    if (st == SHOAL_OK)
        st = sim_kinds_check(sim->trace, &sim->cluster, err);
    return st == SHOAL_OK ? find_story_job(sim, err) : st;
}

shoal_status shoal_sim_new(shoal_env *env, const shoal_sim_opts *given, shoal_sim **out_sim,
                           shoal_err *err)
{
    shoal_sim_opts opts;

    base_opt_take(opt_rows, BASE_COUNT(opt_rows), given, &opts, sizeof opts);
    if (env == NULL || out_sim == NULL || opts.trace_count == 0 || opts.traces == NULL ||
        opts.cluster == NULL || opts.policy == NULL)
        return base_err(err, SHOAL_E_INVAL,
                        "a simulation needs shoal_sim_opts_init, a trace and a cluster");
    struct shoal_sim *sim = base_calloc(env_alloc(env), 1, sizeof *sim);
    if (sim == NULL)
        return base_err_nomem(err, "starting a simulation");
    sim->env = env;
    sim->default_cluster = opts.cluster == sim_cluster_default;
    base_arena_init(&sim->texts, env_alloc(env), 1 << 12);
    shoal_status st =
        keep_options(sim, &opts) ? load(sim, err) : base_err_nomem(err, "starting a simulation");
    if (st == SHOAL_OK) {
        *out_sim = sim;
        sim = NULL;
    }
    shoal_sim_free(sim);
    return st;
}

void shoal_sim_free(shoal_sim *sim)
{
    if (sim == NULL)
        return;
    free_compare(sim->last);
    sim_trace_free(sim->trace);
    sim_prices_free(sim->prices);
    sched_cluster_fini(&sim->cluster);
    base_arena_fini(&sim->texts);
    base_free(env_alloc(sim->env), sim);
}

shoal_status shoal_sim_run(shoal_sim *sim, const char *policies, shoal_watch *watch,
                           const shoal_result **out_result, shoal_err *err)
{
    if (sim == NULL || out_result == NULL)
        return base_err(err, SHOAL_E_INVAL, "a run needs a simulation and a place for its result");
    struct sim_compare *c = base_calloc(env_alloc(sim->env), 1, sizeof *c);
    if (c == NULL)
        return base_err_nomem(err, "starting a run");
    c->sim = sim;
    c->watch = watch;
    base_buf_init(&c->words, env_alloc(sim->env), 1 << 16);
    shoal_status st = choose(c, policies != NULL ? policies : sim->opts.policy, err);
    if (st == SHOAL_OK)
        st = run_all(c, err);
    if (st == SHOAL_OK)
        st = sim_compare_result(c, out_result, err);
    if (st == SHOAL_OK) {
        struct sim_compare *before = sim->last;
        sim->last = c;
        c = before;
    }
    free_compare(c);
    return st;
}

size_t shoal_sim_job_count(const shoal_sim *sim)
{
    return sim == NULL ? 0 : sim->trace->job_count;
}

shoal_status shoal_sim_job_get(const shoal_sim *sim, size_t index, shoal_sim_job *out_job,
                               shoal_err *err)
{
    if (sim == NULL || out_job == NULL || out_job->struct_size <= sizeof out_job->struct_size)
        return base_err(err, SHOAL_E_INVAL, "a job needs its struct_size");
    if (index >= sim->trace->job_count)
        return base_err(err, SHOAL_E_NOTFOUND, "job %zu of %zu", index, sim->trace->job_count);
    const struct sim_job *t = &sim->trace->jobs[index];
    shoal_sim_job job = {.struct_size = out_job->struct_size,
                         .name = t->name,
                         .gpus = t->gpus,
                         .submit_s = t->submit_s,
                         .start_s = NAN,
                         .finish_s = NAN,
                         .rho = NAN};
    if (sim->last != NULL) {
        const struct sim_job_result *r = &sim->last->results[sim->last->count - 1]->jobs[index];
        job.starts = r->starts;
        job.start_s = r->start_s;
        job.finish_s = r->finish_s;
        job.rho = (double)r->rho;
        job.wait_s = (double)r->wait_s;
        job.gpu_s = (double)r->gpu_s;
    }
    memcpy(out_job, &job, out_job->struct_size < sizeof job ? out_job->struct_size : sizeof job);
    return SHOAL_OK;
}
