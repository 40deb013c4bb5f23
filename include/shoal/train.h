/* train.h - applications that grow and shrink while they run and lose nothing when workers die.
 *
 * An application is a `shoal_app`: a driver part and a task. The driver part runs in one process,
 * reads the data once (`plan`), cuts it into executors, declares tables, and dispatches micro-tasks;
 * it hears of each one's end (`done`) and decides what is next. A task runs on one executor, on
 * whatever worker that executor is at the moment. It reads the executor's data, its state and the
 * tables, and leaves a new state, increments to tables and a small result. All that a task leaves
 * takes effect at once and exactly once, or, when its worker dies, not at all: then it runs again.
 *
 * What a task sees:
 *   1. tasks of one executor run one at a time, in the order of their dispatch;
 *   2. a task dispatched after `done` was called for task A sees all of A's increments;
 *   3. with staleness s, a task of clock c sees every increment of clocks up to c - s - 1, and its
 *      executor's own; it is held back until they are there. s = 0 is bulk synchronous: increments
 *      of a clock become visible together when all executors have ended it, in an order that does
 *      not depend on workers, so results are equal bit for bit for any number of workers;
 *   4. increments are applied as soon as they may be, so most tasks see all there is (the staleness
 *      histogram says how many);
 *   5. each task's increments take effect exactly once, also when executors move and workers die.
 *
 * Threads: driver functions are called by the driver's thread from inside the hooks; task functions
 * by the thread that runs the task. A whole application is in examples/kmeans_app.c. */
#ifndef SHOAL_TRAIN_H
#define SHOAL_TRAIN_H

#include "shoal/env.h"
#include "shoal/opt.h"
#include "shoal/result.h"
#include "shoal/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shoal_driver shoal_driver; /* an application's hand on its job */
typedef struct shoal_task shoal_task;     /* a micro-task while it runs */
typedef struct shoal_model shoal_model;   /* what training leaves: named parts in a file */
typedef struct shoal_score shoal_score;   /* a model at work on data */

enum {
    SHOAL_TASK_ARG_MAX = 64,     /* bytes of an argument */
    SHOAL_TASK_RESULT_MAX = 256, /* bytes of a result */
    SHOAL_TABLES_MAX = 16
};

/* ---- the application ---- */

typedef struct shoal_done {
    uint32_t executor;
    uint32_t fn;
    uint64_t clock;
    const void *result; /* borrowed */
    size_t result_size;
} shoal_done;

/* Of an application whose options or data decide. */
#define SHOAL_STALENESS_PLANNED UINT32_MAX

typedef struct shoal_app {
    size_t struct_size;    /* sizeof(shoal_app); what a smaller one does not have is 0 */
    const char *name;      /* as in `shoal train NAME` */
    const char *summary;   /* one sentence without a full stop */
    const char *data;      /* what DATA is, one line */
    const char *objective; /* what the reported value is, such as "rmse"; less is better */
    const char *units;     /* what units_per_s counts, such as "ratings" */
    uint32_t staleness;    /* when nobody says otherwise; 0: bulk synchronous; or
                              SHOAL_STALENESS_PLANNED: plan sets it */
    /* Of what is in checkpoints: the driver's state, executors' states, tables, arguments of tasks. Add
     * 1 when any of them comes to mean something else: a checkpoint with another number is refused. */
    uint32_t state_version;
    const shoal_opt *opts; /* see opt.h; lists are not for applications */
    size_t opt_count;
    size_t options_size; /* of the struct that `offset` points into */
    size_t driver_size;  /* of the driver's own state: plain data without pointers, zeroed first;
                            it is kept in checkpoints */
    /* Reads the data, declares tables and executors, and fills blocks, states and first rows. Runs
     * again after a resume and must then do the same. */
    shoal_status (*plan)(shoal_driver *driver, shoal_err *err);
    /* Dispatches the first tasks. Not called after a resume. */
    shoal_status (*start)(shoal_driver *driver, shoal_err *err);
    /* A task has ended. Called once per task, in some order; ends of one executor in theirs. May
     * return SHOAL_AGAIN, having changed nothing (see shoal_driver_fresh): it is called again. */
    shoal_status (*done)(shoal_driver *driver, const shoal_done *done, shoal_err *err);
    /* Runs a task. Must depend on nothing but what the task functions give. */
    shoal_status (*run)(shoal_task *task, shoal_err *err);
    /* Puts what was learnt into a model. */
    shoal_status (*save)(shoal_driver *driver, shoal_model *model, shoal_err *err);
    /* Uses a model on data: lines for `shoal predict`, metrics for `shoal eval`. NULL: it cannot. */
    shoal_status (*score)(shoal_score *score, shoal_err *err);
    /* Says what was learnt, in lines for whoever started the job (shoal_driver_say). NULL: nothing. */
    shoal_status (*tell)(shoal_driver *driver, shoal_err *err);
    /* Shows what was learnt, as lists and pictures (shoal_driver_records, shoal_driver_picture): of the
     * job's page, and of its result. Called after `tell`, only where they are wanted. NULL: none. */
    shoal_status (*show)(shoal_driver *driver, shoal_err *err);
    const char *held_out; /* what shoal_driver_report_held_out is given, such as "perplexity"; NULL:
                             it is not called */
} shoal_app;

