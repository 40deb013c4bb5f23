/* Tests of src/num/few.c. */
#include "property.h"
#include "torture.h"
#include "unit/num/numbers.h"

#include "num/least.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { ROWS = 80, COLUMNS = NUM_LEAST_COLUMNS_MAX };
static const double STEP = 0.864; /* between neighbours on the path: 1e-5^(1/79), rounded down */

struct world {
    size_t rows, columns;
    uint32_t folds, fold[ROWS];
    double a[ROWS * COLUMNS], b[ROWS], weight[ROWS];
    bool weighted;
};

/* b from a few of the columns, with noise. */
static void some_world(struct world *w, struct base_rand *rand, size_t rows, size_t columns,
                       uint32_t folds, double noise)
{
    double truth[COLUMNS];

    w->rows = rows;
    w->columns = columns;
    w->folds = folds;
    w->weighted = base_rand_below(rand, 2) == 0;
    for (size_t j = 0; j < columns; j++)
        truth[j] = base_rand_below(rand, 3) == 0 ? numbers_normal(rand) : 0;
    for (size_t i = 0; i < rows; i++) {
        w->b[i] = 5 + noise * numbers_normal(rand);
        for (size_t j = 0; j < columns; j++) {
            w->a[i * columns + j] = numbers_normal(rand) * (double)(1 + j) + 2;
            w->b[i] += truth[j] * w->a[i * columns + j];
        }
        w->weight[i] = base_rand_range(rand, 0.2, 2);
        w->fold[i] = i < folds ? (uint32_t)i : (uint32_t)base_rand_below(rand, folds);
    }
}

static shoal_status fit(const struct base_alloc *alloc, const struct world *w,
                        struct num_few_fit *out)
{
    struct num_least p = {w->rows, w->columns, w->a, w->b, w->weighted ? w->weight : NULL};

    return num_few(alloc, &p, w->fold, w->folds, out);
}

/* ---- the slow plain solver: proximal gradient over standardised columns ---- */

struct plain {
    double intercept, x[COLUMNS], slope[COLUMNS]; /* slope: of the standardised columns */
    double deviation[COLUMNS];
};

static double soft(double v, double by)
{
    return v > by ? v - by : v < -by ? v + by : 0;
}

/* Without the rows of group `out` (UINT32_MAX: with all). False: it has not arrived. */
static bool plain_solve(const struct world *w, uint32_t out, double lambda, struct plain *p)
{
    double total = 0, mean[COLUMNS] = {0}, mean_b = 0, x[COLUMNS] = {0}, u[ROWS];

    for (size_t i = 0; i < w->rows; i++)
        total += u[i] = w->fold[i] == out ? 0 : w->weighted ? w->weight[i] : 1;
    for (size_t i = 0; i < w->rows; i++) {
        u[i] /= total;
        mean_b += u[i] * w->b[i];
        for (size_t j = 0; j < w->columns; j++)
            mean[j] += u[i] * w->a[i * w->columns + j];
    }
    double most = 0;
    for (size_t j = 0; j < w->columns; j++) {
        double variance = 0;
        for (size_t i = 0; i < w->rows; i++)
            variance += u[i] * pow(w->a[i * w->columns + j] - mean[j], 2);
        p->deviation[j] = sqrt(variance);
        most += variance > 1e-16 ? 1 : 0;
    }
    double moved = 1;
    for (int round = 0; round < 200000 && moved > 1e-12; round++) {
        moved = 0;
        memset(p->slope, 0, sizeof p->slope);
        for (size_t i = 0; i < w->rows; i++) {
            double off = w->b[i] - mean_b;
            for (size_t j = 0; j < w->columns; j++)
                if (x[j] != 0)
                    off -= x[j] * (w->a[i * w->columns + j] - mean[j]) / p->deviation[j];
            for (size_t j = 0; j < w->columns; j++)
                if (p->deviation[j] > 1e-8)
                    p->slope[j] +=
                        u[i] * off * (w->a[i * w->columns + j] - mean[j]) / p->deviation[j];
        }
        for (size_t j = 0; j < w->columns; j++) {
            double to = soft(x[j] + p->slope[j] / most, lambda / most);
            moved = fmax(moved, fabs(to - x[j]));
            x[j] = to;
        }
    }
    p->intercept = mean_b;
    for (size_t j = 0; j < w->columns; j++) {
        p->x[j] = p->deviation[j] > 1e-8 ? x[j] / p->deviation[j] : 0;
        p->intercept -= p->x[j] * mean[j];
    }
    return moved <= 1e-12;
}

