/* cmd_policy.c - `shoal policy list` and `shoal policy show NAME`: the rows of the policy table,
 * for people and for programs. */
#include "cli/cli.h"

#include "base/assert.h"
#include "base/event.h"
#include "cli/columns.h"
#include "cli/json.h"
#include "sched/plan.h"
#include <stddef.h>
#include <string.h>

enum { TEXT_MAX = 4 << 20 };

struct list_values {
    bool names;
};

static const struct base_opt list_rows[] = {
    {.name = "names",
     .type = BASE_OPT_FLAG,
     .help = "print the names only, one per line",
     .offset = offsetof(struct list_values, names)},
};

static void put_bool(struct base_buf *out, const char *key, bool value)
{
    base_buf_printf(out, ",\"%s\":%s", key, value ? "true" : "false");
}

static void put_promises(struct base_buf *out, const struct sched_policy *policy)
{
    cli_json_string(out, "\"name\":", policy->name);
    cli_json_string(out, ",\"summary\":", policy->summary);
    put_bool(out, "preempts", policy->preempts);
    put_bool(out, "work_conserving", policy->work_conserving);
    put_bool(out, "starvation_free", policy->starvation_free);
}

static const char *type_name(enum base_opt_type type)
{
    static const char *const names[] = {
        [BASE_OPT_FLAG] = "flag",         [BASE_OPT_U64] = "integer", [BASE_OPT_F64] = "number",
        [BASE_OPT_DURATION] = "duration", [BASE_OPT_SIZE] = "size",   [BASE_OPT_STR] = "string",
        [BASE_OPT_CHOICE] = "choice",     [BASE_OPT_LIST] = "list"};

    return names[type];
}

/* The default as a reader of --set would write it: flags have one too. */
static const char *default_text(const struct base_opt *row)
{
    return row->fallback == NULL && row->type == BASE_OPT_FLAG ? "false" : row->fallback;
}

static void put_knob(struct base_buf *out, const struct base_opt *row, bool common, bool first)
{
    cli_json_string(out, first ? "{\"key\":" : ",{\"key\":", row->name);
    cli_json_string(out, ",\"type\":", type_name(row->type));
    cli_json_string(out, ",\"default\":", default_text(row));
    cli_json_string(out, ",\"help\":", row->help);
    put_bool(out, "common", common);
    if (row->min != 0 || row->max != 0) {
        base_buf_puts(out, ",\"min\":");
        base_json_f64(out, row->min);
        base_buf_puts(out, ",\"max\":");
        base_json_f64(out, row->max);
    }
    if (row->type == BASE_OPT_CHOICE) {
        base_buf_puts(out, ",\"choices\":[");
        for (size_t i = 0; row->choices[i] != NULL; i++)
            cli_json_string(out, i == 0 ? "" : ",", row->choices[i]);
        base_buf_puts(out, "]");
    }
    base_buf_puts(out, "}");
}

static int print_list_json(const struct cli_context *cx)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);
    struct base_buf buf;
    int rc;

    base_buf_init(&buf, env_alloc(cx->env), TEXT_MAX);
    base_buf_puts(&buf, "{\"v\":1,\"policies\":[");
    for (size_t i = 0; i < count; i++) {
        base_buf_puts(&buf, i == 0 ? "{" : ",{");
        put_promises(&buf, policies[i]);
        base_buf_puts(&buf, "}");
    }
    base_buf_puts(&buf, "]}\n");
    rc = cli_print(cx, &buf);
    base_buf_fini(&buf);
    return rc;
}

static int print_list(const struct cli_context *cx)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);
    struct cli_columns table;
    int rc;

    cli_columns_init(&table, cx, "llllw");
    cli_columns_cell(&table, CLI_DIM, "NAME");
    cli_columns_cell(&table, CLI_DIM, "PREEMPTS");
    cli_columns_cell(&table, CLI_DIM, "NO IDLING");
    cli_columns_cell(&table, CLI_DIM, "NO STARVING");
    cli_columns_cell(&table, CLI_DIM, "SUMMARY");
    for (size_t i = 0; i < count; i++) {
        cli_columns_cell(&table, CLI_BOLD, "%s", policies[i]->name);
        cli_columns_cell(&table, CLI_PLAIN, "%s", policies[i]->preempts ? "yes" : "no");
        cli_columns_cell(&table, CLI_PLAIN, "%s", policies[i]->work_conserving ? "yes" : "no");
        cli_columns_cell(&table, CLI_PLAIN, "%s", policies[i]->starvation_free ? "yes" : "no");
        cli_columns_cell(&table, CLI_PLAIN, "%s", policies[i]->summary);
    }
    rc = cli_columns_print(&table);
    cli_columns_fini(&table);
    return rc;
}

static int run_list(struct cli_context *cx, const void *values, const char *const *args,
                    size_t arg_count)
{
    const struct list_values *v = values;
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    (void)args, (void)arg_count;
    if (v->names && cx->json)
        return cli_usage(cx, "--names and --json exclude each other");
    for (size_t i = 0; v->names && i < count; i++)
        fprintf(cx->out, "%s\n", policies[i]->name);
    if (v->names)
        return 0;
    return cx->json ? print_list_json(cx) : print_list(cx);
}

