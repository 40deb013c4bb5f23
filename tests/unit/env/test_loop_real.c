/* Tests of src/env/loop_real_net.c and loop_real_conn.c, on loopback. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "loop_real_world.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- an echo: the server sends back what it gets, the client checks it --- */

enum { ECHO_BYTES = 3 << 20, ECHO_PIECE_MAX = 200000, CROWD = 200 };

struct server {
    struct loop_world *world;
    struct env_listener *listener;
    uint32_t accepted, closed, stop_after;
    struct env_conn *last;
    uint64_t received, in_place;
    size_t asked; /* bytes that the next piece may have at `place`; 0: it goes elsewhere */
    unsigned char place[5000];
};

/* Every other piece is asked for in a place of ours. */
static void server_received(void *ctx, struct env_conn *conn, const void *bytes, size_t size)
{
    struct server *server = ctx;
    assert_int_equal(env_conn_send(conn, bytes, size), SHOAL_OK);
    if (server->stop_after != 1)
        return; /* one connection only */
    assert_true((bytes == server->place) == (server->asked > 0));
    assert_true(server->asked == 0 || size <= server->asked);
    server->in_place += bytes == server->place;
    server->asked = server->received++ % 2 == 0 ? 1 + server->received % sizeof server->place : 0;
    env_conn_into(conn, server->place, server->asked);
}

static void server_closed(void *ctx, struct env_conn *conn, const shoal_err *why)
{
    (void)conn;
    struct server *server = ctx;
    assert_int_equal(why->code, SHOAL_END);
    if (++server->closed == server->stop_after)
        env_loop_stop(server->world->loop);
}

static const struct env_conn_ops SERVER_OPS = {NULL, server_received, NULL, server_closed};

static void server_accepted(void *ctx, struct env_conn *conn)
{
    struct server *server = ctx;
    server->accepted++;
    server->last = conn;
    assert_int_equal(strncmp(env_conn_address(conn), "127.0.0.1:", 10), 0);
    env_conn_set(conn, &SERVER_OPS, server);
}

static void server_init(struct server *server, struct loop_world *world,
                        void (*accepted)(void *ctx, struct env_conn *conn))
{
    *server = (struct server){.world = world};
    assert_int_equal(
        env_listen(world->loop, "127.0.0.1:0", accepted, server, &server->listener, NULL),
        SHOAL_OK);
}

struct client {
    struct loop_world *world;
    struct env_conn *conn;
    struct env_timer timer;
    struct base_rand rand;
    unsigned char *bytes;
    size_t size, sent, got;
    uint32_t opened, drained, closed;
    shoal_err why;
};

/* A piece of random size now, the rest after a random pause. */
static void client_send(void *ctx)
{
    struct client *client = ctx;
    if (client->sent == client->size)
        return;
    size_t size = 1 + base_rand_below(&client->rand, ECHO_PIECE_MAX);
    if (base_rand_below(&client->rand, 2) == 0)
        size = 1 + base_rand_below(&client->rand, 100);
    if (size > client->size - client->sent)
        size = client->size - client->sent;
    assert_int_equal(env_conn_send(client->conn, client->bytes + client->sent, size), SHOAL_OK);
    client->sent += size;
    uint64_t pause =
        base_rand_below(&client->rand, 3) == 0 ? base_rand_below(&client->rand, 2 * MS_NS) : 0;
    assert_int_equal(
        env_timer_start(client->world->loop, &client->timer, pause, client_send, client), SHOAL_OK);
}

static void client_opened(void *ctx, struct env_conn *conn)
{
    struct client *client = ctx;
    assert_ptr_equal(conn, client->conn);
    client->opened++;
    client_send(client);
}

static void client_received(void *ctx, struct env_conn *conn, const void *bytes, size_t size)
{
    struct client *client = ctx;
    assert_true(size <= client->sent - client->got);
    assert_memory_equal(bytes, client->bytes + client->got, size);
    client->got += size;
    if (client->got == client->size)
        env_conn_close(conn);
}

