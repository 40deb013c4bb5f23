/* alias.c - Walker's alias method, with Vose's two stacks: each cell of 1 / count is filled by one weight
 * that is too small for it and what is missing from one that is too large. Linear in count. */
#include "num/alias.h"

void num_alias_build(uint32_t count, const double *weight, float *keep, uint32_t *other,
                     double *work)
{
    double *scaled = work, sum = 0;
    uint32_t *stack = (uint32_t *)(void *)(work + count); /* small from below, large from above */
    uint32_t small = 0, large = count;

    for (uint32_t i = 0; i < count; i++)
        sum += weight[i];
    for (uint32_t i = 0; i < count; i++) {
        scaled[i] = weight[i] * count / sum;
        if (scaled[i] < 1)
            stack[small++] = i;
        else
            stack[--large] = i;
    }
    while (small > 0 && large < count) {
        uint32_t low = stack[--small], high = stack[large];
        keep[low] = (float)scaled[low];
        other[low] = high;
        scaled[high] -= 1 - scaled[low];
        if (scaled[high] < 1) {
            large++;
            stack[small++] = high;
        }
    }
    /* What rounding left over is 1 but for rounding. */
    while (small > 0) {
        uint32_t i = stack[--small];
        keep[i] = 1;
        other[i] = i;
    }
    for (; large < count; large++) {
        keep[stack[large]] = 1;
        other[stack[large]] = stack[large];
    }
}
