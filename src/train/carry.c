/* carry.c - executors, commits and rows as bytes, from box to box.
 *
 * Home is the box that has the truth. A box away is made from home's layout; it gets executors
 * (train_box_put_data, _put_executor), runs their tasks, and sends what they commit
 * (train_box_pack_commit), which home makes real as if the task had run there (train_box_import).
 * Tables away are copies, kept up by rows from home (train_box_pack_rows, _put_rows).
 *
 * A copy is what home says. A box away folds nothing: what its tasks commit may be lost on the way
 * home, and then another task that had seen it would be built on what never happened. An executor's
 * next task that reads tables is therefore sent after its last one was imported, with rows that have
 * it. Bulk synchronous: rows of a closed clock come whole, and must come before the clock is closed
 * there.
 *
 * An outbox away is free once home has it: word of the import has come (train_box_accepted), or rows
 * that include it. A task may have to wait for that (SHOAL_AGAIN of train_task_begin). For tables that
 * a task does not read (`unread` of its spec) no rows need to be sent; two commits of such tasks may
 * be on their way.
 *
 * An executor comes to a box without its outboxes: its increments are in home's tables, so rows have
 * to be sent after it and before its first task.
 *
 * Order. Rows since version a may be put on a copy that is at a or later; older ones do nothing, a
 * gap is refused. Commits likewise by their number.
 *
 * Bytes. Little-endian, as they lie in memory; each message begins with a word that says what it
 * is. They are read with bounds and checked whole before anything changes.
 *
 * Tests: tests/unit/train/test_carry.c, tests/fuzz/fuzz_train_import.c. */
#include "train/box_parts.h"

#include "base/err.h"
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "bytes go as they lie in memory");

enum {
    LAYOUT = 0x314c4253,   /* "SBL1" */
    EXECUTOR = 0x31454253, /* "SBE1" */
    COMMIT = 0x31434253,   /* "SBC1" */
    ROWS = 0x31524253      /* "SBR1" */
};
enum { PART_ROWS = 1, PART_DENSE, PART_FACTORS };

/* ---- reading ---- */

struct reader {
    const char *at;
    size_t left;
};

/* The next `size` bytes; NULL: there are not as many, and everything after it fails too. */
static const char *take(struct reader *r, uint64_t size)
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

static bool get(struct reader *r, void *out, size_t size)
{
    const char *at = take(r, size);

    if (at != NULL)
        memcpy(out, at, size);
    return at != NULL;
}

static uint32_t word_at(const char *bytes, uint64_t index)
{
    uint32_t word;

    memcpy(&word, bytes + index * sizeof word, sizeof word);
    return word;
}

static shoal_status garbled(shoal_err *err, const char *what)
{
    return base_err(err, SHOAL_E_FORMAT, "%s does not make sense", what);
}

/* ---- layout ---- */

struct layout_head {
    uint32_t magic, staleness, executors, tables;
};

struct layout_table {
    char name[32];
    uint64_t rows;
    uint32_t width, shards, held, unused;
};

void train_box_pack_layout(const struct train_box *box, struct base_buf *out)
{
    struct layout_head head = {LAYOUT, box->head->staleness, box->executor_count, box->table_count};

    base_buf_append(out, &head, sizeof head);
    for (uint32_t i = 0; i < box->table_count; i++) {
        const struct box_table *t = &box->table[i];
        struct layout_table lt = {
            .rows = t->rows, .width = t->width, .shards = t->shards, .held = t->held};
        memcpy(lt.name, t->name, sizeof lt.name);
        base_buf_append(out, &lt, sizeof lt);
    }
}

static shoal_status tables_from_layout(struct train_box *box, struct reader *r, uint32_t tables,
                                       shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    for (uint32_t i = 0; i < tables && st == SHOAL_OK; i++) {
        struct layout_table lt;
        if (!get(r, &lt, sizeof lt) || memchr(lt.name, '\0', sizeof lt.name) == NULL ||
            lt.held > 1 || lt.shards == 0 || lt.shards > lt.rows)
            return garbled(err, "the layout of a box");
        shoal_table_opts opts = SHOAL_TABLE_OPTS_INIT;
        opts.name = lt.name;
        opts.rows = lt.rows;
        opts.width = lt.width;
        opts.shards = lt.shards;
        opts.held = lt.held != 0;
        st = train_box_table(box, &opts, err);
        if (st == SHOAL_OK && box->table[i].shards != lt.shards)
            return garbled(err, "the layout of a box");
    }
    return st == SHOAL_OK && r->left != 0 ? garbled(err, "the layout of a box") : st;
}

