/* decimal.c - exact conversion between doubles and decimals of up to 19 digits.
 *
 * Problem: printing and reading a double so that it survives, fast. Method: 10^k = 5^k 2^k and 5^27
 * < 2^63, so for |k| <= 27 both digits * 10^k and mantissa * 10^k are one 128-bit product or
 * quotient away from the exact value; what is cut off decides the rounding. Digits up to 2^53 with
 * |k| <= 22 need one floating operation on two exact operands, which IEEE 754 rounds correctly
 * (Clinger, "How to read floating point numbers accurately", 1990). The shortest form is the first
 * of 15, 16 or 17 correctly rounded digits that reads back equal: two decimals of at most 15 digits
 * never meet in one double, and 17 digits always suffice. Values outside [1e-10, 1e15) go through
 * printf and strtod. Cost: tens of nanoseconds inside the range. Tests:
 * tests/unit/base/test_decimal.c. */
#include "base/decimal.h"

#include "base/assert.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 u128;

enum { POWER_MAX = 27, EXACT_POWER_MAX = 22 };

static const double POWERS_OF_TEN[EXACT_POWER_MAX + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

static const uint64_t POWERS_OF_FIVE[POWER_MAX + 1] = {
    1u,
    5u,
    25u,
    125u,
    625u,
    3125u,
    15625u,
    78125u,
    390625u,
    1953125u,
    9765625u,
    48828125u,
    244140625u,
    1220703125u,
    6103515625u,
    30517578125u,
    152587890625u,
    762939453125u,
    3814697265625u,
    19073486328125u,
    95367431640625u,
    476837158203125u,
    2384185791015625u,
    11920928955078125u,
    59604644775390625u,
    298023223876953125u,
    1490116119384765625u,
    7450580596923828125u,
};

static int bit_length(u128 x)
{
    uint64_t high = (uint64_t)(x >> 64);
    return high != 0 ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll((uint64_t)x);
}

/* x / 2^shift to the nearest integer, ties to even; `sticky` says that x is a little more than it
 * shows. */
static u128 shift_round(u128 x, int shift, bool sticky)
{
    if (shift <= 0)
        return x << -shift;
    u128 kept = x >> shift;
    u128 rest = x & (((u128)1 << shift) - 1);
    u128 half = (u128)1 << (shift - 1);
    if (rest > half || (rest == half && (sticky || (kept & 1) != 0)))
        kept++;
    return kept;
}

/* x * 2^exponent2 as a double; x > 0, and the result is in the normal range. */
static double round_to_f64(u128 x, bool sticky, int exponent2)
{
    int shift = bit_length(x) - DBL_MANT_DIG;
    if (shift <= 0)
        shift = 0; /* exact already; never with sticky set */
    return ldexp((double)(uint64_t)shift_round(x, shift, sticky), exponent2 + shift);
}

bool base_decimal_to_f64(uint64_t digits, int exponent, double *out)
{
    if (digits == 0) {
        *out = 0.0;
        return true;
    }
    if (exponent < -POWER_MAX || exponent > POWER_MAX)
        return false;
    int power = exponent < 0 ? -exponent : exponent;
    if (digits <= (uint64_t)1 << DBL_MANT_DIG && power <= EXACT_POWER_MAX) {
        double d = (double)digits;
        *out = exponent < 0 ? d / POWERS_OF_TEN[power] : d * POWERS_OF_TEN[power];
        return true;
    }
    uint64_t five = POWERS_OF_FIVE[power];
    if (exponent >= 0) {
        *out = round_to_f64((u128)digits * five, false, exponent);
        return true;
    }
    int up = __builtin_clzll(digits);
    u128 dividend = (u128)(digits << up) << 64; /* the quotient has at least 64 bits */
    *out = round_to_f64(dividend / five, dividend % five != 0, exponent - 64 - up);
    return true;
}

static struct base_decimal without_zeros(uint64_t digits, int exponent)
{
    while (digits != 0 && digits % 10 == 0) {
        digits /= 10;
        exponent++;
    }
    return (struct base_decimal){digits, exponent};
}

/* The range where 128 bits decide. mantissa * 2^exponent2 == value, 53 bits. */
static struct base_decimal shortest_exact(double value, uint64_t mantissa, int exponent2)
{
    const uint64_t ten_to_17 = 100000000000000000u;
    /* floor(log10(value)) or one less: 78913 / 2^18 is just below log10(2) */
    int log10_floor = (int)floor((exponent2 + DBL_MANT_DIG - 1) * (78913.0 / 262144.0));
    int power = 16 - log10_floor; /* places after the point that give 17 digits */
    shoal_dassert(power >= 2 && power <= POWER_MAX);
    u128 scaled = shift_round((u128)mantissa * POWERS_OF_FIVE[power], -(exponent2 + power), false);
    if (scaled >= ten_to_17) {
        power--;
        scaled = shift_round((u128)mantissa * POWERS_OF_FIVE[power], -(exponent2 + power), false);
    }
    for (int fewer = 2; fewer > 0; fewer--) {
        int k = power - fewer;
        u128 digits = shift_round((u128)mantissa * POWERS_OF_FIVE[k], -(exponent2 + k), false);
        double back = 0;
        if (base_decimal_to_f64((uint64_t)digits, -k, &back) && back == value)
            return without_zeros((uint64_t)digits, -k);
    }
    return without_zeros((uint64_t)scaled, -power);
}

static struct base_decimal shortest_by_libc(double value)
{
    char text[64];
    int count = value < DBL_MIN ? 1 : 15; /* denormals have fewer digits to tell */
    for (; count <= 17; count++) {
        (void)snprintf(text, sizeof text, "%.*e", count - 1, value);
        if (strtod(text, NULL) == value)
            break;
    }
    /* d<point>ddde[+-]dd; the point may be any bytes, as the locale says */
    uint64_t digits = 0;
    const char *s = text;
    for (; *s != 'e'; s++) {
        shoal_assert(*s != '\0');
        if (*s >= '0' && *s <= '9')
            digits = digits * 10 + (uint64_t)(*s - '0');
    }
    int exponent = (int)strtol(s + 1, NULL, 10);
    return without_zeros(digits, exponent - (count > 17 ? 17 : count) + 1);
}

struct base_decimal base_decimal_shortest(double value)
{
    shoal_dassert(value > 0 && value <= DBL_MAX);
    if (value < 1e-10 || value >= 1e15)
        return shortest_by_libc(value);
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    uint64_t mantissa = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    return shortest_exact(value, mantissa, (int)(bits >> 52) - 1075);
}
