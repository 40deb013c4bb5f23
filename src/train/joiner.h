/* joiner.h - a worker that joins a job, and joins it again when its line was cut.
 *
 * It is another worker for the driver then: the old one is lost, its executors have gone to others or
 * come back with a new epoch, and what was not committed runs again. Loop thread only.
 * Tests: tests/unit/train/test_rejoin.c, tests/cli/test_train_rejoin.py. */
#ifndef TRAIN_JOINER_H
#define TRAIN_JOINER_H

#include "train/worker.h"

struct train_joiner;

struct train_joiner_opts {
    struct train_worker_opts worker; /* its `ended` is called once, at the end of all */
    uint64_t retry_ms; /* how long it tries after its line was cut; 0: it does not, but ends */
    void (*cut)(void *ctx, const shoal_err *why); /* it was, and is tried again; may be NULL */
};

SHOAL_MUST_USE shoal_status train_joiner_new(struct env_loop *loop,
                                             const struct train_joiner_opts *opts,
                                             struct train_joiner **out_joiner, shoal_err *err);
/* Asks the driver to be drained. Before it has joined it ends with SHOAL_E_CANCELLED; while its line is
 * cut it has nothing to hand over, and ends well. */
void train_joiner_leave(struct train_joiner *joiner);
void train_joiner_free(struct train_joiner *joiner); /* not inside `ended`; NULL is allowed */

#endif
