/* pollux_exact.c - sizes of all jobs by prices, then places (see pollux_exact.h).
 *
 * Sizes. The sum of costs is separable: an option of a job is a kind and a number of GPUs, worth what
 * it saves against waiting, and only the GPUs of each kind couple jobs. With one kind the best
 * sizes are found job by job: what the first i jobs save at most on g GPUs, for each g, from the same
 * of i - 1 (dynamic programming). With several, or many jobs and GPUs, that is num/choose.h's problem,
 * solved with a proven bound. Options are the compact sizes: 1, 2, 4, ... GPUs of a node, then whole
 * nodes, which fit into each other, so that with at most one spanning job a node they can be placed
 * but for holes. More sizes would be worth more by the objective, but jobs then move for little:
 * with them average completion times of Pollux's workloads are 2 to 4 % longer. What a job holds
 * now is an option too, without a restart.
 *
 * Places. Jobs that stay have theirs. The others, the largest first, go to the fullest node that
 * holds them, those that span to the emptiest ones that nobody spans. A job that finds no such place
 * takes the best of what it can get: what it holds, if that is still free, or fewer GPUs, or GPUs of
 * another kind.
 *
 * Cost: options of all jobs x GPUs where that is at most STEPS_MAX, else x passes of the solver; and
 * nodes x jobs for places. 64 GPUs with 40 jobs take some 0.1 ms. */
#include "sched/pollux_exact.h"

#include "num/choose.h"
#include "sched/sizes.h"
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 1 << 22 };
static const double GAP = 1e-7; /* of the value, most of which is that jobs run at all */

struct sched_pollux_exact {
    const struct base_alloc *alloc;
    struct num_choose *choose;
};

struct work {
    const struct sched_pollux_problem *p;
    uint32_t *left;  /* (nodes): GPUs */
    uint32_t *spans; /* (nodes): jobs that span it */
    struct num_choose_option *options;
    bool *stays; /* (options): is what the job holds */
    size_t *first;
    struct sched_place **at; /* (jobs): its places */
    uint32_t *at_count;
    uint32_t *order;
    struct sched_place *scratch;
    struct base_arena *arena;
};

shoal_status sched_pollux_exact_new(const struct base_alloc *alloc, struct sched_pollux_exact **out)
{
    struct sched_pollux_exact *e = base_calloc(alloc, 1, sizeof *e);

    if (e == NULL)
        return SHOAL_E_NOMEM;
    e->alloc = alloc;
    shoal_status st = num_choose_new(alloc, &e->choose);
    if (st != SHOAL_OK) {
        base_free(alloc, e);
        return st;
    }
    *out = e;
    return SHOAL_OK;
}

void sched_pollux_exact_free(struct sched_pollux_exact *e)
{
    if (e == NULL)
        return;
    num_choose_free(e->choose);
    base_free(e->alloc, e);
}

/* ---- options ---- */

static uint32_t node_size(const struct work *w, uint32_t kind)
{
    return w->p->cluster->kinds[kind].node_gpus_max;
}

static double saved(const struct work *w, const struct sched_pollux_job *j, double speedup,
                    bool stays)
{
    return sched_pollux_cost(w->p, j, 0, true) - sched_pollux_cost(w->p, j, speedup, stays);
}

/* Options of a job, to `out` where that is not NULL; their number. */
static size_t list_options(const struct work *w, const struct sched_pollux_job *j,
                           const uint32_t *room, struct num_choose_option *out, bool *out_stays)
{
    size_t count = 0;

    for (uint32_t k = 0; k < w->p->cluster->kind_count; k++)
        for (uint32_t g = j->least; g <= j->most && g <= room[k]; g++) {
            double s = sched_pollux_speedup(j, k, g > node_size(w, k) ? 2 : 1, g);
            if (s <= 0 || (!sched_size_nests(g, node_size(w, k)) && j->least != j->most))
                continue;
            if (out != NULL) {
                out[count] = (struct num_choose_option){(float)saved(w, j, s, false), g, k};
                out_stays[count] = false;
            }
            count++;
        }
    if (j->now.place_count > 0) {
        if (out != NULL) {
            double s = sched_pollux_speedup(j, j->now.kind, j->now.place_count, j->now.gpus);
            out[count] =
                (struct num_choose_option){(float)saved(w, j, s, true), j->now.gpus, j->now.kind};
            out_stays[count] = true;
        }
        count++;
    }
    return count;
}

