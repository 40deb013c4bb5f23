/* box_world.h - a job of random tasks on one box, run by several workers in one thread.
 *
 * What a task does follows from (seed, executor, number) alone, so that the same tasks can be
 * applied to plain arrays: the obvious reference. Steps of the workers (begin, act, commit, fold) are
 * interleaved at random, and workers are killed wherever the box asks its crash hook, or between
 * steps. A killed worker's view is dropped, the driver repairs, and the task is run again by The crash hook also runs steps of other workers in the middle of one's, as threads would.
 * Every task reads the witness table (table 0) and checks what it sees. */
#ifndef TESTS_TRAIN_BOX_WORLD_H
#define TESTS_TRAIN_BOX_WORLD_H

#include "torture.h"
#include "witness.h"

#include "base/rand.h"
#include "train/box.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORLD_SEGMENT = 64 << 20,
    WORLD_EXECUTORS_MAX = 8,
    WORLD_TABLES_MAX = 6,
    WORLD_WORKERS_MAX = 8,
    WORLD_FLOATS_MAX = 1 << 14 /* of a table */
};

struct world_opts {
    uint64_t seed;
    uint32_t staleness, workers;
    double crash; /* probability per question */
    double nest;  /* probability per question that another worker makes a step */
    bool reals;   /* increments are any numbers; else small whole ones, whose sums are exact */
};

struct world_worker {
    struct train_box *box;
    struct train_desk *desk;
    shoal_task *task;
    uint32_t executor, number; /* worker's number in locks */
    bool acted, inside;        /* inside: in the middle of a step */
};

struct world_table {
    uint64_t rows;
    uint32_t width, shards;
    bool held;
};

struct world_result {
    uint64_t executor, number, state;
};

struct world {
    struct world_opts opts;
    shoal_env *env;
    struct env_shared segment;
    struct train_box *box; /* the driver's */
    struct base_rand rand; /* of the interleaving */
    struct world_worker worker[WORLD_WORKERS_MAX];
    uint32_t executors, tables, clocks;
    uint32_t per_clock[WORLD_EXECUTORS_MAX]; /* tasks of an executor in a clock */
    struct world_table table[WORLD_TABLES_MAX];
    bool running[WORLD_EXECUTORS_MAX];
    uint64_t heard[WORLD_EXECUTORS_MAX];
    struct witness witness;
    uint64_t crashes, redone;
    uint32_t depth;    /* of steps inside steps */
    const char *wrong; /* the first thing that was */
    /* reference */
    double *sum[WORLD_TABLES_MAX];
    uint64_t state[WORLD_EXECUTORS_MAX];
};

static inline void world_wrong(struct world *w, const char *what)
{
    if (w->wrong == NULL)
        w->wrong = what;
}

static inline void world_step(struct world *w);

static inline bool world_crash(void *ctx)
{
    struct world *w = ctx;

    if (w->depth < 3 && base_rand_unit(&w->rand) < w->opts.nest) {
        w->depth++;
        world_step(w);
        w->depth--;
    }
    return base_rand_unit(&w->rand) < w->opts.crash;
}

static inline uint64_t world_clock(const struct world *w, uint32_t e, uint64_t number)
{
    return (number - 1) / w->per_clock[e];
}

static inline bool world_ends(const struct world *w, uint32_t e, uint64_t number)
{
    return number % w->per_clock[e] == 0;
}

static inline uint64_t world_last(const struct world *w, uint32_t e)
{
    return (uint64_t)w->clocks * w->per_clock[e];
}

/* ---- what a task does ---- */

static inline float world_number(const struct world *w, struct base_rand *r)
{
    if (w->opts.reals)
        return (float)base_rand_range(r, -1, 1);
    return (float)base_rand_below(r, 9) - 4;
}

/* The shard that the task holds; false: none. */
static inline bool world_hold(const struct world *w, uint32_t e, uint64_t number,
                              struct train_task_spec *spec)
{
    uint64_t clock = world_clock(w, e, number);

