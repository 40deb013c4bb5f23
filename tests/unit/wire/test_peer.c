/* Tests of src/wire/peer.c and meet.c: meeting, talking, parting, and who is kept out. What a bad
 * network does is in test_peer_faults.c. */
#include "property.h"
#include "wire_world.h"

#include "base/rand.h"
#include <stdlib.h>

static void check_talk(struct world *world)
{
    assert_false(world->home.wrong || world->away.wrong);
    assert_true(world->home.got == world->away.sent && world->away.got == world->home.sent);
}

/* --- meeting and talking --- */

static void two_who_know_the_key_meet_and_talk(void **state)
{
    static const size_t SIZES[] = {0, 1, 7, 8, 9, 100, 5000, 65536, 70000, 3 << 20, 3, 0};
    struct world *world = world_of_two(1, NULL);
    (void)state;

    world_run(world, 1);
    assert_int_equal(world->accepted, 1);
    assert_int_equal(world->away.ready, 1);
    assert_int_equal(world->home.ready, 0);
    assert_string_equal(wire_peer_address(world->away.peer), world->address);
    assert_memory_equal(wire_peer_address(world->home.peer), "away:", 5);
    for (size_t i = 0; i < BASE_COUNT(SIZES); i++) {
        assert_int_equal(side_send(&world->home, SIZES[i]), SHOAL_OK);
        assert_int_equal(side_send(&world->away, SIZES[i]), SHOAL_OK);
    }
    world_run(world, 1);
    check_talk(world);
    struct wire_count home = wire_peer_count(world->home.peer);
    struct wire_count away = wire_peer_count(world->away.peer);
    assert_true(home.sent_messages == BASE_COUNT(SIZES) && home.again == 0 && away.again == 0);
    assert_true(home.received_messages == away.sent_messages);
    assert_true(home.sent_bytes == away.received_bytes && away.sent_bytes == home.received_bytes);
    world_run(world, 100); /* quiet, but alive */
    assert_int_equal(world->home.closed + world->away.closed + world->refused, 0);
    world_free(world);
}

static void what_is_sent_before_the_meeting_arrives_after_it(void **state)
{
    struct world *world = world_of_two(1, NULL);
    (void)state;

    for (int i = 0; i < 1000; i++)
        assert_int_equal(side_send(&world->away, 200), SHOAL_OK);
    world_run(world, 1);
    check_talk(world);
    world_free(world);
}

static void small_messages_of_one_callback_share_frames(void **state)
{
    struct world *world = world_of_two(1, NULL);
    struct wire_count before;
    (void)state;

    world_run(world, 1);
    before = wire_peer_count(world->away.peer);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(side_send(&world->away, 8), SHOAL_OK);
    world_run(world, 0.001);
    uint64_t bytes = wire_peer_count(world->away.peer).sent_bytes - before.sent_bytes;
    assert_true(bytes == 1000 * 16 + WIRE_FRAME_HEAD);
    check_talk(world);
    world_free(world);
}

static void answer_back(struct side *side, uint64_t number)
{
    (void)number;
    shoal_assert(side_send(side, 24) == SHOAL_OK);
}

static void a_ping_pong_needs_no_acknowledgements_of_its_own(void **state)
{
    struct world *world = world_of_two(1, NULL);
    const struct env_sim_net net = {.delay_mean_s = 1e-4};
    (void)state;

    world_run(world, 1);
    env_sim_set_net(world->env, &net);
    world->home.heard = world->away.heard = answer_back;
    assert_int_equal(side_send(&world->away, 24), SHOAL_OK);
    world_run(world, 1);
    assert_true(world->away.got > 1000);
    struct wire_count count = wire_peer_count(world->away.peer);
    assert_true(count.sent_bytes < 200 + count.sent_messages * (WIRE_FRAME_HEAD + 32) +
                                       60 * WIRE_FRAME_HEAD); /* one in 20 ms at most, as it is */
    assert_int_equal(count.again, 0);
    world_free(world);
}

static void a_message_too_large_is_refused_and_nothing_else_happens(void **state)
{
    struct world *world = world_of_two(1, NULL);
    (void)state;

    world_run(world, 1);
    assert_int_equal(
        wire_peer_send(world->away.peer, 1, world_scratch, (size_t)WIRE_MESSAGE_MAX + 1),
        SHOAL_E_LIMIT);
    assert_int_equal(
        wire_peer_send2(world->away.peer, 1, world_scratch, 1, world_scratch, SIZE_MAX),
        SHOAL_E_LIMIT);
    assert_int_equal(side_send(&world->away, 10), SHOAL_OK);
    world_run(world, 1);
    check_talk(world);
    world_free(world);
}

