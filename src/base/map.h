/* map.h - a hash map from byte strings to 64-bit values. Keys are copied. Open addressing, grows at
 * 3/4 full. Iteration order is insertion order, so it never depends on the hash. Owner thread only.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/arena.h"
#include "shoal/status.h"
#include <stdbool.h>

struct base_map_entry {
    const char *key; /* NUL-terminated copy */
    size_t key_size;
    uint64_t hash;
    uint64_t value;
};

struct base_map {
    const struct base_alloc *alloc;
    struct base_arena keys;
    struct base_map_entry *entries; /* `count` of them, in insertion order */
    size_t count, entry_cap;
    uint32_t *slots; /* 0: empty, else entry index + 1 */
    size_t slot_count;
};

void base_map_init(struct base_map *map, const struct base_alloc *alloc);
void base_map_fini(struct base_map *map);
/* The entry, or NULL. Borrowed until the next insertion. */
struct base_map_entry *base_map_find(const struct base_map *map, const char *key, size_t key_size);
/* Adds key -> value. SHOAL_E_EXISTS leaves the old value; *out_entry (may be NULL) is then the old
 * entry. */
SHOAL_MUST_USE shoal_status base_map_add(struct base_map *map, const char *key, size_t key_size,
                                         uint64_t value, struct base_map_entry **out_entry);

#endif
