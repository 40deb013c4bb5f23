/* Tests of src/wire/frame.c. */
#include "property.h"
#include "torture.h"

#include "base/assert.h"
#include "base/rand.h"
#include "base/bytes.h"
#include "wire/frame.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <stdlib.h>
#include <string.h>

enum { STREAM_MAX = 1 << 20, SEED = 99 };

static struct wire_hello a_hello(void)
{
    struct wire_hello hello = {.kind = WIRE_HELLO, .role = WIRE_CLIENT};
    memset(hello.nonce, 7, sizeof hello.nonce);
    return hello;
}

/* Appends a frame of one message of `size` bytes of `value`. */
static size_t put_frame(unsigned char *at, uint64_t sequence, uint16_t kind, unsigned char value,
                        size_t size)
{
    unsigned char *body = malloc(size + 1);
    shoal_assert(body != NULL);
    memset(body, value, size);
    wire_message_put(at + WIRE_FRAME_HEAD, kind, body, size / 3, body, size - size / 3);
    wire_frame_seal(at, WIRE_MESSAGES, sequence, sequence / 2, wire_message_extent(size), SEED);
    free(body);
    return WIRE_FRAME_HEAD + wire_message_extent(size);
}

/* The frame says what put_frame(…, sequence, sequence, sequence, size) put. */
static void check_frame(const struct wire_frame *frame, uint64_t sequence, size_t size)
{
    struct wire_message message;
    size_t offset = 0;
    assert_true(frame->kind == WIRE_MESSAGES && frame->sequence == sequence);
    assert_true(frame->acknowledged == sequence / 2);
    assert_int_equal(wire_message_next(frame, &offset, &message), SHOAL_OK);
    assert_int_equal(message.kind, sequence);
    assert_int_equal(message.size, size);
    assert_int_equal((uintptr_t)message.bytes % 8, 0);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(((const unsigned char *)message.bytes)[i], sequence & 255);
    assert_int_equal(wire_message_next(frame, &offset, &message), SHOAL_END);
}

static size_t drawn_size(struct base_rand *rand)
{
    switch (base_rand_below(rand, 4)) {
    case 0: return 0;
    case 1: return base_rand_below(rand, 64);
    case 2: return base_rand_below(rand, 2000);
    default: return base_rand_below(rand, 30000);
    }
}

static void a_stream_in_pieces_of_any_size_gives_the_same_units(void **state)
{
    unsigned char *stream = aligned_alloc(64, STREAM_MAX), *piece = aligned_alloc(64, STREAM_MAX);
    (void)state;

    for (int turn = 0; turn < property_count(300); turn++) {
        struct base_rand rand;
        struct wire_reader reader;
        struct wire_hello hello = a_hello();
        size_t sizes[20], size = 0, at = 0, got = 0;
        base_rand_init(&rand, (uint64_t)turn, "pieces");
        for (size_t i = 0; i < 20; i++) {
            sizes[i] = drawn_size(&rand);
            if (base_rand_below(&rand, 8) == 0) { /* a late copy of a record */
                wire_hello_format(&hello, stream + size);
                size += WIRE_HELLO_SIZE;
            }
            size += put_frame(stream + size, i + 1, (uint16_t)(i + 1), (unsigned char)(i + 1),
                              sizes[i]);
        }
        wire_reader_init(&reader, &base_alloc_libc);
        reader.open = true;
        reader.seed = SEED;
        while (at < size) {
            size_t most = (size_t)1 << base_rand_below(&rand, 17), odd = base_rand_below(&rand, 9);
            size_t left = 1 + base_rand_below(&rand, most);
            if (left > size - at)
                left = size - at;
            unsigned char *place = piece + odd;
            size_t room = base_rand_below(&rand, 2) == 0 ? wire_reader_room(&reader, &place) : 0;
            if (room > 0 && left > room)
                left = room;
            memcpy(place, stream + at, left);
            at += left;
            const unsigned char *bytes = place;
            struct wire_unit unit;
            shoal_status st = SHOAL_OK;
            while ((st = wire_reader_next(&reader, "x", &bytes, &left, &unit, NULL)) == SHOAL_OK)
                if (!unit.is_hello) {
                    assert_true(got < 20);
                    check_frame(&unit.frame, got + 1, sizes[got]);
                    got++;
                } else {
                    assert_memory_equal(unit.hello.nonce, hello.nonce, WIRE_NONCE_SIZE);
                }
            assert_int_equal(st, SHOAL_AGAIN);
            assert_int_equal(left, 0);
        }
        assert_int_equal(got, 20);
        wire_reader_fini(&reader);
    }
    free(stream);
    free(piece);
}

/* What a fresh reader makes of the bytes: the first status that is not SHOAL_OK. */
static shoal_status verdict(const unsigned char *bytes, size_t size, bool open, shoal_err *err)
{
    struct wire_reader reader;
    struct wire_unit unit;
    shoal_status st = SHOAL_OK;
    wire_reader_init(&reader, &base_alloc_libc);
    reader.open = open;
    reader.seed = SEED;
    while (st == SHOAL_OK)
        st = wire_reader_next(&reader, "h:1", &bytes, &size, &unit, err);
    wire_reader_fini(&reader);
    return st;
}

