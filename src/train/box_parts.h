/* box_parts.h - how a box lies in its segment, and what its files share. Private to src/train/box*.c,
 * fold*.c, task*.c and carry*.c; everybody else includes box.h.
 *
 * The segment: a head, then whatever was taken from it, one piece after another, by adding to
 * `top`: nothing is ever given back but the pages of outboxes that grew. References are offsets from
 * the start; 0 is none. Memory that was never taken is zero.
 *
 * What may be read when. The head's counts and tables and all `*_at` of a shard are fixed by seal; a
 * view checks them once and keeps pointers (struct shard_view). An executor's record is written by
 * the one who runs it; others read `committed` first (acquire) and then only what that number makes
 * real. A shard's record is written under its lock, but for `marked` and the bits.
 *
 * Order of stores. A process can be killed between any two instructions, and what it had stored by
 * then is there for the others. Two stores whose order matters have box_order() between them, which
 * keeps the compiler from exchanging them; the processor keeps the order of one process as seen by
 * those who look after its death. */
#ifndef TRAIN_BOX_PARTS_H
#define TRAIN_BOX_PARTS_H

#include "train/box.h"

#include "base/rand.h"
#include <stdatomic.h>

enum {
    BOX_ALIGN = 64,
    BOX_PAGE = 4096,
    BOX_HUGE = 1 << 21,
    BOX_BACK = 1 << 22, /* of a segment that is a file: grows by so much */
    BOX_UNDO = 1024,    /* floats changed in one step, but for rows that are wider */
    BOX_EXECUTORS_MAX = 1 << 20,
    BOX_SHARDS_MAX = 1 << 16, /* of all tables */
    BOX_WIDTH_MAX = 1 << 24,
    BOX_SPINS = 200, /* looks at a lock before it is given up */
    BOX_STAMP_ROWS = 64
};
#define BOX_MAGIC UINT64_C(0x31786f426c616f68) /* "hoalBox1" */

struct box_table {
    char name[32];
    uint64_t rows;
    uint64_t shard_rows; /* of all shards but the last */
    uint32_t width, shards;
    uint32_t first_shard; /* of the box's shards: see shards_number; a view's own */
    uint32_t held;
    uint64_t firsts_at;  /* held: shard_first of its options (shards + 1); 0: shards are alike */
    uint64_t data_at[2]; /* rows x width floats; the second for held tables only */
};

/* Counters that many write have lines of their own. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
struct box_head {
    _Atomic uint64_t magic; /* set by seal */
    uint64_t size;
    _Atomic uint64_t top;     /* bytes taken */
    _Atomic uint64_t dropped; /* of those, given back */
    _Atomic uint64_t backed;  /* a file: bytes that the disk has room for */
    uint32_t staleness, executor_count, table_count, shard_count;
    uint32_t away; /* tables are copies; rows come by train_box_put_rows */
    uint64_t executors_at, shards_at;
    _Alignas(64) _Atomic uint64_t closed;
    _Atomic uint32_t hungry;             /* threads have nothing to do; only a hint */
    _Alignas(64) _Atomic uint64_t marks; /* goes up after every mark of any shard */
    struct box_table table[SHOAL_TABLES_MAX];
};

/* What a task left, but for its outbox. */
struct box_commit {
    _Atomic uint64_t number; /* 0 while it is being written */
    uint64_t clock;
    uint32_t fn, result_size, hold_table, hold_shard, hold_count, hold_step;
    bool ends_clock, holds, adds, new_state;
    uint8_t state; /* which buffer is current from here on */
    unsigned char result[SHOAL_TASK_RESULT_MAX];
};

/* Rows: `count` of `cap` entries, uint32_t row in the shard each, then (aligned) width floats each.
 * Dense: count 1, rows x width floats. Factors: `count` bytes of `cap`, see struct box_factor. */
struct box_list {
    uint64_t at, cap, count;
    /* Of a shard's list: the task that touched the shard, also when its increments are in the dense
     * list or the factors of the table. */
    _Atomic uint64_t touched;
};

