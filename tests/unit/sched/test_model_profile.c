/* test_model_profile.c - interpolation of measured step times, choice of the batch, and efficiency,
 * by property on random profiles; the published ones are held to the same where they are at hand.
 */
#include "unit/sim/public_data.h"

#include "property.h"

#include "base/assert.h"
#include "base/rand.h"
#include "env/env.h"
#include "sched/model_profile.h"
#include "shoal/goodput.h"
#include "sim/profile.h"
#include <dirent.h>
#include <math.h>

/* ---- random profiles ---- */

enum { COLUMNS = 7, PLACEMENTS = 4, POINTS = 6, EPOCHS = 5, VALIDATED = 4 };

struct sample {
    double local[COLUMNS + PLACEMENTS][POINTS];
    double step[COLUMNS + PLACEMENTS][POINTS], sync[COLUMNS + PLACEMENTS][POINTS];
    struct sched_profile_column columns[COLUMNS], placements[PLACEMENTS];
    uint32_t validated[VALIDATED];
    double progress_end[EPOCHS], grad_sqr[VALIDATED * EPOCHS], grad_var[VALIDATED * EPOCHS];
    struct sched_profile profile;
};

static const struct {
    uint32_t nodes, gpus;
} shapes[COLUMNS] = {{1, 1}, {1, 2}, {2, 2}, {1, 4}, {4, 4}, {2, 8}, {8, 8}};
static const uint64_t placement_keys[PLACEMENTS] = {4, 13, 112, 1132};

static void random_column(struct sample *s, struct base_rand *rand, uint32_t n,
                          struct sched_profile_column *c)
{
    double local = 1, slope = base_rand_range(rand, 0.001, 0.02);

    c->count = 2 + (uint32_t)base_rand_below(rand, POINTS - 1);
    for (uint32_t i = 0; i < c->count; i++) {
        local += (double)(1 + base_rand_below(rand, 40));
        s->local[n][i] = local;
        s->step[n][i] = 0.05 + slope * local * base_rand_range(rand, 0.8, 1.2);
        s->sync[n][i] = s->step[n][i] * base_rand_unit(rand);
    }
    c->local = s->local[n];
    c->step_s = s->step[n];
    c->sync_s = s->sync[n];
}

static void random_sample(struct sample *s, uint64_t seed)
{
    struct base_rand rand;
    double end = 0;

    *s = (struct sample){.validated = {64, 128, 512, 1024}};
    base_rand_init(&rand, seed, "profile");
    for (uint32_t n = 0; n < COLUMNS; n++) {
        s->columns[n] =
            (struct sched_profile_column){.nodes = shapes[n].nodes, .gpus = shapes[n].gpus};
        random_column(s, &rand, n, &s->columns[n]);
    }
    for (uint32_t n = 0; n < PLACEMENTS; n++) {
        s->placements[n] = (struct sched_profile_column){.placement = placement_keys[n]};
        random_column(s, &rand, COLUMNS + n, &s->placements[n]);
    }
    for (uint32_t e = 0; e < EPOCHS; e++) {
        s->progress_end[e] = end += base_rand_range(&rand, 10, 100);
        for (uint32_t v = 0; v < VALIDATED; v++) {
            s->grad_sqr[v * EPOCHS + e] = base_rand_range(&rand, 0.01, 1);
            s->grad_var[v * EPOCHS + e] = base_rand_range(&rand, 0.01, 10);
        }
    }
    s->profile = (struct sched_profile){.name = "sample",
                                        .batch_initial = 64,
                                        .batch_max = 1024,
                                        .epochs = EPOCHS,
                                        .progress_end = s->progress_end,
                                        .validated_count = VALIDATED,
                                        .validated = s->validated,
                                        .grad_sqr = s->grad_sqr,
                                        .grad_var = s->grad_var};
    s->profile.kinds[0] = (struct sched_profile_kind){.placements = s->placements,
                                                      .placement_count = PLACEMENTS,
                                                      .columns = s->columns,
                                                      .column_count = COLUMNS,
                                                      .local_max = 100,
                                                      .nodes_max = 8};
}

/* The digits of `key` as places on nodes of increasing number, from digit `from` on. */
static uint32_t rotated(uint64_t key, uint32_t from, struct sched_place *places)
{
    uint32_t count = 0;

    for (uint64_t k = key; k > 0; k /= 10)
        count++;
    for (uint32_t i = count; i-- > 0; key /= 10)
        places[(from + i) % count] = (struct sched_place){.node = i, .gpus = (uint32_t)(key % 10)};
    return count;
}

