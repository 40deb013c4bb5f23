/* format.c - see format.h. Tests: tests/unit/data/test_format.c. */
#include "data/format.h"

#include "base/assert.h"
#include "base/decimal.h"
#include <math.h>

const char data_format_pairs[200] = {
    '0', '0', '0', '1', '0', '2', '0', '3', '0', '4', '0', '5', '0', '6', '0', '7', '0', '8', '0',
    '9', '1', '0', '1', '1', '1', '2', '1', '3', '1', '4', '1', '5', '1', '6', '1', '7', '1', '8',
    '1', '9', '2', '0', '2', '1', '2', '2', '2', '3', '2', '4', '2', '5', '2', '6', '2', '7', '2',
    '8', '2', '9', '3', '0', '3', '1', '3', '2', '3', '3', '3', '4', '3', '5', '3', '6', '3', '7',
    '3', '8', '3', '9', '4', '0', '4', '1', '4', '2', '4', '3', '4', '4', '4', '5', '4', '6', '4',
    '7', '4', '8', '4', '9', '5', '0', '5', '1', '5', '2', '5', '3', '5', '4', '5', '5', '5', '6',
    '5', '7', '5', '8', '5', '9', '6', '0', '6', '1', '6', '2', '6', '3', '6', '4', '6', '5', '6',
    '6', '6', '7', '6', '8', '6', '9', '7', '0', '7', '1', '7', '2', '7', '3', '7', '4', '7', '5',
    '7', '6', '7', '7', '7', '8', '7', '9', '8', '0', '8', '1', '8', '2', '8', '3', '8', '4', '8',
    '5', '8', '6', '8', '7', '8', '8', '8', '9', '9', '0', '9', '1', '9', '2', '9', '3', '9', '4',
    '9', '5', '9', '6', '9', '7', '9', '8', '9', '9'};

/* digits * 10^exponent; plain where that is short. digits > 0 without zeros at the end. */
static char *put_decimal(char *to, uint64_t digits, int exponent)
{
    int count = data_format_count(digits);
    char text[20];

    if (exponent >= 0 && count + exponent <= 17) {
        to = data_format_digits(to, digits, count);
        memset(to, '0', (size_t)exponent);
        return to + exponent;
    }
    if (exponent < 0 && exponent >= -10) {
        (void)data_format_digits(text, digits, count);
        int whole = count + exponent; /* digits before the point */
        if (whole <= 0) {
            *to++ = '0';
        } else {
            memcpy(to, text, (size_t)whole);
            to += whole;
        }
        *to++ = '.';
        for (; whole < 0; whole++)
            *to++ = '0';
        memcpy(to, text + (whole > 0 ? whole : 0), (size_t)(count - (whole > 0 ? whole : 0)));
        return to + count - (whole > 0 ? whole : 0);
    }
    to = data_format_digits(to, digits, count);
    *to++ = 'e';
    if (exponent < 0)
        *to++ = '-';
    return data_format_u64(to, (uint64_t)(exponent < 0 ? -exponent : exponent));
}

char *data_format_f64(char *to, double value)
{
    shoal_dassert(isfinite(value));
    if (signbit(value)) {
        *to++ = '-';
        value = -value;
    }
    if (value < 1e15 && (double)(uint64_t)value == value)
        return data_format_u64(to, (uint64_t)value);
    struct base_decimal d = base_decimal_shortest(value);
    return put_decimal(to, d.digits, d.exponent);
}
