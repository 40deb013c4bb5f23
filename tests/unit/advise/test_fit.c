/* Fits of a made world whose truth is known: predictions, intervals, and what is never said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "advise_world.h"
#include "property.h"
#include "torture.h"
#include <string.h>

static const struct advise_fit_opts PLAIN = {NAN, NAN};

static struct advise_fit *fit_of(struct advise_runs *runs)
{
    struct advise_fit *fit = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    assert_int_equal(advise_runs_finish(runs, &err), SHOAL_OK);
    if (advise_fit_new(&base_alloc_libc, runs, &PLAIN, &fit, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    return fit;
}

/* Runs on 1, 4 and 16 machines, the longest on one. */
static void explore(const struct world *w, struct advise_runs *runs, struct base_rand *rand)
{
    advise_runs_init(runs, &base_alloc_libc);
    for (int a = 0; a < 2; a++) {
        world_run(w, runs, a, 1, 60, rand);
        world_run(w, runs, a, 4, 30, rand);
        world_run(w, runs, a, 16, 30, rand);
    }
}

static void counts_left_out_are_foreseen_and_intervals_hold(void **state)
{
    static const uint32_t OTHERS[] = {2, 3, 8, 12, 24};
    struct base_rand rand;
    double inside = 0, all = 0, off = 0;

    (void)state;
    base_rand_init(&rand, 7, "test");
    for (int n = 0; n < property_count(40); n++) {
        struct world w = world_draw(&rand);
        struct advise_runs runs;
        explore(&w, &runs, &rand);
        struct advise_fit *fit = fit_of(&runs);
        for (uint32_t a = 0; a < 2; a++)
            for (size_t k = 0; k < 5; k++) {
                double loss = 0.2 + 0.5 * exp(-w.rate[a] * 50); /* where the longest run is */
                double truth = world_seconds(&w, (int)a, OTHERS[k], loss);
                struct advise_prediction p;
                advise_predict(fit, a, OTHERS[k], loss, &p);
                assert_int_equal(p.verdict, ADVISE_GOOD);
                assert_true(p.low_s <= p.seconds && p.seconds <= p.high_s);
                inside += truth >= p.low_s && truth <= p.high_s;
                off += fabs(log(p.seconds / truth));
                all++;
            }
        advise_fit_free(fit);
        advise_runs_fini(&runs);
    }
    assert_true(inside / all >= 0.9);
    assert_true(off / all <= 0.08); /* noise of times is 3 %, and one iteration of tens */
}

static void what_was_measured_is_told_as_it_was(void **state)
{
    struct base_rand rand;
    struct advise_runs runs;
    struct advise_prediction p;

    (void)state;
    base_rand_init(&rand, 3, "test");
    struct world w = world_draw(&rand);
    explore(&w, &runs, &rand);
    struct advise_fit *fit = fit_of(&runs);
    const struct advise_run *run = &runs.runs[0];
    advise_predict(fit, 0, 1, run->points[40].loss, &p);
    assert_true(p.measured);
    assert_true(fabs(p.seconds - run->points[40].time_s) < 1e-9 && p.steps == 40);
    advise_fit_free(fit);
    advise_runs_fini(&runs);
}

/* Runs that do not say their loss before the first iteration. */
static void drop_starts(struct advise_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        struct advise_run *run = &runs->runs[i];
        memmove(run->points, run->points + 1, --run->count * sizeof *run->points);
    }
}

static void lower_losses_never_take_less_time(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 5, "test");
    for (int n = 0; n < property_count(20); n++) {
        struct world w = world_draw(&rand);
        struct advise_runs runs;
        explore(&w, &runs, &rand);
        if (n % 2 == 1)
            drop_starts(&runs);
        struct advise_fit *fit = fit_of(&runs);
        for (uint32_t m = 1; m <= 32; m *= 2) {
            double before = 0, above = fit->first + 0.01;
            for (int k = 0; k <= 60; k++) {
                double loss = above + (fit->lowest - 0.002 - above) * k / 60;
                double steps = advise_steps(fit, 0, m, loss);
                assert_true(steps >= before - 1e-6);
                before = steps;
            }
        }
        for (uint32_t a = 0; a < 2; a++)
            assert_true(fit->algorithms[a].best <= fit->algorithms[a].lowest);
        advise_fit_free(fit);
        advise_runs_fini(&runs);
    }
}

