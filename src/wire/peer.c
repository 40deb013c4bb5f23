/* peer.c - one end of a conversation: delivery in order, and signs of life. How it begins is in
 * meet.c.
 *
 * Reliability. Frames are numbered; each tells the highest number up to which all have come from
 * the other side. Acknowledgements ride on frames, or go alone after ACK_FRAMES, ACK_BYTES or
 * ACK_NS. What is not acknowledged is not simply sent again after a while, since on a real stream
 * nothing is ever lost and a busy receiver would be sent more of the same. The sender asks instead:
 * the question carries the last number sent before it, the answer repeats it beside what has come.
 * On a stream the question arrives behind all those frames, so the answer covers them; where it
 * does not, the frames between were lost, and only those are sent again. A lost question or answer
 * is asked again, after twice the time up to AGAIN_MAX_NS.
 *
 * Sending. Messages gather in the outbox and leave at the end of the callback in which they were
 * sent (a timer of 0 where that is not ours), or when a block is full. At most QUEUED_MAX bytes lie
 * in the connection's queue; the rest waits in the outbox, which keeps them anyway, and the frame
 * that is still open keeps growing.
 *
 * Signs of life. A timer beats twice in quiet_ms. Beats without a word from the other side are
 * added up, a late beat counts for two at most: a process that was itself stopped for a minute does
 * not blame the others. After quiet_ms of silence every beat asks; after dead_ms it is over. A
 * question waits behind the frame that is being sent, so who is in the middle of receiving one,
 * over a slow line, says a word at every beat without being asked.
 *
 * Lifetime. Every callback of the loop is held between enter() and leave(); closing or failing
 * inside marks the peer, and the last leave() reports and frees it. So no function here has to
 * expect its peer to vanish, but after each call to the program it must look at `gone` and
 * `failed`. Tests: tests/unit/wire/test_peer.c, test_peer_faults.c; tests/fuzz/fuzz_wire_peer.c. */
#include "wire/peer.h"
#include "base/assert.h"
#include "base/err.h"
#include "wire/peer_core.h"
#include <string.h>

enum {
    ACK_FRAMES = 64,
    ACK_BYTES = 1 << 20,
    QUEUED_MAX = 256 << 10,
    INTO_MIN = 16 << 10,  /* of a frame that is left */
    AGAIN_BYTES = 1 << 20 /* sent again for one answer */
};
#define ACK_NS       (20 * WIRE_MS)
#define AGAIN_NS     (200 * WIRE_MS)
#define AGAIN_MAX_NS (2000 * WIRE_MS)

static void on_life(void *ctx);
static void on_again(void *ctx);
static void on_ack(void *ctx);

/* --- the end --- */

static bool is_over(const struct wire_peer *peer)
{
    return peer->gone || peer->failed;
}

static void silence(struct wire_peer *peer)
{
    env_timer_stop(&peer->flush);
    env_timer_stop(&peer->again);
    env_timer_stop(&peer->ack);
    env_timer_stop(&peer->life);
    wire_stream_close(peer->stream);
    peer->stream = NULL;
}

static void destroy(struct wire_peer *peer)
{
    silence(peer);
    if (peer->server != NULL)
        wire_server_leave(peer->server, peer);
    wire_reader_fini(&peer->reader);
    wire_outbox_fini(&peer->outbox);
    wire_inbox_fini(&peer->inbox);
    wire_key_wipe(&peer->key);
    base_free(peer->alloc, peer->address);
    base_free(peer->alloc, peer);
}

/* Its last words, to whom it belongs. */
static void report(struct wire_peer *peer)
{
    struct wire_server *server = peer->server;
    peer->gone = true;
    if (server != NULL) {
        wire_server_leave(server, peer);
        peer->server = NULL;
        wire_server_refused(server, peer->address, &peer->why);
    } else if (peer->ops.closed != NULL) {
        peer->ops.closed(peer->ctx, peer, &peer->why);
    }
}

/* Inside a callback only: leave() says so. */
void wire_peer_fail(struct wire_peer *peer, const shoal_err *why)
{
    shoal_assert(peer->depth > 0);
    if (is_over(peer))
        return;
    peer->failed = true;
    peer->why = *why;
    silence(peer);
}

