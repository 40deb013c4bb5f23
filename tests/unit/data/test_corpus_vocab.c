/* Tests of src/data/corpus_vocab.c: names of words, and which words a corpus has. */
#include "unit/data/corpus_world.h"

#include "torture.h"

/* ---- names ---- */

static void names_lie_beside_the_documents_or_where_told(void **state)
{
    shoal_env *env = world_new();
    struct data_corpus c;

    (void)state;
    world_put(env, "dir/docword.x.txt", "1\n2\n1\n1 2 1\n");
    world_put(env, "dir/vocab.x.txt", "red\r\nblue\n\n");
    world_put(env, "names", "caf\xc3\xa9\n17");
    corpus_load_in(env, "dir/docword.x.txt", NULL, &c);
    assert_int_equal(c.names.count, 2);
    assert_name(&c.names, 1, "blue");
    data_corpus_fini(&c);
    corpus_load_in(env, "dir/docword.x.txt", &(struct data_corpus_opts){.vocab = "names"}, &c);
    assert_name(&c.names, 0, "caf\xc3\xa9");
    assert_name(&c.names, 1, "17");
    data_corpus_fini(&c);
    shoal_env_free(env);
}

static void what_is_wrong_in_a_vocabulary_is_told_with_its_place(void **state)
{
    shoal_env *env = world_new();
    struct data_corpus_opts opts = {.vocab = "v"};

    (void)state;
    world_put(env, "a", "1\n2\n1\n1 2 1\n");
    world_put(env, "v", "red\nblue\ngreen\n");
    corpus_expect_bad_in(env, "a", &opts,
                         "cannot read corpus 'a': its header says 2 words, and its vocabulary 'v' "
                         "has 3");
    world_put(env, "v", "red\nred\n");
    corpus_expect_bad_in(env, "a", &opts,
                         "cannot read vocabulary 'v', line 2: expected each word once, 'red' is "
                         "word 1");
    world_put(env, "v", "red\n\nblue\n");
    corpus_expect_bad_in(
        env, "a", &opts,
        "cannot read vocabulary 'v', line 2: expected a word, found an empty line");
    world_put(env, "v", "red\nbl\xe9\n");
    corpus_expect_bad_in(env, "a", &opts,
                         "cannot read vocabulary 'v', line 2, column 3: expected UTF-8, found the "
                         "byte 0xe9");
    world_put(env, "v", "red\nb\tl\n");
    corpus_expect_bad_in(env, "a", &opts,
                         "cannot read vocabulary 'v', line 2, column 2: expected a word, found "
                         "the control character U+0009");
    world_put(env, "v", "red\nb\x7fl\n");
    corpus_expect_bad_in(env, "a", &opts,
                         "cannot read vocabulary 'v', line 2, column 2: expected a word, found "
                         "the control character U+007F");
    world_put(env, "v", "red\nb\xc2\x9bl\n"); /* a C1 control: CSI */
    corpus_expect_bad_in(env, "a", &opts,
                         "cannot read vocabulary 'v', line 2, column 2: expected a word, found "
                         "the control character U+009B");
    world_put(env, "v", "\n");
    corpus_expect_bad_in(env, "a", &opts, "cannot read vocabulary 'v': no words in it");
    shoal_env_free(env);
}

/* ---- choosing words ---- */

static const char five[] = "3\n4\n6\n1 1 9\n1 2 1\n2 1 1\n2 3 2\n3 1 1\n3 4 1\n";

