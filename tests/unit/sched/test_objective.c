/* test_objective.c - what each objective promises, on random problems and on small ones that can be
 * worked out by hand. */
#include "unit/sched/objective_world.h"

enum { ROUNDS = 150 };

static struct problem problem; /* large */

static void draw(struct base_rand *rand, bool hostile)
{
    uint32_t kinds = 1 + (uint32_t)base_rand_below(rand, KINDS_MAX);
    size_t jobs = 1 + base_rand_below(rand, 40);
    problem_draw(&problem, rand, kinds, jobs, 1 + (uint32_t)base_rand_below(rand, CLASSES_MAX),
                 hostile);
}

/* ---- the table ---- */

static void objectives_are_found_by_name_and_only_by_name(void **state)
{
    (void)state;
    for (int i = 0; i < SCHED_OBJECTIVE_COUNT; i++) {
        assert_int_equal(sched_objective_find(sched_objectives[i].name), i);
        assert_non_null(sched_objectives[i].summary);
        assert_non_null(sched_objectives[i].unit);
    }
    assert_int_equal(sched_objective_find("maxmin"), -1);
    assert_int_equal(sched_objective_find(""), -1);
}

/* ---- all objectives ---- */

static void every_objective_gives_only_what_exists(void **state)
{
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    base_rand_init(&rand, 1, "possible");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        draw(&rand, n % 2 == 1);
        for (int o = 0; o < SCHED_OBJECTIVE_COUNT; o++) {
            for (int aware = 0; aware < 2; aware++) {
                problem.in.aware = aware != 0;
                solve(s, (enum sched_objective)o, &problem.in, &r);
                assert_possible(&problem.in, &r);
                assert_true(r.exact);
            }
        }
    }
    sched_objective_free(s);
}

/* Scored by each formula, no other objective's answer beats the objective of that formula, and the
 * level it states is the score of its own answer and of no better one than its bound. */
static void no_objective_is_beaten_at_its_own_game(void **state)
{
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    base_rand_init(&rand, 1, "own game");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        draw(&rand, n % 2 == 1);
        problem.in.aware = n % 3 != 0;
        for (size_t i = 0; i < SCORED_COUNT; i++) {
            bool less = scored[i] == SCHED_OBJECTIVE_FTF || scored[i] == SCHED_OBJECTIVE_MAKESPAN;
            solve(s, scored[i], &problem.in, &r);
            double best = r.level;
            bool anyone = false;
            for (size_t m = 0; m < problem.in.problem.job_count; m++)
                anyone = anyone || fastest_of(&problem.in, m) > 0;
            if (!anyone) {
                assert_true(r.level == 0);
                continue;
            }
            assert_close(best, worth(scored[i], &problem.in, &r), 1e-7);
            assert_close(best, r.bound, 1e-7);
            for (int o = 0; o < SCHED_OBJECTIVE_COUNT; o++) {
                solve(s, (enum sched_objective)o, &problem.in, &r);
                double other = worth(scored[i], &problem.in, &r);
                if (less ? other < best * (1 - 1e-7) : other > best * (1 + 1e-7))
                    fail_msg("%s reaches %.17g, %s only %.17g", sched_objectives[o].name, other,
                             sched_objectives[scored[i]].name, best);
            }
        }
    }
    sched_objective_free(s);
}

static void agnostic_is_the_same_as_all_speeds_equal(void **state)
{
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    base_rand_init(&rand, 1, "agnostic");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        double level[SCHED_OBJECTIVE_COUNT];
        draw(&rand, n % 2 == 1);
        uint32_t kinds = problem.in.problem.kind_count;
        problem.in.aware = false;
        for (int o = 0; o < SCHED_OBJECTIVE_COUNT; o++) {
            solve(s, (enum sched_objective)o, &problem.in, &r);
            level[o] = r.level;
        }
        for (size_t m = 0; m < problem.in.problem.job_count; m++) {
            double fastest = fastest_of(&problem.in, m);
            for (uint32_t k = 0; k < kinds; k++)
                problem.rate[m * kinds + k] = problem.rate[m * kinds + k] > 0 ? fastest : 0;
        }
        problem.in.aware = true;
        for (int o = 0; o < SCHED_OBJECTIVE_COUNT; o++) {
            if (o == SCHED_OBJECTIVE_FIFO) /* most room first, against the first of the fastest */
                continue;
            solve(s, (enum sched_objective)o, &problem.in, &r);
            assert_close(level[o], r.level, 1e-7);
        }
    }
    sched_objective_free(s);
}

/* What an answer is said to reach is its score by the true speeds, however it was found; and knowing
 * better is never worse. */
