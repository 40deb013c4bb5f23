/* interrupt.h - signals: Ctrl-C during long work, and a disk that fails under spilled memory. The first Ctrl-C
 * asks the work to stop and clean up, the second ends the process.
 *
 * Between start and stop, SIGINT and SIGTERM set the flag that cli_interrupt_flag returns instead
 * of ending the process; a signal that was ignored stays so. A process has one set of signal
 * handlers, so the flag is the one piece of process-wide state in the command; only commands use
 * it, never the library. Owner thread; the flag: any thread. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include "base/watch.h"
#include "cli/cli.h"

void cli_interrupt_start(void);
void cli_interrupt_stop(void);
const atomic_bool *cli_interrupt_flag(void);
shoal_watch *cli_interrupt_watch(void); /* whose stop is the flag */
/* After stop, with the clean-up done: ends the process by the signal that came, as its parent
 * expects. Returns when none came. */
void cli_interrupt_raise(void);

/* From here on a disk that fails under memory of files in `folder` is told in words, and ends the
 * process with status 1: a page that cannot be read is a signal (SIGBUS), with nobody to return an
 * error to. The process's, since signals are; NULL: there is no folder. */
void cli_memory_watch(const struct cli_context *cx, const char *folder);

#endif
