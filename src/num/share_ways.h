/* share_ways.h - what each job does at given prices when its time has a value: the inner loop of
 * share_sum.c and share_keep.c.
 *
 * At prices p a job maximises (value - gpus p).x over x >= 0, sum x <= 1, speed.x >= floor. Some
 * best point is a corner of that set, one of these ways:
 *
 *   edge    the floor, just reached: enough of one kind and idling, or a mix of a kind below the
 *           floor with one above it (codes of num_share_edges); only where there is a floor
 *   full    all its time on one kind at least as fast as the floor
 *   idle    nothing; only without a floor
 *   bought  nothing, and the floor is paid off with the ransom
 *
 * Which ways a job has and what shares they take does not depend on prices, so each one's gain is
 * linear in them: a way that is best at p by more than prices can move is best all around p. */
#ifndef NUM_SHARE_WAYS_H
#define NUM_SHARE_WAYS_H

#include "num/share_core.h"

/* Jobs by column. Rows up to stride are padding that idles for nothing. */
struct share_ways {
    uint32_t kinds;
    size_t count, stride;
    double *value, *speed; /* (kinds, stride) of all its time there; speed 0: cannot run there */
    double *gpus, *floor;  /* (stride) >= 0 */
    double *ransom;        /* (stride) INFINITY: the floor is not for sale */
    double *cells;         /* what the above point into */
    size_t cells_cap;
};

SHOAL_MUST_USE shoal_status num_share_ways_reserve(const struct base_alloc *alloc,
                                                   struct share_ways *ways, uint32_t kinds,
                                                   size_t count);

/* Codes of the ways, after the edges: full_0, .. full_(K-1), idle, bought. */
static inline uint32_t share_way_full(uint32_t kinds)
{
    return kinds * (kinds + 1) / 2;
}
static inline uint32_t share_way_idle(uint32_t kinds)
{
    return share_way_full(kinds) + kinds;
}
static inline uint32_t share_way_bought(uint32_t kinds)
{
    return share_way_idle(kinds) + 1;
}

/* A way spelled out: part of the time on kind `one`, the rest on kind `two` or idling. */
struct share_way {
    double gain; /* (value - gpus price).x */
    uint32_t code;
    uint32_t one, two; /* SHARE_ORIGIN: none */
    double x_one, x_two;
    bool bought;
};

/* The specification: the first of the best ways in the order of codes, but full ones first. */
struct share_way num_share_ways_choose(const struct share_ways *ways, size_t row,
                                       const double *price);
/* The shares of a way by its code; `gain` is not set. */
struct share_way num_share_ways_spell(const struct share_ways *ways,
                                      const struct share_edges *edges, size_t row, uint8_t code);

/* A question to rows: the best way at these prices. `move` (kinds) NULL: no sorting. Else rows are
 * sorted: one is settled when its way stays the best as each price moves by up to move_j. */
struct share_ways_query {
    const double *price, *move;
};

struct share_ways_answer {
    double gain;               /* of all rows */
    double value;              /* of all rows; with sorting, of settled ones only; less ransoms */
    double use[NUM_KINDS_MAX]; /* the same; GPUs */
    size_t open;               /* with sorting: rows in open_row */
};

/* Asks rows [at, at + count), both multiples of SHARE_LANES. code (rows; may be NULL) gets the way
 * of each; open_row the open ones (with sorting only). */
typedef void share_ways_fn(const struct share_ways *ways, size_t at, size_t count,
                           const struct share_ways_query *query, uint8_t *code, uint32_t *open_row,
                           struct share_ways_answer *out);
/* The one with most lanes, at most lanes_max (1, 4, 8), that this machine runs. Rows are answered
 * equally by all; totals agree up to rounding. */
share_ways_fn *num_share_ways_find(uint32_t lanes_max);

#endif
