/* box_plan.c - what is declared before a box is sealed: executors, tables and how these are cut in
 * shards. Tests: tests/unit/train/test_box.c. */
#include "train/box_parts.h"

#include "base/err.h"
#include <string.h>

/* A shard's rows go in one message. */
enum { SHARD_BYTES = 1 << 22, SHARDS_CHOSEN_MAX = 64, SHARD_BYTES_MAX = 1 << 25 };

shoal_status train_box_executors(struct train_box *box, uint32_t count, shoal_err *err)
{
    if (box->sealed || box->executors != NULL)
        return base_err(err, SHOAL_E_INVAL, "executors are declared once, in plan");
    if (count == 0 || count > BOX_EXECUTORS_MAX)
        return base_err(err, SHOAL_E_INVAL, "%u executors: it must be 1 to %d", count,
                        BOX_EXECUTORS_MAX);
    uint64_t at = box_take(box, count * sizeof(struct box_executor), BOX_PAGE);
    if (at == 0)
        return base_err_nomem(err, "making executors");
    box->head->executors_at = at;
    box->head->executor_count = count;
    box->executors = box_at(box, at);
    box->executor_count = count;
    return SHOAL_OK;
}

static uint64_t take_bytes(struct train_box *box, uint64_t size)
{
    return box_take(box, size > 0 ? size : 1, size >= BOX_HUGE ? BOX_PAGE : BOX_ALIGN);
}

void *train_box_data(struct train_box *box, uint32_t executor, size_t size)
{
    if (executor >= box->executor_count || box->sealed)
        return NULL;
    uint64_t at = take_bytes(box, size);
    if (at == 0)
        return NULL;
    box->executors[executor].data_at = at;
    box->executors[executor].data_size = size;
    return box_at(box, at);
}

void *train_box_state(struct train_box *box, uint32_t executor, size_t size)
{
    if (executor >= box->executor_count || box->sealed)
        return NULL;
    uint64_t at[2] = {take_bytes(box, size), take_bytes(box, size)};
    if (at[0] == 0 || at[1] == 0)
        return NULL;
    memcpy(box->executors[executor].state_at, at, sizeof at);
    box->executors[executor].state_size = size;
    return box_at(box, at[0]);
}

/* Shards are small enough to spread folds over threads and large enough to be few. */
static uint32_t shards_choose(uint64_t rows, uint64_t bytes)
{
    uint64_t shards = bytes / SHARD_BYTES;

    if (shards > SHARDS_CHOSEN_MAX)
        shards = SHARDS_CHOSEN_MAX;
    if (shards < bytes / SHARD_BYTES_MAX)
        shards = bytes / SHARD_BYTES_MAX;
    while (rows / (shards > 0 ? shards : 1) >= UINT32_MAX)
        shards = shards > 0 ? 2 * shards : 2;
    return shards == 0 ? 1 : (uint32_t)(shards < rows ? shards : rows);
}

static void shards_even(struct box_table *t, uint64_t shards)
{
    if (shards > t->rows)
        shards = t->rows;
    t->shard_rows = (t->rows - 1) / shards + 1;
    t->shards = (uint32_t)((t->rows - 1) / t->shard_rows + 1);
}

static bool shards_uneven(struct box_table *t, const shoal_table_opts *opts)
{
    t->shard_rows = 1;
    t->shards = opts->shards;
    return opts->held && opts->shards > 0 && opts->shards <= BOX_SHARDS_MAX &&
           box_firsts_valid(opts->shard_first, opts->shards, opts->rows);
}

