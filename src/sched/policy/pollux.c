/* pollux.c - sizes of all jobs that adapt, together, by what each has measured of itself (see
 * pollux_problem.h for what is optimised).
 *
 * Each round every job's speedup on 1, 2, ... GPUs, next to its fair share of the cluster, is known
 * from its own fit of goodput; nobody may have more than twice the GPUs it was measured on, so jobs
 * explore by doubling. search=genetic is the paper's search over whole allocations, search=exact our
 * choice of sizes by prices (pollux_exact.h).
 *
 * A start or a move costs: its speedup counts for (age - restarts x restart time) / (age + restart
 * time) then, so a young job and one that was moved often hardly move.
 *
 * A rented cluster need not be as large as it could be. With autoscale_high > 0 utility, the sum of
 * speedups over one GPU by the GPUs of the nodes wanted, is looked at over 15 rounds; when it is
 * outside the bounds, the number of nodes whose utility would be nearest their middle is looked for by
 * bisection, with the exact choice on each. Nodes that jobs hold most of come first, so that few move.
 * The largest gang always has room.
 *
 * Rigid jobs get their gang or wait; more GPUs are faster in proportion for them, and kinds as their
 * models say. A job runs on one kind at a time, as Pollux knows of one only; its fair share is as many
 * GPUs of each kind, by the size of the kind. Jobs under a lease stay and take no part.
 *
 * Reference: Qiao et al., "Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep
 * Learning", OSDI 2021. */
#include "base/assert.h"
#include "base/err.h"
#include "sched/plan.h"
#include "sched/pollux_exact.h"
#include "sched/pollux_known.h"
#include "sched/pollux_search.h"
#include "sched/queue.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum search { SEARCH_EXACT, SEARCH_GENETIC };
enum { ROUNDS_LOOKED_AT = 15 };

struct memory {
    uint32_t search;
    bool avoid;
    double low, high; /* of utility; high 0: all nodes are wanted */

    uint32_t nodes; /* wanted; 0: not known yet */
    uint32_t looked;
    double utility; /* sum over rounds looked at */
    struct sched_pollux_search *genetic;
    struct sched_pollux_exact *exact;
    struct sched_pollux_known known;
};

/* ---- the problem of one round ---- */

struct round {
    struct memory *m;
    const struct sched_snapshot *snap;
    struct sched_plan *plan;
    struct base_arena *arena;
    struct sched_pollux_problem p;
    struct sched_pollux_job *jobs;
    uint32_t *index; /* (jobs of the problem): in the snapshot */
    uint8_t *room;
    bool *spanned;
    struct sched_rank *order; /* (nodes) that are up, those to be wanted first in front */
    uint32_t up;
    uint32_t gpus, nodes; /* that may be used */
    uint32_t fair;        /* GPUs a job */
};

/* Jobs under a lease stay. */
static void keep_leased(struct round *r)
{
    const struct sched_snapshot *snap = r->snap;

    for (size_t i = 0; i < snap->job_count; i++)
        if (snap->jobs[i]->lease_until_s > snap->now_s)
            (void)sched_plan_keep(r->plan, i);
}

/* Nodes that are up, those with leases first, then by GPUs held. */
static void order_nodes(struct round *r)
{
    const struct sched_snapshot *snap = r->snap;
    uint32_t count = snap->cluster->node_count;

    for (uint32_t n = 0; n < count; n++)
        r->order[n] = (struct sched_rank){snap->node_up[n] ? 0 : INFINITY, n};
    for (size_t i = 0; i < snap->job_count; i++) {
        const struct sched_alloc *a = &snap->jobs[i]->alloc;
        for (uint32_t p = 0; p < a->place_count; p++)
            if (snap->node_up[a->places[p].node])
                r->order[a->places[p].node].key -=
                    sched_plan_has(r->plan, i) ? SCHED_NODE_GPUS_MAX + 1 : a->places[p].gpus;
    }
    sched_rank_sort(r->order, r->order + count, count);
    for (r->up = 0; r->up < count && r->order[r->up].key <= 0;)
        r->up++;
}

