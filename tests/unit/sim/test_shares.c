/* test_shares.c - what jobs were promised and what they got (src/sim/detail.c), and the series of
 * prices (src/sim/record.c), under small policies that say both. */
#include "torture.h"

#include "base/text.h"
#include "env/env.h"
#include "unit/sim/run_world.h"

/* ---- policies that promise ---- */

/* In order of arrival, whoever fits. */
static void fill(const struct sched_snapshot *snap, struct sched_plan *plan)
{
    for (size_t i = 0; i < snap->job_count; i++)
        if (!sched_plan_keep(plan, i))
            (void)sched_plan_place(plan, i, SCHED_KIND_BEST, SCHED_FIT_PACK);
}

/* Wants exactly what it gives; its prices are the number of the round, times the kind's number. */
static shoal_status decide_exact(void *memory, const struct sched_snapshot *snap,
                                 struct sched_plan *plan)
{
    uint32_t kinds = snap->cluster->kind_count;
    double prices[SCHED_KINDS_MAX];
    float *want = sched_plan_want(plan);

    (void)memory;
    if (want == NULL)
        return sched_plan_status(plan);
    fill(snap, plan);
    for (size_t i = 0; i < snap->job_count; i++)
        if (sched_plan_has(plan, i))
            want[i * kinds + sched_plan_grant(plan, i)->alloc.kind] = 1;
    for (uint32_t k = 0; k < kinds; k++)
        prices[k] = (double)(snap->round + 1) * (k + 1);
    sched_plan_set_prices(plan, prices, "units", false);
    return sched_plan_status(plan);
}
static const struct sched_policy exact = {.name = "exact", .decide = decide_exact};

/* Promises a quarter of the first kind and a half of the second, whatever it gives. */
static shoal_status decide_quarters(void *memory, const struct sched_snapshot *snap,
                                    struct sched_plan *plan)
{
    float *want = sched_plan_want(plan);

    (void)memory;
    if (want == NULL)
        return sched_plan_status(plan);
    fill(snap, plan);
    for (size_t i = 0; i < snap->job_count; i++) {
        want[2 * i] = 0.25f;
        want[2 * i + 1] = 0.5f;
    }
    return sched_plan_status(plan);
}
static const struct sched_policy quarters = {.name = "quarters", .decide = decide_quarters};

/* Speaks in its first decision only. */
static shoal_status decide_once(void *memory, const struct sched_snapshot *snap,
                                struct sched_plan *plan)
{
    if (snap->round == 0)
        return decide_exact(memory, snap, plan);
    fill(snap, plan);
    return sched_plan_status(plan);
}
static const struct sched_policy once = {.name = "once", .decide = decide_once};

/* Says what no policy should. */
static shoal_status decide_odd(void *memory, const struct sched_snapshot *snap,
                               struct sched_plan *plan)
{
    static const double prices[2] = {NAN, INFINITY};
    float *want = sched_plan_want(plan);

    (void)memory;
    if (want == NULL)
        return sched_plan_status(plan);
    fill(snap, plan);
    for (size_t i = 0; i < snap->job_count; i++)
        want[2 * i] = i % 2 == 0 ? NAN : INFINITY;
    sched_plan_set_prices(plan, prices, "units", false);
    return sched_plan_status(plan);
}
static const struct sched_policy odd = {.name = "odd", .decide = decide_odd};

/* Its solver fails every third time, each time by more. */
static shoal_status decide_doubtful(void *memory, const struct sched_snapshot *snap,
                                    struct sched_plan *plan)
{
    if (snap->round % 3 == 1)
        sched_plan_set_unproven(plan, 1e-6 * (double)(snap->round + 1));
    return decide_exact(memory, snap, plan);
}
static const struct sched_policy doubtful = {.name = "doubtful", .decide = decide_doubtful};

static struct sim_opts recording(const struct sched_policy *policy)
{
    struct sim_opts o;

    sim_opts_init(&o);
    o.policy = policy;
    o.record = true;
    return o;
}

static double row_sum(const struct run_world *w, const float *table, size_t job)
{
    double sum = 0;

    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        sum += (double)table[job * w->cluster.kind_count + k];
    return sum;
}

/* ---- received ---- */

/* GPU-seconds of a job by kind, from the rows of the pictures. */
static void drawn_by_kind(const struct run_world *w, const struct sim_result *r, double *out)
{
    uint32_t kinds = w->cluster.kind_count;

    memset(out, 0, w->trace->job_count * kinds * sizeof *out);
    assert_false(r->segments_cut);
    for (size_t i = 0; i < r->segment_count; i++) {
        const struct sim_segment *g = &r->segments[i];
        out[g->job * kinds + w->cluster.nodes[g->node].kind] +=
            (g->to_s - g->from_s) * __builtin_popcountll(g->rows);
    }
}

