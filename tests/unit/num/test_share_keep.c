/* ctest: timeout=600 */
/* Tests of num_share_keep (src/num/share_keep.c). What it keeps must be feasible together, which
 * num_share_level says (and proves, see test_share_level.c); what it gives up is compared with the
 * best choice of all, tried one by one where the jobs are few. */
#include "unit/num/share_proof.h"

static struct world world; /* large */
static double least[WORLD_JOBS_MAX];
static bool kept[WORLD_JOBS_MAX];

/* Speeds wanted: `part` of the job's top speed, so that a busy cluster cannot give all of them. */
static void make_floors(struct world *w, double part)
{
    for (size_t m = 0; m < w->p.job_count; m++) {
        least[m] = part * base_rand_range(&w->rand, 0.2, 1) * world_top(&w->p, m);
        if (base_rand_below(&w->rand, 10) == 0)
            least[m] = 0;
        if (base_rand_below(&w->rand, 20) == 0)
            least[m] = 1.5 * world_top(&w->p, m) + 0.1; /* out of reach even alone */
    }
}

/* Largest t at which all floors in the set can be kept t-fold. */
static double room(struct num_share *s, const struct world *w, const bool *set)
{
    static double need[WORLD_JOBS_MAX];
    struct num_share_result r;

    for (size_t m = 0; m < w->p.job_count; m++)
        need[m] = set[m] ? least[m] : 0;
    WORLD_CLAIM(w, num_share_level(s, &w->p, need, &r) == SHOAL_OK, "the call failed");
    return r.level;
}

static double weight_given_up(const struct world *w, const bool *set)
{
    double sum = 0;

    for (size_t m = 0; m < w->p.job_count; m++)
        sum += set[m] ? 0 : world_count(&w->p, m) * w->weight[m];
    return sum;
}

/* The weight of the `kinds` heaviest that were given up: all that rounding may cost. */
static double heaviest_given_up(const struct world *w, const bool *set)
{
    double taken = 0;
    static bool used[WORLD_JOBS_MAX];

    memset(used, 0, sizeof used);
    for (uint32_t k = 0; k < w->p.kind_count; k++) {
        size_t best = SIZE_MAX;
        for (size_t m = 0; m < w->p.job_count; m++)
            if (!set[m] && !used[m] &&
                (best == SIZE_MAX ||
                 world_count(&w->p, m) * w->weight[m] > world_count(&w->p, best) * w->weight[best]))
                best = m;
        if (best == SIZE_MAX)
            break;
        used[best] = true;
        taken += world_count(&w->p, best) * w->weight[best];
    }
    return taken;
}

static void keep(struct num_share *s, const struct world *w)
{
    WORLD_CLAIM(w, num_share_keep(s, &w->p, least, w->weight, kept) == SHOAL_OK, "the call failed");
}

static void what_is_kept_is_feasible_together(void **state)
{
    struct num_share *s = world_solver(NULL);
    int gave_up = 0;

    (void)state;
    for (int i = 0; i < property_count(2500); i++) {
        world_make(&world, (uint64_t)i, 60);
        make_floors(&world, i % 2 == 0 ? 1 : 0.1);
        keep(s, &world);
        double most = room(s, &world, kept);
        WORLD_CLAIM(&world, most >= 1 - 1e-8, "only %.17g of the kept floors can be had", most);
        for (size_t m = 0; m < world.p.job_count; m++) {
            WORLD_CLAIM(&world, kept[m] || least[m] > 0, "job %zu asks for nothing, given up", m);
            WORLD_CLAIM(&world, !kept[m] || least[m] <= world_top(&world.p, m) * (1 + 1e-9),
                        "job %zu is above its top speed, kept", m);
            gave_up += !kept[m];
        }
    }
    assert_true(gave_up > 1000);
    num_share_free(s);
}

static void what_is_kept_of_thousands_is_feasible_together(void **state)
{
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(40); i++) {
        world_make_large(&world, (uint64_t)i);
        make_floors(&world, i % 2 == 0 ? 1 : 0.1);
        keep(s, &world);
        double most = room(s, &world, kept);
        WORLD_CLAIM(&world, most >= 1 - 1e-8, "only %.17g of the kept floors can be had", most);
    }
    num_share_free(s);
}

static void floors_that_fit_are_all_kept(void **state)
{
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (int i = 0; i < property_count(1000); i++) {
        struct num_share_result r;
        world_make(&world, (uint64_t)i, 60);
        WORLD_CLAIM(&world, num_share_level(s, &world.p, world.need, &r) == SHOAL_OK,
                    "the call failed");
        for (size_t m = 0; m < world.p.job_count; m++)
            least[m] = isinf(r.level) ? 0 : r.level * 0.9999 * world.need[m];
        keep(s, &world);
        for (size_t m = 0; m < world.p.job_count; m++)
            WORLD_CLAIM(&world, kept[m], "job %zu is given up and need not be", m);
    }
    num_share_free(s);
}

