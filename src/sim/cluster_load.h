/* cluster_load.h - a cluster as people give it on the command line. */
#ifndef SIM_CLUSTER_LOAD_H
#define SIM_CLUSTER_LOAD_H

#include "env/env.h"
#include "sched/cluster.h"

/* `text` is a spec ("6x4:t4,2x8:a100": starts with a digit and has a colon) or else the path of a
 * file: groups one per line, or the node list of Alibaba's 2023 trace. On failure *out is
 * untouched. */
SHOAL_MUST_USE shoal_status sim_cluster_load(shoal_env *env, const char *text,
                                             struct sched_cluster *out, shoal_err *err);

#endif
