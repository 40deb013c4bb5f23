/* Tests of src/sched/model_table.c. */
#include "torture.h"

#include "sched/model_table.h"
#include <math.h>

/* Two kinds; rows: 0 = model a on 1 GPU, 1 = model a on 4, 2 = model b on 1. */
static void make(const struct base_alloc *alloc, struct sched_cluster *c, struct sched_table *t)
{
    static const uint32_t gpus[] = {1, 4, 1};
    shoal_err err = SHOAL_ERR_INIT;

    assert_int_equal(sched_cluster_parse(alloc, "2x4:v100,8x1:k80", c, &err), SHOAL_OK);
    assert_int_equal(sched_table_init(t, alloc, c, gpus, 3), SHOAL_OK);
    assert_int_equal(sched_table_set(t, &t->packed[0], 0, 10), SHOAL_OK);
    assert_int_equal(sched_table_set(t, &t->packed[0], 1, 40), SHOAL_OK);
    assert_int_equal(sched_table_set(t, &t->spread[0], 1, 25), SHOAL_OK);
    assert_int_equal(sched_table_set(t, &t->packed[0], 2, 5), SHOAL_OK);
    assert_int_equal(sched_table_set(t, &t->packed[1], 0, 2), SHOAL_OK);
    assert_int_equal(sched_table_set(t, &t->packed[1], 1, 8), SHOAL_OK);
    assert_int_equal(sched_table_set(t, &t->spread[1], 1, 1), SHOAL_OK);
    assert_int_equal(sched_table_set_pair(t, &t->packed[0], 0, 2, 7), SHOAL_OK);
    assert_int_equal(sched_table_set_pair(t, &t->packed[0], 2, 0, 3), SHOAL_OK);
}

static double rate_on(const struct sched_model *m, uint16_t kind, uint32_t places, uint32_t gpus,
                      const struct sched_model *partner)
{
    struct sched_place list[8];
    struct sched_alloc a = {list, places, gpus, kind};
    double until = 0;

    for (uint32_t i = 0; i < places; i++)
        list[i] = (struct sched_place){i, gpus / places};
    double rate = sched_model_rate(m, &a, partner, 0, &until);
    assert_true(until == m->work);
    return rate;
}

static void rates_come_from_the_row_of_exactly_this_gang_size(void **state)
{
    struct sched_cluster c;
    struct sched_table t;

    (void)state;
    make(&base_alloc_libc, &c, &t);
    struct sched_model one = sched_model_table(&t, 0, 100), four = sched_model_table(&t, 1, 100);
    struct sched_model other = sched_model_table(&t, 2, 100);
    assert_true(rate_on(&one, 0, 1, 1, NULL) == 10);
    assert_true(rate_on(&four, 0, 1, 4, NULL) == 40);
    assert_true(rate_on(&one, 0, 1, 4, NULL) == 0);
    assert_true(rate_on(&one, 1, 1, 1, NULL) == 2);
    assert_true(rate_on(&other, 1, 1, 1, NULL) == 0); /* no rate on k80 */
    assert_true(sched_model_ideal_s(&four, &c, 0, 4, 60) == 1);
    assert_true(isinf(sched_model_ideal_s(&other, &c, 1, 1, 0)));
    assert_int_equal(sched_model_best_kind(&four, &c, 3, 4), 0);
    sched_table_fini(&t);
    sched_cluster_fini(&c);
}

static void a_gang_spread_over_more_nodes_than_needed_uses_the_spread_sheet(void **state)
{
    struct sched_cluster c;
    struct sched_table t;

    (void)state;
    make(&base_alloc_libc, &c, &t);
    struct sched_model four = sched_model_table(&t, 1, 100);
    assert_true(rate_on(&four, 0, 1, 4, NULL) == 40);
    assert_true(rate_on(&four, 0, 2, 4, NULL) == 25);
    t.spread[0].alone[1] = 0; /* not measured: the packed rate counts */
    assert_true(rate_on(&four, 0, 2, 4, NULL) == 40);
    assert_true(rate_on(&four, 1, 4, 4, NULL) == 8); /* one GPU per node: never packed closer */
    sched_table_fini(&t);
    sched_cluster_fini(&c);
}

static void pairs_that_share_use_their_own_rates_or_cannot_run(void **state)
{
    struct sched_cluster c;
    struct sched_table t, elsewhere;

    (void)state;
    make(&base_alloc_libc, &c, &t);
    struct sched_model a = sched_model_table(&t, 0, 100), b = sched_model_table(&t, 2, 100);
    struct sched_model plain = sched_model_duration(5);
    assert_true(rate_on(&a, 0, 1, 1, &b) == 7);
    assert_true(rate_on(&b, 0, 1, 1, &a) == 3);
    assert_true(rate_on(&a, 0, 1, 1, &a) == 0); /* no such entry */
    assert_true(rate_on(&a, 1, 1, 1, &b) == 0); /* no pairs on k80 */
    assert_true(rate_on(&a, 0, 1, 1, &plain) == 0);
    struct sched_cluster d;
    make(&base_alloc_libc, &d, &elsewhere);
    struct sched_model stranger = sched_model_table(&elsewhere, 2, 100);
    assert_true(rate_on(&a, 0, 1, 1, &stranger) == 0);
    sched_table_fini(&elsewhere);
    sched_cluster_fini(&d);
    sched_table_fini(&t);
    sched_cluster_fini(&c);
}

static shoal_status build(const struct base_alloc *alloc, void *ctx)
{
    static const uint32_t gpus[] = {1, 2};
    struct sched_table t;
    shoal_status st = sched_table_init(&t, alloc, ctx, gpus, 2);

    if (st == SHOAL_OK)
        st = sched_table_set(&t, &t.packed[0], 1, 3);
    if (st == SHOAL_OK)
        st = sched_table_set_pair(&t, &t.spread[1], 1, 0, 3);
    sched_table_fini(&t);
    return st;
}

static void every_failed_allocation_leaves_a_clean_error(void **state)
{
    struct sched_cluster c;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(sched_cluster_parse(&base_alloc_libc, "2x4:v100,1x1:k80", &c, &err), SHOAL_OK);
    torture_run(build, &c);
    sched_cluster_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_come_from_the_row_of_exactly_this_gang_size),
        cmocka_unit_test(a_gang_spread_over_more_nodes_than_needed_uses_the_spread_sheet),
        cmocka_unit_test(pairs_that_share_use_their_own_rates_or_cannot_run),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
