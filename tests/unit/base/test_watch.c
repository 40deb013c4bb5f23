/* test_watch.c - a watch counts and stops, from any thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/watch.h"
#include <pthread.h>

static void *work_until_stopped(void *ctx)
{
    shoal_watch *watch = ctx;

    base_watch_begin(watch, "jobs", 7);
    while (!base_watch_stopped(watch))
        atomic_fetch_add_explicit(base_watch_done(watch), 1, memory_order_relaxed);
    return NULL;
}

static void work_is_seen_and_ends_when_told_to(void **state)
{
    shoal_watch *watch = shoal_watch_new();
    pthread_t thread;
    (void)state;

    assert_non_null(watch);
    assert_string_equal(shoal_watch_look(watch).what, "");
    assert_int_equal(pthread_create(&thread, NULL, work_until_stopped, watch), 0);
    while (shoal_watch_look(watch).done < 100)
        ;
    assert_string_equal(shoal_watch_look(watch).what, "jobs");
    assert_int_equal(shoal_watch_look(watch).total, 7);
    shoal_watch_stop(watch);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(base_watch_stopped(watch));
    shoal_watch_free(watch);
}

static void work_without_a_watch_goes_on(void **state)
{
    (void)state;
    base_watch_begin(NULL, "jobs", 7);
    shoal_watch_stop(NULL);
    shoal_watch_free(NULL);
    assert_false(base_watch_stopped(NULL));
    assert_null(base_watch_done(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_seen_and_ends_when_told_to),
        cmocka_unit_test(work_without_a_watch_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
