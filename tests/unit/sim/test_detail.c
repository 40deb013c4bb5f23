/* test_detail.c - where each job's time went, and speed by places: sums that must agree, a replay
 * of the event log as the specification of progress, and nothing changed where it is turned off. */
#include "unit/sim/run_world.h"

#include "base/assert.h"
#include "property.h"
#include "sched/model_spread.h"
#include "torture.h"
#include <stdlib.h>

static const char *const guided[] = {"migrate=true", "dedicated=true", "patience=0.1"};

/* Options number `n` under a policy, with everything counted. */
static struct sim_opts some_opts(const struct sched_policy *policy, int n)
{
    struct sim_opts o;

    sim_opts_init(&o);
    o.policy = policy;
    o.how.spread = n % 2 != 0;
    o.how.neighbours = n / 2 % 2 != 0;
    o.how.interference = n / 4 % 3 == 1 ? 0.3 : 0;
    o.how.react_s = n / 4 % 3 == 2 ? 7 : 0;
    o.how.node_mtbf_s = n % 5 == 4 ? 20000 : 0;
    o.how.job_failures = n % 7 == 6;
    o.details = true;
    o.how.seed = (uint64_t)n + 1;
    if (strcmp(policy->name, "philly") == 0 && n % 2 == 0) {
        o.sets = guided;
        o.set_count = BASE_COUNT(guided);
    }
    return o;
}

static double slack(double value)
{
    return 1e-2 + 2e-6 * fabs(value); /* rows are floats: 24 bits each */
}

/* Returns GPU time beside others. */
static double check_sums(const struct run_world *w, const struct sim_opts *o,
                         const struct sim_result *r)
{
    double slow = 0, spread = 0, moves = 0, preempted = 0, beside = 0;

    for (size_t i = 0; i < w->trace->job_count; i++) {
        const struct sim_job_result *j = &r->jobs[i];
        const struct sim_job_detail *d = &r->details[i];
        double wait = 0, held = 0;
        for (size_t k = 0; k < SIM_WAIT_COUNT; k++) {
            assert_true(d->wait_s[k] >= 0);
            wait += (double)d->wait_s[k];
        }
        for (size_t k = 0; k < SIM_SERVERS_COUNT; k++) {
            assert_true(d->gpu_s[k] >= 0);
            held += (double)d->gpu_s[k];
        }
        run_near(wait, (double)j->wait_s, slack(wait));
        run_near((double)d->wait_s[SIM_WAIT_LOCALITY], (double)j->locality_wait_s, slack(wait));
        run_near(held, (double)j->gpu_s, slack(held));
        assert_true((double)d->spread_gpu_s <= held - (double)d->gpu_s[0] + slack(held));
        assert_true((double)d->beside_gpu_s <= held + slack(held));
        assert_true((double)d->slow_gpu_s <= held + slack(held));
        if (w->trace->jobs[i].gpus == 1)
            assert_true(d->beside_gpu_s == 0 && d->spread_gpu_s == 0 && d->slow_gpu_s == 0);
        assert_true(d->moves + d->preempted < (j->starts > 0 ? j->starts : 1));
        slow += (double)d->slow_gpu_s;
        spread += (double)d->spread_gpu_s;
        beside += (double)d->beside_gpu_s;
        moves += d->moves;
        preempted += d->preempted;
    }
    if (!o->how.spread && !o->how.neighbours && o->how.interference == 0)
        assert_true(slow == 0);
    run_near(r->metrics.slow_gpu_s, slow, slack(slow) * 10);
    run_near(r->metrics.spread_gpu_s, spread, slack(spread) * 10);
    assert_true((double)r->metrics.moves == moves && (double)r->metrics.preempted == preempted);
    return beside;
}

static void waits_and_gpu_time_add_up_under_every_policy(void **state)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);
    double slow = 0, spread = 0, beside = 0;
    uint64_t moves = 0, preempted = 0;

    (void)state;
    for (size_t p = 0; p < count; p++)
        for (int n = 0; n < property_count(8); n++) {
            struct run_world w;
            struct sim_opts o = some_opts(policies[p], n);
            run_world_init(&w, n % 3 == 0 ? "4x2:t4,2x8:t4" : "3x4:t4:rack=a,3x4:t4:rack=b");
            run_world_generate(&w, (uint64_t)n + 1, 60, 12, 8000);
            struct sim_result *r = run_world_run(&w, &o);
            beside += check_sums(&w, &o, r);
            slow += r->metrics.slow_gpu_s;
            spread += r->metrics.spread_gpu_s;
            moves += r->metrics.moves;
            preempted += r->metrics.preempted;
            sim_result_free(r);
            run_world_fini(&w);
        }
    assert_true(slow > 0 && spread > 0 && beside > 0); /* else nothing was tested */
    assert_true(moves > 0 && preempted > 0);
}

