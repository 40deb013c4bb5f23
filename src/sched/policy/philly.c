/* philly.c - virtual clusters with quotas, gangs with locality: Microsoft's Philly, and what its
 * study recommends.
 *
 * A job's group is its virtual cluster, with a quota of GPUs (quota.h). Jobs go in order of
 * arrival, and one that finds no place does not hold up those behind it. A job wants its GPUs close
 * together: on the fewest nodes, in one rack; after `backoff` it takes any nodes of one rack, after
 * as long again any at all. What waits, waits for one of
 *
 *   fair_share   its group would be over its quota, and it would run if groups of which nobody
 *                lacks GPUs gave up those they hold by right, or if it were allowed to borrow;
 *   locality     enough GPUs are free, but not as close together as it still asks for;
 *   capacity     too few GPUs are free, and quotas are not what keeps it from others.
 *
 * Groups over their quota borrow what others leave idle. Once `full` of the GPUs are in use, jobs
 * that run on borrowed GPUs, the latest first, give way to one that its group's quota covers.
 *
 * Three guidelines of the study can be turned on, each for itself:
 *
 *   patience   a long job waits longer for close places: up to that many times its run time, as was
 *              told, or as it has run so far;
 *   migrate    where GPUs are free but scattered, a few running jobs move so that a gang finds room
 *              (defrag.h). Where that cannot be, the job waits no longer than a restart costs,
 * takes
 *              scattered places, and is brought together once there is room: waiting longer cannot
 *              pay. A job moves at most `moves` times an hour: note[0] is when it may again;
 *   dedicated  a job of several GPUs goes to nodes without another such job where it can, and small
 *              nodes are filled first, so that large ones stay whole.
 *
 * Cost: O(jobs + nodes) for a decision in which nobody finds a place, as searches that failed are
 * remembered; a search is a pass over the nodes, room by moves a few.
 *
 * Reference: Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training
 * Workloads", USENIX ATC 2019. Departures: the back-off is by time, not by counted attempts; racks
 * are those of the cluster's description; preempted jobs keep what they did. */
#include "base/assert.h"
#include "sched/defrag.h"
#include "sched/quota.h"

#include <math.h>
#include <string.h>

struct memory {
    const char *quota;
    double full, backoff_s, patience;
    uint64_t moves; /* of one job, an hour */
    bool borrow, migrate, dedicated;
    struct state *state; /* NULL: before the first decision */
};

struct state {
    struct sched_floor floor;
    struct sched_quota quota;
    struct sched_defrag defrag;
};

/* A job that waits, with what is asked of it over and over. */
struct waiting {
    uint32_t job, gpus, group;
    bool refused; /* within its quota, and found no place */
};

/* One decision. */
struct work {
    const struct memory *m;
    const struct sched_snapshot *snap;
    struct sched_plan *plan;
    struct state *s;
    bool *movable;   /* by job */
    bool *borrowed;  /* by job: runs on GPUs beyond its group's quota */
    uint32_t *loans; /* the jobs of which that was said, in order of arrival */
    size_t loan_count;
    uint32_t loan_gpus;      /* at least as many as they hold by now */
    struct waiting *waiting; /* in order of arrival, then those that were preempted */
    size_t waiting_count;
    bool defrag_begun; /* in this decision */
    shoal_status st;
};

/* ---- what runs ---- */

static inline void add_waiting(struct work *w, size_t i)
{
    const struct sched_job *j = w->snap->jobs[i];

    shoal_assert(w->waiting_count < w->snap->job_count);
    w->waiting[w->waiting_count++] =
        (struct waiting){.job = (uint32_t)i, .gpus = j->gpus, .group = j->group};
}

