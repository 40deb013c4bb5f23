/* test_svg.c - charts: names at line ends keep apart, bands and marks are drawn, styles tell lines apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "page/page.h"
#include <string.h>

static struct base_buf out;
static struct page_line lines[30];

static size_t count_of(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, what)) != NULL; p += strlen(what))
        n++;
    return n;
}

static const char *drawn(const struct page_chart *chart)
{
    base_buf_clear(&out);
    page_svg_chart(&out, chart);
    assert_int_equal(base_buf_status(&out), SHOAL_OK);
    return out.data;
}

static struct page_chart flat_lines(size_t count, float apart)
{
    static const char *const names[] = {"a<b", "b", "c", "d", "e"};
    for (size_t i = 0; i < count; i++) {
        lines[i] = (struct page_line){.name = names[i % 5], .style = page_style_of(i), .count = 2};
        lines[i].x[1] = 1;
        lines[i].y[0] = lines[i].y[1] = 0.1F + apart * (float)i;
    }
    return (struct page_chart){.height = 200, .lines = lines, .line_count = count, .mark = -1};
}

static void names_at_ends_stand_apart_or_not_at_all(void **state)
{
    struct page_chart chart = flat_lines(5, 0.1F); /* 20 px */

    (void)state;
    chart.end_names = true;
    assert_int_equal(count_of(drawn(&chart), "<text x=\"100%\""), 5);
    assert_non_null(strstr(out.data, ">a&lt;b</text>"));
    chart = flat_lines(5, 0.01F); /* 2 px: the first alone */
    chart.end_names = true;
    assert_int_equal(count_of(drawn(&chart), "<text x=\"100%\""), 1);
    lines[0].count = 0; /* and a line without points has none */
    assert_int_equal(count_of(drawn(&chart), ">a&lt;b</text>"), 0);
}

static void a_mark_is_tinted_unless_it_is_plain(void **state)
{
    struct page_chart chart = flat_lines(1, 0);

    (void)state;
    chart.mark = 0.25;
    chart.mark_text = "picked";
    assert_int_equal(count_of(drawn(&chart), "class=\"off\""), 1);
    chart.mark_plain = true;
    assert_int_equal(count_of(drawn(&chart), "class=\"off\""), 0);
    assert_non_null(strstr(out.data, "<text class=\"who\" x=\"25.0%\" dx=\"6\" y=\"10\">picked"));
    chart.mark = 0.75; /* the text is on the side that has room */
    assert_non_null(strstr(drawn(&chart), "<text class=\"who e\" x=\"75.0%\" dx=\"-6\""));
}

static void put_behind(void *ctx, struct base_buf *buf)
{
    base_buf_puts(buf, ctx);
}

static void bands_and_more_are_behind_the_lines(void **state)
{
    static const float x[] = {0, 1}, low[] = {0, 0.25F}, high[] = {0.5F, 1};
    struct page_band band = {.count = 2, .x = x, .low = low, .high = high};
    struct page_chart chart = flat_lines(1, 0);

    (void)state;
    chart.band = &band;
    chart.behind = put_behind;
    chart.ctx = (void *)(uintptr_t) "<path class=\"mine\" d=\"M0 0\"/>";
    const char *text = drawn(&chart);
    const char *shape =
        strstr(text, "class=\"band\" d=\"M0.0 100.0L1000.0 0.0L1000.0 150.0L0.0 200.0z");
    const char *mine = strstr(text, "class=\"mine\""), *line = strstr(text, "class=\"l s0");
    assert_true(shape != NULL && mine != NULL && line != NULL && shape < mine && mine < line);
}

static void styles_of_many_lines_differ_and_none_is_grey(void **state)
{
    (void)state;
    for (size_t i = 0; i < 36; i++) {
        size_t style = page_style_of(i);
        assert_int_not_equal(style % PAGE_COLOURS, PAGE_COLOURS - 1);
        for (size_t j = 0; j < i; j++) /* colour and dashes, as svg.c and frame.c take them */
            assert_false(style % PAGE_COLOURS == page_style_of(j) % PAGE_COLOURS &&
                         (style + style / PAGE_COLOURS) % PAGE_COLOURS ==
                             (page_style_of(j) + page_style_of(j) / PAGE_COLOURS) % PAGE_COLOURS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_at_ends_stand_apart_or_not_at_all),
        cmocka_unit_test(a_mark_is_tinted_unless_it_is_plain),
        cmocka_unit_test(bands_and_more_are_behind_the_lines),
        cmocka_unit_test(styles_of_many_lines_differ_and_none_is_grey),
    };

    base_buf_init(&out, &base_alloc_libc, 1 << 20);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    base_buf_fini(&out);
    return failed;
}
