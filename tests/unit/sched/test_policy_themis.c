/* test_policy_themis.c - who is furthest behind bids, winners pay, jobs of one sweep bid as one. */
#include "unit/sched/rules.h"
#include "unit/sched/sharing.h"
#include "unit/sim/public_data.h"
#include "unit/sim/sim_world.h"

#include "base/assert.h"
#include "sim/run.h"

static const double LEASE_S = 1200; /* the default */

static void nobody_ends_later_than_on_a_share_of_its_own(void **state)
{
    (void)state;
    sharing_nobody_ends_later_than_on_a_share("themis");
}

static void who_fell_behind_goes_first(void **state)
{
    (void)state;
    sharing_who_fell_behind_goes_first("themis", LEASE_S);
}

/* ---- leases ---- */

/* Whoever starts in an auction stays for as long as its lease, cut by what it pays, says; all of them
 * end at multiples of the lease at the latest, so a gang that needs the whole cluster finds it. */
static void a_gang_of_the_whole_cluster_gets_its_turn(void **state)
{
    static struct world w;
    struct world_job *large;

    (void)state;
    world_open(&w, sched_policy_find("themis", NULL), 1, "4x1:t4");
    world_begin(&w);
    for (int i = 0; i < 8; i++)
        world_add_seconds(&w, 1, 40000);
    world_round(&w);
    large = world_add_seconds(&w, 4, 3000);
    for (int r = 0; r < 2000 && isnan(large->end_s); r++)
        world_round(&w);
    /* with a ninth of the cluster it would take 27,000 s */
    assert_true(large->end_s <= 27000 + LEASE_S);
    world_close(&w);
}

/* Two alike on one GPU: they take turns about as long as a lease, not as a round. */
static void turns_last_longer_than_a_round(void **state)
{
    struct world *w = sharing_open("themis", "1x1:k80", NULL);
    struct world_job *a = sharing_add(w, (double[]){1}, 60000);
    struct world_job *b = sharing_add(w, (double[]){1}, 60000);

    (void)state;
    for (int r = 0; r < 1000; r++)
        world_round(w);
    assert_true(fabs(a->job.run_s - b->job.run_s) <= 2 * LEASE_S);
    assert_true(a->job.starts + b->job.starts <= 1000 * w->round_s / (LEASE_S / 4));
    sharing_close(w);
}

static void a_lease_of_the_driver_is_kept_too(void **state)
{
    struct world *w = sharing_open("themis", "1x1:k80", "lease=1s");

    (void)state;
    w->lease_s = 600;
    sharing_add(w, (double[]){1}, 60000);
    sharing_add(w, (double[]){1}, 60000);
    for (int r = 0; r < 100; r++) {
        world_decide(w);
        rules_check(w);
        world_apply(w);
        world_pass(w, w->round_s);
    }
    sharing_close(w);
}

/* ---- apps ---- */

/* One job against a sweep of eight, with as much work in all: half of the cluster each. */
static void jobs_of_a_sweep_count_as_one(void **state)
{
    struct world *w = sharing_open("themis", "2x1:k80", NULL);
    struct world_job *two = sharing_add(w, (double[]){1}, 40000);
    double sweep_s = 0;

    (void)state;
    for (int i = 0; i < 8; i++)
        sharing_add(w, (double[]){1}, 5000)->job.app = 1;
    for (int r = 0; r < 300; r++)
        world_round(w);
    for (uint32_t i = 1; i < w->all_count; i++)
        sweep_s += w->all[i]->job.attained_gpu_s;
    assert_true(fabs(sweep_s - two->job.attained_gpu_s) <= 2 * LEASE_S);
    sharing_close(w);
}

