/* run.c - the loop of the simulator: instants, decisions, and that it ends.
 *
 * Time moves from instant to instant: the next round, or before it a node failing or coming back,
 * or a decision that does not wait for the round because something happened (react_s, see run.h).
 * Between two instants jobs only make progress (advance.c); jobs that end inside the stretch are
 * taken out in order of time, their GPUs are free again at the next decision. A decision shows the
 * policy a snapshot, times it and carries out the plan: first everyone who loses or changes places
 * lets go, then the others start. When no job is live the loop jumps to the round at or after the
 * next arrival.
 *
 * Rounds at which nothing can change are played at once, with the results they would have had one by
 * one: all jobs run, none comes, ends or fails before the last of them, and the policy has promised
 * to leave them alone (sched_policy.settled). Of a policy that does not promise it nothing is known
 * but that it changed nothing for long. After QUIET_ROUNDS rounds of that it is asked less often:
 * what it would change comes late, by at most one part in QUIET_PARTS of the time that nothing
 * happened.
 *
 * Cost per decision: O(live jobs) here plus the policy's own. Memory: one row per job of the trace
 * for results, and one sim_active per live job, recycled. */
#include "sim/state.h"

#include "base/err.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- before the first instant and after the last ---- */

enum { STORY_MAX = 64 << 20 };

static const double ROUND_MIN_S = 1e-3, ROUND_MAX_S = 1e7;

/* ---- options ---- */

void sim_opts_init(struct sim_opts *opts)
{
    *opts = (struct sim_opts){.story_job = SIM_NONE};
    shoal_sim_opts_init(&opts->how);
}

/* A time that is known and not negative. */
static bool some_time(double seconds)
{
    return isfinite(seconds) && seconds >= 0;
}

static shoal_status check_opts(const struct sim_opts *o, const struct sim_trace *trace,
                               shoal_err *err)
{
    if (!(o->how.round_s >= ROUND_MIN_S && o->how.round_s <= ROUND_MAX_S))
        return base_err(err, SHOAL_E_INVAL, "a round takes between %g and %g seconds, not %g",
                        ROUND_MIN_S, ROUND_MAX_S, o->how.round_s);
    if (o->how.react_s != 0 && !(o->how.react_s >= ROUND_MIN_S && o->how.react_s <= o->how.round_s))
        return base_err(
            err, SHOAL_E_INVAL,
            "a reaction takes between %g seconds and a round (%g), or 0 for none, not %g",
            ROUND_MIN_S, o->how.round_s, o->how.react_s);
    if (!some_time(o->how.restart_s) || !some_time(o->how.lease_s) ||
        !some_time(o->how.checkpoint_s))
        return base_err(err, SHOAL_E_INVAL,
                        "restart, lease and checkpoint times are finite and not negative");
    if (!(o->how.interference >= 0 && o->how.interference < 1))
        return base_err(err, SHOAL_E_INVAL, "interference is a share below 1, not %g",
                        o->how.interference);
    if (!(o->how.report_noise >= 0 && o->how.report_noise < 1))
        return base_err(err, SHOAL_E_INVAL, "what jobs report is wrong by a share below 1, not %g",
                        o->how.report_noise);
    if (!(o->how.work_error >= 0))
        return base_err(err, SHOAL_E_INVAL, "the error of what is told of work is 0 or more");
    if (o->how.halving != 0 && !(o->how.halving >= 1.1 && o->how.halving <= 1e6))
        return base_err(err, SHOAL_E_INVAL,
                        "of a sweep 1 in 1.1 to 1e6 jobs goes on, or all (0), not 1 in %g",
                        o->how.halving);
    if (!some_time(o->how.node_mtbf_s) || !some_time(o->how.node_repair_s) ||
        (o->how.node_mtbf_s > 0 && !(o->how.node_repair_s > 0)))
        return base_err(
            err, SHOAL_E_INVAL,
            "nodes that fail need a finite time between failures and a repair time above 0");
    if (o->story_job != SIM_NONE && o->story_job >= trace->job_count)
        return base_err(err, SHOAL_E_INVAL, "the story of job %u is wanted, the trace has %zu",
                        o->story_job, trace->job_count);
    return SHOAL_OK;
}

