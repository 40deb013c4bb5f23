/* colocate.c - see colocate.h.
 *
 * Classes are gathered into groups that can share at all: same data behind the model, same gang
 * size. A group has, for each kind, one cell per ordered pair of its classes.
 *
 * What is measured. Each unordered pair of rows draws a number in [0, 1) from a stream of its own
 * (kind, gang size, both rows), so the draw depends neither on the order in which classes appear
 * nor on which others there are. It is measured when the number is below `measured`. A class left
 * with fewer than PARTNERS_MIN measured partners also measures those with the smallest numbers, as
 * Gavel's estimator profiles a new job against a few reference jobs. Later on a pair that the
 * snapshot shows sharing has been measured by that: a wrong estimate costs one round.
 *
 * What is estimated, when classes have appeared: first whether a pair fits (0 or 1), then its
 * speeds, from measured pairs that fit; one matrix of both would take misfits for slow pairs and
 * draw the speeds of their neighbours down. Errors are not equal: two jobs on GPUs whose memory
 * they overflow both stand still, two that run apart only miss a gain. So an estimated pair shares
 * only if both its jobs are expected to fit with FITS_MIN or more (0.5 would be even odds) and to
 * keep SPEED_MIN of their speed; else both its rates are 0. Figures:
 * docs/design/0005-colocations.md.
 *
 * Cost. A class seen before: a lookup. A new one: a row of draws, and the completion of its group
 * on every kind (num/complete.h). Tests: tests/unit/sched/test_colocate.c. */
#include "sched/colocate.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/map.h"
#include "base/rand.h"
#include "base/room.h"
#include "num/complete.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PARTNERS_MIN = 3, ARENA_BLOCK_SIZE = 1 << 16 };
static const double FITS_MIN = 0.75;
static const double SPEED_MIN = 0.1;

enum state { ESTIMATED, CHOSEN, MEASURED }; /* CHOSEN: about to be measured */

/* An ordered pair of classes on a kind. */
struct cell {
    float rate; /* steps/s of the first; 0: does not fit, or not known */
    float draw; /* [0, 1), the same both ways round */
    enum state state;
};

struct member {
    struct sched_model model;
    float alone[SCHED_KINDS_MAX]; /* steps/s, 0: cannot run there */
};

struct group {
    const struct sched_model_ops *ops;
    const void *data;
    uint32_t gpus;
    uint32_t count, cap;
    struct member *members;             /* (cap), in order of appearance */
    struct cell *cell[SCHED_KINDS_MAX]; /* (cap, cap) */
    double error[SCHED_KINDS_MAX];      /* of the speeds estimated */
    bool stale;                         /* classes have appeared since the last estimate */
};

struct sched_colocate {
    const struct base_alloc *alloc;
    double measured;
    uint64_t seed;
    uint32_t kind_count;   /* 0: not known yet */
    struct base_map rows;  /* struct row_key -> group << 32 | member */
    struct base_room room; /* of the arrays */
    struct group *groups;
    size_t group_count;
    uint64_t *found; /* of the classes of one call */
    struct base_arena scratch;
};

/* Bytes are compared, so it is zeroed before it is filled. */
struct row_key {
    const struct sched_model_ops *ops;
    const void *data;
    uint32_t row, gpus;
};

static struct row_key key_of(const struct sched_job *job)
{
    struct row_key key;

    memset(&key, 0, sizeof key);
    key.ops = job->model.ops;
    key.data = job->model.data;
    key.row = job->model.row;
    key.gpus = job->gpus;
    return key;
}

static struct cell *cell_at(const struct group *g, uint32_t kind, uint32_t a, uint32_t b)
{
    return &g->cell[kind][(size_t)a * g->cap + b];
}

/* ---- made and freed ---- */

shoal_status sched_colocate_new(const struct base_alloc *alloc, double measured, uint64_t seed,
                                struct sched_colocate **out)
{
    if (!(measured >= 0 && measured <= 1))
        return SHOAL_E_INVAL;
    struct sched_colocate *c = base_calloc(alloc, 1, sizeof *c);
    if (c == NULL)
        return SHOAL_E_NOMEM;
    c->alloc = c->room.alloc = alloc;
    c->measured = measured;
    c->seed = seed;
    base_map_init(&c->rows, alloc);
    base_arena_init(&c->scratch, alloc, ARENA_BLOCK_SIZE);
    *out = c;
    return SHOAL_OK;
}

