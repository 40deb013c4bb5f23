/* crew.c - the workers of a job: started, joined, moved between, drained and lost.
 *
 * A worker is a process that has proven the key and joined. Children of the driver share its memory;
 * others are on another machine. An executor moves in four steps: the worker it is at is asked to
 * release it; that worker ends the task it has begun and forgets the ones it has not; the epoch goes
 * up; the new worker adopts it and gets the tasks that are left. Only that executor pauses, and no
 * task is run twice. When a worker dies, its executors skip the first two steps, after the death is
 * certain (the process has been reaped) and the box repaired. */
#include "train/master_parts.h"

#include "base/assert.h"
#include "base/err.h"
#include "train/answer.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const uint64_t JOIN_NS = 30ull * 1000 * 1000 * 1000;  /* for a child to join */
static const uint64_t LEAVE_NS = 60ull * 1000 * 1000 * 1000; /* for a worker to leave */
static const uint64_t GATHER_NS = 3ull * 1000 * 1000 * 1000; /* for the first ones to come */
static const uint64_t RATE_NS = 500ull * 1000 * 1000;        /* over which a rate is taken */
/* Load above the mean that is evened out: after workers came or went, and at any time (a task's time
 * is noisy on a shared machine). */
static const double SLACK = 1.1, SLACK_LATER = 1.25;
enum { FAILED_STARTS_MAX = 10 };

static uint32_t number_of(const struct master_worker *w)
{
    struct train_master *m = w->master;
    uint32_t i = 0;

    while (m->crew[i] != w)
        i++;
    return i + 1;
}

static uint32_t index_of(const struct master_worker *w)
{
    return number_of(w) - 1;
}

static struct master_worker *new_worker(struct train_master *m)
{
    const struct base_alloc *alloc = env_alloc(m->env);
    struct master_worker *w = NULL;

    for (uint32_t i = 0; i < m->crew_count && w == NULL; i++)
        if (m->crew[i]->state == CREW_FREE)
            w = m->crew[i];
    if (w == NULL) {
        void *crew = m->crew;
        if (m->crew_count + 1 >= TRAIN_WORKERS_MAX ||
            base_reserve(alloc, &crew, &m->crew_capacity, m->crew_count + 1, sizeof *m->crew) != 0)
            return NULL;
        m->crew = crew;
        w = base_calloc(alloc, 1, sizeof *w);
        if (w == NULL)
            return NULL;
        m->crew[m->crew_count++] = w;
    }
    *w = (struct master_worker){.master = m, .state = CREW_STARTING};
    return w;
}

static void send(struct master_worker *w, uint16_t kind, const void *bytes, size_t size)
{
    if (w->peer != NULL && wire_peer_send(w->peer, kind, bytes, size) != SHOAL_OK)
        crew_lose(w);
}

/* ---- executors come and go ---- */

static void adopt(struct train_master *m, uint32_t executor)
{
    struct master_executor *e = &m->executor[executor];
    struct master_worker *w = m->crew[e->target];
    struct train_unit unit = {executor, ++e->epoch};

    shoal_assert(e->worker == TRAIN_NOBODY);
    e->worker = e->target;
    w->executors++;
    if (w->away != NULL)
        away_adopt(w, &unit);
    else
        send(w, TRAIN_ADOPT, &unit, sizeof unit);
    master_mark(m, executor);
}

/* It is at no worker now: what it committed is heard of, the rest will be sent again. */
static void let_go(struct train_master *m, uint32_t executor)
{
    struct master_executor *e = &m->executor[executor];

    m->crew[e->worker]->executors--;
    e->worker = TRAIN_NOBODY;
    e->releasing = false;
    master_collect(m, executor);
    master_unsend(m, executor);
    e->pausing = true;
    e->released_ns = env_now_ns(m->env);
    if (e->target != TRAIN_NOBODY && m->crew[e->target]->state == CREW_UP)
        adopt(m, executor);
}

