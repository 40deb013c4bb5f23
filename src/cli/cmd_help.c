/* cmd_help.c - help texts and manual pages, made from the rows: `shoal help`, `--help`, `help --man`; and `shoal
 * version`.
 *
 * A help text is usage, one sentence, options with defaults in brackets, an example and the manual page. Manual
 * pages are mdoc, each clean under `mandoc -T lint`, which a test checks.
 * Tests: tests/checks/check_help.py, tests/cli/test_man.py. */
#include "cli/help.h"

#include "base/assert.h"
#include "base/err.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "cli/table.h"
#include "page/show.h"
#include "shoal/version.h"
#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* ---- help texts ---- */

enum { WIDTH = 80, OPTION_COLUMN_MAX = 30, COMMAND_COLUMN = 18 };

/* Appends `text` word by word, the cursor being at `column`; new lines start at `indent`. Ends the
 * line. */
static void put_wrapped(struct base_buf *out, const char *text, size_t column, size_t indent)
{
    bool first = true;

    while (*text != '\0') {
        size_t length = strcspn(text, " \n");
        if (!first && column + 1 + length > WIDTH) {
            base_buf_printf(out, "\n%*s", (int)indent, "");
            column = indent;
            first = true;
        }
        if (!first)
            base_buf_puts(out, " ");
        base_buf_append(out, text, length);
        column += length + (first ? 0 : 1);
        first = false;
        text += length;
        text += strspn(text, " \n");
    }
    base_buf_puts(out, "\n");
}

static const char *option_head(const shoal_opt *row, char *buf, size_t size)
{
    const char *meta = base_opt_meta(row);
    char letter[5] = "    ";

    if (row->letter != 0)
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    snprintf(buf, size, "  %s--%s%s%s", letter, row->name, meta == NULL ? "" : " ",
             meta == NULL ? "" : meta);
    return buf;
}

const char *cli_help_text(const shoal_opt *row, char *buf, size_t size)
{
    size_t used = (size_t)snprintf(buf, size, "%s", row->help);

    for (size_t i = 0; row->type == SHOAL_OPT_CHOICE && row->choices[i] != NULL && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%s",
                                 i == 0                        ? ": "
                                 : row->choices[i + 1] == NULL ? " or "
                                                               : ", ",
                                 row->choices[i]);
    return buf;
}

static void put_option(const shoal_opt *row, size_t column, struct base_buf *out)
{
    char head[120], text[600];
    size_t used = strlen(option_head(row, head, sizeof head));

    base_buf_puts(out, head);
    if (used + 2 > column) {
        base_buf_printf(out, "\n%*s", (int)column, "");
    } else {
        base_buf_printf(out, "%*s", (int)(column - used), "");
    }
    cli_help_text(row, text, sizeof text);
    if (row->fallback != NULL && row->type != SHOAL_OPT_FLAG) {
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, " [%s]", row->fallback);
    }
    put_wrapped(out, text, column, column);
}

static void widen(const shoal_opt *row, size_t *column)
{
    char head[120];
    size_t used = strlen(option_head(row, head, sizeof head)) + 2;

    if (used > *column && used <= OPTION_COLUMN_MAX)
        *column = used;
}

static void put_options(const struct cli_command *command, struct base_buf *out)
{
    size_t column = 0;
    const shoal_opt *row;

    for (size_t i = 0; (row = cli_option_at(command, i, NULL)) != NULL; i++)
        widen(row, &column);
    for (size_t i = 0; (row = cli_option_at(command, i, NULL)) != NULL; i++)
        put_option(row, column, out);
}

/* Example and manual page, on one line where they fit, the second flush right. */
static void put_example(const char *example, const char *page, struct base_buf *out)
{
    char left[300], right[100];
    size_t used, width;

    snprintf(left, sizeof left, "Example:  shoal %s", example);
    snprintf(right, sizeof right, "See also: %s(1)", page);
    used = strlen(left);
    width = strlen(right);
    if (used > WIDTH)
        base_buf_printf(out, "Example:\n  shoal %s", example);
    else
        base_buf_puts(out, left);
    if (used + 2 + width <= WIDTH)
        base_buf_printf(out, "%*s%s\n", (int)(WIDTH - used - width), "", right);
    else
        base_buf_printf(out, "\n%s\n", right);
}

