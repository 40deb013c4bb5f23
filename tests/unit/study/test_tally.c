/* test_tally.c - sums, quantiles and utilisation of a result made by hand. */
#include "study_world.h"

#include "study/tally.h"

enum { JOBS = 4 };

struct made {
    struct world w;
    struct study_fate fates[JOBS];
    struct study_work work;
    struct sim_trace *trace;
    struct sim_job_result rows[JOBS];
    struct sim_job_detail details[JOBS];
    struct sim_result result;
};

/* Jobs of 1, 1, 4 and 8 GPUs, 1000 s each, at 0, 0, 0 and 1000 s: 6,000 GPU-seconds, then 8,000.
 * The third fails; the last waits for locality, then runs on two servers at half its speed. */
static void make(struct made *m)
{
    shoal_err err = SHOAL_ERR_INIT;

    *m = (struct made){0};
    world_make(&m->w,
               "name,submit_s,gpus,duration_s\na,0,1,1000\nb,0,1,1000\nc,0,4,1000\nd,1000,8,1000\n",
               "2x8:gpu");
    study_failures_draw(&m->w.jobs, SHOAL_STUDY_FAILURES_NONE, 1, m->fates);
    m->fates[2] = (struct study_fate){.attempts = 1, .first_s = 1000};
    assert_int_equal(
        study_work_init(&m->work, &base_alloc_libc, &m->w.jobs, m->fates, 0, 300, NULL), SHOAL_OK);
    assert_int_equal(
        study_work_trace(m->w.env, &m->work, &m->w.jobs, 0, &m->w.cluster, &m->trace, &err),
        SHOAL_OK);
    for (size_t i = 0; i < 3; i++) {
        float gpus = (float)m->w.jobs.jobs[i].gpus;
        m->rows[i] = (struct sim_job_result){.finish_s = 1000, .gpu_s = 1000 * gpus, .starts = 1};
        m->details[i].gpu_s[0] = 1000 * gpus;
    }
    m->rows[1] = (struct sim_job_result){
        .start_s = 60, .finish_s = 1060, .gpu_s = 1000, .wait_s = 60, .starts = 1};
    m->details[1].wait_s[SIM_WAIT_OTHER] = 60;
    m->rows[3] = (struct sim_job_result){
        .start_s = 1100, .finish_s = 3100, .gpu_s = 16000, .wait_s = 100, .starts = 3};
    m->details[3] = (struct sim_job_detail){.spread_gpu_s = 16000, .slow_gpu_s = 8000, .moves = 2};
    m->details[3].wait_s[SIM_WAIT_LOCALITY] = 40;
    m->details[3].wait_s[SIM_WAIT_FAIR_SHARE] = 60;
    m->details[3].gpu_s[1] = 16000;
    m->result = (struct sim_result){.trace = m->trace, .jobs = m->rows, .details = m->details};
}

static void end(struct made *m)
{
    study_work_fini(&m->work);
    sim_trace_free(m->trace);
    world_end(&m->w);
}

static void figures_are_those_done_by_hand(void **state)
{
    struct made m;
    struct study_tally t;

    (void)state;
    make(&m);
    assert_int_equal(
        study_tally_make(&base_alloc_libc, &m.w.jobs, m.fates, &m.work, &m.result, 16, &t),
        SHOAL_OK);
    assert_int_equal(t.delays[0][STUDY_WAITS].jobs, 1);
    assert_true(t.delays[0][STUDY_WAITS].total_s == 60);
    assert_true(t.delays[0][STUDY_WAITS].p50_s == 0 && t.delays[0][STUDY_WAITS].p95_s == 60);
    assert_true(t.delays[2][SIM_WAIT_LOCALITY].total_s == 40);
    assert_true(t.delays[2][SIM_WAIT_FAIR_SHARE].p50_s == 60);
    assert_true(t.delays[STUDY_ALL][STUDY_WAITS].total_s == 160);
    assert_int_equal(t.delays[STUDY_ALL][SIM_WAIT_CAPACITY].jobs, 0);
    assert_true(isnan(t.waits_s[3][0]) && t.waits_s[2][0] == 100);
    assert_true(t.servers_gpu_s[2][1] == 16000 && t.servers_gpu_s[1][0] == 4000);
    assert_true(t.held_gpu_s == 22000 && t.slow_all_gpu_s == 8000 && t.spread_gpu_s[2] == 16000);
    assert_int_equal(t.moves, 2);
    assert_int_equal(t.restarts, 2);
    /* Of those that pass: 1000, 1060 and 2100 s. */
    assert_true(fabs(t.avg_jct_s - 4160.0 / 3) < 1e-9 && t.p50_jct_s == 1060);
    /* From 0 to 1,000 s, when the last came: 1,000 s of the first, 940 of the second, and 4,000
     * GPU-seconds held by the third, which fails. */
    assert_true(fabs(t.utilization - 1940.0 / 16000) < 1e-9);
    assert_true(fabs(t.occupancy - 5940.0 / 16000) < 1e-9);
    end(&m);
}

static shoal_status add_up(const struct base_alloc *alloc, void *ctx)
{
    struct made *m = ctx;
    struct study_tally t;

    return study_tally_make(alloc, &m->w.jobs, m->fates, &m->work, &m->result, 16, &t);
}

static void short_memory_ends_cleanly(void **state)
{
    struct made m;

    (void)state;
    make(&m);
    torture_run(add_up, &m);
    end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_done_by_hand),
        cmocka_unit_test(short_memory_ends_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
