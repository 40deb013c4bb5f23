/* Tests of src/wire/boxes.c: the outbox. */
#include "property.h"
#include "torture.h"

#include "base/rand.h"
#include "wire/boxes.h"
#include <stdlib.h>
#include <string.h>

enum { SEED = 4 };

static shoal_status put_as_buffer(struct wire_outbox *box, uint16_t kind, const void *bytes,
                                  size_t size)
{
    struct base_buf buf;
    base_buf_init(&buf, box->alloc, 1 << 21);
    wire_buf_begin(&buf);
    base_buf_append(&buf, bytes, size);
    shoal_status st = wire_outbox_put_buf(box, kind, &buf);
    if (st == SHOAL_OK) /* as when it was begun, or there was no memory for that */
        assert_true(buf.size == WIRE_BUF_ROOM || base_buf_status(&buf) == SHOAL_E_NOMEM);
    base_buf_fini(&buf);
    return st;
}

/* Puts message number `*next`: its bytes say which it is. */
static shoal_status put_so(struct wire_outbox *box, uint64_t *next, size_t size, bool as_buffer)
{
    static unsigned char bytes[1 << 20];
    memset(bytes, (int)(*next & 255), size);
    shoal_status st =
        as_buffer ? put_as_buffer(box, (uint16_t)*next, bytes, size)
                  : wire_outbox_put(box, (uint16_t)*next, bytes, size / 2, bytes, size - size / 2);
    if (st == SHOAL_OK)
        (*next)++;
    return st;
}

static shoal_status put(struct wire_outbox *box, uint64_t *next, size_t size)
{
    return put_so(box, next, size, false);
}

static shoal_status put_either(struct wire_outbox *box, uint64_t *next, size_t size)
{
    return put_so(box, next, size, *next % 3 == 1);
}

struct line { /* what a receiver without early frames would know */
    struct wire_reader reader;
    uint64_t frames, messages;
};

static void line_init(struct line *line)
{
    *line = (struct line){.frames = 0};
    wire_reader_init(&line->reader, &base_alloc_libc);
    line->reader.open = true;
    line->reader.seed = SEED;
}

static void line_hear(struct line *line, const unsigned char *bytes, size_t size)
{
    struct wire_unit unit;
    while (wire_reader_next(&line->reader, "x", &bytes, &size, &unit, NULL) == SHOAL_OK) {
        struct wire_message message;
        size_t offset = 0;
        if (unit.frame.sequence <= line->frames)
            continue;
        assert_true(unit.frame.sequence == line->frames + 1);
        line->frames++;
        while (wire_message_next(&unit.frame, &offset, &message) == SHOAL_OK) {
            assert_int_equal(message.kind, line->messages & 65535);
            for (size_t i = 0; i < message.size; i++)
                assert_int_equal(((const unsigned char *)message.bytes)[i], line->messages & 255);
            line->messages++;
        }
    }
    assert_int_equal(size, 0);
}

static bool line_again(void *ctx, const unsigned char *bytes, size_t size)
{
    line_hear(ctx, bytes, size);
    return true;
}

