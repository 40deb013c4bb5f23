/* prices.c - prices of a cluster's kinds over time: all changes of the offers of a kind in one list
 * by time, played once, keeping the lowest.
 *
 * Cost of making: sort of the changes, and a look at all offers of the kind whenever the lowest one
 * rises. Cost of asking: a binary search, and a step for each change inside the time asked for. */
#include "sim/prices.h"

#include "base/err.h"
#include "market/jobs.h"
#include <math.h>
#include <stdlib.h>
#include <strings.h>

struct change {
    double at_s, usd;
    uint32_t slot; /* of the offer among those of the kind */
};

static int by_time(const void *pa, const void *pb)
{
    const struct change *a = pa, *b = pb;

    if (a->at_s != b->at_s)
        return a->at_s < b->at_s ? -1 : 1;
    return (a->slot > b->slot) - (a->slot < b->slot);
}

static bool is_of(const struct market_prices *market, const struct market_offer *offer,
                  const char *name)
{
    if (strcasecmp(market_names_get(&market->kinds, offer->kind), name) == 0)
        return true;
    return offer->accelerator != MARKET_NONE &&
           strcasecmp(market_names_get(&market->accelerators, offer->accelerator), name) == 0;
}

/* The changes of all offers of a kind, by time; none: *out_count is 0. */
static shoal_status collect(const struct base_alloc *alloc, const struct market_prices *market,
                            const char *name, double from_s, struct sim_price_kind *kind,
                            struct change **out, size_t *out_count)
{
    size_t count = 0, used = 0;

    for (size_t o = 0; o < market->offer_count; o++)
        if (is_of(market, &market->offers[o], name))
            count += market->offers[o].count;
    struct change *changes = base_calloc(alloc, count + 1, sizeof *changes);
    if (changes == NULL)
        return SHOAL_E_NOMEM;
    for (size_t o = 0; o < market->offer_count; o++) {
        const struct market_offer *offer = &market->offers[o];
        if (!is_of(market, offer, name))
            continue;
        bool said = offer->accelerators > 0;
        kind->whole = kind->whole || !said;
        for (size_t p = offer->first; p < offer->first + offer->count; p++)
            changes[used++] = (struct change){
                .at_s = market->points[p].at_s - from_s,
                .usd = market->points[p].usd_h / (said ? offer->accelerators : 1),
                .slot = kind->offers,
            };
        kind->offers++;
    }
    qsort(changes, used, sizeof *changes, by_time);
    *out = changes;
    *out_count = used;
    return SHOAL_OK;
}

static double lowest(const double *now, size_t count)
{
    double least = INFINITY;

    for (size_t i = 0; i < count; i++)
        if (now[i] < least) /* NAN: not offered */
            least = now[i];
    return least;
}

/* The price holds from `at_s` on; where nothing is offered, the cluster's. */
static void add_step(struct sim_price_kind *kind, double at_s, double usd, double fallback)
{
    struct sim_price_step *last = kind->count > 0 ? &kind->steps[kind->count - 1] : NULL;
    double price = isinf(usd) ? fallback : usd;

    if (last != NULL && last->at_s == at_s)
        last->usd_gpu_h = price;
    else if (last == NULL || last->usd_gpu_h != price)
        kind->steps[kind->count++] = (struct sim_price_step){at_s, price};
}

static shoal_status make_kind(const struct base_alloc *alloc, const struct market_prices *market,
                              const struct sched_kind *named, double from_s,
                              struct sim_price_kind *kind)
{
    struct change *changes = NULL;
    size_t count = 0;
    shoal_status st = collect(alloc, market, named->name, from_s, kind, &changes, &count);

    if (st != SHOAL_OK)
        return st;
    double *now = base_calloc(alloc, (size_t)kind->offers + 1, sizeof *now);
    kind->steps = base_calloc(alloc, count + 1, sizeof *kind->steps);
    if (now == NULL || kind->steps == NULL) {
        base_free(alloc, now);
        base_free(alloc, changes);
        return SHOAL_E_NOMEM;
    }
    double least = INFINITY, since_s = market->from_s - from_s;
    for (uint32_t i = 0; i < kind->offers; i++)
        now[i] = (double)NAN;
    add_step(kind, -INFINITY, least, named->usd_gpu_h);
    for (size_t i = 0; i < count; i++) {
        const struct change *c = &changes[i];
        double before = now[c->slot];
        if (isinf(least))
            kind->unpriced_s += c->at_s - since_s;
        since_s = c->at_s;
        now[c->slot] = c->usd;
        if (c->usd <= least)
            least = c->usd;
        else if (before == least)
            least = lowest(now, kind->offers);
        add_step(kind, c->at_s, least, named->usd_gpu_h);
    }
    base_free(alloc, now);
    base_free(alloc, changes);
    return SHOAL_OK;
}

