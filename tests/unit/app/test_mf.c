/* Jobs of `mf` in simulation: what they learn, and that neither the number of workers nor what happens
 * to them changes a bit of it. */
#include "mf_world.h"

/* A quiet run; the value it reports. */
static double value_of(const char *settings, const struct world *w)
{
    struct cluster c = {.workers = 2};

    make_cluster(&c, 1, w);
    run(&c, 1, settings);
    double value = train_master_stats(c.master).value;
    end(&c, NULL);
    return value;
}

/* ---- what it has learnt, as bits ---- */

struct learnt {
    float *x;
    size_t count;
    double value;
    bool earlier; /* its model is that of an earlier epoch than the last */
};

static void take(struct learnt *l, const float *x, size_t count)
{
    l->x = realloc(l->x, (l->count + count) * sizeof *x);
    memcpy(l->x + l->count, x, count * sizeof *x);
    l->count += count;
}

static struct learnt learnt_of(struct cluster *c, bool sgd)
{
    shoal_driver *driver = train_master_driver(c->master);
    const struct mf_driver *d = shoal_driver_state(driver);
    struct learnt l = {.value = train_master_stats(c->master).value,
                       .earlier = mf_keeps_earlier(d)};
    uint64_t first, count;
    size_t size;

    for (uint32_t e = 0; e < d->executors; e++) {
        const float *item = shoal_driver_shard(driver, MF_ITEM, e, &first, &count);
        take(&l, item, count * 16);
        const float *user = sgd ? shoal_driver_executor_read(driver, e, &size)
                                : shoal_driver_shard(driver, MF_USER, e, &first, &count);
        take(&l, user, sgd ? size / sizeof *user : count * 16);
        for (uint32_t t = MF_BEST_ITEM; l.earlier && t <= MF_BEST_USER; t++) {
            const float *best = shoal_driver_shard_read(driver, t, e, &first, &count);
            take(&l, best, count * 16);
        }
    }
    return l;
}

static void check_equal(struct learnt *first, struct learnt now, uint64_t seed)
{
    if (first->x == NULL) {
        *first = now;
        return;
    }
    assert_int_equal(first->count, now.count);
    if (memcmp(first->x, now.x, now.count * sizeof *now.x) != 0 || first->value != now.value)
        fail_msg("seed %llu: another result, %.17g and not %.17g", (unsigned long long)seed,
                 now.value, first->value);
    free(now.x);
}

static const char SGD[] = "rank=5\nexecutors=6\nepochs=4\nholdout=0.1\n";
static const char ALS[] = "algorithm=als\nrank=5\nexecutors=6\nepochs=3\nholdout=0.1\n";
/* They learn the noise, and keep what they had before that. */
static const char SGD_LONG[] = "rank=12\nexecutors=6\nepochs=12\nl2=0\nholdout=0.1\n";
static const char ALS_LONG[] =
    "algorithm=als\nrank=8\nexecutors=6\nepochs=8\nl2=0.001\ntolerance=0\nholdout=0.1\n";
static const char IMPLICIT[] = "algorithm=implicit\nrank=5\nexecutors=6\nepochs=3\n";

/* ---- tests ---- */

static void any_number_of_workers_and_any_staleness_give_the_same_bits(void **state)
{
    struct learnt sgd = {0}, als = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(12); seed++) {
        struct cluster c = {.workers = 1 + (uint32_t)(seed % 5), .staleness = (uint32_t)(seed % 4)};
        make_cluster(&c, seed, &WORLD);
        run(&c, seed, SGD);
        check_equal(&sgd, learnt_of(&c, true), seed);
        assert_int_equal(train_master_stats(c.master).tasks, 4 * 2 * 6 * 6);
        end(&c, NULL);
        c = (struct cluster){.workers = 1 + (uint32_t)(seed % 5),
                             .staleness = (uint32_t)(seed % 3)};
        make_cluster(&c, seed, &WORLD);
        run(&c, seed, ALS);
        check_equal(&als, learnt_of(&c, false), seed);
        end(&c, NULL);
    }
    free(sgd.x);
    free(als.x);
}

