/* job.h - training as a call: a driver in this program, workers as processes that come and go.
 *
 *     shoal_job_opts opts;
 *     shoal_job_opts_init(&opts);
 *     opts.workers = 2;
 *     opts.model = "model.shoal";
 *     if (shoal_job_start(env, "logreg", "data.svm", &opts, NULL, &job, &err) == SHOAL_OK &&
 *         shoal_job_wait(job, INFINITY, &err) == SHOAL_OK)
 *         printf("%g\n", shoal_result_number(shoal_job_result(job), 0, "value"));
 *     shoal_job_free(job);
 *
 * Nothing is printed, and no thread is started for the driver: the job goes on inside shoal_job_wait, on the
 * thread that calls it. So an application's hooks and the callback run where the caller expects them, nothing
 * needs a lock, and a program with a loop of its own gives the job its turns (a timeout of 0: what can be done
 * at once). Between two waits workers end the tasks they have, and then have nothing to do; call it often. A
 * pause of minutes looks to them as if this process had been stopped.
 *
 * One thread starts, waits, reads and frees: the kernel ends the workers when it ends. Any thread may call
 * shoal_job_scale, shoal_job_stop and shoal_watch_stop, before the job is freed. A process may have several jobs,
 * each with an owner thread. Real env only. `shoal jobs`, `top`, `scale`, `drain` and `join` see the job as one
 * that `shoal train` runs, while it is waited for. */
#ifndef SHOAL_JOB_H
#define SHOAL_JOB_H

#include "shoal/env.h"
#include "shoal/opt.h"
#include "shoal/result.h"
#include "shoal/watch.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shoal_job shoal_job;

/* What each member means, its range and its default say the rows: `shoal train --help`. Strings need to live until
 * shoal_job_start returns. */
typedef struct shoal_job_opts {
    size_t struct_size; /* set by shoal_job_opts_init; lets the struct grow */
    uint64_t workers, threads, seed;
    const char *staleness, *model, *name, *listen;
    const char *checkpoint, *spill; /* spill: one folder for an env */
    /* A file that the caller writes at the end, such as the page of the result: it is checked with the others
     * before hours are spent, and what pages show is kept. */
    const char *report;
    double checkpoint_every_s, patience_s, stall_s;
    bool resume, tls;
    shoal_opt_list sets; /* "key=value", of the application */
    /* What workers run: the command `shoal`, of this version, by its path or its name in $PATH. NULL: "shoal".
     * "": this very program, which then does what `shoal worker` does when it is called so. */
    const char *program;
    /* Told at once what people may want to know while it starts and runs: a checkpoint that could not be written
     * (hints are what was written). Called inside shoal_job_start and shoal_job_wait; may be NULL. */
    void (*note)(void *ctx, shoal_note_level level, const char *text);
    void *ctx;
} shoal_job_opts;

/* The options as rows; their offsets are those of shoal_job_opts. Any thread. */
SHOAL_API const shoal_opt *shoal_job_opt_rows(size_t *out_count);
SHOAL_API void shoal_job_opts_init(shoal_job_opts *opts);

/* Checks all that can be checked, reads the data and starts the workers; `app` is a row of `shoal app list` or the
 * path of a shared object. On success *out_job is the caller's, freed by shoal_job_free before `env`.
 * SHOAL_E_NOTFOUND: no such application, data or program; SHOAL_E_INVAL: options that are wrong or name a file that
 * is read; SHOAL_E_EXISTS: a job of that name runs, or the folder of checkpoints holds one. The watch (NULL is
 * allowed) lives as long as the job, counts units of work, and its stop is the job's; while data is read it ends this
 * call with SHOAL_E_CANCELLED. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_job_start(shoal_env *env, const char *app,
                                                      const char *data, const shoal_job_opts *opts,
                                                      shoal_watch *watch, shoal_job **out_job,
                                                      shoal_err *err);
/* Ends what still runs, without a last checkpoint; NULL is allowed. */
SHOAL_API void shoal_job_free(shoal_job *job);

/* Runs the job for so long (0: what can be done at once; INFINITY: to the end). SHOAL_AGAIN: it has not ended.
 * SHOAL_OK: it has, well, the model is written and there is a result. SHOAL_E_CANCELLED: it was stopped; with
 * checkpoints the last one is on disk. Any other status: why it failed; where only the model could not be written,
 * there is a result all the same. Called after the end it says the same again. Not from inside a callback. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_job_wait(shoal_job *job, double timeout_s,
                                                     shoal_err *err);

/* How a job goes. */
typedef struct shoal_job_state {
    size_t struct_size;     /* sizeof(shoal_job_state), set by the caller */
    double progress;        /* share of the work that is done; NAN: not known */
    double value, held_out; /* the objective, also of data that is not trained on; NAN: not known */
    double seconds;         /* since the workers were started */
    double units_per_s;     /* lately */
    uint64_t units, iterations; /* iterations: 0 where the application does not report them */
    uint64_t clocks, tasks;     /* that all executors have ended; that were done */
    uint64_t checkpoints;       /* written */
    uint32_t workers, wanted;   /* that are up, from anywhere; of this machine there shall be */
    uint32_t workers_lost;      /* that ended unasked */
    uint32_t executors;         /* parts of the data, which workers pass on */
    const char *address;        /* where workers and onlookers connect; lives as long as the job */
    uint64_t refused;           /* strangers that were turned away */
    const char *refusal; /* the last of them, and why; "": there was none; until the next wait */
    bool ended, resumed; /* resumed: it goes on from a checkpoint */
} shoal_job_state;
SHOAL_API void shoal_job_read(const shoal_job *job, shoal_job_state *state);

/* How many workers of this machine there shall be, from the next turn of the wait on. SHOAL_E_INVAL: not so many, or
 * the job has ended. Any thread. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_job_scale(shoal_job *job, uint32_t workers,
                                                      shoal_err *err);
/* Ends it as soon as the tasks that have begun are done and, where checkpoints are taken, the last one is written;
 * the wait says SHOAL_E_CANCELLED then. Any thread. */
SHOAL_API void shoal_job_stop(shoal_job *job);

/* What came of it, the job's own; NULL while it has not ended well. */
SHOAL_API const shoal_result *shoal_job_result(const shoal_job *job);

#ifdef __cplusplus
}
#endif
#endif