static void messages_come_out_in_order_and_lost_ones_again(void **state)
{
    (void)state;

    for (int turn = 0; turn < property_count(30); turn++) {
        struct base_rand rand;
        struct base_alloc_track track;
        struct wire_outbox box;
        struct line line;
        uint64_t next = 0, lost = 0;
        base_rand_init(&rand, (uint64_t)turn, "outbox");
        base_alloc_track_init(&track, &base_alloc_libc);
        wire_outbox_init(&box, &track.alloc, (size_t)1 << 30);
        wire_outbox_start(&box, SEED);
        line_init(&line);
        for (int step = 0; step < 400; step++) {
            const unsigned char *bytes = NULL;
            size_t size = 0;
            uint64_t many = base_rand_below(&rand, 30);
            for (uint64_t i = 0; i < many; i++)
                assert_int_equal(
                    put_either(
                        &box, &next,
                        base_rand_below(&rand, base_rand_below(&rand, 50) == 0 ? 200000 : 300)),
                    SHOAL_OK);
            if (base_rand_below(&rand, 2) == 0)
                wire_outbox_seal(&box);
            while (base_rand_below(&rand, 8) > 0 && wire_outbox_next(&box, &bytes, &size)) {
                if (lost == 0 && base_rand_below(&rand, 4) > 0)
                    line_hear(&line, bytes, size);
                else
                    lost++; /* and all behind it, for this receiver */
                wire_outbox_sent(&box);
            }
            if (base_rand_below(&rand, 4) == 0)
                assert_true(wire_outbox_acknowledge(&box, line.frames));
            if (base_rand_below(&rand, 8) == 0 && lost > 0) {
                assert_true(wire_outbox_acknowledge(&box, line.frames));
                (void)wire_outbox_again(&box, box.sent, SIZE_MAX, line_again, &line);
                assert_true(line.frames == box.sent);
                lost = 0;
            }
        }
        wire_outbox_seal(&box);
        for (const unsigned char *bytes = NULL; wire_outbox_waits(&box);) {
            size_t size = 0;
            assert_true(wire_outbox_next(&box, &bytes, &size));
            wire_outbox_sent(&box);
        }
        assert_true(wire_outbox_acknowledge(&box, line.frames));
        (void)wire_outbox_again(&box, box.sent, SIZE_MAX, line_again, &line);
        assert_true(line.messages == next && line.frames == box.sealed);
        assert_true(wire_outbox_acknowledge(&box, line.frames));
        assert_int_equal(box.kept, 0);
        assert_false(wire_outbox_busy(&box));
        assert_false(wire_outbox_acknowledge(&box, line.frames + 1));
        wire_reader_fini(&line.reader);
        wire_outbox_fini(&box);
        assert_int_equal(track.live_count, 0);
    }
}

static void a_steady_stream_allocates_nothing(void **state)
{
    struct base_alloc_track track;
    struct wire_outbox box;
    uint64_t next = 0, calls = 0;
    (void)state;

    base_alloc_track_init(&track, &base_alloc_libc);
    wire_outbox_init(&box, &track.alloc, (size_t)1 << 30);
    for (int i = 0; i < 100000; i++) {
        const unsigned char *bytes = NULL;
        size_t size = 0;
        assert_int_equal(put(&box, &next, 100), SHOAL_OK);
        if (i % 7 == 0)
            wire_outbox_seal(&box);
        while (wire_outbox_next(&box, &bytes, &size))
            wire_outbox_sent(&box);
        if (i % 1000 == 0)
            assert_true(wire_outbox_acknowledge(&box, box.sent));
        if (i == 10000)
            calls = track.calls;
    }
    assert_int_equal(track.calls, calls);
    wire_outbox_fini(&box);
}

static void a_full_outbox_says_so_and_takes_more_after_an_acknowledgement(void **state)
{
    struct wire_outbox box;
    uint64_t next = 0;
    size_t kept = 0;
    const unsigned char *bytes = NULL;
    size_t size = 0;
    (void)state;

    wire_outbox_init(&box, &base_alloc_libc, 1 << 20);
    while (put(&box, &next, 1000) == SHOAL_OK)
        kept = box.kept;
    assert_true(kept <= 1 << 20 && kept > (1 << 20) - 2000);
    assert_int_equal(put(&box, &next, 1000), SHOAL_E_LIMIT);
    assert_int_equal(box.kept, kept);
    wire_outbox_seal(&box);
    while (wire_outbox_next(&box, &bytes, &size))
        wire_outbox_sent(&box);
    assert_int_equal(put(&box, &next, 1000), SHOAL_E_LIMIT);
    assert_true(wire_outbox_acknowledge(&box, box.sent));
    assert_int_equal(put(&box, &next, 1000), SHOAL_OK);
    wire_outbox_fini(&box);
}

