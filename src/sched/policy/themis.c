/* themis.c - finish-time fairness by auctions: who is furthest behind bids for what is free.
 *
 * Each app (a job, or the jobs of one sweep) has rho, the time it takes here against the time alone
 * on a 1/n share of the cluster (auction_apps.h). Whenever GPUs are free or their leases over:
 *
 *   1. The 1 - f of the apps with the largest rho, at least one, are offered all of them. Each bids a
 *      table: for sizes and kinds, the 1/rho it would have. A larger f is fairer, as only those
 *      furthest behind bid; a smaller one lets more of them find what suits them.
 *   2. The auction (auction.h) gives each one bundle or none so that the product of all 1/rho is
 *      largest, and makes winners pay for what they take from the others with part of their lease.
 *   3. What is left goes to everybody else in order of rho: first those that run keep their places,
 *      then the others start where they are fastest. That carries no lease: it is kept for as long
 *      as no auction wants it. Where some jobs adapt there is a second auction for it before that,
 *      at which all bid.
 *
 * A job that adapts bids for sizes up to an equal share of the cluster, at the second auction for any:
 * otherwise the few at the first would take all.
 *
 * Leases end together, at multiples of `lease`, and shorter ones before: now and then everything is
 * offered at once, so that a large gang finds its GPUs together and kinds can be exchanged. Departures
 * from the paper: payment in time (auction.c says why), leases that end together, and leftovers in
 * order of rho, not at random, and without a lease.
 *
 * rho compares with 1/n, so where n grows without end nobody is ever behind, and a job could wait for
 * ever. So the job that has held nothing for longest goes first, once that is PATIENCE leases.
 *
 * Cost: O(n log n), and an auction among (1 - f) n apps.
 *
 * Reference: Mahajan et al., "Themis: Fair and Efficient GPU Cluster Scheduling", NSDI 2020. */
#include "base/assert.h"
#include "sched/auction_apps.h"
#include "sched/queue.h"

#include <math.h>

enum { PATIENCE = 10 };

struct memory {
    double f, lease_s;
    struct sched_auctioneer *auctioneer; /* NULL: none yet */
    struct auction_memory apps;
};

struct prize;

/* One decision. */
struct round {
    const struct sched_snapshot *snap;
    struct sched_plan *plan;
    struct auction_view view;
    uint32_t *order; /* jobs by rho of their app, largest first */
    uint32_t offered[SCHED_KINDS_MAX];
    struct prize *prizes; /* one a job at most */
    bool *cleaned;        /* by job: the bids of its app contradicted each other */
    size_t prize_count;
};

/* Of one auction. */
struct terms {
    uint32_t bidders; /* at most */
    uint32_t size;    /* of a job that adapts, at most */
    double end_s;     /* of leases */
};

/* What a job won. */
struct prize {
    uint32_t job, kind, gpus;
    double until_s;
};

/* Jobs whose lease is not over stay, also where the driver says so. */
static void keep_leases(const struct round *r)
{
    const struct sched_snapshot *snap = r->snap;

    for (size_t i = 0; i < snap->job_count; i++) {
        struct sched_job *j = snap->jobs[i];
        if (j->alloc.place_count == 0)
            j->note[1].f = 0;
        else if (j->lease_until_s > snap->now_s || j->note[1].f > snap->now_s)
            (void)sched_plan_keep(r->plan, i);
    }
}

/* When leases end that begin now. */
static double lease_end_s(const struct memory *m, double now_s)
{
    return (floor(now_s / m->lease_s) + 1) * m->lease_s;
}

static void serve_the_patient(const struct memory *m, const struct round *r)
{
    const struct sched_snapshot *snap = r->snap;
    size_t longest = SIZE_MAX;

    for (size_t i = 0; i < snap->job_count; i++) {
        const struct sched_job *j = snap->jobs[i];
        if (j->alloc.place_count == 0 && snap->now_s - j->wait_since_s > PATIENCE * m->lease_s &&
            (longest == SIZE_MAX || j->wait_since_s < snap->jobs[longest]->wait_since_s))
            longest = i;
    }
    if (longest != SIZE_MAX && sched_plan_place(r->plan, longest, SCHED_KIND_BEST, SCHED_FIT_PACK))
        snap->jobs[longest]->note[1].f = lease_end_s(m, snap->now_s);
}

