/* cmd_advise.c - `shoal advise`: which algorithm on how many machines, from a few measured runs. */
#include "cli/cli.h"

#include "base/err.h"
#include "cli/report.h"
#include "shoal/advise.h"

static shoal_status make(struct cli_call *call, shoal_err *err)
{
    struct cli_context *cx = call->cx;
    shoal_advise_opts *opts = call->values;

    opts->runs = call->args;
    opts->run_count = call->arg_count;
    opts->pictures = cx->report != NULL;
    call->hint = "add --report out.html for pictures";
    cx->streams = cli_report_to_stdout(opts->save); /* the models are the output then */
    if (cx->streams && (cx->json || cx->csv || cli_report_to_stdout(cx->report)))
        return base_err(err, SHOAL_E_INVAL,
                        "--save -: standard output has the %s already; use a file",
                        cx->json  ? "JSON"
                        : cx->csv ? "CSV"
                                  : "page");
    return shoal_advise_run(cx->env, opts, cli_watch(cx), call->result, err);
}

const struct cli_command cli_cmd_advise = {
    .name = "advise",
    .usage = "[options] [RUNS...]",
    .summary = "Say which algorithm on how many machines is fastest and cheapest, from short runs.",
    .description =
        "RUNS are what 'shoal train --json' printed, or CSV files: '#shoal-runs v1', then a header "
        "with the columns algorithm, machines, iteration, time_s, loss and where wanted size and "
        "run, then one line per measurement. '-' is standard input. Files are read as one.\n\n"
        "From a few short runs on a few machine counts two models are fitted for each algorithm: "
        "the time of an iteration (shared work, work that is not shared, and talk that grows with "
        "machines) and the number of iterations to a loss, which depends on machines, too. The "
        "answer names the fastest and the cheapest choice for a loss, with 90 % intervals and how "
        "sure it is to be within 5 % of the best; changes of algorithm or machines on the way, "
        "where they save more than 3 %; and the one run that would help most. Where a choice would "
        "be less than 30 % sure, evidence is not enough for one, which is said instead.\n\n"
        "Lower losses are better, of any sign. A run diverged when a loss is not finite or it ends "
        "above its start: such counts are never advised. Copies of a run count once. Nothing is "
        "said about machine counts or sizes more than 16 times those measured, about other counts "
        "when one was measured, nor about losses that no run comes near. The least evidence for "
        "any advice is a run with 3 losses each lower than all before; for --within and a "
        "--deadline alone 5, or 3 that hardly fall any more.\n\n"
        "--plan chooses runs that make the time of an iteration surest for what they cost, until "
        "it is known to within 5 %; without RUNS it plans from nothing. With --data and RUNS that "
        "'shoal train --json' printed it gives the lines for a shell that make them.",
    .example = "advise runs.csv --within 1% --machines 1-64 --price 0.5",
    .opts_of = shoal_advise_opt_rows,
    .schema_of = shoal_advise_schema,
    .other_schema_of = shoal_advise_plan_schema,
    .values_size = sizeof(shoal_advise_opts),
    .arg_min = 0,
    .arg_max = SIZE_MAX,
    .arg_complete = "file",
    .json = true,
    .csv = true,
    .page = true,
    .make = make,
};
