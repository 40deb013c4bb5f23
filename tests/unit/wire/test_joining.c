/* A server's two keys: both open it, it knows which one came, and neither passes for the other. Over TCP
 * and TLS, on networks that lose, repeat and reorder. */
#include "wire_world.h"

static const char *const LISTEN[] = {"home:0", "tls://home:0"};

/* TLS wants a stream: there nothing is lost on the way. */
static struct world *world_on(const char *listen, uint64_t seed, double fault)
{
    struct world *world = world_at(&base_alloc_libc, seed, listen, NULL);
    struct env_sim_net net = {fault > 0 ? 1e-3 : 0, fault, fault, fault};

    assert_non_null(world);
    if (strncmp(listen, "tls", 3) == 0)
        net.duplicate = net.reorder = net.drop = 0;
    env_sim_set_net(world->env, &net);
    return world;
}

static void both_keys_open_and_the_server_knows_which_came(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct world *world = world_on(LISTEN[seed / 2 % 2], seed, 0.02);
        struct wire_key key = world->key;
        bool joins = seed % 2 == 1;
        if (joins)
            assert_true(wire_key_joining(&world->key, &key));
        assert_int_equal(world_connect(world, &key, NULL), SHOAL_OK);
        world_run(world, 5);
        assert_int_equal(world->accepted, 1);
        assert_true(wire_peer_joins(world->home.peer) == joins);
        assert_true(wire_peer_joins(world->away.peer) == joins);
        assert_int_equal(side_send(&world->home, 5000), SHOAL_OK);
        assert_int_equal(side_send(&world->away, 5000), SHOAL_OK);
        world_run(world, 10);
        assert_true(world->home.got == 1 && world->away.got == 1);
        world_free(world);
    }
}

static void neither_key_passes_for_the_other(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct world *world = world_on(LISTEN[seed / 2 % 2], seed, 0);
        struct wire_key key = world->key;
        if (seed % 2 == 1)
            assert_true(wire_key_joining(&world->key, &key));
        key.joins = !key.joins;
        assert_int_equal(world_connect(world, &key, NULL), SHOAL_OK);
        world_run(world, 15);
        assert_int_equal(world->accepted, 0);
        assert_true(world->away.closed == 1 && world->away.why.code == SHOAL_E_DENIED);
        assert_true(world->refused == 1 && world->refused_why.code == SHOAL_E_DENIED);
        world_free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_keys_open_and_the_server_knows_which_came),
        cmocka_unit_test(neither_key_passes_for_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
