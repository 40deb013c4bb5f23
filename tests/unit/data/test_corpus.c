/* Tests of src/data/corpus.c, corpus_reader.c and corpus_lines.c. */
#include "unit/data/corpus_world.h"

#include "base/rand.h"
#include "property.h"
#include "torture.h"

/* ---- UCI ---- */

static void a_bag_of_words_becomes_documents(void **state)
{
    struct data_corpus c;
    const uint64_t start[] = {0, 2, 2, 3, 3};
    const uint32_t word[] = {0, 2, 1}, count[] = {5, 1, 4294967295u};

    (void)state;
    corpus_load_text("4\n3\n3\n1 1 5\n1 3 1\n3 2 4294967295\n", NULL, &c);
    assert_proper(&c);
    assert_int_equal(c.x.documents, 4);
    assert_int_equal(c.x.words, 3);
    assert_memory_equal(c.x.start, start, sizeof start);
    assert_memory_equal(c.x.word, word, sizeof word);
    assert_memory_equal(c.x.count, count, sizeof count);
    assert_int_equal(c.empty, 2);
    assert_int_equal(c.tokens, 4294967301u);
    assert_int_equal(c.names.count, 0);
    assert_name(&c.names, 2, "3");
    data_corpus_fini(&c);
}

static void crlf_blanks_blank_lines_a_mark_and_a_missing_last_end_are_fine(void **state)
{
    struct data_corpus a, b;

    (void)state;
    corpus_load_text("2\n3\n2\n1 1 5\n2 3 1\n", NULL, &a);
    corpus_load_text("\xef\xbb\xbf 2 \r\n\n3\r\n2\r\n\r\n 1\t1  5 \r\n\n2 3 1", NULL, &b);
    assert_same_corpus(&a, &b);
    data_corpus_fini(&a);
    data_corpus_fini(&b);
}

static void words_out_of_order_are_sorted_and_repeated_ones_added(void **state)
{
    struct data_corpus a, b;

    (void)state;
    for (uint32_t threads = 1; threads < 5; threads++) {
        corpus_load_text("2\n4\n6\n1 3 5\n1 1 1\n1 3 2\n1 1 1\n2 4 1\n2 2 1\n",
                         &(struct data_corpus_opts){.threads = threads}, &a);
        corpus_load_text("2\n4\n4\n1 1 2\n1 3 7\n2 2 1\n2 4 1\n", NULL, &b);
        assert_same_corpus(&a, &b);
        assert_true(a.sorted >= 2);
        assert_int_equal(a.repeated, 2);
        data_corpus_fini(&a);
        data_corpus_fini(&b);
    }
}

static void a_vocabulary_of_one_word_is_a_vocabulary(void **state)
{
    struct data_corpus c;

    (void)state;
    corpus_load_text("2\n1\n2\n1 1 5\n2 1 1\n", NULL, &c);
    assert_int_equal(c.x.words, 1);
    assert_int_equal(c.tokens, 6);
    data_corpus_fini(&c);
}

