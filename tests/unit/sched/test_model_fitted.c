/* Tests of src/sched/model_fitted.c. */
#include "property.h"
#include "torture.h"

#include "base/rand.h"
#include "sched/adapt.h"
#include "sched/model_fitted.h"
#include <math.h>
#include <string.h>

enum { MACHINES = SCHED_FITTED_MACHINES_MAX, LEVELS = SCHED_FITTED_LEVELS_MAX };

struct world {
    struct sched_fitted f;
    uint32_t machines[MACHINES + 1];
    double step_s[MACHINES + 1], level[LEVELS + 2], steps[(MACHINES + 1) * (LEVELS + 1)];
};

static void some_tables(struct world *w, struct base_rand *rand)
{
    uint32_t count = 1 + (uint32_t)base_rand_below(rand, 8), levels = 1, at = 0;

    if (base_rand_below(rand, 4) > 0)
        levels += (uint32_t)base_rand_below(rand, 20);
    w->f = (struct sched_fitted){count, levels, w->machines, w->step_s, w->level, w->steps};
    for (uint32_t i = 0; i < count; i++) {
        at += 1 + (uint32_t)base_rand_below(rand, 6);
        w->machines[i] = at;
        w->step_s[i] = exp(base_rand_range(rand, -8, 8));
    }
    for (uint32_t l = 0; l <= levels; l++)
        w->level[l] = l == 0 ? 0 : w->level[l - 1] + exp(base_rand_range(rand, -4, 2));
    for (uint32_t i = 0; i < count * levels; i++)
        w->steps[i] = exp(base_rand_range(rand, -2, 8));
}

static struct sched_cluster cluster_of(const char *spec)
{
    struct sched_cluster cluster;

    if (sched_cluster_parse(&base_alloc_libc, spec, &cluster, NULL) != SHOAL_OK)
        fail_msg("cannot make a cluster");
    return cluster;
}

static void same(double a, double b)
{
    if (!(fabs(a - b) <= 1e-10 * fabs(b) || a == b))
        fail_msg("%.17g is not %.17g", a, b);
}

static void ideal_time_is_the_sum_over_levels(void **state)
{
    static struct world w;
    struct sched_cluster c = cluster_of("16x4:a");
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "sum");
    for (int i = 0; i < property_count(300); i++) {
        some_tables(&w, &rand);
        assert_true(sched_fitted_valid(&w.f));
        struct sched_model m = sched_model_fitted(&w.f);
        assert_ptr_equal(sched_model_fitted_of(&m), &w.f);
        same(m.work, w.level[w.f.level_count]);
        for (uint32_t k = 0; k < w.f.machine_count; k++) {
            double steps = 0;
            for (uint32_t l = 0; l < w.f.level_count; l++)
                steps += w.steps[k * w.f.level_count + l];
            same(sched_model_ideal_s(&m, &c, 0, w.machines[k], 0), steps * w.step_s[k]);
            /* from the middle of a level half of it is left */
            double first = w.steps[k * w.f.level_count];
            same(sched_model_ideal_s(&m, &c, 0, w.machines[k], w.level[1] / 2),
                 (steps - first / 2) * w.step_s[k]);
        }
        assert_true(
            isinf(sched_model_ideal_s(&m, &c, 0, w.machines[w.f.machine_count - 1] + 1, 0)));
        if (w.machines[0] > 1)
            assert_true(isinf(sched_model_ideal_s(&m, &c, 0, w.machines[0] - 1, 0)));
    }
    sched_cluster_fini(&c);
}

static void rates_hold_until_the_level_ends(void **state)
{
    static struct world w;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "rates");
    for (int i = 0; i < property_count(300); i++) {
        some_tables(&w, &rand);
        struct sched_model m = sched_model_fitted(&w.f);
        uint32_t k = (uint32_t)base_rand_below(&rand, w.f.machine_count);
        struct sched_place place = {0, w.machines[k]};
        struct sched_alloc a = {&place, 1, w.machines[k], 0};
        for (uint32_t l = 0; l < w.f.level_count; l++) {
            double width = w.level[l + 1] - w.level[l], until;
            double at = w.level[l] + width * base_rand_range(&rand, 0, 0.99);
            double rate = sched_model_rate(&m, &a, NULL, at, &until);
            same(rate * w.step_s[k] * w.steps[k * w.f.level_count + l], width);
            same(until, w.level[l + 1]);
            same(sched_model_rate(&m, &a, NULL, w.level[l], &until),
                 rate);                                                 /* levels begin closed */
            assert_true(sched_model_rate(&m, &a, &m, at, &until) == 0); /* it shares with nobody */
        }
    }
}

