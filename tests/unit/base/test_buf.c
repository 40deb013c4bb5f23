/* Tests of src/base/buf.c. */
#include "torture.h"

#include "base/buf.h"
#include "base/rand.h"
#include "property.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void appends_equal_plain_concatenation(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "test.buf");
    for (int round = 0; round < property_count(50); round++) {
        struct base_buf buf;
        base_buf_init(&buf, &base_alloc_libc, 1 << 20);
        char expected[8192] = "";
        size_t size = 0;
        while (size < 4000) {
            char piece[300];
            size_t length = base_rand_below(&r, sizeof piece - 1);
            for (size_t i = 0; i < length; i++)
                piece[i] = (char)('a' + base_rand_below(&r, 26));
            piece[length] = '\0';
            switch (base_rand_below(&r, 3)) {
            case 0: base_buf_append(&buf, piece, length); break;
            case 1: base_buf_puts(&buf, piece); break;
            default: base_buf_printf(&buf, "%s%s", "", piece); break;
            }
            memcpy(expected + size, piece, length + 1);
            size += length;
        }
        assert_int_equal(base_buf_status(&buf), SHOAL_OK);
        assert_int_equal(buf.size, size);
        assert_string_equal(buf.data, expected);
        base_buf_fini(&buf);
    }
}

static void the_limit_sticks_until_cleared(void **state)
{
    (void)state;
    struct base_buf buf;
    base_buf_init(&buf, &base_alloc_libc, 10);
    base_buf_puts(&buf, "12345");
    base_buf_puts(&buf, "67890");
    assert_int_equal(base_buf_status(&buf), SHOAL_OK);
    base_buf_puts(&buf, "x");
    assert_int_equal(base_buf_status(&buf), SHOAL_E_LIMIT);
    base_buf_puts(&buf, "");
    base_buf_printf(&buf, "%d", 1);
    base_buf_json_string(&buf, "x");
    assert_int_equal(base_buf_status(&buf), SHOAL_E_LIMIT);
    assert_string_equal(buf.data, "1234567890");
    base_buf_clear(&buf);
    assert_int_equal(base_buf_status(&buf), SHOAL_OK);
    assert_string_equal(buf.data, "");
    base_buf_puts(&buf, "again");
    assert_string_equal(buf.data, "again");
    base_buf_fini(&buf);
}

static void an_append_past_the_limit_adds_nothing_at_all(void **state)
{
    (void)state;
    for (size_t max = 0; max < 80; max++) {
        struct base_buf buf;
        base_buf_init(&buf, &base_alloc_libc, max);
        base_buf_printf(&buf, "%040d", 7);
        base_buf_printf(&buf, "%030d", 8);
        size_t expected = max >= 70 ? 70 : max >= 40 ? 40 : 0;
        assert_int_equal(buf.size, expected);
        assert_int_equal(base_buf_status(&buf), max >= 70 ? SHOAL_OK : SHOAL_E_LIMIT);
        assert_true(buf.cap <= max + 1);
        assert_int_equal(strlen(buf.data == NULL ? "" : buf.data), expected);
        base_buf_fini(&buf);
    }
}

static void empty_appends_give_an_empty_string(void **state)
{
    (void)state;
    struct base_buf buf;
    base_buf_init(&buf, &base_alloc_libc, SIZE_MAX);
    base_buf_append(&buf, NULL, 0);
    assert_non_null(buf.data);
    assert_string_equal(buf.data, "");
    base_buf_fini(&buf);
    base_buf_fini(&buf);
}

