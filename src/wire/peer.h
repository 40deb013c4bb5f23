/* peer.h - messages between processes that know one key: in order, each exactly once, or not at
 * all.
 *
 * Nothing that a stranger sends is parsed beyond a hello of fixed size: both sides prove that they
 * know the key (HMAC-SHA-256 over both nonces, the version and the role), then frames flow. A frame
 * is length, version, kind, sequence number, acknowledgement, checksum (XXH3-64), payload. Frames
 * are kept until acknowledged; a sender that waits too long asks, and sends again what was lost;
 * duplicates are dropped and early ones wait (bounded): a network that loses, repeats or reorders
 * chunks is a slow one. A peer that is silent for dead_ms though asked is closed with a text that
 * says so. A wrong key, an old version or garbage closes the connection, reports it once to
 * `refused` and costs nothing else.
 *
 * An address may begin with a transport: "tls://HOST:PORT" encrypts all of it (see stream.h). A
 * server takes those who come with its transport and tells the others. Loop thread only. Tests:
 * tests/unit/wire/. */
#ifndef WIRE_PEER_H
#define WIRE_PEER_H

#include "base/buf.h"
#include "env/loop.h"

enum { WIRE_KEY_SIZE = 32, WIRE_VERSION = 1 };
enum { WIRE_MESSAGE_MAX = 64 << 20 }; /* larger things are sent in parts */

/* A server has a key and, derived from it, one for those who may do less: who joins a job and must
 * not command it. It takes both, and wire_peer_joins tells which one a peer has proven. As text the two
 * look the same: who has it knows which it is. */
struct wire_key {
    unsigned char bytes[WIRE_KEY_SIZE];
    bool joins; /* it is the derived one */
};
/* The key for those who join. One way: it does not lead back. False when the library refuses to
 * compute it; out is then not set. */
SHOAL_MUST_USE bool wire_key_joining(const struct wire_key *key, struct wire_key *out);
/* From the real env's randomness, or the simulated env's seed. */
SHOAL_MUST_USE shoal_status wire_key_new(shoal_env *env, struct wire_key *out, shoal_err *err);
void wire_key_format(const struct wire_key *key, char out_text[2 * WIRE_KEY_SIZE + 1]);
/* Hexadecimal digits, as formatted; spaces and line ends around them are left out. */
SHOAL_MUST_USE shoal_status wire_key_parse(const char *text, size_t size, struct wire_key *out,
                                           shoal_err *err);
/* From a file with nothing else in it, which only its owner may read; "-" is standard input. */
SHOAL_MUST_USE shoal_status wire_key_load(shoal_env *env, const char *path, struct wire_key *out,
                                          shoal_err *err);
void wire_key_wipe(struct wire_key *key); /* not left to lie in memory */
void wire_wipe(void *bytes, size_t size); /* the same for its digits */

enum { WIRE_ADDRESS_SIZE = 300 };

/* An address as options say it, into `out`: "tls://" is put in front where `tls` is set. SHOAL_E_INVAL in words
 * when it names another transport, is longer than any address, or does not end in a port. Any thread. */
SHOAL_MUST_USE shoal_status wire_address(const char *address, bool tls, char out[WIRE_ADDRESS_SIZE],
                                         shoal_err *err);
/* Whether others can read what passes there: it is beyond this machine and not encrypted. For one that
 * wire_address took. Any thread. */
bool wire_address_is_open(const char *address);

struct wire_peer;
struct wire_server;

struct wire_peer_ops {
    /* The key is proven on both sides. Connecting side only; may be NULL. */
    void (*ready)(void *ctx, struct wire_peer *peer);
    /* `bytes` is aligned to 8 and valid during the call. */
    void (*message)(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes,
                    size_t size);
    /* Last call; the peer is gone after it. */
    void (*closed)(void *ctx, struct wire_peer *peer, const shoal_err *why);
};

struct wire_opts {
    uint64_t quiet_ms; /* asks for a sign of life after this silence; 1000 */
    uint64_t dead_ms;  /* gives up after this one; 10000 */
    uint64_t hello_ms; /* for the whole handshake; 5000 */
    size_t queue_max;  /* bytes that may wait to be acknowledged; 1 GiB */
};
/* NULL for these. */
#define WIRE_OPTS_INIT                     \
    {                                      \
        1000, 10000, 5000, (size_t)1 << 30 \
    }

/* `accept` runs for each peer that proved the key; it calls wire_peer_set there. `refused` may be
 * NULL: why and whom. */
SHOAL_MUST_USE shoal_status
wire_server_new(struct env_loop *loop, const char *address, const struct wire_key *key,
                const struct wire_opts *opts, void (*accept)(void *ctx, struct wire_peer *peer),
                void (*refused)(void *ctx, const char *address, const shoal_err *why), void *ctx,
                struct wire_server **out_server, shoal_err *err);
/* With the transport in front, where it is not plain TCP, and the real port. */
const char *wire_server_address(const struct wire_server *server);
void wire_server_free(struct wire_server *server); /* peers stay; NULL is allowed */

/* `ready` or `closed` follows. */
SHOAL_MUST_USE shoal_status wire_peer_connect(struct env_loop *loop, const char *address,
                                              const struct wire_key *key,
                                              const struct wire_opts *opts,
                                              const struct wire_peer_ops *ops, void *ctx,
                                              struct wire_peer **out_peer, shoal_err *err);
void wire_peer_set(struct wire_peer *peer, const struct wire_peer_ops *ops, void *ctx);
/* In place of the dead_ms that it was made with; not below twice its quiet_ms, nor above a year. */
void wire_peer_set_patience(struct wire_peer *peer, uint64_t dead_ms);
/* In place of the queue_max that it was made with; what waits already stays. */
void wire_peer_set_queue_max(struct wire_peer *peer, size_t bytes_max);
const char *wire_peer_address(const struct wire_peer *peer);
bool wire_peer_joins(const struct wire_peer *peer); /* it has proven the derived key only */
/* A message of up to WIRE_MESSAGE_MAX bytes; small ones of one callback share a frame's system
 * call. SHOAL_E_LIMIT: too much is waiting. A peer that is being closed takes and drops it. */
SHOAL_MUST_USE shoal_status wire_peer_send(struct wire_peer *peer, uint16_t kind, const void *bytes,
                                           size_t size);
/* The same from two parts, so that a header and a body need no copy of ours. */
SHOAL_MUST_USE shoal_status wire_peer_send2(struct wire_peer *peer, uint16_t kind, const void *head,
                                            size_t head_size, const void *body, size_t body_size);
/* The same from a buffer of env's allocator, whose memory it takes: not a byte is copied. The
 * message is what was appended since wire_buf_begin, which runs again inside, on other memory. */
enum { WIRE_BUF_ROOM = 48 };
void wire_buf_begin(struct base_buf *buf);
SHOAL_MUST_USE shoal_status wire_peer_send_buf(struct wire_peer *peer, uint16_t kind,
                                               struct base_buf *buf);
void wire_peer_close(struct wire_peer *peer); /* at once, no callback; NULL is allowed */
/* Bytes sent and received, with frames, since it was made. */
struct wire_count {
    uint64_t sent_bytes, received_bytes, sent_messages, received_messages, again;
};
struct wire_count wire_peer_count(const struct wire_peer *peer);
/* Bytes that the other side has not acknowledged, or that are not even sent: who has much to say
 * asks before saying more. */
size_t wire_peer_waiting(const struct wire_peer *peer);

#endif
