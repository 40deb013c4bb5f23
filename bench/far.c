/* far.c - table rows to and from a worker that has joined over TCP.
 *
 *     bench_far [SECONDS [ROWS [push|both]]]   increments of rows, and rows back
 *     bench_far bound [SECONDS [ROWS]]         what no program could do better over TCP
 *     bench_far factors [CLASSES FEATURES]     bytes of updates that are outer products
 *
 * Rows: a driver without workers of its own and one joined worker of one thread, two processes on
 * loopback. A table of 262,144 rows of 100 floats; a task adds to as many random rows as the line
 * says, one of 256 sets drawn before, on as many executors as keep some 1 MB on their way. `push`:
 * tasks do not read the table, so increments go one way. `both`: they do, so every row that a task
 * changed comes back before a later task. At the end the table is checked. Seconds and CPU seconds
 * are those between a time for warming up and the last task; one JSON line each, medians of 5.
 *
 * Bound: as many bytes from one process to another over loopback, and nothing else (`pump`): nobody
 * who uses TCP does more. The same, and they are made row by row before and added to random rows of
 * as large a table after (`add`): what a plain program does without frames, checksums, tasks or
 * anything kept.
 *
 * Factors: multinomial regression's update, the sum of outer products of a dense vector (classes)
 * and a sparse one (features), 16 of them a task, bulk synchronous, 8 executors on 8 joined
 * workers. Bytes that came from the workers for a clock, what the factors' floats and indices are,
 * what whole tables would be; bytes of rows that went back, and what they would be as factors. An
 * executor that moves may take a table along, so clocks count while none does. */
#include "train/job.h"
#include "train/listing.h"

#include "base/assert.h"
#include "base/rand.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SETS = 256, WIDTH = 100, TABLE = 262144, AHEAD = 4, REPEATS = 5, WORKERS_MAX = 8 };
static const double WARM_S = 0.3;

static char listing[] = "/tmp/shoal-bench-far-XXXXXX";
static char **self;
static pid_t child[WORKERS_MAX];
static uint32_t child_count;