/* `gpus` over `nodes` nodes in a way no placement of the samples has. */
static uint32_t spread(uint32_t nodes, uint32_t gpus, struct sched_place *places)
{
    for (uint32_t i = 0; i < nodes; i++)
        places[i] = (struct sched_place){.node = i, .gpus = gpus / nodes + (i < gpus % nodes)};
    return nodes;
}

static double step_at(const struct sched_profile_kind *kind, const struct sched_place *places,
                      uint32_t count, double local)
{
    double step = -1, sync = -1;

    assert_true(sched_profile_step(kind, places, count, local, &step, &sync));
    assert_true(isfinite(step) && step > 0 && sync <= step * (1 + 1e-9));
    return step;
}

static void near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-9 * fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

static void within(double x, double a, double b)
{
    double lo = fmin(a, b), hi = fmax(a, b);

    if (!(x >= lo - 1e-9 * hi && x <= hi + 1e-9 * hi))
        fail_msg("%g is not between %g and %g", x, lo, hi);
}

/* ---- step times ---- */

static struct sample sample;

static void measured_points_are_met_exactly_and_rotations_are_one_placement(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(50); seed++) {
        struct sched_place places[8];
        random_sample(&sample, seed);
        const struct sched_profile_kind *kind = &sample.profile.kinds[0];
        for (uint32_t n = 0; n < PLACEMENTS; n++)
            for (uint32_t from = 0; from < 4; from++)
                for (uint32_t i = 0; i < sample.placements[n].count; i++) {
                    uint32_t count = rotated(placement_keys[n], from, places);
                    near(step_at(kind, places, count, sample.placements[n].local[i]),
                         sample.placements[n].step_s[i]);
                }
        for (uint32_t n = 0; n < COLUMNS; n++) {
            if (shapes[n].nodes == 1 && shapes[n].gpus == 4)
                continue; /* that placement was measured itself */
            uint32_t count = spread(shapes[n].nodes, shapes[n].gpus, places);
            for (uint32_t i = 0; i < sample.columns[n].count; i++)
                near(step_at(kind, places, count, sample.columns[n].local[i]),
                     sample.columns[n].step_s[i]);
        }
    }
}

/* Between measured batches, between measured node counts, and between measured GPU counts. */
static void values_between_measured_points_lie_between_them(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(200); seed++) {
        struct sched_place places[8];
        struct base_rand rand;
        base_rand_init(&rand, seed, "probe");
        random_sample(&sample, seed);
        const struct sched_profile_kind *kind = &sample.profile.kinds[0];
        for (uint32_t n = 0; n < PLACEMENTS; n++) {
            const struct sched_profile_column *c = &sample.placements[n];
            uint32_t i = (uint32_t)base_rand_below(&rand, c->count - 1);
            double local = base_rand_range(&rand, c->local[i], c->local[i + 1]);
            within(step_at(kind, places, rotated(placement_keys[n], 0, places), local),
                   c->step_s[i], c->step_s[i + 1]);
        }
        /* 8 GPUs on 2 .. 8 nodes: the corners are the two columns at the two batches around */
        const struct sched_profile_column *few = &sample.columns[5];
        for (uint32_t nodes = 3; nodes < 8; nodes++) {
            uint32_t i = (uint32_t)base_rand_below(&rand, few->count - 1);
            double local = base_rand_range(&rand, few->local[i], few->local[i + 1]), lo = INFINITY,
                   hi = 0;
            for (uint32_t corner = 0; corner < 4; corner++) {
                uint32_t at = spread(corner / 2 != 0 ? 8 : 2, 8, places);
                double t = step_at(kind, places, at, few->local[i + corner % 2]);
                lo = fmin(lo, t);
                hi = fmax(hi, t);
            }
            within(step_at(kind, places, spread(nodes, 8, places), local), lo, hi);
        }
        /* 3, 5, 6, 7 GPUs lie between their neighbours 2, 4 and 8 */
        static const uint32_t odd[][3] = {{3, 2, 4}, {5, 4, 8}, {6, 4, 8}, {7, 4, 8}};
        for (uint32_t n = 0; n < BASE_COUNT(odd); n++) {
            double local = base_rand_range(&rand, 1, 100);
            double t = step_at(kind, places, spread(2, odd[n][0], places), local);
            within(t, step_at(kind, places, spread(2, odd[n][1], places), local),
                   step_at(kind, places, spread(2, odd[n][2], places), local));
        }
    }
}