static void received_time_is_run_time_and_what_the_pictures_show(void **state)
{
    static const char *const policies[] = {"fifo", "las", "tiresias", "gandiva", "allox"};
    struct run_world w;

    (void)state;
    run_world_init(&w, "6x2:t4,2x4:v100,1x8:a100");
    run_world_generate(&w, 17, 80, 8, 6000);
    double *drawn = calloc(w.trace->job_count * 3, sizeof *drawn);
    for (size_t p = 0; p < 5 * 2; p++) {
        struct sim_opts o = recording(sched_policy_find(policies[p / 2], NULL));
        o.how.node_mtbf_s = p % 2 == 0 ? 0 : 20000;
        o.how.node_repair_s = 1000;
        o.how.job_failures = p % 2 == 1;
        o.how.checkpoint_s = 600;
        struct sim_result *r = run_world_run(&w, &o);
        drawn_by_kind(&w, r, drawn);
        for (size_t i = 0; i < w.trace->job_count; i++) {
            double life = r->jobs[i].finish_s - w.trace->jobs[i].submit_s;
            run_near(row_sum(&w, r->received_s, i), life - (double)r->jobs[i].wait_s,
                     0.01 + 1e-6 * life);
            for (size_t k = 0; k < 3; k++)
                run_near((double)r->received_s[3 * i + k] * w.trace->jobs[i].gpus, drawn[3 * i + k],
                         0.01 + 1e-5 * drawn[3 * i + k]);
        }
        assert_null(r->wanted_s);
        assert_true(isnan(r->metrics.share_error));
        assert_null(r->series.price[0]);
        sim_result_free(r);
    }
    free(drawn);
    run_world_fini(&w);
}

static void jobs_that_share_gpus_each_receive_the_time(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:v100");
    struct sim_opts o = run_world_pair(&w);
    o.shares = true;
    struct sim_result *r = run_world_run(&w, &o);
    for (size_t i = 0; i < 2; i++)
        run_near((double)r->received_s[i],
                 r->jobs[i].finish_s - w.trace->jobs[i].submit_s - (double)r->jobs[i].wait_s, 0.01);
    assert_true(r->jobs[1].start_s < r->jobs[0].finish_s); /* they did share */
    sim_result_free(r);
    run_world_fini(&w);
}

/* ---- wanted ---- */

static void a_policy_that_wants_what_it_gives_has_no_error(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct run_world w;
        run_world_init(&w, "6x2:t4,2x4:v100,1x8:a100");
        run_world_generate(&w, seed, 60, 8, 6000);
        struct sim_opts o = recording(&exact);
        struct sim_result *r = run_world_run(&w, &o);
        for (size_t i = 0; i < 3 * w.trace->job_count; i++)
            run_near((double)r->wanted_s[i], (double)r->received_s[i],
                     0.01 + 1e-6 * (double)r->received_s[i]);
        run_near(r->metrics.share_error, 0, 1e-9);
        sim_result_free(r);
        run_world_fini(&w);
    }
}

static void a_share_holds_from_its_decision_to_the_next_or_to_the_end(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x4:t4,1x2:a100");
    /* a runs from 60 to 190 and is gone; b waits from 60 to 240 and runs to 300; c is rejected */
    run_world_csv(&w, RUN_HEAD "a,10,4,100\nb,20,4,30\nc,30,8,30\n", NULL);
    struct sim_opts o = recording(&quarters);
    struct sim_result *r = run_world_run(&w, &o);
    const double wanted[6] = {32.5, 65, 60, 120, 0, 0}, received[6] = {130, 0, 60, 0, 0, 0};
    assert_true(r->jobs[0].finish_s == 190 && r->jobs[1].finish_s == 300);
    for (size_t i = 0; i < 6; i++) {
        run_near((double)r->wanted_s[i], wanted[i], 1e-4);
        run_near((double)r->received_s[i], received[i], 1e-4);
    }
    /* |32.5 - 130| + 65 of 97.5 + 130; 120 of 180 + 60 */
    run_near(r->metrics.share_error, (162.5 / 227.5 + 120.0 / 240) / 2, 1e-9);
    sim_result_free(r);
    run_world_fini(&w);
}