static double clock_s(clockid_t id)
{
    struct timespec t;

    shoal_assert(clock_gettime(id, &t) == 0);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now_s(void)
{
    return clock_s(CLOCK_MONOTONIC);
}

static double worker_cpu_s(void)
{
    clockid_t id;

    return clock_getcpuclockid(child[0], &id) == 0 ? clock_s(id) : 0;
}

/* ---- rows ---- */

struct rows_options {
    uint64_t rows, both;
};
struct rows_driver {
    uint64_t tasks, out, sent;
    uint32_t executors;
};

#define AT(member) offsetof(struct rows_options, member)

static const shoal_opt ROWS_OPTS[] = {
    {AT(rows), SHOAL_OPT_U64, "rows", 0, NULL, "1", "of a task", .min = 1, .max = TABLE},
    {AT(both), SHOAL_OPT_U64, "both", 0, NULL, "0", "tasks read", .max = 1},
};

/* The part of a run that is measured. */
static struct {
    double seconds; /* wanted */
    double began_s, warm_s, wall_s, cpu_driver_s, cpu_worker_s;
    uint64_t tasks;
    bool over;
} span;

/* Rises by a random step, so that all are different. */
static void draw(uint32_t *row, uint64_t count, struct base_rand *rand)
{
    uint64_t gap = TABLE / count, at = 0;

    for (uint64_t i = 0; i < count; i++, at += gap)
        row[i] = (uint32_t)(at + base_rand_below(rand, gap));
}

static shoal_status rows_plan(shoal_driver *driver, shoal_err *err)
{
    const struct rows_options *o = shoal_driver_options(driver);
    shoal_table_opts table = SHOAL_TABLE_OPTS_INIT;
    struct rows_driver *d = shoal_driver_state(driver);
    struct base_rand rand;

    d->executors = o->rows <= 4 ? SETS : o->rows <= 64 ? SETS / 4 : o->rows <= 1024 ? 16 : 4;
    uint32_t sets = SETS / d->executors;
    shoal_status st = shoal_driver_executors(driver, d->executors, err);
    table.name = "rows";
    table.rows = TABLE;
    table.width = WIDTH;
    base_rand_init(&rand, 1, "rows");
    for (uint32_t e = 0; e < d->executors && st == SHOAL_OK; e++) {
        uint32_t *row = shoal_driver_block(driver, e, sets * o->rows * sizeof *row);
        for (uint32_t i = 0; i < sets; i++)
            draw(row + i * o->rows, o->rows, &rand);
    }
    if (st == SHOAL_OK)
        st = shoal_driver_table(driver, &table, err);
    if (st == SHOAL_OK)
        memset(shoal_driver_rows(driver, 0), 0, (size_t)TABLE * WIDTH * sizeof(float));
    return st;
}

static shoal_status rows_dispatch(shoal_driver *driver, uint32_t executor, shoal_err *err)
{
    const struct rows_options *o = shoal_driver_options(driver);
    struct rows_driver *d = shoal_driver_state(driver);
    uint64_t set = d->sent++ / d->executors % (SETS / d->executors);
    shoal_dispatch task = {.struct_size = sizeof task,
                           .executor = executor,
                           .unread = o->both ? 0 : 1,
                           .arg = &set,
                           .arg_size = sizeof set};

    d->out++;
    return shoal_driver_dispatch(driver, &task, err);
}

static shoal_status rows_start(shoal_driver *driver, shoal_err *err)
{
    const struct rows_driver *d = shoal_driver_state(driver);
    uint32_t executors = d->executors;
    shoal_status st = SHOAL_OK;

    for (uint32_t i = 0; i < AHEAD * executors && st == SHOAL_OK; i++)
        st = rows_dispatch(driver, i % executors, err);
    return st;
}

static void span_look(uint64_t tasks)
{
    double now = now_s();

    if (span.began_s == 0)
        span.began_s = now;
    if (span.warm_s == 0 && now - span.began_s >= WARM_S) {
        span.warm_s = now;
        span.cpu_driver_s = -clock_s(CLOCK_PROCESS_CPUTIME_ID);
        span.cpu_worker_s = -worker_cpu_s();
        span.tasks = 0;
    }
    span.tasks += tasks;
    if (span.warm_s == 0 || span.over || now - span.warm_s < span.seconds)
        return;
    span.over = true;
    span.wall_s = now - span.warm_s;
    span.cpu_driver_s += clock_s(CLOCK_PROCESS_CPUTIME_ID);
    span.cpu_worker_s += worker_cpu_s();
}

static shoal_status rows_done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    struct rows_driver *d = shoal_driver_state(driver);

    d->out--;
    if (++d->tasks % 16 == 0)
        span_look(16);
    if (!span.over)
        return rows_dispatch(driver, done->executor, err);
    if (d->out > 0)
        return SHOAL_OK;
    if (shoal_driver_fresh(driver) != SHOAL_OK) {
        d->out++, d->tasks--;
        return SHOAL_AGAIN;
    }
    const float *table = shoal_driver_rows_read(driver, 0);
    double sum = 0;
    for (size_t i = 0; i < TABLE; i++)
        sum += (double)table[i * WIDTH + WIDTH - 1];
    shoal_assert(
        sum ==
        (double)(d->tasks * ((const struct rows_options *)shoal_driver_options(driver))->rows));
    shoal_driver_finish(driver);
    return SHOAL_OK;
}

static shoal_status rows_run(shoal_task *task, shoal_err *err)
{
    static const float ONES[WIDTH] = {[0 ... WIDTH - 1] = 1};
    const struct rows_options *o = shoal_task_options(task);
    size_t size;
    uint64_t set;

    (void)err;
    memcpy(&set, shoal_task_arg(task, &size), sizeof set);
    const uint32_t *row = (const uint32_t *)shoal_task_data(task, &size) + set * o->rows;
    for (size_t i = 0; i < o->rows; i++)
        shoal_task_add(task, 0, row[i], ONES);
    return SHOAL_OK;
}

static const shoal_app ROWS = {.struct_size = sizeof ROWS,
                               .name = "rows",
                               .objective = "none",
                               .units = "rows",
                               .opts = ROWS_OPTS,
                               .opt_count = 2,
                               .options_size = sizeof(struct rows_options),
                               .driver_size = sizeof(struct rows_driver),
                               .plan = rows_plan,
                               .start = rows_start,
                               .done = rows_done,
                               .run = rows_run};

/* ---- the bound ---- */

enum { ROW_SIZE = (WIDTH + 1) * sizeof(float), SLOTS = 8, CHUNK = 256 << 10 };

