/* plan.c - one decision: who keeps, gets or shares which GPUs, and why the others wait.
 *
 * The GPUs that are still free are kept by books.c. Grants and reasons are stored densely, with one
 * index per job, because most jobs of a long queue get neither. */
#include "sched/plan.h"

#include "base/assert.h"
#include "base/err.h"
#include "sched/books.h"
#include <string.h>

struct sched_plan {
    const struct base_alloc *alloc;
    const struct sched_cluster *cluster;
    struct sched_place_opts opts;
    const struct sched_snapshot *snap;
    struct base_arena arena;
    struct sched_books books;

    uint32_t *grant_of, *why_of; /* per job: index + 1 into the dense arrays, 0: none */
    size_t grant_of_cap, why_of_cap;
    struct sched_grant *grants;
    size_t grant_count, grant_cap;
    struct sched_why *whys;
    size_t why_count, why_cap;
    enum sched_reason others;
    enum sched_reason turn; /* of jobs that wait for theirs */
    uint32_t behind;        /* index of the job nobody may overtake */
    shoal_status status;    /* SHOAL_E_NOMEM once places or shares could not be stored */

    float *wanted; /* (jobs, kinds) in the arena; NULL: nothing said */
    double prices[SCHED_KINDS_MAX];
    const char *price_unit;
    bool priced, price_next;
    bool for_less; /* upgrades must not cost more */
    bool solved, unproven, sized;
    double gap;
    uint32_t nodes; /* wanted, when sized */
};

static const char *const locality_names[] = {"anywhere", "rack", "strict", NULL};

#define AT(member) offsetof(struct sched_place_opts, member)

const shoal_opt sched_place_rows[] = {
    {AT(locality), SHOAL_OPT_CHOICE, "locality", 0, "LEVEL", "anywhere",
     "how close a job's GPUs must be: anywhere, rack (one rack) or strict (fewest nodes)",
     .choices = locality_names},
    {AT(relax_s), SHOAL_OPT_DURATION, "relax", 0, "TIME", "0s",
     "after waiting this long a job asks for one level less, and again; 0: never", .max = 1e9},
    {AT(exclusive), SHOAL_OPT_FLAG, "exclusive",
     .help = "at most one job that spans nodes on any node"},
    {AT(upgrade), SHOAL_OPT_FLAG, "upgrade", 0, NULL, "true",
     .help = "a running job moves to a faster kind that is left free, when that saves time"},
};
const size_t sched_place_row_count = BASE_COUNT(sched_place_rows);

/* ---- life of a plan ---- */

shoal_status sched_plan_new(const struct base_alloc *alloc, const struct sched_cluster *cluster,
                            const struct sched_place_opts *opts, struct sched_plan **out_plan)
{
    struct sched_plan *plan = base_calloc(alloc, 1, sizeof *plan);

    if (plan == NULL)
        return SHOAL_E_NOMEM;
    plan->alloc = alloc;
    plan->cluster = cluster;
    plan->opts = *opts;
    shoal_status st = sched_books_init(&plan->books, alloc, cluster, opts->exclusive);
    if (st != SHOAL_OK) {
        base_free(alloc, plan);
        return st;
    }
    base_arena_init(&plan->arena, alloc, 1 << 14);
    *out_plan = plan;
    return SHOAL_OK;
}

void sched_plan_free(struct sched_plan *plan)
{
    if (plan == NULL)
        return;
    sched_books_fini(&plan->books);
    base_free(plan->alloc, plan->grant_of);
    base_free(plan->alloc, plan->why_of);
    base_free(plan->alloc, plan->grants);
    base_free(plan->alloc, plan->whys);
    base_arena_fini(&plan->arena);
    base_free(plan->alloc, plan);
}

/* Every job's grant, one replacement of it, and its reason fit without further allocation: keep,
 * share and wait cannot fail for memory. place can, where a gang's places do not fit into the
 * arena; sched_plan_status says so. */
static shoal_status reserve_jobs(struct sched_plan *plan, size_t count)
{
    const struct base_alloc *a = plan->alloc;

    if (base_reserve(a, (void **)&plan->grant_of, &plan->grant_of_cap, count, sizeof(uint32_t)) !=
            0 ||
        base_reserve(a, (void **)&plan->why_of, &plan->why_of_cap, count, sizeof(uint32_t)) != 0 ||
        base_reserve(a, (void **)&plan->grants, &plan->grant_cap, 2 * count,
                     sizeof *plan->grants) != 0 ||
        base_reserve(a, (void **)&plan->whys, &plan->why_cap, count, sizeof *plan->whys) != 0)
        return SHOAL_E_NOMEM;
    if (count > 0) {
        memset(plan->grant_of, 0, count * sizeof *plan->grant_of);
        memset(plan->why_of, 0, count * sizeof *plan->why_of);
    }
    return SHOAL_OK;
}

