/* defrag.c - room for a gang by moving a few running jobs elsewhere (see defrag.h).
 *
 * A gang asks for pieces: the sizes of the largest nodes of a rack until they are enough, the last
 * one cut. Piece by piece the cheapest node is found: of the jobs on it the set that frees enough
 * with the fewest GPUs moved, by a table over sums of GPUs (at most 64 x 64 steps), then the fewest
 * jobs. Those of the set, largest first, are put into holes elsewhere; where that fails the next
 * cheapest node is tried, a few times. Cost: nodes x jobs per node x GPUs per node for each piece.
 * */
#include "sched/defrag.h"

#include "base/assert.h"
#include <string.h>

enum { TRIES = 6, SUMS = SCHED_NODE_GPUS_MAX + 1, NO_NODE = UINT32_MAX };

void sched_defrag_fini(struct sched_defrag *d)
{
    base_free(d->alloc, d->from);
    base_free(d->alloc, d->jobs);
    base_free(d->alloc, d->places);
    *d = (struct sched_defrag){0};
}

shoal_status sched_defrag_begin(struct sched_defrag *d, struct sched_floor *floor,
                                const struct sched_snapshot *snap, bool *movable)
{
    uint32_t nodes = floor->cluster->node_count;

    d->alloc = snap->alloc;
    d->floor = floor;
    d->snap = snap;
    d->movable = movable;
    memset(d->failed, 0, sizeof d->failed);
    if (base_reserve(d->alloc, (void **)&d->from, &d->from_cap, nodes + 2, sizeof *d->from) != 0 ||
        base_reserve(d->alloc, (void **)&d->jobs, &d->jobs_cap, snap->job_count + 1,
                     sizeof *d->jobs) != 0 ||
        base_reserve(d->alloc, (void **)&d->places, &d->places_cap, nodes, sizeof *d->places) != 0)
        return SHOAL_E_NOMEM;
    memset(d->from, 0, (nodes + 2) * sizeof *d->from);
    for (size_t i = 0; i < snap->job_count; i++)
        if (movable[i] && snap->jobs[i]->alloc.place_count == 1)
            d->from[snap->jobs[i]->alloc.places[0].node + 2]++;
    for (uint32_t n = 2; n <= nodes; n++)
        d->from[n + 1] += d->from[n];
    for (size_t i = 0; i < snap->job_count; i++)
        if (movable[i] && snap->jobs[i]->alloc.place_count == 1)
            d->jobs[d->from[snap->jobs[i]->alloc.places[0].node + 1]++] = (uint32_t)i;
    return SHOAL_OK;
}

/* The jobs of a node that move, largest first. */
struct set {
    uint32_t jobs[SCHED_NODE_GPUS_MAX];
    uint32_t count, gpus;
};

/* Of the jobs at hand those that free at least `need` GPUs with the fewest moved. */
static bool choose(const struct sched_defrag *d, const uint32_t *jobs, uint32_t count,
                   uint32_t need, struct set *set)
{
    uint8_t least[SUMS];       /* jobs for that sum; UINT8_MAX: cannot be had */
    uint64_t used[SUMS] = {0}; /* which, as bits: at most 64 jobs lie on a node */

    shoal_assert(count <= 64);
    memset(least, UINT8_MAX, sizeof least);
    least[0] = 0;
    for (uint32_t j = 0; j < count; j++) {
        uint32_t gpus = d->snap->jobs[jobs[j]]->alloc.gpus;
        for (uint32_t sum = SUMS; sum-- > gpus;)
            if (least[sum - gpus] != UINT8_MAX && least[sum - gpus] + 1 < least[sum]) {
                least[sum] = (uint8_t)(least[sum - gpus] + 1);
                used[sum] = used[sum - gpus] | UINT64_C(1) << j;
            }
    }
    uint32_t sum = need;
    while (sum < SUMS && least[sum] == UINT8_MAX)
        sum++;
    if (sum >= SUMS)
        return false;
    for (uint32_t j = 0; j < count; j++)
        if ((used[sum] >> j & 1) != 0) {
            set->jobs[set->count++] = jobs[j];
            set->gpus += d->snap->jobs[jobs[j]]->alloc.gpus;
        }
    return true;
}

