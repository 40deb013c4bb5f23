/* lda_model.c - models of `lda`: what training leaves, and how it is read again.
 *
 *   shape         struct model_shape
 *   words         names, a line each; empty: words are numbers from 1
 *   word_start    uint64_t (words + 1): entries of the words before
 *   topic, count  uint32_t each: the topics that a word has, ascending, and how many of its tokens
 *   topic_count   int64_t (topics): tokens of each topic
 *   alpha         double (topics): prior of each topic in a document
 *
 * Little-endian, as it lies in memory. Everything read is checked. */
#include "app/lda.h"

#include "base/err.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "models are written as they lie");

enum { VERSION = 1 };

struct model_shape {
    uint32_t version, topics, words, unused;
    uint64_t documents, tokens, entries;
    double beta;
};

/* ---- counting ---- */

/* A pass over the records of all tokens, word by word. */
struct counting {
    shoal_driver *driver;
    uint32_t topics, executors;
    const uint32_t *slot_word;
    uint32_t *strip_topic;         /* (strip_max): topics of a strip's tokens, as they lie */
    uint32_t *times, *topics_seen; /* (topics): of a word; times is 0 between words */
};

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

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
            c->topics_seen[count++] = topic;
    }
    return count;
}

/* Takes the topics of a word that was counted: into `out` from its start on, or, without `topic`
 * there, only how many they are. */
static void take_word(const struct counting *c, uint32_t word, uint32_t count,
                      struct lda_counts *out)
{
    if (out->topic == NULL)
        out->start[word + 1] = count;
    else
        qsort(c->topics_seen, count, sizeof *c->topics_seen, by_value);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t topic = c->topics_seen[i];
        if (out->topic != NULL) {
            out->topic[out->start[word] + i] = topic;
            out->count[out->start[word] + i] = c->times[topic];
            out->total[topic] += c->times[topic];
        }
        c->times[topic] = 0;
    }
}

static void count_words(const struct counting *c, struct lda_counts *out)
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

static bool counting_init(struct counting *c, const struct base_alloc *alloc)
{
    size_t size;
    const struct lda_data *data = shoal_driver_block_read(c->driver, 0, &size);

    c->executors = data->executors;
    c->strip_topic = base_calloc(alloc, data->strip_max + (size_t)1, sizeof *c->strip_topic);
    c->times = base_calloc(alloc, c->topics, sizeof *c->times);
    c->topics_seen = base_calloc(alloc, c->topics, sizeof *c->topics_seen);
    return c->strip_topic != NULL && c->times != NULL && c->topics_seen != NULL;
}

void lda_counts_fini(struct lda_counts *counts)
{
    base_free(counts->alloc, counts->start);
    base_free(counts->alloc, counts->topic);
    base_free(counts->alloc, counts->count);
    base_free(counts->alloc, counts->total);
}

