/* test_policy_fifo_types.c - in order of arrival, each job the fastest kind with room; and
 * pairs. */
#include "unit/sched/rules.h"

#include "base/assert.h"

enum { ROWS = 12 };

static struct world world; /* large */
static struct sched_table table;

static struct world *open_types(uint64_t seed, const char *spec, const char *knob)
{
    world_open(&world, sched_policy_find("fifo-types", NULL), seed, spec);
    if (knob != NULL)
        world_set(&world, knob);
    return &world;
}

/* Row r of `gangs`, random speeds per kind; two jobs together keep 0.6 to 1 of theirs each. */
static void begin_random(struct world *w, const uint32_t *gangs)
{
    assert_int_equal(sched_table_init(&table, &base_alloc_libc, &w->cluster, gangs, ROWS),
                     SHOAL_OK);
    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        for (uint32_t r = 0; r < ROWS; r++) {
            double rate = base_rand_range(&w->rand, 0.5, 4);
            assert_int_equal(sched_table_set(&table, &table.packed[k], r, rate), SHOAL_OK);
            for (uint32_t s = 0; s < ROWS; s++)
                assert_int_equal(sched_table_set_pair(&table, &table.packed[k], r, s,
                                                      rate * base_rand_range(&w->rand, 0.6, 1)),
                                 SHOAL_OK);
        }
    world_begin(w);
}

/* One row per speed list: speed[row * kinds + kind], pairs keep share[row * rows + other]. */
static void begin_with(struct world *w, uint32_t rows, const double *speed, const double *share)
{
    static const uint32_t gangs[ROWS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    uint32_t kinds = w->cluster.kind_count;

    assert_int_equal(sched_table_init(&table, &base_alloc_libc, &w->cluster, gangs, rows),
                     SHOAL_OK);
    for (uint32_t k = 0; k < kinds; k++)
        for (uint32_t a = 0; a < rows; a++) {
            assert_int_equal(sched_table_set(&table, &table.packed[k], a, speed[a * kinds + k]),
                             SHOAL_OK);
            for (uint32_t b = 0; share != NULL && b < rows; b++)
                assert_int_equal(sched_table_set_pair(&table, &table.packed[k], a, b,
                                                      speed[a * kinds + k] * share[a * rows + b]),
                                 SHOAL_OK);
        }
    world_begin(w);
}

static struct world_job *add_row(struct world *w, uint32_t row, double steps)
{
    uint32_t gpus = table.row_gpus[row];

    return world_add(w, gpus, world_fitting(w, UINT32_MAX, gpus),
                     sched_model_table(&table, row, steps));
}

static void close_types(struct world *w)
{
    world_close(w);
    sched_table_fini(&table);
}

/* What each job would choose if they were asked in order of arrival, written out plainly. */
static void claim_serial_choice(const struct world *w, bool aware)
{
    uint32_t left[SCHED_KINDS_MAX];

    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        left[k] = w->cluster.kinds[k].gpus;
    for (size_t i = 0; i < w->job_count; i++) {
        const struct sched_job *j = w->jobs[i];
        const struct sched_grant *g = sched_plan_grant(w->plan, i);
        int want = -1;
        for (uint32_t n = 0; want < 0 && n < j->kind_count; n++) {
            uint32_t kind = aware ? j->kind_rank[n] : n;
            if (left[kind] >= j->gpus)
                want = (int)kind;
        }
        WORLD_CLAIM(w, (g == NULL) == (want < 0), "job %u %s", j->id,
                    g == NULL ? "waits next to GPUs it could use" : "holds what older ones need");
        if (g == NULL)
            continue;
        WORLD_CLAIM(w, g->alloc.kind == want, "job %u is on kind %u, kind %d had room", j->id,
                    g->alloc.kind, want);
        left[want] -= j->gpus;
    }
}

static void older_jobs_choose_first_among_kinds_with_room(void **state)
{
    static const uint32_t gangs[ROWS] = {1, 1, 1, 1, 2, 2, 2, 4, 4, 1, 1, 2};

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(60); seed++) {
        bool aware = seed % 3 != 0;
        struct world *w =
            open_types(seed, "2x2:k80,1x4:v100,3x2:p100", aware ? NULL : "aware=false");
        begin_random(w, gangs);
        for (int r = 0; r < 60; r++) {
            for (uint64_t n = base_rand_below(&w->rand, 3); n > 0; n--)
                add_row(w, (uint32_t)base_rand_below(&w->rand, ROWS),
                        base_rand_exp(&w->rand, 1500) + 1);
            world_decide(w); /* a move costs nothing: everybody chooses freely each round */
            claim_serial_choice(w, aware);
            world_apply(w);
            world_pass(w, w->round_s);
        }
        close_types(w);
    }
}

static void a_job_that_does_not_fit_loses_nothing_to_those_behind_it(void **state)
{
    struct world *w = open_types(1, "1x4:t4", NULL);

    (void)state;
    world_begin(w);
    world_add_seconds(w, 3, 600);
    struct world_job *gang = world_add_seconds(w, 4, 600);
    struct world_job *small = world_add_seconds(w, 1, 6000);
    for (int r = 0; r < 10; r++) {
        world_round(w);
        assert_true(isnan(gang->start_s));
        assert_true(small->start_s == 0);
    }
    world_round(w); /* the first has ended: its turn, before the small one */
    assert_true(gang->start_s == 600);
    assert_int_equal(small->job.alloc.place_count, 0);
    world_close(w);
}