static void what_is_not_asked_for_changes_no_byte(void **state)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    (void)state;
    for (size_t p = 0; p < count; p++) {
        struct run_world w;
        struct sim_opts o = some_opts(policies[p], 0);
        run_world_init(&w, "4x2:t4,2x8:t4");
        run_world_generate(&w, 3, 60, 12, 8000);
        o.details = false;
        struct sim_result *plain = run_world_run(&w, &o);
        char *log = strndup(w.log.data, w.log.size);
        assert_null(plain->details);
        o.details = true;
        struct sim_result *counted = run_world_run(&w, &o);
        assert_string_equal(w.log.data, log);
        assert_memory_equal(plain->jobs, counted->jobs, w.trace->job_count * sizeof *plain->jobs);
        free(log);
        sim_result_free(plain);
        sim_result_free(counted);
        run_world_fini(&w);
    }
}

/* --- progress is the integral of speed --- */

struct held {
    uint32_t nodes[64], node_count, gpus;
    double speed, progress;
    bool running;
};

static void read_places(const struct run_event *e, struct held *h)
{
    h->node_count = h->gpus = 0;
    for (const char *p = e->places; p != NULL && *p != '\0';) {
        unsigned node, gpus;
        assert_int_equal(sscanf(p, "n%u:%u", &node, &gpus), 2);
        h->nodes[h->node_count++] = node;
        h->gpus += gpus;
        p = strchr(p, ',');
        p = p != NULL ? p + 1 : NULL;
    }
}

/* By the words of model_spread.h. */
static double slow_speed(const struct run_world *w, const struct sim_opts *o,
                         const struct held *jobs, size_t count, const struct held *h)
{
    struct sched_spread spread;
    bool beside = false;
    double speed = 1;

    sched_spread_init(&spread, &w->cluster);
    for (size_t j = 0; j < count; j++)
        for (uint32_t a = 0;
             &jobs[j] != h && jobs[j].running && jobs[j].gpus > 1 && a < jobs[j].node_count; a++)
            for (uint32_t b = 0; b < h->node_count; b++)
                beside = beside || jobs[j].nodes[a] == h->nodes[b];
    if (o->how.spread && h->node_count > sched_spread_fewest(&spread, 0, h->gpus))
        speed *= 98.0 / 114.8;
    if (o->how.neighbours && h->gpus > 1 && beside)
        speed *= h->node_count == 1 ? 75.6 / 114.8 : 74.1 / 98.0;
    return speed;
}

/* Plays the log of a run at rounds only, without restarts: every job ends when its progress is its
 * duration. */
static void replay(const struct run_world *w, const struct sim_opts *o)
{
    size_t count = w->trace->job_count, at = 0, ended = 0;
    struct held *jobs = calloc(count, sizeof *jobs);
    struct run_event e;
    bool more = run_event_next(&w->log, &at, &e);

    for (double t = 0; more; t += o->how.round_s) {
        for (size_t i = 0; i < count; i++) /* as if nobody ended; set right below */
            jobs[i].progress += jobs[i].running ? jobs[i].speed * o->how.round_s : 0;
        while (more && e.t <= t) {
            size_t i = run_event_job(w, &e);
            if (run_event_is(&e, "job.finished")) {
                jobs[i].progress -= jobs[i].speed * (t - e.t);
                run_near(jobs[i].progress, w->trace->jobs[i].duration_s, 1e-3);
                jobs[i].running = false;
                ended++;
            } else if (run_event_is(&e, "job.started") || run_event_is(&e, "job.moved")) {
                read_places(&e, &jobs[i]);
                jobs[i].running = true;
            } else if (run_event_is(&e, "job.preempted")) {
                jobs[i].running = false;
            }
            run_event_fini(&e);
            more = run_event_next(&w->log, &at, &e);
        }
        for (size_t i = 0; i < count; i++)
            jobs[i].speed = slow_speed(w, o, jobs, count, &jobs[i]);
    }
    assert_int_equal(ended, count);
    free(jobs);
}

