/* Tests of src/base/rand.c. The golden values were computed by an independent implementation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rand.h"
#include "property.h"
#include <math.h>
#include <string.h>

static void streams_give_their_golden_values(void **state)
{
    (void)state;
    static const struct {
        uint64_t seed;
        const char *name;
        uint64_t first[3];
    } golden[] = {
        {1, "", {0xE40BB209BB018C5Du, 0xD31D6A639D87C534u, 0x84F58624908AA497u}},
        {1, "arrivals", {0xD4BF44F4BEA7DA2Bu, 0x91AD422E2E984071u, 0x7FDADDACBC7F46E7u}},
        {1, "failures", {0x9D88FD3761FE004Au, 0x4DF3EBADC9D500B9u, 0x6670A272D3C37F48u}},
        {7, "", {0x7A5B1491418EF44Cu, 0xE13DBCDC9E713677u, 0xB6F8B3E24A40594Au}},
        {7, "arrivals", {0x7BFF4BB5889380FFu, 0xF12755B021D7BAE1u, 0xA825915D5261D851u}},
        {7, "failures", {0xE053417A07220068u, 0x2CC3AA7501183B23u, 0x25DC9574E2B57AE8u}},
    };
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        struct base_rand r;
        base_rand_init(&r, golden[i].seed, golden[i].name);
        for (size_t k = 0; k < 3; k++)
            assert_true(base_rand_u64(&r) == golden[i].first[k]);
    }
}

static void distributions_give_their_golden_values(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "arrivals");
    assert_true(base_rand_unit(&r) == 0x1.a97e89e97d4fbp-1);
    /* libm may differ in the last place of log */
    assert_true(fabs(base_rand_exp(&r, 10) - 0x1.0d5d3c3105962p+3) < 1e-13);
    assert_true(fabs(base_rand_normal(&r, 5, 2) - 0x1.3fd594d15fad0p+2) < 1e-13);
    assert_true(base_rand_range(&r, -3, 9) == 0x1.2f5f77e0f2b58p+1);
}

/* Two streams agree in a bit half of the time; 64,000 bits stray from half by more than 1 % once in
 * 10^6 pairs. */
static void streams_of_other_names_or_seeds_are_unrelated(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "ab", "ba", "sim.fail.0", "sim.fail.1"};
    for (size_t i = 0; i < 6; i++) {
        for (size_t j = 0; j < 6; j++) {
            for (uint64_t seed = 0; seed < 4; seed++) {
                if (i == j && seed == 0)
                    continue;
                struct base_rand x, y;
                base_rand_init(&x, 0, names[i]);
                base_rand_init(&y, seed, names[j]);
                int equal = 0;
                for (int k = 0; k < 1000; k++)
                    equal += __builtin_popcountll(~(base_rand_u64(&x) ^ base_rand_u64(&y)));
                assert_in_range(equal, 31360, 32640);
            }
        }
    }
}

static void drawing_from_one_stream_does_not_move_another(void **state)
{
    (void)state;
    struct base_rand a, b, a_alone;
    base_rand_init(&a, 5, "a");
    base_rand_init(&b, 5, "b");
    base_rand_init(&a_alone, 5, "a");
    for (int i = 0; i < 100; i++) {
        (void)base_rand_u64(&b);
        assert_true(base_rand_u64(&a) == base_rand_u64(&a_alone));
    }
}

/* Chi-square with n-1 degrees of freedom has mean n-1 and variance 2(n-1): six sigmas is never. */
static void below_is_uniform(void **state)
{
    (void)state;
    static const uint64_t ns[] = {2, 3, 6, 7, 10, 64, 100, 1000};
    for (size_t k = 0; k < sizeof ns / sizeof ns[0]; k++) {
        uint64_t n = ns[k];
        struct base_rand r;
        base_rand_init(&r, k, "test.below");
        uint32_t counts[1000] = {0};
        const int draws = property_count(200000);
        for (int i = 0; i < draws; i++) {
            uint64_t x = base_rand_below(&r, n);
            assert_true(x < n);
            counts[x]++;
        }
        double expected = (double)draws / (double)n, chi = 0;
        for (uint64_t i = 0; i < n; i++)
            chi += (counts[i] - expected) * (counts[i] - expected) / expected;
        double freedom = (double)n - 1;
        assert_true(chi < freedom + 6 * sqrt(2 * freedom) + 6);
        assert_true(chi > freedom - 6 * sqrt(2 * freedom) - 6);
    }
}

/* Without rejection, n = 3 * 2^62 would give every third value twice as often as the others. */
static void below_has_no_bias_for_huge_ranges(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 3, "test.below");
    const uint64_t n = (uint64_t)3 << 62;
    int third[3] = {0};
    for (int i = 0; i < 90000; i++)
        third[base_rand_below(&r, n) % 3]++;
    for (int i = 0; i < 3; i++)
        assert_in_range(third[i], 29200, 30800); /* sigma 141 */
    assert_int_equal(base_rand_below(&r, 1), 0);
}

static void unit_and_range_stay_inside_and_have_the_right_mean(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "test.unit");
    double sum = 0;
    for (int i = 0; i < 100000; i++) {
        double u = base_rand_unit(&r);
        assert_true(u >= 0 && u < 1);
        sum += u;
        double x = base_rand_range(&r, 1.0, nextafter(1.0, 2.0));
        assert_true(x == 1.0);
        x = base_rand_range(&r, -2.5, 4.5);
        assert_true(x >= -2.5 && x < 4.5);
    }
    assert_true(fabs(sum / 100000 - 0.5) < 0.006); /* sigma 0.0009 */
}

static void exponential_and_normal_have_their_moments(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "test.moments");
    const int n = 200000;
    double sum_exp = 0, sum = 0, sum_squares = 0;
    for (int i = 0; i < n; i++) {
        double e = base_rand_exp(&r, 30);
        assert_true(e >= 0 && isfinite(e));
        sum_exp += e;
        double x = base_rand_normal(&r, 3, 2);
        sum += x;
        sum_squares += (x - 3) * (x - 3);
    }
    assert_true(fabs(sum_exp / n - 30) < 0.4);     /* sigma 0.067 */
    assert_true(fabs(sum / n - 3) < 0.03);         /* sigma 0.0045 */
    assert_true(fabs(sum_squares / n - 4) < 0.08); /* sigma 0.0126 */
}

static void weighted_follows_the_weights_and_never_draws_a_zero(void **state)
{
    (void)state;
    const double weights[] = {0, 1, 0, 3, 6, 0};
    struct base_rand r;
    base_rand_init(&r, 1, "test.weighted");
    int counts[6] = {0};
    for (int i = 0; i < 100000; i++)
        counts[base_rand_weighted(&r, weights, 6)]++;
    assert_int_equal(counts[0] + counts[2] + counts[5], 0);
    assert_in_range(counts[1], 9400, 10600);
    assert_in_range(counts[3], 29100, 30900);
    assert_in_range(counts[4], 59000, 61000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_give_their_golden_values),
        cmocka_unit_test(distributions_give_their_golden_values),
        cmocka_unit_test(streams_of_other_names_or_seeds_are_unrelated),
        cmocka_unit_test(drawing_from_one_stream_does_not_move_another),
        cmocka_unit_test(below_is_uniform),
        cmocka_unit_test(below_has_no_bias_for_huge_ranges),
        cmocka_unit_test(unit_and_range_stay_inside_and_have_the_right_mean),
        cmocka_unit_test(exponential_and_normal_have_their_moments),
        cmocka_unit_test(weighted_follows_the_weights_and_never_draws_a_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