static void what_is_wrong_in_a_bag_of_words_is_told_with_its_place(void **state)
{
    (void)state;
    corpus_expect_bad("1\n2\n1\n1 3 1\n", NULL,
                      "cannot read corpus 'a', line 4, column 3: expected a word of 1 to 2, found "
                      "'3'");
    corpus_expect_bad("1\n2\n1\n1 0 1\n", NULL,
                      "cannot read corpus 'a', line 4, column 3: expected a word of 1 to 2, found "
                      "'0'");
    corpus_expect_bad("1\n2\n1\n2 1 1\n", NULL,
                      "cannot read corpus 'a', line 4, column 1: expected a document of 1 to 1, "
                      "found '2'");
    corpus_expect_bad("1\n2\n1\n1 2 0\n", NULL,
                      "cannot read corpus 'a', line 4, column 5: expected a count of 1 to "
                      "4294967295, found '0'");
    corpus_expect_bad("1\n2\n1\n1 2 4294967296\n", NULL,
                      "cannot read corpus 'a', line 4, column 5: expected a count of 1 to "
                      "4294967295, found '4294967296'");
    corpus_expect_bad("1\n2\n1\n1 2 99999999999999999999\n", NULL,
                      "cannot read corpus 'a', line 4, column 5: expected a count of 1 to "
                      "4294967295, found '99999999999999999999'");
    corpus_expect_bad("1\n2\n1\n1 2\n", NULL,
                      "cannot read corpus 'a', line 4, column 1: expected three numbers: document, "
                      "word and count, found '1'");
    corpus_expect_bad("1\n2\n1\n1 2 1.5\n", NULL,
                      "cannot read corpus 'a', line 4, column 1: expected three numbers: document, "
                      "word and count, found '1'");
    corpus_expect_bad("1\n2\n1\n1 2 -1\n", NULL,
                      "cannot read corpus 'a', line 4, column 1: expected three numbers: document, "
                      "word and count, found '1'");
    corpus_expect_bad(
        "1\n2\n2\n1 2 4294967295\n1 2 1\n", NULL,
        "cannot read corpus 'a', line 5, column 1: expected a word at most 4294967295 "
        "times in a document, found '1'");
}

static void documents_out_of_order_are_refused_wherever_pieces_end(void **state)
{
    for (uint32_t threads = 1; threads < 5; threads++) {
        (void)state;
        corpus_expect_bad("3\n2\n4\n1 1 1\n3 1 1\n2 1 1\n3 1 1\n",
                          &(struct data_corpus_opts){.threads = threads},
                          "cannot read corpus 'a', line 6, column 1: expected documents in "
                          "ascending order, found '2'");
    }
}

static void totals_of_the_header_must_be_right(void **state)
{
    (void)state;
    corpus_expect_bad("1\n2\n3\n1 2 1\n", NULL,
                      "cannot read corpus 'a', line 3: expected the number of entries that follow, "
                      "1, found 3");
    corpus_expect_bad("1\n2\n1\n1 1 1\n1 2 1\n", NULL,
                      "cannot read corpus 'a', line 3: expected the number of entries that follow, "
                      "2, found 1");
    corpus_expect_bad("0\n2\n0\n", NULL,
                      "cannot read corpus 'a', line 1: expected the number of documents, 1 to "
                      "1099511627776, found 0");
    corpus_expect_bad("1\n2147483648\n0\n", NULL,
                      "cannot read corpus 'a', line 2: expected the number of words, 1 to "
                      "2147483647, found 2147483648");
    corpus_expect_bad("1\n2\n", &(struct data_corpus_opts){.format = DATA_CORPUS_UCI},
                      "cannot read corpus 'a', line 3: expected the number of entries alone");
}

static void a_header_that_promises_many_empty_documents_gets_them(void **state)
{
    struct data_corpus c;

    (void)state;
    corpus_load_text("3000000\n2\n1\n1500000 2 1\n", NULL, &c);
    assert_int_equal(c.x.documents, 3000000);
    assert_int_equal(c.empty, 2999999);
    assert_int_equal(c.x.start[1499999], 0);
    assert_int_equal(c.x.start[1500000], 1);
    data_corpus_fini(&c);
}

static void expect_limit(const char *text, const char *message)
{
    shoal_env *env = world_new();
    struct data_corpus c;
    shoal_err err = SHOAL_ERR_INIT;

    world_put(env, "a", text);
    assert_int_equal(data_corpus_load(env, "a", NULL, &c, &err), SHOAL_E_LIMIT);
    assert_string_equal(err.message, message);
    shoal_env_free(env);
}

