/* Any bytes as a trace of availability, JSON or CSV: it is refused in words, or what it gives can
 * be walked along, change by change, by `load` and by `cut`. */
#include "base/assert.h"
#include "env/env.h"
#include "market/avail.h"
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char prices_text[] = "time,cloud,zone,instance,market,price,accelerator,count\n"
                                  "2024-01-01,aws,us-east-1a,p3.2xlarge,spot,1,V100,1\n"
                                  "2024-01-01,aws,us-east-1b,p3.2xlarge,spot,1,V100,1\n"
                                  "2024-01-02,aws,us-east-1a,p3.2xlarge,on-demand,3,V100,1\n";

static void walk(const struct market_avail *avail, uint32_t offer, double at_s)
{
    size_t cursor = 0;

    for (int i = 0; i < 50 && isfinite(at_s); i++) {
        double until_s = 0;
        uint32_t count = market_avail_at(avail, offer, at_s, &cursor, &until_s);
        shoal_assert(until_s > at_s);
        shoal_assert(count == market_avail_at(avail, offer, at_s, NULL, NULL));
        double between_s = isfinite(until_s) ? at_s + (until_s - at_s) / 2 : at_s + 1e6;
        if (between_s < until_s)
            shoal_assert(count == market_avail_at(avail, offer, between_s, NULL, NULL));
        if (isfinite(until_s))
            shoal_assert(count != market_avail_at(avail, offer, until_s, NULL, NULL));
        at_s = until_s;
    }
}

static void check(shoal_status st, struct market_avail *avail, const shoal_err *err)
{
    if (st != SHOAL_OK) {
        shoal_assert(avail == NULL && err->code == st && err->message[0] != '\0');
        return;
    }
    for (uint32_t offer = 0; offer < 3; offer++)
        walk(avail, offer, 1704067200);
    market_avail_free(avail);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = "p.csv", *trace = "us-east-1a_v100_1.json";
    struct market_prices *prices = NULL;
    struct market_avail *avail = NULL;
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_sim_put(env, path, prices_text, sizeof prices_text - 1) == SHOAL_OK);
    shoal_assert(env_sim_put(env, trace, data, size) == SHOAL_OK);
    shoal_assert(market_prices_load(env, &path, 1, NULL, &prices, NULL) == SHOAL_OK);
    shoal_status st = market_avail_load(env, prices, trace, 1704067200, &avail, &err);
    check(st, avail, &err);
    avail = NULL;
    st = market_avail_cut(env, prices, trace, size, &avail, &err);
    check(st, avail, &err);
    market_prices_free(prices);
    shoal_env_free(env);
    return 0;
}
