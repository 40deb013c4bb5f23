/* prices.c - histories of prices as values (prices.h): asking and freeing. Loading is load.c,
 * writing prices_shoal.c. */
#include "market/prices.h"

#include "base/assert.h"
#include <math.h>
#include <string.h>

const char *const market_how_names[MARKET_HOW_COUNT] = {"spot", "on-demand"};

const char *const market_format_names[] = {
    "auto",
#define MARKET_FORMAT_NAME(id, name) #name,
    MARKET_READER_MAP(MARKET_FORMAT_NAME)
#undef MARKET_FORMAT_NAME
        NULL,
};

void market_prices_free(struct market_prices *prices)
{
    if (prices == NULL)
        return;
    base_map_fini(&prices->clouds.map);
    base_map_fini(&prices->regions.map);
    base_map_fini(&prices->zones.map);
    base_map_fini(&prices->kinds.map);
    base_map_fini(&prices->accelerators.map);
    base_free(prices->alloc, prices->offers);
    base_free(prices->alloc, prices->points);
    base_free(prices->alloc, prices);
}

const char *market_names_get(const struct market_names *names, uint32_t index)
{
    shoal_assert(index < names->map.count);
    return names->map.entries[index].key;
}

uint32_t market_names_find(const struct market_names *names, const char *name)
{
    const struct base_map_entry *entry = base_map_find(&names->map, name, strlen(name));

    return entry != NULL ? (uint32_t)entry->value : MARKET_NONE;
}

/* How many points are at or before the time, by halving. */
static size_t count_before(const struct market_point *p, size_t count, double at_s)
{
    size_t from = 0, to = count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (p[middle].at_s <= at_s)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

double market_price_at(const struct market_prices *prices, uint32_t offer, double at_s,
                       size_t *cursor, double *out_until_s)
{
    enum { STEPS = 8 }; /* forward, before halving */
    shoal_dassert(offer < prices->offer_count && !isnan(at_s));
    const struct market_offer *o = &prices->offers[offer];
    const struct market_point *p = prices->points + o->first;
    size_t before = cursor != NULL && *cursor <= o->count ? *cursor : 0;
    size_t limit = o->count - before > STEPS ? before + STEPS : o->count;

    if (before > 0 && p[before - 1].at_s > at_s)
        before = count_before(p, before, at_s);
    while (before < limit && p[before].at_s <= at_s)
        before++;
    if (before == limit && before < o->count && p[before].at_s <= at_s)
        before += count_before(p + before, o->count - before, at_s);
    if (cursor != NULL)
        *cursor = before;
    if (out_until_s != NULL)
        *out_until_s = before < o->count ? p[before].at_s : INFINITY;
    return before > 0 ? p[before - 1].usd_h : NAN;
}
