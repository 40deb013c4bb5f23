/* cmd_trace.c - `shoal trace info|convert`: workloads described, and rewritten in our own CSV. `shoal trace gen` is
 * in cmd_gen.c. Tests: tests/cli/transcripts/trace.txt, outputs.txt. */
#include "cli/cli.h"

#include "shoal/trace.h"
#include <string.h>

static shoal_status info(struct cli_call *call, shoal_err *err)
{
    shoal_trace_opts *opts = call->values;

    opts->traces = call->args;
    opts->trace_count = call->arg_count;
    return shoal_trace_info(call->cx->env, opts, call->result, err);
}

const struct cli_command cli_cmd_trace_info = {
    .name = "trace info",
    .usage = "[options] TRACE...",
    .summary = "Describe a job trace: jobs, sizes, durations, work and load.",
    .description =
        "Reads Shoal's own CSV and the formats that --format names; the format is recognised by "
        "the first line. "
        "Several files are read as one trace; '-' is standard input.\n\n"
        "With --cluster the load is what the jobs need on their fastest kind of GPU, as a share of "
        "what the cluster has between the first and the last submission.",
    .example = "trace info day.csv --cluster 6x4:t4,3x8:rtx,2x8:a100",
    .opts_of = shoal_trace_info_opt_rows,
    .values_size = sizeof(shoal_trace_opts),
    .arg_min = 1,
    .arg_max = SIZE_MAX,
    .arg_complete = "file",
    .json = true,
    .make = info,
};

static shoal_status convert(struct cli_call *call, shoal_err *err)
{
    shoal_trace_opts *opts = call->values;

    opts->traces = call->args;
    opts->trace_count = call->arg_count;
    opts->put = cli_put_out;
    opts->ctx = call->cx;
    call->cx->streams = strcmp(opts->output, "-") == 0;
    return shoal_trace_convert(call->cx->env, opts, call->result, err);
}

const struct cli_command cli_cmd_trace_convert = {
    .name = "trace convert",
    .usage = "[options] TRACE... | --nodes FILE",
    .summary = "Rewrite a trace in Shoal's own CSV.",
    .description =
        "Reads any format that 'shoal trace info' reads. The result is sorted by submission and "
        "holds "
        "everything Shoal uses of the trace, so converting it again gives the same bytes.\n\n"
        "With --nodes the node list of Alibaba's 2023 trace becomes a spec for --cluster of "
        "'shoal sim'.",
    .example = "trace convert philly_jobs.csv -o philly.csv",
    .opts_of = shoal_trace_convert_opt_rows,
    .values_size = sizeof(shoal_trace_opts),
    .arg_min = 0,
    .arg_max = SIZE_MAX,
    .arg_complete = "file",
    .make = convert,
};
