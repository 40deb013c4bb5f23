/* lda.h - topic models: a corpus cut into tiles of tokens, and the sampler that runs on strips of them.
 *
 * Every token holds a record: its topic z and proposals for it. A *word task* takes all tokens of a
 * range of words, a *document task* those of a range of documents; tile (i, j) holds the tokens
 * that document range i and word range j have in common, so a task is a row or a column of tiles.
 * Nothing else is shared but c_k, the tokens of each topic, which stand still while a clock's tasks
 * run: counts of a word or document are made from its tokens whenever they are needed.
 *
 * What a task does with each segment (a word or a document) of n tokens, where c is its topics'
 * counts, p_k the prior (beta for words, alpha_k for documents) and g_k = num_lda_inverse:
 *   1. a token goes from its topic s to a proposed topic t with probability min(1, f(t) / f(s)),
 *      f(k) = (c_k + p_k) g_k, the token itself not counted in c, one proposal after the other;
 *   2. proposals are drawn anew: with probability n / (n + sum of p) the topic, after 1, of a random
 *      token of the segment; else k with probability p_k / sum of p.
 * Proposals of a document task are judged by the next word task, and the other way round: what a
 * proposal was drawn from cancels in the ratio, so neither needs the other's counts.
 *
 *   num_lda_cut_new(alloc, &corpus, NUM_LDA_RANGE, &cut, err);
 *   num_lda_start(...) for every document range                first topics
 *   each clock, words and documents in turn:
 *     num_lda_inverse(...)                                     from c_k
 *     num_lda_sample(ops, &pass, &strip, tiles, work, change)  for each strip, in any order
 *     c_k += change
 *
 * Equal (seed, clock, side, strip) and records give equal records, whatever the processor, the
 * thread and the order of tasks. A task reads `before` and writes `after` of its tiles; they may be
 * the same memory. Any thread; work memory belongs to one at a time.
 * Tests: tests/unit/num/test_lda.c, test_lda_cut.c. */
#ifndef NUM_LDA_H
#define NUM_LDA_H

#include "base/room.h"
#include "num/corpus.h"
#include "shoal/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NUM_LDA_TOPICS_MAX = 1 << 20,
    NUM_LDA_STEPS_MAX = 2,  /* proposals a record holds */
    NUM_LDA_RANGE = 1 << 16 /* tokens of a range: what a second-level cache holds */
};

/* Numbers of an array of one per topic, of those that say so: rounded up to 16. */
static inline uint32_t num_lda_stride(uint32_t topics)
{
    return (topics + 15) / 16 * 16;
}

/* ---- records ---- */

/* How a record of `size` bytes (4 or 8) is made: `bits` for each topic, z lowest, then proposals. */
struct num_lda_format {
    uint32_t size, bits, steps;
};

struct num_lda_format num_lda_format(uint32_t topics);
/* part 0: the topic; part m, 1 to steps: proposal m. Below `topics` whatever bits the record has. */
uint32_t num_lda_part(uint32_t topics, const void *records, uint64_t at, uint32_t part);
void num_lda_put(uint32_t topics, void *records, uint64_t at, const uint32_t *parts);

/* ---- cut ---- */

enum num_lda_side { NUM_LDA_WORDS, NUM_LDA_DOCUMENTS };

/* The tokens of one task: tile after tile, `tokens` in all. The tokens of segment s are at
 * order[start[s]] .. order[start[s + 1] - 1]; without an order at start[s] .. themselves. */
struct num_lda_strip {
    enum num_lda_side side;
    uint32_t index; /* which range */
    uint32_t tokens, tiles;
    uint32_t first, segments; /* its first document, or word by new number, and how many */
    const uint32_t *start;    /* (segments + 1) */
    const uint16_t *order16;  /* one of them, or none; readable 16 places past the end */
    const uint32_t *order32;
};

/* Where the i-th token of a strip, segment by segment, lies in its tiles. */
static inline uint32_t num_lda_place(const struct num_lda_strip *strip, uint32_t i)
{
    return strip->order16 != NULL   ? strip->order16[i]
           : strip->order32 != NULL ? strip->order32[i]
                                    : i;
}

/* Words get new numbers, `slots`, by falling frequency. A range has at most the limit of tokens, or is
 * one segment that has more. */
struct num_lda_cut {
    struct base_alloc alloc;
    struct base_room room; /* of the arrays */
    uint64_t tokens;
    uint32_t documents, words;
    uint32_t ranges[2]; /* by side */
    uint32_t *first[2]; /* (ranges + 1): first document or slot */
    uint32_t *word_slot, *slot_word;
    uint64_t *tile;     /* (document ranges * word ranges + 1): where a tile begins, in tokens */
    uint64_t *at[2];    /* (ranges + 1): tokens of the ranges before */
    uint32_t *start[2]; /* (documents or words, + ranges): starts of segments, range by range */
    void *order[2];     /* (tokens + 16) */
    bool wide;          /* order of 32 bits */
    uint32_t strip_max, segment_max; /* tokens of the largest, for num_lda_work_size */
};