static void the_largest_message_arrives(void **state)
{
    struct world *world = world_of_two(1, NULL);
    unsigned char *bytes = calloc(1, WIRE_MESSAGE_MAX);
    (void)state;

    world_run(world, 1);
    assert_non_null(bytes);
    for (size_t i = 8; i < WIRE_MESSAGE_MAX; i++)
        bytes[i] = world_byte(0, i);
    assert_int_equal(wire_peer_send(world->away.peer, 0, bytes, WIRE_MESSAGE_MAX), SHOAL_OK);
    free(bytes);
    world_run(world, 1);
    assert_true(world->home.got == 1 && world->home.got_bytes == WIRE_MESSAGE_MAX);
    assert_false(world->home.wrong);
    world_free(world);
}

static void wrong_options_are_refused(void **state)
{
    static const struct wire_opts BAD[] = {{0, 10, 10, 10},
                                           {10, 10, 10, 10},
                                           {10, 100, 0, 10},
                                           {10, UINT64_MAX, 10, 10},
                                           {10, 100, 10, 0}};
    struct world *world = world_of_two(1, NULL);
    struct wire_peer *peer = NULL;
    struct wire_server *server = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    (void)state;

    for (size_t i = 0; i < BASE_COUNT(BAD); i++) {
        assert_int_equal(wire_peer_connect(world->away.loop, world->address, &world->key, &BAD[i],
                                           &SIDE_OPS, NULL, &peer, &err),
                         SHOAL_E_INVAL);
        assert_int_equal(wire_server_new(world->away.loop, "away:0", &world->key, &BAD[i],
                                         world_accept, NULL, NULL, &server, &err),
                         SHOAL_E_INVAL);
    }
    assert_int_equal(wire_peer_connect(world->away.loop, "nonsense", &world->key, NULL, &SIDE_OPS,
                                       NULL, &peer, &err),
                     SHOAL_E_FORMAT);
    assert_int_equal(wire_server_new(world->home.loop, world->address, &world->key, NULL,
                                     world_accept, NULL, NULL, &server, &err),
                     SHOAL_E_EXISTS);
    assert_true(peer == NULL && server == NULL);
    world_free(world);
}

static void nobody_there_is_said_to_the_caller(void **state)
{
    struct world *world = world_new(&base_alloc_libc, 1, NULL);
    (void)state;

    (void)snprintf(world->address, sizeof world->address, "home:9");
    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    world_run(world, 10);
    assert_int_equal(world->away.closed, 1);
    assert_string_equal(world->away.why.message, "cannot connect to 'home:9': connection refused");
    world_free(world);
}

/* --- parting --- */

static void one_who_closes_hears_nothing_and_the_other_hears_once(void **state)
{
    struct world *world = world_of_two(1, NULL);
    (void)state;

    world_run(world, 1);
    wire_peer_close(world->away.peer);
    world->away.peer = NULL;
    world_run(world, 20);
    assert_int_equal(world->away.closed, 0);
    assert_int_equal(world->home.closed, 1);
    assert_says(&world->home.why, "'", world->who, "' closed the connection");
    wire_peer_close(NULL);
    world_free(world);
}

static void close_at_the_fifth(struct side *side, uint64_t number)
{
    if (number != 4)
        return;
    wire_peer_close(side->peer);
    side->peer = NULL;
}

static void closing_inside_a_message_stops_the_rest_of_the_frame(void **state)
{
    struct world *world = world_of_two(1, NULL);
    (void)state;

    world_run(world, 1);
    world->home.heard = close_at_the_fifth;
    for (int i = 0; i < 100; i++)
        assert_int_equal(side_send(&world->away, 30), SHOAL_OK);
    world_run(world, 1);
    assert_int_equal(world->home.got, 5);
    assert_int_equal(world->home.closed, 0);
    assert_int_equal(world->away.closed, 1);
    world_free(world);
}

static void send_in_closed(void *ctx, struct wire_peer *peer, const shoal_err *why)
{
    shoal_assert(wire_peer_send(peer, 1, "x", 1) == SHOAL_OK);
    wire_peer_close(peer); /* too late, and harmless */
    side_closed(ctx, peer, why);
}

static void what_is_sent_to_a_peer_that_closes_is_dropped(void **state)
{
    static const struct wire_peer_ops OPS = {side_ready, side_message, send_in_closed};
    struct world *world = world_of_two(1, NULL);
    (void)state;

    world_run(world, 1);
    wire_peer_set(world->away.peer, &OPS, &world->away);
    wire_peer_close(world->home.peer);
    world->home.peer = NULL;
    world_run(world, 1);
    assert_int_equal(world->away.closed, 1);
    world_free(world);
}

