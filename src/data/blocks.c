/* blocks.c - see blocks.h. The buffer grows as the file turns out to be large. What is left of a
 * line at the end of a block is moved to the front before the next read, so each byte is moved at
 * most once. Tests: tests/unit/data/test_blocks.c. */
#include "data/blocks.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { READ_MIN = 64 * 1024 };

shoal_status data_blocks_bad(const struct data_blocks *blocks, uint64_t line, uint64_t column,
                             shoal_err *err, const char *format, ...)
{
    char text[256], place[64];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (column > 0)
        snprintf(place, sizeof place, "line %llu, column %llu", (unsigned long long)line,
                 (unsigned long long)column);
    else
        snprintf(place, sizeof place, "line %llu", (unsigned long long)line);
    base_err(err, SHOAL_E_FORMAT, "cannot read %s '%s', %s: %s", blocks->what, blocks->path, place,
             text);
    base_err_where(err, "%s, %s", blocks->path, place);
    return SHOAL_E_FORMAT;
}

shoal_status data_blocks_open(shoal_env *env, const char *what, const char *path, size_t block,
                              atomic_uint_fast64_t *bytes_done, struct data_blocks *blocks,
                              shoal_err *err)
{
    *blocks = (struct data_blocks){.alloc = env_alloc(env),
                                   .what = what,
                                   .path = path,
                                   .bytes_done = bytes_done,
                                   .block = block,
                                   .cap = (size_t)2 * READ_MIN};
    blocks->buf = base_malloc(blocks->alloc, blocks->cap);
    if (blocks->buf == NULL)
        return base_err_nomem(err, "reading a file");
    shoal_status st = env_open_text(env, path, &blocks->file, err);
    if (st != SHOAL_OK)
        data_blocks_close(blocks);
    return st;
}

void data_blocks_close(struct data_blocks *blocks)
{
    env_close(blocks->file);
    base_free(blocks->alloc, blocks->buf);
    blocks->file = NULL;
    blocks->buf = NULL;
}

static uint64_t count_lines(const char *text, const char *end)
{
    uint64_t lines = 0;

    for (; text < end && (text = memchr(text, '\n', (size_t)(end - text))) != NULL; text++)
        lines++;
    return lines;
}

/* ---- what is not text ---- */

static bool starts(const struct data_blocks *blocks, const char *mark, size_t size)
{
    return blocks->used >= size && memcmp(blocks->buf, mark, size) == 0;
}

static shoal_status check_start(const struct data_blocks *blocks, shoal_err *err)
{
    const char *unpack, *what = base_packed(blocks->buf, blocks->used, &unpack);

    if (what == NULL)
        return SHOAL_OK;
    data_blocks_bad(blocks, 1, 0, err, "expected plain text, found %s", what);
    base_err_hint(err, "convert it first: %s FILE | shoal ... -", unpack);
    return SHOAL_E_FORMAT;
}

static shoal_status refuse_nul(const struct data_blocks *blocks, size_t from, shoal_err *err)
{
    const char *nul =
        blocks->used > from ? memchr(blocks->buf + from, '\0', blocks->used - from) : NULL;

    if (nul == NULL)
        return SHOAL_OK;
    return data_blocks_bad(blocks, blocks->line + 1 + count_lines(blocks->buf, nul), 0, err,
                           "expected text, found a NUL byte: a binary file?");
}

/* ---- reading ---- */

/* Room for at least one more read behind the unread bytes, and for a newline after it. */
static shoal_status make_room(struct data_blocks *blocks, shoal_err *err)
{
    void *data = blocks->buf;

    if (blocks->cap - blocks->used > READ_MIN)
        return SHOAL_OK;
    if (blocks->used > DATA_LINE_MAX)
        return data_blocks_bad(blocks, blocks->line + 1, 0, err,
                               "expected a line of at most %zu bytes", DATA_LINE_MAX);
    if (base_reserve(blocks->alloc, &data, &blocks->cap, blocks->used + READ_MIN + 1, 1) != 0)
        return base_err_nomem(err, "reading a long line");
    blocks->buf = data;
    return SHOAL_OK;
}

static shoal_status fill(struct data_blocks *blocks, size_t size, shoal_err *err)
{
    while (blocks->used < size && !blocks->eof) {
        size_t got = 0;
        shoal_status st = make_room(blocks, err);
        if (st == SHOAL_OK)
            st = env_read(blocks->file, blocks->buf + blocks->used, blocks->cap - blocks->used - 1,
                          &got, err);
        if (st != SHOAL_OK)
            return st;
        blocks->used += got;
        blocks->eof = got == 0;
        if (!blocks->started && (blocks->used >= 6 || blocks->eof)) {
            st = check_start(blocks, err);
            if (st != SHOAL_OK)
                return st;
            blocks->started = true;
            blocks->begin = starts(blocks, "\xef\xbb\xbf", 3) ? 3 : 0;
        }
        if (blocks->started)
            st = refuse_nul(blocks, blocks->used - got < 6 ? 0 : blocks->used - got, err);
        if (st != SHOAL_OK)
            return st;
        if (blocks->bytes_done != NULL)
            atomic_fetch_add_explicit(blocks->bytes_done, got, memory_order_relaxed);
    }
    return SHOAL_OK;
}

shoal_status data_blocks_next(struct data_blocks *blocks, const char **out_text, size_t *out_size,
                              shoal_err *err)
{
    size_t rest = blocks->used - blocks->begin;

    memmove(blocks->buf, blocks->buf + blocks->begin, rest);
    blocks->begin = 0;
    blocks->used = rest;
    for (size_t want = blocks->block;; want = blocks->used + 1) {
        shoal_status st = fill(blocks, want, err);
        if (st != SHOAL_OK)
            return st;
        char *text = blocks->buf + blocks->begin;
        size_t have = blocks->used - blocks->begin;
        if (have == 0)
            return SHOAL_END;
        if (blocks->eof && text[have - 1] != '\n') {
            shoal_assert(blocks->used < blocks->cap);
            text[have++] = '\n';
            blocks->used++;
        }
        const char *last = memrchr(text, '\n', have);
        if (last == NULL)
            continue; /* the line goes on */
        *out_text = text;
        *out_size = (size_t)(last + 1 - text);
        blocks->begin += *out_size;
        return SHOAL_OK;
    }
}
