/* share_round.c - one round of a sharing policy: GPUs go to the turns that are due.
 *
 * Candidates are a job alone on a kind, or a pair on a kind, for which the solver wants a share. The
 * turn that is due first goes first, if it fits by count; a job is chosen once. A job that runs has a
 * head start on its kind, so that turns are long against what a change costs. GPUs left over are
 * offered to the other jobs in the same order, where they run now or else on the fastest kind with
 * room, and to chosen jobs that must start anew anyway and would be faster there. Then the chosen are
 * placed: those that stay keep their places (lease extension), the others follow by falling gang
 * size. Jobs under a lease are not asked.
 *
 * Cost: O(c log c) for c candidates, about as many as jobs; near O(c) when the order changed little. */
#include "sched/share_parts.h"

#include "base/assert.h"
#include "sched/queue.h"
#include <math.h>

struct candidate {
    uint32_t job, with; /* with: SCHED_JOB_NONE, or the other of the pair */
    uint32_t kind;
};

struct round {
    const struct sched_share *s;
    const struct sched_snapshot *snap;
    struct sched_plan *plan;
    double hold_s; /* head start of those that run */
    struct candidate *candidates;
    size_t candidate_count;
    struct sched_rank *ranks; /* of candidates, twice: the second half is scratch */
    uint32_t *order;          /* jobs, the first due first; those without a share last */
    int32_t *kind;            /* chosen, -1: none */
    uint32_t *with;           /* chosen, or SCHED_JOB_NONE */
    double left[SCHED_KINDS_MAX];
};

static bool round_init(struct round *r)
{
    struct base_arena *arena = sched_plan_arena(r->plan);
    size_t n = r->s->count, most = n * r->s->kind_count + r->s->pair_count;

    r->candidates = base_arena_alloc(arena, most * sizeof *r->candidates + 1);
    r->ranks = base_arena_alloc(arena, 2 * (most > n ? most : n) * sizeof *r->ranks + 1);
    r->order = base_arena_alloc(arena, n * sizeof *r->order + 1);
    r->kind = base_arena_alloc(arena, n * sizeof *r->kind + 1);
    r->with = base_arena_alloc(arena, n * sizeof *r->with + 1);
    return r->candidates != NULL && r->ranks != NULL && r->order != NULL && r->kind != NULL &&
           r->with != NULL;
}

/* ---- order ---- */

static bool runs_on(const struct round *r, size_t job, uint32_t kind)
{
    const struct sched_alloc *a = &r->snap->jobs[job]->alloc;

    return a->place_count > 0 && a->kind == kind;
}

static void add(struct round *r, struct candidate c, double share, double owed_s)
{
    const struct sched_job *j = r->snap->jobs[c.job];
    bool stays = runs_on(r, c.job, c.kind) &&
                 (c.with == SCHED_JOB_NONE ? j->partner == SCHED_JOB_NONE
                                           : r->snap->jobs[c.with]->partner == j->id);

    if (stays)
        owed_s += r->hold_s;
    double slip_s = r->s->jobs[c.job].slip_s;
    if (c.with != SCHED_JOB_NONE)
        slip_s = fmax(slip_s, r->s->jobs[c.with].slip_s);
    r->ranks[r->candidate_count] =
        (struct sched_rank){.key = sched_share_due_s(r->snap, share, owed_s) - slip_s,
                            .job = (uint32_t)r->candidate_count};
    r->candidates[r->candidate_count++] = c;
}

static void find_candidates(struct round *r)
{
    const struct sched_share *s = r->s;

    for (uint32_t i = 0; i < s->count; i++)
        for (uint32_t k = 0; k < s->kind_count; k++)
            if (s->share[i * s->kind_count + k] > 0)
                add(r, (struct candidate){.job = i, .with = SCHED_JOB_NONE, .kind = k},
                    s->share[i * s->kind_count + k], s->owed_s[i * s->kind_count + k]);
    for (size_t p = 0; p < s->pair_count; p++)
        add(r,
            (struct candidate){
                .job = s->pairs[p].a, .with = s->pairs[p].b, .kind = s->pairs[p].kind},
            s->pairs[p].share, s->pairs[p].owed_s);
    sched_rank_sort(r->ranks, r->ranks + r->candidate_count, r->candidate_count);
}

static void order_jobs(struct round *r)
{
    size_t count = 0, n = r->s->count;

    for (size_t i = 0; i < n; i++)
        r->with[i] = 0; /* seen */
    for (size_t c = 0; c < r->candidate_count; c++) {
        const struct candidate *x = &r->candidates[r->ranks[c].job];
        for (int side = 0; side < 2; side++) {
            uint32_t i = side == 0 ? x->job : x->with;
            if (i != SCHED_JOB_NONE && r->with[i] == 0) {
                r->with[i] = 1;
                r->order[count++] = i;
            }
        }
    }
    for (uint32_t i = 0; i < n; i++)
        if (r->with[i] == 0)
            r->order[count++] = i;
    shoal_assert(count == n);
}

/* ---- choosing ---- */

static bool open_to(const struct round *r, uint32_t job)
{
    return r->kind[job] < 0 && !sched_plan_has(r->plan, job);
}

static void choose(struct round *r, uint32_t job, uint32_t with, uint32_t kind)
{
    r->left[kind] -= r->s->jobs[job].gpus;
    r->kind[job] = (int32_t)kind;
    r->with[job] = with;
    if (with != SCHED_JOB_NONE) {
        r->kind[with] = (int32_t)kind;
        r->with[with] = job;
    }
}

