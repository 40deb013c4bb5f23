/* Tests of src/num/complete.c. */
#include "property.h"
#include "torture.h"

#include "base/rand.h"
#include "num/complete.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 64 };

struct matrix {
    uint32_t rows, columns;
    double value[SIDE * SIDE]; /* the truth */
    double given[SIDE * SIDE]; /* what the call sees: NAN where not known */
    bool known[SIDE * SIDE];
    double out[SIDE * SIDE];
    struct num_complete_result result;
};

/* u . v of the given rank, shifted and scaled into [0, 1]: rank + 1 in all. */
static void low_rank(struct matrix *m, struct base_rand *rand, uint32_t rank)
{
    double u[SIDE][8], v[SIDE][8], low = INFINITY, high = -INFINITY;

    for (uint32_t i = 0; i < SIDE; i++)
        for (uint32_t p = 0; p < rank; p++) {
            u[i][p] = base_rand_normal(rand, 0, 1);
            v[i][p] = base_rand_normal(rand, 0, 1);
        }
    for (uint32_t i = 0; i < m->rows; i++)
        for (uint32_t j = 0; j < m->columns; j++) {
            double x = 0;
            for (uint32_t p = 0; p < rank; p++)
                x += u[i][p] * v[j][p];
            m->value[i * m->columns + j] = x;
            low = fmin(low, x);
            high = fmax(high, x);
        }
    for (uint32_t at = 0; at < m->rows * m->columns; at++)
        m->value[at] = (m->value[at] - low) / (high - low);
}

static void hide(struct matrix *m, struct base_rand *rand, double share)
{
    for (uint32_t at = 0; at < m->rows * m->columns; at++) {
        m->known[at] = base_rand_unit(rand) < share;
        m->given[at] = m->known[at] ? m->value[at] : (double)NAN;
    }
}

static shoal_status run(struct matrix *m, uint64_t seed)
{
    return num_complete(&base_alloc_libc, m->rows, m->columns, m->given, m->known, seed, m->out,
                        &m->result);
}

static double mean_error(const struct matrix *m, double *out_worst)
{
    double sum = 0;
    uint32_t count = 0;

    *out_worst = 0;
    for (uint32_t at = 0; at < m->rows * m->columns; at++) {
        if (m->known[at])
            continue;
        double d = fabs(m->out[at] - m->value[at]);
        sum += d;
        *out_worst = fmax(*out_worst, d);
        count++;
    }
    return count > 0 ? sum / count : 0;
}

/* What must hold whatever goes in. */
static void check_rules(const struct matrix *m)
{
    for (uint32_t at = 0; at < m->rows * m->columns; at++) {
        assert_true(m->out[at] >= 0 && m->out[at] <= 1);
        if (m->known[at])
            assert_true(m->out[at] == m->given[at]);
    }
    assert_true(m->result.error >= 0 && m->result.error <= 1);
    assert_true(m->result.rank <= NUM_COMPLETE_RANK_MAX);
}

/* Alternating least squares may stop with a line far off in one of the hidden parts; a higher rank
 * is chosen then, whose values are a little worse. */
static void a_rank_two_matrix_is_recovered_from_two_fifths(void **state)
{
    struct base_rand rand;
    static struct matrix m = {.rows = 50, .columns = 60};
    uint32_t count = (uint32_t)property_count(20), exact = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= count; seed++) {
        base_rand_init(&rand, seed, "recover");
        low_rank(&m, &rand, 2);
        hide(&m, &rand, 0.4);
        assert_int_equal(run(&m, seed), SHOAL_OK);
        check_rules(&m);
        double worst, mean = mean_error(&m, &worst);
        if (!(worst < 1e-2 && mean < 1e-4 && m.result.error < 1e-3))
            fail_msg("seed %llu: rank %u, worst %g, mean %g, stated %g", (unsigned long long)seed,
                     m.result.rank, worst, mean, m.result.error);
        exact += m.result.rank == 2 && worst < 1e-3;
    }
    assert_true(exact >= 0.98 * count);
}