/* What a run shows by itself: the pace of its later half kept up from its end on. Slow and obvious:
 * falling losses are looked for anew. */
static double pace_alone(const struct advise_run *run, double loss)
{
    double end = run->points[run->count - 1].iteration, lowest = INFINITY;
    struct advise_point from = {0}, last = {0};

    for (size_t i = 0; i < run->count; i++)
        if (run->points[i].loss < lowest) {
            from = i == 0 || run->points[i].iteration <= end / 2 ? run->points[i] : from;
            lowest = run->points[i].loss;
            last = run->points[i];
        }
    if (from.iteration == last.iteration) { /* nothing new in the later half: the last fall */
        lowest = INFINITY;
        for (size_t i = 0; run->points[i].iteration < last.iteration; i++)
            if (run->points[i].loss < lowest) {
                from = run->points[i];
                lowest = from.loss;
            }
    }
    return end + (last.loss - loss) * (end - from.iteration) / (from.loss - last.loss);
}

static void add_run(struct advise_runs *runs, uint32_t machines, const double *losses, int count)
{
    struct advise_run *run = advise_runs_find(runs, "a", machines, 1, "", NULL);

    for (int i = 0; i < count; i++) /* the first loss is that after an iteration */
        assert_int_equal(
            advise_runs_add(runs, run, &(struct advise_point){i + 1, i + 1, losses[i]}, NULL),
            SHOAL_OK);
}

/* One run that says more than a first loss, and those on more machines that have not come down to
 * it yet: the farther above it they are, the slower they are taken to be. */
static void curves_above_the_first_loss_of_the_deepest_are_slower(void **state)
{
    static const double ONE[] = {27000, 23100, 22740, 22704}, FOUR[] = {43000, 32500, 27700, 25500};
    double before = 0;

    (void)state;
    for (int k = 0; k < 4; k++) {
        double sixteen[] = {45000 + 9000.0 * k}, many[] = {76000, 75000};
        struct advise_runs runs;
        advise_runs_init(&runs, &base_alloc_libc);
        add_run(&runs, 1, ONE, 4);
        add_run(&runs, 4, FOUR, 4);
        add_run(&runs, 16, sixteen, 1);
        add_run(&runs, 64, many, 2);
        struct advise_fit *fit = fit_of(&runs);
        fit->algorithms[0].model.form = ADVISE_STRETCHED;
        double steps = advise_steps(fit, 0, 16, 22800);
        assert_true(steps > 4 && steps > before);
        before = steps;
        advise_fit_free(fit);
        advise_runs_fini(&runs);
    }
}

