/* share_ways.c - the best way of every job at given prices; see share_ways.h.
 *
 * All ways are tried, a fixed sequence without branches but for blocks of jobs that have no floor.
 * The body (share_ways_body.inc) is one text, compiled with one lane, four (AVX2) and eight
 * (AVX-512). num_share_ways_choose says the same job by job and is the specification; built without
 * fused multiply-add, all choose the same ways (tests/unit/num/test_share_ways.c). */
#include "num/share_ways.h"

#include <math.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

shoal_status num_share_ways_reserve(const struct base_alloc *alloc, struct share_ways *ways,
                                    uint32_t kinds, size_t count)
{
    size_t stride = (count + SHARE_BLOCK) / SHARE_LANES * SHARE_LANES;

    if (base_reserve(alloc, (void **)&ways->cells, &ways->cells_cap, (2 * kinds + 3) * stride,
                     sizeof *ways->cells) != 0)
        return SHOAL_E_NOMEM;
    ways->kinds = kinds;
    ways->count = count;
    ways->stride = stride;
    ways->value = ways->cells;
    ways->speed = ways->value + kinds * stride;
    ways->gpus = ways->speed + kinds * stride;
    ways->floor = ways->gpus + stride;
    ways->ransom = ways->floor + stride;
    for (size_t i = count; i < stride; i++) {
        ways->gpus[i] = ways->floor[i] = 0;
        ways->ransom[i] = INFINITY;
        for (uint32_t j = 0; j < kinds; j++)
            ways->value[j * stride + i] = ways->speed[j * stride + i] = 0;
    }
    return SHOAL_OK;
}

static void offer(struct share_way *best, struct share_way way)
{
    if (way.gain > best->gain)
        *best = way;
}

struct share_way num_share_ways_choose(const struct share_ways *ways, size_t row,
                                       const double *price)
{
    uint32_t kinds = ways->kinds, edge = kinds;
    double floor = ways->floor[row], gain[NUM_KINDS_MAX] = {0}, speed[NUM_KINDS_MAX] = {0};
    struct share_way best = {
        .gain = -INFINITY, .code = share_way_idle(kinds), .one = SHARE_ORIGIN, .two = SHARE_ORIGIN};

    if (floor == 0)
        best.gain = 0;
    for (uint32_t k = 0; k < kinds; k++) {
        gain[k] = ways->value[k * ways->stride + row] - ways->gpus[row] * price[k];
        speed[k] = ways->speed[k * ways->stride + row];
        if (speed[k] > 0 && speed[k] >= floor)
            offer(&best, (struct share_way){gain[k], share_way_full(kinds) + k, k, SHARE_ORIGIN, 1,
                                            0, false});
    }
    for (uint32_t k = 0; k < kinds && floor > 0; k++) {
        double part = floor / speed[k];
        if (speed[k] > floor)
            offer(&best, (struct share_way){gain[k] * part, k, k, SHARE_ORIGIN, part, 0, false});
    }
    for (uint32_t i = 0; i < kinds; i++) {
        for (uint32_t j = i + 1; j < kinds; j++, edge++) {
            double part = (floor - speed[i]) / (speed[j] - speed[i]); /* on j */
            double slow = fmin(speed[i], speed[j]), fast = fmax(speed[i], speed[j]);
            if (slow > 0 && slow < floor && fast > floor)
                offer(&best, (struct share_way){gain[i] + part * (gain[j] - gain[i]), edge, i, j,
                                                1 - part, part, false});
        }
    }
    offer(&best, (struct share_way){-ways->ransom[row], share_way_bought(kinds), SHARE_ORIGIN,
                                    SHARE_ORIGIN, 0, 0, true});
    return best;
}

struct share_way num_share_ways_spell(const struct share_ways *ways,
                                      const struct share_edges *edges, size_t row, uint8_t code)
{
    uint32_t kinds = ways->kinds, full = share_way_full(kinds);
    struct share_way way = {.code = code,
                            .one = SHARE_ORIGIN,
                            .two = SHARE_ORIGIN,
                            .bought = code == share_way_bought(kinds)};

    if (code >= share_way_idle(kinds))
        return way;
    way.one = code >= full ? code - full : edges->edge[code].high;
    way.x_one = 1;
    if (code >= full)
        return way;
    double high = ways->speed[way.one * ways->stride + row], floor = ways->floor[row];
    way.two = edges->edge[code].low;
    if (way.two == SHARE_ORIGIN) {
        way.x_one = floor / high;
        return way;
    }
    double low = ways->speed[way.two * ways->stride + row];
    way.x_one = (floor - low) / (high - low);
    way.x_two = 1 - way.x_one;
    return way;
}

static share_ways_fn ways_ask_plain;

#define LANES 1
#include "num/share_lanes.inc"
#include "num/share_ways_body.inc"
#undef LANES

#if defined(__x86_64__)
#define LANES 4
#include "num/share_lanes.inc"
#include "num/share_ways_body.inc"
#undef LANES
#define LANES 8
#include "num/share_lanes.inc"
#include "num/share_ways_body.inc"
#undef LANES
#endif

share_ways_fn *num_share_ways_find(uint32_t lanes_max)
{
#if defined(__x86_64__)
    if (lanes_max >= 8 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        return ways_ask_avx512;
    if (lanes_max >= 4 && __builtin_cpu_supports("avx2"))
        return ways_ask_avx2;
#endif
    (void)lanes_max;
    return ways_ask_plain;
}
