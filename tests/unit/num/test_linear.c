/* Tests of src/num/linear.c: each pass by itself. */
#include "property.h"
#include "torture.h"

#include "linear_world.h"
#include <math.h>
#include <stdio.h>

static struct world world;
static const enum num_linear_loss LOSSES[] = {NUM_LINEAR_LOGISTIC, NUM_LINEAR_HINGE,
                                              NUM_LINEAR_SQUARED_HINGE, NUM_LINEAR_SOFTMAX};
static const uint32_t TWINS[] = {1, 8, 16};

enum { SIZE_MAX_ = COLUMNS_MAX * LANES_MAX };

static void draw(struct base_rand *rand, enum num_linear_loss loss)
{
    static const uint32_t lanes[] = {1, 2, 7, 16, 20, 37};
    uint32_t least = loss == NUM_LINEAR_SOFTMAX ? 1 : 0;
    double fill = base_rand_below(rand, 3) == 0 ? 1 : base_rand_unit(rand); /* rows that are runs */

    world_make(&world, rand, 1 + base_rand_below(rand, 100),
               1 + (uint32_t)base_rand_below(rand, COLUMNS_MAX),
               lanes[least + base_rand_below(rand, 6 - least)], fill,
               base_rand_below(rand, 3) == 0);
    world.p.loss = loss;
}

static size_t size_of_w(void)
{
    return (size_t)world.p.x.columns * world.p.lanes;
}

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance * (1 + fabs(a) + fabs(b))))
        fail_msg("%.9g is not near %.9g", a, b);
}

static void the_gradient_is_the_finite_difference_of_the_loss(void **state)
{
    static float w[SIZE_MAX_], g[SIZE_MAX_];
    static double v[SIZE_MAX_];
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "linear");
    for (int n = 0; n < property_count(24); n++) {
        draw(&rand, LOSSES[n % 4]);
        world_weights(&rand, size_of_w(), w);
        memset(g, 0, sizeof g);
        struct num_linear_slope out = {.gradient = g, .work = world.work};
        double loss = num_linear_ops_find(16)->gradient(&world.p, w, &out), squares = 0;
        for (size_t i = 0; i < size_of_w(); i++) {
            v[i] = (double)w[i];
            squares += 0.5 * v[i] * v[i];
        }
        double plain = num_linear_objective_reference(&world.p, NUM_LINEAR_SQUARES, v);
        assert_near(loss + squares, plain, 1e-5);
        for (size_t i = 0; i < size_of_w(); i += 1 + size_of_w() / 20) {
            const double h = 1e-6; /* small: the hinge has kinks */
            v[i] = (double)w[i] + h;
            double up = num_linear_objective_reference(&world.p, NUM_LINEAR_SQUARES, v);
            v[i] = (double)w[i] - h;
            double down = num_linear_objective_reference(&world.p, NUM_LINEAR_SQUARES, v);
            v[i] = (double)w[i];
            assert_near((double)g[i] + v[i], (up - down) / (2 * h), 1e-4);
        }
    }
}

static void the_hessian_times_v_is_the_difference_of_gradients(void **state)
{
    static float w[SIZE_MAX_], v[SIZE_MAX_], at[SIZE_MAX_], up[SIZE_MAX_], down[SIZE_MAX_],
        hv[SIZE_MAX_], curve[ROWS_MAX * LANES_MAX];
    const struct num_linear_ops *ops = num_linear_ops_find(16);
    const float h = 0.01f; /* errors h^2 of the difference and float rounding / h are alike */
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 2, "linear");
    for (int n = 0; n < property_count(20); n++) {
        draw(&rand, n % 2 == 0 ? NUM_LINEAR_LOGISTIC : NUM_LINEAR_SOFTMAX);
        size_t size = size_of_w();
        world_weights(&rand, size, w);
        world_weights(&rand, size, v);
        memset(up, 0, sizeof up);
        memset(down, 0, sizeof down);
        memset(hv, 0, sizeof hv);
        for (int side = -1; side <= 1; side++) {
            struct num_linear_slope out = {.gradient = side < 0   ? down
                                                       : side > 0 ? up
                                                                  : NULL,
                                           .curve = side == 0 ? curve : NULL,
                                           .work = world.work};
            for (size_t i = 0; i < size; i++)
                at[i] = w[i] + (float)side * h * v[i];
            ops->gradient(&world.p, at, &out);
        }
        ops->hessian(&world.p, curve, v, world.work, hv);
        for (size_t i = 0; i < size; i++)
            assert_near((double)hv[i], (double)(up[i] - down[i]) / (2 * (double)h), 3e-3);
    }
}

