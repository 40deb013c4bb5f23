/* Tests of src/market/bound.c and its parts. */
#include "property.h"
#include "small_world.h"
#include "torture.h"

#include "base/alloc.h"
#include "market/bound.h"
#include "market/replay_pace.h"

static struct small_world world;

static struct market_bound bound_of(double cell_s)
{
    struct market_bound b;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = market_bound(&base_alloc_libc, &world.market, &world.jobs[0],
                                   &(struct market_bound_opts){.cell_s = cell_s}, &b, &err);

    if (st != SHOAL_OK)
        fail_msg("%s", err.message);
    return b;
}

/* --- the specification: every path over a grid of instants --- */

/* Worlds whose prices change every CELL seconds only, so a path is a choice for each cell. */
enum { CELL = 100, CELLS = 6, PATH_OFFERS = 3 };

static double price(uint32_t offer, int cell)
{
    size_t cursor = 0;

    return market_price_at(&world.prices, offer, cell * (double)CELL, &cursor, NULL);
}

/* Goes on from `cell` with what has been made and spent, on `held` since `run_from` (the first
 * step); as the replay would: leaving writes a checkpoint in the last seconds. Returns the least
 * dollars. */
static double best_path(int cell, double kept, double usd, uint32_t held, double run_from,
                        uint32_t checkpoint)
{
    double now = cell * (double)CELL, best = INFINITY, work = world.jobs[0].work;
    struct market_pace pace = {0, world.costs.checkpoint_every_s, world.costs.checkpoint_s};

    if (held != MARKET_NONE) {
        pace.speed = world.speed[world.offers[held].kind];
        double done = run_from + market_pace_s(pace, work - kept);
        if (done <= now) { /* it ended within the last cell, which was paid to its end */
            double over = now - done;
            return usd - over * price(held, cell - 1) / 3600;
        }
    }
    if (cell == CELLS)
        return INFINITY;
    if (held != MARKET_NONE && !isnan(price(held, cell))) /* stay */
        best = best_path(cell + 1, kept, usd + price(held, cell) * CELL / 3600, held, run_from,
                         checkpoint);
    if (held != MARKET_NONE) { /* leave: the last checkpoint_s made no steps */
        double gain = market_pace_made(pace, now - run_from - world.costs.checkpoint_s);
        kept += gain;
        checkpoint = gain > 0 ? held : checkpoint;
    }
    best = fmin(best, best_path(cell + 1, kept, usd, MARKET_NONE, 0, checkpoint));
    for (uint32_t o = 0; o < world.prices.offer_count; o++) {
        if (isnan(price(o, cell)))
            continue;
        double from =
            now + market_move_s(&world.prices, &world.jobs[0], &world.costs, checkpoint, o);
        double egress = market_move_usd(&world.prices, &world.jobs[0], &world.costs, checkpoint, o);
        best = fmin(best, best_path(cell + 1, kept, usd + egress + price(o, cell) * CELL / 3600, o,
                                    from, checkpoint));
    }
    return best;
}

static void grid_world(struct base_rand *rand)
{
    small_world(&world, rand, &(struct small_shape){PATH_OFFERS, 0, CELLS, CELLS * CELL, 10, 0.3});
    for (size_t o = 0; o < PATH_OFFERS; o++) {
        for (size_t k = 0; k < CELLS; k++)
            world.points[world.offers[o].first + k].at_s = (double)(k * CELL);
    }
    world.costs.startup_s = (double)base_rand_below(rand, 30);
    world.costs.checkpoint_s = (double)base_rand_below(rand, 5);
    world.jobs[0].work = 50 + (double)base_rand_below(rand, 1000);
    world.jobs[0].checkpoint_gb = (double)base_rand_below(rand, 3);
}

