/* pollux_fronts.c - fronts of two objectives in O(n log n) (see pollux_fronts.h).
 *
 * In the order of the first objective, then of the second, nobody is beaten by a later one. Members of
 * a front so far are better in the first objective and worse in the second the earlier they came, so
 * the last one of a front beats a newcomer if any of that front does; and if a front beats it, so do
 * all before that. The newcomer's front is found by bisection (Jensen, "Reducing the run-time
 * complexity of multiobjective EAs", 2003). */
#include "sched/pollux_fronts.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static int compare(double a, double b)
{
    return (a > b) - (a < b);
}

static int by_objectives(const void *a, const void *b)
{
    const struct sched_pollux_rank *x = a, *y = b;
    int c = compare(x->worse[0], y->worse[0]);

    if (c == 0)
        c = compare(x->worse[1], y->worse[1]);
    return c != 0 ? c : x->slot < y->slot ? -1 : 1;
}

static int by_front(const void *a, const void *b)
{
    const struct sched_pollux_rank *x = a, *y = b;

    return x->front != y->front ? (x->front < y->front ? -1 : 1) : by_objectives(a, b);
}

static int by_merit(const void *a, const void *b)
{
    const struct sched_pollux_rank *x = a, *y = b;
    int c = compare(y->space, x->space);

    if (x->front != y->front)
        return x->front < y->front ? -1 : 1;
    return c != 0 ? c : x->slot < y->slot ? -1 : 1;
}

/* `a` is not behind `b` in the order of objectives. */
static bool beats(const struct sched_pollux_rank *a, const struct sched_pollux_rank *b)
{
    return a->worse[1] <= b->worse[1] && (a->worse[0] < b->worse[0] || a->worse[1] < b->worse[1]);
}

/* Ranks are in the order of objectives. */
static void find_fronts(struct sched_pollux_rank *ranks, uint32_t count)
{
    uint32_t last[SCHED_POLLUX_RANKS_MAX], fronts = 0; /* position of the last of each */

    for (uint32_t i = 0; i < count; i++) {
        uint32_t lo = 0, hi = fronts;
        while (lo < hi) {
            uint32_t mid = (lo + hi) / 2;
            if (beats(&ranks[last[mid]], &ranks[i]))
                lo = mid + 1;
            else
                hi = mid;
        }
        last[lo] = i;
        fronts += lo == fronts;
        ranks[i].front = lo;
    }
}

/* Of one front, in the order of objectives. */
static void find_space(struct sched_pollux_rank *front, uint32_t count)
{
    double wide = front[count - 1].worse[0] - front[0].worse[0] + 1e-300;
    double high = front[0].worse[1] - front[count - 1].worse[1] + 1e-300;

    front[0].space = front[count - 1].space = INFINITY;
    for (uint32_t i = 1; i + 1 < count; i++)
        front[i].space = (front[i + 1].worse[0] - front[i - 1].worse[0]) / wide +
                         (front[i - 1].worse[1] - front[i + 1].worse[1]) / high;
}

void sched_pollux_fronts(struct sched_pollux_rank *ranks, uint32_t count)
{
    qsort(ranks, count, sizeof *ranks, by_objectives);
    find_fronts(ranks, count);
    qsort(ranks, count, sizeof *ranks, by_front);
    for (uint32_t a = 0, b; a < count; a = b) {
        for (b = a + 1; b < count && ranks[b].front == ranks[a].front;)
            b++;
        find_space(ranks + a, b - a);
    }
    qsort(ranks, count, sizeof *ranks, by_merit);
}
