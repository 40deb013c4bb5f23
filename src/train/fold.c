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
 * What is pending. Before a commit the shards that it touches are marked: a bit for the executor,
 * then `marked` goes up. The folder takes the bit away first and looks then, so that no mark is
 * lost; `done` follows `marked` when everything is folded, so a reader who finds them equal has all
 * increments of tasks that it can have heard of. Bulk synchronous: a shard is fresh when it has
 * folded all closed clocks; the bits say which executors to look at.
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
 * Tests: tests/unit/train/test_fold.c, test_box*.c. */
#include "train/box_parts.h"

#include "base/assert.h"
#include <string.h>

enum { LINES_AHEAD = 64, AHEAD_MAX = 16, LANES = 16 };

#define UNSEEN __attribute__((no_sanitize("thread")))
#define INLINE static inline __attribute__((always_inline))

/* ---- locks ---- */

static inline void rest(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

bool box_lock(struct train_box *box, struct box_shard *shard)
{
    int spins = box->crash == NULL ? BOX_SPINS : 1;

    for (int i = 0; i < spins; i++) {
        uint32_t free = 0;
        if (atomic_load_explicit(&shard->lock, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong_explicit(&shard->lock, &free, box->worker + 1,
                                                    memory_order_acquire, memory_order_relaxed))
            return true;
        rest();
    }
    return false;
}

void box_unlock(struct box_shard *shard)
{
    atomic_store_explicit(&shard->lock, 0, memory_order_release);
}

/* ---- held shards ---- */

/* Whether the change of buffers that is written down became real. */
static bool flip_real(const struct train_box *box, const struct box_shard *shard)
{
    uint64_t number = atomic_load_explicit(&shard->flip_number, memory_order_acquire);
    uint32_t executor = atomic_load_explicit(&shard->flip_executor, memory_order_relaxed);

    return number != 0 && train_box_committed(box, executor) >= number;
}

uint32_t box_current(const struct train_box *box, const struct box_shard *shard)
{
    uint32_t current = atomic_load_explicit(&shard->current, memory_order_acquire);

    if (flip_real(box, shard))
        current = atomic_load_explicit(&shard->flip_buffer, memory_order_relaxed);
    return current & 1;
}

void box_flip_settle(struct train_box *box, struct box_shard *shard)
{
    if (atomic_load_explicit(&shard->flip_number, memory_order_relaxed) == 0)
        return;
    if (flip_real(box, shard)) {
        uint64_t version = atomic_load_explicit(&shard->version, memory_order_relaxed);
        atomic_store_explicit(&shard->version, version + 1, memory_order_relaxed);
        atomic_store_explicit(&shard->current, shard->flip_buffer & 1, memory_order_release);
        box_order();
    }
    atomic_store_explicit(&shard->flip_number, 0, memory_order_release);
}

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
    const struct box_list *dense = &lists[box->shard_count + v->table];
    const struct box_list *factors = &lists[box->shard_count + box->table_count + v->table];
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

static void stamp_rows(const struct rows_job *job, uint64_t first, uint64_t end)
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
        stamp_rows(job, at / job->width, (at + n - 1) / job->width + 1);
        if (!step_floats(job->shard, job->undo, job->data + at, p->dense + at, n,
                         box->crash != NULL ? box : NULL))
            return false;
    }
    return true;
}

/* A step of a factor: rows [row, row_end), entries [entry, entry_end) of v. */
struct factor_step {
    uint64_t row, row_end;
    uint32_t entry, entry_end;
};

static uint64_t factor_steps(uint32_t count, uint64_t rows)
{
    if (count == 0)
        return 0;
    if (count > BOX_UNDO)
        return rows * ((count + BOX_UNDO - 1) / BOX_UNDO);
    uint64_t rows_each = BOX_UNDO / count;
    return (rows + rows_each - 1) / rows_each;
}

static struct factor_step factor_step_at(uint32_t count, uint64_t rows, uint64_t step)
{
    struct factor_step s = {0, rows, 0, count};

    if (count > BOX_UNDO) {
        uint64_t each = (count + BOX_UNDO - 1) / BOX_UNDO;
        s.row = step / each;
        s.row_end = s.row + 1;
        s.entry = (uint32_t)(step % each) * BOX_UNDO;
        s.entry_end = count - s.entry < BOX_UNDO ? count : s.entry + BOX_UNDO;
    } else {
        uint64_t rows_each = BOX_UNDO / count;
        s.row = step * rows_each;
        s.row_end = rows - s.row < rows_each ? rows : s.row + rows_each;
    }
    return s;
}