static void gram_and_diagonal_are_the_hessian(void **state)
{
    static float w[SIZE_MAX_], v[SIZE_MAX_], hv[SIZE_MAX_], diagonal[SIZE_MAX_],
        gram[COLUMNS_MAX * COLUMNS_MAX], curve[ROWS_MAX * LANES_MAX];
    const struct num_linear_ops *ops = num_linear_ops_find(16);
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 3, "linear");
    for (int n = 0; n < property_count(24); n++) {
        draw(&rand, LOSSES[n % 4]);
        size_t size = size_of_w(), d = world.p.x.columns;
        world_weights(&rand, size, w);
        struct num_linear_slope out = {.curve = curve, .work = world.work};
        ops->gradient(&world.p, w, &out);
        memset(diagonal, 0, sizeof diagonal);
        memset(gram, 0, sizeof gram);
        ops->diagonal(&world.p, curve, world.work, diagonal);
        if (world.p.lanes == 1)
            ops->gram(&world.p, curve, gram);
        for (size_t i = 0; i < size; i++) {
            memset(v, 0, sizeof v);
            memset(hv, 0, sizeof hv);
            v[i] = 1;
            ops->hessian(&world.p, curve, v, world.work, hv);
            assert_near((double)hv[i], (double)diagonal[i], 1e-5);
            for (size_t k = 0; world.p.lanes == 1 && k <= i; k++)
                assert_near((double)hv[k], (double)gram[i * d + k], 1e-5);
        }
    }
}

static void parts_of_the_rows_add_up_and_factors_make_the_gradient(void **state)
{
    static float w[SIZE_MAX_], whole[SIZE_MAX_], parts[SIZE_MAX_], made[SIZE_MAX_],
        factor[ROWS_MAX * LANES_MAX];
    const struct num_linear_ops *ops = num_linear_ops_find(16);
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 4, "linear");
    for (int n = 0; n < property_count(24); n++) {
        draw(&rand, LOSSES[n % 4]);
        uint64_t cut = base_rand_below(&rand, world.p.x.rows + 1);
        world_weights(&rand, size_of_w(), w);
        memset(whole, 0, sizeof whole);
        memset(parts, 0, sizeof parts);
        memset(made, 0, sizeof made);
        struct num_linear_slope out = {.gradient = whole, .factor = factor, .work = world.work};
        double loss = ops->gradient(&world.p, w, &out);
        out = (struct num_linear_slope){.gradient = parts, .work = world.work};
        struct num_linear first = world.p, second = world.p;
        first.x.rows = cut;
        second.x.rows -= cut;
        second.x.start += cut;
        second.label += cut;
        double sum = ops->gradient(&first, w, &out) + ops->gradient(&second, w, &out);
        assert_near(loss, sum, 1e-5);
        for (uint64_t i = 0; i < world.p.x.rows; i++)
            for (uint64_t e = world.start[i]; e < world.start[i + 1]; e++)
                for (uint32_t k = 0; k < world.p.lanes; k++)
                    made[world.index[e] * world.p.lanes + k] +=
                        factor[i * world.p.lanes + k] * (world.p.x.value ? world.value[e] : 1.0f);
        for (size_t i = 0; i < size_of_w(); i++) {
            assert_near((double)whole[i], (double)parts[i], 1e-4);
            assert_near((double)whole[i], (double)made[i], 1e-4);
        }
    }
}

/* ---- the smoothed hinge ---- */

static float center[ROWS_MAX * LANES_MAX];

static void draw_smooth(struct base_rand *rand)
{
    draw(rand, NUM_LINEAR_HINGE);
    world.p.smooth = (float)exp(2 * base_rand_normal(rand, 0, 1));
    for (size_t i = 0; i < ROWS_MAX * LANES_MAX; i++) /* many at the ends, as they come to be */
        center[i] = (float)fmin(fmax(2 * base_rand_unit(rand) - 0.5, 0), 1);
}

/* cost x losses at w + t v, by the definition: the most over a of
 * a (1 - m) - smooth (a - center)^2 / 2. */
static double smooth_loss(const float *w, const float *v, double t)
{
    double total = 0, smooth = (double)world.p.smooth;
    uint32_t lanes = world.p.lanes;

    for (uint64_t i = 0; i < world.p.x.rows; i++)
        for (uint32_t k = 0; k < lanes; k++) {
            double z = 0;
            for (uint64_t e = world.start[i]; e < world.start[i + 1]; e++) {
                size_t at = world.index[e] * lanes + k;
                z += ((double)w[at] + t * (double)v[at]) *
                     (world.p.x.value != NULL ? (double)world.value[e] : 1);
            }
            double over = 1 - (world.label[i] == k ? z : -z);
            double about = (double)center[i * lanes + k];
            double a = fmin(fmax(over / smooth + about, 0), 1);
            total += (double)world.p.cost * (a * over - smooth * (a - about) * (a - about) / 2);
        }
    return total;
}

