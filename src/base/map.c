/* map.c - entries in an array in insertion order, found through a table of indices with linear
 * probing.
 *
 * Everything that can fail happens before anything changes, so a refused base_map_add leaves the
 * map as it was (it may have grown). Tests: tests/unit/base/test_map.c. */
#include "base/map.h"

#include "base/assert.h"
#include <string.h>

enum { SLOTS_MIN = 16, KEY_BLOCK_SIZE = 4096 };

void base_map_init(struct base_map *map, const struct base_alloc *alloc)
{
    *map = (struct base_map){.alloc = alloc};
    base_arena_init(&map->keys, alloc, KEY_BLOCK_SIZE);
}

void base_map_fini(struct base_map *map)
{
    base_arena_fini(&map->keys);
    base_free(map->alloc, map->entries);
    base_free(map->alloc, map->slots);
    map->entries = NULL;
    map->slots = NULL;
    map->count = map->entry_cap = map->slot_count = 0;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Eight bytes a step, folded by a 128-bit product; the size goes in first so that zeros count. */
static uint64_t hash_bytes(const char *bytes, size_t size)
{
    const uint64_t odd_a = 0x9E3779B97F4A7C15u, odd_b = 0xD6E8FEB86659FD93u;
    uint64_t h = mix(size ^ odd_b, odd_a);
    while (size >= 8) {
        uint64_t word = 0;
        memcpy(&word, bytes, 8);
        h = mix(h ^ word ^ odd_b, odd_a);
        bytes += 8;
        size -= 8;
    }
    uint64_t tail = 0;
    if (size > 0)
        memcpy(&tail, bytes, size);
    h = mix(h ^ tail ^ odd_a, odd_b);
    return mix(h ^ odd_a, odd_b);
}

/* The slot that holds the key, or the empty one where it belongs. slot_count is a power of two,
 * never full. */
static size_t probe(const struct base_map *map, const char *key, size_t key_size, uint64_t hash)
{
    size_t mask = map->slot_count - 1;
    size_t slot = (size_t)hash & mask;
    for (; map->slots[slot] != 0; slot = (slot + 1) & mask) {
        const struct base_map_entry *entry = &map->entries[map->slots[slot] - 1];
        if (entry->hash == hash && entry->key_size == key_size &&
            memcmp(entry->key, key, key_size) == 0)
            break;
    }
    return slot;
}

struct base_map_entry *base_map_find(const struct base_map *map, const char *key, size_t key_size)
{
    if (map->count == 0)
        return NULL;
    uint32_t index = map->slots[probe(map, key, key_size, hash_bytes(key, key_size))];
    return index == 0 ? NULL : &map->entries[index - 1];
}

static shoal_status grow_slots(struct base_map *map)
{
    size_t slot_count = map->slot_count == 0 ? SLOTS_MIN : map->slot_count * 2;
    uint32_t *slots = base_calloc(map->alloc, slot_count, sizeof *slots);
    if (slots == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < map->count; i++) {
        size_t slot = (size_t)map->entries[i].hash & (slot_count - 1);
        while (slots[slot] != 0)
            slot = (slot + 1) & (slot_count - 1);
        slots[slot] = (uint32_t)(i + 1);
    }
    base_free(map->alloc, map->slots);
    map->slots = slots;
    map->slot_count = slot_count;
    return SHOAL_OK;
}

shoal_status base_map_add(struct base_map *map, const char *key, size_t key_size, uint64_t value,
                          struct base_map_entry **out_entry)
{
    uint64_t hash = hash_bytes(key, key_size);
    if (map->count > 0) {
        uint32_t index = map->slots[probe(map, key, key_size, hash)];
        if (index != 0) {
            if (out_entry != NULL)
                *out_entry = &map->entries[index - 1];
            return SHOAL_E_EXISTS;
        }
    }
    if (map->count >= UINT32_MAX - 1)
        return SHOAL_E_LIMIT;
    void *entries = map->entries;
    if (base_reserve(map->alloc, &entries, &map->entry_cap, map->count + 1, sizeof *map->entries) !=
        0)
        return SHOAL_E_NOMEM;
    map->entries = entries;
    if ((map->count + 1) * 4 > map->slot_count * 3) {
        shoal_status st = grow_slots(map);
        if (st != SHOAL_OK)
            return st;
    }
    const char *copy = base_arena_strndup(&map->keys, key, key_size);
    if (copy == NULL)
        return SHOAL_E_NOMEM;

    size_t slot = probe(map, key, key_size, hash);
    shoal_dassert(map->slots[slot] == 0);
    struct base_map_entry *entry = &map->entries[map->count++];
    *entry = (struct base_map_entry){copy, key_size, hash, value};
    map->slots[slot] = (uint32_t)map->count;
    if (out_entry != NULL)
        *out_entry = entry;
    return SHOAL_OK;
}
