/* share_world.h - random problems for the tests of src/num/share*.c, and what every answer to them
 * must satisfy.
 *
 * A world is one problem drawn from a seed: the family (what is special about it) goes round with
 * the seed, so that a hundred seeds meet every family several times. Failures name seed and
 * family. */
#ifndef TESTS_SHARE_WORLD_H
#define TESTS_SHARE_WORLD_H

#include "property.h"
#include "torture.h"

#include "base/rand.h"
#include "num/share.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum world_family {
    WORLD_GAVEL,         /* speed-ups by kind as measured ones look, gangs of 1 to 8 */
    WORLD_UNIFORM,       /* rates independent of each other */
    WORLD_TIES,          /* rates 1, 2 or 3, needs 1 or 2 */
    WORLD_TWINS,         /* many identical jobs of few classes */
    WORLD_ZEROS,         /* half of the rates 0 */
    WORLD_NOWHERE,       /* some jobs can run nowhere */
    WORLD_EMPTY_KIND,    /* some kinds have no GPU */
    WORLD_EMPTY_CLUSTER, /* no kind has one */
    WORLD_AMPLE,         /* more GPUs than all jobs together can use */
    WORLD_WIDE,          /* needs and weights over six orders of magnitude */
    WORLD_FRACTIONAL,    /* gangs of 1 to 8 GPUs, not whole */
    WORLD_COUNTS,        /* rows that stand for several jobs */
    WORLD_ALIKE_KINDS,   /* every kind as fast as any other */
    WORLD_MATCHED,       /* one kind per job, capacities used up exactly: degenerate */
    WORLD_FAMILIES
};

static const char *const world_family_names[WORLD_FAMILIES] = {
    "gavel",         "uniform", "ties", "twins",      "zeros",  "nowhere",     "empty kind",
    "empty cluster", "ample",   "wide", "fractional", "counts", "alike kinds", "matched"};

enum { WORLD_JOBS_MAX = 6000, WORLD_MANY = 300, WORLD_MANY_EVERY = 97 };

struct world {
    uint64_t seed;
    enum world_family family;
    struct base_rand rand;      /* for what a test draws beyond the problem */
    struct num_share_problem p; /* points into the arrays below */
    double rate[WORLD_JOBS_MAX * NUM_KINDS_MAX];
    double gpus[WORLD_JOBS_MAX];
    double count[WORLD_JOBS_MAX];
    double need[WORLD_JOBS_MAX];   /* weight x speed on an equal split / gpus */
    double weight[WORLD_JOBS_MAX]; /* > 0 */
};

#define WORLD_CLAIM(w, truth, ...)                                                            \
    do {                                                                                      \
        if (!(truth)) {                                                                       \
            char claim_text[300];                                                             \
            snprintf(claim_text, sizeof claim_text, __VA_ARGS__);                             \
            fail_msg("seed %llu (%s, %zu jobs, %u kinds): %s", (unsigned long long)(w)->seed, \
                     world_family_names[(w)->family], (w)->p.job_count, (w)->p.kind_count,    \
                     claim_text);                                                             \
        }                                                                                     \
    } while (0)

static inline double world_pick(struct base_rand *r, const double *values, size_t count)
{
    return values[base_rand_below(r, count)];
}

