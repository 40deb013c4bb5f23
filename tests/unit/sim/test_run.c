/* Tests of src/sim/run.c, and of the simulator as a whole: what must hold for every policy under
 * every option, small cases by hand, a slow obvious simulator as the specification, and failing
 * allocations. */
#include "unit/sim/run_world.h"

#include "base/assert.h"
#include "property.h"
#include <stdlib.h>

/* --- properties of any run ----------------------------------------------------------------------
 */

struct setting {
    const char *name;
    double react_s, restart_s, lease_s, interference, node_mtbf_s, checkpoint_s;
    bool job_failures;
    const char *sets[2];
};

static const struct setting settings[] = {
    {.name = "plain", .restart_s = 30},
    {.name = "no restart cost", .restart_s = 0},
    {.name = "nodes fail", .restart_s = 30, .node_mtbf_s = 20000},
    {.name = "nodes fail, checkpoints", .restart_s = 30, .node_mtbf_s = 20000, .checkpoint_s = 300},
    {.name = "jobs fail", .restart_s = 30, .job_failures = true},
    {.name = "jobs and nodes fail, checkpoints",
     .restart_s = 10,
     .job_failures = true,
     .node_mtbf_s = 30000,
     .checkpoint_s = 500},
    {.name = "interference", .restart_s = 30, .interference = 0.5},
    {.name = "leases", .restart_s = 30, .lease_s = 600},
    {.name = "leases, nodes fail", .restart_s = 30, .lease_s = 600, .node_mtbf_s = 20000},
    {.name = "between rounds", .react_s = 1, .restart_s = 30},
    {.name = "between rounds, leases, nodes fail, checkpoints",
     .react_s = 7,
     .restart_s = 30,
     .lease_s = 600,
     .node_mtbf_s = 20000,
     .checkpoint_s = 300},
    {.name = "between rounds, jobs fail, interference",
     .react_s = 0.25,
     .restart_s = 30,
     .interference = 0.5,
     .job_failures = true},
    {.name = "close together", .restart_s = 30, .sets = {"locality=strict", "relax=30m"}},
    {.name = "one spanning job per node", .restart_s = 30, .sets = {"exclusive=true"}},
};

static struct sim_opts opts_of(const struct setting *g, const struct sched_policy *policy,
                               uint64_t seed)
{
    struct sim_opts o;

    sim_opts_init(&o);
    o.policy = policy;
    o.how.react_s = g->react_s;
    o.how.restart_s = g->restart_s;
    o.how.lease_s = g->lease_s;
    o.how.interference = g->interference;
    o.how.node_mtbf_s = g->node_mtbf_s;
    o.how.checkpoint_s = g->checkpoint_s;
    o.how.job_failures = g->job_failures;
    o.how.seed = seed;
    o.record = true;
    o.sets = (const char *const *)g->sets;
    o.set_count = (size_t)(g->sets[0] != NULL) + (size_t)(g->sets[1] != NULL);
    return o;
}

static double slack(double value)
{
    return 1e-3 + 1e-6 * fabs(value); /* job rows are floats: 24 bits */
}

static void check_jobs(const struct run_world *w, const struct sim_opts *o,
                       const struct sim_result *r)
{
    double last = 0, waits = 0, reasons = 0;

    for (size_t i = 0; i < w->trace->job_count; i++) {
        const struct sim_job *t = &w->trace->jobs[i];
        const struct sim_job_result *j = &r->jobs[i];
        if (j->outcome == SIM_REJECTED) {
            assert_int_equal(t->kinds, 0);
            assert_true(isnan(j->start_s) && isnan(j->finish_s));
            continue;
        }
        double life = j->finish_s - t->submit_s, run = (double)j->gpu_s / t->gpus;
        assert_true(j->starts >= 1);
        assert_true(j->start_s >= t->submit_s && j->finish_s > j->start_s);
        if (o->how.react_s == 0)
            run_near(fmod(j->start_s, o->how.round_s), 0, 1e-6);
        if (j->outcome == SIM_FINISHED)
            assert_true(life >= t->duration_s + o->how.restart_s - 1e-6);
        run_near((double)j->wait_s + run, life, slack(life));
        assert_true(j->locality_wait_s <= j->wait_s);
        waits += (double)j->wait_s;
        last = fmax(last, j->finish_s);
    }
    run_near(r->metrics.makespan_s, last - r->origin_s, 0);
    for (size_t i = 0; i < SCHED_WHY_COUNT; i++) {
        assert_true(r->metrics.wait_by_reason_s[i] >= 0);
        reasons += r->metrics.wait_by_reason_s[i];
    }
    run_near(reasons, waits, slack(waits) * (double)w->trace->job_count);
    assert_true(r->metrics.wait_by_reason_s[SCHED_WHY_NONE] == 0);
    assert_true(r->metrics.utilization >= 0 && r->metrics.utilization <= 1 + 1e-9);
}

