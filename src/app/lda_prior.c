/* lda_prior.c - priors of topics in documents that suit the corpus, of `lda`.
 *
 * A clock of tasks counts, for each topic, how many documents have how many tokens of it; the driver
 * then takes some steps of Minka's fixed point (num/lda_judge.h) and makes the table from which all
 * tasks draw. Proposals that documents made before are judged once as if they came from the new
 * prior, which is as far off as the two priors are, for half an iteration. */
#include "app/lda.h"

#include "base/err.h"
#include "num/lda_alias.h"
#include <string.h>

enum { STEPS = 5 };

/* ---- tables ---- */

static void set_prior(uint32_t topics, const double *alpha, double *work, float *prior)
{
    uint32_t stride = num_lda_stride(topics);

    for (uint32_t k = 0; k < topics; k++)
        prior[k] = (float)alpha[k];
    num_alias_build(topics, alpha, prior + stride, (uint32_t *)(void *)(prior + 2 * (size_t)stride),
                    work);
}

void lda_prior_init(shoal_driver *driver)
{
    const struct lda_options *o = shoal_driver_options(driver);
    uint32_t stride = num_lda_stride((uint32_t)o->topics);
    float *prior = shoal_driver_rows(driver, LDA_PRIOR);

    for (uint32_t k = 0; k < o->topics; k++) {
        prior[k] = (float)lda_alpha(o);
        prior[stride + k] = 1;
    }
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

/* ---- in a task ---- */

/* Work memory: histogram (topics + 1, bins), a row of it as floats, tokens of each topic and the
 * topics that have some, topics of a strip's tokens. */
struct work {
    uint32_t *histogram, *times, *seen, *topic;
    float *row;
};

static struct work work_of(uint32_t topics, const struct lda_data *data, void *memory)
{
    struct work w = {.histogram = memory};

    w.row = (float *)(void *)(w.histogram + (topics + (size_t)1) * data->bins);
    w.times = (uint32_t *)(void *)(w.row + data->bins);
    w.seen = w.times + topics;
    w.topic = w.seen + topics;
    return w;
}

size_t lda_prior_work(uint32_t topics, const struct lda_data *data)
{
    return ((topics + (size_t)2) * data->bins + 2 * (size_t)topics + data->strip_max) *
           sizeof(uint32_t);
}

static void count_document(const struct work *w, uint32_t topics, uint32_t bins,
                           const struct num_lda_strip *strip, uint32_t segment)
{
    uint32_t from = strip->start[segment], to = strip->start[segment + 1], seen = 0;

    for (uint32_t i = from; i < to; i++) {
        uint32_t topic = w->topic[num_lda_place(strip, i)];
        if (w->times[topic]++ == 0)
            w->seen[seen++] = topic;
    }
    w->histogram[topics * (size_t)bins + num_lda_bin(to - from)]++;
    for (uint32_t i = 0; i < seen; i++) {
        w->histogram[w->seen[i] * (size_t)bins + num_lda_bin(w->times[w->seen[i]])]++;
        w->times[w->seen[i]] = 0;
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
        count_document(&w, topics, data->bins, &view->strip, s);
}

void lda_prior_add(shoal_task *task, uint32_t topics, const struct lda_data *data, void *memory)
{
    struct work w = work_of(topics, data, memory);

    for (uint32_t k = 0; k <= topics; k++) {
        const uint32_t *from = w.histogram + (size_t)k * data->bins;
        uint32_t any = 0;
        for (uint32_t b = 1; b < data->bins; b++)
            any |= from[b];
        for (uint32_t b = 0; b < data->bins; b++)
            w.row[b] = (float)from[b];
        if (any != 0)
            shoal_task_add(task, LDA_HISTOGRAM, k, w.row);
    }
}

/* ---- between two clocks ---- */

/* What tasks have counted, and the table is empty again. */
static void take_histogram(shoal_driver *driver, size_t count, uint32_t *out)
{
    float *rows = shoal_driver_rows(driver, LDA_HISTOGRAM);

    for (size_t i = 0; i < count; i++)
        out[i] = (uint32_t)rows[i];
    memset(rows, 0, count * sizeof *rows);
}

shoal_status lda_prior_step(shoal_driver *driver, shoal_err *err)
{
    const struct lda_options *o = shoal_driver_options(driver);
    const struct lda_driver *d = shoal_driver_state(driver);
    const struct base_alloc *alloc = env_alloc(shoal_driver_env(driver));
    uint32_t topics = (uint32_t)o->topics;
    size_t count = (topics + (size_t)1) * d->bins;
    uint32_t *histogram = base_calloc(alloc, count, sizeof *histogram);
    double *alpha = base_calloc(alloc, 3 * (size_t)topics, sizeof *alpha);
    float *prior = shoal_driver_rows(driver, LDA_PRIOR);

    if (histogram != NULL && alpha != NULL) {
        take_histogram(driver, count, histogram);
        for (uint32_t k = 0; k < topics; k++)
            alpha[k] = (double)prior[k];
        for (int i = 0; i < STEPS; i++)
            (void)num_lda_step_alpha(topics, d->bins, histogram,
                                     histogram + topics * (size_t)d->bins, alpha);
        set_prior(topics, alpha, alpha + topics, prior);
    }
    bool good = histogram != NULL && alpha != NULL;
    base_free(alloc, histogram);
    base_free(alloc, alpha);
    return good ? SHOAL_OK : base_err_nomem(err, "optimising priors");
}
