/* rand.c - xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number generators",
 * 2021), seeded by splitmix64. Streams are part of what users can replay: changing any of this
 * changes their results, and the golden values in tests/unit/base/test_rand.c say so. */
#include "base/rand.h"

#include "base/assert.h"
#include <math.h>

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* FNV-1a, 64 bits. */
static uint64_t hash_name(const char *name)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (; *name != '\0'; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001B3u;
    return h;
}

void base_rand_init(struct base_rand *r, uint64_t seed, const char *name)
{
    uint64_t state = seed;
    state = splitmix64(&state) ^ hash_name(name);
    for (int i = 0; i < 4; i++)
        r->s[i] = splitmix64(&state);
}

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t base_rand_u64(struct base_rand *r)
{
    uint64_t *s = r->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double base_rand_unit(struct base_rand *r)
{
    return (double)(base_rand_u64(r) >> 11) * 0x1p-53;
}

double base_rand_range(struct base_rand *r, double lo, double hi)
{
    shoal_assert(lo <= hi);
    double x = lo + base_rand_unit(r) * (hi - lo);
    return x < hi ? x : lo; /* rounding may reach hi */
}

/* The high half of a 128-bit product; the few low halves that would favour some values are drawn
 * again (Lemire, "Fast random integer generation in an interval", 2019). */
uint64_t base_rand_below(struct base_rand *r, uint64_t n)
{
    shoal_assert(n > 0);
    unsigned __int128 product = (unsigned __int128)base_rand_u64(r) * n;
    if ((uint64_t)product < n) {
        uint64_t unfair = (0 - n) % n;
        while ((uint64_t)product < unfair)
            product = (unsigned __int128)base_rand_u64(r) * n;
    }
    return (uint64_t)(product >> 64);
}

double base_rand_exp(struct base_rand *r, double mean)
{
    return -mean * log(1.0 - base_rand_unit(r));
}

/* Marsaglia's polar method; the second value is dropped so that a stream has no hidden half-step.
 */
double base_rand_normal(struct base_rand *r, double mean, double sd)
{
    double u = 0, q = 0;
    do {
        u = 2.0 * base_rand_unit(r) - 1.0;
        double v = 2.0 * base_rand_unit(r) - 1.0;
        q = u * u + v * v;
    } while (q >= 1.0 || q == 0.0);
    return mean + sd * u * sqrt(-2.0 * log(q) / q);
}

uint32_t base_rand_weighted(struct base_rand *r, const double *weights, uint32_t count)
{
    double sum = 0;
    uint32_t last = count; /* last index that may be drawn */
    for (uint32_t i = 0; i < count; i++) {
        shoal_assert(weights[i] >= 0);
        sum += weights[i];
        if (weights[i] > 0)
            last = i;
    }
    shoal_assert(last < count);
    double x = base_rand_unit(r) * sum;
    for (uint32_t i = 0; i < last; i++) {
        if (x < weights[i])
            return i;
        x -= weights[i];
    }
    return last;
}
