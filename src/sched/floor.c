/* floor.c - free GPUs by node, and places by rules of locality (see floor.h).
 *
 * A gang that fits a node goes to the fullest node with room; one pass over the nodes of its kind.
 * Larger gangs, and smaller ones that were allowed to be spread, take the emptiest nodes first,
 * which uses the fewest, and for the rest the fullest node that holds it; one pass per count of
 * free GPUs, for each rack where one rack is asked for. Searches that failed are remembered until
 * GPUs are given back, as taking more never helps. */
#include "sched/floor.h"

#include "base/assert.h"
#include "sched/queue.h"
#include <stdlib.h>
#include <string.h>

enum { NO_NODE = UINT32_MAX };

/* ---- life ---- */

/* Sorts the nodes by (kind, rack, GPUs from many to few, index). */
static shoal_status sort_nodes(struct sched_floor *f)
{
    const struct sched_node *nodes = f->cluster->nodes;
    uint32_t count = f->cluster->node_count, at = 0;
    struct sched_rank *ranks = base_calloc(f->alloc, 2 * (size_t)count, sizeof *ranks);

    if (ranks == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t n = 0; n < count; n++) {
        double rack = (double)nodes[n].kind * f->cluster->rack_count + nodes[n].rack;
        ranks[n] = (struct sched_rank){.key = rack * (SCHED_NODE_GPUS_MAX + 1) +
                                              SCHED_NODE_GPUS_MAX - nodes[n].gpus,
                                       .job = n};
    }
    sched_rank_sort(ranks, ranks + count, count);
    for (uint32_t k = 0; k <= SCHED_KINDS_MAX; k++) {
        f->kind_from[k] = at;
        for (; at < count && nodes[ranks[at].job].kind == k; at++)
            f->order[at] = ranks[at].job;
    }
    base_free(f->alloc, ranks);
    return SHOAL_OK;
}

shoal_status sched_floor_init(struct sched_floor *floor, const struct base_alloc *alloc,
                              const struct sched_cluster *cluster)
{
    uint32_t n = cluster->node_count;

    *floor = (struct sched_floor){.alloc = alloc, .cluster = cluster, .gives = 1};
    floor->free = base_calloc(alloc, n, sizeof *floor->free);
    floor->multi = base_calloc(alloc, n, sizeof *floor->multi);
    floor->order = base_calloc(alloc, n, sizeof *floor->order);
    floor->places = base_calloc(alloc, n, sizeof *floor->places);
    bool ok = floor->free != NULL && floor->multi != NULL && floor->order != NULL &&
              floor->places != NULL && sort_nodes(floor) == SHOAL_OK;
    if (ok)
        return SHOAL_OK;
    sched_floor_fini(floor);
    return SHOAL_E_NOMEM;
}

void sched_floor_fini(struct sched_floor *floor)
{
    base_free(floor->alloc, floor->free);
    base_free(floor->alloc, floor->multi);
    base_free(floor->alloc, floor->order);
    base_free(floor->alloc, floor->places);
    *floor = (struct sched_floor){0};
}

void sched_floor_begin(struct sched_floor *floor, const struct sched_snapshot *snap)
{
    const struct sched_cluster *c = floor->cluster;

    floor->node_up = snap->node_up;
    floor->gives++;
    floor->gpus_up = 0;
    memset(floor->multi, 0, c->node_count * sizeof *floor->multi);
    memset(floor->kind_free, 0, sizeof floor->kind_free);
    memset(floor->holes, 0, c->kind_count * sizeof floor->holes[0]);
    for (uint32_t n = 0; n < c->node_count; n++) {
        uint32_t k = c->nodes[n].kind, free = snap->node_up[n] ? c->nodes[n].gpus : 0;
        floor->free[n] = (uint16_t)free;
        floor->kind_free[k] += free;
        floor->holes[k][free]++;
        floor->gpus_up += free;
    }
    floor->gpus_free = floor->gpus_up;
    if (!floor->begun || floor->node_changes != snap->node_changes)
        memset(floor->fewest, 0, sizeof floor->fewest);
    floor->begun = true;
    floor->node_changes = snap->node_changes;
}

static void set_free(struct sched_floor *f, uint32_t node, uint32_t free)
{
    uint32_t k = f->cluster->nodes[node].kind, old = f->free[node];

    f->holes[k][old]--;
    f->holes[k][free]++;
    f->kind_free[k] = f->kind_free[k] - old + free;
    f->gpus_free = f->gpus_free - old + free;
    f->free[node] = (uint16_t)free;
}

/* ---- given places ---- */

struct sched_alloc sched_floor_on_node(const struct sched_place *place, uint32_t kind)
{
    return (struct sched_alloc){
        .places = place, .place_count = 1, .gpus = place->gpus, .kind = (uint16_t)kind};
}

static int by_node(const void *a, const void *b)
{
    uint32_t x = ((const struct sched_place *)a)->node, y = ((const struct sched_place *)b)->node;

    return (x > y) - (x < y);
}

void sched_floor_sort(struct sched_place *places, uint32_t count)
{
    if (count > 1)
        qsort(places, count, sizeof *places, by_node);
}

