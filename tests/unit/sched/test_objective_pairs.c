/* test_objective_pairs.c - objectives when two jobs may share the same GPUs. assert_possible holds
 * the time of every job to 1, alone and in pairs, and no pair to be of a job with itself. */
#include "unit/sched/objective_world.h"

enum { ROUNDS = 60 };

static struct problem problem; /* large */

static void draw(struct base_rand *rand, size_t jobs_max, bool hostile)
{
    uint32_t kinds = 1 + (uint32_t)base_rand_below(rand, KINDS_MAX);
    size_t jobs = 1 + base_rand_below(rand, jobs_max);
    problem_draw(&problem, rand, kinds, jobs, 1 + (uint32_t)base_rand_below(rand, CLASSES_MAX),
                 hostile);
}

static void shares_and_pairs_are_possible_for_every_objective(void **state)
{
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;
    size_t pairs = 0;

    (void)state;
    base_rand_init(&rand, 1, "possible pairs");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        draw(&rand, 60, n % 2 == 1);
        problem.in.pair = problem.pair;
        for (int o = 0; o < SCHED_OBJECTIVE_COUNT; o++) {
            problem.in.aware = (n + o) % 3 != 0;
            solve(s, (enum sched_objective)o, &problem.in, &r);
            assert_possible(&problem.in, &r);
            pairs += r.pair_count;
        }
    }
    assert_true(pairs > 1000);
    sched_objective_free(s);
}

static void sharing_never_makes_a_level_worse(void **state)
{
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;
    int better[SCHED_OBJECTIVE_COUNT] = {0};

    (void)state;
    base_rand_init(&rand, 1, "better");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        draw(&rand, 60, n % 2 == 1);
        for (int o = 0; o < SCHED_OBJECTIVE_COUNT; o++) {
            bool less = o == SCHED_OBJECTIVE_FTF || o == SCHED_OBJECTIVE_MAKESPAN;
            problem.in.pair = NULL;
            solve(s, (enum sched_objective)o, &problem.in, &r);
            double without = r.level;
            problem.in.pair = problem.pair;
            solve(s, (enum sched_objective)o, &problem.in, &r);
            double gain = less ? without - r.level : r.level - without;
            if (gain < -1e-6 * without)
                fail_msg("%s: %.17g with sharing, %.17g without", sched_objectives[o].name, r.level,
                         without);
            better[o] += gain > 1e-3 * without;
        }
    }
    /* and often enough it makes it better */
    assert_true(better[SCHED_OBJECTIVE_MAX_MIN] > property_count(ROUNDS) / 4);
    assert_true(better[SCHED_OBJECTIVE_FTF] > 2);
    assert_true(better[SCHED_OBJECTIVE_MAKESPAN] > property_count(ROUNDS) / 5);
    assert_true(better[SCHED_OBJECTIVE_THROUGHPUT] > property_count(ROUNDS) / 2);
    assert_true(better[SCHED_OBJECTIVE_COST] > property_count(ROUNDS) / 2);
    assert_true(better[SCHED_OBJECTIVE_FIFO] > property_count(ROUNDS) / 5);
    sched_objective_free(s);
}

/* The level is what the shares and pairs really give, and with few groups it is the best there
 * is. */
static void levels_are_what_the_pairs_give(void **state)
{
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    base_rand_init(&rand, 1, "levels");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        draw(&rand, 60, false);
        problem.in.aware = n % 4 != 0;
        problem.in.pair = problem.pair;
        for (size_t i = 0; i < SCORED_COUNT; i++) {
            solve(s, scored[i], &problem.in, &r);
            assert_close(r.level, worth(scored[i], &problem.in, &r), 1e-6);
            assert_close(r.level, r.bound, 1e-5);
            assert_true(r.exact);
        }
        solve(s, SCHED_OBJECTIVE_COST, &problem.in, &r);
        assert_close(r.level, cost_worth(&problem.in, &r), 1e-6);
        assert_close(r.level, r.bound, 1e-6);
    }
    sched_objective_free(s);
}

/* How a job does by itself; less is better for all but max-min. */
static double value_of(enum sched_objective o, const struct sched_objective_result *r, size_t m)
{
    struct sched_objective_input one = problem.in;
    double u = speed(&problem.in, r, m), prop = prop_of(&problem.in, m);
    const struct num_share_problem *p = &one.problem;
    if (o == SCHED_OBJECTIVE_MAX_MIN)
        return u * p->gpus[m] / prop / one.weight[m];
    if (o == SCHED_OBJECTIVE_MAKESPAN)
        return one.left[m] / u;
    double usable = 0, gpus = 0, jobs = 0;
    for (uint32_t k = 0; k < p->kind_count; k++) {
        usable += p->rate[m * p->kind_count + k] > 0 ? p->capacity[k] : 0;
        gpus += p->capacity[k];
    }
    for (size_t i = 0; i < p->job_count; i++)
        jobs += fastest_of(&one, i) > 0;
    double alone = prop * gpus / fmax(usable, jobs * p->gpus[m]);
    return one.weight[m] * (one.since_s[m] + one.left[m] / u) /
           (one.alone_s[m] + one.left[m] / alone);
}

