/* lda_task.c - the tasks of `lda`: first topics, passes over words and over documents, likelihood.
 *
 * A task holds its executor's row or column of shards and goes through its strips one after the
 * other. The records that a strip needs lie in pieces in all of them; num/lda.h gathers them. What it
 * changes in the counts of topics is added up over the strips and becomes an increment of the table:
 * of whole rows where strips have many tokens, else of the topics that changed.
 *
 * Tests: tests/unit/app/test_lda.c. */
#include "app/lda.h"

#include "base/err.h"
#include <string.h>

enum { LANES_ANY = 1 << 20 };

struct num_lda_strip lda_strip_of(const struct lda_data *data, enum num_lda_side side,
                                  uint32_t index)
{
    const char *base = (const char *)data;
    const struct lda_strip *s =
        (const struct lda_strip *)(const void *)(base + data->strips_at[side]) + index;
    const void *order = s->order_at != 0 ? base + s->order_at : NULL;

    return (struct num_lda_strip){.side = side,
                                  .index = s->index,
                                  .tokens = s->tokens,
                                  .tiles = s->pieces,
                                  .first = s->first,
                                  .segments = s->segments,
                                  .start = (const uint32_t *)(const void *)(base + s->start_at),
                                  .order16 = data->wide ? NULL : order,
                                  .order32 = data->wide ? order : NULL};
}

const struct lda_piece *lda_pieces_of(const struct lda_data *data, enum num_lda_side side,
                                      uint32_t index, uint32_t *out_count)
{
    const char *base = (const char *)data;
    const struct lda_strip *s =
        (const struct lda_strip *)(const void *)(base + data->strips_at[side]) + index;

    *out_count = s->pieces;
    return (const struct lda_piece *)(const void *)(base + s->piece_at);
}

/* What a task works with, in the thread's memory. */
struct desk {
    shoal_task *task;
    const struct lda_options *options;
    const struct lda_data *data;
    const struct num_lda_ops *ops;
    struct num_lda_pass pass;
    struct num_lda_work *work;
    struct num_lda_tile *tile; /* (pieces_max) */
    struct held {
        const char *before;
        char *after;
    } * held;         /* (executors) */
    int32_t *change;  /* (topics) */
    void *prior_work; /* of tasks that count for priors */
    struct num_lda_prior prior;
    uint32_t topics;
    struct lda_result result;
};

static size_t rounded(size_t size)
{
    return (size + 63) / 64 * 64;
}

static bool counts_priors(const shoal_task *task)
{
    return shoal_task_fn(task) == LDA_PRIORS || shoal_task_fn(task) == LDA_PRIORS_WORDS;
}

static bool desk_init(struct desk *d)
{
    const struct lda_data *data = d->data;
    size_t work = rounded(num_lda_work_size(d->topics, data->strip_max, data->segment_max));
    size_t tile = rounded(data->pieces_max * sizeof *d->tile);
    size_t held = rounded(data->executors * sizeof *d->held);
    size_t change = rounded(d->topics * sizeof *d->change);
    size_t prior = counts_priors(d->task) ? lda_prior_work(d->topics, data) : 0;
    char *at = shoal_task_scratch(d->task, work + tile + held + change + prior);

    if (at == NULL)
        return false;
    d->work = num_lda_work_again(at, d->topics, data->strip_max, data->segment_max);
    d->tile = (struct num_lda_tile *)(void *)(at + work);
    d->held = (struct held *)(void *)(at + work + tile);
    d->change = (int32_t *)(void *)(at + work + tile + held);
    d->prior_work = at + work + tile + held + change;
    memset(d->change, 0, change + prior);
    return true;
}

static void find_held(struct desk *d)
{
    for (uint32_t i = 0; i < d->data->executors; i++) {
        const float *before = NULL;
        d->held[i].after = (char *)shoal_task_held_at(d->task, i, &before, NULL, NULL);
        d->held[i].before = (const char *)before;
    }
}