static void between_counts_it_is_monotone_and_a_power_is_exact(void **state)
{
    static struct world w;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "between");
    for (int i = 0; i < property_count(300); i++) {
        some_tables(&w, &rand);
        for (uint32_t k = 0; k + 1 < w.f.machine_count; k++) {
            double last = w.step_s[k], towards = w.step_s[k + 1] - last;
            for (uint32_t g = w.machines[k] + 1; g <= w.machines[k + 1]; g++) {
                double now = sched_fitted_step_s(&w.f, g);
                assert_true((now - last) * towards > 0);
                last = now;
            }
            same(last, w.step_s[k + 1]);
        }
        for (uint32_t k = 0; k < w.f.machine_count; k++)
            w.step_s[k] = 3 * pow(w.machines[k], -0.7);
        for (uint32_t g = w.machines[0]; g <= w.machines[w.f.machine_count - 1]; g++)
            same(sched_fitted_step_s(&w.f, g), 3 * pow(g, -0.7));
    }
}

static void steps_between_counts_lie_between_theirs(void **state)
{
    static struct world w;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "steps");
    for (int i = 0; i < property_count(100); i++) {
        some_tables(&w, &rand);
        uint32_t n = w.f.level_count;
        for (uint32_t k = 0; k + 1 < w.f.machine_count; k++)
            for (uint32_t g = w.machines[k]; g <= w.machines[k + 1]; g++)
                for (uint32_t l = 0; l < n; l++) {
                    double a = w.steps[k * n + l], b = w.steps[(k + 1) * n + l];
                    double at = sched_fitted_steps(&w.f, g, l);
                    assert_true(at >= fmin(a, b) * (1 - 1e-12) && at <= fmax(a, b) * (1 + 1e-12));
                }
    }
}

/* What a policy that sizes jobs knows of it is the truth, at every size and level. */
static void goodput_is_the_rate_of_the_level(void **state)
{
    static struct world w;
    struct base_rand rand;
    struct sched_adapt_kind kind[2];
    struct sched_adapt adapt;

    (void)state;
    base_rand_init(&rand, 1, "goodput");
    for (int i = 0; i < property_count(100); i++) {
        some_tables(&w, &rand);
        struct sched_model m = sched_model_fitted(&w.f);
        uint32_t most = w.machines[w.f.machine_count - 1];
        for (uint32_t l = 0; l < w.f.level_count; l++) {
            sched_adapt_fitted(&w.f, l, 2, kind, &adapt);
            assert_int_equal(sched_adapt_seen(&adapt, 2), most);
            for (uint32_t g = 1; g <= most + 1; g++) {
                struct sched_place place = {0, g};
                struct sched_alloc a = {&place, 1, g, 1};
                double until, rate = sched_model_rate(&m, &a, NULL, w.level[l], &until);
                same(sched_adapt_choose(&adapt, 2, 1, 1, g).goodput, rate);
            }
        }
    }
}

static void tables_out_of_range_are_told(void **state)
{
    static struct world good, w;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "bad");
    do
        some_tables(&good, &rand);
    while (good.f.machine_count < 2 || good.f.level_count < 2);
    for (int how = 0; how < 16; how++) {
        w = good;
        w.f = (struct sched_fitted){
            good.f.machine_count, good.f.level_count, w.machines, w.step_s, w.level, w.steps};
        assert_true(sched_fitted_valid(&w.f));
        switch (how) {
        case 0: w.f.machine_count = 0; break;
        case 1: w.f.machine_count = MACHINES + 1; break;
        case 2: w.f.level_count = 0; break;
        case 3: w.f.level_count = LEVELS + 1; break;
        case 4: w.machines[0] = 0; break;
        case 5: w.machines[1] = w.machines[0]; break;
        case 6: w.step_s[1] = 0; break;
        case 7: w.step_s[1] = NAN; break;
        case 8: w.step_s[0] = INFINITY; break;
        case 9: w.level[0] = 0.1; break;
        case 10: w.level[1] = w.level[2]; break;
        case 11: w.level[2] = NAN; break;
        case 12: w.steps[1] = -1; break;
        case 13: w.steps[w.f.machine_count * w.f.level_count - 1] = INFINITY; break;
        case 14: w.level[w.f.level_count] = 1e300; break;
        case 15: w.machines[w.f.machine_count - 1] = UINT32_MAX; break;
        }
        assert_false(sched_fitted_valid(&w.f));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ideal_time_is_the_sum_over_levels),
        cmocka_unit_test(rates_hold_until_the_level_ends),
        cmocka_unit_test(between_counts_it_is_monotone_and_a_power_is_exact),
        cmocka_unit_test(steps_between_counts_lie_between_theirs),
        cmocka_unit_test(goodput_is_the_rate_of_the_level),
        cmocka_unit_test(tables_out_of_range_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
