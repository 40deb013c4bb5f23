/* lines.c - text files line by line; see table.h. The buffer grows with the longest line and holds a
 * block of input besides; what is left of a line is moved to the front before each read, so each byte
 * is moved at most once per block. */
#include "env/table.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 64 * 1024, HEAD_MIN = 4096 };

static const uint64_t fnv_start = 0xcbf29ce484222325u, fnv_prime = 0x100000001b3u;

const char *env_lines_show(const char *text, size_t length, char buf[ENV_SHOWN_MAX])
{
    size_t shown = length < 40 ? length : 40;

    for (size_t i = 0; i < shown; i++)
        buf[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    if (shown < length) {
        memcpy(buf + shown, "...", 3);
        shown += 3;
    }
    buf[shown] = '\0';
    return buf;
}

static shoal_status bad(const struct env_lines *lines, uint64_t line, uint64_t column,
                        shoal_err *err, const char *format, va_list ap)
{
    char text[256], place[64];

    vsnprintf(text, sizeof text, format, ap);
    if (column > 0)
        snprintf(place, sizeof place, "line %llu, column %llu", (unsigned long long)line,
                 (unsigned long long)column);
    else
        snprintf(place, sizeof place, "line %llu", (unsigned long long)line);
    base_err(err, SHOAL_E_FORMAT, "cannot read %s '%s', %s: %s", lines->what, lines->path, place,
             text);
    base_err_where(err, "%s, %s", lines->path, place);
    return SHOAL_E_FORMAT;
}

shoal_status env_lines_bad(const struct env_lines *lines, uint32_t column, shoal_err *err,
                           const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)bad(lines, lines->line, column, err, format, ap);
    va_end(ap);
    return SHOAL_E_FORMAT;
}

shoal_status env_blocks_bad(const struct env_lines *lines, uint64_t line, uint64_t column,
                            shoal_err *err, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)bad(lines, line, column, err, format, ap);
    va_end(ap);
    return SHOAL_E_FORMAT;
}

/* Reads some more behind the unread bytes, and leaves room for a newline after them. */
static shoal_status fill(struct env_lines *lines, shoal_err *err)
{
    void *buf = lines->buf;
    size_t got = 0;

    if (lines->start > 0) {
        memmove(lines->buf, lines->buf + lines->start, lines->end - lines->start);
        lines->end -= lines->start;
        lines->start = 0;
    }
    if (base_reserve(lines->alloc, &buf, &lines->cap, lines->end + BLOCK + 1, 1) != 0)
        return base_err_nomem(err, "reading a file");
    lines->buf = buf;
    shoal_status st =
        env_read(lines->file, lines->buf + lines->end, lines->cap - lines->end - 1, &got, err);
    if (st != SHOAL_OK)
        return st;
    if (lines->bytes_done != NULL)
        atomic_fetch_add_explicit(lines->bytes_done, got, memory_order_relaxed);
    for (size_t i = 0; i < got && lines->block == 0; i++)
        lines->hash = (lines->hash ^ (unsigned char)lines->buf[lines->end + i]) * fnv_prime;
    lines->end += got;
    lines->eof = got == 0;
    return SHOAL_OK;
}

static bool starts(const struct env_lines *lines, const char *magic, size_t size)
{
    return lines->end >= size && memcmp(lines->buf, magic, size) == 0;
}

/* The first bytes tell a mark or a compressed file; a pipe may give them one by one. */
static shoal_status begin(struct env_lines *lines, shoal_err *err)
{
    while (!lines->eof && lines->end < 6) {
        shoal_status st = fill(lines, err);
        if (st != SHOAL_OK)
            return st;
    }
    if (starts(lines, "\xef\xbb\xbf", 3))
        lines->start = 3;
    lines->packed = base_packed(lines->buf, lines->end, &lines->unpack);
    lines->begun = true;
    return SHOAL_OK;
}

shoal_status env_blocks_open(shoal_env *env, const char *what, const char *path, size_t block,
                             atomic_uint_fast64_t *bytes_done, struct env_lines *lines,
                             shoal_err *err)
{
    *lines = (struct env_lines){.alloc = env_alloc(env),
                                .what = what,
                                .path = path,
                                .block = block,
                                .bytes_done = bytes_done,
                                .hash = fnv_start};
    return env_open_text(env, path, &lines->file, err);
}

shoal_status env_lines_open(shoal_env *env, const char *what, const char *path,
                            struct env_lines *lines, shoal_err *err)
{
    shoal_status st = env_blocks_open(env, what, path, 0, NULL, lines, err);

    if (st == SHOAL_OK)
        st = begin(lines, err);
    if (st != SHOAL_OK)
        env_lines_close(lines);
    return st;
}

void env_lines_close(struct env_lines *lines)
{
    env_close(lines->file);
    base_free(lines->alloc, lines->buf);
    lines->file = NULL;
    lines->buf = NULL;
}

