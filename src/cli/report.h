/* report.h - the HTML page of a command, to a file or, by the name "-", to standard output.
 * Tests: the commands' own, tests/cli/test_{market,study}.py and tests/cli/transcripts. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli/cli.h"

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
