/* loop_sim_link.c - the bytes between simulated processes.
 *
 * A link has two ends and two pipes, one towards each end. A pipe is a queue of chunks with the
 * times they are due, never decreasing, and one event for its head: so delays cannot reorder the
 * chunks of one connection, and a cut or a deaf end just leaves the pipe without its event. Chunks
 * that a fault takes out of order, and second copies, are strays: events of their own. What the
 * connecting side is told (opened, closed) goes through the pipe like a chunk.
 *
 * When one end closes, the news takes a drawn delay, and what is due later than the news is lost,
 * as a reset loses it. The limit of queued bytes counts what is on its way in the pipe.
 *
 * A link goes when both ends and all its strays have gone.
 * Tests: tests/unit/env/test_loop_sim.c. */
#include "env/loop_sim_link.h"

#include "base/assert.h"
#include "base/err.h"
#include <stdio.h>
#include <string.h>

enum {
    CHUNK_MIN = 64, /* class c holds CHUNK_MIN << c bytes */
    LINK_EVENTS = 6,
    OWN_PORT_FIRST = 10000,
    OWN_PORT_COUNT = 30000,
    STRAY_MEAN_NS = 100 * 1000 /* and four delays: how late a stray is */
};

/* A chunk that goes its own way. */
struct stray {
    struct env_timer event;
    struct sim_link *link;
    struct sim_chunk *chunk;
    uint32_t side;
};

/* --- chunks --- */

static struct sim_chunk *chunk_new(struct loop_sim *sim, const void *bytes, size_t size)
{
    uint32_t class_ = 0;
    while (class_ < SIM_CHUNK_CLASSES && ((size_t)CHUNK_MIN << class_) < size)
        class_++;
    struct sim_chunk *chunk = NULL;
    if (class_ < SIM_CHUNK_CLASSES && sim->free_chunks[class_] != NULL) {
        chunk = sim->free_chunks[class_];
        sim->free_chunks[class_] = chunk->next;
    } else {
        size_t room = class_ < SIM_CHUNK_CLASSES ? (size_t)CHUNK_MIN << class_ : size;
        chunk =
            room > SIZE_MAX - sizeof *chunk ? NULL : base_malloc(sim->alloc, sizeof *chunk + room);
    }
    if (chunk == NULL)
        return NULL;
    *chunk = (struct sim_chunk){.size = size, .class_ = class_, .kind = SIM_CHUNK_BYTES};
    memcpy(chunk + 1, bytes, size);
    return chunk;
}

static void chunk_free(struct loop_sim *sim, struct sim_chunk *chunk)
{
    if (chunk->kind != SIM_CHUNK_BYTES)
        return; /* part of its pipe */
    if (chunk->class_ == SIM_CHUNK_CLASSES) {
        base_free(sim->alloc, chunk);
        return;
    }
    chunk->next = sim->free_chunks[chunk->class_];
    sim->free_chunks[chunk->class_] = chunk;
}

/* --- pipes --- */

static void pipe_fire(void *ctx);

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Sets the event for the head, unless it is set or cannot pass. */
static void pipe_wake(struct sim_pipe *pipe)
{
    struct sim_link *link = pipe->link;
    if (pipe->head == NULL || pipe->held || pipe->event.place != 0 ||
        link->ends[pipe->side] == NULL)
        return;
    loop_sim_at(link->sim, &pipe->event, pipe->head->due_ns, pipe_fire, pipe);
}

static void pipe_append(struct sim_pipe *pipe, struct sim_chunk *chunk, uint64_t due_ns)
{
    chunk->due_ns = pipe->due_ns = later(due_ns, pipe->due_ns);
    chunk->next = NULL;
    *pipe->end = chunk;
    pipe->end = &chunk->next;
    pipe_wake(pipe);
}

static void pipe_mark(struct sim_pipe *pipe, struct sim_chunk *mark, enum sim_chunk_kind kind,
                      uint64_t due_ns)
{
    *mark = (struct sim_chunk){.kind = kind};
    pipe_append(pipe, mark, due_ns);
}

