/* design_search.c - between the relaxed design and a choice: weights and the bound they prove, a choice that
 * no exchange improves, and the gap between the two.
 *
 * Relaxed. The value f is convex in the weights and never rises with one, so the budget is spent to the end.
 * From a choice, one exchange after another: of the row that gains most for its cost (below 1)
 * against the row above 0 with which the exchange promises most by slope and curvature, as far
 * along as the value falls; both A and D have that point in closed form (design_parts.h,
 * design_fall: the zero of a quadratic). Few rows are ever above 0, so few exchanges are needed.
 *
 * The bound: f(v) >= f(w) + f'(w) (v - w) for every v, and its least over all weights within the
 * budget is a knapsack with fractions, solved by taking rows by what they gain for their cost. It
 * holds at every point on the way; the largest is kept, and the exchanges end where it is within
 * CLOSE.
 *
 * A choice. Moves, the best first, until none helps: add a row that the budget still allows; exchange one row
 * for another; exchange one for a cheaper one and fill up with what that frees (tried for the FEW
 * exchanges that lose least); and start from one row that is not in, with as many of the others as
 * the budget then allows (tried for the FORCED rows that gain most for their cost), for choices of
 * hardly more rows than coefficients, where exchanges of one lead nowhere. Every move lowers the
 * value, so it ends; large problems end before, after WORK_MAX multiplications (counted, not timed,
 * so that the result is the same everywhere).
 *
 * The gap. With a budget for few experiments the relaxed problem buys fractions of dear ones, and its bound
 * is far below any choice. So: of the part of all choices whose bound is lowest, take the row that
 * is the most money in fractions, and divide into choices with it and without it; the lowest bound
 * of all parts is the new bound, and what the relaxed problems round to may be a better choice.
 * Ends where the gap is TARGET, or at a number of parts that keeps it in the range of a second. */
#include "num/design_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

/* ---- relaxed: weights between 0 and 1 ---- */

enum { BOUND_EVERY = 8, REFRESH_EVERY = 64 };
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

/* ---- a choice, by moves ---- */

enum { MOVES_MAX = 2000, FEW = 24, FORCED = 32, ROUGH = 4 };
static const double HELPS = 1e-9;        /* of the value; D: absolute */
static const double MOVE_WORK_MAX = 8e9; /* of all moves for one problem, about */

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
    return d->work < MOVE_WORK_MAX;
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

/* Improves a regular choice by moves until none helps, or all work allowed is done; its value without
 * shift. */
static double climb(struct design *d, bool *pick, struct design_point *p)
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
            double then = climb(d, other, p);
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
    double value = climb(d, pick, p);
    size_t count = 0;

    for (size_t i = 0; i < d->rows; i++)
        count += pick[i];
    return isfinite(value) && count <= ROUGH * d->columns ? restart(d, pick, value, p) : value;
}

/* ---- the gap, by fixing rows in and out ---- */

enum { PARTS_MAX = 400, PART_WORK_MAX = 600000, PART_STEPS_MAX = 400 };
static const double TARGET = 5e-3; /* of an A value; D: of the number of columns */
static const double WHOLE = 1e-6;  /* as near to 0 or 1 as makes no difference */

struct parts {
    struct design *d;
    double *weight;
    bool *pick, *scratch;
    double *value;
    double closed; /* the lowest bound of parts that are not divided any more */
    size_t count, max;
    double *bound;   /* (max) */
    uint32_t *on;    /* (max): the row to divide by */
    uint8_t *states; /* (max, rows) */
    struct design_point point;
};

/* The free row that is most money in fractions, or NONE. */
static uint32_t dividing_row(const struct design *d, const double *weight)
{
    double most = 0;
    uint32_t found = NONE;

    for (size_t i = 0; i < d->rows; i++) {
        double part = fmin(weight[i], 1 - weight[i]);
        if (d->state[i] != DESIGN_FREE || part <= WHOLE || part * d->cost[i] <= most)
            continue;
        most = part * d->cost[i];
        found = (uint32_t)i;
    }
    return found;
}

/* Rows that are in, and the cheapest free ones that make them regular: false where that is over the
 * budget, and so no choice of this part is within it. */
static bool begin(struct parts *ps)
{
    struct design *d = ps->d;
    struct design_span span;
    double cost = 0;

    design_span_known(d, &span);
    for (size_t i = 0; i < d->rows; i++) {
        ps->weight[i] = d->state[i] == DESIGN_IN ? 1 : 0;
        cost += ps->weight[i] * d->cost[i];
        if (d->state[i] == DESIGN_IN)
            (void)design_span_add(&span, &d->u[i * d->columns]);
    }
    if (cost > 1)
        return false;
    for (size_t i = 0; i < d->rows; i++)
        if (d->state[i] == DESIGN_FREE && cost + d->cost[i] > 1)
            d->state[i] = DESIGN_OUT;
    while (span.rank < d->columns) {
        uint32_t next = NONE;
        for (size_t i = 0; i < d->rows; i++)
            if (d->state[i] == DESIGN_FREE && ps->scratch[i] &&
                (next == NONE || d->cost[i] < d->cost[next]))
                next = (uint32_t)i;
        if (next == NONE)
            return false;
        ps->scratch[next] = false; /* seen */
        if (design_span_add(&span, &d->u[next * d->columns])) {
            ps->weight[next] = 1;
            cost += d->cost[next];
        }
    }
    return cost <= 1;
}

