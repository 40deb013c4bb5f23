/* Tests of src/train/task.c. */
#include "torture.h"

#include "train/box_parts.h"
#include <stdio.h>
#include <string.h>

enum { SEGMENT = 8 << 20, EXECUTORS = 3, ROWS = 10, WIDTH = 5, HELD_ROWS = 6 };

/* A small job: table 0 takes increments (two shards), table 1 is held (three). */
struct job {
    shoal_env *env;
    struct env_shared segment;
    struct train_box *box;
    struct train_desk *desk;
    uint64_t questions, die_at; /* of the crash hook */
};

static bool die(void *ctx)
{
    struct job *job = ctx;
    return ++job->questions == job->die_at;
}

static shoal_status job_make(struct job *job, uint32_t staleness, size_t size)
{
    struct train_box_opts opts = {.staleness = staleness, .crash = die, .crash_ctx = job};
    shoal_table_opts table = SHOAL_TABLE_OPTS_INIT, held = SHOAL_TABLE_OPTS_INIT;
    struct env_shared segment = job->segment;

    segment.size = size;
    shoal_status st = train_box_new(job->env, &segment, &opts, &job->box, NULL);
    if (st == SHOAL_OK)
        st = train_box_executors(job->box, EXECUTORS, NULL);
    table.name = "sums";
    table.rows = ROWS;
    table.width = WIDTH;
    table.shards = 2;
    held.name = "blocks";
    held.rows = HELD_ROWS;
    held.width = 2;
    held.shards = 3;
    held.held = true;
    if (st == SHOAL_OK)
        st = train_box_table(job->box, &table, NULL);
    if (st == SHOAL_OK)
        st = train_box_table(job->box, &held, NULL);
    for (uint32_t e = 0; st == SHOAL_OK && e < EXECUTORS; e++)
        if (train_box_data(job->box, e, 16) == NULL || train_box_state(job->box, e, 8) == NULL)
            st = SHOAL_E_NOMEM;
    if (st == SHOAL_OK)
        st = train_box_seal(job->box, NULL);
    if (st == SHOAL_OK)
        st = train_desk_new(job->box, &job->desk);
    return st;
}

static void job_begin(struct job *job, uint32_t staleness)
{
    memset(job, 0, sizeof *job);
    assert_int_equal(shoal_env_sim_new(1, &job->env, NULL), SHOAL_OK);
    assert_int_equal(env_shared_new(job->env, SEGMENT, &job->segment, NULL), SHOAL_OK);
    assert_int_equal(job_make(job, staleness, SEGMENT), SHOAL_OK);
}

static void job_end(struct job *job)
{
    train_desk_free(job->desk);
    train_box_free(job->box);
    env_shared_close(job->env, &job->segment);
    shoal_env_free(job->env);
}

static shoal_task *begin_clock(struct job *job, uint32_t e, uint64_t clock)
{
    struct train_task_spec spec = {
        .executor = e, .number = train_box_committed(job->box, e) + 1, .clock = clock};
    shoal_task *task = NULL;

    assert_int_equal(train_task_begin(job->desk, 7, job, &spec, &task, NULL), SHOAL_OK);
    return task;
}

static shoal_task *begin(struct job *job, uint32_t e)
{
    return begin_clock(job, e, 0);
}

static shoal_task *begin_held(struct job *job, uint32_t e, uint32_t shard)
{
    struct train_task_spec spec = {.executor = e,
                                   .number = train_box_committed(job->box, e) + 1,
                                   .holds = true,
                                   .hold_table = 1,
                                   .hold_shard = shard};
    shoal_task *task = NULL;

    assert_int_equal(train_task_begin(job->desk, 7, job, &spec, &task, NULL), SHOAL_OK);
    return task;
}

