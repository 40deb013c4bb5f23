/* test_jobs.c - which jobs of a trace are studied. */
#include "study_world.h"

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
        assert_true(w.jobs.use_until_s == w.jobs.jobs[w.jobs.count - 1].submit_s);
        world_end(&w);
    }
}

static void use_is_measured_to_the_last_end_where_submissions_take_less_than_a_hundredth(
    void **state)
{
    static const struct {
        const char *csv;
        double until_s;
    } cases[] = {
        {"name,submit_s,gpus,duration_s\na,0,1,1000\nb,9,1,10\n", 1000},
        {"name,submit_s,gpus,duration_s\na,0,1,1000\nb,11,1,10\n", 11},
        {"name,submit_s,gpus,duration_s\na,7,1,1000\nb,7,1,10\n", 1007},
    };

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        struct world w;
        world_make(&w, cases[i].csv, "2x8:gpu");
        assert_true(w.jobs.use_until_s == cases[i].until_s);
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
    assert_non_null(strstr(err.message, "'huge', asks for 64 GPUs"));
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
        cmocka_unit_test(
            use_is_measured_to_the_last_end_where_submissions_take_less_than_a_hundredth),
        cmocka_unit_test(nothing_left_is_said_in_words),
        cmocka_unit_test(sizes_are_the_four_of_the_study),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