static void client_drained(void *ctx, struct env_conn *conn)
{
    struct client *client = ctx;
    assert_int_equal(env_conn_queued(conn), 0);
    client->drained++;
}

static void client_closed(void *ctx, struct env_conn *conn, const shoal_err *why)
{
    struct client *client = ctx;
    client->closed++;
    client->why = *why;
    assert_int_equal(env_conn_send(conn, "x", 1), SHOAL_E_IO);
    env_conn_close(conn); /* harmless */
    env_loop_stop(client->world->loop);
}

static const struct env_conn_ops CLIENT_OPS = {client_opened, client_received, client_drained,
                                               client_closed};

static void client_init(struct client *client, struct loop_world *world, const char *address,
                        size_t size, uint64_t seed)
{
    *client = (struct client){.world = world, .size = size};
    base_rand_init(&client->rand, seed, "client");
    client->bytes = malloc(size + 1);
    for (size_t i = 0; i < size; i++)
        client->bytes[i] = (unsigned char)base_rand_u64(&client->rand);
    assert_int_equal(
        env_connect(world->loop, address, DEADLINE_NS, &CLIENT_OPS, client, &client->conn, NULL),
        SHOAL_OK);
}

static void an_echo_of_random_pieces_is_what_was_sent(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct loop_world world;
        struct server server;
        struct client client;
        loop_world_init(&world);
        server_init(&server, &world, server_accepted);
        client_init(&client, &world, env_listener_address(server.listener), ECHO_BYTES, seed);
        server.stop_after = 1;
        loop_world_run(&world);
        assert_int_equal(client.opened, 1);
        assert_int_equal(client.got, ECHO_BYTES);
        assert_int_equal(client.closed, 0); /* it closed by itself */
        assert_true(server.in_place > 0);
        free(client.bytes);
        loop_world_fini(&world);
    }
}

static void two_hundred_connections_do_not_mix(void **state)
{
    (void)state;
    struct loop_world world;
    struct server server;
    static struct client clients[CROWD];
    loop_world_init(&world);
    server_init(&server, &world, server_accepted);
    for (uint32_t i = 0; i < CROWD; i++)
        client_init(&clients[i], &world, env_listener_address(server.listener), 1 + 100 * i, i);
    server.stop_after = CROWD;
    loop_world_run(&world);
    assert_int_equal(server.accepted, CROWD);
    for (uint32_t i = 0; i < CROWD; i++) {
        assert_int_equal(clients[i].got, clients[i].size);
        free(clients[i].bytes);
    }
    loop_world_fini(&world);
}

static void names_and_ipv6_addresses_work(void **state)
{
    (void)state;
    struct loop_world world;
    loop_world_init(&world);
    static const char *const WRONG[] = {
        "", "host", ":1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "::1:1"};
    struct env_listener *listener = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++)
        assert_int_equal(env_listen(world.loop, WRONG[i], server_accepted, NULL, &listener, &err),
                         SHOAL_E_FORMAT);
    assert_int_equal(env_listen(world.loop, "localhost:0", server_accepted, NULL, &listener, &err),
                     SHOAL_OK);
    struct env_listener *second = NULL;
    assert_int_equal(env_listen(world.loop, env_listener_address(listener), server_accepted, NULL,
                                &second, &err),
                     SHOAL_E_EXISTS);
    env_listener_close(listener);
    if (env_listen(world.loop, "[::1]:0", server_accepted, NULL, &listener, &err) == SHOAL_OK)
        assert_int_equal(strncmp(env_listener_address(listener), "[::1]:", 6), 0);
    loop_world_fini(&world);
}

/* --- how connections end --- */

static int raw_socket(struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET};
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    return fd;
}

/* A port of loopback, bound to `fd`. */
static void bind_any(int fd, struct sockaddr_in *address, char *text, size_t size)
{
    socklen_t length = sizeof *address;
    assert_int_equal(bind(fd, (struct sockaddr *)address, length), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)address, &length), 0);
    (void)snprintf(text, size, "127.0.0.1:%u", ntohs(address->sin_port));
}

