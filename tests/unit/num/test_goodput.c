/* Tests of src/num/goodput.c and goodput_fit.c. */
#include "property.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rand.h"
#include "shoal/goodput.h"
#include <math.h>
#include <stdbool.h>

enum { SAMPLES_MAX = 32 };

static double log_range(struct base_rand *rand, double lo, double hi)
{
    return exp(base_rand_range(rand, log(lo), log(hi)));
}

static struct shoal_goodput_speed some_speed(struct base_rand *rand)
{
    struct shoal_goodput_speed s = {.grad_s = log_range(rand, 1e-3, 1),
                                    .grad_each_s = log_range(rand, 1e-5, 1e-2),
                                    .node_s = log_range(rand, 1e-2, 1),
                                    .local_s = log_range(rand, 1e-3, 0.1),
                                    .overlap = base_rand_range(rand, 1, 4)};

    s.node_each_s = s.node_s * log_range(rand, 1e-3, 0.1);
    s.local_each_s = s.local_s * log_range(rand, 1e-3, 0.1);
    return s;
}

static struct shoal_goodput some_job(struct base_rand *rand)
{
    struct shoal_goodput job = SHOAL_GOODPUT_INIT;

    job.speed = some_speed(rand);
    job.grad_sqr = log_range(rand, 1e-4, 1);
    job.grad_var = log_range(rand, 1e-4, 100);
    job.batch_initial = 1 + (uint32_t)base_rand_below(rand, 64);
    job.batch_max = job.batch_initial * (1 + (uint32_t)base_rand_below(rand, 40));
    job.local_min = (uint32_t)base_rand_below(rand, 4);
    job.local_max = 1 + (uint32_t)base_rand_below(rand, 100);
    job.passes_max = (uint32_t)base_rand_below(rand, 12);
    return job;
}

static uint32_t measure(struct base_rand *rand, const struct shoal_goodput_speed *truth,
                        double noise, struct shoal_goodput_sample *out)
{
    uint32_t count = 1 + (uint32_t)base_rand_below(rand, SAMPLES_MAX);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t replicas = 1 + (uint32_t)base_rand_below(rand, 16);
        uint32_t machines = 1 + (uint32_t)base_rand_below(rand, replicas < 4 ? replicas : 4);
        double local = 8 << base_rand_below(rand, 5);
        double wrong = 1 + noise * base_rand_range(rand, -1, 1);
        out[i] = (struct shoal_goodput_sample){
            machines, replicas, local, (truth->grad_s + truth->grad_each_s * local) * wrong,
            shoal_goodput_step_s(truth, machines, replicas, local, 1) * wrong};
    }
    return count;
}

/* ---- the choice ---- */

static struct shoal_goodput_choice best_of_all(const struct shoal_goodput *job, uint32_t machines,
                                               uint32_t replicas)
{
    struct shoal_goodput_choice best = {0};
    uint32_t passes_max = job->passes_max > 0 ? job->passes_max : 1;

    for (uint32_t passes = 1; passes <= passes_max; passes++)
        for (uint32_t local = job->local_min > 0 ? job->local_min : 1; local <= job->local_max;
             local++) {
            uint64_t batch = (uint64_t)local * passes * replicas;
            bool lonely = replicas == 1 && passes_max > 1;
            uint64_t held =
                (uint64_t)job->local_max * (passes - 1) * replicas; /* by fewer passes */
            if (lonely && passes == 2)
                held = 0; /* one alone takes more than the initial batch in two passes or more */
            if (batch < job->batch_initial || batch > job->batch_max || batch <= held ||
                (lonely && passes == 1 && batch > job->batch_initial))
                continue;
            double step = shoal_goodput_step_s(&job->speed, machines, replicas, local, passes);
            double gain = shoal_goodput_gain(job->grad_sqr, job->grad_var,
                                             (double)batch / job->batch_initial);
            if (job->batch_initial * gain / step > best.goodput)
                best = (struct shoal_goodput_choice){job->batch_initial * gain / step, step, gain,
                                                     local, passes};
        }
    return best;
}

