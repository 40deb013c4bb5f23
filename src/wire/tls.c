/* tls.c - a transport that nobody on the line can read or change: TLS 1.3 from OpenSSL.
 *
 * There are no certificates. Both sides derive a secret from the job's key and use it as an
 * external pre-shared key together with an ephemeral Diffie-Hellman exchange: who does not know the
 * key neither gets in nor can stand in the middle, and who learns it later cannot read what was
 * said before. Nothing is left to choose, so nothing can be talked down: one version, one cipher
 * suite, no tickets, no early data, no session without the secret (a server with a certificate is
 * refused: we trust no issuer). The handshake of auth.h then runs inside, unchanged.
 *
 * OpenSSL never sees a socket. What env received goes into one memory BIO, what it wants to send is
 * taken out of another after each step; both are empty between steps but for a part of one record.
 * What is sent is sealed in parts of PART_SIZE, so the second holds little more than that.
 *
 * The first byte tells who came without TLS, before OpenSSL sees any of it: it is told so in an
 * alert, which the reader of frames knows for what it is. The other way round a plain server
 * answers a client of ours with a record of its own, whose first byte is known here.
 *
 * OpenSSL takes its memory and its randomness from where it wants: here a simulation is not the
 * same byte for byte, but the lengths and so the order of events are. Loop thread only.
 * Tests: tests/unit/wire/test_tls.c, test_peer_real.c; tests/fuzz/fuzz_wire_tls.c. */
#include "wire/stream.h"
#include "base/assert.h"
#include "base/err.h"
#include "wire/frame.h"
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <string.h>

enum { PART_SIZE = 64 << 10, BUFFER_SIZE = 64 << 10 };

static const unsigned char SUITE[] = {0x13, 0x01}; /* TLS_AES_128_GCM_SHA256 */
/* Which of the keys (see wire_key_joining): [joins]. */
static const char *const IDENTITY[] = {"shoal wire", "shoal join"};

/* What the connections of one server share, or what one client has. */
struct tls_side {
    const struct base_alloc *alloc;
    size_t refs;
    SSL_CTX *context;
    unsigned char secret[2][WIRE_SECRET_SIZE];     /* [joins]; a client has one of them */
    bool joins;                                    /* the client's */
    _Alignas(8) unsigned char buffer[BUFFER_SIZE]; /* what was just opened; one at a time */
};

enum tls_state {
    TLS_GREETS, /* the handshake of TLS */
    TLS_OPEN,
    TLS_OVER /* refused or broken: what comes is dropped until it is closed */
};

struct tls_stream {
    struct wire_stream stream; /* first */
    struct tls_side *side;
    struct env_loop *loop;
    struct env_conn *conn; /* NULL: closed */
    SSL *ssl;
    BIO *in, *out; /* the SSL's */
    const struct wire_stream_ops *ops;
    void *ctx;
    enum tls_state state;
    bool is_server, heard, gone;
    uint32_t busy; /* callbacks in progress: the last one frees it when it is gone */
    uint64_t timeout_ns;
    struct env_timer timer; /* greeting; or a failure that is told later */
    shoal_err why;
};

struct tls_port {
    struct wire_port port; /* first */
    struct env_loop *loop;
    struct env_listener *listener;
    struct tls_side *side;
    void (*accepted)(void *ctx, struct wire_stream *stream);
    void *ctx;
};

/* --- the secret --- */

static SSL_SESSION *session_new(SSL *ssl, bool joins)
{
    const struct tls_side *side = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, SUITE);
    SSL_SESSION *session = SSL_SESSION_new();
    if (session != NULL && cipher != NULL &&
        SSL_SESSION_set1_master_key(session, side->secret[joins], WIRE_SECRET_SIZE) == 1 &&
        SSL_SESSION_set_cipher(session, cipher) == 1 &&
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
        return session;
    SSL_SESSION_free(session);
    return NULL;
}

static int use_session(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *id_size,
                       SSL_SESSION **out_session)
{
    const struct tls_side *side = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    *out_session = NULL;
    *id = NULL;
    *id_size = 0;
    if (md != NULL && EVP_MD_get_type(md) != NID_sha256)
        return 1; /* nothing of ours fits: refused by the rest */
    *out_session = session_new(ssl, side->joins);
    *id = (const unsigned char *)IDENTITY[side->joins];
    *id_size = strlen(IDENTITY[side->joins]);
    return *out_session != NULL;
}