static double off_by(const struct world *w, size_t row, double intercept, const double *x)
{
    double off = w->b[row] - intercept;

    for (size_t j = 0; j < w->columns; j++)
        off -= x[j] * w->a[row * w->columns + j];
    return off;
}

/* NAN where the slow solver has not arrived. */
static double plain_cv(const struct world *w, double lambda)
{
    double sum = 0, total = 0;

    for (uint32_t g = 0; g < w->folds; g++) {
        struct plain p;
        if (!plain_solve(w, g, lambda, &p))
            return NAN;
        for (size_t i = 0; i < w->rows; i++) {
            double u = w->weighted ? w->weight[i] : 1, off = off_by(w, i, p.intercept, p.x);
            total += w->fold[i] == g ? u : 0;
            sum += w->fold[i] == g ? u * off * off : 0;
        }
    }
    return sum / total;
}

static void it_is_the_fit_the_slow_solver_finds(void **state)
{
    struct world w;
    struct base_rand rand;
    int compared = 0;

    (void)state;
    base_rand_init(&rand, 1, "slow");
    for (int i = 0; i < property_count(12); i++) {
        struct num_few_fit f;
        struct plain p;
        double rss = 0;
        some_world(&w, &rand, 12 + base_rand_below(&rand, 28), 1 + base_rand_below(&rand, 5),
                   2 + (uint32_t)base_rand_below(&rand, 4), 1);
        assert_int_equal(fit(&base_alloc_libc, &w, &f), SHOAL_OK);
        assert_true(f.gap <= 1e-10);
        assert_true(plain_solve(&w, UINT32_MAX, f.lambda, &p));
        assert_true(fabs(f.intercept - p.intercept) <= 1e-4 * (1 + fabs(p.intercept)));
        for (size_t j = 0; j < w.columns; j++)
            assert_true(fabs(f.x[j] - p.x[j]) <= 1e-4 * (1 + fabs(p.x[j])));
        for (size_t r = 0; r < w.rows; r++)
            rss += (w.weighted ? w.weight[r] : 1) * pow(off_by(&w, r, f.intercept, f.x), 2);
        assert_true(fabs(rss - f.rss) <= 1e-9 * rss);
        /* the errors on rows left out, and that neighbours on the path have no smaller ones */
        double cv = plain_cv(&w, f.lambda), next = plain_cv(&w, f.lambda * STEP);
        if (isnan(cv) || isnan(next))
            continue; /* hardly more rows than columns were left */
        assert_true(fabs(cv - f.cv_rss) <= 1e-4 * cv);
        assert_true(next >= cv * (1 - 2e-4) || f.lambda < 1e-4);
        compared++;
    }
    assert_true(compared >= 10);
}

