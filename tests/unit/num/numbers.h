/* numbers.h - random numbers for tests of solvers: tame ones, and the edges of what a double holds.
 * */
#ifndef TESTS_NUMBERS_H
#define TESTS_NUMBERS_H

#include "base/rand.h"

/* Nearly normal: mean 0, variance 1. */
static inline double numbers_normal(struct base_rand *rand)
{
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += base_rand_range(rand, 0, 1);
    return sum;
}

/* From the edges, or tame. */
static inline double numbers_far_apart(struct base_rand *rand)
{
    static const double V[] = {0,       -0.0,     1,        -1,     2,     1e-300, 1e300,
                               1.7e308, -1.7e308, 2.3e-308, 5e-324, 1e-10, 1e10,   3};

    return base_rand_below(rand, 2) == 0 ? V[base_rand_below(rand, 14)] : numbers_normal(rand);
}

#endif
