/* Tests of src/num/nnls.c. */
#include "property.h"
#include "torture.h"
#include "unit/num/numbers.h"

#include "num/least.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { ROWS = 300, COLUMNS = NUM_LEAST_COLUMNS_MAX };

struct world {
    size_t rows, columns;
    double a[ROWS * COLUMNS], b[ROWS], weight[ROWS];
    bool weighted;
};

static void some_world(struct world *w, struct base_rand *rand, size_t rows, size_t columns)
{
    w->rows = rows;
    w->columns = columns;
    w->weighted = base_rand_below(rand, 2) == 0;
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++)
            w->a[i * columns + j] = numbers_normal(rand);
        w->b[i] = numbers_normal(rand) * 3;
        w->weight[i] = base_rand_below(rand, 5) == 0 ? 0 : base_rand_range(rand, 0, 2);
    }
}

static const double *weight_of(const struct world *w)
{
    return w->weighted ? w->weight : NULL;
}

/* Its answer to a problem written out. */
static shoal_status solve(size_t rows, size_t columns, const double *a, const double *b,
                          const double *weight, double *x, double *rss)
{
    struct num_least p = {rows, columns, a, b, weight};

    return num_nnls(&base_alloc_libc, &p, x, rss);
}

static long double residual(const struct world *w, const double *x, size_t row)
{
    long double off = (long double)w->b[row];

    for (size_t j = 0; j < w->columns; j++)
        off -= (long double)w->a[row * w->columns + j] * (long double)x[j];
    return off;
}

static double rss_of(const struct world *w, const double *x)
{
    long double sum = 0;

    for (size_t i = 0; i < w->rows; i++) {
        long double off = residual(w, x, i);
        sum += (w->weighted ? (long double)w->weight[i] : 1) * off * off;
    }
    return (double)sum;
}

/* Kuhn and Tucker: no slope up at 0, none at all above 0; in shares of the lengths involved. */
static void check_least(const struct world *w, const double *x, double tolerance)
{
    double length = 0;

    for (size_t i = 0; i < w->rows; i++)
        length += (w->weighted ? w->weight[i] : 1) * w->b[i] * w->b[i];
    for (size_t j = 0; j < w->columns; j++) {
        long double slope = 0, square = 0;
        for (size_t i = 0; i < w->rows; i++) {
            long double wa = (long double)w->a[i * w->columns + j] *
                             (w->weighted ? (long double)w->weight[i] : 1);
            slope += wa * residual(w, x, i);
            square += wa * (long double)w->a[i * w->columns + j];
        }
        double unit = sqrt((double)square * length);
        assert_true(x[j] >= 0 && isfinite(x[j]));
        assert_true((double)slope <= tolerance * unit);
        if (x[j] > 0)
            assert_true(fabs((double)slope) <= tolerance * unit);
    }
}

/* Least squares over a set of columns by normal equations and elimination; false: dependent. */
static bool over_set(const struct world *w, uint32_t set, double *x)
{
    long double m[8][9] = {{0}};
    size_t use[8], n = 0;

    for (size_t j = 0; j < w->columns; j++)
        if (set >> j & 1)
            use[n++] = j;
    for (size_t i = 0; i < w->rows; i++) {
        long double u = w->weighted ? (long double)w->weight[i] : 1;
        const double *a = &w->a[i * w->columns];
        for (size_t j = 0; j < n; j++) {
            for (size_t k = 0; k < n; k++)
                m[j][k] += u * (long double)a[use[j]] * (long double)a[use[k]];
            m[j][n] += u * (long double)a[use[j]] * (long double)w->b[i];
        }
    }
    for (size_t j = 0; j < n; j++) {
        if (m[j][j] < 1e-12L)
            return false;
        for (size_t i = 0; i < n; i++) {
            long double by = i == j ? 0 : m[i][j] / m[j][j];
            for (size_t k = j; k <= n && i != j; k++)
                m[i][k] -= by * m[j][k];
        }
    }
    memset(x, 0, COLUMNS * sizeof *x);
    for (size_t j = 0; j < n; j++)
        x[use[j]] = (double)(m[j][n] / m[j][j]);
    return true;
}

static double best_of_all_sets(const struct world *w)
{
    double best = INFINITY;

    for (uint32_t set = 0; set < 1u << w->columns; set++) {
        double x[COLUMNS];
        bool fits = over_set(w, set, x);
        for (size_t j = 0; fits && j < w->columns; j++)
            fits = x[j] >= 0;
        if (fits)
            best = fmin(best, rss_of(w, x));
    }
    return best;
}

