/* share_proof.h - what prices prove, worked out the slow and obvious way.
 *
 * With prices on the kinds each job stands alone: speed r costs it the least z price.x with
 * rate.x >= r, sum x <= 1, x >= 0, and at most two kinds are mixed (or one kind and idling), so
 * trying all pairs finds it. From that cost follow, by weak duality and nothing else:
 *
 *   level   no t is reachable above   price.N + max_t [ t - sum_m cost_m(t need_m) ]
 *   curve   needs are out of reach    when sum_m cost_m(need_m) > price.N
 *   sum     no sum is above           price.N + sum_m max_x [ (value_m - z_m price).x ]
 *
 * whatever the prices are. None of the solver's code is used. */
#ifndef TESTS_SHARE_PROOF_H
#define TESTS_SHARE_PROOF_H

#include "unit/num/share_world.h"

/* Speed of a job on a kind; a kind without GPUs is as good as one where it cannot run. */
static inline double proof_rate(const struct num_share_problem *p, size_t m, uint32_t j)
{
    return p->capacity[j] > 0 ? p->rate[m * p->kind_count + j] : 0;
}

static inline double proof_top(const struct num_share_problem *p, size_t m)
{
    double top = 0;

    for (uint32_t j = 0; j < p->kind_count; j++)
        top = fmax(top, proof_rate(p, m, j));
    return top;
}

/* Least price of speed `need` for one job of row m; INFINITY above its top speed. */
static inline double proof_cost(const struct num_share_problem *p, size_t m, const double *price,
                                double need)
{
    double rate[NUM_KINDS_MAX], top = proof_top(p, m), best = INFINITY;

    if (need <= 0)
        return 0;
    if (need > top * (1 + 1e-12)) /* rounding of t x need */
        return INFINITY;
    need = fmin(need, top);
    for (uint32_t j = 0; j < p->kind_count; j++)
        rate[j] = proof_rate(p, m, j);
    for (uint32_t i = 0; i < p->kind_count; i++) {
        double dear = p->gpus[m] * price[i];
        if (rate[i] < need)
            continue;
        best = fmin(best, dear * need / rate[i]); /* this kind and idling */
        for (uint32_t j = 0; j < p->kind_count; j++) {
            double cheap = p->gpus[m] * price[j];
            if (rate[j] < need && rate[j] > 0)
                best = fmin(best, cheap + (dear - cheap) * (need - rate[j]) / (rate[i] - rate[j]));
        }
    }
    return best;
}

static inline double proof_worth(const struct num_share_problem *p, const double *price)
{
    double worth = 0;

    for (uint32_t j = 0; j < p->kind_count; j++)
        worth += price[j] * p->capacity[j];
    return worth;
}

/* sum_m cost_m(scale need_m) */
static inline double proof_cost_all(const struct num_share_problem *p, const double *need,
                                    double scale, const double *price)
{
    double cost = 0;

    for (size_t m = 0; m < p->job_count; m++)
        cost += world_count(p, m) * proof_cost(p, m, price, need[m] * scale);
    return cost;
}

static inline int proof_ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The bound on t. The bracket is concave and piecewise linear in t, with corners only where some
 * job's t need meets one of its rates: the best corner is its maximum. Tries all corners where they
 * are few, else halves the interval of the best by comparing neighbours. INFINITY: no need. */
static inline double proof_level(const struct num_share_problem *p, const double *need,
                                 const double *price)
{
    size_t corner_count = 1, cells = p->job_count * p->kind_count;
    double *corners = malloc((cells + 1) * sizeof *corners), t_max = INFINITY, best = -INFINITY;

    assert_non_null(corners);
    for (size_t m = 0; m < p->job_count; m++)
        if (need[m] > 0)
            t_max = fmin(t_max, proof_top(p, m) / need[m]);
    corners[0] = 0;
    for (size_t i = 0; i < cells; i++) {
        size_t m = i / p->kind_count;
        double at = proof_rate(p, m, (uint32_t)(i % p->kind_count)) / need[m];
        if (at > 0 && at <= t_max) /* also skips jobs without need: at is INFINITY or NaN */
            corners[corner_count++] = at;
    }
    qsort(corners, corner_count, sizeof *corners, proof_ascending);
    size_t low = 0, high = 0;
    for (size_t i = 1; i < corner_count; i++) /* equal ones once: neighbours are compared */
        if (corners[i] > corners[high])
            corners[++high] = corners[i];
    while (high - low > 100) {
        size_t middle = (low + high) / 2;
        double here = corners[middle] - proof_cost_all(p, need, corners[middle], price);
        double next = corners[middle + 1] - proof_cost_all(p, need, corners[middle + 1], price);
        best = fmax(best, fmax(here, next));
        if (next > here)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i <= high; i++)
        best = fmax(best, corners[i] - proof_cost_all(p, need, corners[i], price));
    free(corners);
    return isinf(t_max) ? INFINITY : best + proof_worth(p, price);
}

/* By how much the needs cost more than all GPUs are worth; > 0 proves them out of reach. */
static inline double proof_excess(const struct num_share_problem *p, const double *need,
                                  const double *price)
{
    return proof_cost_all(p, need, 1, price) - proof_worth(p, price);
}

/* max (value - z price).x of one job with rate.x >= floor, sum x <= 1: at a corner of that set.
 * -INFINITY where the floor is above its top speed. */
static inline double proof_gain(const struct num_share_problem *p, size_t m, const double *value,
                                double floor, const double *price)
{
    double rate[NUM_KINDS_MAX], gain[NUM_KINDS_MAX], top = proof_top(p, m);
    double best = floor > 0 ? -INFINITY : 0;

    if (floor > top && floor <= top * (1 + 1e-12))
        floor = top;
    for (uint32_t j = 0; j < p->kind_count; j++) {
        rate[j] = proof_rate(p, m, j);
        gain[j] = value[m * p->kind_count + j] - p->gpus[m] * price[j];
    }
    for (uint32_t i = 0; i < p->kind_count; i++) {
        if (rate[i] <= 0 || rate[i] < floor)
            continue;
        best = fmax(best, gain[i]);                   /* all of its time there */
        best = fmax(best, gain[i] * floor / rate[i]); /* just enough of it */
        for (uint32_t j = 0; j < p->kind_count; j++)  /* just enough of it, the rest elsewhere */
            if (rate[j] > 0 && rate[j] < floor)
                best = fmax(best, gain[j] + (gain[i] - gain[j]) * (floor - rate[j]) /
                                                (rate[i] - rate[j]));
    }
    return best;
}

static inline double proof_sum(const struct num_share_problem *p, const double *value,
                               const double *floor, const double *price)
{
    double bound = proof_worth(p, price);

    for (size_t m = 0; m < p->job_count; m++)
        bound += world_count(p, m) * proof_gain(p, m, value, floor != NULL ? floor[m] : 0, price);
    return bound;
}

#endif
