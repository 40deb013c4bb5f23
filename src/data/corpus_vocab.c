/* corpus_vocab.c - which words a corpus has: names from a file, stop words, the words of a model, and
 * those that occur often enough.
 *
 * A file's words keep their order: what is given out are the kept ones, numbered from 0. Only the
 * words of a model have another order. Words that have no names are called by their numbers in the
 * file, whatever is left out: a model knows them by these. Tests: tests/unit/data/test_corpus.c,
 * test_corpus_vocab.c. */
#include "base/err.h"
#include "data/corpus_parts.h"
#include "data/words.h"
#include "env/table.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- names ---- */

/* One name a line, exactly as it stands; SHOAL_OK or an error that says where. */
static shoal_status add_name(const struct env_lines *blocks, uint64_t line, const char *text,
                             size_t size, struct data_ids *names, shoal_err *err)
{
    char shown[ENV_SHOWN_MAX];
    uint32_t index = 0, before = names->count, point = 0;

    const char *bad = data_words_not_name(text, text + size);
    if (bad != NULL && data_words_decode(bad, text + size, &point) == 0) {
        env_blocks_bad(blocks, line, (uint64_t)(bad - text) + 1, err,
                       "expected UTF-8, found the byte 0x%02x", (unsigned char)*bad);
        base_err_hint(err, "convert it first: iconv -f latin1 -t utf-8 FILE");
        return SHOAL_E_FORMAT;
    }
    if (bad != NULL)
        return env_blocks_bad(blocks, line, (uint64_t)(bad - text) + 1, err,
                              "expected a word, found the control character U+%04X", point);
    if (size == 0 || size > DATA_ID_SIZE_MAX)
        return env_blocks_bad(blocks, line, 0, err, "expected a word of 1 to %d bytes",
                              (int)DATA_ID_SIZE_MAX);
    if (data_ids_add(names, text, size, &index) != SHOAL_OK)
        return base_err_nomem(err, "reading a vocabulary");
    if (index < before)
        return env_blocks_bad(blocks, line, 0, err, "expected each word once, '%s' is word %u",
                              env_lines_show(text, size, shown), index + 1);
    return SHOAL_OK;
}

/* The lines of a block. Blank ones may be at the end only: `blank` counts those so far. */
static shoal_status add_names(struct env_lines *blocks, const char *text, size_t size,
                              uint64_t *blank, struct data_ids *names, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    for (const char *end = text + size; st == SHOAL_OK && text < end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)(stop - text);
        length -= length > 0 && text[length - 1] == '\r';
        blocks->line++;
        if (length == 0)
            ++*blank;
        else if (*blank > 0)
            st = env_blocks_bad(blocks, blocks->line - *blank, 0, err,
                                "expected a word, found an empty line");
        else
            st = add_name(blocks, blocks->line, text, length, names, err);
        text = stop + 1;
    }
    return st;
}

shoal_status data_corpus_load_names(shoal_env *env, const char *path, struct data_ids *names,
                                    shoal_err *err)
{
    struct env_lines blocks;
    const char *text = NULL;
    size_t size = 0;
    uint64_t blank = 0;

    shoal_status st = env_blocks_open(env, "vocabulary", path, CORPUS_PIECE, NULL, &blocks, err);
    if (st != SHOAL_OK)
        return st;
    while (st == SHOAL_OK) {
        st = env_blocks_next(&blocks, &text, &size, err);
        if (st == SHOAL_OK)
            st = add_names(&blocks, text, size, &blank, names, err);
    }
    env_lines_close(&blocks);
    if (st == SHOAL_END)
        st = names->count > 0 ? SHOAL_OK
                              : base_err(err, SHOAL_E_FORMAT,
                                         "cannot read vocabulary '%s': no words in it", path);
    return st;
}

void data_corpus_vocab_beside(const char *path, char *buf, size_t size)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;

    if (strncmp(name, "docword.", 8) != 0 || strlen(path) >= size)
        buf[0] = '\0';
    else
        (void)snprintf(buf, size, "%.*svocab.%s", (int)(name - path), path, name + 8);
}

