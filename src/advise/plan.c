/* plan.c - the runs worth making, by optimal design (see plan.h).
 *
 * After Ernest (Venkataraman, Yang, Franklin, Recht, Stoica: Ernest: Efficient Performance
 * Prediction for Large-Scale Advanced Analytics, NSDI 2016): the runs that train its model of time
 * are chosen by A-optimal design under a bound on what they cost, over all (machines, fraction of
 * the data). Three departures. Not the coefficients are to be sure but the times that the user asks
 * about, each in shares of itself: `at` of num/design.h. All algorithms are planned at once, each
 * with its own coefficients, so that the budget goes where it tells most. And what is believed
 * before the first run counts as a weak measurement, so that a small budget has a best use too, and
 * "surer than before" has a meaning. Noise grows with the time measured, as timings do, and falls
 * with iterations only down to what differs from run to run.
 *
 * The intervals hold as far as the model does: they say how well its coefficients will be known,
 * not whether an iteration really takes so long. */
#include "advise/plan.h"

#include "base/err.h"
#include "num/design.h"
#include <math.h>
#include <string.h>

enum { N = NUM_DESIGN_COLUMNS_MAX, ERNEST = 4, COUNT_MAX = 1000000 };
static const double NOISE_RUN = 0.03, NOISE_STEP = 0.10, DOUBT = 1;
static const double LEAST = 1e-3; /* of the longest time wanted: no iteration is believed shorter */
static const double NINETY = 1.6449; /* standard deviations on each side of 90 % */

struct candidate {
    uint32_t algorithm, machines, iterations;
    double fraction, step_s, sigma, cost;
};

struct planning {
    const struct advise_plan_problem *p;
    size_t terms, columns;
    void (*features)(double machines, double fraction, double *out);
    double noise_run, noise_step, doubt;
    double least_s[ADVISE_PLAN_ALGORITHMS_MAX];
    struct candidate *candidates;
    size_t count;
    double *a, *cost, *sigma; /* for num_design */
    double *at;               /* (algorithms * wants, columns), in shares of the time */
    size_t at_rows;
    double known[N * N];
    double covariance[N * N]; /* of what is known, then with the runs taken so far */
    bool *pick;
};

static void ernest(double machines, double fraction, double *out)
{
    out[0] = 1;
    out[1] = fraction / machines;
    out[2] = log(machines);
    out[3] = machines;
}

/* ---- checks ---- */

static bool positive(double v)
{
    return v > 0 && isfinite(v);
}

static bool share(double v)
{
    return v >= 0 && v <= 10;
}

static shoal_status bad(shoal_err *err, const char *what)
{
    return base_err(err, SHOAL_E_INVAL, "cannot plan runs: %s", what);
}

static bool counts_are_sound(const uint32_t *counts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (counts[i] == 0 || counts[i] > COUNT_MAX)
            return false;
    return count > 0;
}

static shoal_status check_candidates(const struct advise_plan_problem *p, shoal_err *err)
{
    if (!counts_are_sound(p->machines, p->machine_count) ||
        !counts_are_sound(p->iterations, p->iteration_count))
        return bad(err, "machine counts and iterations must be whole numbers from 1 to 1000000");
    if (p->fraction_count == 0)
        return bad(err, "no fraction of the data is given");
    for (size_t i = 0; i < p->fraction_count; i++)
        if (!(p->fractions[i] > 0 && p->fractions[i] <= 1))
            return bad(err, "fractions of the data must be above 0 and at most 1");
    if (!counts_are_sound(p->want, p->want_count) || p->want_count > ADVISE_PLAN_WANT_MAX)
        return bad(err, "it needs 1 to 64 machine counts that the prediction is wanted for");
    double rows = (double)p->algorithm_count * (double)p->machine_count *
                  (double)p->fraction_count * (double)p->iteration_count *
                  (double)(p->repeats > 0 ? p->repeats : 1);
    if (rows <= NUM_DESIGN_ROWS_MAX)
        return SHOAL_OK;
    base_err(err, SHOAL_E_LIMIT, "cannot plan over %.0f candidates: at most %d", rows,
             NUM_DESIGN_ROWS_MAX);
    base_err_hint(err, "offer fewer machine counts, fractions or repeats");
    return SHOAL_E_LIMIT;
}