static void rare_and_common_words_are_left_out_and_the_rest_renumbered(void **state)
{
    shoal_env *env = world_new();
    struct data_corpus_opts opts = {.vocab = "v", .min_count = 2};
    struct data_corpus c;

    (void)state;
    world_put(env, "a", five);
    world_put(env, "v", "the\nonce\ntwice\nlast\n");
    corpus_load_in(env, "a", &opts, &c);
    assert_proper(&c);
    assert_int_equal(c.x.words, 2);
    assert_name(&c.names, 1, "twice");
    assert_int_equal(c.left_out, 2);
    data_corpus_fini(&c);
    opts.max_share = 0.9;
    corpus_load_in(env, "a", &opts, &c);
    assert_proper(&c);
    assert_int_equal(c.x.words, 1);
    assert_name(&c.names, 0, "twice");
    assert_int_equal(c.empty, 2);
    assert_int_equal(c.x.documents, 3);
    data_corpus_fini(&c);
    opts.min_count = 100;
    corpus_expect_bad_in(env, "a", &opts,
                         "cannot read corpus 'a': no words in it, all were left out");
    opts = (struct data_corpus_opts){.vocab = "v", .stop_words = "english"};
    corpus_load_in(env, "a", &opts, &c);
    assert_int_equal(c.x.words, 1); /* "the", "once" and "last" say little */
    data_corpus_fini(&c);
    world_put(env, "t", "The last was said twice\n");
    corpus_load_in(env, "t", &opts, &c); /* text, too, has neither others nor these */
    assert_int_equal(c.x.words, 1);
    assert_name(&c.names, 0, "twice");
    assert_int_equal(c.left_out, 4);
    data_corpus_fini(&c);
    shoal_env_free(env);
}

static void the_words_of_a_model_keep_their_numbers(void **state)
{
    shoal_env *env = world_new();
    struct data_ids known;
    struct data_corpus c;
    uint32_t index = 0;

    (void)state;
    world_put(env, "a", five);
    world_put(env, "v", "the\nonce\ntwice\nlast\n");
    world_put(env, "t", "Twice the fun\nnothing here\n");
    data_ids_init(&known, &base_alloc_libc);
    assert_int_equal(data_ids_add(&known, "twice", 5, &index), SHOAL_OK);
    assert_int_equal(data_ids_add(&known, "new", 3, &index), SHOAL_OK);
    assert_int_equal(data_ids_add(&known, "the", 3, &index), SHOAL_OK);
    struct data_corpus_opts opts = {.vocab = "v", .known = &known};
    corpus_load_in(env, "a", &opts, &c);
    assert_proper(&c);
    const uint32_t word[] = {2, 0, 2, 2}, count[] = {9, 2, 1, 1};
    assert_int_equal(c.x.words, 3);
    assert_int_equal(c.entries, 4);
    assert_memory_equal(c.x.word, word, sizeof word);
    assert_memory_equal(c.x.count, count, sizeof count);
    assert_same_ids(&c.names, &known);
    data_corpus_fini(&c);
    opts.vocab = NULL;
    corpus_load_in(env, "t", &opts, &c);
    assert_int_equal(c.x.words, 3);
    assert_int_equal(c.tokens, 2);
    assert_int_equal(c.left_out, 3);
    assert_int_equal(c.empty, 1);
    data_corpus_fini(&c);
    corpus_load_in(env, "a", &(struct data_corpus_opts){.words = 2}, &c);
    assert_int_equal(c.x.words, 2);
    assert_int_equal(c.left_out, 3);
    data_corpus_fini(&c);
    data_ids_fini(&known);
    shoal_env_free(env);
}

static void options_that_contradict_are_refused_in_words(void **state)
{
    shoal_env *env = world_new();
    struct data_corpus c;
    shoal_err err = SHOAL_ERR_INIT;
    struct data_corpus_opts bad[] = {{.words = 2, .min_count = 3},
                                     {.max_share = 1.5},
                                     {.from = 2, .to = 2},
                                     {.stop_words = "english"}};

    (void)state;
    world_put(env, "a", five);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (shoal_err)SHOAL_ERR_INIT;
        assert_int_equal(data_corpus_load(env, "a", &bad[i], &c, &err), SHOAL_E_INVAL);
        assert_true(err.message[0] != '\0');
    }
    shoal_env_free(env);
}

/* ---- words without names ---- */