static void the_choice_is_the_best_of_all_batches(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "choice");
    for (int i = property_count(3000); i > 0; i--) {
        struct shoal_goodput job = some_job(&rand);
        uint32_t replicas = 1 + (uint32_t)base_rand_below(&rand, 16);
        uint32_t machines = 1 + (uint32_t)base_rand_below(&rand, replicas);
        struct shoal_goodput_choice got = shoal_goodput_best(&job, machines, replicas);
        struct shoal_goodput_choice want = best_of_all(&job, machines, replicas);
        assert_true(fabs(got.goodput - want.goodput) <= 1e-9 * want.goodput);
        assert_true((got.goodput > 0) == (want.goodput > 0));
    }
}

static void more_noise_wants_larger_batches(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "noise");
    for (int i = property_count(500); i > 0; i--) {
        struct shoal_goodput job = some_job(&rand);
        uint32_t last = 0;
        job.local_max = 1000, job.passes_max = 1, job.batch_max = 100000;
        for (job.grad_var = 1e-3; job.grad_var < 1e3; job.grad_var *= 10) {
            uint32_t local = shoal_goodput_best(&job, 1, 4).local;
            assert_true(local >= last);
            last = local;
        }
    }
}

static void where_the_initial_batch_does_not_fit_the_goodput_is_0(void **state)
{
    struct shoal_goodput job = SHOAL_GOODPUT_INIT;

    (void)state;
    job.speed = (struct shoal_goodput_speed){0.1, 0.01, 0.1, 0, 0.1, 0, 1};
    job.batch_initial = 128, job.batch_max = 1024, job.local_max = 32;
    assert_true(shoal_goodput_best(&job, 1, 1).goodput == 0);
    assert_true(shoal_goodput_best(&job, 1, 4).goodput > 0);
    job.passes_max = 4;
    assert_int_equal(shoal_goodput_best(&job, 1, 1).passes, 4);
    job.local_min = 20; /* 64 replicas have 1,280 at least */
    assert_true(shoal_goodput_best(&job, 16, 64).goodput == 0);
}

/* ---- the gain ---- */

static void the_gain_is_between_1_and_the_scale_and_grows_with_noise(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "gain");
    for (int i = property_count(2000); i > 0; i--) {
        double sqr = log_range(&rand, 1e-9, 1e9), var = log_range(&rand, 1e-9, 1e9);
        double scale = log_range(&rand, 1, 1e6), gain = shoal_goodput_gain(sqr, var, scale);
        assert_true(gain >= 1 - 1e-12 && gain <= scale * (1 + 1e-12));
        assert_true(shoal_goodput_gain(sqr, 2 * var, scale) >= gain * (1 - 1e-12));
        assert_true(shoal_goodput_gain(sqr, var, 2 * scale) >= gain * (1 - 1e-12));
    }
}

static void statistics_that_are_no_numbers_do_no_harm(void **state)
{
    static const double odd[] = {(double)NAN, (double)INFINITY, -1, 0};

    (void)state;
    for (size_t a = 0; a < 4; a++)
        for (size_t b = 0; b < 4; b++) {
            double gain = shoal_goodput_gain(odd[a], odd[b], 8);
            assert_true(gain >= 1 && gain <= 8);
        }
}

/* ---- the fit ---- */

static void what_was_measured_exactly_is_explained(void **state)
{
    struct shoal_goodput_sample samples[SAMPLES_MAX];
    struct base_rand rand;
    int poor = 0, runs = property_count(200);

    (void)state;
    base_rand_init(&rand, 1, "fit");
    for (int i = 0; i < runs; i++) {
        struct shoal_goodput_speed truth = some_speed(&rand), got;
        uint32_t count = measure(&rand, &truth, 0, samples);
        double worst = 0;
        assert_int_equal(shoal_goodput_fit(samples, count, &got, NULL), SHOAL_OK);
        for (uint32_t s = 0; s < count; s++) {
            double step = shoal_goodput_step_s(&got, samples[s].machines, samples[s].replicas,
                                               samples[s].local, 1);
            worst = fmax(worst, fabs(log(step / samples[s].step_s)));
        }
        poor += worst > 0.1; /* optimism costs a little where `each` matters */
    }
    assert_true(poor <= runs / 50);
}