static void those_who_hold_back_are_at_the_level(void **state)
{
    static const enum sched_objective levels[] = {SCHED_OBJECTIVE_MAX_MIN, SCHED_OBJECTIVE_FTF,
                                                  SCHED_OBJECTIVE_MAKESPAN};
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    base_rand_init(&rand, 1, "hold back");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        draw(&rand, 60, n % 2 == 1);
        problem.in.pair = problem.pair;
        for (size_t i = 0; i < 3; i++) {
            size_t count = 0;
            solve(s, levels[i], &problem.in, &r);
            if (r.level == 0)
                continue;
            assert_non_null(r.slope);
            for (size_t m = 0; m < problem.in.problem.job_count; m++) {
                if (r.slope[m] == 0)
                    continue;
                count++;
                assert_close(r.level, value_of(levels[i], &r, m), 1e-5);
            }
            assert_true(count > 0);
        }
    }
    sched_objective_free(s);
}

/* Some run faster beside another than alone, by what is said of them; then the fastest alone is not
 * the fastest there is, and a level beyond it must be found all the same. */
static void jobs_that_gain_from_company_are_solved_exactly(void **state)
{
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;
    int faster = 0;

    (void)state;
    base_rand_init(&rand, 1, "company");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        draw(&rand, 40, n % 2 == 1);
        uint32_t classes = problem.in.class_count;
        for (uint32_t i = 0; i < problem.in.problem.kind_count * classes * classes; i++)
            problem.pair[i] *= (float)base_rand_range(&rand, 0.3, 4);
        problem.in.pair = problem.pair;
        for (size_t i = 0; i < 2 * SCORED_COUNT; i++) {
            problem.in.aware = i % 2 == 0;
            solve(s, scored[i / 2], &problem.in, &r);
            assert_possible(&problem.in, &r);
            if (!r.exact || fabs(r.level - r.bound) > 1e-6 * r.level)
                fail_msg("%s, aware %d: level %.12g, bound %.12g",
                         sched_objectives[scored[i / 2]].name, problem.in.aware, r.level, r.bound);
            for (size_t m = 0; m < problem.in.problem.job_count; m++)
                faster += speed(&problem.in, &r, m) > 1.01 * fastest_of(&problem.in, m);
        }
    }
    assert_true(faster > 1000);
    sched_objective_free(s);
}

/* One more GPU: see test_objective.c. Makespan and the sums, whose yardsticks do not move. */
static void prices_with_pairs_are_what_more_gpus_are_worth(void **state)
{
    static const enum sched_objective priced[] = {SCHED_OBJECTIVE_MAKESPAN,
                                                  SCHED_OBJECTIVE_THROUGHPUT, SCHED_OBJECTIVE_COST};
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;
    int right = 0, seen = 0;

    (void)state;
    base_rand_init(&rand, 1, "pair prices");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        draw(&rand, 40, false);
        problem.in.aware = n % 3 != 0;
        problem.in.pair = problem.pair;
        for (size_t i = 0; i < 3; i++) {
            solve(s, priced[i], &problem.in, &r);
            double value = r.priced, price[NUM_KINDS_MAX];
            const char *unit = r.priced_unit;
            memcpy(price, r.price, sizeof price);
            for (uint32_t k = 0; k < problem.in.problem.kind_count; k++) {
                double more = 1e-4 * problem.in.problem.capacity[k];
                problem.in.problem.capacity[k] += more;
                solve(s, priced[i], &problem.in, &r);
                problem.in.problem.capacity[k] -= more;
                if (strcmp(r.priced_unit, unit) != 0)
                    continue;
                double gain = strcmp(unit, "s") == 0 ? value - r.priced : r.priced - value;
                if (gain > price[k] * more * (1 + 1e-3) + 1e-7 * value)
                    fail_msg("%s: kind %u was worth %g, not %g", sched_objectives[priced[i]].name,
                             k, gain / more, price[k]);
                right += gain >= price[k] * more * (1 - 1e-2) - 1e-7 * value;
                seen++;
            }
        }
    }
    assert_true(right > seen * 7 / 10);
    sched_objective_free(s);
}

