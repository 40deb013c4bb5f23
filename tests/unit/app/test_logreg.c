/* ctest: timeout=600 */
/* Jobs of `logreg` in simulation: they reach the minimum of num/linear_reference.c on every way,
 * and in bulk synchronous jobs neither workers nor what happens to them change a bit. */
#include "property.h"
#include "torture.h"

#include "app/app.h"
#include "app/logreg.h"
#define LINEAR_ROWS 1200
#include "unit/num/linear_world.h"
#include "unit/train/cluster.h"
#include <math.h>

enum { W_MAX = (COLUMNS_MAX + 1) * LANES_MAX };

static struct world world; /* what num/linear.h sees: two classes have one lane */

/* The job's data, which cluster.h calls "": labels are classes 10, 11, ... */
static void put_rows(shoal_env *env)
{
    struct base_buf text;

    base_buf_init(&text, env_alloc(env), 1 << 22);
    for (uint64_t i = 0; i < world.p.x.rows; i++) {
        base_buf_printf(&text, "%u", 10 + world.label[i]);
        for (uint64_t e = world.start[i]; e < world.start[i + 1]; e++)
            base_buf_printf(&text, " %u:%.9g", world.index[e] + 1,
                            world.p.x.value != NULL ? (double)world.value[e] : 1);
        base_buf_puts(&text, "\n");
    }
    assert_int_equal(env_sim_put(env, "", text.data, text.size), SHOAL_OK);
    base_buf_fini(&text);
}

static void run(struct cluster *c, uint64_t seed, const char *settings)
{
    cluster_begin(c, seed);
    put_rows(c->env);
    cluster_run(c, app_find("logreg"), settings, 100000);
    if (!c->over || c->status != SHOAL_OK)
        fail_msg("seed %llu, %s: %s", (unsigned long long)seed, settings,
                 c->over ? c->err.message : "did not end");
}

struct learnt {
    float w[W_MAX];
    double value;
};

static void learn(struct cluster *c, struct learnt *l)
{
    shoal_driver *driver = train_master_driver(c->master);

    assert_true(logreg_size(shoal_driver_state(driver)) <= W_MAX);
    memset(l, 0, sizeof *l);
    logreg_weights(driver, l->w);
    l->value = train_master_stats(c->master).value;
}

/* Rows enough for several executors; each class occurs. */
static void make_world(uint64_t seed, uint32_t lanes, uint32_t columns)
{
    struct base_rand rand;

    base_rand_init(&rand, seed, "test.logreg");
    world_make(&world, &rand, 150, columns, lanes, 0.4, seed % 2 == 0);
    for (uint32_t i = 0; i < 40; i++)
        world.label[i] = i % (lanes == 1 ? 2 : lanes);
    world.p.cost = 0.5f;
}

/* ---- the minimum ---- */

struct problem {
    enum num_linear_loss loss;
    enum num_linear_penalty penalty;
    const char *settings;
    uint32_t staleness;
    double tolerance; /* of the objective */
};

