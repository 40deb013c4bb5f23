/* Tests of src/train/fold*.c: loops for every machine, threads, rows that are read meanwhile. */
#include "property.h"
#include "torture.h"

#include "base/rand.h"
#include "env/env.h"
#include "train/box_parts.h"
#include <stdlib.h>
#include <string.h>

enum { SEGMENT = 32 << 20, EXECUTORS = 8, THREADS = 4, TASKS = 300, ROWS = 64, WIDTH = 40 };

struct job {
    shoal_env *env;
    struct env_shared segment;
    struct train_box *box;
};

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

static void job_begin(struct job *job, uint64_t rows, uint32_t width, uint32_t staleness, bool asks)
{
    struct train_box_opts opts = {.staleness = staleness, .crash = asks ? never : NULL};
    shoal_table_opts table = SHOAL_TABLE_OPTS_INIT;

    assert_int_equal(shoal_env_real_new(&job->env, NULL), SHOAL_OK);
    assert_int_equal(env_shared_new(job->env, SEGMENT, &job->segment, NULL), SHOAL_OK);
    assert_int_equal(train_box_new(job->env, &job->segment, &opts, &job->box, NULL), SHOAL_OK);
    assert_int_equal(train_box_executors(job->box, EXECUTORS, NULL), SHOAL_OK);
    table.name = "sums";
    table.rows = rows;
    table.width = width;
    table.shards = 3;
    assert_int_equal(train_box_table(job->box, &table, NULL), SHOAL_OK);
    assert_int_equal(train_box_seal(job->box, NULL), SHOAL_OK);
}

static void job_end(struct job *job)
{
    train_box_free(job->box);
    env_shared_close(job->env, &job->segment);
    shoal_env_free(job->env);
}

/* One task with increments of every kind from the stream. */
static void fill(shoal_task *task, struct base_rand *r, uint64_t rows, uint32_t width)
{
    float *x = malloc(width * sizeof *x), *u = malloc(rows * sizeof *u);
    uint32_t *index = malloc(width * sizeof *index);

    for (uint32_t i = 0; i < 30; i++) {
        for (uint32_t k = 0; k < width; k++)
            x[k] = (float)base_rand_range(r, -1, 1);
        shoal_task_add(task, 0, base_rand_below(r, rows), x);
    }
    float *all = shoal_task_add_all(task, 0);
    for (uint64_t i = 0; i < rows * width; i++)
        all[i] = (float)base_rand_range(r, -1, 1);
    for (uint64_t i = 0; i < rows; i++)
        u[i] = (float)base_rand_range(r, -1, 1);
    for (uint32_t k = 0; k < width; k++)
        index[k] = (uint32_t)base_rand_below(r, width);
    shoal_task_add_factor(task, 0, u, index, x, width);
    free(x);
    free(u);
    free(index);
}

/* The plain loop (the one that asks the crash hook) is the specification of the fast ones. */
static void every_loop_leaves_the_same_bits(void **state)
{
    static const uint32_t widths[] = {1, 3, 15, 16, 17, 64, 100, 1024, 1500};

    (void)state;
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        struct job job[2];
        for (int asks = 0; asks < 2; asks++) {
            struct train_desk *desk = NULL;
            struct base_rand r;
            base_rand_init(&r, w, "fill");
            job_begin(&job[asks], 20, widths[w], 4, asks != 0);
            assert_int_equal(train_desk_new(job[asks].box, &desk), SHOAL_OK);
            for (uint64_t n = 1; n <= 4; n++) {
                struct train_task_spec spec = {.number = n};
                shoal_task *task;
                assert_int_equal(train_task_begin(desk, 1, NULL, &spec, &task, NULL), SHOAL_OK);
                fill(task, &r, 20, widths[w]);
                assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
            }
            train_desk_free(desk);
        }
        assert_memory_equal(train_box_rows(job[0].box, 0), train_box_rows(job[1].box, 0),
                            20 * widths[w] * sizeof(float));
        job_end(&job[0]);
        job_end(&job[1]);
    }
}

struct threads {
    struct job job;
    _Atomic uint32_t wrong;
};