static void a_failed_job_does_not_count_for_the_error_but_keeps_its_rows(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "2x4:t4,1x4:a100");
    run_world_generate(&w, 3, 200, 4, 100000);
    struct sim_opts o = recording(&quarters);
    o.how.job_failures = true;
    struct sim_result *r = run_world_run(&w, &o);
    assert_true(r->metrics.failed > 0);
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < w.trace->job_count; i++) {
        double gap = 0, all = 0;
        for (size_t k = 0; k < 2; k++) {
            double a = (double)r->wanted_s[2 * i + k], b = (double)r->received_s[2 * i + k];
            gap += fabs(a - b);
            all += a + b;
        }
        assert_true(all > 0);
        if (r->jobs[i].outcome == SIM_FINISHED) {
            sum += gap / all;
            count++;
        }
    }
    run_near(r->metrics.share_error, sum / (double)count, 1e-6);
    assert_true(r->metrics.share_error > 0 && r->metrics.share_error < 1);
    sim_result_free(r);
    run_world_fini(&w);
}

static void what_was_said_last_holds(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x4:t4");
    run_world_csv(&w, RUN_HEAD "a,0,4,570\nb,0,4,30\n", NULL);
    struct sim_opts o = recording(&once);
    struct sim_result *r = run_world_run(&w, &o);
    run_near((double)r->wanted_s[0], 600, 1e-3);
    run_near((double)r->wanted_s[1], 0, 0);
    for (size_t i = 0; i < 11; i++)
        run_near((double)r->series.price[0][i], 1, 1e-6);
    sim_result_free(r);
    run_world_fini(&w);
}

static void numbers_that_are_none_are_not_counted(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x4:t4,1x4:a100");
    run_world_generate(&w, 4, 30, 4, 2000);
    struct sim_opts o = recording(&odd);
    struct sim_result *r = run_world_run(&w, &o);
    for (size_t i = 0; i < 60; i++)
        assert_true(r->wanted_s[i] == 0);
    for (size_t i = 0; i < r->series.count; i++)
        assert_true(r->series.price[0][i] == 0 && r->series.price[1][i] == 0);
    run_near(r->metrics.share_error, 1, 1e-12);
    sim_result_free(r);
    run_world_fini(&w);
}

/* ---- prices ---- */

static void prices_hold_for_a_round_and_are_nothing_when_no_job_is_live(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x4:t4,1x2:a100");
    run_world_csv(&w, RUN_HEAD "a,0,4,100\nb,300,4,20\n", NULL); /* rounds 0 to 2, then one more */
    struct sim_opts o = recording(&exact);
    struct sim_result *r = run_world_run(&w, &o);
    const double price[6] = {1, 2, 3, 0, 0, 4};
    assert_true(r->series.step_s == 60 && r->series.count == 6);
    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; k < 2; k++)
            run_near((double)r->series.price[k][i], price[i] * (double)(k + 1), 1e-6);
    sim_result_free(r);
    run_world_fini(&w);
}

/* As exact, but every other round prices are of what comes next. */
static shoal_status decide_turns(void *memory, const struct sched_snapshot *snap,
                                 struct sched_plan *plan)
{
    shoal_status st = decide_exact(memory, snap, plan);
    double prices[SCHED_KINDS_MAX];

    memcpy(prices, sched_plan_prices(plan), snap->cluster->kind_count * sizeof *prices);
    bool next = snap->round % 2 == 1;
    sched_plan_set_prices(plan, prices, next ? "others" : "units", next);
    return st;
}
static const struct sched_policy turns = {.name = "turns", .decide = decide_turns};

static void prices_of_what_comes_next_are_kept_apart(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x4:t4,1x2:a100");
    run_world_csv(&w, RUN_HEAD "a,0,4,100\nb,300,4,20\n", NULL); /* rounds 0 to 2, then one more */
    struct sim_opts o = recording(&turns);
    struct sim_result *r = run_world_run(&w, &o);
    const double price[6] = {1, 0, 3, 0, 0, 0}, next[6] = {0, 2, 0, 0, 0, 4};
    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; k < 2; k++) {
            run_near((double)r->series.price[k][i], price[i] * (double)(k + 1), 1e-6);
            run_near((double)r->series.next[k][i], next[i] * (double)(k + 1), 1e-6);
        }
    assert_string_equal(r->series.price_unit, "units");
    assert_string_equal(r->series.next_unit, "others");
    run_near(r->series.price_s, 120, 1e-9);
    run_near(r->series.next_s, 120, 1e-9);
    sim_result_free(r);
    run_world_fini(&w);
}

