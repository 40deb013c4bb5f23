/* buy.h - what the files behind shoal_market_run share: what the options were made into, and what came of it.
 *
 *   buy.c           the options as rows, the order of things, the runs of the strategies and the bound
 *   buy_setup.c     from options to offers that may be used, costs, jobs, limits
 *   buy_fields.c    the result as records
 *   buy_words.c     the result in words
 *   buy_pictures.c  the result in pictures
 *
 * The first strategy is the lead: the one that words and pictures are about. Owner thread only.
 * Tests: tests/unit/market/test_buy.c, tests/cli/test_market.py. */
#ifndef MARKET_BUY_H
#define MARKET_BUY_H

#include "base/watch.h"
#include "market/bound.h"
#include "market/jobs.h"
#include "market/strategy.h"
#include "page/make.h"
#include "shoal/market.h"

enum { MARKET_BUY_RUNS_MAX = 16 };

/* What is known of how fast kinds are. */
enum market_buy_speeds {
    MARKET_BUY_SAID,                /* by somebody */
    MARKET_BUY_PER_ACCELERATOR,     /* as fast as they have accelerators, which are all the same */
    MARKET_BUY_PER_ANY_ACCELERATOR, /* and which are not */
    MARKET_BUY_PER_INSTANCE         /* nothing: all the same */
};

/* Of all jobs of a run. */
struct market_sums {
    double usd, finish_s; /* finish_s: of the last; NAN: one is not done */
    double run_s, on_demand_s, starting_s, idle_s;
    double egress_usd, lost_share; /* of all steps made, those that had to be made again */
    size_t finished;
};

/* One strategy with its knobs, and what came of it. */
struct market_run {
    char label[128]; /* "shoal:horizon=2d" */
    const struct market_strategy *strategy;
    void *knobs;
    struct market_result result;
    struct market_sums sums;
    double
        times; /* less than the fixed run costs; NAN: there is none, or one of the two is not done */
};

struct market_buy {
    shoal_env *env;
    const shoal_market_opts *v;
    shoal_watch *watch;
    struct page_made *made; /* the result, which takes notes from the beginning */
    struct market_prices *prices;
    struct market_avail *avail;
    struct market_speeds speeds;
    struct market_jobs_file fleet;
    bool has_fleet;
    enum market_buy_speeds speeds_said;
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
    struct market_limit limits[SHOAL_OPT_LIST_MAX];
    size_t limit_count;

    struct base_buf words; /* the strategies, cut at commas and colons */
    struct market_run runs[MARKET_BUY_RUNS_MAX];
    size_t run_count;
    bool kept;                   /* the result has the outcomes */
    struct market_bound *bounds; /* by job; NULL: not wanted */
    shoal_status *status;        /* of the runs, then of the bounds */
    shoal_err *errs;
    double *took_s;

    /* What it amounts to. */
    size_t fixed;     /* the run that stays where it was cheapest at the start; SIZE_MAX: none */
    double bound_usd; /* no plan can cost less, all jobs together; NAN: not computed */
    double plan_usd;  /* of plans that know the future; NAN or INFINITY: none was found */
    size_t poor_count, poor;  /* jobs whose budget is less than their bound; the first of them */
    bool one_cloud, one_kind; /* of all that is allowed: not worth naming */
    double from_s, to_s;      /* start of the first job; the last end of a stay, later than that */
    const char **places;      /* by offer: text of those that were asked for; the result's */
    char title[160];
};

/* buy.c */
/* The offer a run begins on, or MARKET_NONE. */
uint32_t market_buy_first(const struct market_run *run);
/* The price of what the work of the unit kind costs on an offer for an hour, of all instances of job `job`: price
 * times how much faster the unit is. NAN: not offered, or it cannot run there. */
double market_buy_unit_price(const struct market_buy *w, size_t job, uint32_t offer, double usd_h);
/* "us-east-1b p3.2xlarge", "us-east-1 on demand": what tells an offer from the others that are allowed. */
const char *market_buy_place(const struct market_buy *w, uint32_t offer);

/* buy_setup.c. Each leaves an err when it fails. */
SHOAL_MUST_USE shoal_status market_buy_prices(struct market_buy *w, shoal_err *err);
SHOAL_MUST_USE shoal_status market_buy_setup(struct market_buy *w, shoal_err *err);

/* buy_fields.c: the records of w->made, which keep the outcomes of the runs. */
void market_buy_fill(struct market_buy *w);

/* buy_words.c: its title, heading, verdict and further notes. */
void market_buy_say(struct market_buy *w);
/* "30d", "1d12h": a duration without a unit that is zero. Returns buf. */
const char *market_buy_duration(double seconds, char *buf, size_t size);

/* buy_pictures.c */
void market_buy_draw(const struct market_buy *w);

#endif
