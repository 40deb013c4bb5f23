/* test_policy_throughput.c - the largest sum of speeds, without fairness. */
#include "unit/sched/sharing.h"

/* Speeds are relative to a job's fastest kind: the one that loses most on the slow kind is spared
 * it. */
static void gpus_go_where_they_do_the_most(void **state)
{
    struct world *w = sharing_open("throughput", "1x1:v100,1x1:k80", NULL);
    struct world_job *picky = sharing_add(w, (double[]){10, 1}, 1e9);
    struct world_job *easy = sharing_add(w, (double[]){10, 9}, 1e9);

    (void)state;
    for (int r = 0; r < 50; r++)
        world_round(w);
    assert_true(picky->job.progress == 10 * w->now_s);
    assert_true(easy->job.progress == 9 * w->now_s);
    sharing_close(w);
}

static void nobody_is_owed_a_turn(void **state)
{
    struct world *w = sharing_open("throughput", "1x1:v100,1x1:k80", NULL);
    struct world_job *slow;

    (void)state;
    sharing_add(w, (double[]){1, 1}, 1e9);
    sharing_add(w, (double[]){1, 1}, 1e9);
    slow = sharing_add(w, (double[]){0, 1}, 1e9);
    slow->job.weight = 0.5;
    for (int r = 0; r < 100; r++) {
        world_decide(w);
        assert_int_equal(sched_plan_reason(w->plan, 2), SCHED_WHY_FAIR_SHARE);
        world_apply(w);
        world_pass(w, w->round_s);
    }
    assert_int_equal(slow->job.starts, 0);
    sharing_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_go_where_they_do_the_most),
        cmocka_unit_test(nobody_is_owed_a_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
