/* Tests of src/num/pairs.c. The specification is the program of pairs.h written out in full, with
 * every pair there is, and solved at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rand.h"
#include "num/lp.h"
#include "num/pairs.h"
#include "property.h"
#include "torture.h"
#include <math.h>
#include <string.h>

enum { GROUPS = 64, KINDS = 5, ROWS = KINDS + 2 * GROUPS };

/* What the solver promises of its objective (1e-9), and as much again for the full program. */
static const double TOLERANCE = 2e-9;

struct world {
    struct num_pairs_problem p;
    double rate[GROUPS * KINDS], gpus[GROUPS], count[GROUPS];
    double need[GROUPS], floor[GROUPS], value[GROUPS];
    float pair[KINDS * GROUPS * GROUPS];
};

enum flavour { PLAIN, TIES, WIDE };
enum goal { LEVEL = 1, FLOOR = 2, VALUE = 4 };

static float *pair_at(struct world *w, uint32_t kind, uint32_t a, uint32_t b)
{
    size_t n = w->p.group_count;
    return &w->pair[(kind * n + a) * n + b];
}

static void attach(struct world *w)
{
    w->p.rate = w->rate;
    w->p.pair = w->pair;
    w->p.gpus = w->gpus;
    w->p.count = w->count;
    w->p.need = w->need;
    w->p.floor = w->floor;
    w->p.value = w->value;
}

/* `sharing`: how fast a job runs beside another, at most, relative to alone. */
static void random_world(struct world *w, struct base_rand *r, enum flavour flavour, int goals,
                         uint32_t groups, uint32_t kinds, double sharing)
{
    memset(w, 0, sizeof *w);
    attach(w);
    w->p.group_count = groups;
    w->p.kind_count = kinds;
    for (uint32_t j = 0; j < kinds; j++) {
        w->p.capacity[j] = (double)base_rand_below(r, 2 + 4 * groups);
        if (base_rand_below(r, 10) == 0)
            w->p.capacity[j] = 0;
    }
    for (uint32_t g = 0; g < groups; g++) {
        double unit = flavour == WIDE ? pow(10, base_rand_range(r, -3, 3)) : 1;
        double weight = flavour == WIDE ? pow(10, base_rand_range(r, -3, 3)) : 1;
        w->gpus[g] = (double)(1u << base_rand_below(r, 3));
        w->count[g] = (double)(1 + base_rand_below(r, 6));
        double top = 0;
        for (uint32_t j = 0; j < kinds; j++) {
            double rate = flavour == TIES ? (double)base_rand_below(r, 4) : base_rand_unit(r);
            rate = base_rand_below(r, 8) == 0 ? 0 : rate * unit;
            w->rate[g * kinds + j] = rate;
            top = fmax(top, rate);
        }
        bool some = base_rand_below(r, 6) > 0;
        w->need[g] = goals & LEVEL && some ? weight * (top > 0 ? top : 1) : 0;
        w->floor[g] = goals & FLOOR && base_rand_below(r, 2) == 0 ? 0.1 * top : 0;
        w->value[g] = goals & VALUE && some ? weight / unit : 0;
    }
    for (uint32_t j = 0; j < kinds; j++) {
        for (uint32_t a = 0; a < groups; a++) {
            for (uint32_t b = 0; b < groups; b++) {
                double part =
                    flavour == TIES ? 0.25 * (double)base_rand_below(r, 4) : base_rand_unit(r);
                *pair_at(w, j, a, b) = base_rand_below(r, 5) == 0
                                           ? 0
                                           : (float)(sharing * part * w->rate[a * kinds + j]);
            }
        }
    }
}

/* ---- the program in full ---- */

static void add_full(struct num_lp *lp, struct world *w, uint32_t a, uint32_t b, uint32_t j)
{
    double column[ROWS] = {0};
    uint32_t n = w->p.group_count, k = w->p.kind_count, index;
    double first = b == NUM_PAIRS_ALONE ? w->rate[a * k + j] : (double)*pair_at(w, j, a, b);
    column[j] = w->gpus[a];
    column[k + a] += 1;
    column[k + n + a] -= first;
    double cost = w->value[a] * first;
    if (b != NUM_PAIRS_ALONE) {
        double second = (double)*pair_at(w, j, b, a);
        column[k + b] += 1;
        column[k + n + b] -= second;
        cost += w->value[b] * second;
    }
    assert_int_equal(num_lp_add(lp, cost, column, &index), SHOAL_OK);
}