/* Against every choice: no more than K jobs' weight is lost to rounding. */
static void little_more_is_given_up_than_by_the_best_choice(void **state)
{
    struct num_share *s = world_solver(NULL), *check = world_solver(NULL);
    double excess = 0;
    int instances = property_count(300);

    (void)state;
    for (int i = 0; i < instances; i++) {
        world_make(&world, (uint64_t)i, 8);
        make_floors(&world, 1);
        keep(s, &world);
        double ours = weight_given_up(&world, kept), best = INFINITY;
        double all = weight_given_up(&world, (const bool[WORLD_JOBS_MAX]){0});
        for (unsigned set = 0; set < 1u << world.p.job_count; set++) {
            bool chosen[WORLD_JOBS_MAX] = {0};
            for (size_t m = 0; m < world.p.job_count; m++)
                chosen[m] = set >> m & 1;
            double cost = weight_given_up(&world, chosen);
            if (cost < best && room(check, &world, chosen) >= 1)
                best = cost;
        }
        WORLD_CLAIM(&world, ours >= best - 1e-9 * all, "gave up %.17g, less than any choice: %.17g",
                    ours, best);
        WORLD_CLAIM(&world, ours <= best + heaviest_given_up(&world, kept) + 1e-9 * all,
                    "gave up %.17g, the best choice %.17g", ours, best);
        excess += all > 0 ? (ours - best) / all : 0;
    }
    assert_true(excess / instances < 0.05); /* and far less than that as a rule */
    num_share_free(s);
    num_share_free(check);
}

static void two_solvers_keep_the_same(void **state)
{
    bool second[WORLD_JOBS_MAX];

    (void)state;
    for (int i = 0; i < property_count(300); i++) {
        struct num_share *a = world_solver(NULL), *b = world_solver(NULL);
        world_make(&world, (uint64_t)i, 60);
        make_floors(&world, 1);
        keep(a, &world);
        memcpy(second, kept, sizeof second);
        keep(b, &world);
        WORLD_CLAIM(&world, memcmp(kept, second, world.p.job_count * sizeof *kept) == 0,
                    "two solvers keep different floors");
        num_share_free(a);
        num_share_free(b);
    }
}

static void heavier_jobs_are_kept_first(void **state)
{
    struct num_share *s = world_solver(NULL);
    double rate[] = {1, 1, 1, 1}, gpus[] = {1, 1, 1, 1}, weight[] = {1, 5, 3, 1};
    double floors[] = {1, 1, 1, 0};
    struct num_share_problem p = {
        .kind_count = 1, .capacity = {2}, .job_count = 4, .rate = rate, .gpus = gpus};

    (void)state;
    assert_int_equal(num_share_keep(s, &p, floors, weight, kept), SHOAL_OK);
    assert_true(!kept[0] && kept[1] && kept[2] && kept[3]);
    weight[0] = 4;
    assert_int_equal(num_share_keep(s, &p, floors, weight, kept), SHOAL_OK);
    assert_true(kept[0] && kept[1] && !kept[2] && kept[3]);
    floors[1] = 1.5; /* above its top speed */
    assert_int_equal(num_share_keep(s, &p, floors, weight, kept), SHOAL_OK);
    assert_true(kept[0] && !kept[1] && kept[2] && kept[3]);
    num_share_free(s);
}

static void refuse(struct num_share *s, struct world *w, const char *what, double *cell, double bad)
{
    double good = *cell;

    memset(kept, 1, sizeof kept);
    *cell = bad;
    shoal_status st = num_share_keep(s, &w->p, least, w->weight, kept);
    WORLD_CLAIM(w, st == SHOAL_E_INVAL, "%s %g: %s", what, bad, shoal_status_name(st));
    for (size_t m = 0; m < w->p.job_count; m++)
        assert_true(kept[m]);
    *cell = good;
}

static void bad_values_are_refused_and_the_choice_stays(void **state)
{
    struct num_share *s = world_solver(NULL);

    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        world_make(&world, seed, 40);
        make_floors(&world, 1);
        size_t m = base_rand_below(&world.rand, world.p.job_count);
        refuse(s, &world, "floor", &least[m], NAN);
        refuse(s, &world, "floor", &least[m], -1);
        refuse(s, &world, "floor", &least[m], INFINITY);
        refuse(s, &world, "weight", &world.weight[m], NAN);
        refuse(s, &world, "weight", &world.weight[m], -1);
        refuse(s, &world, "weight", &world.weight[m], INFINITY);
        refuse(s, &world, "rate", &world.rate[m * world.p.kind_count], -1);
        refuse(s, &world, "capacity", &world.p.capacity[0], NAN);
        keep(s, &world);
    }
    num_share_free(s);
}

static shoal_status keep_once(const struct base_alloc *alloc, void *ctx)
{
    const struct world *w = ctx;
    struct num_share *s = NULL;

    shoal_status st = num_share_new(alloc, NULL, &s);
    if (st == SHOAL_OK)
        st = num_share_keep(s, &w->p, least, w->weight, kept);
    num_share_free(s);
    return st;
}

static void refused_memory_is_an_error_and_nothing_leaks(void **state)
{
    (void)state;
    base_rand_init(&world.rand, 2, "torture");
    world_make_sized(&world, 14, 60, 3);
    make_floors(&world, 1);
    torture_run(keep_once, &world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_is_feasible_together),
        cmocka_unit_test(what_is_kept_of_thousands_is_feasible_together),
        cmocka_unit_test(floors_that_fit_are_all_kept),
        cmocka_unit_test(little_more_is_given_up_than_by_the_best_choice),
        cmocka_unit_test(two_solvers_keep_the_same),
        cmocka_unit_test(heavier_jobs_are_kept_first),
        cmocka_unit_test(bad_values_are_refused_and_the_choice_stays),
        cmocka_unit_test(refused_memory_is_an_error_and_nothing_leaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
