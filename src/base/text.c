/* text.c - strict parsing and formatting, dates too. Numbers: [+-] digits [. digits] [e [+-] digits] with a
 * digit on at least one side of the point. Tests: tests/unit/base/test_text.c. */
#include "base/text.h"

#include "base/assert.h"
#include "base/date.h"
#include "base/decimal.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIGITS_FAST_MAX = 19,  /* always fit in 64 bits */
    DIGITS_COPY_MAX = 800, /* more never change a double, except by being there at all */
    EDIT_LENGTH_MAX = 64   /* longer words are not typing mistakes */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* --- numbers --- */

/* A number cut into its parts, before any arithmetic. */
struct number_scan {
    const char *digits, *digits_end; /* as written, with the point inside */
    uint64_t value;                  /* of the first DIGITS_FAST_MAX significant digits */
    size_t significant;              /* digits after leading zeros */
    int64_t exponent;                /* of ten, for all significant digits read as an integer */
    bool negative;
};

static bool scan_exponent(const char *s, const char *end, int64_t *exponent)
{
    bool negative = false;
    if (s < end && (*s == '+' || *s == '-'))
        negative = *s++ == '-';
    if (s == end)
        return false;
    int64_t e = 0;
    for (; s < end; s++) {
        if (!is_digit(*s))
            return false;
        if (e < 1000000000)
            e = e * 10 + (*s - '0');
    }
    *exponent += negative ? -e : e;
    return true;
}

static bool scan_number(const char *s, const char *end, struct number_scan *n)
{
    *n = (struct number_scan){0};
    if (s < end && (*s == '+' || *s == '-'))
        n->negative = *s++ == '-';
    n->digits = s;
    bool any = false, point = false;
    for (; s < end; s++) {
        if (is_digit(*s)) {
            any = true;
            n->exponent -= point;
            if (n->significant == 0 && *s == '0')
                continue;
            if (n->significant++ < DIGITS_FAST_MAX)
                n->value = n->value * 10 + (uint64_t)(*s - '0');
        } else if (*s == '.' && !point) {
            point = true;
        } else {
            break;
        }
    }
    n->digits_end = s;
    if (!any)
        return false;
    if (s == end)
        return true;
    return (*s == 'e' || *s == 'E') && scan_exponent(s + 1, end, &n->exponent);
}

/* strtod on a bounded copy without a decimal point, so no locale can disagree about it. */
static double number_by_libc(const struct number_scan *n)
{
    char text[DIGITS_COPY_MAX + 32];
    size_t size = 0, seen = 0;
    bool more = false;
    for (const char *s = n->digits; s < n->digits_end; s++) {
        if (*s == '.' || (seen == 0 && *s == '0'))
            continue;
        seen++;
        if (size < DIGITS_COPY_MAX)
            text[size++] = *s;
        else if (*s != '0')
            more = true;
    }
    if (size == 0)
        return 0.0;
    int64_t exponent = n->exponent + (int64_t)(seen - size);
    if (more) {
        text[size++] = '1';
        exponent--;
    }
    if (exponent > 99999)
        exponent = 99999;
    if (exponent < -99999)
        exponent = -99999;
    (void)snprintf(text + size, sizeof text - size, "e%d", (int)exponent);
    return strtod(text, NULL);
}

bool base_parse_f64(const char *s, size_t length, double *out)
{
    struct number_scan n;
    if (!scan_number(s, s + length, &n))
        return false;
    double value = 0;
    bool fast = n.significant <= DIGITS_FAST_MAX && n.exponent >= INT16_MIN &&
                n.exponent <= INT16_MAX && base_decimal_to_f64(n.value, (int)n.exponent, &value);
    if (!fast)
        value = number_by_libc(&n);
    if (isinf(value))
        return false;
    *out = n.negative ? -value : value;
    return true;
}

