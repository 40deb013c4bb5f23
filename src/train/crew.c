/* crew.c - who does what: tasks to workers, executors between them, and what workers say.
 *
 * An executor moves in four steps: the worker it is at is asked to release it; that worker ends the
 * task it has begun and forgets the ones it has not; the epoch goes up; the new worker adopts it and
 * gets the tasks that are left. Only that executor pauses, and no task is run twice. One that rests
 * moves between workers of this machine in one step (crew_move). When a worker dies, its executors
 * skip the first two steps, after the death is certain (the process has been reaped) and the box
 * repaired; see hire.c.
 *
 * Tasks to a worker of this machine that are sent at one time go as one message, and word of their
 * ends comes back likewise. How long a worker keeps word back depends on whether any worker has too
 * little to do (train_box_set_hungry, worker_visit.c).
 *
 * Tests: tests/unit/train/test_master*.c, test_slow_worker.c. */
#include "train/master_parts.h"

#include "base/assert.h"
#include <math.h>
#include <string.h>

static const uint64_t RATE_NS = 500ull * 1000 * 1000;        /* over which a rate is taken */
static const uint64_t QUIET_NS = 10ull * 1000 * 1000 * 1000; /* without news of work */
/* Load above the mean that is evened out: after workers came or went, at any time (a task's time is
 * noisy on a shared machine), while one works for less than BUSY of its time, waiting for the
 * others, and never, where what waits is dealt to whoever has room. */
static const double SLACK = 1.1, SLACK_LATER = 1.25, SLACK_WAITING = 1.02, BUSY = 0.98;
static const double SLACK_DEALT = HUGE_VAL;

/* ---- tasks ---- */

static void flush(struct master_worker *w)
{
    size_t size = w->order_count * sizeof w->order[0];

    w->order_count = 0;
    if (size > 0 && w->peer != NULL &&
        wire_peer_send(w->peer, TRAIN_TASK, w->order, size) != SHOAL_OK)
        hire_lose(w);
}

/* One elsewhere gets its rows and tasks in turn, see away.c. */
bool crew_order(struct master_worker *w, const struct train_order *order)
{
    if (w->away != NULL) {
        if (wire_peer_send(w->peer, TRAIN_TASK, order, sizeof *order) == SHOAL_OK)
            return true;
        hire_lose(w);
        return false;
    }
    if (w->order_count == ORDERS_MAX)
        flush(w);
    w->order[w->order_count++] = *order;
    return true;
}

/* Whether some worker has fewer tasks than threads. One that is alone knows that itself. */
static bool is_hungry(const struct train_master *m)
{
    for (uint32_t i = 0; i < m->crew_count && m->crew_count > 1; i++)
        if (m->crew[i]->state == CREW_UP && m->crew[i]->out < m->crew[i]->threads)
            return true;
    return false;
}

void crew_flush(struct train_master *m)
{
    for (uint32_t i = 0; i < m->crew_count; i++)
        flush(m->crew[i]);
    train_box_set_hungry(m->box, is_hungry(m));
}

void crew_send(struct master_worker *w, uint16_t kind, const void *bytes, size_t size)
{
    flush(w); /* what was said before it comes before it */
    if (w->peer != NULL && wire_peer_send(w->peer, kind, bytes, size) != SHOAL_OK)
        hire_lose(w);
}

/* ---- executors come and go ---- */

static void adopt(struct train_master *m, uint32_t executor)
{
    struct master_executor *e = &m->executor[executor];
    struct master_worker *w = m->crew[e->target];
    struct train_unit unit = {executor, ++e->epoch};

    shoal_assert(e->worker == TRAIN_NOBODY);
    e->worker = e->target;
    e->told = e->sent;
    w->executors++;
    deal_enter(m, e, e->done, e->sent); /* committed, and the application waits for tables */
    if (w->away != NULL)
        away_adopt(w, &unit);
    else
        crew_send(w, TRAIN_ADOPT, &unit, sizeof unit);
    master_mark(m, executor);
}

