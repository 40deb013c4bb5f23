/* auction.h - GPUs to bidders by partial allocation: proportional fair, paid for in GPU time.
 *
 * Each bidder says what bundles of GPUs would be worth to it: option o is `gpus` of one kind, worth
 * `value` (in Themis 1/rho: the finish-time fairness it would have), and `nothing` is what it has
 * without any. Each gets one of its options or none, so that no kind is given away twice and the
 * product of what all have is largest: the proportional fair allocation. Then each winner pays for
 * what its presence costs the others: it receives the share
 *
 *     paid_i = product of the others' values with i / the largest it could be without i,
 *
 * of what it won, in (0, 1]: it holds all of it for that share of the lease. Nobody hands over money,
 * and nobody gains by lying (auction.c says why, and what bounds it).
 *
 * Placement. Options are counts of a kind: a bid's value is that of the best packed shape of that
 * size, and whoever drives the auction places winners so, largest first, and treats what cannot be
 * placed as it was bid as not sold.
 *
 * Tables that contradict themselves are cleaned by rules that look at nobody else's, each noted:
 * a value that is not a positive number, an amount of 0, more than there is, or not of whole gangs, or
 * a kind that does not exist drops the option; of two values for one bundle the smaller holds; a
 * bundle worth no more than a smaller one of its kind, or than nothing, is never bought. `nothing`
 * that is not a positive number counts as a billionth of the best option.
 *
 * An auctioneer keeps its memory between calls; results depend on the call alone. Owner thread only.
 * Tests: tests/unit/sched/test_auction.c. */
#ifndef SCHED_AUCTION_H
#define SCHED_AUCTION_H

#include "base/alloc.h"
#include "sched/cluster.h"
#include "shoal/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHED_AUCTION_NONE UINT32_MAX

struct sched_auction_option {
    uint32_t kind;
    uint32_t gpus;
    double value;
};

struct sched_auction_bid {
    const struct sched_auction_option *options; /* in any order */
    uint32_t option_count;
    uint32_t gang;  /* bundles are multiples of this; 0 counts as 1 */
    double nothing; /* value of no GPUs */
};

/* What was wrong with a table; bits. */
enum sched_auction_note {
    SCHED_AUCTION_NOT_POSITIVE = 1, /* a value or `nothing` that is not a positive number */
    SCHED_AUCTION_NO_BUNDLE = 2,    /* an amount or kind that there is not */
    SCHED_AUCTION_TWICE = 4,        /* two values for one bundle */
    SCHED_AUCTION_LESS = 8          /* a larger bundle worth less than a smaller one, or nothing */
};

struct sched_auction_problem {
    uint32_t kind_count; /* 1 .. SCHED_KINDS_MAX */
    uint32_t capacity[SCHED_KINDS_MAX];
    const struct sched_auction_bid *bids;
    uint32_t bid_count;
    bool by_prices; /* never search exactly, for tests and very large auctions */
};

struct sched_auction_award {
    uint32_t option; /* index into its table of what it won, or SCHED_AUCTION_NONE */
    uint32_t notes;  /* enum sched_auction_note */
    double paid;     /* share of the lease for which it holds that; 1 where it won nothing */
};

struct sched_auction_result {
    const struct sched_auction_award *awards; /* by bidder; the auctioneer's, until its next call */
    double welfare;                 /* sum over bidders of log(value / nothing) of what they won */
    double gap;                     /* nobody finds more than welfare + gap; 0: exact */
    uint32_t left[SCHED_KINDS_MAX]; /* not sold */
};

struct sched_auctioneer;

SHOAL_MUST_USE shoal_status sched_auction_new(const struct base_alloc *alloc,
                                              struct sched_auctioneer **out);
void sched_auction_free(struct sched_auctioneer *a);
/* SHOAL_E_INVAL: no kinds, or too many. SHOAL_E_NOMEM. *out is then unchanged. */
SHOAL_MUST_USE shoal_status sched_auction_run(struct sched_auctioneer *a,
                                              const struct sched_auction_problem *p,
                                              struct sched_auction_result *out);

#endif