static void no_set_of_columns_is_better(void **state)
{
    struct world w;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "sets");
    for (int i = 0; i < property_count(400); i++) {
        double x[COLUMNS], rss;
        size_t columns = 1 + base_rand_below(&rand, 6);
        some_world(&w, &rand, 1 + base_rand_below(&rand, 20), columns);
        assert_int_equal(solve(w.rows, columns, w.a, w.b, weight_of(&w), x, &rss), SHOAL_OK);
        double best = best_of_all_sets(&w);
        assert_true(fabs(rss - rss_of(&w, x)) <= 1e-10 * (1 + rss));
        assert_true(fabs(rss - best) <= 1e-9 * (1 + best));
    }
}

/* Zero columns, copies, sums of others, near copies, and units far apart. */
static void spoil(struct world *w, struct base_rand *rand)
{
    for (size_t j = 1; j < w->columns; j++) {
        uint64_t how = base_rand_below(rand, 6);
        size_t from = base_rand_below(rand, j);
        double unit = pow(10, base_rand_range(rand, -60, 60));
        for (size_t i = 0; i < w->rows; i++) {
            double *at = &w->a[i * w->columns + j], other = w->a[i * w->columns + from];
            if (how == 0)
                *at = 0;
            else if (how == 1)
                *at = 2 * other;
            else if (how == 2)
                *at = other * (1 + 1e-13 * numbers_normal(rand));
            else if (how == 3)
                *at = other + w->a[i * w->columns];
            else if (how == 4)
                *at *= unit;
        }
    }
}

static void no_slope_is_left_whatever_the_columns(void **state)
{
    struct world w;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "slopes");
    for (int i = 0; i < property_count(400); i++) {
        double x[COLUMNS];
        some_world(&w, &rand, 1 + base_rand_below(&rand, ROWS),
                   1 + base_rand_below(&rand, COLUMNS));
        if (i % 2 == 0)
            spoil(&w, &rand);
        assert_int_equal(solve(w.rows, w.columns, w.a, w.b, weight_of(&w), x, NULL), SHOAL_OK);
        check_least(&w, x, 1e-9);
    }
}

static void what_was_made_without_noise_is_found(void **state)
{
    struct world w;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "exact");
    for (int i = 0; i < property_count(100); i++) {
        double truth[COLUMNS], x[COLUMNS], rss;
        size_t columns = 1 + base_rand_below(&rand, COLUMNS);
        some_world(&w, &rand, 60 + base_rand_below(&rand, ROWS - 60), columns);
        w.weighted = false;
        for (size_t j = 0; j < columns; j++)
            truth[j] = base_rand_below(&rand, 2) == 0 ? 0 : base_rand_range(&rand, 0.1, 10);
        for (size_t r = 0; r < w.rows; r++) {
            w.b[r] = 0;
            for (size_t j = 0; j < columns; j++)
                w.b[r] += w.a[r * columns + j] * truth[j];
        }
        assert_int_equal(solve(w.rows, columns, w.a, w.b, NULL, x, &rss), SHOAL_OK);
        for (size_t j = 0; j < columns; j++)
            assert_true(fabs(x[j] - truth[j]) <= 1e-8);
        assert_true(rss <= 1e-16 * (1 + (double)columns * 100));
    }
}

static void a_weight_counts_as_rows_do(void **state)
{
    struct world w, twice;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "weights");
    for (int i = 0; i < property_count(50); i++) {
        double x[COLUMNS], y[COLUMNS];
        some_world(&w, &rand, 20, 5);
        w.weighted = true;
        twice = w;
        twice.rows = 0;
        for (size_t r = 0; r < w.rows; r++) {
            w.weight[r] = (double)base_rand_below(&rand, 3);
            for (int copy = 0; copy < (int)w.weight[r]; copy++) {
                memcpy(&twice.a[twice.rows * 5], &w.a[r * 5], 5 * sizeof *w.a);
                twice.b[twice.rows++] = w.b[r];
            }
        }
        if (twice.rows == 0)
            continue;
        assert_int_equal(solve(20, 5, w.a, w.b, w.weight, x, NULL), SHOAL_OK);
        assert_int_equal(solve(twice.rows, 5, twice.a, twice.b, NULL, y, NULL), SHOAL_OK);
        assert_true(fabs(rss_of(&w, x) - rss_of(&w, y)) <= 1e-9 * (1 + rss_of(&w, x)));
    }
}

static void units_do_not_matter(void **state)
{
    struct world w;
    struct base_rand rand;
    double x[COLUMNS], y[COLUMNS];
    static const double UNIT[4] = {1e-120, 1e-3, 1e80, 1e120};

    (void)state;
    base_rand_init(&rand, 1, "units");
    some_world(&w, &rand, 30, 4);
    w.weighted = false;
    for (size_t i = 0; i < 30; i++)
        w.b[i] = 2 * w.a[i * 4] + w.a[i * 4 + 2] + 0.1 * numbers_normal(&rand);
    assert_int_equal(solve(30, 4, w.a, w.b, NULL, x, NULL), SHOAL_OK);
    for (size_t i = 0; i < 30 * 4; i++)
        w.a[i] *= UNIT[i % 4];
    assert_int_equal(solve(30, 4, w.a, w.b, NULL, y, NULL), SHOAL_OK);
    for (size_t j = 0; j < 4; j++)
        assert_true(fabs(y[j] * UNIT[j] - x[j]) <= 1e-9);
    assert_true(x[0] > 1.9 && x[2] > 0.9);
}

