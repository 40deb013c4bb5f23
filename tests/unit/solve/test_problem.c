/* test_problem.c - PROBLEM.json: what is read, and what is said about what cannot be. */
#include "problem_world.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char whole[] =
    "{\"jobs\":[{\"name\":\"a\",\"gpus\":2,\"rates\":{\"v100\":10.2,\"k80\":1.5},\"weight\":3,"
    "\"left\":10000,\"since_s\":\"2h\",\"alone_s\":60,\"deadline_s\":\"1h30m\",\"entity\":"
    "\"research/vision\",\"count\":4},"
    "{\"rates\":{\"k80\":2},\"gpus\":2,\"entity\":\"ads\",\"left\":null}],"
    "\"kinds\":{\"v100\":{\"gpus\":8,\"usd_h\":2.48},\"p100\":{\"gpus\":0},\"k80\":24},"
    "\"pairs\":[{\"jobs\":[\"a\",\"jobs[1]\"],\"kind\":\"k80\",\"rates\":[1,0.5]}],"
    "\"entities\":{\"research\":{\"weight\":2,\"inside\":\"fifo\"},\"ads\":{},\"idle\":{}}}";

static void every_field_is_read_in_whatever_order_the_parts_stand(void **state)
{
    shoal_env *env = world_new(whole);
    struct solve_problem *p = world_load(env);
    shoal_solve_problem view;

    (void)state;
    assert_int_equal(p->kind_count, 3);
    assert_string_equal(solve_problem_kind(p, 1), "p100");
    assert_true(p->capacity[0] == 8 && p->capacity[1] == 0 && p->capacity[2] == 24);
    assert_true(p->usd_h[0] == 2.48 && isnan(p->usd_h[2]));
    assert_int_equal(p->job_count, 2);
    assert_string_equal(solve_problem_job(p, 0), "a");
    assert_string_equal(solve_problem_job(p, 1), "jobs[1]");
    assert_true(p->rates[0] == 10.2 && p->rates[1] == 0 && p->rates[2] == 1.5);
    assert_true(p->gpus[0] == 2 && p->weight[0] == 3 && p->left[0] == 10000 && p->count[0] == 4);
    assert_true(p->since_s[0] == 7200 && p->alone_s[0] == 60 && p->deadline_s[0] == 5400);
    assert_true(p->weight[1] == 1 && p->count[1] == 1 && isnan(p->left[1]));
    assert_true(p->since_s[1] == 0 && isinf(p->deadline_s[1]));
    assert_int_equal(p->deadline_count, 1);
    assert_int_equal(p->pair_count, 1);
    assert_true(p->pairs[0].job == 0 && p->pairs[0].with == 1 && p->pairs[0].kind == 2);
    assert_true(p->pairs[0].rate == 1 && p->pairs[0].with_rate == 0.5);
    assert_int_equal(p->entity_count, 3); /* research, ads, research/vision; idle holds no job */
    assert_string_equal(solve_problem_entity(p, p->entity[0]), "research/vision");
    assert_int_equal(p->entities[p->entity[0]].parent, 0);
    assert_true(p->entities[0].weight == 2 && p->entities[0].fifo == 1);
    assert_true(p->entities[p->entity[0]].weight == 1 && p->entities[p->entity[0]].fifo == 0);
    assert_int_equal(p->unused_count, 1);
    assert_string_equal(p->unused, "idle");
    solve_problem_view(p, true, false, &view);
    assert_true(view.agnostic == 1 && view.pairs == NULL && view.entity_count == 3);
    solve_problem_view(p, false, true, &view);
    assert_true(view.agnostic == 0 && view.pair_count == 1);
    solve_problem_free(p);
    shoal_env_free(env);
}

#define KINDS       "\"kinds\":{\"v100\":8,\"p100\":{\"gpus\":16}}"
#define JOB(fields) "{" KINDS ",\"jobs\":[{\"rates\":{\"v100\":2}," fields "}]}"

