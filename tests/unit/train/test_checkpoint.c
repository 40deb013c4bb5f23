/* ctest: timeout=300 */
/* Jobs whose driver dies, all of it, at any moment, and that go on from what is on disk: every task
 * counts once, states, tables and driver agree, whatever is lost, damaged or full. */
#include "checkpoint_world.h"

/* Lives and dies until a driver has ended the job; each goes on from what the last one left, or, when
 * there is nothing, begins. */
static void lives(struct world *w, uint32_t deaths, uint64_t events_mean)
{
    struct cluster *c = &w->c;
    shoal_err err = SHOAL_ERR_INIT;

    for (uint32_t i = 0;; i++) {
        uint64_t least = w->tasks_before;
        bool there = w->checkpoints > 0;
        shoal_status st = birth(w, true, &err);
        if (there && st != SHOAL_OK)
            fail_msg("seed %llu: %s", (unsigned long long)w->seed, err.message);
        if (st == SHOAL_OK && train_master_stats(c->master).tasks < least)
            fail_msg(
                "seed %llu: resumed with %llu tasks; %llu were saved", (unsigned long long)w->seed,
                (unsigned long long)train_master_stats(c->master).tasks, (unsigned long long)least);
        if (st != SHOAL_OK && st != SHOAL_E_NOTFOUND)
            fail_msg("seed %llu: %s", (unsigned long long)w->seed, err.message);
        if (st != SHOAL_OK)
            assert_int_equal(birth(w, false, &err), SHOAL_OK);
        live(w,
             i < deaths ? 1 + (uint64_t)base_rand_exp(&c->rand, (double)events_mean) : UINT64_MAX);
        if (c->over)
            break;
        death(w);
        if (i % 2 == 0)
            env_sim_power_cut(c->env);
    }
    if (c->status != SHOAL_OK)
        fail_msg("seed %llu: %s", (unsigned long long)w->seed, c->err.message);
}

static void check_witness(struct world *w, uint64_t clocks)
{
    const struct witness_driver *d = shoal_driver_state(train_master_driver(w->c.master));
    struct train_box *box = train_master_box(w->c.master);
    const float *seen = train_box_rows(box, 0), *sums = train_box_rows(box, 1);
    double total = 0;

    for (uint32_t e = 0; e < EXECUTORS; e++)
        if ((uint64_t)seen[e] != clocks)
            fail_msg("seed %llu: executor %u counted %g times", (unsigned long long)w->seed, e,
                     (double)seen[e]);
    for (uint32_t i = 0; i < ROWS * WIDTH; i++)
        total += (double)sums[i];
    if (total != (double)d->sum)
        fail_msg("seed %llu: %g in the table, %llu told", (unsigned long long)w->seed, total,
                 (unsigned long long)d->sum);
    assert_int_equal(train_master_stats(w->c.master).tasks, EXECUTORS * clocks);
}

/* What goes wrong besides. */
static void trouble(struct world *w)
{
    uint64_t seed = w->seed;

    if (seed % 3 == 0)
        w->c.net = (struct env_sim_net){1e-3, 0.05, 0.05, 0.02};
    if (seed % 2 == 0) {
        w->c.crash = 0.002;
        w->c.crash_left = 10;
        w->c.kill_mean_s = 0.02;
        w->c.kills_left = 5;
    }
    if (seed % 5 == 0) {
        w->c.away = 1 + (uint32_t)(seed % 2);
        w->c.away_mean_s = 0.02;
    }
    if (seed % 7 == 0) {
        w->c.scale_mean_s = 0.03;
        w->c.workers_max = 6;
    }
    if (seed % 4 == 0) {
        assert_int_equal(env_sim_set_fault(w->c.env, "env.write", 0.02), SHOAL_OK);
        assert_int_equal(env_sim_set_fault(w->c.env, "env.commit", 0.2), SHOAL_OK);
        assert_int_equal(env_sim_set_fault(w->c.env, "env.sync", 0.2), SHOAL_OK);
    }
    w->c.threads = 1 + (uint32_t)(seed % 2);
}

/* ---- claims ---- */

static void a_driver_may_die_at_any_moment_and_every_task_counts_once(void **state)
{
    uint64_t resumed = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(300); seed++) {
        struct world *w = world_new(seed, &WITNESS, 30, (uint32_t)(seed % 4), "");
        trouble(w);
        lives(w, 5, 600);
        check_witness(w, 30);
        resumed += env_sim_find(w->c.env, "saved/full-0.pack") != NULL;
        world_free(w);
    }
    assert_true(resumed > 100);
}

