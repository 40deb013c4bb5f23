/* Tests of src/market/jobs.c: fleets, amounts of work, times, rules of speed; of small CSV files and dates. */
#include "unit/market/market_world.h"

#include "base/assert.h"
#include "base/date.h"
#include "market/jobs.h"
#include "market/when.h"

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

/* ---- rules of speed ---- */

static const char history[] = "time,cloud,zone,instance,market,price,accelerator,count\n"
                              "2024-01-01,aws,us-a,p3.2xlarge,spot,1,V100,1\n"
                              "2024-01-01,aws,us-a,p3.8xlarge,spot,4,V100,4\n"
                              "2024-01-01,aws,us-a,p2.xlarge,spot,0.3,K80,1\n"
                              "2024-01-01,aws,us-a,thing,spot,0.3,,\n";

static struct market_prices *load_history(shoal_env *env)
{
    world_put(env, "h.csv", history);
    return world_load(env, "h.csv");
}

static double speed_of(const struct market_prices *prices, const double *by_kind, const char *kind)
{
    uint32_t index = market_names_find(&prices->kinds, kind);

    assert_true(index != MARKET_NONE);
    return by_kind[index];
}

static void rules_are_of_kinds_patterns_and_accelerators(void **state)
{
    static const struct {
        const char *rules;
        double p3_2, p3_8, p2, thing;
    } rows[] = {
        {"p3.2xlarge=2", 2, 0, 0, 0},        {"P3.2XLARGE=2;p2.xlarge=0.5", 2, 0, 0.5, 0},
        {"p3.*=2 p3.8xlarge=7", 2, 7, 0, 0}, /* the last that fits holds */
        {"v100=2,k80=.5", 2, 8, 0.5, 0},     {"*=1", 1, 1, 1, 1},
        {"V100=2,thing=3", 2, 8, 0, 3},
    };
    shoal_env *env = world_new();
    struct market_prices *prices = load_history(env);

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        struct market_speeds s;
        double by_kind[8];
        market_speeds_init(&s, &base_alloc_libc);
        assert_int_equal(
            market_speeds_parse(&s, "", rows[i].rules, strlen(rows[i].rules), "--speed", NULL),
            SHOAL_OK);
        assert_int_equal(market_speeds_apply(&s, "", prices, by_kind, NULL), SHOAL_OK);
        assert_true(speed_of(prices, by_kind, "p3.2xlarge") == rows[i].p3_2);
        assert_true(speed_of(prices, by_kind, "p3.8xlarge") == rows[i].p3_8);
        assert_true(speed_of(prices, by_kind, "p2.xlarge") == rows[i].p2);
        assert_true(speed_of(prices, by_kind, "thing") == rows[i].thing);
        market_speeds_fini(&s);
    }
    market_prices_free(prices);
    shoal_env_free(env);
}

static void rules_that_are_none_are_refused(void **state)
{
    static const char *const texts[] = {"",      ",",     "p3",    "p3=",   "=1",
                                        "p3=-1", "p3=0",  "p3=x",  "p3=1x", "p3=1,q",
                                        "a=inf", "a=nan", "a=1e16"};

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(texts); i++) {
        struct market_speeds s;
        shoal_err err = SHOAL_ERR_INIT;
        market_speeds_init(&s, &base_alloc_libc);
        assert_int_equal(market_speeds_parse(&s, "", texts[i], strlen(texts[i]), "--speed", &err),
                         SHOAL_E_INVAL);
        assert_non_null(strstr(err.message, "--speed"));
        market_speeds_fini(&s);
    }
}

static void an_unknown_kind_offers_the_nearest(void **state)
{
    shoal_env *env = world_new();
    struct market_prices *prices = load_history(env);
    struct market_speeds s;
    double by_kind[8];
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    market_speeds_init(&s, &base_alloc_libc);
    assert_int_equal(market_speeds_parse(&s, "", "p3.2xlarg=1", 11, "--speed", NULL), SHOAL_OK);
    assert_int_equal(market_speeds_apply(&s, "", prices, by_kind, &err), SHOAL_E_NOTFOUND);
    assert_non_null(strstr(err.message, "'p3.2xlarg'"));
    assert_non_null(strstr(err.hint, "'p3.2xlarge'"));
    market_speeds_fini(&s);
    market_prices_free(prices);
    shoal_env_free(env);
}

static void a_file_has_one_model_or_several(void **state)
{
    shoal_env *env = world_new();
    struct market_prices *prices = load_history(env);
    struct market_speeds s;
    double by_kind[8];

    (void)state;
    world_put(env, "m.csv",
              "# measured\n\nInstance , steps_per_s,model\np3.2xlarge,2,a\n\np2.xlarge, 1 ,a\n"
              "V100,5,b\n");
    market_speeds_init(&s, &base_alloc_libc);
    assert_int_equal(market_speeds_load(env, "m.csv", &s, NULL), SHOAL_OK);
    assert_true(market_speeds_has(&s, "a") && market_speeds_has(&s, "b"));
    assert_false(market_speeds_has(&s, ""));
    assert_int_equal(market_speeds_apply(&s, "a", prices, by_kind, NULL), SHOAL_OK);
    assert_true(speed_of(prices, by_kind, "p2.xlarge") == 1);
    assert_true(speed_of(prices, by_kind, "p3.8xlarge") == 0);
    assert_int_equal(market_speeds_apply(&s, "b", prices, by_kind, NULL), SHOAL_OK);
    assert_true(speed_of(prices, by_kind, "p3.8xlarge") == 20);
    market_speeds_fini(&s);
    market_prices_free(prices);
    shoal_env_free(env);
}

