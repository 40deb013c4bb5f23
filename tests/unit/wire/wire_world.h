/* wire_world.h - two processes that talk, in a simulated cluster, and a third that does not belong.
 *
 * The server runs on host "home", the client on "away". Each side numbers its messages; a message
 * says its number and is filled with bytes that follow from it, so that the receiving side knows
 * what must come next, and counts what does. */
#ifndef TESTS_WIRE_WORLD_H
#define TESTS_WIRE_WORLD_H

#include "torture.h"

#include "base/assert.h"
#include "wire/auth.h"
#include "base/bytes.h"
#include "wire/frame.h"
#include "wire/peer.h"
#include <stdio.h>
#include <string.h>

#define WORLD_S(s) ((uint64_t)((s)*1e9))

enum { WORLD_MESSAGE_MAX = 4 << 20, WORLD_ADDRESS_MAX = 128 };

static unsigned char world_scratch[WORLD_MESSAGE_MAX];

struct world;

struct side {
    struct world *world;
    struct env_loop *loop;
    struct wire_peer *peer; /* NULL: none, or closed */
    uint64_t sent, got, got_bytes, limits;
    uint32_t ready, closed;
    shoal_err why;
    bool wrong;                                        /* something came that should not have */
    void (*heard)(struct side *side, uint64_t number); /* after each message; may be NULL */
};

struct world {
    shoal_env *env;
    struct wire_key key;
    struct side home, away; /* server and client */
    struct wire_server *server;
    char address[WORLD_ADDRESS_MAX];
    uint32_t accepted, refused;
    shoal_err refused_why;       /* the last */
    char who[WORLD_ADDRESS_MAX]; /* the last that was refused or accepted */
    bool free_in_accept, free_in_refused;
};

/* --- messages --- */

static inline unsigned char world_byte(uint64_t number, size_t at)
{
    return (unsigned char)(number * 131 + at * 7 + (at >> 8));
}

/* Number in the first bytes, as many as there are. */
static inline shoal_status side_send(struct side *side, size_t size)
{
    unsigned char *bytes = world_scratch, number[8];
    shoal_assert(size <= WORLD_MESSAGE_MAX);
    for (size_t i = 0; i < size; i++)
        bytes[i] = world_byte(side->sent, i);
    base_put64(number, side->sent);
    memcpy(bytes, number, size < 8 ? size : 8);
    shoal_status st = size % 3 == 0 ? wire_peer_send(side->peer, (uint16_t)side->sent, bytes, size)
                                    : wire_peer_send2(side->peer, (uint16_t)side->sent, bytes,
                                                      size / 3, bytes + size / 3, size - size / 3);
    if (st == SHOAL_OK)
        side->sent++;
    else if (st == SHOAL_E_LIMIT)
        side->limits++;
    return st;
}

static inline void side_message(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes,
                                size_t size)
{
    struct side *side = ctx;
    const unsigned char *at = bytes;
    unsigned char number[8];
    bool right = peer == side->peer && (uintptr_t)bytes % 8 == 0 && kind == (uint16_t)side->got;
    base_put64(number, side->got);
    right = right && memcmp(at, number, size < 8 ? size : 8) == 0;
    for (size_t i = 8; i < size && right; i++)
        right = at[i] == world_byte(side->got, i);
    side->wrong = side->wrong || !right;
    side->got_bytes += size;
    uint64_t this_one = side->got++;
    if (side->heard != NULL)
        side->heard(side, this_one);
}

static inline void side_ready(void *ctx, struct wire_peer *peer)
{
    struct side *side = ctx;
    side->wrong = side->wrong || peer != side->peer;
    side->ready++;
}

static inline void side_closed(void *ctx, struct wire_peer *peer, const shoal_err *why)
{
    struct side *side = ctx;
    side->wrong =
        side->wrong || peer != side->peer || why->code == SHOAL_OK || why->message[0] == '\0';
    side->closed++;
    side->why = *why;
    side->peer = NULL;
}