/* Apps by rho, largest first. */
static struct sched_rank *rank_apps(struct round *r)
{
    uint32_t count = r->view.app_count, at = 0;
    struct sched_rank *apps = base_arena_alloc(r->view.arena, 2 * (size_t)count * sizeof *apps + 1);

    r->order = base_arena_alloc(r->view.arena, r->snap->job_count * sizeof *r->order + 1);
    r->cleaned = base_arena_calloc(r->view.arena, r->snap->job_count + 1, sizeof *r->cleaned);
    if (apps == NULL || r->order == NULL || r->cleaned == NULL)
        return NULL;
    for (uint32_t a = 0; a < count; a++)
        apps[a] = (struct sched_rank){-r->view.apps[a].rho, a};
    sched_rank_sort(apps, apps + count, count);
    for (uint32_t a = 0; a < count; a++) {
        const struct auction_app *app = &r->view.apps[apps[a].job];
        for (uint32_t i = 0; i < app->job_count; i++)
            r->order[at++] = app->jobs[i];
    }
    return apps;
}

/* ---- the auction ---- */

static bool is_there(const struct sched_job *j, const struct prize *won)
{
    return j->alloc.place_count > 0 && j->alloc.kind == won->kind && j->alloc.gpus == won->gpus;
}

/* The jobs for which the app bid, as auction_bid counted them, until all it won is theirs. */
static void share_out(struct round *r, const struct auction_app *app,
                      const struct sched_auction_option *won, double until_s)
{
    uint32_t k = won->kind, given = 0;

    for (uint32_t i = 0; i < app->job_count && given < won->gpus; i++) {
        const struct sched_job *j = r->snap->jobs[app->jobs[i]];
        uint32_t gpus = app->job_count > 1 ? j->gpus : won->gpus;
        if (sched_plan_has(r->plan, app->jobs[i]) || r->view.jobs[app->jobs[i]].speed[k] <= 0 ||
            given + gpus > r->offered[k])
            continue;
        given += gpus;
        r->prizes[r->prize_count++] = (struct prize){app->jobs[i], k, gpus, until_s};
    }
}

/* Those who stay where they are first, then the others, largest first: as they bid, packed. */
static shoal_status place_winners(const struct round *r)
{
    size_t count = r->prize_count;
    struct sched_rank *order = base_arena_alloc(r->view.arena, 2 * count * sizeof *order + 1);

    if (order == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const struct prize *p = &r->prizes[i];
        bool stays = is_there(r->snap->jobs[p->job], p);
        order[i] = (struct sched_rank){stays ? -INFINITY : -(double)p->gpus, i};
    }
    sched_rank_sort(order, order + count, count);
    for (size_t i = 0; i < count; i++) {
        const struct prize *p = &r->prizes[order[i].job];
        struct sched_job *j = r->snap->jobs[p->job];
        bool placed = is_there(j, p) && sched_plan_keep(r->plan, p->job);
        if (!placed && j->adapt != NULL)
            placed = sched_plan_place_as(r->plan, p->job, p->kind, p->gpus, SCHED_FIT_PACK);
        else if (!placed)
            placed = sched_plan_place(r->plan, p->job, (int)p->kind, SCHED_FIT_PACK);
        if (placed)
            j->note[1].f = p->until_s;
    }
    return SHOAL_OK;
}

