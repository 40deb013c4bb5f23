/* Tests of src/num/mf_plan.c and mf_cut.c. */
#include "mf_world.h"
#include "property.h"

static struct num_mf_plan *plan_of(const struct num_mf_shape *shape,
                                   const struct num_rating *rating, size_t count)
{
    struct num_mf_plan *plan = NULL;

    assert_int_equal(num_mf_plan_new(&base_alloc_libc, shape, rating, count, &plan, NULL),
                     SHOAL_OK);
    return plan;
}

static void check_bijection(uint32_t ids, const uint32_t *slot, uint32_t slots, const uint32_t *id)
{
    uint32_t filled = 0;

    for (uint32_t s = 0; s < slots; s++)
        if (id[s] != NUM_MF_EMPTY) {
            assert_true(id[s] < ids);
            assert_int_equal(slot[id[s]], s);
            filled++;
        }
    assert_int_equal(filled, ids);
    for (uint32_t i = 0; i < ids; i++)
        assert_int_equal(id[slot[i]], i);
}

static uint64_t mix(uint64_t user, uint64_t item, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    uint64_t z = (user << 32 ^ item) * 0x9e3779b97f4a7c15U + bits;
    z = (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9U;
    return z ^ (z >> 32);
}

static float rest(const struct num_mf_plan *plan, struct num_rating r)
{
    return (r.value - (float)plan->mean - plan->user_bias[plan->user_slot[r.user]] -
            plan->item_bias[plan->item_slot[r.item]]) *
           (float)(1 / plan->scale);
}

/* Every rating is in exactly one block, in the right row and column: sums of hashes agree. */
static void check_blocks(const struct num_mf_plan *plan, enum num_mf_view view,
                         const struct num_rating *rating, size_t count)
{
    void **data = mf_blocks(plan, view, rating, count);
    uint64_t want = 0, got = 0;
    size_t seen = 0;

    for (size_t x = 0; x < count; x++)
        want += mix(rating[x].user, rating[x].item, rest(plan, rating[x]));
    for (uint32_t e = 0; e < plan->shape.executors; e++)
        for (uint32_t b = 0; b < num_mf_data_blocks(data[e]); b++) {
            struct num_mf_block block = num_mf_block(data[e], b);
            assert_int_equal(block.start[0], 0);
            seen += num_mf_block_count(&block);
            for (uint32_t r = 0; r < block.rows; r++)
                for (uint32_t at = block.start[r]; at < block.start[r + 1]; at++) {
                    uint32_t column = block.entry[at].column;
                    uint32_t row = e * block.rows + r;
                    if (view == NUM_MF_GRID)
                        column += b * plan->item_slots;
                    uint32_t user = view == NUM_MF_ITEMS ? column : row;
                    uint32_t item = view == NUM_MF_ITEMS ? row : column;
                    got += mix(plan->slot_user[user], plan->slot_item[item], block.entry[at].value);
                }
        }
    assert_int_equal(seen, count);
    assert_true(got == want);
    mf_blocks_free(plan, data);
}

static void every_rating_lands_in_exactly_one_block(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "mf_plan");
    for (int round = 0; round < property_count(60); round++) {
        struct mf_truth truth = {1 + (uint32_t)base_rand_below(&rand, 90),
                                 1 + (uint32_t)base_rand_below(&rand, 90), 2, 0.5};
        size_t count = base_rand_below(&rand, 2000);
        uint32_t parts = 1 + (uint32_t)base_rand_below(&rand, 20);
        struct num_mf_shape shape = {truth.users, truth.items,   parts,
                                     parts,       round % 3 > 0, round % 2 > 0};
        struct num_rating *rating = mf_ratings(&truth, count, (uint64_t)round);
        struct num_mf_plan *plan = plan_of(&shape, rating, count);
        check_bijection(shape.users, plan->user_slot, plan->user_slots * parts, plan->slot_user);
        check_bijection(shape.items, plan->item_slot, plan->item_slots * parts, plan->slot_item);
        for (enum num_mf_view view = NUM_MF_GRID; view <= NUM_MF_ITEMS; view++)
            check_blocks(plan, view, rating, count);
        num_mf_plan_free(plan);
        free(rating);
    }
}