static int find_session(SSL *ssl, const unsigned char *id, size_t id_size,
                        SSL_SESSION **out_session)
{
    *out_session = NULL;
    for (int joins = 0; joins <= 1; joins++) {
        if (id_size != strlen(IDENTITY[joins]) || memcmp(id, IDENTITY[joins], id_size) != 0)
            continue;
        *out_session = session_new(ssl, joins != 0);
        return *out_session != NULL;
    }
    return 1;
}

/* --- sides --- */

static void side_unref(struct tls_side *side)
{
    if (side == NULL || --side->refs > 0)
        return;
    SSL_CTX_free(side->context);
    OPENSSL_cleanse(side->secret, sizeof side->secret);
    OPENSSL_cleanse(side->buffer, sizeof side->buffer);
    base_free(side->alloc, side);
}

/* One version, one suite, and only what the secret opens. */
static bool restrict_to_ours(SSL_CTX *context, bool is_server)
{
    if (SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") != 1 ||
        SSL_CTX_set1_groups_list(context, "X25519:P-256") != 1 ||
        SSL_CTX_set_num_tickets(context, 0) != 1)
        return false;
    (void)SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
    (void)SSL_CTX_clear_options(context, SSL_OP_ALLOW_NO_DHE_KEX);
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_verify(context, is_server ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_psk_use_session_callback(context, use_session);
    SSL_CTX_set_psk_find_session_callback(context, find_session);
    return true;
}

/* Of the key, and at a server of the derived one too. */
static bool side_secrets(struct tls_side *side, const struct wire_key *key, bool is_server)
{
    struct wire_key joining;
    side->joins = key->joins;
    if (!wire_secret(key, side->secret[key->joins]))
        return false;
    if (!is_server || key->joins)
        return true;
    bool ok = wire_key_joining(key, &joining) && wire_secret(&joining, side->secret[1]);
    wire_key_wipe(&joining);
    return ok;
}

static struct tls_side *side_new(const struct wire_place *place, bool is_server)
{
    const struct base_alloc *alloc = env_alloc(env_loop_env(place->loop));
    struct tls_side *side = base_calloc(alloc, 1, sizeof *side);
    if (side == NULL)
        return NULL;
    side->alloc = alloc;
    side->refs = 1;
    side->context = SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method());
    if (side->context == NULL || !side_secrets(side, place->key, is_server) ||
        SSL_CTX_set_app_data(side->context, side) != 1 ||
        !restrict_to_ours(side->context, is_server)) {
        side_unref(side);
        return NULL;
    }
    return side;
}

/* --- the end of a stream --- */

static void destroy(struct tls_stream *tls)
{
    const struct base_alloc *alloc = tls->side->alloc;
    SSL_free(tls->ssl);
    side_unref(tls->side);
    base_free(alloc, tls);
}

static void unref(struct tls_stream *tls)
{
    if (--tls->busy == 0 && tls->gone)
        destroy(tls);
}

static void tls_close(struct wire_stream *stream)
{
    struct tls_stream *tls = (struct tls_stream *)stream;
    env_timer_stop(&tls->timer);
    env_conn_close(tls->conn);
    tls->conn = NULL;
    tls->state = TLS_OVER;
    tls->gone = true;
    tls->busy++;
    unref(tls);
}

/* Inside a callback: the last one of its user. */
static void end(struct tls_stream *tls, const shoal_err *why)
{
    const shoal_err copy = *why;
    tls_close(&tls->stream);
    tls->ops->closed(tls->ctx, &copy);
}

/* Inside a callback: the connection stays, so that the other side reads what was said. */
static void refuse(struct tls_stream *tls, const shoal_err *why)
{
    env_timer_stop(&tls->timer);
    tls->state = TLS_OVER;
    tls->ops->refused(tls->ctx, why);
}

static void on_failure(void *ctx)
{
    struct tls_stream *tls = ctx;
    tls->busy++;
    end(tls, &tls->why);
    unref(tls);
}

/* From inside a call. Without memory for a timer its user finds it silent, and gives it up. */
static void end_later(struct tls_stream *tls, const shoal_err *why)
{
    tls->state = TLS_OVER;
    tls->why = *why;
    (void)!env_timer_start(tls->loop, &tls->timer, 0, on_failure, tls);
}

/* --- what went wrong --- */

static void say_plain(const struct tls_stream *tls, shoal_err *err)
{
    const char *address = env_conn_address(tls->conn);
    (void)base_err(err, SHOAL_E_DENIED, "'%s' speaks without TLS, this side only with it", address);
    if (!tls->is_server)
        base_err_hint(err, "start the job with --tls, or join it without to be read by everyone");
}

