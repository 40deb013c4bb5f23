/* corpus_pack.c - the binary corpus: a pack of kind "corpus".
 *
 *     documents    chunks, one after the other
 *     chunks       per chunk: offset in `documents`, size, how many documents (3 u64)
 *     vocabulary   per name: size (2 bytes) and bytes; empty when words have no names
 *     head         version, documents, words, entries, tokens, documents without words (6 u64)
 *
 * A chunk is documents, entries, tokens and empty documents (4 u64), then per document how many
 * entries it has, and per entry the step from the word before (less 1; the first word itself)
 * doubled, plus 1 when its count is more than 1, and then that count less 2: all as numbers of 7 bits
 * a byte, least first, the top bit set on all but the last byte. An entry takes 2 to 3 bytes in
 * most corpora. Chunks stand for themselves, so documents are read by ranges and decoded side by
 * side. All bytes are under the pack's checksums, and a reader checks what they say all the same.
 * Tests: tests/unit/data/test_corpus_pack.c; fuzzer: tests/fuzz/fuzz_data_corpus_pack.c. */
#include "base/assert.h"
#include "base/err.h"
#include "data/corpus_parts.h"
#include "data/words.h"
#include <inttypes.h>
#include <string.h>

enum {
    VERSION = 1,
    HEAD_COUNT = 6,
    CHUNK_FACTS = 3,
    CHUNK_ENTRIES = 1 << 17, /* a chunk is ended by as many entries or documents */
    CHUNK_SIZE_MAX = 1 << 30,
    NAME_HEAD = 2
};

struct head {
    uint64_t version, documents, words, entries, tokens, empty;
};
_Static_assert(sizeof(struct head) == HEAD_COUNT * sizeof(uint64_t), "written as it lies");

/* ---- numbers of 7 bits a byte ---- */

static char *put_number(char *to, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        *to++ = (char)(n | 0x80);
    *to++ = (char)n;
    return to;
}

/* At most 5 bytes (35 bits); NULL when it goes on past `end` or is longer. */
static const char *take_number(const char *s, const char *end, uint64_t *out)
{
    uint64_t n = 0;

    for (unsigned shift = 0; s < end && shift < 35; shift += 7) {
        unsigned char byte = (unsigned char)*s++;
        n |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = n;
            return s;
        }
    }
    return NULL;
}

/* ---- chunks ---- */

size_t data_corpus_encode(const struct num_corpus *x, char *to)
{
    uint64_t facts[4] = {x->documents, x->start[x->documents] - x->start[0], 0, 0};
    char *at = to + CORPUS_CHUNK_HEAD;

    for (uint64_t d = 0; d < x->documents; d++) {
        uint64_t from = x->start[d], end = x->start[d + 1], next = 0;
        at = put_number(at, end - from);
        facts[3] += end == from;
        for (uint64_t i = from; i < end; i++) {
            uint32_t count = x->count != NULL ? x->count[i] : 1;
            at = put_number(at, (x->word[i] - next) << 1 | (count > 1));
            if (count > 1)
                at = put_number(at, count - 2);
            next = (uint64_t)x->word[i] + 1;
            facts[2] += count;
        }
    }
    memcpy(to, facts, sizeof facts);
    return (size_t)(at - to);
}

/* One document; returns where the next begins, NULL when it is none. */
static const char *take_document(struct corpus_part *part, const char *s, uint64_t entries)
{
    uint64_t next = 0, step = 0;

    for (uint64_t i = 0; i < entries; i++) {
        uint64_t count = 1;
        s = take_number(s, part->end, &step);
        if (s == NULL)
            return NULL;
        if ((step & 1) != 0) {
            s = take_number(s, part->end, &count);
            count += 2;
            if (s == NULL || count > UINT32_MAX)
                return NULL;
        }
        uint64_t word = next + (step >> 1);
        if (word >= part->reader->words)
            return NULL;
        part->word[part->entries] = (uint32_t)word;
        part->count[part->entries++] = (uint32_t)count;
        part->tokens += count;
        next = word + 1;
    }
    part->length[part->documents++] = (uint32_t)entries;
    return s;
}

void data_corpus_parse_chunk(struct corpus_part *part)
{
    uint64_t facts[4], entries = 0, empty = 0;
    const char *s = part->text + CORPUS_CHUNK_HEAD;

    memcpy(facts, part->text, sizeof facts); /* its size was checked */
    for (uint64_t d = 0; d < facts[0] && s != NULL; d++) {
        s = take_number(s, part->end, &entries);
        if (s == NULL || entries > facts[1] - part->entries)
            break;
        empty += entries == 0;
        s = take_document(part, s, entries);
    }
    if (s != part->end || part->documents != facts[0] || part->entries != facts[1] ||
        part->tokens != facts[2] || empty != facts[3])
        part->bad = CORPUS_BAD_BYTES;
}