bool base_parse_u64(const char *s, size_t length, uint64_t *out)
{
    if (length == 0)
        return false;
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        if (!is_digit(s[i]))
            return false;
        uint64_t digit = (uint64_t)(s[i] - '0');
        if (value > UINT64_MAX / 10 || value * 10 > UINT64_MAX - digit)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

bool base_parse_bool(const char *s, bool *out)
{
    static const char *const YES[] = {"true", "yes", "on", "1"};
    static const char *const NO[] = {"false", "no", "off", "0"};
    for (size_t i = 0; i < BASE_COUNT(YES); i++) {
        if (strcmp(s, YES[i]) == 0 || strcmp(s, NO[i]) == 0) {
            *out = strcmp(s, YES[i]) == 0;
            return true;
        }
    }
    return false;
}

/* Length of the leading "12" or "1.5"; no sign, no exponent. */
static size_t plain_number_length(const char *s)
{
    size_t length = 0;
    while (is_digit(s[length]) || s[length] == '.')
        length++;
    return length;
}

/* --- durations and sizes --- */

bool base_parse_duration(const char *s, double *out_s)
{
    static const struct {
        const char *name;
        double seconds;
    } UNITS[] = {{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}, {"ms", 1e-3}};

    double total = 0;
    if (base_parse_f64(s, strlen(s), &total)) {
        if (total < 0 || signbit(total) || *s == '+')
            return false;
        *out_s = total;
        return true;
    }
    total = 0;
    size_t next_unit = 0; /* units come largest first, each at most once */
    while (*s != '\0') {
        double value = 0;
        size_t length = plain_number_length(s);
        if (!base_parse_f64(s, length, &value))
            return false;
        s += length;
        size_t name_length = strspn(s, "dhms");
        size_t unit = next_unit;
        while (unit < BASE_COUNT(UNITS) && (strlen(UNITS[unit].name) != name_length ||
                                            strncmp(s, UNITS[unit].name, name_length) != 0))
            unit++;
        if (unit == BASE_COUNT(UNITS))
            return false;
        s += name_length;
        total += value * UNITS[unit].seconds;
        next_unit = unit + 1;
    }
    if (next_unit == 0 || isinf(total))
        return false;
    *out_s = total;
    return true;
}

/* Bits to shift for "", "B", "K", "KB", "KiB", ..., or -1. */
static int size_suffix_shift(const char *s)
{
    static const char LETTERS[] = "kmgtpe";
    if (*s == '\0' || strcmp(s, "B") == 0)
        return 0;
    const char *letter = strchr(LETTERS, to_lower(*s));
    if (letter == NULL)
        return -1;
    s++;
    if (*s != '\0' && strcmp(s, "B") != 0 && strcmp(s, "iB") != 0)
        return -1;
    return 10 * (int)(letter - LETTERS + 1);
}

bool base_parse_size(const char *s, uint64_t *out_bytes)
{
    size_t length = plain_number_length(s);
    int shift = size_suffix_shift(s + length);
    if (length == 0 || shift < 0)
        return false;
    uint64_t whole = 0;
    if (base_parse_u64(s, length, &whole)) {
        if (whole > UINT64_MAX >> shift)
            return false;
        *out_bytes = whole << shift;
        return true;
    }
    double value = 0;
    if (shift == 0 || !base_parse_f64(s, length, &value))
        return false;
    value = ldexp(value, shift);
    if (value >= 0x1p64)
        return false;
    *out_bytes = (uint64_t)value;
    return true;
}

/* --- dates --- */

static bool fixed_digits(const char *s, size_t count, int *out)
{
    int value = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_digit(s[i]))
            return false;
        value = value * 10 + (s[i] - '0');
    }
    *out = value;
    return true;
}

/* Days from 1970-01-01 to a date of the proleptic Gregorian calendar, counting years from March so
 * that the leap day comes last: 146097 days in 400 years, 153 days in each five months. */
static int64_t days_from_civil(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t month_from_march = (month + 9) % 12;
    int64_t day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static int days_in_month(int year, int month)
{
    static const int DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return DAYS[month - 1] + (month == 2 && leap);
}

/* "YYYY-MM-DD HH:MM:SS" */
static bool parse_second(const char *s, double *out_s)
{
    if (s[4] != '-' || s[7] != '-' || (s[10] != ' ' && s[10] != 'T') || s[13] != ':' ||
        s[16] != ':')
        return false;
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
    if (!fixed_digits(s, 4, &year) || !fixed_digits(s + 5, 2, &month) ||
        !fixed_digits(s + 8, 2, &day) || !fixed_digits(s + 11, 2, &hour) ||
        !fixed_digits(s + 14, 2, &minute) || !fixed_digits(s + 17, 2, &second))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) || hour > 23 ||
        minute > 59 || second > 59)
        return false;
    int64_t days = days_from_civil(year, month, day);
    *out_s = (double)(days * 86400 + hour * 3600 + minute * 60 + second);
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

bool base_parse_utc(const char *s, size_t length, double *out_s)
{
    char core[] = "YYYY-MM-DDT00:00:00";
    size_t used = length < sizeof core - 1 ? length : sizeof core - 1;
    double at_s = 0, more_s = 0;

    if (length == sizeof core - 1 && s[16] == ':') /* the usual case */
        return parse_second(s, out_s);
    if (length > 16 && s[16] != ':')
        used = 16; /* no seconds: what follows is an offset */
    if (used != 10 && used != 16 && used != sizeof core - 1)
        return false;
    memcpy(core, s, used);
    if (!parse_second(core, &at_s) || !parse_tail(s + used, length - used, &more_s))
        return false;
    *out_s = at_s + more_s;
    return true;
}

/* --- formatting --- */

