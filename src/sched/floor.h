/* floor.h - who sits where: free GPUs by node, and places for a gang by rules of locality that a
 * policy applies by itself.
 *
 * plan.h keeps the books of a decision and refuses what does not fit; a floor is what a policy
 * thinks on before it says anything: GPUs may be given and taken back, which is how moves are
 * tried. It also knows how many jobs of several GPUs are on each node, so that they can be kept
 * apart.
 *
 * Always true: a node that is down has nothing free; ties go to the lowest node. Owner thread only.
 * Tests: tests/unit/sched/test_floor.c. */
#ifndef SCHED_FLOOR_H
#define SCHED_FLOOR_H

#include "sched/plan.h"

enum { SCHED_FLOOR_MEMO = 64 };

struct sched_floor {
    const struct base_alloc *alloc;
    const struct sched_cluster *cluster;
    const bool *node_up;
    uint16_t *free;  /* by node */
    uint16_t *multi; /* by node: jobs of two GPUs or more */
    uint32_t *order; /* nodes by (kind, rack, GPUs from many to few, index) */
    uint32_t kind_from[SCHED_KINDS_MAX + 1];
    uint32_t kind_free[SCHED_KINDS_MAX];
    uint32_t holes[SCHED_KINDS_MAX][SCHED_NODE_GPUS_MAX + 1]; /* nodes by free GPUs */
    uint32_t gpus_up, gpus_free;
    struct sched_place *places; /* what the last find took; room for one per node */
    uint64_t gives; /* counts what was given back: a search that failed fails again until then */
    bool begun;
    uint64_t node_changes;
    struct sched_floor_fewest {
        uint32_t gpus, nodes, rack_nodes;
        uint16_t kind;
    } fewest[SCHED_FLOOR_MEMO]; /* gpus 0: not known */
    struct {
        uint64_t gives;
        uint32_t gpus;
        uint16_t kind, rules; /* rules 0: not known */
    } failed[SCHED_FLOOR_MEMO];
};

/* How a gang may be placed. */
struct sched_floor_rules {
    enum sched_locality level; /* strict: fewest nodes, in one rack where one can hold the gang */
    bool apart; /* where it can: a job of several GPUs on nodes without another such job, and small
                   nodes before large ones */
};

/* On failure nothing is left to free. */
SHOAL_MUST_USE shoal_status sched_floor_init(struct sched_floor *floor,
                                             const struct base_alloc *alloc,
                                             const struct sched_cluster *cluster);
void sched_floor_fini(struct sched_floor *floor);
/* Every GPU of every live node is free; snap->node_up is borrowed until the next begin. */
void sched_floor_begin(struct sched_floor *floor, const struct sched_snapshot *snap);

/* A gang of all the GPUs of one place, which is borrowed. */
struct sched_alloc sched_floor_on_node(const struct sched_place *place, uint32_t kind);
/* Nodes increasing, as places of a gang are. */
void sched_floor_sort(struct sched_place *places, uint32_t count);

/* May these places be taken as they are? */
bool sched_floor_fits(const struct sched_floor *floor, const struct sched_alloc *alloc);
void sched_floor_take(struct sched_floor *floor, const struct sched_alloc *alloc);
void sched_floor_give(struct sched_floor *floor, const struct sched_alloc *alloc);

/* Fewest live nodes of the kind that could hold the gang, in one rack where one can: what strict
 * asks for. 0: all of them together cannot. */
uint32_t sched_floor_fewest(struct sched_floor *floor, uint32_t kind, uint32_t gpus);
/* Whether one rack can hold it, were it empty. */
bool sched_floor_one_rack(struct sched_floor *floor, uint32_t kind, uint32_t gpus);

/* A rack begins at position `from` of the order: where it ends; and fewest live nodes there, 0:
 * they cannot hold it. */
uint32_t sched_floor_rack_end(const struct sched_floor *floor, uint32_t kind, uint32_t from);
uint32_t sched_floor_fewest_in(const struct sched_floor *floor, uint32_t from, uint32_t to,
                               uint32_t gpus);

/* Finds and takes places, nodes increasing; *out points to floor->places until the next call.
 * False, and nothing changes, where there are none. */
bool sched_floor_find(struct sched_floor *floor, uint32_t kind, uint32_t gpus,
                      struct sched_floor_rules rules, struct sched_alloc *out);

#endif
