/* test_policy_pollux.c - what `pollux` does with jobs that adapt, in small worlds (world.h); the rules
 * of all policies are in test_conformance.c, the searches in test_pollux_search.c. */
#include "unit/sched/rules.h"

static struct world w;

static struct world *pollux_open(const char *spec, const char *const *sets)
{
    world_open(&w, sched_policy_find("pollux", NULL), 1, spec);
    w.restart_s = 30;
    for (; sets != NULL && *sets != NULL; sets++)
        world_set(&w, *sets);
    world_begin(&w);
    return &w;
}

static const char *const both[][2] = {{"search=exact", NULL}, {"search=genetic", NULL}};

static void rounds(int count)
{
    for (int i = 0; i < count; i++) {
        world_decide(&w);
        rules_check(&w);
        world_apply(&w);
        world_pass(&w, w.round_s);
    }
}

static uint32_t gpus_of(const struct world_job *j)
{
    return j->job.alloc.place_count > 0 ? j->job.alloc.gpus : 0;
}

static void a_job_alone_doubles_until_it_has_all_that_help_it(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        pollux_open("4x4:t4", both[s]);
        struct world_job *j = world_add_adaptive(&w, 4, 12, 1, 1e7);
        j->adapt.kind[0].gpus_seen = 0;
        uint32_t last = 0;
        for (int i = 0; i < 60; i++) {
            rounds(1);
            assert_true(gpus_of(j) <= (last > 0 ? 2 * last : 1));
            last = gpus_of(j) > last ? gpus_of(j) : last;
        }
        assert_int_equal(last, 12);
        world_close(&w);
    }
}

static void jobs_with_equal_needs_share_the_cluster_evenly(void **state)
{
    struct world_job *j[8];

    (void)state;
    for (int s = 0; s < 2; s++) {
        pollux_open("4x4:t4", both[s]);
        for (int i = 0; i < 8; i++)
            j[i] = world_add_adaptive(&w, 2, 16, 1, 1e7);
        rounds(10);
        for (int i = 0; i < 8; i++)
            assert_in_range(gpus_of(j[i]), 1, 3);
        world_close(&w);
    }
}

static void a_job_that_does_not_get_faster_leaves_gpus_to_one_that_does(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        pollux_open("2x4:t4", both[s]);
        struct world_job *slow = world_add_adaptive(&w, 2, 8, 1, 1e7);
        struct world_job *fast = world_add_adaptive(&w, 2, 8, 1, 1e7);
        slow->adapt.kind[0].speed.local_s = slow->adapt.kind[0].speed.node_s = 10;
        rounds(5);
        assert_true(gpus_of(slow) <= 1);
        assert_true(gpus_of(fast) >= 4);
        world_close(&w);
    }
}

static void spanning_jobs_keep_apart_unless_told_otherwise(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        pollux_open("4x3:t4", both[s]); /* sizes of four and more span */
        for (int i = 0; i < 3; i++)
            world_add_adaptive(&w, 4, 12, 1, 1e7);
        for (int i = 0; i < 10; i++) {
            struct rules_books b;
            world_decide(&w);
            rules_fill_books(&w, &b);
            for (uint32_t n = 0; n < 4; n++)
                assert_true(b.spanning[n] <= 1);
            world_apply(&w);
            world_pass(&w, w.round_s);
        }
        world_close(&w);
    }
}

static void a_settled_cluster_restarts_nobody(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        pollux_open("4x4:t4", both[s]);
        for (int i = 0; i < 6; i++)
            world_add_adaptive(&w, 2, 16, 1, 1e8);
        rounds(60);
        uint32_t starts = 0, after = 0;
        for (size_t i = 0; i < w.job_count; i++)
            starts += w.jobs[i]->starts;
        rounds(20);
        for (size_t i = 0; i < w.job_count; i++)
            after += w.jobs[i]->starts;
        assert_int_equal(after, starts);
        world_close(&w);
    }
}

static void rigid_jobs_get_their_gang_or_wait_and_adaptive_ones_make_room(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        pollux_open("4x4:t4", both[s]);
        struct world_job *a = world_add_adaptive(&w, 2, 16, 1, 1e7);
        rounds(3);
        assert_true(gpus_of(a) > 8);
        struct world_job *gang = world_add_seconds(&w, 8, 1e7);
        struct world_job *huge = world_add_seconds(&w, 16, 1e7);
        rounds(10);
        assert_int_equal(gpus_of(gang), 8);
        assert_int_equal(gpus_of(huge), 0);
        assert_in_range(gpus_of(a), 1, 8);
        world_close(&w);
    }
}

/* On two kinds each job stays within one, and both are used. */
static void kinds_are_not_mixed_and_none_is_left_idle(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        pollux_open("2x4:t4,2x4:a100", both[s]);
        for (int i = 0; i < 4; i++)
            world_add_adaptive(&w, 2, 16, 3, 1e7);
        rounds(10); /* rules_check claims one kind a job */
        world_decide(&w);
        assert_true(sched_plan_free_gpus(w.plan, 0) <= 4);
        assert_true(sched_plan_free_gpus(w.plan, 1) <= 4);
        world_close(&w);
    }
}

/* ---- how many nodes ---- */

static const char *const scaled[] = {"autoscale_low=0.5", "autoscale_high=0.8", NULL};

static uint32_t nodes_wanted(void)
{
    uint32_t nodes = UINT32_MAX;
    bool said = sched_plan_nodes(w.plan, &nodes);

    assert_true(said);
    return nodes;
}