static void a_killed_process_is_missed_by_its_peer(void **state)
{
    struct world *world = world_of_two(1, NULL);
    (void)state;

    world_run(world, 1);
    for (int i = 0; i < 100; i++)
        assert_int_equal(side_send(&world->home, 1000), SHOAL_OK);
    env_sim_kill(world->away.loop);
    world_run(world, 20);
    assert_int_equal(world->home.closed, 1);
    assert_int_equal(world->away.closed, 0);
    world_free(world);
}

static void die_at_the_fifth(struct side *side, uint64_t number)
{
    if (number == 4)
        env_sim_kill(side->loop);
}

static void a_process_that_dies_inside_a_message_harms_nothing(void **state)
{
    struct world *world = world_of_two(1, NULL);
    (void)state;

    world_run(world, 1);
    world->away.heard = die_at_the_fifth;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(side_send(&world->home, 1000), SHOAL_OK);
        assert_int_equal(side_send(&world->away, 1000), SHOAL_OK);
    }
    world_run(world, 20);
    assert_int_equal(world->home.closed, 1);
    world_free(world);
}

static void a_silent_line_ends_on_both_sides_with_words(void **state)
{
    struct world *world = world_of_two(1, NULL);
    (void)state;

    world_run(world, 5);
    assert_int_equal(side_send(&world->home, 10), SHOAL_OK);
    env_sim_cut(world->env, "home", "away", true);
    world_run(world, 9.9);
    assert_int_equal(world->home.closed + world->away.closed, 0);
    world_run(world, 1);
    assert_int_equal(world->home.closed, 1);
    assert_int_equal(world->away.closed, 1);
    assert_says(&world->away.why, "no word from '", world->address, "' for 10 s");
    assert_says(&world->home.why, "no word from '", world->who, "' for 10 s");
    assert_int_equal(world->home.why.code, SHOAL_E_IO);
    world_free(world);
}

static void a_short_cut_is_only_slow(void **state)
{
    struct world *world = world_of_two(1, NULL);
    (void)state;

    world_run(world, 5);
    for (int turn = 0; turn < 5; turn++) {
        env_sim_cut(world->env, "home", "away", true);
        for (int i = 0; i < 50; i++) {
            assert_int_equal(side_send(&world->home, 100), SHOAL_OK);
            assert_int_equal(side_send(&world->away, 100), SHOAL_OK);
            world_run(world, 0.18);
        }
        env_sim_cut(world->env, "home", "away", false);
        world_run(world, 1);
        check_talk(world);
    }
    assert_int_equal(wire_peer_count(world->away.peer).again, 0);
    world_free(world);
}

/* A loop that was not run (a stopped process) must not take its own sleep for the others' silence. */
static void who_slept_does_not_blame_the_others(void **state)
{
    struct world *world = world_of_two(1, NULL);
    (void)state;

    world_run(world, 5);
    env_sim_advance(world->env, WORLD_S(300));
    world_run(world, 20);
    assert_int_equal(world->home.closed + world->away.closed, 0);
    assert_int_equal(side_send(&world->home, 10), SHOAL_OK);
    world_run(world, 1);
    check_talk(world);
    world_free(world);
}

/* --- bounds --- */

static void what_waits_is_bounded_and_the_sender_is_told(void **state)
{
    struct wire_opts opts = WIRE_OPTS_INIT;
    struct base_alloc_track track;
    struct world *world = NULL;
    (void)state;

    opts.queue_max = 1 << 20;
    base_alloc_track_init(&track, &base_alloc_libc);
    world = world_new(&track.alloc, 1, &opts);
    assert_int_equal(world_connect(world, NULL, &opts), SHOAL_OK);
    world_run(world, 1);
    env_sim_cut(world->env, "home", "away", true);
    for (int i = 0; i < 100000; i++)
        (void)!side_send(&world->away, 1000);
    assert_true(world->away.limits > 90000 && world->away.sent > 900);
    assert_true(track.live_bytes < 4 << 20); /* kept, and once more on the way */
    env_sim_cut(world->env, "home", "away", false);
    world_run(world, 1);
    check_talk(world);
    assert_int_equal(side_send(&world->away, 1000), SHOAL_OK);
    world_run(world, 1);
    check_talk(world);
    world_free(world);
    assert_int_equal(track.live_count, 0);
}

/* --- strangers --- */

