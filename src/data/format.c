/* format.c - see format.h.
 *
 * A float is told apart by at most 9 digits. We scale it to 6, 7, 8, 9 digits in double arithmetic
 * and take the first that reads back equal, asking the reader itself, so a rounding error in the
 * scaling costs a digit at worst and never the value. Outside [1e-5, 1e9) printf does it. Tests:
 * tests/unit/data/test_format.c. */
#include "data/format.h"

#include "base/assert.h"
#include "base/decimal.h"
#include "data/number.h"
#include <math.h>
#include <stdio.h>

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

static char *put_stripped(char *to, uint64_t digits, int exponent)
{
    for (; digits % 10 == 0; digits /= 10)
        exponent++;
    return put_decimal(to, digits, exponent);
}

static char *put_f32_by_libc(char *to, float value)
{
    char text[DATA_FORMAT_MAX];

    for (int digits = 1; digits <= 9; digits++) {
        double back = 0;
        int size = snprintf(text, sizeof text, "%.*e", digits - 1, (double)value);
        for (int i = 0; i < size; i++) /* the point may be another in the locale */
            if (text[i] == ',')
                text[i] = '.';
        bool good = base_parse_f64(text, (size_t)size, &back) && (float)back == value;
        if (good || digits == 9) {
            memcpy(to, text, (size_t)size);
            return to + size;
        }
    }
    return to;
}

/* value in [1e-5, 1e9), not whole. */
static char *put_f32(char *to, float value)
{
    double v = (double)value;
    int whole = v >= 1 ? data_format_count((uint64_t)v) : 0;

    double first = v;
    while (whole <= 0 && first < 0.1) {
        first *= 10;
        whole--;
    }
    for (int digits = 6; digits <= 9; digits++) {
        int places = digits - whole;
        double scaled = places >= 0 ? v * data_number_powers[places] + 0.5 : v;
        uint64_t n = (uint64_t)scaled;
        double back = (double)n / data_number_powers[places >= 0 ? places : 0];
        if (places >= 0 && n > 0 && (float)back == value)
            return put_stripped(to, n, -places);
    }
    return put_f32_by_libc(to, value);
}

char *data_format_f32(char *to, float value)
{
    shoal_dassert(isfinite(value));
    if (signbit(value)) {
        *to++ = '-';
        value = -value;
    }
    if (value < 1e9f && (float)(uint32_t)value == value)
        return data_format_u64(to, (uint32_t)value);
    if (value >= 1e-5f && value < 1e9f)
        return put_f32(to, value);
    return put_f32_by_libc(to, value);
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

/* ---- text on its way to a file ---- */

static void flush(struct data_out *out)
{
    if (out->status == SHOAL_OK && out->used > 0)
        out->status = env_append(out->file, out->buf, out->used, out->err);
    out->used = 0;
}

char *data_out_room(struct data_out *out, size_t size)
{
    shoal_dassert(size <= sizeof out->buf / 2);
    if (sizeof out->buf - out->used < size)
        flush(out);
    return out->buf + out->used;
}

void data_out_put(struct data_out *out, const void *bytes, size_t size)
{
    const char *from = bytes;

    while (size > 0) {
        size_t piece = size < sizeof out->buf / 2 ? size : sizeof out->buf / 2;
        memcpy(data_out_room(out, piece), from, piece);
        out->used += piece;
        from += piece;
        size -= piece;
    }
}

shoal_status data_out_finish(struct data_out *out)
{
    flush(out);
    if (out->status == SHOAL_OK)
        return env_commit(out->file, out->err);
    env_discard(out->file);
    return out->status;
}
