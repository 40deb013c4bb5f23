/* alloc.h - allocators as values.
 *
 * A base_alloc is two pointers and is passed by const pointer; it must outlive what it allocated.
 * All functions return NULL when memory is short and never abort. Sizes are checked for overflow.
 * The libc allocator is safe on any thread; a base_alloc_track belongs to one thread. */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

struct base_alloc {
    /* p NULL: allocate; size 0: free, returns NULL; else resize, p stays valid on failure */
    void *(*fn)(void *ctx, void *p, size_t size);
    void *ctx;
};

extern const struct base_alloc base_alloc_libc;

void *base_malloc(const struct base_alloc *a, size_t size);
void *base_calloc(const struct base_alloc *a, size_t count, size_t size);
void *base_realloc(const struct base_alloc *a, void *p, size_t size); /* size > 0 */
char *base_strdup(const struct base_alloc *a, const char *s);
void base_free(const struct base_alloc *a, void *p); /* NULL is allowed */

/* Counts what passes through to `inner` and can fail on purpose: the `fail_at`-th allocation or
 * resize (1-based) and, when `fail_after` is set, every later one returns NULL. Use `alloc` as the
 * allocator. */
struct base_alloc_track {
    struct base_alloc alloc; /* set by base_alloc_track_init */
    const struct base_alloc *inner;
    size_t live_bytes, peak_bytes, live_count;
    uint64_t calls;   /* allocations and resizes asked for so far */
    uint64_t fail_at; /* 0: never */
    int fail_after;
    uint64_t failed; /* how many were refused */
};

void base_alloc_track_init(struct base_alloc_track *track, const struct base_alloc *inner);

/* Makes room for `count` elements of `elem_size` bytes in a caller-owned array, growing by
 * doubling. *data and *cap change only on success. Returns 0, or -1 when memory is short. */
int base_reserve(const struct base_alloc *a, void **data, size_t *cap, size_t count,
                 size_t elem_size);

#endif
