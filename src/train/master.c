/* master.c - the tasks of a job: queued, heard of.
 *
 * Each executor has a queue of numbered tasks, which deal.c sends. Word of an end (or of a worker's
 * death, or a release) makes the master look into the box, which holds the truth, and tell the
 * application of every number committed since. The hooks may dispatch more; those executors are
 * marked and pumped when the hook has returned. Tests: tests/unit/train/test_master*.c. */
#include "train/master_parts.h"

#include "base/assert.h"
#include "base/err.h"
#include "train/options.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const uint64_t RETRY_NS = 200 * 1000; /* of what is locked */

void master_mark(struct train_master *m, uint32_t executor)
{
    struct master_executor *e = &m->executor[executor];

    if (e->marked)
        return;
    e->marked = true;
    m->marked[m->marked_count++] = executor;
}

/* ---- the queue ---- */

static bool reserve_queue(struct train_master *m, struct master_executor *e)
{
    size_t capacity = e->capacity == 0 ? 4 : 2 * e->capacity;
    struct train_task_spec *queue;

    if (e->dispatched - e->done < e->capacity)
        return true;
    queue = base_calloc(env_alloc(m->env), capacity, sizeof *queue);
    if (queue == NULL)
        return false;
    for (uint64_t number = e->done + 1; number <= e->dispatched; number++)
        queue[number % capacity] = *master_task(e, number);
    base_free(env_alloc(m->env), e->queue);
    e->queue = queue;
    e->capacity = capacity;
    return true;
}

static shoal_status check_dispatch(const struct train_master *m, const shoal_dispatch *task,
                                   shoal_err *err)
{
    if (task->executor >= m->executor_count)
        return base_err(err, SHOAL_E_INVAL, "task for executor %u; there are %u", task->executor,
                        m->executor_count);
    if (task->arg_size > SHOAL_TASK_ARG_MAX)
        return base_err(err, SHOAL_E_INVAL, "a task's argument of %zu bytes; at most %d",
                        task->arg_size, SHOAL_TASK_ARG_MAX);
    if (task->holds && !train_box_can_hold(m->box, task->hold_table, task->hold_shard,
                                           task->hold_count, task->hold_step))
        return base_err(err, SHOAL_E_INVAL, "a task cannot hold shard %u of table %u",
                        task->hold_shard, task->hold_table);
    const struct master_executor *e = &m->executor[task->executor];
    if (e->dispatched > e->done && task->clock < master_task(e, e->dispatched)->clock)
        return base_err(err, SHOAL_E_INVAL, "clock %llu after clock %llu on executor %u",
                        (unsigned long long)task->clock,
                        (unsigned long long)master_task(e, e->dispatched)->clock, task->executor);
    return SHOAL_OK;
}

shoal_status master_queue(struct train_master *m, const shoal_dispatch *task, shoal_err *err)
{
    shoal_status st = check_dispatch(m, task, err);

    if (st != SHOAL_OK || m->finished)
        return st;
    struct master_executor *e = &m->executor[task->executor];
    if (!reserve_queue(m, e))
        return base_err_nomem(err, "queueing a task");
    struct train_task_spec spec = {.executor = task->executor,
                                   .fn = task->fn,
                                   .number = e->dispatched + 1,
                                   .clock = task->clock,
                                   .hold_table = task->hold_table,
                                   .hold_shard = task->hold_shard,
                                   .hold_count = task->hold_count,
                                   .hold_step = task->hold_step,
                                   .hold_whole = task->hold_whole,
                                   .unread = task->unread,
                                   .arg_size = (uint16_t)task->arg_size,
                                   .ends_clock = task->ends_clock,
                                   .holds = task->holds};
    if (task->arg_size > 0)
        memcpy(spec.arg, task->arg, task->arg_size);
    e->dispatched++;
    *master_task(e, e->dispatched) = spec;
    master_mark(m, task->executor);
    return SHOAL_OK;
}

/* ---- held shards ---- */

uint32_t master_first_shard(const struct train_master *m, uint32_t table)
{
    uint32_t count = 0;

    for (uint32_t t = 0; t < table && t < train_box_table_count(m->box); t++)
        count += train_box_table_info(m->box, t).shards;
    return count;
}

/* The books of the index-th shard that a task holds. */
static struct master_hold *hold_of(const struct train_master *m, const struct train_task_spec *spec,
                                   uint32_t index)
{
    return &m->hold[master_first_shard(m, spec->hold_table) + spec->hold_shard +
                    index * spec->hold_step];
}

/* A shard's lock keeps tasks of this machine apart. One that runs elsewhere works on a copy, so
 * nobody else may be out with the same shard. */