static void a_port_without_a_listener_refuses(void **state)
{
    (void)state;
    struct loop_world world;
    struct client client;
    struct sockaddr_in address;
    char text[32];
    loop_world_init(&world);
    int fd = raw_socket(&address);
    bind_any(fd, &address, text, sizeof text); /* bound and not listening: nobody takes it */
    client_init(&client, &world, text, 1, 1);
    assert_int_equal(client.closed, 0); /* never inside the call */
    loop_world_run(&world);
    assert_int_equal(client.closed, 1);
    assert_int_equal(client.opened, 0);
    assert_int_equal(client.why.code, SHOAL_E_IO);
    assert_non_null(strstr(client.why.message, "connection refused"));
    (void)close(fd);
    free(client.bytes);
    loop_world_fini(&world);
}

/* A listener whose queue is full leaves the next one waiting. */
static void connecting_gives_up_after_the_timeout(void **state)
{
    (void)state;
    struct loop_world world;
    struct sockaddr_in address;
    char text[32];
    int others[4];
    loop_world_init(&world);
    int fd = raw_socket(&address);
    bind_any(fd, &address, text, sizeof text);
    assert_int_equal(listen(fd, 0), 0);
    for (int i = 0; i < 4; i++) {
        struct sockaddr_in own;
        others[i] = raw_socket(&own);
        assert_int_equal(fcntl(others[i], F_SETFL, O_NONBLOCK), 0);
        (void)connect(others[i], (struct sockaddr *)&address, sizeof address);
    }
    struct client client = {.world = &world};
    uint64_t before = env_now_ns(world.env);
    assert_int_equal(
        env_connect(world.loop, text, 50 * MS_NS, &CLIENT_OPS, &client, &client.conn, NULL),
        SHOAL_OK);
    loop_world_run(&world);
    assert_int_equal(client.closed, 1);
    assert_non_null(strstr(client.why.message, "timed out"));
    assert_true(env_now_ns(world.env) - before >= 50 * MS_NS);
    for (int i = 0; i < 4; i++)
        (void)close(others[i]);
    (void)close(fd);
    loop_world_fini(&world);
}

struct ear {
    struct loop_world *world;
    struct env_listener *listener;
    struct env_conn *conn;
    size_t got;
    uint32_t closed;
    shoal_err why;
};

static void ear_received(void *ctx, struct env_conn *conn, const void *bytes, size_t size)
{
    (void)bytes;
    struct ear *ear = ctx;
    ear->got += size;
    (void)conn;
}

static void ear_closed(void *ctx, struct env_conn *conn, const shoal_err *why)
{
    (void)conn;
    struct ear *ear = ctx;
    ear->closed++;
    ear->why = *why;
    env_loop_stop(ear->world->loop);
}

static const struct env_conn_ops EAR_OPS = {NULL, ear_received, NULL, ear_closed};

static void ear_accepted(void *ctx, struct env_conn *conn)
{
    struct ear *ear = ctx;
    ear->conn = conn;
    env_conn_set(conn, &EAR_OPS, ear);
    env_listener_close(ear->listener); /* inside its own callback */
    ear->listener = NULL;
}

/* A plain socket sends bytes and ends in the given way. */
static void hear(struct ear *ear, bool half, bool reset)
{
    struct loop_world world;
    loop_world_init(&world);
    *ear = (struct ear){.world = &world};
    assert_int_equal(env_listen(world.loop, "127.0.0.1:0", ear_accepted, ear, &ear->listener, NULL),
                     SHOAL_OK);
    struct sockaddr_in address;
    int fd = raw_socket(&address);
    address.sin_port = htons((uint16_t)atoi(strrchr(env_listener_address(ear->listener), ':') + 1));
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(send(fd, "twelve bytes", 12, 0), 12);
    if (half)
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
    const struct linger linger = {.l_onoff = reset, .l_linger = 0};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
    if (!half)
        (void)close(fd);
    loop_world_run(&world);
    if (half)
        (void)close(fd);
    assert_int_equal(ear->closed, 1);
    loop_world_fini(&world);
}

