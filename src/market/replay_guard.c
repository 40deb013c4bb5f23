/* replay_guard.c - the guard: from when on a job must be on demand to be sure of its deadline.
 *
 * Sure means: counting only steps that no interruption can take away, and paying for the
 * checkpoint, the transfer, the start-up and all later checkpoints. The offer that allows the
 * latest moment is the one it goes to; the cheaper one where two allow the same. */
#include "market/replay_state.h"

#include <math.h>

/* Steps that an interruption from now on cannot take away. */
static double safe_steps(const struct replay *r, const struct replay_job *j)
{
    double run_s = r->now_s - j->run_from_s;

    if (j->phase == REPLAY_LEAVING)
        run_s = j->leave_run_s;
    else if (j->phase != REPLAY_RUNNING)
        return j->kept;
    double safe = market_pace_saved(j->pace, run_s);
    if (r->costs->notice_s >= r->costs->checkpoint_s)
        safe = fmax(safe, market_pace_made(j->pace, run_s - r->costs->checkpoint_s));
    return j->kept + safe;
}

static double seconds_on(const struct replay *r, const struct replay_job *j, uint32_t slot,
                         uint32_t from, double safe)
{
    uint32_t offer = r->slots[slot].offer;
    double speed = j->job->speed[r->prices->offers[offer].kind];

    return market_move_s(r->prices, j->job, r->costs, from, offer) +
           market_pace_s(market_pace(r->costs, speed), j->job->work - safe);
}

double replay_guard_slack(const struct replay *r, const struct replay_job *j, uint32_t *out_slot)
{
    double best = -INFINITY, safe = safe_steps(r, j), first = 0;
    uint32_t from = j->checkpoint;

    *out_slot = MARKET_NONE;
    if (j->job->deadline_s == INFINITY)
        return INFINITY;
    if (j->phase == REPLAY_RUNNING || j->phase == REPLAY_LEAVING) {
        from = r->slots[j->slot].offer;
        first = j->phase == REPLAY_RUNNING ? r->costs->checkpoint_s : j->phase_s - r->now_s;
    }
    for (size_t i = 0; i < j->rescue_count; i++) {
        const struct replay_slot *s = &r->slots[j->rescue[i]];
        if (isnan(s->usd_h))
            continue;
        double slack =
            j->job->deadline_s - r->now_s - first - seconds_on(r, j, j->rescue[i], from, safe);
        bool same = *out_slot != MARKET_NONE && slack == best;
        if (slack > best || (same && s->usd_h < r->slots[*out_slot].usd_h)) {
            best = slack;
            *out_slot = j->rescue[i];
        }
    }
    return *out_slot == MARKET_NONE ? INFINITY : best;
}

bool replay_guard_allows(const struct replay *r, const struct replay_job *j, uint32_t slot,
                         double slack_s)
{
    const struct market_costs *c = r->costs;
    uint32_t offer = r->slots[slot].offer;
    double slowest = fmin(c->zone_gb_s, fmin(c->region_gb_s, c->cloud_gb_s));
    double move_s = c->startup_s + c->checkpoint_s + j->job->checkpoint_gb / slowest;

    if (slack_s > 2 * move_s + c->checkpoint_every_s) /* far enough to need no closer look */
        return true;
    double safe = safe_steps(r, j), leave_s = 0;
    uint32_t from = j->checkpoint;
    if (j->phase == REPLAY_RUNNING) {
        from = r->slots[j->slot].offer;
        leave_s = c->checkpoint_s;
    }
    double there = r->now_s + leave_s + market_move_s(r->prices, j->job, c, from, offer);
    if (r->slots[slot].on_demand &&
        r->now_s + leave_s + seconds_on(r, j, slot, from, safe) <= j->job->deadline_s)
        return true;
    for (size_t i = 0; i < j->rescue_count; i++) {
        if (!isnan(r->slots[j->rescue[i]].usd_h) &&
            there + c->checkpoint_s + seconds_on(r, j, j->rescue[i], offer, safe) <=
                j->job->deadline_s)
            return true;
    }
    return false;
}
