/* Tests of src/sim/faults.c: nodes and jobs fail as often as asked, the same for every policy, and
 * what they lose. */
#include "unit/sim/run_world.h"

#include "base/assert.h"
#include "gen/trace.h"
#include <stdlib.h>

static void a_long_run(struct run_world *w, const char *spec)
{
    run_world_init(w, spec);
    run_world_csv(w, RUN_HEAD "long,0,1,3000000\n", NULL);
}

static void nodes_are_down_for_their_share_of_time(void **state)
{
    struct run_world w;
    struct run_event e;
    double since[20], down = 0, end = 0;
    size_t failures = 0;

    (void)state;
    a_long_run(&w, "20x1:t4");
    struct sim_opts o = run_world_opts("fifo");
    o.how.node_mtbf_s = 30000;
    o.how.node_repair_s = 10000;
    struct sim_result *r = run_world_run(&w, &o);
    for (size_t at = 0; run_event_next(&w.log, &at, &e); run_event_fini(&e)) {
        end = e.t;
        if (run_event_is(&e, "node.down")) {
            since[e.node] = e.t;
            failures++;
        } else if (run_event_is(&e, "node.up")) {
            down += e.t - since[e.node];
        }
    }
    /* 20 x 3e6 s / 4e4 s = 1500 cycles: a tenth is about four standard errors of a mean of
     * exponentials */
    assert_true(failures > 1000);
    run_near(down / (20 * end), 0.25, 0.025);
    run_near((20 * end - down) / (double)failures, 30000, 3000);
    sim_result_free(r);
    run_world_fini(&w);
}

/* The node lines of the log up to `until_s`, as one text. */
static void node_events(const struct base_buf *log, double until_s, struct base_buf *out)
{
    struct run_event e;

    base_buf_init(out, &base_alloc_libc, (size_t)1 << 28);
    for (size_t at = 0; run_event_next(log, &at, &e); run_event_fini(&e))
        if (e.node >= 0 && e.t < until_s)
            base_buf_printf(out, "%.9g %s %d\n", e.t, e.type, e.node);
}

static void every_policy_meets_the_same_node_failures(void **state)
{
    static const char *const policies[] = {"fifo", "las", "srtf", "tiresias"};
    struct run_world w;
    struct base_buf first, other;

    (void)state;
    run_world_init(&w, "6x4:t4");
    run_world_generate(&w, 2, 60, 8, 7200);
    for (size_t p = 0; p < BASE_COUNT(policies); p++) {
        struct sim_opts o = run_world_opts(policies[p]);
        o.how.node_mtbf_s = 5000;
        o.how.node_repair_s = 1000;
        struct sim_result *r = run_world_run(&w, &o);
        assert_true(r->metrics.makespan_s > 7000 && r->metrics.node_failures > 5);
        node_events(&w.log, 7000, p == 0 ? &first : &other);
        if (p > 0) {
            assert_string_equal(first.data, other.data);
            base_buf_fini(&other);
        }
        sim_result_free(r);
    }
    base_buf_fini(&first);
    run_world_fini(&w);
}

static void a_node_that_fails_stops_its_jobs_and_no_others(void **state)
{
    struct run_world w;
    struct run_event e;
    char *where[64] = {0}; /* places of each job while it runs */
    int node = -1;
    double when = -1;
    size_t stops = 0;

    (void)state;
    run_world_init(&w, "6x4:t4");
    run_world_generate(&w, 9, 60, 12, 7200);
    struct sim_opts o = run_world_opts("srtf");
    o.how.node_mtbf_s = 8000;
    struct sim_result *r = run_world_run(&w, &o);
    for (size_t at = 0; run_event_next(&w.log, &at, &e); run_event_fini(&e)) {
        if (e.node >= 0 || !run_event_is(&e, "job.stopped")) {
            for (size_t i = 0; node >= 0 && i < 64; i++) { /* all its jobs were stopped by now */
                struct run_event held = {.places = where[i]};
                assert_false(where[i] != NULL && run_event_on(&held, (uint32_t)node));
            }
            node = -1;
        }
        if (e.node >= 0) {
            node = run_event_is(&e, "node.down") ? e.node : -1;
            when = e.t;
            continue;
        }
        size_t i = run_event_job(&w, &e);
        if (run_event_is(&e, "job.stopped")) {
            struct run_event held = {.places = where[i]};
            assert_true(node >= 0 && e.t == when && run_event_on(&held, (uint32_t)node));
            assert_string_equal(e.detail, "node failure");
            stops++;
        }
        free(where[i]);
        where[i] = e.places != NULL ? strdup(e.places) : NULL;
    }
    assert_true(stops > 5);
    for (size_t i = 0; i < 64; i++)
        free(where[i]);
    sim_result_free(r);
    run_world_fini(&w);
}