static void a_smoothed_hinge_is_what_its_definition_says(void **state)
{
    static float w[SIZE_MAX_], v[SIZE_MAX_], g[SIZE_MAX_], moved[SIZE_MAX_];
    static float margin[ROWS_MAX * LANES_MAX], step[ROWS_MAX * LANES_MAX];
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 7, "linear");
    for (int n = 0; n < property_count(24); n++) {
        draw_smooth(&rand);
        const double h = 1e-6;
        double line[NUM_LINEAR_STEPS] = {0}, along = 0;
        world_weights(&rand, size_of_w(), w);
        world_weights(&rand, size_of_w(), v);
        memset(g, 0, sizeof g);
        struct num_linear_slope out = {
            .gradient = g, .margin = margin, .center = center, .work = world.work};
        double loss = num_linear_ops_find(16)->gradient(&world.p, w, &out);
        assert_near(loss, smooth_loss(w, v, 0), 1e-5);
        for (size_t i = 0; i < size_of_w(); i++)
            along += (double)g[i] * (double)v[i];
        assert_near(along, (smooth_loss(w, v, h) - smooth_loss(w, v, -h)) / (2 * h), 1e-3);
        num_linear_ops_find(16)->line(&world.p, margin, center, v, world.work, step, line);
        for (int i = 0; i < NUM_LINEAR_STEPS; i++) {
            double t = (double)num_linear_step[i];
            double slope = (smooth_loss(w, v, t + h) - smooth_loss(w, v, t - h)) / (2 * h);
            assert_near(line[i], slope, 1e-3);
            assert_true(i == 0 || num_linear_step[i] < num_linear_step[i - 1]);
        }
        for (size_t i = 0; i < size_of_w(); i++)
            v[i] = w[i] + 0.7f * v[i];
        memset(g, 0, sizeof g);
        out = (struct num_linear_slope){.gradient = g,
                                        .margin = margin,
                                        .center = center,
                                        .along = step,
                                        .moved = 0.7f,
                                        .work = world.work};
        loss = num_linear_ops_find(16)->gradient(&world.p, w, &out);
        memset(moved, 0, sizeof moved);
        out = (struct num_linear_slope){.gradient = moved, .center = center, .work = world.work};
        assert_near(loss, num_linear_ops_find(16)->gradient(&world.p, v, &out), 1e-5);
        for (size_t i = 0; i < size_of_w(); i++)
            assert_near((double)g[i], (double)moved[i], 1e-3);
    }
}

static void slopes_of_a_smoothed_hinge_bound_the_minimum_of_the_sharp_one(void **state)
{
    static float w[SIZE_MAX_], g[SIZE_MAX_];
    static double at[SIZE_MAX_], exact[SIZE_MAX_];
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 8, "linear");
    for (int n = 0; n < property_count(24); n++) {
        draw_smooth(&rand);
        double square = 0, half = 0, least = 0;
        world_weights(&rand, size_of_w(), w);
        memset(g, 0, sizeof g);
        struct num_linear_slope out = {.gradient = g, .center = center, .work = world.work};
        if (n % 2 > 0)
            out.recentre = 1;
        num_linear_ops_find(16)->gradient(&world.p, w, &out);
        for (size_t i = 0; i < size_of_w(); i++) {
            square += (double)g[i] * (double)g[i];
            half += 0.5 * (double)w[i] * (double)w[i];
            at[i] = (double)w[i];
        }
        world.p.smooth = 0;
        assert_near(out.sharp + half,
                    num_linear_objective_reference(&world.p, NUM_LINEAR_SQUARES, at), 1e-5);
        assert_int_equal(num_linear_solve_reference(&base_alloc_libc, &world.p, NUM_LINEAR_SQUARES,
                                                    300, exact, &least),
                         SHOAL_OK);
        assert_true(out.dual - square / 2 <= least + 1e-4 * (1 + least));
    }
}

