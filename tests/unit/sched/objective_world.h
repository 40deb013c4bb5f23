/* objective_world.h - problems for the tests of objectives, and what an answer must satisfy. */
#ifndef TESTS_OBJECTIVE_WORLD_H
#define TESTS_OBJECTIVE_WORLD_H

#include "property.h"
#include "torture.h"

#include "base/rand.h"
#include "sched/objective.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS_MAX = 400, KINDS_MAX = 4, CLASSES_MAX = 12 };

/* Objectives whose level `worth` can work out from the shares. */
enum { SCORED_COUNT = 4 };
static const enum sched_objective scored[SCORED_COUNT] = {
    SCHED_OBJECTIVE_MAX_MIN, SCHED_OBJECTIVE_FTF, SCHED_OBJECTIVE_MAKESPAN,
    SCHED_OBJECTIVE_THROUGHPUT};

struct problem {
    double rate[JOBS_MAX * KINDS_MAX];
    double gpus[JOBS_MAX], weight[JOBS_MAX], left[JOBS_MAX], since[JOBS_MAX], alone[JOBS_MAX],
        deadline[JOBS_MAX], usd[KINDS_MAX];
    uint32_t class_of[JOBS_MAX];
    float pair[KINDS_MAX * CLASSES_MAX * CLASSES_MAX];
    struct sched_objective_input in;
};

/* Jobs of up to `classes` classes; hostile: some cannot run on some kinds, some nowhere, and some kinds
 * have no GPUs. */
static inline void problem_draw(struct problem *p, struct base_rand *rand, uint32_t kinds,
                                size_t jobs, uint32_t classes, bool hostile)
{
    static const double sizes[] = {1, 1, 1, 2, 4};
    double rate[CLASSES_MAX * KINDS_MAX], gpus[CLASSES_MAX], total = 0;
    memset(p, 0, sizeof *p);
    for (uint32_t c = 0; c < classes; c++) {
        gpus[c] = sizes[base_rand_below(rand, 5)];
        for (uint32_t k = 0; k < kinds; k++)
            rate[c * kinds + k] =
                hostile && base_rand_below(rand, 4) == 0 ? 0 : exp(base_rand_normal(rand, 0, 1.5));
    }
    for (size_t m = 0; m < jobs; m++) {
        uint32_t c = (uint32_t)base_rand_below(rand, classes);
        p->class_of[m] = c;
        memcpy(&p->rate[m * kinds], &rate[c * kinds], kinds * sizeof *rate);
        p->gpus[m] = gpus[c];
        total += gpus[c];
        p->weight[m] = (double)(1 + base_rand_below(rand, 3));
        p->left[m] = base_rand_range(rand, 1e4, 1e5);
        p->since[m] = base_rand_below(rand, 3) == 0 ? 0 : base_rand_range(rand, 0, 3e4);
        p->alone[m] = p->since[m] * base_rand_range(rand, 0.5, 1.2);
        p->deadline[m] = base_rand_below(rand, 2) == 0 ? INFINITY : base_rand_range(rand, -10, 1e6);
    }
    for (uint32_t k = 0; k < kinds; k++) {
        p->usd[k] = base_rand_range(rand, 0.2, 4);
        p->in.problem.capacity[k] =
            hostile && base_rand_below(rand, 4) == 0
                ? 0
                : fmax(4, ceil(total * base_rand_range(rand, 0.1, 1) / kinds));
        for (uint32_t a = 0; a < classes; a++) {
            for (uint32_t b = 0; b < classes; b++)
                p->pair[(k * classes + a) * classes + b] =
                    gpus[a] != gpus[b] || base_rand_below(rand, 5) == 0
                        ? 0
                        : (float)(rate[a * kinds + k] * base_rand_range(rand, 0.3, 0.95));
        }
    }
    p->in.problem.kind_count = kinds;
    p->in.problem.job_count = jobs;
    p->in.problem.rate = p->rate;
    p->in.problem.gpus = p->gpus;
    p->in.aware = true;
    p->in.weight = p->weight;
    p->in.left = p->left;
    p->in.since_s = p->since;
    p->in.alone_s = p->alone;
    p->in.deadline_s = p->deadline;
    p->in.usd_h = p->usd;
    p->in.class_of = p->class_of;
    p->in.class_count = classes;
}