static void json_strings_golden(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"", "\"\""},
        {"plain", "\"plain\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\n\r\t\b\f\x01\x1f", "\"\\n\\r\\t\\b\\f\\u0001\\u001f\""},
        {"gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x90\x9F",
         "\"gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x90\x9F\""},
        {"a\xFFz", "\"a\xEF\xBF\xBDz\""},
        {"\xC0\xAF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},                 /* overlong */
        {"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""}, /* surrogate */
        {"cut \xE2\x82", "\"cut \xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"\xF4\x90\x80\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct base_buf buf;
        base_buf_init(&buf, &base_alloc_libc, 1000);
        base_buf_json_string(&buf, pairs[i][0]);
        assert_string_equal(buf.data, pairs[i][1]);
        base_buf_fini(&buf);
    }
}

/* Any bytes at all become JSON that a strict reader takes; valid text comes back as it was. */
static void any_bytes_become_json_that_parses(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 2, "test.buf");
    for (int round = 0; round < property_count(5000); round++) {
        char text[40];
        size_t length = base_rand_below(&r, sizeof text - 1);
        bool ascii = base_rand_below(&r, 2) == 0;
        for (size_t i = 0; i < length; i++)
            text[i] = (char)(1 + base_rand_below(&r, ascii ? 127 : 255));
        text[length] = '\0';
        struct base_buf buf;
        base_buf_init(&buf, &base_alloc_libc, 1000);
        base_buf_json_string(&buf, text);
        json_t *value = json_loads(buf.data, JSON_DECODE_ANY, NULL);
        assert_non_null(value);
        if (ascii)
            assert_string_equal(json_string_value(value), text);
        json_decref(value);
        base_buf_fini(&buf);
    }
}

static void words_for_a_shell_are_read_back_as_they_are(void **state)
{
    static const char *const words[][2] = {{"a.svm", "a.svm"}, {"", "''"},
                                           {"a b", "'a b'"},   {"it's $(x)", "'it'\\''s $(x)'"},
                                           {"'", "''\\'''"},   {"--set=1%", "--set=1%"},
                                           {"\xFF", "'\xFF'"}};
    struct base_buf buf;

    (void)state;
    base_buf_init(&buf, &base_alloc_libc, 1000);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        base_buf_clear(&buf);
        base_buf_shell(&buf, words[i][0]);
        assert_string_equal(buf.data, words[i][1]);
    }
    base_buf_fini(&buf);
}

static void html_is_escaped_and_has_no_controls(void **state)
{
    (void)state;
    struct base_buf buf;
    base_buf_init(&buf, &base_alloc_libc, 1000);
    base_buf_html(&buf, "<a href=\"x\">R&D's\x01</a>\n\xFF");
    assert_string_equal(buf.data,
                        "&lt;a href=&quot;x&quot;&gt;R&amp;D&#39;s\xEF\xBF\xBD&lt;/a&gt;\n"
                        "\xEF\xBF\xBD");
    base_buf_fini(&buf);
}

static shoal_status write_much(const struct base_alloc *alloc, void *ctx)
{
    (void)ctx;
    struct base_buf buf;
    base_buf_init(&buf, alloc, 1 << 20);
    for (int i = 0; i < 300; i++) {
        base_buf_puts(&buf, "some text ");
        base_buf_printf(&buf, "%d %s", i, "and formatted text");
        base_buf_json_string(&buf, "a\tb");
    }
    shoal_status st = base_buf_status(&buf);
    size_t size = buf.size;
    base_buf_puts(&buf, "no");
    if (st != SHOAL_OK && buf.size != size)
        st = SHOAL_E_INTERNAL; /* the first failure sticks */
    if (buf.data != NULL && strlen(buf.data) != buf.size)
        st = SHOAL_E_INTERNAL;
    base_buf_fini(&buf);
    return st;
}

static void every_failed_allocation_is_clean(void **state)
{
    (void)state;
    torture_run(write_much, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_equal_plain_concatenation),
        cmocka_unit_test(the_limit_sticks_until_cleared),
        cmocka_unit_test(an_append_past_the_limit_adds_nothing_at_all),
        cmocka_unit_test(empty_appends_give_an_empty_string),
        cmocka_unit_test(json_strings_golden),
        cmocka_unit_test(any_bytes_become_json_that_parses),
        cmocka_unit_test(words_for_a_shell_are_read_back_as_they_are),
        cmocka_unit_test(html_is_escaped_and_has_no_controls),
        cmocka_unit_test(every_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
