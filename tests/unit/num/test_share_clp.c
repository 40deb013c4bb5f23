/* ctest: timeout=600 */
/* Every function of num/share.h against CLP (clp_oracle.h), on the same random problems as the
 * tests that need no other solver. Skipped where CLP is not installed. ctest: full timeout=300 */
#ifdef SHOAL_HAVE_CLP

#include "unit/num/clp_oracle.h"
#include "unit/num/share_proof.h"
#include "unit/num/share_tree.h"

static struct world world; /* large */

/* --- the oracle itself --------------------------------------------------------------------- */

/* On one kind, with capacity for a part of the demand only, the level is N / sum z need / rate. */
static void the_oracle_knows_what_can_be_worked_out_by_hand(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        double level, demand = 0, top = INFINITY;
        base_rand_init(&world.rand, seed, "oracle");
        world_make_sized(&world, seed, 1 + base_rand_below(&world.rand, 30), 1);
        for (size_t m = 0; m < world.p.job_count; m++) {
            if (world.need[m] <= 0)
                continue;
            demand += world_count(&world.p, m) * world.gpus[m] * world.need[m] / world.rate[m];
            top = fmin(top, world.rate[m] / world.need[m]);
        }
        double expected = fmin(top, isinf(top) ? 0 : world.p.capacity[0] / demand);
        for (int method = CLP_METHOD_DUAL; method <= CLP_METHOD_PRIMAL; method++) {
            WORLD_CLAIM(&world,
                        clp_share_level(&world.p, world.need, (enum clp_method)method, &level),
                        "CLP failed");
            WORLD_CLAIM(&world,
                        (isinf(top) && isinf(level)) || (isnan(expected) && level == 0) ||
                            fabs(level - expected) <= 1e-8 * expected,
                        "level %.17g, by hand %.17g", level, expected);
        }
    }
}

/* --- level ---------------------------------------------------------------------------------- */

static void levels_equal_those_of_clp(void **state)
{
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(3000); i++) {
        struct num_share_result r;
        double level;
        world_make(&world, (uint64_t)i, 60);
        WORLD_CLAIM(&world,
                    clp_share_level(&world.p, world.need, (enum clp_method)(i / 7 % 2), &level),
                    "CLP failed");
        WORLD_CLAIM(&world, num_share_level(s, &world.p, world.need, &r) == SHOAL_OK,
                    "the call failed");
        WORLD_CLAIM(&world, level == r.level || fabs(level - r.level) <= 1e-8 * level,
                    "%.17g, by CLP %.17g", r.level, level);
    }
    num_share_free(s);
}

/* --- curve ----------------------------------------------------------------------------------- */

static double left[WORLD_JOBS_MAX], since[WORLD_JOBS_MAX], denominator[WORLD_JOBS_MAX];

static void need_at(void *ctx, double theta, double *out_need)
{
    const struct world *w = ctx;

    for (size_t m = 0; m < w->p.job_count; m++) {
        double room = theta * denominator[m] - since[m];
        out_need[m] = room > 0 ? left[m] / room : INFINITY;
    }
}

/* Largest s at which s times the needs at theta fit; 0 where some job cannot meet its own. */
static double slack_at(double theta)
{
    static double need[WORLD_JOBS_MAX];
    double slack;

    need_at(&world, theta, need);
    for (size_t m = 0; m < world.p.job_count; m++)
        if (isinf(need[m]))
            return 0;
    WORLD_CLAIM(&world, clp_share_level(&world.p, need, CLP_METHOD_PRIMAL, &slack), "CLP failed");
    return slack;
}

