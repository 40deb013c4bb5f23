/* auction.c - the partial allocation mechanism (see auction.h): bids in, awards out.
 *
 * Why nobody gains by lying. Let x be what is allocated, V_j what bidder j says and T_i what is true
 * for i. A share of the lease is worth that share of the value, so i ends with
 *
 *     paid_i T_i(x_i) = T_i(x_i) prod_{j != i} V_j(x_j) / (the best product without i).
 *
 * The denominator does not depend on what i says. The numerator is what the auction maximises when i
 * says T_i, over all that fits. So the truth is best, whatever the others say, for tables of any
 * shape: all that is used is that the maximum is exact and that values are proportional in time.
 * Three things bound what is left:
 *
 *   - Themis cuts the GPUs of a winner, floor(paid x) in gangs, not its time. That is worth the same
 *     when speed is proportional to GPUs, up to the rounding of less than one gang; where more GPUs
 *     help less than in proportion a bidder would gain by asking for more than it wants. A rigid gang
 *     could not pay at all. So here the lease is cut.
 *   - Where nothing is worth N > 0 to a bidder, it ends with paid T + (1 - paid) N, and a lie that
 *     changes its share from paid to paid' gains at most (paid - paid') N, less than N.
 *   - By prices (auction_prices.c) the maximum is within `gap`, and payments are those of a market
 *     nobody moves: with 200 bidders a lie gained at most 1.2 % more than by the bounds above.
 *
 * The rules for bad tables are a function of that table alone, so a bad table is just another way to
 * say some good one, and gains nothing either.
 *
 * Nor can a bidder take much from the others by boasting. What it costs them, D in logarithms of their
 * values, they lose for the share e^-D of a lease, and D e^-D is at most 1/e.
 *
 * Where values are proportional to GPUs a winner of n gangs ends with at least (n - 1) / e gangs'
 * worth: moving one gang to another bidder would not have raised the product, so that other gains at
 * most log(n / (n - 1)) by its first extra gang and less by each further one, and all of i's n gangs
 * are worth at most n times that to the others.
 *
 * Reference: Cole, Gkatzelis and Goel, "Mechanism Design for Fair Division: Allocating Divisible
 * Items without Payments", EC 2013; Mahajan et al., "Themis: Fair and Efficient GPU Cluster
 * Scheduling", NSDI 2020. */
#include "sched/auction.h"

#include "sched/auction_parts.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

static const double WORTHLESS = 1e-9; /* of the best option: nothing, when that is worth 0 */

struct sched_auctioneer {
    const struct base_alloc *alloc;
    struct auction_clean clean;
    struct auction_solution solution;
    struct auction_exact exact;
    struct sched_auction_award *awards;
    size_t award_cap;
};

shoal_status sched_auction_new(const struct base_alloc *alloc, struct sched_auctioneer **out)
{
    struct sched_auctioneer *a = base_calloc(alloc, 1, sizeof *a);

    if (a == NULL)
        return SHOAL_E_NOMEM;
    a->alloc = alloc;
    *out = a;
    return SHOAL_OK;
}

void sched_auction_free(struct sched_auctioneer *a)
{
    if (a == NULL)
        return;
    base_free(a->alloc, a->clean.first);
    base_free(a->alloc, a->clean.options);
    base_free(a->alloc, a->solution.pick);
    base_free(a->alloc, a->solution.paid);
    base_free(a->alloc, a->awards);
    auction_exact_fini(&a->exact, a->alloc);
    base_free(a->alloc, a);
}

/* ---- cleaning ---- */

static bool positive(double x)
{
    return isfinite(x) && x > 0;
}

/* By kind, then GPUs, then value: of two values for one bundle the smaller comes first. */
static int by_bundle(const void *pa, const void *pb)
{
    const struct auction_option *a = pa, *b = pb;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->gpus != b->gpus)
        return a->gpus < b->gpus ? -1 : 1;
    if (a->gain != b->gain)
        return a->gain < b->gain ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* The options that can be bought, with their values for now, sorted; how many. */
static size_t possible(const struct sched_auction_problem *p, const struct sched_auction_bid *bid,
                       struct auction_option *out, uint32_t *notes)
{
    uint32_t gang = bid->gang > 0 ? bid->gang : 1;
    size_t count = 0;

    for (uint32_t i = 0; i < bid->option_count; i++) {
        const struct sched_auction_option *o = &bid->options[i];
        bool exists = o->kind < p->kind_count && o->gpus > 0 && o->gpus % gang == 0 &&
                      o->gpus <= p->capacity[o->kind];
        if (exists && positive(o->value))
            out[count++] = (struct auction_option){o->value, o->gpus, o->kind, i};
        *notes |= exists ? 0 : SCHED_AUCTION_NO_BUNDLE;
        *notes |= positive(o->value) ? 0 : SCHED_AUCTION_NOT_POSITIVE;
    }
    qsort(out, count, sizeof *out, by_bundle);
    return count;
}

