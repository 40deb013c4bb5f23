/* model_spread.h - how much slower a job runs when its GPUs lie on more nodes than they need, or
 * beside other jobs of several GPUs.
 *
 * A small stated table for models that know nothing of it, such as plain durations. The figures are
 * those of the Philly study (Jeon et al., USENIX ATC 2019), about: ResNet-50 on 2 GPUs made 114.8
 * images/s on one node, 98.0 on two, 75.6 on one node and 74.1 on two with other jobs beside it;
 * GPUs of 16-GPU jobs were 34 % used on 2 nodes and 29 % on 8. The last pair, 0.85, is what the
 * first, 98.0 of 114.8, says too: being spread costs about a seventh, however far. They are for one
 * model on one kind of hardware and stand for all here, as there are no others. Pure; any thread.
 * Tests: tests/unit/sched/test_model_spread.c. */
#ifndef SCHED_MODEL_SPREAD_H
#define SCHED_MODEL_SPREAD_H

#include "sched/cluster.h"

/* images/s */
#define SCHED_SPREAD_ONE_NODE     114.8 /* both GPUs on one node */
#define SCHED_SPREAD_TWO_NODES    98.0  /* on two */
#define SCHED_SPREAD_BESIDE_ONE   75.6  /* on one node, beside others */
#define SCHED_SPREAD_BESIDE_NODES 74.1  /* on two, beside others */

/* Live or not, nodes of each kind by size. */
struct sched_spread {
    uint32_t nodes[SCHED_KINDS_MAX][SCHED_NODE_GPUS_MAX + 1];
};
void sched_spread_init(struct sched_spread *spread, const struct sched_cluster *cluster);
/* Fewest nodes of the kind that hold so many GPUs, were they empty; 0: all together do not. */
uint32_t sched_spread_fewest(const struct sched_spread *spread, uint32_t kind, uint32_t gpus);

/* Share of its speed that a job keeps on so many nodes where `fewest` would do. */
double sched_spread_factor(uint32_t nodes, uint32_t fewest);
/* Share of that which a job of several GPUs keeps beside another such job. */
double sched_neighbour_factor(uint32_t nodes);

#endif