static void no_curve_is_foretold_to_fall_faster_than_it_did(void **state)
{
    /* There within two iterations on one machine; on many it falls by a hundredth of that. */
    static const double ONE[] = {9200, 9090, 9080, 9079}, FOUR[] = {9600, 9300, 9150, 9100},
                        MANY[] = {10257, 10120, 10053};
    struct base_rand rand;
    struct advise_runs runs;

    (void)state;
    advise_runs_init(&runs, &base_alloc_libc);
    add_run(&runs, 1, ONE, 4);
    add_run(&runs, 4, FOUR, 4);
    add_run(&runs, 64, MANY, 3);
    struct advise_fit *fit = fit_of(&runs);
    assert_true(advise_steps(fit, 0, 64, 9094) >= 3 + (10053 - 9094) / 102.0 - 1e-6);
    advise_fit_free(fit);
    advise_runs_fini(&runs);

    base_rand_init(&rand, 23, "test");
    for (int n = 0; n < property_count(20); n++) {
        struct world w = world_draw(&rand);
        double stalls[40];
        int count = (int)base_rand_range(&rand, 2, 40), stall = (int)base_rand_range(&rand, 2, 40);
        for (int i = 0; i < count; i++)
            stalls[i] = 0.2 + 0.5 * exp(-0.02 * (i < stall ? i : stall) + 0.001 * (i > stall));
        advise_runs_init(&runs, &base_alloc_libc);
        for (uint32_t m = 1; m <= 4; m *= 2)
            world_run(&w, &runs, 0, m, 60, &rand);
        struct advise_run *run = advise_runs_find(&runs, "a0", 32, 1, "", NULL);
        for (int i = 0; i < count; i++)
            assert_int_equal(
                advise_runs_add(&runs, run, &(struct advise_point){i, i, stalls[i]}, NULL),
                SHOAL_OK);
        fit = fit_of(&runs);
        run = advise_runs_find(&runs, "a0", 32, 1, "", NULL);
        for (int k = 1; k <= 20; k++) {
            double last = stalls[count - 1 < stall ? count - 1 : stall], loss = last - 0.01 * k;
            assert_true(advise_steps(fit, 0, 32, loss) >= pace_alone(run, loss) * (1 - 1e-9));
        }
        advise_fit_free(fit);
        advise_runs_fini(&runs);
    }
}

/* One run of algorithm `name` on one machine through these losses. */
static void add_losses(struct advise_runs *runs, const char *name, const double *losses, int count,
                       double step_s)
{
    struct advise_run *run = advise_runs_find(runs, name, 1, 1, "", NULL);

    for (int i = 0; i < count; i++)
        assert_int_equal(
            advise_runs_add(runs, run, &(struct advise_point){i, i * step_s, losses[i]}, NULL),
            SHOAL_OK);
}

/* Its first half has no point at all: nothing was seen from which to foresee the second. */
static void a_run_that_begins_late_is_read(void **state)
{
    static const double LOSSES[] = {0.7, 0.5, 0.4};
    struct advise_runs runs;
    struct advise_prediction p;

    (void)state;
    advise_runs_init(&runs, &base_alloc_libc);
    add_losses(&runs, "a", LOSSES, 3, 1);
    struct advise_run *run = advise_runs_find(&runs, "b", 4, 1, "", NULL);
    for (int i = 6; i < 9; i++)
        assert_int_equal(
            advise_runs_add(&runs, run, &(struct advise_point){i, i, 0.45 - 0.01 * i}, NULL),
            SHOAL_OK);
    struct advise_fit *fit = fit_of(&runs);
    advise_predict(fit, 1, 4, 0.375, &p);
    assert_true(p.verdict == ADVISE_GOOD && p.measured && fabs(p.seconds - 8) < 1e-9);
    advise_fit_free(fit);
    advise_runs_fini(&runs);
}

static void drop_first(struct advise_run *run, size_t n)
{
    run->count -= n;
    memmove(run->points, run->points + n, run->count * sizeof *run->points);
}

/* The prediction of a loss from a run that begins at point `from` of the whole one, and from both:
 * above its first loss it says at most so long, and nothing beside one that was seen to pass. */
static void check_late(const struct advise_fit *late, const struct advise_fit *both,
                       const struct advise_run *whole, size_t from, size_t at)
{
    struct advise_prediction p, q;
    double loss = whole->points[at].loss;

    advise_predict(late, 0, 1, loss, &p);
    advise_predict(both, 0, 1, loss, &q);
    assert_true(p.verdict == ADVISE_GOOD && q.verdict == ADVISE_GOOD);
    assert_true(q.measured && isinf(q.at_most_s));
    assert_true(fabs(q.seconds / whole->points[at].time_s - 1) < 1e-9 && q.steps == (double)at);
    assert_true(p.low_s > 0 && p.low_s <= p.seconds && p.seconds <= p.high_s);
    assert_true(p.measured == (at >= from) && isinf(p.at_most_s) == (at >= from));
    if (at >= from) {
        assert_true(fabs(p.seconds / whole->points[at].time_s - 1) < 1e-9);
        return;
    }
    assert_true(p.at_most_s == whole->points[from].time_s && p.high_s == p.at_most_s);
    assert_true(p.steps <= (double)from && p.low_s <= whole->points[at].time_s * (1 + 1e-9));
}

