/* Tests of src/sched/policy/shoal.c and what it is made of: sizes.h, settle.h, remain.h. */
#include "unit/sched/rules.h"

extern const struct sched_policy sched_policy_shoal;

static struct world w, twin;

static void open_world(struct world *to, uint64_t seed, const char *spec, const char *const *sets,
                       size_t count)
{
    world_open(to, &sched_policy_shoal, seed, spec);
    for (size_t i = 0; i < count; i++)
        world_set(to, sets[i]);
    world_begin(to);
}

static uint32_t all_kinds(const struct world *of)
{
    return (1u << of->cluster.kind_count) - 1;
}

/* ---- what it maximises, by brute force ---- */

enum { SIZES = 16, JOBS = 4 };

struct option {
    uint32_t kind, gpus;
    double value;
};

/* What one job could have, by the words of the essay: weight times speedup over one GPU. */
struct want {
    struct option options[SIZES];
    uint32_t count;
    double size_s;
};

static void fill_want(const struct sched_job *j, struct want *out)
{
    double one = 0;

    *out = (struct want){.count = 0};
    for (uint32_t k = 0; k < w.cluster.kind_count; k++)
        for (uint32_t g = 1; g <= w.cluster.kinds[k].gpus && g <= j->adapt->gpus_max; g++) {
            if ((g & (g - 1)) != 0 && g != w.cluster.kinds[k].node_gpus_max)
                continue; /* no size of ours */
            double speed = sched_adapt_choose(j->adapt, w.cluster.kind_count, k, 1, g).goodput;
            if (g == 1)
                one = fmax(one, speed);
            if (speed > 0)
                out->options[out->count++] = (struct option){k, g, speed};
        }
    for (uint32_t i = 0; i < out->count; i++)
        out->options[i].value /= one;
    out->size_s = (j->work_told - j->progress) / one;
}

/* heSRPT's weights: rank 1 has most left. */
static void weigh(struct want *wants, size_t count, double power)
{
    double e = 1 / (1 - power);

    for (size_t i = 0; i < count; i++) {
        double rank = 1;
        for (size_t n = 0; n < count; n++)
            rank += wants[n].size_s > wants[i].size_s;
        double c = pow(pow(rank, e) - pow(rank - 1, e), 1 - power);
        for (uint32_t o = 0; o < wants[i].count; o++)
            wants[i].options[o].value *= c;
    }
}

static double best_of_all(const struct want *wants, size_t count, uint32_t *left)
{
    if (count == 0)
        return 0;
    double best = best_of_all(wants + 1, count - 1, left);
    for (uint32_t o = 0; o < wants->count; o++) {
        const struct option *opt = &wants->options[o];
        if (opt->gpus > left[opt->kind])
            continue;
        left[opt->kind] -= opt->gpus;
        best = fmax(best, opt->value + best_of_all(wants + 1, count - 1, left));
        left[opt->kind] += opt->gpus;
    }
    return best;
}

static double value_of_plan(const struct want *wants)
{
    double value = 0;

    for (size_t i = 0; i < w.job_count; i++) {
        const struct sched_grant *g = sched_plan_grant(w.plan, i);
        for (uint32_t o = 0; g != NULL && o < wants[i].count; o++)
            if (wants[i].options[o].kind == g->alloc.kind &&
                wants[i].options[o].gpus == g->alloc.gpus)
                value += wants[i].options[o].value;
    }
    return value;
}

static void the_sizes_chosen_are_as_good_as_is_proven(void **state)
{
    static const char *const sets[] = {"rho=0", "patience=0s", "proof=0", "power=0.5"};
    double lost = 0;
    int runs = property_count(200);

    (void)state;
    for (int seed = 1; seed <= runs; seed++) {
        struct want wants[JOBS];
        uint32_t left[2] = {4, 4};
        double gap = 0;
        open_world(&w, (uint64_t)seed, seed % 2 != 0 ? "1x4:t4" : "1x4:t4,1x4:a100", sets, 4);
        for (int i = 0; i < 2 + seed % 3; i++) {
            struct world_job *j =
                world_add_adaptive(&w, 1, 4, all_kinds(&w), base_rand_range(&w.rand, 5000, 50000));
            j->adapt.known.grad_var = exp(base_rand_range(&w.rand, -1, 8));
        }
        world_decide(&w);
        rules_check(&w);
        for (size_t i = 0; i < w.job_count; i++)
            fill_want(w.jobs[i], &wants[i]);
        weigh(wants, w.job_count, 0.5);
        double best = best_of_all(wants, w.job_count, left), value = value_of_plan(wants);
        (void)sched_plan_unproven(w.plan, &gap);
        assert_true(value <= best * 1.02); /* sizes.h interpolates */
        assert_true(value >= best * (1 - gap) * 0.98);
        lost += 1 - value / best;
        world_close(&w);
    }
    assert_true(lost / runs < 0.01);
}

