/* pollux_parts.h - private to pollux_search.c (generations) and pollux_change.c (one matrix at a time). */
#ifndef SCHED_POLLUX_PARTS_H
#define SCHED_POLLUX_PARTS_H

#include "base/rand.h"
#include "sched/pollux_fronts.h"
#include "sched/pollux_search.h"

enum {
    POLLUX_SLOTS = SCHED_POLLUX_RANKS_MAX,
    POLLUX_SEEN = 1024, /* hash table of individuals, a power of two above 2 x POLLUX_SLOTS */
    POLLUX_TENTH = 6554 /* of 2^16 */
};

struct pollux_individual {
    uint8_t *cells;  /* (jobs, stride) */
    double worse[2]; /* objectives, negative: smaller is better */
    uint64_t hash;
};

struct sched_pollux_search {
    const struct base_alloc *alloc;
    struct base_rand rand;
    uint64_t bits; /* random ones left over, with `bits_left` groups of 16 */
    uint32_t bits_left;

    uint32_t *kept_ids; /* (kept_jobs): whose rows they are */
    size_t kept_ids_cap;
    uint8_t *kept; /* (kept_count, kept_jobs, kept_nodes) */
    size_t kept_cap;
    uint32_t kept_count, kept_jobs, kept_nodes;
};

/* Of one call. */
struct pollux_work {
    struct sched_pollux_search *s;
    const struct sched_pollux_problem *p;
    uint32_t jobs, nodes;
    size_t stride, size; /* of a row and of a matrix, in bytes */
    uint8_t *now;        /* (jobs, stride) */
    struct pollux_individual slot[POLLUX_SLOTS];
    uint32_t alive[POLLUX_SLOTS], alive_count; /* slots in use, in order of merit after a cut */
    uint32_t spare[POLLUX_SLOTS], spare_count;
    uint32_t front_count; /* of the living, in the first front */
    uint32_t best;        /* of them, the highest fitness */
    uint64_t seen[POLLUX_SEEN];
    uint32_t *used;                 /* (nodes) */
    uint32_t *order;                /* (nodes) scratch */
    uint32_t *row_gpus, *row_nodes; /* (jobs) of the individual in hand */
    double raise_each;              /* log(1 - 1 / jobs) */
};

static inline bool pollux_chance(struct sched_pollux_search *s, uint32_t of_65536)
{
    if (s->bits_left == 0) {
        s->bits = base_rand_u64(&s->rand);
        s->bits_left = 4;
    }
    uint32_t draw = (uint32_t)(s->bits & 0xffff);
    s->bits >>= 16;
    s->bits_left--;
    return draw < of_65536;
}

static inline uint32_t pollux_below(struct sched_pollux_search *s, uint32_t n)
{
    return (uint32_t)base_rand_below(&s->rand, n);
}

/* Of a job. */
static inline uint8_t *pollux_row(const struct pollux_work *w, uint8_t *cells, uint32_t job)
{
    return cells + job * w->stride;
}

/* pollux_change.c: makes a matrix of any cells one that is allowed; row_gpus and row_nodes are then its. */
void pollux_repair(struct pollux_work *w, uint8_t *cells);
void pollux_mutate(struct pollux_work *w, uint8_t *cells);

#endif