static bool build(struct work *w, struct num_choose_problem *cp)
{
    const struct sched_cluster *c = w->p->cluster;
    uint32_t room[SCHED_KINDS_MAX] = {0};
    size_t count = 0;

    for (uint32_t n = 0; n < c->node_count; n++)
        room[c->nodes[n].kind] += w->p->room[n];
    w->first = base_arena_alloc(w->arena, ((size_t)w->p->job_count + 1) * sizeof *w->first);
    if (w->first == NULL)
        return false;
    for (uint32_t i = 0; i < w->p->job_count; i++) {
        w->first[i] = count;
        count += list_options(w, &w->p->jobs[i], room, NULL, NULL);
    }
    w->first[w->p->job_count] = count;
    w->options = base_arena_alloc(w->arena, (count + 1) * sizeof *w->options);
    w->stays = base_arena_alloc(w->arena, count + 1);
    if (w->options == NULL || w->stays == NULL)
        return false;
    for (uint32_t i = 0; i < w->p->job_count; i++)
        (void)list_options(w, &w->p->jobs[i], room, w->options + w->first[i],
                           w->stays + w->first[i]);
    *cp = (struct num_choose_problem){.kind_count = c->kind_count,
                                      .job_count = w->p->job_count,
                                      .first = w->first,
                                      .options = w->options,
                                      .gap = GAP};
    for (uint32_t k = 0; k < c->kind_count; k++)
        cp->capacity[k] = room[k];
    return true;
}

/* Whether sizes are to be found job by job. */
static bool few_steps(const struct num_choose_problem *cp)
{
    return cp->kind_count == 1 &&
           (double)(cp->first[cp->job_count] + cp->job_count) * (cp->capacity[0] + 1) <= STEPS_MAX;
}

/* The most that can be saved, and the option of each job for it; -1: memory is short. */
static double by_steps(struct work *w, const struct num_choose_problem *cp, uint32_t *pick)
{
    uint32_t gpus = (uint32_t)cp->capacity[0];
    size_t width = (size_t)gpus + 1;
    double *saves = base_arena_calloc(w->arena, width, sizeof *saves);
    uint32_t *taken = base_arena_alloc(w->arena, (cp->job_count + 1) * width * sizeof *taken);

    if (saves == NULL || taken == NULL)
        return -1;
    for (uint32_t i = 0; i < cp->job_count; i++)
        for (uint32_t g = gpus + 1; g-- > 0;) { /* those with fewer GPUs are still without job i */
            double most = saves[g];
            uint32_t best = NUM_CHOOSE_NONE;
            for (size_t o = cp->first[i]; o < cp->first[i + 1]; o++) {
                const struct num_choose_option *opt = &cp->options[o];
                if (opt->amount <= g && saves[g - opt->amount] + (double)opt->value > most) {
                    most = saves[g - opt->amount] + (double)opt->value;
                    best = (uint32_t)o;
                }
            }
            saves[g] = most;
            taken[i * width + g] = best;
        }
    double all = saves[gpus];
    for (uint32_t i = cp->job_count; i-- > 0;) {
        pick[i] = taken[i * width + gpus];
        gpus -= pick[i] == NUM_CHOOSE_NONE ? 0 : cp->options[pick[i]].amount;
    }
    return all;
}

static shoal_status choose_sizes(struct sched_pollux_exact *e, struct work *w, uint32_t *pick,
                                 struct sched_pollux_sizes *out)
{
    struct num_choose_problem cp;
    struct num_choose_result r;
    double waiting = 0;

    if (!build(w, &cp))
        return SHOAL_E_NOMEM;
    if (few_steps(&cp)) {
        r.value = r.bound = by_steps(w, &cp, pick);
        if (r.value < 0)
            return SHOAL_E_NOMEM;
    } else {
        shoal_status st = num_choose_solve(e->choose, &cp, &r);
        if (st != SHOAL_OK)
            return st;
        memcpy(pick, r.pick, cp.job_count * sizeof *pick);
    }
    for (uint32_t i = 0; i < cp.job_count; i++)
        waiting += sched_pollux_cost(w->p, &w->p->jobs[i], 0, true);
    *out = (struct sched_pollux_sizes){waiting - r.value, waiting - r.bound};
    return SHOAL_OK;
}

