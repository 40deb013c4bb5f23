/* srtf.c - shortest remaining time first.
 *
 * Orders jobs by the time they would still need on the fastest kind they may use, from their model:
 * the best average completion time when durations are known and preemption is free. Long jobs can
 * wait for ever while shorter ones keep arriving. The estimate is kept in the job's notes and
 * renewed only when its progress changed.
 *
 * Reference: Schrage, "A proof of the optimality of the shortest remaining processing time
 * discipline", 1968. */
#include "sched/queue.h"

static double remaining_s(struct sched_job *j, const struct sched_cluster *cluster)
{
    /* note[0]: the estimate; note[1]: progress it was made at, plus 1 so that 0 means none */
    if (j->note[1].f != j->progress + 1) {
        uint32_t kind = j->kind_count > 0 ? j->kind_rank[0] : 0;
        j->note[0].f = sched_model_ideal_s(&j->model, cluster, kind, j->gpus, j->progress);
        j->note[1].f = j->progress + 1;
    }
    return j->note[0].f;
}

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    struct sched_rank *order = sched_rank_alloc(plan, snap);

    (void)memory;
    if (order == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t i = 0; i < snap->job_count; i++)
        order[i] = (struct sched_rank){.key = remaining_s(snap->jobs[i], snap->cluster), .job = i};
    sched_rank_sort(order, order + snap->job_count, snap->job_count);
    return sched_queue_decide(
        plan, snap, order,
        &(struct sched_queue_opts){
            .skip = true, .preempt = true, .fit = SCHED_FIT_PACK, .waiting = SCHED_WHY_FAIR_SHARE});
}

const struct sched_policy sched_policy_srtf = {
    .name = "srtf",
    .summary = "shortest remaining time first, preemptive, durations known",
    .optimises = "Average completion time when durations are known: a bound for what policies that "
                 "must guess can "
                 "reach. Long jobs may wait without limit.",
    .paper = "Schrage, Operations Research 16(3), 1968",
    .preempts = true,
    .work_conserving = true,
    .starvation_free = false,
    .decide = decide,
    .settled = sched_policy_settled,
};
