/* Tests of shoal_driver_rows_read (src/train/driver.c): a driver that only looks at a table between
 * two clocks has none of it sent again to workers elsewhere; one that may have changed it has all
 * of it. */
#include "torture.h"

#include "unit/train/cluster.h"

enum { ROWS = 1000, WIDTH = 10, EXECUTORS = 3, CLOCKS = 20, TABLE_SIZE = ROWS * WIDTH * 4 };

struct options {
    uint64_t writes;
};
struct driver {
    uint64_t ended;
};

static const shoal_opt OPTS[] = {
    {offsetof(struct options, writes), SHOAL_OPT_U64, "writes", 0, NULL, "0",
     "rows are asked for as if to change them", .max = 1},
};

static shoal_status plan(shoal_driver *driver, shoal_err *err)
{
    shoal_table_opts table = {
        .struct_size = sizeof table, .name = "rows", .rows = ROWS, .width = WIDTH, .shards = 4};
    shoal_status st = shoal_driver_executors(driver, EXECUTORS, err);

    return st == SHOAL_OK ? shoal_driver_table(driver, &table, err) : st;
}

static shoal_status start(shoal_driver *driver, shoal_err *err)
{
    return shoal_driver_dispatch_all(driver, 0, 0, err);
}

/* Its row has what it added in the clocks before. */
static shoal_status run(shoal_task *task, shoal_err *err)
{
    static const float ONES[WIDTH] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    uint64_t row = shoal_task_executor(task) * (ROWS / EXECUTORS);

    if (shoal_task_rows(task, 0)[row * WIDTH] != (float)shoal_task_clock(task))
        return base_err(err, SHOAL_E_INTERNAL, "an old row");
    shoal_task_add(task, 0, row, ONES);
    return SHOAL_OK;
}

static shoal_status done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    const struct options *o = shoal_driver_options(driver);
    struct driver *d = shoal_driver_state(driver);
    const float *rows;

    if ((d->ended + 1) % EXECUTORS != 0) {
        d->ended++;
        return SHOAL_OK;
    }
    if (shoal_driver_fresh(driver) != SHOAL_OK)
        return SHOAL_AGAIN;
    d->ended++;
    rows = o->writes ? shoal_driver_rows(driver, 0) : shoal_driver_rows_read(driver, 0);
    if (rows[0] != (float)(done->clock + 1))
        return base_err(err, SHOAL_E_INTERNAL, "row 0 is %g", (double)rows[0]);
    if (done->clock + 1 < CLOCKS)
        return shoal_driver_dispatch_all(driver, 0, done->clock + 1, err);
    shoal_driver_finish(driver);
    return SHOAL_OK;
}

static const shoal_app APP = {.struct_size = sizeof APP,
                              .name = "looks",
                              .objective = "none",
                              .units = "tasks",
                              .opts = OPTS,
                              .opt_count = 1,
                              .options_size = sizeof(struct options),
                              .driver_size = sizeof(struct driver),
                              .plan = plan,
                              .start = start,
                              .done = done,
                              .run = run};

/* Bytes of rows that went to one worker elsewhere, which runs all tasks. */
static uint64_t row_bytes(const char *settings, struct cluster_count *sum)
{
    struct cluster c = {.away = 1, .away_mean_s = 0.01};

    cluster_begin(&c, 1);
    cluster_run(&c, &APP, settings, 1000);
    if (!c.over || c.status != SHOAL_OK)
        fail_msg("%s: %s", settings, c.over ? c.err.message : "did not end");
    cluster_add(sum, &c.count);
    uint64_t bytes = train_master_stats(c.master).row_bytes;
    cluster_free(&c);
    return bytes;
}

static void rows_that_are_only_read_are_not_sent_again(void **state)
{
    struct cluster_count sum = {0};

    (void)state;
    uint64_t read = row_bytes("", &sum), written = row_bytes("writes=1", &sum);
    assert_true(sum.far == sum.tasks && sum.lost == 0);
    assert_true(read >= TABLE_SIZE && read < 2 * TABLE_SIZE); /* once, and what tasks changed */
    assert_true(written >= CLOCKS * TABLE_SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_are_only_read_are_not_sent_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
