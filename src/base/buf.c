/* buf.c - the bounded byte buffer and its escapes. Each append happens whole or not at all. Tests:
 * tests/unit/base/test_buf.c. */
#include "base/buf.h"

#include "base/assert.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { CAP_MIN = 64 };

static const char REPLACEMENT[] = "\xEF\xBF\xBD"; /* U+FFFD */

void base_buf_init(struct base_buf *buf, const struct base_alloc *alloc, size_t size_max)
{
    if (size_max > SIZE_MAX - 1)
        size_max = SIZE_MAX - 1; /* room for the NUL */
    *buf = (struct base_buf){.alloc = alloc, .size_max = size_max, .status = SHOAL_OK};
}

void base_buf_fini(struct base_buf *buf)
{
    base_free(buf->alloc, buf->data);
    buf->data = NULL;
    buf->size = 0;
    buf->cap = 0;
}

void base_buf_clear(struct base_buf *buf)
{
    buf->size = 0;
    buf->status = SHOAL_OK;
    if (buf->data != NULL)
        buf->data[0] = '\0';
}

/* Room for `extra` more bytes and a NUL; false and a sticking status when there is none. */
static bool reserve(struct base_buf *buf, size_t extra)
{
    if (buf->status != SHOAL_OK)
        return false;
    if (extra > buf->size_max - buf->size) {
        buf->status = SHOAL_E_LIMIT;
        return false;
    }
    size_t need = buf->size + extra + 1;
    if (need <= buf->cap)
        return true;
    size_t cap_max = buf->size_max + 1;
    size_t cap = buf->cap < CAP_MIN ? CAP_MIN : buf->cap;
    while (cap < need)
        cap = cap > cap_max / 2 ? cap_max : cap * 2;
    if (cap > cap_max)
        cap = cap_max;
    char *data = base_realloc(buf->alloc, buf->data, cap);
    if (data == NULL) {
        buf->status = SHOAL_E_NOMEM;
        return false;
    }
    buf->data = data;
    buf->cap = cap;
    return true;
}

void base_buf_append(struct base_buf *buf, const void *bytes, size_t size)
{
    if (!reserve(buf, size))
        return;
    if (size > 0)
        memcpy(buf->data + buf->size, bytes, size);
    buf->size += size;
    buf->data[buf->size] = '\0';
}

void base_buf_puts(struct base_buf *buf, const char *s)
{
    base_buf_append(buf, s, strlen(s));
}

void base_buf_printf(struct base_buf *buf, const char *format, ...)
{
    if (!reserve(buf, 0))
        return;
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    size_t room = buf->cap - buf->size;
    int length = vsnprintf(buf->data + buf->size, room, format, args);
    va_end(args);
    shoal_assert(length >= 0); /* our formats; only a broken one fails */
    size_t size = (size_t)length;
    if (size >= room) {
        buf->data[buf->size] = '\0';
        if (reserve(buf, size))
            (void)vsnprintf(buf->data + buf->size, size + 1, format, again);
        else
            size = 0;
    }
    va_end(again);
    buf->size += size;
}

/* Length of the valid UTF-8 sequence at s, 0 when it is none (overlong, surrogate, cut, past
 * U+10FFFF). A NUL ends the string and is no continuation byte, so nothing is read past it. */
static size_t utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xC2 || s[0] > 0xF4)
        return 0;
    if ((s[1] & 0xC0) != 0x80)
        return 0;
    if (s[0] < 0xE0)
        return 2;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    if ((s[2] & 0xC0) != 0x80)
        return 0;
    if (s[0] < 0xF0)
        return 3;
    return (s[3] & 0xC0) == 0x80 ? 4 : 0;
}

/* What no escape ever touches, and most text is made of. */
static bool is_always_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.' || c == ' ';
}

/* What replaces the character of `length` bytes at s (0: invalid), or NULL when it stands for
 * itself. */
typedef const char *escape_fn(const unsigned char *s, size_t length, char scratch[8]);

static void append_escaped(struct base_buf *buf, const char *text, escape_fn *escape)
{
    const unsigned char *s = (const unsigned char *)text;
    const unsigned char *plain = s; /* start of what can be copied as it is */
    char scratch[8];
    while (*s != '\0') {
        if (is_always_plain(*s)) {
            s++;
            continue;
        }
        size_t length = utf8_length(s);
        const char *with = escape(s, length, scratch);
        if (with == NULL) {
            s += length;
            continue;
        }
        base_buf_append(buf, plain, (size_t)(s - plain));
        base_buf_puts(buf, with);
        s += length == 0 ? 1 : length;
        plain = s;
    }
    base_buf_append(buf, plain, (size_t)(s - plain));
}

static const char *escape_json(const unsigned char *s, size_t length, char scratch[8])
{
    static const char HEX[] = "0123456789abcdef";
    if (length == 0)
        return REPLACEMENT;
    if (*s >= 0x20 && *s != '"' && *s != '\\')
        return NULL;
    switch (*s) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    case '\b': return "\\b";
    case '\f': return "\\f";
    default: break;
    }
    memcpy(scratch, "\\u00", 4);
    scratch[4] = HEX[*s >> 4];
    scratch[5] = HEX[*s & 15];
    scratch[6] = '\0';
    return scratch;
}

static const char *escape_html(const unsigned char *s, size_t length, char scratch[8])
{
    (void)scratch;
    if (length == 0)
        return REPLACEMENT;
    switch (*s) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    case '\n':
    case '\r':
    case '\t': return NULL;
    default: break;
    }
    return *s < 0x20 || *s == 0x7F ? REPLACEMENT : NULL; /* XML allows no other controls */
}

void base_buf_json_string(struct base_buf *buf, const char *s)
{
    base_buf_append(buf, "\"", 1);
    append_escaped(buf, s, escape_json);
    base_buf_append(buf, "\"", 1);
}

void base_buf_html(struct base_buf *buf, const char *s)
{
    append_escaped(buf, s, escape_html);
}

void base_buf_shell(struct base_buf *buf, const char *word)
{
    bool plain = word[0] != '\0' &&
                 strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_-./,:=+@%") == strlen(word);

    base_buf_puts(buf, plain ? "" : "'");
    for (size_t length; *word != '\0'; word += length) {
        length = strcspn(word, "'");
        base_buf_append(buf, word, length);
        if (word[length] == '\'') {
            base_buf_puts(buf, "'\\''");
            length++;
        }
    }
    base_buf_puts(buf, plain ? "" : "'");
}

shoal_status base_buf_status(const struct base_buf *buf)
{
    return buf->status;
}
