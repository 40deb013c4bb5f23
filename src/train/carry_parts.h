/* carry_parts.h - what the carry files share: reading with bounds, the record of a task, and what one
 * has for the others. Private to them. */
#ifndef TRAIN_CARRY_PARTS_H
#define TRAIN_CARRY_PARTS_H

#include "train/box_parts.h"

#include "base/err.h"
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "bytes go as they lie in memory");

/* What a message is. */
enum {
    CARRY_LAYOUT = 0x314c4253,   /* "SBL1" */
    CARRY_EXECUTOR = 0x31454253, /* "SBE1" */
    CARRY_COMMIT = 0x31434253,   /* "SBC1" */
    CARRY_ROWS = 0x31524253      /* "SBR1" */
};

struct carry_reader {
    const char *at;
    size_t left;
};

/* The next `size` bytes; NULL: there are not as many, and everything after it fails too. */
static inline const char *carry_take(struct carry_reader *r, uint64_t size)
{
    const char *at = r->at;

    if (at == NULL || size > r->left) {
        r->at = NULL;
        return NULL;
    }
    r->at += size;
    r->left -= size;
    return at;
}

static inline bool carry_get(struct carry_reader *r, void *out, size_t size)
{
    const char *at = carry_take(r, size);

    if (at != NULL)
        memcpy(out, at, size);
    return at != NULL;
}

static inline uint32_t carry_word(const char *bytes, uint64_t index)
{
    uint32_t word;

    memcpy(&word, bytes + index * sizeof word, sizeof word);
    return word;
}

/* Records and states end where the next thing is aligned. */
static inline size_t carry_padded(uint64_t size)
{
    return (size + 7) & ~(uint64_t)7;
}

static inline void carry_append_padded(struct base_buf *out, const void *bytes, size_t size)
{
    static const char ZERO[8];

    base_buf_append(out, bytes, size);
    base_buf_append(out, ZERO, carry_padded(size) - size);
}

/* `size` bytes and what pads them. */
static inline const char *carry_take_padded(struct carry_reader *r, uint64_t size)
{
    return size <= r->left ? carry_take(r, carry_padded(size)) : carry_take(r, UINT64_MAX);
}

static inline shoal_status carry_garbled(shoal_err *err, const char *what)
{
    return base_err(err, SHOAL_E_FORMAT, "%s does not make sense", what);
}

/* Of a task: the same in executors and commits. */
struct carry_record {
    uint64_t number, clock;
    uint32_t fn, result_size, hold_table, hold_shard, hold_count, hold_step;
    uint8_t ends_clock, holds, adds, new_state, unused[4];
};

void carry_record_pack(const struct box_commit *c, uint64_t number, struct base_buf *out);
/* False: there is none, or it makes no sense. */
bool carry_record_get(struct carry_reader *r, struct carry_record *out, const char **out_result);

/* ---- carry_commit.c ---- */
/* The outbox with this task's increments; NULL: none has them. */
struct box_outbox *carry_outbox_find(const struct train_box *box, uint32_t executor,
                                     uint64_t number);
/* Whether outer products for the table make sense. */
bool carry_factors_check(const char *bytes, uint64_t size, const struct box_table *t);

/* ---- carry_rows.c ---- */
/* Away: the copy has the executor's increments up to this task, as home has. */
void carry_rows_include(const struct shard_view *v, uint32_t executor, uint64_t number);

#endif
