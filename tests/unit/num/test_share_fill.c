/* ctest: full timeout=600 */
/* Tests of num_share_fill (src/num/share_fill.c): on one kind against water filling worked out step
 * by step, in general by what must hold of any filling: shares that exist, jobs that stop either at
 * their top speed or because nothing is left for them. test_share_clp.c compares whole fillings on
 * several kinds with Gavel's procedure. */
#include "unit/num/share_proof.h"
#include "unit/num/share_tree.h"

static struct world world; /* large */
static struct tree_world tree;
static double unit[WORLD_JOBS_MAX];

static struct num_share_result fill(struct num_share *s, const struct world *w,
                                    const struct num_tree *t)
{
    struct num_share_result r;

    shoal_status st = num_share_fill(s, &w->p, unit, t, &r);
    WORLD_CLAIM(w, st == SHOAL_OK, "the call failed: %s", shoal_status_name(st));
    return r;
}

/* --- one kind: the slow way ------------------------------------------------------------------ */

/* Speeds on one kind: all rise as the tree says until one is at its top or the GPUs are used up,
 * which stops everybody. */
static void fill_one_kind(const struct world *w, const struct num_tree *t, double *out_speed)
{
    static bool active[WORLD_JOBS_MAX];
    static double rise[WORLD_JOBS_MAX];
    double left = w->p.capacity[0];
    size_t n = w->p.job_count;

    for (size_t m = 0; m < n; m++) {
        out_speed[m] = 0;
        active[m] = w->rate[m] > 0;
    }
    for (;;) {
        double step = INFINITY, use = 0;
        size_t first = SIZE_MAX;
        tree_rises(t, &w->p, active, rise);
        for (size_t m = 0; m < n; m++) {
            if (rise[m] <= 0)
                continue;
            double until = (w->rate[m] - out_speed[m]) / (rise[m] * unit[m]);
            use += world_count(&w->p, m) * w->gpus[m] * rise[m] * unit[m] / w->rate[m];
            if (until < step) {
                step = until;
                first = m;
            }
        }
        if (first == SIZE_MAX)
            return;
        bool last = use * step >= left;
        step = last ? left / use : step;
        for (size_t m = 0; m < n; m++)
            out_speed[m] += step * rise[m] * unit[m];
        left -= use * step;
        active[first] = false;
        if (last)
            return;
    }
}

static void on_one_kind_it_is_plain_water_filling(void **state)
{
    struct num_share *s = world_solver(NULL);
    static double speed[WORLD_JOBS_MAX];

    (void)state;
    for (int i = 0; i < property_count(1000); i++) {
        base_rand_init(&world.rand, (uint64_t)i, "one-kind");
        world_make_sized(&world, (uint64_t)i, 1 + base_rand_below(&world.rand, 40), 1);
        tree_make(&tree, &world, unit);
        fill_one_kind(&world, &tree.tree, speed);
        struct num_share_result r = fill(s, &world, &tree.tree);
        world_claim_feasible(&world, &r);
        for (size_t m = 0; m < world.p.job_count; m++) {
            double ours = world_speed(&world.p, r.x, m);
            WORLD_CLAIM(&world, fabs(ours - speed[m]) <= 1e-7 * world_top(&world.p, m),
                        "job %zu of node %u runs at %.17g, should at %.17g", m, tree.job_node[m],
                        ours, speed[m]);
        }
    }
    num_share_free(s);
}

/* --- any number of kinds ------------------------------------------------------------------- */

/* The fastest that job m can go while all others keep their speeds, but for rounding: as little as
 * leaves the floors possible, since what others give up can be worth far more to m. */
static double most(struct num_share *s, const struct world *w, const double *speed, size_t m)
{
    static double value[WORLD_JOBS_MAX * NUM_KINDS_MAX], least[WORLD_JOBS_MAX];
    uint32_t kinds = w->p.kind_count;
    struct num_share_result r = {.level = 0};
    shoal_status st = SHOAL_E_IMPOSSIBLE;

    memset(value, 0, w->p.job_count * kinds * sizeof *value);
    for (uint32_t j = 0; j < kinds; j++)
        value[m * kinds + j] = w->rate[m * kinds + j] / world_count(&w->p, m);
    for (double give = 1e-11; st == SHOAL_E_IMPOSSIBLE && give < 1e-7; give *= 10) {
        for (size_t i = 0; i < w->p.job_count; i++)
            least[i] = i == m ? 0 : speed[i] * (1 - give);
        st = num_share_sum(s, &w->p, value, least, &r);
    }
    WORLD_CLAIM(w, st == SHOAL_OK, "the call failed: %s", shoal_status_name(st));
    return r.level;
}

