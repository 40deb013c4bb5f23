/* Tests of src/sched/adapt.c: goodput by kind and number of GPUs. */
#include "property.h"
#include "torture.h"

#include "base/rand.h"
#include "sched/adapt.h"
#include <math.h>

enum { KINDS = 3 };

struct known {
    struct sched_adapt adapt;
    struct sched_adapt_kind kind[KINDS];
};

static double spread(struct base_rand *r, double lo, double hi)
{
    return exp(base_rand_range(r, log(lo), log(hi)));
}

static struct shoal_goodput_speed random_speed(struct base_rand *r)
{
    return (struct shoal_goodput_speed){
        spread(r, 1e-8, 10), spread(r, 1e-8, 1), spread(r, 1e-8, 10),      spread(r, 1e-8, 1),
        spread(r, 1e-8, 10), spread(r, 1e-8, 1), base_rand_range(r, 1, 10)};
}

static void random_known(struct base_rand *r, struct known *out)
{
    uint32_t initial = 1 + (uint32_t)base_rand_below(r, 1000);

    for (int k = 0; k < KINDS; k++)
        out->kind[k] = (struct sched_adapt_kind){
            .local_max = 1 + (uint32_t)base_rand_below(r, 2000),
            .gpus_seen = (uint32_t)base_rand_below(r, 4) * (uint32_t)(1 + base_rand_below(r, 20)),
            .speed = random_speed(r)};
    out->adapt = (struct sched_adapt){
        .gpus_max = 1 + (uint32_t)base_rand_below(r, 64),
        .batch_initial = initial,
        .batch_max = initial + (uint32_t)base_rand_below(r, 1u << base_rand_below(r, 20)),
        .local_min = (uint32_t)base_rand_below(r, 50),
        .grad_sqr = spread(r, 1e-8, 10),
        .grad_var = spread(r, 1e-8, 1e4),
        .kind = out->kind};
}

static void many_gpus_are_never_more_than_linear(void **state)
{
    struct base_rand r;
    struct known known;

    (void)state;
    base_rand_init(&r, 1, "linear");
    for (int i = 0; i < property_count(2000); i++) {
        random_known(&r, &known);
        for (uint32_t k = 0; k < KINDS; k++) {
            double one = sched_adapt_choose(&known.adapt, KINDS, k, 1, 1).goodput;
            for (uint32_t g = 1; g <= known.adapt.gpus_max; g += 1 + g / 4) {
                uint32_t nodes = 1 + (uint32_t)base_rand_below(&r, g);
                double many = sched_adapt_choose(&known.adapt, KINDS, k, nodes, g).goodput;
                assert_true(isfinite(many) && many >= 0);
                if (one > 0 && !(many <= g * one * (1 + 1e-12)))
                    fail_msg("case %d: %u GPUs of kind %u do %.17g, one does %.17g", i, g, k, many,
                             one);
            }
        }
    }
}

static void before_any_measurement_more_gpus_are_faster_in_proportion(void **state)
{
    struct sched_adapt_kind kind = {.local_max = 64};
    struct sched_adapt adapt = {
        .gpus_max = 16, .batch_initial = 64, .batch_max = 4096, .grad_sqr = 1, .kind = &kind};

    (void)state;
    double one = sched_adapt_choose(&adapt, 1, 0, 1, 1).goodput;
    for (uint32_t g = 1; g <= 16; g++)
        assert_true(fabs(sched_adapt_choose(&adapt, 1, 0, 1, g).goodput / (g * one) - 1) < 1e-5);
    assert_true(sched_adapt_choose(&adapt, 1, 0, 1, 17).goodput == 0);
    assert_int_equal(sched_adapt_seen(&adapt, 1), 0);
}

static void a_kind_not_tried_with_several_gpus_synchronises_like_the_one_that_was(void **state)
{
    struct sched_adapt_kind kinds[2] = {
        {.local_max = 64, .gpus_seen = 8, .speed = {0.1, 0.01, 0.3, 0.02, 0.2, 0.01, 1}},
        {.local_max = 64, .gpus_seen = 1, .speed = {0.05, 0.005, 1e-8, 1e-8, 1e-8, 1e-8, 1}}};
    struct sched_adapt adapt = {
        .gpus_max = 16, .batch_initial = 64, .batch_max = 64, .grad_sqr = 1, .kind = kinds};

    (void)state;
    /* 4 GPUs, 16 examples each: 0.05 + 0.08 and 0.2 + 2 x 0.01 */
    assert_true(fabs(sched_adapt_choose(&adapt, 2, 1, 1, 4).goodput - 1 / 0.35) < 1e-9);
    kinds[1].gpus_seen = 0; /* like the other altogether */
    assert_true(fabs(sched_adapt_choose(&adapt, 2, 1, 1, 4).goodput - 1 / 0.48) < 1e-9);
    kinds[1].local_max = 0;
    assert_true(sched_adapt_choose(&adapt, 2, 1, 1, 4).goodput == 0);
    assert_int_equal(sched_adapt_seen(&adapt, 2), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_gpus_are_never_more_than_linear),
        cmocka_unit_test(before_any_measurement_more_gpus_are_faster_in_proportion),
        cmocka_unit_test(a_kind_not_tried_with_several_gpus_synchronises_like_the_one_that_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