static void kills_crashes_and_moves_change_no_bit(void **state)
{
    static const char *const SETTINGS[] = {SGD, ALS, IMPLICIT, SGD_LONG, ALS_LONG};
    struct cluster_count sum = {0};

    (void)state;
    for (int a = 0; a < 5; a++) {
        struct learnt first = {0};
        struct world w = WORLD;
        w.counts = a == 2;
        for (uint64_t seed = 0; seed <= (uint64_t)property_count(40); seed++) {
            struct cluster c = {.workers = 1 + (uint32_t)(seed % 3),
                                .staleness = (uint32_t)(seed % 2),
                                .inside = seed % 4 == 1,
                                .crash = seed == 0 ? 0 : 0.004,
                                .crash_left = 20,
                                .kill_mean_s = seed > 0 && seed % 2 == 0 ? 0.02 : 0,
                                .kills_left = 10,
                                .scale_mean_s = seed > 0 && seed % 3 == 0 ? 0.01 : 0,
                                .workers_max = 5};
            make_cluster(&c, seed, &w);
            run(&c, seed, SETTINGS[a]);
            check_equal(&first, learnt_of(&c, a == 0 || a == 3), seed);
            end(&c, &sum);
        }
        if (first.earlier != (a >= 3))
            fail_msg("%s: it keeps %s epoch", SETTINGS[a],
                     first.earlier ? "an earlier" : "the last");
        free(first.x);
    }
    assert_true(sum.redone > 20 && sum.moves > 20 && sum.crashes_holding > 0);
}

static void workers_on_other_machines_change_no_bit(void **state)
{
    static const char *const SETTINGS[] = {SGD, ALS, IMPLICIT, SGD_LONG, ALS_LONG};
    struct cluster_count sum = {0};

    (void)state;
    for (int a = 0; a < 5; a++) {
        struct learnt first = {0};
        struct world w = WORLD;
        w.counts = a == 2;
        for (uint64_t seed = 0; seed <= (uint64_t)property_count(20); seed++) {
            struct cluster c = {.workers = 1,
                                .staleness = (uint32_t)(seed % 2),
                                .net = {1e-3, 0.02, 0.02, 0.01},
                                .away = seed == 0 ? 0 : 1 + (uint32_t)(seed % 3),
                                .away_mean_s = 0.02,
                                .cut_mean_s = seed > 0 && seed % 2 == 0 ? 0.5 : 0,
                                .kill_mean_s = seed > 0 && seed % 5 == 0 ? 0.05 : 0,
                                .kills_left = 5};
            make_cluster(&c, seed, &w);
            run(&c, seed, SETTINGS[a]);
            check_equal(&first, learnt_of(&c, a == 0 || a == 3), seed);
            end(&c, &sum);
        }
        if (first.earlier != (a >= 3))
            fail_msg("%s: it keeps %s epoch", SETTINGS[a],
                     first.earlier ? "an earlier" : "the last");
        free(first.x);
    }
    assert_true(sum.far > 100);
}

/* What no rule can learn is NOISE. 40 ratings a user for 3 factors and a bias: some tenths above. */
static void held_out_error_comes_near_the_noise(void **state)
{
    struct world w = {.users = 150, .items = 100, .ratings = 12000, .rank = 3};
    double mean = value_of("rank=1\nepochs=1\nrate=0.000001\nholdout=0.1\n", &w);
    double sgd = value_of("rank=4\nepochs=40\nl2=0.02\nholdout=0.1\n", &w);
    double als = value_of("algorithm=als\nrank=4\nepochs=20\nl2=0.02\nholdout=0.1\n", &w);

    (void)state;
    print_message("noise %g: nothing learnt %.4f, sgd %.4f, als %.4f\n", NOISE, mean, sgd, als);
    assert_true(mean > 3 * NOISE);
    assert_true(sgd > 0.9 * NOISE && sgd < 1.25 * NOISE);
    assert_true(als > 0.9 * NOISE && als < 1.25 * NOISE);
}

/* Without held-out ratings it is the training error that is reported. */
static void the_objective_falls_with_every_epoch(void **state)
{
    static const char *const ALGORITHMS[] = {"sgd", "als", "implicit"};

    (void)state;
    for (int a = 0; a < 3; a++) {
        struct world w = WORLD;
        double last = INFINITY;
        w.counts = a == 2;
        for (int epochs = 1; epochs <= 6; epochs++) {
            char settings[100];
            snprintf(settings, sizeof settings,
                     "algorithm=%s\nrank=4\nl2=0.05\nepochs=%d\ntolerance=%s\n", ALGORITHMS[a],
                     epochs, a == 0 ? "0" : "0.000000001");
            double value = value_of(settings, &w);
            assert_true(value > 0 && value < last);
            last = value;
        }
    }
}

