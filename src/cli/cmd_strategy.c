/* cmd_strategy.c - `shoal strategy list`: the strategies of `shoal market` and their knobs, for
 * people and for programs. */
#include "cli/cli.h"

#include "base/assert.h"
#include "cli/columns.h"
#include "cli/json.h"
#include "market/strategy.h"
#include <stddef.h>

enum { TEXT_MAX = 1 << 20 };

struct values {
    bool names;
};

static const struct base_opt rows[] = {
    {.name = "names",
     .type = BASE_OPT_FLAG,
     .help = "print the names only, one per line",
     .offset = offsetof(struct values, names)},
};

/* The default as somebody would write it: flags have one too. */
static const char *default_text(const struct base_opt *row)
{
    return row->fallback == NULL && row->type == BASE_OPT_FLAG ? "false" : row->fallback;
}

static int print_json(const struct cli_context *cx, const struct market_strategy *const *all,
                      size_t count)
{
    struct base_buf out;

    base_buf_init(&out, env_alloc(cx->env), TEXT_MAX);
    base_buf_puts(&out, "{\"v\":1,\"strategies\":[");
    for (size_t i = 0; i < count; i++) {
        cli_json_string(&out, i > 0 ? ",{\"name\":" : "{\"name\":", all[i]->name);
        cli_json_string(&out, ",\"summary\":", all[i]->summary);
        cli_json_string(&out, ",\"paper\":", all[i]->paper);
        base_buf_puts(&out, ",\"knobs\":[");
        for (size_t k = 0; k < all[i]->opt_count; k++) {
            const struct base_opt *row = &all[i]->opts[k];
            cli_json_string(&out, k > 0 ? ",{\"key\":" : "{\"key\":", row->name);
            cli_json_string(&out, ",\"default\":", default_text(row));
            cli_json_string(&out, ",\"help\":", row->help);
            base_buf_puts(&out, "}");
        }
        base_buf_puts(&out, "]}");
    }
    base_buf_puts(&out, "]}\n");
    int rc = cli_print(cx, &out);
    base_buf_fini(&out);
    return rc;
}

static int print_table(const struct cli_context *cx, const struct market_strategy *const *all,
                       size_t count)
{
    static const char *const heads[] = {"STRATEGY", "KNOB", "DEFAULT", "MEANING"};
    struct cli_columns table;

    cli_columns_init(&table, cx, "lllw");
    for (size_t i = 0; i < BASE_COUNT(heads); i++)
        cli_columns_cell(&table, CLI_DIM, "%s", heads[i]);
    for (size_t i = 0; i < count; i++) {
        cli_columns_cell(&table, CLI_BOLD, "%s", all[i]->name);
        cli_columns_cell(&table, CLI_PLAIN, "%s", "");
        cli_columns_cell(&table, CLI_PLAIN, "%s", "");
        cli_columns_cell(&table, CLI_PLAIN, "%s", all[i]->summary);
        for (size_t k = 0; k < all[i]->opt_count; k++) {
            const char *fallback = default_text(&all[i]->opts[k]);
            cli_columns_cell(&table, CLI_PLAIN, "%s", "");
            cli_columns_cell(&table, CLI_PLAIN, "%s", all[i]->opts[k].name);
            cli_columns_cell(&table, CLI_PLAIN, "%s", fallback != NULL ? fallback : "-");
            cli_columns_cell(&table, CLI_PLAIN, "%s", all[i]->opts[k].help);
        }
    }
    int rc = cli_columns_print(&table);
    cli_columns_fini(&table);
    return rc;
}

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    const struct values *v = values;
    size_t count;
    const struct market_strategy *const *all = market_strategies(&count);

    (void)args, (void)arg_count;
    if (v->names && cx->json)
        return cli_usage(cx, "--names and --json exclude each other");
    for (size_t i = 0; v->names && i < count; i++)
        fprintf(cx->out, "%s\n", all[i]->name);
    if (v->names)
        return 0;
    return cx->json ? print_json(cx, all, count) : print_table(cx, all, count);
}

const struct cli_command cli_cmd_strategy_list = {
    .name = "strategy list",
    .usage = "[options]",
    .summary = "List the strategies of 'shoal market' and their knobs.",
    .description = "A knob is set after a colon: shoal market prices.csv --strategy "
                   "shoal:horizon=24h,static.",
    .example = "strategy list",
    .opts = rows,
    .opt_count = BASE_COUNT(rows),
    .values_size = sizeof(struct values),
    .json = true,
    .run = run,
};
