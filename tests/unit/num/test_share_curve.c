/* ctest: timeout=600 */
/* Tests of num_share_curve (src/num/share.c). At the theta it returns the shares meet every
 * need; just below the bound the prices prove that none could (share_proof.h). */
#include "unit/num/share_proof.h"

static struct world world; /* large */

/* Needs as objectives have them: left / (theta denominator - since), and INFINITY where that is not
 * positive. Makespan is since 0, denominator 1. `flat` jobs need the same at any theta. */
struct curve {
    const struct world *w;
    double left[WORLD_JOBS_MAX], since[WORLD_JOBS_MAX], denominator[WORLD_JOBS_MAX];
    bool flat[WORLD_JOBS_MAX];
    int calls;
};
static struct curve curve;

static void need_at(void *ctx, double theta, double *out_need)
{
    struct curve *c = ctx;

    c->calls++;
    for (size_t m = 0; m < c->w->p.job_count; m++) {
        double room = theta * c->denominator[m] - c->since[m];
        out_need[m] = c->left[m] == 0 ? 0
                      : c->flat[m]    ? c->left[m]
                      : room > 0      ? c->left[m] / room
                                      : INFINITY;
    }
}

enum shape { MAKESPAN, FINISH_TIME, MIXED, SHAPES };

static void make_curve(struct curve *c, struct world *w, enum shape shape)
{
    double gpus = 0;

    c->w = w;
    for (uint32_t j = 0; j < w->p.kind_count; j++)
        gpus += w->p.capacity[j];
    for (size_t m = 0; m < w->p.job_count; m++) {
        double top = world_top(&w->p, m), hours = pow(10, base_rand_range(&w->rand, -1, 2));
        c->left[m] = (top > 0 ? top : 1) * hours;
        c->since[m] = 0;
        c->denominator[m] = 1;
        c->flat[m] = false;
        if (shape == FINISH_TIME) {
            double share = gpus / w->gpus[m] / (double)w->p.job_count;
            c->since[m] = base_rand_range(&w->rand, 0, 3) * hours;
            c->denominator[m] = c->since[m] / 2 + hours / fmin(1, fmax(share, 1e-3));
        }
        if (shape == MIXED) {
            c->flat[m] = base_rand_below(&w->rand, 4) == 0;
            c->left[m] *= c->flat[m] ? 1e-3 / hours : 1;
            if (base_rand_below(&w->rand, 5) == 0)
                c->left[m] = 0;
        }
    }
}

static struct num_share_result solve(struct num_share *s, const struct world *w, double low,
                                     double high)
{
    struct num_share_result r;

    WORLD_CLAIM(w, num_share_curve(s, &w->p, low, high, need_at, &curve, &r) == SHOAL_OK,
                "the call failed");
    return r;
}

/* Prices that make needs at `theta` cost more than all GPUs are worth; a hair of rounding
 * allowed. */
static void claim_out_of_reach(const struct world *w, double theta, const double *price)
{
    static double need[WORLD_JOBS_MAX];

    need_at(&curve, theta, need);
    double excess = proof_excess(&w->p, need, price);
    WORLD_CLAIM(w, excess >= -1e-12 * proof_worth(&w->p, price) && excess > -INFINITY,
                "at theta %.17g the needs cost %g less than the GPUs are worth", theta, -excess);
    /* Zero prices prove nothing unless some job cannot do it even alone. */
    WORLD_CLAIM(w, excess > 0 || proof_worth(&w->p, price) > 0, "no proof at theta %.17g", theta);
}

static void claim_proven(const struct world *w, double low, double high,
                         const struct num_share_result *r)
{
    static double need[WORLD_JOBS_MAX];

    WORLD_CLAIM(w, r->exact, "not exact: theta %.17g, bound %.17g", r->level, r->bound);
    if (isinf(r->level)) {
        claim_out_of_reach(w, high, r->price);
        return;
    }
    world_claim_feasible(w, r);
    WORLD_CLAIM(w, r->level >= low && r->level <= high, "theta %.17g is not in %g to %g", r->level,
                low, high);
    WORLD_CLAIM(w, r->bound <= r->level, "theta %.17g is below its bound %.17g", r->level,
                r->bound);
    WORLD_CLAIM(w, r->level - r->bound <= 1.001e-9 * r->level, "theta %.17g, bound %.17g", r->level,
                r->bound);
    need_at(&curve, r->level, need);
    for (size_t m = 0; m < w->p.job_count; m++) {
        double speed = world_speed(&w->p, r->x, m);
        WORLD_CLAIM(w, speed >= need[m] * (1 - 1e-9), "job %zu runs at %.17g, needs %.17g", m,
                    speed, need[m]);
        WORLD_CLAIM(w, r->slope[m] >= 0, "job %zu has the slope %g", m, r->slope[m]);
    }
    double below = r->bound * (1 - 2e-9);
    if (below > low)
        claim_out_of_reach(w, below, r->price);
}

