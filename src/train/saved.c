/* saved.c - see saved.h. A head, the application's state, a book per executor, then the tasks that
 * are queued, executor by executor, all as they lie in memory. Tests:
 * tests/unit/train/test_checkpoint.c. */
#include "train/saver.h"

#include "base/err.h"
#include "train/master_parts.h"
#include <string.h>

enum { MAGIC = 0x31445353 /* "SSD1" */ };

struct saved_head {
    uint32_t magic, executors;
    uint64_t app_size, task_size, closed;
    double value, progress;
    uint64_t units, tasks, tasks_redone, tasks_far, moves, max_pause_ns;
    uint64_t run_ns, wait_ns, workers_lost, workers_stalled, refused;
    uint64_t stale[TRAIN_STALE_MAX];
    struct train_history history;
};

struct saved_executor {
    uint64_t done, ended, queued;
};

void saved_pack(const struct train_master *m, struct base_buf *out)
{
    const struct train_stats *st = &m->stats;
    struct saved_head head = {.magic = MAGIC,
                              .executors = m->executor_count,
                              .app_size = m->opts.app->driver_size,
                              .task_size = sizeof(struct train_task_spec),
                              .closed = m->closed,
                              .value = st->value,
                              .progress = st->progress,
                              .units = st->units,
                              .tasks = st->tasks,
                              .tasks_redone = st->tasks_redone,
                              .tasks_far = st->tasks_far,
                              .moves = st->moves,
                              .max_pause_ns = st->max_pause_ns,
                              .run_ns = st->run_ns,
                              .wait_ns = st->wait_ns,
                              .workers_lost = st->workers_lost,
                              .workers_stalled = st->workers_stalled,
                              .refused = st->refused,
                              .history = m->history};

    memcpy(head.stale, st->stale, sizeof head.stale);
    base_buf_append(out, &head, sizeof head);
    base_buf_append(out, m->driver.state, m->opts.app->driver_size);
    for (uint32_t i = 0; i < m->executor_count; i++) {
        const struct master_executor *e = &m->executor[i];
        struct saved_executor book = {e->done, e->ended, e->dispatched - e->done};
        base_buf_append(out, &book, sizeof book);
    }
    for (uint32_t i = 0; i < m->executor_count; i++) {
        const struct master_executor *e = &m->executor[i];
        for (uint64_t n = e->done + 1; n <= e->dispatched; n++)
            base_buf_append(out, master_task(e, n), sizeof(struct train_task_spec));
    }
}

/* ---- reading ---- */

struct reader {
    const char *at;
    size_t left;
};

static bool get(struct reader *r, void *out, size_t size)
{
    if (size > r->left)
        return false;
    if (size > 0)
        memcpy(out, r->at, size);
    r->at += size;
    r->left -= size;
    return true;
}

/* The next of an executor's queue, whose clocks do not go down. */
static bool unpack_task(const struct train_master *m, uint32_t executor, uint64_t number,
                        uint64_t clock, struct reader *r, struct train_task_spec *spec)
{
    const unsigned char *bytes = (const unsigned char *)r->at;

    if (r->left < sizeof *spec || !train_task_bytes_valid(bytes) || !get(r, spec, sizeof *spec))
        return false;
    if (spec->executor != executor || spec->number != number || spec->clock < clock ||
        spec->arg_size > SHOAL_TASK_ARG_MAX)
        return false;
    return !spec->holds || train_box_can_hold(m->box, spec->hold_table, spec->hold_shard,
                                              spec->hold_count, spec->hold_step);
}

static shoal_status unpack_queue(struct train_master *m, uint32_t executor, uint64_t queued,
                                 struct reader *r, shoal_err *err)
{
    struct master_executor *e = &m->executor[executor];
    uint64_t clock = 0;