static void ask_release(struct train_master *m, uint32_t executor)
{
    struct master_executor *e = &m->executor[executor];
    struct train_unit unit = {executor, e->epoch};

    e->releasing = true;
    m->stats.moves++;
    if (m->crew[e->target]->away != NULL)
        away_send_data(m->crew[e->target], executor); /* while it still runs where it is */
    send(m->crew[e->worker], TRAIN_RELEASE, &unit, sizeof unit);
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
        e->target = m->place[i].worker;
        if (e->worker == TRAIN_NOBODY)
            adopt(m, i);
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

/* ---- the beginning ---- */

static uint32_t count_up(const struct train_master *m)
{
    uint32_t up = 0;

    for (uint32_t i = 0; i < m->crew_count; i++)
        up += m->crew[i]->state == CREW_UP;
    return up;
}

static void begin(void *ctx)
{
    struct train_master *m = ctx;

    if (m->started || count_up(m) == 0)
        return;
    m->started = true;
    crew_spread(m);
    master_check_end(m);
}

/* ---- the end of a worker ---- */

static void forget(struct master_worker *w)
{
    struct train_master *m = w->master;
    uint32_t index = index_of(w);
    bool expected = w->told_to_stop;

    w->state = CREW_FREE;
    env_timer_stop(&w->overdue);
    if (w->home)
        train_box_repair(m->box, index + 1);
    away_free(w);
    for (uint32_t i = 0; i < m->executor_count; i++) {
        struct master_executor *e = &m->executor[i];
        if (e->target == index)
            e->target = TRAIN_NOBODY;
        if (e->worker == index) {
            uint64_t out = e->sent;
            let_go(m, i);
            m->stats.tasks_redone += out > train_box_committed(m->box, i);
        }
    }
    if (!expected)
        m->stats.workers_lost++;
    if (!m->finished) /* at the end it is how many there were */
        m->stats.workers = count_up(m);
}

/* As many children as are wanted, and no more. */
static void match_wanted(struct train_master *m);

static void gone(struct master_worker *w)
{
    struct train_master *m = w->master;

    forget(w);
    if (m->over)
        return;
    if (!m->finished)
        match_wanted(m);
    crew_spread(m);
    master_pump(m);
    master_check_end(m);
}

static void child_exited(void *ctx, int status)
{
    struct master_worker *w = ctx;
    struct train_master *m = w->master;
    struct env_child *child = w->child;

    if (w->state == CREW_STARTING && !w->told_to_stop && ++m->failed_starts >= FAILED_STARTS_MAX) {
        shoal_err err;
        base_err(&err, SHOAL_E_IO, "workers end before they join, the last with status %d", status);
        base_err_hint(&err, "run with --log debug to see why");
        master_fail(m, SHOAL_E_IO, &err);
    }
    w->child = NULL;
    wire_peer_close(w->peer);
    w->peer = NULL;
    env_child_free(child);
    gone(w);
}

/* The worker inside this process cannot be lost alone. */
static void lose_inside(struct master_worker *w)
{
    shoal_err err;

    base_err(&err, SHOAL_E_INTERNAL, "the worker inside the driver has failed");
    master_fail(w->master, SHOAL_E_INTERNAL, &err);
}

/* A child's death is certain when it has been reaped; one from elsewhere is fenced by its epochs. */
void crew_lose(struct master_worker *w)
{
    if (w->child != NULL) {
        env_child_kill(w->child);
        return;
    }
    if (w->inside != NULL)
        return lose_inside(w);
    if (w->state == CREW_FREE)
        return;
    wire_peer_close(w->peer);
    w->peer = NULL;
    gone(w);
}

static void overdue(void *ctx)
{
    crew_lose(ctx);
}

static void watch(struct master_worker *w, uint64_t delay_ns)
{
    if (env_timer_start(w->master->loop, &w->overdue, delay_ns, overdue, w) != SHOAL_OK)
        crew_lose(w);
}

/* ---- what workers say ---- */

void crew_ended(struct master_worker *w, const struct train_ended *ended)
{
    struct train_master *m = w->master;
    struct master_executor *e = &m->executor[ended->executor];

    e->cost_ns = e->cost_ns > 0 ? 0.9 * e->cost_ns + 0.1 * (double)ended->run_ns
                                : (double)(ended->run_ns > 0 ? ended->run_ns : 1);
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
           m->executor[executor].worker == index_of(w);
}

static void hear_released(struct master_worker *w, const struct train_unit *unit)
{
    struct train_master *m = w->master;

    if (crew_current(w, unit->executor, unit->epoch) && m->executor[unit->executor].releasing)
        let_go(m, unit->executor);
}

/* A task's error ends the job. One from elsewhere that has no such executor has only itself to speak
 * of: it could not be set up. */
static void hear_failed(struct master_worker *w, const struct train_failed *failed)
{
    const struct train_master *m = w->master;
    shoal_err err;

    if (w->away != NULL && (failed->executor >= m->executor_count ||
                            m->executor[failed->executor].worker != index_of(w)))
        return crew_lose(w);
    w->master->stats.violations += failed->violations;
    base_err(&err, (shoal_status)failed->code, "%.*s", (int)sizeof failed->message - 1,
             failed->message);
    base_err_where(&err, "%.*s", (int)sizeof failed->where - 1, failed->where);
    base_err_hint(&err, "%.*s", (int)sizeof failed->hint - 1, failed->hint);
    master_fail(w->master, err.code < 0 ? err.code : SHOAL_E_INTERNAL, &err);
}

/* A leaving worker that has nothing left may go. */
static void check_leaving(struct master_worker *w)
{
    if (w->state != CREW_LEAVING || w->executors > 0 || w->told_to_stop)
        return;
    w->told_to_stop = true;
    send(w, TRAIN_STOP, NULL, 0);
}

static void leave(struct master_worker *w)
{
    if (w->state != CREW_UP)
        return;
    w->state = CREW_LEAVING;
    w->master->stats.workers = count_up(w->master);
    watch(w, LEAVE_NS);
    crew_spread(w->master);
    check_leaving(w);
}

/* It asked for that itself: where it was a child, another one is wanted in its place, and is started
 * before it has gone, since it may be the only one. */
static void leave_and_replace(struct master_worker *w)
{
    leave(w);
    if (!w->master->finished)
        match_wanted(w->master);
}

static void worker_message(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes,
                           size_t size)
{
    struct master_worker *w = ctx;
    struct train_master *m = w->master;

    (void)peer;
    if (m->over)
        return;
    const struct train_ended *ended = bytes;
    if (kind == TRAIN_ENDED && size == sizeof *ended && w->away == NULL) {
        if (crew_current(w, ended->executor, ended->epoch))
            crew_ended(w, ended);
    } else if (kind == TRAIN_COMMIT && w->away != NULL) {
        away_commits(w, bytes, size);
    } else if (kind == TRAIN_RELEASED && size == sizeof(struct train_unit))
        hear_released(w, bytes);
    else if (kind == TRAIN_FAILED && size == sizeof(struct train_failed))
        hear_failed(w, bytes);
    else if (kind == TRAIN_LEAVE && size == 0)
        leave_and_replace(w);
    else
        crew_lose(w);
    master_pump(m);
    if (w->state == CREW_LEAVING)
        check_leaving(w);
    master_check_end(m);
}

static void worker_closed(void *ctx, struct wire_peer *peer, const shoal_err *why)
{
    struct master_worker *w = ctx;

    (void)peer;
    (void)why;
    w->peer = NULL;
    crew_lose(w);
}

static const struct wire_peer_ops WORKER_OPS = {NULL, worker_message, worker_closed};

/* ---- joining ---- */

static void drop_guest(struct master_guest *g)
{
    struct master_guest **at = &g->master->guests;

    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    base_free(env_alloc(g->master->env), g);
}

static shoal_status set_up(struct master_worker *w)
{
    struct train_master *m = w->master;
    struct base_buf text;
    shoal_status st;

    base_buf_init(&text, env_alloc(m->env), WIRE_MESSAGE_MAX);
    base_buf_printf(&text, "%s\n%s", m->opts.word != NULL ? m->opts.word : m->opts.app->name,
                    m->settings);
    size_t text_size = text.size;
    if (!w->home)
        train_box_pack_layout(m->box, &text);
    struct train_setup setup = {.seed = m->opts.seed,
                                .segment_size = m->segment.size,
                                .worker = number_of(w),
                                .staleness = m->opts.staleness,
                                .home = w->home,
                                .text_size = (uint32_t)text_size,
                                .layout_size = (uint32_t)(text.size - text_size)};
    st = base_buf_status(&text);
    if (st == SHOAL_OK)
        st = wire_peer_send2(w->peer, TRAIN_SETUP, &setup, sizeof setup, text.data, text.size);
    base_buf_fini(&text);
    return st;
}

/* The worker that this peer is: a child that is awaited, or a new one from elsewhere. NULL: no. */
static struct master_worker *seat_for(struct train_master *m, const struct train_join *hello)
{
    struct master_worker *w = NULL;

    if (m->over || m->finished || hello->threads == 0)
        return NULL;
    if (hello->slot == 0) {
        w = new_worker(m);
        if (w != NULL && away_new(w) != SHOAL_OK) {
            w->state = CREW_FREE;
            w = NULL;
        }
        return w;
    }
    if (hello->slot <= m->crew_count)
        w = m->crew[hello->slot - 1];
    if (w == NULL || w->state != CREW_STARTING || w->peer != NULL ||
        (w->child == NULL && w->inside == NULL))
        return NULL;
    w->home = true;
    return w;
}

static void welcome(struct master_worker *w)
{
    struct train_master *m = w->master;

    w->state = CREW_UP;
    w->busy_since_ns = env_now_ns(m->env);
    m->failed_starts = 0;
    m->stats.workers = count_up(m);
    if (set_up(w) != SHOAL_OK)
        return crew_lose(w);
    if (m->started)
        crew_spread(m);
    else if (count_up(m) >= m->wanted + (m->opts.inside > 0))
        begin(m);
    else if (m->gather.place == 0 &&
             env_timer_start(m->loop, &m->gather, GATHER_NS, begin, m) != SHOAL_OK)
        begin(m);
}

static void join(struct master_guest *g, const struct train_join *hello)
{
    struct wire_peer *peer = g->peer;
    struct master_worker *w = seat_for(g->master, hello);

    drop_guest(g);
    if (w == NULL) {
        wire_peer_close(peer);
        return;
    }
    w->peer = peer;
    w->threads = hello->threads;
    w->pid = hello->pid;
    snprintf(w->host, sizeof w->host, "%.*s", (int)sizeof hello->host - 1, hello->host);
    wire_peer_set(peer, &WORKER_OPS, w);
    env_timer_stop(&w->overdue);
    welcome(w);
}

/* ---- onlookers ---- */

static void answer(struct master_guest *g, const void *bytes, size_t size)
{
    struct base_buf out;

    base_buf_init(&out, env_alloc(g->master->env), WIRE_MESSAGE_MAX);
    train_answer(g->master, bytes, size, &out);
    if (base_buf_status(&out) != SHOAL_OK ||
        wire_peer_send(g->peer, TRAIN_ANSWER, out.data, out.size) != SHOAL_OK) {
        wire_peer_close(g->peer);
        drop_guest(g);
    }
    base_buf_fini(&out);
}

static void guest_message(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes,
                          size_t size)
{
    struct master_guest *g = ctx;

    if (kind == TRAIN_JOIN && size == sizeof(struct train_join)) {
        join(g, bytes);
    } else if (kind == TRAIN_ASK) {
        answer(g, bytes, size);
    } else {
        wire_peer_close(peer);
        drop_guest(g);
    }
}

static void guest_closed(void *ctx, struct wire_peer *peer, const shoal_err *why)
{
    (void)peer;
    (void)why;
    drop_guest(ctx);
}

static const struct wire_peer_ops GUEST_OPS = {NULL, guest_message, guest_closed};

static void accepted(void *ctx, struct wire_peer *peer)
{
    struct train_master *m = ctx;
    struct master_guest *g = base_calloc(env_alloc(m->env), 1, sizeof *g);

    if (g == NULL) {
        wire_peer_close(peer);
        return;
    }
    *g = (struct master_guest){m, peer, m->guests};
    m->guests = g;
    wire_peer_set(peer, &GUEST_OPS, g);
}

static void refused(void *ctx, const char *address, const shoal_err *why)
{
    struct train_master *m = ctx;

    (void)address;
    (void)why;
    m->stats.refused++;
}

/* ---- how many ---- */

static shoal_status start_child(struct train_master *m, shoal_err *err)
{
    char slot[16], threads[16], key[2 * WIRE_KEY_SIZE + 1];
    const char *argv[16];
    size_t count = 0;
    struct master_worker *w = new_worker(m);

    if (w == NULL)
        return base_err_nomem(err, "starting a worker");
    snprintf(slot, sizeof slot, "%u", number_of(w));
    snprintf(threads, sizeof threads, "%u", m->opts.threads);
    wire_key_format(&m->key, key);
    if (m->opts.program == NULL)
        argv[count++] = NULL; /* this program */
    for (size_t i = 0; m->opts.program != NULL && m->opts.program[i] != NULL && count < 8; i++)
        argv[count++] = m->opts.program[i];
    const char *tail[] = {"worker",    "--slot", slot,
                          "--threads", threads,  wire_server_address(m->server)};
    for (size_t i = 0; i < sizeof tail / sizeof tail[0]; i++)
        argv[count++] = tail[i];
    argv[count] = NULL;
    struct env_spawn spawn = {argv, m->segment.handle, key, sizeof key - 1};
    shoal_status st = env_child_start(m->loop, &spawn, child_exited, w, &w->child, err);
    if (st != SHOAL_OK) {
        w->state = CREW_FREE;
        return st;
    }
    watch(w, JOIN_NS);
    return SHOAL_OK;
}

/* ---- a worker inside this process ---- */

static const shoal_app *find_inside(void *ctx, const char *name)
{
    (void)name;
    return ((struct master_worker *)ctx)->master->opts.app;
}

static void inside_gone(void *ctx)
{
    struct master_worker *w = ctx;

    train_worker_free(w->inside);
    w->inside = NULL;
    wire_peer_close(w->peer);
    w->peer = NULL;
    gone(w);
}

static void inside_ended(void *ctx, shoal_status status, const shoal_err *err)
{
    struct master_worker *w = ctx;

    if (status != SHOAL_OK)
        master_fail(w->master, status, err);
    if (env_loop_post(w->master->loop, inside_gone, w) != SHOAL_OK)
        lose_inside(w);
}

static shoal_status start_inside(struct train_master *m, shoal_err *err)
{
    struct master_worker *w = new_worker(m);
    struct train_worker_opts opts = {.address = wire_server_address(m->server),
                                     .key = &m->key,
                                     .wire = &m->wire,
                                     .threads = m->opts.inside,
                                     .host = "inside",
                                     .segment = m->segment.handle,
                                     .find = find_inside,
                                     .ended = inside_ended,
                                     .ctx = w};

    if (w == NULL)
        return base_err_nomem(err, "starting a worker");
    opts.slot = number_of(w);
    return train_worker_new(m->loop, &opts, &w->inside, err);
}

static uint32_t count_staying(const struct train_master *m)
{
    uint32_t staying = 0;

    for (uint32_t i = 0; i < m->crew_count; i++) {
        const struct master_worker *w = m->crew[i];
        staying += w->child != NULL && !w->told_to_stop &&
                   (w->state == CREW_STARTING || w->state == CREW_UP);
    }
    return staying;
}

static void match_wanted(struct train_master *m)
{
    uint32_t staying = count_staying(m);

    for (; staying < m->wanted && m->status == SHOAL_OK; staying++) {
        shoal_err err;
        shoal_status st = start_child(m, &err);
        if (st != SHOAL_OK && count_staying(m) == 0)
            master_fail(m, st, &err); /* else the others carry on */
        if (st != SHOAL_OK)
            break;
    }
    for (uint32_t i = m->crew_count; i-- > 0 && staying > m->wanted;) {
        struct master_worker *w = m->crew[i];
        if (w->child == NULL || w->state != CREW_UP)
            continue;
        leave(w);
        staying--;
    }
}

shoal_status train_master_scale(struct train_master *m, uint32_t workers, shoal_err *err)
{
    if (workers == 0 || workers >= TRAIN_WORKERS_MAX)
        return base_err(err, SHOAL_E_INVAL, "cannot run on %u workers; 1 to %d are allowed",
                        workers, TRAIN_WORKERS_MAX - 1);
    if (m->finished)
        return base_err(err, SHOAL_E_INVAL, "the job is ending");
    m->wanted = workers;
    match_wanted(m);
    return SHOAL_OK;
}

static shoal_status last_one(uint32_t worker, shoal_err *err)
{
    base_err(err, SHOAL_E_IMPOSSIBLE, "worker %u is the last one", worker);
    base_err_hint(err, "give the job another one first, with 'shoal scale' or 'shoal join'");
    return SHOAL_E_IMPOSSIBLE;
}

shoal_status train_master_drain(struct train_master *m, uint32_t worker, shoal_err *err)
{
    if (worker == 0 || worker > m->crew_count || m->crew[worker - 1]->state != CREW_UP)
        return base_err(err, SHOAL_E_NOTFOUND, "it has no worker %u that is up", worker);
    if (count_up(m) == 1)
        return last_one(worker, err);
    if (m->crew[worker - 1]->child != NULL && m->wanted > 1)
        m->wanted--;
    leave(m->crew[worker - 1]);
    return SHOAL_OK;
}

/* ---- looking around ---- */

static void take_rate(struct train_master *m, uint64_t now)
{
    if (now - m->rate_ns < RATE_NS)
        return;
    double rate = (double)(m->stats.units - m->rate_units) / ((double)(now - m->rate_ns) * 1e-9);
    m->stats.units_per_s = m->stats.units_per_s > 0 ? 0.5 * (m->stats.units_per_s + rate) : rate;
    m->rate_units = m->stats.units;
    m->rate_ns = now;
}

static void look(void *ctx)
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
    spread(m, SLACK_LATER);
    if (env_timer_start(m->loop, &m->balance, m->opts.balance_ms * 1000000, look, m) != SHOAL_OK)
        m->opts.balance_ms = 0; /* runs on as it is */
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
                                          .busy = w->busy};
        memcpy(out->host, w->host, sizeof out->host);
        return SHOAL_OK;
    }
    return SHOAL_END;
}

