/* ucx.c - a transport over UCX, which knows fast networks (InfiniBand, RoCE) that sockets do not
 * use well. In builds with SHOAL_UCX.
 *
 * Strangers never meet UCX: its own listener ends the process when it is sent garbage (measured: 46
 * bytes; docs/design/0008). The address of a job is a door of tls.c instead. Behind it, where both
 * sides have shown that they know the key, each tells the other the address of its UCX worker and a
 * random number; then bytes go through UCX as active messages that carry the number of who is
 * meant. The line to the door stays open and says when the other process is gone. What goes through
 * UCX is not encrypted, and the ports that UCX opens for itself are as safe as UCX is.
 *
 * The library is loaded when an address first asks for it: linked, it would catch signals and read
 * its environment in every process of ours, before main. What it prints is turned off, unless the
 * user has set UCX_LOG_LEVEL: its errors are told in our words.
 *
 * A server, or a client, has an engine: a UCX context and worker, and its place in the loop (see
 * env/engine.h). UCX works only inside `prepare`. A stream that is closed waits there until what it
 * sent last is out, for LINGER_NS at most, and UCX has let go of it; one whose line is lost first
 * hears what had come. Messages are sent eagerly, so they keep their order. Loop thread only.
 * Tests: tests/unit/wire/test_peer_real.c, tests/cli/test_train_ucx.py. */
#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "env/engine.h"
#include "wire/stream.h"
#include <stdio.h>
#include <string.h>
#include <ucp/api/ucp.h>

enum {
    AM_ID = 7,
    PROGRESS_MAX = 64,
    FLUSH_TURNS = 1000,
    CLOSE_TURNS = 1000000,
    ADDRESS_SIZE = 300,
    INTRO_HEAD = 16, /* size u32, 0 u32, number u64; then the worker's address */
    INTRO_MAX = 4096
};

static const uint64_t LINGER_NS = 2ull * 1000 * 1000 * 1000;

/* --- the library --- */

/* clang-format off */
#define UCP_CALLS(X)                                                                               \
    X(ucp_am_send_nbx) X(ucp_cleanup) X(ucp_ep_close_nbx) X(ucp_ep_create) X(ucp_ep_flush_nbx)     \
    X(ucp_init_version) X(ucp_request_free) X(ucp_worker_arm) X(ucp_worker_create)                 \
    X(ucp_worker_destroy) X(ucp_worker_get_address) X(ucp_worker_get_efd) X(ucp_worker_progress)   \
    X(ucp_worker_release_address) X(ucp_worker_set_am_recv_handler)
/* clang-format on */

struct calls {
#define MEMBER(name) __typeof__(&(name)) name;
    UCP_CALLS(MEMBER)
#undef MEMBER
    const char *(*ucs_status_string)(ucs_status_t status);
};

static const char *const VARIABLES[] = {"UCX_HANDLE_ERRORS",
                                        "none",
                                        "UCX_ERROR_SIGNALS",
                                        "",
                                        "UCX_DEBUG_SIGNO",
                                        "0",
                                        "UCX_LOG_LEVEL",
                                        "fatal",
                                        "UCX_WARN_UNUSED_ENV_VARS",
                                        "n",
                                        "UCX_MEM_EVENTS",
                                        "n",
                                        NULL};

