/* cluster.h - the cluster that an option names. Any thread. */
#ifndef CLI_CLUSTER_H
#define CLI_CLUSTER_H

#include "cli/cli.h"
#include "sched/cluster.h"

/* As sim_cluster_load; but a spec that was typed wrong is a mistake in the call, SHOAL_E_INVAL. */
SHOAL_MUST_USE shoal_status cli_cluster_load(const struct cli_context *cx, const char *text,
                                             struct sched_cluster *out, shoal_err *err);

#endif
