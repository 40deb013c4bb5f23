/* draft.h - a price history while it is read: offers and points in the order of the files, then
 * settled into struct market_prices.
 *
 * Points are appended to one array. A run is a stretch of it that belongs to one offer; where each
 * offer has one run (a file that tells one series after the other) the points are never moved.
 * Names are kept once, so that equal names have equal pointers. Owner thread only. */
#ifndef MARKET_DRAFT_H
#define MARKET_DRAFT_H

#include "market/prices.h"
#include <stdbool.h>

/* What an offer is. Pointers from market_draft_name. */
struct market_draft_key {
    const char *cloud, *region, *zone, *kind;
    const char *product; /* NULL: Linux, or not said */
    uint64_t how;        /* enum market_how; wide, so that the struct has no holes */
};

struct market_draft_offer {
    struct market_draft_key key;
    const char *accelerator; /* NULL: not said */
    double accelerators;     /* 0: not said */
    size_t first, count;     /* its points, once settled */
    size_t run_count;
    double last_s; /* of the file being read; NAN: none yet */
    uint32_t file; /* that last_s is of */
    bool dropped;  /* by settling */
};

struct market_draft_run {
    size_t first;
    uint32_t offer;
};

struct market_draft {
    const struct base_alloc *alloc;
    struct base_map names; /* every string */
    struct base_map index; /* bytes of the key -> offer */
    struct base_map kinds; /* cloud and kind (pointers) -> an offer that said its accelerator */
    struct market_draft_offer *offers;
    size_t offer_count, offer_cap;
    struct market_point *points;
    size_t point_count, point_cap;
    struct market_draft_run *runs;
    size_t run_count, run_cap;
    size_t file_point, file_run; /* where the file being read begins */
    uint32_t file;               /* its number */
    bool newest_first;           /* and its order */
    struct market_odd odd;
};

void market_draft_init(struct market_draft *draft, const struct base_alloc *alloc);
void market_draft_fini(struct market_draft *draft);

/* A file begins, ends. Files with the newest price first are turned round at their end. */
void market_draft_file(struct market_draft *draft, bool newest_first);
void market_draft_file_end(struct market_draft *draft);

/* The one copy of a name, NULL when memory is short. */
const char *market_draft_name(struct market_draft *draft, const char *name, size_t size);
/* The offer of the key, made when new. SHOAL_E_LIMIT, SHOAL_E_NOMEM. */
SHOAL_MUST_USE shoal_status market_draft_offer(struct market_draft *draft,
                                               const struct market_draft_key *key,
                                               uint32_t *out_offer);
/* Says what its instances hold; later words win, NULL and 0 say nothing. */
SHOAL_MUST_USE shoal_status market_draft_holds(struct market_draft *draft, uint32_t offer,
                                               const char *accelerator, double accelerators);
/* A price from here on, NAN: not offered. SHOAL_E_LIMIT, SHOAL_E_NOMEM. */
SHOAL_MUST_USE shoal_status market_draft_point(struct market_draft *draft, uint32_t offer,
                                               double at_s, double usd_h);

/* Sorts, applies the rules of prices.h and moves everything into *prices, which is zero but for
 * `alloc`, and which market_prices_free frees whatever happens. SHOAL_E_NOMEM. */
SHOAL_MUST_USE shoal_status market_draft_settle(struct market_draft *draft,
                                                struct market_prices *prices);

/* What the well-known kinds of instances hold, for histories that do not say: facts of the clouds' own catalogues,
 * by family. "aws" "p3.8xlarge": V100, 4. False: not in the table. */
bool market_kinds_find(const char *cloud, const char *kind, const char **out_accelerator,
                       double *out_count);

#endif