static shoal_status calls_load(struct calls *out, shoal_err *err)
{
    void *ucp = NULL, *ucs = NULL;
    void (*found)(void) = NULL;
    bool all = true;
    shoal_status st = env_library_load("libucp.so.0", VARIABLES, &ucp, err);
    if (st == SHOAL_OK)
        st = env_library_load("libucs.so.0", VARIABLES, &ucs, err);
    if (st != SHOAL_OK) {
        base_err_hint(err, "'ucx://' needs UCX on both machines (Debian: libucx0)");
        return st;
    }
#define FIND(name)                        \
    found = env_library_find(ucp, #name); \
    all = all && found != NULL;           \
    memcpy(&out->name, &found, sizeof found);
    UCP_CALLS(FIND)
#undef FIND
    found = env_library_find(ucs, "ucs_status_string");
    memcpy(&out->ucs_status_string, &found, sizeof found);
    if (!all || found == NULL)
        return base_err(err, SHOAL_E_NOTFOUND, "the UCX of this machine is of another version");
    return SHOAL_OK;
}

/* --- engines and streams --- */

struct ucx_engine {
    struct calls ucp;
    const struct base_alloc *alloc;
    struct env_loop *loop;
    struct env_engine *engine;
    ucp_context_h context;
    ucp_worker_h worker;
    struct ucx_stream *streams; /* all that are not freed */
    size_t refs;                /* the port, and streams that their users have */
    bool busy;                  /* inside prepare */
};

struct ucx_stream {
    struct wire_stream stream; /* first */
    struct ucx_engine *engine;
    struct ucx_stream *next;
    struct wire_stream *line; /* to the door; NULL: lost, or closed */
    ucp_ep_h ep;              /* NULL: not yet, or closed */
    uint64_t own, other;      /* numbers of the two ends */
    const struct wire_stream_ops *ops;
    void *ctx;
    size_t queued;
    uint32_t under_way; /* requests of UCX's */
    ucs_status_t broken;
    bool is_client, is_open, is_drained, is_gone, is_flushing, is_flushed, line_lost;
    shoal_err why; /* the line's */
    char address[ADDRESS_SIZE];
    uint64_t timeout_ns;
    struct env_timer timer; /* patience with the introduction, or with what was sent last */
    size_t intro_size;
    unsigned char intro[INTRO_MAX]; /* the other side's */
};

struct ucx_port {
    struct wire_port port; /* first */
    struct ucx_engine *engine;
    struct wire_port *door;
    void (*accepted)(void *ctx, struct wire_stream *stream);
    void *ctx;
};

/* What is sent, until UCX has sent it. */
struct parcel {
    struct ucx_stream *stream;
    size_t size;
    uint64_t to;
    unsigned char bytes[];
};

/* --- the end --- */

static void stream_free(struct ucx_stream *stream)
{
    struct ucx_engine *engine = stream->engine;
    struct ucx_stream **at = &engine->streams;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    env_timer_stop(&stream->timer);
    wire_stream_close(stream->line);
    base_free(engine->alloc, stream);
}

static void on_ep_closed(void *request, ucs_status_t status, void *user_data)
{
    struct ucx_stream *stream = user_data;
    (void)status;
    stream->under_way--;
    stream->engine->ucp.ucp_request_free(request);
}

/* At once, whatever was on its way. */
static void ep_close(struct ucx_stream *stream)
{
    const ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS |
                                                     UCP_OP_ATTR_FIELD_CALLBACK |
                                                     UCP_OP_ATTR_FIELD_USER_DATA,
                                     .flags = UCP_EP_CLOSE_FLAG_FORCE,
                                     .cb.send = on_ep_closed,
                                     .user_data = stream};
    ucp_ep_h ep = stream->ep;
    stream->ep = NULL;
    if (ep == NULL)
        return;
    stream->under_way++;
    if (!UCS_PTR_IS_PTR(stream->engine->ucp.ucp_ep_close_nbx(ep, &how)))
        stream->under_way--;
}

static void on_flushed(void *request, ucs_status_t status, void *user_data)
{
    struct ucx_stream *stream = user_data;
    (void)status;
    stream->under_way--;
    stream->is_flushed = true;
    stream->engine->ucp.ucp_request_free(request);
}

/* What UCX took at once, such as last words, goes out before it is closed; what waits is dropped. */
static void part(struct ucx_stream *stream)
{
    const ucp_request_param_t how = {.op_attr_mask =
                                         UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                     .cb.send = on_flushed,
                                     .user_data = stream};
    ucs_status_ptr_t request = NULL;
    bool over = stream->broken != UCS_OK || stream->line_lost || stream->queued > 0;
    if (stream->is_flushing && !stream->is_flushed && !over)
        return;
    if (!stream->is_flushing && !over)
        request = stream->engine->ucp.ucp_ep_flush_nbx(stream->ep, &how);
    stream->is_flushing = true;
    if (UCS_PTR_IS_PTR(request))
        stream->under_way++;
    else
        ep_close(stream);
}

