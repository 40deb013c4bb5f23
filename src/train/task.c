/* task.c - a micro-task from its beginning to its commit, and what it does in between.
 *
 * Begin makes the tables fresh, sees to it that the outbox which the task will write is folded
 * everywhere, and takes and copies the shards that the task holds. The task then writes only what
 * nobody reads: the other state buffer, that outbox, the spare buffers of the shards. Commit fills the
 * commit record of the number's parity, numbers the outbox, marks the shards, writes the change of
 * buffers down, and stores the executor's committed number: the one store that counts. See box.h.
 *
 * An outbox is written from the task's first increment on; tasks without any cost nothing here. An
 * outbox that a dead task left open is emptied whole, one that was committed only where it was
 * touched. Lists double when they are full; the old memory goes back by whole pages.
 *
 * Tests: tests/unit/train/test_task.c, test_box*.c. */
#include "train/box_parts.h"

#include "base/err.h"
#include <string.h>

enum { LIST_BYTES_FIRST = 1024, AHEAD = 256 /* floats */ };

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

/* The first failure sticks. */
static void fail(shoal_task *task, shoal_status status, const char *failure)
{
    if (task->status == SHOAL_OK) {
        task->status = status;
        task->failure = failure;
    }
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

/* The buffer in use of a shard that the task has locked. No change of buffers is left: who unlocks it
 * settles it, the repairer for the dead. */
static uint32_t buffer_of(const struct shard_view *v)
{
    return atomic_load_explicit(&v->shard->current, memory_order_relaxed) & 1;
}

static float *spare_of(const struct shard_view *v)
{
    return v->data[buffer_of(v) ^ 1];
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
        memcpy(spare_of(v), v->data[buffer_of(v)], (size_t)v->rows * v->width * sizeof(float));
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
        atomic_store_explicit(&shard->flip_buffer, buffer_of(v) ^ 1, memory_order_relaxed);
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

/* ---- the outbox while it is written ---- */

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

/* A list whose new memory is half made keeps the old one: `at` and `cap` change last. */
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
    /* Never a large cap with the old memory; a list that dies in between is emptied before use. */
    list->cap = 0;
    box_order();
    list->at = at;
    box_order();
    list->cap = cap;
    if (old_cap > 0)
        box_drop(box, old_at, rows_size(old_cap, width));
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
    fail(task, SHOAL_E_NOMEM, "out of memory while making increments");
    return NULL;
}

void shoal_task_add(shoal_task *task, uint32_t table, uint64_t row, const float *x)
{
    const struct train_box *box = task->box;
    bool again;

    if (table >= box->table_count || box->table[table].held || row >= box->table[table].rows) {
        fail(task, SHOAL_E_INVAL, "an increment of a row that no table has");
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
        fail(task, SHOAL_E_INVAL, "an increment of a table that takes none");
        return NULL;
    }
    if (task->lists == NULL && !outbox_open(task)) {
        fail(task, SHOAL_E_NOMEM, "out of memory while making increments");
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
        fail(task, SHOAL_E_NOMEM, "out of memory while making increments");
        return NULL;
    }
    list->count = 1;
    return box_at(box, list->at);
}

static bool bytes_grow(struct train_box *box, struct box_list *list, uint64_t need)
{
    uint64_t cap = list->cap > 0 ? 2 * list->cap : LIST_BYTES_FIRST, old_at = list->at,
             old_cap = list->cap;

    while (cap < need)
        cap *= 2;
    uint64_t at = box_take(box, cap, BOX_ALIGN);
    if (at == 0)
        return false;
    if (list->count > 0)
        memcpy(box_at(box, at), box_at(box, old_at), list->count);
    list->cap = 0;
    box_order();
    list->at = at;
    box_order();
    list->cap = cap;
    if (old_cap > 0)
        box_drop(box, old_at, old_cap);
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
            fail(task, SHOAL_E_INVAL, "a factor with a column that no row has");
            return;
        }
    uint64_t size = box_factor_size(t->rows, count);
    if (size > list->cap - list->count && !bytes_grow(box, list, list->count + size)) {
        fail(task, SHOAL_E_NOMEM, "out of memory while making increments");
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
        fail(task, SHOAL_E_NOMEM, "out of memory while making increments");
        return;
    }
    memcpy((char *)box_at(task->box, list->at) + list->count, bytes, size);
    list->count += size;
}

/* ---- what a task sees ---- */

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
               ? spare_of(box_held(task, past / step))
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
        *out_before = v->data[buffer_of(v)];
    if (out_first != NULL)
        *out_first = v->first;
    if (out_count != NULL)
        *out_count = v->rows;
    return spare_of(v);
}

void *shoal_task_scratch(shoal_task *task, size_t size)
{
    struct train_desk *desk = task->desk;

    if (desk->scratch_size < size) {
        base_free(&base_alloc_libc, desk->scratch);
        desk->scratch = base_malloc(&base_alloc_libc, size + BOX_ALIGN);
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
        fail(task, SHOAL_E_LIMIT, "its result is too long");
        return;
    }
    memcpy(task->result, bytes, size);
    task->result_size = (uint32_t)size;
}
