/* again.c - repeated addition without the loop (see again.h).
 *
 * While a sum stays between two powers of two its unit in the last place is the same, u. Adding t
 * then moves it by a whole number of units: t / u to the nearest, and where that is a half to the
 * even side, which depends on whether the sum itself is odd. So one pass over the terms adds a
 * number of units that depends on nothing but that. Odd and even follow one another in a cycle of
 * one or two passes, reached after one; after two passes every further two add the same. We measure
 * that step and take as many at once as stay below the next power of two. All numbers on the way are
 * whole units below 2^53, so nothing is rounded. Tests: test_again.c. */
#include "base/again.h"

#include <math.h>
#include <stdbool.h>

static double pass(double x, const double *terms, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x += terms[i];
    return x;
}

static bool grows(double x, const double *terms, size_t count)
{
    bool ok = x >= 0 && isfinite(x);

    for (size_t i = 0; i < count; i++)
        ok = ok && terms[i] >= 0 && isfinite(terms[i]);
    return ok;
}

double base_add_again(double x, const double *terms, size_t count, uint64_t times)
{
    bool steps = grows(x, terms, count);

    while (times >= 4 && steps) {
        double a = pass(pass(x, terms, count), terms, count);
        double b = pass(pass(a, terms, count), terms, count), step = b - a;
        int of_x, of_b;
        (void)frexp(x, &of_x);
        (void)frexp(b, &of_b);
        x = b;
        times -= 4;
        if (step == 0 || !isfinite(b))
            return x; /* too small to count, or beyond all numbers */
        double most = floor((ldexp(1, of_b) - b) / step) - 1; /* the quotient is rounded */
        if (of_x != of_b || !(most >= 1))
            continue;
        uint64_t twice = times / 2;
        if (most < (double)twice)
            twice = (uint64_t)most;
        x = b + (double)twice * step;
        times -= 2 * twice;
    }
    for (; times > 0; times--)
        x = pass(x, terms, count);
    return x;
}
