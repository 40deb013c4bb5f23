/* counting_app.h - an application that checks what it sees.
 *
 * Table "witness" has a row per executor, to which each of its tasks adds 1 (bulk synchronous: the
 * last task of a clock adds for all). Reading it is a vector: how many tasks of every executor the
 * reader sees. The rules of include/shoal/train.h are inequalities over it, checked in every task:
 * nothing older than the staleness allows is missing (rule 3), nor what the driver had heard of when
 * it dispatched the task (rule 2, the argument says what that was), nor its own; what was visible
 * once stays; nothing is there that nobody made; in a bulk synchronous job it is exact.
 *
 * Random whole numbers go to tables "sums" (rows) and "wide" (whole tables and factors). Tasks tell
 * their sum as their result, so that in the end tables and driver must agree. */
#ifndef TESTS_COUNTING_APP_H
#define TESTS_COUNTING_APP_H

#include "base/err.h"
#include "shoal/train.h"
#include <stdlib.h>
#include <string.h>

enum { EXECUTORS = 7, ROWS = 13, WIDTH = 3, WIDE_ROWS = 5, WIDE_WIDTH = 7 };
enum { DENSE_COUNT = 5, FACTOR_COUNT = 6 }; /* columns of "wide": tasks that added to it */

struct witness_options {
    uint64_t clocks;
    uint64_t staleness; /* of the job, for the checks */
    uint64_t spin;      /* thousands of steps that a task takes */
    uint64_t tasks;     /* of an executor in a clock */
    uint64_t ahead;     /* clocks dispatched before the first of them has ended */
    uint64_t fail;      /* clock at which executor 3 gives up; 0: none */
    bool reals;         /* sums of numbers that round, so that their order shows */
    bool dense, factors;
    bool fresh; /* the driver reads the witness table at every end */
    bool blind; /* tasks of every other executor read no table and say so */
};

struct witness_driver {
    uint64_t issued[EXECUTORS]; /* clocks dispatched */
    uint64_t heard[EXECUTORS];  /* tasks that ended */
    uint64_t ended, sum, again;
};

struct witness_state {
    uint64_t tasks;
    uint64_t seen[EXECUTORS];
};

#define WITNESS_OPT(word, kind, value, text)                                                \
    {                                                                                       \
        offsetof(struct witness_options, word), kind, #word, 0, NULL, value, .help = (text) \
    }
static const shoal_opt WITNESS_OPTS[] = {
    WITNESS_OPT(clocks, SHOAL_OPT_U64, "10", "how many"),
    WITNESS_OPT(staleness, SHOAL_OPT_U64, "0", "of the job"),
    WITNESS_OPT(spin, SHOAL_OPT_U64, "0", "how long"),
    WITNESS_OPT(tasks, SHOAL_OPT_U64, "1", "in a clock"),
    WITNESS_OPT(ahead, SHOAL_OPT_U64, "1", "clocks dispatched at once"),
    WITNESS_OPT(fail, SHOAL_OPT_U64, "0", "clock of an error"),
    WITNESS_OPT(reals, SHOAL_OPT_FLAG, NULL, "add numbers that are not whole"),
    WITNESS_OPT(dense, SHOAL_OPT_FLAG, NULL, "add whole tables"),
    WITNESS_OPT(factors, SHOAL_OPT_FLAG, NULL, "add factors"),
    WITNESS_OPT(fresh, SHOAL_OPT_FLAG, NULL, "the driver reads"),
    WITNESS_OPT(blind, SHOAL_OPT_FLAG, NULL, "half of the tasks do not"),
};

static bool witness_blind(const struct witness_options *o, uint32_t executor)
{
    return o->blind && executor % 2 == 1;
}

static shoal_status witness_plan(shoal_driver *driver, shoal_err *err)
{
    shoal_table_opts seen = SHOAL_TABLE_OPTS_INIT, sums = SHOAL_TABLE_OPTS_INIT,
                     wide = SHOAL_TABLE_OPTS_INIT;
    shoal_status st = shoal_driver_executors(driver, EXECUTORS, err);

    seen.name = "witness";
    seen.rows = EXECUTORS;
    seen.shards = 3;
    sums.name = "sums";
    sums.rows = ROWS;
    sums.width = WIDTH;
    sums.shards = 2;
    wide.name = "wide";
    wide.rows = WIDE_ROWS;
    wide.width = WIDE_WIDTH;
    wide.shards = 2;
    for (uint32_t e = 0; e < EXECUTORS && st == SHOAL_OK; e++)
        if (shoal_driver_executor_state(driver, e, sizeof(struct witness_state)) == NULL)
            st = base_err_nomem(err, "planning");
    if (st == SHOAL_OK)
        st = shoal_driver_table(driver, &seen, err);
    if (st == SHOAL_OK)
        st = shoal_driver_table(driver, &sums, err);
    return st == SHOAL_OK ? shoal_driver_table(driver, &wide, err) : st;
}