/* Two jobs, power 0.5: c = 1 for the larger, sqrt(3) for the smaller. Both scale perfectly on a node
 * of 4 up to 3 GPUs each: the smaller gets 3, the larger 1; with weight 2 the larger gets 3. */
static void the_smaller_of_two_jobs_comes_first_by_the_weights_of_hesrpt(void **state)
{
    static const char *const sets[] = {"rho=0", "patience=0s", "power=0.5"};

    (void)state;
    for (int heavy = 0; heavy < 2; heavy++) {
        open_world(&w, 1, "4x1:t4", sets, 3);
        for (int i = 0; i < 2; i++) {
            struct world_job *j = world_add_adaptive(&w, 1, 3, 1, i == 0 ? 40000 : 10000);
            j->adapt.kind[0].speed.node_s = j->adapt.kind[0].speed.node_each_s = 1e-9;
            j->adapt.known.grad_var = 1e12;
            j->job.weight = i == 0 && heavy ? 2 : 1;
        }
        world_decide(&w);
        assert_int_equal(sched_plan_grant(w.plan, 0)->alloc.gpus, heavy ? 3 : 1);
        assert_int_equal(sched_plan_grant(w.plan, 1)->alloc.gpus, heavy ? 1 : 3);
        world_close(&w);
    }
}

/* ---- turns ---- */

/* All are behind their share all the time: they take turns, but not one after each start. */
static void rigid_jobs_that_take_turns_keep_them_until_the_start_has_paid(void **state)
{
    enum { ROUNDS = 500, GANGS = 4 };
    uint32_t starts = 0;

    (void)state;
    open_world(&w, 1, "1x4:t4", NULL, 0);
    w.restart_s = w.round_s / 2;
    for (int i = 0; i < GANGS; i++)
        world_add_seconds(&w, 4, 5000 + 10 * i);
    for (int r = 0; r < ROUNDS && w.job_count > 0; r++) {
        world_decide(&w);
        rules_check(&w);
        world_apply(&w);
        world_pass(&w, w.round_s);
    }
    assert_int_equal(w.job_count, 0);
    for (size_t i = 0; i < GANGS; i++)
        starts += w.all[i]->job.starts;
    assert_true(starts > GANGS && starts <= GANGS + w.now_s / (10 * w.restart_s));
    world_close(&w);
}

/* ---- kinds of jobs ---- */

static void rigid_scale_only_and_adaptive_jobs_run_side_by_side(void **state)
{
    (void)state;
    open_world(&w, 1, "2x4:t4,1x8:a100", NULL, 0);
    struct world_job *rigid = world_add_seconds(&w, 4, 600);
    struct world_job *batch = world_add_adaptive(&w, 2, 8, 3, 3000);
    struct world_job *scale = world_add_adaptive(&w, 2, 8, 3, 3000);
    scale->adapt.known.batch_max = scale->adapt.known.batch_initial;
    scale->adapt.known.local_min = 1;
    for (int r = 0; r < 200 && w.job_count > 0; r++) {
        world_decide(&w);
        rules_check(&w);
        if (r == 0)
            for (size_t i = 0; i < 3; i++)
                assert_true(sched_plan_has(w.plan, i));
        world_apply(&w);
        world_pass(&w, w.round_s);
    }
    assert_true(!isnan(rigid->end_s) && !isnan(batch->end_s) && !isnan(scale->end_s));
    world_close(&w);
}

static void unknown_work_goes_by_what_a_job_has_had(void **state)
{
    static const char *const sets[] = {"rho=0", "patience=0s"};

    (void)state;
    open_world(&w, 1, "1x1:t4", sets, 2);
    for (int i = 0; i < 3; i++) {
        struct world_job *j = world_add_seconds(&w, 1, 1e6);
        j->job.work_told = NAN;
        j->job.progress = i == 1 ? 10 : 5000;
    }
    world_decide(&w);
    assert_true(!sched_plan_has(w.plan, 0) && sched_plan_has(w.plan, 1) &&
                !sched_plan_has(w.plan, 2));
    world_close(&w);
}

static void a_guess_that_is_long_exceeded_loses_its_turn(void **state)
{
    static const char *const sets[] = {"rho=0", "patience=0s"};

    (void)state;
    open_world(&w, 1, "1x1:t4", sets, 2);
    struct world_job *wrong = world_add_seconds(&w, 1, 1e6), *right = world_add_seconds(&w, 1, 600);
    wrong->job.work_told = 100;
    wrong->job.work_error = 1;
    wrong->job.progress = 20000;
    right->job.work_error = 1;
    world_decide(&w);
    assert_true(!sched_plan_has(w.plan, 0) && sched_plan_has(w.plan, 1));
    world_close(&w);
}

