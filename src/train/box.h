/* box.h - the truth about a job, in memory that the processes of one machine share.
 *
 * A box holds the executors (data, state, what their last tasks left) and the tables of a job. It
 * lives in one segment of shared memory, without pointers, so that every worker process of the
 * machine works on it directly and nothing is lost when one of them is killed. A worker on another
 * machine has a box of its own for the executors it runs; what it commits is carried over and
 * committed again here (train_box_import).
 *
 * How a task's effects become real. Tasks of an executor are numbered 1, 2, ... A task writes the
 * buffers that the executor's committed number does not point to: the other state buffer, an outbox
 * that is folded, the commit record of its parity, and the spare buffer of a held shard. One atomic
 * store of the executor's `committed` number then makes all of it real. A process killed
 * before that store has done nothing; after it, everything.
 *
 * How increments reach tables. A committed outbox is folded into the shards by whoever needs them
 * next, under the shard's lock, once: a shard knows for every executor the number of the task it
 * has folded last. Bulk synchronous boxes fold a clock only when it is closed, executor by executor
 * in order, so that sums are equal bit for bit. Before a row is changed it is copied to the shard's
 * undo slot, so a fold that was killed in the middle of a row is taken up where it stopped
 * (train_box_repair). An outbox is written again only when every shard has folded it.
 *
 * Who may do what. One process is the driver: it makes the box, plans, closes clocks and repairs
 * after a worker whose death is certain. An executor is run by one worker at a time; the driver says
 * which. Locks are words that hold the worker's number + 1; nobody waits for one longer than a
 * bounded spin: functions return SHOAL_AGAIN and are called again.
 *
 * Tests: tests/unit/train/test_box*.c. */
#ifndef TRAIN_BOX_H
#define TRAIN_BOX_H

#include "base/buf.h"
#include "env/loop.h"
#include "shoal/train.h"

struct train_box;

enum { TRAIN_WORKERS_MAX = 4096 };

/* Memory for a box: address space of `size` bytes. Where the system refuses so much (ulimit -v), half
 * of what it grants, so that the process can still read data and start threads. */
SHOAL_MUST_USE shoal_status train_box_segment(shoal_env *env, size_t size, struct env_shared *out,
                                              shoal_err *err);
/* Formats a segment. The driver is worker 0. Staleness 0 makes it bulk synchronous. The view is the
 * caller's; the segment must outlive it. `crash` (may be NULL) is asked in the middle of commits,
 * folds and rows in simulations: true means that this process is killed here, and the function
 * returns SHOAL_E_CANCELLED at once, leaving memory as it is. */
struct train_box_opts {
    uint32_t staleness;
    bool (*crash)(void *ctx);
    void *crash_ctx;
};
SHOAL_MUST_USE shoal_status train_box_new(shoal_env *env, const struct env_shared *segment,
                                          const struct train_box_opts *opts,
                                          struct train_box **out_box, shoal_err *err);
/* The view of another process (or thread of the simulation), after train_box_seal. Everything read
 * from the segment is checked: it is memory others can write. */
SHOAL_MUST_USE shoal_status train_box_open(shoal_env *env, const struct env_shared *segment,
                                           uint32_t worker, const struct train_box_opts *opts,
                                           struct train_box **out_box, shoal_err *err);
void train_box_free(struct train_box *box); /* the view only; NULL is allowed */
/* Before executors and tables are declared. */
void train_box_set_staleness(struct train_box *box, uint32_t staleness);

/* ---- plan: driver only, before seal ---- */
SHOAL_MUST_USE shoal_status train_box_executors(struct train_box *box, uint32_t count,
                                                shoal_err *err);
void *train_box_data(struct train_box *box, uint32_t executor, size_t size);  /* NULL: no memory */
void *train_box_state(struct train_box *box, uint32_t executor, size_t size); /* NULL: no memory */
SHOAL_MUST_USE shoal_status train_box_table(struct train_box *box, const shoal_table_opts *opts,
                                            shoal_err *err);
SHOAL_MUST_USE shoal_status train_box_seal(struct train_box *box, shoal_err *err);

/* ---- what is there ---- */
uint32_t train_box_executor_count(const struct train_box *box);
uint32_t train_box_table_count(const struct train_box *box);
struct train_table_info {
    char name[32];
    uint64_t rows;
    uint32_t width, shards;
    bool held;
};
/* Whether a task may hold these shards; count 0 is 1. */
bool train_box_can_hold(const struct train_box *box, uint32_t table, uint32_t shard, uint32_t count,
                        uint32_t step);
struct train_table_info train_box_table_info(const struct train_box *box, uint32_t table);
/* A shard that a task with this spec may be waiting for, since it is locked now: by the worker whose
 * number is returned (0: the driver). TRAIN_UNLOCKED: there is none. */
enum { TRAIN_UNLOCKED = UINT32_MAX };
struct train_task_spec;
uint32_t train_box_locked(const struct train_box *box, const struct train_task_spec *spec,
                          uint32_t *out_table, uint32_t *out_shard);
