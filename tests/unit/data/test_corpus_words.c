/* Tests of src/data/words.c and corpus_text.c. */
#include "unit/data/corpus_world.h"

#include "base/rand.h"
#include "data/words.h"
#include "property.h"
#include "torture.h"

/* The words of a text, with a bar after each. */
static void expect_words(const char *text, const char *expected)
{
    char found[1024];
    size_t size = 0;
    const char *s = text, *end = text + strlen(text);
    struct data_word word;

    for (;;) {
        s = data_words_next(s, end, &word);
        assert_null(word.bad);
        if (word.size == 0)
            break;
        memcpy(found + size, word.text, word.size);
        size += word.size;
        found[size++] = '|';
    }
    found[size] = '\0';
    assert_ptr_equal(s, end);
    assert_string_equal(found, expected);
}

static void text_is_cut_into_words_in_lower_case(void **state)
{
    (void)state;
    expect_words("", "");
    expect_words("The quick, brown FOX.", "the|quick|brown|fox|");
    expect_words("  e-mail/web  ", "e|mail|web|");
    expect_words("mp3 3d 2024 1,000 x86_64", "mp3|3d|x86|");
}

static void apostrophes_belong_to_a_word_when_inside_it(void **state)
{
    (void)state;
    expect_words("don't 'quoted' rock''n roll' 'tis", "don't|quoted|rock|n|roll|tis|");
    expect_words("don\xe2\x80\x99t \xe2\x80\x98quoted\xe2\x80\x99", "don't|quoted|");
}

static void letters_of_latin_greek_and_cyrillic_become_small(void **state)
{
    (void)state;
    expect_words(
        "\xc3\x89T\xc3\x89 \xc3\x96\xc3\x9c\xc3\x9e \xc5\xbb\xc3\xb3\xc5\x82\xc4\x86 "
        "\xc5\xb8 \xc4\xb0",
        "\xc3\xa9t\xc3\xa9|\xc3\xb6\xc3\xbc\xc3\xbe|\xc5\xbc\xc3\xb3\xc5\x82\xc4\x87|\xc3\xbf|"
        "i|");
    expect_words("\xce\xa3\xce\x9f\xce\xa6\xce\x9f\xce\xa3 \xce\x86\xce\x88\xce\x8f",
                 "\xcf\x83\xce\xbf\xcf\x86\xce\xbf\xcf\x83|\xce\xac\xce\xad\xcf\x8e|");
    expect_words("\xcf\x83\xce\xbf\xcf\x82", "\xcf\x83\xce\xbf\xcf\x83|"); /* the final sigma */
    expect_words("\xd0\x9c\xd0\x98\xd0\xa0 \xd0\x81\xd0\x84",
                 "\xd0\xbc\xd0\xb8\xd1\x80|\xd1\x91\xd1\x94|");
}

static void signs_of_other_scripts_are_no_letters(void **state)
{
    (void)state;
    expect_words("a\xe2\x80\x94"
                 "b\xc2\xa0"
                 "c\xe2\x82\xac"
                 "d\xc3\x97"
                 "e",
                 "a|b|c|d|e|");
    expect_words("\xf0\x9f\x98\x80 ok", "ok|");
    expect_words("\xe6\x97\xa5\xe6\x9c\xac\xe3\x80\x82\xe8\xaa\x9e",
                 "\xe6\x97\xa5\xe6\x9c\xac|\xe8\xaa\x9e|");
    expect_words("cafe\xcc\x81 \xcc\x81", "cafe\xcc\x81|"); /* a mark upon a letter */
}

static void words_that_are_too_long_are_left_out(void **state)
{
    char text[700];

    (void)state;
    memset(text, 'a', sizeof text);
    memcpy(text, "x ", 2);
    memcpy(text + 2 + DATA_WORD_SIZE_MAX, " y ", 4);
    struct data_word word;
    const char *end = text + strlen(text), *s = data_words_next(text, end, &word);
    s = data_words_next(s, end, &word);
    assert_int_equal(word.size, DATA_WORD_SIZE_MAX);
    memset(text, 'a', sizeof text);
    memcpy(text, "x ", 2);
    memcpy(text + sizeof text - 3, " z", 3);
    expect_words(text, "x|z|");
}

