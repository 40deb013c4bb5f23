/* Tests of src/wire/tls.c in a simulated cluster: who gets in, who is kept out, and that nobody in
 * between can read or change a byte. The same on real sockets is in test_peer_real.c. */
#include "property.h"
#include "wire_world.h"

#include "base/rand.h"
#include <openssl/ec.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

static void check_talk(struct world *world)
{
    assert_false(world->home.wrong || world->away.wrong);
    assert_true(world->home.got == world->away.sent && world->away.got == world->home.sent);
}

static struct world *world_of_tls(uint64_t seed, const struct wire_opts *opts)
{
    struct world *world = world_at(&base_alloc_libc, seed, "tls://home:0", opts);
    assert_non_null(world);
    assert_memory_equal(world->address, "tls://home:", 11);
    return world;
}

static const char *without_name(const struct world *world)
{
    return world->address + strlen("tls://");
}

/* --- who gets in --- */

static void two_who_know_the_key_meet_and_talk(void **state)
{
    static const size_t SIZES[] = {0, 1, 7, 8, 9, 100, 5000, 65536, 70000, 3 << 20, 3, 0};
    struct world *world = world_of_tls(1, NULL);
    const struct env_sim_net net = {.delay_mean_s = 1e-3};
    (void)state;

    env_sim_set_net(world->env, &net);
    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    assert_int_equal(side_send(&world->away, 10), SHOAL_OK); /* before they have met */
    world_run(world, 1);
    assert_int_equal(world->accepted, 1);
    assert_int_equal(world->away.ready, 1);
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
    assert_true(home.again == 0 && away.again == 0);
    assert_true(home.sent_bytes == away.received_bytes && away.sent_bytes == home.received_bytes);
    world_run(world, 100); /* quiet, but alive */
    assert_int_equal(world->home.closed + world->away.closed + world->refused, 0);
    wire_peer_close(world->away.peer);
    world->away.peer = NULL;
    world_run(world, 1);
    assert_int_equal(world->home.closed, 1);
    assert_int_equal(world->home.why.code, SHOAL_END);
    world_free(world);
}

static void one_server_talks_to_many_and_they_stay_when_it_goes(void **state)
{
    struct world *world = world_of_tls(1, NULL);
    (void)state;

    for (int i = 0; i < 5; i++) {
        assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
        world_run(world, 1);
        if (i == 4)
            break;
        wire_peer_close(world->away.peer);
        world_run(world, 1);
    }
    assert_int_equal(world->accepted, 5);
    assert_int_equal(world->home.closed, 4);
    wire_server_free(world->server);
    world->server = NULL;
    assert_int_equal(side_send(&world->away, 1000), SHOAL_OK);
    world_run(world, 1);
    check_talk(world);
    world_free(world);
}

/* OpenSSL draws numbers of its own; what happens when does not depend on them. */
static uint64_t hash_of(uint64_t seed)
{
    const struct env_sim_net net = {.delay_mean_s = 1e-3};
    struct world *world = world_of_tls(seed, NULL);
    env_sim_set_net(world->env, &net);
    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(side_send(&world->away, 1000), SHOAL_OK);
        world_run(world, 0.001);
    }
    world_run(world, 5);
    check_talk(world);
    uint64_t hash = env_sim_hash(world->env);
    world_free(world);
    return hash;
}

static void same_seed_same_order_of_events(void **state)
{
    (void)state;
    assert_true(hash_of(5) == hash_of(5));
    assert_true(hash_of(5) != hash_of(6));
}

/* --- who does not --- */