/* ---- state ---- */

/* For policies; ctx is the state. */
static const char *group_name(void *ctx, uint32_t group)
{
    const struct sim_state *s = ctx;

    return sim_names_get(&s->trace->groups, group);
}

/* Knobs go to the placement rules when they know the name, else to the policy. */
static shoal_status apply_sets(struct sim_state *s)
{
    const struct sched_policy *p = s->opts->policy;
    char what[80];

    snprintf(what, sizeof what, "policy '%s'", p->name);
    base_opt_defaults(sched_place_rows, sched_place_row_count, &s->place);
    base_opt_defaults(p->opts, p->opt_count, s->memory);
    for (size_t i = 0; i < s->opts->set_count; i++) {
        const char *set = s->opts->sets[i];
        char name[64];
        size_t length = strcspn(set, "=");
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), set);
        bool common = base_opt_find(sched_place_rows, sched_place_row_count, name) != NULL;
        shoal_status st =
            common ? base_opt_assign(sched_place_rows, sched_place_row_count, set, what, &s->place,
                                     s->err)
                   : base_opt_assign(p->opts, p->opt_count, set, what, s->memory, s->err);
        if (st != SHOAL_OK)
            return st;
    }
    struct sched_setting setting = {.cluster = s->cluster,
                                    .group_name = group_name,
                                    .group_ctx = s,
                                    .group_count = s->trace->groups.map.count};
    return p->check != NULL ? p->check(s->memory, &setting, s->err) : SHOAL_OK;
}

static void label(struct sim_result *r, const struct sim_opts *opts)
{
    size_t size = sizeof r->policy;
    size_t at = (size_t)snprintf(r->policy, size, "%s", opts->policy->name);

    for (size_t i = 0; i < opts->set_count && at < size; i++)
        at += (size_t)snprintf(r->policy + at, size - at, ":%s", opts->sets[i]);
    if (at >= size) { /* at a whole character */
        size_t end = size - sizeof "...";
        while (end > 0 && ((unsigned char)r->policy[end] & 0xc0) == 0x80)
            end--;
        memcpy(r->policy + end, "...", sizeof "...");
    }
}

/* Begin of the round in which the first job comes. */
static double first_round_s(const struct sim_trace *trace, double round_s)
{
    double first_s = trace->job_count > 0 ? trace->jobs[0].submit_s : 0;
    double at = floor(first_s / round_s) * round_s;

    return at > first_s ? at - round_s : at; /* by a rounding */
}

/* Prices that change over time are set in a copy of the cluster. */
static void take_prices(struct sim_state *s)
{
    if (s->opts->prices == NULL)
        return;
    s->priced = *s->given;
    s->cluster = &s->priced;
    (void)sim_prices_set(s->opts->prices, first_round_s(s->trace, s->opts->how.round_s),
                         s->priced.kinds);
}

/* The largest gang of each kind under the placement rules. */
static shoal_status measure_gangs(struct sim_state *s)
{
    const struct sched_cluster *c = s->cluster;
    uint32_t *racks = base_calloc(s->alloc, c->rack_count, sizeof *racks);

    if (racks == NULL)
        return base_err_nomem(s->err, "setting up the simulation");
    bool one_rack = s->place.locality == SCHED_LOCALITY_RACK && s->place.relax_s == 0;
    for (uint32_t k = 0; k < c->kind_count; k++) {
        memset(racks, 0, c->rack_count * sizeof *racks);
        s->gang_max[k] = one_rack ? 0 : c->kinds[k].gpus;
        for (uint32_t n = 0; one_rack && n < c->node_count; n++) {
            if (c->nodes[n].kind != k)
                continue;
            racks[c->nodes[n].rack] += c->nodes[n].gpus;
            if (racks[c->nodes[n].rack] > s->gang_max[k])
                s->gang_max[k] = racks[c->nodes[n].rack];
        }
    }
    base_free(s->alloc, racks);
    return SHOAL_OK;
}

/* The first and the last submission of jobs that can run here. */
static void find_submissions(struct sim_state *s)
{
    s->first_submit_s = INFINITY;
    s->last_submit_s = -INFINITY;
    for (size_t i = 0; i < s->trace->job_count; i++) {
        const struct sim_job *t = &s->trace->jobs[i];
        if (t->kinds == 0)
            continue;
        s->first_submit_s = fmin(s->first_submit_s, t->submit_s);
        s->last_submit_s = fmax(s->last_submit_s, t->submit_s);
    }
}

