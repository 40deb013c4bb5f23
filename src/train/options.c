/* options.c - public option rows are base_opt rows with fewer types. The values and a copy of the
 * settings that strings point into are one allocation: values first. */
#include "train/options.h"

#include "base/assert.h"
#include "base/err.h"
#include <stdio.h>
#include <string.h>

static enum base_opt_type type_of(shoal_opt_type type)
{
    switch (type) {
    case SHOAL_OPT_FLAG: return BASE_OPT_FLAG;
    case SHOAL_OPT_U64: return BASE_OPT_U64;
    case SHOAL_OPT_F64: return BASE_OPT_F64;
    case SHOAL_OPT_CHOICE: return BASE_OPT_CHOICE;
    case SHOAL_OPT_STR: break;
    }
    return BASE_OPT_STR;
}

size_t train_options_rows(const shoal_app *app, struct base_opt out_rows[TRAIN_OPTIONS_MAX])
{
    shoal_assert(app->opt_count <= TRAIN_OPTIONS_MAX);
    for (size_t i = 0; i < app->opt_count; i++) {
        const shoal_opt *opt = &app->opts[i];
        out_rows[i] = (struct base_opt){.name = opt->name,
                                        .type = type_of(opt->type),
                                        .meta = opt->type == SHOAL_OPT_FLAG ? NULL : "VALUE",
                                        .fallback = opt->fallback,
                                        .help = opt->help,
                                        .min = opt->min,
                                        .max = opt->max,
                                        .choices = opt->choices,
                                        .offset = opt->offset};
    }
    return app->opt_count;
}

shoal_status train_options_new(const struct base_alloc *alloc, const shoal_app *app,
                               const char *settings, void **out_values, shoal_err *err)
{
    struct base_opt rows[TRAIN_OPTIONS_MAX];
    size_t count = train_options_rows(app, rows);
    size_t size = app->options_size;
    char *values = base_calloc(alloc, 1, size + strlen(settings) + 1);
    char what[80];
    shoal_status st = SHOAL_OK;

    if (values == NULL)
        return base_err_nomem(err, "reading options");
    char *text = values + size;
    memcpy(text, settings, strlen(settings));
    base_opt_defaults(rows, count, values);
    snprintf(what, sizeof what, "application '%s'", app->name);
    while (*text != 0 && st == SHOAL_OK) {
        char *line = text;
        text += strcspn(text, "\n");
        if (*text == '\n')
            *text++ = 0;
        if (*line != 0)
            st = base_opt_assign(rows, count, line, what, values, err);
    }
    if (st != SHOAL_OK) {
        base_free(alloc, values);
        return st;
    }
    *out_values = values;
    return SHOAL_OK;
}

static void format(const struct base_opt *row, const void *values, struct base_buf *out)
{
    base_buf_clear(out);
    base_buf_puts(out, "");
    base_opt_format(row, values, out);
}

shoal_status train_options_compare(const struct base_alloc *alloc, const shoal_app *app,
                                   const char *then, const char *now, const char **out_name,
                                   struct base_buf *out_then, struct base_buf *out_now,
                                   shoal_err *err)
{
    struct base_opt rows[TRAIN_OPTIONS_MAX];
    size_t count = train_options_rows(app, rows);
    void *old = NULL, *new = NULL;
    shoal_status st = train_options_new(alloc, app, then, &old, err);

    if (st == SHOAL_OK)
        st = train_options_new(alloc, app, now, &new, err);
    for (size_t i = 0; i < count && st == SHOAL_OK; i++) {
        format(&rows[i], old, out_then);
        format(&rows[i], new, out_now);
        if (base_buf_status(out_then) != SHOAL_OK || base_buf_status(out_now) != SHOAL_OK) {
            st = base_err_nomem(err, "comparing options");
        } else if (strcmp(out_then->data, out_now->data) != 0) {
            *out_name = rows[i].name;
            st = SHOAL_END;
        }
    }
    train_options_free(alloc, old);
    train_options_free(alloc, new);
    return st;
}

/* Of a string, an empty one is not one that is unset. */
static bool is_set(const struct base_opt *row, const void *values)
{
    return row->type != BASE_OPT_STR ||
           *(const char *const *)(const void *)((const char *)values + row->offset) != NULL;
}

shoal_status train_options_text(const struct base_alloc *alloc, const shoal_app *app,
                                const char *settings, struct base_buf *out, shoal_err *err)
{
    struct base_opt rows[TRAIN_OPTIONS_MAX];
    size_t count = train_options_rows(app, rows);
    struct base_buf then, now;
    void *usual = NULL, *values = NULL;
    shoal_status st = train_options_new(alloc, app, "", &usual, err);

    base_buf_init(&then, alloc, out->size_max);
    base_buf_init(&now, alloc, out->size_max);
    if (st == SHOAL_OK)
        st = train_options_new(alloc, app, settings, &values, err);
    base_buf_puts(out, "");
    for (size_t i = 0; i < count && st == SHOAL_OK; i++) {
        format(&rows[i], usual, &then);
        format(&rows[i], values, &now);
        if (base_buf_status(&then) != SHOAL_OK || base_buf_status(&now) != SHOAL_OK)
            st = base_err_nomem(err, "reading options");
        else if (strcmp(then.data, now.data) != 0 ||
                 is_set(&rows[i], usual) != is_set(&rows[i], values))
            base_buf_printf(out, "%s=%s\n", rows[i].name, now.data);
    }
    if (st == SHOAL_OK && base_buf_status(out) != SHOAL_OK)
        st = base_err_nomem(err, "reading options");
    train_options_free(alloc, usual);
    train_options_free(alloc, values);
    base_buf_fini(&then);
    base_buf_fini(&now);
    return st;
}

void train_options_free(const struct base_alloc *alloc, void *values)
{
    base_free(alloc, values);
}
