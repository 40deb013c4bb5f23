/* fuzz_wire_peer.c - any bytes to a server, before and after a valid handshake. Byte 0 chooses: 0,
 * the rest is what a stranger sends; else a client that knows the key, or when it is odd the one to
 * join, does what the rest says, step by step. A stranger is never accepted, is refused exactly once and costs little; after a
 * handshake the end comes at most once. Nothing is left behind. */
#include "base/assert.h"
#include "wire/frame.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MS ((uint64_t)1000000)

enum step { RAW, FRAME, WAIT, WAIT_LONG, SERVER_SENDS, RECORDS_AGAIN, STEP_COUNT };

struct fuzz {
    struct base_alloc_track track;
    shoal_env *env;
    struct env_loop *home, *away;
    struct wire_key key;
    struct wire_server *server;
    struct wire_peer *peer;
    uint32_t accepted, refused, closed;
    struct env_conn *conn; /* the client's */
    unsigned char hello[WIRE_HELLO_SIZE], proof[WIRE_HELLO_SIZE];
    uint64_t seed;
    bool knows_key, proved;
};

/* --- the server --- */

static void message(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes,
                    size_t size)
{
    struct fuzz *f = ctx;
    shoal_assert(f->knows_key && peer == f->peer && f->closed == 0);
    shoal_assert((uintptr_t)bytes % 8 == 0 && size <= WIRE_MESSAGE_MAX);
    if (kind % 16 == 3)
        shoal_assert(wire_peer_send(peer, kind, bytes, size) == SHOAL_OK);
    if (kind % 16 == 4) {
        wire_peer_close(peer);
        f->peer = NULL;
    }
}

static void closed(void *ctx, struct wire_peer *peer, const shoal_err *why)
{
    struct fuzz *f = ctx;
    shoal_assert(peer == f->peer && why->code != SHOAL_OK && f->closed++ == 0);
    f->peer = NULL;
}

static void accept_peer(void *ctx, struct wire_peer *peer)
{
    static const struct wire_peer_ops OPS = {NULL, message, closed};
    struct fuzz *f = ctx;
    shoal_assert(f->knows_key && f->accepted++ == 0);
    shoal_assert(wire_peer_joins(peer) == f->key.joins);
    f->peer = peer;
    wire_peer_set(peer, &OPS, f);
}

static void refused(void *ctx, const char *address, const shoal_err *why)
{
    struct fuzz *f = ctx;
    shoal_assert(address[0] != '\0' && why->code != SHOAL_OK && f->refused++ == 0);
}

/* --- the client --- */

static void send_bytes(struct fuzz *f, const void *bytes, size_t size)
{
    if (f->conn != NULL && size > 0)
        shoal_assert(env_conn_send(f->conn, bytes, size) == SHOAL_OK);
}

static void on_opened(void *ctx, struct env_conn *conn)
{
    struct fuzz *f = ctx;
    struct wire_hello hello = {.kind = WIRE_HELLO, .role = WIRE_CLIENT, .joins = f->key.joins};
    (void)conn;
    wire_hello_format(&hello, f->hello);
    if (f->knows_key)
        send_bytes(f, f->hello, sizeof f->hello);
}

static void on_received(void *ctx, struct env_conn *conn, const void *bytes, size_t size)
{
    struct fuzz *f = ctx;
    struct wire_hello reply, proof = {.kind = WIRE_PROOF, .role = WIRE_CLIENT};
    (void)conn;
    if (!f->knows_key || f->proved || size != WIRE_HELLO_SIZE || !wire_hello_parse(bytes, &reply))
        return;
    f->proved = true;
    shoal_assert(wire_prove(&f->key, WIRE_CLIENT, proof.nonce, reply.nonce, proof.proof));
    shoal_assert(wire_seed(&f->key, WIRE_CLIENT, proof.nonce, reply.nonce, &f->seed));
    wire_hello_format(&proof, f->proof);
    send_bytes(f, f->proof, sizeof f->proof);
}

static void on_closed(void *ctx, struct env_conn *conn, const shoal_err *why)
{
    struct fuzz *f = ctx;
    (void)conn;
    (void)why;
    f->conn = NULL;
}

