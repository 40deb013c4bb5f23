/* ctest: timeout=300 */
/* Sparse linear models: kernels agree, solutions fulfil the conditions of a minimum, bounds are
 * below it, and the priority schedule needs fewer updates than a random one. */
#include "property.h"
#include "torture.h"

#include "unit/num/lasso_world.h"

static struct lasso_world world;

static void make(uint64_t seed, enum num_lasso_loss loss)
{
    struct base_rand rand;

    base_rand_init(&rand, seed, "test.lasso");
    uint32_t rows = 20 + (uint32_t)base_rand_below(&rand, 60);
    uint32_t columns = 1 + (uint32_t)base_rand_below(&rand, 60);
    lasso_world_make(&world, &rand, rows, columns, seed % 3 == 0 ? 1 : 0.3, 0.6, loss);
    world.p.mix = seed % 2 == 0 ? 1 : 0.5;
    world.p.intercept = seed % 5 != 0;
    world.p.lambda = 0.02 + 0.1 * base_rand_unit(&rand);
    if (seed % 4 == 0)
        lasso_world_weigh(&world);
    num_lasso_begin(&world.p, &world.point);
}

/* ---- kernels ---- */

static void twins_agree_to_rounding(void **state)
{
    static const uint32_t LANES[] = {4, 8};
    static double a[LASSO_ROWS], b[LASSO_ROWS], v[LASSO_ROWS];
    const struct num_lasso_ops *plain = num_lasso_ops_find(1);
    struct num_columns dense;

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(20); seed++) {
        make(seed, NUM_LASSO_SQUARED);
        struct num_columns x = world.p.x;
        if (seed % 2 == 0) {
            x.index = NULL;
            x.value = world.dense;
        }
        dense = x;
        dense.index = NULL; /* the specification of a sparse column is the dense one */
        dense.value = world.dense;
        for (uint32_t i = 0; i < x.rows; i++) {
            a[i] = b[i] = world.u[i];
            v[i] = 0.5 + 0.01 * i;
        }
        for (size_t t = 0; t < sizeof LANES / sizeof LANES[0]; t++) {
            const struct num_lasso_ops *ops = num_lasso_ops_find(LANES[t]);
            for (uint32_t j = 0; j < x.columns; j++) {
                double one[2], two[2];
                assert_true(fabs(plain->dot(&dense, j, a) - ops->dot(&x, j, a)) <= 1e-12);
                plain->sums(&dense, j, j % 2 == 0 ? v : NULL, one);
                ops->sums(&x, j, j % 2 == 0 ? v : NULL, two);
                assert_true(fabs(one[0] - two[0]) + fabs(one[1] - two[1]) <= 1e-9 * (1 + one[1]));
                plain->move(&dense, j, 0.01 * j, j % 2 == 0 ? v : NULL, a);
                ops->move(&x, j, 0.01 * j, j % 2 == 0 ? v : NULL, b);
                for (uint32_t i = 0; i < x.rows; i++)
                    assert_true(fabs(a[i] - b[i]) <= 1e-11);
            }
        }
    }
}

static void a_dense_matrix_is_the_same_as_a_sparse_one(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(10); seed++) {
        struct num_lasso_work work = {0};
        double value[2];
        for (int dense = 0; dense < 2; dense++) {
            make(seed, NUM_LASSO_SQUARED);
            if (dense) {
                world.p.x.index = NULL;
                world.p.x.value = world.dense;
            }
            assert_int_equal(lasso_world_solve(&world, 1e-10, NUM_LASSO_PRIORITY, &work), SHOAL_OK);
            value[dense] = num_lasso_objective(&world.p, &world.set, &world.point);
        }
        assert_true(fabs(value[0] - value[1]) <= 1e-9 * value[0]);
    }
}