    for (uint32_t t = 1; t < w->tables; t++) {
        if (!w->table[t].held)
            continue;
        spec->hold_table = t;
        /* a different executor in every clock, one at a time */
        spec->hold_shard = (uint32_t)((e + clock) % w->table[t].shards);
        spec->holds = e < w->table[t].shards && world_ends(w, e, number);
        return spec->holds;
    }
    return false;
}

static inline void world_add(struct world *w, shoal_task *task, struct base_rand *r, uint32_t t)
{
    const struct world_table *table = &w->table[t];
    uint64_t row = base_rand_below(r, table->rows);
    float x[WORLD_FLOATS_MAX];

    for (uint32_t i = 0; i < table->width; i++)
        x[i] = world_number(w, r);
    if (task != NULL)
        shoal_task_add(task, t, row, x);
    else
        for (uint32_t i = 0; i < table->width; i++)
            w->sum[t][row * table->width + i] += (double)x[i];
}

static inline void world_add_all(struct world *w, shoal_task *task, struct base_rand *r, uint32_t t)
{
    uint64_t floats = w->table[t].rows * w->table[t].width;
    float *all = task != NULL ? shoal_task_add_all(task, t) : NULL;

    for (uint32_t i = 0; i < 5; i++) {
        uint64_t at = base_rand_below(r, floats);
        float x = world_number(w, r);
        if (all != NULL)
            all[at] += x;
        else if (task == NULL)
            w->sum[t][at] += (double)x;
    }
}

static inline void world_add_factor(struct world *w, shoal_task *task, struct base_rand *r,
                                    uint32_t t)
{
    const struct world_table *table = &w->table[t];
    uint32_t count = 1 + (uint32_t)base_rand_below(r, table->width), index[WORLD_FLOATS_MAX];
    float u[WORLD_FLOATS_MAX], v[WORLD_FLOATS_MAX];

    for (uint64_t i = 0; i < table->rows; i++)
        u[i] = world_number(w, r);
    for (uint32_t i = 0; i < count; i++) {
        index[i] = (uint32_t)base_rand_below(r, table->width);
        v[i] = world_number(w, r);
    }
    if (task != NULL)
        shoal_task_add_factor(task, t, u, index, v, count);
    for (uint64_t row = 0; task == NULL && row < table->rows; row++)
        for (uint32_t i = 0; i < count; i++)
            w->sum[t][row * table->width + index[i]] += (double)u[row] * (double)v[i];
}

static inline void world_held(struct world *w, shoal_task *task, struct base_rand *r,
                              const struct train_task_spec *spec)
{
    const struct world_table *table = &w->table[spec->hold_table];
    uint64_t each = (table->rows - 1) / table->shards + 1, first = spec->hold_shard * each;
    uint64_t count = table->rows - first < each ? table->rows - first : each, f = 0, n = 0;
    float *held = task != NULL ? shoal_task_held(task, &f, &n) : NULL;

    if (task != NULL && (held == NULL || f != first || n != count))
        world_wrong(w, "a held shard is not the one asked for");
    for (uint64_t i = 0; i < count * table->width; i++) {
        float x = world_number(w, r);
        if (held != NULL)
            held[i] += x;
        else if (task == NULL)
            w->sum[spec->hold_table][first * table->width + i] += (double)x;
    }
}

/* Runs the task, or (task NULL) applies it to the reference. */
static inline void world_act(struct world *w, uint32_t e, uint64_t number, shoal_task *task)
{
    struct base_rand r;
    struct train_task_spec spec = {0};
    float one = 1;

    base_rand_init(&r, w->opts.seed * 1000003 + e * 1009 + number, "act");
    if (task != NULL) {
        const char *wrong =
            witness_read(&w->witness, e, world_clock(w, e, number), shoal_task_rows(task, 0));
        if (wrong != NULL)
            world_wrong(w, wrong);
    }
    if (world_ends(w, e, number)) {
        if (task != NULL)
            shoal_task_add(task, 0, e, &one);
        else
            w->sum[0][e] += 1;
    }
    if (w->opts.staleness > 0 || world_ends(w, e, number)) {
        uint64_t adds = base_rand_below(&r, 8);
        for (uint64_t i = 0; i < adds; i++) {
            uint32_t t = 1 + (uint32_t)base_rand_below(&r, w->tables - 1);
            uint64_t kind = base_rand_below(&r, 8);
            if (w->table[t].held)
                continue;
            if (kind == 0)
                world_add_all(w, task, &r, t);
            else if (kind == 1)
                world_add_factor(w, task, &r, t);
            else
                world_add(w, task, &r, t);
        }
    }
    if (world_hold(w, e, number, &spec))
        world_held(w, task, &r, &spec);
    if (base_rand_below(&r, 2) == 0) {
        uint64_t *state = task != NULL ? shoal_task_new_state(task, true) : &w->state[e];
        if (state != NULL)
            *state = *state * 3 + number;
    }
    if (task != NULL) {
        struct world_result result = {e, number, shoal_task_random(task)};
        shoal_task_result(task, &result, sizeof result);
    }
}

