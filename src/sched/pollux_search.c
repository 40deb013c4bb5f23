/* pollux_search.c - NSGA-II over matrices of GPUs, as in Pollux.
 *
 * An individual is a matrix (jobs, nodes) of GPUs. Two objectives: fitness (pollux_problem.h), and
 * the use made of GPUs, the sum of speedups over the GPUs of nodes in use, which keeps answers apart
 * that are alike in fitness. Each of 100 generations makes 100 children of parents chosen by
 * tournament:
 *
 *   crossover   rows before a random job from one parent, the others from the other
 *   mutation    rows go back to what the job holds now, p = 0.1; cells of a tenth of the rows are
 *               emptied, p = 0.1; on nodes with free GPUs one cell or so of any job, and one of those
 *               that are there, is raised at random
 *   repair      one kind a row; one job that spans nodes on a node, the first; rows of at most `most`
 *               GPUs, cut at random; nodes within their room, first come first served; rows below
 *               `least` emptied
 *
 * and the best 100 of parents and children go on: by fronts (nobody is better in both objectives),
 * within the last front those with the most space around them. The last call's first front, as far as
 * its jobs are still there, and what jobs hold now are the first generation. The answer is the one of
 * the highest fitness.
 *
 * Gangs would hardly ever come together cell by cell. A gang that has no GPUs is put whole on random
 * nodes now and then (p = 0.1), and jobs that are no gangs give way there.
 *
 * Cost: generations x population x jobs x nodes byte operations, as speedups are looked up by number
 * and rows are bytes; 64 GPUs with 40 jobs take some 20 ms. Workspace: 2 x population matrices from
 * the caller's arena, nothing for each individual.
 *
 * References: pollux_problem.h; Deb et al., "A Fast and Elitist Multiobjective Genetic Algorithm:
 * NSGA-II", 2002. Departures: equal children are thrown away without a new try; gangs and several
 * kinds, which Pollux does not have. */
#include "sched/pollux_parts.h"

#include <string.h>

enum { POP = SCHED_POLLUX_POPULATION };

shoal_status sched_pollux_search_new(const struct base_alloc *alloc, uint64_t seed,
                                     struct sched_pollux_search **out)
{
    struct sched_pollux_search *s = base_calloc(alloc, 1, sizeof *s);

    if (s == NULL)
        return SHOAL_E_NOMEM;
    s->alloc = alloc;
    base_rand_init(&s->rand, seed, "pollux");
    *out = s;
    return SHOAL_OK;
}

void sched_pollux_search_free(struct sched_pollux_search *s)
{
    if (s == NULL)
        return;
    base_free(s->alloc, s->kept_ids);
    base_free(s->alloc, s->kept);
    base_free(s->alloc, s);
}

/* ---- individuals ---- */

static uint64_t hash_cells(const struct pollux_work *w, const uint8_t *cells)
{
    uint64_t h = 14695981039346656037u, word;

    for (size_t i = 0; i < w->size; i += sizeof word) {
        memcpy(&word, cells + i, sizeof word);
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32;
    }
    return h != 0 ? h : 1;
}

/* After repair. */
static void judge(struct pollux_work *w, struct pollux_individual *it)
{
    const struct sched_pollux_problem *p = w->p;
    double cost = 0, speedups = 0, weights = 0;
    uint32_t gpus = 0;

    for (uint32_t j = 0; j < w->jobs; j++) {
        const uint8_t *r = pollux_row(w, it->cells, j);
        double s = 0;
        if (w->row_gpus[j] > 0) {
            uint32_t n = 0;
            while (p->cluster->kind_count > 1 && r[n] == 0)
                n++;
            s = sched_pollux_speedup(&p->jobs[j], p->cluster->nodes[n].kind, w->row_nodes[j],
                                     w->row_gpus[j]);
        }
        bool stays = memcmp(r, pollux_row(w, w->now, j), w->stride) == 0;
        cost += sched_pollux_cost(p, &p->jobs[j], s, stays);
        weights += p->jobs[j].weight;
        speedups += s;
    }
    for (uint32_t n = 0; n < w->nodes; n++)
        gpus += w->used[n] > 0 ? p->room[n] : 0;
    it->worse[0] = -weights / cost;
    it->worse[1] = gpus > 0 ? -speedups / gpus : 0;
}

