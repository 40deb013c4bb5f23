/* again.h - adding the same numbers to a sum many times over, at once.
 *
 * Gives the very bits that the loop would: a sum of doubles is rounded at each step, and one
 * multiplication is rounded otherwise. */
#ifndef BASE_AGAIN_H
#define BASE_AGAIN_H

#include <stddef.h>
#include <stdint.h>

/* What `for (; times > 0; times--) for (i = 0; i < count; i++) x += terms[i];` leaves in x. For x and
 * terms that are finite and 0 or more it takes O(count log times) additions, else as many as the
 * loop. Any thread. */
double base_add_again(double x, const double *terms, size_t count, uint64_t times);

#endif