static void a_wrong_key_is_named_on_both_sides(void **state)
{
    struct world *world = world_of_tls(1, NULL);
    const struct env_sim_net net = {.delay_mean_s = 1e-3};
    const struct wire_key key = {.bytes = {1}};
    (void)state;

    env_sim_set_net(world->env, &net);
    assert_int_equal(world_connect(world, &key, NULL), SHOAL_OK);
    world_run(world, 4);
    assert_int_equal(world->away.closed, 1);
    assert_int_equal(world->away.why.code, SHOAL_E_DENIED);
    assert_says(&world->away.why, "'", without_name(world), "' does not know this key");
    assert_int_equal(world->refused, 1);
    assert_int_equal(world->refused_why.code, SHOAL_E_DENIED);
    assert_says(&world->refused_why, "'", world->who, "' does not know this key");
    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    world_run(world, 1);
    assert_int_equal(world->accepted, 1);
    world_free(world);
}

static void who_comes_without_tls_is_named_on_both_sides(void **state)
{
    struct world *world = world_of_tls(1, NULL);
    char plain[WORLD_ADDRESS_MAX];
    (void)state;

    (void)snprintf(plain, sizeof plain, "%s", without_name(world));
    (void)snprintf(world->address, sizeof world->address, "%s", plain);
    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    world_run(world, 4);
    assert_int_equal(world->away.closed, 1);
    assert_int_equal(world->away.why.code, SHOAL_E_DENIED);
    assert_says(&world->away.why, "'", plain, "' speaks TLS, this side was not told to");
    assert_string_equal(world->away.why.hint,
                        "with 'tls://' in front of the address (or --tls) it does");
    assert_int_equal(world->refused, 1);
    assert_says(&world->refused_why, "'", world->who,
                "' speaks without TLS, this side only with it");
    assert_int_equal(world->accepted, 0);
    world_free(world);
}

static void tls_at_a_plain_server_is_named_on_both_sides_and_not_given_up(void **state)
{
    struct world *world = world_new(&base_alloc_libc, 1, NULL);
    char plain[WORLD_ADDRESS_MAX];
    (void)state;

    assert_non_null(world);
    (void)snprintf(plain, sizeof plain, "%s", world->address);
    (void)snprintf(world->address, sizeof world->address, "tls://%.100s", plain);
    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    world_run(world, 4);
    assert_int_equal(world->away.closed, 1);
    assert_int_equal(world->away.ready, 0);
    assert_int_equal(world->away.why.code, SHOAL_E_DENIED);
    assert_says(&world->away.why, "'", plain, "' speaks without TLS, this side only with it");
    assert_true(world->away.why.hint[0] != '\0');
    assert_int_equal(world->refused, 1);
    assert_says(&world->refused_why, "'", world->who, "' speaks TLS, this side was not told to");
    world_free(world);
}

/* What a client of OpenSSL says first. */
static size_t client_hello(int version, unsigned char *out, size_t room)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    shoal_assert(context != NULL && SSL_CTX_set_max_proto_version(context, version) == 1);
    SSL *ssl = SSL_new(context);
    BIO *in = BIO_new(BIO_s_mem()), *to = BIO_new(BIO_s_mem());
    shoal_assert(ssl != NULL && in != NULL && to != NULL);
    SSL_set_bio(ssl, in, to);
    SSL_set_connect_state(ssl);
    shoal_assert(SSL_do_handshake(ssl) != 1);
    int size = BIO_read(to, out, (int)room);
    shoal_assert(size > 0);
    SSL_free(ssl);
    SSL_CTX_free(context);
    return (size_t)size;
}

