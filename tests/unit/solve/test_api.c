/* test_api.c - the public solver: what callers may rely on, whatever the objective. */
#include "problem_world.h"

#include "base/rand.h"
#include "property.h"
#include "shoal/solve.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Rounding a share may be off by: sums of a few hundred of them. */
static const double SLACK = 1e-7;

enum { JOBS_MAX = 40 };

struct instance {
    double capacity[SHOAL_SOLVE_KINDS_MAX], usd_h[SHOAL_SOLVE_KINDS_MAX];
    double rates[JOBS_MAX * SHOAL_SOLVE_KINDS_MAX];
    double gpus[JOBS_MAX], count[JOBS_MAX], weight[JOBS_MAX], left[JOBS_MAX], since_s[JOBS_MAX];
    double alone_s[JOBS_MAX], deadline_s[JOBS_MAX];
    shoal_solve_entity entities[4];
    uint32_t entity[JOBS_MAX];
    shoal_solve_problem p;
};

static shoal_env *env_of(void)
{
    shoal_env *env = NULL;

    assert_int_equal(shoal_env_sim_new(1, &env, NULL), SHOAL_OK);
    return env;
}

static shoal_solver *solver_of(shoal_env *env)
{
    shoal_solver *solver = NULL;

    assert_int_equal(shoal_solver_new(env, NULL, &solver, NULL), SHOAL_OK);
    return solver;
}

static void draw(struct base_rand *rand, struct instance *in)
{
    uint32_t kinds = 1 + (uint32_t)base_rand_below(rand, 4);
    size_t jobs = base_rand_below(rand, JOBS_MAX + 1);

    for (uint32_t k = 0; k < kinds; k++) {
        in->capacity[k] = base_rand_below(rand, 5) == 0 ? 0 : 1 + (double)base_rand_below(rand, 24);
        in->usd_h[k] = base_rand_range(rand, 0.2, 4);
    }
    for (uint32_t e = 0; e < 4; e++)
        in->entities[e] =
            (shoal_solve_entity){base_rand_range(rand, 0.5, 3), e == 3 ? 0 : SHOAL_SOLVE_TOP,
                                 (uint32_t)base_rand_below(rand, 2)};
    for (size_t i = 0; i < jobs; i++) {
        for (uint32_t k = 0; k < kinds; k++)
            in->rates[i * kinds + k] =
                base_rand_below(rand, 6) == 0 ? 0 : base_rand_range(rand, 0.1, 20);
        in->gpus[i] = (double)(1ULL << base_rand_below(rand, 3));
        in->count[i] = 1 + (double)base_rand_below(rand, 3);
        in->weight[i] = base_rand_range(rand, 0.5, 2);
        in->left[i] = base_rand_range(rand, 10, 1e5);
        in->since_s[i] = base_rand_range(rand, 0, 1e4);
        in->alone_s[i] = base_rand_range(rand, 0, 1e4);
        in->deadline_s[i] =
            base_rand_below(rand, 3) == 0 ? (double)INFINITY : base_rand_range(rand, -100, 1e5);
        in->entity[i] = 1 + (uint32_t)base_rand_below(rand, 3);
    }
    shoal_solve_problem p = SHOAL_SOLVE_PROBLEM_INIT;
    p.kind_count = kinds;
    p.capacity = in->capacity;
    p.usd_h = in->usd_h;
    p.job_count = jobs;
    p.rates = in->rates;
    p.gpus = in->gpus;
    p.count = in->count;
    p.weight = in->weight;
    p.left = in->left;
    p.since_s = in->since_s;
    p.alone_s = in->alone_s;
    p.deadline_s = in->deadline_s;
    p.entities = in->entities;
    p.entity_count = 4;
    p.entity = in->entity;
    in->p = p;
}

static double sum_of_shares(const shoal_solve_problem *p, const shoal_solve_result *r, size_t job)
{
    double sum = 0;

    for (uint32_t k = 0; k < p->kind_count; k++)
        sum += r->shares[job * p->kind_count + k];
    return sum;
}