enum factor_do { FACTOR_SAVE, FACTOR_ADD, FACTOR_RESTORE };

INLINE UNSEEN void factor_walk(const struct rows_job *job, const struct factor_view *f,
                               const float *u, const struct factor_step *s, enum factor_do what)
{
    uint64_t k = 0; /* of the undo, which only adding does without */

    for (uint64_t r = s->row; r < s->row_end; r++) {
        float *row = job->data + r * job->width;
        for (uint32_t i = s->entry; i < s->entry_end; i++, k++) {
            uint32_t column = f->index[i];
            if (column >= job->width)
                continue;
            if (what == FACTOR_SAVE)
                job->undo[k] = row[column];
            else if (what == FACTOR_ADD)
                row[column] += u[r] * f->value[i];
            else
                row[column] = job->undo[k];
        }
    }
}

UNSEEN void box_factor_add(const struct shard_view *v, const struct factor_view *f)
{
    struct rows_job job = {.data = v->data[0], .width = v->width};
    struct factor_step all = {0, v->rows, 0, f->count};

    factor_walk(&job, f, f->u + v->first, &all, FACTOR_ADD);
}

/* u: of the shard's rows */
static UNSEEN bool fold_factor_step(const struct train_box *box, const struct rows_job *job,
                                    const struct factor_view *f, const float *u,
                                    const struct factor_step *s)
{
    uint64_t step = atomic_load_explicit(&job->shard->step, memory_order_relaxed);
    struct factor_step half = *s;

    stamp_rows(job, s->row, s->row_end);
    factor_walk(job, f, u, s, FACTOR_SAVE);
    if (box_crash(box))
        return false;
    box_order();
    atomic_store_explicit(&job->shard->undo_step, step, memory_order_relaxed);
    box_order();
    half.entry_end = s->entry + (s->entry_end - s->entry) / 2;
    factor_walk(job, f, u, &half, FACTOR_ADD);
    if (box_crash(box))
        return false;
    half.entry = half.entry_end;
    half.entry_end = s->entry_end;
    factor_walk(job, f, u, &half, FACTOR_ADD);
    if (box_crash(box))
        return false;
    box_order();
    atomic_store_explicit(&job->shard->step, step + 1, memory_order_relaxed);
    box_order();
    return true;
}