bool master_hold_free(const struct train_master *m, const struct master_executor *e,
                      const struct train_task_spec *spec)
{
    for (uint32_t i = 0; i < train_task_holds(spec); i++) {
        struct master_hold *hold = hold_of(m, spec, i);
        if (hold->out == 0 || (!hold->afar && m->crew[e->worker]->away == NULL))
            continue;
        hold->wanted = true;
        return false;
    }
    return true;
}

void master_hold_enter(struct train_master *m, const struct master_executor *e,
                       const struct train_task_spec *spec)
{
    for (uint32_t i = 0; i < train_task_holds(spec); i++) {
        struct master_hold *hold = hold_of(m, spec, i);
        hold->out++;
        hold->afar = m->crew[e->worker]->away != NULL;
    }
}

/* The task is out no more: who waits for its shards may have them. */
static void hold_leave(struct train_master *m, const struct train_task_spec *spec)
{
    bool wanted = false;

    for (uint32_t i = 0; i < train_task_holds(spec); i++) {
        struct master_hold *hold = hold_of(m, spec, i);
        if (--hold->out > 0)
            continue;
        wanted |= hold->wanted;
        hold->afar = hold->wanted = false;
    }
    if (!wanted)
        return;
    for (uint32_t i = 0; i < m->executor_count; i++)
        if (m->executor[i].sent < m->executor[i].dispatched)
            master_mark(m, i);
}

void master_unsend(struct train_master *m, uint32_t executor)
{
    struct master_executor *e = &m->executor[executor];

    for (uint64_t committed = train_box_committed(m->box, executor); e->sent > committed; e->sent--)
        if (master_task(e, e->sent)->holds)
            hold_leave(m, master_task(e, e->sent));
}

const struct train_task_spec *master_sent(const struct train_master *m, uint32_t executor,
                                          uint64_t number)
{
    const struct master_executor *e = &m->executor[executor];

    return number > e->done && number <= e->sent ? master_task(e, number) : NULL;
}

/* ---- hearing ---- */

/* The clocks all have ended; when they are more than before, gates open. */
static void close_clocks(struct train_master *m)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < m->executor_count; i++)
        least = m->executor[i].ended < least ? m->executor[i].ended : least;
    if (least == m->closed)
        return;
    m->closed = least;
    m->stats.clocks = least;
    train_box_close(m->box, least);
    for (uint32_t i = 0; i < m->executor_count; i++)
        if (m->executor[i].sent < m->executor[i].dispatched)
            master_mark(m, i);
}

/* False: the application waits for tables that are locked; it is asked again soon. */
static bool hear(struct train_master *m, struct master_executor *e, const struct train_commit *c)
{
    shoal_err err = SHOAL_ERR_INIT;
    shoal_done done = {.executor = (uint32_t)(e - m->executor),
                       .fn = c->fn,
                       .clock = c->clock,
                       .result = c->result,
                       .result_size = c->result_size};

    if (c->ends_clock && e->ended <= c->clock) {
        bool was_last = e->ended == m->closed;
        e->ended = c->clock + 1;
        if (was_last)
            close_clocks(m);
    }
    shoal_status st = m->opts.app->done(&m->driver, &done, &err);
    if (st == SHOAL_AGAIN)
        return false;
    shoal_assert(e->sent >= c->number && c->number == e->done + 1);
    if (e->worker != TRAIN_NOBODY)
        deal_leave(m, e, e->done, c->number);
    e->done = c->number;
    if (e->worker != TRAIN_NOBODY)
        stall_begin(m, e);
    if (master_task(e, e->done)->holds)
        hold_leave(m, master_task(e, e->done));
    m->stats.tasks++;
    if (st != SHOAL_OK)
        master_fail(m, st, &err);
    master_mark(m, done.executor);
    return true;
}

static void ask_again(void *ctx)
{
    struct train_master *m = ctx;

    away_retry(m);
    for (uint32_t i = 0; i < m->executor_count; i++) {
        master_collect(m, i);
        if (m->executor[i].waiting) {
            m->executor[i].waiting = false;
            master_mark(m, i);
        }
    }
    master_pump(m);
    master_check_end(m);
}

void master_again(struct train_master *m)
{
    shoal_err err;

    m->stats.retries++;
    if (m->again.place == 0 && !m->over &&
        env_timer_start(m->loop, &m->again, RETRY_NS, ask_again, m) != SHOAL_OK)
        master_fail(m, base_err_nomem(&err, "waiting for a table"), &err);
}

void master_collect(struct train_master *m, uint32_t executor)
{
    struct master_executor *e = &m->executor[executor];
    uint64_t committed = train_box_committed(m->box, executor);
    struct train_commit commit;

    while (e->done < committed && !m->over) {
        bool found = train_box_commit_find(m->box, executor, e->done + 1, &commit);
        shoal_assert(found);
        if (hear(m, e, &commit))
            continue;
        master_again(m);
        return;
    }
}