static void words_without_names_keep_their_numbers_when_others_are_left_out(void **state)
{
    shoal_env *env = world_new();
    struct data_corpus c, again;

    (void)state;
    world_put(env, "a", five);
    corpus_load_in(env, "a", &(struct data_corpus_opts){.min_count = 2}, &c);
    assert_proper(&c);
    assert_int_equal(c.x.words, 2);
    assert_int_equal(c.names.count, 2);
    assert_name(&c.names, 0, "1");
    assert_name(&c.names, 1, "3");
    assert_int_equal(data_text_pack(env, "b", &c.x, &c.names), SHOAL_OK);
    corpus_load_in(env, "b", NULL, &again);
    assert_same_corpus(&c, &again);
    data_corpus_fini(&again);
    corpus_load_in(env, "b", &(struct data_corpus_opts){.max_share = 0.9}, &again);
    assert_int_equal(again.x.words, 1);
    assert_name(&again.names, 0, "3"); /* and again */
    data_corpus_fini(&again);
    data_corpus_fini(&c);
    corpus_load_in(env, "a", &(struct data_corpus_opts){.max_share = 0.999, .min_count = 1}, &c);
    assert_int_equal(c.names.count, 3);
    data_corpus_fini(&c);
    world_put(env, "a", "2 0:1 2:5\n2 1:7 2:1\n");
    corpus_load_in(env, "a", &(struct data_corpus_opts){.min_count = 2}, &c);
    assert_name(&c.names, 0, "2");
    assert_name(&c.names, 1, "3");
    data_corpus_fini(&c);
    corpus_load_in(env, "a", &(struct data_corpus_opts){.max_share = 0.999}, &c);
    data_corpus_fini(&c);
    shoal_env_free(env);
}

/* The same, read block by block. */
static void blocks_have_the_names_that_loading_has(void **state)
{
    shoal_env *env = world_new();
    struct data_corpus_opts opts = {.min_count = 2};
    struct data_corpus_reader *reader = NULL;
    struct data_corpus part;
    struct data_ids names;
    uint32_t words = 0;

    (void)state;
    world_put(env, "a", five);
    data_corpus_init(&part, env_alloc(env));
    assert_int_equal(data_corpus_open(env, "a", &opts, &reader, NULL), SHOAL_OK);
    while (data_corpus_next(reader, &part, NULL) == SHOAL_OK)
        ;
    assert_int_equal(data_corpus_names(reader, &words, &names, NULL), SHOAL_OK);
    assert_int_equal(words, 2);
    assert_int_equal(names.count, 2);
    assert_name(&names, 1, "3");
    data_corpus_close(reader);
    data_ids_fini(&names);
    data_corpus_fini(&part);
    shoal_env_free(env);
}

/* What was trained on chosen words of a file reads that file whole, and one that was chosen from
 * otherwise. */
static void a_model_of_chosen_words_knows_them_by_their_numbers(void **state)
{
    shoal_env *env = world_new();
    struct data_corpus chosen, c;

    (void)state;
    world_put(env, "a", five);
    world_put(env, "l", "2 0:9 2:1\n1 70:1\n");
    corpus_load_in(env, "a", &(struct data_corpus_opts){.min_count = 2}, &chosen);
    struct data_corpus_opts opts = {.known = &chosen.names};
    corpus_load_in(env, "a", &opts, &c);
    assert_same_corpus(&c, &chosen);
    assert_int_equal(c.left_out, 2);
    data_corpus_fini(&c);
    corpus_load_in(env, "l", &opts, &c);
    const uint32_t word[] = {0, 1};
    assert_int_equal(c.entries, 2);
    assert_memory_equal(c.x.word, word, sizeof word);
    assert_int_equal(c.left_out, 1);
    data_corpus_fini(&c);
    assert_int_equal(data_text_pack(env, "b", &chosen.x, &chosen.names), SHOAL_OK);
    corpus_load_in(env, "b", &(struct data_corpus_opts){.words = 4}, &c);
    const uint32_t whole[] = {0, 0, 2, 0};
    assert_int_equal(c.x.words, 4);
    assert_int_equal(c.names.count, 0);
    assert_int_equal(c.entries, 4);
    assert_memory_equal(c.x.word, whole, sizeof whole);
    data_corpus_fini(&c);
    data_corpus_fini(&chosen);
    shoal_env_free(env);
}

