/* inbox.c - see inbox.h. */
#include "wire/inbox.h"
#include "base/assert.h"
#include <string.h>

void wire_inbox_init(struct wire_inbox *box, const struct base_alloc *alloc)
{
    *box = (struct wire_inbox){.alloc = alloc, .next = 1};
}

void wire_inbox_fini(struct wire_inbox *box)
{
    for (size_t i = 0; box->early != NULL && i < WIRE_INBOX_FRAMES; i++)
        base_free(box->alloc, box->early[i].bytes);
    base_free(box->alloc, box->early);
    box->early = NULL;
    box->bytes = 0;
}

static void keep(struct wire_inbox *box, uint64_t sequence, const void *payload, size_t size)
{
    shoal_dassert(size > 0);
    if (sequence - box->next >= WIRE_INBOX_FRAMES || size > WIRE_INBOX_BYTES - box->bytes)
        return;
    if (box->early == NULL)
        box->early = base_calloc(box->alloc, WIRE_INBOX_FRAMES, sizeof *box->early);
    if (box->early == NULL)
        return;
    struct wire_early *early = &box->early[sequence % WIRE_INBOX_FRAMES];
    if (early->bytes != NULL)
        return; /* a copy: numbers this close share no place */
    early->bytes = base_malloc(box->alloc, size);
    if (early->bytes == NULL)
        return;
    memcpy(early->bytes, payload, size);
    early->size = size;
    box->bytes += size;
}

bool wire_inbox_due(struct wire_inbox *box, uint64_t sequence, const void *payload, size_t size)
{
    if (sequence > box->next)
        keep(box, sequence, payload, size);
    if (sequence != box->next)
        return false;
    box->next++;
    return true;
}

bool wire_inbox_take(struct wire_inbox *box, struct wire_early *out)
{
    struct wire_early *early =
        box->early == NULL ? NULL : &box->early[box->next % WIRE_INBOX_FRAMES];
    if (early == NULL || early->bytes == NULL)
        return false;
    *out = *early;
    box->bytes -= early->size;
    *early = (struct wire_early){NULL, 0};
    box->next++;
    return true;
}
