/* tasks.c - what the runtime costs: empty micro-tasks per second, and the price of cutting the same
 * work into more executors.
 *
 *     bench_tasks empty     tasks that do nothing, driver and worker in one process
 *     bench_tasks cut       the same work in 1 and in 16 executors per thread
 *
 * One JSON line per result, medians of 5. */
#include "train/job.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
    uint64_t executors, tasks, steps;
};
struct driver {
    uint64_t left, out;
};

static const shoal_opt OPTS[] = {
    {"executors", SHOAL_OPT_U64, "64", "how many", 1, 1e6, NULL,
     offsetof(struct options, executors)},
    {"tasks", SHOAL_OPT_U64, "1", "of each", 1, 1e12, NULL, offsetof(struct options, tasks)},
    {"steps", SHOAL_OPT_U64, "0", "of work in a task", 0, 1e12, NULL,
     offsetof(struct options, steps)},
};

static shoal_status plan(shoal_driver *driver, shoal_err *err)
{
    const struct options *o = shoal_driver_options(driver);

    return shoal_driver_executors(driver, (uint32_t)o->executors, err);
}

static shoal_status dispatch(shoal_driver *driver, uint32_t executor, shoal_err *err)
{
    struct driver *d = shoal_driver_state(driver);

    d->left--;
    d->out++;
    return shoal_driver_dispatch(driver, &(shoal_dispatch){.executor = executor}, err);
}

static shoal_status start(shoal_driver *driver, shoal_err *err)
{
    const struct options *o = shoal_driver_options(driver);
    struct driver *d = shoal_driver_state(driver);
    shoal_status st = SHOAL_OK;

    d->left = o->executors * o->tasks;
    for (uint64_t i = 0; i < 4 * o->executors && d->left > 0 && st == SHOAL_OK; i++)
        st = dispatch(driver, (uint32_t)(i % o->executors), err);
    return st;
}

static shoal_status done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    struct driver *d = shoal_driver_state(driver);

    d->out--;
    if (d->left > 0)
        return dispatch(driver, done->executor, err);
    if (d->out == 0)
        shoal_driver_finish(driver);
    return SHOAL_OK;
}

static shoal_status run(shoal_task *task, shoal_err *err)
{
    const struct options *o = shoal_task_options(task);
    volatile uint64_t x = 0;

    (void)err;
    for (uint64_t i = 0; i < o->steps; i++)
        x += i;
    return SHOAL_OK;
}

static const shoal_app APP = {.struct_size = sizeof APP,
                              .name = "tasks",
                              .objective = "none",
                              .units = "tasks",
                              .opts = OPTS,
                              .opt_count = 3,
                              .options_size = sizeof(struct options),
                              .driver_size = sizeof(struct driver),
                              .plan = plan,
                              .start = start,
                              .done = done,
                              .run = run};

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds from start to end, and the CPU seconds of the process. */
static double job(uint32_t threads, uint64_t executors, uint64_t tasks, uint64_t steps,
                  double *out_cpu_s)
{
    struct train_job_opts opts = TRAIN_JOB_OPTS_INIT;
    struct train_job_result result;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_env *env;
    char settings[100];

    snprintf(settings, sizeof settings, "executors=%llu\ntasks=%llu\nsteps=%llu",
             (unsigned long long)executors, (unsigned long long)tasks, (unsigned long long)steps);
    opts.app = &APP;
    opts.path = "";
    opts.settings = settings;
    opts.workers = 0;
    opts.inside = threads;
    opts.memory_max = (size_t)1 << 30;
    double before = cpu_s();
    if (shoal_env_real_new(&env, &err) != SHOAL_OK ||
        train_job_run(env, &opts, &result, &err) != SHOAL_OK) {
        fprintf(stderr, "bench_tasks: %s\n", err.message);
        exit(1);
    }
    *out_cpu_s = cpu_s() - before;
    shoal_env_free(env);
    return result.seconds;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void empty(void)
{
    enum { TASKS = 1000000 };
    double seconds[5], cpu[5];

    for (int i = 0; i < 5; i++)
        seconds[i] = job(1, 64, TASKS / 64, 0, &cpu[i]);
    qsort(seconds, 5, sizeof *seconds, by_size);
    qsort(cpu, 5, sizeof *cpu, by_size);
    printf("{\"bench\":\"tasks-empty\",\"ours\":%.0f,\"unit\":\"tasks/s\",\"per_cpu_s\":%.0f,"
           "\"bound\":1000000,\"n\":5}\n",
           TASKS / seconds[2], TASKS / cpu[2]);
}

static void cut(void)
{
    double cpu[2][5];

    for (int i = 0; i < 5; i++) { /* about 1 ms and 60 us a task */
        job(1, 1, 3000, 1600000, &cpu[0][i]);
        job(1, 16, 3000, 100000, &cpu[1][i]);
    }
    qsort(cpu[0], 5, sizeof(double), by_size);
    qsort(cpu[1], 5, sizeof(double), by_size);
    printf("{\"bench\":\"tasks-cut\",\"ours\":%.4f,\"peer\":%.4f,\"ratio\":%.4f,\"unit\":\"CPU s\","
           "\"n\":5}\n",
           cpu[1][2], cpu[0][2], cpu[1][2] / cpu[0][2]);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "empty") == 0)
        empty();
    else if (argc == 2 && strcmp(argv[1], "cut") == 0)
        cut();
    else
        return fprintf(stderr, "usage: bench_tasks empty|cut\n"), 2;
    return 0;
}
