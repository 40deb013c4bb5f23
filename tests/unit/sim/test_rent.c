/* Tests of src/sim/detail.c, and of what a run costs. */
#include "unit/sim/run_world.h"

static const char *const sizing[] = {"autoscale_low=0.5", "autoscale_high=0.8"};

static struct sim_opts sized(double node_mtbf_s)
{
    struct sim_opts o = run_world_opts("pollux");

    o.sets = sizing;
    o.set_count = 2;
    o.how.node_mtbf_s = node_mtbf_s;
    return o;
}

static void nodes_are_paid_for_while_they_are_wanted(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (int fails = 0; fails < 2; fails++) {
            struct run_world w;
            run_world_init(&w, "8x4:t4:usd=1.5");
            run_world_generate(&w, seed, 30, 8, 6 * 3600);
            struct sim_opts o = sized(fails ? 50000 : 0);
            struct sim_result *r = run_world_run(&w, &o);
            assert_true(r->metrics.nodes_sized);
            run_near(r->metrics.cost_usd, r->metrics.node_h * 4 * 1.5, 1e-6);
            assert_true(r->metrics.cost_usd > r->metrics.held_usd);
            sim_result_free(r);
            run_world_fini(&w);
        }
}

/* One job on the node it needs; the dearer kind is never wanted. */
static void the_nodes_that_jobs_are_on_are_the_ones_paid_for(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "2x4:t4:usd=1,2x4:v100:usd=10");
    run_world_csv(&w,
                  "#shoal-trace v1\nname,submit_s,gpus,duration_s,kinds\n"
                  "a,0,4,35970,t4\nb,0,4,35970,t4\n",
                  NULL);
    struct sim_opts o = sized(0);
    struct sim_result *r = run_world_run(&w, &o);
    assert_true(r->metrics.nodes_sized);
    run_near(r->metrics.held_usd, 2 * 4 * 10, 1e-6);
    assert_true(r->metrics.cost_usd >= r->metrics.held_usd - 1e-6);
    sim_result_free(r);
    run_world_fini(&w);
}

static void elsewhere_gpu_time_that_is_held_costs(void **state)
{
    size_t policy_count;
    const struct sched_policy *const *policies = sched_policies(&policy_count);

    (void)state;
    for (size_t p = 0; p < policy_count; p++) {
        struct run_world w;
        double gpu_s = 0;
        run_world_init(&w, "5x4:t4:usd=1.5");
        run_world_generate(&w, 7, 30, 8, 3 * 3600);
        struct sim_opts o = run_world_opts(policies[p]->name);
        struct sim_result *r = run_world_run(&w, &o);
        for (size_t i = 0; i < w.trace->job_count; i++)
            gpu_s += (double)r->jobs[i].gpu_s;
        assert_false(r->metrics.nodes_sized);
        run_near(r->metrics.cost_usd, gpu_s / 3600 * 1.5, 1e-3);
        assert_true(r->metrics.cost_usd == r->metrics.held_usd);
        sim_result_free(r);
        run_world_fini(&w);
    }
}

static void rented_nodes_without_a_price_have_no_cost(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "8x4:mine");
    run_world_generate(&w, 1, 20, 8, 3600);
    struct sim_opts o = sized(0);
    struct sim_result *r = run_world_run(&w, &o);
    assert_true(isnan(r->metrics.cost_usd));
    sim_result_free(r);
    run_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_paid_for_while_they_are_wanted),
        cmocka_unit_test(the_nodes_that_jobs_are_on_are_the_ones_paid_for),
        cmocka_unit_test(elsewhere_gpu_time_that_is_held_costs),
        cmocka_unit_test(rented_nodes_without_a_price_have_no_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
