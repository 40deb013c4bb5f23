/* ctest: timeout=300 */
/* A prioritised schedule needs no API of its own: the driver hears how much each task moved and
 * dispatches those next whose neighbours moved most, never two neighbours at once. By rule 2 a task
 * sees all of those that moved before it.
 *
 * The application relaxes a system of equations whose unknowns hang in a chain, a few per executor.
 * A short stretch of the chain is stiff and needs hundreds of turns, the rest settles in a few: round
 * robin spends its tasks on the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "train/job.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXECUTORS = 32, EACH = 4, ROWS = EXECUTORS * EACH, STIFF = 6 * EACH, AT_ONCE = 2 };
static const float ENOUGH = 1e-4F; /* a move this small counts as none */

struct options {
    bool priority;
};
struct driver {
    float due[EXECUTORS]; /* how much has moved beside it since its last turn */
    bool out[EXECUTORS];
    uint32_t out_count, turn;
};
struct moved {
    float left, right; /* of its first and last unknown */
};

/* Row i: stiffness x_i = 1 + pull (x_i-1 + x_i+1). */
static float pull(uint32_t row)
{
    return row < STIFF ? 1.0F : 0.1F;
}

static float stiffness(uint32_t row)
{
    return row < STIFF ? 2.003F : 4.0F;
}

static float relaxed(const float *x, uint32_t row)
{
    float left = row > 0 ? x[row - 1] : 0, right = row + 1 < ROWS ? x[row + 1] : 0;

    return (1 + pull(row) * (left + right)) / stiffness(row);
}

static shoal_status run(shoal_task *task, shoal_err *err)
{
    uint32_t first = shoal_task_executor(task) * EACH;
    const float *rows = shoal_task_rows(task, 0);
    float x[ROWS];

    (void)err;
    memcpy(x, rows, sizeof x); /* its neighbours are at rest: nobody changes what is read of it */
    for (uint32_t turn = 0; turn < 32; turn++)
        for (uint32_t i = first; i < first + EACH; i++)
            x[i] = relaxed(x, i);
    for (uint32_t i = first; i < first + EACH; i++) {
        float change = x[i] - rows[i];
        shoal_task_add(task, 0, i, &change);
    }
    struct moved moved = {fabsf(x[first] - rows[first]),
                          fabsf(x[first + EACH - 1] - rows[first + EACH - 1])};
    shoal_task_result(task, &moved, sizeof moved);
    return SHOAL_OK;
}

static shoal_status plan(shoal_driver *driver, shoal_err *err)
{
    shoal_table_opts opts = SHOAL_TABLE_OPTS_INIT;
    shoal_status st = shoal_driver_executors(driver, EXECUTORS, err);

    opts.name = "x";
    opts.rows = ROWS;
    return st == SHOAL_OK ? shoal_driver_table(driver, &opts, err) : st;
}

static bool may_run(const struct driver *d, uint32_t e)
{
    return !d->out[e] && !(e > 0 && d->out[e - 1]) && !(e + 1 < EXECUTORS && d->out[e + 1]);
}

/* The next to have a turn; EXECUTORS: none. In turn: the even ones, then the odd ones. */
static uint32_t choose(const struct driver *d, bool priority)
{
    uint32_t best = EXECUTORS, turn = d->turn % EXECUTORS;
    uint32_t next = 2 * turn < EXECUTORS ? 2 * turn : 2 * turn - EXECUTORS + 1;

    if (!priority)
        return may_run(d, next) ? next : EXECUTORS;
    for (uint32_t e = 0; e < EXECUTORS; e++)
        if (may_run(d, e) && d->due[e] > ENOUGH && (best == EXECUTORS || d->due[e] > d->due[best]))
            best = e;
    return best;
}

static bool settled(const struct driver *d)
{
    for (uint32_t e = 0; e < EXECUTORS; e++)
        if (d->due[e] > ENOUGH)
            return false;
    return true;
}

static shoal_status send(shoal_driver *driver, shoal_err *err)
{
    const struct options *o = shoal_driver_options(driver);
    struct driver *d = shoal_driver_state(driver);
    shoal_status st = SHOAL_OK;

    while (d->out_count < AT_ONCE && !settled(d) && st == SHOAL_OK) {
        uint32_t e = choose(d, o->priority);
        if (e == EXECUTORS)
            break;
        d->due[e] = 0;
        d->out[e] = true;
        d->out_count++;
        d->turn++;
        st = shoal_driver_dispatch(
            driver, &(shoal_dispatch){.struct_size = sizeof(shoal_dispatch), .executor = e}, err);
    }
    if (d->out_count == 0)
        shoal_driver_finish(driver);
    return st;
}

