/* Tests of src/wire/peer.c with one who knows the key, and says what is not so. */
#include "wire_world.h"

#include "wire/peer_core.h"
#include <stdlib.h>

struct liar {
    struct world *world;
    bool proved;
    uint64_t seed;
};

static void prove_to_server(struct raw *raw, const unsigned char *bytes, size_t size)
{
    struct liar *liar = raw->ctx;
    const struct wire_key *key = &liar->world->key;
    struct wire_hello reply, proof = {.kind = WIRE_PROOF, .role = WIRE_CLIENT};
    unsigned char record[WIRE_HELLO_SIZE];
    if (liar->proved || size != WIRE_HELLO_SIZE || !wire_hello_parse(bytes, &reply))
        return;
    liar->proved = true;
    memset(proof.nonce, 9, sizeof proof.nonce);
    shoal_assert(wire_prove(key, WIRE_CLIENT, proof.nonce, reply.nonce, proof.proof));
    shoal_assert(wire_seed(key, WIRE_CLIENT, proof.nonce, reply.nonce, &liar->seed));
    wire_hello_format(&proof, record);
    shoal_assert(env_conn_send(raw->conn, record, sizeof record) == SHOAL_OK);
}

/* One who knows the key and has been let in. */
static struct raw *come_in(struct world *world, struct liar *liar)
{
    struct raw *raw = raw_new(world);
    struct wire_hello first = {.kind = WIRE_HELLO, .role = WIRE_CLIENT};
    unsigned char hello[WIRE_HELLO_SIZE];
    memset(first.nonce, 9, sizeof first.nonce);
    wire_hello_format(&first, hello);
    raw->heard = prove_to_server;
    raw->ctx = liar;
    raw_connect(raw, world->address, hello, sizeof hello);
    world_run(world, 0.01);
    assert_int_equal(world->accepted, 1);
    return raw;
}

static void who_acknowledges_what_was_never_sent_is_closed(void **state)
{
    static const struct {
        enum wire_frame_kind kind;
        uint64_t sequence, acknowledged;
        bool is_lie;
    } CASES[] = {
        {WIRE_ACK, 0, 1, false},    {WIRE_ACK, 0, 0, false}, /* one frame was sent */
        {WIRE_ANSWER, 1, 1, false}, {WIRE_ACK, 0, 2, true},    {WIRE_ACK, 0, UINT64_MAX, true},
        {WIRE_ASK, 0, 2, true},     {WIRE_ANSWER, 2, 1, true},
    };
    (void)state;

    for (size_t i = 0; i < BASE_COUNT(CASES); i++) {
        struct world *world = world_new(&base_alloc_libc, 1, NULL);
        struct liar liar = {.world = world};
        struct raw *raw = come_in(world, &liar);
        _Alignas(8) unsigned char frame[WIRE_FRAME_HEAD];
        assert_int_equal(side_send(&world->home, 100), SHOAL_OK);
        world_run(world, 0.01);
        wire_frame_seal(frame, CASES[i].kind, CASES[i].sequence, CASES[i].acknowledged, 0,
                        liar.seed);
        assert_int_equal(env_conn_send(raw->conn, frame, sizeof frame), SHOAL_OK);
        world_run(world, 0.01);
        assert_int_equal(world->home.closed, CASES[i].is_lie);
        assert_int_equal(raw->closed, CASES[i].is_lie);
        if (CASES[i].is_lie)
            assert_says(&world->home.why, "'", world->who, "' broke the protocol");
        raw_free(raw);
        world_free(world);
    }
}

/* Copies are answered, since a bad network makes some; whoever sends nothing else is not. */
static void who_says_hello_without_end_is_closed(void **state)
{
    enum { COPIES_MAX = 1000 };
    struct world *world = world_new(&base_alloc_libc, 1, NULL);
    struct raw *raw = raw_new(world);
    struct wire_hello first = {.kind = WIRE_HELLO, .role = WIRE_CLIENT};
    unsigned char hello[WIRE_HELLO_SIZE];
    (void)state;

    memset(first.nonce, 9, sizeof first.nonce);
    wire_hello_format(&first, hello);
    raw_connect(raw, world->address, hello, sizeof hello);
    world_run(world, 0.01);
    for (int i = 1; i < COPIES_MAX; i++) {
        assert_int_equal(env_conn_send(raw->conn, hello, sizeof hello), SHOAL_OK);
        world_run(world, 0.0001);
    }
    assert_int_equal(raw->closed + world->refused, 0);
    assert_int_equal(env_conn_send(raw->conn, hello, sizeof hello), SHOAL_OK);
    world_run(world, 0.0001);
    assert_int_equal(raw->closed, 1);
    assert_int_equal(world->refused, 1);
    assert_says(&world->refused_why, "'", world->who, "' broke the protocol");
    raw_free(raw);
    world_free(world);
}

/* Sends so many questions in one go, before it can have read an answer. */
static void ask(struct raw *raw, uint64_t seed, size_t count)
{
    unsigned char *frames = malloc(count * WIRE_FRAME_HEAD);
    assert_non_null(frames);
    for (size_t i = 0; i < count; i++)
        wire_frame_seal(frames + i * WIRE_FRAME_HEAD, WIRE_ASK, 0, 0, 0, seed);
    assert_int_equal(env_conn_send(raw->conn, frames, count * WIRE_FRAME_HEAD), SHOAL_OK);
    free(frames);
}

static void who_asks_and_does_not_read_costs_a_bounded_amount(void **state)
{
    const struct env_sim_net slow = {.delay_mean_s = 1};
    struct base_alloc_track track;
    (void)state;

    base_alloc_track_init(&track, &base_alloc_libc);
    struct world *world = world_new(&track.alloc, 1, NULL);
    struct liar liar = {.world = world};
    struct raw *raw = come_in(world, &liar);
    env_sim_set_net(world->env, &slow);
    ask(raw, liar.seed, 200000);
    size_t most = 0;
    for (int i = 0; i < 800; i++) {
        world_run(world, 0.01);
        if (world->home.peer == NULL)
            break;
        size_t queued = wire_stream_queued(world->home.peer->stream);
        most = queued > most ? queued : most;
    }
    assert_in_range(most, 1 << 10, 257 << 10);
    assert_int_equal(world->home.closed, 0);
    env_sim_set_net(world->env, &(struct env_sim_net){.delay_mean_s = 0});
    world_run(world, 1);
    raw->got_size = 0;
    ask(raw, liar.seed, 1);
    world_run(world, 1);
    assert_true(raw->got_size >= WIRE_FRAME_HEAD); /* who reads is answered */
    raw_free(raw);
    world_free(world);
    assert_int_equal(track.live_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_acknowledges_what_was_never_sent_is_closed),
        cmocka_unit_test(who_says_hello_without_end_is_closed),
        cmocka_unit_test(who_asks_and_does_not_read_costs_a_bounded_amount),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
