/* bound.h - what a job would have cost somebody who knew all prices and interruptions beforehand:
 * a proven lower bound, and a plan that comes near it.
 *
 * Wanted: the cheapest path through (time, place) that makes `work` steps by the deadline (or the
 * end of the history), under the rules of the replay. The work is one row that couples all times,
 * so it gets a price, lambda US dollars a step: for a given lambda the best path is found by
 * dynamic programming, and lambda * work + (cost - lambda * steps of that path) is a lower bound
 * whatever lambda is (weak duality). The largest such bound is found on a line of lambdas; the
 * plan is spliced from the paths on either side of it and evaluated by the replay's own rules.
 * Between two changes of prices and availability everything is linear in time, so changing place
 * at changes only loses nothing: with cell_s 0 the paths are exact. With cell_s >= 1 several
 * changes of an offer within a cell are seen as one, with the lowest price and without the
 * interruptions inside it: faster, lower, still a bound. Budget and fleet limits are not in it:
 * they can only make plans dearer. Cost: changes x offers x iterations (about 25). Any thread. */
#ifndef MARKET_BOUND_H
#define MARKET_BOUND_H

#include "market/replay.h"

struct market_bound {
    const struct base_alloc *alloc;
    double usd;        /* no plan can cost less; INFINITY: no plan does the work in time */
    double usd_step;   /* lambda: what one more step would have cost */
    double plan_usd;   /* that of the plan found; INFINITY: none was */
    double plan_steps; /* what it makes: the work, when there is one */
    uint32_t plan_moves;
    struct market_stay *plan; /* by time; owned by this */
    size_t plan_count;
};

struct market_bound_opts {
    double cell_s;           /* 0: exact */
    const atomic_bool *stop; /* gives up once it is true; NULL: nobody asks */
};

/* *out changes only on success; freed by market_bound_fini. SHOAL_E_CANCELLED: `stop`. */
SHOAL_MUST_USE shoal_status market_bound(const struct base_alloc *alloc,
                                         const struct market_world *world,
                                         const struct market_job *job,
                                         const struct market_bound_opts *opts,
                                         struct market_bound *out, shoal_err *err);
void market_bound_fini(struct market_bound *bound);

#endif
