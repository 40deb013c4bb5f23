/* away.c - workers on other machines, from the driver's side.
 *
 * Such a worker has a box of its own, made from the layout of ours. It is sent an executor's data
 * once, from before the move on, in pieces as the line takes them, and its state with the adoption; its
 * tasks wait until all of it has been sent. Before each task it is sent the rows that
 * changed since it was last sent some (all of them at first, in pieces), so what the task reads is as
 * fresh as the driver's box. What it commits comes as bytes and is committed here as if it had run
 * here, in order; the worker is told so. So the truth is always here, and a worker that is lost takes
 * nothing along but the tasks it had not committed.
 *
 * Running ahead. A worker may have two tasks of an executor that are not accepted yet when neither
 * reads tables that change nor holds a shard; else it goes on when the one before is accepted.
 *
 * Tests: tests/unit/train/test_master*.c, test_unread.c. */
#include "base/err.h"
#include "train/master_parts.h"
#include <string.h>

enum {
    PIECE_SIZE = 4 << 20,  /* of data in one message */
    AHEAD_SIZE = 16 << 20, /* of data and rows that are on their way */
    TURN_SIZE = 8 << 20    /* of rows to all, before the loop has to turn */
};
static const uint64_t TURN_NS = 100 * 1000; /* it has, after so long */

enum data_state { DATA_NOT_SENT, DATA_QUEUED, DATA_SENT };

/* A commit that found something locked here. */
struct late_commit {
    struct late_commit *next;
    struct train_ended ended;
    size_t size;
    char bytes[];
};

struct master_away {
    uint8_t *data;   /* (executors) enum data_state */
    uint32_t *queue; /* (executors) whose data is to be sent, from queue_first around */
    uint32_t queue_first, queue_count;
    size_t data_at;        /* of the first one's that has been sent */
    struct train_own *own; /* (executors) */
    uint64_t *version;     /* (shards of all tables) of the rows sent last */
    uint64_t
        fresh[SHOAL_TABLES_MAX]; /* state of the box when the table's rows were sent; 0: none */
    struct late_commit *late, **late_end;
    struct base_buf rows;     /* scratch */
    struct base_buf accepted; /* struct train_accepted, to be sent */
};

shoal_status away_new(struct master_worker *w)
{
    struct train_master *m = w->master;
    const struct base_alloc *alloc = env_alloc(m->env);
    struct master_away *away = base_calloc(alloc, 1, sizeof *away);

    if (away == NULL)
        return SHOAL_E_NOMEM;
    w->away = away;
    away->late_end = &away->late;
    base_buf_init(&away->rows, alloc, WIRE_MESSAGE_MAX + WIRE_BUF_ROOM + 8);
    base_buf_init(&away->accepted, alloc, WIRE_MESSAGE_MAX);
    away->data = base_calloc(alloc, m->executor_count, sizeof *away->data);
    away->queue = base_calloc(alloc, m->executor_count, sizeof *away->queue);
    away->own = base_calloc(alloc, m->executor_count, sizeof *away->own);
    away->version =
        base_calloc(alloc, master_first_shard(m, UINT32_MAX) + 1, sizeof *away->version);
    if (away->data == NULL || away->queue == NULL || away->own == NULL || away->version == NULL) {
        away_free(w);
        return SHOAL_E_NOMEM;
    }
    return SHOAL_OK;
}

void away_free(struct master_worker *w)
{
    const struct base_alloc *alloc = env_alloc(w->master->env);

    if (w->away == NULL)
        return;
    while (w->away->late != NULL) {
        struct late_commit *next = w->away->late->next;
        base_free(alloc, w->away->late);
        w->away->late = next;
    }
    base_buf_fini(&w->away->rows);
    base_buf_fini(&w->away->accepted);
    base_free(alloc, w->away->data);
    base_free(alloc, w->away->queue);
    base_free(alloc, w->away->own);
    base_free(alloc, w->away->version);
    base_free(alloc, w->away);
    w->away = NULL;
}

/* ---- executors ---- */

static bool is_behind(const struct master_worker *w)
{
    return w->peer != NULL && wire_peer_waiting(w->peer) > AHEAD_SIZE;
}

