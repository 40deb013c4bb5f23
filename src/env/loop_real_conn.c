/* loop_real_conn.c - TCP connections.
 *
 * Sending: straight into the socket while nothing is queued; else, and for what the socket did not
 * take, into a queue of blocks that goes out with few system calls when the socket has room again.
 * Receiving: into the loop's one buffer or where the callee asked for it, a few times per turn at
 * most, so that one busy peer does not keep the others waiting.
 *
 * An end is found by reading: bytes that came before it are delivered first. Half a close counts as
 * a close. Errors that show up inside a call (a send that fails, a connect that fails at once) are
 * told by a timer, because callbacks never run inside a call.
 *
 * Connecting goes through the addresses of a name one after the other, under one timeout. A socket
 * that got connected to itself (the kernel may choose the very port it connects to) was refused.
 *
 * Tests: tests/unit/env/test_loop_real.c. */
#include "env/loop_real.h"

#include "base/assert.h"
#include "base/err.h"
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    BLOCK_SIZE = 64 * 1024,
    SPARE_BLOCKS_MAX = 64,
    BLOCKS_AT_ONCE = 32,
    READS_AT_ONCE = 4,
    CLOSED_BY_PEER = -1, /* in place of an errno */
    OUT_OF_TIME = -2
};

struct real_block {
    struct real_block *next;
    size_t begin, end;
    char bytes[BLOCK_SIZE];
};

struct real_conn {
    struct env_conn conn; /* first */
    struct real_source source;
    struct loop_list in_loop;
    const struct env_conn_ops *ops; /* NULL: deaf, and not watched */
    void *ctx;
    bool connecting, watched, wants_out, gone;
    uint32_t busy;               /* callbacks in progress */
    int code;                    /* why it failed; 0: it did not */
    struct addrinfo *all, *next; /* while connecting: addresses, and the one to try next */
    struct env_timer timer;      /* timeout of connecting, then news of a failure */
    struct real_block *head, **end, *last;
    size_t queued, limit;
    char *into; /* where the next bytes go, unless it is NULL */
    size_t into_size;
    char address[REAL_ADDRESS_SIZE];
};

static struct real_loop *loop_of(const struct real_conn *conn)
{
    return (struct real_loop *)conn->conn.loop;
}

/* --- the queue --- */

static struct real_block *block_new(struct real_loop *loop)
{
    struct real_block *block = loop->spare_blocks;
    if (block != NULL) {
        loop->spare_blocks = block->next;
        loop->spare_count--;
    } else {
        block = base_malloc(loop->alloc, sizeof *block);
        if (block == NULL)
            return NULL;
    }
    block->next = NULL;
    block->begin = block->end = 0;
    return block;
}

static void block_free(struct real_loop *loop, struct real_block *block)
{
    if (loop->spare_count == SPARE_BLOCKS_MAX) {
        base_free(loop->alloc, block);
        return;
    }
    block->next = loop->spare_blocks;
    loop->spare_blocks = block;
    loop->spare_count++;
}

void loop_real_blocks_fini(struct real_loop *loop)
{
    while (loop->spare_blocks != NULL) {
        struct real_block *block = loop->spare_blocks;
        loop->spare_blocks = block->next;
        base_free(loop->alloc, block);
    }
}

/* Empty blocks for `size` bytes, at the end of the queue; all or none. */
static shoal_status queue_grow(struct real_conn *conn, size_t size)
{
    struct real_loop *loop = loop_of(conn);
    struct real_block *first = NULL, **end = &first;
    for (size_t room = 0; room < size; room += BLOCK_SIZE) {
        *end = block_new(loop);
        if (*end == NULL) {
            while (first != NULL) {
                struct real_block *next = first->next;
                block_free(loop, first);
                first = next;
            }
            return SHOAL_E_NOMEM;
        }
        end = &(*end)->next;
    }
    if (first != NULL) {
        *conn->end = first;
        conn->end = end;
    }
    return SHOAL_OK;
}