bool sched_floor_fits(const struct sched_floor *floor, const struct sched_alloc *alloc)
{
    for (uint32_t i = 0; i < alloc->place_count; i++)
        if (floor->free[alloc->places[i].node] < alloc->places[i].gpus)
            return false;
    return true;
}

void sched_floor_take(struct sched_floor *floor, const struct sched_alloc *alloc)
{
    for (uint32_t i = 0; i < alloc->place_count; i++) {
        const struct sched_place *p = &alloc->places[i];
        shoal_assert(floor->free[p->node] >= p->gpus);
        set_free(floor, p->node, floor->free[p->node] - p->gpus);
        floor->multi[p->node] = (uint16_t)(floor->multi[p->node] + (alloc->gpus > 1));
    }
}

void sched_floor_give(struct sched_floor *floor, const struct sched_alloc *alloc)
{
    floor->gives++;
    for (uint32_t i = 0; i < alloc->place_count; i++) {
        const struct sched_place *p = &alloc->places[i];
        set_free(floor, p->node, floor->free[p->node] + p->gpus);
        floor->multi[p->node] = (uint16_t)(floor->multi[p->node] - (alloc->gpus > 1));
    }
}

/* ---- the fewest nodes ---- */

uint32_t sched_floor_rack_end(const struct sched_floor *f, uint32_t kind, uint32_t from)
{
    const struct sched_node *nodes = f->cluster->nodes;
    uint32_t end = from;

    while (end < f->kind_from[kind + 1] && nodes[f->order[end]].rack == nodes[f->order[from]].rack)
        end++;
    return end;
}

/* Nodes are in order of size within a rack. */
uint32_t sched_floor_fewest_in(const struct sched_floor *f, uint32_t from, uint32_t to,
                               uint32_t gpus)
{
    uint32_t count = 0;

    for (uint32_t i = from; i < to && gpus > 0; i++) {
        uint32_t size = f->cluster->nodes[f->order[i]].gpus;
        if (!f->node_up[f->order[i]])
            continue;
        gpus -= gpus < size ? gpus : size;
        count++;
    }
    return gpus == 0 ? count : 0;
}

static uint32_t fewest_anywhere(const struct sched_floor *f, uint32_t kind, uint32_t gpus)
{
    uint32_t size_count[SCHED_NODE_GPUS_MAX + 1] = {0}, count = 0;

    for (uint32_t i = f->kind_from[kind]; i < f->kind_from[kind + 1]; i++)
        if (f->node_up[f->order[i]])
            size_count[f->cluster->nodes[f->order[i]].gpus]++;
    for (uint32_t size = SCHED_NODE_GPUS_MAX; size > 0; size--)
        for (uint32_t i = 0; i < size_count[size] && gpus > 0; i++) {
            gpus -= gpus < size ? gpus : size;
            count++;
        }
    return gpus == 0 ? count : 0;
}

static const struct sched_floor_fewest *fewest(struct sched_floor *f, uint32_t kind, uint32_t gpus)
{
    struct sched_floor_fewest *memo = &f->fewest[(gpus * 7 + kind) % SCHED_FLOOR_MEMO];
    uint32_t best = 0;

    if (memo->gpus == gpus && memo->kind == kind)
        return memo;
    for (uint32_t from = f->kind_from[kind]; from < f->kind_from[kind + 1];) {
        uint32_t to = sched_floor_rack_end(f, kind, from),
                 count = sched_floor_fewest_in(f, from, to, gpus);
        if (count > 0 && (best == 0 || count < best))
            best = count;
        from = to;
    }
    *memo = (struct sched_floor_fewest){.gpus = gpus,
                                        .kind = (uint16_t)kind,
                                        .rack_nodes = best,
                                        .nodes = best > 0 ? best : fewest_anywhere(f, kind, gpus)};
    return memo;
}

uint32_t sched_floor_fewest(struct sched_floor *floor, uint32_t kind, uint32_t gpus)
{
    return fewest(floor, kind, gpus)->nodes;
}

bool sched_floor_one_rack(struct sched_floor *floor, uint32_t kind, uint32_t gpus)
{
    return fewest(floor, kind, gpus)->rack_nodes > 0;
}

/* ---- places ---- */

/* Whether it would be better off on node a than on b, both with room; a comes after b. */
static bool better(const struct sched_floor *f, struct sched_floor_rules rules, uint32_t a,
                   uint32_t b)
{
    uint32_t size_a = f->cluster->nodes[a].gpus, size_b = f->cluster->nodes[b].gpus;

    if (rules.apart && size_a != size_b)
        return size_a < size_b;
    return f->free[a] != f->free[b] ? f->free[a] < f->free[b] : a < b;
}

static uint32_t one_node(const struct sched_floor *f, uint32_t kind, uint32_t gpus,
                         struct sched_floor_rules rules, bool alone)
{
    uint32_t best = NO_NODE, room = 0;