/* From step `from` of all factors; with `restore` that one step is taken back instead. */
static bool fold_factors(const struct train_box *box, const struct shard_view *v,
                         const struct fold_parts *p, uint64_t from, bool restore)
{
    struct factor_view f;
    uint64_t at = 0;

    while (box_factor_next(p->factors, p->factors_size, p->table_rows, &at, &f)) {
        uint64_t steps = factor_steps(f.count, v->rows);
        for (; from < steps; from++) {
            struct factor_step s = factor_step_at(f.count, v->rows, from);
            if (restore) {
                factor_walk(&p->rows, &f, f.u + v->first, &s, FACTOR_RESTORE);
                return true;
            }
            if (!fold_factor_step(box, &p->rows, &f, f.u + v->first, &s))
                return false;
        }
        from -= steps;
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
    fold_factors(box, v, p, at - dense_steps(p), true);
}

/* Goes on with the fold that is written down, from where it is. */
static bool fold_rest(struct train_box *box, const struct shard_view *v, struct box_list *lists)
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

static bool fold_outbox(struct train_box *box, const struct shard_view *v, uint32_t executor,
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

/* ---- what is pending ---- */

/* The outbox's number if it has something for the shard that is not folded; 0 if not. */
static uint64_t outbox_wants(const struct train_box *box, const struct shard_view *v,
                             uint32_t executor, const struct box_outbox *outbox,
                             struct box_list **out_lists)
{
    uint64_t number = atomic_load_explicit(&outbox->number, memory_order_acquire);

    if (number <= atomic_load_explicit(&v->folded[executor], memory_order_acquire))
        return 0;
    struct box_list *lists = box_outbox_lists(box, outbox);
    if (lists == NULL ||
        atomic_load_explicit(&lists[v - box->shards].touched, memory_order_relaxed) != number)
        return 0;
    *out_lists = lists;
    return number;
}

/* Whether one of the executor's outboxes has something for the shard that is not folded. */
static bool outboxes_want(const struct train_box *box, const struct shard_view *v,
                          uint32_t executor)
{
    const struct box_executor *e = &box->executors[executor];
    struct box_list *lists;

    return outbox_wants(box, v, executor, &e->outbox[0], &lists) != 0 ||
           outbox_wants(box, v, executor, &e->outbox[1], &lists) != 0;
}

/* Folds the executor's outboxes of clocks below `clock_end`, in order. */
static bool fold_executor(struct train_box *box, const struct shard_view *v, uint32_t executor,
                          uint64_t clock_end)
{
    struct box_executor *e = &box->executors[executor];
    uint64_t committed = atomic_load_explicit(&e->committed, memory_order_acquire);
    uint64_t a = atomic_load_explicit(&e->outbox[0].number, memory_order_relaxed);
    uint64_t b = atomic_load_explicit(&e->outbox[1].number, memory_order_relaxed);
    uint32_t first = a <= b ? 0 : 1;

    for (uint32_t i = 0; i < 2; i++) {
        struct box_outbox *outbox = &e->outbox[first ^ i];
        struct box_list *lists = NULL;
        uint64_t number = outbox_wants(box, v, executor, outbox, &lists);
        if (number == 0 || number > committed ||
            atomic_load_explicit(&outbox->clock, memory_order_relaxed) >= clock_end)
            continue;
        if (!fold_outbox(box, v, executor, number, lists))
            return false;
    }
    return true;
}

/* Walks over the executors whose bits are set, in order. */
struct bits_walk {
    uint64_t bits;
    uint32_t word, words;
};

static bool bits_next(const struct shard_view *v, struct bits_walk *w, uint32_t *out_executor)
{
    while (w->bits == 0) {
        if (w->word >= w->words)
            return false;
        w->bits = atomic_load_explicit(&v->bits[w->word++], memory_order_acquire);
    }
    *out_executor = (w->word - 1) * 64 + (uint32_t)__builtin_ctzll(w->bits);
    w->bits &= w->bits - 1;
    return true;
}

static struct bits_walk bits_begin(const struct train_box *box)
{
    return (struct bits_walk){.words = (box->executor_count + 63) / 64};
}

/* Takes the executor's bit away unless something is left: SHOAL_OK, SHOAL_END or killed. */
static shoal_status bit_clear(struct train_box *box, const struct shard_view *v, uint32_t executor)
{
    uint64_t bit = UINT64_C(1) << (executor % 64);

    atomic_fetch_and(&v->bits[executor / 64], ~bit);
    if (box_crash(box))
        return SHOAL_E_CANCELLED;
    if (!outboxes_want(box, v, executor))
        return SHOAL_OK;
    atomic_fetch_or(&v->bits[executor / 64], bit);
    return SHOAL_END;
}

void box_mark(struct train_box *box, uint32_t shard, uint32_t executor)
{
    const struct shard_view *v = &box->shards[shard];

    atomic_fetch_or(&v->bits[executor / 64], UINT64_C(1) << (executor % 64));
    atomic_fetch_add(&v->shard->marked, 1);
}

/* Under the lock; leaves it locked when killed. */
static shoal_status fold_marked(struct train_box *box, const struct shard_view *v)
{
    uint64_t marked = atomic_load(&v->shard->marked);
    struct bits_walk walk = bits_begin(box);
    bool left = false;
    uint32_t e;

    while (bits_next(v, &walk, &e)) {
        if (e >= box->executor_count)
            break;
        if (!fold_executor(box, v, e, UINT64_MAX) || box_crash(box))
            return SHOAL_E_CANCELLED;
        shoal_status st = bit_clear(box, v, e);
        if (st == SHOAL_E_CANCELLED || box_crash(box))
            return SHOAL_E_CANCELLED;
        left = left || st == SHOAL_END;
    }
    if (left)
        return SHOAL_END;
    atomic_store(&v->shard->done, marked);
    return SHOAL_OK;
}

static shoal_status fold_clocks(struct train_box *box, const struct shard_view *v, uint64_t closed)
{
    uint64_t clock = atomic_load_explicit(&v->shard->folded_clock, memory_order_relaxed);
    struct bits_walk walk;
    uint32_t e;

    for (; clock < closed; clock++) {
        walk = bits_begin(box);
        while (bits_next(v, &walk, &e))
            if (e < box->executor_count && !fold_executor(box, v, e, clock + 1))
                return SHOAL_E_CANCELLED;
        if (box_crash(box))
            return SHOAL_E_CANCELLED;
        atomic_store_explicit(&v->shard->folded_clock, clock + 1, memory_order_release);
    }
    walk = bits_begin(box);
    while (bits_next(v, &walk, &e))
        if (e < box->executor_count && bit_clear(box, v, e) == SHOAL_E_CANCELLED)
            return SHOAL_E_CANCELLED;
    return SHOAL_OK;
}

/* Boxes away fold nothing: their rows come folded. What was committed there and not yet at home may
 * still be lost, so nobody may see it. */
static bool shard_fresh(const struct train_box *box, const struct shard_view *v)
{
    if (v->held || box->away)
        return true;
    if (box->bulk)
        return atomic_load_explicit(&v->shard->folded_clock, memory_order_acquire) >=
               train_box_closed(box);
    return atomic_load(&v->shard->done) == atomic_load(&v->shard->marked);
}

shoal_status box_fold_shard(struct train_box *box, uint32_t shard)
{
    const struct shard_view *v = &box->shards[shard];
    shoal_status st;

    if (shard_fresh(box, v))
        return SHOAL_OK;
    if (!box_lock(box, v->shard))
        return SHOAL_AGAIN;
    if (box_crash(box))
        return SHOAL_E_CANCELLED;
    st = box->bulk ? fold_clocks(box, v, train_box_closed(box)) : fold_marked(box, v);
    if (st == SHOAL_E_CANCELLED)
        return st;
    box_unlock(v->shard);
    return st;
}

static shoal_status fold_all(struct train_box *box)
{
    shoal_status all = SHOAL_OK;

    for (uint32_t s = 0; s < box->shard_count; s++) {
        shoal_status st = box_fold_shard(box, s);
        if (st == SHOAL_E_CANCELLED)
            return st;
        if (st == SHOAL_AGAIN || (st == SHOAL_END && all == SHOAL_OK))
            all = st;
    }
    return all;
}

shoal_status box_fresh(struct train_box *box, uint64_t *seen)
{
    uint64_t now = box->bulk ? train_box_closed(box) : atomic_load(&box->head->marks);

    if (*seen == now)
        return SHOAL_OK;
    shoal_status st = fold_all(box);
    if (st == SHOAL_OK)
        *seen = now;
    return st == SHOAL_END ? SHOAL_OK : st;
}

shoal_status train_box_fold(struct train_box *box)
{
    shoal_status st = fold_all(box);

    return st == SHOAL_END ? SHOAL_OK : st;
}

shoal_status train_box_fresh(struct train_box *box, uint64_t *out_state)
{
    uint64_t state = 1 + train_box_closed(box) + box->rewrites + atomic_load(&box->head->marks);
    shoal_status st = fold_all(box);

    *out_state = st == SHOAL_OK ? state : 0;
    return st == SHOAL_END ? SHOAL_OK : st;
}

void train_box_rewrite(struct train_box *box, uint32_t table, uint32_t shard)
{
    if (table >= box->table_count || shard >= box->table[table].shards)
        return;
    box->shards[box->table[table].first_shard + shard].rewritten = true;
    box->rewrites++;
}

/* Whether every shard that the outbox touched has folded it; away: the one it is a copy of, or home
 * has said that it has it. */
static bool outbox_folded(const struct train_box *box, uint32_t executor,
                          const struct box_outbox *outbox, uint64_t number, uint32_t *out_shard)
{
    struct box_list *lists = box_outbox_lists(box, outbox);
    uint32_t count = atomic_load_explicit(&outbox->touched_count, memory_order_relaxed);

    if (box->away &&
        number <= atomic_load_explicit(&box->executors[executor].homed, memory_order_acquire))
        return true;
    for (uint32_t i = 0; lists != NULL && i < count && i < box->shard_count; i++) {
        uint32_t s = atomic_load_explicit(&box_touched(box, lists)[i], memory_order_relaxed);
        if (s >= box->shard_count || box->shards[s].held)
            continue;
        if (atomic_load_explicit(&lists[s].touched, memory_order_relaxed) == number &&
            atomic_load_explicit(&box->shards[s].folded[executor], memory_order_acquire) < number) {
            *out_shard = s;
            return false;
        }
    }
    return true;
}

/* Folds the outbox everywhere. SHOAL_AGAIN: not yet possible. */
static shoal_status outbox_free(struct train_box *box, uint32_t executor, struct box_outbox *outbox,
                                uint64_t number)
{
    uint32_t shard = 0;

    for (uint32_t last = UINT32_MAX; !outbox_folded(box, executor, outbox, number, &shard);
         last = shard) {
        if (last == shard)
            return SHOAL_AGAIN;
        shoal_status st = box_fold_shard(box, shard);
        if (st == SHOAL_AGAIN || st == SHOAL_E_CANCELLED)
            return st;
    }
    return SHOAL_OK;
}

shoal_status box_outbox_next(struct train_box *box, uint32_t executor, struct box_outbox **out)
{
    struct box_executor *e = &box->executors[executor];
    uint64_t committed = atomic_load_explicit(&e->committed, memory_order_acquire);
    uint64_t number[2];
    uint32_t shard;

    for (uint32_t i = 0; i < 2; i++) {
        number[i] = atomic_load_explicit(&e->outbox[i].number, memory_order_relaxed);
        if (number[i] > committed)
            number[i] = 0; /* of a task that died */
    }
    uint32_t old = number[0] <= number[1] ? 0 : 1;
    *out = &e->outbox[old ^ 1];
    if (number[old ^ 1] != 0 && outbox_folded(box, executor, *out, number[old ^ 1], &shard))
        return SHOAL_OK;
    *out = &e->outbox[old];
    return number[old] == 0 ? SHOAL_OK : outbox_free(box, executor, *out, number[old]);
}

bool train_box_settled(const struct train_box *box)
{
    uint32_t shard;

    for (uint32_t e = 0; e < box->executor_count; e++) {
        uint64_t committed = train_box_committed(box, e);
        for (uint32_t i = 0; i < 2; i++) {
            const struct box_outbox *outbox = &box->executors[e].outbox[i];
            uint64_t number = atomic_load_explicit(&outbox->number, memory_order_acquire);
            if (number != 0 && number <= committed &&
                !outbox_folded(box, e, outbox, number, &shard))
                return false;
        }
    }
    return true;
}

/* ---- increments that are in no outbox ---- */

bool box_fold_take(struct train_box *box, uint32_t shard, uint32_t executor)
{
    const struct shard_view *v = &box->shards[shard];

    if (box->bulk || !box_lock(box, v->shard))
        return false;
    if (!outboxes_want(box, v, executor))
        return true;
    box_unlock(v->shard);
    return false;
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
    box_unlock(v->shard);
}

/* ---- after a death ---- */

static void fold_resume(struct train_box *box, const struct shard_view *v)
{
    struct box_shard *shard = v->shard;
    uint32_t executor = atomic_load_explicit(&shard->fold_executor, memory_order_relaxed);
    uint64_t number = atomic_load_explicit(&shard->fold_number, memory_order_relaxed);

    if (atomic_load_explicit(&shard->active, memory_order_relaxed) == 0)
        return;
    for (uint32_t i = 0; executor < box->executor_count && i < 2; i++) {
        struct box_outbox *outbox = &box->executors[executor].outbox[i];
        struct box_list *lists = NULL;
        if (atomic_load_explicit(&outbox->number, memory_order_acquire) == number &&
            outbox_wants(box, v, executor, outbox, &lists) == number && lists != NULL)
            (void)fold_rest(box, v, lists);
    }
    atomic_store_explicit(&shard->active, 0, memory_order_relaxed);
}

/* Marks everything that is not folded, committed or about to be: the dead may have taken marks
 * away. */
static void mark_all(struct train_box *box)
{
    uint32_t shard;

    for (uint32_t e = 0; e < box->executor_count; e++)
        for (uint32_t i = 0; i < 2; i++) {
            const struct box_outbox *outbox = &box->executors[e].outbox[i];
            struct box_list *lists = box_outbox_lists(box, outbox);
            uint32_t count = atomic_load_explicit(&outbox->touched_count, memory_order_acquire);
            uint64_t number = atomic_load_explicit(&outbox->number, memory_order_acquire);
            if (lists == NULL || number == 0 || outbox_folded(box, e, outbox, number, &shard))
                continue;
            for (uint32_t t = 0; t < count && t < box->shard_count; t++) {
                shard = atomic_load_explicit(&box_touched(box, lists)[t], memory_order_relaxed);
                if (shard < box->shard_count && !box->shards[shard].held)
                    box_mark(box, shard, e);
            }
        }
    atomic_fetch_add(&box->head->marks, 1);
}

void train_box_repair(struct train_box *box, uint32_t worker)
{
    bool (*crash)(void *ctx) = box->crash;

    box->crash = NULL; /* repairs are not interrupted */
    for (uint32_t s = 0; s < box->shard_count; s++) {
        const struct shard_view *v = &box->shards[s];
        if (atomic_load_explicit(&v->shard->lock, memory_order_acquire) != worker + 1)
            continue;
        if (v->held)
            box_flip_settle(box, v->shard);
        else
            fold_resume(box, v);
        box_unlock(v->shard);
    }
    mark_all(box);
    box->crash = crash;
}
