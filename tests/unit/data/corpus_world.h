/* corpus_world.h - corpora from strings, and when two are the same, for tests of src/data/corpus*. */
#ifndef TESTS_CORPUS_WORLD_H
#define TESTS_CORPUS_WORLD_H

#include "unit/data/data_world.h"

#include "data/corpus.h"

static inline void corpus_load_in(shoal_env *env, const char *path,
                                  const struct data_corpus_opts *opts, struct data_corpus *out)
{
    shoal_err err = SHOAL_ERR_INIT;

    if (data_corpus_load(env, path, opts, out, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
}

static inline void corpus_load_text(const char *text, const struct data_corpus_opts *opts,
                                    struct data_corpus *out)
{
    shoal_env *env = world_new();

    world_put(env, "a", text);
    corpus_load_in(env, "a", opts, out);
    shoal_env_free(env);
}

/* The whole message; *out is not touched. */
static inline void corpus_expect_bad_in(shoal_env *env, const char *path,
                                        const struct data_corpus_opts *opts, const char *message)
{
    shoal_err err = SHOAL_ERR_INIT;
    struct data_corpus out, before;

    memset(&out, 0x5a, sizeof out);
    memset(&before, 0x5a, sizeof before);
    assert_int_equal(data_corpus_load(env, path, opts, &out, &err), SHOAL_E_FORMAT);
    assert_string_equal(err.message, message);
    assert_memory_equal(&out, &before, sizeof out);
}

static inline void corpus_expect_bad(const char *text, const struct data_corpus_opts *opts,
                                     const char *message)
{
    shoal_env *env = world_new();

    world_put(env, "a", text);
    corpus_expect_bad_in(env, "a", opts, message);
    shoal_env_free(env);
}

/* What every corpus has, whatever it came from. */
static inline void assert_proper(const struct data_corpus *c)
{
    uint64_t tokens = 0, empty = 0;

    assert_int_equal(c->x.start[0], 0);
    assert_int_equal(c->x.start[c->x.documents], c->entries);
    assert_true(c->names.count == 0 || c->names.count == c->x.words);
    for (uint64_t d = 0; d < c->x.documents; d++) {
        empty += c->x.start[d] == c->x.start[d + 1];
        for (uint64_t i = c->x.start[d]; i < c->x.start[d + 1]; i++) {
            assert_true(c->x.word[i] < c->x.words && c->x.count[i] > 0);
            assert_true(i == c->x.start[d] || c->x.word[i - 1] < c->x.word[i]);
            tokens += c->x.count[i];
        }
    }
    assert_int_equal(c->tokens, tokens);
    assert_int_equal(c->empty, empty);
}

static inline void assert_same_corpus(const struct data_corpus *a, const struct data_corpus *b)
{
    size_t entries = (size_t)a->entries, documents = (size_t)a->x.documents;

    assert_proper(a);
    assert_proper(b);
    assert_int_equal(a->x.documents, b->x.documents);
    assert_int_equal(a->x.words, b->x.words);
    assert_int_equal(a->entries, b->entries);
    assert_int_equal(a->tokens, b->tokens);
    assert_memory_equal(a->x.start, b->x.start, (documents + 1) * sizeof *a->x.start);
    if (entries > 0) {
        assert_memory_equal(a->x.word, b->x.word, entries * sizeof *a->x.word);
        assert_memory_equal(a->x.count, b->x.count, entries * sizeof *a->x.count);
    }
    assert_same_ids(&a->names, &b->names);
}

static inline void assert_name(const struct data_ids *names, uint32_t word, const char *name)
{
    char buf[DATA_ID_BUF];
    size_t size = 0;
    const char *is = data_corpus_name(names, word, buf, &size);

    assert_int_equal(size, strlen(name));
    assert_memory_equal(is, name, size);
}

#endif
