/* Tests of decisions between rounds (src/sim/run.c, react_s): when they are made, that they change
 * nothing when they are not wanted. That the books hold with them is in test_run.c. */
#include "unit/sim/run_world.h"

#include "base/assert.h"
#include "property.h"
#include <stdlib.h>

static const double REACT_S = 7;

/* ---- a policy that is watched ---- */

enum { SEEN_MAX = 100000 };

/* What the watched policy was shown; one run at a time. */
static struct {
    const struct sched_policy *inner;
    double at_s[SEEN_MAX]; /* of its decisions */
    size_t count;
    uint64_t changes; /* decisions that saw other jobs or nodes than the one before */
    uint64_t jobs, node_changes;
    uint64_t unasked; /* decisions between rounds that saw nothing new */
} seen;

static shoal_status watch(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    uint64_t jobs = 0;

    for (size_t i = 0; i < snap->job_count; i++)
        jobs = (jobs + snap->jobs[i]->id + 1) * UINT64_C(0x9e3779b97f4a7c15);
    bool changed = seen.count == 0 || jobs != seen.jobs || snap->node_changes != seen.node_changes;
    seen.changes += changed;
    seen.unasked += !changed && fmod(snap->now_s, snap->round_s) != 0;
    seen.jobs = jobs;
    seen.node_changes = snap->node_changes;
    assert_true(seen.count < SEEN_MAX);
    seen.at_s[seen.count++] = snap->now_s;
    return seen.inner->decide(memory, snap, plan);
}

static struct sim_result *run_watched(struct run_world *w, struct sim_opts o)
{
    struct sched_policy watched = *o.policy;

    memset(&seen, 0, sizeof seen);
    seen.inner = o.policy;
    watched.decide = watch;
    watched.settled = NULL; /* asked at every round */
    o.policy = &watched;
    return run_world_run(w, &o);
}

/* Of the first decision at or after a time. */
static double decided_after(double t)
{
    for (size_t i = 0; i < seen.count; i++)
        if (seen.at_s[i] >= t)
            return seen.at_s[i];
    fail_msg("no decision after %g s", t);
    return NAN;
}

/* ---- properties ---- */

static void check_decisions(const struct run_world *w, double round_s, double react_s)
{
    for (size_t i = 1; i < seen.count; i++)
        if (seen.at_s[i] - seen.at_s[i - 1] < react_s - 1e-9)
            fail_msg("decisions at %.17g and %.17g s", seen.at_s[i - 1], seen.at_s[i]);
    for (size_t i = 0; i < w->trace->job_count; i++) {
        double came = w->trace->jobs[i].submit_s, decided = decided_after(came);
        bool at_round = fmod(decided, round_s) == 0;
        if (decided - came > (at_round ? 2 * react_s : react_s) + 1e-9)
            fail_msg("a job came at %.17g s, decided at %.17g s", came, decided);
    }
}

/* Rounds are kept: a decision at each of them at which a job is live. */
static void check_rounds(const struct sim_result *r, double round_s)
{
    size_t at = 0, jobs = (size_t)r->metrics.jobs;

    for (double t = 0; t < r->origin_s + r->metrics.makespan_s; t += round_s) {
        bool live = false;
        for (size_t i = 0; i < jobs && !live; i++)
            live = r->trace->jobs[i].submit_s <= t && r->jobs[i].finish_s > t;
        while (at < seen.count && seen.at_s[at] < t)
            at++;
        if (live)
            assert_true(at < seen.count && seen.at_s[at] == t);
    }
}

static void every_policy_decides_at_rounds_and_within_react_of_what_happens(void **state)
{
    size_t policy_count;
    const struct sched_policy *const *policies = sched_policies(&policy_count);

    (void)state;
    for (int seed = 1; seed <= property_count(2); seed++) {
        struct run_world w;
        run_world_init(&w, "3x4:t4,2x8:a100");
        run_world_generate(&w, (uint64_t)seed, 50, 12, 3 * 3600);
        for (size_t p = 0; p < policy_count; p++)
            for (int faults = 0; faults < 2; faults++) {
                struct sim_opts o = run_world_opts(policies[p]->name);
                o.how.react_s = REACT_S;
                o.how.node_mtbf_s = faults * 20000;
                struct sim_result *r = run_watched(&w, o);
                check_decisions(&w, o.how.round_s, o.how.react_s);
                check_rounds(r, o.how.round_s);
                assert_int_equal(seen.unasked, 0);
                assert_int_equal(r->metrics.rounds, seen.count);
                sim_result_free(r);
            }
        run_world_fini(&w);
    }
}

