/* worker.c - executors' queues on one side, threads on the other.
 *
 * The loop keeps each executor's queue and hands tasks out in visits. A visit is a list of tasks that
 * belongs to one pool thread until it comes back, so the two sides share nothing and need no lock.
 * Two visits per thread are out at a time, so that threads do not wait for the loop.
 *
 * A visit costs some tens of microseconds, here and at the driver: wake-ups and messages. So it
 * holds about VISIT_NS of work, as far as that can be told, for as long as all threads of the job
 * have enough to do. When some have not, here (`hungry`) or at another worker (train_box_hungry),
 * visits come back early: what is left of them is shared out, and word of what they have done lets
 * others begin. An executor that is to be released brings its visit back at once.
 *
 * A task of a clock for which others still have to end the one before would read what is old. Those
 * of lower clocks go first. When there are none, the worker waits, for up to one part in PATIENCE of
 * the time that it worked: where workers are about as fast as each other this keeps them together, and
 * nearly all reads as fresh as in a bulk synchronous job; what is left over is for the unforeseen.
 * A task that finds a shard locked is tried again after a pause that doubles. Both count as waiting
 * (`wait_ns` of what is told of a task).
 *
 * Tests: tests/unit/train/test_master*.c, test_slow_worker.c. */
#include "train/worker.h"

#include "base/assert.h"
#include "base/err.h"
#include "train/options.h"
#include "train/protocol.h"
#include "train/witness.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    COMMITS_SIZE = 256 << 10, /* a visit ends when it has more bytes than that for the driver */
    QUEUE_MAX = 4,            /* tasks of an executor; the driver sends at most 2 ahead */
    ITEMS_MAX = 64,           /* tasks in a visit */
    TRIES_MAX = 64            /* to begin a task, before it goes back */
};
static const uint64_t VISIT_NS = 4000 * 1000;      /* of work in a visit */
static const uint64_t VISIT_MIN_NS = 1000 * 1000;  /* elsewhere; below this none is cut further */
static const uint64_t VISIT_SHORT_NS = 200 * 1000; /* while some thread has nothing to do */
enum { PATIENCE = 33 }; /* one part in so many of the time worked may be waited for others */
static const uint64_t PATIENCE_STEP_NS = 50 * 1000;       /* between looks at the others */
static const uint64_t PATIENCE_MAX_NS = 20 * 1000 * 1000; /* that may be saved up */
static const uint64_t PAUSE_MIN_NS = 50 * 1000;           /* before a locked shard is tried again */
static const uint64_t PAUSE_MAX_NS = 2000 * 1000;         /* after many in a row */

struct seat {
    bool here, busy, listed; /* adopted; in a visit; in the ready list */
    bool releasing;
    bool moved;          /* adopted, and has not been ready since */
    uint32_t committing; /* elsewhere: commits that the driver has not accepted */
    bool locked;         /* found a shard locked; waits for the retry timer */
    struct visit *visit; /* when busy */
    uint32_t epoch;
    uint32_t next; /* in the ready list */
    uint32_t queued;
    struct train_task_spec queue[QUEUE_MAX];
    uint64_t cost_ns;
    uint64_t tried_ns; /* when its first task was tried first; 0: not yet */
};

struct item {
    struct train_task_spec spec;
    uint64_t tried_ns; /* when it was tried first, in an earlier visit; 0: in none */
    struct train_ended ended;
    shoal_status status; /* SHOAL_END: not tried; SHOAL_AGAIN: a shard was locked */
    bool violated;       /* it failed because of a broken rule */
};

struct visit {
    struct train_worker *worker;
    struct visit *next;
    uint32_t count, ended_count;
    atomic_bool hurry; /* set by the loop: begin no further task */
    struct item item[ITEMS_MAX];
    struct train_ended ended[ITEMS_MAX]; /* for the driver */
    struct base_buf commits;             /* elsewhere: what goes to the driver */
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
    struct env_timer retry, patience;
    uint64_t patient_ns;        /* that it may yet wait for others */
    uint64_t waiting_ns;        /* since when it waits; 0: it does not */
    uint32_t waiting_threads;   /* that have nothing to do meanwhile */
    uint64_t waited_ns;         /* by all threads, that the driver has not been told of */
    struct train_desk *lookout; /* the loop's */
    uint64_t pause_ns;
    bool away;       /* has a box of its own */
    uint32_t tables; /* that change by increments, a bit each */
    bool over;
};

