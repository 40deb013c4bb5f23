/* bind.h - speeds of jobs on the kinds of a cluster: throughput tables and fitted models, and what binding a trace to a
 * cluster leaves behind. Immutable once loaded, any thread. Tests: tests/unit/sim/test_bind.c, test_throughput.c,
 * test_fitted.c. */
#ifndef SIM_BIND_H
#define SIM_BIND_H

#include "base/arena.h"
#include "base/map.h"
#include "env/env.h"
#include "sched/model_fitted.h"
#include "sched/model_table.h"

/* ---- throughput tables ----
 *
 * Reads a throughput table (the JSON of Gavel's artifact) for the kinds of a
 * cluster.
 *
 *     {"v100": {"('ResNet-18 (batch size 32)', 1)": {"null": 29.9,
 *                                                    "('A3C', 1)": [20.1, 5.2]}, ...},
 *      "v100_unconsolidated": {...}}
 *
 * type -> (model, gang size) -> steps/s alone ("null") and, shared with another row, of this and of
 * the other. Types match the cluster's kinds without regard to case; "<kind>_unconsolidated" are
 * the rates of a gang spread over more nodes than needed. Immutable once loaded. */

enum { SIM_THROUGHPUT_SIZE_MAX = 256 * 1024 * 1024 };

struct sim_throughput {
    const struct base_alloc *alloc;
    struct sched_table table;
    struct base_map rows;   /* "model\tgpus" -> row */
    struct base_map models; /* model -> index, in order of appearance */
    int v100;               /* the cluster's kind called v100, or -1 */
};

/* The JSON is at most SIM_THROUGHPUT_SIZE_MAX bytes and names at most SCHED_TABLE_ROWS_MAX rows. A
 * table that knows none of the cluster's kinds is an error. */
SHOAL_MUST_USE shoal_status sim_throughput_load(shoal_env *env, const char *path,
                                                const struct sched_cluster *cluster,
                                                struct sim_throughput **out, shoal_err *err);
void sim_throughput_free(struct sim_throughput *tp);

/* The row of a model at a gang size, or -1. */
int sim_throughput_row(const struct sim_throughput *tp, const char *model, uint32_t gpus);

/* ---- fitted models ----
 *
 * Reads fitted models, as `shoal advise --save` writes them, for jobs to run by.
 *
 *     {"v":1,"shoal":"fitted model","models":[
 *       {"name":"logreg-sgd","machines":[1,2,4],"step_s":[8,4.2,2.4],
 *        "level":[0,1,2.5],"steps":[[10,22],[11,25],[13,31]]}]}
 *
 * docs/formats.md has its meaning, sched/model_fitted.h that of the tables. Keys not known are left
 * alone, so that later versions may add some. Immutable once loaded, any thread. */

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

/* The same job measured otherwise: progress is its share of the time it takes on the fewest
 * machines, so that policies which ask how much is left, or how fast it gets on, are not misled by
 * losses that fall ever more slowly. Times are the same. Where a level would be too small to tell,
 * as read. */
const struct sched_fitted *sim_fitted_even(const struct sim_fitted *fitted, const char *name);

/* ---- tables that the models of jobs borrow ---- */

struct sim_profiles;

struct sim_tables {
    const struct base_alloc *alloc;
    struct sim_throughput *throughput; /* or NULL */
    struct sim_profiles *profiles;     /* or NULL */
    struct sim_fitted *fitted;         /* or NULL */
};

void sim_tables_free(struct sim_tables *tables); /* NULL is allowed */

#endif
