/* books.h - free GPUs, and how gangs find places among them. Private to plan.c.
 *
 * Free GPUs are kept per node and, per kind, as one bitset of nodes for each free count, so "the
 * fullest node that still has g" and "the emptiest node" cost a few words of scanning whatever the
 * size of the cluster. Ties go to the lowest node index, so that plans are deterministic. Emptying
 * the books costs as much as the last plan touched. */
#ifndef SCHED_BOOKS_H
#define SCHED_BOOKS_H

#include "sched/plan.h"

enum { SCHED_BUCKETS = SCHED_NODE_GPUS_MAX + 1 };

struct sched_kind_books {
    uint32_t *nodes; /* node index by position in this kind */
    uint32_t node_count, word_count;
    uint32_t gpus_max; /* of one node */
    uint32_t free;
    uint32_t *rack_free;                /* by rack */
    uint32_t size_count[SCHED_BUCKETS]; /* nodes by GPUs, live or not */
    uint64_t *bits; /* (SCHED_BUCKETS, word_count): node at position i has exactly f free */
    uint32_t bucket_count[SCHED_BUCKETS];
    uint32_t hint[SCHED_BUCKETS]; /* no bit of the bucket is set in an earlier word */
};

struct sched_books {
    const struct base_alloc *alloc;
    const struct sched_cluster *cluster;
    bool exclusive; /* at most one job that spans nodes on any node */
    struct sched_kind_books kinds[SCHED_KINDS_MAX];
    uint32_t *position; /* of a node in its kind */
    uint16_t *node_free;
    uint16_t *node_span;        /* jobs on the node that span nodes */
    struct sched_place *places; /* what the last find took; room for one per node */
    uint32_t *touched;          /* nodes that are not as an empty plan has them */
    uint32_t touched_count;
    bool *is_touched;
    bool begun; /* at least once, with node_changes as it was then */
    uint64_t node_changes;
};

/* On failure nothing is left to free. */
SHOAL_MUST_USE shoal_status sched_books_init(struct sched_books *books,
                                             const struct base_alloc *alloc,
                                             const struct sched_cluster *cluster, bool exclusive);
void sched_books_fini(struct sched_books *books);

/* Every GPU of every live node is free. */
void sched_books_begin(struct sched_books *books, const struct sched_snapshot *snap);

/* Are these places as close together as asked for? */
bool sched_books_close(const struct sched_books *books, const struct sched_alloc *alloc,
                       enum sched_locality level);
/* May these places be taken as they are? */
bool sched_books_fit(const struct sched_books *books, const struct sched_alloc *alloc);
/* As far as jobs that span nodes are concerned? */
bool sched_books_alone(const struct sched_books *books, const struct sched_alloc *alloc);
void sched_books_take(struct sched_books *books, const struct sched_alloc *alloc);
void sched_books_give(struct sched_books *books, const struct sched_alloc *alloc);

/* Finds and takes places for a gang on one kind; *out points to books->places until the next call.
 * One node if any has enough; otherwise nodes from the emptiest down, which uses the fewest, the
 * last piece going to the tightest node that holds it (SCHED_FIT_PACK, where neither a rack nor
 * `exclusive` narrows the choice). Asked for one rack, the rack that needs the fewest nodes wins.
 * False, and nothing is taken, when it does not fit so close together. */
bool sched_books_find(struct sched_books *books, uint32_t kind, uint32_t gpus,
                      enum sched_locality level, enum sched_fit fit, struct sched_alloc *out);

#endif