/* Whoever runs goes on; the others wait. */
static void keep_running(struct work *w)
{
    const struct sched_snapshot *snap = w->snap;

    for (size_t i = 0; i < snap->job_count && w->st == SHOAL_OK; i++) {
        const struct sched_job *j = snap->jobs[i];
        if (j->group >= w->s->quota.count)
            w->st = sched_quota_meet(&w->s->quota, w->m->quota, snap, j->group);
        if (w->st != SHOAL_OK)
            return;
        bool kept = j->alloc.place_count > 0 && sched_plan_keep(w->plan, i);
        if (!kept && (j->alloc.place_count == 0 || !sched_plan_keep_shared(w->plan, i))) {
            add_waiting(w, i);
            continue;
        }
        bool leased = j->lease_until_s > snap->now_s;
        if (kept)
            sched_floor_take(&w->s->floor, &j->alloc);
        sched_quota_hold(&w->s->quota, j->group, j->alloc.gpus);
        w->borrowed[i] = !sched_quota_covers(&w->s->quota, j->group, j->alloc.gpus) && !leased &&
                         j->partner == SCHED_JOB_NONE && kept;
        if (w->borrowed[i]) {
            w->loans[w->loan_count++] = (uint32_t)i;
            w->loan_gpus += j->alloc.gpus;
        }
        w->movable[i] = kept && !leased && j->partner == SCHED_JOB_NONE &&
                        j->note[0].f <= snap->now_s && w->m->moves > 0;
    }
}

/* ---- how close ---- */

/* Seconds the whole job is expected to run: as was told, else as long as it has so far. */
static double expected_s(const struct sched_job *j, const struct sched_cluster *cluster)
{
    if (!(j->work_told > 0) || !isfinite(j->work_told))
        return j->run_s;
    return sched_model_ideal_s(&j->model, cluster, j->kind_rank[0], j->gpus, 0) * j->work_told /
           j->model.work;
}

/* Seconds it will still run; of one of which nothing was told, or that has gone beyond it, as many
 * as it has run. */
static double left_s(const struct sched_job *j, const struct sched_cluster *cluster)
{
    if (!(j->work_told > j->progress) || !isfinite(j->work_told))
        return j->run_s;
    return expected_s(j, cluster) * (1 - j->progress / j->work_told);
}

/* Seconds it asks for the closest places, and again as long for one rack. Where jobs are moved, one
 * that started scattered is brought together later for the price of a restart: to wait longer than
 * that does not pay. */
static void patience_of(const struct work *w, const struct sched_job *j, double *strict_s,
                        double *rack_s)
{
    const struct memory *m = w->m;

    *strict_s = *rack_s = m->backoff_s;
    if (m->patience > 0)
        *strict_s = fmax(*strict_s, m->patience * expected_s(j, w->snap->cluster));
    if (m->migrate && m->moves > 0) {
        *strict_s = fmin(*strict_s, w->snap->restart_s);
        *rack_s = fmin(*rack_s, w->snap->restart_s);
    }
}

static enum sched_locality level_of(const struct work *w, const struct sched_job *j)
{
    double waited_s = j->alloc.place_count > 0 ? 0 : w->snap->now_s - j->wait_since_s;
    double strict_s, rack_s;

    if (w->m->backoff_s <= 0 || j->gpus == 1)
        return SCHED_LOCALITY_STRICT;
    patience_of(w, j, &strict_s, &rack_s);
    return waited_s < strict_s            ? SCHED_LOCALITY_STRICT
           : waited_s < strict_s + rack_s ? SCHED_LOCALITY_RACK
                                          : SCHED_LOCALITY_ANYWHERE;
}

static struct sched_floor_rules rules_at(const struct work *w, enum sched_locality level)
{
    return (struct sched_floor_rules){.level = level, .apart = w->m->dedicated};
}

/* ---- starting a job ---- */

static bool start_at(struct work *w, size_t i, const struct sched_alloc *a)
{
    if (sched_plan_put(w->plan, i, a)) {
        sched_quota_hold(&w->s->quota, w->snap->jobs[i]->group, a->gpus);
        return true;
    }
    sched_floor_give(&w->s->floor, a);
    return false;
}

/* Where there is room at one level of locality, on the fastest kind. */
static bool start_free(struct work *w, size_t i, enum sched_locality level)
{
    const struct sched_job *j = w->snap->jobs[i];
    struct sched_alloc a;

    for (uint32_t n = 0; n < j->kind_count; n++)
        if (sched_floor_find(&w->s->floor, j->kind_rank[n], j->gpus, rules_at(w, level), &a))
            return start_at(w, i, &a);
    return false;
}

