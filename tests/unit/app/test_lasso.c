/* ctest: timeout=1200 */
/* Jobs of `lasso` in simulation: every solution of the path fulfils the conditions of a minimum, and
 * neither workers nor what happens to them change a bit. */
#include "property.h"
#include "torture.h"

#include "app/app.h"
#include "app/lasso.h"
#include "unit/num/lasso_world.h"
#include "unit/train/cluster.h"

static struct lasso_world world;
static uint32_t (*name_of)(uint32_t column); /* what the data calls it, from 1; NULL: as it is */

/* The job's data, which cluster.h calls "". */
static void put_rows(shoal_env *env)
{
    struct base_buf text;

    base_buf_init(&text, env_alloc(env), 1 << 22);
    for (uint32_t i = 0; i < world.p.x.rows; i++) {
        base_buf_printf(&text, "%.9g", (double)world.y[i]);
        for (uint32_t j = 0; j < world.p.x.columns; j++) {
            double a = (double)world.dense[(size_t)j * world.p.x.rows + i];
            if (a != 0)
                base_buf_printf(&text, " %u:%.9g", name_of != NULL ? name_of(j) : j + 1, a);
        }
        base_buf_puts(&text, "\n");
    }
    assert_int_equal(env_sim_put(env, "", text.data, text.size), SHOAL_OK);
    base_buf_fini(&text);
}

static void run(struct cluster *c, uint64_t seed, const char *settings)
{
    cluster_begin(c, seed);
    put_rows(c->env);
    cluster_run(c, app_find("lasso"), settings, 100000);
    if (!c->over || c->status != SHOAL_OK)
        fail_msg("seed %llu, %s: %s", (unsigned long long)seed, settings,
                 c->over ? c->err.message : "did not end");
}

static void make_world(uint64_t seed, double fill, enum num_lasso_loss loss)
{
    struct base_rand rand;

    base_rand_init(&rand, seed, "test.lasso");
    lasso_world_make(&world, &rand, 60 + (uint32_t)(seed % 3) * 40, 45, fill, 0.5, loss);
}

static const struct lasso_driver *driver_of(struct cluster *c)
{
    return shoal_driver_state(train_master_driver(c->master));
}

static const struct lasso_entry *path_of(struct cluster *c)
{
    return (const void *)shoal_driver_rows_read(train_master_driver(c->master), LASSO_PATH);
}

/* ---- the path ---- */

/* Coefficients of step k into world.b, and its point. */
static void place(struct cluster *c, uint32_t k)
{
    const struct lasso_driver *d = driver_of(c);
    const struct lasso_entry *path = path_of(c);

    memset(world.b, 0, sizeof world.b);
    for (uint64_t e = k > 0 ? d->of[k - 1].end : 0; e < d->of[k].end; e++)
        world.b[path[e].column] = (double)path[e].value;
    world.p.lambda = d->of[k].lambda;
    world.point.intercept = d->of[k].intercept;
    num_lasso_place(num_lasso_ops_find(1), &world.p, &world.set, &world.point);
}

static void check_path(struct cluster *c, double tol)
{
    const struct lasso_driver *d = driver_of(c);

    for (uint32_t k = 0; k < d->lambdas; k++) {
        double excess, most, value, bound;
        place(c, k);
        most = lasso_world_slopes(&world, &excess);
        value = num_lasso_objective(&world.p, &world.set, &world.point);
        bound = num_lasso_bound(&world.p, &world.point, most, excess);
        if (!(value - bound <= 1.01 * tol * value + 1e-6))
            fail_msg("lambda %u: %.9g, at least %.9g", k, value, bound);
        assert_true(fabs(d->of[k].objective - value) <= 1e-5 * value); /* what is told is what is */
        assert_true(fabs(d->of[k].intercept - world.point.intercept) <= 1e-5);
        assert_true(k == 0 || d->of[k].lambda < d->of[k - 1].lambda);
    }
    assert_int_equal(d->of[0].end, 0); /* the first penalty leaves none, or just */
}

