/* app.h - the applications of this tree: one file each, one row in table.h. */
#ifndef APP_APP_H
#define APP_APP_H

#include "shoal/train.h"

/* NULL when there is none of that name. */
const shoal_app *app_find(const char *name);
/* NULL past the last one. */
const shoal_app *app_at(size_t index);

#endif
