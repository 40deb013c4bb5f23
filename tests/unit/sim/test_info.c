/* test_info.c - a trace in numbers, against sums and counts done by hand. */
#include "property.h"
#include "sim_world.h"

#include "base/rand.h"
#include "shoal/list.h"
#include "shoal/trace.h"
#include "sim/info.h"
#include "torture.h"
#include <math.h>
#include <stdio.h>

static struct sim_trace *random_trace(shoal_env *env, uint64_t seed, size_t jobs)
{
    struct base_rand rand;
    struct base_buf text;

    base_rand_init(&rand, seed, "info");
    base_buf_init(&text, &base_alloc_libc, 1 << 20);
    base_buf_puts(&text, "name,submit_s,gpus,duration_s,group,model\n");
    for (size_t i = 0; i < jobs; i++)
        base_buf_printf(
            &text, "j%zu,%u,%u,%u,g%u,%s\n", i, 100 + (unsigned)base_rand_below(&rand, 5000),
            1 + (unsigned)base_rand_below(&rand, 12), 1 + (unsigned)base_rand_below(&rand, 9999),
            (unsigned)base_rand_below(&rand, 5), base_rand_below(&rand, 2) == 0 ? "m" : "");
    world_put(env, "t.csv", text.data);
    base_buf_fini(&text);
    return world_load(env, "t.csv", SIM_FORMAT_AUTO);
}

/* How many values are at most `x`. */
static size_t at_most(const struct sim_trace *trace, double x)
{
    size_t n = 0;

    for (size_t i = 0; i < trace->job_count; i++)
        n += trace->jobs[i].duration_s <= x;
    return n;
}

static void numbers_are_those_of_the_jobs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(100); seed++) {
        shoal_env *env = world_new();
        size_t jobs = 1 + (size_t)(seed % 40);
        struct sim_trace *trace = random_trace(env, seed, jobs);
        struct sim_info info;
        double gpu_s = 0, last = 0;
        uint64_t sizes[4] = {0};
        assert_int_equal(sim_info(trace, NULL, &info), SHOAL_OK);
        for (size_t i = 0; i < jobs; i++) {
            gpu_s += trace->jobs[i].duration_s * trace->jobs[i].gpus;
            last = fmax(last, trace->jobs[i].submit_s);
            uint32_t g = trace->jobs[i].gpus;
            sizes[g == 1 ? 0 : g <= 4 ? 1 : g <= 8 ? 2 : 3]++;
        }
        assert_int_equal(info.jobs, jobs);
        assert_int_equal(info.timed, jobs);
        assert_int_equal(info.impossible, 0);
        assert_true(fabs(info.gpu_h * 3600 - gpu_s) < 1e-6 * gpu_s);
        assert_true(info.first_s + info.span_s == last);
        assert_memory_equal(info.sizes, sizes, sizeof sizes);
        assert_true(isnan(info.load));
        for (size_t q = 0; q < SIM_INFO_QUANTILES; q++) {
            /* the value at position share x (n - 1), rounded down */
            size_t position = (size_t)(sim_info_shares[q] * (double)(jobs - 1));
            assert_true(at_most(trace, info.duration_s[q]) >= position + 1);
            assert_true(at_most(trace, info.duration_s[q] - 0.5) <= position);
            assert_true(q == 0 || info.gpus[q] >= info.gpus[q - 1]);
        }
        sim_trace_free(trace);
        shoal_env_free(env);
    }
}

