/* stream.c - the table of transports, and the plainest of them: TCP as env has it. Tests:
 * tests/unit/wire/test_stream.c, test_address.c. */
#include "wire/stream.h"
#include "base/assert.h"
#include "base/err.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct wire_transport *const TRANSPORTS[] = {
    &wire_tcp,
    &wire_tls,
#ifdef SHOAL_UCX
    &wire_ucx,
#endif
};

/* --- addresses as people write them --- */

static const char TLS[] = "tls://";
enum { PORT_MAX = 65535 };

/* Whether a port follows the last colon, and a host is before it; what is wrong with the host, who
 * looks it up will say. */
static shoal_status check_address(const char *address, shoal_err *err)
{
    const char *mark = strstr(address, "://");
    const char *host = mark == NULL ? address : mark + 3;
    const char *colon = strrchr(host, ':');

    if (colon == NULL || colon == host)
        return base_err(err, SHOAL_E_INVAL, "'%s' is not an address: HOST:PORT", address);
    size_t digits = strspn(colon + 1, "0123456789");
    if (digits == 0 || colon[1 + digits] != '\0' || strtoul(colon + 1, NULL, 10) > PORT_MAX)
        return base_err(err, SHOAL_E_INVAL, "'%s' is not an address: a port is 0 to %d", address,
                        PORT_MAX);
    return SHOAL_OK;
}

shoal_status wire_address(const char *address, bool tls, char out[WIRE_ADDRESS_SIZE],
                          shoal_err *err)
{
    bool is_named = strstr(address, "://") != NULL;

    if (tls && is_named && strncmp(address, TLS, sizeof TLS - 1) != 0)
        return base_err(err, SHOAL_E_INVAL, "--tls and '%s' name two transports", address);
    if (snprintf(out, WIRE_ADDRESS_SIZE, "%s%s", tls && !is_named ? TLS : "", address) >=
        WIRE_ADDRESS_SIZE)
        return base_err(err, SHOAL_E_INVAL, "'%.32s...' is too long for an address", address);
    return check_address(address, err);
}

/* What a machine calls itself; any other name may be that of a network. */
static bool is_loopback(const char *host, size_t size)
{
    static const char *const NAMES[] = {"localhost", "[::1]", "::1"};

    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (strlen(NAMES[i]) == size && memcmp(host, NAMES[i], size) == 0)
            return true;
    return strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == size;
}

bool wire_address_is_open(const char *address)
{
    const char *mark = strstr(address, "://");
    const char *host = mark == NULL ? address : mark + 3;
    const char *colon = strrchr(host, ':');

    return strncmp(address, TLS, sizeof TLS - 1) != 0 && colon != NULL &&
           !is_loopback(host, (size_t)(colon - host));
}

/* --- which one --- */

static shoal_status unknown(const char *name, size_t size, shoal_err *err)
{
    char known[64] = "";
    size_t at = 0;
    for (size_t i = 0; i < BASE_COUNT(TRANSPORTS); i++)
        at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i > 0 ? ", " : "",
                               TRANSPORTS[i]->name);
    return base_err(err, SHOAL_E_INVAL, "no transport '%.*s'; there are: %s", (int)size, name,
                    known);
}

/* The transport that an address begins with; what follows its name goes into `place`. */
static shoal_status find(const char *address, const struct wire_transport **out,
                         struct wire_place *place, shoal_err *err)
{
    const char *mark = strstr(address, "://");
    if (mark == NULL) {
        *out = &wire_tcp;
        place->address = address;
        return SHOAL_OK;
    }
    size_t size = (size_t)(mark - address);
    for (size_t i = 0; i < BASE_COUNT(TRANSPORTS); i++)
        if (strlen(TRANSPORTS[i]->name) == size &&
            memcmp(TRANSPORTS[i]->name, address, size) == 0) {
            *out = TRANSPORTS[i];
            place->address = mark + 3;
            return SHOAL_OK;
        }
    return unknown(address, size < 64 ? size : 64, err);
}

shoal_status wire_stream_listen(struct env_loop *loop, const char *address,
                                const struct wire_key *key,
                                void (*accepted)(void *ctx, struct wire_stream *stream), void *ctx,
                                struct wire_port **out_port, shoal_err *err)
{
    struct wire_place place = {.loop = loop, .key = key};
    const struct wire_transport *transport = NULL;
    shoal_status st = find(address, &transport, &place, err);
    return st != SHOAL_OK ? st : transport->listen(&place, accepted, ctx, out_port, err);
}

void wire_port_address(const struct wire_port *port, char *out, size_t size)
{
    bool plain = port->transport == &wire_tcp;
    (void)snprintf(out, size, "%s%s%s", plain ? "" : port->transport->name, plain ? "" : "://",
                   port->transport->port_address(port));
}

void wire_port_close(struct wire_port *port)
{
    if (port != NULL)
        port->transport->port_close(port);
}

shoal_status wire_stream_connect(struct env_loop *loop, const char *address,
                                 const struct wire_key *key, uint64_t timeout_ns,
                                 const struct wire_stream_ops *ops, void *ctx,
                                 struct wire_stream **out_stream, shoal_err *err)
{
    struct wire_place place = {.loop = loop, .key = key};
    const struct wire_transport *transport = NULL;
    shoal_status st = find(address, &transport, &place, err);
    return st != SHOAL_OK ? st : transport->connect(&place, timeout_ns, ops, ctx, out_stream, err);
}

/* --- tcp --- */

struct tcp_stream {
    struct wire_stream stream; /* first */
    const struct base_alloc *alloc;
    struct env_conn *conn;
    const struct wire_stream_ops *ops;
    void *ctx;
};

