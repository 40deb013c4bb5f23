/* cmd_solve.c - `shoal solve`: who should get which GPUs for how much of the time, for a problem in
 * a file. */
#include "cli/cli.h"

#include "base/assert.h"
#include "cli/report.h"
#include "shoal/solve.h"
#include <string.h>

struct values {
    shoal_solve_opts solve;
    const char *output;
};

/* Those of the library, and where to write. */
static const shoal_opt *option_rows(size_t *out_count)
{
    static const shoal_opt output = {offsetof(struct values, output),
                                     SHOAL_OPT_STR,
                                     "output",
                                     'o',
                                     "FILE",
                                     "-",
                                     "where to write",
                                     .complete = "file"};
    static shoal_opt all[16];
    size_t count;
    const shoal_opt *rows = shoal_solve_opt_rows(&count);

    shoal_assert(count < BASE_COUNT(all));
    memcpy(all, rows, count * sizeof *rows);
    all[count] = output;
    *out_count = count + 1;
    return all;
}

static shoal_status make(struct cli_call *call, shoal_err *err)
{
    struct cli_context *cx = call->cx;
    struct values *v = call->values;

    v->solve.struct_size = sizeof v->solve;
    v->solve.problem = call->args[0];
    cx->output = v->output;
    shoal_status st = cli_output_check(cx, v->output, call->args, call->arg_count, err);
    if (st == SHOAL_OK)
        st = shoal_solve_run(cx->env, &v->solve, cli_watch(cx), call->result, err);
    call->unsure = st == SHOAL_OK && shoal_result_number(*call->result, 0, "exact") == 0;
    return st;
}

const struct cli_command cli_cmd_solve = {
    .name = "solve",
    .usage = "[options] PROBLEM.json",
    .summary = "Solve for the share of time each job should have on each kind of GPU.",
    .description =
        "The problem is a JSON file with kinds of GPU and jobs, and how fast each job runs on each "
        "kind: {\"kinds\": {\"v100\": 8, \"k80\": 24}, \"jobs\": [{\"name\": \"a\", \"rates\": "
        "{\"v100\": 10, \"k80\": 1.5}}]}. '-' is standard input. The first mistake stops with "
        "file, line and place, such as jobs[3].rates.v100.\n\n"
        "A kind has 'gpus' and 'usd_h' (dollars per GPU and hour). A job has 'rates' (steps per "
        "second on each kind), and where wanted 'name', 'gpus' (needed at once), 'weight', 'count' "
        "(how many jobs are exactly like it), 'left' (steps), 'since_s' (time since it arrived), "
        "'alone_s' (time its progress would have taken on an equal share), 'deadline_s' (time "
        "until its deadline) and 'entity' (such as research/vision). 'entities' gives entities a "
        "'weight' and says whether 'inside' is fair or fifo: {\"research\": {\"weight\": 2, "
        "\"inside\": \"fifo\"}}. 'pairs' says which jobs may share GPUs and how fast they then "
        "are: [{\"jobs\": [\"a\", \"b\"], \"kind\": \"v100\", \"rates\": [8, 4]}]. Times are "
        "seconds, or texts such as \"2h30m\".\n\n"
        "Objectives: max-min raises the slowest job first; ftf lets nobody end late compared with "
        "a share of its own; makespan ends the last job as early as can be; throughput does the "
        "most work; cost has the largest sum of each GPU kind's work per dollar; cost-slo keeps "
        "deadlines first; fifo (fifo-types as a policy) serves in the order of the file; "
        "hierarchical is max-min through a tree of entities.\n\n"
        "The answer is exact: a bound proven by the prices equals the value. Where rounding spoils "
        "the proof this is said, with the gap, and the exit status is 1. ONE MORE GPU is what one "
        "more GPU of a kind would change the value by, at most; where a job at its top speed sets "
        "the "
        "value, so that GPUs cannot, it is for what is decided next, which is said. Deadlines that "
        "cannot all be kept are named and given up. A job that can run on no kind gets nothing and "
        "holds nobody back.",
    .example = "solve problem.json --objective makespan",
    .opts_of = option_rows,
    .schema_of = shoal_solve_schema,
    .values_size = sizeof(struct values),
    .arg_min = 1,
    .arg_max = 1,
    .arg_complete = "file",
    .json = true,
    .csv = true,
    .page = true,
    .make = make,
};
