/* queue.c - from an order of preference to a plan (see queue.h). */
#include "sched/queue.h"

#include "base/assert.h"
#include <string.h>

static bool before(const struct sched_rank *a, const struct sched_rank *b)
{
    return a->key < b->key || (a->key == b->key && a->job < b->job);
}

static void insertion_sort(struct sched_rank *r, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct sched_rank x = r[i];
        size_t at = i;
        for (; at > 0 && before(&x, &r[at - 1]); at--)
            r[at] = r[at - 1];
        r[at] = x;
    }
}

static void merge(const struct sched_rank *a, size_t na, const struct sched_rank *b, size_t nb,
                  struct sched_rank *out)
{
    while (na > 0 && nb > 0) {
        bool from_b = before(b, a);
        *out++ = from_b ? *b : *a;
        a += !from_b;
        na -= !from_b;
        b += from_b;
        nb -= from_b;
    }
    memcpy(out, a, na * sizeof *a);
    memcpy(out + na, b, nb * sizeof *b);
}

/* Merge sort from runs of 16; halves already in order are not merged again. */
void sched_rank_sort(struct sched_rank *ranks, struct sched_rank *scratch, size_t count)
{
    enum { RUN = 16 };

    for (size_t i = 0; i < count; i += RUN)
        insertion_sort(ranks + i, count - i < RUN ? count - i : RUN);
    for (size_t width = RUN; width < count; width *= 2) {
        for (size_t i = 0; i + width < count; i += 2 * width) {
            size_t nb = count - i - width < width ? count - i - width : width;
            struct sched_rank *a = ranks + i, *b = a + width;
            if (!before(b, b - 1))
                continue;
            memcpy(scratch, a, width * sizeof *a);
            merge(scratch, width, b, nb, a);
        }
    }
}

struct sched_rank *sched_rank_alloc(struct sched_plan *plan, const struct sched_snapshot *snap)
{
    return base_arena_alloc(sched_plan_arena(plan),
                            2 * snap->job_count * sizeof(struct sched_rank) + 1);
}

static bool leased(const struct sched_snapshot *snap, const struct sched_job *j)
{
    return j->alloc.place_count > 0 && j->lease_until_s > snap->now_s;
}

/* GPUs of each kind not yet promised; `idle` of them are held by nobody, below 0 when running jobs
 * must give way. */
struct budget {
    uint32_t kind[SCHED_KINDS_MAX];
    int64_t idle[SCHED_KINDS_MAX];
    uint32_t all;
};

static void budget_init(struct budget *left, const struct sched_plan *plan,
                        const struct sched_snapshot *snap)
{
    *left = (struct budget){.all = 0};
    for (uint32_t k = 0; k < snap->cluster->kind_count; k++) {
        left->kind[k] = sched_plan_free_gpus(plan, k);
        left->idle[k] = left->kind[k];
        left->all += left->kind[k];
    }
    for (size_t i = 0; i < snap->job_count; i++)
        if (snap->jobs[i]->alloc.place_count > 0 && !sched_plan_has(plan, i))
            left->idle[snap->jobs[i]->alloc.kind] -= snap->jobs[i]->alloc.gpus;
}

static void promise(struct budget *left, uint32_t kind, uint32_t gpus)
{
    left->kind[kind] -= gpus;
    left->all -= gpus;
}

/* The kind a job is admitted to: where it runs now, else the fastest with room; one about as fast
 * where it runs now or nobody has to give way is preferred. -1: none. */
static int admit(struct budget *left, const struct sched_job *j, bool rechoose)
{
    const float about = 1.05f;
    int best = -1, idle = -1, here = j->alloc.place_count > 0 ? j->alloc.kind : -1;

    if (here >= 0 && !rechoose && left->kind[here] >= j->gpus) {
        promise(left, (uint32_t)here, j->gpus);
        return here;
    }
    for (uint32_t i = 0; i < j->kind_count; i++) {
        uint32_t k = j->kind_rank[i];
        if (left->kind[k] < j->gpus)
            continue;
        if (best < 0)
            best = (int)i;
        if (j->kind_slower[i] > about * j->kind_slower[best])
            break;
        if ((int)k == here) { /* even before an idle one: staying costs no restart */
            idle = (int)i;
            break;
        }
        if (idle < 0 && left->idle[k] >= j->gpus)
            idle = (int)i;
    }
    if (best < 0)
        return -1;
    uint32_t k = j->kind_rank[idle >= 0 ? idle : best];
    promise(left, k, j->gpus);
    if ((int)k != here)
        left->idle[k] -= j->gpus;
    return (int)k;
}

struct admitted {
    uint32_t job;
    int32_t kind;
};

