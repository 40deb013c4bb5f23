/* loop_heap.h - running timers, the next one first; ties by the order they were started in.
 *
 * A timer knows its place, so that stopping one costs O(log n) and leaves nothing behind. Room is
 * promised before, so that putting one in cannot fail. Owner thread only. Private to src/env. */
#ifndef ENV_LOOP_HEAP_H
#define ENV_LOOP_HEAP_H

#include "env/loop.h"

struct loop_heap_item {
    uint64_t due_ns, order; /* copies of the timer's, beside each other for the comparisons */
    struct env_timer *timer;
};

struct loop_heap {
    const struct base_alloc *alloc;
    struct loop_heap_item *items;
    size_t count, cap;
    size_t promised;  /* places that are spoken for, taken or not */
    uint64_t started; /* how many were put so far */
};

void loop_heap_init(struct loop_heap *heap, const struct base_alloc *alloc);
void loop_heap_fini(struct loop_heap *heap); /* timers still in it are not running any more */
/* Room for `count` timers more. SHOAL_E_NOMEM leaves it as it was. */
SHOAL_MUST_USE shoal_status loop_heap_promise(struct loop_heap *heap, size_t count);
void loop_heap_release(struct loop_heap *heap, size_t count);
/* Puts the timer in, or moves it, to run at timer->due_ns. There must be room. */
void loop_heap_put(struct loop_heap *heap, struct env_timer *timer);
void loop_heap_remove(struct loop_heap *heap, struct env_timer *timer); /* also when not in it */
struct env_timer *loop_heap_top(const struct loop_heap *heap);          /* NULL when empty */

#endif