static void needs_fit_at_theta_and_not_a_little_below(void **state)
{
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(1000); i++) {
        struct num_share_result r;
        world_make(&world, (uint64_t)i, 60);
        for (size_t m = 0; m < world.p.job_count; m++) {
            double top = world_top(&world.p, m),
                   hours = pow(10, base_rand_range(&world.rand, -1, 2));
            left[m] = (top > 0 ? top : 1) * hours;
            since[m] = i % 2 == 0 ? 0 : base_rand_range(&world.rand, 0, 3) * hours;
            denominator[m] = i % 2 == 0 ? 1 : since[m] + hours * base_rand_range(&world.rand, 1, 9);
        }
        WORLD_CLAIM(&world,
                    num_share_curve(s, &world.p, 1e-6, 1e9, need_at, &world, &r) == SHOAL_OK,
                    "the call failed");
        if (isinf(r.level)) {
            WORLD_CLAIM(&world, slack_at(1e9) < 1, "theta is in reach, by CLP");
            continue;
        }
        double fits = slack_at(r.level), below = slack_at(r.level * (1 - 1e-6));
        WORLD_CLAIM(&world, fits >= 1 - 1e-7, "at theta %.17g only %.17g fits", r.level, fits);
        WORLD_CLAIM(&world, below < 1, "theta %.17g could be lower: %.17g fits", r.level, below);
    }
    num_share_free(s);
}

/* --- sum and keep
 * ------------------------------------------------------------------------------ */

static double value[WORLD_JOBS_MAX * NUM_KINDS_MAX], least[WORLD_JOBS_MAX];

static void sums_equal_those_of_clp(void **state)
{
    static const double parts[] = {0, 0.5, 0.99, 1.01};
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(3000); i++) {
        struct num_share_result r;
        double level, sum, part = parts[i / 5 % 4], scale = 0;
        bool possible;
        world_make(&world, (uint64_t)i, 60);
        WORLD_CLAIM(&world, clp_share_level(&world.p, world.need, CLP_METHOD_DUAL, &level),
                    "CLP failed");
        for (size_t m = 0; m < world.p.job_count; m++) {
            least[m] = isinf(level) ? 0 : part * level * world.need[m];
            for (uint32_t j = 0; j < world.p.kind_count; j++) {
                size_t cell = m * world.p.kind_count + j;
                double speed = world.rate[cell] / fmax(world_top(&world.p, m), 1e-6);
                value[cell] =
                    i % 3 == 0 ? base_rand_range(&world.rand, -1, 1) : world.weight[m] * speed;
                scale += fabs(value[cell]) * world_count(&world.p, m);
            }
        }
        WORLD_CLAIM(
            &world,
            clp_share_sum(&world.p, value, least, (enum clp_method)(i / 7 % 2), &possible, &sum),
            "CLP failed");
        shoal_status st = num_share_sum(s, &world.p, value, least, &r);
        WORLD_CLAIM(&world, st == (possible ? SHOAL_OK : SHOAL_E_IMPOSSIBLE), "%s, by CLP %s",
                    shoal_status_name(st), possible ? "possible" : "impossible");
        if (!possible)
            continue;
        double size = 0;
        for (size_t cell = 0; cell < world.p.job_count * world.p.kind_count; cell++)
            size +=
                fabs(value[cell]) * r.x[cell] * world_count(&world.p, cell / world.p.kind_count);
        WORLD_CLAIM(&world, fabs(r.level - sum) <= 1e-8 * size + 1e-12 * scale,
                    "%.17g, by CLP %.17g", r.level, sum);
    }
    num_share_free(s);
}

static int heavier(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x < *y) - (*x > *y);
}

