/* test_run.c - a problem by its path: what the result says, how it ends early, and what it owns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "problem_world.h"

#include "base/buf.h"
#include "page/record.h"
#include <jansson.h>
#include <math.h>

static const char whole[] =
    "{\"kinds\": {\"v100\": {\"gpus\": 2, \"usd_h\": 2.5}, \"k80\": 4},"
    " \"jobs\": [{\"name\": \"train\", \"rates\": {\"v100\": 10, \"k80\": 2}, \"left\": 9},"
    "            {\"name\": \"tune\", \"rates\": {\"v100\": 4, \"k80\": 3}, \"left\": 3},"
    "            {\"name\": \"huge\", \"rates\": {\"v100\": 4}, \"gpus\": 5, \"left\": 1}]}";

static shoal_solve_opts usual(void)
{
    shoal_solve_opts opts;

    shoal_solve_opts_init(&opts);
    opts.problem = "p.json";
    return opts;
}

static const shoal_result *run(shoal_env *env, const shoal_solve_opts *opts)
{
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    if (shoal_solve_run(env, opts, NULL, &result, &err) != SHOAL_OK)
        fail_msg("%s; %s", err.message, err.hint);
    return result;
}

static bool put(void *ctx, const char *text, size_t size)
{
    base_buf_append(ctx, text, size);
    return true;
}

static json_t *json_of(const shoal_result *result)
{
    struct base_buf out;

    base_buf_init(&out, &base_alloc_libc, (size_t)1 << 30);
    assert_int_equal(shoal_result_json(result, put, &out, NULL), SHOAL_OK);
    json_t *json = json_loadb(out.data, out.size, 0, NULL);
    assert_non_null(json);
    base_buf_fini(&out);
    return json;
}

static double number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

/* The shares of the file are those of the arrays, whatever the objective. */
static void the_answer_is_that_of_the_solver(void **state)
{
    shoal_env *env = world_new(whole);
    struct solve_problem *p = world_load(env);
    shoal_solver *solver = NULL;

    (void)state;
    assert_int_equal(shoal_solver_new(env, NULL, &solver, NULL), SHOAL_OK);
    for (uint32_t i = 0; shoal_solve_objective(i) != NULL; i++) {
        shoal_solve_opts opts = usual();
        shoal_solve_result r = SHOAL_SOLVE_RESULT_INIT;
        shoal_solve_problem view;
        if (i == SHOAL_SOLVE_COST || i == SHOAL_SOLVE_COST_SLO)
            continue; /* k80 has no price */
        opts.objective = i;
        const shoal_result *result = run(env, &opts);
        json_t *json = json_of(result), *jobs = json_object_get(json, "jobs");
        solve_problem_view(p, false, false, &view);
        assert_int_equal(shoal_solver_solve(solver, shoal_solve_objective(i), &view, &r, NULL),
                         SHOAL_OK);
        assert_string_equal(shoal_result_text(result, 0, "objective"), shoal_solve_objective(i));
        assert_true(fabs(shoal_result_number(result, 0, "level") - r.level) <= 1e-12 * r.level);
        assert_true(shoal_result_number(result, 0, "exact") == 1);
        assert_int_equal(json_array_size(jobs), 3);
        for (size_t job = 0; job < 3; job++)
            assert_true(fabs(number(json_array_get(jobs, job), "speed") - r.speeds[job]) <= 1e-12);
        json_decref(json);
        shoal_result_free(result);
    }
    shoal_solver_free(solver);
    solve_problem_free(p);
    shoal_env_free(env);
}

static void what_is_odd_is_a_note_and_what_was_found_a_sentence(void **state)
{
    shoal_env *env = world_new(whole);
    shoal_solve_opts opts = usual();
    const shoal_result *result = run(env, &opts);

    (void)state;
    assert_string_equal(result->title, "3 jobs on 6 GPUs: max-min");
    assert_non_null(strstr(result->verdict, "every job gets at least the speed of"));
    assert_non_null(strstr(result->verdict, "1 job runs nowhere"));
    assert_int_equal(result->note_count, 2);
    assert_non_null(strstr(result->notes[0].text, "huge asks for 5 GPUs and v100 has 2"));
    assert_non_null(strstr(result->notes[1].text, "can run on no kind here"));
    shoal_result_free(result);
    shoal_env_free(env);
}

