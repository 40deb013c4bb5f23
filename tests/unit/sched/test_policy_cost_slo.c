/* test_policy_cost_slo.c - deadlines first, then the most work per dollar. */
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

static void jobs_wait_for_those_that_are_due(void **state)
{
    struct world *w = sharing_open("cost-slo", "1x1:k80", NULL);

    (void)state;
    add_due(w, (double[]){1}, 3000, 3060);
    sharing_add(w, (double[]){1}, 3000);
    world_round(w);
    world_decide(w);
    assert_int_equal(sched_plan_reason(w->plan, 1), SCHED_WHY_DEADLINE_SLACK);
    sharing_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadline_comes_before_the_price),
        cmocka_unit_test(what_cannot_all_be_kept_is_kept_in_part),
        cmocka_unit_test(a_deadline_that_has_passed_is_no_deadline),
        cmocka_unit_test(jobs_wait_for_those_that_are_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
