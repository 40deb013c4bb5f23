/* hire.c - the workers of a job: started, joined, asked to leave, ended.
 *
 * A worker is a process that has proven the key and joined. Children of the driver share its memory;
 * others are on another machine; one may be inside the driver's process. A child that ends is
 * replaced while more are wanted than there are. What an ended one had begun is sent to others
 * (crew.c), after its death is certain.
 *
 * Tests: tests/unit/train/test_master*.c, test_job.c. */
#include "train/master_parts.h"

#include "base/assert.h"
#include "base/err.h"
#include "train/answer.h"
#include <stdio.h>
#include <string.h>

static const uint64_t JOIN_NS = 30ull * 1000 * 1000 * 1000;  /* for a child to join */
static const uint64_t LEAVE_NS = 60ull * 1000 * 1000 * 1000; /* for a worker to leave */
static const uint64_t AWAY_NS = 1ull * 1000 * 1000 * 1000;   /* that a timer is late */
static const uint64_t GATHER_NS = 3ull * 1000 * 1000 * 1000; /* for the first ones to come */
enum { FAILED_STARTS_MAX = 10 };
enum { GUEST_QUEUE_MAX = 8 << 20 }; /* bytes for one who does not read them */

static uint32_t number_of(const struct master_worker *w)
{
    return w->index + 1;
}

static struct master_worker *new_worker(struct train_master *m)
{
    const struct base_alloc *alloc = env_alloc(m->env);
    struct master_worker *w = NULL;
    uint32_t index = 0;

    while (index < m->crew_count && m->crew[index]->state != CREW_FREE)
        index++;
    if (index < m->crew_count) {
        w = m->crew[index];
    } else {
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
    *w = (struct master_worker){.master = m, .index = index, .state = CREW_STARTING};
    return w;
}

/* ---- the beginning ---- */

static void begin(void *ctx)
{
    struct train_master *m = ctx;

    if (m->started || crew_count_up(m) == 0)
        return;
    m->started = true;
    crew_spread(m);
    master_check_end(m);
}

/* ---- the end of a worker ---- */

static void forget(struct master_worker *w)
{
    struct train_master *m = w->master;
    uint32_t index = w->index;
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
            crew_let_go(m, i);
            m->stats.tasks_redone += out > train_box_committed(m->box, i);
        }
    }
    if (!expected)
        m->stats.workers_lost++;
    if (!m->finished) /* at the end it is how many there were */
        m->stats.workers = crew_count_up(m);
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
void hire_lose(struct master_worker *w)
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

static void watch(struct master_worker *w, uint64_t delay_ns);

/* Where the timer itself is late it was we who were away, between two waits or stopped: what the worker has said
 * meanwhile is still to be read. */
static void overdue(void *ctx)
{
    struct master_worker *w = ctx;

    if (env_now_ns(w->master->env) - w->overdue.due_ns > AWAY_NS)
        watch(w, JOIN_NS);
    else
        hire_lose(w);
}

static void watch(struct master_worker *w, uint64_t delay_ns)
{
    if (env_timer_start(w->master->loop, &w->overdue, delay_ns, overdue, w) != SHOAL_OK)
        hire_lose(w);
}

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
                                .layout_size = (uint32_t)(text.size - text_size),
                                .patience_ms = m->opts.patience_ms};
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
    m->stats.workers = crew_count_up(m);
    if (set_up(w) != SHOAL_OK)
        return hire_lose(w);
    if (m->started)
        crew_spread(m);
    else if (crew_count_up(m) >= m->wanted + (m->opts.inside > 0))
        begin(m);
    else if (m->gather.place == 0 &&
             env_timer_start(m->loop, &m->gather, GATHER_NS, begin, m) != SHOAL_OK)
        begin(m);
}

