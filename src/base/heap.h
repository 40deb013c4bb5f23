/* heap.h - a binary min-heap of (key, order, value), smallest key first, ties by smallest order.
 * The order makes the pop sequence independent of the insertion sequence. Owner thread only. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include "base/alloc.h"
#include "shoal/status.h"
#include <stdbool.h>

struct base_heap_item {
    double key;
    uint64_t order;
    uint64_t value;
};

struct base_heap {
    const struct base_alloc *alloc;
    struct base_heap_item *items;
    size_t count, cap;
};

void base_heap_init(struct base_heap *heap, const struct base_alloc *alloc);
void base_heap_fini(struct base_heap *heap);
SHOAL_MUST_USE shoal_status base_heap_push(struct base_heap *heap, struct base_heap_item item);
/* The smallest item, or NULL when empty; borrowed until the next push or pop. */
const struct base_heap_item *base_heap_top(const struct base_heap *heap);
bool base_heap_pop(struct base_heap *heap, struct base_heap_item *out_item); /* false when empty */

#endif
