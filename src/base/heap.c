/* heap.c - a binary min-heap in an array; items move into a hole instead of being swapped. Tests:
 * tests/unit/base/test_heap.c. */
#include "base/heap.h"

#include "base/assert.h"

void base_heap_init(struct base_heap *heap, const struct base_alloc *alloc)
{
    *heap = (struct base_heap){.alloc = alloc};
}

void base_heap_fini(struct base_heap *heap)
{
    base_free(heap->alloc, heap->items);
    heap->items = NULL;
    heap->count = 0;
    heap->cap = 0;
}

static bool before(const struct base_heap_item *a, const struct base_heap_item *b)
{
    if (a->key != b->key)
        return a->key < b->key;
    return a->order < b->order;
}

shoal_status base_heap_push(struct base_heap *heap, struct base_heap_item item)
{
    shoal_assert(item.key == item.key); /* NaN has no place in an order */
    void *items = heap->items;
    if (base_reserve(heap->alloc, &items, &heap->cap, heap->count + 1, sizeof item) != 0)
        return SHOAL_E_NOMEM;
    heap->items = items;

    size_t hole = heap->count++;
    while (hole > 0) {
        size_t parent = (hole - 1) / 2;
        if (!before(&item, &heap->items[parent]))
            break;
        heap->items[hole] = heap->items[parent];
        hole = parent;
    }
    heap->items[hole] = item;
    return SHOAL_OK;
}

const struct base_heap_item *base_heap_top(const struct base_heap *heap)
{
    return heap->count == 0 ? NULL : &heap->items[0];
}

bool base_heap_pop(struct base_heap *heap, struct base_heap_item *out_item)
{
    if (heap->count == 0)
        return false;
    *out_item = heap->items[0];
    struct base_heap_item last = heap->items[--heap->count];
    size_t hole = 0;
    for (;;) {
        size_t child = 2 * hole + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && before(&heap->items[child + 1], &heap->items[child]))
            child++;
        if (!before(&heap->items[child], &last))
            break;
        heap->items[hole] = heap->items[child];
        hole = child;
    }
    if (heap->count > 0)
        heap->items[hole] = last;
    return true;
}