static void a_move_must_save_more_than_twice_the_restart(void **state)
{
    /* 1,000 steps left: 1,000 s on the slow kind, 900 s on the fast one */
    static const double speed[] = {1, 1.0 / 0.9};
    static const struct {
        double restart_s;
        bool moves;
    } cases[] = {{0, true}, {45, true}, {55, false}, {1000, false}};

    (void)state;
    for (size_t c = 0; c < BASE_COUNT(cases); c++) {
        struct world *w = open_types(1, "1x1:slow,1x1:fast", NULL);
        begin_with(w, 1, speed, NULL);
        w->restart_s = cases[c].restart_s;
        struct world_job *first = add_row(w, 0, 100), *second = add_row(w, 0, 1e4);
        world_round(w);
        assert_int_equal(first->job.alloc.kind, 1);
        assert_int_equal(second->job.alloc.kind, 0);
        world_end(w, 0, w->now_s);
        second->job.progress = 9000;
        world_round(w);
        assert_int_equal(second->job.alloc.kind, cases[c].moves);
        close_types(w);
    }
}

static void a_job_that_finds_no_room_joins_the_one_it_runs_best_with(void **state)
{
    static const double speed[] = {1, 1, 1};
    static const double share[] = {0, 0, 0.8, 0, 0, 0.9, 0.8, 0.9, 0};

    (void)state;
    for (int pairs = 0; pairs < 2; pairs++) {
        struct world *w = open_types(1, "1x2:t4", pairs != 0 ? "sharing=pairs" : "sharing=none");
        begin_with(w, 3, speed, share);
        struct world_job *a = add_row(w, 0, 1e5), *b = add_row(w, 1, 1e5);
        struct world_job *guest = add_row(w, 2, 1e5);
        for (int r = 0; r < 20; r++) {
            world_round(w);
            assert_int_equal(a->job.partner, SCHED_JOB_NONE);
            assert_int_equal(b->job.partner, pairs != 0 ? guest->job.id : SCHED_JOB_NONE);
            assert_int_equal(guest->job.starts, pairs); /* the pair lasts */
        }
        world_end(w, 0, w->now_s); /* the first leaves: the guest has GPUs of its own */
        world_round(w);
        assert_int_equal(guest->job.partner, SCHED_JOB_NONE);
        assert_int_equal(guest->job.alloc.place_count, 1);
        close_types(w);
    }
}

static void a_pair_lasts_though_a_better_partner_comes_along(void **state)
{
    static const double speed[] = {1, 1, 1, 1};
    /* the guest, row 2, cannot share with row 1 and would do best with row 3 */
    static const double share[] = {0, 0, 0.8, 0, 0, 0, 0, 0, 0.8, 0, 0, 0.9, 0, 0, 0.9, 0};

    (void)state;
    struct world *w = open_types(1, "1x2:t4", "sharing=pairs");
    begin_with(w, 4, speed, share);
    w->restart_s = 1e6; /* so that the guest does not take the GPU that becomes free */
    struct world_job *host = add_row(w, 0, 1e6);
    add_row(w, 1, 1e6);
    struct world_job *guest = add_row(w, 2, 1e6);
    world_round(w);
    world_end(w, 1, w->now_s);
    struct world_job *late = add_row(w, 3, 1e6);
    for (int r = 0; r < 5; r++) {
        world_round(w);
        assert_int_equal(guest->job.partner, host->job.id);
        assert_int_equal(guest->job.starts, 1);
        assert_int_equal(late->job.alloc.place_count, 1);
    }
    close_types(w);
}

static void a_guest_does_not_leave_a_fast_pair_for_a_slow_gpu(void **state)
{
    static const double speed[] = {4, 1}; /* on the fast and the slow kind */
    static const double share[] = {0.8};

    (void)state;
    struct world *w = open_types(1, "1x1:fast,1x1:slow", "sharing=pairs");
    begin_with(w, 1, speed, share);
    struct world_job *host = add_row(w, 0, 1e6), *other = add_row(w, 0, 1e6);
    struct world_job *guest = add_row(w, 0, 1e6);
    world_round(w);
    assert_int_equal(host->job.partner, guest->job.id);
    world_end(w, 1, w->now_s); /* the slow GPU is free now */
    (void)other;
    for (int r = 0; r < 5; r++) {
        world_round(w);
        assert_int_equal(host->job.partner, guest->job.id);
        assert_int_equal(guest->job.starts, 1);
    }
    close_types(w);
}

static void pairs_finish_more_work_than_waiting_does(void **state)
{
    static const uint32_t gangs[ROWS] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 4, 4, 4};
    double ended[2] = {0, 0};

    (void)state;
    for (int pairs = 0; pairs < 2; pairs++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct world *w =
                open_types(seed, "2x4:v100,1x4:k80", pairs != 0 ? "sharing=pairs" : "sharing=none");
            begin_random(w, gangs);
            for (int i = 0; i < 60; i++)
                add_row(w, (uint32_t)base_rand_below(&w->rand, ROWS), 2000);
            for (int r = 0; r < 60; r++) {
                world_decide(w);
                rules_check(w);
                world_apply(w);
                world_pass(w, w->round_s);
            }
            ended[pairs] += (double)(60 - w->job_count);
            close_types(w);
        }
    assert_true(ended[1] > 1.2 * ended[0]); /* each pair does at least 1.5 times the work of one */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(older_jobs_choose_first_among_kinds_with_room),
        cmocka_unit_test(a_job_that_does_not_fit_loses_nothing_to_those_behind_it),
        cmocka_unit_test(a_move_must_save_more_than_twice_the_restart),
        cmocka_unit_test(a_job_that_finds_no_room_joins_the_one_it_runs_best_with),
        cmocka_unit_test(a_pair_lasts_though_a_better_partner_comes_along),
        cmocka_unit_test(a_guest_does_not_leave_a_fast_pair_for_a_slow_gpu),
        cmocka_unit_test(pairs_finish_more_work_than_waiting_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
