/* sizes.h - the sizes a job that adapts may have, and its goodput with each.
 *
 * Sizes are one kind of GPU and a number: powers of two below a node full, then whole nodes, as far
 * as the job could ever use, the kind has, and `explore` times the most that were measured reaches.
 * Such sizes nest: what fits in number nearly always fits on nodes. Goodput is that of
 * sched_adapt_choose.
 *
 * Working it out is dear (tens of batches for each of tens of sizes), so it is kept from decision to
 * decision, in two layers. Jobs with equal limits and speeds, such as those of one application, are
 * one family: for them goodput depends only on the noise of the gradient, r = v / q, and is kept on a
 * grid of ln r. Its derivative there is goodput (gain - 1) / (r + 1), as the batch is the best one;
 * between two points of the grid a cubic through both and their derivatives is off by less than 2e-3,
 * and by at most 1e-2 on one GPU, where the best batch jumps from one pass to two.
 * A job keeps its family and its place on the grid until the version of what is known of it changes.
 * So a decision works out only what nobody like it had before.
 *
 * What a decision did not use is dropped at its end. Owner thread only.
 * Tests: tests/unit/sched/test_sizes.c. */
#ifndef SCHED_SIZES_H
#define SCHED_SIZES_H

#include "sched/fair.h"

/* Sizes that nest, on nodes of so many GPUs: 1, 2, 4, ... below a node full, then whole nodes. The next
 * larger one after `gpus`, itself one; beyond `dense` nodes in steps of one part in so many. */
static inline uint32_t sched_size_next(uint32_t gpus, uint32_t node, uint32_t dense)
{
    uint32_t nodes = gpus / node;

    if (gpus < node)
        return 2 * gpus < node ? 2 * gpus : node;
    return (nodes + (nodes <= dense ? 1 : nodes / dense)) * node;
}

/* Whether it is one of them. */
static inline bool sched_size_nests(uint32_t gpus, uint32_t node)
{
    return gpus % node == 0 || (gpus < node && (gpus & (gpus - 1)) == 0);
}

struct sched_size {
    uint32_t gpus;
    uint16_t kind;
    uint16_t nodes; /* that it takes at least */
};

/* Of one job, until the end of the decision. */
struct sched_sizes_view {
    const struct sched_size *size; /* (count) by kind, then gpus */
    uint32_t count;
    uint32_t seen; /* most GPUs that were measured, 0: nothing was */
    /* (count) goodputs and their derivatives, in steps of the grid, at two points of it; how
     * much of each goodput and each derivative is in the job's */
    const float *low, *low_slope, *high, *high_slope;
    float part[4];
};

struct sched_sizes; /* the cache */

/* Borrows the cluster. */
SHOAL_MUST_USE shoal_status sched_sizes_new(const struct base_alloc *alloc,
                                            const struct sched_cluster *cluster, double explore,
                                            struct sched_sizes **out);
void sched_sizes_free(struct sched_sizes *s);

/* A decision: begin, then every job that adapts in order of increasing id, then end. Sizes with
 * goodput 0 are left out. SHOAL_E_NOMEM leaves the cache fit for the next begin. */
void sched_sizes_begin(struct sched_sizes *s);
SHOAL_MUST_USE shoal_status sched_sizes_of(struct sched_sizes *s, const struct sched_job *job,
                                           struct sched_sizes_view *out);
void sched_sizes_end(struct sched_sizes *s);
/* What fair.h says of the job asked for last, kept likewise; speed (count) is sched_fair_speed by size.
 * After sched_fair_begin; NULL: memory is short. */
struct sched_sizes_fair {
    struct sched_fair_alone alone;
    const float *speed;
};
const struct sched_sizes_fair *sched_sizes_fair(struct sched_sizes *s,
                                                const struct sched_snapshot *snap,
                                                const struct sched_job *job);
/* Sizes worked out so far, for tests and figures. */
uint64_t sched_sizes_worked(const struct sched_sizes *s);

/* With size i. */
static inline double sched_sizes_goodput(const struct sched_sizes_view *v, uint32_t i)
{
    return (double)(v->part[0] * v->low[i] + v->part[1] * v->low_slope[i] +
                    v->part[2] * v->high[i] + v->part[3] * v->high_slope[i]);
}

#endif
