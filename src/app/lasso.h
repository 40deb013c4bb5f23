/* lasso.h - what the files of the application `lasso` share: lasso.c (options and the driver),
 * lasso_plan.c (data to tables), lasso_task.c (the tasks), lasso_groups.c (working sets in groups),
 * lasso_gram.c (the path from products of columns),
 * lasso_score.c (models written and used), lasso_tell.c (what was learnt, in words),
 * lasso_show.c (the path as lists and pictures).
 *
 * A chain is one path of solutions over the lambdas: chain 0 learns from all rows, chain c of
 * cross-validation from all but fold c. What is where:
 *
 *   table data      the matrix by columns, targets, folds: read by all, never changed
 *   table slope     u of each chain (num/lasso.h), as doubles: the driver copies them there
 *   table gradient  slopes of all columns for each chain: the driver copies them there
 *   table path      the solutions of chain 0 so far: column and coefficient of each that is not 0
 *   table set       of chain 0 in groups: columns, their groups and b (struct lasso_set)
 *   table joint     the driver's own, for joining what groups leave
 *   executors       0 .. chains - 1 solve, one chain each: state is struct lasso_chain
 *                   chains .. chains + parts - 1 scan a range of columns each, for all chains: state
 *                   is (chains, columns of the range) floats; the first `groups` of them also
 *                   visit a group of the working set each: struct lasso_hand
 *
 * By products of columns (gram_parts above 0) it is this:
 *
 *   table products  of all columns (num_lasso_gram): the driver adds up what executors leave
 *   executors       0 solves: state is struct lasso_chain without u and z
 *                   1 .. gram_parts make the products over a range of rows each
 *
 * Private to src/app and its tests. */
#ifndef APP_LASSO_H
#define APP_LASSO_H

#include "data/svm.h"
#include "num/lasso.h"
#include "shoal/train.h"

enum {
    LASSO_FOLDS_MAX = 10,
    LASSO_CHAINS_MAX = LASSO_FOLDS_MAX + 1,
    LASSO_PARTS_MAX = 16,
    LASSO_LAMBDAS_MAX = 500,
    LASSO_WIDTH = 1024 /* floats in a row of a table of bytes */
};

enum lasso_pick { LASSO_PICK_BEST, LASSO_PICK_SIMPLE, LASSO_PICK_LAST };

struct lasso_options {
    uint32_t loss;     /* enum num_lasso_loss */
    uint32_t pick;     /* enum lasso_pick */
    uint32_t index;    /* enum data_svm_base: from one or zero */
    uint32_t schedule; /* enum num_lasso_schedule */
    uint32_t tol_of;   /* enum lasso_tol_of */
    uint64_t lambdas, folds, groups;
    uint32_t gram; /* enum lasso_gram */
    double theta;
    double mix, lambda, ratio, tol; /* lambda, ratio: 0: not given */
    bool intercept, scale, probabilities;
};

enum lasso_tol_of { LASSO_TOL_OBJECTIVE, LASSO_TOL_NULL };

enum lasso_gram { LASSO_GRAM_AUTO, LASSO_GRAM_YES, LASSO_GRAM_NO };

enum {
    LASSO_DATA,
    LASSO_SLOPE,
    LASSO_GRADIENT,
    LASSO_PATH,
    LASSO_SET,
    LASSO_JOINT,
    LASSO_PRODUCTS = LASSO_SET /* where products are made there are no groups */
};

enum lasso_fn {
    LASSO_BEGIN, /* a chain's point of b = 0 */
    LASSO_SOLVE, /* a chain's working set */
    LASSO_SCAN,  /* slopes of a range of columns */
    LASSO_PAUSE, /* nothing: not this executor's clock */
    LASSO_EPOCH, /* an epoch over a group of the working set */
    LASSO_LOOK,  /* slopes of a group's columns */
    LASSO_TAKE,  /* the chain takes what groups have found */
    LASSO_MAKE,  /* products of columns over a range of rows */
    LASSO_WALK   /* a solution from products */
};

