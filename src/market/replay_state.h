/* replay_state.h - what a replay holds: the offers it watches and the jobs it runs. Private to
 * replay.c and replay_setup.c. A slot is an offer that some job can run on; slots are by offer index. */
#ifndef MARKET_REPLAY_STATE_H
#define MARKET_REPLAY_STATE_H

#include "base/arena.h"
#include "base/heap.h"
#include "market/replay.h"
#include "market/strategy.h"

struct replay_slot { /* 64 bytes: all are looked at in every decision */
    uint32_t offer;
    uint32_t up;     /* instances to be had */
    uint32_t held;   /* by jobs */
    uint8_t age_bin; /* of what was counted last since the last change */
    bool on_demand;
    double usd_h;                     /* NAN: not sold now */
    double seen_until_s;              /* `seen` counts up to here */
    double price_until_s, up_until_s; /* next changes */
    size_t price_cursor, up_cursor;
};

enum replay_phase {
    REPLAY_WAITING, /* its start is to come */
    REPLAY_IDLE,
    REPLAY_STARTING,
    REPLAY_RUNNING,
    REPLAY_LEAVING, /* writes its last checkpoint here */
    REPLAY_DONE
};

struct replay_job {
    const struct market_job *job;
    struct market_outcome out;
    enum replay_phase phase;
    uint32_t slot;       /* held, or MARKET_NONE */
    uint32_t target;     /* slot to go to after leaving, or MARKET_NONE */
    uint32_t last_offer; /* of the stay before, or MARKET_NONE */
    uint32_t checkpoint; /* offer where it lies, or MARKET_NONE */
    uint8_t why;         /* it leaves: enum market_end */
    bool ask;            /* the strategy wants asking */
    double phase_s;      /* when starting or leaving ends */
    double run_from_s;   /* the first step of this stay */
    double done_s;       /* when the last step will be made */
    double leave_run_s;  /* seconds of running when it began to leave */
    double kept;         /* steps of the stays before */
    double paid_s;       /* paid up to here */
    double spent_usd;
    double guard_s; /* look at the deadline again then */
    uint64_t came;  /* order of coming to its slot */
    struct market_stay stay;
    struct market_pace pace; /* where it is */
    uint32_t *candidates;    /* offers */
    uint32_t *slots;         /* the same, as slots */
    double *speed;           /* of each: steps a second in the long run */
    uint32_t *rescue;        /* slots on demand among them */
    size_t candidate_count, rescue_count;
    void *note;
};

struct replay_past { /* a stay that is over */
    uint32_t job;
    struct market_stay stay;
};

struct replay {
    const struct base_alloc *alloc;
    const struct market_prices *prices;
    const struct market_avail *avail;
    const struct market_costs *costs;
    const bool *allowed;
    const struct market_replay_opts *opts;
    struct base_arena arena;
    struct base_heap changes; /* of slots: key = when, value = slot */
    struct replay_slot *slots;
    size_t slot_count;
    uint32_t *slot_of; /* by offer, or MARKET_NONE */
    struct replay_job *jobs;
    size_t job_count;
    double now_s, next_step_s;
    uint64_t came, decisions;
    bool wake; /* something idle jobs may want has changed */
    /* what strategies look at, by offer */
    double *usd_h;
    uint32_t *up;
    struct market_seen *seen;
    struct market_ages ages;
    /* room for one decision */
    uint32_t *asked; /* jobs */
    double *score;   /* (asked, slots) */
    double *by_candidate, *idle;
    uint32_t *need, *room, *pick;
    struct market_assign_limit *limits;
    bool *covers; /* (limits, slots) */
    struct replay_past *past;
    size_t past_count, past_cap;
    shoal_status status; /* SHOAL_E_NOMEM once memory was short */
};

/* replay_setup.c: before and after */
shoal_status replay_set_up(struct replay *r, const struct market_job *jobs, shoal_err *err);
shoal_status replay_collect(struct replay *r, struct market_result *out);

#endif