static void every_solution_of_a_path_is_a_minimum(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(12); seed++) {
        struct cluster c = {.workers = 1 + (uint32_t)(seed % 3)};
        bool logistic = seed % 3 == 0;
        make_world(seed, seed % 2 == 0 ? 0.2 : 0.9, logistic ? NUM_LASSO_LOGISTIC : 0);
        char settings[120];
        world.p.mix = seed % 4 == 0 ? 0.7 : 1;
        snprintf(settings, sizeof settings,
                 "lambdas=12\ntol=1e-6\nmix=%g\nloss=%s\nratio=0.05\ngroups=%u\ntheta=%g\n",
                 world.p.mix, logistic ? "logistic" : "squared",
                 logistic ? 0U : (uint32_t)(seed % 5), seed % 4 == 3 ? 2 : 0.4);
        run(&c, seed, settings);
        check_path(&c, 1e-6);
        cluster_free(&c);
    }
}

static void a_lambda_that_is_given_is_the_last(void **state)
{
    struct cluster c = {.workers = 2};

    (void)state;
    make_world(3, 0.3, NUM_LASSO_SQUARED);
    run(&c, 1, "lambdas=7\nlambda=0.125\n");
    assert_true(fabs(driver_of(&c)->of[6].lambda - 0.125) < 1e-9);
    cluster_free(&c);
}

/* With columns a thousand times as large the coefficients are a thousandth, and all else the same. */
static void scaled_columns_make_units_irrelevant(void **state)
{
    double sum[2] = {0}, told[2] = {0};

    (void)state;
    for (int large = 0; large < 2; large++) {
        struct cluster c = {.workers = 1};
        make_world(5, 0.3, NUM_LASSO_SQUARED);
        for (size_t e = 0; large && e < LASSO_ENTRIES; e++)
            world.dense[e] *= 1024;
        run(&c, 1, "lambdas=10\nscale=true\nratio=0.05\n");
        const struct lasso_driver *d = driver_of(&c);
        for (uint64_t e = d->of[8].end; e < d->of[9].end; e++)
            sum[large] += fabs((double)path_of(&c)[e].value);
        told[large] = d->of[9].objective;
        cluster_free(&c);
    }
    assert_true(fabs(told[0] - told[1]) <= 1e-6 * told[0]);
    assert_true(sum[0] > 0 && fabs(sum[0] / sum[1] - 1024) < 0.1);
}

/* Targets that columns explain whole: the path ends where they do, unless its end was named. */
static void a_path_ends_where_nothing_is_left_to_explain(void **state)
{
    static const char *const JOB[] = {"lambdas=100\n", "lambdas=100\nratio=0.001\n"};
    uint32_t found[2];

    (void)state;
    for (int named = 0; named < 2; named++) {
        struct cluster c = {.workers = 1};
        make_world(4, 1, NUM_LASSO_SQUARED);
        for (uint32_t i = 0; i < world.p.x.rows; i++)
            world.y[i] = world.dense[i] - 2 * world.dense[7 * world.p.x.rows + i];
        run(&c, 1, JOB[named]);
        const struct lasso_driver *d = driver_of(&c);
        found[named] = d->lambdas;
        assert_true(d->of[d->lambdas - 1].loss < 2e-3 * d->null[0]);
        cluster_free(&c);
    }
    assert_true(found[0] < 70);
    assert_int_equal(found[1], 100);
}

/* ---- folds ---- */

/* A chain's held-out loss is that of a job on the other rows. */
static void folds_hold_out_what_they_say(void **state)
{
    struct cluster c = {.workers = 2};
    double mean[LASSO_LAMBDAS_MAX], error[LASSO_LAMBDAS_MAX];

    (void)state;
    make_world(4, 0.5, NUM_LASSO_SQUARED);
    run(&c, 1, "lambdas=10\nfolds=5\nratio=0.02\ntol=1e-6\n");
    const struct lasso_driver *d = driver_of(&c);
    for (uint32_t k = 0; k < d->chains; k++) /* of the last lambda: the worst is kept */
        assert_true(d->of[9].gap / d->of[9].objective >=
                    0.999 * d->gap[k] / d->solved[k].objective);
    const struct lasso_data *data =
        (const void *)shoal_driver_rows_read(train_master_driver(c.master), LASSO_DATA);
    const uint8_t *fold = (const uint8_t *)data + data->fold_at;
    for (uint32_t f = 1; f <= 5; f++) {
        struct num_lasso_work work = {0};
        double held = 0, others = 0;
        for (uint32_t i = 0; i < data->rows; i++)
            world.weight[i] = fold[i] == f ? 0 : 1;
        memset(world.b, 0, sizeof world.b);
        lasso_world_weigh(&world);
        world.p.lambda = d->of[9].lambda;
        num_lasso_begin(&world.p, &world.point);
        assert_int_equal(lasso_world_solve(&world, 1e-9, NUM_LASSO_PRIORITY, &work), SHOAL_OK);
        for (uint32_t i = 0; i < data->rows; i++)
            if (fold[i] == f) {
                double r = (double)world.y[i] - world.z[i];
                held += r * r / 2;
                others++;
            }
        assert_true(fabs(held / others - d->of[9].held[f - 1]) <= 1e-2 * held / others);
        assert_true(others >= data->rows / 5);
    }
    lasso_folds(d, 10, mean, error);
    uint32_t best = lasso_choose(d, 10, LASSO_PICK_BEST, mean, error);
    assert_true(lasso_choose(d, 10, LASSO_PICK_SIMPLE, mean, error) <= best);
    assert_int_equal(lasso_choose(d, 10, LASSO_PICK_LAST, mean, error), 9);
    for (uint32_t k = 0; k < 10; k++)
        assert_true(mean[best] <= mean[k]);
    cluster_free(&c);
}

