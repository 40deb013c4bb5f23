/* draw.c - the parts of draw.h that run once. Tests: tests/unit/gen/test_draw.c. */
#include "gen/draw.h"

#include "base/assert.h"
#include "base/rand.h"

uint64_t gen_draw_key(uint64_t seed, const char *purpose)
{
    struct base_rand rand;

    base_rand_init(&rand, seed, purpose);
    return base_rand_u64(&rand);
}

/* x = 2^n m with m in [1, 2), ln m = 2 atanh((m - 1) / (m + 1)) by its series: the argument is at
 * most 1/3, so 14 terms leave 1e-15. */
double gen_draw_log2(double x)
{
    int whole = 0;

    shoal_assert(x >= 1);
    while (x >= 2) {
        x *= 0.5;
        whole++;
    }
    double t = (x - 1) / (x + 1), power = t, sum = 0;
    for (int k = 1; k < 29; k += 2) {
        sum += power / k;
        power *= t * t;
    }
    return whole + 2 * sum * 0x1.71547652b82fep+0; /* 1 / ln 2 */
}

void gen_zipf_init(struct gen_zipf *zipf, uint32_t count, double shift)
{
    shoal_assert(count > 0 && shift > 0);
    zipf->count = count;
    zipf->range = gen_draw_log2(1 + count / shift);
    zipf->from[0] = 0;
    for (int i = 1; i < GEN_ZIPF_PIECES; i++)
        zipf->from[i] = (gen_draw_exp2(zipf->range * ((double)i / GEN_ZIPF_PIECES)) - 1) * shift;
    zipf->from[GEN_ZIPF_PIECES] = count;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Steps of about the golden ratio leave neighbours in rank far apart. */
void gen_scatter_init(struct gen_scatter *scatter, uint32_t count, uint64_t key)
{
    uint64_t factor = (uint64_t)((double)count * 0.6180339887498949) + 1;

    while (common_divisor(factor, count) != 1)
        factor++;
    *scatter = (struct gen_scatter){.count = count,
                                    .factor = factor,
                                    .offset = key % count,
                                    .reciprocal = count > 1 ? UINT64_MAX / count : UINT64_MAX};
}

int gen_rank_set_init(struct gen_rank_set *set, const struct base_alloc *alloc, uint32_t count)
{
    uint64_t slots = 64;

    while (slots < 2 * (uint64_t)count)
        slots *= 2;
    set->slot = base_calloc(alloc, (size_t)slots, sizeof *set->slot);
    set->mask = (uint32_t)(slots - 1);
    set->round = 0;
    return set->slot != NULL ? 0 : -1;
}
