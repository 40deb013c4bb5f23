/* boxes.c - see boxes.h. */
#include "wire/boxes.h"
#include "base/assert.h"
#include <string.h>

/* ---- outbox ---- */

enum { BLOCK_SIZE = 64 << 10, SPARE_MAX = 16, BUFFER_KEPT_MAX = 8 << 20 };

struct wire_block {
    struct wire_block *next;
    size_t size;          /* of `bytes` */
    size_t used;          /* with an open frame */
    size_t sealed, sent;  /* ends of what is */
    uint64_t last;        /* number of the last frame sealed in it */
    uint64_t receipt;     /* that it carries */
    unsigned char *bytes; /* aligned to 8: `own`, or memory that was a buffer's */
    unsigned char own[];
};
_Static_assert(offsetof(struct wire_block, own) % 8 == 0, "payloads are aligned");

void wire_outbox_init(struct wire_outbox *box, const struct base_alloc *alloc, size_t size_max)
{
    *box = (struct wire_outbox){.alloc = alloc, .size_max = size_max, .open = SIZE_MAX};
}

static void free_block(const struct base_alloc *alloc, struct wire_block *block)
{
    if (block->bytes != block->own)
        base_free(alloc, block->bytes);
    base_free(alloc, block);
}

static void free_list(const struct base_alloc *alloc, struct wire_block *block)
{
    while (block != NULL) {
        struct wire_block *next = block->next;
        free_block(alloc, block);
        block = next;
    }
}

void wire_outbox_fini(struct wire_outbox *box)
{
    free_list(box->alloc, box->first);
    free_list(box->alloc, box->spare);
    for (uint32_t i = 0; i < WIRE_OUTBOX_BUFFERS; i++)
        base_free(box->alloc, box->buffer[i].data);
    wire_outbox_init(box, box->alloc, box->size_max);
}

static struct wire_block *take_block(struct wire_outbox *box, size_t size)
{
    struct wire_block *block = box->spare;
    if (size <= BLOCK_SIZE && block != NULL) {
        box->spare = block->next;
        box->spare_count--;
    } else {
        if (size < BLOCK_SIZE)
            size = BLOCK_SIZE;
        block = base_malloc(box->alloc, sizeof *block + size);
        if (block == NULL)
            return NULL;
        block->size = size;
    }
    block->next = NULL;
    block->used = block->sealed = block->sent = 0;
    block->last = block->receipt = 0;
    block->bytes = block->own;
    return block;
}

/* Memory that was a buffer's is kept to be one again, the largest of it. */
static void keep_buffer(struct wire_outbox *box, unsigned char *data, size_t size)
{
    struct wire_outbox_buffer *least = &box->buffer[0];
    for (uint32_t i = 1; i < WIRE_OUTBOX_BUFFERS; i++)
        if (box->buffer[i].size < least->size)
            least = &box->buffer[i];
    if (size > BUFFER_KEPT_MAX || size <= least->size) {
        base_free(box->alloc, data);
        return;
    }
    base_free(box->alloc, least->data);
    *least = (struct wire_outbox_buffer){data, size};
}

static void give_block(struct wire_outbox *box, struct wire_block *block)
{
    if (block->bytes != block->own) {
        keep_buffer(box, block->bytes, block->size);
        block->bytes = block->own;
        base_free(box->alloc, block);
        return;
    }
    if (block->size > BLOCK_SIZE || box->spare_count >= SPARE_MAX) {
        free_block(box->alloc, block);
        return;
    }
    block->next = box->spare;
    box->spare = block;
    box->spare_count++;
}

static void append_block(struct wire_outbox *box, struct wire_block *block)
{
    if (box->last == NULL)
        box->first = box->sending = block;
    else
        box->last->next = block;
    box->last = block;
}

