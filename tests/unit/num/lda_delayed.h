/* lda_delayed.h - a small trainer over src/num/lda.h, for tests: all tasks of a clock, one after another. */
#ifndef TESTS_LDA_DELAYED_H
#define TESTS_LDA_DELAYED_H

#include "lda_world.h"

struct delayed {
    struct num_lda_cut *cut;
    const struct num_lda_ops *ops;
    struct num_lda_work *work;
    void *records;
    int64_t *c;
    int32_t *change;
    float *inverse;
    struct num_lda_tile *tiles;
    uint32_t topics, words;
    float alpha, beta;
    uint64_t clock, seed;
};

static inline void delayed_count(struct delayed *x)
{
    memset(x->c, 0, x->topics * sizeof *x->c);
    for (uint64_t i = 0; i < x->cut->tokens; i++)
        x->c[num_lda_part(x->topics, x->records, i, 0)]++;
}

static inline struct delayed delayed_new(const struct num_corpus *corpus, uint32_t topics,
                                         float alpha, float beta, uint32_t range, uint32_t lanes,
                                         uint64_t seed)
{
    struct delayed x = {
        .topics = topics, .words = corpus->words, .alpha = alpha, .beta = beta, .seed = seed};
    struct base_rand rand;

    assert_int_equal(num_lda_cut_new(&base_alloc_libc, corpus, range, &x.cut, NULL), SHOAL_OK);
    x.ops = num_lda_ops_find(lanes);
    size_t size = num_lda_work_size(topics, x.cut->strip_max, x.cut->segment_max);
    void *memory = aligned_alloc(64, (size + 63) / 64 * 64);
    assert_non_null(memory);
    x.work = num_lda_work_init(memory, topics, x.cut->strip_max, x.cut->segment_max);
    x.records = lda_take(x.cut->tokens + 16, 8);
    x.c = lda_take(topics, sizeof *x.c);
    x.change = lda_take(topics, sizeof *x.change);
    x.inverse = aligned_alloc(64, num_lda_stride(topics) * sizeof *x.inverse);
    x.tiles = lda_take((size_t)x.cut->ranges[0] + x.cut->ranges[1], sizeof *x.tiles);
    base_rand_init(&rand, seed, "start");
    for (uint64_t i = 0; i < x.cut->tokens; i++) {
        uint32_t k = (uint32_t)base_rand_below(&rand, topics), parts[] = {k, k, k};
        num_lda_put(topics, x.records, i, parts);
    }
    delayed_count(&x);
    return x;
}

static inline void delayed_free(struct delayed *x)
{
    num_lda_cut_free(x->cut);
    free(x->work);
    free(x->records);
    free(x->c);
    free(x->change);
    free(x->inverse);
    free(x->tiles);
}

static inline struct num_lda_pass delayed_pass(struct delayed *x, enum num_lda_side side)
{
    struct num_lda_pass pass = {.topics = x->topics,
                                .prior = side == NUM_LDA_WORDS ? x->beta : x->alpha,
                                .inverse = x->inverse,
                                .seed = x->seed,
                                .clock = x->clock};

    return pass;
}

/* All tasks of a clock. */
static inline void delayed_clock(struct delayed *x, enum num_lda_side side)
{
    struct num_lda_pass pass = delayed_pass(x, side);

    memset(x->change, 0, x->topics * sizeof *x->change);
    num_lda_inverse(x->topics, x->c, (double)x->beta * x->words, x->inverse);
    num_lda_work_pass(x->work, &pass);
    for (uint32_t i = 0; i < x->cut->ranges[side]; i++) {
        struct num_lda_strip strip = num_lda_cut_strip(x->cut, side, i);
        uint32_t tiles =
            num_lda_cut_tiles(x->cut, &strip, x->topics, x->records, x->records, x->tiles);
        x->ops->sample(&pass, &strip, x->tiles, tiles, x->work, x->change);
    }
    for (uint32_t k = 0; k < x->topics; k++)
        x->c[k] += x->change[k];
    x->clock++;
}

static inline double delayed_joint(struct delayed *x)
{
    double sum = num_lda_likelihood_topics(x->topics, x->c, (double)x->beta * x->words);

    for (int side = 0; side < 2; side++) {
        struct num_lda_pass pass = delayed_pass(x, (enum num_lda_side)side);
        for (uint32_t i = 0; i < x->cut->ranges[side]; i++) {
            struct num_lda_strip strip = num_lda_cut_strip(x->cut, (enum num_lda_side)side, i);
            uint32_t tiles =
                num_lda_cut_tiles(x->cut, &strip, x->topics, x->records, x->records, x->tiles);
            sum += num_lda_likelihood(&pass, &strip, x->tiles, tiles, x->work);
        }
    }
    return sum;
}

/* Where a task's tokens lie among all: (tokens of the strip), in the order of its segments. */
static inline void delayed_places(struct delayed *x, const struct num_lda_strip *strip,
                                  uint64_t *out)
{
    size_t size = num_lda_format(x->topics).size;
    uint32_t count = num_lda_cut_tiles(x->cut, strip, x->topics, x->records, x->records, x->tiles);
    uint64_t *flat = lda_take(strip->tokens, sizeof *flat), at = 0;

    for (uint32_t t = 0; t < count; t++)
        for (uint32_t i = 0; i < x->tiles[t].tokens; i++)
            flat[at++] =
                (uint64_t)((const uint8_t *)x->tiles[t].before - (const uint8_t *)x->records) /
                    size +
                i;
    for (uint32_t i = 0; i < strip->tokens; i++)
        out[i] = flat[strip->order16 != NULL   ? strip->order16[i]
                      : strip->order32 != NULL ? strip->order32[i]
                                               : i];
    free(flat);
}

/* Counts by word as it is numbered in the corpus: (words, topics). */
static inline uint32_t *delayed_words(struct delayed *x)
{
    uint32_t *of_word = lda_take((size_t)x->words * x->topics, sizeof *of_word);

    for (uint32_t r = 0; r < x->cut->ranges[NUM_LDA_WORDS]; r++) {
        struct num_lda_strip strip = num_lda_cut_strip(x->cut, NUM_LDA_WORDS, r);
        uint64_t *place = lda_take(strip.tokens, sizeof *place);
        delayed_places(x, &strip, place);
        for (uint32_t s = 0; s < strip.segments; s++)
            for (uint32_t i = strip.start[s]; i < strip.start[s + 1]; i++)
                of_word[(size_t)x->cut->slot_word[strip.first + s] * x->topics +
                        num_lda_part(x->topics, x->records, place[i], 0)]++;
        free(place);
    }
    return of_word;
}

#endif