static void measurements_wrong_by_a_fifth_are_smoothed(void **state)
{
    struct shoal_goodput_sample samples[SAMPLES_MAX];
    struct base_rand rand;
    double wrong = 0;
    int runs = property_count(200);

    (void)state;
    base_rand_init(&rand, 1, "noisy fit");
    for (int i = 0; i < runs; i++) {
        struct shoal_goodput_speed truth = some_speed(&rand), got;
        uint32_t count;
        do
            count = measure(&rand, &truth, 0.2, samples);
        while (count < 16);
        assert_int_equal(shoal_goodput_fit(samples, count, &got, NULL), SHOAL_OK);
        double step = shoal_goodput_step_s(&got, 2, 8, 64, 1);
        wrong += fabs(log(step / shoal_goodput_step_s(&truth, 2, 8, 64, 1))) / runs;
    }
    assert_true(wrong < 0.08); /* the mean error of one measurement is 0.1 */
}

/* Root of the mean squared error of log step times. */
static double error_of(const struct shoal_goodput_speed *speed,
                       const struct shoal_goodput_sample *samples, uint32_t count)
{
    double sum = 0;

    for (uint32_t s = 0; s < count; s++) {
        double e = log(shoal_goodput_step_s(speed, samples[s].machines, samples[s].replicas,
                                            samples[s].local, 1) /
                       samples[s].step_s);
        sum += e * e / count;
    }
    return sqrt(sum);
}

/* What a fit minimises, straight from its definition. */
static double objective_of(const struct shoal_goodput_speed *v,
                           const struct shoal_goodput_sample *samples, uint32_t count)
{
    double pass = 0, step = error_of(v, samples, count), node = v->node_each_s / v->node_s,
           local = v->local_each_s / v->local_s;

    for (uint32_t s = 0; s < count; s++)
        pass += pow(log((v->grad_s + v->grad_each_s * samples[s].local) / samples[s].pass_s), 2);
    return sqrt(pass / count + 1e-10) + sqrt(step * step + 1e-10) +
           1e-3 * (v->overlap - 1) * (v->overlap - 1) + 1e-2 * (node * node + local * local);
}

/* Slow and plain: goes to better points along each axis, in logarithms, with steps cut in half. */
static double compass(struct shoal_goodput_speed v, const struct shoal_goodput_sample *samples,
                      uint32_t count)
{
    double *x[] = {&v.grad_s,  &v.grad_each_s,  &v.node_s, &v.node_each_s,
                   &v.local_s, &v.local_each_s, &v.overlap};
    double best = objective_of(&v, samples, count);

    for (int half = 0; half < 15; half++)
        for (bool better = true; better;) {
            double by = ldexp(2, -half);
            better = false;
            for (int k = 0; k < 14; k++) {
                double kept = *x[k / 2], least = k / 2 == 6 ? 1 : 1e-8;
                *x[k / 2] =
                    fmin(fmax(kept * exp(k % 2 == 0 ? by : -by), least), k / 2 == 6 ? 10 : 1e8);
                double f = objective_of(&v, samples, count);
                better |= f < best * (1 - 1e-6);
                if (f < best)
                    best = f;
                else
                    *x[k / 2] = kept;
            }
        }
    return best;
}