/* Signs and sizes of the slopes prove the least, for any number of columns. */
static void check_least(const struct world *w, const struct num_few_fit *f, double tolerance)
{
    double total = 0, mean_b = 0, variance_b = 0;
    size_t used = 0;

    for (size_t i = 0; i < w->rows; i++)
        total += w->weighted ? w->weight[i] : 1;
    for (size_t i = 0; i < w->rows; i++)
        mean_b += (w->weighted ? w->weight[i] : 1) / total * w->b[i];
    for (size_t i = 0; i < w->rows; i++)
        variance_b += (w->weighted ? w->weight[i] : 1) / total * pow(w->b[i] - mean_b, 2);
    double close = tolerance * sqrt(variance_b);
    for (size_t j = 0; j < w->columns; j++) {
        double mean = 0, square = 0, slope = 0;
        for (size_t i = 0; i < w->rows; i++)
            mean += (w->weighted ? w->weight[i] : 1) / total * w->a[i * w->columns + j];
        for (size_t i = 0; i < w->rows; i++) {
            double u = (w->weighted ? w->weight[i] : 1) / total;
            double z = w->a[i * w->columns + j] - mean;
            square += u * z * z;
            slope += u * z * off_by(w, i, f->intercept, f->x);
        }
        slope = square > 0 ? slope / sqrt(square) : 0;
        assert_true(fabs(slope) <= f->lambda + close);
        if (f->x[j] != 0)
            assert_true(fabs(slope - copysign(f->lambda, f->x[j])) <= close);
        used += f->x[j] != 0;
    }
    assert_int_equal(used, f->used);
    for (size_t j = w->columns; j < COLUMNS; j++)
        assert_true(f->x[j] == 0);
}

static void slopes_prove_the_least(void **state)
{
    struct world w;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "slopes");
    for (int i = 0; i < property_count(60); i++) {
        struct num_few_fit f;
        size_t columns = 1 + base_rand_below(&rand, COLUMNS);
        some_world(&w, &rand, 6 + base_rand_below(&rand, ROWS - 6), columns,
                   2 + (uint32_t)base_rand_below(&rand, 4), i % 3 == 0 ? 1e-3 : 1);
        assert_int_equal(fit(&base_alloc_libc, &w, &f), SHOAL_OK);
        assert_true(f.gap <= 1e-9);
        check_least(&w, &f, 1e-5);
    }
}

/* What fits of convergence look like: functions of the iteration and of machines, all alike. */
static void columns_that_are_almost_the_same_are_no_trouble(void **state)
{
    static const double MACHINES[] = {1, 2, 4, 8};
    struct world w = {.rows = ROWS, .columns = 9, .folds = 4};
    struct base_rand rand;
    struct num_few_fit f;
    double most = 0;

    (void)state;
    base_rand_init(&rand, 1, "alike");
    for (size_t i = 0; i < ROWS; i++) {
        double m = MACHINES[i / 20], t = 1 + (double)(i % 20) * 3;
        double row[] = {t,       t / m,      t / (m * m), t / sqrt(m), t * t,
                        sqrt(t), log(1 + t), 1 / m,       log(m)};
        memcpy(&w.a[i * 9], row, sizeof row);
        w.b[i] = 1 - 0.3 * t / m - 0.2 * sqrt(t) + 0.01 * numbers_normal(&rand);
        w.fold[i] = (uint32_t)(i / 20);
    }
    assert_int_equal(fit(&base_alloc_libc, &w, &f), SHOAL_OK);
    assert_true(f.gap <= 1e-9);
    check_least(&w, &f, 1e-5);
    for (size_t i = 0; i < ROWS; i++)
        most = fmax(most, fabs(off_by(&w, i, f.intercept, f.x)));
    assert_true(most < 0.1 && f.rss / ROWS < 4e-4);
    assert_true(sqrt(f.cv_rss) < 0.3);
}

static void few_columns_of_many_are_found_with_fewer_rows(void **state)
{
    struct world w;
    struct base_rand rand;
    struct num_few_fit f;

    (void)state;
    base_rand_init(&rand, 1, "wide");
    some_world(&w, &rand, 24, COLUMNS, 6, 0);
    w.weighted = false;
    for (size_t i = 0; i < w.rows; i++)
        w.b[i] = 3 * w.a[i * COLUMNS + 2] - w.a[i * COLUMNS + 7] + 0.01 * numbers_normal(&rand);
    assert_int_equal(fit(&base_alloc_libc, &w, &f), SHOAL_OK);
    check_least(&w, &f, 1e-5);
    assert_true(fabs(f.x[2] - 3) < 0.05 && fabs(f.x[7] + 1) < 0.05);
    for (size_t j = 0; j < COLUMNS; j++)
        assert_true(j == 2 || j == 7 || fabs(f.x[j]) < 0.02);
}