static void an_agnostic_answer_is_scored_by_true_speeds(void **state)
{
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;
    int differs = 0;

    (void)state;
    base_rand_init(&rand, 1, "true speeds");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        draw(&rand, false);
        for (size_t i = 0; i < SCORED_COUNT; i++) {
            bool less = scored[i] == SCHED_OBJECTIVE_FTF || scored[i] == SCHED_OBJECTIVE_MAKESPAN;
            problem.in.aware = true;
            solve(s, scored[i], &problem.in, &r);
            assert_true(r.reached == r.level);
            double best = r.level;
            problem.in.aware = false;
            solve(s, scored[i], &problem.in, &r);
            problem.in.aware = true;
            assert_close(r.reached, worth(scored[i], &problem.in, &r), 1e-7);
            assert_true(less ? r.reached >= best * (1 - 1e-7) : r.reached <= best * (1 + 1e-7));
            differs += fabs(r.reached - r.level) > 1e-3 * r.level;
        }
        problem.in.aware = false;
        solve(s, SCHED_OBJECTIVE_COST, &problem.in, &r);
        problem.in.aware = true;
        assert_close(r.reached, cost_worth(&problem.in, &r), 1e-7);
    }
    assert_true(differs > property_count(ROUNDS));
    sched_objective_free(s);
}

/* What the named objective leaves over is solved for too, and must not end in an error where rounding
 * leaves next to nothing of it: two GPUs of a fast kind for ten million jobs. */
static void floors_without_room_are_no_error(void **state)
{
    static const double capacity[] = {2, 1e9}, count[] = {1e7, 1};
    static const double rates[][4] = {{3810.3555273293605, 3029.808573822483, 1, 1},
                                      {4740.903042067615, 3, 0.25406305930551343, 0}};
    static const double left[][2] = {{2e12, 1}, {3e13, 7e7}};
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    for (size_t jobs = 1; jobs <= 2; jobs++) {
        problem_set(&problem, 2, capacity, jobs, rates[jobs - 1]);
        problem.in.problem.count = count;
        problem.in.left = left[jobs - 1];
        solve(s, SCHED_OBJECTIVE_MAKESPAN, &problem.in, &r);
        assert_close(r.level, worth(SCHED_OBJECTIVE_MAKESPAN, &problem.in, &r), 1e-6);
        solve(s, SCHED_OBJECTIVE_FTF, &problem.in, &r);
        assert_close(r.level, r.bound, 1e-6);
    }
    sched_objective_free(s);
}

static void a_job_that_runs_nowhere_gets_nothing_and_holds_nobody_back(void **state)
{
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    base_rand_init(&rand, 1, "nowhere");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        draw(&rand, false);
        size_t jobs = problem.in.problem.job_count;
        uint32_t kinds = problem.in.problem.kind_count;
        memset(&problem.rate[jobs * kinds], 0, 2 * kinds * sizeof problem.rate[0]);
        for (size_t m = jobs; m < jobs + 2; m++) {
            problem.gpus[m] = problem.weight[m] = problem.left[m] = 1;
            problem.deadline[m] = INFINITY;
        }
        for (int o = 0; o < SCHED_OBJECTIVE_COUNT; o++) {
            problem.in.problem.job_count = jobs;
            solve(s, (enum sched_objective)o, &problem.in, &r);
            double level = r.level;
            problem.in.problem.job_count = jobs + 2;
            solve(s, (enum sched_objective)o, &problem.in, &r);
            assert_close(level, r.level, 1e-7);
            for (size_t i = jobs * kinds; i < (jobs + 2) * kinds; i++)
                assert_true(r.x[i] == 0);
        }
    }
    sched_objective_free(s);
}

static void nobody_to_serve_and_nothing_to_serve_with_are_answers(void **state)
{
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    base_rand_init(&rand, 1, "nobody");
    problem_draw(&problem, &rand, 3, 7, 3, false);
    for (int o = 0; o < SCHED_OBJECTIVE_COUNT; o++) {
        problem.in.problem.job_count = 0;
        solve(s, (enum sched_objective)o, &problem.in, &r);
        assert_true(r.level == 0 && r.exact && r.given_up_count == 0);
        problem.in.problem.job_count = 7;
        struct sched_objective_input no_gpus = problem.in;
        memset(no_gpus.problem.capacity, 0, sizeof no_gpus.problem.capacity);
        solve(s, (enum sched_objective)o, &no_gpus, &r);
        assert_true(r.level == 0 && r.exact);
        assert_possible(&no_gpus, &r);
        size_t asked = 0;
        for (size_t m = 0; m < 7; m++)
            asked += problem.deadline[m] < INFINITY;
        assert_int_equal(r.given_up_count, o == SCHED_OBJECTIVE_COST_SLO ? asked : 0);
    }
    sched_objective_free(s);
}

