/* Tests of src/wire/stream.c: which transport an address names. What they carry is tested in
 * test_peer.c (tcp), test_tls.c and test_peer_real.c (all). */
#include "wire_world.h"

#include "wire/stream.h"

static void a_name_in_front_chooses_the_transport_and_none_is_tcp(void **state)
{
    static const struct {
        const char *listen, *shown; /* up to the port */
    } CASES[] = {{"home:0", "home:"}, {"tcp://home:0", "home:"}, {"tls://home:0", "tls://home:"}};
    (void)state;

    for (size_t i = 0; i < BASE_COUNT(CASES); i++) {
        struct world *world = world_at(&base_alloc_libc, 1, CASES[i].listen, NULL);
        assert_non_null(world);
        assert_memory_equal(world->address, CASES[i].shown, strlen(CASES[i].shown));
        assert_null(strstr(world->address, ":0"));
        assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
        world_run(world, 1);
        assert_int_equal(world->accepted, 1); /* so it can be passed on as it is */
        world_free(world);
    }
}

static void who_comes_as_tcp_in_words_is_the_same_as_without(void **state)
{
    struct world *world = world_new(&base_alloc_libc, 1, NULL);
    char plain[100];
    (void)state;

    assert_non_null(world);
    (void)snprintf(plain, sizeof plain, "%.90s", world->address);
    (void)snprintf(world->address, sizeof world->address, "tcp://%s", plain);
    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    world_run(world, 1);
    assert_int_equal(world->accepted, 1);
    world_free(world);
}

static void a_transport_that_there_is_not_is_named_with_those_that_there_are(void **state)
{
    static const char *const BAD[] = {"smoke://home:0", "TLS://home:0", "tl://home:0", "://home:0",
                                      "tlss://home:0"};
    struct world *world = world_new(&base_alloc_libc, 1, NULL);
    struct wire_server *server = NULL;
    struct wire_peer *peer = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    (void)state;

    assert_non_null(world);
    for (size_t i = 0; i < BASE_COUNT(BAD); i++) {
        assert_int_equal(wire_server_new(world->home.loop, BAD[i], &world->key, NULL, world_accept,
                                         NULL, world, &server, &err),
                         SHOAL_E_INVAL);
        assert_non_null(strstr(err.message, "'; there are: tcp, tls"));
        assert_int_equal(wire_peer_connect(world->away.loop, BAD[i], &world->key, NULL, &SIDE_OPS,
                                           &world->away, &peer, &err),
                         SHOAL_E_INVAL);
        assert_non_null(strstr(err.message, "no transport '"));
        assert_true(server == NULL && peer == NULL);
    }
    world_free(world);
}

static void a_bad_place_is_an_error_with_every_transport(void **state)
{
    static const char *const BAD[] = {"nonsense", "tcp://nonsense", "tls://nonsense", "tls://"};
    struct world *world = world_new(&base_alloc_libc, 1, NULL);
    struct wire_server *server = NULL;
    struct wire_peer *peer = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    (void)state;

    assert_non_null(world);
    for (size_t i = 0; i < BASE_COUNT(BAD); i++) {
        assert_true(wire_server_new(world->home.loop, BAD[i], &world->key, NULL, world_accept, NULL,
                                    world, &server, &err) != SHOAL_OK);
        assert_true(err.message[0] != '\0');
        assert_true(wire_peer_connect(world->away.loop, BAD[i], &world->key, NULL, &SIDE_OPS,
                                      &world->away, &peer, &err) != SHOAL_OK);
        assert_true(server == NULL && peer == NULL);
    }
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_in_front_chooses_the_transport_and_none_is_tcp),
        cmocka_unit_test(who_comes_as_tcp_in_words_is_the_same_as_without),
        cmocka_unit_test(a_transport_that_there_is_not_is_named_with_those_that_there_are),
        cmocka_unit_test(a_bad_place_is_an_error_with_every_transport),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