static void the_bound_is_below_every_path_and_the_plan_is_one(void **state)
{
    struct base_rand rand;
    int possible = 0, count = property_count(150);
    double over = 0;

    (void)state;
    base_rand_init(&rand, 1, "bound");
    for (int n = 0; n < count; n++) {
        grid_world(&rand);
        double best = best_path(0, 0, 0, MARKET_NONE, 0, MARKET_NONE);
        struct market_bound b = bound_of(0), coarse = bound_of(150);
        if (b.usd > best * (1 + 1e-9))
            fail_msg("case %d: bound %.9f, but a path costs %.9f", n, b.usd, best);
        assert_true(coarse.usd <= b.usd * (1 + 2e-5)); /* each search stops within 1e-5 */
        assert_true(b.plan_usd >= b.usd * (1 - 1e-9));
        if (b.plan_usd < INFINITY) {
            double steps = 0, usd = 0;
            for (size_t i = 0; i < b.plan_count; i++) {
                steps += b.plan[i].steps;
                usd += b.plan[i].usd + b.plan[i].egress_usd;
                assert_true(i == 0 || b.plan[i].from_s >= b.plan[i - 1].to_s);
            }
            assert_true(fabs(steps - world.jobs[0].work) < 1e-6);
            assert_true(fabs(usd - b.plan_usd) < 1e-9);
        }
        if (best < INFINITY) {
            possible++;
            over += best / b.usd - 1;
        }
        market_bound_fini(&coarse);
        market_bound_fini(&b);
    }
    /* tiny worlds have large duality gaps: one stay more or less is much of them */
    print_message("%d of %d possible; the best path is %.1f %% over the bound on average\n",
                  possible, count, 100 * over / possible);
    assert_true(possible > count / 3);
    assert_true(over / possible < 0.25);
}

/* A long transfer is cheaper on a slow instance: paths that carry their checkpoint so. */
static void heavy_checkpoints_do_not_lift_the_bound_above_a_path(void **state)
{
    struct base_rand rand;
    int possible = 0, count = property_count(300);

    (void)state;
    base_rand_init(&rand, 6, "bound");
    for (int n = 0; n < count; n++) {
        grid_world(&rand);
        world.jobs[0].checkpoint_gb = 5 + (double)base_rand_below(&rand, 60);
        for (size_t k = 0; k < SMALL_KINDS; k++)
            world.speed[k] = base_rand_below(&rand, 2) == 0 ? 1 : 8;
        for (size_t o = 0; o < PATH_OFFERS; o++) { /* slow ones cost little */
            if (world.speed[world.offers[o].kind] > 1)
                continue;
            for (size_t k = 0; k < CELLS; k++)
                world.points[world.offers[o].first + k].usd_h /= 100;
        }
        world.jobs[0].work = 500 + (double)base_rand_below(&rand, 3000);
        double best = best_path(0, 0, 0, MARKET_NONE, 0, MARKET_NONE);
        struct market_bound b = bound_of(0);
        if (b.usd > fmin(best, b.plan_usd) * (1 + 1e-9))
            fail_msg("case %d: bound %.9f, a path costs %.9f, the plan %.9f", n, b.usd, best,
                     b.plan_usd);
        possible += best < INFINITY;
        market_bound_fini(&b);
    }
    assert_true(possible > count / 4);
}

static void no_strategy_ever_pays_less_than_the_bound(void **state)
{
    static const struct small_shape shape = {5, 2, 30, 20000, 400, 0.4};
    struct base_rand rand;
    size_t count;
    const struct market_strategy *const *rows = market_strategies(&count);
    int done = 0;

    (void)state;
    base_rand_init(&rand, 2, "bound");
    for (int n = 0; n < property_count(300); n++) {
        small_world(&world, &rand, &shape);
        world.jobs[0].work = 500 + (double)base_rand_below(&rand, 20000);
        world.jobs[0].deadline_s = 2000 + (double)base_rand_below(&rand, 18000);
        struct market_bound b = bound_of(0);
        for (size_t s = 0; s <= count; s++) {
            const struct market_strategy *strategy = s == count ? &small_wander : rows[s];
            _Alignas(16) char knobs[512];
            struct market_replay_opts opts = {.strategy = strategy, .knobs = knobs, .step_s = 300};
            struct market_result r;
            assert_true(strategy->knobs_size <= sizeof knobs);
            base_opt_defaults(strategy->opts, strategy->opt_count, knobs);
            assert_int_equal(
                market_replay(&base_alloc_libc, &world.market, world.jobs, 1, &opts, &r, NULL),
                SHOAL_OK);
            if (r.unfinished == 0 && r.missed == 0) {
                done++;
                if (r.usd < b.usd * (1 - 1e-9))
                    fail_msg("case %d: %s pays %.9f, the bound is %.9f", n, strategy->name, r.usd,
                             b.usd);
            }
            market_result_fini(&r);
        }
        market_bound_fini(&b);
    }
    assert_true(done > property_count(300));
}