/* ---- reading ---- */

static shoal_status wrong(const struct data_corpus_reader *reader, const char *what, shoal_err *err)
{
    return base_err(err, SHOAL_E_FORMAT, "cannot read corpus '%s': %s", reader->path, what);
}

static shoal_status read_all(struct data_corpus_reader *reader, const char *name, uint64_t size,
                             void **out, uint64_t *out_size, shoal_err *err)
{
    const struct store_section *section = NULL;
    shoal_status st = store_pack_need(reader->pack, name, size, &section, err);

    if (st != SHOAL_OK)
        return st;
    void *bytes = base_malloc(reader->alloc, (size_t)section->size + 1);
    if (bytes == NULL)
        return base_err_nomem(err, "reading a corpus");
    st = store_pack_read(reader->pack, section, 0, bytes, (size_t)section->size, err);
    if (st != SHOAL_OK) {
        base_free(reader->alloc, bytes);
        return st;
    }
    *out = bytes;
    *out_size = section->size;
    return SHOAL_OK;
}

/* Chunks lie one after the other and fill the section. */
static shoal_status check_chunks(struct data_corpus_reader *reader, const struct head *head,
                                 shoal_err *err)
{
    uint64_t offset = 0, documents = 0;

    for (size_t i = 0; i < reader->chunk_count; i++) {
        const uint64_t *c = reader->chunk + i * CHUNK_FACTS;
        if (c[0] != offset || c[1] < CORPUS_CHUNK_HEAD || c[1] > CHUNK_SIZE_MAX ||
            c[1] > reader->section->size - offset || c[2] > c[1] - CORPUS_CHUNK_HEAD)
            return wrong(reader, "its list of chunks is not as they lie", err);
        offset += c[1];
        documents += c[2];
    }
    if (offset != reader->section->size || documents != head->documents)
        return wrong(reader, "its list of chunks does not have all documents", err);
    return SHOAL_OK;
}

static shoal_status take_names(struct data_corpus_reader *reader, const char *s, uint64_t size,
                               shoal_err *err)
{
    const char *end = s + size;
    uint32_t index = 0;

    while (s < end) {
        const unsigned char *at = (const unsigned char *)s;
        size_t length = end - s >= NAME_HEAD ? (size_t)at[0] | (size_t)at[1] << 8 : 0;
        if (length == 0 || length > DATA_ID_SIZE_MAX || (size_t)(end - s) - NAME_HEAD < length)
            return wrong(reader, "its vocabulary is damaged", err);
        if (data_words_not_name(s + NAME_HEAD, s + NAME_HEAD + length) != NULL)
            return wrong(
                reader, "its vocabulary has a word that is not UTF-8, or a control character", err);
        uint32_t before = reader->names.count;
        if (data_ids_add(&reader->names, s + NAME_HEAD, length, &index) != SHOAL_OK)
            return base_err_nomem(err, "reading a vocabulary");
        if (index != before)
            return wrong(reader, "its vocabulary has a word twice", err);
        s += NAME_HEAD + length;
    }
    if (size > 0 && reader->names.count != reader->words)
        return wrong(reader, "its vocabulary does not have all words", err);
    return SHOAL_OK;
}

/* Begins with the chunk that has document `from`. */
static void seek_chunk(struct data_corpus_reader *reader)
{
    while (reader->chunk_at < reader->chunk_count) {
        uint64_t documents = reader->chunk[reader->chunk_at * CHUNK_FACTS + 2];
        if (reader->given + documents > reader->opts.from)
            return;
        reader->given += documents;
        reader->chunk_at++;
    }
}

static shoal_status read_names(struct data_corpus_reader *reader, shoal_err *err)
{
    void *names = NULL;
    uint64_t size = 0;
    shoal_status st = read_all(reader, "vocabulary", UINT64_MAX, &names, &size, err);

    if (st == SHOAL_OK)
        st = take_names(reader, names, size, err);
    base_free(reader->alloc, names);
    return st;
}

shoal_status data_corpus_pack_open(struct data_corpus_reader *reader, shoal_err *err)
{
    const struct store_section *section = NULL;
    void *chunks = NULL;
    uint64_t size = 0;
    struct head head = {0};

    shoal_status st = store_pack_open(reader->env, reader->path, "corpus", &reader->pack, err);
    if (st == SHOAL_OK)
        st = store_pack_need(reader->pack, "head", sizeof head, &section, err);
    if (st == SHOAL_OK)
        st = store_pack_read(reader->pack, section, 0, &head, sizeof head, err);
    if (st == SHOAL_OK && head.version != VERSION)
        st = wrong(reader, "it is of a version that this Shoal does not know", err);
    if (st == SHOAL_OK && (head.words > DATA_CORPUS_WORDS_MAX || head.documents == 0))
        st = wrong(reader, "its head has no documents or too many words", err);
    if (st == SHOAL_OK)
        st = store_pack_need(reader->pack, "documents", UINT64_MAX, &reader->section, err);
    if (st == SHOAL_OK)
        st = read_all(reader, "chunks", UINT64_MAX, &chunks, &size, err);
    if (st != SHOAL_OK)
        return st;
    reader->chunk = chunks;
    reader->chunk_count = (size_t)(size / (CHUNK_FACTS * sizeof(uint64_t)));
    reader->words = (uint32_t)head.words;
    reader->words_fixed = true;
    st = check_chunks(reader, &head, err);
    if (st == SHOAL_OK)
        st = read_names(reader, err);
    seek_chunk(reader);
    return st;
}