const char *cli_man_name(const struct cli_command *command, char *buf, size_t size)
{
    snprintf(buf, size, "shoal-%s", command->name);
    for (char *p = buf; *p != '\0'; p++)
        if (*p == ' ')
            *p = '-';
    return buf;
}

void cli_help_command(const struct cli_command *command, struct base_buf *out)
{
    char page[80], usage[300];

    snprintf(usage, sizeof usage, "shoal %s%s%s", command->name,
             command->usage[0] == '\0' ? "" : " ", command->usage);
    base_buf_puts(out, "Usage: ");
    put_wrapped(out, usage, 7, 11);
    base_buf_puts(out, "\n");
    put_wrapped(out, command->summary, 0, 0);
    base_buf_puts(out, "\n");
    put_options(command, out);
    base_buf_puts(out, "\n");
    put_example(command->example, cli_man_name(command, page, sizeof page), out);
}

static void put_command(const struct cli_command *command, struct base_buf *out)
{
    base_buf_printf(out, "  %-*s", COMMAND_COLUMN - 2, command->name);
    put_wrapped(out, command->summary, COMMAND_COLUMN, COMMAND_COLUMN);
}

void cli_help_group(const char *group, struct base_buf *out)
{
    const struct cli_command *command;
    size_t at = 0;

    base_buf_printf(out, "Usage: shoal %s VERB [options] ...\n\n", group);
    while ((command = cli_table_verb(group, &at)) != NULL)
        put_command(command, out);
    base_buf_printf(out, "\nHelp on one: shoal %s VERB --help\n", group);
}

/* "Schedule: try policies", a heading of commands. */
static void put_section(enum cli_section section, struct base_buf *out)
{
    const char *name = cli_section_name(section);

    base_buf_printf(out, "\n%c%s: %s\n", toupper((unsigned char)name[0]), name + 1,
                    cli_section_title(section));
}

void cli_help_all(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    base_buf_puts(out,
                  "Usage: shoal COMMAND [options] ...\n\n"
                  "Replay job traces under scheduling policies, train models on elastic workers,\n"
                  "and find machines for both.\n");
    for (enum cli_section section = 0; section < CLI_SECTIONS; section++) {
        put_section(section, out);
        for (size_t i = 0; i < count; i++)
            if (cli_table_section(i) == section)
                put_command(commands[i], out);
    }
    base_buf_puts(out, "\n");
    put_options(NULL, out);
    base_buf_puts(out, "\n");
    put_example("help sim", "shoal", out);
}

void cli_help_overview(struct base_buf *out)
{
    base_buf_puts(out,
                  "Shoal runs machine-learning work on machines that many people share. Today it\n"
                  "simulates schedulers, trains models on this and other machines, and says where\n"
                  "to buy machines. It does not schedule live jobs yet.\n"
                  "\n"
                  "Schedule: what would other policies do to the jobs of my cluster?\n"
                  "  shoal trace gen --jobs 500 --output day.csv     make up a day of jobs\n"
                  "  shoal sim day.csv --policy fifo,las             replay it under two policies\n"
                  "\n"
                  "Train: a model, on workers that may come, go and die\n"
                  "  shoal gen ratings --output films.csv            make up some data\n"
                  "  shoal train mf films.csv --workers 2            train on it\n"
                  "\n"
                  "Compute: where to buy machines, and how many?\n"
                  "  shoal gen prices --output prices.csv            make up a history of prices\n"
                  "  shoal market prices.csv --work 5d               compare ways to buy\n"
                  "\n"
                  "Look and change: what runs here?\n"
                  "  shoal jobs                                      list it\n"
                  "  shoal top                                       watch it\n"
                  "\n"
                  "All commands: shoal help      One command: shoal help sim\n"
                  "Does this machine have all that is needed? shoal doctor\n");
}

/* ---- manual pages ---- */

/* The day the manual last changed: pages are the same whenever they are built. */
#define MAN_DATE "November 15, 2026"

enum { LINE = 76 };

