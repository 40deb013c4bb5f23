/* carry_commit.c - what a task committed away, as bytes, and how it becomes real at home.
 *
 * A commit is the task's record, its new state, the shard it held, and its increments in parts: rows of
 * a shard, a whole table, outer products; ordered by kind, then by shard or table. Home checks all of
 * it before anything changes and makes it real as if the task had run there.
 *
 * Rows are added to their shards straight from the message, without an outbox between, where a shard
 * is free and nothing of the same executor waits there: locked first, added after the commit is real.
 * The rest goes into the outbox. Why that is safe is in docs/design/0007.
 *
 * Tests: tests/unit/train/test_carry.c, tests/fuzz/fuzz_train_import.c. */
#include "train/carry_parts.h"

enum { PART_ROWS = 1, PART_DENSE, PART_FACTORS };
enum { FEW = 16 }; /* shards that are worth sorting */

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

static void rows_pack(struct train_box *box, struct box_list *lists, uint32_t shard,
                      uint64_t number, struct base_buf *out, uint32_t *parts)
{
    const struct shard_view *v = &box->shards[shard];
    struct fold_parts p;

    if (atomic_load_explicit(&lists[shard].touched, memory_order_relaxed) != number)
        return;
    box_parts_find(box, v, lists, &p);
    if (p.rows.count == 0)
        return;
    part_append(out, PART_ROWS, shard, p.rows.count, parts);
    base_buf_append(out, p.rows.row, p.rows.count * sizeof(uint32_t));
    base_buf_append(out, p.rows.x, p.rows.count * v->width * sizeof(float));
}

/* The shards that an outbox touched, if they are few, in order; else 0. */
static uint32_t few_touched(const struct train_box *box, struct box_list *lists,
                            const struct box_outbox *outbox, uint32_t out_shard[FEW])
{
    uint32_t count = atomic_load_explicit(&outbox->touched_count, memory_order_relaxed);

    for (uint32_t i = 0; i < count && count <= FEW; i++) {
        uint32_t s = atomic_load_explicit(&box_touched(box, lists)[i], memory_order_relaxed), k = i;
        if (s >= box->fold_count)
            return 0;
        for (; k > 0 && out_shard[k - 1] > s; k--)
            out_shard[k] = out_shard[k - 1];
        out_shard[k] = s;
    }
    return count <= FEW ? count : 0;
}

/* Appends the parts of an outbox and returns how many. */
static uint32_t parts_pack(struct train_box *box, const struct box_outbox *outbox,
                           struct box_list *lists, uint64_t number, struct base_buf *out)
{
    struct fold_parts p;
    uint32_t parts = 0, few[FEW], count = few_touched(box, lists, outbox, few);

    for (uint32_t i = 0; i < count; i++)
        rows_pack(box, lists, few[i], number, out, &parts);
    for (uint32_t s = 0; count == 0 && s < box->fold_count; s++)
        rows_pack(box, lists, s, number, out, &parts);
    for (uint32_t kind = PART_DENSE; kind <= PART_FACTORS; kind++)
        for (uint32_t t = 0; t < box->table_count; t++) {
            if (box->table[t].held)
                continue;
            uint64_t floats = box->table[t].rows * box->table[t].width;
            const struct box_list *whole = &lists[box->fold_count + t];
            if (whole[kind == PART_DENSE ? 0 : box->table_count].count == 0)
                continue;
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

struct box_outbox *carry_outbox_find(const struct train_box *box, uint32_t executor,
                                     uint64_t number)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct box_outbox *outbox = &box->executors[executor].outbox[i];
        if (atomic_load_explicit(&outbox->number, memory_order_acquire) == number)
            return outbox;
    }
    return NULL;
}

static const struct shard_view *held_of(const struct train_box *box, uint32_t table, uint32_t shard)
{
    return &box->shards[box->table[table].first_shard + shard];
}

void train_box_pack_commit(const struct train_box *box, uint32_t executor, struct base_buf *out)
{
    uint64_t number = train_box_committed(box, executor);

    if (number == 0)
        return;
    const struct box_commit *c = &box->executors[executor].commit[number & 1];
    struct commit_head head = {.magic = CARRY_COMMIT, .executor = executor};
    size_t state_size = 0, start = out->size;
    const void *state = train_box_state_read(box, executor, &state_size);
    head.state_size = c->new_state ? state_size : 0;
    base_buf_append(out, &head, sizeof head);
    carry_record_pack(c, number, out);
    carry_append_padded(out, state, head.state_size);
    for (uint32_t i = 0; c->holds && i < c->hold_count; i++) {
        const struct shard_view *v = held_of(box, c->hold_table, c->hold_shard + i * c->hold_step);
        base_buf_append(out, v->data[box_current(box, v->shard)],
                        (size_t)v->rows * v->width * sizeof(float));
    }
    struct box_outbox *outbox = c->adds ? carry_outbox_find(box, executor, number) : NULL;
    struct box_list *lists = outbox != NULL ? box_outbox_lists(box, outbox) : NULL;
    if (lists != NULL)
        head.parts = parts_pack((struct train_box *)box, outbox, lists, number, out);
    if (base_buf_status(out) == SHOAL_OK)
        memcpy(out->data + start, &head, sizeof head);
}

