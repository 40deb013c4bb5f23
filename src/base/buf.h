/* buf.h - a growable byte buffer that is born with a maximum.
 *
 * The first failure sticks: later appends do nothing, and base_buf_status says what happened
 * (SHOAL_E_NOMEM or SHOAL_E_LIMIT), so writers check once at the end. `data` is always
 * NUL-terminated when size > 0 or after any append. Owner thread only. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/alloc.h"
#include "shoal/status.h"

struct base_buf {
    const struct base_alloc *alloc;
    char *data;
    size_t size, cap, size_max;
    shoal_status status;
};

void base_buf_init(struct base_buf *buf, const struct base_alloc *alloc, size_t size_max);
void base_buf_fini(struct base_buf *buf);
void base_buf_clear(struct base_buf *buf); /* size 0, status SHOAL_OK, memory kept */
void base_buf_append(struct base_buf *buf, const void *bytes, size_t size);
void base_buf_puts(struct base_buf *buf, const char *s);
void base_buf_printf(struct base_buf *buf, const char *format, ...) SHOAL_PRINTF(2, 3);
/* Escaped: a JSON string with its quotes (invalid UTF-8 becomes U+FFFD); text for HTML or SVG; a word for a shell, in
 * quotes where it would not read it as it is. */
void base_buf_json_string(struct base_buf *buf, const char *s);
void base_buf_html(struct base_buf *buf, const char *s);
void base_buf_shell(struct base_buf *buf, const char *word);
shoal_status base_buf_status(const struct base_buf *buf);

#endif