/* ---- the driver: in plan ---- */

SHOAL_API shoal_env *shoal_driver_env(shoal_driver *driver);
SHOAL_API const char *shoal_driver_path(const shoal_driver *driver);    /* DATA */
SHOAL_API const void *shoal_driver_options(const shoal_driver *driver); /* the struct of options */
SHOAL_API void *shoal_driver_state(shoal_driver *driver);               /* driver_size bytes */
SHOAL_API uint64_t shoal_driver_seed(const shoal_driver *driver);
SHOAL_API uint32_t shoal_driver_staleness(const shoal_driver *driver);
/* In plan, before executors and tables: the job's staleness, unless whoever started it has chosen
 * one; shoal_driver_staleness tells. It is 0 until then. */
SHOAL_API void shoal_driver_set_staleness(shoal_driver *driver, uint32_t staleness);
/* How many tasks can run at once now: threads of all workers; at least 1. */
SHOAL_API uint32_t shoal_driver_threads(const shoal_driver *driver);

/* Once, before blocks and states. Results depend on this count and never on workers: choose it from
 * the data, many times the threads one hopes for. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_driver_executors(shoal_driver *driver, uint32_t count,
                                                             shoal_err *err);
/* The executor's data: filled in plan, never changed after. Zeroed, aligned to 64. NULL: no memory */
SHOAL_API void *shoal_driver_block(shoal_driver *driver, uint32_t executor, size_t size);
/* The executor's first state, to be filled in plan. Zeroed, aligned to 64. */
SHOAL_API void *shoal_driver_executor_state(shoal_driver *driver, uint32_t executor, size_t size);

typedef struct shoal_table_opts {
    size_t struct_size; /* set by SHOAL_TABLE_OPTS_INIT */
    const char *name;   /* in models, checkpoints and `shoal top` */
    uint64_t rows;
    uint32_t width;  /* floats in a row */
    uint32_t shards; /* ranges of rows that are locked and moved as one; 0: chosen */
    bool held;       /* tasks hold shards and write them in place; no increments then */
    /* Held tables: the first row of each shard, then the number of rows (shards + 1), where shards are
     * not alike; a shard may have none. NULL: they are. Borrowed during the call. */
    const uint64_t *shard_first;
} shoal_table_opts;
#define SHOAL_TABLE_OPTS_INIT                                           \
    {                                                                   \
        sizeof(shoal_table_opts), NULL, 0, 1, 0, 0 /* not held */, NULL \
    }
/* The first table is 0, the next 1, ... */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_driver_table(shoal_driver *driver,
                                                         const shoal_table_opts *opts,
                                                         shoal_err *err);
/* SHOAL_OK: tables hold the increments of all ended tasks that may be visible. SHOAL_AGAIN: some are
 * being changed just now; a hook that wants to read them returns that. Ask before reading. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_driver_fresh(shoal_driver *driver);
/* A shard's rows: to be filled in plan, to be read in the other hooks. In a bulk synchronous job the
 * driver may also change them in `done` between two clocks, when no task is out; therefore all rows
 * asked for there are sent to workers on other machines again. */
SHOAL_API float *shoal_driver_shard(shoal_driver *driver, uint32_t table, uint32_t shard,
                                    uint64_t *out_first, uint64_t *out_count);
/* All rows of a table that is not held. */
SHOAL_API float *shoal_driver_rows(shoal_driver *driver, uint32_t table);
/* The same for who only reads: nothing is sent again because of it. */
SHOAL_API const float *shoal_driver_shard_read(const shoal_driver *driver, uint32_t table,
                                               uint32_t shard, uint64_t *out_first,
                                               uint64_t *out_count);
SHOAL_API const float *shoal_driver_rows_read(const shoal_driver *driver, uint32_t table);
/* The executor's data, after plan. */
SHOAL_API const void *shoal_driver_block_read(const shoal_driver *driver, uint32_t executor,
                                              size_t *out_size);
/* The executor's state as its last ended task left it. */
SHOAL_API const void *shoal_driver_executor_read(const shoal_driver *driver, uint32_t executor,
                                                 size_t *out_size);

/* ---- the driver: in start and done ---- */

