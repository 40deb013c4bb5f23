/* test_machines.c - the cluster chosen for a trace, and servers set apart for trials. */
#include "study_world.h"

#include "base/assert.h"
#include "study/load.h"
#include <stdio.h>

/* The slow way: how many GPUs run at each of many equally spaced times. */
static double sampled_demand(const struct study_jobs *jobs)
{
    enum { TIMES = 4000 };
    double sum = 0, squares = 0;

    for (int i = 0; i < TIMES; i++) {
        double at = jobs->from_s + (jobs->to_s - jobs->from_s) * (i + 0.5) / TIMES, in_use = 0;
        for (size_t j = 0; j < jobs->count; j++)
            if (jobs->jobs[j].submit_s <= at && at < jobs->jobs[j].submit_s + jobs->jobs[j].run_s)
                in_use += jobs->jobs[j].gpus;
        sum += in_use;
        squares += in_use * in_use;
    }
    return squares / sum;
}

static void chosen_cluster_has_the_stated_demand_and_mix(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(20); seed++) {
        struct base_buf text, spec;
        struct world w;
        struct sched_cluster c;
        shoal_err err = SHOAL_ERR_INIT;
        uint32_t largest = 0, small = 0, large = 0;

        base_buf_init(&text, &base_alloc_libc, 1 << 22);
        base_buf_init(&spec, &base_alloc_libc, 1 << 20);
        world_random_text(seed, 20 + 100 * (size_t)seed, &text);
        world_make(&w, text.data, "64x8:gpu");
        assert_int_equal(study_machines_choose(w.trace, &spec, &err), SHOAL_OK);
        assert_int_equal(sched_cluster_parse(&base_alloc_libc, spec.data, &c, &err), SHOAL_OK);
        for (size_t i = 0; i < w.jobs.count; i++)
            largest = w.jobs.jobs[i].gpus > largest ? w.jobs.jobs[i].gpus : largest;
        for (uint32_t n = 0; n < c.node_count; n++) {
            small += c.nodes[n].gpus == STUDY_SMALL;
            large += c.nodes[n].gpus == STUDY_LARGE;
        }
        assert_int_equal(small + large, c.node_count);
        assert_true(c.gpus >= largest);
        double demand = sampled_demand(&w.jobs);
        if (demand / STUDY_DEMAND > largest) /* within a server, and what sampling misses */
            assert_true(fabs(demand / STUDY_DEMAND - c.gpus) <=
                        STUDY_LARGE + 0.02 * demand / STUDY_DEMAND);
        if (c.gpus > 200) /* 321 to 231, as far as whole servers allow */
            assert_true(fabs((double)large / c.node_count - 231.0 / 552) < 0.05);
        sched_cluster_fini(&c);
        base_buf_fini(&text);
        base_buf_fini(&spec);
        world_end(&w);
    }
}

static void one_job_has_a_cluster_it_fits(void **state)
{
    static const char *const lines[] = {"a,0,1,10\n", "a,5,3,1e6\n", "a,0,1000,60\n"};

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(lines); i++) {
        char csv[100];
        struct base_buf spec;
        struct sched_cluster c;
        shoal_err err = SHOAL_ERR_INIT;
        shoal_env *env = world_new();
        snprintf(csv, sizeof csv, "name,submit_s,gpus,duration_s\n%s", lines[i]);
        world_put(env, "t.csv", csv);
        struct sim_trace *trace = world_load(env, "t.csv", SIM_FORMAT_AUTO);
        base_buf_init(&spec, &base_alloc_libc, 1 << 20);
        assert_int_equal(study_machines_choose(trace, &spec, &err), SHOAL_OK);
        assert_int_equal(sched_cluster_parse(&base_alloc_libc, spec.data, &c, &err), SHOAL_OK);
        assert_true(c.gpus >= trace->jobs[0].gpus);
        sched_cluster_fini(&c);
        base_buf_fini(&spec);
        sim_trace_free(trace);
        shoal_env_free(env);
    }
}

