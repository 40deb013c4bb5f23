/* split.h - setting a seeded share of the data aside for testing.
 *
 * The same count, share and seed choose the same entries on every machine. Any thread. */
#ifndef DATA_SPLIT_H
#define DATA_SPLIT_H

#include "data/ratings.h"
#include "data/svm.h"

/* Chooses exactly `chosen` of `count` (chosen <= count), each set equally likely: out[i] is true
 * for them. */
void data_split_choose(uint64_t count, uint64_t chosen, uint64_t seed, bool *out);

/* How many a share in [0, 1] of `count` is, to the nearest. */
uint64_t data_split_count(uint64_t count, double share);

/* Reorders the ratings: those for training first, then those set aside, each in their old order;
 * *out_train is how many are for training. With keep_known a rating whose user or item would be
 * left without any in training stays there, so that fewer than the share may be set aside. On
 * failure nothing has changed. */
SHOAL_MUST_USE shoal_status data_split_ratings(const struct base_alloc *alloc,
                                               struct num_rating *rating, uint64_t count,
                                               uint32_t users, uint32_t items, double share,
                                               uint64_t seed, bool keep_known, uint64_t *out_train,
                                               shoal_err *err);

/* Copies of the rows, in their old order. On failure the outputs are untouched. */
SHOAL_MUST_USE shoal_status data_split_rows(const struct base_alloc *alloc,
                                            const struct data_svm *svm, double share, uint64_t seed,
                                            struct data_svm *out_train, struct data_svm *out_test,
                                            shoal_err *err);

#endif