static void every_code_point_is_read_back_and_nothing_else_is(void **state)
{
    const char *const bad[] = {"\x80",         "\xc0\xaf",         "\xc1\xbf", "\xc3",
                               "\xe0\x9f\xbf", "\xed\xa0\x80",     "\xff",     "\xf0\x8f\xbf\xbf",
                               "\xe2\x82",     "\xf4\x90\x80\x80", "\xc3(",    "\xf5\x80\x80\x80"};
    uint32_t point = 0;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct data_word word;
        const char *end = bad[i] + strlen(bad[i]);
        assert_int_equal(data_words_decode(bad[i], end, &point), 0);
        data_words_next(bad[i], end, &word);
        assert_ptr_equal(word.bad, bad[i]);
        assert_int_equal(word.size, 0);
    }
    const char *good = "\xf4\x8f\xbf\xbf";
    assert_int_equal(data_words_decode(good, good + 4, &point), 4);
    assert_int_equal(point, 0x10FFFF);
}

/* A word made small is its own small form, whatever it was. */
static void making_small_twice_changes_nothing(void **state)
{
    (void)state;
    for (uint32_t p = 0x80; p < 0x3000; p++) {
        char text[4];
        struct data_word once, twice;
        if (p < 0x800) {
            text[0] = (char)(0xC0 | p >> 6);
            text[1] = (char)(0x80 | (p & 0x3F));
        } else {
            text[0] = (char)(0xE0 | p >> 12);
            text[1] = (char)(0x80 | (p >> 6 & 0x3F));
            text[2] = (char)(0x80 | (p & 0x3F));
        }
        data_words_next(text, text + (p < 0x800 ? 2 : 3), &once);
        assert_null(once.bad);
        if (once.size == 0)
            continue;
        data_words_next(once.text, once.text + once.size, &twice);
        assert_int_equal(once.size, twice.size);
        assert_memory_equal(once.text, twice.text, once.size);
    }
}

/* ---- documents ---- */

static void a_line_is_a_document_and_words_are_numbered_as_they_appear(void **state)
{
    struct data_corpus c;
    struct data_corpus_opts opts = {.stop_words = "none", .min_length = 1};

    (void)state;
    for (uint32_t threads = 1; threads < 6; threads++) {
        opts.threads = threads;
        corpus_load_text("b a B\n\n 42 !\r\nc a", &opts, &c);
        const uint64_t start[] = {0, 2, 2, 2, 4};
        const uint32_t word[] = {0, 1, 1, 2}, count[] = {2, 1, 1, 1};
        assert_proper(&c);
        assert_int_equal(c.x.documents, 4);
        assert_int_equal(c.x.words, 3);
        assert_memory_equal(c.x.start, start, sizeof start);
        assert_memory_equal(c.x.word, word, sizeof word);
        assert_memory_equal(c.x.count, count, sizeof count);
        assert_int_equal(c.empty, 2);
        assert_name(&c.names, 2, "c");
        data_corpus_fini(&c);
    }
}

static void stop_words_short_words_and_words_of_no_list_are_left_out(void **state)
{
    shoal_env *env = world_new();
    struct data_corpus c;

    (void)state;
    world_put(env, "a", "The sea is x\nWe sail the Sea\n");
    world_put(env, "stop", "SAIL sea\n");
    world_put(env, "words", "sail\nboat\n");
    corpus_load_in(env, "a", NULL, &c);
    assert_int_equal(c.x.words, 2);
    assert_name(&c.names, 0, "sea");
    assert_name(&c.names, 1, "sail");
    assert_int_equal(c.left_out, 4);
    data_corpus_fini(&c);
    corpus_load_in(env, "a", &(struct data_corpus_opts){.stop_words = "stop", .min_length = 3}, &c);
    assert_int_equal(c.x.words, 1);
    assert_name(&c.names, 0, "the");
    data_corpus_fini(&c);
    corpus_load_in(env, "a", &(struct data_corpus_opts){.vocab = "words"}, &c);
    assert_int_equal(c.x.words, 2);
    assert_int_equal(c.tokens, 1);
    assert_int_equal(c.empty, 1);
    data_corpus_fini(&c);
    world_put(env, "b", "the\nof\n");
    corpus_expect_bad_in(env, "b", NULL,
                         "cannot read corpus 'b': no words in it, all were left out");
    shoal_env_free(env);
}