/* Every job is in JSON and CSV; tables show as many as were asked for. */
static void a_result_of_many_jobs_is_made_as_it_is_read(void **state)
{
    enum { JOBS = 20000 };
    struct base_buf text, csv;
    size_t lines = 0;

    (void)state;
    base_buf_init(&text, &base_alloc_libc, (size_t)1 << 24);
    base_buf_init(&csv, &base_alloc_libc, (size_t)1 << 24);
    base_buf_puts(&text, "{\"kinds\": {\"v100\": 8}, \"jobs\": [");
    for (int i = 0; i < JOBS; i++)
        base_buf_printf(&text, "%s{\"rates\": {\"v100\": %d}}", i > 0 ? "," : "", 1 + i % 7);
    base_buf_puts(&text, "]}");
    shoal_env *env = world_new(text.data);
    shoal_solve_opts opts = usual();
    opts.jobs = "3";
    const shoal_result *result = run(env, &opts);
    json_t *json = json_of(result);
    assert_int_equal(json_array_size(json_object_get(json, "jobs")), JOBS);
    assert_int_equal(shoal_result_csv(result, put, &csv, NULL), SHOAL_OK);
    for (const char *at = csv.data; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_int_equal(lines, JOBS + 1);
    json_decref(json);
    shoal_result_free(result);
    shoal_env_free(env);
    base_buf_fini(&text);
    base_buf_fini(&csv);
}

static void a_stopped_watch_ends_the_run(void **state)
{
    shoal_env *env = world_new(whole);
    shoal_watch *watch = shoal_watch_new();
    shoal_solve_opts opts = usual();
    const shoal_result *result = NULL;

    (void)state;
    assert_int_equal(shoal_solve_run(env, &opts, watch, &result, NULL), SHOAL_OK);
    assert_string_equal(shoal_watch_look(watch).what, "jobs read");
    assert_int_equal(shoal_watch_look(watch).done, 3);
    shoal_result_free(result);
    result = NULL;
    shoal_watch_stop(watch);
    assert_int_equal(shoal_solve_run(env, &opts, watch, &result, NULL), SHOAL_E_CANCELLED);
    assert_null(result);
    shoal_watch_free(watch);
    shoal_env_free(env);
}

static void wrong_calls_are_refused(void **state)
{
    shoal_env *env = world_new(whole);
    shoal_solve_opts opts = usual();
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(shoal_solve_run(env, NULL, NULL, &result, &err), SHOAL_E_INVAL);
    opts.jobs = "some";
    assert_int_equal(shoal_solve_run(env, &opts, NULL, &result, &err), SHOAL_E_INVAL);
    opts = usual();
    opts.objective = 99;
    assert_int_equal(shoal_solve_run(env, &opts, NULL, &result, &err), SHOAL_E_INVAL);
    opts = usual();
    opts.repeat = 0;
    assert_int_equal(shoal_solve_run(env, &opts, NULL, &result, &err), SHOAL_E_INVAL);
    opts = usual();
    opts.sharing = 1;
    assert_int_equal(shoal_solve_run(env, &opts, NULL, &result, &err), SHOAL_E_FORMAT);
    assert_non_null(strstr(err.message, "no \"pairs\""));
    opts = usual();
    opts.problem = "q.json";
    assert_int_equal(shoal_solve_run(env, &opts, NULL, &result, &err), SHOAL_E_NOTFOUND);
    assert_null(result);
    shoal_env_free(env);
}

static shoal_status run_once(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *own = env->alloc;
    shoal_solve_opts opts = usual();
    const shoal_result *result = NULL;

    env->alloc = alloc;
    opts.threads = 1;
    shoal_status st = shoal_solve_run(env, &opts, NULL, &result, NULL);
    shoal_result_free(result);
    env->alloc = own;
    return st;
}

static void short_memory_ends_in_a_clean_error(void **state)
{
    shoal_env *env = world_new(whole);

    (void)state;
    torture_run(run_once, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_is_that_of_the_solver),
        cmocka_unit_test(what_is_odd_is_a_note_and_what_was_found_a_sentence),
        cmocka_unit_test(a_result_of_many_jobs_is_made_as_it_is_read),
        cmocka_unit_test(a_stopped_watch_ends_the_run),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(short_memory_ends_in_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
