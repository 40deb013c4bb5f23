/* joiner.c - see joiner.h.
 *
 * After a cut it waits a moment, then connects anew, and waits twice as long after each attempt that
 * failed, up to WAIT_MAX_MS, until retry_ms have passed since the cut. Only a cut is mended: a driver
 * that refuses it, another key, or a worker that is of no use ends it as before. */
#include "train/joiner.h"

#include "base/err.h"

enum { WAIT_MS = 250, WAIT_MAX_MS = 8000, HELLO_MAX_MS = 10000 };
static const uint64_t MS_NS = 1000 * 1000;

struct train_joiner {
    struct env_loop *loop;
    struct train_joiner_opts opts;
    struct wire_opts wire;
    struct train_worker *worker; /* NULL: between two */
    struct env_timer again;
    bool joined; /* once */
    bool set_up; /* this worker is */
    bool leaving, over;
    uint64_t until_ns; /* when it gives up; 0: its line is not cut */
    uint64_t wait_ms, joined_ns;
};

static void end(struct train_joiner *j, shoal_status status, const shoal_err *err)
{
    if (j->over)
        return;
    j->over = true;
    env_timer_stop(&j->again);
    j->opts.worker.ended(j->opts.worker.ctx, status, err);
}

/* ---- what the worker calls ---- */

static const shoal_app *find(void *ctx, const char *name)
{
    struct train_joiner *j = ctx;

    j->joined = j->set_up = true;
    j->until_ns = 0;
    j->joined_ns = env_now_ns(env_loop_env(j->loop));
    return j->opts.worker.find(j->opts.worker.ctx, name);
}

static uint64_t task_ns(void *ctx, const struct train_task_spec *spec)
{
    struct train_joiner *j = ctx;

    return j->opts.worker.task_ns(j->opts.worker.ctx, spec);
}

static bool crash(void *ctx)
{
    struct train_joiner *j = ctx;

    return j->opts.worker.crash(j->opts.worker.ctx);
}

static void connect_again(void *ctx);

static void wait_and_connect(struct train_joiner *j, const shoal_err *why)
{
    uint64_t now = env_now_ns(env_loop_env(j->loop)), wait_ns = j->wait_ms * MS_NS;
    shoal_err err;

    if (now >= j->until_ns) {
        base_err(&err, SHOAL_E_IO, "%.300s; tried again for %g s", why->message,
                 (double)j->opts.retry_ms / 1e3);
        return end(j, SHOAL_E_IO, &err);
    }
    if (wait_ns > j->until_ns - now)
        wait_ns = j->until_ns - now; /* one more at the end */
    j->wait_ms = 2 * j->wait_ms < WAIT_MAX_MS ? 2 * j->wait_ms : WAIT_MAX_MS;
    if (env_timer_start(j->loop, &j->again, wait_ns, connect_again, j) != SHOAL_OK)
        end(j, base_err_nomem(&err, "joining again"), &err);
}

/* One that was cut right after it had joined waits on, so that it does not knock all the time. */
static void begin_again(struct train_joiner *j, const shoal_err *why)
{
    uint64_t now = env_now_ns(env_loop_env(j->loop));

    if (j->wait_ms == 0 || now - j->joined_ns > WAIT_MAX_MS * MS_NS)
        j->wait_ms = WAIT_MS;
    j->until_ns = now + j->opts.retry_ms * MS_NS;
    if (j->opts.cut != NULL)
        j->opts.cut(j->opts.worker.ctx, why);
    wait_and_connect(j, why);
}

static void worker_ended(void *ctx, shoal_status status, const shoal_err *err)
{
    struct train_joiner *j = ctx;
    bool was_cut = j->worker != NULL && train_worker_was_cut(j->worker);

    if (j->over)
        return;
    if (!was_cut || j->opts.retry_ms == 0 || j->leaving || !j->joined)
        end(j, status, err);
    else if (j->set_up)
        begin_again(j, err);
    else
        wait_and_connect(j, err);
}

/* ---- life ---- */

static shoal_status start(struct train_joiner *j, shoal_err *err)
{
    struct train_worker_opts opts = j->opts.worker;

    opts.wire = &j->wire;
    opts.find = find;
    opts.ended = worker_ended;
    opts.task_ns = opts.task_ns != NULL ? task_ns : NULL;
    opts.crash = opts.crash != NULL ? crash : NULL;
    opts.ctx = j;
    j->set_up = false;
    return train_worker_new(j->loop, &opts, &j->worker, err);
}

static void connect_again(void *ctx)
{
    struct train_joiner *j = ctx;
    shoal_err err = SHOAL_ERR_INIT;

    train_worker_free(j->worker);
    j->worker = NULL;
    if (j->wire.hello_ms > HELLO_MAX_MS)
        j->wire.hello_ms = HELLO_MAX_MS; /* rather once more than for long */
    shoal_status st = start(j, &err);
    if (st == SHOAL_E_IO)
        wait_and_connect(j, &err);
    else if (st != SHOAL_OK)
        end(j, st, &err);
}

shoal_status train_joiner_new(struct env_loop *loop, const struct train_joiner_opts *opts,
                              struct train_joiner **out_joiner, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env_loop_env(loop));
    struct train_joiner *j = base_calloc(alloc, 1, sizeof *j);

    if (j == NULL)
        return base_err_nomem(err, "joining");
    j->loop = loop;
    j->opts = *opts;
    j->wire = *opts->worker.wire;
    shoal_status st = start(j, err);
    if (st != SHOAL_OK) {
        base_free(alloc, j);
        return st;
    }
    *out_joiner = j;
    return SHOAL_OK;
}

void train_joiner_leave(struct train_joiner *j)
{
    shoal_err err = SHOAL_ERR_INIT;

    j->leaving = true;
    if (j->set_up && j->until_ns == 0)
        train_worker_leave(j->worker);
    else if (j->joined)
        end(j, SHOAL_OK, &err);
    else
        end(j, base_err(&err, SHOAL_E_CANCELLED, "stopped before it had joined"), &err);
}

void train_joiner_free(struct train_joiner *j)
{
    if (j == NULL)
        return;
    j->over = true;
    env_timer_stop(&j->again);
    train_worker_free(j->worker);
    base_free(env_alloc(env_loop_env(j->loop)), j);
}