static void a_policy_that_shares_solves_at_every_decision_that_sees_something_new(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "3x4:t4,2x8:a100");
    run_world_generate(&w, 5, 60, 12, 3 * 3600);
    struct sim_opts o = run_world_opts("max-min");
    uint64_t solves[2];
    for (int react = 0; react < 2; react++) {
        o.how.react_s = react * 0.25;
        struct sim_result *r = run_watched(&w, o);
        solves[react] = r->metrics.solves;
        assert_int_equal(r->metrics.solves, seen.changes);
        assert_true(r->metrics.solves < r->metrics.rounds); /* long rounds without news */
        sim_result_free(r);
    }
    assert_true(solves[1] > solves[0]);
    o = run_world_opts("las");
    struct sim_result *r = run_watched(&w, o);
    assert_int_equal(r->metrics.solves, 0);
    sim_result_free(r);
    run_world_fini(&w);
}

static void reacting_once_a_round_is_not_reacting(void **state)
{
    size_t policy_count;
    const struct sched_policy *const *policies = sched_policies(&policy_count);
    struct run_world w;

    (void)state;
    run_world_init(&w, "3x4:t4,2x8:a100");
    run_world_generate(&w, 3, 40, 20, 3 * 3600);
    for (size_t p = 0; p < policy_count; p++) {
        struct sim_opts o = run_world_opts(policies[p]->name);
        o.how.node_mtbf_s = 30000;
        o.how.job_failures = true;
        struct sim_result *plain = run_world_run(&w, &o);
        struct base_buf log = w.log;
        base_buf_init(&w.log, &base_alloc_libc, (size_t)1 << 30);
        o.how.react_s = o.how.round_s;
        struct sim_result *r = run_world_run(&w, &o);
        assert_int_equal(log.size, w.log.size);
        assert_memory_equal(log.data, w.log.data, log.size);
        assert_int_equal(r->metrics.rounds, plain->metrics.rounds);
        assert_true(r->metrics.avg_rho == plain->metrics.avg_rho);
        base_buf_fini(&log);
        sim_result_free(plain);
        sim_result_free(r);
    }
    run_world_fini(&w);
}

static void equal_seeds_give_equal_bytes(void **state)
{
    size_t policy_count;
    const struct sched_policy *const *policies = sched_policies(&policy_count);
    struct run_world w;

    (void)state;
    run_world_init(&w, "3x4:t4,2x8:a100");
    run_world_generate(&w, 7, 40, 8, 7200);
    for (size_t p = 0; p < policy_count; p++) {
        struct sim_opts o = run_world_opts(policies[p]->name);
        o.how.react_s = 0.5;
        o.how.node_mtbf_s = 30000;
        o.how.job_failures = true;
        run_world_repeats(&w, &o);
    }
    run_world_fini(&w);
}

/* ---- by hand ---- */

static void jobs_start_when_they_come_and_when_others_end(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "a,53,1,100\nb,54,1,7.5\n", NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.how.react_s = 1;
    struct sim_result *r = run_watched(&w, o);
    assert_true(r->jobs[0].start_s == 53);
    assert_true(r->jobs[0].finish_s == 183);
    assert_true(r->jobs[1].start_s == 183);
    assert_true(r->jobs[1].finish_s == 220.5);
    static const double decisions[] = {53, 54, 60, 120, 180, 183};
    assert_int_equal(seen.count, BASE_COUNT(decisions));
    assert_memory_equal(seen.at_s, decisions, sizeof decisions);
    sim_result_free(r);
    run_world_fini(&w);
}

