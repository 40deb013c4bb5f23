/* prices_text.h - a history of prices in Shoal's own CSV (docs/formats.md). Reading that gives an
 * equal history, which tests and fuzzers hold every reader to. */
#ifndef TESTS_PRICES_TEXT_H
#define TESTS_PRICES_TEXT_H

#include "base/assert.h"
#include "base/event.h"
#include "market/prices.h"
#include "market/when.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* "aws us-east-1b p3.2xlarge spot", into buf; returns buf. */
static inline const char *prices_text_of(const struct market_prices *prices, uint32_t offer,
                                         char *buf, size_t size)
{
    const struct market_offer *o = &prices->offers[offer];

    snprintf(buf, size, "%s %s %s %s", market_names_get(&prices->clouds, o->cloud),
             market_names_get(&prices->zones, o->zone), market_names_get(&prices->kinds, o->kind),
             market_how_names[o->how]);
    return buf;
}

static inline void prices_text_name(const char *name, struct base_buf *out)
{
    if (strpbrk(name, ",\"") == NULL) {
        base_buf_puts(out, name);
        return;
    }
    base_buf_puts(out, "\"");
    for (const char *quote; (quote = strchr(name, '"')) != NULL; name = quote + 1) {
        base_buf_append(out, name, (size_t)(quote + 1 - name));
        base_buf_puts(out, "\"");
    }
    base_buf_puts(out, name);
    base_buf_puts(out, "\"");
}

/* What all rows of an offer have after the time and before the price, and after it. */
static inline void prices_text_offer(const struct market_prices *prices,
                                     const struct market_offer *o, struct base_buf *before,
                                     struct base_buf *after)
{
    const char *names[] = {
        market_names_get(&prices->clouds, o->cloud), market_names_get(&prices->regions, o->region),
        market_names_get(&prices->zones, o->zone), market_names_get(&prices->kinds, o->kind)};

    base_buf_clear(before);
    base_buf_clear(after);
    for (size_t i = 0; i < BASE_COUNT(names); i++) {
        base_buf_puts(before, ",");
        prices_text_name(names[i], before);
    }
    base_buf_puts(before, o->how == MARKET_SPOT ? ",spot," : ",on-demand,");
    base_buf_puts(after, ",");
    if (o->accelerator != MARKET_NONE)
        prices_text_name(market_names_get(&prices->accelerators, o->accelerator), after);
    base_buf_puts(after, ",");
    if (o->accelerators > 0)
        base_json_f64(after, o->accelerators);
    base_buf_puts(after, "\n");
}

/* Appends the history to `out`. Check its status. */
static inline void prices_text(const struct market_prices *prices, struct base_buf *out)
{
    struct base_buf before, after;
    char time[MARKET_WHEN_TEXT];

    base_buf_init(&before, out->alloc, 16 * MARKET_NAME_MAX);
    base_buf_init(&after, out->alloc, 16 * MARKET_NAME_MAX);
    base_buf_puts(out, "#shoal-prices v1\n"
                       "time,cloud,region,zone,instance,market,price,accelerator,count\n");
    for (size_t i = 0; i < prices->offer_count; i++) {
        const struct market_offer *o = &prices->offers[i];
        prices_text_offer(prices, o, &before, &after);
        for (size_t k = o->first; k < o->first + o->count; k++) {
            base_buf_puts(out, market_when_text(prices->points[k].at_s, time));
            base_buf_append(out, before.data, before.size);
            if (!isnan(prices->points[k].usd_h))
                base_json_f64(out, prices->points[k].usd_h);
            base_buf_append(out, after.data, after.size);
        }
        if (out->status == SHOAL_OK)
            out->status = before.status != SHOAL_OK ? before.status : after.status;
        if (out->status != SHOAL_OK)
            break;
    }
    base_buf_fini(&before);
    base_buf_fini(&after);
}

#endif