static const uint32_t NONE = UINT32_MAX;

static void end(struct train_worker *w, shoal_status status, const shoal_err *err)
{
    if (w->over)
        return;
    w->over = true;
    env_timer_stop(&w->retry);
    env_timer_stop(&w->patience);
    w->opts.ended(w->opts.ctx, status, err);
}

static void tell(struct train_worker *w, uint16_t kind, const void *bytes, size_t size)
{
    shoal_err err;

    if (w->over || wire_peer_send(w->peer, kind, bytes, size) == SHOAL_OK)
        return;
    base_err(&err, SHOAL_E_LIMIT, "too much is waiting to be sent to the driver");
    end(w, SHOAL_E_LIMIT, &err);
}

/* ---- a pool thread ---- */

/* One task, from its tables being fresh to its commit. */
static shoal_status run_task(struct train_worker *w, uint32_t thread, struct item *item,
                             shoal_err *err)
{
    struct train_desk *desk = w->desk[thread];
    uint64_t started = env_now_ns(w->env), stale = train_desk_stale(desk, item->spec.clock);
    shoal_task *task;
    shoal_status st = SHOAL_AGAIN;

    uint64_t begun = started;
    for (int i = 0; i < TRIES_MAX && st == SHOAL_AGAIN; i++) {
        begun = i > 0 ? env_now_ns(w->env) : started;
        st = train_task_begin(desk, w->seed, w->app_options, &item->spec, &task, err);
    }
    if (st != SHOAL_OK)
        return st;
    st = train_witness_look(&w->witness[thread], w->box, &item->spec, &item->ended.checked, err);
    item->violated = st != SHOAL_OK;
    if (st == SHOAL_OK)
        st = w->app->run(task, err);
    if (st != SHOAL_OK) {
        train_task_abort(task);
        return st == SHOAL_AGAIN ? SHOAL_E_INTERNAL : st;
    }
    st = train_task_commit(task, err);
    item->ended.begun_ns = begun;
    item->ended.wait_ns = begun - (item->tried_ns > 0 ? item->tried_ns : started);
    item->ended.run_ns = env_now_ns(w->env) - begun;
    item->ended.stale = (uint32_t)stale;
    return st;
}

/* Appends what the task committed, for the driver. */
static void pack(struct train_worker *w, struct visit *v, struct item *item)
{
    static const char ZERO[8];
    size_t start = v->commits.size, first = start + sizeof item->ended;

    item->ended.epoch = w->seat[item->spec.executor].epoch;
    base_buf_append(&v->commits, &item->ended, sizeof item->ended);
    train_box_pack_commit(w->box, item->spec.executor, &v->commits);
    item->ended.size = (uint32_t)(v->commits.size - first);
    base_buf_append(&v->commits, ZERO, (8 - item->ended.size % 8) % 8);
    if (base_buf_status(&v->commits) == SHOAL_OK)
        memcpy(v->commits.data + start, &item->ended, sizeof item->ended);
}

/* Where rows are copies, what is done has to get home soon. */
static uint64_t visit_ns(const struct train_worker *w)
{
    return w->away ? VISIT_MIN_NS : VISIT_NS;
}

/* Whether a visit that has worked for this long should come back. */
static bool is_over(struct train_worker *w, struct visit *v, uint64_t spent_ns)
{
    if (atomic_load_explicit(&v->hurry, memory_order_acquire) || spent_ns > 2 * visit_ns(w) ||
        v->commits.size > COMMITS_SIZE)
        return true;
    return spent_ns >= VISIT_SHORT_NS &&
           (atomic_load_explicit(&w->hungry, memory_order_relaxed) || train_box_hungry(w->box));
}

static uint64_t work(void *ctx, uint32_t thread)
{
    struct visit *v = ctx;
    struct train_worker *w = v->worker;
    uint64_t started = env_now_ns(w->env), virtual_ns = 0;

    wire_buf_begin(&v->commits);
    for (uint32_t i = 0; i < v->count; i++) {
        struct item *item = &v->item[i];
        if (is_over(w, v, env_now_ns(w->env) - started + virtual_ns))
            break; /* the rest stays untried */
        item->status = run_task(w, thread, item, &v->err);
        if (w->opts.task_ns != NULL) {
            uint64_t took_ns = w->opts.task_ns(w->opts.ctx, &item->spec);
            item->ended.run_ns += took_ns;
            virtual_ns += took_ns;
        }
        if (item->status < 0)
            break;
        if (item->status == SHOAL_OK && w->away)
            pack(w, v, item);
        if (item->status == SHOAL_AGAIN) /* later tasks of the same executor must wait too */
            while (i + 1 < v->count && v->item[i + 1].spec.executor == item->spec.executor)
                i++;
    }
    return virtual_ns;
}

