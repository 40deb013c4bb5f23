/* lda_prior.c - priors that suit the corpus, of `lda`: one for each topic in documents, and one for all
 * words in topics.
 *
 * A clock of tasks counts, for each topic, how many documents have how many tokens of it, another how
 * many pairs of word and topic have how many; the driver then takes some steps of Minka's fixed point
 * (num/lda_judge.h) for each and makes the table from which all tasks draw. Proposals that were made
 * before are judged once as if they came from the new prior, which is as far off as the two priors
 * are, for half an iteration. Tests: tests/unit/app/test_lda.c. */
#include "app/lda.h"

#include "app/parts.h"
#include "base/err.h"
#include "num/alias.h"
#include <string.h>

enum { STEPS = 5 };

/* ---- tables ---- */

/* Where beta is among the priors. */
static size_t beta_at(uint32_t topics)
{
    return 3 * (size_t)num_lda_stride(topics);
}

shoal_status lda_prior_init(shoal_driver *driver, const struct lda_data *shape, shoal_err *err)
{
    const struct lda_options *o = shoal_driver_options(driver);
    uint32_t topics = shape->topics, stride = num_lda_stride(topics);
    shoal_status st = app_parts_table(driver, "prior", beta_at(topics) + 1, 1, err);

    if (st == SHOAL_OK)
        st = app_parts_table(driver, "histogram", (uint64_t)topics + 1, shape->bins, err);
    if (st == SHOAL_OK)
        st = app_parts_table(driver, "pairs", 1, shape->pair_bins, err);
    if (st != SHOAL_OK)
        return st;
    float *prior = shoal_driver_rows(driver, LDA_PRIOR);
    for (uint32_t k = 0; k < topics; k++) {
        prior[k] = (float)lda_alpha(o, topics);
        prior[stride + k] = 1;
    }
    prior[beta_at(topics)] = (float)o->beta;
    return SHOAL_OK;
}

struct num_lda_prior lda_prior_of(const shoal_task *task, uint32_t topics)
{
    uint32_t stride = num_lda_stride(topics);
    const float *rows = shoal_task_rows(task, LDA_PRIOR);
    struct num_lda_prior prior = {.value = rows,
                                  .keep = rows + stride,
                                  .other =
                                      (const uint32_t *)(const void *)(rows + 2 * (size_t)stride)};

    for (uint32_t k = 0; k < topics; k++)
        prior.sum += (double)rows[k];
    return prior;
}

float lda_prior_beta(const shoal_task *task, uint32_t topics)
{
    return shoal_task_rows(task, LDA_PRIOR)[beta_at(topics)];
}

double lda_beta(shoal_driver *driver)
{
    const struct lda_options *o = shoal_driver_options(driver);
    size_t size;

    if (o->optimise == 0)
        return o->beta;
    const struct lda_data *data = shoal_driver_block_read(driver, 0, &size);
    return (double)shoal_driver_rows_read(driver, LDA_PRIOR)[beta_at(data->topics)];
}

/* ---- in a task ---- */

/* Work memory: the histogram of documents (topics + 1, bins) or of pairs (pair_bins), a row of it as
 * floats, tokens of each topic and the topics that have some, topics of a strip's tokens. */
struct work {
    uint32_t *histogram, *times, *seen, *topic;
    float *row;
};

static uint32_t bins_max(const struct lda_data *data)
{
    return data->bins > data->pair_bins ? data->bins : data->pair_bins;
}

/* Numbers of the larger histogram. */
static size_t cells_max(uint32_t topics, const struct lda_data *data)
{
    size_t cells = (topics + (size_t)1) * data->bins;

    return cells > data->pair_bins ? cells : data->pair_bins;
}

static struct work work_of(uint32_t topics, const struct lda_data *data, void *memory)
{
    struct work w = {.histogram = memory};

    w.row = (float *)(void *)(w.histogram + cells_max(topics, data));
    w.times = (uint32_t *)(void *)(w.row + bins_max(data));
    w.seen = w.times + topics;
    w.topic = w.seen + topics;
    return w;
}

size_t lda_prior_work(uint32_t topics, const struct lda_data *data)
{
    return (cells_max(topics, data) + bins_max(data) + 2 * (size_t)topics + data->strip_max) *
           sizeof(uint32_t);
}

/* The topics of a segment and how often each; returns how many. */
static uint32_t count_topics(const struct work *w, const struct num_lda_strip *strip,
                             uint32_t segment)
{
    uint32_t seen = 0;

    for (uint32_t i = strip->start[segment]; i < strip->start[segment + 1]; i++) {
        uint32_t topic = w->topic[num_lda_place(strip, i)];
        if (w->times[topic]++ == 0)
            w->seen[seen++] = topic;
    }
    return seen;
}

