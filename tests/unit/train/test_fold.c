/* Tests of src/train/fold.c: loops for every machine, threads, rows that are read meanwhile. */
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

static void job_begin(struct job *job, uint64_t rows, uint32_t width, bool asks)
{
    struct train_box_opts opts = {.staleness = 4, .crash = asks ? never : NULL};
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
            job_begin(&job[asks], 20, widths[w], asks != 0);
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
    job_begin(&t.job, ROWS, WIDTH, false);
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
    job_begin(&job, ROWS, WIDTH, false);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_loop_leaves_the_same_bits),
        cmocka_unit_test(threads_that_fold_and_read_the_same_rows_lose_nothing),
        cmocka_unit_test(rows_packed_since_a_version_are_those_that_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