static void the_stated_error_is_about_the_true_one(void **state)
{
    struct base_rand rand;
    static struct matrix m = {.rows = 40, .columns = 40};

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(20); seed++) {
        base_rand_init(&rand, seed, "error");
        low_rank(&m, &rand, 1 + (uint32_t)(seed % 3));
        for (uint32_t at = 0; at < m.rows * m.columns; at++)
            m.value[at] = fmin(fmax(m.value[at] + base_rand_normal(&rand, 0, 0.05), 0), 1);
        hide(&m, &rand, 0.4);
        assert_int_equal(run(&m, seed), SHOAL_OK);
        check_rules(&m);
        double worst, mean = mean_error(&m, &worst);
        /* mean |noise| is 0.04; a fit to 4/5 of what is known is a little worse than to all */
        if (mean > 0.08 || m.result.error < 0.8 * mean || m.result.error > 1.6 * mean)
            fail_msg("seed %llu: off by %g, stated %g", (unsigned long long)seed, mean,
                     m.result.error);
    }
}

static void random_input_keeps_the_rules(void **state)
{
    struct base_rand rand;
    static struct matrix m;

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(200); seed++) {
        base_rand_init(&rand, seed, "rules");
        m.rows = 1 + (uint32_t)base_rand_below(&rand, 20);
        m.columns = 1 + (uint32_t)base_rand_below(&rand, 20);
        uint64_t levels = 1 + base_rand_below(&rand, 4); /* 0 and 1 among them */
        for (uint32_t at = 0; at < m.rows * m.columns; at++)
            m.value[at] = base_rand_below(&rand, 3) == 0
                              ? base_rand_unit(&rand)
                              : (double)base_rand_below(&rand, levels + 1) / (double)levels;
        hide(&m, &rand, base_rand_unit(&rand));
        assert_int_equal(run(&m, seed), SHOAL_OK);
        check_rules(&m);
    }
}

static void a_constant_matrix_is_constant(void **state)
{
    static const double constants[] = {0, 0.3, 1};
    struct base_rand rand;
    static struct matrix m = {.rows = 12, .columns = 9};

    (void)state;
    for (size_t n = 0; n < sizeof constants / sizeof constants[0]; n++) {
        for (uint32_t at = 0; at < m.rows * m.columns; at++)
            m.value[at] = constants[n];
        base_rand_init(&rand, n, "constant");
        hide(&m, &rand, 0.3);
        assert_int_equal(run(&m, 1), SHOAL_OK);
        double worst;
        mean_error(&m, &worst);
        assert_true(worst < 1e-12);
        assert_true(m.result.error < 1e-12);
        assert_int_equal(m.result.rank, 0);
    }
}

/* Values in a row, negative for not known. */
static void given(struct matrix *m, uint32_t rows, uint32_t columns, const double *value)
{
    m->rows = rows;
    m->columns = columns;
    for (uint32_t at = 0; at < rows * columns; at++) {
        m->known[at] = value[at] >= 0;
        m->given[at] = m->known[at] ? value[at] : (double)NAN;
    }
}

static void one_row_falls_back_to_its_mean(void **state)
{
    static struct matrix m;

    (void)state;
    given(&m, 1, 5, (const double[]){0.2, -1, 0.6, -1, 0.4});
    assert_int_equal(run(&m, 1), SHOAL_OK);
    assert_true(fabs(m.out[1] - 0.4) < 1e-12);
    assert_true(fabs(m.out[3] - 0.4) < 1e-12);
    assert_true(fabs(m.result.error - 0.4 / 3) < 1e-12); /* distance from the mean */
    given(&m, 5, 1, (const double[]){0.2, -1, 0.6, -1, 0.4});
    assert_int_equal(run(&m, 1), SHOAL_OK);
    assert_true(fabs(m.out[1] - 0.4) < 1e-12);
}