static void count_segment(const struct work *w, uint32_t topics, uint32_t bins,
                          const struct num_lda_strip *strip, uint32_t segment)
{
    bool document = strip->side == NUM_LDA_DOCUMENTS;
    uint32_t seen = count_topics(w, strip, segment);

    if (document)
        w->histogram[topics * (size_t)bins +
                     num_lda_bin(strip->start[segment + 1] - strip->start[segment])]++;
    for (uint32_t i = 0; i < seen; i++) {
        uint32_t k = w->seen[i];
        w->histogram[(document ? k * (size_t)bins : 0) + num_lda_bin(w->times[k])]++;
        w->times[k] = 0;
    }
}

void lda_prior_count(uint32_t topics, const struct lda_data *data, const struct lda_view *view,
                     void *memory)
{
    struct work w = work_of(topics, data, memory);
    uint32_t n = 0;

    for (uint32_t t = 0; t < view->tiles; t++)
        for (uint32_t i = 0; i < view->tile[t].tokens; i++)
            w.topic[n++] = num_lda_part(topics, view->tile[t].before, i, 0);
    for (uint32_t s = 0; s < view->strip.segments; s++)
        count_segment(&w, topics, data->bins, &view->strip, s);
}

void lda_prior_add(shoal_task *task, uint32_t topics, const struct lda_data *data, void *memory)
{
    struct work w = work_of(topics, data, memory);
    bool pairs = shoal_task_fn(task) == LDA_PRIORS_WORDS;
    uint32_t rows = pairs ? 1 : topics + 1, bins = pairs ? data->pair_bins : data->bins;

    for (uint32_t k = 0; k < rows; k++) {
        const uint32_t *from = w.histogram + (size_t)k * bins;
        uint32_t any = 0;
        for (uint32_t b = 1; b < bins; b++)
            any |= from[b];
        for (uint32_t b = 0; b < bins; b++)
            w.row[b] = (float)from[b];
        if (any != 0)
            shoal_task_add(task, pairs ? LDA_PAIRS : LDA_HISTOGRAM, k, w.row);
    }
}

/* ---- between two clocks ---- */

/* What tasks have counted, and the table is empty again. */
static void take_histogram(shoal_driver *driver, uint32_t table, size_t count, uint64_t *out)
{
    float *rows = shoal_driver_rows(driver, table);

    for (size_t i = 0; i < count; i++)
        out[i] = (uint64_t)rows[i];
    memset(rows, 0, count * sizeof *rows);
}

static void set_prior(uint32_t topics, const double *alpha, double *work, float *prior)
{
    uint32_t stride = num_lda_stride(topics);

    for (uint32_t k = 0; k < topics; k++)
        prior[k] = (float)alpha[k];
    num_alias_build(topics, alpha, prior + stride, (uint32_t *)(void *)(prior + 2 * (size_t)stride),
                    work);
}

shoal_status lda_prior_step(shoal_driver *driver, shoal_err *err)
{
    const struct lda_driver *d = shoal_driver_state(driver);
    const struct base_alloc *alloc = env_alloc(shoal_driver_env(driver));
    uint32_t topics = d->topics;
    size_t count = (topics + (size_t)1) * d->bins;
    uint64_t *histogram = base_calloc(alloc, count, sizeof *histogram);
    double *alpha = base_calloc(alloc, 3 * (size_t)topics, sizeof *alpha);
    bool good = histogram != NULL && alpha != NULL;

    if (good) {
        float *prior = shoal_driver_rows(driver, LDA_PRIOR);
        take_histogram(driver, LDA_HISTOGRAM, count, histogram);
        for (uint32_t k = 0; k < topics; k++)
            alpha[k] = (double)prior[k];
        for (int i = 0; i < STEPS; i++)
            (void)num_lda_step_alpha(topics, d->bins, histogram,
                                     histogram + topics * (size_t)d->bins, alpha);
        set_prior(topics, alpha, alpha + topics, prior);
    }
    base_free(alloc, histogram);
    base_free(alloc, alpha);
    return good ? SHOAL_OK : base_err_nomem(err, "optimising priors");
}

shoal_status lda_prior_step_words(shoal_driver *driver, const int64_t *c, shoal_err *err)
{
    const struct lda_driver *d = shoal_driver_state(driver);
    const struct base_alloc *alloc = env_alloc(shoal_driver_env(driver));
    uint64_t *pairs = base_calloc(alloc, d->pair_bins, sizeof *pairs);
    float *beta = shoal_driver_rows(driver, LDA_PRIOR) + beta_at(d->topics);
    double value = (double)*beta;

    if (pairs == NULL)
        return base_err_nomem(err, "optimising priors");
    take_histogram(driver, LDA_PAIRS, d->pair_bins, pairs);
    for (int i = 0; i < STEPS; i++)
        (void)num_lda_step_beta((uint32_t)d->words, d->pair_bins, pairs, d->topics, c, &value);
    *beta = (float)value;
    base_free(alloc, pairs);
    return SHOAL_OK;
}
