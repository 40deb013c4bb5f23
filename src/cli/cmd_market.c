/* cmd_market.c - `shoal market`: where and when to buy instances for work that can move. */
#include "cli/cli.h"

#include "cli/report.h"
#include "shoal/market.h"

static shoal_status make(struct cli_call *call, shoal_err *err)
{
    struct cli_context *cx = call->cx;
    shoal_market_opts *opts = call->values;

    opts->prices = call->args;
    opts->price_count = call->arg_count;
    opts->pictures = cx->report != NULL;
    call->hint = opts->moves ? "add --report out.html for pictures"
                             : "add --moves for where and when, --report out.html for pictures";
    shoal_status st = cli_output_check(cx, cx->report, &opts->availability, 1, err);
    return st == SHOAL_OK ? shoal_market_run(cx->env, opts, cli_watch(cx), call->result, err) : st;
}

const struct cli_command cli_cmd_market = {
    .name = "market",
    .usage = "[options] PRICES...",
    .summary = "Find where and when to buy instances for work that can move.",
    .description =
        "Replays a history of prices: work that checkpoints itself runs on one offer (a kind of "
        "instance in one zone, at the spot price or on demand) until its strategy, an "
        "interruption or its deadline moves it. Strategies see the present and the past only. "
        "What moving costs is counted: the checkpoint, its transfer and egress, the start-up, and "
        "the steps that an interruption loses.\n\n"
        "PRICES are files or folders: Shoal's CSV, the output of 'aws ec2 "
        "describe-spot-price-history', change logs of cross-cloud catalogues, series of changes, "
        "tables of dates. The first mistake stops with file, line and column; what is settled by "
        "a rule (a price of zero, the same instant twice, times that go backwards) is counted and "
        "said once. Prices in another currency need --exchange.\n\n"
        "The bound is what the work would have cost somebody who knew all prices and "
        "interruptions beforehand: no plan can cost less. It leaves budgets and limits out, which "
        "only make plans dearer.\n\n"
        "Columns: AGAINST STATIC compares with staying where it was cheapest at the start; FINISH "
        "is when the last job is done; ON DEMAND is the share of running time there; MISSED "
        "counts deadlines.",
    .example = "market prices.csv --kinds p3.2xlarge --work 20d --deadline 25d",
    .opts_of = shoal_market_opt_rows,
    .schema_of = shoal_market_schema,
    .values_size = sizeof(shoal_market_opts),
    .arg_min = 1,
    .arg_max = 4096,
    .arg_complete = "file",
    .json = true,
    .csv = true,
    .page = true,
    .make = make,
};
