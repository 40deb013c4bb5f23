/* arena.h - memory that dies together: a round, a parse, a report.
 *
 * base_arena_alloc never moves what it returned; base_arena_clear keeps the largest block for
 * reuse, so a loop that clears stops allocating after warm-up. All memory is 16-byte aligned and
 * not zeroed unless said. Owner thread only. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/alloc.h"

struct base_arena_block;

struct base_arena {
    const struct base_alloc *alloc;
    struct base_arena_block *blocks; /* newest first */
    size_t used;                     /* in the newest block */
    size_t block_size;
};

void base_arena_init(struct base_arena *arena, const struct base_alloc *alloc, size_t block_size);
void base_arena_fini(struct base_arena *arena);
void base_arena_clear(struct base_arena *arena);
void *base_arena_alloc(struct base_arena *arena, size_t size); /* NULL when memory is short */
void *base_arena_calloc(struct base_arena *arena, size_t count, size_t size);
char *base_arena_strndup(struct base_arena *arena, const char *s, size_t length);

#endif
