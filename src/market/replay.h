/* replay.h - jobs on a market in virtual time: a strategy says where each should be, the replay
 * does it, pays for it and interrupts it.
 *
 * At every step, at every interruption and when a job becomes able to run, the strategy scores
 * every offer for every job (strategy.h); a job that holds nothing is asked again whenever there
 * is more of an offer or it gets cheaper. Before the job starts a strategy that learns looks on, at
 * every step of MARKET_WATCH_S, as far as prices and availability go back. The assignment gives
 * each job the best that is left within what can be had and the fleet's limits (assign.h).
 *
 * A stay on an offer is paid for from its first second to its last, every change of the price as
 * it comes. It begins with the start-up and the transfer of the checkpoint (no steps; egress is
 * paid as they begin); then steps alternate with checkpoints: checkpoint_every_s of the one,
 * checkpoint_s of the other. Leaving by choice writes a last checkpoint first, on the old place.
 * When the offer goes down, is no longer sold or has fewer instances than are held (the last to
 * come go first), the stay is interrupted: with notice of at least checkpoint_s a last checkpoint
 * has been written in the last seconds, otherwise what came after the last checkpoint is lost.
 *
 * The guard, common to all strategies, sends a job on demand at the last moment from which it is
 * sure to meet its deadline there, and keeps it there: a deadline is missed only when no offer on
 * demand could have met it, or when the budget or the fleet's limits forbid. A job stops for good
 * the moment its budget is spent. Same input, same result. Owner thread only; borrows everything.
 * Tests: tests/unit/market. */
#ifndef MARKET_REPLAY_H
#define MARKET_REPLAY_H

#include "market/avail.h"
#include "market/replay_pace.h"
#include <stdatomic.h>

struct market_strategy;

/* Why a stay ended. */
enum market_end {
    MARKET_END_DONE,
    MARKET_END_MOVED,       /* by choice */
    MARKET_END_INTERRUPTED, /* by the cloud */
    MARKET_END_GUARD,       /* for the deadline */
    MARKET_END_BUDGET,      /* nothing left to spend */
    MARKET_END_HISTORY,     /* prices end here */
    MARKET_END_COUNT
};
extern const char *const market_end_names[MARKET_END_COUNT];

/* A job in one place. */
struct market_stay {
    double from_s, to_s;
    uint32_t offer;
    uint8_t end;  /* enum market_end */
    double steps; /* kept: what was lost is not in it */
    double usd;   /* with start-up; without egress */
    double egress_usd;
};

struct market_outcome { /* of one job */
    double usd;         /* all of it */
    double egress_usd;
    double finish_s; /* NAN: not finished when prices ended or the budget was spent */
    double end_s;    /* when it finished or was given up: time is counted from start_s to here */
    double steps, lost_steps;
    double spot_s, on_demand_s, starting_s, idle_s; /* add up to end_s - start_s; checkpoints are
                                                       in the first two */
    uint32_t moves, interruptions; /* moves: stays that begin on another offer than the last one */
    bool missed;                   /* its deadline */
    bool guarded;                  /* the guard had to act */
    bool broke;                    /* the budget ended it */
    const struct market_stay *stays; /* owned by the result, by time */
    size_t stay_count;
};

struct market_result {
    const struct base_alloc *alloc;
    struct market_outcome *jobs; /* as many as were given, in their order */
    size_t job_count;
    double usd;
    uint32_t missed, unfinished, moves, interruptions;
    uint64_t decisions;
    void *memory; /* of the stays */
};

/* Instances that a fleet may hold at once of what matches; MARKET_NONE: any. */
struct market_limit {
    uint32_t cloud, region, zone, kind;
    uint32_t instances;
};

/* What there is to buy, and what moving between it costs. Borrowed; never changed. */
struct market_world {
    const struct market_prices *prices;
    const struct market_avail *avail; /* NULL: all offers are up all the time */
    const struct market_costs *costs;
    const bool *allowed; /* by offer: may be used at all; NULL: all */
};

#define MARKET_STEP_S  900.0
#define MARKET_WATCH_S (3 * 86400.0) /* strategies that learn look on so long before a job starts */

struct market_replay_opts {
    const struct market_strategy *strategy;
    const void *knobs; /* as strategy->opts wrote them */
    double step_s;     /* between decisions; MARKET_STEP_S */
    const struct market_limit *limits;
    size_t limit_count;
    void (*tick)(void *ctx, double at_s); /* for progress; NULL: none */
    void *ctx;
    const atomic_bool *stop; /* gives up once it is true; NULL: nobody asks */
};

/* *out changes only on success; freed by market_result_fini. SHOAL_E_INVAL: a job that no allowed
 * offer can run, with its name and what is missing. SHOAL_E_CANCELLED: `stop`. */
SHOAL_MUST_USE shoal_status market_replay(const struct base_alloc *alloc,
                                          const struct market_world *world,
                                          const struct market_job *jobs, size_t job_count,
                                          const struct market_replay_opts *opts,
                                          struct market_result *out, shoal_err *err);
void market_result_fini(struct market_result *result);

#endif
