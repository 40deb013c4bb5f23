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
 * `dot` finds the slopes of all others; num_lasso_bound tells from them how far above the minimum the
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
    double tol;  /* ends when the gap, as far as the set's columns tell, is tol x objective, */
    double null; /* or, if this is above 0, tol x it */
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
    uint32_t lanes;
    double (*dot)(const struct num_columns *x, uint32_t column, const double *u);
    /* u_i -= step v_i x_ij; v NULL: 1 */
    void (*move)(const struct num_columns *x, uint32_t column, double step, const double *v,
                 double *u);
    /* sums of v x and v x^2 over a column; v NULL: 1 */
    void (*sums)(const struct num_columns *x, uint32_t column, const double *v, double out[2]);
    /* sum (stride, stride) += products of the columns in `panel`, a block of rows (lasso_gram.c), where
     * the second column is not before the first; stride a multiple of NUM_LASSO_GRAM_ALIGN. */
    void (*gram)(size_t stride, const double *panel, double *sum);
    /* to -= step x; count a multiple of NUM_LASSO_GRAM_ALIGN */
    void (*shift)(size_t count, double step, const double *x, double *to);
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

/* A solution that is kept; the caller's arrays. */
struct num_lasso_past {
    double *b, *z; /* (set), (rows) */
    double intercept;
};
/* A start for the next penalty, p->lambda. The point is a solution of a larger one and `past` of a
 * larger one still; the path goes on along the line through them, `by` times as far. A coefficient
 * that would cross 0 ends there, one that is 0 stays. Taken, and true, if the objective is lower
 * there. Either way `past` is then what the point was. The set has all columns that are not 0 in either. */
bool num_lasso_ahead(const struct num_lasso_ops *ops, const struct num_lasso *p, double by,
                     struct num_lasso_past *past, struct num_lasso_set *set,
                     struct num_lasso_point *point);

/* Minimises over the columns of the set, from `point`, which must be that of set->b. Adds to *work.
 * On failure (memory) nothing has changed. */
SHOAL_MUST_USE shoal_status num_lasso_solve(
    const struct base_alloc *alloc, const struct num_lasso_ops *ops, const struct num_lasso *p,
    const struct num_lasso_effort *effort, struct num_lasso_set *set, struct num_lasso_point *point,
    struct num_lasso_work *work);

/* ---- a set in groups that are visited at once; squared loss ----
 *
 * A round is five epochs of all groups, each from the same u. After an epoch moves are joined
 * (num_lasso_join); after the last of a round points are combined (num_lasso_joint_next). The
 * objective never rises. u is centred throughout where there is an intercept. */

enum { NUM_LASSO_GROUPS_MAX = 16, NUM_LASSO_NO_GROUP = 255 };

/* Groups for the columns of a set that have none (NUM_LASSO_NO_GROUP), of about as many entries each, so
 * that columns of different groups are correlated by less than theta where that can be. Others keep
 * theirs, unless groups have become too different. On failure (memory) nothing has changed. */
SHOAL_MUST_USE shoal_status num_lasso_cut(const struct base_alloc *alloc, const struct num_lasso *p,
                                          const struct num_lasso_set *set, uint32_t groups,
                                          double theta, uint8_t *group);

/* One group between its epochs; the caller's arrays, by column of its set. */
struct num_lasso_group {
    struct num_lasso_set set;
    const double *v; /* (rows) weight / total; NULL: weights are 1 */
    double *c, *h;
    uint32_t *member, members;
    uint8_t *rest;
};

/* The first epoch at a lambda; the first of a round; another one of it. */
enum num_lasso_turn { NUM_LASSO_FIRST, NUM_LASSO_ROUND, NUM_LASSO_SAME };

/* An epoch over the group's columns, all others as they are: changes its b; out_move (rows) is what
 * that adds to u. */
void num_lasso_group_epoch(const struct num_lasso_ops *ops, const struct num_lasso *p,
                           enum num_lasso_turn turn, const double *u, struct num_lasso_group *group,
                           double *out_move, struct num_lasso_work *work);
