/* bound.c - the price of hindsight: see bound.h: the dynamic program, the plan, the changes of all
 * offers as one list, and the search for lambda.
 *
 * The dual function is the smallest of lines: each path found at some lambda is a line of value
 * usd + lambda * (work - steps). The search keeps one line that rises and one that falls and asks
 * at their crossing: either the value there is on the lines, and the crossing is the largest
 * value, or a new line cuts the corner off. Finite, and every value asked for is a bound. */
#include "market/bound.h"

#include "base/err.h"
#include "market/replay_pace.h"
#include "market/strategy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BOUND_LEVELS = 4 }; /* same zone, same region, same cloud, another cloud */

struct bound_event { /* what a slot costs from here on */
    double at_s;
    double usd_s; /* of all the job's instances; NAN: cannot be had */
    uint32_t slot;
};

struct bound_slot {
    uint32_t offer;
    uint32_t zone, region, cloud; /* indices of `idle` */
    double speed;                 /* steps/s in the long run */
    double start_s[BOUND_LEVELS]; /* steps that beginning here loses, by distance, over speed */
};

struct bound_leg { /* a stay of a path, and the one before it */
    double from_s, to_s;
    uint32_t slot;
    uint32_t before; /* UINT32_MAX: none */
};

struct bound {
    const struct base_alloc *alloc;
    const struct market_prices *prices;
    const struct market_job *job;
    const struct market_costs *costs;
    const atomic_bool *stop;
    double from_s, to_s;
    double start_s[BOUND_LEVELS], start_usd[BOUND_LEVELS]; /* by distance; never falling */
    struct bound_slot *slots;
    size_t slot_count, place_count;
    struct bound_event *events;
    size_t event_count, event_cap;
    /* the dynamic program */
    double *value, *steps,
        *rate;        /* by slot: of the best path that is there; value INFINITY: none */
    double *since_s;  /* by slot: that path came then ... */
    uint32_t *before; /* ... after this leg */
    uint32_t *active; /* slots with a path */
    size_t active_count;
    struct bound_idle *idle; /* by place: zones, regions, clouds, and everything */
    bool keep_legs;
    struct bound_leg *legs;
    size_t leg_count, leg_cap;
};

struct bound_idle { /* holding nothing, the checkpoint being somewhere in a place */
    double value, steps;
    struct bound_leg leg; /* the stay it ended */
    uint32_t leg_index;   /* where it is kept; UINT32_MAX: not yet */
};

/* The best path for one price of a step. */
struct bound_path {
    double lambda, usd, steps; /* usd - lambda * steps is smallest */
    uint32_t slot;             /* its last leg; UINT32_MAX: it does nothing at all */
    double since_s, to_s;
    uint32_t before;
};

/* ---- the best path for one price of a step ----
 *
 * The path of least US dollars - lambda x steps through offers in time.
 *
 * States at an instant: running on an offer, or holding nothing with the checkpoint in a zone (or
 * nowhere yet). Running costs (price - lambda x speed) a second; beginning a stay costs the steps
 * of its start-up and transfer, lambda x speed x seconds, and the egress; ending one costs
 * nothing, as the speed counted is the one with all checkpoints in it, which no stay exceeds,
 * whatever ends it (a stay of L seconds after its start that ends in a checkpoint makes at most
 * speed x L steps; only the last stay of all needs no checkpoint at its end and may make speed x
 * checkpoint_s more: so much less work is asked for, bound.c). A stay shorter than its start-up
 * would be cheaper here than in truth only with fewer than no steps: the formula charges it more
 * than it costs, and as such a stay does nothing it is left out of best plans; it could serve to
 * carry the checkpoint on in two cheap hops, which is why the costs of moving are made to never
 * fall with distance before, and why a start may go by way of a slower slot that is nearer, for no
 * time at all: a stay between two others that shrinks to nothing still saves the faster
 * one the long transfer.
 *
 * Between two changes all is linear, so a switch from a to b can be shifted to a change of a or of
 * b (or to another switch, when the stay between vanishes) without a loss. Therefore at a change
 * of s it is enough to look at: ending any stay in favour of s, and ending s in favour of any.
 * Offers whose price is above lambda x speed are never begun, and a path on one is dropped once
 * beginning anew would be as cheap. Cost per change: offers that have a path. */

