/* avail_state.h - what availability is made of, for the files avail*.c alone; see avail.c. */
#ifndef MARKET_AVAIL_STATE_H
#define MARKET_AVAIL_STATE_H

#include "base/rand.h"
#include "market/avail.h"
#include "market/avail_trace.h"
#include <stdbool.h>

struct market_pattern {
    size_t first, count; /* of levels; those of a repeating pattern begin at 0 */
    double period_s;     /* 0: it happens once, before it there is nothing */
};

struct market_follow {
    uint32_t pattern; /* MARKET_NONE: never to be had */
    bool always;      /* on demand */
    double shift_s;   /* once: added to the times; repeating: taken from them */
};

struct market_avail {
    const struct base_alloc *alloc;
    struct market_level *levels;
    size_t level_count, level_cap;
    struct market_pattern *patterns;
    size_t pattern_count, pattern_cap;
    struct market_follow *follows; /* by offer */
    size_t offer_count;
    struct market_avail_facts facts;
};

/* Nothing to be had but on demand; NULL when memory is short. */
struct market_avail *market_avail_new(const struct base_alloc *alloc,
                                      const struct market_prices *prices);
/* A new pattern, and a level of the one begun last; one like the level before it (nothing, at
 * first) is none. SHOAL_E_NOMEM. */
SHOAL_MUST_USE shoal_status market_avail_pattern(struct market_avail *avail, double period_s,
                                                 uint32_t *out);
SHOAL_MUST_USE shoal_status market_avail_level(struct market_avail *avail, double at_s,
                                               uint32_t count);
/* Fills in the facts; `traces` may be NULL. */
void market_avail_finish(struct market_avail *avail, const struct market_traces *traces);
/* The stream of random numbers of an offer's cloud and kind and of a place. */
void market_avail_stream(const struct market_prices *prices, const struct market_offer *o,
                         const char *what, const char *place, uint64_t seed, struct base_rand *out);
shoal_status market_avail_nomem(shoal_err *err);

#endif
