/* cmd_gen_prices.c - `shoal gen prices`: a made-up history of prices, for first steps and tests. */
#include "cli/cli.h"

#include "base/assert.h"
#include "base/err.h"
#include "market/gen.h"
#include "market/when.h"
#include <stddef.h>
#include <string.h>

enum { TEXT_MAX = 512 << 20 };

struct values {
    const char *kinds, *from, *output;
    uint64_t regions, zones, seed;
    double days, changes, swing;
};

static const struct base_opt rows[] = {
    {.name = "kinds",
     .letter = 'k',
     .type = BASE_OPT_STR,
     .meta = "LIST",
     .fallback = "small:V100:1=3.06,large:V100:8=24.48",
     .help = "kinds of instances as NAME:ACCELERATOR:COUNT=USD, dollars an hour on demand",
     .offset = offsetof(struct values, kinds)},
    {.name = "regions",
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "3",
     .min = 1,
     .max = 1000,
     .help = "regions",
     .offset = offsetof(struct values, regions)},
    {.name = "zones",
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "2",
     .min = 1,
     .max = 26,
     .help = "zones in each region",
     .offset = offsetof(struct values, zones)},
    {.name = "from",
     .type = BASE_OPT_STR,
     .meta = "DATE",
     .fallback = "2025-01-01",
     .help = "when the history begins",
     .offset = offsetof(struct values, from)},
    {.name = "days",
     .type = BASE_OPT_F64,
     .meta = "D",
     .fallback = "90",
     .min = 0.01,
     .max = 10000,
     .help = "how long it is",
     .offset = offsetof(struct values, days)},
    {.name = "changes",
     .type = BASE_OPT_F64,
     .meta = "N",
     .fallback = "3",
     .min = 0.001,
     .max = 1000,
     .help = "changes of a spot price in a day, on average",
     .offset = offsetof(struct values, changes)},
    {.name = "swing",
     .type = BASE_OPT_F64,
     .meta = "X",
     .fallback = "0.5",
     .min = 0,
     .max = 5,
     .help = "how far prices wander: standard deviation of their logarithm",
     .offset = offsetof(struct values, swing)},
    {.name = "seed",
     .letter = 's',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1",
     .help = "same seed, same bytes",
     .offset = offsetof(struct values, seed)},
    {.name = "output",
     .letter = 'o',
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .fallback = "-",
     .complete = "file",
     .help = "where to write",
     .offset = offsetof(struct values, output)},
};

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    const struct values *v = values;
    struct market_gen_opts opts = {.kinds = v->kinds,
                                   .regions = (uint32_t)v->regions,
                                   .zones = (uint32_t)v->zones,
                                   .days = v->days,
                                   .changes_day = v->changes,
                                   .swing = v->swing,
                                   .seed = v->seed};
    struct base_buf out;
    shoal_err err = SHOAL_ERR_INIT;
    bool to_file = strcmp(v->output, "-") != 0;

    (void)args, (void)arg_count;
    if (!market_when_parse(v->from, strlen(v->from), &opts.from_s))
        return cli_usage(cx, "--from: expected a date such as 2025-01-01, found '%.60s'", v->from);
    base_buf_init(&out, env_alloc(cx->env), TEXT_MAX);
    shoal_status st = market_gen(&opts, &out, &err);
    if (st == SHOAL_OK && to_file)
        st = env_write_whole(cx->env, v->output, out.data, out.size, &err);
    else if (st == SHOAL_OK)
        (void)cli_put(cx, out.data, out.size);
    if (st == SHOAL_OK && to_file) {
        base_log(&cx->log, BASE_LOG_INFO, "%.1f MB: %s", (double)out.size * 1e-6, v->output);
        base_log(&cx->log, BASE_LOG_INFO, "next: shoal market %s", v->output);
    }
    base_buf_fini(&out);
    return st == SHOAL_OK ? 0 : cli_fail(cx, st, &err);
}

const struct cli_command cli_cmd_gen_prices = {
    .name = "gen prices",
    .usage = "[options]",
    .summary = "Make up a history of prices for 'shoal market'.",
    .description =
        "Spot prices wander around a third of the price on demand, each zone partly with its "
        "region, and never pass it. They are made up: use them to try things, not to decide "
        "them. 'shoal help market' and docs/market.md say how to get real ones. The output is "
        "Shoal's CSV of prices.",
    .example = "gen prices --days 120 --zones 3 -o prices.csv",
    .opts = rows,
    .opt_count = BASE_COUNT(rows),
    .values_size = sizeof(struct values),
    .run = run,
};
