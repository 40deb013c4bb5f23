/* advise_world.h - runs of a made world whose truth is known: the loss after i iterations on m
 * machines is 0.2 + 0.5 exp(-rate i / r(m)), an iteration takes step(m). */
#ifndef TESTS_ADVISE_WORLD_H
#define TESTS_ADVISE_WORLD_H

#include "advise/choose.h"
#include "base/rand.h"
#include <math.h>
#include <stdio.h>

struct world {
    double rate[2], slope[2]; /* r(m) = m ^ slope */
    double work[2], own[2], talk[2];
    double noise; /* of step times, relative */
};

static inline double world_step_s(const struct world *w, int a, double m)
{
    return w->own[a] + w->work[a] / m + w->talk[a] * m;
}

static inline double world_steps(const struct world *w, int a, double m, double loss)
{
    return log(0.5 / (loss - 0.2)) / w->rate[a] * pow(m, w->slope[a]);
}

static inline double world_seconds(const struct world *w, int a, double m, double loss)
{
    return ceil(world_steps(w, a, m, loss)) * world_step_s(w, a, m);
}

/* Adds `steps` iterations of algorithm a ("a0", "a1") on m machines. */
static inline void world_run(const struct world *w, struct advise_runs *runs, int a, uint32_t m,
                             int steps, struct base_rand *rand)
{
    char name[16];
    double time = 0;

    snprintf(name, sizeof name, "a%d", a);
    struct advise_run *run = advise_runs_find(runs, name, m, 1, "", NULL);
    for (int i = 0; i <= steps && run != NULL; i++) {
        struct advise_point p = {i, time, 0.2 + 0.5 * exp(-w->rate[a] * i / pow(m, w->slope[a]))};
        if (advise_runs_add(runs, run, &p, NULL) != SHOAL_OK)
            return;
        time += world_step_s(w, a, m) * exp(base_rand_normal(rand, 0, w->noise));
    }
}

static inline struct world world_draw(struct base_rand *rand)
{
    struct world w = {.noise = 0.03};

    for (int a = 0; a < 2; a++) {
        w.rate[a] = base_rand_range(rand, 0.02, 0.2);
        w.slope[a] = base_rand_range(rand, 0, 0.9);
        w.work[a] = base_rand_range(rand, 0.5, 2);
        w.own[a] = base_rand_range(rand, 0.01, 0.1);
        w.talk[a] = base_rand_range(rand, 0.0005, 0.01);
    }
    return w;
}

#endif