shoal_status train_box_new_from_layout(shoal_env *env, const struct env_shared *segment,
                                       uint32_t worker, const void *bytes, size_t size,
                                       const struct train_box_opts *opts,
                                       struct train_box **out_box, shoal_err *err)
{
    struct reader r = {bytes, size};
    struct layout_head head;
    struct train_box *box = NULL;

    if (!get(&r, &head, sizeof head) || head.magic != LAYOUT || head.tables > SHOAL_TABLES_MAX)
        return garbled(err, "the layout of a box");
    shoal_status st = box_view_new(env, segment, worker, opts, &box, err);
    if (st != SHOAL_OK)
        return st;
    st = box_format(box, head.staleness, true);
    if (st == SHOAL_OK)
        st = train_box_executors(box, head.executors, err);
    if (st == SHOAL_OK)
        st = tables_from_layout(box, &r, head.tables, err);
    if (st == SHOAL_OK)
        st = train_box_seal(box, err);
    if (st == SHOAL_OK)
        *out_box = box;
    else
        train_box_free(box);
    return st;
}

/* ---- executors ---- */

shoal_status train_box_put_data(struct train_box *box, uint32_t executor, size_t offset,
                                size_t total, const void *bytes, size_t size, shoal_err *err)
{
    if (executor >= box->executor_count || offset > total || size > total - offset)
        return garbled(err, "a piece of an executor's data");
    struct box_executor *e = &box->executors[executor];
    if (e->data_at == 0 || e->data_size != total) {
        uint64_t at = box_take(box, total > 0 ? total : 1, BOX_ALIGN);
        if (at == 0)
            return base_err_nomem(err, "taking an executor's data");
        e->data_at = at;
        e->data_size = total;
    }
    if (!box_holds(box, e->data_at, total))
        return garbled(err, "the box");
    if (size > 0)
        memcpy((char *)box_at(box, e->data_at) + offset, bytes, size);
    return SHOAL_OK;
}

struct executor_head {
    uint32_t magic, executor;
    uint64_t committed, state_size;
    uint32_t records, unused;
};

/* Of a task: the same in executors and commits. */
struct record_head {
    uint64_t number, clock;
    uint32_t fn, result_size, hold_table, hold_shard;
    uint8_t ends_clock, holds, adds, new_state, unused[4];
};

static void record_pack(const struct box_commit *c, uint64_t number, struct base_buf *out)
{
    struct record_head h = {.number = number,
                            .clock = c->clock,
                            .fn = c->fn,
                            .result_size = c->result_size <= SHOAL_TASK_RESULT_MAX
                                               ? c->result_size
                                               : SHOAL_TASK_RESULT_MAX,
                            .hold_table = c->hold_table,
                            .hold_shard = c->hold_shard,
                            .ends_clock = c->ends_clock,
                            .holds = c->holds,
                            .adds = c->adds,
                            .new_state = c->new_state};

    base_buf_append(out, &h, sizeof h);
    base_buf_append(out, c->result, h.result_size);
}

static bool record_get(struct reader *r, struct record_head *out, const char **out_result)
{
    if (!get(r, out, sizeof *out) || out->result_size > SHOAL_TASK_RESULT_MAX ||
        (out->ends_clock | out->holds | out->adds | out->new_state) > 1)
        return false;
    *out_result = take(r, out->result_size);
    return *out_result != NULL;
}