static void detach(struct train_master *m, struct master_executor *e)
{
    deal_drop(m, e);
    m->crew[e->worker]->executors--;
    deal_leave(m, e, e->done, e->sent);
    e->worker = TRAIN_NOBODY;
}

/* It is at no worker now: what it committed is heard of, the rest will be sent again. */
void crew_let_go(struct train_master *m, uint32_t executor)
{
    struct master_executor *e = &m->executor[executor];

    detach(m, e);
    e->releasing = false;
    master_collect(m, executor);
    master_unsend(m, executor);
    e->pausing = true;
    e->gated = false;
    e->released_done = e->done;
    e->released_ns = env_now_ns(m->env);
    if (e->target != TRAIN_NOBODY && m->crew[e->target]->state == CREW_UP)
        adopt(m, executor);
}

static void ask_release(struct train_master *m, uint32_t executor)
{
    struct master_executor *e = &m->executor[executor];
    struct train_unit unit = {executor, e->epoch};

    deal_drop(m, e);
    e->releasing = true;
    if (e->sent == e->done)
        stall_begin(m, e);
    m->stats.moves++;
    if (m->crew[e->target]->away != NULL)
        away_send_data(m->crew[e->target], executor); /* while it still runs where it is */
    crew_send(m->crew[e->worker], TRAIN_RELEASE, &unit, sizeof unit);
}

/* Nothing is out, so the worker's answer, of an old epoch by then, is not waited for, and the executor
 * does not pause. */
void crew_move(struct train_master *m, uint32_t executor, uint32_t worker)
{
    struct master_executor *e = &m->executor[executor];
    struct train_unit unit = {executor, e->epoch};

    shoal_assert(deal_rests(m, e) && m->crew[worker]->home);
    e->target = worker;
    m->stats.moves++;
    crew_send(m->crew[e->worker], TRAIN_RELEASE, &unit, sizeof unit);
    detach(m, e);
    adopt(m, executor);
}

/* Gives every executor its target and sets the moves off. */
static void spread(struct train_master *m, double slack)
{
    const struct base_alloc *alloc = env_alloc(m->env);
    uint32_t *threads = base_calloc(alloc, m->crew_count + 1, sizeof *threads);
    double *load = base_calloc(alloc, m->crew_count + 1, sizeof *load);

    if (threads == NULL || load == NULL || !m->started || m->finished)
        goto out; /* it is tried again at the next look */
    for (uint32_t i = 0; i < m->crew_count; i++)
        threads[i] = m->crew[i]->state == CREW_UP ? m->crew[i]->threads : 0;
    for (uint32_t i = 0; i < m->executor_count; i++)
        m->place[i] = (struct train_place){m->executor[i].target, m->executor[i].cost_ns};
    train_spread(m->place, m->executor_count, threads, m->crew_count, slack, load);
    for (uint32_t i = 0; i < m->executor_count; i++) {
        struct master_executor *e = &m->executor[i];
        if (m->place[i].worker == TRAIN_NOBODY || m->place[i].worker >= m->crew_count ||
            threads[m->place[i].worker] == 0)
            continue;
        if (e->target != m->place[i].worker)
            e->cost_ns = m->place[i].cost; /* as it is expected there */
        e->target = m->place[i].worker;
        if (e->worker == TRAIN_NOBODY)
            adopt(m, i);
        else if (e->worker != e->target && deal_rests(m, e) && m->crew[e->target]->home)
            crew_move(m, i, e->target);
        else if (e->worker != e->target && !e->releasing)
            ask_release(m, i);
    }
    master_pump(m);
out:
    base_free(alloc, threads);
    base_free(alloc, load);
}

void crew_spread(struct train_master *m)
{
    spread(m, SLACK);
}

/* ---- what workers say ---- */

uint32_t crew_count_up(const struct train_master *m)
{
    uint32_t up = 0;

    for (uint32_t i = 0; i < m->crew_count; i++)
        up += m->crew[i]->state == CREW_UP;
    return up;
}

