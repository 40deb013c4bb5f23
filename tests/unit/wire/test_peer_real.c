/* Tests of src/wire on real sockets: both ends in one loop, over loopback, with each transport. */
#include "torture.h"

#include "base/assert.h"
#include "wire/peer.h"
#include <stdio.h>
#include <string.h>

enum { COUNT = 20000 };

struct end {
    struct env_loop *loop;
    struct wire_peer *peer;
    uint64_t sent, got, full;
    uint32_t closed;
    shoal_err why;
    bool wrong;
    struct env_timer timer;
};

struct world {
    shoal_env *env;
    struct env_loop *loop;
    struct wire_server *server;
    struct end home, away;
    struct wire_key key;
    struct env_timer late;
    uint32_t refused;
    shoal_err refused_why;
};

static unsigned char body[3 << 20];

/* Mostly small, now and then up to 3 MiB: they straddle what one read brings in every way. */
static size_t size_of(uint64_t number)
{
    if (number % 1000 == 999)
        return sizeof body - number % 4096;
    return number % 100 == 99 ? 8 + number * 7 % 70000 : 8 + number % 120;
}

/* Every third message as a buffer. */
static shoal_status send_one(struct end *end)
{
    const unsigned char *from = body + (end->sent & 255);
    size_t size = size_of(end->sent) - 8;
    if (end->sent % 3 != 0)
        return wire_peer_send2(end->peer, (uint16_t)end->sent, &end->sent, 8, from, size);
    struct base_buf buf;
    base_buf_init(&buf, env_alloc(env_loop_env(end->loop)), WIRE_MESSAGE_MAX);
    wire_buf_begin(&buf);
    base_buf_append(&buf, &end->sent, 8);
    base_buf_append(&buf, from, size);
    shoal_status st = wire_peer_send_buf(end->peer, (uint16_t)end->sent, &buf);
    base_buf_fini(&buf);
    return st;
}

static void send_more(void *ctx)
{
    struct end *end = ctx;
    for (int i = 0; i < 500 && end->sent < COUNT && end->peer != NULL; i++) {
        if (send_one(end) != SHOAL_OK) {
            end->full++;
            break;
        }
        end->sent++;
    }
    if (end->sent < COUNT)
        shoal_assert(env_timer_start(end->loop, &end->timer, 100000, send_more, end) == SHOAL_OK);
}

static void on_message(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes,
                       size_t size)
{
    struct end *end = ctx;
    (void)peer;
    end->wrong = end->wrong || kind != (uint16_t)end->got || size != size_of(end->got) ||
                 (uintptr_t)bytes % 8 != 0 || memcmp(bytes, &end->got, 8) != 0 ||
                 memcmp((const char *)bytes + 8, body + (end->got & 255), size - 8) != 0;
    end->got++;
}

static void on_ready(void *ctx, struct wire_peer *peer)
{
    struct end *end = ctx;
    end->peer = peer;
    send_more(end);
}

static void on_closed(void *ctx, struct wire_peer *peer, const shoal_err *why)
{
    struct end *end = ctx;
    (void)peer;
    end->closed++;
    end->why = *why;
    end->peer = NULL;
    env_loop_stop(end->loop);
}

static const struct wire_peer_ops OPS = {on_ready, on_message, on_closed};

static void on_accept(void *ctx, struct wire_peer *peer)
{
    struct world *world = ctx;
    wire_peer_set(peer, &OPS, &world->home);
    on_ready(&world->home, peer);
}

static void on_refused(void *ctx, const char *address, const shoal_err *why)
{
    struct world *world = ctx;
    shoal_assert(strncmp(address, "127.0.0.1:", 10) == 0);
    world->refused++;
    world->refused_why = *why;
}

static void watch(void *ctx)
{
    struct world *world = ctx;
    if (world->home.got == COUNT && world->away.got == COUNT)
        env_loop_stop(world->loop);
    else
        shoal_assert(env_timer_start(world->loop, &world->late, 1000000, watch, world) == SHOAL_OK);
}

static void stop(void *ctx)
{
    env_loop_stop(ctx);
}