static void expect_refused(shoal_env *env, const char *path, const struct data_corpus_opts *opts,
                           const char *message, const char *hint)
{
    struct data_corpus c;
    shoal_err err = SHOAL_ERR_INIT;

    assert_int_equal(data_corpus_load(env, path, opts, &c, &err), SHOAL_E_INVAL);
    assert_string_equal(err.message, message);
    assert_string_equal(err.hint, hint);
}

static void names_and_numbers_are_not_taken_for_each_other(void **state)
{
    static const char *const named = "the words of 'n' have names; those of the model are numbers";
    static const char *const advice =
        "call it docword.X and its vocabulary vocab.X, or give it names by 'shoal corpus build "
        "--vocab VOCABULARY a NEW'";
    shoal_env *env = world_new();
    struct data_ids known, numbers;
    uint32_t index = 0;

    (void)state;
    data_ids_init(&known, &base_alloc_libc);
    data_ids_init(&numbers, &base_alloc_libc);
    assert_int_equal(data_ids_add(&known, "red", 3, &index), SHOAL_OK);
    assert_int_equal(data_ids_add_number(&numbers, 3, &index), SHOAL_OK);
    world_put(env, "a", five);
    world_put(env, "v", "the\nonce\ntwice\nlast\n");
    world_put(env, "n", "red green\n");
    expect_refused(env, "a", &(struct data_corpus_opts){.known = &known},
                   "the words of corpus 'a' are numbers, and those of the model have names",
                   advice);
    expect_refused(env, "a", &(struct data_corpus_opts){.stop_words = "english"},
                   "the words of corpus 'a' are numbers, and stop words have names", advice);
    expect_refused(env, "n", &(struct data_corpus_opts){.known = &numbers}, named, "");
    expect_refused(env, "n", &(struct data_corpus_opts){.words = 3}, named, "");
    expect_refused(env, "a", &(struct data_corpus_opts){.vocab = "v", .words = 4},
                   "the words of 'a' have names; those of the model are numbers", "");
    expect_refused(env, "a", &(struct data_corpus_opts){.vocab = "v", .known = &numbers},
                   "the words of 'a' have names; those of the model are numbers", "");
    data_ids_fini(&known);
    data_ids_fini(&numbers);
    shoal_env_free(env);
}

/* A line is named where it is the right one. */
static void the_line_of_a_header_is_not_guessed(void **state)
{
    static const char *const texts[] = {"1\n2\n1\n1 2 1\n", "1\n\n2\n1\n1 2 1\n"};
    static const char *const where[] = {"a, line 2", ""};

    (void)state;
    for (int i = 0; i < 2; i++) {
        shoal_env *env = world_new();
        struct data_corpus c;
        shoal_err err = SHOAL_ERR_INIT;
        world_put(env, "a", texts[i]);
        world_put(env, "v", "red\n");
        assert_int_equal(
            data_corpus_load(env, "a", &(struct data_corpus_opts){.vocab = "v"}, &c, &err),
            SHOAL_E_FORMAT);
        assert_string_equal(err.where, where[i]);
        shoal_env_free(env);
    }
}

