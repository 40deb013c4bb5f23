/* worker.c - the life of a worker, and what the driver says to it.
 *
 * A worker connects, is set up with the driver's memory or a box of its own, and from then on does as
 * it is told: adopts executors, queues their tasks (worker_visit.c runs them), releases executors.
 * A message that makes no sense ends it; the driver gives its executors to others.
 *
 * Tests: tests/unit/train/test_master*.c. */
#include "train/worker_parts.h"

#include "base/assert.h"
#include "base/err.h"
#include "train/options.h"
#include <stdio.h>
#include <string.h>

void worker_end(struct train_worker *w, shoal_status status, const shoal_err *err)
{
    if (w->over)
        return;
    w->over = true;
    env_timer_stop(&w->retry);
    env_timer_stop(&w->patience);
    env_timer_stop(&w->rows_turn);
    w->opts.ended(w->opts.ctx, status, err);
}

void worker_tell(struct train_worker *w, uint16_t kind, const void *bytes, size_t size)
{
    shoal_err err;

    if (w->over || wire_peer_send(w->peer, kind, bytes, size) == SHOAL_OK)
        return;
    base_err(&err, SHOAL_E_LIMIT, "too much is waiting to be sent to the driver");
    worker_end(w, SHOAL_E_LIMIT, &err);
}

/* What is told of no executor concerns the worker alone: at home it ends the job, since no other
 * worker there would fare better; one from elsewhere is let go. */
void worker_give_up(struct train_worker *w, shoal_status status, const shoal_err *why)
{
    struct item item = {.spec = {.executor = WORKER_NONE}, .status = status};

    w->given_up = *why;
    worker_fail(w, &item, why);
}

/* ---- what the driver says ---- */

/* The driver's box where its memory is shared, else one of our own. */
static shoal_status open_box(struct train_worker *w, const struct train_setup *setup,
                             const char *layout, shoal_err *err)
{
    struct train_box_opts opts = {setup->staleness, w->opts.crash, w->opts.ctx};
    shoal_status st;

    w->away = setup->home == 0;
    if (w->away) {
        if (setup->patience_ms > 0)
            wire_peer_set_patience(w->peer, setup->patience_ms);
        st = train_box_segment(w->env, setup->segment_size, &w->segment, err);
        return st != SHOAL_OK
                   ? st
                   : train_box_new_from_layout(w->env, &w->segment, setup->worker, layout,
                                               setup->layout_size, &opts, &w->box, err);
    }
    st = env_shared_open(w->env, w->opts.segment, setup->segment_size, &w->segment, err);
    return st != SHOAL_OK ? st
                          : train_box_open(w->env, &w->segment, setup->worker, &opts, &w->box, err);
}

static shoal_status set_up(struct train_worker *w, const struct train_setup *setup,
                           const char *text, const char *layout, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(w->env);
    char *line = base_strdup(alloc, text);
    shoal_status st;

    if (line == NULL)
        return base_err_nomem(err, "setting up");
    char *settings = line + strcspn(line, "\n");
    if (*settings == '\n')
        *settings++ = 0;
    w->app = w->opts.find(w->opts.ctx, line);
    st = w->app != NULL ? train_options_new(alloc, w->app, settings, &w->app_options, err)
                        : base_err(err, SHOAL_E_NOTFOUND, "no application '%s' here", line);
    base_free(alloc, line);
    w->seed = setup->seed;
    if (st == SHOAL_OK)
        st = open_box(w, setup, layout, err);
    if (st != SHOAL_OK)
        return st;
    w->seat_count = train_box_executor_count(w->box);
    w->seat = base_calloc(alloc, w->seat_count, sizeof *w->seat);
    w->desk = base_calloc(alloc, w->opts.threads, sizeof *w->desk);
    w->witness = base_calloc(alloc, w->opts.threads, sizeof *w->witness);
    w->visits = base_calloc(alloc, 2 * (size_t)w->opts.threads, sizeof *w->visits);
    if (w->seat == NULL || w->desk == NULL || w->witness == NULL || w->visits == NULL)
        return base_err_nomem(err, "setting up");
    for (uint32_t i = 0; i < w->opts.threads; i++)
        w->witness[i].all = w->opts.witness_all;
    for (uint32_t i = 0; i < train_box_table_count(w->box); i++)
        w->tables |= (uint32_t)!train_box_table_info(w->box, i).held << i;
    for (uint32_t i = 0; i < 2 * w->opts.threads; i++) {
        base_buf_init(&w->visits[i].commits, alloc, WIRE_MESSAGE_MAX + WIRE_BUF_ROOM + 8);
        w->visits[i].worker = w;
        worker_put_idle(w, &w->visits[i]);
    }
    for (uint32_t i = 0; i < w->opts.threads; i++)
        if (train_desk_new(w->box, &w->desk[i]) != SHOAL_OK)
            return base_err_nomem(err, "setting up");
    if (train_desk_new(w->box, &w->lookout) != SHOAL_OK)
        return base_err_nomem(err, "setting up");
    return env_pool_new(w->loop, w->opts.threads, &w->pool, err);
}

