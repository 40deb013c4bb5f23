/* test_num.c - numbers are short and say what they are; names from data are text and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "page/page.h"
#include <math.h>
#include <string.h>

static struct base_buf out;

static const char *named(const char *name, size_t chars)
{
    base_buf_clear(&out);
    page_name(&out, name, chars);
    base_buf_puts(&out, "");
    assert_int_equal(base_buf_status(&out), SHOAL_OK);
    return out.data;
}

static void names_cannot_leave_their_place(void **state)
{
    (void)state;
    assert_string_equal(named("<script>", 40), "&lt;script&gt;");
    assert_string_equal(named("a\"b'c&d", 40), "a&quot;b&#39;c&amp;d");
    assert_string_equal(named("a\x01\x7f\xff", 40), "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_string_equal(named("\xe2\x80\xae", 40),
                        "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* turns the text after it */
    assert_string_equal(named(NULL, 40), "");
}

static void long_names_are_cut_between_characters(void **state)
{
    (void)state;
    assert_string_equal(named("abcdef", 6), "abcdef");
    assert_string_equal(named("abcdefg", 6), "abcde\xe2\x80\xa6");
    assert_string_equal(named("\xc3\xa4\xc3\xa4\xc3\xa4", 2), "\xc3\xa4\xe2\x80\xa6");
    assert_int_equal(page_name_chars("\xc3\xa4\xc3\xa4\xc3\xa4", 40), 3);
}

static void a_name_of_so_many_bytes_ends_there(void **state)
{
    char text[2000];

    (void)state;
    memset(text, 'x', sizeof text);
    base_buf_clear(&out);
    page_name_of(&out, "one<two\nthree", 7, 40);
    assert_string_equal(out.data, "one&lt;two");
    base_buf_clear(&out);
    page_name_of(&out, text, sizeof text, 10); /* has no end of its own */
    assert_string_equal(out.data, "xxxxxxxxx\xe2\x80\xa6");
    base_buf_clear(&out);
    page_name_of(&out, "a\xe8\xaa\x9e", 3, 40); /* ends within a character */
    assert_string_equal(out.data, "a\xef\xbf\xbd\xef\xbf\xbd");
}

static void a_long_name_of_long_characters_is_never_split(void **state)
{
    enum { CHARS = 180 };
    char text[3 * CHARS];

    (void)state;
    for (size_t i = 0; i < CHARS; i++)
        memcpy(text + 3 * i, "\xe8\xaa\x9e", 3);
    base_buf_clear(&out);
    page_name_of(&out, text, sizeof text, 200);
    assert_int_equal(out.size, sizeof text);
    assert_memory_equal(out.data, text, sizeof text);
    base_buf_clear(&out);
    page_name_of(&out, text, sizeof text, CHARS - 1);
    assert_int_equal(out.size, 3 * (CHARS - 1));
    assert_memory_equal(out.data, text, 3 * (CHARS - 2));
    assert_string_equal(out.data + 3 * (CHARS - 2), "\xe2\x80\xa6");
}

static void numbers_have_as_many_digits_as_they_need(void **state)
{
    char text[64];

    (void)state;
    assert_string_equal(page_number(0.874, text, sizeof text), "0.87");
    assert_string_equal(page_number(1239.7, text, sizeof text), "1,240");
    assert_string_equal(page_number((double)NAN, text, sizeof text), "\xe2\x80\x93");
    assert_string_equal(page_duration(250, text, sizeof text), "4.2\xc2\xa0min");
    assert_string_equal(page_value(9.497493, 6, text, sizeof text), "9.49749");
    assert_string_equal(page_value(-0.00012345, 3, text, sizeof text), "-0.000123");
    assert_string_equal(page_value(1234567.8, 6, text, sizeof text), "1,234,568");
    assert_string_equal(page_value(-120, 2, text, sizeof text), "-120");
    assert_string_equal(page_value((double)INFINITY, 6, text, sizeof text), "\xe2\x80\x93");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_cannot_leave_their_place),
        cmocka_unit_test(long_names_are_cut_between_characters),
        cmocka_unit_test(a_name_of_so_many_bytes_ends_there),
        cmocka_unit_test(a_long_name_of_long_characters_is_never_split),
        cmocka_unit_test(numbers_have_as_many_digits_as_they_need),
    };

    base_buf_init(&out, &base_alloc_libc, 1 << 16);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    base_buf_fini(&out);
    return failed;
}
