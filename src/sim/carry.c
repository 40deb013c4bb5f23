/* carry.c - carrying out a plan: first everyone who loses or changes places lets go, then the
 * others start, then rates follow from places, partners and interference, and last comes the news.
 * Jobs that are kept notice nothing. */
#include "sim/state.h"

#include "base/assert.h"
#include "base/err.h"
#include <math.h>
#include <string.h>

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
    a->restart_left_s = s->opts->restart_s;
    if (g->adapted) {
        a->restart_left_s += a->boot_s;
        a->boot_s = 0;
    }
    a->job.lease_until_s = s->now_s + s->opts->lease_s;
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
