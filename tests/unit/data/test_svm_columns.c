/* Tests of the columns that have entries, src/data/svm.c. */
#include "unit/data/data_world.h"

#include "base/rand.h"
#include "property.h"
#include "torture.h"

enum { ROWS = 40, ENTRIES_MAX = 200 };

/* Rows with ascending columns below `columns`. */
static void draw(struct base_rand *rand, uint32_t columns, bool valued,
                 const struct base_alloc *alloc, struct data_svm *out)
{
    uint64_t *start = base_calloc(alloc, ROWS + 1, sizeof *start);
    uint32_t *index = base_calloc(alloc, ENTRIES_MAX, sizeof *index);
    float *value = base_calloc(alloc, ENTRIES_MAX, sizeof *value);

    data_svm_init(out, alloc);
    assert_true(start != NULL && index != NULL && value != NULL);
    for (uint64_t i = 0; i < ROWS; i++) {
        uint64_t at = start[i], next = base_rand_below(rand, columns);
        for (; next < columns && at < start[i] + ENTRIES_MAX / ROWS; at++) {
            value[at] = (float)at;
            index[at] = (uint32_t)next;
            out->x.columns = next >= out->x.columns ? (uint32_t)next + 1 : out->x.columns;
            next += 1 + base_rand_below(rand, columns / 2);
        }
        start[i + 1] = out->entries = at;
    }
    out->label = base_calloc(alloc, ROWS, sizeof *out->label);
    assert_non_null(out->label);
    out->x = (struct num_csr){.rows = ROWS,
                              .columns = out->x.columns,
                              .start = start,
                              .index = index,
                              .value = valued ? value : NULL};
    if (!valued)
        base_free(alloc, value);
}

/* As many as are there, in the same order; names lead back; nothing else changes. */
static void columns_without_entries_get_no_number(void **state)
{
    static const uint32_t widths[] = {201, 20000, 1u << 20, DATA_SVM_INDEX_MAX};
    struct base_rand rand;

    (void)state;
    for (int seed = 0; seed < property_count(50); seed++) {
        struct data_svm svm, before;
        uint32_t *name = NULL;
        base_rand_init(&rand, (uint64_t)seed, "svm.columns");
        draw(&rand, widths[seed % 4], seed % 3 > 0, &base_alloc_libc, &svm);
        base_rand_init(&rand, (uint64_t)seed, "svm.columns");
        draw(&rand, widths[seed % 4], seed % 3 > 0, &base_alloc_libc, &before);
        assert_int_equal(data_svm_compact(&svm, &name, NULL), SHOAL_OK);
        assert_true((name != NULL) == (before.x.columns > DATA_SVM_FEW));
        assert_true(name == NULL || svm.x.columns <= svm.entries);
        for (uint32_t c = 1; name != NULL && c < svm.x.columns; c++)
            assert_true(name[c] > name[c - 1]);
        uint32_t *index = (uint32_t *)(uintptr_t)svm.x.index;
        for (uint64_t e = 0; name != NULL && e < svm.entries; e++) {
            assert_true(index[e] < svm.x.columns);
            assert_int_equal(data_svm_column(name, svm.x.columns, name[index[e]]), index[e]);
            index[e] = name[index[e]];
        }
        svm.x.columns = before.x.columns;
        assert_same_svm(&svm, &before);
        free(name);
        data_svm_fini(&svm);
        data_svm_fini(&before);
    }
}

/* What data_svm_compact does to the rows it learns from, data_svm_renumber does to others. */
static void rows_of_known_columns_get_the_same_numbers(void **state)
{
    struct base_rand rand;

    (void)state;
    for (int seed = 0; seed < property_count(20); seed++) {
        struct data_svm svm, again;
        uint32_t *name = NULL;
        base_rand_init(&rand, (uint64_t)seed, "svm.columns");
        draw(&rand, 1u << 30, seed % 2 > 0, &base_alloc_libc, &svm);
        base_rand_init(&rand, (uint64_t)seed, "svm.columns");
        draw(&rand, 1u << 30, seed % 2 > 0, &base_alloc_libc, &again);
        assert_int_equal(data_svm_compact(&svm, &name, NULL), SHOAL_OK);
        assert_non_null(name);
        data_svm_renumber(&again, name, svm.x.columns);
        assert_same_svm(&svm, &again);
        assert_int_equal(again.left_out, 0);
        free(name);
        data_svm_fini(&svm);
        data_svm_fini(&again);
    }
}

static void entries_of_unknown_columns_are_left_out_and_counted(void **state)
{
    static const uint32_t name[] = {2, 1999999999};
    shoal_env *env = world_new();
    struct data_svm svm, expected;

    (void)state;
    world_put(env, "a.svm", "1 1:5 3:7\n2 2:1 4:1\n3 3:2 2000000000:9 2000000001:4\n");
    world_put(env, "b.svm", "1 1:7\n2\n3 1:2 2:9\n");
    assert_int_equal(data_svm_load(env, "a.svm", NULL, &svm, NULL), SHOAL_OK);
    assert_int_equal(data_svm_load(env, "b.svm", NULL, &expected, NULL), SHOAL_OK);
    data_svm_renumber(&svm, name, 2);
    assert_same_svm(&svm, &expected);
    assert_int_equal(svm.left_out, 4);
    data_svm_fini(&svm);
    data_svm_fini(&expected);
    shoal_env_free(env);
}

static void columns_that_never_vary_are_counted(void **state)
{
    static const struct {
        const char *text;
        uint32_t constant;
    } CASES[] = {
        {"1 1:1 2:1\n2 1:1\n3 1:1 3:1\n", 1},
        {"1 1:2 2:1\n2 1:2 2:2\n", 1},
        {"1 1:0\n2 2:1\n3\n", 1},
        {"1 5:1\n2 5:1\n", 1},
        {"1 1:1\n2 1:2\n3 1:1\n", 0},
        {"1 1:3 2:4\n", 2},
        {"1\n2\n", 0},
        {"1 1:0.5\n2\n", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        shoal_env *env = world_new();
        struct data_svm svm;
        uint32_t constant = 99;
        world_put(env, "a.svm", CASES[i].text);
        assert_int_equal(data_svm_load(env, "a.svm", NULL, &svm, NULL), SHOAL_OK);
        assert_int_equal(data_svm_constant(&svm, &constant, NULL), SHOAL_OK);
        assert_int_equal(constant, CASES[i].constant);
        data_svm_fini(&svm);
        shoal_env_free(env);
    }
}

static shoal_status compact_all(const struct base_alloc *alloc, void *ctx)
{
    struct base_rand rand;
    struct data_svm svm;
    uint32_t *name = NULL;

    (void)ctx;
    base_rand_init(&rand, 1, "svm.columns");
    draw(&rand, 1u << 30, true, &base_alloc_libc, &svm);
    svm.alloc = alloc;
    shoal_status st = data_svm_compact(&svm, &name, NULL);
    base_free(alloc, name);
    svm.alloc = &base_alloc_libc;
    data_svm_fini(&svm);
    return st;
}

static void short_memory_is_an_error(void **state)
{
    (void)state;
    torture_run(compact_all, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_without_entries_get_no_number),
        cmocka_unit_test(rows_of_known_columns_get_the_same_numbers),
        cmocka_unit_test(entries_of_unknown_columns_are_left_out_and_counted),
        cmocka_unit_test(columns_that_never_vary_are_counted),
        cmocka_unit_test(short_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
