/* cmd_market.c - `shoal market`: where and when to buy instances for work that can move. */
#include "cli/cli.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/market_work.h"
#include "cli/output.h"
#include "cli/report.h"
#include "market/folder.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { CELL_LEAST_S = 60 };

static bool to_stdout(const struct cli_market *w)
{
    return cli_report_to_stdout(w->v->report);
}

/* "30d of work on 2 p3.2xlarge", "12 jobs" */
static void write_title(struct cli_market *w)
{
    const struct market_job *job = &w->jobs[0];
    char time[32], many[24] = "";

    if (w->has_fleet || w->unit == MARKET_NONE) {
        snprintf(w->title, sizeof w->title, "%s job%s",
                 base_format_count(w->job_count, time, sizeof time), w->job_count == 1 ? "" : "s");
        return;
    }
    if (job->instances > 1)
        snprintf(many, sizeof many, "%u ", job->instances);
    snprintf(w->title, sizeof w->title, "%s of work on %s%.100s",
             market_duration_text(job->work / job->speed[w->unit], time, sizeof time), many,
             market_names_get(&w->prices->kinds, w->unit));
}

/* What was assumed, and what to do next. */
static void print_notes(const struct cli_market *w)
{
    const struct base_log *log = &w->cx->log;

    if (!cli_flush(w->cx)) /* so that they come after the table */
        return;
    if (w->speeds_said == CLI_MARKET_PER_ANY_ACCELERATOR)
        base_log(log, BASE_LOG_WARN,
                 "no speeds were given: every accelerator counts the same, whatever it is; say "
                 "better with --speed, or choose with --kinds");
    else if (w->speeds_said == CLI_MARKET_PER_ACCELERATOR)
        base_log(log, BASE_LOG_INFO,
                 "no speeds were given: kinds are as fast as they have accelerators; see --speed");
    else if (w->speeds_said == CLI_MARKET_PER_INSTANCE)
        base_log(log, BASE_LOG_WARN,
                 "no speeds were given: every kind of instance counts the same; see --speed");
    if (w->kinds_left_out > 0)
        base_log(log, BASE_LOG_INFO,
                 "left out: %zu kind%s whose accelerators are not known; give speeds with --speed",
                 w->kinds_left_out, w->kinds_left_out == 1 ? "" : "s");
    if (!isnan(w->work_default_s))
        base_log(log, BASE_LOG_INFO, "no --work was given: this is for %s", w->title);
    if (w->deadline_default)
        base_log(log, BASE_LOG_INFO,
                 "no --deadline was given: due in half as long again as the work takes");
    if (w->avail == NULL)
        base_log(
            log, BASE_LOG_INFO,
            "every offer is taken as available whenever it has a price; see --availability and "
            "--interruptions");
    if (w->v->report != NULL)
        base_log(log, BASE_LOG_INFO, "report: %s", w->v->report);
    else
        base_log(log, BASE_LOG_INFO, "%s--report out.html for pictures",
                 w->v->moves ? "add " : "add --moves for where and when, ");
}

static shoal_status make_page(const void *ctx, const char *command, struct base_buf *out,
                              shoal_err *err)
{
    struct market_story story = ((const struct cli_market *)ctx)->story;

    story.command = command;
    return market_page(&story, out, err);
}

struct guarded { /* what must not be written over what */
    const struct cli_context *cx;
    const char *path;
};

static shoal_status is_not_it(void *ctx, const char *path, bool inside, shoal_err *err)
{
    const struct guarded *g = ctx;

    (void)inside;
    return cli_output_check(g->cx, g->path, &path, 1, err);
}

/* Neither one of the inputs nor a file in a folder among them. */
static shoal_status check_output(const struct cli_market *w, const char *const *inputs,
                                 size_t count, shoal_err *err)
{
    struct guarded g = {w->cx, w->v->report};
    shoal_status st = cli_output_check(w->cx, w->v->report, inputs, count, err);

    for (size_t i = 0; i < count && st == SHOAL_OK && w->v->report != NULL && !to_stdout(w); i++)
        if (inputs[i] != NULL)
            st = market_folder_each(w->cx->env, inputs[i], is_not_it, &g, err);
    return st;
}

