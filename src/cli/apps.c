/* apps.c - see apps.h. */
#include "cli/apps.h"

#include "app/app.h"
#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { LOADED_MAX = 8 };

/* It becomes a part of file names. */
static bool good_name(const char *name)
{
    size_t length = strlen(name);

    return length > 0 && length <= 40 && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
               length;
}

/* One that was built with an earlier header has fewer hooks: it is copied, and the others are not there.
 * False: too small, newer than this, or more of them than anybody loads. */
static bool known(const shoal_app **app)
{
    static shoal_app grown[LOADED_MAX];
    static size_t count;
    size_t size = (*app)->struct_size;

    if (size == sizeof(shoal_app))
        return true;
    if (size < offsetof(shoal_app, tell) || size > sizeof(shoal_app) || count == LOADED_MAX)
        return false;
    memcpy(&grown[count], *app, size);
    *app = &grown[count++];
    return true;
}

static const shoal_app *load(const char *path, shoal_err *err)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    shoal_app_export_fn *get = NULL;
    const shoal_app *app = NULL;

    if (object == NULL) {
        const char *why = dlerror();
        size_t length = strlen(path);
        if (strncmp(why, path, length) == 0 && strncmp(why + length, ": ", 2) == 0)
            why += length + 2;
        base_err(err, SHOAL_E_NOTFOUND, "cannot load application '%s': %s", path, why);
        return NULL;
    }
    *(void **)&get = dlsym(object, SHOAL_APP_EXPORT);
    if (get != NULL)
        app = get();
    if (app != NULL && !known(&app)) {
        base_err(err, SHOAL_E_FORMAT, "'%s' was built for another version of Shoal", path);
        base_err_hint(err, "build it again with this one's shoal/train.h");
        return NULL;
    }
    if (app == NULL || app->name == NULL || app->summary == NULL || app->objective == NULL ||
        app->units == NULL || app->plan == NULL || app->start == NULL || app->done == NULL ||
        app->run == NULL) {
        base_err(err, SHOAL_E_FORMAT, "'%s' is not an application", path);
        base_err_hint(err, "it must export %s; 'shoal new app NAME' writes one to start from",
                      SHOAL_APP_EXPORT);
        return NULL;
    }
    if (!good_name(app->name)) {
        base_err(err, SHOAL_E_FORMAT, "the application in '%s' has a bad name", path);
        base_err_hint(err, "names are up to 40 letters, digits, '-', '_' and '.'");
        return NULL;
    }
    return app;
}

const shoal_app *cli_app_find(const char *word, shoal_err *err)
{
    const shoal_app *app = app_find(word);
    const char *names[64];
    size_t count = 0;

    if (app != NULL)
        return app;
    if (strchr(word, '/') != NULL)
        return load(word, err);
    while (count < BASE_COUNT(names) && app_at(count) != NULL) {
        names[count] = app_at(count)->name;
        count++;
    }
    const char *nearest = base_nearest(word, names, count);
    base_err(err, SHOAL_E_NOTFOUND, "unknown application '%s'", word);
    if (nearest != NULL)
        base_err_hint(err, "did you mean '%s'?", nearest);
    else if (access(word, R_OK) == 0)
        base_err_hint(err, "a file is written with a slash: './%s'", word);
    else
        base_err_hint(err, "'shoal app list' shows all");
    return NULL;
}
