/* las.c - least attained service first.
 *
 * The job that has held the fewest GPU-seconds goes first, so short jobs finish early without
 * anyone knowing how long they are. Plain LAS hands GPUs around every round once two jobs are
 * level, and each hand-over costs a restart; we compare levels instead, which end at 1, 3, 7, ...
 * quanta of service (quantum=0 gives the plain rule), first come first served inside one. Jobs of
 * one level differ by at most a factor of two or so, and a long job yields only a logarithmic number
 * of times. A weight divides the service a job is charged for. Cost: O(n log n) a round, O(n) when
 * the order did not change.
 *
 * Reference: Nuyens and Wierman, "The foreground-background queue: a survey", 2008; used for GPU
 * clusters by Tiresias (NSDI 2019) and, as max-min fairness, by Gavel (OSDI 2020). */
#include "base/assert.h"
#include "sched/queue.h"

#include <math.h>

struct memory {
    double quantum_s;
};

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    const struct memory *m = memory;
    struct sched_rank *order = sched_rank_alloc(plan, snap);

    if (order == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t i = 0; i < snap->job_count; i++) {
        const struct sched_job *j = snap->jobs[i];
        double service = j->attained_gpu_s / j->weight;
        order[i] = (struct sched_rank){
            .key = m->quantum_s > 0 ? floor(log2(1 + service / m->quantum_s)) : service, .job = i};
    }
    sched_rank_sort(order, order + snap->job_count, snap->job_count);
    return sched_queue_decide(
        plan, snap, order,
        &(struct sched_queue_opts){
            .skip = true, .preempt = true, .fit = SCHED_FIT_PACK, .waiting = SCHED_WHY_FAIR_SHARE});
}

static const shoal_opt opts[] = {
    {offsetof(struct memory, quantum_s), SHOAL_OPT_DURATION, "quantum", 0, "TIME", "1h",
     "GPU time in the first level, each next one takes twice that; 0: compare exactly", .max = 1e9},
};

const struct sched_policy sched_policy_las = {
    .name = "las",
    .summary = "least attained service first, preemptive",
    .optimises = "Average completion time without knowing how long jobs are: a job that has used "
                 "little goes "
                 "first. Long jobs yield to newcomers and catch up later.",
    .paper = "Nuyens and Wierman, The foreground-background queue, 2008; Tiresias, NSDI 2019",
    .opts = opts,
    .opt_count = BASE_COUNT(opts),
    .memory_size = sizeof(struct memory),
    .preempts = true,
    .work_conserving = true,
    .starvation_free = true,
    .decide = decide,
    .settled = sched_policy_settled,
};