static void a_failure_costs_at_most_a_checkpoint_of_work(void **state)
{
    struct run_world w;

    (void)state;
    a_long_run(&w, "1x1:t4");
    double jct[3];
    const double checkpoint_s[3] = {0, 1000, 20000};
    for (size_t i = 0; i < 3; i++) {
        struct sim_opts o = run_world_opts("fifo");
        o.how.node_mtbf_s = 50000;
        o.how.node_repair_s = 1000;
        o.how.checkpoint_s = checkpoint_s[i];
        struct sim_result *r = run_world_run(&w, &o);
        double starts = r->jobs[0].starts, run = (double)r->jobs[0].gpu_s;
        assert_true(starts > 20);
        assert_true(run >= 3e6 + 30 * (starts - 1) - 1); /* a restart may be cut short */
        assert_true(run <= 3e6 + (30 + checkpoint_s[i]) * starts + 1);
        jct[i] = r->metrics.avg_jct_s;
        if (i > 0) {
            assert_true(r->metrics.lost_gpu_s > 30 * starts / 2);
            /* what was held and not lost is the work, and its first start */
            run_near(run - r->metrics.lost_gpu_s, 3e6 + 30, 3);
        }
        sim_result_free(r);
    }
    assert_true(jct[0] < jct[1] && jct[1] < jct[2]);
    run_world_fini(&w);
}