static shoal_status setup(struct sim_state *s)
{
    const struct sim_opts *o = s->opts;
    shoal_status st = SHOAL_E_NOMEM;

    take_prices(s);
    base_arena_init(&s->actives, s->alloc, 1 << 14);
    base_buf_init(&s->line, s->alloc, SIM_EVENT_MAX);
    base_heap_init(&s->node_events, s->alloc);
    s->result = base_calloc(s->alloc, 1, sizeof *s->result);
    if (s->result == NULL)
        goto nomem;
    s->result->alloc = s->alloc;
    s->memory = base_calloc(s->alloc, 1, o->policy->memory_size + 1);
    s->node_up = base_calloc(s->alloc, s->cluster->node_count, sizeof *s->node_up);
    s->node_used = base_calloc(s->alloc, s->cluster->node_count, sizeof *s->node_used);
    s->node_span = base_calloc(s->alloc, s->cluster->node_count, sizeof *s->node_span);
    if (s->memory == NULL || s->node_up == NULL || s->node_used == NULL || s->node_span == NULL)
        goto nomem;
    s->result->trace = s->trace;
    s->result->cluster = s->given;
    base_buf_init(&s->result->story, s->alloc, STORY_MAX);
    base_buf_init(&s->result->why, s->alloc, STORY_MAX);
    s->result->story_job = o->story_job;
    s->origin_s = s->result->origin_s = first_round_s(s->trace, o->how.round_s);
    s->now_s = s->news_s = s->up_since_s = s->live_since_s = s->origin_s;
    find_submissions(s);
    s->gain_due_s = s->gain = -INFINITY;
    s->result->jobs = base_calloc(s->alloc, s->trace->job_count, sizeof *s->result->jobs);
    if (s->result->jobs == NULL)
        goto nomem;
    label(s->result, o);
    for (uint32_t n = 0; n < s->cluster->node_count; n++)
        s->node_up[n] = true;
    s->nodes_up = s->cluster->node_count;
    s->nodes_wanted = SIM_NONE;

    st = apply_sets(s);
    if (st == SHOAL_OK)
        st = measure_gangs(s);
    if (st != SHOAL_OK)
        return st;
    st = sched_plan_new(s->alloc, s->cluster, &s->place, &s->plan);
    if (st == SHOAL_OK)
        st = sim_shares_init(s);
    if (st == SHOAL_OK)
        st = sim_detail_init(s);
    if (st == SHOAL_OK)
        st = sim_adapt_init(s);
    if (st == SHOAL_OK)
        st = sim_tuner_init(s);
    if (st == SHOAL_OK && o->record)
        st = sim_recorder_new(s, &s->recorder);
    if (st == SHOAL_OK)
        st = sim_faults_init(s);
    if (st == SHOAL_OK)
        return st;
nomem:
    return base_err_nomem(s->err, "setting up the simulation");
}

static void free_active(struct sim_state *s, struct sim_active *a)
{
    base_free(s->alloc, a->far);
    sim_adapt_free(s->alloc, a->adapt);
}

static void teardown(struct sim_state *s)
{
    sim_tuner_fini(s);
    for (size_t i = 0; i < s->job_count; i++)
        free_active(s, sim_active_of(s->jobs[i]));
    for (struct sim_active *a = s->free_list; a != NULL; a = a->next_free)
        free_active(s, a);
    sim_adapt_fini(s);
    if (s->memory != NULL && s->opts->policy->fini != NULL)
        s->opts->policy->fini(s->memory, s->alloc);
    base_free(s->alloc, s->memory);
    base_free(s->alloc, s->jobs);
    base_free(s->alloc, s->running);
    base_free(s->alloc, s->news);
    base_free(s->alloc, s->ended);
    for (int i = 0; i < SIM_COMMON_COUNT; i++)
        base_free(s->alloc, s->terms[i].terms);
    base_free(s->alloc, s->node_up);
    base_free(s->alloc, s->node_used);
    base_free(s->alloc, s->node_span);
    base_free(s->alloc, s->node_multi);
    base_heap_fini(&s->node_events);
    base_buf_fini(&s->line);
    base_arena_fini(&s->actives);
    sched_plan_free(s->plan);
    sim_recorder_free(s->recorder);
    sim_result_free(s->result);
}