static inline void world_draw_rates(struct world *w)
{
    struct base_rand *r = &w->rand;
    size_t n = w->p.job_count, classes = 1 + base_rand_below(r, 5);
    uint32_t kinds = w->p.kind_count;

    for (size_t m = 0; m < n; m++) {
        double *rate = &w->rate[m * kinds], base = exp(base_rand_normal(r, 1, 1));
        double steep = base_rand_unit(r);
        for (uint32_t j = 0; j < kinds; j++) {
            switch (w->family) {
            case WORLD_UNIFORM: rate[j] = base_rand_range(r, 0.01, 1); break;
            case WORLD_TIES: rate[j] = (double)(1 + base_rand_below(r, 3)); break;
            case WORLD_ALIKE_KINDS: rate[j] = base; break;
            case WORLD_MATCHED: rate[j] = m % kinds == j ? 2 : 0; break;
            default: rate[j] = base * pow(1 + j, 1.5 * steep) * base_rand_range(r, 0.9, 1.1); break;
            }
            if (w->family == WORLD_ZEROS && base_rand_below(r, 2) == 0)
                rate[j] = 0;
            if (w->family == WORLD_GAVEL && base_rand_below(r, 12) == 0)
                rate[j] = 0;
        }
        if (w->family == WORLD_NOWHERE && base_rand_below(r, 4) == 0)
            memset(rate, 0, kinds * sizeof *rate);
        if (w->family == WORLD_TWINS && m >= classes)
            memcpy(rate, &w->rate[m % classes * kinds], kinds * sizeof *rate);
        if (w->family == WORLD_WIDE) {
            double scale = pow(10, base_rand_range(r, -3, 3));
            for (uint32_t j = 0; j < kinds; j++)
                rate[j] *= scale;
        }
    }
}

static inline void world_draw_jobs(struct world *w)
{
    static const double gangs[] = {1, 1, 1, 1, 1, 1, 1, 2, 4, 8}, weights[] = {1, 1, 1, 2, 5};
    struct base_rand *r = &w->rand;

    for (size_t m = 0; m < w->p.job_count; m++) {
        w->gpus[m] = w->family == WORLD_FRACTIONAL ? base_rand_range(r, 1, 8)
                     : w->family == WORLD_MATCHED  ? 1
                                                   : world_pick(r, gangs, 10);
        w->count[m] = w->family == WORLD_COUNTS ? (double)(1 + base_rand_below(r, 20)) / 2 : 1;
        w->weight[m] = w->family == WORLD_WIDE      ? pow(10, base_rand_range(r, -3, 3))
                       : w->family == WORLD_UNIFORM ? base_rand_range(r, 0.5, 2)
                                                    : world_pick(r, weights, 5);
        if (w->family == WORLD_TWINS && m >= 5) {
            w->gpus[m] = w->gpus[m % 5];
            w->weight[m] = w->weight[m % 5];
        }
    }
}

static inline void world_draw_capacity(struct world *w)
{
    struct base_rand *r = &w->rand;
    double load = pow(10, base_rand_range(r, -0.7, 0.5)), gpus = 0;
    uint32_t kinds = w->p.kind_count;

    for (size_t m = 0; m < w->p.job_count; m++)
        gpus += w->gpus[m] * w->count[m];
    for (uint32_t j = 0; j < kinds; j++) {
        w->p.capacity[j] = ceil(gpus * load * base_rand_range(r, 0.5, 1.5) / kinds);
        if (w->family == WORLD_EMPTY_KIND && base_rand_below(r, 2) == 0)
            w->p.capacity[j] = 0;
        if (w->family == WORLD_EMPTY_CLUSTER)
            w->p.capacity[j] = 0;
        if (w->family == WORLD_AMPLE)
            w->p.capacity[j] = gpus + 1;
        if (w->family == WORLD_MATCHED)
            w->p.capacity[j] = (double)((w->p.job_count + kinds - 1 - j) / kinds);
    }
}

static inline void world_draw_needs(struct world *w)
{
    double gpus = 0;

    for (uint32_t j = 0; j < w->p.kind_count; j++)
        gpus += w->p.capacity[j];
    for (size_t m = 0; m < w->p.job_count; m++) {
        double reference = 0;
        for (uint32_t j = 0; j < w->p.kind_count; j++) {
            double part = gpus > 0 ? w->p.capacity[j] / gpus : 1.0 / w->p.kind_count;
            reference += w->rate[m * w->p.kind_count + j] * part;
        }
        w->need[m] = reference > 0 ? reference * w->weight[m] / w->gpus[m] : w->weight[m];
        if (w->family == WORLD_TIES)
            w->need[m] = (double)(1 + base_rand_below(&w->rand, 2));
        if (w->family == WORLD_MATCHED)
            w->need[m] = 1;
        if (w->family == WORLD_UNIFORM && base_rand_below(&w->rand, 10) == 0)
            w->need[m] = 0;
    }
}