static void every_mistake_is_refused_with_its_place_and_what_to_do(void **state)
{
    static const struct {
        const char *text, *message, *hint;
    } cases[] = {
        {"[]", "expected an object with \"kinds\" and \"jobs\"", ""},
        {"{\"jobs\":[]}", "\"kinds\" is missing", ""},
        {"{" KINDS "}", "\"jobs\" is missing", ""},
        {"{" KINDS ",\"jobs\":[],\"job\":[]}", "unknown field 'job'", "did you mean 'jobs'?"},
        {"{" KINDS ",\"jobs\":[],\"colour\":1}", "unknown field 'colour'", "kinds, jobs"},
        {"{" KINDS ",\"jobs\":[],\"jobs\":[]}", "\"jobs\" is there twice", ""},
        {"{" KINDS ",\"jobs\":{}}", "at jobs: expected a list", ""},
        {"{\"kinds\":[],\"jobs\":[]}", "at kinds: expected an object", ""},
        {"{\"kinds\":{},\"jobs\":[]}", "expected at least one kind", ""},
        {"{\"kinds\":{\"a\":{}},\"jobs\":[]}", "at kinds.a: \"gpus\" is missing", ""},
        {"{\"kinds\":{\"a\":-1},\"jobs\":[]}", "at kinds.a: expected a number of GPUs", ""},
        {"{\"kinds\":{\"a\":{\"gpus\":1,\"usd_h\":0}},\"jobs\":[]}",
         "at kinds.a.usd_h: expected dollars per GPU and hour, from 1e-6 to 1e6, found 0", ""},
        {"{\"kinds\":{\"a\":{\"gpu\":1}},\"jobs\":[]}", "at kinds.a: unknown field 'gpu'",
         "'gpus'"},
        {"{\"kinds\":{\"a\":1,\"a\":1},\"jobs\":[]}", "at kinds.a: this kind is there already", ""},
        {"{\"kinds\":{\"\":1},\"jobs\":[]}", "names of 1 to 255 bytes", ""},
        {"{" KINDS ",\"jobs\":[3]}", "at jobs[0]: expected a job such as", ""},
        {"{" KINDS ",\n\"jobs\":[{\"rates\":{\"v100\":1}},\n{\"name\":\"b\"}]}",
         "line 3, at jobs[1]: \"rates\" is missing", "steps per second"},
        {"{" KINDS ",\"jobs\":[{\"rates\":[1,2]}]}", "at jobs[0].rates: expected an object", ""},
        {"{" KINDS ",\"jobs\":[{\"rates\":{\"v10\":1}}]}", "at jobs[0].rates.v10: no kind 'v10'",
         "did you mean 'v100'?"},
        {"{" KINDS ",\"jobs\":[{\"rates\":{\"tpu\":1}}]}", "no kind 'tpu'", "there are v100, p100"},
        {"{" KINDS ",\"jobs\":[{\"rates\":{\"v100\":\"fast\"}}]}",
         "at jobs[0].rates.v100: expected steps per second", ""},
        {"{" KINDS ",\"jobs\":[{\"rates\":{\"v100\":-1}}]}", "found -1", ""},
        {"{" KINDS ",\"jobs\":[{\"rates\":{\"v100\":1e-300}}]}", "found 1e-300", ""},
        {"{" KINDS ",\"jobs\":[{\"rates\":{\"v100\":NaN}}]}",
         "at jobs[0]: invalid token near 'NaN'", "JSON has no such number"},
        {"{" KINDS ",\"jobs\":[{\"rates\":{\"v100\":Infinity}}]}", "near 'Infinity'",
         "JSON has no such number"},
        {"{" KINDS ",\"jobs\":[{\"rates\":{\"v100\":-Infinity}}]}", "near '-", ""},
        {"{" KINDS ",\"jobs\":[{\"rates\":{\"v100\":1e999}}]}", "overflow", "must be finite"},
        {"{" KINDS ",\"jobs\":[{\"rates\":{\"v100\":1,\"v100\":1}}]}", "duplicate object key", ""},
        {JOB("\"wieght\":1"), "at jobs[0]: unknown field 'wieght'", "did you mean 'weight'?"},
        {JOB("\"weight\":0"), "at jobs[0].weight: expected a weight above 0", ""},
        {JOB("\"weight\":-2"), "found -2", ""},
        {JOB("\"weight\":1,\"weight\":2"), "duplicate object key", ""},
        {JOB("\"weight\":true"), "found true", ""},
        {JOB("\"gpus\":0"), "at jobs[0].gpus: expected the GPUs it needs at once, from 1e-3", ""},
        {JOB("\"left\":1e-7"), "at jobs[0].left: expected the steps left, from 1e-6 to 1e15", ""},
        {JOB("\"left\":123456789012345678901234567890"), "at jobs[0].left", ""},
        {JOB("\"since_s\":-1"), "at jobs[0].since_s: expected seconds of 0 or more", ""},
        {JOB("\"since_s\":\"soon\""), "found \"soon\"", ""},
        {JOB("\"deadline_s\":\"x\""), "at jobs[0].deadline_s", ""},
        {JOB("\"count\":1.5"), "at jobs[0].count: expected a whole number", ""},
        {JOB("\"count\":0"), "found 0", ""},
        {JOB("\"name\":\"\""), "at jobs[0].name: expected a name of 1 to 255 bytes", ""},
        {JOB("\"name\":\"a\\nb\""), "without control characters", ""},
        {JOB("\"name\":7"), "found 7", ""},
        {JOB("\"name\":\"a\\u0000b\""), "at jobs[0]: \\u0000 is in no name", ""},
        {JOB("\"na\\u0000me\":\"a\""), "at jobs[0]: \\u0000 is in no name", ""},
        {JOB("\"entity\":\"a//b\""), "expected an entity such as 'research/vision'", ""},
        {JOB("\"entity\":\"/\""), "expected an entity such as", ""},
        {"{" KINDS ",\"jobs\":[{\"name\":\"a\",\"rates\":{}},\n{\"name\":\"a\",\"rates\":{}}]}",
         "line 2, at jobs[1].name: jobs[0] has the name 'a' already", "count"},
        {"{" KINDS ",\"jobs\":[],\"entities\":{\"a\":{\"weight\":0}}}",
         "at entities.a.weight: expected a weight above 0", ""},
        {"{" KINDS ",\"jobs\":[],\"entities\":{\"a\":{\"weight\":-1}}}", "found -1", ""},
        {"{" KINDS ",\"jobs\":[],\"entities\":{\"a\":{},\"a\":{}}}",
         "at entities.a: this entity is there already", ""},
        {"{" KINDS ",\"jobs\":[],\"entities\":{\"a\":{\"inside\":\"lifo\"}}}",
         "at entities.a.inside: expected \"fair\" or \"fifo\", found \"lifo\"", ""},
        {"{" KINDS ",\"jobs\":[],\"entities\":{\"a\":{\"wight\":1}}}", "unknown field 'wight'",
         "did you mean 'weight'?"},
        {"{" KINDS ",\"jobs\":[],\"entities\":{\"a\":1}}", "at entities.a: expected an object", ""},
        {"{" KINDS
         ",\"entities\":{\"research\":{}},\"jobs\":[{\"rates\":{},\"entity\":\"reserch\"}]}",
         "at jobs[0].entity: no entity 'reserch' is declared", "did you mean 'research'?"},
        {"{" KINDS
         ",\"jobs\":[{\"rates\":{},\"entity\":\"a/b\"},\n{\"rates\":{},\"entity\":\"a\"}]}",
         "line 2, at jobs[1].entity: entity 'a' would hold this job and also the entity 'a/b'",
         "'a/other'"},
        {"{" KINDS ",\"jobs\":[],\"pairs\":[{}]}", "at pairs[0]: \"jobs\" is missing", ""},
        {"{" KINDS ",\"jobs\":[],\"pairs\":[{\"jobs\":[\"a\"]}]}",
         "at pairs[0].jobs: expected names", ""},
        {"{" KINDS ",\"jobs\":[],\"pairs\":[{\"jobs\":[\"a\",\"b\"]}]}", "no job is called 'a'",
         ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        world_refuses(cases[i].text, SHOAL_E_FORMAT, cases[i].message, cases[i].hint);
}

#define PAIRED                                                                                \
    "{" KINDS ",\"jobs\":[{\"name\":\"a\",\"rates\":{\"v100\":2}},{\"name\":\"b\",\"rates\":" \
    "{\"v100\":3}},{\"name\":\"big\",\"gpus\":4,\"rates\":{\"v100\":3}},{\"name\":\"two\","   \
    "\"count\":2,\"rates\":{\"v100\":3}}],\"pairs\":["

static void pairs_must_fit_together(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {PAIRED "{\"jobs\":[\"a\",\"big\"],\"kind\":\"v100\",\"rates\":[1,1]}]}",
         "need the same number of them; 'a' asks for 1 and 'big' for 4"},
        {PAIRED "{\"jobs\":[\"a\",\"a\"],\"kind\":\"v100\",\"rates\":[1,1]}]}",
         "'a' with itself needs a \"count\" of 2 or more"},
        {PAIRED "{\"jobs\":[\"two\",\"two\"],\"kind\":\"v100\",\"rates\":[1,2]}]}",
         "a job with itself has one speed"},
        {PAIRED "{\"jobs\":[\"a\",\"b\"],\"kind\":\"p100\",\"rates\":[1,1]}]}",
         "'a' has no speed alone on 'p100'"},
        {PAIRED
         "{\"jobs\":[\"a\",\"b\"],\"kind\":\"v100\",\"rates\":[1,1]},{\"jobs\":[\"b\",\"a\"],"
         "\"kind\":\"v100\",\"rates\":[2,2]}]}",
         "at pairs[1]: pairs[0] has these jobs on this kind already"},
        {PAIRED "{\"jobs\":[\"a\",\"b\"],\"kind\":\"v10\",\"rates\":[1,1]}]}",
         "at pairs[0].kind: no kind 'v10'"},
        {PAIRED "{\"jobs\":[\"a\",\"b\"],\"kind\":\"v100\",\"rates\":[1,-1]}]}",
         "at pairs[0].rates[1]: expected steps per second"},
        {PAIRED "{\"jobs\":[\"a\",\"b\"],\"kind\":\"v100\",\"rates\":[1]}]}",
         "at pairs[0].rates: expected two speeds"},
    };
    shoal_env *env = world_new(PAIRED "{\"jobs\":[\"two\",\"two\"],\"kind\":\"v100\",\"rates\":"
                                      "[2,2]}]}");

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        world_refuses(cases[i].text, SHOAL_E_FORMAT, cases[i].message, "");
    struct solve_problem *p = world_load(env);
    assert_int_equal(p->pair_count, 1);
    solve_problem_free(p);
    shoal_env_free(env);
}

static void limits_are_kept_and_named(void **state)
{
    char text[40 * 1024] = "{\"jobs\":[],\"kinds\":{";
    char big[70 * 1024];

    (void)state;
    for (int k = 0; k <= SHOAL_SOLVE_KINDS_MAX; k++)
        sprintf(text + strlen(text), "%s\"k%d\":1", k > 0 ? "," : "", k);
    strcat(text, "}}");
    world_refuses(text, SHOAL_E_LIMIT, "more than 16 kinds", "");

    int n = sprintf(big, "{" KINDS ",\"jobs\":[{\"name\":\"");
    memset(big + n, 'x', sizeof big - (size_t)n);
    strcpy(big + sizeof big - 16, "\"}]}");
    world_refuses(big, SHOAL_E_FORMAT, "at jobs[0]: larger than 65536 bytes", "");

    world_refuses("{" KINDS ",\"jobs\":[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]}", SHOAL_E_FORMAT,
                  "nested more than 16 deep", "");
}

static void gangs_run_only_where_they_fit_and_that_is_noted(void **state)
{
    shoal_env *env = world_new("{\"kinds\":{\"v100\":8,\"p100\":16,\"gone\":0},\"jobs\":["
                               "{\"gpus\":12,\"rates\":{\"v100\":9,\"p100\":5,\"gone\":7}},"
                               "{\"gpus\":20,\"rates\":{\"v100\":9,\"p100\":5}},"
                               "{\"rates\":{\"v100\":0,\"p100\":null}},{\"rates\":{}}]}");
    struct solve_problem *p = world_load(env);

    (void)state;
    assert_true(p->rates[0] == 0 && p->rates[1] == 5 && p->rates[2] == 0);
    assert_true(p->rates[3] == 0 && p->rates[4] == 0);
    assert_int_equal(p->misfit_count, 3);
    assert_int_equal(p->misfit_job, 0);
    assert_int_equal(p->misfit_kind, 0);
    assert_int_equal(p->nowhere_count, 3);
    assert_null(p->entity);
    solve_problem_free(p);
    shoal_env_free(env);
}

static void jobs_without_an_entity_share_the_default_one(void **state)
{
    shoal_env *env =
        world_new("{" KINDS ",\"jobs\":[{\"rates\":{}},{\"rates\":{},\"entity\":\"x/y\"},"
                  "{\"rates\":{}}]}");
    struct solve_problem *p = world_load(env);

    (void)state;
    assert_int_equal(p->entity_count, 3);
    assert_int_equal(p->entity[0], p->entity[2]);
    assert_string_equal(solve_problem_entity(p, p->entity[0]), "default");
    assert_string_equal(solve_problem_entity(p, p->entity[1]), "x/y");
    assert_int_equal(p->entities[p->entity[1]].parent, 0);
    assert_int_equal(p->entities[0].parent, SHOAL_SOLVE_TOP);
    solve_problem_free(p);
    shoal_env_free(env);
}

static void what_an_objective_needs_is_asked_for_by_name(void **state)
{
    static const struct {
        const char *fields;
        enum sched_objective objective;
        const char *message; /* NULL: fine */
    } cases[] = {
        {"", SCHED_OBJECTIVE_MAX_MIN, NULL},
        {"", SCHED_OBJECTIVE_FTF, "jobs[0] ('a') has no \"left\""},
        {"", SCHED_OBJECTIVE_MAKESPAN, "for makespan: jobs[0] ('a') has no \"left\""},
        {",\"left\":5", SCHED_OBJECTIVE_MAKESPAN, NULL},
        {"", SCHED_OBJECTIVE_COST, "kinds.k80 has no \"usd_h\""},
        {",\"deadline_s\":5", SCHED_OBJECTIVE_COST_SLO, "jobs[0] ('a') has no \"left\""},
        {",\"deadline_s\":5,\"left\":1", SCHED_OBJECTIVE_COST_SLO, "kinds.k80 has no \"usd_h\""},
    };
    char text[400];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        shoal_err err = SHOAL_ERR_INIT;
        snprintf(text, sizeof text,
                 "{\"kinds\":{\"none\":0,\"v100\":{\"gpus\":1,\"usd_h\":1},\"k80\":1},"
                 "\"jobs\":[{\"name\":\"a\",\"rates\":{\"k80\":1}%s}]}",
                 cases[i].fields);
        shoal_env *env = world_new(text);
        struct solve_problem *p = world_load(env);
        shoal_status st = solve_problem_check(p, cases[i].objective, false, &err);
        assert_int_equal(st, cases[i].message == NULL ? SHOAL_OK : SHOAL_E_FORMAT);
        if (cases[i].message != NULL && strstr(err.message, cases[i].message) == NULL)
            fail_msg("'%s' in '%s'", cases[i].message, err.message);
        assert_int_equal(solve_problem_check(p, SCHED_OBJECTIVE_MAX_MIN, true, &err),
                         SHOAL_E_FORMAT);
        assert_non_null(strstr(err.message, "pairs"));
        solve_problem_free(p);
        shoal_env_free(env);
    }
}

