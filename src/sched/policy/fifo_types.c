/* fifo_types.c - first come, first served on mixed hardware: each job the fastest kind with room.
 *
 * Every round the jobs choose in order of arrival: the fastest kind that still has room for the
 * gang. A job that finds none waits, and loses nothing to those behind it that do: next round it
 * chooses before them again. So an older job takes the GPUs it needs from younger ones, which move
 * to what is left or wait. A running job moves up only where that saves more than twice the
 * restart.
 *
 * aware=false does not look at speeds: all jobs prefer the kinds in the order the cluster names
 * them.
 *
 * sharing=pairs: a job that finds no room joins the one with GPUs of its own, of equal gang size,
 * with which its speed and the other's, each relative to running alone there, add up to the most,
 * if that is above `gain`. Among jobs of one size the queue is kept: after one that found no
 * partner nobody is tried. A pair ends with one of the two, or when the younger finds GPUs on which
 * it ends sooner alone.
 *
 * Cost: O(n) a round for n live jobs; with sharing, hosts x jobs that find a partner.
 *
 * Reference: Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
 * Workloads", OSDI 2020, where the first that finds no room, but on kinds it cannot use, stops the
 * queue. */
#include "base/assert.h"
#include "sched/queue.h"

#include <math.h>

enum sharing { SHARING_NONE, SHARING_PAIRS };

struct memory {
    double gain;
    uint32_t sharing;
    bool aware;
};

/* What a job was given in the counting pass. */
enum choice { CHOICE_NONE = -1, CHOICE_SHARED = -2 };

struct round {
    const struct memory *m;
    const struct sched_snapshot *snap;
    struct sched_plan *plan;
    uint32_t left[SCHED_KINDS_MAX], left_all; /* GPUs nobody has chosen yet */
    int32_t *choice;                          /* per job: a kind, or enum choice */
};

static bool runs(const struct sched_job *j)
{
    return j->alloc.place_count > 0;
}

/* ---- choosing ---- */

/* The n-th kind the job asks for; false when there are no more. */
static bool nth_kind(const struct round *r, const struct sched_job *j, uint32_t n, uint32_t *out)
{
    *out = r->m->aware && n < j->kind_count ? j->kind_rank[n] : n;
    return n < (r->m->aware ? j->kind_count : r->snap->cluster->kind_count);
}

/* Is it worth leaving the GPUs it holds, where it would need `stay_s` more? Without looking at
 * speeds, a kind named earlier is. */
static bool worth_moving(const struct round *r, const struct sched_job *j, uint32_t kind,
                         double stay_s)
{
    if (!r->m->aware)
        return kind <= j->alloc.kind;
    return stay_s - sched_model_ideal_s(&j->model, r->snap->cluster, kind, j->gpus, j->progress) >
           2 * r->snap->restart_s;
}

/* The kind it asks for first, of those with room; CHOICE_NONE: none. A job that can stay where it
 * is needs a reason to leave; then CHOICE_NONE means that it has none. */
static int32_t choose(const struct round *r, const struct sched_job *j, bool stays, double stay_s)
{
    uint32_t kind;

    for (uint32_t n = 0; nth_kind(r, j, n, &kind); n++)
        if ((j->kinds >> kind & 1) != 0 && r->left[kind] >= j->gpus &&
            (!stays || worth_moving(r, j, kind, stay_s)))
            return (int32_t)kind;
    return CHOICE_NONE;
}

static void take(struct round *r, uint32_t i, int32_t kind)
{
    r->choice[i] = kind;
    if (kind >= 0) {
        r->left[kind] -= r->snap->jobs[i]->gpus;
        r->left_all -= r->snap->jobs[i]->gpus;
    }
}

/* A job that runs alone, or waits. */
static void choose_alone(struct round *r, uint32_t i)
{
    const struct sched_job *j = r->snap->jobs[i];
    bool stays = runs(j) && r->left[j->alloc.kind] >= j->gpus;
    bool first = stays && j->alloc.kind == (r->m->aware ? j->kind_rank[0] : 0);
    double stay_s =
        stays && r->m->aware && !first
            ? sched_model_ideal_s(&j->model, r->snap->cluster, j->alloc.kind, j->gpus, j->progress)
            : 0;
    int32_t kind = first ? CHOICE_NONE : choose(r, j, stays, stay_s);

    take(r, i, stays && kind == CHOICE_NONE ? (int32_t)j->alloc.kind : kind);
}

/* The younger of two that share now; the older stays. */
static void choose_shared(struct round *r, uint32_t i, const struct sched_job *with)
{
    const struct sched_job *j = r->snap->jobs[i];
    double until, rate = sched_model_rate(&j->model, &j->alloc, &with->model, j->progress, &until);
    int32_t kind = choose(r, j, true, rate > 0 ? (j->model.work - j->progress) / rate : INFINITY);

    take(r, i, kind == CHOICE_NONE ? CHOICE_SHARED : kind);
}

/* Jobs under a lease stay where they are and choose nothing. */
static void keep_leased(struct round *r)
{
    for (uint32_t i = 0; i < r->snap->job_count; i++) {
        const struct sched_job *j = r->snap->jobs[i];
        if (runs(j) && j->lease_until_s > r->snap->now_s && !sched_plan_keep(r->plan, i))
            sched_plan_keep_shared(r->plan, i);
    }
}

