/* completion.c - what the completion scripts of all shells have in common; see completion.h. */
#include "cli/completion.h"

#include <string.h>

/* --- lists of words --- */

static void put_word(struct base_buf *out, const char *word, const char *end)
{
    bool begins = out->size == 0 || strchr(" '(", out->data[out->size - 1]) != NULL;

    base_buf_printf(out, "%s%s%s", begins ? "" : " ", word, end);
}

static void put_choices(struct base_buf *out, bool is_flag, const char *const *choices)
{
    static const char *const flag[] = {"true", "false", NULL};

    if (is_flag)
        choices = flag;
    for (size_t i = 0; choices != NULL && choices[i] != NULL; i++)
        put_word(out, choices[i], "");
}

void cli_completion_put_commands(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    char word[CLI_COMPLETION_WORD_SIZE];

    for (size_t i = 0; i < count; i++)
        if (cli_completion_begins_group(i))
            put_word(out, cli_completion_first_word(commands[i], word), "");
}

void cli_completion_put_policies(struct base_buf *out)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    for (size_t i = 0; i < count; i++)
        put_word(out, policies[i]->name, "");
}

void cli_completion_put_apps(struct base_buf *out)
{
    const shoal_app *app;

    for (size_t i = 0; (app = app_at(i)) != NULL; i++)
        put_word(out, app->name, "");
}

void cli_completion_put_verbs(struct base_buf *out, const char *group)
{
    const struct cli_command *command;

    for (size_t at = 0; (command = cli_table_verb(group, &at)) != NULL;)
        put_word(out, cli_table_verb_name(command), "");
}

void cli_completion_put_choices(struct base_buf *out, const struct base_opt *row)
{
    put_choices(out, row->type == BASE_OPT_FLAG,
                row->type == BASE_OPT_CHOICE ? row->choices : NULL);
}

void cli_completion_put_setting_choices(struct base_buf *out, const shoal_opt *row)
{
    put_choices(out, row->type == SHOAL_OPT_FLAG,
                row->type == SHOAL_OPT_CHOICE ? row->choices : NULL);
}

static void put_keys(struct base_buf *out, const struct base_opt *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_word(out, rows[i].name, "=");
}

void cli_completion_put_policy_keys(struct base_buf *out, const char *before, const char *between,
                                    const char *after)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    for (size_t i = 0; i < count; i++) {
        if (policies[i]->opt_count == 0)
            continue;
        base_buf_printf(out, "%s%s%s", before, policies[i]->name, between);
        put_keys(out, policies[i]->opts, policies[i]->opt_count);
        base_buf_puts(out, after);
    }
}

void cli_completion_put_app_settings(struct base_buf *out, const char *before, const char *between,
                                     const char *after)
{
    const shoal_app *app;

    for (size_t i = 0; (app = app_at(i)) != NULL; i++) {
        base_buf_printf(out, "%s%s%s", before, app->name, between);
        for (size_t k = 0; k < app->opt_count; k++)
            put_word(out, app->opts[k].name, "=");
        base_buf_puts(out, after);
    }
}

static void put_place_keys(struct base_buf *out)
{
    put_keys(out, sched_place_rows, sched_place_row_count);
}

/* --- texts --- */

void cli_completion_put_quoted(struct base_buf *out, const char *text, const char *quote,
                               const char *special)
{
    base_buf_puts(out, "'");
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            base_buf_puts(out, quote);
            continue;
        }
        if (strchr(special, *text) != NULL)
            base_buf_puts(out, "\\");
        base_buf_append(out, text, 1);
    }
    base_buf_puts(out, "'");
}

static const struct cli_completion_hole *find_hole(const struct cli_completion_hole *holes,
                                                   size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(holes[i].name) == length && memcmp(holes[i].name, name, length) == 0)
            return &holes[i];
    return NULL;
}

void cli_completion_fill(struct base_buf *out, const char *text,
                         const struct cli_completion_hole *holes, size_t hole_count)
{
    static const struct cli_completion_hole common[] = {
        {"COMMANDS", cli_completion_put_commands},
        {"POLICIES", cli_completion_put_policies},
        {"APPS", cli_completion_put_apps},
        {"PLACE_KEYS", put_place_keys},
    };

    for (const char *at = text; *at != '\0';) {
        size_t plain = strcspn(at, "@");
        base_buf_append(out, at, plain);
        at += plain;
        if (*at == '\0')
            break;
        size_t length = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
        if (at[1 + length] != '@') { /* the shell's own */
            base_buf_append(out, at++, 1);
            continue;
        }
        const struct cli_completion_hole *hole = find_hole(holes, hole_count, at + 1, length);
        if (hole == NULL)
            hole = find_hole(common, BASE_COUNT(common), at + 1, length);
        shoal_assert(hole != NULL);
        hole->fill(out);
        at += length + 2;
    }
}

/* --- the table of commands --- */

const char *cli_completion_first_word(const struct cli_command *command, char *word)
{
    (void)snprintf(word, CLI_COMPLETION_WORD_SIZE, "%.*s", (int)strcspn(command->name, " "),
                   command->name);
    return word;
}

bool cli_completion_begins_group(size_t index)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    size_t length = strcspn(commands[index]->name, " ");

    for (size_t i = 0; i < index; i++)
        if (strncmp(commands[i]->name, commands[index]->name, length + 1) == 0)
            return false;
    return true;
}

bool cli_completion_begins_verbs(size_t index)
{
    size_t count;

    return cli_completion_begins_group(index) &&
           cli_table_verb_name(cli_table_commands(&count)[index]) != NULL;
}

void cli_completion_each_option(const struct cli_command *command,
                                void (*fn)(struct base_buf *out, const struct cli_command *command,
                                           const struct base_opt *row),
                                struct base_buf *out)
{
    for (size_t i = 0; command != NULL && i < command->opt_count; i++)
        fn(out, command, &command->opts[i]);
    for (size_t i = 0; i < cli_common_row_count; i++)
        if (cli_common_has(command, &cli_common_rows[i]))
            fn(out, command, &cli_common_rows[i]);
}
