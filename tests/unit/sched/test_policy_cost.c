/* test_policy_cost.c - the largest sum of each GPU kind's work per dollar. */
#include "unit/sched/sharing.h"

/* Two GPUs, two jobs: a v100 costs 4 times a k80. The job that is 8 times as fast on it is worth
 * the money, the one that is 2 times as fast is not. */
static void the_dear_kind_goes_to_the_job_that_uses_it_best(void **state)
{
    struct world *w = sharing_open("cost", "1x1:v100:usd=4,1x1:k80:usd=1", NULL);
    struct world_job *fast = sharing_add(w, (double[]){8, 1}, 1e9);
    struct world_job *slow = sharing_add(w, (double[]){2, 1}, 1e9);

    (void)state;
    for (int r = 0; r < 50; r++)
        world_round(w);
    assert_true(fast->job.progress == 8 * w->now_s);
    assert_true(slow->job.progress == w->now_s);
    sharing_close(w);
}

/* Three jobs on two GPUs, so one waits: whom the money serves least. */
static void whoever_does_least_per_dollar_waits_for_the_price(void **state)
{
    struct world *w = sharing_open("cost", "1x1:v100:usd=4,1x1:k80:usd=1", NULL);

    (void)state;
    sharing_add(w, (double[]){1, 1}, 1e9);
    sharing_add(w, (double[]){8, 1}, 1e9);
    sharing_add(w, (double[]){8, 0.1}, 1e9)->job.weight = 0.5;
    for (int r = 0; r < 20; r++)
        world_round(w);
    world_decide(w);
    assert_int_equal(sched_plan_reason(w->plan, 2), SCHED_WHY_PRICE);
    sharing_close(w);
}

static void every_kind_needs_a_price(void **state)
{
    static const struct {
        const char *spec, *without;
    } rows[] = {{"1x1:v100,1x1:k80", NULL},
                {"1x1:v100,1x1:thing:usd=2", NULL},
                {"1x1:v100,1x1:thing", "'thing'"},
                {"1x1:other:usd=0,1x1:v100", "'other'"}};
    static const char *const names[] = {"cost", "cost-slo"};

    (void)state;
    for (size_t i = 0; i < 2 * BASE_COUNT(rows); i++) {
        const char *without = rows[i / 2].without;
        const struct sched_policy *p = sched_policy_find(names[i % 2], NULL);
        struct sched_cluster cluster;
        shoal_err err = SHOAL_ERR_INIT;
        assert_int_equal(sched_cluster_parse(&base_alloc_libc, rows[i / 2].spec, &cluster, &err),
                         SHOAL_OK);
        struct sched_setting setting = {.cluster = &cluster};
        assert_int_equal(p->check(NULL, &setting, &err),
                         without == NULL ? SHOAL_OK : SHOAL_E_INVAL);
        assert_true(without == NULL ||
                    (strstr(err.message, without) != NULL && strstr(err.message, names[i % 2])));
        sched_cluster_fini(&cluster);
    }
}

/* A driver that does not check: kinds without a price cost the same, and speed decides. */
static void without_prices_all_kinds_cost_the_same(void **state)
{
    struct world *w = sharing_open("cost", "1x1:thing,1x1:other", NULL);
    struct world_job *a = sharing_add(w, (double[]){4, 1}, 1e9);
    struct world_job *b = sharing_add(w, (double[]){4, 3}, 1e9);

    (void)state;
    assert_true(w->cluster.kinds[0].usd_gpu_h < 0);
    for (int r = 0; r < 20; r++)
        world_round(w);
    assert_true(a->job.progress == 4 * w->now_s && b->job.progress == 3 * w->now_s);
    sharing_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_dear_kind_goes_to_the_job_that_uses_it_best),
        cmocka_unit_test(whoever_does_least_per_dollar_waits_for_the_price),
        cmocka_unit_test(every_kind_needs_a_price),
        cmocka_unit_test(without_prices_all_kinds_cost_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
