/* test_axis.c - ticks are round numbers in order, within the axis, and never too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "page/page.h"
#include <math.h>
#include <stdlib.h>

static void ticks_rise_within(const struct page_axis *axis)
{
    assert_in_range(axis->count, 1, PAGE_TICKS_MAX);
    for (size_t i = 0; i < axis->count; i++) {
        assert_true(axis->ticks[i].at >= 0 && axis->ticks[i].at <= 1);
        assert_true(i == 0 || axis->ticks[i].at > axis->ticks[i - 1].at);
    }
}

static void an_axis_covers_any_range_with_round_ends(void **state)
{
    static const double ends[][2] = {{9.4, 11.5},  {-1.3, 1.4},  {0, 1},
                                     {1e-9, 2e-9}, {-5, -4.999}, {3, 3},
                                     {0, 0},       {1e6, 9e8},   {-1e15, 1e15}};

    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        double lo = ends[i][0], hi = ends[i][1];
        struct page_axis axis;
        page_axis_range(&axis, &lo, &hi);
        ticks_rise_within(&axis);
        assert_in_range(axis.count, 2, 9);
        assert_true(lo <= ends[i][0] && hi >= ends[i][1] && lo < hi);
        assert_true(axis.ticks[0].at == 0 && axis.ticks[axis.count - 1].at == 1);
        assert_true(fabs(atof(axis.ticks[0].label) - lo) <= 1e-6 * fabs(lo) || lo <= -1e6);
    }
}

static void a_range_that_is_none_becomes_zero_to_one(void **state)
{
    double lo = INFINITY, hi = -INFINITY;
    struct page_axis axis;

    (void)state;
    page_axis_range(&axis, &lo, &hi);
    assert_true(lo == 0 && hi == 1);
    ticks_rise_within(&axis);
}

static void times_and_counts_and_powers_have_few_ticks(void **state)
{
    struct page_axis axis;

    (void)state;
    for (double span = 1e-2; span < 1e9; span *= 3.7) {
        page_axis_time(&axis, span);
        ticks_rise_within(&axis);
        assert_true(page_axis_count(&axis, span) >= span);
        ticks_rise_within(&axis);
        page_axis_log(&axis, 0.5, 0.5 + span + 1);
        ticks_rise_within(&axis);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_axis_covers_any_range_with_round_ends),
        cmocka_unit_test(a_range_that_is_none_becomes_zero_to_one),
        cmocka_unit_test(times_and_counts_and_powers_have_few_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
