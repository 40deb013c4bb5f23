/* Tests of src/base/arena.c. */
#include "torture.h"

#include "base/arena.h"
#include "base/rand.h"
#include "property.h"
#include <string.h>

enum { PIECES = 400 };

/* Each piece is filled with its own byte; an overlap would show in another's. */
static void pieces_are_aligned_and_never_overlap(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "test.arena");
    for (int round = 0; round < property_count(20); round++) {
        struct base_arena arena;
        base_arena_init(&arena, &base_alloc_libc, 1 + base_rand_below(&r, 1024));
        unsigned char *pieces[PIECES];
        size_t sizes[PIECES];
        for (size_t i = 0; i < PIECES; i++) {
            sizes[i] = base_rand_below(&r, base_rand_below(&r, 20) == 0 ? 4000 : 100);
            pieces[i] = base_arena_alloc(&arena, sizes[i]);
            assert_non_null(pieces[i]);
            assert_int_equal((uintptr_t)pieces[i] % 16, 0);
            memset(pieces[i], (int)(i % 251), sizes[i]);
        }
        for (size_t i = 0; i < PIECES; i++) {
            for (size_t j = 0; j < sizes[i]; j++)
                assert_int_equal(pieces[i][j], i % 251);
        }
        base_arena_fini(&arena);
    }
}

static void a_loop_that_clears_stops_allocating(void **state)
{
    (void)state;
    const size_t shapes[][3] = {
        {10, 20, 30}, {5000, 5000, 5000}, {100, 90000, 17}, {4096, 1, 4096}};
    for (size_t s = 0; s < 4; s++) {
        struct base_alloc_track track;
        base_alloc_track_init(&track, &base_alloc_libc);
        struct base_arena arena;
        base_arena_init(&arena, &track.alloc, 4096);
        uint64_t calls_warm = 0;
        for (int round = 0; round < 10; round++) {
            for (int k = 0; k < 60; k++)
                assert_non_null(base_arena_alloc(&arena, shapes[s][k % 3]));
            base_arena_clear(&arena);
            if (round == 2)
                calls_warm = track.calls;
        }
        assert_int_equal(track.calls, calls_warm);
        assert_int_equal(track.live_count, 1);
        base_arena_fini(&arena);
        assert_int_equal(track.live_count, 0);
    }
}

static void a_large_piece_does_not_waste_the_block_in_use(void **state)
{
    (void)state;
    struct base_alloc_track track;
    base_alloc_track_init(&track, &base_alloc_libc);
    struct base_arena arena;
    base_arena_init(&arena, &track.alloc, 1024);
    assert_non_null(base_arena_alloc(&arena, 16));
    for (int i = 0; i < 10; i++) {
        assert_non_null(base_arena_alloc(&arena, 5000));
        assert_non_null(base_arena_alloc(&arena, 16));
    }
    assert_int_equal(track.live_count, 11);
    base_arena_fini(&arena);
}

static void zeroed_memory_is_zero_also_after_reuse(void **state)
{
    (void)state;
    struct base_arena arena;
    base_arena_init(&arena, &base_alloc_libc, 256);
    for (int round = 0; round < 3; round++) {
        unsigned char *p = base_arena_calloc(&arena, 10, 20);
        assert_non_null(p);
        for (int i = 0; i < 200; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xFF, 200);
        base_arena_clear(&arena);
    }
    base_arena_fini(&arena);
}

static void strings_are_copied_and_ended(void **state)
{
    (void)state;
    struct base_arena arena;
    base_arena_init(&arena, &base_alloc_libc, 0);
    assert_string_equal(base_arena_strndup(&arena, "hello world", 5), "hello");
    assert_string_equal(base_arena_strndup(&arena, NULL, 0), "");
    base_arena_fini(&arena);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    struct base_arena arena;
    base_arena_init(&arena, &base_alloc_libc, 64);
    assert_null(base_arena_alloc(&arena, SIZE_MAX));
    assert_null(base_arena_alloc(&arena, SIZE_MAX - 20));
    assert_null(base_arena_calloc(&arena, SIZE_MAX / 2, 4));
    assert_null(base_arena_strndup(&arena, "x", SIZE_MAX));
    assert_non_null(base_arena_alloc(&arena, 8));
    base_arena_fini(&arena);
}

static shoal_status fill(const struct base_alloc *alloc, void *ctx)
{
    (void)ctx;
    struct base_arena arena;
    base_arena_init(&arena, alloc, 128);
    shoal_status st = SHOAL_OK;
    for (size_t i = 0; i < 40 && st == SHOAL_OK; i++) {
        unsigned char *p = base_arena_calloc(&arena, 1, i * 9);
        if (p == NULL)
            st = SHOAL_E_NOMEM;
        if (i == 20)
            base_arena_clear(&arena);
    }
    /* the arena still works after a refusal */
    if (base_arena_alloc(&arena, 8) == NULL)
        st = SHOAL_E_NOMEM;
    base_arena_fini(&arena);
    return st;
}

static void every_failed_allocation_is_clean(void **state)
{
    (void)state;
    torture_run(fill, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_never_overlap),
        cmocka_unit_test(a_loop_that_clears_stops_allocating),
        cmocka_unit_test(a_large_piece_does_not_waste_the_block_in_use),
        cmocka_unit_test(zeroed_memory_is_zero_also_after_reuse),
        cmocka_unit_test(strings_are_copied_and_ended),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(every_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