void wire_peer_fail_nomem(struct wire_peer *peer, const char *what)
{
    shoal_err err = SHOAL_ERR_INIT;
    (void)base_err_nomem(&err, what);
    wire_peer_fail(peer, &err);
}

static void enter(struct wire_peer *peer)
{
    peer->depth++;
}

static void talk(struct wire_peer *peer);

static void leave(struct wire_peer *peer)
{
    if (peer->depth == 1 && !is_over(peer))
        talk(peer);
    if (peer->depth == 1 && peer->failed && !peer->gone)
        report(peer);
    if (--peer->depth == 0 && peer->gone)
        destroy(peer);
}

void wire_peer_close(struct wire_peer *peer)
{
    if (peer == NULL || peer->gone)
        return;
    peer->gone = true;
    silence(peer);
    if (peer->depth == 0)
        destroy(peer);
}

/* --- timers --- */

/* Without memory for it, a later beat of `life` comes back to it, or hello_ms ends it. */
void wire_peer_again_start(struct wire_peer *peer, uint64_t delay_ns)
{
    (void)!env_timer_start(peer->loop, &peer->again, delay_ns, on_again, peer);
}

bool wire_peer_life_start(struct wire_peer *peer, uint64_t delay_ns)
{
    return env_timer_start(peer->loop, &peer->life, delay_ns, on_life, peer) == SHOAL_OK;
}

/* --- sending --- */

void wire_peer_say(struct wire_peer *peer, const void *bytes, size_t size)
{
    if (wire_stream_send(peer->stream, bytes, size) == SHOAL_OK)
        peer->count.sent_bytes += size;
}

/* To who does not read it is not said: as if it were lost, it is asked for again. So one who asks and
 * asks and reads nothing costs no more than QUEUED_MAX. */
static void send_control(struct wire_peer *peer, enum wire_frame_kind kind, uint64_t sequence)
{
    unsigned char frame[WIRE_FRAME_HEAD];
    struct wire_outbox *outbox = &peer->outbox;
    if (wire_stream_queued(peer->stream) > QUEUED_MAX)
        return;
    wire_frame_seal(frame, kind, sequence, outbox->receipt, 0, outbox->seed);
    outbox->told = outbox->receipt;
    peer->unread_frames = peer->unread_bytes = 0;
    peer->ack_now = false;
    wire_peer_say(peer, frame, sizeof frame);
}

static void ask(struct wire_peer *peer)
{
    send_control(peer, WIRE_ASK, peer->outbox.sent);
}

/* Hands the outbox to the connection as far as that takes it; with `all`, also the open frame. */
static void pump(struct wire_peer *peer, bool all)
{
    const unsigned char *bytes = NULL;
    size_t size = 0;
    if (peer->state != PEER_READY || peer->stream == NULL)
        return;
    while (wire_stream_queued(peer->stream) <= QUEUED_MAX) {
        if (all && !wire_outbox_waits(&peer->outbox))
            wire_outbox_seal(&peer->outbox);
        if (!wire_outbox_next(&peer->outbox, &bytes, &size))
            break;
        if (wire_stream_send(peer->stream, bytes, size) != SHOAL_OK)
            break; /* `again` comes back to it */
        wire_outbox_sent(&peer->outbox);
        peer->count.sent_bytes += size;
    }
    if (peer->again.place == 0 && wire_outbox_busy(&peer->outbox)) {
        peer->again_ns = AGAIN_NS;
        peer->again_seen = peer->outbox.acknowledged;
        wire_peer_again_start(peer, AGAIN_NS);
    }
}

/* The end of a callback: all that is to be said, and a receipt for what was heard. */
static void talk(struct wire_peer *peer)
{
    struct wire_outbox *outbox = &peer->outbox;
    if (peer->state != PEER_READY || peer->stream == NULL)
        return;
    pump(peer, true);
    if (outbox->told == outbox->receipt) {
        peer->unread_frames = peer->unread_bytes = 0;
        if (!peer->ack_now)
            return;
    }
    if (peer->ack_now || peer->unread_frames >= ACK_FRAMES || peer->unread_bytes >= ACK_BYTES)
        send_control(peer, WIRE_ACK, 0);
    else if (peer->ack.place == 0 &&
             env_timer_start(peer->loop, &peer->ack, ACK_NS, on_ack, peer) != SHOAL_OK)
        send_control(peer, WIRE_ACK, 0);
}

