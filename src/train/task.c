/* task.c - a micro-task from its beginning to its commit. What it does in between is in task_add.c
 * (increments) and task_see.c (the rest).
 *
 * Begin makes the tables fresh, sees to it that the outbox which the task will write is folded
 * everywhere, and takes and copies the shards that the task holds. The task then writes only what
 * nobody reads: the other state buffer, that outbox, the spare buffers of the shards. Commit fills the
 * commit record of the number's parity, numbers the outbox, marks the shards, writes the change of
 * buffers down, and stores the executor's committed number: the one store that counts. See box.h.
 *
 * Tests: tests/unit/train/test_task.c, test_box*.c. */
#include "train/box_parts.h"

#include "base/err.h"
#include <string.h>

shoal_status train_desk_new(struct train_box *box, struct train_desk **out_desk)
{
    struct train_desk *desk = base_calloc(env_alloc(box->env), 1, sizeof *desk);

    if (desk == NULL)
        return SHOAL_E_NOMEM;
    desk->box = box;
    desk->seen = UINT64_MAX;
    *out_desk = desk;
    return SHOAL_OK;
}

void train_desk_free(struct train_desk *desk)
{
    if (desk == NULL)
        return;
    base_free(&base_alloc_libc, desk->scratch);
    base_free(env_alloc(desk->box->env), desk);
}

/* The number of clocks only grows, so each look goes on where the last one found one that lags: a
 * step a task, and one per executor a clock. */
uint64_t train_desk_stale(struct train_desk *desk, uint64_t clock)
{
    const struct train_box *box = desk->box;
    uint64_t closed = train_box_closed(box);

    if (desk->ended < closed) {
        desk->ended = closed;
        desk->lagging = 0;
    }
    while (!box->away && desk->ended < clock &&
           box_has_ended(&box->executors[desk->lagging], desk->ended + 1)) {
        if (++desk->lagging < box->executor_count)
            continue;
        desk->ended++;
        desk->lagging = 0;
    }
    return clock > desk->ended ? clock - desk->ended : 0;
}

/* ---- begin ---- */

static shoal_status spec_check(const struct train_box *box, const struct train_task_spec *spec,
                               shoal_err *err)
{
    if (!box->sealed || spec->executor >= box->executor_count)
        return base_err(err, SHOAL_E_INVAL, "there is no executor %u", spec->executor);
    if (spec->arg_size > SHOAL_TASK_ARG_MAX)
        return base_err(err, SHOAL_E_INVAL, "an argument of %u bytes", spec->arg_size);
    if (spec->holds && !train_box_can_hold(box, spec->hold_table, spec->hold_shard,
                                           spec->hold_count, spec->hold_step))
        return base_err(err, SHOAL_E_INVAL, "shard %u of table %u cannot be held", spec->hold_shard,
                        spec->hold_table);
    uint64_t committed = train_box_committed(box, spec->executor);
    if (spec->number != committed + 1)
        return base_err(err, SHOAL_E_INVAL, "executor %u is at task %llu, not before %llu",
                        spec->executor, (unsigned long long)committed,
                        (unsigned long long)spec->number);
    return SHOAL_OK;
}

struct shard_view *box_held(const struct shoal_task *task, uint32_t index)
{
    const struct train_box *box = task->box;
    const struct train_task_spec *spec = &task->spec;

    return &box->shards[box->table[spec->hold_table].first_shard + spec->hold_shard +
                        index * spec->hold_step];
}

static void let_go(struct shoal_task *task)
{
    while (task->held_count > 0)
        box_unlock(box_held(task, --task->held_count)->shard);
}

/* Takes the shards, all or none; their spare buffers begin as copies of what is current. */
static shoal_status hold(struct shoal_task *task, bool copies)
{
    struct train_box *box = task->box;
    uint32_t count = train_task_holds(&task->spec);

    for (; task->held_count < count; task->held_count++) {
        if (!box_lock(box, box_held(task, task->held_count)->shard)) {
            let_go(task);
            return SHOAL_AGAIN;
        }
        if (box_crash(box))
            return SHOAL_E_CANCELLED;
    }
    for (uint32_t i = 0; copies && i < count; i++) {
        const struct shard_view *v = box_held(task, i);
        memcpy(box_task_spare(v), v->data[box_task_buffer(v)],
               (size_t)v->rows * v->width * sizeof(float));
    }
    return SHOAL_OK;
}

