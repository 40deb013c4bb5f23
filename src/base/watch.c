/* watch.c - see watch.h. Tests: tests/unit/base/test_watch.c. */
#include "base/watch.h"

#include <stdlib.h>

shoal_watch *shoal_watch_new(void)
{
    shoal_watch *watch = malloc(sizeof *watch);

    if (watch == NULL)
        return NULL;
    atomic_init(&watch->stop, false);
    atomic_init(&watch->done, 0);
    atomic_init(&watch->total, 0);
    atomic_init(&watch->what, "");
    return watch;
}

void shoal_watch_free(shoal_watch *watch)
{
    free(watch);
}

void shoal_watch_stop(shoal_watch *watch)
{
    if (watch != NULL)
        atomic_store_explicit(&watch->stop, true, memory_order_relaxed);
}

shoal_progress shoal_watch_look(const shoal_watch *watch)
{
    return (shoal_progress){
        .what = atomic_load_explicit(&watch->what, memory_order_relaxed),
        .done = atomic_load_explicit(&watch->done, memory_order_relaxed),
        .total = atomic_load_explicit(&watch->total, memory_order_relaxed),
    };
}

void base_watch_begin(shoal_watch *watch, const char *what, uint64_t total)
{
    if (watch == NULL)
        return;
    atomic_store_explicit(&watch->done, 0, memory_order_relaxed);
    atomic_store_explicit(&watch->total, total, memory_order_relaxed);
    atomic_store_explicit(&watch->what, what, memory_order_relaxed);
}

const atomic_bool *base_watch_flag(const shoal_watch *watch)
{
    static const atomic_bool never = false;

    return watch == NULL ? &never : &watch->stop;
}

bool base_watch_stopped(const shoal_watch *watch)
{
    return atomic_load_explicit(base_watch_flag(watch), memory_order_relaxed);
}

atomic_uint_fast64_t *base_watch_done(shoal_watch *watch)
{
    return watch == NULL ? NULL : &watch->done;
}