/* Bids of the apps that are furthest behind and want something that is offered. */
static shoal_status collect(const struct round *r, const struct sched_rank *apps,
                            const struct terms *t, struct sched_auction_bid *bids,
                            uint32_t *bidders, uint32_t *out_count)
{
    uint32_t count = 0;

    for (uint32_t a = 0; a < r->view.app_count && count < t->bidders; a++) {
        shoal_status st =
            auction_bid(&r->view, r->plan, apps[a].job, r->offered, t->size, &bids[count]);
        if (st != SHOAL_OK)
            return st;
        bidders[count] = apps[a].job;
        count += bids[count].option_count > 0;
    }
    *out_count = count;
    return SHOAL_OK;
}

static void note_cleaned(struct round *r, const struct auction_app *app, uint32_t notes)
{
    for (uint32_t i = 0; notes != 0 && i < app->job_count; i++)
        r->cleaned[app->jobs[i]] = true;
}

static shoal_status hold_auction(struct memory *m, struct round *r, const struct sched_rank *apps,
                                 const struct terms *t)
{
    double now_s = r->snap->now_s;
    struct sched_auction_problem p = {.kind_count = r->snap->cluster->kind_count};
    struct sched_auction_result won;
    struct sched_auction_bid *bids =
        base_arena_alloc(r->view.arena, (t->bidders + 1) * sizeof *bids);
    uint32_t *bidders = base_arena_alloc(r->view.arena, (t->bidders + 1) * sizeof *bidders);

    r->prizes = base_arena_alloc(r->view.arena, r->snap->job_count * sizeof *r->prizes + 1);
    r->prize_count = 0;
    if (bids == NULL || bidders == NULL || r->prizes == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t k = 0; k < p.kind_count; k++)
        p.capacity[k] = r->offered[k] = sched_plan_free_gpus(r->plan, k);
    shoal_status st = collect(r, apps, t, bids, bidders, &p.bid_count);
    p.bids = bids;
    if (st == SHOAL_OK)
        st = sched_auction_run(m->auctioneer, &p, &won);
    if (st != SHOAL_OK)
        return st;
    for (uint32_t b = 0; b < p.bid_count; b++) {
        note_cleaned(r, &r->view.apps[bidders[b]], won.awards[b].notes);
        if (won.awards[b].option != SCHED_AUCTION_NONE)
            share_out(r, &r->view.apps[bidders[b]], &bids[b].options[won.awards[b].option],
                      now_s + won.awards[b].paid * (t->end_s - now_s));
    }
    return place_winners(r);
}

static bool some_adapt(const struct sched_snapshot *snap)
{
    for (size_t i = 0; i < snap->job_count; i++)
        if (snap->jobs[i]->adapt != NULL)
            return true;
    return false;
}

/* The first is for those furthest behind, the second for what they leave. */
static shoal_status hold_auctions(struct memory *m, struct round *r, const struct sched_rank *apps)
{
    uint32_t count = r->view.app_count, few = (uint32_t)ceil((1 - m->f) * count - 1e-9);
    struct terms first = {.bidders = few > 0 ? few : 1, .end_s = lease_end_s(m, r->snap->now_s)};
    struct terms second = {.bidders = count, .size = UINT32_MAX, .end_s = r->snap->now_s};

    shoal_status st = auction_equal_share(&r->view, &first.size);
    if (st == SHOAL_OK)
        st = hold_auction(m, r, apps, &first);
    return st == SHOAL_OK && some_adapt(r->snap) ? hold_auction(m, r, apps, &second) : st;
}

/* ---- leftovers ---- */

