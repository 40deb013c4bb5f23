/* ftf.c - finish-time fairness: the worst ratio of time shared to time alone is as small as it can
 * be.
 *
 * rho = (time since arrival + time left at its share) / (time its progress would have taken on a
 * 1/n share of the cluster + time left on one). A job that waited long falls behind and gets more.
 * Shares depend on progress, so they are solved for every few rounds even when nothing happens
 * (share.c). */
#include "sched/share.h"

static const struct sched_share_goal goal = {
    .objective = SCHED_OBJECTIVE_FTF,
    .waiting = SCHED_WHY_FAIR_SHARE,
};

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    return sched_share_decide(memory, &goal, snap, plan);
}

const struct sched_policy sched_policy_ftf = {
    .name = "ftf",
    .summary = "the worst slowdown against having a 1/n cluster alone is least",
    .optimises = "Fairness in finish times: whoever is furthest behind what a 1/n cluster of its "
                 "own would have given it goes first.",
    .paper = "Mahajan et al., Themis, NSDI 2020; Narayanan et al., Gavel, OSDI 2020",
    SCHED_SHARE_POLICY,
    .starvation_free = true,
    .decide = decide,
};
