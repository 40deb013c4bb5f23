/* design_relax.c - the relaxed design: weights between 0 and 1, and the bound they prove.
 *
 * The value f is convex in the weights and never rises with one, so the budget is spent to the end.
 * From a choice, one exchange after another: of the row that gains most for its cost (below 1)
 * against the row above 0 with which the exchange promises most by slope and curvature, as far
 * along as the value falls; both A and D have that point in closed form (design_parts.h,
 * design_fall: the zero of a quadratic). Few rows are ever above 0, so few exchanges are needed.
 *
 * The bound: f(v) >= f(w) + f'(w) (v - w) for every v, and its least over all weights within the
 * budget is a knapsack with fractions, solved by taking rows by what they gain for their cost. It
 * holds at every point on the way; the largest is kept, and the exchanges end where it is within
 * CLOSE. */
#include "num/design_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BOUND_EVERY = 8, REFRESH_EVERY = 64, NONE = UINT32_MAX };
static const double CLOSE = 1e-4; /* of an A value; D: of the number of columns */

static void gains(struct design *d, const struct design_point *p)
{
    for (size_t i = 0; i < d->rows; i++) {
        d->score[i] = design_product(d, p->sure, i, i);
        d->rate[i] = d->score[i] / d->cost[i];
    }
}

static int by_rate(const void *a, const void *b, void *ctx)
{
    const double *rate = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (rate[x] != rate[y])
        return rate[x] > rate[y] ? -1 : 1;
    return x < y ? -1 : 1;
}

static double scale_of(const struct design *d, double value)
{
    return d->by == NUM_DESIGN_D ? (double)d->columns : value;
}

/* No choice within the budget has a value below this. */
static double bound_at(struct design *d, const double *weight, const struct design_point *p)
{
    double here = 0, most = 0, left = 1;
    size_t count = 0;

    for (size_t i = 0; i < d->rows; i++) {
        left -= d->state[i] == DESIGN_IN ? d->cost[i] : 0;
        if (d->state[i] != DESIGN_FREE)
            continue;
        d->order[count++] = (uint32_t)i;
        here += weight[i] * d->score[i];
    }
    qsort_r(d->order, count, sizeof *d->order, by_rate, d->rate);
    for (size_t k = 0; k < count && left > 0; k++) {
        size_t i = d->order[k];
        double part = fmin(left / d->cost[i], 1);
        most += part * d->score[i];
        left -= part * d->cost[i];
    }
    return p->value - (most - here) - DESIGN_ROUNDING * scale_of(d, fabs(p->value));
}

/* The products of row i with row j, both for a share of the budget rather than for one of each. */
static struct design_pair pair_of(const struct design *d, const struct design_point *p, size_t i,
                                  size_t j)
{
    double ci = d->cost[i], cj = d->cost[j], cij = sqrt(ci * cj);
    struct design_pair x = {.p = design_product(d, p->inverse, i, i) / ci,
                            .q = design_product(d, p->inverse, j, j) / cj,
                            .r = design_product(d, p->inverse, i, j) / cij,
                            .p2 = d->rate[i],
                            .q2 = d->rate[j]};

    x.r2 = d->by == NUM_DESIGN_D ? x.r : design_product(d, p->sure, i, j) / cij;
    return x;
}

/* The share of the budget to move from j to i, at most `most`. */
static double how_far(const struct design *d, const struct design_pair *x, double most)
{
    double turn = x->p * x->q - x->r * x->r, t = INFINITY;

    if (d->by == NUM_DESIGN_D) {
        if (turn > 0)
            t = (x->p - x->q) / (2 * turn);
    } else { /* -b - 2 a t + (a s - b turn) t^2 = 0, see design_fall */
        double a = x->q * x->p2 - 2 * x->r * x->r2 + x->p * x->q2, b = x->q2 - x->p2;
        double c = a * (x->q - x->p) - b * turn, root = a * a + b * c;
        /* b < 0, so the first zero above 0 in a form that does not cancel */
        if (root >= 0 && a + sqrt(root) > 0)
            t = -b / (a + sqrt(root));
    }
    return fmin(t, most);
}

