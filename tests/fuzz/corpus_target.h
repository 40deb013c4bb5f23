/* corpus_target.h - what the fuzz targets of corpora share: a corpus is proper, and two are the
 * same. */
#ifndef FUZZ_CORPUS_TARGET_H
#define FUZZ_CORPUS_TARGET_H

#include "base/assert.h"
#include "../data_text.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_proper(const struct data_corpus *c)
{
    uint64_t tokens = 0, empty = 0;

    shoal_assert(c->x.documents > 0 && c->x.words > 0 && c->x.start[0] == 0);
    shoal_assert(c->x.start[c->x.documents] == c->entries);
    shoal_assert(c->names.count == 0 || c->names.count == c->x.words);
    for (uint64_t d = 0; d < c->x.documents; d++) {
        shoal_assert(c->x.start[d] <= c->x.start[d + 1]);
        empty += c->x.start[d] == c->x.start[d + 1];
        for (uint64_t i = c->x.start[d]; i < c->x.start[d + 1]; i++) {
            shoal_assert(c->x.word[i] < c->x.words && c->x.count[i] > 0);
            shoal_assert(i == c->x.start[d] || c->x.word[i - 1] < c->x.word[i]);
            tokens += c->x.count[i];
        }
    }
    shoal_assert(c->tokens == tokens && c->empty == empty);
}

static void check_same(const struct data_corpus *a, const struct data_corpus *b)
{
    size_t entries = (size_t)a->entries, documents = (size_t)a->x.documents;

    shoal_assert(a->x.documents == b->x.documents && a->entries == b->entries);
    shoal_assert(a->x.words == b->x.words && a->names.count == b->names.count);
    shoal_assert(memcmp(a->x.start, b->x.start, (documents + 1) * sizeof *a->x.start) == 0);
    if (entries > 0) {
        shoal_assert(memcmp(a->x.word, b->x.word, entries * sizeof *a->x.word) == 0);
        shoal_assert(memcmp(a->x.count, b->x.count, entries * sizeof *a->x.count) == 0);
    }
    for (uint32_t w = 0; w < a->names.count; w++) {
        char abuf[DATA_ID_BUF], bbuf[DATA_ID_BUF];
        size_t asize = 0, bsize = 0;
        const char *aname = data_ids_name(&a->names, w, abuf, &asize);
        const char *bname = data_ids_name(&b->names, w, bbuf, &bsize);
        shoal_assert(asize == bsize && memcmp(aname, bname, asize) == 0);
    }
}

/* Loads file "f" in one piece and in several; what loads must be proper, the same, and survive saving. */
static void check_loads(shoal_env *env, const struct data_corpus_opts *wanted)
{
    struct data_corpus_opts opts = *wanted;
    struct data_corpus one = {0}, pieces = {0}, back = {0};
    shoal_err err = SHOAL_ERR_INIT, other = SHOAL_ERR_INIT;

    opts.threads = 1;
    shoal_status st = data_corpus_load(env, "f", &opts, &one, &err);
    opts.threads = 4;
    shoal_assert(data_corpus_load(env, "f", &opts, &pieces, &other) == st);
    if (st == SHOAL_OK) {
        check_proper(&one);
        check_same(&one, &pieces);
        shoal_assert(data_text_pack(env, "s", &one.x, &one.names) == SHOAL_OK);
        shoal_assert(data_corpus_load(env, "s", NULL, &back, NULL) == SHOAL_OK);
        check_same(&one, &back);
    } else {
        shoal_assert(one.alloc == NULL && err.code == st && err.message[0] != '\0');
    }
    data_corpus_fini(&one);
    data_corpus_fini(&pieces);
    data_corpus_fini(&back);
}

/* A model of the words that were chosen from file "f" reads the whole file as what was chosen. */
static inline void check_model_reads(shoal_env *env, const struct data_corpus_opts *chosen)
{
    struct data_corpus_opts whole = {.format = chosen->format, .vocab = chosen->vocab};
    struct data_corpus one = {0}, again = {0};

    if (data_corpus_load(env, "f", chosen, &one, NULL) == SHOAL_OK) {
        whole.known = one.names.count > 0 ? &one.names : NULL;
        whole.words = one.names.count > 0 ? 0 : one.x.words;
        if (data_corpus_load(env, "f", &whole, &again, NULL) == SHOAL_OK)
            check_same(&one, &again);
    }
    data_corpus_fini(&one);
    data_corpus_fini(&again);
}

#endif