static void parts_have_nearly_equally_many_ratings(void **state)
{
    enum { COUNT = 200000 };
    struct mf_truth truth = {3000, 800, 2, 0.5};
    struct num_mf_shape shape = {3000, 800, 16, 16, true, true};
    struct num_rating *rating = mf_ratings(&truth, COUNT, 5);
    struct num_mf_plan *plan = plan_of(&shape, rating, COUNT);
    void **data = mf_blocks(plan, NUM_MF_USERS, rating, COUNT);

    (void)state;
    for (uint32_t e = 0; e < 16; e++) { /* though one user has 30 per cent of a part's share */
        struct num_mf_block block = num_mf_block(data[e], 0);
        assert_int_equal(block.rows, 188);
        assert_in_range(num_mf_block_count(&block), COUNT / 16 * 0.97, COUNT / 16 * 1.03);
        for (uint32_t r = 1; r < block.rows; r++) /* the busiest come first */
            assert_true(plan->user_count[e * 188 + r] <= plan->user_count[e * 188 + r - 1]);
    }
    mf_blocks_free(plan, data);
    num_mf_plan_free(plan);
    free(rating);
}

static void what_is_left_has_mean_0_and_variance_1(void **state)
{
    enum { COUNT = 50000 };
    struct mf_truth truth = {500, 300, 3, 0.5};
    struct num_mf_shape shape = {500, 300, 4, 4, true, true};
    struct num_rating *rating = mf_ratings(&truth, COUNT, 5);
    double sum = 0, square = 0;

    (void)state;
    for (size_t x = 0; x < COUNT; x++) /* another scale changes nothing */
        rating[x].value = 100 + 20 * rating[x].value;
    struct num_mf_plan *plan = plan_of(&shape, rating, COUNT);
    for (size_t x = 0; x < COUNT; x++) {
        double z = (double)rest(plan, rating[x]);
        sum += z;
        square += z * z;
    }
    assert_true(fabs(sum / COUNT) < 0.01); /* biases are pulled a little towards 0 */
    assert_true(fabs(square / COUNT - 1) < 1e-3);
    num_mf_plan_free(plan);
    shape.center = false;
    plan = plan_of(&shape, rating, COUNT);
    for (size_t x = 0; x < COUNT; x++)
        assert_true(rest(plan, rating[x]) == rating[x].value);
    num_mf_plan_free(plan);
    free(rating);
}

static void equal_ratings_and_none_are_fine(void **state)
{
    struct num_rating same[3] = {{0, 0, 2}, {1, 0, 2}, {1, 1, 2}};
    struct num_mf_shape shape = {2, 2, 3, 3, true, true};

    (void)state;
    struct num_mf_plan *plan = plan_of(&shape, same, 3);
    assert_true(plan->mean == 2 && plan->scale == 1);
    check_blocks(plan, NUM_MF_GRID, same, 3);
    check_blocks(plan, NUM_MF_ITEMS, same, 0);
    num_mf_plan_free(plan);
    plan = plan_of(&shape, NULL, 0);
    assert_true(plan->mean == 0 && plan->scale == 1);
    check_blocks(plan, NUM_MF_USERS, NULL, 0);
    num_mf_plan_free(plan);
}