static void what_a_late_run_was_below_already_is_not_measured(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 29, "test");
    for (int n = 0; n < property_count(15); n++) {
        struct world w = world_draw(&rand);
        struct advise_runs late, both;
        size_t from = 2 + (size_t)base_rand_below(&rand, 40);
        w.noise = 0;
        advise_runs_init(&late, &base_alloc_libc);
        world_run(&w, &late, 0, 1, 60, &rand);
        if (n % 2 == 1)
            world_run(&w, &late, 0, 4, 30, &rand);
        explore(&w, &both, &rand);
        struct advise_run *copy = advise_runs_find(&both, "a0", 1, 1, "late", NULL);
        const struct advise_run *whole = &both.runs[0];
        for (size_t i = from; i < whole->count; i++)
            assert_int_equal(advise_runs_add(&both, copy, &whole->points[i], NULL), SHOAL_OK);
        drop_first(&late.runs[0], from);
        struct advise_fit *a = fit_of(&late), *b = fit_of(&both);
        double before = 0;
        for (size_t at = 1; at <= 60; at++) {
            check_late(a, b, whole, from, at);
            double steps = advise_steps(a, 0, 1, whole->points[at].loss);
            assert_true(steps >= before - 1e-6);
            before = steps;
        }
        advise_fit_free(a);
        advise_fit_free(b);
        advise_runs_fini(&late);
        advise_runs_fini(&both);
    }
}

/* A run on the same machines that ended too soon still says: not before. */
static void late_runs_and_short_ones_enclose_the_time(void **state)
{
    struct base_rand rand;
    struct advise_runs runs;
    struct advise_prediction p;
    struct world w = {.rate = {0.1, 0.1}, .own = {1, 1}};

    (void)state;
    base_rand_init(&rand, 31, "test");
    advise_runs_init(&runs, &base_alloc_libc);
    world_run(&w, &runs, 0, 1, 60, &rand);
    struct advise_run *soon = advise_runs_find(&runs, "a0", 1, 1, "short", NULL);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(advise_runs_add(&runs, soon, &runs.runs[0].points[i], NULL), SHOAL_OK);
    drop_first(&runs.runs[0], 30);
    struct advise_fit *fit = fit_of(&runs);
    advise_predict(fit, 0, 1, 0.2 + 0.5 * exp(-0.1 * 12), &p);
    assert_true(!p.measured && p.at_least_s == 5 && p.at_most_s == 30);
    assert_true(p.low_s == 5 && p.high_s == 30 && p.seconds > 5 && p.seconds < 30);
    advise_fit_free(fit);
    advise_runs_fini(&runs);
}

static void times_follow_ernest(void **state)
{
    struct base_rand rand;
    struct advise_runs runs;

    (void)state;
    base_rand_init(&rand, 11, "test");
    struct world w = world_draw(&rand);
    w.noise = 0;
    explore(&w, &runs, &rand);
    struct advise_fit *fit = fit_of(&runs);
    for (uint32_t m = 1; m <= 16; m++)
        assert_true(fabs(advise_step_s(fit, 0, m) / world_step_s(&w, 0, m) - 1) < 0.05);
    for (int k = 0; k < 4; k++)
        assert_true(fit->algorithms[0].model.time.theta[k] >= 0);
    advise_fit_free(fit);
    advise_runs_fini(&runs);
}

