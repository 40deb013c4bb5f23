/* pack.c - reading and writing a pack (pack.h) in the layout of pack_format.h.
 *
 * Opening reads the two ends and the directory, and checks their sums, then that every entry lies
 * where the sizes before it say, so no later step meets an offset outside the file. The directory
 * is the largest thing allocated and is bounded by the size of the file before it is. Payload
 * bytes are handed out by blocks whose sum was right: whole ones go straight to the caller, parts
 * of one through `block`, which keeps the last, so pieces in order read each block once.
 *
 * Writing. One pass: bytes are gathered to blocks, each block is summed and goes to the file at once, and
 * the directory grows in memory by 8 bytes per block. Whole blocks that the caller brings are not
 * copied. The file takes its name in env_commit, which syncs it and its folder; until then all of
 * it can be thrown away.
 *
 * Tests: tests/unit/store/test_pack.c, test_pack_crash.c; fuzzer: tests/fuzz/fuzz_pack.c. */
#include "base/err.h"
#include "base/map.h"
#include "store/pack_format.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct store_pack {
    const struct base_alloc *alloc;
    struct env_file *file;
    char *path;
    const char *wanted; /* what it was opened as, for messages */
    char kind[STORE_PACK_KIND_MAX + 1];
    uint64_t file_size;
    uint64_t header_sum;
    uint64_t directory_offset;
    size_t directory_size;
    unsigned char *directory;
    struct store_section *sections; /* in the order of `names` */
    struct base_map names;
    unsigned char *block; /* of `held`, number held_index; made at the first use */
    const struct store_section *held;
    uint64_t held_index;
};

/* ---- errors ---- */

/* "cannot read model 'path': what", at an offset of the file. */
static shoal_status damaged(const struct store_pack *pack, uint64_t offset, shoal_err *err,
                            const char *what)
{
    shoal_status st =
        base_err(err, SHOAL_E_FORMAT, "cannot read %s '%s': %s", pack->wanted, pack->path, what);
    base_err_where(err, "%s, offset %" PRIu64, pack->path, offset);
    return st;
}

/* As read_at, where all of it must be there; `what` is being read. */
static shoal_status read_exactly(struct store_pack *pack, uint64_t offset, void *buf, size_t size,
                                 const char *what, shoal_err *err)
{
    size_t got = 0;
    shoal_status st = env_read_at(pack->file, offset, buf, size, &got, err);
    if (st != SHOAL_OK || got == size)
        return st;
    char text[STORE_PACK_NAME_MAX + 80];
    (void)snprintf(text, sizeof text, "it ends at byte %" PRIu64 ", inside %s", offset + got, what);
    return damaged(pack, offset + got, err, text);
}

/* ---- the two ends ---- */

static shoal_status check_header(struct store_pack *pack, const char *kind, shoal_err *err)
{
    unsigned char header[PACK_END_SIZE] = {0};
    char text[100];
    size_t got = 0;
    shoal_status st = env_read_at(pack->file, 0, header, sizeof header, &got, err);
    if (st != SHOAL_OK)
        return st;
    if (got == 0)
        return damaged(pack, 0, err, "it is empty");
    if (memcmp(header, PACK_MAGIC, got < PACK_MAGIC_SIZE ? got : PACK_MAGIC_SIZE) != 0)
        return damaged(pack, 0, err, "it was not written by shoal");
    if (got < sizeof header || pack->file_size < 2 * PACK_END_SIZE) {
        (void)snprintf(text, sizeof text, "it is cut short: only %" PRIu64 " bytes are there",
                       pack->file_size);
        return damaged(pack, pack->file_size, err, text);
    }
    pack->header_sum = base_get64(header + PACK_AT_SUM);
    if (pack_sum(header, PACK_AT_SUM) != pack->header_sum)
        return damaged(pack, 0, err, "its header is damaged");
    uint64_t version = base_get64(header + PACK_AT_VERSION) & UINT32_MAX;
    if (version != PACK_VERSION) {
        (void)snprintf(text, sizeof text, "it has format version %" PRIu64 "; this shoal reads %d",
                       version, PACK_VERSION);
        return damaged(pack, PACK_AT_VERSION, err, text);
    }
    memcpy(pack->kind, header + PACK_AT_KIND, sizeof pack->kind);
    if (memchr(pack->kind, '\0', sizeof pack->kind) == NULL ||
        !pack_is_kind(pack->kind, strlen(pack->kind))) {
        return damaged(pack, PACK_AT_KIND, err, "its kind is no word");
    }
    if (kind != NULL && strcmp(kind, pack->kind) != 0) {
        (void)snprintf(text, sizeof text, "it is a %s", pack->kind);
        return damaged(pack, PACK_AT_KIND, err, text);
    }
    return SHOAL_OK;
}

