/* progress.h - one line on stderr that says how far a long piece of work is.
 *
 * On a terminal it appears after a second, is redrawn ten times a second and erases itself at the
 * end; otherwise one plain line is written every 30 s. It has its own thread, which only reads
 * `done`; the caller counts with atomic additions from any thread. Between start and stop nothing
 * else should write to cx->err. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli/cli.h"
#include <stdatomic.h>

struct cli_progress;

/* `label` and `done` are borrowed until stop. total 0: not known, no percent. NULL when no thread
 * could be started: the work goes on without a line. Under --json it is shown on a terminal only.
 */
struct cli_progress *cli_progress_start(const struct cli_context *cx, const char *label,
                                        atomic_uint_fast64_t *done, uint64_t total);
/* Erases the line and frees. NULL is allowed. */
void cli_progress_stop(struct cli_progress *progress);

enum cli_progress_bar { CLI_BAR_NONE, CLI_BAR_ASCII, CLI_BAR_BLOCKS };

/* The line itself, without a newline, at most width columns wide: label, percent, bar, rate, time
 * left. */
void cli_progress_format(const char *label, uint64_t done, uint64_t total, double elapsed_s,
                         enum cli_progress_bar bar, unsigned width, struct base_buf *out);

#endif