static inline void world_make_sized(struct world *w, uint64_t seed, size_t jobs, uint32_t kinds)
{
    w->seed = seed;
    w->family = (enum world_family)(seed % WORLD_FAMILIES);
    w->p = (struct num_share_problem){.kind_count = kinds,
                                      .job_count = jobs,
                                      .rate = w->rate,
                                      .gpus = w->gpus,
                                      .count = w->family == WORLD_COUNTS ? w->count : NULL};
    world_draw_rates(w);
    world_draw_jobs(w);
    world_draw_capacity(w);
    world_draw_needs(w);
}

/* Up to jobs_max jobs, now and then WORLD_MANY, on 1 to 16 kinds, mostly few. */
static inline void world_make(struct world *w, uint64_t seed, size_t jobs_max)
{
    base_rand_init(&w->rand, seed, "share-world");
    size_t jobs = 1 + base_rand_below(&w->rand, jobs_max);
    uint32_t kinds_max = base_rand_below(&w->rand, 3) == 0 ? NUM_KINDS_MAX : 4;
    uint32_t kinds = 1 + (uint32_t)base_rand_below(&w->rand, kinds_max);
    if (jobs_max >= 60 && seed % WORLD_MANY_EVERY == 0)
        jobs = WORLD_MANY;
    world_make_sized(w, seed, jobs, kinds);
}

/* Thousands of jobs, of which a solver may look at a part only, on 2 to 5 kinds. */
static inline void world_make_large(struct world *w, uint64_t seed)
{
    base_rand_init(&w->rand, seed, "share-world-large");
    size_t jobs = 1000 + base_rand_below(&w->rand, WORLD_JOBS_MAX - 1000);
    world_make_sized(w, seed, jobs, 2 + (uint32_t)base_rand_below(&w->rand, 4));
}

static inline double world_count(const struct num_share_problem *p, size_t m)
{
    return p->count != NULL ? p->count[m] : 1;
}

static inline double world_top(const struct num_share_problem *p, size_t m)
{
    double top = 0;

    for (uint32_t j = 0; j < p->kind_count; j++)
        top = fmax(top, p->rate[m * p->kind_count + j]);
    return top;
}

static inline double world_speed(const struct num_share_problem *p, const double *x, size_t m)
{
    double speed = 0;

    for (uint32_t j = 0; j < p->kind_count; j++)
        speed += p->rate[m * p->kind_count + j] * x[m * p->kind_count + j];
    return speed;
}

/* A world of so many jobs, each one of `w` with rates and need of its own; w->p then points to it.
 * Large enough, it is solved by a team's threads. */
struct world_large {
    double *rate, *gpus, *need;
};

static inline void world_enlarge(struct world *w, size_t jobs, struct world_large *out)
{
    uint32_t kinds = w->p.kind_count;

    out->rate = malloc(jobs * kinds * sizeof *out->rate);
    out->gpus = malloc(jobs * sizeof *out->gpus);
    out->need = malloc(jobs * sizeof *out->need);
    assert_true(out->rate != NULL && out->gpus != NULL && out->need != NULL);
    for (size_t m = 0; m < jobs; m++) {
        size_t from = m % w->p.job_count;
        for (uint32_t j = 0; j < kinds; j++)
            out->rate[m * kinds + j] =
                w->rate[from * kinds + j] * base_rand_range(&w->rand, 0.8, 1.2);
        out->gpus[m] = w->gpus[from];
        out->need[m] = w->need[from] * base_rand_range(&w->rand, 0.8, 1.2);
    }
    for (uint32_t j = 0; j < kinds; j++)
        w->p.capacity[j] *= (double)jobs / (double)w->p.job_count;
    w->p.job_count = jobs;
    w->p.rate = out->rate;
    w->p.gpus = out->gpus;
    w->p.count = NULL;
}