/* Each would take gigabytes or minutes, for a file of 30 bytes. */
static void numbers_that_the_entries_do_not_bear_out_are_refused_at_once(void **state)
{
    (void)state;
    expect_limit("4000000000\n3\n1\n1 1 1\n",
                 "cannot read corpus 'a': its header has 4000000000 documents, and there are 1 "
                 "entries; expected at most 4194304 and 16 an entry");
    expect_limit("4000000000\n3\n100000000\n1 1 1\n",
                 "cannot read corpus 'a': its header has 4000000000 documents, and there are at "
                 "most 4 entries; expected at most 4194304 and 16 an entry");
    expect_limit("1\n2147483647\n1\n1 1 1\n",
                 "cannot read corpus 'a': its header has 2147483647 words, and there are 1 "
                 "entries; expected at most 4194304 and 16 an entry");
    expect_limit("1 2147483646:1\n",
                 "cannot read corpus 'a': its words go up to 2147483646, and there are 1 entries; "
                 "expected at most 4194304 words and 16 an entry");
}

/* Each gap is small enough, all of them are not; the same however many threads cut the text. */
static void gaps_between_documents_count_together(void **state)
{
    struct base_buf text;

    (void)state;
    base_buf_init(&text, &base_alloc_libc, SIZE_MAX / 2);
    base_buf_puts(&text, "4194500\n80\n80\n");
    for (unsigned long long d = 1; d <= 5; d++) /* the fifth after four entries */
        base_buf_printf(&text, "%llu 1 1\n", d * 838900);
    for (int w = 2; w <= 76; w++)
        base_buf_printf(&text, "4194500 %d 1\n", w);
    for (uint32_t threads = 1; threads < 5; threads++) {
        shoal_env *env = world_new();
        struct data_corpus c;
        shoal_err err = SHOAL_ERR_INIT;
        world_put(env, "a", text.data);
        assert_int_equal(
            data_corpus_load(env, "a", &(struct data_corpus_opts){.threads = threads}, &c, &err),
            SHOAL_E_LIMIT);
        assert_string_equal(err.message,
                            "cannot read corpus 'a': 4194499 documents, and only 4 entries in "
                            "them; expected at most 4194304 and 16 an entry");
        shoal_env_free(env);
    }
    base_buf_fini(&text);
}

