/* test_policy_ftf.c - the worst slowdown against a 1/n cluster of one's own is least. */
#include "unit/sched/sharing.h"

static void nobody_ends_later_than_on_a_share_of_its_own(void **state)
{
    (void)state;
    sharing_nobody_ends_later_than_on_a_share("ftf");
}

static void who_fell_behind_goes_first(void **state)
{
    (void)state;
    sharing_who_fell_behind_goes_first("ftf", 0);
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
