/* Tests of src/advise/plan.c, and of the lines for a shell of plan_run.c. */
#include "property.h"
#include "torture.h"

#include "advise/plan.h"
#include "base/rand.h"
#include <math.h>
#include <string.h>

enum { N = 4, MANY = 32 };

static const uint32_t MACHINES[] = {1, 2, 4, 8, 16}, WANT[] = {8, 16, 32}, ITERATIONS[] = {5, 20};
static const double FRACTIONS[] = {0.1, 0.25, 0.5, 1};

struct world {
    struct advise_plan_problem p;
    struct advise_plan_algorithm algorithms[2];
    struct advise_plan_made made[8];
};

static void some_world(struct world *w, struct base_rand *rand, size_t algorithms)
{
    w->p = (struct advise_plan_problem){.algorithms = w->algorithms,
                                        .algorithm_count = algorithms,
                                        .machines = MACHINES,
                                        .machine_count = 5,
                                        .fractions = FRACTIONS,
                                        .fraction_count = 4,
                                        .iterations = ITERATIONS,
                                        .iteration_count = 2,
                                        .start_s = base_rand_range(rand, 0, 5),
                                        .want = WANT,
                                        .want_count = 3,
                                        .made = w->made};
    for (size_t a = 0; a < algorithms; a++)
        w->algorithms[a] = (struct advise_plan_algorithm){
            .name = a == 0 ? "sgd" : "cocoa",
            .theta = {base_rand_range(rand, 0, 2), base_rand_range(rand, 5, 50),
                      base_rand_range(rand, 0, 1), base_rand_range(rand, 0, 0.1)}};
    w->p.budget = base_rand_range(rand, 100, 5000) + 500;
}

static void features(double m, double s, double *f)
{
    f[0] = 1, f[1] = s / m, f[2] = log(m), f[3] = m;
}

static double step_of(const struct world *w, uint32_t algorithm, double m, double s)
{
    double f[N], sum = 0;

    features(m, s, f);
    for (int k = 0; k < N; k++)
        sum += w->algorithms[algorithm].theta[k] * f[k];
    return sum;
}

/* ---- slow and plain: the covariance of an algorithm's coefficients from scratch ---- */

static void add_information(const struct world *w, uint32_t algorithm, double m, double s,
                            double iterations, long double *info)
{
    double f[N], step = step_of(w, algorithm, m, s);
    double sigma = step * sqrt(0.03 * 0.03 + 0.10 * 0.10 / iterations);

    features(m, s, f);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            info[i * N + j] += (long double)(f[i] * f[j] / (sigma * sigma));
}

static void information(const struct world *w, uint32_t algorithm, const struct advise_plan *plan,
                        long double *info)
{
    double f[N], step = step_of(w, algorithm, 32, 1);

    features(32, 1, f);
    memset(info, 0, N * N * sizeof *info);
    for (int k = 0; k < N; k++)
        info[k * N + k] = (long double)(f[k] * f[k] / (step * step));
    for (size_t i = 0; i < w->p.made_count; i++)
        if (w->made[i].algorithm == algorithm)
            add_information(w, algorithm, w->made[i].machines, w->made[i].fraction,
                            w->made[i].iterations, info);
    for (size_t i = 0; plan != NULL && i < plan->run_count; i++)
        if (plan->runs[i].algorithm == algorithm)
            add_information(w, algorithm, plan->runs[i].machines, plan->runs[i].fraction,
                            plan->runs[i].iterations, info);
}

static void invert(long double *m, long double *out)
{
    for (int i = 0; i < N * N; i++)
        out[i] = i % (N + 1) == 0 ? 1 : 0;
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++) {
            long double by = m[i * N + k] / m[k * N + k];
            for (int j = 0; j < N && i != k; j++) {
                m[i * N + j] -= by * m[k * N + j];
                out[i * N + j] -= by * out[k * N + j];
            }
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            out[i * N + j] /= m[i * N + i];
}

static double half_interval(const struct world *w, uint32_t algorithm, uint32_t machines,
                            const struct advise_plan *plan)
{
    long double info[N * N], covariance[N * N], variance = 0;
    double f[N];

    information(w, algorithm, plan, info);
    invert(info, covariance);
    features(machines, 1, f);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            variance += (long double)f[i] * covariance[i * N + j] * (long double)f[j];
    return 1.6449 * sqrt((double)variance);
}

static void close_to(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance * fabs(b)))
        fail_msg("%.12g is not %.12g", a, b);
}