/* The names of a corpus that has numbers for words. */
static shoal_status load_vocab(struct data_corpus_reader *reader, shoal_err *err)
{
    char beside[4096];
    const char *path = reader->opts.vocab;

    if (path == NULL && reader->format == DATA_CORPUS_BINARY)
        return SHOAL_OK;
    if (path != NULL && reader->names.count > 0)
        return base_err(err, SHOAL_E_INVAL, "corpus '%s' has the names of its words in it",
                        reader->path);
    if (path == NULL) {
        struct env_file *file = NULL;
        data_corpus_vocab_beside(reader->path, beside, sizeof beside);
        if (beside[0] == '\0')
            return SHOAL_OK;
        shoal_status st = env_open(reader->env, beside, &file, NULL);
        env_close(file);
        if (st != SHOAL_OK)
            return st == SHOAL_E_NOMEM ? base_err_nomem(err, "reading a corpus") : SHOAL_OK;
        path = beside;
    }
    shoal_status st = data_corpus_load_names(reader->env, path, &reader->names, err);
    if (st != SHOAL_OK)
        return st;
    if (reader->format != DATA_CORPUS_LDAC && reader->names.count != reader->words) {
        base_err(err, SHOAL_E_FORMAT,
                 "cannot read corpus '%s': its header says %u words, and its vocabulary '%s' has "
                 "%u",
                 reader->path, reader->words, path, reader->names.count);
        if (reader->format == DATA_CORPUS_UCI && reader->header_lines == 3) /* no blank ones */
            base_err_where(err, "%s, line 2", reader->path);
        return SHOAL_E_FORMAT;
    }
    reader->words = reader->names.count;
    reader->words_fixed = true;
    return SHOAL_OK;
}

/* ---- which words are given out ---- */

/* The largest of names that are numbers and ascend, as words without names are called once some are
 * left out; 0: these are other names. */
static uint32_t last_number(const struct data_ids *names)
{
    uint64_t last = 0;

    for (uint32_t w = 0; w < names->count; w++) {
        uint64_t number = names->word[w]; /* 2^63 and more: text */
        if (number <= last || number > DATA_CORPUS_WORDS_MAX)
            return 0;
        last = number;
    }
    return (uint32_t)last;
}

bool data_corpus_numbered(const struct data_ids *names)
{
    return names->count == 0 || last_number(names) > 0;
}

uint32_t data_corpus_number(const struct data_ids *names, uint32_t word)
{
    return names->count > 0 ? (uint32_t)names->word[word] : word + 1;
}

static shoal_status make_map(struct data_corpus_reader *reader, uint32_t count, uint32_t words,
                             shoal_err *err)
{
    reader->map = base_malloc(reader->alloc, ((size_t)count + 1) * sizeof *reader->map);
    if (reader->map == NULL)
        return base_err_nomem(err, "reading a corpus");
    reader->map_count = count;
    reader->map_words = words;
    return SHOAL_OK;
}

static shoal_status refuse_numbers(const struct data_corpus_reader *reader, const char *why,
                                   shoal_err *err)
{
    base_err(err, SHOAL_E_INVAL, "the words of corpus '%s' are numbers, and %s", reader->path, why);
    base_err_hint(err,
                  "call it docword.X and its vocabulary vocab.X, or give it names by 'shoal corpus "
                  "build --vocab VOCABULARY %s NEW'",
                  reader->path);
    return SHOAL_E_INVAL;
}

static shoal_status refuse_names(const struct data_corpus_reader *reader, shoal_err *err)
{
    return base_err(err, SHOAL_E_INVAL,
                    "the words of '%s' have names; those of the model are numbers", reader->path);
}

/* A model without names: its words are numbers, and those of the file must be. */
static shoal_status map_to_numbers(struct data_corpus_reader *reader, shoal_err *err)
{
    const struct data_ids *names = &reader->names;
    uint32_t words = reader->opts.words, count = names->count > 0 ? names->count : words;

    if (!data_corpus_numbered(names))
        return refuse_names(reader, err);
    shoal_status st = make_map(reader, count, words, err);
    for (uint32_t w = 0; w < count && st == SHOAL_OK; w++) {
        uint32_t number = data_corpus_number(names, w);
        reader->map[w] = number <= words ? number - 1 : DATA_ID_NONE;
    }
    return st;
}