/* GPU-seconds counted by job, by time and by picture are the same, and never more than there are.
 */
static void check_record(const struct run_world *w, const struct sim_opts *o,
                         const struct sim_result *r)
{
    double held = 0, waits = 0, runs = 0, drawn = 0, busy = 0, waiting = 0, running = 0;

    for (size_t i = 0; i < w->trace->job_count; i++)
        if (r->jobs[i].outcome != SIM_REJECTED) {
            held += (double)r->jobs[i].gpu_s;
            waits += (double)r->jobs[i].wait_s;
            runs += (double)r->jobs[i].gpu_s / w->trace->jobs[i].gpus;
        }
    for (size_t i = 0; i < r->series.count; i++) {
        for (uint32_t k = 0; k < w->cluster.kind_count; k++) {
            assert_true((double)r->series.busy[k][i] <= w->cluster.kinds[k].gpus * (1 + 1e-6));
            assert_true((double)r->series.busy[k][i] >= -1e-3);
            busy += (double)r->series.busy[k][i] * r->series.step_s;
        }
        waiting += (double)r->series.waiting[i] * r->series.step_s;
        running += (double)r->series.running[i] * r->series.step_s;
    }
    assert_false(r->segments_cut);
    for (size_t i = 0; i < r->segment_count; i++)
        drawn += __builtin_popcountll(r->segments[i].rows) *
                 (r->segments[i].to_s - r->segments[i].from_s);
    double much = 1e-5 * (held + 1) + 1;
    run_near(busy, held, much); /* durations never share */
    run_near(drawn, held, much);
    run_near(running, runs, much);
    if (!o->how.job_failures) /* a retried job waits from inside a stretch on */
        run_near(waiting, waits, 1e-5 * waits + 1);
}

static int by_node_and_time(const void *pa, const void *pb)
{
    const struct sim_segment *a = pa, *b = pb;

    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return (a->from_s > b->from_s) - (a->from_s < b->from_s);
}

static void check_segments(const struct run_world *w, const struct sim_result *r)
{
    qsort(r->segments, r->segment_count, sizeof *r->segments, by_node_and_time);
    for (size_t i = 0; i < r->segment_count; i++) {
        const struct sim_segment *a = &r->segments[i];
        uint32_t gpus = w->cluster.nodes[a->node].gpus;
        assert_true(a->to_s >= a->from_s && a->rows != 0);
        if (gpus < 64)
            assert_true(a->rows >> gpus == 0);
        for (size_t k = i + 1; k < r->segment_count && r->segments[k].node == a->node; k++)
            if (r->segments[k].from_s < a->to_s)
                assert_true((r->segments[k].rows & a->rows) == 0);
    }
}

struct watched {
    bool arrived, ended, runs;
    double since_s, progress;
    char reason[32]; /* it was last said to wait for */
};

/* The log tells a possible story: in order, each job arrives once and ends once, starts when it is
 * not running, stays for its lease, never sits on a node that is down, and loses no more than a
 * checkpoint. */