static void costs_and_intervals_are_what_they_say(void **state)
{
    static struct world w;
    static struct advise_plan plan;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "says");
    for (int i = 0; i < property_count(30); i++) {
        double cost = 0, after = 0, before = 0, last;
        some_world(&w, &rand, 1 + (size_t)i % 2);
        w.p.made_count = base_rand_below(&rand, 3);
        for (size_t k = 0; k < w.p.made_count; k++)
            w.made[k] = (struct advise_plan_made){0, 1 + (uint32_t)k, 0.5, 10};
        w.p.price = i % 3 == 0 ? 0.001 : 0;
        w.p.budget *= i % 3 == 0 ? 0.001 : 1;
        assert_int_equal(advise_plan(&base_alloc_libc, &w.p, &plan, NULL), SHOAL_OK);
        assert_true(plan.run_count > 0);
        last = plan.before;
        for (size_t r = 0; r < plan.run_count; r++) {
            const struct advise_plan_run *run = &plan.runs[r];
            double step = step_of(&w, run->algorithm, run->machines, run->fraction);
            close_to(run->seconds, w.p.start_s + run->iterations * step, 1e-12);
            close_to(run->cost, run->seconds * run->machines * (w.p.price > 0 ? w.p.price : 1),
                     1e-12);
            cost += run->cost;
            assert_true(run->sure <= last * (1 + 1e-9)); /* a run never makes it less sure */
            last = run->sure;
        }
        close_to(plan.cost, cost, 1e-12);
        assert_true(cost <= w.p.budget * (1 + 1e-12));
        assert_int_equal(plan.sure_count, 3 * w.p.algorithm_count);
        for (size_t s = 0; s < plan.sure_count; s++) {
            const struct advise_plan_sure *sure = &plan.sure[s];
            close_to(sure->step_s, step_of(&w, sure->algorithm, sure->machines, 1), 1e-12);
            close_to(sure->before, half_interval(&w, sure->algorithm, sure->machines, NULL), 1e-6);
            close_to(sure->after, half_interval(&w, sure->algorithm, sure->machines, &plan), 1e-6);
            before = fmax(before, sure->before / sure->step_s);
            after = fmax(after, sure->after / sure->step_s);
        }
        close_to(plan.before, before, 1e-9);
        close_to(plan.after, after, 1e-9);
        close_to(last, after, 1e-9);
        assert_true(plan.gap >= 0 && plan.gap < 0.5);
    }
}

static double variances(const struct world *w, const struct advise_plan *plan)
{
    double sum = 0;

    for (uint32_t a = 0; a < w->p.algorithm_count; a++)
        for (size_t k = 0; k < w->p.want_count; k++)
            sum += pow(half_interval(w, a, WANT[k], plan) / step_of(w, a, WANT[k], 1), 2);
    return sum;
}

/* No random choice that spends the budget is better than the plan by more than its proven gap. */
static void no_random_choice_is_better_than_the_gap_allows(void **state)
{
    static struct world w;
    static struct advise_plan plan, other;
    struct base_rand rand;
    double ratio = 0;
    int runs = property_count(5), tries = 40;

    (void)state;
    base_rand_init(&rand, 1, "random");
    for (int i = 0; i < runs; i++) {
        some_world(&w, &rand, 1);
        assert_int_equal(advise_plan(&base_alloc_libc, &w.p, &plan, NULL), SHOAL_OK);
        double mine = variances(&w, &plan);
        for (int t = 0; t < tries; t++) {
            bool seen[5][4][2] = {{{false}}};
            memset(&other, 0, sizeof other);
            for (int draws = 0; draws < 200 && other.run_count < MANY; draws++) {
                size_t m = base_rand_below(&rand, 5), s = base_rand_below(&rand, 4);
                size_t k = base_rand_below(&rand, 2);
                double step = step_of(&w, 0, MACHINES[m], FRACTIONS[s]);
                double cost = MACHINES[m] * (w.p.start_s + ITERATIONS[k] * step);
                if (seen[m][s][k] || other.cost + cost > w.p.budget)
                    continue;
                seen[m][s][k] = true;
                other.cost += cost;
                other.runs[other.run_count++] = (struct advise_plan_run){
                    .machines = MACHINES[m], .iterations = ITERATIONS[k], .fraction = FRACTIONS[s]};
            }
            double theirs = variances(&w, &other);
            assert_true(theirs >= mine * (1 - plan.gap) * (1 - 1e-6));
            ratio += theirs / mine / tries / runs;
        }
    }
    print_message("random choices of the same cost: %.2f times the variance\n", ratio);
    assert_true(ratio > 1.3);
}