/* Jobs of a sweep that ended are not forgotten: what they had is part of what the app got. */
static void a_sweep_is_no_further_behind_for_jobs_that_ended(void **state)
{
    struct world *w = sharing_open("themis", "4x1:k80", NULL);
    struct world_job *single[4];
    double sum_s = 0;

    (void)state;
    for (int i = 0; i < 4; i++)
        single[i] = sharing_add(w, (double[]){1}, 40000);
    for (int i = 0; i < 8; i++)
        sharing_add(w, (double[]){1}, i < 7 ? 1000 : 60000)->job.app = 4;
    for (int r = 0; r < 500; r++)
        world_round(w);
    for (int i = 0; i < 4; i++)
        sum_s += single[i]->job.run_s / 4;
    /* the last of the sweep has had 7,000 s less than the others */
    assert_true(w->all[11]->job.run_s <= sum_s + LEASE_S);
    sharing_close(w);
}

static void work_still_to_be_handed_out_counts_as_the_apps(void **state)
{
    double run_s[2];

    (void)state;
    for (int n = 0; n < 2; n++) {
        struct world *w = sharing_open("themis", "1x1:k80", NULL);
        struct world_job *a = sharing_add(w, (double[]){1}, 10000);
        sharing_add(w, (double[]){1}, 40000);
        a->job.app_left = n == 0 ? 0 : 30000;
        for (int r = 0; r < 200; r++)
            world_round(w);
        run_s[n] = a->job.run_s;
        sharing_close(w);
    }
    assert_true(run_s[1] <= run_s[0]); /* it has longer to go: it is less behind */
}

/* ---- what is not known, and what is not true ---- */

static void jobs_of_unknown_length_share_and_end(void **state)
{
    struct world *w = sharing_open("themis", "2x1:v100,1x1:k80", NULL);

    (void)state;
    for (int i = 0; i < 8; i++) {
        struct world_job *j = sharing_add(w, (double[]){2, 1}, 8000 + 1000 * i);
        j->job.work_told = i % 3 == 0 ? NAN : i % 3 == 1 ? 0 : -1;
    }
    sharing_run(w, 5000);
    sharing_close(w);
}

/* Eleven jobs that tell the truth and one that says its work is `told` times what it is. */
static void run_with_a_liar(double told, double *out_liar_s, double *out_worst)
{
    struct world *w = sharing_open("themis", "4x1:k80", NULL);

    for (int i = 0; i < 12; i++)
        sharing_add(w, (double[]){1}, 20000 + 500 * i);
    w->all[5]->job.work_told *= told;
    sharing_run(w, 5000);
    *out_liar_s = w->all[5]->end_s;
    *out_worst = 0;
    for (int i = 0; i < 12; i++)
        if (i != 5)
            *out_worst = fmax(*out_worst, w->all[i]->end_s / (3 * w->all[i]->job.model.work));
    sharing_close(w);
}

static void nobody_ends_sooner_for_lying_about_its_work_nor_others_later(void **state)
{
    struct base_rand rand;
    double truth_s, worst, liar_s, others;

    (void)state;
    base_rand_init(&rand, 1, "liars");
    run_with_a_liar(1, &truth_s, &worst);
    for (int n = 0; n < property_count(50); n++) {
        double told = exp(base_rand_range(&rand, -5, 5));
        run_with_a_liar(told, &liar_s, &others);
        if (liar_s < truth_s - LEASE_S || others > fmax(worst, 1))
            fail_msg("told %g: ends after %g s, with the truth %g; worst of others %g, %g", told,
                     liar_s, truth_s, others, worst);
    }
}

/* ---- jobs that adapt ---- */

static const struct sched_adapt_kind known_kinds[] = {
    {.local_max = 512, .gpus_seen = 4, .speed = {0.01, 0.001, 0.02, 0.001, 0.01, 0.001, 1.5}},
};
static const struct sched_adapt known = {.gpus_max = 16,
                                         .batch_initial = 128,
                                         .batch_max = 4096,
                                         .local_min = 16,
                                         .grad_sqr = 1,
                                         .grad_var = 1000,
                                         .kind = known_kinds};

