/* ctest: timeout=600 */
/* One of four workers takes twice as long for everything: what waits for it is dealt to the others, so
 * that all end their clocks together, nobody waits for the staleness bound and reads are as fresh as
 * they can be. In simulation; see sim_cases.h for how to run one seed again. */
#include "sim_cases.h"

#include "base/err.h"

enum { EXECUTORS_MAX = 256, WORKERS = 4, CLOCKS = 400 };

static uint32_t executors; /* of the job that runs */
static uint32_t pauses;    /* in a row, clocks of tasks of nothing, before each clock of work */

struct steady_driver {
    uint64_t issued[EXECUTORS_MAX], ended;
};

static shoal_status steady_plan(shoal_driver *driver, shoal_err *err)
{
    shoal_table_opts sums = SHOAL_TABLE_OPTS_INIT;
    shoal_status st = shoal_driver_executors(driver, executors, err);

    sums.name = "sums";
    sums.rows = executors;
    sums.shards = 4;
    return st == SHOAL_OK ? shoal_driver_table(driver, &sums, err) : st;
}

static shoal_status steady_next(shoal_driver *driver, uint32_t executor, shoal_err *err)
{
    struct steady_driver *d = shoal_driver_state(driver);
    shoal_dispatch task = {.struct_size = sizeof task,
                           .executor = executor,
                           .clock = d->issued[executor],
                           .ends_clock = true};

    task.fn = task.clock % (pauses + 1) < pauses;
    d->issued[executor]++;
    return shoal_driver_dispatch(driver, &task, err);
}

static shoal_status steady_start(shoal_driver *driver, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    for (uint32_t i = 0; i < 2 * executors && st == SHOAL_OK; i++)
        st = steady_next(driver, i % executors, err);
    return st;
}

static shoal_status steady_done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    struct steady_driver *d = shoal_driver_state(driver);

    if (d->issued[done->executor] < CLOCKS)
        return steady_next(driver, done->executor, err);
    if (done->clock + 1 == CLOCKS && ++d->ended == executors)
        shoal_driver_finish(driver);
    return SHOAL_OK;
}

static shoal_status steady_run(shoal_task *task, shoal_err *err)
{
    static const float ONE = 1;

    (void)err;
    shoal_task_add(task, 0, shoal_task_executor(task), &ONE);
    return SHOAL_OK;
}

static const shoal_app STEADY = {.struct_size = sizeof STEADY,
                                 .name = "steady",
                                 .objective = "nothing",
                                 .units = "tasks",
                                 .driver_size = sizeof(struct steady_driver),
                                 .plan = steady_plan,
                                 .start = steady_start,
                                 .done = steady_done,
                                 .run = steady_run};

/* Few executors have long tasks, as in the bench train-slow. */
static const char *slowed(struct cluster *c, uint64_t seed)
{
    bool few = seed / 2 % 2 == 1;

    executors = few ? 64 : EXECUTORS_MAX;
    c->workers = WORKERS;
    c->staleness = 1 + (uint32_t)(seed % 2);
    c->task_mean_s = few ? 3e-3 : 1e-3;
    c->task_noise = 0.2;
    c->slow_worker = 1 + (uint32_t)(seed % WORKERS);
    c->slow_factor = 2;
    c->net.delay_mean_s = 2e-5;
    cluster_begin(c, seed);
    cluster_run(c, &STEADY, "", 1000);
    struct train_stats s = train_master_stats(c->master);
    double lived_s = WORKERS * (double)s.up_ns, idle = 1 - (double)s.run_ns / lived_s;
    double fresh = (double)s.stale[0] / (double)s.tasks, blocked = (double)s.wait_ns / lived_s;
    if (!c->over || c->status != SHOAL_OK || s.tasks != executors * CLOCKS)
        return "it did not end well";
    if (c->log)
        fprintf(stderr, "idle %.4f blocked %.4f fresh %.4f moves %llu\n", idle, blocked, fresh,
                (unsigned long long)s.moves);
    if (idle > 0.03)
        return sim_wrong("workers wait for %.1f %% of their time", 100 * idle);
    if (blocked <= 0 || blocked > idle)
        return sim_wrong("%.2f %% of time is said to be waited, %.2f %% is not worked",
                         100 * blocked, 100 * idle);
    if (fresh < 0.95)
        return sim_wrong("%.1f %% of tasks read what is as fresh as can be", 100 * fresh);
    return NULL;
}