static void an_empty_line_gets_the_means_of_the_others(void **state)
{
    static struct matrix m;

    (void)state;
    given(&m, 4, 4,
          (const double[]){
              0.1,
              0.5,
              -1,
              0.9, /* a row with a hole */
              0.3,
              0.5,
              -1,
              0.7, /* the third column is empty */
              -1,
              -1,
              -1,
              -1, /* the third row too */
              0.2,
              -1,
              -1,
              0.8,
          });
    assert_int_equal(run(&m, 1), SHOAL_OK);
    check_rules(&m);
    assert_true(fabs(m.out[2 * 4 + 0] - 0.2) < 1e-12);
    assert_true(fabs(m.out[2 * 4 + 1] - 0.5) < 1e-12);
    assert_true(fabs(m.out[2 * 4 + 3] - 0.8) < 1e-12);
    assert_true(fabs(m.out[0 * 4 + 2] - 0.5) < 1e-12);
    assert_true(fabs(m.out[3 * 4 + 2] - 0.5) < 1e-12);
    assert_true(fabs(m.out[2 * 4 + 2] - 4.0 / 8) < 1e-12); /* the mean of all */
}

static void with_nothing_known_every_entry_is_in_the_middle(void **state)
{
    static struct matrix m;

    (void)state;
    given(&m, 2, 2, (const double[]){-1, -1, -1, -1});
    assert_int_equal(run(&m, 1), SHOAL_OK);
    for (int at = 0; at < 4; at++)
        assert_true(m.out[at] == 0.5);
    assert_true(m.result.error == 0.5);
}

static void values_out_of_range_are_refused_and_nothing_is_written(void **state)
{
    static const double bad[] = {-0.001, 1.001, (double)NAN, (double)INFINITY, -(double)INFINITY};
    static struct matrix m;

    (void)state;
    for (size_t n = 0; n < sizeof bad / sizeof bad[0]; n++) {
        given(&m, 2, 2, (const double[]){0.5, 0.5, -1, 0.5});
        m.given[3] = bad[n];
        m.out[2] = 7;
        assert_int_equal(run(&m, 1), SHOAL_E_INVAL);
        assert_true(m.out[2] == 7);
    }
    m.rows = 0;
    assert_int_equal(run(&m, 1), SHOAL_E_INVAL);
    m.rows = NUM_COMPLETE_SIDE_MAX + 1;
    assert_int_equal(run(&m, 1), SHOAL_E_INVAL);
}

static void equal_seeds_give_equal_bits_also_in_place(void **state)
{
    static struct matrix m = {.rows = 30, .columns = 20}, again;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "equal");
    low_rank(&m, &rand, 3);
    hide(&m, &rand, 0.5);
    again = m;
    assert_int_equal(run(&m, 9), SHOAL_OK);
    assert_int_equal(num_complete(&base_alloc_libc, 30, 20, again.given, again.known, 9,
                                  again.given, &again.result),
                     SHOAL_OK);
    assert_memory_equal(m.out, again.given, 30 * 20 * sizeof m.out[0]);
    assert_int_equal(m.result.rank, again.result.rank);
    assert_int_equal(m.result.sweeps, again.result.sweeps);
}

static shoal_status small_one(const struct base_alloc *alloc, void *ctx)
{
    struct matrix *m = ctx;
    double out[SIDE * SIDE];

    return num_complete(alloc, m->rows, m->columns, m->given, m->known, 1, out, &m->result);
}

static void failing_allocations_end_cleanly(void **state)
{
    static struct matrix m = {.rows = 40, .columns = 40};
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "torture");
    low_rank(&m, &rand, 1);
    hide(&m, &rand, 0.9);
    torture_run(small_one, &m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_two_matrix_is_recovered_from_two_fifths),
        cmocka_unit_test(the_stated_error_is_about_the_true_one),
        cmocka_unit_test(random_input_keeps_the_rules),
        cmocka_unit_test(a_constant_matrix_is_constant),
        cmocka_unit_test(one_row_falls_back_to_its_mean),
        cmocka_unit_test(an_empty_line_gets_the_means_of_the_others),
        cmocka_unit_test(with_nothing_known_every_entry_is_in_the_middle),
        cmocka_unit_test(values_out_of_range_are_refused_and_nothing_is_written),
        cmocka_unit_test(equal_seeds_give_equal_bits_also_in_place),
        cmocka_unit_test(failing_allocations_end_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