static void put_char(struct base_buf *out, const char *text)
{
    if (*text == '\\')
        base_buf_puts(out, "\\e");
    else if (*text == '-' && text[1] == '-')
        base_buf_puts(out, "\\-");
    else
        base_buf_append(out, text, 1);
}

static bool ends_sentence(const char *word, size_t length, const char *rest)
{
    return strchr(".?!", word[length - 1]) != NULL && isupper((unsigned char)*rest);
}

/* Running text in short lines: a new sentence starts on a new line, as mdoc wants it; blank lines
 * part paragraphs; no line can be read as a request. Ends the line. */
static void put_prose(struct base_buf *out, const char *text)
{
    size_t column = 0;

    text += strspn(text, " \n");
    while (*text != '\0') {
        size_t length = strcspn(text, " \n");
        size_t space = strspn(text + length, " \n");
        bool paragraph = space > 1 && memcmp(text + length, "\n\n", 2) == 0;

        if (column > 0 && column + 1 + length > LINE) {
            base_buf_puts(out, "\n");
            column = 0;
        }
        base_buf_puts(out, column > 0 ? " " : *text == '.' || *text == '\'' ? "\\&" : "");
        for (size_t i = 0; i < length; i++)
            put_char(out, text + i);
        column += length + 1;
        if (paragraph)
            base_buf_puts(out, "\n.Pp\n");
        else if (ends_sentence(text, length, text + length + space))
            base_buf_puts(out, "\n");
        if (paragraph || ends_sentence(text, length, text + length + space))
            column = 0;
        text += length + space;
    }
    if (column > 0)
        base_buf_puts(out, "\n");
}

/* Words as mdoc arguments, each quoted where mdoc would read it as a macro. */
static void put_args(struct base_buf *out, const char *text)
{
    base_buf_puts(out, "\"");
    for (; *text != '\0'; text++)
        if (*text == '"')
            base_buf_puts(out, "\\(dq");
        else if (*text == '\\')
            base_buf_puts(out, "\\e");
        else
            base_buf_append(out, text, 1);
    base_buf_puts(out, "\"");
}

static void put_man_option(struct base_buf *out, const shoal_opt *row)
{
    const char *meta = base_opt_meta(row);
    char help[600];

    base_buf_puts(out, ".It ");
    if (row->letter != 0)
        base_buf_printf(out, "Fl %c , ", row->letter);
    base_buf_printf(out, "Fl Fl %s", row->name);
    if (meta != NULL) {
        base_buf_puts(out, " Ar ");
        put_args(out, meta);
    }
    base_buf_puts(out, "\n");
    cli_help_text(row, help, sizeof help - 1);
    help[0] = (char)toupper((unsigned char)help[0]);
    strcat(help, ".");
    put_prose(out, help);
    if (row->fallback != NULL && row->type != SHOAL_OPT_FLAG) {
        base_buf_puts(out, "The default is\n.Ql ");
        put_args(out, row->fallback);
        base_buf_puts(out, " .\n");
    }
}

static void put_man_options(struct base_buf *out, const struct cli_command *command)
{
    const shoal_opt *row;

    base_buf_puts(out, "The options are as follows:\n.Bl -tag -width Ds\n");
    for (size_t i = 0; (row = cli_option_at(command, i, NULL)) != NULL; i++)
        put_man_option(out, row);
    base_buf_puts(out, ".El\n");
}

/* NAME wants a phrase: lower case, no full stop. */
static void put_phrase(struct base_buf *out, const char *summary)
{
    char phrase[200];
    size_t length = strlen(summary);

    if (length >= sizeof phrase)
        length = sizeof phrase - 1;
    memcpy(phrase, summary, length);
    phrase[length] = '\0';
    if (length > 0 && phrase[length - 1] == '.')
        phrase[length - 1] = '\0';
    phrase[0] = (char)tolower((unsigned char)phrase[0]);
    base_buf_puts(out, ".Nd ");
    for (const char *p = phrase; *p != '\0'; p++)
        put_char(out, p);
    base_buf_puts(out, "\n");
}

static void put_head(struct base_buf *out, const char *page)
{
    char title[80];
    size_t i = 0;

    for (; page[i] != '\0' && i + 1 < sizeof title; i++)
        title[i] = (char)toupper((unsigned char)page[i]);
    title[i] = '\0';
    base_buf_printf(out, ".Dd %s\n.Dt %s 1\n.Os\n.Sh NAME\n.Nm %s\n", MAN_DATE, title, page);
}

