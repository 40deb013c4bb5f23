/* format.h - numbers as text that reads back equal, written in place.
 *
 * Every function writes at `to` and returns where it stopped; the caller has seen to the room. Any
 * thread. */
#ifndef DATA_FORMAT_H
#define DATA_FORMAT_H

#include "env/env.h"
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

#endif
