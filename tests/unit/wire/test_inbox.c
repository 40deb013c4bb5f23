/* Tests of src/wire/boxes.c: the inbox. */
#include "property.h"
#include "torture.h"

#include "base/rand.h"
#include "wire/boxes.h"
#include <string.h>

/* Hands over frame `sequence`; checks and counts what becomes due. */
static void hand_over(struct wire_inbox *box, uint64_t sequence, uint64_t *expected)
{
    struct wire_early early;
    if (!wire_inbox_due(box, sequence, &sequence, sizeof sequence))
        return;
    assert_true(sequence == (*expected)++);
    while (wire_inbox_take(box, &early)) {
        assert_int_equal(early.size, sizeof sequence);
        assert_memory_equal(early.bytes, expected, sizeof sequence);
        (*expected)++;
        base_free(box->alloc, early.bytes);
    }
}

static void frames_in_any_order_with_copies_come_out_once_and_in_order(void **state)
{
    (void)state;

    for (int turn = 0; turn < property_count(200); turn++) {
        uint64_t frames[2000], expected = 1;
        struct base_rand rand;
        struct wire_inbox box;
        base_rand_init(&rand, (uint64_t)turn, "order");
        wire_inbox_init(&box, &base_alloc_libc);
        for (size_t i = 0; i < 2000; i++) /* each twice */
            frames[i] = 1 + i / 2;
        for (size_t i = 2000; i-- > 1;) {
            size_t other = base_rand_below(&rand, i + 1);
            uint64_t held = frames[i];
            frames[i] = frames[other];
            frames[other] = held;
        }
        for (size_t i = 0; i < 2000; i++)
            hand_over(&box, frames[i], &expected);
        assert_true(expected == 1001);
        assert_int_equal(box.bytes, 0);
        wire_inbox_fini(&box);
    }
}

static void in_order_nothing_is_allocated(void **state)
{
    struct base_alloc_track track;
    struct wire_inbox box;
    uint64_t expected = 1;
    (void)state;

    base_alloc_track_init(&track, &base_alloc_libc);
    wire_inbox_init(&box, &track.alloc);
    for (uint64_t i = 1; i <= 10000; i++)
        hand_over(&box, i, &expected);
    for (uint64_t i = 1; i <= 10000; i++)
        hand_over(&box, i, &expected);
    assert_int_equal(track.calls, 0);
    wire_inbox_fini(&box);
}

static void what_waits_is_bounded_in_frames_and_bytes(void **state)
{
    static char large[1 << 20];
    struct base_alloc_track track;
    struct wire_inbox box;
    uint64_t expected = 1;
    (void)state;

    base_alloc_track_init(&track, &base_alloc_libc);
    wire_inbox_init(&box, &track.alloc);
    for (uint64_t i = 2; i < 100; i++)
        assert_false(wire_inbox_due(&box, i, large, sizeof large));
    assert_true(box.bytes <= WIRE_INBOX_BYTES && track.live_bytes < WIRE_INBOX_BYTES + (1 << 20));
    wire_inbox_fini(&box);
    assert_int_equal(track.live_count, 0);

    wire_inbox_init(&box, &track.alloc);
    for (uint64_t i = 2; i < 3 * WIRE_INBOX_FRAMES; i++)
        hand_over(&box, i, &expected);
    hand_over(&box, UINT64_MAX, &expected);
    hand_over(&box, 1, &expected);
    assert_true(expected == WIRE_INBOX_FRAMES + 1); /* the rest must come again */
    wire_inbox_fini(&box);
    assert_int_equal(track.live_count, 0);
}

static shoal_status keep_some(const struct base_alloc *alloc, void *ctx)
{
    struct wire_inbox box;
    struct wire_early early;
    (void)ctx;
    wire_inbox_init(&box, alloc);
    for (uint64_t round = 0; round < 4 && box.next < 10; round++)
        for (uint64_t i = 9; i >= 1; i--)
            if (wire_inbox_due(&box, i, &i, sizeof i))
                while (wire_inbox_take(&box, &early))
                    base_free(alloc, early.bytes);
    shoal_status st = box.next >= 4 ? SHOAL_OK : SHOAL_E_INTERNAL; /* one a round without memory */
    wire_inbox_fini(&box);
    return st;
}

static void without_memory_early_frames_are_forgotten_and_nothing_else(void **state)
{
    (void)state;
    torture_run(keep_some, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_in_any_order_with_copies_come_out_once_and_in_order),
        cmocka_unit_test(in_order_nothing_is_allocated),
        cmocka_unit_test(what_waits_is_bounded_in_frames_and_bytes),
        cmocka_unit_test(without_memory_early_frames_are_forgotten_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