/* It has been moved, and may be again later. */
static void count_move(struct work *w, size_t i)
{
    w->movable[i] = w->borrowed[i] = false;
    w->snap->jobs[i]->note[0].f = w->snap->now_s + 3600.0 / (double)w->m->moves;
}

/* The moves that made room are carried out: all let go first, as one may go where another was. */
static void carry_moves(struct work *w, uint32_t kind)
{
    const struct sched_defrag *d = &w->s->defrag;

    for (uint32_t m = 0; m < d->move_count; m++) {
        bool dropped = sched_plan_drop(w->plan, d->moves[m].job);
        shoal_assert(dropped);
        (void)dropped;
        count_move(w, d->moves[m].job);
    }
    for (uint32_t m = 0; m < d->move_count; m++) {
        struct sched_alloc to = sched_floor_on_node(&d->moves[m].to, kind);
        if (!sched_plan_put(w->plan, d->moves[m].job, &to))
            w->st = SHOAL_E_NOMEM; /* one node: only memory can be short */
    }
}

/* By moving others. */
static bool start_by_moves(struct work *w, size_t i)
{
    const struct sched_job *j = w->snap->jobs[i];
    struct sched_defrag *d = &w->s->defrag;

    for (uint32_t n = 0; n < j->kind_count; n++) {
        uint32_t kind = j->kind_rank[n];
        if (w->s->floor.kind_free[kind] < j->gpus)
            continue;
        if (!w->defrag_begun) {
            w->st = sched_defrag_begin(d, &w->s->floor, w->snap, w->movable);
            w->defrag_begun = true;
        }
        if (w->st != SHOAL_OK)
            return false;
        if (!sched_defrag_make_room(d, kind, j->gpus, rules_at(w, SCHED_LOCALITY_STRICT)))
            continue;
        struct sched_alloc a = {.places = d->places,
                                .place_count = d->place_count,
                                .gpus = j->gpus,
                                .kind = (uint16_t)kind};
        if (!sched_plan_allows(w->plan, i, &a)) {
            sched_defrag_undo(d, kind);
            continue;
        }
        carry_moves(w, kind);
        return start_at(w, i, &a);
    }
    return false;
}

/* ---- taking back what is borrowed ---- */

/* Whether jobs on borrowed GPUs have to give way. */
static bool is_full(const struct work *w)
{
    const struct sched_floor *f = &w->s->floor;

    return f->gpus_up - f->gpus_free >= w->m->full * f->gpus_up;
}

/* Jobs on borrowed GPUs let go, the latest first, until the job finds places; those that were not
 * in the way stay. */
static bool start_by_preemption(struct work *w, size_t i, enum sched_locality level)
{
    const struct sched_job *j = w->snap->jobs[i];
    struct sched_floor *f = &w->s->floor;
    size_t first = w->loan_count;
    struct sched_alloc a;
    bool found = false;

    while (!found && first > 0) {
        uint32_t last = w->loans[--first];
        const struct sched_job *v = w->snap->jobs[last];
        if (!w->borrowed[last] || (j->kinds >> v->alloc.kind & 1) == 0)
            continue;
        sched_floor_give(f, &v->alloc);
        found = sched_floor_find(f, v->alloc.kind, j->gpus, rules_at(w, level), &a);
        if (found && !sched_plan_allows(w->plan, i, &a)) {
            sched_floor_give(f, &a);
            found = false;
        }
    }
    for (size_t n = first; n < w->loan_count; n++) { /* the longest-borrowing first */
        uint32_t v = w->loans[n];
        const struct sched_alloc *held = &w->snap->jobs[v]->alloc;
        if (!w->borrowed[v] || (j->kinds >> held->kind & 1) == 0)
            continue;
        if (!found || sched_floor_fits(f, held)) {
            sched_floor_take(f, held);
            continue;
        }
        w->borrowed[v] = w->movable[v] = false;
        w->loan_gpus -= held->gpus;
        sched_quota_release(&w->s->quota, w->snap->jobs[v]->group, held->gpus);
        if (!sched_plan_drop(w->plan, v))
            w->st = SHOAL_E_INTERNAL;
        add_waiting(w, v);
    }
    return found && start_at(w, i, &a);
}

