/* cmd_help.c - `shoal help [COMMAND]`, and the manual pages made from the rows. */
#include "cli/cli.h"

#include "base/assert.h"
#include "base/err.h"
#include "cli/help.h"
#include "cli/table.h"
#include <stddef.h>

enum { TEXT_MAX = 1 << 20 };

struct values {
    bool list, man;
};

static const struct base_opt rows[] = {
    {.name = "list",
     .type = BASE_OPT_FLAG,
     .help = "print the names of all commands, one per line",
     .offset = offsetof(struct values, list)},
    {.name = "man",
     .type = BASE_OPT_FLAG,
     .help = "print the manual page (mdoc) instead, of shoal itself when no command is named",
     .offset = offsetof(struct values, man)},
};

static void fill_list(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    for (size_t i = 0; i < count; i++)
        base_buf_printf(out, "%s\n", commands[i]->name);
}

static int unknown_topic(const struct cli_context *cx, const char *const *args, size_t arg_count,
                         bool group)
{
    char buf[32];
    const char *word = group && arg_count > 1 ? args[1] : args[0];
    const char *nearest = cli_table_nearest(group ? args[0] : NULL, word, buf, sizeof buf);
    shoal_err err = SHOAL_ERR_INIT;

    if (group && arg_count == 1)
        return cli_usage(cx, "'%s' has a manual page for each of its verbs: name one", args[0]);
    base_err(&err, SHOAL_E_INVAL, "no help on '%s'", word);
    if (nearest != NULL)
        base_err_hint(&err, "did you mean '%s'?", nearest);
    return cli_usage_err(cx, &err);
}

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    const struct values *v = values;
    const struct cli_command *command;
    struct base_buf buf;
    size_t used;
    bool group;
    int rc = 0;

    command = cli_table_find(args, arg_count, &used, &group);
    if (arg_count > 0 && command == NULL && (!group || arg_count > 1 || v->man))
        return unknown_topic(cx, args, arg_count, group);
    if (command != NULL && used < arg_count)
        return cli_usage(cx, "unexpected argument '%s'", args[used]);
    base_buf_init(&buf, env_alloc(cx->env), TEXT_MAX);
    if (v->list)
        fill_list(&buf);
    else if (v->man)
        cli_man_page(command, &buf);
    else if (command != NULL)
        cli_help_command(command, &buf);
    else if (group)
        cli_help_group(args[0], &buf);
    else
        cli_help_all(&buf);
    rc = cli_print(cx, &buf);
    base_buf_fini(&buf);
    return rc;
}

const struct cli_command cli_cmd_help = {
    .name = "help",
    .usage = "[options] [COMMAND]",
    .summary = "Print help on a command.",
    .description = "Without a command it lists all of them, as 'shoal --help' does.",
    .example = "help policy show",
    .opts = rows,
    .opt_count = BASE_COUNT(rows),
    .values_size = sizeof(struct values),
    .arg_max = 2,
    .arg_complete = "command",
    .no_config = true,
    .run = run,
};