/* ---- the ready list ---- */

/* Elsewhere: how many of its executor's commits may be on their way when the task begins. One that
 * reads or holds waits for them; see away.c. */
static bool may_begin(const struct train_worker *w, const struct train_task_spec *spec,
                      uint32_t committing)
{
    return committing == 0 || (committing == 1 && !spec->holds && (w->tables & ~spec->unread) == 0);
}

static uint64_t clock_of(const struct train_worker *w, uint32_t executor)
{
    return w->seat[executor].queue[0].clock;
}

/* Lower clocks first, then as they come; one that has just moved here has paused long enough. */
static void list(struct train_worker *w, uint32_t executor)
{
    struct seat *seat = &w->seat[executor];

    if (seat->listed || seat->busy || seat->locked || seat->queued == 0 ||
        !may_begin(w, &seat->queue[0], seat->committing))
        return;
    seat->listed = true;
    uint64_t before = clock_of(w, executor) + !seat->moved; /* clocks that go first */
    uint32_t *at = &w->ready_first;
    if (w->ready_count++ > 0 && clock_of(w, w->ready_last) < before)
        at = &w->seat[w->ready_last].next; /* nearly always */
    while (*at != NONE && clock_of(w, *at) < before)
        at = &w->seat[*at].next;
    seat->moved = false;
    seat->next = *at;
    *at = executor;
    if (seat->next == NONE)
        w->ready_last = executor;
}

static uint32_t take_ready(struct train_worker *w)
{
    uint32_t executor = w->ready_first;
    struct seat *seat = &w->seat[executor];

    w->ready_first = seat->next;
    w->ready_count--;
    seat->listed = false;
    return executor;
}

static void release(struct train_worker *w, uint32_t executor)
{
    struct seat *seat = &w->seat[executor];
    struct train_unit unit = {executor, seat->epoch};

    seat->here = seat->releasing = seat->locked = false;
    seat->committing = seat->queued = 0;
    tell(w, TRAIN_RELEASED, &unit, sizeof unit);
}

static void schedule(struct train_worker *w);

static void retry(void *ctx)
{
    struct train_worker *w = ctx;

    for (uint32_t e = 0; e < w->seat_count; e++) {
        if (w->seat[e].locked) {
            w->seat[e].locked = false;
            list(w, e);
        }
    }
    schedule(w);
}

static void fail(struct train_worker *w, const struct item *item, const shoal_err *why)
{
    struct train_failed failed = {
        .executor = item->spec.executor, .code = item->status, .violations = item->violated};

    snprintf(failed.message, sizeof failed.message, "%s", why->message);
    snprintf(failed.where, sizeof failed.where, "%s", why->where);
    snprintf(failed.hint, sizeof failed.hint, "%s", why->hint);
    tell(w, TRAIN_FAILED, &failed, sizeof failed);
}

static void send_commits(struct train_worker *w, struct visit *v)
{
    shoal_status st = base_buf_status(&v->commits);
    shoal_err err;

    if (st == SHOAL_OK && v->commits.size > WIRE_BUF_ROOM && !w->over)
        st = wire_peer_send_buf(w->peer, TRAIN_COMMIT, &v->commits);
    if (st != SHOAL_OK) {
        base_err(&err, st, "commits of %zu bytes cannot be sent", v->commits.size);
        end(w, st, &err);
    }
}

static void tell_ended(struct train_worker *w, struct visit *v)
{
    if (v->ended_count > 0)
        tell(w, TRAIN_ENDED, v->ended, v->ended_count * sizeof v->ended[0]);
    v->ended_count = 0;
}

