/* Tests of src/sim/metrics.c: the figures at the end against naive ones and by hand. */
#include "unit/sim/run_world.h"

#include "base/assert.h"
#include "sim/state.h"
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The value below which a share q of the distances between ranks lies, found by walking. */
static double naive_percentile(const double *sorted, size_t count, double q)
{
    double at = q * (double)(count - 1), rank = 0;
    size_t i = 0;

    while (rank + 1 <= at) {
        rank += 1;
        i++;
    }
    return i + 1 < count ? sorted[i] * (1 - (at - rank)) + sorted[i + 1] * (at - rank) : sorted[i];
}

static void figures_equal_naive_ones(void **state)
{
    (void)state;
    for (size_t count = 1; count <= 130; count = count * 2 + 1) {
        struct run_world w;
        run_world_init(&w, "4x4:t4");
        run_world_generate(&w, count, count, 18, 5000);
        struct sim_result *r = run_world_policy(&w, "las");
        double jct[130], sum = 0, rho = 0, worst = 0, wait = 0;
        size_t n = 0, unfair = 0;
        for (size_t i = 0; i < count; i++) {
            if (r->jobs[i].outcome != SIM_FINISHED)
                continue;
            jct[n] = r->jobs[i].finish_s - w.trace->jobs[i].submit_s;
            sum += jct[n++];
            wait += (double)r->jobs[i].wait_s;
            rho += (double)r->jobs[i].rho;
            unfair += (double)r->jobs[i].rho > 1;
            worst = fmax(worst, (double)r->jobs[i].rho);
        }
        qsort(jct, n, sizeof *jct, compare);
        assert_int_equal(r->metrics.rejected, count - n);
        if (n > 0) {
            run_near(r->metrics.avg_jct_s, sum / (double)n, 1e-9 * sum);
            run_near(r->metrics.p50_jct_s, naive_percentile(jct, n, 0.5), 1e-6);
            run_near(r->metrics.p99_jct_s, naive_percentile(jct, n, 0.99), 1e-6);
            run_near(r->metrics.avg_rho, rho / (double)n, 1e-9 * rho);
            run_near(r->metrics.worst_rho, worst, 0);
            assert_true((double)r->jobs[r->metrics.worst_rho_job].rho == worst);
            run_near(r->metrics.unfair_share, (double)unfair / (double)n, 1e-12);
            run_near(r->metrics.avg_wait_s, wait / (double)n, 1e-9 * wait);
        }
        sim_result_free(r);
        run_world_fini(&w);
    }
}

static void rho_of_a_job_alone_is_one(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "2x4:t4");
    run_world_csv(&w, RUN_HEAD "a,10,4,500\n", NULL);
    struct sim_result *r = run_world_policy(&w, "fifo");
    assert_true(r->jobs[0].finish_s ==
                60 + 30 + 500); /* the next round and a start are nobody's fault */
    run_near((double)r->jobs[0].rho, 1, 1e-6);
    run_near(r->metrics.avg_rho, r->metrics.worst_rho, 0);
    sim_result_free(r);
    run_world_fini(&w);
}

static void rho_counts_the_mean_number_of_live_jobs(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:t4");
    /* a lives 0-630 with b from 300 on: n = (300 + 2 x 330) / 630; b lives 300-1290, n = (2 x 330 +
     * 660) / 990 */
    run_world_csv(&w, RUN_HEAD "a,0,1,600\nb,300,1,600\n", NULL);
    struct sim_result *r = run_world_policy(&w, "fifo");
    assert_true(r->jobs[0].finish_s == 630 && r->jobs[1].finish_s == 1290);
    run_near((double)r->jobs[0].rho, 630 / (30 + 600 * (300 + 660) / 630.0), 1e-6);
    run_near((double)r->jobs[1].rho, 990 / (30 + 600 * (660 + 660) / 990.0), 1e-6);
    sim_result_free(r);
    run_world_fini(&w);
}

