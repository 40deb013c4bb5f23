/* policy.h - the contract between a scheduling policy and whoever drives it.
 *
 * A policy is a pure function: (snapshot, memory) -> plan. It sees the cluster, the jobs that have
 * arrived and not finished, and the time; it calls nothing, reads no clock and keeps nothing
 * outside `memory`, what that owns, and the jobs' notes. The simulator and the daemon call the same
 * function, so what is measured in one is what runs in the other.
 *
 * When it runs. Once per round, and between rounds where the driver reacts to what happens; on the
 * driver's thread, with every job's history brought up to `now_s`. Between two calls jobs finish and
 * fail, nodes go down and come back, and new jobs arrive; the snapshot simply shows the result.
 * `memory` is memory_size bytes, zero but for the knobs, which the driver has set from the rows; it
 * is policy-wide state and stays between calls.
 * What belongs to a job goes into its `note` words, which start at 0 and travel with it. A policy
 * that keeps more points to it from `memory`, takes it from the snapshot's allocator and frees it in
 * `fini`.
 *
 * What it must do. Fill the plan through the functions of plan.h, which keep the books: a job is
 * kept where it is (no restart), placed anew, made to share, or left waiting with a reason. The
 * plan starts empty, so a job that is not mentioned stops. Every policy is held to one conformance
 * suite (tests/unit/sched/test_conformance.c):
 *
 *   - never more GPUs than a node has, never a node that is down;
 *   - gangs whole: a job gets all its GPUs, of one kind, or none; one that adapts as many as the
 *     policy says, up to adapt->gpus_max;
 *   - leases respected: a job whose lease_until_s is after now_s stays where it is, unless its node
 *     is gone;
 *   - deterministic: equal snapshots from the first call on give equal plans;
 *   - work-conserving, no starvation: where the row promises it;
 *   - survives the loss of any node at any moment;
 *   - explains itself: each waiting job has a reason other than SCHED_WHY_NONE.
 *
 * A worked example: the whole of a policy that runs jobs in order of arrival, nobody overtaking
 * (policy/fifo.c is the real one; tests/unit/sched/test_policy_contract.c runs this one):
 *
 *     static shoal_status decide(void *memory, const struct sched_snapshot *snap,
 *                                struct sched_plan *plan)
 *     {
 *         (void)memory;
 *         for (size_t i = 0; i < snap->job_count; i++)
 *             if (!sched_plan_keep(plan, i) &&
 *                 !sched_plan_place(plan, i, SCHED_KIND_BEST, SCHED_FIT_PACK))
 *                 break;
 *         return sched_plan_status(plan);
 *     }
 */
#ifndef SCHED_POLICY_H
#define SCHED_POLICY_H

#include "base/opt.h"
#include "sched/adapt.h"
#include "sched/model.h"
#include "sched/why.h"

enum { SCHED_JOB_NONE = UINT32_MAX };

union sched_note {
    uint64_t u;
    double f;
};

/* A job as a policy sees it. Times are seconds of the driver's clock. */
struct sched_job {
    /* What is asked of every job at every decision comes first, in one line of cache: queues are
     * long. */
    uint32_t id;              /* unique, increasing with arrival */
    uint32_t gpus;            /* gang size asked for */
    uint32_t kinds;           /* bit mask of kinds it may use; every bit set here can run it */
    uint32_t group;           /* tenant or virtual cluster */
    struct sched_alloc alloc; /* what it holds now */
    uint32_t partner;         /* id of the job sharing its GPUs, or SCHED_JOB_NONE */
    uint8_t kind_count;
    uint8_t kind_rank[SCHED_KINDS_MAX]; /* kinds it may use, fastest first; set by sched_job_rank */

    uint32_t batch; /* total batch asked for; 0: the model's own. What it has now is model.batch */
    uint32_t app;  /* id of the first job of the sweep it is part of; its own where there is none */
    double weight; /* > 0 */
    double submit_s;
    double deadline_s; /* INFINITY: none */
    struct sched_model model;
    const struct sched_adapt *adapt; /* NULL: it runs on `gpus` GPUs, neither more nor fewer */
    /* All its work, as its user said or as was learnt; NAN: not known. As far as anyone knows the
     * truth is log-normal around it, with this standard deviation of the logarithm. model.work is the
     * truth: policies that read it know the future. */
    double work_told, work_error;