void sched_colocate_free(struct sched_colocate *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->group_count; i++) {
        for (uint32_t kind = 0; kind < SCHED_KINDS_MAX; kind++)
            base_free(c->alloc, c->groups[i].cell[kind]);
        base_free(c->alloc, c->groups[i].members);
    }
    base_room_fini(&c->room);
    base_map_fini(&c->rows);
    base_arena_fini(&c->scratch);
    base_free(c->alloc, c);
}

/* ---- classes ---- */

static shoal_status group_of(struct sched_colocate *c, const struct sched_job *job, size_t *out)
{
    for (size_t i = 0; i < c->group_count; i++) {
        const struct group *g = &c->groups[i];
        if (g->ops == job->model.ops && g->data == job->model.data && g->gpus == job->gpus) {
            *out = i;
            return SHOAL_OK;
        }
    }
    BASE_ROOM(&c->room, c->groups, c->group_count + 1);
    if (base_room_status(&c->room) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    c->groups[c->group_count] =
        (struct group){.ops = job->model.ops, .data = job->model.data, .gpus = job->gpus};
    *out = c->group_count++;
    return SHOAL_OK;
}

/* Room for one more class. All or nothing: the matrices must agree on `cap`. */
static shoal_status grow(struct sched_colocate *c, struct group *g)
{
    uint32_t cap = g->cap == 0 ? 4 : 2 * g->cap;
    struct cell *cell[SCHED_KINDS_MAX] = {NULL};

    if (g->count < g->cap)
        return SHOAL_OK;
    struct member *members = base_calloc(c->alloc, cap, sizeof *members);
    bool ok = members != NULL;
    for (uint32_t kind = 0; kind < c->kind_count && ok; kind++) {
        cell[kind] = base_calloc(c->alloc, (size_t)cap * cap, sizeof *cell[kind]);
        ok = cell[kind] != NULL;
    }
    if (!ok) {
        for (uint32_t kind = 0; kind < c->kind_count; kind++)
            base_free(c->alloc, cell[kind]);
        base_free(c->alloc, members);
        return SHOAL_E_NOMEM;
    }
    for (uint32_t kind = 0; kind < c->kind_count; kind++) {
        for (uint32_t a = 0; a < g->count; a++)
            memcpy(cell[kind] + (size_t)a * cap, cell_at(g, kind, a, 0),
                   g->count * sizeof *cell[kind]);
        base_free(c->alloc, g->cell[kind]);
        g->cell[kind] = cell[kind];
    }
    if (g->count > 0)
        memcpy(members, g->members, g->count * sizeof *members);
    base_free(c->alloc, g->members);
    g->members = members;
    g->cap = cap;
    return SHOAL_OK;
}

static float rate_of(const struct sched_cluster *cluster, uint32_t kind, uint32_t gpus,
                     const struct sched_model *model, const struct sched_model *partner)
{
    return (float)(1 / sched_model_ideal_step_s(model, cluster, kind, gpus, partner));
}

/* The number of an unordered pair; 24 bits, so that a float holds it and stays below 1. */
static float draw_of(const struct sched_colocate *c, const char *kind, uint32_t gpus, uint32_t row,
                     uint32_t other)
{
    char name[SCHED_KIND_NAME_MAX + 64];
    struct base_rand rand;

    snprintf(name, sizeof name, "sched.colocate %s %u %u %u", kind, gpus, row < other ? row : other,
             row < other ? other : row);
    base_rand_init(&rand, c->seed, name);
    return (float)(base_rand_u64(&rand) >> 40) * 0x1p-24f;
}

static void measure(struct group *g, const struct sched_cluster *cluster, uint32_t kind, uint32_t a,
                    uint32_t b)
{
    const struct sched_model *first = &g->members[a].model, *second = &g->members[b].model;
    struct cell *ab = cell_at(g, kind, a, b), *ba = cell_at(g, kind, b, a);

    ab->rate = rate_of(cluster, kind, g->gpus, first, second);
    ba->rate = rate_of(cluster, kind, g->gpus, second, first);
    ab->state = ba->state = MEASURED;
}

/* The class becomes the last member: its speed alone, its draws, and what they say is measured. */
static void join(struct sched_colocate *c, struct group *g, const struct sched_cluster *cluster,
                 const struct sched_model *model)
{
    uint32_t a = g->count++;
    struct member *member = &g->members[a];

    member->model = *model;
    g->stale = true;
    for (uint32_t kind = 0; kind < c->kind_count; kind++) {
        member->alone[kind] = rate_of(cluster, kind, g->gpus, model, NULL);
        for (uint32_t b = 0; b <= a; b++) {
            float draw =
                draw_of(c, cluster->kinds[kind].name, g->gpus, model->row, g->members[b].model.row);
            *cell_at(g, kind, a, b) = *cell_at(g, kind, b, a) = (struct cell){.draw = draw};
            if ((double)draw < c->measured)
                measure(g, cluster, kind, a, b);
        }
    }
}

static shoal_status find_class(struct sched_colocate *c, const struct sched_cluster *cluster,
                               const struct sched_job *job, uint64_t *out)
{
    struct row_key key = key_of(job);
    struct base_map_entry *entry = base_map_find(&c->rows, (const char *)&key, sizeof key);
    size_t index = 0;

    if (entry != NULL) {
        *out = entry->value;
        return SHOAL_OK;
    }
    shoal_status st = group_of(c, job, &index);
    if (st == SHOAL_OK)
        st = grow(c, &c->groups[index]);
    if (st != SHOAL_OK)
        return st;
    uint64_t value = (uint64_t)index << 32 | c->groups[index].count;
    st = base_map_add(&c->rows, (const char *)&key, sizeof key, value, NULL);
    if (st != SHOAL_OK)
        return st;
    join(c, &c->groups[index], cluster, &job->model);
    *out = value;
    return SHOAL_OK;
}

/* ---- what is measured besides the draws ---- */

/* Whether x comes before y among the partners of a class: by draw, then by row. */
static bool before(const struct group *g, const struct cell *row, uint32_t x, uint32_t y)
{
    if (row[x].draw < row[y].draw || row[x].draw > row[y].draw)
        return row[x].draw < row[y].draw;
    return g->members[x].model.row < g->members[y].model.row;
}

/* Marks the partners of a class that it lacks; those that others have marked do not count, so that
 * the result does not depend on who goes first. */
static void choose_partners(struct group *g, uint32_t kind, uint32_t a)
{
    const struct cell *row = cell_at(g, kind, a, 0);
    uint32_t have = 0, last = UINT32_MAX;

    for (uint32_t b = 0; b < g->count; b++)
        have += row[b].state == MEASURED;
    for (; have < PARTNERS_MIN; have++) {
        uint32_t next = UINT32_MAX;
        for (uint32_t b = 0; b < g->count; b++)
            if (row[b].state != MEASURED && (last == UINT32_MAX || before(g, row, last, b)) &&
                (next == UINT32_MAX || before(g, row, b, next)))
                next = b;
        if (next == UINT32_MAX)
            return;
        cell_at(g, kind, a, next)->state = CHOSEN;
        cell_at(g, kind, next, a)->state = CHOSEN;
        last = next;
    }
}

static void measure_partners(struct group *g, const struct sched_cluster *cluster, uint32_t kind)
{
    for (uint32_t a = 0; a < g->count; a++)
        choose_partners(g, kind, a);
    for (uint32_t a = 0; a < g->count; a++)
        for (uint32_t b = 0; b <= a; b++)
            if (cell_at(g, kind, a, b)->state == CHOSEN)
                measure(g, cluster, kind, a, b);
}

/* Two jobs that share now are two that somebody has seen running together. */
static void learn(struct sched_colocate *c, const struct sched_snapshot *snap)
{
    for (size_t i = 0; i < snap->job_count; i++) {
        const struct sched_job *job = snap->jobs[i];
        if (job->partner == SCHED_JOB_NONE || job->partner < job->id || job->alloc.place_count == 0)
            continue;
        uint32_t partner = sched_snapshot_find(snap, job->partner);
        if (partner == SCHED_JOB_NONE)
            continue;
        struct row_key key = key_of(job), other = key_of(snap->jobs[partner]);
        struct base_map_entry *a = base_map_find(&c->rows, (const char *)&key, sizeof key);
        struct base_map_entry *b = base_map_find(&c->rows, (const char *)&other, sizeof other);
        if (a == NULL || b == NULL || a->value >> 32 != b->value >> 32)
            continue;
        struct group *g = &c->groups[a->value >> 32];
        uint32_t first = (uint32_t)a->value, second = (uint32_t)b->value;
        if (cell_at(g, job->alloc.kind, first, second)->state != MEASURED)
            measure(g, snap->cluster, job->alloc.kind, first, second);
    }
}

/* ---- estimates ---- */

/* Matrices of one group on one kind, (count, count), lines in order of model row: estimates do not
 * depend on the order in which classes appeared. */
struct matrices {
    uint32_t count;
    uint32_t *member; /* (count) of each line */
    double *fits, *speed;
    bool *fits_known, *speed_known;
    uint32_t fit_count, misfit_count; /* measured */
    uint32_t unknown_count;
};

static bool matrices_init(struct matrices *m, struct base_arena *arena, uint32_t count)
{
    size_t size = (size_t)count * count;

    *m = (struct matrices){.count = count};
    m->member = base_arena_alloc(arena, count * sizeof *m->member);
    m->fits = base_arena_calloc(arena, size, sizeof *m->fits);
    m->speed = base_arena_calloc(arena, size, sizeof *m->speed);
    m->fits_known = base_arena_calloc(arena, size, sizeof *m->fits_known);
    m->speed_known = base_arena_calloc(arena, size, sizeof *m->speed_known);
    return m->member != NULL && m->fits != NULL && m->speed != NULL && m->fits_known != NULL &&
           m->speed_known != NULL;
}

static void sort_members(struct matrices *m, const struct group *g)
{
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t at = i;
        for (; at > 0 && g->members[m->member[at - 1]].model.row > g->members[i].model.row; at--)
            m->member[at] = m->member[at - 1];
        m->member[at] = i;
    }
}

