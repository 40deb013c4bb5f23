/* rows.c - row increments through the whole consistency layer against the raw loop.
 *
 * Ours: a task begins, adds to 4,096 random rows of a 1 GiB table, commits, and its outbox is
 * folded into the table's shards. Peer: a loop that adds the same floats to the same rows of the
 * same table at once, plain and with rows fetched ahead; the better one counts. Both use the widest
 * registers that the machine has. Runs alternate; CPU seconds of the thread; medians. One JSON line
 * per width: `ours` and `peer` in millions of rows per CPU second, `ratio` their quotient (more is
 * better; the bar is 0.6).
 *
 * Then empty tasks: begin and commit alone, on 64 executors in turn; the bar is 5 million a CPU
 * second.
 *
 *   rows [WIDTH...]               default 64 256 */
#include "base/assert.h"
#include "base/err.h"
#include "base/rand.h"
#include "train/box.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REPEATS = 9,
    TASK_ROWS = 4096,
    TASKS = 48,
    EXECUTORS = 16,
    EMPTY_EXECUTORS = 64,
    EMPTY_TASKS = 2000000,
    LANES = 16
};
static const size_t TABLE_BYTES = (size_t)1 << 30;

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

struct raw {
    float *table;
    const uint64_t *row;
    const float *x;
    size_t count, width, ahead;
};

/* Widths here are multiples of 16. */
static inline __attribute__((always_inline)) void raw_body(const struct raw *r)
{
    for (size_t i = 0; i < r->count; i++) {
        float *row = r->table + r->row[i] * r->width;
        if (r->ahead > 0 && i + r->ahead < r->count) {
            const float *next = r->table + r->row[i + r->ahead] * r->width;
            for (size_t k = 0; k < r->width; k += LANES)
                __builtin_prefetch(next + k, 1);
        }
        for (size_t k = 0; k < r->width; k += LANES)
            *(lanes *)(row + k) += *(const lanes *)(r->x + k);
    }
}

static void raw_plain(const struct raw *r)
{
    raw_body(r);
}

#if defined(__x86_64__)
static __attribute__((target("avx512f"))) void raw_avx512(const struct raw *r)
{
    raw_body(r);
}

static __attribute__((target("avx2"))) void raw_avx2(const struct raw *r)
{
    raw_body(r);
}
#endif

static void raw_run(const struct raw *r)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        raw_avx512(r);
        return;
    }
    if (__builtin_cpu_supports("avx2")) {
        raw_avx2(r);
        return;
    }
#endif
    raw_plain(r);
}

struct job {
    shoal_env *env;
    struct env_shared segment;
    struct train_box *box;
    struct train_desk *desk;
    uint64_t number[EMPTY_EXECUTORS];
};

static void job_begin(struct job *job, shoal_env *env, uint32_t executors, uint64_t rows,
                      uint32_t width)
{
    struct train_box_opts opts = {.staleness = 1};
    shoal_table_opts table = SHOAL_TABLE_OPTS_INIT;

    memset(job, 0, sizeof *job);
    job->env = env;
    shoal_assert(env_shared_new(env, 4 * TABLE_BYTES, &job->segment, NULL) == SHOAL_OK);
    shoal_assert(train_box_new(env, &job->segment, &opts, &job->box, NULL) == SHOAL_OK);
    shoal_assert(train_box_executors(job->box, executors, NULL) == SHOAL_OK);
    table.name = "rows";
    table.rows = rows;
    table.width = width;
    shoal_assert(train_box_table(job->box, &table, NULL) == SHOAL_OK);
    shoal_assert(train_box_seal(job->box, NULL) == SHOAL_OK);
    shoal_assert(train_desk_new(job->box, &job->desk) == SHOAL_OK);
}

static void job_end(struct job *job)
{
    train_desk_free(job->desk);
    train_box_free(job->box);
    env_shared_close(job->env, &job->segment);
}

static shoal_task *task_begin(struct job *job, uint32_t executor)
{
    struct train_task_spec spec = {.executor = executor, .number = ++job->number[executor]};
    shoal_task *task = NULL;

    shoal_assert(train_task_begin(job->desk, 1, NULL, &spec, &task, NULL) == SHOAL_OK);
    return task;
}

