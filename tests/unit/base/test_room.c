/* Tests of src/base/room.c. */
#include "torture.h"

#include "base/room.h"
#include <string.h>

enum { ARRAYS = 5, STEPS = 40 };

static void arrays_keep_what_they_hold_while_all_of_them_grow(void **state)
{
    (void)state;
    struct base_alloc_track track;
    base_alloc_track_init(&track, &base_alloc_libc);
    struct base_room room = {.alloc = &track.alloc};
    uint32_t *array[ARRAYS] = {NULL};
    for (uint32_t n = 1; n <= STEPS; n++) {
        for (uint32_t a = 0; a < ARRAYS; a++) {
            size_t count = (size_t)n * (a + 1);
            BASE_ROOM(&room, array[a], count);
            assert_int_equal(base_room_status(&room), SHOAL_OK);
            assert_int_equal((uintptr_t)array[a] % 16, 0);
            for (size_t i = (n - 1) * (a + 1); i < count; i++)
                array[a][i] = (uint32_t)(i * ARRAYS + a);
        }
    }
    for (uint32_t a = 0; a < ARRAYS; a++)
        for (size_t i = 0; i < (size_t)STEPS * (a + 1); i++)
            assert_int_equal(array[a][i], i * ARRAYS + a);
    assert_int_equal(track.live_count, ARRAYS);
    assert_true(track.calls < (uint64_t)ARRAYS * 12); /* by doubling */
    base_room_fini(&room);
    assert_int_equal(track.live_count, 0);
}

static void an_array_with_room_stays_where_it_is_and_one_of_nothing_lies_somewhere(void **state)
{
    (void)state;
    struct base_room room = {.alloc = &base_alloc_libc};
    double *many = NULL, *none = NULL;
    BASE_ROOM(&room, many, 100);
    double *before = many;
    BASE_ROOM(&room, many, 7);
    BASE_ROOM(&room, none, 0);
    assert_int_equal(base_room_status(&room), SHOAL_OK);
    assert_ptr_equal(many, before);
    assert_non_null(none);
    base_room_fini(&room);
}

static void arrays_are_zeroed_on_request_also_when_they_are_used_again(void **state)
{
    (void)state;
    struct base_room room = {.alloc = &base_alloc_libc};
    uint16_t *marks = NULL;
    for (uint16_t count = 100; count > 90; count--) {
        BASE_ROOM_ZERO(&room, marks, count);
        assert_int_equal(base_room_status(&room), SHOAL_OK);
        for (uint16_t i = 0; i < count; i++)
            assert_int_equal(marks[i], 0);
        memset(marks, 0xff, count * sizeof *marks);
    }
    BASE_ROOM_ZERO(&room, marks, SIZE_MAX);
    assert_int_equal(marks[0], UINT16_MAX);
    assert_int_equal(base_room_status(&room), SHOAL_E_NOMEM);
    base_room_fini(&room);
}

static void want_of_memory_is_told_once_and_leaves_the_arrays(void **state)
{
    (void)state;
    struct base_alloc_track track;
    base_alloc_track_init(&track, &base_alloc_libc);
    struct base_room room = {.alloc = &track.alloc};
    char *text = NULL;
    double *none = NULL;
    BASE_ROOM(&room, text, 5);
    assert_int_equal(base_room_status(&room), SHOAL_OK);
    strcpy(text, "four");
    track.fail_at = track.calls + 1;
    track.fail_after = 1;
    char *before = text;
    BASE_ROOM(&room, text, 1000);
    BASE_ROOM(&room, none, 3);
    assert_ptr_equal(text, before);
    assert_string_equal(text, "four");
    assert_null(none);
    assert_int_equal(base_room_status(&room), SHOAL_E_NOMEM);
    assert_int_equal(base_room_status(&room), SHOAL_OK);
    track.fail_at = 0;
    BASE_ROOM(&room, none, SIZE_MAX / 4);
    assert_int_equal(base_room_status(&room), SHOAL_E_NOMEM);
    BASE_ROOM(&room, none, 3);
    assert_int_equal(base_room_status(&room), SHOAL_OK);
    assert_non_null(none);
    base_room_fini(&room);
    assert_int_equal(track.live_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_keep_what_they_hold_while_all_of_them_grow),
        cmocka_unit_test(an_array_with_room_stays_where_it_is_and_one_of_nothing_lies_somewhere),
        cmocka_unit_test(arrays_are_zeroed_on_request_also_when_they_are_used_again),
        cmocka_unit_test(want_of_memory_is_told_once_and_leaves_the_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
