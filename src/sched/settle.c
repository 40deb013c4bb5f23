/* settle.c - places for jobs whose sizes were chosen (see settle.h). */
#include "sched/settle.h"

#include <stdlib.h>

enum { BUCKETS = SCHED_NODE_GPUS_MAX + 1 };

struct nodes {
    const struct sched_settle *s;
    uint16_t *free;             /* by node, of live ones */
    bool *fixed;                /* by node: nobody is moved away from it */
    uint32_t (*count)[BUCKETS]; /* by kind: nodes by how many are free */
};

static const struct sched_alloc *held(const struct nodes *n, const struct sched_seat *seat)
{
    return &n->s->snap->jobs[seat->job]->alloc;
}

/* ---- what is free ---- */

static void take(struct nodes *n, const struct sched_alloc *a)
{
    for (uint32_t i = 0; i < a->place_count; i++) {
        uint16_t *free = &n->free[a->places[i].node];
        n->count[a->kind][*free]--;
        *free = (uint16_t)(*free - a->places[i].gpus);
        n->count[a->kind][*free]++;
    }
}

static void give(struct nodes *n, const struct sched_alloc *a)
{
    for (uint32_t i = 0; i < a->place_count; i++) {
        uint16_t *free = &n->free[a->places[i].node];
        n->count[a->kind][*free]--;
        *free = (uint16_t)(*free + a->places[i].gpus);
        n->count[a->kind][*free]++;
    }
}

static bool begin(struct nodes *n)
{
    const struct sched_snapshot *snap = n->s->snap;
    const struct sched_cluster *c = snap->cluster;
    struct base_arena *arena = sched_plan_arena(n->s->plan);

    n->free = base_arena_calloc(arena, c->node_count, sizeof *n->free);
    n->fixed = base_arena_calloc(arena, c->node_count, sizeof *n->fixed);
    n->count = base_arena_calloc(arena, c->kind_count, sizeof *n->count);
    if (n->free == NULL || n->fixed == NULL || n->count == NULL)
        return false;
    for (uint32_t i = 0; i < c->node_count; i++) {
        n->free[i] = snap->node_up[i] ? c->nodes[i].gpus : 0;
        n->count[c->nodes[i].kind][n->free[i]]++;
    }
    for (size_t i = 0; i < snap->job_count; i++) {
        const struct sched_grant *g = sched_plan_grant(n->s->plan, i);
        for (uint32_t p = 0; g != NULL && p < g->alloc.place_count; p++)
            n->fixed[g->alloc.places[p].node] = true;
        if (g != NULL && g->partner == SCHED_JOB_NONE)
            take(n, &g->alloc);
    }
    return true;
}

static uint32_t hole(const struct nodes *n, uint32_t kind)
{
    uint32_t f = n->s->snap->cluster->kinds[kind].node_gpus_max;

    while (f > 0 && n->count[kind][f] == 0)
        f--;
    return f;
}

/* ---- who stays, and which nodes are cleared ---- */

static bool all_up(const struct sched_snapshot *snap, const struct sched_alloc *a)
{
    for (uint32_t i = 0; i < a->place_count; i++)
        if (!snap->node_up[a->places[i].node])
            return false;
    return a->place_count > 0;
}

/* Whole nodes that jobs which do not stay need, less those that are free, by kind. */
static void count_lacking(const struct nodes *n, const struct sched_seat *seats, size_t count,
                          int64_t *lacking)
{
    const struct sched_cluster *c = n->s->snap->cluster;

    for (uint32_t k = 0; k < c->kind_count; k++)
        lacking[k] = -(int64_t)n->count[k][c->kinds[k].node_gpus_max];
    for (size_t i = 0; i < count; i++) {
        uint32_t each = c->kinds[seats[i].kind].node_gpus_max;
        if (!seats[i].stays && seats[i].gpus >= each)
            lacking[seats[i].kind] += seats[i].gpus / each;
    }
}

struct cleared {
    uint32_t node, moved; /* GPUs that must move */
};

static int by_moved(const void *a, const void *b)
{
    const struct cleared *x = a, *y = b;

    if (x->moved != y->moved)
        return x->moved < y->moved ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Marks the nodes to clear by `fixed` set to false, all others to true. */
static bool choose_cleared(struct nodes *n, const int64_t *lacking)
{
    const struct sched_snapshot *snap = n->s->snap;
    const struct sched_cluster *c = snap->cluster;
    struct cleared *list =
        base_arena_calloc(sched_plan_arena(n->s->plan), c->node_count, sizeof *list);
    uint32_t count = 0;
    int64_t taken[SCHED_KINDS_MAX] = {0};

    if (list == NULL)
        return false;
    for (uint32_t i = 0; i < c->node_count; i++) {
        uint32_t gpus = c->nodes[i].gpus;
        if (snap->node_up[i] && !n->fixed[i] && lacking[c->nodes[i].kind] > 0 &&
            gpus == c->kinds[c->nodes[i].kind].node_gpus_max && n->free[i] < gpus)
            list[count++] = (struct cleared){i, gpus - n->free[i]};
        n->fixed[i] = true;
    }
    qsort(list, count, sizeof *list, by_moved);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t kind = c->nodes[list[i].node].kind;
        if (taken[kind] < lacking[kind])
            n->fixed[list[i].node] = false;
        taken[kind]++;
    }
    return true;
}

