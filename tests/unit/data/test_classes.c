/* Tests of src/data/classes.c. */
#include "unit/data/data_world.h"

#include "torture.h"

static void classes_are_the_labels_in_ascending_order(void **state)
{
    const double label[] = {3, -1, 3, 0.5, -0.0, 0, -1};
    const double expected[] = {-1, 0, 0.5, 3};
    const uint32_t mapped[] = {3, 0, 3, 2, 1, 1, 0};
    uint32_t found[7];
    struct data_classes classes;

    (void)state;
    assert_int_equal(data_classes_find(&base_alloc_libc, label, 7, 100, &classes, NULL), SHOAL_OK);
    assert_int_equal(classes.count, 4);
    for (int i = 0; i < 4; i++)
        assert_true(classes.label[i] == expected[i]);
    data_classes_map(&classes, label, 7, found);
    assert_memory_equal(found, mapped, sizeof found);
    assert_int_equal(data_classes_index(&classes, 7), DATA_CLASS_NONE);
    assert_int_equal(data_classes_index(&classes, 0.25), DATA_CLASS_NONE);
    data_classes_fini(&classes);
}

static void thousands_of_classes_are_found(void **state)
{
    enum { COUNT = 20000 };
    double *label = malloc(2 * COUNT * sizeof *label);
    struct data_classes classes;

    (void)state;
    for (int i = 0; i < 2 * COUNT; i++)
        label[i] = (i * 7919) % COUNT;
    assert_int_equal(data_classes_find(&base_alloc_libc, label, 2 * COUNT, COUNT, &classes, NULL),
                     SHOAL_OK);
    assert_int_equal(classes.count, COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(data_classes_index(&classes, i), i);
    data_classes_fini(&classes);
    free(label);
}

static void too_many_labels_are_numbers_and_not_classes(void **state)
{
    const double label[] = {1, 2, 3};
    struct data_classes classes;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(data_classes_find(&base_alloc_libc, label, 3, 2, &classes, &err),
                     SHOAL_E_LIMIT);
    assert_string_equal(err.message, "more than 2 different labels: numbers, not classes?");
}

static shoal_status find(const struct base_alloc *alloc, void *ctx)
{
    double label[200];
    struct data_classes classes = {0};

    (void)ctx;
    for (int i = 0; i < 200; i++)
        label[i] = i;
    shoal_status st = data_classes_find(alloc, label, 200, 1000, &classes, NULL);
    data_classes_fini(&classes);
    return st;
}

static void every_failed_allocation_leaves_a_clean_error(void **state)
{
    (void)state;
    torture_run(find, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_the_labels_in_ascending_order),
        cmocka_unit_test(thousands_of_classes_are_found),
        cmocka_unit_test(too_many_labels_are_numbers_and_not_classes),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests_name("data/classes", tests, NULL, NULL);
}
