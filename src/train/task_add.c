/* task_add.c - the increments of a task: the outbox while it is written.
 *
 * An outbox is written from the task's first increment on; tasks without any cost nothing here. An
 * outbox that a dead task left open is emptied whole, one that was committed only where it was
 * touched. Lists double when they are full; the old memory goes back by whole pages.
 *
 * Tests: tests/unit/train/test_task.c, test_box*.c. */
#include "train/box_parts.h"

#include <string.h>

enum { LIST_BYTES_FIRST = 1024, AHEAD = 256 /* floats */ };

static void list_empty(struct box_list *list)
{
    list->count = 0;
    atomic_store_explicit(&list->touched, 0, memory_order_relaxed);
}

/* Makes the outbox empty and the task's. */
static bool outbox_open(shoal_task *task)
{
    struct train_box *box = task->box;
    struct box_outbox *outbox = task->outbox;
    uint32_t count = box->fold_count, all = count + 2 * box->table_count;

    atomic_store_explicit(&outbox->number, 0, memory_order_relaxed);
    atomic_thread_fence(
        memory_order_release); /* for who copies it meanwhile; see carry_factors.c */
    if (atomic_load_explicit(&outbox->lists_at, memory_order_relaxed) == 0) {
        uint64_t at =
            box_take(box, all * sizeof(struct box_list) + count * sizeof(uint32_t), BOX_ALIGN);
        if (at == 0)
            return false;
        atomic_store_explicit(&outbox->lists_at, at, memory_order_release);
    }
    struct box_list *lists = box_outbox_lists(box, outbox);
    if (lists == NULL)
        return false;
    if (outbox->open) {
        for (uint32_t i = 0; i < all; i++)
            list_empty(&lists[i]);
    } else {
        uint32_t touched = atomic_load_explicit(&outbox->touched_count, memory_order_relaxed);
        for (uint32_t i = 0; i < touched && i < count; i++) {
            uint32_t shard =
                atomic_load_explicit(&box_touched(box, lists)[i], memory_order_relaxed);
            if (shard < count)
                list_empty(&lists[shard]);
        }
        for (uint32_t i = count; i < all; i++)
            list_empty(&lists[i]);
    }
    atomic_store_explicit(&outbox->touched_count, 0, memory_order_relaxed);
    outbox->open = 1;
    box_order();
    task->lists = lists;
    return true;
}

static void touch(shoal_task *task, uint32_t shard)
{
    struct box_outbox *outbox = task->outbox;
    uint32_t count = atomic_load_explicit(&outbox->touched_count, memory_order_relaxed);

    atomic_store_explicit(&box_touched(task->box, task->lists)[count], shard, memory_order_relaxed);
    atomic_store_explicit(&outbox->touched_count, count + 1, memory_order_relaxed);
    atomic_store_explicit(&task->lists[shard].touched, task->spec.number, memory_order_relaxed);
}

static bool touched(const shoal_task *task, uint32_t shard)
{
    return atomic_load_explicit(&task->lists[shard].touched, memory_order_relaxed) ==
           task->spec.number;
}

static uint64_t rows_size(uint64_t cap, uint64_t width)
{
    return box_values_offset(cap) + cap * width * sizeof(float);
}

/* Gives a list other memory, into which what it has was copied; the old, of this size, is dropped. A
 * list whose new memory is half made keeps the old one: `at` and `cap` change last. There is never a
 * large cap with the old memory; a list whose task dies in between is emptied before use. */
static void list_move(struct train_box *box, struct box_list *list, uint64_t at, uint64_t cap,
                      uint64_t old_size)
{
    uint64_t old_at = list->at;

    list->cap = 0;
    box_order();
    list->at = at;
    box_order();
    list->cap = cap;
    if (old_size > 0)
        box_drop(box, old_at, old_size);
}

static bool rows_grow(struct train_box *box, struct box_list *list, uint64_t width)
{
    uint64_t old_at = list->at, old_cap = list->cap, one = (width + 1) * sizeof(float);
    uint64_t cap = old_cap > 0                  ? 2 * old_cap
                   : one < LIST_BYTES_FIRST / 2 ? LIST_BYTES_FIRST / one
                                                : 2;
    uint64_t at = box_take(box, rows_size(cap, width), BOX_ALIGN);

    if (at == 0)
        return false;
    if (old_cap > 0) {
        memcpy(box_at(box, at), box_at(box, old_at), list->count * sizeof(uint32_t));
        memcpy(box_at(box, at + box_values_offset(cap)),
               box_at(box, old_at + box_values_offset(old_cap)),
               list->count * width * sizeof(float));
    }
    list_move(box, list, at, cap, old_cap > 0 ? rows_size(old_cap, width) : 0);
    return true;
}

float *box_task_entry(struct shoal_task *task, uint32_t shard, uint32_t row, bool *out_again)
{
    struct train_box *box = task->box;

    if (task->status != SHOAL_OK)
        return NULL;
    if (task->lists == NULL && !outbox_open(task))
        goto no_memory;
    struct box_list *list = &task->lists[shard];
    uint64_t width = box->shards[shard].width, count = list->count;
    if (!touched(task, shard))
        touch(task, shard);
    if (count > 0) {
        const uint32_t *rows = box_at(box, list->at);
        *out_again = rows[count - 1] == row;
        if (*out_again)
            return (float *)box_at(box, list->at + box_values_offset(list->cap)) +
                   (count - 1) * width;
    } else {
        *out_again = false;
    }
    if (count == list->cap && !rows_grow(box, list, width))
        goto no_memory;
    ((uint32_t *)box_at(box, list->at))[count] = row;
    list->count = count + 1;
    return (float *)box_at(box, list->at + box_values_offset(list->cap)) + count * width;
no_memory:
    box_task_fail(task, SHOAL_E_NOMEM, "out of memory while making increments");
    return NULL;
}