/* The data table begins with this; offsets in bytes. */
struct lasso_data {
    uint32_t rows, columns, chains, parts;
    uint32_t loss, intercept;
    uint32_t groups;     /* of a working set; 1: it is one task */
    uint32_t set_max;    /* columns of a set that may be cut into groups */
    uint64_t cut_min;    /* what an epoch costs, in entries, from which on it is */
    uint32_t gram_parts; /* ranges of rows whose products are made; 0: the path is found without */
    uint64_t entries;
    double y_mean;               /* taken off the targets */
    double label[2];             /* logistic: what the data calls 0 and 1 */
    uint64_t start_at, index_at; /* index_at 0: dense */
    uint64_t value_at, y_at;     /* floats */
    uint64_t fold_at;            /* uint8_t by row: the chain that does not see it */
    uint64_t scale_at;           /* floats by column, its values were divided by; 0: 1 */
    uint64_t name_at;            /* uint32_t by column, ascending: what the data calls it, from 0;
                                    0: as it is called here */
    uint64_t mean_at;            /* doubles by column: to be taken off where products are made */
    uint32_t part_first[LASSO_PARTS_MAX + 1]; /* columns */
    double total[LASSO_CHAINS_MAX];           /* rows that a chain sees */
};

/* A solving executor's state: this, then b (columns), u, z (rows) doubles, then b and z of the solution
 * before, then whether a column is in the working set and which group it was in last (bytes). */
struct lasso_chain {
    double intercept;
    double null; /* the objective of no coefficients */
    struct lasso_ahead {
        double intercept;   /* of the solution before */
        uint32_t solutions; /* so far, at most 2 */
        uint32_t on;        /* this penalty was started ahead */
        /* Visits that a column of the set took, in the last penalty that started where the one
         * before ended [0] and in the last that started ahead [1]; 0: none since. */
        double visits[2];
    } ahead;
};

struct lasso_arg {
    double lambda, before; /* this one, and the one whose solution is there */
    uint32_t round;        /* how often this lambda was solved already */
    uint32_t chains;       /* a bit each: those whose slopes are wanted */
    uint32_t turn;         /* of an epoch: enum num_lasso_turn */
    uint32_t finish;       /* what groups have found is to be solved further */
};

struct lasso_solved {
    double objective, loss, held; /* loss: mean over rows seen; held: over the others */
    uint64_t updates;
    uint32_t nonzero, set;
    uint32_t groups; /* above 1: nothing was solved, the set was cut */
    uint32_t stuck;  /* of products: short of the tolerance nothing gains any more */
    double gap;      /* of products */
};

struct lasso_visited { /* by a group */
    double most, excess;
    uint64_t updates;
};

struct lasso_seen { /* as num_lasso_bound wants it */
    double most[LASSO_CHAINS_MAX], excess[LASSO_CHAINS_MAX];
};

/* What is known of each lambda. */
struct lasso_step {
    double lambda, intercept, objective, loss;
    double gap; /* of the chain that has the largest, as a part of the objective here */
    double held[LASSO_FOLDS_MAX];
    uint64_t end; /* of its solution in the path */
};

enum { LASSO_STATE = 3 }; /* goes up with what is in checkpoints, see shoal_app */

struct lasso_driver {
    uint32_t chains, parts, rows, columns, lambdas, folds;
    uint32_t all_columns; /* of the data, with those that are left out */
    uint32_t constant;    /* columns that never vary */
    uint32_t step;        /* which lambda */
    uint32_t round;       /* of it */
    uint32_t open;        /* a bit each: chains that are not at its solution yet */
    uint32_t ended;       /* executors that ended this clock */
    uint32_t fn;          /* what it is for */
    uint32_t hands;       /* executors that scan or visit groups */
    uint32_t points;      /* of this round of groups */
    uint32_t epochs;      /* of groups for this lambda */
    double value, enough; /* of groups: the objective; what a round gains at least, against it */
    struct lasso_visited visited[NUM_LASSO_GROUPS_MAX];
    uint64_t clock, updates, path_max;
    uint64_t rounds;                 /* of the lambdas before */
    double first;                    /* the largest lambda */
    double null[LASSO_CHAINS_MAX];   /* objectives of no coefficients */
    double before[LASSO_CHAINS_MAX]; /* objectives of the round before */
    double worst;                    /* gap of the path, of all chains, against the objective */
    uint32_t stop;                   /* enum shoal_stop, so far */
    struct lasso_solved solved[LASSO_CHAINS_MAX];
    double gap[LASSO_CHAINS_MAX]; /* when last looked at */
    struct lasso_seen seen[LASSO_PARTS_MAX];
    struct lasso_step of[LASSO_LAMBDAS_MAX];
};

/* An entry of the path. The column is by the data's number, from 0. */
struct lasso_entry {
    uint32_t column;
    float value;
};

/* What the data calls a column of the table, and the other way round: a column that is there. */
static inline uint32_t lasso_name_of(const struct lasso_data *data, uint32_t column)
{
    const char *at = (const char *)data + data->name_at;

    return data->name_at > 0 ? ((const uint32_t *)(const void *)at)[column] : column;
}
uint32_t lasso_column_of(const struct lasso_data *data, uint32_t name); /* lasso_plan.c */

