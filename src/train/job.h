/* job.h - a training job of this machine, from data to model.
 *
 * train_job_new makes the key, the loop and the master, reads the data and lists the job for onlookers;
 * train_job_step runs it for a while, and at its end writes the model. Real env only. One thread makes it,
 * steps it and frees it: the driver's, with which its workers die. run.c is the public face (shoal/job.h).
 * Tests: tests/unit/train/test_job.c, test_run.c, tests/cli/test_train*.py. */
#ifndef TRAIN_JOB_H
#define TRAIN_JOB_H

#include "shoal/job.h"
#include "train/master.h"

struct train_job_opts {
    const shoal_app *app;
    const char *word; /* by which workers find the application; NULL: its name */
    const char *path, *settings;
    uint32_t workers, threads, staleness;
    uint32_t inside; /* threads of a worker in this very process; 0: none */
    uint64_t seed;
    uint32_t patience_ms;       /* see train_master_opts */
    uint64_t stall_ms;          /* likewise */
    const char *address;        /* "127.0.0.1:0" */
    const char *const *program; /* what workers run; NULL: this program */
    const char *model;          /* file for the model; NULL: none */
    const char *name;           /* for onlookers */
    int64_t pid;                /* of this process, likewise */
    const char *listing;        /* file that tells onlookers of the job; NULL: none */
    size_t memory_max;          /* address space for data and tables */
    struct train_checkpoint_opts checkpoint;
    struct train_learnt *learnt; /* takes what was learnt; NULL: not wanted */
    uint64_t tick_ms;            /* 100 */
    /* So often while it runs; false: stop the job. */
    bool (*tick)(void *ctx, const struct train_master *master);
    void *ctx;
};
#define TRAIN_JOB_OPTS_INIT                                                                      \
    {                                                                                            \
        .settings = "", .workers = 1, .threads = 1, .seed = 1, .address = "127.0.0.1:0",         \
        .memory_max = (size_t)1 << 38, .tick_ms = 100, .patience_ms = 120000, .stall_ms = 300000 \
    }

struct train_job_result {
    struct train_stats stats;
    double seconds;      /* from start to the last task, without reading data */
    double load_seconds; /* reading data, planning */
    /* SHOAL_OK: the model is written, or none was wanted; else model_err says why it is not, and
     * the rest holds. */
    shoal_status model_status;
    shoal_err model_err;
    struct train_trail trail;
    uint64_t begun_ns; /* when `seconds` began, in the trail's time */
    uint32_t staleness;
};
struct train_job;

/* `opts` and what they point to outlive it. */
SHOAL_MUST_USE shoal_status train_job_new(shoal_env *env, const struct train_job_opts *opts,
                                          struct train_job **out_job, shoal_err *err);
/* Runs for so long, or to the end (UINT64_MAX). SHOAL_AGAIN: it has not ended. SHOAL_OK: it has, well, and
 * *out is filled; a model that cannot be written is no failure of the job, see model_status. After the end: the
 * same again. */
SHOAL_MUST_USE shoal_status train_job_step(struct train_job *job, uint64_t timeout_ns,
                                           struct train_job_result *out, shoal_err *err);
void train_job_free(struct train_job *job); /* ends its workers; NULL is allowed */
struct train_master *train_job_master(const struct train_job *job);
struct env_loop *train_job_loop(const struct train_job *job);
uint64_t train_job_begun_ns(const struct train_job *job); /* when its workers were started */
/* All of it, for tests and benches. */
SHOAL_MUST_USE static inline shoal_status train_job_run(shoal_env *env,
                                                        const struct train_job_opts *opts,
                                                        struct train_job_result *out,
                                                        shoal_err *err)
{
    struct train_job *job = NULL;
    shoal_status st = train_job_new(env, opts, &job, err);

    if (st == SHOAL_OK)
        st = train_job_step(job, UINT64_MAX, out, err);
    train_job_free(job);
    return st;
}

/* For the command's line of progress. */
const struct train_master *train_run_master(const shoal_job *job);

/* What `shoal worker` is: standard input holds the key. Ends when the driver says so. */
struct train_work_opts {
    const char *address;
    struct wire_key key;
    uint32_t threads, slot;
    int64_t pid;
    const char *host;
    int64_t segment; /* descriptor of the driver's memory; -1: none */
    const shoal_app *(*find)(void *ctx, const char *name);
    /* Asked often while it runs, may be NULL. True: asks the driver to be drained, and ends when
     * that is done; at once with SHOAL_E_CANCELLED while it has not been set up. */
    bool (*stop)(void *ctx);
    uint64_t retry_ms; /* see joiner.h */
    void (*cut)(void *ctx, const shoal_err *why);
    void *ctx;
};
SHOAL_MUST_USE shoal_status train_work_run(shoal_env *env, const struct train_work_opts *opts,
                                           shoal_err *err);

#endif
