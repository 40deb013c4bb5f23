/* Tests of src/wire/auth.c. */
#include "torture.h"

#include "base/assert.h"
#include "wire/auth.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct wire_key key_of(unsigned char first)
{
    struct wire_key key = {.joins = false};
    for (size_t i = 0; i < WIRE_KEY_SIZE; i++)
        key.bytes[i] = (unsigned char)(first + i);
    return key;
}

static void fill(unsigned char *bytes, size_t size, unsigned char value)
{
    memset(bytes, value, size);
}

/* --- keys --- */

static void a_formatted_key_parses_to_itself(void **state)
{
    struct wire_key key = key_of(0xf0), back;
    char text[2 * WIRE_KEY_SIZE + 1], padded[128];
    (void)state;

    wire_key_format(&key, text);
    assert_int_equal(strlen(text), 2 * WIRE_KEY_SIZE);
    assert_int_equal(wire_key_parse(text, strlen(text), &back, NULL), SHOAL_OK);
    assert_memory_equal(&key, &back, sizeof key);
    (void)snprintf(padded, sizeof padded, " \t%s\r\n\n", text);
    assert_int_equal(wire_key_parse(padded, strlen(padded), &back, NULL), SHOAL_OK);
    for (size_t i = 0; text[i] != '\0'; i++)
        text[i] = (char)(text[i] >= 'a' ? text[i] - 'a' + 'A' : text[i]);
    assert_int_equal(wire_key_parse(text, strlen(text), &back, NULL), SHOAL_OK);
    assert_memory_equal(&key, &back, sizeof key);
}

static void a_key_that_is_none_is_refused_and_leaves_the_old(void **state)
{
    struct wire_key key = key_of(3), kept = key;
    char text[2 * WIRE_KEY_SIZE + 3];
    shoal_err err = SHOAL_ERR_INIT;
    (void)state;

    wire_key_format(&key, text);
    assert_int_equal(wire_key_parse(text, 63, &kept, &err), SHOAL_E_FORMAT);
    assert_string_equal(err.message, "a key is 64 hexadecimal digits, this has 63");
    assert_int_equal(wire_key_parse("", 0, &kept, &err), SHOAL_E_FORMAT);
    assert_int_equal(wire_key_parse("  \n", 3, &kept, &err), SHOAL_E_FORMAT);
    text[64] = '0';
    assert_int_equal(wire_key_parse(text, 65, &kept, &err), SHOAL_E_FORMAT);
    text[17] = 'g';
    assert_int_equal(wire_key_parse(text, 64, &kept, &err), SHOAL_E_FORMAT);
    assert_string_equal(err.message, "a key is hexadecimal digits, character 18 is none");
    text[17] = '\0';
    assert_int_equal(wire_key_parse(text, 64, &kept, NULL), SHOAL_E_FORMAT);
    assert_memory_equal(&key, &kept, sizeof key);
}

static void a_simulated_key_is_the_seeds_and_a_real_one_is_new(void **state)
{
    struct wire_key keys[4];
    shoal_env *env = NULL;
    (void)state;

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(shoal_env_sim_new(7, &env, NULL), SHOAL_OK);
        assert_int_equal(wire_key_new(env, &keys[i], NULL), SHOAL_OK);
        assert_int_equal(wire_key_new(env, &keys[2], NULL), SHOAL_OK);
        assert_memory_not_equal(&keys[i], &keys[2], sizeof keys[0]);
        shoal_env_free(env);
    }
    assert_memory_equal(&keys[0], &keys[1], sizeof keys[0]);
    for (size_t i = 2; i < 4; i++) {
        assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
        assert_int_equal(wire_key_new(env, &keys[i], NULL), SHOAL_OK);
        shoal_env_free(env);
    }
    assert_memory_not_equal(&keys[2], &keys[3], sizeof keys[0]);
}

