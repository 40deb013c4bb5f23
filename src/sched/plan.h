/* plan.h - the books of one decision: which GPUs are still free, who gets which, who waits and why.
 *
 * A plan is begun from a snapshot with every GPU of every live node free, filled by a policy, then
 * read by the driver. It cannot be over-filled: the functions refuse what does not fit. Indices are
 * positions in snap->jobs. Memory of one decision comes from the plan's arena and lives until the
 * next begin. Owner thread only. */
#ifndef SCHED_PLAN_H
#define SCHED_PLAN_H

#include "base/arena.h"
#include "sched/policy.h"

enum { SCHED_KIND_BEST = -1 }; /* the kind on which the job runs fastest, among those with room */

enum sched_fit {
    SCHED_FIT_PACK,     /* fewest nodes, then the fullest node that fits: keeps large holes whole */
    SCHED_FIT_MOST_FREE /* emptiest node first, as Tiresias and Pollux's simulator place */
};

/* How close a job's GPUs must be. Strict asks for the fewest nodes that can hold the gang; rack for
 * one rack; anywhere for nothing. */
enum sched_locality { SCHED_LOCALITY_ANYWHERE, SCHED_LOCALITY_RACK, SCHED_LOCALITY_STRICT };

/* Placement rules common to all policies, set by --set locality=..., relax=..., exclusive=...,
 * upgrade=... */
struct sched_place_opts {
    uint32_t locality; /* enum sched_locality a job starts with */
    double relax_s;    /* after waiting this long it asks one level less, and again; 0: never */
    bool exclusive;    /* at most one job that spans nodes on any node */
    bool upgrade;      /* a running job moves to a faster kind left free, when that saves time */
};
extern const shoal_opt sched_place_rows[];
extern const size_t sched_place_row_count;

struct sched_grant {
    struct sched_alloc alloc;
    uint32_t partner; /* job index sharing the same GPUs, or SCHED_JOB_NONE */
    bool kept;        /* same places as before: no restart */
    bool adapted;     /* of a size the policy chose, and so is the batch; when kept: as before */
};

struct sched_plan;

SHOAL_MUST_USE shoal_status sched_plan_new(const struct base_alloc *alloc,
                                           const struct sched_cluster *cluster,
                                           const struct sched_place_opts *opts,
                                           struct sched_plan **out_plan);
void sched_plan_free(struct sched_plan *plan);
SHOAL_MUST_USE shoal_status sched_plan_begin(struct sched_plan *plan,
                                             const struct sched_snapshot *snap);

/* The job stays on the places it holds. False, and nothing changes, when it holds none, a node is
 * down, or the places were given away; of two jobs that share, the first to be kept has them. */
bool sched_plan_keep(struct sched_plan *plan, size_t job);
/* The job stays with the partner it shares GPUs with now, which was kept. */
bool sched_plan_keep_shared(struct sched_plan *plan, size_t job);
/* Finds places for the whole gang. False, with the reason recorded, when it does not fit under the
 * rules. `kind` is an index or SCHED_KIND_BEST. */
bool sched_plan_place(struct sched_plan *plan, size_t job, int kind, enum sched_fit fit);
/* As many GPUs as the policy says, of one kind, for a job that adapts. */
bool sched_plan_place_as(struct sched_plan *plan, size_t job, uint32_t kind, uint32_t gpus,
                         enum sched_fit fit);
/* The same on given places, which are copied: nodes increasing, all of the allocation's kind; also for
 * a job that does not adapt, as many GPUs as it asks for. False where they are not free, not up, or
 * the rules of placement forbid them. */
bool sched_plan_place_at(struct sched_plan *plan, size_t job, const struct sched_alloc *alloc);
/* The same for a job that runs as it asks, also where it could adapt: as many GPUs as it asks for. */
bool sched_plan_put(struct sched_plan *plan, size_t job, const struct sched_alloc *alloc);
/* Whether the rules of placement would let it be put there, were those GPUs free. */
bool sched_plan_allows(const struct sched_plan *plan, size_t job, const struct sched_alloc *alloc);
/* A job that was kept is not, after all, as if it were not yet mentioned; once for each job. False,
 * and nothing changes, when it was not kept or shares. */
bool sched_plan_drop(struct sched_plan *plan, size_t job);
/* `job` shares all the GPUs of `with`, which was kept or placed and shares with nobody; equal gang
 * sizes, and under `exclusive` only on one node. */