/* Blank lines may come before a number of the header. */
static void a_header_is_told_with_its_true_line(void **state)
{
    static const struct {
        const char *text, *where;
    } cases[] = {{"\n\n4000000000\n3\n1\n1 1 1\n", "a, line 3"},
                 {"\n1\n\n2147483647\n1\n1 1 1\n", "a, line 4"},
                 {"1\n2147483647\n1\n1 1 1\n", "a, line 2"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal_env *env = world_new();
        struct data_corpus c;
        shoal_err err = SHOAL_ERR_INIT;
        world_put(env, "a", cases[i].text);
        assert_int_equal(data_corpus_load(env, "a", NULL, &c, &err), SHOAL_E_LIMIT);
        assert_string_equal(err.where, cases[i].where);
        shoal_env_free(env);
    }
}

static void documents_that_no_line_names_lie_between_the_others(void **state)
{
    (void)state;
    for (uint64_t step = 1; step < 40; step += 3)
        for (uint32_t threads = 1; threads < 4; threads++) {
            struct base_buf text;
            struct data_corpus c;
            base_buf_init(&text, &base_alloc_libc, SIZE_MAX / 2);
            base_buf_puts(&text, "9000\n2\n200\n");
            for (uint64_t i = 0; i < 200; i++)
                base_buf_printf(&text, "%llu 2 1\n", (unsigned long long)(5 + i * step));
            corpus_load_text(text.data, &(struct data_corpus_opts){.threads = threads}, &c);
            assert_proper(&c);
            assert_int_equal(c.x.documents, 9000);
            for (uint64_t i = 0; i < 200; i++)
                assert_int_equal(c.x.start[4 + i * step], i);
            assert_int_equal(c.empty, 8800);
            data_corpus_fini(&c);
            base_buf_fini(&text);
        }
}

static void bytes_that_are_no_text_are_refused(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    assert_int_equal(env_sim_put(env, "a", "1\n1\n1\n1 \0 1\n", 12), SHOAL_OK);
    corpus_expect_bad_in(env, "a", NULL,
                         "cannot read corpus 'a', line 4: expected text, found a NUL byte: a "
                         "binary file?");
    assert_int_equal(env_sim_put(env, "a", "\x1f\x8b\x08\0\0\0\0", 7), SHOAL_OK);
    shoal_err err = SHOAL_ERR_INIT;
    struct data_corpus c;
    assert_int_equal(data_corpus_load(env, "a", NULL, &c, &err), SHOAL_E_FORMAT);
    assert_non_null(strstr(err.message, "cannot unpack 'a'")); /* gzip, and cut short */
    assert_int_equal(env_sim_put(env, "a", "", 0), SHOAL_OK);
    corpus_expect_bad_in(env, "a", NULL, "cannot read corpus 'a': it is empty");
    shoal_env_free(env);
}

/* ---- LDA-C ---- */

static void lines_of_pairs_are_recognised(void **state)
{
    struct data_corpus a, b;

    (void)state;
    corpus_load_text("2 0:5 2:1\n0\n\n3 1:4 0:1 1:2\n", NULL, &a);
    corpus_load_text("3\n3\n4\n1 1 5\n1 3 1\n3 1 1\n3 2 6\n", NULL, &b);
    assert_same_corpus(&a, &b);
    assert_int_equal(a.repeated, 1);
    data_corpus_fini(&a);
    data_corpus_fini(&b);
}

static void what_is_wrong_in_lines_of_pairs_is_told_with_its_place(void **state)
{
    (void)state;
    corpus_expect_bad("1 0:1\n2 0:1\n", NULL,
                      "cannot read corpus 'a', line 2, column 1: expected how many different words "
                      "follow, found '2'");
    corpus_expect_bad("1 0:1\n1 0:0\n", NULL,
                      "cannot read corpus 'a', line 2, column 5: expected a count of 1 to "
                      "4294967295, found '0'");
    corpus_expect_bad("1 0:1\n1 2147483647:1\n", NULL,
                      "cannot read corpus 'a', line 2, column 3: expected a word of 0 to "
                      "2147483646, found '2147483647:1'");
    corpus_expect_bad("1 0:1\n1 0:1x\n", NULL,
                      "cannot read corpus 'a', line 2, column 3: expected WORD:COUNT, found "
                      "'0:1x'");
    corpus_expect_bad("1 0:1\nx\n", NULL,
                      "cannot read corpus 'a', line 2, column 1: expected how many different words "
                      "follow, found 'x'");
}

/* ---- formats ---- */

static void text_that_begins_like_a_bag_of_words_is_told(void **state)
{
    static const struct {
        const char *text;
        enum data_corpus_format resembles;
    } cases[] = {{"3 0:2 1:1\nword\n", DATA_CORPUS_LDAC},  {"\n 2 0:1 bb:1\n", DATA_CORPUS_LDAC},
                 {"0:1 1:1\nword\n", DATA_CORPUS_LDAC},    {"2\n3 3\n1 1 word\n", DATA_CORPUS_UCI},
                 {"2 3 3\r\n1 1 word\n", DATA_CORPUS_UCI}, {"12:30 at noon\n", DATA_CORPUS_AUTO},
                 {"3 red balloons\n", DATA_CORPUS_AUTO},   {"--\nred\n", DATA_CORPUS_AUTO}};
    struct data_corpus c;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        corpus_load_text(cases[i].text, NULL, &c);
        assert_int_equal(c.resembles, cases[i].resembles);
        data_corpus_fini(&c);
        corpus_load_text(cases[i].text, &(struct data_corpus_opts){.format = DATA_CORPUS_TEXT}, &c);
        assert_int_equal(c.resembles, DATA_CORPUS_AUTO); /* it was said to be text */
        data_corpus_fini(&c);
    }
    shoal_err err = SHOAL_ERR_INIT;
    shoal_env *env = world_new();
    world_put(env, "a", "3 0:2 1:1\n1 5:1 x\n");
    assert_int_equal(data_corpus_load(env, "a", NULL, &c, &err), SHOAL_E_FORMAT);
    assert_string_equal(err.message, "cannot read corpus 'a': no words in it");
    assert_string_equal(err.hint,
                        "it was read as text; with format lda-c it would be told what is wrong");
    shoal_env_free(env);
}

