/* task_see.c - what an application's task sees of its executor and of tables, and leaves but for
 * increments. Tests: tests/unit/train/test_task.c. */
#include "train/box_parts.h"

#include <string.h>

const void *shoal_task_options(const shoal_task *task)
{
    return task->options;
}

uint32_t shoal_task_executor(const shoal_task *task)
{
    return task->spec.executor;
}

uint32_t shoal_task_fn(const shoal_task *task)
{
    return task->spec.fn;
}

uint64_t shoal_task_clock(const shoal_task *task)
{
    return task->spec.clock;
}

const void *shoal_task_arg(const shoal_task *task, size_t *out_size)
{
    *out_size = task->spec.arg_size;
    return task->spec.arg;
}

const void *shoal_task_data(const shoal_task *task, size_t *out_size)
{
    return train_box_data_read(task->box, task->spec.executor, out_size);
}

const void *shoal_task_state(const shoal_task *task, size_t *out_size)
{
    return train_box_state_read(task->box, task->spec.executor, out_size);
}

void *shoal_task_new_state(shoal_task *task, bool copied)
{
    const struct train_box *box = task->box;
    const struct box_executor *e = task->executor;
    uint8_t old = task->last != NULL ? task->last->state & 1 : 0, now = old ^ 1;

    if (e->state_at[now] == 0 || !box_holds(box, e->state_at[now], e->state_size) ||
        !box_holds(box, e->state_at[old], e->state_size))
        return NULL;
    if (copied && !task->new_state)
        memcpy(box_at(box, e->state_at[now]), box_at(box, e->state_at[old]), e->state_size);
    task->new_state = true;
    task->state = now;
    return box_at(box, e->state_at[now]);
}

const float *shoal_task_rows(const shoal_task *task, uint32_t table)
{
    return train_box_rows(task->box, table);
}

const float *shoal_task_shard(const shoal_task *task, uint32_t table, uint32_t shard,
                              uint64_t *out_first, uint64_t *out_count)
{
    const float *current = train_box_shard(task->box, table, shard, out_first, out_count);
    const struct train_task_spec *spec = &task->spec;

    if (task->held_count == 0 || spec->hold_table != table || shard < spec->hold_shard)
        return current;
    uint32_t past = shard - spec->hold_shard, step = task->held_count > 1 ? spec->hold_step : 1;
    return past % step == 0 && past / step < task->held_count
               ? box_task_spare(box_held(task, past / step))
               : current;
}

float *shoal_task_held(shoal_task *task, uint64_t *out_first, uint64_t *out_count)
{
    return shoal_task_held_at(task, 0, NULL, out_first, out_count);
}

float *shoal_task_held_at(shoal_task *task, uint32_t index, const float **out_before,
                          uint64_t *out_first, uint64_t *out_count)
{
    if (index >= task->held_count)
        return NULL;
    const struct shard_view *v = box_held(task, index);
    if (out_before != NULL)
        *out_before = v->data[box_task_buffer(v)];
    if (out_first != NULL)
        *out_first = v->first;
    if (out_count != NULL)
        *out_count = v->rows;
    return box_task_spare(v);
}

void *shoal_task_scratch(shoal_task *task, size_t size)
{
    struct train_desk *desk = task->desk;

    if (desk->scratch_size < size) {
        base_free(&base_alloc_libc, desk->scratch);
        desk->scratch = base_calloc(&base_alloc_libc, 1, size + BOX_ALIGN);
        desk->scratch_size = desk->scratch != NULL ? size : 0;
    }
    return desk->scratch_size < size ? NULL
                                     : (void *)box_round((uintptr_t)desk->scratch, BOX_ALIGN);
}

uint64_t shoal_task_random(shoal_task *task)
{
    if (!task->drawn) {
        /* Streams differ by name and seed; executor and number are mixed into the seed. */
        uint64_t seed = task->seed ^ (task->spec.executor + UINT64_C(1)) * 0x9e3779b97f4a7c15u;
        base_rand_init(&task->random, seed ^ task->spec.number * 0xd1342543de82ef95u, "task");
        task->drawn = true;
    }
    return base_rand_u64(&task->random);
}

void shoal_task_result(shoal_task *task, const void *bytes, size_t size)
{
    if (size > SHOAL_TASK_RESULT_MAX) {
        box_task_fail(task, SHOAL_E_LIMIT, "its result is too long");
        return;
    }
    memcpy(task->result, bytes, size);
    task->result_size = (uint32_t)size;
}
