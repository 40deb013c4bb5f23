/* test_columns.c - tables: widths follow content in any script, nothing is cut in a pipe, cuts show
 * on a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "page/columns.h"
#include <stdlib.h>
#include <string.h>

struct screen {
    struct page_screen on;
    struct base_buf text;
};

static bool put(void *ctx, const char *text, size_t size)
{
    struct screen *page = ctx;

    base_buf_append(&page->text, text, size);
    return base_buf_status(&page->text) == SHOAL_OK;
}

static int open_page(void **state)
{
    struct screen *page = calloc(1, sizeof *page);

    page->on =
        (struct page_screen){.alloc = &base_alloc_libc, .put = put, .ctx = page, .width = 80};
    base_buf_init(&page->text, &base_alloc_libc, 1 << 20);
    *state = page;
    return 0;
}

static int close_page(void **state)
{
    struct screen *page = *state;

    base_buf_fini(&page->text);
    free(page);
    return 0;
}

static const char *printed(struct screen *page, struct page_columns *table)
{
    assert_int_equal(page_columns_put(table), SHOAL_OK);
    page_columns_fini(table);
    return page->text.data;
}

static void cells(struct page_columns *table, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        page_columns_cell(table, PAGE_PLAIN, "%s", texts[i]);
}

static void columns_line_up_and_lines_have_no_space_at_the_end(void **state)
{
    struct screen *page = *state;
    struct page_columns table;
    const char *const texts[] = {"name", "jct", "note", "las", "12", "x", "tiresias", "3", ""};

    page_columns_init(&table, &page->on, "lrl");
    cells(&table, texts, 9);
    assert_string_equal(printed(page, &table), "name      jct  note\n"
                                               "las        12  x\n"
                                               "tiresias    3\n");
}

static void width_counts_columns_not_bytes(void **state)
{
    (void)state;
    assert_int_equal(page_columns_width("abc"), 3);
    assert_int_equal(page_columns_width("\xc3\xa9t\xc3\xa9"), 3);        /* accents */
    assert_int_equal(page_columns_width("e\xcc\x81"), 1);                /* a combining accent */
    assert_int_equal(page_columns_width("\xe6\x97\xa5\xe6\x9c\xac"), 4); /* two wide characters */
    assert_int_equal(page_columns_width("\xff\xfe"), 2);                 /* not UTF-8 */
    assert_int_equal(page_columns_width("\xe6\x97"), 2);                 /* cut off */
    assert_int_equal(page_columns_width(""), 0);
}

static void a_start_that_fits_never_splits_a_character(void **state)
{
    const char *text = "a\xe6\x97\xa5\xe6\x9c\xac";
    size_t columns;

    (void)state;
    assert_int_equal(page_columns_fit(text, 0, &columns), 0);
    assert_int_equal(page_columns_fit(text, 2, &columns), 1);
    assert_int_equal(columns, 1);
    assert_int_equal(page_columns_fit(text, 3, &columns), 4);
    assert_int_equal(columns, 3);
    assert_int_equal(page_columns_fit(text, 99, &columns), 7);
    assert_int_equal(columns, 5);
}

static void fill_long(struct page_columns *table)
{
    const char *const texts[] = {"a-name-that-is-much-longer-than-the-page", "1"};

    cells(table, texts, 2);
}

static void nothing_is_cut_in_a_pipe(void **state)
{
    struct screen *page = *state;
    struct page_columns table;

    page->on.width = 20;
    page_columns_init(&table, &page->on, "xr");
    fill_long(&table);
    assert_string_equal(printed(page, &table), "a-name-that-is-much-longer-than-the-page  1\n");
}

static void a_cut_on_a_terminal_shows_an_ellipsis_and_fits(void **state)
{
    struct screen *page = *state;
    struct page_columns table;

    page->on.width = 20;
    page->on.terminal = true;
    page_columns_init(&table, &page->on, "xr");
    fill_long(&table);
    assert_string_equal(printed(page, &table), "a-name-that-is-m\xe2\x80\xa6  1\n");
}

