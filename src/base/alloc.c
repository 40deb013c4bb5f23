/* alloc.c - the libc allocator, the counting and failing one, and growth of caller-owned arrays.
 *
 * A tracked block carries a 16-byte header with its size, so that counts are exact whatever lies
 * below. Tests: tests/unit/base/test_alloc.c. */
#include "base/alloc.h"

#include "base/assert.h"
#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { RESERVE_MIN = 8 };

struct track_header {
    alignas(16) size_t size;
};

static void *libc_fn(void *ctx, void *p, size_t size)
{
    (void)ctx;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, size);
}

const struct base_alloc base_alloc_libc = {libc_fn, NULL};

void *base_malloc(const struct base_alloc *a, size_t size)
{
    return a->fn(a->ctx, NULL, size == 0 ? 1 : size);
}

void *base_calloc(const struct base_alloc *a, size_t count, size_t size)
{
    size_t total = 0;
    if (__builtin_mul_overflow(count, size, &total))
        return NULL;
    void *p = base_malloc(a, total);
    if (p != NULL)
        memset(p, 0, total);
    return p;
}

void *base_realloc(const struct base_alloc *a, void *p, size_t size)
{
    shoal_assert(size > 0);
    return a->fn(a->ctx, p, size);
}

char *base_strdup(const struct base_alloc *a, const char *s)
{
    size_t size = strlen(s) + 1;
    char *copy = base_malloc(a, size);
    if (copy != NULL)
        memcpy(copy, s, size);
    return copy;
}

void base_free(const struct base_alloc *a, void *p)
{
    if (p != NULL)
        (void)a->fn(a->ctx, p, 0);
}

static bool track_refuses(struct base_alloc_track *track)
{
    track->calls++;
    if (track->fail_at == 0)
        return false;
    if (track->calls == track->fail_at)
        return true;
    return track->fail_after != 0 && track->calls > track->fail_at;
}

static void track_forget(struct base_alloc_track *track, size_t size)
{
    shoal_assert(track->live_count > 0 && track->live_bytes >= size);
    track->live_count--;
    track->live_bytes -= size;
}

static void *track_fn(void *ctx, void *p, size_t size)
{
    struct base_alloc_track *track = ctx;
    struct track_header *old = p == NULL ? NULL : (struct track_header *)p - 1;
    size_t old_size = old == NULL ? 0 : old->size;

    if (size == 0) {
        if (old != NULL) {
            track_forget(track, old_size);
            (void)track->inner->fn(track->inner->ctx, old, 0);
        }
        return NULL;
    }
    size_t total = 0;
    if (track_refuses(track) || __builtin_add_overflow(size, sizeof *old, &total)) {
        track->failed++;
        return NULL;
    }
    struct track_header *header = track->inner->fn(track->inner->ctx, old, total);
    if (header == NULL) {
        track->failed++;
        return NULL;
    }
    if (old != NULL)
        track_forget(track, old_size);
    header->size = size;
    track->live_count++;
    track->live_bytes += size;
    if (track->live_bytes > track->peak_bytes)
        track->peak_bytes = track->live_bytes;
    return header + 1;
}

void base_alloc_track_init(struct base_alloc_track *track, const struct base_alloc *inner)
{
    *track = (struct base_alloc_track){.alloc = {track_fn, track}, .inner = inner};
}

int base_reserve(const struct base_alloc *a, void **data, size_t *cap, size_t count,
                 size_t elem_size)
{
    if (count <= *cap)
        return 0;
    size_t want = *cap > SIZE_MAX / 2 ? count : *cap * 2;
    if (want < RESERVE_MIN)
        want = RESERVE_MIN;
    if (want < count)
        want = count;
    size_t bytes = 0;
    if (__builtin_mul_overflow(want, elem_size, &bytes)) {
        want = count;
        if (__builtin_mul_overflow(want, elem_size, &bytes))
            return -1;
    }
    void *grown = a->fn(a->ctx, *data, bytes == 0 ? 1 : bytes);
    if (grown == NULL)
        return -1;
    *data = grown;
    *cap = want;
    return 0;
}
