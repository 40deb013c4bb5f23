/* options.h - an application's options: rows in, its struct of values out.
 * Tests: tests/unit/train/test_options.c. */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include "base/alloc.h"
#include "base/buf.h"
#include "base/opt.h"
#include "shoal/train.h"

/* Defaults, then "key=value" lines. One piece of memory, strings included. */
SHOAL_MUST_USE shoal_status train_options_new(const struct base_alloc *alloc, const shoal_app *app,
                                              const char *settings, void **out_values,
                                              shoal_err *err);
/* Appends such settings in the one way to write them: what is not at its default, in the order of the
 * rows. Texts that say the same become the same, byte for byte. */
SHOAL_MUST_USE shoal_status train_options_text(const struct base_alloc *alloc, const shoal_app *app,
                                               const char *settings, struct base_buf *out,
                                               shoal_err *err);
/* The same with all options, one a line: what they mean, also where defaults are others. */
SHOAL_MUST_USE shoal_status train_options_all(const struct base_alloc *alloc, const shoal_app *app,
                                              const char *settings, struct base_buf *out,
                                              shoal_err *err);
void train_options_free(const struct base_alloc *alloc, void *values); /* NULL is allowed */

#endif
