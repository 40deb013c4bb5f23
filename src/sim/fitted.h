/* fitted.h - reads fitted models, as `shoal advise --save` writes them, for jobs to run by.
 *
 *     {"v":1,"shoal":"fitted model","models":[
 *       {"name":"logreg-sgd","machines":[1,2,4],"step_s":[8,4.2,2.4],
 *        "level":[0,1,2.5],"steps":[[10,22],[11,25],[13,31]]}]}
 *
 * docs/formats.md has its meaning, sched/model_fitted.h that of the tables. Keys not known are left
 * alone, so that later versions may add some. Immutable once loaded, any thread.
 * Tests: tests/unit/sim/test_fitted.c. */
#ifndef SIM_FITTED_H
#define SIM_FITTED_H

#include "base/arena.h"
#include "base/map.h"
#include "env/env.h"
#include "sched/model_fitted.h"

enum { SIM_FITTED_SIZE_MAX = 64 * 1024 * 1024, SIM_FITTED_MODELS_MAX = 256 };

struct sim_fitted {
    const struct base_alloc *alloc;
    struct base_arena arena;
    struct base_map names;       /* name -> index into models */
    struct sched_fitted *models; /* as read */
    struct sched_fitted *even;   /* the same with levels even in time, see sim_fitted_even */
    uint32_t count;
};

/* Whether the file says so of itself in its first bytes; also false when it cannot be read. */
bool sim_fitted_is(shoal_env *env, const char *path);

/* At most SIM_FITTED_SIZE_MAX bytes and SIM_FITTED_MODELS_MAX models. What is malformed or out of
 * range is refused: err says which model, what was expected. */
SHOAL_MUST_USE shoal_status sim_fitted_load(shoal_env *env, const char *path,
                                            struct sim_fitted **out, shoal_err *err);
void sim_fitted_free(struct sim_fitted *fitted); /* NULL is allowed */

/* The tables of a model as they were read, or NULL. */
const struct sched_fitted *sim_fitted_find(const struct sim_fitted *fitted, const char *name);
/* The same job measured otherwise: progress is its share of the time it takes on the fewest
 * machines, so that policies which ask how much is left, or how fast it gets on, are not misled by
 * losses that fall ever more slowly. Times are the same. Where a level would be too small to tell,
 * as read. */
const struct sched_fitted *sim_fitted_even(const struct sim_fitted *fitted, const char *name);

#endif