static void a_task_is_what_its_spec_says(void **state)
{
    struct job job;
    struct train_task_spec spec = {.executor = 2, .fn = 9, .number = 1, .clock = 4, .arg_size = 3};
    shoal_task *task;
    size_t size;

    (void)state;
    job_begin(&job, 8);
    memcpy(spec.arg, "abc", 3);
    assert_int_equal(train_task_begin(job.desk, 7, &spec, &spec, &task, NULL), SHOAL_OK);
    assert_ptr_equal(shoal_task_options(task), &spec);
    assert_int_equal(shoal_task_executor(task), 2);
    assert_int_equal(shoal_task_fn(task), 9);
    assert_int_equal(shoal_task_clock(task), 4);
    assert_memory_equal(shoal_task_arg(task, &size), "abc", 3);
    assert_int_equal(size, 3);
    assert_non_null(shoal_task_data(task, &size));
    assert_int_equal(size, 16);
    assert_ptr_equal(shoal_task_rows(task, 0), train_box_rows(job.box, 0));
    assert_null(shoal_task_rows(task, 1));
    assert_null(shoal_task_held(task, NULL, NULL));
    assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    job_end(&job);
}

static void only_the_next_number_begins_and_one_task_at_a_time(void **state)
{
    struct job job;
    struct train_task_spec spec = {.number = 2};
    shoal_err err = SHOAL_ERR_INIT;
    shoal_task *task, *other;

    (void)state;
    job_begin(&job, 1);
    assert_int_equal(train_task_begin(job.desk, 1, NULL, &spec, &task, &err), SHOAL_E_INVAL);
    assert_string_equal(err.message, "executor 0 is at task 0, not before 2");
    spec.number = 1;
    assert_int_equal(train_task_begin(job.desk, 1, NULL, &spec, &task, NULL), SHOAL_OK);
    assert_int_equal(train_task_begin(job.desk, 1, NULL, &spec, &other, NULL), SHOAL_E_INVAL);
    train_task_abort(task);
    spec.executor = EXECUTORS;
    assert_int_equal(train_task_begin(job.desk, 1, NULL, &spec, &task, NULL), SHOAL_E_INVAL);
    spec.executor = 0;
    spec.holds = true; /* table 0 cannot be held */
    assert_int_equal(train_task_begin(job.desk, 1, NULL, &spec, &task, NULL), SHOAL_E_INVAL);
    spec.hold_table = 1;
    spec.hold_shard = 3;
    assert_int_equal(train_task_begin(job.desk, 1, NULL, &spec, &task, NULL), SHOAL_E_INVAL);
    job_end(&job);
}

static void a_new_state_is_seen_by_the_next_task_and_never_by_its_own(void **state)
{
    struct job job;
    size_t size;

    (void)state;
    job_begin(&job, 1);
    shoal_task *task = begin(&job, 0);
    uint64_t *now = shoal_task_new_state(task, true);
    *now = 5;
    assert_true(*(const uint64_t *)shoal_task_state(task, &size) == 0 && size == 8);
    train_task_abort(task);
    task = begin(&job, 0);
    assert_true(*(const uint64_t *)shoal_task_state(task, &size) == 0);
    now = shoal_task_new_state(task, true);
    assert_true(*now == 0);
    *now = 6;
    assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    task = begin(&job, 0); /* leaves it as it is */
    assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    task = begin(&job, 0);
    assert_true(*(const uint64_t *)shoal_task_state(task, &size) == 6);
    train_task_abort(task);
    job_end(&job);
}

static void increments_of_all_kinds_add_up(void **state)
{
    static const float x[WIDTH] = {1, 2, 3, 4, 5}, u[ROWS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const uint32_t index[] = {1, 4, 1};
    static const float value[] = {10, 100, 10};
    struct job job;

    (void)state;
    job_begin(&job, 1);
    shoal_task *task = begin(&job, 0);
    shoal_task_add(task, 0, 3, x);
    shoal_task_add(task, 0, 3, x);
    shoal_task_add(task, 0, 9, x);
    shoal_task_add(task, 0, 3, x);
    float *all = shoal_task_add_all(task, 0);
    for (int i = 0; i < ROWS * WIDTH; i++)
        all[i] = 1000;
    assert_ptr_equal(shoal_task_add_all(task, 0), all);
    shoal_task_add_factor(task, 0, u, index, value, 3);
    assert_true(train_box_rows(job.box, 0)[0] == 0);
    assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    const float *rows = train_box_rows(job.box, 0);
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < WIDTH; k++) {
            float want = 1000 + (r == 3 ? 3 * x[k] : r == 9 ? x[k] : 0);
            want += k == 1 ? 20 * u[r] : k == 4 ? 100 * u[r] : 0;
            assert_true(rows[r * WIDTH + k] == want);
        }
    assert_true(train_box_settled(job.box));
    job_end(&job);
}

