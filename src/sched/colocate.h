/* colocate.h - how fast two jobs run on the same GPUs: from the job models, or estimated from a few
 * measured pairs by matrix completion (num/complete.h).
 *
 * Speeds together are kept relative to running alone, one matrix (classes, classes) per kind and
 * gang size. With measured = 1 every pair the models know is used as it is. With less, a seeded
 * part of the pairs counts as measured, at least three partners of every class, and the others are
 * estimated; a pair that the models say cannot share (does not fit) is found out by measuring it,
 * so the estimate may be wrong about it until then. Jobs that the snapshot shows sharing have been
 * measured by that. What was drawn or estimated is remembered for the life of the object. Owner
 * thread only. */
#ifndef SCHED_COLOCATE_H
#define SCHED_COLOCATE_H

#include "sched/policy.h"

struct sched_colocate;

/* measured: 0 .. 1, else SHOAL_E_INVAL. */
SHOAL_MUST_USE shoal_status sched_colocate_new(const struct base_alloc *alloc, double measured,
                                               uint64_t seed, struct sched_colocate **out);
void sched_colocate_free(struct sched_colocate *c);
/* jobs (class_count): index into snap->jobs of one job of each class; classes differ in model row.
 * out_pair (kinds, classes, classes): steps/s of the first while the second shares, on the fewest
 * nodes; 0: not known, or gang sizes differ. Always for the same cluster. Writes nothing when
 * memory is short; the call may then be repeated. */
SHOAL_MUST_USE shoal_status sched_colocate_rates(struct sched_colocate *c,
                                                 const struct sched_snapshot *snap,
                                                 const uint32_t *jobs, uint32_t class_count,
                                                 float *out_pair);

/* Over all kinds and gang sizes so far; a pair and a kind count once, whichever is first. */
struct sched_colocate_stats {
    uint64_t pairs, measured;
    double error; /* expected |estimated - true| relative speed of an estimated pair that fits: by
                     hiding measured ones; 0: nothing is estimated */
};
struct sched_colocate_stats sched_colocate_stats(const struct sched_colocate *c);

#endif
