/* decimal.h - between binary doubles and short decimals, exactly, without the C library where 128
 * bits suffice.
 *
 * Used by base_parse_f64 (trace files hold millions of numbers) and base_json_f64 (event logs hold
 * as many). Any thread; no locale. */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

struct base_decimal {
    uint64_t digits; /* at most 17 of them, no trailing zero unless 0 */
    int exponent;    /* the value is digits * 10^exponent */
};

/* The double nearest to digits * 10^exponent, ties to even. False outside the range that 128 bits
 * decide
 * (|exponent| at most 27, any digits); *out is untouched then. */
bool base_decimal_to_f64(uint64_t digits, int exponent, double *out);

/* The fewest digits that read back as `value`, which is finite and above 0. */
struct base_decimal base_decimal_shortest(double value);

#endif
