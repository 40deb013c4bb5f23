/* number.h - numbers inside a line of text, for parsers whose time is spent on them.
 *
 * The text must end with a byte that belongs to no number (blocks end with a newline). Up to 19
 * digits and an exponent of at most 22 are decided here with one exact operation (see
 * base/decimal.c); the rest goes to base_parse_f64, whose grammar this is: [+-] digits [. digits]
 * [e [+-] digits]. So every number is the double nearest to its text. Any thread. */
#ifndef DATA_NUMBER_H
#define DATA_NUMBER_H

#include "base/text.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