static const struct problem PROBLEMS[] = {
    {NUM_LINEAR_LOGISTIC, NUM_LINEAR_SQUARES, "tol=1e-5\n", 0, 1e-5},
    {NUM_LINEAR_LOGISTIC, NUM_LINEAR_SQUARES, "algorithm=newton\ntol=1e-5\n", 0, 1e-5},
    {NUM_LINEAR_LOGISTIC, NUM_LINEAR_SQUARES, "algorithm=sdca\n", 1, 1e-4},
    {NUM_LINEAR_LOGISTIC, NUM_LINEAR_SQUARES, "algorithm=sdca\n", 0, 1e-4},
    {NUM_LINEAR_LOGISTIC, NUM_LINEAR_SQUARES, "algorithm=sdca\nwave=64\njudge=1\n", 0, 1e-4},
    {NUM_LINEAR_LOGISTIC, NUM_LINEAR_SQUARES, "algorithm=sgd\nepochs=300\n", 1, 0.05},
    {NUM_LINEAR_LOGISTIC, NUM_LINEAR_ABSOLUTE, "penalty=l1\ntol=1e-4\n", 1, 1e-4},
    {NUM_LINEAR_LOGISTIC, NUM_LINEAR_ABSOLUTE, "penalty=l1\ntol=1e-4\n", 0, 1e-4},
    {NUM_LINEAR_HINGE, NUM_LINEAR_SQUARES, "loss=hinge\n", 1, 1e-3},
    {NUM_LINEAR_HINGE, NUM_LINEAR_SQUARES, "loss=hinge\n", 0, 1e-3},
    {NUM_LINEAR_HINGE, NUM_LINEAR_SQUARES, "loss=hinge\nalgorithm=newton\ntol=1e-5\n", 0, 1e-5},
    {NUM_LINEAR_HINGE, NUM_LINEAR_SQUARES, "loss=hinge\nalgorithm=sdca\n", 0, 1e-3},
    {NUM_LINEAR_SQUARED_HINGE, NUM_LINEAR_SQUARES, "loss=squared_hinge\ntol=1e-5\n", 0, 1e-5},
    {NUM_LINEAR_SQUARED_HINGE, NUM_LINEAR_SQUARES, "loss=squared_hinge\n", 2, 1e-4},
    {NUM_LINEAR_SOFTMAX, NUM_LINEAR_SQUARES, "loss=softmax\ntol=1e-5\n", 0, 1e-5},
    {NUM_LINEAR_SOFTMAX, NUM_LINEAR_SQUARES, "loss=softmax\nalgorithm=sgd\nepochs=300\n", 1, 0.05},
};

static double least(const struct problem *p)
{
    static double exact[W_MAX];
    double f = 0;

    assert_int_equal(
        num_linear_solve_reference(&base_alloc_libc, &world.p, p->penalty, 3000, exact, &f),
        SHOAL_OK);
    return f;
}

static double objective(const struct problem *p, const struct learnt *l)
{
    static double at[W_MAX];

    for (size_t i = 0; i < W_MAX; i++)
        at[i] = (double)l->w[i];
    return num_linear_objective_reference(&world.p, p->penalty, at);
}

/* What a job says of its end, against the minimum. Slack: weights are floats. */
static void check_claim(const struct cluster *c, double f, double best, const char *settings)
{
    struct train_stats stats = train_master_stats(c->master);
    const struct logreg_driver *d = shoal_driver_state(train_master_driver(c->master));

    if (logreg_is_sgd(d->way)) {
        assert_int_equal(stats.stopped, SHOAL_STOP_SCHEDULE);
        assert_true(isnan(stats.gap));
        return;
    }
    if (stats.stopped == SHOAL_STOP_TOLERANCE && !(stats.gap <= d->tol))
        fail_msg("%s: converged with a gap of %g", settings, stats.gap);
    if (!(f - best <= (stats.gap + 5e-6) * f))
        fail_msg("%s: %.9g is more than %g above %.9g", settings, f, stats.gap, best);
}

static void check_minimum(const struct problem *p, struct cluster *c, uint64_t seed,
                          const char *more)
{
    struct learnt l;
    char settings[200];

    snprintf(settings, sizeof settings, "cost=0.5\n%s%s", p->settings, more);
    c->staleness = p->staleness;
    run(c, seed, settings);
    learn(c, &l);
    world.p.loss = p->loss;
    double f = objective(p, &l), best = least(p);
    if (!(f <= best * (1 + p->tolerance) + 1e-6))
        fail_msg("seed %llu, %s staleness %u: %.9g and not %.9g", (unsigned long long)seed,
                 settings, p->staleness, f, best);
    assert_true(fabs(l.value - f) <= 1e-4 * f); /* what is told is what is */
    check_claim(c, f, best, settings);
    cluster_free(c);
}

