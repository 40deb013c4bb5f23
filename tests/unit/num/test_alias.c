/* Tests of src/num/alias.c. */
#include "num/alias.h"

#include "base/rand.h"
#include "torture.h"
#include <math.h>
#include <string.h>

static void an_alias_table_gives_each_its_weight(void **state)
{
    struct base_rand rand;
    enum { MAX = 200 };
    double weight[MAX], share[MAX], work[2 * MAX];
    float keep[MAX];
    uint32_t other[MAX];

    (void)state;
    base_rand_init(&rand, 3, "weights");
    for (uint32_t n = 1; n <= MAX; n++) {
        double sum = 0;
        for (uint32_t i = 0; i < n; i++)
            sum += weight[i] = i % 3 == 1 ? 0 : exp(base_rand_normal(&rand, 0, 3));
        num_alias_build(n, weight, keep, other, work);
        memset(share, 0, sizeof share);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(keep[i] >= 0 && keep[i] <= 1 && other[i] < n);
            share[i] += (double)keep[i] / n;
            share[other[i]] += (1 - (double)keep[i]) / n;
        }
        for (uint32_t i = 0; i < n; i++) /* floats keep seven digits of a share of at most 1 / n */
            assert_true(fabs(share[i] - weight[i] / sum) < 1e-7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_alias_table_gives_each_its_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