#define NO_LEG UINT32_MAX

static struct bound_idle *everywhere(struct bound *b)
{
    return &b->idle[b->place_count - 1];
}

static void reset(struct bound *b)
{
    b->active_count = 0;
    b->leg_count = 0;
    for (size_t s = 0; s < b->slot_count; s++) {
        b->value[s] = INFINITY;
        b->rate[s] = NAN;
        b->steps[s] = 0;
    }
    for (size_t i = 0; i < b->place_count; i++)
        b->idle[i] = (struct bound_idle){.value = INFINITY, .leg_index = NO_LEG};
}

/* Whether the path on slot s, ended now, is the best way to hold nothing there. */
static void end_at(struct bound *b, uint32_t s, double now_s)
{
    const struct bound_slot *slot = &b->slots[s];
    uint32_t places[4] = {slot->zone, slot->region, slot->cloud, (uint32_t)b->place_count - 1};

    for (size_t i = 0; i < 4; i++) {
        struct bound_idle *idle = &b->idle[places[i]];
        if (b->value[s] >= idle->value)
            return; /* wider places are at least as good */
        *idle = (struct bound_idle){
            b->value[s], b->steps[s], {b->since_s[s], now_s, s, b->before[s]}, NO_LEG};
    }
}

static shoal_status leg_of(struct bound *b, struct bound_idle *idle, uint32_t *out)
{
    if (!b->keep_legs) {
        *out = NO_LEG;
        return SHOAL_OK;
    }
    if (idle->leg_index == NO_LEG) {
        void *legs = b->legs;
        if (base_reserve(b->alloc, &legs, &b->leg_cap, b->leg_count + 1, sizeof *b->legs) != 0)
            return SHOAL_E_NOMEM;
        b->legs = legs;
        b->legs[b->leg_count] = idle->leg;
        idle->leg_index = (uint32_t)b->leg_count++;
    }
    *out = idle->leg_index;
    return SHOAL_OK;
}

static void drop(struct bound *b, size_t at)
{
    b->value[b->active[at]] = INFINITY;
    b->active[at] = b->active[--b->active_count];
}

/* Begins a stay on slot s now, if that beats the path that is there. */
static shoal_status begin_at(struct bound *b, uint32_t s, double lambda, double now_s)
{
    const struct bound_slot *slot = &b->slots[s];
    uint32_t places[BOUND_LEVELS] = {slot->zone, slot->region, slot->cloud,
                                     (uint32_t)b->place_count - 1};
    double worth = lambda * slot->speed;
    double best = worth * slot->start_s[0]; /* from nothing at all */
    size_t from = BOUND_LEVELS;

    for (size_t i = 0; i < BOUND_LEVELS; i++) {
        double value = b->idle[places[i]].value + worth * slot->start_s[i] + b->start_usd[i];
        if (value < best) {
            best = value;
            from = i;
        }
    }
    if (best >= b->value[s])
        return SHOAL_OK;
    uint32_t before = NO_LEG;
    double steps = -slot->speed * slot->start_s[from == BOUND_LEVELS ? 0 : from];
    if (from < BOUND_LEVELS) {
        struct bound_idle *idle = &b->idle[places[from]];
        shoal_status st = leg_of(b, idle, &before);
        if (st != SHOAL_OK)
            return st;
        steps += idle->steps;
    }
    if (b->value[s] == INFINITY)
        b->active[b->active_count++] = s;
    b->value[s] = best;
    b->steps[s] = steps;
    b->since_s[s] = now_s;
    b->before[s] = before;
    return SHOAL_OK;
}

