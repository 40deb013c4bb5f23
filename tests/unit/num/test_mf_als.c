/* Tests of src/num/mf.c: least squares, explicit and implicit. */
#include "mf_world.h"

static const uint32_t LANES[] = {1, 8, 16};
static const uint32_t RANKS[] = {1, 2, 16, 17, 32, 40, 100};
enum { LANE_KINDS = 3, RANK_KINDS = 7, PARTS = 3 };

/* Both halves of alternating least squares on one set of ratings. */
struct world {
    const struct num_mf_ops *ops;
    struct num_mf_plan *plan;
    struct mf_model model;
    void **by_user, **by_item;
    float *gram, *work;
    float l2, alpha;
    bool implicit;
    uint32_t users, items; /* slots */
};

static void world_init(struct world *w, uint32_t lanes, uint32_t rank, size_t count, bool implicit)
{
    struct mf_truth truth = {60, 40, 2, 0.3};
    struct num_mf_shape shape = {60, 40, PARTS, PARTS, !implicit, true};
    struct num_rating *rating = mf_ratings(&truth, count, 4);

    *w = (struct world){.ops = num_mf_ops_find(lanes), .l2 = 0.1F, .alpha = 2};
    w->implicit = implicit;
    for (size_t x = 0; implicit && x < count; x++)
        rating[x].value = fabsf(rating[x].value);
    assert_int_equal(num_mf_plan_new(&base_alloc_libc, &shape, rating, count, &w->plan, NULL),
                     SHOAL_OK);
    w->by_user = mf_blocks(w->plan, NUM_MF_USERS, rating, count);
    w->by_item = mf_blocks(w->plan, NUM_MF_ITEMS, rating, count);
    mf_model_init(&w->model, w->plan, rank);
    size_t stride = w->model.stride;
    w->gram = mf_floats(stride * stride);
    w->work = mf_floats(num_mf_als_work((uint32_t)stride) / sizeof(float));
    w->users = w->plan->user_slots * PARTS;
    w->items = w->plan->item_slots * PARTS;
    free(rating);
}

static void world_fini(struct world *w)
{
    mf_blocks_free(w->plan, w->by_user);
    mf_blocks_free(w->plan, w->by_item);
    mf_model_fini(&w->model);
    num_mf_plan_free(w->plan);
    free(w->gram);
    free(w->work);
}

static void gram_of(struct world *w, const float *row, uint32_t rows)
{
    uint32_t stride = w->model.stride;

    memset(w->gram, 0, (size_t)stride * stride * sizeof(float));
    w->ops->gram(row, rows / 2, stride, w->gram); /* sums of parts */
    w->ops->gram(row + (size_t)(rows / 2) * stride, rows - rows / 2, stride, w->gram);
}

static void half_step(struct world *w, void **data, float *row, const float *column,
                      uint32_t columns)
{
    if (w->implicit)
        gram_of(w, column, columns);
    for (uint32_t e = 0; e < PARTS; e++) {
        struct num_mf_block block = num_mf_block(data[e], 0);
        struct num_mf_als als = {w->model.stride, w->l2,
                                 w->alpha,        w->implicit ? w->gram : NULL,
                                 column,          row + (size_t)e * block.rows * w->model.stride,
                                 w->work};
        w->ops->als(&block, &als);
    }
}

static void users_step(struct world *w)
{
    half_step(w, w->by_user, w->model.user, w->model.item, w->items);
}

static void items_step(struct world *w)
{
    half_step(w, w->by_item, w->model.item, w->model.user, w->users);
}

static double dot(const float *p, const float *q, uint32_t stride)
{
    double sum = 0;

    for (uint32_t k = 0; k < stride; k++)
        sum += (double)p[k] * (double)q[k];
    return sum;
}

/* Half the gradient of a row's loss, in doubles and by the definition: implicit goes through all
 * columns. Returns its length relative to that of its terms. */
