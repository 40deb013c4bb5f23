/* driver.c - the application's hand on its job: thin calls into box and master.
 * Tests: tests/unit/train/test_master*.c, test_dispatch.c, test_learnt.c. */
#include "base/err.h"
#include "train/master_parts.h"
#include <math.h>
#include <string.h>

shoal_env *shoal_driver_env(shoal_driver *driver)
{
    return driver->master->env;
}

const char *shoal_driver_path(const shoal_driver *driver)
{
    return driver->master->path;
}

const void *shoal_driver_options(const shoal_driver *driver)
{
    return driver->options;
}

void *shoal_driver_state(shoal_driver *driver)
{
    return driver->state;
}

uint64_t shoal_driver_seed(const shoal_driver *driver)
{
    return driver->master->opts.seed;
}

uint32_t shoal_driver_staleness(const shoal_driver *driver)
{
    return driver->master->opts.staleness;
}

void shoal_driver_set_staleness(shoal_driver *driver, uint32_t staleness)
{
    if (driver->planned || !driver->staleness_open)
        return;
    driver->master->opts.staleness = staleness;
    train_box_set_staleness(driver->master->box, staleness);
}

uint32_t shoal_driver_threads(const shoal_driver *driver)
{
    const struct train_master *m = driver->master;
    uint32_t threads = 0;

    for (uint32_t i = 0; i < m->crew_count; i++)
        threads += m->crew[i]->state == CREW_UP ? m->crew[i]->threads : 0;
    return threads > 0 ? threads : m->opts.workers * m->opts.threads;
}

shoal_status shoal_driver_executors(shoal_driver *driver, uint32_t count, shoal_err *err)
{
    if (driver->planned)
        return base_err(err, SHOAL_E_INVAL, "executors are declared in plan only");
    return train_box_executors(driver->master->box, count, err);
}

void *shoal_driver_block(shoal_driver *driver, uint32_t executor, size_t size)
{
    return driver->planned ? NULL : train_box_data(driver->master->box, executor, size);
}

void *shoal_driver_executor_state(shoal_driver *driver, uint32_t executor, size_t size)
{
    return driver->planned ? NULL : train_box_state(driver->master->box, executor, size);
}

shoal_status shoal_driver_table(shoal_driver *driver, const shoal_table_opts *opts, shoal_err *err)
{
    if (driver->planned)
        return base_err(err, SHOAL_E_INVAL, "tables are declared in plan only");
    /* an application built against an older header has a shorter struct */
    shoal_table_opts known = SHOAL_TABLE_OPTS_INIT;
    memcpy(&known, opts, opts->struct_size < sizeof known ? opts->struct_size : sizeof known);
    return train_box_table(driver->master->box, &known, err);
}

shoal_status shoal_driver_fresh(shoal_driver *driver)
{
    return train_box_fold(driver->master->box);
}

/* Whoever gets rows to read between two clocks of a bulk synchronous job may change them. */
static void rewrite(shoal_driver *driver, uint32_t table, uint32_t shard)
{
    if (driver->planned && driver->master->opts.staleness == 0)
        train_box_rewrite(driver->master->box, table, shard);
}

float *shoal_driver_shard(shoal_driver *driver, uint32_t table, uint32_t shard, uint64_t *out_first,
                          uint64_t *out_count)
{
    rewrite(driver, table, shard);
    return train_box_shard(driver->master->box, table, shard, out_first, out_count);
}

float *shoal_driver_rows(shoal_driver *driver, uint32_t table)
{
    uint32_t shards = table < train_box_table_count(driver->master->box)
                          ? train_box_table_info(driver->master->box, table).shards
                          : 0;

    for (uint32_t s = 0; s < shards; s++)
        rewrite(driver, table, s);
    return train_box_rows(driver->master->box, table);
}

const float *shoal_driver_shard_read(const shoal_driver *driver, uint32_t table, uint32_t shard,
                                     uint64_t *out_first, uint64_t *out_count)
{
    return train_box_shard(driver->master->box, table, shard, out_first, out_count);
}

const float *shoal_driver_rows_read(const shoal_driver *driver, uint32_t table)
{
    return train_box_rows(driver->master->box, table);
}