static void the_isolated_share_is_of_every_kind(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "2x1:v100,6x1:k80");
    world_put(w.env, "t.json",
              "{\"v100\": {\"('A', 1)\": {\"null\": 9}, \"('A', 4)\": {\"null\": 16}},"
              " \"k80\": {\"('A', 1)\": {\"null\": 3}, \"('A', 4)\": {\"null\": 8}}}");
    run_world_csv(&w, "#shoal-trace v1\nname,submit_s,gpus,model,steps\na,0,1,A,900\nb,0,4,A,900\n",
                  "t.json");
    struct sim_opts o = run_world_opts("fifo");
    o.how.restart_s = 0; /* and submission at 0: the share is all there is */
    struct sim_state s = {.cluster = &w.cluster, .trace = w.trace, .opts = &o};
    /* one of 16: an eighth of a V100 and 3/8 of a K80, all the time they sum to */
    run_near(sim_alone_s(&s, &w.trace->jobs[0], 16), 900 / (0.125 * 9 + 0.375 * 3), 1e-9);
    /* alone: 2 + 6 machines, more than it can use: a quarter of its time on V100 */
    run_near(sim_alone_s(&s, &w.trace->jobs[0], 1), 900 / (0.25 * 9 + 0.75 * 3), 1e-9);
    /* a gang of 4 never fits the two V100s: alone it has the K80s all the time */
    run_near(sim_alone_s(&s, &w.trace->jobs[1], 1), 900 / 8.0, 1e-9);
    run_near(sim_alone_s(&s, &w.trace->jobs[1], 3), 900 / (6 / 12.0 * 8), 1e-9);
    run_world_fini(&w);
}

static void a_job_that_accepts_one_kind_is_alone_on_that_kind(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x4:t4,1x4:a100");
    run_world_csv(&w, "#shoal-trace v1\nname,submit_s,gpus,duration_s,kinds\na,0,4,500,t4\n", NULL);
    struct sim_result *r = run_world_policy(&w, "fifo");
    assert_true(r->jobs[0].finish_s == 530);
    run_near((double)r->jobs[0].rho, 1, 1e-6);
    sim_result_free(r);
    run_world_fini(&w);
}

/* On one GPU, fifo: a ends at 630, b at 1290, c at 1950; d asks for more than there is. */
static void a_deadline_is_missed_by_jobs_that_end_after_it_or_never(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w,
                  "#shoal-trace v1\nname,submit_s,gpus,duration_s,deadline_s\n"
                  "a,0,1,600,630\nb,0,1,600,1289\nc,0,1,600,\nd,0,2,600,5000\n",
                  NULL);
    struct sim_result *r = run_world_policy(&w, "fifo");
    assert_int_equal(r->metrics.deadlines, 2);
    assert_int_equal(r->metrics.missed, 1);
    sim_result_free(r);

    struct sim_opts o = run_world_opts("fifo");
    o.how.job_failures = true;
    for (o.how.seed = 1;;
         o.how.seed++) { /* until a fails for good, which it does before its deadline */
        r = run_world_run(&w, &o);
        bool failed = r->jobs[0].outcome == SIM_FAILED && r->jobs[0].finish_s < 630;
        uint64_t missed = r->metrics.missed,
                 late = r->jobs[1].outcome == SIM_FAILED || r->jobs[1].finish_s > 1289;
        sim_result_free(r);
        if (failed) {
            assert_int_equal(missed, 1 + late);
            break;
        }
        assert_true(o.how.seed < 1000);
    }
    run_world_fini(&w);
}

static void figures_count_from_the_round_of_the_first_submission(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "a,1700000000,1,3600\nb,1700000060,1,3600\n", NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.record = true;
    o.story_job = 0;
    struct sim_result *r = run_world_run(&w, &o);
    double origin = floor(1700000000 / 60.0) * 60;
    assert_true(r->origin_s == origin && r->jobs[0].start_s == origin + 60);
    /* 40 s into a round, then 3,630 s, the rest of a round, 3,630 s */
    assert_true(r->metrics.makespan_s == 60 + 3630 + 30 + 3630);
    run_near(r->metrics.utilization, 2 * 3630 / 7330.0, 1e-9); /* from 20 s on */
    assert_true(r->series.step_s == 60 && r->series.count == 123);
    run_near((double)r->series.busy[0][1], 1, 1e-6);
    assert_int_equal(r->segment_count, 2);
    assert_true(r->segments[0].from_s == 60 && r->segments[0].to_s == 3690);
    assert_true(r->segments[1].to_s == r->metrics.makespan_s);
    assert_non_null(strstr(r->story.data, "     20s  arrived"));
    struct run_event e = {0};
    size_t at = 0;
    assert_true(run_event_next(&w.log, &at, &e));
    assert_true(e.t == 1700000000); /* the log keeps the times of the trace */
    run_event_fini(&e);
    sim_result_free(r);
    run_world_fini(&w);
}