static void strangers_are_refused_once_each_and_cost_nothing(void **state)
{
    struct world *world = world_of_tls(1, NULL);
    struct raw *raw = raw_new(world);
    static const unsigned char HEAD[] = {22, 3, 1, 2, 0, 1};
    unsigned char bytes[2048] = "GET / HTTP/1.1\r\n\r\n";
    size_t sizes[4] = {18};
    (void)state;

    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    world_run(world, 1);
    for (uint32_t i = 0; i < 4; i++) {
        if (i == 1)
            sizes[i] = client_hello(TLS1_2_VERSION, bytes, sizeof bytes);
        if (i == 2)
            sizes[i] = client_hello(TLS1_3_VERSION, bytes, sizeof bytes);
        if (i == 3) {
            memset(bytes, 0xa5, sizeof bytes);
            memcpy(bytes, HEAD, sizeof HEAD);
            sizes[i] = 700;
        }
        raw_connect(raw, without_name(world), bytes, sizes[i]);
        world_run(world, 2);
        assert_int_equal(world->refused, i + 1);
        assert_int_equal(raw->closed, i + 1);
        if (i == 0)
            assert_says(&world->refused_why, "'", world->who, "' does not speak this protocol");
        if (i == 1)
            assert_says(&world->refused_why, "'", world->who, "' speaks a TLS older than 1.3");
        if (i > 1)
            assert_non_null(strstr(world->refused_why.message, "TLS with 'bad:"));
    }
    assert_int_equal(side_send(&world->away, 1000), SHOAL_OK);
    world_run(world, 1);
    check_talk(world);
    assert_int_equal(world->home.closed + world->away.closed, 0);
    raw_free(raw);
    world_free(world);
}

static void who_says_nothing_is_given_up_by_both_sides(void **state)
{
    struct world *world = world_of_tls(1, NULL);
    struct raw *raw = raw_new(world);
    struct env_listener *listener = NULL;
    (void)state;

    raw_connect(raw, without_name(world), "\x16", 1);
    world_run(world, 6);
    assert_int_equal(world->refused, 1);
    assert_says(&world->refused_why, "'", world->who, "' did not prove the key within 5 s");
    assert_int_equal(env_listen(raw->loop, "bad:5", raw_accepted, raw, &listener, NULL), SHOAL_OK);
    (void)snprintf(world->address, sizeof world->address, "tls://bad:5");
    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    world_run(world, 6);
    assert_int_equal(world->away.closed, 1);
    assert_string_equal(world->away.why.message, "'bad:5' did not answer in TLS within 5 s");
    raw_free(raw);
    world_free(world);
}

/* --- who stands in the middle --- */

/* Has a certificate, as servers do, and does not know the key. */
struct certified {
    SSL_CTX *context;
    SSL *ssl;
    BIO *in, *to;
    bool is_through;
};

static void certify(SSL_CTX *context)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *own = X509_new();
    shoal_assert(key != NULL && own != NULL && ASN1_INTEGER_set(X509_get_serialNumber(own), 1));
    shoal_assert(X509_gmtime_adj(X509_getm_notBefore(own), 0) != NULL);
    shoal_assert(X509_gmtime_adj(X509_getm_notAfter(own), 86400) != NULL);
    shoal_assert(X509_set_pubkey(own, key) == 1 && X509_sign(own, key, EVP_sha256()) > 0);
    shoal_assert(SSL_CTX_use_certificate(context, own) == 1);
    shoal_assert(SSL_CTX_use_PrivateKey(context, key) == 1);
    X509_free(own);
    EVP_PKEY_free(key);
}

static void certified_heard(struct raw *raw, const unsigned char *bytes, size_t size)
{
    struct certified *c = raw->ctx;
    char *answer = NULL;
    shoal_assert(BIO_write(c->in, bytes, (int)size) == (int)size);
    c->is_through = SSL_do_handshake(c->ssl) == 1;
    long length = BIO_get_mem_data(c->to, &answer);
    if (length > 0)
        shoal_assert(env_conn_send(raw->conn, answer, (size_t)length) == SHOAL_OK);
    (void)BIO_reset(c->to);
}

