/* frame.c - see frame.h. A unit that lies whole and aligned in the caller's piece is given back in
 * place; only those that straddle pieces, or begin at an odd address, are copied. */
#include "wire/frame.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include <string.h>
#ifdef SHOAL_XXH_DISPATCH
#include <immintrin.h>
#include <xxh_x86dispatch.h> /* the widest that this machine has, thrice as fast as the plain one */
#else
#include <xxhash.h>
#endif

enum { LARGE_KEPT_MAX = 4 << 20, CHECKED_HEAD = 32 };

/* --- sums --- */

#ifdef SHOAL_XXH_DISPATCH
/* The library leaves the upper halves of wide registers in use. As long as they are, every plain
 * floating-point instruction of the thread waits for them: whole jobs took up to three times as long. */
__attribute__((target("avx"))) static void clear_upper_halves(void)
{
    _mm256_zeroupper();
}

static uint64_t sum_of(const void *bytes, size_t size, uint64_t seed)
{
    uint64_t sum = XXH3_64bits_withSeed(bytes, size, seed);

    if (__builtin_cpu_supports("avx"))
        clear_upper_halves();
    return sum;
}
#else
static uint64_t sum_of(const void *bytes, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, size, seed);
}
#endif

/* --- writing --- */

void wire_frame_seal(unsigned char *bytes, enum wire_frame_kind kind, uint64_t sequence,
                     uint64_t acknowledged, size_t size, uint64_t seed)
{
    shoal_dassert(size <= WIRE_PAYLOAD_MAX && size % 8 == 0);
    base_put32(bytes, (uint32_t)size);
    base_put16(bytes + 4, WIRE_VERSION);
    base_put16(bytes + 6, (uint16_t)kind);
    base_put64(bytes + 8, sequence);
    base_put64(bytes + 16, acknowledged);
    base_put64(bytes + 24, sum_of(bytes + WIRE_FRAME_HEAD, size, seed));
    base_put64(bytes + CHECKED_HEAD, sum_of(bytes, CHECKED_HEAD, seed));
}

size_t wire_frame_extent(const unsigned char *bytes, uint64_t *out_sequence)
{
    *out_sequence = base_get64(bytes + 8);
    return WIRE_FRAME_HEAD + (size_t)base_get32(bytes);
}

void wire_message_head(unsigned char *at, uint16_t kind, size_t size)
{
    base_put16(at, kind);
    base_put16(at + 2, 0);
    base_put32(at + 4, (uint32_t)size);
    memset(at + WIRE_MESSAGE_HEAD + size, 0, wire_message_extent(size) - WIRE_MESSAGE_HEAD - size);
}

void wire_message_put(unsigned char *at, uint16_t kind, const void *head, size_t head_size,
                      const void *body, size_t body_size)
{
    wire_message_head(at, kind, head_size + body_size);
    if (head_size > 0)
        memcpy(at + WIRE_MESSAGE_HEAD, head, head_size);
    if (body_size > 0)
        memcpy(at + WIRE_MESSAGE_HEAD + head_size, body, body_size);
}

/* --- reading --- */

shoal_status wire_message_next(const struct wire_frame *frame, size_t *offset,
                               struct wire_message *out)
{
    size_t left = frame->size - *offset;
    if (left == 0)
        return SHOAL_END;
    if (left < WIRE_MESSAGE_HEAD)
        return SHOAL_E_FORMAT;
    const unsigned char *at = frame->payload + *offset;
    size_t size = base_get32(at + 4);
    if (base_get16(at + 2) != 0 || size > WIRE_MESSAGE_MAX || wire_message_extent(size) > left)
        return SHOAL_E_FORMAT;
    *offset += wire_message_extent(size);
    *out = (struct wire_message){base_get16(at), at + WIRE_MESSAGE_HEAD, size};
    return SHOAL_OK;
}