/* ---- the end ---- */

void master_fail(struct train_master *m, shoal_status status, const shoal_err *err)
{
    if (m->status == SHOAL_OK) {
        m->status = status;
        m->err = *err;
    }
    m->finished = true;
}

static void end(struct train_master *m)
{
    m->over = true;
    env_timer_stop(&m->balance);
    env_timer_stop(&m->gather);
    if (m->status == SHOAL_OK && m->cancelled) {
        m->status = SHOAL_E_CANCELLED;
        base_err(&m->err, SHOAL_E_CANCELLED, "cancelled");
    }
    if (m->status != SHOAL_OK)
        saver_tell(m->saver, &m->err);
    m->opts.ended(m->opts.ctx, m->status, &m->err);
}

static void settle(void *ctx)
{
    master_check_end(ctx);
}

/* Tasks out: sent and not heard of. After `finish` they are waited for, then all is folded. */
void master_check_end(struct train_master *m)
{
    uint64_t out = 0, queued = 0;

    saver_look(m->saver);
    if (m->over)
        return;
    for (uint32_t i = 0; i < m->executor_count; i++) {
        out += m->executor[i].sent - m->executor[i].done;
        queued += m->executor[i].dispatched - m->executor[i].sent;
    }
    if (!m->finished && m->started && out == 0 && queued == 0) {
        shoal_err err;
        base_err(&err, SHOAL_E_INVAL, "application '%s' left no task and did not finish",
                 m->opts.app->name);
        master_fail(m, SHOAL_E_INVAL, &err);
    }
    if (!m->finished || (out > 0 && m->status == SHOAL_OK))
        return;
    if (m->status == SHOAL_OK && !hire_empty(m)) {
        hire_stop(m);
        return; /* comes back as they leave */
    }
    if (m->status == SHOAL_OK && train_box_fold(m->box) == SHOAL_AGAIN) {
        if (env_timer_start(m->loop, &m->settle, RETRY_NS, settle, m) == SHOAL_OK)
            return;
        base_err_nomem(&m->err, "ending the job");
        m->status = SHOAL_E_NOMEM;
    }
    end(m);
}

void master_cancel(struct train_master *m)
{
    m->cancelled = true;
    m->finished = true;
    master_check_end(m);
}

void train_master_stop(struct train_master *m)
{
    if (m->finished || !saver_stop(m->saver))
        master_cancel(m);
}

/* ---- life ---- */

static void copy_opts(struct train_master *m, const struct train_master_opts *opts)
{
    m->opts = *opts;
    m->driver.staleness_open = opts->staleness == SHOAL_STALENESS_PLANNED;
    if (m->driver.staleness_open)
        m->opts.staleness = 0;
    m->key = *opts->key;
    m->wire = *opts->wire;
    m->wanted = opts->workers;
    m->stats.value = NAN;
    m->stats.held_out = NAN;
    m->stats.gap = NAN;
    m->stats.progress = NAN;
    m->path = base_strdup(env_alloc(m->env), opts->path);
    m->settings = base_strdup(env_alloc(m->env), opts->settings);
}

/* Runs the application's plan: after it the box is sealed and executors have their books. */
static shoal_status plan(struct train_master *m, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(m->env);
    const shoal_app *app = m->opts.app;
    struct train_box_opts box_opts = {.staleness = m->opts.staleness};
    shoal_status st;

    m->driver.master = m;
    m->driver.state = base_calloc(alloc, 1, app->driver_size > 0 ? app->driver_size : 1);
    if (m->path == NULL || m->settings == NULL || m->driver.state == NULL)
        return base_err_nomem(err, "starting a job");
    st = train_options_new(alloc, app, m->settings, &m->driver.options, err);
    if (st == SHOAL_OK)
        st = train_box_segment(m->env, m->opts.segment_size, &m->segment, err);
    if (st == SHOAL_OK)
        st = train_box_new(m->env, &m->segment, &box_opts, &m->box, err);
    if (st == SHOAL_OK)
        st = app->plan(&m->driver, err);
    m->driver.planned = true;
    if (st == SHOAL_OK)
        st = train_box_seal(m->box, err);
    if (st != SHOAL_OK)
        return st;
    m->executor_count = train_box_executor_count(m->box);
    m->stats.executors = m->executor_count;
    m->executor = base_calloc(alloc, m->executor_count, sizeof *m->executor);
    m->marked = base_calloc(alloc, m->executor_count, sizeof *m->marked);
    m->place = base_calloc(alloc, m->executor_count, sizeof *m->place);
    m->hold = base_calloc(alloc, master_first_shard(m, UINT32_MAX) + 1, sizeof *m->hold);
    if (m->executor == NULL || m->marked == NULL || m->place == NULL || m->hold == NULL)
        return base_err_nomem(err, "starting a job");
    for (uint32_t i = 0; i < m->executor_count; i++)
        m->executor[i].worker = m->executor[i].target = TRAIN_NOBODY;
    return SHOAL_OK;
}

