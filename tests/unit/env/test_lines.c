/* Tests of src/env/lines.c. */
#include "unit/sim/sim_world.h"

#include "base/rand.h"
#include "property.h"
#include "env/table.h"
#include <stdio.h>
#include <stdlib.h>

static void open_text(shoal_env *env, const char *text, size_t size, struct env_lines *lines)
{
    assert_int_equal(env_sim_put(env, "f", text, size), SHOAL_OK);
    assert_int_equal(env_lines_open(env, "trace", "f", lines, NULL), SHOAL_OK);
}

/* Every line of `text` as next gives it, joined by '|'. */
static void joined(const char *text, size_t size, char *out, size_t out_size)
{
    shoal_env *env = world_new();
    struct env_lines lines;
    char *line;
    size_t length;
    shoal_status st;

    open_text(env, text, size, &lines);
    out[0] = '\0';
    while ((st = env_lines_next(&lines, &line, &length, NULL)) == SHOAL_OK) {
        size_t used = strlen(out);
        assert_true(used + length + 2 < out_size);
        memcpy(out + used, line, length);
        memcpy(out + used + length, "|", 2);
    }
    assert_int_equal(st, SHOAL_END);
    env_lines_close(&lines);
    shoal_env_free(env);
}

static void ends_of_lines_are_lf_crlf_or_the_end_of_the_file(void **state)
{
    char out[64];

    (void)state;
    joined("a\nbb\r\n\nc", 8, out, sizeof out);
    assert_string_equal(out, "a|bb||c|");
    joined("a\n", 2, out, sizeof out);
    assert_string_equal(out, "a|");
    joined("a\r", 2, out, sizeof out);
    assert_string_equal(out, "a|");
    joined("", 0, out, sizeof out);
    assert_string_equal(out, "");
}

static void a_byte_order_mark_is_skipped(void **state)
{
    char out[64];

    (void)state;
    joined("\xef\xbb\xbf"
           "a\nb",
           6, out, sizeof out);
    assert_string_equal(out, "a|b|");
}

static void lines_across_block_borders_come_out_whole(void **state)
{
    struct base_rand r;

    (void)state;
    base_rand_init(&r, 3, "test.lines");
    for (int round = 0; round < property_count(5); round++) {
        enum { SIZE = 400000 };
        char *text = malloc(SIZE);
        assert_non_null(text);
        for (size_t i = 0; i < SIZE; i++)
            text[i] = base_rand_below(&r, 3000) == 0 ? '\n' : 'x';
        shoal_env *env = world_new();
        struct env_lines lines;
        assert_int_equal(env_sim_set_fault(env, "env.read.short", round % 2 ? 0.9 : 0), SHOAL_OK);
        open_text(env, text, SIZE, &lines);
        size_t at = 0, length;
        char *line;
        while (env_lines_next(&lines, &line, &length, NULL) == SHOAL_OK) {
            const char *lf = memchr(text + at, '\n', SIZE - at);
            size_t expected = lf != NULL ? (size_t)(lf - text) - at : SIZE - at;
            assert_int_equal(length, expected);
            assert_memory_equal(line, text + at, length);
            at += length + 1;
        }
        assert_true(at >= SIZE);
        env_lines_close(&lines);
        shoal_env_free(env);
        free(text);
    }
}

/* The status and message of the first line of SIZE bytes of 'x' and then `tail`. */
static shoal_status long_line(size_t size, const char *tail, shoal_err *err)
{
    shoal_env *env = world_new();
    struct env_lines lines;
    char *text = malloc(size + strlen(tail)), *line;
    size_t length = 0;

    assert_non_null(text);
    memset(text, 'x', size);
    memcpy(text + size, tail, strlen(tail));
    open_text(env, text, size + strlen(tail), &lines);
    shoal_status st = env_lines_next(&lines, &line, &length, err);
    if (st == SHOAL_OK)
        assert_int_equal(length, size);
    env_lines_close(&lines);
    shoal_env_free(env);
    free(text);
    return st;
}

static void the_longest_line_is_a_mib_and_a_longer_one_an_error(void **state)
{
    static const char *const tails[] = {"\n", "\r\n", "", "\nmore\n"};
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(long_line(ENV_LINE_MAX, tails[i], NULL), SHOAL_OK);
        assert_int_equal(long_line(ENV_LINE_MAX + 1, tails[i], &err), SHOAL_E_FORMAT);
        assert_non_null(strstr(err.message, "line 1: expected a line of at most 1048576 bytes"));
        assert_int_equal(long_line(3 * ENV_LINE_MAX, tails[i], &err), SHOAL_E_FORMAT);
    }
}