void wire_reader_init(struct wire_reader *reader, const struct base_alloc *alloc)
{
    *reader = (struct wire_reader){.alloc = alloc};
}

void wire_reader_fini(struct wire_reader *reader)
{
    base_free(reader->alloc, reader->large);
    reader->large = NULL;
    reader->large_size = 0;
}

static shoal_status not_ours(const char *address, shoal_err *err)
{
    return base_err(err, SHOAL_E_FORMAT, "'%s' does not speak this protocol", address);
}

static shoal_status is_tls(const char *address, shoal_err *err)
{
    shoal_status st =
        base_err(err, SHOAL_E_DENIED, "'%s' speaks TLS, this side was not told to", address);
    base_err_hint(err, "with 'tls://' in front of the address (or --tls) it does");
    return st;
}

static shoal_status damaged(const char *address, shoal_err *err)
{
    return base_err(err, SHOAL_E_FORMAT, "a frame from '%s' is damaged", address);
}

static bool head_is_sound(const unsigned char *head, uint64_t seed)
{
    size_t size = base_get32(head);
    uint16_t kind = base_get16(head + 6);
    if (base_get64(head + CHECKED_HEAD) != sum_of(head, CHECKED_HEAD, seed))
        return false;
    if (base_get16(head + 4) != WIRE_VERSION || kind > WIRE_ANSWER)
        return false;
    if (kind != WIRE_MESSAGES)
        return size == 0;
    return size > 0 && size <= WIRE_PAYLOAD_MAX && size % 8 == 0 && base_get64(head + 8) > 0;
}

/* How many bytes of the unit at `at`, of which `have` are known, must be known to say more: equal
 * to `have` when it is whole. Each byte is judged once it can be: a wrong first one is enough. */
static shoal_status extent(struct wire_reader *reader, const char *address, const unsigned char *at,
                           size_t have, size_t *out_size, shoal_err *err)
{
    size_t known = have < WIRE_MAGIC_SIZE ? have : WIRE_MAGIC_SIZE;
    bool is_magic = memcmp(at, WIRE_MAGIC, known) == 0;
    if (!is_magic && !reader->open) {
        reader->came_with_tls = *at == WIRE_TLS_ALERT || *at == WIRE_TLS_HANDSHAKE;
        return reader->came_with_tls ? is_tls(address, err) : not_ours(address, err);
    }
    if (is_magic && have < 8) {
        *out_size = 8;
        return SHOAL_OK;
    }
    if (is_magic) {
        uint16_t version = base_get16(at + WIRE_MAGIC_SIZE);
        if (version != WIRE_VERSION) {
            reader->version = version;
            return base_err(err, SHOAL_E_FORMAT,
                            "'%s' speaks version %u of the protocol, this side speaks version %d",
                            address, (unsigned)version, WIRE_VERSION);
        }
        *out_size = WIRE_HELLO_SIZE;
        return SHOAL_OK;
    }
    *out_size = WIRE_FRAME_HEAD;
    if (have < WIRE_FRAME_HEAD)
        return SHOAL_OK;
    if (have == WIRE_FRAME_HEAD && !head_is_sound(at, reader->seed))
        return damaged(address, err);
    *out_size += base_get32(at);
    return SHOAL_OK;
}

static shoal_status parse(const struct wire_reader *reader, const char *address,
                          const unsigned char *at, struct wire_unit *out, shoal_err *err)
{
    out->is_hello = memcmp(at, WIRE_MAGIC, WIRE_MAGIC_SIZE) == 0;
    if (out->is_hello) {
        out->record = at;
        return wire_hello_parse(at, &out->hello) ? SHOAL_OK : not_ours(address, err);
    }
    struct wire_frame *frame = &out->frame;
    frame->kind = (enum wire_frame_kind)base_get16(at + 6);
    frame->sequence = base_get64(at + 8);
    frame->acknowledged = base_get64(at + 16);
    frame->payload = at + WIRE_FRAME_HEAD;
    frame->size = base_get32(at);
    if (base_get64(at + 24) != sum_of(frame->payload, frame->size, reader->seed))
        return damaged(address, err);
    return SHOAL_OK;
}

