/* replay.c - jobs on a market in virtual time; the rules are in replay.h.
 *
 * One loop over instants: the next change of a watched offer, the next thing that happens to a job
 * (started up, left, finished, out of money, guard), or the next step, whichever comes first. At
 * an instant, in this order: offers change and interrupt; jobs go on; guards look; strategies are
 * asked. Money is counted at every change of a price that somebody pays, so dollars are exact. */
#include "market/replay.h"

#include "base/err.h"
#include "market/assign.h"
#include "market/replay_state.h"
#include <math.h>
#include <string.h>

const char *const market_end_names[MARKET_END_COUNT] = {"done",  "moved",  "interrupted",
                                                        "guard", "budget", "history"};

/* ---- the offers in time ----
 *
 * Their prices, how many can be had, and what has been seen of them so far. Every change of a slot is one item
 * of a heap. */

static double next_change(const struct replay_slot *s)
{
    return fmin(s->price_until_s, s->up_until_s);
}

static void look(struct replay *r, struct replay_slot *s)
{
    s->usd_h = market_price_at(r->prices, s->offer, r->now_s, &s->price_cursor, &s->price_until_s);
    if (s->on_demand) {
        s->up = MARKET_UNLIMITED;
        s->up_until_s = INFINITY;
    } else {
        s->up = market_avail_at(r->avail, s->offer, r->now_s, &s->up_cursor, &s->up_until_s);
    }
    if (isnan(s->usd_h))
        s->up = 0;
    r->usd_h[s->offer] = s->usd_h;
}

static shoal_status push(struct replay *r, uint32_t slot)
{
    double at = next_change(&r->slots[slot]);

    if (at == INFINITY)
        return SHOAL_OK;
    return base_heap_push(&r->changes, (struct base_heap_item){at, slot, slot});
}

static shoal_status watch_start(struct replay *r)
{
    for (uint32_t i = 0; i < r->slot_count; i++) {
        struct replay_slot *s = &r->slots[i];
        look(r, s);
        s->seen_until_s = r->now_s;
        r->seen[s->offer] = (struct market_seen){.since_s = r->now_s};
        shoal_status st = push(r, i);
        if (st != SHOAL_OK)
            return st;
    }
    return SHOAL_OK;
}

static void count(struct replay *r, struct replay_slot *s)
{
    struct market_seen *seen = &r->seen[s->offer];
    double dt = r->now_s - s->seen_until_s;

    if (dt <= 0)
        return;
    s->seen_until_s = r->now_s;
    if (!s->on_demand) {
        size_t bin = market_age_bin_from(s->age_bin, r->now_s - dt / 2 - seen->since_s);
        s->age_bin = (uint8_t)bin;
        (s->up > 0 ? r->ages.up_s : r->ages.down_s)[bin] += dt;
        if (s->up > 0)
            seen->ends_expected += dt * market_age_rate(r->ages.up_s, r->ages.up_ends, bin);
    }
    if (s->up > 0)
        seen->up_s += dt;
}

/* Brings what is seen of all slots up to now. */
static void count_seen(struct replay *r)
{
    for (size_t i = 0; i < r->slot_count; i++)
        count(r, &r->slots[i]);
}

/* Takes over the changes of a slot that are due; true when there are more of it or it is cheaper. */
static bool take_changes(struct replay *r, uint32_t slot)
{
    struct replay_slot *s = &r->slots[slot];
    struct market_seen *seen = &r->seen[s->offer];
    uint32_t up = s->up;
    double usd_h = s->usd_h;

    count(r, s);
    look(r, s);
    if ((up > 0) != (s->up > 0)) {
        (up > 0 ? r->ages.up_ends : r->ages.down_ends)[market_age_bin(r->now_s - seen->since_s)]++;
        seen->since_s = r->now_s;
        s->age_bin = 0;
    }
    if (up > 0 && s->up == 0)
        seen->interruptions++;
    shoal_status st = push(r, slot); /* one was taken out before: there is room */
    if (st != SHOAL_OK)
        r->status = st;
    return s->up > up || s->usd_h < usd_h || (isnan(usd_h) && !isnan(s->usd_h));
}

/* ---- the guard: from when on a job must be on demand to be sure of its deadline ----
 *
 * Sure means: counting only steps that no interruption can take away, and paying for the
 * checkpoint, the transfer, the start-up and all later checkpoints. The offer that allows the
 * latest moment is the one it goes to; the cheaper one where two allow the same. */

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

