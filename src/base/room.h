/* room.h - arrays that grow and are freed together.
 *
 *     struct base_room room = {.alloc = alloc};
 *     BASE_ROOM(&room, rates, jobs);       `rates` is any pointer to objects, NULL at first
 *     BASE_ROOM(&room, marks, jobs);
 *     st = base_room_status(&room);        once for all of them
 *
 * An array keeps what it holds and may move. Where memory is short it stays as it was, with the room it
 * had. Owner thread only. Tests: tests/unit/base/test_room.c. */
#ifndef BASE_ROOM_H
#define BASE_ROOM_H

#include "base/alloc.h"
#include "shoal/status.h"
#include <stdbool.h>

struct base_room {
    const struct base_alloc *alloc;
    struct base_room_array *first;
    bool short_of_memory;
};

/* Room for `count` elements, growing by doubling; and all of them 0. */
#define BASE_ROOM(room, array, count) \
    ((array) = base_room_grow(room, array, count, sizeof *(array)))
#define BASE_ROOM_ZERO(room, array, count) \
    ((array) = base_room_zero(room, array, count, sizeof *(array)))
void *base_room_grow(struct base_room *room, void *array, size_t count, size_t elem_size);
void *base_room_zero(struct base_room *room, void *array, size_t count, size_t elem_size);
/* Whether all since the last call have what they asked for: else SHOAL_E_NOMEM. */
SHOAL_MUST_USE shoal_status base_room_status(struct base_room *room);
/* Frees all arrays. */
void base_room_fini(struct base_room *room);

#endif
