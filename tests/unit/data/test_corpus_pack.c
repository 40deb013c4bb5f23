/* Tests of src/data/corpus_pack.c. What holds for every format is in test_corpus.c. */
#include "unit/data/corpus_world.h"

#include "shoal/gen.h"
#include "store/pack.h"
#include "torture.h"

static void save_sample(shoal_env *env, const char *path)
{
    struct data_corpus c;

    world_put(env, "a", "red green red\n\nblue green\n");
    corpus_load_in(env, "a", NULL, &c);
    assert_int_equal(data_text_pack(env, path, &c.x, &c.names), SHOAL_OK);
    data_corpus_fini(&c);
}

static void words_and_counts_of_every_size_come_back(void **state)
{
    const uint64_t start[] = {0, 0, 4, 7, 7};
    const uint32_t word[] = {0, 1, 300, DATA_CORPUS_WORDS_MAX - 1, 5, 6, 70000};
    const uint32_t count[] = {1, 2, 3, UINT32_MAX, 129, 130, 1u << 20};
    struct num_corpus x = {4, DATA_CORPUS_WORDS_MAX, start, word, count};
    shoal_env *env = world_new();
    struct data_corpus c;

    (void)state;
    assert_int_equal(data_text_pack(env, "b", &x, NULL), SHOAL_OK);
    corpus_load_in(env, "b", NULL, &c);
    assert_proper(&c);
    assert_int_equal(c.x.words, x.words);
    assert_memory_equal(c.x.start, start, sizeof start);
    assert_memory_equal(c.x.word, word, sizeof word);
    assert_memory_equal(c.x.count, count, sizeof count);
    data_corpus_fini(&c);
    x.count = NULL; /* every count is 1; and a range of documents is a corpus */
    x.start += 2;
    x.documents = 2;
    assert_int_equal(data_text_pack(env, "b", &x, NULL), SHOAL_OK);
    corpus_load_in(env, "b", NULL, &c);
    assert_int_equal(c.entries, 3);
    assert_int_equal(c.tokens, 3);
    assert_int_equal(c.x.word[2], 70000);
    data_corpus_fini(&c);
    shoal_env_free(env);
}

static void pieces_that_are_appended_are_one_corpus(void **state)
{
    shoal_env *env = world_new();
    struct data_corpus c, whole;
    struct data_corpus_writer *writer = NULL;

    (void)state;
    save_sample(env, "b");
    corpus_load_in(env, "b", NULL, &whole);
    assert_int_equal(data_corpus_create(env, "c", &writer, NULL), SHOAL_OK);
    for (uint64_t d = 0; d < 3; d++) {
        struct num_corpus one = whole.x;
        one.start += d;
        one.documents = 1;
        assert_int_equal(data_corpus_append(writer, &one, NULL), SHOAL_OK);
    }
    assert_int_equal(data_corpus_commit(writer, whole.x.words, &whole.names, NULL), SHOAL_OK);
    for (uint32_t threads = 1; threads < 4; threads++) {
        corpus_load_in(env, "c", &(struct data_corpus_opts){.threads = threads}, &c);
        assert_same_corpus(&whole, &c);
        data_corpus_fini(&c);
    }
    data_corpus_fini(&whole);
    shoal_env_free(env);
}

/* Some chunks' worth of documents, written in pieces that end anywhere. */
static void where_pieces_end_makes_no_difference_and_ranges_are_found_in_any_chunk(void **state)
{
    const shoal_result *result = NULL;
    shoal_gen_corpus_opts opts;
    struct data_corpus_writer *writer = NULL;
    shoal_env *env = world_new();
    struct data_corpus whole, part;

    (void)state;
    shoal_gen_corpus_opts_init(&opts);
    opts.documents = 5000;
    opts.to.output = "made";
    assert_int_equal(shoal_gen_corpus(env, &opts, NULL, &result, NULL), SHOAL_OK);
    shoal_result_free(result);
    corpus_load_in(env, "made", NULL, &whole);
    assert_true(whole.entries > 3 * (uint64_t)(1 << 17));
    assert_int_equal(data_text_pack(env, "b", &whole.x, NULL), SHOAL_OK);
    assert_int_equal(data_corpus_create(env, "c", &writer, NULL), SHOAL_OK);
    for (uint64_t d = 0, size = 1; d < 5000; d += size, size = size * 2 + 1) {
        struct num_corpus x = whole.x;
        x.start += d;
        x.documents = d + size < 5000 ? size : 5000 - d;
        assert_int_equal(data_corpus_append(writer, &x, NULL), SHOAL_OK);
    }
    assert_true(data_corpus_written(writer) > 0);
    assert_int_equal(data_corpus_commit(writer, whole.x.words, NULL, NULL), SHOAL_OK);
    const struct base_buf *b = env_sim_find(env, "b"), *c = env_sim_find(env, "c");
    assert_int_equal(b->size, c->size);
    assert_memory_equal(b->data, c->data, b->size);
    for (uint32_t i = 0; i < 5; i++) {
        struct data_corpus_opts range = {.from = i * 1100, .to = i * 1100 + 900, .threads = 1 + i};
        range.to = range.to < 5000 ? range.to : 0;
        corpus_load_in(env, "b", &range, &part);
        assert_proper(&part);
        uint64_t at = whole.x.start[range.from];
        assert_int_equal(part.x.documents, (range.to > 0 ? range.to : 5000) - range.from);
        assert_memory_equal(part.x.word, whole.x.word + at, (size_t)part.entries * 4);
        assert_memory_equal(part.x.count, whole.x.count + at, (size_t)part.entries * 4);
        data_corpus_fini(&part);
    }
    data_corpus_fini(&whole);
    shoal_env_free(env);
}

