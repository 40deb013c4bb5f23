/* fold_factor.c - outer products into the rows of a shard, in steps that can be taken back. See fold.c.
 *
 * A factor has something for every row, so the rows of a shard are walked in blocks that stay in the
 * second cache, and all factors of an outbox are added to a block before the next. Each float gets
 * the same sums in the same order as factor by factor. A step is a few rows of a block and one factor.
 *
 * Tests: tests/unit/train/test_fold.c, test_box*.c. */
#include "train/fold_parts.h"

enum { BLOCK = 1 << 16 }; /* floats */
enum { SCATTERED = 8 };   /* floats in a row are as dear as one that lies anywhere */

uint64_t box_block_rows(uint64_t width)
{
    return width < BLOCK ? BLOCK / width : 1;
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

/* Of the rows [first, first + rows). */
static struct factor_step factor_step_at(uint32_t count, uint64_t first, uint64_t rows,
                                         uint64_t step)
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
    s.row += first;
    s.row_end += first;
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

UNSEEN void box_factors_add(const struct shard_view *v, const char *bytes, uint64_t size,
                            uint64_t table_rows, uint64_t row, uint64_t end)
{
    struct rows_job job = {.data = v->data[0], .width = v->width};
    struct factor_view f;

    for (uint64_t at = 0; box_factor_next(bytes, size, table_rows, &at, &f);) {
        struct factor_step all = {row, end, 0, f.count};
        factor_walk(&job, &f, f.u + v->first, &all, FACTOR_ADD);
    }
}

/* u: of the shard's rows */
static UNSEEN bool fold_factor_step(const struct train_box *box, const struct rows_job *job,
                                    const struct factor_view *f, const float *u,
                                    const struct factor_step *s)
{
    uint64_t step = atomic_load_explicit(&job->shard->step, memory_order_relaxed);
    struct factor_step half = *s;

    fold_stamp_rows(job, s->row, s->row_end);
    factor_walk(job, f, u, s, FACTOR_SAVE);
    if (box_crash(box))
        return false;
    box_order();
    atomic_store_explicit(&job->shard->undo_step, step, memory_order_relaxed);
    box_order();
    if (box->crash != NULL) {
        half.entry_end = s->entry + (s->entry_end - s->entry) / 2;
        factor_walk(job, f, u, &half, FACTOR_ADD);
        if (box_crash(box))
            return false;
        half.entry = half.entry_end;
        half.entry_end = s->entry_end;
    }
    factor_walk(job, f, u, &half, FACTOR_ADD);
    if (box_crash(box))
        return false;
    box_order();
    atomic_store_explicit(&job->shard->step, step + 1, memory_order_relaxed);
    box_order();
    return true;
}

/* The steps of a block of rows, without the first *from of them, which goes down by the steps that it
 * has. False: killed, or one was taken back. */
static bool fold_block(const struct train_box *box, const struct shard_view *v,
                       const struct fold_parts *p, uint64_t row, uint64_t rows, uint64_t *from,
                       bool restore)
{
    struct factor_view f;

    for (uint64_t at = 0; box_factor_next(p->factors, p->factors_size, p->table_rows, &at, &f);) {
        uint64_t steps = factor_steps(f.count, rows);
        for (; *from < steps; ++*from) {
            struct factor_step s = factor_step_at(f.count, row, rows, *from);
            if (restore)
                factor_walk(&p->rows, &f, f.u + v->first, &s, FACTOR_RESTORE);
            if (restore || !fold_factor_step(box, &p->rows, &f, f.u + v->first, &s))
                return false;
        }
        *from -= steps;
    }
    return true;
}

uint64_t fold_factors_work(const struct fold_parts *p, uint64_t rows)
{
    struct factor_view f;
    uint64_t work = 0, at = 0;

    while (p->factors != NULL &&
           box_factor_next(p->factors, p->factors_size, p->table_rows, &at, &f))
        work += SCATTERED * f.count * rows;
    return work;
}

bool fold_factors(const struct train_box *box, const struct shard_view *v,
                  const struct fold_parts *p, uint64_t from, bool restore)
{
    uint64_t each = box_block_rows(v->width);
    bool goes_on = true;

    for (uint64_t row = 0; row < v->rows && goes_on; row += each)
        goes_on =
            fold_block(box, v, p, row, v->rows - row < each ? v->rows - row : each, &from, restore);
    return goes_on;
}
