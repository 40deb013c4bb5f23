/* completion.h - the completion scripts: a text for each shell, with holes that the tables fill.
 *
 * Where a text says @NAME@, the row NAME of its shell writes; @COMMANDS@ (first words), @POLICIES@,
 * @APPS@ and @PLACE_KEYS@ (knobs that all policies have) are the same in all. Any thread. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "app/app.h"
#include "base/assert.h"
#include "cli/table.h"
#include "sched/plan.h"

struct cli_completion_hole {
    const char *name;
    void (*fill)(struct base_buf *out);
};

/* The script of a shell. */
void cli_completion_bash(struct base_buf *out);
void cli_completion_zsh(struct base_buf *out);
void cli_completion_fish(struct base_buf *out);

/* Writes a text; every hole in it must have a row, here or among those of all. */
void cli_completion_fill(struct base_buf *out, const char *text,
                         const struct cli_completion_hole *holes, size_t hole_count);

/* Lists of words. A space goes before a word that does not begin its list, which is one that does
 * not follow a space, a quote or a parenthesis. */
void cli_completion_put_commands(struct base_buf *out);
void cli_completion_put_policies(struct base_buf *out);
void cli_completion_put_apps(struct base_buf *out);
void cli_completion_put_verbs(struct base_buf *out, const char *group);
/* What a row may be given; nothing where that is no list. */
void cli_completion_put_choices(struct base_buf *out, const struct base_opt *row);
void cli_completion_put_setting_choices(struct base_buf *out, const shoal_opt *row);
/* Of each policy that has knobs, or application: `before`, its name, `between`, KEY= of its rows,
 * `after`. */
void cli_completion_put_policy_keys(struct base_buf *out, const char *before, const char *between,
                                    const char *after);
void cli_completion_put_app_settings(struct base_buf *out, const char *before, const char *between,
                                     const char *after);

/* Appends text inside single quotes; `quote` is how the shell writes one there, `special` gets a
 * backslash. */
void cli_completion_put_quoted(struct base_buf *out, const char *text, const char *quote,
                               const char *special);

/* The first word of a command; `word` has room for CLI_COMPLETION_WORD_SIZE. */
enum { CLI_COMPLETION_WORD_SIZE = 64 };
const char *cli_completion_first_word(const struct cli_command *command, char *word);

/* True for the first command of its group, and for a command without verbs. */
bool cli_completion_begins_group(size_t index);
/* True for the first command of a group with verbs. */
bool cli_completion_begins_verbs(size_t index);

/* Calls fn for the command's options, then the common ones; NULL: those before a command. */
void cli_completion_each_option(const struct cli_command *command,
                                void (*fn)(struct base_buf *out, const struct cli_command *command,
                                           const struct base_opt *row),
                                struct base_buf *out);

#endif
