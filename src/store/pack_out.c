/* pack_out.c - writing a pack (pack.h) in the layout of pack_format.h.
 *
 * One pass: bytes are gathered to blocks, each block is summed and goes to the file at once, and
 * the directory grows in memory by 8 bytes per block. Whole blocks that the caller brings are not
 * copied. The file takes its name in env_commit, which syncs it and its folder; until then all of
 * it can be thrown away. Tests: tests/unit/store/test_pack.c, test_pack_crash.c. */
#include "base/err.h"
#include "base/map.h"
#include "store/pack_format.h"
#include <string.h>

struct store_pack_out {
    const struct base_alloc *alloc;
    struct env_out *file;
    shoal_status status; /* the first failure, told by `why` */
    shoal_err why;
    char *path;
    uint64_t file_size; /* written so far, without the block in the making */
    uint64_t header_sum;
    uint64_t payload_size; /* of all sections */
    struct base_map names; /* of the sections begun */
    struct base_buf directory;

    bool in_section; /* then the last of `names` is being written */
    uint64_t section_offset, section_size;
    struct base_buf sums;
    size_t used; /* of `block` */
    unsigned char block[STORE_PACK_BLOCK_SIZE];
};

static void pack_free(struct store_pack_out *out)
{
    base_map_fini(&out->names);
    base_buf_fini(&out->directory);
    base_buf_fini(&out->sums);
    base_free(out->alloc, out->path);
    base_free(out->alloc, out);
}

static shoal_status put(struct store_pack_out *out, const void *bytes, size_t size)
{
    if (out->status == SHOAL_OK)
        out->status = env_append(out->file, bytes, size, &out->why);
    out->file_size += size;
    return out->status;
}

static shoal_status fail_call(struct store_pack_out *out, const char *what, const char *name)
{
    out->status = base_err(&out->why, SHOAL_E_INVAL, "cannot write '%s': section '%.*s' %s",
                           out->path, STORE_PACK_NAME_MAX, name, what);
    return out->status;
}

/* The first failure of a buffer that holds part of the directory. */
static shoal_status note_buf(struct store_pack_out *out, const struct base_buf *buf)
{
    shoal_status st = base_buf_status(buf);
    if (out->status != SHOAL_OK || st == SHOAL_OK)
        return out->status;
    if (st == SHOAL_E_LIMIT)
        out->status = base_err(&out->why, st, "cannot write '%s': its directory is over %d bytes",
                               out->path, PACK_DIRECTORY_SIZE_MAX);
    else
        out->status = base_err_nomem(&out->why, "writing a pack");
    return out->status;
}

/* ---- create ---- */

static shoal_status put_header(struct store_pack_out *out, const char *kind)
{
    unsigned char header[PACK_END_SIZE] = {0};
    memcpy(header, PACK_MAGIC, PACK_MAGIC_SIZE);
    pack_put_u64(header + PACK_AT_VERSION, PACK_VERSION); /* u32 and 0 */
    memcpy(header + PACK_AT_KIND, kind, strlen(kind) + 1);
    out->header_sum = pack_sum(header, PACK_AT_SUM);
    pack_put_u64(header + PACK_AT_SUM, out->header_sum);
    return put(out, header, sizeof header);
}

shoal_status store_pack_create(shoal_env *env, const char *path, const char *kind,
                               struct store_pack_out **out_out, shoal_err *err)
{
    if (!pack_is_kind(kind, strlen(kind)))
        return base_err(err, SHOAL_E_INVAL, "cannot write '%s': no kind of pack: '%.40s'", path,
                        kind);
    const struct base_alloc *alloc = env_alloc(env);
    struct store_pack_out *out = base_calloc(alloc, 1, sizeof *out);
    if (out == NULL)
        return base_err_nomem(err, "writing a pack");
    out->alloc = alloc;
    base_map_init(&out->names, alloc);
    base_buf_init(&out->directory, alloc, PACK_DIRECTORY_SIZE_MAX);
    base_buf_init(&out->sums, alloc, PACK_DIRECTORY_SIZE_MAX);
    out->path = base_strdup(alloc, path);
    shoal_status st = out->path != NULL ? env_create(env, path, &out->file, err)
                                        : base_err_nomem(err, "writing a pack");
    if (st != SHOAL_OK) {
        pack_free(out);
        return st;
    }
    (void)put_header(out, kind);
    *out_out = out;
    return SHOAL_OK;
}

/* ---- sections ---- */

static void put_block(struct store_pack_out *out, const void *bytes, size_t size)
{
    unsigned char sum[8];
    pack_put_u64(sum, pack_sum(bytes, size));
    base_buf_append(&out->sums, sum, sizeof sum);
    if (note_buf(out, &out->sums) == SHOAL_OK)
        (void)put(out, bytes, size);
}

