/* saver.c - see saver.h. */
#include "train/saver.h"

#include "base/err.h"
#include "train/checkpoint.h"
#include "train/master_parts.h"
#include <string.h>

static const uint64_t RETRY_NS = 200 * 1000;                /* of what is locked */
static const uint64_t LAST_NS = 10ull * 1000 * 1000 * 1000; /* for a job that stops to be quiet */
static const uint64_t SYNC_NS = 5 * 1000 * 1000;            /* in simulations */
enum { HOLD_SHARE = 20 };

/* HOLD: no task is sent. CLOCK: none of a later clock than the one that is not closed. COPY: as HOLD,
 * and the thread reads the box. WRITE: the thread writes; tasks go on unless the job is to stop. */
enum step { IDLE, HOLD, CLOCK, COPY, WRITE };

struct train_saver {
    struct train_master *m;
    struct train_shelf *shelf;
    struct env_pool *pool;
    struct env_timer due, retry, last;
    enum step step;
    uint64_t clock;         /* CLOCK: what was closed when it began */
    uint64_t clock_taken;   /* closed in what is copied or written now */
    uint64_t held_since_ns; /* HOLD, COPY */
    uint64_t held_ns;       /* the last time */
    bool stopping;
    bool taken_last; /* what is copied or written now is the last one */
    bool warned;
    bool saved_last, saved; /* there is a checkpoint; and it is all there is */
    uint64_t saved_ns;
    struct base_buf driver;
    /* Of the thread's work. */
    shoal_status status;
    shoal_err err;
    uint64_t size;
};

static void begin(struct train_saver *s);

/* ---- the end of one ---- */

static void go_on(struct train_saver *s)
{
    struct train_master *m = s->m;

    for (uint32_t i = 0; i < m->executor_count; i++)
        if (m->executor[i].sent < m->executor[i].dispatched)
            master_mark(m, i);
    master_pump(m);
}

static void release(struct train_saver *s)
{
    s->held_ns = env_now_ns(s->m->env) - s->held_since_ns;
    if (s->held_ns > s->m->stats.checkpoint_hold_ns)
        s->m->stats.checkpoint_hold_ns = s->held_ns;
    go_on(s);
}

static void due(void *ctx)
{
    struct train_saver *s = ctx;

    if (s->step == IDLE && !s->m->over && !s->m->finished)
        begin(s);
}

static void wait_for_next(struct train_saver *s)
{
    uint64_t delay = s->m->opts.checkpoint.every_ms * 1000000;

    if (delay < HOLD_SHARE * s->held_ns)
        delay = HOLD_SHARE * s->held_ns;
    s->step = IDLE;
    if (env_timer_start(s->m->loop, &s->due, delay, due, s) != SHOAL_OK)
        s->m->stats.checkpoints_failed++; /* there will be no more */
}

static void stop_now(struct train_saver *s)
{
    s->step = IDLE;
    env_timer_stop(&s->last);
    env_timer_stop(&s->retry);
    master_cancel(s->m);
}

static void failed(struct train_saver *s)
{
    const struct base_log *log = s->m->opts.checkpoint.log;

    s->m->stats.checkpoints_failed++;
    if (!s->warned && log != NULL)
        base_log(log, BASE_LOG_WARN, "no checkpoint could be written: %s; the job goes on",
                 s->err.message);
    s->warned = true;
}

static void ended(struct train_saver *s)
{
    base_buf_fini(&s->driver);
    base_buf_init(&s->driver, env_alloc(s->m->env), SIZE_MAX);
    if (s->m->over || s->m->finished) {
        s->step = IDLE;
        return;
    }
    if (s->stopping && s->taken_last)
        stop_now(s);
    else if (s->stopping)
        begin(s);
    else
        wait_for_next(s);
}

/* ---- the thread ---- */

static uint64_t write_work(void *ctx, uint32_t thread)
{
    struct train_saver *s = ctx;

    (void)thread;
    s->size = 0;
    s->status = train_shelf_write(s->shelf, s->driver.data, s->driver.size, &s->size, &s->err);
    return SYNC_NS + s->size;
}

