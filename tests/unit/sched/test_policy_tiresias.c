/* test_policy_tiresias.c - two queues by attained service. */
#include "unit/sched/world.h"

#include "base/assert.h"

static struct world world; /* large */

static struct world *open_tiresias(const char *spec, const char *threshold, const char *promote)
{
    world_open(&world, sched_policy_find("tiresias", NULL), 1, spec);
    world_set(&world, threshold);
    world_set(&world, promote);
    world_begin(&world);
    return &world;
}

static bool runs(const struct world_job *j)
{
    return j->job.alloc.place_count > 0;
}

static void a_job_yields_exactly_when_its_gpu_time_reaches_the_threshold(void **state)
{
    (void)state;
    for (uint32_t gpus = 1; gpus <= 4; gpus++) {
        struct world *w = open_tiresias("1x4:t4", "threshold=40m", "promote=0");
        struct world_job *old = world_add_seconds(w, gpus, 1e6);
        world_round(w);
        struct world_job *new = world_add_seconds(w, 4, 1e6);
        for (int r = 0; r < 100 && !runs(new); r++) {
            assert_true(runs(old) && old->job.attained_gpu_s < 2400 + 60 * gpus);
            world_round(w);
        }
        /* 40 GPU-minutes are over after 40 / gpus rounds: two dimensions, time and GPUs */
        assert_true(old->job.attained_gpu_s >= 2400 && old->job.attained_gpu_s < 2400 + 60 * gpus);
        assert_false(runs(old));
        world_close(w);
    }
}

static void each_queue_is_first_come_first_served(void **state)
{
    struct world *w = open_tiresias("1x1:t4", "threshold=2m", "promote=0");
    struct world_job *j[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        j[i] = world_add_seconds(w, 1, 600);
    for (int i = 0; i < 3; i++) /* the first queue: each its two minutes, in order */
        for (int r = 0; r < 2; r++) {
            world_round(w);
            assert_true(runs(j[i]));
        }
    world_round(w); /* the second: in the order they came into it, to their ends */
    assert_true(runs(j[0]));
    struct world_job *late = world_add_seconds(w, 1, 600);
    for (int r = 0; r < 2; r++) {
        world_round(w);
        assert_true(runs(late)); /* a newcomer goes before all of the second queue */
    }
    while (w->job_count > 0)
        world_round(w);
    assert_true(j[0]->end_s < j[1]->end_s && j[1]->end_s < j[2]->end_s &&
                j[2]->end_s < late->end_s);
    assert_int_equal(j[1]->job.starts, 2); /* once per queue: few preemptions */
    world_close(w);
}

static void a_job_that_waited_long_enough_joins_the_first_queue_again(void **state)
{
    struct world *w = open_tiresias("1x1:t4", "threshold=2m", "promote=5");

    (void)state;
    struct world_job *old = world_add_seconds(w, 1, 1e6);
    world_round(w);
    world_round(w); /* demoted at the next decision */
    for (int i = 0; i < 40; i++)
        world_add_seconds(w, 1, 120); /* enough newcomers to keep it waiting for ever */
    int waited = 0;
    world_round(w);
    for (waited = 1; !runs(old) && waited < 100; waited++)
        world_round(w);
    /* It waited five times the two minutes it ran; then it joins the first queue at its tail,
     * behind the 40 newcomers that were there. */
    assert_true(waited > 10);
    assert_int_equal(old->job.starts, 2);
    world_close(w);

    w = open_tiresias("1x1:t4", "threshold=2m", "promote=5");
    old = world_add_seconds(w, 1, 1e6);
    world_round(w);
    world_round(w);
    for (int r = 0; r < 30; r++) { /* one newcomer at a time: the tail is near */
        world_add_seconds(w, 1, 60);
        world_round(w);
        if (runs(old))
            break;
        assert_true(r < 11);
    }
    assert_true(runs(old));
    assert_true(w->now_s - old->job.run_s >= 600);
    world_add_seconds(w, 1, 60);
    world_round(w);
    assert_true(runs(old)); /* it has a whole threshold again */
    world_round(w);
    assert_false(runs(old));
    world_close(w);
}

static void without_promotion_the_second_queue_waits_for_the_first(void **state)
{
    struct world *w = open_tiresias("1x1:t4", "threshold=2m", "promote=0");

    (void)state;
    struct world_job *old = world_add_seconds(w, 1, 1e6);
    for (int r = 0; r < 200; r++) {
        if (r >= 2)
            world_add_seconds(w, 1, 60);
        world_round(w);
    }
    assert_true(old->job.attained_gpu_s == 120);
    world_close(w);
}

static void gpus_come_from_the_emptiest_node(void **state)
{
    struct world *w = open_tiresias("3x4:t4", "threshold=16h", "promote=0");

    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        world_add_seconds(w, 1, 600);
    world_decide(w);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(sched_plan_grant(w->plan, i)->alloc.places[0].node, i % 3);
    world_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_yields_exactly_when_its_gpu_time_reaches_the_threshold),
        cmocka_unit_test(each_queue_is_first_come_first_served),
        cmocka_unit_test(a_job_that_waited_long_enough_joins_the_first_queue_again),
        cmocka_unit_test(without_promotion_the_second_queue_waits_for_the_first),
        cmocka_unit_test(gpus_come_from_the_emptiest_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
