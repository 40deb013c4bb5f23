/* makespan.c - all jobs end together, as early as possible.
 *
 * The smallest time by which every job that is here can end, each with the share of time it needs
 * for that; what is left over goes to speed. Long jobs get more. Shares depend on progress, so they
 * are solved for every few rounds even when nothing happens (share.c). */
#include "sched/share.h"

static const struct sched_share_goal goal = {
    .objective = SCHED_OBJECTIVE_MAKESPAN,
    .waiting = SCHED_WHY_FAIR_SHARE,
    .hold_rounds = 3,
};

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    return sched_share_decide(memory, &goal, snap, plan);
}

const struct sched_policy sched_policy_makespan = {
    .name = "makespan",
    .summary = "the last job ends as early as possible",
    .optimises = "The end of a batch of jobs: those with the most left get the most, each on the "
                 "kinds that suit it.",
    .paper = "Narayanan et al., Gavel, OSDI 2020",
    SCHED_SHARE_POLICY,
    .starvation_free = false,
    .decide = decide,
};
