/* saved.h - the driver's part of a checkpoint: the application's state, the executors' queues, the
 * counters. */
#ifndef TRAIN_SAVED_H
#define TRAIN_SAVED_H

#include "train/master.h"

/* No task may be out. */
void saved_pack(const struct train_master *m, struct base_buf *out);
/* Into a master that has planned and whose box holds the executors of the same checkpoint. Bytes that
 * make no sense are SHOAL_E_FORMAT; the master can only be freed then. */
SHOAL_MUST_USE shoal_status saved_unpack(struct train_master *m, const void *bytes, size_t size,
                                         shoal_err *err);

#endif