shoal_status sched_plan_begin(struct sched_plan *plan, const struct sched_snapshot *snap)
{
    shoal_status st = reserve_jobs(plan, snap->job_count);
    if (st != SHOAL_OK)
        return st;
    plan->snap = snap;
    plan->grant_count = plan->why_count = 0;
    plan->others = SCHED_WHY_CAPACITY;
    plan->turn = SCHED_WHY_FAIR_SHARE;
    plan->behind = SCHED_JOB_NONE;
    plan->status = SHOAL_OK;
    plan->wanted = NULL;
    plan->priced = plan->solved = plan->unproven = plan->for_less = plan->sized = false;
    base_arena_clear(&plan->arena);
    sched_books_begin(&plan->books, snap);
    return SHOAL_OK;
}

/* ---- granting ---- */

static void grant(struct sched_plan *plan, size_t job, const struct sched_alloc *alloc, bool kept,
                  bool adapted)
{
    shoal_assert(plan->grant_of[job] == 0 && plan->grant_count < plan->grant_cap);
    plan->grants[plan->grant_count] = (struct sched_grant){
        .alloc = *alloc, .partner = SCHED_JOB_NONE, .kept = kept, .adapted = adapted};
    plan->grant_of[job] = (uint32_t)++plan->grant_count;
}

/* The job it shares GPUs with now, if that was kept; else SCHED_JOB_NONE. */
static uint32_t kept_partner(const struct sched_plan *plan, const struct sched_job *j)
{
    uint32_t partner = sched_snapshot_find(plan->snap, j->partner);

    if (partner == SCHED_JOB_NONE)
        return partner;
    const struct sched_grant *g = sched_plan_grant(plan, partner);
    return g != NULL && g->kept ? partner : SCHED_JOB_NONE;
}

bool sched_plan_keep_shared(struct sched_plan *plan, size_t job)
{
    const struct sched_job *j = plan->snap->jobs[job];

    if (j->alloc.place_count == 0)
        return false;
    uint32_t with = kept_partner(plan, j);
    return with != SCHED_JOB_NONE && sched_plan_share(plan, job, with);
}

bool sched_plan_keep(struct sched_plan *plan, size_t job)
{
    const struct sched_job *j = plan->snap->jobs[job];
    const struct sched_alloc *a = &j->alloc;

    if (a->place_count == 0 || plan->grant_of[job] != 0 ||
        kept_partner(plan, j) != SCHED_JOB_NONE || !sched_books_fit(&plan->books, a))
        return false;
    sched_books_take(&plan->books, a);
    grant(plan, job, a, true, false);
    return true;
}

bool sched_plan_share(struct sched_plan *plan, size_t job, size_t with)
{
    if (plan->grant_of[with] == 0 || plan->grant_of[job] != 0 || job == with)
        return false;
    struct sched_grant *host = &plan->grants[plan->grant_of[with] - 1];
    const struct sched_job *j = plan->snap->jobs[job];
    if (host->partner != SCHED_JOB_NONE || j->gpus != host->alloc.gpus ||
        (j->kinds >> host->alloc.kind & 1) == 0 ||
        (plan->opts.exclusive && host->alloc.place_count > 1))
        return false;

    const struct sched_alloc *a = &j->alloc;
    bool same = a->place_count == host->alloc.place_count && a->place_count > 0 &&
                a->kind == host->alloc.kind &&
                memcmp(a->places, host->alloc.places, a->place_count * sizeof *a->places) == 0;
    host->partner = (uint32_t)job;
    plan->grants[plan->grant_count] =
        (struct sched_grant){.alloc = host->alloc, .partner = (uint32_t)with, .kept = same};
    plan->grant_of[job] = (uint32_t)++plan->grant_count;
    return true;
}

static enum sched_locality level_of(const struct sched_plan *plan, const struct sched_job *j)
{
    uint32_t level = plan->opts.locality;

    if (plan->opts.relax_s > 0 && j->alloc.place_count == 0) {
        double steps = (plan->snap->now_s - j->wait_since_s) / plan->opts.relax_s;
        level = steps >= level ? 0 : level - (uint32_t)steps;
    }
    return (enum sched_locality)level;
}

