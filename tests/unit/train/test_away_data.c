/* ctest: timeout=300 */
/* Executors with much data that move to other machines, in simulation: what waits to be sent is
 * bounded, tasks begin when all of it is there, and who has been moved on meanwhile loses nothing. */
#include "sim_cases.h"

enum { EXECUTORS = 4, CLOCKS = 6 };
static const size_t DATA = 9 << 20; /* bytes of an executor: three pieces */

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
    return st;
}

static shoal_status data_start(shoal_driver *driver, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    for (uint32_t e = 0; e < EXECUTORS && st == SHOAL_OK; e++)
        for (uint64_t c = 0; c < CLOCKS && st == SHOAL_OK; c++) {
            shoal_dispatch task = {.executor = e, .clock = c, .ends_clock = true};
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
    if (!c->over)
        return "it did not end";
    if (c->status != SHOAL_OK)
        return c->err.message;
    return !disturbed && train_master_stats(c->master).workers_lost > 0 ? "a worker was lost"
                                                                        : NULL;
}

static const char *far_enough(const struct cluster_count *n)
{
    return n->far == 0 ? "tasks on other machines" : n->moves == 0 ? "moves" : NULL;
}

static const struct sim_case CASES[] = {
    {"data_of_any_size_gets_to_workers_elsewhere", 12, far, far_enough},
};

int main(int argc, char **argv)
{
    return sim_main(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