static bool is_about_the_key(int reason)
{
    return reason == SSL_R_BINDER_DOES_NOT_VERIFY || reason == SSL_R_BAD_PSK ||
           reason == SSL_AD_REASON_OFFSET + SSL_AD_ILLEGAL_PARAMETER ||
           reason == SSL_AD_REASON_OFFSET + SSL_AD_DECRYPT_ERROR ||
           reason == SSL_AD_REASON_OFFSET + SSL_AD_UNKNOWN_PSK_IDENTITY;
}

static bool is_about_the_version(int reason)
{
    return reason == SSL_R_UNSUPPORTED_PROTOCOL || reason == SSL_R_VERSION_TOO_LOW ||
           reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_WRONG_SSL_VERSION ||
           reason == SSL_AD_REASON_OFFSET + SSL_AD_PROTOCOL_VERSION;
}

static void say_failed(const struct tls_stream *tls, shoal_err *err)
{
    const char *address = env_conn_address(tls->conn);
    unsigned long code = ERR_peek_error();
    const char *text = ERR_reason_error_string(code);
    int reason = ERR_GET_REASON(code);
    if (is_about_the_key(reason))
        (void)base_err(err, SHOAL_E_DENIED, "'%s' does not know this key", address);
    else if (is_about_the_version(reason))
        (void)base_err(err, SHOAL_E_FORMAT, "'%s' speaks a TLS older than 1.3", address);
    else
        (void)base_err(err, SHOAL_E_FORMAT, "TLS with '%s' failed: %s", address,
                       text != NULL ? text : "for no reason that it tells");
}

/* --- steps --- */

/* What OpenSSL wants to say goes out. False when there is no memory for it: the stream has a
 * hole. */
static bool flush(struct tls_stream *tls)
{
    char *bytes = NULL;
    long size = BIO_get_mem_data(tls->out, &bytes);
    if (size <= 0)
        return true;
    shoal_status st = env_conn_send(tls->conn, bytes, (size_t)size);
    (void)BIO_reset(tls->out);
    return st == SHOAL_OK || st == SHOAL_E_IO; /* of a broken one `closed` comes */
}

static void out_of_memory(struct tls_stream *tls)
{
    shoal_err err = SHOAL_ERR_INIT;
    (void)base_err_nomem(&err, "talking TLS");
    end(tls, &err);
}

/* A session without the secret is none, whatever OpenSSL thinks of it. */
static void greeted(struct tls_stream *tls)
{
    shoal_err err = SHOAL_ERR_INIT;
    if (SSL_session_reused(tls->ssl) != 1) {
        (void)base_err(&err, SHOAL_E_DENIED, "'%s' does not know this key",
                       env_conn_address(tls->conn));
        refuse(tls, &err);
        return;
    }
    env_timer_stop(&tls->timer);
    (void)SSL_clear_mode(tls->ssl, SSL_MODE_RELEASE_BUFFERS); /* of strangers only */
    tls->state = TLS_OPEN;
    if (!tls->is_server)
        tls->ops->opened(tls->ctx);
}

static void greet(struct tls_stream *tls)
{
    shoal_err err = SHOAL_ERR_INIT;
    ERR_clear_error();
    int rc = SSL_do_handshake(tls->ssl);
    int problem = rc == 1 ? SSL_ERROR_NONE : SSL_get_error(tls->ssl, rc);
    if (problem != SSL_ERROR_NONE && problem != SSL_ERROR_WANT_READ)
        say_failed(tls, &err);
    if (!flush(tls))
        out_of_memory(tls);
    else if (problem == SSL_ERROR_NONE)
        greeted(tls);
    else if (problem != SSL_ERROR_WANT_READ)
        refuse(tls, &err);
}

/* Opens records into the buffer until it is full or there is no whole one; SSL_ERROR_NONE or why
 * there are no more. */
static int open_records(struct tls_stream *tls, size_t *out_size)
{
    size_t have = 0, got = 0;
    int problem = SSL_ERROR_NONE;
    while (have < BUFFER_SIZE && problem == SSL_ERROR_NONE) {
        ERR_clear_error();
        int rc = SSL_read_ex(tls->ssl, tls->side->buffer + have, BUFFER_SIZE - have, &got);
        if (rc == 1)
            have += got;
        else
            problem = SSL_get_error(tls->ssl, rc);
    }
    *out_size = have;
    return problem;
}