/* Whom to move off the node so that `piece` GPUs are free. False: it cannot be done. */
static bool clear_set(const struct sched_defrag *d, uint32_t node, uint32_t piece, struct set *set)
{
    uint32_t jobs[SCHED_NODE_GPUS_MAX], count = 0, free = d->floor->free[node];

    set->count = set->gpus = 0;
    if (free >= piece)
        return true;
    for (uint32_t i = d->from[node]; i < d->from[node + 1]; i++)
        if (d->movable[d->jobs[i]])
            jobs[count++] = d->jobs[i];
    return choose(d, jobs, count, piece - free, set);
}

static bool used_already(const struct sched_defrag *d, uint32_t node)
{
    for (uint32_t i = 0; i < d->place_count; i++)
        if (d->places[i].node == node)
            return true;
    return false;
}

static void sort_largest(const struct sched_defrag *d, struct set *set)
{
    for (uint32_t i = 1; i < set->count; i++) {
        uint32_t j = set->jobs[i], at = i;
        for (;
             at > 0 && d->snap->jobs[set->jobs[at - 1]]->alloc.gpus < d->snap->jobs[j]->alloc.gpus;
             at--)
            set->jobs[at] = set->jobs[at - 1];
        set->jobs[at] = j;
    }
}

/* Undoes moves down to `count`. */
static void undo_moves(struct sched_defrag *d, uint32_t kind, uint32_t count)
{
    while (d->move_count > count) {
        const struct sched_defrag_move *m = &d->moves[--d->move_count];
        struct sched_alloc to = sched_floor_on_node(&m->to, kind);
        sched_floor_give(d->floor, &to);
        sched_floor_take(d->floor, &d->snap->jobs[m->job]->alloc);
    }
}

/* Puts the jobs of the set elsewhere. While that is tried the node is taken whole, so that none
 * comes back to it. */
static bool move_set(struct sched_defrag *d, uint32_t node, uint32_t kind, struct set *set,
                     struct sched_floor_rules rules)
{
    uint32_t before = d->move_count;
    bool ok = d->move_count + set->count <= SCHED_DEFRAG_MOVES_MAX;

    sort_largest(d, set);
    for (uint32_t i = 0; ok && i < set->count; i++) {
        const struct sched_job *j = d->snap->jobs[set->jobs[i]];
        struct sched_place own = {.node = node, .gpus = d->floor->free[node]};
        struct sched_alloc hole = sched_floor_on_node(&own, kind), to;
        if (own.gpus > 0)
            sched_floor_take(d->floor, &hole);
        ok = sched_floor_find(d->floor, kind, j->alloc.gpus, rules, &to);
        if (own.gpus > 0)
            sched_floor_give(d->floor, &hole);
        if (!ok)
            break;
        d->moves[d->move_count++] =
            (struct sched_defrag_move){.job = set->jobs[i], .to = to.places[0]};
        sched_floor_give(d->floor, &j->alloc);
    }
    if (!ok)
        undo_moves(d, kind, before);
    return ok;
}

/* Clears and takes `piece` GPUs of one node among positions from .. to of the floor's order. */
static bool clear_piece(struct sched_defrag *d, uint32_t kind, uint32_t from, uint32_t to,
                        uint32_t piece, struct sched_floor_rules rules)
{
    uint32_t tried[TRIES] = {0}, tries = 0;
    struct set best = {.count = 0}, set;

    for (; tries < TRIES; tries++) {
        uint32_t node = NO_NODE;
        for (uint32_t i = from; i < to; i++) {
            uint32_t n = d->floor->order[i];
            bool skip = d->floor->cluster->nodes[n].gpus < piece || !d->floor->node_up[n] ||
                        used_already(d, n);
            for (uint32_t t = 0; t < tries && !skip; t++)
                skip = tried[t] == n;
            if (skip || !clear_set(d, n, piece, &set))
                continue;
            if (node != NO_NODE &&
                (set.gpus > best.gpus || (set.gpus == best.gpus && set.count >= best.count)))
                continue;
            node = n;
            best = set;
        }
        if (node == NO_NODE)
            return false;
        if (move_set(d, node, kind, &best, rules)) {
            d->places[d->place_count] = (struct sched_place){.node = node, .gpus = piece};
            struct sched_alloc part = sched_floor_on_node(&d->places[d->place_count++], kind);
            sched_floor_take(d->floor, &part);
            return true;
        }
        tried[tries] = node;
    }
    return false;
}