static void binary_and_compressed_files_are_named_as_such(void **state)
{
    (void)state;
    world_refuses("name\0x", 6, SIM_FORMAT_AUTO, "line 1: expected text, found a NUL byte", "");
    world_refuses("\xfd"
                  "7zXZ\0\0abc",
                  10, SIM_FORMAT_AUTO, "compressed with xz", "xz -dc FILE | shoal ... -");
    world_refuses("\x1f\x8b"
                  "abcdefg\n",
                  10, SIM_FORMAT_AUTO, "cannot unpack 'a.csv'", "gzip -t");
    world_refuses("BZh91AY&SY", 10, SIM_FORMAT_AUTO, "compressed with bzip2", "bzip2 -dc");
    world_refuses("\x28\xb5\x2f\xfd\x24\x05", 6, SIM_FORMAT_AUTO, "compressed with zstd",
                  "zstd -dc");
    world_refuses("\xff\xfen\0a\0", 6, SIM_FORMAT_AUTO, "UTF-16", "iconv -f UTF-16");
    world_refuses("\xfe\xff\0n\0a", 6, SIM_FORMAT_AUTO, "UTF-16", "iconv -f UTF-16");
    world_refuses("n\0a\0m\0e\0", 8, SIM_FORMAT_AUTO, "UTF-16", "iconv -f UTF-16");
}

static void the_head_passes_over_blank_lines_and_reads_nothing_else(void **state)
{
    shoal_env *env = world_new();
    struct env_lines lines;
    const char *head;
    char *line;
    size_t size;

    (void)state;
    open_text(env, "\n \r\nab\ncd\n", 10, &lines);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(env_lines_head(&lines, &head, &size, NULL), SHOAL_OK);
        assert_int_equal(size, 6);
        assert_memory_equal(head, "ab\ncd\n", 6);
    }
    assert_int_equal(env_lines_next(&lines, &line, &size, NULL), SHOAL_OK);
    assert_int_equal(size, 2);
    assert_memory_equal(line, "ab", 2);
    assert_int_equal(lines.line, 3);
    env_lines_close(&lines);
    shoal_env_free(env);
}

static void a_failing_read_is_an_error_not_an_end(void **state)
{
    shoal_env *env = world_new();
    struct env_lines lines;
    char *line;
    size_t length;

    (void)state;
    open_text(env, "abcdef\nb\n", 9, &lines);
    assert_int_equal(env_sim_set_fault(env, "env.read", 1), SHOAL_OK);
    assert_int_equal(env_lines_next(&lines, &line, &length, NULL), SHOAL_OK);
    assert_int_equal(env_lines_next(&lines, &line, &length, NULL), SHOAL_OK);
    assert_int_equal(env_lines_next(&lines, &line, &length, NULL), SHOAL_E_IO);
    env_lines_close(&lines);
    shoal_env_free(env);
}

static void messages_never_carry_control_characters_or_long_fields(void **state)
{
    char shown[ENV_SHOWN_MAX];
    char text[200];

    (void)state;
    memset(text, 'y', sizeof text);
    text[3] = '\x1b';
    env_lines_show(text, sizeof text, shown);
    assert_int_equal(strlen(shown), 43);
    assert_memory_equal(shown, "yyy?yyy", 7);
    assert_string_equal(env_lines_show("ab", 2, shown), "ab");
}

/* The head shows what the blocks then give, and the hash does not depend on how it was read. */
static void blocks_give_every_byte_once_whatever_the_head_showed(void **state)
{
    enum { SIZE = 300000 };
    char *text = malloc(SIZE), *seen = malloc(SIZE);
    const char *bytes;
    size_t size, used = 0;
    struct env_lines lines;
    uint64_t hash;
    char *line;

    (void)state;
    assert_true(text != NULL && seen != NULL);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = i % 977 == 976 ? '\n' : (char)('a' + i % 23);
    shoal_env *env = world_new();
    open_text(env, text, SIZE, &lines);
    while (env_lines_next(&lines, &line, &size, NULL) == SHOAL_OK)
        ;
    hash = lines.hash;
    env_lines_close(&lines);
    assert_int_equal(env_sim_set_fault(env, "env.read.short", 0.7), SHOAL_OK);
    open_text(env, text, SIZE, &lines);
    assert_int_equal(env_lines_head(&lines, &bytes, &size, NULL), SHOAL_OK);
    assert_true(size >= 4096);
    assert_memory_equal(bytes, text, size);
    while (env_lines_block(&lines, &bytes, &size, NULL) == SHOAL_OK) {
        assert_true(used + size <= SIZE);
        memcpy(seen + used, bytes, size);
        used += size;
    }
    assert_int_equal(used, SIZE);
    assert_memory_equal(seen, text, SIZE);
    assert_true(lines.hash == hash);
    assert_int_equal(env_lines_block(&lines, &bytes, &size, NULL), SHOAL_END);
    env_lines_close(&lines);
    shoal_env_free(env);
    free(text);
    free(seen);
}

