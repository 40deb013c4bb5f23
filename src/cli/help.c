/* help.c - help texts from the rows (see help.h). Layout: usage, one sentence, options with
 * defaults in brackets, an example and the manual page. Tests: tests/unit/cli/test_help.c. */
#include "cli/help.h"

#include "cli/table.h"
#include <string.h>

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

static const char *option_head(const struct base_opt *row, char *buf, size_t size)
{
    char letter[5] = "    ";

    if (row->letter != 0)
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    snprintf(buf, size, "  %s--%s%s%s", letter, row->name, row->meta == NULL ? "" : " ",
             row->meta == NULL ? "" : row->meta);
    return buf;
}

const char *cli_help_text(const struct base_opt *row, char *buf, size_t size)
{
    size_t used = (size_t)snprintf(buf, size, "%s", row->help);

    for (size_t i = 0; row->type == BASE_OPT_CHOICE && row->choices[i] != NULL && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%s",
                                 i == 0                        ? ": "
                                 : row->choices[i + 1] == NULL ? " or "
                                                               : ", ",
                                 row->choices[i]);
    return buf;
}

static void put_option(const struct base_opt *row, size_t column, struct base_buf *out)
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
    if (row->fallback != NULL && row->type != BASE_OPT_FLAG) {
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, " [%s]", row->fallback);
    }
    put_wrapped(out, text, column, column);
}

static void widen(const struct base_opt *row, size_t *column)
{
    char head[120];
    size_t used = strlen(option_head(row, head, sizeof head)) + 2;

    if (used > *column && used <= OPTION_COLUMN_MAX)
        *column = used;
}

static void put_options(const struct cli_command *command, struct base_buf *out)
{
    size_t column = 0;
    size_t own = command == NULL ? 0 : command->opt_count;

    for (size_t i = 0; i < own; i++)
        widen(&command->opts[i], &column);
    for (size_t i = 0; i < cli_common_row_count; i++)
        if (cli_common_has(command, &cli_common_rows[i]))
            widen(&cli_common_rows[i], &column);
    for (size_t i = 0; i < own; i++)
        put_option(&command->opts[i], column, out);
    for (size_t i = 0; i < cli_common_row_count; i++)
        if (cli_common_has(command, &cli_common_rows[i]))
            put_option(&cli_common_rows[i], column, out);
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

void cli_help_all(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    base_buf_puts(
        out,
        "Usage: shoal COMMAND [options] ...\n\nSchedule machine-learning jobs on shared machines: "
        "try policies on a trace.\n\n");
    for (size_t i = 0; i < count; i++)
        put_command(commands[i], out);
    base_buf_puts(out, "\n");
    put_options(NULL, out);
    base_buf_puts(out, "\n");
    put_example("help sim", "shoal", out);
}

void cli_help_overview(struct base_buf *out)
{
    base_buf_puts(
        out, "Shoal schedules machine-learning jobs on machines that many people share.\n"
             "\n"
             "  compare policies on a job trace   shoal sim day.csv --policy fifo,las\n"
             "  make or inspect a trace           shoal trace gen --jobs 500 --output day.csv\n"
             "  train a model on elastic workers  shoal train mf ratings.csv --workers 2\n"
             "  read about the policies           shoal policy list\n"
             "  check this machine                shoal doctor\n"
             "\n"
             "All commands: shoal --help      One command: shoal sim --help\n");
}
