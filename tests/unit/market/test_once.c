/* Zones that go by two names are one zone (src/market/prices.c). */
#include "unit/market/market_world.h"

static const char two_names[] = "time,cloud,region,zone,instance,market,price\n"
                                "2024-01-01,aws,us-east-1,us-east-1a,x,spot,1\n"
                                "2024-01-01,aws,us-east-1,use1-az1,x,spot,2\n"
                                "2024-01-01,aws,us-east-1,use1-az1,x,on-demand,3\n"
                                "2024-01-01,aws,us-east-1,use1-az1,y,spot,4\n"
                                "2024-01-01,aws,us-west-2,usw2-az1,x,spot,5\n";

static void ids_of_zones_are_told_from_names(void **state)
{
    (void)state;
    assert_true(market_zone_is_id("use1-az4"));
    assert_true(market_zone_is_id("apne1-az12"));
    assert_false(market_zone_is_id("us-east-1a"));
    assert_false(market_zone_is_id("us-central1-az"));
    assert_false(market_zone_is_id("-az1"));
    assert_false(market_zone_is_id("west-azure"));
}

static void only_what_is_told_by_name_too_is_left_out(void **state)
{
    shoal_env *env = world_new();
    bool allowed[8];
    size_t dropped = 0;

    (void)state;
    world_put(env, "a.csv", two_names);
    struct market_prices *p = world_load(env, "a.csv");
    assert_int_equal(p->offer_count, 5);
    memset(allowed, true, sizeof allowed);
    assert_int_equal(market_offers_once(&base_alloc_libc, p, allowed, &dropped), SHOAL_OK);
    assert_int_equal(dropped, 1);
    for (size_t o = 0; o < p->offer_count; o++) {
        const struct market_offer *of = &p->offers[o];
        bool twice = of->how == MARKET_SPOT && p->points[of->first].usd_h == 2;
        assert_int_equal(allowed[o], !twice);
    }
    market_prices_free(p);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_of_zones_are_told_from_names),
        cmocka_unit_test(only_what_is_told_by_name_too_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
