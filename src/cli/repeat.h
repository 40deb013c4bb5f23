/* repeat.h - the command line that repeats a run, for reports and notes. */
#ifndef CLI_REPEAT_H
#define CLI_REPEAT_H

#include "cli/cli.h"

/* "shoal sim jobs.csv --cluster 6x4:t4": the arguments, then every option that is not at its
 * default, quoted as a shell would read them back. Where an argument looks like an option the options come
 * first, then "--". The first failure stays in `out`. */
void cli_repeat_command(const struct cli_command *command, const void *values,
                        const char *const *args, size_t arg_count, struct base_buf *out);

/* A space and the word, in quotes where a shell would not read it as it is. */
void cli_repeat_word(const char *word, struct base_buf *out);

#endif
