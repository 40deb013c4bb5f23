/* lda_counts.c - the model that a job of `lda` is at: how often each word has which topic, counted from
 * the records of all tokens.
 *
 * Records are gone through twice, first for how many topics each word has, so that memory is what the
 * counts take and no more. Topics of a word ascend: a word with few has them sorted, one with many has
 * them read off a bitmap of all topics.
 * Tests: tests/unit/app/test_lda.c, tests/unit/app/test_lda_held.c. */
#include "app/lda.h"

#include "base/err.h"
#include <stdlib.h>
#include <string.h>

/* Memory of the driver, from one hook to the next. */
struct counts {
    const struct base_alloc *alloc;
    uint64_t clock;
    uint64_t *start;         /* (words + 1): entries of the words before */
    uint32_t *topic, *count; /* (entries) */
    int64_t *total;          /* (topics) */
    double *alpha;           /* (topics) */
};

/* A pass over the records of all tokens, word by word. */
struct counting {
    shoal_driver *driver;
    uint32_t topics, executors;
    const uint32_t *slot_word;
    uint32_t *strip_topic;  /* (strip_max): topics of a strip's tokens, as they lie */
    uint32_t *times, *seen; /* (topics): of a word; times is 0 between words */
    uint64_t *bit;          /* (topics / 64 + 1): 0 between words */
};

static void gather_topics(const struct counting *c, const struct lda_data *data, uint32_t executor,
                          uint32_t strip)
{
    uint32_t pieces, n = 0;
    const struct lda_piece *piece = lda_pieces_of(data, NUM_LDA_WORDS, strip, &pieces);

    for (uint32_t i = 0; i < pieces; i++) {
        const void *records = shoal_driver_shard_read(
            c->driver, LDA_RECORD, piece[i].hold * c->executors + executor, NULL, NULL);
        for (uint32_t t = 0; t < piece[i].tokens; t++)
            c->strip_topic[n++] = num_lda_part(c->topics, records, piece[i].at + (uint64_t)t, 0);
    }
}