/* ---- the decision ---- */

/* A job within its quota: close together, by moves, as far apart as it puts up with by now, or in
 * the place of those that borrowed. */
static bool start_within(struct work *w, size_t i)
{
    const struct sched_job *j = w->snap->jobs[i];
    enum sched_locality level = level_of(w, j);

    if (start_free(w, i, SCHED_LOCALITY_STRICT) || (w->m->migrate && start_by_moves(w, i)))
        return true;
    if (level != SCHED_LOCALITY_STRICT && start_free(w, i, level))
        return true;
    return !w->s->quota.none && is_full(w) && start_by_preemption(w, i, level);
}

/* A job over its quota, on what is idle. */
static bool start_beyond(struct work *w, size_t i)
{
    const struct sched_job *j = w->snap->jobs[i];
    enum sched_locality level = level_of(w, j);

    return start_free(w, i, SCHED_LOCALITY_STRICT) || (w->m->migrate && start_by_moves(w, i)) ||
           (level != SCHED_LOCALITY_STRICT && start_free(w, i, level));
}

/* A job larger than its group's quota would never be within it: it may run by itself. */
static bool may_borrow(const struct work *w, const struct sched_job *j)
{
    const struct sched_quota *q = &w->s->quota;

    return w->m->borrow ||
           (sched_quota_held(q, j->group) == 0 && j->gpus > sched_quota_of(q, j->group));
}

/* GPUs free of the kind that has most. */
static uint32_t most_free(const struct work *w)
{
    uint32_t most = 0;

    for (uint32_t k = 0; k < w->snap->cluster->kind_count; k++)
        if (w->s->floor.kind_free[k] > most)
            most = w->s->floor.kind_free[k];
    return most;
}

static void start_waiting(struct work *w)
{
    size_t count = w->waiting_count; /* who is preempted comes after those over their quota */
    uint32_t free = most_free(w);

    for (size_t n = 0; n < count && w->st == SHOAL_OK; n++) {
        struct waiting *x = &w->waiting[n];
        if (!sched_quota_fits(&w->s->quota, x->group, x->gpus))
            continue;
        x->refused = x->gpus > free + w->loan_gpus || !start_within(w, x->job);
        if (!x->refused)
            free = most_free(w);
    }
    if (w->s->quota.none)
        return;
    for (size_t n = 0; n < w->waiting_count && w->st == SHOAL_OK; n++) {
        const struct waiting *x = &w->waiting[n];
        if (x->gpus > free || x->refused || sched_plan_has(w->plan, x->job) ||
            !may_borrow(w, w->snap->jobs[x->job]))
            continue;
        if (start_beyond(w, x->job))
            free = most_free(w);
    }
}

/* What a move has to be worth: the time a job has left, in restarts. Spread over more nodes than it
 * needs it loses about a seventh of its speed (model_spread.h), which pays for a restart then. */
static const double GATHER_RESTARTS = 20;

/* Jobs that run on more nodes than they need move together where there is room. */
static void gather_spread(struct work *w)
{
    struct sched_floor *f = &w->s->floor;

    for (size_t i = 0; i < w->snap->job_count && w->st == SHOAL_OK; i++) {
        const struct sched_job *j = w->snap->jobs[i];
        const struct sched_alloc *at = &j->alloc;
        struct sched_alloc a;
        if (at->place_count < 2 || !w->movable[i] ||
            at->place_count <= sched_floor_fewest(f, at->kind, at->gpus))
            continue;
        if (left_s(j, w->snap->cluster) < GATHER_RESTARTS * w->snap->restart_s)
            continue;
        sched_floor_give(f, at);
        if (!sched_floor_find(f, at->kind, at->gpus, rules_at(w, SCHED_LOCALITY_STRICT), &a)) {
            sched_floor_take(f, at);
            continue;
        }
        if (!sched_plan_allows(w->plan, i, &a) || !sched_plan_drop(w->plan, i)) {
            sched_floor_give(f, &a);
            sched_floor_take(f, at);
            continue;
        }
        count_move(w, i);
        if (!sched_plan_put(w->plan, i, &a))
            w->st = SHOAL_E_NOMEM; /* the places are free and allowed */
    }
}