/* Goes on with what was closed. Never inside a callback of UCX's. */
static void sweep(struct ucx_engine *engine)
{
    for (struct ucx_stream *s = engine->streams, *next; s != NULL; s = next) {
        next = s->next;
        if (s->is_gone && s->ep != NULL)
            part(s);
        if (s->is_gone && s->ep == NULL && s->under_way == 0)
            stream_free(s);
    }
}

static void engine_free(struct ucx_engine *engine)
{
    const struct base_alloc *alloc = engine->alloc;
    for (int i = 0; engine->streams != NULL && i < CLOSE_TURNS; i++) {
        for (struct ucx_stream *s = engine->streams; s != NULL && i == FLUSH_TURNS; s = s->next)
            ep_close(s);
        sweep(engine);
        (void)engine->ucp.ucp_worker_progress(engine->worker);
    }
    env_engine_free(engine->engine);
    if (engine->worker != NULL)
        engine->ucp.ucp_worker_destroy(engine->worker);
    if (engine->context != NULL)
        engine->ucp.ucp_cleanup(engine->context);
    while (engine->streams != NULL)
        stream_free(engine->streams);
    base_free(alloc, engine);
}

static void engine_unref(struct ucx_engine *engine)
{
    if (--engine->refs == 0 && !engine->busy)
        engine_free(engine);
}

static void on_silence(void *ctx)
{
    struct ucx_stream *stream = ctx;
    stream->broken = UCS_ERR_TIMED_OUT;
}

static void ucx_close(struct wire_stream *base)
{
    struct ucx_stream *stream = (struct ucx_stream *)base;
    stream->is_gone = true;
    env_timer_stop(&stream->timer);
    if (stream->ep != NULL && env_timer_start(stream->engine->loop, &stream->timer, LINGER_NS,
                                              on_silence, stream) != SHOAL_OK)
        stream->broken = UCS_ERR_NO_MEMORY;
    engine_unref(stream->engine); /* the rest is the sweep's */
}

static void stream_end(struct ucx_stream *stream, const shoal_err *why)
{
    const shoal_err copy = *why;
    const struct wire_stream_ops *ops = stream->ops;
    void *ctx = stream->ctx;
    ucx_close(&stream->stream);
    ops->closed(ctx, &copy);
}

/* --- UCX's callbacks --- */

static void on_broken(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    struct ucx_stream *stream = arg;
    (void)ep;
    stream->broken = status;
}

static void on_sent(void *request, ucs_status_t status, void *user_data)
{
    struct parcel *parcel = user_data;
    struct ucx_stream *stream = parcel->stream;
    (void)status; /* what is broken is told by on_broken */
    stream->queued -= parcel->size;
    stream->is_drained = stream->queued == 0;
    stream->under_way--;
    stream->engine->ucp.ucp_request_free(request);
    base_free(stream->engine->alloc, parcel);
}