static void one_job_on_one_kind_has_it_all(void **state)
{
    static const double capacity[] = {2}, rate[] = {5};
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    problem_set(&problem, 1, capacity, 1, rate);
    for (int o = 0; o < SCHED_OBJECTIVE_COUNT; o++) {
        solve(s, (enum sched_objective)o, &problem.in, &r);
        assert_close(r.x[0], 1, 1e-9);
    }
    solve(s, SCHED_OBJECTIVE_MAKESPAN, &problem.in, &r);
    assert_close(r.level, 20, 1e-9);
    solve(s, SCHED_OBJECTIVE_FTF, &problem.in, &r);
    assert_close(r.level, 1, 1e-8);
    sched_objective_free(s);
}

/* Rows that stand for several jobs are those jobs. */
static void a_row_for_many_is_as_many_rows(void **state)
{
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;
    double count[JOBS_MAX], level[SCHED_OBJECTIVE_COUNT];

    (void)state;
    base_rand_init(&rand, 1, "rows");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        draw(&rand, false);
        size_t jobs = problem.in.problem.job_count, at = 0;
        struct problem *many = malloc(sizeof *many);
        *many = problem;
        for (size_t m = 0; m < jobs; m++) {
            count[m] = (double)(1 + base_rand_below(&rand, 4));
            problem.deadline[m] = INFINITY;
            for (int i = 0; i < (int)count[m]; i++, at++) {
                uint32_t kinds = problem.in.problem.kind_count;
                memcpy(&many->rate[at * kinds], &problem.rate[m * kinds],
                       kinds * sizeof problem.rate[0]);
                many->gpus[at] = problem.gpus[m];
                many->weight[at] = problem.weight[m];
                many->left[at] = problem.left[m];
                many->since[at] = problem.since[m];
                many->alone[at] = problem.alone[m];
                many->deadline[at] = INFINITY;
            }
        }
        many->in.problem.rate = many->rate;
        many->in.problem.gpus = many->gpus;
        many->in.weight = many->weight;
        many->in.left = many->left;
        many->in.since_s = many->since;
        many->in.alone_s = many->alone;
        many->in.deadline_s = many->deadline;
        many->in.problem.job_count = at;
        problem.in.problem.count = count;
        for (int o = 0; o < SCHED_OBJECTIVE_COUNT; o++) {
            solve(s, (enum sched_objective)o, &many->in, &r);
            level[o] = r.level;
            solve(s, (enum sched_objective)o, &problem.in, &r);
            assert_possible(&problem.in, &r);
            assert_close(level[o], r.level, 1e-7);
        }
        free(many);
    }
    sched_objective_free(s);
}

/* ---- max-min ---- */

static void equal_jobs_have_equal_levels(void **state)
{
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    base_rand_init(&rand, 1, "equal");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        draw(&rand, n % 2 == 1);
        problem.in.weight = NULL;
        solve(s, SCHED_OBJECTIVE_MAX_MIN, &problem.in, &r);
        for (size_t a = 0; a < problem.in.problem.job_count; a++) {
            for (size_t b = 0; b < a; b++) {
                if (problem.class_of[a] == problem.class_of[b])
                    assert_close(speed(&problem.in, &r, a), speed(&problem.in, &r, b), 1e-6);
            }
        }
    }
    sched_objective_free(s);
}

static void more_weight_never_means_less_speed(void **state)
{
    static const enum sched_objective weighted[] = {SCHED_OBJECTIVE_MAX_MIN,
                                                    SCHED_OBJECTIVE_THROUGHPUT};
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    base_rand_init(&rand, 1, "weights");
    for (int n = 0; n < property_count(4 * ROUNDS); n++) {
        enum sched_objective o = weighted[n % 2];
        draw(&rand, false);
        size_t m = base_rand_below(&rand, problem.in.problem.job_count);
        solve(s, o, &problem.in, &r);
        double level = r.level, before = problem.weight[m] * level;
        double sum = speed(&problem.in, &r, m);
        problem.weight[m] *= 2;
        solve(s, o, &problem.in, &r);
        double after = speed(&problem.in, &r, m);
        if (o == SCHED_OBJECTIVE_MAX_MIN) /* what its level promises it */
            assert_true(problem.weight[m] * r.level >= before * (1 - 1e-7));
        else
            assert_true(after >= sum - 1e-6 * fastest_of(&problem.in, m));
    }
    sched_objective_free(s);
}

/* Speeds are measured against what moves with capacity: average speeds, and the time on a share of
 * its own. Weights that undo that leave the yardstick as it was. */
static double yardstick(enum sched_objective objective, const struct sched_objective_input *in,
                        size_t m)
{
    const struct num_share_problem *p = &in->problem;
    double gpus = 0, usable = 0;
    if (objective != SCHED_OBJECTIVE_MAX_MIN && objective != SCHED_OBJECTIVE_FTF)
        return 1;
    if (objective == SCHED_OBJECTIVE_MAX_MIN)
        return 1 / prop_of(in, m);
    for (uint32_t k = 0; k < p->kind_count; k++) {
        gpus += p->capacity[k];
        usable += p->rate[m * p->kind_count + k] > 0 ? p->capacity[k] : 0;
    }
    double alone = prop_of(in, m) * gpus / fmax(usable, (double)p->job_count * p->gpus[m]);
    return in->alone_s[m] + in->left[m] / alone;
}