/* Whether a whole unit lies at the front of an aligned piece; *out_size is its size then. */
static shoal_status whole_in_place(struct wire_reader *reader, const char *address,
                                   const unsigned char *at, size_t size, size_t *out_size,
                                   shoal_err *err)
{
    size_t have = size < 8 ? size : 8, want = 0;
    if ((uintptr_t)at % 8 != 0)
        return SHOAL_AGAIN;
    for (;;) {
        shoal_status st = extent(reader, address, at, have, &want, err);
        if (st != SHOAL_OK)
            return st;
        if (want > size)
            return SHOAL_AGAIN;
        if (want == have)
            break;
        have = want;
    }
    *out_size = have;
    return SHOAL_OK;
}

/* Room for a unit of `size` bytes whose first `have` are in `small`. */
static bool make_room(struct wire_reader *reader, size_t size)
{
    if (size <= sizeof reader->small)
        return true;
    if (reader->large_size < size) {
        base_free(reader->alloc, reader->large);
        reader->large_size = 0;
        reader->large = base_malloc(reader->alloc, size);
        if (reader->large == NULL)
            return false;
        reader->large_size = size;
    }
    memcpy(reader->large, reader->small, reader->have);
    return true;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Copies into the unit in progress until it is whole. */
static shoal_status gather(struct wire_reader *reader, const char *address,
                           const unsigned char **bytes, size_t *size, unsigned char **out_at,
                           shoal_err *err)
{
    size_t want = smaller(reader->have + *size, 8);
    unsigned char *at = reader->small;
    for (;;) {
        if (reader->have > 0) {
            shoal_status st = extent(reader, address, at, reader->have, &want, err);
            if (st != SHOAL_OK)
                return st;
        }
        if (want == reader->have)
            break;
        if (want > sizeof reader->small && reader->have == WIRE_FRAME_HEAD &&
            !make_room(reader, want))
            return base_err_nomem(err, "receiving a frame");
        at = want > sizeof reader->small ? reader->large : reader->small;
        size_t part = smaller(want - reader->have, *size);
        if (part == 0)
            return SHOAL_AGAIN;
        if (*bytes != at + reader->have) /* else it came where it belongs */
            memcpy(at + reader->have, *bytes, part);
        reader->have += part;
        *bytes += part;
        *size -= part;
    }
    reader->have = 0;
    *out_at = at;
    return SHOAL_OK;
}

size_t wire_reader_room(const struct wire_reader *reader, unsigned char **out_at)
{
    if (reader->have <= sizeof reader->small || reader->large == NULL)
        return 0;
    *out_at = reader->large + reader->have;
    return WIRE_FRAME_HEAD + (size_t)base_get32(reader->large) - reader->have;
}

shoal_status wire_reader_next(struct wire_reader *reader, const char *address,
                              const unsigned char **bytes, size_t *size, struct wire_unit *out,
                              shoal_err *err)
{
    shoal_status st = SHOAL_AGAIN;
    if (reader->have == 0 && reader->large_size > LARGE_KEPT_MAX)
        wire_reader_fini(reader);
    if (*size == 0)
        return st;
    if (reader->have == 0) {
        const unsigned char *at = *bytes;
        size_t used = 0;
        st = whole_in_place(reader, address, at, *size, &used, err);
        if (st == SHOAL_OK) {
            *bytes += used;
            *size -= used;
            return parse(reader, address, at, out, err);
        }
        if (st != SHOAL_AGAIN)
            return st;
    }
    unsigned char *at = NULL;
    st = gather(reader, address, bytes, size, &at, err);
    return st == SHOAL_OK ? parse(reader, address, at, out, err) : st;
}
