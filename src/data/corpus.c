/* corpus.c - documents in memory, and a whole corpus loaded: once through the reader, and what words
 * are left out by their counts is chosen in memory. data_corpus_open, for a corpus that memory does
 * not hold, reads twice instead. Tests: tests/unit/data/test_corpus.c. */
#include "data/corpus.h"

#include "base/assert.h"
#include "base/err.h"
#include "data/corpus_parts.h"
#include "data/own.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const data_corpus_format_names[] = {"auto", "uci",    "mm", "lda-c",
                                                "text", "binary", NULL};

/* ---- documents in memory ---- */

void data_corpus_init(struct data_corpus *corpus, const struct base_alloc *alloc)
{
    *corpus = (struct data_corpus){.alloc = alloc};
    data_ids_init(&corpus->names, alloc);
}

void data_corpus_clear(struct data_corpus *corpus)
{
    corpus->x.documents = corpus->entries = corpus->tokens = 0;
    corpus->x.words = 0;
    corpus->empty = corpus->sorted = corpus->repeated = corpus->left_out = 0;
}

void data_corpus_fini(struct data_corpus *corpus)
{
    if (corpus->alloc == NULL)
        return;
    base_free(corpus->alloc, data_own(corpus->x.start));
    base_free(corpus->alloc, data_own(corpus->x.word));
    base_free(corpus->alloc, data_own(corpus->x.count));
    data_ids_fini(&corpus->names);
    *corpus = (struct data_corpus){0};
}

bool data_corpus_make_room(struct data_corpus *corpus, size_t documents, size_t entries)
{
    struct num_corpus *x = &corpus->x;
    const void *start = x->start, *word = x->word, *count = x->count;
    bool first = start == NULL;
    size_t document_count = (size_t)x->documents + documents + 1;
    size_t entry_count = (size_t)corpus->entries + entries + 1;

    bool good = data_own_reserve(corpus->alloc, &start, &corpus->start_cap, document_count,
                                 sizeof *x->start);
    x->start = start;
    if (first && start != NULL)
        *(uint64_t *)data_own(start) = 0;
    good = good &&
           data_own_reserve(corpus->alloc, &word, &corpus->word_cap, entry_count, sizeof *x->word);
    x->word = word;
    good = good && data_own_reserve(corpus->alloc, &count, &corpus->count_cap, entry_count,
                                    sizeof *x->count);
    x->count = count;
    return good;
}

void data_corpus_put_document(struct data_corpus *corpus, size_t entries)
{
    corpus->entries += entries;
    corpus->empty += entries == 0;
    ((uint64_t *)data_own(corpus->x.start))[++corpus->x.documents] = corpus->entries;
}

void data_corpus_put_entries(struct data_corpus *corpus, uint64_t at, const uint32_t *word,
                             const uint32_t *count, size_t entries)
{
    if (entries == 0)
        return;
    memcpy((uint32_t *)data_own(corpus->x.word) + at, word, entries * sizeof *word);
    memmove((uint32_t *)data_own(corpus->x.count) + at, count, entries * sizeof *count);
}

void data_corpus_put(struct data_corpus *corpus, const uint32_t *word, const uint32_t *count,
                     size_t entries)
{
    data_corpus_put_entries(corpus, corpus->entries, word, count, entries);
    data_corpus_put_document(corpus, entries);
    for (size_t i = 0; i < entries; i++)
        corpus->tokens += count[i];
}

const char *data_corpus_name(const struct data_ids *names, uint32_t word, char buf[DATA_ID_BUF],
                             size_t *out_size)
{
    if (word < names->count)
        return data_ids_name(names, word, buf, out_size);
    *out_size = (size_t)snprintf(buf, DATA_ID_BUF, "%" PRIu64, (uint64_t)word + 1);
    return buf;
}

/* ---- opening ---- */