static void little_evidence_is_said_and_not_used(void **state)
{
    struct base_rand rand;
    struct advise_runs runs;
    struct advise_prediction p;
    struct advise_fit *fit = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    base_rand_init(&rand, 13, "test");
    struct world w = world_draw(&rand);
    /* one machine count: nothing about others, nothing too far */
    advise_runs_init(&runs, &base_alloc_libc);
    world_run(&w, &runs, 0, 4, 40, &rand);
    fit = fit_of(&runs);
    advise_predict(fit, 0, 8, fit->lowest, &p);
    assert_int_equal(p.verdict, ADVISE_ONE_COUNT);
    advise_predict(fit, 0, 4, fit->lowest, &p);
    assert_int_equal(p.verdict, ADVISE_GOOD);
    advise_fit_free(fit);
    /* far beyond what was measured, in machines and in losses */
    world_run(&w, &runs, 0, 8, 40, &rand);
    fit = fit_of(&runs);
    advise_predict(fit, 0, 129, fit->lowest, &p);
    assert_int_equal(p.verdict, ADVISE_TOO_FAR);
    advise_predict(fit, 0, 4, -5, &p);
    assert_int_equal(p.verdict, ADVISE_NEVER);
    advise_fit_free(fit);
    advise_runs_fini(&runs);
    /* times alone */
    advise_runs_init(&runs, &base_alloc_libc);
    struct advise_run *run = advise_runs_find(&runs, "a", 1, 1, "", NULL);
    for (int i = 1; i < 9; i++)
        assert_int_equal(
            advise_runs_add(&runs, run, &(struct advise_point){i, i, (double)NAN}, NULL), SHOAL_OK);
    assert_int_equal(advise_runs_finish(&runs, NULL), SHOAL_OK);
    assert_int_equal(advise_fit_new(&base_alloc_libc, &runs, &PLAIN, &fit, &err),
                     SHOAL_E_IMPOSSIBLE);
    assert_non_null(strstr(err.message, "too little was measured"));
    advise_runs_fini(&runs);
}

static void check_enough(const double *losses, int count, double step_s, double size, bool any,
                         bool best)
{
    const struct advise_fit_opts opts = {NAN, size};
    struct advise_runs runs;
    struct advise_fit *fit = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    advise_runs_init(&runs, &base_alloc_libc);
    add_losses(&runs, "a", losses, count, step_s);
    assert_int_equal(advise_runs_finish(&runs, NULL), SHOAL_OK);
    assert_int_equal(advise_fit_new(&base_alloc_libc, &runs, &opts, &fit, NULL), SHOAL_OK);
    assert_int_equal(advise_fit_enough(fit, false, &err), any ? SHOAL_OK : SHOAL_E_IMPOSSIBLE);
    assert_true(any || (err.message[0] != 0 && err.hint[0] != 0));
    assert_int_equal(advise_fit_enough(fit, true, NULL), best ? SHOAL_OK : SHOAL_E_IMPOSSIBLE);
    advise_fit_free(fit);
    advise_runs_fini(&runs);
}

static void the_least_evidence_is_what_the_docs_say(void **state)
{
    static const double FALLING[] = {0.9, 0.8, 0.7, 0.6, 0.5}, FLAT[] = {0.5, 0.5, 0.5, 0.5, 0.5};
    static const double UP_DOWN[] = {0.8, 0.2, 0.8, 0.2, 0.8}, ENDED[] = {0.9, 0.5, 0.49};

    (void)state;
    for (int n = 1; n <= 5; n++)
        check_enough(FALLING, n, 1, 1, n >= ADVISE_EVIDENCE_POINTS, n >= ADVISE_BEST_POINTS);
    check_enough(FLAT, 5, 1, 1, false, false);
    check_enough(UP_DOWN, 5, 1, 1, false, false);
    check_enough(ENDED, 3, 1, 1, true, true);     /* hardly falls any more */
    check_enough(FALLING, 5, 0, 1, false, false); /* no times */
    check_enough(FALLING, 5, 1, 16, true, true);  /* sixteen times the data, and more */
    check_enough(FALLING, 5, 1, 16.1, false, false);
    check_enough(FALLING, 5, 1, 0.06, false, false);
}

