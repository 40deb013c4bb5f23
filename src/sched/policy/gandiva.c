/* gandiva.c - time slicing with packing: jobs take turns, and pairs that run well together share GPUs.
 *
 * Gandiva treats every job alike, suspends and resumes them in turn, packs two jobs onto the same
 * GPUs when the cluster is over-subscribed and keeps a pair only while it does more work together
 * than the two would do in turns, and migrates jobs to better places. Here:
 *
 *   - turns: the job with the least useful GPU time, relative to its weight, goes first, in slices;
 *     ties by arrival. Useful time is what its progress would have taken on its fastest kind, so a
 *     turn on a slow GPU counts for less;
 *   - at the start of a slice a job takes the fastest kind with room (introspection found it to run
 *     better there) and keeps it for the slice;
 *   - when jobs are left over, each is offered to the host of equal gang size with which its speed
 *     and the host's, each relative to running alone on that kind, add up to the most, if that is
 *     above `gain`. A pair that is above it stays together.
 *
 * The paper tries pairs at random and keeps what works; we ask the job models which pairs work,
 * which is what the trial would have found. Cost: O(n log n) for turns, hosts x guests for packing.
 *
 * Reference: Xiao et al., "Gandiva: Introspective Cluster Scheduling for Deep Learning", OSDI 2018. */
#include "base/assert.h"
#include "sched/queue.h"

#include <math.h>

struct memory {
    double slice_s;
    double gain;
    bool pack;
};

/* How much of its speed alone a job keeps next to a partner on the same places. 0: cannot share. */
static double kept_share(const struct sched_job *j, const struct sched_alloc *a,
                         const struct sched_job *with)
{
    double until;
    double alone = sched_model_rate(&j->model, a, NULL, j->progress, &until);
    double shared = sched_model_rate(&j->model, a, &with->model, j->progress, &until);

    return alone > 0 ? shared / alone : 0;
}

static double pair_gain(const struct sched_job *host, const struct sched_alloc *a,
                        const struct sched_job *guest)
{
    double x = kept_share(host, a, guest), y = kept_share(guest, a, host);

    return x > 0 && y > 0 ? x + y : 0;
}

/* Jobs that have GPUs of their own and could take a guest. */
struct hosts {
    uint32_t *jobs;
    size_t count;
};

static bool can_host(const struct sched_plan *plan, uint32_t host, const struct sched_job *guest)
{
    const struct sched_grant *g = sched_plan_grant(plan, host);

    return g->partner == SCHED_JOB_NONE && g->alloc.gpus == guest->gpus &&
           (guest->kinds >> g->alloc.kind & 1) != 0;
}

/* The best host for a guest: the one it shares with now, if that is still good enough, so that pairs
 * last. The position in `hosts`, or SIZE_MAX. */
static size_t best_host(const struct sched_snapshot *snap, const struct sched_plan *plan,
                        const struct hosts *hosts, uint32_t guest, double gain)
{
    const struct sched_job *g = snap->jobs[guest];
    size_t best = SIZE_MAX;
    double best_gain = gain;

    for (size_t h = 0; h < hosts->count; h++) {
        if (!can_host(plan, hosts->jobs[h], g))
            continue;
        const struct sched_job *host = snap->jobs[hosts->jobs[h]];
        const struct sched_grant *granted = sched_plan_grant(plan, hosts->jobs[h]);
        double together = pair_gain(host, &granted->alloc, g);
        if (together > gain && granted->kept && g->partner == host->id)
            return h;
        if (together > best_gain) {
            best = h;
            best_gain = together;
        }
    }
    return best;
}

static shoal_status pack_rest(struct sched_plan *plan, const struct sched_snapshot *snap,
                              const struct sched_rank *order, const struct memory *m)
{
    struct hosts hosts = {
        .jobs = base_arena_alloc(sched_plan_arena(plan), snap->job_count * sizeof *hosts.jobs + 1)};

    if (hosts.jobs == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t i = 0; i < snap->job_count; i++) {
        const struct sched_grant *g = sched_plan_grant(plan, i);
        if (g != NULL && g->partner == SCHED_JOB_NONE)
            hosts.jobs[hosts.count++] = i;
    }
    for (size_t r = 0; r < snap->job_count && hosts.count > 0; r++) {
        uint32_t i = order[r].job;
        if (sched_plan_has(plan, i))
            continue;
        size_t h = best_host(snap, plan, &hosts, i, m->gain);
        if (h != SIZE_MAX && sched_plan_share(plan, i, hosts.jobs[h]))
            hosts.jobs[h] = hosts.jobs[--hosts.count];
    }
    return SHOAL_OK;
}

/* Service so far: the time its progress would have taken on the fastest kind it may use. note[1]
 * keeps that kind's time for the whole job. */
static double useful_s(struct sched_job *j, const struct sched_cluster *cluster)
{
    if (j->note[1].f == 0)
        j->note[1].f = sched_model_ideal_s(&j->model, cluster, j->kind_rank[0], j->gpus, 0);
    return j->note[1].f * j->progress / j->model.work * j->gpus;
}

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    const struct memory *m = memory;
    struct sched_rank *order = sched_rank_alloc(plan, snap);
    bool *rechoose = base_arena_alloc(sched_plan_arena(plan), snap->job_count + 1);

    if (order == NULL || rechoose == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t i = 0; i < snap->job_count; i++) {
        struct sched_job *j = snap->jobs[i];
        uint64_t slice =
            1 + (uint64_t)fmin(useful_s(j, snap->cluster) / j->weight / m->slice_s, 1e15);
        rechoose[i] = slice != j->note[0].u; /* a new slice: any kind may be its next; who is on
                                                its fastest stays, whenever the slice is counted */
        j->note[0].u = slice;
        order[i] = (struct sched_rank){.key = (double)slice, .job = i};
    }
    sched_rank_sort(order, order + snap->job_count, snap->job_count);
    shoal_status st =
        sched_queue_decide(plan, snap, order,
                           &(struct sched_queue_opts){.skip = true,
                                                      .preempt = true,
                                                      .rechoose = rechoose,
                                                      .fit = SCHED_FIT_PACK,
                                                      .waiting = SCHED_WHY_FAIR_SHARE});
    return st == SHOAL_OK && m->pack ? pack_rest(plan, snap, order, m) : st;
}

#define AT(member) offsetof(struct memory, member)

static const shoal_opt opts[] = {
    {AT(slice_s), SHOAL_OPT_DURATION, "slice", 0, "TIME", "20m",
     "time a job runs before others get their turn", .min = 1, .max = 1e9},
    {AT(pack), SHOAL_OPT_FLAG, "pack", 0, NULL, "true",
     .help = "let pairs share GPUs where the job models know their speed together"},
    {AT(gain), SHOAL_OPT_F64, "gain", 0, "X", "1.3",
     "least combined speed of a pair, each job relative to running alone", .min = 1, .max = 2},
};

const struct sched_policy sched_policy_gandiva = {
    .name = "gandiva",
    .summary = "time slices for all, and pairs that run well together share GPUs",
    .optimises = "Early feedback for every job and use of the hardware: everybody gets turns, and "
                 "GPUs are shared by "
                 "two jobs where that does more work.",
    .paper = "Xiao et al., Gandiva, OSDI 2018",
    .opts = opts,
    .opt_count = BASE_COUNT(opts),
    .memory_size = sizeof(struct memory),
    .preempts = true,
    .work_conserving = true,
    .starvation_free = true,
    .decide = decide,
    .settled = sched_policy_settled,
};