/* Solves with a little more of a kind, on the yardstick of before. */
static void solve_with_more(struct sched_objective_solver *s, enum sched_objective objective,
                            uint32_t kind, double more, struct sched_objective_result *r)
{
    double weight[JOBS_MAX];
    size_t jobs = problem.in.problem.job_count;
    memcpy(weight, problem.weight, sizeof weight);
    for (size_t m = 0; m < jobs; m++)
        problem.weight[m] /= yardstick(objective, &problem.in, m);
    problem.in.problem.capacity[kind] += more;
    for (size_t m = 0; m < jobs; m++)
        problem.weight[m] *= yardstick(objective, &problem.in, m);
    solve(s, objective, &problem.in, r);
    problem.in.problem.capacity[kind] -= more;
    memcpy(problem.weight, weight, sizeof weight);
}

/* What one more GPU is worth: a little more brings no more than the price says, and nearly always
 * that much; at a corner the price may be that of a little less. */
static void prices_are_what_more_gpus_are_worth(void **state)
{
    static const enum sched_objective priced[] = {SCHED_OBJECTIVE_MAX_MIN, SCHED_OBJECTIVE_FTF,
                                                  SCHED_OBJECTIVE_MAKESPAN,
                                                  SCHED_OBJECTIVE_THROUGHPUT, SCHED_OBJECTIVE_COST};
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;
    int right = 0, seen = 0;

    (void)state;
    base_rand_init(&rand, 1, "prices");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        draw(&rand, false);
        problem.in.aware = n % 3 != 0;
        for (size_t i = 0; i < 5; i++) {
            solve(s, priced[i], &problem.in, &r);
            double value = r.priced, price[NUM_KINDS_MAX];
            const char *unit = r.priced_unit;
            bool own = strcmp(unit, sched_objectives[priced[i]].unit) == 0;
            memcpy(price, r.price, sizeof price);
            if (!own && priced[i] == SCHED_OBJECTIVE_FTF)
                continue; /* work is by weight, and those would change */
            for (uint32_t k = 0; k < problem.in.problem.kind_count; k++) {
                double more = 1e-4 * problem.in.problem.capacity[k];
                assert_true(price[k] >= 0);
                solve_with_more(s, priced[i], k, more, &r);
                if (strcmp(r.priced_unit, unit) != 0)
                    continue; /* a top speed sets the value from here on */
                bool less = own && (priced[i] == SCHED_OBJECTIVE_FTF ||
                                    priced[i] == SCHED_OBJECTIVE_MAKESPAN);
                double gain = less ? value - r.priced : r.priced - value;
                if (gain > price[k] * more * (1 + 1e-3) + 1e-7 * value)
                    fail_msg("%s: kind %u was worth %g, not %g", sched_objectives[priced[i]].name,
                             k, gain / more, price[k]);
                right += gain >= price[k] * more * (1 - 1e-2) - 1e-7 * value;
                seen++;
            }
        }
    }
    assert_true(right > seen * 8 / 10);
    sched_objective_free(s);
}

/* One job is at its top speed and worst off; three others want the two GPUs of the other kind. */
static void where_a_top_speed_sets_the_level_prices_are_of_what_comes_next(void **state)
{
    static const double capacity[] = {2, 2}, rate[] = {1, 0, 0, 4, 0, 4, 0, 4};
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    problem_set(&problem, 2, capacity, 4, rate);
    problem.in.weight = problem.weight;
    problem.weight[0] = 10;
    problem.left[0] = 1e6;
    solve(s, SCHED_OBJECTIVE_MAX_MIN, &problem.in, &r);
    assert_close(r.level, 0.2, 1e-8);        /* a speed of 1, 1/2 on average, by weight 10 */
    assert_close(r.priced, 4.0 / 3, 1e-8);   /* two thirds of 4, which is 2 on average */
    assert_close(r.price[1], 2.0 / 3, 1e-3); /* half as much again for half as many GPUs more */
    assert_true(r.price[0] < 1e-9);
    assert_string_equal(r.priced_unit, "GPUs of average speed");

    solve(s, SCHED_OBJECTIVE_MAKESPAN, &problem.in, &r);
    assert_close(r.level, 1e6, 1e-8);
    assert_close(r.priced, 10 + 2, 1e-6);
    assert_close(r.price[1], 1, 1e-6);
    assert_true(r.price[0] < 1e-9);
    assert_string_equal(r.priced_unit, "jobs at their fastest");
    solve(s, SCHED_OBJECTIVE_FTF, &problem.in, &r);
    assert_close(r.priced, 10 + 2, 1e-6);
    assert_close(r.price[1], 1, 1e-6);

    problem.in.problem.capacity[1] = 4; /* more than enough for all */
    for (int o = 0; o < SCHED_OBJECTIVE_COUNT; o++) {
        solve(s, (enum sched_objective)o, &problem.in, &r);
        assert_true(r.price[0] < 1e-9 && r.price[1] < 1e-9);
    }
    sched_objective_free(s);
}

