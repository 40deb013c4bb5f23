/* data_text.h - training data written to a file of a world, plainly, to be read again: what a reader makes of it
 * must be what was written. */
#ifndef TESTS_DATA_TEXT_H
#define TESTS_DATA_TEXT_H

#include "base/alloc.h"
#include "base/buf.h"
#include "data/corpus.h"
#include "data/ratings.h"
#include "data/svm.h"
#include <string.h>

static inline shoal_status data_text_put(shoal_env *env, const char *path, struct base_buf *text)
{
    struct env_out *out = NULL;
    shoal_status st = base_buf_status(text);

    if (st == SHOAL_OK)
        st = env_create(env, path, &out, NULL);
    if (st == SHOAL_OK)
        st = env_append(out, text->data, text->size, NULL);
    if (st == SHOAL_OK) {
        st = env_commit(out, NULL);
        out = NULL;
    }
    env_discard(out);
    base_buf_fini(text);
    return st;
}

/* Rows of LIBSVM text; nine digits tell any float, 17 any double. */
static inline shoal_status data_text_svm(shoal_env *env, const char *path, const struct num_csr *x,
                                         const double *label, enum data_svm_base base)
{
    struct base_buf text;

    base_buf_init(&text, &base_alloc_libc, (size_t)1 << 30);
    for (uint64_t i = 0; i < x->rows; i++) {
        base_buf_printf(&text, "%.17g", label[i]);
        for (uint64_t k = x->start[i]; k < x->start[i + 1]; k++)
            base_buf_printf(&text, " %llu:%.9g",
                            (unsigned long long)x->index[k] + (base == DATA_SVM_FROM_ONE),
                            x->value != NULL ? (double)x->value[k] : 1.0);
        base_buf_puts(&text, "\n");
    }
    return data_text_put(env, path, &text);
}

/* In quotes, as a name may hold commas and blanks. */
static inline void data_text_name(struct base_buf *text, const struct data_ids *ids, uint32_t index)
{
    char buf[DATA_ID_BUF];
    size_t size = 0;
    const char *name = data_ids_name(ids, index, buf, &size);

    base_buf_puts(text, "\"");
    for (size_t i = 0; i < size; i++) {
        if (name[i] == '"')
            base_buf_puts(text, "\"");
        base_buf_append(text, name + i, 1);
    }
    base_buf_puts(text, "\"");
}

static inline shoal_status data_text_ratings(shoal_env *env, const char *path,
                                             const struct data_ratings *ratings)
{
    struct base_buf text;

    base_buf_init(&text, &base_alloc_libc, (size_t)1 << 30);
    base_buf_puts(&text, ratings->valued ? "user,item,rating\n" : "user,item\n");
    for (uint64_t i = 0; i < ratings->count; i++) {
        const struct num_rating *r = &ratings->rating[i];
        data_text_name(&text, &ratings->user_ids, r->user);
        base_buf_puts(&text, ",");
        data_text_name(&text, &ratings->item_ids, r->item);
        if (ratings->valued)
            base_buf_printf(&text, ",%.9g", (double)r->value);
        base_buf_puts(&text, "\n");
    }
    return data_text_put(env, path, &text);
}

/* Documents as a UCI bag of words. */
static inline shoal_status data_text_uci(shoal_env *env, const char *path,
                                         const struct num_corpus *x)
{
    struct base_buf text;

    base_buf_init(&text, &base_alloc_libc, (size_t)1 << 30);
    base_buf_printf(&text, "%llu\n%u\n%llu\n", (unsigned long long)x->documents, x->words,
                    (unsigned long long)(x->start[x->documents] - x->start[0]));
    for (uint64_t d = 0; d < x->documents; d++)
        for (uint64_t i = x->start[d]; i < x->start[d + 1]; i++)
            base_buf_printf(&text, "%llu %u %u\n", (unsigned long long)d + 1, x->word[i] + 1,
                            x->count != NULL ? x->count[i] : 1);
    return data_text_put(env, path, &text);
}

/* A whole corpus in the binary format. */
static inline shoal_status data_text_pack(shoal_env *env, const char *path,
                                          const struct num_corpus *x, const struct data_ids *names)
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