static void hear(struct tls_stream *tls)
{
    shoal_err err = SHOAL_ERR_INIT;
    int problem = SSL_ERROR_NONE;
    while (problem == SSL_ERROR_NONE && tls->state == TLS_OPEN) {
        size_t size = 0;
        problem = open_records(tls, &size);
        if (problem == SSL_ERROR_ZERO_RETURN)
            (void)base_err(&err, SHOAL_END, "'%s' closed the connection",
                           env_conn_address(tls->conn));
        else if (problem != SSL_ERROR_NONE && problem != SSL_ERROR_WANT_READ)
            say_failed(tls, &err);
        if (size > 0)
            tls->ops->received(tls->ctx, tls->side->buffer, size);
    }
    if (tls->state != TLS_OPEN)
        return;
    if (!flush(tls))
        out_of_memory(tls);
    else if (problem != SSL_ERROR_WANT_READ)
        end(tls, &err);
}

/* --- the connection's callbacks --- */

/* Whether the first byte is one of TLS; else it is over. */
static bool is_tls(struct tls_stream *tls, unsigned char first)
{
    static const unsigned char alert[] = {WIRE_TLS_ALERT, 3, 3, 0, 2, 2, SSL_AD_UNEXPECTED_MESSAGE};
    shoal_err err = SHOAL_ERR_INIT;
    if (first == WIRE_TLS_HANDSHAKE || (first == WIRE_TLS_ALERT && !tls->is_server))
        return true;
    if (first == (unsigned char)WIRE_MAGIC[0]) {
        if (tls->is_server)
            (void)!env_conn_send(tls->conn, alert, sizeof alert);
        say_plain(tls, &err);
    } else {
        (void)base_err(&err, SHOAL_E_FORMAT, "'%s' does not speak this protocol",
                       env_conn_address(tls->conn));
    }
    refuse(tls, &err);
    return false;
}

static void on_received(void *ctx, struct env_conn *conn, const void *bytes, size_t size)
{
    struct tls_stream *tls = ctx;
    size_t taken = 0;
    (void)conn;
    tls->busy++;
    if (tls->state != TLS_OVER && (tls->heard || is_tls(tls, *(const unsigned char *)bytes))) {
        tls->heard = true;
        if (BIO_write_ex(tls->in, bytes, size, &taken) != 1 || taken != size)
            out_of_memory(tls);
        else if (tls->state == TLS_GREETS)
            greet(tls);
        if (tls->state == TLS_OPEN)
            hear(tls);
    }
    unref(tls);
}

static void on_silence(void *ctx)
{
    struct tls_stream *tls = ctx;
    shoal_err err = SHOAL_ERR_INIT;
    tls->busy++;
    (void)base_err(&err, SHOAL_E_IO, "'%s' did not answer in TLS within %g s",
                   env_conn_address(tls->conn), (double)tls->timeout_ns / 1e9);
    end(tls, &err);
    unref(tls);
}

static void on_opened(void *ctx, struct env_conn *conn)
{
    struct tls_stream *tls = ctx;
    (void)conn;
    tls->busy++;
    if (env_timer_start(tls->loop, &tls->timer, tls->timeout_ns, on_silence, tls) == SHOAL_OK)
        greet(tls);
    else
        out_of_memory(tls);
    unref(tls);
}

static void on_drained(void *ctx, struct env_conn *conn)
{
    struct tls_stream *tls = ctx;
    (void)conn;
    tls->busy++;
    if (tls->state == TLS_OPEN)
        tls->ops->drained(tls->ctx);
    unref(tls);
}

static void on_closed(void *ctx, struct env_conn *conn, const shoal_err *why)
{
    struct tls_stream *tls = ctx;
    shoal_err err = *why;
    if (tls->heard && tls->state == TLS_GREETS)
        (void)base_err(&err, SHOAL_E_IO, "'%s' closed the connection while it was greeted in TLS",
                       env_conn_address(conn));
    tls->busy++;
    tls->conn = NULL;
    end(tls, &err);
    unref(tls);
}

static const struct env_conn_ops CONN_OPS = {on_opened, on_received, on_drained, on_closed};

/* --- streams --- */

static struct tls_stream *stream_new(struct tls_side *side, struct env_loop *loop, bool is_server)
{
    struct tls_stream *tls = base_calloc(side->alloc, 1, sizeof *tls);
    if (tls == NULL)
        return NULL;
    tls->stream.transport = &wire_tls;
    tls->loop = loop;
    tls->is_server = is_server;
    tls->side = side;
    side->refs++;
    tls->ssl = SSL_new(side->context);
    tls->in = BIO_new(BIO_s_mem());
    tls->out = BIO_new(BIO_s_mem());
    if (tls->ssl == NULL || tls->in == NULL || tls->out == NULL) {
        BIO_free(tls->in);
        BIO_free(tls->out);
        destroy(tls);
        return NULL;
    }
    (void)BIO_set_mem_eof_return(tls->in, -1); /* empty: later, not never */
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    if (is_server)
        SSL_set_accept_state(tls->ssl);
    else
        SSL_set_connect_state(tls->ssl);
    return tls;
}

