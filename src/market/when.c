/* when.c - see when.h. The calendar of reading is base_parse_utc's; here is what may stand around
 * it. */
#include "market/when.h"

#include "base/decimal.h"
#include "base/text.h"
#include "market/date.h"
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

/* "+01:00", "-0530" or "+01", as seconds east of Greenwich. */
static bool parse_offset(const char *s, size_t length, double *out_s)
{
    uint64_t hours = 0, minutes = 0;

    if (length < 3 || (s[0] != '+' && s[0] != '-') || !base_parse_u64(s + 1, 2, &hours))
        return false;
    size_t at = length > 3 && s[3] == ':' ? 4 : 3;
    if (length > 3 && (length != at + 2 || !base_parse_u64(s + at, 2, &minutes)))
        return false;
    if (hours > 14 || minutes > 59)
        return false;
    double east = (double)(hours * 3600 + minutes * 60);
    *out_s = s[0] == '-' ? -east : east;
    return true;
}

/* What follows the seconds. */
static bool parse_tail(const char *s, size_t length, double *out_s)
{
    size_t digits = 1;
    double part = 0, east = 0;

    if (length > 0 && s[0] == '.') {
        while (digits < length && is_digit(s[digits]))
            digits++;
        if (digits < 2 || digits > 10 || !base_parse_f64(s, digits, &part))
            return false;
        s += digits;
        length -= digits;
    }
    if (length > 0 && !(length == 1 && s[0] == 'Z') && !parse_offset(s, length, &east))
        return false;
    *out_s = part - east;
    return true;
}

bool market_when_parse(const char *text, size_t length, double *out_s)
{
    char core[CORE + 1] = "YYYY-MM-DDT00:00:00";
    double at_s = 0, more_s = 0;
    size_t used = length < CORE ? length : CORE;

    if (length == CORE && text[16] == ':') /* the usual case */
        return base_parse_utc(text, length, &at_s) && keep(at_s, out_s);
    if (length > 16 && text[16] != ':')
        used = 16; /* no seconds: what follows is an offset */
    if (used != 10 && used != 16 && used != CORE)
        return false;
    memcpy(core, text, used);
    if (!base_parse_utc(core, CORE, &at_s) || !parse_tail(text + used, length - used, &more_s))
        return false;
    return keep(at_s + more_s, out_s);
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
    struct market_day on = market_day_of(days);

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