/* Gives back the pieces of the gang and undoes its moves. */
static void undo_gang(struct sched_defrag *d, uint32_t kind)
{
    while (d->place_count > 0) {
        struct sched_alloc part = sched_floor_on_node(&d->places[--d->place_count], kind);
        sched_floor_give(d->floor, &part);
    }
    undo_moves(d, kind, 0);
}

/* Clears the pieces of a gang among positions from .. to: the largest live nodes until they are
 * enough. */
static bool clear_gang(struct sched_defrag *d, uint32_t kind, uint32_t from, uint32_t to,
                       uint32_t gpus, struct sched_floor_rules rules)
{
    const struct sched_floor *f = d->floor;
    uint32_t sizes[SUMS] = {0}, left = gpus;

    for (uint32_t i = from; i < to; i++)
        if (f->node_up[f->order[i]])
            sizes[f->cluster->nodes[f->order[i]].gpus]++;
    for (uint32_t size = SUMS - 1; size > 0 && left > 0; size--)
        for (uint32_t i = 0; i < sizes[size] && left > 0; i++) {
            uint32_t piece = left < size ? left : size;
            if (!clear_piece(d, kind, from, to, piece, rules)) {
                undo_gang(d, kind);
                return false;
            }
            left -= piece;
        }
    if (left > 0)
        undo_gang(d, kind);
    return left == 0;
}

/* The pieces become one gang, and those that moved stay where they are now. */
static void settle(struct sched_defrag *d, uint32_t kind, uint32_t gpus)
{
    for (uint32_t i = 0; i < d->place_count; i++) {
        struct sched_alloc part = sched_floor_on_node(&d->places[i], kind);
        sched_floor_give(d->floor, &part);
    }
    sched_floor_sort(d->places, d->place_count);
    struct sched_alloc gang = {
        .places = d->places, .place_count = d->place_count, .gpus = gpus, .kind = (uint16_t)kind};
    sched_floor_take(d->floor, &gang);
    for (uint32_t m = 0; m < d->move_count; m++)
        d->movable[d->moves[m].job] = false;
}

bool sched_defrag_make_room(struct sched_defrag *d, uint32_t kind, uint32_t gpus,
                            struct sched_floor_rules rules)
{
    struct sched_floor *f = d->floor;
    uint32_t slot = (gpus * 5 + kind * 11) % SCHED_FLOOR_MEMO;
    uint32_t fewest = sched_floor_fewest(f, kind, gpus), end = f->kind_from[kind + 1];
    bool one_rack = fewest > 1 && sched_floor_one_rack(f, kind, gpus), done = false;

    d->place_count = d->move_count = 0;
    rules.level = SCHED_LOCALITY_STRICT;
    if (fewest == 0 || f->kind_free[kind] < gpus ||
        (d->failed[slot].free == f->kind_free[kind] + 1 && d->failed[slot].gpus == gpus &&
         d->failed[slot].kind == kind))
        return false;
    for (uint32_t from = f->kind_from[kind]; from < end && !done;) {
        uint32_t to = one_rack ? sched_floor_rack_end(f, kind, from) : end;
        if (!one_rack || sched_floor_fewest_in(f, from, to, gpus) == fewest)
            done = clear_gang(d, kind, from, to, gpus, rules);
        from = to;
    }
    if (done) {
        settle(d, kind, gpus);
    } else {
        d->failed[slot].free = f->kind_free[kind] + 1;
        d->failed[slot].gpus = gpus;
        d->failed[slot].kind = (uint16_t)kind;
    }
    return done;
}

void sched_defrag_undo(struct sched_defrag *d, uint32_t kind)
{
    struct sched_alloc gang = {
        .places = d->places, .place_count = d->place_count, .kind = (uint16_t)kind};

    for (uint32_t i = 0; i < d->place_count; i++)
        gang.gpus += d->places[i].gpus;
    sched_floor_give(d->floor, &gang);
    d->place_count = 0;
    undo_moves(d, kind, 0);
}
