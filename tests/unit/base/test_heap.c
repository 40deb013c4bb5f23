/* Tests of src/base/heap.c. */
#include "torture.h"

#include "base/heap.h"
#include "base/rand.h"
#include "property.h"
#include <stdlib.h>
#include <string.h>

enum { ITEMS_MAX = 500 };

static int compare_items(const void *a, const void *b)
{
    const struct base_heap_item *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Pushes and pops in any mixture give what a sorted array would. Keys come from few values, so ties
 * are common. */
static void pops_follow_key_then_order_whatever_the_insertions(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "test.heap");
    for (int round = 0; round < property_count(200); round++) {
        struct base_heap heap;
        base_heap_init(&heap, &base_alloc_libc);
        struct base_heap_item naive[ITEMS_MAX];
        size_t count = 0;
        for (uint64_t step = 0; step < ITEMS_MAX; step++) {
            if (base_rand_below(&r, 3) > 0) {
                struct base_heap_item item = {(double)base_rand_below(&r, 20) - 10.0,
                                              step * 7919 % 1000003, step};
                assert_int_equal(base_heap_push(&heap, item), SHOAL_OK);
                naive[count++] = item;
                qsort(naive, count, sizeof naive[0], compare_items);
            } else {
                struct base_heap_item item = {0};
                bool got = base_heap_pop(&heap, &item);
                assert_int_equal(got, count > 0);
                if (got) {
                    assert_memory_equal(&item, &naive[0], sizeof item);
                    count--;
                    memmove(naive, naive + 1, count * sizeof naive[0]);
                }
            }
            assert_int_equal(heap.count, count);
            const struct base_heap_item *top = base_heap_top(&heap);
            assert_int_equal(top == NULL, count == 0);
            if (top != NULL)
                assert_memory_equal(top, &naive[0], sizeof *top);
        }
        base_heap_fini(&heap);
    }
}

static void the_same_items_in_any_insertion_sequence_pop_alike(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 2, "test.heap");
    struct base_heap_item items[100];
    for (uint64_t i = 0; i < 100; i++)
        items[i] = (struct base_heap_item){(double)(i % 5), i, i * 3};
    for (int round = 0; round < property_count(50); round++) {
        for (size_t i = 99; i > 0; i--) {
            size_t j = base_rand_below(&r, i + 1);
            struct base_heap_item swap = items[i];
            items[i] = items[j];
            items[j] = swap;
        }
        struct base_heap heap;
        base_heap_init(&heap, &base_alloc_libc);
        for (size_t i = 0; i < 100; i++)
            assert_int_equal(base_heap_push(&heap, items[i]), SHOAL_OK);
        for (uint64_t i = 0; i < 100; i++) {
            struct base_heap_item item;
            assert_true(base_heap_pop(&heap, &item));
            uint64_t expected = i / 20 + i % 20 * 5;
            assert_int_equal(item.order, expected);
            assert_int_equal(item.value, expected * 3);
        }
        base_heap_fini(&heap);
    }
}

static void an_empty_heap_gives_nothing(void **state)
{
    (void)state;
    struct base_heap heap;
    base_heap_init(&heap, &base_alloc_libc);
    struct base_heap_item item = {1, 2, 3};
    assert_null(base_heap_top(&heap));
    assert_false(base_heap_pop(&heap, &item));
    assert_int_equal(item.value, 3);
    base_heap_fini(&heap);
}

static shoal_status push_many(const struct base_alloc *alloc, void *ctx)
{
    (void)ctx;
    struct base_heap heap;
    base_heap_init(&heap, alloc);
    shoal_status st = SHOAL_OK;
    size_t pushed = 0;
    for (uint64_t i = 0; i < 200; i++) {
        if (base_heap_push(&heap, (struct base_heap_item){(double)(i * 37 % 200), i, i}) ==
            SHOAL_OK)
            pushed++;
        else
            st = SHOAL_E_NOMEM;
    }
    double last = -1;
    struct base_heap_item item;
    while (base_heap_pop(&heap, &item)) {
        if (item.key < last)
            st = SHOAL_E_INTERNAL;
        last = item.key;
        pushed--;
    }
    if (pushed != 0)
        st = SHOAL_E_INTERNAL;
    base_heap_fini(&heap);
    return st;
}

static void a_refused_push_leaves_the_heap_as_it_was(void **state)
{
    (void)state;
    torture_run(push_many, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pops_follow_key_then_order_whatever_the_insertions),
        cmocka_unit_test(the_same_items_in_any_insertion_sequence_pop_alike),
        cmocka_unit_test(an_empty_heap_gives_nothing),
        cmocka_unit_test(a_refused_push_leaves_the_heap_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
