/* market_world.h - a simulated world with price histories in it, and histories made up. */
#ifndef TESTS_MARKET_WORLD_H
#define TESTS_MARKET_WORLD_H

#include "env_world.h"
#include "property.h"
#include "torture.h"

#include "base/rand.h"
#include "env/env.h"
#include "market/prices.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A time in a history: 2024-01-01 00:00 and so many seconds. */
#define WORLD_2024 1704067200.0

static inline struct market_prices *world_load_as(shoal_env *env, const char *path,
                                                  enum market_format format)
{
    struct market_prices *prices = NULL;
    struct market_load_opts opts = {.format = format};
    shoal_err err = SHOAL_ERR_INIT;

    if (market_prices_load(env, &path, 1, &opts, &prices, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    return prices;
}

static inline struct market_prices *world_load(shoal_env *env, const char *path)
{
    return world_load_as(env, path, MARKET_FORMAT_AUTO);
}

/* The history in one file of Shoal's CSV without its header. */
static inline struct market_prices *world_rows(shoal_env *env, const char *rows)
{
    char text[8192];

    snprintf(text, sizeof text, "time,cloud,zone,instance,market,price\n%s", rows);
    world_put(env, "rows.csv", text);
    return world_load(env, "rows.csv");
}

/* The bytes as file `path` are refused; message and hint contain the words. */
static inline void world_refuses_file(const char *path, const char *text, size_t size,
                                      enum market_format format, const char *message,
                                      const char *hint)
{
    shoal_env *env = world_new();
    struct market_prices *prices = NULL;
    struct market_load_opts opts = {.format = format};
    shoal_err err = SHOAL_ERR_INIT;

    assert_int_equal(env_sim_put(env, path, text, size), SHOAL_OK);
    shoal_status st = market_prices_load(env, &path, 1, &opts, &prices, &err);
    if (st == SHOAL_OK)
        fail_msg("accepted: %s", text);
    assert_int_equal(st, SHOAL_E_FORMAT);
    assert_int_equal(err.code, st);
    assert_null(prices);
    if (strstr(err.message, message) == NULL)
        fail_msg("expected '%s' in '%s'", message, err.message);
    if (strstr(err.hint, hint) == NULL)
        fail_msg("expected '%s' in hint '%s'", hint, err.hint);
    shoal_env_free(env);
}

static inline void world_refuses(const char *text, const char *message, const char *hint)
{
    world_refuses_file("a.csv", text, strlen(text), MARKET_FORMAT_AUTO, message, hint);
}

static inline bool world_same_price(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* What is offered for "zone kind", or MARKET_NONE. */
static inline uint32_t world_find(const struct market_prices *prices, const char *zone,
                                  const char *kind, enum market_how how)
{
    for (uint32_t i = 0; i < prices->offer_count; i++) {
        const struct market_offer *o = &prices->offers[i];
        if (strcmp(market_names_get(&prices->zones, o->zone), zone) == 0 &&
            strcmp(market_names_get(&prices->kinds, o->kind), kind) == 0 && o->how == how)
            return i;
    }
    return MARKET_NONE;
}

static inline double world_price(const struct market_prices *prices, const char *zone,
                                 const char *kind, enum market_how how, double at_s)
{
    uint32_t offer = world_find(prices, zone, kind, how);

    assert_true(offer != MARKET_NONE);
    return market_price_at(prices, offer, at_s, NULL, NULL);
}

#endif
