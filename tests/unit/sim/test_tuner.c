/* Tests of src/sim/tuner.c: sweeps whose worse jobs are stopped early. */
#include "property.h"
#include "unit/sim/run_world.h"

#include "base/assert.h"

#define HEAD "#shoal-trace v1\nname,submit_s,gpus,duration_s,app,score\n"

enum { JOBS_MAX = 400 };

/* Eight jobs of 6,400 s, the later the better, on as many GPUs. */
static const char eight[] = HEAD "j1,0,1,6400,s,1\nj2,0,1,6400,s,2\nj3,0,1,6400,s,3\n"
                                 "j4,0,1,6400,s,4\nj5,0,1,6400,s,5\nj6,0,1,6400,s,6\n"
                                 "j7,0,1,6400,s,7\nj8,0,1,6400,s,8\n";

static struct sim_opts halving(const char *policy, double eta)
{
    struct sim_opts o = run_world_opts(policy);

    o.how.halving = eta;
    return o;
}

static size_t count_outcome(const struct sim_result *r, enum sim_outcome outcome)
{
    size_t n = 0;

    for (size_t i = 0; i < r->trace->job_count; i++)
        n += r->jobs[i].outcome == outcome;
    return n;
}

static void half_of_a_sweep_goes_on_at_each_rung_and_the_best_to_its_end(void **state)
{
    static const double share[] = {0.125, 0.125, 0.125, 0.125, 0.25, 0.25, 0.5, 1};
    struct run_world w;

    (void)state;
    run_world_init(&w, "8x1:t4");
    run_world_csv(&w, eight, NULL);
    struct sim_opts o = halving("fifo", 2);
    struct sim_result *r = run_world_run(&w, &o);
    for (size_t i = 0; i < 8; i++) {
        const struct sim_job_result *j = &r->jobs[i];
        assert_int_equal(j->outcome, i < 7 ? SIM_STOPPED : SIM_FINISHED);
        run_near((double)j->gpu_s, 6400 * share[i] + 30.0 * j->starts, 0.5);
        assert_true((i < 7) == isnan((double)j->rho));
    }
    /* 800 s to the first rung, 800 to the next, then 1,600 and 3,200, each after a start at a round */
    assert_true(r->jobs[0].finish_s == 830 && r->jobs[4].finish_s == 840 + 830 &&
                r->jobs[6].finish_s == 1680 + 1630 && r->jobs[7].finish_s == 3360 + 3230);
    assert_int_equal(r->metrics.stopped, 7);
    assert_int_equal(run_log_count(&w.log, "job.parked"), 8 + 4 + 2);
    assert_int_equal(run_log_count(&w.log, "job.promoted"), 4 + 2 + 1);
    assert_int_equal(run_log_count(&w.log, "job.pruned"), 7);
    sim_result_free(r);
    run_world_fini(&w);
}

static void without_halving_or_without_a_score_nobody_is_stopped(void **state)
{
    static const char *const traces[] = {eight, HEAD "a,0,1,100,s,1\nb,0,1,100,s,\nc,0,1,100,,\n",
                                         HEAD "a,0,1,100,s,1\n"}; /* a sweep of one */

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(traces); i++) {
        struct run_world w;
        run_world_init(&w, "8x1:t4");
        run_world_csv(&w, traces[i], NULL);
        struct sim_opts o = halving("las", i == 0 ? 0 : 2);
        struct sim_result *r = run_world_run(&w, &o);
        assert_int_equal(r->metrics.finished, w.trace->job_count);
        assert_int_equal(run_log_count(&w.log, "job.parked"), 0);
        sim_result_free(r);
        run_world_fini(&w);
    }
}