static void put_exit(struct base_buf *out)
{
    base_buf_puts(
        out,
        ".Sh EXIT STATUS\n0 when done, 1 when it failed, 2 when it was called in a wrong way.\n");
}

static void put_environment(struct base_buf *out, const struct cli_command *command)
{
    char name[128];
    size_t row_count;
    const shoal_opt *rows = cli_command_opts(command, &row_count);

    base_buf_puts(out, ".Sh ENVIRONMENT\n");
    if (row_count > 0 && !command->no_config) {
        base_buf_printf(out,
                        "Every option of this command can be set there, for example\n.Ev %s ,\nor "
                        "in the file below; "
                        "see\n.Xr shoal-config-show 1 .\n.Pp\n",
                        cli_config_variable(command->name, &rows[0], name, sizeof name));
    }
    base_buf_puts(
        out,
        ".Ev NO_COLOR\n(not empty) turns colour off,\n.Ev CLICOLOR_FORCE\nturns it on;\n"
        ".Fl Fl color\nis stronger than both.\n"
        ".Sh FILES\n.Bl -tag -width Ds\n.It Pa ~/.config/shoal/config\nvalues of options, one\n"
        ".Ql key = value\nper line;\n.Ev XDG_CONFIG_HOME\nmoves it.\n.El\n");
}

static void put_command_page(struct base_buf *out, const struct cli_command *command)
{
    char page[80];

    put_head(out, cli_man_name(command, page, sizeof page));
    put_phrase(out, command->summary);
    base_buf_printf(out, ".Sh SYNOPSIS\n.Nm shoal %s\n", command->name);
    if (command->usage[0] != '\0') {
        base_buf_puts(out, ".Ar ");
        put_args(out, command->usage);
        base_buf_puts(out, "\n");
    }
    base_buf_puts(out, ".Sh DESCRIPTION\n");
    put_prose(out, command->summary);
    if (command->description != NULL) {
        base_buf_puts(out, ".Pp\n");
        put_prose(out, command->description);
    }
    base_buf_puts(out, ".Pp\n");
    put_man_options(out, command);
    put_environment(out, command);
    put_exit(out);
    base_buf_puts(out, ".Sh EXAMPLES\n.Dl shoal ");
    for (const char *p = command->example; *p != '\0'; p++)
        put_char(out, p);
    base_buf_puts(out, "\n.Sh SEE ALSO\n.Xr shoal 1\n");
}

static void put_command_item(const struct cli_command *command, struct base_buf *out)
{
    char page[80];

    base_buf_printf(out, ".It Cm %s\n", command->name);
    put_prose(out, command->summary);
    base_buf_printf(out, "See\n.Xr %s 1 .\n", cli_man_name(command, page, sizeof page));
}

static void put_main_page(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    put_head(out, "shoal");
    base_buf_puts(
        out, ".Nd run machine-learning work on shared machines\n.Sh SYNOPSIS\n.Nm\n.Ar command\n"
             ".Op Ar options\n.Op Ar arguments\n.Sh DESCRIPTION\n"
             "It replays job traces under scheduling policies, to see what each would do to\n"
             "waiting, fairness, makespan and cost; trains models on workers that may come,\n"
             "go and die; and says where machines are cheapest, and how many are enough.\n"
             "It does not schedule live jobs.\n");
    for (enum cli_section section = 0; section < CLI_SECTIONS; section++) {
        const char *name = cli_section_name(section);
        base_buf_printf(out, "%s.Ss %c%s: %s\n.Bl -tag -width Ds\n", section == 0 ? "" : ".El\n",
                        toupper((unsigned char)name[0]), name + 1, cli_section_title(section));
        for (size_t i = 0; i < count; i++)
            if (cli_table_section(i) == section)
                put_command_item(commands[i], out);
    }
    base_buf_puts(out, ".El\n.Ss Options\n");
    put_man_options(out, NULL);
    put_environment(out, NULL);
    put_exit(out);
    base_buf_puts(out, ".Sh SEE ALSO\n");
    for (size_t i = 0; i < count; i++)
        if (strcmp(commands[i]->name, "doctor") == 0)
            base_buf_puts(out, ".Xr shoal-doctor 1\n");
}

