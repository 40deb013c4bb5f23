/* lasso.h - linear models whose coefficients are mostly zero: lasso, elastic net, sparse logistic.
 *
 * Minimised over b (columns) and, if there is one, the intercept b0:
 *
 *     sum_i weight_i loss(y_i, z_i) / total + lambda (mix |b|_1 + (1 - mix) |b|^2 / 2),
 *     z_i = b0 + x_i b,   total = sum_i weight_i,
 *
 * with loss (y - z)^2 / 2 or log(1 + exp(z)) - y z, y in {0, 1}. These are glmnet's objective and
 * scikit-learn's ElasticNet (lambda is its alpha, mix its l1_ratio). The intercept is not penalised.
 * Rows of weight 0 are not there: parts of cross-validation share one matrix.
 *
 * A point (struct num_lasso_point) is a solution so far. Its `u` is what all decisions need: by
 * row, weight x (y - mean of y at z) / total, the slope of the loss, whose sum is 0 when there is an
 * intercept. A column's slope is g_j = x_j' u, and b is the minimum exactly when |g_j| <= lambda mix
 * where b_j is 0 and g_j = lambda (mix sign b_j + (1 - mix) b_j) elsewhere.
 *
 * The way to it: num_lasso_solve minimises over few columns (the working set) by coordinate descent;
 * `scan` finds the slopes of all; num_lasso_bound tells from them how far above the minimum the
 * objective can be at most (the duality gap); columns whose slope is too large join the set. For
 * descending lambdas each solution is the next one's start. lasso.c says how and why.
 *
 * Kernels are in plain C, which specifies them, and for AVX2 and AVX-512; they agree to rounding.
 * Nothing here keeps state: any thread. Tests: tests/unit/num/test_lasso.c. */
#ifndef NUM_LASSO_H
#define NUM_LASSO_H

#include "base/alloc.h"
#include "num/columns.h"
#include "shoal/status.h"
#include <stdbool.h>
#include <stddef.h>

enum num_lasso_loss { NUM_LASSO_SQUARED, NUM_LASSO_LOGISTIC };

struct num_lasso {
    struct num_columns x;
    const float *y;      /* (rows) */
    const float *weight; /* (rows), not negative; NULL: all 1 */
    double total;        /* above 0 */
    enum num_lasso_loss loss;
    bool intercept;
    double lambda, mix; /* above 0; in (0, 1] */
};

/* The caller's arrays. */
struct num_lasso_point {
    double *u, *z; /* (rows) */
    double intercept;
};

/* In which order a working set is visited. Priority: those that moved lately often, the others
 * seldom; the other orders are there to be measured against. */
enum num_lasso_schedule { NUM_LASSO_PRIORITY, NUM_LASSO_CYCLIC, NUM_LASSO_RANDOM };

struct num_lasso_effort {
    double tol; /* ends when the gap, as far as the set's columns tell, is tol x objective */
    uint32_t rounds_max; /* of five epochs */
    enum num_lasso_schedule schedule;
    uint64_t seed; /* of a random order */
};

struct num_lasso_set {
    uint32_t count;
    const uint32_t *column; /* (count), ascending */
    double *b;              /* (count), changed; columns outside have 0 */
};

struct num_lasso_work {
    uint64_t updates; /* coordinates looked at, moved or not */
    uint64_t epochs;
};

struct num_lasso_ops {
    const char *name;
    double (*dot)(const struct num_columns *x, uint32_t column, const double *u);
    /* u_i -= step v_i x_ij; v NULL: 1 */
    void (*move)(const struct num_columns *x, uint32_t column, double step, const double *v,
                 double *u);
    /* sums of v x and v x^2 over a column; v NULL: 1 */
    void (*sums)(const struct num_columns *x, uint32_t column, const double *v, double out[2]);
    /* out[j - first] = x_j' u for count columns */
    void (*scan)(const struct num_columns *x, uint32_t first, uint32_t count, const double *u,
                 double *out);
};

/* The fastest this machine has of at most lanes_max doubles at once (1: plain C). */
const struct num_lasso_ops *num_lasso_ops_find(uint32_t lanes_max);

/* The point of b = 0: the best intercept and its u. */
void num_lasso_begin(const struct num_lasso *p, struct num_lasso_point *point);
/* u and z for a b that is known; the intercept is made the best one. */
void num_lasso_place(const struct num_lasso_ops *ops, const struct num_lasso *p,
                     const struct num_lasso_set *set, struct num_lasso_point *point);
/* The objective at a point. */
double num_lasso_objective(const struct num_lasso *p, const struct num_lasso_set *set,
                           const struct num_lasso_point *point);
/* A bound from below on the minimum over all columns. most: the largest |g_j|; excess: the sum over
 * columns of (|g_j| - lambda mix)^2 where that is above 0. */
double num_lasso_bound(const struct num_lasso *p, const struct num_lasso_point *point, double most,
                       double excess);

/* Minimises over the columns of the set, from `point`, which must be that of set->b. Adds to *work.
 * On failure (memory) nothing has changed. */
SHOAL_MUST_USE shoal_status num_lasso_solve(
    const struct base_alloc *alloc, const struct num_lasso_ops *ops, const struct num_lasso *p,
    const struct num_lasso_effort *effort, struct num_lasso_set *set, struct num_lasso_point *point,
    struct num_lasso_work *work);

/* The specification of a solution, slow, for small problems; slope: (columns) workspace. The
 * objective of any b (columns), and the b that a number of rounds finds. */
double num_lasso_objective_reference(const struct num_lasso *p, double intercept, const double *b);
void num_lasso_solve_reference(const struct num_lasso *p, uint32_t rounds, double *slope,
                               double *out_intercept, double *b);

#endif
