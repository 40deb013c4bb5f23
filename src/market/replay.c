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

/* The guard acts when fewer seconds than this are left, and looks again half of it before they
 * could be: so it is never late and never looks more often than that. */
#define GUARD_S 60.0

double replay_made(const struct replay *r, const struct replay_job *j)
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

bool replay_fits(const struct replay *r, const struct replay_job *j, uint32_t slot)
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

void replay_begin(struct replay *r, struct replay_job *j, uint32_t slot)
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

void replay_leave(struct replay *r, struct replay_job *j, uint32_t target, enum market_end why)
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

    (void)replay_guard_slack(r, j, &slot);
    if (slot == MARKET_NONE || !replay_fits(r, j, slot)) {
        slot = MARKET_NONE;
        for (size_t i = 0; i < j->rescue_count && slot == MARKET_NONE; i++)
            slot = replay_fits(r, j, j->rescue[i]) ? j->rescue[i] : MARKET_NONE;
    }
    if (slot != MARKET_NONE)
        replay_begin(r, j, slot);
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
    double slack = replay_guard_slack(r, j, &slot);

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
        replay_leave(r, j, slot, MARKET_END_GUARD);
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
        double gain = replay_made(r, j) - j->kept;
        end_stay(r, j, gain, MARKET_END_BUDGET);
        j->out.broke = true;
        stop(r, j);
        return;
    }
    if (j->phase == REPLAY_LEAVING && j->phase_s <= r->now_s) {
        uint32_t target = j->target;
        end_stay(r, j, market_pace_made(j->pace, j->leave_run_s), (enum market_end)j->why);
        if (target != MARKET_NONE && !j->out.guarded && replay_fits(r, j, target))
            replay_begin(r, j, target);
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
    if (replay_watch_change(r, slot))
        r->wake = true;
    shrink(r, slot);
    if (r->slots[slot].on_demand && sold != !isnan(r->slots[slot].usd_h)) {
        for (size_t i = 0; i < r->job_count; i++)
            r->jobs[i].guard_s = fmin(r->jobs[i].guard_s, r->now_s);
    }
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
            replay_look_on(r);
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
    replay_decide(r);
    if (r->wake) /* somebody made room for those who wait */
        replay_decide(r);
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
            end_stay(r, j, replay_made(r, j) - j->kept, MARKET_END_HISTORY);
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
