/* queue.h - the part most policies share: jobs in an order of preference, admitted while they fit.
 *
 * A policy computes an order; sched_queue_decide turns it into a plan. Jobs that run and are
 * admitted stay where they are, so a change of order that changes nobody's admission restarts
 * nobody. */
#ifndef SCHED_QUEUE_H
#define SCHED_QUEUE_H

#include "sched/plan.h"

/* An entry of the order: smallest key first, ties by position. */
struct sched_rank {
    double key;
    uint32_t job; /* index into snap->jobs */
};

/* Sorts by (key, job). `scratch` has room for `count` entries. Linear on input that is already in
 * order. */
void sched_rank_sort(struct sched_rank *ranks, struct sched_rank *scratch, size_t count);

/* Memory for ranks (twice job_count entries: the second half is scratch) from the plan's arena, or
 * NULL. */
struct sched_rank *sched_rank_alloc(struct sched_plan *plan, const struct sched_snapshot *snap);

struct sched_queue_opts {
    bool skip;    /* a job that does not fit is passed over; false: nobody overtakes it */
    bool preempt; /* a running job may lose its GPUs to one that comes before it */
    bool hold; /* no running job moves to a faster kind while one waits, as it might wait for that
                  kind */
    const bool *rechoose; /* per job: do not prefer the kind it runs on; NULL: always prefer it */
    enum sched_fit fit;
    enum sched_reason waiting; /* the reason of jobs that were not reached */
};

/* Passes: (1) In order, count-wise per kind: who would fit. Jobs under a lease, and all running
 * ones when preempt is false, come first. (2) Running jobs that were admitted are kept, then the
 * others placed in order; a gang that finds enough GPUs but not close enough waits, with reason
 * locality. (3) What is left over is offered once more, in order, to those passed by, and (4) to
 * running jobs that would be faster on another kind; what they leave is offered as in (3). Two jobs
 * that share GPUs and may not be moved stay together. */
SHOAL_MUST_USE shoal_status sched_queue_decide(struct sched_plan *plan,
                                               const struct sched_snapshot *snap,
                                               const struct sched_rank *order,
                                               const struct sched_queue_opts *opts);

#endif
