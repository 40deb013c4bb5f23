/* box.c - making, opening and looking at a box. See box.h for the design, box_parts.h for the
 * layout. */
#include "train/box_parts.h"

#include "base/err.h"
#include <string.h>

enum { SEGMENT_MIN = 1 << 24 };

/* ---- memory of the segment ---- */

/* Room for what was taken; on the disk, where the segment is a file, in steps. It may be taken twice
 * by two at once, which does nothing the second time. */
static bool back(struct train_box *box, uint64_t at, uint64_t size)
{
    _Atomic uint64_t *backed = &box->head->backed;
    uint64_t from = atomic_load_explicit(backed, memory_order_relaxed), end = at + size;

    if (!box->shared.spilled)
        return env_shared_back(box->env, &box->shared, at, size);
    if (end <= from)
        return true;
    end = box_round(end, BOX_BACK);
    end = end < box->shared.size ? end : box->shared.size;
    if (!env_shared_back(box->env, &box->shared, from, end - from))
        return false;
    while (from < end && !atomic_compare_exchange_weak_explicit(
                             backed, &from, end, memory_order_relaxed, memory_order_relaxed)) {
    }
    return true;
}

uint64_t box_take(struct train_box *box, uint64_t size, uint64_t align)
{
    _Atomic uint64_t *top = &box->head->top;
    uint64_t old = atomic_load_explicit(top, memory_order_relaxed), at;

    do {
        at = box_round(old, align);
        if (old > box->shared.size || at > box->shared.size || size > box->shared.size - at)
            return 0;
    } while (!atomic_compare_exchange_weak_explicit(top, &old, at + size, memory_order_relaxed,
                                                    memory_order_relaxed));
    if (back(box, at, size))
        return at;
    uint64_t end = at + size; /* given back, unless others have taken more since */
    (void)atomic_compare_exchange_strong_explicit(top, &end, old, memory_order_relaxed,
                                                  memory_order_relaxed);
    return 0;
}

void box_drop(struct train_box *box, uint64_t offset, uint64_t size)
{
    uint64_t first = box_round(offset, BOX_PAGE), end = (offset + size) / BOX_PAGE * BOX_PAGE;

    if (first >= end)
        return;
    env_shared_drop(box->env, &box->shared, first, end - first);
    atomic_fetch_add_explicit(&box->head->dropped, end - first, memory_order_relaxed);
}

size_t train_box_memory(const struct train_box *box)
{
    return atomic_load_explicit(&box->head->top, memory_order_relaxed) -
           atomic_load_explicit(&box->head->dropped, memory_order_relaxed);
}

shoal_status train_box_segment(shoal_env *env, size_t size, struct env_shared *out, shoal_err *err)
{
    shoal_status st = env_shared_new(env, size, out, err);
    bool refused = false;

    while (st == SHOAL_E_NOMEM && size / 2 >= SEGMENT_MIN) {
        refused = true;
        size /= 2;
        st = env_shared_new(env, size, out, NULL);
    }
    if (st != SHOAL_OK || !refused)
        return st;
    env_shared_close(env, out);
    return env_shared_new(env, size / 2, out, err);
}

/* ---- views ---- */

shoal_status box_view_new(shoal_env *env, const struct env_shared *segment, uint32_t worker,
                          const struct train_box_opts *opts, struct train_box **out_box,
                          shoal_err *err)
{
    if (segment->base == NULL || segment->size < BOX_PAGE + sizeof(struct box_head))
        return base_err(err, SHOAL_E_INVAL, "a box does not fit into a segment of %zu bytes",
                        segment->size);
    if (worker >= TRAIN_WORKERS_MAX)
        return base_err(err, SHOAL_E_INVAL, "worker %u is not below %d", worker, TRAIN_WORKERS_MAX);
    struct train_box *box = base_calloc(env_alloc(env), 1, sizeof *box);
    if (box == NULL)
        return base_err_nomem(err, "opening a box");
    box->env = env;
    box->shared = *segment;
    box->head = (struct box_head *)(void *)segment->base;
    box->worker = worker;
    if (opts != NULL) {
        box->crash = opts->crash;
        box->crash_ctx = opts->crash_ctx;
    }
    box_fold_choose(box);
    *out_box = box;
    return SHOAL_OK;
}

