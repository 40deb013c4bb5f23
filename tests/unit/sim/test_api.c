/* test_api.c - the public simulator: what callers may rely on; policies with knobs, as people write them. */
#include "sim_world.h"

#include "base/err.h"
#include "shoal/sim.h"
#include "sim/compare.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char small[] = "name,submit_s,gpus,duration_s\n"
                            "a,0,4,600\n"
                            "b,10,8,300\n"
                            "c,20,1,100\n"
                            "huge,30,64,10\n";

static shoal_sim_opts usual(void)
{
    shoal_sim_opts opts;

    shoal_sim_opts_init(&opts);
    return opts;
}

static double number(const shoal_result *result, const char *name)
{
    return shoal_result_number(result, 0, name);
}

/* Runs policies; frees the result of the run before. */
static shoal_status run(shoal_sim *sim, const char *policies, const shoal_result **result,
                        shoal_err *err)
{
    const shoal_result *made = NULL;
    shoal_status st = shoal_sim_run(sim, policies, NULL, &made, err);

    if (st == SHOAL_OK) {
        shoal_result_free(*result);
        *result = made;
    }
    return st;
}

static shoal_sim *sim_of(shoal_env *env, const char *cluster)
{
    static const char *const traces[] = {"a.csv"};
    shoal_sim_opts opts = usual();
    shoal_sim *sim = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    opts.traces = traces;
    opts.trace_count = 1;
    opts.cluster = cluster;
    if (shoal_sim_new(env, &opts, &sim, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    return sim;
}

static void every_policy_runs_on_the_same_simulation(void **state)
{
    static const char *const policies[] = {
        "fifo", "fifo:backfill=easy", "las:quantum=30m:locality=strict",
        "srtf", "tiresias",           "gandiva",
        "allox"};
    shoal_env *env = world_new();
    const shoal_result *r = NULL;

    (void)state;
    world_put(env, "a.csv", small);
    shoal_sim *sim = sim_of(env, "2x4:t4");
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        shoal_err err = SHOAL_ERR_INIT;
        if (run(sim, policies[i], &r, &err) != SHOAL_OK)
            fail_msg("%s: %s", policies[i], err.message);
        assert_int_equal(number(r, "jobs"), 4);
        assert_int_equal(number(r, "finished"), 3);
        assert_int_equal(number(r, "rejected"), 1);
        assert_true(number(r, "avg_jct_s") >= (600 + 300 + 100) / 3.0);
        assert_true(number(r, "utilization") > 0 && number(r, "utilization") <= 1);
        assert_true(isnan(number(r, "share_error"))); /* none of these promises shares */
        assert_int_equal(number(r, "unproven"), 0);
    }
    shoal_result_free(r);
    shoal_sim_free(sim);
    shoal_env_free(env);
}

static void jobs_tell_what_the_last_run_did(void **state)
{
    shoal_env *env = world_new();
    const shoal_result *r = NULL;
    shoal_sim_job job = {.struct_size = sizeof job};

    (void)state;
    world_put(env, "a.csv", small);
    shoal_sim *sim = sim_of(env, "2x4:t4");
    assert_int_equal(shoal_sim_job_count(sim), 4);
    assert_int_equal(shoal_sim_job_get(sim, 0, &job, NULL), SHOAL_OK);
    assert_true(isnan(job.finish_s));

    assert_int_equal(run(sim, "fifo", &r, NULL), SHOAL_OK);
    assert_int_equal(shoal_sim_job_get(sim, 0, &job, NULL), SHOAL_OK);
    assert_string_equal(job.name, "a");
    assert_true(job.start_s == 0 && job.finish_s == 630); /* a 30 s start, then 600 s of work */
    assert_int_equal(shoal_sim_job_get(sim, 3, &job, NULL), SHOAL_OK);
    assert_string_equal(job.name, "huge");
    assert_true(isnan(job.start_s) && isnan(job.finish_s));
    assert_int_equal(shoal_sim_job_get(sim, 4, &job, NULL), SHOAL_E_NOTFOUND);
    assert_string_equal(job.name, "huge"); /* untouched */
    shoal_result_free(r);
    shoal_sim_free(sim);
    shoal_env_free(env);
}

static void wrong_calls_are_refused_and_change_nothing(void **state)
{
    static const char *const traces[] = {"missing.csv"};
    shoal_env *env = world_new();
    shoal_sim_opts opts = usual();
    shoal_sim *sim = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    const shoal_result *r = NULL;

    (void)state;
    assert_int_equal(shoal_sim_new(env, &opts, &sim, &err), SHOAL_E_INVAL);
    opts.traces = traces;
    opts.trace_count = 1;
    assert_int_equal(shoal_sim_new(env, &opts, &sim, &err), SHOAL_E_NOTFOUND);
    opts.cluster = "4 nodes";
    assert_int_equal(shoal_sim_new(env, &opts, &sim, &err), SHOAL_E_INVAL);
    assert_null(sim);

    world_put(env, "a.csv", small);
    sim = sim_of(env, "2x4:t4");
    assert_int_equal(run(sim, "polux", &r, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "polux"));
    assert_int_equal(run(sim, "las:quantum=soon", &r, &err), SHOAL_E_INVAL);
    assert_null(r);
    assert_int_equal(shoal_sim_run(sim, "las", NULL, NULL, &err), SHOAL_E_INVAL);
    assert_int_equal(shoal_sim_run(sim, "polux", NULL, &r, NULL), SHOAL_E_INVAL);
    opts.struct_size = 0;
    assert_int_equal(shoal_sim_new(env, &opts, &sim, &err), SHOAL_E_INVAL);
    shoal_result_free(r);
    shoal_sim_free(sim);
    shoal_sim_free(NULL);
    shoal_env_free(env);
}

static void structs_of_an_older_header_are_read_and_filled_as_far_as_they_go(void **state)
{
    static const char *const traces[] = {"a.csv"};
    shoal_env *env = world_new();
    shoal_sim_opts opts = usual();
    shoal_sim *sim = NULL;
    const shoal_result *r = NULL;
    shoal_sim_job job = {.struct_size = sizeof job};

    (void)state;
    world_put(env, "a.csv", small);
    opts.traces = traces;
    opts.trace_count = 1;
    opts.cluster = "2x4:t4";
    opts.struct_size = offsetof(shoal_sim_opts, spread); /* the rest is not the caller's */
    opts.round_s = -1;
    opts.node_repair_s = NAN;
    assert_int_equal(shoal_sim_new(env, &opts, &sim, NULL), SHOAL_OK);
    assert_int_equal(run(sim, "fifo", &r, NULL), SHOAL_OK);
    job.struct_size = offsetof(shoal_sim_job, wait_s);
    job.wait_s = -7;
    assert_int_equal(shoal_sim_job_get(sim, 0, &job, NULL), SHOAL_OK);
    assert_true(job.finish_s == 630 && job.wait_s == -7);
    shoal_result_free(r);
    shoal_sim_free(sim);
    shoal_env_free(env);
}

static void jobs_are_decided_on_between_rounds_when_that_is_wanted(void **state)
{
    static const char *const traces[] = {"a.csv"};
    shoal_env *env = world_new();
    shoal_sim_opts opts = usual();
    shoal_sim *sim = NULL;
    const shoal_result *r = NULL;
    shoal_sim_job job = {.struct_size = sizeof job};

    (void)state;
    world_put(env, "a.csv", small);
    opts.traces = traces;
    opts.trace_count = 1;
    opts.cluster = "2x8:t4";
    opts.react_s = 5;
    assert_int_equal(shoal_sim_new(env, &opts, &sim, NULL), SHOAL_OK);
    assert_int_equal(run(sim, "max-min", &r, NULL), SHOAL_OK);
    assert_int_equal(shoal_sim_job_get(sim, 1, &job, NULL), SHOAL_OK);
    assert_true(job.start_s == 10);
    assert_int_equal(number(r, "solves"),
                     5); /* three come and are let in; the last of three ends leaves nobody */
    assert_true(number(r, "rounds") > number(r, "solves")); /* at most rounds nothing is new */
    shoal_result_free(r);
    shoal_sim_free(sim);
    shoal_env_free(env);
}

static void half_of_a_sweep_is_stopped_when_that_is_wanted(void **state)
{
    static const char *const traces[] = {"a.csv"};
    shoal_env *env = world_new();
    shoal_sim_opts opts = usual();
    shoal_sim *sim = NULL;
    const shoal_result *r = NULL;

    (void)state;
    world_put(env, "a.csv",
              "name,submit_s,gpus,duration_s,app,score\na,0,1,600,s,1\nb,0,1,600,s,2\n");
    opts.traces = traces;
    opts.trace_count = 1;
    opts.cluster = "1x4:t4";
    opts.halving = 2;
    assert_int_equal(shoal_sim_new(env, &opts, &sim, NULL), SHOAL_OK);
    assert_int_equal(run(sim, "fifo", &r, NULL), SHOAL_OK);
    assert_int_equal(number(r, "finished"), 1);
    assert_int_equal(number(r, "stopped"), 1);
    assert_true(number(r, "node_h") > 0);
    shoal_result_free(r);
    shoal_sim_free(sim);
    shoal_env_free(env);
}

static void deadlines_are_counted_and_money_needs_prices(void **state)
{
    shoal_env *env = world_new();
    const shoal_result *r = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    world_put(env, "a.csv",
              "name,submit_s,gpus,duration_s,deadline_s\n"
              "a,0,4,600,5000\nb,0,4,600,100\nc,0,4,600,\n");
    shoal_sim *sim = sim_of(env, "1x4:t4");
    assert_int_equal(run(sim, "cost-slo", &r, &err), SHOAL_OK);
    assert_true(number(r, "deadlines") == 2 && number(r, "missed") == 1);
    shoal_result_free(r);
    shoal_sim_free(sim);
    r = NULL;
    sim = sim_of(env, "1x4:thing");
    assert_int_equal(run(sim, "cost-slo", &r, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "'thing'"));
    assert_int_equal(run(sim, "max-min", &r, &err), SHOAL_OK);
    shoal_result_free(r);
    shoal_sim_free(sim);
    shoal_env_free(env);
}

static void a_stopped_run_is_cancelled_and_another_watch_sees_it_whole(void **state)
{
    shoal_env *env = world_new();
    const shoal_result *r = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    world_put(env, "a.csv", small);
    shoal_sim *sim = sim_of(env, "2x4:t4");
    shoal_watch *watch = shoal_watch_new();
    shoal_watch_stop(watch);
    assert_int_equal(shoal_sim_run(sim, "fifo", watch, &r, &err), SHOAL_E_CANCELLED);
    assert_null(r);
    shoal_watch_free(watch);
    watch = shoal_watch_new();
    assert_int_equal(shoal_sim_run(sim, "fifo,las", watch, &r, &err), SHOAL_OK);
    assert_int_equal(r->records.count, 2);
    assert_true(shoal_watch_look(watch).done == shoal_watch_look(watch).total);
    assert_true(shoal_watch_look(watch).total == 8);
    shoal_watch_free(watch);
    shoal_result_free(r);
    shoal_sim_free(sim);
    shoal_env_free(env);
}

static shoal_status scenario(shoal_env *env)
{
    static const char *const traces[] = {"a.csv"};
    shoal_sim_opts opts = usual();
    shoal_sim *sim = NULL;
    const shoal_result *r = NULL;

    opts.traces = traces;
    opts.trace_count = 1;
    opts.cluster = "2x4:t4";
    shoal_status st = shoal_sim_new(env, &opts, &sim, NULL);
    if (st == SHOAL_OK)
        st = run(sim, "las:quantum=30m", &r, NULL);
    if (st == SHOAL_OK)
        st = run(sim, "gandiva", &r, NULL);
    if (st == SHOAL_OK && number(r, "finished") != 3)
        st = SHOAL_E_INTERNAL;
    shoal_result_free(r);
    shoal_sim_free(sim);
    return st;
}

static shoal_status api_scenario(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *plain = env->alloc;

    env->alloc = alloc;
    shoal_status st = scenario(env);
    env->alloc = plain;
    return st;
}

static void failed_allocations_end_in_a_clean_error(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "a.csv", small);
    torture_run(api_scenario, env);
    shoal_env_free(env);
}