/* The second comes an hour later, and is the better one. */
static void a_rung_waits_for_those_still_to_come(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "2x1:t4");
    run_world_csv(&w, HEAD "a,0,1,1000,s,1\nb,3600,1,1000,s,2\n", NULL);
    struct sim_opts o = halving("fifo", 2);
    struct sim_result *r = run_world_run(&w, &o);
    assert_int_equal(r->jobs[0].outcome, SIM_STOPPED);
    assert_true(r->jobs[0].finish_s == 3600 + 530 && (double)r->jobs[0].gpu_s == 530);
    assert_true((double)r->jobs[0].wait_s == 0); /* parked is not waiting */
    assert_int_equal(r->jobs[1].outcome, SIM_FINISHED);
    sim_result_free(r);
    run_world_fini(&w);
}

/* The last of three can never run here: the others do not wait for it. */
static void a_rung_does_not_wait_for_a_job_that_is_rejected(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "2x1:t4");
    run_world_csv(&w, HEAD "a,0,1,1000,s,3\nb,0,1,1000,s,2\nc,7200,5,1000,s,9\n", NULL);
    struct sim_opts o = halving("fifo", 2);
    struct sim_result *r = run_world_run(&w, &o);
    assert_int_equal(r->jobs[2].outcome, SIM_REJECTED);
    assert_int_equal(r->jobs[0].outcome, SIM_FINISHED);
    assert_int_equal(r->jobs[1].outcome, SIM_STOPPED);
    assert_true(r->jobs[1].finish_s == 7200);
    sim_result_free(r);
    run_world_fini(&w);
}

/* Time at a rung is no time in which the scheduler was unfair. */
static void rho_leaves_out_the_time_at_a_rung(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "2x1:t4");
    run_world_csv(&w, HEAD "a,0,1,1000,s,2\nb,36000,1,1000,s,1\n", NULL);
    struct sim_opts o = halving("fifo", 2);
    struct sim_result *r = run_world_run(&w, &o);
    assert_int_equal(r->jobs[0].outcome, SIM_FINISHED);
    assert_true(r->jobs[0].finish_s > 36000);
    assert_true((double)r->jobs[0].rho < 1.1); /* a second start and a round are in it */
    sim_result_free(r);
    run_world_fini(&w);
}

/* ---- what policies see ---- */

static size_t seen_jobs;

/* Runs everybody it can, and looks at what it is shown. */
static shoal_status look(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    (void)memory;
    for (size_t i = 0; i < snap->job_count; i++) {
        const struct sched_job *j = snap->jobs[i];
        seen_jobs++;
        assert_true(i == 0 || snap->jobs[i - 1]->id < j->id);
        assert_true(j->progress < j->model.work);
        run_near(j->work_told, j->model.work, 1e-9 * j->model.work);
        assert_int_equal(j->app, j->id < 8 ? 0 : j->id);
        /* of a sweep of eight, work ahead: 4, 2 and 1 of them for an eighth, a quarter and a half */
        if (j->id < 8 && j->model.work == 800)
            assert_true(j->app_left >= (0.5 + 0.5 + 0.5) * 6400 / 8 &&
                        j->app_left <= (0.5 + 0.5 + 0.5) * 6400);
        else if (j->id >= 8 || j->model.work == 6400)
            assert_true(j->app_left == 0);
        if (!sched_plan_keep(plan, i))
            (void)sched_plan_place(plan, i, SCHED_KIND_BEST, SCHED_FIT_PACK);
    }
    return sched_plan_status(plan);
}

static void a_policy_sees_no_job_at_a_rung_and_what_its_sweep_has_left(void **state)
{
    static const struct sched_policy looking = {
        .name = "looking", .summary = "", .optimises = "", .paper = "", .decide = look};
    struct run_world w;
    char text[2000];

    (void)state;
    run_world_init(&w, "3x1:t4");
    snprintf(text, sizeof text, "%salone,0,1,5000,,\n", eight);
    run_world_csv(&w, text, NULL);
    struct sim_opts o = halving("fifo", 2);
    o.policy = &looking;
    struct sim_result *r = run_world_run(&w, &o);
    assert_true(seen_jobs > 100);
    assert_int_equal(count_outcome(r, SIM_FINISHED), 2);
    sim_result_free(r);
    run_world_fini(&w);
}