shoal_status box_task_begin(struct train_box *box, struct shoal_task *task,
                            const struct train_task_spec *spec, bool copies_held, shoal_err *err)
{
    shoal_status st = spec_check(box, spec, err);

    if (st != SHOAL_OK)
        return st;
    struct box_executor *e = &box->executors[spec->executor];
    struct box_outbox *outbox = NULL;
    st = box_outbox_next(box, spec->executor, &outbox);
    if (st != SHOAL_OK)
        return st;
    for (uint32_t i = 0; i < 2; i++)
        if (atomic_load_explicit(&e->outbox[i].number, memory_order_relaxed) >= spec->number)
            atomic_store_explicit(&e->outbox[i].number, 0,
                                  memory_order_relaxed); /* of a dead task */
    task->box = box;
    task->executor = e;
    task->outbox = outbox;
    task->lists = NULL;
    task->held_count = 0;
    task->last = spec->number > 1 ? &e->commit[(spec->number - 1) & 1] : NULL;
    task->state = task->last != NULL ? task->last->state & 1 : 0;
    task->result_size = 0;
    task->status = SHOAL_OK;
    task->drawn = task->new_state = false;
    memcpy(&task->spec, spec, offsetof(struct train_task_spec, arg));
    memcpy(task->spec.arg, spec->arg, spec->arg_size);
    if (spec->holds)
        st = hold(task, copies_held && !spec->hold_whole);
    task->busy = st == SHOAL_OK;
    return st;
}

shoal_status train_task_begin(struct train_desk *desk, uint64_t seed, const void *app_options,
                              const struct train_task_spec *spec, shoal_task **out_task,
                              shoal_err *err)
{
    if (desk->task.busy)
        return base_err(err, SHOAL_E_INVAL, "this thread's last task has not ended");
    shoal_status st = box_fresh(desk->box, &desk->seen);
    if (st == SHOAL_OK)
        st = box_task_begin(desk->box, &desk->task, spec, true, err);
    if (st != SHOAL_OK)
        return st;
    desk->task.desk = desk;
    desk->task.seed = seed;
    desk->task.options = app_options;
    *out_task = &desk->task;
    return SHOAL_OK;
}

/* ---- commit ---- */

void train_task_abort(shoal_task *task)
{
    task->busy = false;
    let_go(task);
}

static shoal_status refuse(shoal_task *task, shoal_err *err)
{
    const struct box_executor *e = task->executor;
    unsigned long long clock = task->spec.clock;

    if (task->status != SHOAL_OK)
        return base_err(err, task->status, "task %u of executor %u: %s", task->spec.fn,
                        task->spec.executor, task->failure);
    if (!task->box->bulk || task->lists == NULL)
        return SHOAL_OK;
    const struct box_outbox *other = &e->outbox[task->outbox == &e->outbox[0] ? 1 : 0];
    uint64_t number = atomic_load_explicit(&other->number, memory_order_relaxed);
    if (number != 0 && number < task->spec.number &&
        atomic_load_explicit(&other->clock, memory_order_relaxed) == task->spec.clock)
        return base_err(err, SHOAL_E_INVAL,
                        "executor %u makes increments in two tasks of clock %llu, which a bulk "
                        "synchronous job does not allow",
                        task->spec.executor, clock);
    return SHOAL_OK;
}