static inline void world_large_fini(struct world_large *large)
{
    free(large->rate);
    free(large->gpus);
    free(large->need);
}

/* The shares exist: none below 0 or where the job cannot run, no job over its time, no kind over
 * its GPUs, and `used` says how many are used. */
static inline void world_claim_feasible(const struct world *w, const struct num_share_result *r)
{
    const struct num_share_problem *p = &w->p;
    double used[NUM_KINDS_MAX] = {0};

    for (size_t m = 0; m < p->job_count; m++) {
        double time = 0;
        for (uint32_t j = 0; j < p->kind_count; j++) {
            double x = r->x[m * p->kind_count + j];
            WORLD_CLAIM(w, x >= 0, "job %zu has the share %g on kind %u", m, x, j);
            WORLD_CLAIM(w, x == 0 || p->rate[m * p->kind_count + j] > 0,
                        "job %zu has a share on kind %u, where it cannot run", m, j);
            time += x;
            used[j] += x * p->gpus[m] * world_count(p, m);
        }
        WORLD_CLAIM(w, time <= 1 + 1e-9, "job %zu has %.17g of its time", m, time);
    }
    for (uint32_t j = 0; j < p->kind_count; j++) {
        double capacity = p->capacity[j];
        WORLD_CLAIM(w, used[j] <= capacity * (1 + 1e-9), "%.17g of %g GPUs of kind %u are used",
                    used[j], capacity, j);
        WORLD_CLAIM(w, fabs(used[j] - r->used[j]) <= 1e-9 * capacity,
                    "kind %u: %.17g used, said %.17g", j, used[j], r->used[j]);
        WORLD_CLAIM(w, r->price[j] >= 0 && isfinite(r->price[j]), "the price of kind %u is %g", j,
                    r->price[j]);
    }
}

/* Both say the same, to the bit. */
static inline void world_claim_equal_bits(const struct world *w, const struct num_share_result *a,
                                          const struct num_share_result *b)
{
    size_t n = w->p.job_count, cells = n * w->p.kind_count, kinds = w->p.kind_count;

    WORLD_CLAIM(w, memcmp(&a->level, &b->level, sizeof a->level) == 0, "levels %.17g and %.17g",
                a->level, b->level);
    WORLD_CLAIM(w, memcmp(&a->bound, &b->bound, sizeof a->bound) == 0, "bounds %.17g and %.17g",
                a->bound, b->bound);
    WORLD_CLAIM(w, memcmp(a->price, b->price, kinds * sizeof *a->price) == 0, "prices differ");
    WORLD_CLAIM(w, memcmp(a->x, b->x, cells * sizeof *a->x) == 0, "shares differ");
    WORLD_CLAIM(w, (a->slope == NULL) == (b->slope == NULL), "one has slopes");
    WORLD_CLAIM(w, a->slope == NULL || memcmp(a->slope, b->slope, n * sizeof *a->slope) == 0,
                "slopes differ");
    WORLD_CLAIM(w, a->passes == b->passes && a->exact == b->exact, "passes differ");
}

/* A result filled with a pattern, to see that a refused call leaves it alone. */
static inline void world_stain(struct num_share_result *r)
{
    memset(r, 0x5a, sizeof *r);
}

static inline bool world_stained(const struct num_share_result *r)
{
    const unsigned char *bytes = (const unsigned char *)r;

    for (size_t i = 0; i < sizeof *r; i++)
        if (bytes[i] != 0x5a)
            return false;
    return true;
}

static inline struct num_share *world_solver(const struct num_team *team)
{
    struct num_share *s = NULL;

    assert_int_equal(num_share_new(&base_alloc_libc, team, &s), SHOAL_OK);
    assert_non_null(s);
    return s;
}

/* A team that is one thread, which takes the parts from the last to the first. */
static inline shoal_status world_run_backwards(void *ctx, size_t count,
                                               void (*fn)(void *arg, size_t index), void *arg)
{
    (void)ctx;
    while (count-- > 0)
        fn(arg, count);
    return SHOAL_OK;
}

#endif