static void a_key_file_is_read_or_named_in_the_error(void **state)
{
    struct wire_key key = key_of(9), back = key_of(1);
    char text[2 * WIRE_KEY_SIZE + 2];
    shoal_err err = SHOAL_ERR_INIT;
    shoal_env *env = NULL;
    (void)state;

    assert_int_equal(shoal_env_sim_new(7, &env, NULL), SHOAL_OK);
    wire_key_format(&key, text);
    text[64] = '\n';
    assert_int_equal(env_sim_put(env, "job.key", text, 65), SHOAL_OK);
    assert_int_equal(env_sim_put(env, "short.key", text, 60), SHOAL_OK);
    assert_int_equal(wire_key_load(env, "job.key", &back, &err), SHOAL_OK);
    assert_memory_equal(&key, &back, sizeof key);
    assert_int_equal(wire_key_load(env, "short.key", &back, &err), SHOAL_E_FORMAT);
    assert_string_equal(err.where, "short.key");
    assert_int_equal(wire_key_load(env, "no.key", &back, &err), SHOAL_E_NOTFOUND);
    assert_memory_equal(&key, &back, sizeof key);
    shoal_env_free(env);
}

static void a_key_file_that_others_may_read_is_refused_with_what_to_do(void **state)
{
    char path[] = "/tmp/shoal-test-key-XXXXXX", text[2 * WIRE_KEY_SIZE + 1], hint[64];
    struct wire_key key = key_of(9), back = key_of(1);
    static const mode_t BAD[] = {0640, 0604, 0620, 0602, 0610, 0644, 0666};
    shoal_err err = SHOAL_ERR_INIT;
    shoal_env *env = NULL;
    int fd = mkstemp(path);
    (void)state;

    assert_true(fd >= 0);
    wire_key_format(&key, text);
    assert_int_equal(write(fd, text, 64), 64);
    (void)snprintf(hint, sizeof hint, "chmod 600 %s", path);
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    for (size_t i = 0; i < BASE_COUNT(BAD); i++) {
        assert_int_equal(fchmod(fd, BAD[i]), 0);
        assert_int_equal(wire_key_load(env, path, &back, &err), SHOAL_E_DENIED);
        assert_string_equal(err.hint, hint);
        assert_memory_not_equal(&key, &back, sizeof key);
    }
    assert_int_equal(fchmod(fd, 0400), 0);
    assert_int_equal(wire_key_load(env, path, &back, &err), SHOAL_OK);
    assert_memory_equal(&key, &back, sizeof key);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(close(fd), 0);
    shoal_env_free(env);
}

static void a_key_may_come_through_a_pipe_with_a_name(void **state)
{
    char path[] = "/tmp/shoal-test-key-XXXXXX", pipe_path[64], text[2 * WIRE_KEY_SIZE + 1];
    struct wire_key key = key_of(9), back = key_of(1);
    shoal_env *env = NULL;
    (void)state;

    assert_non_null(mkdtemp(path));
    (void)snprintf(pipe_path, sizeof pipe_path, "%s/key", path);
    assert_int_equal(mkfifo(pipe_path, 0644), 0);
    wire_key_format(&key, text);
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    pid_t child = fork(); /* who writes, once it is read */
    if (child == 0) {
        int to = open(pipe_path, O_WRONLY);
        _exit(write(to, text, 64) == 64 ? 0 : 1);
    }
    assert_int_equal(wire_key_load(env, pipe_path, &back, NULL), SHOAL_OK);
    assert_memory_equal(&key, &back, sizeof key);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(unlink(pipe_path), 0);
    assert_int_equal(rmdir(path), 0);
    shoal_env_free(env);
}

static shoal_status load_a_key(const struct base_alloc *alloc, void *ctx)
{
    struct wire_key key;
    shoal_env *env = ctx;
    env->alloc = alloc;
    shoal_status st = wire_key_load(env, "job.key", &key, NULL);
    env->alloc = &base_alloc_libc;
    return st;
}