static shoal_status check(const struct planning *pl, shoal_err *err)
{
    const struct advise_plan_problem *p = pl->p;

    if (p->algorithm_count == 0 || p->algorithm_count > ADVISE_PLAN_ALGORITHMS_MAX ||
        pl->terms > ADVISE_PLAN_TERMS_MAX || pl->columns > N)
        return base_err(err, SHOAL_E_LIMIT,
                        "cannot plan for %zu algorithms of %zu coefficients: at most %d, and %d "
                        "coefficients in all",
                        p->algorithm_count, pl->terms, ADVISE_PLAN_ALGORITHMS_MAX, N);
    if (!positive(p->budget))
        return bad(err, "the budget must be above 0");
    if (!(p->start_s >= 0 && isfinite(p->start_s)) || !(p->price >= 0 && isfinite(p->price)))
        return bad(err, "start-up time and price must be 0 or more");
    if (!share(p->noise_run) || !share(p->noise_step) || !(p->doubt >= 0 && p->doubt <= 1000) ||
        !(p->enough >= 0))
        return bad(err, "noise, doubt and what is enough must be shares of 0 or more");
    for (size_t i = 0; i < p->made_count; i++)
        if (p->made[i].algorithm >= p->algorithm_count || p->made[i].machines == 0 ||
            p->made[i].machines > COUNT_MAX ||
            !(p->made[i].fraction > 0 && p->made[i].fraction <= 1) ||
            !(p->made[i].iterations >= 1 && isfinite(p->made[i].iterations)))
            return bad(err, "a run that was made has numbers out of range");
    return check_candidates(p, err);
}

/* ---- the model ---- */

/* Seconds of an iteration as believed; its features in the algorithm's own columns of `row`. */
static double step_of(const struct planning *pl, uint32_t algorithm, double machines,
                      double fraction, double *row)
{
    double f[ADVISE_PLAN_TERMS_MAX], step = 0;

    pl->features(machines, fraction, f);
    memset(row, 0, pl->columns * sizeof *row);
    for (size_t k = 0; k < pl->terms; k++) {
        row[algorithm * pl->terms + k] = f[k];
        step += pl->p->algorithms[algorithm].theta[k] * f[k];
    }
    return fmax(step, pl->least_s[algorithm]);
}

/* A fit may leave nothing for some size, such as a machine alone where all time is log m. */
static shoal_status find_least(struct planning *pl, shoal_err *err)
{
    const struct advise_plan_problem *p = pl->p;
    double row[N];

    for (uint32_t a = 0; a < p->algorithm_count; a++) {
        double most = 0;
        for (size_t k = 0; k < pl->terms; k++)
            if (!(p->algorithms[a].theta[k] >= 0 && isfinite(p->algorithms[a].theta[k])))
                return base_err(err, SHOAL_E_INVAL,
                                "cannot plan runs of '%.80s': a coefficient of its time is not a "
                                "number of 0 or more",
                                p->algorithms[a].name);
        for (size_t w = 0; w < p->want_count; w++)
            most = fmax(most, step_of(pl, a, p->want[w], 1, row));
        if (!positive(most))
            return base_err(err, SHOAL_E_INVAL,
                            "cannot plan runs of '%.80s': its iterations take no time",
                            p->algorithms[a].name);
        pl->least_s[a] = LEAST * most;
    }
    return SHOAL_OK;
}

static double sigma_of(const struct planning *pl, double step_s, double iterations)
{
    return step_s *
           sqrt(pl->noise_run * pl->noise_run + pl->noise_step * pl->noise_step / iterations);
}