/* Thread i is worker i + 1 and runs executors i, i + THREADS. */
static void run_thread(void *ctx, size_t index)
{
    struct threads *t = ctx;
    struct train_box *box = NULL;
    struct train_desk *desk = NULL;
    float one[WIDTH];
    uint32_t worker = (uint32_t)index + 1;

    for (uint32_t k = 0; k < WIDTH; k++)
        one[k] = 1;
    if (train_box_open(t->job.env, &t->job.segment, worker, NULL, &box, NULL) != SHOAL_OK ||
        train_desk_new(box, &desk) != SHOAL_OK) {
        atomic_fetch_add(&t->wrong, 1);
        return;
    }
    for (uint64_t n = 1; n <= TASKS; n++)
        for (uint32_t e = (uint32_t)index; e < EXECUTORS; e += THREADS) {
            struct train_task_spec spec = {.executor = e, .number = n, .clock = n};
            shoal_task *task = NULL;
            shoal_status st;
            do {
                st = train_task_begin(desk, 1, NULL, &spec, &task, NULL);
            } while (st == SHOAL_AGAIN);
            const float *rows = shoal_task_rows(task, 0);
            /* its own increments are there, whatever the others do to the row meanwhile */
            if (st != SHOAL_OK || rows[e * WIDTH] < (float)(n - 1) ||
                rows[e * WIDTH + WIDTH - 1] < (float)(n - 1))
                atomic_fetch_add(&t->wrong, 1);
            shoal_task_add(task, 0, e, one);
            for (uint64_t i = 0; i < 5; i++)
                shoal_task_add(task, 0, (n * 7 + i * 13) % ROWS, one);
            if (train_task_commit(task, NULL) != SHOAL_OK)
                atomic_fetch_add(&t->wrong, 1);
        }
    train_desk_free(desk);
    train_box_free(box);
}

static void threads_that_fold_and_read_the_same_rows_lose_nothing(void **state)
{
    static struct threads t;
    double want[ROWS] = {0};

    (void)state;
    job_begin(&t.job, ROWS, WIDTH, 4, false);
    assert_int_equal(env_parallel(t.job.env, THREADS, THREADS, run_thread, &t, NULL), SHOAL_OK);
    assert_int_equal(atomic_load(&t.wrong), 0);
    assert_int_equal(train_box_fold(t.job.box), SHOAL_OK);
    assert_true(train_box_settled(t.job.box));
    for (uint64_t n = 1; n <= TASKS; n++)
        for (uint32_t e = 0; e < EXECUTORS; e++) {
            want[e] += 1;
            for (uint64_t i = 0; i < 5; i++)
                want[(n * 7 + i * 13) % ROWS] += 1;
        }
    const float *rows = train_box_rows(t.job.box, 0);
    for (uint32_t i = 0; i < ROWS * WIDTH; i++)
        assert_true((double)rows[i] == want[i / WIDTH]);
    job_end(&t.job);
}

/* Which rows a fold has changed is known exactly to those who carry rows elsewhere. */
static void rows_packed_since_a_version_are_those_that_changed(void **state)
{
    struct job job;
    struct train_desk *desk = NULL;
    struct base_buf bytes;
    float one[WIDTH] = {1};

    (void)state;
    job_begin(&job, ROWS, WIDTH, 4, false);
    base_buf_init(&bytes, &base_alloc_libc, 1 << 20);
    assert_int_equal(train_desk_new(job.box, &desk), SHOAL_OK);
    uint64_t version = train_box_pack_rows(job.box, 0, 0, 0, &bytes);
    for (uint64_t n = 1; n <= 10; n++) {
        struct train_task_spec spec = {.number = n};
        shoal_task *task;
        assert_int_equal(train_task_begin(desk, 1, NULL, &spec, &task, NULL), SHOAL_OK);
        for (uint64_t i = 0; i < n; i++)
            shoal_task_add(task, 0, i, one);
        assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
        base_buf_clear(&bytes);
        uint64_t now = train_box_pack_rows(job.box, 0, 0, version, &bytes);
        assert_true(now > version);
        version = now;
        size_t row_size = sizeof(uint32_t) + WIDTH * sizeof(float);
        assert_true(bytes.size > n * row_size && bytes.size < n * row_size + 80);
        base_buf_clear(&bytes);
        assert_true(train_box_pack_rows(job.box, 0, 0, version, &bytes) == version);
        assert_true(bytes.size < 80);
    }
    base_buf_fini(&bytes);
    train_desk_free(desk);
    job_end(&job);
}

/* ---- many factors ---- */

enum { FACTOR_ROWS = 7, FACTOR_WIDTH = 40000, FACTORS = 4 }; /* rows that are a block each */