/* Messages of rows, their numbers in front, from a few places in turn. */
static void pump_out(int to, uint64_t rows, bool adds, double seconds)
{
    size_t size = rows * ROW_SIZE;
    char *slot = calloc(SLOTS, size);
    float ones[WIDTH];
    struct base_rand rand;
    double began = now_s();

    shoal_assert(slot != NULL);
    for (int i = 0; i < WIDTH; i++)
        ones[i] = 1;
    base_rand_init(&rand, 1, "rows");
    for (int i = 0; i < SLOTS; i++)
        draw((uint32_t *)(void *)(slot + (size_t)i * size), rows, &rand);
    for (uint64_t n = 0; now_s() - began < seconds; n++) {
        char *at = slot + n % SLOTS * size;
        for (uint64_t i = 0; adds && i < rows; i++)
            memcpy(at + rows * sizeof(uint32_t) + i * sizeof ones, ones, sizeof ones);
        for (size_t sent = 0; sent < size;) {
            ssize_t k = send(to, at + sent, size - sent, MSG_NOSIGNAL);
            if (k <= 0)
                return;
            sent += (size_t)k;
        }
    }
}

static void add_row(float *restrict to, const float *restrict x)
{
    typedef float lanes __attribute__((vector_size(16), aligned(4)));

    for (int k = 0; k < WIDTH; k += 4)
        *(lanes *)(to + k) += *(const lanes *)(x + k);
}

static void add_rows(float *table, const char *message, uint64_t rows)
{
    const uint32_t *row = (const uint32_t *)(const void *)message;
    const float *x = (const float *)(const void *)(row + rows);

    for (uint64_t i = 0; i < rows; i++) {
        const float *next = table + (size_t)row[i + 8 < rows ? i + 8 : i] * WIDTH;
        for (int k = 0; k < WIDTH; k += 16)
            __builtin_prefetch(next + k, 1);
        add_row(table + (size_t)row[i] * WIDTH, x + i * WIDTH);
    }
}

static uint64_t pump_in(int from, uint64_t rows, float *table)
{
    size_t size = rows * ROW_SIZE, have = 0;
    uint64_t total = 0;
    char *message = malloc(size);

    shoal_assert(message != NULL);
    for (;;) {
        ssize_t k = recv(from, message + have, size - have < CHUNK ? size - have : CHUNK, 0);
        if (k <= 0)
            break;
        have += (size_t)k;
        total += (uint64_t)k;
        if (have < size)
            continue;
        have = 0;
        if (table != NULL)
            add_rows(table, message, rows);
    }
    free(message);
    return total;
}

