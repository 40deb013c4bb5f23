/* Tests of src/sim/adapt.c: jobs that adapt in the simulator, what they report, and what that does. */
#include "unit/sim/run_world.h"

#include "property.h"

#include "base/assert.h"
#include "env/env.h"
#include "sim/state.h"

/* Two applications; the second synchronises slowly. */
#define PLACEMENTS                                                                       \
    "placement,local_bsz,step_time,sync_time\n"                                          \
    "1,32,0.5,0\n1,64,0.9,0\n2,32,0.6,0.1\n2,64,1,0.1\n3,32,0.65,0.15\n3,64,1.05,0.15\n" \
    "4,32,0.7,0.2\n4,64,1.1,0.2\n44,32,0.9,0.4\n44,64,1.3,0.4\n"
#define SLOW_PLACEMENTS                         \
    "placement,local_bsz,step_time,sync_time\n" \
    "1,32,0.5,0\n1,64,0.9,0\n2,32,0.9,0.4\n2,64,1.3,0.4\n4,32,1.1,0.6\n4,64,1.5,0.6\n"
#define SCALING "num_replicas,num_nodes,local_bsz,step_time,sync_time\n8,2,32,0.9,0.4\n"
#define VALIDATION                                                                              \
    "progress,iteration,metric,grad_sqr,grad_var\n300,300,0,1,3\n800,800,0,1,6\n2000,2000,0,1," \
    "12\n"

/* Places every job that adapts on min(4, most) GPUs of the first kind with room, in order. */
static shoal_status four_each(void *memory, const struct sched_snapshot *snap,
                              struct sched_plan *plan)
{
    (void)memory;
    for (size_t i = 0; i < snap->job_count; i++) {
        const struct sched_job *j = snap->jobs[i];
        if (sched_plan_keep(plan, i))
            continue;
        for (uint32_t k = 0; k < snap->cluster->kind_count; k++)
            if ((j->kinds >> k & 1) != 0 && j->adapt != NULL &&
                sched_plan_place_as(plan, i, k, j->adapt->gpus_max < 4 ? j->adapt->gpus_max : 4,
                                    SCHED_FIT_PACK))
                break;
    }
    sched_plan_wait_others(plan, SCHED_WHY_CAPACITY, SCHED_JOB_NONE);
    return sched_plan_status(plan);
}

static const struct sched_policy policy = {
    .name = "four-each", .preempts = true, .decide = four_each};
static const struct sched_policy policy_alone = {
    .name = "four-each-alone", .preempts = true, .alone = true, .decide = four_each};

static void put_app(shoal_env *env, const char *folder, const char *placements)
{
    char path[64];

    snprintf(path, sizeof path, "p/%s/placements.csv", folder);
    world_put(env, path, placements);
    snprintf(path, sizeof path, "p/%s/placements-rtx.csv", folder);
    world_put(env, path, placements);
    snprintf(path, sizeof path, "p/%s/scalability.csv", folder);
    world_put(env, path, SCALING);
    snprintf(path, sizeof path, "p/%s/validation-32.csv", folder);
    world_put(env, path, VALIDATION);
    snprintf(path, sizeof path, "p/%s/validation-512.csv", folder);
    world_put(env, path, VALIDATION);
}

static void world_of(struct run_world *w, const char *spec, int jobs)
{
    struct base_buf text;

    run_world_init(w, spec);
    put_app(w->env, "net", PLACEMENTS);
    put_app(w->env, "slow", SLOW_PLACEMENTS);
    base_buf_init(&text, &base_alloc_libc, 1 << 20);
    base_buf_puts(&text, "#shoal-trace v1\nname,submit_s,gpus,model,batch\n");
    for (int i = 0; i < jobs; i++)
        base_buf_printf(&text, "j%d,%d,%d,%s,32\n", i, 40 * i, 1 + i % 2,
                        i % 3 == 2 ? "slow" : "net");
    run_world_csv(w, text.data, "p");
    base_buf_fini(&text);
}

static struct sim_opts opts_of(const struct sched_policy *p)
{
    struct sim_opts o;

    sim_opts_init(&o);
    o.policy = p;
    return o;
}