void train_box_pack_executor(const struct train_box *box, uint32_t executor, struct base_buf *out)
{
    const struct box_executor *e = &box->executors[executor];
    size_t state_size = 0;
    uint64_t committed = train_box_committed(box, executor);
    const void *state = train_box_state_read(box, executor, &state_size);
    struct executor_head head = {
        .magic = EXECUTOR, .executor = executor, .committed = committed, .state_size = state_size};

    for (uint64_t n = committed > 1 ? committed - 1 : 1; n <= committed; n++)
        head.records += atomic_load_explicit(&e->commit[n & 1].number, memory_order_acquire) == n;
    base_buf_append(out, &head, sizeof head);
    base_buf_append(out, state, state_size);
    for (uint64_t n = committed > 1 ? committed - 1 : 1; n <= committed; n++)
        if (atomic_load_explicit(&e->commit[n & 1].number, memory_order_acquire) == n)
            record_pack(&e->commit[n & 1], n, out);
}

static void record_put(struct box_executor *e, const struct record_head *h, const char *result)
{
    struct box_commit *c = &e->commit[h->number & 1];

    c->clock = h->clock;
    c->fn = h->fn;
    c->result_size = h->result_size;
    c->hold_table = h->hold_table;
    c->hold_shard = h->hold_shard;
    c->ends_clock = h->ends_clock;
    c->holds = h->holds;
    c->adds = h->adds;
    c->new_state = h->new_state;
    memcpy(c->result, result, h->result_size);
    atomic_store_explicit(&c->number, h->number, memory_order_release);
}

/* Buffers of the right size; what was there of another size is left. */
static bool state_make(struct train_box *box, struct box_executor *e, uint64_t size)
{
    if (e->state_at[0] != 0 && e->state_at[1] != 0 && e->state_size == size)
        return box_holds(box, e->state_at[0], size) && box_holds(box, e->state_at[1], size);
    uint64_t a = box_take(box, size > 0 ? size : 1, BOX_ALIGN);
    uint64_t b = box_take(box, size > 0 ? size : 1, BOX_ALIGN);
    if (a == 0 || b == 0)
        return false;
    e->state_at[0] = a;
    e->state_at[1] = b;
    e->state_size = size;
    return true;
}

shoal_status train_box_put_executor(struct train_box *box, uint32_t executor, const void *bytes,
                                    size_t size, shoal_err *err)
{
    struct reader r = {bytes, size};
    struct executor_head head;
    struct record_head record[2];
    const char *result[2];

    if (!get(&r, &head, sizeof head) || head.magic != EXECUTOR || head.executor != executor ||
        executor >= box->executor_count || head.records > 2 || head.records > head.committed)
        return garbled(err, "an executor");
    const char *state = take(&r, head.state_size);
    for (uint32_t i = 0; i < head.records; i++)
        if (!record_get(&r, &record[i], &result[i]) ||
            record[i].number != head.committed - head.records + 1 + i)
            return garbled(err, "an executor");
    if (state == NULL || r.left != 0 || (head.committed > 0 && head.records == 0))
        return garbled(err, "an executor");
    struct box_executor *e = &box->executors[executor];
    uint64_t committed = train_box_committed(box, executor);
    if (head.committed < committed)
        return base_err(err, SHOAL_E_INVAL, "executor %u is at task %llu already, not %llu",
                        executor, (unsigned long long)committed,
                        (unsigned long long)head.committed);
    if (head.committed == committed && committed > 0)
        return SHOAL_OK;
    if (!state_make(box, e, head.state_size))
        return base_err_nomem(err, "taking an executor");
    uint8_t now = committed > 0 ? (e->commit[committed & 1].state & 1) ^ 1 : 0;
    memcpy(box_at(box, e->state_at[now]), state, head.state_size);
    for (uint32_t i = 0; i < head.records; i++)
        record_put(e, &record[i], result[i]);
    e->commit[head.committed & 1].state = now;
    atomic_store(&e->committed, head.committed);
    return SHOAL_OK;
}

/* ---- commits ---- */

struct commit_head {
    uint32_t magic, executor;
    uint64_t state_size; /* 0 when it is as before */
    uint32_t parts, unused;
};

struct part_head {
    uint32_t kind, index; /* index: shard of the box for rows, else table */
    uint64_t count;       /* rows, floats or bytes */
};

static void part_append(struct base_buf *out, uint32_t kind, uint32_t index, uint64_t count,
                        uint32_t *parts)
{
    struct part_head head = {kind, index, count};

    base_buf_append(out, &head, sizeof head);
    ++*parts;
}