/* Both ends of a connection over loopback. */
static void pair_open(int end[2])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    const int on = 1;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    end[0] = socket(AF_INET, SOCK_STREAM, 0);
    shoal_assert(bind(listener, (struct sockaddr *)&a, size) == 0 && listen(listener, 1) == 0 &&
                 getsockname(listener, (struct sockaddr *)&a, &size) == 0 &&
                 connect(end[0], (struct sockaddr *)&a, size) == 0);
    end[1] = accept(listener, NULL, NULL);
    shoal_assert(end[1] >= 0 && setsockopt(end[0], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
    close(listener);
}

/* A table as a job's is: of memory that processes can share. */
static float *table_open(void)
{
    size_t size = (size_t)TABLE * WIDTH * sizeof(float);
    void *table = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    shoal_assert(table != MAP_FAILED);
    memset(table, 0, size);
    return table;
}

/* Bytes per CPU second of both processes together; nanoseconds of each for a row. */
static double pump_once(uint64_t rows, float *table, double seconds, double out_ns[2])
{
    struct rusage usage;
    int end[2], status;

    pair_open(end);
    pid_t sender = fork();
    if (sender == 0) {
        close(end[1]);
        pump_out(end[0], rows, table != NULL, seconds);
        _exit(0);
    }
    close(end[0]);
    double cpu = -clock_s(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t total = pump_in(end[1], rows, table);
    cpu += clock_s(CLOCK_PROCESS_CPUTIME_ID);
    close(end[1]);
    shoal_assert(wait4(sender, &status, 0, &usage) == sender && status == 0);
    double sender_cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                        1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    out_ns[0] = 1e9 * sender_cpu * ROW_SIZE / (double)total;
    out_ns[1] = 1e9 * cpu * ROW_SIZE / (double)total;
    return (double)total / (cpu + sender_cpu);
}

static double median(double *values);

static void measure_bound(uint64_t rows, double seconds)
{
    float *table = table_open();
    double rate[REPEATS], ns[2];

    for (int adds = 0; adds <= 1; adds++) {
        for (int i = 0; i < REPEATS; i++)
            rate[i] = pump_once(rows, adds ? table : NULL, seconds, ns);
        printf("{\"bench\":\"far-bound\",\"op\":\"%s\",\"rows_per_message\":%llu,"
               "\"per_cpu_s\":%.0f,\"unit\":\"rows\",\"bytes_per_cpu_s\":%.0f,\"sender_us\":%.3f,"
               "\"receiver_us\":%.3f,\"n\":%d}\n",
               adds ? "add" : "pump", (unsigned long long)rows, median(rate) / ROW_SIZE,
               median(rate), 1e-3 * ns[0], 1e-3 * ns[1], REPEATS);
        fflush(stdout);
    }
    munmap(table, (size_t)TABLE * WIDTH * sizeof(float));
}

/* ---- factors ---- */

enum {
    CLASSES_MAX = 1 << 16,
    PRESENT = 100,
    BATCH = 16,
    FIRST_CLOCKS = 3,
    CLOCKS = 10,
    MOVED_MAX = 20
};

struct factors_options {
    uint64_t classes, features, dense;
};
struct factors_driver {
    uint64_t ended, clocks; /* clocks: with updates */
    uint64_t begun, moves, again;
};
enum { FACTORS_UPDATE, FACTORS_WAIT };

/* What had gone over the line before the clocks that count: the first rows go whole. */
static const struct train_master *running;
static struct train_stats before;

#undef AT
#define AT(member) offsetof(struct factors_options, member)

static const shoal_opt FACTORS_OPTS[] = {
    {AT(classes), SHOAL_OPT_U64, "classes", 0, NULL, "1", "rows", .min = 1, .max = CLASSES_MAX},
    {AT(features), SHOAL_OPT_U64, "features", 0, NULL, "100", "columns", .min = PRESENT,
     .max = 1e6},
    {AT(dense), SHOAL_OPT_U64, "dense", 0, NULL, "0", "whole tables instead", .max = 1},
};

static shoal_status factors_plan(shoal_driver *driver, shoal_err *err)
{
    const struct factors_options *o = shoal_driver_options(driver);
    shoal_table_opts table = SHOAL_TABLE_OPTS_INIT;
    shoal_status st = shoal_driver_executors(driver, WORKERS_MAX, err);

    table.name = "weights";
    table.rows = o->classes;
    table.width = (uint32_t)o->features;
    return st == SHOAL_OK ? shoal_driver_table(driver, &table, err) : st;
}

/* Whether every worker has an executor: none moves from there. */
static bool each_has_one(void)
{
    struct train_worker_info info;
    uint32_t count = 0;

    for (uint32_t i = 0; train_master_worker(running, i, &info) == SHOAL_OK; i++)
        count += info.executors == 1;
    return count == WORKERS_MAX;
}

/* Clocks of nothing until all workers are there: a clock of updates keeps the driver's loop and each
 * worker's busy for as long as a whole table takes, and who joins then waits in vain. */
static shoal_status factors_clock(shoal_driver *driver, uint64_t clock, shoal_err *err)
{
    const struct factors_driver *d = shoal_driver_state(driver);
    shoal_dispatch task = {.struct_size = sizeof task,
                           .fn = d->begun ? FACTORS_UPDATE : FACTORS_WAIT,
                           .clock = clock,
                           .ends_clock = true,
                           .unread = d->begun ? 0 : 1};
    shoal_status st = SHOAL_OK;

    for (; task.executor < WORKERS_MAX && st == SHOAL_OK; task.executor++)
        st = shoal_driver_dispatch(driver, &task, err);
    return st;
}

static bool has_moved(struct factors_driver *d)
{
    uint64_t moves = d->moves;

    d->moves = train_master_stats(running).moves;
    return d->moves != moves;
}

static shoal_status factors_start(shoal_driver *driver, shoal_err *err)
{
    return factors_clock(driver, 0, err);
}

static shoal_status factors_done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    struct factors_driver *d = shoal_driver_state(driver);

    if (++d->ended % WORKERS_MAX != 0)
        return SHOAL_OK;
    d->clocks += d->begun;
    d->begun = d->begun || each_has_one();
    if (has_moved(d) && d->again++ < MOVED_MAX)
        d->clocks = 0;
    if (d->clocks == FIRST_CLOCKS)
        before = train_master_stats(running);
    if (d->clocks < FIRST_CLOCKS + CLOCKS)
        return factors_clock(driver, done->clock + 1, err);
    shoal_driver_finish(driver);
    return SHOAL_OK;
}

static shoal_status factors_run(shoal_task *task, shoal_err *err)
{
    const struct factors_options *o = shoal_task_options(task);
    static float u[CLASSES_MAX]; /* a worker has one thread */
    float value[PRESENT];
    uint32_t index[PRESENT], gap = (uint32_t)o->features / PRESENT;

    (void)err;
    if (shoal_task_fn(task) == FACTORS_WAIT)
        return SHOAL_OK;
    if (o->dense) {
        float *all = shoal_task_add_all(task, 0);
        for (size_t i = 0; all != NULL && i < o->classes * o->features; i++)
            all[i] = 1;
        return SHOAL_OK;
    }
    for (int b = 0; b < BATCH; b++) {
        for (uint32_t i = 0; i < o->classes; i++)
            u[i] = (float)(shoal_task_random(task) % 1000) / 1000;
        for (uint32_t i = 0; i < PRESENT; i++) {
            index[i] = i * gap + (uint32_t)(shoal_task_random(task) % gap);
            value[i] = 1;
        }
        shoal_task_add_factor(task, 0, u, index, value, PRESENT);
    }
    return SHOAL_OK;
}

static const shoal_app FACTORS = {.struct_size = sizeof FACTORS,
                                  .name = "factors",
                                  .objective = "none",
                                  .units = "samples",
                                  .opts = FACTORS_OPTS,
                                  .opt_count = 3,
                                  .options_size = sizeof(struct factors_options),
                                  .driver_size = sizeof(struct factors_driver),
                                  .plan = factors_plan,
                                  .start = factors_start,
                                  .done = factors_done,
                                  .run = factors_run};

/* ---- processes ---- */

static const shoal_app *find_app(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, ROWS.name) == 0 ? &ROWS : strcmp(name, FACTORS.name) == 0 ? &FACTORS : NULL;
}

