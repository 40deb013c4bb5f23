/* Tests of src/wire/peer.c with one who knows the key, and says what is not so. */
#include "wire_world.h"

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
        struct raw *raw = raw_new(world);
        struct liar liar = {.world = world};
        struct wire_hello first = {.kind = WIRE_HELLO, .role = WIRE_CLIENT};
        unsigned char hello[WIRE_HELLO_SIZE];
        _Alignas(8) unsigned char frame[WIRE_FRAME_HEAD];
        memset(first.nonce, 9, sizeof first.nonce);
        wire_hello_format(&first, hello);
        raw->heard = prove_to_server;
        raw->ctx = &liar;
        raw_connect(raw, world->address, hello, sizeof hello);
        world_run(world, 0.01);
        assert_int_equal(world->accepted, 1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_acknowledges_what_was_never_sent_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
