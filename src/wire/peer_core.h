/* peer_core.h - what peer.c and meet.c share: a peer from inside. Private to src/wire. */
#ifndef WIRE_PEER_CORE_H
#define WIRE_PEER_CORE_H

#include "wire/boxes.h"
#include "wire/stream.h"

#define WIRE_MS ((uint64_t)1000000) /* in ns */

enum peer_state {
    PEER_OPENING, /* client: no connection yet */
    PEER_HELLO,   /* client: waits for a reply; server: for a hello */
    PEER_PROOF,   /* client: proved itself, waits for the first frame; server: for a proof */
    PEER_READY,
    PEER_LINGERS /* server: refused, but the other side shall read why */
};

struct wire_peer {
    struct env_loop *loop;
    const struct base_alloc *alloc;
    struct wire_stream *stream; /* NULL: closed */
    char *address;
    struct wire_peer_ops ops;
    void *ctx;
    struct wire_opts opts;
    enum wire_role role; /* ours */
    enum peer_state state;
    uint32_t depth; /* callbacks of it in progress */
    bool gone;      /* freed when the last of them ends */
    bool failed;    /* `closed` comes when the last of them ends, or from a timer */
    shoal_err why;

    /* handshake */
    struct wire_server *server;    /* NULL: not a stranger of one (any more) */
    struct wire_peer *prev, *next; /* its strangers */
    struct wire_key key;           /* wiped when it is proven */
    bool joins;                    /* what it was */
    unsigned char nonces[WIRE_SERVER + 1][WIRE_NONCE_SIZE]; /* by role */
    unsigned char said[WIRE_HELLO_SIZE];                    /* sent again after a silence */
    unsigned char heard[WIRE_PROOF + 1][WIRE_HELLO_SIZE];   /* by kind: copies are known by it */
    uint32_t record_count;

    /* both directions */
    struct wire_reader reader;
    struct wire_outbox outbox;
    struct wire_inbox inbox;
    struct env_timer flush, again, ack, life;
    uint64_t again_ns;    /* patience with what is not acknowledged */
    uint64_t again_seen;  /* acknowledged when `again` was last looked at */
    size_t unread_frames; /* received, not acknowledged to the sender */
    size_t unread_bytes;
    bool ack_now;
    bool heard_any; /* since the last beat of `life` */
    uint64_t silent_ns, beat_ns;
    struct wire_count count;
};

/* --- peer.c --- */

SHOAL_MUST_USE shoal_status wire_opts_check(const struct wire_opts *opts, shoal_err *err);
/* A stranger of `server`, which owns the stream from now on. NULL: out of memory, and `stream` is
 * still the caller's. */
struct wire_peer *wire_peer_accept(struct wire_server *server, struct env_loop *loop,
                                   struct wire_stream *stream, const struct wire_key *key,
                                   const struct wire_opts *opts);
/* Ends a stranger with words from outside its callbacks: its server hears of it. */
void wire_peer_refuse(struct wire_peer *peer, const shoal_err *why);

/* Inside its callbacks: it is over, and `closed` or the server hears of it when they end. */
void wire_peer_fail(struct wire_peer *peer, const shoal_err *why);
void wire_peer_fail_nomem(struct wire_peer *peer, const char *what);
void wire_peer_garbage(struct wire_peer *peer); /* for what no peer of ours says */
/* Straight to the connection. What it does not take is as good as lost on the way. */
void wire_peer_say(struct wire_peer *peer, const void *bytes, size_t size);
void wire_peer_set_ready(struct wire_peer *peer);
/* The timers: what is not answered, and the whole. Without memory the first is never heard of. */
void wire_peer_again_start(struct wire_peer *peer, uint64_t delay_ns);
SHOAL_MUST_USE bool wire_peer_life_start(struct wire_peer *peer, uint64_t delay_ns);

/* --- meet.c --- */

void wire_peer_hello(struct wire_peer *peer); /* the client begins */
void wire_peer_repeat(struct wire_peer *peer);
void wire_peer_take_record(struct wire_peer *peer, const struct wire_unit *unit);
/* Refuses a stranger of another version, or one that came with TLS, so that it can say so too. */
void wire_peer_tell(struct wire_peer *peer, const shoal_err *why);
/* Refuses a stranger who was answered, and closes it when it has had time to read that. */
void wire_peer_linger(struct wire_peer *peer, const shoal_err *why);

/* A stranger leaves its server's list. */
void wire_server_leave(struct wire_server *server, struct wire_peer *peer);
/* The program hears why; the stranger stays in the list. */
void wire_server_refused(struct wire_server *server, const char *address, const shoal_err *why);

#endif
