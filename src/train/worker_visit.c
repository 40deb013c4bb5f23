/* worker_visit.c - executors' queues on one side, threads on the other.
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
 * of lower clocks go first. When there are none, the worker waits, as long as its threads have had
 * nothing to do, for whatever reason, for less than one part in PATIENCE of the time that they
 * worked: this keeps workers together, and nearly all reads as fresh as in a bulk synchronous job. A
 * task that finds a shard locked is tried again after a pause that doubles, for up to LOCKED_NS; then
 * the driver is told what it waited for. The driver is told how long threads had
 * nothing to do (`wait_ns` of a task); one that has a visit and waits for a processor has.
 *
 * Tests: tests/unit/train/test_master*.c, test_slow_worker.c. */
#include "train/worker_parts.h"

#include "base/assert.h"
#include "base/err.h"
#include <string.h>

enum {
    COMMITS_SIZE = 256 << 10, /* a visit ends when it has more bytes than that for the driver */
    TRIES_MAX = 64            /* to begin a task, before it goes back */
};
static const uint64_t VISIT_NS = 4000 * 1000;      /* of work in a visit */
static const uint64_t VISIT_MIN_NS = 1000 * 1000;  /* elsewhere; below this none is cut further */
static const uint64_t VISIT_SHORT_NS = 200 * 1000; /* while some thread has nothing to do */
enum { PATIENCE = 40 }; /* one part in so many of the time worked may be waited for others */
static const uint64_t PATIENCE_STEP_NS = 50 * 1000;       /* between looks at the others */
static const uint64_t PATIENCE_MAX_NS = 20 * 1000 * 1000; /* that may be saved up */
static const uint64_t PAUSE_MAX_NS = 2000 * 1000;         /* after many in a row, */
static const uint64_t PAUSE_LONG_NS = 100 * 1000 * 1000;  /* and after many seconds */
enum { PAUSE_PART = 50 };                                 /* of the time waited */
/* How long a task waits for a locked shard. Another task may hold it while it runs, or its worker may be
 * stopped in the middle of a fold. A worker waits as long for a driver on its own machine. */
static const uint64_t LOCKED_NS = 3600ull * 1000 * 1000 * 1000;

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
    item->ended.wait_ns = begun - started;
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
void worker_list(struct train_worker *w, uint32_t executor)
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
    while (*at != WORKER_NONE && clock_of(w, *at) < before)
        at = &w->seat[*at].next;
    seat->moved = false;
    seat->next = *at;
    *at = executor;
    if (seat->next == WORKER_NONE)
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

void worker_release(struct train_worker *w, uint32_t executor)
{
    struct seat *seat = &w->seat[executor];
    struct train_unit unit = {executor, seat->epoch};

    seat->here = seat->releasing = seat->locked = false;
    seat->locked_ns = 0;
    seat->committing = seat->queued = 0;
    worker_tell(w, TRAIN_RELEASED, &unit, sizeof unit);
}

static void retry(void *ctx)
{
    struct train_worker *w = ctx;

    for (uint32_t e = 0; e < w->seat_count; e++) {
        if (w->seat[e].locked) {
            w->seat[e].locked = false;
            worker_list(w, e);
        }
    }
    worker_schedule(w);
}

void worker_fail(struct train_worker *w, const struct item *item, const shoal_err *why)
{
    struct train_failed failed = train_failed_of(item->spec.executor, item->status, why);

    failed.violations = item->violated;
    worker_tell(w, TRAIN_FAILED, &failed, sizeof failed);
}

static void send_commits(struct train_worker *w, struct visit *v)
{
    shoal_status st = base_buf_status(&v->commits);
    shoal_err err;

    if (w->over)
        return;
    if (st == SHOAL_OK && v->commits.size > WIRE_BUF_ROOM)
        st = wire_peer_send_buf(w->peer, TRAIN_COMMIT, &v->commits);
    if (st == SHOAL_OK)
        return;
    base_err(&err, st, "what tasks leave for the driver cannot be sent");
    if (base_buf_status(&v->commits) == SHOAL_E_LIMIT) {
        base_err(&err, st, "a task leaves more than the %d MiB that go into one message",
                 WIRE_MESSAGE_MAX >> 20);
        base_err_hint(&err, "run all workers on the driver's machine, or let each task leave less");
    }
    worker_give_up(w, st, &err);
}