void cli_man_page(const struct cli_command *command, struct base_buf *out)
{
    if (command == NULL)
        put_main_page(out);
    else
        put_command_page(out, command);
}

/* ---- shoal help ---- */

enum { TEXT_MAX = 1 << 20 };

struct values {
    bool list, man, fields;
};

#define AT(member) offsetof(struct values, member)

static const shoal_opt rows[] = {
    {AT(list), SHOAL_OPT_FLAG, "list", .help = "print the names of all commands, one per line"},
    {AT(man), SHOAL_OPT_FLAG, "man",
     .help = "print the manual page (mdoc) instead, of shoal itself when no command is named"},
    {AT(fields), SHOAL_OPT_FLAG, "fields",
     .help = "print what --json has instead, as Markdown: each field, its unit, what it is"},
};

static void fill_list(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    for (size_t i = 0; i < count; i++)
        base_buf_printf(out, "%s\n", commands[i]->name);
}

/* Of one command, or of all. False where that one has no fields to tell. */
static bool fill_fields(const struct cli_command *command, struct base_buf *out)
{
    size_t count = 1;
    const struct cli_command *const *commands =
        command != NULL ? &command : cli_table_commands(&count);

    for (size_t i = 0; i < count; i++) {
        if (commands[i]->schema_of != NULL)
            page_document(commands[i]->name, commands[i]->schema_of(), out);
        if (commands[i]->other_schema_of != NULL)
            page_document(commands[i]->other_schema_of()->name, commands[i]->other_schema_of(),
                          out);
    }
    return command == NULL || command->schema_of != NULL;
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

static int print_help(struct cli_context *cx, const void *values, const char *const *args,
                      size_t arg_count)
{
    const struct values *v = values;
    const struct cli_command *command;
    struct base_buf buf;
    size_t used;
    bool group;
    int rc = 0;

    command = cli_table_find(args, arg_count, &used, &group);
    if (arg_count > 0 && command == NULL && (!group || arg_count > 1 || v->man || v->fields))
        return unknown_topic(cx, args, arg_count, group);
    if (command != NULL && used < arg_count)
        return cli_usage(cx, "unexpected argument '%s'", args[used]);
    base_buf_init(&buf, env_alloc(cx->env), TEXT_MAX);
    if (v->list)
        fill_list(&buf);
    else if (v->fields && !fill_fields(command, &buf))
        rc = cli_usage(cx, "'%s' has no fields that are known beforehand", command->name);
    else if (v->fields)
        ;
    else if (v->man)
        cli_man_page(command, &buf);
    else if (command != NULL)
        cli_help_command(command, &buf);
    else if (group)
        cli_help_group(args[0], &buf);
    else
        cli_help_all(&buf);
    if (rc == 0)
        rc = cli_print(cx, &buf);
    base_buf_fini(&buf);
    return rc;
}

const struct cli_command cli_cmd_help = {
    .name = "help",
    .usage = "[options] [COMMAND]",
    .summary = "Print help on a command.",
    .description =
        "Without a command it lists all of them by what they are for, as 'shoal --help' does.",
    .example = "help policy show",
    .opts = rows,
    .opt_count = BASE_COUNT(rows),
    .values_size = sizeof(struct values),
    .arg_max = 2,
    .arg_complete = "command",
    .no_config = true,
    .run = print_help,
};

/* ---- shoal version ---- */

static int print_version(struct cli_context *cx, const void *values, const char *const *args,
                         size_t arg_count)
{
    (void)values, (void)args, (void)arg_count;
    if (cx->json)
        fprintf(cx->out, "{\"v\":1,\"version\":\"%s\"}\n", shoal_version());
    else
        fprintf(cx->out, "shoal %s\n", shoal_version());
    return 0;
}

const struct cli_command cli_cmd_version = {
    .name = "version",
    .usage = "[options]",
    .summary = "Print the version.",
    .description = "Does the same as 'shoal --version'.",
    .example = "version --json",
    .json = true,
    .no_config = true,
    .run = print_version,
};