static shoal_status check_opts(const struct data_corpus_opts *o, shoal_err *err)
{
    if (!(o->max_share >= 0 && o->max_share <= 1))
        return base_err(err, SHOAL_E_INVAL, "max-share: expected 0 to 1");
    if ((o->known != NULL || o->words > 0) &&
        (o->min_count > 1 || o->max_share > 0 || o->stop_words != NULL))
        return base_err(err, SHOAL_E_INVAL,
                        "the words of a model are given: there is nothing to choose by counts or "
                        "stop words");
    if (o->to > 0 && o->to <= o->from)
        return base_err(err, SHOAL_E_INVAL, "expected a range of documents");
    return SHOAL_OK;
}

static bool chooses(const struct data_corpus_opts *opts)
{
    return opts->min_count > 1 || (opts->max_share > 0 && opts->max_share < 1);
}

/* The second reading knows all words of the first. */
static void move_words(struct data_corpus_reader *from, struct data_corpus_reader *to)
{
    data_ids_fini(&to->names);
    to->names = from->names;
    to->stop_count = from->stop_count;
    to->words = from->words;
    to->words_fixed = true;
    data_ids_init(&from->names, from->alloc);
}

static shoal_status count_all(struct data_corpus_reader *reader, struct data_tally *tally,
                              shoal_err *err)
{
    struct data_corpus part;
    shoal_status st = SHOAL_OK;

    data_corpus_init(&part, reader->alloc);
    while (st == SHOAL_OK) {
        data_corpus_clear(&part);
        st = data_corpus_next(reader, &part, err);
        if (st == SHOAL_OK && data_tally_add(tally, &part.x) != SHOAL_OK)
            st = base_err_nomem(err, "counting words");
    }
    data_corpus_fini(&part);
    return st == SHOAL_END ? SHOAL_OK : st;
}

/* Reads all to count, and opens again with the words chosen. */
static shoal_status open_twice(struct data_corpus_reader **reader, shoal_err *err)
{
    struct data_corpus_reader *first = *reader, *second = NULL;
    struct data_tally tally;
    uint32_t *map = NULL, words = 0;

    data_tally_init(&tally, first->alloc);
    shoal_status st = count_all(first, &tally, err);
    if (st == SHOAL_OK)
        st = data_corpus_choose(first, &tally, &map, &words, err);
    if (st == SHOAL_OK)
        st = data_corpus_open_once(first->env, first->path, &first->opts, &second, err);
    if (st == SHOAL_OK && second->format == DATA_CORPUS_TEXT)
        move_words(first, second);
    if (st == SHOAL_OK)
        st = data_corpus_compose(second, map, tally.words, words, err);
    base_free(first->alloc, map);
    data_tally_fini(&tally);
    if (st == SHOAL_OK) {
        data_corpus_close(first);
        *reader = second;
        return SHOAL_OK;
    }
    data_corpus_close(second);
    return st;
}

shoal_status data_corpus_open(shoal_env *env, const char *path, const struct data_corpus_opts *opts,
                              struct data_corpus_reader **out_reader, shoal_err *err)
{
    struct data_corpus_opts defaults = {0};
    struct data_corpus_reader *reader = NULL;
    uint64_t size = 0;

    opts = opts != NULL ? opts : &defaults;
    shoal_status st = check_opts(opts, err);
    if (st == SHOAL_OK)
        st = data_corpus_open_once(env, path, opts, &reader, err);
    if (st != SHOAL_OK)
        return st;
    if (chooses(opts) && reader->format != DATA_CORPUS_BINARY &&
        env_size(reader->blocks.file, &size, NULL) != SHOAL_OK)
        st = base_err(err, SHOAL_E_INVAL,
                      "cannot read corpus '%s' twice: choosing words by their counts needs a file",
                      path);
    if (st == SHOAL_OK && chooses(opts))
        st = open_twice(&reader, err);
    if (st == SHOAL_OK)
        *out_reader = reader;
    else
        data_corpus_close(reader);
    return st;
}

/* ---- the whole corpus ---- */

