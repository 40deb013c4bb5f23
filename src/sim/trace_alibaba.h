/* trace_alibaba.h - the machines of Alibaba's 2023 GPU trace, to go with its pod list. */
#ifndef SIM_TRACE_ALIBABA_H
#define SIM_TRACE_ALIBABA_H

#include "env/env.h"

/* Reads a node list (CSV sn,cpu_milli,memory_mib,gpu,model) and appends the cluster as Shoal writes
 * it
 * ("387x2:T4,549x8:G2"), groups in order of first appearance. Nodes without GPUs are left out. */
SHOAL_MUST_USE shoal_status sim_cluster_from_openb(shoal_env *env, const char *path,
                                                   struct base_buf *out, shoal_err *err);

#endif