static void every_theta_is_feasible_and_none_below_its_bound_is(void **state)
{
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(3000); i++) {
        world_make(&world, (uint64_t)i, 60);
        make_curve(&curve, &world, (enum shape)(i / WORLD_FAMILIES % SHAPES));
        if (i % 5 == 0)
            num_share_cold(s);
        struct num_share_result r = solve(s, &world, 1e-6, 1e9);
        claim_proven(&world, 1e-6, 1e9, &r);
    }
    num_share_free(s);
}

static void large_problems_are_proven_too(void **state)
{
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(100); i++) {
        world_make_large(&world, (uint64_t)i);
        make_curve(&curve, &world, (enum shape)(i / WORLD_FAMILIES % SHAPES));
        if (i % 2 == 0)
            num_share_cold(s);
        struct num_share_result r = solve(s, &world, 1e-6, 1e9);
        claim_proven(&world, 1e-6, 1e9, &r);
    }
    num_share_free(s);
}

/* need = left / theta: theta is 1 / level of num_share_level. */
static void makespan_is_the_inverse_of_a_level(void **state)
{
    struct num_share *s = world_solver(NULL), *l = world_solver(NULL);
    struct num_share_result level;

    (void)state;
    for (int i = 0; i < property_count(1000); i++) {
        world_make(&world, (uint64_t)i, 60);
        make_curve(&curve, &world, MAKESPAN);
        struct num_share_result r = solve(s, &world, 1e-6, 1e12);
        WORLD_CLAIM(&world, num_share_level(l, &world.p, curve.left, &level) == SHOAL_OK,
                    "the call failed");
        if (level.level > 0)
            WORLD_CLAIM(&world, fabs(r.level * level.level - 1) <= 4e-9, "theta %.17g, level %.17g",
                        r.level, level.level);
        else
            WORLD_CLAIM(&world, isinf(r.level), "theta %.17g where nothing can end", r.level);
    }
    num_share_free(s);
    num_share_free(l);
}

static void the_ends_of_the_range_are_respected(void **state)
{
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(500); i++) {
        world_make(&world, (uint64_t)i, 40);
        make_curve(&curve, &world, FINISH_TIME);
        struct num_share_result r = solve(s, &world, 1e-6, 1e9);
        if (isinf(r.level))
            continue;
        double theta = r.level;
        r = solve(s, &world, theta * 1.5, theta * 4); /* feasible from the start */
        WORLD_CLAIM(&world, r.level == theta * 1.5, "theta %.17g, range from %.17g", r.level,
                    theta * 1.5);
        claim_proven(&world, theta * 1.5, theta * 4, &r);
        r = solve(s, &world, theta * 0.1, theta * 0.9); /* not feasible in the range */
        WORLD_CLAIM(&world, isinf(r.level), "theta %.17g, best %.17g", r.level, theta);
        claim_proven(&world, theta * 0.1, theta * 0.9, &r);
        r = solve(s, &world, theta * 0.9, theta * 1.1);
        WORLD_CLAIM(&world, fabs(r.level - theta) <= 2e-9 * theta, "%.17g and %.17g", r.level,
                    theta);
        claim_proven(&world, theta * 0.9, theta * 1.1, &r);
    }
    num_share_free(s);
}

static void a_warm_call_is_as_good_as_a_cold_one(void **state)
{
    struct num_share *warm = world_solver(NULL), *cold = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(700); i++) {
        world_make(&world, (uint64_t)i, 60);
        make_curve(&curve, &world, FINISH_TIME);
        (void)solve(warm, &world, 1e-6, 1e9);
        size_t m = base_rand_below(&world.rand, world.p.job_count);
        curve.left[m] *= base_rand_range(&world.rand, 0.2, 5);
        world.p.capacity[0] = floor(world.p.capacity[0] * base_rand_range(&world.rand, 0.5, 1.5));
        struct num_share_result w = solve(warm, &world, 1e-6, 1e9);
        num_share_cold(cold);
        struct num_share_result c = solve(cold, &world, 1e-6, 1e9);
        claim_proven(&world, 1e-6, 1e9, &w);
        WORLD_CLAIM(&world, w.level == c.level || fabs(w.level - c.level) <= 2e-9 * c.level,
                    "warm %.17g, cold %.17g", w.level, c.level);
    }
    num_share_free(warm);
    num_share_free(cold);
}