static void bytes_that_are_not_utf8_are_refused_with_their_place(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    for (uint32_t threads = 1; threads < 4; threads++)
        corpus_expect_bad(
            "good\nalso good\nna\xefve text\nmore\n",
            &(struct data_corpus_opts){.threads = threads},
            "cannot read corpus 'a', line 3, column 3: expected UTF-8, found the byte "
            "0xef");
    world_put(env, "a", "word\n");
    world_put(env, "s", "one\ntw\xff\n");
    corpus_expect_bad_in(env, "a", &(struct data_corpus_opts){.stop_words = "s"},
                         "cannot read stop words 's', line 2, column 3: expected UTF-8, found the "
                         "byte 0xff");
    shoal_env_free(env);
}

static void threads_and_blocks_do_not_matter_for_text(void **state)
{
    struct base_rand rand;
    struct base_buf text;
    struct data_corpus one, many, back;
    shoal_env *env = world_new();

    (void)state;
    base_rand_init(&rand, 11, "text");
    base_buf_init(&text, &base_alloc_libc, SIZE_MAX / 2);
    for (int i = 0; i < 700000; i++) { /* more than a block */
        uint64_t n = base_rand_below(&rand, 3000);
        base_buf_printf(&text, "w%llu%s", (unsigned long long)n,
                        base_rand_below(&rand, 100) == 0 ? "\n" : " ");
    }
    world_put(env, "a", text.data);
    struct data_corpus_opts opts = {.threads = 1, .min_count = 233};
    corpus_load_in(env, "a", &opts, &one);
    opts.threads = 5;
    corpus_load_in(env, "a", &opts, &many);
    assert_same_corpus(&one, &many);
    assert_true(one.left_out > 0 && one.x.words > 10);
    assert_int_equal(data_text_pack(env, "b", &one.x, &one.names), SHOAL_OK);
    corpus_load_in(env, "b", NULL, &back);
    assert_same_corpus(&one, &back);
    data_corpus_fini(&back);
    struct data_corpus_reader *reader = NULL;
    opts.threads = 1;
    assert_int_equal(data_corpus_open(env, "a", &opts, &reader, NULL), SHOAL_OK);
    data_corpus_init(&back, env_alloc(env));
    shoal_status st = SHOAL_OK;
    while (st == SHOAL_OK)
        st = data_corpus_next(reader, &back, NULL);
    assert_int_equal(st, SHOAL_END);
    assert_int_equal(data_corpus_names(reader, &back.x.words, &back.names, NULL), SHOAL_OK);
    assert_same_corpus(&one, &back);
    data_corpus_close(reader);
    data_corpus_fini(&one);
    data_corpus_fini(&many);
    data_corpus_fini(&back);
    base_buf_fini(&text);
    shoal_env_free(env);
}

static shoal_status load_text(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *before = env->alloc;
    struct data_corpus c = {0};
    struct data_corpus_opts opts = {.threads = 2, .stop_words = "s"};

    env->alloc = alloc;
    shoal_status st = data_corpus_load(env, "a", &opts, &c, NULL);
    if (st == SHOAL_OK && (c.x.documents != 3 || c.x.words != 4))
        st = SHOAL_E_INTERNAL;
    data_corpus_fini(&c);
    env->alloc = before;
    return st;
}

static void every_failed_allocation_leaves_a_clean_error(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "a", "red green\nblue the red\nlast line\n");
    world_put(env, "s", "the\nlast\n");
    torture_run(load_text, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_cut_into_words_in_lower_case),
        cmocka_unit_test(apostrophes_belong_to_a_word_when_inside_it),
        cmocka_unit_test(letters_of_latin_greek_and_cyrillic_become_small),
        cmocka_unit_test(signs_of_other_scripts_are_no_letters),
        cmocka_unit_test(words_that_are_too_long_are_left_out),
        cmocka_unit_test(every_code_point_is_read_back_and_nothing_else_is),
        cmocka_unit_test(making_small_twice_changes_nothing),
        cmocka_unit_test(a_line_is_a_document_and_words_are_numbered_as_they_appear),
        cmocka_unit_test(stop_words_short_words_and_words_of_no_list_are_left_out),
        cmocka_unit_test(bytes_that_are_not_utf8_are_refused_with_their_place),
        cmocka_unit_test(threads_and_blocks_do_not_matter_for_text),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
