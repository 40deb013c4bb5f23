/* apps.h - the application that a word on the command line means: one of the tree by name, or a
 * shared object by its path. */
#ifndef CLI_APPS_H
#define CLI_APPS_H

#include "shoal/train.h"

/* A word with a slash in it is a file to load (see SHOAL_APP_EXPORT in shoal/train.h); it stays
 * loaded. NULL with err set when there is none; a name that is close is offered. */
const shoal_app *cli_app_find(const char *word, shoal_err *err);

#endif
