/* inbox.h - frames that came before their turn.
 *
 * Frames are told apart by their numbers: the next one is for now, an older one is a copy, a later
 * one is kept until those before it are here. At most FRAMES and BYTES wait; what finds no room (or
 * no memory) is forgotten, and its sender sends it again. Nothing is allocated until the first
 * early frame, which on a real stream never comes. Owner thread only.
 * Tests: tests/unit/wire/test_inbox.c. */
#ifndef WIRE_INBOX_H
#define WIRE_INBOX_H

#include "base/alloc.h"
#include <stdbool.h>

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