/* Carries all paths on by dt and looks at ending each. */
static void carry(struct bound *b, double lambda, double now_s, double dt, struct bound_path *best)
{
    for (size_t i = 0; i < b->active_count;) {
        uint32_t s = b->active[i];
        const struct bound_slot *slot = &b->slots[s];
        b->value[s] += b->rate[s] * dt;
        b->steps[s] += slot->speed * dt;
        end_at(b, s, now_s);
        if (b->value[s] < best->usd) {
            best->usd = b->value[s];
            best->steps = b->steps[s];
            best->slot = s;
            best->since_s = b->since_s[s];
            best->to_s = now_s;
            best->before = b->before[s];
        }
        double anew = b->idle[slot->zone].value + lambda * slot->speed * slot->start_s[0];
        if (b->rate[s] >= 0 && b->value[s] >= anew)
            drop(b, i);
        else
            i++;
    }
}

static shoal_status change(struct bound *b, const struct bound_event *e, double lambda)
{
    uint32_t s = e->slot;
    shoal_status st = SHOAL_OK;

    if (isnan(e->usd_s)) {
        for (size_t i = 0; i < b->active_count; i++) {
            if (b->active[i] == s) {
                drop(b, i);
                break;
            }
        }
        b->rate[s] = NAN;
    } else {
        b->rate[s] = e->usd_s - lambda * b->slots[s].speed;
        if (b->rate[s] < 0)
            st = begin_at(b, s, lambda, e->at_s);
    }
    if (everywhere(b)->value == INFINITY)
        return st;
    for (uint32_t o = 0; o < b->slot_count && st == SHOAL_OK; o++) {
        if (b->rate[o] < 0)
            st = begin_at(b, o, lambda, e->at_s);
    }
    return st;
}

static bool stopped(const struct bound *b)
{
    return b->stop != NULL && atomic_load_explicit(b->stop, memory_order_relaxed);
}

static shoal_status bound_path(struct bound *b, double lambda, struct bound_path *out)
{
    struct bound_path best = {.lambda = lambda, .slot = UINT32_MAX, .before = NO_LEG};
    double now_s = b->from_s;

    reset(b);
    for (size_t i = 0; i < b->event_count; i++) {
        const struct bound_event *e = &b->events[i];
        if (e->at_s > now_s) {
            carry(b, lambda, e->at_s, e->at_s - now_s, &best);
            now_s = e->at_s;
        }
        shoal_status st = stopped(b) ? SHOAL_E_CANCELLED : change(b, e, lambda);
        if (st != SHOAL_OK)
            return st;
    }
    carry(b, lambda, b->to_s, b->to_s - now_s, &best);
    best.usd += lambda * best.steps;
    *out = best;
    return SHOAL_OK;
}

static shoal_status bound_path_legs(const struct bound *b, const struct bound_path *path,
                                    struct bound_leg **out_legs, size_t *out_count)
{
    size_t count = path->slot == UINT32_MAX ? 0 : 1;

    for (uint32_t at = path->before; count > 0 && at != NO_LEG; at = b->legs[at].before)
        count++;
    struct bound_leg *legs = base_calloc(b->alloc, count + 1, sizeof *legs);
    if (legs == NULL)
        return SHOAL_E_NOMEM;
    if (count > 0)
        legs[count - 1] = (struct bound_leg){path->since_s, path->to_s, path->slot, path->before};
    for (size_t i = count; i > 1; i--)
        legs[i - 2] = b->legs[legs[i - 1].before];
    *out_legs = legs;
    *out_count = count;
    return SHOAL_OK;
}

/* ---- a plan ----
 *
 * A plan with hindsight that does exactly the work: the path of a higher price of a
 * step up to some moment, that of a lower price from then on (or the other way round), the moment
 * being chosen so that the work is just done. Paths are of a simpler world than the replay's
 * (checkpoints spread evenly); here every leg is evaluated by the replay's own rules, so the plan
 * can be carried out and costs what is said. */

enum { SPLICES = 40 };

struct legs {
    struct bound_leg *legs;
    size_t count;
};