enum { GAIN_ROUNDS = 1000, QUIET_ROUNDS = 100000, QUIET_PARTS = 1000, SKIP_LEAST = 4 };

/* A generous bound on the rounding error of SKIP_MOST additions. */
static const double SKIP_SLACK = 1e-6, SKIP_MOST = 0x1p32;

/* ---- time ---- */

/* Moves time to `to_s`: progress, then arrivals and endings in order of time. */
static shoal_status step_to(struct sim_state *s, double to_s)
{
    shoal_status st = sim_advance(s, to_s);
    size_t e = 0;

    sim_record_stretch(s, to_s);
    sim_rent_pass(s, to_s, 1);
    s->node_s += sim_nodes_wanted(s) * (to_s - s->up_since_s);
    s->up_since_s = to_s;
    while (st == SHOAL_OK) {
        bool arrival = s->next_arrival < s->trace->job_count &&
                       s->trace->jobs[s->next_arrival].submit_s <= to_s;
        if (e < s->ended_count &&
            (!arrival || s->ended[e]->end_s <= s->trace->jobs[s->next_arrival].submit_s)) {
            st = sim_live_leave(s, s->ended[e++]);
        } else if (arrival) {
            st = sim_live_arrive(s);
        } else {
            break;
        }
        s->news_s = to_s;
    }
    sim_live_integrate(s, to_s);
    sim_live_drop(s);
    s->now_s = to_s;
    return st;
}

/* ---- decisions ---- */

static shoal_status stuck(struct sim_state *s)
{
    const struct sched_job *j = s->jobs[0];

    base_err(s->err, SHOAL_E_IMPOSSIBLE,
             "policy '%s' leaves %zu job%s waiting on an idle cluster, first '%s' (%u GPU%s)",
             s->opts->policy->name, s->job_count, s->job_count == 1 ? "" : "s",
             s->trace->jobs[j->id].name, j->gpus, j->gpus == 1 ? "" : "s");
    base_err_hint(s->err, "allow it less locality: --set locality=anywhere, or --set relax=10m");
    return SHOAL_E_IMPOSSIBLE;
}

static struct sched_snapshot snapshot(struct sim_state *s)
{
    return (struct sched_snapshot){
        .cluster = s->cluster,
        .node_up = s->node_up,
        .node_changes = s->node_changes,
        .jobs = s->jobs,
        .job_count = s->job_count,
        .now_s = s->now_s,
        .round_s = s->opts->how.round_s,
        .restart_s = s->opts->how.restart_s,
        .round = s->result->metrics.rounds,
        .seed = s->opts->how.seed,
        .alloc = s->alloc,
        .group_name = group_name,
        .group_ctx = s,
    };
}

