/* corpus_reader.c - a corpus block by block: blocks cut at line ends into a piece per thread, parsed
 * side by side and appended in the order of the file.
 *
 * A UCI document may go on in the next block, so the last one of a block stays in the reader until
 * its end is seen. Workspace: 4 to 13 bytes per byte of a block, by format. Tests:
 * tests/unit/data/test_corpus.c. */
#include "base/err.h"
#include "data/corpus_parts.h"
#include "data/own.h"
#include "env/table.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { EMPTY_AT_ONCE = 1 << 20 }; /* documents that a header has and no line names */

/* ---- opening ---- */

/* Whether the file is a pack, without moving where it is read. */
static shoal_status looks_binary(const struct data_corpus_reader *reader, bool *out, shoal_err *err)
{
    char mark[6];
    size_t got = 0;
    uint64_t size = 0;

    *out = false;
    shoal_status st = env_size(reader->blocks.file, &size, NULL);
    if (st == SHOAL_OK)
        st = env_read_at(reader->blocks.file, 0, mark, sizeof mark, &got, NULL);
    if (st == SHOAL_E_NOMEM)
        return base_err_nomem(err, "reading a corpus");
    *out = st == SHOAL_OK && got == sizeof mark && memcmp(mark, "\x89SHOAL", sizeof mark) == 0;
    return SHOAL_OK;
}

static shoal_status refuse_table(const struct data_corpus_reader *reader, const char *table,
                                 shoal_err *err)
{
    base_err(err, SHOAL_E_FORMAT, "cannot read corpus '%s': it is %s; expected documents",
             reader->path, table);
    base_err_hint(err, "documents are text, one a line, or bags of words; format text reads it as "
                       "text all the same");
    return SHOAL_E_FORMAT;
}

/* The first block says what the rest is. */
static shoal_status recognise(struct data_corpus_reader *reader, shoal_err *err)
{
    bool binary = false;
    shoal_status st = looks_binary(reader, &binary, err);

    if (st != SHOAL_OK)
        return st;
    if (binary || reader->opts.format == DATA_CORPUS_BINARY) {
        reader->format = DATA_CORPUS_BINARY;
        env_lines_close(&reader->blocks);
        return data_corpus_pack_open(reader, err);
    }
    st = env_blocks_next(&reader->blocks, &reader->text, &reader->text_size, err);
    if (st == SHOAL_END)
        return base_err(err, SHOAL_E_FORMAT, "cannot read corpus '%s': it is empty", reader->path);
    if (st != SHOAL_OK)
        return st;
    reader->format = reader->opts.format;
    if (reader->format == DATA_CORPUS_AUTO)
        reader->format = data_corpus_looks_uci(reader->text, reader->text_size)  ? DATA_CORPUS_UCI
                         : data_corpus_looks_mm(reader->text, reader->text_size) ? DATA_CORPUS_MM
                         : data_corpus_looks_ldac(reader->text, reader->text_size)
                             ? DATA_CORPUS_LDAC
                             : DATA_CORPUS_TEXT;
    if (reader->opts.format == DATA_CORPUS_AUTO && reader->format == DATA_CORPUS_TEXT) {
        const char *table = data_corpus_looks_table(reader->text, reader->text_size);
        if (table != NULL)
            return refuse_table(reader, table, err);
        reader->resembles = data_corpus_looks_like(reader->text, reader->text_size);
    }
    if (reader->format == DATA_CORPUS_MM)
        return data_corpus_mm_header(reader, err);
    return reader->format == DATA_CORPUS_UCI ? data_corpus_triples_header(reader, 0, err)
                                             : SHOAL_OK;
}