/* A model whose words are called by numbers, up to `last`, and a file without names. What the model
 * says must not cost memory that its words do not bear out. */
static shoal_status map_to_called(struct data_corpus_reader *reader, uint32_t last, shoal_err *err)
{
    const struct data_ids *known = reader->opts.known;
    uint32_t count = reader->words_fixed && reader->words < last ? reader->words : last;

    if (data_corpus_too_many(count, known->count))
        return base_err(
            err, SHOAL_E_LIMIT,
            "cannot read corpus '%s' for the model: the model's words are numbers up "
            "to %u, and it has %u of them; expected at most %" PRIu64 " and %d for each",
            reader->path, last, known->count, DATA_CORPUS_UNUSED_MAX, DATA_CORPUS_PER_ENTRY);
    shoal_status st = make_map(reader, count, known->count, err);
    for (uint32_t w = 0; w < count && st == SHOAL_OK; w++)
        reader->map[w] = DATA_ID_NONE;
    for (uint32_t w = 0; w < known->count && st == SHOAL_OK; w++) {
        uint32_t number = data_corpus_number(known, w);
        if (number <= count)
            reader->map[number - 1] = w;
    }
    return st;
}

/* A model with names. */
static shoal_status map_to_known(struct data_corpus_reader *reader, shoal_err *err)
{
    const struct data_ids *known = reader->opts.known;
    uint32_t last = last_number(known), count = reader->names.count;
    char buf[DATA_ID_BUF];
    size_t size = 0;

    if (count == 0 && last == 0)
        return refuse_numbers(reader, "those of the model have names", err);
    if (last > 0 && !data_corpus_numbered(&reader->names))
        return refuse_names(reader, err);
    if (count == 0)
        return map_to_called(reader, last, err);
    shoal_status st = make_map(reader, count, known->count, err);
    for (uint32_t w = 0; w < count && st == SHOAL_OK; w++) {
        const char *name = data_corpus_name(&reader->names, w, buf, &size);
        reader->map[w] = data_ids_find(known, name, size);
    }
    return st;
}

/* All but stop words. */
static shoal_status map_chosen(struct data_corpus_reader *reader, const struct data_ids *stop,
                               shoal_err *err)
{
    uint32_t count = reader->names.count, next = 0;
    char buf[DATA_ID_BUF];
    size_t size = 0;

    if (count == 0)
        return refuse_numbers(reader, "stop words have names", err);
    shoal_status st = make_map(reader, count, 0, err);
    for (uint32_t w = 0; w < count && st == SHOAL_OK; w++) {
        const char *name = data_ids_name(&reader->names, w, buf, &size);
        reader->map[w] = data_ids_find(stop, name, size) == DATA_ID_NONE ? next++ : DATA_ID_NONE;
    }
    reader->map_words = next;
    return st;
}

/* Words of files that have numbers for them: by stop words or the words of a model. */
static shoal_status map_numbers(struct data_corpus_reader *reader, const struct data_ids *stop,
                                shoal_err *err)
{
    if (reader->opts.known != NULL)
        return map_to_known(reader, err);
    if (reader->opts.words > 0)
        return map_to_numbers(reader, err);
    return stop->count > 0 ? map_chosen(reader, stop, err) : SHOAL_OK;
}

/* Words of text: those of a vocabulary alone, or all but stop words. */
static shoal_status start_words(struct data_corpus_reader *reader, const char *stop, shoal_err *err)
{
    const struct data_ids *known = reader->opts.known;
    shoal_status st = SHOAL_OK;
    char buf[DATA_ID_BUF];

    if (reader->opts.vocab != NULL && known == NULL) {
        st = data_corpus_load_names(reader->env, reader->opts.vocab, &reader->names, err);
        reader->words_fixed = true;
    } else if (known != NULL) {
        for (uint32_t w = 0, index = 0; st == SHOAL_OK && w < known->count; w++) {
            size_t size = 0;
            const char *name = data_ids_name(known, w, buf, &size);
            st = data_ids_add(&reader->names, name, size, &index);
        }
        if (st != SHOAL_OK)
            st = base_err_nomem(err, "reading a corpus");
        reader->words_fixed = true;
    } else {
        st = data_words_stop(reader->env, stop, &reader->names, err);
        reader->stop_count = reader->names.count;
    }
    reader->words = reader->names.count - reader->stop_count;
    return st;
}

