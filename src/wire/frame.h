/* frame.h - what flows on a connection, as bytes: records of the handshake, then frames.
 *
 *   frame:    size u32 | version u16 | kind u16 | sequence u64 | acknowledged u64 |
 *             checksum of the payload u64 | checksum of these 32 bytes u64 | payload
 *   payload:  messages, each: kind u16 | 0 u16 | size u32 | bytes | zeros up to a multiple of 8
 *
 * All little-endian; a frame is a multiple of 8 bytes, so a payload that starts aligned stays so.
 * The head has a checksum of its own: a wrong length is found after 40 bytes and is never waited
 * for. Checksums are XXH3-64 with a seed of the connection and direction.
 *
 * A reader takes a stream in pieces of any size and gives it back in whole units. Until it is
 * opened it knows only handshake records, keeps at most one of them, and allocates nothing: that is
 * all that a stranger can reach. Owner thread only. Tests: tests/unit/wire/test_frame.c,
 * tests/fuzz/fuzz_wire_frame.c. */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include "wire/auth.h"

enum wire_frame_kind {
    WIRE_MESSAGES, /* sequence counts from 1 */
    WIRE_ACK,      /* no payload, as below; sequence 0 */
    WIRE_ASK,      /* sequence: the last one sent before this; wants an answer */
    WIRE_ANSWER    /* sequence: that of the question */
};
enum {
    WIRE_FRAME_HEAD = 40,
    WIRE_MESSAGE_HEAD = 8,
    WIRE_PAYLOAD_MAX = WIRE_MESSAGE_MAX + WIRE_MESSAGE_HEAD
};
_Static_assert((int)WIRE_BUF_ROOM == WIRE_FRAME_HEAD + WIRE_MESSAGE_HEAD, "room for both");

struct wire_frame {
    enum wire_frame_kind kind;
    uint64_t sequence, acknowledged;
    const unsigned char *payload; /* aligned to 8 */
    size_t size;                  /* of the payload */
};

/* Writes the head over the first WIRE_FRAME_HEAD bytes; the payload lies behind it. */
void wire_frame_seal(unsigned char *bytes, enum wire_frame_kind kind, uint64_t sequence,
                     uint64_t acknowledged, size_t size, uint64_t seed);
/* Size with its head of a frame that was sealed here, and its sequence. */
size_t wire_frame_extent(const unsigned char *bytes, uint64_t *out_sequence);

static inline size_t wire_message_extent(size_t size)
{
    return WIRE_MESSAGE_HEAD + ((size + 7) & ~(size_t)7);
}
/* The head of a message whose bytes lie behind it, and what pads them. */
void wire_message_head(unsigned char *at, uint16_t kind, size_t size);
/* One message of two parts at `at`, which has room for its extent. */
void wire_message_put(unsigned char *at, uint16_t kind, const void *head, size_t head_size,
                      const void *body, size_t body_size);

struct wire_message {
    uint16_t kind;
    const void *bytes; /* aligned as the payload */
    size_t size;
};
/* The message at *offset, which moves behind it. SHOAL_END after the last. */
SHOAL_MUST_USE shoal_status wire_message_next(const struct wire_frame *frame, size_t *offset,
                                              struct wire_message *out);

/* --- reading --- */

/* What the records of TLS begin with where a handshake is due: told apart from garbage. */
enum { WIRE_TLS_ALERT = 21, WIRE_TLS_HANDSHAKE = 22 };

struct wire_reader {
    const struct base_alloc *alloc;
    bool open;            /* frames are read too */
    uint64_t seed;        /* of their checksums */
    uint16_t version;     /* other than ours, that a record began with; else 0 */
    bool came_with_tls;   /* what came first is a record of TLS */
    size_t have;          /* bytes of an unfinished unit */
    unsigned char *large; /* where it is, when it is larger than `small` */
    size_t large_size;
    _Alignas(8) unsigned char small[WIRE_HELLO_SIZE];
};

struct wire_unit {
    bool is_hello;
    struct wire_hello hello;
    const unsigned char *record; /* the hello's bytes */
    struct wire_frame frame;
};

void wire_reader_init(struct wire_reader *reader, const struct base_alloc *alloc);
void wire_reader_fini(struct wire_reader *reader);
/* Takes bytes from the front of [*bytes, *bytes + *size). SHOAL_OK: one whole unit, valid until the
 * next call and as long as the bytes are. SHOAL_AGAIN: all bytes are taken, none is whole. Else the
 * stream is not ours (or memory is short) and the reader is of no more use; `err` tells of it with
 * `address` in front. */
SHOAL_MUST_USE shoal_status wire_reader_next(struct wire_reader *reader, const char *address,
                                             const unsigned char **bytes, size_t *size,
                                             struct wire_unit *out, shoal_err *err);
/* Where the rest of a large unit belongs and how much that is; 0: none is in progress. Bytes that
 * come there are given to wire_reader_next like any others, and are not copied. */
size_t wire_reader_room(const struct wire_reader *reader, unsigned char **out_at);
/* Whether who broke the reader would understand a record of ours as the answer. */
static inline bool wire_reader_answers(const struct wire_reader *reader)
{
    return reader->version != 0 || reader->came_with_tls;
}

#endif
