/* config.h - where option values come from: default, file, environment, command line, the later the
 * stronger; and from words to values and arguments.
 *
 * The file is $XDG_CONFIG_HOME/shoal/config, else $HOME/.config/shoal/config: lines `sim.round =
 * 60s`, comments after a `#` at the start of a line, keys made of the command's words and the
 * option's name, or `color` and `ascii` alone. The whole file is checked when it is loaded, so a
 * wrong line is an error whatever command is run. In the environment `sim.round` is
 * SHOAL_SIM_ROUND. Values borrow the file's text: a cli_config must outlive them. */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "cli/cli.h"

enum cli_origin_kind {
    CLI_ORIGIN_DEFAULT,
    CLI_ORIGIN_FILE,
    CLI_ORIGIN_ENVIRONMENT,
    CLI_ORIGIN_COMMAND_LINE
};

struct cli_origin {
    enum cli_origin_kind kind;
    size_t line; /* in the file */
};

struct cli_config_line {
    const char *key, *value;
    size_t line;
};

struct cli_config {
    char path[4096]; /* empty when neither variable is set */
    bool found;
    struct base_buf text;
    struct cli_config_line *lines;
    size_t count, cap;
};

/* A missing file is not an error. On failure `config` still has its path and must be finished all
 * the same. */
SHOAL_MUST_USE shoal_status cli_config_load(struct cli_config *config, shoal_env *env,
                                            shoal_err *err);
void cli_config_fini(struct cli_config *config);

/* Writes defaults, then the file's and the environment's values into `values`; `origins` (one per
 * row, may be NULL) receives where each came from. `prefix` is the command's name, or "" for the
 * common options; `config` may be NULL: then the environment is read alone. */
SHOAL_MUST_USE shoal_status cli_config_apply(const struct cli_config *config, const char *prefix,
                                             const shoal_opt *rows, size_t count, void *values,
                                             struct cli_origin *origins, shoal_err *err);

/* "trace.gen.jobs" and "SHOAL_TRACE_GEN_JOBS"; return buf. */
const char *cli_config_key(const char *prefix, const shoal_opt *row, char *buf, size_t size);
const char *cli_config_variable(const char *prefix, const shoal_opt *row, char *buf, size_t size);

/* True for the common rows that a file or the environment may set. */
bool cli_config_common(const shoal_opt *row);

/* Words. Options and arguments may be mixed; `--` ends options. `--name=value`, `--name value`, `-p value`, `-pvalue`,
 * `-ab` for flags; a flag takes `--name=false`. Names are whole: no abbreviations. The command's rows come before
 * the common ones. Owner thread only. */
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