static double mean_jct(const struct run_world *w, const struct sim_result *r, uint32_t leave_out)
{
    double sum = 0;
    int count = 0;

    for (size_t i = 0; i < w->trace->job_count; i++) {
        assert_int_equal(r->jobs[i].outcome, SIM_FINISHED);
        if (leave_out > 0 && i % leave_out == leave_out - 1)
            continue;
        sum += r->jobs[i].finish_s - w->trace->jobs[i].submit_s;
        count++;
    }
    return sum / count;
}

static double run_mean(struct run_world *w, const struct sim_opts *o, uint32_t leave_out)
{
    struct sim_result *r = run_world_run(w, o);
    double mean = mean_jct(w, r, leave_out);

    sim_result_free(r);
    return mean;
}

static void with_one_job_in_ten_reporting_nonsense_all_end_and_the_others_hardly_notice(
    void **state)
{
    struct run_world w;

    (void)state;
    world_of(&w, "4x4:t4", 60);
    for (int c = 0; c < 2; c++) {
        struct sim_opts o = opts_of(c == 0 ? &policy : &policy_alone);
        double before = run_mean(&w, &o, 10);
        for (uint64_t seed = 1; seed <= (uint64_t)property_count(3); seed++) {
            o.how.seed = seed;
            o.how.report_bad = 10;
            double after = run_mean(&w, &o, 10);
            print_message("%s: %.0f s, with nonsense %.0f s\n", o.policy->name, before, after);
            assert_true(fabs(after / before - 1) <= 0.05);
            assert_true(run_log_count(&w.log, "job.report_refused") > 0);
        }
    }
    run_world_fini(&w);
}

static void noise_in_every_report_hardly_matters(void **state)
{
    struct run_world w;

    (void)state;
    world_of(&w, "4x4:t4", 40);
    struct sim_opts o = opts_of(&policy);
    double exact = run_mean(&w, &o, 0);
    assert_int_equal(run_log_count(&w.log, "job.report_refused"), 0);
    o.how.report_noise = 0.2;
    assert_true(fabs(run_mean(&w, &o, 0) / exact - 1) <= 0.05);
    assert_int_equal(run_log_count(&w.log, "job.report_refused"), 0);
    o.how.report_noise = 0.5;
    assert_true(fabs(run_mean(&w, &o, 0) / exact - 1) <= 0.15);
    run_world_fini(&w);
}

static void a_refusal_is_told_once_for_each_job_and_reason(void **state)
{
    struct run_world w;
    struct run_event e;
    struct sim_opts o = opts_of(&policy);
    size_t told[8][32] = {{0}};

    (void)state;
    world_of(&w, "4x4:t4", 8);
    o.how.report_bad = 4;
    o.story_job = 3;
    struct sim_result *r = run_world_run(&w, &o);
    for (size_t at = 0; run_event_next(&w.log, &at, &e); run_event_fini(&e)) {
        if (!run_event_is(&e, "job.report_refused"))
            continue;
        size_t job = run_event_job(&w, &e), i = 0;
        while (i < SCHED_REFUSED_COUNT &&
               strcmp(sched_refusal_text((enum sched_refusal)i), e.detail) != 0)
            i++;
        assert_true(i < SCHED_REFUSED_COUNT && job % 4 == 3);
        assert_int_equal(told[job][i]++, 0);
    }
    assert_non_null(strstr(r->story.data, "a report was refused: "));
    assert_non_null(strstr(r->story.data, " reports refused: "));
    sim_result_free(r);
    run_world_fini(&w);
}

static void equal_runs_are_equal_with_all_that_can_be_wrong(void **state)
{
    struct run_world w;
    struct sim_opts o = opts_of(&policy);

    (void)state;
    o.how.report_noise = 0.3;
    o.how.report_bad = 5;
    o.how.work_error = 0.5;
    o.how.job_failures = true;
    world_of(&w, "2x4:t4,2x4:rtx", 20);
    sim_result_free(run_world_run(&w, &o));
    char *first = strdup(w.log.data);
    sim_result_free(run_world_run(&w, &o));
    assert_string_equal(first, w.log.data);
    free(first);
    run_world_fini(&w);
}