/* Raw rows, every pair of known speeds. */
static enum num_lp_outcome solve_full(struct world *w, double *out_total)
{
    double b[ROWS], level[ROWS] = {0};
    uint32_t n = w->p.group_count, k = w->p.kind_count, index;
    bool has_level = false;
    for (uint32_t j = 0; j < k; j++)
        b[j] = w->p.capacity[j];
    for (uint32_t g = 0; g < n; g++) {
        b[k + g] = w->count[g];
        b[k + n + g] = -w->count[g] * w->floor[g];
        level[k + n + g] = w->count[g] * w->need[g];
        has_level = has_level || w->need[g] > 0;
    }
    struct num_lp *lp = NULL;
    assert_int_equal(num_lp_new(&base_alloc_libc, k + 2 * n, b, NULL, &lp), SHOAL_OK);
    if (has_level)
        assert_int_equal(num_lp_add(lp, 1, level, &index), SHOAL_OK);
    for (uint32_t j = 0; j < k; j++) {
        for (uint32_t a = 0; a < n; a++) {
            if (w->rate[a * k + j] == 0)
                continue;
            add_full(lp, w, a, NUM_PAIRS_ALONE, j);
            for (uint32_t c = a; c < n; c++) {
                bool known = *pair_at(w, j, a, c) > 0 && *pair_at(w, j, c, a) > 0;
                if (known && w->gpus[a] == w->gpus[c] && (a != c || w->count[a] >= 2))
                    add_full(lp, w, a, c, j);
            }
        }
    }
    enum num_lp_outcome outcome;
    assert_int_equal(num_lp_solve(lp, 0, &outcome), SHOAL_OK);
    *out_total = num_lp_objective(lp);
    num_lp_free(lp);
    return outcome;
}

/* ---- checks ---- */

/* Fails unless the columns keep all rows and add up to the total, and the bound meets it. */
static void check_result(struct world *w, const struct num_pairs_result *r)
{
    uint32_t n = w->p.group_count, k = w->p.kind_count;
    double gpus[KINDS] = {0}, time[GROUPS] = {0}, speed[GROUPS] = {0}, total = r->level;
    for (uint32_t i = 0; i < r->column_count; i++) {
        const struct num_pairs_column *c = &r->columns[i];
        bool alone = c->with == NUM_PAIRS_ALONE;
        assert_true(c->y > 0 && c->group < n && c->kind < k);
        gpus[c->kind] += c->y * w->gpus[c->group];
        time[c->group] += c->y;
        if (alone) {
            speed[c->group] += c->y * w->rate[c->group * k + c->kind];
            continue;
        }
        assert_true(c->with >= c->group && c->with < n);
        assert_true(c->with != c->group || w->count[c->group] >= 2);
        assert_true(w->gpus[c->with] == w->gpus[c->group]);
        time[c->with] += c->y;
        speed[c->group] += c->y * (double)*pair_at(w, c->kind, c->group, c->with);
        speed[c->with] += c->y * (double)*pair_at(w, c->kind, c->with, c->group);
    }
    for (uint32_t j = 0; j < k; j++)
        assert_true(gpus[j] <= w->p.capacity[j] * (1 + 1e-9) && r->price[j] >= 0);
    for (uint32_t g = 0; g < n; g++) {
        assert_true(time[g] <= w->count[g] * (1 + 1e-9));
        double top = 0, want = w->count[g] * (w->floor[g] + r->level * w->need[g]);
        for (uint32_t j = 0; j < k; j++)
            top = fmax(top, w->rate[g * k + j]);
        assert_true(speed[g] >= want - 1e-9 * w->count[g] * top);
        total += w->value[g] * speed[g];
    }
    assert_true(fabs(total - r->total) <= 1e-9 * fabs(total) + 1e-300);
    assert_true(r->exact);
    assert_true(fabs(r->bound - r->total) <= 1e-9 * fmax(r->total, r->bound) + 1e-12);
}

static struct world world, other;

static struct num_pairs *new_solver(void)
{
    struct num_pairs *s = NULL;
    assert_int_equal(num_pairs_new(&base_alloc_libc, &s), SHOAL_OK);
    return s;
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= TOLERANCE * fmax(fabs(a), fabs(b)) + 1e-12;
}