static void every_way_reaches_the_reference(void **state)
{
    static const uint32_t LANES[] = {1, 3, 5};

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(3); seed++)
        for (size_t n = 0; n < sizeof PROBLEMS / sizeof PROBLEMS[0]; n++) {
            struct cluster c = {.workers = 1 + (uint32_t)(seed % 3),
                                .threads = 1 + (uint32_t)(seed % 2)};
            uint32_t lanes = LANES[seed % 3];
            bool softmax = PROBLEMS[n].loss == NUM_LINEAR_SOFTMAX;
            make_world(seed, softmax && lanes == 1 ? 2 : lanes, 12);
            check_minimum(&PROBLEMS[n], &c, seed,
                          seed % 2 == 0 ? "executors=7\n" : "executors=1\n");
        }
}

/* 200 problems of every loss and penalty, by every algorithm, with limits that some do not reach. */
static void a_gap_that_is_told_is_true(void **state)
{
    static const char *const LOSS[] = {"logistic", "hinge", "squared_hinge", "softmax"};
    static const char *const ALGORITHM[] = {"auto", "newton", "sdca"};
    uint32_t converged = 0, limited = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(200); seed++) {
        struct base_rand rand;
        struct cluster c = {.workers = 1 + (uint32_t)(seed % 2)};
        struct learnt l;
        char settings[200];
        base_rand_init(&rand, seed, "test.logreg.claims");
        uint32_t loss = (uint32_t)base_rand_below(&rand, 4), lanes = seed % 3 == 0 ? 3 : 1;
        uint32_t algorithm = (uint32_t)base_rand_below(&rand, loss == NUM_LINEAR_SOFTMAX ? 2 : 3);
        bool l1 = loss == NUM_LINEAR_LOGISTIC && seed % 2 == 0,
             softmax = loss == NUM_LINEAR_SOFTMAX;
        double cost = exp(base_rand_range(&rand, -4, 4));
        uint32_t columns = 1 + (uint32_t)base_rand_below(&rand, 38);
        world_make(&world, &rand, 20 + base_rand_below(&rand, 60), columns,
                   softmax && lanes == 1 ? 2 : lanes, base_rand_range(&rand, 0.1, 1),
                   seed % 5 == 0);
        world.p.loss = (enum num_linear_loss)loss;
        for (uint32_t i = 0; i < 12; i++) /* each class occurs */
            world.label[i] = i % (world.p.lanes == 1 ? 2 : world.p.lanes);
        snprintf(settings, sizeof settings,
                 "loss=%s\npenalty=%s\nalgorithm=%s\ncost=%.9g\nexecutors=%u\nepochs=%u\ntol=%g\n",
                 LOSS[loss], l1 ? "l1" : "l2", ALGORITHM[l1 ? 0 : algorithm], cost,
                 1 + (unsigned)base_rand_below(&rand, 6), seed % 4 == 0 ? 3 : 2000,
                 seed % 3 == 1 ? 1e-2 : 1e-4);
        run(&c, seed, settings);
        learn(&c, &l);
        world.p.cost = (float)cost;
        const struct problem p = {.penalty = l1 ? NUM_LINEAR_ABSOLUTE : NUM_LINEAR_SQUARES};
        check_claim(&c, objective(&p, &l), least(&p), settings);
        shoal_stop why = train_master_stats(c.master).stopped;
        converged += why == SHOAL_STOP_TOLERANCE;
        limited += why == SHOAL_STOP_LIMIT;
        cluster_free(&c);
    }
    assert_true(converged > 50 && limited > 10);
}

