/* carry_rows.c - rows of tables as bytes, from home to copies elsewhere.
 *
 * A message has what changed in a shard since a version: all of it, or rows by number; and the tasks
 * whose increments are in it. Which rows those are is known from the version of each row's last change
 * (stamps), kept from the first message on. Order: see carry.c.
 *
 * Tests: tests/unit/train/test_carry.c, tests/fuzz/fuzz_train_import.c. */
#include "train/carry_parts.h"

enum { LINE = 16, LINES_AHEAD = 16, AHEAD = 8 }; /* floats; of a row; rows */

enum { ROWS_ALL = 1 };

struct rows_head {
    uint32_t magic, table, shard, flags;
    uint64_t since, version;
    uint32_t folded, rows; /* how many of each follow */
};

struct folded_entry {
    uint64_t number;
    uint32_t executor, unused;
};

/* Versions of rows, kept from here on; NULL: no memory. Under the lock. */
static _Atomic uint64_t *stamps_of(struct train_box *box, const struct shard_view *v,
                                   uint64_t *version)
{
    uint64_t size = box_stamps_size(v->rows), at = atomic_load(&v->shard->stamps_at);

    if (at == 0) {
        *version = 0; /* what changed before is not known */
        at = box_take(box, size, BOX_ALIGN);
        if (at != 0)
            atomic_store(&v->shard->stamps_at, at);
    }
    return at != 0 && at % BOX_ALIGN == 0 && box_holds(box, at, size) ? box_at(box, at) : NULL;
}

static uint32_t folded_pack(const struct train_box *box, const struct shard_view *v,
                            uint64_t version, struct base_buf *out)
{
    uint32_t count = 0;

    for (uint32_t e = 0; e < box->executor_count; e++) {
        uint64_t number = atomic_load_explicit(&v->folded[e], memory_order_relaxed);
        if (number == 0 ||
            (version != 0 && atomic_load_explicit(&v->version[e], memory_order_relaxed) <= version))
            continue;
        struct folded_entry entry = {.number = number, .executor = e};
        base_buf_append(out, &entry, sizeof entry);
        count++;
    }
    return count;
}

/* Numbers of rows changed after `version`. */
static uint32_t changed_pack(const struct shard_view *v, const _Atomic uint64_t *stamps,
                             uint64_t version, struct base_buf *out)
{
    uint32_t count = 0, some[BOX_STAMP_ROWS];

    for (uint32_t first = 0; first < v->rows; first += BOX_STAMP_ROWS) {
        uint32_t n = 0, end = v->rows - first < BOX_STAMP_ROWS ? v->rows : first + BOX_STAMP_ROWS;
        if (atomic_load_explicit(&stamps[v->rows + first / BOX_STAMP_ROWS], memory_order_relaxed) <=
            version)
            continue;
        for (uint32_t r = first; r < end; r++) {
            some[n] = r;
            n += atomic_load_explicit(&stamps[r], memory_order_relaxed) > version;
        }
        base_buf_append(out, some, n * sizeof some[0]);
        count += n;
    }
    return count;
}

/* Rows lie anywhere in a table: they are fetched ahead of their turn. */
static void fetch(const struct shard_view *v, uint32_t row, bool to_write)
{
    const float *at = v->data[0] + (size_t)row * v->width;

    for (uint32_t k = 0; k < v->width && k < LINES_AHEAD * LINE; k += LINE)
        if (to_write)
            __builtin_prefetch(at + k, 1);
        else
            __builtin_prefetch(at + k, 0);
}

/* The floats of rows whose numbers are the last `count` words of the buffer. */
static void floats_pack(const struct shard_view *v, uint32_t count, struct base_buf *out)
{
    size_t at = out->size - count * sizeof(uint32_t), one = v->width * sizeof(float);

    for (uint32_t i = 0; i < count && base_buf_status(out) == SHOAL_OK; i++) {
        if (i + AHEAD < count)
            fetch(v, carry_word(out->data + at, i + AHEAD), false);
        base_buf_append(out, (const char *)v->data[0] + carry_word(out->data + at, i) * one, one);
    }
}

/* After changes in place any row may be another. Under the lock. */
static void rewritten_stamp(const struct shard_view *v, _Atomic uint64_t *stamps)
{
    uint64_t version = atomic_load_explicit(&v->shard->version, memory_order_relaxed) + 1;

    atomic_store_explicit(&v->shard->version, version, memory_order_relaxed);
    for (uint64_t i = 0; stamps != NULL && i < box_stamps_size(v->rows) / sizeof *stamps; i++)
        atomic_store_explicit(&stamps[i], version, memory_order_relaxed);
}

uint64_t train_box_pack_rows(struct train_box *box, uint32_t table, uint32_t shard,
                             uint64_t version, struct base_buf *out)
{
    if (table >= box->table_count || shard >= box->table[table].shards)
        return 0;
    uint32_t index = box->table[table].first_shard + shard;
    struct shard_view *v = &box->shards[index];
    size_t start = out->size;
    struct rows_head head = {.magic = CARRY_ROWS, .table = table, .shard = shard};
    shoal_status st = box_fold_shard(box, index);
    if (st == SHOAL_E_CANCELLED || st == SHOAL_AGAIN || !box_lock(box, v->shard))
        return 0;
    if (v->held)
        box_flip_settle(box, v->shard);
    _Atomic uint64_t *stamps = v->held ? NULL : stamps_of(box, v, &version);
    if (v->rewritten)
        rewritten_stamp(v, stamps);
    v->rewritten = false;
    head.version = atomic_load_explicit(&v->shard->version, memory_order_relaxed);
    head.since = stamps == NULL && !(v->held && version == head.version) ? 0 : version;
    base_buf_append(out, &head, sizeof head);
    if (!v->held)
        head.folded = folded_pack(box, v, head.since, out);
    if (head.since == 0) {
        head.flags = ROWS_ALL;
        head.rows = v->rows;
        base_buf_append(out, v->data[v->held ? box_current(box, v->shard) : 0],
                        (size_t)v->rows * v->width * sizeof(float));
    } else if (stamps != NULL) {
        head.rows = changed_pack(v, stamps, head.since, out);
        floats_pack(v, head.rows, out);
    }
    box_unlock(v->shard);
    if (base_buf_status(out) == SHOAL_OK)
        memcpy(out->data + start, &head, sizeof head);
    return head.version;
}