shoal_status data_corpus_open_once(shoal_env *env, const char *path,
                                   const struct data_corpus_opts *opts,
                                   struct data_corpus_reader **out_reader, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    uint32_t threads = opts->threads != 0 ? opts->threads : env_cpu_count(env);
    size_t pieces = threads == 1 ? 1 : (size_t)threads * CORPUS_PIECES_PER_THREAD;
    struct data_corpus_reader *reader = base_calloc(alloc, 1, sizeof *reader);

    if (reader == NULL)
        return base_err_nomem(err, "reading a corpus");
    pieces = pieces > CORPUS_PIECES_MAX ? CORPUS_PIECES_MAX : pieces;
    *reader = (struct data_corpus_reader){
        .env = env, .alloc = alloc, .path = path, .opts = *opts, .part_count = pieces};
    reader->opts.min_length = opts->min_length > 0 ? opts->min_length : 2;
    data_ids_init(&reader->names, alloc);
    data_corpus_init(&reader->carry, alloc);
    reader->part = base_calloc(alloc, pieces, sizeof *reader->part);
    shoal_status st = reader->part != NULL ? SHOAL_OK : base_err_nomem(err, "reading a corpus");
    if (st == SHOAL_OK)
        st = env_blocks_open(env, "corpus", path, pieces * CORPUS_PIECE, opts->bytes_done,
                             &reader->blocks, err);
    if (st == SHOAL_OK)
        st = recognise(reader, err);
    if (st == SHOAL_OK)
        st = data_corpus_start_vocabulary(reader, err);
    if (st != SHOAL_OK) {
        data_corpus_close(reader);
        return st;
    }
    *out_reader = reader;
    return SHOAL_OK;
}

static void free_arrays(const struct base_alloc *alloc, struct corpus_part *part)
{
    base_free(alloc, part->id);
    base_free(alloc, part->length);
    base_free(alloc, part->word);
    base_free(alloc, part->count);
    base_free(alloc, part->spare);
    base_free(alloc, part->fresh);
    *part = (struct corpus_part){0};
}

void data_corpus_close(struct data_corpus_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->blocks.alloc != NULL)
        env_lines_close(&reader->blocks);
    store_pack_close(reader->pack);
    for (size_t i = 0; reader->part != NULL && i < reader->part_count; i++)
        free_arrays(reader->alloc, &reader->part[i]);
    base_free(reader->alloc, reader->part);
    base_free(reader->alloc, reader->map);
    base_free(reader->alloc, reader->chunk);
    base_free(reader->alloc, reader->bytes);
    data_ids_fini(&reader->names);
    data_corpus_fini(&reader->carry);
    base_free(reader->alloc, reader);
}

/* ---- pieces ---- */

shoal_status data_corpus_part_room(const struct base_alloc *alloc, struct corpus_part *part,
                                   size_t size, const struct corpus_room *room, shoal_err *err)
{
    struct corpus_part empty = {.reader = part->reader};

    if (part->text_max < size || part->length == NULL) {
        size_t documents = room->documents * 4, entries = room->entries * 4;
        free_arrays(alloc, part);
        part->reader = empty.reader;
        part->length = base_malloc(alloc, documents);
        part->word = base_malloc(alloc, entries);
        part->count = base_malloc(alloc, entries);
        bool good = part->length != NULL && part->word != NULL && part->count != NULL;
        if (room->ids)
            good &= (part->id = base_malloc(alloc, documents * 2)) != NULL;
        if (room->spare) {
            good &= (part->spare = base_malloc(alloc, entries)) != NULL;
            good &= (part->fresh = base_malloc(alloc, size + 2)) != NULL;
        }
        if (!good)
            return base_err_nomem(err, "reading a corpus");
        part->text_max = size;
    }
    empty.id = part->id;
    empty.length = part->length;
    empty.word = part->word;
    empty.count = part->count;
    empty.spare = part->spare;
    empty.fresh = part->fresh;
    empty.text_max = part->text_max;
    *part = empty;
    return SHOAL_OK;
}

/* The most that `size` bytes of text can hold. */
static struct corpus_room room_for(enum data_corpus_format format, size_t size)
{
    if (corpus_has_triples(format)) /* "1 1 1\n" */
        return (struct corpus_room){size / 6 + 2, size / 6 + 2, true, false};
    if (format == DATA_CORPUS_LDAC) /* "0\n", " 0:1" */
        return (struct corpus_room){size / 2 + 2, size / 4 + 2, false, false};
    return (struct corpus_room){size + 2, size / 2 + 2, false, true};
}

/* Cuts the block at line ends into at most part_count pieces of about equal size. */
static shoal_status cut(struct data_corpus_reader *reader, const char *text, size_t size,
                        shoal_err *err)
{
    const char *end = text + size;

    reader->part_used = 0;
    while (text < end) {
        size_t i = reader->part_used++;
        size_t left = (size_t)(end - text), share = left / (reader->part_count - i);
        const char *stop = end;
        if (i + 1 < reader->part_count && share < left)
            stop = (const char *)memchr(text + share, '\n', left - share) + 1;
        struct corpus_part *part = &reader->part[i];
        struct corpus_room room = room_for(reader->format, (size_t)(stop - text));
        part->reader = reader;
        shoal_status st =
            data_corpus_part_room(reader->alloc, part, (size_t)(stop - text), &room, err);
        if (st != SHOAL_OK)
            return st;
        part->text = text;
        part->end = stop;
        text = stop;
    }
    return SHOAL_OK;
}