shoal_status data_corpus_start_vocabulary(struct data_corpus_reader *reader, shoal_err *err)
{
    const struct data_ids *known = reader->opts.known;
    const char *stop = reader->opts.stop_words;
    struct data_ids stop_ids;
    bool text = reader->format == DATA_CORPUS_TEXT;

    if (text && (known != NULL ? data_corpus_numbered(known) : reader->opts.words > 0))
        return refuse_names(reader, err);
    shoal_status st =
        text ? start_words(reader, stop != NULL ? stop : "english", err) : load_vocab(reader, err);
    if (text && (known != NULL || reader->opts.vocab == NULL))
        return st; /* these have been left out */
    data_ids_init(&stop_ids, reader->alloc);
    if (st == SHOAL_OK && stop != NULL)
        st = data_words_stop(reader->env, stop, &stop_ids, err);
    if (st == SHOAL_OK)
        st = map_numbers(reader, &stop_ids, err);
    data_ids_fini(&stop_ids);
    return st;
}

/* ---- how often words occur ---- */

void data_tally_init(struct data_tally *tally, const struct base_alloc *alloc)
{
    *tally = (struct data_tally){.alloc = alloc};
}

void data_tally_fini(struct data_tally *tally)
{
    if (tally->alloc == NULL)
        return;
    base_free(tally->alloc, tally->tokens);
    base_free(tally->alloc, tally->documents);
    *tally = (struct data_tally){0};
}

static bool grow(struct data_tally *tally, uint32_t words)
{
    void *tokens = tally->tokens, *documents = tally->documents;

    if (words <= tally->words)
        return true;
    bool good = base_reserve(tally->alloc, &tokens, &tally->tokens_cap, words, 8) == 0;
    good = base_reserve(tally->alloc, &documents, &tally->documents_cap, words, 8) == 0 && good;
    tally->tokens = tokens;
    tally->documents = documents;
    if (!good)
        return false;
    memset(tally->tokens + tally->words, 0, (size_t)(words - tally->words) * 8);
    memset(tally->documents + tally->words, 0, (size_t)(words - tally->words) * 8);
    tally->words = words;
    return true;
}

shoal_status data_tally_add(struct data_tally *tally, const struct num_corpus *x)
{
    if (!grow(tally, x->words))
        return SHOAL_E_NOMEM;
    for (uint64_t i = x->documents > 0 ? x->start[0] : 0;
         x->documents > 0 && i < x->start[x->documents]; i++) {
        tally->tokens[x->word[i]] += x->count != NULL ? x->count[i] : 1;
        tally->documents[x->word[i]]++;
    }
    tally->document_count += x->documents;
    return SHOAL_OK;
}

/* ---- choosing by counts ---- */

shoal_status data_corpus_choose(const struct data_corpus_reader *reader,
                                const struct data_tally *tally, uint32_t **out_map,
                                uint32_t *out_words, shoal_err *err)
{
    const struct data_corpus_opts *o = &reader->opts;
    double share = o->max_share > 0 ? o->max_share : 1;
    double most = share * (double)tally->document_count;
    uint32_t *map = base_malloc(reader->alloc, ((size_t)tally->words + 1) * sizeof *map), next = 0;

    if (map == NULL)
        return base_err_nomem(err, "choosing words");
    for (uint32_t w = 0; w < tally->words; w++) {
        bool keep = tally->tokens[w] >= o->min_count && (double)tally->documents[w] <= most;
        map[w] = keep ? next++ : DATA_ID_NONE;
    }
    *out_map = map;
    *out_words = next;
    return SHOAL_OK;
}

shoal_status data_corpus_compose(struct data_corpus_reader *reader, const uint32_t *map,
                                 uint32_t count, uint32_t words, shoal_err *err)
{
    uint32_t raw = reader->map != NULL ? reader->map_count : count;

    if (reader->map == NULL) {
        reader->map = base_malloc(reader->alloc, ((size_t)raw + 1) * sizeof *reader->map);
        if (reader->map == NULL)
            return base_err_nomem(err, "choosing words");
        for (uint32_t w = 0; w < raw; w++)
            reader->map[w] = w;
    }
    for (uint32_t w = 0; w < raw; w++)
        reader->map[w] = reader->map[w] < count ? map[reader->map[w]] : DATA_ID_NONE;
    reader->map_count = raw;
    reader->map_words = words;
    return SHOAL_OK;
}

