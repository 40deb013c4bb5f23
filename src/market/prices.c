/* prices.c - histories of prices as values (prices.h): asking, freeing, choosing. Loading is reader.c,
 * writing prices_shoal.c. */
#include "market/prices.h"

#include "base/assert.h"
#include "base/text.h"
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

/* ---- zones that go by two names ----
 *
 * AWS has ids of zones (use1-az4) beside names (us-east-1b), and
 * which name is which id differs from account to account; a catalogue tells prices by id, a history of
 * spot prices by name. Read together they would be twice the zones there are. */

bool market_zone_is_id(const char *zone)
{
    const char *mark = strstr(zone, "-az");
    uint64_t number;

    return mark != NULL && mark != zone && base_parse_u64(mark + 3, strlen(mark + 3), &number);
}

static bool by_id(const struct market_prices *p, const struct market_offer *of)
{
    return of->how == MARKET_SPOT && market_zone_is_id(market_names_get(&p->zones, of->zone));
}

/* Offers of a region stand together: they are sorted by cloud, then region. */
static size_t end_of_region(const struct market_prices *p, size_t first)
{
    size_t end = first;

    while (end < p->offer_count && p->offers[end].cloud == p->offers[first].cloud &&
           p->offers[end].region == p->offers[first].region)
        end++;
    return end;
}

shoal_status market_offers_once(const struct base_alloc *alloc, const struct market_prices *p,
                                bool *allowed, size_t *out_dropped)
{
    size_t *named = base_calloc(alloc, p->kinds.map.count + 1, sizeof *named);
    size_t dropped = 0;

    if (named == NULL)
        return SHOAL_E_NOMEM;
    for (size_t first = 0, end; first < p->offer_count; first = end) {
        end = end_of_region(p, first);
        for (size_t o = first; o < end; o++) /* `end` marks the region: it is never 0 */
            if (p->offers[o].how == MARKET_SPOT && !by_id(p, &p->offers[o]))
                named[p->offers[o].kind] = end;
        for (size_t o = first; o < end; o++)
            if (allowed[o] && named[p->offers[o].kind] == end && by_id(p, &p->offers[o])) {
                allowed[o] = false;
                dropped++;
            }
    }
    base_free(alloc, named);
    *out_dropped = dropped;
    return SHOAL_OK;
}