shoal_status wire_outbox_put(struct wire_outbox *box, uint16_t kind, const void *head,
                             size_t head_size, const void *body, size_t body_size)
{
    shoal_dassert(head_size <= WIRE_MESSAGE_MAX && body_size <= WIRE_MESSAGE_MAX - head_size);
    size_t extent = wire_message_extent(head_size + body_size);
    size_t frame_head = box->open == SIZE_MAX ? WIRE_FRAME_HEAD : 0;
    struct wire_block *block = box->last;
    if (box->kept > box->size_max || extent + WIRE_FRAME_HEAD > box->size_max - box->kept)
        return SHOAL_E_LIMIT;
    if (block == NULL || block->bytes != block->own ||
        frame_head + extent > block->size - block->used) {
        block = take_block(box, WIRE_FRAME_HEAD + extent);
        if (block == NULL)
            return SHOAL_E_NOMEM;
        wire_outbox_seal(box);
        append_block(box, block);
        frame_head = WIRE_FRAME_HEAD;
    }
    if (box->open == SIZE_MAX)
        box->open = block->used;
    wire_message_put(block->bytes + block->used + frame_head, kind, head, head_size, body,
                     body_size);
    block->used += frame_head + extent;
    box->kept += frame_head + extent;
    return SHOAL_OK;
}

/* The largest memory that is kept, or none. */
static void buffer_swap(struct wire_outbox *box, struct base_buf *buf)
{
    struct wire_outbox_buffer *most = &box->buffer[0];
    for (uint32_t i = 1; i < WIRE_OUTBOX_BUFFERS; i++)
        if (box->buffer[i].size > most->size)
            most = &box->buffer[i];
    buf->data = (char *)most->data;
    buf->cap = most->size;
    *most = (struct wire_outbox_buffer){NULL, 0};
}

/* A block of its own, whose memory is the buffer's. */
static shoal_status put_whole(struct wire_outbox *box, uint16_t kind, struct base_buf *buf)
{
    size_t size = buf->size - WIRE_BUF_ROOM, used = WIRE_FRAME_HEAD + wire_message_extent(size);
    if (box->kept > box->size_max || used > box->size_max - box->kept)
        return SHOAL_E_LIMIT;
    struct wire_block *block = base_malloc(box->alloc, sizeof *block);
    if (block == NULL)
        return SHOAL_E_NOMEM;
    wire_outbox_seal(box);
    *block = (struct wire_block){
        .size = buf->cap, .used = used, .bytes = (unsigned char *)(void *)buf->data};
    append_block(box, block);
    wire_message_head(block->bytes + WIRE_FRAME_HEAD, kind, size);
    box->open = 0;
    box->kept += used;
    wire_outbox_seal(box);
    buffer_swap(box, buf);
    return SHOAL_OK;
}

void wire_buf_begin(struct base_buf *buf)
{
    static const char ROOM[WIRE_BUF_ROOM];
    base_buf_clear(buf);
    base_buf_append(buf, ROOM, sizeof ROOM);
}

shoal_status wire_outbox_put_buf(struct wire_outbox *box, uint16_t kind, struct base_buf *buf)
{
    static const char ZERO[8];
    shoal_status st = base_buf_status(buf);
    if (st != SHOAL_OK)
        return st;
    size_t size = buf->size - WIRE_BUF_ROOM;
    if (size < BLOCK_SIZE / 2) {
        st = wire_outbox_put(box, kind, buf->data + WIRE_BUF_ROOM, size, NULL, 0);
    } else {
        base_buf_append(buf, ZERO, sizeof ZERO); /* what pads it */
        st = base_buf_status(buf);
        buf->size = WIRE_BUF_ROOM + size;
        if (st == SHOAL_OK)
            st = put_whole(box, kind, buf);
    }
    if (st == SHOAL_OK)
        wire_buf_begin(buf);
    return st;
}

