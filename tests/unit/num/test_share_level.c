/* ctest: timeout=600 */
/* Tests of num_share_level (src/num/share_level.c): every answer is checked by itself. Shares that
 * exist prove the level from below, and the prices prove the bound from above (share_proof.h), so
 * no other solver is needed; test_share_clp.c compares with one all the same. */
#include "unit/num/share_proof.h"

#include "env/env.h"

static struct world world, other; /* large */

static struct num_share_result solve(struct num_share *s, const struct world *w, const double *need)
{
    struct num_share_result r;

    WORLD_CLAIM(w, num_share_level(s, &w->p, need, &r) == SHOAL_OK, "the call failed");
    return r;
}

/* Feasible, at the level it says, and proven by its prices to be the best. */
static void claim_proven(const struct world *w, const double *need,
                         const struct num_share_result *r)
{
    const struct num_share_problem *p = &w->p;
    double slack = 0;

    world_claim_feasible(w, r);
    WORLD_CLAIM(w, r->exact, "not exact: level %.17g, bound %.17g", r->level, r->bound);
    WORLD_CLAIM(w, r->level >= 0 && r->bound >= r->level, "level %.17g above the bound %.17g",
                r->level, r->bound);
    if (isinf(r->level))
        return;
    WORLD_CLAIM(w, r->bound - r->level <= 1.001e-9 * r->level, "level %.17g, bound %.17g", r->level,
                r->bound);
    for (size_t m = 0; m < p->job_count; m++) {
        double speed = world_speed(p, r->x, m), asked = r->level * need[m];
        WORLD_CLAIM(w, speed >= asked * (1 - 1e-9), "job %zu runs at %.17g, needs %.17g", m, speed,
                    asked);
        WORLD_CLAIM(w, r->slope[m] >= 0, "job %zu has the slope %g", m, r->slope[m]);
        for (uint32_t j = 0; need[m] <= 0 && j < p->kind_count; j++)
            WORLD_CLAIM(w, r->x[m * p->kind_count + j] == 0, "job %zu needs nothing, has a share",
                        m);
    }
    double proven = proof_level(p, need, r->price);
    WORLD_CLAIM(w, proven <= r->bound * (1 + 1e-10), "prices prove %.17g, the bound is %.17g",
                proven, r->bound);
    WORLD_CLAIM(w, proven >= r->level * (1 - 1e-10), "prices prove %.17g, below the level %.17g",
                proven, r->level);
    for (uint32_t j = 0; j < p->kind_count; j++)
        slack += r->price[j] * (p->capacity[j] - r->used[j]);
    WORLD_CLAIM(w, slack <= 1e-8 * r->level, "GPUs worth %g of %g lie idle at a price", slack,
                r->level);
}

static void every_level_is_feasible_and_proven_by_its_prices(void **state)
{
    (void)state;
    for (int i = 0; i < property_count(4000); i++) {
        struct num_share *s = world_solver(NULL);
        world_make(&world, (uint64_t)i, 60);
        struct num_share_result r = solve(s, &world, world.need);
        claim_proven(&world, world.need, &r);
        num_share_free(s);
    }
}

/* Jobs with slope > 0 hold the others back: they run at their need and no faster. Each slope is a
 * part of the shortage, and prices and slopes together solve the dual: with y = slope / need,
 * price.N + sum of the jobs' gains max_j (y rate_j - z price_j) is the bound again. */
static void slopes_are_the_jobs_parts_of_the_shortage(void **state)
{
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(1000); i++) {
        world_make(&world, (uint64_t)i, 60);
        struct num_share_result r = solve(s, &world, world.need);
        if (r.level <= 0 || isinf(r.level))
            continue;
        double sum = 0, over = 0, dual = proof_worth(&world.p, r.price);
        for (size_t m = 0; m < world.p.job_count; m++) {
            double gain = 0, need = world.need[m];
            WORLD_CLAIM(&world, r.slope[m] == 0 || need > 0, "job %zu needs nothing, has a slope",
                        m);
            sum += r.slope[m];
            if (r.slope[m] > 0)
                over += r.slope[m] * (world_speed(&world.p, r.x, m) / need - r.level);
            for (uint32_t j = 0; r.slope[m] > 0 && j < world.p.kind_count; j++)
                gain = fmax(gain, r.slope[m] / need * proof_rate(&world.p, m, j) -
                                      world_count(&world.p, m) * world.gpus[m] * r.price[j]);
            dual += gain;
        }
        WORLD_CLAIM(&world, fabs(sum - 1) < 1e-9, "the parts sum to %.17g", sum);
        WORLD_CLAIM(&world, over <= 1e-8 * r.level, "jobs with slopes run %g above the level",
                    over);
        WORLD_CLAIM(&world, dual <= r.level * (1 + 1e-8),
                    "prices and slopes prove %.17g, level %.17g", dual, r.level);
    }
    num_share_free(s);
}

