/* secrets.h - is memory given back with a secret still in it?
 *
 * An allocator that keeps what was freed, as it was, until the end, when it can be searched: by then the
 * test knows the secret. Any thread. */
#ifndef TESTS_SECRETS_H
#define TESTS_SECRETS_H

#include "base/alloc.h"
#include "base/assert.h"
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct secrets_block {
    struct secrets_block *next; /* when freed */
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
};

struct secrets {
    struct base_alloc alloc; /* to be used */
    pthread_mutex_t lock;
    struct secrets_block *freed;
    size_t count;
};

static inline struct secrets_block *secrets_block_of(void *p)
{
    return (struct secrets_block *)(void *)((char *)p - offsetof(struct secrets_block, bytes));
}

static inline void *secrets_alloc(void *ctx, void *p, size_t size)
{
    struct secrets *s = ctx;
    struct secrets_block *old = p != NULL ? secrets_block_of(p) : NULL, *new = NULL;
    if (size > 0) {
        new = malloc(sizeof *new + size);
        shoal_assert(new != NULL);
        new->size = size;
    }
    if (old != NULL && new != NULL)
        memcpy(new->bytes, old->bytes, old->size < size ? old->size : size);
    if (old != NULL) {
        shoal_assert(pthread_mutex_lock(&s->lock) == 0);
        old->next = s->freed;
        s->freed = old;
        s->count++;
        shoal_assert(pthread_mutex_unlock(&s->lock) == 0);
    }
    return new != NULL ? new->bytes : NULL;
}

static inline void secrets_init(struct secrets *s)
{
    *s = (struct secrets){.alloc = {secrets_alloc, s}};
    shoal_assert(pthread_mutex_init(&s->lock, NULL) == 0);
}

/* How many blocks were freed with these bytes in them. */
static inline size_t secrets_find(const struct secrets *s, const void *bytes, size_t size)
{
    size_t found = 0;
    for (const struct secrets_block *block = s->freed; block != NULL; block = block->next)
        for (size_t at = 0; at + size <= block->size; at++)
            if (memcmp(block->bytes + at, bytes, size) == 0) {
                found++;
                break;
            }
    return found;
}

static inline void secrets_fini(struct secrets *s)
{
    while (s->freed != NULL) {
        struct secrets_block *block = s->freed;
        s->freed = block->next;
        free(block);
    }
    (void)pthread_mutex_destroy(&s->lock);
}

#endif
