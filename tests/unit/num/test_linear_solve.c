/* Tests of src/num/linear.c: passes put together reach the minimum of linear_reference.c. */
#include "property.h"
#include "torture.h"

#include "linear_world.h"
#include <math.h>

enum { W_MAX = COLUMNS_MAX * LANES_MAX };

static struct world world;
static float w[W_MAX], z[ROWS_MAX * LANES_MAX];
static float alpha[ROWS_MAX * LANES_MAX], norm[ROWS_MAX];
static uint8_t rest[ROWS_MAX];
static uint32_t order[ROWS_MAX];
static double exact[W_MAX];

static double objective(enum num_linear_penalty penalty)
{
    static double at[W_MAX];

    for (size_t i = 0; i < W_MAX; i++)
        at[i] = (double)w[i];
    return num_linear_objective_reference(&world.p, penalty, at);
}

static double least(enum num_linear_penalty penalty, uint32_t rounds)
{
    double f = 0;

    assert_int_equal(
        num_linear_solve_reference(&base_alloc_libc, &world.p, penalty, rounds, exact, &f),
        SHOAL_OK);
    return f;
}

/* Of alpha: sum of -conjugate(-alpha), less half the square of the w they make. */
static double dual_objective(void)
{
    static double made[W_MAX];
    double sum = 0, cost = (double)world.p.cost;

    memset(made, 0, sizeof made);
    for (uint64_t i = 0; i < world.p.x.rows; i++) {
        for (uint32_t k = 0; k < world.p.lanes; k++) {
            double a = (double)alpha[i * world.p.lanes + k], b = cost - a;
            double y = world.label[i] == k ? 1 : -1;
            if (world.p.loss == NUM_LINEAR_LOGISTIC)
                sum -= (a > 0 ? a * log(a / cost) : 0) + (b > 0 ? b * log(b / cost) : 0);
            else
                sum += world.p.loss == NUM_LINEAR_HINGE ? a : a - a * a / (4 * cost);
            for (uint64_t e = world.start[i]; e < world.start[i + 1]; e++)
                made[world.index[e] * world.p.lanes + k] +=
                    y * a * (world.p.x.value != NULL ? (double)world.value[e] : 1);
        }
    }
    for (size_t i = 0; i < W_MAX; i++)
        sum -= 0.5 * made[i] * made[i];
    return sum;
}

static void begin_dual(void)
{
    memset(w, 0, sizeof w);
    memset(alpha, 0, sizeof alpha);
    memset(rest, 0, sizeof rest);
    num_linear_norms(&world.p.x, norm);
}

static double dual_pass(struct base_rand *rand, uint64_t pass)
{
    double loss;
    struct num_linear_dual dual = {norm, alpha, rest, order, 0, 1, world.work};

    dual.count = num_linear_order(rand, rest, world.p.x.rows, pass, order);
    return num_linear_ops_find(16)->dual(&world.p, &dual, w, &loss);
}

static void dual_ascent_rises_and_its_gap_closes(void **state)
{
    static const uint32_t lanes[] = {1, 3, 20};
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "linear.solve");
    for (int n = 0; n < property_count(9); n++) {
        world_make(&world, &rand, 60, 20, lanes[n / 3 % 3], 0.3, n % 2 == 0);
        world.p.loss = (enum num_linear_loss)(n % 3);
        begin_dual();
        double last = -INFINITY, first = objective(NUM_LINEAR_SQUARES);
        for (uint64_t pass = 0; pass < 600; pass++) {
            dual_pass(&rand, pass);
            double now = dual_objective();
            assert_true(now >= last - 1e-5 * first); /* float rounding of alpha and w */
            last = now;
        }
        double primal = objective(NUM_LINEAR_SQUARES);
        assert_true(primal - last <= 1e-3 * primal);
        double best = least(NUM_LINEAR_SQUARES, 3000);
        assert_true(primal <= best * (1 + 1e-3) + 1e-6);
    }
}

