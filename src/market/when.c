/* when.c - see when.h. The calendar of reading is base_parse_utc's. */
#include "market/when.h"

#include "base/decimal.h"
#include "base/text.h"
#include "base/date.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { CORE = 19 }; /* 2024-01-13T04:46:14 */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool keep(double at_s, double *out_s)
{
    if (!(at_s >= MARKET_WHEN_MIN && at_s < MARKET_WHEN_MAX))
        return false;
    *out_s = at_s;
    return true;
}

bool market_when_parse(const char *text, size_t length, double *out_s)
{
    double at_s;

    return base_parse_utc(text, length, &at_s) && keep(at_s, out_s);
}

bool market_when_parse_us(const char *text, size_t length, double *out_s)
{
    char iso[CORE + 1];
    uint64_t part[3] = {0};
    size_t at = 0;

    for (size_t i = 0; i < 3; i++) {
        size_t digits = at;
        while (digits < length && is_digit(text[digits]))
            digits++;
        if (digits - at > 4 || !base_parse_u64(text + at, digits - at, &part[i]))
            return false;
        at = digits;
        if (i < 2 && (at == length || text[at++] != '/'))
            return false;
    }
    if (at != length || part[0] > 12 || part[1] > 31)
        return false;
    snprintf(iso, sizeof iso, "%04u-%02u-%02u", (unsigned)part[2], (unsigned)part[0],
             (unsigned)part[1]);
    return market_when_parse(iso, strlen(iso), out_s);
}

static void put_date(int64_t days, char *buf, size_t size, unsigned second)
{
    struct base_day on = base_day_of(days);

    snprintf(buf, size, "%04u-%02u-%02uT%02u:%02u:%02uZ", (unsigned)on.year % 10000, on.month % 100,
             on.day % 100, second / 3600 % 100, second / 60 % 60, second % 60);
}

const char *market_when_text(double at_s, char buf[MARKET_WHEN_TEXT])
{
    if (at_s >= 0 && at_s < 2.5e11 && at_s == floor(at_s)) {
        int64_t whole = (int64_t)at_s;
        put_date(whole / 86400, buf, MARKET_WHEN_TEXT, (unsigned)(whole % 86400));
        return buf;
    }
    if (isfinite(at_s) && at_s > 0) {
        struct base_decimal d = base_decimal_shortest(at_s);
        int size = snprintf(buf, MARKET_WHEN_TEXT, "%llu", (unsigned long long)d.digits);
        if (d.exponent < 0 && -d.exponent < size) { /* put the point where it belongs */
            char *point = buf + size + d.exponent;
            memmove(point + 1, point, (size_t)-d.exponent + 1);
            *point = '.';
        } else {
            snprintf(buf + size, MARKET_WHEN_TEXT - (size_t)size, "e%d", d.exponent);
        }
        return buf;
    }
    snprintf(buf, MARKET_WHEN_TEXT, "%g", at_s);
    return buf;
}