static double smooth(double cost_ns, uint64_t run_ns)
{
    return cost_ns > 0 ? 0.9 * cost_ns + 0.1 * (double)run_ns : (double)(run_ns > 0 ? run_ns : 1);
}

void crew_ended(struct master_worker *w, const struct train_ended *ended)
{
    struct train_master *m = w->master;
    struct master_executor *e = &m->executor[ended->executor];
    struct master_kind *kind = deal_kind(w, ended->fn);

    stall_ended(w, ended);
    e->cost_ns = smooth(e->cost_ns, ended->run_ns);
    kind->cost_ns = smooth(kind->cost_ns, ended->run_ns);
    e->told = ended->number;
    m->stats.run_ns += ended->run_ns;
    m->stats.wait_ns += ended->wait_ns;
    m->stats.checked += ended->checked;
    m->stats.stale[ended->stale < TRAIN_STALE_MAX ? ended->stale : TRAIN_STALE_MAX - 1]++;
    w->busy_ns += ended->run_ns;
    if (e->pausing) {
        e->pausing = false;
        uint64_t begun = w->home ? ended->begun_ns : env_now_ns(m->env);
        uint64_t pause = begun > e->released_ns ? begun - e->released_ns : 0;
        if (pause > m->stats.max_pause_ns)
            m->stats.max_pause_ns = pause;
    }
    master_collect(m, ended->executor);
}

/* Word from a worker about an executor that is there no more is old: all was heard when it left. */
bool crew_current(const struct master_worker *w, uint32_t executor, uint32_t epoch)
{
    const struct train_master *m = w->master;

    return executor < m->executor_count && m->executor[executor].epoch == epoch &&
           m->executor[executor].worker == w->index;
}

static void hear_ended(struct master_worker *w, const struct train_ended *ended, size_t count)
{
    for (size_t i = 0; i < count && !w->master->over; i++)
        if (crew_current(w, ended[i].executor, ended[i].epoch))
            crew_ended(w, &ended[i]);
}

static void hear_released(struct master_worker *w, const struct train_unit *unit)
{
    struct train_master *m = w->master;

    if (crew_current(w, unit->executor, unit->epoch) && m->executor[unit->executor].releasing)
        crew_let_go(m, unit->executor);
}

/* A task's error ends the job. One from elsewhere that has no such executor has only itself to speak
 * of: it could not be set up, or what its tasks leave cannot be sent. */
static void hear_failed(struct master_worker *w, const struct train_failed *failed)
{
    struct train_master *m = w->master;
    shoal_err err;
    shoal_status st = train_failed_read(failed, &err);

    if (w->away != NULL && (failed->executor >= m->executor_count ||
                            m->executor[failed->executor].worker != w->index)) {
        hire_turned_away(m, w->host, &err);
        w->told_to_stop = true; /* refused, and so not lost */
        return hire_lose(w);
    }
    m->stats.violations += failed->violations;
    master_fail(m, st, &err);
}

static void worker_message(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes,
                           size_t size)
{
    struct master_worker *w = ctx;
    struct train_master *m = w->master;

    (void)peer;
    if (m->over)
        return;
    if (kind == TRAIN_ENDED && size > 0 && size % sizeof(struct train_ended) == 0 &&
        w->away == NULL) {
        hear_ended(w, bytes, size / sizeof(struct train_ended));
    } else if (kind == TRAIN_COMMIT && w->away != NULL) {
        away_commits(w, bytes, size);
    } else if (kind == TRAIN_RELEASED && size == sizeof(struct train_unit)) {
        hear_released(w, bytes);
    } else if (kind == TRAIN_FAILED && size == sizeof(struct train_failed)) {
        hear_failed(w, bytes);
    } else if (kind == TRAIN_LEAVE && size == 0) {
        hire_quit(w);
    } else {
        hire_lose(w);
    }
    master_pump(m);
    if (w->state == CREW_LEAVING)
        hire_check_leaving(w);
    master_check_end(m);
}