static shoal_status list_candidates(struct planning *pl, shoal_err *err)
{
    const struct advise_plan_problem *p = pl->p;
    uint32_t repeats = p->repeats > 0 ? p->repeats : 1;

    pl->count = 0;
    for (uint32_t a = 0; a < p->algorithm_count; a++)
        for (size_t m = 0; m < p->machine_count; m++)
            for (size_t s = 0; s < p->fraction_count; s++)
                for (size_t i = 0; i < p->iteration_count * repeats; i++) {
                    struct candidate *c = &pl->candidates[pl->count];
                    *c = (struct candidate){.algorithm = a,
                                            .machines = p->machines[m],
                                            .fraction = p->fractions[s],
                                            .iterations = p->iterations[i / repeats]};
                    c->step_s =
                        step_of(pl, a, c->machines, c->fraction, &pl->a[pl->count * pl->columns]);
                    c->sigma = sigma_of(pl, c->step_s, c->iterations);
                    c->cost = c->machines * (p->start_s + c->iterations * c->step_s) *
                              (p->price > 0 ? p->price : 1);
                    if (!positive(c->cost) || !positive(c->sigma))
                        return bad(err, "costs leave the range of numbers");
                    pl->cost[pl->count] = c->cost;
                    pl->sigma[pl->count++] = c->sigma;
                }
    return SHOAL_OK;
}

static void list_wanted(struct planning *pl)
{
    const struct advise_plan_problem *p = pl->p;

    pl->at_rows = 0;
    for (uint32_t a = 0; a < p->algorithm_count; a++)
        for (size_t w = 0; w < p->want_count; w++) {
            double *row = &pl->at[pl->at_rows++ * pl->columns];
            double step_s = step_of(pl, a, p->want[w], 1, row);
            for (size_t k = 0; k < pl->columns; k++)
                row[k] /= step_s;
        }
}

static void add_row(double *matrix, size_t n, const double *row, double by)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; row[i] != 0 && j < n; j++)
            matrix[i * n + j] += by * row[i] * row[j];
}

/* What is believed before any run, and what those made have told. */
static void know(struct planning *pl)
{
    const struct advise_plan_problem *p = pl->p;
    size_t n = pl->columns;
    uint32_t most = 0;
    double row[N];

    for (size_t w = 0; w < p->want_count; w++)
        most = p->want[w] > most ? p->want[w] : most;
    for (uint32_t a = 0; a < p->algorithm_count; a++) {
        double step_s = step_of(pl, a, most, 1, row);
        for (size_t k = a * pl->terms; k < (a + 1) * pl->terms; k++) {
            double size = fabs(row[k]);
            for (size_t i = 0; size <= 0 && i < pl->count; i++) /* as log m of one machine */
                size = fabs(pl->a[i * n + k]);
            double deviation = pl->doubt * step_s / (size > 0 ? size : 1);
            pl->known[k * n + k] = 1 / (deviation * deviation);
        }
    }
    for (size_t i = 0; i < p->made_count; i++) {
        const struct advise_plan_made *m = &p->made[i];
        double step_s = step_of(pl, m->algorithm, m->machines, m->fraction, row);
        double sigma = sigma_of(pl, step_s, m->iterations);
        if (positive(sigma))
            add_row(pl->known, n, row, 1 / (sigma * sigma));
    }
}

/* covariance = known^-1 by elimination; no pivots are looked for, as known is positive. */
static shoal_status invert(struct planning *pl, shoal_err *err)
{
    size_t n = pl->columns;
    double m[N * N];

    memcpy(m, pl->known, n * n * sizeof *m);
    memset(pl->covariance, 0, sizeof pl->covariance);
    for (size_t k = 0; k < n; k++)
        pl->covariance[k * n + k] = 1;
    for (size_t k = 0; k < n; k++) {
        double pivot = m[k * n + k];
        if (!positive(pivot))
            return bad(err, "what is known already leaves the range of numbers");
        for (size_t j = 0; j < n; j++) {
            m[k * n + j] /= pivot;
            pl->covariance[k * n + j] /= pivot;
        }
        for (size_t i = 0; i < n; i++) {
            double by = m[i * n + k];
            for (size_t j = 0; i != k && by != 0 && j < n; j++) {
                m[i * n + j] -= by * m[k * n + j];
                pl->covariance[i * n + j] -= by * pl->covariance[k * n + j];
            }
        }
    }
    return SHOAL_OK;
}