static void step_time_has_no_jumps_in_the_batch(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(50); seed++) {
        struct sched_place places[8];
        const double h = 1e-5;
        random_sample(&sample, seed);
        const struct sched_profile_kind *kind = &sample.profile.kinds[0];
        for (uint32_t nodes = 2; nodes <= 8; nodes++) {
            uint32_t count = spread(nodes, 8, places);
            const struct sched_profile_column *few = &sample.columns[5];
            for (uint32_t i = 0; i + 1 < few->count; i++) {
                /* across the diagonal of the cell, and across its upper edge */
                double b0 = few->local[i], width = few->local[i + 1] - b0;
                double diagonal = b0 + width * (1 - (double)(nodes - 2) / 6);
                double jump = fabs(step_at(kind, places, count, diagonal + h) -
                                   step_at(kind, places, count, diagonal - h));
                double edge = fabs(step_at(kind, places, count, b0 + width + h) -
                                   step_at(kind, places, count, b0 + width - h));
                assert_true(jump < 10 * h && edge < 10 * h); /* slopes are below 2 s per example */
            }
        }
    }
}

static void batches_outside_the_range_stay_positive_and_unmeasured_sizes_are_refused(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(50); seed++) {
        struct sched_place places[20];
        double step = -1, sync = -1;
        random_sample(&sample, seed);
        const struct sched_profile_kind *kind = &sample.profile.kinds[0];
        for (uint32_t nodes = 1; nodes <= 8; nodes++)
            for (double local = 0.5; local < 1e6; local *= 3)
                step_at(kind, places, spread(nodes, 8, places), local);
        assert_false(sched_profile_step(kind, places, spread(4, 9, places), 10, &step, &sync));
        assert_false(sched_profile_step(kind, places, spread(20, 40, places), 10, &step, &sync));
        assert_true(step == -1 && sync == -1);
    }
}

/* ---- the model ---- */

static struct sched_batch batch_on(const struct sched_profile *p, uint32_t batch, uint32_t gpus)
{
    struct sched_place place = {.gpus = gpus};
    struct sched_alloc a = {.places = &place, .place_count = 1, .gpus = gpus};
    struct sched_model m = sched_model_profile(p, batch);

    return m.ops->choose_batch(&m, &a);
}

static void the_batch_is_split_evenly_fits_the_gpus_and_stays_under_the_limit(void **state)
{
    struct base_rand rand;

    (void)state;
    random_sample(&sample, 1);
    base_rand_init(&rand, 1, "batches");
    for (int n = 0; n < property_count(2000); n++) {
        struct sched_profile *p = &sample.profile;
        p->kinds[0].local_max = 1 + (uint32_t)base_rand_below(&rand, 300);
        p->batch_initial = 1 + (uint32_t)base_rand_below(&rand, 256);
        p->batch_max = p->batch_initial * (1 + (uint32_t)base_rand_below(&rand, 16));
        uint32_t gpus = 1 + (uint32_t)base_rand_below(&rand, 16), total = p->batch_initial;
        if (base_rand_below(&rand, 3) != 0)
            total = 1 + (uint32_t)base_rand_below(&rand, p->batch_max);
        struct sched_batch b =
            batch_on(p, n % 2 != 0 && total == p->batch_initial ? 0 : total, gpus);
        uint64_t used = (uint64_t)b.local * b.passes * gpus;
        assert_true(b.local >= 1 && b.local <= p->kinds[0].local_max && b.passes >= 1);
        assert_true(used <= p->batch_max || b.local == 1);
        /* at least what was asked for, unless the limit cut it; never a whole pass too much */
        assert_true(used >= total || (uint64_t)(b.local + 1) * b.passes * gpus > p->batch_max);
        assert_true(used < total + 2ul * gpus * b.passes);
        /* no more passes than needed, but two on a single GPU with more than the initial batch */
        uint32_t needed =
            (total + gpus * p->kinds[0].local_max - 1) / (gpus * p->kinds[0].local_max);
        bool two = gpus == 1 && total > p->batch_initial && needed < 2;
        assert_int_equal(b.passes, two ? 2 : needed);
    }
}