/* Sizes enough that nothing is held. */
static uint32_t measure_all(struct base_rand *rand, const struct shoal_goodput_speed *truth,
                            double noise, struct shoal_goodput_sample *out)
{
    uint32_t count = 0;

    for (uint32_t replicas = 1; replicas <= 16; replicas *= 2)
        for (uint32_t local = 16; local <= 128; local *= 2) {
            uint32_t machines = replicas < 4 ? 1 + (uint32_t)base_rand_below(rand, replicas)
                                             : 1 + (uint32_t)base_rand_below(rand, 4);
            double wrong = 1 + noise * base_rand_range(rand, -1, 1);
            out[count++] = (struct shoal_goodput_sample){
                machines, replicas, local, (truth->grad_s + truth->grad_each_s * local) * wrong,
                shoal_goodput_step_s(truth, machines, replicas, local, 1) * wrong *
                    (1 + noise * base_rand_range(rand, -1, 1))};
        }
    return count;
}

static void a_slow_search_from_the_fit_the_truth_or_anywhere_finds_nothing_better(void **state)
{
    struct shoal_goodput_sample samples[SAMPLES_MAX];
    struct base_rand rand;
    int runs = property_count(20), beaten = 0;

    (void)state;
    base_rand_init(&rand, 1, "compass");
    for (int i = 0; i < runs; i++) {
        struct shoal_goodput_speed truth = some_speed(&rand), got;
        uint32_t count = measure_all(&rand, &truth, i % 3 * 0.1, samples);
        assert_int_equal(shoal_goodput_fit(samples, count, &got, NULL), SHOAL_OK);
        double ours = objective_of(&got, samples, count), others = compass(got, samples, count);
        others = fmin(others, compass(truth, samples, count));
        for (int start = 0; start < 3; start++)
            others = fmin(others, compass(some_speed(&rand), samples, count));
        beaten += others < 0.99 * ours - 1e-5; /* another valley, now and then */
    }
    print_message("beaten by a hundredth: %d of %d\n", beaten, runs);
    assert_true(beaten <= runs / 20);
}

static void samples_many_times_over_are_fitted_as_once(void **state)
{
    enum { TIMES = 9 }; /* more than are kept ready at a time */
    struct shoal_goodput_sample samples[SAMPLES_MAX], many[TIMES * SAMPLES_MAX];
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "many");
    for (int i = property_count(30); i > 0; i--) {
        struct shoal_goodput_speed truth = some_speed(&rand), once, over;
        uint32_t count = measure_all(&rand, &truth, 0.2, samples);
        for (uint32_t s = 0; s < TIMES * count; s++)
            many[s] = samples[s % count];
        assert_int_equal(shoal_goodput_fit(samples, count, &once, NULL), SHOAL_OK);
        assert_int_equal(shoal_goodput_fit(many, (size_t)TIMES * count, &over, NULL), SHOAL_OK);
        double a = objective_of(&once, samples, count), b = objective_of(&over, samples, count);
        assert_true(fabs(a - b) < 1e-4 * a);
    }
}

static void with_one_number_of_replicas_each_further_one_costs_nothing(void **state)
{
    struct shoal_goodput_speed truth = {0.05, 0.002, 0.12, 0.004, 0.05, 0.002, 1.5}, got;
    struct shoal_goodput_sample samples[8];
    uint32_t count = 0;

    (void)state;
    for (uint32_t local = 32; local <= 256; local *= 2) {
        for (uint32_t replicas = 1; replicas <= 8; replicas *= 8) {
            uint32_t machines = replicas > 1 ? 2 : 1;
            samples[count++] = (struct shoal_goodput_sample){
                machines, replicas, local, truth.grad_s + truth.grad_each_s * local,
                shoal_goodput_step_s(&truth, machines, replicas, local, 1)};
        }
    }
    assert_int_equal(shoal_goodput_fit(samples, count, &got, NULL), SHOAL_OK);
    assert_true(error_of(&got, samples, count) < 1e-3); /* what was measured is explained */
    assert_true(got.node_each_s < 1e-6 * got.node_s);
}

