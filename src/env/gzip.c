/* gzip.c - env_open_text: a text file as it is, or unpacked where it is compressed with gzip.
 *
 * The first two bytes tell. A plain file hands them out again and is read directly from then on. A
 * compressed one is unpacked into the caller's buffer as he asks, so it takes zlib's window and one
 * block of input however large it is; members behind each other are one text, as gzip has it, and
 * zeros behind the last are padding. What unpacks to far more than tables and texts do is refused: a
 * small file must not keep anybody busy for hours. Tests: tests/unit/env/test_gzip.c; fuzzer:
 * tests/fuzz/fuzz_table.c. */
#include "env/env.h"

#include "base/err.h"
#include <limits.h>
#include <string.h>
#include <zlib.h>

enum { INPUT_SIZE = 64 * 1024, WITH_GZIP_HEADER = 15 + 16 };

/* So much may come out for each byte read, beyond what any file may give. Tables of one line over and
 * over come to 400 to 1. */
static const uint64_t RATIO_MAX = 500, FREE_BYTES = 64 << 20;

struct env_gzip {
    z_stream z;
    const struct base_alloc *alloc;
    uint64_t in, out;
    bool ended, eof; /* a member is complete; the file is at its end */
    unsigned char input[INPUT_SIZE];
};

static void *take(void *ctx, uInt count, uInt size)
{
    return base_calloc(ctx, count, size);
}

static void give(void *ctx, void *p)
{
    base_free(ctx, p);
}

static shoal_status begin(struct env_file *file, shoal_err *err)
{
    const struct base_alloc *alloc = file->env->alloc;
    struct env_gzip *g = base_calloc(alloc, 1, sizeof *g);

    if (g == NULL)
        return base_err_nomem(err, "unpacking a file");
    g->alloc = alloc;
    g->z.zalloc = take;
    g->z.zfree = give;
    g->z.opaque = (void *)(uintptr_t)alloc;
    if (inflateInit2(&g->z, WITH_GZIP_HEADER) != Z_OK) {
        base_free(alloc, g);
        return base_err_nomem(err, "unpacking a file");
    }
    memcpy(g->input, file->head, file->head_size);
    g->in = file->head_size;
    g->z.next_in = g->input;
    g->z.avail_in = file->head_size;
    file->head_size = 0;
    file->gzip = g;
    return SHOAL_OK;
}

shoal_status env_open_text(shoal_env *env, const char *path, struct env_file **out_file,
                           shoal_err *err)
{
    struct env_file *file = NULL;
    size_t got = 1;
    shoal_status st = env_open(env, path, &file, err);

    while (st == SHOAL_OK && got > 0 && file->head_size < sizeof file->head) {
        st = env->ops->read(file, file->head + file->head_size, sizeof file->head - file->head_size,
                            &got, err);
        file->head_size = (uint8_t)(file->head_size + (st == SHOAL_OK ? got : 0));
    }
    if (st == SHOAL_OK && file->head_size == 2 && memcmp(file->head, "\x1f\x8b", 2) == 0) {
        file->path = path;
        st = begin(file, err);
    }
    if (st != SHOAL_OK)
        env_close(file);
    else
        *out_file = file;
    return st;
}

void env_gzip_free(struct env_gzip *g)
{
    inflateEnd(&g->z);
    base_free(g->alloc, g);
}

static shoal_status damaged(const struct env_file *file, const char *why, shoal_err *err)
{
    base_err(err, SHOAL_E_FORMAT, "cannot unpack '%s': %s", file->path, why);
    base_err_hint(err, "it was compressed with gzip; fetch it again, and see what 'gzip -t' says");
    return SHOAL_E_FORMAT;
}

static shoal_status fill(struct env_file *file, shoal_err *err)
{
    struct env_gzip *g = file->gzip;
    size_t got = 0;
    shoal_status st = file->env->ops->read(file, g->input, sizeof g->input, &got, err);

    if (st != SHOAL_OK)
        return st;
    g->z.next_in = g->input;
    g->z.avail_in = (uInt)got;
    g->in += got;
    g->eof = got == 0;
    return SHOAL_OK;
}

/* Behind a member: another one, or padding up to the end. */
static shoal_status next_member(struct env_file *file, shoal_err *err)
{
    struct env_gzip *g = file->gzip;

    if (*g->z.next_in == 0) {
        g->z.next_in++;
        g->z.avail_in--;
        return SHOAL_OK;
    }
    if (*g->z.next_in != 0x1f || inflateReset(&g->z) != Z_OK)
        return damaged(file, "other bytes follow the compressed ones", err);
    g->ended = false;
    return SHOAL_OK;
}

static shoal_status inflate_some(struct env_file *file, shoal_err *err)
{
    struct env_gzip *g = file->gzip;
    int rc = inflate(&g->z, Z_NO_FLUSH);

    g->ended = rc == Z_STREAM_END;
    if (rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR)
        return SHOAL_OK;
    if (rc == Z_MEM_ERROR)
        return base_err_nomem(err, "unpacking a file");
    return damaged(file, "the compressed bytes are damaged", err);
}

shoal_status env_gzip_read(struct env_file *file, void *buf, size_t size, size_t *out_size,
                           shoal_err *err)
{
    struct env_gzip *g = file->gzip;
    uInt room = size < INT_MAX ? (uInt)size : INT_MAX;
    shoal_status st = SHOAL_OK;

    g->z.next_out = buf;
    g->z.avail_out = room;
    while (st == SHOAL_OK && g->z.avail_out == room && room > 0) {
        if (g->z.avail_in == 0 && !g->eof)
            st = fill(file, err);
        else if (g->z.avail_in == 0 && g->ended)
            break;
        else if (g->z.avail_in == 0)
            st = damaged(file, "it ends in the middle", err);
        else
            st = g->ended ? next_member(file, err) : inflate_some(file, err);
    }
    if (st != SHOAL_OK)
        return st;
    *out_size = room - g->z.avail_out;
    g->out += *out_size;
    if (g->out > FREE_BYTES && g->out / RATIO_MAX > g->in) {
        base_err(err, SHOAL_E_LIMIT, "cannot unpack '%s': it holds more than %d times its size",
                 file->path, (int)RATIO_MAX);
        base_err_hint(err, "a table does not; if this one does, unpack it first: gzip -dc FILE");
        return SHOAL_E_LIMIT;
    }
    return SHOAL_OK;
}