static void the_best_is_told_by_the_curve_that_went_lowest(void **state)
{
    struct advise_runs runs;
    double deep[60], cut[10];

    (void)state;
    for (int i = 0; i < 60; i++)
        deep[i] = 0.2 + 0.5 * exp(-0.1 * i);
    for (int i = 0; i < 10; i++)
        cut[i] = 0.7 - 0.03 * i; /* a line: its end could be anywhere */
    advise_runs_init(&runs, &base_alloc_libc);
    add_losses(&runs, "cut", cut, 10, 1);
    add_losses(&runs, "deep", deep, 60, 1);
    struct advise_fit *fit = fit_of(&runs);
    assert_int_equal(fit->best_by, 1);
    assert_true(fit->best == fit->algorithms[1].best && fit->best <= fit->lowest);
    assert_true(fabs(fit->best - 0.2) < 0.005);
    assert_true(fit->best_least <= fit->best);
    assert_true(fit->algorithms[1].best_low <= fit->best &&
                fit->best <= fit->algorithms[1].best_high);
    /* the one that was cut short is far less sure */
    assert_true(fit->algorithms[0].best_high - fit->algorithms[0].best_low >
                5 * (fit->algorithms[1].best_high - fit->algorithms[1].best_low));
    advise_fit_free(fit);
    advise_runs_fini(&runs);
}

static void counts_that_diverged_are_never_good(void **state)
{
    struct base_rand rand;
    struct advise_runs runs;
    struct advise_prediction p;

    (void)state;
    base_rand_init(&rand, 17, "test");
    struct world w = world_draw(&rand);
    explore(&w, &runs, &rand);
    struct advise_run *run = advise_runs_find(&runs, "a0", 32, 1, "", NULL);
    for (int i = 0; i < 8; i++)
        assert_int_equal(advise_runs_add(&runs, run, &(struct advise_point){i, i, exp(i)}, NULL),
                         SHOAL_OK);
    struct advise_fit *fit = fit_of(&runs);
    static const uint32_t OUT[] = {32, 48, 64};
    for (size_t i = 0; i < 3; i++) {
        advise_predict(fit, 0, OUT[i], fit->lowest, &p);
        assert_int_equal(p.verdict, ADVISE_DIVERGED);
    }
    advise_predict(fit, 0, 24, 0.6, &p);
    assert_int_equal(p.verdict, ADVISE_GOOD);
    advise_predict(fit, 1, 32, 0.6, &p);
    assert_int_equal(p.verdict, ADVISE_GOOD);
    advise_fit_free(fit);
    advise_runs_fini(&runs);
}

static shoal_status fit_once(const struct base_alloc *alloc, void *ctx)
{
    struct advise_fit *fit = NULL;
    shoal_status st = advise_fit_new(alloc, ctx, &PLAIN, &fit, NULL);

    advise_fit_free(fit);
    return st;
}

static void short_memory_is_an_error(void **state)
{
    struct base_rand rand;
    struct advise_runs runs;

    (void)state;
    base_rand_init(&rand, 19, "test");
    struct world w = world_draw(&rand);
    advise_runs_init(&runs, &base_alloc_libc);
    world_run(&w, &runs, 0, 1, 12, &rand);
    world_run(&w, &runs, 0, 4, 12, &rand);
    assert_int_equal(advise_runs_finish(&runs, NULL), SHOAL_OK);
    torture_run_sampled(fit_once, &runs, 20);
    advise_runs_fini(&runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_left_out_are_foreseen_and_intervals_hold),
        cmocka_unit_test(what_was_measured_is_told_as_it_was),
        cmocka_unit_test(lower_losses_never_take_less_time),
        cmocka_unit_test(no_curve_is_foretold_to_fall_faster_than_it_did),
        cmocka_unit_test(curves_above_the_first_loss_of_the_deepest_are_slower),
        cmocka_unit_test(a_run_that_begins_late_is_read),
        cmocka_unit_test(what_a_late_run_was_below_already_is_not_measured),
        cmocka_unit_test(late_runs_and_short_ones_enclose_the_time),
        cmocka_unit_test(times_follow_ernest),
        cmocka_unit_test(little_evidence_is_said_and_not_used),
        cmocka_unit_test(the_least_evidence_is_what_the_docs_say),
        cmocka_unit_test(the_best_is_told_by_the_curve_that_went_lowest),
        cmocka_unit_test(counts_that_diverged_are_never_good),
        cmocka_unit_test(short_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