/* range: tokens of a range, at most; 0: NUM_LDA_RANGE, or more where that made very many tiles. SHOAL_E_INVAL: a word out of range, starts that
 * fall; SHOAL_E_LIMIT: a strip of 2^31 tokens or more. An empty corpus is fine. */
SHOAL_MUST_USE shoal_status num_lda_cut_new(const struct base_alloc *alloc,
                                            const struct num_corpus *corpus, uint32_t range,
                                            struct num_lda_cut **out_cut, shoal_err *err);
void num_lda_cut_free(struct num_lda_cut *cut);
struct num_lda_strip num_lda_cut_strip(const struct num_lda_cut *cut, enum num_lda_side side,
                                       uint32_t index);

/* ---- sampling ---- */

struct num_lda_tile {
    const void *before;
    void *after;
    uint32_t tokens;
};

/* Tiles of a strip in records of all tokens, tiles in the cut's order. A document strip is one tile. */
uint32_t num_lda_cut_tiles(const struct num_lda_cut *cut, const struct num_lda_strip *strip,
                           uint32_t topics, const void *before, void *after,
                           struct num_lda_tile *out_tiles);

/* A prior that differs by topic, and how to draw from it (Walker's alias method). */
struct num_lda_prior {
    const float *value;    /* (stride) */
    const float *keep;     /* (topics): draw k evenly; keep it with this probability, else .. */
    const uint32_t *other; /* (topics): .. take this */
    double sum;
};

/* The same for all tasks of a clock and side. */
struct num_lda_pass {
    uint32_t topics;
    float prior; /* of each topic, where `priors` is NULL */
    const struct num_lda_prior *priors;
    const float *inverse; /* (stride): num_lda_inverse */
    uint64_t seed, clock;
};

/* First topics, even and random, of a document strip (`before` is not read), whose numbers are added
 * to change (topics). To begin with whole documents in one topic gets to most of the likelihood in two
 * thirds of the iterations, but ends lower: 20 Newsgroups, 1000 topics, one seed, after 300 iterations
 * -9.566 a token against -9.549. */
void num_lda_start(const struct num_lda_pass *pass, const struct num_lda_strip *strip,
                   const struct num_lda_tile *tiles, uint32_t tile_count, int32_t *change);

/* c (topics), out_inverse (stride): 1 / (c_k + beta_sum), rounded to twelve bits, as the rest of its
 * bits is where counts are kept. */
void num_lda_inverse(uint32_t topics, const int64_t *c, double beta_sum, float *out_inverse);

/* Bytes of work memory, aligned to 64. Prepared by num_lda_work_init, once; or at each use by
 * num_lda_work_again, which finds what an earlier use left, in memory that was all 0 at first and that
 * nothing else writes to. */
size_t num_lda_work_size(uint32_t topics, uint32_t strip_max, uint32_t segment_max);
struct num_lda_work;
struct num_lda_work *num_lda_work_init(void *memory, uint32_t topics, uint32_t strip_max,
                                       uint32_t segment_max);
struct num_lda_work *num_lda_work_again(void *memory, uint32_t topics, uint32_t strip_max,
                                        uint32_t segment_max);
/* Call after pass->inverse has changed and before the first task that sees it. */
void num_lda_work_pass(struct num_lda_work *work, const struct num_lda_pass *pass);

/* ---- likelihood ---- */

/* ln p(words, topics) of a state is the sum of the first over all strips of both sides (work is used,
 * `before` is read) and of the second; WarpLDA prints it divided by tokens. */
double num_lda_likelihood(const struct num_lda_pass *pass, const struct num_lda_strip *strip,
                          const struct num_lda_tile *tiles, uint32_t tile_count,
                          struct num_lda_work *work);
double num_lda_likelihood_topics(uint32_t topics, const int64_t *c, double beta_sum);

/* ---- the sampler of a processor ---- */

struct num_lda_ops {
    const char *name;
    uint32_t lanes;
    /* tiles (strip->tiles, or 1 of all): `after` is written whole. change (topics): tokens that
     * came minus tokens that went is added. */
    void (*sample)(const struct num_lda_pass *pass, const struct num_lda_strip *strip,
                   const struct num_lda_tile *tiles, uint32_t tile_count, struct num_lda_work *work,
                   int32_t *change);
};

/* The fastest of at most `lanes_max` lanes this processor has; 1: plain C, the specification. All
 * give equal records. */
const struct num_lda_ops *num_lda_ops_find(uint32_t lanes_max);

#endif
