/* share_keep.c - which floors to keep when not all can be.
 *
 * Relaxation. Every floor may be bought off at its weight: a way without capacity, valued at minus the
 * weight (share_ways.h). With nothing else of value, the largest sum (share_sum.c) gives up the least
 * weight. A basic solution splits at most K jobs; answers that tie (equal jobs) may split more. Split
 * ones are given up, then as many as fit are taken back in order of weight, by bisection with the
 * level solver, which has the last word: what is kept is feasible together. */
#include "num/share_sum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    double weight;
    uint32_t job;
};

static int heavier_first(const void *a, const void *b)
{
    const struct split_job *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->job < y->job ? -1 : x->job > y->job;
}

/* The longest head of `jobs` that can be kept besides those in `kept`; then, past the one that does
 * not fit, the next ones, a few times over. */
static shoal_status take_back(struct num_share *s, const struct num_share_problem *p,
                              const double *floor, const struct split_job *jobs, size_t count,
                              bool *kept)
{
    for (uint32_t tries = 0; tries <= s->kinds && count > 0; tries++) {
        size_t good = 0, bad = count + 1;
        while (good + 1 < bad) {
            size_t middle = bad == count + 1 ? count : (good + bad) / 2;
            bool ok;
            for (size_t i = 0; i < count; i++)
                kept[jobs[i].job] = i < middle;
            shoal_status st = feasible(s, p, floor, kept, &ok);
            if (st != SHOAL_OK)
                return st;
            if (ok)
                good = middle;
            else
                bad = middle;
        }
        for (size_t i = 0; i < count; i++)
            kept[jobs[i].job] = i < good;
        good = good < count ? good + 1 : count;
        jobs += good;
        count -= good;
    }
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

/* Not all in `kept` fit together: takes out the ones to give up. */
static shoal_status keep_some(struct num_share *s, const struct num_share_problem *p,
                              const double *floor, const double *weight, bool *kept)
{
    size_t n = p->job_count, split = 0;
    shoal_status st = relax(s, p, floor, weight, kept);

    if (st != SHOAL_OK)
        return st;
    struct split_job *jobs = base_malloc(s->alloc, (n + 1) * sizeof *jobs);
    if (jobs == NULL)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < n; m++) {
        bool wanted = kept[m] && floor[m] > 0;
        if (wanted && s->first[m] > 1e-7 && s->first[m] < 1 - 1e-7)
            jobs[split++] = (struct split_job){.weight = weight[m], .job = (uint32_t)m};
        if (wanted && s->first[m] > 1e-7)
            kept[m] = false;
    }
    qsort(jobs, split, sizeof *jobs, heavier_first);
    st = take_back(s, p, floor, jobs, split, kept);
    bool ok = true;
    if (st == SHOAL_OK)
        st = feasible(s, p, floor, kept, &ok);
    if (st == SHOAL_OK && !ok) { /* rounding: give up the lightest until it fits */
        split = 0;
        for (size_t m = 0; m < n; m++)
            if (kept[m] && floor[m] > 0)
                jobs[split++] = (struct split_job){.weight = weight[m], .job = (uint32_t)m};
        qsort(jobs, split, sizeof *jobs, heavier_first);
        st = take_back(s, p, floor, jobs, split, kept);
    }
    base_free(s->alloc, jobs);
    return st;
}

shoal_status num_share_keep(struct num_share *s, const struct num_share_problem *p,
                            const double *floor, const double *weight, bool *out_kept)
{
    size_t n = p->job_count;
    bool all = false;

    if (base_reserve(s->alloc, (void **)&s->need, &s->need_cap, n + 1, sizeof *s->need) != 0 ||
        base_reserve(s->alloc, (void **)&s->floor, &s->floor_cap, n + 1, sizeof *s->floor) != 0 ||
        base_reserve(s->alloc, (void **)&s->kept, &s->kept_cap, n + 1, sizeof *s->kept) != 0 ||
        base_reserve(s->alloc, (void **)&s->first, &s->first_cap, n * p->kind_count + 1,
                     sizeof *s->first) != 0)
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
