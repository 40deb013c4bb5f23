/* opt.h - reading and writing the values that option rows (shoal/opt.h) describe.
 *
 * Strings are borrowed (from argv, the file text or the row). Any thread, on caller-owned memory.
 */
#ifndef BASE_OPT_H
#define BASE_OPT_H

#include "base/buf.h"
#include "shoal/opt.h"
#include "shoal/status.h"
#include <stdbool.h>
#include <stdint.h>

/* Writes every row's default into `values`. Rows are ours, so a bad default is an assertion. */
void base_opt_defaults(const shoal_opt *rows, size_t count, void *values);

/* The two public functions of options that rows fill: shoal_gen_trace_opt_rows and _opts_init, for gen_trace. Before
 * them come their declarations. */
#define BASE_OPT_PUBLIC(name, rows)                                    \
    const shoal_opt *shoal_##name##_opt_rows(size_t *out_count)        \
    {                                                                  \
        *out_count = sizeof(rows) / sizeof(rows)[0];                   \
        return rows;                                                   \
    }                                                                  \
                                                                       \
    void shoal_##name##_opts_init(shoal_##name##_opts *opts)           \
    {                                                                  \
        *opts = (shoal_##name##_opts){.struct_size = sizeof *opts};    \
        base_opt_defaults(rows, sizeof(rows) / sizeof(rows)[0], opts); \
    }

/* The options of a public call, whose first member is their struct_size: the defaults, and over them what was given
 * (NULL: nothing). Structs of callers compiled against an older header are shorter: what they do not know of keeps
 * its default. */
void base_opt_take(const shoal_opt *rows, size_t count, const void *given, void *opts, size_t size);

/* Parses `text` into the value of `row`. On failure the value is untouched and err says what was
 * expected. */
SHOAL_MUST_USE shoal_status base_opt_set(const shoal_opt *row, const char *text, void *values,
                                         shoal_err *err);

/* Whether the numbers of values that nobody parsed are in the ranges of their rows; the same words as above. */
SHOAL_MUST_USE shoal_status base_opt_check(const shoal_opt *rows, size_t count, const void *values,
                                           shoal_err *err);

/* The row called `name`, or NULL. */
const shoal_opt *base_opt_find(const shoal_opt *rows, size_t count, const char *name);

/* Bytes of the row's value in the struct. */
size_t base_opt_size(const shoal_opt *row);

/* What stands for the row's value in the help; NULL for flags. */
const char *base_opt_meta(const shoal_opt *row);

/* The default as `--set` takes it, of flags too; NULL: none. */
const char *base_opt_fallback(const shoal_opt *row);

/* The type as JSON names it: "flag", "integer", ... */
const char *base_opt_type_name(const shoal_opt *row);

/* The row's name closest to `name` when it is close enough to be worth offering, else NULL. */
const char *base_opt_nearest(const shoal_opt *rows, size_t count, const char *name);

/* One "key=value" against rows; an unknown key is an error that offers the nearest one. `what`
 * names the owner in messages, such as "policy 'las'". */
SHOAL_MUST_USE shoal_status base_opt_assign(const shoal_opt *rows, size_t count,
                                            const char *assignment, const char *what, void *values,
                                            shoal_err *err);

/* The value as text, as base_opt_set would read it back; the items of a list are joined by commas,
 * and each would be set by itself. Nothing is written for a string that is unset. */
void base_opt_format(const shoal_opt *row, const void *values, struct base_buf *out);

#endif