/* A commit whose bytes were checked. */
struct commit_view {
    struct carry_record record;
    const char *result, *state, *held, *parts;
    uint64_t state_size, held_size;
    size_t parts_size;
    uint32_t part_count;
    bool straight; /* rows and nothing else, which may go to their shards without an outbox */
};

bool carry_factors_check(const char *bytes, uint64_t size, const struct box_table *t)
{
    while (size > 0) {
        if (size < sizeof(struct box_factor))
            return false;
        uint32_t count = carry_word(bytes, 0);
        uint64_t whole = box_factor_size(t->rows, count);
        if (count == 0 || whole > size)
            return false;
        const char *index = bytes + sizeof(struct box_factor) + t->rows * sizeof(float);
        for (uint32_t i = 0; i < count; i++)
            if (carry_word(index, i) >= t->width)
                return false;
        bytes += whole;
        size -= whole;
    }
    return true;
}

/* One part after its head: its payload, or NULL. */
static const char *part_take(const struct train_box *box, struct carry_reader *r,
                             const struct part_head *part)
{
    if (part->count == 0)
        return NULL;
    if (part->kind == PART_ROWS) {
        if (part->index >= box->fold_count)
            return NULL;
        const struct shard_view *v = &box->shards[part->index];
        if (part->count > r->left / (sizeof(uint32_t) + v->width * sizeof(float)))
            return NULL;
        const char *at = carry_take(r, part->count * (sizeof(uint32_t) + v->width * sizeof(float)));
        for (uint64_t i = 0; at != NULL && i < part->count; i++)
            if (carry_word(at, i) >= v->rows)
                return NULL;
        return at;
    }
    if (part->index >= box->table_count || box->table[part->index].held)
        return NULL;
    const struct box_table *t = &box->table[part->index];
    if (part->kind == PART_DENSE)
        return part->count == t->rows * t->width ? carry_take(r, part->count * sizeof(float))
                                                 : NULL;
    if (part->kind != PART_FACTORS)
        return NULL;
    const char *at = carry_take(r, part->count);
    return at != NULL && carry_factors_check(at, part->count, t) ? at : NULL;
}

static bool commit_check(const struct train_box *box, uint32_t executor, struct carry_reader *r,
                         struct commit_view *out)
{
    struct commit_head head;
    struct part_head part, last = {0};

    if (!carry_get(r, &head, sizeof head) || head.magic != CARRY_COMMIT ||
        head.executor != executor || !carry_record_get(r, &out->record, &out->result) ||
        out->record.number == 0)
        return false;
    const struct carry_record *h = &out->record;
    out->state_size = head.state_size;
    if (h->new_state ? head.state_size != box->executors[executor].state_size
                     : head.state_size != 0)
        return false;
    out->state = carry_take_padded(r, head.state_size);
    out->held_size = 0;
    if (h->holds) {
        if (h->hold_count == 0 ||
            !train_box_can_hold(box, h->hold_table, h->hold_shard, h->hold_count, h->hold_step))
            return false;
        for (uint32_t i = 0; i < h->hold_count; i++) {
            const struct shard_view *v =
                held_of(box, h->hold_table, h->hold_shard + i * h->hold_step);
            out->held_size += (uint64_t)v->rows * v->width * sizeof(float);
        }
    }
    out->held = carry_take(r, out->held_size);
    out->parts = r->at;
    out->parts_size = r->left;
    out->part_count = head.parts;
    for (uint32_t i = 0; i < head.parts; i++) {
        if (!carry_get(r, &part, sizeof part) || part.kind < last.kind ||
            (part.kind == last.kind && part.index <= last.index && i > 0) ||
            part_take(box, r, &part) == NULL)
            return false;
        last = part;
    }
    out->straight = !box->bulk && head.parts > 0 && last.kind == PART_ROWS;
    return r->at != NULL && r->left == 0 && (h->adds || head.parts == 0);
}

bool train_box_commit_is(const struct train_task_spec *spec, const void *bytes, size_t size)
{
    struct carry_reader r = {bytes, size};
    struct commit_head head;
    struct carry_record h;
    const char *result;

    return carry_get(&r, &head, sizeof head) && head.executor == spec->executor &&
           carry_record_get(&r, &h, &result) && h.number == spec->number && h.fn == spec->fn &&
           h.clock == spec->clock && (h.ends_clock != 0) == spec->ends_clock &&
           (h.holds != 0) == spec->holds &&
           (!spec->holds || (h.hold_table == spec->hold_table && h.hold_shard == spec->hold_shard &&
                             h.hold_count == train_task_holds(spec) &&
                             (h.hold_count == 1 || h.hold_step == spec->hold_step)));
}