/* Bytes for whom their number names; what names nobody is dropped. */
static ucs_status_t on_message(void *arg, const void *header, size_t header_size, void *data,
                               size_t size, const ucp_am_recv_param_t *param)
{
    const struct ucx_engine *engine = arg;
    uint64_t to = 0;
    if (header_size != sizeof to || size == 0 ||
        (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0)
        return UCS_OK;
    memcpy(&to, header, sizeof to);
    for (struct ucx_stream *s = engine->streams; s != NULL; s = s->next)
        if (s->own == to && s->is_open && !s->is_gone) {
            s->ops->received(s->ctx, data, size);
            break;
        }
    return UCS_OK;
}

/* --- a turn --- */

/* What was marked. */
static void attend(struct ucx_engine *engine)
{
    for (struct ucx_stream *s = engine->streams; s != NULL; s = s->next) {
        shoal_err why = SHOAL_ERR_INIT;
        if (s->broken != UCS_OK && !s->is_gone) {
            (void)base_err(&why, SHOAL_E_IO, "lost the connection to '%s': %s (UCX)", s->address,
                           engine->ucp.ucs_status_string(s->broken));
            stream_end(s, &why);
        }
        if (s->is_drained && !s->is_gone) {
            s->is_drained = false;
            s->ops->drained(s->ctx);
        }
    }
}

static void attend_lost(struct ucx_engine *engine)
{
    for (struct ucx_stream *s = engine->streams; s != NULL; s = s->next)
        if (s->line_lost && !s->is_gone)
            stream_end(s, &s->why);
}

/* Before the loop sleeps: all that there is, then whether UCX will wake us. */
static bool prepare(void *ctx)
{
    struct ucx_engine *engine = ctx;
    bool more = true;
    engine->busy = true;
    engine->refs++;
    for (int i = 0; i < PROGRESS_MAX && more; i++) {
        more = engine->ucp.ucp_worker_progress(engine->worker) > 0;
        attend(engine);
        sweep(engine);
    }
    if (!more)
        attend_lost(engine);
    engine->busy = false;
    if (--engine->refs == 0) {
        engine_free(engine);
        return true;
    }
    return !more && engine->ucp.ucp_worker_arm(engine->worker) == UCS_OK;
}

/* --- the introduction --- */

static bool introduce(struct ucx_stream *stream)
{
    const struct calls *ucp = &stream->engine->ucp;
    unsigned char intro[INTRO_MAX] = {0};
    ucp_address_t *address = NULL;
    size_t size = 0;
    if (ucp->ucp_worker_get_address(stream->engine->worker, &address, &size) != UCS_OK)
        return false;
    bool fits = size <= INTRO_MAX - INTRO_HEAD;
    if (fits) {
        base_put32(intro, (uint32_t)(INTRO_HEAD + size));
        base_put64(intro + 8, stream->own);
        memcpy(intro + INTRO_HEAD, address, size);
    }
    ucp->ucp_worker_release_address(stream->engine->worker, address);
    return fits && wire_stream_send(stream->line, intro, INTRO_HEAD + size) == SHOAL_OK;
}

/* The other side's is whole. False when nothing can come of it. */
static bool meet(struct ucx_stream *stream)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLER,
                              .address = (const ucp_address_t *)(stream->intro + INTRO_HEAD),
                              .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                              .err_handler = {on_broken, stream}};
    stream->other = base_get64(stream->intro + 8);
    if (stream->engine->ucp.ucp_ep_create(stream->engine->worker, &params, &stream->ep) != UCS_OK) {
        stream->ep = NULL;
        return false;
    }
    if (!stream->is_client && !introduce(stream))
        return false;
    env_timer_stop(&stream->timer);
    stream->is_open = true;
    return true;
}

/* Takes bytes of the introduction. SHOAL_AGAIN until it is whole. */
static shoal_status gather(struct ucx_stream *stream, const unsigned char *bytes, size_t size)
{
    if (size > INTRO_MAX - stream->intro_size)
        return SHOAL_E_FORMAT;
    memcpy(stream->intro + stream->intro_size, bytes, size);
    stream->intro_size += size;
    if (stream->intro_size < INTRO_HEAD)
        return SHOAL_AGAIN;
    size_t whole = base_get32(stream->intro);
    if (whole <= INTRO_HEAD || whole > INTRO_MAX || stream->intro_size > whole)
        return SHOAL_E_FORMAT;
    return stream->intro_size == whole ? SHOAL_OK : SHOAL_AGAIN;
}

static void on_line_opened(void *ctx)
{
    struct ucx_stream *stream = ctx;
    if (env_timer_start(stream->engine->loop, &stream->timer, stream->timeout_ns, on_silence,
                        stream) != SHOAL_OK ||
        !introduce(stream))
        stream->broken = UCS_ERR_UNREACHABLE;
}

static void on_line_received(void *ctx, const void *bytes, size_t size)
{
    struct ucx_stream *stream = ctx;
    if (stream->is_gone || stream->broken != UCS_OK || stream->line_lost)
        return;
    shoal_status st = stream->is_open ? SHOAL_E_FORMAT : gather(stream, bytes, size);
    if (st == SHOAL_AGAIN)
        return;
    if (st != SHOAL_OK) {
        stream->line_lost = true;
        (void)base_err(&stream->why, SHOAL_E_FORMAT, "'%s' does not speak UCX as we do",
                       stream->address);
    } else if (!meet(stream)) {
        stream->broken = UCS_ERR_UNREACHABLE;
    }
    if (stream->is_open && stream->is_client)
        stream->ops->opened(stream->ctx);
}