/* u is the slope of the loss: its difference along each column. */
static void slopes_are_the_finite_difference_of_the_loss(void **state)
{
    static double b[LASSO_COLUMNS];

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(20); seed++) {
        double excess, step = 1e-5;
        make(seed, seed % 3 == 0 ? NUM_LASSO_LOGISTIC : NUM_LASSO_SQUARED);
        for (uint32_t j = 0; j < world.p.x.columns; j++)
            world.b[j] = b[j] = 0.1 * sin(j + (double)seed);
        num_lasso_place(num_lasso_ops_find(64), &world.p, &world.set, &world.point);
        lasso_world_slopes(&world, &excess);
        for (uint32_t j = 0; j < world.p.x.columns; j++) {
            struct num_lasso p = world.p;
            p.lambda = 0;
            b[j] += step;
            double up = num_lasso_objective_reference(&p, world.point.intercept, b);
            b[j] -= 2 * step;
            double down = num_lasso_objective_reference(&p, world.point.intercept, b);
            b[j] += step;
            assert_true(fabs((down - up) / (2 * step) - world.g[j]) <= 1e-6);
        }
    }
}

/* ---- products of columns ---- */

enum { GRAM_STRIDE = 144, GRAM_RANGE = 37 };
static double gram_sum[GRAM_STRIDE * GRAM_STRIDE], gram_center[LASSO_COLUMNS];

/* Products of the world, dense, in ranges of rows. */
static struct num_lasso_gram make_gram(const struct num_lasso_ops *ops, double *out_mean)
{
    static double mean[LASSO_COLUMNS], work[GRAM_STRIDE * NUM_LASSO_GRAM_ROWS];
    const uint32_t n = world.p.x.rows;

    world.p.weight = NULL;
    world.p.total = n;
    world.p.x.index = NULL;
    world.p.x.value = world.dense;
    assert_true(num_lasso_gram_stride(world.p.x.columns) <= GRAM_STRIDE);
    memset(gram_sum, 0, sizeof gram_sum);
    for (uint32_t j = 0; j < world.p.x.columns; j++)
        mean[j] = world.p.intercept ? 0.25 : 0; /* about what it is */
    for (uint32_t first = 0; first < n; first += GRAM_RANGE)
        num_lasso_gram_add(ops, &world.p, mean, first,
                           n - first < GRAM_RANGE ? n - first : GRAM_RANGE, work, gram_sum);
    return num_lasso_gram_make(&world.p, gram_sum, gram_center, out_mean);
}

/* The sum of x_i x_j over rows, centred with an intercept, / rows. */
static double product(const float *a, const float *b)
{
    double n = world.p.x.rows, sum = 0, one = 0, two = 0;

    for (uint32_t i = 0; i < world.p.x.rows; i++) {
        sum += (double)a[i] * (double)b[i];
        one += (double)a[i];
        two += (double)b[i];
    }
    return world.p.intercept ? sum / n - one / n * (two / n) : sum / n;
}

static void products_are_those_of_the_columns_on_every_twin(void **state)
{
    static const uint32_t LANES[] = {1, 4, 8};

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(20); seed++)
        for (size_t t = 0; t < sizeof LANES / sizeof LANES[0]; t++) {
            double mean;
            make(seed, NUM_LASSO_SQUARED);
            struct num_lasso_gram m = make_gram(num_lasso_ops_find(LANES[t]), &mean);
            const uint32_t n = world.p.x.rows;
            for (uint32_t i = 0; i < m.columns; i++) {
                const float *x = world.dense + (size_t)i * n;
                assert_true(fabs(m.q[i] - product(x, world.y)) <= 1e-12);
                for (uint32_t j = 0; j < m.columns; j++)
                    assert_true(fabs(m.g[i * m.stride + j] -
                                     product(x, world.dense + (size_t)j * n)) <= 1e-12);
            }
            assert_true(fabs(m.yy - product(world.y, world.y)) <= 1e-12);
        }
}

static void a_path_from_products_is_as_close_to_the_minimum_as_its_gap_says(void **state)
{
    static double b[LASSO_COLUMNS], least[LASSO_COLUMNS], slope[GRAM_STRIDE];

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(12); seed++) {
        const struct num_lasso_ops *ops = num_lasso_ops_find(64);
        struct num_lasso_work work = {0};
        double mean, intercept, tol = seed % 2 == 0 ? 1e-2 : 1e-7;
        make(seed, NUM_LASSO_SQUARED);
        struct num_lasso_gram m = make_gram(ops, &mean);
        memset(b, 0, sizeof b);
        for (int k = 0; k < 4; k++, world.p.lambda /= 2) {
            struct num_lasso_gram_found found =
                num_lasso_gram_solve(ops, &m, world.p.lambda, world.p.mix, tol, 0, b, slope, &work);
            memcpy(world.b, b, sizeof b);
            num_lasso_place(ops, &world.p, &world.set, &world.point);
            double value = num_lasso_objective(&world.p, &world.set, &world.point);
            num_lasso_solve_reference(&world.p, 20000, slope, &intercept, least);
            double minimum = num_lasso_objective_reference(&world.p, intercept, least);
            assert_false(found.stuck);
            assert_true(found.gap <= tol * found.objective);
            assert_true(fabs(found.objective - value) <= 1e-11 * value);
            assert_true(value - minimum <= found.gap);
        }
    }
}