static void a_cut_or_altered_file_is_an_error(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    save_sample(env, "b");
    const struct base_buf *file = env_sim_find(env, "b");
    size_t size = file->size;
    char *bytes = malloc(size);
    memcpy(bytes, file->data, size);
    for (size_t cut = 1; cut < size; cut += 7) {
        struct data_corpus c = {0};
        assert_int_equal(env_sim_put(env, "c", bytes, cut), SHOAL_OK);
        assert_int_equal(data_corpus_load(env, "c", NULL, &c, NULL), SHOAL_E_FORMAT);
        assert_null(c.alloc);
    }
    for (size_t at = 0; at < size; at += 3) {
        struct data_corpus c = {0};
        bytes[at] ^= 0x10;
        assert_int_equal(env_sim_put(env, "c", bytes, size), SHOAL_OK);
        shoal_status st = data_corpus_load(
            env, "c", &(struct data_corpus_opts){.format = DATA_CORPUS_BINARY}, &c, NULL);
        assert_int_equal(st, SHOAL_E_FORMAT);
        assert_null(c.alloc);
        bytes[at] ^= 0x10;
    }
    free(bytes);
    shoal_env_free(env);
}

/* A pack whose checksums are right and whose content is not. */
static void forge(shoal_env *env, const uint64_t head[6], const uint64_t chunk[3],
                  const void *documents, size_t size, const char *names, size_t names_size)
{
    struct store_pack_out *out = NULL;

    assert_int_equal(store_pack_create(env, "f", "corpus", &out, NULL), SHOAL_OK);
    store_pack_section(out, "documents", documents, size);
    store_pack_section(out, "chunks", chunk, 3 * sizeof *chunk);
    store_pack_section(out, "vocabulary", names, names_size);
    store_pack_section(out, "head", head, 6 * sizeof *head);
    assert_int_equal(store_pack_commit(out, NULL), SHOAL_OK);
}

static void expect_forged(shoal_env *env, const char *message)
{
    corpus_expect_bad_in(env, "f", NULL, message);
}

