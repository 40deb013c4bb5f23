/* auction_parts.h - the auction between its files:
 *
 *   auction.c          cleaning tables, what winners receive
 *   auction_exact.c    the best allocation with and without each bidder, by dynamic programming
 *   auction_prices.c   a good allocation with a bound, by prices
 *
 * Both solve the same cleaned problem: options with gain = log(value / nothing) > 0, increasing with
 * gpus within a kind, all within capacity. */
#ifndef SCHED_AUCTION_PARTS_H
#define SCHED_AUCTION_PARTS_H

#include "sched/auction.h"

struct auction_option {
    double gain;
    uint32_t gpus, kind;
    uint32_t index; /* in the bidder's own table */
};

struct auction_clean {
    uint32_t kind_count, bid_count;
    uint32_t capacity[SCHED_KINDS_MAX];
    size_t *first; /* (bidders + 1): where the options of each begin */
    size_t first_cap;
    struct auction_option *options;
    size_t option_cap;
};

struct auction_solution {
    size_t *pick; /* (bidders): index into options, or SIZE_MAX */
    double *paid; /* (bidders) */
    size_t pick_cap, paid_cap;
    double welfare, gap;
};

struct auction_exact { /* memory of the search */
    double *best;      /* (bidders + 1, states) */
    double *after, *next;
    size_t *taken; /* by option: how far it moves the index of a state */
    size_t best_cap, after_cap, next_cap, taken_cap;
};

/* Whether the exact search takes little enough time and memory. */
bool auction_exact_suits(const struct auction_clean *c);
SHOAL_MUST_USE shoal_status auction_exact_solve(struct auction_exact *x,
                                                const struct base_alloc *alloc,
                                                const struct auction_clean *c,
                                                struct auction_solution *out);
void auction_exact_fini(struct auction_exact *x, const struct base_alloc *alloc);

SHOAL_MUST_USE shoal_status auction_prices_solve(const struct base_alloc *alloc,
                                                 const struct auction_clean *c,
                                                 struct auction_solution *out);

#endif