static void a_wrong_key_is_named_on_both_sides(void **state)
{
    struct world *world = world_new(&base_alloc_libc, 1, NULL);
    struct wire_key key = world->key;
    (void)state;

    key.bytes[31] ^= 1;
    assert_int_equal(world_connect(world, &key, NULL), SHOAL_OK);
    assert_int_equal(side_send(&world->away, 100), SHOAL_OK);
    world_run(world, 20);
    assert_int_equal(world->accepted + world->away.ready + world->home.got, 0);
    assert_int_equal(world->refused, 1);
    assert_int_equal(world->away.closed, 1);
    assert_says(&world->away.why, "'", world->address, "' does not know this key");
    assert_says(&world->refused_why, "'", world->who, "' does not know this key");
    assert_int_equal(world->refused_why.code, SHOAL_E_DENIED);
    world_free(world);
}

static size_t hello_bytes(unsigned char out[WIRE_HELLO_SIZE])
{
    struct wire_hello hello = {.kind = WIRE_HELLO, .role = WIRE_CLIENT};
    memset(hello.nonce, 9, sizeof hello.nonce);
    wire_hello_format(&hello, out);
    return WIRE_HELLO_SIZE;
}

static void another_version_is_named_on_both_sides(void **state)
{
    struct world *world = world_new(&base_alloc_libc, 1, NULL);
    struct raw *raw = raw_new(world);
    unsigned char hello[WIRE_HELLO_SIZE];
    (void)state;

    (void)hello_bytes(hello);
    base_put16(hello + WIRE_MAGIC_SIZE, 7);
    raw_connect(raw, world->address, hello, sizeof hello);
    world_run(world, 0.5);
    assert_int_equal(world->refused, 1);
    assert_says(&world->refused_why, "'", world->who,
                "' speaks version 7 of the protocol, this side speaks version 1");
    assert_int_equal(raw->got_size, WIRE_HELLO_SIZE); /* so that it can say the same */
    assert_memory_equal(raw->got, WIRE_MAGIC, WIRE_MAGIC_SIZE);
    assert_int_equal(base_get16(raw->got + WIRE_MAGIC_SIZE), WIRE_VERSION);
    world_run(world, 5);
    assert_int_equal(raw->closed, 1);
    assert_int_equal(world->refused, 1);
    raw_free(raw);
    world_free(world);
}

static void reply_of_version_9(struct raw *raw, const unsigned char *bytes, size_t size)
{
    unsigned char reply[8] = "SHOALW";
    (void)bytes;
    (void)size;
    base_put16(reply + WIRE_MAGIC_SIZE, 9);
    shoal_assert(env_conn_send(raw->conn, reply, sizeof reply) == SHOAL_OK);
}

static void a_client_names_the_servers_version(void **state)
{
    struct world *world = world_new(&base_alloc_libc, 1, NULL);
    struct raw *raw = raw_new(world);
    struct env_listener *listener = NULL;
    (void)state;

    raw->heard = reply_of_version_9;
    assert_int_equal(env_listen(raw->loop, "bad:5", raw_accepted, raw, &listener, NULL), SHOAL_OK);
    (void)snprintf(world->address, sizeof world->address, "bad:5");
    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    world_run(world, 1);
    assert_string_equal(world->away.why.message,
                        "'bad:5' speaks version 9 of the protocol, this side speaks version 1");
    raw_free(raw);
    world_free(world);
}

/* Sends in pieces, a piece a millisecond. */
struct dripper {
    struct raw *raw;
    struct env_timer timer;
    unsigned char bytes[4096];
    size_t size, at;
    struct base_rand rand;
};

static void drip(void *ctx)
{
    struct dripper *dripper = ctx;
    size_t part = 1 + base_rand_below(&dripper->rand, 200);
    if (dripper->raw->conn == NULL)
        return;
    if (part > dripper->size - dripper->at)
        part = dripper->size - dripper->at;
    shoal_assert(env_conn_send(dripper->raw->conn, dripper->bytes + dripper->at, part) == SHOAL_OK);
    dripper->at += part;
    if (dripper->at < dripper->size)
        shoal_assert(env_timer_start(dripper->raw->loop, &dripper->timer, 1000000, drip, dripper) ==
                     SHOAL_OK);
}

/* Noise, perhaps behind the beginning of a hello, or a whole one. */
static void garble(struct dripper *dripper)
{
    dripper->size = 1 + base_rand_below(&dripper->rand, sizeof dripper->bytes);
    for (size_t i = 0; i < dripper->size; i++)
        dripper->bytes[i] = (unsigned char)base_rand_u64(&dripper->rand);
    if (base_rand_below(&dripper->rand, 2) == 0) {
        unsigned char hello[WIRE_HELLO_SIZE];
        size_t part = base_rand_below(&dripper->rand, 1 + hello_bytes(hello));
        if (base_rand_below(&dripper->rand, 2) == 0)
            part = sizeof hello;
        memcpy(dripper->bytes, hello, part < dripper->size ? part : dripper->size);
    }
}

