/* fit_few.c - the form "features": log(loss - best) is linear in few features of iterations and
 * machines, chosen by lasso; machine counts are the groups that cross-validation leaves out.
 *
 * The best loss is one of a grid below the lowest loss seen; badness is as in fit_stretch.c, with
 * the errors of rows left out. What is fitted may rise with iterations: the prediction is its
 * running minimum, found on a grid of GRID points for every doubling. Tests:
 * tests/unit/advise/test_fit.c. */
#include "advise/fit_parts.h"

#include "num/least.h"
#include <math.h>

enum { COLUMNS = 11, THIN = 24, GRID = 8, BESTS = 8, BESTS_PART = 3, BLOCKS = 4 };

static const double BEST_FIRST = 1e-4, BEST_LAST = 1; /* as in fit_stretch.c */
static const double NOISE = 2e-3;
static const double GRAIN = 0.02; /* as in fit_stretch.c */
static const double BEYOND = 128; /* times the last iteration seen */

_Static_assert((int)COLUMNS <= (int)ADVISE_FEW_COLUMNS, "room for the coefficients");
_Static_assert((int)BESTS <= (int)ADVISE_BESTS_MAX, "room for the estimates");

static void features(double x, double machines, double *out)
{
    out[0] = x;
    out[1] = x / machines;
    out[2] = x / (machines * machines);
    out[3] = x / sqrt(machines);
    out[4] = sqrt(x);
    out[5] = sqrt(x / machines);
    out[6] = log1p(100 * x);
    out[7] = log1p(100 * x / machines);
    out[8] = machines;
    out[9] = 1 / machines;
    out[10] = log(machines);
}

struct rows {
    size_t count;
    double *a, *b, *loss, *weight;
    uint32_t *fold;
    uint32_t folds;
};

static bool make_rows(const struct advise_algorithm *a, uint32_t skip, double ahead, double unit,
                      struct base_arena *arena, struct rows *rows)
{
    size_t most = a->curve_count * THIN;
    uint32_t counts[ADVISE_COUNTS_MAX];

    *rows = (struct rows){.a = base_arena_alloc(arena, most * COLUMNS * sizeof(double)),
                          .b = base_arena_alloc(arena, most * sizeof(double)),
                          .loss = base_arena_alloc(arena, most * sizeof(double)),
                          .weight = base_arena_alloc(arena, most * sizeof(double)),
                          .fold = base_arena_alloc(arena, most * sizeof(uint32_t))};
    if (rows->a == NULL || rows->b == NULL || rows->loss == NULL || rows->weight == NULL ||
        rows->fold == NULL)
        return false;
    for (size_t c = 0; c < a->curve_count; c++) {
        const struct advise_curve *curve = &a->curves[c];
        size_t n = curve->count, before = (size_t)-1;
        uint32_t fold = 0;
        while (n > 0 && ahead < 1 &&
               curve->iteration[n - 1] > ahead * curve->iteration[curve->count - 1])
            n--;
        if (curve->run->machines == skip || n < ADVISE_EVIDENCE_POINTS)
            continue;
        while (fold < rows->folds && counts[fold] != curve->run->machines)
            fold++;
        if (fold == ADVISE_COUNTS_MAX)
            continue;
        if (fold == rows->folds)
            counts[rows->folds++] = curve->run->machines;
        for (size_t k = 0; k < THIN; k++) {
            size_t i = n <= THIN ? k : k * (n - 1) / (THIN - 1);
            if (i >= n || i == before)
                continue;
            before = i;
            features(curve->iteration[i] / unit, curve->run->machines,
                     rows->a + rows->count * COLUMNS);
            rows->loss[rows->count] = curve->loss[i];
            rows->weight[rows->count] =
                (0.1 + curve->iteration[i] / curve->iteration[n - 1]) / (double)n;
            rows->fold[rows->count++] = fold;
        }
    }
    return true;
}

/* One machine count: stretches of its iterations take their place. */
static void fold_blocks(struct rows *rows)
{
    if (rows->folds >= 2 || rows->count < BLOCKS)
        return;
    for (size_t i = 0; i < rows->count; i++)
        rows->fold[i] = (uint32_t)(i * BLOCKS / rows->count);
    rows->folds = BLOCKS;
}