/* Takes the first one out of the queue. */
static void data_end(struct master_away *away, uint32_t executors, enum data_state state)
{
    away->data[away->queue[away->queue_first]] = (uint8_t)state;
    away->queue_first = (away->queue_first + 1) % executors;
    away->queue_count--;
    away->data_at = 0;
}

/* The next piece of the first one's data. False: the worker is of no more use. */
static bool data_piece(struct master_worker *w)
{
    struct master_away *away = w->away;
    const struct train_master *m = w->master;
    struct train_piece piece = {.executor = away->queue[away->queue_first],
                                .offset = away->data_at};
    const struct master_executor *e = &m->executor[piece.executor];
    size_t size;
    const char *data = train_box_data_read(m->box, piece.executor, &size);
    size_t part = size - away->data_at < PIECE_SIZE ? size - away->data_at : PIECE_SIZE;

    if (away->data_at == 0 && e->target != w->index && e->worker != w->index) {
        data_end(away, m->executor_count, DATA_NOT_SENT); /* it has been moved on since */
        return true;
    }
    piece.total = size;
    if (part > 0 && wire_peer_send2(w->peer, TRAIN_DATA, &piece, sizeof piece, data + away->data_at,
                                    part) != SHOAL_OK) {
        hire_lose(w);
        return false;
    }
    away->data_at += part;
    if (away->data_at == size)
        data_end(away, m->executor_count, DATA_SENT);
    return true;
}

/* As much as may be on its way; the rest when that has gone. */
static void data_pump(struct master_worker *w)
{
    while (w->away->queue_count > 0 && w->peer != NULL && !is_behind(w))
        if (!data_piece(w))
            return;
    if (w->away->queue_count > 0)
        master_again(w->master);
}

void away_send_data(struct master_worker *w, uint32_t executor)
{
    struct master_away *away = w->away;
    uint32_t executors = w->master->executor_count;

    if (away->data[executor] != DATA_NOT_SENT)
        return;
    away->data[executor] = DATA_QUEUED;
    away->queue[(away->queue_first + away->queue_count++) % executors] = executor;
    data_pump(w);
}

void away_adopt(struct master_worker *w, const struct train_unit *unit)
{
    uint64_t committed = train_box_committed(w->master->box, unit->executor);
    struct base_buf state;

    w->away->own[unit->executor] = (struct train_own){committed, committed, committed};
    away_send_data(w, unit->executor);
    if (w->away == NULL)
        return;
    base_buf_init(&state, env_alloc(w->master->env), WIRE_MESSAGE_MAX - sizeof *unit);
    train_box_pack_executor(w->master->box, unit->executor, &state);
    if (w->peer != NULL && (base_buf_status(&state) != SHOAL_OK ||
                            wire_peer_send2(w->peer, TRAIN_ADOPT, unit, sizeof *unit, state.data,
                                            state.size) != SHOAL_OK))
        hire_lose(w);
    base_buf_fini(&state);
}

/* ---- rows ---- */

/* What is in `rows`. */
static shoal_status send_packed(struct master_worker *w, uint16_t kind)
{
    size_t size = w->away->rows.size - WIRE_BUF_ROOM;
    shoal_status st = wire_peer_send_buf(w->peer, kind, &w->away->rows);

    if (st == SHOAL_OK) {
        w->master->stats.row_bytes += size;
        w->master->turn_bytes += size;
    }
    return st;
}

/* Whether so much has been packed that others shall have the loop first. */
static bool is_turn_over(struct train_master *m)
{
    uint64_t now = env_now_ns(m->env);

    if (m->turn_bytes > TURN_SIZE) {
        m->turn_bytes = 0;
        m->turn_over_ns = now;
    }
    return m->turn_over_ns != 0 && now - m->turn_over_ns < TURN_NS;
}

static shoal_status send_rows(struct master_worker *w, uint32_t table, uint32_t shard,
                              uint64_t *version)
{
    struct base_buf *rows = &w->away->rows;
    shoal_status st;
    uint64_t now;

    wire_buf_begin(rows);
    now = train_box_pack_rows(w->master->box, table, shard, *version, rows);
    st = now == 0 ? SHOAL_AGAIN : base_buf_status(rows); /* 0: the shard was locked */
    if (st == SHOAL_OK && now != *version)
        st = send_packed(w, TRAIN_ROWS);
    if (st == SHOAL_OK)
        *version = now;
    return st;
}