/* Time, GPUs, speeds and flags add up. */
static void check_feasible(const char *objective, const shoal_solve_problem *p,
                           const shoal_solve_result *r)
{
    double used[SHOAL_SOLVE_KINDS_MAX] = {0};

    for (size_t i = 0; i < p->job_count; i++) {
        double speed = 0, best = 0;
        for (uint32_t k = 0; k < p->kind_count; k++) {
            double share = r->shares[i * p->kind_count + k], rate = p->rates[i * p->kind_count + k];
            if (!(share >= -SLACK && share <= 1 + SLACK))
                fail_msg("%s: job %zu has %g of the time on kind %u", objective, i, share, k);
            if (rate == 0 || p->capacity[k] == 0)
                assert_true(share == 0);
            used[k] += share * p->gpus[i] * p->count[i];
            speed += share * rate;
            best = p->capacity[k] > 0 && rate > best ? rate : best;
        }
        if (sum_of_shares(p, r, i) > 1 + SLACK)
            fail_msg("%s: job %zu has %g of its time", objective, i, sum_of_shares(p, r, i));
        assert_true(fabs(speed - r->speeds[i]) <= SLACK * (1 + speed));
        assert_int_equal((r->flags[i] & SHOAL_SOLVE_NOWHERE) != 0, best == 0);
        if ((r->flags[i] & SHOAL_SOLVE_TOP_SPEED) != 0)
            assert_true(speed >= best * (1 - SLACK));
    }
    for (uint32_t k = 0; k < p->kind_count; k++) {
        if (used[k] > p->capacity[k] * (1 + SLACK) + SLACK)
            fail_msg("%s: %g of %g GPUs of kind %u in use", objective, used[k], p->capacity[k], k);
        assert_true(fabs(used[k] - r->used[k]) <= SLACK * (1 + used[k]));
    }
}

static void check_deadlines(const shoal_solve_problem *p, const shoal_solve_result *r)
{
    size_t given_up = 0;

    for (size_t i = 0; i < p->job_count; i++) {
        bool up = (r->flags[i] & SHOAL_SOLVE_GIVEN_UP) != 0;
        bool hopeless = (r->flags[i] & SHOAL_SOLVE_HOPELESS) != 0;
        double fastest = 0;
        for (uint32_t k = 0; k < p->kind_count; k++)
            fastest = p->capacity[k] > 0 ? fmax(fastest, p->rates[i * p->kind_count + k]) : fastest;
        assert_int_equal(hopeless, up && !(fastest * p->deadline_s[i] >= p->left[i]));
        given_up += up;
        if (isinf(p->deadline_s[i]))
            assert_false(up);
        else if (!up && r->speeds[i] * p->deadline_s[i] < p->left[i] * (1 - 1e-6))
            fail_msg("job %zu misses a deadline that was not given up", i);
    }
    assert_int_equal(given_up, r->given_up_count);
}

static void answers_are_feasible_for_every_objective_and_proven(void **state)
{
    shoal_env *env = env_of();
    shoal_solver *solver = solver_of(env);
    struct base_rand rand;
    struct instance in;

    (void)state;
    base_rand_init(&rand, 3, "solve");
    for (int round = 0; round < property_count(500); round++) {
        draw(&rand, &in);
        in.p.agnostic = (uint32_t)base_rand_below(&rand, 2);
        for (size_t o = 0; shoal_solve_objective(o) != NULL; o++) {
            const char *name = shoal_solve_objective(o);
            shoal_solve_result r = SHOAL_SOLVE_RESULT_INIT;
            shoal_err err = SHOAL_ERR_INIT;
            if (shoal_solver_solve(solver, name, &in.p, &r, &err) != SHOAL_OK)
                fail_msg("round %d, %s: %s", round, name, err.message);
            if (!r.exact)
                fail_msg("round %d, %s: level %.12g, bound %.12g", round, name, r.level, r.bound);
            check_feasible(name, &in.p, &r);
            if (strcmp(name, "cost-slo") == 0 && !in.p.agnostic) /* else it is misled */
                check_deadlines(&in.p, &r);
        }
    }
    shoal_solver_free(solver);
    shoal_env_free(env);
}