static struct sched_why turned_down(const struct sched_job *j, const struct budget *left)
{
    struct sched_why why = {
        .want = j->gpus, .kind = UINT16_MAX, .behind = UINT32_MAX, .reason = SCHED_WHY_CAPACITY};

    for (uint32_t i = 0; i < j->kind_count; i++)
        if (left->kind[j->kind_rank[i]] > why.free)
            why.free = left->kind[j->kind_rank[i]];
    if (why.free > 0)
        why.reason = SCHED_WHY_GANG;
    return why;
}

/* Pass 1. Returns how many were admitted. */
static size_t admit_in_order(struct sched_plan *plan, const struct sched_snapshot *snap,
                             const struct sched_rank *order, const struct sched_queue_opts *opts,
                             struct admitted *in)
{
    struct budget left;
    size_t count = 0;

    budget_init(&left, plan, snap);
    for (size_t r = 0; r < snap->job_count && left.all > 0; r++) {
        uint32_t i = order[r].job;
        if (sched_plan_has(plan, i))
            continue;
        int kind = admit(&left, snap->jobs[i], opts->rechoose != NULL && opts->rechoose[i]);
        if (kind >= 0) {
            in[count++] = (struct admitted){.job = i, .kind = kind};
            continue;
        }
        sched_plan_wait(plan, i, turned_down(snap->jobs[i], &left));
        if (!opts->skip) {
            sched_plan_wait_others(plan, sched_plan_turn(plan), i);
            break;
        }
    }
    return count;
}

/* Pass 2. False when somebody who was admitted found no place. */
static bool place_admitted(struct sched_plan *plan, const struct sched_snapshot *snap,
                           const struct admitted *in, size_t count,
                           const struct sched_queue_opts *opts)
{
    bool all = true;

    for (size_t a = 0; a < count; a++)
        if (snap->jobs[in[a].job]->alloc.place_count > 0 &&
            snap->jobs[in[a].job]->alloc.kind == in[a].kind)
            sched_plan_keep(plan, in[a].job);
    for (size_t a = 0; a < count && (all || opts->skip); a++)
        if (!sched_plan_has(plan, in[a].job) &&
            !sched_plan_place(plan, in[a].job, in[a].kind, opts->fit)) {
            all = false;
            if (!opts->skip)
                sched_plan_wait_others(plan, sched_plan_turn(plan), in[a].job);
        }
    return all;
}

/* Pass 3. */
static void offer_rest(struct sched_plan *plan, const struct sched_snapshot *snap,
                       const struct sched_rank *order, const struct sched_queue_opts *opts)
{
    for (size_t r = 0; r < snap->job_count; r++) {
        uint32_t i = order[r].job, free = 0;
        for (uint32_t k = 0; k < snap->cluster->kind_count; k++)
            free += sched_plan_free_gpus(plan, k);
        if (free == 0)
            return;
        if (sched_plan_has(plan, i) || sched_plan_keep(plan, i) ||
            sched_plan_place(plan, i, SCHED_KIND_BEST, opts->fit))
            continue;
        if (!opts->skip) {
            sched_plan_wait_others(plan, sched_plan_turn(plan), i);
            return;
        }
    }
}

shoal_status sched_queue_decide(struct sched_plan *plan, const struct sched_snapshot *snap,
                                const struct sched_rank *order, const struct sched_queue_opts *opts)
{
    struct base_arena *arena = sched_plan_arena(plan);
    struct admitted *in = base_arena_alloc(arena, snap->job_count * sizeof *in + 1);
    uint32_t *jobs = base_arena_alloc(arena, snap->job_count * sizeof *jobs + 1);

    if (in == NULL || jobs == NULL)
        return SHOAL_E_NOMEM;
    sched_plan_wait_others(plan, opts->waiting, SCHED_JOB_NONE);
    for (size_t i = 0; i < snap->job_count; i++)
        if ((!opts->preempt || leased(snap, snap->jobs[i])) && !sched_plan_keep(plan, i))
            sched_plan_keep_shared(plan, i);
    size_t count = admit_in_order(plan, snap, order, opts, in);
    if (!place_admitted(plan, snap, in, count, opts) && opts->skip)
        offer_rest(plan, snap, order, opts);
    bool hold = false;
    for (size_t i = 0; i < snap->job_count; i++) {
        jobs[i] = order[i].job;
        hold = hold || (opts->hold && !sched_plan_has(plan, i));
    }
    if (!hold && sched_plan_upgrade(plan, jobs, snap->job_count, opts->fit) > 0)
        offer_rest(plan, snap, order, opts);
    return sched_plan_status(plan);
}
