/* folder.c - see folder.h. Whether a path is a folder is found out by listing it. */
#include "env/folder.h"

#include "base/err.h"
#include <stdio.h>
#include <string.h>

enum { NAMES_MAX = 1 << 24, PATH_SIZE = 4096 };

struct walk {
    shoal_env *env;
    shoal_status (*fn)(void *ctx, const char *path, bool inside, shoal_err *err);
    void *ctx;
    char path[PATH_SIZE];
    size_t files;
};

static shoal_status visit(struct walk *w, int depth, shoal_err *err);

static shoal_status visit_name(struct walk *w, size_t length, const char *name, int depth,
                               shoal_err *err)
{
    bool slash = length > 0 && w->path[length - 1] == '/';
    int size = snprintf(w->path + length, sizeof w->path - length, "%s%s", slash ? "" : "/", name);
    shoal_status st;

    if (size < 0 || (size_t)size >= sizeof w->path - length)
        st = base_err(err, SHOAL_E_LIMIT, "cannot read '%.100s...': the path is too long", w->path);
    else
        st = visit(w, depth, err);
    w->path[length] = '\0';
    return st;
}

/* What cannot be listed is taken for a file; a folder that cannot be read says so when opened. */
static shoal_status visit_file(struct walk *w, int depth, shoal_err *err)
{
    if (++w->files > ENV_FOLDER_FILES_MAX)
        return base_err(err, SHOAL_E_LIMIT, "cannot read '%s': more than %d files", w->path,
                        ENV_FOLDER_FILES_MAX);
    return w->fn(w->ctx, w->path, depth > 0, err);
}

static shoal_status visit(struct walk *w, int depth, shoal_err *err)
{
    struct base_buf names;
    size_t length = strlen(w->path);
    shoal_err listing = SHOAL_ERR_INIT;

    base_buf_init(&names, env_alloc(w->env), NAMES_MAX);
    shoal_status st =
        strcmp(w->path, "-") == 0 ? SHOAL_E_NOTFOUND : env_list(w->env, w->path, &names, &listing);
    if (st == SHOAL_E_NOMEM || st == SHOAL_E_LIMIT) {
        base_buf_fini(&names);
        return base_err(err, st, "%s", listing.message);
    }
    if (st != SHOAL_OK) {
        base_buf_fini(&names);
        return visit_file(w, depth, err);
    }
    if (depth == ENV_FOLDER_DEPTH_MAX)
        st = base_err(err, SHOAL_E_LIMIT, "cannot read '%s': folders are nested more than %d deep",
                      w->path, ENV_FOLDER_DEPTH_MAX);
    for (size_t at = 0; st == SHOAL_OK && at < names.size; at += strlen(names.data + at) + 1)
        if (names.data[at] != '.')
            st = visit_name(w, length, names.data + at, depth + 1, err);
    base_buf_fini(&names);
    return st;
}

shoal_status env_folder_each(shoal_env *env, const char *path,
                             shoal_status (*fn)(void *ctx, const char *path, bool inside,
                                                shoal_err *err),
                             void *ctx, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    struct walk *w = base_malloc(alloc, sizeof *w);

    if (w == NULL)
        return base_err_nomem(err, "reading a folder");
    *w = (struct walk){.env = env, .fn = fn, .ctx = ctx};
    shoal_status st = SHOAL_OK;
    if (strlen(path) >= sizeof w->path)
        st = base_err(err, SHOAL_E_LIMIT, "cannot read '%.100s...': the path is too long", path);
    if (st == SHOAL_OK) {
        memcpy(w->path, path, strlen(path) + 1);
        st = visit(w, 0, err);
    }
    base_free(alloc, w);
    return st;
}

struct spared {
    shoal_env *env;
    const char *path;
};

static shoal_status is_other(void *ctx, const char *input, bool inside, shoal_err *err)
{
    const struct spared *s = ctx;

    (void)inside;
    return env_same(s->env, input, s->path) ? base_err(err, SHOAL_E_EXISTS, "it is '%s'", input)
                                            : SHOAL_OK;
}

shoal_status env_folder_spares(shoal_env *env, const char *path, const char *const *inputs,
                               size_t count, shoal_err *err)
{
    if (path == NULL || strcmp(path, "-") == 0)
        return SHOAL_OK;
    for (size_t i = 0; i < count; i++) {
        shoal_err other = SHOAL_ERR_INIT;
        struct spared s = {env, path};
        if (inputs[i] != NULL &&
            env_folder_each(env, inputs[i], is_other, &s, &other) == SHOAL_E_EXISTS)
            return base_err(err, SHOAL_E_INVAL, "cannot write '%s': it is also an input", path);
    }
    return SHOAL_OK;
}