/* One more GPU changes the level by its price, as long as nothing else changes. */
static void prices_are_what_a_little_more_capacity_adds(void **state)
{
    static const char *const names[] = {"throughput", "cost", "makespan"};
    const double more = 1e-6;
    shoal_env *env = env_of();
    shoal_solver *solver = solver_of(env);
    struct base_rand rand;
    struct instance in;
    int seen = 0;

    (void)state;
    base_rand_init(&rand, 5, "price");
    for (int round = 0; round < property_count(300); round++) {
        draw(&rand, &in);
        uint32_t k = (uint32_t)base_rand_below(&rand, in.p.kind_count);
        const char *name = names[round % 3];
        shoal_solve_result a = SHOAL_SOLVE_RESULT_INIT, b = SHOAL_SOLVE_RESULT_INIT;
        if (in.capacity[k] == 0 || in.p.job_count == 0)
            continue;
        assert_int_equal(shoal_solver_solve(solver, name, &in.p, &a, NULL), SHOAL_OK);
        double price = a.prices[k], value = a.priced;
        in.capacity[k] += more;
        assert_int_equal(shoal_solver_solve(solver, name, &in.p, &b, NULL), SHOAL_OK);
        if (strcmp(a.priced_unit, b.priced_unit) != 0)
            continue;
        double gain = fabs(b.priced - value) / more;
        /* At a corner the price lies between the slopes on both sides; a bound on one side holds. */
        if (gain > price * (1 + 1e-2) + 1e-3 * value)
            fail_msg("round %d, %s: price %g, but %g more GPU added %g", round, name, price, more,
                     gain);
        seen++;
    }
    assert_true(seen > 20);
    shoal_solver_free(solver);
    shoal_env_free(env);
}

/* The same in a tree of entities, fair and fifo. */
static void rows_in_entities_are_that_many_jobs(void **state)
{
    enum { SINGLE_MAX = 3 * JOBS_MAX };
    static double rates[SINGLE_MAX * SHOAL_SOLVE_KINDS_MAX], gpus[SINGLE_MAX], weight[SINGLE_MAX];
    static uint32_t entity[SINGLE_MAX];
    shoal_env *env = env_of();
    shoal_solver *solver = solver_of(env);
    struct base_rand rand;
    struct instance in;

    (void)state;
    base_rand_init(&rand, 11, "rows");
    for (int round = 0; round < property_count(200); round++) {
        draw(&rand, &in);
        for (uint32_t e = 0; e < 4; e++)
            in.entities[e].fifo = round % 2 != 0 && e % 2 != 0;
        shoal_solve_problem single = in.p;
        size_t kinds = in.p.kind_count, n = 0;
        for (size_t i = 0; i < in.p.job_count; i++)
            for (double c = in.count[i]; c > 0; c--, n++) {
                memcpy(rates + n * kinds, in.rates + i * kinds, kinds * sizeof *rates);
                gpus[n] = in.gpus[i];
                weight[n] = in.weight[i];
                entity[n] = in.entity[i];
            }
        single.job_count = n;
        single.rates = rates;
        single.gpus = gpus;
        single.weight = weight;
        single.entity = entity;
        single.count = NULL;
        shoal_solve_result a = SHOAL_SOLVE_RESULT_INIT, b = SHOAL_SOLVE_RESULT_INIT;
        assert_int_equal(shoal_solver_solve(solver, "hierarchical", &single, &a, NULL), SHOAL_OK);
        double level = a.level;
        assert_int_equal(shoal_solver_solve(solver, "hierarchical", &in.p, &b, NULL), SHOAL_OK);
        if (fabs(level - b.level) > 1e-6 * level)
            fail_msg("round %d: %.12g single, %.12g in rows", round, level, b.level);
        check_feasible("hierarchical", &in.p, &b);
    }
    shoal_solver_free(solver);
    shoal_env_free(env);
}