/* 300 jobs with different needs in few classes: more than there may be groups. */
static void many_different_jobs_are_gathered_and_the_bound_still_holds(void **state)
{
    static const enum sched_objective timed[] = {SCHED_OBJECTIVE_FTF, SCHED_OBJECTIVE_MAKESPAN};
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    base_rand_init(&rand, 1, "many");
    for (int n = 0; n < property_count(6); n++) {
        problem_draw(&problem, &rand, 3, 300, 6, false);
        for (size_t i = 0; i < 2; i++) {
            problem.in.pair = NULL;
            solve(s, timed[i], &problem.in, &r);
            double without = r.level;
            problem.in.pair = problem.pair;
            solve(s, timed[i], &problem.in, &r);
            assert_possible(&problem.in, &r);
            assert_close(r.level, worth(timed[i], &problem.in, &r), 1e-6);
            assert_true(r.level <= without * (1 + 1e-6));
            assert_true(r.bound <= r.level * (1 + 1e-6));
            if (r.exact)
                assert_close(r.level, r.bound, 1e-5);
        }
    }
    sched_objective_free(s);
}

static void nobody_is_slower_for_it_in_a_hierarchy_or_with_deadlines(void **state)
{
    static const struct num_tree_node nodes[] = {
        {NUM_TREE_NONE, 1, false}, {0, 2, false}, {0, 1, true}};
    static const enum sched_objective above[] = {SCHED_OBJECTIVE_HIERARCHICAL,
                                                 SCHED_OBJECTIVE_COST_SLO};
    struct base_rand rand;
    struct sched_objective_result r;
    uint32_t job_node[JOBS_MAX];
    double before[JOBS_MAX];
    size_t faster = 0;

    (void)state;
    base_rand_init(&rand, 1, "above");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        draw(&rand, 40, n % 2 == 1);
        for (size_t m = 0; m < problem.in.problem.job_count; m++)
            job_node[m] = 1 + (uint32_t)base_rand_below(&rand, 2);
        problem.in.tree = (struct num_tree){.nodes = nodes, .node_count = 3, .job_node = job_node};
        for (size_t i = 0; i < 2; i++) {
            /* a new solver each: of equally good answers a warm one may choose another */
            struct sched_objective_solver *s = solver_new();
            problem.in.pair = NULL;
            solve(s, above[i], &problem.in, &r);
            for (size_t m = 0; m < problem.in.problem.job_count; m++)
                before[m] = speed(&problem.in, &r, m);
            sched_objective_free(s);
            s = solver_new();
            problem.in.pair = problem.pair;
            solve(s, above[i], &problem.in, &r);
            assert_possible(&problem.in, &r);
            for (size_t m = 0; m < problem.in.problem.job_count; m++) {
                double u = speed(&problem.in, &r, m), top = fastest_of(&problem.in, m);
                assert_true(u >= before[m] * (1 - 2e-6) - 1e-9 * top);
                faster += u > before[m] + 1e-3 * top;
            }
            sched_objective_free(s);
        }
    }
    assert_true(faster > 100);
}

/* ---- by hand ---- */

static void alike(size_t jobs, double gpus, float beside_itself)
{
    static const double rate[] = {10, 10, 10, 10, 10};
    problem_set(&problem, 1, &gpus, jobs, rate);
    problem.in.class_of = problem.class_of;
    problem.in.class_count = 1;
    problem.pair[0] = beside_itself;
    problem.in.pair = problem.pair;
}

static void two_alike_share_one_gpu_all_the_time(void **state)
{
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    alike(2, 1, 8);
    solve(s, SCHED_OBJECTIVE_MAX_MIN, &problem.in, &r);
    assert_close(r.level, 0.8, 1e-7);
    assert_int_equal(r.pair_count, 1);
    assert_close(r.pairs[0].share, 1, 1e-9);
    assert_true(r.pairs[0].job + r.pairs[0].with == 1);
    assert_close(r.used[0], 1, 1e-9);
    solve(s, SCHED_OBJECTIVE_MAKESPAN, &problem.in, &r);
    assert_close(r.level, 100 / 8.0, 1e-7);
    sched_objective_free(s);
}

static void an_odd_one_out_is_nobody(void **state)
{
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    alike(5, 2, 9);
    solve(s, SCHED_OBJECTIVE_MAX_MIN, &problem.in, &r);
    assert_close(r.level, 4 * 0.9 / 5, 1e-7);
    assert_possible(&problem.in, &r);
    for (size_t m = 0; m < 5; m++)
        assert_close(speed(&problem.in, &r, m), 7.2, 1e-7);
    sched_objective_free(s);
}

