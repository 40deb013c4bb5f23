/* lda_tiles.h - random corpora, and whose a token in a tile is; for tests of src/num/lda*.c. */
#ifndef TESTS_LDA_TILES_H
#define TESTS_LDA_TILES_H

#include "lda_world.h"

/* Any documents, some of them empty, words by a steep law; counts of 1 to 3, or no counts. */
static inline struct lda_text any_text(uint32_t documents, uint32_t words, uint32_t longest,
                                       bool counts, uint64_t seed)
{
    struct lda_text t = {0};
    struct base_rand rand;
    size_t room = (size_t)documents * longest;

    base_rand_init(&rand, seed, "any_text");
    t.start = lda_take(documents, sizeof *t.start);
    t.word = lda_take(room, sizeof *t.word);
    t.count = lda_take(room, sizeof *t.count);
    for (uint32_t d = 0; d < documents; d++) {
        uint64_t entries = base_rand_below(&rand, 4) == 0 ? 0 : base_rand_below(&rand, longest);
        t.start[d + 1] = t.start[d];
        for (; entries > 0; entries--) {
            double u = base_rand_unit(&rand);
            t.word[t.start[d + 1]] = (uint32_t)(u * u * u * words);
            t.count[t.start[d + 1]] = counts ? 1 + (uint32_t)base_rand_below(&rand, 3) : 1;
            t.tokens += t.count[t.start[d + 1]++];
        }
    }
    t.corpus = (struct num_corpus){documents, words, t.start, t.word, counts ? t.count : NULL};
    return t;
}

/* The document or word of every token, by its place in memory. */
static inline uint32_t *owners(const struct num_lda_cut *cut, enum num_lda_side side)
{
    uint32_t *owner = lda_take(cut->tokens, sizeof *owner);
    /* 4-byte records: a tile's address tells its tokens' places */
    struct num_lda_tile *tiles = lda_take(cut->ranges[1 - side], sizeof *tiles);
    uint32_t *base = lda_take(cut->tokens, sizeof *base);

    memset(owner, 0xff, cut->tokens * sizeof *owner);
    for (uint32_t r = 0; r < cut->ranges[side]; r++) {
        struct num_lda_strip strip = num_lda_cut_strip(cut, side, r);
        uint32_t count = num_lda_cut_tiles(cut, &strip, 2, base, base, tiles);
        uint32_t *where = lda_take(strip.tokens, sizeof *where), n = 0;
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t t = 0; t < tiles[i].tokens; t++)
                where[n++] = (uint32_t)((const uint32_t *)tiles[i].before - base) + t;
        assert_int_equal(n, strip.tokens);
        assert_int_equal(strip.start[0], 0);
        assert_int_equal(strip.start[strip.segments], strip.tokens);
        for (uint32_t s = 0; s < strip.segments; s++)
            for (uint32_t at = strip.start[s]; at < strip.start[s + 1]; at++) {
                uint32_t *o = &owner[where[num_lda_place(&strip, at)]];
                assert_int_equal(*o, UINT32_MAX);
                *o = side == NUM_LDA_WORDS ? cut->slot_word[strip.first + s] : strip.first + s;
            }
        free(where);
    }
    free(tiles);
    free(base);
    return owner;
}

#endif