static void jobs_that_adapt_get_sizes_within_twice_what_they_measured(void **state)
{
    static struct world w;
    uint32_t most = 0, all = 0;

    (void)state;
    world_open(&w, sched_policy_find("themis", NULL), 1, "4x4:t4");
    world_begin(&w);
    for (int i = 0; i < 5; i++)
        world_add_seconds(&w, 1, 40000)->job.adapt = &known;
    world_decide(&w);
    for (size_t i = 0; i < w.job_count; i++) {
        const struct sched_grant *g = sched_plan_grant(w.plan, i);
        assert_non_null(g);
        assert_true(g->alloc.gpus <= 8 && g->adapted);
        most = g->alloc.gpus > most ? g->alloc.gpus : most;
        all += g->alloc.gpus;
    }
    assert_true(most > 1 && all >= 15);
    world_close(&w);
}

static void one_job_that_adapts_grows_as_far_as_it_was_measured(void **state)
{
    static struct world w;

    (void)state;
    world_open(&w, sched_policy_find("themis", NULL), 1, "4x4:t4");
    world_begin(&w);
    world_add_seconds(&w, 1, 40000)->job.adapt = &known;
    world_decide(&w);
    assert_int_equal(sched_plan_grant(w.plan, 0)->alloc.gpus, 8);
    world_close(&w);
}

/* Synchronisation takes a minute: what is known says that two GPUs are slower than one. A short job
 * wins them all. */
static void who_waits_with_bids_that_contradict_each_other_is_told(void **state)
{
    static struct world w;

    (void)state;
    world_open(&w, sched_policy_find("themis", NULL), 1, "1x8:t4");
    world_set(&w, "f=0");
    world_begin(&w);
    world_add_seconds(&w, 8, 1200);
    struct world_job *j = world_add_adaptive(&w, 1, 8, 1, 400000);
    j->adapt.kind[0].speed.local_s = 60;
    j->adapt.known.version++;
    world_decide(&w);
    assert_true(sched_plan_has(w.plan, 0) && !sched_plan_has(w.plan, 1));
    assert_true(sched_plan_why(w.plan, 1, false).cleaned);
    world_close(&w);
}

/* ---- all together ---- */

static void arrive(struct world *w, const struct sched_adapt *adapt)
{
    uint32_t kinds, gpus = world_random_gang(w, &kinds);
    struct world_job *j =
        world_add(w, gpus, kinds, sched_model_duration(base_rand_exp(&w->rand, 3000) + 1));

    if (base_rand_below(&w->rand, 3) == 0)
        j->job.adapt = adapt;
    if (base_rand_below(&w->rand, 2) == 0 && j->job.id > 0)
        j->job.app = w->all[base_rand_below(&w->rand, j->job.id)]->job.app;
    if (base_rand_below(&w->rand, 4) == 0)
        j->job.work_told = base_rand_below(&w->rand, 2) == 0 ? NAN : 1;
    if (base_rand_below(&w->rand, 4) == 0)
        j->job.app_left = base_rand_exp(&w->rand, 10000);
}

static void sweeps_and_jobs_that_adapt_end_under_any_load(void **state)
{
    static struct world w;
    struct sched_adapt_kind kinds[3];
    char spec[200];

    (void)state;
    for (int seed = 1; seed <= property_count(60); seed++) {
        struct base_rand rand;
        struct sched_adapt adapt = known;
        base_rand_init(&rand, (uint64_t)seed, "cluster");
        world_random_spec(&rand, spec, sizeof spec);
        world_open(&w, sched_policy_find("themis", NULL), (uint64_t)seed, spec);
        w.restart_s = seed % 2 == 0 ? 30 : 0;
        world_begin(&w);
        for (int k = 0; k < 3; k++) {
            kinds[k] = known_kinds[0];
            kinds[k].gpus_seen = (uint32_t)base_rand_below(&rand, 5);
        }
        adapt.kind = kinds;
        for (int r = 0; r < 10000 && (r < 40 || w.job_count > 0); r++) {
            for (uint64_t n = r < 40 ? base_rand_below(&w.rand, 4) : 0; n > 0; n--)
                arrive(&w, &adapt);
            world_round(&w);
        }
        WORLD_CLAIM(&w, w.job_count == 0, "%zu jobs never finish", w.job_count);
        world_close(&w);
    }
}

