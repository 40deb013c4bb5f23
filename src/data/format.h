/* format.h - numbers to text and from text, exactly.
 *
 * To text: what is written reads back equal. Every function writes at `to` and returns where it stopped; the caller has seen to the room. Any
 * thread. */
#ifndef DATA_FORMAT_H
#define DATA_FORMAT_H

#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { DATA_FORMAT_MAX = 40 }; /* bytes that any of these may write */

extern const char data_format_pairs[200]; /* "00" "01" ... "99" */

/* `count` digits of `n`, which has no more, with leading zeros. count: 1 to 20. */
static inline char *data_format_digits(char *to, uint64_t n, int count)
{
    for (int at = count; at > 0; at -= 2) {
        if (at == 1) {
            to[0] = (char)('0' + n % 10);
        } else {
            memcpy(to + at - 2, data_format_pairs + 2 * (n % 100), 2);
            n /= 100;
        }
    }
    return to + count;
}

static inline int data_format_count(uint64_t n)
{
    int count = 1;

    for (; n >= 10000; n /= 10000)
        count += 4;
    return count + (n >= 10) + (n >= 100) + (n >= 1000);
}

/* n below 10000, without leading zeros. */
static inline char *data_format_small(char *to, uint32_t n)
{
    if (n >= 100) {
        to = data_format_small(to, n / 100);
        memcpy(to, data_format_pairs + (size_t)2 * (n % 100), 2);
        return to + 2;
    }
    if (n < 10) {
        *to = (char)('0' + n);
        return to + 1;
    }
    memcpy(to, data_format_pairs + (size_t)2 * n, 2);
    return to + 2;
}

static inline char *data_format_u64(char *to, uint64_t n)
{
    if (n < 10000)
        return data_format_small(to, (uint32_t)n);
    if (n >= 100000000)
        return data_format_digits(to, n, data_format_count(n));
    to = data_format_small(to, (uint32_t)n / 10000);
    return data_format_digits(to, (uint32_t)n % 10000, 4);
}

/* n / 10^places, without zeros at the end; places 0 to 9. */
static inline char *data_format_fixed(char *to, uint64_t n, int places)
{
    uint64_t one = 1;

    for (int i = 0; i < places; i++)
        one *= 10;
    uint64_t rest = n % one;
    to = data_format_u64(to, n / one);
    if (rest == 0)
        return to;
    *to++ = '.';
    to = data_format_digits(to, rest, places);
    while (to[-1] == '0')
        to--;
    return to;
}

/* The fewest digits that data_number_parse reads back equal. Finite values. */
char *data_format_f64(char *to, double value);

/* ---- from text ----
 *
 * For parsers whose time is spent on numbers. The text must end with a byte that belongs to no number (blocks end with
 * a newline). Up to 19
 * digits and an exponent of at most 22 are decided here with one exact operation (see
 * base/decimal.c); the rest goes to base_parse_f64, whose grammar this is: [+-] digits [. digits]
 * [e [+-] digits]. So every number is the double nearest to its text. */

static const double data_number_powers[23] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

static inline bool data_number_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* The end of what may be a number: digits, signs, point and letters. */
static inline const char *data_number_end(const char *s)
{
    while (data_number_digit(*s) || *s == '+' || *s == '-' || *s == '.' || (*s | 0x20) == 'e')
        s++;
    return s;
}

/* The number at `s` into *out; returns where it ends, or NULL when there is none or it is larger
 * than any double. What follows is the caller's to check. */
static inline const char *data_number_parse(const char *s, double *out)
{
    const char *start = s;
    bool negative = *s == '-';
    s += *s == '-' || *s == '+';
    const char *first = s;
    uint64_t digits = 0;
    while (data_number_digit(*s))
        digits = digits * 10 + (uint64_t)(*s++ - '0');
    ptrdiff_t count = s - first;
    int places = 0;
    if (*s == '.') {
        const char *point = s++;
        while (data_number_digit(*s))
            digits = digits * 10 + (uint64_t)(*s++ - '0');
        count += s - point - 1;
        places = s - point > 64 ? 64 : (int)(s - point - 1);
    }
    if (count == 0)
        return NULL;
    if (count > 19 || digits > (uint64_t)1 << 53 || places > 22 || (*s | 0x20) == 'e') {
        const char *end = data_number_end(s);
        return base_parse_f64(start, (size_t)(end - start), out) ? end : NULL;
    }
    double value = (double)digits;
    if (places > 0)
        value /= data_number_powers[places];
    *out = negative ? -value : value;
    return s;
}

#endif