/* ---- finish-time fairness, makespan ---- */

static void ftf_is_at_most_one_for_jobs_that_just_came(void **state)
{
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    base_rand_init(&rand, 1, "sharing incentive");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        draw(&rand, n % 2 == 1);
        problem.in.weight = NULL;
        problem.in.since_s = problem.in.alone_s = NULL;
        solve(s, SCHED_OBJECTIVE_FTF, &problem.in, &r);
        assert_true(r.level <= 1 + 1e-7);
    }
    sched_objective_free(s);
}

static void what_makespan_leaves_over_goes_to_speed(void **state)
{
    /* the second job is short: it need not have its GPU to end in time, but nobody else wants it */
    static const double capacity[] = {2}, rate[] = {1, 1};
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    problem_set(&problem, 1, capacity, 2, rate);
    problem.left[1] = 1;
    solve(s, SCHED_OBJECTIVE_MAKESPAN, &problem.in, &r);
    assert_close(r.level, 100, 1e-8);
    assert_close(r.x[0], 1, 1e-8);
    assert_close(r.x[1], 1, 1e-8);
    sched_objective_free(s);
}

/* ---- throughput, cost ---- */

static void cost_prefers_the_kind_with_most_speed_for_a_dollar(void **state)
{
    static const double capacity[] = {1, 1}, rate[] = {10, 4};
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    problem_set(&problem, 2, capacity, 1, rate);
    problem.usd[0] = 3;
    solve(s, SCHED_OBJECTIVE_COST, &problem.in, &r);
    assert_close(r.x[1], 1, 1e-9); /* 0.4 against 0.33 */
    solve(s, SCHED_OBJECTIVE_THROUGHPUT, &problem.in, &r);
    assert_close(r.x[0], 1, 1e-9);
    problem.in.aware = false; /* then only the price counts */
    problem.usd[1] = 3.1;
    solve(s, SCHED_OBJECTIVE_COST, &problem.in, &r);
    assert_close(r.x[0], 1, 1e-9);
    sched_objective_free(s);
}

static void kept_deadlines_are_met_and_the_others_are_named(void **state)
{
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;
    size_t kept = 0, lost = 0;

    (void)state;
    base_rand_init(&rand, 1, "deadlines");
    for (int n = 0; n < property_count(2 * ROUNDS); n++) {
        draw(&rand, n % 2 == 1);
        problem.in.aware = n % 3 != 0;
        solve(s, SCHED_OBJECTIVE_COST_SLO, &problem.in, &r);
        assert_close(r.level, cost_worth(&problem.in, &r), 1e-7);
        size_t given_up = 0;
        for (size_t m = 0; m < problem.in.problem.job_count; m++) {
            double u = speed(&problem.in, &r, m);
            bool gone = r.given_up != NULL && r.given_up[m];
            given_up += gone;
            if (problem.deadline[m] == INFINITY)
                assert_false(gone);
            else if (!gone) {
                assert_true(problem.left[m] / u <= problem.deadline[m] * (1 + 1e-6));
                kept++;
            }
        }
        assert_int_equal(given_up, r.given_up_count);
        lost += given_up;
    }
    assert_true(kept > 100 && lost > 100);
    sched_objective_free(s);
}

static void no_deadline_is_given_up_while_all_can_be_kept(void **state)
{
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    base_rand_init(&rand, 1, "possible deadlines");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        draw(&rand, false);
        solve(s, SCHED_OBJECTIVE_MAKESPAN, &problem.in, &r);
        for (size_t m = 0; m < problem.in.problem.job_count; m++)
            problem.deadline[m] = r.level * base_rand_range(&rand, 1 + 1e-6, 1.5);
        solve(s, SCHED_OBJECTIVE_COST_SLO, &problem.in, &r);
        assert_int_equal(r.given_up_count, 0);
        assert_non_null(r.given_up);
    }
    sched_objective_free(s);
}

static void hopeless_deadlines_are_given_up_alone(void **state)
{
    static const double capacity[] = {3}, rate[] = {1, 1, 1};
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    problem_set(&problem, 1, capacity, 3, rate);
    problem.in.deadline_s = problem.deadline;
    problem.deadline[0] = -5;  /* past */
    problem.deadline[1] = 99;  /* needs more than its top speed */
    problem.deadline[2] = 100; /* just */
    solve(s, SCHED_OBJECTIVE_COST_SLO, &problem.in, &r);
    assert_int_equal(r.given_up_count, 2);
    assert_true(r.given_up[0] && r.given_up[1] && !r.given_up[2]);
    problem.deadline[0] = problem.deadline[1] = problem.deadline[2] = INFINITY;
    solve(s, SCHED_OBJECTIVE_COST_SLO, &problem.in, &r);
    assert_null(r.given_up);
    sched_objective_free(s);
}