static void every_flipped_bit_of_a_frame_is_found(void **state)
{
    _Alignas(8) unsigned char frame[256];
    size_t size = put_frame(frame, 1, 1, 1, 77);
    shoal_err err = SHOAL_ERR_INIT;
    (void)state;

    assert_int_equal(verdict(frame, size, true, &err), SHOAL_AGAIN);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        frame[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_int_equal(verdict(frame, size, true, &err), SHOAL_E_FORMAT);
        assert_string_equal(err.message, "a frame from 'h:1' is damaged");
        frame[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

static void a_wrong_length_is_found_before_it_is_waited_for(void **state)
{
    _Alignas(8) unsigned char frame[256];
    (void)state;

    (void)put_frame(frame, 1, 1, 1, 77);
    base_put32(frame, WIRE_PAYLOAD_MAX);
    assert_int_equal(verdict(frame, WIRE_FRAME_HEAD, true, NULL), SHOAL_E_FORMAT);
    assert_int_equal(verdict(frame, WIRE_FRAME_HEAD - 1, true, NULL), SHOAL_AGAIN);
}

static void heads_that_nobody_writes_are_refused(void **state)
{
    static const struct {
        enum wire_frame_kind kind;
        uint64_t sequence;
        size_t size;
    } BAD[] = {{WIRE_MESSAGES, 1, 0},
               {WIRE_MESSAGES, 0, 8},
               {WIRE_ACK, 0, 8},
               {(enum wire_frame_kind)4, 0, 0}};
    _Alignas(8) unsigned char frame[64];
    (void)state;

    for (size_t i = 0; i < BASE_COUNT(BAD); i++) {
        memset(frame, 0, sizeof frame);
        wire_frame_seal(frame, BAD[i].kind, BAD[i].sequence, 0, BAD[i].size, SEED);
        assert_int_equal(verdict(frame, WIRE_FRAME_HEAD + BAD[i].size, true, NULL), SHOAL_E_FORMAT);
    }
}

static void a_frame_of_another_connection_is_damaged(void **state)
{
    _Alignas(8) unsigned char frame[64];
    (void)state;

    wire_frame_seal(frame, WIRE_ACK, 0, 0, 0, SEED);
    assert_int_equal(verdict(frame, WIRE_FRAME_HEAD, true, NULL), SHOAL_AGAIN);
    wire_frame_seal(frame, WIRE_ACK, 0, 0, 0, SEED + 1);
    assert_int_equal(verdict(frame, WIRE_FRAME_HEAD, true, NULL), SHOAL_E_FORMAT);
}

static void a_closed_reader_refuses_at_the_first_wrong_byte(void **state)
{
    struct wire_hello hello = a_hello();
    _Alignas(8) unsigned char bytes[WIRE_HELLO_SIZE];
    shoal_err err = SHOAL_ERR_INIT;
    (void)state;

    for (size_t at = 0; at < WIRE_MAGIC_SIZE; at++) {
        wire_hello_format(&hello, bytes);
        bytes[at] ^= 0x20;
        assert_int_equal(verdict(bytes, at, false, &err), SHOAL_AGAIN);
        assert_int_equal(verdict(bytes, at + 1, false, &err), SHOAL_E_FORMAT);
        assert_string_equal(err.message, "'h:1' does not speak this protocol");
    }
    wire_frame_seal(bytes, WIRE_ACK, 0, 0, 0, SEED);
    assert_int_equal(verdict(bytes, WIRE_FRAME_HEAD, false, NULL), SHOAL_E_FORMAT);
}

static void another_version_is_named_with_ours_after_eight_bytes(void **state)
{
    struct wire_hello hello = a_hello();
    _Alignas(8) unsigned char bytes[WIRE_HELLO_SIZE];
    shoal_err err = SHOAL_ERR_INIT;
    (void)state;

    wire_hello_format(&hello, bytes);
    base_put16(bytes + WIRE_MAGIC_SIZE, 513);
    assert_int_equal(verdict(bytes, 7, false, &err), SHOAL_AGAIN);
    assert_int_equal(verdict(bytes, 8, false, &err), SHOAL_E_FORMAT);
    assert_string_equal(err.message,
                        "'h:1' speaks version 513 of the protocol, this side speaks version 1");
}

static void a_stranger_makes_the_reader_allocate_nothing(void **state)
{
    struct base_alloc_track track;
    struct wire_reader reader;
    struct wire_unit unit;
    struct wire_hello hello = a_hello();
    unsigned char record[WIRE_HELLO_SIZE];
    (void)state;

    base_alloc_track_init(&track, &base_alloc_libc);
    wire_reader_init(&reader, &track.alloc);
    wire_hello_format(&hello, record);
    for (size_t i = 0; i < 100 * sizeof record; i++) {
        const unsigned char *bytes = &record[i % sizeof record];
        size_t size = 1;
        shoal_status st = wire_reader_next(&reader, "x", &bytes, &size, &unit, NULL);
        assert_int_equal(st, i % sizeof record == sizeof record - 1 ? SHOAL_OK : SHOAL_AGAIN);
    }
    assert_int_equal(track.calls, 0);
    wire_reader_fini(&reader);
}

static void messages_that_do_not_fit_their_frame_are_refused(void **state)
{
    _Alignas(8) unsigned char payload[64] = {0};
    struct wire_frame frame = {WIRE_MESSAGES, 1, 0, payload, 24};
    struct wire_message message;
    size_t offset = 0;
    (void)state;

    wire_message_put(payload, 5, "abc", 3, "defgh", 5);
    assert_int_equal(wire_message_next(&frame, &offset, &message), SHOAL_OK);
    assert_memory_equal(message.bytes, "abcdefgh", 8);
    base_put32(payload + 16 + 4, 1); /* its byte is behind the frame */
    assert_int_equal(wire_message_next(&frame, &offset, &message), SHOAL_E_FORMAT);
    base_put32(payload + 16 + 4, UINT32_MAX);
    assert_int_equal(wire_message_next(&frame, &offset, &message), SHOAL_E_FORMAT);
    base_put32(payload + 16 + 4, 0);
    base_put16(payload + 16 + 2, 1);
    assert_int_equal(wire_message_next(&frame, &offset, &message), SHOAL_E_FORMAT);
    base_put16(payload + 16 + 2, 0);
    assert_int_equal(wire_message_next(&frame, &offset, &message), SHOAL_OK);
    assert_int_equal(wire_message_next(&frame, &offset, &message), SHOAL_END);
}

static void the_padding_of_a_message_is_zero(void **state)
{
    unsigned char at[64];
    (void)state;

    for (size_t size = 0; size <= 40; size++) {
        memset(at, 0xee, sizeof at);
        wire_message_put(at, 1, "0123456789012345678901234567890123456789", size, NULL, 0);
        for (size_t i = WIRE_MESSAGE_HEAD + size; i < wire_message_extent(size); i++)
            assert_int_equal(at[i], 0);
        assert_int_equal(at[wire_message_extent(size)], 0xee);
    }
}

static shoal_status read_in_pieces(const struct base_alloc *alloc, void *ctx)
{
    const unsigned char *bytes = ctx;
    struct wire_reader reader;
    struct wire_unit unit;
    shoal_status st = SHOAL_AGAIN;
    size_t left = WIRE_FRAME_HEAD + wire_message_extent(5000);
    wire_reader_init(&reader, alloc);
    reader.open = true;
    reader.seed = SEED;
    while (st == SHOAL_AGAIN && left > 0) {
        size_t part = left < 100 ? left : 100;
        left -= part;
        st = wire_reader_next(&reader, "x", &bytes, &part, &unit, NULL);
    }
    wire_reader_fini(&reader);
    return st;
}

static void reading_survives_every_failed_allocation(void **state)
{
    _Alignas(8) unsigned char frame[6000];
    (void)state;

    (void)put_frame(frame, 1, 1, 1, 5000);
    torture_run(read_in_pieces, frame);
}

#if defined(__x86_64__)
/* What the processor says is in use of the upper halves of registers: bits 2 and 6. */
static bool reads_use(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE) != 0 &&
           __get_cpuid_count(0xd, 1, &a, &b, &c, &d) && (a & 1u << 2) != 0;
}

static uint32_t upper_halves(void)
{
    uint32_t low, high;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low & (1u << 2 | 1u << 6);
}

/* Plain code of the thread would wait for them at every instruction. */
static void sums_leave_no_wide_register_in_use(void **state)
{
    static unsigned char at[1 << 16];

    (void)state;
    if (!reads_use())
        skip();
    for (size_t size = 16; size < sizeof at / 2; size *= 2) {
        put_frame(at, 1, 20, 3, size);
        assert_int_equal(upper_halves(), 0);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_in_pieces_of_any_size_gives_the_same_units),
        cmocka_unit_test(every_flipped_bit_of_a_frame_is_found),
        cmocka_unit_test(a_wrong_length_is_found_before_it_is_waited_for),
        cmocka_unit_test(heads_that_nobody_writes_are_refused),
        cmocka_unit_test(a_frame_of_another_connection_is_damaged),
        cmocka_unit_test(a_closed_reader_refuses_at_the_first_wrong_byte),
        cmocka_unit_test(another_version_is_named_with_ours_after_eight_bytes),
        cmocka_unit_test(a_stranger_makes_the_reader_allocate_nothing),
        cmocka_unit_test(messages_that_do_not_fit_their_frame_are_refused),
        cmocka_unit_test(the_padding_of_a_message_is_zero),
        cmocka_unit_test(reading_survives_every_failed_allocation),
#if defined(__x86_64__)
        cmocka_unit_test(sums_leave_no_wide_register_in_use),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