/* What is reported is of the model that is saved, not of the end of the path. */
static void the_value_is_the_objective_of_the_lambda_that_is_picked(void **state)
{
    static const char *const PICKS[] = {"best", "simple", "last"};
    uint32_t earlier = 0;

    (void)state;
    for (uint32_t pick = 0; pick < 9; pick++) {
        struct cluster c = {.workers = 1};
        char settings[100];
        double mean[10], error[10];
        make_world(pick, 0.8, NUM_LASSO_SQUARED);
        snprintf(settings, sizeof settings, "lambdas=10\nratio=0.001\nfolds=4\npick=%s\n",
                 PICKS[pick % 3]);
        run(&c, 1, settings);
        const struct lasso_driver *d = driver_of(&c);
        lasso_folds(d, 10, mean, error);
        uint32_t chosen = lasso_choose(d, 10, (enum lasso_pick)(pick % 3), mean, error);
        earlier += chosen < 9;
        assert_true(train_master_stats(c.master).value == d->of[chosen].objective);
        assert_true(train_master_stats(c.master).progress == 1);
        cluster_free(&c);
    }
    assert_true(earlier >= 3); /* or nothing was tested */
}

/* Updates are told of at the end of a task, and tasks may be long. */
static void a_rate_is_that_between_two_pieces_of_news_or_none(void **state)
{
    struct cluster c = {.workers = 1, .task_mean_s = 15, .task_noise = 0.1};
    uint32_t known = 0, none = 0;

    (void)state;
    make_world(1, 0.8, NUM_LASSO_SQUARED);
    cluster_begin(&c, 1);
    put_rows(c.env);
    cluster_run(&c, app_find("lasso"), "lambdas=10\n", 1);
    for (uint32_t second = 0; second < 3600 && !c.over; second++) {
        env_sim_run(c.env, env_now_ns(c.env) + 1000000000, NULL, NULL);
        struct train_stats stats = train_master_stats(c.master);
        known += stats.units_per_s > 0;
        none += stats.units > 0 && stats.units_per_s == 0;
        if (stats.units_per_s > 0 && stats.units_per_s < 0.01) /* one in 100 s */
            fail_msg("%g updates a second", stats.units_per_s);
    }
    assert_true(known > 50 && none > 50);
    cluster_free(&c);
}

/* ---- the same bits ---- */

struct learnt {
    struct lasso_step of[12];
    struct lasso_entry path[2000];
};

static void learn(struct cluster *c, struct learnt *l)
{
    const struct lasso_driver *d = driver_of(c);
    uint64_t count = d->of[d->lambdas - 1].end;

    assert_true(d->lambdas <= 12 && count <= 2000);
    memset(l, 0, sizeof *l);
    memcpy(l->of, d->of, d->lambdas * sizeof l->of[0]);
    memcpy(l->path, path_of(c), count * sizeof l->path[0]);
}

static const char *const JOBS[] = {"lambdas=12\nfolds=4\nratio=0.05\n",
                                   "lambdas=8\nmix=0.5\nratio=0.05\nschedule=random\n",
                                   "lambdas=12\nratio=0.05\ngroups=3\n"};