static const struct wire_peer_ops SIDE_OPS = {side_ready, side_message, side_closed};

/* The error's text, with an address in the middle. */
static inline void assert_says(const shoal_err *err, const char *before, const char *who,
                               const char *after)
{
    char text[400];
    (void)snprintf(text, sizeof text, "%s%s%s", before, who, after);
    assert_string_equal(err->message, text);
}

/* --- the server's side --- */

static inline void world_accept(void *ctx, struct wire_peer *peer)
{
    struct world *world = ctx;
    world->accepted++;
    (void)snprintf(world->who, sizeof world->who, "%s", wire_peer_address(peer));
    world->home.peer = peer;
    wire_peer_set(peer, &SIDE_OPS, &world->home);
    if (world->free_in_accept) {
        wire_server_free(world->server);
        world->server = NULL;
    }
}

static inline void world_refused(void *ctx, const char *address, const shoal_err *why)
{
    struct world *world = ctx;
    (void)snprintf(world->who, sizeof world->who, "%s", address);
    shoal_assert(strncmp(address, "away:", 5) == 0 || strncmp(address, "bad:", 4) == 0);
    shoal_assert(why->code != SHOAL_OK && why->message[0] != '\0');
    world->refused++;
    world->refused_why = *why;
    if (world->free_in_refused) {
        wire_server_free(world->server);
        world->server = NULL;
    }
}

/* --- birth and death --- */

static inline void world_free(struct world *world)
{
    if (world->home.loop != NULL)
        wire_peer_close(world->home.peer);
    if (world->away.loop != NULL)
        wire_peer_close(world->away.peer);
    wire_server_free(world->server);
    env_loop_free(world->home.loop);
    env_loop_free(world->away.loop);
    shoal_env_free(world->env);
    base_free(&base_alloc_libc, world);
}

/* A server on `listen` of host "home"; memory of all from `alloc`. NULL when that is short. */
static inline struct world *world_at(const struct base_alloc *alloc, uint64_t seed,
                                     const char *listen, const struct wire_opts *opts)
{
    struct world *world = base_calloc(&base_alloc_libc, 1, sizeof *world);
    shoal_assert(world != NULL);
    world->home.world = world->away.world = world;
    if (env_sim_new(alloc, seed, &world->env, NULL) != SHOAL_OK) {
        base_free(&base_alloc_libc, world);
        return NULL;
    }
    world->env->alloc = alloc;
    if (env_loop_new(world->env, "home", &world->home.loop, NULL) != SHOAL_OK ||
        env_loop_new(world->env, "away", &world->away.loop, NULL) != SHOAL_OK ||
        wire_key_new(world->env, &world->key, NULL) != SHOAL_OK ||
        wire_server_new(world->home.loop, listen, &world->key, opts, world_accept, world_refused,
                        world, &world->server, NULL) != SHOAL_OK) {
        world_free(world);
        return NULL;
    }
    (void)snprintf(world->address, sizeof world->address, "%s", wire_server_address(world->server));
    return world;
}

static inline struct world *world_new(const struct base_alloc *alloc, uint64_t seed,
                                      const struct wire_opts *opts)
{
    return world_at(alloc, seed, "home:0", opts);
}

static inline shoal_status world_connect(struct world *world, const struct wire_key *key,
                                         const struct wire_opts *opts)
{
    return wire_peer_connect(world->away.loop, world->address, key != NULL ? key : &world->key,
                             opts, &SIDE_OPS, &world->away, &world->away.peer, NULL);
}

static inline void world_run(struct world *world, double seconds)
{
    (void)env_sim_run(world->env, env_now_ns(world->env) + WORLD_S(seconds), NULL, NULL);
}

static inline struct world *world_of_two(uint64_t seed, const struct wire_opts *opts)
{
    struct world *world = world_new(&base_alloc_libc, seed, opts);
    assert_non_null(world);
    assert_int_equal(world_connect(world, NULL, opts), SHOAL_OK);
    return world;
}

