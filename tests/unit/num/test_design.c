/* Tests of src/num/design.c and design_search.c. */
#include "property.h"
#include "torture.h"
#include "unit/num/numbers.h"

#include "num/design.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 600, COLUMNS = NUM_DESIGN_COLUMNS_MAX, AT = 8 };

struct world {
    struct num_design_problem p;
    double a[ROWS * COLUMNS], cost[ROWS], sigma[ROWS], known[COLUMNS * COLUMNS], at[AT * COLUMNS];
};

/* Ernest's features at random (machines, fraction), and costs as they would be; or plain noise. */
static void some_row(struct base_rand *rand, bool ernest, size_t columns, double *row, double *cost)
{
    double m = (double)(1 + base_rand_below(rand, 32)), s = base_rand_range(rand, 0.05, 1);
    double features[] = {1, s / m, log(m), m};

    for (size_t k = 0; k < columns; k++)
        row[k] = ernest ? features[k] : numbers_normal(rand);
    *cost = ernest ? m * (1 + 20 * s / m + 0.3 * log(m)) : base_rand_range(rand, 0.2, 2);
}

static void some_world(struct world *w, struct base_rand *rand, size_t rows, size_t columns,
                       bool ernest)
{
    double total = 0;

    w->p = (struct num_design_problem){.by = base_rand_below(rand, 2) == 0 ? NUM_DESIGN_A
                                                                           : NUM_DESIGN_D,
                                       .rows = rows,
                                       .columns = columns,
                                       .a = w->a,
                                       .cost = w->cost,
                                       .sigma = base_rand_below(rand, 2) == 0 ? w->sigma : NULL,
                                       .known = base_rand_below(rand, 3) == 0 ? w->known : NULL,
                                       .at = w->at,
                                       .at_rows = 1 + base_rand_below(rand, AT)};
    for (size_t i = 0; i < rows; i++) {
        some_row(rand, ernest, columns, &w->a[i * columns], &w->cost[i]);
        w->sigma[i] = base_rand_range(rand, 0.5, 2);
        total += w->cost[i];
    }
    for (size_t r = 0; r < w->p.at_rows; r++) {
        double unused;
        some_row(rand, ernest, columns, &w->at[r * columns], &unused);
    }
    memset(w->known, 0, sizeof w->known);
    for (size_t k = 0; k < columns; k++)
        w->known[k * columns + k] = base_rand_below(rand, 2) == 0 ? 0 : base_rand_range(rand, 0, 1);
    w->p.budget = total * base_rand_range(rand, 0.25, 0.9);
}