shoal_status store_pack_begin(struct store_pack_out *out, const char *name)
{
    if (out->status != SHOAL_OK)
        return out->status;
    if (out->in_section)
        return fail_call(out, "begins inside another", name);
    if (!pack_is_name(name, strlen(name)))
        return fail_call(out, "has no valid name", name);
    shoal_status st = base_map_add(&out->names, name, strlen(name), 0, NULL);
    if (st == SHOAL_E_EXISTS)
        return fail_call(out, "is already there", name);
    if (st != SHOAL_OK) {
        out->status = base_err_nomem(&out->why, "writing a pack");
        return out->status;
    }
    out->in_section = true;
    out->section_offset = out->file_size;
    out->section_size = 0;
    base_buf_clear(&out->sums);
    return SHOAL_OK;
}

shoal_status store_pack_append(struct store_pack_out *out, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    if (out->status == SHOAL_OK && !out->in_section)
        return fail_call(out, "gets bytes before it begins", "");
    out->section_size += size;
    while (size > 0 && out->status == SHOAL_OK) {
        size_t take = sizeof out->block - out->used;
        if (take > size)
            take = size;
        if (take == sizeof out->block) {
            put_block(out, from, take);
        } else {
            memcpy(out->block + out->used, from, take);
            out->used += take;
            if (out->used == sizeof out->block) {
                put_block(out, out->block, out->used);
                out->used = 0;
            }
        }
        from += take;
        size -= take;
    }
    return out->status;
}

static void put_entry(struct store_pack_out *out)
{
    const struct base_map_entry *name = &out->names.entries[out->names.count - 1];
    unsigned char entry[PACK_ENTRY_SIZE];
    unsigned char field[STORE_PACK_NAME_MAX + 8] = {0};
    pack_put_u64(entry, out->section_offset);
    pack_put_u64(entry + 8, out->section_size);
    pack_put_u64(entry + 16, name->key_size);
    memcpy(field, name->key, name->key_size);
    base_buf_append(&out->directory, entry, sizeof entry);
    base_buf_append(&out->directory, field, pack_name_field(name->key_size));
    base_buf_append(&out->directory, out->sums.data, out->sums.size);
    (void)note_buf(out, &out->directory);
}

shoal_status store_pack_end(struct store_pack_out *out)
{
    if (out->status != SHOAL_OK)
        return out->status;
    if (!out->in_section)
        return fail_call(out, "ends before it begins", "");
    if (out->used > 0) {
        size_t padded = (size_t)pack_padded(out->used);
        memset(out->block + out->used, 0, padded - out->used);
        put_block(out, out->block, padded);
        out->used = 0;
    }
    out->in_section = false;
    out->payload_size += out->section_size;
    put_entry(out);
    return out->status;
}

shoal_status store_pack_section(struct store_pack_out *out, const char *name, const void *bytes,
                                size_t size)
{
    (void)store_pack_begin(out, name);
    (void)store_pack_append(out, bytes, size);
    return store_pack_end(out);
}

shoal_status store_pack_fail(struct store_pack_out *out, const shoal_err *why)
{
    if (out->status == SHOAL_OK) {
        out->why = *why;
        out->status = why->code;
    }
    return out->status;
}

const shoal_err *store_pack_why(const struct store_pack_out *out)
{
    return &out->why;
}

uint64_t store_pack_written(const struct store_pack_out *out)
{
    return out->payload_size + (out->in_section ? out->section_size : 0);
}

/* ---- commit ---- */

static shoal_status put_ending(struct store_pack_out *out)
{
    unsigned char trailer[PACK_END_SIZE] = {0};
    const struct base_buf *directory = &out->directory;
    uint64_t offset = out->file_size;
    memcpy(trailer, PACK_END_MAGIC, PACK_MAGIC_SIZE);
    pack_put_u64(trailer + PACK_AT_FILE_SIZE, offset + directory->size + PACK_END_SIZE);
    pack_put_u64(trailer + PACK_AT_DIRECTORY, offset);
    pack_put_u64(trailer + PACK_AT_DIRECTORY_SIZE, directory->size);
    pack_put_u64(trailer + PACK_AT_COUNT, out->names.count);
    pack_put_u64(trailer + PACK_AT_DIRECTORY_SUM, pack_sum(directory->data, directory->size));
    pack_put_u64(trailer + PACK_AT_HEADER_SUM, out->header_sum);
    pack_put_u64(trailer + PACK_AT_SUM, pack_sum(trailer, PACK_AT_SUM));
    if (directory->size > 0)
        (void)put(out, directory->data, directory->size);
    return put(out, trailer, sizeof trailer);
}

shoal_status store_pack_commit(struct store_pack_out *out, shoal_err *err)
{
    if (out->status == SHOAL_OK && out->in_section)
        (void)fail_call(out, "was not ended", out->names.entries[out->names.count - 1].key);
    shoal_status st = out->status == SHOAL_OK ? put_ending(out) : out->status;
    if (st == SHOAL_OK) {
        st = env_commit(out->file, err);
    } else {
        env_discard(out->file);
        if (err != NULL)
            *err = out->why;
    }
    pack_free(out);
    return st;
}

void store_pack_discard(struct store_pack_out *out)
{
    if (out == NULL)
        return;
    env_discard(out->file);
    pack_free(out);
}