static void constant_columns_get_nothing(void **state)
{
    struct world w;
    struct base_rand rand;
    struct num_few_fit f;

    (void)state;
    base_rand_init(&rand, 1, "constant");
    some_world(&w, &rand, 30, 4, 3, 0.1);
    for (size_t i = 0; i < w.rows; i++) {
        w.a[i * 4 + 1] = 1e9;
        w.a[i * 4 + 2] = w.fold[i] == 0 ? (double)i : 1e6; /* constant where group 0 is left out */
        w.a[i * 4 + 3] = 0;
        w.b[i] = 2 * w.a[i * 4] + 1e6;
    }
    assert_int_equal(fit(&base_alloc_libc, &w, &f), SHOAL_OK);
    assert_true(f.x[1] == 0 && f.x[3] == 0);
    assert_true(fabs(f.x[0] - 2) < 1e-3);
    for (size_t i = 0; i < w.rows; i++)
        w.b[i] = -3;
    assert_int_equal(fit(&base_alloc_libc, &w, &f), SHOAL_OK);
    assert_true(f.used == 0 && fabs(f.intercept + 3) < 1e-12 && f.cv_rss < 1e-24 && f.rss < 1e-24);
}

static void noise_alone_gets_almost_nothing(void **state)
{
    struct world w;
    struct base_rand rand;
    double used = 0;
    int runs = property_count(40);

    (void)state;
    base_rand_init(&rand, 1, "noise");
    for (int i = 0; i < runs; i++) {
        struct num_few_fit f;
        some_world(&w, &rand, ROWS, 8, 8, 1);
        for (size_t r = 0; r < w.rows; r++)
            w.b[r] = numbers_normal(&rand);
        assert_int_equal(fit(&base_alloc_libc, &w, &f), SHOAL_OK);
        used += (double)f.used;
    }
    assert_true(used / runs < 3); /* of 8 */
}

static void a_weight_counts_as_rows_do(void **state)
{
    struct world w, twice;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "weights");
    for (int i = 0; i < property_count(20); i++) {
        struct num_few_fit f, g;
        some_world(&w, &rand, 30, 4, 3, 1);
        w.weighted = true;
        twice = w;
        twice.weighted = false;
        twice.rows = 0;
        for (size_t r = 0; r < w.rows; r++) {
            w.weight[r] = 1 + (double)base_rand_below(&rand, 2);
            for (int copy = 0; copy < (int)w.weight[r]; copy++) {
                memcpy(&twice.a[twice.rows * 4], &w.a[r * 4], 4 * sizeof *w.a);
                twice.fold[twice.rows] = w.fold[r];
                twice.b[twice.rows++] = w.b[r];
            }
        }
        assert_int_equal(fit(&base_alloc_libc, &w, &f), SHOAL_OK);
        assert_int_equal(fit(&base_alloc_libc, &twice, &g), SHOAL_OK);
        assert_true(fabs(f.lambda - g.lambda) <= 1e-9 * f.lambda);
        assert_true(fabs(f.rss - g.rss) <= 1e-6 * f.rss);
        assert_true(fabs(f.cv_rss - g.cv_rss) <= 1e-6 * f.cv_rss);
        for (size_t j = 0; j < 4; j++)
            assert_true(fabs(f.x[j] - g.x[j]) <= 1e-6 * (1 + fabs(f.x[j])));
    }
}

static void units_do_not_matter(void **state)
{
    struct world w;
    struct base_rand rand;
    struct num_few_fit f, g;

    (void)state;
    base_rand_init(&rand, 1, "units");
    some_world(&w, &rand, 40, 3, 4, 1);
    assert_int_equal(fit(&base_alloc_libc, &w, &f), SHOAL_OK);
    for (size_t i = 0; i < w.rows; i++) {
        w.a[i * 3] *= 1e150;
        w.a[i * 3 + 2] *= 1e-150;
        w.b[i] *= 1e6;
        w.weight[i] *= 1e100;
    }
    assert_int_equal(fit(&base_alloc_libc, &w, &g), SHOAL_OK);
    assert_true(fabs(g.x[0] * 1e144 - f.x[0]) <= 1e-7 * (1 + fabs(f.x[0])));
    assert_true(fabs(g.x[2] * 1e-156 - f.x[2]) <= 1e-7 * (1 + fabs(f.x[2])));
    assert_true(fabs(g.lambda * 1e-6 - f.lambda) <= 1e-7 * f.lambda);
}