static shoal_status queue_put(struct real_conn *conn, const char *bytes, size_t size)
{
    struct real_block *block = conn->last;
    size_t room = block == NULL ? 0 : BLOCK_SIZE - block->end;
    if (size > room && queue_grow(conn, size - room) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    if (block == NULL)
        block = conn->head;
    for (size_t done = 0;;) {
        size_t here = BLOCK_SIZE - block->end;
        if (here > size - done)
            here = size - done;
        memcpy(block->bytes + block->end, bytes + done, here);
        block->end += here;
        done += here;
        if (done == size)
            break;
        block = block->next;
    }
    conn->last = block;
    conn->queued += size;
    return SHOAL_OK;
}

static void queue_take(struct real_conn *conn, size_t size)
{
    conn->queued -= size;
    while (size > 0) {
        struct real_block *block = conn->head;
        size_t here = block->end - block->begin;
        if (size < here) {
            block->begin += size;
            return;
        }
        size -= here;
        conn->head = block->next;
        block_free(loop_of(conn), block);
    }
    if (conn->head == NULL) {
        conn->end = &conn->head;
        conn->last = NULL;
    }
}

/* Writes what the socket takes. 0, or an errno. */
static int queue_flush(struct real_conn *conn)
{
    while (conn->queued > 0) {
        struct iovec parts[BLOCKS_AT_ONCE];
        struct msghdr message = {.msg_iov = parts};
        size_t offered = 0;
        for (struct real_block *b = conn->head; b != NULL && message.msg_iovlen < BLOCKS_AT_ONCE;
             b = b->next) {
            parts[message.msg_iovlen++] =
                (struct iovec){.iov_base = b->bytes + b->begin, .iov_len = b->end - b->begin};
            offered += b->end - b->begin;
        }
        ssize_t sent = sendmsg(conn->source.fd, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN ? 0 : errno;
        queue_take(conn, (size_t)sent);
        if ((size_t)sent < offered)
            return 0;
    }
    return 0;
}

/* --- the end --- */

static void conn_unref(struct real_conn *conn)
{
    if (--conn->busy == 0 && conn->gone)
        base_free(loop_of(conn)->alloc, conn);
}

static void socket_close(struct real_conn *conn)
{
    if (conn->watched)
        loop_real_unwatch(loop_of(conn), &conn->source);
    conn->watched = false;
    loop_real_close(conn->source.fd);
    conn->source.fd = -1;
}

static void conn_gone(struct real_conn *conn)
{
    struct real_loop *loop = loop_of(conn);
    socket_close(conn);
    if (conn->queued > 0)
        queue_take(conn, conn->queued);
    if (conn->all != NULL)
        freeaddrinfo(conn->all);
    conn->all = conn->next = NULL;
    loop_heap_remove(&loop->timers, &conn->timer);
    loop_heap_release(&loop->timers, 1);
    loop_list_remove(&conn->in_loop);
    conn->gone = true;
}

void loop_real_conn_free(struct loop_list *node)
{
    struct real_conn *conn = LOOP_OF(struct real_conn, in_loop, node);
    conn->busy++;
    conn_gone(conn);
    conn_unref(conn);
}

void loop_real_conn_close(struct env_conn *base)
{
    struct real_conn *conn = (struct real_conn *)base;
    if (!conn->gone)
        loop_real_conn_free(&conn->in_loop);
}

/* The last call. */
static void conn_failed(struct real_conn *conn, int code)
{
    shoal_err why = SHOAL_ERR_INIT;
    char text[128];
    if (code == CLOSED_BY_PEER)
        (void)base_err(&why, SHOAL_END, "'%s' closed the connection", conn->address);
    else if (conn->connecting)
        (void)base_err(&why, code == OUT_OF_TIME ? SHOAL_E_IO : env_real_status(code),
                       "cannot connect to '%s': %s", conn->address,
                       code == OUT_OF_TIME ? "timed out"
                                           : env_real_reason(code, text, sizeof text));
    else
        (void)base_err(&why, env_real_status(code), "lost the connection to '%s': %s",
                       conn->address, env_real_reason(code, text, sizeof text));
    conn->busy++;
    conn_gone(conn);
    conn->ops->closed(conn->ctx, &conn->conn, &why);
    conn_unref(conn);
}

/* What the other side sent before it broke is still there to be read. */
static void fail_fire(void *ctx)
{
    struct real_conn *conn = ctx;
    struct real_loop *loop = loop_of(conn);
    conn->busy++;
    while (!conn->connecting && !conn->gone) {
        ssize_t got = recv(conn->source.fd, loop->buffer, sizeof loop->buffer, 0);
        if (got > 0)
            conn->ops->received(conn->ctx, &conn->conn, loop->buffer, (size_t)got);
        else if (got == 0 || errno != EINTR)
            break;
    }
    if (!conn->gone)
        conn_failed(conn, conn->code);
    conn_unref(conn);
}

/* From inside a call: the callback comes later. A deaf connection keeps it until it has ears. */
static void conn_fail_later(struct real_conn *conn, int code)
{
    if (conn->watched)
        loop_real_unwatch(loop_of(conn), &conn->source);
    conn->watched = false;
    conn->code = code;
    if (conn->ops != NULL)
        loop_real_timer_set(loop_of(conn), &conn->timer, 0, fail_fire, conn);
}

/* --- reading and writing --- */

static void watch_for_room(struct real_conn *conn)
{
    bool wants = conn->connecting || conn->queued > 0;
    if (!conn->watched || wants == conn->wants_out)
        return;
    conn->wants_out = wants;
    loop_real_rewatch(loop_of(conn), &conn->source, EPOLLIN | (wants ? EPOLLOUT : 0));
}

static int conn_watch(struct real_conn *conn)
{
    conn->wants_out = conn->connecting || conn->queued > 0;
    if (loop_real_watch(loop_of(conn), &conn->source, EPOLLIN | (conn->wants_out ? EPOLLOUT : 0)) !=
        0)
        return errno;
    conn->watched = true;
    return 0;
}

/* Where the next bytes go. No more at once than the buffer takes, since what was just received is
 * best looked at while it is in the cache. */
static char *read_place(struct real_conn *conn, size_t *out_size)
{
    struct real_loop *loop = loop_of(conn);
    char *place = conn->into != NULL ? conn->into : loop->buffer;
    *out_size = sizeof loop->buffer;
    if (conn->into != NULL && conn->into_size < *out_size)
        *out_size = conn->into_size;
    return place;
}

/* Delivers what has come. False when the connection is gone. */
static bool conn_read(struct real_conn *conn)
{
    for (int i = 0; i < READS_AT_ONCE && !conn->gone && conn->code == 0;) {
        size_t room;
        char *place = read_place(conn, &room);
        ssize_t got = recv(conn->source.fd, place, room, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            break;
        if (got <= 0) {
            conn_failed(conn, got == 0 ? CLOSED_BY_PEER : errno);
            return false;
        }
        conn->into = NULL;
        conn->ops->received(conn->ctx, &conn->conn, place, (size_t)got);
        if ((size_t)got < room)
            break;
        i++;
    }
    return !conn->gone;
}

static void conn_write(struct real_conn *conn)
{
    bool waited = conn->queued > 0;
    int code = queue_flush(conn);
    if (code != 0) {
        conn_fail_later(conn, code);
        return;
    }
    watch_for_room(conn);
    if (waited && conn->queued == 0 && conn->ops->drained != NULL)
        conn->ops->drained(conn->ctx, &conn->conn);
}

static void connect_ready(struct real_conn *conn);

static void conn_ready(struct real_source *source, uint32_t events)
{
    struct real_conn *conn = LOOP_OF(struct real_conn, source, source);
    conn->busy++;
    if (conn->connecting) {
        connect_ready(conn);
    } else {
        bool open = (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0 || conn_read(conn);
        if (open && conn->code == 0 && (events & EPOLLOUT) != 0)
            conn_write(conn);
    }
    conn_unref(conn);
}

shoal_status loop_real_conn_send(struct env_conn *base, const void *bytes, size_t size)
{
    struct real_conn *conn = (struct real_conn *)base;
    if (conn->gone || conn->code != 0)
        return SHOAL_E_IO;
    if (size > conn->limit || conn->queued > conn->limit - size)
        return SHOAL_E_LIMIT;
    size_t sent = 0;
    while (conn->queued == 0 && !conn->connecting && sent < size) {
        ssize_t n = send(conn->source.fd, (const char *)bytes + sent, size - sent, MSG_NOSIGNAL);
        if (n >= 0) {
            sent += (size_t)n;
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            conn_fail_later(conn, errno);
            return SHOAL_E_IO;
        }
    }
    if (sent == size)
        return SHOAL_OK;
    if (queue_put(conn, (const char *)bytes + sent, size - sent) != SHOAL_OK) {
        if (sent > 0)
            conn_fail_later(conn, ENOMEM); /* half of it is out */
        return SHOAL_E_NOMEM;
    }
    watch_for_room(conn);
    return SHOAL_OK;
}

/* --- birth --- */

static struct real_conn *conn_new(struct real_loop *loop, int fd, const char *address)
{
    struct real_conn *conn = base_calloc(loop->alloc, 1, sizeof *conn);
    if (conn == NULL || loop_heap_promise(&loop->timers, 1) != SHOAL_OK) {
        base_free(loop->alloc, conn);
        return NULL;
    }
    conn->conn.loop = &loop->loop;
    conn->source = (struct real_source){.fd = fd, .ready = conn_ready};
    conn->end = &conn->head;
    conn->limit = ENV_CONN_LIMIT;
    (void)snprintf(conn->address, sizeof conn->address, "%s", address);
    loop_list_add(&loop->conns, &conn->in_loop);
    return conn;
}

static void send_at_once(int fd)
{
    const int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* slower without */
}

struct env_conn *loop_real_conn_accepted(struct real_loop *loop, int fd, const char *address)
{
    struct real_conn *conn = conn_new(loop, fd, address);
    if (conn == NULL)
        return NULL;
    send_at_once(fd);
    return &conn->conn;
}

void loop_real_conn_set(struct env_conn *base, const struct env_conn_ops *ops, void *ctx)
{
    struct real_conn *conn = (struct real_conn *)base;
    bool was_deaf = conn->ops == NULL;
    conn->ops = ops;
    conn->ctx = ctx;
    if (!was_deaf || conn->gone)
        return;
    int code = conn->code != 0 ? conn->code : conn_watch(conn);
    if (code != 0)
        conn_fail_later(conn, code);
}

/* --- connecting --- */

static bool is_itself(int fd)
{
    struct sockaddr_storage own, other;
    socklen_t own_size = sizeof own, other_size = sizeof other;
    memset(&own, 0, sizeof own);
    memset(&other, 0, sizeof other);
    return getsockname(fd, (struct sockaddr *)&own, &own_size) == 0 &&
           getpeername(fd, (struct sockaddr *)&other, &other_size) == 0 && own_size == other_size &&
           memcmp(&own, &other, own_size) == 0;
}

/* Starts with the next address that takes it. 0 when one is under way, else the last errno. */
static int connect_next(struct real_conn *conn)
{
    int code = EADDRNOTAVAIL;
    while (conn->next != NULL) {
        const struct addrinfo *a = conn->next;
        conn->next = a->ai_next;
        socket_close(conn);
        conn->source.fd =
            socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
        if (conn->source.fd < 0) {
            code = errno;
            continue;
        }
        if (connect(conn->source.fd, a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS ||
            errno == EINTR) {
            code = conn_watch(conn);
            if (code == 0)
                return 0;
        } else {
            code = errno;
        }
    }
    return code;
}

static int connect_result(struct real_conn *conn)
{
    int code = 0;
    socklen_t size = sizeof code;
    if (getsockopt(conn->source.fd, SOL_SOCKET, SO_ERROR, &code, &size) != 0)
        return errno;
    return code == 0 && is_itself(conn->source.fd) ? ECONNREFUSED : code;
}

static void connect_ready(struct real_conn *conn)
{
    int code = connect_result(conn);
    if (code != 0) {
        int next = conn->next != NULL ? connect_next(conn) : code;
        if (next != 0)
            conn_failed(conn, next);
        return;
    }
    struct real_loop *loop = loop_of(conn);
    conn->connecting = false;
    freeaddrinfo(conn->all);
    conn->all = conn->next = NULL;
    loop_heap_remove(&loop->timers, &conn->timer);
    send_at_once(conn->source.fd);
    if (conn->ops->opened != NULL)
        conn->ops->opened(conn->ctx, &conn->conn);
    if (!conn->gone && conn->code == 0)
        conn_write(conn); /* what was sent before */
}

static void timeout_fire(void *ctx)
{
    conn_failed(ctx, OUT_OF_TIME);
}

shoal_status loop_real_connect(struct env_loop *base, const char *address, uint64_t timeout_ns,
                               const struct env_conn_ops *ops, void *ctx,
                               struct env_conn **out_conn, shoal_err *err)
{
    struct real_loop *loop = (struct real_loop *)base;
    struct addrinfo *addresses = NULL;
    shoal_status st = loop_real_resolve(address, false, &addresses, err);
    if (st != SHOAL_OK)
        return st;
    struct real_conn *conn = conn_new(loop, -1, address);
    if (conn == NULL) {
        freeaddrinfo(addresses);
        return base_err_nomem(err, "connecting");
    }
    conn->ops = ops;
    conn->ctx = ctx;
    conn->connecting = true;
    conn->all = conn->next = addresses;
    int code = connect_next(conn);
    if (code != 0)
        conn_fail_later(conn, code);
    else if (timeout_ns != UINT64_MAX)
        loop_real_timer_set(loop, &conn->timer, timeout_ns, timeout_fire, conn);
    *out_conn = &conn->conn;
    return SHOAL_OK;
}

/* --- the rest --- */

void loop_real_conn_into(struct env_conn *base, void *bytes, size_t size)
{
    struct real_conn *conn = (struct real_conn *)base;
    conn->into = size > 0 ? bytes : NULL;
    conn->into_size = size;
}

void loop_real_conn_limit(struct env_conn *conn, size_t bytes_max)
{
    ((struct real_conn *)conn)->limit = bytes_max;
}

size_t loop_real_conn_queued(const struct env_conn *conn)
{
    return ((const struct real_conn *)conn)->queued;
}

const char *loop_real_conn_address(const struct env_conn *conn)
{
    return ((const struct real_conn *)conn)->address;
}
