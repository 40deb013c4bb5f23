/* Choices in a made world whose truth is known; paths against the slow search of all of them; the
 * next run; tables for the scheduler; the page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "advise/save.h"
#include "advise_world.h"
#include "property.h"
#include "torture.h"
#include <string.h>

static const struct advise_fit_opts PLAIN = {NAN, NAN};
static const uint32_t MACHINES[] = {1, 2, 4, 8, 16, 32};
enum { COUNTS = 6 };

struct made {
    struct world world;
    struct advise_runs runs;
    struct advise_fit *fit;
    struct advise_question q;
    struct advise_choice ch;
};

static void make(struct made *m, struct base_rand *rand)
{
    shoal_err err = SHOAL_ERR_INIT;

    *m = (struct made){.world = world_draw(rand)};
    advise_runs_init(&m->runs, &base_alloc_libc);
    for (int a = 0; a < 2; a++) {
        world_run(&m->world, &m->runs, a, 1, 60, rand);
        world_run(&m->world, &m->runs, a, 4, 40, rand);
        world_run(&m->world, &m->runs, a, 16, 40, rand);
    }
    assert_int_equal(advise_runs_finish(&m->runs, &err), SHOAL_OK);
    assert_int_equal(advise_fit_new(&base_alloc_libc, &m->runs, &PLAIN, &m->fit, &err), SHOAL_OK);
    m->q = (struct advise_question){.target = 0.25,
                                    .deadline_s = INFINITY,
                                    .machines = MACHINES,
                                    .machine_count = COUNTS,
                                    .change_s = 1,
                                    .seed = 1};
}

static void unmake(struct made *m)
{
    advise_choice_fini(&m->ch);
    advise_fit_free(m->fit);
    advise_runs_fini(&m->runs);
}

static double truth(const struct made *m, uint32_t index, bool cheap)
{
    const struct advise_candidate *c = &m->ch.candidates[index];

    return world_seconds(&m->world, (int)c->algorithm, c->machines, 0.25) *
           (cheap ? c->machines : 1);
}

static void choices_are_near_the_best_and_know_how_sure_they_are(void **state)
{
    struct base_rand rand;
    double good[2] = {0}, sure[2] = {0}, n = 0, worst = 1;

    (void)state;
    base_rand_init(&rand, 23, "test");
    for (int turn = 0; turn < property_count(40); turn++) {
        struct made m;
        make(&m, &rand);
        assert_int_equal(advise_choose(&base_alloc_libc, m.fit, &m.q, &m.ch, NULL), SHOAL_OK);
        for (int cheap = 0; cheap < 2; cheap++) {
            uint32_t chosen = cheap ? m.ch.cheapest : m.ch.fastest;
            double best = INFINITY;
            for (uint32_t i = 0; i < m.ch.count; i++)
                best = fmin(best, truth(&m, i, cheap != 0));
            double ratio = truth(&m, chosen, cheap != 0) / best;
            good[cheap] += ratio <= 1.05;
            worst = fmax(worst, ratio);
            sure[cheap] += cheap ? m.ch.candidates[chosen].near_cheapest
                                 : m.ch.candidates[chosen].near_fastest;
        }
        n++;
        unmake(&m);
    }
    for (int cheap = 0; cheap < 2; cheap++) {
        assert_true(good[cheap] / n >= 0.8);
        assert_true(sure[cheap] / n <= good[cheap] / n + 0.15); /* it does not boast */
    }
    assert_true(worst < 2);
}

/* All paths over a small table, by recursion. */
static double slow_path(const struct advise_question *q, const double *table, uint32_t n, int level,
                        uint32_t at)
{
    double best = INFINITY;

    if (level == ADVISE_LEVELS)
        return 0;
    for (uint32_t c = 0; c < n; c++) {
        const double *row = table + (size_t)c * (ADVISE_LEVELS + 1);
        double here = row[level + 1] - row[level] + (c == at ? 0 : q->change_s);
        /* all levels but the first four are equal: nothing is gained by looking further */
        double rest =
            level < 3 ? slow_path(q, table, n, level + 1, c) : row[ADVISE_LEVELS] - row[level + 1];
        best = fmin(best, here + rest);
    }
    return best;
}