/* ---- fifo ---- */

static void fifo_serves_whole_gangs_in_order_on_the_fastest_kind_with_room(void **state)
{
    static const double capacity[] = {2, 4};
    static const double rate[] = {3, 1, 3, 1, 3, 1, 3, 1, 3, 1};
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    problem_set(&problem, 2, capacity, 5, rate);
    problem.gpus[1] = 2; /* finds one fast GPU left: goes to the slow kind */
    problem.gpus[3] = 4; /* finds no room, and nobody overtakes it */
    solve(s, SCHED_OBJECTIVE_FIFO, &problem.in, &r);
    assert_true(r.x[0] == 1 && r.x[3] == 1 && r.x[4] == 1);
    assert_true(r.x[6] == 0 && r.x[7] == 0 && r.x[8] == 0 && r.x[9] == 0);
    assert_true(r.level == 3 && r.used[0] == 2 && r.used[1] == 2);

    problem.rate[7] = 0; /* now it waits for the fast kind only */
    solve(s, SCHED_OBJECTIVE_FIFO, &problem.in, &r);
    assert_true(r.x[8] == 0 && r.x[9] == 1);

    problem.gpus[3] = 1;
    problem.in.aware = false;
    solve(s, SCHED_OBJECTIVE_FIFO, &problem.in, &r);
    assert_true(r.x[1] == 1); /* most room */
    sched_objective_free(s);
}

/* ---- hierarchical ---- */

static void one_entity_is_max_min(void **state)
{
    static const struct num_tree_node node = {.parent = NUM_TREE_NONE, .weight = 3};
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;
    double before[JOBS_MAX];

    (void)state;
    base_rand_init(&rand, 1, "one entity");
    for (int n = 0; n < property_count(ROUNDS); n++) {
        draw(&rand, n % 2 == 1);
        solve(s, SCHED_OBJECTIVE_MAX_MIN, &problem.in, &r);
        for (size_t m = 0; m < problem.in.problem.job_count; m++)
            before[m] = speed(&problem.in, &r, m);
        for (int with_tree = 0; with_tree < 2; with_tree++) {
            problem.in.tree = (struct num_tree){0};
            if (with_tree == 1)
                problem.in.tree = (struct num_tree){.nodes = &node, .node_count = 1};
            solve(s, SCHED_OBJECTIVE_HIERARCHICAL, &problem.in, &r);
            for (size_t m = 0; m < problem.in.problem.job_count; m++)
                assert_close(before[m], speed(&problem.in, &r, m), 1e-6);
        }
    }
    sched_objective_free(s);
}

static void entities_get_in_proportion_to_their_weights(void **state)
{
    static const struct num_tree_node nodes[] = {
        {NUM_TREE_NONE, 1, false}, {0, 2, false}, {0, 1, false}};
    static const uint32_t job_node[] = {1, 1, 1, 1, 2, 2, 2, 2, 2, 2};
    static const double capacity[] = {3};
    double rate[10];
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    for (int m = 0; m < 10; m++)
        rate[m] = 5;
    problem_set(&problem, 1, capacity, 10, rate);
    problem.in.tree = (struct num_tree){.nodes = nodes, .node_count = 3, .job_node = job_node};
    solve(s, SCHED_OBJECTIVE_HIERARCHICAL, &problem.in, &r);
    for (int m = 0; m < 10; m++)
        assert_close(r.x[m], m < 4 ? 0.5 : 1.0 / 6, 1e-8);
    sched_objective_free(s);
}

static void fifo_inside_an_entity_serves_the_first_first(void **state)
{
    static const struct num_tree_node nodes[] = {
        {NUM_TREE_NONE, 1, false}, {0, 1, true}, {0, 1, false}};
    static const uint32_t job_node[] = {1, 1, 1, 2, 2, 2};
    static const double capacity[] = {3}, rate[] = {5, 5, 5, 5, 5, 5};
    static const double expected[] = {1, 0.5, 0, 0.5, 0.5, 0.5};
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    problem_set(&problem, 1, capacity, 6, rate);
    problem.in.tree = (struct num_tree){.nodes = nodes, .node_count = 3, .job_node = job_node};
    solve(s, SCHED_OBJECTIVE_HIERARCHICAL, &problem.in, &r);
    for (int m = 0; m < 6; m++)
        assert_true(fabs(r.x[m] - expected[m]) < 1e-7);
    sched_objective_free(s);
}