static void run(struct fuzz *f, uint64_t ms)
{
    (void)env_sim_run(f->env, env_now_ns(f->env) + ms * MS, NULL, NULL);
}

/* --- what the input says --- */

static void send_frame(struct fuzz *f, const uint8_t *data, size_t size)
{
    _Alignas(8) unsigned char frame[WIRE_FRAME_HEAD + 256] = {0};
    size_t payload = size - 3 < 256 ? size - 3 : 256;
    memcpy(frame + WIRE_FRAME_HEAD, data + 3, payload);
    payload = (payload + 7) & ~(size_t)7;
    wire_frame_seal(frame, (enum wire_frame_kind)(data[0] % 5), data[1], data[2], payload, f->seed);
    send_bytes(f, frame, WIRE_FRAME_HEAD + payload);
}

static void take_step(struct fuzz *f, enum step step, const uint8_t *data, size_t size)
{
    switch (step) {
    case RAW: send_bytes(f, data, size); break;
    case FRAME:
        if (size >= 3)
            send_frame(f, data, size);
        break;
    case WAIT: run(f, 5); break;
    case WAIT_LONG: run(f, 3000); break;
    case SERVER_SENDS:
        if (f->peer != NULL)
            shoal_assert(wire_peer_send(f->peer, 9, data, size) == SHOAL_OK);
        break;
    case RECORDS_AGAIN: send_bytes(f, size % 2 == 0 ? f->hello : f->proof, WIRE_HELLO_SIZE); break;
    case STEP_COUNT: break;
    }
}

static void follow(struct fuzz *f, const uint8_t *data, size_t size)
{
    while (size >= 2) {
        size_t part = data[1];
        enum step step = (enum step)(data[0] % STEP_COUNT);
        data += 2;
        size -= 2;
        if (part > size)
            part = size;
        take_step(f, step, data, part);
        data += part;
        size -= part;
    }
}

static void be_a_stranger(struct fuzz *f, const uint8_t *data, size_t size)
{
    size_t before = f->track.live_bytes;
    while (size > 0) {
        size_t part = 1 + data[0] % 64;
        if (part > size)
            part = size;
        send_bytes(f, data, part);
        run(f, 1);
        data += part;
        size -= part;
    }
    shoal_assert(f->track.live_bytes < before + 16384);
    run(f, 7000);
    shoal_assert(f->refused == 1 && f->accepted == 0 && f->conn == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct env_conn_ops OPS = {on_opened, on_received, NULL, on_closed};
    struct fuzz f = {.accepted = 0};
    if (size == 0)
        return 0;
    f.knows_key = data[0] != 0;
    base_alloc_track_init(&f.track, &base_alloc_libc);
    shoal_assert(env_sim_new(&f.track.alloc, 1, &f.env, NULL) == SHOAL_OK);
    f.env->alloc = &f.track.alloc;
    shoal_assert(env_loop_new(f.env, "home", &f.home, NULL) == SHOAL_OK);
    shoal_assert(env_loop_new(f.env, "away", &f.away, NULL) == SHOAL_OK);
    shoal_assert(wire_key_new(f.env, &f.key, NULL) == SHOAL_OK);
    shoal_assert(wire_server_new(f.home, "home:7", &f.key, NULL, accept_peer, refused, &f,
                                 &f.server, NULL) == SHOAL_OK);
    if (data[0] % 2 == 1)
        shoal_assert(wire_key_joining(&f.key, &f.key));
    shoal_assert(env_connect(f.away, "home:7", 1000 * MS, &OPS, &f, &f.conn, NULL) == SHOAL_OK);
    run(&f, 1);
    if (f.knows_key) {
        shoal_assert(f.accepted == 1);
        follow(&f, data + 1, size - 1);
        run(&f, 5000);
        shoal_assert(f.refused == 0);
    } else {
        be_a_stranger(&f, data + 1, size - 1);
    }
    wire_peer_close(f.peer);
    wire_server_free(f.server);
    env_loop_free(f.away);
    env_loop_free(f.home);
    shoal_env_free(f.env);
    shoal_assert(f.track.live_count == 0);
    return 0;
}
