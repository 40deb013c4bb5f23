/* Tests of src/market/gen.c: made-up histories load as what was asked for. */
#include "unit/market/market_world.h"

#include "base/assert.h"
#include "market/gen.h"

static struct market_gen_opts some(void)
{
    return (struct market_gen_opts){.kinds = "small:V100:1=3,large:V100:8=24,plain=1",
                                    .regions = 3,
                                    .zones = 2,
                                    .from_s = WORLD_2024,
                                    .days = 30,
                                    .changes_day = 3,
                                    .swing = 0.5,
                                    .seed = 4};
}

static void prices_are_below_those_on_demand_and_as_many_as_asked_for(void **state)
{
    struct market_gen_opts opts = some();
    struct base_buf text;
    shoal_env *env = world_new();

    (void)state;
    base_buf_init(&text, &base_alloc_libc, 1 << 24);
    assert_int_equal(market_gen(&opts, &text, NULL), SHOAL_OK);
    assert_int_equal(env_sim_put(env, "g.csv", text.data, text.size), SHOAL_OK);
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
    base_buf_fini(&text);
}

/* More of something leaves the rows of the others as they were. */
static void same_options_same_bytes_and_offers_do_not_disturb_each_other(void **state)
{
    struct market_gen_opts opts = some();
    struct base_buf a, b, c;

    (void)state;
    base_buf_init(&a, &base_alloc_libc, 1 << 24);
    base_buf_init(&b, &base_alloc_libc, 1 << 24);
    base_buf_init(&c, &base_alloc_libc, 1 << 24);
    assert_int_equal(market_gen(&opts, &a, NULL), SHOAL_OK);
    assert_int_equal(market_gen(&opts, &b, NULL), SHOAL_OK);
    assert_true(a.size == b.size && memcmp(a.data, b.data, a.size) == 0);
    opts.kinds = "small:V100:1=3";
    opts.regions = 1;
    assert_int_equal(market_gen(&opts, &c, NULL), SHOAL_OK);
    const char *rows = strstr(c.data, "\n2024");
    size_t spot = (size_t)(strstr(rows, ",on-demand,") - rows) - 60;
    char *some_rows = base_malloc(&base_alloc_libc, spot + 1);
    memcpy(some_rows, rows, spot);
    some_rows[spot] = '\0';
    assert_non_null(strstr(a.data, some_rows));
    base_free(&base_alloc_libc, some_rows);
    base_buf_fini(&a);
    base_buf_fini(&b);
    base_buf_fini(&c);
}

static void kinds_that_are_none_are_refused(void **state)
{
    static const char *const texts[] = {"",     "a",       "a=",      "=1",   "a=0",      "a=-1",
                                        "a:=1", "a:b:x=1", "a:b:0=1", "a=1,", "a:b:1:c=1"};
    struct base_buf out;

    (void)state;
    base_buf_init(&out, &base_alloc_libc, 1 << 24);
    for (size_t i = 0; i < BASE_COUNT(texts); i++) {
        struct market_gen_opts opts = some();
        shoal_err err = SHOAL_ERR_INIT;
        opts.kinds = texts[i];
        shoal_status st = market_gen(&opts, &out, &err);
        if (strcmp(texts[i], "a=1,") == 0) { /* a comma at the end is nobody's mistake */
            assert_int_equal(st, SHOAL_OK);
            continue;
        }
        assert_int_equal(st, SHOAL_E_INVAL);
        assert_true(err.message[0] != '\0');
    }
    base_buf_fini(&out);
}

static shoal_status make(const struct base_alloc *alloc, void *ctx)
{
    struct market_gen_opts opts = some();
    struct base_buf out;

    (void)ctx;
    base_buf_init(&out, alloc, 1 << 24);
    shoal_status st = market_gen(&opts, &out, NULL);
    base_buf_fini(&out);
    return st;
}

static void every_failed_allocation_is_an_error(void **state)
{
    (void)state;
    torture_run(make, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prices_are_below_those_on_demand_and_as_many_as_asked_for),
        cmocka_unit_test(same_options_same_bytes_and_offers_do_not_disturb_each_other),
        cmocka_unit_test(kinds_that_are_none_are_refused),
        cmocka_unit_test(every_failed_allocation_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