static void a_row_with_a_count_is_that_many_jobs(void **state)
{
    static const double capacity[] = {3, 4};
    static const double rates[] = {4, 1, 4, 1, 4, 1, 2, 1.5}, two[] = {4, 1, 2, 1.5};
    static const double count[] = {3, 1}, left[] = {9, 9, 9, 5}, left_two[] = {9, 5};
    static const double usd_h[] = {2, 1};
    shoal_env *env = env_of();
    shoal_solver *solver = solver_of(env);
    shoal_solve_problem single = SHOAL_SOLVE_PROBLEM_INIT, merged = SHOAL_SOLVE_PROBLEM_INIT;

    (void)state;
    single.kind_count = merged.kind_count = 2;
    single.capacity = merged.capacity = capacity;
    single.usd_h = merged.usd_h = usd_h;
    single.rates = rates;
    single.job_count = 4;
    single.left = left;
    merged.rates = two;
    merged.job_count = 2;
    merged.count = count;
    merged.left = left_two;
    for (size_t o = 0; shoal_solve_objective(o) != NULL; o++) {
        shoal_solve_result a = SHOAL_SOLVE_RESULT_INIT, b = SHOAL_SOLVE_RESULT_INIT;
        const char *name = shoal_solve_objective(o);
        assert_int_equal(shoal_solver_solve(solver, name, &single, &a, NULL), SHOAL_OK);
        double level = a.level;
        assert_int_equal(shoal_solver_solve(solver, name, &merged, &b, NULL), SHOAL_OK);
        if (fabs(level - b.level) > 1e-7 * level)
            fail_msg("%s: %.12g against %.12g", name, level, b.level);
    }
    shoal_solver_free(solver);
    shoal_env_free(env);
}

/* Two jobs that lose nothing by sharing get twice what they had; the pair is reported once. */
static void pairs_that_lose_nothing_double_what_there_is(void **state)
{
    static const double capacity[] = {1}, rates[] = {4, 6}, count[] = {2, 2};
    static const shoal_solve_pair pair = {0, 1, 0, 4, 6};
    shoal_env *env = env_of();
    shoal_solver *solver = solver_of(env);
    shoal_solve_problem p = SHOAL_SOLVE_PROBLEM_INIT;
    shoal_solve_result r = SHOAL_SOLVE_RESULT_INIT;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    p.kind_count = 1;
    p.capacity = capacity;
    p.job_count = 2;
    p.rates = rates;
    p.count = count;
    assert_int_equal(shoal_solver_solve(solver, "max-min", &p, &r, NULL), SHOAL_OK);
    double alone = r.level;
    p.pairs = &pair;
    p.pair_count = 1;
    if (shoal_solver_solve(solver, "max-min", &p, &r, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    assert_true(r.exact && fabs(r.level - 2 * alone) < 1e-6);
    assert_int_equal(r.pair_count, 1);
    assert_true(r.pairs[0].job == 0 && r.pairs[0].with == 1 && r.pairs[0].kind == 0);
    assert_true(fabs(r.pairs[0].share - 1) < 1e-6);
    assert_true(fabs(r.speeds[0] - 2) < 1e-5 && fabs(r.speeds[1] - 3) < 1e-5);
    shoal_solver_free(solver);
    shoal_env_free(env);
}

/* As many different jobs in pairs as are promised, each beside the next, and one more. */
static void as_many_jobs_share_as_are_promised(void **state)
{
    enum { MOST = SHOAL_SOLVE_PAIR_JOBS_MAX };
    static const size_t counts[] = {MOST / 2, MOST / 2 + 1, 200, MOST - 1, MOST};
    static const double capacity[] = {4, 4}, usd_h[] = {2, 1};
    static double rates[2 * (MOST + 1)], left[MOST + 1];
    static shoal_solve_pair pairs[MOST];
    shoal_env *env = env_of();
    shoal_solver *solver = solver_of(env);
    shoal_solve_problem p = SHOAL_SOLVE_PROBLEM_INIT;
    shoal_solve_result r = SHOAL_SOLVE_RESULT_INIT;
    shoal_err err = SHOAL_ERR_INIT;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "many share");
    for (uint32_t i = 0; i <= MOST; i++) {
        rates[2 * i] = base_rand_range(&rand, 1, 4);
        rates[2 * i + 1] = base_rand_range(&rand, 1, 4);
        left[i] = base_rand_range(&rand, 10, 1000);
    }
    for (uint32_t i = 0; i < MOST; i++)
        pairs[i] = (shoal_solve_pair){i, i + 1, 0, 0.7 * rates[2 * i], 0.7 * rates[2 * i + 2]};
    p.kind_count = 2;
    p.capacity = capacity;
    p.usd_h = usd_h;
    p.rates = rates;
    p.left = left;
    p.pairs = pairs;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        p.job_count = counts[i];
        p.pair_count = counts[i] - 1;
        for (size_t o = 0; shoal_solve_objective(o) != NULL; o++) {
            if (shoal_solver_solve(solver, shoal_solve_objective(o), &p, &r, &err) != SHOAL_OK)
                fail_msg("%zu jobs, %s: %s", counts[i], shoal_solve_objective(o), err.message);
            assert_true(r.exact);
            assert_true(r.used[0] <= 4 * (1 + SLACK) && r.used[1] <= 4 * (1 + SLACK));
            for (size_t j = 0; j < r.pair_count; j++)
                assert_true(r.pairs[j].kind == 0 && r.pairs[j].with == r.pairs[j].job + 1);
        }
    }
    p.job_count = MOST + 1;
    p.pair_count = MOST;
    for (size_t o = 0; shoal_solve_objective(o) != NULL; o++)
        assert_int_equal(shoal_solver_solve(solver, shoal_solve_objective(o), &p, &r, &err),
                         SHOAL_E_LIMIT);
    shoal_solver_free(solver);
    shoal_env_free(env);
}