/* Appends the parts of an outbox and returns how many. */
static uint32_t parts_pack(struct train_box *box, struct box_list *lists, uint64_t number,
                           struct base_buf *out)
{
    struct fold_parts p;
    uint32_t parts = 0;

    for (uint32_t s = 0; s < box->shard_count; s++) {
        const struct shard_view *v = &box->shards[s];
        if (v->held || atomic_load(&lists[s].touched) != number)
            continue;
        box_parts_find(box, v, lists, &p);
        if (p.rows.count == 0)
            continue;
        part_append(out, PART_ROWS, s, p.rows.count, &parts);
        base_buf_append(out, p.rows.row, p.rows.count * sizeof(uint32_t));
        base_buf_append(out, p.rows.x, p.rows.count * v->width * sizeof(float));
    }
    for (uint32_t kind = PART_DENSE; kind <= PART_FACTORS; kind++)
        for (uint32_t t = 0; t < box->table_count; t++) {
            if (box->table[t].held)
                continue;
            uint64_t floats = box->table[t].rows * box->table[t].width;
            box_parts_find(box, &box->shards[box->table[t].first_shard], lists, &p);
            if (kind == PART_DENSE && p.dense != NULL) {
                part_append(out, kind, t, floats, &parts);
                base_buf_append(out, p.dense, floats * sizeof(float));
            } else if (kind == PART_FACTORS && p.factors != NULL) {
                part_append(out, kind, t, p.factors_size, &parts);
                base_buf_append(out, p.factors, p.factors_size);
            }
        }
    return parts;
}

struct box_outbox *box_outbox_of(const struct train_box *box, uint32_t executor, uint64_t number)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct box_outbox *outbox = &box->executors[executor].outbox[i];
        if (atomic_load_explicit(&outbox->number, memory_order_acquire) == number)
            return outbox;
    }
    return NULL;
}

void train_box_pack_commit(const struct train_box *box, uint32_t executor, struct base_buf *out)
{
    uint64_t number = train_box_committed(box, executor);

    if (number == 0)
        return;
    const struct box_commit *c = &box->executors[executor].commit[number & 1];
    struct commit_head head = {.magic = COMMIT, .executor = executor};
    size_t state_size = 0, start = out->size;
    const void *state = train_box_state_read(box, executor, &state_size);
    head.state_size = c->new_state ? state_size : 0;
    base_buf_append(out, &head, sizeof head);
    record_pack(c, number, out);
    base_buf_append(out, state, head.state_size);
    if (c->holds) {
        const struct shard_view *v =
            &box->shards[box->table[c->hold_table].first_shard + c->hold_shard];
        base_buf_append(out, v->data[box_current(box, v->shard)],
                        (size_t)v->rows * v->width * sizeof(float));
    }
    struct box_outbox *outbox = c->adds ? box_outbox_of(box, executor, number) : NULL;
    struct box_list *lists = outbox != NULL ? box_outbox_lists(box, outbox) : NULL;
    if (lists != NULL)
        head.parts = parts_pack((struct train_box *)box, lists, number, out);
    if (base_buf_status(out) == SHOAL_OK)
        memcpy(out->data + start, &head, sizeof head);
}

/* A commit whose bytes were checked. */
struct commit_view {
    struct record_head record;
    const char *result, *state, *held, *parts;
    uint64_t state_size, held_size;
    size_t parts_size;
    uint32_t part_count;
};

bool box_factors_check(const char *bytes, uint64_t size, const struct box_table *t)
{
    while (size > 0) {
        if (size < sizeof(struct box_factor))
            return false;
        uint32_t count = word_at(bytes, 0);
        uint64_t whole = box_factor_size(t->rows, count);
        if (count == 0 || whole > size)
            return false;
        const char *index = bytes + sizeof(struct box_factor) + t->rows * sizeof(float);
        for (uint32_t i = 0; i < count; i++)
            if (word_at(index, i) >= t->width)
                return false;
        bytes += whole;
        size -= whole;
    }
    return true;
}

