/* share_keep.c - which floors to keep when not all can be.
 *
 * Relaxation. Every floor may be bought off at its weight: a way without capacity, valued at minus
 * the weight (share_core.h). With nothing else of value, the largest sum (share_sum.c) gives up the
 * least weight, but may split jobs: part of the floor kept, part bought off. Equal jobs tie, so
 * many can be split alike.
 *
 * Rounding. Of any K + 1 split jobs, parts can be shifted so that no kind is used more or less: K
 * equations in K + 1 unknowns. In one of the two directions no more weight is given up; going there
 * until somebody is whole leaves one split job less, until K are left. They are given up, then
 * tried one by one with the level solver, which has the last word: what is kept is feasible
 * together. So at most K jobs are given up beyond the relaxation, which is a bound. */
#include "num/share_core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A part of a floor this small, or this near to all of it, is rounding: the job is not split. */
static const double WHOLE = 1e-7;

/* Whether the floors marked in kept are feasible together. */
static shoal_status feasible(struct num_share *s, const struct num_share_problem *p,
                             const double *floor, const bool *kept, bool *out)
{
    struct num_share_result r;

    for (size_t m = 0; m < p->job_count; m++)
        s->need[m] = kept[m] ? floor[m] : 0;
    shoal_status st = num_share_level(s, p, s->need, &r);
    *out = st == SHOAL_OK && r.level >= 1 - s->tolerance;
    return st;
}

struct split_job {
    double weight, part;       /* part of it that is bought off */
    double use[NUM_KINDS_MAX]; /* of the capacities, when it is kept */
    uint32_t job;
};

static int heavier_first(const void *a, const void *b)
{
    const struct split_job *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->job < y->job ? -1 : x->job > y->job;
}

/* Shifts parts among K + 1 split jobs, using exactly what they use, until one of them is whole. */
static void shift(const struct num_share *s, struct split_job *jobs)
{
    uint32_t kinds = s->kinds, pivot_of[NUM_KINDS_MAX] = {0}, rank = 0;
    double row[NUM_KINDS_MAX][NUM_KINDS_MAX + 1], by[NUM_KINDS_MAX + 1] = {0};
    double weight = 0, far = INFINITY;
    bool taken[NUM_KINDS_MAX] = {false};

    for (uint32_t k = 0; k < kinds; k++)
        for (uint32_t i = 0; i <= kinds; i++)
            row[k][i] = jobs[i].use[k];
    uint32_t free = kinds; /* the first column without a pivot: its job leads */
    for (uint32_t i = 0; i <= kinds && free == kinds; i++) {
        uint32_t best = kinds;
        for (uint32_t k = 0; k < kinds; k++)
            if (!taken[k] && (best == kinds || fabs(row[k][i]) > fabs(row[best][i])))
                best = k;
        if (best == kinds || fabs(row[best][i]) < 1e-12) {
            free = i;
            break;
        }
        taken[best] = true;
        pivot_of[rank++] = best;
        for (uint32_t k = 0; k < kinds; k++)
            for (uint32_t c = kinds + 1; k != best && c-- > i;)
                row[k][c] -= row[k][i] / row[best][i] * row[best][c];
    }
    by[free] = 1;
    for (uint32_t i = 0; i < rank && i < free; i++)
        by[i] = -row[pivot_of[i]][free] / row[pivot_of[i]][i];
    for (uint32_t i = 0; i <= kinds; i++)
        weight += by[i] * jobs[i].weight;
    for (uint32_t i = 0; i <= kinds; i++) {
        by[i] = weight > 0 ? -by[i] : by[i];
        if (by[i] != 0)
            far = fmin(far, (by[i] > 0 ? 1 - jobs[i].part : jobs[i].part) / fabs(by[i]));
    }
    for (uint32_t i = 0; i <= kinds; i++)
        jobs[i].part = fmin(fmax(jobs[i].part + far * by[i], 0), 1);
}

static bool whole(const struct split_job *j)
{
    return j->part <= WHOLE || j->part >= 1 - WHOLE;
}

/* Leaves at most K of the jobs split, at the front; the others are decided in kept. */
static size_t unsplit(const struct num_share *s, struct split_job *jobs, size_t count, bool *kept)
{
    while (count > s->kinds) {
        struct split_job *last = jobs + count - s->kinds - 1;
        size_t left = 0;
        shift(s, last);
        for (uint32_t i = 0; i <= s->kinds; i++) {
            if (whole(&last[i]))
                kept[last[i].job] = last[i].part <= WHOLE;
            else
                last[left++] = last[i];
        }
        if (left > s->kinds) { /* rounding: nobody is whole */
            kept[last[--left].job] = false;
        }
        count = count - s->kinds - 1 + left;
    }
    return count;
}