static void hear_setup(struct train_worker *w, const void *bytes, size_t size)
{
    struct train_setup setup;
    shoal_err err = SHOAL_ERR_INIT;
    char *text;
    shoal_status st;

    memcpy(&setup, bytes, sizeof setup);
    if (w->box != NULL || (uint64_t)setup.text_size + setup.layout_size != size - sizeof setup) {
        base_err(&err, SHOAL_E_FORMAT, "the driver's set-up makes no sense");
        return worker_end(w, SHOAL_E_FORMAT, &err);
    }
    text = base_calloc(env_alloc(w->env), 1, setup.text_size + 1);
    if (text == NULL)
        return worker_end(w, base_err_nomem(&err, "setting up"), &err);
    memcpy(text, (const char *)bytes + sizeof setup, setup.text_size);
    st = set_up(w, &setup, text, (const char *)bytes + sizeof setup + setup.text_size, &err);
    base_free(env_alloc(w->env), text);
    if (st != SHOAL_OK) {
        worker_give_up(w, st, &err);
    }
}

void worker_confused(struct train_worker *w, const char *by)
{
    shoal_err err;

    base_err(&err, SHOAL_E_FORMAT, "the driver's %s makes no sense", by);
    worker_end(w, SHOAL_E_FORMAT, &err);
}

static void hear_adopt(struct train_worker *w, const struct train_unit *unit, size_t size)
{
    struct seat *seat = &w->seat[unit->executor];

    if (seat->here || (!w->away && size != sizeof *unit))
        return worker_confused(w, "executor");
    if (w->away && train_box_put_executor(w->box, unit->executor, unit + 1, size - sizeof *unit,
                                          NULL) != SHOAL_OK)
        return worker_confused(w, "executor");
    seat->here = seat->moved = true;
    seat->releasing = false;
    seat->committing = 0;
    seat->epoch = unit->epoch;
    seat->queued = 0;
}

static void hear_release(struct train_worker *w, const struct train_unit *unit)
{
    struct seat *seat = &w->seat[unit->executor];

    if (!seat->here || seat->epoch != unit->epoch || seat->releasing)
        return worker_confused(w, "release");
    if (seat->busy)
        atomic_store_explicit(&seat->visit->hurry, true, memory_order_release);
    if (seat->busy || seat->committing > 0)
        seat->releasing = true;
    else
        worker_release(w, unit->executor);
}

static void hear_accepted(struct train_worker *w, const struct train_accepted *accepted,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t executor = accepted[i].unit.executor;
        if (executor >= w->seat_count)
            return worker_confused(w, "word of a commit");
        struct seat *seat = &w->seat[executor];
        if (!seat->here || seat->epoch != accepted[i].unit.epoch || seat->committing == 0)
            return worker_confused(w, "word of a commit");
        seat->committing--;
        train_box_accepted(w->box, executor, accepted[i].number);
        if (seat->releasing && !seat->busy && seat->committing == 0)
            worker_release(w, executor);
        worker_list(w, executor);
    }
    worker_schedule(w);
}

static void hear_data(struct train_worker *w, const struct train_piece *piece, size_t size)
{
    if (train_box_put_data(w->box, piece->executor, piece->offset, piece->total, piece + 1,
                           size - sizeof *piece, NULL) != SHOAL_OK)
        worker_confused(w, "data");
}

static void hear_task(struct train_worker *w, const struct train_order *order)
{
    if (order->spec.executor >= w->seat_count)
        return worker_confused(w, "task");
    struct seat *seat = &w->seat[order->spec.executor];
    if (!train_task_bytes_valid((const unsigned char *)&order->spec) || !seat->here ||
        seat->epoch != order->epoch || seat->releasing || seat->queued == WORKER_QUEUE_MAX)
        return worker_confused(w, "task");
    if (w->away)
        train_box_close(w->box, order->closed);
    seat->queue[seat->queued++] = order->spec;
    worker_list(w, order->spec.executor);
}

static void hear_tasks(struct train_worker *w, const struct train_order *order, size_t count)
{
    for (size_t i = 0; i < count && !w->over; i++)
        hear_task(w, &order[i]);
    worker_schedule(w);
}

/* Messages about an executor name it first; `least` bytes are its struct. */
static bool names_executor(const struct train_worker *w, const void *bytes, size_t size,
                           size_t least)
{
    uint32_t executor;

    if (size < least)
        return false;
    memcpy(&executor, bytes, sizeof executor);
    return executor < w->seat_count;
}

