/* fold.c - increments into tables, each once, whatever is killed on the way.
 *
 * Problem. Committed outboxes lie in the segment; their increments have to be added to the rows of
 * shards by whoever comes first. Any of those may be killed at any instruction, and rows are read
 * all the time.
 *
 * Method. All is done under the shard's lock, a word that names the worker. A fold is a sequence of
 * steps: one row of the shard's list, one chunk of the dense list, some rows of a factor. It is
 * written down which fold is in progress (executor, number, the step it began with). Each step
 *     1. copies the floats that it will change to the undo slot,
 *     2. stores the number of the step in `undo_step`: from here on the slot is good,
 *     3. adds,
 *     4. stores the next number in `step`: from here on the slot is old, and the step done.
 * After a kill undo_step == step says that the step had begun: what it changed is put back and the
 * fold goes on from `step` (train_box_repair), bit for bit as if nothing had happened. At the end
 * the shard's number for the executor goes up, which makes the fold done. Steps are counted for as
 * long as the box lives, so an old slot never looks good. Increments that come in a message are added
 * by the driver without steps: with it goes the box.
 *
 * Races on purpose. Unless the job is bulk synchronous, tasks read rows while a fold adds to them: a
 * reader may find some floats of a row before and some after an increment. That is what bounded
 * staleness allows, each float being written at once. The loops that write rows are therefore hidden
 * from the thread sanitizer (UNSEEN); all else is atomic or under a lock.
 *
 * Cost per row: one copy into a slot that stays in the first cache, two stores, and the addition;
 * rows are fetched ahead of their turn. The loop is compiled for plain, AVX2 and AVX-512 machines;
 * sums are equal bit for bit, for nothing but one addition per float is done.
 *
 * What is folded when is in fold_pending.c, outer products in fold_factor.c. Tests:
 * tests/unit/train/test_fold.c, test_box*.c. */
#include "train/fold_parts.h"

enum { LINES_AHEAD = 64, AHEAD_MAX = 16, LANES = 16 };

/* ---- rows of a list ---- */

/* Sixteen floats that may lie anywhere. */
typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

INLINE UNSEEN void copy_floats(float *to, const float *from, uint64_t n)
{
    uint64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        *(lanes *)(to + i) = *(const lanes *)(from + i);
    for (; i < n; i++)
        to[i] = from[i];
}

INLINE UNSEEN void add_floats(float *to, const float *from, uint64_t n)
{
    uint64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        *(lanes *)(to + i) += *(const lanes *)(from + i);
    for (; i < n; i++)
        to[i] += from[i];
}

/* One step on n floats that lie together; false: killed. */
INLINE UNSEEN bool step_floats(struct box_shard *shard, float *undo, float *to, const float *from,
                               uint64_t n, const struct train_box *box)
{
    uint64_t step = atomic_load_explicit(&shard->step, memory_order_relaxed);

    copy_floats(undo, to, n);
    if (box != NULL && box_crash(box))
        return false;
    box_order();
    atomic_store_explicit(&shard->undo_step, step, memory_order_relaxed);
    box_order();
    if (box != NULL) {
        add_floats(to, from, n / 2);
        if (box_crash(box))
            return false;
        add_floats(to + n / 2, from + n / 2, n - n / 2);
        if (box_crash(box))
            return false;
    } else {
        add_floats(to, from, n);
    }
    box_order();
    atomic_store_explicit(&shard->step, step + 1, memory_order_relaxed);
    box_order();
    return true;
}

INLINE UNSEEN void fetch_row(const struct rows_job *job, uint64_t i)
{
    const float *row = job->data + (uint64_t)job->row[i] * job->width;

    if (job->row[i] < job->limit)
        for (uint32_t k = 0; k < job->width && k < LINES_AHEAD * LANES; k += LANES) {
            __builtin_prefetch(row + k, 1);
            __builtin_prefetch(job->x + i * job->width + k, 0);
        }
}

INLINE void stamp_row(const struct rows_job *job, uint64_t row)
{
    atomic_store_explicit(&job->stamps[row], job->stamp, memory_order_relaxed);
    atomic_store_explicit(&job->stamp_blocks[row / BOX_STAMP_ROWS], job->stamp,
                          memory_order_relaxed);
}

/* A row that the shard does not have is passed over: its entry is damaged. */
INLINE UNSEEN bool rows_body(const struct rows_job *job, uint64_t from, const struct train_box *box)
{
    uint64_t width = job->width, lines = width / LANES + 1, ahead = LINES_AHEAD / lines + 1;

    if (ahead > AHEAD_MAX)
        ahead = AHEAD_MAX;
    for (uint64_t i = from; i < job->count && i < from + ahead; i++)
        fetch_row(job, i);
    for (uint64_t i = from; i < job->count; i++) {
        uint32_t r = job->row[i];
        if (i + ahead < job->count)
            fetch_row(job, i + ahead);
        if (r >= job->limit) {
            atomic_fetch_add_explicit(&job->shard->step, 1, memory_order_relaxed);
            continue;
        }
        if (job->stamps != NULL)
            stamp_row(job, r);
        if (job->undo == NULL)
            add_floats(job->data + r * width, job->x + i * width, width);
        else if (!step_floats(job->shard, job->undo, job->data + r * width, job->x + i * width,
                              width, box))
            return false;
    }
    return true;
}