/* Under a minute: up to one decimal of seconds, or of milliseconds where those say more. */
static void format_short(double seconds, const char *sign, char *buf, size_t size)
{
    const char *unit = "s";
    double value = seconds;
    if (seconds < 0.0995) {
        value = seconds * 1e3;
        unit = "ms";
    }
    double tenths = floor(value * 10 + 0.5);
    if (tenths == 0)
        (void)snprintf(buf, size, "0s");
    else if (fmod(tenths, 10) == 0)
        (void)snprintf(buf, size, "%s%.0f%s", sign, tenths / 10, unit);
    else
        (void)snprintf(buf, size, "%s%d.%d%s", sign, (int)tenths / 10, (int)tenths % 10, unit);
}

const char *base_format_duration(double seconds, char *buf, size_t size)
{
    const char *sign = seconds < 0 ? "-" : "";
    double s = fabs(seconds);
    if (isnan(s)) {
        (void)snprintf(buf, size, "unknown");
        return buf;
    }
    if (s >= 1e15) { /* thirty million years; also infinity */
        (void)snprintf(buf, size, "%sforever", sign);
        return buf;
    }
    if (s < 59.95) {
        format_short(s, sign, buf, size);
        return buf;
    }
    int64_t whole = llround(s), minutes = llround(s / 60), hours = llround(s / 3600);
    if (whole < 3600)
        (void)snprintf(buf, size, "%s%dm%02ds", sign, (int)(whole / 60), (int)(whole % 60));
    else if (minutes < 1440)
        (void)snprintf(buf, size, "%s%dh%02dm", sign, (int)(minutes / 60), (int)(minutes % 60));
    else
        (void)snprintf(buf, size, "%s%lldd%dh", sign, (long long)(hours / 24), (int)(hours % 24));
    return buf;
}

const char *base_format_count(uint64_t n, char *buf, size_t size)
{
    char text[32];
    size_t at = sizeof text;
    text[--at] = '\0';
    for (int digits = 0; digits == 0 || n > 0; digits++, n /= 10) {
        if (digits > 0 && digits % 3 == 0)
            text[--at] = ',';
        text[--at] = (char)('0' + n % 10);
    }
    (void)snprintf(buf, size, "%s", text + at);
    return buf;
}

const char *base_format_bytes(double bytes, char *buf, size_t size)
{
    static const char *const UNITS[] = {"B", "kB", "MB", "GB", "TB"};
    size_t i = 0;

    while (bytes >= 999.5 && i + 1 < sizeof UNITS / sizeof UNITS[0]) {
        bytes /= 1000;
        i++;
    }
    (void)snprintf(buf, size, i == 0 ? "%.0f %s" : "%.3g %s", bytes, UNITS[i]);
    return buf;
}

/* --- control characters --- */

/* Not 0 where one of eight bytes is: below 0x20 without its highest bit, or DEL. */
static uint64_t control_among(const char *s)
{
    const uint64_t one = 0x0101010101010101u, high = one * 0x80;
    uint64_t x, del;

    memcpy(&x, s, sizeof x);
    del = x ^ one * 0x7f;
    return ((x - one * 0x20) & ~x & high) | ((del - one) & ~del & high);
}

bool base_has_control(const char *s, size_t length)
{
    uint64_t found = 0;

    if (length < sizeof found) {
        for (size_t i = 0; i < length; i++)
            found |= (unsigned char)s[i] < 0x20 || s[i] == 0x7f;
        return found != 0;
    }
    for (size_t i = 0; i + sizeof found <= length; i += sizeof found)
        found |= control_among(s + i);
    return (found | control_among(s + length - sizeof found)) != 0;
}

