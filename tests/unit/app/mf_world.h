/* mf_world.h - jobs of `mf` in simulation, on ratings with planted factors. */
#ifndef TESTS_MF_WORLD_H
#define TESTS_MF_WORLD_H

#include "app/app.h"
#include "app/mf.h"
#include "property.h"
#include "torture.h"
#include "unit/train/cluster.h"
#include <math.h>

/* ---- ratings ---- */

static const double NOISE = 0.3;

struct world {
    uint32_t users, items, ratings, rank;
    bool counts; /* a pair that is liked comes with a count, others not at all */
};
static const struct world WORLD = {.users = 120, .items = 80, .ratings = 5000, .rank = 3};

/* The job's data: cluster.h calls it "". */
static void put_ratings(shoal_env *env, const struct world *w)
{
    double p[200][4], q[200][4];
    struct base_rand rand;
    struct base_buf text;

    base_rand_init(&rand, 5, "planted");
    base_buf_init(&text, env_alloc(env), 1 << 22);
    for (uint32_t i = 0; i < 200 * 4; i++) {
        p[i / 4][i % 4] = base_rand_normal(&rand, 0, 1);
        q[i / 4][i % 4] = base_rand_normal(&rand, 0, 1);
    }
    for (uint32_t n = 0; n < w->ratings; n++) {
        uint32_t u = (uint32_t)base_rand_below(&rand, w->users);
        uint32_t i = (uint32_t)base_rand_below(&rand, w->items);
        double value = 3.5 + 0.3 * p[u][3] + 0.3 * q[i][3] + NOISE * base_rand_normal(&rand, 0, 1);
        for (uint32_t k = 0; k < w->rank; k++)
            value += 0.6 * p[u][k] * q[i][k];
        if (!w->counts)
            base_buf_printf(&text, "u%u,%u,%.4f\n", u, 1000 + i, value);
        else if (value > 4 || n == 0)
            base_buf_printf(&text, "u%u,%u,%.0f\n", u, 1000 + i, value);
    }
    assert_int_equal(env_sim_put(env, "", text.data, text.size), SHOAL_OK);
    base_buf_fini(&text);
}

/* A world with these ratings as its data; what shall happen in it is set before. */
static void make_cluster(struct cluster *c, uint64_t seed, const struct world *w)
{
    c->threads = 1 + (uint32_t)(seed % 2);
    cluster_begin(c, seed);
    put_ratings(c->env, w);
}

static void run(struct cluster *c, uint64_t seed, const char *settings)
{
    cluster_run(c, app_find("mf"), settings, 10000);
    if (!c->over || c->status != SHOAL_OK)
        fail_msg("seed %llu, %s: %s", (unsigned long long)seed, settings,
                 c->over ? c->err.message : "did not end");
    assert_int_equal(train_master_stats(c->master).violations, 0);
}

/* What happened is added to `sum`; NULL: forgotten. */
static void end(struct cluster *c, struct cluster_count *sum)
{
    if (sum != NULL)
        cluster_add(sum, &c->count);
    cluster_free(c);
}

#endif
