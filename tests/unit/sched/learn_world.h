/* learn_world.h - jobs of which the truth is known, and what they report of it. */
#ifndef TESTS_UNIT_SCHED_LEARN_WORLD_H
#define TESTS_UNIT_SCHED_LEARN_WORLD_H

#include "property.h"
#include "torture.h"

#include "base/assert.h"
#include "base/rand.h"
#include "sched/learn.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KINDS = 2, GPUS_MAX = 32, NODE = 4 };

static const struct sched_limits limits = {
    .batch_initial = 128, .batch_max = 4096, .gpus_max = GPUS_MAX, .local_max = {512, 256}};
/* What jobs really do. */
static const struct shoal_goodput_speed truth[KINDS] = {
    {0.05, 0.002, 0.12, 0.004, 0.05, 0.002, 1.5}, {0.03, 0.001, 0.12, 0.004, 0.05, 0.002, 1.5}};
static const double SQR = 1, VAR = 12;

static inline struct sched_report honest(uint32_t kind, uint32_t gpus, uint32_t local)
{
    uint32_t nodes = (gpus + NODE - 1) / NODE;
    const struct shoal_goodput_speed *s = &truth[kind];

    return (struct sched_report){.kind = kind,
                                 .nodes = nodes,
                                 .gpus = gpus,
                                 .local = local,
                                 .passes = 1,
                                 .pass_s = s->grad_s + s->grad_each_s * local,
                                 .step_s = shoal_goodput_step_s(s, nodes, gpus, local, 1),
                                 .grad_sqr = SQR,
                                 .grad_var = VAR,
                                 .steps = 1000};
}

static inline void add_noise(struct base_rand *r, double noise, struct sched_report *report)
{
    report->pass_s *= 1 + noise * base_rand_range(r, -1, 1);
    report->step_s *= 1 + noise * base_rand_range(r, -1, 1);
}

static inline struct sched_learn_job *new_job(struct sched_learn_app *app, uint32_t id)
{
    struct sched_learn_job *job = NULL;

    assert_int_equal(sched_learn_job_new(&base_alloc_libc, KINDS, &job), SHOAL_OK);
    sched_learn_job_begin(job, app, id, &limits, 4);
    return job;
}

static inline struct sched_learn_app *new_app(void)
{
    struct sched_learn_app *app = NULL;

    assert_int_equal(sched_learn_app_new(&base_alloc_libc, KINDS, &app), SHOAL_OK);
    return app;
}

static inline enum sched_refusal tell(struct sched_learn_job *job, struct sched_report report)
{
    return sched_learn_report(job, &report, NULL);
}

/* Sizes and batches a job runs through. */
static inline void tour(struct sched_learn_job *job, struct base_rand *r, double noise,
                        uint32_t gpus_max)
{
    for (uint32_t g = 1; g <= gpus_max; g *= 2)
        for (uint32_t local = 32; local <= 256; local *= 2) {
            struct sched_report report = honest(0, g, local);
            if (noise > 0)
                add_noise(r, noise, &report);
            assert_int_equal(tell(job, report), SCHED_REFUSED_NOT);
        }
}

static inline double goodput(struct sched_learn_job *job, uint32_t kind, uint32_t gpus)
{
    return sched_adapt_choose(sched_learn_known(job), KINDS, kind, (gpus + NODE - 1) / NODE, gpus)
        .goodput;
}

/* As if everything were known. */
static inline double true_goodput(uint32_t kind, uint32_t gpus)
{
    struct sched_adapt_kind kinds[KINDS] = {
        {.local_max = 512, .gpus_seen = GPUS_MAX, .speed = truth[0]},
        {.local_max = 256, .gpus_seen = GPUS_MAX, .speed = truth[1]}};
    struct sched_adapt adapt = {.gpus_max = GPUS_MAX,
                                .batch_initial = 128,
                                .batch_max = 4096,
                                .grad_sqr = SQR,
                                .grad_var = VAR,
                                .kind = kinds};

    return sched_adapt_choose(&adapt, KINDS, kind, (gpus + NODE - 1) / NODE, gpus).goodput;
}

static inline double share_off(double a, double b)
{
    return fabs(a / b - 1);
}

#endif
