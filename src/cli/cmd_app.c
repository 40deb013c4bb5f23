/* cmd_app.c - `shoal app list` and `shoal app show APP`: what can be trained, and its options. */
#include "cli/cli.h"

#include "app/app.h"
#include "base/event.h"
#include "cli/apps.h"
#include "cli/columns.h"
#include "cli/json.h"
#include "train/options.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20 };

static void put_app(struct base_buf *out, const shoal_app *app)
{
    cli_json_string(out, "\"name\":", app->name);
    cli_json_string(out, ",\"summary\":", app->summary);
    cli_json_string(out, ",\"data\":", app->data);
    cli_json_string(out, ",\"objective\":", app->objective);
    cli_json_string(out, ",\"units\":", app->units);
    if (app->staleness == SHOAL_STALENESS_PLANNED)
        base_buf_puts(out, ",\"staleness\":null");
    else
        base_buf_printf(out, ",\"staleness\":%u", app->staleness);
    base_buf_printf(out, ",\"predicts\":%s", app->score != NULL ? "true" : "false");
}

static int list_json(const struct cli_context *cx)
{
    struct base_buf buf;
    int rc;

    base_buf_init(&buf, env_alloc(cx->env), TEXT_MAX);
    base_buf_puts(&buf, "{\"v\":1,\"apps\":[");
    for (size_t i = 0; app_at(i) != NULL; i++) {
        base_buf_puts(&buf, i == 0 ? "{" : ",{");
        put_app(&buf, app_at(i));
        base_buf_puts(&buf, "}");
    }
    base_buf_puts(&buf, "]}\n");
    rc = cli_print(cx, &buf);
    base_buf_fini(&buf);
    return rc;
}

static int run_list(struct cli_context *cx, const void *values, const char *const *args,
                    size_t arg_count)
{
    struct cli_columns table;
    int rc;

    (void)values, (void)args, (void)arg_count;
    if (cx->json)
        return list_json(cx);
    cli_columns_init(&table, cx, "llw");
    cli_columns_cell(&table, CLI_DIM, "NAME");
    cli_columns_cell(&table, CLI_DIM, "OBJECTIVE");
    cli_columns_cell(&table, CLI_DIM, "SUMMARY");
    for (size_t i = 0; app_at(i) != NULL; i++) {
        cli_columns_cell(&table, CLI_BOLD, "%s", app_at(i)->name);
        cli_columns_cell(&table, CLI_PLAIN, "%s", app_at(i)->objective);
        cli_columns_cell(&table, CLI_PLAIN, "%s", app_at(i)->summary);
    }
    rc = cli_columns_print(&table);
    cli_columns_fini(&table);
    return rc;
}

/* The default as --set takes it; flags have one too. */
static const char *default_text(const shoal_opt *opt)
{
    return opt->fallback == NULL && opt->type == SHOAL_OPT_FLAG ? "false" : opt->fallback;
}

static bool has_range(const shoal_opt *opt)
{
    return (opt->type == SHOAL_OPT_U64 || opt->type == SHOAL_OPT_F64) &&
           (opt->min != 0 || opt->max != 0);
}

static bool is_open(const shoal_opt *opt)
{
    return isinf(opt->max) || (opt->type == SHOAL_OPT_U64 && opt->max >= 0x1p64);
}

static void put_range(struct base_buf *out, const shoal_opt *opt)
{
    base_buf_puts(out, ",\"min\":");
    base_json_f64(out, opt->min);
    base_buf_puts(out, ",\"max\":");
    if (is_open(opt))
        base_buf_puts(out, "null");
    else
        base_json_f64(out, opt->max);
}

static void put_choices(struct base_buf *out, const shoal_opt *opt)
{
    base_buf_puts(out, ",\"choices\":[");
    for (size_t i = 0; opt->choices[i] != NULL; i++)
        cli_json_string(out, i == 0 ? "" : ",", opt->choices[i]);
    base_buf_puts(out, "]");
}

