/* lda_reference.h - topic models sampled and judged slowly and plainly, for tests of the fast ways.
 *
 * Everything is dense and in doubles: fit for corpora of some thousand tokens. Owner thread only. */
#ifndef NUM_LDA_REFERENCE_H
#define NUM_LDA_REFERENCE_H

#include "base/rand.h"
#include "base/room.h"
#include "num/lda.h"
#include "num/lda_judge.h"

/* A state of collapsed Gibbs sampling. Tokens are in the order of the corpus: documents, their entries,
 * an entry's count. */
struct num_lda_exact {
    struct base_alloc alloc;
    struct base_room room; /* of the arrays */
    uint32_t topics, documents, words;
    uint64_t tokens;
    double *alpha, alpha_sum, beta;
    uint64_t *start;       /* (documents + 1) tokens of the documents before */
    uint32_t *word, *z;    /* (tokens) */
    uint32_t *of_document; /* (documents, topics) */
    uint32_t *of_word;     /* (words, topics) */
    int64_t *of_topic;     /* (topics) */
    double *weight;        /* (topics), for work */
};

/* All tokens start in topic 0. */
SHOAL_MUST_USE shoal_status num_lda_exact_new(const struct base_alloc *alloc,
                                              const struct num_corpus *corpus, uint32_t topics,
                                              const double *alpha, double beta,
                                              struct num_lda_exact **out_exact, shoal_err *err);
void num_lda_exact_free(struct num_lda_exact *exact);
void num_lda_exact_set(struct num_lda_exact *exact, const uint32_t *z); /* (tokens) */

/* Draws every token once from its distribution given all others. */
void num_lda_exact_sweep(struct num_lda_exact *exact, struct base_rand *rand);
/* ln p(words, topics), parameters summed out. */
double num_lda_exact_joint(const struct num_lda_exact *exact);

/* lda_judge.h's document completion, from phi (topics, words). work (2, topics). */
void num_lda_exact_complete(const double *phi, const double *alpha, uint32_t topics,
                            const struct num_corpus *held, double *work,
                            struct num_lda_held *out_held);

/* lda_judge.h's coherence of one topic's top words; NUM_LDA_NONE: no word. */
struct num_lda_coherence num_lda_exact_coherence(const struct num_corpus *corpus,
                                                 const uint32_t *word, uint32_t count);

#endif