/* ---- how sure ---- */

/* covariance row, and row' covariance row */
static double through(const struct planning *pl, const double *row, double *out)
{
    size_t n = pl->columns;
    double sum = 0;

    memset(out, 0, n * sizeof *out);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; row[j] != 0 && i < n; i++)
            out[i] += pl->covariance[i * n + j] * row[j];
    for (size_t i = 0; i < n; i++)
        sum += row[i] * out[i];
    return fmax(sum, 0);
}

/* Half the 90 % interval of a wanted time, in shares of it. */
static double half_of(const struct planning *pl, size_t at)
{
    double unused[N];

    return NINETY * sqrt(through(pl, &pl->at[at * pl->columns], unused));
}

static double widest(const struct planning *pl)
{
    double most = 0;

    for (size_t i = 0; i < pl->at_rows; i++)
        most = fmax(most, half_of(pl, i));
    return most;
}

/* What making a candidate takes off the sum of variances (D: off the logarithm of the determinant).
 */
static double gain_of(const struct planning *pl, size_t i)
{
    size_t n = pl->columns;
    double v[N], gain = 0;
    double own = through(pl, &pl->a[i * n], v), s2 = pl->sigma[i] * pl->sigma[i];

    if (pl->p->by_determinant)
        return log1p(own / s2);
    for (size_t r = 0; r < pl->at_rows; r++) {
        double dot = 0;
        for (size_t k = 0; k < n; k++)
            dot += pl->at[r * n + k] * v[k];
        gain += dot * dot;
    }
    return gain / (s2 + own);
}

static void make_run(struct planning *pl, size_t i)
{
    size_t n = pl->columns;
    double v[N], own = through(pl, &pl->a[i * n], v);

    add_row(pl->covariance, n, v, -1 / (pl->sigma[i] * pl->sigma[i] + own));
}

/* ---- the plan ---- */

/* The runs picked, what gains most for its cost first. */
static void put_in_order(struct planning *pl, struct advise_plan *out)
{
    while (out->run_count < ADVISE_PLAN_RUNS_MAX && !(out->after <= pl->p->enough)) {
        size_t best = SIZE_MAX;
        double most = -1;
        for (size_t i = 0; i < pl->count; i++) {
            double gain = pl->pick[i] ? gain_of(pl, i) / pl->cost[i] : -1;
            if (gain > most) {
                most = gain;
                best = i;
            }
        }
        if (best == SIZE_MAX)
            return;
        const struct candidate *c = &pl->candidates[best];
        pl->pick[best] = false;
        make_run(pl, best);
        out->after = widest(pl);
        out->cost += c->cost;
        out->runs[out->run_count++] =
            (struct advise_plan_run){.algorithm = c->algorithm,
                                     .machines = c->machines,
                                     .iterations = c->iterations,
                                     .fraction = c->fraction,
                                     .seconds = pl->p->start_s + c->iterations * c->step_s,
                                     .cost = c->cost,
                                     .sure = out->after};
    }
    for (size_t i = 0; i < pl->count; i++)
        out->more |= pl->pick[i];
}

static void tell_sure(const struct planning *pl, bool after, struct advise_plan *out)
{
    const struct advise_plan_problem *p = pl->p;
    double row[N];

    out->sure_count = pl->at_rows;
    for (size_t i = 0; i < pl->at_rows; i++) {
        struct advise_plan_sure *s = &out->sure[i];
        s->algorithm = (uint32_t)(i / p->want_count);
        s->machines = p->want[i % p->want_count];
        s->step_s = step_of(pl, s->algorithm, s->machines, 1, row);
        *(after ? &s->after : &s->before) = half_of(pl, i) * s->step_s;
    }
}

static shoal_status design(const struct base_alloc *alloc, struct planning *pl,
                           struct advise_plan *out, shoal_err *err)
{
    struct num_design_problem problem = {.by = pl->p->by_determinant ? NUM_DESIGN_D : NUM_DESIGN_A,
                                         .rows = pl->count,
                                         .columns = pl->columns,
                                         .a = pl->a,
                                         .cost = pl->cost,
                                         .sigma = pl->sigma,
                                         .known = pl->known,
                                         .at = pl->at,
                                         .at_rows = pl->at_rows,
                                         .budget = pl->p->budget};
    struct num_design_result result;
    double cheapest = INFINITY;