/* Ten jobs in one row are ten jobs to their entity. */
static void entities_count_jobs_not_rows(void **state)
{
    static const struct num_tree_node nodes[] = {
        {NUM_TREE_NONE, 1, false}, {0, 1, false}, {0, 1, false}};
    static const uint32_t job_node[] = {1, 2};
    static const double capacity[] = {1}, rate[] = {5, 5}, count[] = {10, 1};
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    problem_set(&problem, 1, capacity, 2, rate);
    problem.in.problem.count = count;
    problem.in.tree = (struct num_tree){.nodes = nodes, .node_count = 3, .job_node = job_node};
    solve(s, SCHED_OBJECTIVE_HIERARCHICAL, &problem.in, &r);
    assert_close(r.x[0], 0.05, 1e-8);
    assert_close(r.x[1], 0.5, 1e-8);
    assert_close(r.level, 1, 1e-8);
    sched_objective_free(s);
}

/* ---- bad input ---- */

static void refuse(struct sched_objective_solver *s, enum sched_objective objective,
                   const char *reason)
{
    struct sched_objective_result r = {.level = -7};
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(sched_objective_solve(s, objective, &problem.in, &r, &err), SHOAL_E_INVAL);
    if (strstr(err.message, reason) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, reason);
    assert_true(r.level == -7);
}

static void bad_values_are_refused_with_job_and_field(void **state)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY, -1, 1e-100, 1e100};
    static const struct {
        double *field;
        bool zero_is_bad;
        enum sched_objective objective;
        const char *reason;
    } fields[] = {
        {&problem.rate[2 * 3 + 1], false, SCHED_OBJECTIVE_MAX_MIN, "job 2: speed on kind 1"},
        {&problem.gpus[4], true, SCHED_OBJECTIVE_MAX_MIN, "job 4: its number of GPUs"},
        {&problem.weight[3], true, SCHED_OBJECTIVE_THROUGHPUT, "job 3: weight"},
        {&problem.left[1], true, SCHED_OBJECTIVE_MAKESPAN, "job 1: steps left"},
        {&problem.left[1], true, SCHED_OBJECTIVE_COST_SLO, "job 1: steps left"},
        {&problem.since[0], false, SCHED_OBJECTIVE_FTF, "job 0: time since arrival"},
        {&problem.alone[2], false, SCHED_OBJECTIVE_FTF, "job 2: time on a share"},
        {&problem.usd[2], true, SCHED_OBJECTIVE_COST, "kind 2: its price"},
        {&problem.in.problem.capacity[1], false, SCHED_OBJECTIVE_FIFO, "kind 1: "},
    };
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();

    (void)state;
    base_rand_init(&rand, 1, "bad");
    problem_draw(&problem, &rand, 3, 5, 2, false);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        double good = *fields[i].field;
        for (size_t j = 0; j < sizeof bad / sizeof bad[0]; j++) {
            *fields[i].field = bad[j];
            refuse(s, fields[i].objective, fields[i].reason);
        }
        *fields[i].field = 0;
        if (fields[i].zero_is_bad)
            refuse(s, fields[i].objective, fields[i].reason);
        *fields[i].field = good;
    }
    problem.deadline[3] = NAN;
    refuse(s, SCHED_OBJECTIVE_COST_SLO, "job 3: time to its deadline");
    problem.deadline[3] = -INFINITY;
    struct sched_objective_result r;
    solve(s, SCHED_OBJECTIVE_COST_SLO, &problem.in, &r);
    sched_objective_free(s);
}

static void missing_arrays_and_kinds_are_refused(void **state)
{
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();

    (void)state;
    base_rand_init(&rand, 1, "missing");
    problem_draw(&problem, &rand, 3, 5, 2, false);
    problem.in.left = NULL;
    refuse(s, SCHED_OBJECTIVE_MAKESPAN, "steps");
    refuse(s, SCHED_OBJECTIVE_FTF, "steps");
    problem.in.usd_h = NULL;
    refuse(s, SCHED_OBJECTIVE_COST, "price");
    problem.in.problem.rate = NULL;
    refuse(s, SCHED_OBJECTIVE_FIFO, "speeds");
    problem.in.problem.kind_count = NUM_KINDS_MAX + 1;
    refuse(s, SCHED_OBJECTIVE_FIFO, "17 kinds");
    problem.in.problem.kind_count = 0;
    refuse(s, SCHED_OBJECTIVE_FIFO, "0 kinds");
    sched_objective_free(s);
}