static void deaths_and_moves_do_not_keep_it_from_the_minimum(void **state)
{
    struct cluster_count sum = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(12); seed++) {
        const struct problem *p = &PROBLEMS[seed % (sizeof PROBLEMS / sizeof PROBLEMS[0])];
        struct cluster c = {.workers = 3,
                            .crash = 0.003,
                            .crash_left = 20,
                            .kill_mean_s = seed % 2 == 0 ? 0.02 : 0,
                            .kills_left = 10,
                            .scale_mean_s = seed % 3 == 0 ? 0.02 : 0,
                            .workers_max = 5};
        make_world(seed, p->loss == NUM_LINEAR_SOFTMAX ? 4 : 1, 10);
        check_minimum(p, &c, seed, "executors=6\n");
        cluster_add(&sum, &c.count);
    }
    assert_true(sum.redone > 0);
}

static void more_columns_than_rows_are_solved_by_the_dual_in_waves(void **state)
{
    static const struct problem P = {NUM_LINEAR_LOGISTIC, NUM_LINEAR_SQUARES, "", 0, 1e-4};
    struct cluster c = {.workers = 2};
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 3, "test.logreg");
    world_make(&world, &rand, 30, 39, 3, 0.3, false);
    check_minimum(&P, &c, 1, "executors=9\n");
}

/* More columns than rows: margins can be as large as costs ask for. */
static void the_dual_converges_at_any_cost(void **state)
{
    static const char *const LOSSES[] = {"logistic", "squared_hinge", "hinge"};
    struct base_rand rand;

    (void)state;
    for (uint32_t loss = 0; loss < 3; loss++)
        for (double cost = 1e-6; cost < 1e9; cost *= 1000) {
            struct cluster c = {.workers = 1};
            char settings[100];
            base_rand_init(&rand, 3, "test.logreg");
            world_make(&world, &rand, 20, 39, 1, 0.5, false);
            for (uint32_t i = 0; i < 20; i++)
                world.label[i] = i % 2;
            snprintf(settings, sizeof settings, "loss=%s\ncost=%g\ntol=1e-3\n", LOSSES[loss], cost);
            run(&c, 1, settings);
            const struct logreg_driver *d = shoal_driver_state(train_master_driver(c.master));
            assert_int_equal(d->way, NUM_LINEAR_DUAL);
            struct train_stats stats = train_master_stats(c.master);
            if (stats.stopped != SHOAL_STOP_TOLERANCE || stats.gap > 1e-3)
                fail_msg("%s: stopped by %u with a gap of %g", settings, stats.stopped, stats.gap);
            cluster_free(&c);
        }
}

static void a_tolerance_below_that_of_floats_is_never_claimed(void **state)
{
    static const struct {
        const char *settings;
        bool wide; /* more columns than rows */
        bool stalls;
    } JOBS[] = {{"loss=logistic", false, true},   {"loss=squared_hinge", false, true},
                {"loss=hinge", false, true},      {"penalty=l1", false, true},
                {"loss=logistic", true, false},   {"loss=squared_hinge", true, false},
                {"loss=hinge", true, false},      {"penalty=l1", true, false},
                {"algorithm=newton", false, true}};
    struct base_rand rand;

    (void)state;
    for (size_t n = 0; n < sizeof JOBS / sizeof JOBS[0]; n++) {
        struct cluster c = {.workers = 1};
        char settings[100];
        base_rand_init(&rand, n, "test.logreg");
        world_make(&world, &rand, JOBS[n].wide ? 20 : 200, JOBS[n].wide ? 39 : 8, 1, 0.5, false);
        snprintf(settings, sizeof settings, "%s\ntol=1e-12\nepochs=2000\n", JOBS[n].settings);
        run(&c, n, settings);
        struct train_stats stats = train_master_stats(c.master);
        if (stats.stopped == SHOAL_STOP_TOLERANCE ||
            (JOBS[n].stalls && stats.stopped != SHOAL_STOP_STALLED))
            fail_msg("%s: stopped by %u with a gap of %g", settings, stats.stopped, stats.gap);
        cluster_free(&c);
    }
}

