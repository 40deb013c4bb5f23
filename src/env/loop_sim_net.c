/* loop_sim_net.c - addresses, listening and connecting in the simulated cluster; loop_sim_link.c
 * carries the bytes. Tests: tests/unit/env/test_loop_sim.c. */
#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "env/loop_sim_link.h"
#include <stdio.h>
#include <string.h>

enum { PORT_FIRST = 40000, PORT_END = 65536, NAME_SIZE = 128 };

struct loop_listener {
    struct env_listener listener; /* first */
    struct loop_list in_loop;
    uint32_t port;
    void (*accepted)(void *ctx, struct env_conn *conn);
    void *ctx;
    char address[SIM_ADDRESS_SIZE];
};

/* --- addresses: HOST:PORT, where the usual names of a machine for itself mean the own host --- */

static bool is_own_name(const char *name, size_t length)
{
    static const char *const NAMES[] = {"127.0.0.1", "0.0.0.0", "localhost", "[::1]", "[::]"};
    for (size_t i = 0; i < BASE_COUNT(NAMES); i++)
        if (strlen(NAMES[i]) == length && memcmp(NAMES[i], name, length) == 0)
            return true;
    return false;
}

static shoal_status address_parse(struct sim_loop *loop, const char *address, uint32_t *out_host,
                                  uint32_t *out_port, shoal_err *err)
{
    const char *colon = strrchr(address, ':');
    uint64_t port = 0;
    if (colon == NULL || colon == address || colon - address >= NAME_SIZE ||
        !base_parse_u64(colon + 1, strlen(colon + 1), &port) || port > 65535)
        return base_err(err, SHOAL_E_FORMAT, "'%s' is not an address: HOST:PORT", address);
    size_t length = (size_t)(colon - address);
    *out_port = (uint32_t)port;
    *out_host = loop->host;
    if (is_own_name(address, length))
        return SHOAL_OK;
    if (loop_sim_host(loop->sim, address, length, out_host) != SHOAL_OK)
        return base_err_nomem(err, "reading an address");
    return SHOAL_OK;
}

/* --- listening --- */

static struct loop_listener *listener_find(struct loop_sim *sim, uint32_t host, uint32_t port)
{
    for (struct loop_list *l = sim->loops.next; l != &sim->loops; l = l->next) {
        struct sim_loop *loop = LOOP_OF(struct sim_loop, in_sim, l);
        if (!loop->alive || loop->host != host)
            continue;
        for (struct loop_list *n = loop->listeners.next; n != &loop->listeners; n = n->next)
            if (LOOP_OF(struct loop_listener, in_loop, n)->port == port)
                return LOOP_OF(struct loop_listener, in_loop, n);
    }
    return NULL;
}

shoal_status loop_sim_listen(struct env_loop *base, const char *address,
                             void (*accepted)(void *ctx, struct env_conn *conn), void *ctx,
                             struct env_listener **out_listener, shoal_err *err)
{
    struct sim_loop *loop = (struct sim_loop *)base;
    struct loop_sim *sim = loop->sim;
    uint32_t host = 0, port = 0;
    if (!loop->alive)
        return base_err(err, SHOAL_E_CANCELLED, "cannot listen: the process has ended");
    shoal_status st = address_parse(loop, address, &host, &port, err);
    if (st != SHOAL_OK)
        return st;
    if (host != loop->host)
        return base_err(err, SHOAL_E_IO, "cannot listen on '%s': not an address of this host",
                        address);
    if (port != 0 && listener_find(sim, host, port) != NULL)
        return base_err(err, SHOAL_E_EXISTS, "cannot listen on '%s': address already in use",
                        address);
    while (port == 0 || listener_find(sim, host, port) != NULL)
        port = PORT_FIRST + sim->ports_made++ % (PORT_END - PORT_FIRST);
    struct loop_listener *listener = base_calloc(sim->alloc, 1, sizeof *listener);
    if (listener == NULL)
        return base_err_nomem(err, "listening");
    listener->listener.loop = base;
    listener->port = port;
    listener->accepted = accepted;
    listener->ctx = ctx;
    (void)snprintf(listener->address, sizeof listener->address, "%s:%u", sim->hosts[host].name,
                   port);
    loop_list_add(&loop->listeners, &listener->in_loop);
    *out_listener = &listener->listener;
    return SHOAL_OK;
}

const char *loop_sim_listener_address(const struct env_listener *listener)
{
    return ((const struct loop_listener *)listener)->address;
}

void loop_sim_listener_free(struct loop_list *node)
{
    struct loop_listener *listener = LOOP_OF(struct loop_listener, in_loop, node);
    loop_list_remove(node);
    base_free(((struct sim_loop *)listener->listener.loop)->sim->alloc, listener);
}

void loop_sim_listener_close(struct env_listener *listener)
{
    loop_sim_listener_free(&((struct loop_listener *)listener)->in_loop);
}

/* --- connecting --- */

static void link_connect(void *ctx)
{
    struct sim_link *link = ctx;
    struct loop_sim *sim = link->sim;
    if (loop_sim_link_is_cut(link)) {
        link->connect_held = true;
        return;
    }
    struct loop_listener *listener = listener_find(sim, link->hosts[1], link->port);
    struct sim_conn *conn = NULL;
    if (listener != NULL)
        conn = loop_sim_link_join(link, 1, (struct sim_loop *)listener->listener.loop,
                                  sim->hosts[link->hosts[0]].name, link->own_port);
    if (conn == NULL) {
        loop_sim_link_refused(link);
        return;
    }
    loop_sim_link_opened(link);
    loop_sim_note(loop_sim_owner(conn), SIM_ACCEPTED, 0);
    listener->accepted(listener->ctx, &conn->conn);
}

static void link_timeout(void *ctx)
{
    struct sim_link *link = ctx;
    loop_sim_conn_finish(link->ends[0], SIM_TIMED_OUT);
}

shoal_status loop_sim_connect(struct env_loop *base, const char *address, uint64_t timeout_ns,
                              const struct env_conn_ops *ops, void *ctx, struct env_conn **out_conn,
                              shoal_err *err)
{
    struct sim_loop *loop = (struct sim_loop *)base;
    struct loop_sim *sim = loop->sim;
    uint32_t host = 0, port = 0;
    if (!loop->alive)
        return base_err(err, SHOAL_E_CANCELLED, "cannot connect: the process has ended");
    shoal_status st = address_parse(loop, address, &host, &port, err);
    if (st != SHOAL_OK)
        return st;
    struct sim_link *link = loop_sim_link_new(sim, host, port);
    if (link == NULL)
        return base_err_nomem(err, "connecting");
    struct sim_conn *conn = loop_sim_link_join(link, 0, loop, sim->hosts[host].name, port);
    if (conn == NULL) {
        loop_sim_link_free_when_unused(link);
        return base_err_nomem(err, "connecting");
    }
    conn->ops = ops;
    conn->ctx = ctx;
    uint64_t now = env_now_ns(sim->env);
    uint64_t limit = timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
    loop_sim_at(sim, &link->connect, now + loop_sim_delay_ns(sim), link_connect, link);
    if (limit < UINT64_MAX)
        loop_sim_at(sim, &link->timeout, limit, link_timeout, link);
    *out_conn = &conn->conn;
    return SHOAL_OK;
}