/* The parts get the chunks in `bytes`; what a chunk says it has must fit into its bytes. */
static shoal_status part_chunks(struct data_corpus_reader *reader, size_t first, shoal_err *err)
{
    const char *text = reader->bytes;

    for (size_t i = 0; i < reader->part_used; i++) {
        const uint64_t *c = reader->chunk + (first + i) * CHUNK_FACTS;
        struct corpus_part *part = &reader->part[i];
        uint64_t facts[4];
        memcpy(facts, text, sizeof facts);
        if (facts[0] != c[2] || facts[1] > c[1] - CORPUS_CHUNK_HEAD - c[2])
            return wrong(reader, "its documents are not as it says", err);
        struct corpus_room room = {(size_t)c[1] + 1, (size_t)c[1] + 1, false, false};
        part->reader = reader;
        shoal_status st = data_corpus_part_room(reader->alloc, part, (size_t)c[1], &room, err);
        if (st != SHOAL_OK)
            return st;
        part->text = text;
        part->end = text += c[1];
    }
    return SHOAL_OK;
}

shoal_status data_corpus_pack_next(struct data_corpus_reader *reader, shoal_err *err)
{
    size_t first = reader->chunk_at, size = 0;
    void *bytes = reader->bytes;

    reader->part_used = 0;
    while (reader->chunk_at < reader->chunk_count && reader->part_used < reader->part_count) {
        uint64_t next = reader->chunk[reader->chunk_at * CHUNK_FACTS + 1];
        if (reader->part_used > 0 && size + next > CHUNK_SIZE_MAX)
            break;
        size += next;
        reader->chunk_at++;
        reader->part_used++;
    }
    if (reader->part_used == 0)
        return SHOAL_END;
    if (base_reserve(reader->alloc, &bytes, &reader->bytes_cap, size, 1) != 0)
        return base_err_nomem(err, "reading a corpus");
    reader->bytes = bytes;
    shoal_status st = store_pack_read(reader->pack, reader->section,
                                      reader->chunk[first * CHUNK_FACTS], bytes, size, err);
    if (st != SHOAL_OK)
        return st;
    if (reader->opts.bytes_done != NULL)
        atomic_fetch_add_explicit(reader->opts.bytes_done, size, memory_order_relaxed);
    return part_chunks(reader, first, err);
}

/* ---- writing ---- */

struct data_corpus_writer {
    const struct base_alloc *alloc;
    struct store_pack_out *pack;
    struct head head;
    uint64_t *chunk; /* (chunk_count, CHUNK_FACTS) */
    size_t chunk_count, chunk_cap;
    uint64_t size; /* bytes of chunks so far */
    char *bytes;
    size_t bytes_cap;
    struct data_corpus pending; /* the documents of the next chunk, so that where chunks end depends
                                   on the documents alone */
};

shoal_status data_corpus_create(shoal_env *env, const char *path,
                                struct data_corpus_writer **out_writer, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    struct data_corpus_writer *writer = base_calloc(alloc, 1, sizeof *writer);

    if (writer == NULL)
        return base_err_nomem(err, "writing a corpus");
    writer->alloc = alloc;
    writer->head.version = VERSION;
    data_corpus_init(&writer->pending, alloc);
    shoal_status st = store_pack_create(env, path, "corpus", &writer->pack, err);
    if (st != SHOAL_OK) {
        base_free(alloc, writer);
        return st;
    }
    store_pack_begin(writer->pack, "documents"); /* a failure sticks, and commit tells it */
    *out_writer = writer;
    return SHOAL_OK;
}

static void free_writer(struct data_corpus_writer *writer)
{
    base_free(writer->alloc, writer->chunk);
    base_free(writer->alloc, writer->bytes);
    data_corpus_fini(&writer->pending);
    base_free(writer->alloc, writer);
}

void data_corpus_discard(struct data_corpus_writer *writer)
{
    if (writer == NULL)
        return;
    store_pack_discard(writer->pack);
    free_writer(writer);
}