static shoal_status check_trailer(struct store_pack *pack, uint64_t *out_count, uint64_t *out_sum,
                                  shoal_err *err)
{
    unsigned char trailer[PACK_END_SIZE];
    char text[120];
    uint64_t at = pack->file_size - PACK_END_SIZE;
    shoal_status st = read_exactly(pack, at, trailer, sizeof trailer, "its end mark", err);
    if (st != SHOAL_OK)
        return st;
    if (memcmp(trailer, PACK_END_MAGIC, PACK_MAGIC_SIZE) != 0) {
        (void)snprintf(text, sizeof text,
                       "it is cut short or damaged: no end mark at byte %" PRIu64, at);
        return damaged(pack, at, err, text);
    }
    if (pack_sum(trailer, PACK_AT_SUM) != base_get64(trailer + PACK_AT_SUM))
        return damaged(pack, at, err, "its end mark is damaged");
    uint64_t should_have = base_get64(trailer + PACK_AT_FILE_SIZE);
    if (should_have != pack->file_size) {
        (void)snprintf(text, sizeof text, "it has %" PRIu64 " bytes and should have %" PRIu64,
                       pack->file_size, should_have);
        return damaged(pack, at, err, text);
    }
    uint64_t offset = base_get64(trailer + PACK_AT_DIRECTORY);
    uint64_t size = base_get64(trailer + PACK_AT_DIRECTORY_SIZE);
    if (offset < PACK_END_SIZE || offset > at || size != at - offset ||
        size > PACK_DIRECTORY_SIZE_MAX)
        return damaged(pack, at, err, "its directory lies outside of it");
    *out_count = base_get64(trailer + PACK_AT_COUNT);
    if (*out_count > size / PACK_ENTRY_SIZE_MIN)
        return damaged(pack, at, err, "it counts more sections than its directory holds");
    if (base_get64(trailer + PACK_AT_HEADER_SUM) != pack->header_sum)
        return damaged(pack, at, err, "its end mark belongs to another header");
    *out_sum = base_get64(trailer + PACK_AT_DIRECTORY_SUM);
    pack->directory_offset = offset;
    pack->directory_size = (size_t)size;
    return SHOAL_OK;
}

/* ---- the directory ---- */

static shoal_status bad_entry(const struct store_pack *pack, size_t at, size_t index,
                              const char *what, shoal_err *err)
{
    char text[100];
    (void)snprintf(text, sizeof text, "entry %zu of its directory %s", index + 1, what);
    return damaged(pack, pack->directory_offset + at, err, text);
}

/* Reads the entry at *at, whose payload must start at *offset; both move on. */
static shoal_status read_entry(struct store_pack *pack, size_t index, size_t *at, uint64_t *offset,
                               shoal_err *err)
{
    const unsigned char *entry = pack->directory + *at;
    size_t left = pack->directory_size - *at;
    if (left < PACK_ENTRY_SIZE_MIN)
        return bad_entry(pack, *at, index, "is missing", err);
    uint64_t size = base_get64(entry + 8), name_size = base_get64(entry + 16);
    const char *name = (const char *)entry + PACK_ENTRY_SIZE;
    left -= PACK_ENTRY_SIZE;
    if (name_size > STORE_PACK_NAME_MAX || pack_name_field((size_t)name_size) > left ||
        !pack_is_name(name, (size_t)name_size) || name[name_size] != '\0')
        return bad_entry(pack, *at, index, "has no valid name", err);
    size_t field = pack_name_field((size_t)name_size);
    left -= field;
    uint64_t room = pack->directory_offset - *offset;
    if (base_get64(entry) != *offset || size > room || pack_padded(size) > room)
        return bad_entry(pack, *at, index, "lies outside of the file or over another", err);
    if (pack_block_count(size) > left / 8)
        return bad_entry(pack, *at, index, "has too few checksums", err);

    shoal_status st = base_map_add(&pack->names, name, (size_t)name_size, 0, NULL);
    if (st == SHOAL_E_EXISTS)
        return bad_entry(pack, *at, index, "has the name of another", err);
    if (st != SHOAL_OK)
        return base_err_nomem(err, "reading a pack");
    struct store_section *section = &pack->sections[index];
    pack->names.entries[index].value = index;
    section->name = name;
    section->offset = *offset;
    section->size = size;
    section->sums = entry + PACK_ENTRY_SIZE + field;
    *at += PACK_ENTRY_SIZE + field + (size_t)pack_block_count(size) * 8;
    *offset += pack_padded(size);
    return SHOAL_OK;
}

