/* trail.h - how a job went: a few values of the objective for onlookers (history), and with times (trail)
 * values that were reported and how many workers there were.
 *
 * Bounded. Values are thinned: when there is no room left, every other one goes, and from then on only every
 * other report is kept, but the last one is always there; of crews only changes
 * are kept, and when there is no room left, the last one moves along. Times are the env's. Plain data,
 * any one thread. Tests: tests/unit/train/test_trail.c, test_history.c. */
#ifndef TRAIN_TRAIL_H
#define TRAIN_TRAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRAIN_HISTORY_MAX = 64 };

struct train_history {
    double value[TRAIN_HISTORY_MAX];
    uint32_t count;
    uint64_t every, seen; /* one report of `every` is kept; zeroed: each */
};

void train_history_add(struct train_history *history, double value);

enum { TRAIN_TRAIL_MAX = 1000, TRAIN_TRAIL_CREWS = 200 };

struct train_trail {
    struct train_trail_value {
        uint64_t at_ns, clock;
        uint64_t task_ns; /* spent in tasks by then, all threads together */
        double value;
        double held_out; /* NAN: not measured then */
    } value[TRAIN_TRAIL_MAX + 1];
    uint32_t count;
    bool extra; /* the last one is not of the even ones */
    bool held;  /* `held_out` goes with the next one */
    double held_out;
    uint64_t every, seen; /* one report of `every` is kept; zeroed: each */
    uint64_t held_seen;   /* of those seen, with something held out */
    struct train_trail_crew {
        uint64_t at_ns;
        uint32_t workers, lost; /* lost: of all time */
    } crew[TRAIN_TRAIL_CREWS];
    uint32_t crews;
};

void train_trail_value(struct train_trail *trail, uint64_t at_ns, uint64_t clock, uint64_t task_ns,
                       double value);
/* What was measured on data held out, for the value that comes next. */
void train_trail_held_out(struct train_trail *trail, double value);
/* Looked at: nothing is kept when all is as it was. */
void train_trail_crew(struct train_trail *trail, uint64_t at_ns, uint32_t workers, uint32_t lost);

#endif