/* GPU-seconds of what is drawn from the first submission to the last, or to the last end, over those
 * there are then. */
static double drawn_use(const struct run_world *w, const struct sim_result *r)
{
    double from_s = INFINITY, to_s = -INFINITY, end_s = -INFINITY, gpu_s = 0;

    for (size_t i = 0; i < w->trace->job_count; i++)
        if (r->jobs[i].outcome != SIM_REJECTED) {
            from_s = fmin(from_s, w->trace->jobs[i].submit_s);
            to_s = fmax(to_s, w->trace->jobs[i].submit_s);
            end_s = fmax(end_s, r->jobs[i].finish_s);
        }
    if ((to_s - from_s) * 10 < end_s - from_s)
        to_s = end_s;
    for (size_t i = 0; i < r->segment_count; i++) {
        const struct sim_segment *g = &r->segments[i];
        double begin = fmax(g->from_s + r->origin_s, from_s);
        double end = fmin(g->to_s + r->origin_s, to_s);
        gpu_s += fmax(0, end - begin) * __builtin_popcountll(g->rows);
    }
    return gpu_s / (w->cluster.gpus * (to_s - from_s));
}

static void utilization_is_what_the_picture_shows_of_its_span(void **state)
{
    size_t policy_count;
    const struct sched_policy *const *policies = sched_policies(&policy_count);

    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (size_t p = 0; p < policy_count; p++) {
            struct run_world w;
            run_world_init(&w, "5x4:t4,1x8:a100");
            run_world_generate(&w, seed, 40, 24, 4 * 3600); /* some are left out */
            struct sim_opts o = run_world_opts(policies[p]->name);
            o.record = true;
            struct sim_result *r = run_world_run(&w, &o);
            run_near(r->metrics.utilization, drawn_use(&w, r), 1e-9);
            sim_result_free(r);
            run_world_fini(&w);
        }
}

static void submissions_within_a_hundredth_of_the_run_are_measured_to_its_end(void **state)
{
    static const struct {
        const char *rows;
        double use;
    } cases[] = {
        {"a,5,1,3600\nb,30,1,3600\n", 2 * 3630 / (2 * 3685.0)}, /* both start at 60 s */
        {"a,0,1,970\nb,9,1,10\n", (1000 + 40) / 2000.0},        /* a ends at 1,000 s */
        {"a,0,1,970\nb,11,1,10\n", 11 / 22.0},
    };

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        struct run_world w;
        char csv[128];
        run_world_init(&w, "2x1:t4");
        snprintf(csv, sizeof csv, RUN_HEAD "%s", cases[i].rows);
        run_world_csv(&w, csv, NULL);
        struct sim_result *r = run_world_policy(&w, "fifo");
        run_near(r->metrics.utilization, cases[i].use, 1e-9);
        sim_result_free(r);
        run_world_fini(&w);
    }
}

static void utilization_of_jobs_that_come_at_once_ends_with_the_last(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "2x1:t4");
    run_world_csv(&w, RUN_HEAD "a,0,1,1000\nnever,1e7,3,10\n", NULL);
    struct sim_opts o = run_world_opts("fifo");
    struct sim_result *r = run_world_run(&w, &o);
    run_near(r->metrics.utilization, 0.5, 1e-12);
    sim_result_free(r);
    for (uint64_t seed = 1; seed <= 30; seed++) { /* a node that is down is there, and not used */
        o.how.seed = seed;
        o.how.node_mtbf_s = 2000;
        o.how.node_repair_s = 2000;
        r = run_world_run(&w, &o);
        run_near(r->metrics.utilization, (double)r->jobs[0].gpu_s / (2 * r->metrics.makespan_s),
                 1e-6);
        sim_result_free(r);
    }
    run_world_fini(&w);
}