/* One job per row: rates (kinds) and gang size. */
static inline void problem_set(struct problem *p, uint32_t kinds, const double *capacity,
                               size_t jobs, const double *rate)
{
    memset(p, 0, sizeof *p);
    p->in.problem.kind_count = kinds;
    memcpy(p->in.problem.capacity, capacity, kinds * sizeof *capacity);
    p->in.problem.job_count = jobs;
    p->in.problem.rate = p->rate;
    p->in.problem.gpus = p->gpus;
    p->in.aware = true;
    p->in.left = p->left;
    p->in.usd_h = p->usd;
    memcpy(p->rate, rate, jobs * kinds * sizeof *rate);
    for (size_t m = 0; m < jobs; m++) {
        p->gpus[m] = 1;
        p->left[m] = 100;
        p->weight[m] = 1;
        p->deadline[m] = INFINITY;
    }
    for (uint32_t k = 0; k < kinds; k++)
        p->usd[k] = 1;
}

/* The speed that a job has of a kind as the policy believes it. */
static inline double believed(const struct sched_objective_input *in, size_t m, uint32_t k)
{
    const struct num_share_problem *p = &in->problem;
    double fastest = 0;
    for (uint32_t j = 0; j < p->kind_count; j++)
        fastest = p->capacity[j] > 0 ? fmax(fastest, p->rate[m * p->kind_count + j]) : fastest;
    double rate = p->capacity[k] > 0 ? p->rate[m * p->kind_count + k] : 0;
    return rate > 0 && !in->aware ? fastest : rate;
}

static inline double fastest_of(const struct sched_objective_input *in, size_t m)
{
    double fastest = 0;
    for (uint32_t k = 0; k < in->problem.kind_count; k++)
        fastest = fmax(fastest, believed(in, m, k));
    return fastest;
}

static inline double prop_of(const struct sched_objective_input *in, size_t m)
{
    double sum = 0, gpus = 0;
    for (uint32_t k = 0; k < in->problem.kind_count; k++) {
        sum += believed(in, m, k) * in->problem.capacity[k];
        gpus += in->problem.capacity[k];
    }
    return gpus > 0 ? sum / gpus : 0;
}

/* Speed of a on kind k while b shares. */
static inline double beside(const struct sched_objective_input *in, size_t a, size_t b, uint32_t k)
{
    size_t n = in->class_count;
    double alone = in->problem.rate[a * in->problem.kind_count + k];
    return (double)in->pair[(k * n + in->class_of[a]) * n + in->class_of[b]] / alone *
           believed(in, a, k);
}

static inline double speed(const struct sched_objective_input *in,
                           const struct sched_objective_result *r, size_t m)
{
    uint32_t kinds = in->problem.kind_count;
    double sum = 0;
    for (uint32_t k = 0; k < kinds; k++)
        sum += believed(in, m, k) * r->x[m * kinds + k];
    for (size_t i = 0; i < r->pair_count; i++) {
        const struct sched_pair_share *s = &r->pairs[i];
        if (s->job == m)
            sum += s->share * beside(in, m, s->with, s->kind);
        if (s->with == m)
            sum += s->share * beside(in, m, s->job, s->kind);
    }
    return sum;
}

/* Shares that exist: nobody more than all of its time, no kind more than its GPUs, nothing where a
 * job cannot run; `used` is what is used. */
static inline void assert_possible(const struct sched_objective_input *in,
                                   const struct sched_objective_result *r)
{
    const struct num_share_problem *p = &in->problem;
    uint32_t kinds = p->kind_count;
    double used[NUM_KINDS_MAX] = {0};
    double *time = calloc(p->job_count + 1, sizeof *time);
    for (size_t m = 0; m < p->job_count; m++) {
        for (uint32_t k = 0; k < kinds; k++) {
            double x = r->x[m * kinds + k];
            if (!(x >= -1e-12 && x <= 1 + 1e-9))
                fail_msg("job %zu has %.17g of its time on kind %u", m, x, k);
            if (believed(in, m, k) == 0 && x > 0)
                fail_msg("job %zu has %g of its time on kind %u, which it cannot use", m, x, k);
            time[m] += x;
            used[k] += x * p->gpus[m] * (p->count == NULL ? 1 : p->count[m]);
        }
    }
    for (size_t i = 0; i < r->pair_count; i++) {
        const struct sched_pair_share *s = &r->pairs[i];
        assert_true(s->job < p->job_count && s->with < p->job_count && s->kind < kinds);
        assert_true(s->job != s->with);
        assert_true(s->share > 0);
        assert_true(p->gpus[s->job] == p->gpus[s->with]);
        assert_true(believed(in, s->job, s->kind) > 0 && believed(in, s->with, s->kind) > 0);
        assert_true(beside(in, s->job, s->with, s->kind) > 0);
        assert_true(beside(in, s->with, s->job, s->kind) > 0);
        time[s->job] += s->share;
        time[s->with] += s->share;
        used[s->kind] += s->share * p->gpus[s->job];
    }
    for (size_t m = 0; m < p->job_count; m++) {
        if (!(time[m] <= 1 + 1e-9))
            fail_msg("job %zu has %.17g of its time", m, time[m]);
    }
    for (uint32_t k = 0; k < kinds; k++) {
        if (!(used[k] <= p->capacity[k] * (1 + 1e-7)))
            fail_msg("kind %u: %.17g of %.17g GPUs", k, used[k], p->capacity[k]);
        if (!(fabs(used[k] - r->used[k]) <= 1e-7 * (1 + p->capacity[k])))
            fail_msg("kind %u: %.17g GPUs used, %.17g said", k, used[k], r->used[k]);
    }
    free(time);
}

