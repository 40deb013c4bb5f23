/* saver.h - when a running job is put on disk, and how a job takes up what is there.
 *
 * A checkpoint is taken of a quiet job. When one is due, tasks are held back; those that are out end;
 * what is left to fold is folded. In a bulk synchronous job whose clock is half done this leaves
 * increments that may not be folded yet: then tasks of that clock go on, and only the next clock's are
 * held back. Once all is quiet the driver is packed on the loop's thread and the box copied on a
 * thread of its own; then tasks go on, and the copy is written and synced on that thread. The job is
 * held back for the longest task that is out and one copy. So that this stays cheap, the next
 * checkpoint is due after the interval or HOLD_SHARE times the time held back, whichever is longer.
 *
 * A checkpoint that fails (disk full, no memory) costs nothing but itself: it is told once, counted,
 * and tried again after the interval. Loop thread only. Tests: tests/unit/train/test_checkpoint.c. */
#ifndef TRAIN_SAVER_H
#define TRAIN_SAVER_H

#include "train/master.h"

struct train_saver;

/* After plan. When opts.resume is set, box, driver and executors' books are as they were. */
SHOAL_MUST_USE shoal_status saver_new(struct train_master *m, struct train_saver **out_saver,
                                      shoal_err *err);
void saver_free(struct train_saver *saver); /* waits for a write in progress; NULL is allowed */
SHOAL_MUST_USE shoal_status saver_start(struct train_saver *saver); /* the clock of the first one */

/* All take NULL. */
bool saver_holds(const struct train_saver *saver, uint64_t clock); /* tasks of this clock */
void saver_look(struct train_saver *saver); /* a task has ended, or a worker: is all quiet now? */
/* The job is to stop: one last checkpoint, then master_cancel. False: the caller must do it. */
bool saver_stop(struct train_saver *saver);
/* Adds to what the job's end says how to go on. */
void saver_tell(const struct train_saver *saver, shoal_err *err);

/* ---- saved.c: the driver's part of a checkpoint: the application's state, the queues, the counters ---- */

/* No task may be out. */
void saved_pack(const struct train_master *m, struct base_buf *out);
/* Into a master that has planned and whose box holds the executors of the same checkpoint. Bytes that
 * make no sense are SHOAL_E_FORMAT; the master can only be freed then. */
SHOAL_MUST_USE shoal_status saved_unpack(struct train_master *m, const void *bytes, size_t size,
                                         shoal_err *err);

#endif