/* GPUs free of the kind it may use that has most. */
static uint32_t free_for(const struct work *w, const struct sched_job *j)
{
    uint32_t most = 0;

    for (uint32_t n = 0; n < j->kind_count; n++)
        if (w->s->floor.kind_free[j->kind_rank[n]] > most)
            most = w->s->floor.kind_free[j->kind_rank[n]];
    return most;
}

/* Too few GPUs are free for it, wherever they are. */
static bool lacks_gpus(const struct work *w, const struct waiting *x, uint32_t most)
{
    return x->gpus > most || free_for(w, w->snap->jobs[x->job]) < x->gpus;
}

/* GPUs that are free, or that groups of which nobody lacks any hold by right. That is what quotas
 * keep from those over theirs; where everybody lacks GPUs there are too few of them, whatever the
 * quotas. */
static uint32_t kept_by_quotas(struct work *w, uint32_t most)
{
    const struct sched_quota *q = &w->s->quota;
    bool *lack = base_arena_calloc(sched_plan_arena(w->plan), q->count + 1, sizeof *lack);
    uint32_t gpus = w->s->floor.gpus_free;

    if (lack == NULL) {
        w->st = SHOAL_E_NOMEM;
        return 0;
    }
    for (size_t n = 0; n < w->waiting_count; n++) {
        const struct waiting *x = &w->waiting[n];
        if (!lack[x->group] && !sched_plan_has(w->plan, x->job))
            lack[x->group] = lacks_gpus(w, x, most);
    }
    for (uint32_t g = 0; g < q->count; g++) {
        uint32_t right = sched_quota_of(q, g), held = sched_quota_held(q, g);
        if (!lack[g])
            gpus += held < right ? held : right;
    }
    return gpus;
}

/* What is not said of each is capacity, the most common. */
static void explain(struct work *w)
{
    bool none = w->s->quota.none;
    uint32_t most = most_free(w), kept = none ? 0 : kept_by_quotas(w, most);

    sched_plan_wait_others(w->plan, SCHED_WHY_CAPACITY, SCHED_JOB_NONE);
    for (size_t n = 0; n < w->waiting_count; n++) {
        const struct waiting *x = &w->waiting[n];
        if (x->gpus > most && (none || x->refused || x->gpus > kept))
            continue;
        if (sched_plan_has(w->plan, x->job))
            continue;
        const struct sched_job *j = w->snap->jobs[x->job];
        struct sched_why why = {.want = j->gpus, .kind = UINT16_MAX, .behind = UINT32_MAX};
        bool enough = !lacks_gpus(w, x, most);
        if (enough) {
            why.reason = x->refused || may_borrow(w, j) ? SCHED_WHY_LOCALITY : SCHED_WHY_FAIR_SHARE;
        } else if (!x->refused && x->gpus <= kept) {
            why.reason = SCHED_WHY_FAIR_SHARE;
            kept -= x->gpus;
        } else {
            continue;
        }
        sched_plan_wait(w->plan, x->job, why);
    }
}