/* Places that were taken become the job's. */
static bool grant_taken(struct sched_plan *plan, size_t job, struct sched_alloc a, bool adapted)
{
    struct sched_place *places = base_arena_alloc(&plan->arena, a.place_count * sizeof *places);

    if (places == NULL) {
        plan->status = SHOAL_E_NOMEM;
        sched_books_give(&plan->books, &a);
        return false;
    }
    memcpy(places, a.places, a.place_count * sizeof *places);
    a.places = places;
    grant(plan, job, &a, false, adapted);
    return true;
}

static bool place_on(struct sched_plan *plan, size_t job, uint32_t kind, enum sched_fit fit)
{
    const struct sched_job *j = plan->snap->jobs[job];
    struct sched_alloc a;

    return sched_books_find(&plan->books, kind, j->gpus, level_of(plan, j), fit, &a) &&
           grant_taken(plan, job, a, false);
}

bool sched_plan_place_as(struct sched_plan *plan, size_t job, uint32_t kind, uint32_t gpus,
                         enum sched_fit fit)
{
    const struct sched_job *j = plan->snap->jobs[job];
    struct sched_alloc a;

    shoal_assert(j->adapt != NULL);
    return plan->grant_of[job] == 0 && (j->kinds >> kind & 1) != 0 &&
           sched_books_find(&plan->books, kind, gpus, level_of(plan, j), fit, &a) &&
           grant_taken(plan, job, a, true);
}

/* The rules of placement, and whether the places are free. */
static bool may_take(const struct sched_plan *plan, size_t job, const struct sched_alloc *alloc)
{
    const struct sched_job *j = plan->snap->jobs[job];

    return plan->grant_of[job] == 0 && (j->kinds >> alloc->kind & 1) != 0 &&
           sched_books_close(&plan->books, alloc, level_of(plan, j)) &&
           sched_books_fit(&plan->books, alloc);
}

bool sched_plan_place_at(struct sched_plan *plan, size_t job, const struct sched_alloc *alloc)
{
    const struct sched_job *j = plan->snap->jobs[job];

    shoal_assert(j->adapt != NULL || alloc->gpus == j->gpus);
    if (!may_take(plan, job, alloc))
        return false;
    sched_books_take(&plan->books, alloc);
    return grant_taken(plan, job, *alloc, j->adapt != NULL);
}

bool sched_plan_put(struct sched_plan *plan, size_t job, const struct sched_alloc *alloc)
{
    shoal_assert(alloc->gpus == plan->snap->jobs[job]->gpus);
    if (!may_take(plan, job, alloc))
        return false;
    sched_books_take(&plan->books, alloc);
    return grant_taken(plan, job, *alloc, false);
}

bool sched_plan_allows(const struct sched_plan *plan, size_t job, const struct sched_alloc *alloc)
{
    const struct sched_job *j = plan->snap->jobs[job];

    return (j->kinds >> alloc->kind & 1) != 0 &&
           sched_books_close(&plan->books, alloc, level_of(plan, j)) &&
           sched_books_alone(&plan->books, alloc);
}

bool sched_plan_drop(struct sched_plan *plan, size_t job)
{
    const struct sched_grant *g = sched_plan_grant(plan, job);

    if (g == NULL || !g->kept || g->partner != SCHED_JOB_NONE)
        return false;
    sched_books_give(&plan->books, &g->alloc);
    plan->grant_of[job] = 0; /* its row stays unused */
    return true;
}

bool sched_plan_place(struct sched_plan *plan, size_t job, int kind, enum sched_fit fit)
{
    const struct sched_job *j = plan->snap->jobs[job];
    struct sched_why why = {.want = j->gpus, .kind = UINT16_MAX, .behind = UINT32_MAX};

    if (plan->grant_of[job] != 0)
        return false;
    for (uint32_t i = 0; i < j->kind_count; i++) {
        uint32_t k = j->kind_rank[i];
        if (kind != SCHED_KIND_BEST && (int)k != kind)
            continue;
        if (place_on(plan, job, k, fit))
            return true;
        if (plan->books.kinds[k].free > why.free)
            why.free = plan->books.kinds[k].free; /* of the kind that came closest */
    }
    why.reason = why.free >= why.want ? SCHED_WHY_LOCALITY
                 : why.free > 0       ? SCHED_WHY_GANG
                                      : SCHED_WHY_CAPACITY;
    sched_plan_wait(plan, job, why);
    return false;
}

