/* test_trail.c - a trail keeps its beginning, its end and an even share of the rest, and every change of
 * the crew that there is room for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "train/trail.h"
#include <math.h>

static struct train_trail trail;

static void values_are_even_but_for_the_last_one(void **state)
{
    (void)state;
    trail = (struct train_trail){.count = 0};
    for (uint64_t n = 0; n < 20000; n++) {
        train_trail_value(&trail, 10 * n, n, 7 * n, (double)n);
        assert_in_range(trail.count, 1, TRAIN_TRAIL_MAX + 1);
        const struct train_trail_value *last = &trail.value[trail.count - 1];
        assert_true(last->clock == n && last->at_ns == 10 * n && last->task_ns == 7 * n &&
                    last->value == (double)n);
        for (uint32_t i = 0; i + 1 < trail.count; i++)
            assert_int_equal(trail.value[i].clock, i * trail.every);
        assert_true(n < TRAIN_TRAIL_MAX || trail.count >= TRAIN_TRAIL_MAX / 2);
    }
}

static void what_is_held_out_goes_with_the_next_value(void **state)
{
    (void)state;
    trail = (struct train_trail){.count = 0};
    train_trail_value(&trail, 1, 1, 0, 5);
    train_trail_held_out(&trail, 90);
    train_trail_held_out(&trail, 80); /* the last one counts */
    train_trail_value(&trail, 2, 2, 0, 4);
    train_trail_value(&trail, 3, 3, 0, 3);
    assert_true(isnan(trail.value[0].held_out) && trail.value[1].held_out == 80 &&
                isnan(trail.value[2].held_out));
    assert_int_equal(trail.held_seen, 1);
}

static void only_changes_of_the_crew_are_kept(void **state)
{
    (void)state;
    trail = (struct train_trail){.count = 0};
    for (uint64_t t = 0; t < 100; t++)
        train_trail_crew(&trail, t, t < 50 ? 2 : 3, t < 70 ? 0 : 1);
    assert_int_equal(trail.crews, 3);
    assert_true(trail.crew[1].at_ns == 50 && trail.crew[1].workers == 3 && trail.crew[1].lost == 0);
    assert_true(trail.crew[2].at_ns == 70 && trail.crew[2].lost == 1);
}

static void of_too_many_changes_the_last_one_is_there(void **state)
{
    (void)state;
    trail = (struct train_trail){.count = 0};
    for (uint32_t t = 0; t < 5 * TRAIN_TRAIL_CREWS; t++)
        train_trail_crew(&trail, t, t, 0);
    assert_int_equal(trail.crews, TRAIN_TRAIL_CREWS);
    assert_int_equal(trail.crew[TRAIN_TRAIL_CREWS - 1].workers, 5 * TRAIN_TRAIL_CREWS - 1);
    assert_int_equal(trail.crew[TRAIN_TRAIL_CREWS - 2].workers, TRAIN_TRAIL_CREWS - 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_even_but_for_the_last_one),
        cmocka_unit_test(what_is_held_out_goes_with_the_next_value),
        cmocka_unit_test(only_changes_of_the_crew_are_kept),
        cmocka_unit_test(of_too_many_changes_the_last_one_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