static shoal_status read_directory(struct store_pack *pack, size_t count, uint64_t sum,
                                   shoal_err *err)
{
    pack->directory = base_malloc(pack->alloc, pack->directory_size > 0 ? pack->directory_size : 1);
    pack->sections = base_calloc(pack->alloc, count + 1, sizeof *pack->sections);
    if (pack->directory == NULL || pack->sections == NULL)
        return base_err_nomem(err, "reading a pack");
    shoal_status st = read_exactly(pack, pack->directory_offset, pack->directory,
                                   pack->directory_size, "its directory", err);
    if (st != SHOAL_OK)
        return st;
    if (pack_sum(pack->directory, pack->directory_size) != sum)
        return damaged(pack, pack->directory_offset, err, "its directory is damaged");
    size_t at = 0;
    uint64_t offset = PACK_END_SIZE;
    for (size_t i = 0; st == SHOAL_OK && i < count; i++)
        st = read_entry(pack, i, &at, &offset, err);
    if (st == SHOAL_OK && (at != pack->directory_size || offset != pack->directory_offset))
        return damaged(pack, pack->directory_offset, err, "its directory leaves bytes over");
    return st;
}

/* ---- open ---- */

static shoal_status open_file(shoal_env *env, struct store_pack *pack, const char *kind,
                              shoal_err *err)
{
    uint64_t count = 0, sum = 0;
    if (pack->path == NULL)
        return base_err_nomem(err, "opening a pack");
    shoal_status st = env_open(env, pack->path, &pack->file, err);
    if (st == SHOAL_OK)
        st = env_size(pack->file, &pack->file_size, err);
    if (st == SHOAL_OK)
        st = check_header(pack, kind, err);
    if (st == SHOAL_OK)
        st = check_trailer(pack, &count, &sum, err);
    if (st == SHOAL_OK)
        st = read_directory(pack, (size_t)count, sum, err);
    return st;
}

shoal_status store_pack_open(shoal_env *env, const char *path, const char *kind,
                             struct store_pack **out_pack, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    struct store_pack *pack = base_calloc(alloc, 1, sizeof *pack);
    if (pack == NULL)
        return base_err_nomem(err, "opening a pack");
    pack->alloc = alloc;
    base_map_init(&pack->names, alloc);
    pack->path = base_strdup(alloc, path);
    pack->wanted = kind != NULL ? kind : "pack";
    shoal_status st = open_file(env, pack, kind, err);
    if (st == SHOAL_OK) {
        pack->wanted = pack->kind;
        *out_pack = pack;
        return SHOAL_OK;
    }
    store_pack_close(pack);
    return st;
}

void store_pack_close(struct store_pack *pack)
{
    if (pack == NULL)
        return;
    env_close(pack->file);
    base_map_fini(&pack->names);
    base_free(pack->alloc, pack->directory);
    base_free(pack->alloc, pack->sections);
    base_free(pack->alloc, pack->block);
    base_free(pack->alloc, pack->path);
    base_free(pack->alloc, pack);
}

const char *store_pack_path(const struct store_pack *pack)
{
    return pack->path;
}

const char *store_pack_kind(const struct store_pack *pack)
{
    return pack->kind;
}

size_t store_pack_count(const struct store_pack *pack)
{
    return pack->names.count;
}

const struct store_section *store_pack_at(const struct store_pack *pack, size_t index)
{
    return index < pack->names.count ? &pack->sections[index] : NULL;
}

const struct store_section *store_pack_find(const struct store_pack *pack, const char *name)
{
    const struct base_map_entry *entry = base_map_find(&pack->names, name, strlen(name));
    return entry == NULL ? NULL : &pack->sections[entry->value];
}

shoal_status store_pack_need(const struct store_pack *pack, const char *name, uint64_t size,
                             const struct store_section **out_section, shoal_err *err)
{
    const struct store_section *section = store_pack_find(pack, name);
    char text[STORE_PACK_NAME_MAX + 120];
    if (section == NULL) {
        (void)snprintf(text, sizeof text, "it has no section '%.*s'", STORE_PACK_NAME_MAX, name);
        return damaged(pack, pack->directory_offset, err, text);
    }
    if (size != UINT64_MAX && section->size != size) {
        (void)snprintf(text, sizeof text,
                       "section '%s' has %" PRIu64 " bytes and should have %" PRIu64, section->name,
                       section->size, size);
        return damaged(pack, section->offset, err, text);
    }
    *out_section = section;
    return SHOAL_OK;
}

/* ---- payloads ---- */

static uint64_t block_size(const struct store_section *section, uint64_t index)
{
    uint64_t left = section->size - index * STORE_PACK_BLOCK_SIZE;
    return left < STORE_PACK_BLOCK_SIZE ? left : STORE_PACK_BLOCK_SIZE;
}

