/* Tests of src/num/choose.c. */
#include "property.h"
#include "torture.h"

#include "base/rand.h"
#include "num/choose.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { JOBS_MAX = 2000, OPTIONS_MAX = 64 };

struct world {
    struct num_choose_problem p;
    size_t first[JOBS_MAX + 1];
    struct num_choose_option options[JOBS_MAX * OPTIONS_MAX];
};

/* Speeds of g GPUs: g^a, by kind, for gangs of 1, 2, 4, 8, then multiples of 8. */
static void some_cluster(struct world *w, struct base_rand *rand, uint32_t jobs, uint32_t kinds,
                         uint32_t most)
{
    double total = 0;

    w->p = (struct num_choose_problem){.kind_count = kinds,
                                       .job_count = jobs,
                                       .first = w->first,
                                       .options = w->options,
                                       .gap = 1e-3};
    w->first[0] = 0;
    for (uint32_t m = 0; m < jobs; m++) {
        size_t at = w->first[m];
        double weight = exp(base_rand_range(rand, -2, 2)), power = base_rand_range(rand, 0.3, 1);
        for (uint32_t k = 0; k < kinds; k++) {
            double speed = base_rand_range(rand, 0.2, 1) * (k + 1);
            for (uint32_t g = 1; g <= most; g += g < 8 ? g : 8)
                w->options[at++] = (struct num_choose_option){
                    (float)(weight * speed * pow(g, power) * base_rand_range(rand, 0.95, 1)), g, k};
        }
        w->first[m + 1] = at;
        total += base_rand_range(rand, 0.5, 4);
    }
    for (uint32_t k = 0; k < kinds; k++)
        w->p.capacity[k] = ceil(total / kinds);
}

static double best_of_all(const struct num_choose_problem *p, uint32_t job, double *left)
{
    if (job == p->job_count)
        return 0;
    double best = best_of_all(p, job + 1, left);
    for (size_t o = p->first[job]; o < p->first[job + 1]; o++) {
        const struct num_choose_option *opt = &p->options[o];
        if (opt->amount > left[opt->kind])
            continue;
        left[opt->kind] -= opt->amount;
        best = fmax(best, (double)opt->value + best_of_all(p, job + 1, left));
        left[opt->kind] += opt->amount;
    }
    return best;
}

static void check_choice(const struct num_choose_problem *p, const struct num_choose_result *r)
{
    double left[NUM_CHOOSE_KINDS_MAX], value = 0;

    memcpy(left, p->capacity, sizeof left);
    for (uint32_t m = 0; m < p->job_count; m++) {
        uint32_t o = r->pick[m];
        if (o == NUM_CHOOSE_NONE)
            continue;
        assert_true(o >= p->first[m] && o < p->first[m + 1]);
        left[p->options[o].kind] -= p->options[o].amount;
        value += (double)p->options[o].value;
    }
    for (uint32_t k = 0; k < p->kind_count; k++) {
        assert_true(left[k] >= 0);
        assert_true(fabs(left[k] - r->left[k]) < 1e-9);
        assert_true(r->price[k] >= 0);
    }
    assert_true(fabs(value - r->value) <= 1e-9 * (1 + value));
    assert_true(r->bound >= r->value);
}

static void a_choice_fits_and_the_bound_is_one(void **state)
{
    static struct world w;
    struct base_rand rand;
    struct num_choose *c;
    double lost = 0;
    int runs = property_count(400);

    (void)state;
    base_rand_init(&rand, 1, "small");
    assert_int_equal(num_choose_new(&base_alloc_libc, &c), SHOAL_OK);
    for (int i = 0; i < runs; i++) {
        struct num_choose_result r;
        double left[NUM_CHOOSE_KINDS_MAX];
        uint32_t kinds = 1 + (uint32_t)base_rand_below(&rand, 3);
        some_cluster(&w, &rand, 1 + (uint32_t)base_rand_below(&rand, 5), kinds, 4);
        assert_int_equal(num_choose_solve(c, &w.p, &r), SHOAL_OK);
        check_choice(&w.p, &r);
        memcpy(left, w.p.capacity, sizeof left);
        double best = best_of_all(&w.p, 0, left);
        assert_true(r.value <= best * (1 + 1e-6) && r.bound >= best * (1 - 1e-6));
        lost += 1 - r.value / best;
    }
    num_choose_free(c);
    assert_true(lost / runs < 0.02);
}

static void with_hundreds_of_jobs_the_gap_is_below_a_thousandth(void **state)
{
    static struct world w;
    struct base_rand rand;
    struct num_choose *c;

    (void)state;
    base_rand_init(&rand, 1, "large");
    assert_int_equal(num_choose_new(&base_alloc_libc, &c), SHOAL_OK);
    for (int i = 0; i < property_count(5); i++) {
        struct num_choose_result r;
        some_cluster(&w, &rand, 500 + (uint32_t)base_rand_below(&rand, 1500), 3, 64);
        assert_int_equal(num_choose_solve(c, &w.p, &r), SHOAL_OK);
        check_choice(&w.p, &r);
        assert_true(r.bound - r.value <= 1e-3 * r.bound);
    }
    num_choose_free(c);
}

