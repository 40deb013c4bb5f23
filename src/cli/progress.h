/* progress.h - one line on stderr that says how far a long piece of work is.
 *
 * On a terminal it appears after a second, is redrawn ten times a second and erases itself at the
 * end; otherwise one plain line is written every 30 s. It has its own thread, which only reads
 * the watch. Between start and stop nothing
 * else should write to cx->err. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "base/watch.h"
#include "cli/cli.h"

struct cli_progress;

/* Of what the watch counts, which is nothing at first and may change; the line is labelled by what that is. Total
 * 0: not known, no percent. NULL when no thread could be started: the work goes on without a line. Under --json it
 * is shown on a terminal only. */
struct cli_progress *cli_progress_watch(const struct cli_context *cx, const shoal_watch *watch);
/* Erases the line and frees. NULL is allowed. */
void cli_progress_stop(struct cli_progress *progress);

enum cli_progress_bar { CLI_BAR_NONE, CLI_BAR_ASCII, CLI_BAR_BLOCKS };

/* The line itself, without a newline, at most width columns wide: label, percent, bar, rate, time
 * left. */
void cli_progress_format(const char *label, uint64_t done, uint64_t total, double elapsed_s,
                         enum cli_progress_bar bar, unsigned width, struct base_buf *out);

#endif
