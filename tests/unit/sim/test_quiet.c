/* Tests of rounds at which nothing changes (src/sim/run.c): those that are played at once give what
 * they give one by one, for every policy, and a job may be as long as it likes. */
#include "unit/sim/run_world.h"

#include "base/assert.h"
#include "property.h"

struct setting {
    const char *name;
    double round_s, react_s, restart_s, lease_s, interference, node_mtbf_s, checkpoint_s;
    bool job_failures, spread;
};

static const struct setting settings[] = {
    {.name = "plain", .round_s = 60, .restart_s = 30},
    {.name = "free restarts, odd rounds", .round_s = 0.75, .restart_s = 0},
    {.name = "rounds that are rounded", .round_s = 0.7, .restart_s = 0.1},
    {.name = "nodes fail", .round_s = 60, .restart_s = 30, .node_mtbf_s = 200000},
    {.name = "all fails, checkpoints",
     .round_s = 10,
     .restart_s = 30,
     .job_failures = true,
     .node_mtbf_s = 300000,
     .checkpoint_s = 1234.5},
    {.name = "between rounds, leases, slow places",
     .round_s = 360,
     .react_s = 7,
     .restart_s = 30,
     .lease_s = 600,
     .interference = 0.3,
     .spread = true},
};

static struct sim_opts opts_of(const struct setting *g, const struct sched_policy *policy,
                               uint64_t seed)
{
    struct sim_opts o;

    sim_opts_init(&o);
    o.policy = policy;
    o.how.round_s = g->round_s;
    o.how.react_s = g->react_s;
    o.how.restart_s = g->restart_s;
    o.how.lease_s = g->lease_s;
    o.how.interference = g->interference;
    o.how.node_mtbf_s = g->node_mtbf_s;
    o.how.checkpoint_s = g->checkpoint_s;
    o.how.job_failures = g->job_failures;
    o.how.spread = g->spread;
    o.details = o.record = true;
    o.how.seed = seed;
    return o;
}

/* Few jobs with much time between them and times of many digits, so that nearly all rounds are
 * quiet and no sum is exact. */
static void sparse(struct run_world *w, uint64_t seed, double round_s)
{
    struct base_rand r;
    char name[32];
    double at_s = 0;

    base_rand_init(&r, seed, "quiet");
    assert_int_equal(sim_trace_new(&base_alloc_libc, &w->trace), SHOAL_OK);
    for (size_t i = 0; i < 12; i++) {
        at_s += round_s * exp(base_rand_range(&r, -2, 6));
        snprintf(name, sizeof name, "job-%zu", i);
        run_world_add(w->trace, name, at_s, 1 + (uint32_t)base_rand_below(&r, 9),
                      round_s * exp(base_rand_range(&r, -2, 7)));
        w->trace->jobs[i].weight = base_rand_range(&r, 0.5, 3);
    }
    sim_trace_finish(w->trace);
    run_world_bind(w, NULL);
}

static struct sim_metrics untimed(const struct sim_result *r)
{
    struct sim_metrics m = r->metrics;

    m.decision_ms_p50 = m.decision_ms_p99 = m.decision_s = m.wall_s = m.cpu_s = 0;
    return m;
}

static void same(const struct run_world *w, const struct sim_result *a, const struct sim_result *b,
                 const struct base_buf *log)
{
    struct sim_metrics ma = untimed(a), mb = untimed(b);
    size_t jobs = w->trace->job_count;

    assert_int_equal(log->size, w->log.size);
    assert_memory_equal(log->data, w->log.data, log->size);
    assert_memory_equal(&ma, &mb, sizeof ma);
    assert_memory_equal(a->jobs, b->jobs, jobs * sizeof *a->jobs);
    assert_memory_equal(a->details, b->details, jobs * sizeof *a->details);
    assert_memory_equal(a->received_s, b->received_s,
                        jobs * w->cluster.kind_count * sizeof *a->received_s);
    assert_int_equal(a->series.count, b->series.count);
    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        assert_memory_equal(a->series.busy[k], b->series.busy[k],
                            a->series.count * sizeof *a->series.busy[k]);
    assert_int_equal(a->segment_count, b->segment_count);
}

/* A policy that counts how often it is asked; one at a time. */
static const struct sched_policy *counted_policy;
static uint64_t decisions;

static shoal_status count_decision(void *memory, const struct sched_snapshot *snap,
                                   struct sched_plan *plan)
{
    decisions++;
    return counted_policy->decide(memory, snap, plan);
}

static struct sched_policy counted(const struct sched_policy *policy, bool settles)
{
    struct sched_policy copy = *policy;

    decisions = 0;
    counted_policy = policy;
    copy.decide = count_decision;
    copy.settled = settles ? policy->settled : NULL;
    return copy;
}