static void on_flush(void *ctx)
{
    struct wire_peer *peer = ctx;
    enter(peer);
    leave(peer);
}

static void on_ack(void *ctx)
{
    struct wire_peer *peer = ctx;
    enter(peer);
    peer->ack_now = peer->outbox.told != peer->outbox.receipt;
    leave(peer);
}

/* A message has been put: it leaves when a block is full, or with the callback's end. */
static void sent_one(struct wire_peer *peer)
{
    peer->count.sent_messages++;
    if (wire_outbox_waits(&peer->outbox))
        pump(peer, false);
    if (peer->depth == 0 && peer->flush.place == 0 && peer->state == PEER_READY &&
        env_timer_start(peer->loop, &peer->flush, 0, on_flush, peer) != SHOAL_OK)
        pump(peer, true);
}

shoal_status wire_peer_send2(struct wire_peer *peer, uint16_t kind, const void *head,
                             size_t head_size, const void *body, size_t body_size)
{
    if (head_size > WIRE_MESSAGE_MAX || body_size > WIRE_MESSAGE_MAX - head_size)
        return SHOAL_E_LIMIT;
    if (is_over(peer))
        return SHOAL_OK;
    shoal_status st = wire_outbox_put(&peer->outbox, kind, head, head_size, body, body_size);
    if (st == SHOAL_OK)
        sent_one(peer);
    return st;
}

shoal_status wire_peer_send_buf(struct wire_peer *peer, uint16_t kind, struct base_buf *buf)
{
    if (buf->size < WIRE_BUF_ROOM || buf->size - WIRE_BUF_ROOM > WIRE_MESSAGE_MAX)
        return SHOAL_E_LIMIT;
    if (is_over(peer)) {
        wire_buf_begin(buf);
        return SHOAL_OK;
    }
    shoal_status st = wire_outbox_put_buf(&peer->outbox, kind, buf);
    if (st == SHOAL_OK)
        sent_one(peer);
    return st;
}

shoal_status wire_peer_send(struct wire_peer *peer, uint16_t kind, const void *bytes, size_t size)
{
    return wire_peer_send2(peer, kind, bytes, size, NULL, 0);
}

/* --- what was lost --- */

static bool send_again(void *ctx, const unsigned char *bytes, size_t size)
{
    struct wire_peer *peer = ctx;
    if (wire_stream_send(peer->stream, bytes, size) != SHOAL_OK)
        return false;
    peer->count.sent_bytes += size;
    return true;
}

/* Nothing was acknowledged for a while: asks what has come. */
static void wonder(struct wire_peer *peer)
{
    if (!wire_outbox_busy(&peer->outbox))
        return;
    pump(peer, true);
    if (peer->outbox.acknowledged != peer->again_seen) {
        peer->again_ns = AGAIN_NS;
    } else {
        ask(peer);
        peer->again_ns = 2 * peer->again_ns < AGAIN_MAX_NS ? 2 * peer->again_ns : AGAIN_MAX_NS;
    }
    peer->again_seen = peer->outbox.acknowledged;
    wire_peer_again_start(peer, peer->again_ns);
}

static void on_again(void *ctx)
{
    struct wire_peer *peer = ctx;
    enter(peer);
    if (peer->state == PEER_READY)
        wonder(peer);
    else
        wire_peer_repeat(peer);
    leave(peer);
}