/* The longest head of `jobs` that is feasible together; the others are given up. */
static shoal_status longest_head(struct num_share *s, const struct num_share_problem *p,
                                 const double *floor, const struct split_job *jobs, size_t count,
                                 bool *kept)
{
    size_t good = 0, bad = count;

    while (good + 1 < bad) {
        size_t middle = good + (bad - good) / 2;
        bool ok;
        for (size_t i = 0; i < count; i++)
            kept[jobs[i].job] = i < middle;
        shoal_status st = feasible(s, p, floor, kept, &ok);
        if (st != SHOAL_OK)
            return st;
        *(ok ? &good : &bad) = middle;
    }
    for (size_t i = 0; i < count; i++)
        kept[jobs[i].job] = i < good;
    return SHOAL_OK;
}

/* Decides by the relaxation. s->first holds the share of each floor bought off. */
static shoal_status relax(struct num_share *s, const struct num_share_problem *p,
                          const double *floor, const double *weight, const bool *kept)
{
    struct share_sum_call q;

    for (size_t m = 0; m < p->job_count; m++)
        s->floor[m] = kept[m] ? floor[m] : 0;
    shoal_status st = num_share_sum_begin(s, p, NULL, s->floor, weight, &q);
    if (st == SHOAL_OK)
        st = num_share_sum_solve(&q, false);
    return st == SHOAL_OK ? num_share_sum_emit(&q, NULL, s->first) : st;
}

/* Gathers the split jobs, and decides the others in kept. Returns how many there are. */
static size_t gather(const struct num_share *s, const struct num_share_problem *p,
                     const double *floor, const double *weight, bool *kept, struct split_job *jobs)
{
    size_t split = 0;

    for (size_t m = 0; m < p->job_count; m++) {
        double count = share_count(p, m);
        struct split_job j = {.weight = count * weight[m], .part = s->first[m], .job = (uint32_t)m};
        if (!kept[m] || floor[m] <= 0)
            continue;
        kept[m] = j.part <= WHOLE;
        if (whole(&j))
            continue;
        for (uint32_t k = 0; k < s->kinds; k++)
            j.use[k] = count * p->gpus[m] * s->x[m * p->kind_count + s->kind_of[k]] / (1 - j.part) /
                       s->capacity[k];
        jobs[split++] = j;
    }
    return split;
}

/* Not all in `kept` fit together: takes out the ones to give up. */
static shoal_status keep_some(struct num_share *s, const struct num_share_problem *p,
                              const double *floor, const double *weight, bool *kept)
{
    shoal_status st = relax(s, p, floor, weight, kept);

    if (st != SHOAL_OK)
        return st;
    struct split_job *jobs = base_malloc(s->alloc, (p->job_count + 1) * sizeof *jobs);
    if (jobs == NULL)
        return SHOAL_E_NOMEM;
    size_t split = unsplit(s, jobs, gather(s, p, floor, weight, kept, jobs), kept);
    bool ok = false;
    st = feasible(s, p, floor, kept, &ok);
    if (st == SHOAL_OK && !ok) { /* rounding: give up the lightest until it fits */
        split = 0;
        for (size_t m = 0; m < p->job_count; m++)
            if (kept[m] && floor[m] > 0)
                jobs[split++] =
                    (struct split_job){.weight = share_count(p, m) * weight[m], .job = (uint32_t)m};
        qsort(jobs, split, sizeof *jobs, heavier_first);
        st = longest_head(s, p, floor, jobs, split, kept);
        split = 0;
    }
    qsort(jobs, split, sizeof *jobs, heavier_first);
    for (size_t i = 0; st == SHOAL_OK && i < split; i++) {
        kept[jobs[i].job] = true;
        st = feasible(s, p, floor, kept, &ok);
        kept[jobs[i].job] = ok;
    }
    base_free(s->alloc, jobs);
    return st;
}

shoal_status num_share_keep(struct num_share *s, const struct num_share_problem *p,
                            const double *floor, const double *weight, bool *out_kept)
{
    size_t n = p->job_count;
    bool all = false;

    BASE_ROOM(&s->room, s->need, n + 1);
    BASE_ROOM(&s->room, s->floor, n + 1);
    BASE_ROOM(&s->room, s->kept, n + 1);
    BASE_ROOM(&s->room, s->first, n * p->kind_count + 1);
    if (base_room_status(&s->room) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    bool *kept = s->kept;
    for (size_t m = 0; m < n; m++) {
        double fastest = 0;
        if (!(floor[m] >= 0) || !isfinite(floor[m]) || !(weight[m] > 0) || !isfinite(weight[m]))
            return SHOAL_E_INVAL;
        for (uint32_t j = 0; j < p->kind_count && j < NUM_KINDS_MAX; j++)
            if (p->capacity[j] > 0)
                fastest = fmax(fastest, p->rate[m * p->kind_count + j]);
        kept[m] = floor[m] <= fastest * (1 + s->tolerance); /* alone it could */
    }
    shoal_status st = feasible(s, p, floor, kept, &all);
    if (st == SHOAL_OK && !all)
        st = keep_some(s, p, floor, weight, kept);
    if (st == SHOAL_OK)
        memcpy(out_kept, kept, n * sizeof *kept);
    return st;
}