static void check_log(const struct run_world *w, const struct sim_opts *o,
                      const struct sim_result *r)
{
    struct watched *jobs = calloc(w->trace->job_count, sizeof *jobs);
    bool *down = calloc(w->cluster.node_count, sizeof *down);
    struct run_event e;
    double now = 0;
    size_t ends = 0;

    assert_non_null(jobs);
    assert_non_null(down);
    for (size_t at = 0; run_event_next(&w->log, &at, &e); run_event_fini(&e)) {
        assert_true(e.t >= now);
        now = e.t;
        if (e.node >= 0) {
            assert_int_equal(down[e.node], run_event_is(&e, "node.up"));
            down[e.node] = !down[e.node];
            continue;
        }
        size_t i = run_event_job(w, &e);
        struct watched *j = &jobs[i];
        double work = w->trace->jobs[i].duration_s, progress = e.progress * work;
        double made = j->runs ? fmax(0, e.t - j->since_s - o->how.restart_s) : 0;
        assert_false(j->ended);
        if (run_event_is(&e, "job.arrived") || run_event_is(&e, "job.rejected")) {
            assert_false(j->arrived);
            j->arrived = true;
            assert_true(e.t == w->trace->jobs[i].submit_s);
            j->ended = run_event_is(&e, "job.rejected");
        } else if (run_event_is(&e, "job.started") || run_event_is(&e, "job.moved")) {
            assert_true(j->runs == run_event_is(&e, "job.moved"));
            if (j->runs)
                assert_true(e.t >= j->since_s + o->how.lease_s);
            if (o->how.interference == 0)
                run_near(progress, j->progress + made, slack(work));
            for (uint32_t n = 0; n < w->cluster.node_count; n++)
                assert_false(down[n] && run_event_on(&e, n));
            *j = (struct watched){
                .arrived = true, .runs = true, .since_s = e.t, .progress = progress};
        } else if (run_event_is(&e, "job.waiting")) {
            const char *reason = json_string_value(json_object_get(e.json, "reason"));
            assert_true(j->arrived && !j->runs);
            assert_string_not_equal(reason, j->reason); /* said when it changes, and not again */
            snprintf(j->reason, sizeof j->reason, "%s", reason);
            assert_true(json_is_string(json_object_get(e.json, "text")));
            assert_true(json_array_size(json_object_get(e.json, "blockers")) <= SCHED_BLOCKERS_MAX);
        } else {
            assert_true(j->runs);
            j->reason[0] = '\0';
            if (run_event_is(&e, "job.preempted"))
                assert_true(e.t >= j->since_s + o->how.lease_s);
            bool lossy = run_event_is(&e, "job.stopped") || run_event_is(&e, "job.retried");
            double lost = j->progress + made - progress;
            if (o->how.interference == 0)
                assert_true(lost <= (lossy ? o->how.checkpoint_s : 0) + slack(work) &&
                            lost >= -slack(work));
            j->ended = run_event_is(&e, "job.finished") || run_event_is(&e, "job.failed");
            if (run_event_is(&e, "job.finished"))
                run_near(e.progress, 1, 1e-12);
            if (j->ended)
                assert_true(e.t == r->jobs[i].finish_s);
            j->runs = false;
            j->progress = progress;
        }
        ends += j->ended;
    }
    assert_int_equal(ends, w->trace->job_count);
    free(jobs);
    free(down);
}

static void check_counts(const struct run_world *w, const struct sim_result *r)
{
    const struct sim_metrics *m = &r->metrics;
    uint64_t starts = 0, outcomes[3] = {0};

    for (size_t i = 0; i < w->trace->job_count; i++) {
        outcomes[r->jobs[i].outcome]++;
        starts += r->jobs[i].starts;
    }
    assert_int_equal(m->jobs, w->trace->job_count);
    assert_int_equal(m->finished, outcomes[SIM_FINISHED]);
    assert_int_equal(m->failed, outcomes[SIM_FAILED]);
    assert_int_equal(m->rejected, outcomes[SIM_REJECTED]);
    assert_int_equal(m->restarts, starts - m->finished - m->failed);
    assert_int_equal(m->finished, run_log_count(&w->log, "job.finished"));
    assert_int_equal(m->failed, run_log_count(&w->log, "job.failed"));
    assert_int_equal(m->rejected, run_log_count(&w->log, "job.rejected"));
    assert_int_equal(m->node_failures, run_log_count(&w->log, "node.down"));
    assert_int_equal(m->job_failures,
                     run_log_count(&w->log, "job.failed") + run_log_count(&w->log, "job.retried"));
    assert_int_equal(starts,
                     run_log_count(&w->log, "job.started") + run_log_count(&w->log, "job.moved"));
}

static void every_policy_keeps_the_books_under_every_option(void **state)
{
    static const char *const clusters[] = {"5x4:t4", "3x4:t4,2x8:a100"};
    size_t policy_count;
    const struct sched_policy *const *policies = sched_policies(&policy_count);

    (void)state;
    for (int seed = 1; seed <= property_count(2); seed++) {
        struct run_world w;
        run_world_init(&w, clusters[seed % 2]);
        run_world_generate(&w, (uint64_t)seed, 50, 24,
                           3 * 3600); /* some ask for more than there is */
        for (size_t p = 0; p < policy_count; p++)
            for (size_t g = 0; g < BASE_COUNT(settings); g++) {
                struct sim_opts o = opts_of(&settings[g], policies[p], (uint64_t)seed);
                struct sim_result *r = run_world_run(&w, &o);
                check_counts(&w, r);
                check_jobs(&w, &o, r);
                check_log(&w, &o, r);
                check_record(&w, &o, r);
                check_segments(&w, r);
                sim_result_free(r);
            }
        run_world_fini(&w);
    }
}