static void garbage_is_refused_once_and_reaches_nobody(void **state)
{
    (void)state;

    for (int seed = 0; seed < property_count(500); seed++) {
        struct world *world = world_new(&base_alloc_libc, (uint64_t)seed, NULL);
        struct dripper dripper = {.raw = raw_new(world)};
        base_rand_init(&dripper.rand, (uint64_t)seed, "garbage");
        garble(&dripper);
        raw_connect(dripper.raw, world->address, NULL, 0);
        assert_int_equal(
            env_timer_start(dripper.raw->loop, &dripper.timer, 1000000, drip, &dripper), SHOAL_OK);
        world_run(world, 20);
        assert_int_equal(world->refused, 1);
        assert_int_equal(world->accepted, 0);
        assert_int_equal(dripper.raw->closed, 1);
        raw_free(dripper.raw);
        world_free(world);
    }
}

static void one_who_says_nothing_is_sent_away(void **state)
{
    struct world *world = world_new(&base_alloc_libc, 1, NULL);
    struct raw *raw = raw_new(world);
    (void)state;

    raw_connect(raw, world->address, NULL, 0);
    world_run(world, 4.9);
    assert_int_equal(world->refused, 0);
    world_run(world, 0.2);
    assert_int_equal(world->refused, 1);
    assert_says(&world->refused_why, "'", world->who, "' did not prove the key within 5 s");
    assert_int_equal(raw->closed, 1);
    raw_free(raw);
    world_free(world);
}

static void a_flood_of_strangers_disturbs_nobody(void **state)
{
    enum { FLOOD = 2000 };
    struct base_alloc_track track;
    unsigned char hello[WIRE_HELLO_SIZE];
    struct raw **raws = calloc(FLOOD, sizeof *raws);
    (void)state;

    base_alloc_track_init(&track, &base_alloc_libc);
    struct world *world = world_new(&track.alloc, 1, NULL);
    (void)hello_bytes(hello);
    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    world_run(world, 1);
    size_t quiet_bytes = track.live_bytes;
    world->home.heard = world->away.heard = answer_back;
    assert_int_equal(side_send(&world->home, 24), SHOAL_OK);
    const struct env_sim_net net = {.delay_mean_s = 1e-4};
    env_sim_set_net(world->env, &net);
    for (int i = 0; i < FLOOD; i++) {
        raws[i] = raw_new(world);
        raw_connect(raws[i], world->address, hello, i % 2 == 0 ? sizeof hello : 5);
        world_run(world, 0.0005);
    }
    assert_true(world->home.got > 1000 && world->home.closed == 0);
    assert_true(world->refused >= FLOOD - 300);
    /* the flooders' own loops and links are in this too */
    assert_true(track.live_bytes - quiet_bytes < (size_t)FLOOD * 1500 + 300 * 6000);
    struct side old = world->away; /* and one more comes in */
    world->away = (struct side){.world = world, .loop = old.loop};
    uint32_t accepted = world->accepted;
    struct side home = world->home;
    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    world_run(world, 1);
    assert_int_equal(world->accepted, accepted + 1);
    assert_int_equal(world->away.ready, 1);
    wire_peer_close(old.peer);
    wire_peer_close(home.peer);
    world_run(world, 20);
    assert_int_equal(world->refused, FLOOD);
    for (int i = 0; i < FLOOD; i++)
        raw_free(raws[i]);
    free(raws);
    world_free(world);
    assert_int_equal(track.live_count, 0);
}

/* --- one who listens, and tries what it has heard --- */

static void send_back(struct raw *raw, const unsigned char *bytes, size_t size)
{
    shoal_assert(env_conn_send(raw->conn, bytes, size) == SHOAL_OK);
}

/* The client's own nonce and whatever proof can be had without the key. */
static void send_back_as_a_reply(struct raw *raw, const unsigned char *bytes, size_t size)
{
    unsigned char reply[WIRE_HELLO_SIZE];
    if (size != sizeof reply)
        return;
    memcpy(reply, bytes, sizeof reply);
    reply[8] = WIRE_REPLY;
    reply[9] = WIRE_SERVER;
    shoal_assert(env_conn_send(raw->conn, reply, sizeof reply) == SHOAL_OK);
}