static void cluster_gives_a_load_and_counts_what_never_fits(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(50); seed++) {
        shoal_env *env = world_new();
        struct sim_trace *trace = random_trace(env, seed, 30);
        struct sched_cluster cluster;
        struct sim_info info;
        uint64_t large = 0;
        double gpu_s = 0;
        assert_int_equal(sched_cluster_parse(&base_alloc_libc, "2x4:t4,3x2:v100", &cluster, NULL),
                         SHOAL_OK);
        assert_int_equal(sim_trace_bind(env, trace, &cluster, NULL, NULL), SHOAL_OK);
        assert_int_equal(sim_info(trace, &cluster, &info), SHOAL_OK);
        for (size_t i = 0; i < 30; i++) {
            large += trace->jobs[i].gpus > 8;
            gpu_s += trace->jobs[i].gpus > 8 ? 0 : trace->jobs[i].duration_s * trace->jobs[i].gpus;
        }
        assert_int_equal(info.impossible, large);
        assert_true(fabs(info.gpu_h * 3600 - gpu_s) < 1e-6 * gpu_s);
        assert_true(fabs(info.load - gpu_s / (14 * info.span_s)) < 1e-9 * info.load);
        sim_trace_free(trace);
        sched_cluster_fini(&cluster);
        shoal_env_free(env);
    }
}

static void counts_by_name_add_up_and_come_most_first(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(50); seed++) {
        shoal_env *env = world_new();
        struct sim_trace *trace = random_trace(env, seed, 40);
        for (int models = 0; models < 2; models++) {
            struct sim_info_count *counts;
            size_t count;
            uint64_t sum = 0, with = 0;
            assert_int_equal(sim_info_counts(trace, models == 1, &counts, &count), SHOAL_OK);
            for (size_t i = 0; i < count; i++) {
                sum += counts[i].jobs;
                assert_true(counts[i].jobs > 0);
                assert_true(
                    i == 0 || counts[i].jobs < counts[i - 1].jobs ||
                    (counts[i].jobs == counts[i - 1].jobs && counts[i].name > counts[i - 1].name));
            }
            for (size_t i = 0; i < 40; i++)
                with += models == 0 || trace->jobs[i].model != SIM_NONE;
            assert_int_equal(sum, with);
            base_free(trace->alloc, counts);
        }
        sim_trace_free(trace);
        shoal_env_free(env);
    }
}

static void work_that_is_not_known_in_seconds_is_left_out_of_the_sums(void **state)
{
    (void)state;
    shoal_env *env = world_new();
    struct sim_info info;
    world_put(env, "t.csv",
              "name,submit_s,gpus,duration_s,model,steps\na,0,2,3600,,\nb,9,1,,A3C,75\n");
    struct sim_trace *trace = world_load(env, "t.csv", SIM_FORMAT_AUTO);
    assert_int_equal(sim_info(trace, NULL, &info), SHOAL_OK);
    assert_int_equal(info.jobs, 2);
    assert_int_equal(info.timed, 1);
    assert_true(info.gpu_h == 2);
    assert_true(info.duration_s[SIM_INFO_QUANTILES - 1] == 3600);
    sim_trace_free(trace);
    shoal_env_free(env);
}

static shoal_status describe(const struct base_alloc *alloc, void *ctx)
{
    struct sim_trace *trace = ctx;
    const struct base_alloc *plain = trace->alloc;
    struct sim_info info;
    struct sim_info_count *counts = NULL;
    size_t count;

    trace->alloc = alloc;
    shoal_status st = sim_info(trace, NULL, &info);
    if (st == SHOAL_OK)
        st = sim_info_counts(trace, false, &counts, &count);
    base_free(alloc, counts);
    trace->alloc = plain;
    return st;
}

static void every_failed_allocation_is_a_clean_error(void **state)
{
    (void)state;
    shoal_env *env = world_new();
    struct sim_trace *trace = random_trace(env, 1, 10);
    torture_run(describe, trace);
    sim_trace_free(trace);
    shoal_env_free(env);
}

static shoal_trace_opts opts_of(const char *const *traces)
{
    shoal_trace_opts opts;

    shoal_trace_opts_init(&opts);
    opts.traces = traces;
    opts.trace_count = 1;
    return opts;
}

