/* corpus_save.c - a corpus as UCI bag of words, the inverse of corpus_lines.c. Tests:
 * tests/unit/data/test_corpus.c. */
#include "base/assert.h"
#include "base/err.h"
#include "data/corpus.h"
#include "data/format.h"

static void put_numbers(struct data_out *out, const uint64_t *n, int count, char between)
{
    char *to = data_out_room(out, (size_t)3 * DATA_FORMAT_MAX);

    for (int i = 0; i < count; i++) {
        to = data_format_u64(to, n[i]);
        *to++ = i + 1 < count ? between : '\n';
    }
    out->used = (size_t)(to - out->buf);
}

static void put_documents(struct data_out *out, const struct num_corpus *x)
{
    uint64_t head[3] = {x->documents, x->words, x->start[x->documents] - x->start[0]};

    put_numbers(out, head, 3, '\n');
    for (uint64_t d = 0; d < x->documents && out->status == SHOAL_OK; d++)
        for (uint64_t i = x->start[d]; i < x->start[d + 1]; i++) {
            uint64_t line[3] = {d + 1, (uint64_t)x->word[i] + 1,
                                x->count != NULL ? x->count[i] : 1};
            put_numbers(out, line, 3, ' ');
        }
}

static void put_names(struct data_out *out, const struct data_ids *names, uint32_t words)
{
    for (uint32_t w = 0; w < words && out->status == SHOAL_OK; w++) {
        char buf[DATA_ID_BUF];
        size_t size = 0;
        const char *name = data_corpus_name(names, w, buf, &size);
        data_out_put(out, name, size);
        data_out_put(out, "\n", 1);
    }
}

static shoal_status save_one(shoal_env *env, const char *path, const struct num_corpus *x,
                             const struct data_ids *names, shoal_err *err)
{
    struct data_out *out = base_malloc(env_alloc(env), sizeof *out);

    if (out == NULL)
        return base_err_nomem(err, "writing a corpus");
    out->err = err;
    out->used = 0;
    out->status = SHOAL_OK;
    shoal_status st = env_create(env, path, &out->file, err);
    if (st == SHOAL_OK) {
        if (names == NULL)
            put_documents(out, x);
        else
            put_names(out, names, x->words);
        st = data_out_finish(out);
    }
    base_free(env_alloc(env), out);
    return st;
}

shoal_status data_corpus_save_uci(shoal_env *env, const char *path, const char *vocab,
                                  const struct num_corpus *x, const struct data_ids *names,
                                  shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    shoal_assert(vocab == NULL || names != NULL);
    if (vocab != NULL)
        st = save_one(env, vocab, x, names, err);
    return st == SHOAL_OK ? save_one(env, path, x, NULL, err) : st;
}
