/* pack.h - a file of named sections: models, checkpoints, prepared data.
 *
 * A pack is written once, front to back, and takes its name at commit, whole: a crash, a full disk
 * or a failure at any moment leaves the old file of that name as it was. What was committed without
 * an error is on the disk. Every byte of a pack is covered by a checksum, and a reader checks bytes
 * before it hands them out, so a cut or altered file is an error that names the section and the
 * offset, never wrong numbers and never a crash. The layout is in pack.c.
 *
 *     struct store_pack_out *out = NULL;
 *     st = store_pack_create(env, "m.shoal", "model", &out, err);
 *     if (st != SHOAL_OK)
 *         return st;
 *     store_pack_section(out, "weights", weights, sizeof weights);
 *     store_pack_begin(out, "rows");
 *     while (more())
 *         store_pack_append(out, row, row_size);
 *     store_pack_end(out);
 *     return store_pack_commit(out, err);
 *
 * Payloads are stored as given; numbers in them are little-endian because Shoal's machines are
 * (checked at compile time). Each starts at a multiple of STORE_PACK_ALIGN in the file. Owner
 * thread only. Memory comes from the env. Tests: tests/unit/store/test_pack.c, test_pack_crash.c;
 * fuzzer: tests/fuzz/fuzz_pack.c. See facts.h for the section of keys and values. */
#ifndef STORE_PACK_H
#define STORE_PACK_H

#include "env/env.h"

enum {
    STORE_PACK_ALIGN = 64,
    STORE_PACK_NAME_MAX = 100, /* bytes of a section's name: printable ASCII, no space or quote */
    STORE_PACK_KIND_MAX = 15,  /* bytes of a kind: a-z, 0-9 and '-' */
    STORE_PACK_BLOCK_SIZE = 1 << 18, /* of a payload under one checksum; reads in whole blocks are
                                        fastest */
};

/* ---- writing ---- */

struct store_pack_out;

/* `kind` says what is in the file: "model", "checkpoint". On success *out is the caller's, ended by
 * commit or discard. */
SHOAL_MUST_USE shoal_status store_pack_create(shoal_env *env, const char *path, const char *kind,
                                              struct store_pack_out **out, shoal_err *err);

/* A section whole, or in pieces of any size between begin and end, one section at a time. Names are
 * unique. The first failure sticks: later calls do nothing and return it, and commit says what it
 * was, so a result may be ignored or used to stop early. */
shoal_status store_pack_section(struct store_pack_out *out, const char *name, const void *bytes,
                                size_t size);
const shoal_err *store_pack_why(
    const struct store_pack_out *out); /* of the failure, if there is one */
shoal_status store_pack_begin(struct store_pack_out *out, const char *name);
shoal_status store_pack_append(struct store_pack_out *out, const void *bytes, size_t size);
shoal_status store_pack_end(struct store_pack_out *out);

/* Makes the pack fail with `why`: for those who write sections of their own and have found a reason.
 */
shoal_status store_pack_fail(struct store_pack_out *out, const shoal_err *why);

uint64_t store_pack_written(const struct store_pack_out *out); /* bytes of sections so far */

/* Ends `out` in any case. On success the file is on the disk under its name; on failure the name has
 * what it had before. */
SHOAL_MUST_USE shoal_status store_pack_commit(struct store_pack_out *out, shoal_err *err);
void store_pack_discard(struct store_pack_out *out); /* NULL is allowed */

/* ---- reading ---- */

struct store_pack;

struct store_section {
    const char *name; /* borrowed from the pack, as is the rest */
    uint64_t offset;  /* of the payload in the file */
    uint64_t size;
    const unsigned char *sums; /* one little-endian checksum per block */
};

/* Opens a plain file and checks all of it but the payloads. `kind` NULL takes any. The pack keeps
 * the file open: one that replaces it meanwhile is not seen. */
SHOAL_MUST_USE shoal_status store_pack_open(shoal_env *env, const char *path, const char *kind,
                                            struct store_pack **out_pack, shoal_err *err);
void store_pack_close(struct store_pack *pack); /* NULL is allowed */

const char *store_pack_path(const struct store_pack *pack);
const char *store_pack_kind(const struct store_pack *pack);
size_t store_pack_count(const struct store_pack *pack);
/* In the order they were written; index < count. */
const struct store_section *store_pack_at(const struct store_pack *pack, size_t index);
/* NULL when there is none of that name. */
const struct store_section *store_pack_find(const struct store_pack *pack, const char *name);
/* As find, for sections that must be there and have exactly `size` bytes (UINT64_MAX: any). */
SHOAL_MUST_USE shoal_status store_pack_need(const struct store_pack *pack, const char *name,
                                            uint64_t size, const struct store_section **out_section,
                                            shoal_err *err);

/* `size` bytes of the payload from `offset` on, checked. Asking for what is past its end is
 * SHOAL_E_INVAL. On failure what `buf` holds is undefined. Pieces in order read each block once,
 * whatever their size. */
SHOAL_MUST_USE shoal_status store_pack_read(struct store_pack *pack,
                                            const struct store_section *section, uint64_t offset,
                                            void *buf, size_t size, shoal_err *err);
/* Reads and checks every payload. */
SHOAL_MUST_USE shoal_status store_pack_verify(struct store_pack *pack, shoal_err *err);

#endif
