/* loop_real_net.c - addresses and listening.
 *
 * When descriptors run out, a listener stops listening for a moment instead of spinning; who wants
 * to connect waits in the kernel's queue. Tests: tests/unit/env/test_loop_real.c. */
#include "env/loop_real.h"

#include "base/assert.h"
#include "base/err.h"
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    HOST_SIZE = 256,
    BACKLOG = 4096,
    ACCEPTS_MAX = 64, /* in one go, so that others get their turn */
    PAUSE_NS = 50 * 1000 * 1000
};

struct real_listener {
    struct env_listener listener; /* first */
    struct real_source source;
    struct loop_list in_loop;
    struct env_timer pause;
    void (*accepted)(void *ctx, struct env_conn *conn);
    void *ctx;
    uint32_t busy; /* callbacks in progress */
    bool gone;
    char address[REAL_ADDRESS_SIZE];
};

static struct real_loop *loop_of(const struct real_listener *listener)
{
    return (struct real_loop *)listener->listener.loop;
}

/* --- addresses --- */

/* "host:port" and "[v6]:port" in two. */
static bool split(const char *address, char *host, const char **out_port)
{
    const char *colon = strrchr(address, ':');
    if (colon == NULL || colon == address || colon[1] == '\0')
        return false;
    size_t length = (size_t)(colon - address);
    if (address[0] == '[') {
        if (address[length - 1] != ']' || length < 3)
            return false;
        address++;
        length -= 2;
    } else if (memchr(address, ':', length) != NULL) {
        return false; /* an IPv6 address needs its brackets */
    }
    if (length >= HOST_SIZE)
        return false;
    memcpy(host, address, length);
    host[length] = '\0';
    *out_port = colon + 1;
    return true;
}

shoal_status loop_real_resolve(const char *address, bool passive, struct addrinfo **out,
                               shoal_err *err)
{
    char host[HOST_SIZE];
    const char *port = NULL;
    if (!split(address, host, &port) || strspn(port, "0123456789") != strlen(port))
        return base_err(err, SHOAL_E_FORMAT, "'%s' is not an address: HOST:PORT", address);
    if (strtoul(port, NULL, 10) > UINT16_MAX) /* getaddrinfo would cut it to 16 bits */
        return base_err(err, SHOAL_E_FORMAT, "'%s' is not an address: no such port", address);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    hints.ai_flags = AI_NUMERICSERV | AI_NUMERICHOST | (passive ? AI_PASSIVE : 0);
    int rc = getaddrinfo(host, port, &hints, out);
    if (rc == EAI_NONAME) {
        hints.ai_flags &= ~AI_NUMERICHOST;
        rc = getaddrinfo(host, port, &hints, out);
    }
    if (rc == 0)
        return SHOAL_OK;
    if (rc == EAI_MEMORY)
        return base_err_nomem(err, "looking up an address");
    if (rc == EAI_SERVICE)
        return base_err(err, SHOAL_E_FORMAT, "'%s' is not an address: no such port", address);
    return base_err(err, rc == EAI_NONAME ? SHOAL_E_NOTFOUND : SHOAL_E_IO,
                    "cannot find host '%s': %s", host, gai_strerror(rc));
}

