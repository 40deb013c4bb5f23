/* lda_judge.h - how good a topic model is, what its topics are about, and which priors suit it.
 *
 * A model is counts of topics by word: phi_kw = (c_wk + beta) / (c_k + words beta). All functions are
 * pure; none writes its inputs. Any thread; a num_lda_judge belongs to one at a time.
 *
 * Held-out perplexity is by document completion. Of a document that was not trained on, tokens 0, 2,
 * 4, .. in the order of its entries are *seen*, the others *scored*. With phi fixed, theta follows
 * from the seen ones in NUM_LDA_ROUNDS rounds of
 *     n_k = sum over seen tokens w of r_wk,   r_wk ~ (n_k + alpha_k) phi_kw,   n = 0 at first,
 *     theta_k = (n_k + alpha_k) / (seen + sum of alpha),
 * and a scored token brings ln sum_k theta_k phi_kw. The same rule judges any other program's phi.
 *
 * lda_reference.c is the slow, dense form. Tests: tests/unit/num/test_lda_judge.c. */
#ifndef NUM_LDA_JUDGE_H
#define NUM_LDA_JUDGE_H

#include "base/alloc.h"
#include "num/lda.h"
#include "shoal/status.h"
#include <stddef.h>
#include <stdint.h>

enum {
    NUM_LDA_ROUNDS =
        50, /* of folding in: of twice as many, perplexity differs in the fifth digit */
    NUM_LDA_TOP_MAX = 64, /* top words of a topic that coherence looks at */
    NUM_LDA_NONE = -1     /* as uint32_t: no word */
};

/* Topics of word w, in any order, each once and with a count above 0: start[w] .. start[w + 1] - 1. */
struct num_lda_model {
    uint32_t topics, words;
    const uint64_t *start; /* (words + 1) */
    const uint32_t *topic, *count;
    const int64_t *total; /* (topics): sum of a topic's counts */
    const double *alpha;  /* (topics), above 0 */
    double beta;
};

/* ---- folding in ---- */

struct num_lda_judge;

/* Borrows the model. */
SHOAL_MUST_USE shoal_status num_lda_judge_new(const struct base_alloc *alloc,
                                              const struct num_lda_model *model,
                                              struct num_lda_judge **out_judge, shoal_err *err);
void num_lda_judge_free(struct num_lda_judge *judge);

/* A document's topics: those that some word of it has, by falling share, the smaller number first
 * where equal; all others together have the rest. Valid until the judge is used again. Words beyond
 * the vocabulary are passed over. */
struct num_lda_mixture {
    uint32_t count;
    const uint32_t *topic;
    const double *share;
};
SHOAL_MUST_USE shoal_status num_lda_fold(struct num_lda_judge *judge, const uint32_t *word,
                                         const uint32_t *times, uint64_t entries,
                                         struct num_lda_mixture *out_mixture, shoal_err *err);

/* Sums over documents; those of parts of a corpus add up. */
struct num_lda_held {
    double log_sum;
    uint64_t scored;
};
/* Documents first .. last - 1 of the corpus are added to *held. */
SHOAL_MUST_USE shoal_status num_lda_complete(struct num_lda_judge *judge,
                                             const struct num_corpus *corpus, uint32_t first,
                                             uint32_t last, struct num_lda_held *held,
                                             shoal_err *err);
double num_lda_perplexity(const struct num_lda_held *held); /* of nothing: 1 */

/* ---- topics ---- */

/* out_word (topics, per_topic): by falling count, the smaller word where equal; NUM_LDA_NONE where a
 * topic has fewer. out_count (the same): their counts. */
void num_lda_top_words(const struct num_lda_model *model, uint32_t per_topic, uint32_t *out_word,
                       uint32_t *out_count);

/* Means over pairs of a topic's top words (l before m) that occur in the corpus, D documents in all,
 * D_l with word l, D_lm with both; 0 where there is no pair:
 *   UMass  ln((D_lm + 1) / D_l)
 *   NPMI   ln(D_lm D / (D_l D_m)) / ln(D / D_lm), in -1 .. 1; -1 where D_lm = 0, 1 where D_lm = D */
struct num_lda_coherence {
    double umass, npmi;
    uint32_t pairs; /* that they are means over */
};
/* word (topics, per_topic), per_topic at most NUM_LDA_TOP_MAX; out (topics). */
SHOAL_MUST_USE shoal_status num_lda_coherence(const struct base_alloc *alloc,
                                              const struct num_corpus *corpus, const uint32_t *word,
                                              uint32_t topics, uint32_t per_topic,
                                              struct num_lda_coherence *out, shoal_err *err);

/* ---- priors ---- */

/* Counts are told apart up to 15, above that by eighths of an octave: the sums below move by less than
 * a thousandth. Histograms of parts add up. */
uint32_t num_lda_bin(uint32_t count);
uint32_t num_lda_bins(uint32_t count_max); /* bins that counts up to this one need */

/* One step of Minka's fixed point towards the alpha of largest likelihood. of_topic (topics, bins):
 * documents by their tokens of that topic, bin 0 is not looked at; lengths (bins): documents by tokens.
 * A topic without tokens keeps NUM_LDA_ALPHA_MIN. Returns the largest relative change. */
#define NUM_LDA_ALPHA_MIN 1e-7
double num_lda_step_alpha(uint32_t topics, uint32_t bins, const uint64_t *of_topic,
                          const uint64_t *lengths, double *alpha);

/* The same for beta, equal for all words. pairs (bins): pairs of word and topic by tokens, bin 0 is not
 * looked at; total (topics): tokens. */
double num_lda_step_beta(uint32_t words, uint32_t bins, const uint64_t *pairs, uint32_t topics,
                         const int64_t *total, double *beta);

#endif