shoal_status box_format(struct train_box *box, uint32_t staleness, bool away, shoal_err *err)
{
    struct box_head *head = box->head;

    if (!env_shared_back(box->env, &box->shared, 0, sizeof *head))
        return base_err_nomem(err, "making a box");
    memset(head, 0, sizeof *head);
    head->size = box->shared.size;
    head->staleness = staleness;
    head->away = away;
    atomic_store(&head->top, box_round(sizeof *head, BOX_PAGE));
    box->bulk = staleness == 0;
    box->away = away;
    return SHOAL_OK;
}

shoal_status train_box_new(shoal_env *env, const struct env_shared *segment,
                           const struct train_box_opts *opts, struct train_box **out_box,
                           shoal_err *err)
{
    struct train_box *box = NULL;
    shoal_status st = box_view_new(env, segment, 0, opts, &box, err);

    if (st == SHOAL_OK)
        st = box_format(box, opts != NULL ? opts->staleness : 0, false, err);
    if (st == SHOAL_OK)
        *out_box = box;
    else
        train_box_free(box);
    return st;
}

void train_box_set_staleness(struct train_box *box, uint32_t staleness)
{
    box->head->staleness = staleness;
    box->bulk = staleness == 0;
}

void train_box_free(struct train_box *box)
{
    if (box == NULL)
        return;
    base_free(env_alloc(box->env), box->shards);
    base_free(env_alloc(box->env), box);
}

static uint64_t shard_first(const struct train_box *box, const struct box_table *t, uint32_t shard)
{
    if (t->firsts_at != 0)
        return ((const uint64_t *)box_at(box, t->firsts_at))[shard];
    return shard < t->shards ? shard * t->shard_rows : t->rows;
}

/* Shards that are not alike follow each other. */
bool box_firsts_valid(const uint64_t *first, uint32_t shards, uint64_t rows)
{
    if (first[0] != 0 || first[shards] != rows)
        return false;
    for (uint32_t s = 0; s < shards; s++)
        if (first[s + 1] < first[s] || first[s + 1] - first[s] > UINT32_MAX)
            return false;
    return true;
}

static bool firsts_fit(const struct train_box *box, const struct box_table *t)
{
    return t->held && t->firsts_at % BOX_ALIGN == 0 &&
           box_holds(box, t->firsts_at, (t->shards + UINT64_C(1)) * sizeof(uint64_t)) &&
           box_firsts_valid(box_at(box, t->firsts_at), t->shards, t->rows);
}

static bool table_fits(const struct train_box *box, const struct box_table *t)
{
    uint64_t size;

    if (t->rows == 0 || t->width == 0 || t->width > BOX_WIDTH_MAX || t->shards == 0 ||
        t->shard_rows == 0 || t->shard_rows > UINT32_MAX || t->held > 1 ||
        t->shards > BOX_SHARDS_MAX)
        return false;
    if (memchr(t->name, '\0', sizeof t->name) == NULL)
        return false;
    if (t->firsts_at != 0 ? !firsts_fit(box, t) : (t->rows - 1) / t->shard_rows + 1 != t->shards)
        return false;
    if (t->rows > box->shared.size / (t->width * sizeof(float)))
        return false;
    size = t->rows * t->width * sizeof(float);
    for (uint32_t b = 0; b <= t->held; b++)
        if (t->data_at[b] % BOX_ALIGN != 0 || !box_holds(box, t->data_at[b], size))
            return false;
    return true;
}

