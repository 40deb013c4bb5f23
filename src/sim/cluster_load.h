/* cluster_load.h - a cluster as people give it on the command line. */
#ifndef SIM_CLUSTER_LOAD_H
#define SIM_CLUSTER_LOAD_H

#include "env/env.h"
#include "sched/cluster.h"

/* Whether `text` is read as a spec ("6x4:t4,2x8:a100": starts with a digit, has no slash, and has a
 * colon or names no file) and not as a path. */
bool sim_cluster_is_spec(shoal_env *env, const char *text);

/* `text` is a spec, or else the path of a file: groups one per line, or the node list of Alibaba's
 * 2023 trace. A mistake in a file is told with its line. On failure *out is untouched. */
SHOAL_MUST_USE shoal_status sim_cluster_load(shoal_env *env, const char *text,
                                             struct sched_cluster *out, shoal_err *err);
/* The same for what a person gave: a spec that was typed wrong is a mistake in the call, SHOAL_E_INVAL; a file
 * that is wrong is bad input. */
SHOAL_MUST_USE shoal_status sim_cluster_given(shoal_env *env, const char *text,
                                              struct sched_cluster *out, shoal_err *err);

/* Reads the node list of Alibaba's 2023 trace (CSV sn,cpu_milli,memory_mib,gpu,model) and appends the
 * cluster as Shoal writes it ("387x2:T4,549x8:G2"). */
SHOAL_MUST_USE shoal_status sim_cluster_from_openb(shoal_env *env, const char *path,
                                                   struct base_buf *out, shoal_err *err);

#endif
