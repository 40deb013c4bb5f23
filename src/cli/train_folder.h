/* train_folder.h - the folder that `shoal train --checkpoint` keeps a job in: one job's at a time. */
#ifndef CLI_TRAIN_FOLDER_H
#define CLI_TRAIN_FOLDER_H

#include "shoal/status.h"
#include <stdbool.h>

/* Locks the folder: two jobs would write over each other's files. It is made if need be, but not to
 * resume: then a checkpoint must be there. The descriptor is the caller's to close, which unlocks it. */
SHOAL_MUST_USE shoal_status cli_train_folder_open(const char *path, bool resume, int *out_folder,
                                                  shoal_err *err);
void cli_train_folder_empty(int folder); /* of checkpoints */

#endif