static void workers_and_what_happens_to_them_change_no_bit(void **state)
{
    static struct learnt first, now;
    struct cluster_count sum = {0};

    (void)state;
    make_world(7, 0.4, NUM_LASSO_SQUARED);
    for (size_t n = 0; n < sizeof JOBS / sizeof JOBS[0]; n++)
        for (uint64_t seed = 0; seed <= (uint64_t)property_count(8); seed++) {
            static const uint32_t WORKERS[] = {1, 2, 4, 3};
            struct cluster c = {.workers = WORKERS[seed % 4],
                                .threads = 1 + (uint32_t)(seed % 2),
                                .crash = seed < 4 ? 0 : 0.004,
                                .crash_left = 20,
                                .kill_mean_s = seed >= 4 && seed % 2 == 0 ? 0.01 : 0,
                                .kills_left = 5,
                                .scale_mean_s = seed >= 4 && seed % 3 == 0 ? 0.01 : 0,
                                .workers_max = 5};
            run(&c, seed, JOBS[n]);
            learn(&c, seed == 0 ? &first : &now);
            if (seed > 0 && memcmp(&first, &now, sizeof now) != 0)
                fail_msg("%s: seed %llu gives another path", JOBS[n], (unsigned long long)seed);
            cluster_add(&sum, &c.count);
            cluster_free(&c);
        }
    assert_true(sum.redone > 0);
}

static void workers_on_other_machines_change_no_bit(void **state)
{
    static struct learnt first, now;
    struct cluster_count sum = {0};

    (void)state;
    make_world(8, 0.4, NUM_LASSO_SQUARED);
    for (uint64_t seed = 0; seed <= (uint64_t)property_count(6); seed++) {
        struct cluster c = {.workers = 1,
                            .away = seed > 0 ? 1 + (uint32_t)(seed % 3) : 0,
                            .away_mean_s = 0.003,
                            .kill_mean_s = seed % 2 == 0 ? 0 : 0.05,
                            .kills_left = 5};
        run(&c, seed, JOBS[2]);
        learn(&c, seed == 0 ? &first : &now);
        if (seed > 0 && memcmp(&first, &now, sizeof now) != 0)
            fail_msg("seed %llu gives another path", (unsigned long long)seed);
        cluster_add(&sum, &c.count);
        cluster_free(&c);
    }
    assert_true(sum.far > 0);
}

/* ---- products of columns, and what is claimed of the end ---- */

static void a_path_from_products_is_the_path_without_them_on_any_workers(void **state)
{
    static struct learnt first, now;

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(6); seed++) {
        char settings[120];
        double value[12];
        make_world(seed, 0.9, NUM_LASSO_SQUARED);
        for (uint32_t i = 0; seed % 2 == 0 && i < world.p.x.rows; i++)
            world.dense[i] += 30; /* a column far from 0 */
        world.p.x.index = NULL;
        world.p.x.value = world.dense;
        for (uint32_t way = 0; way < 4; way++) { /* without, then with 1, 2 and 3 workers */
            struct cluster c = {
                .workers = way > 0 ? way : 1, .crash = way > 1 ? 0.01 : 0, .crash_left = 5};
            snprintf(settings, sizeof settings,
                     "lambdas=12\ntol=1e-7\nmix=%g\nratio=0.05\ngram=%s\n", seed % 3 == 0 ? 0.6 : 1,
                     way > 0 ? "yes" : "no");
            world.p.mix = seed % 3 == 0 ? 0.6 : 1;
            run(&c, seed, settings);
            check_path(&c, 1e-7);
            assert_int_equal(driver_of(&c)->fn, way > 0 ? LASSO_WALK : LASSO_SCAN);
            for (uint32_t k = 0; k < 12; k++) {
                double other = driver_of(&c)->of[k].objective;
                if (way > 0)
                    assert_true(fabs(other - value[k]) <= 2e-7 * other);
                value[k] = other;
            }
            learn(&c, way == 1 ? &first : &now);
            if (way > 1)
                assert_memory_equal(&first, &now, sizeof now);
            cluster_free(&c);
        }
    }
}

/* The least objective of step k by the slow solver. */
static double least_of(struct cluster *c, uint32_t k)
{
    static double b[LASSO_COLUMNS], slope[LASSO_COLUMNS];
    double intercept;

    world.p.lambda = driver_of(c)->of[k].lambda;
    num_lasso_solve_reference(&world.p, 5000, slope, &intercept, b);
    return num_lasso_objective_reference(&world.p, intercept, b);
}