/* ---- policies by name ---- */

static void every_policy_is_found_by_its_name(void **state)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct sim_choice c;
        char text[64];
        snprintf(text, sizeof text, "%s", policies[i]->name);
        assert_int_equal(sim_choice_parse(text, &c, NULL), SHOAL_OK);
        assert_ptr_equal(c.policy, policies[i]);
        assert_int_equal(c.set_count, 0);
    }
}

static void knobs_are_what_stands_between_colons(void **state)
{
    struct sim_choice c;
    char text[1024] = "las:quantum=30m:locality=strict", whole[1024];

    (void)state;
    assert_int_equal(sim_choice_parse(text, &c, NULL), SHOAL_OK);
    assert_string_equal(c.policy->name, "las");
    assert_int_equal(c.set_count, 2);
    assert_string_equal(c.sets[0], "quantum=30m");
    assert_string_equal(c.sets[1], "locality=strict");

    /* what was cut, joined again, is what was written; empty knobs are kept for sim_run to refuse */
    for (size_t knobs = 0; knobs <= SIM_SETS_MAX; knobs++) {
        size_t at = (size_t)snprintf(text, sizeof text, "fifo");
        for (size_t i = 0; i < knobs; i++)
            at += (size_t)snprintf(text + at, sizeof text - at, i % 5 == 4 ? ":" : ":k%zu=v", i);
        memcpy(whole, text, sizeof whole);
        assert_int_equal(sim_choice_parse(text, &c, NULL), SHOAL_OK);
        assert_int_equal(c.set_count, knobs);
        char again[1024];
        at = (size_t)snprintf(again, sizeof again, "%s", c.policy->name);
        for (size_t i = 0; i < knobs; i++)
            at += (size_t)snprintf(again + at, sizeof again - at, ":%s", c.sets[i]);
        assert_string_equal(again, whole);
    }
}