static void a_mirror_is_not_taken_for_a_server(void **state)
{
    void (*const mirrors[])(struct raw *, const unsigned char *, size_t) = {send_back,
                                                                            send_back_as_a_reply};
    (void)state;

    for (size_t i = 0; i < BASE_COUNT(mirrors); i++) {
        struct world *world = world_new(&base_alloc_libc, 1, NULL);
        struct raw *raw = raw_new(world);
        struct env_listener *listener = NULL;
        raw->heard = mirrors[i];
        assert_int_equal(env_listen(raw->loop, "bad:5", raw_accepted, raw, &listener, NULL),
                         SHOAL_OK);
        (void)snprintf(world->address, sizeof world->address, "bad:5");
        assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
        assert_int_equal(side_send(&world->away, 1000), SHOAL_OK);
        world_run(world, 20);
        assert_int_equal(world->away.closed, 1);
        assert_int_equal(world->away.ready, 0);
        assert_true(raw->got_size <= 2 * WIRE_HELLO_SIZE); /* no message left the house */
        raw_free(raw);
        world_free(world);
    }
}

/* Answers the server's proof with the same one. */
static void reflect_the_proof(struct raw *raw, const unsigned char *bytes, size_t size)
{
    unsigned char proof[WIRE_HELLO_SIZE];
    if (size != sizeof proof)
        return;
    memcpy(proof, bytes, sizeof proof);
    proof[8] = WIRE_PROOF;
    proof[9] = WIRE_CLIENT;
    shoal_assert(env_conn_send(raw->conn, proof, sizeof proof) == SHOAL_OK);
}

static void a_servers_own_proof_does_not_open_it(void **state)
{
    struct world *world = world_new(&base_alloc_libc, 1, NULL);
    struct raw *raw = raw_new(world);
    unsigned char hello[WIRE_HELLO_SIZE];
    (void)state;

    (void)hello_bytes(hello);
    raw->heard = reflect_the_proof;
    raw_connect(raw, world->address, hello, sizeof hello);
    world_run(world, 20);
    assert_int_equal(raw->got_size, WIRE_HELLO_SIZE);
    assert_int_equal(world->accepted, 0);
    assert_int_equal(world->refused, 1);
    assert_says(&world->refused_why, "'", world->who, "' does not know this key");
    raw_free(raw);
    world_free(world);
}

/* Stands between client and server, passes on, and may change what passes. */
struct middle {
    struct raw *to_client, *to_server;
    const char *server;
    size_t flip_at; /* of the bytes to the server; SIZE_MAX: none */
};

static void pass_to_server(struct raw *raw, const unsigned char *bytes, size_t size)
{
    struct middle *middle = raw->ctx;
    unsigned char copy[4096];
    size_t before = raw->got_size - size;
    shoal_assert(size <= sizeof copy);
    memcpy(copy, bytes, size);
    if (middle->flip_at >= before && middle->flip_at < before + size)
        copy[middle->flip_at - before] ^= 0x40;
    if (middle->to_server->conn != NULL)
        shoal_assert(env_conn_send(middle->to_server->conn, copy, size) == SHOAL_OK);
}

static void pass_to_client(struct raw *raw, const unsigned char *bytes, size_t size)
{
    struct middle *middle = raw->ctx;
    if (middle->to_client->conn != NULL)
        shoal_assert(env_conn_send(middle->to_client->conn, bytes, size) == SHOAL_OK);
}

static void middle_start(struct middle *middle, struct world *world)
{
    struct env_listener *listener = NULL;
    middle->to_client = raw_new(world);
    middle->to_server = raw_new(world);
    middle->to_client->ctx = middle->to_server->ctx = middle;
    middle->to_client->heard = pass_to_server;
    middle->to_server->heard = pass_to_client;
    shoal_assert(env_listen(middle->to_client->loop, "bad:6", raw_accepted, middle->to_client,
                            &listener, NULL) == SHOAL_OK);
    raw_connect(middle->to_server, world->address, NULL, 0);
    world_run(world, 0.1);
    (void)snprintf(world->address, sizeof world->address, "bad:6");
}