    for (uint32_t free = gpus; free <= SCHED_NODE_GPUS_MAX; free++)
        room += f->holes[kind][free];
    for (uint32_t i = f->kind_from[kind]; room > 0 && i < f->kind_from[kind + 1]; i++) {
        uint32_t node = f->order[i];
        if (f->free[node] < gpus)
            continue;
        room--;
        if (alone && f->multi[node] > 0)
            continue;
        if (best == NO_NODE || better(f, rules, node, best))
            best = node;
    }
    return best;
}

/* The fullest node among positions from .. to that holds `gpus`. */
static uint32_t tightest(const struct sched_floor *f, uint32_t from, uint32_t to, uint32_t gpus,
                         bool alone, uint32_t below)
{
    uint32_t best = NO_NODE;

    for (uint32_t i = from; i < to; i++) {
        uint32_t node = f->order[i];
        if (f->free[node] >= gpus && f->free[node] < below && !(alone && f->multi[node] > 0) &&
            (best == NO_NODE || f->free[node] < f->free[best]))
            best = node;
    }
    return best;
}

/* Takes GPUs from the emptiest nodes among positions from .. to, the rest from the fullest that
 * holds it. Places are in floor->places, not yet taken from what is free. 0: they are not enough.
 * */
static uint32_t span(struct sched_floor *f, uint32_t kind, uint32_t from, uint32_t to,
                     uint32_t gpus, bool alone)
{
    uint32_t count = 0, last = 0;

    for (uint32_t free = f->cluster->kinds[kind].node_gpus_max; free > 0 && gpus > 0; free--) {
        for (uint32_t i = from; f->holes[kind][free] > 0 && i < to && gpus > 0; i++) {
            uint32_t node = f->order[i];
            if (f->free[node] != free || (alone && f->multi[node] > 0))
                continue;
            last = gpus < free ? gpus : free;
            f->places[count++] = (struct sched_place){.node = node, .gpus = last};
            gpus -= last;
        }
    }
    if (gpus > 0)
        return 0;
    uint32_t node = f->places[count - 1].node;
    uint32_t tight = tightest(f, from, to, last, alone, f->free[node]);
    bool taken = false; /* of this gang: all those before have more free than the last */
    for (uint32_t i = 0; i + 1 < count; i++)
        taken = taken || f->places[i].node == tight;
    if (tight != NO_NODE && !taken)
        f->places[count - 1].node = tight;
    return count;
}

static uint32_t span_one_rack(struct sched_floor *f, uint32_t kind, uint32_t gpus, bool alone)
{
    uint32_t best_from = NO_NODE, best_to = 0, best = UINT32_MAX;

    for (uint32_t from = f->kind_from[kind]; from < f->kind_from[kind + 1];) {
        uint32_t to = sched_floor_rack_end(f, kind, from),
                 count = span(f, kind, from, to, gpus, alone);
        if (count > 0 && count < best) {
            best = count;
            best_from = from;
            best_to = to;
        }
        from = to;
    }
    return best_from == NO_NODE ? 0 : span(f, kind, best_from, best_to, gpus, alone);
}

/* With or without meeting other jobs of several GPUs (alone). */
static uint32_t search(struct sched_floor *f, uint32_t kind, uint32_t gpus,
                       struct sched_floor_rules rules, bool alone)
{
    uint32_t node = one_node(f, kind, gpus, rules, alone), count;

    if (node != NO_NODE) {
        f->places[0] = (struct sched_place){.node = node, .gpus = gpus};
        return 1;
    }
    uint32_t most =
        rules.level == SCHED_LOCALITY_STRICT ? sched_floor_fewest(f, kind, gpus) : UINT32_MAX;
    if (most <= 1)
        return 0;
    bool rack = rules.level != SCHED_LOCALITY_ANYWHERE && sched_floor_one_rack(f, kind, gpus);
    if (rack)
        count = span_one_rack(f, kind, gpus, alone);
    else
        count = span(f, kind, f->kind_from[kind], f->kind_from[kind + 1], gpus, alone);
    return count <= most ? count : 0;
}

bool sched_floor_find(struct sched_floor *floor, uint32_t kind, uint32_t gpus,
                      struct sched_floor_rules rules, struct sched_alloc *out)
{
    uint16_t bits = (uint16_t)(1 + rules.level);
    uint32_t slot = (gpus * 5 + kind * 11 + bits) % SCHED_FLOOR_MEMO;

    if (floor->kind_free[kind] < gpus)
        return false;
    if (floor->failed[slot].gives == floor->gives && floor->failed[slot].gpus == gpus &&
        floor->failed[slot].kind == kind && floor->failed[slot].rules == bits)
        return false;
    uint32_t count = 0;
    if (rules.apart && gpus > 1)
        count = search(floor, kind, gpus, rules, true);
    if (count == 0)
        count = search(floor, kind, gpus, rules, false);
    if (count == 0) {
        floor->failed[slot].gives = floor->gives;
        floor->failed[slot].gpus = gpus;
        floor->failed[slot].kind = (uint16_t)kind;
        floor->failed[slot].rules = bits;
        return false;
    }
    sched_floor_sort(floor->places, count);
    *out = (struct sched_alloc){
        .places = floor->places, .place_count = count, .gpus = gpus, .kind = (uint16_t)kind};
    sched_floor_take(floor, out);
    return true;
}