static void what_is_claimed_of_the_end_is_true(void **state)
{
    static const double TOLS[] = {1e-1, 1e-3, 1e-12};

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(9); seed++) {
        struct cluster c = {.workers = 1};
        double tol = TOLS[seed / 2 % 3];
        bool logistic = seed % 4 == 3;
        char settings[120];
        make_world(seed, seed % 2 == 0 ? 0.9 : 0.3, logistic ? NUM_LASSO_LOGISTIC : 0);
        snprintf(settings, sizeof settings, "lambdas=5\nratio=0.1\ntol=%g\nloss=%s\n", tol,
                 logistic ? "logistic" : "squared");
        run(&c, seed, settings);
        const struct train_stats told = train_master_stats(c.master);
        assert_true(told.stopped == SHOAL_STOP_TOLERANCE || tol < 1e-11);
        assert_true(told.stopped == SHOAL_STOP_TOLERANCE || told.stopped == SHOAL_STOP_STALLED ||
                    told.stopped == SHOAL_STOP_LIMIT);
        assert_true((told.gap <= tol) == (told.stopped == SHOAL_STOP_TOLERANCE));
        for (uint32_t k = 0; k < 5; k++) {
            place(&c, k); /* coefficients are floats: 1e-6 is room for that */
            double value = num_lasso_objective(&world.p, &world.set, &world.point);
            assert_true(value - least_of(&c, k) <= (told.gap + 1e-6) * value);
        }
        cluster_free(&c);
    }
}

/* The objective of no coefficients, with the best intercept. */
static double null_of(void)
{
    num_lasso_begin(&world.p, &world.point);
    return num_lasso_objective_reference(&world.p, world.point.intercept,
                                         (const double[LASSO_COLUMNS]){0});
}

/* In all the ways there are to find a path; less work than of each solution's own objective. */
static void a_tolerance_may_be_of_the_objective_without_coefficients(void **state)
{
    static const char *const WAYS[] = {"gram=no\n",       "gram=yes\n", "groups=3\n",
                                       "loss=logistic\n", "folds=3\n",  "intercept=false\n"};
    uint64_t updates[2] = {0};

    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        make_world(seed, seed == 1 ? 0.9 : 0.4, seed == 3 ? NUM_LASSO_LOGISTIC : NUM_LASSO_SQUARED);
        world.p.intercept = seed != 5;
        world.p.mix = 1;
        double null = null_of();
        for (int own = 0; own < 2; own++) {
            struct cluster c = {.workers = 1};
            char settings[120];
            snprintf(settings, sizeof settings, "lambdas=12\ntol=1e-3\nratio=0.01\ntol_of=%s\n%s",
                     own ? "objective" : "null", WAYS[seed]);
            run(&c, seed, settings);
            assert_int_equal(train_master_stats(c.master).stopped, SHOAL_STOP_TOLERANCE);
            updates[own] += driver_of(&c)->updates;
            for (uint32_t k = own ? 12 : 3; k < 12; k += 8) {
                place(&c, k);
                double value = num_lasso_objective(&world.p, &world.set, &world.point);
                double least = least_of(&c, k), room = 1e-6 * null; /* coefficients are floats */
                assert_true(value - least <= 1e-3 * null + room);
                assert_true(value - least <= driver_of(&c)->of[k].gap + room);
                assert_true(driver_of(&c)->of[k].gap <=
                            1e-3 * null * 1.5); /* folds have their own */
            }
            cluster_free(&c);
        }
    }
    assert_true(updates[0] < updates[1]);
}

/* ---- groups ---- */

static void groups_need_about_the_updates_of_one(void **state)
{
    uint64_t updates[3];
    static const char *const HOW[] = {"groups=1\n", "groups=4\ntheta=0.3\n", "groups=4\ntheta=2\n"};

    (void)state;
    for (int how = 0; how < 3; how++) {
        struct cluster c = {.workers = 2};
        struct base_rand rand;
        char settings[80];
        base_rand_init(&rand, 9, "test.lasso");
        lasso_world_make(&world, &rand, 200, 100, 0.9, 0.9, NUM_LASSO_SQUARED);
        snprintf(settings, sizeof settings, "lambdas=20\nratio=0.05\ntol=1e-4\n%s", HOW[how]);
        run(&c, 1, settings);
        updates[how] = driver_of(&c)->updates;
        check_path(&c, 1e-4);
        cluster_free(&c);
    }
    assert_true(updates[1] <= 3 * updates[0]);
    assert_true(updates[1] < updates[2]);
}

/* ---- columns that say nothing ---- */