static void who_stops_is_at_the_top_or_can_get_nothing_more(void **state)
{
    struct num_share *s = world_solver(NULL), *check = world_solver(NULL);
    static double speed[WORLD_JOBS_MAX], slope[WORLD_JOBS_MAX];

    (void)state;
    for (int i = 0; i < property_count(60); i++) {
        world_make(&world, (uint64_t)i, 20);
        tree_make(&tree, &world, unit);
        struct num_share_result r = fill(s, &world, &tree.tree);
        world_claim_feasible(&world, &r);
        WORLD_CLAIM(&world, r.exact, "not exact");
        for (size_t m = 0; m < world.p.job_count; m++) {
            speed[m] = world_speed(&world.p, r.x, m);
            slope[m] = r.slope[m];
        }
        for (size_t m = 0; m < world.p.job_count; m++) {
            double top = proof_top(&world.p, m); /* where there are GPUs */
            WORLD_CLAIM(&world, slope[m] >= 0, "job %zu has the slope %g", m, slope[m]);
            WORLD_CLAIM(&world, slope[m] > 0 || speed[m] >= top * (1 - 1e-7),
                        "job %zu, not held back, runs at %.17g of %.17g", m, speed[m], top);
            if (speed[m] >= top * (1 - 1e-7))
                continue;
            double more = most(check, &world, speed, m);
            WORLD_CLAIM(&world, more <= speed[m] + 1e-5 * top,
                        "job %zu runs at %.17g and could at %.17g", m, speed[m], more);
        }
    }
    num_share_free(s);
    num_share_free(check);
}

/* One queue: every job has all that those before it leave. */
static void in_a_queue_each_job_has_what_those_before_it_leave(void **state)
{
    struct num_share *s = world_solver(NULL), *check = world_solver(NULL);
    static double speed[WORLD_JOBS_MAX], held[WORLD_JOBS_MAX];

    (void)state;
    for (int i = 0; i < property_count(500); i++) {
        struct num_tree_node root = {NUM_TREE_NONE, 1, true};
        struct num_tree queue = {&root, 1, NULL, NULL};
        world_make(&world, (uint64_t)i, 10);
        world.p.count = NULL;
        for (size_t m = 0; m < world.p.job_count; m++)
            unit[m] = fmax(world_top(&world.p, m), 1);
        struct num_share_result r = fill(s, &world, &queue);
        world_claim_feasible(&world, &r);
        for (size_t m = 0; m < world.p.job_count; m++)
            speed[m] = world_speed(&world.p, r.x, m);
        memset(held, 0, sizeof held);
        for (size_t m = 0; m < world.p.job_count; m++) {
            double top = world_top(&world.p, m), more = most(check, &world, held, m);
            WORLD_CLAIM(&world, more <= speed[m] + 1e-4 * top,
                        "job %zu runs at %.17g; those before it leave %.17g", m, speed[m], more);
            held[m] = speed[m];
        }
    }
    num_share_free(s);
    num_share_free(check);
}

/* One flat node of equals: the first bottleneck is where num_share_level ends, and nobody falls
 * below it. */
static void nobody_gets_less_than_the_common_level(void **state)
{
    struct num_share *s = world_solver(NULL), *l = world_solver(NULL);
    struct num_share_result level;

    (void)state;
    for (int i = 0; i < property_count(500); i++) {
        world_make(&world, (uint64_t)i, 60);
        struct num_tree_node root = {NUM_TREE_NONE, 1, false};
        struct num_tree flat = {&root, 1, NULL, world.weight};
        static double need[WORLD_JOBS_MAX];
        for (size_t m = 0; m < world.p.job_count; m++) {
            unit[m] = fmax(world_top(&world.p, m), 0.1);
            need[m] = world_top(&world.p, m) > 0 ? unit[m] * world.weight[m] : 0;
        }
        WORLD_CLAIM(&world, num_share_level(l, &world.p, need, &level) == SHOAL_OK,
                    "the call failed");
        struct num_share_result r = fill(s, &world, &flat);
        world_claim_feasible(&world, &r);
        for (size_t m = 0; m < world.p.job_count; m++)
            WORLD_CLAIM(&world,
                        need[m] <= 0 ||
                            world_speed(&world.p, r.x, m) >= level.level * need[m] * (1 - 1e-7),
                        "job %zu runs at %.17g, the common level gives %.17g", m,
                        world_speed(&world.p, r.x, m), level.level * need[m]);
    }
    num_share_free(s);
    num_share_free(l);
}