static shoal_status decide(struct sim_state *s)
{
    struct sim_metrics *m = &s->result->metrics;

    if (s->opts->prices != NULL && sim_prices_set(s->opts->prices, s->now_s, s->priced.kinds)) {
        s->node_changes++;
        s->news_s = s->now_s;
    }
    struct sched_snapshot snap = snapshot(s);

    shoal_status st = s->adaptive ? sim_adapt_settle(s) : SHOAL_OK;
    if (st != SHOAL_OK)
        return st;
    sim_tuner_settle(s);
    uint64_t began = env_now_ns(s->env);
    st = sched_plan_begin(s->plan, &snap);
    if (st == SHOAL_OK)
        st = s->opts->policy->decide(s->memory, &snap, s->plan);
    sim_histogram_add(&s->decisions, env_now_ns(s->env) - began);
    if (st != SHOAL_OK)
        return base_err(s->err, st, "policy '%s' stopped at %.0f s: %s", s->opts->policy->name,
                        s->now_s, shoal_status_text(st));
    m->rounds++;
    m->job_rounds += s->job_count;
    m->solves += sched_plan_solved(s->plan);
    if (sched_plan_nodes(s->plan, &s->nodes_wanted) && !m->nodes_sized) {
        m->nodes_sized = true;
        s->node_s = 0; /* nothing was rented before */
    }

    double gap = 0;
    m->unproven += sched_plan_unproven(s->plan, &gap);
    m->unproven_gap = fmax(m->unproven_gap, gap);
    st = sim_shares_decided(s);
    if (st == SHOAL_OK)
        st = sim_record_prices(s, s->plan);
    if (st == SHOAL_OK)
        st = sim_carry_out(s);
    sim_rent_renew(s);
    if (s->news_count > 0)
        s->news_s = s->now_s;
    for (size_t i = 0; i < s->job_count && st == SHOAL_OK && s->recorder != NULL; i++) {
        struct sim_active *a = sim_active_of(s->jobs[i]);
        if (sim_running(a) && a->segment == 0)
            sim_record_start(s, a);
    }
    if (st == SHOAL_OK && s->opts->story_job != SIM_NONE)
        for (size_t i = 0; i < s->job_count; i++)
            if (s->jobs[i]->id == s->opts->story_job)
                sim_journal_why(s, i);
    if (st == SHOAL_OK && s->job_count > 0 && s->next_arrival == s->trace->job_count &&
        isinf(sim_faults_next_s(s)) && s->running_count == 0 && s->place.relax_s == 0)
        st = stuck(s);
    return st;
}

/* Jobs can stand still for ever: a turn that is all restart, nodes that are never up together. Such
 * a run would not end, so within a window in which any job could start and work, the work of all
 * jobs together must have grown. Work that a failure undid counts: the next attempt may have more
 * luck (faults.c ends the run of a job that can have none). */
static shoal_status check_gain(struct sim_state *s)
{
    const struct sim_opts *o = s->opts;
    double gain = 2.0 * (double)s->next_arrival - /* an arrival counts 1, an end 1 in all */
                  (double)(s->job_count + s->parked_count) + s->parked_gain + s->undone;

    if (s->now_s < s->gain_due_s || s->job_count == 0)
        return SHOAL_OK;
    for (size_t i = 0; i < s->job_count; i++)
        gain += s->jobs[i]->progress / sim_whole_work(s, sim_active_of(s->jobs[i]));
    if (gain > s->gain) {
        double window_s = fmax(GAIN_ROUNDS * o->how.round_s, 3 * s->place.relax_s);
        window_s = fmax(window_s, 4 * o->how.restart_s + 2 * o->how.lease_s);
        s->gain = gain;
        s->gain_due_s =
            s->now_s +
            (o->how.node_mtbf_s > 0 ? fmax(window_s, 100 * o->how.node_repair_s) : window_s);
        return SHOAL_OK;
    }
    const struct sched_job *j = s->jobs[0];
    base_err(
        s->err, SHOAL_E_IMPOSSIBLE,
        "under policy '%s' no job gets on any more at %.0f s, %zu %s left, first '%s' (%u GPU%s)",
        o->policy->name, s->now_s, s->job_count, s->job_count == 1 ? "is" : "are",
        s->trace->jobs[j->id].name, j->gpus, j->gpus == 1 ? "" : "s");
    if (o->how.restart_s >= o->how.round_s)
        base_err_hint(s->err, "a start takes a whole round; make --round longer than --restart");
    else if (o->how.node_mtbf_s > 0)
        base_err_hint(s->err, "its nodes are hardly ever up together: fewer failures, a shorter "
                              "--node-repair, or a larger cluster");
    return SHOAL_E_IMPOSSIBLE;
}

/* ---- the run ---- */

double sim_start_s(const struct sim_opts *opts, double submit_s)
{
    double round_s = ceil(submit_s / opts->how.round_s) * opts->how.round_s;
    double look_s = fmax(submit_s, round_s - opts->how.round_s + opts->how.react_s);

    return opts->how.react_s > 0 && look_s + opts->how.react_s <= round_s ? look_s : round_s;
}

static bool stopped(const struct sim_state *s)
{
    return s->opts->stop != NULL && atomic_load_explicit(s->opts->stop, memory_order_relaxed);
}

/* When something may happen next that the policy should hear of: a job arrives, or a running one
 * comes to its end, to a failure, or as far as its speed is known. Later than now, if by a hair:
 * rounding may have left a job that short of it. */