static void bad_files_are_refused_in_words(void **state)
{
    static const struct {
        const char *text, *message, *hint;
    } rows[] = {
        {"", "it is empty", ""},
        {"instance,steps_per_s\n", "no speeds", ""},
        {"instance\n", "'steps_per_s'", ""},
        {"instance,step_per_s\na,1\n", "a column 'steps_per_s'", "'step_per_s' meant?"},
        {"instance,instance,steps_per_s\n", "twice", ""},
        {"instance,steps_per_s\na\n", "expected 2 fields", ""},
        {"instance,steps_per_s\na,-1\n", "line 2, column 2: expected steps per second", ""},
        {"instance,steps_per_s\n,1\n", "a kind of instance", ""},
        {"instance,steps_per_s,model\na,1,\n", "the name of a model", ""},
    };

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        shoal_env *env = world_new();
        struct market_speeds s;
        shoal_err err = SHOAL_ERR_INIT;
        world_put(env, "m.csv", rows[i].text);
        market_speeds_init(&s, &base_alloc_libc);
        assert_int_equal(market_speeds_load(env, "m.csv", &s, &err), SHOAL_E_FORMAT);
        if (strstr(err.message, rows[i].message) == NULL)
            fail_msg("expected '%s' in '%s'", rows[i].message, err.message);
        assert_non_null(strstr(err.hint, rows[i].hint));
        market_speeds_fini(&s);
        shoal_env_free(env);
    }
}

static bool naive_fits(const char *pattern, const char *name)
{
    if (*pattern == '\0')
        return *name == '\0';
    if (*pattern == '*')
        return naive_fits(pattern + 1, name) || (*name != '\0' && naive_fits(pattern, name + 1));
    return *name == *pattern && naive_fits(pattern + 1, name + 1);
}

static void patterns_fit_as_the_naive_matcher_says(void **state)
{
    struct base_rand r;

    (void)state;
    base_rand_init(&r, 5, "patterns");
    for (int i = 0; i < property_count(20000); i++) {
        char pattern[10], name[10];
        size_t p = base_rand_below(&r, 8), n = base_rand_below(&r, 8);
        for (size_t k = 0; k < p; k++)
            pattern[k] = "ab**"[base_rand_below(&r, 4)];
        for (size_t k = 0; k < n; k++)
            name[k] = "ab"[base_rand_below(&r, 2)];
        pattern[p] = name[n] = '\0';
        if (market_fits(pattern, name) != naive_fits(pattern, name))
            fail_msg("'%s' and '%s'", pattern, name);
    }
}

static void dates_read_back(void **state)
{
    struct base_rand r;
    char text[32];

    (void)state;
    base_rand_init(&r, 6, "dates");
    for (int i = 0; i < property_count(5000); i++) {
        double at_s = 60 * floor(base_rand_range(&r, 946684800 / 60.0, 4102444800 / 60.0));
        double back = 0;
        base_date_format(at_s, BASE_DATE_MINUTE, text, sizeof text);
        assert_true(market_when_parse(text, strlen(text), &back) && back == at_s);
        base_date_format(at_s, BASE_DATE_DAY, text, sizeof text);
        assert_true(market_when_parse(text, strlen(text), &back));
        assert_true(back == floor(at_s / 86400) * 86400);
    }
    assert_string_equal(base_date_format(1709164800, BASE_DATE_SHORT, text, sizeof text), "29 Feb");
    assert_string_equal(base_date_format(1709164800, BASE_DATE_MONTH, text, sizeof text),
                        "Feb 2024");
    assert_string_equal(base_date_format((double)NAN, BASE_DATE_DAY, text, sizeof text), "-");
}

static shoal_status load_rules(const struct base_alloc *alloc, void *ctx)
{
    struct market_speeds s;
    shoal_env *env = NULL;
    static const char text[] = "instance,steps_per_s,model\na,1,m\nb,2,n\n";
    shoal_status st = env_sim_new(alloc, 1, &env, NULL);

    (void)ctx;
    if (st != SHOAL_OK)
        return st;
    market_speeds_init(&s, alloc);
    st = env_sim_put(env, "m.csv", text, strlen(text));
    if (st == SHOAL_OK)
        st = market_speeds_load(env, "m.csv", &s, NULL);
    market_speeds_fini(&s);
    shoal_env_free(env);
    return st;
}

static void every_failed_allocation_of_rules_is_an_error(void **state)
{
    (void)state;
    torture_run(load_rules, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_says_what_it_says_and_leaves_the_rest),
        cmocka_unit_test(bad_fleets_are_refused_in_words),
        cmocka_unit_test(every_failed_allocation_is_an_error),
        cmocka_unit_test(rules_are_of_kinds_patterns_and_accelerators),
        cmocka_unit_test(rules_that_are_none_are_refused),
        cmocka_unit_test(an_unknown_kind_offers_the_nearest),
        cmocka_unit_test(a_file_has_one_model_or_several),
        cmocka_unit_test(bad_files_are_refused_in_words),
        cmocka_unit_test(patterns_fit_as_the_naive_matcher_says),
        cmocka_unit_test(dates_read_back),
        cmocka_unit_test(every_failed_allocation_of_rules_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