/* A task of a bulk synchronous clock with factors, the last of more entries than an undo slot has. */
static void add_factors(struct job *job, uint32_t executor, uint64_t number)
{
    static float value[2 * BOX_UNDO + 1];
    static uint32_t index[2 * BOX_UNDO + 1];
    struct train_task_spec spec = {
        .executor = executor, .number = number, .clock = number - 1, .ends_clock = true};
    struct train_desk *desk = NULL;
    struct base_rand r;
    shoal_task *task;
    float u[FACTOR_ROWS];

    base_rand_init(&r, executor + 100 * number, "factors");
    assert_int_equal(train_desk_new(job->box, &desk), SHOAL_OK);
    assert_int_equal(train_task_begin(desk, 1, NULL, &spec, &task, NULL), SHOAL_OK);
    for (uint32_t k = 0; k < FACTORS; k++) {
        uint32_t count = k + 1 < FACTORS ? 1 + k : 2 * BOX_UNDO + 1;
        for (uint32_t i = 0; i < FACTOR_ROWS; i++)
            u[i] = (float)base_rand_range(&r, -1, 1);
        for (uint32_t i = 0; i < count; i++) {
            index[i] = (uint32_t)base_rand_below(&r, FACTOR_WIDTH / 20);
            value[i] = (float)base_rand_range(&r, -1, 1);
        }
        shoal_task_add_factor(task, 0, u, index, value, count);
    }
    assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    train_desk_free(desk);
}

struct death {
    uint64_t at, asked;
};

static bool dies(void *ctx)
{
    struct death *d = ctx;

    return ++d->asked >= d->at;
}

/* Two executors' factors folded by worker 1, which dies at that moment; the driver goes on. Whether
 * it died. */
static bool fold_and_die(uint64_t at, float *out_rows)
{
    struct death death = {.at = at};
    struct train_box_opts opts = {.crash = dies, .crash_ctx = &death};
    struct train_box *view = NULL;
    struct job job;

    job_begin(&job, FACTOR_ROWS, FACTOR_WIDTH, 0, false);
    add_factors(&job, 0, 1);
    add_factors(&job, 1, 1);
    train_box_close(job.box, 1);
    assert_int_equal(train_box_open(job.env, &job.segment, 1, &opts, &view, NULL), SHOAL_OK);
    shoal_status st = train_box_fold(view);
    train_box_repair(job.box, 1);
    assert_int_equal(train_box_fold(job.box), SHOAL_OK);
    assert_true(train_box_settled(job.box));
    memcpy(out_rows, train_box_rows(job.box, 0), FACTOR_ROWS * FACTOR_WIDTH * sizeof(float));
    train_box_free(view);
    job_end(&job);
    return st == SHOAL_E_CANCELLED;
}

static void a_death_between_any_two_stores_of_many_factors_leaves_the_same_bits(void **state)
{
    static float quiet[FACTOR_ROWS * FACTOR_WIDTH], rows[FACTOR_ROWS * FACTOR_WIDTH];
    uint64_t at = 1;

    (void)state;
    assert_false(fold_and_die(UINT64_MAX, quiet));
    while (fold_and_die(at, rows)) {
        assert_memory_equal(quiet, rows, sizeof rows);
        at++;
    }
    print_message("%llu deaths\n", (unsigned long long)at - 1);
    assert_true(at > 2 * FACTORS * FACTOR_ROWS);
}

/* The driver's loop turns between shards, and who asks in the same turn gets the same answer. */
static void a_driver_with_much_to_fold_rests_between_shards(void **state)
{
    struct job job;
    struct train_desk *desk = NULL;
    struct train_task_spec spec = {.number = 1, .ends_clock = true};
    shoal_task *task;
    float u[ROWS], value[WIDTH];
    uint32_t index[WIDTH], rests = 0;

    (void)state;
    job_begin(&job, ROWS, WIDTH, 0, false);
    assert_int_equal(train_desk_new(job.box, &desk), SHOAL_OK);
    assert_int_equal(train_task_begin(desk, 1, NULL, &spec, &task, NULL), SHOAL_OK);
    for (uint32_t i = 0; i < ROWS; i++)
        u[i] = 1;
    for (uint32_t i = 0; i < WIDTH; i++) {
        index[i] = i;
        value[i] = 1;
    }
    for (int i = 0; i < 1500; i++)
        shoal_task_add_factor(task, 0, u, index, value, WIDTH);
    assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    train_box_close(job.box, 1);
    while (train_box_fold(job.box) == SHOAL_AGAIN) {
        uint64_t since = env_now_ns(job.env), folded = job.box->folded;
        rests += job.box->rests_ns != 0;
        if (train_box_fold(job.box) == SHOAL_AGAIN && env_now_ns(job.env) - since < 50000)
            assert_true(job.box->folded == folded);
    }
    assert_true(rests > 0 && train_box_settled(job.box));
    for (uint32_t i = 0; i < ROWS * WIDTH; i++)
        assert_true(train_box_rows(job.box, 0)[i] == 1500);
    train_desk_free(desk);
    job_end(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_loop_leaves_the_same_bits),
        cmocka_unit_test(threads_that_fold_and_read_the_same_rows_lose_nothing),
        cmocka_unit_test(rows_packed_since_a_version_are_those_that_changed),
        cmocka_unit_test(a_death_between_any_two_stores_of_many_factors_leaves_the_same_bits),
        cmocka_unit_test(a_driver_with_much_to_fold_rests_between_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
