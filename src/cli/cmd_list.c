/* cmd_list.c - `shoal policy list|show`, `strategy list`, `app list|show`: what can be named.
 * Tests: tests/cli/transcripts/policy.txt, train.txt. */
#include "cli/cli.h"

#include "base/err.h"
#include "market/strategy.h"
#include "sched/policy.h"
#include "shoal/list.h"
#include <string.h>

struct values {
    bool names;
};

static const shoal_opt names_row = {offsetof(struct values, names), SHOAL_OPT_FLAG, "names",
                                    .help = "print the names only, one per line"};

/* Names alone, where they are asked for. */
static shoal_status print_names(const struct cli_context *cx, const char *(*name_at)(size_t index),
                                shoal_err *err)
{
    if (cx->json || cx->csv)
        return base_err(err, SHOAL_E_INVAL, "--names and --%s exclude each other",
                        cx->json ? "json" : "csv");
    for (size_t i = 0; name_at(i) != NULL; i++)
        fprintf(cx->out, "%s\n", name_at(i));
    return SHOAL_OK;
}

/* ---- policies ---- */

static const char *policy_at(size_t index)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    return index < count ? policies[index]->name : NULL;
}

static shoal_status list_policies(struct cli_call *call, shoal_err *err)
{
    const struct values *v = call->values;

    return v->names ? print_names(call->cx, policy_at, err) : shoal_policy_list(call->result, err);
}

static int run_policy_show(struct cli_context *cx, const void *values, const char *const *args,
                           size_t arg_count)
{
    shoal_err err = SHOAL_ERR_INIT;
    int rc = 0;

    (void)values;
    for (size_t i = 0; i < arg_count; i++)
        if (sched_policy_find(args[i], &err) == NULL)
            return cli_usage_err(cx, &err);
    for (size_t i = 0; i < arg_count && rc == 0; i++) {
        const shoal_result *result = NULL;
        shoal_status st = shoal_policy_show(args[i], &result, &err);
        if (i > 0 && !cx->json)
            putc('\n', cx->out);
        rc = cli_finish(cx, st, result, NULL, NULL, 0, &err);
    }
    return rc;
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
    .opts = &names_row,
    .opt_count = 1,
    .values_size = sizeof(struct values),
    .json = true,
    .csv = true,
    .make = list_policies,
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
    .run = run_policy_show,
};

/* ---- strategies ---- */

static const char *strategy_at(size_t index)
{
    size_t count;
    const struct market_strategy *const *all = market_strategies(&count);

    return index < count ? all[index]->name : NULL;
}

static shoal_status list_strategies(struct cli_call *call, shoal_err *err)
{
    const struct values *v = call->values;

    return v->names ? print_names(call->cx, strategy_at, err)
                    : shoal_strategy_list(call->result, err);
}

const struct cli_command cli_cmd_strategy_list = {
    .name = "strategy list",
    .usage = "[options]",
    .summary = "List the strategies of 'shoal market' and their knobs.",
    .description = "A knob is set after a colon: shoal market prices.csv --strategy "
                   "shoal:horizon=24h,static.",
    .example = "strategy list",
    .opts = &names_row,
    .opt_count = 1,
    .values_size = sizeof(struct values),
    .json = true,
    .csv = true,
    .make = list_strategies,
};

/* ---- applications ---- */

static shoal_status list_apps(struct cli_call *call, shoal_err *err)
{
    return shoal_app_list(call->result, err);
}

/* What is no path is a wrong word. */
static shoal_status show_app(struct cli_call *call, shoal_err *err)
{
    shoal_status st = shoal_app_show(call->args[0], call->result, err);

    return st != SHOAL_OK && strchr(call->args[0], '/') == NULL ? SHOAL_E_INVAL : st;
}

const struct cli_command cli_cmd_app_list = {
    .name = "app list",
    .usage = "[options]",
    .summary = "List what can be trained.",
    .example = "app list",
    .json = true,
    .csv = true,
    .make = list_apps,
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
    .make = show_app,
};