static void rows_import(shoal_task *task, uint32_t shard, uint64_t count, const char *bytes)
{
    size_t width = task->box->shards[shard].width, one = width * sizeof(float);
    const char *x = bytes + count * sizeof(uint32_t);

    for (uint64_t i = 0; i < count; i++) {
        bool again;
        float *to = box_task_entry(task, shard, carry_word(bytes, i), &again);
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

/* Whether parts_import has locked the shard: a lock names who has it, and an import has no other. */
static bool is_taken(const struct train_box *box, uint32_t shard)
{
    return atomic_load_explicit(&box->shards[shard].shard->lock, memory_order_relaxed) ==
           box->worker + 1;
}

static bool is_straight(const struct part_head *part, const char *bytes)
{
    return part->kind == PART_ROWS && (uintptr_t)bytes % sizeof(float) == 0;
}

/* Takes the shards that can be had and puts the rest into the outbox. */
static void parts_import(shoal_task *task, const struct commit_view *c)
{
    struct carry_reader r = {c->parts, c->parts_size};
    struct part_head part;

    for (uint32_t i = 0; i < c->part_count && carry_get(&r, &part, sizeof part); i++) {
        const char *bytes = part_take(task->box, &r, &part);
        if (c->straight && is_straight(&part, bytes) &&
            box_fold_take(task->box, part.index, task->spec.executor))
            continue;
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
    if (c->straight)
        atomic_fetch_add(&task->box->head->marks, 1); /* whoever hears of the commit looks */
}

/* The shards that were taken: adds to them, or lets go of them when nothing was committed. */
static void parts_fold(shoal_task *task, const struct commit_view *c, bool committed)
{
    struct train_box *box = task->box;
    struct carry_reader r = {c->parts, c->parts_size};
    struct part_head part;

    for (uint32_t i = 0; c->straight && i < c->part_count && carry_get(&r, &part, sizeof part);
         i++) {
        const char *bytes = part_take(box, &r, &part);
        if (!is_straight(&part, bytes) || !is_taken(box, part.index))
            continue;
        const uint32_t *row = (const uint32_t *)(const void *)bytes;
        if (committed)
            box_fold_rows(box, part.index, task->spec.executor, task->spec.number, row,
                          (const float *)(const void *)(row + part.count), part.count);
        else
            box_unlock(box->shards[part.index].shard);
    }
}

static void held_import(shoal_task *task, const char *bytes)
{
    uint64_t rows;

    for (uint32_t i = 0; i < task->held_count; i++) {
        float *to = shoal_task_held_at(task, i, NULL, NULL, &rows);
        size_t size = rows * box_held(task, i)->width * sizeof(float);
        memcpy(to, bytes, size);
        bytes += size;
    }
}

shoal_status train_box_import(struct train_box *box, uint32_t executor, const void *bytes,
                              size_t size, shoal_err *err)
{
    struct carry_reader r = {bytes, size};
    struct commit_view c;
    struct shoal_task task = {.desk = NULL};

    if (executor >= box->executor_count || !commit_check(box, executor, &r, &c))
        return carry_garbled(err, "a commit");
    if (c.record.number <= train_box_committed(box, executor))
        return SHOAL_OK;
    struct train_task_spec spec = {.executor = executor,
                                   .fn = c.record.fn,
                                   .number = c.record.number,
                                   .clock = c.record.clock,
                                   .hold_table = c.record.hold_table,
                                   .hold_shard = c.record.hold_shard,
                                   .hold_count = c.record.hold_count,
                                   .hold_step = c.record.hold_step,
                                   .ends_clock = c.record.ends_clock != 0,
                                   .holds = c.record.holds != 0};
    shoal_status st = box_task_begin(box, &task, &spec, false, err);
    if (st != SHOAL_OK)
        return st;
    if (c.record.new_state && c.state_size > 0) {
        void *state = shoal_task_new_state(&task, false);
        if (state == NULL) {
            train_task_abort(&task);
            return carry_garbled(err, "a commit");
        }
        memcpy(state, c.state, c.state_size);
    }
    held_import(&task, c.held);
    shoal_task_result(&task, c.result, c.record.result_size);
    parts_import(&task, &c);
    st = box_task_commit(&task, err);
    parts_fold(&task, &c, st == SHOAL_OK);
    return st;
}

void train_box_accepted(struct train_box *box, uint32_t executor, uint64_t number)
{
    _Atomic uint64_t *homed = &box->executors[executor].homed;

    if (atomic_load_explicit(homed, memory_order_relaxed) < number)
        atomic_store_explicit(homed, number, memory_order_release);
}