static void a_trace_of_models_needs_a_cluster(void **state)
{
    shoal_env *env = world_new();
    struct base_buf spec;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    world_put(env, "t.csv", "name,submit_s,gpus,model,steps\na,0,1,resnet,100\n");
    struct sim_trace *trace = world_load(env, "t.csv", SIM_FORMAT_AUTO);
    base_buf_init(&spec, &base_alloc_libc, 1 << 20);
    assert_int_equal(study_machines_choose(trace, &spec, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "'a'"));
    assert_non_null(strstr(err.hint, "--cluster"));
    base_buf_fini(&spec);
    sim_trace_free(trace);
    shoal_env_free(env);
}

static void split_keeps_every_server_once(void **state)
{
    static const char *const specs[] = {"10x8:gpu,4x2:gpu", "3x8:a,3x8:b,6x4:a", "20x1:x,5x16:x"};

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(specs); i++)
        for (uint32_t gpus = 1; gpus < 12; gpus++) {
            struct sched_cluster c, pool = {0}, rest = {0};
            shoal_err err = SHOAL_ERR_INIT;
            assert_int_equal(sched_cluster_parse(&base_alloc_libc, specs[i], &c, &err), SHOAL_OK);
            assert_int_equal(study_machines_split(&c, gpus, &pool, &rest), SHOAL_OK);
            assert_int_equal(pool.node_count + rest.node_count, c.node_count);
            assert_int_equal(pool.gpus + rest.gpus, c.gpus);
            assert_true(pool.gpus >= gpus && pool.gpus <= STUDY_POOL_SHARE * c.gpus);
            uint32_t most = 0, least = UINT32_MAX; /* small ones first */
            for (uint32_t n = 0; n < pool.node_count; n++)
                most = pool.nodes[n].gpus > most ? pool.nodes[n].gpus : most;
            for (uint32_t n = 0; n < rest.node_count; n++)
                least = rest.nodes[n].gpus < least ? rest.nodes[n].gpus : least;
            assert_true(most <= least);
            for (uint32_t k = 0; k < c.kind_count; k++) {
                uint32_t sum = 0;
                for (uint32_t n = 0; n < rest.node_count; n++)
                    sum += rest.nodes[n].kind == k ? rest.nodes[n].gpus : 0;
                assert_int_equal(sum, rest.kinds[k].gpus);
                assert_int_equal(pool.kinds[k].gpus + rest.kinds[k].gpus, c.kinds[k].gpus);
                assert_true(rest.kinds[k].nodes > 0);
            }
            sched_cluster_fini(&pool);
            sched_cluster_fini(&rest);
            sched_cluster_fini(&c);
        }
}

static void a_small_cluster_has_no_pool(void **state)
{
    static const char *const specs[] = {"1x8:gpu", "2x8:gpu", "1x1:a,8x8:b"};

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(specs); i++) {
        struct sched_cluster c, pool = {0}, rest = {0};
        shoal_err err = SHOAL_ERR_INIT;
        assert_int_equal(sched_cluster_parse(&base_alloc_libc, specs[i], &c, &err), SHOAL_OK);
        assert_int_equal(study_machines_split(&c, 1, &pool, &rest), SHOAL_E_IMPOSSIBLE);
        assert_int_equal(pool.gpus + rest.gpus, 0);
        sched_cluster_fini(&c);
    }
}

static shoal_status split(const struct base_alloc *alloc, void *ctx)
{
    struct sched_cluster c, pool, rest;
    shoal_status st = sched_cluster_parse(alloc, ctx, &c, NULL);

    if (st != SHOAL_OK)
        return st;
    st = study_machines_split(&c, 3, &pool, &rest);
    if (st == SHOAL_OK) {
        sched_cluster_fini(&pool);
        sched_cluster_fini(&rest);
    }
    sched_cluster_fini(&c);
    return st;
}

static void short_memory_ends_cleanly(void **state)
{
    char spec[] = "10x8:gpu,4x2:gpu";

    (void)state;
    torture_run(split, spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen_cluster_has_the_stated_demand_and_mix),
        cmocka_unit_test(one_job_has_a_cluster_it_fits),
        cmocka_unit_test(a_trace_of_models_needs_a_cluster),
        cmocka_unit_test(split_keeps_every_server_once),
        cmocka_unit_test(a_small_cluster_has_no_pool),
        cmocka_unit_test(short_memory_ends_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