/* The dual variables are cost x the new centers, so the gradient is that of the sum of a (1 - m). */
static void a_center_is_renewed_by_what_was_the_dual_variable(void **state)
{
    static float w[SIZE_MAX_], margin[ROWS_MAX * LANES_MAX], before[ROWS_MAX * LANES_MAX];
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 9, "linear");
    for (int n = 0; n < property_count(24); n++) {
        draw_smooth(&rand);
        float wide = world.p.smooth;
        world_weights(&rand, size_of_w(), w);
        memcpy(before, center, sizeof before);
        struct num_linear_slope out = {.margin = margin, .center = center, .work = world.work};
        num_linear_ops_find(16)->gradient(&world.p, w, &out);
        assert_memory_equal(before, center, sizeof before);
        out.recentre = wide;
        world.p.smooth = wide / 2;
        num_linear_ops_find(16)->gradient(&world.p, w, &out);
        for (size_t i = 0; i < world.p.x.rows * world.p.lanes; i++) {
            double a = (double)before[i] + (1 - (double)margin[i]) / (double)wide;
            assert_near((double)center[i], fmin(fmax(a, 0), 1), 1e-4);
        }
    }
}

/* ---- twins ---- */

struct findings {
    double value[4], line[NUM_LINEAR_STEPS];
    float a[SIZE_MAX_], b[SIZE_MAX_], c[ROWS_MAX * LANES_MAX], d[SIZE_MAX_];
};

static struct findings findings[3];

static void run_twin(const struct num_linear_ops *ops, const float *w, struct findings *f)
{
    static uint8_t rest[ROWS_MAX];
    static float norm[ROWS_MAX], alpha[ROWS_MAX * LANES_MAX], curve[ROWS_MAX * LANES_MAX];
    uint32_t order[ROWS_MAX], map[COLUMNS_MAX];
    size_t size = size_of_w();

    memset(f, 0, sizeof *f);
    memset(rest, 0, sizeof rest);
    memset(alpha, 0, sizeof alpha);
    for (uint32_t i = 0; i < ROWS_MAX; i++)
        order[i] = i;
    for (uint32_t j = 0; j < world.p.x.columns; j++)
        map[j] = world.p.x.columns - 1 - j;
    static float margin[ROWS_MAX * LANES_MAX], along[ROWS_MAX * LANES_MAX];
    struct num_linear_slope out = {
        .gradient = f->a, .curve = curve, .margin = margin, .center = center, .work = world.work};
    for (size_t i = 0; i < ROWS_MAX * LANES_MAX; i++)
        center[i] = (float)(i % 5) / 4;
    f->value[0] = ops->gradient(&world.p, w, &out);
    ops->hessian(&world.p, curve, w, world.work, f->b);
    if (world.p.smooth > 0)
        ops->line(&world.p, margin, center, w, world.work, along, f->line);
    f->value[3] = out.sharp + out.dual;
    num_linear_norms(&world.p.x, norm);
    memcpy(f->d, w, size * sizeof *w);
    if (world.p.loss != NUM_LINEAR_SOFTMAX) {
        struct num_linear_dual dual = {norm, alpha, rest, order, world.p.x.rows, 1.5f, world.work};
        f->value[1] = ops->dual(&world.p, &dual, f->d, &f->value[2]);
        memcpy(f->c, alpha, sizeof alpha);
    } else {
        struct num_linear_sgd sgd = {order, world.p.x.rows, 0.1, 0.01, world.work};
        ops->sgd(&world.p, &sgd, f->d);
    }
    static float copy[SIZE_MAX_], base[SIZE_MAX_];
    ops->take(map, world.p.x.columns, world.p.lanes, f->d, copy, base);
    for (size_t i = 0; i < size; i++)
        copy[i] *= 3;
    ops->change(size, copy, 2, base);
    for (uint32_t j = 0; j < world.p.x.columns; j++)
        for (uint32_t k = 0; k < world.p.lanes; k++)
            assert_near((double)base[j * world.p.lanes + k],
                        (double)f->d[map[j] * world.p.lanes + k], 1e-6);
}

static void twins_agree_to_rounding(void **state)
{
    static float w[SIZE_MAX_];
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 5, "linear");
    for (int n = 0; n < property_count(60); n++) {
        draw(&rand, LOSSES[n % 4]);
        world.p.smooth = n % 8 < 4 ? 0 : 2;
        world_weights(&rand, size_of_w(), w);
        for (int t = 0; t < 3; t++)
            run_twin(num_linear_ops_find(TWINS[t]), w, &findings[t]);
        for (int t = 1; t < 3; t++) {
            const struct findings *f = &findings[t], *plain = &findings[0];
            for (int i = 0; i < 4; i++)
                assert_near(f->value[i], plain->value[i], 1e-4);
            for (int i = 0; i < NUM_LINEAR_STEPS; i++)
                assert_near(f->line[i], plain->line[i], 1e-4);
            for (size_t i = 0; i < size_of_w(); i++) {
                assert_near((double)f->a[i], (double)plain->a[i], 1e-4);
                assert_near((double)f->b[i], (double)plain->b[i], 1e-4);
                assert_near((double)f->d[i], (double)plain->d[i], 1e-3);
            }
            for (size_t i = 0; i < world.p.x.rows * world.p.lanes; i++)
                assert_near((double)f->c[i], (double)plain->c[i], 1e-3);
        }
    }
}