static void the_cluster_shrinks_when_little_is_to_do_and_grows_under_load(void **state)
{
    (void)state;
    pollux_open("16x4:t4", scaled);
    struct world_job *j = world_add_adaptive(&w, 1, 64, 1, 1e9);
    j->adapt.kind[0].speed.node_s = 5; /* two nodes are no use to it */
    rounds(40);
    world_decide(&w);
    uint32_t idle = nodes_wanted();
    assert_in_range(idle, 1, 2);
    for (int i = 0; i < 60; i++)
        world_add_adaptive(&w, 1, 4, 1, 1e9);
    rounds(40);
    world_decide(&w);
    uint32_t busy = nodes_wanted();
    assert_true(busy >= 10);
    while (w.job_count > 1)
        world_end(&w, w.job_count - 1, w.now_s);
    rounds(40);
    world_decide(&w);
    assert_in_range(nodes_wanted(), 1, 2);
    world_close(&w);
}

static void nodes_wanted_are_never_fewer_than_nodes_held(void **state)
{
    (void)state;
    for (int seed = 1; seed <= property_count(10); seed++) {
        world_open(&w, sched_policy_find("pollux", NULL), (uint64_t)seed, "6x4:t4,3x2:a100");
        w.lease_s = seed % 2 == 0 ? 600 : 0; /* some hold on to nodes that are no longer wanted */
        for (int i = 0; i < 2; i++)
            world_set(&w, scaled[i]);
        world_begin(&w);
        for (int r = 0; r < 80; r++) {
            struct rules_books b;
            uint32_t held = 0, up = 0;
            if (base_rand_below(&w.rand, 3) == 0 && r < 50)
                world_add_adaptive(&w, 1, 8, 3, base_rand_exp(&w.rand, 3000) + 1);
            if (base_rand_below(&w.rand, 10) == 0)
                world_add_seconds(&w, 1 + (uint32_t)base_rand_below(&w.rand, 12), 600);
            uint32_t node = (uint32_t)base_rand_below(&w.rand, 9);
            if (base_rand_below(&w.rand, 10) == 0 && w.node_up[node])
                world_fail(&w, node, true);
            else if (!w.node_up[node])
                world_repair(&w, node);
            world_decide(&w);
            rules_check(&w);
            rules_fill_books(&w, &b);
            for (uint32_t n = 0; n < w.cluster.node_count; n++) {
                held += b.used[n] > 0;
                up += w.node_up[n];
            }
            if (w.job_count > 0)
                assert_in_range(nodes_wanted(), held, up);
            world_apply(&w);
            world_pass(&w, w.round_s);
        }
        world_close(&w);
    }
}

/* Two nodes would do for what runs, but the gang needs four. */
static void a_gang_larger_than_the_shrunken_cluster_still_starts(void **state)
{
    (void)state;
    pollux_open("8x4:t4", scaled);
    world_add_adaptive(&w, 1, 1, 1, 1e9);
    rounds(40);
    struct world_job *gang = world_add_seconds(&w, 16, 1e6);
    rounds(3);
    assert_int_equal(gpus_of(gang), 16);
    world_close(&w);
}

static void nothing_is_said_about_nodes_unless_asked(void **state)
{
    uint32_t nodes;

    (void)state;
    pollux_open("2x4:t4", NULL);
    world_add_adaptive(&w, 1, 4, 1, 1e6);
    world_decide(&w);
    bool said = sched_plan_nodes(w.plan, &nodes);
    assert_false(said);
    world_close(&w);
}

static void bounds_that_cross_are_refused(void **state)
{
    static const char *const crossed[] = {"autoscale_low=0.8", "autoscale_high=0.5", NULL};
    shoal_err err = SHOAL_ERR_INIT;
    struct sched_setting setting = {.cluster = &w.cluster};

    (void)state;
    pollux_open("2x4:t4", crossed);
    assert_int_equal(w.policy->check(w.memory, &setting, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "autoscale_low"));
    world_close(&w);
}

/* Of 60 that wait for 8 GPUs; whoever holds some is looked at, too. */
static void the_genetic_search_looks_at_as_many_waiting_jobs_as_there_are_gpus(void **state)
{
    struct world_job *j[60];

    (void)state;
    pollux_open("2x4:t4", both[1]);
    struct world_job *old = world_add_adaptive(&w, 2, 8, 1, 1e9);
    rounds(3);
    assert_true(gpus_of(old) > 0);
    for (int i = 0; i < 60; i++)
        j[i] = world_add_adaptive(&w, 2, 8, 1, 1e9);
    rounds(1);
    uint32_t held = gpus_of(old);
    for (int i = 0; i < 60; i++) {
        held += gpus_of(j[i]);
        if (i >= 8)
            assert_int_equal(gpus_of(j[i]), 0);
    }
    assert_int_equal(held, 8);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_genetic_search_looks_at_as_many_waiting_jobs_as_there_are_gpus),
        cmocka_unit_test(a_job_alone_doubles_until_it_has_all_that_help_it),
        cmocka_unit_test(jobs_with_equal_needs_share_the_cluster_evenly),
        cmocka_unit_test(a_job_that_does_not_get_faster_leaves_gpus_to_one_that_does),
        cmocka_unit_test(spanning_jobs_keep_apart_unless_told_otherwise),
        cmocka_unit_test(a_settled_cluster_restarts_nobody),
        cmocka_unit_test(rigid_jobs_get_their_gang_or_wait_and_adaptive_ones_make_room),
        cmocka_unit_test(kinds_are_not_mixed_and_none_is_left_idle),
        cmocka_unit_test(the_cluster_shrinks_when_little_is_to_do_and_grows_under_load),
        cmocka_unit_test(nodes_wanted_are_never_fewer_than_nodes_held),
        cmocka_unit_test(a_gang_larger_than_the_shrunken_cluster_still_starts),
        cmocka_unit_test(nothing_is_said_about_nodes_unless_asked),
        cmocka_unit_test(bounds_that_cross_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
