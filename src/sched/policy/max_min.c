/* max_min.c - every job as fast as it can be made without slowing one that is worse off.
 *
 * A job's level is its speed relative to an equal split of time over all GPUs, by weight, times its
 * gang size; levels rise together until some kind is exhausted, then those that can still rise go
 * on. With aware=false all kinds count as equally fast and this is fair sharing of GPU time, which
 * Gavel calls least attained service. */
#include "sched/share.h"

static const struct sched_share_goal goal = {
    .objective = SCHED_OBJECTIVE_MAX_MIN,
    .waiting = SCHED_WHY_FAIR_SHARE,
};

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    return sched_share_decide(memory, &goal, snap, plan);
}

const struct sched_policy sched_policy_max_min = {
    .name = "max-min",
    .summary = "equal progress for all, each on the kinds that suit it",
    .optimises = "Fairness on mixed hardware: every job gets at least its equal share of the "
                 "cluster, and jobs trade GPU kinds so that all gain.",
    .paper = "Narayanan et al., Gavel, OSDI 2020",
    SCHED_SHARE_POLICY,
    .starvation_free = true,
    .decide = decide,
};
