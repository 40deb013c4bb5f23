/* read.h - reading a problem: stepping through its text, and what the readers of its parts share: the place they
 * are at, messages, numbers and names. Private to src/solve. Owner thread only. Tests:
 * tests/unit/solve/test_walk.c, test_problem.c.
 *
 * A step finds where a value begins and ends by its brackets and quotes; whether it is good JSON is
 * for the parser that is then given that span. So a file of millions of jobs is read with the
 * memory of one. Nesting is bounded here, before any parser recurses. Spans point into the text,
 * which must outlive them. */
#ifndef SOLVE_READ_H
#define SOLVE_READ_H

#include "solve/problem.h"
#include <jansson.h>

/* ---- steps ---- */

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

/* All of a file, or as much as shows that it is no JSON text. */
SHOAL_MUST_USE shoal_status solve_read_text(shoal_env *env, const char *path, struct base_buf *out,
                                            shoal_err *err);
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

/* ---- parts ---- */

enum { SOLVE_PLACE_MAX = 200 };

struct solve_reading {
    struct solve_problem *p;
    struct solve_text text;
    size_t at;                   /* byte where the current element begins */
    char place[SOLVE_PLACE_MAX]; /* "jobs[3]" */
    struct solve_span jobs;      /* the list */
    struct base_room room;       /* of what is only needed while reading */
    unsigned char *marks;        /* of each entity: DECLARED and so on, in problem.c */
    struct base_map pairs;       /* seen */
    shoal_watch *watch;          /* counts jobs; may be NULL */
    bool declares;               /* the problem has "entities" */
};

/* Says where the reader is: an element and its first byte. */
void solve_read_at(struct solve_reading *rd, size_t at, const char *format, ...) SHOAL_PRINTF(3, 4);

/* The same for a job that was read before, by its number. */
void solve_read_at_job(struct solve_reading *rd, size_t job);

/* "cannot read problem 'a.json', line 3, at jobs[3].weight: WHAT", SHOAL_E_FORMAT. `below` is the
 * rest of the place (".weight") or "". */
shoal_status solve_read_bad(const struct solve_reading *rd, const char *below, shoal_err *err,
                            const char *format, ...) SHOAL_PRINTF(4, 5);
/* There are more of something than may be: SHOAL_E_LIMIT. */
shoal_status solve_read_many(const struct solve_reading *rd, size_t most, const char *what,
                             shoal_err *err);
/* "expected EXPECTED, found VALUE" */
shoal_status solve_read_wrong(const struct solve_reading *rd, const char *below,
                              const char *expected, const json_t *found, shoal_err *err);
/* "unknown field 'wieght'", offering the nearest of `names`. */
shoal_status solve_read_unknown(const struct solve_reading *rd, const char *field,
                                const char *const *names, size_t count, shoal_err *err);

/* "no kind 'v1000' under "kinds"", with the nearest, or all of them. */
shoal_status solve_read_unknown_kind(const struct solve_reading *rd, const char *below,
                                     const char *name, shoal_err *err);

/* The name that was probably meant, or NULL. */
const char *solve_read_nearest(const struct base_map *names, const char *word);

/* The JSON of a span; the caller's, for json_decref. */
SHOAL_MUST_USE shoal_status solve_read_json(const struct solve_reading *rd, struct solve_span span,
                                            json_t **out, shoal_err *err);
/* A key of a walk, decoded into `out` (SOLVE_NAME_MAX + 1 bytes). */
SHOAL_MUST_USE shoal_status solve_read_key(const struct solve_reading *rd, struct solve_span span,
                                           char *out, shoal_err *err);

/* 1 to SOLVE_NAME_MAX bytes without control characters. */
bool solve_read_name_ok(const char *name);

/* A member of an object: a number, or what `read` makes of it. */
struct solve_field {
    const char *name;
    size_t at;            /* of the double, in what the object is read into */
    double min, max;      /* both allowed */
    const char *expected; /* "a weight above 0, from 1e-6 to 1e6" */
    unsigned also;        /* SOLVE_ZERO and so on, added up */
    shoal_status (*read)(struct solve_reading *rd, const json_t *value, void *row, shoal_err *err);
};
enum {
    SOLVE_ZERO = 1,     /* 0 besides */
    SOLVE_DURATION = 2, /* "2h" besides, in seconds */
    SOLVE_WHOLE = 4,
    SOLVE_NULL = 8 /* null besides: as if it were not there */
};
SHOAL_MUST_USE shoal_status solve_read_number(const struct solve_reading *rd, const char *below,
                                              const struct solve_field *rule, const json_t *value,
                                              double *out, shoal_err *err);

#endif