/* All tasks of the executor's next clock; each is told what was heard of so far. */
static shoal_status witness_next(shoal_driver *driver, uint32_t executor, shoal_err *err)
{
    const struct witness_options *o = shoal_driver_options(driver);
    struct witness_driver *d = shoal_driver_state(driver);
    shoal_status st = SHOAL_OK;

    for (uint64_t i = 0; i < o->tasks && st == SHOAL_OK; i++) {
        shoal_dispatch task = {.struct_size = sizeof task,
                               .executor = executor,
                               .fn = (uint32_t)i,
                               .clock = d->issued[executor],
                               .ends_clock = i + 1 == o->tasks,
                               .unread = witness_blind(o, executor) ? 7 : 0,
                               .arg = d->heard,
                               .arg_size = sizeof d->heard};
        st = shoal_driver_dispatch(driver, &task, err);
    }
    d->issued[executor]++;
    return st;
}

static shoal_status witness_start(shoal_driver *driver, shoal_err *err)
{
    const struct witness_options *o = shoal_driver_options(driver);
    shoal_status st = SHOAL_OK;

    for (uint32_t e = 0; e < EXECUTORS; e++)
        for (uint64_t i = 0; i < o->ahead && i < o->clocks && st == SHOAL_OK; i++)
            st = witness_next(driver, e, err);
    return st;
}

/* What the driver may read once tables are fresh. */
static bool driver_sees(shoal_driver *driver, const shoal_done *done)
{
    const struct witness_driver *d = shoal_driver_state(driver);
    const struct witness_options *o = shoal_driver_options(driver);
    const float *rows = shoal_driver_rows(driver, 0);

    for (uint32_t e = 0; e < EXECUTORS; e++) {
        uint64_t seen = (uint64_t)rows[e];
        if (seen > o->tasks * d->issued[e] ||
            (o->staleness > 0 && seen < d->heard[e] + (e == done->executor)) ||
            (o->staleness == 0 && seen % o->tasks != 0))
            return false;
    }
    return true;
}

static shoal_status witness_done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    const struct witness_options *o = shoal_driver_options(driver);
    struct witness_driver *d = shoal_driver_state(driver);
    uint64_t sum, number = done->clock * o->tasks + done->fn;

    if (o->fresh) {
        if (shoal_driver_fresh(driver) == SHOAL_AGAIN) {
            d->again++;
            return SHOAL_AGAIN;
        }
        if (!driver_sees(driver, done))
            return base_err(err, SHOAL_E_INTERNAL, "the driver sees what it must not");
    }
    if (done->result_size != sizeof sum || number != d->heard[done->executor])
        return base_err(err, SHOAL_E_INTERNAL, "executor %u: task %llu ended after %llu",
                        done->executor, (unsigned long long)number,
                        (unsigned long long)d->heard[done->executor]);
    memcpy(&sum, done->result, sizeof sum);
    d->sum += sum;
    d->heard[done->executor]++;
    if (done->fn + 1 < o->tasks)
        return SHOAL_OK;
    if (d->issued[done->executor] < o->clocks)
        return witness_next(driver, done->executor, err);
    if (done->clock + 1 == o->clocks && ++d->ended == EXECUTORS)
        shoal_driver_finish(driver);
    return SHOAL_OK;
}

/* Whether the table "wide" counts as many tasks as must be seen. */
static bool witness_wide(const shoal_task *task, const struct witness_options *o, uint32_t column)
{
    const float *wide = shoal_task_rows(task, 2);
    uint64_t clock = shoal_task_clock(task);
    uint64_t least = clock > o->staleness ? clock - o->staleness : 0;

    if (o->staleness > 0)
        least *= o->tasks;
    for (uint32_t r = 0; r < WIDE_ROWS; r++) {
        uint64_t seen = (uint64_t)wide[r * WIDE_WIDTH + column];
        if (seen < EXECUTORS * least || (o->staleness == 0 && seen != EXECUTORS * clock))
            return false;
    }
    return true;
}

/* NULL, or what is wrong with what the task sees. */
static const char *witness_wrong(const shoal_task *task, const struct witness_options *o,
                                 const struct witness_state *old, struct witness_state *now)
{
    const float *rows = shoal_task_rows(task, 0);
    uint64_t clock = shoal_task_clock(task), heard[EXECUTORS];
    size_t size;
    const void *arg = shoal_task_arg(task, &size);

    if (size != sizeof heard)
        return "another argument";
    memcpy(heard, arg, sizeof heard);
    if (old->tasks != clock * o->tasks + shoal_task_fn(task))
        return "another state";
    for (uint32_t e = 0; e < EXECUTORS && !witness_blind(o, shoal_task_executor(task)); e++) {
        uint64_t seen = (uint64_t)rows[e];
        if (seen + o->tasks * o->staleness < o->tasks * clock)
            return "older increments than the staleness allows";
        if (seen < old->seen[e])
            return "fewer increments than before";
        if (seen > o->tasks * (clock + o->staleness + 1))
            return "increments that nobody made";
        if (o->staleness == 0 && seen != o->tasks * clock)
            return "increments of a clock that is not closed";
        if (o->staleness > 0 && seen < heard[e])
            return "less than the driver had heard of";
        if (o->staleness > 0 && e == shoal_task_executor(task) && seen != old->tasks)
            return "other increments of its own than it made";
        now->seen[e] = seen;
    }
    if (witness_blind(o, shoal_task_executor(task)))
        return NULL;
    if (o->dense && !witness_wide(task, o, DENSE_COUNT))
        return "other increments of whole tables";
    return o->factors && !witness_wide(task, o, FACTOR_COUNT) ? "other factors" : NULL;
}