/* Levels are concave in the capacities: prices overestimate what more adds, and what less costs is
 * underestimated. */
static void a_price_is_what_one_more_gpu_adds_at_most(void **state)
{
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(1000); i++) {
        world_make(&world, (uint64_t)i, 40);
        struct num_share_result r = solve(s, &world, world.need);
        if (isinf(r.level))
            continue;
        uint32_t kind = (uint32_t)base_rand_below(&world.rand, world.p.kind_count);
        double level = r.level, price = r.price[kind];
        double change = base_rand_range(&world.rand, -0.5, 1) * (1 + world.p.capacity[kind]);
        change = fmax(change, -world.p.capacity[kind]);
        world.p.capacity[kind] += change;
        double got = solve(s, &world, world.need).level;
        WORLD_CLAIM(&world, got <= level + price * change + 1e-8 * fmax(level, got),
                    "%g more of kind %u: level %.17g to %.17g at price %g", change, kind, level,
                    got, price);
    }
    num_share_free(s);
}

/* 1 % or more of the jobs replaced, capacities moved, or another problem of as many kinds. */
static void perturb(struct world *w, int how)
{
    struct base_rand *r = &w->rand;
    size_t changes = how == 0 ? 1 + w->p.job_count / 100 : w->p.job_count / 2;

    for (size_t c = 0; c < changes; c++) {
        size_t m = base_rand_below(r, w->p.job_count);
        for (uint32_t j = 0; j < w->p.kind_count; j++)
            w->rate[m * w->p.kind_count + j] *= base_rand_range(r, 0.5, 2);
        w->need[m] *= base_rand_range(r, 0.5, 2);
    }
    for (uint32_t j = 0; how == 2 && j < w->p.kind_count; j++)
        w->p.capacity[j] = floor(w->p.capacity[j] * base_rand_range(r, 0, 2));
}

static void a_warm_call_is_as_good_as_a_cold_one(void **state)
{
    struct num_share *warm = world_solver(NULL), *cold = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(1500); i++) {
        world_make(&world, (uint64_t)i, 60);
        (void)solve(warm, &world, world.need);
        for (int how = 0; how < 3; how++) {
            perturb(&world, how);
            struct num_share_result w = solve(warm, &world, world.need);
            num_share_cold(cold);
            struct num_share_result c = solve(cold, &world, world.need);
            claim_proven(&world, world.need, &w);
            WORLD_CLAIM(&world, w.level == c.level || fabs(w.level - c.level) <= 2e-9 * c.level,
                        "warm %.17g, cold %.17g", w.level, c.level);
        }
    }
    num_share_free(warm);
    num_share_free(cold);
}

/* Thousands of jobs: settled ones are summed up, open ones solved for. Also after problems that
 * have nothing to do with this one, and after small changes. */
static void large_problems_are_proven_too_whatever_came_before(void **state)
{
    struct num_share *any = world_solver(NULL), *near = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(100); i++) {
        world_make_large(&world, (uint64_t)i);
        num_share_cold(near);
        struct num_share_result cold = solve(near, &world, world.need);
        claim_proven(&world, world.need, &cold);
        double level = cold.level;
        struct num_share_result r = solve(any, &world, world.need);
        claim_proven(&world, world.need, &r);
        WORLD_CLAIM(&world, r.level == level || fabs(r.level - level) <= 2e-9 * level,
                    "after others %.17g, cold %.17g", r.level, level);
        for (int how = 0; how < 3; how++) {
            perturb(&world, how);
            r = solve(near, &world, world.need);
            claim_proven(&world, world.need, &r);
        }
    }
    num_share_free(any);
    num_share_free(near);
}

