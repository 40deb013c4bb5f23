/* sim_work.h - what the files of `shoal sim` share: its options, what they were made into, and what
 * came of it.
 *
 *   cmd_sim.c       the options, and the order of things
 *   sim_policies.c  policies and their knobs
 *   sim_prices.c    prices over time
 *   sim_runs.c      the runs, side by side
 *   sim_notes.c     what the table does not say; the page
 *   sim_show.c      table, story and JSON
 *
 * Owner thread only. Tests: tests/cli/transcripts/sim*.txt, tests/cli/test_sim_faults.py. */
#ifndef CLI_SIM_WORK_H
#define CLI_SIM_WORK_H

#include "cli/cli.h"
#include "sim/choice.h"
#include "sim/run.h"
#include <stdatomic.h>

enum { CLI_SIM_RUNS_MAX = 32 };

#define CLI_SIM_WORK_ERROR_MAX 10.0 /* nothing is told */

extern const char cli_sim_cluster[]; /* where none is given */

struct cli_sim_values {
    const char *cluster, *policy, *profiles, *report, *job, *events, *prices, *prices_from;
    uint32_t format;
    double round_s, react_s, restart_s, lease_s, node_mtbf_s, node_repair_s, checkpoint_s;
    double interference, report_noise, work_error, halving;
    bool job_failures, spread, neighbours;
    uint64_t seed, threads, report_bad;
    struct base_opt_list sets;
};

/* One policy with its knobs, and what came of it. */
struct cli_sim_run {
    struct sim_choice choice;
    struct sim_opts opts;
    struct sim_result *result;
    shoal_status status;
    shoal_err err;
};

struct cli_sim {
    struct cli_context *cx;
    const struct cli_sim_values *v;
    struct sched_cluster cluster;
    struct sim_prices *prices; /* NULL: those of the cluster */
    struct sim_trace *trace;
    struct base_buf words; /* the policy list, cut at its commas and colons */
    struct cli_sim_run runs[CLI_SIM_RUNS_MAX];
    const struct sim_result *results[CLI_SIM_RUNS_MAX]; /* of the runs, once all are done */
    size_t run_count;
    uint32_t story_job;
    atomic_uint_fast64_t done;
    struct env_out *events;
};

/* sim_policies.c: the runs that --policy and --set ask for. */
SHOAL_MUST_USE shoal_status cli_sim_policies(struct cli_sim *w, shoal_err *err);

/* sim_runs.c */

/* --events; it takes one policy. */
SHOAL_MUST_USE shoal_status cli_sim_open_events(struct cli_sim *w, shoal_err *err);
/* The file is kept, or is as if it had never been opened. */
SHOAL_MUST_USE shoal_status cli_sim_close_events(struct cli_sim *w, bool keep, shoal_err *err);
/* All runs; the first error of any. */
SHOAL_MUST_USE shoal_status cli_sim_run_all(struct cli_sim *w, shoal_err *err);

/* sim_notes.c */

/* What the table does not say, and what to do next. */
void cli_sim_notes(const struct cli_sim *w);
/* The page takes the place of the table. */
bool cli_sim_to_stdout(const struct cli_sim *w);
SHOAL_MUST_USE shoal_status cli_sim_report(const struct cli_sim *w, const char *const *args,
                                           size_t arg_count, shoal_err *err);

#endif
