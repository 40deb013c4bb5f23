/* Where executors should be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "train/spread.h"
#include <math.h>

enum { MANY = 64 };

static double load_of(const struct train_place *place, uint32_t count, uint32_t worker)
{
    double load = 0;

    for (uint32_t e = 0; e < count; e++)
        load += place[e].worker == worker ? place[e].cost : 0;
    return load;
}

static void place_all(struct train_place *place, uint32_t count, uint32_t worker, double cost)
{
    for (uint32_t e = 0; e < count; e++)
        place[e] = (struct train_place){worker, cost};
}

static void those_without_a_place_are_spread_evenly(void **state)
{
    struct train_place place[MANY];
    const uint32_t threads[] = {1, 3, 0, 4};
    double load[4];

    (void)state;
    place_all(place, MANY, TRAIN_NOBODY, 1);
    assert_int_equal(train_spread(place, MANY, threads, 4, 1.1, load), MANY);
    assert_true(load_of(place, MANY, 0) == 8);
    assert_true(load_of(place, MANY, 1) == 24);
    assert_true(load_of(place, MANY, 2) == 0);
    assert_true(load_of(place, MANY, 3) == 32);
}

static void unevenness_within_the_slack_stays(void **state)
{
    struct train_place place[11];
    const uint32_t threads[] = {1, 1};
    double load[2];

    (void)state;
    place_all(place, 6, 0, 1);
    place_all(place + 6, 5, 1, 1);
    assert_int_equal(train_spread(place, 11, threads, 2, 1.1, load), 0);
    place_all(place, 11, 0, 1);
    assert_int_equal(train_spread(place, 11, threads, 2, 1.1, load), 5);
}

/* The worker takes twice as long for everything, which is not the executors' fault. */
static void a_slow_worker_is_left_with_what_it_can_do_in_the_time_of_the_others(void **state)
{
    struct train_place place[MANY];
    const uint32_t threads[] = {1, 1, 1, 1};
    double load[4];
    uint32_t left = 0;

    (void)state;
    for (uint32_t e = 0; e < MANY; e++)
        place[e] = (struct train_place){e % 4, e % 4 == 2 ? 2 : 1};
    uint32_t moved = train_spread(place, MANY, threads, 4, 1.02, load);
    for (uint32_t e = 0; e < MANY; e++) {
        left += place[e].worker == 2;
        assert_true(place[e].cost == (place[e].worker == 2 ? 2 : 1));
    }
    assert_int_equal(left, 9); /* 18 of time, as 18 or 19 executors of the others take */
    assert_int_equal(moved, 16 - 9);
    assert_int_equal(train_spread(place, MANY, threads, 4, 1.02, load), 0);
}

/* What looked like a slow worker had large executors: they cost as much where they went. */
static void large_executors_do_not_go_to_and_fro(void **state)
{
    struct train_place place[MANY];
    const uint32_t threads[] = {1, 1};
    double load[2];

    (void)state;
    for (uint32_t e = 0; e < MANY; e++)
        place[e] = (struct train_place){e % 2, e % 2 == 0 ? 3 : 1};
    uint32_t rounds = 0;
    while (train_spread(place, MANY, threads, 2, 1.02, load) > 0 && rounds++ < 10)
        for (uint32_t e = 0; e < MANY; e++)
            place[e].cost = e % 2 == 0 ? 3 : 1; /* as measured */
    assert_true(rounds < 10);
    assert_true(fabs(load[0] - load[1]) <= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_without_a_place_are_spread_evenly),
        cmocka_unit_test(unevenness_within_the_slack_stays),
        cmocka_unit_test(a_slow_worker_is_left_with_what_it_can_do_in_the_time_of_the_others),
        cmocka_unit_test(large_executors_do_not_go_to_and_fro),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