static bool heard_in_box(struct train_worker *w, uint16_t kind, const void *bytes, size_t size)
{
    bool unit = names_executor(w, bytes, size, sizeof(struct train_unit));

    if (kind == TRAIN_TASK && size > 0 && size % sizeof(struct train_order) == 0) {
        hear_tasks(w, bytes, size / sizeof(struct train_order));
    } else if (kind == TRAIN_ADOPT && unit) {
        hear_adopt(w, bytes, size);
    } else if (kind == TRAIN_RELEASE && unit) {
        hear_release(w, bytes);
    } else if (kind == TRAIN_ACCEPTED && w->away && size % sizeof(struct train_accepted) == 0) {
        hear_accepted(w, bytes, size / sizeof(struct train_accepted));
    } else if (kind == TRAIN_DATA && w->away &&
               names_executor(w, bytes, size, sizeof(struct train_piece))) {
        hear_data(w, bytes, size);
    } else if ((kind == TRAIN_ROWS || kind == TRAIN_FACTORS) && w->away) {
        worker_put_rows(w, kind, bytes, size);
    } else {
        return false;
    }
    return true;
}

void worker_hear(struct train_worker *w, uint16_t kind, const void *bytes, size_t size)
{
    if (w->box == NULL || !heard_in_box(w, kind, bytes, size))
        worker_confused(w, "message");
}

static void heard(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes, size_t size)
{
    struct train_worker *w = ctx;
    shoal_err err = SHOAL_ERR_INIT;

    (void)peer;
    if (w->over || (w->given_up.code != SHOAL_OK && kind != TRAIN_STOP))
        return;
    if (kind == TRAIN_SETUP && size >= sizeof(struct train_setup))
        hear_setup(w, bytes, size);
    else if (kind == TRAIN_STOP)
        worker_end(w, SHOAL_OK, &err);
    else if (kind == TRAIN_REFUSED && size == sizeof(struct train_failed))
        worker_end(w, train_failed_read(bytes, &err), &err);
    else if (worker_waits(w) && kind != TRAIN_DATA)
        worker_keep(w, kind, bytes, size);
    else
        worker_hear(w, kind, bytes, size);
}

static void opened(void *ctx, struct wire_peer *peer)
{
    struct train_worker *w = ctx;
    struct train_join join = {.pid = w->opts.pid, .threads = w->opts.threads, .slot = w->opts.slot};

    (void)peer;
    snprintf(join.host, sizeof join.host, "%s", w->opts.host);
    worker_tell(w, TRAIN_JOIN, &join, sizeof join);
}

static void closed(void *ctx, struct wire_peer *peer, const shoal_err *why)
{
    struct train_worker *w = ctx;

    (void)peer;
    w->peer = NULL;
    w->cut =
        !w->over && w->given_up.code == SHOAL_OK && (why->code == SHOAL_E_IO || why->code >= 0);
    if (w->given_up.code != SHOAL_OK)
        why = &w->given_up;
    worker_end(w, why->code != SHOAL_OK ? why->code : SHOAL_E_IO, why);
}

static const struct wire_peer_ops OPS = {opened, heard, closed};

/* ---- life ---- */

shoal_status train_worker_new(struct env_loop *loop, const struct train_worker_opts *opts,
                              struct train_worker **out_worker, shoal_err *err)
{
    shoal_env *env = env_loop_env(loop);
    struct train_worker *w = base_calloc(env_alloc(env), 1, sizeof *w);
    shoal_status st;

    if (w == NULL)
        return base_err_nomem(err, "starting a worker");
    w->env = env;
    w->loop = loop;
    w->opts = *opts;
    w->ready_first = WORKER_NONE;
    w->pause_ns = WORKER_PAUSE_NS;
    st = wire_peer_connect(loop, opts->address, opts->key, opts->wire, &OPS, w, &w->peer, err);
    if (st != SHOAL_OK) {
        base_free(env_alloc(env), w);
        return st;
    }
    *out_worker = w;
    return SHOAL_OK;
}

void train_worker_leave(struct train_worker *w)
{
    worker_tell(w, TRAIN_LEAVE, NULL, 0);
}

bool train_worker_was_cut(const struct train_worker *w)
{
    return w->cut;
}

void train_worker_free(struct train_worker *w)
{
    if (w == NULL)
        return;
    const struct base_alloc *alloc = env_alloc(w->env);
    w->over = true;
    env_timer_stop(&w->retry);
    env_timer_stop(&w->patience);
    worker_rows_free(w);
    env_pool_free(w->pool);
    wire_peer_close(w->peer);
    for (uint32_t i = 0; w->desk != NULL && i < w->opts.threads; i++)
        train_desk_free(w->desk[i]);
    base_free(alloc, w->desk);
    train_desk_free(w->lookout);
    base_free(alloc, w->witness);
    for (uint32_t i = 0; w->visits != NULL && i < 2 * w->opts.threads; i++)
        base_buf_fini(&w->visits[i].commits);
    base_free(alloc, w->visits);
    base_free(alloc, w->seat);
    train_box_free(w->box);
    env_shared_close(w->env, &w->segment);
    train_options_free(alloc, w->app_options);
    base_free(alloc, w);
}