/* Words of others are shown on terminals: no line breaks, no escape sequences. */
static void make_plain(char *text)
{
    for (; *text != 0; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

void hire_turned_away(struct train_master *m, const char *whom, const shoal_err *why)
{
    m->stats.refused++;
    snprintf(m->refusal, sizeof m->refusal, "%.60s: %.240s", whom, why->message);
    make_plain(m->refusal);
}

/* Tells it why. It stays a guest until it goes. */
static void refuse(struct master_guest *g, shoal_status status, const shoal_err *why)
{
    struct train_failed failed = train_failed_of(TRAIN_NOBODY, status, why);

    hire_turned_away(g->master, wire_peer_address(g->peer), why);
    if (wire_peer_send(g->peer, TRAIN_REFUSED, &failed, sizeof failed) == SHOAL_OK)
        return;
    wire_peer_close(g->peer);
    drop_guest(g);
}

/* Whether a worker like this one can be of use. */
static shoal_status check_join(const struct master_guest *g, const struct train_join *hello,
                               shoal_err *err)
{
    if (hello->slot != 0 && wire_peer_joins(g->peer))
        return base_err(err, SHOAL_E_DENIED, "the key to join is not for workers of this machine");
    if (hello->threads > TRAIN_THREADS_MAX)
        return base_err(err, SHOAL_E_LIMIT, "a worker with %u threads; at most %d are taken",
                        hello->threads, TRAIN_THREADS_MAX);
    return hello->slot != 0 ? SHOAL_OK : train_box_can_carry(g->master->box, WIRE_MESSAGE_MAX, err);
}

static void join(struct master_guest *g, const struct train_join *hello)
{
    struct wire_peer *peer = g->peer;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = check_join(g, hello, &err);

    if (st != SHOAL_OK)
        return refuse(g, st, &err);
    struct master_worker *w = seat_for(g->master, hello);

    drop_guest(g);
    if (w == NULL) {
        wire_peer_close(peer);
        return;
    }
    wire_peer_set_queue_max(peer, w->master->wire.queue_max);
    w->peer = peer;
    w->threads = hello->threads;
    w->pid = hello->pid;
    snprintf(w->host, sizeof w->host, "%.*s", (int)sizeof hello->host - 1, hello->host);
    make_plain(w->host);
    crew_listen(w);
    env_timer_stop(&w->overdue);
    welcome(w);
}

/* ---- onlookers ---- */

/* Who has only the key to join may neither command nor look. */
static void answer(struct master_guest *g, const void *bytes, size_t size)
{
    struct base_buf out;
    shoal_err err = SHOAL_ERR_INIT;

    base_buf_init(&out, env_alloc(g->master->env), WIRE_MESSAGE_MAX);
    if (wire_peer_joins(g->peer)) {
        base_err(&err, SHOAL_E_DENIED, "the key to join allows neither commands nor questions");
        hire_turned_away(g->master, wire_peer_address(g->peer), &err);
        train_answer_error(&err, &out);
    } else {
        train_answer(g->master, bytes, size, &out);
    }
    shoal_status st = base_buf_status(&out);
    if (st == SHOAL_OK)
        st = wire_peer_send(g->peer, TRAIN_ANSWER, out.data, out.size);
    if (st == SHOAL_E_LIMIT) {
        base_err(&err, st, "it does not read its answers: more than %d MiB are queued",
                 GUEST_QUEUE_MAX >> 20);
        hire_turned_away(g->master, wire_peer_address(g->peer), &err);
    }
    if (st != SHOAL_OK) {
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

/* NULL: there is no memory for it, and it is closed. */
static struct master_guest *new_guest(struct train_master *m, struct wire_peer *peer)
{
    struct master_guest *g = base_calloc(env_alloc(m->env), 1, sizeof *g);

    if (g == NULL) {
        wire_peer_close(peer);
        return NULL;
    }
    *g = (struct master_guest){m, peer, m->guests};
    m->guests = g;
    wire_peer_set(peer, &GUEST_OPS, g);
    wire_peer_set_queue_max(peer, GUEST_QUEUE_MAX);
    return g;
}

static void accepted(void *ctx, struct wire_peer *peer)
{
    (void)new_guest(ctx, peer);
}

/* It is a guest again, and none of its epochs is current any more. */
void hire_dismiss(struct master_worker *w, shoal_status status, const shoal_err *why)
{
    struct master_guest *g = new_guest(w->master, w->peer);

    w->peer = NULL;
    if (g != NULL)
        refuse(g, status, why);
    hire_lose(w);
}

static void refused(void *ctx, const char *address, const shoal_err *why)
{
    hire_turned_away(ctx, address, why);
}

/* ---- children ---- */

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
    wire_wipe(key, sizeof key);
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

/* ---- how many ---- */

/* A leaving worker that has nothing left may go. */
void hire_check_leaving(struct master_worker *w)
{
    if (w->state != CREW_LEAVING || w->executors > 0 || w->told_to_stop)
        return;
    w->told_to_stop = true;
    crew_send(w, TRAIN_STOP, NULL, 0);
}

static void leave(struct master_worker *w)
{
    if (w->state != CREW_UP)
        return;
    w->state = CREW_LEAVING;
    w->master->stats.workers = crew_count_up(w->master);
    watch(w, LEAVE_NS);
    crew_spread(w->master);
    hire_check_leaving(w);
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

/* It asked for that itself: where it was a child, another one is wanted in its place, and is started
 * before it has gone, since it may be the only one. */
void hire_quit(struct master_worker *w)
{
    leave(w);
    if (!w->master->finished)
        match_wanted(w->master);
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
    if (worker > 0 && worker <= m->crew_count && m->crew[worker - 1]->state == CREW_LEAVING &&
        m->crew[worker - 1]->inside == NULL) {
        hire_lose(m->crew[worker - 1]);
        return SHOAL_OK;
    }
    if (worker == 0 || worker > m->crew_count || m->crew[worker - 1]->state != CREW_UP)
        return base_err(err, SHOAL_E_NOTFOUND, "it has no worker %u that is up", worker);
    if (crew_count_up(m) == 1)
        return last_one(worker, err);
    if (m->crew[worker - 1]->child != NULL && m->wanted > 1)
        m->wanted--;
    leave(m->crew[worker - 1]);
    return SHOAL_OK;
}

/* ---- life ---- */

shoal_status hire_start(struct train_master *m, shoal_err *err)
{
    shoal_status st = wire_server_new(m->loop, m->opts.address, &m->key, &m->wire, accepted,
                                      refused, m, &m->server, err);
    m->looked_ns = env_now_ns(m->env);
    if (st == SHOAL_OK && m->opts.balance_ms > 0)
        st = env_timer_start(m->loop, &m->balance, m->opts.balance_ms * 1000000, crew_look, m);
    if (st == SHOAL_OK && m->opts.inside > 0)
        st = start_inside(m, err);
    for (uint32_t i = 0; i < m->wanted && st == SHOAL_OK; i++)
        st = start_child(m, err);
    return st;
}

bool hire_empty(const struct train_master *m)
{
    for (uint32_t i = 0; i < m->crew_count; i++)
        if (m->crew[i]->state != CREW_FREE)
            return false;
    return true;
}

void hire_stop(struct train_master *m)
{
    for (uint32_t i = 0; i < m->crew_count; i++) {
        struct master_worker *w = m->crew[i];
        if (w->state == CREW_FREE || w->told_to_stop)
            continue;
        w->told_to_stop = true;
        if (w->state == CREW_STARTING)
            hire_lose(w);
        else
            crew_send(w, TRAIN_STOP, NULL, 0);
        if (w->state != CREW_FREE)
            watch(w, LEAVE_NS);
    }
}

void hire_free(struct train_master *m)
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