static double gradient(const struct world *w, const struct num_mf_block *block, uint32_t r,
                       const float *p, const float *column, uint32_t columns)
{
    uint32_t stride = w->model.stride, count = block->start[r + 1] - block->start[r];
    double g[112] = {0}, size = 0, sum = 0;

    for (uint32_t c = 0; w->implicit && c < columns; c++) {
        const float *q = column + (size_t)c * stride;
        for (uint32_t k = 0; k < stride; k++)
            g[k] += dot(p, q, stride) * (double)q[k];
    }
    for (uint32_t at = block->start[r]; at < block->start[r + 1]; at++) {
        const float *q = column + (size_t)block->entry[at].column * stride;
        double s = dot(p, q, stride), value = (double)block->entry[at].value;
        double more = (double)w->alpha * value;
        double z = w->implicit ? more * s - (1 + more) : s - value;
        for (uint32_t k = 0; k < stride; k++) {
            g[k] += z * (double)q[k];
            size += fabs(z * (double)q[k]);
        }
    }
    for (uint32_t k = 0; k < stride; k++) {
        g[k] += (double)w->l2 * (w->implicit ? 1 : count) * (double)p[k];
        sum += fabs(g[k]);
    }
    return size > 0 ? sum / size : sum;
}

static void check_minimum(uint32_t lanes, uint32_t rank, bool implicit)
{
    struct world w;
    world_init(&w, lanes, rank, 1500, implicit);
    uint32_t stride = w.model.stride;

    users_step(&w);
    for (uint32_t e = 0; e < PARTS; e++) {
        struct num_mf_block block = num_mf_block(w.by_user[e], 0);
        for (uint32_t r = 0; r < block.rows; r++) {
            const float *p = w.model.user + (size_t)(e * block.rows + r) * stride;
            assert_true(gradient(&w, &block, r, p, w.model.item, w.items) < 1e-4);
            for (uint32_t k = rank; k < stride; k++)
                assert_true(p[k] == 0);
        }
    }
    world_fini(&w);
}

static void a_row_becomes_the_minimiser_of_its_loss(void **state)
{
    (void)state;
    for (uint32_t l = 0; l < LANE_KINDS; l++)
        for (uint32_t n = 0; n < RANK_KINDS; n++) {
            check_minimum(LANES[l], RANKS[n], false);
            check_minimum(LANES[l], RANKS[n], true);
        }
}

static double squares(const float *row, const uint32_t *count, uint32_t rows, uint32_t stride)
{
    double sum = 0;

    for (uint32_t r = 0; r < rows; r++)
        sum += (count == NULL ? 1 : count[r]) *
               dot(row + (size_t)r * stride, row + (size_t)r * stride, stride);
    return sum;
}

static double loss(struct world *w)
{
    uint32_t stride = w->model.stride;
    const struct num_mf_plan *plan = w->plan;
    double sum = (double)w->l2 *
                 (squares(w->model.user, w->implicit ? NULL : plan->user_count, w->users, stride) +
                  squares(w->model.item, w->implicit ? NULL : plan->item_count, w->items, stride));

    if (w->implicit)
        gram_of(w, w->model.item, w->items);
    for (uint32_t e = 0; e < PARTS; e++) {
        struct num_mf_block block = num_mf_block(w->by_user[e], 0);
        const float *row = w->model.user + (size_t)e * block.rows * stride;
        sum += w->implicit
                   ? num_mf_implicit_loss(&block, stride, w->alpha, w->gram, row, w->model.item)
                   : w->ops->error(&block, stride, row, w->model.item);
    }
    return sum;
}

static void the_loss_never_rises(void **state)
{
    (void)state;
    for (uint32_t l = 0; l < LANE_KINDS; l++)
        for (int implicit = 0; implicit <= 1; implicit++) {
            struct world w;
            world_init(&w, LANES[l], 5, 1500, implicit);
            double first = loss(&w), last = first;
            for (int step = 0; step < 16; step++) {
                if (step % 2 == 0)
                    users_step(&w);
                else
                    items_step(&w);
                double now = loss(&w);
                assert_true(now <= last * (1 + 1e-6)); /* single precision */
                last = now;
            }
            assert_true(last < 0.8 * first);
            world_fini(&w);
        }
}