static void on_beat(struct wire_peer *peer)
{
    uint64_t beat = peer->opts.quiet_ms * WIRE_MS / 2;
    uint64_t now = env_now_ns(env_loop_env(peer->loop)), passed = now - peer->beat_ns;
    shoal_err err = SHOAL_ERR_INIT;
    peer->beat_ns = now;
    peer->silent_ns += passed < 2 * beat ? passed : 2 * beat;
    if (peer->heard_any)
        peer->silent_ns = 0;
    if (peer->heard_any && peer->reader.have > 0)
        peer->ack_now = true;
    peer->heard_any = false;
    if (peer->silent_ns >= peer->opts.dead_ms * WIRE_MS) {
        (void)base_err(&err, SHOAL_E_IO, "no word from '%s' for %g s", peer->address,
                       (double)peer->opts.dead_ms / 1000);
        wire_peer_fail(peer, &err);
        return;
    }
    if (peer->silent_ns >= peer->opts.quiet_ms * WIRE_MS)
        ask(peer);
    if (!wire_peer_life_start(peer, beat))
        wire_peer_fail_nomem(peer, "watching a connection");
}

static void on_life(void *ctx)
{
    struct wire_peer *peer = ctx;
    shoal_err err = SHOAL_ERR_INIT;
    enter(peer);
    if (peer->state == PEER_READY) {
        on_beat(peer);
    } else if (peer->state == PEER_LINGERS) {
        wire_peer_close(peer);
    } else {
        (void)base_err(&err, SHOAL_E_IO, "'%s' did not prove the key within %g s", peer->address,
                       (double)peer->opts.hello_ms / 1000);
        wire_peer_fail(peer, &err);
    }
    leave(peer);
}

/* --- frames --- */

void wire_peer_garbage(struct wire_peer *peer)
{
    shoal_err err = SHOAL_ERR_INIT;
    (void)base_err(&err, SHOAL_E_FORMAT, "'%s' broke the protocol", peer->address);
    wire_peer_fail(peer, &err);
}

static void deliver(struct wire_peer *peer, const struct wire_frame *frame)
{
    struct wire_message message;
    size_t offset = 0;
    while (!is_over(peer)) {
        shoal_status st = wire_message_next(frame, &offset, &message);
        if (st == SHOAL_END)
            return;
        if (st != SHOAL_OK) {
            wire_peer_garbage(peer);
            return;
        }
        peer->count.received_messages++;
        peer->ops.message(peer->ctx, peer, message.kind, message.bytes, message.size);
    }
}

static void take_messages(struct wire_peer *peer, const struct wire_frame *frame)
{
    struct wire_inbox *inbox = &peer->inbox;
    struct wire_early early;
    peer->unread_frames++;
    peer->unread_bytes += frame->size;
    if (!wire_inbox_due(inbox, frame->sequence, frame->payload, frame->size)) {
        peer->ack_now = true; /* its sender knows less than we do */
        return;
    }
    peer->outbox.receipt = inbox->next - 1;
    deliver(peer, frame);
    while (!is_over(peer) && wire_inbox_take(inbox, &early)) {
        const struct wire_frame kept = {WIRE_MESSAGES, 0, 0, early.bytes, early.size};
        peer->outbox.receipt = inbox->next - 1;
        deliver(peer, &kept);
        base_free(peer->alloc, early.bytes);
    }
}

static void take_frame(struct wire_peer *peer, const struct wire_frame *frame)
{
    if (!wire_outbox_acknowledge(&peer->outbox, frame->acknowledged)) {
        wire_peer_garbage(peer);
        return;
    }
    switch (frame->kind) {
    case WIRE_MESSAGES: take_messages(peer, frame); break;
    case WIRE_ACK: break;
    case WIRE_ASK: send_control(peer, WIRE_ANSWER, frame->sequence); break;
    case WIRE_ANSWER:
        if (frame->sequence > peer->outbox.sent)
            wire_peer_garbage(peer);
        else if (frame->sequence > peer->outbox.acknowledged)
            peer->count.again +=
                wire_outbox_again(&peer->outbox, frame->sequence, AGAIN_BYTES, send_again, peer);
        break;
    }
}

/* --- the connection's callbacks --- */

void wire_peer_set_ready(struct wire_peer *peer)
{
    uint64_t beat = peer->opts.quiet_ms * WIRE_MS / 2;
    peer->state = PEER_READY;
    peer->heard_any = true;
    peer->beat_ns = env_now_ns(env_loop_env(peer->loop));
    env_timer_stop(&peer->again);
    if (!wire_peer_life_start(peer, beat))
        wire_peer_fail_nomem(peer, "watching a connection");
}

