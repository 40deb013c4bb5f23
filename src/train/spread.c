/* spread.c - the assignment of executors to workers.
 *
 * Greedy. Executors without a place, most costly first, go where the load after them is least; this
 * is the longest-processing-time rule, at most 4/3 of the best for equal workers (Graham, 1969).
 * After that one executor at a time goes from the most to the least loaded worker: the one that
 * brings both closest to their middle. Each move lowers the pair's higher load, so it ends. Cost
 * O(executors x (workers + moves)).
 *
 * A worker may be slow. Costs are as measured there, so an executor that leaves it will cost less: by
 * as much as the usual cost there is above the usual cost where it goes. If it is the executors
 * that are large there, and not the worker slow, this is wrong, and the next measurement says so;
 * the way back, from low usual costs to high ones, is taken at full cost, so that none goes to and
 * fro. Tests: tests/unit/train/test_spread.c. */
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

/* The usual cost of an executor of the worker; 0: it has none. */
static double usual_at(const struct train_place *place, uint32_t executors, double usual,
                       uint32_t worker)
{
    double sum = 0;
    uint32_t count = 0;

    for (uint32_t e = 0; e < executors; e++) {
        if (place[e].worker == worker) {
            sum += cost_of(&place[e], usual);
            count++;
        }
    }
    return count > 0 ? sum / count : 0;
}

/* A move, and both loads after it. */
struct move {
    uint32_t executor; /* TRAIN_NOBODY: none */
    double cost, from_load, to_load;
};

/* The executor of `from` whose move to `to` lowers the higher of the two loads most. */
static struct move best_move(const struct train_place *place, uint32_t executors,
                             const uint32_t *threads, const double *load, double usual,
                             uint32_t from, uint32_t to)
{
    struct move best = {.executor = TRAIN_NOBODY};
    double least = load[from] * (1 - 1e-9), pace = 1;
    double there = usual_at(place, executors, usual, to);

    if (there > 0)
        pace = fmin(1, there / usual_at(place, executors, usual, from));
    for (uint32_t e = 0; e < executors; e++) {
        if (place[e].worker != from)
            continue;
        double cost = cost_of(&place[e], usual);
        struct move move = {e, pace * cost, load[from] - cost / threads[from],
                            load[to] + pace * cost / threads[to]};
        double after = fmax(move.from_load, move.to_load);
        if (after < least) {
            least = after;
            best = move;
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
        struct move move = best_move(place, executors, threads, load, usual, high, low);
        if (move.executor == TRAIN_NOBODY)
            break;
        load[high] = move.from_load;
        load[low] = move.to_load;
        place[move.executor] = (struct train_place){low, move.cost};
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