static void what_one_connection_said_opens_no_other(void **state)
{
    struct world *world = world_new(&base_alloc_libc, 1, NULL);
    struct middle middle = {.flip_at = SIZE_MAX};
    char server[WORLD_ADDRESS_MAX];
    (void)state;

    memcpy(server, world->address, sizeof server);
    middle_start(&middle, world);
    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    for (int i = 0; i < 10; i++)
        assert_int_equal(side_send(&world->away, 100), SHOAL_OK);
    world_run(world, 1);
    assert_int_equal(world->accepted, 1);
    check_talk(world);

    struct raw *raw = raw_new(world); /* the same bytes once more */
    raw_connect(raw, server, middle.to_client->got, middle.to_client->got_size);
    world_run(world, 1);
    assert_int_equal(world->accepted, 1);
    assert_int_equal(world->refused, 1);
    assert_true(world->home.got == 10);
    raw_free(raw);
    raw_free(middle.to_client);
    raw_free(middle.to_server);
    world_free(world);
}

static void a_byte_changed_on_the_way_ends_it_and_is_never_delivered(void **state)
{
    (void)state;

    for (size_t at = 0; at < 2 * WIRE_HELLO_SIZE + 3 * WIRE_FRAME_HEAD + 300; at += 3) {
        struct world *world = world_new(&base_alloc_libc, 1, NULL);
        struct middle middle = {.flip_at = at};
        middle_start(&middle, world);
        assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
        for (int i = 0; i < 30; i++)
            assert_int_equal(side_send(&world->away, 100), SHOAL_OK);
        world_run(world, 0.6);
        /* Where a changed nonce in the hello or proof is not noticed by itself, the proof fails. */
        assert_false(world->home.wrong);
        bool nonce_of_the_proof = at >= WIRE_HELLO_SIZE + 16 && at < WIRE_HELLO_SIZE + 16 + 32;
        if (nonce_of_the_proof)
            assert_int_equal(world->accepted, 1); /* repeated there for nobody */
        else
            assert_true(world->home.got == 0 && world->home.closed + world->refused == 1);
        raw_free(middle.to_client);
        raw_free(middle.to_server);
        world_run(world, 1);
        world_free(world);
    }
}

/* --- a slow line --- */

enum { DRIP = 1000 };
#define DRIP_NS ((uint64_t)200000000)

struct slow {
    struct middle middle; /* first: it is its context */
    struct env_timer timer;
    unsigned char waiting[1 << 18];
    size_t size, at;
};

static void drip_on(void *ctx)
{
    struct slow *slow = ctx;
    struct raw *to_server = slow->middle.to_server;
    size_t part = slow->size - slow->at < DRIP ? slow->size - slow->at : DRIP;
    if (to_server->conn != NULL && part > 0)
        shoal_assert(env_conn_send(to_server->conn, slow->waiting + slow->at, part) == SHOAL_OK);
    slow->at += part;
    if (slow->at < slow->size)
        shoal_assert(env_timer_start(slow->middle.to_client->loop, &slow->timer, DRIP_NS, drip_on,
                                     slow) == SHOAL_OK);
}

static void pass_slowly(struct raw *raw, const unsigned char *bytes, size_t size)
{
    struct slow *slow = raw->ctx;
    shoal_assert(size <= sizeof slow->waiting - slow->size);
    memcpy(slow->waiting + slow->size, bytes, size);
    slow->size += size;
    if (slow->timer.place == 0)
        drip_on(slow);
}

/* 100 kB at 5 kB/s take twice the patience of the sender, and its questions wait behind them. */
static void a_large_message_over_a_slow_line_is_not_taken_for_death(void **state)
{
    struct world *world = world_new(&base_alloc_libc, 1, NULL);
    struct slow *slow = calloc(1, sizeof *slow);
    (void)state;

    slow->middle.flip_at = SIZE_MAX;
    middle_start(&slow->middle, world);
    slow->middle.to_client->heard = pass_slowly;
    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    world_run(world, 1);
    assert_int_equal(world->accepted, 1);
    assert_int_equal(side_send(&world->away, 100000), SHOAL_OK);
    world_run(world, 30);
    assert_int_equal(world->home.closed + world->away.closed, 0);
    check_talk(world);
    assert_int_equal(wire_peer_count(world->away.peer).again, 0);
    raw_free(slow->middle.to_client);
    raw_free(slow->middle.to_server);
    world_run(world, 1);
    world_free(world);
    free(slow);
}

/* --- servers --- */

static void a_server_may_go_and_its_peers_stay(void **state)
{
    struct world *world = world_new(&base_alloc_libc, 1, NULL);
    struct raw *raw = raw_new(world);
    (void)state;

    world->free_in_accept = true;
    raw_connect(raw, world->address, "SHO", 3); /* a stranger that waits */
    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    world_run(world, 1);
    assert_null(world->server);
    assert_int_equal(raw->closed, 1);
    assert_int_equal(world->refused, 0);
    assert_int_equal(side_send(&world->home, 10), SHOAL_OK);
    assert_int_equal(side_send(&world->away, 10), SHOAL_OK);
    world_run(world, 1);
    check_talk(world);
    wire_server_free(NULL);
    raw_free(raw);
    world_free(world);
}