/* worker LISTING */
static int worker_main(const char *path)
{
    struct train_work_opts opts = {
        .threads = 1, .pid = getpid(), .host = "far", .segment = -1, .find = find_app};
    struct train_listing job;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_env *env;

    if (shoal_env_real_new(&env, &err) != SHOAL_OK ||
        train_listing_load(env, path, &job, &err) != SHOAL_OK)
        return 1;
    opts.address = job.address;
    opts.key = job.key;
    int rc = train_work_run(env, &opts, &err) == SHOAL_OK ? 0 : 1;
    if (rc != 0)
        fprintf(stderr, "bench_far: worker: %s\n", err.message);
    shoal_env_free(env);
    return rc;
}

/* At the first tick the job is listed, and its workers start. */
static bool tick(void *ctx, const struct train_master *master)
{
    const uint32_t *workers = ctx;

    running = master;
    for (; child_count < *workers; child_count++) {
        child[child_count] = fork();
        if (child[child_count] == 0) {
            execv("/proc/self/exe", (char *[]){self[0], "worker", listing, NULL});
            _exit(127);
        }
    }
    return true;
}

static struct train_job_result job(const shoal_app *app, const char *settings, uint32_t workers,
                                   uint32_t staleness)
{
    struct train_job_opts opts = TRAIN_JOB_OPTS_INIT;
    struct train_job_result result = {.seconds = 0};
    shoal_err err = SHOAL_ERR_INIT;
    shoal_env *env;

    opts.app = app;
    opts.name = "far";
    opts.path = "none";
    opts.settings = settings;
    opts.workers = 0;
    opts.staleness = staleness;
    opts.memory_max = (size_t)16 << 30;
    opts.pid = getpid();
    opts.listing = listing;
    opts.tick = tick;
    opts.ctx = &workers;
    child_count = 0;
    shoal_status st = shoal_env_real_new(&env, &err);
    if (st == SHOAL_OK)
        st = train_job_run(env, &opts, &result, &err);
    for (uint32_t i = 0; i < child_count; i++) {
        int status = 0;
        if (st != SHOAL_OK)
            kill(child[i], SIGKILL);
        if (waitpid(child[i], &status, 0) != child[i] || (st == SHOAL_OK && status != 0))
            fprintf(stderr, "bench_far: a worker ended with %d\n", status);
    }
    if (st != SHOAL_OK) {
        fprintf(stderr, "bench_far: %s\n", err.message);
        unlink(listing);
        exit(1);
    }
    shoal_env_free(env);
    return result;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, REPEATS, sizeof *values, by_size);
    return values[REPEATS / 2];
}