static void cost_is_known_only_when_every_kind_used_has_a_price(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x2:mine:usd=1.8,1x4:yours:usd=3.6");
    run_world_csv(&w, RUN_HEAD "a,0,2,3570\nb,0,4,3570\n", NULL);
    struct sim_result *r = run_world_policy(&w, "fifo");
    run_near(r->metrics.cost_usd, 2 * 1.8 + 4 * 3.6, 1e-9);
    sim_result_free(r);
    run_world_fini(&w);

    run_world_init(&w, "1x2:mine,1x4:yours:usd=3.6");
    run_world_csv(&w, RUN_HEAD "a,0,2,3570\nb,0,4,3570\n", NULL);
    r = run_world_policy(&w, "fifo");
    assert_true(isnan(r->metrics.cost_usd));
    sim_result_free(r);
    run_world_fini(&w);
}

/* A policy that thinks for a known time: round k takes (k % 100 + 1) ms. */
static shoal_env *thinking_world; /* the policy row has no place for it */

static shoal_status think(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    (void)memory;
    env_sim_advance(thinking_world, (snap->round % 100 + 1) * 1000000);
    for (size_t i = 0; i < snap->job_count; i++)
        if (!sched_plan_keep(plan, i))
            sched_plan_place(plan, i, SCHED_KIND_BEST, SCHED_FIT_PACK);
    return SHOAL_OK;
}

static void decision_times_are_measured_to_a_few_percent(void **state)
{
    const struct sched_policy policy = {.name = "thinker", .decide = think};
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "a,0,1,119971\n",
                  NULL); /* 2,001 rounds: 119,970 = 2,000 x 60 - 30 */
    struct sim_opts o = run_world_opts("fifo");
    o.policy = &policy;
    thinking_world = w.env;
    struct sim_result *r = run_world_run(&w, &o);
    assert_int_equal(r->metrics.rounds, 2001);
    run_near(r->metrics.decision_ms_p50, 51, 51 / 32.0);
    run_near(r->metrics.decision_ms_p99, 100, 100 / 32.0);
    run_near(r->metrics.decision_s, 20 * 5.050 + 0.001, 1e-6);
    sim_result_free(r);
    run_world_fini(&w);
}

static void the_histogram_takes_any_number(void **state)
{
    static struct sim_histogram h;
    const uint64_t edge[] = {0, 1, 63, 64, 65, 127, 128, UINT64_MAX / 2, UINT64_MAX};

    (void)state;
    memset(&h, 0, sizeof h);
    for (size_t i = 0; i < BASE_COUNT(edge); i++)
        sim_histogram_add(&h, edge[i]);
    assert_int_equal(h.count, BASE_COUNT(edge));
    assert_int_equal(h.buckets[0][0], 1);
    assert_int_equal(h.buckets[0][63], 1);
    assert_int_equal(h.buckets[1][32], 2); /* 64 and 65 */
    assert_int_equal(h.buckets[SIM_OCTAVES - 1][63], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_equal_naive_ones),
        cmocka_unit_test(rho_of_a_job_alone_is_one),
        cmocka_unit_test(rho_counts_the_mean_number_of_live_jobs),
        cmocka_unit_test(the_isolated_share_is_of_every_kind),
        cmocka_unit_test(a_job_that_accepts_one_kind_is_alone_on_that_kind),
        cmocka_unit_test(a_deadline_is_missed_by_jobs_that_end_after_it_or_never),
        cmocka_unit_test(figures_count_from_the_round_of_the_first_submission),
        cmocka_unit_test(utilization_is_what_the_picture_shows_of_its_span),
        cmocka_unit_test(submissions_within_a_hundredth_of_the_run_are_measured_to_its_end),
        cmocka_unit_test(utilization_of_jobs_that_come_at_once_ends_with_the_last),
        cmocka_unit_test(cost_is_known_only_when_every_kind_used_has_a_price),
        cmocka_unit_test(decision_times_are_measured_to_a_few_percent),
        cmocka_unit_test(the_histogram_takes_any_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