const void *shoal_driver_block_read(const shoal_driver *driver, uint32_t executor, size_t *out_size)
{
    return train_box_data_read(driver->master->box, executor, out_size);
}

const void *shoal_driver_executor_read(const shoal_driver *driver, uint32_t executor,
                                       size_t *out_size)
{
    return train_box_state_read(driver->master->box, executor, out_size);
}

shoal_status shoal_driver_dispatch(shoal_driver *driver, const shoal_dispatch *task, shoal_err *err)
{
    if (!driver->planned)
        return base_err(err, SHOAL_E_INVAL, "tasks are dispatched after plan");
    if (task->struct_size <= sizeof task->struct_size)
        return base_err(err, SHOAL_E_INVAL, "a task without its struct_size");
    shoal_dispatch known = SHOAL_DISPATCH_INIT;
    memcpy(&known, task, task->struct_size < sizeof known ? task->struct_size : sizeof known);
    return master_queue(driver->master, &known, err);
}

shoal_status shoal_driver_dispatch_all(shoal_driver *driver, uint32_t fn, uint64_t clock,
                                       shoal_err *err)
{
    shoal_dispatch task = SHOAL_DISPATCH_INIT;
    shoal_status st = SHOAL_OK;

    task.fn = fn;
    task.clock = clock;
    task.ends_clock = true;

    for (; task.executor < driver->master->executor_count && st == SHOAL_OK; task.executor++)
        st = shoal_driver_dispatch(driver, &task, err);
    return st;
}

void shoal_driver_report(shoal_driver *driver, double value, double progress, uint64_t units)
{
    struct train_stats *stats = &driver->master->stats;

    if (!isnan(value)) {
        stats->value = value;
        train_history_add(&driver->master->history, value);
        train_trail_value(&driver->master->trail, env_now_ns(driver->master->env), stats->clocks,
                          stats->run_ns, value);
    }
    if (!isnan(progress))
        stats->progress = progress;
    stats->units += units;
}

void shoal_driver_report_held_out(shoal_driver *driver, double value)
{
    driver->master->stats.held_out = value;
    train_trail_held_out(&driver->master->trail, value);
}

void shoal_driver_iterations(shoal_driver *driver, uint64_t done)
{
    driver->master->stats.iterations = done;
}

void shoal_driver_stopped(shoal_driver *driver, shoal_stop why, double gap)
{
    bool known = why > SHOAL_STOP_UNSAID && why <= SHOAL_STOP_SCHEDULE; /* of this version */
    driver->master->stats.stopped = known ? why : SHOAL_STOP_UNSAID;
    driver->master->stats.gap = gap;
}

void shoal_driver_keep(shoal_driver *driver, void *memory, void (*drop)(void *memory))
{
    if (driver->kept != NULL && driver->drop != NULL)
        driver->drop(driver->kept);
    driver->kept = memory;
    driver->drop = drop;
}

void *shoal_driver_kept(const shoal_driver *driver)
{
    return driver->kept;
}

void shoal_driver_say(shoal_driver *driver, const char *line)
{
    if (driver->learnt != NULL)
        train_learnt_say(driver->learnt, line);
}

void shoal_driver_setting(shoal_driver *driver, const char *key, const char *value)
{
    if (driver->learnt != NULL)
        train_learnt_set(driver->learnt, key, value);
}

shoal_status shoal_driver_records(shoal_driver *driver, const shoal_schema *schema,
                                  const shoal_records *records, shoal_err *err)
{
    if (!driver->showing)
        return base_err(err, SHOAL_E_INVAL, "records are given in the hook 'show'");
    return train_learnt_list(driver->learnt, schema, records, err);
}

shoal_status shoal_driver_picture(shoal_driver *driver, const shoal_picture *picture,
                                  shoal_err *err)
{
    if (!driver->showing)
        return base_err(err, SHOAL_E_INVAL, "pictures are given in the hook 'show'");
    return train_learnt_picture(driver->learnt, picture, err);
}

void shoal_driver_finish(shoal_driver *driver)
{
    driver->master->finished = true;
}
