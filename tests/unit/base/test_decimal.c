/* Tests of src/base/decimal.c against the C library, which is exact and slow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/decimal.h"
#include "base/rand.h"
#include "property.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double by_libc(uint64_t digits, int exponent)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits, exponent);
    return strtod(text, NULL);
}

static void check_to_f64(uint64_t digits, int exponent)
{
    double value = -1;
    assert_true(base_decimal_to_f64(digits, exponent, &value));
    if (value != by_libc(digits, exponent))
        fail_msg("%llue%d gives %a, not %a", (unsigned long long)digits, exponent, value,
                 by_libc(digits, exponent));
}

static void every_decimal_in_range_is_rounded_as_by_the_c_library(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "test.decimal");
    for (int i = 0; i < property_count(200000); i++) {
        uint64_t digits = base_rand_u64(&r) >> base_rand_below(&r, 64);
        check_to_f64(digits, (int)base_rand_below(&r, 55) - 27);
    }
    /* the longest divisors leave the shortest quotients: here a remainder alone breaks ties */
    for (int i = 0; i < property_count(100000); i++)
        check_to_f64(base_rand_u64(&r), -27);
    check_to_f64(0, 27);
    check_to_f64(UINT64_MAX, 27);
    check_to_f64(UINT64_MAX, -27);
    check_to_f64(1, -27);
}

/* Exactly between two doubles, and one digit to either side. */
static void ties_go_to_even(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 2, "test.decimal");
    for (int i = 0; i < property_count(20000); i++) {
        uint64_t mantissa = ((uint64_t)1 << 52) | base_rand_u64(&r) >> 12;
        uint64_t tie = 2 * mantissa + 1; /* 54 bits */
        int up = (int)base_rand_below(&r, 11);
        for (int d = -1; d <= 1; d++)
            check_to_f64((tie << up) + (uint64_t)d, 0);
        /* a tie with places after the point: odd / 2^k = odd * 5^k / 10^k, while that fits 64 bits
         */
        check_to_f64(tie * 5, -1);
        check_to_f64(tie * 25, -2);
        check_to_f64(tie * 125, -3);
    }
}

static void outside_the_range_nothing_is_decided(void **state)
{
    (void)state;
    double value = 42;
    assert_false(base_decimal_to_f64(1, 28, &value));
    assert_false(base_decimal_to_f64(1, -28, &value));
    assert_true(value == 42);
}

/* The fewest digits at which printf reads back equal. */
static int digits_by_libc(double value)
{
    for (int count = 1; count < 17; count++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%.*e", count - 1, value);
        if (strtod(text, NULL) == value)
            return count;
    }
    return 17;
}

static void check_shortest(double value)
{
    struct base_decimal d = base_decimal_shortest(value);
    if (by_libc(d.digits, d.exponent) != value)
        fail_msg("%a became %llue%d", value, (unsigned long long)d.digits, d.exponent);
    char text[32];
    int count = snprintf(text, sizeof text, "%llu", (unsigned long long)d.digits);
    if (count != digits_by_libc(value))
        fail_msg("%a became %llue%d, %d digits suffice", value, (unsigned long long)d.digits,
                 d.exponent, digits_by_libc(value));
    assert_true(d.digits % 10 != 0);
}

static void any_double_reads_back_from_its_fewest_digits(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 3, "test.decimal");
    for (int i = 0; i < property_count(30000); i++) {
        uint64_t bits = base_rand_u64(&r) >> 1;
        double value = 0;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value) && value > 0)
            check_shortest(value);
    }
}

static void everyday_doubles_read_back_from_their_fewest_digits(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 4, "test.decimal");
    for (int i = 0; i < property_count(60000); i++) {
        double value = exp(base_rand_range(&r, -28, 36));
        check_shortest(value);
        check_shortest((double)(1 + base_rand_below(&r, 1000000)) / 1000.0);
    }
}

static void borders_of_the_fast_range_and_powers_are_right(void **state)
{
    (void)state;
    static const double borders[] = {1e-11, 1e-10, 1e15, 0x1p53, 1.0, 10.0, 0.1, DBL_MIN, DBL_MAX};
    for (size_t i = 0; i < sizeof borders / sizeof borders[0]; i++) {
        double value = borders[i];
        check_shortest(value);
        check_shortest(nextafter(value, 0));
        if (value < DBL_MAX)
            check_shortest(nextafter(value, INFINITY));
    }
    for (int e = -330; e < 309; e++) {
        double value = by_libc(1, e);
        if (value == 0)
            continue;
        check_shortest(value);
        check_shortest(nextafter(value, INFINITY));
    }
    for (int e = -1074; e < 1024; e++)
        check_shortest(ldexp(1.0, e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_decimal_in_range_is_rounded_as_by_the_c_library),
        cmocka_unit_test(ties_go_to_even),
        cmocka_unit_test(outside_the_range_nothing_is_decided),
        cmocka_unit_test(any_double_reads_back_from_its_fewest_digits),
        cmocka_unit_test(everyday_doubles_read_back_from_their_fewest_digits),
        cmocka_unit_test(borders_of_the_fast_range_and_powers_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
