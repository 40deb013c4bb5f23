/* Tests of src/wire: what is left in memory of a key and of what is derived from it. */
#include "wire_world.h"

#include "secrets.h"
#include "wire/peer_core.h"

/* The key, and what TLS makes of it, in no block that was freed. */
static void assert_no_secrets(const struct secrets *s, const struct wire_key *key)
{
    unsigned char secret[WIRE_SECRET_SIZE];
    char text[2 * WIRE_KEY_SIZE + 1];
    wire_key_format(key, text);
    assert_true(wire_secret(key, secret));
    assert_true(s->count > 10); /* else it searched nothing */
    assert_int_equal(secrets_find(s, key->bytes, sizeof key->bytes), 0);
    assert_int_equal(secrets_find(s, text, 2 * WIRE_KEY_SIZE), 0);
    assert_int_equal(secrets_find(s, secret, sizeof secret), 0);
}

static void what_was_said_with_a_key_leaves_none_of_it_in_memory(void **state)
{
    static const char *const LISTEN[] = {"home:0", "tls://home:0"};
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(LISTEN); i++) {
        struct secrets s;
        secrets_init(&s);
        struct world *world = world_at(&s.alloc, 1, LISTEN[i], NULL);
        struct raw *raw = raw_new(world);
        const struct wire_key key = world->key, wrong = {.bytes = {1}};
        assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK); /* all goes well */
        world_run(world, 1);
        assert_int_equal(world->accepted, 1);
        assert_int_equal(side_send(&world->away, 100), SHOAL_OK);
        world_run(world, 1);
        wire_peer_close(world->away.peer);
        assert_int_equal(world_connect(world, &wrong, NULL), SHOAL_OK); /* one side has another */
        world_run(world, 4);
        assert_int_equal(world->away.closed, 1);
        assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK); /* none has begun */
        raw_connect(raw, world->address + (i == 0 ? 0 : strlen("tls://")), "", 0);
        world_run(world, 1e-9);
        raw_free(raw);
        world_free(world);
        assert_no_secrets(&s, &key);
        secrets_fini(&s);
    }
}

/* Nobody who reads the memory of a long job finds what only its first moments needed. */
static void who_has_met_needs_the_key_no_more(void **state)
{
    struct world *world = world_of_two(1, NULL);
    static const struct wire_key NONE;
    (void)state;
    world_run(world, 1);
    assert_int_equal(world->accepted, 1);
    assert_memory_equal(&world->home.peer->key, &NONE, sizeof NONE);
    assert_memory_equal(&world->away.peer->key, &NONE, sizeof NONE);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_said_with_a_key_leaves_none_of_it_in_memory),
        cmocka_unit_test(who_has_met_needs_the_key_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