static shoal_status choose_loaded(struct data_corpus_reader *reader, struct data_corpus *corpus,
                                  shoal_err *err)
{
    struct data_tally tally;
    uint32_t words = 0, *at = NULL;

    data_tally_init(&tally, reader->alloc);
    shoal_status st = data_tally_add(&tally, &corpus->x) == SHOAL_OK
                          ? SHOAL_OK
                          : base_err_nomem(err, "counting words");
    if (st == SHOAL_OK)
        st = data_corpus_choose(reader, &tally, &at, &words, err);
    if (st == SHOAL_OK)
        st = data_corpus_compose(reader, at, tally.words, words, err);
    if (st == SHOAL_OK) {
        struct corpus_map map = {at, tally.words};
        data_corpus_apply(&map, corpus, 0);
    }
    base_free(reader->alloc, at);
    data_tally_fini(&tally);
    return st;
}

shoal_status data_corpus_check(const struct data_corpus_reader *reader, uint64_t documents,
                               uint32_t words, uint64_t left_out, shoal_err *err)
{
    if (documents > 0 && words > 0)
        return SHOAL_OK;
    base_err(err, SHOAL_E_FORMAT, "cannot read corpus '%s': no %s in it%s", reader->path,
             documents == 0 ? "documents" : "words",
             documents > 0 && left_out > 0 ? ", all were left out" : "");
    if (reader->resembles != DATA_CORPUS_AUTO)
        base_err_hint(err, "it was read as text; with format %s it would be told what is wrong",
                      data_corpus_format_names[reader->resembles]);
    return SHOAL_E_FORMAT;
}

/* Gives back what growing took too much; where that fails nothing is lost. */
static void shrink(const struct base_alloc *alloc, const void **array, size_t *cap, size_t count,
                   size_t size)
{
    void *less = *array != NULL && count > 0 && count < *cap
                     ? base_realloc(alloc, data_own(*array), count * size)
                     : NULL;

    if (less == NULL)
        return;
    *array = less;
    *cap = count;
}

static void shrink_all(struct data_corpus *corpus)
{
    const void *start = corpus->x.start, *word = corpus->x.word, *count = corpus->x.count;
    size_t entries = (size_t)corpus->entries;

    shrink(corpus->alloc, &start, &corpus->start_cap, (size_t)corpus->x.documents + 1, 8);
    shrink(corpus->alloc, &word, &corpus->word_cap, entries, sizeof *corpus->x.word);
    shrink(corpus->alloc, &count, &corpus->count_cap, entries, sizeof *corpus->x.count);
    corpus->x.start = start;
    corpus->x.word = word;
    corpus->x.count = count;
}

shoal_status data_corpus_load(shoal_env *env, const char *path, const struct data_corpus_opts *opts,
                              struct data_corpus *out, shoal_err *err)
{
    struct data_corpus_opts defaults = {0};
    struct data_corpus_reader *reader = NULL;
    struct data_corpus corpus;

    opts = opts != NULL ? opts : &defaults;
    data_corpus_init(&corpus, env_alloc(env));
    shoal_status st = check_opts(opts, err);
    if (st == SHOAL_OK)
        st = data_corpus_open_once(env, path, opts, &reader, err);
    while (st == SHOAL_OK)
        st = data_corpus_next(reader, &corpus, err);
    bool sparse = st == SHOAL_END && opts->compact && corpus.x.words > DATA_CORPUS_FEW_WORDS &&
                  corpus.x.words > corpus.entries;
    if (sparse && opts->min_count == 0)
        reader->opts.min_count = 1;
    if (st == SHOAL_END)
        st = (chooses(opts) || sparse) && corpus.x.documents > 0
                 ? choose_loaded(reader, &corpus, err)
                 : SHOAL_OK;
    if (st == SHOAL_OK)
        st = data_corpus_names(reader, &corpus.x.words, &corpus.names, err);
    if (st == SHOAL_OK)
        st = data_corpus_check(reader, corpus.x.documents, corpus.x.words, corpus.left_out, err);
    if (st == SHOAL_OK) {
        shrink_all(&corpus);
        corpus.resembles = data_corpus_resembles(reader);
        *out = corpus;
        corpus = (struct data_corpus){0};
    }
    data_corpus_close(reader);
    data_corpus_fini(&corpus);
    return st;
}

