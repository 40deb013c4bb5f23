/* gzip_text.h - a text as `gzip` would store it. */
#ifndef TESTS_GZIP_TEXT_H
#define TESTS_GZIP_TEXT_H

#include "base/assert.h"
#include "base/buf.h"
#include <zlib.h>

/* Appends one member. */
static inline void gzip_text(const void *text, size_t size, struct base_buf *out)
{
    enum { GZIP = 15 + 16, MEMORY = 8 };
    z_stream z = {0};
    unsigned char block[4096];
    int rc;

    shoal_assert(deflateInit2(&z, 6, Z_DEFLATED, GZIP, MEMORY, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (unsigned)size;
    do {
        z.next_out = block;
        z.avail_out = sizeof block;
        rc = deflate(&z, Z_FINISH);
        base_buf_append(out, block, sizeof block - z.avail_out);
    } while (rc == Z_OK);
    shoal_assert(rc == Z_STREAM_END);
    deflateEnd(&z);
}

#endif