/* Two kinds, each good for one of two jobs: who does not know it promises twice what there is. */
static void agnostic_levels_are_true_and_what_was_believed_stands_beside(void **state)
{
    static const double capacity[] = {1, 1}, rates[] = {10, 1, 1, 10}, left[] = {1000, 1000};
    shoal_env *env = env_of();
    shoal_solver *solver = solver_of(env);
    shoal_solve_problem p = SHOAL_SOLVE_PROBLEM_INIT;
    shoal_solve_result r = SHOAL_SOLVE_RESULT_INIT;

    (void)state;
    p.kind_count = 2;
    p.capacity = capacity;
    p.job_count = 2;
    p.rates = rates;
    p.left = left;
    p.agnostic = 1;
    assert_int_equal(shoal_solver_solve(solver, "makespan", &p, &r, NULL), SHOAL_OK);
    double slowest = fmax(left[0] / r.speeds[0], left[1] / r.speeds[1]);
    assert_true(fabs(r.level - slowest) < 1e-6 * slowest);
    assert_true(fabs(r.believed - 100) < 1e-6 && fabs(r.bound - 100) < 1e-6);
    p.agnostic = 0;
    assert_int_equal(shoal_solver_solve(solver, "makespan", &p, &r, NULL), SHOAL_OK);
    assert_true(r.believed == r.level && r.level <= slowest * (1 + 1e-9));
    shoal_solver_free(solver);
    shoal_env_free(env);
}

/* Faster beside another than alone: that is the top then. */
static void top_speed_is_that_beside_another_where_it_is_higher(void **state)
{
    static const double capacity[] = {2}, rates[] = {1, 1, 1};
    static const shoal_solve_pair pair = {0, 1, 0, 2, 1.5};
    shoal_env *env = env_of();
    shoal_solver *solver = solver_of(env);
    shoal_solve_problem p = SHOAL_SOLVE_PROBLEM_INIT;
    shoal_solve_result r = SHOAL_SOLVE_RESULT_INIT;

    (void)state;
    p.kind_count = 1;
    p.capacity = capacity;
    p.job_count = 3;
    p.rates = rates;
    p.pairs = &pair;
    p.pair_count = 1;
    assert_int_equal(shoal_solver_solve(solver, "fifo", &p, &r, NULL), SHOAL_OK);
    for (size_t i = 0; i < 3; i++) {
        double top = i == 0 ? 2 : i == 1 ? 1.5 : 1;
        assert_int_equal((r.flags[i] & SHOAL_SOLVE_TOP_SPEED) != 0, r.speeds[i] >= top);
    }
    assert_true(r.speeds[0] == 1); /* alone, and so not at its top */
    shoal_solver_free(solver);
    shoal_env_free(env);
}