static void a_step_counts_as_one_at_the_initial_batch_and_as_less_than_its_share_above(void **state)
{
    struct sched_place place = {.gpus = 1};
    struct sched_alloc a = {.places = &place, .place_count = 1, .gpus = 1};

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(50); seed++) {
        double until = 0;
        random_sample(&sample, seed);
        struct sched_model m = sched_model_profile(&sample.profile, 0);
        near(m.work, sample.progress_end[EPOCHS - 1]);
        for (uint32_t e = 0; e < EPOCHS; e++) {
            double progress = e == 0 ? 0 : sample.progress_end[e - 1];
            near(m.ops->progress_per_step(&m, &a, (struct sched_batch){64, 1}, progress, &until),
                 1);
            near(until, sample.progress_end[e]);
            for (uint32_t local = 65; local <= 1024; local += 37) {
                double gain = m.ops->progress_per_step(&m, &a, (struct sched_batch){local, 1},
                                                       progress, &until);
                assert_true(gain > 1 && gain <= local / 64.0);
            }
            /* a validated batch uses its own measurement: (v + q) / (v / S + q) */
            double q = sample.grad_sqr[2 * EPOCHS + e], v = sample.grad_var[2 * EPOCHS + e];
            near(m.ops->progress_per_step(&m, &a, (struct sched_batch){256, 2}, progress, &until),
                 (v + q) / (v / 8 + q));
        }
    }
}

/* What a job measures of itself explains how it gets on: steps of any number of passes, and the gain. */
static void what_a_job_observes_gives_its_rate(void **state)
{
    struct sched_place places[8];

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(50); seed++) {
        struct sched_observed seen;
        struct sched_limits limits;
        double until;
        random_sample(&sample, seed);
        struct sched_model m = sched_model_profile(&sample.profile, 0);
        struct sched_alloc a = {places, spread(2, 8, places), 8, 0};
        m.ops->limits(&m, &limits);
        assert_int_equal(limits.batch_initial, 64);
        assert_int_equal(limits.batch_max, 1024);
        assert_int_equal(limits.local_max[0], 100);
        assert_int_equal(limits.local_max[1], 0);
        for (uint32_t passes = 1; passes < 4; passes++) {
            struct sched_batch batch = {10 + (uint32_t)seed, passes};
            double progress = sample.progress_end[seed % EPOCHS] * 0.999;
            assert_true(m.ops->observe(&m, &a, batch, progress, &seen));
            assert_true(seen.pass_s >= 0 && seen.pass_s <= seen.step_s);
            if (passes == 1 || seen.pass_s < seen.step_s)
                near(m.ops->time_per_step(&m, &a, batch, NULL),
                     seen.step_s + (passes - 1) * seen.pass_s);
            near(m.ops->progress_per_step(&m, &a, batch, progress, &until),
                 shoal_goodput_gain(seen.grad_sqr, seen.grad_var, batch.local * passes * 8 / 64.0));
        }
        a = (struct sched_alloc){places, spread(4, 9, places), 9, 0};
        seen.step_s = -1;
        assert_false(m.ops->observe(&m, &a, (struct sched_batch){10, 1}, 0, &seen));
        assert_true(seen.step_s == -1);
    }
}

static void accumulation_synchronises_once_per_step(void **state)
{
    struct sched_place places[4];
    double step, sync;

    (void)state;
    random_sample(&sample, 7);
    struct sched_model m = sched_model_profile(&sample.profile, 0);
    struct sched_alloc a = {places, spread(2, 8, places), 8, 0};
    assert_true(sched_profile_step(&sample.profile.kinds[0], places, 2, 30, &step, &sync));
    for (uint32_t passes = 1; passes < 5; passes++)
        near(m.ops->time_per_step(&m, &a, (struct sched_batch){30, passes}, NULL),
             step + (passes - 1) * (step - sync));
    assert_true(isinf(m.ops->time_per_step(&m, &a, (struct sched_batch){30, 1}, &m)));
}

static void a_kind_without_a_profile_cannot_run_it(void **state)
{
    struct sched_place place = {.gpus = 2};
    struct sched_alloc a = {.places = &place, .place_count = 1, .gpus = 2, .kind = 3};
    double until;

    (void)state;
    random_sample(&sample, 1);
    struct sched_model m = sched_model_profile(&sample.profile, 0);
    assert_true(sched_model_rate(&m, &a, NULL, 0, &until) == 0);
}

