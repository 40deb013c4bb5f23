/* top.h - the largest of what is offered one by one, the largest first, by insertion.
 *
 *     struct base_top best[10];
 *     size_t count = 0;
 *     for (...)
 *         count = base_top_offer(best, count, 10, i, value[i]);
 *
 * Equal ones stay in the order they were offered in. A value that is not a number is not taken. Cost:
 * one comparison for what is too small, up to `max` moves for what is not; for a few dozen that is less
 * than a heap costs. Any thread on its own array. Tests: tests/unit/base/test_top.c. */
#ifndef BASE_TOP_H
#define BASE_TOP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct base_top {
    uint64_t item;
    double value;
};

/* Returns how many there are then, at most `max`, the size of the array. */
static inline size_t base_top_offer(struct base_top *top, size_t count, size_t max, uint64_t item,
                                    double value)
{
    size_t rank = count;

    if (value != value)
        return count;
    while (rank > 0 && top[rank - 1].value < value)
        rank--;
    if (rank == max)
        return count;
    count += count < max;
    memmove(top + rank + 1, top + rank, (count - rank - 1) * sizeof *top);
    top[rank] = (struct base_top){item, value};
    return count;
}

#endif