void wire_outbox_seal(struct wire_outbox *box)
{
    struct wire_block *block = box->last;
    if (box->open == SIZE_MAX || block == NULL)
        return;
    shoal_dassert(block->sealed == box->open && block->used > box->open + WIRE_FRAME_HEAD);
    wire_frame_seal(block->bytes + box->open, WIRE_MESSAGES, ++box->sealed, box->receipt,
                    block->used - box->open - WIRE_FRAME_HEAD, box->seed);
    block->sealed = block->used;
    block->last = box->sealed;
    block->receipt = box->receipt;
    box->open = SIZE_MAX;
}

void wire_outbox_start(struct wire_outbox *box, uint64_t seed)
{
    shoal_dassert(box->sent == 0);
    box->seed = seed;
    for (struct wire_block *block = box->first; block != NULL; block = block->next)
        for (size_t at = 0; at < block->sealed;) {
            uint64_t sequence = 0;
            size_t extent = wire_frame_extent(block->bytes + at, &sequence);
            wire_frame_seal(block->bytes + at, WIRE_MESSAGES, sequence, 0, extent - WIRE_FRAME_HEAD,
                            seed);
            at += extent;
        }
}

bool wire_outbox_next(struct wire_outbox *box, const unsigned char **out_bytes, size_t *out_size)
{
    struct wire_block *block = box->sending;
    if (!wire_outbox_waits(box))
        return false;
    while (block->sent == block->sealed) /* all of it is sent, and a later one has more */
        block = block->next;
    box->sending = block;
    *out_bytes = block->bytes + block->sent;
    *out_size = block->sealed - block->sent;
    return true;
}

void wire_outbox_sent(struct wire_outbox *box)
{
    struct wire_block *block = box->sending;
    shoal_dassert(block->sent < block->sealed);
    block->sent = block->sealed;
    box->sent = block->last;
    box->told = block->receipt;
}

/* The last block stays, to be written again from its start. */
static void forget(struct wire_outbox *box)
{
    struct wire_block *block = box->first;
    while (block != box->last && block->last <= box->acknowledged) {
        struct wire_block *next = block->next;
        box->kept -= block->used;
        if (box->sending == block)
            box->sending = next;
        give_block(box, block);
        block = next;
    }
    box->first = block;
    if (block != box->last || box->sealed > box->acknowledged || box->open != SIZE_MAX)
        return;
    box->kept -= block->used;
    if (block->size > BLOCK_SIZE || block->bytes != block->own) {
        give_block(box, block);
        box->first = box->last = box->sending = NULL;
        return;
    }
    block->used = block->sealed = block->sent = 0;
}

bool wire_outbox_acknowledge(struct wire_outbox *box, uint64_t sequence)
{
    if (sequence > box->sent)
        return false;
    if (sequence > box->acknowledged) {
        box->acknowledged = sequence;
        forget(box);
    }
    return true;
}

/* The run of frames numbered above `after` and up to `last` in a block that was sent. */
static void find_run(const struct wire_block *block, uint64_t after, uint64_t last,
                     size_t *out_begin, size_t *out_end, uint64_t *out_count)
{
    size_t at = 0, begin = block->sent;
    uint64_t sequence = 0, count = 0;
    while (at < block->sent) {
        size_t extent = wire_frame_extent(block->bytes + at, &sequence);
        if (sequence > last)
            break;
        if (sequence > after && count++ == 0)
            begin = at;
        at += extent;
    }
    *out_begin = begin < at ? begin : at;
    *out_end = at;
    *out_count = count;
}

uint64_t wire_outbox_again(const struct wire_outbox *box, uint64_t last, size_t size_max,
                           bool (*give)(void *ctx, const unsigned char *bytes, size_t size),
                           void *ctx)
{
    uint64_t total = 0;
    size_t given = 0;
    for (const struct wire_block *block = box->first; block != NULL && given < size_max;
         block = block->next) {
        size_t begin = 0, end = 0;
        uint64_t count = 0;
        find_run(block, box->acknowledged, last, &begin, &end, &count);
        if (count == 0)
            continue;
        if (!give(ctx, block->bytes + begin, end - begin))
            break;
        total += count;
        given += end - begin;
    }
    return total;
}

/* ---- inbox ---- */

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