static void two_passes_at_once_with_spread_two_still_rise(void **state)
{
    static float copy[2][W_MAX], base[2][W_MAX];
    const struct num_linear_ops *ops = num_linear_ops_find(16);
    uint32_t map[COLUMNS_MAX];
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 2, "linear.solve");
    for (uint32_t j = 0; j < COLUMNS_MAX; j++)
        map[j] = j;
    world_make(&world, &rand, 100, 10, 1, 0.5, true); /* all rows pull at the same columns */
    world.p.loss = NUM_LINEAR_SQUARED_HINGE;
    begin_dual();
    double last = -INFINITY, first = objective(NUM_LINEAR_SQUARES), loss;
    for (int pass = 0; pass < 300; pass++) {
        for (uint32_t half = 0; half < 2; half++) {
            for (uint32_t i = 0; i < 50; i++)
                order[i] = half * 50 + i;
            struct num_linear_dual dual = {norm, alpha, rest, order, 50, 2, world.work};
            ops->take(map, world.p.x.columns, 1, w, copy[half], base[half]);
            ops->dual(&world.p, &dual, copy[half], &loss);
            ops->change(world.p.x.columns, copy[half], 2, base[half]);
        }
        for (uint32_t j = 0; j < world.p.x.columns; j++)
            w[j] += base[0][j] + base[1][j];
        double now = dual_objective();
        assert_true(now >= last - 1e-5 * first);
        last = now;
    }
    assert_true(objective(NUM_LINEAR_SQUARES) <= least(NUM_LINEAR_SQUARES, 3000) * (1 + 1e-3));
}

/* ---- Newton ---- */

