/* Tests of src/num/lda_cut.c: a corpus cut into tiles is the same corpus. */
#include "lda_tiles.h"

static int compare_u64(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static void assert_cut_is_corpus(const struct lda_text *text, uint32_t range)
{
    struct num_lda_cut *cut = NULL;

    assert_int_equal(num_lda_cut_new(&base_alloc_libc, &text->corpus, range, &cut, NULL), SHOAL_OK);
    assert_int_equal(cut->tokens, text->tokens);
    uint32_t *document = owners(cut, NUM_LDA_DOCUMENTS), *word = owners(cut, NUM_LDA_WORDS), n = 0;
    uint64_t *had = lda_take(text->tokens, sizeof *had), *has = lda_take(text->tokens, sizeof *has);
    for (uint32_t d = 0; d < text->corpus.documents; d++)
        for (uint64_t e = text->start[d]; e < text->start[d + 1]; e++)
            for (uint32_t c = 0; c < text->count[e]; c++)
                had[n++] = (uint64_t)d << 32 | text->word[e];
    for (uint32_t t = 0; t < text->tokens; t++)
        has[t] = (uint64_t)document[t] << 32 | word[t];
    qsort(had, n, sizeof *had, compare_u64);
    qsort(has, n, sizeof *has, compare_u64);
    assert_memory_equal(had, has, n * sizeof *had);
    for (uint32_t w = 0; w < cut->words; w++)
        assert_int_equal(cut->slot_word[cut->word_slot[w]], w);
    free(document);
    free(word);
    free(had);
    free(has);
    num_lda_cut_free(cut);
}

static void tokens_keep_their_documents_and_words(void **state)
{
    static const struct {
        uint32_t documents, words, longest, range;
    } shapes[] = {
        {1, 1, 50, 10},          {1, 30, 500, 0},      {40, 1, 30, 64},
        {200, 50, 60, 100},      {200, 3000, 60, 512}, {90, 70, 40, 1},
        {300, 5000, 100, 70000}, {3, 2, 90000, 0},     {3, 2, 90000, 70000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            struct lda_text text = any_text(shapes[i].documents, shapes[i].words, shapes[i].longest,
                                            seed % 2 == 0, seed);
            assert_cut_is_corpus(&text, shapes[i].range);
            lda_text_fini(&text);
        }
}

static void a_range_keeps_the_limit_or_is_one_segment(void **state)
{
    (void)state;
    struct lda_text text = any_text(500, 800, 80, true, 5);
    struct num_lda_cut *cut = NULL;
    assert_int_equal(num_lda_cut_new(&base_alloc_libc, &text.corpus, 200, &cut, NULL), SHOAL_OK);
    for (int side = 0; side < 2; side++)
        for (uint32_t r = 0; r < cut->ranges[side]; r++) {
            struct num_lda_strip strip = num_lda_cut_strip(cut, (enum num_lda_side)side, r);
            uint32_t filled = 0;
            for (uint32_t s = 0; s < strip.segments; s++)
                filled += strip.start[s + 1] > strip.start[s];
            assert_true(strip.tokens <= 200 || filled == 1);
            assert_true(strip.tokens <= cut->strip_max);
        }
    /* full ones: two neighbours could not be one */
    assert_true(cut->ranges[NUM_LDA_DOCUMENTS] <= 2 * (cut->tokens / 200) + 2);
    num_lda_cut_free(cut);
    lda_text_fini(&text);
}

static void frequent_words_come_first(void **state)
{
    (void)state;
    struct lda_text text = any_text(300, 400, 50, true, 6);
    struct num_lda_cut *cut = NULL;
    uint32_t last = UINT32_MAX;
    assert_int_equal(num_lda_cut_new(&base_alloc_libc, &text.corpus, 0, &cut, NULL), SHOAL_OK);
    for (uint32_t r = 0; r < cut->ranges[NUM_LDA_WORDS]; r++) {
        struct num_lda_strip strip = num_lda_cut_strip(cut, NUM_LDA_WORDS, r);
        for (uint32_t s = 0; s < strip.segments; s++) {
            assert_true(strip.start[s + 1] - strip.start[s] <= last);
            last = strip.start[s + 1] - strip.start[s];
        }
    }
    num_lda_cut_free(cut);
    lda_text_fini(&text);
}

static void no_documents_or_no_tokens_is_a_corpus(void **state)
{
    static const uint64_t start[4] = {0};
    static const uint32_t none[1] = {0};
    struct num_lda_cut *cut = NULL;

    (void)state;
    for (uint32_t documents = 0; documents < 4; documents++) {
        struct num_corpus corpus = {documents, documents / 2, start, none, NULL};
        assert_int_equal(num_lda_cut_new(&base_alloc_libc, &corpus, 0, &cut, NULL), SHOAL_OK);
        assert_int_equal(cut->tokens, 0);
        num_lda_cut_free(cut);
    }
}

static void bad_corpora_are_refused(void **state)
{
    uint64_t start[] = {0, 2, 3};
    uint32_t word[] = {0, 1, 2}, huge[] = {1, 1, 0x80000000U};
    struct num_corpus corpus = {2, 2, start, word, NULL};
    struct num_lda_cut *cut = NULL;

    (void)state;
    assert_int_equal(num_lda_cut_new(&base_alloc_libc, &corpus, 0, &cut, NULL), SHOAL_E_INVAL);
    corpus.words = 3;
    corpus.count = huge;
    assert_int_equal(num_lda_cut_new(&base_alloc_libc, &corpus, 0, &cut, NULL), SHOAL_E_LIMIT);
    corpus.count = NULL;
    start[1] = 5;
    start[2] = 3;
    corpus.documents = 2;
    uint32_t long_word[] = {0, 1, 2, 0, 1};
    corpus.word = long_word;
    assert_int_equal(num_lda_cut_new(&base_alloc_libc, &corpus, 0, &cut, NULL), SHOAL_E_INVAL);
    assert_null(cut);
}

static shoal_status cut_something(const struct base_alloc *alloc, void *ctx)
{
    const struct lda_text *text = ctx;
    struct num_lda_cut *cut = NULL;
    shoal_status st = num_lda_cut_new(alloc, &text->corpus, 100, &cut, NULL);

    num_lda_cut_free(cut);
    return st;
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    struct lda_text text = any_text(50, 60, 20, true, 7);
    torture_run(cut_something, &text);
    lda_text_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_keep_their_documents_and_words),
        cmocka_unit_test(a_range_keeps_the_limit_or_is_one_segment),
        cmocka_unit_test(frequent_words_come_first),
        cmocka_unit_test(no_documents_or_no_tokens_is_a_corpus),
        cmocka_unit_test(bad_corpora_are_refused),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