static void choose_due(struct round *r)
{
    for (size_t i = 0; i < r->s->count; i++) {
        r->kind[i] = -1;
        r->with[i] = SCHED_JOB_NONE;
    }
    for (size_t c = 0; c < r->candidate_count; c++) {
        const struct candidate *x = &r->candidates[r->ranks[c].job];
        if (r->left[x->kind] >= r->s->jobs[x->job].gpus && open_to(r, x->job) &&
            (x->with == SCHED_JOB_NONE || open_to(r, x->with)))
            choose(r, x->job, x->with, x->kind);
    }
}

/* Where a job whose turn it is not may run: where it is, or the fastest kind with room. -1: nowhere. */
static int spare_kind(const struct round *r, const struct sched_job *j)
{
    if (j->alloc.place_count > 0 && r->left[j->alloc.kind] >= j->gpus)
        return j->alloc.kind;
    for (uint32_t i = 0; i < j->kind_count; i++)
        if (r->left[j->kind_rank[i]] >= j->gpus)
            return j->kind_rank[i];
    return -1;
}

static void choose_spare(struct round *r)
{
    for (size_t o = 0; o < r->s->count; o++) {
        uint32_t i = r->order[o];
        int k = open_to(r, i) ? spare_kind(r, r->snap->jobs[i]) : -1;
        if (k >= 0)
            choose(r, i, SCHED_JOB_NONE, (uint32_t)k);
    }
}

/* A chosen job that must start anew anyway takes a faster kind with room. False: nobody did. */
static bool choose_faster(struct round *r)
{
    bool any = false;

    for (size_t o = 0; o < r->s->count; o++) {
        uint32_t i = r->order[o];
        const struct sched_job *j = r->snap->jobs[i];
        if (r->kind[i] < 0 || r->with[i] != SCHED_JOB_NONE || runs_on(r, i, (uint32_t)r->kind[i]))
            continue;
        for (uint32_t n = 0; n < j->kind_count && j->kind_rank[n] != r->kind[i]; n++)
            if (r->left[j->kind_rank[n]] >= j->gpus) {
                r->left[r->kind[i]] += j->gpus;
                choose(r, i, SCHED_JOB_NONE, j->kind_rank[n]);
                any = true;
                break;
            }
    }
    return any;
}

/* ---- placing ---- */

static void keep_leased(struct round *r)
{
    for (size_t i = 0; i < r->s->count; i++) {
        const struct sched_job *j = r->snap->jobs[i];
        if (j->alloc.place_count > 0 && j->lease_until_s > r->snap->now_s &&
            !sched_plan_keep(r->plan, i))
            sched_plan_keep_shared(r->plan, i);
    }
}

static void bring_partner(struct round *r, uint32_t host)
{
    if (r->with[host] != SCHED_JOB_NONE)
        sched_plan_share(r->plan, r->with[host], host);
}

static bool keep_chosen(struct round *r, uint32_t i)
{
    if (r->kind[i] < 0 || sched_plan_has(r->plan, i) || !runs_on(r, i, (uint32_t)r->kind[i]) ||
        !sched_plan_keep(r->plan, i))
        return false;
    bring_partner(r, i);
    return true;
}

/* By falling gang size, so that large holes are not cut by small jobs. */
static void place_chosen(struct round *r)
{
    size_t count = 0;

    for (size_t o = 0; o < r->s->count; o++)
        keep_chosen(r, r->order[o]);
    for (uint32_t o = 0; o < r->s->count; o++)
        if (r->kind[r->order[o]] >= 0 && !sched_plan_has(r->plan, r->order[o]))
            r->ranks[count++] =
                (struct sched_rank){.key = -(double)r->s->jobs[r->order[o]].gpus, .job = o};
    sched_rank_sort(r->ranks, r->ranks + count, count);
    for (size_t c = 0; c < count; c++) {
        uint32_t i = r->order[r->ranks[c].job];
        if (!sched_plan_has(r->plan, i) &&
            (r->with[i] == SCHED_JOB_NONE || !sched_plan_has(r->plan, r->with[i])) &&
            sched_plan_place(r->plan, i, r->kind[i], SCHED_FIT_PACK))
            bring_partner(r, i);
    }
}

/* Anybody who has nothing yet, on anything that is free. */
static void place_rest(struct round *r)
{
    for (size_t o = 0; o < r->s->count; o++) {
        uint32_t i = r->order[o], free = 0;
        for (uint32_t k = 0; k < r->s->kind_count; k++)
            free += sched_plan_free_gpus(r->plan, k);
        if (free == 0)
            return;
        if (!sched_plan_has(r->plan, i) && !sched_plan_keep(r->plan, i))
            sched_plan_place(r->plan, i, SCHED_KIND_BEST, SCHED_FIT_PACK);
    }
}

shoal_status sched_share_round(const struct sched_share *s, double hold_s,
                               const struct sched_snapshot *snap, struct sched_plan *plan)
{
    struct round r = {.s = s, .snap = snap, .plan = plan, .hold_s = hold_s};

    if (!round_init(&r))
        return SHOAL_E_NOMEM;
    keep_leased(&r);
    for (uint32_t k = 0; k < s->kind_count; k++)
        r.left[k] = sched_plan_free_gpus(plan, k);
    find_candidates(&r);
    order_jobs(&r);
    choose_due(&r);
    choose_spare(&r);
    if (choose_faster(&r))
        choose_spare(&r);
    place_chosen(&r);
    place_rest(&r);
    if (sched_plan_upgrade(plan, r.order, s->count, SCHED_FIT_PACK) > 0)
        place_rest(&r);
    return SHOAL_OK;
}