/* The sum of its Hessian has no factor in floats. */
static void columns_that_are_there_twice_are_solved_at_any_cost(void **state)
{
    static const char *const JOBS[] = {"cost=1e6", "cost=1e6\nloss=squared_hinge", "cost=1e3",
                                       "cost=1e6\nalgorithm=newton"};
    struct base_rand rand;

    (void)state;
    for (size_t n = 0; n < sizeof JOBS / sizeof JOBS[0]; n++) {
        struct cluster c = {.workers = 1};
        struct learnt l;
        base_rand_init(&rand, 6, "test.logreg");
        world_make(&world, &rand, 200, 30, 1, 1, false);
        for (uint64_t e = 0; e < world.start[200]; e++) /* columns 10 to 29 are 0 to 9 again */
            if (e % 30 >= 10)
                world.value[e] = world.value[e / 30 * 30 + e % 10] * (e % 30 < 20 ? 1 : 2);
        for (uint64_t i = 0; i < 200; i++) /* the first column tells all but a tenth */
            world.label[i] = world.value[world.start[i]] > 0 ? i % 10 == 0 : i % 10 != 0;
        run(&c, n, JOBS[n]);
        learn(&c, &l);
        double zeros = (n == 2 ? 1e3 : 1e6) * 200 * (n == 1 ? 1 : log(2));
        if (!(l.value < 0.9 * zeros))
            fail_msg("%s: %g, and %g at first", JOBS[n], l.value, zeros);
        cluster_free(&c);
    }
}

/* One column is far larger than the others: floats show no gap of the default tolerance. */
static void a_stall_is_noticed(void **state)
{
    struct base_rand rand;

    (void)state;
    for (int n = 0; n < 2; n++) {
        struct cluster c = {.workers = 1};
        base_rand_init(&rand, 7, "test.logreg");
        world_make(&world, &rand, 200, 6, 1, 1, false);
        for (uint64_t e = 0; e < world.start[200]; e += 6)
            world.value[e] = 1e6f + 1e5f * world.value[e];
        run(&c, 1, n == 0 ? "tol=1e-6" : "tol=1e-6\nloss=squared_hinge");
        struct train_stats stats = train_master_stats(c.master);
        assert_true(stats.stopped != SHOAL_STOP_LIMIT);
        cluster_free(&c);
    }
}

static void steps_that_are_too_large_are_an_error(void **state)
{
    struct cluster c = {.workers = 1};

    (void)state;
    make_world(2, 1, 12);
    cluster_begin(&c, 1);
    put_rows(c.env);
    cluster_run(&c, app_find("logreg"), "algorithm=sgd\nloss=squared_hinge\nrate=3\n", 100000);
    assert_true(c.over);
    assert_int_equal(c.status, SHOAL_E_IMPOSSIBLE);
    assert_non_null(strstr(c.err.message, "diverges"));
    cluster_free(&c);
}

/* The world gets a column of ones. */
static void add_ones(void)
{
    uint64_t added = world.p.x.rows;

    for (uint64_t i = world.p.x.rows; i-- > 0;) {
        for (uint64_t e = world.start[i + 1]; e-- > world.start[i];) {
            world.index[e + added - 1] = world.index[e];
            world.value[e + added - 1] = world.value[e];
        }
        world.index[world.start[i + 1] + added - 1] = world.p.x.columns;
        world.value[world.start[i + 1] + added - 1] = 1;
        world.start[i + 1] += added--;
    }
    world.p.x.columns++;
}

static void a_bias_is_a_column_of_ones(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++) { /* sparse, and so dense that rows are filled */
        struct learnt with, without;
        struct cluster a = {.workers = 1}, b = {.workers = 1};
        struct base_rand rand;
        base_rand_init(&rand, 4, "test.logreg");
        world_make(&world, &rand, 150, 8, 1, n / 2 == 0 ? 0.4 : 0.9, n % 2 == 0);
        run(&a, 1, "bias=true\ntol=1e-5\n");
        learn(&a, &with);
        cluster_free(&a);
        add_ones();
        run(&b, 1, "tol=1e-5\n");
        learn(&b, &without);
        cluster_free(&b);
        assert_true(fabs(with.value - without.value) <= 1e-5 * with.value);
        assert_true(fabsf(with.w[8]) > 0.01f);
    }
}

