/* Tests of src/market/jobs.c: fleets, amounts of work, times. */
#include "unit/market/market_world.h"

#include "base/assert.h"
#include "market/jobs.h"

static shoal_status load(const char *text, struct market_jobs_file *out, shoal_err *err)
{
    shoal_env *env = world_new();

    world_put(env, "f.csv", text);
    shoal_status st = market_jobs_load(env, "f.csv", out, err);
    shoal_env_free(env);
    return st;
}

static void a_row_says_what_it_says_and_leaves_the_rest(void **state)
{
    struct market_jobs_file f;

    (void)state;
    assert_int_equal(
        load("# ours\njob,work,start,deadline,budget,instances,model,speeds,checkpoint\n"
             "a,1e6,,,,,,,\n"
             "\"b, c\",48h@p3.2xlarge,2024-01-02,36h,12.5,4,bert,p3=1 p2=0.5,1G\n"
             "c,2d,6h,2024-02-01 12:00,,,,,\n"
             "d,2d,,none,,,,,\n",
             &f, NULL),
        SHOAL_OK);
    assert_int_equal(f.count, 4);
    const struct market_jobs_row *r = &f.rows[0];
    assert_string_equal(r->name, "a");
    assert_true(r->work.steps == 1e6 && isnan(r->work.seconds) && r->work.kind == NULL);
    assert_true(isnan(r->start.at_s) && isnan(r->start.in_s) && isnan(r->deadline.at_s));
    assert_true(isinf(r->budget_usd) && r->instances == 0 && isnan(r->checkpoint_gb));
    assert_true(r->model == NULL && r->speeds == NULL);
    r = &f.rows[1];
    assert_string_equal(r->name, "b, c");
    assert_true(isnan(r->work.steps) && r->work.seconds == 48 * 3600);
    assert_string_equal(r->work.kind, "p3.2xlarge");
    assert_true(r->start.at_s == WORLD_2024 + 86400 && r->deadline.in_s == 36 * 3600);
    assert_true(r->budget_usd == 12.5 && r->instances == 4);
    assert_true(r->checkpoint_gb == 1073741824 / 1e9);
    assert_string_equal(r->model, "bert");
    assert_string_equal(r->speeds, "p3=1 p2=0.5");
    assert_true(f.rows[2].start.in_s == 6 * 3600);
    assert_true(f.rows[2].deadline.at_s == WORLD_2024 + 31.5 * 86400);
    assert_true(isinf(f.rows[3].deadline.at_s));
    market_jobs_fini(&f);
    market_jobs_fini(&f); /* twice is allowed */
}

static void bad_fleets_are_refused_in_words(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "it is empty"},
        {"job,work\n", "no jobs in it"},
        {"job\na\n", "a column 'work'"},
        {"job,wrok,deadline\na,1,2\n", "a column 'work'"},
        {"job,work\na,\n", "line 2, column 2: expected work"},
        {"job,work\na,-5\n", "expected work"},
        {"job,work\na,0\n", "expected work"},
        {"job,work\na,5@p3\n", "expected work"}, /* steps need no kind */
        {"job,work\na,5h@\n", "expected work"},
        {"job,work\n,5h\n", "the name of a job"},
        {"job,work\na,5h\nb,1h\na,2h\n", "'a' is there already, in line 2"},
        {"job,work,deadline\na,5h,soon\n", "expected a date"},
        {"job,work,budget\na,5h,0\n", "US dollars above 0"},
        {"job,work,instances\na,5h,0\n", "from 1 to 1000000"},
        {"job,work,instances\na,5h,1.5\n", "from 1 to 1000000"},
        {"job,work,checkpoint\na,5h,big\n", "a size such as 4G"},
        {"job,work\na,5h,6\n", "expected 2 fields"},
    };

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        struct market_jobs_file f = {0};
        shoal_err err = SHOAL_ERR_INIT;
        shoal_status st = load(rows[i].text, &f, &err);
        if (st == SHOAL_OK)
            fail_msg("accepted: %s", rows[i].text);
        assert_int_equal(st, SHOAL_E_FORMAT);
        if (strstr(err.message, rows[i].message) == NULL)
            fail_msg("expected '%s' in '%s'", rows[i].message, err.message);
        assert_null(f.rows);
    }
}

static shoal_status load_fleet(const struct base_alloc *alloc, void *ctx)
{
    static const char text[] = "job,work,model,speeds\na,1,m,x=1\nb,2h,n,y=2\n";
    struct market_jobs_file f = {0};
    shoal_env *env = NULL;
    shoal_status st = env_sim_new(alloc, 1, &env, NULL);

    (void)ctx;
    if (st != SHOAL_OK)
        return st;
    st = env_sim_put(env, "f.csv", text, strlen(text));
    if (st == SHOAL_OK)
        st = market_jobs_load(env, "f.csv", &f, NULL);
    market_jobs_fini(&f);
    shoal_env_free(env);
    return st;
}

static void every_failed_allocation_is_an_error(void **state)
{
    (void)state;
    torture_run(load_fleet, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_says_what_it_says_and_leaves_the_rest),
        cmocka_unit_test(bad_fleets_are_refused_in_words),
        cmocka_unit_test(every_failed_allocation_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
