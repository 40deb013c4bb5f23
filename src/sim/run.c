/* run.c - the loop of the simulator: arrivals, rounds, carrying out plans.
 *
 * Time moves from instant to instant: the next round, or before it a node failing or coming back,
 * or a decision that does not wait for the round because something happened (react_s, see run.h).
 * Between two instants jobs only make progress (advance.c); jobs that end inside the stretch are
 * taken out in order of time, their GPUs are free again at the next decision. A decision shows the
 * policy a snapshot, times it and carries out the plan: first everyone who loses or changes places
 * lets go, then the others start. When no job is live the loop jumps to the round at or after the
 * next arrival.
 *
 * Cost per decision: O(live jobs) here plus the policy's own. Memory: one row per job of the trace
 * for results, and one sim_active per live job, recycled. */
#include "sim/state.h"

#include "base/assert.h"
#include "base/err.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STORY_MAX = 64 << 20, GAIN_ROUNDS = 1000 };

static const double ROUND_MIN_S = 1e-3, ROUND_MAX_S = 1e7;

void sim_opts_init(struct sim_opts *opts)
{
    *opts = (struct sim_opts){
        .round_s = 60, .restart_s = 30, .node_repair_s = 7200, .seed = 1, .story_job = SIM_NONE};
}

/* ---- live jobs ---- */

static void integrate_live(struct sim_state *s, double when_s)
{
    s->live_integral += (double)s->live_count * (when_s - s->live_since_s);
    s->live_since_s = when_s;
}

void sim_count_live(struct sim_state *s, double when_s, int change)
{
    integrate_live(s, when_s);
    s->live_count += (size_t)change;
}

void sim_retire(struct sim_state *s, struct sim_active *a)
{
    a->next_free = s->free_list;
    s->free_list = a;
}

static struct sim_active *active_new(struct sim_state *s)
{
    struct sim_active *a = s->free_list;

    if (a == NULL)
        return base_arena_calloc(&s->actives, 1, sizeof *a);
    s->free_list = a->next_free;
    *a = (struct sim_active){
        .far = a->far, .far_cap = a->far_cap, .shares = a->shares, .adapt = a->adapt};
    return a;
}

static void count_done(struct sim_state *s)
{
    if (s->opts->done != NULL)
        atomic_fetch_add_explicit(s->opts->done, 1, memory_order_relaxed);
}

static shoal_status reject(struct sim_state *s, uint32_t index)
{
    const struct sim_job *t = &s->trace->jobs[index];
    struct sim_active a = {.job = {.id = index, .gpus = t->gpus, .submit_s = t->submit_s}};

    s->result->jobs[index] = (struct sim_job_result){
        .start_s = NAN, .finish_s = NAN, .rho = NAN, .outcome = SIM_REJECTED};
    s->result->metrics.rejected++;
    count_done(s);
    shoal_status st = sim_journal_job(s, t->submit_s, "job.rejected", &a, "impossible");
    return st == SHOAL_OK ? sim_tuner_gone(s, index, t->submit_s) : st;
}

/* The kinds that can ever hold its gang: all it accepts, or under locality=rack without relaxing those
 * with a rack that is large enough. */
static uint32_t placeable_kinds(const struct sim_state *s, const struct sim_job *t)
{
    uint32_t kinds = 0;

    for (uint32_t k = 0; k < s->cluster->kind_count; k++)
        if ((t->kinds >> k & 1) != 0 && t->gpus <= s->gang_max[k])
            kinds |= 1u << k;
    return kinds;
}