/* An array of `count` of a shard's, at `offset`. */
static bool array_fits(const struct train_box *box, uint64_t offset, uint64_t count, size_t size)
{
    return offset % BOX_ALIGN == 0 && box_holds(box, offset, count * size);
}

static bool shard_view_fill(const struct train_box *box, uint32_t index, uint32_t table,
                            struct shard_view *v)
{
    const struct box_table *t = &box->table[table];
    struct box_shard *s = (struct box_shard *)box_at(box, box->head->shards_at) + index;
    uint64_t executors = box->executor_count, undo = t->width > BOX_UNDO ? t->width : BOX_UNDO;

    v->shard = s;
    v->table = table;
    v->width = t->width;
    v->held = t->held != 0;
    v->first = shard_first(box, t, index - t->first_shard);
    v->rows = (uint32_t)(shard_first(box, t, index - t->first_shard + 1) - v->first);
    for (uint32_t b = 0; b <= t->held; b++)
        v->data[b] = (float *)box_at(box, t->data_at[b]) + v->first * t->width;
    if (v->held)
        return true;
    if (!array_fits(box, s->folded_at, executors, 8) ||
        !array_fits(box, s->version_at, executors, 8) ||
        !array_fits(box, s->bits_at, (executors + 63) / 64, 8) ||
        !array_fits(box, s->undo_at, undo, sizeof(float)))
        return false;
    v->folded = box_at(box, s->folded_at);
    v->version = box_at(box, s->version_at);
    v->bits = box_at(box, s->bits_at);
    v->undo = box_at(box, s->undo_at);
    return true;
}

/* Those of tables that take increments come first, so that what is kept for each of them is for no
 * others. Returns how many there are of all. */
uint32_t box_shards_number(struct train_box *box)
{
    uint32_t count = 0;

    for (uint32_t held = 0; held < 2; held++) {
        for (uint32_t t = 0; t < box->table_count; t++) {
            if (box->table[t].held != held)
                continue;
            box->table[t].first_shard = count;
            count += box->table[t].shards;
        }
        if (held == 0)
            box->fold_count = count;
    }
    return count;
}

shoal_status box_view_build(struct train_box *box, shoal_err *err)
{
    const struct box_head *head = box->head;

    box->executor_count = head->executor_count;
    box->table_count = head->table_count;
    box->shard_count = head->shard_count;
    box->bulk = head->staleness == 0;
    box->away = head->away != 0;
    if (head->size != box->shared.size || box->executor_count == 0 ||
        box->executor_count > BOX_EXECUTORS_MAX || box->table_count > SHOAL_TABLES_MAX ||
        box->shard_count > BOX_SHARDS_MAX ||
        !array_fits(box, head->executors_at, box->executor_count, sizeof(struct box_executor)) ||
        (box->shard_count > 0 &&
         !array_fits(box, head->shards_at, box->shard_count, sizeof(struct box_shard))))
        goto damaged;
    box->executors = box_at(box, head->executors_at);
    for (uint32_t t = 0; t < box->table_count; t++) {
        box->table[t] = head->table[t];
        if (!table_fits(box, &box->table[t]))
            goto damaged;
    }
    if (box_shards_number(box) != box->shard_count)
        goto damaged;
    box->shards = base_calloc(env_alloc(box->env), box->shard_count + 1, sizeof *box->shards);
    if (box->shards == NULL)
        return base_err_nomem(err, "opening a box");
    for (uint32_t t = 0; t < box->table_count; t++)
        for (uint32_t i = 0, s = box->table[t].first_shard; i < box->table[t].shards; i++, s++)
            if (!shard_view_fill(box, s, t, &box->shards[s]))
                goto damaged;
    box->sealed = true;
    return SHOAL_OK;
damaged:
    return base_err(err, SHOAL_E_FORMAT, "the shared memory of this job is damaged");
}

