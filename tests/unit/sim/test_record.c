/* Tests of src/sim/record.c: the record stays bounded, and its means and rows tell the truth. */
#include "unit/sim/run_world.h"

static double integral(const struct sim_result *r, const float *values)
{
    double sum = 0;

    for (size_t i = 0; i < r->series.count; i++)
        sum += (double)values[i] * r->series.step_s;
    return sum;
}

static void series_are_exact_by_hand(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x4:t4,1x2:a100");
    run_world_csv(&w, RUN_HEAD "a,0,4,60\nb,30,4,15\n",
                  NULL); /* b starts at 120, when a has left at 90 */
    struct sim_opts o = run_world_opts("fifo");
    o.record = true;
    struct sim_result *r = run_world_run(&w, &o);
    assert_true(r->series.step_s == 60 && r->series.count == 3);
    const double busy[3] = {4, 2, 3}, waiting[3] = {0.5, 1, 0}, running[3] = {1, 0.5, 0.75};
    for (size_t i = 0; i < 3; i++) {
        run_near((double)r->series.busy[0][i], busy[i], 1e-6);
        run_near((double)r->series.busy[1][i], 0, 0);
        run_near((double)r->series.waiting[i], waiting[i], 1e-6);
        run_near((double)r->series.running[i], running[i], 1e-6);
    }
    assert_int_equal(r->segment_count, 2);
    assert_true(r->segments[0].rows == 15 && r->segments[0].from_s == 0 &&
                r->segments[0].to_s == 90);
    assert_true(r->segments[1].from_s == 120 && r->segments[1].to_s == 165 &&
                r->segments[1].job == 1);
    sim_result_free(r);
    run_world_fini(&w);
}

static void nothing_is_recorded_unless_asked_for(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x4:t4");
    run_world_csv(&w, RUN_HEAD "a,0,4,60\n", NULL);
    struct sim_result *r = run_world_policy(&w, "fifo");
    assert_true(r->series.step_s == 0 && r->series.busy[0] == NULL && r->segment_count == 0);
    sim_result_free(r);
    run_world_fini(&w);
}

static void a_long_run_keeps_its_integrals_in_bounded_steps(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "2x4:t4");
    run_world_csv(&w, RUN_HEAD "a,0,3,500000\nb,1000,4,1e6\nc,3e6,8,777\nd,3e6,8,1e6\n", NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.record = true;
    struct sim_result *r = run_world_run(&w, &o);
    assert_true(r->metrics.makespan_s > 4e6);
    assert_true(r->series.count > 1024 && r->series.count <= 2048);
    assert_true(r->series.step_s * (double)r->series.count >= r->metrics.makespan_s);
    run_near(fmod(log2(r->series.step_s / 60), 1), 0, 0); /* doubled, some times */
    double held = 0, waits = 0;
    for (size_t i = 0; i < 4; i++) {
        held += (double)r->jobs[i].gpu_s;
        waits += (double)r->jobs[i].wait_s;
    }
    run_near(integral(r, r->series.busy[0]), held, 1e-5 * held);
    run_near(integral(r, r->series.waiting), waits, 1e-3 * waits);
    sim_result_free(r);
    run_world_fini(&w);
}

static void a_run_with_too_many_segments_says_so(void **state)
{
    struct run_world w;
    char name[32];

    (void)state;
    run_world_init(&w, "1000x8:t4");
    assert_int_equal(sim_trace_new(&base_alloc_libc, &w.trace), SHOAL_OK);
    for (int i = 0; i < 26000; i++) { /* of 8 pieces each: 208,000 */
        snprintf(name, sizeof name, "j%d", i);
        run_world_add(w.trace, name, 0, 64, 1);
    }
    sim_trace_finish(w.trace);
    run_world_bind(&w, NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.record = true;
    struct sim_result *r = run_world_run(&w, &o);
    assert_true(r->segments_cut);
    assert_true(r->segment_count <= 200000 && r->segment_count > 199000);
    assert_int_equal(r->metrics.finished, 26000);
    run_near(integral(r, r->series.busy[0]), 26000 * 64 * 31.0, 1e-4 * 26000 * 64 * 31);
    sim_result_free(r);
    run_world_fini(&w);
}

static void a_node_of_64_gpus_has_64_rows(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x64:t4");
    run_world_csv(&w, RUN_HEAD "a,0,1,100\nb,0,63,100\nc,0,64,10\n", NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.record = true;
    struct sim_result *r = run_world_run(&w, &o);
    assert_int_equal(r->segment_count, 3);
    assert_true(r->segments[0].rows == 1 && r->segments[1].rows == ~UINT64_C(1));
    assert_true(r->segments[2].rows == ~UINT64_C(0));
    sim_result_free(r);
    run_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(series_are_exact_by_hand),
        cmocka_unit_test(nothing_is_recorded_unless_asked_for),
        cmocka_unit_test(a_long_run_keeps_its_integrals_in_bounded_steps),
        cmocka_unit_test(a_run_with_too_many_segments_says_so),
        cmocka_unit_test(a_node_of_64_gpus_has_64_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