/* ---- the words of a document in order, each once, with its count ----
 *
 * The words of a document in order, each once, with its count.
 *
 * Bare words: insertion sort while there are few, else least digit first with 8 bits a pass, as many
 * passes as the largest word needs. Words with counts come in order in most files; the rest is sorted
 * by a heap, in place, whose cost is bounded whatever the file. */

enum { INSERTION_MAX = 40, DIGITS = 256 };

/* ---- words ---- */

static void insertion_sort(uint32_t *word, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        uint32_t x = word[i];
        size_t at = i;
        for (; at > 0 && word[at - 1] > x; at--)
            word[at] = word[at - 1];
        word[at] = x;
    }
}

static void radix_pass(const uint32_t *from, uint32_t *to, size_t count, unsigned shift)
{
    size_t at[DIGITS] = {0}, sum = 0;

    for (size_t i = 0; i < count; i++)
        at[from[i] >> shift & (DIGITS - 1)]++;
    for (size_t d = 0; d < DIGITS; d++) {
        size_t size = at[d];
        at[d] = sum;
        sum += size;
    }
    for (size_t i = 0; i < count; i++)
        to[at[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

static void sort_words(uint32_t *word, size_t count, uint32_t *spare)
{
    uint32_t all = 0, *from = word, *to = spare;

    if (count <= INSERTION_MAX) {
        insertion_sort(word, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        all |= word[i];
    for (unsigned shift = 0; shift < 32 && all >> shift != 0; shift += 8) {
        radix_pass(from, to, count, shift);
        uint32_t *other = from;
        from = to;
        to = other;
    }
    if (from != word)
        memcpy(word, from, count * sizeof *word);
}

size_t data_corpus_merge_words(uint32_t *word, uint32_t *count, size_t tokens, uint32_t *spare)
{
    size_t left = 0;

    sort_words(word, tokens, spare);
    for (size_t i = 0; i < tokens; left++) {
        size_t from = i;
        uint32_t w = word[i];
        while (i < tokens && word[i] == w)
            i++;
        word[left] = w;
        count[left] = (uint32_t)(i - from);
    }
    return left;
}

/* ---- words with counts ---- */

struct pairs {
    uint32_t *word, *count;
};

static void swap(const struct pairs *p, size_t a, size_t b)
{
    uint32_t word = p->word[a], count = p->count[a];

    p->word[a] = p->word[b];
    p->count[a] = p->count[b];
    p->word[b] = word;
    p->count[b] = count;
}

static void sift(const struct pairs *p, size_t at, size_t size)
{
    for (size_t child = 2 * at + 1; child < size; child = 2 * at + 1) {
        if (child + 1 < size && p->word[child] < p->word[child + 1])
            child++;
        if (p->word[at] >= p->word[child])
            return;
        swap(p, at, child);
        at = child;
    }
}

size_t data_corpus_merge_pairs(uint32_t *word, uint32_t *count, size_t entries)
{
    struct pairs p = {word, count};
    size_t left = 0;

    for (size_t at = entries / 2; at-- > 0;)
        sift(&p, at, entries);
    for (size_t size = entries; size > 1;) {
        swap(&p, 0, --size);
        sift(&p, 0, size);
    }
    for (size_t i = 0; i < entries; left++) {
        uint64_t sum = 0;
        uint32_t w = word[i];
        for (; i < entries && word[i] == w; i++)
            sum += count[i];
        if (sum > UINT32_MAX)
            return SIZE_MAX;
        word[left] = w;
        count[left] = (uint32_t)sum;
    }
    return left;
}