static void two_solvers_give_the_same_bits(void **state)
{
    (void)state;
    for (int i = 0; i < property_count(300); i++) {
        struct num_share *a = world_solver(NULL), *b = world_solver(NULL);
        world_make(&world, (uint64_t)i, 60);
        make_curve(&curve, &world, (enum shape)(i % SHAPES));
        struct num_share_result first = solve(a, &world, 1e-6, 1e9);
        struct num_share_result second = solve(b, &world, 1e-6, 1e9);
        world_claim_equal_bits(&world, &first, &second);
        num_share_free(a);
        num_share_free(b);
    }
}

static void need_that_is_not_a_number(void *ctx, double theta, double *out_need)
{
    need_at(ctx, theta, out_need);
    out_need[0] = NAN;
}

static void need_below_zero(void *ctx, double theta, double *out_need)
{
    need_at(ctx, theta, out_need);
    out_need[0] = -1;
}

static void bad_values_are_refused_and_the_result_stays(void **state)
{
    static const double ends[][2] = {{NAN, 1}, {1, NAN}, {2, 1}, {-INFINITY, 1}, {0, INFINITY}};
    struct num_share *s = world_solver(NULL);
    struct num_share_result r;

    (void)state;
    world_make(&world, 0, 20);
    make_curve(&curve, &world, FINISH_TIME);
    world_stain(&r);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        assert_int_equal(num_share_curve(s, &world.p, ends[i][0], ends[i][1], need_at, &curve, &r),
                         SHOAL_E_INVAL);
    assert_int_equal(num_share_curve(s, &world.p, 1e-6, 1e9, need_that_is_not_a_number, &curve, &r),
                     SHOAL_E_INVAL);
    assert_int_equal(num_share_curve(s, &world.p, 1e-6, 1e9, need_below_zero, &curve, &r),
                     SHOAL_E_INVAL);
    world.rate[0] = NAN;
    assert_int_equal(num_share_curve(s, &world.p, 1e-6, 1e9, need_at, &curve, &r), SHOAL_E_INVAL);
    assert_true(world_stained(&r));
    world_make(&world, 0, 20);
    r = solve(s, &world, 1e-6, 1e9);
    claim_proven(&world, 1e-6, 1e9, &r);
    num_share_free(s);
}

static void no_need_at_all_is_the_low_end(void **state)
{
    struct num_share *s = world_solver(NULL);

    (void)state;
    world_make(&world, 0, 20);
    make_curve(&curve, &world, MAKESPAN);
    memset(curve.left, 0, sizeof curve.left);
    assert_true(solve(s, &world, 0.5, 1e9).level == 0.5);
    world.p.job_count = 0;
    assert_true(solve(s, &world, 0.5, 1e9).level == 0.5);
    num_share_free(s);
}

static shoal_status solve_once(const struct base_alloc *alloc, void *ctx)
{
    struct num_share *s = NULL;
    struct num_share_result r;

    shoal_status st = num_share_new(alloc, NULL, &s);
    if (st == SHOAL_OK)
        st = num_share_curve(s, &world.p, 1e-6, 1e9, need_at, ctx, &r);
    num_share_free(s);
    return st;
}

static void refused_memory_is_an_error_and_nothing_leaks(void **state)
{
    (void)state;
    base_rand_init(&world.rand, 1, "torture");
    world_make_sized(&world, 0, 100, 3);
    make_curve(&curve, &world, FINISH_TIME);
    torture_run(solve_once, &curve);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_theta_is_feasible_and_none_below_its_bound_is),
        cmocka_unit_test(large_problems_are_proven_too),
        cmocka_unit_test(makespan_is_the_inverse_of_a_level),
        cmocka_unit_test(the_ends_of_the_range_are_respected),
        cmocka_unit_test(a_warm_call_is_as_good_as_a_cold_one),
        cmocka_unit_test(two_solvers_give_the_same_bits),
        cmocka_unit_test(bad_values_are_refused_and_the_result_stays),
        cmocka_unit_test(no_need_at_all_is_the_low_end),
        cmocka_unit_test(refused_memory_is_an_error_and_nothing_leaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