/* One part after its head: its payload, or NULL. */
static const char *part_take(const struct train_box *box, struct reader *r,
                             const struct part_head *part)
{
    if (part->count == 0)
        return NULL;
    if (part->kind == PART_ROWS) {
        if (part->index >= box->shard_count || box->shards[part->index].held)
            return NULL;
        const struct shard_view *v = &box->shards[part->index];
        if (part->count > r->left / (sizeof(uint32_t) + v->width * sizeof(float)))
            return NULL;
        const char *at = take(r, part->count * (sizeof(uint32_t) + v->width * sizeof(float)));
        for (uint64_t i = 0; at != NULL && i < part->count; i++)
            if (word_at(at, i) >= v->rows)
                return NULL;
        return at;
    }
    if (part->index >= box->table_count || box->table[part->index].held)
        return NULL;
    const struct box_table *t = &box->table[part->index];
    if (part->kind == PART_DENSE)
        return part->count == t->rows * t->width ? take(r, part->count * sizeof(float)) : NULL;
    if (part->kind != PART_FACTORS)
        return NULL;
    const char *at = take(r, part->count);
    return at != NULL && box_factors_check(at, part->count, t) ? at : NULL;
}

static bool commit_check(const struct train_box *box, uint32_t executor, struct reader *r,
                         struct commit_view *out)
{
    struct commit_head head;
    struct part_head part, last = {0};

    if (!get(r, &head, sizeof head) || head.magic != COMMIT || head.executor != executor ||
        !record_get(r, &out->record, &out->result) || out->record.number == 0)
        return false;
    const struct record_head *h = &out->record;
    out->state_size = head.state_size;
    if (h->new_state ? head.state_size != box->executors[executor].state_size
                     : head.state_size != 0)
        return false;
    out->state = take(r, head.state_size);
    out->held_size = 0;
    if (h->holds) {
        if (h->hold_table >= box->table_count || !box->table[h->hold_table].held ||
            h->hold_shard >= box->table[h->hold_table].shards)
            return false;
        const struct shard_view *v =
            &box->shards[box->table[h->hold_table].first_shard + h->hold_shard];
        out->held_size = (uint64_t)v->rows * v->width * sizeof(float);
    }
    out->held = take(r, out->held_size);
    out->parts = r->at;
    out->parts_size = r->left;
    out->part_count = head.parts;
    for (uint32_t i = 0; i < head.parts; i++) {
        if (!get(r, &part, sizeof part) || part.kind < last.kind ||
            (part.kind == last.kind && part.index <= last.index && i > 0) ||
            part_take(box, r, &part) == NULL)
            return false;
        last = part;
    }
    return r->at != NULL && r->left == 0 && (h->adds || head.parts == 0);
}

static void rows_import(shoal_task *task, uint32_t shard, uint64_t count, const char *bytes)
{
    size_t width = task->box->shards[shard].width, one = width * sizeof(float);
    const char *x = bytes + count * sizeof(uint32_t);

    for (uint64_t i = 0; i < count; i++) {
        bool again;
        float *to = box_task_entry(task, shard, word_at(bytes, i), &again);
        if (to == NULL)
            return;
        if (!again) {
            memcpy(to, x + i * one, one);
            continue;
        }
        for (size_t k = 0; k < width; k++) {
            float add;
            memcpy(&add, x + i * one + k * sizeof add, sizeof add);
            to[k] += add;
        }
    }
}

static void parts_import(shoal_task *task, const struct commit_view *c)
{
    struct reader r = {c->parts, c->parts_size};
    struct part_head part;

    for (uint32_t i = 0; i < c->part_count && get(&r, &part, sizeof part); i++) {
        const char *bytes = part_take(task->box, &r, &part);
        if (part.kind == PART_ROWS) {
            rows_import(task, part.index, part.count, bytes);
        } else if (part.kind == PART_DENSE) {
            float *to = shoal_task_add_all(task, part.index);
            if (to != NULL)
                memcpy(to, bytes, part.count * sizeof(float));
        } else {
            box_task_factors(task, part.index, bytes, part.count);
        }
    }
}