static double next_news_s(const struct sim_state *s)
{
    double in_s = INFINITY, hair_s = 1e-12 * (1 + fabs(s->now_s));

    for (size_t i = 0; i < s->running_count; i++) {
        const struct sim_active *a = s->running[i].active;
        if (!sim_running(a))
            continue;
        double left_s = a->rate > 0 ? (a->until - a->job.progress) / a->rate : INFINITY;
        in_s = fmin(in_s, fmin(a->restart_left_s + left_s, a->fail_at_run_s - a->job.run_s));
    }
    double at_s = s->now_s + fmax(in_s, hair_s);
    return s->next_arrival < s->trace->job_count
               ? fmin(at_s, s->trace->jobs[s->next_arrival].submit_s)
               : at_s;
}

/* What comes before the round at `round_s`: node events, and decisions that do not wait for it. */
static shoal_status until_round(struct sim_state *s, double round_s)
{
    double react_s = s->opts->how.react_s;
    double looked_s =
        fmax(s->now_s, round_s - s->opts->how.round_s); /* rounds pass while none live */
    bool news = false;                                  /* that no decision has seen */
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && !stopped(s)) {
        double fault_s = sim_faults_next_s(s), look_s = INFINITY;
        if (react_s > 0)
            look_s = fmax(news ? s->now_s : next_news_s(s), looked_s + react_s);
        bool looks = look_s + react_s <= round_s;
        if (fault_s <= (looks ? look_s : round_s)) {
            st = step_to(s, fault_s);
            if (st == SHOAL_OK)
                st = sim_faults_apply(s);
            sim_rent_renew(s);
            s->news_s = s->now_s;
            news = true;
        } else if (looks) {
            size_t came = s->next_arrival;
            st = step_to(s, look_s);
            news = news || s->next_arrival != came || s->ended_count > 0;
            if (st == SHOAL_OK && news && s->job_count > 0)
                st = decide(s);
            looked_s = news ? look_s : looked_s;
            news = false;
        } else {
            break;
        }
    }
    return st;
}

/* ---- rounds at which nothing changes ---- */

/* Whole rounds from now on before whose end nothing happens by itself; 0: too few to count. */
static uint64_t rounds_without_news(const struct sim_state *s)
{
    const struct sim_opts *o = s->opts;
    double quiet_s = sim_faults_next_s(s) - s->now_s;

    if (s->next_arrival < s->trace->job_count)
        quiet_s = fmin(quiet_s, s->trace->jobs[s->next_arrival].submit_s - s->now_s);
    if (o->prices != NULL)
        quiet_s = fmin(quiet_s, sim_prices_next_s(o->prices, s->now_s) - s->now_s);
    if (s->running_count == 0 || quiet_s < SKIP_LEAST * o->how.round_s)
        return 0;
    for (size_t i = 0; i < s->running_count; i++) {
        const struct sim_active *a = s->running[i].active;
        if (a->restart_left_s > 0)
            return 0;
        quiet_s = fmin(quiet_s, (a->until - a->job.progress) / a->rate);
        quiet_s = fmin(quiet_s, a->fail_at_run_s - a->job.run_s);
        if (o->how.checkpoint_s > 0)
            quiet_s = fmin(quiet_s, a->checkpoint_due_s - a->job.run_s);
    }
    double rounds = floor(quiet_s / o->how.round_s * (1 - SKIP_SLACK)) - 2;
    return rounds >= SKIP_LEAST ? (uint64_t)fmin(rounds, SKIP_MOST) : 0;
}

/* Whether every job has all it can have and the policy will leave it that. Rounds must begin at times
 * that are not rounded, or no two of them are exactly as long. */
static bool settled(struct sim_state *s)
{
    const struct sched_policy *p = s->opts->policy;
    double unit = ldexp(s->opts->how.round_s, 20);

    if (p->settled == NULL || s->running_count != s->job_count || unit != floor(unit) ||
        s->now_s > 0x1p32)
        return false;
    for (size_t i = 0; i < s->running_count; i++) {
        const struct sim_active *a = s->running[i].active;
        const struct sched_job *j = &a->job;
        if (a->partner != NULL || a->adapted || j->alloc.gpus != j->gpus ||
            j->alloc.kind != j->kind_rank[0])
            return false;
    }
    struct sched_snapshot snap = snapshot(s);
    return p->settled(s->memory, &snap);
}