static void record_fill(shoal_task *task)
{
    struct box_commit *c = &task->executor->commit[task->spec.number & 1];

    atomic_store_explicit(&c->number, 0, memory_order_relaxed);
    atomic_thread_fence(
        memory_order_release); /* who finds it whole has read none of what follows */
    c->clock = task->spec.clock;
    c->fn = task->spec.fn;
    c->result_size = task->result_size;
    c->hold_table = task->spec.hold_table;
    c->hold_shard = task->spec.hold_shard;
    c->hold_count = train_task_holds(&task->spec);
    c->hold_step = task->spec.hold_step;
    c->ends_clock = task->spec.ends_clock;
    c->holds = task->spec.holds;
    c->adds = task->lists != NULL;
    c->new_state = task->new_state;
    c->state = task->state;
    memcpy(c->result, task->result, task->result_size);
    box_order();
    atomic_store_explicit(&c->number, task->spec.number, memory_order_release);
}

/* From here on the outbox is that of the task as soon as the task is committed. */
static bool outbox_announce(shoal_task *task)
{
    struct train_box *box = task->box;
    struct box_outbox *outbox = task->outbox;
    uint32_t count = atomic_load_explicit(&outbox->touched_count, memory_order_relaxed);

    box_order();
    outbox->open = 0; /* nothing is written any more; after the commit it may be another's */
    atomic_store_explicit(&outbox->clock, task->spec.clock, memory_order_relaxed);
    box_order();
    atomic_store_explicit(&outbox->number, task->spec.number, memory_order_release);
    if (box_crash(box))
        return false;
    if (box->away)
        return true; /* nothing is folded here */
    for (uint32_t i = 0; i < count; i++)
        box_mark(box, box_touched(box, task->lists)[i], task->spec.executor);
    if (box_crash(box))
        return false;
    atomic_fetch_add(&box->head->marks, 1);
    return true;
}

/* The change of buffers of every shard it holds, real as soon as the task is committed. */
static bool flips_announce(shoal_task *task)
{
    for (uint32_t i = 0; i < task->held_count; i++) {
        const struct shard_view *v = box_held(task, i);
        struct box_shard *shard = v->shard;
        atomic_store_explicit(&shard->flip_executor, task->spec.executor, memory_order_relaxed);
        atomic_store_explicit(&shard->flip_buffer, box_task_buffer(v) ^ 1, memory_order_relaxed);
        box_order();
        atomic_store_explicit(&shard->flip_number, task->spec.number, memory_order_release);
        if (box_crash(task->box))
            return false;
    }
    return true;
}

/* After the commit. */
static bool flips_settle(shoal_task *task)
{
    for (; task->held_count > 0; task->held_count--) {
        struct box_shard *shard = box_held(task, task->held_count - 1)->shard;
        box_flip_settle(task->box, shard);
        if (box_crash(task->box))
            return false;
        box_unlock(shard);
    }
    return true;
}

/* After the commit: what can be had without waiting. */
static bool fold_touched(shoal_task *task)
{
    struct train_box *box = task->box;
    uint32_t count = atomic_load_explicit(&task->outbox->touched_count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t shard =
            atomic_load_explicit(&box_touched(box, task->lists)[i], memory_order_relaxed);
        if (box_fold_shard(box, shard) == SHOAL_E_CANCELLED)
            return false;
    }
    return true;
}

shoal_status box_task_commit(struct shoal_task *task, shoal_err *err)
{
    struct train_box *box = task->box;
    shoal_status st = refuse(task, err);

    if (st != SHOAL_OK) {
        train_task_abort(task);
        return st;
    }
    task->busy = false;
    if (box_crash(box))
        return SHOAL_E_CANCELLED;
    record_fill(task);
    if (box_crash(box) || (task->lists != NULL && !outbox_announce(task)) || box_crash(box))
        return SHOAL_E_CANCELLED;
    if (!flips_announce(task))
        return SHOAL_E_CANCELLED;
    box_order();
    if (box_crash(box))
        return SHOAL_E_CANCELLED;
    atomic_store(&task->executor->committed, task->spec.number);
    box_order();
    if (box_crash(box) || !flips_settle(task))
        return SHOAL_E_CANCELLED;
    if (task->lists != NULL && (box_crash(box) || !fold_touched(task)))
        return SHOAL_E_CANCELLED;
    return SHOAL_OK;
}

shoal_status train_task_commit(shoal_task *task, shoal_err *err)
{
    return box_task_commit(task, err);
}