/* --- nearest word --- */

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Three rows of the table suffice: a transposition looks two rows back. */
static size_t edit_distance(const char *a, const char *b, bool fold)
{
    size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length > EDIT_LENGTH_MAX || b_length > EDIT_LENGTH_MAX) {
        if (strcmp(a, b) == 0)
            return 0;
        return a_length > b_length ? a_length : b_length;
    }
    size_t rows[3][EDIT_LENGTH_MAX + 1];
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
        row[0] = i;
        char x = fold ? to_lower(a[i - 1]) : a[i - 1];
        char x_before = i < 2 ? '\0' : fold ? to_lower(a[i - 2]) : a[i - 2];
        for (size_t j = 1; j <= b_length; j++) {
            char y = fold ? to_lower(b[j - 1]) : b[j - 1];
            char y_before = j < 2 ? '\0' : fold ? to_lower(b[j - 2]) : b[j - 2];
            row[j] = min3(up[j] + 1, row[j - 1] + 1, up[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == y_before && x_before == y && up2[j - 2] + 1 < row[j])
                row[j] = up2[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

size_t base_edit_distance(const char *a, const char *b)
{
    return edit_distance(a, b, false);
}

static bool is_prefix(const char *word, const char *name)
{
    for (; *word != '\0'; word++, name++) {
        if (to_lower(*word) != to_lower(*name))
            return false;
    }
    return true;
}

const char *base_nearest(const char *word, const char *const *names, size_t count)
{
    size_t length = strlen(word);
    size_t allowed = length < 3 ? 1 : length / 3; /* mistakes a typist makes in a word this long */
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(word, names[i], true);
        if (distance > allowed && length >= 3 && is_prefix(word, names[i]))
            distance = allowed; /* the start of a name is a good guess, a slip a better one */
        if (distance <= allowed && distance < length && distance < best_distance) {
            best = names[i];
            best_distance = distance;
        }
    }
    return best;
}

/* UTF-16 begins with a mark, or has every other byte of its ASCII zero. */
static bool is_utf16(const char *b, size_t size)
{
    if (size >= 2 && (memcmp(b, "\xff\xfe", 2) == 0 || memcmp(b, "\xfe\xff", 2) == 0))
        return true;
    return size >= 4 && (b[0] == 0) != (b[1] == 0) && (b[0] == 0) == (b[2] == 0) &&
           (b[1] == 0) == (b[3] == 0);
}

const char *base_packed(const char *bytes, size_t size, const char **out_unpack)
{
    static const struct {
        const char *magic;
        size_t size;
        const char *what, *unpack;
    } rows[] = {
        {"\x1f\x8b", 2, "a file compressed with gzip", "gzip -dc"},
        {"BZh", 3, "a file compressed with bzip2", "bzip2 -dc"},
        {"\xfd"
         "7zXZ",
         5, "a file compressed with xz", "xz -dc"},
        {"\x28\xb5\x2f\xfd", 4, "a file compressed with zstd", "zstd -dc"},
    };

    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        if (size >= rows[i].size && memcmp(bytes, rows[i].magic, rows[i].size) == 0) {
            *out_unpack = rows[i].unpack;
            return rows[i].what;
        }
    }
    if (!is_utf16(bytes, size))
        return NULL;
    *out_unpack = "iconv -f UTF-16 -t UTF-8";
    return "UTF-16 text";
}

/* ---- dates ---- */

/* Days are counted from 1 March of a year divisible by 400, where leap days come last. */
struct base_day base_day_of(int64_t days)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t in_era = days - era * 146097;
    int64_t years = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (365 * years + years / 4 - years / 100);
    int64_t from_march = (5 * in_year + 2) / 153;
    unsigned month = (unsigned)(from_march < 10 ? from_march + 3 : from_march - 9);

    return (struct base_day){.year = years + era * 400 + (month <= 2),
                             .month = month,
                             .day = (unsigned)(in_year - (153 * from_march + 2) / 5 + 1)};
}

static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

const char *base_date_format(double at_s, enum base_date_form form, char *buf, size_t size)
{
    double minutes = floor((form == BASE_DATE_MINUTE ? at_s + 30 : at_s) / 60);
    double days = floor(minutes / 1440);

    if (!(fabs(at_s) < 1e14)) {
        (void)snprintf(buf, size, "-");
        return buf;
    }
    struct base_day on = base_day_of((int64_t)days);
    unsigned minute = (unsigned)(minutes - days * 1440);
    if (form == BASE_DATE_DAY)
        (void)snprintf(buf, size, "%04lld-%02u-%02u", (long long)on.year, on.month, on.day);
    else if (form == BASE_DATE_MINUTE)
        (void)snprintf(buf, size, "%04lld-%02u-%02u %02u:%02u", (long long)on.year, on.month,
                       on.day, minute / 60, minute % 60);
    else if (form == BASE_DATE_SHORT)
        (void)snprintf(buf, size, "%u %s", on.day, months[on.month - 1]);
    else if (form == BASE_DATE_MONTH)
        (void)snprintf(buf, size, "%s %lld", months[on.month - 1], (long long)on.year);
    else
        (void)snprintf(buf, size, "%02u:%02u", minute / 60, minute % 60);
    return buf;
}

const char *base_format_utc(double at_s, char buf[BASE_UTC_TEXT])
{
    double whole = floor(at_s + 0.5), days = floor(whole / 86400);

    if (!(fabs(at_s) < 1e14)) {
        (void)snprintf(buf, BASE_UTC_TEXT, "-");
        return buf;
    }
    struct base_day on = base_day_of((int64_t)days);
    unsigned second = (unsigned)(whole - days * 86400);
    (void)snprintf(buf, BASE_UTC_TEXT, "%04lld-%02u-%02uT%02u:%02u:%02uZ", (long long)on.year,
                   on.month, on.day, second / 3600, second / 60 % 60, second % 60);
    return buf;
}