static void the_first_job_waits_for_a_look_at_each_kind_and_rigid_ones_do_not(void **state)
{
    struct run_world w;

    (void)state;
    world_of(&w, "2x4:t4,2x4:rtx", 1);
    struct sim_opts o = opts_of(&policy_alone);
    struct sim_result *r = run_world_run(&w, &o);
    double alone = r->jobs[0].finish_s;
    sim_result_free(r);
    o = opts_of(&policy);
    r = run_world_run(&w, &o);
    assert_true(r->jobs[0].finish_s > alone - 200 && r->jobs[0].finish_s < alone + 41);
    sim_result_free(r);
    r = run_world_policy(&w, "fifo");
    double fifo = r->jobs[0].finish_s;
    assert_true(fifo > 0);
    sim_result_free(r);
    run_world_fini(&w);
    world_of(&w, "2x4:t4", 1); /* one kind: nothing to look at */
    r = run_world_policy(&w, "fifo");
    run_near(r->jobs[0].finish_s, fifo, 1e-9);
    sim_result_free(r);
    run_world_fini(&w);
}

/* ---- what is told of work ---- */

struct seen_work {
    double sum, squares;
    int count, unknown;
};

static struct seen_work seen;

static shoal_status look_at_work(void *memory, const struct sched_snapshot *snap,
                                 struct sched_plan *plan)
{
    for (size_t i = 0; i < snap->job_count; i++) {
        struct sched_job *j = snap->jobs[i];
        if (j->note[0].u++ > 0)
            continue;
        double z = log(j->work_told / j->model.work);
        seen.unknown += isnan(z);
        seen.sum += z, seen.squares += z * z, seen.count++;
    }
    return four_each(memory, snap, plan);
}

static void what_is_told_of_work_is_log_normal_around_the_truth(void **state)
{
    static const struct sched_policy looks = {
        .name = "looks", .preempts = true, .decide = look_at_work};
    struct run_world w;
    struct sim_opts o = opts_of(&looks);

    (void)state;
    world_of(&w, "16x4:t4", 200);
    o.how.work_error = 0.5;
    seen = (struct seen_work){0};
    sim_result_free(run_world_run(&w, &o));
    assert_int_equal(seen.count, 200);
    run_near(seen.sum / 200, 0, 4 * 0.5 / sqrt(200));
    run_near(sqrt(seen.squares / 200), 0.5, 0.1);
    o.how.work_error = 0;
    seen = (struct seen_work){0};
    sim_result_free(run_world_run(&w, &o));
    assert_true(seen.squares == 0);
    o.how.work_error = (double)INFINITY;
    seen = (struct seen_work){0};
    sim_result_free(run_world_run(&w, &o));
    assert_int_equal(seen.unknown, 200);
    run_world_fini(&w);
}

/* Memory of the world itself stays out of the count. */
static shoal_status simulate(const struct base_alloc *alloc, void *ctx)
{
    struct run_world *w = ctx;
    struct sim_opts o = opts_of(&policy);
    struct sim_result *r = NULL;
    const struct base_alloc *before = w->env->alloc;

    o.how.report_bad = 2;
    w->env->alloc = alloc;
    shoal_status st = sim_run(w->env, w->trace, &w->cluster, &o, &r, NULL);
    sim_result_free(r);
    w->env->alloc = before;
    return st;
}

static void memory_that_runs_out_stops_the_run(void **state)
{
    struct run_world w;

    (void)state;
    world_of(&w, "1x4:t4", 4);
    torture_run_sampled(simulate, &w, 40);
    run_world_fini(&w);
}

int main(void)
{
#define CASE(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        CASE(with_one_job_in_ten_reporting_nonsense_all_end_and_the_others_hardly_notice),
        CASE(noise_in_every_report_hardly_matters),
        CASE(a_refusal_is_told_once_for_each_job_and_reason),
        CASE(equal_runs_are_equal_with_all_that_can_be_wrong),
        CASE(the_first_job_waits_for_a_look_at_each_kind_and_rigid_ones_do_not),
        CASE(what_is_told_of_work_is_log_normal_around_the_truth),
        CASE(memory_that_runs_out_stops_the_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
