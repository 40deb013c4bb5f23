/* tiresias.c - two queues by attained service (discretised two-dimensional LAS).
 *
 * A job starts in the first queue; when GPUs held x time reaches the threshold it moves to the tail
 * of the second, for good unless `promote` lets it come back after waiting that many times as long
 * as it ran. First come first served in each queue, the first queue before the second, jobs that do
 * not fit are passed over, GPUs are taken from the emptiest node. Two queues keep the number of
 * hand-overs small: order changes only when a job crosses the threshold.
 *
 * Reference: Gu et al., "Tiresias: A GPU Cluster Manager for Distributed Deep Learning", NSDI 2019;
 * threshold, admission and placement as in the simulator of Pollux (OSDI 2021), whose published
 * results this reproduces. */
#include "base/assert.h"
#include "sched/queue.h"

struct memory {
    double threshold_s;
    double promote;
    uint64_t demotions; /* so far; a demoted job's place in the second queue */
    uint64_t arrivals;  /* entries into the first queue so far */
};

/* note[0]: 0 new, else 2 x place in the queue + (1 in the second queue), + 2; note[1]: service when
 * promoted last. */
static void enter(struct memory *m, struct sched_job *j, bool second)
{
    uint64_t place = second ? m->demotions++ : m->arrivals++;

    j->note[0].u = 2 * place + second + 2;
}

static bool in_second(const struct sched_job *j)
{
    return (j->note[0].u & 1) != 0;
}

static void update_queue(struct memory *m, const struct sched_snapshot *snap, struct sched_job *j)
{
    double service = j->attained_gpu_s - j->note[1].f;

    if (j->note[0].u == 0)
        enter(m, j, false);
    if (!in_second(j) && service >= m->threshold_s) {
        enter(m, j, true);
    } else if (in_second(j) && m->promote > 0 && j->alloc.place_count == 0 &&
               snap->now_s - j->wait_since_s >= m->promote * service / j->gpus) {
        j->note[1].f = j->attained_gpu_s;
        enter(m, j, false);
    }
}

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    struct memory *m = memory;
    struct sched_rank *order = sched_rank_alloc(plan, snap);

    if (order == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t i = 0; i < snap->job_count; i++) {
        struct sched_job *j = snap->jobs[i];
        update_queue(m, snap, j);
        order[i] = (struct sched_rank){
            .key = (double)(j->note[0].u >> 1) + (in_second(j) ? 1e15 : 0), .job = i};
    }
    sched_rank_sort(order, order + snap->job_count, snap->job_count);
    return sched_queue_decide(plan, snap, order,
                              &(struct sched_queue_opts){.skip = true,
                                                         .preempt = true,
                                                         .fit = SCHED_FIT_MOST_FREE,
                                                         .waiting = SCHED_WHY_FAIR_SHARE});
}

/* Jobs are demoted in the order in which they reach the threshold: one alone can be told late. */
static bool settled(const void *memory, const struct sched_snapshot *snap)
{
    size_t first = 0;

    (void)memory;
    for (size_t i = 0; i < snap->job_count; i++)
        first += !in_second(snap->jobs[i]);
    return first <= 1;
}

#define AT(member) offsetof(struct memory, member)

static const shoal_opt opts[] = {
    {AT(threshold_s), SHOAL_OPT_DURATION, "threshold", 0, "TIME", "16h",
     "GPU time after which a job moves to the second queue", .min = 1, .max = 1e9},
    {AT(promote), SHOAL_OPT_F64, "promote", 0, "X", "0",
     "back to the first queue after waiting X times as long as it ran; 0: never", .max = 1e6},
};

const struct sched_policy sched_policy_tiresias = {
    .name = "tiresias",
    .summary = "two queues by GPU time used, first come first served in each",
    .optimises = "Average completion time without knowing durations, with few preemptions: jobs "
                 "that have used less "
                 "than the threshold go before all others.",
    .paper = "Gu et al., Tiresias, NSDI 2019",
    .opts = opts,
    .opt_count = BASE_COUNT(opts),
    .memory_size = sizeof(struct memory),
    .preempts = true,
    .work_conserving = true,
    .starvation_free = false,
    .decide = decide,
    .settled = settled,
};