/* A large table goes to a worker that has none of it, or only an old one, a few shards at a time: the
 * loop must not be busy with it for long, nor the whole lie in memory. Until it has them all, nothing
 * is sent while it is behind: shards that it has change meanwhile, and would be sent again and again.
 * Where they do not, between two clocks, that goes for old ones too. */
static shoal_status send_shards(struct master_worker *w, uint32_t table, uint32_t shards,
                                uint64_t *version)
{
    shoal_status st = SHOAL_OK;
    bool in_parts = w->master->opts.staleness == 0;

    for (uint32_t s = 0; s < shards; s++)
        in_parts = in_parts || version[s] == 0;
    for (uint32_t s = 0; s < shards && st == SHOAL_OK; s++)
        st = in_parts && (is_behind(w) || is_turn_over(w->master))
                 ? SHOAL_AGAIN
                 : send_rows(w, table, s, &version[s]);
    return st;
}

static shoal_status send_held(struct master_worker *w, const struct train_task_spec *spec,
                              uint32_t first)
{
    shoal_status st = SHOAL_OK;

    for (uint32_t i = 0; i < train_task_holds(spec) && st == SHOAL_OK; i++) {
        uint32_t shard = spec->hold_shard + i * spec->hold_step;
        st = send_rows(w, spec->hold_table, shard, &w->away->version[first + shard]);
    }
    return st;
}

/* All shards of a table; of one that tasks hold, those that this task does. */
static shoal_status refresh_table(struct master_worker *w, const struct train_task_spec *spec,
                                  uint32_t table, uint32_t first)
{
    struct train_table_info info = train_box_table_info(w->master->box, table);

    if (info.held)
        return !spec->holds || spec->hold_table != table ? SHOAL_OK : send_held(w, spec, first);
    if (w->master->opts.staleness == 0 && is_turn_over(w->master))
        return SHOAL_AGAIN;
    wire_buf_begin(&w->away->rows);
    if (train_box_pack_factors(w->master->box, table, &w->away->version[first], w->away->own,
                               &w->away->rows))
        return send_packed(w, TRAIN_FACTORS);
    return send_shards(w, table, info.shards, &w->away->version[first]);
}

static bool reads(const struct train_task_spec *spec, uint32_t table)
{
    return (spec->unread >> table & 1) == 0;
}

static shoal_status refresh(struct master_worker *w, const struct train_task_spec *spec)
{
    struct train_box *box = w->master->box;
    uint64_t state = 0;
    uint32_t first = 0, tables = train_box_table_count(box), stale = 0;
    shoal_status st = SHOAL_OK;

    for (uint32_t t = 0; t < tables; t++)
        stale += reads(spec, t);
    if (stale == 0 && !spec->holds)
        return SHOAL_OK;
    if (stale > 0)
        st = train_box_fresh(box, &state);
    for (uint32_t t = 0; t < tables && st == SHOAL_OK; t++) {
        struct train_table_info info = train_box_table_info(box, t);
        if (info.held || (reads(spec, t) && (state == 0 || w->away->fresh[t] != state)))
            st = refresh_table(w, spec, t, first);
        if (st == SHOAL_OK && reads(spec, t))
            w->away->fresh[t] = state;
        first += info.shards;
    }
    if (st != SHOAL_OK && st != SHOAL_AGAIN)
        hire_lose(w);
    return st;
}

shoal_status away_refresh(struct master_worker *w, const struct train_task_spec *spec)
{
    shoal_status st = w->away->data[spec->executor] == DATA_SENT ? refresh(w, spec) : SHOAL_AGAIN;

    if (st == SHOAL_OK)
        w->away->own[spec->executor].sent = spec->number;
    return st;
}

/* A task that reads sees the rows that are sent before it, so its executor's last task has to be in
 * them. */
bool away_may_follow(const struct train_master *m, const struct train_task_spec *spec)
{
    return !spec->holds &&
           (~spec->unread & ((UINT32_C(1) << train_box_table_count(m->box)) - 1)) == 0;
}

/* ---- commits ---- */