shoal_status train_box_table(struct train_box *box, const shoal_table_opts *opts, shoal_err *err)
{
    const char *name = opts->name != NULL ? opts->name : "";
    uint32_t count = box->head->table_count;
    struct box_table t = {.rows = opts->rows, .width = opts->width, .held = opts->held};

    if (box->sealed)
        return base_err(err, SHOAL_E_INVAL, "table '%s' is declared after plan", name);
    if (count >= SHOAL_TABLES_MAX)
        return base_err(err, SHOAL_E_LIMIT, "table '%s': there are %d tables already", name,
                        SHOAL_TABLES_MAX);
    if (name[0] == '\0' || strlen(name) >= sizeof t.name)
        return base_err(err, SHOAL_E_INVAL, "table '%s': a name has 1 to %zu characters", name,
                        sizeof t.name - 1);
    if (opts->rows == 0 || opts->width == 0 || opts->width > BOX_WIDTH_MAX)
        return base_err(err, SHOAL_E_INVAL, "table '%s': %llu rows of %u floats", name,
                        (unsigned long long)opts->rows, opts->width);
    if (opts->rows > box->shared.size / (opts->width * sizeof(float)))
        return base_err_nomem(err, "making a table");
    uint64_t size = opts->rows * opts->width * sizeof(float);
    if (opts->shard_first == NULL)
        shards_even(&t, opts->shards != 0 ? opts->shards : shards_choose(opts->rows, size));
    else if (!shards_uneven(&t, opts))
        return base_err(err, SHOAL_E_INVAL, "table '%s': its shards make no sense", name);
    if (t.shard_rows > UINT32_MAX || t.shards > BOX_SHARDS_MAX - box->head->shard_count)
        return base_err(err, SHOAL_E_LIMIT, "table '%s': %u shards; a job has at most %d", name,
                        t.shards, BOX_SHARDS_MAX);
    if (opts->shard_first != NULL) {
        t.firsts_at = box_take(box, (t.shards + UINT64_C(1)) * sizeof(uint64_t), BOX_ALIGN);
        if (t.firsts_at == 0)
            return base_err_nomem(err, "making a table");
        memcpy(box_at(box, t.firsts_at), opts->shard_first,
               (t.shards + UINT64_C(1)) * sizeof(uint64_t));
    }
    for (int b = 0; b < (opts->held ? 2 : 1); b++) {
        t.data_at[b] = box_take(box, size, size >= BOX_HUGE ? BOX_HUGE : BOX_ALIGN);
        if (t.data_at[b] == 0)
            return base_err_nomem(err, "making a table");
    }
    memcpy(t.name, name, strlen(name));
    box->head->table[count] = box->table[count] = t;
    box->head->shard_count += t.shards;
    box->table_count = box->head->table_count = count + 1;
    return SHOAL_OK;
}

/* The arrays of a shard; false: no memory. */
static bool shard_make(struct train_box *box, struct box_shard *s, const struct box_table *t)
{
    uint64_t executors = box->executor_count, undo = t->width > BOX_UNDO ? t->width : BOX_UNDO;

    atomic_store(&s->version, 1);
    atomic_store(&s->step, 1);
    if (t->held)
        return true;
    s->folded_at = box_take(box, executors * 8, BOX_ALIGN);
    s->version_at = box_take(box, executors * 8, BOX_ALIGN);
    s->bits_at = box_take(box, (executors + 63) / 64 * 8, BOX_ALIGN);
    s->undo_at = box_take(box, undo * sizeof(float), BOX_ALIGN);
    return s->folded_at != 0 && s->version_at != 0 && s->bits_at != 0 && s->undo_at != 0;
}

shoal_status train_box_seal(struct train_box *box, shoal_err *err)
{
    struct box_head *head = box->head;

    if (box->sealed)
        return base_err(err, SHOAL_E_INVAL, "the plan is sealed already");
    if (box->executors == NULL)
        return base_err(err, SHOAL_E_INVAL, "the plan declares no executors");
    if (head->shard_count > 0) {
        head->shards_at = box_take(box, head->shard_count * sizeof(struct box_shard), BOX_PAGE);
        if (head->shards_at == 0)
            return base_err_nomem(err, "making tables");
    }
    struct box_shard *shards = box_at(box, head->shards_at);
    box_shards_number(box);
    for (uint32_t t = 0; t < box->table_count; t++)
        for (uint32_t i = 0; i < box->table[t].shards; i++)
            if (!shard_make(box, &shards[box->table[t].first_shard + i], &box->table[t]))
                return base_err_nomem(err, "making tables");
    shoal_status st = box_view_build(box, err);
    if (st == SHOAL_OK)
        atomic_store_explicit(&head->magic, BOX_MAGIC, memory_order_release);
    return st;
}
