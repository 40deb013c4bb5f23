/* Tests of src/sim/bind.c, of how jobs are bound to fitted models, and of how they run. */
#include "unit/sim/run_world.h"

#include "unit/sim/fitted_models.h"

#define HEAD "{\"v\":1,\"shoal\":\"fitted model\",\"models\":["
#define TAIL "]}"
#define SGD                                                                                  \
    "{\"name\":\"sgd\",\"machines\":[1,2,4,8],\"step_s\":[8,4.2,2.4,1.9],\"level\":[0,1,5]," \
    "\"steps\":[[10,80],[11,90],[13,110],[17,170]]}"
#define COCOA                                                                    \
    "{\"name\":\"cocoa\",\"machines\":[2,16],\"step_s\":[20,3],\"level\":[0,4]," \
    "\"steps\":[[40],[90]],\"later\":{\"a\":1}}"
#define JOBS "name,submit_s,gpus,model\n"

static shoal_status load(const char *text, size_t size, struct sim_fitted **out, shoal_err *err)
{
    shoal_env *env = world_new();

    assert_int_equal(env_sim_put(env, "m.json", text, size), SHOAL_OK);
    shoal_status st = sim_fitted_load(env, "m.json", out, err);
    if (st != SHOAL_OK) {
        shoal_env_free(env);
        return st;
    }
    assert_int_equal((*out)->count, 2);
    const struct sched_fitted *f = find_fitted(*out, "sgd");
    assert_non_null(f);
    assert_true(f->machine_count == 4 && f->level_count == 2 && f->steps[7] == 170);
    assert_true(f->machines[3] == 8 && f->step_s[1] == 4.2 && f->level[2] == 5);
    assert_non_null(find_fitted(*out, "cocoa"));
    assert_null(find_fitted(*out, "coco"));
    sim_fitted_free(*out);
    *out = NULL;
    shoal_env_free(env);
    return st;
}