/* ---- places ---- */

static void hold(struct world_job *j, uint32_t node, uint32_t gpus)
{
    j->places[0] = (struct sched_place){node, gpus};
    j->job.alloc = (struct sched_alloc){j->places, 1, gpus, 0};
    j->job.starts = 1;
    j->job.submit_s = -1e5;
}

static void a_node_is_cleared_for_a_job_that_needs_it_whole(void **state)
{
    (void)state;
    open_world(&w, 1, "2x4:t4", NULL, 0);
    w.restart_s = 30;
    for (uint32_t i = 0; i < 2; i++)
        hold(world_add_seconds(&w, 1, 50000), i, 1);
    world_add_seconds(&w, 4, 100000);
    world_decide(&w);
    rules_check(&w);
    assert_int_equal(sched_plan_grant(w.plan, 2)->alloc.place_count, 1);
    assert_true(sched_plan_has(w.plan, 0) && sched_plan_has(w.plan, 1));
    assert_true(sched_plan_grant(w.plan, 0)->kept != sched_plan_grant(w.plan, 1)->kept);
    world_close(&w);
}

static void nobody_under_a_lease_is_moved_for_that(void **state)
{
    (void)state;
    open_world(&w, 1, "2x4:t4", NULL, 0);
    w.restart_s = 30;
    for (uint32_t i = 0; i < 2; i++) {
        struct world_job *j = world_add_seconds(&w, 1, 50000);
        hold(j, i, 1);
        j->job.lease_until_s = 1000;
    }
    world_add_seconds(&w, 4, 100000);
    world_decide(&w);
    rules_check(&w);
    assert_true(sched_plan_grant(w.plan, 0)->kept && sched_plan_grant(w.plan, 1)->kept);
    assert_int_equal(sched_plan_grant(w.plan, 2)->alloc.place_count, 2); /* work-conserving */
    world_close(&w);
}

static void only_those_on_a_lost_node_move(void **state)
{
    (void)state;
    open_world(&w, 1, "4x4:t4", NULL, 0);
    w.restart_s = 30;
    for (int i = 0; i < 6; i++)
        world_add_seconds(&w, 2, 50000);
    world_round(&w);
    uint32_t lost = w.jobs[0]->alloc.places[0].node;
    world_fail(&w, lost, false);
    world_decide(&w);
    rules_check(&w);
    for (size_t i = 0; i < w.job_count; i++) {
        bool was = w.jobs[i]->alloc.place_count > 0 && w.jobs[i]->alloc.places[0].node == lost;
        assert_true(sched_plan_has(w.plan, i) && sched_plan_grant(w.plan, i)->kept == !was);
    }
    world_close(&w);
}

/* ---- who comes first ---- */

static void a_job_that_waited_too_long_comes_first(void **state)
{
    static const char *const sets[] = {"rho=0", "patience=1h"};

    (void)state;
    open_world(&w, 1, "1x4:t4", sets, 2);
    world_add_seconds(&w, 4, 300);
    for (int i = 0; i < 4; i++)
        world_add_seconds(&w, 1, 100);
    world_decide(&w);
    assert_false(sched_plan_has(w.plan, 0));
    w.jobs[0]->wait_since_s = -3601;
    world_decide(&w);
    assert_true(sched_plan_has(w.plan, 0));
    w.jobs[0]->starts = 1; /* once more after twice as long */
    world_decide(&w);
    assert_false(sched_plan_has(w.plan, 0));
    w.jobs[0]->wait_since_s = -7201;
    world_decide(&w);
    assert_true(sched_plan_has(w.plan, 0));
    world_close(&w);
}

/* Where everybody waits, all would come first for a turn, and nothing else would ever be done. */
static void a_wait_is_long_beside_what_is_left(void **state)
{
    static const char *const sets[] = {"rho=0", "patience=1h"};

    (void)state;
    open_world(&w, 1, "1x4:t4", sets, 2);
    world_add_seconds(&w, 4, 1e6);
    for (int i = 0; i < 4; i++)
        world_add_seconds(&w, 1, 100);
    w.jobs[0]->wait_since_s = -1e6;
    world_decide(&w);
    assert_false(sched_plan_has(w.plan, 0));
    w.jobs[0]->wait_since_s = -1.1e7;
    world_decide(&w);
    assert_true(sched_plan_has(w.plan, 0));
    world_close(&w);
}

static void a_job_behind_its_share_comes_first(void **state)
{
    static const char *const off[] = {"rho=0", "patience=0s"};
    static const char *const on[] = {"patience=0s"};

    (void)state;
    for (int fair = 0; fair < 2; fair++) {
        open_world(&w, 1, "1x1:t4", fair ? on : off, fair ? 1 : 2);
        struct world_job *large = world_add_seconds(&w, 1, 3000);
        for (int r = 0; r < 150 && isnan(large->start_s); r++) { /* small ones for ever */
            world_add_seconds(&w, 1, 60);
            world_round(&w);
        }
        assert_int_equal(isnan(large->start_s), !fair);
        world_close(&w);
    }
}