static int show_json(const struct cli_context *cx, const shoal_app *app)
{
    static const char *const TYPES[] = {"flag", "integer", "number", "string", "choice"};
    struct base_buf buf;
    int rc;

    base_buf_init(&buf, env_alloc(cx->env), TEXT_MAX);
    base_buf_puts(&buf, "{\"v\":1,");
    put_app(&buf, app);
    base_buf_puts(&buf, ",\"options\":[");
    for (size_t i = 0; i < app->opt_count; i++) {
        const shoal_opt *opt = &app->opts[i];
        cli_json_string(&buf, i == 0 ? "{\"key\":" : ",{\"key\":", opt->name);
        cli_json_string(&buf, ",\"type\":", TYPES[opt->type]);
        cli_json_string(&buf, ",\"default\":", default_text(opt));
        cli_json_string(&buf, ",\"help\":", opt->help);
        if (opt->type == SHOAL_OPT_CHOICE)
            put_choices(&buf, opt);
        if (has_range(opt))
            put_range(&buf, opt);
        base_buf_puts(&buf, "}");
    }
    base_buf_puts(&buf, "]}\n");
    rc = cli_print(cx, &buf);
    base_buf_fini(&buf);
    return rc;
}

/* As people write it: 1000000, 1e15, 1e-9. */
static const char *bound_text(double bound, char *buf, size_t size)
{
    char *e;

    snprintf(buf, size, "%g", bound);
    if (fabs(bound) < 1e7 || strtod(buf, NULL) != bound)
        snprintf(buf, size, "%.15g", bound);
    e = strchr(buf, 'e');
    if (e == NULL)
        return buf;
    char *digits = e + 2 + strspn(e + 2, "0");
    e += e[1] == '-' ? 2 : 1;
    memmove(e, digits, strlen(digits) + 1);
    return buf;
}

static void add_option(struct cli_columns *table, const shoal_opt *opt)
{
    char meta[120] = "VALUE", low[32], high[32];

    if (has_range(opt))
        snprintf(meta, sizeof meta, "%s..%s", bound_text(opt->min, low, sizeof low),
                 is_open(opt) ? "" : bound_text(opt->max, high, sizeof high));
    else if (opt->type == SHOAL_OPT_FLAG)
        strcpy(meta, "BOOL");
    else if (opt->type == SHOAL_OPT_CHOICE) {
        meta[0] = 0;
        for (size_t i = 0; opt->choices[i] != NULL; i++) {
            size_t used = strlen(meta);
            snprintf(meta + used, sizeof meta - used, "%s%s", i > 0 ? "|" : "", opt->choices[i]);
        }
    }
    cli_columns_cell(table, CLI_PLAIN, "  %s=%s", opt->name, meta);
    cli_columns_cell(table, CLI_PLAIN, "[%s]", default_text(opt) == NULL ? "" : default_text(opt));
    cli_columns_cell(table, CLI_PLAIN, "%s", opt->help);
}

static int run_show(struct cli_context *cx, const void *values, const char *const *args,
                    size_t arg_count)
{
    shoal_err err = SHOAL_ERR_INIT;
    const shoal_app *app = cli_app_find(args[0], &err);
    struct cli_columns table;
    int rc = 0;

    (void)values, (void)arg_count;
    if (app == NULL)
        return strchr(args[0], '/') != NULL ? cli_fail(cx, err.code, &err)
                                            : cli_usage_err(cx, &err);
    if (cx->json)
        return show_json(cx, app);
    cli_styled(cx, CLI_BOLD, app->name);
    fprintf(cx->out, ": %s\n\ndata: %s\nobjective: %s   staleness: ", app->summary,
            app->data != NULL ? app->data : "", app->objective);
    if (app->staleness == SHOAL_STALENESS_PLANNED)
        fputs("by options and data", cx->out);
    else
        fprintf(cx->out, "%u", app->staleness);
    fprintf(cx->out, "   predicts: %s\n", app->score != NULL ? "yes" : "no");
    if (app->opt_count == 0)
        return 0;
    cli_styled(cx, CLI_DIM, "\noptions (--set KEY=VALUE)\n");
    cli_columns_init(&table, cx, "llw");
    for (size_t i = 0; i < app->opt_count; i++)
        add_option(&table, &app->opts[i]);
    rc = cli_columns_print(&table);
    cli_columns_fini(&table);
    return rc;
}

const struct cli_command cli_cmd_app_list = {
    .name = "app list",
    .usage = "[options]",
    .summary = "List what can be trained.",
    .example = "app list",
    .json = true,
    .run = run_list,
};

const struct cli_command cli_cmd_app_show = {
    .name = "app show",
    .usage = "[options] APP",
    .summary = "Show an application: its data, its objective, its options.",
    .example = "app show logreg",
    .arg_min = 1,
    .arg_max = 1,
    .arg_complete = "app",
    .json = true,
    .run = run_show,
};