/* ---- properties ---- */

/* Any corpus as UCI text, with documents of any size and words in any order. */
static char *draw_uci(struct base_rand *rand, uint64_t documents, uint32_t words, bool tidy)
{
    struct base_buf lines, all;
    uint64_t entries = 0;

    base_buf_init(&lines, &base_alloc_libc, SIZE_MAX / 2);
    base_buf_init(&all, &base_alloc_libc, SIZE_MAX / 2);
    for (uint64_t d = 1; d <= documents; d++) {
        uint64_t length = base_rand_below(rand, 4) == 0 ? 0 : base_rand_below(rand, 2 * words);
        uint64_t word = 0;
        for (uint64_t i = 0; i < length; i++) {
            word = tidy ? word + 1 + base_rand_below(rand, 3) : 1 + base_rand_below(rand, words);
            if (word > words)
                break;
            base_buf_printf(&lines, "%llu %llu %llu\n", (unsigned long long)d,
                            (unsigned long long)word,
                            (unsigned long long)(1 + base_rand_below(rand, 5)));
            entries++;
        }
    }
    base_buf_printf(&all, "%llu\n%u\n%llu\n", (unsigned long long)documents, words,
                    (unsigned long long)entries);
    base_buf_append(&all, lines.data, lines.size);
    base_buf_fini(&lines);
    return all.data;
}

static void threads_do_not_matter_and_what_is_saved_loads_equal(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 3, "corpus");
    for (int round = 0; round < property_count(60); round++) {
        shoal_env *env = world_new();
        struct data_corpus one, many, back;
        char *text = draw_uci(&rand, 1 + base_rand_below(&rand, 30),
                              1 + (uint32_t)base_rand_below(&rand, 20), round % 3 == 0);
        world_put(env, "a", text);
        corpus_load_in(env, "a", &(struct data_corpus_opts){.threads = 1}, &one);
        corpus_load_in(
            env, "a",
            &(struct data_corpus_opts){.threads = 2 + (uint32_t)base_rand_below(&rand, 8)}, &many);
        assert_same_corpus(&one, &many);
        assert_int_equal(data_text_uci(env, "b", &one.x), SHOAL_OK);
        corpus_load_in(env, "b", NULL, &back);
        assert_same_corpus(&one, &back);
        assert_int_equal(back.sorted + back.repeated, 0);
        data_corpus_fini(&back);
        assert_int_equal(data_text_pack(env, "c", &one.x, &one.names), SHOAL_OK);
        corpus_load_in(env, "c", NULL, &back);
        assert_same_corpus(&one, &back);
        data_corpus_fini(&one);
        data_corpus_fini(&many);
        data_corpus_fini(&back);
        shoal_env_free(env);
        free(text);
    }
}

/* All blocks of a reader, one after the other, as one corpus. */
static void read_blocks(shoal_env *env, const char *path, const struct data_corpus_opts *opts,
                        struct data_corpus *out, uint64_t *blocks)
{
    struct data_corpus_reader *reader = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = data_corpus_open(env, path, opts, &reader, &err);