static void a_row_of_count_c_equals_c_rows(void **state)
{
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(700); i++) {
        size_t rows = 0;
        world_make(&world, (uint64_t)i, 30);
        other = world;
        for (size_t m = 0; m < world.p.job_count; m++) {
            size_t copies = 1 + base_rand_below(&world.rand, 8);
            for (size_t c = 0; c < copies; c++, rows++) {
                memcpy(&other.rate[rows * world.p.kind_count], &world.rate[m * world.p.kind_count],
                       world.p.kind_count * sizeof *world.rate);
                other.gpus[rows] = world.gpus[m];
                other.need[rows] = world.need[m];
            }
            world.count[m] = (double)copies;
        }
        world.p.count = world.count;
        other.p.count = NULL;
        other.p.job_count = rows;
        other.p.rate = other.rate;
        other.p.gpus = other.gpus;
        struct num_share_result merged = solve(s, &world, world.need);
        double level = merged.level;
        claim_proven(&world, world.need, &merged);
        struct num_share_result apart = solve(s, &other, other.need);
        WORLD_CLAIM(&world, level == apart.level || fabs(level - apart.level) <= 2e-9 * level,
                    "merged %.17g, apart %.17g", level, apart.level);
    }
    num_share_free(s);
}

static void two_solvers_give_the_same_bits(void **state)
{
    (void)state;
    for (int i = 0; i < property_count(500); i++) {
        struct num_share *a = world_solver(NULL), *b = world_solver(NULL);
        world_make(&world, (uint64_t)i, 60);
        struct num_share_result first = solve(a, &world, world.need);
        struct num_share_result second = solve(b, &world, world.need);
        world_claim_equal_bits(&world, &first, &second);
        num_share_free(a);
        num_share_free(b);
    }
}

static int team_calls;

static shoal_status run_on_threads(void *ctx, size_t count, void (*fn)(void *arg, size_t index),
                                   void *arg)
{
    team_calls++;
    return env_parallel(ctx, count, 2, fn, arg, NULL);
}

static shoal_status run_nothing(void *ctx, size_t count, void (*fn)(void *arg, size_t index),
                                void *arg)
{
    (void)ctx, (void)count, (void)fn, (void)arg;
    return SHOAL_E_NOMEM;
}

static void a_team_gives_the_same_level(void **state)
{
    shoal_env *env = NULL;

    (void)state;
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    struct num_team threads = {2, run_on_threads, env};
    struct num_team backwards = {3, world_run_backwards, NULL};
    struct num_share *alone = world_solver(NULL), *two = world_solver(&threads),
                     *three = world_solver(&backwards);
    for (int i = 0; i < property_count(8); i++) {
        struct world_large large;
        world_make(&world, (uint64_t)i, 60);
        world_make_sized(&world, (uint64_t)i, 60, 2 + (uint32_t)i % 3);
        world_enlarge(&world, i % 2 == 0 ? 40000 : 33000, &large);
        struct num_share_result a = solve(two, &world, large.need);
        struct num_share_result b = solve(three, &world, large.need);
        claim_proven(&world, large.need, &a);
        claim_proven(&world, large.need, &b);
        double level = solve(alone, &world, large.need).level;
        WORLD_CLAIM(&world, a.level == level || fabs(a.level - level) <= 1e-9 * level,
                    "alone %.17g, by two threads %.17g", level, a.level);
        WORLD_CLAIM(&world, b.level == level || fabs(b.level - level) <= 1e-9 * level,
                    "alone %.17g, in three parts %.17g", level, b.level);
        world_large_fini(&large);
    }
    num_share_free(alone);
    num_share_free(two);
    num_share_free(three);
    shoal_env_free(env);
    assert_true(team_calls > 0); /* or nothing was tested */
}

static void a_team_that_fails_is_an_error_and_the_result_stays(void **state)
{
    struct num_team broken = {2, run_nothing, NULL};
    struct num_share *s = world_solver(&broken);
    struct world_large large;
    struct num_share_result r;

    (void)state;
    world_make(&world, 0, 20);
    world_enlarge(&world, 40000, &large);
    world_stain(&r);
    assert_int_equal(num_share_level(s, &world.p, large.need, &r), SHOAL_E_NOMEM);
    assert_true(world_stained(&r));
    world_large_fini(&large);
    num_share_free(s);
}

