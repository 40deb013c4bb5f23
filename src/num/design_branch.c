/* design_branch.c - narrows the gap between a choice and its bound: branch and bound, a while.
 *
 * With a budget for few experiments the relaxed problem buys fractions of dear ones, and its bound
 * is far below any choice. So: of the part of all choices whose bound is lowest, take the row that
 * is the most money in fractions, and divide into choices with it and without it; the lowest bound
 * of all parts is the new bound, and what the relaxed problems round to may be a better choice.
 * Ends where the gap is TARGET, or at a number of parts that keeps it in the range of a second. */
#include "num/design_parts.h"

#include <math.h>
#include <string.h>

enum { PARTS_MAX = 400, WORK_MAX = 600000, STEPS_MAX = 400, NONE = UINT32_MAX };
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
    double value = design_climb(ps->d, ps->scratch, &ps->point);
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
    double bound = fmax(design_relax(d, ps->weight, STEPS_MAX, &ps->point), least);
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
    ps.max = WORK_MAX / work < PARTS_MAX ? WORK_MAX / work : PARTS_MAX;
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