static void answers_equal_the_program_with_every_pair(enum flavour flavour, const char *name,
                                                      int count)
{
    struct base_rand r;
    base_rand_init(&r, 1, name);
    struct num_pairs *s = new_solver();
    int impossible = 0;
    for (int n = 0; n < property_count(count); n++) {
        int goals = 1 + (int)base_rand_below(&r, 7);
        uint32_t groups = 1 + (uint32_t)base_rand_below(&r, n % 8 == 0 ? 24 : 8);
        uint32_t kinds = 1 + (uint32_t)base_rand_below(&r, KINDS);
        random_world(&world, &r, flavour, goals, groups, kinds, base_rand_range(&r, 0.5, 1.3));
        struct num_pairs_result got;
        double want;
        enum num_lp_outcome outcome = solve_full(&world, &want);
        shoal_status st = num_pairs_solve(s, &world.p, &got);
        if (outcome == NUM_LP_INFEASIBLE) {
            assert_int_equal(st, SHOAL_E_IMPOSSIBLE);
            impossible++;
            continue;
        }
        assert_int_equal(outcome, NUM_LP_OPTIMAL);
        assert_int_equal(st, SHOAL_OK);
        check_result(&world, &got);
        if (!close_to(got.total, want))
            fail_msg("%s %d: %.17g, in full %.17g", name, n, got.total, want);
    }
    assert_true(impossible > count / 20);
    num_pairs_free(s);
}

static void random_answers_equal_the_program_with_every_pair(void **state)
{
    (void)state;
    answers_equal_the_program_with_every_pair(PLAIN, "plain", 300);
}

static void answers_with_ties_equal_the_program_with_every_pair(void **state)
{
    (void)state;
    answers_equal_the_program_with_every_pair(TIES, "ties", 300);
}

static void answers_over_six_orders_of_magnitude_equal_the_program_with_every_pair(void **state)
{
    (void)state;
    answers_equal_the_program_with_every_pair(WIDE, "wide", 300);
}

static void many_groups_are_solved_with_proof(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "many");
    struct num_pairs *s = new_solver();
    for (int n = 0; n < property_count(12); n++) {
        enum flavour flavour = n % 3 == 0 ? PLAIN : n % 3 == 1 ? TIES : WIDE;
        random_world(&world, &r, flavour, n % 2 == 0 ? LEVEL : LEVEL | VALUE, GROUPS, 3, 1.1);
        struct num_pairs_result got;
        assert_int_equal(num_pairs_solve(s, &world.p, &got), SHOAL_OK);
        check_result(&world, &got);
    }
    num_pairs_free(s);
}

/* ---- what must follow ---- */

static void sharing_never_lowers_the_objective(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "sharing");
    struct num_pairs *s = new_solver();
    int better = 0, count = property_count(150);
    for (int n = 0; n < count; n++) {
        uint32_t groups = 1 + (uint32_t)base_rand_below(&r, 20);
        random_world(&world, &r, n % 2 == 0 ? WIDE : PLAIN, n % 3 == 0 ? VALUE : LEVEL, groups, 3,
                     1);
        struct num_pairs_result with, without;
        assert_int_equal(num_pairs_solve(s, &world.p, &with), SHOAL_OK);
        world.p.pair = NULL;
        assert_int_equal(num_pairs_solve(s, &world.p, &without), SHOAL_OK);
        assert_true(with.total >= without.total * (1 - TOLERANCE));
        better += with.total > without.total * (1 + 1e-6);
        for (uint32_t i = 0; i < without.column_count; i++)
            assert_int_equal(without.columns[i].with, NUM_PAIRS_ALONE);
    }
    assert_true(better > count / 10);
    num_pairs_free(s);
}

/* Pairs that are as good as running in turns, or worse, change nothing. */
static void pairs_that_do_not_beat_turns_are_not_used(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "turns");
    struct num_pairs *s = new_solver();
    for (int n = 0; n < property_count(50); n++) {
        random_world(&world, &r, TIES, n % 2 == 0 ? LEVEL : VALUE, 10, 3, 2. / 3);
        struct num_pairs_result with, without;
        assert_int_equal(num_pairs_solve(s, &world.p, &with), SHOAL_OK);
        for (uint32_t i = 0; i < with.column_count; i++)
            assert_int_equal(with.columns[i].with, NUM_PAIRS_ALONE);
        double total = with.total;
        world.p.pair = NULL;
        assert_int_equal(num_pairs_solve(s, &world.p, &without), SHOAL_OK);
        assert_true(close_to(total, without.total));
    }
    num_pairs_free(s);
}

