/* settle.h - from the sizes that were chosen for jobs to places in the cluster.
 *
 * A choice by prices fits in number, not yet on nodes: a job that fits a node should have all its
 * GPUs on one, and a job of several nodes should have them whole. Jobs that keep their size keep
 * their places. For whole nodes that others then lack, nodes are cleared: those with the fewest GPUs
 * to move, none with a lease or with part of a job that spans nodes. Then the others are placed,
 * those that span nodes first, then the largest first into the tightest node. A job for which there
 * is no node left is asked for another size, and last of all everybody who waits, as long as anything
 * is free. The cost of a move is a restart, so nothing moves but to clear a node.
 *
 * Tests: tests/unit/sched/test_policy_shoal.c. */
#ifndef SCHED_SETTLE_H
#define SCHED_SETTLE_H

#include "sched/plan.h"

struct sched_seat {
    uint32_t job; /* index */
    uint32_t gpus;
    uint16_t kind;
    bool stays; /* it has as many of that kind now, and would keep its places */
};

/* What is free: on the emptiest node of each kind, and in all. */
struct sched_room {
    uint32_t hole[SCHED_KINDS_MAX], free[SCHED_KINDS_MAX];
};

struct sched_settle {
    struct sched_plan *plan;
    const struct sched_snapshot *snap;
    /* Another size for a job that was not placed: one that fits a hole, or spans nodes and fits what
     * is free. Sets the seat's kind and gpus; false: there is none. */
    bool (*resize)(void *ctx, struct sched_seat *seat, const struct sched_room *room);
    void *ctx;
};

/* Grants in the plan, where jobs under a lease were kept already. Reorders `seats`. `waiting` are jobs
 * without a size, in the order in which they are offered what is left. */
SHOAL_MUST_USE shoal_status sched_settle(const struct sched_settle *s, struct sched_seat *seats,
                                         size_t count, const uint32_t *waiting,
                                         size_t waiting_count);

#endif
