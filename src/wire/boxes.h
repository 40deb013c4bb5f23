/* boxes.h - what one side has to say, gathered into frames and kept until the other side has it; and frames that
 * came before their turn.
 *
 * Messages are appended to a frame that is open; sealing closes it and gives it its number. Frames
 * lie one behind the other in blocks, so that many of them leave in one call, and a block is used
 * again when all of it is acknowledged. A message that a block cannot take gets one of its own
 * size; one that comes as a buffer leaves its memory here and is not copied. In order in memory,
 * oldest first:
 *
 *     acknowledged (soon forgotten) | sent | sealed, to be sent | open
 *
 * Bounded by size_max bytes.
 *
 * An inbox tells frames apart by their numbers: the next one is for now, an older one is a copy, a later
 * one is kept until those before it are here. At most FRAMES and BYTES wait; what finds no room (or
 * no memory) is forgotten, and its sender sends it again. Nothing is allocated until the first
 * early frame, which on a real stream never comes.
 *
 * Owner thread only. Tests: tests/unit/wire/test_outbox.c, test_inbox.c. */
#ifndef WIRE_BOXES_H
#define WIRE_BOXES_H

#include "base/buf.h"
#include "wire/frame.h"

/* ---- outbox ---- */

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

/* ---- inbox ---- */

enum { WIRE_INBOX_FRAMES = 4096, WIRE_INBOX_BYTES = 64 << 20 };

struct wire_early {
    void *bytes;
    size_t size;
};

struct wire_inbox {
    const struct base_alloc *alloc;
    uint64_t next;            /* number of the frame that is due, from 1 */
    struct wire_early *early; /* WIRE_INBOX_FRAMES of them, by number; NULL until one is needed */
    size_t bytes;             /* in all of them */
};

void wire_inbox_init(struct wire_inbox *box, const struct base_alloc *alloc);
void wire_inbox_fini(struct wire_inbox *box);
/* True: it is due, and `next` has moved on; then take those that it held up. Else it was kept or
 * dropped. */
bool wire_inbox_due(struct wire_inbox *box, uint64_t sequence, const void *payload, size_t size);
/* A kept frame that is due by now, whose bytes the caller frees; `next` has moved on. */
bool wire_inbox_take(struct wire_inbox *box, struct wire_early *out);

#endif