static void entities_share_by_weight_and_fifo_serves_in_order(void **state)
{
    struct num_share *s = world_solver(NULL);
    double rate[] = {1, 1, 1, 1, 1}, gpus[] = {1, 1, 1, 1, 1}, units[] = {1, 1, 1, 1, 1};
    struct num_tree_node nodes[] = {
        {NUM_TREE_NONE, 1, false}, {0, 1, false}, {0, 2, true}}; /* entities of weight 1 and 2 */
    uint32_t job_node[] = {1, 1, 2, 2, 2};
    struct num_tree t = {nodes, 3, job_node, NULL};
    struct num_share_problem p = {
        .kind_count = 1, .capacity = {1.5}, .job_count = 5, .rate = rate, .gpus = gpus};
    struct num_share_result r;

    (void)state;
    assert_int_equal(num_share_fill(s, &p, units, &t, &r), SHOAL_OK);
    assert_true(fabs(r.x[0] - 0.25) < 1e-8 && fabs(r.x[1] - 0.25) < 1e-8); /* 0.5 : 1 */
    assert_true(fabs(r.x[2] - 1) < 1e-8 && r.x[3] < 1e-8 && r.x[4] < 1e-8);
    p.capacity[0] = 2.4; /* 0.8 : 1.6, the second in the queue has 0.6 */
    assert_int_equal(num_share_fill(s, &p, units, &t, &r), SHOAL_OK);
    assert_true(fabs(r.x[0] - 0.4) < 1e-8 && fabs(r.x[2] - 1) < 1e-8);
    assert_true(fabs(r.x[3] - 0.6) < 1e-8 && r.x[4] < 1e-8);
    nodes[1].weight = 4; /* the first entity is at its top with 2; what is left goes on */
    assert_int_equal(num_share_fill(s, &p, units, &t, &r), SHOAL_OK);
    assert_true(fabs(r.x[0] - 0.8) < 1e-8 && fabs(r.x[2] - 0.8) < 1e-8);
    p.capacity[0] = 3.5;
    assert_int_equal(num_share_fill(s, &p, units, &t, &r), SHOAL_OK);
    assert_true(fabs(r.x[0] - 1) < 1e-8 && fabs(r.x[2] - 1) < 1e-8 && fabs(r.x[3] - 0.5) < 1e-8);
    assert_true(r.slope[0] == 0 && r.slope[3] > 0);
    rate[2] = 0; /* can run nowhere: holds nobody back */
    assert_int_equal(num_share_fill(s, &p, units, &t, &r), SHOAL_OK);
    assert_true(r.x[2] == 0 && fabs(r.x[3] - 1) < 1e-8 && fabs(r.x[4] - 0.5) < 1e-8);
    num_share_free(s);
}

/* As in test_share_clp.c, up to what a ten millionth more GPUs changes. */
static void a_warm_call_is_as_good_as_a_cold_one(void **state)
{
    struct num_share *warm = world_solver(NULL), *cold = world_solver(NULL);
    static double speed[WORLD_JOBS_MAX], nudged[WORLD_JOBS_MAX];

    (void)state;
    for (int i = 0; i < property_count(200); i++) {
        world_make(&world, (uint64_t)i, 40);
        tree_make(&tree, &world, unit);
        (void)fill(warm, &world, &tree.tree);
        size_t m = base_rand_below(&world.rand, world.p.job_count);
        for (uint32_t j = 0; j < world.p.kind_count; j++)
            world.rate[m * world.p.kind_count + j] *= base_rand_range(&world.rand, 0.5, 2);
        struct num_share_result r = fill(warm, &world, &tree.tree);
        for (m = 0; m < world.p.job_count; m++)
            speed[m] = world_speed(&world.p, r.x, m);
        struct num_share_problem plain = world.p;
        for (uint32_t j = 0; j < world.p.kind_count; j++)
            world.p.capacity[j] *= 1 + 1e-7;
        num_share_cold(cold);
        r = fill(cold, &world, &tree.tree);
        for (m = 0; m < world.p.job_count; m++)
            nudged[m] = world_speed(&world.p, r.x, m);
        world.p = plain;
        num_share_cold(cold);
        r = fill(cold, &world, &tree.tree);
        for (m = 0; m < world.p.job_count; m++) {
            double other = world_speed(&world.p, r.x, m), top = world_top(&world.p, m);
            WORLD_CLAIM(&world, fabs(speed[m] - other) <= 1e-6 * top + 10 * fabs(other - nudged[m]),
                        "job %zu: warm %.17g, cold %.17g", m, speed[m], other);
        }
    }
    num_share_free(warm);
    num_share_free(cold);
}

