/* lines.h - text input line by line and field by field, with bounded memory.
 *
 * One buffer is allocated at opening and none afterwards, so input of any size is read in constant
 * memory and a bad line stops the reading there. A line ends with LF or CRLF; the last may end
 * without. An over-long line, a NUL byte and a compressed file are errors with the line number.
 * Fields are slices of the current line, valid until the next one. A byte order mark at the start
 * is skipped. Owner thread only. */
#ifndef ENV_LINES_H
#define ENV_LINES_H

#include "env/env.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    ENV_LINE_MAX = 64 * 1024, /* bytes of a line without its end */
    ENV_FIELDS_MAX = 64
};

struct env_lines {
    const struct base_alloc *alloc;
    struct env_file *file;
    const char *what; /* "trace": what messages call it */
    const char *path; /* borrowed */
    char *buf;
    size_t start, end; /* unread bytes */
    bool eof;
    const char *packed; /* what it is when it is not plain text, NULL when it may be */
    const char *unpack; /* the command that makes text of it */
    uint64_t line;      /* number of the current line, from 1 */
    uint64_t hash;      /* FNV-1a of all bytes read so far */
};

struct env_field {
    char *text; /* not NUL-terminated */
    size_t length;
    uint32_t column; /* from 1 */
};

/* `what` and `path` are borrowed until closing. On failure *lines is closed. */
SHOAL_MUST_USE shoal_status env_lines_open(shoal_env *env, const char *what, const char *path,
                                           struct env_lines *lines, shoal_err *err);
void env_lines_close(struct env_lines *lines); /* closing twice is allowed */

/* The next line, without its end. SHOAL_END after the last. The bytes may be changed in place. */
SHOAL_MUST_USE shoal_status env_lines_next(struct env_lines *lines, char **out_text,
                                           size_t *out_length, shoal_err *err);
/* The first line with something in it, without reading past it. Only before the first next. */
SHOAL_MUST_USE shoal_status env_lines_peek(struct env_lines *lines, const char **out_text,
                                           size_t *out_length, shoal_err *err);

/* The first unread bytes, at least ENV_HEAD_MIN unless the input ends before, without reading past
 * them: enough to tell one format from another. */
enum { ENV_HEAD_MIN = 4096 };
SHOAL_MUST_USE shoal_status env_lines_head(struct env_lines *lines, const char **out_bytes,
                                           size_t *out_size, shoal_err *err);
/* The next bytes as they come, for input that is not lines; valid until the next call. SHOAL_END
 * after the last. `line` is the caller's to count. */
SHOAL_MUST_USE shoal_status env_lines_block(struct env_lines *lines, const char **out_bytes,
                                            size_t *out_size, shoal_err *err);

/* Cuts a line at `separator`, which is ',' (with "quoted ""fields""") or '\t' (plain). Writes at
 * most ENV_FIELDS_MAX fields; more, a stray quote or a control character is an error. */
SHOAL_MUST_USE shoal_status env_lines_split(const struct env_lines *lines, char *text,
                                            size_t length, char separator, struct env_field *fields,
                                            size_t *out_count, shoal_err *err);

/* The next line that is not empty and does not start with `comment` (0: there are none), cut as
 * above. SHOAL_END after the last. */
SHOAL_MUST_USE shoal_status env_lines_fields(struct env_lines *lines, char separator, char comment,
                                             struct env_field *fields, size_t *out_count,
                                             shoal_err *err);

/* "cannot read trace 'a.csv', line 41, column 3: expected ..."; the column is left out when 0.
 * Returns SHOAL_E_FORMAT. */
shoal_status env_lines_bad(const struct env_lines *lines, uint32_t column, shoal_err *err,
                           const char *format, ...) SHOAL_PRINTF(4, 5);

/* "expected WHAT, found 'x'" or "found nothing" at the field. Returns SHOAL_E_FORMAT. */
shoal_status env_lines_expected(const struct env_lines *lines, const struct env_field *field,
                                const char *what, shoal_err *err);

/* A field as messages show it: cut at 40 bytes, control characters as '?'. */
enum { ENV_SHOWN_MAX = 48 };
const char *env_lines_show(const char *text, size_t length, char buf[ENV_SHOWN_MAX]);

#endif
