/* options.h - an application's options: rows in, its struct of values out.
 * Tests: tests/unit/train/test_options.c. */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include "base/alloc.h"
#include "base/buf.h"
#include "base/opt.h"
#include "shoal/train.h"

enum { TRAIN_OPTIONS_MAX = 64 };

/* The same rows as base options, for help and completion. Returns how many. */
size_t train_options_rows(const shoal_app *app, struct base_opt out_rows[TRAIN_OPTIONS_MAX]);

/* Defaults, then "key=value" lines. One piece of memory, strings included. */
SHOAL_MUST_USE shoal_status train_options_new(const struct base_alloc *alloc, const shoal_app *app,
                                              const char *settings, void **out_values,
                                              shoal_err *err);
/* Whether two such texts say the same, whatever the order of their lines and whether defaults are
 * written out. SHOAL_END: no; *out_name is the first row that differs, and its values are in the
 * buffers. */
SHOAL_MUST_USE shoal_status train_options_compare(const struct base_alloc *alloc,
                                                  const shoal_app *app, const char *then,
                                                  const char *now, const char **out_name,
                                                  struct base_buf *out_then,
                                                  struct base_buf *out_now, shoal_err *err);
/* Appends the same settings in the one way to write them: what is not at its default, in the order of the
 * rows. Texts that say the same become the same, byte for byte. */
SHOAL_MUST_USE shoal_status train_options_text(const struct base_alloc *alloc, const shoal_app *app,
                                               const char *settings, struct base_buf *out,
                                               shoal_err *err);
void train_options_free(const struct base_alloc *alloc, void *values); /* NULL is allowed */

#endif