static void progress_is_the_integral_of_the_speed_that_places_leave(void **state)
{
    static const char *const policies[] = {"philly", "fifo", "tiresias", "las"};

    (void)state;
    for (int n = 0; n < property_count(24); n++) {
        struct run_world w;
        struct sim_opts o = some_opts(sched_policy_find(policies[n / 4 % 4], NULL), n % 4);
        o.how.node_mtbf_s = 0;
        o.how.restart_s = 0;
        run_world_init(&w, n % 2 == 0 ? "4x2:t4,2x8:t4" : "6x4:t4");
        run_world_generate(&w, (uint64_t)n + 1, 50, 12, 6000);
        struct sim_result *r = run_world_run(&w, &o);
        replay(&w, &o);
        sim_result_free(r);
        run_world_fini(&w);
    }
}

/* --- by hand --- */

static struct sim_result *run_csv(struct run_world *w, const char *spec, const char *rows,
                                  struct sim_opts o)
{
    char text[512];

    snprintf(text, sizeof text, RUN_HEAD "%s", rows);
    run_world_init(w, spec);
    run_world_csv(w, text, NULL);
    o.details = true;
    return run_world_run(w, &o);
}

static void a_scattered_job_keeps_six_sevenths_of_its_speed_or_so(void **state)
{
    struct run_world w;
    struct sim_opts o = run_world_opts("fifo");

    (void)state;
    o.how.spread = true;
    struct sim_result *r = run_csv(&w, "2x4:t4", "a,0,3,5000\nb,0,3,5000\nc,0,2,1000\n", o);
    run_near(r->jobs[0].finish_s, 5030, 1e-9);
    run_near(r->jobs[2].finish_s, 30 + 1000 * 114.8 / 98.0, 1e-2); /* speed is a float */
    run_near((double)r->details[2].slow_gpu_s, 2 * (1000 * 114.8 / 98.0 - 1000), 1e-1);
    run_near((double)r->details[2].gpu_s[1], (double)r->jobs[2].gpu_s, 1e-3);
    run_near((double)r->details[2].spread_gpu_s, (double)r->jobs[2].gpu_s, 1e-3);
    assert_true(r->details[0].slow_gpu_s == 0);
    sim_result_free(r);
    run_world_fini(&w);
}

static void neighbours_slow_each_other_down_until_the_round_after_one_ends(void **state)
{
    struct run_world w;
    struct sim_opts o = run_world_opts("fifo");
    double kept = 75.6 / 114.8, first = 30 + 500 / kept, round = ceil(first / 60) * 60;

    (void)state;
    o.how.neighbours = true;
    struct sim_result *r = run_csv(&w, "1x8:t4", "a,0,4,500\nb,0,3,5000\nc,0,1,700\n", o);
    run_near(r->jobs[0].finish_s, first, 1e-2);
    run_near(r->jobs[1].finish_s, round + 5000 - (round - 30) * kept, 1e-2);
    run_near(r->jobs[2].finish_s, 730, 1e-9); /* has one GPU */
    run_near((double)r->details[1].beside_gpu_s, 3 * round, 1e-2);
    sim_result_free(r);
    run_world_fini(&w);
}

static void names_of_what_is_counted_are_fixed(void **state)
{
    (void)state;
    assert_string_equal(sim_servers_name(0), "1");
    assert_string_equal(sim_servers_name(SIM_SERVERS_COUNT - 1), "9+");
}

/* --- memory --- */

static void every_failed_allocation_ends_a_counted_run_cleanly(void **state)
{
    struct run_world w;

    (void)state;
    run_world_init(&w, "6x2:t4,1x8:t4");
    run_world_generate(&w, 5, 12, 12, 600);
    struct run_world_torture c = {.w = &w, .opts = some_opts(sched_policy_find("philly", NULL), 2)};
    torture_run_sampled(run_world_once, &c, 150);
    run_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_and_gpu_time_add_up_under_every_policy),
        cmocka_unit_test(what_is_not_asked_for_changes_no_byte),
        cmocka_unit_test(progress_is_the_integral_of_the_speed_that_places_leave),
        cmocka_unit_test(a_scattered_job_keeps_six_sevenths_of_its_speed_or_so),
        cmocka_unit_test(neighbours_slow_each_other_down_until_the_round_after_one_ends),
        cmocka_unit_test(names_of_what_is_counted_are_fixed),
        cmocka_unit_test(every_failed_allocation_ends_a_counted_run_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