/* Followed by u (rows floats), index and value (count each), and padding to 8. */
struct box_factor {
    uint32_t count, unused;
};

/* The increments of one task. `number` is the task's once it is committed (or about to be); a number
 * above the executor's committed one is that of a task that died, or is committing now. A shard may
 * look into it when the number is committed, above what the shard has folded, and the one that
 * touched the shard's list: then nobody writes it before the shard has folded it. */
struct box_outbox {
    _Atomic uint64_t number;
    _Atomic uint64_t clock;
    /* lists of all shards that take increments, dense ones of all tables, factors of all tables; then
     * uint32_t shards touched */
    _Atomic uint64_t lists_at;
    _Atomic uint32_t touched_count;
    uint32_t open; /* a task writes it, or died writing it */
};

struct box_executor {
    _Alignas(64) _Atomic uint64_t committed;
    _Atomic uint64_t homed; /* away: tasks up to this number are in the box at home */
    uint64_t data_at, data_size, state_at[2], state_size;
    struct box_outbox outbox[2];
    struct box_commit commit[2]; /* by parity of the number */
};

struct box_shard {
    _Alignas(64) _Atomic uint32_t lock; /* worker + 1 */
    /* Held: the buffer in use, and a change of it that is real once the executor has committed. */
    _Atomic uint32_t current;
    _Atomic uint64_t flip_number;
    _Atomic uint32_t flip_executor, flip_buffer;
    /* Marked before every commit that touches the shard; done when all marks up to it are folded. */
    _Atomic uint64_t marked, done;
    _Atomic uint64_t folded_clock; /* bulk synchronous: the clocks below are folded */
    _Atomic uint64_t version;      /* goes up with every change */
    _Atomic uint64_t home_version; /* away: that of the shard it is a copy of */
    /* The fold in progress. Step `step` was begun when undo_step says the same: then the undo slot
     * has what its floats were. */
    _Atomic uint32_t active;
    _Atomic uint32_t fold_executor;
    _Atomic uint64_t fold_number, fold_start;
    _Atomic uint64_t step, undo_step;
    /* Version of each row's last change, then of the last change of each BOX_STAMP_ROWS of them; 0: not
     * kept */
    _Atomic uint64_t stamps_at;
    uint64_t folded_at;  /* number of the last task folded, by executor */
    uint64_t version_at; /* the shard's version when that was, by executor */
    uint64_t bits_at;    /* executors with something to fold, perhaps */
    uint64_t undo_at;
};

/* ---- a process's view ---- */

struct shard_view {
    struct box_shard *shard;
    float *data[2];
    uint64_t first; /* row in the table */
    uint32_t rows, width, table;
    bool held;
    bool rewritten; /* the driver may have changed rows in place */
    _Atomic uint64_t *folded, *version, *bits;
    float *undo;
};

struct rows_job;

struct train_box {
    shoal_env *env;
    struct env_shared shared;
    struct box_head *head;
    uint32_t worker, executor_count, table_count;
    uint32_t shard_count, fold_count; /* those of tables that take increments come first */
    bool bulk, away, sealed;
    uint64_t rewrites; /* by the driver, in place */
    uint64_t folded;   /* the driver: floats that it has added, about */
    uint64_t rests_ns; /* and since when it adds none, to turn its loop; 0: it may */
    bool (*crash)(void *ctx);
    void *crash_ctx;
    struct box_executor *executors; /* NULL before train_box_executors */
    struct shard_view *shards;      /* NULL before seal */
    /* Adds rows; false: killed on the way. */
    bool (*add_rows)(const struct rows_job *job, uint64_t from);
    struct box_table table[SHOAL_TABLES_MAX];
};

struct shoal_task {
    struct train_desk *desk; /* NULL: an import */
    struct train_box *box;
    struct box_executor *executor;
    struct box_outbox *outbox;
    struct box_list *lists; /* NULL: no increments so far */
    uint32_t held_count;    /* shards that it has locked */
    uint64_t seed;
    const void *options;
    const struct box_commit *last; /* NULL: none */
    uint32_t result_size;
    shoal_status status; /* the first failure inside the task */
    const char *failure;
    uint8_t state; /* buffer it leaves */
    bool busy, drawn, new_state;
    struct base_rand random;
    struct train_task_spec spec;
    unsigned char result[SHOAL_TASK_RESULT_MAX];
};

