/* market_work.h - what the files of `shoal market` share: its options, what they were made into,
 * and what came of it.
 *
 *   cmd_market.c     the options, and the order of things
 *   market_setup.c   from options to offers that may be used, costs, limits
 *   market_jobs.c    jobs and how fast each kind does them
 *   market_runs.c    strategies and their knobs, the runs and the bound
 *   market_show.c    the table, the sentences, the moves
 *   market_json.c    the same for programs
 *
 * Owner thread only. */
#ifndef CLI_MARKET_WORK_H
#define CLI_MARKET_WORK_H

#include "cli/cli.h"
#include "market/jobs_file.h"
#include "market/page.h"
#include "market/speeds.h"
#include <stdatomic.h>

enum { CLI_MARKET_RUNS_MAX = 16 };

/* What is known of how fast kinds are. */
enum cli_market_speeds {
    CLI_MARKET_SAID,                /* by somebody */
    CLI_MARKET_PER_ACCELERATOR,     /* as fast as they have accelerators, which are all the same */
    CLI_MARKET_PER_ANY_ACCELERATOR, /* and which are not */
    CLI_MARKET_PER_INSTANCE         /* nothing: all the same */
};

struct cli_market_values {
    const char *speed, *model, *model_name, *work, *start, *deadline, *jobs;
    const char *availability, *interruptions, *strategy, *report;
    const char *clouds, *regions, *zones, *kinds, *transfer, *egress;
    double budget, startup_s, checkpoint_s, checkpoint_every_s, notice_s, step_s, cell_s;
    uint64_t instances, checkpoint_size, seed, threads;
    uint32_t format;
    bool availability_cut, moves, no_bound, bare;
    struct base_opt_list limits, rates;
};

struct cli_market {
    struct cli_context *cx;
    const struct cli_market_values *v;
    struct market_prices *prices;
    struct market_avail *avail;
    struct market_speeds speeds;
    struct market_jobs_file fleet;
    bool has_fleet;
    enum cli_market_speeds speeds_said;
    size_t bare_left_out;  /* offers of accelerators without their host */
    size_t kinds_left_out; /* their accelerators are not known, and nobody said a speed */
    bool deadline_default; /* nobody said one */
    bool deadline_cut;     /* one is past the end of the prices */
    struct market_job *jobs;
    double *speed; /* (jobs, kinds) */
    size_t job_count;
    double start_s;        /* of --start */
    double work_default_s; /* NAN: --work was given */
    uint32_t unit;         /* kind that times of work mean, and prices are compared in */
    struct market_costs costs;
    bool *allowed;      /* by offer */
    bool *kind_allowed; /* by kind: some offer of it is */
    size_t allowed_count, zone_count, region_count, spot_count;
    struct market_limit limits[BASE_OPT_LIST_MAX];
    size_t limit_count;

    struct base_buf words; /* the strategies, cut at commas and colons */
    struct market_run runs[CLI_MARKET_RUNS_MAX];
    void *knobs[CLI_MARKET_RUNS_MAX];
    char labels[CLI_MARKET_RUNS_MAX][128];
    size_t run_count;
    struct market_bound *bounds; /* by job; NULL: not wanted */
    shoal_status *status;        /* of the runs, then of the bounds */
    shoal_err *errs;
    double *took_s;
    atomic_uint_fast64_t done;
    char title[160];
    struct market_story story;
};

/* market_setup.c. Each leaves an err when it fails; cli_market_fini frees whatever there is. */

/* Reads histories and says once, on stderr, what was odd in them. `rates` as --rate has them. */
SHOAL_MUST_USE shoal_status cli_market_prices(const struct cli_context *cx,
                                              const char *const *paths, size_t count,
                                              uint32_t format, const struct base_opt_list *rates,
                                              struct market_prices **out, shoal_err *err);
SHOAL_MUST_USE shoal_status cli_market_setup(struct cli_market *w, shoal_err *err);
void cli_market_fini(struct cli_market *w);
/* The word at *at of a list with commas, into buf; false at the end. */
bool cli_market_word(const char **at, char *buf, size_t size);

/* market_jobs.c */
SHOAL_MUST_USE shoal_status cli_market_jobs(struct cli_market *w, shoal_err *err);

/* market_runs.c */
SHOAL_MUST_USE shoal_status cli_market_choose(struct cli_market *w, shoal_err *err);
SHOAL_MUST_USE shoal_status cli_market_run(struct cli_market *w, shoal_err *err);

/* market_show.c */
const char *cli_market_usd(double usd, char *buf, size_t size); /* "$9.41", "$1,240" */
void cli_market_head(const struct cli_market *w);
int cli_market_table(const struct cli_market *w);
void cli_market_answer(const struct cli_market *w);
int cli_market_moves(const struct cli_market *w);

/* market_json.c: one object; documented in docs/market.md. */
int cli_market_json(const struct cli_market *w);

#endif
