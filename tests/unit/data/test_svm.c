/* Tests of src/data/svm.c and svm_parse.c. */
#include "unit/data/data_world.h"

#include "base/rand.h"
#include "property.h"
#include "torture.h"
#include <math.h>
#include <unistd.h>

static void load_text(const char *text, const struct data_svm_opts *opts, struct data_svm *out)
{
    shoal_env *env = world_new();
    shoal_err err = SHOAL_ERR_INIT;

    world_put(env, "a.svm", text);
    if (data_svm_load(env, "a.svm", opts, out, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    shoal_env_free(env);
}

/* The whole message; *out is not touched. */
static void expect_bad(const char *text, const struct data_svm_opts *opts, const char *message)
{
    shoal_env *env = world_new();
    shoal_err err = SHOAL_ERR_INIT;
    struct data_svm out, before;

    memset(&out, 0x5a, sizeof out);
    memset(&before, 0x5a, sizeof before);
    world_put(env, "a.svm", text);
    assert_int_equal(data_svm_load(env, "a.svm", opts, &out, &err), SHOAL_E_FORMAT);
    assert_string_equal(err.message, message);
    assert_memory_equal(&out, &before, sizeof out);
    shoal_env_free(env);
}

static void a_file_becomes_rows_and_labels(void **state)
{
    struct data_svm svm;

    (void)state;
    load_text("+1 1:0.5 3:-2e-1\n-1 2:.25\n0.5\n", NULL, &svm);
    assert_int_equal(svm.x.rows, 3);
    assert_int_equal(svm.x.columns, 3);
    assert_int_equal(svm.entries, 3);
    const uint64_t start[] = {0, 2, 3, 3};
    const uint32_t index[] = {0, 2, 1};
    const float value[] = {0.5f, -0.2f, 0.25f};
    const double label[] = {1, -1, 0.5};
    assert_memory_equal(svm.x.start, start, sizeof start);
    assert_memory_equal(svm.x.index, index, sizeof index);
    assert_memory_equal(svm.x.value, value, sizeof value);
    assert_memory_equal(svm.label, label, sizeof label);
    data_svm_fini(&svm);
}

static void comments_blank_lines_crlf_tabs_and_a_missing_last_end_are_fine(void **state)
{
    struct data_svm a, b;

    (void)state;
    load_text("1 1:2 2:3\n-1 4:5\n1\n", NULL, &a);
    load_text("\xef\xbb\xbf# head\r\n\r\n  1\t1:2  2:3 # note 9:9\r\n\n-1 4:5#x\n \t \n1", NULL,
              &b);
    assert_same_svm(&a, &b);
    data_svm_fini(&a);
    data_svm_fini(&b);
}

static void values_that_are_all_one_take_no_memory(void **state)
{
    struct data_svm svm;

    (void)state;
    load_text("1 1:1 2:1.0\n2 3:1e0\n", NULL, &svm);
    assert_null(svm.x.value);
    data_svm_fini(&svm);
    load_text("1 1:1 2:1.0\n2 3:1e0\n", &(struct data_svm_opts){.keep_ones = true}, &svm);
    assert_non_null(svm.x.value);
    assert_true(svm.x.value[0] == 1.0f && svm.x.value[2] == 1.0f);
    data_svm_fini(&svm);
    load_text("1 1:1\n2 3:2\n", NULL, &svm);
    assert_true(svm.x.value[0] == 1.0f && svm.x.value[1] == 2.0f);
    data_svm_fini(&svm);
}

static void rows_out_of_order_are_sorted_and_counted(void **state)
{
    struct data_svm a, b;

    (void)state;
    load_text("1 1:1 5:5 9:9\n1 2:2\n", NULL, &a);
    load_text("1 9:9 1:1 5:5\n1 2:2\n", NULL, &b);
    assert_same_svm(&a, &b);
    assert_int_equal(b.sorted, 1);
    data_svm_fini(&a);
    data_svm_fini(&b);
}

static void indices_count_from_one_or_zero_as_told_or_as_found(void **state)
{
    struct data_svm_opts zero = {.base = DATA_SVM_FROM_ZERO},
                         either = {.base = DATA_SVM_FROM_EITHER};
    struct data_svm a, b;

    (void)state;
    load_text("1 1:2 4:3\n", NULL, &a);
    load_text("1 0:2 3:3\n", &zero, &b);
    assert_same_svm(&a, &b);
    data_svm_fini(&b);
    load_text("1 0:2 3:3\n", &either, &b);
    assert_same_svm(&a, &b);
    data_svm_fini(&b);
    load_text("1 1:2 4:3\n", &either, &b);
    assert_same_svm(&a, &b);
    data_svm_fini(&b);
    data_svm_fini(&a);
}

static void entries_past_the_known_columns_are_left_out_and_counted(void **state)
{
    struct data_svm svm;

    (void)state;
    load_text("1 1:1 3:3 4:4\n1 9:9\n", &(struct data_svm_opts){.columns = 3}, &svm);
    assert_int_equal(svm.x.columns, 3);
    assert_int_equal(svm.entries, 2);
    assert_int_equal(svm.left_out, 2);
    assert_int_equal(svm.x.start[2], 2);
    data_svm_fini(&svm);
    load_text("1 1:1\n", &(struct data_svm_opts){.columns = 30}, &svm);
    assert_int_equal(svm.x.columns, 30);
    data_svm_fini(&svm);
}

static void qid_is_ignored_and_counted(void **state)
{
    struct data_svm svm;

    (void)state;
    load_text("1 qid:3 1:1\n2 1:1\n", NULL, &svm);
    assert_int_equal(svm.qids, 1);
    assert_int_equal(svm.entries, 2);
    data_svm_fini(&svm);
}

static void the_largest_index_and_leading_zeros_are_read(void **state)
{
    struct data_svm svm;

    (void)state;
    load_text("1 00000000000007:1 2147483647:2\n", NULL, &svm);
    assert_int_equal(svm.x.index[0], 6);
    assert_int_equal(svm.x.columns, 2147483647);
    data_svm_fini(&svm);
}

static void mistakes_are_told_with_line_column_and_what_was_expected(void **state)
{
    (void)state;
    expect_bad("", NULL, "cannot read data 'a.svm': no rows in it");
    expect_bad("# only\n\n", NULL, "cannot read data 'a.svm': no rows in it");
    expect_bad("1 1:1\nx 1:1\n", NULL,
               "cannot read data 'a.svm', line 2, column 1: expected a number as label, found 'x'");
    expect_bad("nan 1:1\n", NULL,
               "cannot read data 'a.svm', line 1, column 1: expected a number as label, found "
               "'nan'");
    expect_bad("1,2 1:1\n", NULL,
               "cannot read data 'a.svm', line 1, column 1: expected one label, found '1,2'");
    expect_bad("3:1 4:1\n", NULL,
               "cannot read data 'a.svm', line 1, column 1: expected a number as label, found "
               "'3:1'");
    expect_bad("1 1:1 word\n", NULL,
               "cannot read data 'a.svm', line 1, column 7: expected INDEX:VALUE, found 'word'");
    expect_bad("1 1:1 17 3:1\n", NULL,
               "cannot read data 'a.svm', line 1, column 7: expected INDEX:VALUE, found '17'");
    expect_bad("1 -1:1\n", NULL,
               "cannot read data 'a.svm', line 1, column 3: expected INDEX:VALUE, found '-1:1'");
    expect_bad("1 0:1\n", NULL,
               "cannot read data 'a.svm', line 1, column 3: expected an index from 1, found "
               "'0:1'");
    expect_bad("1 2147483648:1\n", NULL,
               "cannot read data 'a.svm', line 1, column 3: expected an index of at most "
               "2147483647, found '2147483648:1'");
    expect_bad("1 2147483647:1\n", &(struct data_svm_opts){.base = DATA_SVM_FROM_ZERO},
               "cannot read data 'a.svm', line 1, column 3: expected an index of at most "
               "2147483646, found '2147483647:1'");
    expect_bad("1 99999999999999999999999999:1\n", NULL,
               "cannot read data 'a.svm', line 1, column 3: expected an index of at most "
               "2147483647, found '99999999999999999999999999:1'");
    expect_bad("1 3:1 5:2 3:1\n", NULL,
               "cannot read data 'a.svm', line 1, column 11: expected each index once in a row, "
               "found '3:1'");
    expect_bad("1 2:nan\n", NULL,
               "cannot read data 'a.svm', line 1, column 5: expected a finite number after the "
               "colon, found 'nan'");
    expect_bad("1 2:inf\n", NULL,
               "cannot read data 'a.svm', line 1, column 5: expected a finite number after the "
               "colon, found 'inf'");
    expect_bad("1 2:\n", NULL,
               "cannot read data 'a.svm', line 1, column 5: expected a finite number after the "
               "colon, found ''");
    expect_bad("1 2:0x10\n", NULL,
               "cannot read data 'a.svm', line 1, column 5: expected a finite number after the "
               "colon, found '0x10'");
    expect_bad("1 2:1e39\n", NULL,
               "cannot read data 'a.svm', line 1, column 5: expected a value that a float can "
               "hold, found '1e39'");
    expect_bad("1 qid:x 2:1\n", NULL,
               "cannot read data 'a.svm', line 1, column 3: expected INDEX:VALUE, found 'qid:x'");
}

static void what_is_not_text_is_refused_in_words(void **state)
{
    shoal_env *env = world_new();
    shoal_err err = SHOAL_ERR_INIT;
    struct data_svm svm;

    (void)state;
    assert_int_equal(env_sim_put(env, "a", "1 1:1\n1 2\0:1\n", 14), SHOAL_OK);
    assert_int_equal(data_svm_load(env, "a", NULL, &svm, &err), SHOAL_E_FORMAT);
    assert_string_equal(err.message, "cannot read data 'a', line 2: expected text, found a NUL "
                                     "byte: a binary file?");
    assert_int_equal(env_sim_put(env, "a", "\x1f\x8b\x08\x00zzzz", 8), SHOAL_OK);
    assert_int_equal(data_svm_load(env, "a", NULL, &svm, &err), SHOAL_E_FORMAT);
    assert_string_equal(err.message, "cannot unpack 'a': it ends in the middle"); /* gzip */
    shoal_env_free(env);
}

static void options_that_contradict_are_refused(void **state)
{
    shoal_env *env = world_new();
    struct data_svm_opts opts = {.base = DATA_SVM_FROM_EITHER, .columns = 3};
    struct data_svm svm;

    (void)state;
    world_put(env, "a", "1 1:1\n");
    assert_int_equal(data_svm_load(env, "a", &opts, &svm, NULL), SHOAL_E_INVAL);
    shoal_env_free(env);
}

/* ---- properties ---- */

/* A random matrix: rows of 0 to 9 entries, some values 1, some of any size. */
static void draw_svm(struct base_rand *r, uint64_t rows, struct data_svm *out)
{
    size_t cap = (size_t)rows * 9 + 1;
    uint64_t *start = malloc(((size_t)rows + 1) * sizeof *start);
    uint32_t *index = malloc(cap * sizeof *index);
    float *value = malloc(cap * sizeof *value);

    *out = (struct data_svm){.alloc = &base_alloc_libc};
    out->label = malloc((size_t)rows * sizeof *out->label);
    start[0] = 0;
    for (uint64_t i = 0; i < rows; i++) {
        uint64_t at = start[i];
        uint32_t column = 0;
        for (uint64_t k = base_rand_below(r, 10); k > 0; k--) {
            column += 1 + (uint32_t)base_rand_below(r, base_rand_below(r, 3) == 0 ? 100000 : 7);
            uint32_t bits = (uint32_t)base_rand_u64(r);
            memcpy(&value[at], &bits, sizeof bits);
            if (!isfinite(value[at]) || base_rand_below(r, 2) == 0)
                value[at] = (float)base_rand_range(r, -10, 10);
            index[at++] = column - 1;
            if (column > out->x.columns)
                out->x.columns = column;
        }
        start[i + 1] = at;
        out->label[i] = base_rand_below(r, 2) == 0 ? (double)base_rand_below(r, 5) - 2
                                                   : base_rand_normal(r, 0, 1e3);
    }
    out->entries = start[rows];
    out->x.rows = rows;
    out->x.start = start;
    out->x.index = index;
    out->x.value = value;
}

static void what_was_written_is_loaded_equal_for_any_number_of_threads(void **state)
{
    shoal_env *env = world_new();
    struct base_rand r;

    (void)state;
    base_rand_init(&r, 5, "test.svm");
    for (int round = 0; round < property_count(40); round++) {
        struct data_svm a, b;
        enum data_svm_base base = round % 2 == 0 ? DATA_SVM_FROM_ONE : DATA_SVM_FROM_ZERO;
        struct data_svm_opts opts = {
            .base = base, .keep_ones = true, .threads = 1 + (uint32_t)base_rand_below(&r, 5)};
        draw_svm(&r, 1 + base_rand_below(&r, round == 0 ? 200000 : 300), &a);
        assert_int_equal(data_text_svm(env, "s", &a.x, a.label, base), SHOAL_OK);
        assert_int_equal(data_svm_load(env, "s", &opts, &b, NULL), SHOAL_OK);
        assert_same_svm(&a, &b);
        data_svm_fini(&a);
        data_svm_fini(&b);
    }
    shoal_env_free(env);
}

/* The slow obvious parser. */
static void check_against_libc(const char *text, const struct data_svm *svm)
{
    uint64_t row = 0, entry = 0;

    for (const char *s = text; *s != '\0'; row++) {
        char *end;
        assert_true(svm->label[row] == strtod(s, &end));
        assert_int_equal(svm->x.start[row], entry);
        for (s = end; *s == ' ';) {
            assert_int_equal(svm->x.index[entry], (uint32_t)strtoul(s, &end, 10) - 1);
            assert_true(svm->x.value[entry] == (float)strtod(end + 1, &end));
            entry++;
            s = end;
        }
        s += *s == '\n';
    }
    assert_true(row == svm->x.rows && entry == svm->entries);
}

static size_t put_number(struct base_rand *r, char *to)
{
    static const char *const forms[] = {"%.0f", "%.1f", "%.6f", "%.17g", "%.9e", "%+.3f", "%.25f"};
    double scale = base_rand_below(r, 2) == 0 ? 1 : pow(10, base_rand_range(r, -30, 30));

    return (size_t)sprintf(to, forms[base_rand_below(r, 7)], base_rand_normal(r, 0, 1) * scale);
}

static void numbers_in_any_form_are_those_of_the_c_library(void **state)
{
    struct base_rand r;
    struct data_svm svm;
    char text[20000];

    (void)state;
    base_rand_init(&r, 6, "test.svm.forms");
    for (int round = 0; round < property_count(200); round++) {
        char *to = text;
        for (int row = 0; row < 10; row++) {
            to += put_number(&r, to);
            for (int i = 1; i < 10; i++) {
                to += sprintf(to, " %d:", i);
                to += put_number(&r, to);
            }
            *to++ = '\n';
        }
        *to = '\0';
        load_text(text, &(struct data_svm_opts){.keep_ones = true}, &svm);
        check_against_libc(text, &svm);
        data_svm_fini(&svm);
    }
}

/* Many pieces and blocks: the line of a mistake is counted across all of them. */
static void a_mistake_far_into_a_large_file_has_the_right_line(void **state)
{
    shoal_env *env = world_new();
    enum { LINES = 400000 };
    char *text = malloc((size_t)LINES * 16 + 16), *to = text;
    shoal_err err = SHOAL_ERR_INIT;
    struct data_svm svm;

    (void)state;
    for (int i = 1; i <= LINES; i++)
        to += sprintf(to, i == LINES - 3 ? "1 3:1 4;1\n" : i % 5 == 0 ? "\n" : "1 3:1 4:0.5\n");
    assert_int_equal(env_sim_put(env, "big", text, (size_t)(to - text)), SHOAL_OK);
    for (uint32_t threads = 1; threads <= 3; threads++) {
        struct data_svm_opts opts = {.threads = threads};
        assert_int_equal(data_svm_load(env, "big", &opts, &svm, &err), SHOAL_E_FORMAT);
        assert_string_equal(err.message, "cannot read data 'big', line 399997, column 7: expected "
                                         "INDEX:VALUE, found '4;1'");
    }
    free(text);
    shoal_env_free(env);
}

static void a_line_longer_than_a_block_is_read(void **state)
{
    shoal_env *env = world_new();
    enum { ENTRIES = 400000 };
    char *text = malloc((size_t)ENTRIES * 12 + 64), *to = text;
    struct data_svm_opts opts = {.threads = 1};
    struct data_svm svm;

    (void)state;
    to += sprintf(to, "1 1:1\n2");
    for (int i = 1; i <= ENTRIES; i++)
        to += sprintf(to, " %d:2", i);
    to += sprintf(to, "\n3 7:1");
    assert_int_equal(env_sim_put(env, "long", text, (size_t)(to - text)), SHOAL_OK);
    assert_int_equal(data_svm_load(env, "long", &opts, &svm, NULL), SHOAL_OK);
    assert_int_equal(svm.x.rows, 3);
    assert_int_equal(svm.entries, ENTRIES + 2);
    assert_int_equal(svm.x.columns, ENTRIES);
    data_svm_fini(&svm);
    free(text);
    shoal_env_free(env);
}

static void blocks_read_one_by_one_are_the_whole(void **state)
{
    shoal_env *env = world_new();
    struct base_rand r;
    struct data_svm a, part, all;
    struct data_svm_reader *reader = NULL;
    struct data_svm_opts opts = {.threads = 1};
    uint64_t rows = 0, entries = 0;
    int blocks = 0;
    shoal_status st;

    (void)state;
    base_rand_init(&r, 8, "test.svm.blocks");
    draw_svm(&r, 60000, &a);
    assert_int_equal(data_text_svm(env, "s", &a.x, a.label, DATA_SVM_FROM_ONE), SHOAL_OK);
    data_svm_init(&part, env_alloc(env));
    data_svm_init(&all, env_alloc(env));
    assert_int_equal(data_svm_open(env, "s", &opts, &reader, NULL), SHOAL_OK);
    while ((st = data_svm_next(reader, &part, NULL)) == SHOAL_OK) {
        assert_memory_equal(part.label, a.label + rows, (size_t)part.x.rows * sizeof *a.label);
        if (part.entries > 0)
            assert_memory_equal(part.x.index, a.x.index + entries,
                                (size_t)part.entries * sizeof *a.x.index);
        rows += part.x.rows;
        entries += part.entries;
        blocks++;
        data_svm_fini(&part);
        data_svm_init(&part, env_alloc(env));
    }
    assert_int_equal(st, SHOAL_END);
    assert_true(rows == a.x.rows && entries == a.entries && blocks > 1);
    data_svm_close(reader);
    data_svm_fini(&part);
    data_svm_fini(&all);
    data_svm_fini(&a);
    shoal_env_free(env);
}

static void threads_of_the_real_world_agree(void **state)
{
    char dir[] = "/tmp/shoal-svm-XXXXXX", path[64];
    shoal_env *env = NULL;
    struct base_rand r;
    struct data_svm a, b;

    (void)state;
    base_rand_init(&r, 9, "test.svm.real");
    draw_svm(&r, 100000, &a);
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/s", dir);
    assert_int_equal(data_text_svm(env, path, &a.x, a.label, DATA_SVM_FROM_ONE), SHOAL_OK);
    for (uint32_t threads = 1; threads <= 4; threads++) {
        struct data_svm_opts opts = {.threads = threads, .keep_ones = true};
        assert_int_equal(data_svm_load(env, path, &opts, &b, NULL), SHOAL_OK);
        assert_same_svm(&a, &b);
        data_svm_fini(&b);
    }
    unlink(path);
    rmdir(dir);
    data_svm_fini(&a);
    shoal_env_free(env);
}

static void a_file_that_comes_in_small_pieces_or_fails_half_way_is_told_apart(void **state)
{
    shoal_env *env = world_new();
    struct base_rand r;
    struct data_svm a, b;
    struct data_svm_opts opts = {.keep_ones = true};

    (void)state;
    base_rand_init(&r, 4, "test.svm.short");
    draw_svm(&r, 3000, &a);
    assert_int_equal(data_text_svm(env, "s", &a.x, a.label, DATA_SVM_FROM_ONE), SHOAL_OK);
    assert_int_equal(env_sim_set_fault(env, "env.read.short", 0.9), SHOAL_OK);
    assert_int_equal(data_svm_load(env, "s", &opts, &b, NULL), SHOAL_OK);
    assert_same_svm(&a, &b);
    data_svm_fini(&b);
    assert_int_equal(env_sim_set_fault(env, "env.read", 0.5), SHOAL_OK);
    assert_int_equal(data_svm_load(env, "s", &opts, &b, NULL), SHOAL_E_IO);
    data_svm_fini(&a);
    shoal_env_free(env);
}

/* ---- torture ---- */

static shoal_status load(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *before = env->alloc;
    struct data_svm svm = {0};
    struct data_svm_opts opts = {.threads = 2};

    env->alloc = alloc;
    shoal_status st = data_svm_load(env, "a", &opts, &svm, NULL);
    if (st == SHOAL_OK && svm.x.rows != 4)
        st = SHOAL_E_INTERNAL;
    data_svm_fini(&svm);
    env->alloc = before;
    return st;
}

static void every_failed_allocation_leaves_a_clean_error(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "a", "1 1:1\n2 3:1 2:1\n\n3\n1 7:0.5\n");
    torture_run(load, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_becomes_rows_and_labels),
        cmocka_unit_test(comments_blank_lines_crlf_tabs_and_a_missing_last_end_are_fine),
        cmocka_unit_test(values_that_are_all_one_take_no_memory),
        cmocka_unit_test(rows_out_of_order_are_sorted_and_counted),
        cmocka_unit_test(indices_count_from_one_or_zero_as_told_or_as_found),
        cmocka_unit_test(entries_past_the_known_columns_are_left_out_and_counted),
        cmocka_unit_test(qid_is_ignored_and_counted),
        cmocka_unit_test(the_largest_index_and_leading_zeros_are_read),
        cmocka_unit_test(mistakes_are_told_with_line_column_and_what_was_expected),
        cmocka_unit_test(what_is_not_text_is_refused_in_words),
        cmocka_unit_test(options_that_contradict_are_refused),
        cmocka_unit_test(what_was_written_is_loaded_equal_for_any_number_of_threads),
        cmocka_unit_test(numbers_in_any_form_are_those_of_the_c_library),
        cmocka_unit_test(a_mistake_far_into_a_large_file_has_the_right_line),
        cmocka_unit_test(a_line_longer_than_a_block_is_read),
        cmocka_unit_test(blocks_read_one_by_one_are_the_whole),
        cmocka_unit_test(threads_of_the_real_world_agree),
        cmocka_unit_test(a_file_that_comes_in_small_pieces_or_fails_half_way_is_told_apart),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests_name("data/svm", tests, NULL, NULL);
}