/* ---- places ---- */

static bool take(struct work *w, uint32_t job, const struct sched_place *places, uint32_t count)
{
    struct sched_place *mine = base_arena_alloc(w->arena, count * sizeof *mine);

    if (mine == NULL)
        return false;
    memcpy(mine, places, count * sizeof *mine);
    for (uint32_t i = 0; i < count; i++) {
        w->left[mine[i].node] -= mine[i].gpus;
        w->spans[mine[i].node] += count > 1;
    }
    w->at[job] = mine;
    w->at_count[job] = count;
    return true;
}

static bool is_free(const struct work *w, const struct sched_alloc *a)
{
    for (uint32_t i = 0; i < a->place_count; i++) {
        uint32_t n = a->places[i].node;
        if (w->left[n] < a->places[i].gpus ||
            (w->p->avoid && a->place_count > 1 && w->spans[n] > 0))
            return false;
    }
    return a->place_count > 0;
}

/* The fullest node of the kind that has so many left, or UINT32_MAX. */
static uint32_t fullest(const struct work *w, uint32_t kind, uint32_t gpus)
{
    const struct sched_cluster *c = w->p->cluster;
    uint32_t best = UINT32_MAX;

    for (uint32_t n = 0; n < c->node_count; n++)
        if (c->nodes[n].kind == kind && w->left[n] >= gpus &&
            (best == UINT32_MAX || w->left[n] < w->left[best]))
            best = n;
    return best;
}

static int by_node(const void *a, const void *b)
{
    const struct sched_place *x = a, *y = b;

    return (x->node > y->node) - (x->node < y->node);
}

/* Nodes that nobody spans, the emptiest first; to scratch. 0: not enough. */
static uint32_t span(struct work *w, uint32_t kind, uint32_t gpus)
{
    const struct sched_cluster *c = w->p->cluster;
    uint32_t count = 0;

    for (uint32_t free = c->kinds[kind].node_gpus_max; free > 0 && gpus > 0; free--)
        for (uint32_t n = 0; n < c->node_count && gpus > 0; n++) {
            if (c->nodes[n].kind != kind || w->left[n] != free || (w->p->avoid && w->spans[n] > 0))
                continue;
            uint32_t part = gpus < free ? gpus : free;
            w->scratch[count++] = (struct sched_place){n, part};
            gpus -= part;
        }
    qsort(w->scratch, count, sizeof *w->scratch, by_node);
    return gpus == 0 ? count : 0;
}

/* Places for so many GPUs, to scratch; how many places, 0: there are none. */
static uint32_t find(struct work *w, uint32_t kind, uint32_t gpus)
{
    uint32_t n = gpus <= node_size(w, kind) ? fullest(w, kind, gpus) : UINT32_MAX;

    if (n == UINT32_MAX)
        return span(w, kind, gpus);
    w->scratch[0] = (struct sched_place){n, gpus};
    return 1;
}

/* The best that can be had now, if there is anything. Only false when memory is short. */
static bool place_best(struct work *w, uint32_t i)
{
    const struct sched_pollux_job *j = &w->p->jobs[i];
    uint32_t best_gpus = 0, best_kind = 0;
    double least = 0;

    if (is_free(w, &j->now)) {
        double s = sched_pollux_speedup(j, j->now.kind, j->now.place_count, j->now.gpus);
        if (saved(w, j, s, true) > least) {
            least = saved(w, j, s, true);
            best_gpus = UINT32_MAX;
        }
    }
    for (uint32_t k = 0; k < w->p->cluster->kind_count; k++)
        for (uint32_t g = j->least; g <= j->most; g++) {
            double s = sched_pollux_speedup(j, k, 1, g);
            if (!sched_size_nests(g, node_size(w, k)) && j->least != j->most)
                continue;
            if (saved(w, j, fmax(s, sched_pollux_speedup(j, k, 2, g)), false) <= least)
                continue;
            uint32_t nodes = find(w, k, g);
            s = nodes == 0 ? 0 : sched_pollux_speedup(j, k, nodes, g);
            if (saved(w, j, s, false) > least) {
                least = saved(w, j, s, false);
                best_gpus = g;
                best_kind = k;
            }
        }
    if (best_gpus == UINT32_MAX)
        return take(w, i, j->now.places, j->now.place_count);
    return best_gpus == 0 || take(w, i, w->scratch, find(w, best_kind, best_gpus));
}