/* Drops the chunks from *from on. */
static void pipe_cut(struct sim_pipe *pipe, struct sim_chunk **from)
{
    struct sim_chunk *chunk = *from;
    *from = NULL;
    pipe->end = from;
    while (chunk != NULL) {
        struct sim_chunk *next = chunk->next;
        chunk_free(pipe->link->sim, chunk);
        chunk = next;
    }
}

/* Nobody is at its end any more. */
static void pipe_drop(struct sim_pipe *pipe)
{
    struct loop_sim *sim = pipe->link->sim;
    loop_sim_cancel(sim, &pipe->event);
    loop_sim_cancel(sim, &pipe->drained);
    pipe_cut(pipe, &pipe->head);
}

/* The last thing the end hears, after a delay; it overtakes what is due later. */
static void pipe_close(struct sim_pipe *pipe, enum sim_reason reason)
{
    struct loop_sim *sim = pipe->link->sim;
    uint64_t due = env_now_ns(sim->env) + loop_sim_delay_ns(sim);
    struct sim_chunk **from = &pipe->head;
    while (*from != NULL && (*from)->due_ns <= due)
        from = &(*from)->next;
    pipe_cut(pipe, from);
    if (pipe->head == NULL)
        loop_sim_cancel(sim, &pipe->event);
    pipe->due_ns = due;
    pipe->reason = reason;
    pipe_mark(pipe, &pipe->closed, SIM_CHUNK_CLOSED, due);
}

/* --- links --- */

struct sim_link *loop_sim_link_new(struct loop_sim *sim, uint32_t host, uint32_t port)
{
    struct sim_link *link = base_calloc(sim->alloc, 1, sizeof *link);
    if (link == NULL || loop_heap_promise(&sim->heap, LINK_EVENTS) != SHOAL_OK) {
        base_free(sim->alloc, link);
        return NULL;
    }
    link->sim = sim;
    link->hosts[1] = host;
    link->port = port;
    link->own_port = OWN_PORT_FIRST + sim->links_made++ % OWN_PORT_COUNT;
    for (uint32_t side = 0; side < 2; side++) {
        link->pipes[side].link = link;
        link->pipes[side].side = side;
        link->pipes[side].end = &link->pipes[side].head;
    }
    loop_list_add(&sim->links, &link->in_sim);
    return link;
}

void loop_sim_link_free_when_unused(struct sim_link *link)
{
    if (link->ends[0] != NULL || link->ends[1] != NULL || link->stray_count > 0)
        return;
    struct loop_sim *sim = link->sim;
    pipe_drop(&link->pipes[0]);
    pipe_drop(&link->pipes[1]);
    loop_sim_cancel(sim, &link->connect);
    loop_sim_cancel(sim, &link->timeout);
    loop_heap_release(&sim->heap, LINK_EVENTS);
    loop_list_remove(&link->in_sim);
    base_free(sim->alloc, link);
}

/* One end leaves: its pipe is dropped, the other end will hear of it. */
void loop_sim_link_leave(struct sim_conn *conn)
{
    struct sim_link *link = conn->link;
    if (link == NULL)
        return;
    uint32_t other = 1 - conn->side;
    conn->link = NULL;
    conn->queued = 0;
    link->ends[conn->side] = NULL;
    pipe_drop(&link->pipes[conn->side]);
    loop_sim_cancel(link->sim, &link->pipes[other].drained);
    if (conn->side == 0) {
        loop_sim_cancel(link->sim, &link->connect);
        loop_sim_cancel(link->sim, &link->timeout);
        link->connect_held = false;
    }
    if (link->ends[other] != NULL) {
        link->ends[other]->queued = 0;
        pipe_close(&link->pipes[other], SIM_PEER_CLOSED);
    }
    loop_sim_link_free_when_unused(link);
}

