/* throughput.c - the most work per second: the sum of speeds, each relative to the job's fastest
 * kind.
 *
 * Nobody is owed anything: a job that makes less of every kind than the others do may wait as long
 * as they are there. */
#include "sched/share.h"

static const struct sched_share_goal goal = {
    .objective = SCHED_OBJECTIVE_THROUGHPUT,
    .waiting = SCHED_WHY_FAIR_SHARE,
    .hold_rounds = 10,
};

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    return sched_share_decide(memory, &goal, snap, plan);
}

const struct sched_policy sched_policy_throughput = {
    .name = "throughput",
    .summary = "the largest sum of speeds, without fairness",
    .optimises = "Work done per second: GPUs go to the jobs that use them best. A job that uses "
                 "none of them well waits.",
    .paper = "Narayanan et al., Gavel, OSDI 2020",
    SCHED_SHARE_POLICY,
    .starvation_free = false,
    .decide = decide,
};