/* Only the first so many nodes may be used, but for what was kept already. */
static void limit_nodes(struct round *r, uint32_t nodes)
{
    const struct sched_snapshot *snap = r->snap;

    memset(r->room, 0, snap->cluster->node_count * sizeof *r->room);
    memset(r->spanned, 0, snap->cluster->node_count * sizeof *r->spanned);
    r->gpus = 0;
    r->nodes = nodes;
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t n = r->order[i].job;
        r->room[n] = (uint8_t)snap->cluster->nodes[n].gpus;
        r->gpus += r->room[n];
    }
    for (size_t i = 0; i < snap->job_count; i++) {
        const struct sched_alloc *a = &snap->jobs[i]->alloc;
        for (uint32_t p = 0; sched_plan_has(r->plan, i) && p < a->place_count; p++) {
            uint32_t n = a->places[p].node;
            r->room[n] =
                (uint8_t)(r->room[n] > a->places[p].gpus ? r->room[n] - a->places[p].gpus : 0);
            r->spanned[n] |= a->place_count > 1;
        }
    }
}

/* Whether a job may stay where it is. */
static bool may_stay(const struct round *r, const struct sched_alloc *a)
{
    for (uint32_t i = 0; i < a->place_count; i++)
        if (r->room[a->places[i].node] < a->places[i].gpus)
            return false;
    return a->place_count > 0;
}

static int by_node(const void *a, const void *b)
{
    const struct sched_place *x = a, *y = b;

    return (x->node > y->node) - (x->node < y->node);
}

/* What it holds, nodes increasing; nothing where a node is gone or no longer wanted. */
static bool copy_now(struct round *r, const struct sched_job *j, struct sched_alloc *out)
{
    *out = (struct sched_alloc){0};
    if (!may_stay(r, &j->alloc))
        return true;
    struct sched_place *places = base_arena_alloc(r->arena, j->alloc.place_count * sizeof *places);
    if (places == NULL)
        return false;
    memcpy(places, j->alloc.places, j->alloc.place_count * sizeof *places);
    qsort(places, j->alloc.place_count, sizeof *places, by_node);
    *out = j->alloc;
    out->places = places;
    return true;
}

/* Share of its speedup that counts when it starts again or moves. */
static double restart_share(const struct sched_snapshot *snap, const struct sched_job *j)
{
    double age = snap->now_s - j->submit_s, restarts = j->starts - 1.0;

    if (j->starts == 0 || age + snap->restart_s <= 0)
        return 1;
    return fmax(age - restarts * snap->restart_s, 0) / (age + snap->restart_s);
}

/* Goodput of its fair share: as many GPUs of each kind, by size of kind. */
static double fair_goodput(const struct round *r, const struct sched_job *j,
                           struct sched_pollux_table *k)
{
    const struct sched_cluster *c = r->snap->cluster;
    double sum = 0, all = 0;

    for (uint32_t kind = 0; kind < c->kind_count; kind++) {
        uint32_t gpus = r->fair < k->most ? r->fair : k->most;
        double g = 0;
        if ((j->kinds >> kind & 1) == 0)
            continue;
        for (; gpus > 0 && g <= 0; gpus--) /* the next size that runs */
            g = sched_pollux_goodput(k, j->adapt, kind, false, gpus);
        sum += g * c->kinds[kind].gpus;
        all += c->kinds[kind].gpus;
    }
    return all > 0 ? sum / all : 0;
}