static void equal_seeds_give_equal_bytes_and_other_seeds_other_failures(void **state)
{
    size_t policy_count;
    const struct sched_policy *const *policies = sched_policies(&policy_count);
    struct run_world w;

    (void)state;
    run_world_init(&w, "3x4:t4,2x8:a100");
    run_world_generate(&w, 7, 40, 8, 7200);
    for (size_t p = 0; p < policy_count; p++) {
        struct sim_opts o = opts_of(&settings[5], policies[p], 11);
        run_world_repeats(&w, &o);
        struct base_buf first = w.log;
        base_buf_init(&w.log, &base_alloc_libc, (size_t)1 << 30);
        o.how.seed = 12;
        sim_result_free(run_world_run(&w, &o));
        assert_true(first.size != w.log.size || memcmp(first.data, w.log.data, first.size) != 0);
        base_buf_fini(&first);
    }
    run_world_fini(&w);
}

/* --- by hand ------------------------------------------------------------------------------------
 */

static void a_job_starts_at_the_next_round_and_works_after_its_restart(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "a,53,1,100\nb,54,1,7.5\n", NULL);
    struct sim_result *r = run_world_policy(&w, "fifo");
    assert_true(r->jobs[0].start_s == 60);
    assert_true(r->jobs[0].finish_s == 190); /* 60 + 30 + 100, inside a round */
    assert_true((double)r->jobs[0].wait_s == 7);
    assert_true((double)r->jobs[0].gpu_s == 130);
    assert_true(r->jobs[1].start_s == 240); /* the first round after 190 */
    assert_true(r->jobs[1].finish_s == 277.5);
    assert_true(r->metrics.makespan_s == 277.5);
    assert_true(r->metrics.avg_jct_s == (137 + 223.5) / 2);
    /* Held 130 and 37.5 s of those from the first submission to the last end. */
    run_near(r->metrics.utilization, 167.5 / (277.5 - 53), 1e-9);
    assert_true(r->metrics.lost_gpu_s == 0); /* a first start is not lost */
    sim_result_free(r);
    run_world_fini(&w);
}

static void a_job_that_ends_as_a_round_begins_leaves_its_gpus_to_that_round(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "a,0,1,90\nb,120,1,10\n", NULL);
    struct sim_result *r = run_world_policy(&w, "fifo");
    assert_true(r->jobs[0].finish_s == 120);
    assert_true(r->jobs[1].start_s == 120); /* it arrived just then, too */
    assert_true(r->jobs[1].finish_s == 160);
    sim_result_free(r);
    run_world_fini(&w);
}

static void a_job_larger_than_the_cluster_is_rejected_and_the_others_run(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "2x4:t4,1x4:a100");
    run_world_csv(&w, RUN_HEAD "big,0,9,100\nwhole,10,8,100\nlate,100000,12,5\n", NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.story_job = 0;
    struct sim_result *r = run_world_run(&w, &o);
    assert_int_equal(r->metrics.rejected, 2); /* 12 GPUs, but of two kinds */
    assert_int_equal(r->metrics.finished, 1);
    assert_int_equal(r->jobs[0].outcome, SIM_REJECTED);
    assert_true(r->jobs[1].finish_s == 190);
    assert_true(r->metrics.makespan_s == 190);
    assert_non_null(strstr(r->story.data, "rejected: no kind it accepts has 9 GPUs at once here"));
    sim_result_free(r);
    run_world_fini(&w);
}

static void a_gang_no_rack_can_hold_is_rejected_when_it_arrives_unless_it_may_relax(void **state)
{
    static const char *const strict[] = {"locality=rack"};
    static const char *const relaxing[] = {"locality=rack", "relax=10m"};
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x4:t4:rack=a,1x4:t4:rack=b");
    run_world_csv(&w, RUN_HEAD "small,0,4,100\nwide,0,6,100\n", NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.sets = strict;
    o.set_count = 1;
    struct sim_result *r = run_world_run(&w, &o);
    assert_int_equal(r->metrics.finished, 1);
    assert_int_equal(r->jobs[1].outcome, SIM_REJECTED);
    sim_result_free(r);

    o.sets = relaxing;
    o.set_count = 2;
    r = run_world_run(&w, &o);
    assert_int_equal(r->metrics.finished, 2);
    assert_true(r->jobs[1].start_s >= 600); /* it asked for one rack that long */
    sim_result_free(r);
    run_world_fini(&w);
}

static void a_trace_of_rejected_jobs_only_ends(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "a,0,2,10\nb,1000000,2,10\n", NULL);
    struct sim_opts o = run_world_opts("las");
    o.record = true;
    o.how.node_mtbf_s = 5000;
    struct sim_result *r = run_world_run(&w, &o);
    assert_int_equal(r->metrics.rejected, 2);
    assert_true(isnan(r->metrics.avg_jct_s) && isnan(r->metrics.avg_rho) &&
                isnan(r->metrics.avg_wait_s));
    assert_true(r->metrics.utilization == 0 && r->metrics.makespan_s == 0);
    sim_result_free(r);
    run_world_fini(&w);
}