static void nothing_positive_helps_gives_zeros(void **state)
{
    static const double A[] = {1, 0, 2, 0, 3, 0}, B[] = {-1, -2, -3}, NONE[] = {0, 0, 0};
    double x[2] = {7, 7}, rss;

    (void)state;
    assert_int_equal(solve(3, 2, A, B, NULL, x, &rss), SHOAL_OK);
    assert_true(x[0] == 0 && x[1] == 0 && rss == 14);
    assert_int_equal(solve(3, 2, A, NONE, NULL, x, &rss), SHOAL_OK);
    assert_true(x[0] == 0 && x[1] == 0 && rss == 0);
    assert_int_equal(solve(3, 2, A, B, NONE, x, &rss), SHOAL_OK);
    assert_true(x[0] == 0 && x[1] == 0 && rss == 0);
}

static void numbers_far_apart_give_numbers_or_are_refused(void **state)
{
    struct world w;
    struct base_rand rand;
    int done = 0;

    (void)state;
    base_rand_init(&rand, 1, "far");
    for (int i = 0; i < property_count(500); i++) {
        double x[COLUMNS], rss;
        some_world(&w, &rand, 1 + base_rand_below(&rand, 12), 1 + base_rand_below(&rand, 6));
        for (size_t k = 0; k < w.rows * w.columns; k++)
            w.a[k] = numbers_far_apart(&rand);
        for (size_t k = 0; k < w.rows; k++) {
            w.b[k] = numbers_far_apart(&rand);
            w.weight[k] = fabs(numbers_far_apart(&rand));
        }
        shoal_status st = solve(w.rows, w.columns, w.a, w.b, weight_of(&w), x, &rss);
        assert_true(st == SHOAL_OK || st == SHOAL_E_INVAL);
        for (size_t j = 0; st == SHOAL_OK && j < w.columns; j++)
            assert_true(x[j] >= 0 && isfinite(x[j]) && isfinite(rss));
        done += st == SHOAL_OK;
    }
    assert_true(done > 50);
}

static void numbers_out_of_range_are_refused(void **state)
{
    double a[2] = {1, 2}, b[2] = {1, 2}, u[2] = {1, 1}, x[1] = {7}, rss = 7;

    (void)state;
    assert_int_equal(solve(0, 1, a, b, NULL, x, &rss), SHOAL_E_INVAL);
    assert_int_equal(solve(2, 0, a, b, NULL, x, &rss), SHOAL_E_INVAL);
    assert_int_equal(solve(2, COLUMNS + 1, a, b, NULL, x, &rss), SHOAL_E_INVAL);
    assert_int_equal(solve(NUM_LEAST_ROWS_MAX + 1, 1, a, b, NULL, x, &rss), SHOAL_E_INVAL);
    a[1] = NAN;
    assert_int_equal(solve(2, 1, a, b, NULL, x, &rss), SHOAL_E_INVAL);
    a[1] = 2, b[0] = INFINITY;
    assert_int_equal(solve(2, 1, a, b, NULL, x, &rss), SHOAL_E_INVAL);
    b[0] = 1, u[0] = -1;
    assert_int_equal(solve(2, 1, a, b, u, x, &rss), SHOAL_E_INVAL);
    u[0] = NAN;
    assert_int_equal(solve(2, 1, a, b, u, x, &rss), SHOAL_E_INVAL);
    a[0] = 1e-300, a[1] = 1e-300, b[0] = 1e300, b[1] = -1e299;
    assert_int_equal(solve(2, 1, a, b, NULL, x, &rss), SHOAL_E_INVAL);
    assert_true(x[0] == 7 && rss == 7);
}

static shoal_status solve_one(const struct base_alloc *alloc, void *ctx)
{
    const struct world *w = ctx;
    double x[COLUMNS];

    struct num_least p = {w->rows, w->columns, w->a, w->b, NULL};

    return num_nnls(alloc, &p, x, NULL);
}

static void failing_allocations_end_cleanly(void **state)
{
    static struct world w;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "torture");
    some_world(&w, &rand, 10, 3);
    torture_run(solve_one, &w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_set_of_columns_is_better),
        cmocka_unit_test(no_slope_is_left_whatever_the_columns),
        cmocka_unit_test(what_was_made_without_noise_is_found),
        cmocka_unit_test(a_weight_counts_as_rows_do),
        cmocka_unit_test(units_do_not_matter),
        cmocka_unit_test(nothing_positive_helps_gives_zeros),
        cmocka_unit_test(numbers_far_apart_give_numbers_or_are_refused),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(failing_allocations_end_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
