/* test_html.c - a page: what stands on it and in which order, tables that end and say so, data that is no markup. */
#include "unit/page/result_world.h"

#include "base/event.h"
#include "torture.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE_MAX = 400000 };

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;

    for (; (text = strstr(text, word)) != NULL; text += strlen(word))
        count++;
    return count;
}

static void comes_before(const char *page, const char *one, const char *other)
{
    const char *a = strstr(page, one), *b = strstr(page, other);

    if (a == NULL || b == NULL || a > b)
        fail_msg("'%s' does not come before '%s'", one, other);
}

/* ---- tables ---- */

static void fill_stay(const void *ctx, size_t index, void *record)
{
    *(struct stay *)record = (struct stay){.place = ctx, .usd = (double)index};
}

static shoal_result stays_of(const char *place, size_t count)
{
    return (shoal_result){
        .schema = &STAYS,
        .records = {
            .stride = sizeof(struct stay), .count = count, .fill = fill_stay, .ctx = place}};
}

static void a_table_has_two_thousand_rows_at_most_and_says_how_many_are_left_out(void **state)
{
    static const struct {
        size_t records;
        const char *left;
    } rows[] = {{1999, NULL}, {2000, NULL}, {2001, "1 left out"}, {102000, "100,000 left out"}};
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        shoal_result result = stays_of("p", rows[i].records);
        struct base_buf out;
        const char *page = written(page_of, &result, &out);
        size_t body = count_of(strstr(page, "<tbody>"), "<tr>");
        assert_int_equal(body, rows[i].records < 2000 ? rows[i].records : 2000);
        assert_true((strstr(page, " left out</p>") != NULL) == (rows[i].left != NULL));
        if (rows[i].left != NULL)
            assert_non_null(strstr(page, rows[i].left));
        assert_true(out.size < PAGE_MAX);
        base_buf_fini(&out);
    }
}

/* Where rows are long, their bytes end it before. */
static void a_table_of_long_rows_ends_earlier_and_says_so_too(void **state)
{
    char place[501];
    (void)state;

    memset(place, 'x', 500);
    place[500] = '\0';
    shoal_result result = stays_of(place, 2000);
    struct base_buf out;
    const char *page = written(page_of, &result, &out);
    size_t body = count_of(strstr(page, "<tbody>"), "<tr>");
    char left[64];
    assert_true(body > 100 && body < 1000);
    (void)snprintf(left, sizeof left, ">1,%03zu left out</p>", 1000 - body);
    assert_non_null(strstr(page, left));
    assert_true(out.size < PAGE_MAX);
    base_buf_fini(&out);
}

/* "2h05m" does not begin with the number that it is sorted by; "54 %" does. */
static void cells_say_what_they_are_sorted_by_where_their_text_does_not(void **state)
{
    struct run runs[] = {sample("las"), sample("srtf")};
    shoal_result result = of(runs, 2);
    struct base_buf out;
    (void)state;

    runs[1].jct_s = 9000;
    runs[1].rho = NAN;
    const char *page = written(page_of, &result, &out);
    assert_non_null(strstr(page, "<td class=\"r\" data-v=\"7500\"><b>2h05m</b></td>"));
    assert_non_null(strstr(page, "<td class=\"r\" data-v=\"9000\">2h30m</td>"));
    assert_non_null(strstr(page, "<td class=\"r\">-</td>"));
    assert_non_null(strstr(page, "<td class=\"r\">25 %</td>"));
    assert_non_null(strstr(page, "<th scope=\"col\" class=\"r\" data-better=\"-1\" "
                                 "title=\"mean time\">JCT</th>"));
    base_buf_fini(&out);
}

