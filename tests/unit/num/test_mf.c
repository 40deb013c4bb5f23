/* Tests of src/num/mf.c: stochastic gradient descent. Its least squares: test_mf_als.c. */
#include "mf_world.h"

static const uint32_t LANES[] = {1, 8, 16}; /* where missing, a smaller twin is tested again */
static const uint32_t RANKS[] = {1, 2, 16, 17, 32, 40, 64, 100};
enum { LANE_KINDS = 3, RANK_KINDS = 8 };

/* A block by hand: rows of 0, 1, 2, ... ratings in random columns, none twice in a row. */
struct small {
    struct num_mf_block block;
    uint32_t start[16];
    struct num_mf_entry entry[128];
    float row_rate[16], column_rate[32];
    float *row, *next, *column;
    uint32_t stride;
};
enum { SMALL_ROWS = 12, SMALL_COLUMNS = 32 };

static void small_init(struct small *s, uint32_t rank, uint64_t seed)
{
    struct base_rand rand;
    uint32_t at = 0;

    base_rand_init(&rand, seed, "mf_small");
    s->stride = num_mf_stride(rank);
    s->row = mf_floats((size_t)SMALL_ROWS * s->stride);
    s->next = mf_floats((size_t)SMALL_ROWS * s->stride);
    s->column = mf_floats((size_t)SMALL_COLUMNS * s->stride);
    for (uint32_t k = 0; k < rank; k++) {
        for (uint32_t r = 0; r < SMALL_ROWS; r++)
            s->row[r * s->stride + k] = (float)base_rand_normal(&rand, 0, 0.3);
        for (uint32_t c = 0; c < SMALL_COLUMNS; c++)
            s->column[c * s->stride + k] = (float)base_rand_normal(&rand, 0, 0.3);
    }
    for (uint32_t r = 0; r < SMALL_ROWS; r++) {
        uint32_t first = (uint32_t)base_rand_below(&rand, SMALL_COLUMNS);
        s->start[r] = at;
        s->row_rate[r] = (float)base_rand_range(&rand, 0.2, 1);
        for (uint32_t n = 0; n < r; n++)
            s->entry[at++] = (struct num_mf_entry){(first + 5 * n) % SMALL_COLUMNS,
                                                   (float)base_rand_normal(&rand, 0, 1)};
    }
    s->start[SMALL_ROWS] = at;
    for (uint32_t c = 0; c < SMALL_COLUMNS; c++)
        s->column_rate[c] = (float)base_rand_range(&rand, 0.2, 1);
    s->block = (struct num_mf_block){SMALL_ROWS, s->start, s->entry};
}

static void small_fini(struct small *s)
{
    free(s->row);
    free(s->next);
    free(s->column);
}

static double small_pass(struct small *s, const struct num_mf_ops *ops, float rate, float l2)
{
    return ops->sgd(&s->block, &(struct num_mf_sgd){s->stride, rate, l2, s->row_rate,
                                                    s->column_rate, s->row, s->next, s->column});
}

static double dot(const float *p, const float *q, uint32_t stride)
{
    double sum = 0;

    for (uint32_t k = 0; k < stride; k++)
        sum += (double)p[k] * (double)q[k];
    return sum;
}

static double error_of(const struct small *s, const float *row)
{
    double sum = 0;

    for (uint32_t r = 0; r < SMALL_ROWS; r++)
        for (uint32_t at = s->start[r]; at < s->start[r + 1]; at++) {
            double z =
                (double)s->entry[at].value -
                dot(row + r * s->stride, s->column + s->entry[at].column * s->stride, s->stride);
            sum += z * z;
        }
    return sum;
}

/* Sums of up to 128 products in another order differ by a few units in the last place, and a dozen
 * steps carry that on. */
static void assert_close(const float *a, const float *b, size_t count)
{
    for (size_t x = 0; x < count; x++)
        assert_true(fabsf(a[x] - b[x]) <= 2e-5F * (1 + fabsf(a[x])));
}

static void twins_agree_to_rounding(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < RANK_KINDS; n++) {
        struct small plain;
        small_init(&plain, RANKS[n], n);
        double before = error_of(&plain, plain.row);
        assert_true(
            fabs(num_mf_ops_find(1)->error(&plain.block, plain.stride, plain.row, plain.column) -
                 before) < 1e-4 * before);
        double sum = small_pass(&plain, num_mf_ops_find(1), 0.1F, 0.05F);
        for (uint32_t l = 1; l < LANE_KINDS; l++) {
            const struct num_mf_ops *ops = num_mf_ops_find(LANES[l]);
            struct small s;
            small_init(&s, RANKS[n], n);
            assert_true(fabs(ops->error(&s.block, s.stride, s.row, s.column) - before) <
                        1e-4 * before);
            assert_true(fabs(small_pass(&s, ops, 0.1F, 0.05F) - sum) < 1e-4 * sum);
            assert_close(plain.next, s.next, (size_t)SMALL_ROWS * s.stride);
            assert_close(plain.column, s.column, (size_t)SMALL_COLUMNS * s.stride);
            small_fini(&s);
        }
        small_fini(&plain);
    }
}