/* A choice near the weights, if it is better than the best. */
static void try_rounded(struct parts *ps)
{
    if (!design_round(ps->d, ps->weight, ps->scratch))
        return;
    double value = climb(ps->d, ps->scratch, &ps->point);
    if (value < *ps->value) {
        *ps->value = value;
        memcpy(ps->pick, ps->scratch, ps->d->rows * sizeof *ps->pick);
    }
}

/* Looks at the part that d->state says, below one with the bound `least`. */
static void look(struct parts *ps, double least)
{
    struct design *d = ps->d;

    for (size_t i = 0; i < d->rows; i++)
        ps->scratch[i] = true; /* not seen */
    if (!begin(ps))
        return; /* there is no choice in it */
    double bound = fmax(design_relax(d, ps->weight, PART_STEPS_MAX, &ps->point), least);
    uint32_t on = dividing_row(d, ps->weight);
    try_rounded(ps);
    if (on == NONE || bound >= *ps->value || ps->count == ps->max) {
        ps->closed = fmin(ps->closed, bound);
        return;
    }
    ps->bound[ps->count] = bound;
    ps->on[ps->count] = on;
    memcpy(&ps->states[ps->count * d->rows], d->state, d->rows);
    ps->count++;
}

static size_t lowest(const struct parts *ps)
{
    size_t at = 0;

    for (size_t i = 1; i < ps->count; i++)
        if (ps->bound[i] < ps->bound[at])
            at = i;
    return at;
}

/* Takes part `at` out and looks at its halves. */
static void divide(struct parts *ps, size_t at)
{
    struct design *d = ps->d;
    double least = ps->bound[at];
    uint32_t on = ps->on[at];
    uint8_t *mine = &ps->states[ps->max * d->rows]; /* one more than there are parts */
    size_t last = --ps->count;

    memcpy(mine, &ps->states[at * d->rows], d->rows);
    ps->bound[at] = ps->bound[last];
    ps->on[at] = ps->on[last];
    memmove(&ps->states[at * d->rows], &ps->states[last * d->rows], d->rows);
    for (int in = 0; in < 2; in++) {
        memcpy(d->state, mine, d->rows);
        d->state[on] = in ? DESIGN_IN : DESIGN_OUT;
        look(ps, least);
    }
}

static double narrow(struct parts *ps, double bound)
{
    struct design *d = ps->d;
    size_t looked = 0;

    ps->on[0] = dividing_row(d, ps->weight);
    if (ps->on[0] == NONE)
        return bound;
    ps->bound[0] = bound;
    memcpy(ps->states, d->state, d->rows);
    ps->count = 1;
    while (ps->count > 0 && looked < ps->max) {
        size_t at = lowest(ps);
        double scale = d->by == NUM_DESIGN_D ? (double)d->columns : *ps->value;
        bound = fmin(ps->bound[at], ps->closed);
        if (*ps->value - bound <= TARGET * scale || ps->closed <= ps->bound[at])
            return fmin(bound, *ps->value);
        divide(ps, at);
        looked += 2;
    }
    bound = ps->count > 0 ? ps->bound[lowest(ps)] : INFINITY;
    return fmin(fmin(bound, ps->closed), *ps->value);
}

double design_branch(struct design *d, double *weight, bool *pick, bool *scratch, double *value,
                     double bound)
{
    struct parts ps = {.d = d,
                       .weight = weight,
                       .pick = pick,
                       .scratch = scratch,
                       .value = value,
                       .closed = INFINITY};
    double scale = d->by == NUM_DESIGN_D ? (double)d->columns : *value;

    size_t work = 1 + (size_t)d->pass; /* of an exchange */
    ps.max = PART_WORK_MAX / work < PARTS_MAX ? PART_WORK_MAX / work : PARTS_MAX;
    if (ps.max < 2 || *value - bound <= TARGET * scale)
        return bound;
    BASE_ROOM(&d->room, ps.bound, ps.max);
    BASE_ROOM(&d->room, ps.on, ps.max);
    BASE_ROOM(&d->room, ps.states, (ps.max + 1) * d->rows);
    if (base_room_status(&d->room) == SHOAL_OK) {
        double narrowed = narrow(&ps, bound);
        bound = fmax(bound, narrowed);
        memset(d->state, DESIGN_FREE, d->rows);
    }
    return bound;
}
