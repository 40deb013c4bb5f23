/* share_oracle.c - what every job answers to a vector of prices.
 *
 * A job that must reach speed t picks shares x >= 0, sum x <= 1, a.x = t at least cost p.x. The
 * cheapest point lies on the lower hull of (0, 0) and the (a_j, p_j), so it is a mix of two of them,
 * one on either side of t. With at most 16 kinds the hull is not built: all crossing edges are
 * tried, which has no branches and runs eight jobs at a time. An edge between kinds i and j, with
 * e = a - t, costs (p_i e_j - p_j e_i) / (e_j - e_i), whichever of them is the faster one. The totals
 * are summed edge by edge under masks.
 *
 * The body (share_oracle_body.inc) is one text, compiled with one lane (the specification), four
 * (AVX2) and eight (AVX-512). What is computed for a row is equal bit for bit: the file is built with
 * -ffp-contract=off. Totals are added up lane by lane, so they agree to rounding only. */
#include "num/share_core.h"

#include <math.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { EDGES_MAX = NUM_KINDS_MAX * (NUM_KINDS_MAX + 1) / 2 };

static const double CORNER =
    1e-12; /* relative distance at which a speed counts as that of a kind */

/* The slope of a row's cost on the left of t, where t is (nearly) the speed of one of its kinds: edges
 * that meet there cost the same, so the one found need not be the one on the left. Points at t itself
 * are left out. */
static double slope_at_corner(const struct share_rows *rows, size_t row, const double *price,
                              double t, double cost)
{
    double slope = cost / t;

    for (uint32_t j = 0; j < rows->kinds; j++) {
        double a = rows->a[j * rows->stride + row];
        if (a > 0 && a < t * (1 - CORNER))
            slope = fmax(slope, (cost - price[j]) / (t - a));
    }
    return slope;
}

#define EACH_EDGE(ONE, PAIR)                                          \
    do {                                                              \
        if (kinds == 3) {                                             \
            ONE(0, 0);                                                \
            ONE(1, 1);                                                \
            ONE(2, 2);                                                \
            PAIR(0, 1, 3);                                            \
            PAIR(0, 2, 4);                                            \
            PAIR(1, 2, 5);                                            \
        } else if (kinds == 2) {                                      \
            ONE(0, 0);                                                \
            ONE(1, 1);                                                \
            PAIR(0, 1, 2);                                            \
        } else {                                                      \
            uint32_t edge_ = kinds;                                   \
            for (uint32_t i_ = 0; i_ < kinds; i_++)                   \
                ONE(i_, i_);                                          \
            for (uint32_t i_ = 0; i_ < kinds; i_++)                   \
                for (uint32_t j_ = i_ + 1; j_ < kinds; j_++, edge_++) \
                    PAIR(i_, j_, edge_);                              \
        }                                                             \
    } while (0)

#define V            double
#define M            bool
#define LANES        1
#define SUFFIX(name) name##_plain
#define TARGET
#define INLINE          static inline __attribute__((always_inline))
#define V_SET(x)        ((double)(x))
#define V_LOAD(p)       (*(p))
#define V_STORE(p, v)   (*(p) = (v))
#define V_ADD(a, b)     ((a) + (b))
#define V_SUB(a, b)     ((a) - (b))
#define V_MUL(a, b)     ((a) * (b))
#define V_DIV(a, b)     ((a) / (b))
#define V_MIN(a, b)     ((a) < (b) ? (a) : (b))
#define V_MAX(a, b)     ((a) > (b) ? (a) : (b))
#define V_LT(a, b)      ((a) < (b))
#define V_LE(a, b)      ((a) <= (b))
#define V_EQ(a, b)      ((a) == (b))
#define V_PICK(m, a, b) ((m) ? (a) : (b))
#define V_KEEP(m, a)    ((m) ? (a) : 0)
#define M_AND(a, b)     ((a) && (b))
#define M_OR(a, b)      ((a) || (b))
#define M_BITS(m)       ((uint32_t)(m))
#include "num/share_oracle_body.inc"

