/* rules.h - the rules every plan is held to (src/sched/policy.h), checked against the snapshot it
 * was made from, before it is carried out. */
#ifndef TESTS_UNIT_SCHED_RULES_H
#define TESTS_UNIT_SCHED_RULES_H

#include "unit/sched/world.h"

struct rules_books {
    uint32_t used[WORLD_NODES_MAX]; /* GPUs given away; a pair counts once */
    uint32_t spanning[WORLD_NODES_MAX];
    uint32_t free[SCHED_KINDS_MAX];
};

static inline bool rules_same_places(const struct sched_alloc *a, const struct sched_alloc *b)
{
    return a->place_count == b->place_count && a->kind == b->kind &&
           memcmp(a->places, b->places, a->place_count * sizeof *a->places) == 0;
}

static inline void rules_check_gang(const struct world *w, const struct sched_job *j,
                                    const struct sched_grant *g)
{
    uint32_t gpus = 0;

    WORLD_CLAIM(w, g->alloc.kind < w->cluster.kind_count && (j->kinds >> g->alloc.kind & 1) != 0,
                "job %u runs on kind %u, which it may not use", j->id, g->alloc.kind);
    for (uint32_t i = 0; i < g->alloc.place_count; i++) {
        const struct sched_place *p = &g->alloc.places[i];
        WORLD_CLAIM(w, p->node < w->cluster.node_count && p->gpus > 0, "job %u has a bad place",
                    j->id);
        WORLD_CLAIM(w, w->node_up[p->node], "job %u is on node %u, which is down", j->id, p->node);
        WORLD_CLAIM(w, w->cluster.nodes[p->node].kind == g->alloc.kind, "job %u holds two kinds",
                    j->id);
        for (uint32_t n = 0; n < i; n++)
            WORLD_CLAIM(w, g->alloc.places[n].node != p->node, "job %u names node %u twice", j->id,
                        p->node);
        gpus += p->gpus;
    }
    WORLD_CLAIM(w, g->alloc.gpus == gpus, "job %u: %u GPUs granted, on places with %u", j->id,
                g->alloc.gpus, gpus);
    WORLD_CLAIM(w, !g->adapted || j->adapt != NULL, "job %u was sized and cannot adapt", j->id);
    if (j->adapt != NULL && (g->adapted || g->kept))
        WORLD_CLAIM(w, gpus >= 1 && gpus <= j->adapt->gpus_max, "job %u can use %u GPUs and got %u",
                    j->id, j->adapt->gpus_max, gpus);
    else
        WORLD_CLAIM(w, gpus == j->gpus, "job %u asked for %u GPUs and got %u", j->id, j->gpus,
                    gpus);
    bool same = j->alloc.place_count > 0 && rules_same_places(&j->alloc, &g->alloc);
    /* A job that shared and now has GPUs of its own on the same node restarts too. */
    WORLD_CLAIM(w, g->kept == same || (same && j->partner != SCHED_JOB_NONE),
                "job %u is %skept, but its places %s", j->id, g->kept ? "" : "not ",
                same ? "did not change" : "changed");
}

static inline void rules_check_pair(const struct world *w, size_t i, const struct sched_grant *g)
{
    const struct sched_grant *other = sched_plan_grant(w->plan, g->partner);

    WORLD_CLAIM(w, other != NULL && other->partner == i, "the partner of job %u does not share",
                w->jobs[i]->id);
    WORLD_CLAIM(w, rules_same_places(&g->alloc, &other->alloc),
                "jobs %u and %u share different places", w->jobs[i]->id, w->jobs[g->partner]->id);
}

static inline void rules_fill_books(const struct world *w, struct rules_books *b)
{
    *b = (struct rules_books){.used = {0}};
    for (size_t i = 0; i < w->job_count; i++) {
        const struct sched_grant *g = sched_plan_grant(w->plan, i);
        if (g == NULL)
            continue;
        rules_check_gang(w, w->jobs[i], g);
        if (g->partner != SCHED_JOB_NONE)
            rules_check_pair(w, i, g);
        for (uint32_t p = 0; p < g->alloc.place_count; p++) {
            b->spanning[g->alloc.places[p].node] += g->alloc.place_count > 1;
            if (g->partner == SCHED_JOB_NONE || g->partner > i)
                b->used[g->alloc.places[p].node] += g->alloc.places[p].gpus;
        }
    }
    for (uint32_t n = 0; n < w->cluster.node_count; n++) {
        WORLD_CLAIM(w, b->used[n] <= w->cluster.nodes[n].gpus, "node %u: %u of %u GPUs given away",
                    n, b->used[n], w->cluster.nodes[n].gpus);
        WORLD_CLAIM(w, !w->place.exclusive || b->spanning[n] <= 1,
                    "node %u carries %u spanning jobs under exclusive", n, b->spanning[n]);
        if (w->node_up[n])
            b->free[w->cluster.nodes[n].kind] += w->cluster.nodes[n].gpus - b->used[n];
    }
    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        WORLD_CLAIM(w, sched_plan_free_gpus(w->plan, k) == b->free[k],
                    "kind %u: the plan counts %u free GPUs, there are %u", k,
                    sched_plan_free_gpus(w->plan, k), b->free[k]);
}

static inline bool rules_is_faster(const struct sched_job *j, uint32_t kind)
{
    for (uint32_t i = 0; i < j->kind_count && j->kind_rank[i] != j->alloc.kind; i++)
        if (j->kind_rank[i] == kind)
            return true;
    return false;
}