static void a_long_run_keeps_the_mean_of_prices_in_bounded_steps(void **state)
{
    struct run_world w;
    double sum = 0;

    (void)state;
    run_world_init(&w, "2x4:t4");
    run_world_csv(&w, RUN_HEAD "a,0,3,300000\nb,1000,4,600000\n", NULL);
    struct sim_opts o = recording(&exact);
    struct sim_result *r = run_world_run(&w, &o);
    assert_true(r->series.count > 1024 && r->series.count <= 2048 && r->series.step_s > 60);
    for (size_t i = 0; i < r->series.count; i++)
        sum += (double)r->series.price[0][i] * r->series.step_s;
    double rounds = (double)r->metrics.rounds, expected = 60 * rounds * (rounds + 1) / 2;
    run_near(sum, expected, 1e-5 * expected);
    sim_result_free(r);
    run_world_fini(&w);
}

/* ---- not proven ---- */

static void decisions_that_are_not_proven_are_counted_with_the_largest_gap(void **state)
{
    struct run_world w;
    struct sim_result *r = NULL;

    (void)state;
    run_world_init(&w, "1x4:t4");
    run_world_csv(&w, RUN_HEAD "a,0,4,600\nb,0,4,900\n", NULL);
    struct sim_opts o = recording(&exact);
    o.record = false; /* it is counted whatever is kept */
    assert_int_equal(sim_run(w.env, w.trace, &w.cluster, &o, &r, NULL), SHOAL_OK);
    assert_true(r->metrics.unproven == 0 && r->metrics.unproven_gap == 0);
    sim_result_free(r);
    o.policy = &doubtful;
    assert_int_equal(sim_run(w.env, w.trace, &w.cluster, &o, &r, NULL), SHOAL_OK);
    uint64_t expected = (r->metrics.rounds + 1) / 3; /* rounds 1, 4, 7, ... from 0 on */
    assert_true(expected > 5);
    assert_int_equal(r->metrics.unproven, expected);
    run_near(r->metrics.unproven_gap, 1e-6 * (double)(3 * expected - 1), 1e-15);
    sim_result_free(r);
    run_world_fini(&w);
}

/* ---- kept only when asked for, always the same ---- */

static void nothing_is_kept_unless_asked_for(void **state)
{
    struct run_world w;
    struct sim_result *r = NULL;

    (void)state;
    run_world_init(&w, "1x4:t4");
    run_world_csv(&w, RUN_HEAD "a,0,4,60\n", NULL);
    struct sim_opts o = recording(&exact);
    o.record = false;
    assert_int_equal(sim_run(w.env, w.trace, &w.cluster, &o, &r, NULL), SHOAL_OK);
    assert_true(r->received_s == NULL && r->wanted_s == NULL && r->series.price[0] == NULL);
    assert_true(isnan(r->metrics.share_error));
    sim_result_free(r);
    o.shares = true;
    assert_int_equal(sim_run(w.env, w.trace, &w.cluster, &o, &r, NULL), SHOAL_OK);
    assert_true(r->received_s != NULL && r->wanted_s != NULL && r->series.price[0] == NULL);
    run_near(r->metrics.share_error, 0, 1e-9);
    sim_result_free(r);
    run_world_fini(&w);
}

static void equal_runs_keep_equal_bytes(void **state)
{
    struct run_world w;
    struct sim_result *r[2];

    (void)state;
    run_world_init(&w, "6x2:t4,1x8:a100");
    run_world_generate(&w, 6, 50, 8, 4000);
    struct sim_opts o = recording(&quarters);
    o.how.node_mtbf_s = 9000;
    o.how.node_repair_s = 900;
    for (size_t i = 0; i < 2; i++)
        r[i] = run_world_run(&w, &o);
    assert_memory_equal(r[0]->wanted_s, r[1]->wanted_s, 100 * sizeof(float));
    assert_memory_equal(r[0]->received_s, r[1]->received_s, 100 * sizeof(float));
    assert_true(r[0]->metrics.share_error == r[1]->metrics.share_error);
    sim_result_free(r[0]);
    sim_result_free(r[1]);
    run_world_fini(&w);
}

