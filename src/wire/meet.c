/* meet.c - the first words of a peer, the handshake of auth.h as a state machine; and who comes in, strangers who
 * wait in a short list until they have proven the key.
 *
 * Records may come twice, or after later ones, or not at all, like everything on a bad network:
 * what the client said last it says again, a copy of what was heard before is known by its bytes
 * and answered as then, and anything else out of turn ends it. The client counts as in when the
 * first frame comes, which only a server that took its proof can seal; until then it sends no
 * frame, so none can overtake the proof.
 *
 * At most STRANGERS_MAX of them; when one more comes, the one that has waited longest goes. A flood
 * of connections that say nothing thus costs a bounded amount of memory and disturbs nobody who
 * answers in time.
 *
 * Tests: tests/unit/wire/test_peer.c, test_peer_faults.c. */
#include "base/assert.h"
#include "base/err.h"
#include "wire/peer_core.h"
#include <string.h>

enum {
    RECORDS_MAX = 1000 /* of one handshake, with all copies */,
    STRANGERS_MAX = 256,
    SERVER_ADDRESS_SIZE = 300
};
#define REPEAT_NS (200 * WIRE_MS)
#define LINGER_NS (1000 * WIRE_MS)

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

/* ---- the handshake ---- */

/* Both know the key: frames from now on. */
static bool begin(struct wire_peer *peer)
{
    enum wire_role other = peer->role == WIRE_CLIENT ? WIRE_SERVER : WIRE_CLIENT;
    const unsigned char *client = peer->nonces[WIRE_CLIENT], *server = peer->nonces[WIRE_SERVER];
    uint64_t seed = 0;
    bool ok = wire_seed(&peer->key, peer->role, client, server, &seed) &&
              wire_seed(&peer->key, other, client, server, &peer->reader.seed);
    peer->reader.open = ok;
    wire_key_wipe(&peer->key);
    if (ok)
        wire_outbox_start(&peer->outbox, seed);
    else
        wire_peer_fail_nomem(peer, "starting a connection");
    return ok;
}

static bool prove(struct wire_peer *peer, unsigned char out[WIRE_PROOF_SIZE])
{
    if (wire_prove(&peer->key, peer->role, peer->nonces[WIRE_CLIENT], peer->nonces[WIRE_SERVER],
                   out))
        return true;
    wire_peer_fail_nomem(peer, "proving the key");
    return false;
}

/* Sends a record of ours and keeps it for `again`. */
static void say(struct wire_peer *peer, const struct wire_hello *record)
{
    wire_hello_format(record, peer->said);
    wire_peer_say(peer, peer->said, sizeof peer->said);
}

static void deny(struct wire_peer *peer)
{
    shoal_err err = SHOAL_ERR_INIT;
    (void)base_err(&err, SHOAL_E_DENIED, "'%s' does not know this key", peer->address);
    wire_peer_fail(peer, &err);
}

static bool draw_nonce(struct wire_peer *peer)
{
    shoal_err err = SHOAL_ERR_INIT;
    if (env_random(env_loop_env(peer->loop), peer->nonces[peer->role], WIRE_NONCE_SIZE, &err) ==
        SHOAL_OK)
        return true;
    wire_peer_fail(peer, &err);
    return false;
}

static void answer_hello(struct wire_peer *peer, const struct wire_hello *hello)
{
    struct wire_hello reply = {.kind = WIRE_REPLY, .role = WIRE_SERVER};
    memcpy(peer->nonces[WIRE_CLIENT], hello->nonce, WIRE_NONCE_SIZE);
    if (hello->joins && !wire_key_joining(&peer->key, &peer->key)) {
        wire_peer_fail_nomem(peer, "proving the key");
        return;
    }
    peer->joins = hello->joins;
    if (!draw_nonce(peer) || !prove(peer, reply.proof))
        return;
    memcpy(reply.nonce, peer->nonces[WIRE_SERVER], WIRE_NONCE_SIZE);
    peer->state = PEER_PROOF;
    say(peer, &reply);
}

/* A server that does not know the key still gets our proof, which tells it nothing but that the
 * keys differ: so both sides can say the same. */
