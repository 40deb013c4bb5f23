/* share.h - shares of time on machines of several kinds, solved exactly by prices.
 *
 * Jobs m = 0..n-1 of z_m GPUs each, kinds j = 0..K-1 with N_j GPUs. x_mj is the share of time that
 * m spends on kind j: x >= 0, sum_j x_mj <= 1, sum_m z_m x_mj <= N_j. A job's speed is u_m = sum_j
 * rate_mj x_mj. What differs between objectives is what is asked of the speeds:
 *
 *   num_share_level   the largest t with u_m >= t need_m for all m. Max-min fairness (need: weight
 *                     x reference speed) and makespan (need: steps left, t = 1/time).
 *   num_share_curve   the best theta with u_m >= need_m(theta): finish-time fairness.
 *   num_share_fill    water filling through a tree of entities: levels rise until a job is at its
 *                     top speed or some kind is exhausted, then the others go on.
 *   num_share_sum     the largest sum of value_mj x_mj with u_m >= floor_m: throughput, cost.
 *   num_share_keep    which of the floors can be kept together, when not all can.
 *
 * Method: only the K capacity rows couple jobs, so each kind gets a price and each job answers
 * alone; see share_level.c and docs/design/0006-prices.md. Every answer carries a bound proven by
 * its prices (certificate): the gap between value and bound is at most `tolerance` relative, or
 * `exact` is false.
 *
 * A solver keeps its memory and the last prices; a call on a problem of the same kinds starts from
 * them, which costs nothing and is right for any problem. Owner thread only; with a team it uses
 * the team's threads during the call. */
#ifndef NUM_SHARE_H
#define NUM_SHARE_H

#include "base/alloc.h"
#include "shoal/status.h"
#include <stdbool.h>

enum { NUM_KINDS_MAX = 16 };

/* Threads of the caller: run calls fn(arg, 0..count-1), each once, and waits for all. */
struct num_team {
    uint32_t threads;
    shoal_status (*run)(void *ctx, size_t count, void (*fn)(void *arg, size_t index), void *arg);
    void *ctx;
};

struct num_share_problem {
    uint32_t kind_count;            /* 1 .. NUM_KINDS_MAX */
    double capacity[NUM_KINDS_MAX]; /* GPUs of each kind, >= 0, finite */
    size_t job_count;
    const double *rate;  /* (jobs, kinds) row-major, >= 0, finite; 0: cannot run there */
    const double *gpus;  /* (jobs) > 0 */
    const double *count; /* (jobs) identical jobs that this row stands for, > 0; NULL: 1 each */
};

struct num_share_result {
    double level; /* t, theta or the sum */
    double bound; /* no solution is better than this */
    /* What one more GPU of the kind adds to `level`; num_share_curve: to the scale by which all
     * needs at `level` could grow. */
    double price[NUM_KINDS_MAX];
    double used[NUM_KINDS_MAX]; /* GPUs of each kind used */
    const double *x;            /* (jobs, kinds) */
    const double *slope; /* (jobs) > 0: this job holds the others back. level and curve: its part of
                            the shortage, the parts sum to 1; fill: see there; sum: NULL */
    uint32_t passes;     /* over all jobs */
    bool exact;          /* gap within tolerance */
};

struct num_share; /* solver */

SHOAL_MUST_USE shoal_status num_share_new(const struct base_alloc *alloc,
                                          const struct num_team *team, struct num_share **out);
void num_share_free(struct num_share *s);
/* Forgets the last prices: the next call starts cold. */
void num_share_cold(struct num_share *s);
/* Relative gap at which a solution counts as exact; 1e-9 unless set. */
void num_share_set_tolerance(struct num_share *s, double tolerance);

/* All below: arrays in the result belong to the solver and live until its next call. SHOAL_E_NOMEM,
 * SHOAL_E_INVAL on values outside the ranges above (NaN included), else SHOAL_OK. */

/* need (jobs) >= 0, finite; a job with need 0 gets nothing. A job that needs something and can run
 * nowhere makes level 0. With no need at all level is INFINITY and x is 0. */
SHOAL_MUST_USE shoal_status num_share_level(struct num_share *s, const struct num_share_problem *p,
                                            const double *need, struct num_share_result *out);

/* need(ctx, theta, out_need) fills what each job needs at theta; every entry falls (weakly) as
 * theta grows, INFINITY where theta is out of reach. Finds the smallest theta in [low, high] that
 * is feasible; `level` is INFINITY when `high` is not. x and slope are those at `level`. */
typedef void num_share_need_fn(void *ctx, double theta, double *out_need);
SHOAL_MUST_USE shoal_status num_share_curve(struct num_share *s, const struct num_share_problem *p,
                                            double low, double high, num_share_need_fn *need,
                                            void *ctx, struct num_share_result *out);

/* value (jobs, kinds) finite; floor (jobs) >= 0 or NULL. SHOAL_E_IMPOSSIBLE when the floors cannot
 * be kept together. */
SHOAL_MUST_USE shoal_status num_share_sum(struct num_share *s, const struct num_share_problem *p,
                                          const double *value, const double *floor,
                                          struct num_share_result *out);

/* Chooses floors to keep: minimises the weight of those given up, exactly but for at most K jobs
 * (the relaxation splits no more; split ones are given up, then tried again one by one).
 * out_kept (jobs): true where the floor is kept or was 0. The kept ones are feasible together. */
SHOAL_MUST_USE shoal_status num_share_keep(struct num_share *s, const struct num_share_problem *p,
                                           const double *floor, const double *weight,
                                           bool *out_kept);

/* Entities as a tree: node 0 is the root, parents come before their children. A node holds nodes or
 * jobs, not both. Inside a node, fair: members rise together in proportion to weight; fifo: the
 * first (lowest index) rises to its top, then the next. */
enum { NUM_TREE_NONE = UINT32_MAX };
struct num_tree_node {
    uint32_t parent; /* NUM_TREE_NONE for the root */
    double weight;   /* > 0 */
    bool fifo;
};
struct num_tree {
    const struct num_tree_node *nodes;
    uint32_t node_count;
    const uint32_t *job_node; /* (jobs) node it sits in; NULL: the root */
    const double *job_weight; /* (jobs) > 0; NULL: 1 each */
};
/* unit (jobs) > 0: the speed that counts as 1 for the job. A job that can run nowhere gets nothing
 * and holds nobody back. `level` is the budget of the root at the first capacity bottleneck; slope
 * > 0 marks jobs stopped by capacity, 0 those at their top speed. exact: every stage is, and the
 * stages together within 20 tolerances. */
SHOAL_MUST_USE shoal_status num_share_fill(struct num_share *s, const struct num_share_problem *p,
                                           const double *unit, const struct num_tree *tree,
                                           struct num_share_result *out);

#endif
