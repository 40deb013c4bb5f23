/* fit_time.c - how long an iteration takes on so many machines.
 *
 * A run gives one measurement: seconds per iteration from its second point on (the first iterations
 * pay for caches and connections) to its last. Weights make errors relative. What is left is kept
 * as ratios at the counts measured, so that the model is right where it was measured and only its
 * shape is trusted in between and beyond. Tests: tests/unit/advise/test_fit.c. */
#include "advise/fit_parts.h"

#include "num/least.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TERMS = 4, STEADY_POINTS = 4, PRIORS = 2 };

static const double PRIOR_SHARE = 0.05; /* a prior counts like a measurement that is so coarse */

double advise_between(const double *x, const double *y, uint32_t count, double at)
{
    uint32_t i = 0;

    if (count == 0)
        return 0;
    if (at <= x[0])
        return y[0];
    if (at >= x[count - 1])
        return y[count - 1];
    while (at > x[i + 1])
        i++;
    double share = log(at / x[i]) / log(x[i + 1] / x[i]);
    return y[i] + share * (y[i + 1] - y[i]);
}

static void terms_of(double machines, double size, double *out)
{
    out[0] = 1;
    out[1] = size / machines;
    out[2] = log(machines);
    out[3] = machines;
}

/* Seconds per iteration of a run and when its iteration 0 would have begun; false: it has none. A
 * run that does not say when its iteration 0 was began at time 0. */
static bool measure(const struct advise_run *run, double *step_s, double *start_s)
{
    const struct advise_point none = {0};
    const struct advise_point *first = &run->points[0], *last;

    if (run->copy || run->count == 0)
        return false;
    last = &run->points[run->count - 1];
    if (run->count >= STEADY_POINTS)
        first++;
    else if (first->iteration > 0)
        first = &none;
    if (!(last->time_s > first->time_s && last->iteration > first->iteration))
        return false;
    *step_s = (last->time_s - first->time_s) / (last->iteration - first->iteration);
    *start_s = fmax(first->time_s - first->iteration * *step_s, 0);
    return isfinite(*step_s) && *step_s > 0;
}

static double model_s(const struct advise_time *time, double machines, double size)
{
    double terms[TERMS], sum = 0;

    terms_of(machines, size / time->size_unit, terms);
    for (int k = 0; k < TERMS; k++)
        sum += time->theta[k] * terms[k];
    return sum;
}

double advise_time_step_s(const struct advise_time *time, double machines, double size)
{
    return model_s(time, machines, size) *
           exp(advise_between(time->machines, time->log_ratio, time->counts, machines));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The counts of the rows, rising, each once. */
static void find_counts(struct advise_time *time, const double *machines, size_t rows)
{
    double sorted[ADVISE_COUNTS_MAX] = {0};
    uint32_t n = 0;

    for (size_t i = 0; i < rows && n < ADVISE_COUNTS_MAX; i++) {
        bool seen = false;
        for (uint32_t k = 0; k < n; k++)
            seen = seen || sorted[k] == machines[i];
        if (!seen)
            sorted[n++] = machines[i];
    }
    qsort(sorted, n, sizeof *sorted, by_value);
    memcpy(time->machines, sorted, n * sizeof *sorted);
    time->counts = n;
}

/* Mean logarithm of measured / model at each count. */
static void find_ratios(struct advise_time *time, const double *machines, const double *sizes,
                        const double *step_s, size_t rows)
{
    for (uint32_t k = 0; k < time->counts; k++) {
        double sum = 0, n = 0;
        for (size_t i = 0; i < rows; i++)
            if (machines[i] == time->machines[k]) {
                sum += log(step_s[i] / model_s(time, machines[i], sizes[i]));
                n++;
            }
        time->log_ratio[k] = sum / n;
    }
}

/* Rows that say: what grows with machines is small, unless measurements say otherwise. They decide
 * where there are fewer counts than terms and every mix of them fits. */
static void add_priors(double *a, double *b, double *weight, const double *machines, size_t rows)
{
    double least = (double)INFINITY, most = 1, terms[TERMS];

    for (size_t i = 0; i < rows; i++) {
        least = fmin(least, b[i]);
        most = fmax(most, machines[i]);
    }
    terms_of(most, 1, terms);
    for (size_t k = 0; k < PRIORS; k++) {
        double *row = a + (rows + k) * TERMS;
        for (size_t j = 0; j < TERMS; j++)
            row[j] = j == k + TERMS - PRIORS ? PRIOR_SHARE * terms[j] : 0;
        b[rows + k] = 0;
        weight[rows + k] = 1 / (least * least);
    }
}

shoal_status advise_time_fit(const struct base_alloc *alloc, const struct advise_runs *runs,
                             uint32_t algorithm, uint32_t skip, struct advise_time *out)
{
    size_t most = runs->count + PRIORS;
    double *mem = base_calloc(alloc, most, (TERMS + 5) * sizeof *mem);
    struct advise_time time = {.size_unit = 0};
    size_t rows = 0;

    if (mem == NULL)
        return SHOAL_E_NOMEM;
    double *a = mem, *b = a + most * TERMS, *weight = b + most;
    double *machines = weight + most, *sizes = machines + most, *starts = sizes + most;
    for (size_t i = 0; i < runs->count; i++)
        if (runs->runs[i].algorithm == algorithm)
            time.size_unit = fmax(time.size_unit, runs->runs[i].size);
    for (size_t i = 0; i < runs->count; i++) {
        const struct advise_run *run = &runs->runs[i];
        if (run->algorithm != algorithm || run->machines == skip ||
            !measure(run, &b[rows], &starts[rows]))
            continue;
        machines[rows] = run->machines;
        sizes[rows] = run->size;
        terms_of(run->machines, run->size / time.size_unit, a + rows * TERMS);
        weight[rows] = 1 / (b[rows] * b[rows]);
        rows++;
    }
    shoal_status st = SHOAL_OK;
    if (rows > 0) {
        /* in units of the largest time, so that weights are near 1 */
        double unit = 0;
        for (size_t i = 0; i < rows; i++)
            unit = fmax(unit, b[i]);
        add_priors(a, b, weight, machines, rows);
        for (size_t i = 0; i < rows; i++) {
            b[i] /= unit;
            weight[i] *= unit * unit;
        }
        for (size_t i = rows; i < rows + PRIORS; i++)
            weight[i] *= unit * unit;
        struct num_least problem = {rows + PRIORS, TERMS, a, b, weight};
        st = num_nnls(alloc, &problem, time.theta, NULL);
        for (int k = 0; k < TERMS; k++)
            time.theta[k] *= unit;
        for (size_t i = 0; i < rows; i++)
            b[i] *= unit;
    }
    if (st == SHOAL_OK && rows > 0) {
        find_counts(&time, machines, rows);
        find_ratios(&time, machines, sizes, b, rows);
        qsort(starts, rows, sizeof *starts, by_value);
        time.start_s = (starts[rows / 2] + starts[(rows - 1) / 2]) / 2;
    }
    if (st == SHOAL_OK)
        *out = time;
    base_free(alloc, mem);
    return st;
}
