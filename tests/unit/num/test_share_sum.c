/* ctest: timeout=600 */
/* Tests of num_share_sum (src/num/share_sum.c). Shares that exist and keep the floors prove the sum
 * from below, the prices prove the bound from above (share_proof.h). */
#include "unit/num/share_proof.h"

static struct world world, other; /* large */
static double value[WORLD_JOBS_MAX * NUM_KINDS_MAX], least[WORLD_JOBS_MAX];

enum worth { THROUGHPUT, COST, MIXED, WORTHS };

/* Values as objectives have them, or of any sign; also where the job cannot run. */
static void make_values(struct world *w, enum worth worth)
{
    uint32_t kinds = w->p.kind_count;
    double usd[NUM_KINDS_MAX];

    for (uint32_t j = 0; j < kinds; j++)
        usd[j] = base_rand_range(&w->rand, 0.3, 3);
    for (size_t m = 0; m < w->p.job_count; m++) {
        double top = fmax(world_top(&w->p, m), 1e-3);
        for (uint32_t j = 0; j < kinds; j++) {
            double speed = w->weight[m] * w->rate[m * kinds + j] / top;
            value[m * kinds + j] = worth == THROUGHPUT ? speed
                                   : worth == COST     ? speed / usd[j]
                                                       : base_rand_range(&w->rand, -1, 1);
        }
    }
}

/* Floors at `part` of the largest level that all can have: feasible together below 1. */
static bool make_floors(struct num_share *s, struct world *w, double part)
{
    struct num_share_result r;

    WORLD_CLAIM(w, num_share_level(s, &w->p, w->need, &r) == SHOAL_OK, "the call failed");
    for (size_t m = 0; m < w->p.job_count; m++)
        least[m] = isinf(r.level) ? 0 : part * r.level * w->need[m];
    return r.level > 0 && !isinf(r.level);
}

static struct num_share_result solve(struct num_share *s, const struct world *w,
                                     const double *floors)
{
    struct num_share_result r;

    shoal_status st = num_share_sum(s, &w->p, value, floors, &r);
    WORLD_CLAIM(w, st == SHOAL_OK, "the call failed: %s", shoal_status_name(st));
    return r;
}

/* What the sums are compared in: the part of them that does not cancel. */
static double scale_of(const struct world *w, const struct num_share_result *r)
{
    double scale = 1e-12;

    for (size_t m = 0; m < w->p.job_count; m++)
        for (uint32_t j = 0; j < w->p.kind_count; j++) {
            size_t cell = m * w->p.kind_count + j;
            scale += world_count(&w->p, m) * fabs(value[cell]) * r->x[cell];
        }
    return scale;
}

static void claim_proven(const struct world *w, const double *floors,
                         const struct num_share_result *r)
{
    const struct num_share_problem *p = &w->p;
    double sum = 0, scale = scale_of(w, r);

    world_claim_feasible(w, r);
    for (size_t m = 0; m < p->job_count; m++) {
        double speed = world_speed(p, r->x, m);
        for (uint32_t j = 0; j < p->kind_count; j++)
            sum += world_count(p, m) * value[m * p->kind_count + j] * r->x[m * p->kind_count + j];
        WORLD_CLAIM(w, floors == NULL || speed >= floors[m] * (1 - 1e-9),
                    "job %zu runs at %.17g, floor %.17g", m, speed, floors[m]);
    }
    WORLD_CLAIM(w, fabs(sum - r->level) <= 1e-10 * scale, "the sum is %.17g, said %.17g", sum,
                r->level);
    WORLD_CLAIM(w, r->exact && r->bound >= r->level && r->bound - r->level <= 1.001e-9 * scale,
                "%s, sum %.17g, bound %.17g", r->exact ? "exact" : "not exact", r->level, r->bound);
    double proven = proof_sum(p, value, floors, r->price);
    WORLD_CLAIM(w, proven <= r->bound + 1e-10 * scale, "prices prove %.17g, the bound is %.17g",
                proven, r->bound);
    WORLD_CLAIM(w, proven >= r->level - 1e-10 * scale, "prices prove %.17g, below the sum %.17g",
                proven, r->level);
}

static void every_sum_is_feasible_and_proven_by_its_prices(void **state)
{
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(4000); i++) {
        world_make(&world, (uint64_t)i, 60);
        make_values(&world, (enum worth)(i / WORLD_FAMILIES % WORTHS));
        if (i % 3 == 0)
            num_share_cold(s);
        struct num_share_result r = solve(s, &world, NULL);
        claim_proven(&world, NULL, &r);
    }
    num_share_free(s);
}