    data_corpus_init(out, env_alloc(env));
    for (*blocks = 0; st == SHOAL_OK; ++*blocks)
        st = data_corpus_next(reader, out, &err);
    if (st != SHOAL_END)
        fail_msg("%s", err.message);
    assert_int_equal(data_corpus_next(reader, out, &err), SHOAL_END);
    --*blocks;
    assert_int_equal(data_corpus_names(reader, &out->x.words, &out->names, NULL), SHOAL_OK);
    data_corpus_close(reader);
}

static void blocks_give_what_loading_gives_and_a_document_goes_on_across_them(void **state)
{
    struct base_rand rand;
    shoal_env *env = world_new();
    struct data_corpus whole, parts;
    uint64_t blocks = 0;

    (void)state;
    base_rand_init(&rand, 5, "corpus");
    char *text = draw_uci(&rand, 900, 1000, false);
    world_put(env, "a", text);
    struct data_corpus_opts opts = {.threads = 1, .min_count = 850, .max_share = 0.62};
    for (int i = 0; i < 2; i++) {
        corpus_load_in(env, "a", &opts, &whole);
        read_blocks(env, "a", &opts, &parts, &blocks);
        assert_true(blocks > 3);
        assert_same_corpus(&whole, &parts);
        assert_int_equal(whole.left_out, parts.left_out);
        data_corpus_fini(&parts);
        data_corpus_fini(&whole);
        opts = (struct data_corpus_opts){.threads = 1};
    }
    free(text);
    shoal_env_free(env);
}

static void ranges_of_documents_are_those_documents(void **state)
{
    struct base_rand rand;
    shoal_env *env = world_new();
    struct data_corpus whole, part;

    (void)state;
    base_rand_init(&rand, 7, "corpus");
    char *text = draw_uci(&rand, 50, 9, true);
    world_put(env, "a", text);
    corpus_load_in(env, "a", NULL, &whole);
    assert_int_equal(data_text_pack(env, "b", &whole.x, NULL), SHOAL_OK);
    for (int round = 0; round < property_count(40); round++) {
        uint64_t from = base_rand_below(&rand, 49),
                 to = from + 1 + base_rand_below(&rand, 50 - from);
        struct data_corpus_opts opts = {.from = from, .to = to, .threads = 1 + (uint32_t)round % 3};
        corpus_load_in(env, round % 2 == 0 ? "a" : "b", &opts, &part);
        assert_proper(&part);
        to = to < 50 ? to : 50;
        assert_int_equal(part.x.documents, to - from);
        for (uint64_t d = from; d < to; d++) {
            uint64_t at = whole.x.start[d], entries = whole.x.start[d + 1] - at;
            uint64_t there = part.x.start[d - from];
            assert_int_equal(part.x.start[d - from + 1] - there, entries);
            assert_memory_equal(part.x.word + there, whole.x.word + at, entries * 4);
            assert_memory_equal(part.x.count + there, whole.x.count + at, entries * 4);
        }
        data_corpus_fini(&part);
    }
    data_corpus_fini(&whole);
    free(text);
    shoal_env_free(env);
}

static void a_failure_leaves_what_was_read_before(void **state)
{
    shoal_env *env = world_new();
    struct data_corpus_reader *reader = NULL;
    struct data_corpus c;
    struct base_buf text;

    (void)state;
    base_buf_init(&text, &base_alloc_libc, SIZE_MAX / 2);
    base_buf_puts(&text, "500000\n9\n500000\n");
    for (int d = 1; d <= 400000; d++)
        base_buf_printf(&text, "%d 1 1\n", d);
    base_buf_puts(&text, "400001 10 1\n");
    world_put(env, "a", text.data);
    data_corpus_init(&c, env_alloc(env));
    assert_int_equal(
        data_corpus_open(env, "a", &(struct data_corpus_opts){.threads = 1}, &reader, NULL),
        SHOAL_OK);
    shoal_status st = SHOAL_OK;
    uint64_t before = 0;
    while (st == SHOAL_OK) {
        before = c.x.documents;
        st = data_corpus_next(reader, &c, NULL);
    }
    assert_int_equal(st, SHOAL_E_FORMAT);
    assert_true(before > 0);
    assert_int_equal(c.x.documents, before);
    assert_proper(&c);
    data_corpus_close(reader);
    data_corpus_fini(&c);
    base_buf_fini(&text);
    shoal_env_free(env);
}

