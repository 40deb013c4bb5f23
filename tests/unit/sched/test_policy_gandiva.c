/* test_policy_gandiva.c - turns and pairs. */
#include "unit/sched/world.h"

#include "base/assert.h"

static struct world world; /* large */
static struct sched_table table;

static struct world *open_gandiva(const char *spec, const char *slice)
{
    world_open(&world, sched_policy_find("gandiva", NULL), 1, spec);
    world_set(&world, slice);
    return &world;
}

/* Rows of one GPU; a job next to another keeps share[row][other] of its speed alone. */
static void begin_with_shares(struct world *w, uint32_t rows, const double *share)
{
    uint32_t gangs[8] = {1, 1, 1, 1, 1, 1, 1, 1};

    assert_int_equal(sched_table_init(&table, &base_alloc_libc, &w->cluster, gangs, rows),
                     SHOAL_OK);
    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        for (uint32_t a = 0; a < rows; a++) {
            assert_int_equal(sched_table_set(&table, &table.packed[k], a, 1 + k), SHOAL_OK);
            for (uint32_t b = 0; b < rows; b++)
                assert_int_equal(sched_table_set_pair(&table, &table.packed[k], a, b,
                                                      (1 + k) * share[a * rows + b]),
                                 SHOAL_OK);
        }
    world_begin(w);
}

static struct world_job *add_row(struct world *w, uint32_t row, double steps)
{
    return world_add(w, 1, world_fitting(w, UINT32_MAX, 1), sched_model_table(&table, row, steps));
}

static void close_gandiva(struct world *w)
{
    world_close(w);
    sched_table_fini(&table);
}

static void equal_jobs_get_equal_turns(void **state)
{
    struct world *w = open_gandiva("1x2:t4", "slice=5m");

    (void)state;
    world_begin(w);
    for (int i = 0; i < 7; i++)
        world_add_seconds(w, 1, 1e6);
    for (int r = 0; r < 350; r++) {
        world_round(w);
        double least = INFINITY, most = 0;
        for (int i = 0; i < 7; i++) {
            least = fmin(least, w->all[i]->job.attained_gpu_s);
            most = fmax(most, w->all[i]->job.attained_gpu_s);
        }
        WORLD_CLAIM(w, most - least <= 300, "one job is %g s ahead of another", most - least);
    }
    world_close(w);
}

static void turns_count_useful_time_so_a_slow_gpu_counts_for_less(void **state)
{
    static const double alone[] = {0};
    struct world *w = open_gandiva("1x1:slow,1x1:fast", "slice=5m");

    (void)state;
    begin_with_shares(w, 1, alone); /* the second kind is twice as fast, nobody can share */
    for (int i = 0; i < 3; i++)
        add_row(w, 0, 1e6);
    for (int r = 0; r < 600; r++) {
        world_round(w);
        double least = INFINITY, most = 0;
        for (int i = 0; i < 3; i++) {
            least = fmin(least, w->all[i]->job.progress);
            most = fmax(most, w->all[i]->job.progress);
        }
        WORLD_CLAIM(w, most - least <= 2 * 600, "one job is %g steps ahead", most - least);
    }
    close_gandiva(w);
}

static void a_guest_goes_to_the_host_it_runs_best_with(void **state)
{
    /* hosts 0 and 1, guest 2: together with 1 they do more */
    static const double share[] = {0, 0, 0.7, 0, 0, 0.8, 0.7, 0.8, 0};
    struct world *w = open_gandiva("1x2:t4", "slice=1h");

    (void)state;
    begin_with_shares(w, 3, share);
    struct world_job *a = add_row(w, 0, 1e5), *b = add_row(w, 1, 1e5), *guest = add_row(w, 2, 1e5);
    for (int r = 0; r < 20; r++) {
        world_round(w);
        assert_int_equal(a->job.partner, SCHED_JOB_NONE);
        assert_int_equal(b->job.partner, guest->job.id);
        assert_int_equal(guest->job.partner, b->job.id);
        assert_int_equal(guest->job.starts, 1); /* the pair lasts */
    }
    close_gandiva(w);
}

static void a_pair_needs_more_than_the_gain_asked_for_and_the_knob_that_allows_it(void **state)
{
    static const double share[] = {0, 0.65, 0.65, 0};
    static const struct {
        const char *knob;
        bool shares;
    } cases[] = {
        {"gain=1.2", true}, {"gain=1.29", true}, {"gain=1.31", false}, {"pack=false", false}};

    (void)state;
    for (size_t c = 0; c < BASE_COUNT(cases); c++) {
        struct world *w = open_gandiva("1x1:t4", "slice=1h");
        world_set(w, cases[c].knob);
        begin_with_shares(w, 2, share);
        struct world_job *a = add_row(w, 0, 1e5);
        add_row(w, 1, 1e5);
        world_round(w);
        assert_int_equal(a->job.partner, cases[c].shares ? 1 : SCHED_JOB_NONE);
        close_gandiva(w);
    }
}

/* Two pairs on one node: a job that leaves its pair must not take the other pair's GPU. */
static void pairs_on_one_node_do_not_disturb_each_other(void **state)
{
    static const double share[] = {0.8, 0.8, 0.8, 0.8};
    struct world *w = open_gandiva("1x2:t4", "slice=10h");

    (void)state;
    begin_with_shares(w, 2, share);
    for (uint32_t i = 0; i < 4; i++)
        add_row(w, i % 2, 1e4);
    for (int r = 0; r < 50; r++)
        world_round(w);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(w->all[i]->job.starts, 1);
    assert_int_equal(world_running(w), 4);
    close_gandiva(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_jobs_get_equal_turns),
        cmocka_unit_test(turns_count_useful_time_so_a_slow_gpu_counts_for_less),
        cmocka_unit_test(a_guest_goes_to_the_host_it_runs_best_with),
        cmocka_unit_test(a_pair_needs_more_than_the_gain_asked_for_and_the_knob_that_allows_it),
        cmocka_unit_test(pairs_on_one_node_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