bool loop_sim_link_is_cut(const struct sim_link *link)
{
    return link->sim->cut_count > 0 && loop_sim_is_cut(link->sim, link->hosts[0], link->hosts[1]);
}

void loop_sim_healed(struct loop_sim *sim)
{
    for (struct loop_list *node = sim->links.next; node != &sim->links; node = node->next) {
        struct sim_link *link = LOOP_OF(struct sim_link, in_sim, node);
        if (loop_sim_link_is_cut(link))
            continue;
        if (link->connect_held) {
            link->connect_held = false;
            loop_sim_at(sim, &link->connect, env_now_ns(sim->env) + loop_sim_delay_ns(sim),
                        link->connect.fn, link);
        }
        for (uint32_t side = 0; side < 2; side++) {
            struct sim_pipe *pipe = &link->pipes[side];
            if (!pipe->held || link->ends[side] == NULL || link->ends[side]->ops == NULL)
                continue;
            pipe->held = false;
            loop_sim_at(sim, &pipe->event, env_now_ns(sim->env) + loop_sim_delay_ns(sim), pipe_fire,
                        pipe);
        }
    }
}

/* --- ends --- */

struct sim_conn *loop_sim_link_join(struct sim_link *link, uint32_t side, struct sim_loop *loop,
                                    const char *other_host, uint32_t other_port)
{
    struct sim_conn *conn = base_calloc(loop->sim->alloc, 1, sizeof *conn);
    if (conn == NULL)
        return NULL;
    conn->conn.loop = &loop->loop;
    conn->link = link;
    conn->side = side;
    conn->limit = ENV_CONN_LIMIT;
    (void)snprintf(conn->address, sizeof conn->address, "%s:%u", other_host, other_port);
    link->ends[side] = conn;
    link->hosts[side] = loop->host;
    loop_list_add(&loop->conns, &conn->in_loop);
    return conn;
}

void loop_sim_link_opened(struct sim_link *link)
{
    struct sim_pipe *pipe = &link->pipes[0];
    link->accepted = true;
    pipe_mark(pipe, &pipe->opened, SIM_CHUNK_OPENED,
              env_now_ns(link->sim->env) + loop_sim_delay_ns(link->sim));
    pipe_wake(&link->pipes[1]); /* what was sent before */
}

void loop_sim_link_refused(struct sim_link *link)
{
    pipe_close(&link->pipes[0], SIM_REFUSED);
}

/* The last call: the connection is in no list during it, so that nothing frees it twice. */
void loop_sim_conn_finish(struct sim_conn *conn, enum sim_reason reason)
{
    struct sim_loop *loop = loop_sim_owner(conn);
    struct loop_sim *sim = loop->sim;
    shoal_err why = SHOAL_ERR_INIT;
    if (reason == SIM_PEER_CLOSED)
        (void)base_err(&why, SHOAL_END, "'%s' closed the connection", conn->address);
    else
        (void)base_err(&why, SHOAL_E_IO, "cannot connect to '%s': %s", conn->address,
                       reason == SIM_REFUSED ? "connection refused" : "timed out");
    loop_sim_link_leave(conn);
    loop_list_remove(&conn->in_loop);
    conn->last_call = true;
    loop_sim_note(loop, SIM_CLOSED, 0);
    conn->ops->closed(conn->ctx, &conn->conn, &why);
    base_free(sim->alloc, conn);
}

static void drained_fire(void *ctx)
{
    const struct sim_pipe *pipe = ctx;
    struct sim_conn *conn = pipe->link->ends[1 - pipe->side];
    if (conn == NULL || conn->queued > 0 || conn->ops == NULL || conn->ops->drained == NULL)
        return;
    loop_sim_note(loop_sim_owner(conn), SIM_DRAINED, 0);
    conn->ops->drained(conn->ctx, &conn->conn);
}

