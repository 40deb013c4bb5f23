/* num.c - how pages write numbers, and how names from data reach them. Any thread. Tests:
 * tests/unit/page/test_num.c. */
#include "page/page.h"

#include "base/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NBSP    "\xc2\xa0"
#define NOTHING "\xe2\x80\x93" /* an en dash where there is no number */

static const double unit_s[] = {1, 60, 3600, 86400};
static const char *const unit_name[] = {"s", "min", "h", "d"};

static const char *nothing(char *buf, size_t size)
{
    snprintf(buf, size, "%s", NOTHING);
    return buf;
}

static const char *whole(double value, char *buf, size_t size)
{
    if (fabs(value) >= 1e15) {
        snprintf(buf, size, "%.2e", value);
        return buf;
    }
    double rounded = round(fabs(value));
    char digits[40];
    base_format_count((uint64_t)rounded, digits, sizeof digits);
    snprintf(buf, size, "%s%s", value < 0 && rounded > 0 ? "-" : "", digits);
    return buf;
}

const char *page_number(double value, char *buf, size_t size)
{
    if (!isfinite(value))
        return nothing(buf, size);
    double a = fabs(value);
    if (a >= 9.95)
        return whole(value, buf, size);
    if (a >= 0.995)
        snprintf(buf, size, "%.1f", value);
    else if (a >= 0.095 || value == 0)
        snprintf(buf, size, value == 0 ? "%.0f" : "%.2f", value);
    else
        snprintf(buf, size, "%.2g", value);
    return buf;
}

const char *page_value(double value, int digits, char *buf, size_t size)
{
    if (!isfinite(value))
        return nothing(buf, size);
    if (fabs(value) >= 1e5 || (value == round(value) && fabs(value) >= 10))
        return whole(value, buf, size);
    snprintf(buf, size, "%.*g", digits, value);
    return buf;
}

enum unit { UNIT_S, UNIT_MIN, UNIT_H, UNIT_D };

static enum unit unit_of(double seconds)
{
    double a = fabs(seconds);
    return a < 99.5 ? UNIT_S : a < 99.5 * 60 ? UNIT_MIN : a < 99.5 * 3600 ? UNIT_H : UNIT_D;
}

const char *page_duration(double seconds, char *buf, size_t size)
{
    if (!isfinite(seconds))
        return nothing(buf, size);
    enum unit unit = unit_of(seconds);
    char digits[48];
    page_number(seconds / unit_s[unit], digits, sizeof digits);
    snprintf(buf, size, "%s" NBSP "%s", digits, unit_name[unit]);
    return buf;
}

/* Bytes of the character at s, before `end`; 0 when it is not well-formed UTF-8 that may stand in a
 * page. */
static size_t utf8_size(const unsigned char *s, const unsigned char *end)
{
    if (s[0] < 0x80)
        return s[0] >= 0x20 && s[0] != 0x7f ? 1 : 0;
    size_t n = s[0] >= 0xc2 && s[0] < 0xe0   ? 2
               : (s[0] & 0xf0) == 0xe0       ? 3
               : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                             : 0;
    if (n > (size_t)(end - s))
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if (n == 2 && s[0] == 0xc2 && s[1] < 0xa0)
        return 0; /* C1 controls */
    if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0)))
        return 0; /* overlong, surrogates */
    if (n == 3 && s[0] == 0xe2 &&
        ((s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) ||
         (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9)))
        return 0; /* characters that turn the direction of the text after them */
    if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90)))
        return 0;
    return n;
}

/* `length`: bytes of the name. */
static void write_name(struct base_buf *out, const char *name, size_t length, size_t chars)
{
    const unsigned char *s = (const unsigned char *)name, *end = s + length;
    for (size_t n = 0; s < end; n++) {
        size_t size = utf8_size(s, end);
        if (n + 1 >= chars && s + (size == 0 ? 1 : size) < end) {
            base_buf_puts(out, "\xe2\x80\xa6");
            return;
        }
        char one[5] = {0};
        memcpy(one, s, size);
        base_buf_html(out, size == 0 ? "\xef\xbf\xbd" : one);
        s += size == 0 ? 1 : size;
    }
}

void page_name(struct base_buf *out, const char *name, size_t chars)
{
    if (name != NULL)
        write_name(out, name, strlen(name), chars);
}

void page_name_of(struct base_buf *out, const char *name, size_t size, size_t chars)
{
    write_name(out, name, strnlen(name, size), chars);
}

size_t page_name_chars(const char *name, size_t chars)
{
    const unsigned char *s = (const unsigned char *)(name != NULL ? name : "");
    const unsigned char *end = s + strlen((const char *)s);
    size_t n = 0;
    while (s < end && n < chars) {
        size_t size = utf8_size(s, end);
        s += size == 0 ? 1 : size;
        n++;
    }
    return n;
}