/* ---- the minimum ---- */

/* |g_j| <= lambda mix where b_j is 0, g_j = lambda (mix sign b_j + (1 - mix) b_j) elsewhere, and u
 * adds up to 0; to the root of the gap. */
static void check_conditions(uint64_t seed, double to)
{
    double excess, soft = world.p.lambda * world.p.mix, sum = 0;

    lasso_world_slopes(&world, &excess);
    for (uint32_t j = 0; j < world.p.x.columns; j++) {
        double b = world.b[j], off = fabs(world.g[j]) - soft;
        if (b != 0)
            off = fabs(world.g[j] - copysign(soft, b) - world.p.lambda * (1 - world.p.mix) * b);
        if (off > to)
            fail_msg("seed %llu: column %u is off by %g", (unsigned long long)seed, j, off);
    }
    for (uint32_t i = 0; i < world.p.x.rows; i++)
        sum += world.u[i];
    assert_true(!world.p.intercept || fabs(sum) <= 1e-10);
}

static void solutions_fulfil_the_conditions_of_a_minimum(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(60); seed++) {
        struct num_lasso_work work = {0};
        make(seed, seed % 3 == 0 ? NUM_LASSO_LOGISTIC : NUM_LASSO_SQUARED);
        assert_int_equal(lasso_world_solve(&world, 1e-12, NUM_LASSO_PRIORITY, &work), SHOAL_OK);
        check_conditions(seed, 1e-5);
    }
}

static void every_schedule_reaches_the_reference(void **state)
{
    static double b[LASSO_COLUMNS], slope[LASSO_COLUMNS];
    static const enum num_lasso_schedule ALL[] = {NUM_LASSO_PRIORITY, NUM_LASSO_CYCLIC,
                                                  NUM_LASSO_RANDOM};

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(8); seed++)
        for (size_t s = 0; s < sizeof ALL / sizeof ALL[0]; s++) {
            struct num_lasso_work work = {0};
            double intercept, value;
            make(seed, seed % 3 == 0 ? NUM_LASSO_LOGISTIC : NUM_LASSO_SQUARED);
            assert_int_equal(lasso_world_solve(&world, 1e-7, ALL[s], &work), SHOAL_OK);
            num_lasso_solve_reference(&world.p, 3000, slope, &intercept, b);
            value = num_lasso_objective_reference(&world.p, world.point.intercept, world.b);
            double best = num_lasso_objective_reference(&world.p, intercept, b);
            if (!(value <= best * (1 + 1e-6)))
                fail_msg("seed %llu: %.9g and not %.9g", (unsigned long long)seed, value, best);
            double told = num_lasso_objective(&world.p, &world.set, &world.point);
            assert_true(fabs(told - value) <= 1e-9 * value);
        }
}

/* The point is that of its b, no worse than where it came from, and near the next minimum where the path is
 * straight; the past is the solution it came from. */
