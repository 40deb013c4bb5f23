/* throughput.h - reads a throughput table (the JSON of Gavel's artifact) for the kinds of a
 * cluster.
 *
 *     {"v100": {"('ResNet-18 (batch size 32)', 1)": {"null": 29.9,
 *                                                    "('A3C', 1)": [20.1, 5.2]}, ...},
 *      "v100_unconsolidated": {...}}
 *
 * type -> (model, gang size) -> steps/s alone ("null") and, shared with another row, of this and of
 * the other. Types match the cluster's kinds without regard to case; "<kind>_unconsolidated" are
 * the rates of a gang spread over more nodes than needed. Immutable once loaded. */
#ifndef SIM_THROUGHPUT_H
#define SIM_THROUGHPUT_H

#include "base/map.h"
#include "env/env.h"
#include "sched/model_table.h"

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

#endif