float *train_box_rows(struct train_box *box, uint32_t table); /* not of a held table */
float *train_box_shard(struct train_box *box, uint32_t table, uint32_t shard, uint64_t *out_first,
                       uint64_t *out_count); /* the current buffer */
const void *train_box_data_read(const struct train_box *box, uint32_t executor, size_t *out_size);
const void *train_box_state_read(const struct train_box *box, uint32_t executor, size_t *out_size);
size_t train_box_memory(const struct train_box *box); /* bytes of the segment in use */

/* What the executor committed: its last number (0: none yet), and the record of the last or the last
 * but one (false: neither). The driver sends an executor at most two tasks ahead of what it has
 * heard of, so that no result is ever lost with a worker. Any process. */
struct train_commit {
    uint64_t number, clock;
    bool ends_clock;
    uint32_t fn, result_size;
    unsigned char result[SHOAL_TASK_RESULT_MAX];
};
uint64_t train_box_committed(const struct train_box *box, uint32_t executor);
bool train_box_commit_find(const struct train_box *box, uint32_t executor, uint64_t number,
                           struct train_commit *out);

/* ---- clocks ---- */
/* Driver: all executors have ended the clocks below `closed`. Never goes down. */
void train_box_close(struct train_box *box, uint64_t closed);
uint64_t train_box_closed(const struct train_box *box);

/* Driver: some threads of the job have nothing to do, so word of what was done is wanted soon. Any
 * process may look. */
void train_box_set_hungry(struct train_box *box, bool hungry);
bool train_box_hungry(const struct train_box *box);

/* ---- tasks: the thread that runs them ---- */
/* A thread's own memory for tasks: random stream, scratch. */
struct train_desk;
SHOAL_MUST_USE shoal_status train_desk_new(struct train_box *box, struct train_desk **out_desk);
void train_desk_free(struct train_desk *desk); /* NULL is allowed */

/* How many clocks behind a task that begins at `clock` now may be: those that not all executors have
 * ended. What they have is folded before it runs. Elsewhere it is what the driver has said. */
uint64_t train_desk_stale(struct train_desk *desk, uint64_t clock);

struct train_task_spec {
    uint32_t executor, fn;
    uint64_t number; /* the executor's committed number + 1 */
    uint64_t clock;
    uint32_t hold_table, hold_shard, hold_count, hold_step; /* as in shoal_dispatch */
    uint32_t unread; /* tables, a bit each, whose rows it does not read */
    uint16_t arg_size;
    bool ends_clock, holds, hold_whole;
    uint8_t pad[7]; /* it goes to other machines and into checkpoints as it lies in memory */
    unsigned char arg[SHOAL_TASK_ARG_MAX];
};
_Static_assert(offsetof(struct train_task_spec, arg) == 56 &&
                   sizeof(struct train_task_spec) == 56 + SHOAL_TASK_ARG_MAX,
               "arguments are aligned to 8, and there is no padding but `pad`");
/* Of bytes that are to be one: a byte that is to be a bool must be 0 or 1 before it is read as one. */
static inline bool train_task_bytes_valid(const unsigned char *bytes)
{
    return (bytes[offsetof(struct train_task_spec, ends_clock)] |
            bytes[offsetof(struct train_task_spec, holds)] |
            bytes[offsetof(struct train_task_spec, hold_whole)]) <= 1;
}

/* How many shards it holds. */
static inline uint32_t train_task_holds(const struct train_task_spec *spec)
{
    return !spec->holds ? 0 : spec->hold_count > 1 ? spec->hold_count : 1;
}

/* Makes the tables fresh (folds all that may be folded), frees the outbox, takes and copies the held
 * shards, and gives the task to hand to the application's `run`. SHOAL_AGAIN: something is locked;
 * try later. SHOAL_E_INVAL: not this executor's next number. */
SHOAL_MUST_USE shoal_status train_task_begin(struct train_desk *desk, uint64_t seed,
                                             const void *app_options,
                                             const struct train_task_spec *spec,
                                             shoal_task **out_task, shoal_err *err);
/* Makes it real, then folds what can be had without waiting. On failure (memory was short in the
 * task, two increments in one bulk synchronous clock) nothing has happened. Ends the task. */
SHOAL_MUST_USE shoal_status train_task_commit(shoal_task *task, shoal_err *err);
void train_task_abort(shoal_task *task); /* ends it without effect */

/* Folds what may be folded. SHOAL_AGAIN: some shard was locked by another, or the driver has to turn
 * its loop first; fold on after 100 microseconds. */
SHOAL_MUST_USE shoal_status train_box_fold(struct train_box *box);
/* The same; *out_state is another number whenever something has been committed, closed or rewritten
 * since; 0: more may come without that. */