static shoal_status fit_one(const struct base_alloc *alloc, struct rows *rows, double best,
                            double grain, double unit, struct advise_few *out)
{
    struct num_few_fit fit;
    double weights = 0, jacobian = 0;

    for (size_t i = 0; i < rows->count; i++) {
        rows->b[i] = log(rows->loss[i] - best);
        weights += rows->weight[i];
        jacobian += rows->weight[i] * log(rows->loss[i] - best + grain);
    }
    struct num_least problem = {rows->count, COLUMNS, rows->a, rows->b, rows->weight};
    shoal_status st = num_few(alloc, &problem, rows->fold, rows->folds, &fit);
    if (st != SHOAL_OK)
        return st;
    *out =
        (struct advise_few){.best = best,
                            .intercept = fit.intercept,
                            .unit = unit,
                            .badness = 0.5 * log(fit.cv_rss + NOISE * NOISE) + jacobian / weights};
    for (int j = 0; j < COLUMNS; j++)
        out->x[j] = fit.x[j];
    return SHOAL_OK;
}

static double value(const struct advise_few *f, double iterations, double machines)
{
    double x[COLUMNS], y = f->intercept;

    features(iterations / f->unit, machines, x);
    for (int j = 0; j < COLUMNS; j++)
        y += f->x[j] * x[j];
    return y;
}

double advise_few_steps(const struct advise_model *model, uint32_t which, double machines,
                        double loss)
{
    const struct advise_few *f = &model->few[which];

    if (which >= model->few_count || !(loss > f->best))
        return (double)INFINITY;
    double want = log(loss - f->best), lo = 0, hi = model->i_max / 1024;
    if (value(f, 0, machines) <= want)
        return 0;
    while (value(f, hi, machines) > want) {
        lo = hi;
        hi *= exp2(1.0 / GRID);
        if (hi > BEYOND * model->i_max)
            return (double)INFINITY;
    }
    for (int k = 0; k < 50; k++) {
        double mid = 0.5 * (lo + hi);
        if (value(f, mid, machines) > want)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

shoal_status advise_few_fit(const struct advise_algorithm *a, uint32_t skip, double ahead,
                            double best, struct base_arena *arena, struct advise_model *out)
{
    struct rows rows;
    double lowest = (double)INFINITY, first = -(double)INFINITY, unit = 0;
    shoal_status st = SHOAL_OK;

    out->few_count = 0;
    for (size_t i = 0; i < a->curve_count; i++)
        unit = fmax(unit, a->curves[i].iteration[a->curves[i].count - 1]);
    out->i_max = unit;
    if (!(unit > 0) || !make_rows(a, skip, ahead, unit, arena, &rows))
        return unit > 0 ? SHOAL_E_NOMEM : SHOAL_OK;
    for (size_t i = 0; i < rows.count; i++) {
        lowest = fmin(lowest, rows.loss[i]);
        first = fmax(first, rows.loss[i]);
    }
    fold_blocks(&rows);
    uint32_t most = skip == 0 && !(ahead < 1) ? BESTS : BESTS_PART; /* parts are many */
    uint32_t want = isnan(best) ? most : 1;
    for (uint32_t k = 0; k < want && st == SHOAL_OK && rows.folds >= 2 && rows.count > rows.folds;
         k++) {
        double below =
            (first - lowest) * BEST_FIRST * pow(BEST_LAST / BEST_FIRST, (double)k / (most - 1));
        double guess = isnan(best) ? lowest - below : fmin(best, lowest - (first - lowest) * 1e-9);
        struct advise_few few;
        if (!(guess < lowest))
            continue; /* lost in rounding */
        st = fit_one(arena->alloc, &rows, guess, GRAIN * (first - lowest), unit, &few);
        if (st != SHOAL_OK)
            break;
        uint32_t to = out->few_count++;
        for (; to > 0 && out->few[to - 1].badness > few.badness; to--)
            out->few[to] = out->few[to - 1];
        out->few[to] = few;
    }
    return st;
}