/* A group of 2 c jobs is two groups of c that share as it shares with itself. */
static void splitting_a_group_changes_nothing(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "split");
    struct num_pairs *s = new_solver();
    for (int n = 0; n < property_count(100); n++) {
        uint32_t groups = 1 + (uint32_t)base_rand_below(&r, 8);
        random_world(&world, &r, n % 2 == 0 ? TIES : PLAIN, LEVEL | (n % 3 == 0 ? VALUE : 0),
                     groups, 2, 1.3);
        world.count[0] = 4 + 2 * (double)base_rand_below(&r, 3);
        memset(&other, 0, sizeof other);
        attach(&other);
        other.p.kind_count = 2;
        other.p.group_count = groups + 1;
        memcpy(other.p.capacity, world.p.capacity, sizeof other.p.capacity);
        for (uint32_t g = 0; g <= groups; g++) {
            uint32_t from = g < groups ? g : 0;
            other.gpus[g] = world.gpus[from];
            other.count[g] = world.count[from] * (from == 0 ? 0.5 : 1);
            other.need[g] = world.need[from];
            other.value[g] = world.value[from];
            for (uint32_t j = 0; j < 2; j++) {
                other.rate[g * 2 + j] = world.rate[from * 2 + j];
                for (uint32_t h = 0; h <= groups; h++)
                    *pair_at(&other, j, g, h) = *pair_at(&world, j, from, h < groups ? h : 0);
            }
        }
        struct num_pairs_result whole, split;
        assert_int_equal(num_pairs_solve(s, &world.p, &whole), SHOAL_OK);
        assert_int_equal(num_pairs_solve(s, &other.p, &split), SHOAL_OK);
        assert_true(close_to(whole.total, split.total));
    }
    num_pairs_free(s);
}

/* The optimum is concave in the capacities and `price` is a slope of it. */
static void more_gpus_add_no_more_than_their_price(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "price");
    struct num_pairs *s = new_solver();
    for (int n = 0; n < property_count(100); n++) {
        random_world(&world, &r, n % 2 == 0 ? WIDE : PLAIN, n % 3 == 0 ? VALUE : LEVEL, 12, 3, 1.2);
        struct num_pairs_result before, after;
        assert_int_equal(num_pairs_solve(s, &world.p, &before), SHOAL_OK);
        uint32_t j = (uint32_t)base_rand_below(&r, 3);
        double more = pow(10, base_rand_range(&r, -2, 1));
        world.p.capacity[j] += more;
        assert_int_equal(num_pairs_solve(s, &world.p, &after), SHOAL_OK);
        double most = before.total + before.price[j] * more;
        assert_true(after.total <= most + TOLERANCE * fmax(most, after.total));
        assert_true(after.total >= before.total * (1 - TOLERANCE));
    }
    num_pairs_free(s);
}

/* A group content with less adds no more than the price of speed says, and those prices are what a
 * little more of the level costs: 1 in all. */
static void less_need_adds_no_more_than_the_price_of_speed(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "speed prices");
    struct num_pairs *s = new_solver();
    for (int n = 0; n < property_count(100); n++) {
        uint32_t groups = 2 + (uint32_t)base_rand_below(&r, 10);
        random_world(&world, &r, PLAIN, LEVEL, groups, 3, 1);
        struct num_pairs_result before, after;
        assert_int_equal(num_pairs_solve(s, &world.p, &before), SHOAL_OK);
        if (!(before.level > 0))
            continue;
        double sum = 0, *need = world.need;
        for (uint32_t g = 0; g < groups; g++)
            sum += before.speed_price[g] * world.p.count[g] * need[g];
        assert_true(fabs(sum - 1) < 1e-9);
        uint32_t g = (uint32_t)base_rand_below(&r, groups);
        double less = 1e-3 * need[g], level = before.level;
        double price = before.speed_price[g] * world.p.count[g] * level;
        need[g] -= less;
        assert_int_equal(num_pairs_solve(s, &world.p, &after), SHOAL_OK);
        need[g] += less;
        double gain = after.level - level; /* the needs at the new level are a little larger, too */
        if (gain > price * less * (after.level / level) * (1 + 1e-6) + 1e-9 * level)
            fail_msg("%d: %g less adds %g, its price is %g", n, less, gain, price);
    }
    num_pairs_free(s);
}