static void take_unit(struct wire_peer *peer, const struct wire_unit *unit)
{
    if (unit->is_hello) {
        wire_peer_take_record(peer, unit);
        return;
    }
    if (peer->state == PEER_PROOF) { /* the client's: the server let us in */
        wire_peer_set_ready(peer);
        if (!is_over(peer) && peer->ops.ready != NULL)
            peer->ops.ready(peer->ctx, peer);
    }
    if (!is_over(peer))
        take_frame(peer, &unit->frame);
}

/* The rest of a large frame comes straight to where it belongs. */
static void ask_into_place(struct wire_peer *peer)
{
    unsigned char *at = NULL;
    size_t size = wire_reader_room(&peer->reader, &at);
    if (size >= INTO_MIN && !is_over(peer) && peer->stream != NULL)
        wire_stream_into(peer->stream, at, size);
}

static void on_received(void *ctx, const void *bytes, size_t size)
{
    struct wire_peer *peer = ctx;
    const unsigned char *at = bytes;
    struct wire_unit unit;
    shoal_err err = SHOAL_ERR_INIT;
    enter(peer);
    peer->heard_any = true;
    peer->count.received_bytes += size;
    while (!is_over(peer) && peer->state != PEER_LINGERS) {
        shoal_status st = wire_reader_next(&peer->reader, peer->address, &at, &size, &unit, &err);
        if (st == SHOAL_AGAIN)
            break;
        if (st == SHOAL_OK)
            take_unit(peer, &unit);
        else if (wire_reader_answers(&peer->reader) && peer->server != NULL)
            wire_peer_tell(peer, &err);
        else
            wire_peer_fail(peer, &err);
    }
    ask_into_place(peer);
    leave(peer);
}

static void on_opened(void *ctx)
{
    struct wire_peer *peer = ctx;
    enter(peer);
    if (wire_peer_life_start(peer, peer->opts.hello_ms * WIRE_MS))
        wire_peer_hello(peer);
    else
        wire_peer_fail_nomem(peer, "connecting");
    leave(peer);
}

static void on_drained(void *ctx)
{
    struct wire_peer *peer = ctx;
    enter(peer);
    leave(peer);
}

/* A server lets who came read why; a client has read it. */
static void on_refused(void *ctx, const shoal_err *why)
{
    struct wire_peer *peer = ctx;
    enter(peer);
    if (peer->server != NULL)
        wire_peer_linger(peer, why);
    else
        wire_peer_fail(peer, why);
    leave(peer);
}

static void on_closed(void *ctx, const shoal_err *why)
{
    struct wire_peer *peer = ctx;
    shoal_err err = *why;
    enter(peer);
    peer->stream = NULL;
    if (peer->state == PEER_LINGERS) {
        wire_peer_close(peer);
    } else {
        if (peer->state == PEER_HELLO || peer->state == PEER_PROOF)
            (void)base_err(&err, SHOAL_E_IO, "'%s' closed the connection before it proved the key",
                           peer->address);
        wire_peer_fail(peer, &err);
    }
    leave(peer);
}

static const struct wire_stream_ops STREAM_OPS = {on_opened, on_received, on_drained, on_refused,
                                                  on_closed};

/* --- birth --- */

static const uint64_t MOST_MS = (uint64_t)365 * 86400 * 1000;

static bool opts_are_sound(const struct wire_opts *opts)
{
    return opts->quiet_ms >= 2 && opts->quiet_ms < opts->dead_ms && opts->dead_ms <= MOST_MS &&
           opts->hello_ms > 0 && opts->hello_ms <= MOST_MS && opts->queue_max > 0;
}

void wire_peer_set_patience(struct wire_peer *peer, uint64_t dead_ms)
{
    uint64_t least = 2 * peer->opts.quiet_ms;

    peer->opts.dead_ms = dead_ms < least ? least : dead_ms > MOST_MS ? MOST_MS : dead_ms;
}

void wire_peer_set_queue_max(struct wire_peer *peer, size_t bytes_max)
{
    peer->outbox.size_max = bytes_max;
}

