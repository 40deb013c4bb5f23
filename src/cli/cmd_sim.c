/* cmd_sim.c - `shoal sim`: replay a trace under policies, side by side, and say what each would
 * have done. */
#include "cli/cli.h"

#include "base/err.h"
#include "shoal/sim.h"
#include <string.h>

static shoal_status make(struct cli_call *call, shoal_err *err)
{
    shoal_sim_opts *opts = call->values;
    shoal_sim *sim = NULL;

    if (opts->events != NULL && strcmp(opts->events, "-") == 0)
        return base_err(err, SHOAL_E_INVAL, "--events: use a file, or /dev/stdout");
    opts->traces = call->args;
    opts->trace_count = call->arg_count;
    opts->pictures = call->cx->report != NULL;
    if (opts->job == NULL)
        call->hint = "add --report out.html for pictures, --job NAME for the story of one job";
    shoal_status st = shoal_sim_new(call->cx->env, opts, &sim, err);
    if (st == SHOAL_OK)
        st = shoal_sim_run(sim, NULL, cli_watch(call->cx), call->result, err);
    shoal_sim_free(sim);
    return st;
}

const struct cli_command cli_cmd_sim = {
    .name = "sim",
    .usage = "[options] TRACE...",
    .summary = "Replay a job trace under scheduling policies and compare what each would do.",
    .description =
        "The trace is read whole first; a bad line stops with file, line and column. Formats are "
        "recognised by their first line, or named with --format. '-' is standard input. "
        "Jobs that state a model instead of a duration need --profiles.\n\n"
        "Decisions are made at rounds, all through the run. With --react one is also made when a "
        "job "
        "arrives, ends or fails and when a node fails or returns, though not within that time of "
        "the decision before or of the next round.\n\n"
        "Columns: JCT is completion time, from submission to end; RHO compares it with the time "
        "the job would take "
        "alone on its share of the cluster, 1 or less is fair, WORST is the worst job, UNFAIR the "
        "share of jobs above "
        "1; MISSED, where jobs have deadlines, counts those that did not end in time; BUSY is the "
        "share of GPU time held by jobs, from the first submission to the last (to the last end "
        "where submissions take less than a hundredth of the time to it); COST is that of "
        "GPU time held, or of the nodes rented where the policy sizes the cluster; DECIDES is the "
        "median time of one decision.\n\n"
        "A job that asks for more GPUs of one kind than the cluster has is rejected when it "
        "arrives, counted, and left "
        "out of the figures; where that is every job, the run fails. The same trace, options and "
        "seed give the same events, byte for byte.",
    .example = "sim --cluster 6x4:t4,2x8:a100 --policy las,srtf jobs.csv",
    .opts_of = shoal_sim_opt_rows,
    .schema_of = shoal_sim_schema,
    .values_size = sizeof(shoal_sim_opts),
    .arg_min = 1,
    .arg_max = 4096,
    .arg_complete = "file",
    .json = true,
    .csv = true,
    .page = true,
    .make = make,
};