static void floors_can_be_kept_up_to_the_level_and_no_further(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "floors");
    struct num_pairs *s = new_solver();
    int tried = 0;
    for (int n = 0; n < property_count(60); n++) {
        random_world(&world, &r, n % 2 == 0 ? TIES : PLAIN, LEVEL, 10, 3, 1.2);
        struct num_pairs_result r1;
        assert_int_equal(num_pairs_solve(s, &world.p, &r1), SHOAL_OK);
        double level = r1.level;
        if (level < 1e-3)
            continue;
        tried++;
        memcpy(world.floor, world.need, sizeof world.floor);
        memset(world.need, 0, sizeof world.need);
        for (uint32_t g = 0; g < 10; g++)
            world.floor[g] *= level * (1 - 1e-6);
        assert_int_equal(num_pairs_solve(s, &world.p, &r1), SHOAL_OK);
        check_result(&world, &r1);
        for (uint32_t g = 0; g < 10; g++)
            world.floor[g] *= 1 + 2e-6;
        assert_int_equal(num_pairs_solve(s, &world.p, &r1), SHOAL_E_IMPOSSIBLE);
    }
    assert_true(tried > 10);
    num_pairs_free(s);
}

static void a_warm_solver_answers_like_a_new_one(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "warm");
    struct num_pairs *warm = new_solver();
    for (int n = 0; n < property_count(20); n++) {
        random_world(&world, &r, n % 2 == 0 ? TIES : WIDE, LEVEL | VALUE, 20, 3, 1.2);
        for (int change = 0; change < 5; change++) {
            struct num_pairs *cold = new_solver();
            struct num_pairs_result a, b;
            assert_int_equal(num_pairs_solve(warm, &world.p, &a), SHOAL_OK);
            assert_int_equal(num_pairs_solve(cold, &world.p, &b), SHOAL_OK);
            check_result(&world, &a);
            assert_true(close_to(a.total, b.total));
            num_pairs_free(cold);
            uint32_t g = (uint32_t)base_rand_below(&r, 20);
            world.count[g] = 1 + (double)base_rand_below(&r, 8);
            world.p.capacity[change % 3] += 1;
        }
    }
    num_pairs_free(warm);
}

/* ---- examples and bad input ---- */

/* One GPU, two jobs of one group that run at 0.8 beside each other. */
static void two_jobs_share_the_only_gpu(void **state)
{
    (void)state;
    struct num_pairs *s = new_solver();
    memset(&world, 0, sizeof world);
    attach(&world);
    world.p.kind_count = world.p.group_count = 1;
    world.p.capacity[0] = 1;
    world.rate[0] = world.gpus[0] = world.need[0] = 1;
    world.count[0] = 2;
    world.pair[0] = 0.75f;
    struct num_pairs_result got;
    assert_int_equal(num_pairs_solve(s, &world.p, &got), SHOAL_OK);
    assert_int_equal(got.column_count, 1);
    assert_int_equal(got.columns[0].with, 0);
    assert_true(close_to(got.columns[0].y, 1) && close_to(got.level, 0.75));
    assert_true(close_to(got.price[0], 0.75));
    world.count[0] = 1; /* a job does not share with itself */
    world.p.capacity[0] = 0.5;
    assert_int_equal(num_pairs_solve(s, &world.p, &got), SHOAL_OK);
    assert_true(close_to(got.level, 0.5));
    num_pairs_free(s);
}

static void problems_with_nothing_in_them_are_worth_nothing(void **state)
{
    (void)state;
    struct num_pairs *s = new_solver();
    struct base_rand r;
    struct num_pairs_result got;
    base_rand_init(&r, 1, "nothing");
    random_world(&world, &r, PLAIN, LEVEL | VALUE, 5, 2, 1);
    world.p.capacity[0] = world.p.capacity[1] = 0;
    assert_int_equal(num_pairs_solve(s, &world.p, &got), SHOAL_OK);
    assert_true(got.total == 0 && got.bound == 0 && got.exact && got.column_count == 0);
    world.p.group_count = 0;
    world.p.capacity[0] = 3;
    assert_int_equal(num_pairs_solve(s, &world.p, &got), SHOAL_OK);
    assert_true(got.total == 0 && got.exact && got.column_count == 0);
    num_pairs_free(s);
}

static void one_that_runs_nowhere_makes_the_level_zero_and_its_floor_impossible(void **state)
{
    (void)state;
    struct num_pairs *s = new_solver();
    struct base_rand r;
    struct num_pairs_result got;
    base_rand_init(&r, 1, "nowhere");
    random_world(&world, &r, PLAIN, LEVEL, 5, 2, 1);
    world.rate[4] = world.rate[5] = 0;
    world.need[2] = 1;
    assert_int_equal(num_pairs_solve(s, &world.p, &got), SHOAL_OK);
    assert_true(got.level == 0 && got.exact);
    world.floor[2] = 1e-3;
    assert_int_equal(num_pairs_solve(s, &world.p, &got), SHOAL_E_IMPOSSIBLE);
    num_pairs_free(s);
}