static bool worth_moving(const struct sched_plan *plan, const struct sched_job *j, uint32_t to)
{
    const struct sched_snapshot *snap = plan->snap;
    double here =
        sched_model_ideal_s(&j->model, snap->cluster, j->alloc.kind, j->gpus, j->progress);
    double there = sched_model_ideal_s(&j->model, snap->cluster, to, j->gpus, j->progress);
    const struct sched_kind *kinds = snap->cluster->kinds;

    if (plan->for_less && there * kinds[to].usd_gpu_h > here * kinds[j->alloc.kind].usd_gpu_h)
        return false;
    return here - there > 2 * snap->restart_s;
}

void sched_plan_upgrade_for_less(struct sched_plan *plan)
{
    plan->for_less = true;
}

size_t sched_plan_upgrade(struct sched_plan *plan, const uint32_t *jobs, size_t count,
                          enum sched_fit fit)
{
    const struct sched_snapshot *snap = plan->snap;
    size_t moved = 0;

    for (size_t n = 0; n < count && plan->opts.upgrade && snap->cluster->kind_count > 1; n++) {
        const struct sched_job *j = snap->jobs[jobs[n]];
        const struct sched_grant *g = sched_plan_grant(plan, jobs[n]);
        if (g == NULL || !g->kept || g->partner != SCHED_JOB_NONE || j->lease_until_s > snap->now_s)
            continue;
        for (uint32_t i = 0; i < j->kind_count && j->kind_rank[i] != j->alloc.kind; i++) {
            uint32_t k = j->kind_rank[i];
            if (plan->books.kinds[k].free < j->gpus || !worth_moving(plan, j, k))
                continue;
            uint32_t row = plan->grant_of[jobs[n]]; /* stays unused when a new grant replaces it */
            plan->grant_of[jobs[n]] = 0;
            sched_books_give(&plan->books, &j->alloc);
            if (place_on(plan, jobs[n], k, fit)) {
                moved++;
                break;
            }
            sched_books_take(&plan->books, &j->alloc);
            plan->grant_of[jobs[n]] = row;
        }
    }
    return moved;
}

/* ---- reasons ---- */

void sched_plan_wait(struct sched_plan *plan, size_t job, struct sched_why why)
{
    if (plan->why_of[job] == 0) {
        shoal_assert(plan->why_count < plan->snap->job_count);
        plan->why_of[job] = (uint32_t)++plan->why_count;
    }
    plan->whys[plan->why_of[job] - 1] = why;
}

void sched_plan_wait_others(struct sched_plan *plan, enum sched_reason reason, uint32_t behind)
{
    plan->others = reason;
    plan->behind = behind;
}

void sched_plan_take_turns_by_arrival(struct sched_plan *plan)
{
    plan->turn = SCHED_WHY_QUEUE;
}

enum sched_reason sched_plan_turn(const struct sched_plan *plan)
{
    return plan->turn;
}

/* The largest holders of the kind, largest first, ties by lowest id. */
static void find_blockers(const struct sched_plan *plan, size_t job, struct sched_why *why)
{
    for (size_t i = 0; i < plan->snap->job_count; i++) {
        if (plan->grant_of[i] == 0 || i == job)
            continue;
        const struct sched_grant *g = &plan->grants[plan->grant_of[i] - 1];
        if (why->kind != UINT16_MAX && g->alloc.kind != why->kind)
            continue;
        uint32_t at = why->blocker_count;
        while (at > 0 && why->blockers[at - 1].gpus < g->alloc.gpus)
            at--;
        if (at == SCHED_BLOCKERS_MAX)
            continue;
        if (why->blocker_count < SCHED_BLOCKERS_MAX)
            why->blocker_count++;
        for (uint32_t k = why->blocker_count - 1u; k > at; k--)
            why->blockers[k] = why->blockers[k - 1];
        why->blockers[at] =
            (struct sched_blocker){.job = plan->snap->jobs[i]->id, .gpus = g->alloc.gpus};
    }
}

/* Free GPUs of the kind that comes closest to what the job asks for. */
static uint32_t free_for(const struct sched_plan *plan, const struct sched_job *j)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < j->kind_count; i++)
        if (plan->books.kinds[j->kind_rank[i]].free > most)
            most = plan->books.kinds[j->kind_rank[i]].free;
    return most;
}

/* A job turned down for want of GPUs that are free in the end, because somebody before it found no
 * place or moved, waits for its turn. */
static enum sched_reason settled(const struct sched_plan *plan, const struct sched_job *j,
                                 enum sched_reason reason)
{
    bool short_of_gpus = reason == SCHED_WHY_CAPACITY || reason == SCHED_WHY_GANG;