/* ---- what is kept from before ---- */

static void add_alike(struct world *to, struct base_rand *rand)
{
    uint32_t gpus = 1 + (uint32_t)base_rand_below(rand, 4);
    struct world_job *j =
        world_add_adaptive(to, gpus, 12, all_kinds(to), base_rand_range(rand, 200, 5000));

    j->adapt.known.grad_var = exp(base_rand_range(rand, 0, 6));
}

static void plans_are_the_same_with_nothing_kept_of_sizes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(10); seed++) {
        struct base_rand a, b;
        base_rand_init(&a, seed, "jobs");
        base_rand_init(&b, seed, "jobs");
        open_world(&w, seed, "3x4:t4,2x8:a100", NULL, 0);
        open_world(&twin, seed, "3x4:t4,2x8:a100", NULL, 0);
        w.restart_s = twin.restart_s = 30;
        for (int r = 0; r < 40; r++) {
            if (r % 2 == 0) {
                add_alike(&w, &a);
                add_alike(&twin, &b);
            }
            for (size_t i = 0; i < twin.job_count; i++)
                world_job_of(twin.jobs[i])->adapt.known.version += 1000;
            world_decide(&w);
            world_decide(&twin);
            assert_int_equal(w.job_count, twin.job_count);
            for (size_t i = 0; i < w.job_count; i++) {
                const struct sched_grant *x = sched_plan_grant(w.plan, i);
                const struct sched_grant *y = sched_plan_grant(twin.plan, i);
                assert_true((x == NULL) == (y == NULL));
                assert_true(x == NULL || rules_same_places(&x->alloc, &y->alloc));
            }
            world_apply(&w);
            world_apply(&twin);
            world_pass(&w, w.round_s);
            world_pass(&twin, twin.round_s);
        }
        world_close(&w);
        world_close(&twin);
    }
}

/* ---- nonsense ---- */

/* It never ends, and may say that it is small and scales without limit. Four others, which alone on a
 * fifth of the cluster would take 3000 s each, end within rho times that, and rounding to rounds. */
static void a_job_that_reports_nonsense_keeps_the_others_from_nothing_they_are_due(void **state)
{
    static const double bad[] = {NAN, INFINITY, 0, -1, 1e300, 1e-300};

    (void)state;
    for (size_t n = 0; n < 6; n++) {
        open_world(&w, 1, "2x4:t4", NULL, 0);
        struct world_job *liar = world_add_adaptive(&w, 1, 8, 1, 3000);
        for (int i = 0; i < 4; i++)
            world_add_adaptive(&w, 1, 8, 1, 3000);
        liar->adapt.known.grad_sqr = liar->adapt.known.grad_var = bad[n];
        liar->adapt.kind[0].speed.grad_s = fabs(bad[n]) < 1e200 && bad[n] > 0 ? bad[n] : 1e-9;
        liar->job.work_told = bad[n];
        liar->job.model.work = 1e300;
        for (int r = 0; r < 200 && w.job_count > 1; r++) {
            world_decide(&w);
            rules_check(&w);
            world_apply(&w);
            world_pass(&w, w.round_s);
        }
        for (uint32_t i = 1; i < w.all_count; i++)
            assert_true(w.all[i]->end_s <= 1.1 * 3000 + 4 * w.round_s);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sizes_chosen_are_as_good_as_is_proven),
        cmocka_unit_test(the_smaller_of_two_jobs_comes_first_by_the_weights_of_hesrpt),
        cmocka_unit_test(rigid_jobs_that_take_turns_keep_them_until_the_start_has_paid),
        cmocka_unit_test(rigid_scale_only_and_adaptive_jobs_run_side_by_side),
        cmocka_unit_test(unknown_work_goes_by_what_a_job_has_had),
        cmocka_unit_test(a_guess_that_is_long_exceeded_loses_its_turn),
        cmocka_unit_test(a_node_is_cleared_for_a_job_that_needs_it_whole),
        cmocka_unit_test(nobody_under_a_lease_is_moved_for_that),
        cmocka_unit_test(only_those_on_a_lost_node_move),
        cmocka_unit_test(a_job_that_waited_too_long_comes_first),
        cmocka_unit_test(a_wait_is_long_beside_what_is_left),
        cmocka_unit_test(a_job_behind_its_share_comes_first),
        cmocka_unit_test(plans_are_the_same_with_nothing_kept_of_sizes),
        cmocka_unit_test(a_job_that_reports_nonsense_keeps_the_others_from_nothing_they_are_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