static void loading_a_key_survives_every_failed_allocation(void **state)
{
    struct wire_key key = key_of(9);
    char text[2 * WIRE_KEY_SIZE + 1];
    shoal_env *env = NULL;
    (void)state;

    assert_int_equal(shoal_env_sim_new(7, &env, NULL), SHOAL_OK);
    wire_key_format(&key, text);
    assert_int_equal(env_sim_put(env, "job.key", text, 64), SHOAL_OK);
    torture_run(load_a_key, env);
    shoal_env_free(env);
}

/* --- records --- */

static void a_record_parses_to_what_was_formatted(void **state)
{
    static const enum wire_role ROLES[] = {
        [WIRE_HELLO] = WIRE_CLIENT, [WIRE_REPLY] = WIRE_SERVER, [WIRE_PROOF] = WIRE_CLIENT};
    (void)state;

    for (int kind = WIRE_HELLO; kind <= WIRE_PROOF; kind++) {
        struct wire_hello hello = {.kind = (enum wire_hello_kind)kind,
                                   .role = ROLES[kind],
                                   .joins = kind == WIRE_HELLO},
                          back;
        unsigned char bytes[WIRE_HELLO_SIZE];
        fill(hello.nonce, sizeof hello.nonce, 5);
        if (kind != WIRE_HELLO)
            fill(hello.proof, sizeof hello.proof, 6);
        wire_hello_format(&hello, bytes);
        assert_true(wire_hello_parse(bytes, &back));
        assert_true(back.kind == hello.kind && back.role == hello.role &&
                    back.joins == hello.joins);
        assert_memory_equal(back.nonce, hello.nonce, sizeof hello.nonce);
        assert_memory_equal(back.proof, hello.proof, sizeof hello.proof);
    }
}

static void a_record_with_any_wrong_byte_in_its_head_is_refused(void **state)
{
    struct wire_hello hello = {.kind = WIRE_HELLO, .role = WIRE_CLIENT}, back;
    unsigned char bytes[WIRE_HELLO_SIZE];
    (void)state;

    for (size_t at = 0; at < 16; at++)
        for (int value = 0; value < 256; value++) {
            wire_hello_format(&hello, bytes);
            if (bytes[at] == value || (at == 8 && value == WIRE_PROOF) || (at == 10 && value == 1))
                continue;
            bytes[at] = (unsigned char)value;
            assert_false(wire_hello_parse(bytes, &back));
        }
    wire_hello_format(&hello, bytes);
    bytes[WIRE_HELLO_SIZE - 1] = 1; /* a hello proves nothing yet */
    assert_false(wire_hello_parse(bytes, &back));
    hello = (struct wire_hello){.kind = WIRE_PROOF, .role = WIRE_CLIENT, .joins = true};
    wire_hello_format(&hello, bytes);
    assert_false(wire_hello_parse(bytes, &back)); /* that is said once */
}

/* --- proofs --- */