    if (queued > r->left / sizeof(struct train_task_spec))
        return base_err(err, SHOAL_E_FORMAT, "the checkpoint's queue of executor %u is cut short",
                        executor);
    e->capacity = queued < 4 ? 4 : queued;
    e->queue = base_calloc(env_alloc(m->env), e->capacity, sizeof *e->queue);
    if (e->queue == NULL)
        return base_err_nomem(err, "reading a checkpoint");
    for (uint64_t n = e->done + 1; n <= e->done + queued; n++) {
        struct train_task_spec *spec = &e->queue[n % e->capacity];
        if (!unpack_task(m, executor, n, clock, r, spec))
            return base_err(err, SHOAL_E_FORMAT,
                            "the checkpoint's task %llu of executor %u does not make sense",
                            (unsigned long long)n, executor);
        clock = spec->clock;
    }
    e->dispatched = e->done + queued; /* they are sent when it is adopted */
    return SHOAL_OK;
}

static void unpack_stats(struct train_stats *st, const struct saved_head *head)
{
    st->value = head->value;
    st->progress = head->progress;
    st->units = head->units;
    st->clocks = head->closed;
    st->tasks = head->tasks;
    st->tasks_redone = head->tasks_redone;
    st->tasks_far = head->tasks_far;
    st->moves = head->moves;
    st->max_pause_ns = head->max_pause_ns;
    st->run_ns = head->run_ns;
    st->wait_ns = head->wait_ns;
    st->workers_lost = (uint32_t)head->workers_lost;
    st->workers_stalled = (uint32_t)head->workers_stalled;
    st->refused = head->refused;
    memcpy(st->stale, head->stale, sizeof st->stale);
}

/* Books must agree with the box and with the clocks that are closed. */
static bool unpack_books(struct train_master *m, const struct saved_executor *books)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < m->executor_count; i++) {
        struct master_executor *e = &m->executor[i];
        if (books[i].done != train_box_committed(m->box, i) ||
            books[i].queued > UINT64_MAX - books[i].done)
            return false;
        e->done = e->sent = e->dispatched = books[i].done;
        e->ended = books[i].ended;
        least = e->ended < least ? e->ended : least;
    }
    return least == m->closed;
}

shoal_status saved_unpack(struct train_master *m, const void *bytes, size_t size, shoal_err *err)
{
    struct reader r = {bytes, size};
    struct saved_head head;
    struct saved_executor *books;
    shoal_status st = SHOAL_OK;

    if (!get(&r, &head, sizeof head) || head.magic != MAGIC)
        return base_err(err, SHOAL_E_FORMAT, "the checkpoint's driver does not make sense");
    if (head.history.count > TRAIN_HISTORY_MAX)
        return base_err(err, SHOAL_E_FORMAT, "the checkpoint's history does not make sense");
    if (head.task_size != sizeof(struct train_task_spec))
        return base_err(err, SHOAL_E_FORMAT, "another version of shoal made the checkpoint");
    if (head.executors != m->executor_count || head.app_size != m->opts.app->driver_size ||
        !get(&r, m->driver.state, m->opts.app->driver_size))
        return base_err(err, SHOAL_E_INVAL,
                        "application '%s' kept %llu bytes in the checkpoint, now it keeps %zu",
                        m->opts.app->name, (unsigned long long)head.app_size,
                        m->opts.app->driver_size);
    books = base_calloc(env_alloc(m->env), m->executor_count, sizeof *books);
    if (books == NULL)
        return base_err_nomem(err, "reading a checkpoint");
    m->closed = head.closed;
    if (!get(&r, books, m->executor_count * sizeof *books) || !unpack_books(m, books))
        st = base_err(err, SHOAL_E_FORMAT, "the checkpoint's executors do not make sense");
    for (uint32_t i = 0; i < m->executor_count && st == SHOAL_OK; i++)
        st = unpack_queue(m, i, books[i].queued, &r, err);
    if (st == SHOAL_OK && r.left != 0)
        st = base_err(err, SHOAL_E_FORMAT, "the checkpoint's driver is too long");
    if (st == SHOAL_OK) {
        unpack_stats(&m->stats, &head);
        m->history = head.history;
    }
    base_free(env_alloc(m->env), books);
    return st;
}
