/* fold_parts.h - what the fold files share. Private to them. */
#ifndef TRAIN_FOLD_PARTS_H
#define TRAIN_FOLD_PARTS_H

#include "train/box_parts.h"

/* Of loops that write rows which others may read meanwhile; see fold.c. */
#define UNSEEN __attribute__((no_sanitize("thread")))
#define INLINE static inline __attribute__((always_inline))

/* ---- fold.c: under the shard's lock; false: killed ---- */
bool fold_outbox(struct train_box *box, const struct shard_view *v, uint32_t executor,
                 uint64_t number, struct box_list *lists);
/* Goes on with the fold that is written down, from where it is. */
bool fold_rest(struct train_box *box, const struct shard_view *v, struct box_list *lists);
void fold_stamp_rows(const struct rows_job *job, uint64_t first, uint64_t end);

/* ---- fold_factor.c ---- */
/* As many floats one after the other take about as long as all factors in a shard of so many rows. */
uint64_t fold_factors_work(const struct fold_parts *p, uint64_t rows);
/* From step `from` of all factors. False: killed; or with `restore`, which takes that one step back
 * instead, that there was such a step. */
bool fold_factors(const struct train_box *box, const struct shard_view *v,
                  const struct fold_parts *p, uint64_t from, bool restore);

#endif