/* The tiles of a strip; returns how many. */
static uint32_t find_tiles(struct desk *d, enum num_lda_side side, uint32_t strip)
{
    size_t size = num_lda_format(d->topics).size;
    uint32_t count;
    const struct lda_piece *piece = lda_pieces_of(d->data, side, strip, &count);

    for (uint32_t i = 0; i < count; i++) {
        const struct held *held = &d->held[piece[i].hold];
        d->tile[i] = (struct num_lda_tile){held->before + piece[i].at * size,
                                           held->after + piece[i].at * size, piece[i].tokens};
    }
    return count;
}

/* ---- counts ---- */

static void add_changes(struct desk *d)
{
    if (d->result.tokens < d->topics / 4) {
        float x[2];
        for (uint32_t k = 0; k < d->topics; k++) {
            if (d->change[k] == 0)
                continue;
            lda_count_put(x, d->change[k]);
            shoal_task_add(d->task, LDA_COUNT, k, x);
        }
        return;
    }
    float *all = shoal_task_add_all(d->task, LDA_COUNT);
    for (uint32_t k = 0; k < d->topics && all != NULL; k++)
        lda_count_put(all + 2 * (size_t)k, d->change[k]);
}

/* ---- tasks ---- */

static void run_strips(struct desk *d, enum num_lda_side side, enum lda_fn fn)
{
    for (uint32_t i = 0; i < d->data->strips[side]; i++) {
        struct num_lda_strip strip = lda_strip_of(d->data, side, i);
        uint32_t tiles = find_tiles(d, side, i);
        if (fn == LDA_START)
            num_lda_start(&d->pass, &strip, d->tile, tiles, d->change);
        else if (fn == LDA_WORDS || fn == LDA_DOCUMENTS)
            d->ops->sample(&d->pass, &strip, d->tile, tiles, d->work, d->change);
        else if (counts_priors(d->task))
            lda_prior_count(d->topics, d->data, &(struct lda_view){strip, d->tile, tiles},
                            d->prior_work);
        else
            d->result.likelihood += num_lda_likelihood(&d->pass, &strip, d->tile, tiles, d->work);
        d->result.tokens += strip.tokens;
    }
}

shoal_status lda_run(shoal_task *task, shoal_err *err)
{
    size_t size;
    enum lda_fn fn = shoal_task_fn(task);
    enum num_lda_side side = lda_is_of_words(fn) ? NUM_LDA_WORDS : NUM_LDA_DOCUMENTS;
    struct desk d = {.task = task,
                     .options = shoal_task_options(task),
                     .data = shoal_task_data(task, &size),
                     .ops = num_lda_ops_find(LANES_ANY)};

    d.topics = d.data->topics;
    d.pass = (struct num_lda_pass){
        .topics = d.topics,
        .prior = (float)(side == NUM_LDA_WORDS ? d.options->beta : lda_alpha(d.options, d.topics)),
        .inverse = shoal_task_rows(task, LDA_INVERSE),
        .seed = d.data->seed,
        .clock = shoal_task_clock(task)};
    if (d.options->optimise > 0 && side == NUM_LDA_WORDS)
        d.pass.prior = lda_prior_beta(task, d.topics);
    if (d.options->optimise > 0 && side == NUM_LDA_DOCUMENTS) {
        d.prior = lda_prior_of(task, d.topics);
        d.pass.priors = &d.prior;
    }
    if (d.data->strips[side] > 0) {
        if (!desk_init(&d))
            return base_err_nomem(err, "sampling topics");
        find_held(&d);
        num_lda_work_pass(d.work, &d.pass);
        run_strips(&d, side, fn);
        if (fn <= LDA_DOCUMENTS)
            add_changes(&d);
        else if (counts_priors(task))
            lda_prior_add(task, d.topics, d.data, d.prior_work);
    }
    shoal_task_result(task, &d.result, sizeof d.result);
    return SHOAL_OK;
}