static void parse_one(void *ctx, size_t index)
{
    struct data_corpus_reader *reader = ctx;
    struct corpus_part *part = &reader->part[index];

    if (corpus_has_triples(reader->format))
        data_corpus_parse_triples(part);
    else if (reader->format == DATA_CORPUS_LDAC)
        data_corpus_parse_ldac(part);
    else if (reader->format == DATA_CORPUS_TEXT)
        data_corpus_parse_text(part);
    else
        data_corpus_parse_chunk(part);
}

static void fold_one(void *ctx, size_t index)
{
    struct data_corpus_reader *reader = ctx;

    data_corpus_fold_text(&reader->part[index]);
}

static void hint(const struct data_corpus_reader *reader, enum corpus_bad bad, shoal_err *err)
{
    if (bad == CORPUS_BAD_UTF8)
        base_err_hint(err, "convert it first: iconv -f latin1 -t utf-8 FILE | shoal ... -");
    if (bad == CORPUS_BAD_COUNT && reader->format == DATA_CORPUS_MM)
        base_err_hint(err, "weights such as tf-idf are no counts: save the counts themselves");
    if (bad == CORPUS_BAD_ORDER)
        base_err_hint(err, "sort all but the first %" PRIu64 " lines: sort -s -n -k1,1",
                      reader->header_lines);
}

static shoal_status report(const struct data_corpus_reader *reader, const struct corpus_part *part,
                           shoal_err *err)
{
    const struct env_lines *blocks = &reader->blocks;
    const char *at = part->bad_at;
    char shown[ENV_SHOWN_MAX], expected[96];
    size_t size = strcspn(at, " \t\r\n"); /* a block ends with a newline */
    uint64_t words = reader->words_fixed ? reader->words : DATA_CORPUS_WORDS_MAX;
    uint64_t base = corpus_has_triples(reader->format);

    const char *const texts[] = {
        [CORPUS_BAD_NUMBERS] = "three numbers: document, word and count",
        [CORPUS_BAD_DOCUMENT] = expected,
        [CORPUS_BAD_ORDER] = "documents in ascending order",
        [CORPUS_BAD_WORD] = expected,
        [CORPUS_BAD_COUNT] = reader->format == DATA_CORPUS_MM
                                 ? "a count: a whole number up to 4294967295"
                                 : "a count of 1 to 4294967295",
        [CORPUS_BAD_SUM] = "a word at most 4294967295 times in a document",
        [CORPUS_BAD_PAIR] = "WORD:COUNT",
        [CORPUS_BAD_PAIRS] = "how many different words follow",
        [CORPUS_BAD_UTF8] = "UTF-8",
    };
    if (part->bad == CORPUS_BAD_DOCUMENT)
        (void)snprintf(expected, sizeof expected, "a document of 1 to %" PRIu64, reader->documents);
    else
        (void)snprintf(expected, sizeof expected, "a word of %" PRIu64 " to %" PRIu64, base,
                       words - 1 + base);
    uint64_t line = blocks->line + part->lines + 1, column = (uint64_t)(at - part->bad_line) + 1;
    if (part->bad == CORPUS_BAD_UTF8)
        env_blocks_bad(blocks, line, column, err, "expected UTF-8, found the byte 0x%02x",
                       (unsigned char)*at);
    else
        env_blocks_bad(blocks, line, column, err, "expected %s, found '%s'", texts[part->bad],
                       env_lines_show(at, size, shown));
    hint(reader, part->bad, err);
    return SHOAL_E_FORMAT;
}

/* ---- text: new words ---- */

static shoal_status number_fresh(struct data_corpus_reader *reader, struct corpus_part *part,
                                 shoal_err *err)
{
    const char *fresh = part->fresh, *end = fresh + part->fresh_size;

    for (size_t i = 0; fresh < end; i++) {
        if (part->word[i] != DATA_ID_NONE)
            continue;
        size_t size = (unsigned char)*fresh;
        if (data_ids_add(&reader->names, fresh + 1, size, &part->word[i]) != SHOAL_OK)
            return base_err_nomem(err, "reading a corpus");
        part->word[i] -= reader->stop_count;
        fresh += size + 1;
    }
    return SHOAL_OK;
}

