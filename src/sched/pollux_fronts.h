/* pollux_fronts.h - the order of merit of NSGA-II for two objectives.
 *
 * Answer a beats b when it is worse in neither objective and better in one. The first front is those
 * that nobody beats, the second those that only the first front beats, and so on. Within a front
 * those with the most space around them come first: the distance between their neighbours in each
 * objective, next to the extent of the front; the ends have the most. Ties by slot. */
#ifndef SCHED_POLLUX_FRONTS_H
#define SCHED_POLLUX_FRONTS_H

#include <stdint.h>

enum { SCHED_POLLUX_RANKS_MAX = 200 };

struct sched_pollux_rank {
    uint32_t slot;
    uint32_t front;  /* 0, 1, ... */
    double worse[2]; /* objectives, smaller is better */
    double space;    /* INFINITY at the ends */
};

/* Fills front and space of `count` ranks (at most RANKS_MAX) and puts them in order. */
void sched_pollux_fronts(struct sched_pollux_rank *ranks, uint32_t count);

#endif
