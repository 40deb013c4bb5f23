/* spread.h - which worker each executor should be on. Pure.
 * Tests: tests/unit/train/test_spread.c. */
#ifndef TRAIN_SPREAD_H
#define TRAIN_SPREAD_H

#include <stdint.h>

enum { TRAIN_NOBODY = UINT32_MAX };

struct train_place {
    uint32_t worker; /* index into the workers; TRAIN_NOBODY: none yet */
    /* Of a clock's work, as measured where it was last; 0: not known. One that goes from a slow
     * worker to a fast one leaves with what it is expected to be there. */
    double cost;
};

/* Changes `place[].worker` so that no worker's load (cost by threads) is far above the mean, with few
 * moves: executors of nobody and of workers with 0 threads go to the least loaded first, then single
 * ones from the most loaded to the least loaded while that lowers the highest load, and only when
 * the highest is above `slack` times the mean. load: (workers) scratch. Returns how many changed. */
uint32_t train_spread(struct train_place *place, uint32_t executors, const uint32_t *threads,
                      uint32_t workers, double slack, double *load);

#endif