static void too_many_single_jobs_are_counted_up_to_the_one_too_many(void **state)
{
    shoal_env *env = world_new("{" KINDS ",\"jobs\":[{\"name\":\"a\",\"rates\":{\"v100\":2},"
                               "\"entity\":\"e\"},{\"name\":\"b\",\"rates\":{\"v100\":2},"
                               "\"entity\":\"e\",\"count\":1000000}],"
                               "\"entities\":{\"e\":{\"inside\":\"fifo\"}}}");
    struct solve_problem *p = world_load(env);
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(solve_problem_check(p, SCHED_OBJECTIVE_MAX_MIN, false, &err), SHOAL_OK);
    assert_int_equal(solve_problem_check(p, SCHED_OBJECTIVE_HIERARCHICAL, false, &err),
                     SHOAL_E_LIMIT);
    assert_non_null(
        strstr(err.message, "with jobs[1] ('b', count 1000000) there are 1000001 jobs"));
    assert_non_null(strstr(err.hint, "fifo entities there can be 1000000"));
    solve_problem_free(p);
    shoal_env_free(env);
}

static void what_is_no_text_is_refused_as_soon_as_that_is_seen(void **state)
{
    static const char zero[] = "{\"kinds\":\0}";
    shoal_env *env = world_new("{}");
    struct solve_problem *p = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(env_sim_put(env, "p.json", zero, sizeof zero - 1), SHOAL_OK);
    assert_int_equal(solve_problem_load(env, "p.json", NULL, &p, &err), SHOAL_E_FORMAT);
    assert_non_null(strstr(err.message, "line 1, column 10: found a byte of value 0"));
    assert_null(p);
    shoal_env_free(env);
}