/* Parts of a chain's state. */
struct lasso_view {
    struct lasso_chain *head;
    double *b, *u, *z, *past_b, *past_z;
    uint8_t *in, *group;
};
size_t lasso_chain_size(uint32_t rows, uint32_t columns);
struct lasso_view lasso_view_of(void *state, uint32_t rows, uint32_t columns);

/* The problem of a chain without its weights; lambda is the caller's to set. */
struct num_lasso lasso_problem(const struct lasso_data *data, const struct lasso_options *o,
                               uint32_t chain);

/* The gap that a solution may have; null: the objective of no coefficients. */
static inline double lasso_allowed(const struct lasso_options *o, double null, double objective)
{
    return o->tol * (o->tol_of == LASSO_TOL_NULL ? null : objective);
}

/* What a task of a chain has. */
struct lasso_desk {
    shoal_task *task;
    const struct lasso_options *o;
    const struct lasso_data *data;
    const struct num_lasso_ops *ops;
    struct lasso_arg arg;
    struct num_lasso p;
    float *weight; /* of a fold's chain */
};
/* Solves for a set from the chain's point; b goes back into its state. */
shoal_status lasso_solve_set(struct lasso_desk *d, const struct lasso_view *v,
                             struct num_lasso_set *set, struct lasso_solved *result);
void lasso_judge(const struct lasso_desk *d, uint32_t chain, const double *z,
                 struct lasso_solved *out);

/* ---- lasso_groups.c ---- */

/* Bytes of a group's state, of the tables `set` and `joint`. */
size_t lasso_hand_size(const struct lasso_data *data);
size_t lasso_set_size(const struct lasso_data *data);
size_t lasso_joint_size(const struct lasso_data *data);
/* Tasks. Whether a set is worth cutting, and the cut: result->groups. */
shoal_status lasso_cut(const struct lasso_desk *d, const struct lasso_view *v,
                       const struct num_lasso_set *set, struct lasso_solved *result);
shoal_status lasso_run_epoch(struct lasso_desk *d, uint32_t group);
shoal_status lasso_run_look(struct lasso_desk *d, uint32_t group);
shoal_status lasso_run_take(struct lasso_desk *d, struct lasso_solved *result);
/* The driver: what is to be done first, and after a clock of groups; what the next clock is for. */
enum lasso_fn lasso_groups_begin(shoal_driver *driver, struct lasso_arg *arg);
enum lasso_fn lasso_groups_next(shoal_driver *driver, struct lasso_arg *arg);

/* ---- lasso_gram.c ---- */

/* How many ranges of rows, if products pay or are asked for; 0: none. `dense`: all entries are there. */
shoal_status lasso_gram_plan(const struct lasso_options *o, uint64_t rows, uint64_t columns,
                             bool dense, uint32_t *out_parts, shoal_err *err);
/* Bytes of a part's state and of the table `products`. */
size_t lasso_gram_part_size(const struct lasso_data *data);
size_t lasso_gram_table_size(const struct lasso_data *data);
/* Tasks. */
shoal_status lasso_run_make(struct lasso_desk *d, uint32_t which);
shoal_status lasso_run_walk(struct lasso_desk *d, struct lasso_solved *result);
/* The driver: the table from what parts left. The largest slope of no coefficients, and their loss. */
double lasso_gram_join(shoal_driver *driver, double *out_loss);

shoal_status lasso_tell(shoal_driver *driver, shoal_err *err);
shoal_status lasso_plan(shoal_driver *driver, shoal_err *err);
shoal_status lasso_run(shoal_task *task, shoal_err *err);
shoal_status lasso_save(shoal_driver *driver, shoal_model *model, shoal_err *err);
shoal_status lasso_score(shoal_score *score, shoal_err *err);
shoal_status app_lasso_show(shoal_driver *driver, shoal_err *err); /* lasso_show.c */

/* In models. */
struct lasso_shape {
    uint32_t version, loss, columns, index, lambdas, folds;
    uint32_t chosen; /* which lambda predictions use */
    uint32_t intercept;
    double mix, label[2];
};
enum { LASSO_VERSION = 1 };
/* Mean and standard error of the folds' held-out losses of the first `count` lambdas, at least one; which
 * of these lambdas `pick` means. */
void lasso_folds(const struct lasso_driver *d, uint32_t count, double *out_mean, double *out_error);
uint32_t lasso_choose(const struct lasso_driver *d, uint32_t count, enum lasso_pick pick,
                      const double *mean, const double *error);

#endif