static void simple_cases_have_the_answers_worked_out_by_hand(void **state)
{
    struct num_share *s = world_solver(NULL);
    double rate[] = {4, 1, 2, 2}, gpus[] = {1, 1}, need[] = {1, 1};
    struct num_share_problem p = {
        .kind_count = 1, .capacity = {1}, .job_count = 1, .rate = rate, .gpus = gpus};
    struct num_share_result r;

    (void)state;
    assert_int_equal(num_share_level(s, &p, need, &r), SHOAL_OK); /* one job, all of its time */
    assert_true(fabs(r.level - 4) < 1e-8 && fabs(r.x[0] - 1) < 1e-8);
    gpus[0] = 2; /* half a gang: half of the time */
    assert_int_equal(num_share_level(s, &p, need, &r), SHOAL_OK);
    assert_true(fabs(r.level - 2) < 1e-8 && fabs(r.price[0] - 2) < 1e-8);
    gpus[0] = 1;
    p.job_count = 2; /* rates 4 and 1 on the one kind: shares 1/5 and 4/5 */
    assert_int_equal(num_share_level(s, &p, need, &r), SHOAL_OK);
    assert_true(fabs(r.level - 0.8) < 1e-8 && fabs(r.x[0] - 0.2) < 1e-8);
    assert_true(fabs(r.x[1] - 0.8) < 1e-8 && r.slope[0] > 0 && r.slope[1] > 0);
    /* (4 1) and (2 2) on one GPU each: job 1 on kind 1 at 2, job 0 on kind 0 at 4; evened out by
     * nothing, since job 0 cannot help job 1, which has all of its time. */
    p.kind_count = 2;
    p.capacity[1] = 1;
    assert_int_equal(num_share_level(s, &p, need, &r), SHOAL_OK);
    assert_true(fabs(r.level - 2) < 1e-8 && r.slope[0] == 0 && r.slope[1] > 0);
    num_share_free(s);
}

static void no_need_is_no_limit_and_a_job_that_runs_nowhere_is_level_zero(void **state)
{
    struct num_share *s = world_solver(NULL);
    double rate[] = {1, 0}, gpus[] = {1, 1}, need[] = {0, 0};
    struct num_share_problem p = {
        .kind_count = 1, .capacity = {1}, .job_count = 2, .rate = rate, .gpus = gpus};
    struct num_share_result r;

    (void)state;
    assert_int_equal(num_share_level(s, &p, need, &r), SHOAL_OK);
    assert_true(isinf(r.level) && r.x[0] == 0 && r.x[1] == 0 && r.exact);
    need[0] = 1; /* the second can run nowhere and needs nothing */
    assert_int_equal(num_share_level(s, &p, need, &r), SHOAL_OK);
    assert_true(fabs(r.level - 1) < 1e-8 && r.x[1] == 0);
    need[1] = 1e-6;
    assert_int_equal(num_share_level(s, &p, need, &r), SHOAL_OK);
    assert_true(r.level == 0 && r.bound == 0 && r.exact);
    p.job_count = 0;
    p.rate = p.gpus = NULL;
    assert_int_equal(num_share_level(s, &p, NULL, &r), SHOAL_OK);
    assert_true(isinf(r.level) && r.exact);
    num_share_free(s);
}

/* One value of a good problem replaced. */
static void refuse(struct num_share *s, struct world *w, const char *what, double *value,
                   double bad)
{
    double good = *value;
    struct num_share_result r;

    world_stain(&r);
    *value = bad;
    shoal_status st = num_share_level(s, &w->p, w->need, &r);
    WORLD_CLAIM(w, st == SHOAL_E_INVAL, "%s %g: %s", what, bad, shoal_status_name(st));
    assert_true(world_stained(&r));
    *value = good;
}