static bool size_adaptive(struct round *r, const struct sched_job *j, struct sched_pollux_job *out)
{
    const struct sched_cluster *c = r->snap->cluster;
    struct sched_pollux_table *k = sched_pollux_known_of(&r->m->known, j);
    uint32_t seen = sched_adapt_seen(j->adapt, c->kind_count);

    out->least = 1;
    out->most = seen > 0 ? 2 * seen : 1;
    if (out->most > k->most)
        out->most = k->most;
    if (out->most > j->adapt->gpus_max)
        out->most = j->adapt->gpus_max;
    float *s = base_arena_calloc(r->arena, 2 * (size_t)c->kind_count * (out->most + 1), sizeof *s);
    if (s == NULL)
        return false;
    double base = seen > 0 ? fair_goodput(r, j, k) : 0;
    for (uint32_t kind = 0; kind < c->kind_count; kind++)
        for (uint32_t g = 1; g <= out->most && (j->kinds >> kind & 1) != 0; g++)
            for (int spans = 0; spans < 2; spans++) {
                float *at = &s[(2 * (size_t)kind + (size_t)spans) * (out->most + 1) + g];
                if (seen == 0)
                    *at = (float)g / (float)r->fair;
                else if (base > 0 && (g > 1 || !spans))
                    *at = (float)(sched_pollux_goodput(k, j->adapt, kind, spans, g) / base);
            }
    out->speedup = s;
    return true;
}

static bool size_gang(struct round *r, const struct sched_job *j, struct sched_pollux_job *out)
{
    uint32_t kinds = r->snap->cluster->kind_count;

    out->least = out->most = j->gpus;
    float *s = base_arena_calloc(r->arena, 2 * (size_t)kinds * (j->gpus + 1), sizeof *s);
    if (s == NULL)
        return false;
    for (uint32_t i = 0; i < j->kind_count; i++)
        for (int spans = 0; spans < 2; spans++)
            s[(2 * (size_t)j->kind_rank[i] + (size_t)spans) * (j->gpus + 1) + j->gpus] =
                (float)j->gpus / (float)r->fair / j->kind_slower[i];
    out->speedup = s;
    return true;
}

/* In the order of service so far, then of arrival. */
static shoal_status build(struct round *r)
{
    const struct sched_snapshot *snap = r->snap;
    struct sched_rank *order = sched_rank_alloc(r->plan, snap);
    uint32_t count = 0;

    if (order == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t i = 0; i < snap->job_count; i++)
        if (!sched_plan_has(r->plan, i))
            order[count++] = (struct sched_rank){snap->jobs[i]->attained_gpu_s, i};
    sched_rank_sort(order, order + snap->job_count, count);
    r->fair = (uint32_t)ceil(fmax(r->gpus, 1) / fmax((double)snap->job_count, 1));
    for (uint32_t i = 0; i < count; i++) {
        const struct sched_job *j = snap->jobs[order[i].job];
        struct sched_pollux_job *out = &r->jobs[i];
        r->index[i] = order[i].job;
        *out = (struct sched_pollux_job){
            .id = j->id, .weight = j->weight, .again = restart_share(snap, j)};
        if (!copy_now(r, j, &out->now) ||
            !(j->adapt != NULL ? size_adaptive(r, j, out) : size_gang(r, j, out)))
            return SHOAL_E_NOMEM;
        if (out->now.gpus > out->most || out->now.gpus < out->least)
            out->now = (struct sched_alloc){0};
    }
    r->p = (struct sched_pollux_problem){
        .cluster = snap->cluster,
        .room = r->room,
        .spanned = r->spanned,
        .jobs = r->jobs,
        .job_count = count,
        .scale = r->gpus > 0 ? (double)r->nodes / r->gpus : 1,
        .avoid = r->m->avoid,
    };
    return SHOAL_OK;
}

/* ---- the plan ---- */

static struct sched_alloc answer_of(const struct round *r, const struct sched_pollux_places *a,
                                    uint32_t i)
{
    struct sched_alloc out = {.places = a->place + a->first[i],
                              .place_count = (uint32_t)(a->first[i + 1] - a->first[i])};

    for (uint32_t p = 0; p < out.place_count; p++)
        out.gpus += out.places[p].gpus;
    if (out.place_count > 0)
        out.kind = r->snap->cluster->nodes[out.places[0].node].kind;
    return out;
}

