/* train_folder.h - the folder that `shoal train --checkpoint` keeps a job in: one job's at a time. */
#ifndef CLI_TRAIN_FOLDER_H
#define CLI_TRAIN_FOLDER_H

#include "shoal/status.h"

/* Makes the folder if need be and locks it: two jobs would write over each other's files. The descriptor is
 * the caller's to close, which unlocks it. */
SHOAL_MUST_USE shoal_status cli_train_folder_open(const char *path, int *out_folder,
                                                  shoal_err *err);
void cli_train_folder_empty(int folder); /* of checkpoints */

#endif
