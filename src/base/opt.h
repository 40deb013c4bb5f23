/* opt.h - options as rows: name, type, default, range, help, address.
 *
 * One table of rows describes a struct of values. The same rows parse a command line, a
 * configuration file or
 * `--set key=value`, print help, man pages and completion, and say where each value came from.
 * Strings are borrowed (from argv, the file text or the row). Any thread, on caller-owned memory.
 */
#ifndef BASE_OPT_H
#define BASE_OPT_H

#include "base/buf.h"
#include "shoal/status.h"
#include <stdbool.h>
#include <stdint.h>

enum base_opt_type {
    BASE_OPT_FLAG,     /* bool; no argument on the command line, true/false in --set */
    BASE_OPT_U64,      /* uint64_t */
    BASE_OPT_F64,      /* double */
    BASE_OPT_DURATION, /* double, seconds */
    BASE_OPT_SIZE,     /* uint64_t, bytes */
    BASE_OPT_STR,      /* const char *, NULL when unset */
    BASE_OPT_CHOICE,   /* uint32_t, index into choices */
    BASE_OPT_LIST      /* struct base_opt_list, may be given again */
};

enum { BASE_OPT_LIST_MAX = 32 };

struct base_opt_list {
    const char *items[BASE_OPT_LIST_MAX];
    size_t count;
};

struct base_opt {
    const char *name; /* "policy" */
    char letter;      /* 'p', or 0 */
    enum base_opt_type type;
    const char *meta;           /* "NAME" in the help; NULL for flags */
    const char *fallback;       /* default as text, NULL for unset/false */
    const char *help;           /* one sentence without a full stop */
    double min, max;            /* for numbers; both 0: no range */
    const char *const *choices; /* NULL-terminated, for CHOICE */
    const char *complete;       /* what completes it: "file" "dir" "policy" ..., or NULL */
    size_t offset;              /* of the value in the struct */
};

/* Writes every row's default into `values`. Rows are ours, so a bad default is an assertion. */
void base_opt_defaults(const struct base_opt *rows, size_t count, void *values);

/* Parses `text` into the value of `row`. On failure the value is untouched and err says what was
 * expected. */
SHOAL_MUST_USE shoal_status base_opt_set(const struct base_opt *row, const char *text, void *values,
                                         shoal_err *err);

/* The row called `name`, or NULL. */
const struct base_opt *base_opt_find(const struct base_opt *rows, size_t count, const char *name);

/* Bytes of the row's value in the struct. */
size_t base_opt_size(const struct base_opt *row);

/* The row's name closest to `name` when it is close enough to be worth offering, else NULL. */
const char *base_opt_nearest(const struct base_opt *rows, size_t count, const char *name);

/* One "key=value" against rows; an unknown key is an error that offers the nearest one. `what`
 * names the owner in messages, such as "policy 'las'". */
SHOAL_MUST_USE shoal_status base_opt_assign(const struct base_opt *rows, size_t count,
                                            const char *assignment, const char *what, void *values,
                                            shoal_err *err);

/* The value as text, as base_opt_set would read it back; the items of a list are joined by commas,
 * and each would be set by itself. Nothing is written for a string that is unset. */
void base_opt_format(const struct base_opt *row, const void *values, struct base_buf *out);

#endif
