/* test_policy_contract.c - the worked example of src/sched/policy.h, word for word, keeps the
 * rules. */
#include "rules.h"

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    (void)memory;
    for (size_t i = 0; i < snap->job_count; i++)
        if (!sched_plan_keep(plan, i) &&
            !sched_plan_place(plan, i, SCHED_KIND_BEST, SCHED_FIT_PACK))
            break;
    return sched_plan_status(plan);
}

static const struct sched_policy example = {
    .name = "example", .starvation_free = true, .decide = decide};

static void the_example_of_the_contract_runs_every_job_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(20); seed++) {
        struct world w;
        world_open(&w, &example, seed, "2x4:a,1x8:b");
        world_begin(&w);
        double last_start = 0;
        for (uint32_t i = 0; i < 20; i++) {
            uint32_t kinds, gpus = world_random_gang(&w, &kinds);
            world_add_seconds(&w, gpus, 100 + 10 * i);
        }
        for (uint32_t r = 0; w.job_count > 0 && r < 10000; r++)
            world_round(&w);
        assert_int_equal(w.job_count, 0);
        for (uint32_t i = 0; i < w.all_count; i++) {
            assert_true(w.all[i]->start_s >= last_start); /* nobody overtakes */
            last_start = w.all[i]->start_s;
        }
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_contract_runs_every_job_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