shoal_status train_box_open(shoal_env *env, const struct env_shared *segment, uint32_t worker,
                            const struct train_box_opts *opts, struct train_box **out_box,
                            shoal_err *err)
{
    struct train_box *box = NULL;
    shoal_status st = box_view_new(env, segment, worker, opts, &box, err);

    if (st != SHOAL_OK)
        return st;
    if (atomic_load_explicit(&box->head->magic, memory_order_acquire) != BOX_MAGIC)
        st = base_err(err, SHOAL_E_FORMAT, "there is no job in this shared memory");
    else
        st = box_view_build(box, err);
    if (st == SHOAL_OK)
        *out_box = box;
    else
        train_box_free(box);
    return st;
}

/* ---- what is there ---- */

uint32_t train_box_executor_count(const struct train_box *box)
{
    return box->executor_count;
}

uint32_t train_box_table_count(const struct train_box *box)
{
    return box->table_count;
}

struct train_table_info train_box_table_info(const struct train_box *box, uint32_t table)
{
    struct train_table_info info = {0};

    if (table >= box->table_count)
        return info;
    const struct box_table *t = &box->table[table];
    memcpy(info.name, t->name, sizeof info.name);
    info.rows = t->rows;
    info.width = t->width;
    info.shards = t->shards;
    info.held = t->held != 0;
    return info;
}

bool train_box_can_hold(const struct train_box *box, uint32_t table, uint32_t shard, uint32_t count,
                        uint32_t step)
{
    if (table >= box->table_count || !box->table[table].held)
        return false;
    uint32_t shards = box->table[table].shards;
    return shard < shards && (count <= 1 || (step > 0 && count - 1 <= (shards - 1 - shard) / step));
}

float *train_box_rows(struct train_box *box, uint32_t table)
{
    if (table >= box->table_count || box->table[table].held)
        return NULL;
    return box_at(box, box->table[table].data_at[0]);
}

float *train_box_shard(struct train_box *box, uint32_t table, uint32_t shard, uint64_t *out_first,
                       uint64_t *out_count)
{
    if (table >= box->table_count || shard >= box->table[table].shards)
        return NULL;
    const struct box_table *t = &box->table[table];
    uint64_t first = shard_first(box, t, shard);
    uint32_t buffer =
        t->held && box->sealed ? box_current(box, box->shards[t->first_shard + shard].shard) : 0;
    if (out_first != NULL)
        *out_first = first;
    if (out_count != NULL)
        *out_count = shard_first(box, t, shard + 1) - first;
    return (float *)box_at(box, t->data_at[buffer]) + first * t->width;
}

const void *train_box_data_read(const struct train_box *box, uint32_t executor, size_t *out_size)
{
    const struct box_executor *e = &box->executors[executor];

    if (executor >= box->executor_count || e->data_at == 0 ||
        !box_holds(box, e->data_at, e->data_size)) {
        *out_size = 0;
        return NULL;
    }
    *out_size = e->data_size;
    return box_at(box, e->data_at);
}

const void *train_box_state_read(const struct train_box *box, uint32_t executor, size_t *out_size)
{
    const struct box_executor *e = &box->executors[executor];

    *out_size = 0;
    if (executor >= box->executor_count)
        return NULL;
    uint64_t committed = atomic_load_explicit(&e->committed, memory_order_acquire);
    uint32_t buffer = committed > 0 ? e->commit[committed & 1].state & 1 : 0;
    if (e->state_at[buffer] == 0 || !box_holds(box, e->state_at[buffer], e->state_size))
        return NULL;
    *out_size = e->state_size;
    return box_at(box, e->state_at[buffer]);
}

/* ---- commits and clocks ---- */

uint64_t train_box_committed(const struct train_box *box, uint32_t executor)
{
    if (executor >= box->executor_count)
        return 0;
    return atomic_load_explicit(&box->executors[executor].committed, memory_order_acquire);
}