static void an_ascii_cut_has_three_points(void **state)
{
    struct screen *page = *state;
    struct page_columns table;

    page->on.width = 20;
    page->on.terminal = page->on.ascii = true;
    page_columns_init(&table, &page->on, "xr");
    fill_long(&table);
    assert_string_equal(printed(page, &table), "a-name-that-is...  1\n");
}

static void the_last_column_wraps_between_words_under_itself(void **state)
{
    struct screen *page = *state;
    struct page_columns table;
    const char *const texts[] = {"las", "least attained service first of all"};

    page->on.width = 30;
    page->on.terminal = true;
    page_columns_init(&table, &page->on, "lw");
    cells(&table, texts, 2);
    assert_string_equal(printed(page, &table), "las  least attained service\n"
                                               "     first of all\n");
}

static void a_terminal_narrower_than_the_rest_still_lines_up(void **state)
{
    struct screen *page = *state;
    struct page_columns table;
    const char *const texts[] = {"0123456789", "least attained service first"};

    page->on.width = 8;
    page->on.terminal = true;
    page_columns_init(&table, &page->on, "lw");
    cells(&table, texts, 2);
    assert_string_equal(printed(page, &table), "0123456789  least attained\n"
                                               "            service first\n");
}

static void lines_end_between_words_and_not_before_a_per_cent_sign(void **state)
{
    struct screen *page = *state;

    page->on.width = 30;
    page->on.terminal = true;
    assert_true(page_lines(&page->on, "that is 14 % cheaper, which is 15 % of it\n"));
    assert_string_equal(page->text.data, "that is 14 % cheaper, which is\n15 % of it\n");
    base_buf_clear(&page->text);
    assert_true(page_lines(&page->on, "that is for sure the case, 15 % of it\n"));
    assert_string_equal(page->text.data, "that is for sure the case,\n15 % of it\n");
}

static void styles_appear_only_with_colour(void **state)
{
    struct screen *page = *state;
    struct page_columns table;

    page->on.color = true;
    page_columns_init(&table, &page->on, "ll");
    page_columns_cell(&table, PAGE_BOLD, "a");
    page_columns_cell(&table, PAGE_DIM, "b");
    assert_string_equal(printed(page, &table), "\033[1ma\033[0m  \033[2mb\033[0m\n");
}

static void a_cell_cannot_drive_the_terminal(void **state)
{
    struct screen *page = *state;
    struct page_columns table;

    page_columns_init(&table, &page->on, "l");
    page_columns_cell(&table, PAGE_PLAIN, "x\033[2Jy\nz");
    assert_string_equal(printed(page, &table), "x?[2Jy?z\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(columns_line_up_and_lines_have_no_space_at_the_end,
                                        open_page, close_page),
        cmocka_unit_test(width_counts_columns_not_bytes),
        cmocka_unit_test(a_start_that_fits_never_splits_a_character),
        cmocka_unit_test_setup_teardown(nothing_is_cut_in_a_pipe, open_page, close_page),
        cmocka_unit_test_setup_teardown(a_cut_on_a_terminal_shows_an_ellipsis_and_fits, open_page,
                                        close_page),
        cmocka_unit_test_setup_teardown(an_ascii_cut_has_three_points, open_page, close_page),
        cmocka_unit_test_setup_teardown(the_last_column_wraps_between_words_under_itself, open_page,
                                        close_page),
        cmocka_unit_test_setup_teardown(a_terminal_narrower_than_the_rest_still_lines_up, open_page,
                                        close_page),
        cmocka_unit_test_setup_teardown(lines_end_between_words_and_not_before_a_per_cent_sign,
                                        open_page, close_page),
        cmocka_unit_test_setup_teardown(styles_appear_only_with_colour, open_page, close_page),
        cmocka_unit_test_setup_teardown(a_cell_cannot_drive_the_terminal, open_page, close_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
