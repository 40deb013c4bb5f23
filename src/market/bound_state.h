/* bound_state.h - what the bound and its plan share. Private to bound*.c. */
#ifndef MARKET_BOUND_STATE_H
#define MARKET_BOUND_STATE_H

#include "market/bound.h"
#include "market/replay_pace.h"
#include "market/strategy.h"

enum { BOUND_LEVELS = 4 }; /* same zone, same region, same cloud, another cloud */

struct bound_event { /* what a slot costs from here on */
    double at_s;
    double usd_s; /* of all the job's instances; NAN: cannot be had */
    uint32_t slot;
};

struct bound_slot {
    uint32_t offer;
    uint32_t zone, region, cloud; /* indices of `idle` */
    double speed;                 /* steps/s in the long run */
    double start_s[BOUND_LEVELS]; /* steps that beginning here loses, by distance, over speed */
};

struct bound_leg { /* a stay of a path, and the one before it */
    double from_s, to_s;
    uint32_t slot;
    uint32_t before; /* UINT32_MAX: none */
};

struct bound {
    const struct base_alloc *alloc;
    const struct market_prices *prices;
    const struct market_job *job;
    const struct market_costs *costs;
    const atomic_bool *stop;
    double from_s, to_s;
    double start_s[BOUND_LEVELS], start_usd[BOUND_LEVELS]; /* by distance; never falling */
    struct bound_slot *slots;
    size_t slot_count, place_count;
    struct bound_event *events;
    size_t event_count, event_cap;
    /* the dynamic program */
    double *value, *steps,
        *rate;        /* by slot: of the best path that is there; value INFINITY: none */
    double *since_s;  /* by slot: that path came then ... */
    uint32_t *before; /* ... after this leg */
    uint32_t *active; /* slots with a path */
    size_t active_count;
    struct bound_idle *idle; /* by place: zones, regions, clouds, and everything */
    bool keep_legs;
    struct bound_leg *legs;
    size_t leg_count, leg_cap;
};

struct bound_idle { /* holding nothing, the checkpoint being somewhere in a place */
    double value, steps;
    struct bound_leg leg; /* the stay it ended */
    uint32_t leg_index;   /* where it is kept; UINT32_MAX: not yet */
};

/* The best path for one price of a step. */
struct bound_path {
    double lambda, usd, steps; /* usd - lambda * steps is smallest */
    uint32_t slot;             /* its last leg; UINT32_MAX: it does nothing at all */
    double since_s, to_s;
    uint32_t before;
};

shoal_status bound_path(struct bound *b, double lambda, struct bound_path *out);
/* Legs of the path by time, in fresh memory. Needs keep_legs at its making. */
shoal_status bound_path_legs(const struct bound *b, const struct bound_path *path,
                             struct bound_leg **out_legs, size_t *out_count);
/* The plan: legs spliced from the paths beside lambda, evaluated by the rules of the replay. */
shoal_status bound_plan(struct bound *b, double lambda, struct market_bound *out);

#endif