static void files_that_are_missing_or_empty_are_told(void **state)
{
    shoal_env *env = world_new("");
    struct solve_problem *p = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(solve_problem_load(env, "p.json", NULL, &p, &err), SHOAL_E_FORMAT);
    assert_non_null(strstr(err.message, "empty file"));
    assert_int_equal(solve_problem_load(env, "q.json", NULL, &p, &err), SHOAL_E_NOTFOUND);
    assert_null(p);
    shoal_env_free(env);
}

/* Cutting a good problem anywhere, or changing a byte, never does worse than an error in words. */
static void damaged_problems_are_refused_or_read_never_worse(void **state)
{
    size_t size = sizeof whole - 1;

    (void)state;
    for (size_t i = 1; i < 2 * size; i++) {
        shoal_env *env = NULL;
        struct solve_problem *p = NULL;
        shoal_err err = SHOAL_ERR_INIT;
        char text[sizeof whole];
        memcpy(text, whole, sizeof whole);
        if (i >= size)
            text[i - size] = "\"}]{,x0"[i % 7];
        assert_int_equal(shoal_env_sim_new(1, &env, NULL), SHOAL_OK);
        assert_int_equal(env_sim_put(env, "p.json", text, i < size ? i : size), SHOAL_OK);
        shoal_status st = solve_problem_load(env, "p.json", NULL, &p, &err);
        if (i < size)
            assert_int_not_equal(st, SHOAL_OK);
        assert_true(st == SHOAL_OK || (err.code == st && err.message[0] != '\0'));
        solve_problem_free(p);
        shoal_env_free(env);
    }
}