static shoal_status arrive(struct sim_state *s)
{
    uint32_t index = (uint32_t)s->next_arrival++;
    const struct sim_job *t = &s->trace->jobs[index];

    uint32_t kinds = placeable_kinds(s, t);
    if (kinds == 0)
        return reject(s, index);
    if (base_reserve(s->alloc, (void **)&s->jobs, &s->job_cap, s->job_count + 1, sizeof *s->jobs) !=
        0)
        return base_err_nomem(s->err, "simulating");
    struct sim_active *a = active_new(s);
    if (a == NULL || sim_shares_join(s, a) != SHOAL_OK)
        return base_err_nomem(s->err, "simulating");
    a->job = (struct sched_job){
        .id = index,
        .gpus = t->gpus,
        .batch = t->speed.batch,
        .kinds = kinds,
        .group = t->group,
        .app = index,
        .weight = t->weight,
        .submit_s = t->submit_s,
        .deadline_s = t->deadline_s,
        .model = t->speed,
        .work_told = t->speed.work,
        .wait_since_s = t->submit_s,
        .lease_until_s = t->submit_s,
        .partner = SCHED_JOB_NONE,
    };
    sim_adapt_tell_work(s, &a->job);
    if (sim_adapt_join(s, a) != SHOAL_OK) {
        sim_retire(s, a);
        return base_err_nomem(s->err, "simulating");
    }
    s->adaptive = s->adaptive || a->job.adapt != NULL;
    sim_tuner_join(s, a);
    sched_job_rank(&a->job, s->cluster);
    a->slow = 1;
    a->start_s = a->end_s = NAN;
    a->since_s = t->submit_s;
    a->reason = SCHED_WHY_NEXT_ROUND;
    a->fail_at_run_s = INFINITY;
    a->checkpoint_due_s = s->opts->checkpoint_s;
    sim_count_live(s, t->submit_s, 1);
    a->live_integral = s->live_integral;
    s->jobs[s->job_count++] = &a->job;
    sim_faults_draw(s, a);
    return sim_journal_job(s, t->submit_s, "job.arrived", a, NULL);
}

void sim_release(struct sim_state *s, struct sim_active *a, double when_s)
{
    sim_record_stop(s, a, when_s);
    struct sim_active *partner = a->partner;
    sim_unpair(a);
    if (partner != NULL && isnan(partner->end_s))
        sim_refresh_rate(s, partner);
    s->places_changed = true;
    a->job.alloc = (struct sched_alloc){0};
    a->job.wait_since_s = a->since_s = when_s;
    a->reason = SCHED_WHY_NEXT_ROUND;
}

void sim_rollback(struct sim_state *s, struct sim_active *a)
{
    s->result->metrics.lost_gpu_s += a->at_risk_gpu_s;
    a->worked_gpu_s -= a->at_risk_gpu_s;
    a->at_risk_gpu_s = 0;
    s->undone += (a->job.progress - a->checkpoint) / sim_whole_work(s, a);
    a->job.progress = a->checkpoint;
}

/* Nodes held for jobs now; under a policy that sizes the cluster none while no job is live. */
static double nodes_wanted(const struct sim_state *s)
{
    if (s->nodes_wanted == SIM_NONE)
        return s->nodes_up;
    return s->job_count == 0 ? 0 : s->nodes_wanted < s->nodes_up ? s->nodes_wanted : s->nodes_up;
}

shoal_status sim_end_job(struct sim_state *s, struct sim_active *a)
{
    double when = a->end_s, life = when - a->job.submit_s - a->parked_s;
    const struct sim_job *t = &s->trace->jobs[a->job.id];
    enum sim_outcome outcome = a->failed ? SIM_FAILED : a->stopped ? SIM_STOPPED : SIM_FINISHED;
    static const char *const events[] = {
        [SIM_FINISHED] = "job.finished", [SIM_FAILED] = "job.failed", [SIM_STOPPED] = "job.pruned"};

    sim_count_live(s, when, -1);
    s->up_last_gpu_s = s->up_gpu_s - (double)s->gpus_up * (s->up_since_s - when);
    s->node_last_s = s->node_s - nodes_wanted(s) * (s->up_since_s - when);
    double n = life > 0 ? (s->live_integral - a->live_integral) / life : 1;
    double alone = outcome == SIM_FINISHED ? sim_alone_s(s, t, n < 1 ? 1 : n) : NAN;
    s->result->jobs[a->job.id] = (struct sim_job_result){
        .start_s = a->start_s,
        .finish_s = when,
        .rho = (float)(life / alone),
        .gpu_s = (float)a->job.attained_gpu_s,
        .wait_s = (float)a->wait_s,
        .locality_wait_s = (float)a->locality_wait_s,
        .starts = a->job.starts,
        .outcome = (uint8_t)outcome,
    };
    sim_shares_end(s, a);
    sim_detail_end(s, a);
    s->result->metrics.cost_usd += a->usd;
    if (a->job.id == s->opts->story_job)
        s->story_usd = a->unpriced ? NAN : a->usd;
    if (a->failed)
        s->result->metrics.lost_gpu_s += a->worked_gpu_s;
    sim_release(s, a, when);
    count_done(s);
    shoal_status st = sim_journal_job(s, when, events[outcome], a,
                                      a->failed ? sim_fault_name(a->fail_class) : NULL);
    return st == SHOAL_OK ? sim_tuner_gone(s, a->job.id, when) : st;
}