static double dot(const float *a, const float *b, size_t size)
{
    double sum = 0;

    for (size_t i = 0; i < size; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static double slope_at(const float *at, float *g, float *curve)
{
    size_t size = (size_t)world.p.x.columns * world.p.lanes;
    struct num_linear_slope out = {.gradient = g, .curve = curve, .work = world.work};

    memset(g, 0, W_MAX * sizeof *g);
    double f = num_linear_ops_find(16)->gradient(&world.p, at, &out);
    for (size_t i = 0; i < size; i++)
        g[i] += at[i];
    return f + 0.5 * dot(at, at, size);
}

/* d: about -H^-1 g */
static void conjugate_gradients(const float *curve, const float *g, float *d, size_t size)
{
    static float r[W_MAX], p[W_MAX], q[W_MAX];

    for (size_t i = 0; i < size; i++) {
        d[i] = 0;
        p[i] = r[i] = -g[i];
    }
    double square = dot(r, r, size), enough = 1e-6 * square;
    for (int step = 0; step < 100 && square > enough; step++) {
        memset(q, 0, sizeof q);
        num_linear_ops_find(16)->hessian(&world.p, curve, p, world.work, q);
        for (size_t i = 0; i < size; i++)
            q[i] += p[i];
        double by = square / dot(p, q, size), next = 0;
        for (size_t i = 0; i < size; i++) {
            d[i] += (float)by * p[i];
            r[i] -= (float)by * q[i];
        }
        next = dot(r, r, size);
        for (size_t i = 0; i < size; i++)
            p[i] = r[i] + (float)(next / square) * p[i];
        square = next;
    }
}

static void newton(void)
{
    static float g[W_MAX], d[W_MAX], at[W_MAX], curve[ROWS_MAX * LANES_MAX];
    size_t size = (size_t)world.p.x.columns * world.p.lanes;

    memset(w, 0, sizeof w);
    double f = slope_at(w, g, curve);
    for (int step = 0; step < 30; step++) {
        conjugate_gradients(curve, g, d, size);
        double down = dot(g, d, size), by = 1, next = INFINITY;
        for (int tries = 0; tries < 20 && !(next <= f + 1e-4 * by * down); tries++, by /= 2) {
            for (size_t i = 0; i < size; i++)
                at[i] = w[i] + (float)by * d[i];
            next = slope_at(at, g, curve);
        }
        if (!(next < f))
            return;
        memcpy(w, at, sizeof w);
        f = next;
    }
}

static void newtons_method_reaches_the_reference(void **state)
{
    static const enum num_linear_loss losses[] = {NUM_LINEAR_LOGISTIC, NUM_LINEAR_SQUARED_HINGE,
                                                  NUM_LINEAR_SOFTMAX};
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 3, "linear.solve");
    for (int n = 0; n < property_count(6); n++) {
        world_make(&world, &rand, 60, 15, n % 3 == 2 ? 5 : 1 + (uint32_t)n, 0.4, n % 2 == 0);
        world.p.loss = losses[n % 3];
        newton();
        double best = least(NUM_LINEAR_SQUARES, 3000);
        assert_true(objective(NUM_LINEAR_SQUARES) <= best * (1 + 1e-4) + 1e-6);
    }
}

/* ---- lasso ---- */

struct turned {
    uint64_t start[COLUMNS_MAX + 1];
    uint32_t index[ENTRIES_MAX];
    float value[ENTRIES_MAX], aim[W_MAX], peak[COLUMNS_MAX], reach[W_MAX];
    double slope[2 * LANES_MAX];
    struct num_linear_lasso lasso;
};

static struct turned turned;

static void turn(void)
{
    const struct num_csr *x = &world.p.x;
    uint64_t to = 0;

    memset(&turned, 0, sizeof turned);
    for (uint32_t j = 0; j < x->columns; j++) {
        for (uint64_t i = 0; i < x->rows; i++) {
            for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
                if (x->index[e] != j)
                    continue;
                turned.index[to] = (uint32_t)i;
                turned.value[to++] = world.value[e];
                if (world.label[i] < world.p.lanes)
                    turned.aim[j * world.p.lanes + world.label[i]] += world.value[e];
            }
        }
        turned.start[j + 1] = to;
    }
    turned.lasso = (struct num_linear_lasso){
        .x = {x->columns, (uint32_t)x->rows, turned.start, turned.index,
              x->value != NULL ? turned.value : NULL},
        .aim = turned.aim,
        .peak = turned.peak,
        .weight = w,
        .reach = turned.reach,
        .rest = rest,
        .order = order,
        .lanes = world.p.lanes,
        .cost = world.p.cost,
        .spread = 1,
        .work = world.work,
        .slope = turned.slope,
    };
    num_linear_peaks(&turned.lasso.x, turned.peak);
    for (size_t i = 0; i < W_MAX; i++)
        turned.reach[i] = 1;
    memset(rest, 0, sizeof rest);
    memset(w, 0, sizeof w);
    memset(z, 0, sizeof z);
}

/* Where a weight is 0 the gradient is within [-1, 1], elsewhere it is minus the weight's sign. */
static void check_optimal(void)
{
    static float g[W_MAX];
    struct num_linear_slope out = {.gradient = g, .work = world.work};

    memset(g, 0, sizeof g);
    num_linear_ops_find(1)->gradient(&world.p, w, &out);
    for (size_t i = 0; i < (size_t)world.p.x.columns * world.p.lanes; i++) {
        if (w[i] == 0)
            assert_true(fabsf(g[i]) <= 1.01f);
        else
            assert_true(fabsf(g[i] + (w[i] > 0 ? 1 : -1)) <= 0.01f);
    }
}