static void paths_are_the_best_of_all(void **state)
{
    enum { N = 3 };
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 29, "test");
    for (int turn = 0; turn < property_count(50); turn++) {
        struct advise_candidate candidates[N] = {{.machines = 1}, {.machines = 2}, {.machines = 4}};
        struct advise_choice ch = {.candidates = candidates, .count = N};
        struct advise_question q = {.change_s = base_rand_range(&rand, 0, 2)};
        double table[N * (ADVISE_LEVELS + 1)] = {0}, levels[ADVISE_LEVELS + 1];
        double best[N * (ADVISE_LEVELS + 1)], slow = INFINITY;
        uint32_t work[N * (ADVISE_LEVELS + 1)];
        struct advise_path path;
        for (uint32_t c = 0; c < N; c++) {
            double *row = table + (size_t)c * (ADVISE_LEVELS + 1);
            candidates[c].p = (struct advise_prediction){.seconds = 1, .low_s = 1, .high_s = 1};
            for (int k = 1; k <= ADVISE_LEVELS; k++) /* nothing happens after the fourth level */
                row[k] = row[k - 1] + (k <= 4 ? base_rand_range(&rand, 0, 5) : 0);
        }
        for (int k = 0; k <= ADVISE_LEVELS; k++)
            levels[k] = 1 - 0.01 * k;
        for (uint32_t c = 0; c < N; c++)
            slow = fmin(slow, slow_path(&q, table, N, 0, c));
        advise_path_find(&ch, &q, levels, table, false, work, best, &path);
        assert_true(fabs(path.seconds - slow) < 1e-9);
        for (uint32_t i = 0; i + 1 < path.leg_count; i++)
            assert_true(path.legs[i].to_loss == path.legs[i + 1].from_loss &&
                        path.legs[i].candidate != path.legs[i + 1].candidate);
        assert_true(path.gain >= -1e-12);
    }
}

static void a_deadline_gives_the_lowest_loss_by_then(void **state)
{
    struct base_rand rand;
    struct made m;

    (void)state;
    base_rand_init(&rand, 31, "test");
    make(&m, &rand);
    m.q.target = NAN;
    m.q.deadline_s = 5;
    assert_int_equal(advise_choose(&base_alloc_libc, m.fit, &m.q, &m.ch, NULL), SHOAL_OK);
    const struct advise_candidate *c = &m.ch.candidates[m.ch.by_deadline];
    for (uint32_t i = 0; i < m.ch.count; i++)
        if (m.ch.candidates[i].p.verdict == ADVISE_GOOD)
            assert_false(m.ch.candidates[i].loss < c->loss);
    assert_true(c->low_loss <= c->loss && c->loss <= c->high_loss && c->loss >= m.fit->best);
    assert_true(advise_seconds(m.fit, c->algorithm, c->machines, c->loss) <= 5.0001);
    /* machines are paid until then, and nothing is said about a loss that was not asked for */
    assert_true(c->seconds == 5 && fabs(c->cost - 5.0 / 3600 * c->machines) < 1e-12);
    assert_true(m.ch.fastest == UINT32_MAX && m.ch.cheapest == UINT32_MAX);
    advise_choice_fini(&m.ch);
    /* no iteration is done in a microsecond */
    m.q.deadline_s = 1e-6;
    assert_int_equal(advise_choose(&base_alloc_libc, m.fit, &m.q, &m.ch, NULL), SHOAL_E_IMPOSSIBLE);
    unmake(&m);
}

static void a_target_that_may_be_off_has_wider_intervals(void **state)
{
    struct base_rand rand;
    struct made m;
    struct advise_choice sharp;

    (void)state;
    base_rand_init(&rand, 59, "test");
    make(&m, &rand);
    assert_int_equal(advise_choose(&base_alloc_libc, m.fit, &m.q, &sharp, NULL), SHOAL_OK);
    m.q.lower = 0.02;
    m.q.higher = 0.1;
    assert_int_equal(advise_choose(&base_alloc_libc, m.fit, &m.q, &m.ch, NULL), SHOAL_OK);
    assert_true(m.ch.fastest == sharp.fastest && m.ch.cheapest == sharp.cheapest);
    double wider = 0;
    for (uint32_t i = 0; i < sharp.count; i++) {
        const struct advise_candidate *a = &sharp.candidates[i], *b = &m.ch.candidates[i];
        if (a->p.verdict != ADVISE_GOOD)
            continue;
        assert_true(b->seconds == a->seconds && b->low_s <= a->low_s && b->high_s >= a->high_s);
        wider += b->low_s < a->low_s;
    }
    assert_true(wider > 0);
    advise_choice_fini(&sharp);
    unmake(&m);
}

static void what_cannot_be_reached_is_refused_in_words(void **state)
{
    struct base_rand rand;
    struct made m;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    base_rand_init(&rand, 37, "test");
    make(&m, &rand);
    m.q.target = -1;
    assert_int_equal(advise_choose(&base_alloc_libc, m.fit, &m.q, &m.ch, &err), SHOAL_E_IMPOSSIBLE);
    assert_non_null(strstr(err.message, "is not reached"));
    assert_true(err.hint[0] != 0);
    m.q.target = 0.71; /* where it begins */
    assert_int_equal(advise_choose(&base_alloc_libc, m.fit, &m.q, &m.ch, &err), SHOAL_E_IMPOSSIBLE);
    assert_non_null(strstr(err.message, "before the first iteration"));
    unmake(&m);
}