static void a_forged_corpus_is_an_error(void **state)
{
    static const char BAD[][3] = {"c\n", "\033[", "c\x7f", "\xc2\x9b", "c\xff", "c\xc3", "\0c"};
    static const char lies[] = "cannot read corpus 'f': its documents are not as it says";
    shoal_env *env = world_new();
    uint64_t head[6] = {1, 1, 3, 1, 1, 0}, chunk[3] = {0, 34, 1};
    struct {
        uint64_t facts[4];
        char bytes[8];
    } d = {{1, 1, 1, 0}, {1, 4}};
    struct data_corpus c;

    (void)state;
    forge(env, head, chunk, &d, 34, NULL, 0); /* one document with word 2: it is fine */
    corpus_load_in(env, "f", NULL, &c);
    assert_int_equal(c.x.word[0], 2);
    data_corpus_fini(&c);
    d.bytes[1] = 6; /* word 3 of 3 */
    forge(env, head, chunk, &d, 34, NULL, 0);
    expect_forged(env, lies);
    d.bytes[1] = (char)0x84; /* goes on past the end */
    forge(env, head, chunk, &d, 34, NULL, 0);
    expect_forged(env, lies);
    d.bytes[1] = 4;
    d.facts[2] = 7; /* tokens */
    forge(env, head, chunk, &d, 34, NULL, 0);
    expect_forged(env, lies);
    d.facts[2] = 1;
    d.facts[1] = UINT64_MAX; /* entries */
    forge(env, head, chunk, &d, 34, NULL, 0);
    expect_forged(env, lies);
    d.facts[1] = 1;
    chunk[1] = 35;
    forge(env, head, chunk, &d, 34, NULL, 0);
    expect_forged(env, "cannot read corpus 'f': its list of chunks is not as they lie");
    chunk[1] = 33;
    forge(env, head, chunk, &d, 34, NULL, 0);
    expect_forged(env, "cannot read corpus 'f': its list of chunks does not have all documents");
    chunk[1] = 34;
    chunk[2] = 3;
    forge(env, head, chunk, &d, 34, NULL, 0);
    expect_forged(env, "cannot read corpus 'f': its list of chunks is not as they lie");
    chunk[2] = 1;
    head[0] = 2;
    forge(env, head, chunk, &d, 34, NULL, 0);
    expect_forged(env, "cannot read corpus 'f': it is of a version that this Shoal does not know");
    head[0] = 1;
    forge(env, head, chunk, &d, 34, "\1\0a\1\0b", 6);
    expect_forged(env, "cannot read corpus 'f': its vocabulary does not have all words");
    forge(env, head, chunk, &d, 34, "\1\0a\1\0a\1\0c", 9);
    expect_forged(env, "cannot read corpus 'f': its vocabulary has a word twice");
    forge(env, head, chunk, &d, 34, "\1\0a\1\0b\2\0c", 9);
    expect_forged(env, "cannot read corpus 'f': its vocabulary is damaged");
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        char names[] = "\1\0a\1\0b\2\0cc";
        memcpy(names + 8, BAD[i], 2);
        forge(env, head, chunk, &d, 34, names, 10);
        expect_forged(env,
                      "cannot read corpus 'f': its vocabulary has a word that is not UTF-8, or "
                      "a control character");
    }
    forge(env, head, chunk, &d, 34, "\1\0a\1\0b\2\0\xc3\xa9", 10); /* a letter: it is fine */
    corpus_load_in(env, "f", NULL, &c);
    data_corpus_fini(&c);
    shoal_env_free(env);
}

static void a_pack_of_another_kind_is_told_apart(void **state)
{
    shoal_env *env = world_new();
    struct store_pack_out *out = NULL;
    struct data_corpus c;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(store_pack_create(env, "m", "model", &out, NULL), SHOAL_OK);
    assert_int_equal(store_pack_commit(out, NULL), SHOAL_OK);
    assert_int_equal(data_corpus_load(env, "m", NULL, &c, &err), SHOAL_E_FORMAT);
    assert_non_null(strstr(err.message, "corpus 'm'"));
    shoal_env_free(env);
}

static void a_failed_write_leaves_the_old_file(void **state)
{
    shoal_env *env = world_new();
    struct data_corpus c;

    (void)state;
    world_put(env, "a", "red green\n");
    corpus_load_in(env, "a", NULL, &c);
    world_put(env, "out", "old");
    assert_int_equal(env_sim_set_fault(env, "env.write", 1), SHOAL_OK);
    assert_int_equal(data_text_pack(env, "out", &c.x, &c.names), SHOAL_E_IO);
    assert_string_equal(env_sim_find(env, "out")->data, "old");
    data_corpus_fini(&c);
    shoal_env_free(env);
}

static shoal_status save_and_load(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *before = env->alloc;
    const uint64_t start[] = {0, 2, 3};
    const uint32_t word[] = {0, 2, 1}, count[] = {1, 9, 300};
    struct num_corpus x = {2, 3, start, word, count};
    struct data_corpus c = {0};

    env->alloc = alloc;
    shoal_status st = data_text_pack(env, "b", &x, NULL);
    if (st == SHOAL_OK)
        st = data_corpus_load(env, "named", NULL, &c, NULL);
    if (st == SHOAL_OK && c.x.documents != 3)
        st = SHOAL_E_INTERNAL;
    data_corpus_fini(&c);
    env->alloc = before;
    return st;
}

static void every_failed_allocation_leaves_a_clean_error(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    save_sample(env, "named");
    torture_run(save_and_load, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_counts_of_every_size_come_back),
        cmocka_unit_test(pieces_that_are_appended_are_one_corpus),
        cmocka_unit_test(where_pieces_end_makes_no_difference_and_ranges_are_found_in_any_chunk),
        cmocka_unit_test(a_cut_or_altered_file_is_an_error),
        cmocka_unit_test(a_forged_corpus_is_an_error),
        cmocka_unit_test(a_pack_of_another_kind_is_told_apart),
        cmocka_unit_test(a_failed_write_leaves_the_old_file),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
