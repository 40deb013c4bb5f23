/* prices_target.h - what every fuzzer of a price format checks: loading gives a settled history
 * that saves and loads as it was, or an error in words and nothing. */
#ifndef FUZZ_PRICES_TARGET_H
#define FUZZ_PRICES_TARGET_H

#include "../prices_text.h"

#include "base/assert.h"
#include "env/env.h"
#include "market/prices.h"
#include "market/when.h"
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline bool prices_target_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static inline void prices_target_check(const struct market_prices *prices)
{
    shoal_assert(prices->offer_count > 0 && prices->from_s >= MARKET_WHEN_MIN);
    shoal_assert(prices->to_s < MARKET_WHEN_MAX + 86400);
    for (uint32_t i = 0; i < prices->offer_count; i++) {
        const struct market_offer *o = &prices->offers[i];
        const struct market_point *p = prices->points + o->first;
        size_t cursor = 0;
        shoal_assert(o->count > 0 && o->first + o->count <= prices->point_count);
        shoal_assert(o->accelerator == MARKET_NONE ||
                     o->accelerator < prices->accelerators.map.count);
        shoal_assert(strlen(market_names_get(&prices->kinds, o->kind)) <= MARKET_NAME_MAX);
        for (size_t k = 0; k < o->count; k++) {
            double until_s = 0;
            shoal_assert(isnan(p[k].usd_h) || (p[k].usd_h > 0 && p[k].usd_h <= MARKET_USD_H_MAX));
            shoal_assert(k == 0 || p[k - 1].at_s < p[k].at_s);
            shoal_assert(prices_target_same(
                market_price_at(prices, i, p[k].at_s, &cursor, &until_s), p[k].usd_h));
            shoal_assert(until_s == (k + 1 < o->count ? p[k + 1].at_s : INFINITY));
        }
    }
}

static inline void prices_target_again(shoal_env *env, const struct market_prices *prices)
{
    const char *path = "again.csv";
    struct market_prices *again = NULL;
    struct base_buf text;

    base_buf_init(&text, &base_alloc_libc, 1 << 28);
    prices_text(prices, &text);
    shoal_assert(base_buf_status(&text) == SHOAL_OK);
    shoal_assert(env_sim_put(env, path, text.data, text.size) == SHOAL_OK);
    shoal_assert(market_prices_load(env, &path, 1, NULL, &again, NULL) == SHOAL_OK);
    shoal_assert(again->offer_count == prices->offer_count);
    shoal_assert(again->point_count == prices->point_count);
    for (uint32_t i = 0; i < prices->offer_count; i++) {
        const struct market_offer *a = &prices->offers[i], *b = &again->offers[i];
        shoal_assert(a->count == b->count && a->kind == b->kind && a->zone == b->zone);
        shoal_assert(a->how == b->how && a->accelerators == b->accelerators);
        for (size_t k = 0; k < a->count; k++) {
            const struct market_point *pa = &prices->points[a->first + k];
            const struct market_point *pb = &again->points[b->first + k];
            shoal_assert(pa->at_s == pb->at_s && prices_target_same(pa->usd_h, pb->usd_h));
        }
    }
    market_prices_free(again);
    base_buf_fini(&text);
}

static inline int prices_target(const uint8_t *data, size_t size, enum market_format format)
{
    static const struct market_rate rates[] = {{"EUR", 1.1}, {"TNY", 1e-6}};
    struct market_load_opts opts = {.format = format, .rates = rates, .rate_count = 2};
    const char *path = "us_east.csv";
    struct market_prices *prices = NULL;
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_sim_put(env, path, data, size) == SHOAL_OK);
    shoal_status st = market_prices_load(env, &path, 1, &opts, &prices, &err);
    if (st == SHOAL_OK) {
        prices_target_check(prices);
        prices_target_again(env, prices);
    } else {
        shoal_assert(prices == NULL && err.code == st && err.message[0] != '\0');
    }
    market_prices_free(prices);
    shoal_env_free(env);
    return 0;
}

#endif