/* The loss through the Gram matrix is the one by the definition, over all users and items. */
static void implicit_loss_counts_what_was_not_rated(void **state)
{
    struct world w;
    double want = 0;

    (void)state;
    world_init(&w, 16, 5, 600, true);
    users_step(&w);
    uint32_t stride = w.model.stride;
    for (uint32_t u = 0; u < w.users; u++)
        for (uint32_t i = 0; i < w.items; i++) {
            double s = dot(w.model.user + u * stride, w.model.item + i * stride, stride);
            want += s * s;
        }
    for (uint32_t e = 0; e < PARTS; e++) {
        struct num_mf_block block = num_mf_block(w.by_user[e], 0);
        for (uint32_t r = 0; r < block.rows; r++)
            for (uint32_t at = block.start[r]; at < block.start[r + 1]; at++) {
                double s = dot(w.model.user + (e * block.rows + r) * stride,
                               w.model.item + block.entry[at].column * stride, stride);
                double c = 1 + 2 * (double)block.entry[at].value;
                want += c * (1 - s) * (1 - s) - s * s;
            }
    }
    w.l2 = 0;
    assert_true(fabs(loss(&w) - want) < 1e-4 * want);
    world_fini(&w);
}

static void twins_agree(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < RANK_KINDS; n++)
        for (int implicit = 0; implicit <= 1; implicit++) {
            struct world plain, fast;
            for (uint32_t l = 1; l < LANE_KINDS; l++) {
                world_init(&plain, 1, RANKS[n], 1500, implicit);
                world_init(&fast, LANES[l], RANKS[n], 1500, implicit);
                users_step(&plain);
                users_step(&fast);
                /* Equations of condition 1e3 or so, solved in single precision. */
                for (uint32_t x = 0; x < plain.users * plain.model.stride; x++)
                    assert_true(fabsf(plain.model.user[x] - fast.model.user[x]) < 1e-3F);
                world_fini(&plain);
                world_fini(&fast);
            }
        }
}

/* Also without a penalty and with fewer ratings than unknowns, where the equations are singular. */
static void too_few_ratings_give_finite_rows(void **state)
{
    (void)state;
    for (uint32_t l = 0; l < LANE_KINDS; l++) {
        struct world w;
        world_init(&w, LANES[l], 32, 90, false);
        w.l2 = 0;
        users_step(&w);
        for (uint32_t x = 0; x < w.users * w.model.stride; x++)
            assert_true(isfinite(w.model.user[x]));
        for (uint32_t u = 0; u < w.users; u++) /* rows without a rating are 0 */
            if (w.plan->user_count[u] == 0)
                assert_true(w.model.user[u * w.model.stride] == 0);
        world_fini(&w);
    }
}

static void an_empty_block_changes_nothing_else(void **state)
{
    uint32_t start[1] = {0};
    struct num_mf_block block = {0, start, NULL};
    float *work = mf_floats(num_mf_als_work(16) / sizeof(float)), *row = mf_floats(16);

    (void)state;
    row[0] = 5;
    for (uint32_t l = 0; l < LANE_KINDS; l++) {
        const struct num_mf_ops *ops = num_mf_ops_find(LANES[l]);
        ops->als(&block, &(struct num_mf_als){16, 0.1F, 0, NULL, row, row, work});
        assert_true(
            ops->sgd(&block, &(struct num_mf_sgd){16, 0.1F, 0.1F, NULL, NULL, row, row, row}) == 0);
        assert_true(ops->error(&block, 16, row, row) == 0);
    }
    assert_true(row[0] == 5);
    free(work);
    free(row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_becomes_the_minimiser_of_its_loss),
        cmocka_unit_test(the_loss_never_rises),
        cmocka_unit_test(implicit_loss_counts_what_was_not_rated),
        cmocka_unit_test(twins_agree),
        cmocka_unit_test(too_few_ratings_give_finite_rows),
        cmocka_unit_test(an_empty_block_changes_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
