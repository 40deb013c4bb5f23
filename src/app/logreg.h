/* logreg.h - what the files of the application `logreg` share: logreg.c (options and the driver of
 * coordinate passes), logreg_newton.c, logreg_hinge.c and logreg_prox.c (drivers of Newton's method),
 * logreg_plan.c (data to
 * executors and tables), logreg_task.c (the tasks), logreg_score.c (models written and used),
 * logreg_show.c (what was learnt, as lists).
 *
 * What is where, by the way to the minimum (num/linear.h has the ways):
 *
 *              executors have     their state        tables besides the labels
 *   newton     rows               curves, and more   point: where to look; sum: what was found
 *   gram       rows               curves             the same, and the Hessian
 *   dual       rows               alpha, rest        w
 *   sgd        rows               -                  w
 *   factors    rows               -                  w / scale, turned: (lanes, columns)
 *   lasso      columns            w, reach, rest     z: margins of all rows
 *
 * Private to src/app and its tests. */
#ifndef APP_LOGREG_H
#define APP_LOGREG_H

#include "data/svm.h"
#include "num/linear.h"
#include "shoal/train.h"

enum {
    LOGREG_EXECUTORS_MAX = 64,
    LOGREG_WAVE = 4 /* executors at a time in a bulk synchronous job, if `wave` does not say */
};

enum logreg_algorithm { LOGREG_AUTO, LOGREG_NEWTON, LOGREG_SDCA, LOGREG_SGD };

struct logreg_options {
    uint32_t loss;      /* enum num_linear_loss */
    uint32_t penalty;   /* enum num_linear_penalty */
    uint32_t algorithm; /* enum logreg_algorithm */
    uint32_t index;     /* enum data_svm_base: from one or zero */
    uint64_t epochs, executors, wave, judge;
    double cost, lambda, tol, rate; /* lambda: 0: cost it is */
    bool bias, probabilities;
};

/* enum num_linear_way, and more. */
enum { LOGREG_BY_SGD = NUM_LINEAR_LASSO + 1, LOGREG_BY_FACTORS };
static inline bool logreg_is_sgd(uint32_t way)
{
    return way == LOGREG_BY_SGD || way == LOGREG_BY_FACTORS;
}
/* At most so many: passes, or directions of Newton's method. */
uint64_t logreg_epochs(const struct logreg_options *options, uint32_t way);

enum {
    LOGREG_W = 0, /* (columns, lanes) weights; newton: the point that tasks look at */
    LOGREG_Z = 0, /* lasso: (rows, lanes) margins */
    LOGREG_LABEL, /* what the data calls the classes: doubles, as bytes; then, of a `named` job, the
                     columns (data_svm_compact): uint32_t. No task reads it */
    LOGREG_SUM,   /* newton: (columns, lanes), what the tasks of a clock found */
    LOGREG_LOOK = LOGREG_SUM, /* lasso: (executors, LOGREG_LOOKS, lanes), what each last saw */
    LOGREG_KEPT,              /* newton: LOGREG_VECTORS x (columns, lanes), for the driver */
    LOGREG_GRAM               /* gram: (columns, columns) */
};

enum { LOGREG_STATE = 2 };   /* goes up with what is in checkpoints, see shoal_app */
enum { LOGREG_VECTORS = 6 }; /* see logreg_newton.h */

/* The rows of LOGREG_LOOK: see logreg_l1_lost. */
enum { LOGREG_LOOK_MOST, LOGREG_LOOK_ALONG, LOGREG_LOOK_LOSS, LOGREG_LOOK_BEND, LOGREG_LOOKS };

enum logreg_fn {
    LOGREG_SLOPE, /* gradient at the point, curves into the state */
    LOGREG_TURN,  /* Hessian times the point */
    LOGREG_DIAGONAL,
    LOGREG_HESSIAN,
    LOGREG_LINE,  /* hinge: slopes along the point, which is a direction */
    LOGREG_PASS,  /* one pass of dual, sgd or lasso */
    LOGREG_PAUSE, /* nothing: not this executor's wave */
    LOGREG_JUDGE  /* loss and what else the objective has */
};

/* An executor's data begins with this. Rows are every executors-th of all; lasso: they are columns
 * first .. first + rows - 1, and indices are rows. Offsets in bytes; 0: not there. */
struct logreg_data {
    uint64_t rows, entries, all_rows;
    uint32_t columns; /* of x */
    uint32_t all_columns;
    uint32_t lanes, loss, way;
    uint32_t l1;    /* the penalty is |w|_1 */
    uint32_t first; /* lasso: the first column */
    float cost;
    uint64_t start_at, index_at, value_at;
    uint64_t label_at;          /* uint32_t by row; lasso: of judged rows */
    uint64_t map_at;            /* dual, sgd: uint32_t by column: which of the table; 0: all */
    uint64_t norm_at;           /* dual; lasso: peaks */
    uint64_t aim_at;            /* lasso: (rows, lanes) */
    uint64_t judged, judged_at; /* lasso: rows of z whose loss this executor judges */
};

