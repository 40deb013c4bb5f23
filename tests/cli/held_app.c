/* held_app.c - an application that waits for the test that disturbs it.
 *
 * It is the one that HELD_APP names, kmeans of examples/ or a built-in one, but a task whose clock is
 * not below the number in the file HELD_FILE waits until it is, or until the file is gone. So a job is
 * where a test wants it for as long as the test takes, on any machine; see train_jobs.py. */
#include <shoal/train.h>

const shoal_app *kmeans_export(void);
SHOAL_API const shoal_app *shoal_app_export(void);

#define shoal_app_export kmeans_export
#include "../../examples/kmeans_app.c"
#undef shoal_app_export

#include "app/app.h"
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

static const shoal_app *inner;

static bool may_run(uint64_t clock)
{
    FILE *file = fopen(getenv("HELD_FILE"), "r");
    uint64_t end = 0;

    if (file == NULL)
        return true;
    bool known = fscanf(file, "%" SCNu64, &end) == 1;
    fclose(file);
    return known && clock < end;
}

static shoal_status run_held(shoal_task *task, shoal_err *err)
{
    while (!may_run(shoal_task_clock(task)))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return inner->run(task, err);
}

const shoal_app *shoal_app_export(void)
{
    static shoal_app held;
    const char *name = getenv("HELD_APP");

    if (name == NULL || getenv("HELD_FILE") == NULL)
        return NULL;
    inner = strcmp(name, "kmeans") == 0 ? kmeans_export() : app_find(name);
    if (inner == NULL)
        return NULL;
    held = *inner;
    held.run = run_held;
    return &held;
}