static void work_that_no_plan_can_do_has_no_finite_bound(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 3, "bound");
    grid_world(&rand);
    world.jobs[0].work = 1e9;
    struct market_bound b = bound_of(0);
    assert_true(b.usd == INFINITY && b.plan_usd == INFINITY && b.plan_count == 0);
    market_bound_fini(&b);
}

static void where_nothing_can_be_had_the_search_ends(void **state)
{
    const bool none[PATH_OFFERS] = {false};
    struct market_bound b;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 4, "bound");
    grid_world(&rand);
    assert_int_equal(market_bound(&base_alloc_libc,
                                  &(struct market_world){&world.prices, NULL, &world.costs, none},
                                  &world.jobs[0], &(struct market_bound_opts){0}, &b, NULL),
                     SHOAL_OK);
    assert_true(b.usd == INFINITY && b.plan_usd == INFINITY && b.plan_count == 0);
    market_bound_fini(&b);
}

static void cells_too_short_to_count_are_refused(void **state)
{
    const double cells[] = {1e-9, 0.5, -1, NAN};
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 5, "bound");
    grid_world(&rand);
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        struct market_bound b;
        assert_int_equal(market_bound(&base_alloc_libc, &world.market, &world.jobs[0],
                                      &(struct market_bound_opts){.cell_s = cells[i]}, &b, NULL),
                         SHOAL_E_INVAL);
    }
}

static void a_search_that_is_stopped_says_so_and_leaves_nothing(void **state)
{
    atomic_bool stop = true;
    struct market_bound b = {.usd = -1};
    struct base_rand rand;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    base_rand_init(&rand, 6, "bound");
    grid_world(&rand);
    assert_int_equal(market_bound(&base_alloc_libc, &world.market, &world.jobs[0],
                                  &(struct market_bound_opts){.stop = &stop}, &b, &err),
                     SHOAL_E_CANCELLED);
    assert_true(b.usd == -1 && err.code == SHOAL_E_CANCELLED);
}

static shoal_status bound_once(const struct base_alloc *alloc, void *ctx)
{
    struct market_bound b = {0};

    (void)ctx;
    shoal_status st = market_bound(alloc, &world.market, &world.jobs[0],
                                   &(struct market_bound_opts){0}, &b, NULL);
    market_bound_fini(&b);
    return st;
}

static void every_failed_allocation_ends_in_an_error(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 4, "bound");
    small_world(&world, &rand, &(struct small_shape){4, 1, 20, 8000, 400, 0.3});
    world.jobs[0].work = 3000;
    torture_run_sampled(bound_once, NULL, 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_is_below_every_path_and_the_plan_is_one),
        cmocka_unit_test(heavy_checkpoints_do_not_lift_the_bound_above_a_path),
        cmocka_unit_test(no_strategy_ever_pays_less_than_the_bound),
        cmocka_unit_test(work_that_no_plan_can_do_has_no_finite_bound),
        cmocka_unit_test(where_nothing_can_be_had_the_search_ends),
        cmocka_unit_test(cells_too_short_to_count_are_refused),
        cmocka_unit_test(a_search_that_is_stopped_says_so_and_leaves_nothing),
        cmocka_unit_test(every_failed_allocation_ends_in_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