static void the_end_of_a_job_is_logged_with_its_times_by_kind(void **state)
{
    static const struct sched_policy *const policies[2] = {&quarters, &once};
    struct run_world w;
    struct run_event e;
    size_t ends = 0;

    (void)state;
    run_world_init(&w, "1x4:t4,1x2:a100");
    run_world_csv(&w, RUN_HEAD "a,10,4,100\nb,20,4,30\n", NULL);
    for (size_t p = 0; p < 2; p++) {
        struct sim_opts o = recording(policies[p]);
        sim_result_free(run_world_run(&w, &o));
        for (size_t at = 0; run_event_next(&w.log, &at, &e); run_event_fini(&e)) {
            const json_t *received = json_object_get(e.json, "received_s");
            const json_t *wanted = json_object_get(e.json, "wanted_s");
            if (!run_event_is(&e, "job.finished")) {
                assert_true(received == NULL && wanted == NULL);
                continue;
            }
            bool a = strcmp(e.job, "a") == 0;
            assert_int_equal(json_object_size(received), 2);
            run_near(json_number_value(json_object_get(received, "t4")), a ? 130 : 60, 1e-9);
            if (p == 0)
                run_near(json_number_value(json_object_get(wanted, "a100")), a ? 65 : 120, 1e-9);
            ends++;
        }
    }
    assert_int_equal(ends, 4);
    struct sim_opts o = recording(sched_policy_find("fifo", NULL));
    sim_result_free(run_world_run(&w, &o));
    assert_non_null(strstr(w.log.data, "\"received_s\":{\"t4\":130,\"a100\":0}"));
    assert_null(strstr(w.log.data, "wanted_s"));
    run_world_fini(&w);
}

static void the_story_says_what_was_promised(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x4:t4,1x2:a100");
    run_world_csv(&w, RUN_HEAD "a,10,4,100\nb,20,4,30\n", NULL);
    struct sim_opts o = recording(&quarters);
    o.story_job = 1;
    struct sim_result *r = run_world_run(&w, &o);
    assert_int_equal(r->story_job, 1);
    assert_non_null(
        strstr(r->story.data, "\npromised 1m00s on t4, got 1m00s; 2m00s on a100, got 0s\n"));
    sim_result_free(r);
    o.policy = sched_policy_find("fifo", NULL);
    r = run_world_run(&w, &o);
    assert_null(strstr(r->story.data, "promised"));
    sim_result_free(r);
    run_world_fini(&w);
}

/* ---- memory ---- */

static void every_failed_allocation_ends_a_run_cleanly(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "6x2:t4,1x8:a100");
    run_world_generate(&w, 5, 40, 8, 600);
    struct run_world_torture c = {.w = &w, .opts = recording(&exact)};
    torture_run(run_world_once, &c);
    run_world_fini(&w);
}

/* A policy may keep memory of its own between decisions, and gives it back once. */
struct keeper {
    uint32_t *kept;
};

static shoal_status decide_keeping(void *memory, const struct sched_snapshot *snap,
                                   struct sched_plan *plan)
{
    struct keeper *k = memory;

    if (k->kept == NULL)
        k->kept = base_calloc(snap->alloc, 1, sizeof *k->kept);
    if (k->kept == NULL)
        return SHOAL_E_NOMEM;
    ++*k->kept;
    fill(snap, plan);
    return sched_plan_status(plan);
}

static void keeper_fini(void *memory, const struct base_alloc *alloc)
{
    base_free(alloc, ((struct keeper *)memory)->kept);
}

static void what_a_policy_keeps_is_given_back(void **state)
{
    static const struct sched_policy keeping = {.name = "keeping",
                                                .memory_size = sizeof(struct keeper),
                                                .decide = decide_keeping,
                                                .fini = keeper_fini};
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x4:t4");
    run_world_csv(&w, RUN_HEAD "a,0,4,60\nb,0,4,60\n", NULL);
    struct run_world_torture c = {.w = &w, .opts = recording(&keeping)};
    torture_run(run_world_once, &c); /* counts what is left behind */
    run_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(received_time_is_run_time_and_what_the_pictures_show),
        cmocka_unit_test(jobs_that_share_gpus_each_receive_the_time),
        cmocka_unit_test(a_policy_that_wants_what_it_gives_has_no_error),
        cmocka_unit_test(a_share_holds_from_its_decision_to_the_next_or_to_the_end),
        cmocka_unit_test(a_failed_job_does_not_count_for_the_error_but_keeps_its_rows),
        cmocka_unit_test(what_was_said_last_holds),
        cmocka_unit_test(numbers_that_are_none_are_not_counted),
        cmocka_unit_test(prices_hold_for_a_round_and_are_nothing_when_no_job_is_live),
        cmocka_unit_test(prices_of_what_comes_next_are_kept_apart),
        cmocka_unit_test(a_long_run_keeps_the_mean_of_prices_in_bounded_steps),
        cmocka_unit_test(decisions_that_are_not_proven_are_counted_with_the_largest_gap),
        cmocka_unit_test(nothing_is_kept_unless_asked_for),
        cmocka_unit_test(equal_runs_keep_equal_bytes),
        cmocka_unit_test(the_end_of_a_job_is_logged_with_its_times_by_kind),
        cmocka_unit_test(the_story_says_what_was_promised),
        cmocka_unit_test(every_failed_allocation_ends_a_run_cleanly),
        cmocka_unit_test(what_a_policy_keeps_is_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
