/* draw.h - draws for generators: the same on every machine, cheap, and counted, so that any
 * piece of the data can be made on its own.
 *
 * Only whole numbers and IEEE basic operations are used, no libm (whose last bits differ between
 * versions and machines). Any thread; a stream belongs to one.
 * Tests: tests/unit/gen/test_draw.c. */
#ifndef GEN_DRAW_H
#define GEN_DRAW_H

#include "base/alloc.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- streams: splitmix64 from a key and a counter ---- */

struct gen_draw {
    uint64_t state;
};

static inline uint64_t gen_draw_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* The stream of row, user or column `n`. Keys come from gen_draw_key. */
static inline struct gen_draw gen_draw_of(uint64_t key, uint64_t n)
{
    return (struct gen_draw){gen_draw_mix(key ^ gen_draw_mix(n * 0x9E3779B97F4A7C15u + key))};
}

static inline uint64_t gen_draw_u64(struct gen_draw *d)
{
    return gen_draw_mix(d->state += 0x9E3779B97F4A7C15u);
}

static inline double gen_draw_unit(struct gen_draw *d) /* [0, 1) */
{
    return (double)(int64_t)(gen_draw_u64(d) >> 11) * 0x1p-53;
}

/* [0, n) for n < 2^32; the bias is below n / 2^64. */
static inline uint64_t gen_draw_below(struct gen_draw *d, uint64_t n)
{
    return (uint64_t)((unsigned __int128)gen_draw_u64(d) * n >> 64);
}

/* Nearly normal with mean 0 and deviation 1: the sum of eight uniforms of 16 bits, exact in whole
 * numbers. Its distribution function is within 0.003 of the normal's, its tails end at 4.9. */
static inline double gen_draw_normal(struct gen_draw *d)
{
    uint64_t a = gen_draw_u64(d), b = gen_draw_u64(d);
    const uint64_t low = 0x0000FFFF0000FFFFu;
    uint64_t pairs = (a & low) + (a >> 16 & low) + (b & low) + (b >> 16 & low);
    int64_t sum = (int64_t)((pairs & 0xFFFFFFFFu) + (pairs >> 32));

    return (double)(2 * sum - 8 * 65535) * 0x1.3988e1412ed76p-17;
}

/* The same from one draw's bits, four uniforms: within 0.006, tails end at 3.46. */
static inline double gen_draw_rough_normal(uint64_t bits)
{
    const uint64_t low = 0x0000FFFF0000FFFFu;
    uint64_t pairs = (bits & low) + (bits >> 16 & low);
    int64_t sum = (int64_t)((pairs & 0xFFFFFFFFu) + (pairs >> 32));

    return (double)(2 * sum - 4 * 65535) * 0x1.bb67ae86627e7p-17;
}

/* The key of a purpose under a seed. */
uint64_t gen_draw_key(uint64_t seed, const char *purpose);

/* ---- functions ---- */

/* 2^x for |x| < 1000, within 1e-9 of it. */
static inline double gen_draw_exp2(double x)
{
    double whole = (double)(int64_t)x;
    whole -= whole > x;
    double t = (x - whole - 0.5) * 0x1.62e42fefa39efp-1; /* ln 2 */
    double p = 1.0 / 40320;
    p = p * t + 1.0 / 5040;
    p = p * t + 1.0 / 720;
    p = p * t + 1.0 / 120;
    p = p * t + 1.0 / 24;
    p = p * t + 1.0 / 6;
    p = p * t + 0.5;
    p = p * t + 1;
    p = p * t + 1;
    uint64_t bits = (uint64_t)((int64_t)whole + 1023) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * 0x1.6a09e667f3bcdp+0 * scale; /* sqrt 2 */
}

double gen_draw_log2(double x); /* x >= 1, within 1e-12 */

/* ---- power laws ---- */

enum { GEN_ZIPF_PIECES = 1024 };

/* Ranks 0 .. count - 1 with probability about 1 / (rank + shift): Zipf with a blunt head. The
 * inverse of the distribution function as a table of straight pieces, each a hundredth of an
 * octave. */
struct gen_zipf {
    double range; /* log2(1 + count / shift) */
    uint32_t count;
    double from[GEN_ZIPF_PIECES + 1];
};

void gen_zipf_init(struct gen_zipf *zipf, uint32_t count, double shift);

/* The rank of 64 random bits. */
static inline uint32_t gen_zipf_rank(const struct gen_zipf *zipf, uint64_t bits)
{
    uint64_t piece = bits >> 54;
    double part = (double)(int64_t)(bits & (((uint64_t)1 << 54) - 1)) * 0x1p-54;
    double low = zipf->from[piece];
    uint32_t rank = (uint32_t)(low + (zipf->from[piece + 1] - low) * part);

    return rank < zipf->count ? rank : zipf->count - 1;
}

/* log2(1 + rank / shift), about, of the same bits: how rare the rank is. */
static inline double gen_zipf_depth(const struct gen_zipf *zipf, uint64_t bits)
{
    return (double)(int64_t)(bits >> 11) * 0x1p-53 * zipf->range;
}

/* ---- popular ranks scattered over all places: a one-to-one map of 0 .. count - 1 ---- */

struct gen_scatter {
    uint64_t count, factor, offset, reciprocal;
};

void gen_scatter_init(struct gen_scatter *scatter, uint32_t count, uint64_t key);

static inline uint32_t gen_scatter_at(const struct gen_scatter *s, uint32_t rank)
{
    uint64_t x = rank * s->factor + s->offset; /* below 2^63 */
    uint64_t quotient = (uint64_t)((unsigned __int128)x * s->reciprocal >> 64);
    uint64_t rest = x - quotient * s->count;

    return (uint32_t)(rest >= s->count ? rest - s->count : rest);
}

/* ---- different ranks ---- */

/* A set of ranks that empties in one step. */
struct gen_rank_set {
    uint64_t *slot; /* (mask + 1) round << 32 | rank */
    uint32_t mask, round;
};

/* Room for `count` ranks at once. Returns 0, or -1 when memory is short. */
int gen_rank_set_init(struct gen_rank_set *set, const struct base_alloc *alloc, uint32_t count);

static inline void gen_rank_set_clear(struct gen_rank_set *set)
{
    if (++set->round == 0) {
        memset(set->slot, 0, ((size_t)set->mask + 1) * sizeof *set->slot);
        set->round = 1;
    }
}

/* False when it is in already. */
static inline bool gen_rank_set_add(struct gen_rank_set *set, uint32_t rank)
{
    uint64_t wanted = (uint64_t)set->round << 32 | rank;
    uint32_t at = (uint32_t)((rank * 0x9E3779B97F4A7C15u) >> 32) & set->mask;

    for (; set->slot[at] >> 32 == set->round; at = (at + 1) & set->mask)
        if (set->slot[at] == wanted)
            return false;
    set->slot[at] = wanted;
    return true;
}

/* A rank that is not in the set, which has fewer than zipf->count: a few draws, then the next
 * free. */
static inline uint32_t gen_rank_set_draw(struct gen_rank_set *set, const struct gen_zipf *zipf,
                                         struct gen_draw *draw, uint64_t *out_bits)
{
    uint32_t rank = 0;

    for (int tries = 0; tries < 16; tries++) {
        uint64_t bits = gen_draw_u64(draw);
        rank = gen_zipf_rank(zipf, bits);
        *out_bits = bits;
        if (gen_rank_set_add(set, rank))
            return rank;
    }
    do
        rank = rank + 1 < zipf->count ? rank + 1 : 0;
    while (!gen_rank_set_add(set, rank));
    return rank;
}

#endif
