/* memory.h - data larger than memory: spilled to a folder (--spill), or refused in words. */
#ifndef CLI_MEMORY_H
#define CLI_MEMORY_H

#include "cli/cli.h"

/* Before anything large is made. With a folder the command's memory spills to it; without, data of
 * which memory is sure not to hold `copies` copies is refused, and what turns out not to fit is an
 * error too. */
SHOAL_MUST_USE shoal_status cli_memory_start(const struct cli_context *cx, const char *spill,
                                             const char *data, unsigned copies, shoal_err *err);
/* From here on a disk that fails under memory of files in `folder` is told in words, and ends the
 * process with status 1: a page that cannot be read is a signal (SIGBUS), with nobody to return an
 * error to. Part of cli_memory_start; the process's, since signals are. */
void cli_memory_watch(const struct cli_context *cx, const char *folder);
/* When that was not enough (SHOAL_E_NOMEM without a hint): says why and what helps. */
void cli_memory_explain(const struct cli_context *cx, const char *spill, shoal_status status,
                        shoal_err *err);

#endif