static void lasso_falls_to_a_point_that_is_optimal(void **state)
{
    static const uint32_t lanes[] = {1, 3, 20}, twins[] = {16, 8, 1};
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 4, "linear.solve");
    for (int n = 0; n < property_count(6); n++) {
        world_make(&world, &rand, 80, 20, lanes[n % 3], 0.3, n % 2 == 0);
        world.p.loss = NUM_LINEAR_LOGISTIC;
        turn();
        const struct num_linear_ops *ops = num_linear_ops_find(twins[n / 2 % 3]);
        double last = objective(NUM_LINEAR_ABSOLUTE);
        for (uint64_t pass = 0; pass < 400; pass++) {
            turned.lasso.count = num_linear_order(&rand, rest, world.p.x.columns, pass, order);
            ops->lasso(&turned.lasso, z);
            double now = objective(NUM_LINEAR_ABSOLUTE);
            assert_true(now <= last * (1 + 1e-5));
            last = now;
        }
        check_optimal();
        assert_true(last <= least(NUM_LINEAR_ABSOLUTE, 3000) * (1 + 1e-4));
    }
}

static void a_still_lasso_only_looks(void **state)
{
    static float weight[W_MAX], margins[ROWS_MAX * LANES_MAX];
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 6, "linear.solve");
    for (int n = 0; n < property_count(6); n++) {
        world_make(&world, &rand, 80, 20, n % 2 == 0 ? 1 : 3, 0.3, n % 3 == 0);
        world.p.loss = NUM_LINEAR_LOGISTIC;
        turn();
        const struct num_linear_ops *ops = num_linear_ops_find(16);
        for (uint64_t pass = 0; pass < 3; pass++) {
            turned.lasso.count = num_linear_order(&rand, rest, world.p.x.columns, pass, order);
            ops->lasso(&turned.lasso, z);
        }
        memcpy(weight, w, sizeof w);
        memcpy(margins, z, sizeof z);
        double look[2 * LANES_MAX] = {0};
        size_t lanes = world.p.lanes;
        turned.lasso.look = look;
        for (uint32_t i = 0; i < world.p.x.columns; i++)
            order[i] = i;
        turned.lasso.count = world.p.x.columns;
        double found = ops->lasso(&turned.lasso, z), again = ops->lasso(&turned.lasso, z);
        assert_true(found == again && found > 0);
        assert_memory_equal(weight, w, sizeof w);
        assert_memory_equal(margins, z, sizeof z);
        static float g[W_MAX];
        memset(g, 0, sizeof g);
        struct num_linear_slope out = {.gradient = g, .work = world.work};
        ops->gradient(&world.p, w, &out);
        double sum = 0, most[LANES_MAX] = {0}, along[LANES_MAX] = {0};
        for (size_t i = 0; i < world.p.x.columns * lanes; i++) {
            double slope = (double)g[i];
            most[i % lanes] = fmax(most[i % lanes], fabs(slope));
            along[i % lanes] += slope * (double)w[i];
            sum += w[i] > 0   ? fabs(slope + 1)
                   : w[i] < 0 ? fabs(slope - 1)
                              : fmax(fabs(slope) - 1, 0);
        }
        assert_true(fabs(sum - found) <= 1e-3 * (1 + sum));
        for (size_t k = 0; k < lanes; k++) {
            assert_true(fabs(look[k] - most[k]) <= 1e-3 * (1 + most[k]));
            assert_true(fabs(look[lanes + k] / 2 - along[k]) <= 1e-3 * (1 + fabs(along[k])));
        }
    }
}

/* ---- stochastic gradient ---- */

static void stochastic_gradients_come_near(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 5, "linear.solve");
    for (int n = 0; n < 4; n++) {
        world_make(&world, &rand, 100, 15, n == 3 ? 4 : 1, 0.4, true);
        world.p.loss = (enum num_linear_loss)n;
        memset(w, 0, sizeof w);
        memset(rest, 0, sizeof rest);
        for (int pass = 0; pass < 400; pass++) {
            uint64_t count = num_linear_order(&rand, rest, world.p.x.rows, 0, order);
            struct num_linear_sgd sgd = {order, count, 0.2 / (1 + 0.1 * pass), 0.01, world.work};
            num_linear_ops_find(16)->sgd(&world.p, &sgd, w);
        }
        assert_true(objective(NUM_LINEAR_SQUARES) <= 1.05 * least(NUM_LINEAR_SQUARES, 3000));
    }
}