/* ---- order ---- */

static void a_row_rests_at_most_eight_passes_and_one_that_moves_never(void **state)
{
    uint8_t rest[ROWS_MAX];
    uint32_t order[ROWS_MAX], last[ROWS_MAX] = {0};
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 6, "linear");
    for (uint32_t i = 0; i < ROWS_MAX; i++)
        rest[i] = (uint8_t)(i % 9);
    for (uint32_t pass = 1; pass <= 40; pass++) {
        uint64_t count = num_linear_order(&rand, rest, ROWS_MAX, pass, order);
        for (uint64_t n = 0; n < count; n++) {
            assert_true(last[order[n]] < pass); /* once a pass */
            last[order[n]] = pass;
        }
        for (uint32_t i = 0; i < ROWS_MAX; i++)
            assert_true(pass - last[i] < (rest[i] < 2 ? 1 : NUM_LINEAR_REST));
    }
}

static void shapes_choose_their_way(void **state)
{
    struct num_csr tall = {.rows = 32561, .columns = 123}, wide = {.rows = 11290, .columns = 33896},
                   large = {.rows = 1000000, .columns = 100000};

    (void)state;
    assert_int_equal(num_linear_choose(&tall, 451592, 1, NUM_LINEAR_LOGISTIC, NUM_LINEAR_SQUARES),
                     NUM_LINEAR_GRAM);
    assert_int_equal(num_linear_choose(&wide, 989665, 20, NUM_LINEAR_LOGISTIC, NUM_LINEAR_SQUARES),
                     NUM_LINEAR_DUAL);
    assert_int_equal(num_linear_choose(&wide, 989665, 20, NUM_LINEAR_SOFTMAX, NUM_LINEAR_SQUARES),
                     NUM_LINEAR_NEWTON);
    assert_int_equal(
        num_linear_choose(&large, 36478036, 1, NUM_LINEAR_SQUARED_HINGE, NUM_LINEAR_SQUARES),
        NUM_LINEAR_NEWTON);
    assert_int_equal(num_linear_choose(&large, 36478036, 1, NUM_LINEAR_HINGE, NUM_LINEAR_SQUARES),
                     NUM_LINEAR_NEWTON);
    assert_int_equal(num_linear_choose(&tall, 451592, 1, NUM_LINEAR_HINGE, NUM_LINEAR_SQUARES),
                     NUM_LINEAR_GRAM);
    assert_int_equal(num_linear_choose(&wide, 989665, 20, NUM_LINEAR_HINGE, NUM_LINEAR_SQUARES),
                     NUM_LINEAR_DUAL);
    assert_int_equal(num_linear_choose(&tall, 451592, 3, NUM_LINEAR_HINGE, NUM_LINEAR_SQUARES),
                     NUM_LINEAR_NEWTON);
    assert_int_equal(num_linear_choose(&tall, 451592, 1, NUM_LINEAR_LOGISTIC, NUM_LINEAR_ABSOLUTE),
                     NUM_LINEAR_GRAM);
    assert_int_equal(num_linear_choose(&tall, 451592, 3, NUM_LINEAR_LOGISTIC, NUM_LINEAR_ABSOLUTE),
                     NUM_LINEAR_LASSO);
    assert_int_equal(
        num_linear_choose(&large, 36478036, 1, NUM_LINEAR_LOGISTIC, NUM_LINEAR_ABSOLUTE),
        NUM_LINEAR_LASSO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gradient_is_the_finite_difference_of_the_loss),
        cmocka_unit_test(the_hessian_times_v_is_the_difference_of_gradients),
        cmocka_unit_test(gram_and_diagonal_are_the_hessian),
        cmocka_unit_test(parts_of_the_rows_add_up_and_factors_make_the_gradient),
        cmocka_unit_test(a_smoothed_hinge_is_what_its_definition_says),
        cmocka_unit_test(a_center_is_renewed_by_what_was_the_dual_variable),
        cmocka_unit_test(slopes_of_a_smoothed_hinge_bound_the_minimum_of_the_sharp_one),
        cmocka_unit_test(twins_agree_to_rounding),
        cmocka_unit_test(a_row_rests_at_most_eight_passes_and_one_that_moves_never),
        cmocka_unit_test(shapes_choose_their_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