static void empty_and_hopeless_problems_have_an_answer(void **state)
{
    static const double capacity[] = {4, 0}, none[] = {0, 0, 0, 5}, usd_h[] = {1, 1};
    static const double left[] = {5, 5}, deadline_s[] = {10, INFINITY};
    shoal_env *env = env_of();
    shoal_solver *solver = solver_of(env);

    (void)state;
    for (size_t o = 0; shoal_solve_objective(o) != NULL; o++) {
        shoal_solve_problem p = SHOAL_SOLVE_PROBLEM_INIT;
        shoal_solve_result r = SHOAL_SOLVE_RESULT_INIT;
        const char *name = shoal_solve_objective(o);
        shoal_err err = SHOAL_ERR_INIT;
        p.kind_count = 2;
        p.capacity = capacity;
        p.usd_h = usd_h;
        if (shoal_solver_solve(solver, name, &p, &r, &err) != SHOAL_OK) /* no jobs */
            fail_msg("%s: %s", name, err.message);
        assert_true(r.exact && r.level == 0 && r.used[0] == 0);
        p.job_count = 2; /* one without any speed, one fast where nothing is */
        p.rates = none;
        p.left = left;
        p.deadline_s = deadline_s;
        if (shoal_solver_solve(solver, name, &p, &r, &err) != SHOAL_OK)
            fail_msg("%s: %s", name, err.message);
        assert_true(r.exact && r.level == 0 && r.shares[3] == 0);
        assert_int_equal(r.flags[0] & SHOAL_SOLVE_NOWHERE, SHOAL_SOLVE_NOWHERE);
        assert_int_equal(r.flags[1] & SHOAL_SOLVE_NOWHERE, SHOAL_SOLVE_NOWHERE);
        assert_int_equal(r.given_up_count, strcmp(name, "cost-slo") == 0 ? 1 : 0);
    }
    shoal_solver_free(solver);
    shoal_env_free(env);
}

static void one_job_and_one_kind_take_what_there_is(void **state)
{
    static const double capacity[] = {3}, rates[] = {5}, gpus[] = {2};
    shoal_env *env = env_of();
    shoal_solver *solver = solver_of(env);
    shoal_solve_problem p = SHOAL_SOLVE_PROBLEM_INIT;
    shoal_solve_result r = SHOAL_SOLVE_RESULT_INIT;

    (void)state;
    p.kind_count = 1;
    p.capacity = capacity;
    p.job_count = 1;
    p.rates = rates;
    p.gpus = gpus;
    assert_int_equal(shoal_solver_solve(solver, "throughput", &p, &r, NULL), SHOAL_OK);
    assert_true(fabs(r.shares[0] - 1) < 1e-9 && fabs(r.speeds[0] - 5) < 1e-8);
    assert_int_equal(r.flags[0] & SHOAL_SOLVE_TOP_SPEED, SHOAL_SOLVE_TOP_SPEED);
    assert_true(fabs(r.used[0] - 2) < 1e-8 && fabs(r.prices[0]) < 1e-9);
    shoal_solver_free(solver);
    shoal_env_free(env);
}

