/* share_oracle.c - what every job answers to a vector of prices.
 *
 * A job that must reach speed t picks shares x >= 0, sum x <= 1, a.x = t at least cost p.x. The
 * cheapest point lies on the lower hull of (0, 0) and the (a_j, p_j), so it is a mix of two of
 * them, one on either side of t. With at most 16 kinds the hull is not built: all crossing edges
 * are tried, which has no branches and runs eight jobs at a time. An edge between kinds i and j,
 * with e = a - t, costs (p_i e_j - p_j e_i) / (e_j - e_i), whichever of them is the faster one. The
 * totals are summed edge by edge under masks.
 *
 * The body (share_oracle_body.inc) is one text, compiled with one lane (the specification), four
 * (AVX2) and eight (AVX-512). What is computed for a row is equal bit for bit: the file is built
 * with -ffp-contract=off (tests/unit/num/test_share_oracle.c). Totals are added up lane by lane, so
 * they agree to rounding only. */
#include "num/share_core.h"

#include <math.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { EDGES_MAX = NUM_KINDS_MAX * (NUM_KINDS_MAX + 1) / 2 };

/* Relative distance at which a speed counts as that of a kind. */
static const double CORNER = 1e-12;

/* The slope of a row's cost on the left of t, where t is (nearly) the speed of one of its kinds:
 * edges that meet there cost the same, so the one found need not be the one on the left. Points at
 * t itself are left out. */
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

static share_ask_fn edges_ask_plain;

#define LANES 1
#include "num/share_lanes.inc"
#include "num/share_oracle_body.inc"
#undef LANES

#if defined(__x86_64__)
#define LANES 4
#include "num/share_lanes.inc"
#include "num/share_oracle_body.inc"
#undef LANES
#define LANES 8
#include "num/share_lanes.inc"
#include "num/share_oracle_body.inc"
#undef LANES
#endif

share_ask_fn *num_share_ask_find(uint32_t lanes_max)
{
#if defined(__x86_64__)
    if (lanes_max >= 8 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        return edges_ask_avx512;
    if (lanes_max >= 4 && __builtin_cpu_supports("avx2"))
        return edges_ask_avx2;
#endif
    (void)lanes_max;
    return edges_ask_plain;
}

void num_share_edges(uint32_t kinds, struct share_edges *out)
{
    uint32_t code = 0;

    for (uint32_t j = 0; j < kinds; j++)
        out->edge[code++] = (struct share_edge){.low = SHARE_ORIGIN, .high = (uint8_t)j};
    for (uint32_t i = 0; i < kinds; i++)
        for (uint32_t j = i + 1; j < kinds; j++)
            out->edge[code++] = (struct share_edge){.low = (uint8_t)i, .high = (uint8_t)j};
}
