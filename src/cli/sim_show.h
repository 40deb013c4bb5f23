/* sim_show.h - what `shoal sim` prints about its results. Results share trace and cluster. */
#ifndef CLI_SIM_SHOW_H
#define CLI_SIM_SHOW_H

#include "cli/cli.h"
#include "sim/result.h"

/* One object per line and policy; the story too when there is one. Returns what cli_print returns.
 */
int cli_sim_json(const struct cli_context *cx, const struct sim_result *const *results,
                 size_t count, uint64_t seed);
/* A row per policy, the best of each column in bold. A terminal that is too narrow gets fewer
 * columns. */
int cli_sim_table(const struct cli_context *cx, const struct sim_result *const *results,
                  size_t count);
void cli_sim_story(const struct cli_context *cx, const struct sim_result *const *results,
                   size_t count);
/* A warning for each policy whose shares were not always proven optimal. */
void cli_sim_note_unproven(const struct cli_context *cx, const struct sim_result *const *results,
                           size_t count);

#endif
