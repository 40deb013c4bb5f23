/* cost_slo.c - deadlines first, then as cost.
 *
 * Every job with a deadline gets the speed that keeps it; what is left over goes where the sum of
 * each kind's work per dollar is largest, as in cost.c. When not all deadlines can be kept, as few as possible are given
 * up. A deadline that has passed asks for nothing any more. Shares depend on progress, so they are
 * solved for every few rounds even when nothing happens (share.c). */
#include "sched/share.h"

static const struct sched_share_goal goal = {
    .objective = SCHED_OBJECTIVE_COST_SLO,
    .waiting = SCHED_WHY_PRICE,
    .due_waiting = SCHED_WHY_DEADLINE_SLACK,
};

static shoal_status check(const void *memory, const struct sched_setting *setting, shoal_err *err)
{
    (void)memory;
    return sched_share_check_prices("cost-slo", setting, err);
}

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    return sched_share_decide(memory, &goal, snap, plan);
}

const struct sched_policy sched_policy_cost_slo = {
    .name = "cost-slo",
    .summary = "deadlines kept first, then as cost",
    .optimises = "Deadlines at the least cost: a job runs on cheap GPUs while there is time, and "
                 "on faster ones when there is not.",
    .paper = "Narayanan et al., Gavel, OSDI 2020",
    SCHED_SHARE_POLICY,
    .starvation_free = false,
    .check = check,
    .decide = decide,
};