static void going_ahead_on_the_path_is_never_worse_and_past_is_what_was(void **state)
{
    static double past_b[LASSO_COLUMNS], past_z[LASSO_ROWS], was_b[LASSO_COLUMNS],
        was_z[LASSO_ROWS], z[LASSO_ROWS], u[LASSO_ROWS];
    double left = 0, started = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(40); seed++) {
        const struct num_lasso_ops *ops = num_lasso_ops_find(64);
        struct num_lasso_past past = {past_b, past_z, 0};
        struct num_lasso_work work = {0};
        make(seed, seed % 3 == 0 ? NUM_LASSO_LOGISTIC : NUM_LASSO_SQUARED);
        for (int k = 0; k < 2; k++, world.p.lambda *= 0.9) {
            memcpy(past_b, world.b, sizeof past_b);
            memcpy(past_z, world.z, sizeof past_z);
            past.intercept = world.point.intercept;
            assert_int_equal(lasso_world_solve(&world, 1e-10, NUM_LASSO_PRIORITY, &work), SHOAL_OK);
        }
        memcpy(was_b, world.b, sizeof was_b);
        memcpy(was_z, world.z, sizeof was_z);
        double was = world.point.intercept;
        double before = num_lasso_objective(&world.p, &world.set, &world.point);
        bool taken = num_lasso_ahead(ops, &world.p, 0.9, &past, &world.set, &world.point);
        double after = num_lasso_objective(&world.p, &world.set, &world.point);
        assert_true(taken ? after < before : after == before);
        assert_memory_equal(past_b, was_b, world.p.x.columns * sizeof *was_b);
        assert_memory_equal(past_z, was_z, world.p.x.rows * sizeof *was_z);
        assert_true(past.intercept == was);
        assert_true(taken || memcmp(world.b, was_b, sizeof was_b) == 0);
        for (uint32_t j = 0; j < world.p.x.columns; j++)
            assert_true(world.b[j] * was_b[j] >= 0 && (was_b[j] != 0 || world.b[j] == 0));
        memcpy(z, world.z, sizeof z);
        memcpy(u, world.u, sizeof u);
        num_lasso_place(ops, &world.p, &world.set, &world.point);
        for (uint32_t i = 0; i < world.p.x.rows; i++)
            assert_true(fabs(z[i] - world.z[i]) + fabs(u[i] - world.u[i]) <= 1e-9);
        assert_int_equal(lasso_world_solve(&world, 1e-10, NUM_LASSO_PRIORITY, &work), SHOAL_OK);
        left += after - num_lasso_objective(&world.p, &world.set, &world.point);
        started += before - num_lasso_objective(&world.p, &world.set, &world.point);
    }
    assert_true(left < started / 5);
}

/* At any point at all, not only near the minimum. */
static void the_bound_is_below_every_objective(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(40); seed++) {
        struct num_lasso_work work = {0};
        double excess, most, bound, best;
        make(seed, seed % 3 == 0 ? NUM_LASSO_LOGISTIC : NUM_LASSO_SQUARED);
        for (uint32_t j = 0; j < world.p.x.columns; j++)
            world.b[j] = 0.2 * sin(j * (double)seed);
        num_lasso_place(num_lasso_ops_find(64), &world.p, &world.set, &world.point);
        most = lasso_world_slopes(&world, &excess);
        bound = num_lasso_bound(&world.p, &world.point, most, excess);
        assert_int_equal(lasso_world_solve(&world, 1e-12, NUM_LASSO_PRIORITY, &work), SHOAL_OK);
        best = num_lasso_objective(&world.p, &world.set, &world.point);
        assert_true(bound <= best * (1 + 1e-9));
        most = lasso_world_slopes(&world, &excess);
        bound = num_lasso_bound(&world.p, &world.point, most, excess);
        assert_true(bound >= best * (1 - 1e-6)); /* and there it is tight */
    }
}

/* As the penalty falls, losses fall, objectives fall, and |b|_1 rises. */
static void paths_are_monotone(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(10); seed++) {
        double loss = INFINITY, value = INFINITY, size = 0, excess;
        struct num_lasso_work work = {0};
        make(seed, seed % 3 == 0 ? NUM_LASSO_LOGISTIC : NUM_LASSO_SQUARED);
        world.p.mix = 1;
        double first = lasso_world_slopes(&world, &excess);
        for (int k = 0; k < 20; k++) {
            double one = 0, now;
            world.p.lambda = first * pow(0.8, k);
            assert_int_equal(lasso_world_solve(&world, 1e-11, NUM_LASSO_PRIORITY, &work), SHOAL_OK);
            now = num_lasso_objective(&world.p, &world.set, &world.point);
            for (uint32_t j = 0; j < world.p.x.columns; j++)
                one += fabs(world.b[j]);
            assert_true(k > 0 || one <= 1e-6);
            assert_true(one >= size - 1e-4);
            assert_true(now <= value * (1 + 1e-9));
            assert_true(now - world.p.lambda * one <= loss + 1e-6);
            size = one;
            value = now;
            loss = now - world.p.lambda * one;
        }
    }
}

/* ---- rules ---- */