static shoal_status make_state(struct memory *m, const struct sched_snapshot *snap)
{
    struct state *s = base_calloc(snap->alloc, 1, sizeof *s);

    if (s == NULL)
        return SHOAL_E_NOMEM;
    if (sched_floor_init(&s->floor, snap->alloc, snap->cluster) != SHOAL_OK) {
        base_free(snap->alloc, s);
        return SHOAL_E_NOMEM;
    }
    m->state = s;
    return SHOAL_OK;
}

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    struct memory *m = memory;
    struct base_arena *arena = sched_plan_arena(plan);
    bool *flags = base_arena_calloc(arena, 2 * snap->job_count + 1, sizeof *flags);
    struct waiting *waiting = base_arena_alloc(arena, (snap->job_count + 1) * sizeof *waiting);
    uint32_t *loans = base_arena_alloc(arena, (snap->job_count + 1) * sizeof *loans);

    if (flags == NULL || waiting == NULL || loans == NULL ||
        (m->state == NULL && make_state(m, snap) != SHOAL_OK))
        return SHOAL_E_NOMEM;
    struct work w = {.m = m,
                     .snap = snap,
                     .plan = plan,
                     .s = m->state,
                     .movable = flags,
                     .borrowed = flags + snap->job_count,
                     .loans = loans,
                     .waiting = waiting};
    sched_quota_begin(&w.s->quota, m->quota, snap);
    sched_floor_begin(&w.s->floor, snap);
    keep_running(&w);
    if (w.st != SHOAL_OK)
        return w.st;
    start_waiting(&w);
    if (m->migrate)
        gather_spread(&w);
    explain(&w);
    return w.st != SHOAL_OK ? w.st : sched_plan_status(plan);
}

/* Jobs that run on several nodes may be brought together once their last move is long enough ago. */
static bool settled(const void *memory, const struct sched_snapshot *snap)
{
    const struct memory *m = memory;

    for (size_t i = 0; i < snap->job_count && m->migrate; i++)
        if (snap->jobs[i]->alloc.place_count > 1)
            return false;
    return true;
}

static shoal_status check(const void *memory, const struct sched_setting *setting, shoal_err *err)
{
    return sched_quota_check(((const struct memory *)memory)->quota, setting, err);
}

static void fini(void *memory, const struct base_alloc *alloc)
{
    struct memory *m = memory;

    if (m->state == NULL)
        return;
    sched_floor_fini(&m->state->floor);
    sched_quota_fini(&m->state->quota);
    sched_defrag_fini(&m->state->defrag);
    base_free(alloc, m->state);
    m->state = NULL;
}

#define AT(member) offsetof(struct memory, member)

static const shoal_opt opts[] = {
    {AT(quota), SHOAL_OPT_STR, "quota", 0, "LIST",
     .help = "GPUs each group has a right to, as vision=64+speech=32, 0 for those not named; not "
             "given: no quotas"},
    {AT(borrow), SHOAL_OPT_FLAG, "borrow", 0, NULL, "true",
     .help = "a group over its quota may use GPUs that others leave idle"},
    {AT(full), SHOAL_OPT_F64, "full", 0, "SHARE", "0.9",
     "borrowed GPUs are taken back only once this share of the GPUs is in use", .max = 1},
    {AT(backoff_s), SHOAL_OPT_DURATION, "backoff", 0, "TIME", "10m",
     "after waiting this long a job asks for one level of locality less, and again; 0: never",
     .max = 1e9},
    {AT(patience), SHOAL_OPT_F64, "patience", 0, "X", "0",
     "a job waits for close places up to X times its run time, where that is longer", .max = 1e6},
    {AT(migrate), SHOAL_OPT_FLAG, "migrate", 0, NULL, "false",
     .help = "move a few running jobs where that gives a waiting one close places"},
    {AT(moves), SHOAL_OPT_U64, "moves", 0, "N", "2", "times a job may be moved in an hour, at most",
     .max = 3600},
    {AT(dedicated), SHOAL_OPT_FLAG, "dedicated", 0, NULL, "false",
     .help = "jobs of several GPUs keep apart from each other, and small nodes are filled first"},
};

const struct sched_policy sched_policy_philly = {
    .name = "philly",
    .summary = "virtual clusters with quotas, gangs close together; the Philly study's guidelines",
    .optimises = "Locality of gangs under quotas of groups, as Microsoft's Philly did, and less "
                 "waiting for it with the guidelines of its study: patience, migrate, dedicated.",
    .paper = "Jeon et al., Analysis of Large-Scale Multi-Tenant GPU Clusters, USENIX ATC 2019",
    .opts = opts,
    .opt_count = BASE_COUNT(opts),
    .memory_size = sizeof(struct memory),
    .preempts = true,
    .work_conserving = false,
    .starvation_free = false,
    .check = check,
    .decide = decide,
    .settled = settled,
    .fini = fini,
};
