/* worker_parts.h - what the files of a worker share: worker.c (its life, and what the driver says),
 * worker_rows.c (what it is sent of tables) and worker_visit.c (executors' queues, and visits of the
 * pool's threads). */
#ifndef TRAIN_WORKER_PARTS_H
#define TRAIN_WORKER_PARTS_H

#include "train/protocol.h"
#include "train/witness.h"
#include "train/worker.h"
#include <stdatomic.h>

enum {
    WORKER_QUEUE_MAX = 4,       /* tasks of an executor; the driver sends at most 2 ahead */
    WORKER_ITEMS_MAX = 64,      /* tasks in a visit */
    WORKER_PAUSE_NS = 50 * 1000 /* before a locked shard is tried again */
};

struct seat {
    bool here, busy, listed; /* adopted; in a visit; in the ready list */
    bool releasing;
    bool moved;          /* adopted, and has not been ready since */
    uint32_t committing; /* elsewhere: commits that the driver has not accepted */
    bool locked;         /* found a shard locked; waits for the retry timer */
    uint64_t locked_ns;  /* and since when its first task does; 0: it does not */
    struct visit *visit; /* when busy */
    uint32_t epoch;
    uint32_t next; /* in the ready list */
    uint32_t queued;
    struct train_task_spec queue[WORKER_QUEUE_MAX];
    uint64_t cost_ns;
};

struct item {
    struct train_task_spec spec;
    struct train_ended ended;
    shoal_status status; /* SHOAL_END: not tried; SHOAL_AGAIN: a shard was locked */
    bool violated;       /* it failed because of a broken rule */
};

struct visit {
    struct train_worker *worker;
    struct visit *next;
    uint32_t count, ended_count;
    atomic_bool hurry; /* set by the loop: begin no further task */
    struct item item[WORKER_ITEMS_MAX];
    struct train_ended ended[WORKER_ITEMS_MAX]; /* for the driver */
    struct base_buf commits;                    /* elsewhere: what goes to the driver */
    shoal_err err;
};

struct train_worker {
    shoal_env *env;
    struct env_loop *loop;
    struct train_worker_opts opts;
    struct wire_peer *peer;
    const shoal_app *app;
    void *app_options;
    uint64_t seed;
    struct env_shared segment;
    struct train_box *box;
    struct env_pool *pool;
    struct train_desk **desk;      /* (threads) */
    struct train_witness *witness; /* (threads) */
    struct visit *visits, *idle;
    uint32_t idle_count;
    atomic_bool hungry; /* some thread has no visit */
    struct seat *seat;  /* (executors) */
    uint32_t seat_count;
    uint32_t ready_first, ready_last, ready_count;
    struct env_timer retry, patience, rows_turn;
    struct worker_kept *rows;             /* being put, a shard at a time; NULL: none */
    struct worker_kept *kept, *kept_last; /* what came after them, in order */
    size_t kept_bytes;                    /* of all of these */
    uint64_t patient_ns;                  /* that it may yet wait for others */
    uint32_t waiting_threads;             /* that have nothing to do */
    uint64_t waiting_ns;                  /* since when */
    uint64_t waited_ns;                   /* by all threads, that the driver has not been told of */
    struct train_desk *lookout;           /* the loop's */
    uint64_t pause_ns;
    bool away;       /* has a box of its own */
    uint32_t tables; /* that change by increments, a bit each */
    bool over, cut;
    shoal_err given_up; /* why; the driver will close the line */
};

static const uint32_t WORKER_NONE = UINT32_MAX;

/* worker.c */
void worker_end(struct train_worker *w, shoal_status status, const shoal_err *err);
void worker_tell(struct train_worker *w, uint16_t kind, const void *bytes, size_t size);
void worker_hear(struct train_worker *w, uint16_t kind, const void *bytes, size_t size);
/* It is of no use, and the driver is told why before it ends. */
void worker_give_up(struct train_worker *w, shoal_status status, const shoal_err *why);
void worker_confused(struct train_worker *w, const char *by); /* ends it: that makes no sense */

/* worker_rows.c */
/* Puts rows or factors; when they take longer, the worker waits (worker_waits) and what is heard then
 * is to be kept: it is heard (worker_hear) after them. */
void worker_put_rows(struct train_worker *w, uint16_t kind, const void *bytes, size_t size);
bool worker_waits(const struct train_worker *w);
void worker_keep(struct train_worker *w, uint16_t kind, const void *bytes, size_t size);
void worker_rows_free(struct train_worker *w);

/* worker_visit.c */
/* Puts an executor on the ready list if it has a task that may begin. */
void worker_list(struct train_worker *w, uint32_t executor);
void worker_schedule(struct train_worker *w); /* sends visits out */
/* The executor is here no more; it is in no visit. */
void worker_release(struct train_worker *w, uint32_t executor);
void worker_put_idle(struct train_worker *w, struct visit *v);
/* Tells the driver of a task's error. */
void worker_fail(struct train_worker *w, const struct item *item, const shoal_err *why);

#endif
