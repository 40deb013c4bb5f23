/* carry.c - executors as bytes, from box to box; and how commits and rows go with them.
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
 * Commits are in carry_commit.c, rows in carry_rows.c, outer products instead of rows in
 * carry_factors.c. Tests: tests/unit/train/test_carry.c, tests/fuzz/fuzz_train_import.c. */
#include "train/carry_parts.h"

#include "base/err.h"
#include <stdio.h>

/* ---- layout ---- */

struct layout_head {
    uint32_t magic, staleness, executors, tables;
};

struct layout_table {
    char name[32];
    uint64_t rows;
    uint32_t width, shards, held;
    uint32_t uneven; /* uint64_t first row of each shard, then rows, follow */
};

void train_box_pack_layout(const struct train_box *box, struct base_buf *out)
{
    struct layout_head head = {CARRY_LAYOUT, box->head->staleness, box->executor_count,
                               box->table_count};

    base_buf_append(out, &head, sizeof head);
    for (uint32_t i = 0; i < box->table_count; i++) {
        const struct box_table *t = &box->table[i];
        struct layout_table lt = {.rows = t->rows,
                                  .width = t->width,
                                  .shards = t->shards,
                                  .held = t->held,
                                  .uneven = t->firsts_at != 0};
        memcpy(lt.name, t->name, sizeof lt.name);
        base_buf_append(out, &lt, sizeof lt);
        if (t->firsts_at != 0)
            base_buf_append(out, box_at(box, t->firsts_at), (t->shards + 1) * sizeof(uint64_t));
    }
}

static shoal_status table_from_layout(struct train_box *box, const struct layout_table *lt,
                                      const uint64_t *firsts, shoal_err *err)
{
    shoal_table_opts opts = SHOAL_TABLE_OPTS_INIT;

    opts.name = lt->name;
    opts.rows = lt->rows;
    opts.width = lt->width;
    opts.shards = lt->shards;
    opts.held = lt->held != 0;
    opts.shard_first = firsts;
    shoal_status st = train_box_table(box, &opts, err);
    return st == SHOAL_OK && box->table[box->table_count - 1].shards != lt->shards
               ? carry_garbled(err, "the layout of a box")
               : st;
}

static bool table_makes_sense(const struct layout_table *lt)
{
    return memchr(lt->name, '\0', sizeof lt->name) != NULL && lt->held <= 1 &&
           lt->uneven <= lt->held && lt->shards > 0 && lt->shards <= BOX_SHARDS_MAX &&
           (lt->uneven || lt->shards <= lt->rows);
}

static shoal_status tables_from_layout(struct train_box *box, struct carry_reader *r,
                                       uint32_t tables, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(box->env);
    shoal_status st = SHOAL_OK;

    for (uint32_t i = 0; i < tables && st == SHOAL_OK; i++) {
        struct layout_table lt;
        if (!carry_get(r, &lt, sizeof lt) || !table_makes_sense(&lt))
            return carry_garbled(err, "the layout of a box");
        size_t size = lt.uneven ? (lt.shards + (size_t)1) * sizeof(uint64_t) : 0;
        uint64_t *firsts = size > 0 ? base_malloc(alloc, size) : NULL;
        if (size > 0 && firsts == NULL)
            return base_err_nomem(err, "opening a box");
        st = size > 0 && !carry_get(r, firsts, size) ? carry_garbled(err, "the layout of a box")
                                                     : table_from_layout(box, &lt, firsts, err);
        base_free(alloc, firsts);
    }
    return st == SHOAL_OK && r->left != 0 ? carry_garbled(err, "the layout of a box") : st;
}

shoal_status train_box_new_from_layout(shoal_env *env, const struct env_shared *segment,
                                       uint32_t worker, const void *bytes, size_t size,
                                       const struct train_box_opts *opts,
                                       struct train_box **out_box, shoal_err *err)
{
    struct carry_reader r = {bytes, size};
    struct layout_head head;
    struct train_box *box = NULL;