static void more_money_makes_surer_and_enough_is_enough(void **state)
{
    static struct world w;
    static struct advise_plan plan;
    struct base_rand rand;
    double last = INFINITY;

    (void)state;
    base_rand_init(&rand, 1, "money");
    some_world(&w, &rand, 2);
    for (double budget = 100; budget < 1e6; budget *= 4) {
        w.p.budget = budget;
        assert_int_equal(advise_plan(&base_alloc_libc, &w.p, &plan, NULL), SHOAL_OK);
        assert_true(plan.after <= last * 1.05); /* the sum of variances falls, the widest nearly */
        last = plan.after;
    }
    size_t all = plan.run_count;
    assert_false(plan.more); /* every candidate is made */
    assert_int_equal(all, 2 * 5 * 4 * 2);
    w.p.enough = plan.after * 2;
    assert_int_equal(advise_plan(&base_alloc_libc, &w.p, &plan, NULL), SHOAL_OK);
    assert_true(plan.run_count < all && plan.after <= w.p.enough && plan.more);
    assert_true(plan.runs[plan.run_count - 2].sure > w.p.enough);
    w.p.enough = 100;
    assert_int_equal(advise_plan(&base_alloc_libc, &w.p, &plan, NULL), SHOAL_OK);
    assert_true(plan.run_count == 0 && plan.cost == 0); /* it is sure enough as it is */
}

/* Truth drawn as is believed, runs of the plan measured with the noise assumed, fitted with both:
 * nine of ten wanted times lie within what the plan promised. */
static void nine_of_ten_times_lie_within_the_interval_promised(void **state)
{
    static struct world w;
    static struct advise_plan plan;
    struct base_rand rand;
    int inside = 0, all = 0;

    (void)state;
    base_rand_init(&rand, 1, "promised");
    for (int i = 0; i < property_count(10); i++) {
        some_world(&w, &rand, 1);
        assert_int_equal(advise_plan(&base_alloc_libc, &w.p, &plan, NULL), SHOAL_OK);
        long double info[N * N], covariance[N * N];
        information(&w, 0, &plan, info);
        invert(info, covariance);
        for (int draw = 0; draw < 100; draw++) {
            double off[N], f[N],
                step = step_of(&w, 0, 32, 1); /* of the truth from what is believed */
            long double right[N] = {0};
            features(32, 1, f);
            for (int k = 0; k < N; k++)
                off[k] = base_rand_normal(&rand, 0, 1) * step / f[k];
            for (size_t r = 0; r < plan.run_count; r++) {
                const struct advise_plan_run *run = &plan.runs[r];
                double s = step_of(&w, 0, run->machines, run->fraction), seen = 0;
                double sigma = s * sqrt(0.03 * 0.03 + 0.10 * 0.10 / run->iterations);
                features(run->machines, run->fraction, f);
                for (int k = 0; k < N; k++)
                    seen += off[k] * f[k];
                seen += base_rand_normal(&rand, 0, 1) * sigma;
                for (int k = 0; k < N; k++)
                    right[k] += (long double)(f[k] * seen / (sigma * sigma));
            }
            for (size_t q = 0; q < plan.sure_count; q++) {
                double error = 0;
                features(plan.sure[q].machines, 1, f);
                for (int k = 0; k < N; k++) {
                    long double fitted = 0;
                    for (int j = 0; j < N; j++)
                        fitted += covariance[k * N + j] * right[j];
                    error += ((double)fitted - off[k]) * f[k];
                }
                inside += fabs(error) <= plan.sure[q].after;
                all++;
            }
        }
    }
    double covered = (double)inside / all;
    assert_true(covered > 0.87 && covered < 0.93); /* 1,000 truths: 0.9 give or take 0.01 */
}

/* As a fit of log m alone would have it, of which nothing is left on one machine. */
static void times_of_nothing_are_no_trouble(void **state)
{
    static struct world w;
    static struct advise_plan plan;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "nothing");
    some_world(&w, &rand, 1);
    memset(w.algorithms[0].theta, 0, sizeof w.algorithms[0].theta);
    w.algorithms[0].theta[2] = 1;
    assert_int_equal(advise_plan(&base_alloc_libc, &w.p, &plan, NULL), SHOAL_OK);
    assert_true(plan.run_count > 0 && plan.after < plan.before && isfinite(plan.after));
}

static void determinants_may_be_asked_for(void **state)
{
    static struct world w;
    static struct advise_plan plan;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "d");
    some_world(&w, &rand, 2);
    w.p.by_determinant = true;
    assert_int_equal(advise_plan(&base_alloc_libc, &w.p, &plan, NULL), SHOAL_OK);
    assert_true(plan.run_count > 0 && plan.after < plan.before && plan.gap >= 0 && plan.gap < 0.5);
}