/* A task has come back from its visit. Its seat's queue still holds it as the first one. */
static void take_back(struct train_worker *w, struct visit *v, struct item *item)
{
    struct seat *seat = &w->seat[item->spec.executor];

    if (item->status == SHOAL_END)
        return;
    if (item->status < 0) {
        tell_ended(w, v);
        fail(w, item, &v->err);
        seat->queued = 0; /* it is not tried again */
        return;
    }
    if (item->status == SHOAL_AGAIN) {
        seat->locked = true;
        if (seat->tried_ns == 0)
            seat->tried_ns = env_now_ns(w->env);
        return;
    }
    shoal_assert(seat->queued > 0 && seat->queue[0].number == item->spec.number);
    seat->queued--;
    memmove(&seat->queue[0], &seat->queue[1], seat->queued * sizeof seat->queue[0]);
    seat->cost_ns =
        seat->cost_ns > 0 ? (3 * seat->cost_ns + item->ended.run_ns) / 4 : item->ended.run_ns + 1;
    w->patient_ns += item->ended.run_ns / w->opts.threads / PATIENCE;
    if (w->patient_ns > PATIENCE_MAX_NS)
        w->patient_ns = PATIENCE_MAX_NS;
    item->ended.wait_ns += w->waited_ns; /* here: elsewhere nobody waits for others */
    w->waited_ns = 0;
    seat->tried_ns = 0;
    item->ended.epoch = seat->epoch;
    if (w->away)
        seat->committing++;
    else
        v->ended[v->ended_count++] = item->ended;
}

/* Waits a little longer each time in a row. */
static void wait_for_shards(struct train_worker *w)
{
    shoal_err err;

    w->pause_ns = w->pause_ns < PAUSE_MAX_NS ? 2 * w->pause_ns : PAUSE_MAX_NS;
    if (w->retry.place == 0 && !w->over &&
        env_timer_start(w->loop, &w->retry, w->pause_ns, retry, w) != SHOAL_OK)
        end(w, base_err_nomem(&err, "waiting for a shard"), &err);
}

static void put_idle(struct train_worker *w, struct visit *v)
{
    v->next = w->idle;
    w->idle = v;
    w->idle_count++;
}

static struct visit *take_idle(struct train_worker *w)
{
    struct visit *v = w->idle;

    w->idle = v->next;
    w->idle_count--;
    v->count = 0;
    atomic_store_explicit(&v->hurry, false, memory_order_relaxed);
    return v;
}

static void visited(void *ctx)
{
    struct visit *v = ctx;
    struct train_worker *w = v->worker;
    bool locked = false;

    for (uint32_t i = 0; i < v->count; i++) {
        take_back(w, v, &v->item[i]);
        locked = locked || v->item[i].status == SHOAL_AGAIN;
    }
    tell_ended(w, v);
    if (w->away)
        send_commits(w, v);
    for (uint32_t i = 0; i < v->count; i++) {
        uint32_t executor = v->item[i].spec.executor;
        w->seat[executor].busy = false;
        if (w->seat[executor].releasing && w->seat[executor].committing == 0)
            release(w, executor);
        else
            list(w, executor);
    }
    put_idle(w, v);
    if (locked)
        wait_for_shards(w);
    else
        w->pause_ns = PAUSE_MIN_NS;
    schedule(w);
}

static uint64_t cost_of(const struct seat *seat)
{
    return seat->cost_ns > 0 ? seat->cost_ns : VISIT_NS;
}

/* Puts an executor's queue into the visit, as far as it is of one clock: what others have to do for
 * that one comes before its next. Returns the expected time. */
static uint64_t put(struct train_worker *w, struct visit *v, uint32_t executor)
{
    struct seat *seat = &w->seat[executor];
    uint64_t expected = 0;

    for (uint32_t i = 0; i < seat->queued && v->count < ITEMS_MAX; i++) {
        if (!may_begin(w, &seat->queue[i], seat->committing + (w->away ? i : 0)) ||
            seat->queue[i].clock > seat->queue[0].clock)
            break;
        v->item[v->count++] = (struct item){
            .spec = seat->queue[i],
            .ended = {.executor = executor, .epoch = seat->epoch, .number = seat->queue[i].number},
            .tried_ns = i == 0 ? seat->tried_ns : 0,
            .status = SHOAL_END};
        expected += cost_of(seat);
        if (expected >= visit_ns(w))
            break;
    }
    seat->busy = seat->queued > 0; /* one that was released meanwhile has none */
    seat->visit = v;
    return expected;
}

/* How many executors the next visit takes: what is ready is cut evenly, into a visit for every thread
 * that has none, and into more as long as they are long enough. */
static uint32_t share(const struct train_worker *w)
{
    uint32_t threads = w->opts.threads, out = 2 * threads - w->idle_count,
             executor = w->ready_first;
    uint64_t expected = 0, visits;

    for (uint32_t i = 0; i < w->ready_count && expected < w->idle_count * VISIT_MIN_NS; i++) {
        expected += w->seat[executor].queued * cost_of(&w->seat[executor]);
        executor = w->seat[executor].next;
    }
    visits = expected / VISIT_MIN_NS;
    if (out < threads && visits < threads - out)
        visits = threads - out;
    if (visits > w->idle_count)
        visits = w->idle_count;
    return visits > 0 ? (uint32_t)((w->ready_count + visits - 1) / visits) : w->ready_count;
}