/* Many classes and short rows, so that factors are fewer bytes than weights. */
static void steps_that_go_out_as_factors_come_near(void **state)
{
    static const struct problem P = {NUM_LINEAR_SOFTMAX, NUM_LINEAR_SQUARES,
                                     "loss=softmax\nalgorithm=sgd\nepochs=300\n", 1, 0.05};
    struct base_rand rand;

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(4); seed++) {
        struct cluster c = {.workers = 2, .crash = 0.002, .crash_left = 5};
        base_rand_init(&rand, seed, "test.logreg");
        world_make(&world, &rand, 100, 39, 20, 0.05, seed % 2 == 0);
        for (uint32_t i = 0; i < 40; i++)
            world.label[i] = i % 20;
        c.staleness = (uint32_t)(seed % 2);
        run(&c, seed, "cost=0.5\nloss=softmax\nalgorithm=sgd\nepochs=2\nexecutors=9\n");
        const struct logreg_driver *d = shoal_driver_state(train_master_driver(c.master));
        assert_int_equal(d->way, LOGREG_BY_FACTORS);
        cluster_free(&c);
        c = (struct cluster){.workers = 2, .crash = 0.002, .crash_left = 5};
        check_minimum(&P, &c, seed, "executors=9\n");
    }
}

/* ---- the same bits ---- */

static const char *const BULK[] = {
    "executors=6\n",                                       /* gram */
    "executors=6\nloss=softmax\nepochs=3\n",               /* newton */
    "executors=9\nloss=hinge\nalgorithm=newton\n",         /* smoothed; newton of three lanes */
    "executors=9\nloss=hinge\nalgorithm=sdca\nepochs=6\n", /* dual in waves */
    "executors=5\npenalty=l1\nepochs=10\n",            /* prox, or lasso in waves of three lanes */
    "executors=6\nalgorithm=sgd\nepochs=3\nbias=true", /* sgd in waves */
    "executors=9\nalgorithm=sdca\nwave=9\njudge=2\nepochs=5\n", /* all at once */
};

static void bulk_synchronous_jobs_give_the_same_bits(void **state)
{
    static struct learnt first, now;

    (void)state;
    for (size_t n = 0; n < 2 * (sizeof BULK / sizeof BULK[0]); n++) {
        make_world(5, n % 2 == 0 ? 1 : 3, 12);
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
            run(&c, seed, BULK[n / 2]);
            learn(&c, seed == 0 ? &first : &now);
            if (seed > 0 && memcmp(&first, &now, sizeof now) != 0)
                fail_msg("%s: seed %llu gives another result, %.17g and not %.17g", BULK[n / 2],
                         (unsigned long long)seed, now.value, first.value);
            cluster_free(&c);
        }
    }
}

static void workers_on_other_machines_change_no_bit(void **state)
{
    static struct learnt first, now;
    struct cluster_count sum = {0};

    (void)state;
    make_world(6, 1, 12);
    for (size_t n = 0; n < sizeof BULK / sizeof BULK[0]; n++)
        for (uint64_t seed = 0; seed <= (uint64_t)property_count(6); seed++) {
            struct cluster c = {.workers = 1,
                                .away = seed > 0 ? 1 + (uint32_t)(seed % 3) : 0,
                                .away_mean_s = 0.003,
                                .kill_mean_s = seed % 2 == 0 ? 0 : 0.05,
                                .kills_left = 5};
            run(&c, seed, BULK[n]);
            learn(&c, seed == 0 ? &first : &now);
            if (seed > 0 && memcmp(&first, &now, sizeof now) != 0)
                fail_msg("%s: seed %llu gives another result, %.17g and not %.17g", BULK[n],
                         (unsigned long long)seed, now.value, first.value);
            cluster_add(&sum, &c.count);
            cluster_free(&c);
        }
    assert_true(sum.far > 0);
}