/* Pairs with a class that cannot run on the kind at all say nothing about sharing. */
static void fill_in(struct matrices *m, const struct group *g, uint32_t kind)
{
    for (uint32_t i = 0; i < m->count; i++) {
        for (uint32_t j = 0; j < m->count; j++) {
            uint32_t a = m->member[i], b = m->member[j];
            const struct cell *cell = cell_at(g, kind, a, b);
            size_t at = (size_t)i * m->count + j;
            if (!(g->members[a].alone[kind] > 0 && g->members[b].alone[kind] > 0))
                continue;
            if (cell->state != MEASURED) {
                m->unknown_count++;
                continue;
            }
            bool fits = cell->rate > 0;
            m->fits_known[at] = true;
            m->fits[at] = fits ? 1 : 0;
            m->speed_known[at] = fits;
            m->speed[at] = fmin((double)cell->rate / (double)g->members[a].alone[kind], 1);
            m->fit_count += fits;
            m->misfit_count += !fits;
        }
    }
}

/* Both matrices completed. With no misfit among the measured everything fits, and nothing with no
 * fit. */
static shoal_status complete(struct sched_colocate *c, struct matrices *m, double *out_error)
{
    struct num_complete_result result = {.error = 0};
    shoal_status st = SHOAL_OK;

    if (m->misfit_count == 0)
        for (size_t at = 0; at < (size_t)m->count * m->count; at++)
            m->fits[at] = 1;
    else if (m->fit_count > 0)
        st = num_complete(c->alloc, m->count, m->count, m->fits, m->fits_known, c->seed, m->fits,
                          &result);
    if (st == SHOAL_OK)
        st = num_complete(c->alloc, m->count, m->count, m->speed, m->speed_known, c->seed, m->speed,
                          &result);
    *out_error = result.error;
    return st;
}

