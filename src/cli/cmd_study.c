/* cmd_study.c - `shoal study`: what is wrong with a cluster, from the trace of its jobs, and what
 * to do about it. */
#include "cli/cli.h"

#include "shoal/study.h"

static shoal_status make(struct cli_call *call, shoal_err *err)
{
    shoal_study_opts *opts = call->values;

    opts->traces = call->args;
    opts->trace_count = call->arg_count;
    call->hint = "add --report out.html for the page to send on";
    return shoal_study_run(call->cx->env, opts, cli_watch(call->cx), call->result, err);
}

const struct cli_command cli_cmd_study = {
    .name = "study",
    .usage = "[options] TRACE...",
    .summary =
        "Find what is wrong with a cluster from the trace of its jobs, and what to do first.",
    .description =
        "Replays the trace under the policy philly: gangs, quotas per group, locality that is "
        "strict first and given up after waiting. Waiting is split into fragmentation (enough "
        "GPUs are free, but scattered), fair share (the group has used its quota and others have "
        "not) and capacity, by size of job. Then each guideline of the Philly study is simulated "
        "by itself, and all "
        "of them: wait longer for locality, migrate to defragment, dedicated servers, a trial "
        "pool, retry only what can succeed.\n\n"
        "Without --cluster one is chosen: 2- and 8-GPU servers mixed as in the Philly cluster, so "
        "many that the mean demand is about 65 % of the GPUs. Without --quotas each group has the "
        "share of the GPUs that it has of the GPU time. Traces do not say how fast jobs ran "
        "where, or how they ended: both are modelled after the Philly study, and the report says "
        "so.\n\n"
        "Columns: waiting is in hours of all jobs; GPU H SAVED are GPU-hours held less than as it "
        "is, trials counted, of the first draw, beside it the least and the most of all --draws; ~ "
        "is "
        "where a difference may be luck of placement (the base line, run again with submissions "
        "up to a round later, differs as much, or draws differ in its sign); waiting in the trial "
        "pool is in AVG JCT and in no column of waiting; USEFUL is the GPU time of "
        "work "
        "that passes over that of all GPUs, in the same span for every row; AVG JCT is the "
        "completion time of jobs that pass.\n\n"
        "The same trace, options and seed give the same study.",
    .example = "study --report study.html jobs.csv",
    .opts_of = shoal_study_opt_rows,
    .schema_of = shoal_study_schema,
    .values_size = sizeof(shoal_study_opts),
    .arg_min = 1,
    .arg_max = 4096,
    .arg_complete = "file",
    .json = true,
    .csv = true,
    .page = true,
    .make = make,
};