SHOAL_MUST_USE shoal_status train_box_fresh(struct train_box *box, uint64_t *out_state);
/* Driver of a bulk synchronous box, between two clocks: rows may be changed in place after this. */
void train_box_rewrite(struct train_box *box, uint32_t table, uint32_t shard);
/* Everything committed is folded (nothing more will be). Driver, at the end or for a test. */
bool train_box_settled(const struct train_box *box);

/* Driver: worker's process is gone for certain. Takes up its half-done folds and frees its locks. */
void train_box_repair(struct train_box *box, uint32_t worker);

/* Driver, before anything runs: executors (train_box_put_executor) and rows were loaded from a
 * checkpoint in which everything committed was folded, and `closed` clocks were closed. */
void train_box_resume(struct train_box *box, uint64_t closed);

/* ---- to and from other machines ---- */
/* Data and current state of an executor, to start it elsewhere; the table layout and sizes, to make
 * a box there. `part`: data and state may go apart (data first, while it still runs here). */
void train_box_pack_layout(const struct train_box *box, struct base_buf *out);
/* Whether executors' states and shards fit into messages of this size, each into one. SHOAL_E_LIMIT:
 * what does not, and what to do about it. */
SHOAL_MUST_USE shoal_status train_box_can_carry(const struct train_box *box, size_t message_max,
                                                shoal_err *err);
SHOAL_MUST_USE shoal_status train_box_new_from_layout(
    shoal_env *env, const struct env_shared *segment, uint32_t worker, const void *bytes,
    size_t size, const struct train_box_opts *opts, struct train_box **out_box, shoal_err *err);
SHOAL_MUST_USE shoal_status train_box_put_data(struct train_box *box, uint32_t executor,
                                               size_t offset, size_t total, const void *bytes,
                                               size_t size, shoal_err *err);
void train_box_pack_executor(const struct train_box *box, uint32_t executor, struct base_buf *out);
SHOAL_MUST_USE shoal_status train_box_put_executor(struct train_box *box, uint32_t executor,
                                                   const void *bytes, size_t size, shoal_err *err);
/* What the executor's last commit left (state if changed, outbox, held shard, record) as bytes, and
 * the same made real in another box. Importing a number that is already committed does nothing; one
 * that is not the next is SHOAL_E_INVAL; bytes that make no sense are SHOAL_E_FORMAT and change
 * nothing. SHOAL_AGAIN: something is locked. Pack before the executor's next task begins, and
 * before another task holds the same shard. */
void train_box_pack_commit(const struct train_box *box, uint32_t executor, struct base_buf *out);
SHOAL_MUST_USE shoal_status train_box_import(struct train_box *box, uint32_t executor,
                                             const void *bytes, size_t size, shoal_err *err);
/* Whether the bytes are of this task, and no other one's. They may be any bytes. */
bool train_box_commit_is(const struct train_task_spec *spec, const void *bytes, size_t size);
/* Rows of a shard changed since `version` (0: all), with the shard's version now; and the same put
 * into another box. Tracking of changed rows is on from the first call. 0: the shard was locked,
 * nothing was appended; try later. What comes twice or late does nothing; a gap between versions is
 * SHOAL_E_INVAL, bytes that make no sense are SHOAL_E_FORMAT, a locked shard is SHOAL_AGAIN.
 *
 * A box away keeps an outbox until it is told that home has it, so train_task_begin there says
 * SHOAL_AGAIN until the task before the last was accepted (train_box_accepted), or rows have come
 * that include it. Rows put after train_box_accepted have to be packed after that import. Bulk
 * synchronous: put the rows of a closed clock before train_box_close. After train_box_put_executor
 * rows have to be put before its first task. See carry.c. */
void train_box_accepted(struct train_box *box, uint32_t executor, uint64_t number);
uint64_t train_box_pack_rows(struct train_box *box, uint32_t table, uint32_t shard,
                             uint64_t version, struct base_buf *out);
/* What the box away ran of an executor itself, by number: it committed the tasks above `since` up to
 * `heard`, as home knows, and has been sent those up to `sent`. */
struct train_own {
    uint64_t since, heard, sent;
};
/* Home of a bulk synchronous job: the same for a whole table as the outer products that changed it
 * since `versions` (shards), which are then those of now; without those that the receiver still has in
 * its own outboxes by `own` (executors; NULL: none). False: not possible, or more bytes than the
 * rows; nothing is appended. Put before the receiver is sent another task. See carry_factors.c. */
bool train_box_pack_factors(struct train_box *box, uint32_t table, uint64_t *versions,
                            const struct train_own *own, struct base_buf *out);
/* One shard for each call, as it takes a while: the one *next, 0 at first, when the bytes are checked,
 * and moved on. SHOAL_AGAIN: there are more, or, when *next has not moved, it is locked. */
SHOAL_MUST_USE shoal_status train_box_put_factors(struct train_box *box, const void *bytes,
                                                  size_t size, uint32_t *next, shoal_err *err);
SHOAL_MUST_USE shoal_status train_box_put_rows(struct train_box *box, const void *bytes,
                                               size_t size, shoal_err *err);

#endif