    double app_left;       /* its part of work its app hands out later, in its unit of progress */
    double progress;       /* 0 .. model.work */
    double attained_gpu_s; /* GPU-seconds held so far, restarts included */
    double run_s;          /* seconds it held GPUs */
    double wait_since_s;   /* since when it has held nothing; meaningless while it runs */
    double lease_until_s;  /* before this it may not be moved */
    uint32_t starts;       /* times it was started or moved */

    float
        kind_slower[SCHED_KINDS_MAX]; /* time on kind_rank[i] relative to kind_rank[0], 1 or more */

    union sched_note note[2]; /* the policy's own words about this job, 0 at first */
};

struct sched_snapshot {
    const struct sched_cluster *cluster;
    const bool *node_up;   /* one per node */
    uint64_t node_changes; /* counts changes of node_up and prices: nobody needs to compare */
    struct sched_job *const
        *jobs; /* arrived, not finished; increasing id. Policies write only `note`. */
    size_t job_count;
    double now_s;
    double round_s;
    double restart_s;               /* what a start or a move costs a job */
    uint64_t round;                 /* counts calls */
    uint64_t seed;                  /* for policies that draw: stream names are theirs */
    const struct base_alloc *alloc; /* for what a policy keeps between calls, freed by `fini` */
    /* The name of sched_job.group; a '/' in it says what lies inside what. NULL: none have names. */
    const char *(*group_name)(void *ctx, uint32_t group);
    void *group_ctx;
};

struct sched_plan;

/* What is known before the first decision. */
struct sched_setting {
    const struct sched_cluster *cluster;
    /* The groups that jobs will have, 0 .. group_count - 1, as in the snapshot; NULL: not known. */
    const char *(*group_name)(void *ctx, uint32_t group);
    void *group_ctx;
    size_t group_count;
};

/* One row of policy/table.h. */
struct sched_policy {
    const char *name;
    const char *summary;   /* one line for `policy list` */
    const char *optimises; /* what it is good at, a sentence or two */
    const char *paper;     /* where it comes from */
    const shoal_opt *opts; /* knobs for --set, besides the common placement ones */
    size_t opt_count;
    size_t memory_size;   /* of the struct that opts write into and decide receives */
    bool preempts;        /* may stop a running job */
    bool alone;           /* jobs that adapt know only what they measured themselves */
    bool work_conserving; /* never leaves GPUs idle that a waiting job could use under its placement
                             rules */
    bool starvation_free; /* every job starts in the end, however many others arrive; with the
                             default knobs, and leases of at most a round */
    /* Whether the knobs make sense, as far as their rows cannot tell, and the policy can work in
     * this setting; NULL: it can. Called once, before anything else. */
    shoal_status (*check)(const void *memory, const struct sched_setting *setting, shoal_err *err);
    /* The plan is empty at the start. SHOAL_E_NOMEM when memory is short; the driver then stops with
     * that error and uses nothing of the plan. */
    shoal_status (*decide)(void *memory, const struct sched_snapshot *snap,
                           struct sched_plan *plan);
    /* Whether deciding again would change nothing until something happens. Asked after a decision
     * that kept every live job where it is: alone on its GPUs, as many as it asks for, of its fastest
     * kind. True promises that while jobs only make progress every later decision keeps them too, and
     * that leaving those decisions out changes none after them. Drivers then need not ask. NULL:
     * never. */
    bool (*settled)(const void *memory, const struct sched_snapshot *snap);
    /* Frees what `memory` points to; NULL: nothing. Called once, also when decide never was. */
    void (*fini)(void *memory, const struct base_alloc *alloc);
};

/* The index in snap->jobs of the job with this id; SCHED_JOB_NONE: there is none, or it is that. */
uint32_t sched_snapshot_find(const struct sched_snapshot *snap, uint32_t id);

/* A `settled` that is always true: for policies whose plan follows from the snapshot alone, and which
 * move nobody who has all it can have. */
bool sched_policy_settled(const void *memory, const struct sched_snapshot *snap);

/* Fills kind_rank and kind_slower from `kinds` and the model; ties keep the cluster's order. */
void sched_job_rank(struct sched_job *job, const struct sched_cluster *cluster);

/* All rows, in the order of policy/table.h. */
const struct sched_policy *const *sched_policies(size_t *out_count);
/* The row, or NULL; err (optional) offers the nearest name. */
const struct sched_policy *sched_policy_find(const char *name, shoal_err *err);

#endif
