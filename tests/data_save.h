/* data_save.h - training data written as files, so that tests can load it again and compare. Numbers have as many
 * digits as read back equal. Nothing in src writes these: `shoal gen` makes its text itself. */
#ifndef TESTS_DATA_SAVE_H
#define TESTS_DATA_SAVE_H

#include "base/buf.h"
#include "data/corpus.h"
#include "data/ratings.h"
#include "data/svm.h"
#include <inttypes.h>
#include <string.h>

static inline void save_begin(shoal_env *env, struct base_buf *text)
{
    base_buf_init(text, env_alloc(env), (size_t)1 << 30);
    base_buf_puts(text, "");
}

/* Writes the file and ends the text. */
static inline shoal_status save_end(shoal_env *env, const char *path, struct base_buf *text)
{
    shoal_status st = base_buf_status(text);

    if (st == SHOAL_OK)
        st = env_write_whole(env, path, text->data, text->size, NULL);
    base_buf_fini(text);
    return st;
}

static inline shoal_status save_svm(shoal_env *env, const char *path, const struct num_csr *x,
                                    const double *label, enum data_svm_base base)
{
    struct base_buf text;

    save_begin(env, &text);
    for (uint64_t r = 0; r < x->rows; r++) {
        base_buf_printf(&text, "%.17g", label[r]);
        for (uint64_t i = x->start[r]; i < x->start[r + 1]; i++)
            base_buf_printf(&text, " %" PRIu64 ":%.9g",
                            (uint64_t)x->index[i] + (base == DATA_SVM_FROM_ONE),
                            x->value != NULL ? (double)x->value[i] : 1);
        base_buf_puts(&text, "\n");
    }
    return save_end(env, path, &text);
}

/* In quotes, always, with a quote inside written twice. */
static inline void save_name(const struct data_ids *ids, uint32_t index, struct base_buf *text)
{
    char buf[DATA_ID_BUF];
    size_t size = 0;
    const char *name = data_ids_name(ids, index, buf, &size);

    base_buf_puts(text, "\"");
    for (size_t i = 0; i < size; i++)
        base_buf_append(text, name[i] == '"' ? "\"\"" : name + i, name[i] == '"' ? 2 : 1);
    base_buf_puts(text, "\"");
}

static inline shoal_status save_ratings(shoal_env *env, const char *path,
                                        const struct data_ratings *ratings)
{
    struct base_buf text;

    save_begin(env, &text);
    base_buf_puts(&text, ratings->valued ? "user,item,rating\n" : "user,item\n");
    for (uint64_t i = 0; i < ratings->count; i++) {
        const struct num_rating *r = &ratings->rating[i];
        save_name(&ratings->user_ids, r->user, &text);
        base_buf_puts(&text, ",");
        save_name(&ratings->item_ids, r->item, &text);
        if (ratings->valued)
            base_buf_printf(&text, ",%.9g", (double)r->value);
        base_buf_puts(&text, "\n");
    }
    return save_end(env, path, &text);
}

/* As UCI bag of words; `vocab` gets the names, NULL: not wanted. */
static inline shoal_status save_uci(shoal_env *env, const char *path, const char *vocab,
                                    const struct num_corpus *x, const struct data_ids *names)
{
    struct base_buf text;
    shoal_status st = SHOAL_OK;

    save_begin(env, &text);
    for (uint32_t w = 0; vocab != NULL && w < x->words; w++) {
        char buf[DATA_ID_BUF];
        size_t size = 0;
        const char *name = data_corpus_name(names, w, buf, &size);
        base_buf_append(&text, name, size);
        base_buf_puts(&text, "\n");
    }
    if (vocab != NULL)
        st = save_end(env, vocab, &text);
    else
        base_buf_fini(&text);
    if (st != SHOAL_OK)
        return st;
    save_begin(env, &text);
    base_buf_printf(&text, "%" PRIu64 "\n%u\n%" PRIu64 "\n", x->documents, x->words,
                    x->start[x->documents] - x->start[0]);
    for (uint64_t d = 0; d < x->documents; d++)
        for (uint64_t i = x->start[d]; i < x->start[d + 1]; i++)
            base_buf_printf(&text, "%" PRIu64 " %u %u\n", d + 1, x->word[i] + 1,
                            x->count != NULL ? x->count[i] : 1);
    return save_end(env, path, &text);
}

/* As a binary corpus, which `shoal corpus build` writes so, too. names may be NULL. */
static inline shoal_status save_corpus(shoal_env *env, const char *path, const struct num_corpus *x,
                                       const struct data_ids *names)
{
    struct data_corpus_writer *writer = NULL;
    shoal_status st = data_corpus_create(env, path, &writer, NULL);

    if (st != SHOAL_OK)
        return st;
    st = data_corpus_append(writer, x, NULL);
    if (st == SHOAL_OK)
        return data_corpus_commit(writer, x->words, names, NULL);
    data_corpus_discard(writer);
    return st;
}

#endif