/* How good an answer is by an objective's own formula; NAN where there is none. Less is better for
 * ftf and makespan. */
static inline double worth(enum sched_objective objective, const struct sched_objective_input *in,
                           const struct sched_objective_result *r)
{
    const struct num_share_problem *p = &in->problem;
    double smallest = INFINITY, largest = 0, sum = 0, jobs = 0, gpus = 0;
    for (size_t m = 0; m < p->job_count; m++)
        jobs += fastest_of(in, m) > 0;
    for (uint32_t k = 0; k < p->kind_count; k++)
        gpus += p->capacity[k];
    for (size_t m = 0; m < p->job_count; m++) {
        double u = speed(in, r, m), fastest = fastest_of(in, m), prop = prop_of(in, m);
        double w = in->weight == NULL ? 1 : in->weight[m];
        if (fastest == 0)
            continue;
        smallest = fmin(smallest, u * p->gpus[m] / prop / w);
        sum += w * u / fastest;
        if (objective == SCHED_OBJECTIVE_MAKESPAN)
            largest = fmax(largest, in->left[m] / u);
        if (objective == SCHED_OBJECTIVE_FTF) {
            double usable = 0;
            for (uint32_t k = 0; k < p->kind_count; k++)
                usable += p->rate[m * p->kind_count + k] > 0 ? p->capacity[k] : 0;
            double alone = prop * gpus / fmax(usable, jobs * p->gpus[m]);
            double since = in->since_s == NULL ? 0 : in->since_s[m];
            double before = in->alone_s == NULL ? 0 : in->alone_s[m];
            largest = fmax(largest, w * (since + in->left[m] / u) / (before + in->left[m] / alone));
        }
    }
    if (objective == SCHED_OBJECTIVE_MAX_MIN)
        return smallest;
    if (objective == SCHED_OBJECTIVE_THROUGHPUT)
        return sum;
    return objective == SCHED_OBJECTIVE_FTF || objective == SCHED_OBJECTIVE_MAKESPAN ? largest
                                                                                     : NAN;
}

static inline double cost_worth(const struct sched_objective_input *in,
                                const struct sched_objective_result *r)
{
    uint32_t kinds = in->problem.kind_count;
    double sum = 0;
    for (size_t m = 0; m < in->problem.job_count; m++) {
        double scale = fastest_of(in, m);
        for (uint32_t k = 0; k < kinds && scale > 0; k++)
            sum += in->weight[m] * believed(in, m, k) / scale / in->usd_h[k] * r->x[m * kinds + k];
    }
    for (size_t i = 0; i < r->pair_count; i++) {
        const struct sched_pair_share *s = &r->pairs[i];
        double both =
            in->weight[s->job] * beside(in, s->job, s->with, s->kind) / fastest_of(in, s->job) +
            in->weight[s->with] * beside(in, s->with, s->job, s->kind) / fastest_of(in, s->with);
        sum += s->share * both / in->usd_h[s->kind];
    }
    return sum;
}

static inline void assert_close(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance * fmax(1e-12, fmax(fabs(a), fabs(b)))))
        fail_msg("%.17g is not %.17g", a, b);
}

static inline struct sched_objective_solver *solver_new(void)
{
    struct sched_objective_solver *s = NULL;
    assert_int_equal(sched_objective_new(&base_alloc_libc, NULL, &s), SHOAL_OK);
    return s;
}

static inline void solve(struct sched_objective_solver *s, enum sched_objective objective,
                         const struct sched_objective_input *in, struct sched_objective_result *r)
{
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = sched_objective_solve(s, objective, in, r, &err);
    if (st != SHOAL_OK)
        fail_msg("%s: %s", sched_objectives[objective].name, err.message);
}

#endif
