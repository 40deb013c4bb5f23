/* test_model_spread.c - the factors are those of the published figures, the fewest nodes those of a
 * plain count. */
#include "world.h"

#include "sched/model_spread.h"

static void factors_are_the_quotients_of_the_published_figures(void **state)
{
    (void)state;
    assert_true(sched_spread_factor(1, 1) == 1 && sched_spread_factor(2, 2) == 1);
    assert_true(fabs(sched_spread_factor(2, 1) - 0.854) < 5e-4);
    assert_true(sched_spread_factor(8, 2) == sched_spread_factor(2, 1));
    /* 29 % of use on 8 nodes against 34 % on 2 says the same */
    assert_true(fabs(sched_spread_factor(8, 2) - 29.0 / 34) < 2e-3);
    assert_true(fabs(sched_neighbour_factor(1) - 0.659) < 5e-4);
    assert_true(fabs(sched_neighbour_factor(2) - 0.756) < 5e-4);
    /* spread and beside others: 74.1 of 114.8 */
    assert_true(fabs(sched_neighbour_factor(2) * sched_spread_factor(2, 1) - 74.1 / 114.8) < 1e-12);
}

static void the_fewest_nodes_are_those_taken_from_the_largest_down(void **state)
{
    (void)state;
    for (int seed = 1; seed <= property_count(300); seed++) {
        struct base_rand rand;
        struct sched_cluster c;
        struct sched_spread spread;
        shoal_err err = SHOAL_ERR_INIT;
        char spec[256];
        base_rand_init(&rand, (uint64_t)seed, "spec");
        world_random_spec(&rand, spec, sizeof spec);
        assert_int_equal(sched_cluster_parse(&base_alloc_libc, spec, &c, &err), SHOAL_OK);
        sched_spread_init(&spread, &c);
        for (uint32_t k = 0; k < c.kind_count; k++)
            for (uint32_t gpus = 1; gpus <= c.kinds[k].gpus + 2; gpus++) {
                uint32_t left = gpus, count = 0;
                for (uint32_t size = SCHED_NODE_GPUS_MAX; size > 0; size--)
                    for (uint32_t n = 0; n < c.node_count && left > 0; n++)
                        if (c.nodes[n].kind == k && c.nodes[n].gpus == size) {
                            left -= left < size ? left : size;
                            count++;
                        }
                assert_int_equal(sched_spread_fewest(&spread, k, gpus), left > 0 ? 0 : count);
            }
        sched_cluster_fini(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_are_the_quotients_of_the_published_figures),
        cmocka_unit_test(the_fewest_nodes_are_those_taken_from_the_largest_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
