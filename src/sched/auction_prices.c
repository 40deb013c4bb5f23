/* auction_prices.c - a good allocation with a bound, where there are too many states to search.
 *
 * Each kind gets a price a GPU, in units of log value; num/choose.h finds the prices at which
 * bidders, each answering alone, fit best, an allocation that fits, and a bound that nobody exceeds.
 * That is the Eisenberg-Gale program with integral bundles: at the prices of the market a winner's
 * presence costs the others what it took at those prices, so it pays
 *
 *     paid_i = e^-(price of what it won, at most what it gained).
 *
 * This is the exact share when bidders are many and none moves the prices. With few and large ones it
 * is off by what i moves them; the exact search then suits. Gap: welfare is within bound - welfare of
 * the best, some hundredths of a percent of it for hundreds of bidders.
 *
 * Cost: that of one choice, and a pass over the options; not n + 1 of them. */
#include "num/choose.h"
#include "sched/auction_parts.h"

#include <math.h>

static const double GAP = 1e-5; /* relative, at which to stop */

static double surplus(const struct auction_option *o, const double *price)
{
    return o->gain - price[o->kind] * o->gpus;
}

/* What nobody exceeds, formed anew from the prices: the solver's is of rounded gains. */
static double bound(const struct auction_clean *c, const double *price)
{
    double sum = 0;

    for (uint32_t k = 0; k < c->kind_count; k++)
        sum += price[k] * c->capacity[k];
    for (uint32_t b = 0; b < c->bid_count; b++) {
        double best = 0;
        for (size_t o = c->first[b]; o < c->first[b + 1]; o++)
            best = fmax(best, surplus(&c->options[o], price));
        sum += best;
    }
    return sum;
}

static void take_over(const struct auction_clean *c, const struct num_choose_result *r,
                      struct auction_solution *out)
{
    out->welfare = 0;
    for (uint32_t b = 0; b < c->bid_count; b++) {
        out->pick[b] = r->pick[b] == NUM_CHOOSE_NONE ? SIZE_MAX : r->pick[b];
        out->paid[b] = 1;
        if (out->pick[b] == SIZE_MAX)
            continue;
        const struct auction_option *o = &c->options[out->pick[b]];
        out->welfare += o->gain;
        out->paid[b] = exp(-fmin(r->price[o->kind] * o->gpus, o->gain));
    }
    out->gap = fmax(bound(c, r->price) - out->welfare, 0);
}

shoal_status auction_prices_solve(const struct base_alloc *alloc, const struct auction_clean *c,
                                  struct auction_solution *out)
{
    size_t count = c->first[c->bid_count];
    struct num_choose_option *options = base_malloc(alloc, (count + 1) * sizeof *options);
    struct num_choose *solver = NULL;
    struct num_choose_result r;
    struct num_choose_problem p = {.kind_count = c->kind_count,
                                   .job_count = c->bid_count,
                                   .first = c->first,
                                   .options = options,
                                   .gap = GAP};

    if (options == NULL)
        return SHOAL_E_NOMEM;
    for (size_t o = 0; o < count; o++)
        options[o] = (struct num_choose_option){(float)c->options[o].gain, c->options[o].gpus,
                                                c->options[o].kind};
    for (uint32_t k = 0; k < c->kind_count; k++)
        p.capacity[k] = c->capacity[k];
    shoal_status st = num_choose_new(alloc, &solver);
    if (st == SHOAL_OK)
        st = num_choose_solve(solver, &p, &r);
    if (st == SHOAL_OK)
        take_over(c, &r, out);
    num_choose_free(solver);
    base_free(alloc, options);
    return st;
}
