/* auth.c - see auth.h. HMAC-SHA-256, the comparison and the wiping come from OpenSSL's libcrypto. */
#include "wire/auth.h"
#include "base/bytes.h"
#include "base/err.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

enum { LABEL_SIZE = 24, KEY_FILE_MAX = 4096 };

/* --- keys --- */

shoal_status wire_key_new(shoal_env *env, struct wire_key *out, shoal_err *err)
{
    struct wire_key key = {.joins = false};
    shoal_status st = env_random(env, key.bytes, sizeof key.bytes, err);
    if (st == SHOAL_OK)
        *out = key;
    wire_key_wipe(&key);
    return st;
}

void wire_key_wipe(struct wire_key *key)
{
    wire_wipe(key, sizeof *key);
}

void wire_wipe(void *bytes, size_t size)
{
    OPENSSL_cleanse(bytes, size);
}

void wire_key_format(const struct wire_key *key, char out_text[2 * WIRE_KEY_SIZE + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < WIRE_KEY_SIZE; i++) {
        out_text[2 * i] = digits[key->bytes[i] >> 4];
        out_text[2 * i + 1] = digits[key->bytes[i] & 15];
    }
    out_text[2 * WIRE_KEY_SIZE] = '\0';
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

shoal_status wire_key_parse(const char *text, size_t size, struct wire_key *out, shoal_err *err)
{
    struct wire_key key;
    while (size > 0 && is_space(text[size - 1]))
        size--;
    while (size > 0 && is_space(*text)) {
        text++;
        size--;
    }
    if (size != 2 * WIRE_KEY_SIZE)
        return base_err(err, SHOAL_E_FORMAT, "a key is %d hexadecimal digits, this has %zu",
                        2 * WIRE_KEY_SIZE, size);
    for (size_t i = 0; i < WIRE_KEY_SIZE; i++) {
        int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return base_err(err, SHOAL_E_FORMAT,
                            "a key is hexadecimal digits, character %zu is none",
                            2 * i + (high < 0 ? 1 : 2));
        key.bytes[i] = (unsigned char)(high << 4 | low);
    }
    key.joins = false;
    *out = key;
    wire_key_wipe(&key);
    return SHOAL_OK;
}

/* Fills `text` from a file that nobody else may read, unless it is standard input. */
static shoal_status read_private(shoal_env *env, const char *path, char *text, size_t *out_size,
                                 shoal_err *err)
{
    struct env_file *file = NULL;
    size_t have = 0, got = 1;
    shoal_status st = env_open(env, path, &file, err);
    if (st != SHOAL_OK)
        return st;
    if (strcmp(path, "-") != 0 && !env_is_private(file)) {
        st = base_err(err, SHOAL_E_DENIED, "'%s' holds a key and others may read it", path);
        base_err_hint(err, "chmod 600 %s", path);
    }
    while (st == SHOAL_OK && got > 0 && have < KEY_FILE_MAX) {
        st = env_read(file, text + have, KEY_FILE_MAX - have, &got, err);
        have += st == SHOAL_OK ? got : 0;
    }
    env_close(file);
    *out_size = have;
    return st;
}

shoal_status wire_key_load(shoal_env *env, const char *path, struct wire_key *out, shoal_err *err)
{
    char text[KEY_FILE_MAX];
    size_t size = 0;
    shoal_status st = read_private(env, path, text, &size, err);
    if (st == SHOAL_OK) {
        st = wire_key_parse(text, size, out, err);
        if (st != SHOAL_OK)
            base_err_where(err, "%s", path);
    }
    OPENSSL_cleanse(text, sizeof text);
    return st;
}

/* --- records --- */

void wire_hello_format(const struct wire_hello *hello, unsigned char out[WIRE_HELLO_SIZE])
{
    memset(out, 0, WIRE_HELLO_SIZE);
    memcpy(out, WIRE_MAGIC, WIRE_MAGIC_SIZE);
    base_put16(out + WIRE_MAGIC_SIZE, WIRE_VERSION);
    out[8] = (unsigned char)hello->kind;
    out[9] = (unsigned char)hello->role;
    out[10] = hello->joins;
    memcpy(out + 16, hello->nonce, WIRE_NONCE_SIZE);
    memcpy(out + 16 + WIRE_NONCE_SIZE, hello->proof, WIRE_PROOF_SIZE);
}

bool wire_hello_parse(const unsigned char bytes[WIRE_HELLO_SIZE], struct wire_hello *out)
{
    static const unsigned char zeros[WIRE_PROOF_SIZE];
    if (memcmp(bytes, WIRE_MAGIC, WIRE_MAGIC_SIZE) != 0 ||
        base_get16(bytes + WIRE_MAGIC_SIZE) != WIRE_VERSION || memcmp(bytes + 11, zeros, 5) != 0)
        return false;
    if (bytes[8] < WIRE_HELLO || bytes[8] > WIRE_PROOF)
        return false;
    if (bytes[10] > (bytes[8] == WIRE_HELLO))
        return false;
    if (bytes[9] != (bytes[8] == WIRE_REPLY ? WIRE_SERVER : WIRE_CLIENT))
        return false;
    const unsigned char *proof = bytes + 16 + WIRE_NONCE_SIZE;
    if (bytes[8] == WIRE_HELLO && memcmp(proof, zeros, WIRE_PROOF_SIZE) != 0)
        return false;
    out->kind = (enum wire_hello_kind)bytes[8];
    out->role = (enum wire_role)bytes[9];
    out->joins = bytes[10] != 0;
    memcpy(out->nonce, bytes + 16, WIRE_NONCE_SIZE);
    memcpy(out->proof, proof, WIRE_PROOF_SIZE);
    return true;
}

/* --- proofs --- */

void wire_skip_openssl_tables(void)
{
    (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ADD_ALL_DIGESTS,
                              NULL);
}

static bool keyed_hash(const struct wire_key *key, const char label[LABEL_SIZE],
                       enum wire_role role, const unsigned char *client_nonce,
                       const unsigned char *server_nonce, unsigned char out[WIRE_PROOF_SIZE])
{
    unsigned char text[LABEL_SIZE + 4 + 2 * WIRE_NONCE_SIZE] = {0};
    unsigned int size = 0;
    memcpy(text, label, LABEL_SIZE);
    base_put16(text + LABEL_SIZE, WIRE_VERSION);
    text[LABEL_SIZE + 2] = (unsigned char)role;
    memcpy(text + LABEL_SIZE + 4, client_nonce, WIRE_NONCE_SIZE);
    memcpy(text + LABEL_SIZE + 4 + WIRE_NONCE_SIZE, server_nonce, WIRE_NONCE_SIZE);
    return HMAC(EVP_sha256(), key->bytes, WIRE_KEY_SIZE, text, sizeof text, out, &size) != NULL &&
           size == WIRE_PROOF_SIZE;
}

bool wire_prove(const struct wire_key *key, enum wire_role role,
                const unsigned char client_nonce[WIRE_NONCE_SIZE],
                const unsigned char server_nonce[WIRE_NONCE_SIZE],
                unsigned char out[WIRE_PROOF_SIZE])
{
    static const char labels[][LABEL_SIZE] = {
        [WIRE_CLIENT] = "shoal: client's proof", [WIRE_SERVER] = "shoal: server's proof"};
    return keyed_hash(key, labels[role], role, client_nonce, server_nonce, out);
}

bool wire_proven(const struct wire_key *key, enum wire_role role,
                 const unsigned char client_nonce[WIRE_NONCE_SIZE],
                 const unsigned char server_nonce[WIRE_NONCE_SIZE],
                 const unsigned char proof[WIRE_PROOF_SIZE])
{
    unsigned char want[WIRE_PROOF_SIZE];
    bool same = wire_prove(key, role, client_nonce, server_nonce, want) &&
                CRYPTO_memcmp(want, proof, WIRE_PROOF_SIZE) == 0;
    OPENSSL_cleanse(want, sizeof want);
    return same;
}

bool wire_seed(const struct wire_key *key, enum wire_role role,
               const unsigned char client_nonce[WIRE_NONCE_SIZE],
               const unsigned char server_nonce[WIRE_NONCE_SIZE], uint64_t *out_seed)
{
    static const char labels[][LABEL_SIZE] = {
        [WIRE_CLIENT] = "shoal: client's frames", [WIRE_SERVER] = "shoal: server's frames"};
    unsigned char hash[WIRE_PROOF_SIZE];
    if (!keyed_hash(key, labels[role], role, client_nonce, server_nonce, hash))
        return false;
    *out_seed = base_get64(hash);
    OPENSSL_cleanse(hash, sizeof hash);
    return true;
}

bool wire_key_joining(const struct wire_key *key, struct wire_key *out)
{
    static const char label[LABEL_SIZE] = "shoal: key of joiners";
    static const unsigned char none[WIRE_NONCE_SIZE];
    struct wire_key joining = {.joins = true};
    bool ok = keyed_hash(key, label, WIRE_CLIENT, none, none, joining.bytes);
    if (ok)
        *out = joining;
    wire_key_wipe(&joining);
    return ok;
}

bool wire_secret(const struct wire_key *key, unsigned char out[WIRE_SECRET_SIZE])
{
    static const char label[LABEL_SIZE] = "shoal: secret of TLS";
    static const unsigned char none[WIRE_NONCE_SIZE];
    return keyed_hash(key, label, WIRE_SERVER, none, none, out);
}