static void a_proof_holds_for_its_key_role_and_nonces_only(void **state)
{
    struct wire_key key = key_of(1), other = key_of(2);
    unsigned char a[WIRE_NONCE_SIZE], b[WIRE_NONCE_SIZE], proof[WIRE_PROOF_SIZE];
    (void)state;

    fill(a, sizeof a, 1);
    fill(b, sizeof b, 2);
    for (int role = WIRE_CLIENT; role <= WIRE_SERVER; role++) {
        enum wire_role mine = (enum wire_role)role;
        enum wire_role theirs = mine == WIRE_CLIENT ? WIRE_SERVER : WIRE_CLIENT;
        assert_true(wire_prove(&key, mine, a, b, proof));
        assert_true(wire_proven(&key, mine, a, b, proof));
        assert_false(wire_proven(&key, theirs, a, b, proof)); /* reflected */
        assert_false(wire_proven(&key, theirs, b, a, proof));
        assert_false(wire_proven(&key, mine, b, a, proof));
        assert_false(wire_proven(&key, mine, a, a, proof)); /* replayed to another nonce */
        assert_false(wire_proven(&other, mine, a, b, proof));
        for (size_t bit = 0; bit < 8 * sizeof proof; bit++) {
            proof[bit / 8] ^= (unsigned char)(1 << bit % 8);
            assert_false(wire_proven(&key, mine, a, b, proof));
            proof[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
    }
}

/* Computed with Python: hmac.new(bytes(range(1, 33)), label.ljust(24, b"\0") + version (2 bytes) +
 * role + 0 + 32 * b"\1" + 32 * b"\2", "sha256"). Another implementation must agree with this one. */
static void a_proof_is_the_hmac_that_others_compute(void **state)
{
    static const char CLIENT[] = "a8e57701825d35e19038f2758bcb2710665b556696fc6f81ca55cfe1b92e4937";
    struct wire_key key = key_of(1);
    unsigned char a[WIRE_NONCE_SIZE], b[WIRE_NONCE_SIZE];
    struct wire_key proof; /* of the same size, for its format */
    char text[2 * WIRE_KEY_SIZE + 1];
    uint64_t seed = 0;
    (void)state;

    fill(a, sizeof a, 1);
    fill(b, sizeof b, 2);
    assert_true(wire_prove(&key, WIRE_CLIENT, a, b, proof.bytes));
    wire_key_format(&proof, text);
    assert_string_equal(text, CLIENT);
    assert_true(wire_seed(&key, WIRE_SERVER, a, b, &seed));
    assert_true(seed == UINT64_C(0x15dbcff87491f31e));
}

/* The same of its own label, for a client and nonces of 0. */
static void the_key_to_join_is_derived_as_others_would(void **state)
{
    static const char JOINING[] =
        "b2f6e4a9c4227a710be97b9b6fd5e40afcb29cca66bfcd0c4c7ec2b85a13ff76";
    struct wire_key key = key_of(1), joining, again;
    char text[2 * WIRE_KEY_SIZE + 1];
    (void)state;

    assert_true(wire_key_joining(&key, &joining) && joining.joins && !key.joins);
    wire_key_format(&joining, text);
    assert_string_equal(text, JOINING);
    assert_true(wire_key_joining(&key, &key)); /* in place */
    assert_memory_equal(key.bytes, joining.bytes, sizeof key.bytes);
    assert_true(wire_key_joining(&key, &again));
    assert_memory_not_equal(again.bytes, joining.bytes, sizeof key.bytes);
    assert_int_equal(wire_key_parse(text, strlen(text), &again, NULL), SHOAL_OK);
    assert_false(again.joins); /* text does not tell */
}

static void the_two_directions_have_different_seeds(void **state)
{
    struct wire_key key = key_of(1);
    unsigned char a[WIRE_NONCE_SIZE] = {1}, b[WIRE_NONCE_SIZE] = {2};
    uint64_t seeds[3];
    (void)state;

    assert_true(wire_seed(&key, WIRE_CLIENT, a, b, &seeds[0]));
    assert_true(wire_seed(&key, WIRE_SERVER, a, b, &seeds[1]));
    assert_true(wire_seed(&key, WIRE_CLIENT, a, a, &seeds[2]));
    assert_true(seeds[0] != seeds[1] && seeds[0] != seeds[2] && seeds[1] != seeds[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_formatted_key_parses_to_itself),
        cmocka_unit_test(a_key_that_is_none_is_refused_and_leaves_the_old),
        cmocka_unit_test(a_simulated_key_is_the_seeds_and_a_real_one_is_new),
        cmocka_unit_test(a_key_file_is_read_or_named_in_the_error),
        cmocka_unit_test(a_key_file_that_others_may_read_is_refused_with_what_to_do),
        cmocka_unit_test(a_key_may_come_through_a_pipe_with_a_name),
        cmocka_unit_test(loading_a_key_survives_every_failed_allocation),
        cmocka_unit_test(a_record_parses_to_what_was_formatted),
        cmocka_unit_test(a_record_with_any_wrong_byte_in_its_head_is_refused),
        cmocka_unit_test(a_proof_holds_for_its_key_role_and_nonces_only),
        cmocka_unit_test(a_proof_is_the_hmac_that_others_compute),
        cmocka_unit_test(the_key_to_join_is_derived_as_others_would),
        cmocka_unit_test(the_two_directions_have_different_seeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