/* Numbers in the order of the text, then documents as they are kept. */
static shoal_status fold_text(struct data_corpus_reader *reader, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < reader->part_used && st == SHOAL_OK; i++)
        st = number_fresh(reader, &reader->part[i], err);
    reader->words = reader->names.count - reader->stop_count;
    if (st == SHOAL_OK && reader->words > DATA_CORPUS_WORDS_MAX)
        st = base_err(err, SHOAL_E_LIMIT, "cannot read corpus '%s': expected at most %u words",
                      reader->path, DATA_CORPUS_WORDS_MAX);
    if (st != SHOAL_OK)
        return st;
    return env_parallel(reader->env, reader->part_used, reader->opts.threads, fold_one, reader,
                        err);
}

/* ---- appending ---- */

static void append_facts(struct data_corpus *corpus, const struct corpus_part *part)
{
    corpus->sorted += part->sorted;
    corpus->repeated += part->repeated;
    corpus->left_out += part->left_out;
}

static shoal_status append_lines(struct data_corpus_reader *reader, const struct corpus_part *part,
                                 struct data_corpus *corpus, shoal_err *err)
{
    if (!data_corpus_make_room(corpus, part->documents, part->entries))
        return base_err_nomem(err, "reading a corpus");
    data_corpus_put_entries(corpus, corpus->entries, part->word, part->count, part->entries);
    for (size_t d = 0; d < part->documents; d++)
        data_corpus_put_document(corpus, part->length[d]);
    if (!reader->words_fixed && part->words_seen > reader->words)
        reader->words = part->words_seen;
    reader->entries_seen += part->entries;
    corpus->tokens += part->tokens;
    append_facts(corpus, part);
    return SHOAL_OK;
}

/* Puts out the document that is being read, and the empty ones after it, up to `next`. */
static shoal_status end_carry(struct data_corpus_reader *reader, uint64_t next,
                              struct data_corpus *corpus, shoal_err *err)
{
    struct data_corpus *carry = &reader->carry;
    uint64_t empty = next - reader->document - reader->begun;

    /* A header from a pipe may have said anything. All documents count, not those of one gap. */
    if (data_corpus_too_many(next, reader->entries_seen))
        return base_err(err, SHOAL_E_LIMIT,
                        "cannot read corpus '%s': %" PRIu64 " documents, and only %" PRIu64
                        " entries in them; expected at most %" PRIu64 " and %d an entry",
                        reader->path, next, reader->entries_seen, DATA_CORPUS_UNUSED_MAX,
                        DATA_CORPUS_PER_ENTRY);
    if (empty > SIZE_MAX / 16 || !data_corpus_make_room(corpus, (size_t)empty + 1, carry->entries))
        return base_err_nomem(err, "reading a corpus");
    if (reader->begun)
        data_corpus_put(corpus, carry->x.word, carry->x.count, (size_t)carry->entries);
    while (empty-- > 0)
        data_corpus_put_document(corpus, 0);
    carry->entries = 0;
    reader->begun = false;
    reader->document = next;
    return SHOAL_OK;
}

/* More entries of the document that is being read. */
static shoal_status add_carry(struct data_corpus_reader *reader, const struct corpus_part *part,
                              size_t from, size_t entries, struct data_corpus *corpus,
                              shoal_err *err)
{
    struct data_corpus *carry = &reader->carry;

    if (!data_corpus_make_room(carry, 0, entries))
        return base_err_nomem(err, "reading a corpus");
    uint32_t *word = data_own(carry->x.word), *count = data_own(carry->x.count);
    uint64_t had = carry->entries;
    data_corpus_put_entries(carry, had, part->word + from, part->count + from, entries);
    carry->entries += entries;
    reader->begun = true;
    if (had == 0 || word[had - 1] < word[had])
        return SHOAL_OK;
    size_t left = data_corpus_merge_pairs(word, count, (size_t)carry->entries);
    if (left == SIZE_MAX)
        return base_err(err, SHOAL_E_FORMAT,
                        "cannot read corpus '%s': expected a word at most 4294967295 times in "
                        "document %" PRIu64,
                        reader->path, reader->document + 1);
    corpus->sorted++;
    corpus->repeated += carry->entries - left;
    carry->entries = left;
    return SHOAL_OK;
}