/* "~$9.41" begins with no number. */
static void cells_that_are_not_sure_are_sorted_too(void **state)
{
    static const struct guess {
        double usd;
        bool unsure;
    } guesses[] = {{9.41, true}, {8, false}};
    static const shoal_field fields[] = {{offsetof(struct guess, usd), SHOAL_FIELD_F64,
                                          SHOAL_UNIT_USD, 0, 1, "usd", "COST",
                                          .unsure = offsetof(struct guess, unsure)}};
    const shoal_schema schema = {"guess", "GUESSES", "guesses", fields, 1};
    const shoal_result result = {
        .schema = &schema, .records = {.first = guesses, .stride = sizeof guesses[0], .count = 2}};
    struct base_buf out;
    const char *page = written(page_of, &result, &out);
    (void)state;

    assert_non_null(strstr(page, "<td class=\"r\" data-v=\"9.41\">~$9.41</td>"));
    assert_non_null(strstr(page, "<td class=\"r\">$8.00</td>"));
    base_buf_fini(&out);
}

/* ---- the order ---- */

static void words_come_first_then_the_table_then_pictures_each_after_its_list(void **state)
{
    static const float y[] = {1, 2};
    const shoal_series series = {.name = "s", .y = y, .count = 2};
    const shoal_picture pictures[] = {
        {.name = "last",
         .title = "of no list",
         .after = "none",
         .series = &series,
         .series_count = 1},
        {.name = "stays",
         .title = "of stays",
         .after = "stays",
         .series = &series,
         .series_count = 1},
        {.name = "main", .title = "of the table", .series = &series, .series_count = 1},
    };
    static const shoal_note notes[] = {{SHOAL_NOTE_INFO, "a note"},
                                       {SHOAL_NOTE_WARNING, "a warning"}};
    struct run run = sample("las");
    shoal_result result = of(&run, 1);
    struct base_buf out;
    (void)state;

    result.title = "Nine jobs";
    result.heading = "on a cluster\n";
    result.verdict = "las is best\nby far\n";
    result.notes = notes;
    result.note_count = 2;
    result.pictures = pictures;
    result.picture_count = 3;
    const char *page = written(page_of, &result, &out);
    static const char *const order[] = {"<h1>Nine jobs</h1>",
                                        "<p class=\"dim\">on a cluster</p>",
                                        "<p>las is best</p>",
                                        "<p>by far</p>",
                                        "<p class=\"warn\">a warning</p>",
                                        "<h2>RUNS</h2>",
                                        "id=\"p-main\"",
                                        "<h2>where it was</h2>",
                                        "id=\"p-stays\"",
                                        "id=\"p-last\"",
                                        "<li>a note</li>",
                                        "<p class=\"cmd mono\">shoal test</p>"};
    for (size_t i = 1; i < sizeof order / sizeof order[0]; i++)
        comes_before(page, order[i - 1], order[i]);
    assert_int_equal(count_of(page, "<figure>"), 3);
    base_buf_fini(&out);
}

static void a_result_without_a_table_has_its_facts(void **state)
{
    shoal_schema schema = RUNS;
    struct run run = sample("las");
    shoal_result result = of(&run, 1);
    struct base_buf out;
    (void)state;

    schema.title = NULL;
    result.schema = &schema;
    run.rho = NAN;
    const char *page = written(page_of, &result, &out);
    assert_non_null(strstr(page, "<dt>JCT</dt><dd>2h05m</dd>"));
    assert_null(strstr(page, "<dt>RHO</dt>"));
    base_buf_fini(&out);
}

static void points_that_no_line_joins_are_told_to_the_page(void **state)
{
    static const float y[] = {1, 2};
    const shoal_series series[] = {{.name = "line", .y = y, .count = 2},
                                   {.name = "dots", .y = y, .count = 2, .apart = true}};
    const shoal_picture picture = {.name = "p", .title = "P", .series = series, .series_count = 2};
    struct run run = sample("las");
    shoal_result result = of(&run, 1);
    struct base_buf out;
    (void)state;

    result.pictures = &picture;
    result.picture_count = 1;
    const char *page = written(page_of, &result, &out);
    const char *line = strstr(page, "{\"name\":\"line\""),
               *dots = strstr(page, "{\"name\":\"dots\"");
    assert_non_null(line);
    assert_non_null(dots);
    assert_true(strstr(line, "\"apart\":true") > dots);
    base_buf_fini(&out);
}

