/* test_policy_cost_slo.c - deadlines first, then as cost. */
#include "unit/sched/sharing.h"

static struct world_job *add_due(struct world *w, const double *speed, double steps, double due_s)
{
    struct world_job *j = sharing_add(w, speed, steps);

    j->job.deadline_s = w->now_s + due_s;
    return j;
}

/* The job that money would not serve has a deadline it can keep only on the v100. */
static void a_deadline_comes_before_the_price(void **state)
{
    (void)state;
    for (int due = 0; due < 2; due++) {
        struct world *w = sharing_open("cost-slo", "1x1:v100:usd=4,1x1:k80:usd=1", NULL);
        struct world_job *urgent = sharing_add(w, (double[]){2, 1}, 20000);
        if (due)
            urgent->job.deadline_s = 10600;
        sharing_add(w, (double[]){8, 1}, 1e9);
        for (int r = 0; r < 400; r++)
            world_round(w);
        if (due)
            assert_true(urgent->end_s <= 10600);
        else
            assert_true(urgent->end_s > 19000);
        sharing_close(w);
    }
}

/* More is due than can be done: what can be kept is kept, and the others still end. */
static void what_cannot_all_be_kept_is_kept_in_part(void **state)
{
    struct world *w = sharing_open("cost-slo", "2x1:k80", NULL);
    int kept = 0;

    (void)state;
    for (int i = 0; i < 6; i++)
        add_due(w, (double[]){1}, 6000, 6300);
    sharing_run(w, 1000);
    for (uint32_t i = 0; i < w->all_count; i++)
        kept += w->all[i]->end_s <= 6300;
    assert_int_equal(kept, 2);
    sharing_close(w);
}

/* It asks for nothing any more, and ends all the same. */
static void a_deadline_that_has_passed_is_no_deadline(void **state)
{
    struct world *w = sharing_open("cost-slo", "1x1:k80", NULL);
    struct world_job *missed = add_due(w, (double[]){1}, 3000, -100);
    struct world_job *due = add_due(w, (double[]){1}, 3000, 3300);

    (void)state;
    sharing_run(w, 1000);
    assert_true(due->end_s <= 3300);
    assert_true(missed->end_s > due->end_s);
    sharing_close(w);
}

/* One GPU, so all but one wait: two with time to spare, one with a deadline beyond reach, one whose
 * deadline has passed, one that has none. */
static void only_a_deadline_that_can_be_kept_leaves_time(void **state)
{
    struct world *w = sharing_open("cost-slo", "1x1:k80", NULL);

    (void)state;
    add_due(w, (double[]){1}, 3000, 6000);
    add_due(w, (double[]){1}, 3000, 90000);
    add_due(w, (double[]){1}, 30000, 300);
    add_due(w, (double[]){1}, 3000, -100);
    sharing_add(w, (double[]){1}, 3000);
    for (int r = 0; r < 30; r++) {
        world_round(w);
        world_decide(w);
        for (size_t i = 0; i < 5; i++)
            if (!sched_plan_has(w->plan, i))
                assert_int_equal(sched_plan_reason(w->plan, i),
                                 i < 2 ? SCHED_WHY_DEADLINE_SLACK : SCHED_WHY_PRICE);
    }
    sharing_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadline_comes_before_the_price),
        cmocka_unit_test(what_cannot_all_be_kept_is_kept_in_part),
        cmocka_unit_test(a_deadline_that_has_passed_is_no_deadline),
        cmocka_unit_test(only_a_deadline_that_can_be_kept_leaves_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