static void units_and_order_of_samples_do_not_matter(void **state)
{
    struct shoal_goodput_sample samples[SAMPLES_MAX], other[SAMPLES_MAX];
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "units");
    for (int i = property_count(100); i > 0; i--) {
        struct shoal_goodput_speed truth = some_speed(&rand), a, b;
        uint32_t count = measure(&rand, &truth, 0.1, samples);
        for (uint32_t s = 0; s < count; s++) {
            other[s] = samples[count - 1 - s];
            other[s].pass_s *= 1000, other[s].step_s *= 1000;
        }
        assert_int_equal(shoal_goodput_fit(samples, count, &a, NULL), SHOAL_OK);
        assert_int_equal(shoal_goodput_fit(other, count, &b, NULL), SHOAL_OK);
        assert_true(fabs(error_of(&a, samples, count) - error_of(&b, other, count)) < 0.02);
    }
}

static void what_nobody_measured_is_taken_to_scale(void **state)
{
    struct shoal_goodput_sample alone = {1, 1, 64, 0.5, 0.5},
                                pair[] = {alone, {1, 2, 64, 0.5, 0.7}};
    struct shoal_goodput_speed got;

    (void)state;
    assert_int_equal(shoal_goodput_fit(&alone, 1, &got, NULL), SHOAL_OK);
    assert_true(fabs(got.grad_s - 0.25) < 1e-3); /* half of it is constant */
    assert_true(fabs(shoal_goodput_step_s(&got, 1, 1, 64, 1) - 0.5) < 1e-3);
    assert_true(shoal_goodput_step_s(&got, 4, 16, 64, 1) < 0.501);
    assert_int_equal(shoal_goodput_fit(pair, 2, &got, NULL), SHOAL_OK);
    assert_true(fabs(shoal_goodput_step_s(&got, 1, 2, 64, 1) - 0.7) < 1e-2);
    assert_true(got.node_s >= 1.1 * got.local_s * (1 - 1e-9)); /* other machines are farther */
}

static void samples_that_cannot_be_are_refused_and_nothing_is_written(void **state)
{
    static const struct shoal_goodput_sample odd[] = {
        {0, 1, 64, 1, 1},  {1, 0, 64, 1, 1},           {2, 1, 64, 1, 1},
        {1, 1, 0, 1, 1},   {1, 1, -1, 1, 1},           {1, 1, 64, 0, 1},
        {1, 1, 64, 1, -1}, {1, 1, 64, 1, (double)NAN}, {1, 1, 64, (double)INFINITY, 1},
    };
    struct shoal_goodput_speed got = {1, 2, 3, 4, 5, 6, 7}, kept = got;

    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_int_equal(shoal_goodput_fit(&odd[i], 1, &got, NULL), SHOAL_E_INVAL);
    assert_int_equal(shoal_goodput_fit(NULL, 0, &got, NULL), SHOAL_E_INVAL);
    assert_memory_equal(&got, &kept, sizeof got);
}

static void times_of_any_size_are_fitted_without_trouble(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "sizes");
    for (int i = property_count(300); i > 0; i--) {
        struct shoal_goodput_sample samples[4];
        struct shoal_goodput_speed got;
        for (int s = 0; s < 4; s++) {
            uint32_t replicas = 1 + (uint32_t)base_rand_below(&rand, 1000);
            samples[s] = (struct shoal_goodput_sample){
                1 + (uint32_t)base_rand_below(&rand, replicas), replicas,
                log_range(&rand, 1e-9, 1e12), log_range(&rand, 1e-12, 1e12),
                log_range(&rand, 1e-12, 1e12)};
        }
        assert_int_equal(shoal_goodput_fit(samples, 4, &got, NULL), SHOAL_OK);
        assert_true(got.grad_s > 0 && isfinite(got.grad_s) && got.overlap >= 1 &&
                    got.overlap <= 10);
        assert_true(isfinite(shoal_goodput_step_s(&got, 2, 2, 64, 1)));
    }
}

/* ---- noise ---- */

enum { WIDTH = 200 };

