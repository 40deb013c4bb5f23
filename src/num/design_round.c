/* design_round.c - from a regular choice to one that no exchange improves.
 *
 * Moves, the best first, until none helps: add a row that the budget still allows; exchange one row
 * for another; exchange one for a cheaper one and fill up with what that frees (tried for the FEW
 * exchanges that lose least); and start from one row that is not in, with as many of the others as
 * the budget then allows (tried for the FORCED rows that gain most for their cost), for choices of
 * hardly more rows than coefficients, where exchanges of one lead nowhere. Every move lowers the
 * value, so it ends; large problems end before, after WORK_MAX multiplications (counted, not timed,
 * so that the result is the same everywhere). */
#include "num/design_parts.h"

#include <math.h>
#include <string.h>

enum { MOVES_MAX = 2000, FEW = 24, FORCED = 32, ROUGH = 4, NONE = UINT32_MAX };
static const double HELPS = 1e-9;   /* of the value; D: absolute */
static const double WORK_MAX = 8e9; /* of all moves for one problem, about */

static double least_gain(const struct design *d, double value)
{
    return d->by == NUM_DESIGN_D ? HELPS : HELPS * value;
}

/* Counts so many passes of products over all rows, and a look at a point. */
static void count_work(struct design *d, double passes)
{
    double n = (double)d->columns;

    d->work += passes * d->pass + 4 * n * n * n;
}

static bool may_go_on(const struct design *d)
{
    return d->work < WORK_MAX;
}

/* What adding row i takes off the value. */
static double fall_of_adding(const struct design *d, const struct design_point *p, size_t i)
{
    double grows = design_product(d, p->inverse, i, i);

    return d->by == NUM_DESIGN_D ? log1p(grows) : design_product(d, p->sure, i, i) / (1 + grows);
}

/* One row; false where none is affordable or helps. */
static bool add_one(struct design *d, bool *pick, double *cost, struct design_point *p)
{
    double best = 0;
    uint32_t found = NONE;

    for (size_t i = 0; i < d->rows; i++) {
        if (pick[i] || *cost + d->cost[i] > 1)
            continue;
        double fall = fall_of_adding(d, p, i);
        if (fall > least_gain(d, p->value) && fall / d->cost[i] > best) {
            best = fall / d->cost[i];
            found = (uint32_t)i;
        }
    }
    count_work(d, 2);
    if (found == NONE)
        return false;
    design_add(d, p->m, found, 1);
    if (!design_look(d, p))
        return false;
    pick[found] = true;
    *cost += d->cost[found];
    return true;
}

/* p is at `pick` already. */
static void fill(struct design *d, bool *pick, struct design_point *p)
{
    double cost = design_cost(d, pick);

    while (add_one(d, pick, &cost, p))
        ;
}

void design_fill(struct design *d, bool *pick, struct design_point *p)
{
    if (design_look_at_pick(d, pick, p))
        fill(d, pick, p);
}

struct swap {
    double fall;
    uint32_t in, out;
};

/* Keeps the FEW best, best first. */
static void keep(struct swap *swaps, size_t *count, struct swap s)
{
    size_t at = *count < FEW ? (*count)++ : FEW;

    if (at == FEW) {
        if (s.fall <= swaps[FEW - 1].fall)
            return;
        at = FEW - 1;
    }
    for (; at > 0 && swaps[at - 1].fall < s.fall; at--)
        swaps[at] = swaps[at - 1];
    swaps[at] = s;
}

/* All exchanges within the budget: the best ones, and the best of those that free some of it. */
static void look_for_swaps(const struct design *d, const bool *pick, const struct design_point *p,
                           struct swap *best, struct swap *cheaper, size_t *cheaper_count)
{
    size_t n = d->columns;
    double cost = design_cost(d, pick);

    *best = (struct swap){-INFINITY, NONE, NONE};
    *cheaper_count = 0;
    for (size_t j = 0; j < d->rows; j++) {
        if (!pick[j])
            continue;
        double v[DESIGN_N], s[DESIGN_N];
        for (size_t a = 0; a < n; a++) {
            v[a] = s[a] = 0;
            for (uint8_t l = 0; l < d->used_count[j]; l++) {
                size_t b = d->used[j * n + l];
                v[a] += p->inverse[a * n + b] * d->u[j * n + b];
                s[a] += p->sure[a * n + b] * d->u[j * n + b];
            }
        }
        struct design_pair x = {.q = design_product(d, p->inverse, j, j),
                                .q2 = design_product(d, p->sure, j, j)};
        for (size_t i = 0; i < d->rows; i++) {
            if (pick[i] || cost - d->cost[j] + d->cost[i] > 1)
                continue;
            x.r = x.r2 = 0;
            for (uint8_t l = 0; l < d->used_count[i]; l++) {
                size_t b = d->used[i * n + l];
                x.r += d->u[i * n + b] * v[b];
                x.r2 += d->u[i * n + b] * s[b];
            }
            x.p = d->score[i];
            x.p2 = d->rate[i];
            struct swap swap = {design_fall(d, &x, 1), (uint32_t)i, (uint32_t)j};
            if (swap.fall > best->fall)
                *best = swap;
            if (d->cost[i] < d->cost[j] && isfinite(swap.fall))
                keep(cheaper, cheaper_count, swap);
        }
    }
}

static void apply(bool *pick, struct swap s)
{
    pick[s.in] = true;
    pick[s.out] = false;
}