/* The rules of placement forbid what was found: whatever they allow, of the same size. */
static void place_elsewhere(struct round *r, uint32_t i, const struct sched_alloc *a)
{
    uint32_t index = r->index[i];
    bool adapts = r->snap->jobs[index]->adapt != NULL;
    const struct sched_alloc *now = &r->snap->jobs[index]->alloc;

    if (now->kind == a->kind && now->gpus == a->gpus && sched_plan_keep(r->plan, index))
        return;
    if (adapts ? sched_plan_place_as(r->plan, index, a->kind, a->gpus, SCHED_FIT_PACK)
               : sched_plan_place(r->plan, index, a->kind, SCHED_FIT_PACK))
        return;
    (void)sched_plan_keep(r->plan, index);
}

static void fill_plan(struct round *r, const struct sched_pollux_places *answer)
{
    for (uint32_t i = 0; i < r->p.job_count; i++) {
        struct sched_alloc a = answer_of(r, answer, i);
        if (a.place_count > 0 && sched_pollux_stays(&r->jobs[i], a.places, a.place_count))
            (void)sched_plan_keep(r->plan, r->index[i]);
    }
    for (uint32_t i = 0; i < r->p.job_count; i++) {
        struct sched_alloc a = answer_of(r, answer, i);
        if (a.place_count > 0 && !sched_plan_has(r->plan, r->index[i]))
            (void)sched_plan_place_at(r->plan, r->index[i], &a);
    }
    for (uint32_t i = 0; i < r->p.job_count; i++) {
        struct sched_alloc a = answer_of(r, answer, i);
        if (a.place_count > 0 && !sched_plan_has(r->plan, r->index[i]))
            place_elsewhere(r, i, &a);
    }
    sched_plan_wait_others(r->plan, SCHED_WHY_FAIR_SHARE, SCHED_JOB_NONE);
}

static shoal_status choose_exactly(struct round *r, struct sched_pollux_places *out)
{
    struct memory *m = r->m;
    shoal_status st = SHOAL_OK;

    if (m->exact == NULL)
        st = sched_pollux_exact_new(r->snap->alloc, &m->exact);
    return st == SHOAL_OK ? sched_pollux_exact_run(m->exact, &r->p, r->arena, out, NULL) : st;
}

/* The genetic search has a row for each job, so it looks at those that hold GPUs and, of those that
 * wait, at as many as there are GPUs, in the order of the problem. The others wait on. */
static void leave_out_the_last(struct round *r)
{
    uint32_t kept = 0, others = r->gpus;

    for (uint32_t i = 0; i < r->p.job_count; i++) {
        bool waits = r->jobs[i].now.place_count == 0;
        if (waits && others == 0)
            continue;
        others -= waits;
        r->jobs[kept] = r->jobs[i];
        r->index[kept++] = r->index[i];
    }
    r->p.job_count = kept;
}

static shoal_status search(struct round *r, struct sched_pollux_places *out)
{
    struct memory *m = r->m;
    shoal_status st = SHOAL_OK;

    if (m->search == SEARCH_EXACT)
        return choose_exactly(r, out);
    leave_out_the_last(r);
    if (m->genetic == NULL)
        st = sched_pollux_search_new(r->snap->alloc, r->snap->seed, &m->genetic);
    return st == SHOAL_OK ? sched_pollux_search_run(m->genetic, &r->p, r->arena, out) : st;
}

/* ---- how many nodes ---- */

/* Speedup over one GPU of the kind. */
static double speedup_over_one(const struct round *r, const struct sched_job *j,
                               const struct sched_alloc *a)
{
    if (j->adapt == NULL || sched_adapt_seen(j->adapt, r->snap->cluster->kind_count) == 0)
        return a->gpus;
    struct sched_pollux_table *k = sched_pollux_known_of(&r->m->known, j);
    double one = sched_pollux_goodput(k, j->adapt, a->kind, false, 1);
    return a->gpus <= k->most && one > 0
               ? sched_pollux_goodput(k, j->adapt, a->kind, a->place_count > 1, a->gpus) / one
               : 1;
}