static void idle_time_is_jumped_over(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "a,0,1,100\nb,1e9,1,100\n", NULL);
    struct sim_result *r = run_world_policy(&w, "las");
    assert_true(r->metrics.rounds < 10);
    sim_result_free(r);
    run_world_fini(&w);
}

static void a_lease_holds_off_a_preemption(void **state)
{
    struct run_world w;
    static const char *const quantum[] = {"quantum=0s"};

    (void)state;
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "a,0,1,3000\nb,0,1,3000\n", NULL);
    struct sim_opts o = run_world_opts("las");
    o.sets = quantum;
    o.set_count = 1;
    o.how.lease_s = 600;
    struct sim_result *r = run_world_run(&w, &o);
    assert_true(r->jobs[1].start_s == 600);
    sim_result_free(r);
    o.how.lease_s = 0;
    r = run_world_run(&w, &o);
    assert_true(r->jobs[1].start_s == 60);
    sim_result_free(r);
    run_world_fini(&w);
}

static void jobs_that_span_and_meet_lose_speed(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "3x4:t4");
    run_world_csv(&w, RUN_HEAD "a,0,6,100\nb,0,6,100\n",
                  NULL); /* 4+2, and 4+2 on the same last node */
    struct sim_opts o = run_world_opts("fifo");
    o.how.interference = 0.5;
    struct sim_result *r = run_world_run(&w, &o);
    assert_true(r->jobs[0].finish_s == 230 && r->jobs[1].finish_s == 230);
    sim_result_free(r);
    o.how.interference = 0;
    r = run_world_run(&w, &o);
    assert_true(r->jobs[0].finish_s == 130 && r->jobs[1].finish_s == 130);
    sim_result_free(r);
    run_world_fini(&w);
}

/* --- two on the same GPUs -----------------------------------------------------------------------
 */

static void rows_of_a_pair_are_free_only_when_both_have_left(void **state)
{
    struct run_world w;
    struct base_buf csv;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 3, "pairs");
    base_buf_init(&csv, &base_alloc_libc, 1 << 20);
    base_buf_puts(&csv, "#shoal-trace v1\nname,submit_s,gpus,model,steps\n");
    for (int i = 0; i < 60; i++)
        base_buf_printf(&csv, "j%d,%d,1,%s,%d\n", i, (int)base_rand_below(&rand, 3000),
                        base_rand_below(&rand, 2) == 0 ? "A" : "B",
                        500 + (int)base_rand_below(&rand, 20000));
    run_world_init(&w, "2x3:v100");
    world_put(w.env, "t.json", RUN_PAIRS);
    run_world_csv(&w, csv.data, "t.json");
    base_buf_fini(&csv);
    for (int failures = 0; failures < 2; failures++) {
        struct sim_opts o = run_world_opts("gandiva");
        o.sets = run_world_pairing;
        o.set_count = 1;
        o.record = true;
        o.how.job_failures = failures;
        struct sim_result *r = run_world_run(&w, &o);
        size_t shared = 0;
        double held = 0, busy = 0;
        check_counts(&w, r);
        for (size_t i = 0; i < r->segment_count; i++) {
            const struct sim_segment *a = &r->segments[i];
            assert_true(a->rows != 0 && a->rows >> 3 == 0);
            for (size_t k = 0; k < r->segment_count; k++) {
                const struct sim_segment *b = &r->segments[k];
                if (k == i || b->node != a->node || (b->rows & a->rows) == 0 ||
                    b->from_s >= a->to_s || a->from_s >= b->to_s)
                    continue;
                const char *ma = sim_names_get(&w.trace->models, w.trace->jobs[a->job].model);
                const char *mb = sim_names_get(&w.trace->models, w.trace->jobs[b->job].model);
                assert_string_not_equal(ma, mb); /* only A with B is worth it */
                shared++;
            }
        }
        assert_true(shared > 0);
        for (size_t i = 0; i < r->series.count; i++) {
            assert_true((double)r->series.busy[0][i] < 6.001);
            busy += (double)r->series.busy[0][i] * r->series.step_s;
        }
        for (size_t i = 0; i < w.trace->job_count; i++)
            held += (double)r->jobs[i].gpu_s;
        assert_true(busy < held);                                /* held counts both of a pair */
        run_near(busy / 3600 * 3.06, r->metrics.cost_usd, 1e-2); /* of a v100 */
        sim_result_free(r);
    }
    run_world_fini(&w);
}