static void bad_values_are_refused_and_the_result_stays(void **state)
{
    static const double bad[] = {NAN, -1, INFINITY, -INFINITY};
    struct num_share *s = world_solver(NULL);
    struct num_share_result r;

    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        world_make(&world, seed, 40);
        for (size_t m = 0; m < world.p.job_count; m++)
            world.count[m] = 1;
        world.p.count = world.count;
        double before = solve(s, &world, world.need).level;
        size_t m = base_rand_below(&world.rand, world.p.job_count);
        uint32_t j = (uint32_t)base_rand_below(&world.rand, world.p.kind_count);
        for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
            refuse(s, &world, "rate", &world.rate[m * world.p.kind_count + j], bad[b]);
            refuse(s, &world, "capacity", &world.p.capacity[j], bad[b]);
            refuse(s, &world, "need", &world.need[m], bad[b]);
            refuse(s, &world, "gpus", &world.gpus[m], bad[b]);
            refuse(s, &world, "count", &world.count[m], bad[b]);
        }
        refuse(s, &world, "gpus", &world.gpus[m], 0);
        refuse(s, &world, "count", &world.count[m], 0);
        uint32_t kinds = world.p.kind_count;
        world_stain(&r);
        world.p.kind_count = 0;
        assert_int_equal(num_share_level(s, &world.p, world.need, &r), SHOAL_E_INVAL);
        world.p.kind_count = NUM_KINDS_MAX + 1;
        assert_int_equal(num_share_level(s, &world.p, world.need, &r), SHOAL_E_INVAL);
        assert_true(world_stained(&r));
        world.p.kind_count = kinds;
        struct num_share_result after = solve(s, &world, world.need); /* the solver still works */
        claim_proven(&world, world.need, &after);
        WORLD_CLAIM(&world, after.level == before || fabs(after.level - before) <= 2e-9 * before,
                    "%.17g before bad calls, %.17g after", before, after.level);
    }
    num_share_free(s);
}

/* What a loose tolerance gives is still feasible and still bounded, only further apart. */
static void a_looser_tolerance_is_kept_too(void **state)
{
    struct num_share *loose = world_solver(NULL), *tight = world_solver(NULL);

    (void)state;
    num_share_set_tolerance(loose, 1e-3);
    for (int i = 0; i < property_count(500); i++) {
        world_make(&world, (uint64_t)i, 60);
        double best = solve(tight, &world, world.need).level;
        struct num_share_result r = solve(loose, &world, world.need);
        world_claim_feasible(&world, &r);
        WORLD_CLAIM(&world, r.exact, "not within the tolerance: %.17g, %.17g", r.level, r.bound);
        WORLD_CLAIM(&world, r.level <= best * (1 + 2e-9) && r.bound >= best * (1 - 2e-9),
                    "%.17g is not in %.17g to %.17g", best, r.level, r.bound);
        WORLD_CLAIM(&world, r.level == r.bound || r.bound - r.level <= 1.001e-3 * r.level,
                    "level %.17g, bound %.17g", r.level, r.bound);
    }
    num_share_free(loose);
    num_share_free(tight);
}

static shoal_status solve_twice(const struct base_alloc *alloc, void *ctx)
{
    const struct world *small = ctx, *large = &other;
    struct num_share *s = NULL;
    struct num_share_result r;

    shoal_status st = num_share_new(alloc, NULL, &s);
    if (st == SHOAL_OK)
        st = num_share_level(s, &small->p, small->need, &r);
    if (st == SHOAL_OK) /* grows */
        st = num_share_level(s, &large->p, large->need, &r);
    if (st == SHOAL_OK && !r.exact)
        st = SHOAL_E_INTERNAL;
    num_share_free(s);
    return st;
}

static void refused_memory_is_an_error_and_nothing_leaks(void **state)
{
    (void)state;
    base_rand_init(&world.rand, 1, "torture");
    base_rand_init(&other.rand, 2, "torture");
    world_make_sized(&world, 14, 5, 2);
    world_make_sized(&other, 11, 200, 7);
    torture_run(solve_twice, &world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_is_feasible_and_proven_by_its_prices),
        cmocka_unit_test(slopes_are_the_jobs_parts_of_the_shortage),
        cmocka_unit_test(a_price_is_what_one_more_gpu_adds_at_most),
        cmocka_unit_test(a_warm_call_is_as_good_as_a_cold_one),
        cmocka_unit_test(large_problems_are_proven_too_whatever_came_before),
        cmocka_unit_test(a_row_of_count_c_equals_c_rows),
        cmocka_unit_test(two_solvers_give_the_same_bits),
        cmocka_unit_test(a_team_gives_the_same_level),
        cmocka_unit_test(a_team_that_fails_is_an_error_and_the_result_stays),
        cmocka_unit_test(simple_cases_have_the_answers_worked_out_by_hand),
        cmocka_unit_test(no_need_is_no_limit_and_a_job_that_runs_nowhere_is_level_zero),
        cmocka_unit_test(bad_values_are_refused_and_the_result_stays),
        cmocka_unit_test(a_looser_tolerance_is_kept_too),
        cmocka_unit_test(refused_memory_is_an_error_and_nothing_leaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