/* Rounds that may pass now without a decision. */
static uint64_t quiet_rounds(struct sim_state *s)
{
    double quiet = (s->now_s - s->news_s) / s->opts->how.round_s;
    uint64_t rounds = quiet > 0 ? rounds_without_news(s) : 0;

    if (rounds == 0 || settled(s))
        return rounds;
    return quiet > QUIET_ROUNDS ? (uint64_t)fmin((double)rounds, quiet / QUIET_PARTS) : 0;
}

/* Brings everything to `to_s`, so many rounds from now. */
static shoal_status pass_rounds(struct sim_state *s, uint64_t rounds, double to_s)
{
    struct sim_metrics *m = &s->result->metrics;
    double round_s = s->opts->how.round_s;

    shoal_status st = sim_advance_rounds(s, rounds);
    s->ended_count = 0;
    sim_record_stretch(s, to_s);
    sim_rent_pass(s, s->up_since_s + round_s, rounds);
    sim_add(&s->node_s, sim_nodes_wanted(s) * round_s, rounds);
    sim_add(&s->live_integral, (double)s->live_count * round_s, rounds);
    s->now_s = s->up_since_s = s->live_since_s = to_s;
    m->rounds += rounds;
    m->job_rounds += rounds * s->job_count;
    return st;
}

static shoal_status loop(struct sim_state *s)
{
    double round_s = s->opts->how.round_s, k = 0;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK) {
        if (s->job_count == 0) {
            if (s->next_arrival == s->trace->job_count)
                break;
            double at = ceil(s->trace->jobs[s->next_arrival].submit_s / round_s);
            k = at > k ? at : k;
            sim_faults_skip(s, s->trace->jobs[s->next_arrival].submit_s);
        }
        double next_s = k * round_s;
        st = until_round(s, next_s);
        if (st == SHOAL_OK && stopped(s))
            st = base_err(s->err, SHOAL_E_CANCELLED, "stopped");
        if (st == SHOAL_OK)
            st = step_to(s, next_s);
        if (st == SHOAL_OK && s->job_count > 0)
            st = decide(s);
        if (st == SHOAL_OK)
            st = check_gain(s);
        uint64_t quiet = st == SHOAL_OK ? quiet_rounds(s) : 0;
        if (quiet > 0)
            st = pass_rounds(s, quiet, (k + (double)quiet) * round_s);
        k += (double)quiet + 1;
    }
    return st;
}

shoal_status sim_run(shoal_env *env, const struct sim_trace *trace,
                     const struct sched_cluster *cluster, const struct sim_opts *opts,
                     struct sim_result **out_result, shoal_err *err)
{
    struct sim_state s = {.env = env,
                          .alloc = env_alloc(env),
                          .trace = trace,
                          .cluster = cluster,
                          .given = cluster,
                          .opts = opts,
                          .err = err};
    uint64_t began = env_now_ns(env);
    double cpu = env_cpu_s(env);

    shoal_status st = check_opts(opts, trace, err);
    if (st != SHOAL_OK)
        return st;
    st = setup(&s);
    if (st == SHOAL_OK)
        st = loop(&s);
    if (st == SHOAL_OK)
        st = sim_metrics_finish(&s);
    if (st == SHOAL_OK && s.recorder != NULL)
        st = sim_record_finish(&s);
    if (st == SHOAL_OK) {
        s.result->metrics.wall_s = (double)(env_now_ns(env) - began) * 1e-9;
        s.result->metrics.cpu_s = env_cpu_s(env) - cpu;
        sim_journal_story_end(&s);
        st = base_buf_status(&s.result->story);
        if (st == SHOAL_OK)
            st = base_buf_status(&s.result->why);
        if (st != SHOAL_OK)
            base_err(err, st, "cannot tell the story of job '%s': %s",
                     trace->jobs[opts->story_job].name, shoal_status_text(st));
    }
    if (st == SHOAL_OK) {
        *out_result = s.result;
        s.result = NULL;
    }
    teardown(&s);
    return st;
}