static uint64_t witness_small(shoal_task *task)
{
    return shoal_task_random(task) % 8;
}

/* Increments of the table "wide"; returns their sum. */
static uint64_t witness_widen(shoal_task *task, const struct witness_options *o, float more)
{
    uint64_t sum = 0;

    if (o->dense) {
        float *all = shoal_task_add_all(task, 2);
        for (uint32_t i = 0; all != NULL && i < WIDE_ROWS * WIDE_WIDTH; i++) {
            uint64_t x =
                i % WIDE_WIDTH < DENSE_COUNT ? witness_small(task) : i % WIDE_WIDTH == DENSE_COUNT;
            all[i] = (float)x + (i % WIDE_WIDTH < DENSE_COUNT ? more : 0);
            sum += x;
        }
    }
    if (o->factors) {
        static const float ONES[WIDE_ROWS] = {1, 1, 1, 1, 1};
        shoal_task_add_factor(task, 2, ONES, &(const uint32_t){FACTOR_COUNT}, ONES, 1);
        sum += WIDE_ROWS;
    }
    for (int k = 0; k < 2 && o->factors; k++) {
        float u[WIDE_ROWS], value[2];
        uint32_t index[2] = {(uint32_t)witness_small(task) % 3, 3 + (uint32_t)k};
        uint64_t rows = 0, columns = 0;
        for (int i = 0; i < WIDE_ROWS; i++) {
            uint64_t x = witness_small(task);
            u[i] = (float)x;
            rows += x;
        }
        for (int i = 0; i < 2; i++) {
            uint64_t x = witness_small(task);
            value[i] = (float)x + more;
            columns += x;
        }
        shoal_task_add_factor(task, 2, u, index, value, 2);
        sum += rows * columns;
    }
    return sum;
}

static uint64_t witness_add(shoal_task *task, const struct witness_options *o)
{
    const float *sums = shoal_task_rows(task, 1);
    uint64_t sum = 0;
    float x[WIDTH];

    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < WIDTH; k++) {
            uint64_t whole = witness_small(task);
            x[k] = (float)whole;
            sum += whole;
            if (o->reals)
                x[k] += sums[shoal_task_random(task) % (ROWS * WIDTH)] / 300;
        }
        shoal_task_add(task, 1, shoal_task_random(task) % ROWS, x);
    }
    return sum + witness_widen(task, o, o->reals ? x[0] / 7 : 0);
}

static shoal_status witness_run(shoal_task *task, shoal_err *err)
{
    size_t size;
    const struct witness_state *old = shoal_task_state(task, &size);
    struct witness_state *now = shoal_task_new_state(task, true);
    const struct witness_options *o = shoal_task_options(task);
    bool last = shoal_task_fn(task) + 1 == o->tasks;
    const char *wrong = witness_wrong(task, o, old, now);
    float one = o->staleness > 0 ? 1 : (float)o->tasks;
    uint64_t sum = 0;

    if (wrong != NULL)
        return base_err(err, SHOAL_E_INTERNAL, "executor %u at clock %llu sees %s",
                        shoal_task_executor(task), (unsigned long long)shoal_task_clock(task),
                        wrong);
    if (o->fail > 0 && shoal_task_clock(task) == o->fail && shoal_task_executor(task) == 3)
        return base_err(err, SHOAL_E_INVAL, "executor 3 has had enough");
    now->tasks++;
    for (volatile uint64_t i = 0; i < 1000 * o->spin; i++)
        ;
    if (o->staleness > 0 || last) {
        shoal_task_add(task, 0, shoal_task_executor(task), &one);
        sum = witness_add(task, o);
    }
    shoal_task_result(task, &sum, sizeof sum);
    return SHOAL_OK;
}

static const shoal_app WITNESS = {.struct_size = sizeof WITNESS,
                                  .name = "witness",
                                  .objective = "nothing",
                                  .units = "tasks",
                                  .opts = WITNESS_OPTS,
                                  .opt_count = sizeof WITNESS_OPTS / sizeof WITNESS_OPTS[0],
                                  .options_size = sizeof(struct witness_options),
                                  .driver_size = sizeof(struct witness_driver),
                                  .plan = witness_plan,
                                  .start = witness_start,
                                  .done = witness_done,
                                  .run = witness_run};

#endif
