/* Tests of src/base/top.h. */
#include "torture.h"

#include "base/rand.h"
#include "base/top.h"
#include "property.h"
#include <math.h>
#include <stdlib.h>

enum { OFFERED = 200, MOST = 40 };

static int larger_first(const void *a, const void *b)
{
    const struct base_top *x = a, *y = b;

    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

/* Values come from few, so that many are equal: items count up, so the first offered is the least. */
static void what_is_kept_is_what_a_sort_puts_first(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "test.top");
    for (int round = 0; round < property_count(300); round++) {
        struct base_top all[OFFERED] = {{0, 0}}, top[MOST] = {{0, 0}};
        size_t offered = base_rand_below(&rand, OFFERED), kept = 0;
        size_t max = base_rand_below(&rand, MOST + 1), values = 1 + base_rand_below(&rand, 60);
        for (size_t i = 0; i < offered; i++) {
            all[i] = (struct base_top){i, (double)base_rand_below(&rand, values) - 5};
            kept = base_top_offer(top, kept, max, all[i].item, all[i].value);
        }
        qsort(all, offered, sizeof all[0], larger_first);
        assert_int_equal(kept, offered < max ? offered : max);
        for (size_t i = 0; i < kept; i++)
            assert_true(top[i].item == all[i].item && top[i].value == all[i].value);
    }
}

static void what_is_not_a_number_is_not_taken(void **state)
{
    struct base_top top[2] = {{0, 0}};
    size_t count = base_top_offer(top, 0, 2, 1, (double)NAN);

    (void)state;
    assert_int_equal(count, 0);
    count = base_top_offer(top, count, 2, 2, -INFINITY);
    count = base_top_offer(top, count, 2, 3, (double)NAN);
    count = base_top_offer(top, count, 2, 4, INFINITY);
    assert_int_equal(count, 2);
    assert_true(top[0].item == 4 && top[1].item == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_is_what_a_sort_puts_first),
        cmocka_unit_test(what_is_not_a_number_is_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