static void wrong_calls_are_refused_and_change_nothing(void **state)
{
    static const double capacity[] = {1}, nan_capacity[] = {NAN}, rates[] = {1, 1},
                        bad[] = {1, NAN};
    static const double minus[] = {1, -1};
    static const shoal_solve_entity loop[] = {{1, 0, 0}};
    static const uint32_t entity[] = {0, 7};
    static const shoal_solve_pair pair = {0, 9, 0, 1, 1};
    shoal_env *env = env_of();
    shoal_solver *solver = solver_of(env), *other = NULL;
    shoal_solve_problem good = SHOAL_SOLVE_PROBLEM_INIT, p;
    shoal_solve_result r = SHOAL_SOLVE_RESULT_INIT;
    shoal_solver_opts opts = SHOAL_SOLVER_OPTS_INIT;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    r.level = 77;
    good.kind_count = 1;
    good.capacity = capacity;
    good.job_count = 2;
    good.rates = rates;
#define REFUSED(status, objective, ...)                                                \
    do {                                                                               \
        p = good;                                                                      \
        __VA_ARGS__;                                                                   \
        assert_int_equal(shoal_solver_solve(solver, objective, &p, &r, &err), status); \
        assert_true(err.code == (status) && err.message[0] != '\0' && r.level == 77);  \
    } while (0)
    REFUSED(SHOAL_E_NOTFOUND, "max-mim", (void)0);
    assert_non_null(strstr(err.hint, "max-min"));
    REFUSED(SHOAL_E_INVAL, "max-min", p.struct_size = 0);
    REFUSED(SHOAL_E_INVAL, "max-min", p.kind_count = 0);
    REFUSED(SHOAL_E_INVAL, "max-min", p.kind_count = 17);
    REFUSED(SHOAL_E_INVAL, "max-min", p.capacity = NULL);
    REFUSED(SHOAL_E_INVAL, "max-min", p.capacity = nan_capacity);
    REFUSED(SHOAL_E_INVAL, "max-min", p.rates = NULL);
    REFUSED(SHOAL_E_INVAL, "max-min", p.rates = bad);
    REFUSED(SHOAL_E_INVAL, "max-min", p.rates = minus);
    REFUSED(SHOAL_E_INVAL, "max-min", p.weight = minus);
    REFUSED(SHOAL_E_INVAL, "max-min", p.gpus = bad);
    REFUSED(SHOAL_E_INVAL, "makespan", (void)0);
    REFUSED(SHOAL_E_INVAL, "makespan", p.left = bad);
    REFUSED(SHOAL_E_INVAL, "cost", (void)0);
    REFUSED(SHOAL_E_INVAL, "hierarchical", p.entities = loop, p.entity_count = 1,
            p.entity = entity);
    REFUSED(SHOAL_E_INVAL, "hierarchical", p.entities = loop, p.entity_count = 1);
    REFUSED(SHOAL_E_INVAL, "max-min", p.pair_count = 1);
    REFUSED(SHOAL_E_INVAL, "max-min", p.pair_count = 1, p.pairs = &pair);
#undef REFUSED
    assert_int_equal(shoal_solver_solve(NULL, "max-min", &good, &r, NULL), SHOAL_E_INVAL);
    assert_int_equal(shoal_solver_solve(solver, NULL, &good, &r, NULL), SHOAL_E_INVAL);
    assert_int_equal(shoal_solver_solve(solver, "max-min", NULL, &r, NULL), SHOAL_E_INVAL);
    assert_int_equal(shoal_solver_solve(solver, "max-min", &good, NULL, NULL), SHOAL_E_INVAL);
    assert_int_equal(shoal_solver_new(NULL, NULL, &other, NULL), SHOAL_E_INVAL);
    opts.struct_size = 0;
    assert_int_equal(shoal_solver_new(env, &opts, &other, NULL), SHOAL_E_INVAL);
    assert_null(other);
    r.struct_size = 0;
    assert_int_equal(shoal_solver_solve(solver, "max-min", &good, &r, NULL), SHOAL_E_INVAL);
    shoal_solver_free(solver);
    shoal_solver_free(NULL);
    shoal_env_free(env);
}

static void structs_of_an_older_header_are_read_and_filled_as_far_as_they_go(void **state)
{
    static const double capacity[] = {1}, rates[] = {2, 2}, minus[] = {-1, -1};
    shoal_env *env = env_of();
    shoal_solver *solver = solver_of(env);
    shoal_solve_problem p = SHOAL_SOLVE_PROBLEM_INIT;
    shoal_solve_result r = SHOAL_SOLVE_RESULT_INIT;

    (void)state;
    p.kind_count = 1;
    p.capacity = capacity;
    p.job_count = 2;
    p.rates = rates;
    p.weight = minus; /* past the end of what this caller knows: must not be read */
    p.struct_size = offsetof(shoal_solve_problem, gpus);
    r.struct_size = offsetof(shoal_solve_result, unit);
    assert_int_equal(shoal_solver_solve(solver, "max-min", &p, &r, NULL), SHOAL_OK);
    assert_true(r.level > 0 && r.exact == 1);
    assert_null(r.unit);
    assert_null(r.shares);
    shoal_solver_free(solver);
    shoal_env_free(env);
}

