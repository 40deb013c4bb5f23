/* test_jobs.c - which jobs of a trace are studied. */
#include "study_world.h"

/* GPU time used up to a time if nobody waits, job by job. */
static double used_until(const struct study_jobs *jobs, double at_s)
{
    double sum = 0;

    for (size_t i = 0; i < jobs->count; i++) {
        const struct study_job *job = &jobs->jobs[i];
        sum += fmin(fmax(at_s - job->submit_s, 0), job->run_s) * job->gpus;
    }
    return sum;
}

static void every_job_that_fits_is_there_and_the_others_are_named(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(20); seed++) {
        struct world w;
        double gpu_s = 0;
        uint64_t large = 0;
        world_random(&w, seed, 200, "2x8:gpu"); /* 32 GPUs never fit */
        for (size_t i = 0; i < w.trace->job_count; i++)
            if (w.trace->jobs[i].gpus > 16)
                large++;
            else
                gpu_s += w.trace->jobs[i].gpus * w.trace->jobs[i].duration_s;
        assert_int_equal(w.jobs.too_large, large);
        assert_int_equal(w.jobs.count + large, w.trace->job_count);
        assert_int_equal(w.jobs.named_count, large < STUDY_NAMED ? large : STUDY_NAMED);
        for (uint32_t i = 0; i < w.jobs.named_count; i++)
            assert_int_equal(w.jobs.named[i].gpus, 32);
        assert_true(fabs(gpu_s - w.jobs.gpu_s) <= 1e-9 * gpu_s);
        assert_int_equal(w.jobs.sizes[0] + w.jobs.sizes[1] + w.jobs.sizes[2] + w.jobs.sizes[3],
                         w.jobs.count);
        for (size_t i = 1; i < w.jobs.count; i++)
            assert_true(w.jobs.jobs[i - 1].submit_s <= w.jobs.jobs[i].submit_s);
        assert_true(w.jobs.to_s > w.jobs.from_s);
        assert_true(w.jobs.busy_from_s >= w.jobs.from_s && w.jobs.busy_to_s <= w.jobs.to_s);
        assert_true(fabs(used_until(&w.jobs, w.jobs.busy_from_s) / gpu_s - 0.05) < 1e-6);
        assert_true(fabs(used_until(&w.jobs, w.jobs.busy_to_s) / gpu_s - 0.95) < 1e-6);
        world_end(&w);
    }
}

static void nothing_left_is_said_in_words(void **state)
{
    shoal_env *env = world_new();
    struct sched_cluster c;
    struct study_jobs jobs;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    world_put(env, "t.csv", "name,submit_s,gpus,duration_s\nhuge,0,64,10\n");
    struct sim_trace *trace = world_load(env, "t.csv", SIM_FORMAT_AUTO);
    assert_int_equal(sched_cluster_parse(env_alloc(env), "2x8:gpu", &c, &err), SHOAL_OK);
    assert_int_equal(sim_trace_bind(env, trace, &c, NULL, &err), SHOAL_OK);
    assert_int_equal(study_jobs_init(&jobs, env_alloc(env), trace, &c, &err), SHOAL_E_IMPOSSIBLE);
    assert_non_null(strstr(err.message, "'huge' (64 GPUs)"));
    assert_non_null(strstr(err.hint, "--cluster"));
    sim_trace_free(trace);
    sched_cluster_fini(&c);
    shoal_env_free(env);
}

static void sizes_are_the_four_of_the_study(void **state)
{
    static const uint32_t wanted[] = {0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3};

    (void)state;
    for (uint32_t g = 1; g < 11; g++)
        assert_int_equal(study_size_of(g), wanted[g]);
    assert_int_equal(study_size_of(100000), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_that_fits_is_there_and_the_others_are_named),
        cmocka_unit_test(nothing_left_is_said_in_words),
        cmocka_unit_test(sizes_are_the_four_of_the_study),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