static void bytes_before_the_end_are_delivered_also_when_it_is_half_an_end(void **state)
{
    (void)state;
    struct ear ear;
    for (int half = 0; half < 2; half++) {
        hear(&ear, half, false);
        assert_int_equal(ear.got, 12);
        assert_int_equal(ear.why.code, SHOAL_END);
    }
}

static void a_reset_is_an_error(void **state)
{
    (void)state;
    struct ear ear;
    hear(&ear, false, true);
    assert_int_equal(ear.why.code, SHOAL_E_IO);
    assert_non_null(strstr(ear.why.message, "lost the connection"));
}

/* --- the queue --- */

static void keep_deaf(void *ctx, struct env_conn *conn)
{
    struct server *server = ctx;
    server->last = conn;
    server->accepted++;
    env_loop_stop(server->world->loop);
}

static void stop_when_drained(void *ctx, struct env_conn *conn)
{
    client_drained(ctx, conn);
    env_loop_stop(((struct client *)ctx)->world->loop);
}

static void the_queue_is_bounded_and_what_was_taken_arrives(void **state)
{
    (void)state;
    enum { PIECE = 1000000, LIMIT = 3000000 };
    static const struct env_conn_ops OPS = {NULL, client_received, stop_when_drained,
                                            client_closed};
    static char piece[PIECE];
    struct loop_world world;
    struct server server;
    struct client client = {.world = &world};
    loop_world_init(&world);
    server_init(&server, &world, keep_deaf);
    assert_int_equal(env_connect(world.loop, env_listener_address(server.listener), SECOND_NS, &OPS,
                                 &client, &client.conn, NULL),
                     SHOAL_OK);
    env_conn_limit(client.conn, LIMIT);
    loop_world_run(&world); /* until it is accepted */
    size_t taken = 0;
    shoal_status st = SHOAL_OK;
    while ((st = env_conn_send(client.conn, piece, PIECE)) == SHOAL_OK) {
        taken += PIECE;
        assert_true(env_conn_queued(client.conn) <= LIMIT);
        assert_true(taken < 1u << 30);
    }
    assert_int_equal(st, SHOAL_E_LIMIT);
    assert_true(env_conn_queued(client.conn) > LIMIT - PIECE);
    struct ear ear = {.world = &world};
    env_conn_set(server.last, &EAR_OPS, &ear); /* it hears now */
    loop_world_run(&world);
    assert_int_equal(client.drained, 1);
    env_conn_close(client.conn);
    loop_world_run(&world); /* until the ear hears the end */
    assert_int_equal(ear.got, taken);
    loop_world_fini(&world);
}

static void sending_to_a_peer_that_left_ends_in_closed_and_no_signal(void **state)
{
    (void)state;
    struct loop_world world;
    struct server server;
    struct client client = {.world = &world, .size = 0};
    static const struct env_conn_ops OPS = {NULL, client_received, NULL, client_closed};
    loop_world_init(&world);
    server_init(&server, &world, keep_deaf);
    assert_int_equal(env_connect(world.loop, env_listener_address(server.listener), SECOND_NS, &OPS,
                                 &client, &client.conn, NULL),
                     SHOAL_OK);
    loop_world_run(&world);
    static char piece[100000];
    assert_int_equal(env_conn_send(client.conn, piece, sizeof piece), SHOAL_OK);
    env_conn_close(server.last); /* with bytes unread: a reset */
    shoal_status st = SHOAL_OK;
    for (int i = 0; i < 100 && st == SHOAL_OK; i++)
        st = env_conn_send(client.conn, piece, sizeof piece);
    assert_int_equal(st, SHOAL_E_IO);
    assert_int_equal(client.closed, 0);
    loop_world_run(&world);
    assert_int_equal(client.closed, 1);
    loop_world_fini(&world);
}

static void stop_loop(void *ctx)
{
    env_loop_stop(ctx);
}

