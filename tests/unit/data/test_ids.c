/* Tests of src/data/ids.c. */
#include "unit/data/data_world.h"

#include "base/rand.h"
#include "property.h"
#include "torture.h"

static uint32_t add(struct data_ids *ids, const char *name)
{
    uint32_t index = 0;

    assert_int_equal(data_ids_add(ids, name, strlen(name), &index), SHOAL_OK);
    return index;
}

static void names_are_numbered_in_order_of_appearance(void **state)
{
    static const char *const names[] = {
        "7", "07",   "anna", "0", "00", "-1", "999999999999999999", "9999999999999999999",
        "",  "anna "};
    struct data_ids ids;

    (void)state;
    data_ids_init(&ids, &base_alloc_libc);
    assert_int_equal(data_ids_find(&ids, "7", 1), DATA_ID_NONE);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 10; i++)
            assert_int_equal(add(&ids, names[i]), i);
    assert_int_equal(ids.count, 10);
    for (uint32_t i = 0; i < 10; i++) {
        char buf[DATA_ID_BUF];
        size_t size = 0;
        const char *name = data_ids_name(&ids, i, buf, &size);
        assert_int_equal(size, strlen(names[i]));
        assert_memory_equal(name, names[i], size);
        assert_int_equal(data_ids_find(&ids, names[i], size), i);
    }
    assert_int_equal(data_ids_find(&ids, "bert", 4), DATA_ID_NONE);
    assert_int_equal(data_ids_find_number(&ids, 8), DATA_ID_NONE);
    assert_int_equal(data_ids_find_number(&ids, 7), 0);
    data_ids_fini(&ids);
}

static void a_hundred_thousand_names_all_find_their_way_back(void **state)
{
    struct data_ids ids;
    char name[40];

    (void)state;
    data_ids_init(&ids, &base_alloc_libc);
    for (uint32_t i = 0; i < 100000; i++) {
        snprintf(name, sizeof name, i % 3 == 0 ? "%u" : "a rather long name %u", i * 64);
        assert_int_equal(add(&ids, name), i);
    }
    for (uint32_t i = 0; i < 100000; i++) {
        snprintf(name, sizeof name, i % 3 == 0 ? "%u" : "a rather long name %u", i * 64);
        assert_int_equal(data_ids_find(&ids, name, strlen(name)), i);
    }
    data_ids_fini(&ids);
}

static shoal_status fill(const struct base_alloc *alloc, void *ctx)
{
    struct data_ids ids;
    shoal_status st = SHOAL_OK;
    char name[16];

    (void)ctx;
    data_ids_init(&ids, alloc);
    for (uint32_t i = 0; i < 200 && st == SHOAL_OK; i++) {
        uint32_t index = 0;
        snprintf(name, sizeof name, i % 2 == 0 ? "%u" : "n%u", i);
        st = data_ids_add(&ids, name, strlen(name), &index);
        if (st == SHOAL_OK ? index != i : ids.count != i)
            st = SHOAL_E_INTERNAL;
    }
    data_ids_fini(&ids);
    return st;
}

static void every_failed_allocation_leaves_a_clean_error(void **state)
{
    (void)state;
    torture_run(fill, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_numbered_in_order_of_appearance),
        cmocka_unit_test(a_hundred_thousand_names_all_find_their_way_back),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests_name("data/ids", tests, NULL, NULL);
}