struct train_desk {
    struct train_box *box;
    uint64_t seen;    /* marks (bulk synchronous: closed) when all was folded last */
    uint64_t ended;   /* clocks that all executors have ended, as far as was looked */
    uint32_t lagging; /* those below it have ended the next one too */
    void *scratch;    /* of the application's tasks; libc's, since threads are many */
    size_t scratch_size;
    struct shoal_task task;
};

static inline void box_order(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

static inline bool box_crash(const struct train_box *box)
{
    return box->crash != NULL && box->crash(box->crash_ctx);
}

static inline void *box_at(const struct train_box *box, uint64_t offset)
{
    return box->shared.base + offset;
}

/* Whether `size` bytes from `offset` lie in what was taken from the segment. */
static inline bool box_holds(const struct train_box *box, uint64_t offset, uint64_t size)
{
    return offset >= sizeof(struct box_head) && offset <= box->shared.size &&
           size <= box->shared.size - offset;
}

static inline uint64_t box_round(uint64_t size, uint64_t to)
{
    return (size + to - 1) / to * to;
}

/* Whether the executor has ended the clocks below `past`, by its last record. One that is being
 * written says that it has gone on, which counts as yes. Any process. */
bool box_has_ended(const struct box_executor *e, uint64_t past);
/* Takes zeroed memory; 0: there is none left. Any process. */
uint64_t box_take(struct train_box *box, uint64_t size, uint64_t align);
/* Gives the whole pages of a piece back; nobody may look at it any more. */
void box_drop(struct train_box *box, uint64_t offset, uint64_t size);
/* Fills the views of tables and shards from the head, checking it. */
shoal_status box_view_build(struct train_box *box, shoal_err *err);
shoal_status box_view_new(shoal_env *env, const struct env_shared *segment, uint32_t worker,
                          const struct train_box_opts *opts, struct train_box **out_box,
                          shoal_err *err);
/* Whether shards that are not alike follow each other: first row of each, then the number of rows. */
bool box_firsts_valid(const uint64_t *first, uint32_t shards, uint64_t rows);
uint32_t box_shards_number(struct train_box *box); /* gives tables their first_shard */
shoal_status box_format(struct train_box *box, uint32_t staleness, bool away, shoal_err *err);

/* Lists and touched shards of an outbox; NULL when it never had any or they make no sense. */
struct box_list *box_outbox_lists(const struct train_box *box, const struct box_outbox *outbox);
static inline _Atomic uint32_t *box_touched(const struct train_box *box, struct box_list *lists)
{
    return (_Atomic uint32_t *)(lists + box->fold_count + 2 * (size_t)box->table_count);
}
static inline uint64_t box_values_offset(uint64_t cap)
{
    return box_round(cap * sizeof(uint32_t), BOX_ALIGN);
}
static inline uint64_t box_factor_size(uint64_t rows, uint64_t count)
{
    return box_round(sizeof(struct box_factor) + rows * sizeof(float) +
                         count * (sizeof(uint32_t) + sizeof(float)),
                     8);
}
/* The next factor of a list that holds `size` bytes: NULL at the end, or where it makes no sense.
 * *at begins as 0. */
struct factor_view {
    uint32_t count;
    const float *u, *value;
    const uint32_t *index;
};
bool box_factor_next(const char *bytes, uint64_t size, uint64_t rows, uint64_t *at,
                     struct factor_view *out);

/* ---- box_lock.c ---- */
bool box_lock(struct train_box *box, struct box_shard *shard);
void box_unlock(struct box_shard *shard);
/* Completes a change of buffers that became real, forgets one that did not. Under the lock. */
void box_flip_settle(struct train_box *box, struct box_shard *shard);
uint32_t box_current(const struct train_box *box, const struct box_shard *shard);

/* ---- fold*.c ---- */
/* Says that the executor has something for the shard. */
void box_mark(struct train_box *box, uint32_t shard, uint32_t executor);
/* SHOAL_OK: nothing that may be folded is left; SHOAL_END: the same, but a commit is on its way;
 * SHOAL_AGAIN: locked; SHOAL_E_CANCELLED: killed. */
shoal_status box_fold_shard(struct train_box *box, uint32_t shard);
/* For increments that are in no outbox, before their commit: locks the shard and marks it. False: it is
 * locked, or has to fold another task of the executor's first, or folds in an order (bulk
 * synchronous). */
bool box_fold_take(struct train_box *box, uint32_t shard, uint32_t executor);
/* Adds them as the task of that number, and unlocks it. */
void box_fold_rows(struct train_box *box, uint32_t shard, uint32_t executor, uint64_t number,
                   const uint32_t *row, const float *x, uint64_t count);
shoal_status box_fresh(struct train_box *box, uint64_t *seen);
/* The outbox that the executor's next task writes: folded everywhere, and the one used last if it
 * can be, for it may still be in a cache. SHOAL_AGAIN: neither is folded yet. */
shoal_status box_outbox_next(struct train_box *box, uint32_t executor, struct box_outbox **out);
void box_fold_choose(struct train_box *box);

static inline uint64_t box_stamps_size(uint64_t rows)
{
    return (rows + rows / BOX_STAMP_ROWS + 1) * sizeof(uint64_t);
}

/* What an outbox has for a shard. */
struct rows_job {
    float *data;         /* (limit, width) */
    const uint32_t *row; /* (count) */
    const float *x;      /* (count, width) */
    uint64_t count;
    uint32_t width, limit;
    float *undo; /* NULL: not kept, nor are steps */
    struct box_shard *shard;
    _Atomic uint64_t *stamps, *stamp_blocks; /* NULL: not kept */
    uint64_t stamp;
    const struct train_box *box;
};
struct fold_parts {
    struct rows_job rows;
    const float *dense; /* NULL: none */
    uint64_t dense_floats;
    const char *factors;
    uint64_t factors_size, table_rows;
};
void box_parts_find(struct train_box *box, const struct shard_view *v, struct box_list *lists,
                    struct fold_parts *out);
/* Rows that are best changed together, while they are in a cache. */
uint64_t box_block_rows(uint64_t width);
/* Adds the factors of a list to rows [row, end) of a shard, as a fold does it in steps. */
void box_factors_add(const struct shard_view *v, const char *bytes, uint64_t size,
                     uint64_t table_rows, uint64_t row, uint64_t end);
/* Writes rows that others may be reading. */
void box_rows_write(float *to, const float *from, uint64_t count);

/* ---- task.c, task_add.c ---- */
/* The index-th shard that the task holds. */
struct shard_view *box_held(const struct shoal_task *task, uint32_t index);
/* The buffer in use of a shard that a task has locked. No change of buffers is left: who unlocks it
 * settles it, the repairer for the dead. */
static inline uint32_t box_task_buffer(const struct shard_view *v)
{
    return atomic_load_explicit(&v->shard->current, memory_order_relaxed) & 1;
}
static inline float *box_task_spare(const struct shard_view *v)
{
    return v->data[box_task_buffer(v) ^ 1];
}
/* The first failure sticks. */
static inline void box_task_fail(struct shoal_task *task, shoal_status status, const char *failure)
{
    if (task->status == SHOAL_OK) {
        task->status = status;
        task->failure = failure;
    }
}
/* As train_task_begin, on any storage and without making tables fresh. */
shoal_status box_task_begin(struct train_box *box, struct shoal_task *task,
                            const struct train_task_spec *spec, bool copies_held, shoal_err *err);
shoal_status box_task_commit(struct shoal_task *task, shoal_err *err);
/* An entry for `row` of the shard to be filled (width floats); NULL: no memory, and it sticks. */
float *box_task_entry(struct shoal_task *task, uint32_t shard, uint32_t row, bool *out_again);
/* Appends factors as they lie in a list. */
void box_task_factors(struct shoal_task *task, uint32_t table, const void *bytes, uint64_t size);

#endif