bool train_box_commit_find(const struct train_box *box, uint32_t executor, uint64_t number,
                           struct train_commit *out)
{
    if (number == 0 || number > train_box_committed(box, executor))
        return false;
    const struct box_commit *c = &box->executors[executor].commit[number & 1];
    if (atomic_load_explicit(&c->number, memory_order_acquire) != number)
        return false;
    out->number = number;
    out->clock = c->clock;
    out->ends_clock = c->ends_clock;
    out->fn = c->fn;
    out->result_size =
        c->result_size < SHOAL_TASK_RESULT_MAX ? c->result_size : SHOAL_TASK_RESULT_MAX;
    memcpy(out->result, c->result, out->result_size);
    return atomic_load_explicit(&c->number, memory_order_acquire) == number;
}

void train_box_close(struct train_box *box, uint64_t closed)
{
    uint64_t old = atomic_load_explicit(&box->head->closed, memory_order_relaxed);

    while (old < closed &&
           !atomic_compare_exchange_weak_explicit(&box->head->closed, &old, closed,
                                                  memory_order_release, memory_order_relaxed)) {
    }
}

uint64_t train_box_closed(const struct train_box *box)
{
    return atomic_load_explicit(&box->head->closed, memory_order_acquire);
}

/* Reads what another thread may be writing; the number says afterwards whether it was whole. */
__attribute__((no_sanitize("thread"))) bool box_has_ended(const struct box_executor *e,
                                                          uint64_t past)
{
    uint64_t number = atomic_load_explicit(&e->committed, memory_order_acquire);
    const struct box_commit *c = &e->commit[number & 1];
    uint64_t clock = c->clock;
    bool ends = c->ends_clock;

    atomic_thread_fence(memory_order_acquire);
    if (number > 0 && atomic_load_explicit(&c->number, memory_order_relaxed) != number)
        return true; /* it has gone on */
    return number > 0 && (clock >= past || (clock + 1 == past && ends));
}

void train_box_set_hungry(struct train_box *box, bool hungry)
{
    if (train_box_hungry(box) != hungry)
        atomic_store_explicit(&box->head->hungry, hungry, memory_order_relaxed);
}

bool train_box_hungry(const struct train_box *box)
{
    return atomic_load_explicit(&box->head->hungry, memory_order_relaxed) != 0;
}

/* ---- outboxes ---- */

struct box_list *box_outbox_lists(const struct train_box *box, const struct box_outbox *outbox)
{
    uint64_t at = atomic_load_explicit(&outbox->lists_at, memory_order_acquire);
    uint64_t lists = box->fold_count + 2 * (uint64_t)box->table_count;

    if (at == 0 || at % BOX_ALIGN != 0 ||
        !box_holds(box, at, lists * sizeof(struct box_list) + box->fold_count * sizeof(uint32_t)))
        return NULL;
    return box_at(box, at);
}

bool box_factor_next(const char *bytes, uint64_t size, uint64_t rows, uint64_t *at,
                     struct factor_view *out)
{
    const struct box_factor *f = (const struct box_factor *)(const void *)(bytes + *at);

    if (*at > size || size - *at < sizeof *f)
        return false;
    uint64_t whole = box_factor_size(rows, f->count);
    if (whole > size - *at)
        return false;
    out->count = f->count;
    out->u = (const float *)(f + 1);
    out->index = (const void *)(out->u + rows);
    out->value = (const void *)(out->index + f->count);
    *at += whole;
    return true;
}

/* Takes up where another box stopped; see checkpoint.h. */
void train_box_resume(struct train_box *box, uint64_t closed)
{
    train_box_close(box, closed);
    for (uint32_t s = 0; s < box->fold_count; s++) {
        const struct shard_view *v = &box->shards[s];
        for (uint32_t e = 0; e < box->executor_count; e++)
            atomic_store_explicit(&v->folded[e], train_box_committed(box, e), memory_order_relaxed);
        atomic_store_explicit(&v->shard->folded_clock, closed, memory_order_relaxed);
    }
}
