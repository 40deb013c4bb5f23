/* loop_heap.c - a binary heap whose members know their place. Tests: through the loops,
 * tests/unit/env/test_loop_sim.c and test_loop_real.c. */
#include "env/loop_heap.h"

#include "base/assert.h"

void loop_heap_init(struct loop_heap *heap, const struct base_alloc *alloc)
{
    *heap = (struct loop_heap){.alloc = alloc};
}

void loop_heap_fini(struct loop_heap *heap)
{
    for (size_t i = 0; i < heap->count; i++)
        heap->items[i].timer->place = 0;
    base_free(heap->alloc, heap->items);
    *heap = (struct loop_heap){.alloc = heap->alloc};
}

shoal_status loop_heap_promise(struct loop_heap *heap, size_t count)
{
    void *items = heap->items;
    if (count > UINT32_MAX - heap->promised ||
        base_reserve(heap->alloc, &items, &heap->cap, heap->promised + count,
                     sizeof *heap->items) != 0)
        return SHOAL_E_NOMEM;
    heap->items = items;
    heap->promised += count;
    return SHOAL_OK;
}

void loop_heap_release(struct loop_heap *heap, size_t count)
{
    shoal_assert(heap->promised >= count);
    heap->promised -= count;
}

static bool before(const struct loop_heap_item *a, const struct loop_heap_item *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void set(struct loop_heap *heap, size_t at, struct loop_heap_item item)
{
    heap->items[at] = item;
    item.timer->place = (uint32_t)at + 1;
}

/* Moves the hole at `at` to where `item` belongs, and fills it. */
static void fill(struct loop_heap *heap, size_t at, struct loop_heap_item item)
{
    while (at > 0 && before(&item, &heap->items[(at - 1) / 2])) {
        set(heap, at, heap->items[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < heap->count && before(&heap->items[child + 1], &heap->items[child]))
            child++;
        if (child >= heap->count || !before(&heap->items[child], &item))
            break;
        set(heap, at, heap->items[child]);
        at = child;
    }
    set(heap, at, item);
}

void loop_heap_put(struct loop_heap *heap, struct env_timer *timer)
{
    size_t at = timer->place != 0 ? timer->place - 1 : heap->count++;
    shoal_assert(at < heap->count && heap->count <= heap->cap);
    timer->order = heap->started++;
    fill(heap, at,
         (struct loop_heap_item){.due_ns = timer->due_ns, .order = timer->order, .timer = timer});
}

void loop_heap_remove(struct loop_heap *heap, struct env_timer *timer)
{
    if (timer->place == 0)
        return;
    size_t at = timer->place - 1;
    shoal_assert(at < heap->count && heap->items[at].timer == timer);
    timer->place = 0;
    heap->count--;
    if (at < heap->count)
        fill(heap, at, heap->items[heap->count]);
}

struct env_timer *loop_heap_top(const struct loop_heap *heap)
{
    return heap->count == 0 ? NULL : heap->items[0].timer;
}