static void sender_relieve(struct sim_pipe *pipe, size_t size)
{
    struct sim_link *link = pipe->link;
    struct sim_conn *sender = link->ends[1 - pipe->side];
    if (sender == NULL)
        return;
    sender->queued -= size;
    if (sender->queued == 0 && sender->ops != NULL && sender->ops->drained != NULL)
        loop_sim_at(link->sim, &pipe->drained, env_now_ns(link->sim->env), drained_fire, pipe);
}

static void deliver(struct sim_conn *conn, struct sim_chunk *chunk)
{
    struct loop_sim *sim = loop_sim_owner(conn)->sim;
    loop_sim_note(loop_sim_owner(conn), SIM_RECEIVED, chunk->size);
    conn->ops->received(conn->ctx, &conn->conn, chunk + 1, chunk->size);
    chunk_free(sim, chunk);
}

static void pipe_fire(void *ctx)
{
    struct sim_pipe *pipe = ctx;
    struct sim_link *link = pipe->link;
    struct sim_conn *conn = link->ends[pipe->side];
    if (conn->ops == NULL || loop_sim_link_is_cut(link)) {
        pipe->held = true;
        return;
    }
    struct sim_chunk *chunk = pipe->head;
    pipe->head = chunk->next;
    if (pipe->head == NULL)
        pipe->end = &pipe->head;
    pipe_wake(pipe);
    switch (chunk->kind) {
    case SIM_CHUNK_BYTES:
        sender_relieve(pipe, chunk->size);
        deliver(conn, chunk);
        break;
    case SIM_CHUNK_OPENED:
        loop_sim_cancel(link->sim, &link->timeout);
        loop_sim_note(loop_sim_owner(conn), SIM_OPENED, 0);
        if (conn->ops->opened != NULL)
            conn->ops->opened(conn->ctx, &conn->conn);
        break;
    case SIM_CHUNK_CLOSED: loop_sim_conn_finish(conn, pipe->reason); break;
    }
}

/* --- strays --- */

static bool in_pipe(const struct sim_pipe *pipe, const struct sim_chunk *mark)
{
    const struct sim_chunk *chunk = pipe->head;
    while (chunk != NULL && chunk != mark)
        chunk = chunk->next;
    return chunk != NULL;
}

static void stray_fire(void *ctx)
{
    struct stray *stray = ctx;
    struct sim_link *link = stray->link;
    struct loop_sim *sim = link->sim;
    struct sim_pipe *pipe = &link->pipes[stray->side];
    struct sim_chunk *chunk = stray->chunk;
    struct sim_conn *conn = link->ends[stray->side];
    base_free(sim->alloc, stray);
    loop_heap_release(&sim->heap, 1);
    link->stray_count--;
    if (conn == NULL && (link->accepted || link->ends[0] == NULL)) {
        chunk_free(sim, chunk);
        loop_sim_link_free_when_unused(link);
    } else if (conn == NULL || conn->ops == NULL || loop_sim_link_is_cut(link) ||
               in_pipe(pipe, &pipe->opened)) {
        struct sim_conn *sender = link->ends[1 - pipe->side];
        if (sender != NULL)
            sender->queued += chunk->size;
        pipe_append(pipe, chunk, env_now_ns(sim->env));
    } else {
        deliver(conn, chunk);
    }
}

/* Lets the chunk find its own way. False when memory is short. */
static bool stray_new(struct sim_pipe *pipe, struct sim_chunk *chunk)
{
    struct sim_link *link = pipe->link;
    struct loop_sim *sim = link->sim;
    struct stray *stray = base_calloc(sim->alloc, 1, sizeof *stray);
    if (stray == NULL || loop_heap_promise(&sim->heap, 1) != SHOAL_OK) {
        base_free(sim->alloc, stray);
        return false;
    }
    stray->link = link;
    stray->chunk = chunk;
    stray->side = pipe->side;
    link->stray_count++;
    double mean_ns = 4e9 * sim->net.delay_mean_s + STRAY_MEAN_NS;
    uint64_t late = later(pipe->due_ns, env_now_ns(sim->env)) + 1 +
                    (uint64_t)base_rand_exp(&sim->reorders, mean_ns);
    loop_sim_at(sim, &stray->event, late, stray_fire, stray);
    return true;
}