/* An exchange, and filled up: false (and p undefined) where that does not lower the value. */
static bool try_filled(struct design *d, bool *pick, struct swap s, struct design_point *p)
{
    double before = p->value, cost;
    uint32_t added[64];
    size_t count = 0;

    apply(pick, s);
    bool fits = design_look_at_pick(d, pick, p);
    cost = design_cost(d, pick);
    count_work(d, 1);
    while (fits && count < sizeof added / sizeof *added) {
        double best = 0;
        added[count] = NONE;
        for (size_t i = 0; i < d->rows; i++) {
            if (pick[i] || cost + d->cost[i] > 1)
                continue;
            double fall = fall_of_adding(d, p, i);
            if (fall > best) {
                best = fall;
                added[count] = (uint32_t)i;
            }
        }
        if (added[count] == NONE)
            break;
        design_add(d, p->m, added[count], 1);
        fits = design_look(d, p);
        count_work(d, 2);
        pick[added[count]] = true;
        cost += d->cost[added[count++]];
    }
    if (fits && p->value < before - least_gain(d, before))
        return true;
    for (size_t k = 0; k < count; k++)
        pick[added[k]] = false;
    apply(pick, (struct swap){0, s.out, s.in});
    return false;
}

/* One move; false where none helps. p is at `pick` before and after. */
static bool move(struct design *d, bool *pick, struct design_point *p)
{
    struct swap best, cheaper[FEW];
    size_t count, picked = 0;

    for (size_t i = 0; i < d->rows; i++) {
        picked += pick[i];
        d->score[i] = design_product(d, p->inverse, i, i);
        d->rate[i] = design_product(d, p->sure, i, i);
    }
    look_for_swaps(d, pick, p, &best, cheaper, &count);
    count_work(d, 2);
    d->work += 2 * (double)picked * sqrt(d->pass * (double)d->rows); /* entries of rows, or more */
    if (best.fall > least_gain(d, p->value) && try_filled(d, pick, best, p))
        return true;
    for (size_t k = 0; k < count && may_go_on(d); k++) {
        if (try_filled(d, pick, cheaper[k], p))
            return true;
        if (!design_look_at_pick(d, pick, p))
            return false; /* cannot be: it was regular before */
    }
    return false;
}

double design_climb(struct design *d, bool *pick, struct design_point *p)
{
    if (!design_look_at_pick(d, pick, p))
        return INFINITY;
    fill(d, pick, p);
    for (int moves = 0; moves < MOVES_MAX && may_go_on(d) && move(d, pick, p); moves++)
        ;
    return design_look_at_pick(d, pick, p) ? p->value : INFINITY;
}

/* A regular choice with row `in`, from rows of `pick` as far as possible (the dearest first, or the
 * cheapest), then others by rising cost. False where it would cost too much. */
static bool rebuild(struct design *d, const bool *pick, size_t in, bool dear_first, bool *out)
{
    for (size_t i = 0; i < d->rows; i++) /* costs are at most 1 */
        d->key[i] = (pick[i] ? 0 : 4) + (pick[i] && dear_first ? -d->cost[i] : d->cost[i]);
    d->key[in] = -8;
    if (!design_basis(d, d->key, 1, out))
        return false;
    if (!out[in] && !design_basis(d, d->key, 1 - d->cost[in], out))
        return false; /* it adds nothing to what is known, and leaves too little for the others */
    out[in] = true;
    double cost = design_cost(d, out);
    for (size_t k = 0; k < d->rows; k++) { /* and the rest of `pick`, in that order */
        size_t i = d->order[k];
        if (pick[i] && !out[i] && cost + d->cost[i] <= 1) {
            out[i] = true;
            cost += d->cost[i];
        }
    }
    return cost <= 1;
}

/* The row to force in next: not in, not tried, the most gained for its cost. */
static uint32_t next_forced(struct design *d, const bool *pick, const struct design_point *p,
                            const bool *tried)
{
    double best = 0;
    uint32_t found = NONE;

    for (size_t i = 0; i < d->rows; i++) {
        if (pick[i] || tried[i])
            continue;
        double gain = fall_of_adding(d, p, i) / d->cost[i];
        if (gain > best) {
            best = gain;
            found = (uint32_t)i;
        }
    }
    return found;
}

/* Starts again from rows forced in, while that helps. p is at `pick` before and after. */
static double restart(struct design *d, bool *pick, double value, struct design_point *p)
{
    bool *other = d->other, *tried = d->tried;

    memset(tried, 0, d->rows * sizeof *tried);
    for (int force = 0; force < FORCED && may_go_on(d); force++) {
        bool better = false;
        uint32_t in = next_forced(d, pick, p, tried);
        if (in == NONE)
            break;
        tried[in] = true;
        for (int dear = 0; dear < 2 && !better; dear++) {
            if (!rebuild(d, pick, in, dear == 1, other))
                continue;
            double then = design_climb(d, other, p);
            better = then < value - least_gain(d, value);
            if (!better)
                continue;
            memcpy(pick, other, d->rows * sizeof *pick);
            memset(tried, 0, d->rows * sizeof *tried);
            value = then;
        }
        if (!design_look_at_pick(d, pick, p))
            return INFINITY; /* cannot be: it was regular before */
    }
    return value;
}

double design_improve(struct design *d, bool *pick, struct design_point *p)
{
    double value = design_climb(d, pick, p);
    size_t count = 0;

    for (size_t i = 0; i < d->rows; i++)
        count += pick[i];
    return isfinite(value) && count <= ROUGH * d->columns ? restart(d, pick, value, p) : value;
}