/* The relaxation is a bound on what must be given up; ours is above it by K jobs at most. */
static void what_is_given_up_is_within_k_jobs_of_the_relaxation(void **state)
{
    struct num_share *s = world_solver(NULL);
    static bool kept[WORLD_JOBS_MAX];
    static double given[WORLD_JOBS_MAX];

    (void)state;
    for (int i = 0; i < property_count(1500); i++) {
        double bound, ours = 0, rounding = 0, all = 0, slack = 0;
        size_t count = 0;
        world_make(&world, (uint64_t)i, 60);
        for (size_t m = 0; m < world.p.job_count; m++) {
            least[m] = world_top(&world.p, m) * base_rand_range(&world.rand, 0, 1.05);
            all += world.weight[m] * world_count(&world.p, m);
        }
        WORLD_CLAIM(&world, num_share_keep(s, &world.p, least, world.weight, kept) == SHOAL_OK,
                    "the call failed");
        for (size_t m = 0; m < world.p.job_count; m++) {
            if (kept[m])
                continue;
            given[count] = world.weight[m] * world_count(&world.p, m);
            ours += given[count++];
        }
        qsort(given, count, sizeof *given, heavier);
        for (size_t k = 0; k < count && k < world.p.kind_count; k++)
            rounding += given[k];
        /* Floors above the top speed are given up whatever the relaxation could do with them. */
        for (size_t m = 0; m < world.p.job_count; m++) {
            if (least[m] <= proof_top(&world.p, m))
                continue;
            slack += world.weight[m] * world_count(&world.p, m);
            least[m] = 0;
        }
        WORLD_CLAIM(&world,
                    clp_share_keep(&world.p, least, world.weight, CLP_METHOD_PRIMAL, &bound),
                    "CLP failed");
        bound += slack;
        WORLD_CLAIM(&world, ours >= bound - 1e-8 * all && ours <= bound + rounding + 1e-8 * all,
                    "gave up %.17g, the relaxation %.17g, %u jobs %.17g", ours, bound,
                    world.p.kind_count, rounding);
        for (size_t m = 0; m < world.p.job_count; m++)
            least[m] = kept[m] ? least[m] : 0;
        WORLD_CLAIM(&world, clp_share_level(&world.p, least, CLP_METHOD_PRIMAL, &slack),
                    "CLP failed");
        WORLD_CLAIM(&world, slack >= 1 - 1e-7, "only %.17g of the kept floors fit", slack);
    }
    num_share_free(s);
}

/* --- fill
 * ---------------------------------------------------------------------------------------- */

/* Fillings can hang on the last digits: a job whose kinds are nearly alike swaps much of its time
 * for next to none of its speed, and who comes later lives on the difference. So speeds are
 * compared up to what a ten millionth more GPUs changes. */
static void fillings_equal_those_of_gavels_procedure(void **state)
{
    struct num_share *s = world_solver(NULL);
    static struct tree_world tree;
    static double unit[WORLD_JOBS_MAX], speed[WORLD_JOBS_MAX], nudged[WORLD_JOBS_MAX];

    (void)state;
    for (int i = 0; i < property_count(150); i++) {
        struct num_share_result r;
        double budget, other;
        world_make(&world, (uint64_t)i, 12);
        tree_make(&tree, &world, unit);
        struct num_share_problem more = world.p;
        for (uint32_t j = 0; j < more.kind_count; j++)
            more.capacity[j] *= 1 + 1e-7;
        WORLD_CLAIM(&world,
                    clp_share_fill(&world.p, unit, &tree.tree, speed, &budget) &&
                        clp_share_fill(&more, unit, &tree.tree, nudged, &other),
                    "CLP failed");
        WORLD_CLAIM(&world, num_share_fill(s, &world.p, unit, &tree.tree, &r) == SHOAL_OK,
                    "the call failed");
        for (size_t m = 0; m < world.p.job_count; m++) {
            double ours = world_speed(&world.p, r.x, m), top = world_top(&world.p, m);
            double loose = 1e-6 * top + 10 * fabs(speed[m] - nudged[m]);
            WORLD_CLAIM(&world, fabs(ours - speed[m]) <= loose,
                        "job %zu of node %u: %.17g, by the procedure %.17g or %.17g, top %g", m,
                        tree.job_node[m], ours, speed[m], nudged[m], top);
        }
        WORLD_CLAIM(&world, r.level == budget || fabs(r.level - budget) <= 1e-6 * budget,
                    "budget %.17g, by the procedure %.17g", r.level, budget);
    }
    num_share_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oracle_knows_what_can_be_worked_out_by_hand),
        cmocka_unit_test(levels_equal_those_of_clp),
        cmocka_unit_test(needs_fit_at_theta_and_not_a_little_below),
        cmocka_unit_test(sums_equal_those_of_clp),
        cmocka_unit_test(what_is_given_up_is_within_k_jobs_of_the_relaxation),
        cmocka_unit_test(fillings_equal_those_of_gavels_procedure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

#include <stdio.h>

int main(void)
{
    printf("skipped: CLP is not installed (coinor-libclp-dev)\n");
    return 77;
}

#endif
