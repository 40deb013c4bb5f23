/* gen.h - made-up price histories, so that documents, tests and first steps need nobody's data.
 *
 * The price of a spot offer is its price on demand times a level that wanders around a mean: its
 * logarithm falls back to it within weeks, as the sum of what the region and the zone do; it
 * changes at random times and never passes the price on demand. Nothing is measured in it. Same
 * options, same bytes; offers have draws of their own, so more zones or kinds change no other's
 * prices. Any thread. */
#ifndef MARKET_GEN_H
#define MARKET_GEN_H

#include "base/buf.h"
#include <stdint.h>

enum { MARKET_GEN_KINDS_MAX = 16 };

struct market_gen_opts {
    const char
        *kinds; /* "small:V100:1=3.06,large:V100:8=24.48": name, accelerator, how many, price */
    uint32_t regions, zones; /* zones in each region */
    double from_s, days;
    double changes_day; /* of one offer, on average */
    double swing;       /* standard deviation of the logarithm of the level */
    uint64_t seed;
};

/* Appends Shoal's CSV of prices (docs/formats.md). SHOAL_E_INVAL for kinds that are none. */
SHOAL_MUST_USE shoal_status market_gen(const struct market_gen_opts *opts, struct base_buf *out,
                                       shoal_err *err);

#endif