/* ---- corners ---- */

static void odd_shapes_are_solved_too(void **state)
{
    static const struct {
        uint64_t rows;
        uint32_t columns, label;
    } shapes[] = {{1, 1, 0}, {1, 5, 1}, {50, 1, 0}, {40, 6, 0}, {40, 6, 1}};
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 6, "linear.solve");
    for (size_t n = 0; n < sizeof shapes / sizeof shapes[0]; n++) {
        for (int loss = NUM_LINEAR_LOGISTIC; loss <= NUM_LINEAR_SQUARED_HINGE; loss++) {
            world_make(&world, &rand, shapes[n].rows, shapes[n].columns, 1, 0.8, false);
            for (uint64_t i = 0; i < shapes[n].rows; i++)
                world.label[i] = shapes[n].label; /* one class only */
            world.p.loss = (enum num_linear_loss)loss;
            double best = least(NUM_LINEAR_SQUARES, 2000);
            begin_dual();
            for (uint64_t pass = 0; pass < 300; pass++)
                dual_pass(&rand, pass);
            assert_true(objective(NUM_LINEAR_SQUARES) <= best * (1 + 2e-3) + 1e-6);
            if (loss != NUM_LINEAR_HINGE) {
                newton();
                assert_true(objective(NUM_LINEAR_SQUARES) <= best * (1 + 1e-4) + 1e-6);
            }
        }
    }
}

static void huge_values_give_finite_weights(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 7, "linear.solve");
    for (int loss = NUM_LINEAR_LOGISTIC; loss <= NUM_LINEAR_SQUARED_HINGE; loss++) {
        world_make(&world, &rand, 40, 6, 1, 0.8, false);
        for (uint64_t e = 0; e < world.start[40]; e++)
            world.value[e] *= 1e10f;
        world.p.loss = (enum num_linear_loss)loss;
        begin_dual();
        double first = objective(NUM_LINEAR_SQUARES);
        for (uint64_t pass = 0; pass < 50; pass++)
            assert_true(isfinite(dual_pass(&rand, pass)));
        for (uint32_t j = 0; j < 6; j++)
            assert_true(isfinite(w[j]));
        assert_true(isfinite(first));
    }
}

static shoal_status solve_small(const struct base_alloc *alloc, void *ctx)
{
    double f;

    (void)ctx;
    return num_linear_solve_reference(alloc, &world.p, NUM_LINEAR_SQUARES, 2, exact, &f);
}

static void the_reference_refuses_what_it_cannot_do(void **state)
{
    struct base_rand rand;
    double f = 7;

    (void)state;
    base_rand_init(&rand, 8, "linear.solve");
    world_make(&world, &rand, 5, 3, 1, 0.8, false);
    torture_run(solve_small, NULL);
    world.p.loss = NUM_LINEAR_HINGE;
    assert_int_equal(
        num_linear_solve_reference(&base_alloc_libc, &world.p, NUM_LINEAR_ABSOLUTE, 1, exact, &f),
        SHOAL_E_INVAL);
    assert_true(f == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dual_ascent_rises_and_its_gap_closes),
        cmocka_unit_test(two_passes_at_once_with_spread_two_still_rise),
        cmocka_unit_test(newtons_method_reaches_the_reference),
        cmocka_unit_test(lasso_falls_to_a_point_that_is_optimal),
        cmocka_unit_test(a_still_lasso_only_looks),
        cmocka_unit_test(stochastic_gradients_come_near),
        cmocka_unit_test(odd_shapes_are_solved_too),
        cmocka_unit_test(huge_values_give_finite_weights),
        cmocka_unit_test(the_reference_refuses_what_it_cannot_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
