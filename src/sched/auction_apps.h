/* auction_apps.h - jobs as bidders: who is how far behind, and what GPUs would be worth to whom.
 *
 * Jobs of one sweep (sched_job.app) are one bidder, an app; most apps are one job. The measure is
 * Themis's finish-time fairness, rho = time in the shared cluster / time alone on a 1/n share of it.
 * All times below are on the mix of the kinds a job may use, in proportion to their GPUs: a share of
 * the cluster is a share of every kind (docs/design/0002-rho.md).
 *
 *   left      of a job: seconds of its further work, with the gang it asked for;
 *   longest   of an app: the largest of these;
 *   area      of an app: the sum of gang x left: with p GPUs the app needs max(longest, area / p);
 *   alone     with the whole of both, on 1/n of the GPUs it may use: what it compares itself with,
 *             with its first round and start. n is the mean number of apps over its life: as it was
 *             so far, and as it is for as long as a 1/n share would still take it;
 *   shared    time since it came + lease + max(longest, area / all it asks for): the time it takes
 *             if it gets nothing for a lease, and all it asks for from then on.
 *
 * So rho = shared / alone is what waiting for another lease leads to at best, 1/rho is the worth of
 * nothing in the auction, and a bundle is worth alone / the time with it, from now on, to the end.
 *
 * An app's area includes jobs that ended (their part of it is remembered), and work that its tuner
 * will still hand out. What a job has left is what was told (work_told); unknown, it is as much as it
 * has done, and at least a lease. Jobs that adapt bid with several sizes, by what is known of them
 * (sched/adapt.h); in apps of several jobs each takes the size it asked for.
 *
 * Tests: tests/unit/sched/test_policy_themis.c. */
#ifndef SCHED_AUCTION_APPS_H
#define SCHED_AUCTION_APPS_H

#include "sched/auction.h"
#include "sched/plan.h"

/* An app, between two decisions. */
struct auction_row {
    uint32_t app;
    double since_s;     /* when it came */
    double contention;  /* the integral then */
    double live, ended; /* area of the jobs there were, and of those there are no more */
    double longest_s;   /* of all its jobs ever */
};

struct auction_memory {
    struct auction_row *rows; /* by app, increasing */
    size_t count, cap;
    struct auction_row *next; /* of the decision being made */
    size_t next_cap;
    double integral, since_s; /* of the number of apps over time, up to */
};

struct auction_job { /* by index into snap->jobs */
    double whole_s, left_s;
    double further_s;    /* its part of what its tuner will still hand out */
    const double *speed; /* (kinds) relative to the mix; 0: cannot run there */
};

struct auction_app {
    const uint32_t *jobs; /* indices: those with most left first */
    uint32_t job_count;
    uint32_t gpus; /* that all its jobs together ask for */
    double since_s, alone_s;
    double area, longest_s; /* left */
    double rho;             /* times weight, the largest of its jobs */
};

struct auction_view {
    const struct sched_snapshot *snap;
    struct base_arena *arena;
    double lease_s;
    struct auction_job *jobs;
    struct auction_app *apps; /* by app, increasing */
    uint32_t app_count;
};

/* What a decision begins with. Memory for `out` comes from the plan. */
SHOAL_MUST_USE shoal_status auction_look(struct auction_memory *m,
                                         const struct sched_snapshot *snap, struct sched_plan *plan,
                                         double lease_s, struct auction_view *out);
void auction_memory_fini(struct auction_memory *m, const struct base_alloc *alloc);

/* GPUs of an app when all get equally many, but none more than it can use. */
SHOAL_MUST_USE shoal_status auction_equal_share(const struct auction_view *v, uint32_t *out);

/* The table of an app for `capacity` GPUs by kind; a job that adapts asks for `most` at most. Its jobs
 * that `plan` has granted already count as held. No options: it can use nothing of that. */
SHOAL_MUST_USE shoal_status auction_bid(const struct auction_view *v, const struct sched_plan *plan,
                                        uint32_t app, const uint32_t *capacity, uint32_t most,
                                        struct sched_auction_bid *out);

/* The sizes a job that adapts may be given, of a kind, with at most `most` GPUs; largest last. */
enum { AUCTION_SIZES_MAX = 32 };
uint32_t auction_sizes(const struct sched_job *j, const struct sched_cluster *c, uint32_t kind,
                       uint32_t most, uint32_t *out);

#endif
