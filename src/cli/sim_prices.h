/* sim_prices.h - prices over time for `shoal sim --prices`. Owner thread only. */
#ifndef CLI_SIM_PRICES_H
#define CLI_SIM_PRICES_H

#include "cli/cli.h"
#include "sim/prices.h"

/* What GPUs of the cluster's kinds cost, from the history at `path`, whose date `from` (NULL: its
 * first) is second 0 of the trace. Without a path *out stays as it is. */
SHOAL_MUST_USE shoal_status cli_sim_prices_load(const struct cli_context *cx, const char *path,
                                                const char *from,
                                                const struct sched_cluster *cluster,
                                                struct sim_prices **out, shoal_err *err);
/* Says which kinds the history does not know, or not all the time. */
void cli_sim_prices_note(const struct cli_context *cx, const struct sim_prices *prices,
                         const struct sched_cluster *cluster);

#endif