static void floors_are_kept_and_the_rest_is_still_the_best(void **state)
{
    static const double parts[] = {0, 0.3, 0.9, 0.999};
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(4000); i++) {
        world_make(&world, (uint64_t)i, 60);
        make_values(&world, (enum worth)(i / WORLD_FAMILIES % WORTHS));
        make_floors(s, &world, parts[i / 3 % 4]);
        if (i % 2 == 0) /* some without a floor */
            for (size_t m = 0; m < world.p.job_count; m += 3)
                least[m] = 0;
        if (i % 3 == 0)
            num_share_cold(s);
        struct num_share_result r = solve(s, &world, least);
        claim_proven(&world, least, &r);
    }
    num_share_free(s);
}

static void large_problems_are_proven_too(void **state)
{
    static const double parts[] = {0, 0.3, 0.9, 0.999};
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(120); i++) {
        world_make_large(&world, (uint64_t)i);
        make_values(&world, (enum worth)(i / WORLD_FAMILIES % WORTHS));
        make_floors(s, &world, parts[i / 3 % 4]);
        if (i % 2 == 0)
            num_share_cold(s);
        struct num_share_result r = solve(s, &world, least);
        claim_proven(&world, least, &r);
    }
    num_share_free(s);
}

/* Floors that take all there is, to the last digits. Whichever way rounding decides, the answer is
 * proven and does not take forever. */
static void floors_at_the_very_edge_are_kept_or_impossible(void **state)
{
    static const double edges[] = {1e-8, 1e-9, 1e-10, 1e-12, 0};
    struct num_share *s = world_solver(NULL);
    int kept = 0;

    (void)state;
    for (int i = 0; i < property_count(1500); i++) {
        struct num_share_result r;
        world_make(&world, (uint64_t)i, 30);
        make_values(&world, (enum worth)(i / WORLD_FAMILIES % WORTHS));
        make_floors(s, &world, 1 - edges[i % 5]);
        shoal_status st = num_share_sum(s, &world.p, value, least, &r);
        WORLD_CLAIM(&world, st == SHOAL_OK || (st == SHOAL_E_IMPOSSIBLE && edges[i % 5] < 1e-9),
                    "%g below the edge: %s", edges[i % 5], shoal_status_name(st));
        if (st != SHOAL_OK)
            continue;
        kept++;
        if (r.exact)
            claim_proven(&world, least, &r);
        else /* said so, and close */
            WORLD_CLAIM(&world, r.bound - r.level <= 1e-6 * scale_of(&world, &r),
                        "sum %.17g, bound %.17g", r.level, r.bound);
        world_claim_feasible(&world, &r);
        WORLD_CLAIM(&world, r.passes < 1500, "%u passes over %zu jobs", r.passes,
                    world.p.job_count);
    }
    assert_true(kept > 500);
    num_share_free(s);
}

/* Two GPUs of a fast kind for ten million jobs, and floors at what they can have together: no bound is
 * known yet when the climb loses its footing. */
static void floors_of_very_many_jobs_at_the_edge_are_no_bad_values(void **state)
{
    static const double rate[] = {3810.3555273293605, 3029.808573822483}, one[] = {1},
                        count[] = {1e7}, left[] = {2e12};
    struct num_share_problem p = {.kind_count = 2,
                                  .capacity = {2, 1e9},
                                  .job_count = 1,
                                  .rate = rate,
                                  .gpus = one,
                                  .count = count};
    struct num_share *s = world_solver(NULL);
    struct num_share_result r;

    (void)state;
    assert_int_equal(num_share_level(s, &p, left, &r), SHOAL_OK);
    double floor = left[0] * r.level * (1 - 1e-9);
    double worth[] = {1, rate[1] / rate[0]};
    assert_int_equal(num_share_sum(s, &p, worth, &floor, &r), SHOAL_OK);
    assert_true(world_speed(&p, r.x, 0) >= floor * (1 - 1e-9));
    assert_true(isfinite(r.level) && r.level <= r.bound);
    num_share_free(s);
}

