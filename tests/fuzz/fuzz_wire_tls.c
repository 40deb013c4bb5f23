/* fuzz_wire_tls.c - any bytes to one who talks TLS. Byte 0 chooses: even, a stranger sends the rest
 * to a server, in pieces; odd, a server that is none of ours answers a client with it. Nobody is
 * ever let in, each is refused exactly once in words, and nothing is left behind. */
#include "base/assert.h"
#include "wire/peer.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MS ((uint64_t)1000000)

struct fuzz {
    struct base_alloc_track track;
    shoal_env *env;
    struct env_loop *home, *away;
    struct wire_server *server;
    struct wire_peer *peer;
    struct env_listener *listener;
    struct env_conn *conn; /* of who speaks the bytes */
    uint32_t refused, closed;
};

static void accept_peer(void *ctx, struct wire_peer *peer)
{
    (void)ctx;
    (void)peer;
    base_assert_failed("a stranger was let in", __FILE__, __LINE__);
}

static void refused(void *ctx, const char *address, const shoal_err *why)
{
    struct fuzz *f = ctx;
    shoal_assert(address[0] != '\0' && why->code != SHOAL_OK && why->message[0] != '\0');
    f->refused++;
}

static void ready(void *ctx, struct wire_peer *peer)
{
    (void)ctx;
    (void)peer;
    base_assert_failed("a stranger was believed", __FILE__, __LINE__);
}

static void message(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes,
                    size_t size)
{
    (void)kind;
    (void)bytes;
    (void)size;
    ready(ctx, peer);
}

static void closed(void *ctx, struct wire_peer *peer, const shoal_err *why)
{
    struct fuzz *f = ctx;
    shoal_assert(peer == f->peer && why->code != SHOAL_OK && why->message[0] != '\0');
    f->peer = NULL;
    f->closed++;
}

/* --- who speaks the bytes --- */

static void on_received(void *ctx, struct env_conn *conn, const void *bytes, size_t size)
{
    (void)ctx;
    (void)conn;
    (void)bytes;
    shoal_assert(size > 0);
}

static void on_closed(void *ctx, struct env_conn *conn, const shoal_err *why)
{
    struct fuzz *f = ctx;
    (void)conn;
    (void)why;
    f->conn = NULL;
}

static const struct env_conn_ops OPS = {NULL, on_received, NULL, on_closed};

static void on_accepted(void *ctx, struct env_conn *conn)
{
    struct fuzz *f = ctx;
    f->conn = conn;
    env_conn_set(conn, &OPS, f);
}

static void run(struct fuzz *f, uint64_t ms)
{
    (void)env_sim_run(f->env, env_now_ns(f->env) + ms * MS, NULL, NULL);
}

static void speak(struct fuzz *f, const uint8_t *data, size_t size)
{
    while (size > 0) {
        size_t part = 1 + data[0];
        if (part > size)
            part = size;
        if (f->conn != NULL)
            shoal_assert(env_conn_send(f->conn, data, part) == SHOAL_OK);
        run(f, 1);
        data += part;
        size -= part;
    }
    run(f, 8000);
}

static void be_a_client(struct fuzz *f, const struct wire_key *key)
{
    shoal_assert(wire_server_new(f->home, "tls://home:7", key, NULL, accept_peer, refused, f,
                                 &f->server, NULL) == SHOAL_OK);
    shoal_assert(env_connect(f->away, "home:7", 1000 * MS, &OPS, f, &f->conn, NULL) == SHOAL_OK);
}

static void be_a_server(struct fuzz *f, const struct wire_key *key)
{
    static const struct wire_peer_ops PEER_OPS = {ready, message, closed};
    shoal_assert(env_listen(f->away, "away:7", on_accepted, f, &f->listener, NULL) == SHOAL_OK);
    shoal_assert(wire_peer_connect(f->home, "tls://away:7", key, NULL, &PEER_OPS, f, &f->peer,
                                   NULL) == SHOAL_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct wire_key key = {.bytes = {7}};
    struct fuzz f = {.refused = 0};
    if (size == 0)
        return 0;
    base_alloc_track_init(&f.track, &base_alloc_libc);
    shoal_assert(env_sim_new(&f.track.alloc, 1, &f.env, NULL) == SHOAL_OK);
    f.env->alloc = &f.track.alloc;
    shoal_assert(env_loop_new(f.env, "home", &f.home, NULL) == SHOAL_OK);
    shoal_assert(env_loop_new(f.env, "away", &f.away, NULL) == SHOAL_OK);
    if (data[0] % 2 == 0)
        be_a_client(&f, &key);
    else
        be_a_server(&f, &key);
    run(&f, 1);
    speak(&f, data + 1, size - 1);
    shoal_assert(f.refused + f.closed == 1 && f.peer == NULL && f.conn == NULL);
    wire_server_free(f.server);
    env_loop_free(f.away);
    env_loop_free(f.home);
    shoal_env_free(f.env);
    shoal_assert(f.track.live_count == 0);
    return 0;
}
