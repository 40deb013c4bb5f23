/* table.h - the commands, one row each; help lists them by section, in this order.
 *
 * Row X(schedule, policy_list) is `const struct cli_command cli_cmd_policy_list`, defined in a cmd_*.c. Any
 * thread. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "cli/cli.h"

/* section, its title */
#define CLI_SECTION_MAP(X)                                                              \
    X(schedule, "try policies on the jobs of a cluster, and see what is wrong with it") \
    X(train, "models, on workers that may come, go and die")                            \
    X(compute, "where to buy machines, and how many")                                   \
    X(look, "at jobs that run here, and change their workers")                          \
    X(system, "this machine, settings, help")

enum cli_section {
#define CLI_SECTION_ID(id, title) CLI_SECTION_##id,
    CLI_SECTION_MAP(CLI_SECTION_ID)
#undef CLI_SECTION_ID
        CLI_SECTIONS
};

/* section, id */
#define CLI_COMMAND_MAP(X)     \
    X(schedule, sim)           \
    X(schedule, solve)         \
    X(compute, advise)         \
    X(compute, market)         \
    X(schedule, study)         \
    X(train, train)            \
    X(train, predict)          \
    X(train, eval)             \
    X(train, app_list)         \
    X(train, app_show)         \
    X(train, new_app)          \
    X(look, jobs)              \
    X(look, top)               \
    X(look, scale)             \
    X(look, drain)             \
    X(look, join)              \
    X(schedule, trace_info)    \
    X(schedule, trace_convert) \
    X(schedule, trace_gen)     \
    X(train, gen_sparse)       \
    X(train, gen_ratings)      \
    X(train, gen_corpus)       \
    X(train, gen_regression)   \
    X(compute, gen_prices)     \
    X(train, corpus_build)     \
    X(train, corpus_info)      \
    X(schedule, policy_list)   \
    X(schedule, policy_show)   \
    X(compute, strategy_list)  \
    X(system, doctor)          \
    X(system, config_show)     \
    X(system, completion)      \
    X(system, help)            \
    X(system, version)

/* Started by Shoal itself, not by people: found by name, listed nowhere. */
#define CLI_INTERNAL_MAP(X)          X(system, worker)

#define CLI_COMMAND_ROW(section, id) extern const struct cli_command cli_cmd_##id;
CLI_COMMAND_MAP(CLI_COMMAND_ROW)
CLI_INTERNAL_MAP(CLI_COMMAND_ROW)
#undef CLI_COMMAND_ROW

/* "schedule", and what its commands are for. */
const char *cli_section_name(enum cli_section section);
const char *cli_section_title(enum cli_section section);

/* All rows that people may know of, in order; and where row `index` of them belongs. */
const struct cli_command *const *cli_table_commands(size_t *out_count);
enum cli_section cli_table_section(size_t index);

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

/* What an option of `command` is called now that earlier versions called `was`, a word or a letter; NULL where
 * it is no old spelling. Those are taken, in files and the environment too, and listed nowhere. */
const char *cli_table_renamed(const char *command, const char *was, size_t length);
/* The word that the option called `name` had before, or NULL. */
const char *cli_table_was(const char *command, const char *name);

/* The closest first word (group NULL) or verb of a group, when worth offering, else NULL. */
const char *cli_table_nearest(const char *group, const char *word, char *buf, size_t size);

#endif
