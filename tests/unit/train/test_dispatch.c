/* Tasks as applications ask for them: what makes no sense is refused with its reason, and a struct of
 * another version's size is read as far as both know it. */
#include "sim_cases.h"

static const char *wrong; /* what the application saw; NULL: all was as it should be */

static shoal_status ask_plan(shoal_driver *driver, shoal_err *err)
{
    shoal_table_opts held = SHOAL_TABLE_OPTS_INIT;
    shoal_dispatch task = SHOAL_DISPATCH_INIT;
    shoal_status st = shoal_driver_executors(driver, 2, err);

    held.name = "held";
    held.rows = 4;
    held.shards = 4;
    held.held = true;
    if (st == SHOAL_OK && shoal_driver_dispatch(driver, &task, err) != SHOAL_E_INVAL)
        wrong = "a task before the plan is made";
    return st == SHOAL_OK ? shoal_driver_table(driver, &held, err) : st;
}

static void refuse(shoal_driver *driver, const shoal_dispatch *task, const char *words)
{
    shoal_err err = SHOAL_ERR_INIT;

    if (shoal_driver_dispatch(driver, task, &err) != SHOAL_E_INVAL ||
        strstr(err.message, words) == NULL)
        wrong = words;
}

static shoal_status ask_start(shoal_driver *driver, shoal_err *err)
{
    struct {
        shoal_dispatch known;
        uint64_t later; /* what a header of tomorrow has */
    } newer = {SHOAL_DISPATCH_INIT, UINT64_MAX};
    shoal_dispatch task = {0};

    refuse(driver, &task, "struct_size");
    task = (shoal_dispatch)SHOAL_DISPATCH_INIT;
    task.executor = 2;
    refuse(driver, &task, "there are 2");
    task.executor = 0;
    task.arg_size = SHOAL_TASK_ARG_MAX + 1;
    refuse(driver, &task, "argument");
    task.holds = true;
    task.hold_shard = 3;
    task.hold_count = 2;
    task.hold_step = 1;
    task.arg_size = 0;
    refuse(driver, &task, "cannot hold");
    task.holds = false;
    task.arg_size = SHOAL_TASK_ARG_MAX + 1;
    task.struct_size = offsetof(shoal_dispatch, arg); /* a header without arguments */
    newer.known.struct_size = sizeof newer;
    newer.known.executor = 1;
    shoal_status st = shoal_driver_dispatch(driver, &task, err);
    return st == SHOAL_OK ? shoal_driver_dispatch(driver, &newer.known, err) : st;
}

static shoal_status ask_done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    uint32_t *ended = shoal_driver_state(driver);

    (void)err;
    *ended += 1 + done->executor;
    if (*ended == 3)
        shoal_driver_finish(driver);
    return SHOAL_OK;
}

static shoal_status ask_run(shoal_task *task, shoal_err *err)
{
    size_t size;

    (void)shoal_task_arg(task, &size);
    return size == 0 ? SHOAL_OK : base_err(err, SHOAL_E_INTERNAL, "an argument of %zu", size);
}

static const shoal_app ASK = {.struct_size = sizeof ASK,
                              .name = "ask",
                              .objective = "nothing",
                              .units = "tasks",
                              .driver_size = sizeof(uint32_t),
                              .plan = ask_plan,
                              .start = ask_start,
                              .done = ask_done,
                              .run = ask_run};

static const char *asked(struct cluster *c, uint64_t seed)
{
    wrong = NULL;
    c->workers = 1;
    cluster_begin(c, seed);
    cluster_run(c, &ASK, "", 1000);
    return sim_unwell(c) != NULL ? sim_unwell(c) : wrong;
}

static const struct sim_case CASES[] = {
    {"tasks_that_make_no_sense_are_refused_and_those_of_other_versions_run", 1, asked, NULL},
};

int main(int argc, char **argv)
{
    return sim_main(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