/* A clock of all of them takes less than what a worker has at hand. */
static const char *short_tasks(struct cluster *c, uint64_t seed)
{
    executors = EXECUTORS_MAX;
    c->workers = WORKERS;
    c->staleness = (uint32_t)(seed % 3);
    c->task_mean_s = 1e-5;
    c->task_noise = 0.2;
    c->net.delay_mean_s = 2e-5;
    cluster_begin(c, seed);
    cluster_run(c, &STEADY, "", 1000);
    struct train_stats s = train_master_stats(c->master);
    if (!c->over || c->status != SHOAL_OK || s.tasks != executors * CLOCKS)
        return "it did not end well";
    return s.moves > executors / 10 ? sim_wrong("%llu moves", (unsigned long long)s.moves) : NULL;
}

/* Those of nothing must not make a worker seem to have room for the long ones: what it has got goes
 * to nobody else. */
static const char *paused(struct cluster *c, uint64_t seed)
{
    executors = 64;
    pauses = 49;
    c->workers = WORKERS;
    c->task_mean_s = 0.1;
    c->task_noise = 0.2;
    c->idle_fn = 1;
    c->slow_worker = 1 + (uint32_t)(seed % WORKERS);
    c->slow_factor = 4;
    c->net.delay_mean_s = 2e-5;
    cluster_begin(c, seed);
    cluster_run(c, &STEADY, "", 1000);
    pauses = 0;
    struct train_stats s = train_master_stats(c->master);
    if (!c->over || c->status != SHOAL_OK || s.tasks != executors * CLOCKS)
        return "it did not end well";
    /* Three whole workers and a quarter, and at worst two long tasks of the slow one at the end. */
    double took_s = (double)s.up_ns / 1e9, clock_s = c->task_mean_s * (executors / 3.25 + 2 * 4);
    if (c->log)
        fprintf(stderr, "%.2f s, %.2f allowed\n", took_s, clock_s * CLOCKS / 50);
    return took_s > clock_s * CLOCKS / 50 ? sim_wrong("%.1f s", took_s) : NULL;
}

/* Of the worker that hangs, by process; its task does not end within the time of the test. */
static uint32_t hanging(const struct cluster *c, uint64_t older_than_ns)
{
    struct train_worker_info info;
    uint32_t found = 0;

    for (uint32_t i = 0; train_master_worker(c->master, i, &info) == SHOAL_OK; i++)
        if (info.oldest_ns > older_than_ns)
            found = found == 0 ? info.worker : UINT32_MAX;
    return found;
}

static const char *hung(struct cluster *c, uint64_t seed)
{
    uint64_t second = UINT64_C(1000000000);

    executors = EXECUTORS_MAX;
    c->workers = WORKERS;
    c->staleness = (uint32_t)(seed % 3);
    c->task_noise = 0.2;
    c->slow_worker = 1 + (uint32_t)(seed % WORKERS);
    c->slow_factor = 1e9;
    c->net.delay_mean_s = 2e-5;
    cluster_begin(c, seed);
    cluster_run(c, &STEADY, "", 2);
    uint32_t worker = hanging(c, second);
    if (c->over || worker == 0 || worker == UINT32_MAX)
        return "the one that hangs does not show";
    if (train_master_drain(c->master, worker, NULL) != SHOAL_OK)
        return "it cannot be drained";
    env_sim_run(c->env, 3 * second, cluster_over, c);
    if (c->over || hanging(c, second) != worker)
        return "it has let go of what it hangs in";
    if (train_master_drain(c->master, worker, NULL) != SHOAL_OK)
        return "it cannot be drained by force";
    env_sim_run(c->env, 300 * second, cluster_over, c);
    struct train_stats s = train_master_stats(c->master);
    if (!c->over || c->status != SHOAL_OK || s.tasks != executors * CLOCKS)
        return "it did not end well";
    return s.tasks_redone == 0 || s.tasks_redone > executors ? "tasks were not run again" : NULL;
}

static const struct sim_case CASES[] = {
    {"a_worker_that_hangs_shows_and_is_drained_by_force", 1, hung, NULL},
    {"a_slow_worker_gets_less_to_do_and_nobody_waits_for_it", 4, slowed, NULL},
    {"short_tasks_stay_where_they_are", 3, short_tasks, NULL},
    {"long_tasks_are_dealt_out_after_many_of_nothing", 4, paused, NULL},
};

int main(int argc, char **argv)
{
    return sim_main(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
