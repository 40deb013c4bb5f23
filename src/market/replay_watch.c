/* replay_watch.c - the offers of a replay in time: their prices, how many can be had, and what has
 * been seen of them so far. Every change of a slot is one item of a heap. */
#include "market/replay_state.h"

#include <math.h>

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

shoal_status replay_watch_start(struct replay *r)
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

void replay_watch_count(struct replay *r)
{
    for (size_t i = 0; i < r->slot_count; i++)
        count(r, &r->slots[i]);
}

bool replay_watch_change(struct replay *r, uint32_t slot)
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