/* Once for how many entries each word has, once for what they are. */
static bool count_twice(const struct counting *c, uint32_t words, struct lda_counts *out)
{
    out->start = base_calloc(out->alloc, words + (size_t)1, sizeof *out->start);
    out->total = base_calloc(out->alloc, c->topics, sizeof *out->total);
    if (out->start == NULL || out->total == NULL)
        return false;
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

shoal_status lda_counts_init(struct lda_counts *counts, shoal_driver *driver, shoal_err *err)
{
    const struct lda_options *o = shoal_driver_options(driver);
    const struct base_alloc *alloc = env_alloc(shoal_driver_env(driver));
    const struct lda_kept *kept = (const void *)shoal_driver_rows_read(driver, LDA_KEPT);
    struct counting c = {
        .driver = driver, .topics = (uint32_t)o->topics, .slot_word = (const uint32_t *)(kept + 1)};

    *counts = (struct lda_counts){.alloc = alloc};
    bool good = counting_init(&c, alloc) && count_twice(&c, kept->words, counts);
    base_free(alloc, c.strip_topic);
    base_free(alloc, c.times);
    base_free(alloc, c.topics_seen);
    return good ? SHOAL_OK : base_err_nomem(err, "counting topics of words");
}

/* ---- writing ---- */

static shoal_status put_alpha(shoal_driver *driver, shoal_model *model, shoal_err *err)
{
    const struct lda_options *o = shoal_driver_options(driver);
    const struct base_alloc *alloc = env_alloc(shoal_driver_env(driver));
    double *alpha = base_calloc(alloc, o->topics, sizeof *alpha);

    if (alpha == NULL)
        return base_err_nomem(err, "writing a model");
    const float *prior = o->optimise > 0 ? shoal_driver_rows_read(driver, LDA_PRIOR) : NULL;
    for (uint64_t k = 0; k < o->topics; k++)
        alpha[k] = prior != NULL ? (double)prior[k] : lda_alpha(o);
    shoal_status st = shoal_model_put(model, "alpha", alpha, o->topics * sizeof *alpha, err);
    base_free(alloc, alpha);
    return st;
}

static shoal_status put_counts(const struct lda_counts *c, const struct model_shape *shape,
                               shoal_model *model, shoal_err *err)
{
    size_t words = shape->words, entries = shape->entries;
    shoal_status st =
        shoal_model_put(model, "word_start", c->start, (words + 1) * sizeof *c->start, err);

    if (st == SHOAL_OK)
        st = shoal_model_put(model, "topic", c->topic, entries * sizeof *c->topic, err);
    if (st == SHOAL_OK)
        st = shoal_model_put(model, "count", c->count, entries * sizeof *c->count, err);
    if (st == SHOAL_OK)
        st = shoal_model_put(model, "topic_count", c->total, shape->topics * sizeof *c->total, err);
    return st;
}

shoal_status lda_save(shoal_driver *driver, shoal_model *model, shoal_err *err)
{
    const struct lda_options *o = shoal_driver_options(driver);
    const struct lda_kept *kept = (const void *)shoal_driver_rows_read(driver, LDA_KEPT);
    struct lda_counts counts;
    shoal_status st = lda_counts_init(&counts, driver, err);

    if (st == SHOAL_OK) {
        struct model_shape shape = {.version = VERSION,
                                    .topics = (uint32_t)o->topics,
                                    .words = kept->words,
                                    .documents = kept->documents,
                                    .tokens = kept->tokens,
                                    .entries = counts.start[kept->words],
                                    .beta = o->beta};
        st = shoal_model_put(model, "shape", &shape, sizeof shape, err);
        if (st == SHOAL_OK)
            st = put_counts(&counts, &shape, model, err);
    }
    if (st == SHOAL_OK)
        st = shoal_model_put(model, "words", lda_kept_names(kept), kept->names_size, err);
    if (st == SHOAL_OK)
        st = put_alpha(driver, model, err);
    lda_counts_fini(&counts);
    return st;
}

/* ---- reading ---- */

/* A part of exactly `count` things of `size`. */
static shoal_status get_part(const shoal_model *model, const char *name, uint64_t count,
                             size_t size, const void **out, shoal_err *err)
{
    size_t found;
    shoal_status st = shoal_model_get(model, name, out, &found, err);

    if (st == SHOAL_OK && (found % size != 0 || found / size != count))
        return base_err(err, SHOAL_E_FORMAT, "part '%s' of the model has %zu bytes; expected %zu",
                        name, found, (size_t)count * size);
    return st;
}

static shoal_status get_shape(const shoal_model *model, struct model_shape *out, shoal_err *err)
{
    const void *bytes;
    shoal_status st = get_part(model, "shape", 1, sizeof *out, &bytes, err);

    if (st != SHOAL_OK)
        return st;
    memcpy(out, bytes, sizeof *out);
    if (out->version != VERSION || out->topics < 2 || out->topics > NUM_LDA_TOPICS_MAX ||
        out->words == 0 || out->words > DATA_CORPUS_WORDS_MAX || !(out->beta > 0) ||
        !isfinite(out->beta))
        return base_err(err, SHOAL_E_FORMAT, "the model's shape makes no sense");
    return SHOAL_OK;
}

static shoal_status get_names(const shoal_model *model, uint32_t words, struct data_ids *ids,
                              shoal_err *err)
{
    const void *bytes;
    size_t size;
    uint32_t index;
    shoal_status st = shoal_model_get(model, "words", &bytes, &size, err);

    if (st != SHOAL_OK)
        return st;
    for (const char *at = bytes, *end = at + size; at < end;) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        if (line == NULL || line - at > DATA_ID_SIZE_MAX)
            break;
        if (data_ids_add(ids, at, (size_t)(line - at), &index) != SHOAL_OK)
            return base_err_nomem(err, "reading a model");
        at = line + 1;
    }
    if (size > 0 && ids->count != words)
        return base_err(err, SHOAL_E_FORMAT, "the model has %u names of words; expected %u",
                        ids->count, words);
    return SHOAL_OK;
}

static bool makes_sense(const struct num_lda_model *m, uint64_t entries)
{
    uint64_t at = 0;

    for (uint32_t w = 0; w < m->words; w++) {
        if (m->start[w] != at || m->start[w + 1] < at || m->start[w + 1] > entries)
            return false;
        for (; at < m->start[w + 1]; at++)
            if (m->topic[at] >= m->topics || m->count[at] == 0 ||
                (at > m->start[w] && m->topic[at] <= m->topic[at - 1]))
                return false;
    }
    for (uint32_t k = 0; k < m->topics; k++)
        if (m->total[k] < 0 || !(m->alpha[k] > 0) || !isfinite(m->alpha[k]))
            return false;
    return at == entries;
}

shoal_status lda_model_load(const shoal_model *model, struct num_lda_model *out,
                            struct data_ids *names, shoal_err *err)
{
    struct model_shape shape;
    const void *start, *topic, *count, *total, *alpha;
    shoal_status st = get_shape(model, &shape, err);

    if (st == SHOAL_OK)
        st = get_part(model, "word_start", shape.words + UINT64_C(1), 8, &start, err);
    if (st == SHOAL_OK)
        st = get_part(model, "topic", shape.entries, 4, &topic, err);
    if (st == SHOAL_OK)
        st = get_part(model, "count", shape.entries, 4, &count, err);
    if (st == SHOAL_OK)
        st = get_part(model, "topic_count", shape.topics, 8, &total, err);
    if (st == SHOAL_OK)
        st = get_part(model, "alpha", shape.topics, 8, &alpha, err);
    if (st == SHOAL_OK)
        st = get_names(model, shape.words, names, err);
    if (st != SHOAL_OK)
        return st;
    struct num_lda_model m = {.topics = shape.topics,
                              .words = shape.words,
                              .start = start,
                              .topic = topic,
                              .count = count,
                              .total = total,
                              .alpha = alpha,
                              .beta = shape.beta};
    if (!makes_sense(&m, shape.entries))
        return base_err(err, SHOAL_E_FORMAT, "the model's counts make no sense");
    *out = m;
    return SHOAL_OK;
}