static shoal_status load_once(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *own = env->alloc;
    struct solve_problem *p = NULL;

    env->alloc = alloc;
    shoal_status st = solve_problem_load(env, "p.json", NULL, &p, NULL);
    solve_problem_free(p);
    env->alloc = own;
    return st;
}

static void short_memory_ends_in_a_clean_error(void **state)
{
    shoal_env *env = world_new(whole);

    (void)state;
    torture_run(load_once, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_read_in_whatever_order_the_parts_stand),
        cmocka_unit_test(every_mistake_is_refused_with_its_place_and_what_to_do),
        cmocka_unit_test(pairs_must_fit_together),
        cmocka_unit_test(limits_are_kept_and_named),
        cmocka_unit_test(gangs_run_only_where_they_fit_and_that_is_noted),
        cmocka_unit_test(jobs_without_an_entity_share_the_default_one),
        cmocka_unit_test(what_an_objective_needs_is_asked_for_by_name),
        cmocka_unit_test(too_many_single_jobs_are_counted_up_to_the_one_too_many),
        cmocka_unit_test(what_is_no_text_is_refused_as_soon_as_that_is_seen),
        cmocka_unit_test(files_that_are_missing_or_empty_are_told),
        cmocka_unit_test(damaged_problems_are_refused_or_read_never_worse),
        cmocka_unit_test(short_memory_ends_in_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