bool sched_plan_share(struct sched_plan *plan, size_t job, size_t with);
/* Offers what is left of faster kinds to jobs that were kept on slower ones, in the order of
 * `jobs`, where the time saved is more than twice the restart. Jobs under a lease and jobs that
 * share stay. Returns how many moved: what they held is free now. */
size_t sched_plan_upgrade(struct sched_plan *plan, const uint32_t *jobs, size_t count,
                          enum sched_fit fit);
/* From now on, until the next begin, only to kinds on which the rest of the job costs no more. */
void sched_plan_upgrade_for_less(struct sched_plan *plan);
/* Records why a job waits; a later keep or place clears it. */
void sched_plan_wait(struct sched_plan *plan, size_t job, struct sched_why why);

/* The reason of every job that is neither granted nor explained by the calls above. `behind` is the
 * job nobody may overtake (an index), or SCHED_JOB_NONE. */
void sched_plan_wait_others(struct sched_plan *plan, enum sched_reason reason, uint32_t behind);

/* Until the next begin, jobs that wait for their turn are in a queue: the policy goes by arrival. Their
 * reason is SCHED_WHY_QUEUE then, else SCHED_WHY_FAIR_SHARE; sched_plan_turn says which. */
void sched_plan_take_turns_by_arrival(struct sched_plan *plan);
enum sched_reason sched_plan_turn(const struct sched_plan *plan);

/* Free GPUs left of one kind. */
uint32_t sched_plan_free_gpus(const struct sched_plan *plan, uint32_t kind);
bool sched_plan_has(const struct sched_plan *plan, size_t job);
const struct sched_grant *sched_plan_grant(const struct sched_plan *plan, size_t job);
/* Why it waits; the reason is SCHED_WHY_NONE for a job that runs. Blockers are filled when asked
 * for: the largest holders of the kind it wants, which costs a pass over all grants. */
struct sched_why sched_plan_why(const struct sched_plan *plan, size_t job, bool blockers);
/* Just the reason. */
enum sched_reason sched_plan_reason(const struct sched_plan *plan, size_t job);
/* SHOAL_E_NOMEM when a place was refused for want of memory, or the shares: the plan is then not the
 * one the policy wanted, and decide returns this. */
SHOAL_MUST_USE shoal_status sched_plan_status(const struct sched_plan *plan);
/* Policies that solve for shares say what they wanted, for reports, at every decision. Prices
 * (kinds): what one more GPU of the kind would be worth, copied, in `unit`, a static string; `next`
 * when that is not the unit of the objective, as more GPUs would not better it, but of what the
 * policy looks at next. Shares (jobs,
 * kinds), zero at first, the same array when asked for again: of time on each kind, alone and with a
 * partner together; NULL when memory is short. */
void sched_plan_set_prices(struct sched_plan *plan, const double *prices, const char *unit,
                           bool next);
float *sched_plan_want(struct sched_plan *plan);
/* This decision solved for shares anew, it did not go on with those of an earlier one. */
void sched_plan_set_solved(struct sched_plan *plan);
bool sched_plan_solved(const struct sched_plan *plan);
/* What this decision solved for is not proven optimal: value and bound are `gap` apart, relative,
 * INFINITY when nothing is proven, as rounding got the better of the solver or a choice is not exact.
 * Said once, at the decision that solved; drivers report it. */
void sched_plan_set_unproven(struct sched_plan *plan, double gap);
/* Whether that was said; *out_gap (optional) changes only then. */
bool sched_plan_unproven(const struct sched_plan *plan, double *out_gap);
/* What was said, or NULL. */
const double *sched_plan_prices(const struct sched_plan *plan);
const char *sched_plan_price_unit(const struct sched_plan *plan, bool *out_next);
const float *sched_plan_wanted(const struct sched_plan *plan);
/* A policy that sizes the cluster says how many nodes it wants from now on; never below what it gave
 * away, and at most those that are up: what is said is brought between the two when it is read. Not
 * said: all that are up. */
void sched_plan_set_nodes(struct sched_plan *plan, uint32_t nodes);
/* Whether that was said; *out_nodes changes only then. Costs a pass over all nodes. */
bool sched_plan_nodes(const struct sched_plan *plan, uint32_t *out_nodes);
/* Scratch for the policy, until the next begin. */
struct base_arena *sched_plan_arena(struct sched_plan *plan);

#endif