static void a_server_may_go_when_it_refuses(void **state)
{
    unsigned char hello[WIRE_HELLO_SIZE];
    (void)state;

    for (uint16_t version = 1; version <= 2; version++) {
        struct world *world = world_new(&base_alloc_libc, 1, NULL);
        struct raw *raw = raw_new(world);
        world->free_in_refused = true;
        (void)hello_bytes(hello);
        hello[8] = 77;
        base_put16(hello + WIRE_MAGIC_SIZE, version);
        raw_connect(raw, world->address, hello, sizeof hello);
        world_run(world, 10);
        assert_int_equal(world->refused, 1);
        assert_null(world->server);
        assert_int_equal(raw->closed, 1);
        raw_free(raw);
        world_free(world);
    }
}

static void accept_nobody(void *ctx, struct wire_peer *peer)
{
    (void)peer;
    ++*(int *)ctx;
}

static void a_peer_that_nobody_takes_is_closed(void **state)
{
    struct world *world = world_new(&base_alloc_libc, 1, NULL);
    struct wire_server *server = NULL;
    int count = 0;
    (void)state;

    assert_int_equal(wire_server_new(world->home.loop, "home:77", &world->key, NULL, accept_nobody,
                                     NULL, &count, &server, NULL),
                     SHOAL_OK);
    (void)snprintf(world->address, sizeof world->address, "home:77");
    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    world_run(world, 1);
    assert_int_equal(count, 1);
    assert_int_equal(world->away.closed, 1);
    wire_server_free(server);
    world_free(world);
}

/* --- without memory --- */

static shoal_status meet_and_talk(const struct base_alloc *alloc, void *ctx)
{
    static const struct env_sim_net NET = {.delay_mean_s = 1e-3, .duplicate = 0.2, .reorder = 0.3};

    (void)ctx;
    return world_meet_and_talk(alloc, "home:0", &NET, 30);
}

static void talking_survives_every_failed_allocation(void **state)
{
    (void)state;
    torture_run_sampled(meet_and_talk, NULL, 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_who_know_the_key_meet_and_talk),
        cmocka_unit_test(what_is_sent_before_the_meeting_arrives_after_it),
        cmocka_unit_test(small_messages_of_one_callback_share_frames),
        cmocka_unit_test(a_ping_pong_needs_no_acknowledgements_of_its_own),
        cmocka_unit_test(a_message_too_large_is_refused_and_nothing_else_happens),
        cmocka_unit_test(the_largest_message_arrives),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(nobody_there_is_said_to_the_caller),
        cmocka_unit_test(one_who_closes_hears_nothing_and_the_other_hears_once),
        cmocka_unit_test(closing_inside_a_message_stops_the_rest_of_the_frame),
        cmocka_unit_test(what_is_sent_to_a_peer_that_closes_is_dropped),
        cmocka_unit_test(a_killed_process_is_missed_by_its_peer),
        cmocka_unit_test(a_process_that_dies_inside_a_message_harms_nothing),
        cmocka_unit_test(a_silent_line_ends_on_both_sides_with_words),
        cmocka_unit_test(a_short_cut_is_only_slow),
        cmocka_unit_test(who_slept_does_not_blame_the_others),
        cmocka_unit_test(what_waits_is_bounded_and_the_sender_is_told),
        cmocka_unit_test(a_wrong_key_is_named_on_both_sides),
        cmocka_unit_test(another_version_is_named_on_both_sides),
        cmocka_unit_test(a_client_names_the_servers_version),
        cmocka_unit_test(garbage_is_refused_once_and_reaches_nobody),
        cmocka_unit_test(one_who_says_nothing_is_sent_away),
        cmocka_unit_test(a_flood_of_strangers_disturbs_nobody),
        cmocka_unit_test(a_mirror_is_not_taken_for_a_server),
        cmocka_unit_test(a_servers_own_proof_does_not_open_it),
        cmocka_unit_test(what_one_connection_said_opens_no_other),
        cmocka_unit_test(a_byte_changed_on_the_way_ends_it_and_is_never_delivered),
        cmocka_unit_test(a_large_message_over_a_slow_line_is_not_taken_for_death),
        cmocka_unit_test(a_server_may_go_and_its_peers_stay),
        cmocka_unit_test(a_server_may_go_when_it_refuses),
        cmocka_unit_test(a_peer_that_nobody_takes_is_closed),
        cmocka_unit_test(talking_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