static void two_solvers_give_the_same_bits(void **state)
{
    (void)state;
    for (int i = 0; i < property_count(15); i++) {
        struct num_share *a = world_solver(NULL), *b = world_solver(NULL);
        world_make(&world, (uint64_t)i, 60);
        tree_make(&tree, &world, unit);
        struct num_share_result first = fill(a, &world, &tree.tree);
        struct num_share_result second = fill(b, &world, &tree.tree);
        world_claim_equal_bits(&world, &first, &second);
        num_share_free(a);
        num_share_free(b);
    }
}

static void refuse(struct num_share *s, const struct world *w, const struct num_tree *t)
{
    struct num_share_result r;

    world_stain(&r);
    assert_int_equal(num_share_fill(s, &w->p, unit, t, &r), SHOAL_E_INVAL);
    assert_true(world_stained(&r));
}

static void bad_trees_and_values_are_refused_and_the_result_stays(void **state)
{
    static const double bad[] = {NAN, 0, -1, INFINITY};
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        world_make(&world, seed, 40);
        tree_make(&tree, &world, unit);
        size_t m = base_rand_below(&world.rand, world.p.job_count);
        uint32_t c = (uint32_t)base_rand_below(&world.rand, tree.tree.node_count);
        for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
            double good = unit[m];
            unit[m] = bad[b];
            refuse(s, &world, &tree.tree);
            unit[m] = good;
            good = tree.job_weight[m];
            tree.job_weight[m] = bad[b];
            refuse(s, &world, &tree.tree);
            tree.job_weight[m] = good;
            good = tree.nodes[c].weight;
            tree.nodes[c].weight = bad[b];
            refuse(s, &world, &tree.tree);
            tree.nodes[c].weight = good;
        }
        uint32_t node = tree.job_node[m];
        tree.job_node[m] = tree.tree.node_count; /* no such node */
        refuse(s, &world, &tree.tree);
        tree.job_node[m] = 0; /* the root holds nodes, now a job too */
        if (tree.tree.node_count > 1)
            refuse(s, &world, &tree.tree);
        tree.job_node[m] = node;
        uint32_t parent = tree.nodes[c].parent;
        tree.nodes[c].parent = c == 0 ? 0 : c; /* not before its child */
        refuse(s, &world, &tree.tree);
        tree.nodes[c].parent = c == 0 ? 0 : NUM_TREE_NONE; /* two roots, or none */
        refuse(s, &world, &tree.tree);
        tree.nodes[c].parent = parent;
        (void)fill(s, &world, &tree.tree);
    }
    num_share_free(s);
}

static shoal_status fill_once(const struct base_alloc *alloc, void *ctx)
{
    const struct world *w = ctx;
    struct num_share *s = NULL;
    struct num_share_result r;

    shoal_status st = num_share_new(alloc, NULL, &s);
    if (st == SHOAL_OK)
        st = num_share_fill(s, &w->p, unit, &tree.tree, &r);
    num_share_free(s);
    return st;
}

static void refused_memory_is_an_error_and_nothing_leaks(void **state)
{
    (void)state;
    base_rand_init(&world.rand, 2, "torture");
    world_make_sized(&world, 14, 60, 3);
    tree_make(&tree, &world, unit);
    torture_run(fill_once, &world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_one_kind_it_is_plain_water_filling),
        cmocka_unit_test(who_stops_is_at_the_top_or_can_get_nothing_more),
        cmocka_unit_test(in_a_queue_each_job_has_what_those_before_it_leave),
        cmocka_unit_test(nobody_gets_less_than_the_common_level),
        cmocka_unit_test(entities_share_by_weight_and_fifo_serves_in_order),
        cmocka_unit_test(a_warm_call_is_as_good_as_a_cold_one),
        cmocka_unit_test(two_solvers_give_the_same_bits),
        cmocka_unit_test(bad_trees_and_values_are_refused_and_the_result_stays),
        cmocka_unit_test(refused_memory_is_an_error_and_nothing_leaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