/* ---- data ---- */

/* The script's data, read as JSON. */
static json_t *data_of(const char *page)
{
    const char *begin = strstr(page, "id=\"data\">");

    assert_non_null(begin);
    begin += strlen("id=\"data\">");
    return json_loadb(begin, (size_t)(strstr(begin, "</script>") - begin), 0, NULL);
}

static void a_page_has_its_records_unless_they_take_too_much_room(void **state)
{
    static const size_t counts[] = {1, 100, 100000};
    (void)state;

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        shoal_result result = stays_of("p", counts[i]);
        struct base_buf out;
        json_t *data = data_of(written(page_of, &result, &out));
        assert_non_null(data);
        assert_string_equal(json_string_value(json_object_get(data, "kind")), "stay");
        const json_t *records = json_object_get(data, "records");
        if (counts[i] <= 100)
            assert_int_equal(json_array_size(records), counts[i]);
        else
            assert_null(records);
        json_decref(data);
        base_buf_fini(&out);
    }
}

static void what_comes_from_data_is_text_and_never_markup(void **state)
{
    static const char EVIL[] = "</script><img src=x onerror=alert(1)>\"'&";
    static const float y[] = {1, 2};
    const shoal_series series = {.name = EVIL, .y = y, .count = 2};
    const shoal_picture picture = {
        .name = "p", .title = EVIL, .note = EVIL, .series = &series, .series_count = 1};
    const shoal_note notes[] = {{SHOAL_NOTE_WARNING, EVIL}, {SHOAL_NOTE_INFO, EVIL}};
    struct run run = sample("las"), evil = sample(EVIL);
    shoal_result plain = of(&run, 1), result = of(&evil, 1);
    struct base_buf out, other;
    (void)state;

    result.title = result.heading = result.verdict = EVIL;
    result.pictures = &picture;
    result.picture_count = 1;
    result.notes = notes;
    result.note_count = 2;
    base_buf_init(&out, &base_alloc_libc, 1 << 24);
    assert_int_equal(shoal_result_page(&result, EVIL, put, &out, NULL), SHOAL_OK);
    size_t scripts = count_of(written(page_of, &plain, &other), "</script>");
    assert_int_equal(count_of(out.data, "</script>"), scripts);
    assert_null(strstr(out.data, "<img"));
    assert_true(count_of(out.data, "&lt;img src=x") >= 7);
    json_t *data = data_of(out.data);
    const json_t *drawn = json_array_get(json_object_get(data, "pictures"), 0);
    assert_string_equal(json_string_value(json_object_get(drawn, "title")), EVIL);
    json_decref(data);
    base_buf_fini(&out);
    base_buf_fini(&other);
}

static bool take_none(void *ctx, const char *text, size_t size)
{
    (void)ctx, (void)text, (void)size;
    return false;
}

static void a_page_that_is_not_taken_is_an_error(void **state)
{
    struct run run = sample("las");
    shoal_result result = of(&run, 1);
    shoal_err err = SHOAL_ERR_INIT;
    (void)state;

    assert_int_equal(shoal_result_page(&result, NULL, take_none, NULL, &err), SHOAL_E_IO);
    assert_true(err.message[0] != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_has_two_thousand_rows_at_most_and_says_how_many_are_left_out),
        cmocka_unit_test(a_table_of_long_rows_ends_earlier_and_says_so_too),
        cmocka_unit_test(cells_say_what_they_are_sorted_by_where_their_text_does_not),
        cmocka_unit_test(cells_that_are_not_sure_are_sorted_too),
        cmocka_unit_test(words_come_first_then_the_table_then_pictures_each_after_its_list),
        cmocka_unit_test(a_result_without_a_table_has_its_facts),
        cmocka_unit_test(points_that_no_line_joins_are_told_to_the_page),
        cmocka_unit_test(a_page_has_its_records_unless_they_take_too_much_room),
        cmocka_unit_test(what_comes_from_data_is_text_and_never_markup),
        cmocka_unit_test(a_page_that_is_not_taken_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