/* Threads change nothing but the time. */
static void threads_give_the_same_level(void **state)
{
    enum { JOBS = 20000 };
    static double rates[JOBS * 3], gpus[JOBS];
    static const double capacity[] = {5000, 3000, 900};
    shoal_env *env = NULL;
    shoal_solve_problem p = SHOAL_SOLVE_PROBLEM_INIT;
    double levels[2];
    struct base_rand rand;

    (void)state;
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    base_rand_init(&rand, 9, "threads");
    for (size_t i = 0; i < JOBS; i++) {
        gpus[i] = 1 + (double)base_rand_below(&rand, 4);
        for (size_t k = 0; k < 3; k++)
            rates[i * 3 + k] = base_rand_range(&rand, 1, 9);
    }
    p.kind_count = 3;
    p.capacity = capacity;
    p.job_count = JOBS;
    p.rates = rates;
    p.gpus = gpus;
    for (uint32_t t = 0; t < 2; t++) {
        shoal_solver_opts opts = SHOAL_SOLVER_OPTS_INIT;
        shoal_solve_result r = SHOAL_SOLVE_RESULT_INIT;
        shoal_solver *solver = NULL;
        opts.threads = 1 + 3 * t;
        assert_int_equal(shoal_solver_new(env, &opts, &solver, NULL), SHOAL_OK);
        assert_int_equal(shoal_solver_solve(solver, "throughput", &p, &r, NULL), SHOAL_OK);
        assert_true(r.exact);
        levels[t] = r.level;
        shoal_solver_free(solver);
    }
    assert_true(fabs(levels[0] - levels[1]) <= 1e-8 * levels[0]);
    shoal_env_free(env);
}

static shoal_status solve_once(const struct base_alloc *alloc, void *ctx)
{
    static const double capacity[] = {2, 3}, rates[] = {4, 1, 4, 1, 2, 2}, count[] = {2, 1, 1};
    static const shoal_solve_pair pair = {0, 1, 0, 3, 3};
    shoal_env *env = ctx;
    const struct base_alloc *own = env->alloc;
    shoal_solver *solver = NULL;
    shoal_solve_problem p = SHOAL_SOLVE_PROBLEM_INIT;
    shoal_solve_result r = SHOAL_SOLVE_RESULT_INIT;

    p.kind_count = 2;
    p.capacity = capacity;
    p.job_count = 3;
    p.rates = rates;
    p.count = count;
    p.pairs = &pair;
    p.pair_count = 1;
    env->alloc = alloc;
    shoal_status st = shoal_solver_new(env, NULL, &solver, NULL);
    if (st == SHOAL_OK)
        st = shoal_solver_solve(solver, "max-min", &p, &r, NULL);
    shoal_solver_free(solver);
    env->alloc = own;
    return st;
}

static void short_memory_ends_in_a_clean_error(void **state)
{
    shoal_env *env = env_of();

    (void)state;
    torture_run(solve_once, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_feasible_for_every_objective_and_proven),
        cmocka_unit_test(prices_are_what_a_little_more_capacity_adds),
        cmocka_unit_test(a_row_with_a_count_is_that_many_jobs),
        cmocka_unit_test(rows_in_entities_are_that_many_jobs),
        cmocka_unit_test(pairs_that_lose_nothing_double_what_there_is),
        cmocka_unit_test(as_many_jobs_share_as_are_promised),
        cmocka_unit_test(agnostic_levels_are_true_and_what_was_believed_stands_beside),
        cmocka_unit_test(top_speed_is_that_beside_another_where_it_is_higher),
        cmocka_unit_test(empty_and_hopeless_problems_have_an_answer),
        cmocka_unit_test(one_job_and_one_kind_take_what_there_is),
        cmocka_unit_test(wrong_calls_are_refused_and_change_nothing),
        cmocka_unit_test(structs_of_an_older_header_are_read_and_filled_as_far_as_they_go),
        cmocka_unit_test(threads_give_the_same_level),
        cmocka_unit_test(short_memory_ends_in_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