static void send_accepted(struct master_worker *w)
{
    struct base_buf *accepted = &w->away->accepted;

    if (accepted->size > 0 && w->peer != NULL &&
        (base_buf_status(accepted) != SHOAL_OK ||
         wire_peer_send(w->peer, TRAIN_ACCEPTED, accepted->data, accepted->size) != SHOAL_OK))
        return hire_lose(w);
    base_buf_clear(accepted);
}

/* SHOAL_AGAIN: later. Other failures have lost the worker. */
static shoal_status import(struct master_worker *w, const struct train_ended *ended,
                           const void *bytes, size_t size)
{
    struct train_accepted accepted = {{ended->executor, ended->epoch}, ended->number};
    const struct train_task_spec *sent = master_sent(w->master, ended->executor, ended->number);
    shoal_status st = SHOAL_E_FORMAT;

    if (sent != NULL && train_box_commit_is(sent, bytes, size))
        st = train_box_import(w->master->box, ended->executor, bytes, size, NULL);
    if (st == SHOAL_AGAIN)
        return st;
    if (st != SHOAL_OK) {
        hire_lose(w);
        return SHOAL_E_FORMAT;
    }
    base_buf_append(&w->away->accepted, &accepted, sizeof accepted);
    w->away->own[ended->executor].heard = ended->number;
    w->master->stats.tasks_far++;
    crew_ended(w, ended);
    return w->away != NULL ? SHOAL_OK : SHOAL_E_FORMAT;
}

static bool keep(struct master_worker *w, const struct train_ended *ended, const void *bytes,
                 size_t size)
{
    struct late_commit *late = base_malloc(env_alloc(w->master->env), sizeof *late + size);

    if (late == NULL)
        return false;
    late->next = NULL;
    late->ended = *ended;
    late->size = size;
    memcpy(late->bytes, bytes, size);
    *w->away->late_end = late;
    w->away->late_end = &late->next;
    return true;
}

/* One commit: made real, or kept for later when something is locked or others wait before it. */
static shoal_status commit(struct master_worker *w, const struct train_ended *ended,
                           const void *bytes)
{
    shoal_status st = SHOAL_AGAIN;

    if (!crew_current(w, ended->executor, ended->epoch))
        return SHOAL_OK;
    if (w->away->late == NULL)
        st = import(w, ended, bytes, ended->size);
    if (st != SHOAL_AGAIN)
        return st;
    if (!keep(w, ended, bytes, ended->size)) {
        hire_lose(w);
        return SHOAL_E_NOMEM;
    }
    master_again(w->master);
    return SHOAL_OK;
}

void away_commits(struct master_worker *w, const void *bytes, size_t size)
{
    const char *at = bytes;
    struct train_ended ended;

    w->master->stats.commit_bytes += size;
    while (size > 0) {
        if (size < sizeof ended)
            return hire_lose(w);
        memcpy(&ended, at, sizeof ended);
        at += sizeof ended;
        size -= sizeof ended;
        size_t whole = (ended.size + (size_t)7) / 8 * 8;
        if (whole > size)
            return hire_lose(w);
        if (commit(w, &ended, at) != SHOAL_OK)
            return;
        at += whole;
        size -= whole;
    }
    send_accepted(w);
}

/* In the order they came; from the first that is still locked all stay. */
static void retry_worker(struct master_worker *w)
{
    const struct base_alloc *alloc = env_alloc(w->master->env);

    while (w->away != NULL && w->away->late != NULL) {
        struct late_commit *late = w->away->late;
        if (crew_current(w, late->ended.executor, late->ended.epoch)) {
            shoal_status st = import(w, &late->ended, late->bytes, late->size);
            if (st == SHOAL_AGAIN) {
                master_again(w->master);
                break;
            }
            if (st != SHOAL_OK)
                return; /* and with the worker all it had */
        }
        w->away->late = late->next;
        if (late->next == NULL)
            w->away->late_end = &w->away->late;
        base_free(alloc, late);
    }
    if (w->away != NULL)
        send_accepted(w);
}

void away_retry(struct train_master *m)
{
    for (uint32_t i = 0; i < m->crew_count; i++) {
        struct master_worker *w = m->crew[i];
        if (w->away != NULL && w->away->late != NULL)
            retry_worker(w);
        if (w->away != NULL && w->away->queue_count > 0)
            data_pump(w);
    }
}