static void look_again(void *ctx)
{
    schedule(ctx);
}

/* Books the time for which threads have waited. */
static void wait_end(struct train_worker *w)
{
    uint64_t waited = w->waiting_ns > 0 ? env_now_ns(w->env) - w->waiting_ns : 0;

    w->patient_ns -= waited < w->patient_ns ? waited : w->patient_ns;
    w->waited_ns += waited * w->waiting_threads;
    w->waiting_ns = 0;
}

/* Whether to wait until others have caught up with the first that is ready. While all threads are at
 * work that costs nothing: the next visit to come back looks again. */
static bool is_waiting(struct train_worker *w)
{
    const struct seat *first = &w->seat[w->ready_first];

    if (w->away || w->patient_ns == 0 || first->queued == 0 ||
        train_desk_stale(w->lookout, first->queue[0].clock) == 0)
        return false;
    if (w->idle_count <= w->opts.threads)
        return true;
    if (w->patience.place == 0 &&
        env_timer_start(w->loop, &w->patience, PATIENCE_STEP_NS, look_again, w) != SHOAL_OK)
        return false;
    w->waiting_ns = env_now_ns(w->env);
    w->waiting_threads = w->idle_count - w->opts.threads;
    return true;
}

static void schedule(struct train_worker *w)
{
    wait_end(w);
    while (w->idle != NULL && w->ready_count > 0 && !w->over && !is_waiting(w)) {
        uint32_t left = share(w);
        struct visit *v = take_idle(w);
        uint64_t expected = 0;
        while (w->ready_count > 0 && left-- > 0 && expected < visit_ns(w) &&
               v->count + QUEUE_MAX <= ITEMS_MAX)
            expected += put(w, v, take_ready(w));
        if (v->count == 0) {
            put_idle(w, v);
            continue;
        }
        if (env_pool_run(w->pool, work, visited, v) != SHOAL_OK) {
            shoal_err err;
            end(w, base_err_nomem(&err, "running a task"), &err);
        }
    }
    atomic_store_explicit(&w->hungry, w->idle_count > w->opts.threads, memory_order_relaxed);
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
        st = env_shared_new(w->env, setup->segment_size, &w->segment, err);
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
        put_idle(w, &w->visits[i]);
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
        return end(w, SHOAL_E_FORMAT, &err);
    }
    text = base_calloc(env_alloc(w->env), 1, setup.text_size + 1);
    if (text == NULL)
        return end(w, base_err_nomem(&err, "setting up"), &err);
    memcpy(text, (const char *)bytes + sizeof setup, setup.text_size);
    st = set_up(w, &setup, text, (const char *)bytes + sizeof setup + setup.text_size, &err);
    base_free(env_alloc(w->env), text);
    if (st != SHOAL_OK) {
        struct item item = {.spec = {.executor = NONE}, .status = st};
        if (setup.home != 0) /* one from elsewhere that cannot take part is no failure of the job */
            fail(w, &item, &err);
        end(w, st, &err);
    }
}

static void confused(struct train_worker *w, const char *by)
{
    shoal_err err;

    base_err(&err, SHOAL_E_FORMAT, "the driver's %s makes no sense", by);
    end(w, SHOAL_E_FORMAT, &err);
}

static void hear_adopt(struct train_worker *w, const struct train_unit *unit, size_t size)
{
    struct seat *seat = &w->seat[unit->executor];

    if (seat->here || (!w->away && size != sizeof *unit))
        return confused(w, "executor");
    if (w->away && train_box_put_executor(w->box, unit->executor, unit + 1, size - sizeof *unit,
                                          NULL) != SHOAL_OK)
        return confused(w, "executor");
    seat->here = seat->moved = true;
    seat->releasing = false;
    seat->committing = 0;
    seat->epoch = unit->epoch;
    seat->queued = 0;
    seat->tried_ns = 0;
}

static void hear_release(struct train_worker *w, const struct train_unit *unit)
{
    struct seat *seat = &w->seat[unit->executor];

    if (!seat->here || seat->epoch != unit->epoch || seat->releasing)
        return confused(w, "release");
    if (seat->busy)
        atomic_store_explicit(&seat->visit->hurry, true, memory_order_release);
    if (seat->busy || seat->committing > 0)
        seat->releasing = true;
    else
        release(w, unit->executor);
}

