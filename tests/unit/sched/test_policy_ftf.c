/* test_policy_ftf.c - the worst slowdown against a 1/n cluster of one's own is least. */
#include "unit/sched/sharing.h"

/* Jobs that arrive together and are alike but for their length: all end as if they had 1/n. */
static void nobody_ends_later_than_on_a_share_of_its_own(void **state)
{
    struct world *w = sharing_open("ftf", "2x1:v100,4x1:k80", NULL);

    (void)state;
    for (int i = 0; i < 12; i++)
        sharing_add(w, (double[]){i % 3 + 1, 1}, 10000 + 4000 * i);
    sharing_run(w, 5000);
    for (uint32_t i = 0; i < w->all_count; i++) {
        double speed = i % 3 + 1.0, alone_s = w->all[i]->job.model.work / ((2 * speed + 4) / 12);
        assert_true(w->all[i]->end_s <= alone_s + 3 * w->round_s);
    }
    sharing_close(w);
}

/* A job of 6000 s that could not run for 48,000, when a fifth of the cluster would have ended it in
 * 30,000: it has fallen behind everybody else. */
static void who_fell_behind_goes_first(void **state)
{
    struct world *w = sharing_open("ftf", "1x1:v100,2x1:k80", NULL);
    struct world_job *late = sharing_add(w, (double[]){1, 0}, 6000);

    (void)state;
    for (int i = 0; i < 4; i++)
        sharing_add(w, (double[]){1, 1}, 100000);
    world_fail(w, 0, true);
    for (int r = 0; r < 800; r++)
        world_round(w);
    assert_true(late->job.run_s == 0);
    world_repair(w, 0);
    double back_s = w->now_s;
    for (int r = 0; r < 200 && isnan(late->end_s); r++)
        world_round(w);
    assert_true(late->end_s - back_s <= 6000 + 3 * w->round_s); /* all of the time from then on */
    sharing_close(w);
}

static void a_longer_job_gets_as_much_time_as_a_shorter_one_while_both_are_new(void **state)
{
    struct world *w = sharing_open("ftf", "1x1:k80", NULL);
    struct world_job *a = sharing_add(w, (double[]){1}, 6000);
    struct world_job *b = sharing_add(w, (double[]){1}, 60000);

    (void)state;
    for (int r = 0; r < 100; r++)
        world_round(w);
    assert_true(fabs(a->job.run_s - b->job.run_s) <= 4 * w->round_s);
    sharing_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_ends_later_than_on_a_share_of_its_own),
        cmocka_unit_test(who_fell_behind_goes_first),
        cmocka_unit_test(a_longer_job_gets_as_much_time_as_a_shorter_one_while_both_are_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