static void states_tables_held_shards_and_driver_agree_after_every_resume(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(300); seed++) {
        /* Workers elsewhere and shards that several want at once do not go together. */
        struct world *w =
            world_new(seed, &LEDGER, 20, (uint32_t)(seed % 4),
                      seed % 5 == 0 ? "own=true" : (seed % 3 == 0 ? "idle=5000\ntouch=true" : ""));
        trouble(w);
        lives(w, 5, 600);
        check_ledger(w, 20);
        world_free(w);
    }
}

static void a_bulk_synchronous_job_ends_bit_for_bit_as_if_nothing_had_happened(void **state)
{
    float first[ROWS * WIDTH];

    (void)state;
    for (uint64_t seed = 0; seed <= (uint64_t)property_count(100); seed++) {
        struct world *w = world_new(1 + seed, &WITNESS, 25, 0, "reals=true");
        if (seed == 0)
            w->every_ms = 1000000; /* undisturbed */
        else
            trouble(w);
        lives(w, seed == 0 ? 0 : 5, 600);
        const float *sums = train_box_rows(train_master_box(w->c.master), 1);
        if (seed == 0)
            memcpy(first, sums, sizeof first);
        else if (memcmp(first, sums, sizeof first) != 0)
            fail_msg("seed %llu: other sums", (unsigned long long)seed);
        world_free(w);
    }
    assert_true(first[0] > 0 && first[0] != floorf(first[0]));
}

static void checkpoints_are_taken_as_often_as_was_asked_for(void **state)
{
    (void)state;
    for (uint32_t staleness = 0; staleness < 3; staleness++) {
        struct world *w = world_new(1 + staleness, &LEDGER, 400, staleness, "");
        w->every_ms = 100;
        assert_int_equal(birth(w, false, NULL), SHOAL_OK);
        live(w, UINT64_MAX);
        struct train_stats stats = train_master_stats(w->c.master);
        double seconds = (double)env_now_ns(w->c.env) / 1e9;
        assert_int_equal(w->c.status, SHOAL_OK);
        if ((double)stats.checkpoints < 0.7 * seconds / 0.1)
            fail_msg("staleness %u: %llu checkpoints in %g s", staleness,
                     (unsigned long long)stats.checkpoints, seconds);
        world_free(w);
    }
}

/* A part that did not change may be larger than all that did. */
static void what_did_not_change_is_not_written_again(void **state)
{
    struct world *w = world_new(3, &LEDGER, 400, 1, "idle=1000000");
    shoal_err err;

    (void)state;
    assert_int_equal(birth(w, false, &err), SHOAL_OK);
    live(w, 12000);
    assert_false(w->c.over);
    assert_true(train_master_stats(w->c.master).checkpoints > 3);
    const struct base_buf *full = env_sim_find(w->c.env, "saved/full-0.pack");
    const struct base_buf *delta = env_sim_find(w->c.env, "saved/delta.pack");
    assert_non_null(full);
    assert_non_null(delta);
    assert_null(env_sim_find(w->c.env, "saved/full-1.pack"));
    assert_true(full->size > 4000000);
    assert_true(delta->size < 20000);
    death(w);
    assert_int_equal(birth(w, true, &err), SHOAL_OK);
    assert_string_equal(w->said, "");
    live(w, UINT64_MAX);
    assert_int_equal(w->c.status, SHOAL_OK);
    check_ledger(w, 400);
    world_free(w);
}

static void a_disk_that_takes_nothing_costs_the_job_nothing(void **state)
{
    struct world *w = world_new(1, &LEDGER, 150, 1, "");
    shoal_err err;

    (void)state;
    assert_int_equal(env_sim_set_fault(w->c.env, "env.commit", 1), SHOAL_OK);
    assert_int_equal(birth(w, false, &err), SHOAL_OK);
    live(w, UINT64_MAX);
    assert_int_equal(w->c.status, SHOAL_OK);
    check_ledger(w, 150);
    assert_int_equal(train_master_stats(w->c.master).checkpoints, 0);
    assert_true(train_master_stats(w->c.master).checkpoints_failed > 2);
    assert_int_equal(w->warnings, 1);
    assert_non_null(strstr(w->said, "the job goes on"));
    world_free(w);
}