/* ---- the world ---- */

static inline void world_table_add(struct world *w, uint64_t rows, uint32_t width, uint32_t shards,
                                   bool held)
{
    static const char *const names[] = {"witness", "a", "b", "c", "d", "e"};
    shoal_table_opts opts = SHOAL_TABLE_OPTS_INIT;

    opts.name = names[w->tables];
    opts.rows = rows;
    opts.width = width;
    opts.shards = shards;
    opts.held = held;
    assert_int_equal(train_box_table(w->box, &opts, NULL), SHOAL_OK);
    w->table[w->tables] =
        (struct world_table){rows, width, train_box_table_info(w->box, w->tables).shards, held};
    w->sum[w->tables++] = calloc(rows * width, sizeof(double));
}

static inline void world_worker_open(struct world *w, uint32_t i)
{
    struct train_box_opts opts = {
        .crash = w->opts.crash > 0 || w->opts.nest > 0 ? world_crash : NULL, .crash_ctx = w};
    struct world_worker *k = &w->worker[i];

    k->number = i + 1;
    k->task = NULL;
    assert_int_equal(train_box_open(w->env, &w->segment, k->number, &opts, &k->box, NULL),
                     SHOAL_OK);
    assert_int_equal(train_desk_new(k->box, &k->desk), SHOAL_OK);
}

/* Executors, clocks and tables are drawn from the seed; workers and crashes change nothing of it. */
static inline void world_begin(struct world *w, shoal_env *env, const struct env_shared *segment,
                               const struct world_opts *opts)
{
    struct base_rand r;
    struct train_box_opts box_opts = {.staleness = opts->staleness};

    memset(w, 0, sizeof *w);
    w->opts = *opts;
    w->env = env;
    w->segment = *segment;
    base_rand_init(&r, opts->seed, "world");
    base_rand_init(&w->rand, opts->seed * 64 + opts->workers, "order");
    w->executors = 1 + (uint32_t)base_rand_below(&r, WORLD_EXECUTORS_MAX);
    w->clocks = 2 + (uint32_t)base_rand_below(&r, 6);
    assert_int_equal(train_box_new(env, segment, &box_opts, &w->box, NULL), SHOAL_OK);
    assert_int_equal(train_box_executors(w->box, w->executors, NULL), SHOAL_OK);
    for (uint32_t e = 0; e < w->executors; e++) {
        w->per_clock[e] = 1 + (uint32_t)base_rand_below(&r, 3);
        assert_non_null(train_box_data(w->box, e, 8 * (e + 1)));
        assert_non_null(train_box_state(w->box, e, 8 + 8 * e));
    }
    world_table_add(w, w->executors, 1, 1 + (uint32_t)base_rand_below(&r, 3), false);
    uint64_t more = 1 + base_rand_below(&r, WORLD_TABLES_MAX - 1);
    for (uint64_t i = 0; i < more; i++) {
        bool wide = base_rand_below(&r, 16) == 0;
        uint64_t rows = 1 + base_rand_below(&r, wide ? 3 : 40);
        uint32_t width = 1 + (uint32_t)base_rand_below(&r, wide ? 2500 : 40);
        world_table_add(w, rows, width, (uint32_t)base_rand_below(&r, 6),
                        base_rand_below(&r, 4) == 0);
    }
    assert_int_equal(train_box_seal(w->box, NULL), SHOAL_OK);
    witness_init(&w->witness, w->executors, opts->staleness);
    for (uint32_t i = 0; i < opts->workers; i++)
        world_worker_open(w, i);
}