    for (size_t i = 0; i < pl->count; i++)
        cheapest = fmin(cheapest, pl->cost[i]);
    if (cheapest > pl->p->budget) {
        base_err(err, SHOAL_E_IMPOSSIBLE,
                 "a budget of %g pays for no run: the cheapest candidate costs %.3g", pl->p->budget,
                 cheapest);
        base_err_hint(err, "raise the budget, or offer fewer machines, less data or fewer "
                           "iterations");
        return SHOAL_E_IMPOSSIBLE;
    }
    shoal_status st = num_design(alloc, &problem, pl->pick, &result, err);
    if (st != SHOAL_OK)
        return st;
    double over = result.value - result.bound;
    out->gap = over / (pl->p->by_determinant ? (double)pl->columns : result.value);
    return SHOAL_OK;
}

static shoal_status make(const struct base_alloc *alloc, struct planning *pl, shoal_err *err)
{
    const struct advise_plan_problem *p = pl->p;
    size_t n = pl->columns, rows = p->algorithm_count * p->machine_count * p->fraction_count *
                                   p->iteration_count * (p->repeats > 0 ? p->repeats : 1);

    pl->candidates = base_malloc(alloc, rows * sizeof *pl->candidates);
    pl->a = base_malloc(alloc, rows * n * sizeof *pl->a);
    pl->cost = base_malloc(alloc, rows * sizeof *pl->cost);
    pl->sigma = base_malloc(alloc, rows * sizeof *pl->sigma);
    pl->pick = base_malloc(alloc, rows * sizeof *pl->pick);
    pl->at = base_malloc(alloc, p->algorithm_count * p->want_count * n * sizeof *pl->at);
    if (pl->candidates == NULL || pl->a == NULL || pl->cost == NULL || pl->sigma == NULL ||
        pl->pick == NULL || pl->at == NULL)
        return base_err_nomem(err, "planning runs");
    shoal_status st = find_least(pl, err);
    if (st == SHOAL_OK)
        st = list_candidates(pl, err);
    if (st != SHOAL_OK)
        return st;
    list_wanted(pl);
    know(pl);
    return invert(pl, err);
}

shoal_status advise_plan(const struct base_alloc *alloc, const struct advise_plan_problem *problem,
                         struct advise_plan *out, shoal_err *err)
{
    struct planning pl = {.p = problem,
                          .terms = problem->terms > 0 ? problem->terms : ERNEST,
                          .features = problem->terms > 0 ? problem->features : ernest,
                          .noise_run = problem->noise_run > 0 ? problem->noise_run : NOISE_RUN,
                          .noise_step = problem->noise_step > 0 ? problem->noise_step : NOISE_STEP,
                          .doubt = problem->doubt > 0 ? problem->doubt : DOUBT};

    pl.columns = pl.terms * problem->algorithm_count;
    struct advise_plan *plan = NULL;
    shoal_status st = check(&pl, err);
    if (st == SHOAL_OK)
        st = make(alloc, &pl, err);
    if (st == SHOAL_OK) {
        plan = base_calloc(alloc, 1, sizeof *plan);
        if (plan == NULL)
            st = base_err_nomem(err, "planning runs");
    }
    if (st == SHOAL_OK)
        st = design(alloc, &pl, plan, err);
    if (st == SHOAL_OK) {
        plan->before = plan->after = widest(&pl);
        tell_sure(&pl, false, plan);
        put_in_order(&pl, plan);
        tell_sure(&pl, true, plan);
        *out = *plan;
    }
    base_free(alloc, plan);
    base_free(alloc, pl.at);
    base_free(alloc, pl.pick);
    base_free(alloc, pl.sigma);
    base_free(alloc, pl.cost);
    base_free(alloc, pl.a);
    base_free(alloc, pl.candidates);
    return st;
}