static void tables_are_read_and_later_keys_left_alone(void **state)
{
    struct sim_fitted *fitted = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    static const char TEXT[] = HEAD SGD "," COCOA TAIL;

    (void)state;
    if (load(TEXT, strlen(TEXT), &fitted, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
}

static void what_is_not_one_is_refused_in_a_sentence(void **state)
{
    static const struct {
        const char *text, *words;
    } CASES[] = {
        {"", "empty file"},
        {"{", "line 1, column"},
        {"[]", "expected \"fitted model\""},
        {"{\"v\":1,\"shoal\":\"other\"}", "expected \"fitted model\""},
        {"{\"v\":2,\"shoal\":\"fitted model\",\"models\":[]}", "expected version 1"},
        {HEAD TAIL, "1 to 256 models"},
        {HEAD "7" TAIL, "the name of a model"},
        {HEAD "{\"name\":\"\"}" TAIL, "the name of a model"},
        {HEAD "{\"name\":\"a\"}" TAIL, "1 to 64 machine counts"},
        {HEAD SGD "," SGD TAIL, "a name that no other model has"},
        {HEAD "{\"name\":\"a\",\"machines\":[2,1]}" TAIL, "that rise"},
        {HEAD "{\"name\":\"a\",\"machines\":[0]}" TAIL, "whole numbers from 1"},
        {HEAD "{\"name\":\"a\",\"machines\":[1.5]}" TAIL, "whole numbers from 1"},
        {HEAD "{\"name\":\"a\",\"machines\":[1]}" TAIL, "2 to 257 numbers"},
        {HEAD "{\"name\":\"a\",\"machines\":[1],\"level\":[1,2]}" TAIL, "rise from 0"},
        {HEAD "{\"name\":\"a\",\"machines\":[1],\"level\":[0,0]}" TAIL, "rise from 0"},
        {HEAD "{\"name\":\"a\",\"machines\":[1],\"level\":[0,\"1\"]}" TAIL, "entry 2 is not one"},
        {HEAD "{\"name\":\"a\",\"machines\":[1],\"level\":[0,1]}" TAIL, "\"step_s\": expected"},
        {HEAD "{\"name\":\"a\",\"machines\":[1],\"level\":[0,1],\"step_s\":[0]}" TAIL,
         "numbers from 1e-09 to 1e+09"},
        {HEAD "{\"name\":\"a\",\"machines\":[1],\"level\":[0,1],\"step_s\":[1]}" TAIL,
         "one list for each machine count"},
        {HEAD "{\"name\":\"a\",\"machines\":[1],\"level\":[0,1],\"step_s\":[1],"
              "\"steps\":[[1,2]]}" TAIL,
         "a list of 1 number"},
        {HEAD "{\"name\":\"a\",\"machines\":[1],\"level\":[0,1],\"step_s\":[1],"
              "\"steps\":[[-1]]}" TAIL,
         "numbers from 1e-09 to 1e+15"},
        {HEAD "{\"name\":\"a\",\"machines\":[1],\"level\":[0,1e308],\"step_s\":[1],"
              "\"steps\":[[1]]}" TAIL,
         "numbers from 0 to 1e+06"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct sim_fitted *fitted = NULL;
        shoal_err err = SHOAL_ERR_INIT;
        assert_int_equal(load(CASES[i].text, strlen(CASES[i].text), &fitted, &err), SHOAL_E_FORMAT);
        assert_null(fitted);
        if (strstr(err.message, CASES[i].words) == NULL)
            fail_msg("expected '%s' in '%s'", CASES[i].words, err.message);
    }
}

static void a_file_tells_what_it_is(void **state)
{
    static const struct {
        const char *text;
        bool fitted;
    } CASES[] = {
        {HEAD SGD TAIL, true},
        {" {\n \"shoal\" :\t\"fitted model\"", true}, /* broken, but meant as one */
        {"{\"shoal\":{\"('A', 1)\":{\"null\":1}}}", false},
        {"{\"v100\":{\"('A', 1)\":{\"null\":1}}}", false},
        {"", false},
        {"\"shoal\"", false},
    };
    shoal_env *env = world_new();

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        world_put(env, "a.json", CASES[i].text);
        assert_int_equal(sim_fitted_is(env, "a.json"), CASES[i].fitted);
    }
    assert_false(sim_fitted_is(env, "missing.json"));
    shoal_env_free(env);
}

static void refuses(const char *jobs, shoal_status expected, const char *words, const char *hint)
{
    struct run_world w;
    shoal_err err = SHOAL_ERR_INIT;

    run_world_init(&w, "4x4:v100");
    world_put(w.env, "m.json", HEAD SGD "," COCOA TAIL);
    world_put(w.env, "t.csv", jobs);
    w.trace = world_load(w.env, "t.csv", SIM_FORMAT_SHOAL);
    assert_int_equal(sim_trace_bind(w.env, w.trace, &w.cluster, "m.json", &err), expected);
    if (strstr(err.message, words) == NULL || strstr(err.hint, hint) == NULL)
        fail_msg("expected '%s' in '%s', '%s' in '%s'", words, err.message, hint, err.hint);
    run_world_fini(&w);
}

static void jobs_that_do_not_fit_their_model_are_refused(void **state)
{
    (void)state;
    refuses(JOBS "a,0,1,sgdd\n", SHOAL_E_NOTFOUND, "'sgdd' is not in 'm.json'",
            "did you mean 'sgd'?");
    refuses(JOBS "a,0,9,sgd\n", SHOAL_E_NOTFOUND, "asks for 9 GPUs", "ask for 1 to 8");
    refuses(JOBS "a,0,1,cocoa\n", SHOAL_E_NOTFOUND, "asks for 1 GPU,", "ask for 2 to 16");
    refuses("name,submit_s,gpus,model,batch\na,0,1,sgd,32\n", SHOAL_E_INVAL, "states a batch",
            "leave the column 'batch' empty");
    refuses("name,submit_s,gpus,model,steps\na,0,1,sgd,32\n", SHOAL_E_INVAL,
            "needs a throughput table", "--profiles FILE.json");
}

/* Measured in time on the fewest machines it takes as long as ever, and gets on evenly there. */
static void even_progress_takes_the_same_time(void **state)
{
    struct run_world w;
    struct sim_fitted *fitted = NULL;

    (void)state;
    run_world_init(&w, "4x4:v100");
    world_put(w.env, "m.json", HEAD SGD "," COCOA TAIL);
    assert_int_equal(sim_fitted_load(w.env, "m.json", &fitted, NULL), SHOAL_OK);
    struct sched_model read = sched_model_fitted(find_fitted(fitted, "sgd"));
    struct sched_model even = sched_model_fitted(sim_fitted_even(fitted, "sgd"));
    assert_true(read.work == 5 && even.work == 1);
    assert_true(fabs(sim_fitted_even(fitted, "sgd")->level[1] - 10.0 / 90) < 1e-15);
    for (uint32_t g = 1; g <= 8; g++)
        assert_true(fabs(sched_model_ideal_s(&read, &w.cluster, 0, g, 0) -
                         sched_model_ideal_s(&even, &w.cluster, 0, g, 0)) < 1e-9);
    struct sched_place place = {0, 1};
    struct sched_alloc one = {&place, 1, 1, 0};
    double until, first = sched_model_rate(&even, &one, NULL, 0, &until);
    assert_true(fabs(sched_model_rate(&even, &one, NULL, 0.5, &until) - first) < 1e-15);
    sim_fitted_free(fitted);
    run_world_fini(&w);
}

static double seconds_of(const struct sim_result *r, size_t job)
{
    return r->jobs[job].finish_s - r->jobs[job].start_s;
}

/* Alone, a job takes the sum over levels, after its start-up. */
static void alone_a_job_takes_what_the_tables_say(void **state)
{
    static const char *const POLICIES[] = {"fifo", "srtf", "las", "max-min", "ftf", "makespan"};
    struct run_world w;

    (void)state;
    run_world_init(&w, "4x4:v100,2x4:k80");
    world_put(w.env, "m.json", HEAD SGD "," COCOA TAIL);
    run_world_csv(&w, JOBS "a,0,4,sgd\nb,100000,3,sgd\nc,200000,16,cocoa\n", "m.json");
    assert_int_equal(w.trace->jobs[0].kinds, 3);
    assert_int_equal(w.trace->jobs[2].kinds, 1); /* k80 has 8 */
    double part = log(1.5) / log(2);             /* of 3 between 2 and 4 */
    double step = 4.2 * pow(2.4 / 4.2, part);
    double expected[] = {2.4 * 123, step * (11 * pow(13.0 / 11, part) + 90 * pow(110.0 / 90, part)),
                         3 * 90};
    for (size_t p = 0; p < sizeof POLICIES / sizeof *POLICIES; p++) {
        struct sim_opts o = run_world_opts(POLICIES[p]);
        o.how.restart_s = 30;
        struct sim_result *r = run_world_run(&w, &o);
        assert_int_equal(r->metrics.finished, 3);
        for (size_t j = 0; j < 3; j++)
            assert_true(fabs(seconds_of(r, j) - 30 - expected[j]) < 1e-6 * expected[j]);
        sim_result_free(r);
    }
    run_world_fini(&w);
}

/* Policies that size jobs size these: alone, the count that ends it soonest, never one outside. */
static void policies_that_size_jobs_size_these(void **state)
{
    static const char *const POLICIES[] = {"shoal", "pollux", "themis"};
    struct run_world w;

    (void)state;
    for (size_t p = 0; p < sizeof POLICIES / sizeof *POLICIES; p++) {
        run_world_init(&w, "4x4:v100");
        world_put(w.env, "m.json", HEAD SGD "," COCOA TAIL);
        run_world_csv(&w,
                      "name,submit_s,gpus,model,adapt\n"
                      "a,0,1,sgd,\nb,0,2,cocoa,\nc,5,2,sgd,\nd,9,4,cocoa,\ne,10,1,sgd,none\n"
                      "f,100000,1,sgd,size\n",
                      "m.json");
        struct sim_opts o = run_world_opts(POLICIES[p]);
        struct sim_result *r = run_world_run(&w, &o);
        assert_int_equal(r->metrics.finished, 6);
        /* alone on one GPU f would take 8 x 90 s; on 4, 2.4 x 123 s */
        if (strcmp(POLICIES[p], "themis") != 0)
            assert_true(seconds_of(r, 5) < 0.7 * 8 * 90);
        /* e keeps its one GPU: what it held is what it ran */
        assert_true(fabs((double)r->jobs[4].gpu_s + (double)r->jobs[4].wait_s -
                         (r->jobs[4].finish_s - w.trace->jobs[4].submit_s)) < 1);
        sim_result_free(r);
        run_world_fini(&w);
    }
}

static void a_run_says_the_same_twice(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "2x4:v100");
    world_put(w.env, "m.json", HEAD SGD "," COCOA TAIL);
    run_world_csv(&w, JOBS "a,0,4,sgd\nb,3,8,sgd\nc,7,2,cocoa\nd,50,1,sgd\n", "m.json");
    struct sim_opts o = run_world_opts("shoal");
    run_world_repeats(&w, &o);
    run_world_fini(&w);
}

static shoal_status load_one(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *plain = env->alloc;
    struct sim_fitted *fitted = NULL;

    env->alloc = alloc;
    shoal_status st = sim_fitted_load(env, "m.json", &fitted, NULL);
    sim_fitted_free(fitted);
    env->alloc = plain;
    return st;
}

static void failing_allocations_end_cleanly(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "m.json", HEAD SGD "," COCOA TAIL);
    torture_run(load_one, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_read_and_later_keys_left_alone),
        cmocka_unit_test(what_is_not_one_is_refused_in_a_sentence),
        cmocka_unit_test(a_file_tells_what_it_is),
        cmocka_unit_test(jobs_that_do_not_fit_their_model_are_refused),
        cmocka_unit_test(even_progress_takes_the_same_time),
        cmocka_unit_test(alone_a_job_takes_what_the_tables_say),
        cmocka_unit_test(policies_that_size_jobs_size_these),
        cmocka_unit_test(a_run_says_the_same_twice),
        cmocka_unit_test(failing_allocations_end_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
