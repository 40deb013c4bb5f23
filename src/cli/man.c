/* man.c - manual pages in mdoc, made from the rows: `shoal help --man [COMMAND]`. Each page is
 * clean under `mandoc -T lint`, which a test checks. Tests: tests/cli/test_man.py. */
#include "cli/help.h"

#include "cli/config.h"
#include "cli/table.h"
#include <ctype.h>
#include <string.h>

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

static void put_option(struct base_buf *out, const struct base_opt *row)
{
    char help[600];

    base_buf_puts(out, ".It ");
    if (row->letter != 0)
        base_buf_printf(out, "Fl %c , ", row->letter);
    base_buf_printf(out, "Fl Fl %s", row->name);
    if (row->meta != NULL) {
        base_buf_puts(out, " Ar ");
        put_args(out, row->meta);
    }
    base_buf_puts(out, "\n");
    cli_help_text(row, help, sizeof help - 1);
    help[0] = (char)toupper((unsigned char)help[0]);
    strcat(help, ".");
    put_prose(out, help);
    if (row->fallback != NULL && row->type != BASE_OPT_FLAG) {
        base_buf_puts(out, "The default is\n.Ql ");
        put_args(out, row->fallback);
        base_buf_puts(out, " .\n");
    }
}

static void put_options(struct base_buf *out, const struct cli_command *command)
{
    size_t own = command == NULL ? 0 : command->opt_count;

    base_buf_puts(out, "The options are as follows:\n.Bl -tag -width Ds\n");
    for (size_t i = 0; i < own; i++)
        put_option(out, &command->opts[i]);
    for (size_t i = 0; i < cli_common_row_count; i++)
        if (cli_common_has(command, &cli_common_rows[i]))
            put_option(out, &cli_common_rows[i]);
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

    base_buf_puts(out, ".Sh ENVIRONMENT\n");
    if (command != NULL && command->opt_count > 0 && !command->no_config) {
        base_buf_printf(out,
                        "Every option of this command can be set there, for example\n.Ev %s ,\nor "
                        "in the file below; "
                        "see\n.Xr shoal-config-show 1 .\n.Pp\n",
                        cli_config_variable(command->name, &command->opts[0], name, sizeof name));
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
    put_options(out, command);
    put_environment(out, command);
    put_exit(out);
    base_buf_puts(out, ".Sh EXAMPLES\n.Dl shoal ");
    for (const char *p = command->example; *p != '\0'; p++)
        put_char(out, p);
    base_buf_puts(out, "\n.Sh SEE ALSO\n.Xr shoal 1\n");
}

static void put_main_page(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    char page[80];

    put_head(out, "shoal");
    base_buf_puts(
        out,
        ".Nd schedule machine-learning jobs on shared machines\n.Sh SYNOPSIS\n.Nm\n.Ar command\n"
        ".Op Ar options\n.Op Ar arguments\n.Sh DESCRIPTION\n"
        "An operator of a shared cluster takes a job trace, tries scheduling policies\n"
        "on it, and sees what each would do to waiting, fairness, makespan and\n"
        "utilisation.\n.Pp\n"
        "The commands are as follows:\n.Bl -tag -width Ds\n");
    for (size_t i = 0; i < count; i++) {
        base_buf_printf(out, ".It Cm %s\n", commands[i]->name);
        put_prose(out, commands[i]->summary);
        base_buf_printf(out, "See\n.Xr %s 1 .\n", cli_man_name(commands[i], page, sizeof page));
    }
    base_buf_puts(out, ".El\n.Pp\n");
    put_options(out, NULL);
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