static void start(struct world *world, const char *listen, const struct wire_key *key)
{
    struct wire_opts opts = WIRE_OPTS_INIT;
    shoal_err err = SHOAL_ERR_INIT;
    opts.queue_max = 8 << 20;
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (unsigned char)(i * 31 + (i >> 9));
    assert_int_equal(shoal_env_real_new(&world->env, NULL), SHOAL_OK);
    assert_int_equal(env_loop_new(world->env, NULL, &world->loop, NULL), SHOAL_OK);
    world->home.loop = world->away.loop = world->loop;
    assert_int_equal(wire_key_new(world->env, &world->key, NULL), SHOAL_OK);
    shoal_status st = wire_server_new(world->loop, listen, &world->key, &opts, on_accept,
                                      on_refused, world, &world->server, &err);
    if (st != SHOAL_OK && strncmp(listen, "ucx:", 4) == 0) {
        print_message("skipped: %s\n", err.message);
        env_loop_free(world->loop);
        shoal_env_free(world->env);
        skip();
    }
    assert_int_equal(st, SHOAL_OK);
    assert_int_equal(wire_peer_connect(world->loop, wire_server_address(world->server),
                                       key != NULL ? key : &world->key, &opts, &OPS, &world->away,
                                       &world->away.peer, NULL),
                     SHOAL_OK);
}

static void finish(struct world *world)
{
    env_timer_stop(&world->late);
    env_timer_stop(&world->home.timer);
    env_timer_stop(&world->away.timer);
    wire_peer_close(world->home.peer);
    wire_peer_close(world->away.peer);
    wire_server_free(world->server);
    env_loop_free(world->loop);
    shoal_env_free(world->env);
}

static void both_ways_at_once_everything_arrives_and_nothing_is_sent_again(void **state)
{
    struct world world = {.env = NULL};

    start(&world, *state, NULL);
    watch(&world);
    assert_int_equal(env_loop_run(world.loop, NULL), SHOAL_OK);
    assert_int_equal(world.home.closed + world.away.closed + world.refused, 0);
    assert_true(world.home.got == COUNT && world.away.got == COUNT);
    assert_false(world.home.wrong || world.away.wrong);
    struct wire_count count = wire_peer_count(world.away.peer);
    assert_true(count.again == 0 && count.received_messages == COUNT);
    assert_true(wire_peer_count(world.home.peer).again == 0);
    finish(&world);
}

static void a_wrong_key_is_named_on_both_sides(void **state)
{
    struct world world = {.env = NULL};
    const struct wire_key key = {.bytes = {1}};

    start(&world, *state, &key);
    assert_int_equal(env_loop_run(world.loop, NULL), SHOAL_OK);
    assert_int_equal(world.away.closed, 1);
    assert_int_equal(world.away.why.code, SHOAL_E_DENIED);
    assert_int_equal(env_timer_start(world.loop, &world.late, 200000000, stop, world.loop),
                     SHOAL_OK);
    assert_int_equal(env_loop_run(world.loop, NULL), SHOAL_OK);
    assert_int_equal(world.refused, 1);
    assert_int_equal(world.refused_why.code, SHOAL_E_DENIED);
    finish(&world);
}

int main(void)
{
    static char tcp[] = "127.0.0.1:0", tls[] = "tls://127.0.0.1:0", ucx[] = "ucx://127.0.0.1:0";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(both_ways_at_once_everything_arrives_and_nothing_is_sent_again,
                                  tcp),
        cmocka_unit_test_prestate(both_ways_at_once_everything_arrives_and_nothing_is_sent_again,
                                  tls),
        cmocka_unit_test_prestate(a_wrong_key_is_named_on_both_sides, tcp),
        cmocka_unit_test_prestate(a_wrong_key_is_named_on_both_sides, tls),
        cmocka_unit_test_prestate(a_wrong_key_is_named_on_both_sides, ucx),
        cmocka_unit_test_prestate(both_ways_at_once_everything_arrives_and_nothing_is_sent_again,
                                  ucx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