static void a_job_that_is_stopped_leaves_all_it_did(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(60); seed++) {
        struct world *w = world_new(seed, &LEDGER, 40, (uint32_t)(seed % 3), "");
        shoal_err err;
        w->every_ms = seed % 2 == 0 ? 5 : 100000;
        if (seed % 3 == 0) {
            w->c.crash = 0.002;
            w->c.crash_left = 10;
        }
        assert_int_equal(birth(w, false, &err), SHOAL_OK);
        live(w, seed % 5 == 0 ? 5 : 100 + 10 * (seed % 60)); /* some before they did anything */
        uint64_t before = train_master_stats(w->c.master).tasks;
        train_master_stop(w->c.master);
        train_master_stop(w->c.master); /* once more changes nothing */
        live(w, UINT64_MAX);
        assert_int_equal(w->c.status, SHOAL_E_CANCELLED);
        assert_non_null(strstr(w->c.err.hint, "--resume goes on from here"));
        struct train_stats stats = train_master_stats(w->c.master);
        assert_true(stats.checkpoints > 0 && stats.tasks >= before);
        death(w);
        assert_int_equal(birth(w, true, &err), SHOAL_OK);
        assert_int_equal(train_master_stats(w->c.master).tasks, stats.tasks);
        assert_true(train_master_stats(w->c.master).resumed && !stats.resumed);
        live(w, UINT64_MAX);
        assert_int_equal(w->c.status, SHOAL_OK);
        check_ledger(w, 40);
        world_free(w);
    }
}

/* ---- memory ---- */

static shoal_status save_and_load(const struct base_alloc *alloc, void *ctx)
{
    struct train_shelf_job job = {&LEDGER, "", "data", 1, 1};
    struct train_shelf *shelf = NULL;
    struct train_box *box[2] = {NULL, NULL};
    struct env_shared segment[2] = {{0}, {0}};
    shoal_env *env = NULL;
    struct base_buf driver;
    uint64_t size;
    shoal_status st = env_sim_new(alloc, 1, &env, NULL);

    (void)ctx;
    if (st != SHOAL_OK)
        return st;
    base_buf_init(&driver, alloc, 1000);
    for (int i = 0; i < 2 && st == SHOAL_OK; i++) {
        struct train_box_opts opts = {.staleness = 1};
        shoal_table_opts table = SHOAL_TABLE_OPTS_INIT;
        table.name = "t";
        table.rows = 8;
        table.shards = 2;
        st = env_shared_new(env, 1 << 20, &segment[i], NULL);
        if (st == SHOAL_OK)
            st = train_box_new(env, &segment[i], &opts, &box[i], NULL);
        if (st == SHOAL_OK)
            st = train_box_executors(box[i], 2, NULL);
        if (st == SHOAL_OK)
            st = train_box_table(box[i], &table, NULL);
        if (st == SHOAL_OK)
            st = train_box_seal(box[i], NULL);
    }
    if (st == SHOAL_OK)
        st = train_shelf_new(env, DIR, box[0], &job, &shelf, NULL);
    if (st == SHOAL_OK) {
        train_box_rows(box[0], 0)[3] = 5;
        st = train_shelf_gather(shelf, NULL);
    }
    if (st == SHOAL_OK)
        st = train_shelf_write(shelf, "driver", 6, &size, NULL);
    train_shelf_free(shelf);
    shelf = NULL;
    if (st == SHOAL_OK)
        st = train_shelf_new(env, DIR, box[1], &job, &shelf, NULL);
    if (st == SHOAL_OK)
        st = train_shelf_load(shelf, NULL, &driver, NULL);
    if (st == SHOAL_OK && (train_box_rows(box[1], 0)[3] != 5 || driver.size != 6))
        st = SHOAL_E_INTERNAL;
    train_shelf_free(shelf);
    for (int i = 0; i < 2; i++) {
        train_box_free(box[i]);
        env_shared_close(env, &segment[i]);
    }
    base_buf_fini(&driver);
    shoal_env_free(env);
    return st;
}

static void memory_that_is_short_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    torture_run(save_and_load, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_may_die_at_any_moment_and_every_task_counts_once),
        cmocka_unit_test(states_tables_held_shards_and_driver_agree_after_every_resume),
        cmocka_unit_test(a_bulk_synchronous_job_ends_bit_for_bit_as_if_nothing_had_happened),
        cmocka_unit_test(checkpoints_are_taken_as_often_as_was_asked_for),
        cmocka_unit_test(what_did_not_change_is_not_written_again),
        cmocka_unit_test(a_disk_that_takes_nothing_costs_the_job_nothing),
        cmocka_unit_test(a_job_that_is_stopped_leaves_all_it_did),
        cmocka_unit_test(memory_that_is_short_is_an_error_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