/* Takes the ended jobs out of the live list, which stays in order. */
static void drop_ended(struct sim_state *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->job_count; i++) {
        struct sim_active *a = sim_active_of(s->jobs[i]);
        if (isnan(a->end_s)) {
            s->jobs[kept++] = s->jobs[i];
        } else if (a->parked == SIM_PARKING) {
            a->parked = SIM_PARKED;
            a->end_s = NAN;
        } else {
            sim_retire(s, a);
        }
    }
    s->job_count = kept;
}

static shoal_status end_or_retry(struct sim_state *s, struct sim_active *a)
{
    double when = a->end_s;

    if (sim_tuner_parks(s, a))
        return sim_tuner_park(s, a);
    if (!a->failed || !sim_faults_retry(s, a))
        return sim_end_job(s, a);
    sim_rollback(s, a);
    sim_release(s, a, when);
    a->end_s = NAN;
    a->failed = false;
    s->result->metrics.job_failures++;
    shoal_status st = sim_journal_job(s, when, "job.retried", a, sim_fault_name(a->fail_class));
    sim_faults_draw(s, a);
    return st;
}

/* Moves time to `to_s`: progress, then arrivals and endings in order of time. */
static shoal_status step_to(struct sim_state *s, double to_s)
{
    shoal_status st = sim_advance(s, to_s);
    size_t e = 0;

    sim_record_stretch(s, to_s);
    s->up_gpu_s += (double)s->gpus_up * (to_s - s->up_since_s);
    s->node_s += nodes_wanted(s) * (to_s - s->up_since_s);
    s->up_since_s = to_s;
    while (st == SHOAL_OK) {
        bool arrival = s->next_arrival < s->trace->job_count &&
                       s->trace->jobs[s->next_arrival].submit_s <= to_s;
        if (e < s->ended_count &&
            (!arrival || s->ended[e]->end_s <= s->trace->jobs[s->next_arrival].submit_s)) {
            st = end_or_retry(s, s->ended[e++]);
        } else if (arrival) {
            st = arrive(s);
        } else {
            break;
        }
    }
    integrate_live(s, to_s);
    drop_ended(s);
    s->now_s = to_s;
    return st;
}

static size_t count_running(const struct sim_state *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->job_count; i++)
        n += s->jobs[i]->alloc.place_count > 0;
    return n;
}

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

static const char *group_name(void *ctx, uint32_t group)
{
    const struct sim_state *s = ctx;

    return sim_names_get(&s->trace->groups, group);
}

