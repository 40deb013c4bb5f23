/* model_fitted.h - the speed of a job as it was fitted from a few measured runs: how long an
 * iteration takes on so many machines (Ernest), and how many iterations it takes there to come
 * nearer to the goal (Hemingway). `shoal advise --save` makes them, traces name them.
 *
 * Both are tables over the machine counts the fit can vouch for; a job runs on no more and no fewer
 * machines than the largest and smallest of them, and in between the logarithms of both are linear
 * in the logarithm of the count. A GPU counts as a machine. Progress is whatever the levels
 * measure, from 0 at the start to `level[level_count]` at the goal (`shoal advise` writes the
 * logarithm by which the distance to the best loss has shrunk); within a level each iteration makes
 * the same progress. Immutable, borrowed, any thread. Tests: tests/unit/sched/test_model_fitted.c.
 */
#ifndef SCHED_MODEL_FITTED_H
#define SCHED_MODEL_FITTED_H

#include "sched/model.h"

enum {
    SCHED_FITTED_MACHINES_MAX = 64, /* counts in the tables */
    SCHED_FITTED_LEVELS_MAX = 256,
    SCHED_FITTED_COUNT_MAX = 100000 /* machines */
};
/* Ranges of what is in the tables; progress of a level is at least SCHED_FITTED_LEVEL_MIN. */
#define SCHED_FITTED_STEP_MIN_S 1e-9
#define SCHED_FITTED_STEP_MAX_S 1e9
#define SCHED_FITTED_STEPS_MIN  1e-9
#define SCHED_FITTED_STEPS_MAX  1e15
#define SCHED_FITTED_LEVEL_MIN  1e-9
#define SCHED_FITTED_LEVEL_MAX  1e6

struct sched_fitted {
    uint32_t machine_count, level_count;
    const uint32_t *machines; /* (machine_count), rising */
    const double *step_s;     /* (machine_count), > 0: of one iteration */
    const double *level;      /* (level_count + 1), rising from 0 */
    const double *steps; /* (machine_count, level_count), > 0: iterations from level to level */
};

/* Whether all numbers are within the ranges above; a test of what was read, and of what was made.
 */
bool sched_fitted_valid(const struct sched_fitted *fitted);

/* Seconds of one iteration on so many machines; INFINITY outside the table. */
double sched_fitted_step_s(const struct sched_fitted *fitted, uint32_t machines);
/* Iterations from level to level + 1 on so many machines; INFINITY outside the table. */
double sched_fitted_steps(const struct sched_fitted *fitted, uint32_t machines, uint32_t level);
/* The level that `progress` is in; at the goal and beyond, the last. */
uint32_t sched_fitted_level(const struct sched_fitted *fitted, double progress);

/* The whole job; its work is the progress at the goal. The tables are valid. */
struct sched_model sched_model_fitted(const struct sched_fitted *fitted);
/* The tables behind a model, or NULL where it is of another sort. */
const struct sched_fitted *sched_model_fitted_of(const struct sched_model *m);

#endif
