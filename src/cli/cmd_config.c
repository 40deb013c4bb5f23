/* cmd_config.c - `shoal config show`: every option of every command, its value and where it came
 * from. */
#include "cli/cli.h"

#include "cli/columns.h"
#include "cli/config.h"
#include "cli/table.h"

enum { TEXT_MAX = 4 << 20, NAME_MAX_BYTES = 128, ROWS_MAX = 128 };

/* Where the lines go: a table for people or the items of one JSON object. */
struct sink {
    const struct cli_context *cx;
    struct cli_columns table;
    struct base_buf json;
    bool first;
};

static const char *origin_text(const char *prefix, const struct base_opt *row,
                               const struct cli_origin *origin, char *buf, size_t size)
{
    char name[NAME_MAX_BYTES];

    switch (origin->kind) {
    case CLI_ORIGIN_FILE: snprintf(buf, size, "file, line %zu", origin->line); break;
    case CLI_ORIGIN_ENVIRONMENT:
        snprintf(buf, size, "environment, %s", cli_config_variable(prefix, row, name, sizeof name));
        break;
    case CLI_ORIGIN_DEFAULT:
    case CLI_ORIGIN_COMMAND_LINE: snprintf(buf, size, "default"); break;
    }
    return buf;
}

static const char *origin_word(enum cli_origin_kind kind)
{
    static const char *const words[] = {"default", "file", "environment", "command line"};

    return words[kind];
}

static void put_json(struct sink *sink, const char *key, const char *value,
                     const struct cli_origin *origin, const char *variable)
{
    base_buf_puts(&sink->json, sink->first ? "{\"key\":" : ",{\"key\":");
    base_buf_json_string(&sink->json, key);
    base_buf_puts(&sink->json, ",\"value\":");
    base_buf_json_string(&sink->json, value);
    base_buf_puts(&sink->json, ",\"from\":");
    base_buf_json_string(&sink->json, origin_word(origin->kind));
    if (origin->kind == CLI_ORIGIN_FILE)
        base_buf_printf(&sink->json, ",\"line\":%zu", origin->line);
    base_buf_puts(&sink->json, ",\"variable\":");
    base_buf_json_string(&sink->json, variable);
    base_buf_puts(&sink->json, "}");
    sink->first = false;
}

static shoal_status put_row(struct sink *sink, const char *prefix, const struct base_opt *row,
                            const void *values, const struct cli_origin *origin)
{
    char key[NAME_MAX_BYTES], variable[NAME_MAX_BYTES], from[2 * NAME_MAX_BYTES];
    enum cli_style style = origin->kind == CLI_ORIGIN_DEFAULT ? CLI_DIM : CLI_PLAIN;
    struct base_buf text;
    shoal_status st;

    base_buf_init(&text, env_alloc(sink->cx->env), TEXT_MAX);
    base_buf_puts(&text, "");
    base_opt_format(row, values, &text);
    st = base_buf_status(&text);
    cli_config_key(prefix, row, key, sizeof key);
    if (st == SHOAL_OK && sink->cx->json) {
        put_json(sink, key, text.size == 0 ? "" : text.data, origin,
                 cli_config_variable(prefix, row, variable, sizeof variable));
    } else if (st == SHOAL_OK) {
        cli_columns_cell(&sink->table, CLI_PLAIN, "%s", key);
        cli_columns_cell(&sink->table, style, "%s", text.size == 0 ? "-" : text.data);
        cli_columns_cell(&sink->table, style, "%s",
                         origin_text(prefix, row, origin, from, sizeof from));
    }
    base_buf_fini(&text);
    return st;
}

/* The rows of one command (prefix is its name), or the common ones (prefix empty). */
static shoal_status put_rows(struct sink *sink, const char *prefix, const struct base_opt *rows,
                             size_t count, size_t values_size, shoal_err *err)
{
    struct cli_origin origins[ROWS_MAX];
    void *values = base_calloc(env_alloc(sink->cx->env), 1, values_size == 0 ? 1 : values_size);
    shoal_status st = SHOAL_E_NOMEM;

    if (values != NULL && count <= ROWS_MAX)
        st = cli_config_apply(sink->cx->config, prefix, rows, count, values, origins, err);
    for (size_t i = 0; st == SHOAL_OK && i < count; i++)
        if (prefix[0] != '\0' || cli_config_common(&rows[i]))
            st = put_row(sink, prefix, &rows[i], values, &origins[i]);
    base_free(env_alloc(sink->cx->env), values);
    return st;
}

static shoal_status put_all(struct sink *sink, shoal_err *err)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    shoal_status st =
        put_rows(sink, "", cli_common_rows, cli_common_row_count, sizeof(struct cli_common), err);

    for (size_t i = 0; st == SHOAL_OK && i < count; i++)
        if (!commands[i]->no_config)
            st = put_rows(sink, commands[i]->name, commands[i]->opts, commands[i]->opt_count,
                          commands[i]->values_size, err);
    return st;
}

static void put_file_json(struct sink *sink)
{
    const struct cli_config *config = sink->cx->config;

    base_buf_puts(&sink->json, "{\"v\":1,\"file\":");
    base_buf_json_string(&sink->json, config->path);
    base_buf_printf(&sink->json, ",\"found\":%s,\"options\":[", config->found ? "true" : "false");
}

static int print_table(struct sink *sink)
{
    const struct cli_config *config = sink->cx->config;

    if (config->path[0] != '\0')
        fprintf(sink->cx->out, "file: %s%s\n\n", config->path, config->found ? "" : " (not there)");
    return cli_columns_print(&sink->table);
}

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    struct sink sink = {.cx = cx, .first = true};
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st;
    int rc;

    (void)values, (void)args, (void)arg_count;
    cli_columns_init(&sink.table, cx, "lxl");
    cli_columns_cell(&sink.table, CLI_DIM, "KEY");
    cli_columns_cell(&sink.table, CLI_DIM, "VALUE");
    cli_columns_cell(&sink.table, CLI_DIM, "FROM");
    base_buf_init(&sink.json, env_alloc(cx->env), TEXT_MAX);
    if (cx->json)
        put_file_json(&sink);
    st = put_all(&sink, &err);
    base_buf_puts(&sink.json, "]}\n");
    if (st != SHOAL_OK)
        rc = cli_fail(cx, st, &err);
    else if (cx->json)
        rc = cli_print(cx, &sink.json);
    else
        rc = print_table(&sink);
    cli_columns_fini(&sink.table);
    base_buf_fini(&sink.json);
    return rc;
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
    .run = run,
};