/* --- a slow obvious simulator -------------------------------------------------------------------
 */

struct naive_job {
    double left_s, attained, begin_s, finish_s;
    bool runs, picked, tried;
};

/* The round that ends now: progress, and exact ends inside it. */
static void naive_work(const struct sim_trace *trace, struct naive_job *jobs, double now)
{
    for (size_t i = 0; i < trace->job_count; i++) {
        struct naive_job *j = &jobs[i];
        if (!j->runs)
            continue;
        double from = fmax(j->begin_s + 30, now - 60), work = now - from;
        if (work > 0 && j->left_s <= work) {
            j->finish_s = from + j->left_s;
            j->runs = false;
            continue;
        }
        j->attained += 60 * trace->jobs[i].gpus;
        j->left_s -= fmax(work, 0);
    }
}

/* One kind, so GPUs are a number. FIFO never stops a running job, and nobody overtakes one that
 * does not fit; otherwise least attained service first, whoever fits. */
static void naive_pick(const struct sim_trace *trace, struct naive_job *jobs, uint32_t room,
                       bool fifo, double now)
{
    size_t n = trace->job_count;

    for (size_t i = 0; i < n; i++) {
        jobs[i].tried = false;
        jobs[i].picked = fifo && jobs[i].runs;
        room -= jobs[i].picked ? trace->jobs[i].gpus : 0;
    }
    for (;;) { /* the next in order, the slow way */
        size_t best = n;
        for (size_t i = 0; i < n; i++)
            if (!jobs[i].tried && !jobs[i].picked && isnan(jobs[i].finish_s) &&
                trace->jobs[i].submit_s <= now &&
                (best == n || (!fifo && jobs[i].attained < jobs[best].attained)))
                best = i;
        if (best == n)
            break;
        jobs[best].tried = true;
        if (trace->jobs[best].gpus <= room) {
            jobs[best].picked = true;
            room -= trace->jobs[best].gpus;
        } else if (fifo) {
            break;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (jobs[i].picked && !jobs[i].runs)
            jobs[i].begin_s = now;
        jobs[i].runs = jobs[i].picked;
    }
}

static void finish_times_equal_those_of_a_slow_obvious_simulator(void **state)
{
    static const char *const policies[] = {"fifo", "las"};
    static const char *const quantum[] = {"quantum=0s"};

    (void)state;
    for (int seed = 1; seed <= property_count(6); seed++) {
        struct run_world w;
        run_world_init(&w, "6x4:t4");
        run_world_generate(&w, (uint64_t)seed, 60, 24, 6000);
        for (size_t p = 0; p < BASE_COUNT(policies); p++) {
            struct naive_job jobs[60] = {0};
            struct sim_opts o = run_world_opts(policies[p]);
            o.sets = quantum;
            o.set_count = p; /* fifo has no such knob */
            struct sim_result *r = run_world_run(&w, &o);
            for (size_t i = 0; i < BASE_COUNT(jobs); i++) {
                jobs[i].left_s = w.trace->jobs[i].duration_s;
                jobs[i].finish_s = NAN;
            }
            for (double now = 0; now < r->origin_s + r->metrics.makespan_s + 120; now += 60) {
                naive_work(w.trace, jobs, now);
                naive_pick(w.trace, jobs, 24, p == 0, now);
            }
            for (size_t i = 0; i < BASE_COUNT(jobs); i++)
                assert_true(jobs[i].finish_s == r->jobs[i].finish_s);
            sim_result_free(r);
        }
        run_world_fini(&w);
    }
}

/* --- ends that are not results ------------------------------------------------------------------
 */

static void refused(struct run_world *w, const struct sim_opts *o, shoal_status status,
                    const char *words)
{
    struct sim_result *r = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    assert_int_equal(sim_run(w->env, w->trace, &w->cluster, o, &r, &err), status);
    assert_int_equal(err.code, status);
    assert_null(r);
    if (strstr(err.message, words) == NULL)
        fail_msg("expected '%s' in '%s'", words, err.message);
}

static void options_that_make_no_sense_are_refused_in_words(void **state)
{
    static const char *const unknown[] = {"colour=red"}, *const bad[] = {"locality=near"};
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "a,0,1,100\n", NULL);
    const double wrong[] = {0, -1, NAN, INFINITY, 1e8, 9e-4};
    for (size_t i = 0; i < BASE_COUNT(wrong); i++) {
        struct sim_opts o = run_world_opts("las");
        o.how.round_s = wrong[i];
        refused(&w, &o, SHOAL_E_INVAL, "round");
    }
    struct sim_opts o = run_world_opts("las");
    o.how.restart_s = NAN;
    refused(&w, &o, SHOAL_E_INVAL, "restart");
    o.how.restart_s = INFINITY;
    refused(&w, &o, SHOAL_E_INVAL, "restart");
    o = run_world_opts("las");
    o.how.node_mtbf_s = INFINITY;
    refused(&w, &o, SHOAL_E_INVAL, "finite");
    o = run_world_opts("las");
    o.story_job = 1;
    refused(&w, &o, SHOAL_E_INVAL, "the story of job 1");
    o = run_world_opts("las");
    o.how.interference = 1;
    refused(&w, &o, SHOAL_E_INVAL, "interference");
    o = run_world_opts("las");
    o.how.node_mtbf_s = 100;
    o.how.node_repair_s = 0;
    refused(&w, &o, SHOAL_E_INVAL, "repair");
    o = run_world_opts("las");
    o.sets = unknown;
    o.set_count = 1;
    refused(&w, &o, SHOAL_E_INVAL, "colour");
    o.sets = bad;
    refused(&w, &o, SHOAL_E_INVAL, "near");
    run_world_fini(&w);
}

