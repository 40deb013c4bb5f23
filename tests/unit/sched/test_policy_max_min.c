/* test_policy_max_min.c - equal progress for all, each on the kinds that suit it. */
#include "unit/sched/sharing.h"

/* Two jobs with opposite tastes: each is twice as fast on its own kind, and gets it. */
static void each_job_runs_where_it_is_fastest(void **state)
{
    struct world *w = sharing_open("max-min", "1x1:v100,1x1:k80", NULL);
    struct world_job *a = sharing_add(w, (double[]){2, 1}, 1e6);
    struct world_job *b = sharing_add(w, (double[]){1, 2}, 1e6);

    (void)state;
    for (int r = 0; r < 50; r++)
        world_round(w);
    assert_true(a->job.progress >= 2 * 49 * w->round_s);
    assert_true(b->job.progress >= 2 * 49 * w->round_s);
    sharing_close(w);
}

/* Nobody is worse off than with an equal split of every kind. */
static void everyone_gets_at_least_an_equal_split(void **state)
{
    (void)state;
    for (int seed = 1; seed <= property_count(10); seed++) {
        struct world *w = sharing_open("max-min", "2x1:v100,3x1:p100,4x1:k80", NULL);
        double even[18];
        base_rand_init(&w->rand, (uint64_t)seed, "speeds");
        for (int i = 0; i < 18; i++) {
            double speed[3];
            for (int k = 0; k < 3; k++)
                speed[k] = base_rand_range(&w->rand, 0.2, 4);
            even[i] = (2 * speed[0] + 3 * speed[1] + 4 * speed[2]) / 18;
            sharing_add(w, speed, 1e9);
        }
        for (int r = 0; r < 500; r++)
            world_round(w);
        for (int i = 0; i < 18; i++) /* 3 %: 500 rounds are not for ever */
            assert_true(w->all[i]->job.progress >= 0.97 * even[i] * w->now_s);
        sharing_close(w);
    }
}

static void weights_divide_time_in_proportion(void **state)
{
    struct world *w = sharing_open("max-min", "2x1:k80", NULL);

    (void)state;
    for (int i = 0; i < 4; i++)
        sharing_add(w, (double[]){1}, 1e9)->job.weight = i + 1;
    for (int r = 0; r < 1000; r++)
        world_round(w);
    for (int i = 0; i < 4; i++) /* 2 GPUs over weights 1 + 2 + 3 + 4 */
        assert_true(fabs(w->all[i]->job.run_s - 0.2 * (i + 1) * w->now_s) < 5 * w->round_s);
    sharing_close(w);
}

static void unaware_shares_ignore_speed(void **state)
{
    struct world *w = sharing_open("max-min", "1x1:v100,1x1:k80", "aware=false");
    struct world_job *a = sharing_add(w, (double[]){9, 1}, 1e9);
    struct world_job *b = sharing_add(w, (double[]){1, 1}, 1e9);

    (void)state;
    for (int r = 0; r < 400; r++)
        world_round(w);
    /* half of the time on each kind */
    assert_true(fabs(a->job.progress / w->now_s - 5) < 0.2);
    assert_true(fabs(b->job.progress / w->now_s - 1) < 0.01);
    sharing_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_job_runs_where_it_is_fastest),
        cmocka_unit_test(everyone_gets_at_least_an_equal_split),
        cmocka_unit_test(weights_divide_time_in_proportion),
        cmocka_unit_test(unaware_shares_ignore_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
