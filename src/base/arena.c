/* arena.c - bump allocation in blocks.
 *
 * A request that fits no block of the usual size gets one of its own, linked behind the newest so
 * that the newest keeps filling up. base_arena_clear keeps the largest block and raises block_size
 * to what the last use needed in all: the next use takes at most one more block, the one after that
 * none. Tests: tests/unit/base/test_arena.c. */
#include "base/arena.h"

#include <stdalign.h>
#include <string.h>

enum { ALIGN = 16, BLOCK_SIZE_DEFAULT = 16384 };

struct base_arena_block {
    struct base_arena_block *next;
    size_t size;
    alignas(ALIGN) char data[];
};

void base_arena_init(struct base_arena *arena, const struct base_alloc *alloc, size_t block_size)
{
    if (block_size == 0)
        block_size = BLOCK_SIZE_DEFAULT;
    *arena = (struct base_arena){.alloc = alloc, .block_size = block_size};
}

static void free_blocks(const struct base_alloc *alloc, struct base_arena_block *block)
{
    while (block != NULL) {
        struct base_arena_block *next = block->next;
        base_free(alloc, block);
        block = next;
    }
}

void base_arena_fini(struct base_arena *arena)
{
    free_blocks(arena->alloc, arena->blocks);
    arena->blocks = NULL;
    arena->used = 0;
}

void base_arena_clear(struct base_arena *arena)
{
    struct base_arena_block *largest = arena->blocks;
    size_t total = 0;
    for (struct base_arena_block *b = arena->blocks; b != NULL; b = b->next) {
        total += b->size;
        if (b->size > largest->size)
            largest = b;
    }
    arena->used = 0;
    if (largest == NULL || (largest == arena->blocks && largest->next == NULL))
        return;

    struct base_arena_block **link = &arena->blocks;
    while (*link != largest)
        link = &(*link)->next;
    *link = largest->next;
    free_blocks(arena->alloc, arena->blocks);
    largest->next = NULL;
    arena->blocks = largest;
    if (arena->block_size < total)
        arena->block_size = total;
}

static void *alloc_in_new_block(struct base_arena *arena, size_t size)
{
    size_t capacity = size > arena->block_size ? size : arena->block_size;
    size_t total = 0;
    if (__builtin_add_overflow(capacity, sizeof(struct base_arena_block), &total))
        return NULL;
    struct base_arena_block *block = base_malloc(arena->alloc, total);
    if (block == NULL)
        return NULL;
    block->size = capacity;
    if (size > arena->block_size && arena->blocks != NULL) {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    } else {
        block->next = arena->blocks;
        arena->blocks = block;
        arena->used = size;
    }
    return block->data;
}

void *base_arena_alloc(struct base_arena *arena, size_t size)
{
    if (size > SIZE_MAX - (ALIGN - 1))
        return NULL;
    size = size == 0 ? ALIGN : (size + (ALIGN - 1)) & ~(size_t)(ALIGN - 1);
    struct base_arena_block *block = arena->blocks;
    if (block == NULL || block->size - arena->used < size)
        return alloc_in_new_block(arena, size);
    void *p = block->data + arena->used;
    arena->used += size;
    return p;
}

void *base_arena_calloc(struct base_arena *arena, size_t count, size_t size)
{
    size_t total = 0;
    if (__builtin_mul_overflow(count, size, &total))
        return NULL;
    void *p = base_arena_alloc(arena, total);
    if (p != NULL)
        memset(p, 0, total);
    return p;
}

char *base_arena_strndup(struct base_arena *arena, const char *s, size_t length)
{
    if (length == SIZE_MAX)
        return NULL;
    char *copy = base_arena_alloc(arena, length + 1);
    if (copy == NULL)
        return NULL;
    if (length > 0)
        memcpy(copy, s, length);
    copy[length] = '\0';
    return copy;
}