static shoal_status append_triples(struct data_corpus_reader *reader, struct corpus_part *part,
                                   struct data_corpus *corpus, shoal_err *err)
{
    shoal_status st = SHOAL_OK;
    size_t at = 0;

    if (part->documents > 0 && part->id[0] < reader->document) {
        data_corpus_part_mistake(part, CORPUS_BAD_ORDER, part->first_line, part->first_line);
        part->lines = part->first_lines;
        return report(reader, part, err);
    }
    if (!data_corpus_make_room(corpus, part->documents, part->entries))
        return base_err_nomem(err, "reading a corpus");
    reader->entries_seen += part->repeated + part->zeros;
    for (size_t d = 0; d < part->documents && st == SHOAL_OK; at += part->length[d++]) {
        if (part->id[d] != reader->document)
            st = end_carry(reader, part->id[d], corpus, err);
        /* documents without a word between them have taken of the room */
        if (st == SHOAL_OK &&
            !data_corpus_make_room(corpus, part->documents - d, part->entries - at))
            st = base_err_nomem(err, "reading a corpus");
        if (st == SHOAL_OK && d > 0 && d + 1 < part->documents) { /* whole in this piece */
            data_corpus_put(corpus, part->word + at, part->count + at, part->length[d]);
            reader->document++;
        } else if (st == SHOAL_OK) {
            st = add_carry(reader, part, at, part->length[d], corpus, err);
        }
        reader->entries_seen += part->length[d]; /* up to here, wherever pieces end */
    }
    append_facts(corpus, part);
    return st;
}

/* ---- the next block ---- */

static bool stopped(const struct data_corpus_reader *reader)
{
    return reader->opts.stop != NULL &&
           atomic_load_explicit(reader->opts.stop, memory_order_relaxed);
}

/* The next block as parts, parsed. */
static shoal_status next_parts(struct data_corpus_reader *reader, shoal_err *err)
{
    const char *text = reader->text;
    size_t size = reader->text_size;
    shoal_status st = SHOAL_OK;

    if (stopped(reader))
        return base_err(err, SHOAL_E_CANCELLED, "interrupted");
    if (reader->format == DATA_CORPUS_BINARY) {
        st = data_corpus_pack_next(reader, err);
    } else {
        reader->text = NULL;
        if (text == NULL)
            st = env_blocks_next(&reader->blocks, &text, &size, err);
        if (st == SHOAL_OK)
            st = cut(reader, text, size, err);
    }
    if (st != SHOAL_OK)
        return st;
    return env_parallel(reader->env, reader->part_used, reader->opts.threads, parse_one, reader,
                        err);
}

/* After the last line the header's number of entries must be right, which bounds the number of
 * documents, too; then the document that was being read and the empty ones that follow, some at a
 * time. */
static shoal_status end_triples(struct data_corpus_reader *reader, struct data_corpus *corpus,
                                shoal_err *err)
{
    if (reader->entries_seen != reader->header_entries)
        return env_blocks_bad(&reader->blocks, reader->header_lines, 0, err,
                              "expected the number of entries that follow, %" PRIu64
                              ", found %" PRIu64,
                              reader->entries_seen, reader->header_entries);
    if (reader->document == reader->documents)
        return SHOAL_END;
    uint64_t next = reader->document + EMPTY_AT_ONCE;
    return end_carry(reader, next < reader->documents ? next : reader->documents, corpus, err);
}

/* Words of LDA-C that no vocabulary names: what they are numbered up to is known as they are read. */
static shoal_status check_words(const struct data_corpus_reader *reader, shoal_err *err)
{
    if (reader->words_fixed || !data_corpus_too_many(reader->words, reader->entries_seen))
        return SHOAL_OK;
    return base_err(err, SHOAL_E_LIMIT,
                    "cannot read corpus '%s': its words go up to %u, and there are %" PRIu64
                    " entries; expected at most %" PRIu64 " words and %d an entry",
                    reader->path, reader->words - 1, reader->entries_seen, DATA_CORPUS_UNUSED_MAX,
                    DATA_CORPUS_PER_ENTRY);
}