shoal_status data_corpus_append_chunk(struct data_corpus_writer *writer, const char *chunk,
                                      size_t size, shoal_err *err)
{
    void *list = writer->chunk;
    size_t count = (writer->chunk_count + 1) * CHUNK_FACTS;
    uint64_t facts[4];

    shoal_assert(size >= sizeof facts && size <= CHUNK_SIZE_MAX);
    memcpy(facts, chunk, sizeof facts);
    if (base_reserve(writer->alloc, &list, &writer->chunk_cap, count, sizeof(uint64_t)) != 0)
        return base_err_nomem(err, "writing a corpus");
    writer->chunk = list;
    uint64_t *c = writer->chunk + writer->chunk_count++ * CHUNK_FACTS;
    c[0] = writer->size;
    c[1] = size;
    c[2] = facts[0];
    writer->head.documents += facts[0];
    writer->head.entries += facts[1];
    writer->head.tokens += facts[2];
    writer->head.empty += facts[3];
    writer->size += size;
    store_pack_append(writer->pack, chunk, size);
    return SHOAL_OK;
}

/* Writes the pending documents. */
static shoal_status flush(struct data_corpus_writer *writer, shoal_err *err)
{
    const struct num_corpus *x = &writer->pending.x;
    uint64_t entries = writer->pending.entries;
    size_t room = CORPUS_CHUNK_HEAD + (size_t)x->documents * CORPUS_DOCUMENT_BYTES_MAX +
                  (size_t)entries * CORPUS_ENTRY_BYTES_MAX;
    void *bytes = writer->bytes;

    if (x->documents == 0)
        return SHOAL_OK;
    if (base_reserve(writer->alloc, &bytes, &writer->bytes_cap, room, 1) != 0)
        return base_err_nomem(err, "writing a corpus");
    writer->bytes = bytes;
    size_t size = data_corpus_encode(x, writer->bytes);
    if (size > CHUNK_SIZE_MAX)
        return base_err(err, SHOAL_E_LIMIT,
                        "cannot write a document of %" PRIu64 " different words", entries);
    data_corpus_clear(&writer->pending);
    return data_corpus_append_chunk(writer, writer->bytes, size, err);
}

static bool put_pending(struct data_corpus *pending, const struct num_corpus *x, uint64_t document)
{
    uint64_t from = x->start[document];
    size_t entries = (size_t)(x->start[document + 1] - from);

    if (!data_corpus_make_room(pending, 1, entries))
        return false;
    uint32_t *count = (uint32_t *)(uintptr_t)pending->x.count + pending->entries;
    for (size_t i = 0; i < entries && x->count == NULL; i++)
        count[i] = 1;
    data_corpus_put_entries(pending, pending->entries, x->word + from,
                            x->count != NULL ? x->count + from : count, entries);
    data_corpus_put_document(pending, entries);
    return true;
}

shoal_status data_corpus_append(struct data_corpus_writer *writer, const struct num_corpus *x,
                                shoal_err *err)
{
    struct data_corpus *pending = &writer->pending;
    shoal_status st = SHOAL_OK;

    for (uint64_t d = 0; d < x->documents && st == SHOAL_OK; d++) {
        if (!put_pending(pending, x, d))
            return base_err_nomem(err, "writing a corpus");
        if (pending->entries >= CHUNK_ENTRIES || pending->x.documents >= CHUNK_ENTRIES)
            st = flush(writer, err);
    }
    return st;
}

static void put_names(struct store_pack_out *pack, const struct data_ids *names)
{
    store_pack_begin(pack, "vocabulary");
    for (uint32_t w = 0; names != NULL && w < names->count; w++) {
        char buf[DATA_ID_BUF];
        size_t size = 0;
        const char *name = data_ids_name(names, w, buf, &size);
        unsigned char head[NAME_HEAD] = {(unsigned char)(size & 0xFF), (unsigned char)(size >> 8)};
        store_pack_append(pack, head, sizeof head);
        store_pack_append(pack, name, size);
    }
    store_pack_end(pack);
}

shoal_status data_corpus_commit(struct data_corpus_writer *writer, uint32_t words,
                                const struct data_ids *names, shoal_err *err)
{
    shoal_assert(names == NULL || names->count == 0 || names->count == words);
    shoal_status st = flush(writer, err);
    if (st != SHOAL_OK) {
        data_corpus_discard(writer);
        return st;
    }
    writer->head.words = words;
    store_pack_end(writer->pack);
    store_pack_section(writer->pack, "chunks", writer->chunk,
                       writer->chunk_count * CHUNK_FACTS * sizeof *writer->chunk);
    put_names(writer->pack, names);
    store_pack_section(writer->pack, "head", &writer->head, sizeof writer->head);
    st = store_pack_commit(writer->pack, err);
    free_writer(writer);
    return st;
}

uint64_t data_corpus_written(const struct data_corpus_writer *writer)
{
    return store_pack_written(writer->pack);
}