/* ---- waves ---- */

/* Clocks of a job of five epochs, each judged, and what it came to. */
static uint64_t clocks_of(const char *wave, double *out_value)
{
    struct cluster c = {.workers = 2};
    char settings[120];

    snprintf(settings, sizeof settings,
             "cost=0.5\nexecutors=8\njudge=1\nalgorithm=sdca\ntol=1e-12\nepochs=5\nwave=%s\n",
             wave);
    run(&c, 1, settings);
    struct train_stats stats = train_master_stats(c.master);
    const struct train_trail *trail = train_master_trail(c.master);
    assert_int_equal(trail->count, 5);
    for (uint32_t i = 1; i < trail->count; i++)
        assert_true(trail->value[i].clock > trail->value[i - 1].clock &&
                    trail->value[i].task_ns >= trail->value[i - 1].task_ns);
    *out_value = stats.value;
    cluster_free(&c);
    return stats.clocks;
}

static void as_many_work_at_once_as_a_wave_has(void **state)
{
    double one, usual, all;

    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        make_world(seed, 1, 12);
        assert_int_equal(clocks_of("1", &one), 5 * (8 + 1)); /* and one to judge */
        assert_int_equal(clocks_of("0", &usual), 5 * (2 + 1));
        assert_int_equal(clocks_of("3", &usual), 5 * (3 + 1));
        assert_int_equal(clocks_of("8", &all), 5 * (1 + 1));
        assert_int_equal(clocks_of("64", &usual), 5 * (1 + 1));
        assert_true(usual == all && one != all); /* from the same weights, or from newer ones */
    }
}

/* ---- what the plan decides ---- */

static void newton_is_bulk_synchronous_and_passes_are_not_unless_somebody_says_so(void **state)
{
    static const struct {
        const char *settings;
        uint32_t given, got, way;
    } JOBS[] = {
        {"loss=hinge\n", SHOAL_STALENESS_PLANNED, 0, NUM_LINEAR_GRAM},
        {"penalty=l1\n", SHOAL_STALENESS_PLANNED, 0, NUM_LINEAR_GRAM},
        {"algorithm=sdca\n", SHOAL_STALENESS_PLANNED, 1, NUM_LINEAR_DUAL},
        {"algorithm=sdca\n", 0, 0, NUM_LINEAR_DUAL},
        {"loss=hinge\n", 2, 2, NUM_LINEAR_DUAL},
        {"penalty=l1\n", 2, 2, NUM_LINEAR_LASSO},
        {"algorithm=sgd\n", SHOAL_STALENESS_PLANNED, 1, LOGREG_BY_SGD},
    };

    (void)state;
    make_world(7, 1, 12);
    for (size_t n = 0; n < sizeof JOBS / sizeof JOBS[0]; n++) {
        struct cluster c = {.workers = 2, .staleness = JOBS[n].given};
        run(&c, n, JOBS[n].settings);
        shoal_driver *driver = train_master_driver(c.master);
        const struct logreg_driver *d = shoal_driver_state(driver);
        assert_int_equal(shoal_driver_staleness(driver), JOBS[n].got);
        assert_int_equal(d->way, JOBS[n].way);
        assert_int_equal(d->bulk, JOBS[n].got == 0);
        cluster_free(&c);
    }
}

static void a_hinge_ends_by_its_gap(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(6); seed++) {
        struct cluster c = {.workers = 2, .staleness = SHOAL_STALENESS_PLANNED};
        struct base_rand rand;
        base_rand_init(&rand, seed, "test.logreg");
        if (seed % 2 == 0)
            world_make(&world, &rand, 30, 39, 3, 0.3, false);
        else
            make_world(seed, 1, 12);
        run(&c, seed, "loss=hinge\ncost=4\nexecutors=5\n");
        const struct logreg_driver *d = shoal_driver_state(train_master_driver(c.master));
        if (seed % 2 == 0) {
            assert_int_equal(d->way, NUM_LINEAR_DUAL);
            assert_true(d->epoch < 400);
        } else {
            assert_int_equal(d->way, NUM_LINEAR_GRAM);
            assert_true(d->value - d->bound <= d->tol * d->value);
        }
        cluster_free(&c);
    }
}

