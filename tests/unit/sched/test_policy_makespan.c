/* test_policy_makespan.c - the last job ends as early as possible. */
#include "unit/sched/sharing.h"

static double last_end_s(const struct world *w)
{
    double last = 0;

    for (uint32_t i = 0; i < w->all_count; i++)
        last = fmax(last, w->all[i]->end_s);
    return last;
}

/* Work that divides evenly in theory: 3 GPUs, 7 jobs, nobody longer than the bound. */
static void the_end_is_near_the_bound(void **state)
{
    struct world *w = sharing_open("makespan", "3x1:k80", NULL);
    double work = 0;

    (void)state;
    for (int i = 0; i < 7; i++) {
        double steps = 20000 + 5000 * (i % 5);
        work += steps;
        sharing_add(w, (double[]){1}, steps);
    }
    sharing_run(w, 3000);
    assert_true(last_end_s(w) <= work / 3 * 1.03);
    sharing_close(w);
}

/* One long job and many short ones on one fast and two slow GPUs: the long one takes the fast. */
static void the_longest_job_gets_the_fast_gpu(void **state)
{
    struct world *w = sharing_open("makespan", "1x1:v100,2x1:k80", NULL);
    struct world_job *longest = sharing_add(w, (double[]){4, 1}, 80000);

    (void)state;
    for (int i = 0; i < 4; i++)
        sharing_add(w, (double[]){4, 1}, 9000);
    sharing_run(w, 3000);
    assert_true(longest->end_s <= 20000 * 1.03);
    assert_true(last_end_s(w) <= 20000 * 1.03);
    sharing_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_is_near_the_bound),
        cmocka_unit_test(the_longest_job_gets_the_fast_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