static void floors_that_cannot_be_kept_together_are_impossible(void **state)
{
    struct num_share *s = world_solver(NULL);
    struct num_share_result r;
    int met = 0;

    (void)state;
    for (int i = 0; i < property_count(1500); i++) {
        world_make(&world, (uint64_t)i, 60);
        make_values(&world, (enum worth)(i / WORLD_FAMILIES % WORTHS));
        bool some = make_floors(s, &world, i % 2 == 0 ? 1.001 : 3);
        if (!some && world.family != WORLD_EMPTY_CLUSTER)
            continue;
        if (!some) /* no GPU at all: any floor is too much */
            least[0] = 1e-3;
        met++;
        world_stain(&r);
        shoal_status st = num_share_sum(s, &world.p, value, least, &r);
        WORLD_CLAIM(&world, st == SHOAL_E_IMPOSSIBLE, "returned %s", shoal_status_name(st));
        WORLD_CLAIM(&world, world_stained(&r), "the result was touched");
    }
    assert_true(met > 500);
    num_share_free(s);
}

/* Sums are concave in the capacities: prices overestimate what more adds. */
static void a_price_is_what_one_more_gpu_adds_at_most(void **state)
{
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(1000); i++) {
        world_make(&world, (uint64_t)i, 40);
        make_values(&world, (enum worth)(i / WORLD_FAMILIES % WORTHS));
        make_floors(s, &world, 0.9);
        struct num_share_result r = solve(s, &world, least);
        double scale = scale_of(&world, &r), before = r.level;
        uint32_t j = (uint32_t)base_rand_below(&world.rand, world.p.kind_count);
        double more = base_rand_range(&world.rand, 0, 2), gain = more * r.price[j];
        world.p.capacity[j] += more;
        r = solve(s, &world, least);
        WORLD_CLAIM(&world, r.level <= before + gain + 4e-9 * fmax(scale, scale_of(&world, &r)),
                    "%g more of kind %u: %.17g to %.17g, at most %g more", more, j, before, r.level,
                    gain);
    }
    num_share_free(s);
}

static void a_warm_call_is_as_good_as_a_cold_one(void **state)
{
    struct num_share *warm = world_solver(NULL), *cold = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(1000); i++) {
        world_make(&world, (uint64_t)i, 60);
        make_values(&world, (enum worth)(i / WORLD_FAMILIES % WORTHS));
        make_floors(cold, &world, 0.8);
        (void)solve(warm, &world, least);
        size_t m = base_rand_below(&world.rand, world.p.job_count);
        for (uint32_t j = 0; j < world.p.kind_count; j++)
            value[m * world.p.kind_count + j] *= base_rand_range(&world.rand, 0.5, 2);
        least[m] /= 2;
        struct num_share_result w = solve(warm, &world, least);
        num_share_cold(cold);
        struct num_share_result c = solve(cold, &world, least);
        claim_proven(&world, least, &w);
        WORLD_CLAIM(&world, fabs(w.level - c.level) <= 4e-9 * scale_of(&world, &c),
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
        make_values(&world, (enum worth)(i % WORTHS));
        struct num_share_result first = solve(a, &world, NULL);
        struct num_share_result second = solve(b, &world, NULL);
        world_claim_equal_bits(&world, &first, &second);
        num_share_free(a);
        num_share_free(b);
    }
}

static void a_team_gives_the_same_sum(void **state)
{
    struct num_team backwards = {3, world_run_backwards, NULL};
    struct num_share *alone = world_solver(NULL), *team = world_solver(&backwards);

    (void)state;
    for (int i = 0; i < property_count(200); i++) {
        world_make(&world, (uint64_t)i, 60);
        make_values(&world, (enum worth)(i / WORLD_FAMILIES % WORTHS));
        make_floors(alone, &world, 0.8);
        double sum = solve(alone, &world, least).level;
        struct num_share_result r = solve(team, &world, least);
        claim_proven(&world, least, &r);
        WORLD_CLAIM(&world, fabs(r.level - sum) <= 2e-9 * scale_of(&world, &r),
                    "alone %.17g, in three parts %.17g", sum, r.level);
    }
    num_share_free(alone);
    num_share_free(team);
}

