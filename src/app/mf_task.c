/* mf_task.c - the tasks of `mf`: a pass of SGD over one block, half a step of ALS, and judging.
 *
 * A pass reads the factors of the executor's users from its state and leaves the new ones in the
 * next; the factors of the items are those of the shard it holds. Right after it, the executor's
 * held-out ratings of that block are judged, while both are in the cache.
 *
 * ALS reads one table whole and adds to its rows of the other what they changed by. Rows are solved a
 * few at a time in memory of the task's own. Nobody else adds to those rows, so x + (new - x) is the
 * same whatever else goes on. Implicit feedback needs the Gram matrix of all rows that are read: each
 * task leaves that of the rows it made, in rows of its own of another table, and the next half step
 * adds these up, in order. Tests: tests/unit/app/test_mf.c. */
#include "app/mf.h"

#include "base/err.h"
#include <string.h>

enum { CHUNK_ROWS = 64, ALIGN = 64, LANES_ANY = 1 << 20 };

/* What every task has. */
struct desk {
    shoal_task *task;
    const struct mf_options *options;
    const struct num_mf_ops *ops;
    const struct mf_data *data;
    uint32_t executor;
    struct mf_result result;
};

static const void *part(const struct desk *d, uint64_t at)
{
    return (const char *)d->data + at;
}

static float l2_of(const struct desk *d)
{
    return (float)(d->data->l2 / d->data->scale);
}

/* ---- SGD ---- */

double mf_rate(const struct mf_options *options, uint64_t round, uint32_t blocks)
{
    static const double FLOOR = 0.02; /* of the first rate, at the end */
    double done = ((double)round + 0.5) / ((double)mf_epochs(options) * blocks);

    return mf_first_rate(options) * (FLOOR + (1 - FLOOR) * (1 - done));
}

static void judge_block(struct desk *d, uint32_t block, const float *user, const float *item)
{
    if (d->data->valid_at == 0)
        return;
    struct num_mf_block valid = num_mf_block(part(d, d->data->valid_at), block);
    d->result.valid_error += d->ops->error(&valid, d->data->stride, user, item);
    d->result.valid_count += num_mf_block_count(&valid);
}

static shoal_status run_pass(struct desk *d, shoal_err *err)
{
    const struct mf_data *data = d->data;
    size_t size;
    uint64_t first, round;
    const void *arg = shoal_task_arg(d->task, &size);
    const float *user = shoal_task_state(d->task, &size);
    float *item = shoal_task_held(d->task, &first, NULL);

    if (item == NULL || user == NULL)
        return base_err(err, SHOAL_E_INTERNAL, "a pass without its factors");
    uint32_t block = (uint32_t)(first / data->item_slots);
    if (shoal_task_fn(d->task) == MF_PASS) {
        struct num_mf_block train = num_mf_block(part(d, data->train_at), block);
        float *user_new = shoal_task_new_state(d->task, false);
        memcpy(&round, arg, sizeof round);
        struct num_mf_sgd sgd = {.stride = data->stride,
                                 .rate = (float)mf_rate(d->options, round, data->executors),
                                 .l2 = l2_of(d),
                                 .row_rate = num_mf_data_rates(part(d, data->train_at)),
                                 .column_rate = shoal_task_rows(d->task, MF_RATE) + first,
                                 .row_old = user,
                                 .row_new = user_new,
                                 .column = item};
        d->result.error = d->ops->sgd(&train, &sgd);
        d->result.count = num_mf_block_count(&train);
    } else {
        judge_block(d, block, user, item);
    }
    return SHOAL_OK;
}

/* ---- ALS ---- */

/* One side of the matrix, as a half step sees it. */
struct side {
    uint32_t table, gram_table, slots;
};

static struct side side_of(const struct desk *d, bool users)
{
    return users ? (struct side){MF_USER, MF_USER_GRAM, d->data->user_slots}
                 : (struct side){MF_ITEM, MF_ITEM_GRAM, d->data->item_slots};
}

/* A task's own memory. (stride, stride) each, but for chunk: (CHUNK_ROWS, stride) */
struct scratch {
    void *memory;
    float *chunk, *change, *gram, *own_gram, *work;
};

static bool scratch_init(struct scratch *s, uint32_t stride)
{
    size_t square = (size_t)stride * stride, chunk = (size_t)CHUNK_ROWS * stride;
    size_t work = (num_mf_als_work(stride) + ALIGN - 1) / ALIGN * ALIGN;

    s->memory = base_calloc(&base_alloc_libc, 1, /* tasks run on any thread */
                            work + (chunk + stride + 2 * square) * sizeof(float) + ALIGN);
    if (s->memory == NULL)
        return false;
    s->work = (float *)(((uintptr_t)s->memory + ALIGN - 1) / ALIGN * ALIGN);
    s->chunk = s->work + work / sizeof(float);
    s->change = s->chunk + chunk;
    s->gram = s->change + stride;
    s->own_gram = s->gram + square;
    return true;
}

/* Adds now - old to rows of a table, where they differ. */
static void add_changes(shoal_task *task, uint32_t table, uint64_t row, const float *now,
                        uint32_t count, uint32_t width, float *change)
{
    const float *old = shoal_task_rows(task, table) + row * width;

    for (uint32_t r = 0; r < count; r++, now += width, old += width) {
        if (memcmp(now, old, width * sizeof *now) == 0)
            continue;
        for (uint32_t i = 0; i < width; i++)
            change[i] = now[i] - old[i];
        shoal_task_add(task, table, row + r, change);
    }
}

