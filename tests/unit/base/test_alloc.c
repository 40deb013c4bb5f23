/* Tests of src/base/alloc.c. */
#include "torture.h"

#include "base/alloc.h"
#include <string.h>

static void tracked_counts_follow_every_allocation_resize_and_free(void **state)
{
    (void)state;
    struct base_alloc_track track;
    base_alloc_track_init(&track, &base_alloc_libc);
    char *a = base_malloc(&track.alloc, 10);
    char *b = base_calloc(&track.alloc, 5, 4);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal((uintptr_t)a % 16, 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(b[i], 0);
    assert_int_equal(track.live_count, 2);
    assert_int_equal(track.live_bytes, 30);
    memset(a, 'x', 10);
    a = base_realloc(&track.alloc, a, 1000);
    assert_non_null(a);
    for (int i = 0; i < 10; i++)
        assert_int_equal(a[i], 'x');
    assert_int_equal(track.live_count, 2);
    assert_int_equal(track.live_bytes, 1020);
    base_free(&track.alloc, a);
    base_free(&track.alloc, b);
    base_free(&track.alloc, NULL);
    assert_int_equal(track.live_count, 0);
    assert_int_equal(track.live_bytes, 0);
    assert_int_equal(track.peak_bytes, 1020);
    assert_int_equal(track.calls, 3);
    assert_int_equal(track.failed, 0);
}

static void only_the_chosen_allocation_fails(void **state)
{
    (void)state;
    struct base_alloc_track track;
    base_alloc_track_init(&track, &base_alloc_libc);
    track.fail_at = 2;
    void *a = base_malloc(&track.alloc, 1);
    void *b = base_malloc(&track.alloc, 1);
    void *c = base_malloc(&track.alloc, 1);
    assert_non_null(a);
    assert_null(b);
    assert_non_null(c);
    assert_int_equal(track.failed, 1);
    base_free(&track.alloc, a);
    base_free(&track.alloc, c);
    assert_int_equal(track.live_count, 0);
}

static void every_later_allocation_fails_when_asked_and_the_old_block_stays(void **state)
{
    (void)state;
    struct base_alloc_track track;
    base_alloc_track_init(&track, &base_alloc_libc);
    track.fail_at = 2;
    track.fail_after = 1;
    char *a = base_strdup(&track.alloc, "kept");
    assert_non_null(a);
    assert_null(base_realloc(&track.alloc, a, 100));
    assert_null(base_malloc(&track.alloc, 1));
    assert_string_equal(a, "kept");
    assert_int_equal(track.failed, 2);
    assert_int_equal(track.live_bytes, 5);
    base_free(&track.alloc, a);
    assert_int_equal(track.live_count, 0);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    struct base_alloc_track track;
    base_alloc_track_init(&track, &base_alloc_libc);
    assert_null(base_calloc(&track.alloc, SIZE_MAX / 2, 3));
    assert_null(base_malloc(&track.alloc, SIZE_MAX));
    assert_null(base_malloc(&track.alloc, SIZE_MAX - 8));
    void *data = NULL;
    size_t cap = 0;
    assert_int_equal(base_reserve(&track.alloc, &data, &cap, SIZE_MAX / 4, 8), -1);
    assert_null(data);
    assert_int_equal(cap, 0);
    assert_int_equal(track.live_count, 0);
}

static void reserve_keeps_the_elements_and_grows_by_doubling(void **state)
{
    (void)state;
    struct base_alloc_track track;
    base_alloc_track_init(&track, &base_alloc_libc);
    void *data = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < 10000; i++) {
        assert_int_equal(base_reserve(&track.alloc, &data, &cap, i + 1, sizeof(size_t)), 0);
        assert_true(cap > i);
        ((size_t *)data)[i] = i;
    }
    for (size_t i = 0; i < 10000; i++)
        assert_int_equal(((size_t *)data)[i], i);
    assert_true(track.calls < 20);
    base_free(&track.alloc, data);
    assert_int_equal(track.live_count, 0);
}

static void failed_reserve_changes_nothing(void **state)
{
    (void)state;
    struct base_alloc_track track;
    base_alloc_track_init(&track, &base_alloc_libc);
    void *data = NULL;
    size_t cap = 0;
    assert_int_equal(base_reserve(&track.alloc, &data, &cap, 4, 1), 0);
    memcpy(data, "abc", 4);
    void *data_before = data;
    size_t cap_before = cap;
    track.fail_at = track.calls + 1;
    assert_int_equal(base_reserve(&track.alloc, &data, &cap, 1000, 1), -1);
    assert_ptr_equal(data, data_before);
    assert_int_equal(cap, cap_before);
    assert_string_equal((char *)data, "abc");
    base_free(&track.alloc, data);
}

static void empty_requests_still_give_a_block(void **state)
{
    (void)state;
    void *p = base_malloc(&base_alloc_libc, 0);
    assert_non_null(p);
    base_free(&base_alloc_libc, p);
    p = base_calloc(&base_alloc_libc, 0, 8);
    assert_non_null(p);
    base_free(&base_alloc_libc, p);
}

/* The harness itself: what it must catch, seen from its one run. */
static shoal_status two_blocks(const struct base_alloc *alloc, void *ctx)
{
    int *runs = ctx;
    ++*runs;
    void *a = base_malloc(alloc, 1);
    void *b = base_malloc(alloc, 1);
    shoal_status st = a != NULL && b != NULL ? SHOAL_OK : SHOAL_E_NOMEM;
    base_free(alloc, a);
    base_free(alloc, b);
    return st;
}

static void torture_visits_every_allocation_in_both_modes(void **state)
{
    (void)state;
    int runs = 0;
    torture_run(two_blocks, &runs);
    assert_int_equal(runs, 1 + 3 + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tracked_counts_follow_every_allocation_resize_and_free),
        cmocka_unit_test(only_the_chosen_allocation_fails),
        cmocka_unit_test(every_later_allocation_fails_when_asked_and_the_old_block_stays),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(reserve_keeps_the_elements_and_grows_by_doubling),
        cmocka_unit_test(failed_reserve_changes_nothing),
        cmocka_unit_test(empty_requests_still_give_a_block),
        cmocka_unit_test(torture_visits_every_allocation_in_both_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