static void written(void *ctx)
{
    struct train_saver *s = ctx;
    struct train_stats *stats = &s->m->stats;
    const struct base_log *log = s->m->opts.checkpoint.log;

    if (s->status == SHOAL_OK) {
        if (log != NULL)
            base_log(log, BASE_LOG_DEBUG,
                     "checkpoint at clock %llu: %.1f MB, tasks held back %.1f ms",
                     (unsigned long long)s->clock_taken, (double)s->size * 1e-6,
                     (double)s->held_ns * 1e-6);
        stats->checkpoints++;
        stats->checkpoint_bytes = s->size;
        s->saved = true;
        s->saved_last = s->taken_last;
        s->warned = false;
        s->saved_ns = env_now_ns(s->m->env);
        stats->checkpoint_up_ns = s->saved_ns - s->m->made_ns;
    } else {
        failed(s);
    }
    ended(s);
}

static uint64_t copy_work(void *ctx, uint32_t thread)
{
    struct train_saver *s = ctx;

    (void)thread;
    s->status = train_shelf_gather(s->shelf, &s->err);
    return 1000 + train_shelf_gathered(s->shelf) / 4;
}

static void copied(void *ctx)
{
    struct train_saver *s = ctx;

    s->step = WRITE;
    if (!s->taken_last)
        release(s);
    if (s->status == SHOAL_OK) {
        if (env_pool_run(s->pool, write_work, written, s) == SHOAL_OK)
            return; /* status and err are the thread's now */
        base_err_nomem(&s->err, "writing a checkpoint");
    }
    failed(s);
    ended(s);
}

/* ---- until all is quiet ---- */

static bool all_heard(const struct train_master *m)
{
    for (uint32_t i = 0; i < m->executor_count; i++) {
        const struct master_executor *e = &m->executor[i];
        if (e->sent != e->done || train_box_committed(m->box, i) != e->done)
            return false;
    }
    return true;
}

static void take(struct train_saver *s)
{
    s->step = COPY;
    s->taken_last = s->stopping;
    s->clock_taken = s->m->closed;
    env_timer_stop(&s->last);
    base_buf_clear(&s->driver);
    saved_pack(s->m, &s->driver);
    if (base_buf_status(&s->driver) == SHOAL_OK &&
        env_pool_run(s->pool, copy_work, copied, s) == SHOAL_OK)
        return; /* status and err are the thread's now */
    base_err_nomem(&s->err, "taking a checkpoint");
    s->step = WRITE;
    if (!s->taken_last)
        release(s);
    failed(s);
    ended(s);
}

static void look_again(void *ctx)
{
    saver_look(ctx);
}

void saver_look(struct train_saver *s)
{
    if (s == NULL || (s->step != HOLD && s->step != CLOCK))
        return;
    struct train_master *m = s->m;
    if (m->finished || m->over) {
        s->step = IDLE;
        return;
    }
    if (s->step == CLOCK && m->closed > s->clock) {
        s->step = HOLD;
        s->held_since_ns = env_now_ns(m->env);
    }
    if (s->step == CLOCK || !all_heard(m))
        return;
    shoal_status st = train_box_fold(m->box);
    if (train_box_settled(m->box)) {
        take(s);
    } else if (st == SHOAL_OK && m->opts.staleness == 0) {
        s->step = CLOCK;
        s->clock = m->closed;
        go_on(s);
    } else if (s->retry.place == 0 &&
               env_timer_start(m->loop, &s->retry, RETRY_NS, look_again, s) != SHOAL_OK) {
        s->step = WRITE;
        release(s);
        base_err_nomem(&s->err, "taking a checkpoint");
        failed(s);
        ended(s);
    }
}

static void begin(struct train_saver *s)
{
    s->step = HOLD;
    s->held_since_ns = env_now_ns(s->m->env);
    saver_look(s);
}