static void a_server_with_a_certificate_and_no_key_is_not_trusted(void **state)
{
    struct world *world = world_of_tls(1, NULL);
    struct raw *raw = raw_new(world);
    struct env_listener *listener = NULL;
    struct certified c = {.context = SSL_CTX_new(TLS_server_method())};
    (void)state;

    assert_non_null(c.context);
    certify(c.context);
    c.ssl = SSL_new(c.context);
    c.in = BIO_new(BIO_s_mem());
    c.to = BIO_new(BIO_s_mem());
    SSL_set_bio(c.ssl, c.in, c.to);
    SSL_set_accept_state(c.ssl);
    raw->heard = certified_heard;
    raw->ctx = &c;
    assert_int_equal(env_listen(raw->loop, "bad:5", raw_accepted, raw, &listener, NULL), SHOAL_OK);
    (void)snprintf(world->address, sizeof world->address, "tls://bad:5");
    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    world_run(world, 4);
    assert_true(raw->got_size > 100); /* it was greeted */
    assert_false(c.is_through);
    assert_int_equal(world->away.ready, 0);
    assert_int_equal(world->away.closed, 1);
    assert_string_equal(world->away.why.message,
                        "TLS with 'bad:5' failed: certificate verify failed");
    SSL_free(c.ssl);
    SSL_CTX_free(c.context);
    raw_free(raw);
    world_free(world);
}

/* --- who has learnt the key, and would read what was said before --- */

static unsigned char learnt[WIRE_SECRET_SIZE];

static SSL_SESSION *learnt_session(SSL *ssl)
{
    static const unsigned char SUITE[] = {0x13, 0x01};
    SSL_SESSION *session = SSL_SESSION_new();
    shoal_assert(session != NULL &&
                 SSL_SESSION_set1_master_key(session, learnt, sizeof learnt) == 1 &&
                 SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, SUITE)) == 1 &&
                 SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1);
    return session;
}

static int learnt_use(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *id_size,
                      SSL_SESSION **out_session)
{
    (void)md;
    *id = (const unsigned char *)"shoal wire";
    *id_size = strlen("shoal wire");
    *out_session = learnt_session(ssl);
    return 1;
}

static int learnt_find(SSL *ssl, const unsigned char *id, size_t id_size, SSL_SESSION **out_session)
{
    (void)id;
    (void)id_size;
    *out_session = learnt_session(ssl);
    return 1;
}

/* Knows the key. Does without a Diffie-Hellman exchange where the other side's groups are not its. */
static void learnt_begin(struct certified *c, bool is_server, const char *groups)
{
    c->context = SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method());
    shoal_assert(c->context != NULL && SSL_CTX_set1_groups_list(c->context, groups) == 1);
    shoal_assert(SSL_CTX_set_ciphersuites(c->context, "TLS_AES_128_GCM_SHA256") == 1);
    (void)SSL_CTX_set_options(c->context, SSL_OP_ALLOW_NO_DHE_KEX);
    SSL_CTX_set_psk_use_session_callback(c->context, learnt_use);
    SSL_CTX_set_psk_find_session_callback(c->context, learnt_find);
    c->ssl = SSL_new(c->context);
    c->in = BIO_new(BIO_s_mem());
    c->to = BIO_new(BIO_s_mem());
    SSL_set_bio(c->ssl, c->in, c->to);
    if (is_server)
        SSL_set_accept_state(c->ssl);
    else
        SSL_set_connect_state(c->ssl);
}

/* Whether it gets through to a server of ours, or a client of ours to it. */
static bool is_met(bool is_server, const char *groups)
{
    struct world *world = world_of_tls(1, NULL);
    struct raw *raw = raw_new(world);
    struct env_listener *listener = NULL;
    struct certified c = {0};
    unsigned char hello[2048];

    assert_true(wire_secret(&world->key, learnt));
    learnt_begin(&c, is_server, groups);
    raw->heard = certified_heard;
    raw->ctx = &c;
    if (is_server) {
        assert_int_equal(env_listen(raw->loop, "bad:5", raw_accepted, raw, &listener, NULL),
                         SHOAL_OK);
        (void)snprintf(world->address, sizeof world->address, "tls://bad:5");
        assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
        world_run(world, 4);
    } else {
        assert_true(SSL_do_handshake(c.ssl) != 1);
        int size = BIO_read(c.to, hello, sizeof hello);
        raw_connect(raw, without_name(world), hello, (size_t)size);
        world_run(world, 0.1);
    }
    assert_true(raw->got_size > 0); /* there was an answer */
    SSL_free(c.ssl);
    SSL_CTX_free(c.context);
    raw_free(raw);
    world_free(world);
    return c.is_through;
}