#if defined(__x86_64__)

#define V               __m256d
#define M               __m256d
#define LANES           4
#define SUFFIX(name)    name##_avx2
#define TARGET          __attribute__((target("avx2"))) static
#define INLINE          static inline __attribute__((always_inline, target("avx2")))
#define V_SET(x)        _mm256_set1_pd(x)
#define V_LOAD(p)       _mm256_loadu_pd(p)
#define V_STORE(p, v)   _mm256_storeu_pd(p, v)
#define V_ADD(a, b)     _mm256_add_pd(a, b)
#define V_SUB(a, b)     _mm256_sub_pd(a, b)
#define V_MUL(a, b)     _mm256_mul_pd(a, b)
#define V_DIV(a, b)     _mm256_div_pd(a, b)
#define V_MIN(a, b)     _mm256_min_pd(a, b)
#define V_MAX(a, b)     _mm256_max_pd(a, b)
#define V_LT(a, b)      _mm256_cmp_pd(a, b, _CMP_LT_OQ)
#define V_LE(a, b)      _mm256_cmp_pd(a, b, _CMP_LE_OQ)
#define V_EQ(a, b)      _mm256_cmp_pd(a, b, _CMP_EQ_OQ)
#define V_PICK(m, a, b) _mm256_blendv_pd(b, a, m)
#define V_KEEP(m, a)    _mm256_and_pd(m, a)
#define M_AND(a, b)     _mm256_and_pd(a, b)
#define M_OR(a, b)      _mm256_or_pd(a, b)
#define M_BITS(m)       ((uint32_t)_mm256_movemask_pd(m))
#include "num/share_oracle_body.inc"

#define V               __m512d
#define M               __mmask8
#define LANES           8
#define SUFFIX(name)    name##_avx512
#define TARGET          __attribute__((target("avx512f,avx512dq"))) static
#define INLINE          static inline __attribute__((always_inline, target("avx512f,avx512dq")))
#define V_SET(x)        _mm512_set1_pd(x)
#define V_LOAD(p)       _mm512_loadu_pd(p)
#define V_STORE(p, v)   _mm512_storeu_pd(p, v)
#define V_ADD(a, b)     _mm512_add_pd(a, b)
#define V_SUB(a, b)     _mm512_sub_pd(a, b)
#define V_MUL(a, b)     _mm512_mul_pd(a, b)
#define V_DIV(a, b)     _mm512_div_pd(a, b)
#define V_MIN(a, b)     _mm512_min_pd(a, b)
#define V_MAX(a, b)     _mm512_max_pd(a, b)
#define V_LT(a, b)      _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ)
#define V_LE(a, b)      _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ)
#define V_EQ(a, b)      _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ)
#define V_PICK(m, a, b) _mm512_mask_mov_pd(b, m, a)
#define V_KEEP(m, a)    _mm512_maskz_mov_pd(m, a)
#define M_AND(a, b)     ((__mmask8)((a) & (b)))
#define M_OR(a, b)      ((__mmask8)((a) | (b)))
#define M_BITS(m)       ((uint32_t)(m))
#include "num/share_oracle_body.inc"

#endif

share_ask_fn *num_share_ask_find(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        return num_share_ask_avx512;
    if (__builtin_cpu_supports("avx2"))
        return num_share_ask_avx2;
#endif
    return num_share_ask_plain;
}

void num_share_edges(uint32_t kinds, struct share_edges *out)
{
    uint32_t code = 0;

    for (uint8_t j = 0; j < kinds; j++)
        out->edge[code++] = (struct share_edge){.low = SHARE_ORIGIN, .high = j};
    for (uint8_t i = 0; i < kinds; i++)
        for (uint8_t j = (uint8_t)(i + 1); j < kinds; j++)
            out->edge[code++] = (struct share_edge){.low = i, .high = j};
}
