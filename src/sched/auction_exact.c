/* auction_exact.c - the proportional fair allocation and every payment, exactly.
 *
 * Problem. One option a bidder or none, the sum of gains largest, no kind over capacity; and for each
 * winner the same without it. Values are log, so the product has become a sum and this is a knapsack
 * with several choices. GPUs of a kind are alike, so all that matters of what was given away is how
 * many of each kind: a state is a vector of counts, (capacity_1 + 1) ... (capacity_K + 1) of them.
 *
 * Method. best[i][s] is the most that the first i bidders gain with s GPUs; bidder i adds a row by
 * taking, for each s, the largest of best[i - 1][s] and best[i - 1][s - amount] + gain. The
 * allocation is read off backwards: the choice at a row is the one whose sum is equal, and sums are
 * formed again the same way, so equality is exact. Going back the same recurrence builds `after`, the
 * most that the bidders behind i gain with s; without bidder i the best is then the largest
 * best[i][s] + after[all - s]. So all n + 1 optima cost two passes and n scans, where solving anew
 * without each would cost n + 1 passes.
 *
 * States are kept few: counts of a kind are divided by what divides all amounts that are asked for,
 * and end where all bidders together could not use more. The index of a state is a number in mixed
 * radix; taking GPUs of one kind moves it by a constant within contiguous runs, which is the inner
 * loop.
 *
 * Cost: O(states x options) time twice, 8 bytes x states x bidders. 1,000 bidders with 10 options
 * each for 1,000 GPUs of one kind: 2e7 steps. */
#include "base/assert.h"
#include "sched/auction_parts.h"

#include <math.h>
#include <string.h>

enum { LANES = 8 };
static const double ROOM_MAX = 1 << 23, STEPS_MAX = 1.5e8; /* numbers kept; steps of a pass */

struct grid {
    uint32_t kind_count;
    uint32_t unit[SCHED_KINDS_MAX]; /* GPUs counted as one */
    size_t count[SCHED_KINDS_MAX];  /* units + 1 */
    size_t stride[SCHED_KINDS_MAX];
    size_t states;
};

