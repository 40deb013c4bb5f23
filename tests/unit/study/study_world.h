/* study_world.h - traces with random jobs, bound to a cluster, for tests of the study. */
#ifndef TESTS_STUDY_WORLD_H
#define TESTS_STUDY_WORLD_H

#include "property.h"
#include "unit/sim/sim_world.h"

#include "base/assert.h"
#include "base/rand.h"
#include "study/load.h"
#include <math.h>

struct world {
    shoal_env *env;
    struct sched_cluster cluster;
    struct sim_trace *trace;
    struct study_jobs jobs;
};

/* Durations over five decades, sizes of up to 32 GPUs, five groups. */
static inline void world_random_text(uint64_t seed, size_t jobs, struct base_buf *text)
{
    static const unsigned sizes[] = {1, 1, 1, 1, 2, 3, 4, 8, 8, 16, 32};
    struct base_rand rand;

    base_rand_init(&rand, seed, "study-world");
    base_buf_puts(text, "name,submit_s,gpus,duration_s,group\n");
    for (size_t i = 0; i < jobs; i++)
        base_buf_printf(text, "j%zu,%u,%u,%.1f,g%u\n", i, (unsigned)base_rand_below(&rand, 200000),
                        sizes[base_rand_below(&rand, BASE_COUNT(sizes))],
                        exp(base_rand_range(&rand, log(5), log(200000))),
                        (unsigned)base_rand_below(&rand, 5));
}

static inline void world_make(struct world *w, const char *csv, const char *spec)
{
    shoal_err err = SHOAL_ERR_INIT;

    *w = (struct world){.env = world_new()};
    world_put(w->env, "t.csv", csv);
    w->trace = world_load(w->env, "t.csv", SIM_FORMAT_AUTO);
    assert_int_equal(sched_cluster_parse(env_alloc(w->env), spec, &w->cluster, &err), SHOAL_OK);
    assert_int_equal(sim_trace_bind(w->env, w->trace, &w->cluster, NULL, &err), SHOAL_OK);
    if (study_jobs_init(&w->jobs, env_alloc(w->env), w->trace, &w->cluster, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
}

static inline void world_random(struct world *w, uint64_t seed, size_t jobs, const char *spec)
{
    struct base_buf text;

    base_buf_init(&text, &base_alloc_libc, 1 << 24);
    world_random_text(seed, jobs, &text);
    world_make(w, text.data, spec);
    base_buf_fini(&text);
}

static inline void world_end(struct world *w)
{
    study_jobs_fini(&w->jobs);
    sim_trace_free(w->trace);
    sched_cluster_fini(&w->cluster);
    shoal_env_free(w->env);
}

#endif