static void constant_columns_stay_0_and_of_equal_ones_the_first_has_most(void **state)
{
    struct num_lasso_work work = {0};
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "test.lasso");
    lasso_world_make(&world, &rand, 50, 10, 1, 0, NUM_LASSO_SQUARED);
    world.p.x.index = NULL;
    world.p.x.value = world.dense;
    for (uint32_t i = 0; i < 50; i++) {
        world.dense[3 * 50 + i] = 7; /* constant */
        world.dense[4 * 50 + i] = 0;
        world.dense[5 * 50 + i] = world.dense[i]; /* equal to column 0 */
    }
    world.p.lambda = 0.01;
    num_lasso_begin(&world.p, &world.point);
    assert_int_equal(lasso_world_solve(&world, 1e-10, NUM_LASSO_PRIORITY, &work), SHOAL_OK);
    assert_true(world.b[3] == 0 && world.b[4] == 0);
    assert_true(fabs(world.b[0]) > 0.1 && fabs(world.b[5]) < 0.2 * fabs(world.b[0]));
}

static void rows_of_weight_0_are_not_there(void **state)
{
    (void)state;
    for (uint64_t seed = 4; seed <= 4 * (uint64_t)property_count(6); seed += 4) {
        static struct lasso_world less;
        struct num_lasso_work work = {0};
        uint32_t rows = 0;
        make(seed, seed % 3 == 0 ? NUM_LASSO_LOGISTIC : NUM_LASSO_SQUARED);
        less = world;
        less.set.b = less.b;
        less.point = (struct num_lasso_point){less.u, less.z, 0};
        less.p.y = less.y;
        for (uint32_t i = 0; i < world.p.x.rows; i++)
            rows += world.weight[i] > 0;
        for (uint32_t j = 0; j < world.p.x.columns; j++)
            for (uint32_t i = 0, to = 0; i < world.p.x.rows; i++)
                if (world.weight[i] > 0) {
                    less.y[to] = world.y[i];
                    less.dense[(size_t)j * rows + to++] =
                        world.dense[(size_t)j * world.p.x.rows + i];
                }
        less.p.x = (struct num_columns){rows, world.p.x.columns, NULL, NULL, less.dense};
        less.p.weight = NULL;
        less.p.total = rows;
        num_lasso_begin(&less.p, &less.point);
        assert_int_equal(lasso_world_solve(&world, 1e-10, NUM_LASSO_PRIORITY, &work), SHOAL_OK);
        assert_int_equal(lasso_world_solve(&less, 1e-10, NUM_LASSO_PRIORITY, &work), SHOAL_OK);
        double a = num_lasso_objective(&world.p, &world.set, &world.point);
        double b = num_lasso_objective(&less.p, &less.set, &less.point);
        assert_true(fabs(a - b) <= 1e-8 * a);
    }
}

static void priority_takes_half_the_updates_of_a_random_order(void **state)
{
    struct num_lasso_work work[3] = {{0, 0}};
    double value[3] = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(5); seed++)
        for (int s = 0; s < 3; s += 2) {
            struct base_rand rand;
            double excess;
            base_rand_init(&rand, seed, "test.lasso");
            lasso_world_make(&world, &rand, LASSO_ROWS, LASSO_COLUMNS, 0.3, 0.8, NUM_LASSO_SQUARED);
            num_lasso_begin(&world.p, &world.point);
            double first = lasso_world_slopes(&world, &excess);
            for (int k = 0; k < 20; k++) {
                world.p.lambda = first * pow(0.7, k);
                assert_int_equal(
                    lasso_world_solve(&world, 1e-5, (enum num_lasso_schedule)s, &work[s]),
                    SHOAL_OK);
            }
            value[s] += num_lasso_objective(&world.p, &world.set, &world.point);
        }
    assert_true(2 * work[NUM_LASSO_PRIORITY].updates <= work[NUM_LASSO_RANDOM].updates);
    assert_true(fabs(value[0] - value[2]) <= 1e-4 * value[0]);
}

/* ---- groups ---- */