static void numbers_far_apart_give_numbers_or_are_refused(void **state)
{
    struct world w;
    struct base_rand rand;
    int done = 0;

    (void)state;
    base_rand_init(&rand, 1, "far");
    for (int i = 0; i < property_count(300); i++) {
        struct num_few_fit f;
        some_world(&w, &rand, 2 + base_rand_below(&rand, 12), 1 + base_rand_below(&rand, 6), 2, 1);
        for (size_t k = 0; k < w.rows * w.columns; k++)
            w.a[k] = numbers_far_apart(&rand);
        for (size_t k = 0; k < w.rows; k++)
            w.b[k] = numbers_far_apart(&rand);
        shoal_status st = fit(&base_alloc_libc, &w, &f);
        assert_true(st == SHOAL_OK || st == SHOAL_E_INVAL);
        for (size_t j = 0; st == SHOAL_OK && j < w.columns; j++)
            assert_true(isfinite(f.x[j]) && isfinite(f.rss) && isfinite(f.cv_rss) && f.gap < 1e-3);
        done += st == SHOAL_OK;
    }
    assert_true(done > 30);
}

static void numbers_out_of_range_are_refused(void **state)
{
    static struct world good, w;
    struct base_rand rand;
    struct num_few_fit f;

    (void)state;
    base_rand_init(&rand, 1, "bad");
    some_world(&good, &rand, 20, 3, 2, 1);
    good.weighted = true;
    assert_int_equal(fit(&base_alloc_libc, &good, &f), SHOAL_OK);
    f.rss = 7;
    for (int how = 0; how < 11; how++) {
        w = good;
        switch (how) {
        case 0: w.a[5] = NAN; break;
        case 1: w.b[19] = -INFINITY; break;
        case 2: w.weight[3] = -1; break;
        case 3: w.weight[3] = NAN; break;
        case 4: w.fold[7] = 2; break;
        case 5: w.folds = 3; break; /* one without a row */
        case 6: w.folds = 1; break;
        case 7: w.rows = 0; break;
        case 8: w.columns = COLUMNS + 1; break;
        case 9: memset(w.weight, 0, sizeof w.weight); break;
        case 10:
            for (size_t i = 0; i < 20; i++)
                w.weight[i] = w.fold[i] == 0 ? 1 : 0;
            break;
        }
        if (how == 6)
            memset(w.fold, 0, sizeof w.fold);
        assert_int_equal(fit(&base_alloc_libc, &w, &f), SHOAL_E_INVAL);
    }
    assert_true(f.rss == 7);
}

static shoal_status fit_one(const struct base_alloc *alloc, void *ctx)
{
    struct num_few_fit f;

    return fit(alloc, ctx, &f);
}

static void failing_allocations_end_cleanly(void **state)
{
    static struct world w;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "torture");
    some_world(&w, &rand, 10, 3, 2, 1);
    torture_run(fit_one, &w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_fit_the_slow_solver_finds),
        cmocka_unit_test(slopes_prove_the_least),
        cmocka_unit_test(columns_that_are_almost_the_same_are_no_trouble),
        cmocka_unit_test(few_columns_of_many_are_found_with_fewer_rows),
        cmocka_unit_test(constant_columns_get_nothing),
        cmocka_unit_test(noise_alone_gets_almost_nothing),
        cmocka_unit_test(a_weight_counts_as_rows_do),
        cmocka_unit_test(units_do_not_matter),
        cmocka_unit_test(numbers_far_apart_give_numbers_or_are_refused),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(failing_allocations_end_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
