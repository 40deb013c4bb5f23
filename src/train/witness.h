/* witness.h - does a task see what the rules promise? A check that runs in every job, on a sample of
 * its tasks. See witness.c. Any thread, each with a sample of its own.
 * Tests: tests/unit/train/test_witness.c. */
#ifndef TRAIN_WITNESS_H
#define TRAIN_WITNESS_H

#include "train/box.h"

struct train_witness {
    bool all;       /* every task, every executor: simulations */
    uint32_t tasks; /* counts to the next that is looked at */
    uint32_t next;  /* executor to begin with */
};

/* Between train_task_begin and the task itself. *out_checked: how many executors were looked at (0:
 * this task is not in the sample). SHOAL_E_INTERNAL: a rule is broken, `err` says which. */
SHOAL_MUST_USE shoal_status train_witness_look(struct train_witness *witness,
                                               const struct train_box *box,
                                               const struct train_task_spec *spec,
                                               uint32_t *out_checked, shoal_err *err);

#endif