/* The kernel alone, in the order of the rotation, gives what the job gives. */
static void a_job_is_the_loop_it_stands_for(void **state)
{
    static const char SETTINGS[] = "rank=16\nexecutors=5\nepochs=3\nl2=0.05\n";
    struct cluster c = {.workers = 3};
    struct data_ratings ratings = {0};
    struct num_mf_plan *plan = NULL;
    struct num_mf_cut *cut = NULL;
    struct num_mf_shape shape = {WORLD.users, WORLD.items, 5, 5, true, true};
    struct mf_options o = {.rank = 16, .epochs = 3, .rate = 0.3, .l2 = 0.05};
    void *data[5];
    uint64_t first, count;
    size_t size;

    (void)state;
    make_cluster(&c, 3, &WORLD);
    run(&c, 3, SETTINGS);
    assert_int_equal(data_ratings_load(c.env, "", NULL, &ratings, NULL), SHOAL_OK);
    assert_int_equal(
        num_mf_plan_new(&base_alloc_libc, &shape, ratings.rating, ratings.count, &plan, NULL),
        SHOAL_OK);
    assert_int_equal(num_mf_cut_new(plan, NUM_MF_GRID, ratings.rating, ratings.count, &cut, NULL),
                     SHOAL_OK);
    for (uint32_t e = 0; e < 5; e++)
        data[e] = aligned_alloc(64, (num_mf_cut_size(cut, e) + 63) / 64 * 64);
    assert_int_equal(num_mf_cut_fill(cut, ratings.rating, data, NULL), SHOAL_OK);
    size_t users = plan->user_slots * 16, items = plan->item_slots * 16;
    float *p = aligned_alloc(64, 5 * users * sizeof *p);
    float *q = aligned_alloc(64, 5 * items * sizeof *q), rate[200];
    num_mf_init_rows(p, 16, 0, 5 * plan->user_slots, plan->user_count, 7);
    num_mf_init_rows(q, 16, 0, 5 * plan->item_slots, plan->item_count, 8);
    for (uint32_t i = 0; i < 5 * plan->item_slots; i++)
        rate[i] = num_mf_row_rate(plan->item_count[i]);
    for (uint32_t round = 0; round < 3 * 5; round++)
        for (uint32_t e = 0; e < 5; e++) {
            uint32_t b = (e + round) % 5;
            struct num_mf_block block = num_mf_block(data[e], b);
            struct num_mf_sgd sgd = {16,
                                     (float)mf_rate(&o, round, 5),
                                     (float)(o.l2 / plan->scale),
                                     num_mf_data_rates(data[e]),
                                     rate + b * plan->item_slots,
                                     p + e * users,
                                     p + e * users,
                                     q + b * items};
            (void)num_mf_ops_find(64)->sgd(&block, &sgd);
        }
    for (uint32_t e = 0; e < 5; e++) {
        shoal_driver *driver = train_master_driver(c.master);
        assert_memory_equal(shoal_driver_executor_read(driver, e, &size), p + e * users,
                            users * sizeof *p);
        assert_memory_equal(shoal_driver_shard(driver, MF_ITEM, e, &first, &count), q + e * items,
                            items * sizeof *q);
        free(data[e]);
    }
    free(p);
    free(q);
    num_mf_cut_free(cut);
    num_mf_plan_free(plan);
    data_ratings_fini(&ratings);
    end(&c, NULL);
}

/* Ratings that are there once, and worlds with one user or one item. */
static void tiny_worlds_are_learnt_too(void **state)
{
    static const char *const ALGORITHMS[] = {"sgd", "als", "implicit"};
    static const struct world WORLDS[] = {{.users = 1, .items = 1, .ratings = 1},
                                          {.users = 1, .items = 30, .ratings = 40},
                                          {.users = 30, .items = 1, .ratings = 40},
                                          {.users = 2, .items = 3, .ratings = 5}};

    (void)state;
    for (int a = 0; a < 3; a++)
        for (int w = 0; w < 4; w++)
            for (int rank = 1; rank <= 40; rank += 13) {
                char settings[100];
                struct world world = WORLDS[w];
                world.counts = a == 2;
                snprintf(settings, sizeof settings, "algorithm=%s\nrank=%d%s", ALGORITHMS[a], rank,
                         a < 2 && world.ratings > 30 ? "\nholdout=0.01" : "");
                assert_true(isfinite(value_of(settings, &world)));
            }
}