/* A server on `listen` and a client meet on this network and talk for `rounds`, with memory that
 * may be short at any moment. SHOAL_OK: all arrived; SHOAL_E_NOMEM: not all did, and both sides
 * know. */
static inline shoal_status world_meet_and_talk(const struct base_alloc *alloc, const char *listen,
                                               const struct env_sim_net *net, int rounds)
{
    struct world *world = world_at(alloc, 3, listen, NULL);
    shoal_status st = SHOAL_E_NOMEM;
    if (world == NULL)
        return st;
    env_sim_set_net(world->env, net);
    if (world_connect(world, NULL, NULL) != SHOAL_OK)
        goto out;
    for (int i = 0; i < rounds; i++) {
        if (world->away.peer != NULL)
            (void)!side_send(&world->away, i == 7 ? 100000 : 100);
        if (world->home.peer != NULL)
            (void)!side_send(&world->home, i == 7 ? 100000 : 100);
        world_run(world, 0.01);
    }
    world_run(world, 15);
    if (world->home.wrong || world->away.wrong || world->home.closed > 1 || world->away.closed > 1)
        st = SHOAL_E_INTERNAL;
    else if (world->away.closed == 0 && world->home.closed == 0 && world->accepted == 1 &&
             world->home.got == world->away.sent && world->away.got == world->home.sent)
        st = SHOAL_OK;
out:
    world_free(world);
    return st;
}

/* --- one who speaks bytes --- */

struct raw {
    struct env_loop *loop;
    struct env_conn *conn;
    unsigned char got[1 << 16];
    size_t got_size;
    uint32_t opened, closed;
    const void *first; /* sent when it is open */
    size_t first_size;
    void (*heard)(struct raw *raw, const unsigned char *bytes, size_t size); /* may be NULL */
    void *ctx;
};

static inline void raw_opened(void *ctx, struct env_conn *conn)
{
    struct raw *raw = ctx;
    raw->opened++;
    if (raw->first_size > 0)
        shoal_assert(env_conn_send(conn, raw->first, raw->first_size) == SHOAL_OK);
}

static inline void raw_received(void *ctx, struct env_conn *conn, const void *bytes, size_t size)
{
    struct raw *raw = ctx;
    (void)conn;
    if (size <= sizeof raw->got - raw->got_size) {
        memcpy(raw->got + raw->got_size, bytes, size);
        raw->got_size += size;
    }
    if (raw->heard != NULL)
        raw->heard(raw, bytes, size);
}

static inline void raw_closed(void *ctx, struct env_conn *conn, const shoal_err *why)
{
    struct raw *raw = ctx;
    (void)conn;
    (void)why;
    raw->closed++;
    raw->conn = NULL;
}

static const struct env_conn_ops RAW_OPS = {raw_opened, raw_received, NULL, raw_closed};

/* On a host of its own. */
static inline struct raw *raw_new(struct world *world)
{
    struct raw *raw = base_calloc(&base_alloc_libc, 1, sizeof *raw);
    shoal_assert(raw != NULL);
    shoal_assert(env_loop_new(world->env, "bad", &raw->loop, NULL) == SHOAL_OK);
    return raw;
}

static inline void raw_connect(struct raw *raw, const char *address, const void *first, size_t size)
{
    raw->first = first;
    raw->first_size = size;
    shoal_assert(env_connect(raw->loop, address, WORLD_S(5), &RAW_OPS, raw, &raw->conn, NULL) ==
                 SHOAL_OK);
}

static inline void raw_accepted(void *ctx, struct env_conn *conn)
{
    struct raw *raw = ctx;
    raw->conn = conn;
    env_conn_set(conn, &RAW_OPS, raw);
}

static inline void raw_free(struct raw *raw)
{
    env_loop_free(raw->loop);
    base_free(&base_alloc_libc, raw);
}

#endif