/* ---- torture ---- */

static shoal_status load(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *before = env->alloc;
    struct data_corpus c = {0};
    struct data_corpus_opts opts = {.threads = 2, .vocab = "v", .min_count = 2};

    env->alloc = alloc;
    shoal_status st = data_corpus_load(env, "a", &opts, &c, NULL);
    if (st == SHOAL_OK && c.x.documents != 3)
        st = SHOAL_E_INTERNAL;
    data_corpus_fini(&c);
    env->alloc = before;
    return st;
}

static shoal_status read_twice(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *before = env->alloc;
    struct data_corpus_reader *reader = NULL;
    struct data_corpus c;
    struct data_ids names = {0};
    struct data_corpus_opts opts = {.threads = 2, .stop_words = "s", .min_count = 2, .vocab = "v"};
    uint32_t words = 0;

    env->alloc = alloc;
    data_corpus_init(&c, alloc);
    shoal_status st = data_corpus_open(env, "a", &opts, &reader, NULL);
    while (st == SHOAL_OK)
        st = data_corpus_next(reader, &c, NULL);
    st = st == SHOAL_END ? data_corpus_names(reader, &words, &names, NULL) : st;
    if (st == SHOAL_OK && words != 1)
        st = SHOAL_E_INTERNAL;
    data_ids_fini(&names);
    data_corpus_close(reader);
    data_corpus_fini(&c);
    env->alloc = before;
    return st;
}

static void every_failed_allocation_leaves_a_clean_error(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "a", "3\n4\n6\n1 1 9\n1 2 1\n2 1 1\n2 3 2\n3 1 1\n3 4 1\n");
    world_put(env, "v", "the\nonce\ntwice\nlast\n");
    world_put(env, "s", "the\n");
    torture_run(load, env);
    torture_run(read_twice, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bag_of_words_becomes_documents),
        cmocka_unit_test(crlf_blanks_blank_lines_a_mark_and_a_missing_last_end_are_fine),
        cmocka_unit_test(words_out_of_order_are_sorted_and_repeated_ones_added),
        cmocka_unit_test(a_vocabulary_of_one_word_is_a_vocabulary),
        cmocka_unit_test(what_is_wrong_in_a_bag_of_words_is_told_with_its_place),
        cmocka_unit_test(documents_out_of_order_are_refused_wherever_pieces_end),
        cmocka_unit_test(totals_of_the_header_must_be_right),
        cmocka_unit_test(a_header_that_promises_many_empty_documents_gets_them),
        cmocka_unit_test(numbers_that_the_entries_do_not_bear_out_are_refused_at_once),
        cmocka_unit_test(gaps_between_documents_count_together),
        cmocka_unit_test(a_header_is_told_with_its_true_line),
        cmocka_unit_test(documents_that_no_line_names_lie_between_the_others),
        cmocka_unit_test(bytes_that_are_no_text_are_refused),
        cmocka_unit_test(lines_of_pairs_are_recognised),
        cmocka_unit_test(what_is_wrong_in_lines_of_pairs_is_told_with_its_place),
        cmocka_unit_test(text_that_begins_like_a_bag_of_words_is_told),
        cmocka_unit_test(threads_do_not_matter_and_what_is_saved_loads_equal),
        cmocka_unit_test(blocks_give_what_loading_gives_and_a_document_goes_on_across_them),
        cmocka_unit_test(ranges_of_documents_are_those_documents),
        cmocka_unit_test(a_failure_leaves_what_was_read_before),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