struct grouped {
    struct num_lasso_group group[NUM_LASSO_GROUPS_MAX];
    uint32_t column[NUM_LASSO_GROUPS_MAX][LASSO_COLUMNS],
        member[NUM_LASSO_GROUPS_MAX][LASSO_COLUMNS];
    double b[NUM_LASSO_GROUPS_MAX][LASSO_COLUMNS], c[NUM_LASSO_GROUPS_MAX][LASSO_COLUMNS];
    double h[NUM_LASSO_GROUPS_MAX][LASSO_COLUMNS], move[NUM_LASSO_GROUPS_MAX][LASSO_ROWS];
    uint8_t rest[NUM_LASSO_GROUPS_MAX][LASSO_COLUMNS];
    uint8_t of[LASSO_COLUMNS];
    double next[LASSO_COLUMNS], h_all[LASSO_COLUMNS], v[LASSO_ROWS];
    double history[7 * (LASSO_ROWS + LASSO_COLUMNS)];
};
static struct grouped grouped;

static uint32_t cut_world(uint32_t groups, double theta)
{
    memset(&grouped, 0, sizeof grouped);
    memset(grouped.of, NUM_LASSO_NO_GROUP, sizeof grouped.of);
    assert_int_equal(
        num_lasso_cut(&base_alloc_libc, &world.p, &world.set, groups, theta, grouped.of), SHOAL_OK);
    for (uint32_t i = 0; i < world.p.x.rows && world.p.weight != NULL; i++)
        grouped.v[i] = (double)world.weight[i] / world.p.total;
    for (uint32_t g = 0; g < groups; g++) {
        struct num_lasso_group *one = &grouped.group[g];
        *one = (struct num_lasso_group){.set = {0, grouped.column[g], grouped.b[g]},
                                        .v = world.p.weight != NULL ? grouped.v : NULL,
                                        .c = grouped.c[g],
                                        .h = grouped.h[g],
                                        .member = grouped.member[g],
                                        .rest = grouped.rest[g]};
        for (uint32_t j = 0; j < world.p.x.columns; j++)
            if (grouped.of[j] == g)
                grouped.column[g][one->set.count++] = j;
    }
    return groups;
}

/* An epoch of all groups from one point, joined. */
static void epoch_of_groups(uint32_t groups, enum num_lasso_turn turn, struct num_lasso_work *work)
{
    struct num_lasso_moves moves = {groups, grouped.of, grouped.next, {NULL}};

    for (uint32_t g = 0; g < groups; g++) {
        struct num_lasso_group *one = &grouped.group[g];
        for (uint32_t i = 0; i < one->set.count; i++)
            one->set.b[i] = world.b[one->set.column[i]];
        num_lasso_group_epoch(num_lasso_ops_find(64), &world.p, turn, world.u, one, grouped.move[g],
                              work);
        moves.move[g] = grouped.move[g];
        for (uint32_t i = 0; i < one->set.count; i++) {
            grouped.next[one->set.column[i]] = one->set.b[i];
            grouped.h_all[one->set.column[i]] = one->h[i];
        }
    }
    num_lasso_join(&world.p, &moves, &world.set, world.u);
}

/* The objective after so many rounds, which never rises; u is that of b throughout. */
static double rounds_of_groups(uint32_t groups, uint32_t rounds, struct num_lasso_work *work)
{
    struct num_lasso_joint joint = {.memory = grouped.history,
                                    .v = world.p.weight != NULL ? grouped.v : NULL,
                                    .h = grouped.h_all};
    double value = INFINITY;

    for (uint32_t r = 0; r < rounds; r++) {
        double now = num_lasso_joint_begin(&world.p, &world.set, &joint, world.u);
        enum num_lasso_turn turn = r == 0 ? NUM_LASSO_FIRST : NUM_LASSO_ROUND;
        assert_true(now <= value * (1 + 1e-9));
        value = now;
        do {
            epoch_of_groups(groups, turn, work);
            turn = NUM_LASSO_SAME;
        } while (!num_lasso_joint_next(&world.p, &world.set, &joint, world.u));
    }
    static double u[LASSO_ROWS];
    memcpy(u, world.u, sizeof u);
    num_lasso_place(num_lasso_ops_find(64), &world.p, &world.set, &world.point);
    for (uint32_t i = 0; i < world.p.x.rows; i++)
        assert_true(fabs(u[i] - world.u[i]) <= 1e-9);
    return num_lasso_objective(&world.p, &world.set, &world.point);
}