/* Of what jobs hold now, on the nodes wanted so far. */
static double utility_now(const struct round *r)
{
    double sum = 0;

    for (size_t i = 0; i < r->snap->job_count; i++)
        if (r->snap->jobs[i]->alloc.place_count > 0)
            sum += speedup_over_one(r, r->snap->jobs[i], &r->snap->jobs[i]->alloc);
    return r->gpus > 0 ? sum / r->gpus : 0;
}

/* Of what jobs would hold on so many nodes. */
static shoal_status utility_on(struct round *r, uint32_t nodes, double *out)
{
    struct sched_pollux_places answer;

    limit_nodes(r, nodes);
    shoal_status st = build(r);
    if (st == SHOAL_OK)
        st = choose_exactly(r, &answer);
    if (st != SHOAL_OK)
        return st;
    double sum = 0;
    for (uint32_t i = 0; i < r->p.job_count; i++) {
        struct sched_alloc a = answer_of(r, &answer, i);
        if (a.place_count > 0)
            sum += speedup_over_one(r, r->snap->jobs[r->index[i]], &a);
    }
    for (size_t i = 0; i < r->snap->job_count; i++)
        if (sched_plan_has(r->plan, i))
            sum += speedup_over_one(r, r->snap->jobs[i], &r->snap->jobs[i]->alloc);
    *out = r->gpus > 0 ? sum / r->gpus : 0;
    return SHOAL_OK;
}

/* The number whose utility is nearest the middle of the bounds; utility falls with it. */
static shoal_status resize(struct round *r)
{
    double middle = (r->m->low + r->m->high) / 2, less = 0, more = 0;
    uint32_t lo = 1, hi = r->up;

    while (lo + 1 < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        shoal_status st = utility_on(r, mid, &less);
        if (st != SHOAL_OK)
            return st;
        if (less < middle)
            hi = mid;
        else
            lo = mid;
    }
    shoal_status st = utility_on(r, lo, &more);
    if (st == SHOAL_OK)
        st = utility_on(r, hi, &less);
    if (st == SHOAL_OK)
        r->m->nodes = fabs(more - middle) < fabs(less - middle) ? lo : hi;
    return st;
}

/* Whether the first so many nodes have room for every gang of the jobs. */
static bool holds_gangs(struct round *r, uint32_t nodes)
{
    uint32_t gpus[SCHED_KINDS_MAX] = {0};

    for (uint32_t i = 0; i < nodes; i++) {
        const struct sched_node *n = &r->snap->cluster->nodes[r->order[i].job];
        gpus[n->kind] += n->gpus;
    }
    for (size_t i = 0; i < r->snap->job_count; i++) {
        const struct sched_job *j = r->snap->jobs[i];
        bool fits = j->adapt != NULL;
        for (uint32_t k = 0; k < j->kind_count && !fits; k++)
            fits = gpus[j->kind_rank[k]] >= j->gpus;
        if (!fits)
            return false;
    }
    return true;
}

static shoal_status autoscale(struct round *r)
{
    struct memory *m = r->m;
    shoal_status st = SHOAL_OK;

    if (m->nodes == 0 || m->nodes > r->up)
        m->nodes = r->up;
    limit_nodes(r, m->nodes);
    double now = utility_now(r);
    m->looked += now > 0;
    m->utility += now;
    if (m->looked >= ROUNDS_LOOKED_AT) {
        double mean = m->utility / m->looked;
        m->looked = 0;
        m->utility = 0;
        if (mean < m->low || mean > m->high)
            st = resize(r);
    }
    while (m->nodes < r->up && !holds_gangs(r, m->nodes))
        m->nodes++;
    return st;
}