static uint32_t gcd(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* The largest amount of each kind that one bidder asks for, summed over bidders. */
static void demand(const struct auction_clean *c, double *out)
{
    memset(out, 0, c->kind_count * sizeof *out);
    for (uint32_t b = 0; b < c->bid_count; b++) {
        uint32_t most[SCHED_KINDS_MAX] = {0};
        for (size_t o = c->first[b]; o < c->first[b + 1]; o++)
            if (c->options[o].gpus > most[c->options[o].kind])
                most[c->options[o].kind] = c->options[o].gpus;
        for (uint32_t k = 0; k < c->kind_count; k++)
            out[k] += most[k];
    }
}

/* The number of states, which may be beyond all memory; *out is complete when it is not. */
static double make_grid(const struct auction_clean *c, struct grid *out)
{
    double wanted[SCHED_KINDS_MAX], states = 1;
    size_t options = c->first[c->bid_count];

    *out = (struct grid){.kind_count = c->kind_count};
    demand(c, wanted);
    for (size_t o = 0; o < options; o++)
        out->unit[c->options[o].kind] = gcd(c->options[o].gpus, out->unit[c->options[o].kind]);
    for (uint32_t k = 0; k < c->kind_count; k++) {
        double most = fmin(wanted[k], c->capacity[k]);
        if (out->unit[k] == 0) /* nobody asks for it */
            out->unit[k] = 1;
        out->count[k] = (size_t)(most / out->unit[k]) + 1;
        states *= (double)out->count[k];
    }
    if (states > ROOM_MAX)
        return states;
    out->states = 1;
    for (uint32_t k = 0; k < c->kind_count; k++) {
        out->stride[k] = out->states;
        out->states *= out->count[k];
    }
    return states;
}

bool auction_exact_suits(const struct auction_clean *c)
{
    struct grid g;
    double states = make_grid(c, &g);

    return states * (c->bid_count + 1.0) <= ROOM_MAX &&
           states * (double)c->first[c->bid_count] <= STEPS_MAX;
}

/* ---- rows ---- */

/* to[i] = the larger of to[i] and from[i] + gain. Whole blocks first: their length is known when
 * compiling, so several go at once. */
static void raise(double *restrict to, const double *restrict from, size_t count, double gain)
{
    size_t i = 0;

    for (; i + LANES <= count; i += LANES)
        for (size_t n = 0; n < LANES; n++) {
            double with = from[i + n] + gain;
            to[i + n] = with > to[i + n] ? with : to[i + n];
        }
    for (; i < count; i++) {
        double with = from[i] + gain;
        to[i] = with > to[i] ? with : to[i];
    }
}

/* The same with four at once, which loads and stores `to` once. */
static void raise_by_four(double *restrict to, const double *const *from, size_t count,
                          const struct auction_option *options)
{
    const double *restrict a = from[0], *restrict b = from[1];
    const double *restrict c = from[2], *restrict d = from[3];
    double ga = options[0].gain, gb = options[1].gain, gc = options[2].gain, gd = options[3].gain;
    size_t i = 0;

    for (; i + LANES <= count; i += LANES)
        for (size_t n = i; n < i + LANES; n++) {
            double x = a[n] + ga, y = b[n] + gb, z = c[n] + gc, w = d[n] + gd;
            x = x > y ? x : y;
            z = z > w ? z : w;
            x = x > z ? x : z;
            to[n] = x > to[n] ? x : to[n];
        }
    for (size_t o = 0; o < 4; o++)
        raise(to + i, from[o] + i, count - i, options[o].gain);
}

/* The options of one kind, amounts increasing, over one run of states: `to` becomes the best of itself
 * and of each option on top of `from`. Beyond the largest amount all of them reach every state. */
static void raise_by_all(const struct auction_option *options, const size_t *taken, size_t count,
                         const double *restrict from, double *restrict to, size_t run)
{
    size_t far = taken[count - 1], o = 0;

    for (; o + 4 <= count; o += 4) {
        const double *before[4];
        for (size_t n = 0; n < 4; n++) {
            before[n] = from + far - taken[o + n];
            raise(to + taken[o + n], from, far - taken[o + n], options[o + n].gain);
        }
        raise_by_four(to + far, before, run - far, options + o);
    }
    for (; o < count; o++)
        raise(to + taken[o], from, run - taken[o], options[o].gain);
}

/* The row after one more bidder. */
static void add_bidder(const struct grid *g, const struct auction_clean *c, const size_t *taken,
                       uint32_t b, const double *row, double *next)
{
    size_t end = c->first[b + 1];

    memcpy(next, row, g->states * sizeof *next);
    for (size_t o = c->first[b], same; o < end; o = same) {
        uint32_t kind = c->options[o].kind;
        size_t run = g->stride[kind] * g->count[kind];
        for (same = o + 1; same < end && c->options[same].kind == kind;)
            same++;
        for (size_t at = 0; at < g->states; at += run)
            raise_by_all(c->options + o, taken + o, same - o, row + at, next + at, run);
    }
}

/* Whether the state has what the option takes. */
static bool has(const struct grid *g, size_t state, const struct auction_option *opt)
{
    return state / g->stride[opt->kind] % g->count[opt->kind] >= opt->gpus / g->unit[opt->kind];
}

/* The option that made best[b + 1][*state]; *state becomes what the bidders before it have. None is
 * preferred, then the first. */
static size_t read_off(const struct grid *g, const struct auction_clean *c,
                       const struct auction_exact *x, uint32_t b, size_t *state)
{
    const double *row = x->best + b * g->states, *next = row + g->states;

    if (next[*state] == row[*state])
        return SIZE_MAX;
    for (size_t o = c->first[b]; o < c->first[b + 1]; o++) {
        const struct auction_option *opt = &c->options[o];
        if (has(g, *state, opt) && row[*state - x->taken[o]] + opt->gain == next[*state]) {
            *state -= x->taken[o];
            return o;
        }
    }
    shoal_assert(false); /* some option made it */
    return SIZE_MAX;
}

/* The most that those before and those behind a bidder gain together. */
static double best_without(const double *before, const double *after, size_t states)
{
    double best = 0;

    for (size_t s = 0; s < states; s++) {
        double both = before[s] + after[states - 1 - s];
        best = both > best ? both : best;
    }
    return best;
}

static shoal_status reserve(struct auction_exact *x, const struct base_alloc *alloc,
                            const struct auction_clean *c, const struct grid *g)
{
    size_t rows = (size_t)c->bid_count + 1, options = c->first[c->bid_count];

    if (base_reserve(alloc, (void **)&x->best, &x->best_cap, rows * g->states, sizeof *x->best) !=
            0 ||
        base_reserve(alloc, (void **)&x->after, &x->after_cap, g->states, sizeof *x->after) != 0 ||
        base_reserve(alloc, (void **)&x->next, &x->next_cap, g->states, sizeof *x->next) != 0 ||
        base_reserve(alloc, (void **)&x->taken, &x->taken_cap, options + 1, sizeof *x->taken) != 0)
        return SHOAL_E_NOMEM;
    for (size_t o = 0; o < options; o++) {
        uint32_t kind = c->options[o].kind;
        x->taken[o] = c->options[o].gpus / g->unit[kind] * g->stride[kind];
    }
    return SHOAL_OK;
}

shoal_status auction_exact_solve(struct auction_exact *x, const struct base_alloc *alloc,
                                 const struct auction_clean *c, struct auction_solution *out)
{
    struct grid g;
    double states = make_grid(c, &g);

    shoal_assert(states <= ROOM_MAX);
    shoal_status st = reserve(x, alloc, c, &g);
    if (st != SHOAL_OK)
        return st;
    memset(x->best, 0, g.states * sizeof *x->best);
    memset(x->after, 0, g.states * sizeof *x->after);
    for (uint32_t b = 0; b < c->bid_count; b++)
        add_bidder(&g, c, x->taken, b, x->best + b * g.states, x->best + (b + 1) * g.states);

    size_t state = g.states - 1;
    out->welfare = x->best[c->bid_count * g.states + state];
    out->gap = 0;
    for (uint32_t b = c->bid_count; b-- > 0;) {
        size_t pick = read_off(&g, c, x, b, &state);
        out->pick[b] = pick;
        out->paid[b] = 1;
        if (pick != SIZE_MAX) {
            double without = best_without(x->best + b * g.states, x->after, g.states);
            double others = out->welfare - c->options[pick].gain;
            out->paid[b] = exp(fmin(others - without, 0));
        }
        add_bidder(&g, c, x->taken, b, x->after, x->next);
        double *swap = x->after;
        size_t cap = x->after_cap;
        x->after = x->next, x->after_cap = x->next_cap;
        x->next = swap, x->next_cap = cap;
    }
    return SHOAL_OK;
}

void auction_exact_fini(struct auction_exact *x, const struct base_alloc *alloc)
{
    base_free(alloc, x->best);
    base_free(alloc, x->after);
    base_free(alloc, x->next);
    base_free(alloc, x->taken);
}
