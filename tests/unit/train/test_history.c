/* test_history.c - a history keeps its beginning and an even share of the rest, whatever its length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "train/trail.h"

static void a_short_history_is_kept_whole(void **state)
{
    struct train_history h = {.count = 0};

    (void)state;
    for (int i = 0; i < TRAIN_HISTORY_MAX; i++)
        train_history_add(&h, i);
    assert_int_equal(h.count, TRAIN_HISTORY_MAX);
    for (int i = 0; i < TRAIN_HISTORY_MAX; i++)
        assert_true(h.value[i] == i);
}

static void points_of_a_long_history_are_evenly_apart(void **state)
{
    struct train_history h = {.count = 0};

    (void)state;
    for (int n = 0; n < 100000; n++) {
        train_history_add(&h, n);
        assert_true(h.count >= 1 && h.count <= TRAIN_HISTORY_MAX);
        for (uint32_t i = 0; i < h.count; i++)
            assert_true(h.value[i] == (double)(i * h.every));
        assert_true(n - h.value[h.count - 1] < (double)h.every); /* and reaches to the end */
        assert_true(n < TRAIN_HISTORY_MAX || h.count >= TRAIN_HISTORY_MAX / 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_history_is_kept_whole),
        cmocka_unit_test(points_of_a_long_history_are_evenly_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
