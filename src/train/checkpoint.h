/* checkpoint.h - the truth about a job on disk: what is written, and how it is found again.
 *
 * A shelf is a folder with at most three files, each a pack (store/pack.h) that takes its name
 * whole: full-0.pack and full-1.pack, written in turn, and delta.pack, which holds only what differs
 * from the newer full one. A file is replaced, never removed, so there is something valid at every
 * moment, and behind the newest something older in case a disk has damaged it. A checkpoint is
 * written as a delta unless that were more than half of the whole.
 *
 * The units of a checkpoint are the executors (number, last records, state) and the shards of tables;
 * what differs is told by their sums (XXH3-64), for the driver may change rows without a trace. Data
 * blocks are not kept: plan reads the data again, and their sum is compared.
 *
 * The box must be quiet while it is gathered: every task that was sent has been heard of, and all
 * increments are folded (saver.c sees to it). Then each executor's state, the tables and the driver
 * belong together, task for task, and a resumed job goes on as if nothing had happened. A snapshot of
 * tables newer than the executors would not do: a task that runs again after a resume reads other
 * rows than the first time, so the increments kept would not be those its executor's state goes with.
 *
 * One thread at a time. Tests: tests/unit/train/test_checkpoint.c, test_checkpoint_load.c. */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include "base/log.h"
#include "train/box.h"

/* The files of a shelf, 0, 1, ...; NULL after the last. */
const char *train_shelf_file(uint32_t index);
/* The folder for one job, which has it until env_folder_drop; to `resume` it must have a checkpoint, good or not.
 * Real env only. */
SHOAL_MUST_USE shoal_status train_shelf_take(const char *dir, bool resume, int *out_folder,
                                             shoal_err *err);
void train_shelf_empty(int folder); /* the job is done */

/* What must be the same for a checkpoint to be resumed. All borrowed. */
struct train_shelf_job {
    const shoal_app *app;
    const char *settings, *data; /* data: its path, told in messages only */
    uint64_t seed;
    uint32_t staleness;
};

struct train_shelf;

/* Borrows env, box (sealed) and what `job` points to. No file is touched. */
SHOAL_MUST_USE shoal_status train_shelf_new(shoal_env *env, const char *dir, struct train_box *box,
                                            const struct train_shelf_job *job,
                                            struct train_shelf **out_shelf, shoal_err *err);
void train_shelf_free(struct train_shelf *shelf); /* NULL is allowed */

/* SHOAL_E_EXISTS when a file of a checkpoint is there: a new job does not write over it. */
SHOAL_MUST_USE shoal_status train_shelf_need_empty(const struct train_shelf *shelf, shoal_err *err);

/* Copies what differs from the newest full one out of the quiet box. */
SHOAL_MUST_USE shoal_status train_shelf_gather(struct train_shelf *shelf, shoal_err *err);
/* Writes what was gathered last, with the driver's bytes, and forgets it. When it fails, what was on
 * disk stays. */
SHOAL_MUST_USE shoal_status train_shelf_write(struct train_shelf *shelf, const void *driver,
                                              size_t driver_size, uint64_t *out_size,
                                              shoal_err *err);
uint64_t train_shelf_gathered(const struct train_shelf *shelf); /* bytes */

/* Loads the newest checkpoint that is whole into the box (planned, sealed, nothing run yet) and
 * appends the driver's bytes. Files that are damaged are named in the log (may be NULL) and passed
 * over. One of another job is SHOAL_E_INVAL and says what differs; none at all is
 * SHOAL_E_NOTFOUND. */
SHOAL_MUST_USE shoal_status train_shelf_load(struct train_shelf *shelf, const struct base_log *log,
                                             struct base_buf *out_driver, shoal_err *err);

#endif