/* The Gram matrix of a whole side: the sum of its parts. */
static void sum_grams(const struct desk *d, uint32_t gram_table, float *out)
{
    size_t square = (size_t)d->data->stride * d->data->stride;
    const float *gram = shoal_task_rows(d->task, gram_table);

    memset(out, 0, square * sizeof *out);
    for (uint32_t e = 0; e < d->data->executors; e++, gram += square)
        for (size_t i = 0; i < square; i++)
            out[i] += gram[i];
}

static void solve_rows(struct desk *d, const struct num_mf_block *block, struct side own,
                       struct side other, struct scratch *s)
{
    bool implicit = d->options->algorithm == MF_IMPLICIT;
    uint32_t stride = d->data->stride;
    struct num_mf_als als = {.stride = stride,
                             .l2 = l2_of(d),
                             .alpha = (float)d->options->alpha,
                             .gram = implicit ? s->gram : NULL,
                             .column = shoal_task_rows(d->task, other.table),
                             .row = s->chunk,
                             .work = s->work};
    uint64_t first_row = (uint64_t)d->executor * own.slots;

    if (implicit)
        sum_grams(d, other.gram_table, s->gram);
    for (uint32_t first = 0; first < block->rows; first += CHUNK_ROWS) {
        uint32_t rows = block->rows - first < CHUNK_ROWS ? block->rows - first : CHUNK_ROWS;
        struct num_mf_block slice = num_mf_block_slice(block, first, rows);
        d->ops->als(&slice, &als);
        add_changes(d->task, own.table, first_row + first, s->chunk, rows, stride, s->change);
        if (implicit)
            d->ops->gram(s->chunk, rows, stride, s->own_gram);
    }
    if (implicit)
        add_changes(d->task, own.gram_table, (uint64_t)d->executor * stride, s->own_gram, stride,
                    stride, s->change);
}

static shoal_status run_half(struct desk *d, bool users, shoal_err *err)
{
    const struct mf_data *data = d->data;
    struct num_mf_block block = num_mf_block(part(d, users ? data->train_at : data->items_at), 0);
    struct scratch s;

    if (!scratch_init(&s, data->stride))
        return base_err_nomem(err, "solving for factors");
    solve_rows(d, &block, side_of(d, users), side_of(d, !users), &s);
    d->result.count = num_mf_block_count(&block);
    base_free(&base_alloc_libc, s.memory);
    return SHOAL_OK;
}

static double square_sum(const float *x, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

/* Loss of this executor's users, squares of its users' and items' factors. */
static shoal_status judge_implicit(struct desk *d, const struct num_mf_block *train,
                                   const float *user, const float *item, shoal_err *err)
{
    const struct mf_data *data = d->data;
    size_t stride = data->stride, items = data->item_slots * stride;
    float *gram = base_malloc(&base_alloc_libc, stride * stride * sizeof *gram);

    if (gram == NULL)
        return base_err_nomem(err, "judging the factors");
    sum_grams(d, MF_ITEM_GRAM, gram);
    d->result.error =
        num_mf_implicit_loss(train, data->stride, (float)d->options->alpha, gram, user, item);
    d->result.penalty =
        square_sum(user, data->user_slots * stride) + square_sum(item + d->executor * items, items);
    base_free(&base_alloc_libc, gram);
    return SHOAL_OK;
}

static shoal_status run_judge(struct desk *d, shoal_err *err)
{
    const struct mf_data *data = d->data;
    size_t users = (size_t)data->user_slots * data->stride;
    size_t items = (size_t)data->item_slots * data->stride;
    struct num_mf_block train = num_mf_block(part(d, data->train_at), 0);
    const float *user = shoal_task_rows(d->task, MF_USER) + d->executor * users;
    const float *item = shoal_task_rows(d->task, MF_ITEM);

    if (d->options->algorithm == MF_IMPLICIT)
        return judge_implicit(d, &train, user, item, err);
    for (uint32_t b = 0; b < data->executors; b++)
        judge_block(d, b, user, item + b * items);
    if (data->valid_at == 0) {
        d->result.error = d->ops->error(&train, data->stride, user, item);
        d->result.count = num_mf_block_count(&train);
    }
    return SHOAL_OK;
}

shoal_status mf_run(shoal_task *task, shoal_err *err)
{
    size_t size;
    struct desk d = {.task = task,
                     .options = shoal_task_options(task),
                     .ops = num_mf_ops_find(LANES_ANY),
                     .data = shoal_task_data(task, &size),
                     .executor = shoal_task_executor(task)};
    shoal_status st = SHOAL_E_INTERNAL;

    switch (shoal_task_fn(task)) {
    case MF_PASS:
    case MF_CHECK: st = run_pass(&d, err); break;
    case MF_USERS: st = run_half(&d, true, err); break;
    case MF_ITEMS: st = run_half(&d, false, err); break;
    case MF_JUDGE: st = run_judge(&d, err); break;
    default: break;
    }
    shoal_task_result(task, &d.result, sizeof d.result);
    return st;
}