static void old_rows_stay_and_rows_without_ratings_are_copied(void **state)
{
    (void)state;
    for (uint32_t l = 0; l < LANE_KINDS; l++) {
        struct small s, same;
        small_init(&s, 32, 7);
        small_init(&same, 32, 7);
        small_pass(&s, num_mf_ops_find(LANES[l]), 0.1F, 0.05F);
        assert_memory_equal(s.row, same.row, SMALL_ROWS * 32 * sizeof(float));
        assert_memory_equal(s.row, s.next, 32 * sizeof(float)); /* row 0 */
        /* In place gives the same. */
        free(same.next);
        same.next = same.row;
        small_pass(&same, num_mf_ops_find(LANES[l]), 0.1F, 0.05F);
        assert_memory_equal(s.next, same.row, SMALL_ROWS * 32 * sizeof(float));
        assert_memory_equal(s.column, same.column, SMALL_COLUMNS * 32 * sizeof(float));
        same.next = NULL;
        small_fini(&s);
        small_fini(&same);
    }
}

static void padding_stays_zero(void **state)
{
    struct small s;

    (void)state;
    small_init(&s, 17, 3);
    small_pass(&s, num_mf_ops_find(16), 0.2F, 0.05F);
    for (uint32_t r = 0; r < SMALL_ROWS; r++)
        for (uint32_t k = 17; k < 32; k++)
            assert_true(s.next[r * 32 + k] == 0);
    for (uint32_t c = 0; c < SMALL_COLUMNS; c++)
        for (uint32_t k = 17; k < 32; k++)
            assert_true(s.column[c * 32 + k] == 0);
    small_fini(&s);
}

/* Loss of one group of ratings of one row, in doubles. */
static double group_loss(const double *p, double (*q)[16], const float *value, uint32_t group,
                         uint32_t rank, double l2)
{
    double loss = 0;

    for (uint32_t j = 0; j < group; j++) {
        double z = (double)value[j];
        for (uint32_t k = 0; k < rank; k++) {
            z -= p[k] * q[j][k];
            loss += l2 / 2 * (p[k] * p[k] + q[j][k] * q[j][k]);
        }
        loss += z * z / 2;
    }
    return loss;
}

static double slope(double *x, const double *p, double (*q)[16], const float *value, uint32_t group,
                    double l2)
{
    double at = *x, h = 1e-5;

    *x = at + h;
    double up = group_loss(p, q, value, group, 16, l2);
    *x = at - h;
    double down = group_loss(p, q, value, group, 16, l2);
    *x = at;
    return (up - down) / (2 * h);
}

/* One group of 1 to 4: every number moves against its finite difference, times its rate. */
static void a_step_is_the_gradient_of_the_loss(void **state)
{
    (void)state;
    for (uint32_t l = 0; l < LANE_KINDS; l++)
        for (uint32_t group = 1; group <= 4; group++) {
            uint32_t start[2] = {0, group};
            struct num_mf_entry entry[4];
            struct num_mf_block block = {1, start, entry};
            float row_rate = 0.5F, column_rate[4] = {0.25F, 0.5F, 0.75F, 1}, value[4];
            float *row = mf_floats(16), *next = mf_floats(16), *column = mf_floats(64);
            double p[16], q[4][16], l2 = 0.05, rate = 0.1;
            struct base_rand rand;
            base_rand_init(&rand, group, "mf_gradient");
            for (uint32_t k = 0; k < 16; k++)
                p[k] = (double)(row[k] = (float)base_rand_normal(&rand, 0, 0.5));
            for (uint32_t j = 0; j < 4; j++) {
                value[j] = (float)base_rand_normal(&rand, 0, 1);
                entry[j] = (struct num_mf_entry){j, value[j]};
                for (uint32_t k = 0; k < 16; k++)
                    q[j][k] = (double)(column[j * 16 + k] = (float)base_rand_normal(&rand, 0, 0.5));
            }
            num_mf_ops_find(LANES[l])->sgd(&block, &(struct num_mf_sgd){16, (float)rate, (float)l2,
                                                                        &row_rate, column_rate, row,
                                                                        next, column});
            for (uint32_t k = 0; k < 16; k++) {
                double want = p[k] - rate * 0.5 * slope(&p[k], p, q, value, group, l2);
                assert_true(fabs((double)next[k] - want) < 1e-6);
                for (uint32_t j = 0; j < group; j++) {
                    want = q[j][k] -
                           rate * (double)column_rate[j] * slope(&q[j][k], p, q, value, group, l2);
                    assert_true(fabs((double)column[j * 16 + k] - want) < 1e-6);
                }
            }
            free(row);
            free(next);
            free(column);
        }
}

