/* Tests of src/sim/faults.c: nodes and jobs fail as often as asked, the same for every policy, and
 * what they lose. */
#include "unit/sim/run_world.h"

#include "base/assert.h"
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
    o.node_mtbf_s = 30000;
    o.node_repair_s = 10000;
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
        o.node_mtbf_s = 5000;
        o.node_repair_s = 1000;
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
    o.node_mtbf_s = 8000;
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
        o.node_mtbf_s = 50000;
        o.node_repair_s = 1000;
        o.checkpoint_s = checkpoint_s[i];
        struct sim_result *r = run_world_run(&w, &o);
        double starts = r->jobs[0].starts, run = (double)r->jobs[0].gpu_s;
        assert_true(starts > 20);
        assert_true(run >= 3e6 + 30 * (starts - 1) - 1); /* a restart may be cut short */
        assert_true(run <= 3e6 + (30 + checkpoint_s[i]) * starts + 1);
        jct[i] = r->metrics.avg_jct_s;
        if (i > 0) {
            assert_true(r->metrics.lost_gpu_s > 30 * starts / 2);
            run_near(run - r->metrics.lost_gpu_s, 3e6,
                     3); /* what was held and not lost is the work */
        }
        sim_result_free(r);
    }
    assert_true(jct[0] < jct[1] && jct[1] < jct[2]);
    run_world_fini(&w);
}

static void jobs_fail_by_class_about_as_often_as_in_the_study(void **state)
{
    struct run_world w;
    struct base_rand rand;
    struct run_event e;
    char name[32];
    size_t user = 0, other = 0, retried = 0;

    (void)state;
    run_world_init(&w, "4000x8:p100");
    base_rand_init(&rand, 1, "mix");
    assert_int_equal(sim_trace_new(&base_alloc_libc, &w.trace), SHOAL_OK);
    for (int i = 0; i < 4000; i++) { /* Philly's mix: most of one GPU, hours to days */
        double u = base_rand_unit(&rand);
        snprintf(name, sizeof name, "j%d", i);
        run_world_add(w.trace, name, 0,
                      u < 0.7    ? 1
                      : u < 0.85 ? 4
                      : u < 0.95 ? 8
                                 : 16,
                      600 * exp(base_rand_range(&rand, 0, 5)));
    }
    sim_trace_finish(w.trace);
    run_world_bind(&w, NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.job_failures = true;
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
    double unsuccessful = (double)r->metrics.failed / 4000;
    assert_true(unsuccessful > 0.06 && unsuccessful < 0.25);
    assert_true(user > 5 * other && retried > 50);
    for (size_t i = 0; i < 4000; i++)
        assert_true(r->jobs[i].starts <= 3);
    sim_result_free(r);
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
        o.job_failures = true;
        o.checkpoint_s = often ? 0 : 1e9; /* never again after the first round */
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
        o.job_failures = true;
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
        cmocka_unit_test(a_retry_goes_back_to_the_last_checkpoint),
        cmocka_unit_test(a_failure_in_the_log_does_not_depend_on_the_policy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
