/* lda_model.c - models of `lda`: what training leaves, and how it is read again.
 *
 *   shape         struct model_shape
 *   words         names, a line each; empty: words are numbers from 1
 *   word_start    uint64_t (words + 1): entries of the words before
 *   topic, count  uint32_t each: the topics that a word has, ascending, and how many of its tokens
 *   topic_count   int64_t (topics): tokens of each topic
 *   alpha         double (topics): prior of each topic in a document
 *
 * Little-endian, as it lies in memory. Everything read is checked.
 * Tests: tests/unit/app/test_lda.c, tests/cli/transcripts/lda_words.txt. */
#include "app/lda.h"

#include "app/parts.h"
#include "base/assert.h"
#include "base/err.h"
#include <math.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "models are written as they lie");

enum { VERSION = 1 };

struct model_shape {
    uint32_t version, topics, words, unused;
    uint64_t documents, tokens, entries;
    double beta;
};

/* ---- writing ---- */

static shoal_status put_counts(const struct num_lda_model *m, shoal_model *model, shoal_err *err)
{
    uint64_t entries = m->start[m->words];
    const struct app_part parts[] = {
        {"word_start", m->words + UINT64_C(1), sizeof *m->start, .data = m->start},
        {"topic", entries, sizeof *m->topic, .data = m->topic},
        {"count", entries, sizeof *m->count, .data = m->count},
        {"topic_count", m->topics, sizeof *m->total, .data = m->total},
        {"alpha", m->topics, sizeof *m->alpha, .data = m->alpha},
    };

    return app_parts_put(model, parts, BASE_COUNT(parts), err);
}

shoal_status lda_save(shoal_driver *driver, shoal_model *model, shoal_err *err)
{
    const struct lda_kept *kept = (const void *)shoal_driver_rows_read(driver, LDA_KEPT);
    struct num_lda_model m = {0};
    shoal_status st = lda_model_now(driver, &m, err);

    if (st != SHOAL_OK)
        return st;
    struct model_shape shape = {.version = VERSION,
                                .topics = m.topics,
                                .words = m.words,
                                .documents = kept->documents,
                                .tokens = kept->tokens,
                                .entries = m.start[m.words],
                                .beta = m.beta};
    st = shoal_model_put(model, "shape", &shape, sizeof shape, err);
    if (st == SHOAL_OK)
        st = put_counts(&m, model, err);
    if (st == SHOAL_OK)
        st = shoal_model_put(model, "words", lda_kept_names(kept), kept->names_size, err);
    return st;
}

/* ---- reading ---- */

static shoal_status get_shape(const shoal_model *model, struct model_shape *out, shoal_err *err)
{
    shoal_status st = app_parts_shape(model, out, sizeof *out, err);

    if (st != SHOAL_OK)
        return st;
    if (out->version != VERSION || out->topics < 2 || out->topics > NUM_LDA_TOPICS_MAX ||
        out->words == 0 || out->words > DATA_CORPUS_WORDS_MAX || !(out->beta > 0) ||
        !isfinite(out->beta))
        return base_err(err, SHOAL_E_FORMAT, "the model's shape makes no sense");
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

    if (st != SHOAL_OK)
        return st;
    const struct app_part parts[] = {
        {"word_start", shape.words + UINT64_C(1), 8, .at = &start},
        {"topic", shape.entries, 4, .at = &topic},
        {"count", shape.entries, 4, .at = &count},
        {"topic_count", shape.topics, 8, .at = &total},
        {"alpha", shape.topics, 8, .at = &alpha},
    };
    st = app_parts_get(model, parts, BASE_COUNT(parts), err);
    if (st == SHOAL_OK)
        st = app_parts_names(model, "words", shape.words, true, names, err);
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