/* Rows whose bytes were checked. */
struct rows_view {
    struct rows_head head;
    const struct shard_view *v;
    const char *folded, *index, *floats;
};

static struct folded_entry folded_at(const struct rows_view *m, uint32_t i)
{
    struct folded_entry entry;

    memcpy(&entry, m->folded + i * sizeof entry, sizeof entry);
    return entry;
}

static uint32_t row_at(const struct rows_view *m, uint32_t i)
{
    return m->head.flags & ROWS_ALL ? i : carry_word(m->index, i);
}

static bool rows_check(const struct train_box *box, struct carry_reader *r, struct rows_view *m)
{
    if (!carry_get(r, &m->head, sizeof m->head) || m->head.magic != CARRY_ROWS ||
        m->head.table >= box->table_count || m->head.shard >= box->table[m->head.table].shards ||
        m->head.flags > ROWS_ALL || m->head.folded > box->executor_count ||
        m->head.since > m->head.version)
        return false;
    m->v = &box->shards[box->table[m->head.table].first_shard + m->head.shard];
    bool all = m->head.flags & ROWS_ALL;
    if (m->head.rows > m->v->rows || (all && m->head.rows != m->v->rows) ||
        (m->v->held && (m->head.folded != 0 || (!all && m->head.rows != 0))) ||
        (!all && m->head.since == 0))
        return false;
    m->folded = carry_take(r, m->head.folded * sizeof(struct folded_entry));
    m->index = carry_take(r, all ? 0 : m->head.rows * sizeof(uint32_t));
    m->floats = carry_take(r, (uint64_t)m->head.rows * m->v->width * sizeof(float));
    if (m->floats == NULL || r->left != 0 || (uintptr_t)m->floats % sizeof(float) != 0)
        return false;
    for (uint32_t i = 0; i < m->head.folded; i++)
        if (folded_at(m, i).executor >= box->executor_count ||
            (i > 0 && folded_at(m, i).executor <= folded_at(m, i - 1).executor))
            return false;
    for (uint32_t i = 0; !all && i < m->head.rows; i++)
        if (row_at(m, i) >= m->v->rows || (i > 0 && row_at(m, i) <= row_at(m, i - 1)))
            return false;
    return true;
}

void carry_rows_include(const struct shard_view *v, uint32_t executor, uint64_t number)
{
    if (atomic_load_explicit(&v->folded[executor], memory_order_relaxed) < number)
        atomic_store_explicit(&v->folded[executor], number, memory_order_release);
}

/* Under the lock. */
static void rows_put(const struct rows_view *m)
{
    const struct shard_view *v = m->v;
    const float *from = (const float *)(const void *)m->floats;

    for (uint32_t i = 0; i < m->head.rows; i++) {
        if (i + AHEAD < m->head.rows)
            fetch(v, row_at(m, i + AHEAD), true);
        box_rows_write(v->data[0] + (size_t)row_at(m, i) * v->width, from + (size_t)i * v->width,
                       v->width);
    }
    for (uint32_t i = 0; i < m->head.folded; i++) {
        struct folded_entry entry = folded_at(m, i);
        carry_rows_include(v, entry.executor, entry.number);
    }
}

static void held_put(const struct rows_view *m)
{
    struct box_shard *shard = m->v->shard;
    uint32_t spare = (atomic_load_explicit(&shard->current, memory_order_relaxed) & 1) ^ 1;

    if (m->head.rows == 0)
        return;
    memcpy(m->v->data[spare], m->floats, (size_t)m->head.rows * m->v->width * sizeof(float));
    atomic_store_explicit(&shard->current, spare, memory_order_release);
    atomic_fetch_add(&shard->version, 1);
}

shoal_status train_box_put_rows(struct train_box *box, const void *bytes, size_t size,
                                shoal_err *err)
{
    struct carry_reader r = {bytes, size};
    struct rows_view m;
    shoal_status st = SHOAL_OK;

    if (!rows_check(box, &r, &m))
        return carry_garbled(err, "a message of rows");
    struct box_shard *shard = m.v->shard;
    if (!box_lock(box, shard))
        return SHOAL_AGAIN;
    uint64_t version = atomic_load_explicit(&shard->home_version, memory_order_relaxed);
    if (m.head.version > version && m.head.since > version) {
        st = base_err(err, SHOAL_E_INVAL, "rows since version %llu for a copy of version %llu",
                      (unsigned long long)m.head.since, (unsigned long long)version);
    } else if (m.head.version > version) {
        if (m.v->held) {
            box_flip_settle(box, shard);
            held_put(&m);
        } else {
            rows_put(&m);
        }
        atomic_store_explicit(&shard->home_version, m.head.version, memory_order_relaxed);
    }
    box_unlock(shard);
    return st;
}
