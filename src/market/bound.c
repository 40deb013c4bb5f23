/* bound.c - the price of hindsight: see bound.h. The dynamic program is in bound_path.c, the plan
 * in bound_plan.c; here are the changes of all offers as one list, and the search for lambda.
 *
 * The dual function is the smallest of lines: each path found at some lambda is a line of value
 * usd + lambda * (work - steps). The search keeps one line that rises and one that falls and asks
 * at their crossing: either the value there is on the lines, and the crossing is the largest
 * value, or a new line cuts the corner off. Finite, and every value asked for is a bound. */
#include "market/bound.h"

#include "base/err.h"
#include "market/bound_state.h"
#include <math.h>
#include <stdlib.h>

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