static void what_happens_near_a_round_or_a_decision_waits_for_its_time(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x8:t4");
    run_world_csv(&w,
                  RUN_HEAD "soon,5,1,1000\n"  /* the round before it was at 0 */
                           "then,12,1,1000\n" /* the decision before it is at 10 */
                           "both,14,1,1000\n"
                           "late,55,1,1000\n"  /* the next round is at 60 */
                           "later,61,1,1000\n" /* after that round */
                           "once,100,1,1000\n",
                  NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.how.react_s = 10;
    struct sim_result *r = run_world_run(&w, &o);
    static const double starts[] = {10, 20, 20, 60, 70, 100};
    for (size_t i = 0; i < BASE_COUNT(starts); i++)
        assert_true(r->jobs[i].start_s == starts[i]);
    sim_result_free(r);
    run_world_fini(&w);
}

static void idle_time_is_jumped_over_to_the_arrival(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "a,0,1,10\nb,12000000,1,10\nc,24000013,1,10\n", NULL);
    struct sim_opts o = run_world_opts("las");
    o.how.react_s = 1;
    struct sim_result *r = run_watched(&w, o);
    for (size_t i = 0; i < 3; i++) {
        assert_true(r->jobs[i].start_s == w.trace->jobs[i].submit_s);
        assert_true((double)r->jobs[i].rho == 1); /* alone it would start just then, too */
    }
    assert_int_equal(seen.count, 3);
    sim_result_free(r);
    run_world_fini(&w);
}

/* Ends that rounding leaves a hair short of their time are found all the same, and at once. */
static void ends_at_odd_times_are_noticed(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "2x1:t4");
    assert_int_equal(sim_trace_new(&base_alloc_libc, &w.trace), SHOAL_OK);
    for (int i = 0; i < 400; i++) {
        char name[32];
        snprintf(name, sizeof name, "j%d", i);
        run_world_add(w.trace, name, 1e6 + i / 3.0, 1, 100.0 / 3 + i / 7.0);
    }
    sim_trace_finish(w.trace);
    run_world_bind(&w, NULL);
    struct sim_opts o = run_world_opts("fifo");
    o.how.react_s = 1e-3;
    struct sim_result *r = run_world_run(&w, &o);
    double last[2] = {0}; /* ends of the jobs so far, on each GPU */
    for (size_t i = 0; i < w.trace->job_count; i++) {
        double *gpu = last[0] <= last[1] ? &last[0] : &last[1];
        double ready = fmax(w.trace->jobs[i].submit_s, *gpu);
        assert_true(r->jobs[i].start_s >= ready - 1e-6);
        assert_true(r->jobs[i].start_s <= ready + 2 * o.how.react_s + 1e-6);
        *gpu = r->jobs[i].finish_s;
    }
    sim_result_free(r);
    run_world_fini(&w);
}

static void times_that_are_no_part_of_a_round_are_refused(void **state)
{
    static const double wrong[] = {-1, 1e-4, 60.5, 1e9, INFINITY, NAN};
    struct run_world w;

    (void)state;
    run_world_init(&w, "1x1:t4");
    run_world_csv(&w, RUN_HEAD "a,0,1,100\n", NULL);
    for (size_t i = 0; i < BASE_COUNT(wrong); i++) {
        struct sim_opts o = run_world_opts("las");
        struct sim_result *r = NULL;
        shoal_err err = SHOAL_ERR_INIT;
        o.how.react_s = wrong[i];
        assert_int_equal(sim_run(w.env, w.trace, &w.cluster, &o, &r, &err), SHOAL_E_INVAL);
        assert_null(r);
        assert_non_null(strstr(err.message, "a reaction takes"));
    }
    run_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_decides_at_rounds_and_within_react_of_what_happens),
        cmocka_unit_test(a_policy_that_shares_solves_at_every_decision_that_sees_something_new),
        cmocka_unit_test(reacting_once_a_round_is_not_reacting),
        cmocka_unit_test(equal_seeds_give_equal_bytes),
        cmocka_unit_test(jobs_start_when_they_come_and_when_others_end),
        cmocka_unit_test(what_happens_near_a_round_or_a_decision_waits_for_its_time),
        cmocka_unit_test(idle_time_is_jumped_over_to_the_arrival),
        cmocka_unit_test(ends_at_odd_times_are_noticed),
        cmocka_unit_test(times_that_are_no_part_of_a_round_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