/* ---- whatever sweeps there are ---- */

static void generate(struct run_world *w, uint64_t seed)
{
    struct base_rand rand;
    struct base_buf csv;

    base_rand_init(&rand, seed, "sweeps");
    base_buf_init(&csv, &base_alloc_libc, 1 << 20);
    base_buf_puts(&csv, HEAD);
    for (uint64_t s = 1 + base_rand_below(&rand, 6), job = 0; s > 0; s--) {
        double submit_s = floor(base_rand_range(&rand, 0, 10000));
        for (uint64_t n = 1 + base_rand_below(&rand, 20); n > 0; n--, job++)
            base_buf_printf(&csv, "j%d,%g,%d,%g,s%d,%d\n", (int)job,
                            submit_s + (double)(base_rand_below(&rand, 3) == 0) * 3000,
                            1 << base_rand_below(&rand, 4),
                            floor(60 * exp(base_rand_range(&rand, 0, 5))), (int)s,
                            (int)base_rand_below(&rand, 10));
    }
    for (int i = 0; i < 20; i++)
        base_buf_printf(&csv, "k%d,%d,%d,%d,,\n", i, (int)base_rand_below(&rand, 20000),
                        1 << base_rand_below(&rand, 4), 10 + (int)base_rand_below(&rand, 5000));
    run_world_init(w, "2x4:t4,1x4:v100");
    run_world_csv(w, csv.data, NULL);
    base_buf_fini(&csv);
}

/* From the log: a parked job holds nothing and starts only once promoted; who goes on at a rung is not
 * worse than who is stopped there. */
static void check_log(const struct run_world *w)
{
    bool parked[JOBS_MAX] = {false};
    struct run_event e;
    double at_s = -1, least = INFINITY; /* score of those promoted, at one time in one sweep */
    uint32_t app = SIM_NONE;

    for (size_t at = 0; run_event_next(&w->log, &at, &e); run_event_fini(&e)) {
        size_t i = run_event_job(w, &e);
        const struct sim_job *t = &w->trace->jobs[i];
        if (run_event_is(&e, "job.parked")) {
            assert_true(!parked[i] && e.places == NULL);
            parked[i] = true;
        } else if (run_event_is(&e, "job.promoted") || run_event_is(&e, "job.pruned")) {
            assert_true(parked[i]);
            parked[i] = false;
            if (e.t != at_s || t->app != app)
                least = INFINITY;
            at_s = e.t;
            app = t->app;
            if (run_event_is(&e, "job.promoted"))
                least = fmin(least, t->score);
            else
                assert_true(t->score <= least);
        } else {
            assert_false(parked[i]);
        }
    }
    for (size_t i = 0; i < w->trace->job_count; i++)
        assert_false(parked[i]);
}

static void check_run(const struct run_world *w, const struct sim_result *r)
{
    double best[32], won[32];

    assert_int_equal(r->metrics.finished + r->metrics.failed + r->metrics.rejected +
                         r->metrics.stopped,
                     w->trace->job_count);
    assert_int_equal(r->metrics.stopped, count_outcome(r, SIM_STOPPED));
    for (size_t a = 0; a < 32; a++)
        best[a] = won[a] = -INFINITY;
    for (size_t i = 0; i < w->trace->job_count; i++) {
        const struct sim_job *t = &w->trace->jobs[i];
        if (t->app == SIM_NONE) {
            assert_true(r->jobs[i].outcome != SIM_STOPPED);
            continue;
        }
        if (r->jobs[i].outcome == SIM_FINISHED || r->jobs[i].outcome == SIM_STOPPED)
            best[t->app] = fmax(best[t->app], t->score);
        if (r->jobs[i].outcome == SIM_FINISHED)
            won[t->app] = fmax(won[t->app], t->score);
    }
    for (size_t a = 0; a < 32; a++) /* all may have failed, the best after others were stopped */
        assert_true(won[a] == best[a] || r->metrics.failed > 0);
}