static void a_run_that_is_told_to_stop_stops(void **state)
{
    struct run_world w;
    atomic_bool stop;
    atomic_uint_fast64_t done;

    (void)state;
    atomic_init(&stop, true);
    atomic_init(&done, 0);
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "a,0,1,1e9\n", NULL);
    struct sim_opts o = run_world_opts("las");
    o.stop = &stop;
    o.done = &done;
    refused(&w, &o, SHOAL_E_CANCELLED, "stopped");
    assert_int_equal(atomic_load(&done), 0);
    run_world_fini(&w);
}

static void work_that_never_gets_done_is_an_error_not_a_hang(void **state)
{
    static const char *const quantum[] = {"quantum=0s"};
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "a,0,1,100\nb,0,1,100\n", NULL);
    struct sim_opts o = run_world_opts("las");
    o.sets = quantum;
    o.set_count = 1;
    o.how.restart_s = 60; /* they take turns every round, and a turn is all restart */
    refused(&w, &o, SHOAL_E_IMPOSSIBLE, "under policy 'las' no job gets on");
    o.how.restart_s = 7200; /* and so it is when a turn is many rounds short */
    refused(&w, &o, SHOAL_E_IMPOSSIBLE, "2 are left, first 'a' (1 GPU)");
    o.how.restart_s = 59; /* a second of work per turn gets there */
    sim_result_free(run_world_run(&w, &o));
    run_world_fini(&w);

    run_world_init(&w, "40x1:t4");
    run_world_csv(&w, RUN_HEAD "a,0,40,10000\n", NULL);
    o = run_world_opts("fifo");
    o.how.node_mtbf_s = 3600; /* 40 nodes are never up at once */
    o.how.node_repair_s = 7200;
    refused(&w, &o, SHOAL_E_IMPOSSIBLE, "no job gets on");
    run_world_fini(&w);
}

static void long_starts_are_waited_for(void **state)
{
    static const double round_s[] = {1, 60, 1}, restart_s[] = {2000, 86400, 86400};
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "a,0,1,100\nb,0,1,100\n", NULL);
    for (size_t i = 0; i < BASE_COUNT(round_s); i++) {
        struct sim_opts o = run_world_opts("fifo");
        o.how.round_s = round_s[i];
        o.how.restart_s = restart_s[i];
        struct sim_result *r = run_world_run(&w, &o);
        assert_true(r->jobs[0].finish_s == restart_s[i] + 100);
        assert_int_equal(r->metrics.finished, 2);
        sim_result_free(r);
    }
    run_world_fini(&w);
}