static void trees_that_are_none_are_refused(void **state)
{
    struct num_tree_node nodes[] = {{NUM_TREE_NONE, 1, false}, {0, 2, false}, {0, 1, true}};
    uint32_t job_node[] = {1, 2, 1, 2, 1};
    double job_weight[] = {1, 1, 1, 1, 1};
    struct base_rand rand;
    struct sched_objective_solver *s = solver_new();
    struct sched_objective_result r;

    (void)state;
    base_rand_init(&rand, 1, "trees");
    problem_draw(&problem, &rand, 3, 5, 2, false);
    problem.in.weight = NULL;
    problem.in.tree = (struct num_tree){nodes, 3, job_node, job_weight};
    solve(s, SCHED_OBJECTIVE_HIERARCHICAL, &problem.in, &r);
    nodes[1].weight = NAN;
    refuse(s, SCHED_OBJECTIVE_HIERARCHICAL, "entity 1: weight");
    nodes[1].weight = 2;
    nodes[1].parent = 2;
    refuse(s, SCHED_OBJECTIVE_HIERARCHICAL, "entity 1: its parent");
    nodes[1].parent = 0;
    nodes[0].parent = 0;
    refuse(s, SCHED_OBJECTIVE_HIERARCHICAL, "entity 0 is the root");
    nodes[0].parent = NUM_TREE_NONE;
    job_node[3] = 3;
    refuse(s, SCHED_OBJECTIVE_HIERARCHICAL, "job 3: entity 3 does not exist");
    job_node[3] = 0;
    refuse(s, SCHED_OBJECTIVE_HIERARCHICAL, "job 3: entity 0 holds entities");
    job_node[3] = 1;
    job_weight[2] = 0;
    refuse(s, SCHED_OBJECTIVE_HIERARCHICAL, "job 2: weight in its entity");
    job_weight[2] = 1;
    problem.in.weight = problem.weight;
    problem.weight[0] = 1;
    problem.weight[1] = 3;
    refuse(s, SCHED_OBJECTIVE_HIERARCHICAL, "job 1: weight 3 contradicts weight 1");
    sched_objective_free(s);
}

/* ---- memory ---- */

static shoal_status solve_all(const struct base_alloc *alloc, void *ctx)
{
    struct sched_objective_solver *s = NULL;
    struct sched_objective_result r;
    shoal_status st = sched_objective_new(alloc, NULL, &s);
    (void)ctx;
    for (int o = 0; st == SHOAL_OK && o < SCHED_OBJECTIVE_COUNT; o++) {
        problem.in.aware = o % 2 == 0;
        st = sched_objective_solve(s, (enum sched_objective)o, &problem.in, &r, NULL);
    }
    sched_objective_free(s);
    return st;
}

static void every_refused_allocation_ends_in_a_clean_error(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "torture");
    problem_draw(&problem, &rand, 3, 20, 5, false);
    torture_run(solve_all, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objectives_are_found_by_name_and_only_by_name),
        cmocka_unit_test(every_objective_gives_only_what_exists),
        cmocka_unit_test(no_objective_is_beaten_at_its_own_game),
        cmocka_unit_test(agnostic_is_the_same_as_all_speeds_equal),
        cmocka_unit_test(an_agnostic_answer_is_scored_by_true_speeds),
        cmocka_unit_test(floors_without_room_are_no_error),
        cmocka_unit_test(a_job_that_runs_nowhere_gets_nothing_and_holds_nobody_back),
        cmocka_unit_test(nobody_to_serve_and_nothing_to_serve_with_are_answers),
        cmocka_unit_test(one_job_on_one_kind_has_it_all),
        cmocka_unit_test(a_row_for_many_is_as_many_rows),
        cmocka_unit_test(equal_jobs_have_equal_levels),
        cmocka_unit_test(more_weight_never_means_less_speed),
        cmocka_unit_test(prices_are_what_more_gpus_are_worth),
        cmocka_unit_test(where_a_top_speed_sets_the_level_prices_are_of_what_comes_next),
        cmocka_unit_test(ftf_is_at_most_one_for_jobs_that_just_came),
        cmocka_unit_test(what_makespan_leaves_over_goes_to_speed),
        cmocka_unit_test(cost_prefers_the_kind_with_most_speed_for_a_dollar),
        cmocka_unit_test(kept_deadlines_are_met_and_the_others_are_named),
        cmocka_unit_test(no_deadline_is_given_up_while_all_can_be_kept),
        cmocka_unit_test(hopeless_deadlines_are_given_up_alone),
        cmocka_unit_test(fifo_serves_whole_gangs_in_order_on_the_fastest_kind_with_room),
        cmocka_unit_test(one_entity_is_max_min),
        cmocka_unit_test(entities_get_in_proportion_to_their_weights),
        cmocka_unit_test(fifo_inside_an_entity_serves_the_first_first),
        cmocka_unit_test(entities_count_jobs_not_rows),
        cmocka_unit_test(bad_values_are_refused_with_job_and_field),
        cmocka_unit_test(missing_arrays_and_kinds_are_refused),
        cmocka_unit_test(trees_that_are_none_are_refused),
        cmocka_unit_test(every_refused_allocation_ends_in_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