static bool expected(const struct matrices *m, uint32_t i, uint32_t j)
{
    size_t at = (size_t)i * m->count + j;

    return m->fits[at] >= FITS_MIN && m->speed[at] >= SPEED_MIN;
}

static void read_back(const struct matrices *m, struct group *g, uint32_t kind)
{
    for (uint32_t i = 0; i < m->count; i++) {
        for (uint32_t j = 0; j < m->count; j++) {
            uint32_t a = m->member[i], b = m->member[j];
            struct cell *cell = cell_at(g, kind, a, b);
            if (cell->state == MEASURED)
                continue;
            bool shares = g->members[b].alone[kind] > 0 && expected(m, i, j) && expected(m, j, i);
            double speed = m->speed[(size_t)i * m->count + j];
            cell->rate = shares ? (float)(speed * (double)g->members[a].alone[kind]) : 0;
        }
    }
}

static shoal_status estimate(struct sched_colocate *c, struct group *g,
                             const struct sched_cluster *cluster)
{
    for (uint32_t kind = 0; kind < c->kind_count; kind++) {
        struct matrices m;
        measure_partners(g, cluster, kind);
        base_arena_clear(&c->scratch);
        if (!matrices_init(&m, &c->scratch, g->count))
            return SHOAL_E_NOMEM;
        sort_members(&m, g);
        fill_in(&m, g, kind);
        double error = 0;
        shoal_status st =
            m.unknown_count > 0 && m.fit_count > 0 ? complete(c, &m, &error) : SHOAL_OK;
        if (st != SHOAL_OK)
            return st;
        g->error[kind] = error;
        read_back(&m, g, kind);
    }
    g->stale = false;
    return SHOAL_OK;
}