/* Returns how many decisions were not made. */
static uint64_t compare(struct run_world *w, const struct setting *g,
                        const struct sched_policy *policy, uint64_t seed)
{
    struct sched_policy each = counted(policy, false);
    struct sim_opts o = opts_of(g, &each, seed);
    struct sim_result *slow = run_world_run(w, &o);
    struct base_buf log = w->log;
    uint64_t all = decisions;

    base_buf_init(&w->log, &base_alloc_libc, (size_t)1 << 30);
    struct sched_policy few = counted(policy, true);
    o.policy = &few;
    struct sim_result *fast = run_world_run(w, &o);
    same(w, slow, fast, &log);
    sim_result_free(slow);
    sim_result_free(fast);
    base_buf_fini(&log);
    assert_true(decisions <= all);
    return all - decisions;
}

static void rounds_played_at_once_give_what_they_give_one_by_one(void **state)
{
    static const char *const clusters[] = {"5x4:t4", "3x4:t4,2x8:a100"};
    size_t policy_count;
    const struct sched_policy *const *policies = sched_policies(&policy_count);

    (void)state;
    for (size_t p = 0; p < policy_count; p++) {
        uint64_t spared = 0;
        for (int seed = 1; seed <= property_count(4); seed++)
            for (size_t g = 0; g < BASE_COUNT(settings); g++) {
                struct run_world w;
                run_world_init(&w, clusters[seed % 2]);
                sparse(&w, (uint64_t)seed, settings[g].round_s);
                spared += compare(&w, &settings[g], policies[p], (uint64_t)seed);
                run_world_fini(&w);
            }
        if ((spared > 0) != (policies[p]->settled != NULL))
            fail_msg("%s: %llu decisions were spared", policies[p]->name,
                     (unsigned long long)spared);
    }
}

/* --- very long jobs --- */

static void a_billion_seconds_are_few_decisions_under_every_policy(void **state)
{
    size_t policy_count;
    const struct sched_policy *const *policies = sched_policies(&policy_count);

    (void)state;
    for (size_t p = 0; p < policy_count; p++) {
        struct run_world w;
        run_world_init(&w, "2x4:t4,1x8:a100");
        run_world_csv(&w, RUN_HEAD "a,0,1,300\nb,100,8,700\nlong,120,2,1000000000\nc,200,4,5000\n",
                      NULL);
        struct sched_policy few = counted(policies[p], true);
        struct sim_opts o = run_world_opts("fifo");
        o.policy = &few;
        struct sim_result *r = run_world_run(&w, &o);
        const struct sim_job_result *j = &r->jobs[2];
        assert_int_equal(j->outcome, SIM_FINISHED);
        run_near(j->finish_s - j->start_s, 1e9 + j->starts * 30.0, 7200); /* but for its stops */
        if (decisions > 150000)
            fail_msg("%s decided %llu times", policies[p]->name, (unsigned long long)decisions);
        sim_result_free(r);
        run_world_fini(&w);
    }
}

static void a_long_job_that_is_not_quiet_ends_exactly_when_it_would(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x4:t4");
    run_world_csv(&w, RUN_HEAD "long,0,1,1000000000\nlate,999999990.5,1,100\n", NULL);
    struct sim_opts o = run_world_opts("srtf");
    o.how.checkpoint_s = 3600;
    struct sim_result *r = run_world_run(&w, &o);
    assert_true(r->jobs[0].finish_s == 1000000030);
    assert_true(r->jobs[1].start_s == 1000000020 && r->jobs[1].finish_s == 1000000150);
    assert_int_equal(r->metrics.rounds, 16666670);
    sim_result_free(r);
    run_world_fini(&w);
}

/* Prices end the quiet, as they change what time costs. */
static void the_next_price_is_seen_in_time(void **state)
{
    struct sim_price_step a[] = {{-INFINITY, 1}, {5000, 2}}, b[] = {{-INFINITY, 1}, {100, 3}};
    struct sim_prices prices = {.kinds = {{.steps = a, .count = 2}, {.steps = b, .count = 2}},
                                .kind_count = 2};

    (void)state;
    assert_true(sim_prices_next_s(&prices, 0) == 100);
    assert_true(sim_prices_next_s(&prices, 100) == 5000);
    assert_true(isinf(sim_prices_next_s(&prices, 5000)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_played_at_once_give_what_they_give_one_by_one),
        cmocka_unit_test(a_billion_seconds_are_few_decisions_under_every_policy),
        cmocka_unit_test(a_long_job_that_is_not_quiet_ends_exactly_when_it_would),
        cmocka_unit_test(the_next_price_is_seen_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