static int print_show_json(const struct cli_context *cx, const struct sched_policy *policy)
{
    struct base_buf buf;
    int rc;

    base_buf_init(&buf, env_alloc(cx->env), TEXT_MAX);
    base_buf_puts(&buf, "{\"v\":1,");
    put_promises(&buf, policy);
    cli_json_string(&buf, ",\"optimises\":", policy->optimises);
    cli_json_string(&buf, ",\"paper\":", policy->paper);
    base_buf_puts(&buf, ",\"knobs\":[");
    for (size_t i = 0; i < policy->opt_count; i++)
        put_knob(&buf, &policy->opts[i], false, i == 0);
    for (size_t i = 0; i < sched_place_row_count; i++)
        put_knob(&buf, &sched_place_rows[i], true, i == 0 && policy->opt_count == 0);
    base_buf_puts(&buf, "]}\n");
    rc = cli_print(cx, &buf);
    base_buf_fini(&buf);
    return rc;
}

/* Words wrapped at the terminal's width (80 when piped is not a cut: words stay whole). */
static void print_paragraph(const struct cli_context *cx, const char *text)
{
    size_t column = 0;

    while (*text != '\0') {
        size_t length = strcspn(text, " \n");
        size_t columns = cli_columns_width(text) - cli_columns_width(text + length);
        if (column > 0 && column + 1 + columns > cx->width) {
            putc('\n', cx->out);
            column = 0;
        }
        if (column > 0)
            putc(' ', cx->out);
        fwrite(text, 1, length, cx->out);
        column += columns + (column > 0);
        text += length;
        text += strspn(text, " \n");
    }
    putc('\n', cx->out);
}

static void add_knobs(struct cli_columns *table, const struct base_opt *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cli_columns_cell(table, CLI_PLAIN, "  %s=%s", rows[i].name,
                         rows[i].meta == NULL ? "BOOL" : rows[i].meta);
        cli_columns_cell(table, CLI_PLAIN, "[%s]",
                         default_text(&rows[i]) == NULL ? "" : default_text(&rows[i]));
        cli_columns_cell(table, CLI_PLAIN, "%s", rows[i].help);
    }
}

static int print_knobs(const struct cli_context *cx, const char *title, const struct base_opt *rows,
                       size_t count)
{
    struct cli_columns table;
    int rc;

    if (count == 0)
        return 0;
    putc('\n', cx->out);
    cli_styled(cx, CLI_DIM, title);
    putc('\n', cx->out);
    cli_columns_init(&table, cx, "llw");
    add_knobs(&table, rows, count);
    rc = cli_columns_print(&table);
    cli_columns_fini(&table);
    return rc;
}

static int print_show(const struct cli_context *cx, const struct sched_policy *policy)
{
    int rc;

    cli_styled(cx, CLI_BOLD, policy->name);
    fprintf(cx->out, ": %s\n\n", policy->summary);
    print_paragraph(cx, policy->optimises);
    fprintf(cx->out, "\npreempts: %s   no idling: %s   no starving: %s\n",
            policy->preempts ? "yes" : "no", policy->work_conserving ? "yes" : "no",
            policy->starvation_free ? "yes" : "no");
    rc = print_knobs(cx, "knobs (--set KEY=VALUE)", policy->opts, policy->opt_count);
    if (rc == 0)
        rc = print_knobs(cx, "placement (--set, the same for all policies)", sched_place_rows,
                         sched_place_row_count);
    if (policy->paper != NULL && policy->paper[0] != '\0') {
        putc('\n', cx->out);
        print_paragraph(cx, policy->paper);
    }
    return rc;
}

static int run_show(struct cli_context *cx, const void *values, const char *const *args,
                    size_t arg_count)
{
    shoal_err err = SHOAL_ERR_INIT;

    (void)values;
    for (size_t i = 0; i < arg_count; i++)
        if (sched_policy_find(args[i], &err) == NULL)
            return cli_usage_err(cx, &err);
    for (size_t i = 0; i < arg_count; i++) {
        const struct sched_policy *policy = sched_policy_find(args[i], NULL);
        int rc = cx->json ? print_show_json(cx, policy) : print_show(cx, policy);
        if (rc != 0)
            return rc;
        if (!cx->json && i + 1 < arg_count)
            putc('\n', cx->out);
    }
    return 0;
}

const struct cli_command cli_cmd_policy_list = {
    .name = "policy list",
    .usage = "[options]",
    .summary = "List the scheduling policies and what they promise.",
    .description =
        "A policy that preempts may stop a running job. One without idling conserves work: it "
        "never leaves a GPU "
        "idle that a waiting job could use. One without starving starts every job in the end.",
    .example = "policy list",
    .opts = list_rows,
    .opt_count = BASE_COUNT(list_rows),
    .values_size = sizeof(struct list_values),
    .json = true,
    .run = run_list,
};

const struct cli_command cli_cmd_policy_show = {
    .name = "policy show",
    .usage = "[options] NAME...",
    .summary = "Show what a policy optimises, its knobs and where it comes from.",
    .description = "The knobs are set by the option --set of 'shoal sim'. With --json one object "
                   "per policy is "
                   "printed, each on its own line.",
    .example = "policy show las",
    .arg_min = 1,
    .arg_max = SIZE_MAX,
    .arg_complete = "policy",
    .json = true,
    .run = run_show,
};
