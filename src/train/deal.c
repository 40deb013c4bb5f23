/* deal.c - which task goes to which worker, and when.
 *
 * A task may be sent when its executor is at a worker, at most AHEAD_MAX of it are out, and its
 * clock's gate is open: all executors have ended the clocks up to c - s - 1. To a worker elsewhere it
 * is sent at once, with the rows that it reads (away.c).
 *
 * On this machine executors with such a task wait in lists, one for each worker, lowest clock first. A
 * worker gets of its list what keeps its threads at work until word of it has come and gone:
 * WINDOW_NS of work, as long as tasks of each fn usually take there, and two tasks for each thread.
 * (One mean over all of them would send a worker hundreds of long tasks after some hundred of
 * nothing.) The rest stays here, where it can be dealt to another: a worker with room whose own list has nothing of so low a
 * clock takes an executor from the list of one that has no room, the one with most to do. It moves
 * at once and without a question, as nothing of it is out and a move on one machine copies nothing.
 * So workers end a clock together, within a window, however fast each of them is at the moment, and
 * reads are fresh, since no task of a clock goes before those of a lower one. Tasks so short that
 * they all fit into a window do not move. One worker alone gets all there is.
 *
 * Tests: tests/unit/train/test_master*.c, test_slow_worker.c. */
#include "train/master_parts.h"

static const double WINDOW_NS = 8000 * 1000; /* two visits, see worker_visit.c */
static const double COST_NS = 4000 * 1000;   /* of a task, before any has ended */

static uint32_t index_of(const struct train_master *m, const struct master_executor *e)
{
    return (uint32_t)(e - m->executor);
}

static const struct train_task_spec *next_task(const struct master_executor *e)
{
    return master_task(e, e->sent + 1);
}

/* ---- the lists ---- */

static void put(struct master_worker *w, struct master_executor *e)
{
    struct master_executor *after = w->last;

    if (e->listed)
        return;
    while (after != NULL && next_task(after)->clock > next_task(e)->clock)
        after = after->prev;
    e->listed = true;
    e->prev = after;
    e->next = after != NULL ? after->next : w->first;
    *(e->next != NULL ? &e->next->prev : &w->last) = e;
    *(after != NULL ? &after->next : &w->first) = e;
    w->listed++;
}

void deal_drop(struct train_master *m, struct master_executor *e)
{
    if (!e->listed)
        return;
    struct master_worker *w = m->crew[e->worker];
    *(e->prev != NULL ? &e->prev->next : &w->first) = e->next;
    *(e->next != NULL ? &e->next->prev : &w->last) = e->prev;
    e->listed = false;
    e->next = e->prev = NULL;
    w->listed--;
}

/* ---- what workers have ---- */

struct master_kind *deal_kind(struct master_worker *w, uint32_t fn)
{
    return &w->kind[fn % KINDS];
}

void deal_enter(struct train_master *m, const struct master_executor *e, uint64_t after,
                uint64_t last)
{
    struct master_worker *w = m->crew[e->worker];

    for (uint64_t number = after + 1; number <= last; number++) {
        deal_kind(w, master_task(e, number)->fn)->out++;
        w->out++;
    }
}

void deal_leave(struct train_master *m, const struct master_executor *e, uint64_t after,
                uint64_t last)
{
    struct master_worker *w = m->crew[e->worker];

    for (uint64_t number = after + 1; number <= last; number++) {
        struct master_kind *kind = deal_kind(w, master_task(e, number)->fn);
        shoal_assert(kind->out > 0 && w->out > 0);
        kind->out--;
        w->out--;
    }
}

/* ---- sending ---- */

/* Whether it has no task whose clock has come: it rests, wherever it is. */
static bool is_gated(const struct train_master *m, const struct master_executor *e)
{
    return e->sent == e->done &&
           (e->sent == e->dispatched || next_task(e)->clock > m->closed + m->opts.staleness);
}

/* A pause begins when there is something to do. */
static void watch_gate(struct train_master *m, struct master_executor *e)
{
    bool gated = is_gated(m, e);

    if (e->pausing && e->gated && !gated && e->done == e->released_done)
        e->released_ns = env_now_ns(m->env);
    e->gated = gated;
}

static bool may_send(const struct train_master *m, const struct master_executor *e)
{
    if (e->worker == TRAIN_NOBODY || e->releasing || m->finished || e->sent == e->dispatched ||
        e->sent >= e->done + AHEAD_MAX || m->crew[e->worker]->peer == NULL)
        return false;
    const struct train_task_spec *spec = next_task(e);
    if (spec->clock > m->closed + m->opts.staleness || saver_holds(m->saver, spec->clock))
        return false;
    return !spec->holds || master_hold_free(m, e, spec);
}

/* False: the worker is of no more use. */
static bool send(struct train_master *m, struct master_executor *e)
{
    struct master_worker *w = m->crew[e->worker];
    struct train_order order = {e->epoch, 0, m->closed, *next_task(e)};

    if (!crew_order(w, &order))
        return false;
    deal_enter(m, e, e->sent, e->sent + 1);
    if (e->sent++ == e->done)
        stall_begin(m, e);
    if (order.spec.holds)
        master_hold_enter(m, e, &order.spec);
    return true;
}