static shoal_status next_raw(struct data_corpus_reader *reader, struct data_corpus *corpus,
                             shoal_err *err)
{
    shoal_status st = next_parts(reader, err);

    if (st == SHOAL_END && corpus_has_triples(reader->format))
        st = end_triples(reader, corpus, err);
    else if (st == SHOAL_OK) {
        for (size_t i = 0; i < reader->part_used && st == SHOAL_OK; i++) {
            if (reader->part[i].bad == CORPUS_BAD_BYTES)
                st = base_err(err, SHOAL_E_FORMAT,
                              "cannot read corpus '%s': its documents are not as it says",
                              reader->path);
            else if (reader->part[i].bad != CORPUS_GOOD)
                st = report(reader, &reader->part[i], err);
            else if (corpus_has_triples(reader->format))
                st = append_triples(reader, &reader->part[i], corpus, err);
            reader->blocks.line += reader->part[i].lines;
        }
        if (st == SHOAL_OK && reader->format == DATA_CORPUS_TEXT)
            st = fold_text(reader, err);
        for (size_t i = 0; i < reader->part_used && st == SHOAL_OK; i++)
            if (!corpus_has_triples(reader->format))
                st = append_lines(reader, &reader->part[i], corpus, err);
        if (st == SHOAL_OK && reader->format == DATA_CORPUS_LDAC)
            st = check_words(reader, err);
    }
    return st;
}

/* ---- what was asked for ---- */

static void move_document(struct data_corpus *corpus, uint64_t at, uint64_t entries)
{
    uint64_t to = corpus->entries;
    uint32_t *word = data_own(corpus->x.word), *count = data_own(corpus->x.count);

    memmove(word + to, word + at, (size_t)entries * sizeof *word);
    memmove(count + to, count + at, (size_t)entries * sizeof *count);
    for (uint64_t i = 0; i < entries; i++)
        corpus->tokens += count[to + i];
    data_corpus_put_document(corpus, (size_t)entries);
}

/* Documents that came after `before` and lie outside of [from, to) go. */
static void clip(struct data_corpus_reader *reader, struct data_corpus *corpus,
                 const struct data_corpus *before)
{
    const uint64_t *start = corpus->x.start;
    uint64_t first = before->x.documents, made = corpus->x.documents - first;
    uint64_t from = reader->opts.from, to = reader->opts.to > 0 ? reader->opts.to : UINT64_MAX;
    uint64_t number = reader->given;

    reader->given += made;
    if (number >= from && number + made <= to)
        return;
    corpus->x.documents = first;
    corpus->entries = before->entries;
    corpus->tokens = before->tokens;
    corpus->empty = before->empty;
    uint64_t at = before->entries;
    for (uint64_t d = first; d < first + made; d++, number++) {
        uint64_t end = start[d + 1]; /* before it is written over */
        if (number >= from && number < to)
            move_document(corpus, at, end - at);
        at = end;
    }
}

/* What a failure must give back: all but the arrays, which may have grown. */
static void restore(struct data_corpus *corpus, const struct data_corpus *before)
{
    struct data_corpus kept = *corpus;

    *corpus = *before;
    corpus->x.start = kept.x.start;
    corpus->x.word = kept.x.word;
    corpus->x.count = kept.x.count;
    corpus->start_cap = kept.start_cap;
    corpus->word_cap = kept.word_cap;
    corpus->count_cap = kept.count_cap;
}

shoal_status data_corpus_next(struct data_corpus_reader *reader, struct data_corpus *corpus,
                              shoal_err *err)
{
    struct data_corpus before = *corpus;
    struct corpus_map map = {reader->map, reader->map_count};
    uint64_t first = corpus->x.documents, to = reader->opts.to;
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK && corpus->x.documents == first) {
        st = to > 0 && reader->given >= to ? SHOAL_END : next_raw(reader, corpus, err);
        if (st == SHOAL_OK)
            clip(reader, corpus, &before);
    }
    if (st != SHOAL_OK) {
        restore(corpus, &before);
        return st;
    }
    if (map.at != NULL)
        data_corpus_apply(&map, corpus, first);
    corpus->x.words = map.at != NULL ? reader->map_words : reader->words;
    return SHOAL_OK;
}

enum data_corpus_format data_corpus_format_of(const struct data_corpus_reader *reader)
{
    return reader->format;
}

enum data_corpus_format data_corpus_resembles(const struct data_corpus_reader *reader)
{
    return reader->resembles;
}