struct logreg_arg {
    uint64_t epoch;
    double step, scale; /* sgd; factors: weights are scale x the table */
    float spread;
    uint32_t whole;         /* visits all rows */
    float smooth, recentre; /* newton: of a hinge; see struct num_linear_slope */
    float moved;            /* with `moves`: step along the last line by which kept margins move */
    uint32_t moves;
};

struct logreg_result {
    double loss;        /* cost x loss */
    double gap;         /* dual: of visited rows; lasso: sum of |subgradients| */
    double penalty;     /* judge: dual: sum of conjugates; lasso: |w|_1 */
    double sharp, dual; /* newton: of a smoothed hinge, see struct num_linear_slope */
    double most, bend;  /* penalty l1: see logreg_l1_lost; of the lasso `dual` is its `along` */
    uint64_t units;     /* rows; lasso: columns */
    double line[NUM_LINEAR_STEPS];
};

struct logreg_driver {
    uint32_t executors, lanes, columns, way; /* columns with the bias */
    uint32_t classes, bulk;
    uint32_t named;    /* LOGREG_LABEL has names of columns */
    uint32_t constant; /* columns that never vary */
    uint64_t rows, clock, ended;
    double cost, tol;
    uint64_t epoch;
    uint32_t sent; /* of this epoch's executors, in this order: */
    uint32_t order[LOGREG_EXECUTORS_MAX];
    uint64_t judged; /* epoch of the last judgement */
    double scale;    /* factors; others 1 */
    double first;    /* the gap at first */
    double expect;   /* judging pays below it: dual: gap; lasso: sum of |subgradients| */
    double found;    /* dual: the guess of the last pass */
    /* newton */
    uint32_t tries, steps;
    double least, step, down, rest, rest_first, above; /* above: at most so much to gain */
    /* hinge; smooth is 0 for others: see logreg_hinge.c */
    double smooth, recentre, smoothing, value, dual, bound;
    double stands;               /* step along the last line that kept margins are at */
    uint32_t moves;              /* the next slope moves kept margins */
    uint32_t still;              /* nothing that floats show is left to gain */
    double lowest, lowest_value; /* gap, objective, and the epoch that found either */
    uint64_t lowest_at;
    struct logreg_result of[LOGREG_EXECUTORS_MAX]; /* of this epoch; newton: of this clock */
};

static inline size_t logreg_size(const struct logreg_driver *d)
{
    return (size_t)d->columns * d->lanes;
}
/* Sum over executors, in order; they are zeroed. */
struct logreg_result logreg_take_sum(struct logreg_driver *d);
/* What shoal_driver_stopped takes: `above`, how far the objective may be above its minimum, as a share.
 * Objectives are not negative, so at most 1; and nothing is claimed that floats cannot show. */
double logreg_gap(double value, double above);
/* The gap at which a job ends: tol x value, or what floats can show if that is more. */
double logreg_enough(const struct logreg_driver *d, double value);
/* Ends the job; `tolerance` becomes `stalled` if the gap is above tol. */
shoal_status logreg_finish(shoal_driver *driver, shoal_stop why, double gap);
/* Penalty l1. The dual variables a that losses have at their slopes are worth loss - along, with `along`
 * the sum of slope x weight; made feasible they lose at most this, with `most` the largest |slope| and
 * `bend` the sum of a / (1 - a / cost). Of one class; classes are feasible each by itself. See
 * logreg_prox.c. */
double logreg_l1_lost(double loss, double most, double along, double bend);
double logreg_dot(const float *a, const float *b, size_t size);
shoal_status logreg_plan(shoal_driver *driver, shoal_err *err);
/* The first clock; a hinge wants its part before. */
void logreg_hinge_begin(struct logreg_driver *d);
shoal_status logreg_newton_start(shoal_driver *driver, shoal_err *err);
/* All executors have ended a clock with this task. */
shoal_status logreg_newton_clock(shoal_driver *driver, uint32_t fn, shoal_err *err);
shoal_status logreg_run(shoal_task *task, shoal_err *err);
shoal_status logreg_score(shoal_score *score, shoal_err *err);
/* What is odd about the data: one class, columns that never vary. */
shoal_status logreg_tell(shoal_driver *driver, shoal_err *err);
/* From the margins of one row: its loss, and the class they predict. */
double app_logreg_loss(uint32_t loss, uint32_t lanes, const double *margin, uint32_t class);
uint32_t app_logreg_class(uint32_t classes, uint32_t lanes, const double *margin);
shoal_status app_logreg_show(shoal_driver *driver, shoal_err *err); /* logreg_show.c */

/* In models. */
struct logreg_shape {
    uint32_t version, loss, penalty, classes, lanes, columns, bias, index;
    double cost; /* as it came out, lambda or not */
};
enum { LOGREG_VERSION = 1, LOGREG_NAMED = 2 }; /* named: with a part `columns` */
/* What was learnt: (columns, lanes). */
void logreg_weights(shoal_driver *driver, float *out);
shoal_status logreg_save(shoal_driver *driver, shoal_model *model, shoal_err *err);

#endif