/* Of all that is between two neighbouring floats and six digits. */
static void a_column_that_is_constant_but_for_rounding_has_no_coefficient(void **state)
{
    static const float LEVELS[] = {0.1f, 1e6f, -123456.7f};

    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct cluster c = {.workers = 1};
        char settings[80];
        make_world(seed, 1, NUM_LASSO_SQUARED);
        uint32_t rows = world.p.x.rows;
        for (uint32_t i = 0; i < rows; i++)
            world.dense[3 * rows + i] =
                LEVELS[seed % 3] * (1 + (seed % 2 == 0 ? 0 : 1e-7f * (float)(i % 5)));
        snprintf(settings, sizeof settings, "lambdas=12\nratio=0.01\nfolds=%u\n",
                 (uint32_t)(seed % 4 == 1 ? 0 : seed % 4));
        run(&c, seed, settings);
        const struct lasso_driver *d = driver_of(&c);
        for (uint64_t e = 0; e < d->of[11].end; e++)
            assert_int_not_equal(path_of(&c)[e].column, 3);
        for (uint32_t k = 0; k < 12; k++)
            assert_true(d->of[k].gap <= 1.01e-3 * d->of[k].objective);
        cluster_free(&c);
    }
}

/* A mean far above the deviation is no reason to lose a column. */
static void a_column_far_from_0_is_solved_for(void **state)
{
    struct cluster c = {.workers = 1};

    (void)state;
    make_world(2, 1, NUM_LASSO_SQUARED);
    uint32_t rows = world.p.x.rows;
    for (uint32_t i = 0; i < rows; i++)
        world.dense[i] += 20000;
    run(&c, 1, "lambdas=12\nratio=0.01\n");
    const struct lasso_driver *d = driver_of(&c);
    assert_int_equal(path_of(&c)[d->of[10].end].column, 0);
    for (uint32_t k = 0; k < 12; k++)
        assert_true(d->of[k].gap <= 1.01e-3 * d->of[k].objective);
    cluster_free(&c);
}

/* ---- large numbers of columns ---- */

static uint32_t spread_out(uint32_t column)
{
    return column == 44 ? DATA_SVM_INDEX_MAX : 1 + column * column * 1000003;
}

/* As hashed names are: what is in the data counts, not how it is called. */
static void numbers_of_columns_cost_nothing_and_change_nothing(void **state)
{
    static const char *const OTHERS[] = {"", "folds=3\n", "scale=true\nmix=0.7\n", "groups=2\n"};
    static struct learnt plain, spread;

    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct cluster c = {.workers = 2}, other = {.workers = 2};
        char settings[100];
        make_world(seed, 0.2, NUM_LASSO_SQUARED);
        snprintf(settings, sizeof settings, "lambdas=12\nratio=0.02\n%s", OTHERS[seed % 4]);
        run(&c, 1, settings);
        learn(&c, &plain);
        for (uint64_t e = 0; e < driver_of(&c)->of[11].end; e++)
            plain.path[e].column = spread_out(plain.path[e].column) - 1;
        name_of = spread_out;
        run(&other, 1, settings);
        name_of = NULL;
        learn(&other, &spread);
        assert_true(driver_of(&other)->columns <= 45);
        assert_memory_equal(&plain, &spread, sizeof plain);
        assert_true(driver_of(&c)->of[11].end > 100);
        cluster_free(&c);
        cluster_free(&other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_solution_of_a_path_is_a_minimum),
        cmocka_unit_test(a_lambda_that_is_given_is_the_last),
        cmocka_unit_test(scaled_columns_make_units_irrelevant),
        cmocka_unit_test(a_path_ends_where_nothing_is_left_to_explain),
        cmocka_unit_test(folds_hold_out_what_they_say),
        cmocka_unit_test(the_value_is_the_objective_of_the_lambda_that_is_picked),
        cmocka_unit_test(a_rate_is_that_between_two_pieces_of_news_or_none),
        cmocka_unit_test(numbers_of_columns_cost_nothing_and_change_nothing),
        cmocka_unit_test(workers_and_what_happens_to_them_change_no_bit),
        cmocka_unit_test(workers_on_other_machines_change_no_bit),
        cmocka_unit_test(a_path_from_products_is_the_path_without_them_on_any_workers),
        cmocka_unit_test(what_is_claimed_of_the_end_is_true),
        cmocka_unit_test(a_tolerance_may_be_of_the_objective_without_coefficients),
        cmocka_unit_test(groups_need_about_the_updates_of_one),
        cmocka_unit_test(a_column_that_is_constant_but_for_rounding_has_no_coefficient),
        cmocka_unit_test(a_column_far_from_0_is_solved_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