/* ---- life ---- */

shoal_status crew_start(struct train_master *m, shoal_err *err)
{
    shoal_status st = wire_server_new(m->loop, m->opts.address, &m->key, &m->wire, accepted,
                                      refused, m, &m->server, err);
    if (st == SHOAL_OK && m->opts.balance_ms > 0)
        st = env_timer_start(m->loop, &m->balance, m->opts.balance_ms * 1000000, look, m);
    if (st == SHOAL_OK && m->opts.inside > 0)
        st = start_inside(m, err);
    for (uint32_t i = 0; i < m->wanted && st == SHOAL_OK; i++)
        st = start_child(m, err);
    return st;
}

bool crew_empty(const struct train_master *m)
{
    for (uint32_t i = 0; i < m->crew_count; i++)
        if (m->crew[i]->state != CREW_FREE)
            return false;
    return true;
}

void crew_stop(struct train_master *m)
{
    for (uint32_t i = 0; i < m->crew_count; i++) {
        struct master_worker *w = m->crew[i];
        if (w->state == CREW_FREE || w->told_to_stop)
            continue;
        w->told_to_stop = true;
        if (w->state == CREW_STARTING)
            crew_lose(w);
        else
            send(w, TRAIN_STOP, NULL, 0);
        if (w->state != CREW_FREE)
            watch(w, LEAVE_NS);
    }
}

void crew_free(struct train_master *m)
{
    while (m->guests != NULL) {
        wire_peer_close(m->guests->peer);
        drop_guest(m->guests);
    }
    for (uint32_t i = 0; i < m->crew_count; i++) {
        struct master_worker *w = m->crew[i];
        env_timer_stop(&w->overdue);
        train_worker_free(w->inside);
        wire_peer_close(w->peer);
        env_child_free(w->child);
        away_free(w);
        base_free(env_alloc(m->env), w);
    }
    base_free(env_alloc(m->env), m->crew);
    wire_server_free(m->server);
}