shoal_status train_master_new(struct env_loop *loop, const struct train_master_opts *opts,
                              struct train_master **out_master, shoal_err *err)
{
    shoal_env *env = env_loop_env(loop);
    struct train_master *m = base_calloc(env_alloc(env), 1, sizeof *m);
    shoal_status st;

    if (m == NULL)
        return base_err_nomem(err, "starting a job");
    m->env = env;
    m->loop = loop;
    m->made_ns = m->rate_ns = env_now_ns(env);
    copy_opts(m, opts);
    st = plan(m, err);
    if (st == SHOAL_OK && opts->checkpoint.dir != NULL)
        st = saver_new(m, &m->saver, err);
    if (st == SHOAL_OK && m->saver != NULL && saver_start(m->saver) != SHOAL_OK)
        st = base_err_nomem(err, "starting a job");
    if (st == SHOAL_OK && !opts->checkpoint.resume)
        st = opts->app->start(&m->driver, err);
    if (st == SHOAL_OK && m->status != SHOAL_OK)
        st = m->status;
    if (st == SHOAL_OK)
        st = hire_start(m, err);
    if (st != SHOAL_OK) {
        train_master_free(m);
        return st;
    }
    *out_master = m;
    return SHOAL_OK;
}

void train_master_close_saver(struct train_master *m)
{
    saver_free(m->saver);
    m->saver = NULL;
}

void train_master_free(struct train_master *m)
{
    if (m == NULL)
        return;
    const struct base_alloc *alloc = env_alloc(m->env);
    m->over = true;
    env_timer_stop(&m->gather);
    env_timer_stop(&m->balance);
    env_timer_stop(&m->settle);
    env_timer_stop(&m->again);
    hire_free(m);
    wire_key_wipe(&m->key);
    saver_free(m->saver);
    for (uint32_t i = 0; m->executor != NULL && i < m->executor_count; i++)
        base_free(alloc, m->executor[i].queue);
    base_free(alloc, m->executor);
    base_free(alloc, m->marked);
    base_free(alloc, m->place);
    base_free(alloc, m->hold);
    train_box_free(m->box);
    env_shared_close(m->env, &m->segment);
    shoal_driver_keep(&m->driver, NULL, NULL);
    train_options_free(alloc, m->driver.options);
    base_free(alloc, m->driver.state);
    base_free(alloc, m->path);
    base_free(alloc, m->settings);
    base_free(alloc, m);
}

const char *train_master_address(const struct train_master *m)
{
    return wire_server_address(m->server);
}

shoal_driver *train_master_driver(struct train_master *m)
{
    return &m->driver;
}

static void call(struct train_master *m, shoal_status (*hook)(shoal_driver *, shoal_err *),
                 const char *what)
{
    shoal_err err = SHOAL_ERR_INIT;
    char line[sizeof err.message + 80];

    if (hook == NULL || hook(&m->driver, &err) == SHOAL_OK)
        return;
    snprintf(line, sizeof line, "what was learnt cannot be %s: %s", what, err.message);
    train_learnt_say(m->driver.learnt, line);
}

void train_master_learn(struct train_master *m, struct train_learnt *out)
{
    m->driver.learnt = out;
    call(m, m->opts.app->tell, "told");
    m->driver.showing = out->shown;
    if (out->shown)
        call(m, m->opts.app->show, "shown");
    m->driver.showing = false;
    m->driver.learnt = NULL;
}

struct train_trail *train_master_trail(struct train_master *m)
{
    return &m->trail;
}

struct train_box *train_master_box(struct train_master *m)
{
    return m->box;
}

struct train_stats train_master_stats(const struct train_master *m)
{
    struct train_stats stats = m->stats;

    stats.wanted = m->wanted;
    stats.up_ns = env_now_ns(m->env) - m->made_ns;
    return stats;
}

const char *train_master_refusal(const struct train_master *m)
{
    return m->refusal;
}

const struct train_history *train_master_history(const struct train_master *m)
{
    return &m->history;
}

const struct train_master_opts *train_master_asked(const struct train_master *m)
{
    return &m->opts;
}

shoal_status train_master_table(const struct train_master *m, uint32_t index,
                                struct train_table_info *out)
{
    if (index >= train_box_table_count(m->box))
        return SHOAL_END;
    *out = train_box_table_info(m->box, index);
    return SHOAL_OK;
}