static void a_wrong_row_ends_the_task_in_words_and_without_effect(void **state)
{
    static const float x[WIDTH] = {1, 1, 1, 1, 1};
    static const uint32_t column = WIDTH;
    struct job job;
    unsigned char result[SHOAL_TASK_RESULT_MAX + 1] = {0};

    (void)state;
    job_begin(&job, 1);
    for (int wrong = 0; wrong < 5; wrong++) {
        shoal_err err = SHOAL_ERR_INIT;
        shoal_task *task = begin(&job, 1);
        shoal_task_add(task, 0, 0, x);
        if (wrong == 0)
            shoal_task_add(task, 0, ROWS, x);
        else if (wrong == 1)
            shoal_task_add(task, 1, 0, x); /* held */
        else if (wrong == 2)
            assert_null(shoal_task_add_all(task, 2));
        else if (wrong == 3)
            shoal_task_add_factor(task, 0, x, &column, x, 1);
        else
            shoal_task_result(task, result, sizeof result);
        assert_true(train_task_commit(task, &err) < 0 && err.message[0] != '\0');
        assert_int_equal(train_box_committed(job.box, 1), 0);
        assert_true(train_box_rows(job.box, 0)[0] == 0);
    }
    job_end(&job);
}

static void a_second_task_with_increments_in_a_bulk_synchronous_clock_is_refused(void **state)
{
    static const float x[WIDTH] = {1, 1, 1, 1, 1};
    struct job job;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    job_begin(&job, 0);
    shoal_task *task = begin(&job, 1);
    shoal_task_add(task, 0, 0, x);
    assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    for (int i = 0; i < 3; i++) /* any number of others are fine */
        assert_int_equal(train_task_commit(begin(&job, 1), NULL), SHOAL_OK);
    task = begin(&job, 1);
    shoal_task_add(task, 0, 0, x);
    assert_int_equal(train_task_commit(task, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "two tasks of clock 0"));
    assert_true(train_box_rows(job.box, 0)[0] == 0);
    train_box_close(job.box, 1);
    task = begin_clock(&job, 1, 1);
    assert_true(train_box_rows(job.box, 0)[0] == 1);
    shoal_task_add(task, 0, 0, x);
    assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    assert_true(train_box_rows(job.box, 0)[0] == 1 && !train_box_settled(job.box));
    job_end(&job);
}

static void random_numbers_belong_to_the_executor_and_the_task(void **state)
{
    struct job job;
    uint64_t first[EXECUTORS][2];

    (void)state;
    job_begin(&job, 1);
    for (uint32_t e = 0; e < EXECUTORS; e++)
        for (int n = 0; n < 2; n++) {
            shoal_task *task = begin(&job, e);
            first[e][n] = shoal_task_random(task);
            assert_true(shoal_task_random(task) != first[e][n]);
            train_task_abort(task);
            task = begin(&job, e); /* run again: the same */
            assert_true(shoal_task_random(task) == first[e][n]);
            assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
        }
    for (int i = 0; i < 2 * EXECUTORS; i++)
        for (int k = 0; k < i; k++)
            assert_true(first[i / 2][i % 2] != first[k / 2][k % 2]);
    job_end(&job);
}

/* The task dies at every question of the hook in turn. The next try of the same number leaves
 * nothing: what the dead one wrote is there whole, when it was committed, or not at all. */
