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
 * Cost per decision: O(live jobs) here plus the policy's own. Memory: one row per job of the trace
 * for results, and one sim_active per live job, recycled. */
#include "sim/state.h"

#include "base/err.h"
#include <math.h>

enum { GAIN_ROUNDS = 1000 };

/* ---- time ---- */

/* Moves time to `to_s`: progress, then arrivals and endings in order of time. */
static shoal_status step_to(struct sim_state *s, double to_s)
{
    shoal_status st = sim_advance(s, to_s);
    size_t e = 0;

    sim_record_stretch(s, to_s);
    s->up_gpu_s += (double)s->gpus_up * (to_s - s->up_since_s);
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
        .group_name = sim_group_name,
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

    shoal_status st = sim_opts_check(opts, trace, err);
    if (st != SHOAL_OK)
        return st;
    st = sim_setup(&s);
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
    sim_teardown(&s);
    return st;
}
