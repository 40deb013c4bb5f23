/* page.h - what came of buying by several strategies, and one self-contained HTML page about it.
 *
 * Words first, then the table, prices with the moves on them, who was where, cost over time, the
 * moves one by one, and how to repeat it. Inline SVG written here, no scripts, printable, under 1
 * MB whatever the number of jobs, offers and moves: lines have a maximum of points, tables of rows.
 * The kit is src/page. Tests: tests/unit/market/test_page.c. */
#ifndef MARKET_PAGE_H
#define MARKET_PAGE_H

#include "market/bound.h"
#include "market/strategy.h"

/* One strategy with its knobs, and what came of it. */
struct market_run {
    const char *label; /* "shoal:horizon=2d" */
    const struct market_strategy *strategy;
    struct market_result result;
};

struct market_story {
    const struct market_prices *prices;
    const struct market_avail *avail; /* NULL: all offers are up all the time */
    const struct market_job *jobs;
    size_t job_count;
    const struct market_costs *costs;
    const bool *allowed; /* by offer */
    const struct market_run *runs;
    size_t run_count;
    size_t lead;  /* the run that pages and sentences are about */
    size_t fixed; /* the run that stays where it was cheapest at the start; SIZE_MAX: none */
    size_t bare_left_out; /* offers of accelerators without their host */
    /* No plan can cost less, all jobs together; NAN: not computed. */
    double bound_usd;
    size_t poor_count, poor;  /* jobs whose budget is less than that of theirs; the first of them */
    double poor_usd;          /* and what no plan of that one can cost less than */
    double plan_usd;          /* of plans that know the future; NAN or INFINITY: none was found */
    bool one_cloud, one_kind; /* of all that is allowed: not worth naming */
    uint32_t unit;            /* kind in whose speed prices are compared */
    double from_s;            /* start of the first job */
    double to_s;              /* the end of the last stay of any run, later than from_s */
    const char *title;        /* "30d of work on p3.2xlarge": the caller's, escaped here */
    const char *command;
    double step_s;
    uint64_t seed;
};

/* Of all jobs of a run. */
struct market_sums {
    double usd, finish_s; /* finish_s: of the last; NAN: one is not done */
    double run_s, on_demand_s, starting_s, idle_s;
    double egress_usd, lost_share; /* of all steps made, those that had to be made again */
    size_t finished;
    size_t stays;
};
struct market_sums market_run_sums(const struct market_story *story, size_t run);
/* How many times less than `other` a cost is: above 1 is less. */
double market_times_less(double usd, double other);
/* How many times less than the fixed run a run costs; NAN where there is none, or one of the two is
 * not done. */
double market_run_times(const struct market_story *story, size_t run);
/* Share of its running time that a run spent on demand because the guard sent it there from spot. */
double market_run_rescued(const struct market_story *story, size_t run);
/* The cheapest of the runs that did all the work, or SIZE_MAX. */
size_t market_run_cheapest(const struct market_story *story);
/* The offer a run begins on, or MARKET_NONE. */
uint32_t market_run_first(const struct market_run *run);
/* The price of what the work of the unit kind costs on an offer for an hour, of all instances of
 * job `job`: price times how much faster the unit is. NAN: not offered, or it cannot run there. */
double market_unit_price(const struct market_story *story, size_t job, uint32_t offer,
                         double usd_h);

/* "us-east-1b p3.2xlarge", "us-east-1 on demand": what tells an offer from the others that are
 * allowed. Returns buf. */
const char *market_place_text(const struct market_story *story, uint32_t offer, char *buf,
                              size_t size);
/* Why a stay of a job ended, for people: "cheaper elsewhere". */
const char *market_end_text(const struct market_outcome *outcome, size_t stay);
/* "30d", "1d12h": a duration without a unit that is zero. Returns buf. */
const char *market_duration_text(double seconds, char *buf, size_t size);

/* Appends the page to `out`. SHOAL_E_NOMEM or SHOAL_E_LIMIT from the buffer. */
SHOAL_MUST_USE shoal_status market_page(const struct market_story *story, struct base_buf *out,
                                        shoal_err *err);

#endif