/* ---- the call ---- */

static shoal_status refresh(struct sched_colocate *c, const struct sched_snapshot *snap,
                            const uint32_t *jobs, uint32_t class_count)
{
    BASE_ROOM(&c->room, c->found, class_count);
    if (base_room_status(&c->room) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    for (uint32_t i = 0; i < class_count; i++) {
        shoal_status st = find_class(c, snap->cluster, snap->jobs[jobs[i]], &c->found[i]);
        if (st != SHOAL_OK)
            return st;
    }
    if (c->measured < 1)
        learn(c, snap);
    for (size_t i = 0; i < c->group_count; i++) {
        shoal_status st = c->groups[i].stale ? estimate(c, &c->groups[i], snap->cluster) : SHOAL_OK;
        if (st != SHOAL_OK)
            return st;
    }
    return SHOAL_OK;
}

shoal_status sched_colocate_rates(struct sched_colocate *c, const struct sched_snapshot *snap,
                                  const uint32_t *jobs, uint32_t class_count, float *out_pair)
{
    if (c->kind_count == 0)
        c->kind_count = snap->cluster->kind_count;
    shoal_assert(c->kind_count == snap->cluster->kind_count);
    shoal_status st = refresh(c, snap, jobs, class_count);
    if (st != SHOAL_OK)
        return st;
    for (uint32_t kind = 0; kind < c->kind_count; kind++) {
        for (uint32_t i = 0; i < class_count; i++) {
            for (uint32_t j = 0; j < class_count; j++) {
                const struct group *g = &c->groups[c->found[i] >> 32];
                bool same = c->found[i] >> 32 == c->found[j] >> 32;
                *out_pair++ =
                    same ? cell_at(g, kind, (uint32_t)c->found[i], (uint32_t)c->found[j])->rate : 0;
            }
        }
    }
    return SHOAL_OK;
}

struct sched_colocate_stats sched_colocate_stats(const struct sched_colocate *c)
{
    struct sched_colocate_stats stats = {0, 0, 0};
    double error = 0;

    for (size_t i = 0; i < c->group_count; i++) {
        const struct group *g = &c->groups[i];
        for (uint32_t kind = 0; kind < c->kind_count; kind++) {
            uint64_t estimated = 0;
            for (uint32_t a = 0; a < g->count; a++)
                for (uint32_t b = 0; b <= a; b++)
                    estimated += cell_at(g, kind, a, b)->state != MEASURED;
            uint64_t pairs = (uint64_t)g->count * (g->count + 1) / 2;
            stats.pairs += pairs;
            stats.measured += pairs - estimated;
            error += g->error[kind] * (double)estimated;
        }
    }
    if (stats.pairs > stats.measured)
        stats.error = error / (double)(stats.pairs - stats.measured);
    return stats;
}
