/* worker.h - a process that runs tasks for a driver.
 *
 * A state machine over a loop and one connection. It is set up by the driver, adopts executors and
 * runs their tasks on the threads of a pool, each executor's one at a time and in order. Loop thread
 * only. Tests: tests/unit/train/test_master*.c. */
#ifndef TRAIN_WORKER_H
#define TRAIN_WORKER_H

#include "train/box.h"
#include "wire/peer.h"

struct train_worker;

struct train_worker_opts {
    const char *address; /* the driver's */
    const struct wire_key *key;
    const struct wire_opts *wire;
    uint32_t threads;
    uint32_t slot; /* which child of the driver's this is; 0: none */
    int64_t pid;   /* to be shown to people */
    const char *host;
    int64_t segment; /* handle of the driver's memory; -1: none */
    const shoal_app *(*find)(void *ctx, const char *name);
    /* The process may go. Last call; free the worker after it, not inside. */
    void (*ended)(void *ctx, shoal_status status, const shoal_err *err);
    void *ctx;
    /* Simulations only: what a task takes in virtual time, and where the process dies. */
    uint64_t (*task_ns)(void *ctx, const struct train_task_spec *spec);
    bool (*crash)(void *ctx);
    bool witness_all; /* look at every task, see witness.h */
};

SHOAL_MUST_USE shoal_status train_worker_new(struct env_loop *loop,
                                             const struct train_worker_opts *opts,
                                             struct train_worker **out_worker, shoal_err *err);
void train_worker_leave(struct train_worker *worker); /* asks the driver to be drained */
/* It has ended since its line was, and not for what anyone said. */
bool train_worker_was_cut(const struct train_worker *worker);
void train_worker_free(struct train_worker *worker); /* NULL is allowed */

#endif
