/* Tests of src/base/again.c against the loop it stands for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/again.h"
#include "base/assert.h"
#include "base/rand.h"
#include "property.h"
#include <float.h>
#include <math.h>
#include <string.h>

static double by_loop(double x, const double *terms, size_t count, uint64_t times)
{
    for (; times > 0; times--)
        for (size_t i = 0; i < count; i++)
            x += terms[i];
    return x;
}

static void check(double x, const double *terms, size_t count, uint64_t times)
{
    double got = base_add_again(x, terms, count, times), want = by_loop(x, terms, count, times);

    if (memcmp(&got, &want, sizeof got) != 0)
        fail_msg("%a + %llu times %zu terms (first %a) gives %a, not %a", x,
                 (unsigned long long)times, count, count > 0 ? terms[0] : 0, got, want);
}

/* Of any size, with few or many digits, so that halves of a unit come up as well. */
static double any_number(struct base_rand *r)
{
    double value = base_rand_unit(r);
    int digits = (int)base_rand_below(r, 54);

    value = ldexp(floor(ldexp(value, digits)), -digits);
    return ldexp(value, (int)base_rand_below(r, 70) - 35);
}

static void many_additions_at_once_give_the_bits_of_the_loop(void **state)
{
    struct base_rand r;
    double terms[5];

    (void)state;
    base_rand_init(&r, 1, "test.again");
    for (int i = 0; i < property_count(20000); i++) {
        size_t count = 1 + base_rand_below(&r, BASE_COUNT(terms));
        for (size_t t = 0; t < count; t++)
            terms[t] = any_number(&r);
        check(any_number(&r), terms, count, base_rand_below(&r, 2000));
    }
}

static void odd_cases_give_the_bits_of_the_loop(void **state)
{
    static const double odd[] = {0,      1,          -1,       0.1,      -0.1,
                                 1e300,  DBL_MAX,    1e-300,   DBL_MIN,  0x1p-1074,
                                 0x1p53, 0x1p53 - 1, INFINITY, -INFINITY};

    (void)state;
    for (size_t a = 0; a < BASE_COUNT(odd); a++)
        for (size_t b = 0; b < BASE_COUNT(odd); b++)
            for (size_t c = 0; c < BASE_COUNT(odd); c++)
                for (uint64_t times = 0; times < 40; times += 3) {
                    double terms[] = {odd[b], odd[c]};
                    if (!isnan(by_loop(odd[a], terms, 2, times)))
                        check(odd[a], terms, 2, times);
                }
    check(1, NULL, 0, 100);
}

static void a_sum_of_more_additions_than_could_be_made_is_found(void **state)
{
    double minute = 60, part = 0.1;

    (void)state;
    assert_true(base_add_again(0, &minute, 1, UINT64_C(1) << 40) == 60 * 0x1p40);
    assert_true(base_add_again(0, &minute, 1, UINT64_MAX) == 0x1p59); /* 60 is lost beside it */
    assert_true(fabs(base_add_again(0, &part, 1, UINT64_C(1) << 40) / (0.1 * 0x1p40) - 1) < 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_additions_at_once_give_the_bits_of_the_loop),
        cmocka_unit_test(odd_cases_give_the_bits_of_the_loop),
        cmocka_unit_test(a_sum_of_more_additions_than_could_be_made_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
