/* lasso.h - what the files of the application `lasso` share: lasso.c (options and the driver),
 * lasso_plan.c (data to tables), lasso_task.c (the tasks), lasso_score.c (models written and used).
 *
 * A chain is one path of solutions over the lambdas: chain 0 learns from all rows, chain c of
 * cross-validation from all but fold c. What is where:
 *
 *   table data      the matrix by columns, targets, folds: read by all, never changed
 *   table slope     u of each chain (num/lasso.h), as doubles: the driver copies them there
 *   table gradient  slopes of all columns for each chain: the driver copies them there
 *   table path      the solutions of chain 0 so far: column and coefficient of each that is not 0
 *   executors       0 .. chains - 1 solve, one chain each: state is struct lasso_chain
 *                   chains .. chains + parts - 1 scan a range of columns each, for all chains: state
 *                   is (chains, columns of the range) floats
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
    uint64_t lambdas, folds;
    double mix, lambda, ratio, tol; /* lambda, ratio: 0: not given */
    bool intercept, scale, probabilities;
};

enum { LASSO_DATA, LASSO_SLOPE, LASSO_GRADIENT, LASSO_PATH };

enum lasso_fn {
    LASSO_BEGIN, /* a chain's point of b = 0 */
    LASSO_SOLVE, /* a chain's working set */
    LASSO_SCAN,  /* slopes of a range of columns */
    LASSO_PAUSE  /* nothing: not this executor's clock */
};

/* The data table begins with this; offsets in bytes. */
struct lasso_data {
    uint32_t rows, columns, chains, parts;
    uint32_t loss, intercept;
    uint64_t entries;
    double y_mean;               /* taken off the targets */
    double label[2];             /* logistic: what the data calls 0 and 1 */
    uint64_t start_at, index_at; /* index_at 0: dense */
    uint64_t value_at, y_at;     /* floats */
    uint64_t fold_at;            /* uint8_t by row: the chain that does not see it */
    uint64_t scale_at;           /* floats by column, its values were divided by; 0: 1 */
    uint32_t part_first[LASSO_PARTS_MAX + 1]; /* columns */
    double total[LASSO_CHAINS_MAX];           /* rows that a chain sees */
};

/* A solving executor's state: this, then b (columns), u, z (rows) doubles, then whether a column is
 * in the working set (bytes). */
struct lasso_chain {
    double intercept;
};

struct lasso_arg {
    double lambda, before; /* this one, and the one whose solution is there */
    uint32_t round;        /* how often this lambda was solved already */
    uint32_t chains;       /* a bit each: those whose slopes are wanted */
};

struct lasso_solved {
    double objective, loss, held; /* loss: mean over rows seen; held: over the others */
    uint64_t updates;
    uint32_t nonzero, set;
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

struct lasso_driver {
    uint32_t chains, parts, rows, columns, lambdas, folds;
    uint32_t step;     /* which lambda */
    uint32_t round;    /* of it */
    uint32_t open;     /* a bit each: chains that are not at its solution yet */
    uint32_t ended;    /* executors that ended this clock */
    uint32_t scanning; /* whether it is one of scans */
    uint64_t clock, updates, path_max;
    double first; /* the largest lambda */
    struct lasso_solved solved[LASSO_CHAINS_MAX];
    double gap[LASSO_CHAINS_MAX]; /* when last looked at */
    struct lasso_seen seen[LASSO_PARTS_MAX];
    struct lasso_step of[LASSO_LAMBDAS_MAX];
};

/* An entry of the path. */
struct lasso_entry {
    uint32_t column;
    float value;
};

/* Parts of a chain's state. */
struct lasso_view {
    struct lasso_chain *head;
    double *b, *u, *z;
    uint8_t *in;
};
size_t lasso_chain_size(uint32_t rows, uint32_t columns);
struct lasso_view lasso_view_of(void *state, uint32_t rows, uint32_t columns);

/* The problem of a chain without its weights; lambda is the caller's to set. */
struct num_lasso lasso_problem(const struct lasso_data *data, const struct lasso_options *o,
                               uint32_t chain);

shoal_status lasso_plan(shoal_driver *driver, shoal_err *err);
shoal_status lasso_run(shoal_task *task, shoal_err *err);
shoal_status lasso_save(shoal_driver *driver, shoal_model *model, shoal_err *err);
shoal_status lasso_score(shoal_score *score, shoal_err *err);

/* In models. */
struct lasso_shape {
    uint32_t version, loss, columns, index, lambdas, folds;
    uint32_t chosen; /* which lambda predictions use */
    uint32_t intercept;
    double mix, label[2];
};
enum { LASSO_VERSION = 1 };
/* Mean and standard error of the folds' held-out losses; which lambda `pick` means. */
void lasso_folds(const struct lasso_driver *d, double *out_mean, double *out_error);
uint32_t lasso_choose(const struct lasso_driver *d, enum lasso_pick pick, const double *mean,
                      const double *error);

#endif
