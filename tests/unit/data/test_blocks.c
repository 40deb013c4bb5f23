/* Tests of src/data/blocks.c. */
#include "unit/data/data_world.h"

#include "base/rand.h"
#include "data/blocks.h"
#include "property.h"

/* All blocks, one after the other; each must be whole lines. */
static char *joined(shoal_env *env, size_t block, size_t *out_size)
{
    struct data_blocks blocks;
    char *all = malloc(1 << 20);
    const char *text;
    size_t size = 0, sum = 0;
    shoal_status st;

    assert_int_equal(data_blocks_open(env, "data", "f", block, NULL, &blocks, NULL), SHOAL_OK);
    while ((st = data_blocks_next(&blocks, &text, &size, NULL)) == SHOAL_OK) {
        assert_true(size > 0 && text[size - 1] == '\n');
        memcpy(all + sum, text, size);
        sum += size;
    }
    assert_int_equal(st, SHOAL_END);
    data_blocks_close(&blocks);
    data_blocks_close(&blocks);
    *out_size = sum;
    return all;
}

static void blocks_of_whole_lines_are_the_file_whatever_the_size_of_reads(void **state)
{
    shoal_env *env = world_new();
    struct base_rand r;

    (void)state;
    base_rand_init(&r, 1, "test.blocks");
    for (int round = 0; round < property_count(40); round++) {
        size_t size = (size_t)base_rand_below(&r, 300000), found = 0;
        uint64_t often = 1 + base_rand_below(&r, 100000);
        char *text = malloc(size + 1);
        for (size_t i = 0; i < size; i++)
            text[i] = base_rand_below(&r, often) == 0 ? '\n' : (char)('a' + i % 26);
        assert_int_equal(env_sim_put(env, "f", text, size), SHOAL_OK);
        assert_int_equal(env_sim_set_fault(env, "env.read.short", round % 2 == 0 ? 0.5 : 0),
                         SHOAL_OK);
        char *all = joined(env, 1 + (size_t)base_rand_below(&r, 100000), &found);
        bool ended = size == 0 || text[size - 1] == '\n';
        assert_int_equal(found, ended ? size : size + 1);
        assert_memory_equal(all, text, size);
        free(all);
        free(text);
    }
    shoal_env_free(env);
}

static void a_byte_order_mark_is_skipped(void **state)
{
    shoal_env *env = world_new();
    size_t size = 0;

    (void)state;
    world_put(env, "f", "\xef\xbb\xbfhello");
    char *all = joined(env, 10, &size);
    assert_int_equal(size, 6);
    assert_memory_equal(all, "hello\n", 6);
    free(all);
    world_put(env, "f", "\xef\xbb\xbf");
    all = joined(env, 10, &size);
    assert_int_equal(size, 0);
    free(all);
    shoal_env_free(env);
}

static void what_is_not_text_is_named(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } rows[] = {
        {"BZh91AY", 7, "expected plain text, found a file compressed with bzip2"},
        {"\xfd"
         "7zXZ\0zz",
         8, "expected plain text, found a file compressed with xz"},
        {"\x28\xb5\x2f\xfdzzz", 7, "expected plain text, found a file compressed with zstd"},
        {"\xff\xfe"
         "1\0 \0",
         6, "expected plain text, found UTF-16 text"},
        {"1\0 \0002\0", 6, "expected plain text, found UTF-16 text"},
        {"\0\0\0\0\0\0\0\0", 8, "expected text, found a NUL byte: a binary file?"},
        {"\0", 1, "expected text, found a NUL byte: a binary file?"},
    };
    shoal_env *env = world_new();

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct data_blocks blocks;
        shoal_err err = SHOAL_ERR_INIT;
        const char *text;
        char expected[200];
        size_t size = 0;
        assert_int_equal(env_sim_put(env, "f", rows[i].bytes, rows[i].size), SHOAL_OK);
        assert_int_equal(data_blocks_open(env, "data", "f", 100, NULL, &blocks, NULL), SHOAL_OK);
        assert_int_equal(data_blocks_next(&blocks, &text, &size, &err), SHOAL_E_FORMAT);
        snprintf(expected, sizeof expected, "cannot read data 'f', line 1: %s", rows[i].message);
        assert_string_equal(err.message, expected);
        data_blocks_close(&blocks);
    }
    shoal_env_free(env);
}

static void a_missing_file_is_told_and_leaves_nothing_open(void **state)
{
    shoal_env *env = world_new();
    struct data_blocks blocks;

    (void)state;
    assert_int_equal(data_blocks_open(env, "data", "none", 100, NULL, &blocks, NULL),
                     SHOAL_E_NOTFOUND);
    assert_null(blocks.buf);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_whole_lines_are_the_file_whatever_the_size_of_reads),
        cmocka_unit_test(a_byte_order_mark_is_skipped),
        cmocka_unit_test(what_is_not_text_is_named),
        cmocka_unit_test(a_missing_file_is_told_and_leaves_nothing_open),
    };
    return cmocka_run_group_tests_name("data/blocks", tests, NULL, NULL);
}