static void bad_values_are_refused_and_the_result_is_untouched(void **state)
{
    (void)state;
    struct num_pairs *s = new_solver();
    struct base_rand r;
    struct num_pairs_result got;
    memset(&got, 0x5a, sizeof got);
    base_rand_init(&r, 1, "bad");
    random_world(&world, &r, PLAIN, LEVEL, 5, 2, 1);
    double *bad[] = {&world.rate[3],  &world.gpus[1],  &world.count[2],     &world.need[4],
                     &world.floor[0], &world.value[1], &world.p.capacity[1]};
    const double values[] = {NAN, INFINITY, -1};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        for (size_t k = 0; k < 3; k++) {
            double keep = *bad[i];
            *bad[i] = values[k];
            assert_int_equal(num_pairs_solve(s, &world.p, &got), SHOAL_E_INVAL);
            *bad[i] = keep;
        }
    }
    world.gpus[1] = 0;
    assert_int_equal(num_pairs_solve(s, &world.p, &got), SHOAL_E_INVAL);
    world.gpus[1] = 1;
    world.pair[7] = NAN;
    assert_int_equal(num_pairs_solve(s, &world.p, &got), SHOAL_E_INVAL);
    world.pair[7] = 0;
    world.p.kind_count = 0;
    assert_int_equal(num_pairs_solve(s, &world.p, &got), SHOAL_E_INVAL);
    world.p.kind_count = NUM_KINDS_MAX + 1;
    assert_int_equal(num_pairs_solve(s, &world.p, &got), SHOAL_E_INVAL);
    world.p.kind_count = 2;
    world.p.group_count = NUM_PAIRS_GROUPS_MAX + 1;
    assert_int_equal(num_pairs_solve(s, &world.p, &got), SHOAL_E_LIMIT);
    for (size_t i = 0; i < sizeof got; i++)
        assert_int_equal(((unsigned char *)&got)[i], 0x5a);
    num_pairs_free(s);
    num_pairs_free(NULL);
}

static shoal_status solve_twice(const struct base_alloc *alloc, void *ctx)
{
    struct world *w = ctx;
    struct num_pairs *s = NULL;
    struct num_pairs_result got;
    shoal_status st = num_pairs_new(alloc, &s);
    for (int n = 0; n < 2 && st == SHOAL_OK; n++) {
        st = num_pairs_solve(s, &w->p, &got);
        if (st == SHOAL_E_NOMEM) /* the solver stays usable */
            st = num_pairs_solve(s, &w->p, &got);
        if (st == SHOAL_OK && !got.exact)
            st = SHOAL_E_INTERNAL;
    }
    num_pairs_free(s);
    return st;
}

static void every_failed_allocation_ends_in_a_clean_error(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "torture");
    random_world(&world, &r, PLAIN, LEVEL | VALUE, 20, 3, 1.3);
    torture_run(solve_twice, &world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_answers_equal_the_program_with_every_pair),
        cmocka_unit_test(answers_with_ties_equal_the_program_with_every_pair),
        cmocka_unit_test(answers_over_six_orders_of_magnitude_equal_the_program_with_every_pair),
        cmocka_unit_test(many_groups_are_solved_with_proof),
        cmocka_unit_test(sharing_never_lowers_the_objective),
        cmocka_unit_test(pairs_that_do_not_beat_turns_are_not_used),
        cmocka_unit_test(splitting_a_group_changes_nothing),
        cmocka_unit_test(more_gpus_add_no_more_than_their_price),
        cmocka_unit_test(less_need_adds_no_more_than_the_price_of_speed),
        cmocka_unit_test(floors_can_be_kept_up_to_the_level_and_no_further),
        cmocka_unit_test(a_warm_solver_answers_like_a_new_one),
        cmocka_unit_test(two_jobs_share_the_only_gpu),
        cmocka_unit_test(problems_with_nothing_in_them_are_worth_nothing),
        cmocka_unit_test(one_that_runs_nowhere_makes_the_level_zero_and_its_floor_impossible),
        cmocka_unit_test(bad_values_are_refused_and_the_result_is_untouched),
        cmocka_unit_test(every_failed_allocation_ends_in_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