static void on_line_drained(void *ctx)
{
    (void)ctx;
}

static void on_line_refused(void *ctx, const shoal_err *why)
{
    struct ucx_stream *stream = ctx;
    if (!stream->is_gone)
        stream->ops->refused(stream->ctx, why);
}

/* What came through UCX before is heard first. */
static void on_line_closed(void *ctx, const shoal_err *why)
{
    struct ucx_stream *stream = ctx;
    stream->line = NULL;
    stream->line_lost = true;
    stream->why = *why;
}

static const struct wire_stream_ops LINE_OPS = {on_line_opened, on_line_received, on_line_drained,
                                                on_line_refused, on_line_closed};

/* --- birth --- */

static shoal_status engine_start(struct ucx_engine *engine, shoal_err *err)
{
    const struct calls *ucp = &engine->ucp;
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                 .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP};
    const ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                        .thread_mode = UCS_THREAD_MODE_SINGLE};
    const ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = AM_ID,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = on_message,
        .arg = engine};
    int fd = -1;
    ucs_status_t status =
        ucp->ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, NULL, &engine->context);
    if (status == UCS_OK)
        status = ucp->ucp_worker_create(engine->context, &worker, &engine->worker);
    if (status == UCS_OK)
        status = ucp->ucp_worker_set_am_recv_handler(engine->worker, &handler);
    if (status == UCS_OK)
        status = ucp->ucp_worker_get_efd(engine->worker, &fd);
    if (status != UCS_OK)
        return base_err(err, SHOAL_E_IO, "cannot start UCX: %s", ucp->ucs_status_string(status));
    return env_engine_new(engine->loop, fd, prepare, engine, &engine->engine, err);
}

static shoal_status engine_new(struct env_loop *loop, struct ucx_engine **out, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env_loop_env(loop));
    struct ucx_engine *engine = base_calloc(alloc, 1, sizeof *engine);
    if (engine == NULL)
        return base_err_nomem(err, "starting UCX");
    engine->alloc = alloc;
    engine->loop = loop;
    engine->refs = 1;
    shoal_status st = calls_load(&engine->ucp, err);
    if (st != SHOAL_OK) {
        base_free(alloc, engine);
        return st;
    }
    st = engine_start(engine, err);
    if (st != SHOAL_OK) {
        engine_free(engine);
        return st;
    }
    *out = engine;
    return SHOAL_OK;
}

static struct ucx_stream *stream_new(struct ucx_engine *engine, bool is_client)
{
    struct ucx_stream *stream = base_calloc(engine->alloc, 1, sizeof *stream);
    if (stream == NULL || env_random(env_loop_env(engine->loop), &stream->own, sizeof stream->own,
                                     NULL) != SHOAL_OK) {
        base_free(engine->alloc, stream);
        return NULL;
    }
    stream->stream.transport = &wire_ucx;
    stream->engine = engine;
    stream->is_client = is_client;
    stream->next = engine->streams;
    engine->streams = stream;
    engine->refs++;
    return stream;
}

static shoal_status ucx_connect(const struct wire_place *place, uint64_t timeout_ns,
                                const struct wire_stream_ops *ops, void *ctx,
                                struct wire_stream **out_stream, shoal_err *err)
{
    struct ucx_engine *engine = NULL;
    shoal_status st = engine_new(place->loop, &engine, err);
    if (st != SHOAL_OK)
        return st;
    struct ucx_stream *stream = stream_new(engine, true);
    if (stream == NULL)
        st = base_err_nomem(err, "connecting");
    else
        st = wire_tls.connect(place, timeout_ns, &LINE_OPS, stream, &stream->line, err);
    if (st == SHOAL_OK) {
        stream->ops = ops;
        stream->ctx = ctx;
        stream->timeout_ns = timeout_ns;
        (void)snprintf(stream->address, sizeof stream->address, "%s", place->address);
        *out_stream = &stream->stream;
    } else if (stream != NULL) {
        ucx_close(&stream->stream);
    }
    engine_unref(engine); /* the stream's */
    return st;
}