/* Some columns equal, opposite or constant. */
static void make_awkward(uint64_t seed)
{
    make(seed, NUM_LASSO_SQUARED);
    uint32_t rows = world.p.x.rows, columns = world.p.x.columns;
    if (seed % 3 != 1 || columns < 9)
        return;
    world.p.x.index = NULL;
    world.p.x.value = world.dense;
    for (uint32_t i = 0; i < rows; i++) {
        world.dense[(size_t)2 * rows + i] = world.dense[i];
        world.dense[(size_t)5 * rows + i] = -world.dense[i];
        world.dense[(size_t)7 * rows + i] = 0.1f;
    }
    num_lasso_begin(&world.p, &world.point);
}

static void groups_reach_the_reference_whatever_the_correlations(void **state)
{
    static double b[LASSO_COLUMNS], slope[LASSO_COLUMNS];
    static const double THETAS[] = {0.1, 0.5, 2};

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(24); seed++) {
        struct num_lasso_work work = {0};
        double intercept, value, best;
        make_awkward(seed);
        uint32_t groups = cut_world(1 + (uint32_t)(seed % 5), THETAS[seed % 3]);
        value = rounds_of_groups(groups, 400, &work);
        num_lasso_solve_reference(&world.p, 3000, slope, &intercept, b);
        best = num_lasso_objective_reference(&world.p, intercept, b);
        if (!(value <= best * (1 + 1e-6)))
            fail_msg("seed %llu: %.9g and not %.9g", (unsigned long long)seed, value, best);
        check_conditions(seed, 1e-5);
    }
}

/* What groups see of their columns is what one set sees. */
static void looks_of_groups_make_the_bound(void **state)
{
    static double scratch[LASSO_ROWS];

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(10); seed++) {
        struct num_lasso_work work = {0};
        double excess, one, most = 0, sum = 0;
        make_awkward(seed);
        uint32_t groups = cut_world(3, 0.3);
        rounds_of_groups(groups, 2, &work);
        for (uint32_t g = 0; g < groups; g++) {
            most = fmax(most, num_lasso_group_look(num_lasso_ops_find(64), &world.p, world.u,
                                                   &grouped.group[g], scratch, &one, &work));
            sum += one;
        }
        double all = lasso_world_slopes(&world, &excess);
        assert_true(fabs(most - all) <= 1e-9 && fabs(sum - excess) <= 1e-9);
    }
}

/* Runs of ten columns share a factor; with theta they stay together, without they are spread. */
static void columns_that_are_correlated_share_a_group(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(10); seed++) {
        uint32_t apart[2] = {0}, size[4] = {0};
        struct base_rand rand;
        base_rand_init(&rand, seed, "test.lasso");
        lasso_world_make(&world, &rand, LASSO_ROWS, LASSO_COLUMNS, 1, 0.8, NUM_LASSO_SQUARED);
        for (int unaware = 0; unaware < 2; unaware++) {
            cut_world(4, unaware ? 2 : 0.4);
            for (uint32_t j = 0; j < LASSO_COLUMNS; j++) {
                apart[unaware] += grouped.of[j] != grouped.of[j / 10 * 10];
                size[grouped.of[j]] += !unaware;
            }
        }
        assert_int_equal(apart[0], 0);
        assert_true(apart[1] > LASSO_COLUMNS / 2);
        for (uint32_t g = 0; g < 4; g++)
            assert_true(size[g] == 30); /* twelve runs of ten, four groups */
    }
}

/* A set that grows keeps its groups; what comes goes to what it is like. */
static void what_joins_a_set_joins_what_it_is_like(void **state)
{
    static uint8_t of[LASSO_COLUMNS];
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 3, "test.lasso");
    lasso_world_make(&world, &rand, LASSO_ROWS, LASSO_COLUMNS, 1, 0.8, NUM_LASSO_SQUARED);
    cut_world(4, 0.4);
    memcpy(of, grouped.of, sizeof of);
    for (uint32_t j = 0; j < LASSO_COLUMNS; j += 10)
        of[j + 3] = of[j + 8] = NUM_LASSO_NO_GROUP;
    assert_int_equal(num_lasso_cut(&base_alloc_libc, &world.p, &world.set, 4, 0.4, of), SHOAL_OK);
    assert_memory_equal(of, grouped.of, sizeof of);
}

