/* tasks.c - what the runtime costs: empty micro-tasks per second, and the price of cutting the same
 * work into more executors.
 *
 *     bench_tasks empty [TASKS]   tasks that do nothing, driver and worker in one process
 *     bench_tasks cut             the same work in 1 and in 16 executors per thread
 *
 * One JSON line per result, medians of 5; with TASKS one run, to be looked at by a profiler. The
 * cost of a cut is told in CPU seconds of the process per CPU second inside tasks, so that it does
 * not depend on what else the machine does. It is taken for tasks of three lengths; with clocks
 * that all executors have to end before the next begins, and without. */
#include "train/job.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 5 };

struct options {
    uint64_t executors, tasks, steps;
    bool clocks;
};
struct driver {
    uint64_t left, out;
};

/* CPU seconds of the process when the job's first task was dispatched and when its last one ended,
 * and the CPU time inside its tasks. */
static double started_s, ended_s;
static atomic_ullong inside_ns;

#define AT(member) offsetof(struct options, member)

static const shoal_opt OPTS[] = {
    {AT(executors), SHOAL_OPT_U64, "executors", 0, NULL, "64", "how many", .min = 1, .max = 1e6},
    {AT(tasks), SHOAL_OPT_U64, "tasks", 0, NULL, "1", "of each", .min = 1, .max = 1e12},
    {AT(steps), SHOAL_OPT_U64, "steps", 0, NULL, "0", "of work in a task", .max = 1e12},
    {AT(clocks), SHOAL_OPT_FLAG, "clocks", 0, NULL, "false",
     .help = "all end a task before the next"},
};

static double clock_s(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static shoal_status plan(shoal_driver *driver, shoal_err *err)
{
    const struct options *o = shoal_driver_options(driver);

    return shoal_driver_executors(driver, (uint32_t)o->executors, err);
}

static shoal_status dispatch(shoal_driver *driver, uint32_t executor, uint64_t clock,
                             shoal_err *err)
{
    const struct options *o = shoal_driver_options(driver);
    struct driver *d = shoal_driver_state(driver);

    d->left--;
    d->out++;
    return shoal_driver_dispatch(driver,
                                 &(shoal_dispatch){.struct_size = sizeof(shoal_dispatch),
                                                   .executor = executor,
                                                   .clock = clock,
                                                   .ends_clock = o->clocks},
                                 err);
}

static shoal_status start(shoal_driver *driver, shoal_err *err)
{
    const struct options *o = shoal_driver_options(driver);
    struct driver *d = shoal_driver_state(driver);
    uint64_t first = (o->clocks ? 2 : 4) * o->executors;
    shoal_status st = SHOAL_OK;

    d->left = o->executors * o->tasks;
    for (uint64_t i = 0; i < first && d->left > 0 && st == SHOAL_OK; i++)
        st = dispatch(driver, (uint32_t)(i % o->executors), o->clocks ? i / o->executors : 0, err);
    started_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
    return st;
}

static shoal_status done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    const struct options *o = shoal_driver_options(driver);
    struct driver *d = shoal_driver_state(driver);

    d->out--;
    if (d->left > 0)
        return dispatch(driver, done->executor, o->clocks ? done->clock + 2 : 0, err);
    if (d->out == 0) {
        ended_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
        shoal_driver_finish(driver);
    }
    return SHOAL_OK;
}

static void labour(uint64_t steps)
{
    volatile uint64_t x = 0;

    for (uint64_t i = 0; i < steps; i++)
        x += i;
}

static shoal_status run(shoal_task *task, shoal_err *err)
{
    const struct options *o = shoal_task_options(task);

    (void)err;
    if (o->steps == 0)
        return SHOAL_OK;
    double before = clock_s(CLOCK_THREAD_CPUTIME_ID);
    labour(o->steps);
    atomic_fetch_add(&inside_ns,
                     (unsigned long long)(1e9 * (clock_s(CLOCK_THREAD_CPUTIME_ID) - before)));
    return SHOAL_OK;
}

static const shoal_app APP = {.struct_size = sizeof APP,
                              .name = "tasks",
                              .objective = "none",
                              .units = "tasks",
                              .opts = OPTS,
                              .opt_count = 4,
                              .options_size = sizeof(struct options),
                              .driver_size = sizeof(struct driver),
                              .plan = plan,
                              .start = start,
                              .done = done,
                              .run = run};

