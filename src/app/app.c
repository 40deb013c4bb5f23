/* app.c - the table of applications. */
#include "app/app.h"

#include "app/table.h"
#include <string.h>

#define APP_DECLARE(name) extern const shoal_app app_##name;
APP_TABLE(APP_DECLARE)
#undef APP_DECLARE

#define APP_ROW(name) &app_##name,
static const shoal_app *const APPS[] = {APP_TABLE(APP_ROW) NULL};
#undef APP_ROW

const shoal_app *app_at(size_t index)
{
    return index < sizeof APPS / sizeof APPS[0] ? APPS[index] : NULL;
}

const shoal_app *app_find(const char *name)
{
    for (size_t i = 0; APPS[i] != NULL; i++)
        if (strcmp(APPS[i]->name, name) == 0)
            return APPS[i];
    return NULL;
}
