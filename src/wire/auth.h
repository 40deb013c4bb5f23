/* auth.h - two strangers show each other that they know one key, without saying it.
 *
 * client                                server
 *   hello  (its nonce)            ->
 *                                 <-    reply  (its nonce, its proof)
 *   proof  (its nonce, its proof) ->
 *                                 <-    the first frame
 *
 * A proof is HMAC-SHA-256 under the key of a label, the version, the role of who proves and both
 * nonces. The label and the role differ between the sides, so what one side said proves nothing
 * when it is sent back to it; the nonces are new for each connection, so neither does what was said
 * on another one. The seeds of the frames' checksums come from the same nonces under other labels:
 * frames of another connection, or of the other direction, fail their checksum. That finds
 * mistakes; it does not keep out someone who sits on the line and changes bytes after the
 * handshake.
 *
 * A server has two keys, one derived from the other (wire_key_joining); the hello says which one the
 * client has, and all that follows is under that one. Who changes that byte on the way only makes
 * the proofs fail.
 *
 * All three are records of one fixed size. Their first eight bytes, the magic and the version, stay
 * as they are in every version, so that old and new can tell each other. Any thread.
 * Tests: tests/unit/wire/test_auth.c. */
#ifndef WIRE_AUTH_H
#define WIRE_AUTH_H

#include "wire/peer.h"

enum wire_role { WIRE_CLIENT = 1, WIRE_SERVER = 2 };
enum wire_hello_kind { WIRE_HELLO = 1, WIRE_REPLY = 2, WIRE_PROOF = 3 };
enum {
    WIRE_MAGIC_SIZE = 6,
    WIRE_NONCE_SIZE = 32,
    WIRE_PROOF_SIZE = 32,
    WIRE_HELLO_SIZE = 16 + WIRE_NONCE_SIZE + WIRE_PROOF_SIZE
};
#define WIRE_MAGIC "SHOALW"

struct wire_hello {
    enum wire_hello_kind kind;
    enum wire_role role; /* of who sends it */
    bool joins;          /* in a hello: with which key it will prove itself */
    unsigned char nonce[WIRE_NONCE_SIZE];
    unsigned char proof[WIRE_PROOF_SIZE]; /* all 0 in a hello */
};

void wire_hello_format(const struct wire_hello *hello, unsigned char out[WIRE_HELLO_SIZE]);
/* False for what no side of this version says. */
bool wire_hello_parse(const unsigned char bytes[WIRE_HELLO_SIZE], struct wire_hello *out);

/* False when the library refuses to compute it; out is then not set. */
SHOAL_MUST_USE bool wire_prove(const struct wire_key *key, enum wire_role role,
                               const unsigned char client_nonce[WIRE_NONCE_SIZE],
                               const unsigned char server_nonce[WIRE_NONCE_SIZE],
                               unsigned char out[WIRE_PROOF_SIZE]);
/* Takes the same time for every wrong proof. */
bool wire_proven(const struct wire_key *key, enum wire_role role,
                 const unsigned char client_nonce[WIRE_NONCE_SIZE],
                 const unsigned char server_nonce[WIRE_NONCE_SIZE],
                 const unsigned char proof[WIRE_PROOF_SIZE]);
/* Of the checksums of the frames that `role` sends. */
SHOAL_MUST_USE bool wire_seed(const struct wire_key *key, enum wire_role role,
                              const unsigned char client_nonce[WIRE_NONCE_SIZE],
                              const unsigned char server_nonce[WIRE_NONCE_SIZE],
                              uint64_t *out_seed);

/* What the two sides of TLS share: it tells nothing of the key, nor of what is proven with it. */
enum { WIRE_SECRET_SIZE = 32 };
SHOAL_MUST_USE bool wire_secret(const struct wire_key *key, unsigned char out[WIRE_SECRET_SIZE]);

/* For the main function of a program that asks OpenSSL for no cipher or digest by name: the tables of
 * names are never filled, which saves each start half a millisecond. It holds for the whole process, so a
 * library must not call it. */
void wire_skip_openssl_tables(void);

#endif