/* The row to take from: the most by slope squared over curvature. */
static uint32_t partner(const struct design *d, const double *weight, const struct design_point *p,
                        size_t i)
{
    double best = 0;
    uint32_t found = NONE;

    for (size_t j = 0; j < d->rows; j++) {
        double slope = d->rate[i] - d->rate[j];
        if (d->state[j] != DESIGN_FREE || !(weight[j] > 0) || !(slope > 0) || j == i)
            continue;
        struct design_pair x = pair_of(d, p, i, j);
        double curve = x.p * x.p2 + x.q * x.q2 - 2 * x.r * x.r2;
        double promise = slope * slope / fmax(curve, 1e-300);
        if (promise > best) {
            best = promise;
            found = (uint32_t)j;
        }
    }
    return found;
}

static uint32_t best_to_grow(const struct design *d, const double *weight)
{
    uint32_t found = NONE;

    for (size_t i = 0; i < d->rows; i++)
        if (d->state[i] == DESIGN_FREE && weight[i] < 1 &&
            (found == NONE || d->rate[i] > d->rate[found]))
            found = (uint32_t)i;
    return found;
}

/* What is left of the budget goes to the rows that gain most for it. */
static void spend(struct design *d, double *weight, struct design_point *p)
{
    double left = 1;

    for (size_t i = 0; i < d->rows; i++)
        left -= weight[i] * d->cost[i];
    while (left > 1e-12) {
        gains(d, p);
        uint32_t i = best_to_grow(d, weight);
        if (i == NONE)
            return;
        double by = fmin(1 - weight[i], left / d->cost[i]);
        left -= by * d->cost[i];
        weight[i] = by < 1 - weight[i] ? weight[i] + by : 1;
        design_add(d, p->m, i, by);
        if (!design_look(d, p))
            return; /* adding cannot make it singular */
    }
}

static bool refresh(const struct design *d, const double *weight, struct design_point *p)
{
    memcpy(p->m, d->known, d->columns * d->columns * sizeof *p->m);
    for (size_t i = 0; i < d->rows; i++)
        if (weight[i] > 0)
            design_add(d, p->m, i, weight[i]);
    return design_look(d, p);
}

/* One exchange; false where none is left that helps. */
static bool exchange(const struct design *d, double *weight, struct design_point *p)
{
    uint32_t i = best_to_grow(d, weight);
    uint32_t j = i == NONE ? NONE : partner(d, weight, p, i);

    if (j == NONE)
        return false;
    struct design_pair x = pair_of(d, p, i, j);
    double room = (1 - weight[i]) * d->cost[i], there = weight[j] * d->cost[j];
    double t = how_far(d, &x, fmin(room, there)), before[DESIGN_N * DESIGN_N];
    size_t size = d->columns * d->columns * sizeof *before;
    memcpy(before, p->m, size);
    for (int halves = 0; t > 1e-15 && halves < 40; halves++, t /= 2) {
        design_add(d, p->m, i, t / d->cost[i]);
        design_add(d, p->m, j, -t / d->cost[j]);
        if (design_look(d, p)) {
            weight[i] = t >= room ? 1 : weight[i] + t / d->cost[i];
            weight[j] = t >= there ? 0 : weight[j] - t / d->cost[j];
            return true;
        }
        memcpy(p->m, before, size); /* it would not be regular: not all the way */
    }
    return false;
}

double design_relax(struct design *d, double *weight, int steps_max, struct design_point *p)
{
    double bound = -INFINITY;

    if (!refresh(d, weight, p))
        return bound;
    spend(d, weight, p);
    for (int step = 0; step < steps_max; step++) {
        if (step % REFRESH_EVERY == 0 && !refresh(d, weight, p))
            break;
        gains(d, p);
        if (step % BOUND_EVERY == 0) {
            bound = fmax(bound, bound_at(d, weight, p));
            if (p->value - bound <= CLOSE * scale_of(d, p->value))
                break;
        }
        if (!exchange(d, weight, p)) {
            bound = fmax(bound, bound_at(d, weight, p));
            break;
        }
    }
    return bound;
}