static void simple_cases_have_the_answers_worked_out_by_hand(void **state)
{
    struct num_share *s = world_solver(NULL);
    double rate[] = {4, 1, 2, 2}, gpus[] = {1, 1}, floors[] = {0, 1};
    double worth[] = {4, 1, 2, 2};
    struct num_share_problem p = {
        .kind_count = 2, .capacity = {1, 0}, .job_count = 2, .rate = rate, .gpus = gpus};
    struct num_share_result r;

    (void)state;
    assert_int_equal(num_share_sum(s, &p, worth, NULL, &r), SHOAL_OK); /* job 0 has the GPU */
    assert_true(fabs(r.level - 4) < 1e-8 && fabs(r.x[0] - 1) < 1e-8);
    assert_int_equal(num_share_sum(s, &p, worth, floors, &r), SHOAL_OK); /* halves */
    assert_true(fabs(r.level - 3) < 1e-8 && fabs(r.x[2] - 0.5) < 1e-8);
    assert_true(fabs(r.price[0] - 4) < 1e-8 && r.slope == NULL);
    worth[2] = worth[3] = -1; /* held up by its floor alone */
    assert_int_equal(num_share_sum(s, &p, worth, floors, &r), SHOAL_OK);
    assert_true(fabs(r.level - 1.5) < 1e-8);
    memset(worth, 0, sizeof worth);
    assert_int_equal(num_share_sum(s, &p, worth, floors, &r), SHOAL_OK);
    assert_true(r.level == 0 && r.exact);
    floors[1] = 2.1; /* above its top speed */
    assert_int_equal(num_share_sum(s, &p, worth, floors, &r), SHOAL_E_IMPOSSIBLE);
    p.job_count = 0;
    assert_int_equal(num_share_sum(s, &p, NULL, NULL, &r), SHOAL_OK);
    assert_true(r.level == 0 && r.exact);
    num_share_free(s);
}

static void refuse(struct num_share *s, struct world *w, const char *what, double *cell, double bad)
{
    double good = *cell;
    struct num_share_result r;

    world_stain(&r);
    *cell = bad;
    shoal_status st = num_share_sum(s, &w->p, value, least, &r);
    WORLD_CLAIM(w, st == SHOAL_E_INVAL, "%s %g: %s", what, bad, shoal_status_name(st));
    assert_true(world_stained(&r));
    *cell = good;
}

static void bad_values_are_refused_and_the_result_stays(void **state)
{
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        world_make(&world, seed, 40);
        make_values(&world, (enum worth)(seed % WORTHS));
        make_floors(s, &world, 0.5);
        size_t m = base_rand_below(&world.rand, world.p.job_count);
        uint32_t j = (uint32_t)base_rand_below(&world.rand, world.p.kind_count);
        double *cell = &value[m * world.p.kind_count + j];
        refuse(s, &world, "value", cell, NAN);
        refuse(s, &world, "value", cell, INFINITY);
        refuse(s, &world, "value", cell, -INFINITY);
        refuse(s, &world, "floor", &least[m], NAN);
        refuse(s, &world, "floor", &least[m], -1);
        refuse(s, &world, "floor", &least[m], INFINITY);
        refuse(s, &world, "rate", &world.rate[m * world.p.kind_count + j], NAN);
        refuse(s, &world, "capacity", &world.p.capacity[j], -1);
        refuse(s, &world, "gpus", &world.gpus[m], 0);
        struct num_share_result r = solve(s, &world, least);
        claim_proven(&world, least, &r);
    }
    num_share_free(s);
}

static shoal_status solve_once(const struct base_alloc *alloc, void *ctx)
{
    const struct world *w = ctx;
    struct num_share *s = NULL;
    struct num_share_result r;

    shoal_status st = num_share_new(alloc, NULL, &s);
    if (st == SHOAL_OK)
        st = num_share_sum(s, &w->p, value, least, &r);
    num_share_free(s);
    return st;
}

static void refused_memory_is_an_error_and_nothing_leaks(void **state)
{
    struct num_share *s = world_solver(NULL);

    (void)state;
    base_rand_init(&other.rand, 2, "torture");
    world_make_sized(&other, 14, 100, 4);
    make_values(&other, COST);
    make_floors(s, &other, 0.9);
    num_share_free(s);
    torture_run(solve_once, &other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sum_is_feasible_and_proven_by_its_prices),
        cmocka_unit_test(floors_are_kept_and_the_rest_is_still_the_best),
        cmocka_unit_test(large_problems_are_proven_too),
        cmocka_unit_test(floors_at_the_very_edge_are_kept_or_impossible),
        cmocka_unit_test(floors_of_very_many_jobs_at_the_edge_are_no_bad_values),
        cmocka_unit_test(floors_that_cannot_be_kept_together_are_impossible),
        cmocka_unit_test(a_price_is_what_one_more_gpu_adds_at_most),
        cmocka_unit_test(a_warm_call_is_as_good_as_a_cold_one),
        cmocka_unit_test(two_solvers_give_the_same_bits),
        cmocka_unit_test(a_team_gives_the_same_sum),
        cmocka_unit_test(simple_cases_have_the_answers_worked_out_by_hand),
        cmocka_unit_test(bad_values_are_refused_and_the_result_stays),
        cmocka_unit_test(refused_memory_is_an_error_and_nothing_leaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