static shoal_stop stop_of(const char *settings, uint64_t *out_epochs)
{
    struct cluster c = {.workers = 2};
    struct world w = WORLD;

    w.counts = strstr(settings, "implicit") != NULL;
    make_cluster(&c, 1, &w);
    run(&c, 1, settings);
    shoal_stop why = train_master_stats(c.master).stopped;
    assert_true(isnan(train_master_stats(c.master).gap));
    *out_epochs = ((struct mf_driver *)shoal_driver_state(train_master_driver(c.master)))->closed;
    end(&c, NULL);
    return why;
}

static void a_job_tells_why_it_stopped(void **state)
{
    static const struct {
        const char *settings;
        uint64_t epochs; /* as many; 0: fewer than the limit */
        uint64_t limit;
        shoal_stop why;
    } CASES[] = {
        {"epochs=8", 8, 8, SHOAL_STOP_SCHEDULE},
        {"epochs=60\ntolerance=0.02", 0, 60, SHOAL_STOP_TOLERANCE},
        {"epochs=3\ntolerance=1e-6", 3, 3, SHOAL_STOP_LIMIT},
        {"epochs=1\nholdout=0.1", 1, 1, SHOAL_STOP_LIMIT},
        {"epochs=6\nl2=0.05\nrank=4\nholdout=0.1", 6, 6, SHOAL_STOP_SCHEDULE},
        {"epochs=30\nrank=12\nl2=0\nholdout=0.1", 30, 30, SHOAL_STOP_HELD_OUT},
        {"epochs=30\nrank=12\nl2=0\nholdout=0.1\ntolerance=1e-9", 0, 30, SHOAL_STOP_HELD_OUT},
        {"algorithm=als\nepochs=2", 2, 2, SHOAL_STOP_LIMIT},
        {"algorithm=als\nepochs=100", 0, 100, SHOAL_STOP_TOLERANCE},
        {"algorithm=als\nepochs=40\ntolerance=0", 40, 40, SHOAL_STOP_TOLERANCE},
        {"algorithm=als\nepochs=9\nrank=12\nl2=0.001\nholdout=0.1", 0, 9, SHOAL_STOP_HELD_OUT},
        {"algorithm=implicit\nepochs=2", 2, 2, SHOAL_STOP_LIMIT},
        {"algorithm=implicit\nepochs=200", 0, 200, SHOAL_STOP_TOLERANCE},
    };

    (void)state;
    for (uint32_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        uint64_t epochs;
        shoal_stop why = stop_of(CASES[i].settings, &epochs);
        if (why != CASES[i].why ||
            (CASES[i].epochs > 0 ? epochs != CASES[i].epochs : epochs >= CASES[i].limit))
            fail_msg("%s: stopped by %d after %d epochs", CASES[i].settings, (int)why, (int)epochs);
    }
}

static void training_that_diverges_says_what_to_lower(void **state)
{
    struct cluster c = {0};

    (void)state;
    make_cluster(&c, 1, &WORLD);
    cluster_run(&c, app_find("mf"), "rate=10\nl2=0\nepochs=30\n", 1000);
    assert_true(c.over && c.status == SHOAL_E_IMPOSSIBLE);
    assert_non_null(strstr(c.err.message, "diverges"));
    assert_non_null(strstr(c.err.hint, "lower rate"));
    end(&c, NULL);
}

static void the_number_of_executors_comes_from_the_data(void **state)
{
    struct mf_options sgd = {.algorithm = MF_SGD}, als = {.algorithm = MF_ALS};

    (void)state;
    assert_int_equal(mf_executors(&sgd, 100, 10, 10), 4);
    assert_int_equal(mf_executors(&sgd, 100, 3, 10), 3);
    assert_int_equal(mf_executors(&sgd, 10 * 1000 * 1000, 69878, 10677), 16);
    assert_int_equal(mf_executors(&sgd, 10 * 1000 * 1000, 10 * 1000 * 1000, 10677), 4);
    assert_int_equal(mf_executors(&sgd, UINT64_MAX / 1000, 1000, 10677), 64);
    assert_int_equal(mf_executors(&als, 100 * 1000, 671, 9066), 8);
    assert_int_equal(mf_executors(&als, 10 * 1000 * 1000, 69878, 10677), 64);
    sgd.executors = 100;
    assert_int_equal(mf_executors(&sgd, 100, 1000, 1000), 100);
}