static void worker_closed(void *ctx, struct wire_peer *peer, const shoal_err *why)
{
    struct master_worker *w = ctx;

    (void)peer;
    (void)why;
    w->peer = NULL;
    hire_lose(w);
}

static const struct wire_peer_ops WORKER_OPS = {NULL, worker_message, worker_closed};

void crew_listen(struct master_worker *w)
{
    wire_peer_set(w->peer, &WORKER_OPS, w);
}

/* ---- looking around ---- */

/* From one look at which there was news to the next, at least RATE_NS. Without news for long the rate is
 * none: halving it at each look would only make it smaller and smaller. */
static void take_rate(struct train_master *m, uint64_t now)
{
    if (m->stats.units == m->rate_units && now - m->rate_ns >= QUIET_NS)
        m->stats.units_per_s = 0;
    if (m->stats.units == m->rate_units || now - m->rate_ns < RATE_NS)
        return;
    double rate = (double)(m->stats.units - m->rate_units) / ((double)(now - m->rate_ns) * 1e-9);
    m->stats.units_per_s = m->stats.units_per_s > 0 ? 0.5 * (m->stats.units_per_s + rate) : rate;
    m->rate_units = m->stats.units;
    m->rate_ns = now;
}

/* Moving an executor to another machine is dear, so that unevenness is borne there. */
static double slack_now(const struct train_master *m)
{
    double slack = m->dealt ? SLACK_DEALT : SLACK_LATER;

    for (uint32_t i = 0; i < m->crew_count; i++) {
        const struct master_worker *w = m->crew[i];
        if (w->away != NULL)
            return SLACK_LATER;
        if (!m->dealt && w->state == CREW_UP && w->busy < BUSY)
            slack = SLACK_WAITING;
    }
    return slack;
}

void crew_look(void *ctx)
{
    struct train_master *m = ctx;
    uint64_t now = env_now_ns(m->env);

    for (uint32_t i = 0; i < m->crew_count; i++) {
        struct master_worker *w = m->crew[i];
        if (w->state != CREW_UP || now <= w->busy_since_ns)
            continue;
        w->busy = (double)w->busy_ns / ((double)(now - w->busy_since_ns) * w->threads);
        w->busy_ns = 0;
        w->busy_since_ns = now;
    }
    take_rate(m, now);
    stall_look(m);
    spread(m, slack_now(m));
    m->dealt = false;
    if (env_timer_start(m->loop, &m->balance, m->opts.balance_ms * 1000000, crew_look, m) !=
        SHOAL_OK)
        m->opts.balance_ms = 0; /* runs on as it is */
}

static uint64_t oldest_ns(const struct train_master *m, uint32_t worker)
{
    uint64_t now = env_now_ns(m->env), oldest = now;

    for (uint32_t i = 0; i < m->executor_count; i++) {
        const struct master_executor *e = &m->executor[i];
        if (e->worker == worker && (e->sent > e->done || e->releasing) && e->waiting_ns < oldest)
            oldest = e->waiting_ns;
    }
    return now - oldest;
}

shoal_status train_master_worker(const struct train_master *m, uint32_t index,
                                 struct train_worker_info *out)
{
    static const char *const NAMES[] = {"free", "starting", "up", "leaving"};

    for (uint32_t i = 0; i < m->crew_count; i++) {
        const struct master_worker *w = m->crew[i];
        if (w->state == CREW_FREE || index-- > 0)
            continue;
        *out = (struct train_worker_info){.worker = i + 1,
                                          .threads = w->threads,
                                          .executors = w->executors,
                                          .pid = w->pid,
                                          .state = NAMES[w->state],
                                          .away = w->away != NULL,
                                          .busy = w->busy,
                                          .oldest_ns = oldest_ns(m, i)};
        memcpy(out->host, w->host, sizeof out->host);
        return SHOAL_OK;
    }
    return SHOAL_END;
}