/* ---- blocks ---- */

/* All blocks, one after the other; each must be whole lines. */
static char *joined_blocks(shoal_env *env, size_t block, size_t *out_size)
{
    struct env_lines blocks;
    char *all = malloc(1 << 20);
    const char *text;
    size_t size = 0, sum = 0;
    shoal_status st;

    assert_int_equal(env_blocks_open(env, "data", "f", block, NULL, &blocks, NULL), SHOAL_OK);
    while ((st = env_blocks_next(&blocks, &text, &size, NULL)) == SHOAL_OK) {
        assert_true(size > 0 && text[size - 1] == '\n');
        memcpy(all + sum, text, size);
        sum += size;
    }
    assert_int_equal(st, SHOAL_END);
    env_lines_close(&blocks);
    env_lines_close(&blocks);
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
        char *all = joined_blocks(env, 1 + (size_t)base_rand_below(&r, 100000), &found);
        bool ended = size == 0 || text[size - 1] == '\n';
        assert_int_equal(found, ended ? size : size + 1);
        assert_memory_equal(all, text, size);
        free(all);
        free(text);
    }
    shoal_env_free(env);
}

static void a_byte_order_mark_is_no_part_of_a_block(void **state)
{
    shoal_env *env = world_new();
    size_t size = 0;

    (void)state;
    world_put(env, "f", "\xef\xbb\xbfhello");
    char *all = joined_blocks(env, 10, &size);
    assert_int_equal(size, 6);
    assert_memory_equal(all, "hello\n", 6);
    free(all);
    world_put(env, "f", "\xef\xbb\xbf");
    all = joined_blocks(env, 10, &size);
    assert_int_equal(size, 0);
    free(all);
    shoal_env_free(env);
}

static void what_is_not_text_is_named_in_blocks_too(void **state)
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
        struct env_lines blocks;
        shoal_err err = SHOAL_ERR_INIT;
        const char *text;
        char expected[200];
        size_t size = 0;
        assert_int_equal(env_sim_put(env, "f", rows[i].bytes, rows[i].size), SHOAL_OK);
        assert_int_equal(env_blocks_open(env, "data", "f", 100, NULL, &blocks, NULL), SHOAL_OK);
        assert_int_equal(env_blocks_next(&blocks, &text, &size, &err), SHOAL_E_FORMAT);
        snprintf(expected, sizeof expected, "cannot read data 'f', line 1: %s", rows[i].message);
        assert_string_equal(err.message, expected);
        env_lines_close(&blocks);
    }
    shoal_env_free(env);
}

static void a_missing_file_is_told_and_leaves_nothing_open(void **state)
{
    shoal_env *env = world_new();
    struct env_lines blocks;

    (void)state;
    assert_int_equal(env_blocks_open(env, "data", "none", 100, NULL, &blocks, NULL),
                     SHOAL_E_NOTFOUND);
    assert_null(blocks.buf);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_of_lines_are_lf_crlf_or_the_end_of_the_file),
        cmocka_unit_test(a_byte_order_mark_is_skipped),
        cmocka_unit_test(lines_across_block_borders_come_out_whole),
        cmocka_unit_test(the_longest_line_is_a_mib_and_a_longer_one_an_error),
        cmocka_unit_test(binary_and_compressed_files_are_named_as_such),
        cmocka_unit_test(the_head_passes_over_blank_lines_and_reads_nothing_else),
        cmocka_unit_test(a_failing_read_is_an_error_not_an_end),
        cmocka_unit_test(messages_never_carry_control_characters_or_long_fields),
        cmocka_unit_test(blocks_give_every_byte_once_whatever_the_head_showed),
        cmocka_unit_test(blocks_of_whole_lines_are_the_file_whatever_the_size_of_reads),
        cmocka_unit_test(a_byte_order_mark_is_no_part_of_a_block),
        cmocka_unit_test(what_is_not_text_is_named_in_blocks_too),
        cmocka_unit_test(a_missing_file_is_told_and_leaves_nothing_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
