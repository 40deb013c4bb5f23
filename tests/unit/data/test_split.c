/* Tests of src/data/split.c. */
#include "unit/data/data_world.h"

#include "base/rand.h"
#include "data/split.h"
#include "property.h"
#include "torture.h"

static void exactly_as_many_as_asked_are_chosen_and_every_one_is_as_likely(void **state)
{
    enum { COUNT = 20, CHOSEN = 7, ROUNDS = 4000 };
    int times[COUNT] = {0};
    bool out[COUNT], again[COUNT];

    (void)state;
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        int sum = 0;
        data_split_choose(COUNT, CHOSEN, seed, out);
        for (int i = 0; i < COUNT; i++) {
            sum += out[i];
            times[i] += out[i];
        }
        assert_int_equal(sum, CHOSEN);
    }
    /* binomial: mean 1400, deviation 30; six of them */
    for (int i = 0; i < COUNT; i++)
        assert_in_range(times[i], 1400 - 180, 1400 + 180);
    data_split_choose(COUNT, CHOSEN, ROUNDS - 1, again);
    assert_memory_equal(out, again, sizeof out);
}

static void shares_are_rounded_to_the_nearest(void **state)
{
    (void)state;
    assert_int_equal(data_split_count(10, 0), 0);
    assert_int_equal(data_split_count(10, 0.25), 3);
    assert_int_equal(data_split_count(10, 1), 10);
    assert_int_equal(data_split_count(0, 0.5), 0);
    assert_int_equal(data_split_count(3, 0.1), 0);
}

static int by_pair(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct num_rating));
}

static void ratings_are_parted_without_loss_and_in_order(void **state)
{
    struct base_rand r;

    (void)state;
    base_rand_init(&r, 1, "test.split");
    for (int round = 0; round < property_count(100); round++) {
        struct num_rating a[200], b[200];
        uint64_t count = 1 + base_rand_below(&r, 200), train = 0;
        bool keep = round % 2 == 0;
        bool user_seen[20] = {0}, item_seen[20] = {0};
        for (uint64_t i = 0; i < count; i++)
            a[i] = b[i] = (struct num_rating){(uint32_t)base_rand_below(&r, 20),
                                              (uint32_t)base_rand_below(&r, 20), (float)i};
        assert_int_equal(data_split_ratings(&base_alloc_libc, b, count, 20, 20, 0.3,
                                            (uint64_t)round, keep, &train, NULL),
                         SHOAL_OK);
        assert_true(keep ? train >= count - data_split_count(count, 0.3)
                         : train == count - data_split_count(count, 0.3));
        for (uint64_t i = 1; i < count; i++)
            assert_true(i == train || b[i].value > b[i - 1].value);
        for (uint64_t i = 0; i < train; i++)
            user_seen[b[i].user] = item_seen[b[i].item] = true;
        for (uint64_t i = train; keep && i < count; i++)
            assert_true(user_seen[b[i].user] && item_seen[b[i].item]);
        qsort(a, count, sizeof *a, by_pair);
        qsort(b, count, sizeof *b, by_pair);
        assert_memory_equal(a, b, (size_t)count * sizeof *a);
    }
}

static void rows_are_parted_without_loss(void **state)
{
    shoal_env *env = world_new();
    char text[4000], *to = text;
    struct data_svm svm, train, test;

    (void)state;
    for (int i = 0; i < 100; i++)
        to += sprintf(to, i % 7 == 0 ? "%d\n" : "%d 1:1 %d:2\n", i, i + 2);
    world_put(env, "s", text);
    assert_int_equal(data_svm_load(env, "s", NULL, &svm, NULL), SHOAL_OK);
    assert_int_equal(data_split_rows(&base_alloc_libc, &svm, 0.2, 1, &train, &test, NULL),
                     SHOAL_OK);
    assert_int_equal(test.x.rows, 20);
    assert_int_equal(train.x.rows, 80);
    assert_true(train.entries + test.entries == svm.entries);
    const struct data_svm *parts[] = {&train, &test};
    for (int p = 0; p < 2; p++) {
        assert_int_equal(parts[p]->x.columns, svm.x.columns);
        for (uint64_t i = 0; i < parts[p]->x.rows; i++) {
            uint64_t at = parts[p]->x.start[i], row = (uint64_t)parts[p]->label[i];
            uint64_t size = parts[p]->x.start[i + 1] - at;
            assert_int_equal(size, row % 7 == 0 ? 0 : 2);
            assert_true(size == 0 || parts[p]->x.index[at + 1] == row + 1);
            assert_true(size == 0 || parts[p]->x.value[at + 1] == 2.0f);
        }
    }
    data_svm_fini(&svm);
    data_svm_fini(&train);
    data_svm_fini(&test);
    shoal_env_free(env);
}

static void a_share_that_is_none_is_refused(void **state)
{
    struct num_rating r = {0};
    uint64_t train = 7;

    (void)state;
    assert_int_equal(data_split_ratings(&base_alloc_libc, &r, 1, 1, 1, 1.5, 1, false, &train, NULL),
                     SHOAL_E_INVAL);
    assert_int_equal(train, 7);
}

static shoal_status split_both(const struct base_alloc *alloc, void *ctx)
{
    struct num_rating r[10] = {0};
    struct data_svm train = {0}, test = {0};
    uint64_t kept = 0;

    shoal_status st = data_split_ratings(alloc, r, 10, 1, 1, 0.5, 1, true, &kept, NULL);
    if (st == SHOAL_OK)
        st = data_split_rows(alloc, ctx, 0.5, 1, &train, &test, NULL);
    data_svm_fini(&train);
    data_svm_fini(&test);
    return st;
}

static void every_failed_allocation_leaves_a_clean_error(void **state)
{
    shoal_env *env = world_new();
    struct data_svm svm;

    (void)state;
    world_put(env, "s", "1 1:2\n2 3:4\n");
    assert_int_equal(data_svm_load(env, "s", NULL, &svm, NULL), SHOAL_OK);
    torture_run(split_both, &svm);
    data_svm_fini(&svm);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_as_many_as_asked_are_chosen_and_every_one_is_as_likely),
        cmocka_unit_test(shares_are_rounded_to_the_nearest),
        cmocka_unit_test(ratings_are_parted_without_loss_and_in_order),
        cmocka_unit_test(rows_are_parted_without_loss),
        cmocka_unit_test(a_share_that_is_none_is_refused),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests_name("data/split", tests, NULL, NULL);
}