static void hear_accepted(struct train_worker *w, const struct train_accepted *accepted,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t executor = accepted[i].unit.executor;
        if (executor >= w->seat_count)
            return confused(w, "word of a commit");
        struct seat *seat = &w->seat[executor];
        if (!seat->here || seat->epoch != accepted[i].unit.epoch || seat->committing == 0)
            return confused(w, "word of a commit");
        seat->committing--;
        train_box_accepted(w->box, executor, accepted[i].number);
        if (seat->releasing && !seat->busy && seat->committing == 0)
            release(w, executor);
        list(w, executor);
    }
    schedule(w);
}

static void hear_data(struct train_worker *w, const struct train_piece *piece, size_t size)
{
    if (train_box_put_data(w->box, piece->executor, piece->offset, piece->total, piece + 1,
                           size - sizeof *piece, NULL) != SHOAL_OK)
        confused(w, "data");
}

/* A shard may be locked for as long as a thread of ours folds into it. */
static void hear_rows(struct train_worker *w, uint16_t kind, const void *bytes, size_t size)
{
    shoal_status st = SHOAL_AGAIN;

    for (int i = 0; i < 1000000 && st == SHOAL_AGAIN; i++)
        st = kind == TRAIN_FACTORS ? train_box_put_factors(w->box, bytes, size, NULL)
                                   : train_box_put_rows(w->box, bytes, size, NULL);
    if (st != SHOAL_OK)
        confused(w, "rows");
}

/* A byte that is to be a bool is 0 or 1. */
static bool is_sound(const struct train_order *order)
{
    const unsigned char *bytes = (const unsigned char *)order;

    return bytes[offsetof(struct train_order, spec.ends_clock)] <= 1 &&
           bytes[offsetof(struct train_order, spec.holds)] <= 1;
}

static void hear_task(struct train_worker *w, const struct train_order *order)
{
    if (order->spec.executor >= w->seat_count)
        return confused(w, "task");
    struct seat *seat = &w->seat[order->spec.executor];
    if (!is_sound(order) || !seat->here || seat->epoch != order->epoch || seat->releasing ||
        seat->queued == QUEUE_MAX)
        return confused(w, "task");
    if (w->away)
        train_box_close(w->box, order->closed);
    seat->queue[seat->queued++] = order->spec;
    list(w, order->spec.executor);
}

static void hear_tasks(struct train_worker *w, const struct train_order *order, size_t count)
{
    for (size_t i = 0; i < count && !w->over; i++)
        hear_task(w, &order[i]);
    schedule(w);
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
        hear_rows(w, kind, bytes, size);
    } else {
        return false;
    }
    return true;
}

static void heard(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes, size_t size)
{
    struct train_worker *w = ctx;
    shoal_err err = SHOAL_ERR_INIT;

    (void)peer;
    if (w->over)
        return;
    if (kind == TRAIN_SETUP && size >= sizeof(struct train_setup))
        hear_setup(w, bytes, size);
    else if (kind == TRAIN_STOP)
        end(w, SHOAL_OK, &err);
    else if (w->box == NULL || !heard_in_box(w, kind, bytes, size))
        confused(w, "message");
}

static void opened(void *ctx, struct wire_peer *peer)
{
    struct train_worker *w = ctx;
    struct train_join join = {.pid = w->opts.pid, .threads = w->opts.threads, .slot = w->opts.slot};

    (void)peer;
    snprintf(join.host, sizeof join.host, "%s", w->opts.host);
    tell(w, TRAIN_JOIN, &join, sizeof join);
}

static void closed(void *ctx, struct wire_peer *peer, const shoal_err *why)
{
    struct train_worker *w = ctx;

    (void)peer;
    w->peer = NULL;
    end(w, why->code != SHOAL_OK ? why->code : SHOAL_E_IO, why);
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
    w->ready_first = NONE;
    w->pause_ns = PAUSE_MIN_NS;
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
    tell(w, TRAIN_LEAVE, NULL, 0);
}

void train_worker_free(struct train_worker *w)
{
    if (w == NULL)
        return;
    const struct base_alloc *alloc = env_alloc(w->env);
    w->over = true;
    env_timer_stop(&w->retry);
    env_timer_stop(&w->patience);
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