static shoal_status start(shoal_driver *driver, shoal_err *err)
{
    struct driver *d = shoal_driver_state(driver);

    for (uint32_t e = 0; e < EXECUTORS; e++)
        d->due[e] = 1;
    return send(driver, err);
}

static shoal_status done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    struct driver *d = shoal_driver_state(driver);
    struct moved moved;
    uint32_t e = done->executor;

    memcpy(&moved, done->result, sizeof moved);
    d->out[e] = false;
    d->out_count--;
    if (e > 0)
        d->due[e - 1] += pull(e * EACH - 1) * moved.left;
    if (e + 1 < EXECUTORS)
        d->due[e + 1] += pull((e + 1) * EACH) * moved.right;
    return send(driver, err);
}

static float found[ROWS];

static shoal_status save(shoal_driver *driver, shoal_model *model, shoal_err *err)
{
    (void)model;
    (void)err;
    memcpy(found, shoal_driver_rows(driver, 0), sizeof found);
    return SHOAL_OK;
}

static const shoal_opt OPTS[] = {
    {offsetof(struct options, priority), SHOAL_OPT_FLAG, "priority", 0, NULL, "false",
     .help = "largest first"},
};
static const shoal_app APP = {.struct_size = sizeof APP,
                              .name = "relax",
                              .objective = "none",
                              .units = "tasks",
                              .opts = OPTS,
                              .opt_count = 1,
                              .options_size = sizeof(struct options),
                              .driver_size = sizeof(struct driver),
                              .plan = plan,
                              .start = start,
                              .done = done,
                              .run = run,
                              .save = save};

/* The chain solved by elimination. */
static void solve(double out[ROWS])
{
    double above[ROWS], right[ROWS];

    for (uint32_t i = 0; i < ROWS; i++) {
        double p = (double)pull(i);
        double d = (double)stiffness(i) - (i > 0 ? p * above[i - 1] : 0);
        above[i] = p / d;
        right[i] = (1 + (i > 0 ? p * right[i - 1] : 0)) / d;
    }
    for (uint32_t i = ROWS; i-- > 0;)
        out[i] = right[i] + (i + 1 < ROWS ? above[i] * out[i + 1] : 0);
}

/* Tasks it took; `found` holds the solution. */
static uint64_t tasks_of(const char *settings)
{
    struct train_job_opts opts = TRAIN_JOB_OPTS_INIT;
    struct train_job_result result;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_env *env = NULL;
    char folder[] = "/tmp/shoal-test-XXXXXX", model[64];

    assert_non_null(mkdtemp(folder));
    snprintf(model, sizeof model, "%s/m", folder);
    opts.app = &APP;
    opts.path = "";
    opts.settings = settings;
    opts.workers = 0;
    opts.inside = AT_ONCE;
    opts.staleness = 1;
    opts.model = model;
    opts.memory_max = (size_t)1 << 30;
    assert_int_equal(shoal_env_real_new(&env, &err), SHOAL_OK);
    if (train_job_run(env, &opts, &result, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    shoal_env_free(env);
    assert_int_equal(unlink(model), 0);
    assert_int_equal(rmdir(folder), 0);
    return result.stats.tasks;
}

static void found_the_solution(void)
{
    double x[ROWS];

    solve(x);
    for (uint32_t i = 0; i < ROWS; i++)
        assert_true(fabs((double)found[i] - x[i]) < 0.02 * (1 + fabs(x[i])));
}

static void largest_moves_first_take_a_third_of_the_tasks(void **state)
{
    (void)state;
    uint64_t in_turn = tasks_of("priority=false");
    found_the_solution();
    uint64_t by_priority = tasks_of("priority=true");
    found_the_solution();
    assert_true(by_priority > EXECUTORS);
    if (3 * by_priority > in_turn)
        fail_msg("%llu tasks by priority, %llu in turn", (unsigned long long)by_priority,
                 (unsigned long long)in_turn);
    print_message("%llu tasks by priority, %llu in turn\n", (unsigned long long)by_priority,
                  (unsigned long long)in_turn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(largest_moves_first_take_a_third_of_the_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
