/* share_oracle.c - what every job answers to a vector of prices: the inner loops of the price solver.
 *
 * A job that must reach speed t picks shares x >= 0, sum x <= 1, a.x = t at least cost p.x. The
 * cheapest point lies on the lower hull of (0, 0) and the (a_j, p_j), so it is a mix of two of
 * them, one on either side of t. With at most 16 kinds the hull is not built: all crossing edges
 * are tried, which has no branches and runs eight jobs at a time. An edge between kinds i and j,
 * with e = a - t, costs (p_i e_j - p_j e_i) / (e_j - e_i), whichever of them is the faster one. The
 * totals are summed edge by edge under masks.
 *
 * When the job's time has a value all its ways are tried, a fixed sequence without
 * branches but for blocks of jobs that have no floor; num_share_ways_choose says the same job by job
 * and is the specification.
 *
 * The text (share_oracle_body.inc) is compiled with one lane (the specification of the edges), four
 * (AVX2) and eight (AVX-512). What is computed for a row is equal bit for bit: the file is built
 * with -ffp-contract=off (test_share_oracle.c, test_share_ways.c). Totals are added up lane by lane,
 * so they agree to rounding only. */
#include "num/share_core.h"

#include <math.h>

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

void num_share_edges(uint32_t kinds, struct share_edges *out)
{
    uint32_t code = 0;

    for (uint32_t j = 0; j < kinds; j++)
        out->edge[code++] = (struct share_edge){.low = SHARE_ORIGIN, .high = (uint8_t)j};
    for (uint32_t i = 0; i < kinds; i++)
        for (uint32_t j = i + 1; j < kinds; j++)
            out->edge[code++] = (struct share_edge){.low = (uint8_t)i, .high = (uint8_t)j};
}

/* ---- ways ---- */

shoal_status num_share_ways_reserve(struct base_room *room, struct share_ways *ways, uint32_t kinds,
                                    size_t count)
{
    size_t stride = (count + SHARE_BLOCK) / SHARE_LANES * SHARE_LANES;

    BASE_ROOM(room, ways->cells, (2 * kinds + 3) * stride);
    if (base_room_status(room) != SHOAL_OK)
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

/* ---- the inner loops ---- */

/* Calls ONE(kind, edge) for each kind and PAIR(kind, kind, edge) for each pair of the `kinds` kinds
 * in the order of num_share_edges; written out for two and three, so that all stays in
 * registers. */
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

#define LANES_TEXT  "num/share_oracle_body.inc"
#define LANES_BYTES 8
#include "num/lanes.inc"

share_ask_fn *num_share_ask_find(uint32_t lanes_max)
{
    return LANES_FIND(edges_ask, lanes_max);
}

share_ways_fn *num_share_ways_find(uint32_t lanes_max)
{
    return LANES_FIND(ways_ask, lanes_max);
}
