/* sim_prices.c - prices over time for `shoal sim --prices`. Tests: tests/cli/test_market.py. */
#include "cli/sim_prices.h"

#include "base/err.h"
#include "base/text.h"
#include "cli/market_work.h"
#include "market/when.h"
#include <math.h>
#include <string.h>

shoal_status cli_sim_prices_load(const struct cli_context *cx, const char *path, const char *from,
                                 const struct sched_cluster *cluster, struct sim_prices **out,
                                 shoal_err *err)
{
    static const struct base_opt_list none = {.count = 0};
    struct market_prices *market = NULL;
    double from_s = NAN;

    if (path == NULL)
        return from == NULL ? SHOAL_OK
                            : base_err(err, SHOAL_E_INVAL, "--prices-from needs --prices");
    if (from != NULL && !market_when_parse(from, strlen(from), &from_s))
        return base_err(err, SHOAL_E_INVAL,
                        "--prices-from: expected a date such as 2025-03-01, found '%.60s'", from);
    shoal_status st = cli_market_prices(cx, &path, 1, MARKET_FORMAT_AUTO, &none, &market, err);
    if (st != SHOAL_OK)
        return st;
    if (isnan(from_s))
        from_s = market->from_s;
    st = sim_prices_new(env_alloc(cx->env), market, cluster, from_s, out, err);
    market_prices_free(market);
    return st;
}

void cli_sim_prices_note(const struct cli_context *cx, const struct sim_prices *prices,
                         const struct sched_cluster *cluster)
{
    const struct base_log *log = &cx->log;
    char text[32];
    double span_s = prices->last_s - prices->first_s;

    for (uint32_t k = 0; k < cluster->kind_count; k++) {
        const struct sim_price_kind *kind = &prices->kinds[k];
        const char *name = cluster->kinds[k].name;
        if (kind->offers == 0)
            base_log(log, BASE_LOG_WARN,
                     "the price history has nothing called '%s': it costs what the cluster says",
                     name);
        else if (kind->unpriced_s > 0.01 * span_s)
            base_log(log, BASE_LOG_INFO,
                     "for %s of the price history nobody offers '%s': it costs what the cluster "
                     "says then",
                     base_format_duration(kind->unpriced_s, text, sizeof text), name);
        if (kind->whole)
            base_log(log, BASE_LOG_WARN,
                     "the price history does not say how many accelerators '%s' has: prices are "
                     "taken as those of one",
                     name);
    }
}
