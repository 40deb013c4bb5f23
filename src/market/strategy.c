/* strategy.c - the table of strategies, and what they all reckon with. Adding a strategy is one
 * file and one row of strategy/table.h. */
#include "market/strategy.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include <string.h>

#define ROW(name) extern const struct market_strategy market_strategy_##name;
#include "market/strategy/table.h"
#undef ROW

static const struct market_strategy *const rows[] = {
#define ROW(name) &market_strategy_##name,
#include "market/strategy/table.h"
#undef ROW
};

const struct market_strategy *const *market_strategies(size_t *out_count)
{
    *out_count = BASE_COUNT(rows);
    return rows;
}

const struct market_strategy *market_strategy_find(const char *name, shoal_err *err)
{
    const char *names[BASE_COUNT(rows)];

    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        if (strcmp(rows[i]->name, name) == 0)
            return rows[i];
        names[i] = rows[i]->name;
    }
    base_err(err, SHOAL_E_NOTFOUND, "unknown strategy '%s'", name);
    const char *near = base_nearest(name, names, BASE_COUNT(rows));
    if (near != NULL)
        base_err_hint(err, "did you mean '%s'?", near);
    else
        base_err_hint(err, "there are shoal, uniform, periodic and static");
    return NULL;
}

/* How far apart two offers are. */
enum distance { SAME_ZONE, SAME_REGION, SAME_CLOUD, OTHER_CLOUD };

static enum distance distance(const struct market_prices *prices, uint32_t from, uint32_t to)
{
    const struct market_offer *a = &prices->offers[from], *b = &prices->offers[to];

    if (a->cloud != b->cloud)
        return OTHER_CLOUD;
    if (a->region != b->region)
        return SAME_CLOUD;
    return a->zone == b->zone ? SAME_ZONE : SAME_REGION;
}

double market_move_s(const struct market_prices *prices, const struct market_job *job,
                     const struct market_costs *costs, uint32_t from, uint32_t to)
{
    if (from == MARKET_NONE || job->checkpoint_gb <= 0)
        return costs->startup_s;
    switch (distance(prices, from, to)) {
    case SAME_REGION: return costs->startup_s + job->checkpoint_gb / costs->zone_gb_s;
    case SAME_CLOUD: return costs->startup_s + job->checkpoint_gb / costs->region_gb_s;
    case OTHER_CLOUD: return costs->startup_s + job->checkpoint_gb / costs->cloud_gb_s;
    case SAME_ZONE:
    default: return costs->startup_s;
    }
}

double market_move_usd(const struct market_prices *prices, const struct market_job *job,
                       const struct market_costs *costs, uint32_t from, uint32_t to)
{
    if (from == MARKET_NONE || job->checkpoint_gb <= 0)
        return 0;
    switch (distance(prices, from, to)) {
    case SAME_REGION: return job->checkpoint_gb * costs->zone_usd_gb;
    case SAME_CLOUD: return job->checkpoint_gb * costs->region_usd_gb;
    case OTHER_CLOUD: return job->checkpoint_gb * costs->cloud_usd_gb;
    case SAME_ZONE:
    default: return 0;
    }
}