/* Slopes of the group's columns: the largest and the excess of num_lasso_bound; scratch: (rows). */
double num_lasso_group_look(const struct num_lasso_ops *ops, const struct num_lasso *p,
                            const double *u, struct num_lasso_group *group, double *scratch,
                            double *out_excess, struct num_lasso_work *work);

/* What groups leave. */
struct num_lasso_moves {
    uint32_t groups;
    const uint8_t *group;                     /* (set) */
    const double *next;                       /* (set) b */
    const double *move[NUM_LASSO_GROUPS_MAX]; /* (rows) each */
};

/* Takes of each group's move what makes the objective fall most. */
void num_lasso_join(const struct num_lasso *p, const struct num_lasso_moves *moves,
                    struct num_lasso_set *set, double *u);

/* Points of a round; memory: num_lasso_history_size doubles. */
struct num_lasso_joint {
    double *memory;
    const double *v; /* as of a group */
    double *h;       /* (set) what groups found */
    uint32_t points;
};
size_t num_lasso_history_size(uint32_t rows, uint32_t columns);
/* A round begins; the objective. */
double num_lasso_joint_begin(const struct num_lasso *p, struct num_lasso_set *set,
                             struct num_lasso_joint *joint, double *u);
/* After a join. True: the round is over, and set->b and u are the best that its points make. */
bool num_lasso_joint_next(const struct num_lasso *p, struct num_lasso_set *set,
                          struct num_lasso_joint *joint, double *u);

/* ---- by products of columns; squared loss, all weights 1, a dense matrix ----
 *
 * With far more rows than columns the matrix of products X'X is made once, and the whole path is found
 * from it without looking at a row again: a visit costs a column of the products if the coordinate
 * moves and nothing else, and the gap is known after every epoch. lasso_gram.c says how and why. */

enum { NUM_LASSO_GRAM_ROWS = 128, NUM_LASSO_GRAM_ALIGN = 24 };

/* Columns of the products with those of y and of 1, rounded up; doubles of workspace. */
size_t num_lasso_gram_stride(uint32_t columns);
size_t num_lasso_gram_work_size(uint32_t columns);
/* sum (stride, stride) += products of columns less `mean` (columns), y and 1 over rows first .. first +
 * count - 1. */
void num_lasso_gram_add(const struct num_lasso_ops *ops, const struct num_lasso *p,
                        const double *mean, uint32_t first, uint32_t count, double *work,
                        double *sum);

struct num_lasso_gram {
    uint32_t columns;
    size_t stride;
    double *g;       /* (columns, stride) x_i' x_j / rows, centred where there is an intercept */
    double *q;       /* (stride) x_j' y / rows, likewise */
    double yy;       /* y'y / rows, likewise */
    double rounding; /* how far sums may be off, against what they sum up */
};
/* The whole from sums over all rows, in place. out_center: (columns) what was taken off the columns
 * beside `mean`; out_mean: likewise of y. */
struct num_lasso_gram num_lasso_gram_make(const struct num_lasso *p, double *sum,
                                          double *out_center, double *out_mean);

struct num_lasso_gram_found {
    double objective, loss, gap; /* the gap with what rounding may hide */
    bool stuck;                  /* it is larger than was asked for, and no move gains anything */
};
/* Starts at b (columns) and runs at least one epoch, until the gap is at most tol x objective or, if `null`
 * is above 0, tol x it. slope: (stride) workspace. */
struct num_lasso_gram_found num_lasso_gram_solve(const struct num_lasso_ops *ops,
                                                 const struct num_lasso_gram *gram, double lambda,
                                                 double mix, double tol, double null, double *b,
                                                 double *slope, struct num_lasso_work *work);

/* The specification of a solution, slow, for small problems; slope: (columns) workspace. The
 * objective of any b (columns), and the b that a number of rounds finds. */
double num_lasso_objective_reference(const struct num_lasso *p, double intercept, const double *b);
void num_lasso_solve_reference(const struct num_lasso *p, uint32_t rounds, double *slope,
                               double *out_intercept, double *b);

#endif