static void tell_ended(struct train_worker *w, struct visit *v)
{
    if (v->ended_count > 0)
        worker_tell(w, TRAIN_ENDED, v->ended, v->ended_count * sizeof v->ended[0]);
    v->ended_count = 0;
}

static void say_locked(const struct train_worker *w, const struct train_task_spec *spec,
                       shoal_err *err)
{
    uint32_t table, shard, holder = train_box_locked(w->box, spec, &table, &shard);
    double waited_s = (double)LOCKED_NS / 1e9;

    if (holder == TRAIN_UNLOCKED)
        base_err(err, SHOAL_E_INTERNAL,
                 "a task of executor %u waited for tables to be fresh for more than %g s",
                 spec->executor, waited_s);
    else
        base_err(
            err, SHOAL_E_INTERNAL,
            "a task of executor %u waited for shard %u of table '%s' for more than %g s; worker "
            "%u has it locked",
            spec->executor, shard, train_box_table_info(w->box, table).name, waited_s, holder);
}

/* How long the executor's first task has waited; when that is too long, the worker gives up. */
static uint64_t waited_for_shard(struct train_worker *w, const struct train_task_spec *spec)
{
    struct seat *seat = &w->seat[spec->executor];
    uint64_t now = env_now_ns(w->env);
    shoal_err err;

    if (seat->locked_ns == 0)
        seat->locked_ns = now;
    if (now - seat->locked_ns > LOCKED_NS && w->given_up.code == SHOAL_OK) {
        say_locked(w, spec, &err);
        worker_give_up(w, SHOAL_E_INTERNAL, &err);
    }
    return now - seat->locked_ns;
}

/* A task has come back from its visit. Its seat's queue still holds it as the first one. */
static void take_back(struct train_worker *w, struct visit *v, struct item *item)
{
    struct seat *seat = &w->seat[item->spec.executor];

    if (item->status == SHOAL_END)
        return;
    if (item->status < 0) {
        tell_ended(w, v);
        worker_fail(w, item, &v->err);
        seat->queued = 0; /* it is not tried again */
        return;
    }
    if (item->status == SHOAL_AGAIN) {
        seat->locked = true;
        return;
    }
    seat->locked_ns = 0;
    shoal_assert(seat->queued > 0 && seat->queue[0].number == item->spec.number);
    seat->queued--;
    memmove(&seat->queue[0], &seat->queue[1], seat->queued * sizeof seat->queue[0]);
    seat->cost_ns =
        seat->cost_ns > 0 ? (3 * seat->cost_ns + item->ended.run_ns) / 4 : item->ended.run_ns + 1;
    w->patient_ns += item->ended.run_ns / w->opts.threads / PATIENCE;
    if (w->patient_ns > PATIENCE_MAX_NS)
        w->patient_ns = PATIENCE_MAX_NS;
    item->ended.wait_ns += w->waited_ns; /* here: elsewhere it has been packed */
    w->waited_ns = 0;
    item->ended.epoch = seat->epoch;
    if (w->away)
        seat->committing++;
    else
        v->ended[v->ended_count++] = item->ended;
}

/* Waits a little longer each time in a row. */
static void wait_for_shards(struct train_worker *w, uint64_t waited_ns)
{
    uint64_t part = waited_ns / PAUSE_PART;
    uint64_t most = part < PAUSE_MAX_NS    ? PAUSE_MAX_NS
                    : part < PAUSE_LONG_NS ? part
                                           : PAUSE_LONG_NS;
    shoal_err err;

    w->pause_ns = 2 * w->pause_ns < most ? 2 * w->pause_ns : most;
    if (w->retry.place == 0 && !w->over && w->given_up.code == SHOAL_OK &&
        env_timer_start(w->loop, &w->retry, w->pause_ns, retry, w) != SHOAL_OK)
        worker_end(w, base_err_nomem(&err, "waiting for a shard"), &err);
}