shoal_status train_box_import(struct train_box *box, uint32_t executor, const void *bytes,
                              size_t size, shoal_err *err)
{
    struct reader r = {bytes, size};
    struct commit_view c;
    struct shoal_task task = {.desk = NULL};

    if (executor >= box->executor_count || !commit_check(box, executor, &r, &c))
        return garbled(err, "a commit");
    if (c.record.number <= train_box_committed(box, executor))
        return SHOAL_OK;
    struct train_task_spec spec = {.executor = executor,
                                   .fn = c.record.fn,
                                   .number = c.record.number,
                                   .clock = c.record.clock,
                                   .hold_table = c.record.hold_table,
                                   .hold_shard = c.record.hold_shard,
                                   .ends_clock = c.record.ends_clock != 0,
                                   .holds = c.record.holds != 0};
    shoal_status st = box_task_begin(box, &task, &spec, false, err);
    if (st != SHOAL_OK)
        return st;
    if (c.record.new_state && c.state_size > 0) {
        void *state = shoal_task_new_state(&task, false);
        if (state == NULL) {
            train_task_abort(&task);
            return garbled(err, "a commit");
        }
        memcpy(state, c.state, c.state_size);
    }
    if (task.held != NULL)
        memcpy(task.held->data[task.hold_buffer], c.held, c.held_size);
    shoal_task_result(&task, c.result, c.record.result_size);
    parts_import(&task, &c);
    return box_task_commit(&task, err);
}

void train_box_accepted(struct train_box *box, uint32_t executor, uint64_t number)
{
    struct box_outbox *outbox = box_outbox_of(box, executor, number);
    struct box_list *lists = outbox != NULL ? box_outbox_lists(box, outbox) : NULL;
    uint32_t count =
        lists != NULL ? atomic_load_explicit(&outbox->touched_count, memory_order_relaxed) : 0;

    for (uint32_t i = 0; i < count && i < box->shard_count; i++) {
        uint32_t s = atomic_load_explicit(&box_touched(box, lists)[i], memory_order_relaxed);
        const struct shard_view *v = &box->shards[s];
        if (s < box->shard_count && box->away)
            box_homed(v, executor, number);
    }
}

/* ---- rows ---- */

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

/* The floats of rows whose numbers are the last `count` words of the buffer. */
static void floats_pack(const struct shard_view *v, uint32_t count, struct base_buf *out)
{
    size_t at = out->size - count * sizeof(uint32_t), one = v->width * sizeof(float);

    for (uint32_t i = 0; i < count && base_buf_status(out) == SHOAL_OK; i++)
        base_buf_append(out, (const char *)v->data[0] + word_at(out->data + at, i) * one, one);
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
    struct rows_head head = {.magic = ROWS, .table = table, .shard = shard};
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
    return m->head.flags & ROWS_ALL ? i : word_at(m->index, i);
}

static bool rows_check(const struct train_box *box, struct reader *r, struct rows_view *m)
{
    if (!get(r, &m->head, sizeof m->head) || m->head.magic != ROWS ||
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
    m->folded = take(r, m->head.folded * sizeof(struct folded_entry));
    m->index = take(r, all ? 0 : m->head.rows * sizeof(uint32_t));
    m->floats = take(r, (uint64_t)m->head.rows * m->v->width * sizeof(float));
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

void box_homed(const struct shard_view *v, uint32_t executor, uint64_t number)
{
    if (atomic_load_explicit(&v->folded[executor], memory_order_relaxed) < number)
        atomic_store_explicit(&v->folded[executor], number, memory_order_release);
}

/* Under the lock. */
static void rows_put(const struct rows_view *m)
{
    const struct shard_view *v = m->v;
    const float *from = (const float *)(const void *)m->floats;

    for (uint32_t i = 0; i < m->head.rows; i++)
        box_rows_write(v->data[0] + (size_t)row_at(m, i) * v->width, from + (size_t)i * v->width,
                       v->width);
    for (uint32_t i = 0; i < m->head.folded; i++) {
        struct folded_entry entry = folded_at(m, i);
        box_homed(v, entry.executor, entry.number);
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
    struct reader r = {bytes, size};
    struct rows_view m;
    shoal_status st = SHOAL_OK;

    if (!rows_check(box, &r, &m))
        return garbled(err, "a message of rows");
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