static void asking_on_ends_with_a_choice_that_was_measured(void **state)
{
    struct base_rand rand;
    struct made m;
    double had = 0;
    int asked = 0;

    (void)state;
    base_rand_init(&rand, 41, "test");
    make(&m, &rand);
    for (; asked < 60; asked++) {
        struct advise_next next;
        assert_int_equal(advise_choose(&base_alloc_libc, m.fit, &m.q, &m.ch, NULL), SHOAL_OK);
        if (!advise_next(m.fit, &m.q, &m.ch, false, &next))
            break;
        assert_true(next.to > next.from && next.seconds > 0);
        had += next.seconds;
        /* the run is made: again from the start, under a name of its own */
        struct advise_runs more;
        advise_runs_init(&more, &base_alloc_libc);
        for (size_t i = 0; i < m.runs.count; i++) {
            const struct advise_run *r = &m.runs.runs[i];
            if (r->algorithm == next.algorithm && r->machines == next.machines)
                continue;
            struct advise_run *to =
                advise_runs_find(&more, m.runs.algorithms[r->algorithm], r->machines, 1, "", NULL);
            for (size_t k = 0; k < r->count; k++)
                assert_int_equal(advise_runs_add(&more, to, &r->points[k], NULL), SHOAL_OK);
        }
        world_run(&m.world, &more, m.runs.algorithms[next.algorithm][1] - '0', next.machines,
                  (int)next.to, &rand);
        struct world world = m.world;
        struct advise_question q = m.q;
        unmake(&m);
        m = (struct made){.world = world, .runs = more, .q = q};
        assert_int_equal(advise_runs_finish(&m.runs, NULL), SHOAL_OK);
        assert_int_equal(advise_fit_new(&base_alloc_libc, &m.runs, &PLAIN, &m.fit, NULL), SHOAL_OK);
    }
    assert_true(asked < 60 && had > 0);
    assert_true(m.ch.candidates[m.ch.fastest].p.measured);
    assert_true(m.ch.candidates[m.ch.fastest].near_fastest > 0.5);
    unmake(&m);
}

static void tables_are_what_the_scheduler_takes(void **state)
{
    struct base_rand rand;
    struct base_arena arena;

    (void)state;
    base_rand_init(&rand, 43, "test");
    base_arena_init(&arena, &base_alloc_libc, 1 << 12);
    for (int turn = 0; turn < property_count(10); turn++) {
        struct made m;
        struct sched_fitted tables;
        make(&m, &rand);
        assert_int_equal(advise_choose(&base_alloc_libc, m.fit, &m.q, &m.ch, NULL), SHOAL_OK);
        assert_int_equal(advise_tables_make(m.fit, &m.ch, 0, 0.25, &arena, &tables), SHOAL_OK);
        assert_true(sched_fitted_valid(&tables));
        for (uint32_t i = 0; i < tables.machine_count; i++) {
            double steps = 0;
            for (uint32_t k = 0; k < tables.level_count; k++)
                steps += tables.steps[i * tables.level_count + k];
            double is = advise_steps(m.fit, 0, tables.machines[i], 0.25);
            assert_true(fabs(steps / is - 1) < 1e-3);
        }
        unmake(&m);
    }
    base_arena_fini(&arena);
}

static shoal_status choose_once(const struct base_alloc *alloc, void *ctx)
{
    struct made *m = ctx;
    struct advise_choice ch = {.alloc = alloc};
    shoal_status st = advise_choose(alloc, m->fit, &m->q, &ch, NULL);

    advise_choice_fini(&ch);
    return st;
}

static void short_memory_is_an_error(void **state)
{
    struct base_rand rand;
    struct made m;

    (void)state;
    base_rand_init(&rand, 53, "test");
    make(&m, &rand);
    torture_run(choose_once, &m);
    unmake(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_are_near_the_best_and_know_how_sure_they_are),
        cmocka_unit_test(paths_are_the_best_of_all),
        cmocka_unit_test(a_deadline_gives_the_lowest_loss_by_then),
        cmocka_unit_test(a_target_that_may_be_off_has_wider_intervals),
        cmocka_unit_test(what_cannot_be_reached_is_refused_in_words),
        cmocka_unit_test(asking_on_ends_with_a_choice_that_was_measured),
        cmocka_unit_test(tables_are_what_the_scheduler_takes),
        cmocka_unit_test(short_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