static void answer_reply(struct wire_peer *peer, const struct wire_hello *reply)
{
    struct wire_hello proof = {.kind = WIRE_PROOF, .role = WIRE_CLIENT};
    memcpy(peer->nonces[WIRE_SERVER], reply->nonce, WIRE_NONCE_SIZE);
    memcpy(proof.nonce, peer->nonces[WIRE_CLIENT], WIRE_NONCE_SIZE);
    bool known =
        wire_proven(&peer->key, WIRE_SERVER, peer->nonces[WIRE_CLIENT], reply->nonce, reply->proof);
    if (!prove(peer, proof.proof))
        return;
    say(peer, &proof);
    if (!known) {
        deny(peer);
        return;
    }
    peer->state = PEER_PROOF;
    wire_peer_again_start(peer, REPEAT_NS);
    (void)begin(peer);
}

static void answer_proof(struct wire_peer *peer, const struct wire_hello *proof)
{
    struct wire_server *server = peer->server;
    if (!wire_proven(&peer->key, WIRE_CLIENT, peer->nonces[WIRE_CLIENT], peer->nonces[WIRE_SERVER],
                     proof->proof)) {
        deny(peer);
        return;
    }
    if (!begin(peer))
        return;
    wire_peer_set_ready(peer);
    if (peer->failed)
        return;
    peer->ack_now = true; /* the first frame, which tells the client that it is in */
    wire_server_leave(server, peer);
    peer->server = NULL;
    server->accept(server->ctx, peer);
    if (!peer->gone && peer->ops.message == NULL)
        wire_peer_close(peer); /* nobody wants it */
}

/* A record: the one that is due, a copy of one that was, or nonsense. */
void wire_peer_take_record(struct wire_peer *peer, const struct wire_unit *unit)
{
    const struct wire_hello *hello = &unit->hello;
    unsigned char *heard = peer->heard[hello->kind];
    bool is_copy = memcmp(heard, unit->record, WIRE_HELLO_SIZE) == 0;
    if (hello->role == peer->role || ++peer->record_count > RECORDS_MAX) {
        wire_peer_garbage(peer);
        return;
    }
    if (is_copy) {
        if (peer->role == WIRE_SERVER && peer->state == PEER_PROOF)
            wire_peer_say(peer, peer->said, sizeof peer->said);
        peer->ack_now = peer->state == PEER_READY;
        return;
    }
    memcpy(heard, unit->record, WIRE_HELLO_SIZE);
    if (hello->kind == WIRE_HELLO && peer->state == PEER_HELLO)
        answer_hello(peer, hello);
    else if (hello->kind == WIRE_REPLY && peer->state == PEER_HELLO)
        answer_reply(peer, hello);
    else if (hello->kind == WIRE_PROOF && peer->state == PEER_PROOF)
        answer_proof(peer, hello);
    else
        wire_peer_garbage(peer);
}

void wire_peer_hello(struct wire_peer *peer)
{
    struct wire_hello hello = {.kind = WIRE_HELLO, .role = WIRE_CLIENT, .joins = peer->key.joins};
    peer->state = PEER_HELLO;
    memcpy(hello.nonce, peer->nonces[WIRE_CLIENT], WIRE_NONCE_SIZE);
    say(peer, &hello);
    wire_peer_again_start(peer, REPEAT_NS);
}

void wire_peer_repeat(struct wire_peer *peer)
{
    wire_peer_say(peer, peer->said, sizeof peer->said);
    peer->count.again++;
    wire_peer_again_start(peer, REPEAT_NS);
}

void wire_peer_tell(struct wire_peer *peer, const shoal_err *why)
{
    struct wire_hello reply = {.kind = WIRE_REPLY, .role = WIRE_SERVER};
    say(peer, &reply);
    wire_peer_linger(peer, why);
}

void wire_peer_linger(struct wire_peer *peer, const shoal_err *why)
{
    if (!wire_peer_life_start(peer, LINGER_NS)) {
        wire_peer_fail(peer, why);
        return;
    }
    peer->state = PEER_LINGERS;
    wire_server_refused(peer->server, peer->address, why);
}

/* ---- strangers ---- */

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