void worker_put_idle(struct train_worker *w, struct visit *v)
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
    uint64_t waited = 0;
    bool locked = false;

    for (uint32_t i = 0; i < v->count; i++) {
        take_back(w, v, &v->item[i]);
        if (v->item[i].status != SHOAL_AGAIN)
            continue;
        uint64_t this_one = waited_for_shard(w, &v->item[i].spec);
        waited = this_one > waited ? this_one : waited;
        locked = true;
    }
    tell_ended(w, v);
    if (w->away)
        send_commits(w, v);
    for (uint32_t i = 0; i < v->count; i++) {
        uint32_t executor = v->item[i].spec.executor;
        w->seat[executor].busy = false;
        if (w->seat[executor].releasing && w->seat[executor].committing == 0)
            worker_release(w, executor);
        else
            worker_list(w, executor);
    }
    worker_put_idle(w, v);
    if (locked)
        wait_for_shards(w, waited);
    else
        w->pause_ns = WORKER_PAUSE_NS;
    worker_schedule(w);
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

    for (uint32_t i = 0; i < seat->queued && v->count < WORKER_ITEMS_MAX; i++) {
        if (!may_begin(w, &seat->queue[i], seat->committing + (w->away ? i : 0)) ||
            seat->queue[i].clock > seat->queue[0].clock)
            break;
        v->item[v->count++] = (struct item){.spec = seat->queue[i],
                                            .ended = {.executor = executor,
                                                      .epoch = seat->epoch,
                                                      .number = seat->queue[i].number,
                                                      .fn = seat->queue[i].fn},
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
    worker_schedule(ctx);
}

/* Books the time for which threads have had nothing to do. */
static void wait_end(struct train_worker *w)
{
    uint64_t waited = w->waiting_threads > 0 ? env_now_ns(w->env) - w->waiting_ns : 0;

    w->patient_ns -= waited < w->patient_ns ? waited : w->patient_ns;
    w->waited_ns += waited * w->waiting_threads;
    w->waiting_threads = 0;
}

static void wait_begin(struct train_worker *w)
{
    if (w->idle_count <= w->opts.threads)
        return;
    w->waiting_threads = w->idle_count - w->opts.threads;
    w->waiting_ns = env_now_ns(w->env);
}

/* Whether to wait until others have caught up with the first that is ready. While all threads are at
 * work that costs nothing: the next visit to come back looks again. */
static bool is_waiting(struct train_worker *w)
{
    const struct seat *first = &w->seat[w->ready_first];

    if (w->away || w->patient_ns == 0 || first->queued == 0 ||
        train_desk_stale(w->lookout, first->queue[0].clock) == 0)
        return false;
    return w->idle_count <= w->opts.threads || w->patience.place != 0 ||
           env_timer_start(w->loop, &w->patience, PATIENCE_STEP_NS, look_again, w) == SHOAL_OK;
}

void worker_schedule(struct train_worker *w)
{
    wait_end(w);
    while (w->idle != NULL && w->ready_count > 0 && !w->over && !is_waiting(w)) {
        uint32_t left = share(w);
        struct visit *v = take_idle(w);
        uint64_t expected = 0;
        while (w->ready_count > 0 && left-- > 0 && expected < visit_ns(w) &&
               v->count + WORKER_QUEUE_MAX <= WORKER_ITEMS_MAX)
            expected += put(w, v, take_ready(w));
        if (v->count == 0) {
            worker_put_idle(w, v);
            continue;
        }
        if (env_pool_run(w->pool, work, visited, v) != SHOAL_OK) {
            shoal_err err;
            worker_end(w, base_err_nomem(&err, "running a task"), &err);
        }
    }
    wait_begin(w);
    atomic_store_explicit(&w->hungry, w->idle_count > w->opts.threads, memory_order_relaxed);
}
