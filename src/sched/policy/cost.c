/* cost.c - the largest sum of each GPU kind's work per dollar: speeds relative to the job's fastest
 * kind, divided by the kind's price, added up.
 *
 * Prices are those of the cluster (usd= or the list), and every kind needs one. */
#include "sched/share.h"

static const struct sched_share_goal goal = {
    .objective = SCHED_OBJECTIVE_COST,
    .waiting = SCHED_WHY_PRICE,
    .hold_rounds = 10,
};

static shoal_status check(const void *memory, const struct sched_setting *setting, shoal_err *err)
{
    (void)memory;
    return sched_share_check_prices("cost", setting, err);
}

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    return sched_share_decide(memory, &goal, snap, plan);
}

const struct sched_policy sched_policy_cost = {
    .name = "cost",
    .summary = "the largest sum of each GPU kind's work per dollar",
    .optimises = "Money: each GPU kind goes to the jobs that do the most on it for its price.",
    .paper = "Narayanan et al., Gavel, OSDI 2020",
    SCHED_SHARE_POLICY,
    .starvation_free = false,
    .check = check,
    .decide = decide,
};
