/* Tests of MatrixMarket in src/data/corpus_lines.c. */
#include "unit/data/corpus_world.h"

#define HEAD "%%MatrixMarket matrix coordinate real general\n"

static void assert_same_as_uci(const char *mm, const char *uci)
{
    struct data_corpus a, b;

    corpus_load_text(mm, NULL, &a);
    corpus_load_text(uci, NULL, &b);
    assert_same_corpus(&a, &b);
    data_corpus_fini(&a);
    data_corpus_fini(&b);
}

static void rows_are_documents_and_columns_words(void **state)
{
    (void)state;
    assert_same_as_uci(HEAD "3 5 4\n1 2 2\n1 5 1\n3 1 7\n3 4 1\n",
                       "3\n5\n4\n1 2 2\n1 5 1\n3 1 7\n3 4 1\n");
}

static void whole_numbers_may_be_written_as_real_ones(void **state)
{
    (void)state;
    assert_same_as_uci("%%matrixmarket MATRIX coordinate integer General\r\n"
                       "% made by hand\n\n%\n 2 5  4 \n1 2 2.0\n1 5 1e0\n2 1 +7.\n2 4 0.1e1\n",
                       "2\n5\n4\n1 2 2\n1 5 1\n2 1 7\n2 4 1\n");
}

static void a_zero_is_no_entry(void **state)
{
    (void)state;
    assert_same_as_uci(HEAD "3 5 4\n1 2 0\n1 5 1\n2 2 0.0\n3 4 1\n", "3\n5\n2\n1 5 1\n3 4 1\n");
}

static void what_is_no_corpus_is_refused_in_words(void **state)
{
    static const char *const CASES[][2] = {
        {"%%MatrixMarket matrix array real general\n1 1\n2\n",
         ", line 1: expected '%%MatrixMarket matrix coordinate real general' or integer, found "
         "'%%MatrixMarket matrix array real general'"},
        {"%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 1\n",
         ", line 1: expected '%%MatrixMarket matrix coordinate real general' or integer, found "
         "'%%MatrixMarket matrix coordinate real sy...'"},
        {HEAD "%\n", ", line 3: expected the number of documents"},
        {HEAD "% three\n4 40\n", ", line 3: expected the number of words"},
        {HEAD "4 40 x\n", ", line 2: expected the number of entries"},
        {HEAD "4 0 1\n", ", line 2: expected the number of words, 1 to 2147483647, found 0"},
        {HEAD "4 40 1000000000\n1 1 1\n",
         ", line 2: expected the number of entries that follow, 1, found 1000000000"},
        {HEAD "1 2 1\n1 2 0.53\n", ", line 3, column 5: expected a count: a whole number up to "
                                   "4294967295, found '0.53'"},
        {HEAD "1 2 1\n1 2 -1\n", ", line 3, column 5: expected a count: a whole number up to "
                                 "4294967295, found '-1'"},
        {HEAD "1 2 1\n1 3 1\n", ", line 3, column 3: expected a word of 1 to 2, found '3'"},
        {HEAD "2 2 2\n2 1 1\n1 1 1\n",
         ", line 4, column 1: expected documents in ascending order, found '1'"},
        {HEAD "1000000000 2 2\n",
         ": its header has 1000000000 documents, and there are 2 entries; expected at most 4194304 "
         "and 16 an entry"},
    };
    char expected[400];

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        shoal_env *env = world_new();
        shoal_err err = SHOAL_ERR_INIT;
        struct data_corpus c;
        world_put(env, "a", CASES[i][0]);
        assert_int_not_equal(data_corpus_load(env, "a", NULL, &c, &err), SHOAL_OK);
        snprintf(expected, sizeof expected, "cannot read corpus 'a'%s", CASES[i][1]);
        assert_string_equal(err.message, expected);
        shoal_env_free(env);
    }
}