    if (!carry_get(&r, &head, sizeof head) || head.magic != CARRY_LAYOUT ||
        head.tables > SHOAL_TABLES_MAX)
        return carry_garbled(err, "the layout of a box");
    shoal_status st = box_view_new(env, segment, worker, opts, &box, err);
    if (st != SHOAL_OK)
        return st;
    st = box_format(box, head.staleness, true, err);
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

/* ---- what is too large ---- */

/* Besides a state or a shard's floats there are heads, records and numbers of folded tasks. */
static uint64_t carried_size(const struct train_box *box, uint64_t bytes)
{
    enum { HEADS = 4096, FOLDED = 16 };
    uint64_t heads = HEADS + (uint64_t)box->executor_count * FOLDED;

    return bytes > UINT64_MAX - heads ? UINT64_MAX : bytes + heads;
}

static shoal_status too_large(const char *what, uint64_t bytes, size_t message_max, shoal_err *err)
{
    shoal_status st = base_err(err, SHOAL_E_LIMIT,
                               "%s has %.1f MiB, and no more than %.0f MiB go to another machine",
                               what, (double)bytes / (1 << 20), (double)message_max / (1 << 20));

    base_err_hint(err, "run all workers on the driver's machine, or cut the data in more executors "
                       "or tables in more shards, where the application has an option for that");
    return st;
}

shoal_status train_box_can_carry(const struct train_box *box, size_t message_max, shoal_err *err)
{
    char what[80];

    for (uint32_t e = 0; e < box->executor_count; e++) {
        uint64_t bytes = box->executors[e].state_size;
        snprintf(what, sizeof what, "the state of executor %u", e);
        if (carried_size(box, bytes) > message_max)
            return too_large(what, bytes, message_max, err);
    }
    for (uint32_t t = 0; t < box->table_count; t++)
        for (uint32_t s = 0; s < box->table[t].shards; s++) {
            const struct shard_view *v = &box->shards[box->table[t].first_shard + s];
            uint64_t bytes = (uint64_t)v->rows * v->width * sizeof(float);
            snprintf(what, sizeof what, "shard %u of table '%s'", s, box->table[t].name);
            if (carried_size(box, bytes + v->rows * sizeof(uint32_t)) > message_max)
                return too_large(what, bytes, message_max, err);
        }
    return SHOAL_OK;
}

/* ---- executors ---- */

shoal_status train_box_put_data(struct train_box *box, uint32_t executor, size_t offset,
                                size_t total, const void *bytes, size_t size, shoal_err *err)
{
    if (executor >= box->executor_count || offset > total || size > total - offset)
        return carry_garbled(err, "a piece of an executor's data");
    struct box_executor *e = &box->executors[executor];
    if (e->data_at == 0 || e->data_size != total) {
        uint64_t at = box_take(box, total > 0 ? total : 1, BOX_ALIGN);
        if (at == 0)
            return base_err_nomem(err, "taking an executor's data");
        e->data_at = at;
        e->data_size = total;
    }
    if (!box_holds(box, e->data_at, total))
        return carry_garbled(err, "the box");
    if (size > 0)
        memcpy((char *)box_at(box, e->data_at) + offset, bytes, size);
    return SHOAL_OK;
}

struct executor_head {
    uint32_t magic, executor;
    uint64_t committed, state_size;
    uint32_t records, unused;
};

void carry_record_pack(const struct box_commit *c, uint64_t number, struct base_buf *out)
{
    struct carry_record h = {.number = number,
                             .clock = c->clock,
                             .fn = c->fn,
                             .result_size = c->result_size <= SHOAL_TASK_RESULT_MAX
                                                ? c->result_size
                                                : SHOAL_TASK_RESULT_MAX,
                             .hold_table = c->hold_table,
                             .hold_shard = c->hold_shard,
                             .hold_count = c->hold_count,
                             .hold_step = c->hold_step,
                             .ends_clock = c->ends_clock,
                             .holds = c->holds,
                             .adds = c->adds,
                             .new_state = c->new_state};

    base_buf_append(out, &h, sizeof h);
    carry_append_padded(out, c->result, h.result_size);
}

bool carry_record_get(struct carry_reader *r, struct carry_record *out, const char **out_result)
{
    if (!carry_get(r, out, sizeof *out) || out->result_size > SHOAL_TASK_RESULT_MAX ||
        (out->ends_clock | out->holds | out->adds | out->new_state) > 1)
        return false;
    *out_result = carry_take_padded(r, out->result_size);
    return *out_result != NULL;
}

void train_box_pack_executor(const struct train_box *box, uint32_t executor, struct base_buf *out)
{
    const struct box_executor *e = &box->executors[executor];
    size_t state_size = 0;
    uint64_t committed = train_box_committed(box, executor);
    const void *state = train_box_state_read(box, executor, &state_size);
    struct executor_head head = {.magic = CARRY_EXECUTOR,
                                 .executor = executor,
                                 .committed = committed,
                                 .state_size = state_size};

    for (uint64_t n = committed > 1 ? committed - 1 : 1; n <= committed; n++)
        head.records += atomic_load_explicit(&e->commit[n & 1].number, memory_order_acquire) == n;
    base_buf_append(out, &head, sizeof head);
    carry_append_padded(out, state, state_size);
    for (uint64_t n = committed > 1 ? committed - 1 : 1; n <= committed; n++)
        if (atomic_load_explicit(&e->commit[n & 1].number, memory_order_acquire) == n)
            carry_record_pack(&e->commit[n & 1], n, out);
}

static void record_put(struct box_executor *e, const struct carry_record *h, const char *result)
{
    struct box_commit *c = &e->commit[h->number & 1];

    c->clock = h->clock;
    c->fn = h->fn;
    c->result_size = h->result_size;
    c->hold_table = h->hold_table;
    c->hold_shard = h->hold_shard;
    c->hold_count = h->hold_count;
    c->hold_step = h->hold_step;
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
    struct carry_reader r = {bytes, size};
    struct executor_head head;
    struct carry_record record[2];
    const char *result[2];

    if (!carry_get(&r, &head, sizeof head) || head.magic != CARRY_EXECUTOR ||
        head.executor != executor || executor >= box->executor_count || head.records > 2 ||
        head.records > head.committed)
        return carry_garbled(err, "an executor");
    const char *state = carry_take_padded(&r, head.state_size);
    for (uint32_t i = 0; i < head.records; i++)
        if (!carry_record_get(&r, &record[i], &result[i]) ||
            record[i].number != head.committed - head.records + 1 + i)
            return carry_garbled(err, "an executor");
    if (state == NULL || r.left != 0 || (head.committed > 0 && head.records == 0))
        return carry_garbled(err, "an executor");
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