static void running_out_of_descriptors_only_delays(void **state)
{
    (void)state;
    struct loop_world world;
    struct server server;
    struct rlimit before, tight;
    loop_world_init(&world);
    server_init(&server, &world, keep_deaf);
    struct sockaddr_in address;
    int fd = raw_socket(&address);
    address.sin_port =
        htons((uint16_t)atoi(strrchr(env_listener_address(server.listener), ':') + 1));
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = before;
    tight.rlim_cur = 3; /* the lowest free number is above */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    struct env_timer timer = {0};
    assert_int_equal(env_timer_start(world.loop, &timer, 200 * MS_NS, stop_loop, world.loop),
                     SHOAL_OK);
    double cpu_s = env_cpu_s(world.env);
    loop_world_run(&world);
    cpu_s = env_cpu_s(world.env) - cpu_s;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(server.accepted, 0);
    assert_true(cpu_s < 0.1); /* it did not spin */
    loop_world_run(&world);
    assert_int_equal(server.accepted, 1);
    (void)close(fd);
    loop_world_fini(&world);
}

/* --- memory --- */

static void post_nothing(void *ctx)
{
    (void)ctx;
}

static void torture_closed(void *ctx, struct env_conn *conn, const shoal_err *why)
{
    (void)conn;
    (void)why;
    env_loop_stop(ctx);
}

static void torture_received(void *ctx, struct env_conn *conn, const void *bytes, size_t size)
{
    (void)conn;
    (void)bytes;
    (void)size;
    env_loop_stop(ctx);
}

static const struct env_conn_ops TORTURE_OPS = {NULL, torture_received, NULL, torture_closed};

static void torture_accepted(void *ctx, struct env_conn *conn)
{
    env_conn_set(conn, &TORTURE_OPS, ctx);
}

/* One of everything, as far as memory lets it. */
static void live(struct env_loop *loop)
{
    struct env_listener *listener = NULL;
    struct env_conn *conn = NULL;
    struct env_pool *pool = NULL;
    struct env_timer timer = {0};
    static char bytes[100000];
    shoal_err err = SHOAL_ERR_INIT;
    if (env_timer_start(loop, &timer, DEADLINE_NS, stop_loop, loop) != SHOAL_OK)
        return;
    if (env_loop_post(loop, post_nothing, NULL) == SHOAL_OK &&
        env_pool_new(loop, 2, &pool, &err) == SHOAL_OK &&
        env_listen(loop, "127.0.0.1:0", torture_accepted, loop, &listener, &err) == SHOAL_OK &&
        env_connect(loop, env_listener_address(listener), DEADLINE_NS, &TORTURE_OPS, loop, &conn,
                    &err) == SHOAL_OK &&
        env_conn_send(conn, bytes, sizeof bytes) == SHOAL_OK)
        (void)!env_loop_run(loop, &err);
    env_timer_stop(&timer);
}

static void every_refused_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    uint64_t refused = 1;
    for (uint64_t at = 1; refused > 0; at++) {
        struct base_alloc_track track;
        shoal_env *env = NULL;
        struct env_loop *loop = NULL;
        assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
        base_alloc_track_init(&track, &base_alloc_libc);
        const struct base_alloc *before = env->alloc;
        env->alloc = &track.alloc;
        track.fail_at = at;
        if (env_loop_new(env, NULL, &loop, NULL) == SHOAL_OK)
            live(loop);
        env_loop_free(loop);
        assert_int_equal(track.live_count, 0);
        refused = track.failed;
        env->alloc = before;
        shoal_env_free(env);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_echo_of_random_pieces_is_what_was_sent),
        cmocka_unit_test(two_hundred_connections_do_not_mix),
        cmocka_unit_test(names_and_ipv6_addresses_work),
        cmocka_unit_test(a_port_without_a_listener_refuses),
        cmocka_unit_test(connecting_gives_up_after_the_timeout),
        cmocka_unit_test(bytes_before_the_end_are_delivered_also_when_it_is_half_an_end),
        cmocka_unit_test(a_reset_is_an_error),
        cmocka_unit_test(the_queue_is_bounded_and_what_was_taken_arrives),
        cmocka_unit_test(sending_to_a_peer_that_left_ends_in_closed_and_no_signal),
        cmocka_unit_test(running_out_of_descriptors_only_delays),
        cmocka_unit_test(every_refused_allocation_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
