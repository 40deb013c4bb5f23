/* Tests of addresses as people write them: src/wire/stream.c. */
#include "torture.h"

#include "wire/peer.h"

static void what_others_can_read_is_known_by_its_address(void **state)
{
    static const char *const OPEN[] = {
        "10.0.0.5:7000",           "0.0.0.0:0",        "[::]:7000",
        "tcp://box:7000",          "ucx://10.0.0.5:1", "127.example.org:1",
        "localhost.example.org:1", "[2001:db8::1]:7"};
    static const char *const CLOSED[] = {"127.0.0.1:0",      "127.8.9.1:7",       "localhost:0",
                                         "[::1]:7000",       "tcp://127.0.0.1:0", "tls://0.0.0.0:7",
                                         "tls://10.0.0.5:7", "ucx://localhost:7"};
    char out[WIRE_ADDRESS_SIZE];
    (void)state;

    for (size_t i = 0; i < sizeof OPEN / sizeof OPEN[0]; i++) {
        assert_int_equal(wire_address(OPEN[i], false, out, NULL), SHOAL_OK);
        assert_true(wire_address_is_open(out));
    }
    for (size_t i = 0; i < sizeof CLOSED / sizeof CLOSED[0]; i++) {
        assert_int_equal(wire_address(CLOSED[i], false, out, NULL), SHOAL_OK);
        assert_false(wire_address_is_open(out));
    }
    assert_int_equal(wire_address("10.0.0.5:7000", true, out, NULL), SHOAL_OK);
    assert_false(wire_address_is_open(out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_others_can_read_is_known_by_its_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
