/* test_columns.c - tables: widths follow content in any script, nothing is cut in a pipe, cuts show
 * on a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/columns.h"
#include <stdlib.h>
#include <string.h>

struct page {
    struct cli_context cx;
    char *text;
    size_t size;
};

static int open_page(void **state)
{
    struct page *page = calloc(1, sizeof *page);

    page->cx.topic = "";
    page->cx.width = 80;
    page->cx.out = open_memstream(&page->text, &page->size);
    page->cx.err = stderr;
    if (shoal_env_sim_new(1, &page->cx.env, NULL) != SHOAL_OK)
        return -1;
    *state = page;
    return 0;
}

static int close_page(void **state)
{
    struct page *page = *state;

    fclose(page->cx.out);
    free(page->text);
    shoal_env_free(page->cx.env);
    free(page);
    return 0;
}

static const char *printed(struct page *page, struct cli_columns *table)
{
    assert_int_equal(cli_columns_print(table), 0);
    cli_columns_fini(table);
    fflush(page->cx.out);
    return page->text;
}

static void cells(struct cli_columns *table, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cli_columns_cell(table, CLI_PLAIN, "%s", texts[i]);
}

static void columns_line_up_and_lines_have_no_space_at_the_end(void **state)
{
    struct page *page = *state;
    struct cli_columns table;
    const char *const texts[] = {"name", "jct", "note", "las", "12", "x", "tiresias", "3", ""};

    cli_columns_init(&table, &page->cx, "lrl");
    cells(&table, texts, 9);
    assert_string_equal(printed(page, &table), "name      jct  note\n"
                                               "las        12  x\n"
                                               "tiresias    3\n");
}

static void width_counts_columns_not_bytes(void **state)
{
    (void)state;
    assert_int_equal(cli_columns_width("abc"), 3);
    assert_int_equal(cli_columns_width("\xc3\xa9t\xc3\xa9"), 3);        /* accents */
    assert_int_equal(cli_columns_width("e\xcc\x81"), 1);                /* a combining accent */
    assert_int_equal(cli_columns_width("\xe6\x97\xa5\xe6\x9c\xac"), 4); /* two wide characters */
    assert_int_equal(cli_columns_width("\xff\xfe"), 2);                 /* not UTF-8 */
    assert_int_equal(cli_columns_width("\xe6\x97"), 2);                 /* cut off */
    assert_int_equal(cli_columns_width(""), 0);
}

static void a_start_that_fits_never_splits_a_character(void **state)
{
    const char *text = "a\xe6\x97\xa5\xe6\x9c\xac";
    size_t columns;

    (void)state;
    assert_int_equal(cli_columns_fit(text, 0, &columns), 0);
    assert_int_equal(cli_columns_fit(text, 2, &columns), 1);
    assert_int_equal(columns, 1);
    assert_int_equal(cli_columns_fit(text, 3, &columns), 4);
    assert_int_equal(columns, 3);
    assert_int_equal(cli_columns_fit(text, 99, &columns), 7);
    assert_int_equal(columns, 5);
}

static void fill_long(struct cli_columns *table)
{
    const char *const texts[] = {"a-name-that-is-much-longer-than-the-page", "1"};

    cells(table, texts, 2);
}

static void nothing_is_cut_in_a_pipe(void **state)
{
    struct page *page = *state;
    struct cli_columns table;

    page->cx.width = 20;
    cli_columns_init(&table, &page->cx, "xr");
    fill_long(&table);
    assert_string_equal(printed(page, &table), "a-name-that-is-much-longer-than-the-page  1\n");
}

static void a_cut_on_a_terminal_shows_an_ellipsis_and_fits(void **state)
{
    struct page *page = *state;
    struct cli_columns table;

    page->cx.width = 20;
    page->cx.out_terminal = true;
    cli_columns_init(&table, &page->cx, "xr");
    fill_long(&table);
    assert_string_equal(printed(page, &table), "a-name-that-is-m\xe2\x80\xa6  1\n");
}

static void an_ascii_cut_has_three_points(void **state)
{
    struct page *page = *state;
    struct cli_columns table;

    page->cx.width = 20;
    page->cx.out_terminal = page->cx.ascii = true;
    cli_columns_init(&table, &page->cx, "xr");
    fill_long(&table);
    assert_string_equal(printed(page, &table), "a-name-that-is...  1\n");
}

static void the_last_column_wraps_between_words_under_itself(void **state)
{
    struct page *page = *state;
    struct cli_columns table;
    const char *const texts[] = {"las", "least attained service first of all"};

    page->cx.width = 30;
    page->cx.out_terminal = true;
    cli_columns_init(&table, &page->cx, "lw");
    cells(&table, texts, 2);
    assert_string_equal(printed(page, &table), "las  least attained service\n"
                                               "     first of all\n");
}

static void a_terminal_narrower_than_the_rest_still_lines_up(void **state)
{
    struct page *page = *state;
    struct cli_columns table;
    const char *const texts[] = {"0123456789", "least attained service first"};

    page->cx.width = 8;
    page->cx.out_terminal = true;
    cli_columns_init(&table, &page->cx, "lw");
    cells(&table, texts, 2);
    assert_string_equal(printed(page, &table), "0123456789  least attained\n"
                                               "            service first\n");
}

static void styles_appear_only_with_colour(void **state)
{
    struct page *page = *state;
    struct cli_columns table;

    page->cx.color = true;
    cli_columns_init(&table, &page->cx, "ll");
    cli_columns_cell(&table, CLI_BOLD, "a");
    cli_columns_cell(&table, CLI_DIM, "b");
    assert_string_equal(printed(page, &table), "\033[1ma\033[0m  \033[2mb\033[0m\n");
}

static void a_cell_cannot_drive_the_terminal(void **state)
{
    struct page *page = *state;
    struct cli_columns table;

    cli_columns_init(&table, &page->cx, "l");
    cli_columns_cell(&table, CLI_PLAIN, "x\033[2Jy\nz");
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
        cmocka_unit_test_setup_teardown(styles_appear_only_with_colour, open_page, close_page),
        cmocka_unit_test_setup_teardown(a_cell_cannot_drive_the_terminal, open_page, close_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