/* What a table is taken for must not be prose: words of topics would be names of columns. */
static void tables_are_refused_unless_they_are_said_to_be_text(void **state)
{
    static const struct {
        const char *text, *is;
    } CASES[] = {
        {"age,job,income\n39,clerk,1\n50,manager,0\n", "a table, with as many fields in each line"},
        {"\"age\",\"job\"\r\n39,\"clerk\"\r\n\r\n", "a table, with as many fields in each line"},
        {"user;item\n1;2\n", "a table, with as many fields in each line"},
        {"name\tsubmit_s\nred\t2.5\n", "a table, with as many fields in each line"},
        {"age,job,where\n39, State-gov, Peru\n50, Private, Chad\n",
         "a table, with as many fields in each line"},
        {"id,text\n1,\"hello, big world\"\n2,\"bye\"\n",
         "a table, with as many fields in each line"},
        {"\"id\",\"text\"\n\"1\",\"he said \"\"hello, you\"\"\"\n",
         "a table, with as many fields in each line"},
        {"a\tb\n\"1\t2\n", "a table, with as many fields in each line"},
        {"#shoal-trace v1\nname,gpus\na,1\n", "a table, with as many fields in each line"},
        {"alice,3,red\nbob,4,dark green\n", "a table, with as many fields in each line"},
        {"3;1\n4;1\n", "a table, with as many fields in each line"},
        {"name,colour\nalice,red\nbob,green\n", "a table, with as many fields in each line"},
        {"1 1:0.5 3:1\n-1 2:1\n", "rows of LIBSVM text: a label, then INDEX:VALUE"},
        {"+1 3:1 11:1 14:1 \n\n-1 5:1 7:1\n", "rows of LIBSVM text: a label, then INDEX:VALUE"},
    };
    char expected[200];

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        shoal_env *env = world_new();
        shoal_err err = SHOAL_ERR_INIT;
        struct data_corpus_opts text = {.format = DATA_CORPUS_TEXT, .min_length = 1};
        struct data_corpus c;
        world_put(env, "a", CASES[i].text);
        assert_int_equal(data_corpus_load(env, "a", NULL, &c, &err), SHOAL_E_FORMAT);
        snprintf(expected, sizeof expected, "cannot read corpus 'a': it is %s; expected documents",
                 CASES[i].is);
        assert_string_equal(err.message, expected);
        shoal_status st = data_corpus_load(env, "a", &text, &c, &err);
        if (st == SHOAL_OK)
            data_corpus_fini(&c);
        else /* no word has a letter */
            assert_string_equal(err.message, "cannot read corpus 'a': no words in it");
        shoal_env_free(env);
    }
}

static void prose_with_commas_and_numbers_is_text(void **state)
{
    static const char *const CASES[] = {
        "red,green\n",
        "red,green\n\n\n",
        "boats, ships and rafts\nin 1912, it sank\n",
        "\"Boats,\" he said, \"ships\"\nin May, 1912\n",
        "red,green\nblue,yellow\n",
        "boats,ships\n1912 was the year\n",
        "2 boats at 12:30\n1 ship at 4:15\n",
        "name\tvalue\nred\tgreen\n",
        "3\tboats and ships\n4\trafts, too\n5\tnone\n",
        "#boats\nships,rafts\n",
        "boats,ships\nrafts,sails and oars\nropes,knots\n",
    };
    struct data_corpus c;

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        corpus_load_text(CASES[i], NULL, &c);
        data_corpus_fini(&c);
    }
}

/* As many words as are there: what is claimed costs nothing in a job. */
static void words_that_no_document_has_can_be_left_out(void **state)
{
    static const struct data_corpus_opts opts = {.compact = true};
    struct data_corpus c, all;
    char buf[DATA_ID_BUF];
    size_t size = 0;

    (void)state;
    for (int mm = 0; mm < 2; mm++) {
        const char *text =
            mm ? HEAD "2 4000000 3\n1 7 1\n1 3999999 1\n2 9 2\n" : "2 6:1 3999998:1\n1 8:2\n";
        corpus_load_text(text, &opts, &c);
        assert_int_equal(c.x.words, 3);
        assert_true(c.entries == 3 && c.tokens == 4 && c.left_out == 0);
        const uint32_t words[] = {0, 2, 1};
        assert_memory_equal(c.x.word, words, sizeof words);
        assert_memory_equal(data_corpus_name(&c.names, 2, buf, &size), "3999999", 7);
        data_corpus_fini(&c);
    }
    /* few words are worth no names */
    corpus_load_text(HEAD "2 4000 3\n1 7 1\n1 3999 1\n2 9 2\n", &opts, &c);
    corpus_load_text(HEAD "2 4000 3\n1 7 1\n1 3999 1\n2 9 2\n", NULL, &all);
    assert_same_corpus(&c, &all);
    data_corpus_fini(&c);
    data_corpus_fini(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_documents_and_columns_words),
        cmocka_unit_test(whole_numbers_may_be_written_as_real_ones),
        cmocka_unit_test(a_zero_is_no_entry),
        cmocka_unit_test(what_is_no_corpus_is_refused_in_words),
        cmocka_unit_test(tables_are_refused_unless_they_are_said_to_be_text),
        cmocka_unit_test(prose_with_commas_and_numbers_is_text),
        cmocka_unit_test(words_that_no_document_has_can_be_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