static void the_call_says_what_the_numbers_say(void **state)
{
    const char *const traces[] = {"t.csv"};
    shoal_trace_opts opts = opts_of(traces);
    const shoal_result *result = NULL;
    shoal_env *env = world_new();
    struct sim_trace *trace = random_trace(env, 3, 30);
    struct sim_info info;

    (void)state;
    assert_int_equal(sim_info(trace, NULL, &info), SHOAL_OK);
    assert_int_equal(shoal_trace_info(env, &opts, &result, NULL), SHOAL_OK);
    assert_true(shoal_result_number(result, 0, "jobs") == 30);
    assert_true(shoal_result_number(result, 0, "span_s") == info.span_s);
    assert_true(shoal_result_number(result, 0, "gpu_hours") == info.gpu_h);
    assert_true(isnan(shoal_result_number(result, 0, "load")));
    shoal_result_free(result);
    opts.cluster = "2x4:t4";
    assert_int_equal(shoal_trace_info(env, &opts, &result, NULL), SHOAL_OK);
    assert_true(shoal_result_number(result, 0, "load") > 0);
    shoal_result_free(result);
    opts.cluster = NULL;
    opts.profiles = "p.json";
    assert_int_equal(shoal_trace_info(env, &opts, &result, NULL), SHOAL_E_INVAL);
    sim_trace_free(trace);
    shoal_env_free(env);
}

static void converting_twice_gives_the_same_bytes_and_never_over_an_input(void **state)
{
    const char *const first[] = {"t.csv"}, *const second[] = {"once.csv"};
    shoal_trace_opts opts = opts_of(first);
    const shoal_result *result = NULL;
    shoal_env *env = world_new();

    (void)state;
    sim_trace_free(random_trace(env, 4, 20));
    opts.output = "t.csv";
    assert_int_equal(shoal_trace_convert(env, &opts, &result, NULL), SHOAL_E_INVAL);
    opts.output = "-";
    assert_int_equal(shoal_trace_convert(env, &opts, &result, NULL), SHOAL_E_INVAL);
    opts.output = "once.csv";
    assert_int_equal(shoal_trace_convert(env, &opts, &result, NULL), SHOAL_OK);
    assert_true(shoal_result_number(result, 0, "jobs") == 20);
    shoal_result_free(result);
    opts.traces = second;
    opts.output = "twice.csv";
    assert_int_equal(shoal_trace_convert(env, &opts, &result, NULL), SHOAL_OK);
    shoal_result_free(result);
    const struct base_buf *a = env_sim_find(env, "once.csv"), *b = env_sim_find(env, "twice.csv");
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->data, b->data, a->size);
    shoal_env_free(env);
}

static shoal_status list_all(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *before = env->alloc;
    const char *const traces[] = {"t.csv"};
    shoal_trace_opts opts = opts_of(traces);
    const shoal_result *result = NULL;

    env->alloc = alloc;
    shoal_status st = shoal_trace_info(env, &opts, &result, NULL);
    shoal_result_free(result);
    env->alloc = before;
    return st;
}

static void a_description_without_memory_is_a_clean_error(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    sim_trace_free(random_trace(env, 1, 10));
    torture_run(list_all, env);
    shoal_env_free(env);
}

static void a_policy_has_its_own_knobs_and_those_of_placement(void **state)
{
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(shoal_policy_show("las", &result, &err), SHOAL_OK);
    assert_string_equal(shoal_result_text(result, 0, "name"), "las");
    assert_true(shoal_result_number(result, 0, "preempts") == 1);
    shoal_result_free(result);
    assert_int_equal(shoal_policy_show("lsa", &result, &err), SHOAL_E_NOTFOUND);
    assert_non_null(strstr(err.hint, "las"));
    assert_int_equal(shoal_policy_list(&result, &err), SHOAL_OK);
    shoal_result_free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_the_jobs),
        cmocka_unit_test(cluster_gives_a_load_and_counts_what_never_fits),
        cmocka_unit_test(counts_by_name_add_up_and_come_most_first),
        cmocka_unit_test(work_that_is_not_known_in_seconds_is_left_out_of_the_sums),
        cmocka_unit_test(every_failed_allocation_is_a_clean_error),
        cmocka_unit_test(the_call_says_what_the_numbers_say),
        cmocka_unit_test(converting_twice_gives_the_same_bytes_and_never_over_an_input),
        cmocka_unit_test(a_description_without_memory_is_a_clean_error),
        cmocka_unit_test(a_policy_has_its_own_knobs_and_those_of_placement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