static void the_label_of_a_result_can_be_typed(void **state)
{
    static const char *const two[] = {"quantum=30m", "relax=10m"};
    const char *many[40];
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "a,0,1,100\n", NULL);
    struct sim_opts o = run_world_opts("las");
    o.sets = two;
    o.set_count = 2;
    struct sim_result *r = run_world_run(&w, &o);
    assert_string_equal(r->policy, "las:quantum=30m:relax=10m");
    sim_result_free(r);
    for (size_t i = 0; i < BASE_COUNT(many); i++)
        many[i] = two[i % 2];
    o.sets = many;
    o.set_count = BASE_COUNT(many);
    r = run_world_run(&w, &o);
    assert_int_equal(strlen(r->policy), sizeof r->policy - 1);
    assert_string_equal(r->policy + sizeof r->policy - 4, "...");
    sim_result_free(r);
    run_world_fini(&w);
}

static void rejected_jobs_are_done(void **state)
{
    struct run_world w;
    atomic_uint_fast64_t done;

    (void)state;
    atomic_init(&done, 0);
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "a,0,1,100\nbig,0,2,100\n", NULL);
    struct sim_opts o = run_world_opts("las");
    o.done = &done;
    sim_result_free(run_world_run(&w, &o));
    assert_int_equal(atomic_load(&done), 2);
    run_world_fini(&w);
}

static shoal_status decide_nothing(void *memory, const struct sched_snapshot *snap,
                                   struct sched_plan *plan)
{
    (void)memory, (void)snap, (void)plan;
    return SHOAL_OK;
}

static void a_policy_that_leaves_a_cluster_idle_is_found_out(void **state)
{
    static const struct sched_policy lazy = {.name = "lazy", .decide = decide_nothing};
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x4:t4");
    run_world_csv(&w, RUN_HEAD "a,0,2,100\n", NULL);
    struct sim_opts o = run_world_opts("las");
    o.policy = &lazy;
    refused(&w, &o, SHOAL_E_IMPOSSIBLE, "policy 'lazy' leaves 1 job waiting on an idle cluster");
    run_world_fini(&w);
}

/* --- memory -------------------------------------------------------------------------------------
 */

static shoal_status drop_event(void *ctx, const char *line, size_t size, shoal_err *err)
{
    (void)ctx;
    (void)err;
    return line[size - 1] == '\n' ? SHOAL_OK : SHOAL_E_INTERNAL;
}

static void every_failed_allocation_ends_a_run_cleanly(void **state)
{
    size_t policy_count;
    const struct sched_policy *const *policies = sched_policies(&policy_count);
    struct run_world w;

    (void)state;
    run_world_init(&w, "6x2:t4,1x8:a100");
    run_world_generate(&w, 5, 12, 12, 600);
    for (size_t p = 0; p < policy_count; p++) {
        struct run_world_torture c = {.w = &w, .opts = opts_of(&settings[5], policies[p], 3)};
        c.opts.story_job = 4;
        c.opts.on_event = drop_event;
        torture_run_sampled(run_world_once, &c, 150);
    }
    run_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_keeps_the_books_under_every_option),
        cmocka_unit_test(equal_seeds_give_equal_bytes_and_other_seeds_other_failures),
        cmocka_unit_test(a_job_starts_at_the_next_round_and_works_after_its_restart),
        cmocka_unit_test(a_job_that_ends_as_a_round_begins_leaves_its_gpus_to_that_round),
        cmocka_unit_test(a_job_larger_than_the_cluster_is_rejected_and_the_others_run),
        cmocka_unit_test(a_gang_no_rack_can_hold_is_rejected_when_it_arrives_unless_it_may_relax),
        cmocka_unit_test(a_trace_of_rejected_jobs_only_ends),
        cmocka_unit_test(idle_time_is_jumped_over),
        cmocka_unit_test(a_lease_holds_off_a_preemption),
        cmocka_unit_test(jobs_that_span_and_meet_lose_speed),
        cmocka_unit_test(rows_of_a_pair_are_free_only_when_both_have_left),
        cmocka_unit_test(finish_times_equal_those_of_a_slow_obvious_simulator),
        cmocka_unit_test(options_that_make_no_sense_are_refused_in_words),
        cmocka_unit_test(a_run_that_is_told_to_stop_stops),
        cmocka_unit_test(work_that_never_gets_done_is_an_error_not_a_hang),
        cmocka_unit_test(long_starts_are_waited_for),
        cmocka_unit_test(the_label_of_a_result_can_be_typed),
        cmocka_unit_test(rejected_jobs_are_done),
        cmocka_unit_test(a_policy_that_leaves_a_cluster_idle_is_found_out),
        cmocka_unit_test(every_failed_allocation_ends_a_run_cleanly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
