/* interrupt.h - Ctrl-C during long work: the first asks it to stop and clean up, the second ends
 * the process.
 *
 * Between start and stop, SIGINT and SIGTERM set the flag that cli_interrupt_flag returns instead
 * of ending the process; a signal that was ignored stays so. A process has one set of signal
 * handlers, so the flag is the one piece of process-wide state in the command; only commands use
 * it, never the library. Owner thread; the flag: any thread. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdatomic.h>

void cli_interrupt_start(void);
void cli_interrupt_stop(void);
const atomic_bool *cli_interrupt_flag(void);
/* After stop, with the clean-up done: ends the process by the signal that came, as its parent
 * expects. Returns when none came. */
void cli_interrupt_raise(void);

#endif