/* The value of a choice, plainly: elimination in long double; INFINITY where it is singular. */
static double value_of(const struct num_design_problem *p, const bool *pick)
{
    static long double m[COLUMNS][2 * COLUMNS];
    size_t n = p->columns;
    long double value = 0, log_det = 0, size[COLUMNS];

    memset(m, 0, sizeof m);
    for (size_t i = 0; i < n; i++) {
        m[i][n + i] = 1;
        for (size_t j = 0; j < n; j++) {
            m[i][j] = p->known != NULL ? (long double)p->known[i * n + j] : 0;
            for (size_t r = 0; r < p->rows; r++) {
                long double s = p->sigma != NULL ? (long double)p->sigma[r] : 1;
                if (pick[r])
                    m[i][j] += (long double)p->a[r * n + i] * (long double)p->a[r * n + j] / s / s;
            }
        }
    }
    for (size_t k = 0; k < n; k++)
        size[k] = m[k][k];
    for (size_t k = 0; k < n; k++) { /* positive definite: no pivoting needed */
        if (!(m[k][k] > 1e-11L * size[k]) || size[k] <= 0)
            return INFINITY;
        log_det += logl(m[k][k]);
        for (size_t i = 0; i < n; i++) {
            long double by = m[i][k] / m[k][k];
            for (size_t j = 0; j < 2 * n && i != k; j++)
                m[i][j] -= by * m[k][j];
        }
    }
    for (size_t r = 0; p->by == NUM_DESIGN_A && r < p->at_rows; r++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                value += (long double)p->at[r * n + i] * m[i][n + j] / m[i][i] *
                         (long double)p->at[r * n + j];
    return (double)(p->by == NUM_DESIGN_A ? value : -log_det);
}

static double cost_of(const struct num_design_problem *p, const bool *pick)
{
    double sum = 0;

    for (size_t i = 0; i < p->rows; i++)
        sum += pick[i] ? p->cost[i] : 0;
    return sum;
}

static double best_of_all(const struct num_design_problem *p)
{
    double best = INFINITY;

    for (uint32_t set = 0; set < 1u << p->rows; set++) {
        bool pick[ROWS];
        for (size_t i = 0; i < p->rows; i++)
            pick[i] = set >> i & 1;
        if (cost_of(p, pick) <= p->budget)
            best = fmin(best, value_of(p, pick));
    }
    return best;
}

static double size_of(const struct num_design_problem *p, double value)
{
    return p->by == NUM_DESIGN_A ? value : (double)p->columns;
}

static void check_result(const struct num_design_problem *p, const bool *pick,
                         const struct num_design_result *r)
{
    double value = value_of(p, pick), cost = cost_of(p, pick);

    assert_true(cost <= p->budget * (1 + 1e-12));
    assert_true(fabs(cost - r->cost) <= 1e-12 * cost);
    assert_true(fabs(value - r->value) <= 1e-5 * size_of(p, fabs(value)));
    assert_true(r->bound <= r->value);
}

static void the_bound_is_one_and_the_choice_close_to_the_best(void **state)
{
    static struct world w;
    struct base_rand rand;
    double lost = 0, worst = 0;
    int found = 0, runs = property_count(300);

    (void)state;
    base_rand_init(&rand, 1, "all");
    for (int i = 0; i < runs; i++) {
        struct num_design_result r;
        bool pick[ROWS];
        size_t columns = 1 + base_rand_below(&rand, 4);
        some_world(&w, &rand, columns + base_rand_below(&rand, 11 - columns), columns, i % 2 == 0);
        double best = best_of_all(&w.p);
        shoal_status st = num_design(&base_alloc_libc, &w.p, pick, &r, NULL);
        assert_int_equal(st, isfinite(best) ? SHOAL_OK : SHOAL_E_INVAL);
        if (st != SHOAL_OK)
            continue;
        check_result(&w.p, pick, &r);
        double slack = 1e-6 * size_of(&w.p, fabs(best));
        assert_true(r.bound <= best + slack);
        assert_true(r.value >= best - slack);
        double over = (r.value - best) / size_of(&w.p, best);
        lost += over;
        worst = fmax(worst, over);
        found++;
    }
    print_message("over the best by %.3g on average, %.3g at most, in %d\n", lost / found, worst,
                  found);
    assert_true(found > runs / 2);
    assert_true(lost / found < 1e-4 && worst < 0.01);
}

static void with_many_rows_the_gap_is_small(void **state)
{
    static struct world w;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "many");
    for (int i = 0; i < property_count(10); i++) {
        struct num_design_result r;
        static bool pick[ROWS];
        some_world(&w, &rand, 100 + base_rand_below(&rand, ROWS - 100), i % 2 == 0 ? 4 : 7,
                   i % 2 == 0);
        w.p.budget /= 5;
        assert_int_equal(num_design(&base_alloc_libc, &w.p, pick, &r, NULL), SHOAL_OK);
        check_result(&w.p, pick, &r);
        assert_true(r.value - r.bound <= 0.06 * size_of(&w.p, r.value));
    }
}

static void all_within_the_budget_are_made(void **state)
{
    static struct world w;
    struct base_rand rand;
    struct num_design_result r;
    bool pick[ROWS];

    (void)state;
    base_rand_init(&rand, 1, "room");
    some_world(&w, &rand, 20, 3, true);
    w.p.budget = 1e9;
    assert_int_equal(num_design(&base_alloc_libc, &w.p, pick, &r, NULL), SHOAL_OK);
    for (size_t i = 0; i < 20; i++)
        assert_true(pick[i]);
    assert_true(r.value - r.bound <= 1e-6 * fabs(r.value));
}

/* Units of features and of money do not change the choice; D only moves by their logarithms. */
static void units_do_not_matter(void **state)
{
    static struct world w;
    static const double UNIT[3] = {1e-80, 1e3, 1e60};
    struct base_rand rand;
    struct num_design_result r, s;
    bool pick[ROWS], again[ROWS];

    (void)state;
    base_rand_init(&rand, 1, "units");
    for (int i = 0; i < property_count(20); i++) {
        some_world(&w, &rand, 30, 3, false);
        w.p.known = NULL;
        assert_int_equal(num_design(&base_alloc_libc, &w.p, pick, &r, NULL), SHOAL_OK);
        for (size_t k = 0; k < 30 * 3; k++)
            w.a[k] *= UNIT[k % 3];
        for (size_t k = 0; k < w.p.at_rows * 3; k++)
            w.at[k] *= UNIT[k % 3];
        for (size_t k = 0; k < 30; k++)
            w.cost[k] *= 1e-7;
        w.p.budget *= 1e-7;
        assert_int_equal(num_design(&base_alloc_libc, &w.p, again, &s, NULL), SHOAL_OK);
        double shift = w.p.by == NUM_DESIGN_D ? -2 * log(1e-80 * 1e3 * 1e60) : 0;
        assert_true(fabs(s.value - shift - r.value) <= 1e-6 * size_of(&w.p, fabs(r.value)));
        assert_memory_equal(pick, again, 30 * sizeof *pick);
    }
}

