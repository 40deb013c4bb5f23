/* outbox.h - what one side has to say: gathered into frames, kept until the other side has it.
 *
 * Messages are appended to a frame that is open; sealing closes it and gives it its number. Frames
 * lie one behind the other in blocks, so that many of them leave in one call, and a block is used
 * again when all of it is acknowledged. A message that a block cannot take gets one of its own
 * size; one that comes as a buffer leaves its memory here and is not copied. In order in memory,
 * oldest first:
 *
 *     acknowledged (soon forgotten) | sent | sealed, to be sent | open
 *
 * Bounded by size_max bytes. Owner thread only. Tests: tests/unit/wire/test_outbox.c. */
#ifndef WIRE_OUTBOX_H
#define WIRE_OUTBOX_H

#include "base/buf.h"
#include "wire/frame.h"

enum { WIRE_OUTBOX_BUFFERS = 4 };

struct wire_block;

struct wire_outbox_buffer {
    unsigned char *data; /* NULL: none */
    size_t size;
};

struct wire_outbox {
    const struct base_alloc *alloc;
    size_t size_max;
    uint64_t seed;                   /* of the checksums */
    struct wire_block *first, *last; /* oldest, newest */
    struct wire_block *sending;      /* the one with the first byte not sent, or the last */
    struct wire_block *spare;
    uint32_t spare_count;
    struct wire_outbox_buffer buffer[WIRE_OUTBOX_BUFFERS]; /* to be buffers again */
    size_t kept;                                           /* bytes in use in all blocks */
    size_t open;     /* where the open frame begins in the last block; SIZE_MAX: none */
    uint64_t sealed; /* number of the last frame sealed, 0 before the first */
    uint64_t sent;   /* of the last one sent */
    uint64_t acknowledged;
    uint64_t
        receipt; /* set by the owner: what the heads of frames sealed from now on acknowledge */
    uint64_t
        told; /* the receipt of the last frame sent; the owner sets it when it told otherwise */
};

void wire_outbox_init(struct wire_outbox *box, const struct base_alloc *alloc, size_t size_max);
void wire_outbox_fini(struct wire_outbox *box);

/* Sets the seed of the checksums, also of frames that were sealed before it was known. Before the
 * first is sent. */
void wire_outbox_start(struct wire_outbox *box, uint64_t seed);
/* Appends a message; seals the open frame where a block is full. SHOAL_E_LIMIT, SHOAL_E_NOMEM:
 * nothing has changed. */
SHOAL_MUST_USE shoal_status wire_outbox_put(struct wire_outbox *box, uint16_t kind,
                                            const void *head, size_t head_size, const void *body,
                                            size_t body_size);
/* The same for a buffer that was begun by wire_buf_begin, of the same allocator. It is begun again,
 * with other memory. On failure it has what it had. */
SHOAL_MUST_USE shoal_status wire_outbox_put_buf(struct wire_outbox *box, uint16_t kind,
                                                struct base_buf *buf);
/* Seals the open frame, if there is one. */
void wire_outbox_seal(struct wire_outbox *box);
/* Sealed frames wait to be sent. */
static inline bool wire_outbox_waits(const struct wire_outbox *box)
{
    return box->sealed > box->sent;
}
/* Something is not yet acknowledged, or not even sent. */
static inline bool wire_outbox_busy(const struct wire_outbox *box)
{
    return box->sealed > box->acknowledged || box->open != SIZE_MAX;
}
/* The next sealed frames that lie together; false: none waits. */
bool wire_outbox_next(struct wire_outbox *box, const unsigned char **out_bytes, size_t *out_size);
/* All that wire_outbox_next gave just now is on its way. */
void wire_outbox_sent(struct wire_outbox *box);
/* Frames up to this number have arrived. False: it was never sent. */
SHOAL_MUST_USE bool wire_outbox_acknowledge(struct wire_outbox *box, uint64_t sequence);
/* Gives the frames from the first not acknowledged up to `last` (which was sent) to `give`, in runs
 * that lie together, until it returns false or about size_max bytes are given. Returns how many
 * frames those were. */
uint64_t wire_outbox_again(const struct wire_outbox *box, uint64_t last, size_t size_max,
                           bool (*give)(void *ctx, const unsigned char *bytes, size_t size),
                           void *ctx);

#endif
