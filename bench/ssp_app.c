/* ssp_app.c - an application that leans on bounded staleness alone, for the bench train-slow.
 *
 * Every executor goes from clock to clock as fast as the gate lets it: no task waits for others but
 * by the staleness of the job. A task reads the whole table, works for a while and adds to some
 * rows, as a step of stochastic gradient descent does. DATA is not read. */
#include <shoal/train.h>
#include <stddef.h>

enum { ROWS = 4096, WIDTH = 16, ADDED = 64 };

struct options {
    uint64_t executors, clocks, passes;
};
struct driver {
    uint64_t out;
};

#define AT(member) offsetof(struct options, member)

static const shoal_opt OPTS[] = {
    {AT(executors), SHOAL_OPT_U64, "executors", 0, NULL, "64", "how many", .min = 1, .max = 1e6},
    {AT(clocks), SHOAL_OPT_U64, "clocks", 0, NULL, "100", "tasks of each", .min = 1, .max = 1e9},
    {AT(passes), SHOAL_OPT_U64, "passes", 0, NULL, "20", "over the table in a task", .min = 1,
     .max = 1e9},
};

static shoal_status plan(shoal_driver *driver, shoal_err *err)
{
    const struct options *o = shoal_driver_options(driver);
    shoal_table_opts table = {
        .struct_size = sizeof table, .name = "rows", .rows = ROWS, .width = WIDTH};
    shoal_status st = shoal_driver_executors(driver, (uint32_t)o->executors, err);

    return st != SHOAL_OK ? st : shoal_driver_table(driver, &table, err);
}

static shoal_status start(shoal_driver *driver, shoal_err *err)
{
    const struct options *o = shoal_driver_options(driver);

    ((struct driver *)shoal_driver_state(driver))->out = o->executors;
    return shoal_driver_dispatch_all(driver, 0, 0, err);
}

static shoal_status done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    const struct options *o = shoal_driver_options(driver);
    struct driver *d = shoal_driver_state(driver);

    shoal_driver_report(driver, 0, (double)done->clock / (double)o->clocks, 1);
    if (done->clock + 1 < o->clocks)
        return shoal_driver_dispatch(driver,
                                     &(shoal_dispatch){.struct_size = sizeof(shoal_dispatch),
                                                       .executor = done->executor,
                                                       .clock = done->clock + 1,
                                                       .ends_clock = true},
                                     err);
    if (--d->out == 0)
        shoal_driver_finish(driver);
    return SHOAL_OK;
}

static shoal_status run(shoal_task *task, shoal_err *err)
{
    const struct options *o = shoal_task_options(task);
    const float *row = shoal_task_rows(task, 0);
    float sum[WIDTH] = {0};

    (void)err;
    for (uint64_t pass = 0; pass < o->passes; pass++)
        for (uint64_t i = 0; i < ROWS; i++)
            for (int k = 0; k < WIDTH; k++)
                sum[k] += row[i * WIDTH + (uint64_t)k];
    for (int k = 0; k < WIDTH; k++)
        sum[k] = sum[k] > 0 ? -1e-6F : 1e-6F;
    for (int i = 0; i < ADDED; i++)
        shoal_task_add(task, 0, shoal_task_random(task) % ROWS, sum);
    return SHOAL_OK;
}

static shoal_status save(shoal_driver *driver, shoal_model *model, shoal_err *err)
{
    return shoal_model_put(model, "rows", shoal_driver_rows_read(driver, 0),
                           ROWS * WIDTH * sizeof(float), err);
}

SHOAL_API shoal_app_export_fn shoal_app_export;
const shoal_app *shoal_app_export(void)
{
    static const shoal_app app = {.struct_size = sizeof app,
                                  .name = "ssp",
                                  .summary = "tasks that wait for nothing but the staleness",
                                  .data = "none",
                                  .objective = "none",
                                  .units = "tasks",
                                  .staleness = 1,
                                  .opts = OPTS,
                                  .opt_count = 3,
                                  .options_size = sizeof(struct options),
                                  .driver_size = sizeof(struct driver),
                                  .plan = plan,
                                  .start = start,
                                  .done = done,
                                  .run = run,
                                  .save = save};
    return &app;
}
