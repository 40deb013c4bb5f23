/* live.c - the jobs that are live: how one arrives, lets go of its GPUs, falls back, ends or tries
 * again, and what is counted about them on the way. run.c says when. Tests:
 * tests/unit/sim/test_run.c. */
#include "sim/state.h"

#include "base/assert.h"
#include "base/err.h"
#include <math.h>
#include <string.h>

void sim_live_integrate(struct sim_state *s, double when_s)
{
    s->live_integral += (double)s->live_count * (when_s - s->live_since_s);
    s->live_since_s = when_s;
}

void sim_count_live(struct sim_state *s, double when_s, int change)
{
    sim_live_integrate(s, when_s);
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

/* The kinds that can ever hold its gang: all it accepts, or under locality=rack without relaxing
 * those with a rack that is large enough. */
static uint32_t placeable_kinds(const struct sim_state *s, const struct sim_job *t)
{
    uint32_t kinds = 0;

    for (uint32_t k = 0; k < s->cluster->kind_count; k++)
        if ((t->kinds >> k & 1) != 0 && t->gpus <= s->gang_max[k])
            kinds |= 1u << k;
    return kinds;
}

shoal_status sim_live_arrive(struct sim_state *s)
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
    a->checkpoint_due_s = s->opts->how.checkpoint_s;
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

double sim_nodes_wanted(const struct sim_state *s)
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
    s->node_last_s = s->node_s - sim_nodes_wanted(s) * (s->up_since_s - when);
    sim_rent_end(s, when);
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
    s->result->metrics.held_usd += a->usd;
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
    struct sched_snapshot live = {.jobs = s->jobs, .job_count = s->job_count};

    for (size_t e = 0; e < s->ended_count; e++) {
        struct sim_active *a = s->ended[e];
        if (isnan(a->end_s)) /* it tries again */
            continue;
        uint32_t at = sched_snapshot_find(&live, a->job.id);
        live.job_count--;
        memmove(s->jobs + at, s->jobs + at + 1, (live.job_count - at) * sizeof *s->jobs);
        sim_retire(s, a);
    }
    s->job_count = live.job_count;
}

/* The same where sweeps end jobs that did not run, or park them. */
static void drop_swept(struct sim_state *s)
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

void sim_live_drop(struct sim_state *s)
{
    if (s->opts->how.halving > 0)
        drop_swept(s);
    else
        drop_ended(s);
}

shoal_status sim_live_leave(struct sim_state *s, struct sim_active *a)
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

/* ---- carrying out a plan ----
 *
 * Carrying out a plan: first everyone who loses or changes places lets go, then the
 * others start, then rates follow from places, partners and interference, and last comes the news.
 * Jobs that are kept notice nothing. */

/* Counts waiting up to `when_s` under the reason that held. */
static void settle_wait(struct sim_state *s, struct sim_active *a, double when_s)
{
    double waited = when_s - a->since_s;

    a->since_s = when_s;
    a->wait_s += waited;
    sim_detail_wait(a, waited);
    if (a->reason == SCHED_WHY_LOCALITY)
        a->locality_wait_s += waited;
    s->result->metrics.wait_by_reason_s[a->reason] += waited;
}

static shoal_status copy_places(struct sim_state *s, struct sim_active *a,
                                const struct sched_alloc *from)
{
    struct sched_place *to = a->near;

    if (from->place_count > BASE_COUNT(a->near)) {
        if (a->far_cap < from->place_count) {
            struct sched_place *far =
                base_realloc(s->alloc, a->far, from->place_count * sizeof *a->far);
            if (far == NULL)
                return base_err_nomem(s->err, "simulating");
            a->far = far;
            a->far_cap = from->place_count;
        }
        to = a->far;
    }
    memcpy(to, from->places, from->place_count * sizeof *to);
    a->job.alloc = *from;
    a->job.alloc.places = to;
    return SHOAL_OK;
}

static shoal_status start_job(struct sim_state *s, struct sim_active *a,
                              const struct sched_grant *g, bool moved)
{
    shoal_status st = copy_places(s, a, &g->alloc);

    if (st != SHOAL_OK)
        return st;
    if (!moved)
        settle_wait(s, a, s->now_s);
    if (isnan(a->start_s))
        a->start_s = s->now_s;
    if (a->job.starts > 0)
        s->result->metrics.restarts++;
    a->job.starts++;
    a->moves += moved;
    s->result->metrics.moves += moved;
    s->places_changed = true;
    a->restart_left_s = s->opts->how.restart_s;
    if (g->adapted) {
        a->restart_left_s += a->boot_s;
        a->boot_s = 0;
    }
    a->job.lease_until_s = s->now_s + s->opts->how.lease_s;
    a->reason = SCHED_WHY_NONE;
    a->adapted = g->adapted;
    a->rate = -1; /* set once partners are known */
    a->news = moved ? SIM_NEWS_MOVED : SIM_NEWS_STARTED;
    return SHOAL_OK;
}