/* A job that adapts takes what it asked for, or half of it, and half of that, where it is fastest. */
static bool place_some(const struct round *r, uint32_t job)
{
    const struct sched_job *j = r->snap->jobs[job];
    const double *speed = r->view.jobs[job].speed;
    uint32_t sizes[AUCTION_SIZES_MAX], best = SCHED_KINDS_MAX;

    if (j->adapt == NULL)
        return sched_plan_place(r->plan, job, SCHED_KIND_BEST, SCHED_FIT_PACK);
    for (uint32_t k = 0; k < r->snap->cluster->kind_count; k++)
        if (speed[k] > 0 && sched_plan_free_gpus(r->plan, k) > 0 &&
            (best == SCHED_KINDS_MAX || speed[k] > speed[best]))
            best = k;
    if (best == SCHED_KINDS_MAX)
        return sched_plan_place(r->plan, job, SCHED_KIND_BEST, SCHED_FIT_PACK); /* says why not */
    uint32_t free = sched_plan_free_gpus(r->plan, best);
    uint32_t count =
        auction_sizes(j, r->snap->cluster, best, free < j->gpus ? free : j->gpus, sizes);
    while (count-- > 0)
        if (sched_plan_place_as(r->plan, job, best, sizes[count], SCHED_FIT_PACK))
            return true;
    return false;
}

static void hand_out_rest(const struct round *r)
{
    size_t n = r->snap->job_count;

    for (size_t i = 0; i < n; i++)
        if (!sched_plan_has(r->plan, r->order[i]) && sched_plan_keep(r->plan, r->order[i]))
            r->snap->jobs[r->order[i]]->note[1].f = 0;
    do {
        for (size_t i = 0; i < n; i++)
            if (!sched_plan_has(r->plan, r->order[i]) && place_some(r, r->order[i]))
                r->snap->jobs[r->order[i]]->note[1].f = 0;
    } while (sched_plan_upgrade(r->plan, r->order, n, SCHED_FIT_PACK) > 0);
    sched_plan_wait_others(r->plan, SCHED_WHY_FAIR_SHARE, SCHED_JOB_NONE);
}

/* Who waits and whose bids were put right is told so. */
static void tell_cleaned(const struct round *r)
{
    for (size_t i = 0; i < r->snap->job_count; i++) {
        if (!r->cleaned[i] || sched_plan_has(r->plan, i))
            continue;
        struct sched_why why = sched_plan_why(r->plan, i, false);
        why.cleaned = 1;
        sched_plan_wait(r->plan, i, why);
    }
}

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    struct memory *m = memory;
    struct round r = {.snap = snap, .plan = plan};

    if (m->auctioneer == NULL && sched_auction_new(snap->alloc, &m->auctioneer) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    shoal_status st = auction_look(&m->apps, snap, plan, m->lease_s, &r.view);
    if (st != SHOAL_OK)
        return st;
    struct sched_rank *apps = rank_apps(&r);
    if (apps == NULL)
        return SHOAL_E_NOMEM;
    keep_leases(&r);
    serve_the_patient(m, &r);
    st = hold_auctions(m, &r, apps);
    if (st != SHOAL_OK)
        return st;
    hand_out_rest(&r);
    tell_cleaned(&r);
    return sched_plan_status(plan);
}

static void fini(void *memory, const struct base_alloc *alloc)
{
    struct memory *m = memory;

    sched_auction_free(m->auctioneer);
    auction_memory_fini(&m->apps, alloc);
}

#define AT(member) offsetof(struct memory, member)

static const shoal_opt opts[] = {
    {AT(f), SHOAL_OPT_F64, "f", 0, "X", "0.8",
     "the 1 - f of the apps that are furthest behind bid; larger is fairer", .max = 1},
    {AT(lease_s), SHOAL_OPT_DURATION, "lease", 0, "TIME", "20m",
     "a winner keeps its GPUs for this long, less what it pays", .min = 1, .max = 1e9},
};

const struct sched_policy sched_policy_themis = {
    .name = "themis",
    .summary = "those furthest behind a 1/n cluster of their own bid for GPUs",
    .optimises = "Fairness in finish times that nobody gains from gaming: jobs of one sweep bid "
                 "together, and winners pay with part of their lease for what they take from "
                 "others.",
    .paper = "Mahajan et al., Themis, NSDI 2020",
    .opts = opts,
    .opt_count = BASE_COUNT(opts),
    .memory_size = sizeof(struct memory),
    .preempts = true,
    .work_conserving = true,
    .starvation_free = true,
    .decide = decide,
    .fini = fini,
};
