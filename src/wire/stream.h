/* stream.h - bytes between two processes, whatever carries them.
 *
 * A transport is a row: how to listen, to connect, to send. An address names it in front,
 * "tls://10.0.0.5:7000"; without a name it is plain TCP. So who knows where a job listens also
 * knows how to talk to it, and nothing that passes addresses on has to care. A server that listens
 * with one transport takes no other.
 *
 *   tcp   plain, of env/loop.h; also in a simulation (stream.c)
 *   tls   TLS 1.3 over the same, both sides known by the key (tls.c)
 *   ucx   whatever UCX finds fastest; only where it is built in (ucx.c)
 *
 * A stream belongs to who was given it, who closes it unless `closed` came. Callbacks come as those
 * of env_conn_ops do, never from inside a call; closing it inside one is allowed. Loop thread only.
 * Private to src/wire. Tests: tests/unit/wire/test_stream.c, test_tls.c. */
#ifndef WIRE_STREAM_H
#define WIRE_STREAM_H

#include "wire/peer.h"

struct wire_stream_ops {
    void (*opened)(void *ctx); /* connecting side only */
    void (*received)(void *ctx, const void *bytes, size_t size);
    void (*drained)(void *ctx);
    /* Nothing will come of it. The other side is being told why, so it should not be closed at once
     * by the accepting side; nothing but `closed` follows. */
    void (*refused)(void *ctx, const shoal_err *why);
    void (*closed)(void *ctx, const shoal_err *why); /* last call; it is gone */
};

/* Every transport's streams and ports begin with these. */
struct wire_stream {
    const struct wire_transport *transport;
};
struct wire_port {
    const struct wire_transport *transport;
};

/* What it needs to know of who listens or connects. */
struct wire_place {
    struct env_loop *loop;
    const char *address; /* without the transport's name */
    const struct wire_key *key;
};

struct wire_transport {
    const char *name;
    shoal_status (*listen)(const struct wire_place *place,
                           void (*accepted)(void *ctx, struct wire_stream *stream), void *ctx,
                           struct wire_port **out_port, shoal_err *err);
    const char *(*port_address)(const struct wire_port *port);
    void (*port_close)(struct wire_port *port);

    shoal_status (*connect)(const struct wire_place *place, uint64_t timeout_ns,
                            const struct wire_stream_ops *ops, void *ctx,
                            struct wire_stream **out_stream, shoal_err *err);
    void (*set)(struct wire_stream *stream, const struct wire_stream_ops *ops, void *ctx);
    shoal_status (*send)(struct wire_stream *stream, const void *bytes, size_t size);
    void (*into)(struct wire_stream *stream, void *bytes, size_t size); /* may be NULL */
    size_t (*queued)(const struct wire_stream *stream);
    const char *(*address)(const struct wire_stream *stream);
    void (*close)(struct wire_stream *stream);
};

extern const struct wire_transport wire_tcp, wire_tls;
extern const struct wire_transport wire_ucx; /* in builds with SHOAL_UCX */

/* An accepted stream is deaf until wire_stream_set. */
SHOAL_MUST_USE shoal_status
wire_stream_listen(struct env_loop *loop, const char *address, const struct wire_key *key,
                   void (*accepted)(void *ctx, struct wire_stream *stream), void *ctx,
                   struct wire_port **out_port, shoal_err *err);
/* With the real port and the transport's name, into `out`. */
void wire_port_address(const struct wire_port *port, char *out, size_t size);
void wire_port_close(struct wire_port *port); /* NULL is allowed */

/* `opened` or `closed` follows, or `refused` first. */
SHOAL_MUST_USE shoal_status wire_stream_connect(struct env_loop *loop, const char *address,
                                                const struct wire_key *key, uint64_t timeout_ns,
                                                const struct wire_stream_ops *ops, void *ctx,
                                                struct wire_stream **out_stream, shoal_err *err);

static inline void wire_stream_set(struct wire_stream *stream, const struct wire_stream_ops *ops,
                                   void *ctx)
{
    stream->transport->set(stream, ops, ctx);
}

/* As env_conn_send: all of it is taken, or none. */
SHOAL_MUST_USE static inline shoal_status wire_stream_send(struct wire_stream *stream,
                                                           const void *bytes, size_t size)
{
    return stream->transport->send(stream, bytes, size);
}

/* As env_conn_into: a wish. */
static inline void wire_stream_into(struct wire_stream *stream, void *bytes, size_t size)
{
    if (stream->transport->into != NULL)
        stream->transport->into(stream, bytes, size);
}

static inline size_t wire_stream_queued(const struct wire_stream *stream)
{
    return stream->transport->queued(stream);
}

/* Of the other side. */
static inline const char *wire_stream_address(const struct wire_stream *stream)
{
    return stream->transport->address(stream);
}

/* At once, no callback; NULL is allowed. */
static inline void wire_stream_close(struct wire_stream *stream)
{
    if (stream != NULL)
        stream->transport->close(stream);
}

#endif