static shoal_status decide(struct sim_state *s)
{
    struct sim_metrics *m = &s->result->metrics;

    if (s->opts->prices != NULL && sim_prices_set(s->opts->prices, s->now_s, s->priced.kinds))
        s->node_changes++;
    struct sched_snapshot snap = {
        .cluster = s->cluster,
        .node_up = s->node_up,
        .node_changes = s->node_changes,
        .jobs = s->jobs,
        .job_count = s->job_count,
        .now_s = s->now_s,
        .round_s = s->opts->round_s,
        .restart_s = s->opts->restart_s,
        .round = m->rounds,
        .seed = s->opts->seed,
        .alloc = s->alloc,
        .group_name = group_name,
        .group_ctx = s,
    };

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
    m->nodes_sized |= sched_plan_nodes(s->plan, &s->nodes_wanted);

    double gap = 0;
    m->unproven += sched_plan_unproven(s->plan, &gap);
    m->unproven_gap = fmax(m->unproven_gap, gap);
    st = sim_shares_decided(s);
    if (st == SHOAL_OK)
        st = sim_record_prices(s, s->plan);
    if (st == SHOAL_OK)
        st = sim_carry_out(s);
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
        isinf(sim_faults_next_s(s)) && count_running(s) == 0 && s->place.relax_s == 0)
        st = stuck(s);
    return st;
}

/* Jobs can stand still for ever: a turn that is all restart, nodes that are never up together. Such a
 * run would not end, so within a window in which any job could start and work, the work of all jobs
 * together must have grown. Work that a failure undid counts: the next attempt may have more luck
 * (faults.c ends the run of a job that can have none). */
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
        double window_s = fmax(GAIN_ROUNDS * o->round_s, 3 * s->place.relax_s);
        window_s = fmax(window_s, 4 * o->restart_s + 2 * o->lease_s);
        s->gain = gain;
        s->gain_due_s =
            s->now_s + (o->node_mtbf_s > 0 ? fmax(window_s, 100 * o->node_repair_s) : window_s);
        return SHOAL_OK;
    }
    const struct sched_job *j = s->jobs[0];
    base_err(
        s->err, SHOAL_E_IMPOSSIBLE,
        "under policy '%s' no job gets on any more at %.0f s, %zu %s left, first '%s' (%u GPU%s)",
        o->policy->name, s->now_s, s->job_count, s->job_count == 1 ? "is" : "are",
        s->trace->jobs[j->id].name, j->gpus, j->gpus == 1 ? "" : "s");
    if (o->restart_s >= o->round_s)
        base_err_hint(s->err, "a start takes a whole round; make --round longer than --restart");
    else if (o->node_mtbf_s > 0)
        base_err_hint(s->err, "its nodes are hardly ever up together: fewer failures, a shorter "
                              "--node-repair, or a larger cluster");
    return SHOAL_E_IMPOSSIBLE;
}

/* ---- the run ---- */

