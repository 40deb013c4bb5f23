/* rand.h - random numbers from named streams.
 *
 * A stream is (seed, name): two streams with different names are independent, so a new consumer
 * never shifts the draws of the others. xoshiro256** seeded by splitmix64 over the seed and a
 * 64-bit hash of the name; the same stream gives the same numbers on every machine (base_rand_exp
 * and _normal use libm's log and sqrt only). Owner thread only. */
#ifndef BASE_RAND_H
#define BASE_RAND_H

#include <stdint.h>

struct base_rand {
    uint64_t s[4];
};

void base_rand_init(struct base_rand *r, uint64_t seed, const char *name);
uint64_t base_rand_u64(struct base_rand *r);
double base_rand_unit(struct base_rand *r);                        /* [0, 1) */
double base_rand_range(struct base_rand *r, double lo, double hi); /* [lo, hi) */
uint64_t base_rand_below(struct base_rand *r, uint64_t n);         /* [0, n), n > 0, without bias */
double base_rand_exp(struct base_rand *r, double mean);
double base_rand_normal(struct base_rand *r, double mean, double sd);
/* An index with probability weights[i] / sum; weights are not negative and not all 0. */
uint32_t base_rand_weighted(struct base_rand *r, const double *weights, uint32_t count);

#endif