/* A model may say that its one word is called by any number. */
static void a_large_number_of_a_model_costs_no_memory(void **state)
{
    shoal_env *env = world_new();
    struct data_ids known;
    struct data_corpus c;
    shoal_err err = SHOAL_ERR_INIT;
    uint32_t index = 0;

    (void)state;
    data_ids_init(&known, &base_alloc_libc);
    assert_int_equal(data_ids_add_number(&known, 3, &index), SHOAL_OK);
    assert_int_equal(data_ids_add_number(&known, 2147483647, &index), SHOAL_OK);
    struct data_corpus_opts opts = {.known = &known};
    world_put(env, "a", five);
    corpus_load_in(env, "a", &opts, &c); /* which has 4 words */
    assert_proper(&c);
    assert_int_equal(c.x.words, 2);
    assert_int_equal(c.tokens, 2);
    assert_int_equal(c.left_out, 13);
    data_corpus_fini(&c);
    world_put(env, "l", "2 0:9 2:1\n1 70:1\n"); /* which may have any */
    assert_int_equal(data_corpus_load(env, "l", &opts, &c, &err), SHOAL_E_LIMIT);
    assert_string_equal(err.message,
                        "cannot read corpus 'l' for the model: the model's words are numbers up to "
                        "2147483647, and it has 2 of them; expected at most 4194304 and 16 for "
                        "each");
    data_ids_fini(&known);
    shoal_env_free(env);
}

static void a_binary_corpus_gets_names_when_it_has_none(void **state)
{
    shoal_env *env = world_new();
    struct data_corpus_opts opts = {.vocab = "v"};
    struct data_corpus c, named;

    (void)state;
    world_put(env, "a", five);
    world_put(env, "v", "the\nonce\ntwice\nlast\n");
    corpus_load_in(env, "a", NULL, &c);
    assert_int_equal(data_text_pack(env, "b", &c.x, NULL), SHOAL_OK);
    corpus_load_in(env, "b", &opts, &named);
    assert_name(&named.names, 2, "twice");
    assert_int_equal(data_text_pack(env, "n", &named.x, &named.names), SHOAL_OK);
    expect_refused(env, "n", &opts, "corpus 'n' has the names of its words in it", "");
    world_put(env, "v", "the\n");
    corpus_expect_bad_in(env, "b", &opts,
                         "cannot read corpus 'b': its header says 4 words, and its vocabulary 'v' "
                         "has 1");
    data_corpus_fini(&named);
    data_corpus_fini(&c);
    shoal_env_free(env);
}

static shoal_status load_chosen(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *before = env->alloc;
    struct data_corpus chosen = {0}, c = {0};
    struct data_corpus_opts opts = {.min_count = 2, .threads = 1};

    env->alloc = alloc;
    shoal_status st = data_corpus_load(env, "a", &opts, &chosen, NULL);
    opts = (struct data_corpus_opts){.known = &chosen.names, .threads = 1};
    if (st == SHOAL_OK)
        st = data_corpus_load(env, "a", &opts, &c, NULL);
    opts = (struct data_corpus_opts){.words = 4, .threads = 1};
    data_corpus_fini(&c);
    if (st == SHOAL_OK)
        st = data_corpus_load(env, "a", &opts, &c, NULL);
    data_corpus_fini(&c);
    data_corpus_fini(&chosen);
    env->alloc = before;
    return st;
}

static void every_failed_allocation_leaves_a_clean_error(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "a", five);
    torture_run(load_chosen, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lie_beside_the_documents_or_where_told),
        cmocka_unit_test(what_is_wrong_in_a_vocabulary_is_told_with_its_place),
        cmocka_unit_test(rare_and_common_words_are_left_out_and_the_rest_renumbered),
        cmocka_unit_test(the_words_of_a_model_keep_their_numbers),
        cmocka_unit_test(options_that_contradict_are_refused_in_words),
        cmocka_unit_test(words_without_names_keep_their_numbers_when_others_are_left_out),
        cmocka_unit_test(blocks_have_the_names_that_loading_has),
        cmocka_unit_test(a_model_of_chosen_words_knows_them_by_their_numbers),
        cmocka_unit_test(names_and_numbers_are_not_taken_for_each_other),
        cmocka_unit_test(the_line_of_a_header_is_not_guessed),
        cmocka_unit_test(a_large_number_of_a_model_costs_no_memory),
        cmocka_unit_test(a_binary_corpus_gets_names_when_it_has_none),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