static void commands_are_for_a_shell(void **state)
{
    struct advise_plan_algorithm algorithms[] = {
        {.name = "sgd",
         .app = "logreg",
         .data = "a.svm",
         .options = "--set algorithm=sgd",
         .limit = "epochs"},
        {.name = "theirs"},
        {.name = "odd", .app = "mf", .data = "it's here/$(x) b.csv"},
    };
    struct advise_plan_problem p = {.algorithms = algorithms, .algorithm_count = 3};
    struct advise_plan_run run = {.machines = 4, .iterations = 20, .fraction = 1};
    struct base_buf line, tight;

    (void)state;
    base_buf_init(&line, &base_alloc_libc, ADVISE_PLAN_COMMAND_MAX);
    base_buf_init(&tight, &base_alloc_libc, 100);
    advise_plan_command(&p, &run, &line);
    assert_string_equal(
        line.data,
        "shoal train logreg a.svm --set algorithm=sgd --workers 4 --set epochs=20 --json");
    run.fraction = 0.25;
    base_buf_clear(&line);
    advise_plan_command(&p, &run, &line);
    assert_string_equal(line.data,
                        "awk 'BEGIN{srand(1)} rand()<0.25' a.svm > a.svm.part-0.25 && shoal train "
                        "logreg a.svm.part-0.25 --set algorithm=sgd --workers 4 --set epochs=20 "
                        "--json");
    advise_plan_command(&p, &run, &tight); /* too long is said, not cut */
    assert_int_equal(base_buf_status(&tight), SHOAL_E_LIMIT);
    run.algorithm = 1;
    base_buf_clear(&line);
    advise_plan_command(&p, &run, &line);
    assert_int_equal(line.size, 0);
    run.algorithm = 2, run.fraction = 1;
    advise_plan_command(&p, &run, &line);
    assert_string_equal(line.data, "shoal train mf 'it'\\''s here/$(x) b.csv' --workers 4 --json");
    base_buf_fini(&line);
    base_buf_fini(&tight);
}

static void numbers_out_of_range_are_refused_in_a_sentence(void **state)
{
    static struct world good, w;
    static struct advise_plan plan;
    struct base_rand rand;
    static const uint32_t ZERO[] = {0};
    static const double OVER[] = {1.5};

    (void)state;
    base_rand_init(&rand, 1, "bad");
    some_world(&good, &rand, 2);
    assert_int_equal(advise_plan(&base_alloc_libc, &good.p, &plan, NULL), SHOAL_OK);
    plan.cost = 7;
    for (int how = 0; how < 18; how++) {
        shoal_err err = SHOAL_ERR_INIT;
        w = good;
        w.p.algorithms = w.algorithms, w.p.made = w.made;
        switch (how) {
        case 0: w.p.budget = 0; break;
        case 1: w.p.budget = NAN; break;
        case 2: w.p.algorithm_count = 0; break;
        case 3: w.p.algorithm_count = 9; break;
        case 4: w.p.machines = ZERO, w.p.machine_count = 1; break;
        case 5: w.p.fractions = OVER, w.p.fraction_count = 1; break;
        case 6: w.p.fraction_count = 0; break;
        case 7: w.p.iterations = ZERO, w.p.iteration_count = 1; break;
        case 8: w.p.want_count = 0; break;
        case 9: w.p.start_s = -1; break;
        case 10: w.p.price = INFINITY; break;
        case 11: w.p.noise_run = NAN; break;
        case 12: memset(w.algorithms[1].theta, 0, sizeof w.algorithms[1].theta); break;
        case 13: w.algorithms[0].theta[0] = NAN; break;
        case 14: w.algorithms[0].theta[0] = -1e9; break;
        case 15: w.p.made_count = 1, w.made[0] = (struct advise_plan_made){7, 1, 1, 1}; break;
        case 16: w.p.repeats = 1000; break;
        case 17: w.p.budget = 1e-3; break;
        }
        shoal_status st = advise_plan(&base_alloc_libc, &w.p, &plan, &err);
        if (how == 17) {
            assert_int_equal(st, SHOAL_E_IMPOSSIBLE);
            assert_non_null(strstr(err.message, "pays for no run: the cheapest candidate costs"));
        } else {
            assert_true(st == SHOAL_E_INVAL || st == SHOAL_E_LIMIT);
        }
        assert_true(err.code == st && err.message[0] != '\0');
    }
    assert_true(plan.cost == 7);
}

static shoal_status plan_one(const struct base_alloc *alloc, void *ctx)
{
    static struct advise_plan plan;
    struct world *w = ctx;

    return advise_plan(alloc, &w->p, &plan, NULL);
}

static void failing_allocations_end_cleanly(void **state)
{
    static struct world w;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "torture");
    some_world(&w, &rand, 1);
    torture_run(plan_one, &w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_and_intervals_are_what_they_say),
        cmocka_unit_test(no_random_choice_is_better_than_the_gap_allows),
        cmocka_unit_test(more_money_makes_surer_and_enough_is_enough),
        cmocka_unit_test(nine_of_ten_times_lie_within_the_interval_promised),
        cmocka_unit_test(times_of_nothing_are_no_trouble),
        cmocka_unit_test(determinants_may_be_asked_for),
        cmocka_unit_test(commands_are_for_a_shell),
        cmocka_unit_test(numbers_out_of_range_are_refused_in_a_sentence),
        cmocka_unit_test(failing_allocations_end_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
