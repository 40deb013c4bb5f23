/* pack_format.h - the bytes of a pack, shared by pack.c and tests that alter them.
 *
 * All numbers are little-endian u64 but the version (u32); sums are XXH3-64 with seed 0.
 *
 *     header, 64 bytes     magic[8]  version u32, 0 u32  kind[16] NUL-padded  0[24]  sum of the 56
 *     sections             payload, then zeros up to a multiple of 64; the next follows at once
 *     directory            per section: offset, size, name size, name NUL-padded to a multiple of 8
 *                          (at least one NUL), one sum per block
 *     trailer, 64 bytes    magic[8]  file size  directory offset  directory size  section count
 *                          sum of the directory  the header's sum  sum of the 56
 *
 * A payload is cut into blocks of STORE_PACK_BLOCK_SIZE; the sum of the last one covers the zeros
 * after it as well. So every byte of the file is under exactly one sum, and the sums of the
 * payloads are under the directory's. The directory is last because sizes are not known before a
 * section has been streamed. Where things lie is fixed by their sizes, and a reader takes nothing
 * else: sections neither overlap nor leave room between them.
 *
 * The version counts changes that an old reader cannot read; the magic, the version and the sum of
 * the header stay where they are in all of them. */
#ifndef STORE_PACK_FORMAT_H
#define STORE_PACK_FORMAT_H

#include "base/bytes.h"
#include "store/pack.h"
#include <xxhash.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "payloads are stored as they lie");

enum {
    PACK_VERSION = 1,
    PACK_END_SIZE = 64, /* of the header, and of the trailer */
    PACK_MAGIC_SIZE = 8,
    PACK_AT_SUM = 56, /* in header and trailer */
    PACK_AT_VERSION = 8,
    PACK_AT_KIND = 16,
    PACK_AT_FILE_SIZE = 8,
    PACK_AT_DIRECTORY = 16,
    PACK_AT_DIRECTORY_SIZE = 24,
    PACK_AT_COUNT = 32,
    PACK_AT_DIRECTORY_SUM = 40,
    PACK_AT_HEADER_SUM = 48,
    PACK_ENTRY_SIZE = 24,             /* of a directory entry before its name */
    PACK_ENTRY_SIZE_MIN = 24 + 8,     /* with the shortest name */
    PACK_DIRECTORY_SIZE_MAX = 1 << 28 /* sums of 8 TiB */
};

/* The first byte is not text and the line end does not survive a transfer as text. */
#define PACK_MAGIC     "\x89SHOAL\r\n"
#define PACK_END_MAGIC "SHOALEND"

static inline uint64_t pack_sum(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

/* Up to the next multiple of STORE_PACK_ALIGN; size is at most UINT64_MAX - 63. */
static inline uint64_t pack_padded(uint64_t size)
{
    return (size + STORE_PACK_ALIGN - 1) / STORE_PACK_ALIGN * STORE_PACK_ALIGN;
}

/* Of a name in the directory: with its NUL, up to a multiple of 8. */
static inline size_t pack_name_field(size_t name_size)
{
    return (name_size + 8) / 8 * 8;
}

static inline uint64_t pack_block_count(uint64_t size)
{
    return size / STORE_PACK_BLOCK_SIZE + (size % STORE_PACK_BLOCK_SIZE != 0);
}

static inline bool pack_is_name(const char *name, size_t size)
{
    if (size == 0 || size > STORE_PACK_NAME_MAX)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (name[i] <= ' ' || name[i] > '~' || name[i] == '\'' || name[i] == '"')
            return false;
    }
    return true;
}

static inline bool pack_is_kind(const char *kind, size_t size)
{
    if (size == 0 || size > STORE_PACK_KIND_MAX)
        return false;
    for (size_t i = 0; i < size; i++) {
        bool letter = kind[i] >= 'a' && kind[i] <= 'z';
        bool digit = kind[i] >= '0' && kind[i] <= '9';
        if (!letter && !digit && kind[i] != '-')
            return false;
    }
    return true;
}

#endif
