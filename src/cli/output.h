/* output.h - whether a file may be written: never over what the command reads. Any thread. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli/cli.h"

/* SHOAL_E_INVAL in words when `path` is one of `inputs` or a file below one, under whatever name. NULL paths are
 * skipped, and "-" is no file. */
SHOAL_MUST_USE shoal_status cli_output_check(const struct cli_context *cx, const char *path,
                                             const char *const *inputs, size_t count,
                                             shoal_err *err);
/* The system's words for an errno as the others are: in lower case. Returns buf. */
const char *cli_output_reason(int code, char *buf, size_t size);
/* `out` goes to a reader that is gone: nothing is left to say. */
bool cli_output_unread(FILE *out);

#endif