/* Without an exchange, whoever learns the key later can read what was recorded. */
static void nobody_is_met_without_an_exchange_that_the_key_does_not_tell(void **state)
{
    (void)state;
    for (int is_server = 0; is_server < 2; is_server++) {
        assert_true(is_met(is_server, "X25519"));
        assert_true(is_met(is_server, "P-521:P-256"));
        assert_false(is_met(is_server, "P-521"));
    }
}

/* Passes on what it hears; may change one byte of what the client says. */
struct line {
    struct raw *in, *to; /* towards the client, towards the server */
    uint64_t passed, change_at;
    bool saw_plain;
};

static const char SECRET_WORDS[] = "the words that nobody may read";

static void pass_on(struct raw *from, const unsigned char *bytes, size_t size)
{
    struct line *line = from->ctx;
    bool from_client = from == line->in;
    struct raw *to = from_client ? line->to : line->in;
    unsigned char *copy = base_malloc(&base_alloc_libc, size);
    shoal_assert(copy != NULL);
    memcpy(copy, bytes, size);
    for (size_t i = 0; i + sizeof SECRET_WORDS <= size; i++)
        line->saw_plain = line->saw_plain || memcmp(bytes + i, SECRET_WORDS, 16) == 0;
    if (from_client && line->change_at >= line->passed && line->change_at < line->passed + size)
        copy[line->change_at - line->passed] ^= 4;
    line->passed += from_client ? size : 0;
    if (to->conn != NULL)
        (void)!env_conn_send(to->conn, copy, size);
    base_free(&base_alloc_libc, copy);
}

static uint32_t words_heard;

static void hear_words(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes,
                       size_t size)
{
    struct side *side = ctx;
    (void)peer;
    if (kind == 1 && size == sizeof SECRET_WORDS && memcmp(bytes, SECRET_WORDS, size) == 0)
        words_heard++;
    else
        side->wrong = true;
}

static const struct wire_peer_ops WORD_OPS = {side_ready, hear_words, side_closed};

/* The client's words over a line that sees them all. Returns how many bytes went towards home. */
static uint64_t over_a_line(const char *name, uint64_t change_at, bool *out_plain,
                            uint32_t *out_closed)
{
    char listen[32];
    (void)snprintf(listen, sizeof listen, "%shome:7", name);
    struct world *world = world_at(&base_alloc_libc, 1, listen, NULL);
    assert_non_null(world);
    struct raw *in = raw_new(world), *to = raw_new(world);
    struct line line = {.in = in, .to = to, .change_at = change_at};
    struct env_listener *listener = NULL;
    in->ctx = to->ctx = &line;
    in->heard = to->heard = pass_on;
    words_heard = 0;
    assert_int_equal(env_listen(in->loop, "bad:5", raw_accepted, in, &listener, NULL), SHOAL_OK);
    raw_connect(to, "home:7", NULL, 0);
    world_run(world, 0.01);
    (void)snprintf(world->address, sizeof world->address, "%sbad:5", name);
    assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
    world_run(world, 0.1);
    if (world->home.peer != NULL)
        wire_peer_set(world->home.peer, &WORD_OPS, &world->home);
    for (int i = 0; i < 3; i++) {
        if (world->away.peer != NULL)
            assert_int_equal(wire_peer_send(world->away.peer, 1, SECRET_WORDS, sizeof SECRET_WORDS),
                             SHOAL_OK);
        world_run(world, 0.1);
    }
    world_run(world, 12); /* a length that was made longer is waited for */
    assert_false(world->home.wrong || world->away.wrong);
    *out_plain = line.saw_plain;
    *out_closed = world->home.closed + world->refused;
    wire_peer_close(world->home.peer);
    wire_peer_close(world->away.peer);
    world->home.peer = world->away.peer = NULL;
    uint64_t passed = line.passed;
    raw_free(in);
    raw_free(to);
    world_free(world);
    return passed;
}

