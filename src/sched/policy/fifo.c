/* fifo.c - first come, first served, without preemption.
 *
 * Strict: when the oldest waiting job does not fit, nobody behind it starts (FIFO's honesty, and
 * its waste). With backfill=easy the head gets a reservation, the earliest time at which enough
 * GPUs of a kind it may use are free if running jobs end when their models say, and younger jobs
 * may start if they end before it or use GPUs it leaves over. With backfill=any younger jobs that
 * fit simply start; the head may then wait long.
 *
 * Reservation: per kind, the ends of running jobs sorted by time, O(n log n); the earliest kind
 * wins. Times are estimates (the model's ideal time at the places held), renewed every round.
 *
 * Reference for easy: Lifka, "The ANL/IBM SP scheduling system", 1995. */
#include "base/assert.h"
#include "sched/queue.h"

#include <math.h>

enum backfill { BACKFILL_NONE, BACKFILL_EASY, BACKFILL_ANY };

struct memory {
    uint32_t backfill;
};

/* What the head of the queue is promised: `spare` GPUs of the kind are free at start_s beyond what
 * it needs. */
struct reservation {
    int kind; /* -1: none possible now */
    double start_s;
    uint32_t spare;
};

static double end_s(const struct sched_snapshot *snap, const struct sched_job *j, uint32_t kind)
{
    return snap->now_s + sched_model_ideal_s(&j->model, snap->cluster, kind, j->gpus, j->progress);
}

/* Earliest time `want` GPUs of the kind are free, from the ends of jobs that hold it. `ends` is
 * scratch. */
static void reserve_on(const struct sched_snapshot *snap, const struct sched_plan *plan,
                       uint32_t kind, uint32_t want, struct sched_rank *ends,
                       struct reservation *best)
{
    uint32_t free = sched_plan_free_gpus(plan, kind);
    size_t count = 0;

    for (uint32_t i = 0; i < snap->job_count; i++) {
        const struct sched_grant *g = sched_plan_grant(plan, i);
        if (g != NULL && g->alloc.kind == kind)
            ends[count++] = (struct sched_rank){.key = end_s(snap, snap->jobs[i], kind), .job = i};
    }
    sched_rank_sort(ends, ends + snap->job_count, count);
    double start = snap->now_s;
    for (size_t i = 0; i < count && free < want; i++) {
        free += sched_plan_grant(plan, ends[i].job)->alloc.gpus;
        start = ends[i].key;
    }
    if (free >= want && (best->kind < 0 || start < best->start_s))
        *best = (struct reservation){.kind = (int)kind, .start_s = start, .spare = free - want};
}

/* May this job start on the kind now without delaying the head? */
static bool harmless(const struct sched_snapshot *snap, const struct sched_job *j, uint32_t kind,
                     const struct reservation *r)
{
    return (int)kind != r->kind || j->gpus <= r->spare ||
           end_s(snap, j, kind) + snap->restart_s <= r->start_s;
}

static bool backfill_one(struct sched_plan *plan, const struct sched_snapshot *snap, uint32_t i,
                         struct reservation *r)
{
    const struct sched_job *j = snap->jobs[i];

    for (uint32_t n = 0; n < j->kind_count; n++) {
        uint32_t kind = j->kind_rank[n];
        if (!harmless(snap, j, kind, r) || !sched_plan_place(plan, i, (int)kind, SCHED_FIT_PACK))
            continue;
        if ((int)kind == r->kind && end_s(snap, j, kind) + snap->restart_s > r->start_s)
            r->spare -= j->gpus;
        return true;
    }
    return false;
}

static void backfill_easy(struct sched_plan *plan, const struct sched_snapshot *snap, uint32_t head,
                          struct sched_rank *scratch)
{
    const struct sched_job *h = snap->jobs[head];
    struct reservation r = {.kind = -1, .start_s = INFINITY};

    for (uint32_t n = 0; n < h->kind_count; n++)
        reserve_on(snap, plan, h->kind_rank[n], h->gpus, scratch, &r);
    if (r.kind >= 0 && r.start_s <= snap->now_s)
        r.start_s =
            snap->now_s + snap->round_s; /* enough GPUs, but scattered: look again next round */
    for (uint32_t i = head + 1; i < snap->job_count; i++)
        if (!sched_plan_has(plan, i) && r.kind >= 0)
            backfill_one(plan, snap, i, &r);
}

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    const struct memory *m = memory;
    struct sched_rank *order = sched_rank_alloc(plan, snap);

    if (order == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t i = 0; i < snap->job_count; i++)
        order[i] = (struct sched_rank){.key = 0, .job = i};
    sched_plan_take_turns_by_arrival(plan);
    shoal_status st =
        sched_queue_decide(plan, snap, order,
                           &(struct sched_queue_opts){.skip = m->backfill == BACKFILL_ANY,
                                                      .hold = m->backfill == BACKFILL_EASY,
                                                      .fit = SCHED_FIT_PACK,
                                                      .waiting = SCHED_WHY_CAPACITY});
    if (st != SHOAL_OK || m->backfill != BACKFILL_EASY)
        return st;
    for (uint32_t i = 0; i < snap->job_count; i++)
        if (!sched_plan_has(plan, i)) {
            backfill_easy(plan, snap, i, order);
            break;
        }
    return sched_plan_status(plan);
}

static const char *const backfill_names[] = {"none", "easy", "any", NULL};

static const shoal_opt opts[] = {
    {offsetof(struct memory, backfill), SHOAL_OPT_CHOICE, "backfill", 0, "RULE", "none",
     "who may overtake a head that does not fit: none, easy (only if it does not delay the head), "
     "any",
     .choices = backfill_names},
};

const struct sched_policy sched_policy_fifo = {
    .name = "fifo",
    .summary = "first come first served, no preemption; backfill on request",
    .optimises = "Nothing but order: the base line. A large job at the head leaves GPUs idle "
                 "unless backfill is on.",
    .paper = "Backfill: Lifka, The ANL/IBM SP scheduling system, 1995",
    .opts = opts,
    .opt_count = BASE_COUNT(opts),
    .memory_size = sizeof(struct memory),
    .preempts = false,
    .work_conserving = false,
    .starvation_free = true,
    .decide = decide,
    .settled = sched_policy_settled,
};
