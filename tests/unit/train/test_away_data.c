/* ctest: timeout=300 */
/* Executors with much data that move to other machines, in simulation: what waits to be sent is
 * bounded, tasks begin when all of it is there, and who has been moved on meanwhile loses nothing. */
#include "sim_cases.h"

enum { EXECUTORS = 4, CLOCKS = 6 };
static const size_t DATA = 9 << 20; /* bytes of an executor: three pieces */

/* Of one more state, and of each shard of one more table; 0: there is none. */
static size_t state_size, shard_size;
static uint32_t shards; /* of that table, which the first executor holds, if there are two */

struct data_driver {
    uint64_t ended;
};

/* Every page of an executor's data says whose it is. */
static shoal_status data_plan(shoal_driver *driver, shoal_err *err)
{
    shoal_status st = shoal_driver_executors(driver, EXECUTORS, err);

    for (uint32_t e = 0; e < EXECUTORS && st == SHOAL_OK; e++) {
        uint64_t *data = shoal_driver_block(driver, e, DATA + e);
        if (data == NULL)
            return base_err_nomem(err, "planning");
        for (size_t i = 0; i < DATA / sizeof *data; i += 512)
            data[i] = (e + 1) * 1000000 + i;
    }
    if (st == SHOAL_OK && state_size > 0 &&
        shoal_driver_executor_state(driver, 1, state_size) == NULL)
        return base_err_nomem(err, "planning");
    shoal_table_opts table = SHOAL_TABLE_OPTS_INIT;
    table.name = "large";
    table.rows = shards * shard_size / sizeof(float);
    table.shards = shards;
    table.held = true;
    return st == SHOAL_OK && shards > 0 ? shoal_driver_table(driver, &table, err) : st;
}

static shoal_status data_start(shoal_driver *driver, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    for (uint32_t e = 0; e < EXECUTORS && st == SHOAL_OK; e++)
        for (uint64_t c = 0; c < CLOCKS && st == SHOAL_OK; c++) {
            shoal_dispatch task = {.struct_size = sizeof task,
                                   .executor = e,
                                   .clock = c,
                                   .ends_clock = true,
                                   .holds = shards > 1 && e == 0,
                                   .hold_count = shards,
                                   .hold_step = 1,
                                   .hold_whole = true};
            st = shoal_driver_dispatch(driver, &task, err);
        }
    return st;
}

static shoal_status data_done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    struct data_driver *d = shoal_driver_state(driver);

    (void)done;
    (void)err;
    if (++d->ended == EXECUTORS * CLOCKS)
        shoal_driver_finish(driver);
    return SHOAL_OK;
}

static shoal_status data_run(shoal_task *task, shoal_err *err)
{
    uint32_t e = shoal_task_executor(task);
    size_t size;
    const uint64_t *data = shoal_task_data(task, &size);

    if (data == NULL || size != DATA + e)
        return base_err(err, SHOAL_E_INTERNAL, "executor %u has %zu bytes", e, size);
    for (size_t i = 0; i < DATA / sizeof *data; i += 512)
        if (data[i] != (e + 1) * 1000000 + i)
            return base_err(err, SHOAL_E_INTERNAL, "executor %u has other data at %zu", e, i);
    return SHOAL_OK;
}

static const shoal_app DATA_APP = {.struct_size = sizeof DATA_APP,
                                   .name = "data",
                                   .objective = "nothing",
                                   .units = "tasks",
                                   .options_size = 1,
                                   .driver_size = sizeof(struct data_driver),
                                   .plan = data_plan,
                                   .start = data_start,
                                   .done = data_done,
                                   .run = data_run};

/* All data together is more than may wait for one worker. */
static const char *far(struct cluster *c, uint64_t seed)
{
    bool disturbed = seed % 2 == 0;

    c->queue_max = 24 << 20;
    c->away = 1 + (uint32_t)(seed % 3);
    c->away_mean_s = 1e-3;
    c->workers = seed % 4 == 3;
    c->task_mean_s = 0.05;
    c->net.delay_mean_s = 1e-4;
    c->drain_mean_s = disturbed ? 0.1 : 0;
    c->kill_mean_s = disturbed ? 0.2 : 0;
    c->kills_left = 3;
    cluster_begin(c, seed);
    cluster_run(c, &DATA_APP, "", 100000);
    if (sim_unwell(c) != NULL)
        return sim_unwell(c);
    return !disturbed && train_master_stats(c->master).workers_lost > 0 ? "a worker was lost"
                                                                        : NULL;
}

static const char *far_enough(const struct cluster_count *n)
{
    return n->far == 0 ? "tasks on other machines" : n->moves == 0 ? "moves" : NULL;
}

/* Whoever comes from elsewhere is turned away, for this reason, and the job ends well without him. */
static const char *alone(struct cluster *c, uint64_t seed, const char *reason)
{
    c->away = 1;
    c->away_mean_s = 1e-3;
    c->workers = 1;
    c->task_mean_s = 0.05;
    c->segment_size = (size_t)400 << 20;
    cluster_begin(c, seed);
    cluster_run(c, &DATA_APP, "", 100000);
    state_size = shard_size = shards = 0;
    if (sim_unwell(c) != NULL)
        return sim_unwell(c);
    const char *why = train_master_refusal(c->master);
    return strstr(why, reason) == NULL ? sim_wrong("it was told: %s", why) : NULL;
}

static const char *too_large(struct cluster *c, uint64_t seed)
{
    bool state = seed % 2 == 0;

    state_size = state ? (size_t)64 << 20 : 0;
    shard_size = (size_t)64 << 20;
    shards = !state;
    const char *wrong = alone(c, seed,
                              state ? ": the state of executor 1 has 64.0 MiB"
                                    : ": shard 0 of table 'large' has 64.0 MiB");
    struct train_stats s = train_master_stats(c->master);
    return wrong != NULL                           ? wrong
           : s.workers_lost > 0 || s.tasks_far > 0 ? "a worker was taken in and lost"
                                                   : NULL;
}

static const char *commit_too_large(struct cluster *c, uint64_t seed)
{
    shard_size = (size_t)31 << 20;
    shards = 3;
    return alone(c, seed, ": a task leaves more than the 64 MiB that go into one message");
}

static const struct sim_case CASES[] = {
    {"a_job_whose_state_or_shard_fits_no_message_says_so_to_workers_elsewhere", 2, too_large, NULL},
    {"a_commit_that_fits_no_message_is_told_of_and_made_at_home", 1, commit_too_large, NULL},
    {"data_of_any_size_gets_to_workers_elsewhere", 12, far, far_enough},
};

int main(int argc, char **argv)
{
    return sim_main(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