/* Seconds until the job must go on demand to be sure of its deadline; INFINITY without one or
 * without offers on demand; *out_slot is where to then. */
static double guard_slack(const struct replay *r, const struct replay_job *j, uint32_t *out_slot)
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

/* Whether going to `slot` now leaves the deadline safe. */
static bool guard_allows(const struct replay *r, const struct replay_job *j, uint32_t slot,
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

/* ---- what happens to a job ---- */

/* The guard acts when fewer seconds than this are left, and looks again half of it before they
 * could be: so it is never late and never looks more often than that. */
#define GUARD_S 60.0

static double steps_made(const struct replay *r, const struct replay_job *j)
{
    if (j->phase == REPLAY_RUNNING)
        return j->kept + market_pace_made(j->pace, r->now_s - j->run_from_s);
    if (j->phase == REPLAY_LEAVING)
        return j->kept + market_pace_made(j->pace, j->leave_run_s);
    return j->kept;
}

/* Pays for what the job holds up to now. */
static void pay(struct replay *r, struct replay_job *j)
{
    if (j->slot == MARKET_NONE)
        return;
    double usd_h = r->slots[j->slot].usd_h * j->job->instances;
    double usd = usd_h * (r->now_s - j->paid_s) / 3600;
    j->paid_s = r->now_s;
    if (!(usd > 0))
        return;
    j->stay.usd += usd;
    j->spent_usd += usd;
}

static void keep_stay(struct replay *r, const struct replay_job *j)
{
    void *past = r->past;

    if (j->stay.to_s == j->stay.from_s && j->stay.egress_usd == 0)
        return; /* it came and went in one instant */
    if (base_reserve(r->alloc, &past, &r->past_cap, r->past_count + 1, sizeof *r->past) != 0) {
        r->status = SHOAL_E_NOMEM;
        return;
    }
    r->past = past;
    r->past[r->past_count++] = (struct replay_past){(uint32_t)(j - r->jobs), j->stay};
}

/* The stay is over with `gain` steps kept. */
static void end_stay(struct replay *r, struct replay_job *j, double gain, enum market_end why)
{
    struct replay_slot *s = &r->slots[j->slot];
    bool ran = j->phase == REPLAY_RUNNING || j->phase == REPLAY_LEAVING;
    double first = ran ? j->run_from_s : r->now_s;

    pay(r, j);
    j->stay.to_s = r->now_s;
    j->stay.end = (uint8_t)why;
    j->stay.steps = gain;
    j->out.starting_s += first - j->stay.from_s;
    *(s->on_demand ? &j->out.on_demand_s : &j->out.spot_s) += r->now_s - first;
    j->out.egress_usd += j->stay.egress_usd;
    j->kept += gain;
    j->last_offer = s->offer;
    if (ran && j->kept > 0)
        j->checkpoint = s->offer;
    keep_stay(r, j);
    s->held -= j->job->instances;
    j->slot = MARKET_NONE;
    j->phase = REPLAY_IDLE;
    r->wake = r->wake || r->job_count > 1; /* others may want it */
}

static void stop(struct replay *r, struct replay_job *j)
{
    j->phase = REPLAY_DONE;
    j->out.end_s = r->now_s;
}

static void finish(struct replay *r, struct replay_job *j)
{
    end_stay(r, j, j->job->work - j->kept, MARKET_END_DONE);
    j->out.finish_s = r->now_s;
    stop(r, j);
}

static void interrupt(struct replay *r, struct replay_job *j)
{
    double run_s = r->now_s - j->run_from_s, checkpoint_s = r->costs->checkpoint_s;
    double made = 0, gain = 0;

    if (j->phase == REPLAY_RUNNING || j->phase == REPLAY_LEAVING) {
        double stepped_s = j->phase == REPLAY_LEAVING ? j->leave_run_s : run_s;
        made = market_pace_made(j->pace, stepped_s);
        gain = market_pace_saved(j->pace, stepped_s);
        if (r->costs->notice_s >= checkpoint_s) {
            gain = fmax(gain, market_pace_made(j->pace, fmin(stepped_s, run_s - checkpoint_s)));
            made = gain; /* what it would have made in the last seconds it did not */
        }
    }
    j->out.lost_steps += made - gain;
    j->out.interruptions++;
    end_stay(r, j, gain, MARKET_END_INTERRUPTED);
    j->ask = true;
}

static bool fits(const struct replay *r, const struct replay_job *j, uint32_t slot)
{
    const struct replay_slot *s = &r->slots[slot];
    uint32_t n = j->job->instances;

    if (isnan(s->usd_h) || (s->up != MARKET_UNLIMITED && (uint64_t)s->held + n > s->up))
        return false;
    if (j->spent_usd + market_move_usd(r->prices, j->job, r->costs, j->checkpoint, s->offer) >
        j->job->budget_usd)
        return false;
    for (size_t l = 0; l < r->opts->limit_count; l++) {
        const bool *covers = r->covers + l * r->slot_count;
        uint64_t used = n;
        if (!covers[slot])
            continue;
        for (size_t i = 0; i < r->job_count; i++) {
            const struct replay_job *other = &r->jobs[i];
            if (other != j && other->slot != MARKET_NONE && covers[other->slot])
                used += other->job->instances;
        }
        if (used > r->opts->limits[l].instances)
            return false;
    }
    return true;
}

static void begin_on(struct replay *r, struct replay_job *j, uint32_t slot)
{
    struct replay_slot *s = &r->slots[slot];
    double egress = market_move_usd(r->prices, j->job, r->costs, j->checkpoint, s->offer);

    s->held += j->job->instances;
    j->slot = slot;
    j->phase = REPLAY_STARTING;
    j->phase_s = r->now_s + market_move_s(r->prices, j->job, r->costs, j->checkpoint, s->offer);
    j->pace = market_pace(r->costs, j->job->speed[r->prices->offers[s->offer].kind]);
    j->paid_s = r->now_s;
    j->came = r->came++;
    j->spent_usd += egress;
    if (j->last_offer != MARKET_NONE && j->last_offer != s->offer)
        j->out.moves++;
    j->stay = (struct market_stay){.from_s = r->now_s, .offer = s->offer, .egress_usd = egress};
}

static void leave(struct replay *r, struct replay_job *j, uint32_t target, enum market_end why)
{
    j->target = target;
    j->why = (uint8_t)why;
    if (j->phase == REPLAY_STARTING) {
        end_stay(r, j, 0, why);
        return;
    }
    j->phase = REPLAY_LEAVING;
    j->leave_run_s = r->now_s - j->run_from_s;
    j->phase_s = r->now_s + r->costs->checkpoint_s;
}

/* When something will happen to the job by itself. */
static double next_of(const struct replay *r, const struct replay_job *j)
{
    double at = INFINITY;

    if (j->phase == REPLAY_DONE)
        return at;
    if (j->phase == REPLAY_WAITING)
        return j->job->start_s;
    if (j->phase == REPLAY_STARTING || j->phase == REPLAY_LEAVING)
        at = j->phase_s;
    if (j->phase == REPLAY_RUNNING)
        at = j->done_s;
    if (j->slot != MARKET_NONE && j->job->budget_usd < INFINITY) {
        double usd_s = r->slots[j->slot].usd_h * j->job->instances / 3600;
        at = fmin(at, j->paid_s + fmax(0, j->job->budget_usd - j->spent_usd) / usd_s);
    }
    return j->out.guarded ? at : fmin(at, j->guard_s);
}

/* Sends a guarded job that holds nothing to the place that is best for its deadline. */
static void place_guarded(struct replay *r, struct replay_job *j)
{
    uint32_t slot;

    (void)guard_slack(r, j, &slot);
    if (slot == MARKET_NONE || !fits(r, j, slot)) {
        slot = MARKET_NONE;
        for (size_t i = 0; i < j->rescue_count && slot == MARKET_NONE; i++)
            slot = fits(r, j, j->rescue[i]) ? j->rescue[i] : MARKET_NONE;
    }
    if (slot != MARKET_NONE)
        begin_on(r, j, slot);
}

/* Whether the job, on demand where it is, will be in time. */
static bool in_time_here(const struct replay *r, const struct replay_job *j)
{
    if (j->slot == MARKET_NONE || !r->slots[j->slot].on_demand || j->phase == REPLAY_LEAVING)
        return false;
    double from = j->phase == REPLAY_STARTING ? j->phase_s : j->run_from_s;
    return from + market_pace_s(j->pace, j->job->work - j->kept) <= j->job->deadline_s;
}

static void guard(struct replay *r, struct replay_job *j)
{
    uint32_t slot;
    double slack = guard_slack(r, j, &slot);

    if (slack >= GUARD_S) {
        j->guard_s = r->now_s + slack - GUARD_S / 2;
        return;
    }
    j->out.guarded = true;
    if (in_time_here(r, j))
        return;
    if (j->phase == REPLAY_LEAVING)
        j->target = slot;
    else if (j->slot != MARKET_NONE && j->slot != slot)
        leave(r, j, slot, MARKET_END_GUARD);
    if (j->phase == REPLAY_IDLE)
        place_guarded(r, j);
}

/* To the millisecond: a sum of doubles meets the budget no closer. */
static bool spent_all(const struct replay *r, const struct replay_job *j)
{
    if (j->slot == MARKET_NONE || j->job->budget_usd == INFINITY)
        return false;
    double usd_s = r->slots[j->slot].usd_h * j->job->instances / 3600;
    return j->job->budget_usd - j->spent_usd <= 1e-3 * usd_s;
}

/* Moves a job on to now. */
static void go_on(struct replay *r, struct replay_job *j)
{
    pay(r, j);
    if (j->phase == REPLAY_WAITING && j->job->start_s <= r->now_s) {
        j->phase = REPLAY_IDLE;
        j->ask = true;
    }
    if (spent_all(r, j) && !(j->phase == REPLAY_RUNNING && j->done_s <= r->now_s)) {
        double gain = steps_made(r, j) - j->kept;
        end_stay(r, j, gain, MARKET_END_BUDGET);
        j->out.broke = true;
        stop(r, j);
        return;
    }
    if (j->phase == REPLAY_LEAVING && j->phase_s <= r->now_s) {
        uint32_t target = j->target;
        end_stay(r, j, market_pace_made(j->pace, j->leave_run_s), (enum market_end)j->why);
        if (target != MARKET_NONE && !j->out.guarded && fits(r, j, target))
            begin_on(r, j, target);
        else
            j->ask = true;
    }
    if (j->phase == REPLAY_STARTING && j->phase_s <= r->now_s) {
        j->phase = REPLAY_RUNNING;
        j->run_from_s = j->phase_s;
        j->done_s = j->phase_s + market_pace_s(j->pace, j->job->work - j->kept);
        j->guard_s = fmin(j->guard_s, r->now_s); /* from here the way on demand is longer */
    }
    if (j->phase == REPLAY_RUNNING && j->done_s <= r->now_s)
        finish(r, j);
}

/* Interrupts those who came last until the rest fits. */
static void shrink(struct replay *r, uint32_t slot)
{
    const struct replay_slot *s = &r->slots[slot];

    while (s->held > 0 && s->up != MARKET_UNLIMITED && s->held > s->up) {
        struct replay_job *last = NULL;
        for (size_t i = 0; i < r->job_count; i++) {
            struct replay_job *j = &r->jobs[i];
            if (j->slot == slot && (last == NULL || j->came > last->came))
                last = j;
        }
        if (last == NULL) /* cannot be: what is held is held by somebody */
            return;
        interrupt(r, last);
    }
}

/* A slot's price or number changes: pay at the old price first; a job that is just done is done. */
static void change(struct replay *r, uint32_t slot)
{
    bool sold = !isnan(r->slots[slot].usd_h);

    if (r->slots[slot].held > 0) {
        for (size_t i = 0; i < r->job_count; i++) {
            if (r->jobs[i].slot == slot)
                go_on(r, &r->jobs[i]);
        }
    }
    if (take_changes(r, slot))
        r->wake = true;
    shrink(r, slot);
    if (r->slots[slot].on_demand && sold != !isnan(r->slots[slot].usd_h)) {
        for (size_t i = 0; i < r->job_count; i++)
            r->jobs[i].guard_s = fmin(r->jobs[i].guard_s, r->now_s);
    }
}

/* ---- a decision ----
 *
 * The strategy scores offers for every job that is to be asked, the assignment settles who gets what, and jobs are
 * sent there. */

/* In place of an infinite score of holding nothing; offers scored higher are not taken. */
#define SCORE_MAX 1e12

static bool can_choose(const struct replay_job *j)
{
    return j->phase >= REPLAY_IDLE && j->phase <= REPLAY_RUNNING && !j->out.guarded;
}

/* Who is asked; returns how many. */
static size_t gather(struct replay *r)
{
    size_t count = 0;

    for (uint32_t i = 0; i < r->job_count; i++) {
        struct replay_job *j = &r->jobs[i];
        bool ask = j->ask || (r->wake && j->phase == REPLAY_IDLE);
        j->ask = false;
        if (ask && can_choose(j))
            r->asked[count++] = i;
    }
    return count;
}

static void set_room(struct replay *r, size_t slot, uint32_t room)
{
    r->room[slot] = room;
    r->up[r->slots[slot].offer] = room;
}

/* What is left for those who are asked: what they hold themselves is theirs to use again. */
static void count_room(struct replay *r, size_t asked)
{
    for (size_t s = 0; s < r->slot_count; s++) {
        const struct replay_slot *slot = &r->slots[s];
        set_room(r, s, slot->up == MARKET_UNLIMITED ? MARKET_UNLIMITED : slot->up - slot->held);
    }
    for (size_t i = 0; i < asked; i++) {
        const struct replay_job *j = &r->jobs[r->asked[i]];
        if (j->slot != MARKET_NONE && r->room[j->slot] != MARKET_UNLIMITED)
            set_room(r, j->slot, r->room[j->slot] + j->job->instances);
    }
    for (size_t i = 0; i < r->job_count; i++) {
        const struct replay_job *j = &r->jobs[i];
        if (j->phase != REPLAY_LEAVING || j->target == MARKET_NONE ||
            r->room[j->target] == MARKET_UNLIMITED)
            continue;
        uint32_t n = j->job->instances;
        set_room(r, j->target, r->room[j->target] > n ? r->room[j->target] - n : 0);
    }
}

/* What a job sees. */
static struct market_view view_of(const struct replay *r, const struct replay_job *j,
                                  double slack_s)
{
    bool there = j->phase == REPLAY_RUNNING;
    uint32_t held = j->slot == MARKET_NONE ? MARKET_NONE : r->slots[j->slot].offer;

    return (struct market_view){
        .prices = r->prices,
        .job = j->job,
        .costs = r->costs,
        .now_s = r->now_s,
        .step_s = r->opts->step_s,
        .steps = steps_made(r, j),
        .spent_usd = j->spent_usd,
        .held = held,
        .held_since_s = held == MARKET_NONE ? r->now_s : j->stay.from_s,
        .checkpoint = there ? held : j->checkpoint,
        .safe_until_s = r->now_s + slack_s,
        .usd_h = r->usd_h,
        .up = r->up,
        .seen = r->seen,
        .ages = &r->ages,
        .candidates = j->candidates,
        .speed = j->speed,
        .candidate_count = j->candidate_count,
    };
}

static void look_on(struct replay *r)
{
    bool counted = false;

    for (size_t i = 0; i < r->job_count; i++) {
        struct replay_job *j = &r->jobs[i];
        if (j->phase != REPLAY_WAITING || j->job->start_s - r->now_s > MARKET_WATCH_S)
            continue;
        if (!counted) { /* once for all of them */
            count_seen(r);
            count_room(r, 0);
            counted = true;
        }
        struct market_view view = view_of(r, j, INFINITY);
        r->opts->strategy->watch(r->opts->knobs, j->note, &view);
    }
}

static void score(struct replay *r, struct replay_job *j, double *by_candidate, double *idle)
{
    uint32_t rescue;
    double slack = guard_slack(r, j, &rescue);
    struct market_view view = view_of(r, j, slack);

    r->opts->strategy->score(r->opts->knobs, j->note, &view, by_candidate, idle);
    if (!(*idle < SCORE_MAX))
        *idle = SCORE_MAX;
    for (size_t c = 0; c < j->candidate_count; c++) {
        uint32_t s = j->slots[c];
        if (!(by_candidate[c] < SCORE_MAX) || s == j->slot) {
            by_candidate[c] = by_candidate[c] < SCORE_MAX ? by_candidate[c] : INFINITY;
            continue;
        }
        double egress =
            market_move_usd(r->prices, j->job, r->costs, view.checkpoint, j->candidates[c]);
        if (r->room[s] < j->job->instances || j->spent_usd + egress > j->job->budget_usd ||
            !guard_allows(r, j, s, slack))
            by_candidate[c] = INFINITY;
    }
}

/* The only job: the best that it may have, no assignment needed. */
static uint32_t choose_alone(struct replay *r, struct replay_job *j)
{
    double best;
    uint32_t pick = MARKET_NONE;

    score(r, j, r->by_candidate, &best);
    for (size_t c = 0; c < j->candidate_count; c++) {
        if (r->by_candidate[c] < best) {
            best = r->by_candidate[c];
            pick = j->slots[c];
        }
    }
    return pick;
}

/* What each limit leaves to those who are asked. */
static void count_limits(struct replay *r, size_t asked)
{
    for (size_t l = 0; l < r->opts->limit_count; l++) {
        const bool *covers = r->covers + l * r->slot_count;
        uint64_t used = 0;
        for (size_t i = 0, next = 0; i < r->job_count; i++) {
            const struct replay_job *j = &r->jobs[i];
            if (next < asked && r->asked[next] == i) {
                next++;
                continue;
            }
            bool here = j->slot != MARKET_NONE && covers[j->slot];
            bool soon = j->phase == REPLAY_LEAVING && j->target != MARKET_NONE && covers[j->target];
            if (here || soon)
                used += j->job->instances;
        }
        uint32_t all = r->opts->limits[l].instances;
        r->limits[l] = (struct market_assign_limit){covers, used < all ? all - (uint32_t)used : 0};
    }
}

static shoal_status choose_together(struct replay *r, size_t asked)
{
    struct market_assigned assigned;

    for (size_t i = 0; i < asked; i++) {
        struct replay_job *j = &r->jobs[r->asked[i]];
        double *row = r->score + i * r->slot_count;
        for (size_t s = 0; s < r->slot_count; s++)
            row[s] = INFINITY;
        score(r, j, r->by_candidate, &r->idle[i]);
        for (size_t c = 0; c < j->candidate_count; c++)
            row[j->slots[c]] = r->by_candidate[c];
        r->need[i] = j->job->instances;
    }
    count_limits(r, asked);
    return market_assign(r->alloc,
                         &(struct market_assign){.job_count = asked,
                                                 .offer_count = r->slot_count,
                                                 .score = r->score,
                                                 .idle = r->idle,
                                                 .need = r->need,
                                                 .room = r->room,
                                                 .limits = r->limits,
                                                 .limit_count = r->opts->limit_count},
                         r->pick, &assigned);
}

/* First all who leave, then all who can begin at once; who finds no room yet (it is still being
 * left) is asked again when it is free. */
static void carry_out(struct replay *r, size_t asked)
{
    for (size_t i = 0; i < asked; i++) {
        struct replay_job *j = &r->jobs[r->asked[i]];
        if (j->slot != MARKET_NONE && j->slot != r->pick[i])
            leave(r, j, r->pick[i], MARKET_END_MOVED);
    }
    for (size_t i = 0; i < asked; i++) {
        struct replay_job *j = &r->jobs[r->asked[i]];
        if (j->phase == REPLAY_IDLE && r->pick[i] != MARKET_NONE && fits(r, j, r->pick[i]))
            begin_on(r, j, r->pick[i]);
    }
}

static void decide(struct replay *r)
{
    size_t asked = gather(r);

    r->wake = false;
    if (asked == 0)
        return;
    count_seen(r);
    count_room(r, asked);
    r->decisions += asked;
    if (asked == 1 && r->opts->limit_count == 0) {
        r->pick[0] = choose_alone(r, &r->jobs[r->asked[0]]);
    } else {
        shoal_status st = choose_together(r, asked);
        if (st != SHOAL_OK) {
            r->status = st;
            return;
        }
    }
    carry_out(r, asked);
}

static bool running(const struct replay *r)
{
    for (size_t i = 0; i < r->job_count; i++) {
        if (r->jobs[i].phase != REPLAY_DONE)
            return true;
    }
    return false;
}

/* All jobs that are neither done nor waiting for their start. */
static bool alive(const struct replay_job *j)
{
    return j->phase != REPLAY_DONE && j->phase != REPLAY_WAITING;
}

static void instant(struct replay *r)
{
    struct base_heap_item item;
    const struct base_heap_item *top;

    while ((top = base_heap_top(&r->changes)) != NULL && top->key <= r->now_s) {
        (void)base_heap_pop(&r->changes, &item);
        change(r, (uint32_t)item.value);
    }
    for (size_t i = 0; i < r->job_count; i++) {
        if (next_of(r, &r->jobs[i]) <= r->now_s)
            go_on(r, &r->jobs[i]);
    }
    if (r->now_s >= r->next_step_s) {
        for (size_t i = 0; i < r->job_count; i++)
            r->jobs[i].ask = true;
        while (r->next_step_s <= r->now_s)
            r->next_step_s += r->opts->step_s;
        if (r->opts->tick != NULL)
            r->opts->tick(r->opts->ctx, r->now_s);
        if (r->opts->strategy->watch != NULL)
            look_on(r);
    }
    for (size_t i = 0; i < r->job_count; i++) {
        struct replay_job *j = &r->jobs[i];
        if (!alive(j))
            continue;
        if (!j->out.guarded && (j->guard_s <= r->now_s || j->ask))
            guard(r, j);
        else if (j->out.guarded && j->phase == REPLAY_IDLE)
            place_guarded(r, j);
    }
    decide(r);
    if (r->wake) /* somebody made room for those who wait */
        decide(r);
}

static double next_instant(const struct replay *r)
{
    const struct base_heap_item *top = base_heap_top(&r->changes);
    double at = fmin(r->next_step_s, top == NULL ? INFINITY : top->key);

    for (size_t i = 0; i < r->job_count; i++)
        at = fmin(at, next_of(r, &r->jobs[i]));
    return fmax(at, r->now_s);
}

/* Ends what is left when prices end. */
static void close_history(struct replay *r)
{
    for (size_t i = 0; i < r->job_count; i++) {
        struct replay_job *j = &r->jobs[i];
        if (j->phase == REPLAY_DONE)
            continue;
        go_on(r, j);
        if (j->phase != REPLAY_DONE && j->slot != MARKET_NONE)
            end_stay(r, j, steps_made(r, j) - j->kept, MARKET_END_HISTORY);
        if (j->phase != REPLAY_DONE)
            stop(r, j);
        j->out.end_s = fmax(j->out.end_s, j->job->start_s);
    }
}

static bool stopped(const struct replay *r)
{
    return r->opts->stop != NULL && atomic_load_explicit(r->opts->stop, memory_order_relaxed);
}

static void loop(struct replay *r)
{
    while (r->status == SHOAL_OK && running(r)) {
        if (stopped(r)) {
            r->status = SHOAL_E_CANCELLED;
            return;
        }
        double at = next_instant(r);
        if (at >= r->prices->to_s) {
            r->now_s = fmax(r->now_s, r->prices->to_s);
            close_history(r);
            return;
        }
        r->now_s = at;
        instant(r);
    }
}

shoal_status market_replay(const struct base_alloc *alloc, const struct market_world *world,
                           const struct market_job *jobs, size_t job_count,
                           const struct market_replay_opts *opts, struct market_result *out,
                           shoal_err *err)
{
    struct replay r = {.alloc = alloc,
                       .prices = world->prices,
                       .avail = world->avail,
                       .costs = world->costs,
                       .allowed = world->allowed,
                       .opts = opts,
                       .job_count = job_count};

    base_arena_init(&r.arena, alloc, 1 << 16);
    base_heap_init(&r.changes, alloc);
    shoal_status st = replay_set_up(&r, jobs, err);
    if (st == SHOAL_OK)
        st = watch_start(&r);
    if (st == SHOAL_OK) {
        loop(&r);
        st = r.status;
    }
    if (st == SHOAL_OK)
        st = replay_collect(&r, out);
    if (st == SHOAL_E_NOMEM)
        base_err_nomem(err, "replaying a market");
    if (st == SHOAL_E_CANCELLED)
        base_err(err, st, "stopped");
    base_free(alloc, r.past);
    base_heap_fini(&r.changes);
    base_arena_fini(&r.arena);
    return st;
}

void market_result_fini(struct market_result *result)
{
    if (result == NULL || result->alloc == NULL)
        return;
    base_free(result->alloc, result->jobs);
    base_free(result->alloc, result->memory);
    *result = (struct market_result){0};
}
