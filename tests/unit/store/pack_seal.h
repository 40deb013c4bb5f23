/* pack_seal.h - makes the checksums of altered packs right again, so that tests and the fuzzer reach
 * what lies behind them. */
#ifndef TESTS_PACK_SEAL_H
#define TESTS_PACK_SEAL_H

#include "store/pack_format.h"

/* Header, directory and trailer, as far as they are there; payloads stay as they are. */
static inline void pack_seal(unsigned char *bytes, size_t size)
{
    if (size < 2 * PACK_END_SIZE)
        return;
    unsigned char *trailer = bytes + size - PACK_END_SIZE;
    uint64_t at = base_get64(trailer + PACK_AT_DIRECTORY);
    uint64_t directory_size = base_get64(trailer + PACK_AT_DIRECTORY_SIZE);
    if (at <= size && directory_size <= size - at)
        base_put64(trailer + PACK_AT_DIRECTORY_SUM, pack_sum(bytes + at, directory_size));
    base_put64(bytes + PACK_AT_SUM, pack_sum(bytes, PACK_AT_SUM));
    base_put64(trailer + PACK_AT_HEADER_SUM, base_get64(bytes + PACK_AT_SUM));
    base_put64(trailer + PACK_AT_SUM, pack_sum(trailer, PACK_AT_SUM));
}

#endif