static void send_away(struct train_master *m, struct master_executor *e)
{
    struct master_worker *w = m->crew[e->worker];

    while (may_send(m, e)) {
        if (e->sent > e->done && !away_may_follow(m, next_task(e)))
            break;
        if (away_refresh(w, next_task(e)) != SHOAL_OK) {
            e->waiting = true;
            master_again(m);
            break;
        }
        if (!send(m, e))
            break;
    }
}

/* ---- dealing ---- */

static bool shares(const struct master_worker *w)
{
    return w->home && w->state == CREW_UP && w->peer != NULL;
}

/* Before one has ended there, as at the other worker. */
static double cost_of(const struct master_worker *w, const struct master_worker *other,
                      uint32_t kind)
{
    return w->kind[kind].cost_ns > 0       ? w->kind[kind].cost_ns
           : other->kind[kind].cost_ns > 0 ? other->kind[kind].cost_ns
                                           : COST_NS;
}

static bool has_room(const struct master_worker *w, const struct master_worker *other)
{
    double work_ns = 0;

    if (w->out < 2 * (uint64_t)w->threads)
        return true;
    for (uint32_t i = 0; i < KINDS; i++)
        if (w->kind[i].out > 0)
            work_ns += (double)w->kind[i].out * cost_of(w, other, i);
    return work_ns < (double)w->threads * WINDOW_NS;
}

/* The time that its list is for each of its threads, as far as the first one tells. */
static double load_of(const struct master_worker *w, const struct master_worker *other)
{
    return w->listed * cost_of(w, other, next_task(w->first)->fn % KINDS) / w->threads;
}

/* Whether its worker has nothing to do with it, and knows that: it has spoken of all it was sent. What
 * the box says may be news: a task is committed before its visit comes back. */
bool deal_rests(const struct train_master *m, const struct master_executor *e)
{
    const struct master_worker *w = e->worker != TRAIN_NOBODY ? m->crew[e->worker] : NULL;

    return w != NULL && w->home && w->peer != NULL && !e->releasing && e->told == e->sent;
}

/* The first in the worker's list that may go elsewhere, if it is of an earlier clock than `before`. */
static struct master_executor *spare(const struct train_master *m, const struct master_worker *w,
                                     uint64_t before)
{
    struct master_executor *e = w->first;

    while (e != NULL && next_task(e)->clock < before && !deal_rests(m, e))
        e = e->next;
    return e != NULL && next_task(e)->clock < before ? e : NULL;
}

/* What the worker is to have next; NULL: nothing. */
static struct master_executor *pick(const struct train_master *m, const struct master_worker *w)
{
    struct master_executor *best = w->first;
    uint64_t before = best != NULL ? next_task(best)->clock : UINT64_MAX;
    double most = 0;

    for (uint32_t i = 0; i < m->crew_count && shares(w); i++) {
        const struct master_worker *from = m->crew[i];
        if (from == w || from->listed == 0 || !shares(from) || has_room(from, w))
            continue;
        double load = load_of(from, w);
        struct master_executor *e = load >= most ? spare(m, from, before) : NULL;
        if (e == NULL)
            continue;
        best = e;
        most = load;
    }
    return best;
}

/* False: there was nothing for it. */
static bool deal_one(struct train_master *m, struct master_worker *w)
{
    struct master_executor *e = pick(m, w);

    if (e == NULL)
        return false;
    deal_drop(m, e);
    if (!may_send(m, e))
        return true; /* since it was listed, the job has ended or another holds its shard */
    if (e->worker != w->index)
        crew_move(m, index_of(m, e), w->index);
    if (send(m, e) && may_send(m, e))
        put(w, e);
    return true;
}

/* Whether there is at most one worker of this machine. */
static bool is_alone(const struct train_master *m)
{
    uint32_t sharing = 0;

    for (uint32_t i = 0; i < m->crew_count; i++)
        sharing += shares(m->crew[i]);
    return sharing < 2;
}

static void deal(struct train_master *m, bool alone)
{
    bool dealt = true;

    while (dealt) { /* to each in turn, so that all begin */
        dealt = false;
        for (uint32_t i = 0; i < m->crew_count; i++) {
            struct master_worker *w = m->crew[i];
            if (w->home && (alone || has_room(w, w)))
                dealt = deal_one(m, w) || dealt;
            else if (w->listed > 0)
                m->dealt = true;
        }
    }
}

static void pump_executor(struct train_master *m, struct master_executor *e, bool alone)
{
    watch_gate(m, e);
    if (!may_send(m, e))
        return;
    if (m->crew[e->worker]->away != NULL) {
        send_away(m, e);
    } else if (alone && !e->listed) {
        while (send(m, e) && may_send(m, e))
            ;
    } else {
        put(m->crew[e->worker], e);
    }
}

void master_pump(struct train_master *m)
{
    bool alone = is_alone(m);

    while (m->marked_count > 0 && !m->over) {
        struct master_executor *e = &m->executor[m->marked[--m->marked_count]];
        e->marked = false;
        pump_executor(m, e, alone);
        if (m->marked_count == 0)
            deal(m, alone); /* a move marks its executor */
    }
    crew_flush(m);
}