static shoal_status tls_connect(const struct wire_place *place, uint64_t timeout_ns,
                                const struct wire_stream_ops *ops, void *ctx,
                                struct wire_stream **out_stream, shoal_err *err)
{
    struct tls_side *side = side_new(place, false);
    struct tls_stream *tls = side != NULL ? stream_new(side, place->loop, false) : NULL;
    side_unref(side); /* the stream's */
    if (tls == NULL)
        return base_err_nomem(err, "connecting with TLS");
    tls->ops = ops;
    tls->ctx = ctx;
    tls->timeout_ns = timeout_ns;
    shoal_status st =
        env_connect(place->loop, place->address, timeout_ns, &CONN_OPS, tls, &tls->conn, err);
    if (st != SHOAL_OK) {
        destroy(tls);
        return st;
    }
    *out_stream = &tls->stream;
    return SHOAL_OK;
}

static void tls_set(struct wire_stream *stream, const struct wire_stream_ops *ops, void *ctx)
{
    struct tls_stream *tls = (struct tls_stream *)stream;
    tls->ops = ops;
    tls->ctx = ctx;
    env_conn_set(tls->conn, &CONN_OPS, tls);
}

static shoal_status tls_send(struct wire_stream *stream, const void *bytes, size_t size)
{
    struct tls_stream *tls = (struct tls_stream *)stream;
    const unsigned char *at = bytes;
    shoal_err err = SHOAL_ERR_INIT;
    if (tls->state != TLS_OPEN)
        return SHOAL_E_IO;
    while (size > 0) {
        size_t part = size < PART_SIZE ? size : PART_SIZE, taken = 0;
        ERR_clear_error();
        if (SSL_write_ex(tls->ssl, at, part, &taken) != 1 || taken != part || !flush(tls)) {
            (void)base_err_nomem(&err, "talking TLS");
            end_later(tls, &err);
            return SHOAL_E_IO;
        }
        at += part;
        size -= part;
    }
    return SHOAL_OK;
}

static size_t tls_queued(const struct wire_stream *stream)
{
    return env_conn_queued(((const struct tls_stream *)stream)->conn);
}

static const char *tls_address(const struct wire_stream *stream)
{
    return env_conn_address(((const struct tls_stream *)stream)->conn);
}

/* --- ports --- */

static void on_accepted(void *ctx, struct env_conn *conn)
{
    struct tls_port *port = ctx;
    struct tls_stream *tls = stream_new(port->side, port->loop, true);
    if (tls == NULL) {
        env_conn_close(conn); /* no memory: as env does with those it has none for */
        return;
    }
    tls->conn = conn;
    port->accepted(port->ctx, &tls->stream);
}

static void tls_port_close(struct wire_port *base)
{
    struct tls_port *port = (struct tls_port *)base;
    env_listener_close(port->listener);
    side_unref(port->side);
    base_free(env_alloc(env_loop_env(port->loop)), port);
}

static shoal_status tls_listen(const struct wire_place *place,
                               void (*accepted)(void *ctx, struct wire_stream *stream), void *ctx,
                               struct wire_port **out_port, shoal_err *err)
{
    struct tls_port *port = base_calloc(env_alloc(env_loop_env(place->loop)), 1, sizeof *port);
    shoal_status st = SHOAL_OK;
    if (port == NULL)
        return base_err_nomem(err, "starting to listen");
    *port = (struct tls_port){
        .port.transport = &wire_tls, .loop = place->loop, .accepted = accepted, .ctx = ctx};
    port->side = side_new(place, true);
    if (port->side == NULL)
        st = base_err_nomem(err, "starting to listen with TLS");
    else
        st = env_listen(place->loop, place->address, on_accepted, port, &port->listener, err);
    if (st != SHOAL_OK) {
        tls_port_close(&port->port);
        return st;
    }
    *out_port = &port->port;
    return SHOAL_OK;
}

static const char *tls_port_address(const struct wire_port *port)
{
    return env_listener_address(((const struct tls_port *)port)->listener);
}

const struct wire_transport wire_tls = {
    .name = "tls",
    .listen = tls_listen,
    .port_address = tls_port_address,
    .port_close = tls_port_close,
    .connect = tls_connect,
    .set = tls_set,
    .send = tls_send,
    .queued = tls_queued,
    .address = tls_address,
    .close = tls_close,
};