/* The entries of one document moved to `to` by the map; returns how many are left. */
static size_t apply_one(const struct corpus_map *map, struct data_corpus *corpus, uint64_t at,
                        size_t entries, uint64_t to)
{
    uint32_t *word = (uint32_t *)(uintptr_t)corpus->x.word;
    uint32_t *count = (uint32_t *)(uintptr_t)corpus->x.count;
    size_t left = 0;
    bool ascending = true;

    for (size_t i = 0; i < entries; i++) {
        uint32_t w = word[at + i] < map->count ? map->at[word[at + i]] : DATA_ID_NONE;
        uint32_t n = count[at + i];
        if (w == DATA_ID_NONE) {
            corpus->left_out += n;
            corpus->tokens -= n;
            continue;
        }
        ascending &= left == 0 || word[to + left - 1] < w;
        word[to + left] = w;
        count[to + left++] = n;
    }
    return ascending ? left : data_corpus_merge_pairs(word + to, count + to, left);
}

void data_corpus_apply(const struct corpus_map *map, struct data_corpus *corpus, uint64_t first)
{
    uint64_t *start = (uint64_t *)(uintptr_t)corpus->x.start;
    uint64_t to = corpus->x.documents > first ? start[first] : 0, at = to;

    for (uint64_t d = first; d < corpus->x.documents; d++) {
        size_t entries = (size_t)(start[d + 1] - at);
        size_t left = apply_one(map, corpus, at, entries, to);
        corpus->empty += left == 0 && entries > 0;
        at += entries;
        to += left;
        start[d + 1] = to;
    }
    if (corpus->x.documents > first)
        corpus->entries = to;
}

/* ---- the names of what was given out ---- */

/* Words without names: their numbers, where some are left out. */
static shoal_status copy_numbers(const struct data_corpus_reader *reader, struct data_ids *names)
{
    uint32_t index = 0;
    shoal_status st = SHOAL_OK;

    if (reader->map == NULL || reader->map_words == reader->map_count)
        return SHOAL_OK;
    for (uint32_t w = 0; w < reader->map_count && st == SHOAL_OK; w++)
        if (reader->map[w] != DATA_ID_NONE)
            st = data_ids_add_number(names, (uint64_t)w + 1, &index);
    return st;
}

static shoal_status copy_names(const struct data_corpus_reader *reader, struct data_ids *names)
{
    const struct data_ids *known = reader->opts.known;
    const struct data_ids *from = known != NULL ? known : &reader->names;
    uint32_t stop = known != NULL ? 0 : reader->stop_count, index = 0;
    const uint32_t *map = known != NULL ? NULL : reader->map;
    char buf[DATA_ID_BUF];

    if (known == NULL && reader->opts.words > 0)
        return SHOAL_OK; /* numbers of a model */
    if (from->count == stop)
        return copy_numbers(reader, names);
    for (uint32_t w = stop; w < from->count; w++) {
        size_t size = 0;
        if (map != NULL && (w - stop >= reader->map_count || map[w - stop] == DATA_ID_NONE))
            continue;
        const char *name = data_ids_name(from, w, buf, &size);
        shoal_status st = data_ids_add(names, name, size, &index);
        if (st != SHOAL_OK)
            return st;
    }
    return SHOAL_OK;
}

shoal_status data_corpus_names(struct data_corpus_reader *reader, uint32_t *out_words,
                               struct data_ids *out_names, shoal_err *err)
{
    struct data_ids names;

    data_ids_init(&names, reader->alloc);
    if (copy_names(reader, &names) != SHOAL_OK) {
        data_ids_fini(&names);
        return base_err_nomem(err, "reading a vocabulary");
    }
    *out_words = reader->map != NULL ? reader->map_words : reader->words;
    *out_names = names;
    return SHOAL_OK;
}
