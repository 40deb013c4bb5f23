/* test_verdict.c - a comparison in words: true to the figures, silent where there is nothing to say. */
#include "torture.h"

#include "unit/sim/sample.h"

static const char mixed[] = "6x4:t4,3x8:rtx,2x8:a100";

static void assert_says(struct sample *s, size_t count, const char *text, bool said)
{
    const shoal_result *result = sample_told(s, count);

    if ((strstr(result->verdict, text) != NULL) != said)
        fail_msg("the verdict %s '%s':\n%s", said ? "does not say" : "says", text, result->verdict);
    shoal_result_free(result);
}

static void the_fastest_policy_comes_first_and_says_by_how_much(void **state)
{
    struct sample s;

    (void)state;
    sample_make(&s, mixed, 50, 3, 86400, 6);
    for (size_t i = 0; i < 3; i++)
        s.results[i]->metrics.avg_jct_s = i == 1 ? 3600 : 7200;
    assert_says(&s, 3, "srtf finishes the average job in 1h00m, 2.0x sooner than fifo (2h00m).\n",
                true);
    s.results[2]->metrics.avg_jct_s = 3610;
    assert_says(&s, 3, "2.0x sooner than fifo (2h00m); las is within one percent of it.\n", true);
    s.results[0]->metrics.avg_jct_s = 4000;
    assert_says(&s, 3, ", 10 % sooner than fifo", true);
    s.results[0]->metrics.avg_jct_s = 3590;
    assert_says(&s, 3, "All policies finish the average job after 59m50s, within one percent",
                true);
    assert_says(&s, 1, "Under fifo the average job is done 59m50s after it was submitted, half of ",
                true);
    sample_free(&s);
}

static void every_policy_is_said_only_of_figures_that_read_alike(void **state)
{
    static const char unfair[] = "worse off than with an equal share under every policy";
    static const char ends[] = "under every policy; while jobs come in,";
    struct sample s;

    (void)state;
    sample_make(&s, mixed, 40, 3, 20000, 31);
    for (size_t i = 0; i < 3; i++) {
        s.results[i]->metrics.unfair_share = 0.0191;
        s.results[i]->metrics.makespan_s = 20000;
    }
    assert_says(&s, 3, unfair, true);
    assert_says(&s, 3, ends, true);
    s.results[1]->metrics.unfair_share = 0.028;
    s.results[2]->metrics.makespan_s = 19850;
    assert_says(&s, 3, unfair, false);
    assert_says(
        &s, 3, "of jobs are worse off than with an equal share under fifo, 2.8 % under srtf", true);
    assert_says(&s, 3, ends, false);
    sample_free(&s);
}

static void lost_time_is_laid_to_failures_only_where_something_failed(void **state)
{
    struct sample s;

    (void)state;
    sample_make(&s, mixed, 40, 2, 20000, 32);
    for (size_t i = 0; i < 2; i++) {
        s.results[i]->metrics.restarts = i == 0 ? 0 : 1811;
        s.results[i]->metrics.lost_gpu_s = i == 0 ? 0 : 22 * 3600;
    }
    assert_says(&s, 2,
                "Under srtf jobs are restarted 1,811 times and 22.00 GPU-hours are lost to "
                "restarts, under fifo none is.",
                true);
    s.results[1]->metrics.node_failures = 3;
    s.results[0]->metrics.restarts = 12;
    assert_says(&s, 2, "are lost to restarts and failures, under fifo 12 times.", true);
    s.results[1]->metrics.restarts = s.results[0]->metrics.restarts = 0;
    assert_says(&s, 2, "restarted", false);
    sample_free(&s);
}

static void missed_deadlines_are_told_where_jobs_have_deadlines(void **state)
{
    struct sample s;

    (void)state;
    sample_make(&s, mixed, 40, 3, 20000, 36);
    assert_says(&s, 3, "deadline", false);
    for (size_t i = 0; i < 3; i++)
        s.results[i]->metrics.deadlines = 1200;
    assert_says(&s, 3, "All deadlines are kept under every policy.", true);
    assert_says(&s, 1, "All deadlines are kept.", true);
    for (size_t i = 0; i < 3; i++)
        s.results[i]->metrics.missed = 7;
    assert_says(&s, 3, "Of 1,200 deadlines, fifo misses 7, as does every policy.", true);
    assert_says(&s, 1, "Of 1,200 deadlines, fifo misses 7.", true);
    s.results[1]->metrics.missed = 0;
    s.results[2]->metrics.missed = 1100;
    assert_says(&s, 3, "Of 1,200 deadlines, srtf misses none, las 1,100.", true);
    sample_free(&s);
}