static void ours_run(struct job *job, const uint64_t *row, const float *x)
{
    for (uint32_t t = 0; t < TASKS; t++) {
        shoal_task *task = task_begin(job, t % EXECUTORS);
        for (size_t i = 0; i < TASK_ROWS; i++)
            shoal_task_add(task, 0, row[(size_t)t * TASK_ROWS + i], x);
        shoal_assert(train_task_commit(task, NULL) == SHOAL_OK);
    }
    shoal_assert(train_box_settled(job->box));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_value);
    return values[n / 2];
}

static void measure_width(shoal_env *env, uint32_t width)
{
    static const size_t ahead[] = {0, 4, 8, 16, 32};
    enum { RAWS = sizeof ahead / sizeof ahead[0] };
    size_t rows = TABLE_BYTES / (width * sizeof(float)), count = (size_t)TASKS * TASK_ROWS;
    double ours[REPEATS], raws[RAWS][REPEATS], best = 0;
    uint64_t *row = malloc(count * sizeof *row);
    float *x = malloc(width * sizeof *x);
    struct base_rand rand;
    struct job job;
    size_t best_ahead = 0;

    shoal_assert(row != NULL && x != NULL && width % LANES == 0);
    job_begin(&job, env, EXECUTORS, rows, width);
    float *table = train_box_rows(job.box, 0);
    memset(table, 0, TABLE_BYTES);
    for (uint32_t i = 0; i < width; i++)
        x[i] = 1;
    for (int rep = -1; rep < REPEATS; rep++) {
        base_rand_init(&rand, (uint64_t)(rep + 2), "rows");
        for (size_t i = 0; i < count; i++)
            row[i] = base_rand_below(&rand, rows);
        for (size_t a = 0; a < RAWS; a++) {
            struct raw raw = {table, row, x, count, width, ahead[a]};
            double began = env_cpu_s(env);
            raw_run(&raw);
            if (rep >= 0)
                raws[a][rep] = (double)count / (env_cpu_s(env) - began) / 1e6;
        }
        double began = env_cpu_s(env);
        ours_run(&job, row, x);
        if (rep >= 0)
            ours[rep] = (double)count / (env_cpu_s(env) - began) / 1e6;
    }
    double plain = median(raws[0], REPEATS), mine = median(ours, REPEATS);
    for (size_t a = 0; a < RAWS; a++)
        if (median(raws[a], REPEATS) > best) {
            best = median(raws[a], REPEATS);
            best_ahead = ahead[a];
        }
    printf("{\"bench\":\"rows\",\"width\":%u,\"ours\":%.2f,\"peer\":%.2f,\"ratio\":%.3f,"
           "\"unit\":\"M rows/cpu_s\",\"n\":%d,\"raw_plain\":%.2f,\"raw_best_ahead\":%zu}\n",
           width, mine, best, mine / best, REPEATS, plain, best_ahead);
    fflush(stdout);
    job_end(&job);
    free(row);
    free(x);
}

static void measure_empty(shoal_env *env)
{
    double rate[REPEATS];
    struct job job;

    job_begin(&job, env, EMPTY_EXECUTORS, 1024, 16);
    for (int rep = 0; rep < REPEATS; rep++) {
        double began = env_cpu_s(env);
        for (uint32_t i = 0; i < EMPTY_TASKS; i++)
            shoal_assert(train_task_commit(task_begin(&job, i % EMPTY_EXECUTORS), NULL) ==
                         SHOAL_OK);
        rate[rep] = EMPTY_TASKS / (env_cpu_s(env) - began) / 1e6;
    }
    double mine = median(rate, REPEATS);
    printf("{\"bench\":\"tasks-empty\",\"ours\":%.2f,\"peer\":5,\"ratio\":%.3f,"
           "\"unit\":\"M tasks/cpu_s\",\"n\":%d}\n",
           mine, mine / 5, REPEATS);
    job_end(&job);
}

int main(int argc, char **argv)
{
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    if (shoal_env_real_new(&env, &err) != SHOAL_OK) {
        fprintf(stderr, "rows: %s\n", err.message);
        return 1;
    }
    measure_empty(env);
    for (int i = 1; i < argc; i++)
        measure_width(env, (uint32_t)strtoul(argv[i], NULL, 10));
    for (uint32_t width = 64; argc == 1 && width <= 256; width *= 4)
        measure_width(env, width);
    shoal_env_free(env);
    return 0;
}
