/* output.h - whether a file may be written: never over what the command reads. Any thread. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli/cli.h"

/* SHOAL_E_INVAL in words when `path` is one of `inputs`, under whatever name. NULL paths are
 * skipped, and "-" is no file. */
SHOAL_MUST_USE shoal_status cli_output_check(const struct cli_context *cx, const char *path,
                                             const char *const *inputs, size_t count,
                                             shoal_err *err);
/* Whether two files are one, or would be once they are written; and whether a file is in a folder, or
 * would be made there. Links are followed, as they are when a file is written. */
bool cli_output_same(const struct cli_context *cx, const char *a, const char *b);
bool cli_output_in(const char *path, const char *folder);
/* The system's words for an errno as the others are: in lower case. Returns buf. */
const char *cli_output_reason(int code, char *buf, size_t size);
/* `out` goes to a reader that is gone: nothing is left to say. */
bool cli_output_unread(FILE *out);

#endif
