/* Tests of src/gen/prices.c: made-up histories load as what was asked for. */
#include "unit/market/market_world.h"

#include "base/assert.h"
#include "shoal/gen.h"
#include "unit/gen/gen_world.h"

static shoal_gen_prices_opts some(void)
{
    shoal_gen_prices_opts opts;

    shoal_gen_prices_opts_init(&opts);
    opts.kinds = "small:V100:1=3,large:V100:8=24,plain=1";
    opts.from = "2024-01-01";
    opts.days = 30;
    opts.seed = 4;
    return opts;
}

static void prices_are_below_those_on_demand_and_as_many_as_asked_for(void **state)
{
    shoal_gen_prices_opts opts = some();
    shoal_env *env = world_new();

    (void)state;
    opts.to.output = "g.csv";
    MAKE(prices, env, &opts);
    struct market_prices *p = world_load(env, "g.csv");
    assert_int_equal(p->offer_count, 3 * 3 * (2 + 1));
    assert_true(p->from_s == WORLD_2024 && p->to_s < WORLD_2024 + 30 * 86400);
    assert_int_equal(p->odd.zero + p->odd.same_instant + p->odd.backwards, 0);
    size_t spot = 0;
    for (size_t o = 0; o < p->offer_count; o++) {
        const struct market_offer *of = &p->offers[o];
        const char *kind = market_names_get(&p->kinds, of->kind);
        double most = strcmp(kind, "small") == 0 ? 3 : strcmp(kind, "large") == 0 ? 24 : 1;
        assert_true(of->accelerators == (most == 3 ? 1 : most == 24 ? 8 : 0));
        for (size_t i = of->first; i < of->first + of->count; i++)
            assert_true(p->points[i].usd_h > 0 && p->points[i].usd_h <= most);
        spot += of->how == MARKET_SPOT ? of->count : 0;
    }
    /* 18 offers x 30 days x 3 changes, Poisson: five deviations are 201 */
    assert_true(fabs((double)spot - 1620) < 220);
    market_prices_free(p);
    shoal_env_free(env);
}

/* More of something leaves the rows of the others as they were. */
static void same_options_same_bytes_and_offers_do_not_disturb_each_other(void **state)
{
    shoal_gen_prices_opts opts = some();
    shoal_env *env = world_new();
    struct gathered a, b, c;

    (void)state;
    opts.to = gather_to(&a);
    MAKE(prices, env, &opts);
    opts.to = gather_to(&b);
    MAKE(prices, env, &opts);
    assert_true(a.text.size == b.text.size && memcmp(a.text.data, b.text.data, a.text.size) == 0);
    opts.kinds = "small:V100:1=3";
    opts.regions = 1;
    opts.to = gather_to(&c);
    MAKE(prices, env, &opts);
    const char *rows = strstr(c.text.data, "\n2024");
    size_t spot = (size_t)(strstr(rows, ",on-demand,") - rows) - 60;
    char *some_rows = base_malloc(&base_alloc_libc, spot + 1);
    memcpy(some_rows, rows, spot);
    some_rows[spot] = '\0';
    assert_non_null(strstr(a.text.data, some_rows));
    base_free(&base_alloc_libc, some_rows);
    base_buf_fini(&a.text);
    base_buf_fini(&b.text);
    base_buf_fini(&c.text);
    shoal_env_free(env);
}

static void kinds_and_dates_that_are_none_are_refused(void **state)
{
    static const char *const texts[] = {"",     "a",       "a=",      "=1",   "a=0",      "a=-1",
                                        "a:=1", "a:b:x=1", "a:b:0=1", "a=1,", "a:b:1:c=1"};
    const shoal_result *result = NULL;
    shoal_env *env = world_new();
    shoal_gen_prices_opts opts = some();

    (void)state;
    opts.to.output = "g.csv";
    for (size_t i = 0; i < BASE_COUNT(texts); i++) {
        shoal_err err = SHOAL_ERR_INIT;
        opts.kinds = texts[i];
        shoal_status st = shoal_gen_prices(env, &opts, NULL, &result, &err);
        if (strcmp(texts[i], "a=1,") == 0) { /* a comma at the end is nobody's mistake */
            assert_int_equal(st, SHOAL_OK);
            shoal_result_free(result);
            continue;
        }
        assert_int_equal(st, SHOAL_E_INVAL);
        assert_true(err.message[0] != '\0');
    }
    opts = some();
    opts.from = "2099-12-31";
    assert_int_equal(shoal_gen_prices(env, &opts, NULL, &result, NULL), SHOAL_E_INVAL);
    opts.from = "yesterday";
    assert_int_equal(shoal_gen_prices(env, &opts, NULL, &result, NULL), SHOAL_E_INVAL);
    shoal_env_free(env);
}

static shoal_status make(const struct base_alloc *alloc, void *ctx)
{
    shoal_gen_prices_opts opts = some();
    shoal_env *env = ctx;
    const struct base_alloc *before = env->alloc;
    const shoal_result *result = NULL;
    struct gathered g;

    opts.days = 2;
    opts.to = gather_to(&g);
    env->alloc = alloc;
    shoal_status st = shoal_gen_prices(env, &opts, NULL, &result, NULL);
    shoal_result_free(result);
    env->alloc = before;
    base_buf_fini(&g.text);
    return st;
}

static void every_failed_allocation_is_an_error(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    torture_run(make, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prices_are_below_those_on_demand_and_as_many_as_asked_for),
        cmocka_unit_test(same_options_same_bytes_and_offers_do_not_disturb_each_other),
        cmocka_unit_test(kinds_and_dates_that_are_none_are_refused),
        cmocka_unit_test(every_failed_allocation_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