static void the_rate_falls_with_the_epochs_and_never_to_nothing(void **state)
{
    struct mf_options o = {.algorithm = MF_SGD};
    double last = mf_first_rate(&o);

    (void)state;
    for (o.epochs = 1; o.epochs <= 1000 * 1000; o.epochs *= 2) {
        double rate = mf_first_rate(&o);
        assert_true(rate > 0 && rate <= last);
        assert_true(o.epochs > 6 || rate == mf_first_rate(&(struct mf_options){.epochs = 0}));
        last = rate;
    }
    assert_true(last < 0.01);
    o.rate = 0.7;
    assert_true(mf_first_rate(&o) == 0.7);
}

static void the_penalty_falls_as_rows_have_more_ratings(void **state)
{
    struct mf_options sgd = {.algorithm = MF_SGD, .l2 = -1}, als = {.algorithm = MF_ALS, .l2 = -1};
    double last = INFINITY;

    (void)state;
    for (uint64_t ratings = 100; ratings < 100 * 1000 * 1000; ratings *= 2) {
        double l2 = mf_l2(&sgd, ratings, 700, 300, 1);
        assert_true(l2 > 0 && l2 <= last && l2 <= mf_l2(&als, ratings, 700, 300, 1));
        assert_true(l2 == mf_l2(&sgd, ratings, 300, 700, 1));
        last = l2;
    }
    assert_true(last < mf_l2(&sgd, 100, 700, 300, 1));
    for (double scale = 1e-3; scale < 1e6; scale *= 10) { /* what a step divides by the scale */
        double l2 = mf_l2(&sgd, 1000, 700, 300, scale) / scale;
        assert_true(fabs(l2 / mf_l2(&sgd, 1000, 700, 300, 1) - 1) < 1e-9 && 0.3 * l2 <= 0.25);
    }
    sgd.l2 = 0; /* none, and not "open" */
    assert_true(mf_l2(&sgd, 5000, 120, 80, 1) == 0);
}

/* Options that were left open and the same ones given are one job. */
static void settings_that_were_chosen_can_be_given(void **state)
{
    static const char *const ALGORITHMS[] = {"sgd", "als", "implicit"};

    (void)state;
    for (uint32_t a = 0; a < 3; a++) {
        struct world w = WORLD;
        struct learnt first = {0};
        double l2 = 0;
        w.counts = a == MF_IMPLICIT;
        for (uint32_t given = 0; given < 2; given++) {
            struct cluster c = {.workers = 1};
            char settings[100];
            int at = snprintf(settings, sizeof settings, "algorithm=%s\nrank=5\n", ALGORITHMS[a]);
            if (given)
                snprintf(settings + at, sizeof settings - (size_t)at, "l2=%g\nepochs=%d\n", l2,
                         a == MF_SGD ? 6 : 30);
            make_cluster(&c, 1, &w);
            run(&c, 1, settings);
            l2 = ((struct mf_driver *)shoal_driver_state(train_master_driver(c.master)))->l2;
            assert_true(l2 > 0);
            check_equal(&first, learnt_of(&c, a == MF_SGD), given);
            end(&c, NULL);
        }
        free(first.x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_workers_and_any_staleness_give_the_same_bits),
        cmocka_unit_test(kills_crashes_and_moves_change_no_bit),
        cmocka_unit_test(workers_on_other_machines_change_no_bit),
        cmocka_unit_test(held_out_error_comes_near_the_noise),
        cmocka_unit_test(the_objective_falls_with_every_epoch),
        cmocka_unit_test(a_job_is_the_loop_it_stands_for),
        cmocka_unit_test(tiny_worlds_are_learnt_too),
        cmocka_unit_test(a_job_tells_why_it_stopped),
        cmocka_unit_test(training_that_diverges_says_what_to_lower),
        cmocka_unit_test(the_number_of_executors_comes_from_the_data),
        cmocka_unit_test(the_rate_falls_with_the_epochs_and_never_to_nothing),
        cmocka_unit_test(the_penalty_falls_as_rows_have_more_ratings),
        cmocka_unit_test(settings_that_were_chosen_can_be_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
