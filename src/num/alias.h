/* alias.h - draws from a list of weights in constant time, by Walker's alias method. Pure; any thread.
 * Tests: tests/unit/num/test_alias.c. */
#ifndef NUM_ALIAS_H
#define NUM_ALIAS_H

#include <stdint.h>

/* A table over `count` weights, not negative and not all 0: draw i evenly, keep it with probability
 * keep[i], else take other[i]. work (2, count). */
void num_alias_build(uint32_t count, const double *weight, float *keep, uint32_t *other,
                     double *work);

#endif
