/* stall.c - joined workers that take work and end none of it.
 *
 * A worker that joined may hang, be far too slow, or lie: it holds executors, answers every sign of
 * life, and the job waits for it for good. So one that owes an answer for too long is let go: its
 * executors get a new epoch and go to others, and what it says later is not heard (crew_current).
 * It owes an answer while an executor there has a task that is not committed, or was asked back.
 *
 * Too long must not mean "a long task". Nothing that the worker says of itself tells the two apart,
 * since a liar says the same. What others take does, and of those the workers of this machine can be
 * trusted, as the driver started them. The limit is
 *
 *     max(stall_ms, TIMES x the longest task of that fn here, ended or still running) x rounds
 *
 * where rounds is how many tasks the worker had for each thread that it claims: who claims many
 * threads gets many executors and has to keep up. While a task of that fn has run here for as long,
 * nobody is let go. A job without workers of its own has no such measure; there all ended tasks
 * count, and the limit doubles with each worker that is let go until a task ends, so that tasks of
 * any length end at last.
 *
 * The wait begins when what was sent before the task can have arrived (stall_begin), and time in
 * which the driver was not there to listen does not count. Workers of this machine are never let go:
 * 'shoal drain' is for those.
 *
 * Tests: tests/unit/train/test_stall.c, test_master.c. */
#include "base/err.h"
#include "train/master_parts.h"
#include <math.h>

enum { TIMES = 10, DOUBLE_MAX = 20 };
static const uint64_t LINE_BYTES_S = 256 << 10; /* the slowest line that is waited for */
static const uint64_t SECOND_NS = 1000ull * 1000 * 1000;

static bool has_own_workers(const struct train_master *m)
{
    return m->wanted > 0 || m->opts.inside > 0;
}

static uint32_t rounds_of(const struct master_worker *w)
{
    uint64_t rounds = (w->out + w->threads - 1) / w->threads;

    return rounds > 1 ? (uint32_t)rounds : 1;
}

/* What it was sent before has to arrive and be run first. */
void stall_begin(struct train_master *m, struct master_executor *e)
{
    const struct master_worker *w = m->crew[e->worker];

    e->waiting_ns = env_now_ns(m->env);
    e->waiting_rounds = rounds_of(w);
    if (w->away != NULL && w->peer != NULL)
        e->waiting_ns += wire_peer_waiting(w->peer) * (SECOND_NS / 1000) / (LINE_BYTES_S / 1000);
}

/* The time that a worker tells is its own word, so elsewhere it is taken here. */
void stall_ended(struct master_worker *w, const struct train_ended *ended)
{
    struct train_master *m = w->master;
    uint64_t now = env_now_ns(m->env), since = m->executor[ended->executor].waiting_ns;
    uint64_t took = w->home ? ended->run_ns : now > since ? now - since : 0;
    uint64_t *longest = &m->longest_ns[ended->fn % KINDS];

    m->stalled_row = 0;
    if ((w->home || !has_own_workers(m)) && took > *longest)
        *longest = took;
}

/* KINDS: nothing of it is out, but it may be asked back. */
static uint32_t kind_of(const struct master_executor *e)
{
    return e->sent > e->done ? master_task(e, e->done + 1)->fn % KINDS : KINDS;
}

/* What is committed and not heard of is up to the driver. */
static bool owes(const struct train_master *m, uint32_t executor)
{
    const struct master_executor *e = &m->executor[executor];

    return e->worker != TRAIN_NOBODY &&
           (e->releasing || (e->sent > e->done && e->sent > train_box_committed(m->box, executor)));
}

/* What tasks take here, by kind: usual_ns (KINDS + 1). */
static void measure(const struct train_master *m, uint64_t now, uint64_t *usual_ns)
{
    for (uint32_t i = 0; i <= KINDS; i++)
        usual_ns[i] = i < KINDS ? m->longest_ns[i] : 0;
    for (uint32_t i = 0; i < m->executor_count; i++) {
        const struct master_executor *e = &m->executor[i];
        uint32_t kind = kind_of(e);
        if (kind < KINDS && e->worker != TRAIN_NOBODY && m->crew[e->worker]->home &&
            now > e->waiting_ns && now - e->waiting_ns > usual_ns[kind])
            usual_ns[kind] = now - e->waiting_ns;
    }
}

static uint64_t limit_of(const struct train_master *m, const struct master_executor *e,
                         uint64_t usual_ns)
{
    uint64_t rounds = rounds_of(m->crew[e->worker]);
    uint32_t row = has_own_workers(m) ? 0 : m->stalled_row;
    double least =
        ldexp((double)m->opts.stall_ms * 1e6, (int)(row < DOUBLE_MAX ? row : DOUBLE_MAX));
    double limit = fmax(least, (double)TIMES * (double)usual_ns) *
                   (double)(rounds > e->waiting_rounds ? rounds : e->waiting_rounds);

    return limit < (double)(UINT64_MAX / 2) ? (uint64_t)limit : UINT64_MAX / 2;
}

static void let_go(struct master_worker *w, uint64_t waited_ns)
{
    shoal_err err;

    base_err(&err, SHOAL_E_LIMIT, "worker %u finished no task in %.0f s; its work was reassigned",
             w->index + 1, (double)waited_ns / 1e9);
    base_err_hint(&err, "where tasks take that long, start the job with a longer --stall");
    w->master->stalled_row++;
    w->master->stats.workers_stalled++;
    hire_dismiss(w, SHOAL_E_LIMIT, &err);
}

/* Since the last look the driver was in a hook, or stopped: nobody is blamed for that. */
static void forgive(struct train_master *m, uint64_t now)
{
    uint64_t most = 2 * m->opts.balance_ms * (SECOND_NS / 1000), passed = now - m->looked_ns;

    m->looked_ns = now;
    for (uint32_t i = 0; i < m->executor_count && passed > most; i++) {
        uint64_t *since = &m->executor[i].waiting_ns;
        if (*since < now)
            *since += now - *since < passed - most ? now - *since : passed - most;
    }
}

void stall_look(struct train_master *m)
{
    uint64_t now = env_now_ns(m->env), usual_ns[KINDS + 1];

    forgive(m, now);
    if (m->opts.stall_ms == 0)
        return;
    measure(m, now, usual_ns);
    for (uint32_t i = 0; i < m->executor_count; i++) {
        struct master_executor *e = &m->executor[i];
        if (!owes(m, i) || now <= e->waiting_ns)
            continue;
        struct master_worker *w = m->crew[e->worker];
        if (w->away != NULL && w->peer != NULL &&
            now - e->waiting_ns > limit_of(m, e, usual_ns[kind_of(e)]))
            return let_go(w, now - e->waiting_ns); /* the next look finds others */
    }
}