/* Squared norms of `count` gradients of mean 1 / sqrt(WIDTH) and variance var / WIDTH each part. */
static void draw(struct base_rand *rand, double part_var, uint32_t count, double *out_local,
                 double *out_total)
{
    double mean[WIDTH] = {0}, sd = sqrt(part_var / WIDTH), at = 1 / sqrt(WIDTH);

    *out_local = *out_total = 0;
    for (uint32_t c = 0; c < count; c++)
        for (int k = 0; k < WIDTH; k++) {
            double g = base_rand_normal(rand, at, sd);
            *out_local += g * g / count;
            mean[k] += g / count;
        }
    for (int k = 0; k < WIDTH; k++)
        *out_total += mean[k] * mean[k];
}

static void noise_is_told_apart_from_signal_whatever_the_batch(void **state)
{
    static const uint32_t counts[] = {2, 4, 16};
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "gradients");
    for (size_t i = 0; i < 3; i++) {
        struct shoal_goodput_noise noise = {0};
        double scale = 0.5 * counts[i], var = 3, sqr, got; /* parts of half the initial batch */
        for (int step = 0; step < 600; step++) {
            double local, total;
            draw(&rand, var * 2, counts[i], &local, &total);
            shoal_goodput_noise_add(&noise, local, total, counts[i], scale);
        }
        shoal_goodput_noise_read(&noise, &sqr, &got);
        assert_true(fabs(sqr - 1) < 0.1);
        assert_true(fabs(got - var) < 0.1 * var);
        assert_int_equal(noise.refused, 0);
    }
}

static void norms_that_cannot_be_are_left_out_and_counted(void **state)
{
    struct shoal_goodput_noise noise = {0};
    double sqr, var;

    (void)state;
    shoal_goodput_noise_read(&noise, &sqr, &var);
    assert_true(sqr == 1 && var == 0);
    shoal_goodput_noise_add(&noise, 4, 2, 2, 1);
    struct shoal_goodput_noise kept = noise;
    shoal_goodput_noise_add(&noise, (double)NAN, 2, 2, 1);
    shoal_goodput_noise_add(&noise, 4, (double)INFINITY, 2, 1);
    shoal_goodput_noise_add(&noise, 4, 5, 2, 1);
    shoal_goodput_noise_add(&noise, 4, -1, 2, 1);
    shoal_goodput_noise_add(&noise, 4, 2, 1, 1);
    shoal_goodput_noise_add(&noise, 4, 2, 2, 0);
    assert_int_equal(noise.refused, 6);
    noise.refused = 0;
    assert_memory_equal(&noise, &kept, sizeof noise);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_choice_is_the_best_of_all_batches),
        cmocka_unit_test(more_noise_wants_larger_batches),
        cmocka_unit_test(where_the_initial_batch_does_not_fit_the_goodput_is_0),
        cmocka_unit_test(the_gain_is_between_1_and_the_scale_and_grows_with_noise),
        cmocka_unit_test(statistics_that_are_no_numbers_do_no_harm),
        cmocka_unit_test(what_was_measured_exactly_is_explained),
        cmocka_unit_test(measurements_wrong_by_a_fifth_are_smoothed),
        cmocka_unit_test(a_slow_search_from_the_fit_the_truth_or_anywhere_finds_nothing_better),
        cmocka_unit_test(samples_many_times_over_are_fitted_as_once),
        cmocka_unit_test(with_one_number_of_replicas_each_further_one_costs_nothing),
        cmocka_unit_test(units_and_order_of_samples_do_not_matter),
        cmocka_unit_test(what_nobody_measured_is_taken_to_scale),
        cmocka_unit_test(samples_that_cannot_be_are_refused_and_nothing_is_written),
        cmocka_unit_test(times_of_any_size_are_fitted_without_trouble),
        cmocka_unit_test(noise_is_told_apart_from_signal_whatever_the_batch),
        cmocka_unit_test(norms_that_cannot_be_are_left_out_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
