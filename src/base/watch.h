/* watch.h - the inside of a shoal_watch, for the work that is watched. A NULL watch is allowed everywhere. Any
 * thread. */
#ifndef BASE_WATCH_H
#define BASE_WATCH_H

#include "shoal/watch.h"
#include <stdatomic.h>
#include <stdbool.h>

struct shoal_watch {
    atomic_bool stop;
    atomic_uint_fast64_t done, total;
    _Atomic(const char *) what; /* constant text */
};

/* Counts `what` from 0 to `total` from now on. */
void base_watch_begin(shoal_watch *watch, const char *what, uint64_t total);
bool base_watch_stopped(const shoal_watch *watch);

/* For loops that look or count often: never NULL, and NULL where there is no watch. */
const atomic_bool *base_watch_flag(const shoal_watch *watch);
atomic_uint_fast64_t *base_watch_done(shoal_watch *watch);

#endif
