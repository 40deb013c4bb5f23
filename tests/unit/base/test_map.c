/* Tests of src/base/map.c. */
#include "torture.h"

#include "base/map.h"
#include "base/rand.h"
#include "property.h"
#include <stdio.h>
#include <string.h>

enum { KEY_MAX = 24, NAIVE_MAX = 600 };

struct naive_entry {
    char key[KEY_MAX];
    size_t key_size;
    uint64_t value;
};

static struct naive_entry *naive_find(struct naive_entry *list, size_t count, const char *key,
                                      size_t key_size)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i].key_size == key_size && memcmp(list[i].key, key, key_size) == 0)
            return &list[i];
    }
    return NULL;
}

/* Few letters (NUL among them) and short lengths, so that keys repeat and prefixes abound. */
static size_t random_key(struct base_rand *r, char *key)
{
    size_t size = base_rand_below(r, base_rand_below(r, 4) == 0 ? KEY_MAX : 5);
    for (size_t i = 0; i < size; i++)
        key[i] = "abc\0"[base_rand_below(r, 4)];
    return size;
}

static void agrees_with_a_plain_list_under_random_operations(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "test.map");
    for (int round = 0; round < property_count(40); round++) {
        struct base_map map;
        base_map_init(&map, &base_alloc_libc);
        struct naive_entry naive[NAIVE_MAX];
        size_t count = 0;
        for (uint64_t step = 0; step < NAIVE_MAX; step++) {
            char key[KEY_MAX];
            size_t size = random_key(&r, key);
            struct naive_entry *old = naive_find(naive, count, key, size);
            struct base_map_entry *entry = base_map_find(&map, key, size);
            assert_int_equal(entry == NULL, old == NULL);
            if (entry != NULL)
                assert_int_equal(entry->value, old->value);
            struct base_map_entry *added = NULL;
            shoal_status st = base_map_add(&map, key, size, step, &added);
            assert_int_equal(st, old == NULL ? SHOAL_OK : SHOAL_E_EXISTS);
            assert_non_null(added);
            assert_int_equal(added->value, old == NULL ? step : old->value);
            if (old == NULL) {
                memcpy(naive[count].key, key, size);
                naive[count].key_size = size;
                naive[count++].value = step;
            } else if (base_rand_below(&r, 2) == 0) {
                added->value = old->value = step + 1000000; /* values may be changed in place */
            }
        }
        assert_int_equal(map.count, count);
        for (size_t i = 0; i < count; i++) { /* insertion order */
            assert_int_equal(map.entries[i].key_size, naive[i].key_size);
            assert_memory_equal(map.entries[i].key, naive[i].key, naive[i].key_size);
            assert_int_equal(map.entries[i].key[naive[i].key_size], 0);
            assert_int_equal(map.entries[i].value, naive[i].value);
        }
        base_map_fini(&map);
    }
}

static void an_empty_map_finds_nothing_and_can_be_freed_twice(void **state)
{
    (void)state;
    struct base_map map;
    base_map_init(&map, &base_alloc_libc);
    assert_null(base_map_find(&map, "a", 1));
    assert_null(base_map_find(&map, "", 0));
    base_map_fini(&map);
    assert_null(base_map_find(&map, "a", 1));
    base_map_fini(&map);
}

/* Numbered names are what traces hold; a weak hash would pile them up. */
static void numbered_names_spread_over_the_table(void **state)
{
    (void)state;
    static const char *const formats[] = {"%d", "job-%d", "application_1506638472019_%05d", "%08d",
                                          "a-very-long-common-prefix-for-job-number-%d"};
    for (size_t f = 0; f < 5; f++) {
        struct base_map map;
        base_map_init(&map, &base_alloc_libc);
        for (int i = 0; i < 50000; i++) {
            char key[80];
            int size = snprintf(key, sizeof key, formats[f], i);
            assert_int_equal(base_map_add(&map, key, (size_t)size, (uint64_t)i, NULL), SHOAL_OK);
        }
        assert_true(map.count * 4 <= map.slot_count * 3);
        size_t mask = map.slot_count - 1;
        double distance = 0;
        for (size_t slot = 0; slot < map.slot_count; slot++) {
            if (map.slots[slot] != 0)
                distance += (double)((slot - map.entries[map.slots[slot] - 1].hash) & mask);
        }
        /* Knuth: linear probing at load 3/4 walks (1/(1-a) + 1)/2 - 1 = 1.5 further on average */
        assert_true(distance / (double)map.count < 2.0);
        base_map_fini(&map);
    }
}

static shoal_status fill_map(const struct base_alloc *alloc, void *ctx)
{
    (void)ctx;
    struct base_map map;
    base_map_init(&map, alloc);
    shoal_status result = SHOAL_OK;
    for (uint64_t i = 0; i < 600; i++) {
        char key[40];
        size_t size = (size_t)snprintf(key, sizeof key, "a key of some length %d", (int)i);
        size_t count = map.count;
        shoal_status st = base_map_add(&map, key, size, i, NULL);
        if (st != SHOAL_OK) {
            result = st;
            if (map.count != count || base_map_find(&map, key, size) != NULL)
                result = SHOAL_E_INTERNAL;
            if (st == SHOAL_E_NOMEM)
                st = base_map_add(&map, key, size, i, NULL); /* may work the second time */
        }
        const struct base_map_entry *entry = base_map_find(&map, key, size);
        if ((st == SHOAL_OK) != (entry != NULL) || (entry != NULL && entry->value != i))
            result = SHOAL_E_INTERNAL;
    }
    base_map_fini(&map);
    return result;
}

static void a_refused_add_leaves_the_map_as_it_was(void **state)
{
    (void)state;
    torture_run(fill_map, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_plain_list_under_random_operations),
        cmocka_unit_test(an_empty_map_finds_nothing_and_can_be_freed_twice),
        cmocka_unit_test(numbered_names_spread_over_the_table),
        cmocka_unit_test(a_refused_add_leaves_the_map_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
