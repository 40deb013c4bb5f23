/* master.h - the driver's side of a job: tasks, workers, moves and recovery.
 *
 * A state machine over a loop (real or simulated) and a box. It runs the application's driver hooks,
 * sends tasks to the workers their executors are on, moves executors when workers come, go or are
 * slow, and runs again what a lost worker had begun. Loop thread only; it outlives none of env, loop
 * and app. Tests: tests/unit/train/test_master*.c run whole jobs in simulation. */
#ifndef TRAIN_MASTER_H
#define TRAIN_MASTER_H

#include "base/log.h"
#include "train/box.h"
#include "train/trail.h"
#include "wire/peer.h"

struct train_learnt;

enum { TRAIN_THREADS_MAX = 4096 }; /* of a worker */
enum { TRAIN_STALE_MAX = 16 };     /* buckets of the staleness histogram; the last takes the rest */

struct train_master;

/* See checkpoint.h and saver.h. A folder is used by one job at a time, which is up to the caller, as
 * is removing what is in it. */
struct train_checkpoint_opts {
    const char *dir; /* there; NULL: no checkpoints */
    uint64_t every_ms;
    bool resume;                /* go on from what is there, instead of app->start */
    const struct base_log *log; /* what went wrong with files; NULL: not told */
};

struct train_master_opts {
    const shoal_app *app;
    const char *word;     /* by which workers find the application; NULL: its name */
    const char *path;     /* DATA */
    const char *settings; /* "key=value" lines for the application; "" allowed */
    uint32_t workers;     /* processes to start here; 0: wait for some to join */
    uint32_t threads;     /* of each */
    uint32_t inside;      /* threads of a worker inside this process; 0: none */
    uint32_t staleness;
    uint64_t seed;
    const char *address;        /* to listen on */
    const char *const *program; /* what workers run, NULL-ended; NULL: this program */
    const struct wire_key *key;
    const struct wire_opts *wire;
    /* Of workers elsewhere with a driver that counts, writes or was stopped, and is silent
     * meanwhile; 0: what they have themselves. */
    uint32_t patience_ms;
    /* A joined worker that has work for so long and ends none of it is let go; longer where tasks
     * take long, see stall.c. Looked at every balance_ms; 0: never. */
    uint64_t stall_ms;
    size_t segment_size; /* address space for the box */
    uint64_t balance_ms; /* looks at the spread of work so often; 0: never */
    struct train_checkpoint_opts checkpoint;
    /* The job has ended, well or not. Last call; free the master after it, not inside. */
    void (*ended)(void *ctx, shoal_status status, const shoal_err *err);
    void *ctx;
};

/* Plans (reads the data) and starts workers; the rest happens in the loop. */
SHOAL_MUST_USE shoal_status train_master_new(struct env_loop *loop,
                                             const struct train_master_opts *opts,
                                             struct train_master **out_master, shoal_err *err);
void train_master_free(struct train_master *master); /* ends its children; NULL is allowed */

/* How many workers of this machine there shall be. */
SHOAL_MUST_USE shoal_status train_master_scale(struct train_master *master, uint32_t workers,
                                               shoal_err *err);
/* Takes a worker's executors away and lets it go. Asked again while it is leaving, it is ended at once:
 * what it has begun is run again elsewhere. That is the cure for one of this machine that hangs (see
 * `oldest_ns`); those that joined are let go by themselves (`stall_ms`). */
SHOAL_MUST_USE shoal_status train_master_drain(struct train_master *master, uint32_t worker,
                                               shoal_err *err);
/* Ends the job as soon as the tasks that have begun are done and, where checkpoints are taken, the
 * last one is written; `ended` says SHOAL_E_CANCELLED. */
void train_master_stop(struct train_master *master);
/* After the end: waits for a checkpoint that is being written; none follows. */
void train_master_close_saver(struct train_master *master);
const char *train_master_address(const struct train_master *master);
shoal_driver *train_master_driver(struct train_master *master);
/* After the end: what the application says it has learnt, with lists and pictures where they are wanted. The work
 * is done: what cannot be told is said in its place. */
void train_master_learn(struct train_master *master, struct train_learnt *out);
struct train_box *train_master_box(struct train_master *master);

struct train_stats {
    double value, progress; /* as reported by the application; NAN: not known */
    double held_out;        /* the same of data that is not trained on */
    shoal_stop stopped;
    double gap; /* as shoal_driver_stopped has it; NAN: not known */
    uint64_t units, clocks;
    uint64_t iterations; /* as reported by the application; 0: none was */
    uint64_t tasks, tasks_redone;
    uint64_t tasks_far; /* of them, on other machines */
    /* Bytes of messages from and to other machines: commits and rows. */
    uint64_t commit_bytes, row_bytes;
    uint64_t moves, max_pause_ns;
    uint32_t workers, workers_lost, executors;
    uint32_t workers_stalled; /* of the lost ones: let go since they ended nothing */
    uint64_t run_ns, wait_ns; /* of tasks, and of threads before them, all together */
    uint64_t stale[TRAIN_STALE_MAX];
    uint64_t refused;      /* strangers at the door */
    uint64_t checked;      /* looks of the witness (witness.h) */
    uint64_t violations;   /* of a rule that it found: none */
    uint64_t retries;      /* of the driver, because tables were locked */
    uint32_t wanted;       /* workers of this machine */
    uint64_t up_ns;        /* since the master was made */
    double units_per_s;    /* lately */
    uint64_t units_before; /* of them, those of the run that this one goes on from */
    bool resumed;
    uint64_t checkpoints, checkpoints_failed;
    uint64_t checkpoint_bytes;   /* of the last one */
    uint64_t checkpoint_up_ns;   /* of it, up_ns when it was there */
    uint64_t checkpoint_hold_ns; /* the longest that tasks were held back for one */
};
struct train_stats train_master_stats(const struct train_master *master);
/* The last of the strangers that it turned away: address and reason; "": there was none. */
const char *train_master_refusal(const struct train_master *master);
/* Of the values that the application reported. */
const struct train_history *train_master_history(const struct train_master *master);
/* The same with times; crews are up to whoever watches. */
struct train_trail *train_master_trail(struct train_master *master);
const struct train_master_opts *train_master_asked(const struct train_master *master);
/* What its tables are; SHOAL_END after the last. */
SHOAL_MUST_USE shoal_status train_master_table(const struct train_master *master, uint32_t index,
                                               struct train_table_info *out);

struct train_worker_info {
    uint32_t worker, threads, executors;
    int64_t pid;
    char host[64];
    const char *state;  /* "starting", "up", "leaving" */
    bool away;          /* on another machine, or as if it were */
    double busy;        /* share of its threads' time spent in tasks lately */
    uint64_t oldest_ns; /* for which some executor of it has had a task and ended none */
};
/* SHOAL_END after the last. */
SHOAL_MUST_USE shoal_status train_master_worker(const struct train_master *master, uint32_t index,
                                                struct train_worker_info *out);

#endif