static inline void world_end(struct world *w)
{
    for (uint32_t i = 0; i < w->opts.workers; i++) {
        train_desk_free(w->worker[i].desk);
        train_box_free(w->worker[i].box);
    }
    for (uint32_t t = 0; t < w->tables; t++)
        free(w->sum[t]);
    size_t used = train_box_memory(w->box);
    train_box_free(w->box);
    memset(w->segment.base, 0, used + (1 << 20));
}

/* The driver hears of everything that the executor has committed. */
static inline void world_hear(struct world *w, uint32_t e)
{
    uint64_t committed = train_box_committed(w->box, e), closed = UINT64_MAX;

    while (w->heard[e] < committed) {
        struct train_commit c;
        struct world_result result;
        uint64_t n = ++w->heard[e];
        if (!train_box_commit_find(w->box, e, n, &c) || c.clock != world_clock(w, e, n) ||
            c.ends_clock != world_ends(w, e, n) || c.fn != n % 7 ||
            c.result_size != sizeof result) {
            world_wrong(w, "a commit's record is lost");
            return;
        }
        memcpy(&result, c.result, sizeof result);
        if (result.executor != e || result.number != n)
            world_wrong(w, "a result is another's");
    }
    witness_heard(&w->witness, e, w->heard[e] / w->per_clock[e]);
    for (uint32_t i = 0; i < w->executors; i++)
        if (w->heard[i] / w->per_clock[i] < closed)
            closed = w->heard[i] / w->per_clock[i];
    train_box_close(w->box, closed);
}

static inline void world_kill(struct world *w, uint32_t i)
{
    struct world_worker *k = &w->worker[i];

    w->crashes++;
    train_desk_free(k->desk);
    train_box_free(k->box);
    train_box_repair(w->box, k->number);
    if (k->task != NULL) {
        uint64_t before = w->heard[k->executor];
        world_hear(w, k->executor);
        w->redone += w->heard[k->executor] == before;
        w->running[k->executor] = false;
    }
    world_worker_open(w, i);
}

static inline bool world_may_run(const struct world *w, uint32_t e)
{
    uint64_t next = w->heard[e] + 1;

    return !w->running[e] && next <= world_last(w, e) &&
           world_clock(w, e, next) <= train_box_closed(w->box) + w->opts.staleness;
}

static inline shoal_status world_task_begin(struct world *w, struct world_worker *k, uint32_t e)
{
    uint64_t number = w->heard[e] + 1;
    struct train_task_spec spec = {.executor = e,
                                   .fn = (uint32_t)(number % 7),
                                   .number = number,
                                   .clock = world_clock(w, e, number),
                                   .ends_clock = world_ends(w, e, number),
                                   .arg_size = 8};

    memcpy(spec.arg, &number, sizeof number);
    world_hold(w, e, number, &spec);
    shoal_err err = SHOAL_ERR_INIT;

    witness_dispatch(&w->witness, e);
    w->running[e] = true;
    shoal_status st = train_task_begin(k->desk, w->opts.seed, w, &spec, &k->task, &err);
    if (st == SHOAL_E_INVAL)
        fprintf(stderr, "%s\n", err.message);
    if (st == SHOAL_OK) {
        k->executor = e;
        k->acted = false;
    } else {
        w->running[e] = false;
    }
    return st;
}

static inline shoal_status world_task_step(struct world *w, struct world_worker *k)
{
    uint64_t number = w->heard[k->executor] + 1;

    if (!k->acted) {
        world_act(w, k->executor, number, k->task);
        k->acted = true;
        return SHOAL_OK;
    }
    if (base_rand_below(&w->rand, 20) == 0) {
        train_task_abort(k->task);
        w->running[k->executor] = false;
        k->task = NULL;
        return SHOAL_OK;
    }
    if (world_ends(w, k->executor, number))
        witness_issue(&w->witness, k->executor, number / w->per_clock[k->executor]);
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = train_task_commit(k->task, &err);
    if (st == SHOAL_E_INVAL)
        fprintf(stderr, "%s\n", err.message);
    if (st == SHOAL_OK) {
        k->task = NULL;
        w->running[k->executor] = false;
        world_hear(w, k->executor);
    }
    return st;
}