/* Those on nodes that are cleared do not stay. */
static bool clear_nodes(struct nodes *n, struct sched_seat *seats, size_t count)
{
    const struct sched_snapshot *snap = n->s->snap;
    int64_t lacking[SCHED_KINDS_MAX];
    bool any = false;

    count_lacking(n, seats, count, lacking);
    for (uint32_t k = 0; k < snap->cluster->kind_count; k++)
        any |= lacking[k] > 0;
    if (!any)
        return true;
    for (size_t i = 0; i < count; i++) {
        const struct sched_alloc *a = held(n, &seats[i]);
        uint32_t each = snap->cluster->kinds[a->kind].node_gpus_max;
        for (uint32_t p = 0; seats[i].stays && p < a->place_count; p++)
            n->fixed[a->places[p].node] |= a->place_count > 1 || a->gpus == each;
    }
    if (!choose_cleared(n, lacking))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!seats[i].stays || n->fixed[held(n, &seats[i])->places[0].node])
            continue;
        give(n, held(n, &seats[i]));
        seats[i].stays = false;
    }
    return true;
}

/* ---- placing ---- */

/* The largest first. */
static int by_size(const void *a, const void *b)
{
    const struct sched_seat *x = a, *y = b;

    if (x->gpus != y->gpus)
        return x->gpus > y->gpus ? -1 : 1;
    return (x->job > y->job) - (x->job < y->job);
}

/* Puts those who stay first; how many. */
static size_t stay_first(struct sched_seat *seats, size_t count)
{
    size_t stay = 0;

    for (size_t i = 0; i < count; i++)
        if (seats[i].stays) {
            struct sched_seat seat = seats[stay];
            seats[stay++] = seats[i];
            seats[i] = seat;
        }
    return stay;
}

static bool granted(struct nodes *n, uint32_t job)
{
    const struct sched_grant *g = sched_plan_grant(n->s->plan, job);

    if (g != NULL)
        take(n, &g->alloc);
    return g != NULL;
}

/* On the places it has, if that is its size and they are free; else where there is room. */
static bool place(struct nodes *n, const struct sched_seat *seat)
{
    struct sched_plan *plan = n->s->plan;
    const struct sched_job *job = n->s->snap->jobs[seat->job];

    if (job->alloc.place_count > 0 && job->alloc.kind == seat->kind &&
        job->alloc.gpus == seat->gpus && sched_plan_keep(plan, seat->job))
        return granted(n, seat->job);
    if (job->adapt == NULL)
        (void)sched_plan_place(plan, seat->job, (int)seat->kind, SCHED_FIT_PACK);
    else
        (void)sched_plan_place_as(plan, seat->job, seat->kind, seat->gpus, SCHED_FIT_PACK);
    return granted(n, seat->job);
}

/* A node for a job that fits one, or enough of them. */
static bool fits(const struct nodes *n, const struct sched_seat *seat)
{
    uint32_t each = n->s->snap->cluster->kinds[seat->kind].node_gpus_max;

    return seat->gpus <= each ? seat->gpus <= hole(n, seat->kind)
                              : seat->gpus <= sched_plan_free_gpus(n->s->plan, seat->kind);
}

static bool resize(const struct nodes *n, struct sched_seat *seat)
{
    struct sched_room room;

    for (uint32_t k = 0; k < n->s->snap->cluster->kind_count; k++) {
        room.hole[k] = hole(n, k);
        room.free[k] = sched_plan_free_gpus(n->s->plan, k);
    }
    return n->s->resize(n->s->ctx, seat, &room);
}

static bool anything_free(const struct nodes *n)
{
    for (uint32_t k = 0; k < n->s->snap->cluster->kind_count; k++)
        if (sched_plan_free_gpus(n->s->plan, k) > 0)
            return true;
    return false;
}

/* Whatever it can have of what is left: what it holds, another size, or the gang it asked for wherever
 * that lies. */
static void offer_rest(struct nodes *n, uint32_t job)
{
    struct sched_seat seat = {.job = job};

    if (!sched_plan_keep(n->s->plan, job)) {
        if (resize(n, &seat) && place(n, &seat))
            return;
        (void)sched_plan_place(n->s->plan, job, SCHED_KIND_BEST, SCHED_FIT_PACK);
    }
    (void)granted(n, job);
}

shoal_status sched_settle(const struct sched_settle *s, struct sched_seat *seats, size_t count,
                          const uint32_t *waiting, size_t waiting_count)
{
    struct nodes n = {.s = s};

    if (!begin(&n))
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        seats[i].stays = seats[i].stays && all_up(s->snap, held(&n, &seats[i]));
        if (seats[i].stays)
            take(&n, held(&n, &seats[i]));
    }
    if (!clear_nodes(&n, seats, count))
        return SHOAL_E_NOMEM;
    size_t stay = stay_first(seats, count);
    for (size_t i = 0; i < stay; i++)
        if (!sched_plan_keep(s->plan, seats[i].job))
            give(&n, held(&n, &seats[i]));
    qsort(seats + stay, count - stay, sizeof *seats, by_size);
    for (size_t i = stay; i < count; i++)
        if ((!fits(&n, &seats[i]) || !place(&n, &seats[i])) && resize(&n, &seats[i]))
            (void)place(&n, &seats[i]);
    for (size_t i = 0; i < count && anything_free(&n); i++)
        if (!sched_plan_has(s->plan, seats[i].job))
            offer_rest(&n, seats[i].job);
    for (size_t i = 0; i < waiting_count && anything_free(&n); i++)
        offer_rest(&n, waiting[i]);
    return sched_plan_status(s->plan);
}
