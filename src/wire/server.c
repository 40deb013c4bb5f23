/* server.c - who comes in: strangers wait in a short list until they have proven the key.
 *
 * At most STRANGERS_MAX of them; when one more comes, the one that has waited longest goes. A flood
 * of connections that say nothing thus costs a bounded amount of memory and disturbs nobody who
 * answers in time. Tests: tests/unit/wire/test_peer.c. */
#include "base/assert.h"
#include "base/err.h"
#include "wire/peer_core.h"

enum { STRANGERS_MAX = 256, SERVER_ADDRESS_SIZE = 300 };

struct wire_server {
    struct env_loop *loop;
    const struct base_alloc *alloc;
    struct wire_port *port;
    char address[SERVER_ADDRESS_SIZE];
    struct wire_key key;
    struct wire_opts opts;
    void (*accept)(void *ctx, struct wire_peer *peer);
    void (*refused)(void *ctx, const char *address, const shoal_err *why);
    void *ctx;
    struct wire_peer *first, *last; /* strangers, oldest first */
    size_t count;
};

void wire_server_leave(struct wire_server *server, struct wire_peer *peer)
{
    if (peer->prev == NULL)
        server->first = peer->next;
    else
        peer->prev->next = peer->next;
    if (peer->next == NULL)
        server->last = peer->prev;
    else
        peer->next->prev = peer->prev;
    peer->prev = peer->next = NULL;
    server->count--;
}

static void join(struct wire_server *server, struct wire_peer *peer)
{
    peer->prev = server->last;
    if (server->last == NULL)
        server->first = peer;
    else
        server->last->next = peer;
    server->last = peer;
    server->count++;
}

void wire_server_accept(struct wire_server *server, struct wire_peer *peer)
{
    server->accept(server->ctx, peer);
}

void wire_server_refused(struct wire_server *server, const char *address, const shoal_err *why)
{
    if (server->refused != NULL)
        server->refused(server->ctx, address, why);
}

static void on_accepted(void *ctx, struct wire_stream *stream)
{
    struct wire_server *server = ctx;
    shoal_err err = SHOAL_ERR_INIT;
    struct wire_peer *peer =
        wire_peer_accept(server, server->loop, stream, &server->key, &server->opts);
    if (peer == NULL) {
        (void)base_err_nomem(&err, "accepting a connection");
        wire_server_refused(server, wire_stream_address(stream), &err);
        wire_stream_close(stream);
        return;
    }
    join(server, peer);
    if (server->count <= STRANGERS_MAX)
        return;
    peer = server->first;
    (void)base_err(&err, SHOAL_E_LIMIT, "'%s' did not prove the key before %d others came",
                   wire_peer_address(peer), STRANGERS_MAX);
    wire_peer_refuse(peer, &err);
}

shoal_status wire_server_new(struct env_loop *loop, const char *address, const struct wire_key *key,
                             const struct wire_opts *opts,
                             void (*accept)(void *ctx, struct wire_peer *peer),
                             void (*refused)(void *ctx, const char *address, const shoal_err *why),
                             void *ctx, struct wire_server **out_server, shoal_err *err)
{
    const struct wire_opts defaults = WIRE_OPTS_INIT;
    const struct base_alloc *alloc = env_alloc(env_loop_env(loop));
    shoal_status st = wire_opts_check(opts != NULL ? opts : &defaults, err);
    if (st != SHOAL_OK)
        return st;
    struct wire_server *server = base_calloc(alloc, 1, sizeof *server);
    if (server == NULL)
        return base_err_nomem(err, "starting to listen");
    server->loop = loop;
    server->alloc = alloc;
    server->key = *key;
    server->opts = opts != NULL ? *opts : defaults;
    server->accept = accept;
    server->refused = refused;
    server->ctx = ctx;
    st = wire_stream_listen(loop, address, key, on_accepted, server, &server->port, err);
    if (st != SHOAL_OK) {
        wire_server_free(server);
        return st;
    }
    wire_port_address(server->port, server->address, sizeof server->address);
    *out_server = server;
    return SHOAL_OK;
}

const char *wire_server_address(const struct wire_server *server)
{
    return server->address;
}

void wire_server_free(struct wire_server *server)
{
    if (server == NULL)
        return;
    wire_port_close(server->port);
    while (server->first != NULL) {
        struct wire_peer *peer = server->first;
        wire_server_leave(server, peer);
        peer->server = NULL;
        wire_peer_close(peer);
    }
    wire_key_wipe(&server->key);
    base_free(server->alloc, server);
}