static void groups_by_correlation_take_fewer_updates_than_at_random(void **state)
{
    struct num_lasso_work work[2] = {{0, 0}}, alone = {0, 0};

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(5); seed++) {
        struct base_rand rand;
        double best;
        base_rand_init(&rand, seed, "test.lasso");
        lasso_world_make(&world, &rand, LASSO_ROWS, LASSO_COLUMNS, 0.5, 0.95, NUM_LASSO_SQUARED);
        num_lasso_begin(&world.p, &world.point);
        assert_int_equal(lasso_world_solve(&world, 1e-7, NUM_LASSO_PRIORITY, &alone), SHOAL_OK);
        best = num_lasso_objective(&world.p, &world.set, &world.point);
        for (int unaware = 0; unaware < 2; unaware++) {
            double value = INFINITY;
            memset(world.b, 0, sizeof world.b);
            world.point.intercept = 0;
            num_lasso_begin(&world.p, &world.point);
            uint32_t groups = cut_world(6, unaware ? 2 : 0.4);
            for (int r = 0; r < 400 && value > best * (1 + 1e-5); r++)
                value = rounds_of_groups(groups, 1, &work[unaware]);
        }
    }
    assert_true(3 * work[0].updates <= 2 * work[1].updates);
    assert_true(work[0].updates <= 3 * alone.updates);
}

static shoal_status cut_with(const struct base_alloc *alloc, void *ctx)
{
    uint8_t of[LASSO_COLUMNS], before[LASSO_COLUMNS];
    shoal_status st;

    (void)ctx;
    make(1, NUM_LASSO_SQUARED);
    memset(of, NUM_LASSO_NO_GROUP, sizeof of);
    memcpy(before, of, sizeof of);
    st = num_lasso_cut(alloc, &world.p, &world.set, 3, 0.3, of);
    return st != SHOAL_OK && memcmp(of, before, sizeof of) != 0 ? SHOAL_E_INTERNAL : st;
}

static void without_memory_nothing_is_cut(void **state)
{
    (void)state;
    torture_run(cut_with, NULL);
}

static shoal_status solve_with(const struct base_alloc *alloc, void *ctx)
{
    struct num_lasso_effort effort = {.tol = 1e-4, .rounds_max = 100};
    struct num_lasso_work work = {0};
    shoal_status st;

    (void)ctx;
    make(1, NUM_LASSO_SQUARED);
    st = num_lasso_solve(alloc, num_lasso_ops_find(64), &world.p, &effort, &world.set, &world.point,
                         &work);
    for (uint32_t j = 0; st != SHOAL_OK && j < world.p.x.columns; j++)
        if (world.b[j] != 0)
            return SHOAL_E_INTERNAL;
    return st;
}

static void without_memory_nothing_changes(void **state)
{
    (void)state;
    torture_run(solve_with, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twins_agree_to_rounding),
        cmocka_unit_test(a_dense_matrix_is_the_same_as_a_sparse_one),
        cmocka_unit_test(products_are_those_of_the_columns_on_every_twin),
        cmocka_unit_test(a_path_from_products_is_as_close_to_the_minimum_as_its_gap_says),
        cmocka_unit_test(slopes_are_the_finite_difference_of_the_loss),
        cmocka_unit_test(solutions_fulfil_the_conditions_of_a_minimum),
        cmocka_unit_test(every_schedule_reaches_the_reference),
        cmocka_unit_test(going_ahead_on_the_path_is_never_worse_and_past_is_what_was),
        cmocka_unit_test(the_bound_is_below_every_objective),
        cmocka_unit_test(paths_are_monotone),
        cmocka_unit_test(constant_columns_stay_0_and_of_equal_ones_the_first_has_most),
        cmocka_unit_test(rows_of_weight_0_are_not_there),
        cmocka_unit_test(priority_takes_half_the_updates_of_a_random_order),
        cmocka_unit_test(groups_reach_the_reference_whatever_the_correlations),
        cmocka_unit_test(looks_of_groups_make_the_bound),
        cmocka_unit_test(columns_that_are_correlated_share_a_group),
        cmocka_unit_test(what_joins_a_set_joins_what_it_is_like),
        cmocka_unit_test(groups_by_correlation_take_fewer_updates_than_at_random),
        cmocka_unit_test(without_memory_nothing_is_cut),
        cmocka_unit_test(without_memory_nothing_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