/* Counts, in order of arrival, who gets which kind. */
static void choose_in_order(struct round *r)
{
    for (uint32_t i = 0; i < r->snap->job_count; i++) {
        const struct sched_job *j = r->snap->jobs[i];
        r->choice[i] = CHOICE_NONE;
        if (sched_plan_has(r->plan, i) || (!runs(j) && r->left_all == 0))
            continue;
        uint32_t with = runs(j) ? sched_snapshot_find(r->snap, j->partner) : SCHED_JOB_NONE;
        bool older_stays =
            with != SCHED_JOB_NONE && (sched_plan_has(r->plan, with) ||
                                       (with < i && r->choice[with] == (int32_t)j->alloc.kind));
        if (older_stays)
            choose_shared(r, i, r->snap->jobs[with]);
        else
            choose_alone(r, i);
    }
}

/* ---- placing ---- */

/* Those who stay first, then the others in order. */
static void place_chosen(struct round *r)
{
    size_t count = r->snap->job_count;

    for (uint32_t i = 0; i < count; i++)
        if (r->choice[i] >= 0 && runs(r->snap->jobs[i]) &&
            r->choice[i] == (int32_t)r->snap->jobs[i]->alloc.kind)
            sched_plan_keep(r->plan, i);
    for (uint32_t i = 0; i < count; i++)
        if (r->choice[i] == CHOICE_SHARED)
            sched_plan_keep_shared(r->plan, i);
    for (uint32_t i = 0; i < count; i++)
        if (r->choice[i] >= 0 && !sched_plan_has(r->plan, i))
            sched_plan_place(r->plan, i, r->choice[i], SCHED_FIT_PACK);
}

/* Share of its speed alone that a job keeps next to `with` on the places `a`; 0: it cannot. */
static double kept_share(const struct sched_job *j, const struct sched_alloc *a,
                         const struct sched_job *with)
{
    double until, alone = sched_model_rate(&j->model, a, NULL, j->progress, &until);

    return alone > 0 ? sched_model_rate(&j->model, a, &with->model, j->progress, &until) / alone
                     : 0;
}

/* The job with which job `i` does best, above the gain asked for; SCHED_JOB_NONE: none. */
static uint32_t best_host(const struct round *r, uint32_t i)
{
    const struct sched_job *j = r->snap->jobs[i];
    uint32_t best = SCHED_JOB_NONE;
    double best_gain = r->m->gain;

    for (uint32_t h = 0; h < r->snap->job_count; h++) {
        const struct sched_grant *g = sched_plan_grant(r->plan, h);
        if (g == NULL || g->partner != SCHED_JOB_NONE || g->alloc.gpus != j->gpus ||
            (j->kinds >> g->alloc.kind & 1) == 0)
            continue;
        double host = kept_share(r->snap->jobs[h], &g->alloc, j);
        double guest = host > 0 ? kept_share(j, &g->alloc, r->snap->jobs[h]) : 0;
        if (guest > 0 && host + guest > best_gain) {
            best = h;
            best_gain = host + guest;
        }
    }
    return best;
}

static void share_rest(const struct round *r)
{
    uint64_t done = 0; /* gang sizes in which somebody found no partner; large ones count as one */

    for (uint32_t i = 0; i < r->snap->job_count; i++) {
        uint32_t gpus = r->snap->jobs[i]->gpus;
        uint64_t size = UINT64_C(1) << (gpus < 63 ? gpus : 63);
        if (sched_plan_has(r->plan, i) || (done & size) != 0)
            continue;
        uint32_t host = best_host(r, i);
        if (host == SCHED_JOB_NONE || !sched_plan_share(r->plan, i, host))
            done |= size;
    }
}

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    struct round r = {.m = memory, .snap = snap, .plan = plan};

    r.choice = base_arena_alloc(sched_plan_arena(plan), snap->job_count * sizeof *r.choice + 1);
    if (r.choice == NULL)
        return SHOAL_E_NOMEM;
    sched_plan_take_turns_by_arrival(plan);
    keep_leased(&r);
    for (uint32_t k = 0; k < snap->cluster->kind_count; k++) {
        r.left[k] = sched_plan_free_gpus(plan, k);
        r.left_all += r.left[k];
    }
    choose_in_order(&r);
    place_chosen(&r);
    if (r.m->sharing == SHARING_PAIRS)
        share_rest(&r);
    return sched_plan_status(plan);
}

static const char *const sharing_names[] = {"none", "pairs", NULL};

#define AT(member) offsetof(struct memory, member)

static const shoal_opt opts[] = {
    {AT(aware), SHOAL_OPT_FLAG, "aware", 0, NULL, "true",
     .help = "prefer kinds by speed; false: in the order the cluster names them"},
    {AT(sharing), SHOAL_OPT_CHOICE, "sharing", 0, "RULE", "none",
     "what a job that finds no room may do: none (wait), pairs (share another's GPUs)",
     .choices = sharing_names},
    {AT(gain), SHOAL_OPT_F64, "gain", 0, "X", "1.5",
     "least combined speed of a pair, each job relative to running alone", .min = 1, .max = 2},
};

const struct sched_policy sched_policy_fifo_types = {
    .name = "fifo-types",
    .summary = "first come first served, each job on the fastest GPU kind with room",
    .optimises =
        "Order of arrival on mixed hardware: older jobs choose first, and take faster GPUs "
        "from younger ones, which move to what is left.",
    .paper = "Narayanan et al., Gavel, OSDI 2020",
    .opts = opts,
    .opt_count = BASE_COUNT(opts),
    .memory_size = sizeof(struct memory),
    .preempts = true,
    .work_conserving = true,
    .starvation_free = true,
    .decide = decide,
    .settled = sched_policy_settled,
};
