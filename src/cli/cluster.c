/* cluster.c - see cluster.h. Tests: tests/cli/transcripts/sim_notes.txt. */
#include "cli/cluster.h"

#include "sim/cluster_load.h"

shoal_status cli_cluster_load(const struct cli_context *cx, const char *text,
                              struct sched_cluster *out, shoal_err *err)
{
    shoal_status st = sim_cluster_load(cx->env, text, out, err);

    if ((st != SHOAL_E_FORMAT && st != SHOAL_E_LIMIT) || !sim_cluster_is_spec(cx->env, text))
        return st;
    err->code = SHOAL_E_INVAL;
    return SHOAL_E_INVAL;
}