/* All answer alike, so that at the best prices all change kind at once. */
static void equal_jobs_are_divided_as_the_capacities_say(void **state)
{
    static struct world w;
    struct num_choose *c;
    struct num_choose_result r;

    (void)state;
    w.p = (struct num_choose_problem){.kind_count = 3,
                                      .capacity = {901, 700, 400},
                                      .job_count = 600,
                                      .first = w.first,
                                      .options = w.options,
                                      .gap = 1e-3};
    for (size_t o = 0; o < 600 * 12; o++) {
        uint32_t k = (uint32_t)(o % 12 / 4), g = (uint32_t)(1 + o % 4);
        w.options[o] = (struct num_choose_option){(float)((1 + k) * pow(g, 0.7)), g, k};
        w.first[o / 12 + 1] = o + 1;
    }
    assert_int_equal(num_choose_new(&base_alloc_libc, &c), SHOAL_OK);
    assert_int_equal(num_choose_solve(c, &w.p, &r), SHOAL_OK);
    check_choice(&w.p, &r);
    assert_true(r.bound - r.value <= 1e-3 * r.bound);
    num_choose_free(c);
}

static void room_for_all_gives_all_their_best(void **state)
{
    static struct world w;
    struct base_rand rand;
    struct num_choose *c;
    struct num_choose_result r;

    (void)state;
    base_rand_init(&rand, 1, "room");
    some_cluster(&w, &rand, 20, 2, 16);
    w.p.capacity[0] = w.p.capacity[1] = 1e6;
    assert_int_equal(num_choose_new(&base_alloc_libc, &c), SHOAL_OK);
    assert_int_equal(num_choose_solve(c, &w.p, &r), SHOAL_OK);
    check_choice(&w.p, &r);
    for (uint32_t m = 0; m < 20; m++)
        for (size_t o = w.first[m]; o < w.first[m + 1]; o++)
            assert_true(w.options[r.pick[m]].value >= w.options[o].value);
    num_choose_free(c);
}

static void nothing_to_choose_is_no_trouble(void **state)
{
    static struct world w;
    struct num_choose *c;
    struct num_choose_result r;

    (void)state;
    w.p = (struct num_choose_problem){
        .kind_count = 1, .capacity = {4}, .first = w.first, .options = w.options};
    assert_int_equal(num_choose_new(&base_alloc_libc, &c), SHOAL_OK);
    assert_int_equal(num_choose_solve(c, &w.p, &r), SHOAL_OK);
    assert_true(r.value == 0 && r.left[0] == 4);
    w.p.job_count = 3; /* without options */
    assert_int_equal(num_choose_solve(c, &w.p, &r), SHOAL_OK);
    assert_int_equal(r.pick[2], NUM_CHOOSE_NONE);
    w.options[0] = (struct num_choose_option){1, 5, 0}; /* larger than the kind */
    w.first[1] = w.first[2] = w.first[3] = 1;
    assert_int_equal(num_choose_solve(c, &w.p, &r), SHOAL_OK);
    assert_int_equal(r.pick[0], NUM_CHOOSE_NONE);
    w.p.capacity[0] = 0;
    w.options[0].amount = 1;
    assert_int_equal(num_choose_solve(c, &w.p, &r), SHOAL_OK);
    assert_int_equal(r.pick[0], NUM_CHOOSE_NONE);
    num_choose_free(c);
}

static void numbers_out_of_range_are_refused(void **state)
{
    static struct world w;
    struct num_choose *c;
    struct num_choose_result r = {.value = 7};

    (void)state;
    w.p = (struct num_choose_problem){
        .kind_count = 1, .capacity = {4}, .job_count = 1, .first = w.first, .options = w.options};
    w.first[1] = 1;
    assert_int_equal(num_choose_new(&base_alloc_libc, &c), SHOAL_OK);
    w.options[0] = (struct num_choose_option){NAN, 1, 0};
    assert_int_equal(num_choose_solve(c, &w.p, &r), SHOAL_E_INVAL);
    w.options[0] = (struct num_choose_option){1, 0, 0};
    assert_int_equal(num_choose_solve(c, &w.p, &r), SHOAL_E_INVAL);
    w.options[0] = (struct num_choose_option){1, 1, 1};
    assert_int_equal(num_choose_solve(c, &w.p, &r), SHOAL_E_INVAL);
    w.options[0] = (struct num_choose_option){1, 1, 0};
    w.p.capacity[0] = -1;
    assert_int_equal(num_choose_solve(c, &w.p, &r), SHOAL_E_INVAL);
    w.p.kind_count = 0;
    assert_int_equal(num_choose_solve(c, &w.p, &r), SHOAL_E_INVAL);
    assert_true(r.value == 7);
    num_choose_free(c);
}

static shoal_status solve_one(const struct base_alloc *alloc, void *ctx)
{
    struct world *w = ctx;
    struct num_choose *c;
    struct num_choose_result r;
    shoal_status st = num_choose_new(alloc, &c);

    if (st != SHOAL_OK)
        return st;
    st = num_choose_solve(c, &w->p, &r);
    num_choose_free(c);
    return st;
}

static void failing_allocations_end_cleanly(void **state)
{
    static struct world w;
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "torture");
    some_cluster(&w, &rand, 10, 2, 8);
    torture_run(solve_one, &w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_choice_fits_and_the_bound_is_one),
        cmocka_unit_test(with_hundreds_of_jobs_the_gap_is_below_a_thousandth),
        cmocka_unit_test(equal_jobs_are_divided_as_the_capacities_say),
        cmocka_unit_test(room_for_all_gives_all_their_best),
        cmocka_unit_test(nothing_to_choose_is_no_trouble),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(failing_allocations_end_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
