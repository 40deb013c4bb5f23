/* options.c - see options.h. The values and a copy of the settings that strings point into are one
 * allocation: values first. */
#include "train/options.h"

#include "base/err.h"
#include <stdio.h>
#include <string.h>

shoal_status train_options_new(const struct base_alloc *alloc, const shoal_app *app,
                               const char *settings, void **out_values, shoal_err *err)
{
    size_t size = app->options_size;
    char *values = base_calloc(alloc, 1, size + strlen(settings) + 1);
    char what[80];
    shoal_status st = SHOAL_OK;

    if (values == NULL)
        return base_err_nomem(err, "reading options");
    char *text = values + size;
    memcpy(text, settings, strlen(settings));
    base_opt_defaults(app->opts, app->opt_count, values);
    snprintf(what, sizeof what, "application '%s'", app->name);
    while (*text != 0 && st == SHOAL_OK) {
        char *line = text;
        text += strcspn(text, "\n");
        if (*text == '\n')
            *text++ = 0;
        if (*line != 0)
            st = base_opt_assign(app->opts, app->opt_count, line, what, values, err);
    }
    if (st != SHOAL_OK) {
        base_free(alloc, values);
        return st;
    }
    *out_values = values;
    return SHOAL_OK;
}

static void format(const shoal_opt *row, const void *values, struct base_buf *out)
{
    base_buf_clear(out);
    base_buf_puts(out, "");
    base_opt_format(row, values, out);
}

/* Of a string, an empty one is not one that is unset. */
static bool is_set(const shoal_opt *row, const void *values)
{
    return row->type != SHOAL_OPT_STR ||
           *(const char *const *)(const void *)((const char *)values + row->offset) != NULL;
}

static shoal_status put_options(const struct base_alloc *alloc, const shoal_app *app,
                                const char *settings, bool all, struct base_buf *out,
                                shoal_err *err)
{
    struct base_buf then, now;
    void *usual = NULL, *values = NULL;
    shoal_status st = train_options_new(alloc, app, "", &usual, err);

    base_buf_init(&then, alloc, out->size_max);
    base_buf_init(&now, alloc, out->size_max);
    if (st == SHOAL_OK)
        st = train_options_new(alloc, app, settings, &values, err);
    base_buf_puts(out, "");
    for (size_t i = 0; i < app->opt_count && st == SHOAL_OK; i++) {
        const shoal_opt *row = &app->opts[i];
        format(row, usual, &then);
        format(row, values, &now);
        if (base_buf_status(&then) != SHOAL_OK || base_buf_status(&now) != SHOAL_OK)
            st = base_err_nomem(err, "reading options");
        else if (all || strcmp(then.data, now.data) != 0 ||
                 is_set(row, usual) != is_set(row, values))
            base_buf_printf(out, "%s=%s\n", row->name, now.data);
    }
    if (st == SHOAL_OK && base_buf_status(out) != SHOAL_OK)
        st = base_err_nomem(err, "reading options");
    train_options_free(alloc, usual);
    train_options_free(alloc, values);
    base_buf_fini(&then);
    base_buf_fini(&now);
    return st;
}

shoal_status train_options_text(const struct base_alloc *alloc, const shoal_app *app,
                                const char *settings, struct base_buf *out, shoal_err *err)
{
    return put_options(alloc, app, settings, false, out, err);
}

shoal_status train_options_all(const struct base_alloc *alloc, const shoal_app *app,
                               const char *settings, struct base_buf *out, shoal_err *err)
{
    return put_options(alloc, app, settings, true, out, err);
}

void train_options_free(const struct base_alloc *alloc, void *values)
{
    base_free(alloc, values);
}