shoal_status wire_opts_check(const struct wire_opts *opts, shoal_err *err)
{
    if (!opts_are_sound(opts))
        return base_err(err, SHOAL_E_INVAL,
                        "a peer's times must be above 0, and 'dead' after 'quiet'");
    return SHOAL_OK;
}

static struct wire_peer *peer_new(struct env_loop *loop, const char *address, enum wire_role role,
                                  const struct wire_key *key, const struct wire_opts *opts)
{
    const struct base_alloc *alloc = env_alloc(env_loop_env(loop));
    struct wire_peer *peer = base_calloc(alloc, 1, sizeof *peer);
    if (peer == NULL)
        return NULL;
    peer->loop = loop;
    peer->alloc = alloc;
    peer->role = role;
    peer->opts = *opts;
    peer->key = *key;
    wire_reader_init(&peer->reader, alloc);
    wire_outbox_init(&peer->outbox, alloc, opts->queue_max);
    wire_inbox_init(&peer->inbox, alloc);
    peer->address = base_strdup(alloc, address);
    if (peer->address == NULL) {
        destroy(peer);
        return NULL;
    }
    return peer;
}

shoal_status wire_peer_connect(struct env_loop *loop, const char *address,
                               const struct wire_key *key, const struct wire_opts *opts,
                               const struct wire_peer_ops *ops, void *ctx,
                               struct wire_peer **out_peer, shoal_err *err)
{
    const struct wire_opts defaults = WIRE_OPTS_INIT;
    if (opts == NULL)
        opts = &defaults;
    if (ops->message == NULL || ops->closed == NULL)
        return base_err(err, SHOAL_E_INVAL, "a peer needs 'message' and 'closed'");
    shoal_status st = wire_opts_check(opts, err);
    if (st != SHOAL_OK)
        return st;
    struct wire_peer *peer = peer_new(loop, address, WIRE_CLIENT, key, opts);
    if (peer == NULL)
        return base_err_nomem(err, "connecting");
    peer->joins = key->joins;
    wire_peer_set(peer, ops, ctx);
    st = env_random(env_loop_env(loop), peer->nonces[WIRE_CLIENT], WIRE_NONCE_SIZE, err);
    if (st == SHOAL_OK)
        st = wire_stream_connect(loop, address, key, opts->hello_ms * WIRE_MS, &STREAM_OPS, peer,
                                 &peer->stream, err);
    if (st != SHOAL_OK) {
        destroy(peer);
        return st;
    }
    *out_peer = peer;
    return SHOAL_OK;
}

struct wire_peer *wire_peer_accept(struct wire_server *server, struct env_loop *loop,
                                   struct wire_stream *stream, const struct wire_key *key,
                                   const struct wire_opts *opts)
{
    struct wire_peer *peer = peer_new(loop, wire_stream_address(stream), WIRE_SERVER, key, opts);
    if (peer == NULL)
        return NULL;
    if (!wire_peer_life_start(peer, opts->hello_ms * WIRE_MS)) {
        destroy(peer);
        return NULL;
    }
    peer->state = PEER_HELLO;
    peer->server = server;
    peer->stream = stream;
    wire_stream_set(stream, &STREAM_OPS, peer);
    return peer;
}

void wire_peer_refuse(struct wire_peer *peer, const shoal_err *why)
{
    enter(peer);
    if (peer->state == PEER_LINGERS)
        wire_peer_close(peer); /* that was told already */
    else
        wire_peer_fail(peer, why);
    leave(peer);
}

void wire_peer_set(struct wire_peer *peer, const struct wire_peer_ops *ops, void *ctx)
{
    peer->ops = *ops;
    peer->ctx = ctx;
}

const char *wire_peer_address(const struct wire_peer *peer)
{
    return peer->address;
}

bool wire_peer_joins(const struct wire_peer *peer)
{
    return peer->joins;
}

struct wire_count wire_peer_count(const struct wire_peer *peer)
{
    return peer->count;
}

size_t wire_peer_waiting(const struct wire_peer *peer)
{
    return peer->outbox.kept;
}