static void every_sweep_ends_with_its_best_under_every_policy(void **state)
{
    size_t count;
    const struct sched_policy *const *rows = sched_policies(&count);
    static const double etas[] = {2, 3, 1.5, 10};

    (void)state;
    for (size_t p = 0; p < count; p++)
        for (uint64_t seed = 1; seed <= (uint64_t)property_count(6); seed++) {
            struct run_world w;
            generate(&w, seed);
            struct sim_opts o = halving(rows[p]->name, etas[seed % 4]);
            o.record = true;
            o.how.job_failures = seed % 3 == 0;
            o.how.node_mtbf_s = seed % 2 == 0 ? 50000 : 0;
            o.how.checkpoint_s = seed % 2 == 0 ? 600 : 0;
            o.how.react_s = seed % 5 == 0 ? 5 : 0;
            struct sim_result *r = NULL;
            shoal_err err = SHOAL_ERR_INIT;
            base_buf_clear(&w.log);
            o.on_event = run_world_event;
            o.event_ctx = &w.log;
            shoal_status st = sim_run(w.env, w.trace, &w.cluster, &o, &r, &err);
            if (st != SHOAL_OK)
                fail_msg("%s, seed %d: %s", rows[p]->name, (int)seed, err.message);
            if (o.how.node_mtbf_s == 0)
                check_log(&w);
            check_run(&w, r);
            sim_result_free(r);
            run_world_fini(&w);
        }
}

static void the_same_run_twice_gives_the_same_log(void **state)
{
    struct run_world w;

    (void)state;
    generate(&w, 7);
    struct sim_opts o = halving("themis", 2);
    run_world_repeats(&w, &o);
    run_world_fini(&w);
}

static void the_story_tells_of_rungs(void **state)
{
    static const char *const told[] = {"waits at 50 % for the others of its sweep",
                                       "is among the best of its sweep and goes on to 100 %",
                                       "stopped at 50 %, as others of its sweep go on"};
    (void)state;
    for (uint32_t job = 0; job < 2; job++) {
        struct run_world w;
        run_world_init(&w, "2x1:t4");
        run_world_csv(&w, HEAD "a,0,1,1000,s,2\nb,0,1,1000,s,1\n", NULL);
        struct sim_opts o = halving("fifo", 2);
        o.story_job = job;
        struct sim_result *r = run_world_run(&w, &o);
        assert_non_null(strstr(r->story.data, told[0]));
        assert_non_null(strstr(r->story.data, told[1 + job]));
        sim_result_free(r);
        run_world_fini(&w);
    }
}

/* ---- memory ---- */

static void refused_memory_ends_in_a_clean_error(void **state)
{
    struct run_world w;

    (void)state;
    generate(&w, 3);
    struct run_world_torture c = {.w = &w, .opts = halving("las", 2)};
    torture_run_sampled(run_world_once, &c, 100);
    run_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_of_a_sweep_goes_on_at_each_rung_and_the_best_to_its_end),
        cmocka_unit_test(without_halving_or_without_a_score_nobody_is_stopped),
        cmocka_unit_test(a_rung_waits_for_those_still_to_come),
        cmocka_unit_test(a_rung_does_not_wait_for_a_job_that_is_rejected),
        cmocka_unit_test(rho_leaves_out_the_time_at_a_rung),
        cmocka_unit_test(a_policy_sees_no_job_at_a_rung_and_what_its_sweep_has_left),
        cmocka_unit_test(every_sweep_ends_with_its_best_under_every_policy),
        cmocka_unit_test(the_same_run_twice_gives_the_same_log),
        cmocka_unit_test(the_story_tells_of_rungs),
        cmocka_unit_test(refused_memory_ends_in_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
