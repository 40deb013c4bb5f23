/* Tests of src/sched/remain.c. */
#include "torture.h"

#include "sched/remain.h"
#include <math.h>

/* The mean of w - x over w > x, w log-normal, by Simpson's rule in the logarithm. */
static double by_integration(double told, double error, double progress)
{
    enum { STEPS = 20000 };
    double from = log(progress) > log(told) - 12 * error ? log(progress) : log(told) - 12 * error;
    double to = fmax(from, log(told)) + 14 * error + error * error, h = (to - from) / STEPS;
    double mass = 0, mean = 0;

    for (int i = 0; i <= STEPS; i++) {
        double t = from + i * h, z = (t - log(told)) / error, z0 = (from - log(told)) / error;
        double weight = (i == 0 || i == STEPS ? 1
                         : i % 2 != 0         ? 4
                                              : 2) *
                        exp((z0 > 0 ? z0 * z0 : 0) / 2 - z * z / 2); /* scaled: tails vanish */
        mass += weight;
        mean += weight * (exp(t) - progress);
    }
    return mean / mass;
}

static void what_is_left_is_the_mean_beyond_what_was_done(void **state)
{
    static const double errors[] = {0.1, 0.5, 1, 2}, parts[] = {1e-3, 0.3, 0.9, 1, 1.5, 3, 20};

    (void)state;
    for (size_t e = 0; e < 4; e++)
        for (size_t p = 0; p < 7; p++) {
            double x = 1000 * parts[p], want = by_integration(1000, errors[e], x);
            double left = sched_remain(1000, errors[e], x);
            assert_true(fabs(left - want) <= 1e-5 * (want + 1e-3 * x)); /* Simpson's own error */
        }
}

static void a_certain_guess_leaves_what_is_missing(void **state)
{
    (void)state;
    assert_true(sched_remain(100, 0, 30) == 70);
    assert_true(fabs(sched_remain(100, 1e-3, 30) - 70) < 0.01);
    assert_true(isnan(sched_remain(100, 0, 100))); /* it was wrong: nothing is known */
    assert_true(sched_remain(100, 0, -5) == 100);
}

static void the_further_beyond_an_uncertain_guess_the_more_is_left(void **state)
{
    (void)state;
    for (int e = 1; e <= 12; e++) {
        double error = 0.25 * e, before = 0, x = 100 * exp(1.5 + error * error);
        /* told 100; from e times that on, and far beyond where erfc vanishes */
        for (int i = 0; i < 200; i++, x *= 1.1) {
            double left = sched_remain(100, error, x);
            assert_true(isfinite(left) && left > before);
            before = left;
        }
    }
}

static void at_the_start_it_is_the_mean(void **state)
{
    (void)state;
    assert_true(fabs(sched_remain(100, 1, 0) - 100 * exp(0.5)) < 1e-9);
    assert_true(fabs(sched_remain(100, 1, 1e-6) - 100 * exp(0.5)) < 1e-3);
}

static void what_says_nothing_is_no_number(void **state)
{
    (void)state;
    assert_true(isnan(sched_remain(NAN, 0, 5)) && isnan(sched_remain(0, 1, 5)));
    assert_true(isnan(sched_remain(-1, 1, 5)) && isnan(sched_remain(INFINITY, 1, 5)));
    assert_true(isnan(sched_remain(100, INFINITY, 5)));
    assert_true(sched_remain(100, NAN, 40) == 60); /* an error that is no number is none */
}

static void unknown_work_orders_jobs_by_what_they_had(void **state)
{
    (void)state;
    assert_true(sched_remain_unknown(600, 0) == 600);
    assert_true(sched_remain_unknown(600, 50) < sched_remain_unknown(600, 51));
}

static void what_was_told_counts_as_it_stands_until_it_is_exceeded(void **state)
{
    static const double nothing[] = {(double)NAN, (double)INFINITY, -1, 0, 30, 40};

    (void)state;
    assert_true(sched_remain_told(100, 5, 40) == 60);
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        assert_true(sched_remain_told(nothing[i], 5, 40) == 40);
        assert_true(sched_remain_told(nothing[i], 500, 40) == 500);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_is_the_mean_beyond_what_was_done),
        cmocka_unit_test(a_certain_guess_leaves_what_is_missing),
        cmocka_unit_test(the_further_beyond_an_uncertain_guess_the_more_is_left),
        cmocka_unit_test(at_the_start_it_is_the_mean),
        cmocka_unit_test(what_says_nothing_is_no_number),
        cmocka_unit_test(unknown_work_orders_jobs_by_what_they_had),
        cmocka_unit_test(what_was_told_counts_as_it_stands_until_it_is_exceeded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
