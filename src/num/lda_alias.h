/* lda_alias.h - topic models with counts that change at once: the sampler that is exact.
 *
 * lda.h freezes counts for a pass; what it ends at is close to the posterior (test_lda_exact.c says how
 * close), not the posterior. This sampler sees every change at once, and its chain stays exactly there.
 *
 * When to take it: when draws from the posterior are wanted. It is not the faster one: 13 M tokens a
 * CPU-second against 19 at 4,400 tokens and 5 topics, 5.5 against 68 at 2 M tokens and 20 topics, 3.1
 * against 66 at 1,000 topics; and lda.h, with two proposals of each kind to one here, needs no more
 * sweeps to the same likelihood (20 Newsgroups and its first 10, 100 and 1,000 documents).
 *
 * One thread; the whole corpus in memory, 12 bytes a token, 72 a topic, and 4 bytes for each pair of
 * document and topic where those are few (see lda_alias.c).
 * Tests: tests/unit/num/test_lda_alias.c. */
#ifndef NUM_LDA_ALIAS_H
#define NUM_LDA_ALIAS_H

#include "base/alloc.h"
#include "num/lda.h"
#include "shoal/status.h"
#include <stdint.h>

/* Walker's alias table over `count` weights, not negative and not all 0: draw i evenly, keep it with
 * probability keep[i], else take other[i]. work (2, count). */
void num_alias_build(uint32_t count, const double *weight, float *keep, uint32_t *other,
                     double *work);

struct num_lda_alias_opts {
    uint32_t topics;
    const double *alpha; /* (topics), above 0 */
    double beta;
    uint32_t steps; /* of each kind of proposal a token and sweep, 1 and more */
    uint64_t seed;
};

struct num_lda_alias;

/* Topics are drawn evenly at first. SHOAL_E_INVAL: a word out of range; SHOAL_E_LIMIT: 2^32 tokens or
 * more. */
SHOAL_MUST_USE shoal_status num_lda_alias_new(const struct base_alloc *alloc,
                                              const struct num_corpus *corpus,
                                              const struct num_lda_alias_opts *opts,
                                              struct num_lda_alias **out_alias, shoal_err *err);
void num_lda_alias_free(struct num_lda_alias *alias);

void num_lda_alias_sweep(struct num_lda_alias *alias); /* every token once */

/* Topics of tokens in the order of the corpus: documents, their entries, an entry's count. */
const uint32_t *num_lda_alias_topics(const struct num_lda_alias *alias);
void num_lda_alias_set(struct num_lda_alias *alias, const uint32_t *z);
const int64_t *num_lda_alias_totals(const struct num_lda_alias *alias); /* (topics) */

#endif