static shoal_status not_text(const struct env_lines *lines, uint64_t line, shoal_err *err)
{
    if (lines->packed == NULL)
        return env_blocks_bad(lines, line, 0, err,
                              "expected text, found a NUL byte: a binary file?");
    env_blocks_bad(lines, line, 0, err, "expected plain text, found %s", lines->packed);
    base_err_hint(err, "convert it first: %s FILE | shoal ... -", lines->unpack);
    return SHOAL_E_FORMAT;
}

/* Finds the end of the line that starts at `start`, reading as needed. *out_next is where the next
 * line starts. `start` is moved to 0 by fill, so positions count from it. */
static shoal_status find_line(struct env_lines *lines, size_t *out_length, size_t *out_next,
                              shoal_err *err)
{
    size_t seen = 0;

    for (;;) {
        size_t have = lines->end - lines->start;
        char *from = lines->buf + lines->start;
        char *lf = have > seen ? memchr(from + seen, '\n', have - seen) : NULL;
        if (lf != NULL) {
            *out_length = (size_t)(lf - from);
            *out_next = *out_length + 1;
            return SHOAL_OK;
        }
        if (have == 0 && lines->eof)
            return SHOAL_END;
        if (lines->eof || have > ENV_LINE_MAX + 1) {
            *out_length = *out_next = have;
            return SHOAL_OK;
        }
        seen = have;
        shoal_status st = fill(lines, err);
        if (st != SHOAL_OK)
            return st;
    }
}

shoal_status env_lines_next(struct env_lines *lines, char **out_text, size_t *out_length,
                            shoal_err *err)
{
    size_t length = 0, next = 0;
    shoal_status st = find_line(lines, &length, &next, err);
    if (st != SHOAL_OK)
        return st;

    char *text = lines->buf + lines->start;
    lines->line++;
    if (lines->packed != NULL || memchr(text, '\0', length) != NULL)
        return not_text(lines, lines->line, err);
    if (length > 0 && text[length - 1] == '\r')
        length--;
    if (length > ENV_LINE_MAX)
        return env_lines_bad(lines, 0, err, "expected a line of at most %d bytes", ENV_LINE_MAX);
    lines->start += next;
    *out_text = text;
    *out_length = length;
    return SHOAL_OK;
}

shoal_status env_lines_head(struct env_lines *lines, const char **out_bytes, size_t *out_size,
                            shoal_err *err)
{
    while (!lines->eof && lines->end - lines->start < HEAD_MIN) {
        shoal_status st = fill(lines, err);
        if (st != SHOAL_OK)
            return st;
    }
    for (; lines->start < lines->end && strchr(" \r\n", lines->buf[lines->start]) != NULL &&
           lines->buf[lines->start] != '\0';
         lines->start++)
        lines->line += lines->buf[lines->start] == '\n';
    *out_bytes = lines->buf + lines->start;
    *out_size = lines->end - lines->start;
    return SHOAL_OK;
}

shoal_status env_lines_block(struct env_lines *lines, const char **out_bytes, size_t *out_size,
                             shoal_err *err)
{
    if (lines->start == lines->end && !lines->eof) {
        shoal_status st = fill(lines, err);
        if (st != SHOAL_OK)
            return st;
    }
    if (lines->start == lines->end)
        return SHOAL_END;
    *out_bytes = lines->buf + lines->start;
    *out_size = lines->end - lines->start;
    lines->start = lines->end;
    return SHOAL_OK;
}

/* ---- blocks of whole lines ---- */

static shoal_status check_text(const struct env_lines *lines, const char *text, size_t size,
                               shoal_err *err)
{
    const char *nul = memchr(text, '\0', size);
    uint64_t line = lines->line + 1;

    if (lines->packed != NULL)
        return not_text(lines, line, err);
    if (nul == NULL)
        return SHOAL_OK;
    for (; (text = memchr(text, '\n', (size_t)(nul - text))) != NULL; text++)
        line++;
    return not_text(lines, line, err);
}

shoal_status env_blocks_next(struct env_lines *lines, const char **out_text, size_t *out_size,
                             shoal_err *err)
{
    shoal_status st = lines->begun ? SHOAL_OK : begin(lines, err);

    for (size_t want = lines->block; st == SHOAL_OK;) {
        size_t have = lines->end - lines->start;
        char *text = lines->buf + lines->start;
        if (have < want && !lines->eof) {
            st = fill(lines, err);
            continue;
        }
        if (have == 0)
            return SHOAL_END;
        if (lines->eof && text[have - 1] != '\n') {
            text[have++] = '\n';
            lines->end++;
        }
        const char *last = memrchr(text, '\n', have);
        size_t size = last != NULL ? (size_t)(last + 1 - text) : have;
        st = check_text(lines, text, size, err);
        if (st == SHOAL_OK && last == NULL && have > ENV_BLOCK_LINE_MAX)
            return env_blocks_bad(lines, lines->line + 1, 0, err,
                                  "expected a line of at most %zu bytes", ENV_BLOCK_LINE_MAX);
        want = have + 1; /* the line goes on */
        if (st != SHOAL_OK || last == NULL)
            continue;
        *out_text = text;
        *out_size = size;
        lines->start += size;
        return SHOAL_OK;
    }
    return st;
}