static void jobs_fail_by_class_about_as_often_as_in_the_study(void **state)
{
    const shoal_gen_trace_opts shape = {
        .shape = SHOAL_GEN_PHILLY, .jobs = 4000, .gpus = 64, .seed = 1};
    struct gen_trace gen;
    struct sim_row row;
    struct run_world w;
    struct run_event e;
    size_t user = 0, other = 0, retried = 0;

    (void)state;
    run_world_init(&w, "4000x8:p100");
    assert_int_equal(gen_trace_init(&gen, &shape, NULL, NULL), SHOAL_OK);
    assert_int_equal(sim_trace_new(&base_alloc_libc, &w.trace), SHOAL_OK);
    while (gen_trace_next(&gen, &row))
        run_world_add(w.trace, row.name, 0, row.gpus, row.duration_s);
    sim_trace_finish(w.trace);
    run_world_bind(&w, NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.how.job_failures = true;
    struct sim_result *r = run_world_run(&w, &o);
    for (size_t at = 0; run_event_next(&w.log, &at, &e); run_event_fini(&e)) {
        if (run_event_is(&e, "job.failed")) {
            user += strcmp(e.detail, "user error") == 0;
            other += strcmp(e.detail, "user error") != 0;
        } else if (run_event_is(&e, "job.retried")) {
            assert_string_not_equal(e.detail, "user error"); /* they would fail again */
            retried++;
        }
    }
    run_near((double)r->metrics.failed / (double)r->metrics.jobs, 0.17, 0.02);
    assert_true(user > 5 * other && retried > 20);
    for (size_t i = 0; i < w.trace->job_count; i++)
        assert_true(r->jobs[i].starts <= 3);
    sim_result_free(r);
    run_world_fini(&w);
}

static void rounds_longer_than_a_checkpoint_do_not_make_failures_free(void **state)
{
    struct run_world w;

    (void)state;
    a_long_run(&w, "1x1:t4");
    struct sim_opts o = run_world_opts("fifo");
    o.how.round_s = 7200;
    o.how.restart_s = 0;
    o.how.checkpoint_s = 1000;
    o.how.node_mtbf_s = 20000;
    o.how.node_repair_s = 1000;
    struct sim_result *r = run_world_run(&w, &o);
    /* failures come at any time after the last checkpoint: half of one on the mean, over some
     * hundred failures */
    double failures = r->jobs[0].starts - 1;
    assert_true(failures > 80);
    run_near(r->metrics.lost_gpu_s / failures, 500, 4 * 290 / sqrt(failures));
    sim_result_free(r);
    run_world_fini(&w);
}

static void a_retry_draws_no_user_error(void **state)
{
    struct run_world w;
    struct run_event e;
    bool retried[3000] = {false};
    size_t again = 0;

    (void)state;
    run_world_init(&w, "3000x16:t4");
    assert_int_equal(sim_trace_new(&base_alloc_libc, &w.trace), SHOAL_OK);
    for (int i = 0; i < 3000; i++) {
        char name[32];
        snprintf(name, sizeof name, "j%d", i);
        run_world_add(w.trace, name, 0, 16, 200000);
    }
    sim_trace_finish(w.trace);
    run_world_bind(&w, NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.how.job_failures = true;
    sim_result_free(run_world_run(&w, &o));
    for (size_t at = 0; run_event_next(&w.log, &at, &e); run_event_fini(&e))
        if (run_event_is(&e, "job.retried")) {
            again += retried[run_event_job(&w, &e)];
            retried[run_event_job(&w, &e)] = true;
        } else if (run_event_is(&e, "job.failed")) {
            assert_false(retried[run_event_job(&w, &e)] && strcmp(e.detail, "user error") == 0);
        }
    assert_true(again > 20); /* the others do come again */
    run_world_fini(&w);
}

static void a_failed_job_loses_all_its_work(void **state)
{
    struct run_world w;
    struct run_event e;
    double lost = 0;

    (void)state;
    run_world_init(&w, "400x1:t4");
    assert_int_equal(sim_trace_new(&base_alloc_libc, &w.trace), SHOAL_OK);
    for (int i = 0; i < 400; i++) {
        char name[32];
        snprintf(name, sizeof name, "j%d", i);
        run_world_add(w.trace, name, 0, 1, 20000);
    }
    sim_trace_finish(w.trace);
    run_world_bind(&w, NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.how.job_failures = true;
    o.how.restart_s = 0;
    struct sim_result *r = run_world_run(&w, &o);
    for (size_t at = 0; run_event_next(&w.log, &at, &e); run_event_fini(&e))
        lost += run_event_is(&e, "job.failed") ? e.progress * 20000 : 0;
    assert_true(r->metrics.failed > 20);
    run_near(r->metrics.lost_gpu_s, lost, 1e-6 * lost);
    sim_result_free(r);
    run_world_fini(&w);
}

static void idle_time_is_not_filled_with_node_events(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "64x4:t4");
    run_world_csv(&w, RUN_HEAD "a,0,1,100\nb,1e11,256,100\n", NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.how.node_mtbf_s = 3600;
    o.how.node_repair_s = 60;
    struct sim_result *r = run_world_run(&w, &o);
    assert_int_equal(r->metrics.finished, 2);
    assert_true(r->metrics.node_failures > 64 && r->metrics.node_failures < 64 * 100);
    sim_result_free(r);
    run_world_fini(&w);
}

struct stopper {
    atomic_bool stop;
    size_t events;
};

static shoal_status stop_at_a_node(void *ctx, const char *line, size_t size, shoal_err *err)
{
    struct stopper *t = ctx;

    (void)size;
    (void)err;
    if (strstr(line, "node.") != NULL) {
        t->events++;
        atomic_store(&t->stop, true);
    }
    return SHOAL_OK;
}

static void a_run_stops_between_two_node_events(void **state)
{
    struct run_world w;
    struct stopper t = {.events = 0};
    struct sim_result *r = NULL;

    (void)state;
    atomic_init(&t.stop, false);
    run_world_init(&w, "64x4:t4");
    run_world_csv(&w, RUN_HEAD "a,0,1,100000\n", NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.how.node_mtbf_s = 600;
    o.how.node_repair_s = 600;
    o.how.round_s = 10000; /* a thousand of them in a round */
    o.stop = &t.stop;
    o.on_event = stop_at_a_node;
    o.event_ctx = &t;
    assert_int_equal(sim_run(w.env, w.trace, &w.cluster, &o, &r, NULL), SHOAL_E_CANCELLED);
    assert_int_equal(t.events, 1);
    run_world_fini(&w);
}

/* A gang that must run 10 days without a failure gets there by luck, and no sooner is it given up. */
static void a_gang_that_starts_over_and_over_is_not_given_up(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "4x8:t4");
    run_world_csv(&w, RUN_HEAD "gang,0,32,900000\n", NULL);
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct sim_opts o = run_world_opts("fifo");
        o.how.node_mtbf_s = 20 * 86400.0;
        o.how.node_repair_s = 600;
        o.how.checkpoint_s = 300 * 86400.0;
        o.how.seed = seed;
        struct sim_result *r = run_world_run(&w, &o);
        assert_int_equal(r->metrics.finished, 1);
        run_near((double)r->jobs[0].gpu_s - r->metrics.lost_gpu_s, 32 * 900030.0, 32 * 60);
        sim_result_free(r);
    }
    run_world_fini(&w);
}

static void a_job_that_can_have_no_luck_ends_the_run(void **state)
{
    struct run_world w;
    struct sim_result *r = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    run_world_init(&w, "4x1:t4");
    run_world_csv(&w, RUN_HEAD "gang,0,4,90000\n", NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.how.node_mtbf_s = 3600;
    o.how.node_repair_s = 60;
    o.how.checkpoint_s = 1e6;
    assert_int_equal(sim_run(w.env, w.trace, &w.cluster, &o, &r, &err), SHOAL_E_IMPOSSIBLE);
    assert_non_null(strstr(err.message, "policy 'fifo' job 'gang' (4 GPUs on 4 nodes)"));
    run_world_fini(&w);
}

static void a_retry_goes_back_to_the_last_checkpoint(void **state)
{
    struct run_world w;
    struct run_event e;
    char name[32];

    (void)state;
    run_world_init(&w, "50x8:t4");
    assert_int_equal(sim_trace_new(&base_alloc_libc, &w.trace), SHOAL_OK);
    for (int i = 0; i < 400; i++) {
        snprintf(name, sizeof name, "j%d", i);
        run_world_add(w.trace, name, 0, 1, 20000);
    }
    sim_trace_finish(w.trace);
    run_world_bind(&w, NULL);
    for (int often = 0; often < 2; often++) {
        struct sim_opts o = run_world_opts("fifo");
        o.how.job_failures = true;
        o.how.checkpoint_s = often ? 0 : 1e9; /* never again after the first round */
        sim_result_free(run_world_run(&w, &o));
        size_t near = 0, far = 0;
        for (size_t at = 0; run_event_next(&w.log, &at, &e); run_event_fini(&e))
            if (run_event_is(&e, "job.retried"))
                *(e.progress * 20000 <= 60 ? &near : &far) += 1;
        assert_true(often ? far > 3 : near > 3 && far == 0);
    }
    run_world_fini(&w);
}

static void a_failure_in_the_log_does_not_depend_on_the_policy(void **state)
{
    struct run_world w;
    uint8_t outcome[2][60];

    (void)state;
    run_world_init(&w, "40x8:t4");
    run_world_generate(&w, 4, 60, 8, 100);
    for (int p = 0; p < 2; p++) {
        struct sim_opts o = run_world_opts(p == 0 ? "fifo" : "las");
        o.how.job_failures = true;
        struct sim_result *r = run_world_run(&w, &o);
        for (size_t i = 0; i < 60; i++)
            outcome[p][i] = r->jobs[i].outcome;
        sim_result_free(r);
    }
    assert_memory_equal(outcome[0], outcome[1], 60);
    run_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_down_for_their_share_of_time),
        cmocka_unit_test(every_policy_meets_the_same_node_failures),
        cmocka_unit_test(a_node_that_fails_stops_its_jobs_and_no_others),
        cmocka_unit_test(a_failure_costs_at_most_a_checkpoint_of_work),
        cmocka_unit_test(jobs_fail_by_class_about_as_often_as_in_the_study),
        cmocka_unit_test(rounds_longer_than_a_checkpoint_do_not_make_failures_free),
        cmocka_unit_test(a_retry_draws_no_user_error),
        cmocka_unit_test(a_failed_job_loses_all_its_work),
        cmocka_unit_test(idle_time_is_not_filled_with_node_events),
        cmocka_unit_test(a_run_stops_between_two_node_events),
        cmocka_unit_test(a_gang_that_starts_over_and_over_is_not_given_up),
        cmocka_unit_test(a_job_that_can_have_no_luck_ends_the_run),
        cmocka_unit_test(a_retry_goes_back_to_the_last_checkpoint),
        cmocka_unit_test(a_failure_in_the_log_does_not_depend_on_the_policy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
