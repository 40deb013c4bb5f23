/* app.h - the applications of this tree, one row in table.h each, and those in shared objects.
 * Tests: tests/unit/app/test_app.c, tests/cli/transcripts/train*.txt. */
#ifndef APP_APP_H
#define APP_APP_H

#include "shoal/train.h"

/* NULL when there is none of that name. */
const shoal_app *app_find(const char *name);
/* NULL past the last one. */
const shoal_app *app_at(size_t index);
/* A name, or the path of a shared object ("./kmeans.so"), which stays loaded. NULL, with err set: there is
 * none. One thread at a time. */
const shoal_app *app_open(const char *word, shoal_err *err);

#endif