UNSEEN void box_rows_write(float *to, const float *from, uint64_t count)
{
    copy_floats(to, from, count);
}

static UNSEEN bool rows_plain(const struct rows_job *job, uint64_t from)
{
    return rows_body(job, from, NULL);
}

static UNSEEN bool rows_crashing(const struct rows_job *job, uint64_t from)
{
    return rows_body(job, from, job->box);
}

#if defined(__x86_64__)
static UNSEEN __attribute__((target("avx2"))) bool rows_avx2(const struct rows_job *job,
                                                             uint64_t from)
{
    return rows_body(job, from, NULL);
}

static UNSEEN __attribute__((target("avx512f"))) bool rows_avx512(const struct rows_job *job,
                                                                  uint64_t from)
{
    return rows_body(job, from, NULL);
}
#endif

void box_fold_choose(struct train_box *box)
{
    box->add_rows = rows_plain;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        box->add_rows = rows_avx2;
    if (__builtin_cpu_supports("avx512f"))
        box->add_rows = rows_avx512;
#endif
    if (box->crash != NULL)
        box->add_rows = rows_crashing;
}

/* ---- one fold ---- */

/* Where the versions of rows are kept, and the one that a change makes. */
static void stamps_find(const struct train_box *box, const struct shard_view *v,
                        struct rows_job *out)
{
    uint64_t at = atomic_load_explicit(&v->shard->stamps_at, memory_order_relaxed);

    out->stamp = atomic_load_explicit(&v->shard->version, memory_order_relaxed) + 1;
    if (at % BOX_ALIGN == 0 && box_holds(box, at, box_stamps_size(v->rows))) {
        out->stamps = box_at(box, at);
        out->stamp_blocks = out->stamps + v->rows;
    }
}

/* Lists that make no sense count as empty: they can only be damage. */
void box_parts_find(struct train_box *box, const struct shard_view *v, struct box_list *lists,
                    struct fold_parts *out)
{
    const struct box_table *t = &box->table[v->table];
    const struct box_list *rows = &lists[v - box->shards];
    const struct box_list *dense = &lists[box->fold_count + v->table];
    const struct box_list *factors = &lists[box->fold_count + box->table_count + v->table];
    uint64_t width = v->width, whole = t->rows * width * sizeof(float);

    *out = (struct fold_parts){.rows = {.data = v->data[0],
                                        .width = v->width,
                                        .limit = v->rows,
                                        .undo = v->undo,
                                        .shard = v->shard,
                                        .box = box},
                               .table_rows = t->rows};
    stamps_find(box, v, &out->rows);
    if (rows->count > 0 && rows->count <= rows->cap && rows->cap <= box->shared.size / 4 &&
        box_holds(box, rows->at, box_values_offset(rows->cap)) &&
        rows->cap <= (box->shared.size - rows->at) / (width * sizeof(float))) {
        out->rows.count = rows->count;
        out->rows.row = box_at(box, rows->at);
        out->rows.x = box_at(box, rows->at + box_values_offset(rows->cap));
    }
    if (dense->count > 0 && dense->at % BOX_ALIGN == 0 && box_holds(box, dense->at, whole)) {
        out->dense = (const float *)box_at(box, dense->at) + v->first * width;
        out->dense_floats = v->rows * width;
    }
    if (factors->count > 0 && factors->count <= factors->cap && factors->at % BOX_ALIGN == 0 &&
        box_holds(box, factors->at, factors->cap)) {
        out->factors = box_at(box, factors->at);
        out->factors_size = factors->count;
    }
}

void fold_stamp_rows(const struct rows_job *job, uint64_t first, uint64_t end)
{
    for (uint64_t r = first; job->stamps != NULL && r < end && r < job->limit; r++)
        stamp_row(job, r);
}

static uint64_t dense_steps(const struct fold_parts *p)
{
    return (p->dense_floats + BOX_UNDO - 1) / BOX_UNDO;
}

static UNSEEN bool fold_dense(const struct train_box *box, const struct fold_parts *p,
                              uint64_t from)
{
    const struct rows_job *job = &p->rows;
    uint64_t steps = dense_steps(p);

    for (uint64_t i = from; i < steps; i++) {
        uint64_t at = i * BOX_UNDO, left = p->dense_floats - at;
        uint64_t n = left < BOX_UNDO ? left : BOX_UNDO;
        fold_stamp_rows(job, at / job->width, (at + n - 1) / job->width + 1);
        if (!step_floats(job->shard, job->undo, job->data + at, p->dense + at, n,
                         box->crash != NULL ? box : NULL))
            return false;
    }
    return true;
}