static void a_line_in_between_reads_nothing(void **state)
{
    bool plain = false;
    uint32_t closed = 0;
    (void)state;

    (void)over_a_line("", UINT64_MAX, &plain, &closed);
    assert_true(plain && words_heard == 3 && closed == 0); /* the test can tell */
    (void)over_a_line("tls://", UINT64_MAX, &plain, &closed);
    assert_true(!plain && words_heard == 3 && closed == 0);
}

static void a_changed_byte_ends_it_and_is_never_delivered(void **state)
{
    bool plain = false;
    uint32_t closed = 0;
    (void)state;

    uint64_t all = over_a_line("tls://", UINT64_MAX, &plain, &closed);
    uint32_t harmless = 0; /* the heads of the first records, which say nothing */
    assert_true(all > 500);
    for (uint64_t at = 0; at < all; at += at < 20 ? 1 : 13) {
        (void)over_a_line("tls://", at, &plain, &closed);
        assert_true(closed == 1 || words_heard == 3);
        harmless += closed == 0;
    }
    assert_true(harmless < 5);
}

/* --- parting at any moment --- */

static void it_may_be_closed_or_killed_at_any_event(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(60); seed++) {
        struct world *world = world_of_tls(seed, NULL);
        struct base_rand rand;
        const struct env_sim_net net = {.delay_mean_s = 1e-3};
        base_rand_init(&rand, seed, "when");
        env_sim_set_net(world->env, &net);
        assert_int_equal(world_connect(world, NULL, NULL), SHOAL_OK);
        assert_int_equal(side_send(&world->away, 200000), SHOAL_OK);
        world_run(world, 0.02 * base_rand_unit(&rand));
        if (seed % 3 == 0) {
            wire_peer_close(world->away.peer);
            world->away.peer = NULL;
        } else if (seed % 3 == 1) {
            env_sim_kill(world->away.loop);
        } else {
            wire_server_free(world->server);
            world->server = NULL;
        }
        world_run(world, 20);
        assert_false(world->home.wrong || world->away.wrong);
        assert_true(seed % 3 == 2 || world->home.peer == NULL);
        world_free(world);
    }
}

/* --- without memory --- */

static shoal_status meet_and_talk(const struct base_alloc *alloc, void *ctx)
{
    static const struct env_sim_net NET = {.delay_mean_s = 1e-3};

    (void)ctx;
    return world_meet_and_talk(alloc, "tls://home:0", &NET, 10);
}

static void talking_survives_every_failed_allocation(void **state)
{
    (void)state;
    torture_run_sampled(meet_and_talk, NULL, 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_who_know_the_key_meet_and_talk),
        cmocka_unit_test(one_server_talks_to_many_and_they_stay_when_it_goes),
        cmocka_unit_test(same_seed_same_order_of_events),
        cmocka_unit_test(a_wrong_key_is_named_on_both_sides),
        cmocka_unit_test(who_comes_without_tls_is_named_on_both_sides),
        cmocka_unit_test(tls_at_a_plain_server_is_named_on_both_sides_and_not_given_up),
        cmocka_unit_test(strangers_are_refused_once_each_and_cost_nothing),
        cmocka_unit_test(who_says_nothing_is_given_up_by_both_sides),
        cmocka_unit_test(a_server_with_a_certificate_and_no_key_is_not_trusted),
        cmocka_unit_test(nobody_is_met_without_an_exchange_that_the_key_does_not_tell),
        cmocka_unit_test(a_line_in_between_reads_nothing),
        cmocka_unit_test(a_changed_byte_ends_it_and_is_never_delivered),
        cmocka_unit_test(it_may_be_closed_or_killed_at_any_event),
        cmocka_unit_test(talking_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