static void frames_sealed_before_the_seed_was_known_are_whole(void **state)
{
    struct wire_outbox box;
    struct line line;
    uint64_t next = 0;
    const unsigned char *bytes = NULL;
    size_t size = 0;
    (void)state;

    wire_outbox_init(&box, &base_alloc_libc, 1 << 20);
    line_init(&line);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(put(&box, &next, 1000), SHOAL_OK);
        if (i % 7 == 0)
            wire_outbox_seal(&box);
    }
    wire_outbox_start(&box, SEED);
    wire_outbox_seal(&box);
    while (wire_outbox_next(&box, &bytes, &size)) {
        line_hear(&line, bytes, size);
        wire_outbox_sent(&box);
    }
    assert_true(line.messages == 300);
    wire_reader_fini(&line.reader);
    wire_outbox_fini(&box);
}

static void an_acknowledgement_of_what_was_not_sent_is_refused(void **state)
{
    struct wire_outbox box;
    uint64_t next = 0;
    (void)state;

    wire_outbox_init(&box, &base_alloc_libc, 1 << 20);
    assert_int_equal(put(&box, &next, 10), SHOAL_OK);
    wire_outbox_seal(&box);
    assert_false(wire_outbox_acknowledge(&box, 1)); /* sealed, but nobody can have it */
    wire_outbox_fini(&box);
}

static void a_large_buffer_leaves_its_memory_and_the_next_one_gets_it(void **state)
{
    static const char body[100000];
    struct wire_outbox box;
    struct base_buf buf[2];
    const unsigned char *bytes = NULL;
    size_t size = 0;
    (void)state;

    wire_outbox_init(&box, &base_alloc_libc, 1 << 20);
    for (int i = 0; i < 2; i++) {
        base_buf_init(&buf[i], &base_alloc_libc, 1 << 20);
        wire_buf_begin(&buf[i]);
        base_buf_append(&buf[i], body, sizeof body);
    }
    const char *data = buf[0].data;
    assert_int_equal(wire_outbox_put_buf(&box, 1, &buf[0]), SHOAL_OK);
    assert_true(wire_outbox_next(&box, &bytes, &size));
    assert_ptr_equal(bytes, data);
    assert_true(buf[0].data != data);
    wire_outbox_sent(&box);
    assert_true(wire_outbox_acknowledge(&box, 1));
    assert_int_equal(box.kept, 0);
    assert_int_equal(wire_outbox_put_buf(&box, 1, &buf[1]), SHOAL_OK);
    assert_ptr_equal(buf[1].data, data);
    for (int i = 0; i < 2; i++)
        base_buf_fini(&buf[i]);
    wire_outbox_fini(&box);
}

static shoal_status fill_some(const struct base_alloc *alloc, void *ctx)
{
    struct wire_outbox box;
    uint64_t next = 0;
    shoal_status st = SHOAL_OK;
    (void)ctx;
    wire_outbox_init(&box, alloc, 1 << 30);
    for (int i = 0; i < 10 && st == SHOAL_OK; i++) {
        size_t kept = box.kept;
        st = put_either(&box, &next, i % 2 == 0 ? 40000 : 100000);
        if (st != SHOAL_OK && kept != box.kept)
            st = SHOAL_E_INTERNAL;
    }
    wire_outbox_fini(&box);
    return st;
}

static void putting_survives_every_failed_allocation(void **state)
{
    (void)state;
    torture_run(fill_some, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_out_in_order_and_lost_ones_again),
        cmocka_unit_test(a_steady_stream_allocates_nothing),
        cmocka_unit_test(a_full_outbox_says_so_and_takes_more_after_an_acknowledgement),
        cmocka_unit_test(frames_sealed_before_the_seed_was_known_are_whole),
        cmocka_unit_test(an_acknowledgement_of_what_was_not_sent_is_refused),
        cmocka_unit_test(a_large_buffer_leaves_its_memory_and_the_next_one_gets_it),
        cmocka_unit_test(putting_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