/* False: there is one like it. */
static bool is_new(struct pollux_work *w, uint64_t hash)
{
    uint64_t at = hash % POLLUX_SEEN;

    while (w->seen[at] != 0 && w->seen[at] != hash)
        at = (at + 1) % POLLUX_SEEN;
    if (w->seen[at] == hash)
        return false;
    w->seen[at] = hash;
    return true;
}

/* Takes the first spare slot, whose cells are filled, into the population unless it is there. */
static void admit(struct pollux_work *w)
{
    struct pollux_individual *it = &w->slot[w->spare[w->spare_count - 1]];

    pollux_repair(w, it->cells);
    it->hash = hash_cells(w, it->cells);
    if (!is_new(w, it->hash))
        return;
    judge(w, it);
    w->alive[w->alive_count++] = w->spare[--w->spare_count];
}

static void forget_seen(struct pollux_work *w)
{
    memset(w->seen, 0, sizeof w->seen);
    for (uint32_t i = 0; i < w->alive_count; i++)
        (void)is_new(w, w->slot[w->alive[i]].hash);
}

/* ---- generations ---- */

/* Puts the living in order of merit and lets the first POP go on. */
static void select_best(struct pollux_work *w)
{
    struct sched_pollux_rank ranks[POLLUX_SLOTS];
    uint32_t count = w->alive_count;

    for (uint32_t i = 0; i < count; i++) {
        const struct pollux_individual *it = &w->slot[w->alive[i]];
        ranks[i] =
            (struct sched_pollux_rank){.slot = w->alive[i], .worse = {it->worse[0], it->worse[1]}};
    }
    sched_pollux_fronts(ranks, count);
    w->alive_count = count < POP ? count : POP;
    w->front_count = 0;
    w->best = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i >= POP) {
            w->spare[w->spare_count++] = ranks[i].slot;
            continue;
        }
        w->alive[i] = ranks[i].slot;
        w->front_count += ranks[i].front == 0;
        if (ranks[i].worse[0] < ranks[w->best].worse[0])
            w->best = i;
    }
}

static void breed(struct pollux_work *w)
{
    struct pollux_individual *child = &w->slot[w->spare[w->spare_count - 1]];
    const uint8_t *parent[2];

    for (int i = 0; i < 2; i++) { /* of two at random the better, as they are in order */
        uint32_t a = pollux_below(w->s, w->alive_count), b = pollux_below(w->s, w->alive_count);
        parent[i] = w->slot[w->alive[a < b ? a : b]].cells;
    }
    size_t cut = pollux_below(w->s, w->jobs) * w->stride;
    memcpy(child->cells, parent[0], cut);
    memcpy(child->cells + cut, parent[1] + cut, w->size - cut);
    pollux_mutate(w, child->cells);
    admit(w);
}

static void fill_now(struct pollux_work *w)
{
    for (uint32_t j = 0; j < w->jobs; j++) {
        const struct sched_alloc *a = &w->p->jobs[j].now;
        for (uint32_t i = 0; i < a->place_count; i++)
            pollux_row(w, w->now, j)[a->places[i].node] = (uint8_t)a->places[i].gpus;
    }
}

/* Where the row of a job is in what was kept, or UINT32_MAX. */
static uint32_t kept_row(const struct sched_pollux_search *s, uint32_t id)
{
    for (uint32_t i = 0; i < s->kept_jobs; i++)
        if (s->kept_ids[i] == id)
            return i;
    return UINT32_MAX;
}

static void first_generation(struct pollux_work *w, uint32_t *rows)
{
    const struct sched_pollux_search *s = w->s;
    bool same_nodes = s->kept_nodes == w->nodes;

    memcpy(w->slot[w->spare[w->spare_count - 1]].cells, w->now, w->size);
    admit(w);
    for (uint32_t j = 0; j < w->jobs; j++)
        rows[j] = kept_row(s, w->p->jobs[j].id);
    for (uint32_t k = 0; same_nodes && k < s->kept_count; k++) {
        uint8_t *cells = w->slot[w->spare[w->spare_count - 1]].cells;
        memset(cells, 0, w->size);
        for (uint32_t j = 0; j < w->jobs; j++)
            if (rows[j] != UINT32_MAX)
                memcpy(pollux_row(w, cells, j),
                       s->kept + ((size_t)k * s->kept_jobs + rows[j]) * s->kept_nodes, w->nodes);
        admit(w);
    }
}

/* ---- a call ---- */