static shoal_status stop_jobs(struct sim_state *s)
{
    size_t at = 0, i = 0; /* both lists are by id */

    for (; at < s->running_count; at++) {
        struct sim_active *a = s->running[at].active;
        if (!sim_running(a))
            continue;
        while (s->jobs[i] != &a->job) {
            i++;
            shoal_dassert(i < s->job_count);
        }
        const struct sched_grant *g = sched_plan_grant(s->plan, i);
        if (g != NULL && g->kept)
            continue;
        if (g == NULL) {
            a->preempted++;
            s->result->metrics.preempted++;
            sim_release(s, a, s->now_s);
            shoal_status st = sim_journal_job(s, s->now_s, "job.preempted", a, NULL);
            if (st != SHOAL_OK)
                return st;
        } else {
            struct sim_active *partner = a->partner;
            sim_record_stop(s, a, s->now_s);
            sim_unpair(a);
            if (partner != NULL)
                partner->rate = -1; /* it may stay where it is, and speeds up */
        }
    }
    return SHOAL_OK;
}

/* Lists who runs from now on, and who has news. */
static shoal_status start_jobs(struct sim_state *s)
{
    s->running_count = s->news_count = 0;
    for (size_t i = 0; i < s->job_count; i++) {
        struct sim_active *a = sim_active_of(s->jobs[i]);
        const struct sched_grant *g = sched_plan_grant(s->plan, i);
        if (g != NULL) {
            s->running[s->running_count++] = (struct sim_held){.active = a, .index = (uint32_t)i};
            shoal_status st = g->kept ? SHOAL_OK : start_job(s, a, g, sim_running(a));
            if (st != SHOAL_OK)
                return st;
        } else {
            enum sched_reason reason = sched_plan_reason(s->plan, i);
            if (reason == a->reason)
                continue;
            settle_wait(s, a, s->now_s);
            a->reason = (uint8_t)reason;
            a->news = SIM_NEWS_WAITS;
        }
        if (a->news != SIM_NEWS_NONE)
            s->news[s->news_count++] = (uint32_t)i;
    }
    return SHOAL_OK;
}

static shoal_status no_speed(struct sim_state *s, const struct sim_active *a)
{
    const struct sched_alloc *al = &a->job.alloc;

    base_err(s->err, SHOAL_E_IMPOSSIBLE,
             "job '%s' cannot run on %u GPU%s of kind '%s' over %u node%s: its profile has no "
             "speed for that",
             s->trace->jobs[a->job.id].name, al->gpus, al->gpus == 1 ? "" : "s",
             s->cluster->kinds[al->kind].name, al->place_count, al->place_count == 1 ? "" : "s");
    base_err_hint(s->err, "profile that size, or leave the job out of the trace");
    return SHOAL_E_IMPOSSIBLE;
}

/* Partners and interference as the plan has them; the rate of every job affected is computed anew.
 */
static shoal_status settle_rates(struct sim_state *s)
{
    sim_detail_places(s);
    for (size_t at = 0; at < s->running_count; at++) {
        struct sim_active *a = s->running[at].active;
        const struct sched_grant *g = sched_plan_grant(s->plan, s->running[at].index);
        struct sim_active *partner =
            g->partner == SCHED_JOB_NONE ? NULL : sim_active_of(s->jobs[g->partner]);
        float slow = sim_detail_speed(s, a);
        if (partner == a->partner && slow == a->slow && a->rate >= 0)
            continue;
        if (partner != a->partner)
            sim_record_stop(s, a, s->now_s); /* its rows change */
        a->partner = partner;
        a->job.partner = partner != NULL ? partner->job.id : SCHED_JOB_NONE;
        a->slow = slow;
        sim_refresh_rate(s, a);
        if (a->rate <= 0)
            return no_speed(s, a);
    }
    s->places_changed = false;
    return SHOAL_OK;
}

/* Once partners are known. */
static shoal_status tell(struct sim_state *s)
{
    shoal_status st = SHOAL_OK;

    for (size_t n = 0; n < s->news_count && st == SHOAL_OK; n++) {
        struct sim_active *a = sim_active_of(s->jobs[s->news[n]]);
        switch ((enum sim_news)a->news) {
        case SIM_NEWS_NONE: break;
        case SIM_NEWS_STARTED: st = sim_journal_job(s, s->now_s, "job.started", a, NULL); break;
        case SIM_NEWS_MOVED: st = sim_journal_job(s, s->now_s, "job.moved", a, NULL); break;
        case SIM_NEWS_WAITS: st = sim_journal_waiting(s, s->news[n]); break;
        }
        a->news = SIM_NEWS_NONE;
    }
    return st;
}

shoal_status sim_carry_out(struct sim_state *s)
{
    if (base_reserve(s->alloc, (void **)&s->running, &s->running_cap, s->job_count,
                     sizeof *s->running) != 0 ||
        base_reserve(s->alloc, (void **)&s->news, &s->news_cap, s->job_count, sizeof *s->news) != 0)
        return base_err_nomem(s->err, "simulating");
    shoal_status st = stop_jobs(s);
    if (st == SHOAL_OK)
        st = start_jobs(s);
    if (st == SHOAL_OK)
        st = settle_rates(s);
    return st == SHOAL_OK ? tell(s) : st;
}
