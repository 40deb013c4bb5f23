/* bound_path.c - the path of least US dollars - lambda x steps through offers in time.
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
 * time at all (bound.c): a stay between two others that shrinks to nothing still saves the faster
 * one the long transfer.
 *
 * Between two changes all is linear, so a switch from a to b can be shifted to a change of a or of
 * b (or to another switch, when the stay between vanishes) without a loss. Therefore at a change
 * of s it is enough to look at: ending any stay in favour of s, and ending s in favour of any.
 * Offers whose price is above lambda x speed are never begun, and a path on one is dropped once
 * beginning anew would be as cheap. Cost per change: offers that have a path. */
#include "market/bound_state.h"

#include <math.h>

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

shoal_status bound_path(struct bound *b, double lambda, struct bound_path *out)
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

shoal_status bound_path_legs(const struct bound *b, const struct bound_path *path,
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