static double usd_of(const struct bound *b, uint32_t offer, double from_s, double to_s)
{
    double usd = 0;
    size_t cursor = 0;

    while (from_s < to_s) {
        double until, usd_h = market_price_at(b->prices, offer, from_s, &cursor, &until);
        until = fmin(until, to_s);
        usd += usd_h * b->job->instances * (until - from_s) / 3600;
        from_s = until;
    }
    return usd;
}

/* The part of `a` before the moment, then that of `z` after it. `out` has room for both. */
static struct legs splice(struct legs a, struct legs z, double at_s, struct bound_leg *out)
{
    size_t n = 0;

    for (size_t i = 0; i < a.count && a.legs[i].from_s < at_s; i++) {
        out[n] = a.legs[i];
        out[n].to_s = fmin(out[n].to_s, at_s);
        n++;
    }
    for (size_t i = 0; i < z.count; i++) {
        if (z.legs[i].to_s <= at_s)
            continue;
        bool on = n > 0 && out[n - 1].slot == z.legs[i].slot && z.legs[i].from_s <= at_s &&
                  out[n - 1].to_s == at_s;
        if (on) { /* both are there at the moment: one stay */
            out[n - 1].to_s = z.legs[i].to_s;
            continue;
        }
        out[n] = z.legs[i];
        out[n].from_s = fmax(out[n].from_s, at_s);
        n++;
    }
    return (struct legs){out, n};
}

/* Carries the legs out; fills stays (NULL: not wanted). True when the work is done. */
static bool carry_out(const struct bound *b, struct legs l, struct market_bound *out,
                      struct market_stay *stays)
{
    uint32_t checkpoint = MARKET_NONE, last = MARKET_NONE;
    double kept = 0, usd = 0, checkpoint_s = b->costs->checkpoint_s;

    out->plan_count = 0;
    out->plan_moves = 0;
    for (size_t i = 0; i < l.count && kept < b->job->work; i++) {
        uint32_t offer = b->slots[l.legs[i].slot].offer;
        struct market_pace pace =
            market_pace(b->costs, b->job->speed[b->prices->offers[offer].kind]);
        double run_from =
            l.legs[i].from_s + market_move_s(b->prices, b->job, b->costs, checkpoint, offer);
        double done_s = run_from + market_pace_s(pace, b->job->work - kept), to_s = l.legs[i].to_s;
        bool done = done_s <= to_s;
        double gain =
            done ? b->job->work - kept : market_pace_made(pace, to_s - run_from - checkpoint_s);
        to_s = fmin(to_s, done_s);
        if (gain <= 0)
            continue; /* too short to be worth it */
        double egress = market_move_usd(b->prices, b->job, b->costs, checkpoint, offer);
        double cost = usd_of(b, offer, l.legs[i].from_s, to_s);
        usd += cost + egress;
        kept = done ? b->job->work : kept + gain;
        checkpoint = offer;
        out->plan_moves += last != MARKET_NONE && last != offer ? 1 : 0;
        last = offer;
        if (stays != NULL)
            stays[out->plan_count] = (struct market_stay){l.legs[i].from_s,
                                                          to_s,
                                                          offer,
                                                          done ? MARKET_END_DONE : MARKET_END_MOVED,
                                                          gain,
                                                          cost,
                                                          egress};
        out->plan_count++;
    }
    out->plan_usd = kept >= b->job->work ? usd : INFINITY;
    out->plan_steps = kept;
    return kept >= b->job->work;
}

static shoal_status legs_at(struct bound *b, double lambda, struct legs *out)
{
    struct bound_path path;
    shoal_status st;

    base_free(b->alloc, out->legs);
    *out = (struct legs){NULL, 0};
    b->keep_legs = true;
    st = bound_path(b, lambda, &path);
    b->keep_legs = false;
    return st == SHOAL_OK ? bound_path_legs(b, &path, &out->legs, &out->count) : st;
}

/* The earliest moment to change from `rich` to `poor` (or the latest from poor to rich) at which
 * the work is still done; false when not even rich alone does it. */