/* Seconds from start to end; the CPU seconds meanwhile are in started_s and ended_s. */
static double job(const struct options *o)
{
    struct train_job_opts opts = TRAIN_JOB_OPTS_INIT;
    struct train_job_result result;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_env *env;
    char settings[120];

    snprintf(settings, sizeof settings, "executors=%llu\ntasks=%llu\nsteps=%llu\nclocks=%s",
             (unsigned long long)o->executors, (unsigned long long)o->tasks,
             (unsigned long long)o->steps, o->clocks ? "true" : "false");
    opts.app = &APP;
    opts.path = "";
    opts.settings = settings;
    opts.workers = 0;
    opts.inside = 1;
    opts.memory_max = (size_t)1 << 30;
    atomic_store(&inside_ns, 0);
    if (shoal_env_real_new(&env, &err) != SHOAL_OK ||
        train_job_run(env, &opts, &result, &err) != SHOAL_OK) {
        fprintf(stderr, "bench_tasks: %s\n", err.message);
        exit(1);
    }
    shoal_env_free(env);
    return result.seconds;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double x[RUNS])
{
    qsort(x, RUNS, sizeof *x, by_size);
    return x[RUNS / 2];
}

static void empty(uint64_t tasks, int runs)
{
    struct options o = {.executors = 64, .tasks = tasks / 64};
    double seconds[RUNS], cpu[RUNS];

    for (int i = 0; i < runs; i++) {
        seconds[i] = job(&o);
        cpu[i] = ended_s - started_s;
    }
    if (runs == RUNS)
        printf("{\"bench\":\"tasks-empty\",\"ours\":%.0f,\"unit\":\"tasks/s\",\"per_cpu_s\":%.0f,"
               "\"bound\":1000000,\"n\":%d}\n",
               (double)tasks / median(seconds), (double)tasks / median(cpu), RUNS);
}

/* CPU seconds per second inside tasks. */
static double price(const struct options *o)
{
    (void)job(o);
    return (ended_s - started_s) / (1e-9 * (double)atomic_load(&inside_ns));
}

static uint64_t steps_in(double seconds)
{
    enum { TRIED = 20000000 };
    double before = clock_s(CLOCK_THREAD_CPUTIME_ID);

    labour(TRIED);
    return (uint64_t)(seconds * TRIED / (clock_s(CLOCK_THREAD_CPUTIME_ID) - before));
}

static void cut(double task_s, bool clocks)
{
    enum { EXECUTORS = 16 };
    static const double WORK_S = 0.4; /* of a run */
    uint64_t steps = steps_in(task_s), tasks = (uint64_t)(WORK_S / task_s / EXECUTORS);
    struct options whole = {1, tasks, EXECUTORS * steps, clocks};
    struct options parts = {EXECUTORS, tasks, steps, clocks};
    double one[RUNS], many[RUNS];

    for (int i = 0; i < RUNS; i++) {
        one[i] = price(&whole);
        many[i] = price(&parts);
    }
    double ours = median(many), peer = median(one);
    printf("{\"bench\":\"tasks-cut\",\"task_us\":%.0f,\"clocks\":%s,\"ours\":%.4f,\"peer\":%.4f,"
           "\"ratio\":%.4f,\"bound\":1.02,\"unit\":\"CPU s per CPU s in tasks\",\"n\":%d}\n",
           1e6 * task_s, clocks ? "true" : "false", ours, peer, ours / peer, RUNS);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const double TASK_S[] = {100e-6, 300e-6, 1000e-6};

    if (argc == 2 && strcmp(argv[1], "empty") == 0)
        empty(1000000, RUNS);
    else if (argc == 3 && strcmp(argv[1], "empty") == 0)
        empty(strtoull(argv[2], NULL, 10), 1);
    else if (argc == 2 && strcmp(argv[1], "cut") == 0)
        for (int i = 0; i < 6; i++)
            cut(TASK_S[i / 2], i % 2);
    else
        return fprintf(stderr, "usage: bench_tasks empty [TASKS]|cut\n"), 2;
    return 0;
}