static double worth_of_nothing(const struct sched_auction_bid *bid,
                               const struct auction_option *options, size_t count, uint32_t *notes)
{
    double best = 0;

    if (positive(bid->nothing))
        return bid->nothing;
    *notes |= bid->nothing == 0 ? 0 : SCHED_AUCTION_NOT_POSITIVE;
    for (size_t i = 0; i < count; i++)
        best = fmax(best, options[i].gain);
    return fmax(WORTHLESS * best, 1e-300);
}

/* Leaves the options worth more than nothing and than every smaller one of their kind; values become
 * gains. How many are left. */
static size_t rising(struct auction_option *options, size_t count, double nothing, uint32_t *notes)
{
    size_t kept = 0;
    double least = 0; /* gain of the last one kept of this kind */

    for (size_t i = 0; i < count; i++) {
        struct auction_option o = options[i];
        bool same_kind = i > 0 && options[i - 1].kind == o.kind;
        if (!same_kind)
            least = 0;
        if (same_kind && options[i - 1].gpus == o.gpus) {
            *notes |= SCHED_AUCTION_TWICE;
            continue;
        }
        double gain = log(o.gain) - log(nothing);
        *notes |= gain < least ? SCHED_AUCTION_LESS : 0;
        if (!(gain > least))
            continue;
        least = gain;
        options[kept] = o; /* behind i, and what is compared with next is at i */
        options[kept++].gain = gain;
    }
    return kept;
}

static shoal_status reserve(struct sched_auctioneer *a, const struct sched_auction_problem *p)
{
    const struct base_alloc *alloc = a->alloc;
    size_t count = p->bid_count, options = 0;

    for (size_t b = 0; b < count; b++)
        options += p->bids[b].option_count;
    if (base_reserve(alloc, (void **)&a->clean.first, &a->clean.first_cap, count + 1,
                     sizeof *a->clean.first) != 0 ||
        base_reserve(alloc, (void **)&a->clean.options, &a->clean.option_cap, options + 1,
                     sizeof *a->clean.options) != 0 ||
        base_reserve(alloc, (void **)&a->solution.pick, &a->solution.pick_cap, count + 1,
                     sizeof *a->solution.pick) != 0 ||
        base_reserve(alloc, (void **)&a->solution.paid, &a->solution.paid_cap, count + 1,
                     sizeof *a->solution.paid) != 0 ||
        base_reserve(alloc, (void **)&a->awards, &a->award_cap, count + 1, sizeof *a->awards) != 0)
        return SHOAL_E_NOMEM;
    return SHOAL_OK;
}

static void clean(struct sched_auctioneer *a, const struct sched_auction_problem *p)
{
    struct auction_clean *c = &a->clean;

    c->kind_count = p->kind_count;
    c->bid_count = p->bid_count;
    for (uint32_t k = 0; k < p->kind_count; k++)
        c->capacity[k] = p->capacity[k];
    c->first[0] = 0;
    for (uint32_t b = 0; b < p->bid_count; b++) {
        struct auction_option *mine = c->options + c->first[b];
        uint32_t notes = 0;
        size_t count = possible(p, &p->bids[b], mine, &notes);
        double nothing = worth_of_nothing(&p->bids[b], mine, count, &notes);
        c->first[b + 1] = c->first[b] + rising(mine, count, nothing, &notes);
        a->awards[b] = (struct sched_auction_award){SCHED_AUCTION_NONE, notes, 1};
    }
}

/* ---- the auction ---- */

shoal_status sched_auction_run(struct sched_auctioneer *a, const struct sched_auction_problem *p,
                               struct sched_auction_result *out)
{
    if (p->kind_count == 0 || p->kind_count > SCHED_KINDS_MAX)
        return SHOAL_E_INVAL;
    shoal_status st = reserve(a, p);
    if (st != SHOAL_OK)
        return st;
    clean(a, p);
    if (!p->by_prices && auction_exact_suits(&a->clean))
        st = auction_exact_solve(&a->exact, a->alloc, &a->clean, &a->solution);
    else
        st = auction_prices_solve(a->alloc, &a->clean, &a->solution);
    if (st != SHOAL_OK)
        return st;

    *out = (struct sched_auction_result){
        .awards = a->awards, .welfare = a->solution.welfare, .gap = a->solution.gap};
    for (uint32_t k = 0; k < p->kind_count; k++)
        out->left[k] = p->capacity[k];
    for (uint32_t b = 0; b < p->bid_count; b++) {
        size_t pick = a->solution.pick[b];
        if (pick == SIZE_MAX)
            continue;
        const struct auction_option *won = &a->clean.options[pick];
        a->awards[b].option = won->index;
        a->awards[b].paid = fmax(a->solution.paid[b], DBL_MIN); /* never nothing at all */
        out->left[won->kind] -= won->gpus;
    }
    return SHOAL_OK;
}