static bool best_splice(const struct bound *b, struct legs rich, struct legs poor, bool rich_first,
                        struct bound_leg *room, struct market_bound *best, double *out_at_s)
{
    double good = rich_first ? b->to_s : b->from_s, bad = rich_first ? b->from_s : b->to_s;
    struct market_bound trial;
    bool found = false;

    best->plan_usd = INFINITY;
    for (int n = 0; n < SPLICES; n++) {
        double at = n == 0 ? good : (good + bad) / 2;
        struct legs l = rich_first ? splice(rich, poor, at, room) : splice(poor, rich, at, room);
        bool done = carry_out(b, l, &trial, NULL);
        if (n == 0 && !done)
            return false;
        if (done)
            good = at;
        else
            bad = at;
        if (done && trial.plan_usd < best->plan_usd) {
            *best = trial;
            *out_at_s = at;
            found = true;
        }
    }
    return found;
}

static shoal_status keep_plan(const struct bound *b, struct legs l, struct market_bound *out)
{
    struct market_bound plan;
    struct market_stay *stays = base_calloc(b->alloc, l.count + 1, sizeof *stays);

    if (stays == NULL)
        return SHOAL_E_NOMEM;
    (void)carry_out(b, l, &plan, stays);
    out->plan = stays;
    out->plan_count = plan.plan_count;
    out->plan_moves = plan.plan_moves;
    out->plan_usd = plan.plan_usd;
    out->plan_steps = plan.plan_steps;
    return SHOAL_OK;
}

static shoal_status try_both(struct bound *b, struct legs rich, struct legs poor, bool *out_found,
                             struct market_bound *out)
{
    struct market_bound first = {.plan_usd = INFINITY}, second = {.plan_usd = INFINITY};
    double first_at = 0, second_at = 0;
    shoal_status st = SHOAL_OK;
    struct bound_leg *room = base_calloc(b->alloc, rich.count + poor.count + 2, sizeof *room);

    if (room == NULL)
        return SHOAL_E_NOMEM;
    bool a = best_splice(b, rich, poor, true, room, &first, &first_at);
    bool z = best_splice(b, rich, poor, false, room, &second, &second_at);
    *out_found = a || z;
    if (a && (!z || first.plan_usd <= second.plan_usd))
        st = keep_plan(b, splice(rich, poor, first_at, room), out);
    else if (z)
        st = keep_plan(b, splice(poor, rich, second_at, room), out);
    base_free(b->alloc, room);
    return st;
}

static shoal_status bound_plan(struct bound *b, double lambda, struct market_bound *out)
{
    static const double above[] = {1.002, 1.01, 1.05, 1.3, 3, 100, 1e5};
    struct legs rich = {NULL, 0}, poor = {NULL, 0};
    bool found = false;

    out->plan_usd = INFINITY;
    shoal_status st = legs_at(b, lambda * 0.998, &poor);
    for (size_t i = 0; i < sizeof above / sizeof above[0] && st == SHOAL_OK && !found; i++) {
        st = legs_at(b, lambda * above[i], &rich);
        if (st == SHOAL_OK)
            st = try_both(b, rich, poor, &found, out);
    }
    base_free(b->alloc, rich.legs);
    base_free(b->alloc, poor.legs);
    return st;
}

/* ---- the search ---- */

enum { ASKS_MAX = 60 };
/* The search stops when the bound is within this share of the largest it could find. */
#define CLOSE 1e-5
/* The least price of a step to begin with, so that there is one where nothing can be had. */
#define LEAST_USD 1e-12