void loop_real_format_address(const struct sockaddr *address, unsigned size, char *out,
                              size_t out_size)
{
    char host[HOST_SIZE], port[16];
    if (getnameinfo(address, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        (void)snprintf(out, out_size, "unknown address");
    else
        (void)snprintf(out, out_size, strchr(host, ':') != NULL ? "[%s]:%s" : "%s:%s", host, port);
}

/* --- accepting --- */

static void resume(void *ctx)
{
    struct real_listener *listener = ctx;
    loop_real_rewatch(loop_of(listener), &listener->source, EPOLLIN);
}

static void pause_listening(struct real_listener *listener)
{
    struct real_loop *loop = loop_of(listener);
    loop_real_rewatch(loop, &listener->source, 0);
    loop_real_timer_set(loop, &listener->pause, PAUSE_NS, resume, listener);
}

/* False when there is none, for now. */
static bool accept_one(struct real_listener *listener)
{
    struct sockaddr_storage from;
    socklen_t size = sizeof from;
    int fd =
        accept4(listener->source.fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        int code = errno;
        if (code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM)
            pause_listening(listener);
        return code == EINTR || code == ECONNABORTED;
    }
    char address[REAL_ADDRESS_SIZE];
    loop_real_format_address((struct sockaddr *)&from, size, address, sizeof address);
    struct env_conn *conn = loop_real_conn_accepted(loop_of(listener), fd, address);
    if (conn == NULL) {
        loop_real_close(fd);
        return true;
    }
    listener->accepted(listener->ctx, conn);
    return true;
}

static void listener_unref(struct real_listener *listener)
{
    if (--listener->busy == 0 && listener->gone)
        base_free(loop_of(listener)->alloc, listener);
}

static void listener_ready(struct real_source *source, uint32_t events)
{
    (void)events;
    struct real_listener *listener = LOOP_OF(struct real_listener, source, source);
    listener->busy++;
    for (int i = 0; i < ACCEPTS_MAX && !listener->gone && accept_one(listener); i++)
        ;
    listener_unref(listener);
}

void loop_real_listener_free(struct loop_list *node)
{
    struct real_listener *listener = LOOP_OF(struct real_listener, in_loop, node);
    struct real_loop *loop = loop_of(listener);
    loop_list_remove(node);
    loop_heap_remove(&loop->timers, &listener->pause);
    loop_heap_release(&loop->timers, 1);
    loop_real_unwatch(loop, &listener->source);
    loop_real_close(listener->source.fd);
    listener->gone = true;
    listener->busy++;
    listener_unref(listener);
}

void loop_real_listener_close(struct env_listener *base)
{
    struct real_listener *listener = (struct real_listener *)base;
    if (!listener->gone)
        loop_real_listener_free(&listener->in_loop);
}

const char *loop_real_listener_address(const struct env_listener *listener)
{
    return ((const struct real_listener *)listener)->address;
}

/* --- listening --- */

/* A listening socket on the first address that takes one, or -1 and errno. */
static int bound_socket(const struct addrinfo *addresses)
{
    int code = EADDRNOTAVAIL;
    for (const struct addrinfo *a = addresses; a != NULL; a = a->ai_next) {
        const int on = 1;
        int fd =
            socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
        if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
            bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
            return fd;
        code = errno;
        loop_real_close(fd);
    }
    errno = code;
    return -1;
}

static shoal_status listen_failed(const char *address, int code, shoal_err *err)
{
    char text[128];
    return base_err(err, code == EADDRINUSE ? SHOAL_E_EXISTS : env_real_status(code),
                    "cannot listen on '%s': %s", address, env_real_reason(code, text, sizeof text));
}

/* Takes the descriptor on success. */
static shoal_status listener_new(struct real_loop *loop, int fd,
                                 void (*accepted)(void *ctx, struct env_conn *conn), void *ctx,
                                 struct env_listener **out_listener, shoal_err *err)
{
    struct real_listener *listener = base_calloc(loop->alloc, 1, sizeof *listener);
    if (listener == NULL || loop_heap_promise(&loop->timers, 1) != SHOAL_OK) {
        base_free(loop->alloc, listener);
        return base_err_nomem(err, "listening");
    }
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    listener->listener.loop = &loop->loop;
    listener->source = (struct real_source){.fd = fd, .ready = listener_ready};
    if (getsockname(fd, (struct sockaddr *)&own, &size) != 0 ||
        loop_real_watch(loop, &listener->source, EPOLLIN) != 0) {
        int code = errno;
        loop_heap_release(&loop->timers, 1);
        base_free(loop->alloc, listener);
        return listen_failed("socket", code, err);
    }
    loop_real_format_address((struct sockaddr *)&own, size, listener->address,
                             sizeof listener->address);
    listener->accepted = accepted;
    listener->ctx = ctx;
    loop_list_add(&loop->listeners, &listener->in_loop);
    *out_listener = &listener->listener;
    return SHOAL_OK;
}

shoal_status loop_real_listen(struct env_loop *base, const char *address,
                              void (*accepted)(void *ctx, struct env_conn *conn), void *ctx,
                              struct env_listener **out_listener, shoal_err *err)
{
    struct addrinfo *addresses = NULL;
    shoal_status st = loop_real_resolve(address, true, &addresses, err);
    if (st != SHOAL_OK)
        return st;
    int fd = bound_socket(addresses);
    int code = errno;
    freeaddrinfo(addresses);
    if (fd < 0)
        return listen_failed(address, code, err);
    st = listener_new((struct real_loop *)base, fd, accepted, ctx, out_listener, err);
    if (st != SHOAL_OK)
        loop_real_close(fd);
    return st;
}