static void a_task_that_dies_has_done_everything_or_nothing(void **state)
{
    static const float x[WIDTH] = {1, 1, 1, 1, 1};
    uint64_t at = 1, committed_at = 0;
    bool died = true;

    (void)state;
    for (; died; at++) {
        struct job job;
        job_begin(&job, 1);
        shoal_task *task = begin_held(&job, 0, 1);
        for (uint64_t r = 0; r < ROWS; r++)
            shoal_task_add(task, 0, r, x);
        shoal_task_add_factor(task, 0, (const float[ROWS]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                              (const uint32_t[]){0}, x, 1);
        shoal_task_held(task, NULL, NULL)[0] = 3;
        *(uint64_t *)shoal_task_new_state(task, false) = 4;
        job.die_at = job.questions + at;
        died = train_task_commit(task, NULL) == SHOAL_E_CANCELLED;
        job.die_at = 0;
        struct train_box *other = NULL;
        struct train_desk *desk = NULL;
        assert_int_equal(train_box_open(job.env, &job.segment, 1, NULL, &other, NULL), SHOAL_OK);
        assert_int_equal(train_desk_new(other, &desk), SHOAL_OK);
        if (died)
            train_box_repair(other, 0);
        bool real = train_box_committed(other, 0) == 1;
        if (real && committed_at == 0)
            committed_at = at;
        assert_int_equal(train_box_fold(other), SHOAL_OK);
        if (!real) {
            struct train_task_spec spec = {.number = 1};
            assert_int_equal(train_task_begin(desk, 7, NULL, &spec, &task, NULL), SHOAL_OK);
            assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
            assert_int_equal(train_box_fold(other), SHOAL_OK);
        }
        size_t size;
        const float *rows = train_box_rows(other, 0);
        for (int i = 0; i < ROWS * WIDTH; i++)
            assert_true(rows[i] == (real ? i % WIDTH == 0 ? 2 : 1 : 0));
        assert_true(train_box_shard(other, 1, 1, NULL, NULL)[0] == (real ? 3 : 0));
        assert_true(*(const uint64_t *)train_box_state_read(other, 0, &size) == (real ? 4 : 0));
        assert_true(train_box_settled(other));
        train_desk_free(desk);
        train_box_free(other);
        job_end(&job);
    }
    assert_true(committed_at > 4 && at > committed_at + 30);
}

static void an_outbox_that_a_dead_task_left_open_is_emptied_whole(void **state)
{
    static const float x[WIDTH] = {1, 1, 1, 1, 1};
    struct job job;

    (void)state;
    job_begin(&job, 1);
    shoal_task *task = begin(&job, 0);
    shoal_task_add(task, 0, 0, x);
    shoal_task_add(task, 0, 9, x);
    /* killed while it noted down which shards it touched */
    atomic_store(&task->outbox->touched_count, 0);
    train_desk_free(job.desk);
    train_box_repair(job.box, 0);
    assert_int_equal(train_desk_new(job.box, &job.desk), SHOAL_OK);
    task = begin(&job, 0);
    shoal_task_add(task, 0, 9, x);
    assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    assert_true(train_box_rows(job.box, 0)[0] == 0);
    assert_true(train_box_rows(job.box, 0)[9 * WIDTH] == 1);
    job_end(&job);
}

static void held_shards_go_round_and_a_dead_holder_leaves_the_old_contents(void **state)
{
    struct job job;
    uint64_t first, count;

    (void)state;
    job_begin(&job, 1);
    for (uint32_t turn = 0; turn < 9; turn++) {
        shoal_task *task = begin_held(&job, turn % EXECUTORS, turn % 3);
        float *held = shoal_task_held(task, &first, &count);
        assert_true(first == turn % 3 * 2 && count == 2);
        assert_ptr_equal(shoal_task_shard(task, 1, turn % 3, NULL, NULL), held);
        assert_true(held[0] == (float)(turn / 3));
        held[0] += 1;
        assert_true(train_box_shard(job.box, 1, turn % 3, NULL, NULL)[0] == (float)(turn / 3));
        if (turn % 2 == 0) { /* its process is killed, and it is run again */
            task->busy = false;
            train_box_repair(job.box, 0);
            task = begin_held(&job, turn % EXECUTORS, turn % 3);
            assert_true(shoal_task_held(task, NULL, NULL)[0] == (float)(turn / 3));
            shoal_task_held(task, NULL, NULL)[0] += 1;
        }
        assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    }
    for (uint32_t s = 0; s < 3; s++)
        assert_true(train_box_shard(job.box, 1, s, NULL, NULL)[0] == 3);
    job_end(&job);
}

static void a_held_shard_is_one_task_s_alone(void **state)
{
    struct job job;
    struct train_box *other;
    struct train_desk *desk;
    shoal_task *task;
    struct train_task_spec spec = {
        .executor = 1, .number = 1, .holds = true, .hold_table = 1, .hold_shard = 2};

    (void)state;
    job_begin(&job, 1);
    shoal_task *mine = begin_held(&job, 0, 2);
    assert_int_equal(train_box_open(job.env, &job.segment, 1, NULL, &other, NULL), SHOAL_OK);
    assert_int_equal(train_desk_new(other, &desk), SHOAL_OK);
    assert_int_equal(train_task_begin(desk, 7, NULL, &spec, &task, NULL), SHOAL_AGAIN);
    train_task_abort(mine);
    assert_int_equal(train_task_begin(desk, 7, NULL, &spec, &task, NULL), SHOAL_OK);
    train_task_abort(task);
    train_desk_free(desk);
    train_box_free(other);
    job_end(&job);
}

static void memory_that_is_short_ends_the_task_and_nothing_else(void **state)
{
    static const float x[WIDTH] = {1, 1, 1, 1, 1};
    static const size_t small = 256 << 10;
    struct job job;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    memset(&job, 0, sizeof job);
    assert_int_equal(shoal_env_sim_new(1, &job.env, NULL), SHOAL_OK);
    assert_int_equal(env_shared_new(job.env, SEGMENT, &job.segment, NULL), SHOAL_OK);
    assert_int_equal(job_make(&job, 1, small), SHOAL_OK);
    shoal_task *task = begin(&job, 0);
    for (uint64_t i = 0; i < 100000; i++)
        shoal_task_add(task, 0, i % ROWS, x);
    assert_int_equal(train_task_commit(task, &err), SHOAL_E_NOMEM);
    assert_non_null(strstr(err.message, "out of memory"));
    assert_true(train_box_rows(job.box, 0)[0] == 0 && train_box_committed(job.box, 0) == 0);
    task = begin(&job, 0);
    shoal_task_add(task, 0, 0, x);
    assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    assert_true(train_box_rows(job.box, 0)[0] == 1);
    job_end(&job);
}

static shoal_status make_open_and_run(const struct base_alloc *alloc, void *ctx)
{
    struct job *job = ctx;
    const struct base_alloc *plain = job->env->alloc;
    struct train_task_spec spec = {.number = 1};
    shoal_task *task;

    env_shared_drop(job->env, &job->segment, 0, SEGMENT);
    job->env->alloc = alloc;
    job->box = NULL;
    job->desk = NULL;
    shoal_status st = job_make(job, 1, SEGMENT);
    struct train_box *other = NULL;
    if (st == SHOAL_OK)
        st = train_box_open(job->env, &job->segment, 1, NULL, &other, NULL);
    if (st == SHOAL_OK)
        st = train_task_begin(job->desk, 1, NULL, &spec, &task, NULL);
    if (st == SHOAL_OK)
        st = train_task_commit(task, NULL);
    train_desk_free(job->desk);
    train_box_free(other);
    train_box_free(job->box);
    job->env->alloc = plain;
    return st;
}

static void every_failed_allocation_is_a_clean_error(void **state)
{
    struct job job = {0};

    (void)state;
    assert_int_equal(shoal_env_sim_new(1, &job.env, NULL), SHOAL_OK);
    assert_int_equal(env_shared_new(job.env, SEGMENT, &job.segment, NULL), SHOAL_OK);
    torture_run(make_open_and_run, &job);
    env_shared_close(job.env, &job.segment);
    shoal_env_free(job.env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_is_what_its_spec_says),
        cmocka_unit_test(only_the_next_number_begins_and_one_task_at_a_time),
        cmocka_unit_test(a_new_state_is_seen_by_the_next_task_and_never_by_its_own),
        cmocka_unit_test(increments_of_all_kinds_add_up),
        cmocka_unit_test(a_wrong_row_ends_the_task_in_words_and_without_effect),
        cmocka_unit_test(a_second_task_with_increments_in_a_bulk_synchronous_clock_is_refused),
        cmocka_unit_test(random_numbers_belong_to_the_executor_and_the_task),
        cmocka_unit_test(a_task_that_dies_has_done_everything_or_nothing),
        cmocka_unit_test(an_outbox_that_a_dead_task_left_open_is_emptied_whole),
        cmocka_unit_test(held_shards_go_round_and_a_dead_holder_leaves_the_old_contents),
        cmocka_unit_test(a_held_shard_is_one_task_s_alone),
        cmocka_unit_test(memory_that_is_short_ends_the_task_and_nothing_else),
        cmocka_unit_test(every_failed_allocation_is_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