static void the_worst_off_job_is_named_and_the_fairest_policy(void **state)
{
    struct sample s;

    (void)state;
    sample_make(&s, mixed, 40, 2, 20000, 37);
    for (size_t i = 0; i < 2; i++) {
        s.results[i]->metrics.avg_jct_s = i == 0 ? 100 : 200;
        s.results[i]->metrics.worst_rho = i == 0 ? 3 : 1.5;
        s.results[i]->metrics.worst_rho_job = 5;
        s.results[i]->jobs[5].wait_s = 600;
    }
    s.trace.jobs[5].name = "late";
    assert_says(
        &s, 2,
        "Its worst-off job, late, waits 10m00s and takes 3.0x as long as with an equal "
        "share of the cluster; the fairest to its worst-off job is srtf, whose worst rho is "
        "1.50.",
        true);
    s.results[0]->metrics.worst_rho = 1;
    assert_says(&s, 2, "Under fifo no job is worse off than with an equal share of the cluster.",
                true);
    sample_free(&s);
}

static void money_slow_jobs_and_waiting_have_sentences_where_they_differ(void **state)
{
    struct sample s;

    (void)state;
    sample_make(&s, mixed, 40, 2, 20000, 38);
    for (size_t i = 0; i < 2; i++) {
        struct sim_metrics *m = &s.results[i]->metrics;
        m->avg_jct_s = i == 0 ? 100 : 200;
        m->p99_jct_s = i == 0 ? 7200 : 3600;
        m->cost_usd = i == 0 ? 1240 : 9;
        memset(m->wait_by_reason_s, 0, sizeof m->wait_by_reason_s);
        m->wait_by_reason_s[SCHED_WHY_GANG] = 60;
        m->wait_by_reason_s[SCHED_WHY_LIMIT] = 40;
    }
    assert_says(&s, 2,
                "The slowest jobs do better under srtf: 99 of 100 are done within 1h00m, against "
                "2h00m.\n",
                true);
    assert_says(&s, 2, "It costs least under srtf, $9.00, and most under fifo, $1,240.", true);
    assert_says(&s, 2, "Under fifo, 60 % of the waiting is for enough GPUs at once.\n", true);
    s.results[1]->metrics.cost_usd = NAN;
    s.results[1]->metrics.p99_jct_s = 7200;
    assert_says(&s, 2, "costs", false);
    assert_says(&s, 2, "slowest", false);
    sample_free(&s);
}

static void without_a_finished_job_nothing_is_compared(void **state)
{
    struct sample s;

    (void)state;
    sample_make(&s, mixed, 5, 2, 1000, 15);
    for (size_t i = 0; i < 2; i++) {
        struct sim_metrics *m = &s.results[i]->metrics;
        for (size_t k = 0; k < 5; k++)
            s.results[i]->jobs[k] = (struct sim_job_result){
                .start_s = NAN, .finish_s = NAN, .rho = NAN, .outcome = SIM_REJECTED};
        *m = (struct sim_metrics){.jobs = 5, .rejected = 5, .worst_rho_job = SIM_NONE};
        m->avg_jct_s = m->p50_jct_s = m->p99_jct_s = m->makespan_s = m->avg_rho = m->worst_rho =
            m->unfair_share = m->avg_wait_s = m->utilization = m->cost_usd = NAN;
    }
    const shoal_result *result = sample_told(&s, 2);
    assert_string_equal(result->verdict, "No job finished.\n");
    assert_string_equal(result->title, "5 jobs on 64 GPUs");
    shoal_result_free(result);
    sample_free(&s);
}

static void the_heading_says_what_was_asked(void **state)
{
    struct sample s;

    (void)state;
    sample_make(&s, mixed, 40, 2, 20000, 39);
    const shoal_result *result = sample_told(&s, 2);
    assert_non_null(
        strstr(result->heading, "24 t4, 24 rtx, 16 a100; 2 policies, a decision every 1m"));
    assert_non_null(strstr(result->heading, "input hash 005a17c0ffee5ea1; seed 7; cluster "));
    assert_non_null(strstr(result->heading, mixed));
    shoal_result_free(result);
    sample_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_policy_comes_first_and_says_by_how_much),
        cmocka_unit_test(every_policy_is_said_only_of_figures_that_read_alike),
        cmocka_unit_test(lost_time_is_laid_to_failures_only_where_something_failed),
        cmocka_unit_test(missed_deadlines_are_told_where_jobs_have_deadlines),
        cmocka_unit_test(the_worst_off_job_is_named_and_the_fairest_policy),
        cmocka_unit_test(money_slow_jobs_and_waiting_have_sentences_where_they_differ),
        cmocka_unit_test(without_a_finished_job_nothing_is_compared),
        cmocka_unit_test(the_heading_says_what_was_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
