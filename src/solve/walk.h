/* walk.h - stepping through a JSON text without building it: members of an object, elements of an
 * array, one at a time.
 *
 * A step finds where a value begins and ends by its brackets and quotes; whether it is good JSON is
 * for the parser that is then given that span. So a file of millions of jobs is read with the
 * memory of one. Nesting is bounded here, before any parser recurses. Spans point into the text,
 * which must outlive them. Any thread, on caller-owned memory. */
#ifndef SOLVE_WALK_H
#define SOLVE_WALK_H

#include "shoal/status.h"
#include <stdbool.h>

enum { SOLVE_DEPTH_MAX = 16, SOLVE_KEY_MAX = 255 };

struct solve_text {
    const char *path; /* for messages */
    const char *data;
    size_t size;
};

struct solve_span {
    size_t at, size;
};

struct solve_walk {
    const struct solve_text *text;
    size_t at;  /* of the next byte */
    char close; /* '}' or ']' */
    bool begun;
};

/* Skips a byte order mark and space and checks that one value fills the text; its span. */
SHOAL_MUST_USE shoal_status solve_walk_whole(const struct solve_text *text,
                                             struct solve_span *out_span, shoal_err *err);
/* Begins with the object or array that `span` holds; its first byte is '{' or '['. */
void solve_walk_begin(struct solve_walk *walk, const struct solve_text *text,
                      struct solve_span span);
/* The next value, and for objects the key with its quotes. SHOAL_END after the last. */
SHOAL_MUST_USE shoal_status solve_walk_next(struct solve_walk *walk, struct solve_span *out_key,
                                            struct solve_span *out_value, shoal_err *err);

/* Line and column (in bytes), from 1, of a byte of the text. */
void solve_walk_place(const struct solve_text *text, size_t at, size_t *out_line,
                      size_t *out_column);
/* "cannot read problem 'a.json', line 3, column 7PLACE: WHAT", SHOAL_E_FORMAT. */
shoal_status solve_walk_bad(const struct solve_text *text, size_t at, const char *place,
                            const char *what, shoal_err *err);

#endif