static bool drawn(struct base_rand *stream, double probability)
{
    return probability > 0 && base_rand_unit(stream) < probability;
}

shoal_status loop_sim_conn_send(struct env_conn *base, const void *bytes, size_t size)
{
    struct sim_conn *conn = (struct sim_conn *)base;
    struct sim_link *link = conn->link;
    if (link == NULL)
        return SHOAL_E_IO;
    if (size > conn->limit || conn->queued > conn->limit - size)
        return SHOAL_E_LIMIT;
    struct loop_sim *sim = link->sim;
    uint32_t other = 1 - conn->side;
    struct sim_pipe *pipe = &link->pipes[other];
    if (size == 0 || (link->ends[other] == NULL && link->accepted) ||
        drawn(&sim->drops, sim->net.drop))
        return SHOAL_OK; /* lost on its way */

    struct sim_chunk *chunk = chunk_new(sim, bytes, size);
    if (chunk == NULL)
        return SHOAL_E_NOMEM;
    uint64_t due = env_now_ns(sim->env) + loop_sim_delay_ns(sim);
    if (drawn(&sim->duplicates, sim->net.duplicate)) {
        struct sim_chunk *copy = chunk_new(sim, bytes, size);
        if (copy != NULL && !stray_new(pipe, copy))
            chunk_free(sim, copy);
    }
    if (drawn(&sim->reorders, sim->net.reorder) && stray_new(pipe, chunk))
        return SHOAL_OK;
    conn->queued += size;
    pipe_append(pipe, chunk, due);
    return SHOAL_OK;
}

/* All processes are gone: what is left in the heap are strays. */
void loop_sim_link_fini(struct loop_sim *sim)
{
    while (sim->heap.count > 0) {
        struct env_timer *event = sim->heap.items[sim->heap.count - 1].timer;
        shoal_assert(event->fn == stray_fire);
        loop_sim_cancel(sim, event);
        stray_fire(event->ctx);
    }
    for (size_t i = 0; i < SIM_CHUNK_CLASSES; i++)
        while (sim->free_chunks[i] != NULL) {
            struct sim_chunk *chunk = sim->free_chunks[i];
            sim->free_chunks[i] = chunk->next;
            base_free(sim->alloc, chunk);
        }
}

/* --- the rest of a connection's life --- */

void loop_sim_conn_set(struct env_conn *base, const struct env_conn_ops *ops, void *ctx)
{
    struct sim_conn *conn = (struct sim_conn *)base;
    bool was_deaf = conn->ops == NULL;
    conn->ops = ops;
    conn->ctx = ctx;
    if (was_deaf && conn->link != NULL && conn->link->pipes[conn->side].held) {
        conn->link->pipes[conn->side].held = false;
        pipe_wake(&conn->link->pipes[conn->side]);
    }
}

void loop_sim_conn_limit(struct env_conn *conn, size_t bytes_max)
{
    ((struct sim_conn *)conn)->limit = bytes_max;
}

size_t loop_sim_conn_queued(const struct env_conn *conn)
{
    return ((const struct sim_conn *)conn)->queued;
}

const char *loop_sim_conn_address(const struct env_conn *conn)
{
    return ((const struct sim_conn *)conn)->address;
}

void loop_sim_conn_end(struct loop_list *node)
{
    loop_sim_link_leave(LOOP_OF(struct sim_conn, in_loop, node));
}

void loop_sim_conn_free(struct loop_list *node)
{
    struct sim_conn *conn = LOOP_OF(struct sim_conn, in_loop, node);
    loop_sim_link_leave(conn);
    loop_list_remove(node);
    base_free(loop_sim_owner(conn)->sim->alloc, conn);
}

void loop_sim_conn_close(struct env_conn *base)
{
    struct sim_conn *conn = (struct sim_conn *)base;
    if (!conn->last_call)
        loop_sim_conn_free(&conn->in_loop);
}
