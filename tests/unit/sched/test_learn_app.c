/* Tests of src/sched/learn_app.c: what jobs of one application share, and what a liar among them does. */
#include "unit/sched/learn_world.h"

static void jobs_of_an_application_know_what_another_measured(void **state)
{
    struct sched_learn_app *app = new_app();
    struct sched_learn_job *first = new_job(app, 0), *alone = new_job(NULL, 1);

    (void)state;
    tour(first, NULL, 0, 16);
    struct sched_learn_job *second = new_job(app, 2);
    assert_int_equal(sched_adapt_seen(sched_learn_known(second), KINDS), 16);
    assert_int_equal(sched_adapt_seen(sched_learn_known(alone), KINDS), 0);
    for (uint32_t g = 1; g <= 16; g *= 2)
        assert_true(share_off(goodput(second, 0, g), true_goodput(0, g)) < 0.01);
    assert_true(sched_learn_known(second)->grad_var == VAR);
    sched_learn_job_free(first);
    sched_learn_job_free(second);
    sched_learn_job_free(alone);
    sched_learn_app_free(app);
}

static void a_jobs_own_measurements_come_before_those_of_others(void **state)
{
    struct sched_learn_app *app = new_app();
    struct sched_learn_job *others[5], *slow = new_job(app, 9);

    (void)state;
    for (uint32_t i = 0; i < BASE_COUNT(others); i++) {
        others[i] = new_job(app, i);
        tour(others[i], NULL, 0, 8);
    }
    double before = goodput(slow, 0, 4);
    struct sched_report r = honest(0, 4, 64);
    r.pass_s *= 3;
    r.step_s *= 3;
    (void)tell(slow, r);
    assert_true(share_off(goodput(slow, 0, 4), before / 3) < 0.15);
    assert_true(share_off(goodput(others[0], 0, 4), before) < 0.01);
    for (uint32_t i = 0; i < BASE_COUNT(others); i++)
        sched_learn_job_free(others[i]);
    sched_learn_job_free(slow);
    sched_learn_app_free(app);
}

/* A liar's story: times too long or too short by a factor, at all sizes or at several GPUs only. */
static void lie(struct sched_learn_job *job, struct base_rand *r)
{
    double pass = exp(base_rand_range(r, -8, 8)), step = exp(base_rand_range(r, -8, 8));
    bool all_sizes = base_rand_below(r, 2) == 0, both = base_rand_below(r, 2) == 0;

    for (uint32_t g = 1; g <= GPUS_MAX; g *= 2)
        for (uint32_t local = 16; local <= 512; local += 31) {
            struct sched_report report = honest(0, g, local);
            if (g > 1 || all_sizes) {
                report.pass_s *= pass;
                report.step_s *= both ? pass : step;
            }
            report.grad_var *= base_rand_range(r, 0, 100);
            (void)tell(job, report);
        }
}

static void among_three_honest_jobs_a_liar_changes_little_even_for_a_newcomer(void **state)
{
    double worst = 0;

    (void)state;
    for (int c = 0; c < property_count(60); c++) {
        struct base_rand r;
        struct sched_learn_app *app = new_app();
        struct sched_learn_job *jobs[5];
        base_rand_init(&r, (uint64_t)c, "median");
        for (uint32_t i = 0; i < 5; i++)
            jobs[i] = new_job(app, i);
        uint32_t liar = (uint32_t)base_rand_below(&r, 4);
        for (uint32_t i = 0; i < 4; i++) {
            if (i != liar)
                tour(jobs[i], NULL, 0, 16);
            else /* about the same keys */
                for (uint32_t g = 1; g <= 16; g *= 2)
                    for (uint32_t local = 32; local <= 256; local *= 2) {
                        struct sched_report report = honest(0, g, local);
                        report.pass_s *= exp(base_rand_range(&r, -1, 1));
                        report.step_s *= exp(base_rand_range(&r, -1, 1));
                        report.grad_var *= 50;
                        (void)tell(jobs[i], report);
                    }
        }
        for (uint32_t g = 1; g <= 16; g *= 2)
            worst = fmax(worst, share_off(goodput(jobs[4], 0, g), true_goodput(0, g)));
        for (uint32_t i = 0; i < 5; i++)
            sched_learn_job_free(jobs[i]);
        sched_learn_app_free(app);
    }
    print_message("a newcomer is off by %.2f %% at worst\n", 100 * worst);
    assert_true(worst < 0.02);
}

/* The bound of docs/design/0011-reports.md: alone with a liar, a job that has measured itself on up to
 * `own` GPUs. */
static void a_liar_moves_others_only_within_the_stated_bound(void **state)
{
    double own_worst = 0, above = 0, below = INFINITY;

    (void)state;
    for (int c = 0; c < property_count(100); c++) {
        struct base_rand r;
        struct sched_learn_app *app = new_app();
        struct sched_learn_job *liar = new_job(app, 0), *job = new_job(app, 1);
        uint32_t own = 1u << (c % 4);
        base_rand_init(&r, (uint64_t)c, "liar");
        if (c % 2 == 0)
            lie(liar, &r);
        tour(job, NULL, 0, own);
        if (c % 2 == 1)
            lie(liar, &r);
        for (uint32_t g = 1; g <= GPUS_MAX; g *= 2) {
            double speedup = goodput(job, 0, g) / goodput(job, 0, 1);
            if (g <= own)
                own_worst = fmax(own_worst, share_off(goodput(job, 0, g), true_goodput(0, g)));
            above = fmax(above, speedup / g);
            below = fmin(below, speedup);
        }
        sched_learn_job_free(liar);
        sched_learn_job_free(job);
        sched_learn_app_free(app);
    }
    print_message(
        "sizes it measured: off by %.1f %% at worst; others: from %.2f of one GPU to %.3f of "
        "linear\n",
        100 * own_worst, below, above);
    assert_true(own_worst <= 0.15);
    assert_true(above <= 1 + 1e-9);
    assert_true(below >= 0.6);
}

static void a_job_whose_reports_are_refused_is_treated_by_what_its_application_knows(void **state)
{
    struct sched_learn_app *app = new_app();
    struct sched_learn_job *other = new_job(app, 0), *job = new_job(app, 1);
    struct sched_report r = honest(0, 4, 64);

    (void)state;
    tour(other, NULL, 0, 8);
    r.pass_s = NAN;
    for (int i = 0; i < 20; i++)
        (void)tell(job, r);
    assert_int_equal(sched_learn_known(job)->gpus_max, GPUS_MAX);
    assert_true(share_off(goodput(job, 0, 8), goodput(other, 0, 8)) < 1e-9);
    sched_learn_job_free(other);
    sched_learn_job_free(job);
    sched_learn_app_free(app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_of_an_application_know_what_another_measured),
        cmocka_unit_test(a_jobs_own_measurements_come_before_those_of_others),
        cmocka_unit_test(among_three_honest_jobs_a_liar_changes_little_even_for_a_newcomer),
        cmocka_unit_test(a_liar_moves_others_only_within_the_stated_bound),
        cmocka_unit_test(a_job_whose_reports_are_refused_is_treated_by_what_its_application_knows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