/* ---- a decision ---- */

static bool round_init(struct round *r)
{
    size_t nodes = r->snap->cluster->node_count, jobs = r->snap->job_count;

    r->jobs = base_arena_alloc(r->arena, jobs * sizeof *r->jobs);
    r->index = base_arena_alloc(r->arena, jobs * sizeof *r->index);
    r->room = base_arena_alloc(r->arena, nodes * sizeof *r->room);
    r->spanned = base_arena_alloc(r->arena, nodes * sizeof *r->spanned);
    r->order = base_arena_alloc(r->arena, 2 * nodes * sizeof *r->order);
    return r->jobs != NULL && r->index != NULL && r->room != NULL && r->spanned != NULL &&
           r->order != NULL;
}

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    struct memory *m = memory;
    struct round r = {.m = m, .snap = snap, .plan = plan, .arena = sched_plan_arena(plan)};
    struct sched_pollux_places answer;

    if (snap->job_count == 0)
        return SHOAL_OK;
    if (!round_init(&r))
        return SHOAL_E_NOMEM;
    shoal_status st = sched_pollux_known_update(&m->known, snap);
    if (st != SHOAL_OK)
        return st;
    keep_leased(&r);
    order_nodes(&r);
    if (m->high > 0)
        st = autoscale(&r);
    limit_nodes(&r, m->high > 0 ? m->nodes : r.up);
    if (st == SHOAL_OK)
        st = build(&r);
    if (st == SHOAL_OK)
        st = search(&r, &answer);
    if (st != SHOAL_OK)
        return st;
    fill_plan(&r, &answer);
    if (m->high > 0)
        sched_plan_set_nodes(plan, m->nodes);
    return sched_plan_status(plan);
}

static shoal_status check(const void *memory, const struct sched_setting *setting, shoal_err *err)
{
    const struct memory *m = memory;

    (void)setting;
    if (m->high > 0 && m->low > m->high)
        return base_err(err, SHOAL_E_INVAL, "autoscale_low is %g, above autoscale_high, %g", m->low,
                        m->high);
    return SHOAL_OK;
}

static void fini(void *memory, const struct base_alloc *alloc)
{
    struct memory *m = memory;

    sched_pollux_search_free(m->genetic);
    sched_pollux_exact_free(m->exact);
    sched_pollux_known_fini(&m->known, alloc);
}

static const char *const search_names[] = {"exact", "genetic", NULL};

#define AT(member) offsetof(struct memory, member)

static const shoal_opt opts[] = {
    {AT(search), SHOAL_OPT_CHOICE, "search", 0, "HOW", "exact",
     "exact: the best sizes, then places; genetic: the paper's search", .choices = search_names},
    {AT(avoid), SHOAL_OPT_FLAG, "avoid", 0, NULL, "true",
     .help = "at most one sized job that spans nodes on any node, as such jobs slow each other"},
    {AT(low), SHOAL_OPT_F64, "autoscale_low", 0, "U", "0",
     "fewer nodes are wanted when jobs' speedups sum to less than this a GPU", .max = 1},
    {AT(high), SHOAL_OPT_F64, "autoscale_high", 0, "U", "0",
     "more nodes are wanted when they sum to more; 0: all nodes, always", .max = 1},
};

const struct sched_policy sched_policy_pollux = {
    .name = "pollux",
    .summary = "sizes and batches of all jobs together, by the goodput each has measured",
    .optimises = "Goodput over fair share, the slowest jobs counting most: average completion time "
                 "of jobs that adapt, without knowing how much work is left.",
    .paper = "Qiao et al., Pollux, OSDI 2021",
    .opts = opts,
    .opt_count = BASE_COUNT(opts),
    .memory_size = sizeof(struct memory),
    .preempts = true,
    .alone = true,
    .work_conserving = false,
    .starvation_free = false,
    .check = check,
    .decide = decide,
    .fini = fini,
};