/* Leases, and policies that do not preempt. */
static inline void rules_check_running(const struct world *w, size_t i)
{
    const struct sched_job *j = w->jobs[i];
    const struct sched_grant *g = sched_plan_grant(w->plan, i);

    if (j->alloc.place_count == 0 || !world_nodes_up(w, &j->alloc))
        return;
    WORLD_CLAIM(w, j->lease_until_s <= w->now_s || (g != NULL && g->kept),
                "job %u has a lease until %g (now %g) and %s", j->id, j->lease_until_s, w->now_s,
                g == NULL ? "was stopped" : "was moved");
    if (w->policy->preempts)
        return;
    WORLD_CLAIM(w, g != NULL, "job %u was stopped by a policy that does not preempt", j->id);
    WORLD_CLAIM(w, g->kept || (w->place.upgrade && rules_is_faster(j, g->alloc.kind)),
                "job %u was moved, and not to a faster kind", j->id);
}

static inline void rules_check_locality(const struct world *w, size_t i)
{
    const struct sched_job *j = w->jobs[i];
    const struct sched_grant *g = sched_plan_grant(w->plan, i);

    if (g->kept || g->partner != SCHED_JOB_NONE || w->place.relax_s > 0)
        return;
    for (uint32_t p = 1; w->place.locality == SCHED_LOCALITY_RACK && p < g->alloc.place_count; p++)
        WORLD_CLAIM(w,
                    w->cluster.nodes[g->alloc.places[p].node].rack ==
                        w->cluster.nodes[g->alloc.places[0].node].rack,
                    "job %u lies in two racks", j->id);
    uint32_t most = w->cluster.kinds[g->alloc.kind].node_gpus_max;
    if (w->place.locality == SCHED_LOCALITY_STRICT && g->alloc.gpus <= most)
        WORLD_CLAIM(w, g->alloc.place_count == 1, "job %u fits a node and was spread", j->id);
}

static inline uint32_t rules_holders(const struct world *w, uint32_t kind)
{
    uint32_t n = 0;

    for (size_t i = 0; i < w->job_count; i++) {
        const struct sched_grant *g = sched_plan_grant(w->plan, i);
        n += g != NULL && (kind == UINT16_MAX || g->alloc.kind == kind);
    }
    return n;
}

static inline const struct sched_grant *rules_grant_of_id(const struct world *w, uint32_t id)
{
    for (size_t i = 0; i < w->job_count; i++)
        if (w->jobs[i]->id == id)
            return sched_plan_grant(w->plan, i);
    return NULL;
}

static inline void rules_check_why(const struct world *w, size_t i)
{
    const struct sched_job *j = w->jobs[i];
    struct sched_why why = sched_plan_why(w->plan, i, true);

    WORLD_CLAIM(w, why.reason > SCHED_WHY_NONE && why.reason < SCHED_WHY_COUNT,
                "job %u waits without a reason", j->id);
    bool by_arrival = w->policy != NULL && strncmp(w->policy->name, "fifo", 4) == 0;
    WORLD_CLAIM(w, why.reason != (by_arrival ? SCHED_WHY_FAIR_SHARE : SCHED_WHY_QUEUE),
                "job %u waits for its turn: %s", j->id,
                sched_reason_name((enum sched_reason)why.reason));
    WORLD_CLAIM(w, why.reason == sched_plan_reason(w->plan, i), "two reasons for job %u", j->id);
    WORLD_CLAIM(w, why.want == j->gpus, "job %u: asked for %u, the reason says %u", j->id, j->gpus,
                why.want);
    WORLD_CLAIM(w, why.kind == UINT16_MAX || (j->kinds >> why.kind & 1) != 0,
                "job %u waits for kind %u, which it may not use", j->id, why.kind);
    WORLD_CLAIM(w, why.reason != SCHED_WHY_CAPACITY || why.free < why.want,
                "job %u waits for capacity, with %u of %u free", j->id, why.free, why.want);
    uint32_t count = rules_holders(w, why.kind);
    WORLD_CLAIM(w, why.blocker_count == (count < SCHED_BLOCKERS_MAX ? count : SCHED_BLOCKERS_MAX),
                "job %u: %u blockers of %u rules_holders", j->id, why.blocker_count, count);
    for (uint32_t b = 0; b < why.blocker_count; b++) {
        const struct sched_grant *g = rules_grant_of_id(w, why.blockers[b].job);
        WORLD_CLAIM(w, g != NULL && g->alloc.gpus == why.blockers[b].gpus,
                    "job %u: blocker %u does not hold %u GPUs", j->id, why.blockers[b].job,
                    why.blockers[b].gpus);
        WORLD_CLAIM(w, why.kind == UINT16_MAX || g->alloc.kind == why.kind,
                    "job %u: blocker %u holds another kind", j->id, why.blockers[b].job);
        WORLD_CLAIM(w, b == 0 || why.blockers[b - 1].gpus >= why.blockers[b].gpus,
                    "job %u: blockers out of order", j->id);
    }
}

static inline void rules_check_waiting(const struct world *w, size_t i, const struct rules_books *b)
{
    const struct sched_job *j = w->jobs[i];

    rules_check_why(w, i);
    if (!w->policy->work_conserving || w->place.locality != SCHED_LOCALITY_ANYWHERE ||
        w->place.exclusive)
        return;
    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        WORLD_CLAIM(w, (j->kinds >> k & 1) == 0 || b->free[k] < j->gpus,
                    "job %u waits for %u GPUs while %u of kind %u idle", j->id, j->gpus, b->free[k],
                    k);
}

static inline void rules_check(const struct world *w)
{
    struct rules_books b;

    rules_fill_books(w, &b);
    for (size_t i = 0; i < w->job_count; i++) {
        rules_check_running(w, i);
        if (sched_plan_has(w->plan, i))
            rules_check_locality(w, i);
        else
            rules_check_waiting(w, i, &b);
    }
}

#endif