/* Takes back step `at` of a fold, which had begun. */
static UNSEEN void step_restore(const struct train_box *box, const struct shard_view *v,
                                const struct fold_parts *p, uint64_t at)
{
    const struct rows_job *job = &p->rows;

    if (at < job->count) {
        if (job->row[at] < job->limit)
            copy_floats(job->data + (uint64_t)job->row[at] * job->width, job->undo, job->width);
        return;
    }
    at -= job->count;
    if (at < dense_steps(p)) {
        uint64_t left = p->dense_floats - at * BOX_UNDO;
        copy_floats(job->data + at * BOX_UNDO, job->undo, left < BOX_UNDO ? left : BOX_UNDO);
        return;
    }
    (void)fold_factors(box, v, p, at - dense_steps(p), true);
}

bool fold_rest(struct train_box *box, const struct shard_view *v, struct box_list *lists)
{
    struct box_shard *shard = v->shard;
    uint32_t executor = atomic_load_explicit(&shard->fold_executor, memory_order_relaxed);
    uint64_t number = atomic_load_explicit(&shard->fold_number, memory_order_relaxed);
    uint64_t start = atomic_load_explicit(&shard->fold_start, memory_order_relaxed);
    uint64_t step = atomic_load_explicit(&shard->step, memory_order_relaxed);
    struct fold_parts p;

    box_parts_find(box, v, lists, &p);
    if (atomic_load_explicit(&shard->undo_step, memory_order_relaxed) == step)
        step_restore(box, v, &p, step - start);
    if (!box->add_rows(&p.rows, step - start))
        return false;
    step = atomic_load_explicit(&shard->step, memory_order_relaxed);
    uint64_t before = p.rows.count, dense = dense_steps(&p);
    if (step - start < before + dense && !fold_dense(box, &p, step - start - before))
        return false;
    step = atomic_load_explicit(&shard->step, memory_order_relaxed);
    if (p.factors != NULL && !fold_factors(box, v, &p, step - start - before - dense, false))
        return false;
    if (box_crash(box))
        return false;
    if (box->worker == 0)
        box->folded += p.rows.count * v->width + p.dense_floats + fold_factors_work(&p, v->rows);
    if (p.rows.stamps != NULL)
        atomic_store_explicit(&v->version[executor], p.rows.stamp, memory_order_relaxed);
    atomic_store_explicit(&shard->version, p.rows.stamp, memory_order_relaxed);
    box_order();
    if (box_crash(box))
        return false;
    atomic_store_explicit(&v->folded[executor], number, memory_order_release);
    box_order();
    if (box_crash(box))
        return false;
    atomic_store_explicit(&shard->active, 0, memory_order_relaxed);
    return true;
}

bool fold_outbox(struct train_box *box, const struct shard_view *v, uint32_t executor,
                 uint64_t number, struct box_list *lists)
{
    struct box_shard *shard = v->shard;
    uint64_t step = atomic_load_explicit(&shard->step, memory_order_relaxed);

    atomic_store_explicit(&shard->fold_executor, executor, memory_order_relaxed);
    atomic_store_explicit(&shard->fold_number, number, memory_order_relaxed);
    atomic_store_explicit(&shard->fold_start, step, memory_order_relaxed);
    box_order();
    if (box_crash(box))
        return false;
    atomic_store_explicit(&shard->active, 1, memory_order_relaxed);
    box_order();
    if (box_crash(box))
        return false;
    return fold_rest(box, v, lists);
}

void box_fold_rows(struct train_box *box, uint32_t shard, uint32_t executor, uint64_t number,
                   const uint32_t *row, const float *x, uint64_t count)
{
    const struct shard_view *v = &box->shards[shard];
    struct rows_job job = {.row = row,
                           .x = x,
                           .count = count,
                           .data = v->data[0],
                           .width = v->width,
                           .limit = v->rows,
                           .shard = v->shard,
                           .box = box};

    stamps_find(box, v, &job);
    (void)box->add_rows(&job, 0);
    if (job.stamps != NULL)
        atomic_store_explicit(&v->version[executor], job.stamp, memory_order_relaxed);
    atomic_store_explicit(&v->shard->version, job.stamp, memory_order_relaxed);
    atomic_store_explicit(&v->folded[executor], number, memory_order_release);
    uint64_t marked = atomic_load(&v->shard->marked);
    if (atomic_load(&v->shard->done) + 1 == marked)
        atomic_store(&v->shard->done,
                     marked); /* the mark was that of box_fold_take, and no other */
    box_unlock(v->shard);
}
