/* loop_list.h - rings of things that belong to a loop: each holds its node, so that leaving costs
 * nothing and needs no memory. Private to src/env. */
#ifndef ENV_LOOP_LIST_H
#define ENV_LOOP_LIST_H

#include <stddef.h>

struct loop_list {
    struct loop_list *next, *prev; /* the head is in the ring too */
};

static inline void loop_list_init(struct loop_list *list)
{
    list->next = list->prev = list;
}

static inline void loop_list_add(struct loop_list *list, struct loop_list *node)
{
    node->prev = list->prev;
    node->next = list;
    list->prev->next = node;
    list->prev = node;
}

/* Also of a node that is in no list, when it was initialised. */
static inline void loop_list_remove(struct loop_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    loop_list_init(node);
}

/* The thing that holds the node. */
#define LOOP_OF(type, member, node) ((type *)(void *)((char *)(node)-offsetof(type, member)))

#endif
