/* advise_plan.c - `shoal advise --plan`: which runs are worth making, for people and programs. */
#include "cli/advise_show.h"

#include "base/event.h"
#include "base/text.h"
#include "cli/columns.h"
#include <math.h>

enum { TEXT_MAX = 1 << 20 };

static const char *cost_text(const struct advise_plan_problem *problem, double cost, char *buf,
                             size_t size)
{
    if (problem->price > 0)
        snprintf(buf, size, cost < 0.1 ? "$%.2g" : "$%.2f", cost);
    else
        snprintf(buf, size, "%.3g machine-s", cost);
    return buf;
}

int cli_advise_plan_text(const struct cli_context *cx, const struct advise_plan_problem *problem,
                         const struct advise_plan *plan)
{
    struct cli_columns table;
    struct base_buf out;
    char cost[2][48], time[32], command[ADVISE_PLAN_COMMAND_MAX];
    static const char *const HEAD[] = {"ALGORITHM", "MACHINES", "DATA",        "ITERATIONS",
                                       "TIME",      "COST",     "THEN SURE TO"};

    base_buf_init(&out, env_alloc(cx->env), TEXT_MAX);
    base_buf_printf(&out,
                    "%zu run%s for %s of %s: the time of an iteration is then known to within "
                    "%.0f%%, now %.0f%%\n\n",
                    plan->run_count, plan->run_count == 1 ? "" : "s",
                    cost_text(problem, plan->cost, cost[0], 48),
                    cost_text(problem, problem->budget, cost[1], 48), 100 * plan->after,
                    fmin(100 * plan->before, 999));
    int rc = cli_print(cx, &out);
    base_buf_fini(&out);
    cli_columns_init(&table, cx, "lrrrrrr");
    for (size_t i = 0; i < 7; i++)
        cli_columns_cell(&table, CLI_DIM, "%s", HEAD[i]);
    for (size_t i = 0; i < plan->run_count; i++) {
        const struct advise_plan_run *r = &plan->runs[i];
        cli_columns_cell(&table, CLI_PLAIN, "%s", problem->algorithms[r->algorithm].name);
        cli_columns_cell(&table, CLI_PLAIN, "%u", r->machines);
        cli_columns_cell(&table, CLI_PLAIN, "%.3g%%", 100 * r->fraction);
        cli_columns_cell(&table, CLI_PLAIN, "%u", r->iterations);
        cli_columns_cell(&table, CLI_PLAIN, "%s", base_format_duration(r->seconds, time, 32));
        cli_columns_cell(&table, CLI_PLAIN, "%s", cost_text(problem, r->cost, cost[0], 48));
        cli_columns_cell(&table, CLI_PLAIN, "%.0f%%", fmin(100 * r->sure, 999));
    }
    rc = rc != 0 ? rc : cli_columns_print(&table);
    cli_columns_fini(&table);
    for (size_t i = 0; i < plan->run_count && rc == 0; i++) {
        advise_plan_command(problem, &plan->runs[i], command, sizeof command);
        if (command[0] != 0)
            fprintf(cx->out, "%s%s\n", i == 0 ? "\n" : "", command);
    }
    return rc;
}

static void put_number(struct base_buf *out, const char *name, double value)
{
    base_buf_printf(out, ",\"%s\":", name);
    base_json_f64(out, value);
}

int cli_advise_plan_json(const struct cli_context *cx, const struct advise_plan_problem *problem,
                         const struct advise_plan *plan)
{
    struct base_buf out;

    base_buf_init(&out, env_alloc(cx->env), TEXT_MAX);
    base_buf_puts(&out, "{\"v\":1");
    put_number(&out, "budget", problem->budget);
    put_number(&out, "cost", plan->cost);
    base_buf_printf(&out, ",\"cost_unit\":\"%s\"", problem->price > 0 ? "usd" : "machine-seconds");
    put_number(&out, "sure_before", plan->before);
    put_number(&out, "sure_after", plan->after);
    put_number(&out, "gap", plan->gap);
    base_buf_puts(&out, ",\"runs\":[");
    for (size_t i = 0; i < plan->run_count; i++) {
        const struct advise_plan_run *r = &plan->runs[i];
        base_buf_puts(&out, i > 0 ? ",{\"algorithm\":" : "{\"algorithm\":");
        base_buf_json_string(&out, problem->algorithms[r->algorithm].name);
        base_buf_printf(&out, ",\"machines\":%u,\"iterations\":%u", r->machines, r->iterations);
        put_number(&out, "data", r->fraction);
        put_number(&out, "seconds", r->seconds);
        put_number(&out, "cost", r->cost);
        put_number(&out, "sure", r->sure);
        base_buf_puts(&out, "}");
    }
    base_buf_puts(&out, "]}\n");
    int rc = cli_print(cx, &out);
    base_buf_fini(&out);
    return rc;
}