/* At such a cost floats do not show what the last steps gain. */
static void few_columns_with_penalty_l1_end_by_their_gap(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(6); seed++) {
        struct cluster c = {.workers = 2};
        struct base_rand rand;
        base_rand_init(&rand, seed, "test.logreg");
        world_make(&world, &rand, LINEAR_ROWS, 5, 1, 1, false);
        run(&c, seed, "cost=1e3\npenalty=l1\ntol=1e-4\nexecutors=3\n");
        const struct logreg_driver *d = shoal_driver_state(train_master_driver(c.master));
        assert_int_equal(d->way, NUM_LINEAR_GRAM);
        assert_int_equal(train_master_stats(c.master).stopped, SHOAL_STOP_TOLERANCE);
        cluster_free(&c);
    }
}

/* ---- corners ---- */

static void odd_data_is_solved_too(void **state)
{
    static const struct {
        uint64_t rows;
        uint32_t columns, classes;
        double fill;
    } SHAPES[] = {{1, 1, 1, 1},  {1, 6, 1, 0.5}, {1, 3, 1, 0}, {50, 3, 1, 0.5},
                  {50, 3, 2, 0}, {2, 1, 2, 1},   {60, 1, 3, 1}};

    (void)state;
    for (size_t n = 0; n < sizeof SHAPES / sizeof SHAPES[0]; n++)
        for (size_t p = 0; p < sizeof PROBLEMS / sizeof PROBLEMS[0]; p++) {
            struct base_rand rand;
            struct cluster c = {.workers = 2};
            uint32_t classes = SHAPES[n].classes;
            bool softmax = PROBLEMS[p].loss == NUM_LINEAR_SOFTMAX;
            base_rand_init(&rand, n, "test.logreg");
            world_make(&world, &rand, SHAPES[n].rows, SHAPES[n].columns,
                       classes <= 2 && !softmax ? 1 : classes, SHAPES[n].fill, n % 2 == 0);
            for (uint64_t i = 0; i < SHAPES[n].rows; i++)
                world.label[i] = (uint32_t)i % classes;
            check_minimum(&PROBLEMS[p], &c, n, "executors=3\n");
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_reaches_the_reference),
        cmocka_unit_test(a_gap_that_is_told_is_true),
        cmocka_unit_test(deaths_and_moves_do_not_keep_it_from_the_minimum),
        cmocka_unit_test(more_columns_than_rows_are_solved_by_the_dual_in_waves),
        cmocka_unit_test(the_dual_converges_at_any_cost),
        cmocka_unit_test(a_tolerance_below_that_of_floats_is_never_claimed),
        cmocka_unit_test(columns_that_are_there_twice_are_solved_at_any_cost),
        cmocka_unit_test(a_stall_is_noticed),
        cmocka_unit_test(steps_that_are_too_large_are_an_error),
        cmocka_unit_test(a_bias_is_a_column_of_ones),
        cmocka_unit_test(steps_that_go_out_as_factors_come_near),
        cmocka_unit_test(bulk_synchronous_jobs_give_the_same_bits),
        cmocka_unit_test(workers_on_other_machines_change_no_bit),
        cmocka_unit_test(as_many_work_at_once_as_a_wave_has),
        cmocka_unit_test(newton_is_bulk_synchronous_and_passes_are_not_unless_somebody_says_so),
        cmocka_unit_test(a_hinge_ends_by_its_gap),
        cmocka_unit_test(few_columns_with_penalty_l1_end_by_their_gap),
        cmocka_unit_test(odd_data_is_solved_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