/* The block with the zeros after it, checked; `bytes` has room for STORE_PACK_BLOCK_SIZE. */
static shoal_status load_block(struct store_pack *pack, const struct store_section *section,
                               uint64_t index, unsigned char *bytes, shoal_err *err)
{
    char text[STORE_PACK_NAME_MAX + 120];
    uint64_t start = index * STORE_PACK_BLOCK_SIZE, size = block_size(section, index);
    size_t stored = (size_t)pack_padded(size);
    (void)snprintf(text, sizeof text, "section '%s'", section->name);
    shoal_status st = read_exactly(pack, section->offset + start, bytes, stored, text, err);
    if (st != SHOAL_OK)
        return st;
    if (pack_sum(bytes, stored) == base_get64(section->sums + index * 8))
        return SHOAL_OK;
    (void)snprintf(text, sizeof text,
                   "section '%s' is damaged: bytes %" PRIu64 " to %" PRIu64
                   " do not match their checksum",
                   section->name, start, start + size - 1);
    return damaged(pack, section->offset + start, err, text);
}

/* The block into pack->block, unless it is there. */
static shoal_status hold_block(struct store_pack *pack, const struct store_section *section,
                               uint64_t index, shoal_err *err)
{
    if (pack->held == section && pack->held_index == index)
        return SHOAL_OK;
    if (pack->block == NULL)
        pack->block = base_malloc(pack->alloc, STORE_PACK_BLOCK_SIZE);
    if (pack->block == NULL)
        return base_err_nomem(err, "reading a pack");
    pack->held = NULL;
    shoal_status st = load_block(pack, section, index, pack->block, err);
    if (st != SHOAL_OK)
        return st;
    pack->held = section;
    pack->held_index = index;
    return SHOAL_OK;
}

shoal_status store_pack_read(struct store_pack *pack, const struct store_section *section,
                             uint64_t offset, void *buf, size_t size, shoal_err *err)
{
    unsigned char *to = buf;
    if (offset > section->size || size > section->size - offset)
        return base_err(err, SHOAL_E_INVAL,
                        "cannot read '%s': section '%s' has %" PRIu64 " bytes, %zu from %" PRIu64
                        " on were asked for",
                        pack->path, section->name, section->size, size, offset);
    while (size > 0) {
        uint64_t index = offset / STORE_PACK_BLOCK_SIZE;
        size_t at = (size_t)(offset % STORE_PACK_BLOCK_SIZE);
        size_t take = (size_t)block_size(section, index) - at;
        if (take > size)
            take = size;
        bool whole = take == STORE_PACK_BLOCK_SIZE;
        shoal_status st = whole ? load_block(pack, section, index, to, err)
                                : hold_block(pack, section, index, err);
        if (st != SHOAL_OK)
            return st;
        if (!whole)
            memcpy(to, pack->block + at, take);
        to += take;
        offset += take;
        size -= take;
    }
    return SHOAL_OK;
}

shoal_status store_pack_verify(struct store_pack *pack, shoal_err *err)
{
    for (size_t i = 0; i < pack->names.count; i++) {
        const struct store_section *section = &pack->sections[i];
        for (uint64_t b = 0; b < pack_block_count(section->size); b++) {
            shoal_status st = hold_block(pack, section, b, err);
            if (st != SHOAL_OK)
                return st;
        }
    }
    return SHOAL_OK;
}

/* ---- writing ---- */

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
    base_put64(header + PACK_AT_VERSION, PACK_VERSION); /* u32 and 0 */
    memcpy(header + PACK_AT_KIND, kind, strlen(kind) + 1);
    out->header_sum = pack_sum(header, PACK_AT_SUM);
    base_put64(header + PACK_AT_SUM, out->header_sum);
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
    base_put64(sum, pack_sum(bytes, size));
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
    base_put64(entry, out->section_offset);
    base_put64(entry + 8, out->section_size);
    base_put64(entry + 16, name->key_size);
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
    base_put64(trailer + PACK_AT_FILE_SIZE, offset + directory->size + PACK_END_SIZE);
    base_put64(trailer + PACK_AT_DIRECTORY, offset);
    base_put64(trailer + PACK_AT_DIRECTORY_SIZE, directory->size);
    base_put64(trailer + PACK_AT_COUNT, out->names.count);
    base_put64(trailer + PACK_AT_DIRECTORY_SUM, pack_sum(directory->data, directory->size));
    base_put64(trailer + PACK_AT_HEADER_SUM, out->header_sum);
    base_put64(trailer + PACK_AT_SUM, pack_sum(trailer, PACK_AT_SUM));
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