bool saver_holds(const struct train_saver *s, uint64_t clock)
{
    if (s == NULL || s->step == IDLE)
        return false;
    if (s->step == CLOCK)
        return clock > s->clock;
    return s->step != WRITE || s->taken_last;
}

/* ---- stopping ---- */

static void too_late(void *ctx)
{
    struct train_saver *s = ctx;

    if (s->step == HOLD || s->step == CLOCK)
        stop_now(s);
}

bool saver_stop(struct train_saver *s)
{
    if (s == NULL)
        return false;
    if (s->stopping)
        return true;
    if (env_timer_start(s->m->loop, &s->last, LAST_NS, too_late, s) != SHOAL_OK)
        return false;
    s->stopping = true;
    if (s->step == COPY)
        s->taken_last = true; /* nothing has run since */
    else if (s->step == IDLE)
        begin(s);
    return true;
}

void saver_tell(const struct train_saver *s, shoal_err *err)
{
    if (s == NULL || !s->saved || err->hint[0] != 0)
        return;
    if (s->saved_last)
        base_err_hint(err, "the same command with --resume goes on from here");
    else
        base_err_hint(err, "the same command with --resume goes on from %.0f s ago",
                      (double)(env_now_ns(s->m->env) - s->saved_ns) * 1e-9);
}

/* ---- life ---- */

static shoal_status resume(struct train_saver *s, shoal_err *err)
{
    struct base_buf driver;
    shoal_status st;

    base_buf_init(&driver, env_alloc(s->m->env), SIZE_MAX);
    st = train_shelf_load(s->shelf, s->m->opts.checkpoint.log, &driver, err);
    if (st == SHOAL_OK)
        st = saved_unpack(s->m, driver.data, driver.size, err);
    if (st == SHOAL_OK)
        train_box_resume(s->m->box, s->m->closed);
    s->m->rate_units = s->m->stats.units_before = s->m->stats.units;
    s->m->stats.resumed = st == SHOAL_OK;
    s->m->rate_ns = env_now_ns(s->m->env);
    base_buf_fini(&driver);
    s->saved = st == SHOAL_OK;
    s->saved_ns = env_now_ns(s->m->env);
    return st;
}

shoal_status saver_new(struct train_master *m, struct train_saver **out_saver, shoal_err *err)
{
    const struct train_master_opts *o = &m->opts;
    struct train_shelf_job job = {.app = o->app,
                                  .settings = m->settings,
                                  .data = m->path,
                                  .seed = o->seed,
                                  .staleness = o->staleness};
    struct train_saver *s = base_calloc(env_alloc(m->env), 1, sizeof *s);
    shoal_status st;

    if (s == NULL)
        return base_err_nomem(err, "preparing checkpoints");
    s->m = m;
    base_buf_init(&s->driver, env_alloc(m->env), SIZE_MAX);
    st = train_shelf_new(m->env, o->checkpoint.dir, m->box, &job, &s->shelf, err);
    if (st == SHOAL_OK)
        st = env_pool_new(m->loop, 1, &s->pool, err);
    if (st == SHOAL_OK)
        st = o->checkpoint.resume ? resume(s, err) : train_shelf_need_empty(s->shelf, err);
    if (st == SHOAL_OK)
        *out_saver = s;
    else
        saver_free(s);
    return st;
}

shoal_status saver_start(struct train_saver *s)
{
    if (s == NULL)
        return SHOAL_OK;
    return env_timer_start(s->m->loop, &s->due, s->m->opts.checkpoint.every_ms * 1000000, due, s);
}

void saver_free(struct train_saver *s)
{
    if (s == NULL)
        return;
    env_timer_stop(&s->due);
    env_timer_stop(&s->retry);
    env_timer_stop(&s->last);
    env_pool_free(s->pool);
    train_shelf_free(s->shelf);
    base_buf_fini(&s->driver);
    base_free(env_alloc(s->m->env), s);
}
