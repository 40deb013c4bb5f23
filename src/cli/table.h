/* table.h - the commands, one row each, in the order in which help lists them.
 *
 * Row X(policy_list) is `const struct cli_command cli_cmd_policy_list`, defined in a cmd_*.c. Any
 * thread. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "cli/cli.h"

/* id */
#define CLI_COMMAND_MAP(X) \
    X(sim)                 \
    X(solve)               \
    X(advise)              \
    X(market)              \
    X(study)               \
    X(train)               \
    X(predict)             \
    X(eval)                \
    X(app_list)            \
    X(app_show)            \
    X(new_app)             \
    X(jobs)                \
    X(top)                 \
    X(scale)               \
    X(drain)               \
    X(join)                \
    X(trace_info)          \
    X(trace_convert)       \
    X(trace_gen)           \
    X(gen_sparse)          \
    X(gen_ratings)         \
    X(gen_corpus)          \
    X(gen_regression)      \
    X(gen_prices)          \
    X(corpus_build)        \
    X(corpus_info)         \
    X(policy_list)         \
    X(policy_show)         \
    X(strategy_list)       \
    X(doctor)              \
    X(config_show)         \
    X(completion)          \
    X(help)                \
    X(version)

/* Started by Shoal itself, not by people: found by name, listed nowhere. */
#define CLI_INTERNAL_MAP(X) X(worker)

#define CLI_COMMAND_ROW(id) extern const struct cli_command cli_cmd_##id;
CLI_COMMAND_MAP(CLI_COMMAND_ROW)
CLI_INTERNAL_MAP(CLI_COMMAND_ROW)
#undef CLI_COMMAND_ROW

/* All rows that people may know of, in order. */
const struct cli_command *const *cli_table_commands(size_t *out_count);

/* The command named by the first words: "sim", or "policy" "list". *out_words is how many were
 * used. NULL when there is none; `*out_group` then says whether the first word alone is a command
 * with verbs. */
const struct cli_command *cli_table_find(const char *const *words, size_t count, size_t *out_words,
                                         bool *out_group);

/* The next command after index *at whose first word is `group` ("policy"), or NULL; *at moves past
 * it. */
const struct cli_command *cli_table_verb(const char *group, size_t *at);
/* Its second word, or NULL for a command without verbs. */
const char *cli_table_verb_name(const struct cli_command *command);

/* The closest first word (group NULL) or verb of a group, when worth offering, else NULL. */
const char *cli_table_nearest(const char *group, const char *word, char *buf, size_t size);

#endif