/* ---- published jobs ---- */

static struct sim_metrics run_trace(shoal_env *env, const struct sim_trace *trace,
                                    const struct sched_cluster *cluster, const char *policy,
                                    double round_s)
{
    struct sim_opts o;
    struct sim_result *r = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    sim_opts_init(&o);
    o.policy = sched_policy_find(policy, NULL);
    o.how.round_s = round_s;
    if (sim_run(env, trace, cluster, &o, &r, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    struct sim_metrics m = r->metrics;
    sim_result_free(r);
    return m;
}

/* The 96 jobs that Gavel is measured by: none is worse off than alone on a share of its own, and the
 * cluster is as busy as under max-min. */
static void on_gavels_jobs_nobody_is_worse_off_than_alone(void **state)
{
    static const double rounds_s[] = {360, 60, 120, 600};
    struct public_data data;
    struct sched_cluster cluster;
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    char table[512];

    (void)state;
    public_data_init(&data);
    strcpy(table, public_data_file(&data, "gavel/simulation_throughputs.json.xz", NULL));
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    assert_int_equal(
        sched_cluster_parse(&base_alloc_libc, "8x1:v100,16x1:p100,24x1:k80", &cluster, &err),
        SHOAL_OK);
    struct sim_trace *trace = world_load(
        env, public_data_file(&data, "gavel/max_min_fairness.trace", NULL), SIM_FORMAT_AUTO);
    assert_int_equal(sim_trace_bind(env, trace, &cluster, table, &err), SHOAL_OK);
    for (size_t i = 0; i < BASE_COUNT(rounds_s); i++) {
        struct sim_metrics ours = run_trace(env, trace, &cluster, "themis", rounds_s[i]);
        struct sim_metrics peer = run_trace(env, trace, &cluster, "max-min", rounds_s[i]);
        assert_int_equal(ours.finished, 96);
        if (ours.worst_rho > 1 || ours.utilization < 0.95 * peer.utilization)
            fail_msg("rounds of %g s: worst rho %g, busy %g, under max-min %g", rounds_s[i],
                     ours.worst_rho, ours.utilization, peer.utilization);
    }
    sim_trace_free(trace);
    sched_cluster_fini(&cluster);
    shoal_env_free(env);
    public_data_fini(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_ends_later_than_on_a_share_of_its_own),
        cmocka_unit_test(who_fell_behind_goes_first),
        cmocka_unit_test(a_gang_of_the_whole_cluster_gets_its_turn),
        cmocka_unit_test(turns_last_longer_than_a_round),
        cmocka_unit_test(a_lease_of_the_driver_is_kept_too),
        cmocka_unit_test(jobs_of_a_sweep_count_as_one),
        cmocka_unit_test(a_sweep_is_no_further_behind_for_jobs_that_ended),
        cmocka_unit_test(work_still_to_be_handed_out_counts_as_the_apps),
        cmocka_unit_test(jobs_of_unknown_length_share_and_end),
        cmocka_unit_test(nobody_ends_sooner_for_lying_about_its_work_nor_others_later),
        cmocka_unit_test(jobs_that_adapt_get_sizes_within_twice_what_they_measured),
        cmocka_unit_test(who_waits_with_bids_that_contradict_each_other_is_told),
        cmocka_unit_test(one_job_that_adapts_grows_as_far_as_it_was_measured),
        cmocka_unit_test(sweeps_and_jobs_that_adapt_end_under_any_load),
        cmocka_unit_test(on_gavels_jobs_nobody_is_worse_off_than_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
