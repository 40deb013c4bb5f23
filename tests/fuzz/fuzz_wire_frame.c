/* fuzz_wire_frame.c - any bytes as a stream of units: whole or in pieces, the reader must see the
 * same units and come to the same verdict, with nothing read outside of them. Byte 0 chooses: bit 0,
 * an open reader; bit 1, the rest is not the stream but describes frames, which are sealed rightly,
 * so that what lies behind the checksums is reached too. */
#include "base/assert.h"
#include "base/rand.h"
#include "wire/frame.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEED = 5 };

struct verdict {
    shoal_status status;
    size_t units, messages, bytes;
    uint64_t sum; /* of all that was seen, in order */
};

static void add(struct verdict *v, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        v->sum = v->sum * 1099511628211u + ((const unsigned char *)bytes)[i] + 1;
}

static void look(struct verdict *v, const struct wire_unit *unit)
{
    v->units++;
    if (unit->is_hello) {
        add(v, unit->record, WIRE_HELLO_SIZE);
        return;
    }
    struct wire_message message;
    size_t offset = 0;
    shoal_status st = SHOAL_OK;
    add(v, &unit->frame.sequence, 8);
    shoal_assert((uintptr_t)unit->frame.payload % 8 == 0);
    shoal_assert(unit->frame.size <= WIRE_PAYLOAD_MAX);
    while ((st = wire_message_next(&unit->frame, &offset, &message)) == SHOAL_OK) {
        v->messages++;
        v->bytes += message.size;
        shoal_assert((uintptr_t)message.bytes % 8 == 0);
        add(v, message.bytes, message.size);
    }
    shoal_assert(st == SHOAL_END || st == SHOAL_E_FORMAT);
}

static struct verdict read_all(const uint8_t *stream, size_t size, bool open, size_t piece_max)
{
    struct verdict v = {.status = SHOAL_AGAIN};
    struct wire_reader reader;
    struct base_rand rand;
    base_rand_init(&rand, size, "pieces");
    wire_reader_init(&reader, &base_alloc_libc);
    reader.open = open;
    reader.seed = SEED;
    while (size > 0 && v.status == SHOAL_AGAIN) {
        size_t part = 1 + base_rand_below(&rand, piece_max);
        shoal_err err = SHOAL_ERR_INIT;
        struct wire_unit unit;
        if (part > size)
            part = size;
        uint8_t *copy = malloc(part); /* of exactly this size, for sanitizers */
        shoal_assert(copy != NULL);
        memcpy(copy, stream, part);
        const unsigned char *at = copy;
        stream += part;
        size -= part;
        while ((v.status = wire_reader_next(&reader, "x", &at, &part, &unit, &err)) == SHOAL_OK)
            look(&v, &unit);
        shoal_assert(v.status == SHOAL_AGAIN ? part == 0 : err.code == v.status);
        free(copy);
    }
    shoal_assert(open || reader.large == NULL);
    wire_reader_fini(&reader);
    return v;
}

/* Each: kind, sequence, size in eights, then that many bytes of payload. */
static size_t seal_frames(const uint8_t *data, size_t size, uint8_t *out)
{
    size_t used = 0;
    while (size >= 3) {
        size_t payload = (size_t)(data[2] % 32) * 8;
        if (payload > size - 3)
            payload = (size - 3) & ~(size_t)7;
        memcpy(out + used + WIRE_FRAME_HEAD, data + 3, payload);
        wire_frame_seal(out + used, (enum wire_frame_kind)(data[0] % 5), data[1], data[0], payload,
                        SEED);
        used += WIRE_FRAME_HEAD + payload;
        data += 3 + payload;
        size -= 3 + payload;
    }
    return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bool open = data[0] & 1;
    uint8_t *stream = malloc(size * (WIRE_FRAME_HEAD + 8));
    shoal_assert(stream != NULL);
    memcpy(stream, data + 1, size - 1);
    size_t length = data[0] & 2 ? seal_frames(data + 1, size - 1, stream) : size - 1;
    struct verdict whole = read_all(stream, length, open, SIZE_MAX / 2);
    for (size_t piece_max = 1; piece_max <= 256; piece_max *= 4) {
        struct verdict parts = read_all(stream, length, open, piece_max);
        shoal_assert(parts.status == whole.status && parts.units == whole.units);
        shoal_assert(parts.messages == whole.messages && parts.sum == whole.sum);
    }
    free(stream);
    return 0;
}