static void bad_input_is_refused(void **state)
{
    struct num_mf_shape shape = {2, 2, 1, 2, true, true}, none = shape, large = shape;
    struct num_rating user = {2, 0, 1}, item = {0, 2, 1}, nan = {0, 0, NAN}, good = {1, 1, 1};
    struct num_mf_plan *plan = NULL;
    struct num_mf_cut *cut = NULL;
    shoal_err err;

    (void)state;
    none.items = 0;
    large.users = UINT32_MAX;
    assert_int_equal(num_mf_plan_new(&base_alloc_libc, &shape, &user, 1, &plan, &err),
                     SHOAL_E_INVAL);
    assert_int_equal(num_mf_plan_new(&base_alloc_libc, &shape, &item, 1, &plan, &err),
                     SHOAL_E_INVAL);
    assert_int_equal(num_mf_plan_new(&base_alloc_libc, &shape, &nan, 1, &plan, &err),
                     SHOAL_E_INVAL);
    assert_int_equal(num_mf_plan_new(&base_alloc_libc, &none, &good, 1, &plan, &err),
                     SHOAL_E_INVAL);
    assert_int_equal(num_mf_plan_new(&base_alloc_libc, &large, &good, 1, &plan, &err),
                     SHOAL_E_LIMIT);
    assert_null(plan);
    plan = plan_of(&shape, &good, 1);
    assert_int_equal(num_mf_cut_new(plan, NUM_MF_GRID, &item, 1, &cut, &err), SHOAL_E_INVAL);
    assert_int_equal(num_mf_cut_new(plan, NUM_MF_ITEMS, &good, 1, &cut, &err), SHOAL_E_INVAL);
    assert_null(cut);
    num_mf_plan_free(plan);
    num_mf_plan_free(NULL);
    num_mf_cut_free(NULL);
}

static void a_split_keeps_all_ratings_and_about_the_share(void **state)
{
    enum { COUNT = 10000 };
    struct mf_truth truth = {50, 50, 1, 0.5};
    struct num_rating *rating = mf_ratings(&truth, COUNT, 9);
    uint64_t before = 0, after = 0;

    (void)state;
    for (size_t x = 0; x < COUNT; x++)
        before += mix(rating[x].user, rating[x].item, rating[x].value);
    size_t left = num_mf_split(rating, COUNT, 0.1, 3);
    for (size_t x = 0; x < COUNT; x++)
        after += mix(rating[x].user, rating[x].item, rating[x].value);
    assert_true(before == after);
    assert_in_range(left, 8850, 9150);
    assert_int_equal(num_mf_split(rating, COUNT, 0, 3), COUNT);
    free(rating);
}

static shoal_status plan_and_cut(const struct base_alloc *alloc, void *ctx)
{
    struct num_rating rating[4] = {{0, 0, 1}, {1, 1, 2}, {2, 0, 3}, {2, 1, 4}};
    struct num_mf_shape shape = {3, 2, 2, 2, true, true};
    struct num_mf_plan *plan = NULL;
    struct num_mf_cut *cut = NULL;
    uint64_t room[2][64];
    void *data[2] = {room[0], room[1]};

    (void)ctx;
    shoal_status st = num_mf_plan_new(alloc, &shape, rating, 4, &plan, NULL);
    if (st == SHOAL_OK)
        st = num_mf_cut_new(plan, NUM_MF_GRID, rating, 4, &cut, NULL);
    if (st == SHOAL_OK &&
        (num_mf_cut_size(cut, 0) > sizeof room[0] || num_mf_cut_size(cut, 1) > sizeof room[1]))
        st = SHOAL_E_INTERNAL;
    if (st == SHOAL_OK)
        st = num_mf_cut_fill(cut, rating, data, NULL);
    num_mf_cut_free(cut);
    num_mf_plan_free(plan);
    return st;
}

static void failing_allocations_end_cleanly(void **state)
{
    (void)state;
    torture_run(plan_and_cut, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rating_lands_in_exactly_one_block),
        cmocka_unit_test(parts_have_nearly_equally_many_ratings),
        cmocka_unit_test(what_is_left_has_mean_0_and_variance_1),
        cmocka_unit_test(equal_ratings_and_none_are_fine),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(a_split_keeps_all_ratings_and_about_the_share),
        cmocka_unit_test(failing_allocations_end_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