    return short_of_gpus && free_for(plan, j) >= j->gpus ? plan->turn : reason;
}

enum sched_reason sched_plan_reason(const struct sched_plan *plan, size_t job)
{
    if (plan->grant_of[job] != 0)
        return SCHED_WHY_NONE;
    enum sched_reason reason = plan->why_of[job] != 0
                                   ? (enum sched_reason)plan->whys[plan->why_of[job] - 1].reason
                                   : plan->others;
    return settled(plan, plan->snap->jobs[job], reason);
}

struct sched_why sched_plan_why(const struct sched_plan *plan, size_t job, bool blockers)
{
    const struct sched_job *j = plan->snap->jobs[job];
    struct sched_why why = {.reason = SCHED_WHY_NONE, .behind = UINT32_MAX};

    if (plan->grant_of[job] != 0)
        return why;
    if (plan->why_of[job] != 0)
        why = plan->whys[plan->why_of[job] - 1];
    why.reason = (uint8_t)sched_plan_reason(plan, job);
    why.want = j->gpus;
    why.kind = j->kind_count == 1 ? j->kind_rank[0] : UINT16_MAX;
    why.free = free_for(plan, j);
    if (why.reason == plan->turn && plan->behind != SCHED_JOB_NONE && plan->behind != job)
        why.behind = plan->snap->jobs[plan->behind]->id;
    if (blockers)
        find_blockers(plan, job, &why);
    return why;
}

uint32_t sched_plan_free_gpus(const struct sched_plan *plan, uint32_t kind)
{
    return plan->books.kinds[kind].free;
}

bool sched_plan_has(const struct sched_plan *plan, size_t job)
{
    return plan->grant_of[job] != 0;
}

const struct sched_grant *sched_plan_grant(const struct sched_plan *plan, size_t job)
{
    return plan->grant_of[job] == 0 ? NULL : &plan->grants[plan->grant_of[job] - 1];
}

shoal_status sched_plan_status(const struct sched_plan *plan)
{
    return plan->status;
}

/* ---- what a policy says about shares ---- */

void sched_plan_set_prices(struct sched_plan *plan, const double *prices, const char *unit,
                           bool next)
{
    memcpy(plan->prices, prices, plan->cluster->kind_count * sizeof *prices);
    plan->price_unit = unit;
    plan->price_next = next;
    plan->priced = true;
}

void sched_plan_set_solved(struct sched_plan *plan)
{
    plan->solved = true;
}

bool sched_plan_solved(const struct sched_plan *plan)
{
    return plan->solved;
}

void sched_plan_set_unproven(struct sched_plan *plan, double gap)
{
    plan->gap = gap;
    plan->unproven = true;
}

bool sched_plan_unproven(const struct sched_plan *plan, double *out_gap)
{
    if (plan->unproven && out_gap != NULL)
        *out_gap = plan->gap;
    return plan->unproven;
}

float *sched_plan_want(struct sched_plan *plan)
{
    size_t jobs = plan->snap->job_count > 0 ? plan->snap->job_count : 1;

    if (plan->wanted == NULL)
        plan->wanted =
            base_arena_calloc(&plan->arena, jobs, plan->cluster->kind_count * sizeof *plan->wanted);
    if (plan->wanted == NULL)
        plan->status = SHOAL_E_NOMEM;
    return plan->wanted;
}

const double *sched_plan_prices(const struct sched_plan *plan)
{
    return plan->priced ? plan->prices : NULL;
}

const char *sched_plan_price_unit(const struct sched_plan *plan, bool *out_next)
{
    *out_next = plan->priced && plan->price_next;
    return plan->priced ? plan->price_unit : NULL;
}

const float *sched_plan_wanted(const struct sched_plan *plan)
{
    return plan->wanted;
}

void sched_plan_set_nodes(struct sched_plan *plan, uint32_t nodes)
{
    plan->nodes = nodes;
    plan->sized = true;
}

bool sched_plan_nodes(const struct sched_plan *plan, uint32_t *out_nodes)
{
    uint32_t used = 0, up = 0;

    if (!plan->sized)
        return false;
    for (uint32_t n = 0; n < plan->cluster->node_count; n++) {
        up += plan->snap->node_up[n];
        used += plan->snap->node_up[n] && plan->books.node_free[n] < plan->cluster->nodes[n].gpus;
    }
    *out_nodes = plan->nodes < used ? used : plan->nodes > up ? up : plan->nodes;
    return true;
}

struct base_arena *sched_plan_arena(struct sched_plan *plan)
{
    return &plan->arena;
}
