/* cmd_config.c - `shoal config show`: every option of every command, its value and where it came
 * from. Tests: tests/cli/transcripts/config.txt. */
#include "cli/cli.h"

#include "base/assert.h"
#include "cli/config.h"
#include "cli/table.h"
#include "page/make.h"
#include <math.h>

enum { TEXT_MAX = 4 << 20, NAME_MAX_BYTES = 128, ROWS_MAX = 128, LINES_MAX = 1000 };

struct line {
    const char *key, *value, *from, *variable;
    const char *shown, *shown_from; /* for people */
    double line;                    /* of the file; NAN: it is from elsewhere */
};

struct record {
    const char *file;
    bool found;
    shoal_records options;
};

#define AT(member) offsetof(struct line, member)
static const shoal_field line_fields[] = {
    {AT(key), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "key", "KEY", .help = "in the file"},
    {AT(value), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "value", .help = "as the file has it"},
    {AT(shown), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "VALUE", .flags = SHOAL_FIELD_CUT},
    {AT(from), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "from", .help = "where it came from"},
    {AT(shown_from), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "FROM", .flags = 0},
    {AT(line), SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 0, "line", .help = "line of the file",
     .flags = SHOAL_FIELD_OPTIONAL},
    {AT(variable), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "variable",
     .help = "in the environment"},
};
#undef AT
static const shoal_schema line_schema = {"option", NULL, "An option.", line_fields,
                                         BASE_COUNT(line_fields)};

#define AT(member) offsetof(struct record, member)
static const shoal_field fields[] = {
    {AT(file), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "file", .help = "the configuration file"},
    {AT(found), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 0, "found", .help = "it is there"},
    {AT(options), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "options", .help = "all options",
     .of = &line_schema},
};
#undef AT
static const shoal_schema schema = {"config", NULL, "The configuration.", fields,
                                    BASE_COUNT(fields)};

struct listing {
    const struct cli_context *cx;
    struct page_made *made;
    struct line *lines; /* (LINES_MAX) */
    size_t count;
};

static shoal_status put_row(struct listing *list, const char *prefix, const shoal_opt *row,
                            const void *values, const struct cli_origin *origin)
{
    static const char *const words[] = {"default", "file", "environment", "command line"};
    char key[NAME_MAX_BYTES], variable[NAME_MAX_BYTES];
    struct page_made *made = list->made;
    struct base_buf text;

    shoal_assert(list->count < LINES_MAX);
    base_buf_init(&text, env_alloc(list->cx->env), TEXT_MAX);
    base_buf_puts(&text, "");
    base_opt_format(row, values, &text);
    shoal_status st = base_buf_status(&text);
    if (st == SHOAL_OK) {
        struct line *line = &list->lines[list->count++];
        cli_config_key(prefix, row, key, sizeof key);
        line->key = page_made_text(made, "%s", key);
        line->value = page_made_text(made, "%s", text.size == 0 ? "" : text.data);
        line->shown = text.size == 0 ? NULL : line->value;
        line->from = line->shown_from = words[origin->kind];
        line->variable =
            page_made_text(made, "%s", cli_config_variable(prefix, row, variable, sizeof variable));
        line->line = (double)NAN;
        if (origin->kind == CLI_ORIGIN_FILE) {
            line->line = (double)origin->line;
            line->shown_from = page_made_text(made, "file, line %zu", origin->line);
        } else if (origin->kind == CLI_ORIGIN_ENVIRONMENT) {
            line->shown_from = page_made_text(made, "environment, %s", line->variable);
        }
    }
    base_buf_fini(&text);
    return st;
}

/* The rows of one command (prefix is its name), or the common ones (prefix empty). */
static shoal_status put_rows(struct listing *list, const char *prefix, const shoal_opt *rows,
                             size_t count, size_t values_size, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(list->cx->env);
    struct cli_origin origins[ROWS_MAX];
    void *values = base_calloc(alloc, 1, values_size == 0 ? 1 : values_size);
    shoal_status st = SHOAL_E_NOMEM;

    if (values != NULL && count <= ROWS_MAX)
        st = cli_config_apply(list->cx->config, prefix, rows, count, values, origins, err);
    for (size_t i = 0; st == SHOAL_OK && i < count; i++)
        if (prefix[0] != '\0' || cli_config_common(&rows[i]))
            st = put_row(list, prefix, &rows[i], values, &origins[i]);
    base_free(alloc, values);
    return st;
}

static shoal_status put_all(struct listing *list, shoal_err *err)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    shoal_status st =
        put_rows(list, "", cli_common_rows, cli_common_row_count, sizeof(struct cli_common), err);

    for (size_t i = 0; st == SHOAL_OK && i < count; i++) {
        size_t row_count;
        const shoal_opt *rows = cli_command_opts(commands[i], &row_count);
        if (!commands[i]->no_config)
            st = put_rows(list, commands[i]->name, rows, row_count, commands[i]->values_size, err);
    }
    return st;
}

static shoal_status make(struct cli_call *call, shoal_err *err)
{
    const struct cli_context *cx = call->cx;
    const struct cli_config *config = cx->config;
    struct page_made *made = page_made_new(env_alloc(cx->env));
    struct record *record = page_made_alloc(made, 1, sizeof *record);
    struct listing list = {cx, made, page_made_alloc(made, LINES_MAX, sizeof(struct line)), 0};
    shoal_status st = record != NULL && list.lines != NULL ? put_all(&list, err) : SHOAL_E_NOMEM;

    if (st != SHOAL_OK) {
        page_made_free(made);
        return st;
    }
    *record = (struct record){.file = config->path, .found = config->found};
    record->options =
        (shoal_records){.first = list.lines, .stride = sizeof *list.lines, .count = list.count};
    made->result.schema = &schema;
    made->result.records = (shoal_records){.first = record, .stride = sizeof *record, .count = 1};
    if (config->path[0] != '\0')
        page_made_head(made, "file: %s%s\n", config->path, config->found ? "" : " (not there)");
    return page_made_finish(made, call->result, err);
}

const struct cli_command cli_cmd_config_show = {
    .name = "config show",
    .usage = "[options]",
    .summary = "Show the value of every option and where it came from.",
    .description = "A value comes from the default, then the configuration file, then the "
                   "environment, then the command line; "
                   "the later is the stronger. The file is $XDG_CONFIG_HOME/shoal/config, or "
                   "~/.config/shoal/config, with lines "
                   "such as 'sim.round = 60s' and comments after '#'. In the environment the same "
                   "option is SHOAL_SIM_ROUND. A "
                   "line that cannot be used is an error that names the file and the line.",
    .example = "config show",
    .json = true,
    .csv = true,
    .make = make,
};