/* Trains on nine tenths by rotation; returns the error on the rest. */
static double train(const struct mf_truth *truth, size_t count, uint32_t parts, uint32_t rank,
                    uint32_t epochs, uint32_t lanes)
{
    const struct num_mf_ops *ops = num_mf_ops_find(lanes);
    struct num_mf_shape shape = {truth->users, truth->items, parts, parts, true, true};
    struct num_rating *rating = mf_ratings(truth, count, 11);
    size_t left = num_mf_split(rating, count, 0.1, 1);
    struct num_mf_plan *plan;
    struct mf_model m;
    double error = 0;

    assert_int_equal(num_mf_plan_new(&base_alloc_libc, &shape, rating, left, &plan, NULL),
                     SHOAL_OK);
    void **data = mf_blocks(plan, NUM_MF_GRID, rating, left);
    void **test = mf_blocks(plan, NUM_MF_GRID, rating + left, count - left);
    mf_model_init(&m, plan, rank);
    size_t user_size = (size_t)plan->user_slots * m.stride;
    size_t item_size = (size_t)plan->item_slots * m.stride;
    for (uint32_t round = 0; round < epochs * parts; round++)
        for (uint32_t e = 0; e < parts; e++) {
            uint32_t b = (e + round) % parts;
            struct num_mf_block block = num_mf_block(data[e], b);
            float rate = 0.3F * (1 - (float)round / (float)(epochs * parts));
            ops->sgd(&block, &(struct num_mf_sgd){m.stride, rate, (float)(0.05 / plan->scale),
                                                  num_mf_data_rates(data[e]),
                                                  m.item_rate + b * plan->item_slots,
                                                  m.user + e * user_size, m.user + e * user_size,
                                                  m.item + b * item_size});
        }
    for (uint32_t e = 0; e < parts; e++)
        for (uint32_t b = 0; b < parts; b++) {
            struct num_mf_block block = num_mf_block(test[e], b);
            error += ops->error(&block, m.stride, m.user + e * user_size, m.item + b * item_size);
        }
    error = sqrt(error / (double)(count - left)) * plan->scale;
    mf_model_fini(&m);
    mf_blocks_free(plan, data);
    mf_blocks_free(plan, test);
    num_mf_plan_free(plan);
    free(rating);
    return error;
}

/* 200 ratings per user for 3 unknowns each leave about 2 per cent above the noise. */
static void planted_factors_are_found_up_to_the_noise(void **state)
{
    struct mf_truth truth = {400, 300, 2, 0.5};

    (void)state;
    for (uint32_t l = 0; l < LANE_KINDS; l++) {
        double error = train(&truth, 80000, 4, 4, 8, LANES[l]);
        assert_true(error > 0.48 && error < 0.54);
    }
}

/* One user, one item, more parts than either, rank 1 and 100: finite, and the bias at least. */
static void the_smallest_shapes_train(void **state)
{
    struct mf_truth one_user = {1, 50, 1, 0.1}, one_item = {50, 1, 1, 0.1}, one = {1, 1, 1, 0.1};

    (void)state;
    assert_true(train(&one_user, 500, 3, 1, 4, 16) < 1);
    assert_true(train(&one_item, 500, 3, 1, 4, 16) < 1);
    assert_true(train(&one, 500, 3, 100, 4, 16) < 0.2);
    assert_true(train(&one_user, 500, 1, 100, 4, 16) < 1);
}

static void unseen_rows_start_at_zero_and_others_small(void **state)
{
    uint32_t count[3] = {4, 0, 1};
    float *row = mf_floats(3 * 112), *part = mf_floats(112);

    (void)state;
    num_mf_init_rows(row, 100, 0, 3, count, 5);
    num_mf_init_rows(part, 100, 2, 1, count, 5);
    assert_memory_equal(row + 2 * 112, part, 112 * sizeof(float)); /* by slot, not by call */
    for (uint32_t k = 0; k < 112; k++)
        assert_true(row[112 + k] == 0);
    assert_true(row[100] == 0 && row[111] == 0);
    assert_true(dot(row, row, 112) > 0.1 && dot(row, row, 112) < 0.5);
    free(row);
    free(part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twins_agree_to_rounding),
        cmocka_unit_test(old_rows_stay_and_rows_without_ratings_are_copied),
        cmocka_unit_test(padding_stays_zero),
        cmocka_unit_test(a_step_is_the_gradient_of_the_loss),
        cmocka_unit_test(planted_factors_are_found_up_to_the_noise),
        cmocka_unit_test(the_smallest_shapes_train),
        cmocka_unit_test(unseen_rows_start_at_zero_and_others_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
