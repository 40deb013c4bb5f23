/* parse.h - from words to values and arguments.
 *
 * Options and arguments may be mixed; `--` ends options. `--name=value`, `--name value`, `-p
 * value`, `-pvalue`, `-ab` for flags; a flag takes `--name=false`. Names are whole: no
 * abbreviations. The command's rows come before the common ones. Owner thread only. */
#ifndef CLI_PARSE_H
#define CLI_PARSE_H

#include "cli/cli.h"

struct cli_parse {
    const struct cli_command *command; /* NULL: common options only */
    void *values; /* of the command's rows; already has weaker sources' values */
    struct cli_common *common;
    const char **args; /* room for every word */
    size_t arg_count;
    bool stop_at_arg; /* stop before the first argument (the command's name) */
    size_t used;      /* words taken so far */
};

/* Returns SHOAL_OK, or SHOAL_E_INVAL or _E_LIMIT with the reason. */
SHOAL_MUST_USE shoal_status cli_parse_words(struct cli_parse *parse, const char *const *words,
                                            size_t count, shoal_err *err);

#endif
