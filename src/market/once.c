/* once.c - zones that go by two names. AWS has ids of zones (use1-az4) beside names (us-east-1b), and
 * which name is which id differs from account to account; a catalogue tells prices by id, a history of
 * spot prices by name. Read together they would be twice the zones there are. */
#include "market/prices.h"

#include "base/text.h"
#include <string.h>

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