/* What can be said before anything is read: also that nothing is written over it. */
static shoal_status check_call(const struct cli_market *w, const char *const *args,
                               size_t arg_count, shoal_err *err)
{
    const char *others[] = {w->v->model, w->v->jobs, w->v->availability};

    if (w->v->cell_s > 0 && w->v->cell_s < CELL_LEAST_S)
        return base_err(err, SHOAL_E_INVAL, "--bound-cell: expected 0 or at least a minute");
    if (w->v->jobs != NULL && w->v->work != NULL)
        return base_err(err, SHOAL_E_INVAL,
                        "the work comes from --work or from the fleet of --jobs, not from both");
    if (to_stdout(w) && w->cx->json)
        return base_err(err, SHOAL_E_INVAL,
                        "--report -: standard output has the JSON already; use a file");
    shoal_status st = check_output(w, args, arg_count, err);
    return st == SHOAL_OK ? check_output(w, others, BASE_COUNT(others), err) : st;
}

static int show(struct cli_market *w)
{
    if (w->cx->json)
        return cli_market_json(w);
    if (to_stdout(w))
        return 0;
    cli_market_head(w);
    int rc = cli_market_table(w);
    if (rc == 0)
        cli_market_answer(w);
    if (rc == 0 && w->v->moves)
        rc = cli_market_moves(w);
    if (rc == 0)
        print_notes(w);
    return rc;
}

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    shoal_err err = SHOAL_ERR_INIT;
    struct cli_market *w = base_calloc(env_alloc(cx->env), 1, sizeof *w);

    if (w == NULL)
        return cli_fail(cx, base_err_nomem(&err, "starting"), &err);
    w->cx = cx;
    w->v = values;
    market_speeds_init(&w->speeds, env_alloc(cx->env));
    base_buf_init(&w->words, env_alloc(cx->env), 1 << 16);
    shoal_status st = check_call(w, args, arg_count, &err);
    if (st == SHOAL_OK)
        st = cli_market_choose(w, &err);
    if (st == SHOAL_OK)
        st = cli_market_prices(cx, args, arg_count, w->v->format, &w->v->rates, &w->prices, &err);
    if (st == SHOAL_OK)
        st = cli_market_setup(w, &err);
    cli_interrupt_start(); /* from here on it is asked for often */
    if (st == SHOAL_OK) {
        write_title(w);
        st = cli_market_run(w, &err);
    }
    if (st == SHOAL_OK && w->v->report != NULL)
        st = cli_report_write(&(struct cli_report){w->cx, w->v->report, w->v, args, arg_count},
                              make_page, w, &err);
    cli_interrupt_stop();
    int rc = st == SHOAL_OK ? show(w) : cli_fail(cx, st, &err);
    cli_market_fini(w);
    if (st == SHOAL_E_CANCELLED) {
        fflush(cx->out);
        cli_interrupt_raise();
    }
    return rc;
}

#define AT(field) offsetof(struct cli_market_values, field)