struct tcp_port {
    struct wire_port port; /* first */
    struct env_loop *loop;
    struct env_listener *listener;
    void (*accepted)(void *ctx, struct wire_stream *stream);
    void *ctx;
};

static void tcp_opened(void *ctx, struct env_conn *conn)
{
    struct tcp_stream *tcp = ctx;
    (void)conn;
    tcp->ops->opened(tcp->ctx);
}

static void tcp_received(void *ctx, struct env_conn *conn, const void *bytes, size_t size)
{
    struct tcp_stream *tcp = ctx;
    (void)conn;
    tcp->ops->received(tcp->ctx, bytes, size);
}

static void tcp_drained(void *ctx, struct env_conn *conn)
{
    struct tcp_stream *tcp = ctx;
    (void)conn;
    tcp->ops->drained(tcp->ctx);
}

static void tcp_closed(void *ctx, struct env_conn *conn, const shoal_err *why)
{
    struct tcp_stream tcp = *(struct tcp_stream *)ctx;
    (void)conn;
    base_free(tcp.alloc, ctx);
    tcp.ops->closed(tcp.ctx, why);
}

static const struct env_conn_ops TCP_OPS = {tcp_opened, tcp_received, tcp_drained, tcp_closed};

static struct tcp_stream *tcp_new(struct env_loop *loop)
{
    const struct base_alloc *alloc = env_alloc(env_loop_env(loop));
    struct tcp_stream *tcp = base_calloc(alloc, 1, sizeof *tcp);
    if (tcp == NULL)
        return NULL;
    tcp->stream.transport = &wire_tcp;
    tcp->alloc = alloc;
    return tcp;
}

static shoal_status tcp_connect(const struct wire_place *place, uint64_t timeout_ns,
                                const struct wire_stream_ops *ops, void *ctx,
                                struct wire_stream **out_stream, shoal_err *err)
{
    struct tcp_stream *tcp = tcp_new(place->loop);
    if (tcp == NULL)
        return base_err_nomem(err, "connecting");
    tcp->ops = ops;
    tcp->ctx = ctx;
    shoal_status st =
        env_connect(place->loop, place->address, timeout_ns, &TCP_OPS, tcp, &tcp->conn, err);
    if (st != SHOAL_OK) {
        base_free(tcp->alloc, tcp);
        return st;
    }
    *out_stream = &tcp->stream;
    return SHOAL_OK;
}

static void tcp_set(struct wire_stream *stream, const struct wire_stream_ops *ops, void *ctx)
{
    struct tcp_stream *tcp = (struct tcp_stream *)stream;
    tcp->ops = ops;
    tcp->ctx = ctx;
    env_conn_set(tcp->conn, &TCP_OPS, tcp);
}

static shoal_status tcp_send(struct wire_stream *stream, const void *bytes, size_t size)
{
    return env_conn_send(((struct tcp_stream *)stream)->conn, bytes, size);
}

static void tcp_into(struct wire_stream *stream, void *bytes, size_t size)
{
    env_conn_into(((struct tcp_stream *)stream)->conn, bytes, size);
}

static size_t tcp_queued(const struct wire_stream *stream)
{
    return env_conn_queued(((const struct tcp_stream *)stream)->conn);
}

static const char *tcp_address(const struct wire_stream *stream)
{
    return env_conn_address(((const struct tcp_stream *)stream)->conn);
}

static void tcp_close(struct wire_stream *stream)
{
    struct tcp_stream *tcp = (struct tcp_stream *)stream;
    env_conn_close(tcp->conn);
    base_free(tcp->alloc, tcp);
}

/* Without memory it is dropped, as env does with those it has no memory for. */
static void tcp_accepted(void *ctx, struct env_conn *conn)
{
    struct tcp_port *port = ctx;
    struct tcp_stream *tcp = tcp_new(port->loop);
    if (tcp == NULL) {
        env_conn_close(conn);
        return;
    }
    tcp->conn = conn;
    port->accepted(port->ctx, &tcp->stream);
}

static shoal_status tcp_listen(const struct wire_place *place,
                               void (*accepted)(void *ctx, struct wire_stream *stream), void *ctx,
                               struct wire_port **out_port, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env_loop_env(place->loop));
    struct tcp_port *port = base_calloc(alloc, 1, sizeof *port);
    if (port == NULL)
        return base_err_nomem(err, "starting to listen");
    *port = (struct tcp_port){
        .port.transport = &wire_tcp, .loop = place->loop, .accepted = accepted, .ctx = ctx};
    shoal_status st =
        env_listen(place->loop, place->address, tcp_accepted, port, &port->listener, err);
    if (st != SHOAL_OK) {
        base_free(alloc, port);
        return st;
    }
    *out_port = &port->port;
    return SHOAL_OK;
}

static const char *tcp_port_address(const struct wire_port *port)
{
    return env_listener_address(((const struct tcp_port *)port)->listener);
}

static void tcp_port_close(struct wire_port *base)
{
    struct tcp_port *port = (struct tcp_port *)base;
    env_listener_close(port->listener);
    base_free(env_alloc(env_loop_env(port->loop)), port);
}

const struct wire_transport wire_tcp = {
    .name = "tcp",
    .listen = tcp_listen,
    .port_address = tcp_port_address,
    .port_close = tcp_port_close,
    .connect = tcp_connect,
    .set = tcp_set,
    .send = tcp_send,
    .into = tcp_into,
    .queued = tcp_queued,
    .address = tcp_address,
    .close = tcp_close,
};