double sim_start_s(const struct sim_opts *opts, double submit_s)
{
    double round_s = ceil(submit_s / opts->round_s) * opts->round_s;
    double look_s = fmax(submit_s, round_s - opts->round_s + opts->react_s);

    return opts->react_s > 0 && look_s + opts->react_s <= round_s ? look_s : round_s;
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

    for (size_t i = 0; i < s->job_count; i++) {
        const struct sim_active *a = sim_active_of(s->jobs[i]);
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
    double react_s = s->opts->react_s;
    double looked_s = fmax(s->now_s, round_s - s->opts->round_s); /* rounds pass while none live */
    bool news = false;                                            /* that no decision has seen */
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

static shoal_status loop(struct sim_state *s)
{
    double round_s = s->opts->round_s, k = 0;
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
        k++;
    }
    return st;
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

static shoal_status setup(struct sim_state *s)
{
    const struct sim_opts *o = s->opts;
    shoal_status st = SHOAL_E_NOMEM;

    base_arena_init(&s->actives, s->alloc, 1 << 14);
    base_buf_init(&s->line, s->alloc, SIM_EVENT_MAX);
    base_heap_init(&s->node_events, s->alloc);
    s->result = base_calloc(s->alloc, 1, sizeof *s->result);
    if (s->result == NULL)
        goto nomem;
    s->result->alloc = s->alloc;
    s->memory = base_calloc(s->alloc, 1, o->policy->memory_size + 1);
    s->node_up = base_calloc(s->alloc, s->cluster->node_count, sizeof *s->node_up);
    s->node_span = base_calloc(s->alloc, s->cluster->node_count, sizeof *s->node_span);
    if (s->memory == NULL || s->node_up == NULL || s->node_span == NULL)
        goto nomem;
    s->result->trace = s->trace;
    s->result->cluster = s->given;
    base_buf_init(&s->result->story, s->alloc, STORY_MAX);
    base_buf_init(&s->result->why, s->alloc, STORY_MAX);
    s->result->story_job = o->story_job;
    s->origin_s = s->result->origin_s = first_round_s(s->trace, o->round_s);
    s->now_s = s->up_since_s = s->live_since_s = s->origin_s;
    s->gain_due_s = s->gain = -INFINITY;
    s->result->jobs = base_calloc(s->alloc, s->trace->job_count, sizeof *s->result->jobs);
    if (s->result->jobs == NULL)
        goto nomem;
    label(s->result, o);
    for (uint32_t n = 0; n < s->cluster->node_count; n++)
        s->node_up[n] = true;
    s->gpus_up = s->cluster->gpus;
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
    base_free(s->alloc, s->ended);
    base_free(s->alloc, s->node_up);
    base_free(s->alloc, s->node_span);
    base_free(s->alloc, s->node_multi);
    base_heap_fini(&s->node_events);
    base_buf_fini(&s->line);
    base_arena_fini(&s->actives);
    sched_plan_free(s->plan);
    sim_recorder_free(s->recorder);
    sim_result_free(s->result);
}

/* A time that is known and not negative. */
static bool some_time(double seconds)
{
    return isfinite(seconds) && seconds >= 0;
}

static shoal_status check_opts(const struct sim_opts *o, const struct sim_trace *trace,
                               shoal_err *err)
{
    if (!(o->round_s >= ROUND_MIN_S && o->round_s <= ROUND_MAX_S))
        return base_err(err, SHOAL_E_INVAL, "a round takes between %g and %g seconds, not %g",
                        ROUND_MIN_S, ROUND_MAX_S, o->round_s);
    if (o->react_s != 0 && !(o->react_s >= ROUND_MIN_S && o->react_s <= o->round_s))
        return base_err(
            err, SHOAL_E_INVAL,
            "a reaction takes between %g seconds and a round (%g), or 0 for none, not %g",
            ROUND_MIN_S, o->round_s, o->react_s);
    if (!some_time(o->restart_s) || !some_time(o->lease_s) || !some_time(o->checkpoint_s))
        return base_err(err, SHOAL_E_INVAL,
                        "restart, lease and checkpoint times are finite and not negative");
    if (!(o->interference >= 0 && o->interference < 1))
        return base_err(err, SHOAL_E_INVAL, "interference is a share below 1, not %g",
                        o->interference);
    if (!(o->report_noise >= 0 && o->report_noise < 1))
        return base_err(err, SHOAL_E_INVAL, "what jobs report is wrong by a share below 1, not %g",
                        o->report_noise);
    if (!(o->work_error >= 0))
        return base_err(err, SHOAL_E_INVAL, "the error of what is told of work is 0 or more");
    if (o->halving != 0 && !(o->halving >= 1.1 && o->halving <= 1e6))
        return base_err(err, SHOAL_E_INVAL,
                        "of a sweep 1 in 1.1 to 1e6 jobs goes on, or all (0), not 1 in %g",
                        o->halving);
    if (!some_time(o->node_mtbf_s) || !some_time(o->node_repair_s) ||
        (o->node_mtbf_s > 0 && !(o->node_repair_s > 0)))
        return base_err(
            err, SHOAL_E_INVAL,
            "nodes that fail need a finite time between failures and a repair time above 0");
    if (o->story_job != SIM_NONE && o->story_job >= trace->job_count)
        return base_err(err, SHOAL_E_INVAL, "the story of job %u is wanted, the trace has %zu",
                        o->story_job, trace->job_count);
    return SHOAL_OK;
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
    if (opts->prices != NULL) {
        s.priced = *cluster;
        s.cluster = &s.priced;
        (void)sim_prices_set(opts->prices, first_round_s(trace, opts->round_s), s.priced.kinds);
    }
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