static const struct base_opt rows[] = {
    {.name = "kinds",
     .letter = 'k',
     .type = BASE_OPT_STR,
     .meta = "NAMES",
     .help = "kinds of instances or accelerators to choose from, with commas; '*' stands for "
             "anything",
     .offset = AT(kinds)},
    {.name = "speed",
     .type = BASE_OPT_STR,
     .meta = "KIND=STEPS_PER_S,...",
     .help = "how fast an instance of each kind (or one accelerator) does the work; ratios are "
             "enough",
     .offset = AT(speed)},
    {.name = "model",
     .type = BASE_OPT_STR,
     .meta = "FILE.csv",
     .complete = "file",
     .help = "the same from a file: instance,steps_per_s, and model where there are several",
     .offset = AT(model)},
    {.name = "model-name",
     .type = BASE_OPT_STR,
     .meta = "NAME",
     .help = "which of the models of the file",
     .offset = AT(model_name)},
    {.name = "work",
     .letter = 'w',
     .type = BASE_OPT_STR,
     .meta = "AMOUNT",
     .help = "steps, or a time such as 720h on the first kind named, or 720h@KIND [30d, or half of "
             "the history]",
     .offset = AT(work)},
    {.name = "start",
     .type = BASE_OPT_STR,
     .meta = "DATE",
     .help = "when it begins, such as 2025-03-01 [the day after the history begins]",
     .offset = AT(start)},
    {.name = "deadline",
     .type = BASE_OPT_STR,
     .meta = "WHEN",
     .help = "a date, a time after the start such as 40d, or none; kept by going on demand in time "
             "[half as long again as the work takes]",
     .offset = AT(deadline)},
    {.name = "budget",
     .type = BASE_OPT_F64,
     .meta = "USD",
     .min = 0.01,
     .max = 1e12,
     .help = "stop when so much is spent",
     .offset = AT(budget)},
    {.name = "instances",
     .letter = 'n',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1",
     .min = 1,
     .max = MARKET_INSTANCES_MAX,
     .help = "instances used at once, all in one place; N are N times as fast",
     .offset = AT(instances)},
    {.name = "jobs",
     .letter = 'j',
     .type = BASE_OPT_STR,
     .meta = "FILE.csv",
     .complete = "file",
     .help = "a fleet in place of one job: job,work and start, deadline, budget, instances, model, "
             "speeds, checkpoint",
     .offset = AT(jobs)},
    {.name = "limit",
     .type = BASE_OPT_LIST,
     .meta = "WHERE=N",
     .help = "instances a fleet may hold at once of a kind, zone, region or cloud, or of several: "
             "p3.2xlarge@us-east-1=8",
     .offset = AT(limits)},
    {.name = "clouds",
     .type = BASE_OPT_STR,
     .meta = "NAMES",
     .help = "clouds to choose from",
     .offset = AT(clouds)},
    {.name = "regions",
     .type = BASE_OPT_STR,
     .meta = "NAMES",
     .help = "regions to choose from",
     .offset = AT(regions)},
    {.name = "zones",
     .type = BASE_OPT_STR,
     .meta = "NAMES",
     .help = "zones to choose from",
     .offset = AT(zones)},
    {.name = "bare",
     .type = BASE_OPT_FLAG,
     .help = "also offers whose price is that of accelerators without their host",
     .offset = AT(bare)},
    {.name = "availability",
     .type = BASE_OPT_STR,
     .meta = "PATH",
     .complete = "file",
     .help = "traces of what could be had in these zones, and when; without them and "
             "--interruptions all is there all the time",
     .offset = AT(availability)},
    {.name = "availability-cut",
     .type = BASE_OPT_FLAG,
     .help = "the traces are of other zones or years: each offer gets a piece of one, by the seed",
     .offset = AT(availability_cut)},
    {.name = "interruptions",
     .type = BASE_OPT_STR,
     .meta = "UP/DOWN",
     .help = "draw them in place of traces: mean times up and down, such as 8h/30m",
     .offset = AT(interruptions)},
    {.name = "startup",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "3m",
     .min = 0,
     .max = 1e6,
     .help = "from asking for an instance to its first step, paid for",
     .offset = AT(startup_s)},
    {.name = "checkpoint-size",
     .type = BASE_OPT_SIZE,
     .meta = "SIZE",
     .fallback = "2G",
     .help = "what has to move with the work",
     .offset = AT(checkpoint_size)},
    {.name = "checkpoint-time",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "30s",
     .min = 0,
     .max = 1e6,
     .help = "to write one; no steps meanwhile",
     .offset = AT(checkpoint_s)},
    {.name = "checkpoint-every",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "10m",
     .min = 1,
     .max = 1e9,
     .help = "between two; an interruption without notice loses what came after the last",
     .offset = AT(checkpoint_every_s)},
    {.name = "notice",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "2m",
     .min = 0,
     .max = 1e6,
     .help = "told so long before an interruption; a checkpoint that takes no longer is written",
     .offset = AT(notice_s)},
    {.name = "transfer",
     .type = BASE_OPT_STR,
     .meta = "GB/S,GB/S,GB/S",
     .fallback = "1,0.25,0.1",
     .help = "how fast a checkpoint gets to another zone, region, cloud",
     .offset = AT(transfer)},
    {.name = "egress",
     .type = BASE_OPT_STR,
     .meta = "USD,USD,USD",
     .fallback = "0.01,0.02,0.09",
     .help = "price of a GB to another zone, region, cloud",
     .offset = AT(egress)},
    {.name = "strategy",
     .type = BASE_OPT_STR,
     .meta = "NAMES",
     .fallback = "all",
     .complete = "all shoal uniform periodic static",
     .help = "strategies to compare, with commas, the first is the one the answer is about; knobs "
             "after colons; see 'shoal strategy list'",
     .offset = AT(strategy)},
    {.name = "step",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "15m",
     .min = 60,
     .max = 1e7,
     .help = "time between two looks at the market",
     .offset = AT(step_s)},
    {.name = "no-bound",
     .type = BASE_OPT_FLAG,
     .help = "do not prove what no plan can beat, which takes the most time of all",
     .offset = AT(no_bound)},
    {.name = "bound-cell",
     .type = BASE_OPT_DURATION,
     .meta = "TIME",
     .fallback = "0s",
     .min = 0,
     .max = 1e6,
     .help = "changes of a price closer together than this are seen as one by the bound: faster, "
             "lower; at least a minute, or 0: exact",
     .offset = AT(cell_s)},
    {.name = "format",
     .type = BASE_OPT_CHOICE,
     .meta = "NAME",
     .fallback = "auto",
     .choices = market_format_names,
     .help = "format of the prices",
     .offset = AT(format)},
    {.name = "rate",
     .type = BASE_OPT_LIST,
     .meta = "CURRENCY=USD",
     .help = "what a unit of a currency in the prices is worth, such as EUR=1.08",
     .offset = AT(rates)},
    {.name = "seed",
     .letter = 's',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "1",
     .help = "seed of what is drawn: pieces of traces, interruptions",
     .offset = AT(seed)},
    {.name = "threads",
     .letter = 't',
     .type = BASE_OPT_U64,
     .meta = "N",
     .fallback = "0",
     .min = 0,
     .max = 1024,
     .help = "strategies run at the same time; 0: one per core",
     .offset = AT(threads)},
    {.name = "moves",
     .letter = 'm',
     .type = BASE_OPT_FLAG,
     .help = "tell where the first strategy was, from when to when, why it left and what it paid",
     .offset = AT(moves)},
    {.name = "report",
     .type = BASE_OPT_STR,
     .meta = "FILE",
     .complete = "file",
     .help = "write an HTML page with pictures",
     .offset = AT(report)},
};

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
        "said once. Prices in another currency need --rate.\n\n"
        "The bound is what the work would have cost somebody who knew all prices and "
        "interruptions beforehand: no plan can cost less. It leaves budgets and limits out, which "
        "only make plans dearer.\n\n"
        "Columns: AGAINST STATIC compares with staying where it was cheapest at the start; FINISH "
        "is when the last job is done; ON DEMAND is the share of running time there; MISSED "
        "counts deadlines.",
    .example = "market prices.csv --kinds p3.2xlarge --work 20d --deadline 25d",
    .opts = rows,
    .opt_count = BASE_COUNT(rows),
    .values_size = sizeof(struct cli_market_values),
    .arg_min = 1,
    .arg_max = 4096,
    .arg_complete = "file",
    .json = true,
    .run = run,
};