typedef struct shoal_dispatch {
    size_t struct_size; /* sizeof(shoal_dispatch), as by SHOAL_DISPATCH_INIT */
    uint32_t executor;
    uint32_t fn; /* which of the application's tasks; up to the application */
    uint64_t clock;
    bool ends_clock; /* the executor's last task of this clock */
    bool holds;      /* writes `hold_shard` of the table `hold_table` in place */
    uint32_t hold_table, hold_shard;
    /* Holds `hold_count` shards, hold_shard and every hold_step-th after it; 0: that one. */
    uint32_t hold_count, hold_step;
    bool hold_whole; /* writes every row of them: they need not begin as what they were */
    const void *arg;
    size_t arg_size; /* up to SHOAL_TASK_ARG_MAX */
    /* Tables that it does not read, a bit each: on another machine their rows need not be fresh, and
     * nothing is sent for them. */
    uint32_t unread;
} shoal_dispatch;
#define SHOAL_DISPATCH_INIT                                                              \
    {                                                                                    \
        sizeof(shoal_dispatch), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 /* not whole */, NULL, 0, 0 \
    }
/* Queues a task for its executor. Clocks of an executor do not go down. In bulk synchronous jobs an
 * executor makes increments in one task of a clock only. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_driver_dispatch(shoal_driver *driver,
                                                            const shoal_dispatch *task,
                                                            shoal_err *err);
/* One task of each executor, all alike, each the last of its clock. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_driver_dispatch_all(shoal_driver *driver, uint32_t fn,
                                                                uint64_t clock, shoal_err *err);
/* For the progress line and the closing object: the objective now (NAN: not known), how much of the
 * work is done (0 to 1; NAN: not known), units of work since the last call. */
SHOAL_API void shoal_driver_report(shoal_driver *driver, double value, double progress,
                                   uint64_t units);
/* The same on data that is not trained on, as the application measures it: less is better. Before the
 * shoal_driver_report of that moment, with which it goes into curves. */
SHOAL_API void shoal_driver_report_held_out(shoal_driver *driver, double value);
/* How many iterations are done since the job began, in the application's own sense: passes, epochs, steps. */
SHOAL_API void shoal_driver_iterations(shoal_driver *driver, uint64_t done);
/* Memory that the driver part has from one hook to the next beside its state; it is not in checkpoints.
 * What was kept before is dropped first, the last at the end of the job; drop NULL: not by Shoal. */
SHOAL_API void shoal_driver_keep(shoal_driver *driver, void *memory, void (*drop)(void *memory));
SHOAL_API void *shoal_driver_kept(const shoal_driver *driver); /* NULL: nothing is */
/* In `tell`: a line, without its end. */
SHOAL_API void shoal_driver_say(shoal_driver *driver, const char *line);
/* In `tell`: what was chosen for an option that was left open, in the words that would give it. */
SHOAL_API void shoal_driver_setting(shoal_driver *driver, const char *key, const char *value);
/* In `show`: a list, which pages show as a table under the title of its schema, and JSON has below
 * `learnt` under its name; and a picture. They stand on a page in the order in which they come, those of
 * the job itself (its objective over time, its workers) behind the first list. All is copied but the
 * schema with its fields, which must stay. Records have numbers and texts, and no records in them.
 * SHOAL_E_INVAL: not in `show`, or a name that another one has; SHOAL_E_LIMIT: more than 16. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_driver_records(shoal_driver *driver,
                                                           const shoal_schema *schema,
                                                           const shoal_records *records,
                                                           shoal_err *err);
SHOAL_API SHOAL_MUST_USE shoal_status shoal_driver_picture(shoal_driver *driver,
                                                           const shoal_picture *picture,
                                                           shoal_err *err);
/* Why an application stopped. The first two count as converged, the next two do not. */
typedef enum shoal_stop {
    SHOAL_STOP_UNSAID,    /* the application does not say */
    SHOAL_STOP_TOLERANCE, /* the objective is as close to its minimum as was asked for */
    SHOAL_STOP_HELD_OUT,  /* the error on held-out data no longer falls; the best model is kept */
    SHOAL_STOP_LIMIT,     /* the limit on iterations came first */
    SHOAL_STOP_STALLED,   /* no step lowers the objective any more, short of the tolerance */
    SHOAL_STOP_SCHEDULE   /* all iterations asked for are done, and convergence is not defined */
} shoal_stop;
/* Before shoal_driver_finish: why the job stops. gap: (objective - minimum) / |objective| is at most
 * this, proven by the application; NAN: not known. */
SHOAL_API void shoal_driver_stopped(shoal_driver *driver, shoal_stop why, double gap);
/* The job ends when no task is left; what is still queued but has not begun is dropped. */
SHOAL_API void shoal_driver_finish(shoal_driver *driver);

/* ---- a task ---- */

