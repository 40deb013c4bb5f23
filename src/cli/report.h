/* report.h - what a command does with a result besides showing it (cli_finish): its page, the command line that repeats
 * it, outputs that are no inputs, and ^C.
 * Tests: tests/unit/cli/test_repeat.c, the commands' own, tests/cli/test_{market,study}.py and transcripts. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "base/watch.h"
#include "cli/cli.h"

/* ---- outputs. Any thread ---- */

/* SHOAL_E_INVAL in words when `path` is one of `inputs` or a file below one, under whatever name. NULL paths are
 * skipped, and "-" is no file. */
SHOAL_MUST_USE shoal_status cli_output_check(const struct cli_context *cx, const char *path,
                                             const char *const *inputs, size_t count,
                                             shoal_err *err);
/* The system's words for an errno as the others are: in lower case. Returns buf. */
const char *cli_output_reason(int code, char *buf, size_t size);
/* `out` goes to a reader that is gone: nothing is left to say. */
bool cli_output_unread(FILE *out);

/* ---- the command line that repeats a run ---- */

/* "shoal sim jobs.csv --cluster 6x4:t4": the arguments, then every option that is not at its
 * default, quoted as a shell would read them back. Where an argument looks like an option the options come
 * first, then "--". The first failure stays in `out`. */
void cli_repeat_command(const struct cli_command *command, const void *values,
                        const char *const *args, size_t arg_count, struct base_buf *out);

/* A space and the word, in quotes where a shell would not read it as it is. */
void cli_repeat_word(const char *word, struct base_buf *out);

/* ---- signals: Ctrl-C during long work, and a disk that fails under spilled memory ----
 *
 * Between start and stop, SIGINT and SIGTERM set the flag that cli_interrupt_flag returns instead
 * of ending the process; a signal that was ignored stays so. The first Ctrl-C so asks the work to stop and clean up,
 * the second ends the process. A process has one set of signal
 * handlers, so the flag is the one piece of process-wide state in the command; only commands use
 * it, never the library. Owner thread; the flag: any thread. */

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

/* ---- the HTML page of a command, to a file or, by the name "-", to standard output ---- */

struct cli_report {
    const struct cli_context *cx;
    const char *path;
    const void *values; /* of the command's options, and its arguments: for the command line */
    const char *const *args;
    size_t arg_count;
};

/* Whether --report names a file that may be written: none that the command reads, or writes besides. */
SHOAL_MUST_USE shoal_status cli_report_check(const struct cli_context *cx, const void *values,
                                             const char *const *args, size_t arg_count,
                                             shoal_err *err);

bool cli_report_to_stdout(const char *path); /* NULL: no */

/* Makes the page of a result and writes it, or nothing. */
SHOAL_MUST_USE shoal_status cli_report_write(const struct cli_report *report,
                                             const shoal_result *result, shoal_err *err);

#endif