static void budgets_for_nothing_regular_are_refused_in_a_sentence(void **state)
{
    static const double A[] = {1, 0, 0, 1, 1, 1}, COST[] = {5, 7, 3}, AT_ONE[] = {1, 1};
    struct num_design_problem p = {
        .rows = 3, .columns = 2, .a = A, .cost = COST, .at = AT_ONE, .at_rows = 1, .budget = 7.5};
    struct num_design_result r = {.value = 7};
    shoal_err err = SHOAL_ERR_INIT;
    bool pick[3] = {true, true, true};

    (void)state;
    assert_int_equal(num_design(&base_alloc_libc, &p, pick, &r, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "the cheapest that does costs 8"));
    assert_non_null(strstr(err.hint, "raise the budget to at least 8"));
    p.budget = 2;
    assert_int_equal(num_design(&base_alloc_libc, &p, pick, &r, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "no experiment within the budget of 2"));
    p.budget = 4; /* one row alone */
    assert_int_equal(num_design(&base_alloc_libc, &p, pick, &r, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "do not tell all 2 coefficients apart"));
    assert_true(r.value == 7 && pick[0]);
    p.budget = 8;
    assert_int_equal(num_design(&base_alloc_libc, &p, pick, &r, &err), SHOAL_OK);
    assert_true(pick[0] && !pick[1] && pick[2] && r.cost == 8);
}

static void numbers_far_apart_give_numbers_or_are_refused(void **state)
{
    static struct world w;
    struct base_rand rand;
    int done = 0;

    (void)state;
    base_rand_init(&rand, 1, "far");
    for (int i = 0; i < property_count(500); i++) {
        struct num_design_result r;
        bool pick[ROWS];
        size_t columns = 1 + base_rand_below(&rand, 4);
        some_world(&w, &rand, columns + base_rand_below(&rand, 8), columns, false);
        for (size_t k = 0; k < w.p.rows * columns; k++)
            w.a[k] = numbers_far_apart(&rand);
        for (size_t k = 0; k < w.p.rows; k++)
            w.sigma[k] = fabs(numbers_far_apart(&rand));
        for (size_t k = 0; k < w.p.at_rows * columns; k++)
            w.at[k] = numbers_far_apart(&rand);
        shoal_status st = num_design(&base_alloc_libc, &w.p, pick, &r, NULL);
        assert_true(st == SHOAL_OK || st == SHOAL_E_INVAL);
        if (st == SHOAL_OK)
            assert_true(isfinite(r.value) && isfinite(r.bound) && r.bound <= r.value);
        done += st == SHOAL_OK;
    }
    assert_true(done > 50);
}

static void numbers_out_of_range_are_refused(void **state)
{
    static struct world good, w;
    struct base_rand rand;
    struct num_design_result r;
    bool pick[ROWS];

    (void)state;
    base_rand_init(&rand, 1, "bad");
    some_world(&good, &rand, 12, 2, false);
    good.p.by = NUM_DESIGN_A;
    for (int how = -1; how < 14; how++) { /* -1: as it is, which is taken */
        w = good;
        w.p.a = w.a, w.p.cost = w.cost, w.p.sigma = w.sigma, w.p.known = w.known, w.p.at = w.at;
        switch (how) {
        case 0: w.a[3] = NAN; break;
        case 1: w.cost[2] = 0; break;
        case 2: w.cost[2] = INFINITY; break;
        case 3: w.sigma[11] = -1; break;
        case 4: w.at[0] = INFINITY; break;
        case 5: w.p.at_rows = 0; break;
        case 6: w.p.budget = NAN; break;
        case 7: w.p.budget = 0; break;
        case 8: w.p.rows = 0; break;
        case 9: w.p.columns = COLUMNS + 1; break;
        case 10: w.known[0] = -1; break;
        case 11: w.known[1] = 0.5; break; /* not symmetric */
        case 12: w.known[0] = w.known[3] = 1, w.known[1] = w.known[2] = -1.5; break;
        case 13: w.known[0] = NAN; break;
        }
        shoal_err err = SHOAL_ERR_INIT;
        assert_int_equal(num_design(&base_alloc_libc, &w.p, pick, &r, &err),
                         how < 0 ? SHOAL_OK : SHOAL_E_INVAL);
        assert_true((err.message[0] == '\0') == (how < 0));
    }
}

static shoal_status design_one(const struct base_alloc *alloc, void *ctx)
{
    struct world *w = ctx;
    struct num_design_result r;
    bool pick[ROWS];

    return num_design(alloc, &w->p, pick, &r, NULL);
}

static void failing_allocations_end_cleanly(void **state)
{
    static struct world w;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "torture");
    some_world(&w, &rand, 20, 3, false);
    torture_run(design_one, &w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_is_one_and_the_choice_close_to_the_best),
        cmocka_unit_test(with_many_rows_the_gap_is_small),
        cmocka_unit_test(all_within_the_budget_are_made),
        cmocka_unit_test(units_do_not_matter),
        cmocka_unit_test(budgets_for_nothing_regular_are_refused_in_a_sentence),
        cmocka_unit_test(numbers_far_apart_give_numbers_or_are_refused),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(failing_allocations_end_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
