/* objective.h - what a sharing policy wants, as a problem for the price solver.
 *
 * One row per objective. The policies of policy/ describe live jobs with these arrays; `shoal
 * solve` reads them from a file; both get the same shares. Formulas (K kinds, N_j GPUs, z GPUs per
 * job, T_j its steps/s on kind j, u = sum_j T_j x_j, T_prop = sum_j T_j N_j / sum N, weight w):
 *
 *   max-min       levels u z / (T_prop w) rise together; those at their top speed or out of
 *                 capacity stop, the others go on (water filling). `level` is the first, smallest
 *                 one.
 *   ftf           smallest rho with w (since + left/u) / (alone + left/u_alone) <= rho for every
 *                 job, u_alone its speed on N_j / (n z) of the time of every kind it can use, n jobs
 *                 that can run, scaled to at most all of its time; the rest goes to speed.
 *   makespan      smallest time by which all can end; then the rest goes to speed.
 *   throughput    largest sum of w u / T_fastest.
 *   cost          largest sum of w (T_j / T_fastest) / usd_j x_j: each kind's work per dollar, summed.
 *                 It is not the work of all by the dollars of all, which would be no linear sum.
 *   cost-slo      as cost, with u >= left / time to the deadline kept first. Deadlines that cannot
 *                 all be kept: see num_share_keep.
 *   fifo          in order of arrival, whole gangs, each job its fastest kind with room. Nobody
 *                 overtakes: a job that waits keeps later ones off the kinds it can use.
 *   hierarchical  max-min through a tree of entities.
 *
 * Prices are of `level` as long as GPUs are what it is short of. Where a job at its top speed sets
 * it, no number of GPUs betters it, and they are of what is decided next: for max-min, of the first
 * level at which GPUs run out; for ftf and makespan, of the work of all, in jobs at their fastest,
 * which is made as large as it can be then. They are all 0 only where one more GPU of any kind
 * betters nothing.
 *
 * T_fastest and T_prop look only at kinds that have GPUs. aware = false pretends every kind is as
 * fast as any other that the job can use: as its fastest. Positive values lie within 1e-60 and
 * 1e60.
 *
 * With sharing: max-min, makespan, ftf, throughput and cost are solved with pairs; cost-slo and
 * hierarchical are solved without (level, bound and price say so), then pairs speed jobs up and
 * slow nobody down; fifo lets those who wait join those who run. A level is never worse than
 * without. */
#ifndef SCHED_OBJECTIVE_H
#define SCHED_OBJECTIVE_H

#include "num/pairs.h"
#include "num/share.h"

enum sched_objective {
    SCHED_OBJECTIVE_MAX_MIN,
    SCHED_OBJECTIVE_FTF,
    SCHED_OBJECTIVE_MAKESPAN,
    SCHED_OBJECTIVE_THROUGHPUT,
    SCHED_OBJECTIVE_COST,
    SCHED_OBJECTIVE_COST_SLO,
    SCHED_OBJECTIVE_FIFO,
    SCHED_OBJECTIVE_HIERARCHICAL,
    SCHED_OBJECTIVE_COUNT
};

struct sched_objective_row {
    const char *name; /* as typed: "max-min" */
    const char *summary;
    const char *unit; /* of `level`: "GPUs of average speed", "rho", "s", ... */
};
extern const struct sched_objective_row sched_objectives[SCHED_OBJECTIVE_COUNT];
/* The index, or -1. */
int sched_objective_find(const char *name);

/* Arrays are (jobs) unless said; NULL where an objective does not use them or the default is meant.
 */
struct sched_objective_input {
    struct num_share_problem problem; /* rates as they are; `aware` is applied here */
    bool aware;
    const double *weight;     /* > 0; NULL: 1 */
    const double *left;       /* steps left, > 0; ftf, makespan, cost-slo */
    const double *since_s;    /* time since arrival, >= 0; ftf */
    const double *alone_s;    /* time its progress so far would have taken on a 1/n share; ftf */
    const double *deadline_s; /* time to the deadline, INFINITY: none; cost-slo */
    const double *usd_h;      /* (kinds) dollars per GPU and hour, > 0; cost, cost-slo */
    struct num_tree tree;     /* hierarchical; node_count 0: one entity */
    /* Space sharing: two jobs on the same GPUs. class_of (jobs) < class_count names rows of equal
     * rates and gang size; pair (kinds, classes, classes) as in num/pairs.h. NULL: no sharing. At
     * most NUM_PAIRS_GROUPS_MAX classes (SHOAL_E_LIMIT), and problem.count is NULL. */
    const uint32_t *class_of;
    uint32_t class_count;
    const float *pair;
};

/* A pair of jobs that should share the GPUs of a kind for a share of the time. */
struct sched_pair_share {
    uint32_t job, with, kind;
    double share;
};

struct sched_objective_result {
    double level, bound; /* as believed */
    double reached; /* what the shares are worth by the true speeds: `level` where aware, and for
                            fifo and hierarchical */
    double price[NUM_KINDS_MAX]; /* by how much one more GPU of the kind betters `priced`, >= 0 */
    double priced;               /* `level`, or what comes next where a top speed sets that */
    const char *priced_unit;
    double used[NUM_KINDS_MAX];
    const double *x;      /* (jobs, kinds) share of time alone on a kind */
    const double *slope;  /* (jobs) > 0: holds the others back; NULL where it has no meaning */
    const bool *given_up; /* (jobs) deadline that cannot be kept; NULL: none asked for */
    size_t given_up_count;
    const struct sched_pair_share *pairs; /* besides x, with space sharing */
    size_t pair_count;
    uint32_t passes;
    bool exact;
};

/* Between level and bound, relative; INFINITY: nothing is proven. */
double sched_objective_gap(const struct sched_objective_result *r);

/* Keeps solver memory and prices between calls. Owner thread only. */
struct sched_objective_solver;
SHOAL_MUST_USE shoal_status sched_objective_new(const struct base_alloc *alloc,
                                                const struct num_team *team,
                                                struct sched_objective_solver **out);
void sched_objective_free(struct sched_objective_solver *s);
/* Arrays in the result live until the solver's next call. A job that can run nowhere gets nothing
 * and holds nobody back. SHOAL_E_INVAL with a reason on values out of range (NaN included). */
SHOAL_MUST_USE shoal_status sched_objective_solve(struct sched_objective_solver *s,
                                                  enum sched_objective objective,
                                                  const struct sched_objective_input *in,
                                                  struct sched_objective_result *out,
                                                  shoal_err *err);

#endif