/* The topics of one word; returns how many. */
static uint32_t count_word(const struct counting *c, const struct num_lda_strip *strip,
                           uint32_t segment)
{
    uint32_t count = 0;

    for (uint32_t i = strip->start[segment]; i < strip->start[segment + 1]; i++) {
        uint32_t topic = c->strip_topic[num_lda_place(strip, i)];
        if (c->times[topic]++ == 0)
            c->seen[count++] = topic;
    }
    return count;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void sort_seen(const struct counting *c, uint32_t count)
{
    uint32_t words = c->topics / 64 + 1, n = 0;

    if (count < words / 8) {
        qsort(c->seen, count, sizeof *c->seen, by_value);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        c->bit[c->seen[i] / 64] |= UINT64_C(1) << c->seen[i] % 64;
    for (uint32_t w = 0; w < words; w++)
        for (; c->bit[w] != 0; c->bit[w] &= c->bit[w] - 1)
            c->seen[n++] = 64 * w + (uint32_t)__builtin_ctzll(c->bit[w]);
}

/* Takes the topics of a word that was counted: into `out` from its start on, or, without `topic`
 * there, only how many they are. */
static void take_word(const struct counting *c, uint32_t word, uint32_t count, struct counts *out)
{
    if (out->topic == NULL)
        out->start[word + 1] = count;
    else
        sort_seen(c, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t topic = c->seen[i];
        if (out->topic != NULL) {
            out->topic[out->start[word] + i] = topic;
            out->count[out->start[word] + i] = c->times[topic];
            out->total[topic] += c->times[topic];
        }
        c->times[topic] = 0;
    }
}

static void count_words(const struct counting *c, struct counts *out)
{
    size_t size;

    for (uint32_t e = 0; e < c->executors; e++) {
        const struct lda_data *data = shoal_driver_block_read(c->driver, e, &size);
        for (uint32_t s = 0; s < data->strips[NUM_LDA_WORDS]; s++) {
            struct num_lda_strip strip = lda_strip_of(data, NUM_LDA_WORDS, s);
            gather_topics(c, data, e, s);
            for (uint32_t i = 0; i < strip.segments; i++)
                take_word(c, c->slot_word[strip.first + i], count_word(c, &strip, i), out);
        }
    }
}

static bool count_twice(const struct counting *c, uint32_t words, struct counts *out)
{
    count_words(c, out);
    for (uint32_t w = 0; w < words; w++)
        out->start[w + 1] += out->start[w];
    uint32_t *topic = base_calloc(out->alloc, out->start[words] + 1, sizeof *topic);
    out->count = base_calloc(out->alloc, out->start[words] + 1, sizeof *out->count);
    out->topic = topic;
    if (topic == NULL || out->count == NULL)
        return false;
    count_words(c, out);
    return true;
}

static bool count(shoal_driver *driver, uint32_t words, struct counts *out)
{
    const struct lda_driver *d = shoal_driver_state(driver);
    const struct lda_kept *kept = (const void *)shoal_driver_rows_read(driver, LDA_KEPT);
    const struct base_alloc *alloc = out->alloc;
    size_t size, topics = d->topics;
    const struct lda_data *data = shoal_driver_block_read(driver, 0, &size);
    struct counting c = {.driver = driver,
                         .topics = d->topics,
                         .executors = d->executors,
                         .slot_word = lda_kept_slots(kept),
                         .strip_topic =
                             base_calloc(alloc, data->strip_max + (size_t)1, sizeof *c.strip_topic),
                         .times = base_calloc(alloc, topics, sizeof *c.times),
                         .seen = base_calloc(alloc, topics, sizeof *c.seen),
                         .bit = base_calloc(alloc, topics / 64 + 1, sizeof *c.bit)};
    bool good = c.strip_topic != NULL && c.times != NULL && c.seen != NULL && c.bit != NULL &&
                count_twice(&c, words, out);

    base_free(alloc, c.strip_topic);
    base_free(alloc, c.times);
    base_free(alloc, c.seen);
    base_free(alloc, c.bit);
    return good;
}

/* ---- once for each state ---- */

static void counts_free(void *memory)
{
    struct counts *c = memory;

    if (c == NULL)
        return;
    const struct base_alloc *alloc = c->alloc;
    base_free(alloc, c->start);
    base_free(alloc, c->topic);
    base_free(alloc, c->count);
    base_free(alloc, c->total);
    base_free(alloc, c->alpha);
    base_free(alloc, c);
}

/* NULL: no memory. */
static struct counts *counts_new(shoal_driver *driver, uint32_t words)
{
    const struct lda_options *o = shoal_driver_options(driver);
    const struct lda_driver *d = shoal_driver_state(driver);
    const struct base_alloc *alloc = env_alloc(shoal_driver_env(driver));
    struct counts *c = base_calloc(alloc, 1, sizeof *c);

    if (c == NULL)
        return NULL;
    *c = (struct counts){.alloc = alloc,
                         .clock = d->clock,
                         .start = base_calloc(alloc, words + (size_t)1, sizeof *c->start),
                         .total = base_calloc(alloc, d->topics, sizeof *c->total),
                         .alpha = base_calloc(alloc, d->topics, sizeof *c->alpha)};
    if (c->start == NULL || c->total == NULL || c->alpha == NULL || !count(driver, words, c)) {
        counts_free(c);
        return NULL;
    }
    const float *prior = o->optimise > 0 ? shoal_driver_rows_read(driver, LDA_PRIOR) : NULL;
    for (uint32_t k = 0; k < d->topics; k++)
        c->alpha[k] = prior != NULL ? (double)prior[k] : lda_alpha(o, d->topics);
    return c;
}

shoal_status lda_model_now(shoal_driver *driver, struct num_lda_model *out, shoal_err *err)
{
    const struct lda_driver *d = shoal_driver_state(driver);
    const struct lda_kept *kept = (const void *)shoal_driver_rows_read(driver, LDA_KEPT);
    struct counts *c = shoal_driver_kept(driver);

    if (c == NULL || c->clock != d->clock) {
        c = counts_new(driver, kept->words);
        if (c == NULL)
            return base_err_nomem(err, "counting topics of words");
        shoal_driver_keep(driver, c, counts_free);
    }
    *out = (struct num_lda_model){.topics = d->topics,
                                  .words = kept->words,
                                  .start = c->start,
                                  .topic = c->topic,
                                  .count = c->count,
                                  .total = c->total,
                                  .alpha = c->alpha,
                                  .beta = lda_beta(driver)};
    return SHOAL_OK;
}

void lda_model_drop(shoal_driver *driver)
{
    shoal_driver_keep(driver, NULL, NULL);
}
