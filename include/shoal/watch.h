/* watch.h - how far long work is, and a way to end it.
 *
 * Work that takes a watch counts in it and looks whether it should end. Create one, hand it to the call, look
 * or stop from another thread. It serves one piece of work after the other; a stop holds for all of them. Any
 * thread, but for free. */
#ifndef SHOAL_WATCH_H
#define SHOAL_WATCH_H

#include "shoal/status.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shoal_watch shoal_watch;

typedef struct shoal_progress {
    const char *what;     /* what is counted: "jobs"; "" before anything is */
    uint64_t done, total; /* total 0: not known */
} shoal_progress;

/* NULL when memory is short. */
SHOAL_API shoal_watch *shoal_watch_new(void);
SHOAL_API void shoal_watch_free(shoal_watch *watch); /* once no work has it; NULL is allowed */
/* The work returns SHOAL_E_CANCELLED soon, and so does what is begun with the watch later. */
SHOAL_API void shoal_watch_stop(shoal_watch *watch);
SHOAL_API shoal_progress shoal_watch_look(const shoal_watch *watch);

#ifdef __cplusplus
}
#endif
#endif