static void what_is_no_policy_is_refused_and_changes_nothing(void **state)
{
    static const char *const wrong[] = {"polux", "", ":quantum=1", "LAS", "las quantum=1"};
    struct sim_choice c = {.set_count = 77};
    shoal_err err = SHOAL_ERR_INIT;
    char text[1024];

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "%s", wrong[i]);
        assert_int_equal(sim_choice_parse(text, &c, &err), SHOAL_E_NOTFOUND);
        assert_int_equal(err.code, SHOAL_E_NOTFOUND);
        assert_int_equal(sim_choice_parse(text, &c, NULL), SHOAL_E_NOTFOUND);
    }
    size_t at = (size_t)snprintf(text, sizeof text, "fifo");
    for (size_t i = 0; i <= SIM_SETS_MAX; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, ":a=1");
    assert_int_equal(sim_choice_parse(text, &c, &err), SHOAL_E_INVAL);
    assert_int_equal(err.code, SHOAL_E_INVAL);
    assert_int_equal(c.set_count, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_runs_on_the_same_simulation),
        cmocka_unit_test(jobs_tell_what_the_last_run_did),
        cmocka_unit_test(wrong_calls_are_refused_and_change_nothing),
        cmocka_unit_test(structs_of_an_older_header_are_read_and_filled_as_far_as_they_go),
        cmocka_unit_test(jobs_are_decided_on_between_rounds_when_that_is_wanted),
        cmocka_unit_test(half_of_a_sweep_is_stopped_when_that_is_wanted),
        cmocka_unit_test(deadlines_are_counted_and_money_needs_prices),
        cmocka_unit_test(a_stopped_run_is_cancelled_and_another_watch_sees_it_whole),
        cmocka_unit_test(failed_allocations_end_in_a_clean_error),
        cmocka_unit_test(every_policy_is_found_by_its_name),
        cmocka_unit_test(knobs_are_what_stands_between_colons),
        cmocka_unit_test(what_is_no_policy_is_refused_and_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