static void measure_rows(uint64_t rows, bool both, double seconds)
{
    double rate[REPEATS], per_cpu[REPEATS], driver[REPEATS], worker[REPEATS];
    char settings[64];

    snprintf(settings, sizeof settings, "rows=%llu\nboth=%d", (unsigned long long)rows, both);
    for (int i = 0; i < REPEATS; i++) {
        memset(&span, 0, sizeof span);
        span.seconds = seconds;
        job(&ROWS, settings, 1, 1);
        double count = (double)(span.tasks * rows);
        rate[i] = count / span.wall_s;
        per_cpu[i] = count / (span.cpu_driver_s + span.cpu_worker_s);
        driver[i] = 1e6 * span.cpu_driver_s / count;
        worker[i] = 1e6 * span.cpu_worker_s / count;
    }
    printf("{\"bench\":\"far\",\"op\":\"%s\",\"rows_per_task\":%llu,\"ours\":%.0f,"
           "\"unit\":\"rows/s\",\"per_cpu_s\":%.0f,\"driver_us\":%.3f,\"worker_us\":%.3f,"
           "\"n\":%d}\n",
           both ? "both" : "push", (unsigned long long)rows, median(rate), median(per_cpu),
           median(driver), median(worker), REPEATS);
    fflush(stdout);
}

/* What a clock costs, without the first ones. */
static void measure_factors(uint64_t classes, uint64_t features, bool dense)
{
    char settings[96];
    double factor = BATCH * (4.0 * (double)classes + 8.0 * PRESENT);
    double table = 4.0 * (double)classes * (double)features;

    snprintf(settings, sizeof settings, "classes=%llu\nfeatures=%llu\ndense=%d",
             (unsigned long long)classes, (unsigned long long)features, dense);
    struct train_stats after = job(&FACTORS, settings, WORKERS_MAX, 0).stats;
    printf("{\"bench\":\"far-%s\",\"ours\":%.0f,\"unit\":\"bytes of commits/clock\","
           "\"formula\":%.0f,\"whole_tables\":%.0f,\"rows\":%.0f,\"rows_as_factors\":%.0f,"
           "\"classes\":%llu,\"features\":%llu,\"workers\":%d}\n",
           dense ? "dense" : "factors", (double)(after.commit_bytes - before.commit_bytes) / CLOCKS,
           WORKERS_MAX * (dense ? table : factor), WORKERS_MAX * table,
           (double)(after.row_bytes - before.row_bytes) / CLOCKS,
           WORKERS_MAX * (WORKERS_MAX - 1) * factor, (unsigned long long)classes,
           (unsigned long long)features, WORKERS_MAX);
    fflush(stdout);
}

/* Whole tables only where they are small. */
static void measure_updates(uint64_t classes, uint64_t features)
{
    measure_factors(classes, features, false);
    if (classes * features <= 4 << 20)
        measure_factors(classes, features, true);
}

int main(int argc, char **argv)
{
    bool bound = argc > 1 && strcmp(argv[1], "bound") == 0;

    self = argv;
    if (argc == 3 && strcmp(argv[1], "worker") == 0)
        return worker_main(argv[2]);
    argv += bound;
    argc -= bound;
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
    int file = mkstemp(listing);
    shoal_assert(file >= 0);
    close(file);
    if (argc > 1 && strcmp(argv[1], "factors") == 0) {
        measure_updates(argc > 3 ? strtoull(argv[2], NULL, 10) : 1000,
                        argc > 3 ? strtoull(argv[3], NULL, 10) : 2000);
        unlink(listing);
        return 0;
    }
    uint64_t only = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    for (uint64_t rows = only > 0 ? only : 1; rows <= (only > 0 ? only : 4096); rows *= 16) {
        if (bound) {
            measure_bound(rows, seconds > 0 ? seconds : 1);
            continue;
        }
        for (int both = 0; both <= 1; both++)
            if (argc <= 3 || strcmp(argv[3], both ? "both" : "push") == 0)
                measure_rows(rows, both, seconds > 0 ? seconds : 1);
    }
    unlink(listing);
    return 0;
}
