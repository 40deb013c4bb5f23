/* spread.c - the assignment of executors to workers.
 *
 * Greedy. Executors without a place, most costly first, go where the load after them is least; this
 * is the longest-processing-time rule, at most 4/3 of the best for equal workers (Graham, 1969).
 * After that one executor at a time goes from the most to the least loaded worker: the one that
 * brings both closest to their middle. Each move lowers the pair's higher load, so it ends. Cost
 * O(executors x (workers + moves)). Tests: tests/unit/train/test_spread.c. */
#include "train/spread.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* What an executor of unknown cost is taken for: the mean of the others. */
static double usual_cost(const struct train_place *place, uint32_t executors)
{
    double sum = 0;
    uint32_t known = 0;

    for (uint32_t e = 0; e < executors; e++) {
        if (place[e].cost > 0) {
            sum += place[e].cost;
            known++;
        }
    }
    return known > 0 ? sum / known : 1;
}

static double cost_of(const struct train_place *place, double usual)
{
    return place->cost > 0 ? place->cost : usual;
}

static bool placed(const struct train_place *place, const uint32_t *threads, uint32_t workers)
{
    return place->worker < workers && threads[place->worker] > 0;
}

/* The worker whose load would be least after `cost` more; TRAIN_NOBODY when there is none. */
static uint32_t least_after(const double *load, const uint32_t *threads, uint32_t workers,
                            double cost)
{
    uint32_t best = TRAIN_NOBODY;

    for (uint32_t w = 0; w < workers; w++) {
        if (threads[w] > 0 && (best == TRAIN_NOBODY ||
                               load[w] + cost / threads[w] < load[best] + cost / threads[best]))
            best = w;
    }
    return best;
}

static uint32_t place_homeless(struct train_place *place, uint32_t executors,
                               const uint32_t *threads, uint32_t workers, double usual,
                               double *load)
{
    uint32_t moved = 0;

    for (;;) {
        uint32_t next = TRAIN_NOBODY;
        for (uint32_t e = 0; e < executors; e++) {
            if (!placed(&place[e], threads, workers) &&
                (next == TRAIN_NOBODY || cost_of(&place[e], usual) > cost_of(&place[next], usual)))
                next = e;
        }
        if (next == TRAIN_NOBODY)
            return moved;
        double cost = cost_of(&place[next], usual);
        uint32_t w = least_after(load, threads, workers, cost);
        if (w == TRAIN_NOBODY)
            return moved;
        place[next].worker = w;
        load[w] += cost / threads[w];
        moved++;
    }
}

/* The executor of `from` whose move to `to` lowers the higher of the two loads most. */
static uint32_t best_move(const struct train_place *place, uint32_t executors,
                          const uint32_t *threads, const double *load, double usual, uint32_t from,
                          uint32_t to)
{
    uint32_t best = TRAIN_NOBODY;
    double least = load[from] * (1 - 1e-9);

    for (uint32_t e = 0; e < executors; e++) {
        if (place[e].worker != from)
            continue;
        double cost = cost_of(&place[e], usual);
        double after = fmax(load[from] - cost / threads[from], load[to] + cost / threads[to]);
        if (after < least) {
            least = after;
            best = e;
        }
    }
    return best;
}

static uint32_t even_out(struct train_place *place, uint32_t executors, const uint32_t *threads,
                         uint32_t workers, double slack, double usual, double *load)
{
    uint32_t moved = 0;

    for (; moved < executors; moved++) {
        uint32_t high = TRAIN_NOBODY, low = TRAIN_NOBODY;
        double work = 0, capacity = 0;
        for (uint32_t w = 0; w < workers; w++) {
            if (threads[w] == 0)
                continue;
            work += load[w] * threads[w];
            capacity += threads[w];
            if (high == TRAIN_NOBODY || load[w] > load[high])
                high = w;
            if (low == TRAIN_NOBODY || load[w] < load[low])
                low = w;
        }
        if (high == low || load[high] <= slack * work / capacity)
            break;
        uint32_t e = best_move(place, executors, threads, load, usual, high, low);
        if (e == TRAIN_NOBODY)
            break;
        double cost = cost_of(&place[e], usual);
        load[high] -= cost / threads[high];
        load[low] += cost / threads[low];
        place[e].worker = low;
    }
    return moved;
}

uint32_t train_spread(struct train_place *place, uint32_t executors, const uint32_t *threads,
                      uint32_t workers, double slack, double *load)
{
    double usual = usual_cost(place, executors);
    uint32_t moved;

    for (uint32_t w = 0; w < workers; w++)
        load[w] = 0;
    for (uint32_t e = 0; e < executors; e++)
        if (placed(&place[e], threads, workers))
            load[place[e].worker] += cost_of(&place[e], usual) / threads[place[e].worker];
    moved = place_homeless(place, executors, threads, workers, usual, load);
    return moved + even_out(place, executors, threads, workers, slack, usual, load);
}