static shoal_status nothing_of(const struct market_prices *market,
                               const struct sched_cluster *cluster, shoal_err *err)
{
    base_err(err, SHOAL_E_NOTFOUND,
             "the price history has no GPU kind of the cluster: none of its %zu instance kinds and "
             "%zu accelerators is called '%s'%s",
             market->kinds.map.count, market->accelerators.map.count, cluster->kinds[0].name,
             cluster->kind_count > 1 ? " or like its other kinds" : "");
    const char *near = market_nearest(&market->accelerators, cluster->kinds[0].name);
    if (near == NULL)
        near = market_nearest(&market->kinds, cluster->kinds[0].name);
    if (near == NULL && market->accelerators.map.count > 0)
        near = market_names_get(&market->accelerators, 0);
    else if (near == NULL && market->kinds.map.count > 0)
        near = market_names_get(&market->kinds, 0);
    if (near != NULL)
        base_err_hint(err, "name the kinds as the history does, such as --cluster 4x8:%s", near);
    return SHOAL_E_NOTFOUND;
}

shoal_status sim_prices_new(const struct base_alloc *alloc, const struct market_prices *market,
                            const struct sched_cluster *cluster, double from_s,
                            struct sim_prices **out, shoal_err *err)
{
    struct sim_prices *prices = base_calloc(alloc, 1, sizeof *prices);
    shoal_status st = SHOAL_OK;
    uint32_t known = 0;

    if (prices == NULL)
        return base_err_nomem(err, "reading prices");
    prices->alloc = alloc;
    prices->kind_count = cluster->kind_count;
    prices->first_s = market->from_s - from_s;
    prices->last_s = market->to_s - from_s;
    for (uint32_t k = 0; k < cluster->kind_count && st == SHOAL_OK; k++) {
        st = make_kind(alloc, market, &cluster->kinds[k], from_s, &prices->kinds[k]);
        known += prices->kinds[k].offers > 0;
    }
    if (st != SHOAL_OK)
        base_err_nomem(err, "reading prices");
    else if (known == 0)
        st = nothing_of(market, cluster, err);
    if (st != SHOAL_OK) {
        sim_prices_free(prices);
        return st;
    }
    *out = prices;
    return SHOAL_OK;
}

void sim_prices_free(struct sim_prices *prices)
{
    if (prices == NULL)
        return;
    for (uint32_t k = 0; k < prices->kind_count; k++)
        base_free(prices->alloc, prices->kinds[k].steps);
    base_free(prices->alloc, prices);
}

/* The step in which a time is: the last that begins at or before it. */
static size_t find(const struct sim_price_kind *kind, double at_s)
{
    size_t low = 0, high = kind->count;

    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (kind->steps[mid].at_s <= at_s)
            low = mid;
        else
            high = mid;
    }
    return low;
}

double sim_prices_mean(const struct sim_prices *prices, uint32_t kind, double from_s, double to_s)
{
    const struct sim_price_kind *k = &prices->kinds[kind];
    size_t i = find(k, from_s);
    double sum = 0, at_s = from_s;

    if (i + 1 == k->count || k->steps[i + 1].at_s >= to_s)
        return k->steps[i].usd_gpu_h;
    for (; at_s < to_s; i++) {
        double until_s = i + 1 < k->count ? fmin(k->steps[i + 1].at_s, to_s) : to_s;
        if (k->steps[i].usd_gpu_h < 0)
            return -1;
        sum += k->steps[i].usd_gpu_h * (until_s - at_s);
        at_s = until_s;
    }
    return sum / (to_s - from_s);
}

bool sim_prices_set(const struct sim_prices *prices, double at_s, struct sched_kind *kinds)
{
    bool changed = false;

    for (uint32_t k = 0; k < prices->kind_count; k++) {
        const struct sim_price_kind *kind = &prices->kinds[k];
        double price = kind->steps[find(kind, at_s)].usd_gpu_h;
        changed = changed || price != kinds[k].usd_gpu_h;
        kinds[k].usd_gpu_h = price;
    }
    return changed;
}

double sim_prices_next_s(const struct sim_prices *prices, double at_s)
{
    double next_s = INFINITY;

    for (uint32_t k = 0; k < prices->kind_count; k++) {
        const struct sim_price_kind *kind = &prices->kinds[k];
        size_t i = find(kind, at_s) + 1;
        if (i < kind->count)
            next_s = fmin(next_s, kind->steps[i].at_s);
    }
    return next_s;
}