static void ucx_set(struct wire_stream *base, const struct wire_stream_ops *ops, void *ctx)
{
    struct ucx_stream *stream = (struct ucx_stream *)base;
    bool was_deaf = stream->ops == NULL;
    stream->ops = ops;
    stream->ctx = ctx;
    if (was_deaf)
        wire_stream_set(stream->line, &LINE_OPS, stream);
}

static shoal_status ucx_send(struct wire_stream *base, const void *bytes, size_t size)
{
    struct ucx_stream *stream = (struct ucx_stream *)base;
    const struct ucx_engine *engine = stream->engine;
    if (!stream->is_open || stream->ep == NULL || stream->broken != UCS_OK || stream->line_lost)
        return SHOAL_E_IO;
    struct parcel *parcel = base_malloc(engine->alloc, sizeof *parcel + size);
    if (parcel == NULL)
        return SHOAL_E_NOMEM;
    *parcel = (struct parcel){stream, size, stream->other};
    memcpy(parcel->bytes, bytes, size);
    const ucp_request_param_t how = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                     UCP_OP_ATTR_FIELD_USER_DATA |
                                                     UCP_OP_ATTR_FIELD_FLAGS,
                                     .flags = UCP_AM_SEND_FLAG_EAGER,
                                     .cb.send = on_sent,
                                     .user_data = parcel};
    stream->queued += size;
    stream->under_way++;
    ucs_status_ptr_t request = engine->ucp.ucp_am_send_nbx(
        stream->ep, AM_ID, &parcel->to, sizeof parcel->to, parcel->bytes, size, &how);
    if (UCS_PTR_IS_PTR(request))
        return SHOAL_OK;
    stream->queued -= size; /* done, or failed: no callback comes */
    stream->under_way--;
    base_free(engine->alloc, parcel);
    if (UCS_PTR_IS_ERR(request))
        stream->broken = UCS_PTR_STATUS(request);
    return request == NULL ? SHOAL_OK : SHOAL_E_IO;
}

static size_t ucx_queued(const struct wire_stream *stream)
{
    return ((const struct ucx_stream *)stream)->queued;
}

static const char *ucx_address(const struct wire_stream *stream)
{
    return ((const struct ucx_stream *)stream)->address;
}

/* --- ports --- */

static void on_knock(void *ctx, struct wire_stream *line)
{
    struct ucx_port *port = ctx;
    struct ucx_stream *stream = stream_new(port->engine, false);
    if (stream == NULL) {
        wire_stream_close(line);
        return;
    }
    stream->line = line;
    (void)snprintf(stream->address, sizeof stream->address, "%s", wire_stream_address(line));
    port->accepted(port->ctx, &stream->stream);
}

static void ucx_port_close(struct wire_port *base)
{
    struct ucx_port *port = (struct ucx_port *)base;
    struct ucx_engine *engine = port->engine;
    wire_port_close(port->door);
    base_free(engine->alloc, port);
    engine_unref(engine);
}

static shoal_status ucx_listen(const struct wire_place *place,
                               void (*accepted)(void *ctx, struct wire_stream *stream), void *ctx,
                               struct wire_port **out_port, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env_loop_env(place->loop));
    struct ucx_port *port = base_calloc(alloc, 1, sizeof *port);
    if (port == NULL)
        return base_err_nomem(err, "starting to listen");
    port->port.transport = &wire_ucx;
    port->accepted = accepted;
    port->ctx = ctx;
    shoal_status st = engine_new(place->loop, &port->engine, err);
    if (st != SHOAL_OK) {
        base_free(alloc, port);
        return st;
    }
    st = wire_tls.listen(place, on_knock, port, &port->door, err);
    if (st != SHOAL_OK) {
        ucx_port_close(&port->port);
        return st;
    }
    *out_port = &port->port;
    return SHOAL_OK;
}

static const char *ucx_port_address(const struct wire_port *port)
{
    return wire_tls.port_address(((const struct ucx_port *)port)->door);
}

const struct wire_transport wire_ucx = {
    .name = "ucx",
    .listen = ucx_listen,
    .port_address = ucx_port_address,
    .port_close = ucx_port_close,
    .connect = ucx_connect,
    .set = ucx_set,
    .send = ucx_send,
    .queued = ucx_queued,
    .address = ucx_address,
    .close = ucx_close,
};
