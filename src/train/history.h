/* history.h - how the objective went, in at most TRAIN_HISTORY_MAX points.
 *
 * Points are even in the number of reports: when there is no room left, every other one goes, and
 * from then on only every other report is kept. Plain data, any one thread. Tests:
 * tests/unit/train/test_history.c. */
#ifndef TRAIN_HISTORY_H
#define TRAIN_HISTORY_H

#include <stddef.h>
#include <stdint.h>

enum { TRAIN_HISTORY_MAX = 64 };

struct train_history {
    double value[TRAIN_HISTORY_MAX];
    uint32_t count;
    uint64_t every, seen; /* one report of `every` is kept; zeroed: each */
};

void train_history_add(struct train_history *history, double value);

#endif