/* Total time is the sum over epochs of progress / (progress per step / time per step). */
static void ideal_time_adds_up_the_epochs(void **state)
{
    struct sched_cluster cluster;

    (void)state;
    assert_int_equal(sched_cluster_parse(&base_alloc_libc, "4x4:t4", &cluster, NULL), SHOAL_OK);
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(20); seed++) {
        struct sched_place places[2] = {{0, 4}, {1, 4}};
        struct sched_alloc a = {places, 2, 8, 0};
        double sum = 0, until, before = 0;
        random_sample(&sample, seed);
        struct sched_model m = sched_model_profile(&sample.profile, 512);
        for (uint32_t e = 0; e < EPOCHS; e++) {
            sum +=
                (sample.progress_end[e] - before) / sched_model_rate(&m, &a, NULL, before, &until);
            before = sample.progress_end[e];
        }
        near(sched_model_ideal_s(&m, &cluster, 0, 8, 0), sum);
    }
    sched_cluster_fini(&cluster);
}

/* ---- the published profiles ---- */

static void check_published(const struct sched_profile *p)
{
    const struct sched_profile_kind *kind = &p->kinds[0];
    struct sched_place places[32];

    assert_true(p->epochs > 0 && p->validated_count > 0 && kind->column_count > 0);
    for (uint32_t n = 0; n < kind->placement_count; n++) {
        const struct sched_profile_column *c = &kind->placements[n];
        assert_true(n == 0 || kind->placements[n - 1].placement < c->placement);
        for (uint32_t from = 0; from < 3; from++) {
            uint32_t count = rotated(c->placement, from, places);
            for (uint32_t i = 0; i < c->count; i++)
                near(step_at(kind, places, count, c->local[i]), c->step_s[i]);
        }
    }
    for (uint32_t gpus = 1; gpus <= 16; gpus++) /* every size up to 16 can be asked for */
        for (uint32_t nodes = (gpus + 3) / 4; nodes <= gpus; nodes++)
            step_at(kind, places, spread(nodes, gpus, places), kind->local_max);
}

static void published_profiles_keep_the_same_rules(void **state)
{
    struct public_data data;
    struct sched_cluster cluster;
    struct sim_profiles *profiles = NULL;
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    uint32_t apps = 0, kinds;

    (void)state;
    public_data_init(&data);
    const char *dir = public_data_file(&data, "pollux/pollux_osdi21_profiles.tar.xz", "traces");
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    assert_int_equal(sched_cluster_parse(&base_alloc_libc, "16x4:t4", &cluster, NULL), SHOAL_OK);
    if (sim_profiles_open(env, dir, &cluster, &profiles, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    DIR *listing = opendir(dir);
    assert_non_null(listing);
    for (struct dirent *e; (e = readdir(listing)) != NULL;) {
        struct sched_model m;
        if (e->d_name[0] == '.')
            continue;
        if (sim_profiles_bind(profiles, e->d_name, 4, 0, &m, &kinds, &err) != SHOAL_OK)
            fail_msg("%s: %s", e->d_name, err.message);
        assert_int_equal(kinds, 1);
        check_published(m.data);
        double seconds = sched_model_ideal_s(&m, &cluster, 0, 4, 0);
        assert_true(isfinite(seconds) && seconds > 60);
        apps++;
    }
    closedir(listing);
    assert_true(apps > 0);
    sim_profiles_free(profiles);
    sched_cluster_fini(&cluster);
    shoal_env_free(env);
    public_data_fini(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_points_are_met_exactly_and_rotations_are_one_placement),
        cmocka_unit_test(values_between_measured_points_lie_between_them),
        cmocka_unit_test(step_time_has_no_jumps_in_the_batch),
        cmocka_unit_test(batches_outside_the_range_stay_positive_and_unmeasured_sizes_are_refused),
        cmocka_unit_test(the_batch_is_split_evenly_fits_the_gpus_and_stays_under_the_limit),
        cmocka_unit_test(
            a_step_counts_as_one_at_the_initial_batch_and_as_less_than_its_share_above),
        cmocka_unit_test(what_a_job_observes_gives_its_rate),
        cmocka_unit_test(accumulation_synchronises_once_per_step),
        cmocka_unit_test(a_kind_without_a_profile_cannot_run_it),
        cmocka_unit_test(ideal_time_adds_up_the_epochs),
        cmocka_unit_test(published_profiles_keep_the_same_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