void shoal_task_add(shoal_task *task, uint32_t table, uint64_t row, const float *x)
{
    const struct train_box *box = task->box;
    bool again;

    if (table >= box->table_count || box->table[table].held || row >= box->table[table].rows) {
        box_task_fail(task, SHOAL_E_INVAL, "an increment of a row that no table has");
        return;
    }
    const struct box_table *t = &box->table[table];
    uint64_t shard = (row | t->shard_rows) <= UINT32_MAX ? (uint32_t)row / (uint32_t)t->shard_rows
                                                         : row / t->shard_rows;
    float *to = box_task_entry(task, t->first_shard + (uint32_t)shard,
                               (uint32_t)(row - shard * t->shard_rows), &again);
    if (to == NULL)
        return;
    if (again)
        for (uint32_t i = 0; i < t->width; i++)
            to[i] += x[i];
    else
        memcpy(to, x, t->width * sizeof(float));
    for (uint32_t i = 0; i < t->width && i < AHEAD; i += 16)
        __builtin_prefetch(to + t->width + i, 1); /* the list's next entry */
}

/* The table's dense list (part 0) or factors (part 1), all its shards touched; NULL: it failed. */
static struct box_list *whole_list(shoal_task *task, uint32_t table, uint32_t part)
{
    struct train_box *box = task->box;

    if (task->status != SHOAL_OK)
        return NULL;
    if (table >= box->table_count || box->table[table].held) {
        box_task_fail(task, SHOAL_E_INVAL, "an increment of a table that takes none");
        return NULL;
    }
    if (task->lists == NULL && !outbox_open(task)) {
        box_task_fail(task, SHOAL_E_NOMEM, "out of memory while making increments");
        return NULL;
    }
    const struct box_table *t = &box->table[table];
    for (uint32_t s = t->first_shard; s < t->first_shard + t->shards; s++)
        if (!touched(task, s))
            touch(task, s);
    return &task->lists[box->fold_count + part * box->table_count + table];
}

float *shoal_task_add_all(shoal_task *task, uint32_t table)
{
    struct box_list *list = whole_list(task, table, 0);

    if (list == NULL)
        return NULL;
    struct train_box *box = task->box;
    uint64_t size = box->table[table].rows * box->table[table].width * sizeof(float);
    if (list->at == 0)
        list->at = box_take(box, size, size >= BOX_PAGE ? BOX_PAGE : BOX_ALIGN);
    else if (list->count == 0)
        memset(box_at(box, list->at), 0, size);
    if (list->at == 0) {
        box_task_fail(task, SHOAL_E_NOMEM, "out of memory while making increments");
        return NULL;
    }
    list->count = 1;
    return box_at(box, list->at);
}

static bool bytes_grow(struct train_box *box, struct box_list *list, uint64_t need)
{
    uint64_t cap = list->cap > 0 ? 2 * list->cap : LIST_BYTES_FIRST;

    while (cap < need)
        cap *= 2;
    uint64_t at = box_take(box, cap, BOX_ALIGN);
    if (at == 0)
        return false;
    if (list->count > 0)
        memcpy(box_at(box, at), box_at(box, list->at), list->count);
    list_move(box, list, at, cap, list->cap);
    return true;
}

void shoal_task_add_factor(shoal_task *task, uint32_t table, const float *u,
                           const uint32_t *v_index, const float *v_value, uint32_t count)
{
    struct box_list *list = whole_list(task, table, 1);

    if (list == NULL || count == 0)
        return;
    struct train_box *box = task->box;
    const struct box_table *t = &box->table[table];
    for (uint32_t i = 0; i < count; i++)
        if (v_index[i] >= t->width) {
            box_task_fail(task, SHOAL_E_INVAL, "a factor with a column that no row has");
            return;
        }
    uint64_t size = box_factor_size(t->rows, count);
    if (size > list->cap - list->count && !bytes_grow(box, list, list->count + size)) {
        box_task_fail(task, SHOAL_E_NOMEM, "out of memory while making increments");
        return;
    }
    struct box_factor *f =
        (struct box_factor *)(void *)((char *)box_at(box, list->at) + list->count);
    float *to = (float *)(f + 1);
    *f = (struct box_factor){.count = count};
    memcpy(to, u, t->rows * sizeof(float));
    memcpy(to + t->rows, v_index, count * sizeof(uint32_t));
    memcpy(to + t->rows + count, v_value, count * sizeof(float));
    list->count += size;
}

void box_task_factors(struct shoal_task *task, uint32_t table, const void *bytes, uint64_t size)
{
    struct box_list *list = whole_list(task, table, 1);

    if (list == NULL)
        return;
    if (size > list->cap - list->count && !bytes_grow(task->box, list, list->count + size)) {
        box_task_fail(task, SHOAL_E_NOMEM, "out of memory while making increments");
        return;
    }
    memcpy((char *)box_at(task->box, list->at) + list->count, bytes, size);
    list->count += size;
}
