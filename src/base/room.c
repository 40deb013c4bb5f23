/* room.c - see room.h. In front of an array lies a head that says how large both are and who its neighbour is. */
#include "base/room.h"

#include <stdalign.h>
#include <string.h>

struct base_room_array {
    alignas(16) struct base_room_array *next;
    struct base_room_array **from; /* what points here */
    size_t size;                   /* bytes, the head's too */
};

void *base_room_grow(struct base_room *room, void *array, size_t count, size_t elem_size)
{
    struct base_room_array *head = array == NULL ? NULL : (struct base_room_array *)array - 1;
    size_t size = head == NULL ? 0 : head->size, need = 0;
    void *grown = head;

    bool fits = !__builtin_mul_overflow(count, elem_size, &need) &&
                !__builtin_add_overflow(need, sizeof *head, &need);
    if (fits && need <= size)
        return array;
    if (!fits || base_reserve(room->alloc, &grown, &size, need, 1) != 0) {
        room->short_of_memory = true;
        return array;
    }
    head = grown;
    head->size = size;
    if (array == NULL) {
        head->next = room->first;
        head->from = &room->first;
    }
    *head->from = head;
    if (head->next != NULL)
        head->next->from = &head->next;
    return head + 1;
}

void *base_room_zero(struct base_room *room, void *array, size_t count, size_t elem_size)
{
    array = base_room_grow(room, array, count, elem_size);
    if (!room->short_of_memory)
        memset(array, 0, count * elem_size);
    return array;
}

shoal_status base_room_status(struct base_room *room)
{
    shoal_status st = room->short_of_memory ? SHOAL_E_NOMEM : SHOAL_OK;

    room->short_of_memory = false;
    return st;
}

void base_room_fini(struct base_room *room)
{
    for (struct base_room_array *a = room->first, *next; a != NULL; a = next) {
        next = a->next;
        base_free(room->alloc, a);
    }
    room->first = NULL;
}