static bool place_all(struct work *w, const uint32_t *pick)
{
    uint32_t movers = 0;

    for (uint32_t i = 0; i < w->p->job_count; i++) {
        const struct sched_alloc *now = &w->p->jobs[i].now;
        if (pick[i] == NUM_CHOOSE_NONE)
            continue;
        if (!w->stays[pick[i]])
            w->order[movers++] = i;
        else if (!take(w, i, now->places, now->place_count))
            return false;
    }
    for (uint32_t size = UINT32_MAX; movers > 0;) { /* the largest first, of equals the first */
        uint32_t next = 0;
        for (uint32_t m = 0; m < movers; m++)
            if (w->options[pick[w->order[m]]].amount < size &&
                w->options[pick[w->order[m]]].amount > next)
                next = w->options[pick[w->order[m]]].amount;
        if (next == 0)
            break;
        for (uint32_t m = 0; m < movers; m++) {
            const struct num_choose_option *o = &w->options[pick[w->order[m]]];
            if (o->amount != next)
                continue;
            uint32_t nodes = find(w, o->kind, o->amount);
            if (nodes > 0 && !take(w, w->order[m], w->scratch, nodes))
                return false;
        }
        size = next;
    }
    for (uint32_t i = 0; i < w->p->job_count; i++)
        if (w->at_count[i] == 0 && !place_best(w, i))
            return false;
    return true;
}

/* ---- a call ---- */

static bool work_init(struct work *w)
{
    const struct sched_cluster *c = w->p->cluster;
    size_t jobs = (size_t)w->p->job_count + 1;

    w->left = base_arena_alloc(w->arena, c->node_count * sizeof *w->left);
    w->spans = base_arena_alloc(w->arena, c->node_count * sizeof *w->spans);
    w->scratch = base_arena_alloc(w->arena, c->node_count * sizeof *w->scratch);
    w->at = base_arena_calloc(w->arena, jobs, sizeof(struct sched_place *));
    w->at_count = base_arena_calloc(w->arena, jobs, sizeof *w->at_count);
    w->order = base_arena_alloc(w->arena, jobs * sizeof *w->order);
    if (w->left == NULL || w->spans == NULL || w->scratch == NULL || w->at == NULL ||
        w->at_count == NULL || w->order == NULL)
        return false;
    for (uint32_t n = 0; n < c->node_count; n++) {
        w->left[n] = w->p->room[n];
        w->spans[n] = w->p->spanned[n];
    }
    return true;
}

static void read_answer(const struct work *w, struct sched_pollux_places *out)
{
    size_t at = 0;

    for (uint32_t i = 0; i < w->p->job_count; i++) {
        out->first[i] = at;
        if (w->at_count[i] > 0)
            memcpy(out->place + at, w->at[i], w->at_count[i] * sizeof *out->place);
        at += w->at_count[i];
    }
    out->first[w->p->job_count] = at;
}

shoal_status sched_pollux_exact_run(struct sched_pollux_exact *e,
                                    const struct sched_pollux_problem *p, struct base_arena *arena,
                                    struct sched_pollux_places *out,
                                    struct sched_pollux_sizes *out_sizes)
{
    struct work w = {.p = p, .arena = arena};
    struct sched_pollux_places places;
    struct sched_pollux_sizes sizes;
    uint32_t *pick = base_arena_alloc(arena, ((size_t)p->job_count + 1) * sizeof *pick);

    if (pick == NULL || !sched_pollux_places_init(&places, arena, p) || !work_init(&w))
        return SHOAL_E_NOMEM;
    shoal_status st = choose_sizes(e, &w, pick, &sizes);
    if (st != SHOAL_OK)
        return st;
    if (!place_all(&w, pick))
        return SHOAL_E_NOMEM;
    read_answer(&w, &places);
    if (out_sizes != NULL)
        *out_sizes = sizes;
    *out = places;
    return SHOAL_OK;
}