static void pairs_slower_than_turns_are_not_used(void **state)
{
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    alike(4, 2, 4.5F);
    for (int o = 0; o < SCHED_OBJECTIVE_COUNT; o++) {
        solve(s, (enum sched_objective)o, &problem.in, &r);
        assert_int_equal(r.pair_count, 0);
    }
    sched_objective_free(s);
}

static void fifo_lets_those_who_wait_join_in_order(void **state)
{
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    alike(5, 2, 8);
    solve(s, SCHED_OBJECTIVE_FIFO, &problem.in, &r);
    assert_possible(&problem.in, &r);
    assert_true(r.level == 4);
    assert_int_equal(r.pair_count, 2);
    assert_true(r.pairs[0].job == 0 && r.pairs[0].with == 2 && r.pairs[0].share == 1);
    assert_true(r.pairs[1].job == 1 && r.pairs[1].with == 3);
    for (int m = 0; m < 5; m++)
        assert_true(r.x[m] == 0);
    alike(5, 2, 7.4F); /* together less than 1.5 times one alone */
    solve(s, SCHED_OBJECTIVE_FIFO, &problem.in, &r);
    assert_true(r.level == 2 && r.pair_count == 0);
    sched_objective_free(s);
}

/* ---- bad input, memory ---- */

static void refuse(struct sched_objective_solver *s, shoal_status status, const char *reason)
{
    struct sched_objective_result r;
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(sched_objective_solve(s, SCHED_OBJECTIVE_MAX_MIN, &problem.in, &r, &err),
                     status);
    if (strstr(err.message, reason) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, reason);
}

static void classes_that_are_none_are_refused(void **state)
{
    double count[] = {1, 2, 1, 1};
    struct sched_objective_solver *s = solver_new();

    (void)state;
    alike(4, 2, 8);
    problem.class_of[2] = 1;
    refuse(s, SHOAL_E_INVAL, "job 2: class 1 does not exist");
    problem.class_of[2] = 0;
    problem.rate[3] = 11;
    refuse(s, SHOAL_E_INVAL, "jobs 0 and 3 are both of class 0");
    problem.rate[3] = 10;
    problem.pair[0] = NAN;
    refuse(s, SHOAL_E_INVAL, "class 0: speed beside class 0 on kind 0");
    problem.pair[0] = 8;
    problem.in.problem.count = count;
    refuse(s, SHOAL_E_INVAL, "one job");
    problem.in.problem.count = NULL;
    problem.in.class_of = NULL;
    refuse(s, SHOAL_E_INVAL, "class of each job");
    problem.in.class_of = problem.class_of;
    problem.in.class_count = NUM_PAIRS_GROUPS_MAX + 1;
    refuse(s, SHOAL_E_LIMIT, "257 classes");
    sched_objective_free(s);
}

static shoal_status solve_all(const struct base_alloc *alloc, void *ctx)
{
    struct sched_objective_solver *s = NULL;
    struct sched_objective_result r;
    shoal_status st = sched_objective_new(alloc, NULL, &s);
    (void)ctx;
    for (int o = 0; st == SHOAL_OK && o < SCHED_OBJECTIVE_COUNT; o++)
        st = sched_objective_solve(s, (enum sched_objective)o, &problem.in, &r, NULL);
    sched_objective_free(s);
    return st;
}

static void every_refused_allocation_ends_in_a_clean_error(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "torture");
    problem_draw(&problem, &rand, 2, 16, 4, false);
    problem.in.pair = problem.pair;
    torture_run_sampled(solve_all, NULL, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_and_pairs_are_possible_for_every_objective),
        cmocka_unit_test(sharing_never_makes_a_level_worse),
        cmocka_unit_test(levels_are_what_the_pairs_give),
        cmocka_unit_test(those_who_hold_back_are_at_the_level),
        cmocka_unit_test(jobs_that_gain_from_company_are_solved_exactly),
        cmocka_unit_test(prices_with_pairs_are_what_more_gpus_are_worth),
        cmocka_unit_test(many_different_jobs_are_gathered_and_the_bound_still_holds),
        cmocka_unit_test(nobody_is_slower_for_it_in_a_hierarchy_or_with_deadlines),
        cmocka_unit_test(two_alike_share_one_gpu_all_the_time),
        cmocka_unit_test(an_odd_one_out_is_nobody),
        cmocka_unit_test(pairs_slower_than_turns_are_not_used),
        cmocka_unit_test(fifo_lets_those_who_wait_join_in_order),
        cmocka_unit_test(classes_that_are_none_are_refused),
        cmocka_unit_test(every_refused_allocation_ends_in_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