static shoal_status add_event(struct bound *b, double at_s, uint32_t slot, double usd_s)
{
    void *events = b->events;

    if (base_reserve(b->alloc, &events, &b->event_cap, b->event_count + 1, sizeof *b->events) != 0)
        return SHOAL_E_NOMEM;
    b->events = events;
    b->events[b->event_count++] = (struct bound_event){at_s, usd_s, slot};
    return SHOAL_OK;
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* The changes of one offer from first to last; what happens within a cell is one change, at its
 * beginning, to the lowest there. */
static shoal_status list_changes(struct bound *b, const struct market_avail *avail, uint32_t slot,
                                 double cell_s)
{
    uint32_t offer = b->slots[slot].offer;
    bool spot = b->prices->offers[offer].how == MARKET_SPOT;
    size_t price_cursor = 0, up_cursor = 0;
    double at = b->from_s, last = NAN, cell_from = b->from_s, lowest = NAN;
    shoal_status st = SHOAL_OK;

    while (at < b->to_s && st == SHOAL_OK) {
        double price_until, up_until = INFINITY;
        double usd_h = market_price_at(b->prices, offer, at, &price_cursor, &price_until);
        bool up =
            !spot || market_avail_at(avail, offer, at, &up_cursor, &up_until) >= b->job->instances;
        double usd_s = up ? usd_h * b->job->instances / 3600 : NAN;
        double next = fmin(fmin(price_until, up_until), b->to_s);
        if (cell_s <= 0) {
            if (!same(usd_s, last))
                st = add_event(b, at, slot, usd_s);
            last = usd_s;
            at = next;
            continue;
        }
        lowest = fmin(lowest, usd_s); /* fmin leaves NAN out */
        double cell_to = fmin(cell_from + cell_s, b->to_s);
        at = fmin(next, cell_to);
        if (at < cell_to)
            continue;
        if (!same(lowest, last))
            st = add_event(b, cell_from, slot, lowest);
        last = lowest;
        cell_from = at;
        lowest = NAN;
    }
    return st;
}

static int by_time(const void *va, const void *vb)
{
    const struct bound_event *a = va, *b = vb;

    if (a->at_s != b->at_s)
        return a->at_s < b->at_s ? -1 : 1;
    return a->slot < b->slot ? -1 : a->slot > b->slot;
}

static shoal_status list_all(struct bound *b, const struct market_avail *avail, double cell_s)
{
    shoal_status st = SHOAL_OK;

    b->event_count = 0;
    for (uint32_t s = 0; s < b->slot_count && st == SHOAL_OK; s++)
        st = list_changes(b, avail, s, cell_s);
    if (st == SHOAL_OK && b->event_count > 0)
        qsort(b->events, b->event_count, sizeof *b->events, by_time);
    return st;
}

/* Costs of moving by distance, made to never fall with it. */
static void list_moves(struct bound *b)
{
    const struct market_costs *c = b->costs;
    double gb = b->job->checkpoint_gb;
    double seconds[BOUND_LEVELS] = {0, gb / c->zone_gb_s, gb / c->region_gb_s, gb / c->cloud_gb_s};
    double usd[BOUND_LEVELS] = {0, gb * c->zone_usd_gb, gb * c->region_usd_gb,
                                gb * c->cloud_usd_gb};

    for (size_t i = 0; i < BOUND_LEVELS; i++) {
        b->start_s[i] = c->startup_s + seconds[BOUND_LEVELS - 1];
        b->start_usd[i] = usd[BOUND_LEVELS - 1];
        for (size_t k = i; k < BOUND_LEVELS; k++) {
            b->start_s[i] = fmin(b->start_s[i], c->startup_s + seconds[k]);
            b->start_usd[i] = fmin(b->start_usd[i], usd[k]);
        }
    }
}

/* Places: the zones, regions and clouds that slots are in, each once, and everywhere last. */
static void number_places(struct bound *b)
{
    uint32_t count = 0;

    for (size_t s = 0; s < b->slot_count; s++) {
        struct bound_slot *slot = &b->slots[s];
        const struct market_offer *o = &b->prices->offers[slot->offer];
        slot->zone = slot->region = slot->cloud = MARKET_NONE;
        for (size_t k = 0; k < s; k++) {
            const struct market_offer *p = &b->prices->offers[b->slots[k].offer];
            bool cloud = p->cloud == o->cloud, region = cloud && p->region == o->region;
            if (cloud)
                slot->cloud = b->slots[k].cloud;
            if (region)
                slot->region = b->slots[k].region;
            if (region && p->zone == o->zone)
                slot->zone = b->slots[k].zone;
        }
        if (slot->cloud == MARKET_NONE)
            slot->cloud = count++;
        if (slot->region == MARKET_NONE)
            slot->region = count++;
        if (slot->zone == MARKET_NONE)
            slot->zone = count++;
    }
    b->place_count = count + 1;
}

static bool within(const struct bound_slot *a, const struct bound_slot *z, size_t level)
{
    return level >= 3 || (level == 2   ? a->cloud == z->cloud
                          : level == 1 ? a->region == z->region
                                       : a->zone == z->zone);
}

/* What beginning on each slot loses, by distance: its start-up and transfer, or those of a slower
 * slot nearer by, which brings the checkpoint, and a start-up from there: a long transfer is
 * cheaper on a small instance. */
static void list_starts(struct bound *b)
{
    for (size_t s = 0; s < b->slot_count; s++) {
        struct bound_slot *slot = &b->slots[s];
        for (size_t far = 0; far < BOUND_LEVELS; far++)
            slot->start_s[far] = b->start_s[far];
        for (size_t near = 0; near + 1 < BOUND_LEVELS; near++) {
            double slowest = slot->speed;
            for (size_t k = 0; k < b->slot_count; k++)
                if (within(slot, &b->slots[k], near))
                    slowest = fmin(slowest, b->slots[k].speed);
            for (size_t far = near + 1; far < BOUND_LEVELS; far++)
                slot->start_s[far] =
                    fmin(slot->start_s[far],
                         b->start_s[near] + b->start_s[far] * (slowest / slot->speed));
        }
    }
}

static shoal_status make_slots(struct bound *b, const bool *allowed)
{
    const struct market_prices *p = b->prices;

    b->slots = base_calloc(b->alloc, p->offer_count + 1, sizeof *b->slots);
    if (b->slots == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t o = 0; o < p->offer_count; o++) {
        double speed = b->job->speed[p->offers[o].kind];
        if ((allowed != NULL && !allowed[o]) || !(speed > 0))
            continue;
        b->slots[b->slot_count++] = (struct bound_slot){
            .offer = o, .speed = market_pace_mean(market_pace(b->costs, speed))};
    }
    number_places(b);
    return SHOAL_OK;
}

static shoal_status make_tables(struct bound *b)
{
    size_t n = b->slot_count + 1;

    b->value = base_calloc(b->alloc, 4 * n, sizeof *b->value);
    b->before = base_calloc(b->alloc, 2 * n, sizeof *b->before);
    b->idle = base_calloc(b->alloc, b->place_count, sizeof *b->idle);
    if (b->value == NULL || b->before == NULL || b->idle == NULL)
        return SHOAL_E_NOMEM;
    b->steps = b->value + n;
    b->rate = b->value + 2 * n;
    b->since_s = b->value + 3 * n;
    b->active = b->before + n;
    return SHOAL_OK;
}

static void fini(struct bound *b)
{
    base_free(b->alloc, b->slots);
    base_free(b->alloc, b->events);
    base_free(b->alloc, b->value);
    base_free(b->alloc, b->before);
    base_free(b->alloc, b->idle);
    base_free(b->alloc, b->legs);
}

/* A price of a step at which nothing is too dear. */
static double dearest(const struct bound *b)
{
    double usd = 0;

    for (size_t i = 0; i < b->event_count; i++) {
        const struct bound_event *e = &b->events[i];
        if (!isnan(e->usd_s))
            usd = fmax(usd, e->usd_s / b->slots[e->slot].speed);
    }
    return usd;
}

/* Steps that the last stay of a plan may make beyond its mean speed: it ends without a checkpoint.
 */
static double last_more(const struct bound *b)
{
    double speed = 0;

    for (size_t s = 0; s < b->slot_count; s++)
        speed = fmax(speed, b->slots[s].speed);
    return speed * b->costs->checkpoint_s;
}

/* The largest value of the dual, and where it is; *out_usd INFINITY: the work cannot be done. */
static shoal_status search(struct bound *b, double *out_usd, double *out_lambda)
{
    double work = fmax(0, b->job->work - last_more(b)), top = fmax(dearest(b), LEAST_USD);
    struct bound_path low = {0}, high = {0}, mid;
    shoal_status st = SHOAL_OK;

    *out_usd = 0;
    *out_lambda = 0;
    for (double lambda = 2 * top; lambda <= 3e6 * top && st == SHOAL_OK; lambda *= 100) {
        st = bound_path(b, lambda, &high);
        *out_lambda = lambda;
        if (st != SHOAL_OK || high.steps >= work)
            break;
        low = high;
    }
    if (st != SHOAL_OK || work <= 0) /* so little work that the bound is 0 */
        return st;
    if (high.steps < work) {
        *out_usd = INFINITY;
        return SHOAL_OK;
    }
    for (int n = 0; n < ASKS_MAX; n++) {
        double lambda = (high.usd - low.usd) / (high.steps - low.steps);
        double most = low.usd + lambda * (work - low.steps);
        st = bound_path(b, lambda, &mid);
        if (st != SHOAL_OK)
            return st;
        double value = mid.usd + lambda * (work - mid.steps);
        if (value > *out_usd) {
            *out_usd = value;
            *out_lambda = lambda;
        }
        if (most - *out_usd <= CLOSE * most)
            break;
        *(mid.steps < work ? &low : &high) = mid;
    }
    return SHOAL_OK;
}

static shoal_status find(struct bound *b, const struct market_avail *avail, const bool *allowed,
                         double cell_s, struct market_bound *out)
{
    shoal_status st = make_slots(b, allowed);

    list_moves(b);
    list_starts(b);
    if (st == SHOAL_OK)
        st = make_tables(b);
    if (st == SHOAL_OK)
        st = list_all(b, avail, cell_s);
    if (st == SHOAL_OK)
        st = search(b, &out->usd, &out->usd_step);
    if (st != SHOAL_OK || out->usd == INFINITY)
        return st;
    if (cell_s > 0) /* a plan must not count on what cells have smoothed over */
        st = list_all(b, avail, 0);
    return st == SHOAL_OK ? bound_plan(b, out->usd_step, out) : st;
}

shoal_status market_bound(const struct base_alloc *alloc, const struct market_world *world,
                          const struct market_job *job, const struct market_bound_opts *opts,
                          struct market_bound *out, shoal_err *err)
{
    struct market_bound result = {.alloc = alloc, .plan_usd = INFINITY};
    struct bound b = {.alloc = alloc,
                      .prices = world->prices,
                      .job = job,
                      .costs = world->costs,
                      .stop = opts->stop,
                      .from_s = job->start_s,
                      .to_s = fmin(job->deadline_s, world->prices->to_s)};

    if (!(job->work > 0) || job->instances == 0 || !(job->checkpoint_gb >= 0) || isnan(b.to_s))
        return base_err(err, SHOAL_E_INVAL,
                        "job '%s': work and instances must be above 0, its deadline a time",
                        job->name == NULL ? "" : job->name);
    if (!(opts->cell_s == 0 ||
          opts->cell_s >= 1)) /* each takes a step, and must be longer than a double's */
        return base_err(err, SHOAL_E_INVAL, "cells of a bound must have a second at least");
    shoal_status st = find(&b, world->avail, world->allowed, opts->cell_s, &result);
    fini(&b);
    if (st != SHOAL_OK) {
        base_free(alloc, result.plan);
        return st == SHOAL_E_NOMEM ? base_err_nomem(err, "bounding the cost of a job")
                                   : base_err(err, st, "stopped");
    }
    *out = result;
    return SHOAL_OK;
}

void market_bound_fini(struct market_bound *bound)
{
    if (bound == NULL || bound->alloc == NULL)
        return;
    base_free(bound->alloc, bound->plan);
    *bound = (struct market_bound){0};
}