static bool work_init(struct pollux_work *w, struct base_arena *arena)
{
    w->jobs = w->p->job_count;
    w->nodes = w->p->cluster->node_count;
    w->stride = (w->nodes + 7u) & ~(size_t)7;
    w->size = w->jobs * w->stride;
    w->raise_each = w->jobs > 1 ? log(1 - 1.0 / w->jobs) : 0;
    w->now = base_arena_calloc(arena, w->size, 1);
    uint8_t *cells = base_arena_alloc(arena, POLLUX_SLOTS * w->size);
    w->used = base_arena_alloc(arena, w->nodes * sizeof *w->used);
    w->order = base_arena_alloc(arena, w->nodes * sizeof *w->order);
    w->row_gpus = base_arena_alloc(arena, w->jobs * sizeof *w->row_gpus);
    w->row_nodes = base_arena_alloc(arena, w->jobs * sizeof *w->row_nodes);
    if (w->now == NULL || cells == NULL || w->used == NULL || w->order == NULL ||
        w->row_gpus == NULL || w->row_nodes == NULL)
        return false;
    for (uint32_t i = 0; i < POLLUX_SLOTS; i++) {
        w->slot[i].cells = cells + i * w->size;
        w->spare[w->spare_count++] = i;
    }
    fill_now(w);
    return true;
}

/* The first front is where the next call begins. */
static shoal_status keep_front(struct pollux_work *w)
{
    struct sched_pollux_search *s = w->s;
    size_t each = (size_t)w->jobs * w->nodes;

    if (base_reserve(s->alloc, (void **)&s->kept, &s->kept_cap, w->front_count * each, 1) != 0 ||
        base_reserve(s->alloc, (void **)&s->kept_ids, &s->kept_ids_cap, w->jobs,
                     sizeof *s->kept_ids) != 0)
        return SHOAL_E_NOMEM;
    for (uint32_t k = 0; k < w->front_count; k++)
        for (uint32_t j = 0; j < w->jobs; j++)
            memcpy(s->kept + k * each + (size_t)j * w->nodes,
                   pollux_row(w, w->slot[w->alive[k]].cells, j), w->nodes);
    for (uint32_t j = 0; j < w->jobs; j++)
        s->kept_ids[j] = w->p->jobs[j].id;
    s->kept_count = w->front_count;
    s->kept_jobs = w->jobs;
    s->kept_nodes = w->nodes;
    return SHOAL_OK;
}

/* Rows of sizes that cannot run are left out. */
static void read_answer(struct pollux_work *w, const uint8_t *cells,
                        struct sched_pollux_places *out)
{
    size_t at = 0;

    for (uint32_t j = 0; j < w->jobs; j++) {
        const uint8_t *r = cells + j * w->stride;
        uint32_t gpus = 0, kind = 0;
        out->first[j] = at;
        for (uint32_t n = 0; n < w->nodes; n++) {
            if (r[n] == 0)
                continue;
            gpus += r[n];
            kind = w->p->cluster->nodes[n].kind;
            out->place[at++] = (struct sched_place){n, r[n]};
        }
        if (gpus > 0 &&
            sched_pollux_speedup(&w->p->jobs[j], kind, (uint32_t)(at - out->first[j]), gpus) <= 0)
            at = out->first[j];
    }
    out->first[w->jobs] = at;
}

shoal_status sched_pollux_search_run(struct sched_pollux_search *s,
                                     const struct sched_pollux_problem *p, struct base_arena *arena,
                                     struct sched_pollux_places *out)
{
    struct sched_pollux_places places;
    struct pollux_work *w = base_arena_calloc(arena, 1, sizeof *w);
    uint32_t *rows = base_arena_alloc(arena, ((size_t)p->job_count + 1) * sizeof *rows);

    if (w == NULL || rows == NULL || !sched_pollux_places_init(&places, arena, p))
        return SHOAL_E_NOMEM;
    w->s = s;
    w->p = p;
    if (p->job_count > 0) {
        if (!work_init(w, arena))
            return SHOAL_E_NOMEM;
        first_generation(w, rows);
        select_best(w);
        for (int g = 1; g < SCHED_POLLUX_GENERATIONS; g++) {
            forget_seen(w);
            for (int c = 0; c < POP && w->spare_count > 0; c++)
                breed(w);
            select_best(w);
        }
        shoal_status st = keep_front(w);
        if (st != SHOAL_OK)
            return st;
        read_answer(w, w->slot[w->alive[w->best]].cells, &places);
    }
    *out = places;
    return SHOAL_OK;
}