static inline void world_step(struct world *w)
{
    uint32_t i = (uint32_t)base_rand_below(&w->rand, w->opts.workers);
    struct world_worker *k = &w->worker[i];
    shoal_status st = SHOAL_OK;

    if (k->inside)
        return;
    k->inside = true;
    if (k->task != NULL) {
        st = world_task_step(w, k);
    } else if (base_rand_below(&w->rand, 10) == 0) {
        st = train_box_fold(k->box);
    } else {
        uint32_t e = (uint32_t)base_rand_below(&w->rand, w->executors);
        if (world_may_run(w, e))
            st = world_task_begin(w, k, e);
    }
    k->inside = false;
    if (st == SHOAL_E_CANCELLED || base_rand_unit(&w->rand) < w->opts.crash / 4)
        world_kill(w, i);
    else if (st != SHOAL_OK && st != SHOAL_AGAIN)
        world_wrong(w, shoal_status_name(st));
}

static inline bool world_done(const struct world *w)
{
    for (uint32_t e = 0; e < w->executors; e++)
        if (w->heard[e] < world_last(w, e))
            return false;
    return true;
}

/* Everything to the end; what is wrong is in w->wrong. */
static inline void world_run(struct world *w)
{
    for (uint64_t steps = 0; !world_done(w) && w->wrong == NULL; steps++) {
        world_step(w);
        if (steps > 200000)
            world_wrong(w, "it goes on for ever");
    }
    for (uint32_t i = 0; i < w->opts.workers; i++)
        if (w->worker[i].task != NULL)
            train_task_abort(w->worker[i].task);
    if (w->wrong == NULL && train_box_fold(w->box) != SHOAL_OK)
        world_wrong(w, "a lock is left behind");
    if (w->wrong == NULL && !train_box_settled(w->box))
        world_wrong(w, "something is committed and not folded");
}

/* Compares all tables and states with what the tasks make of plain arrays. Whole numbers only. */
static inline void world_compare(struct world *w)
{
    for (uint32_t e = 0; e < w->executors; e++)
        for (uint64_t n = 1; n <= world_last(w, e); n++)
            world_act(w, e, n, NULL);
    for (uint32_t e = 0; e < w->executors; e++) {
        size_t size;
        const uint64_t *state = train_box_state_read(w->box, e, &size);
        if (*state != w->state[e])
            world_wrong(w, "a state is not what its tasks leave");
    }
    for (uint32_t t = 0; t < w->tables; t++)
        for (uint32_t s = 0; s < w->table[t].shards; s++) {
            uint64_t first, count, width = w->table[t].width;
            const float *rows = train_box_shard(w->box, t, s, &first, &count);
            for (uint64_t i = 0; i < count * width; i++)
                if ((double)rows[i] != w->sum[t][first * width + i])
                    world_wrong(w, w->table[t].held ? "a held shard is wrong" : "a sum is wrong");
        }
}

/* All floats of all tables and all states, for comparison bit by bit. */
static inline uint64_t world_hash(struct world *w)
{
    uint64_t h = 14695981039346656037u;

    for (uint32_t t = 0; t < w->tables; t++)
        for (uint32_t s = 0; s < w->table[t].shards; s++) {
            uint64_t first, count;
            const float *rows = train_box_shard(w->box, t, s, &first, &count);
            const unsigned char *bytes = (const unsigned char *)rows;
            for (uint64_t i = 0; i < count * w->table[t].width * sizeof(float); i++)
                h = (h ^ bytes[i]) * 1099511628211u;
        }
    for (uint32_t e = 0; e < w->executors; e++) {
        size_t size;
        const uint64_t *state = train_box_state_read(w->box, e, &size);
        h = (h ^ *state) * 1099511628211u;
    }
    return h;
}

#endif