SHOAL_API const void *shoal_task_options(const shoal_task *task);
SHOAL_API uint32_t shoal_task_executor(const shoal_task *task);
SHOAL_API uint32_t shoal_task_fn(const shoal_task *task);
SHOAL_API uint64_t shoal_task_clock(const shoal_task *task);
SHOAL_API const void *shoal_task_arg(const shoal_task *task, size_t *out_size);
SHOAL_API const void *shoal_task_data(const shoal_task *task, size_t *out_size);
/* The state as the last task left it, read only. */
SHOAL_API const void *shoal_task_state(const shoal_task *task, size_t *out_size);
/* The state this task leaves, to be written whole; a task that does not call it leaves the state as
 * it was. `copied`: it begins as a copy of the last one. */
SHOAL_API void *shoal_task_new_state(shoal_task *task, bool copied);
/* Rows of a table; the pointer holds until the task ends. Others may add to them meanwhile, unless
 * the job is bulk synchronous. */
SHOAL_API const float *shoal_task_rows(const shoal_task *task, uint32_t table);
SHOAL_API const float *shoal_task_shard(const shoal_task *task, uint32_t table, uint32_t shard,
                                        uint64_t *out_first, uint64_t *out_count);
/* The shard this task holds, to be changed in place. */
SHOAL_API float *shoal_task_held(shoal_task *task, uint64_t *out_first, uint64_t *out_count);
/* Of several: the index-th, and what it was before this task. NULL: it holds no so many. */
SHOAL_API float *shoal_task_held_at(shoal_task *task, uint32_t index, const float **out_before,
                                    uint64_t *out_first, uint64_t *out_count);
/* Adds x (width floats) to a row. NULL-safe failures stick: memory that is short ends the task. */
SHOAL_API void shoal_task_add(shoal_task *task, uint32_t table, uint64_t row, const float *x);
/* Increments of the whole table, zeroed, to be filled. NULL when memory is short (sticks). */
SHOAL_API float *shoal_task_add_all(shoal_task *task, uint32_t table);
/* Adds u v' to the table, rows x width: u has a number for each row, v `count` entries of a row. */
SHOAL_API void shoal_task_add_factor(shoal_task *task, uint32_t table, const float *u,
                                     const uint32_t *v_index, const float *v_value, uint32_t count);
/* Memory of the thread, aligned to 64, for the task to use as it likes: all 0, or what the thread's last
 * task left. NULL: there is not as much. */
SHOAL_API void *shoal_task_scratch(shoal_task *task, size_t size);
/* A random stream of its own for each executor and task, wherever it runs. */
SHOAL_API uint64_t shoal_task_random(shoal_task *task);
SHOAL_API void shoal_task_result(shoal_task *task, const void *bytes, size_t size);

/* ---- models ---- */

SHOAL_API SHOAL_MUST_USE shoal_status shoal_model_put(shoal_model *model, const char *part,
                                                      const void *bytes, size_t size,
                                                      shoal_err *err);
/* Borrowed until the model is freed. SHOAL_E_NOTFOUND when there is no such part. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_model_get(const shoal_model *model, const char *part,
                                                      const void **out_bytes, size_t *out_size,
                                                      shoal_err *err);
SHOAL_API SHOAL_MUST_USE shoal_status shoal_model_open(shoal_env *env, const char *path,
                                                       shoal_model **out_model, shoal_err *err);
SHOAL_API const char *shoal_model_app(const shoal_model *model);
SHOAL_API void shoal_model_free(shoal_model *model); /* NULL is allowed */

SHOAL_API shoal_env *shoal_score_env(shoal_score *score);
SHOAL_API const shoal_model *shoal_score_model(const shoal_score *score);
SHOAL_API const void *shoal_score_options(const shoal_score *score); /* those it was trained with */
SHOAL_API const char *shoal_score_path(const shoal_score *score);    /* DATA */
SHOAL_API bool shoal_score_wants_lines(const shoal_score *score);    /* false: metrics only */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_score_line(shoal_score *score, const char *line,
                                                       shoal_err *err);
/* Now and then: so many rows of `total` are done. Another status than SHOAL_OK: whoever asked wants no more; return
 * it. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_score_count(shoal_score *score, uint64_t done,
                                                        uint64_t total, shoal_err *err);
/* NAN: not known, for want of anything to judge by. */
SHOAL_API void shoal_score_metric(shoal_score *score, const char *name, double value);

/* What the result of a job has, besides the lists of its application. */
SHOAL_API const shoal_schema *shoal_train_schema(void);

/* ---- applications outside the tree ---- */

/* What a shared object exports so that `shoal train ./kmeans.so DATA` can run it. */
typedef const shoal_app *shoal_app_export_fn(void);
#define SHOAL_APP_EXPORT "shoal_app_export"

#ifdef __cplusplus
}
#endif
#endif
