/* test_show.c - cells and tables for people: units, unknown values, what is left out where a screen is narrow. */
#include "unit/page/result_world.h"

static void numbers_are_said_in_their_unit(void **state)
{
    static const struct {
        shoal_unit unit;
        double value;
        const char *text;
    } rows[] = {
        {SHOAL_UNIT_NONE, 0.5, "0.50"},      {SHOAL_UNIT_COUNT, 1234567, "1,234,567"},
        {SHOAL_UNIT_SECONDS, 7500, "2h05m"}, {SHOAL_UNIT_SHARE, 0.54, "54 %"},
        {SHOAL_UNIT_USD, 9.41, "$9.41"},     {SHOAL_UNIT_BYTES, 1.2e9, "1.2 GB"},
        {SHOAL_UNIT_TIMES, 1.5, "1.50x"},    {SHOAL_UNIT_DATE, 1737936000, "2025-01-27 00:00"}};
    char text[48];
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(page_unit_text(rows[i].unit, rows[i].value, text, sizeof text),
                            rows[i].text);
}

/* Whatever the type, and in every unit. */
static void what_is_not_known_is_a_dash(void **state)
{
    struct run run = {.name = NULL, .jct_s = (double)NAN, .at_s = (double)NAN, .rho = NAN};
    char text[PAGE_CELL_TEXT];
    (void)state;

    for (size_t i = 0; i < 4; i++)
        assert_string_equal(page_cell_text(&FIELDS[i], &run, text, sizeof text), "-");
    for (int unit = SHOAL_UNIT_NONE; unit <= SHOAL_UNIT_PERCENT; unit++)
        assert_string_equal(page_unit_text((shoal_unit)unit, (double)NAN, text, sizeof text), "-");
}

/* A column that is for some results only goes where nobody knows anything of it; others say so. */
static void sparse_columns_nobody_knows_anything_of_are_not_shown(void **state)
{
    shoal_field fields[sizeof FIELDS / sizeof FIELDS[0]];
    shoal_schema schema = RUNS;
    struct run runs[] = {sample("las"), sample("srtf")};
    shoal_result result = of(runs, 2);
    struct base_buf out;
    (void)state;

    memcpy(fields, FIELDS, sizeof FIELDS);
    schema.fields = fields;
    result.schema = &schema;
    runs[0].at_s = runs[1].at_s = (double)NAN;
    assert_non_null(strstr(shown(&result, 0, &out), " AT "));
    base_buf_fini(&out);
    fields[2].flags = SHOAL_FIELD_SPARSE;
    assert_string_equal(fields[2].title, "AT");
    assert_null(strstr(shown(&result, 0, &out), " AT "));
    base_buf_fini(&out);
    runs[1].at_s = 0;
    assert_non_null(strstr(shown(&result, 0, &out), " AT "));
    base_buf_fini(&out);
}

/* A result without a table of its own shows the lists of its record, each under its title. */
static void lists_of_a_record_are_tables_under_their_titles(void **state)
{
    shoal_schema schema = RUNS;
    struct run run = sample("las");
    shoal_result result = of(&run, 1);
    struct base_buf out;
    (void)state;

    schema.title = NULL;
    result.schema = &schema;
    result.heading = "9 jobs\n";
    result.verdict = "las is best\n";
    assert_string_equal(shown(&result, 0, &out), "9 jobs\n\nwhere it was\n"
                                                 "PLACE        COST\n"
                                                 "zone, one   $9.41\n"
                                                 "two        $1,240\n"
                                                 "\nlas is best\n");
    base_buf_fini(&out);
}

static void small_amounts_keep_two_digits(void **state)
{
    static const struct {
        double usd;
        const char *text;
    } rows[] = {{0, "$0.00"},           {9.414, "$9.41"},      {0.0996, "$0.10"},
                {0.0994, "$0.099"},     {0.025, "$0.025"},     {0.00372, "$0.0037"},
                {-0.0008, "-$0.00080"}, {4.7e-5, "$0.000047"}, {1e-12, "$0.0000000"},
                {1240, "$1,240"}};
    char text[48];
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(page_unit_text(SHOAL_UNIT_USD, rows[i].usd, text, sizeof text),
                            rows[i].text);
}

/* A seed, a process: whole numbers that count nothing. */
static void whole_numbers_without_a_unit_have_no_places(void **state)
{
    struct run run = sample("las");
    char text[48];
    (void)state;

    run.seed = 1234567;
    for (size_t i = 0; i < RUNS.field_count; i++)
        if (strcmp(FIELDS[i].name, "seed") == 0)
            assert_string_equal(page_cell_text(&FIELDS[i], &run, text, sizeof text), "1234567");
}

static void tables_show_units_and_drop_what_matters_least(void **state)
{
    struct run runs[] = {sample("las"), sample("srtf")};
    shoal_result result = of(runs, 2);
    struct base_buf out;
    (void)state;

    assert_string_equal(shown(&result, 0, &out),
                        "NAME    JCT                AT   RHO   MOVES  END    LATE  V100   K80\n"
                        "las   2h05m  2025-01-27 00:00  0.50  12,345  moved  yes   25 %  75 %\n"
                        "srtf  2h05m  2025-01-27 00:00  0.50  12,345  moved  yes   25 %  75 %\n");
    base_buf_fini(&out);
    assert_null(strstr(shown(&result, 60, &out), "AT "));
    assert_non_null(strstr(out.data, "RHO"));
    base_buf_fini(&out);
    assert_null(strstr(shown(&result, 48, &out), "RHO"));
    base_buf_fini(&out);
}

static void the_best_is_bold_where_it_tells_runs_apart(void **state)
{
    struct run runs[] = {sample("las"), sample("srtf")};
    shoal_result result = of(runs, 2);
    struct base_buf out;
    struct page_screen screen = {.alloc = &base_alloc_libc, .put = put, .ctx = &out, .color = true};
    (void)state;

    runs[1].jct_s = 3600;
    base_buf_init(&out, &base_alloc_libc, 1 << 16);
    assert_int_equal(page_show(&screen, &result), SHOAL_OK);
    assert_non_null(strstr(out.data, "\033[1m1h00m\033[0m"));
    assert_null(strstr(out.data, "\033[1m2h05m"));
    assert_null(strstr(out.data, "\033[1m0.50"));
    base_buf_fini(&out);
}

static void a_table_hides_rows_that_json_has(void **state)
{
    shoal_result result = {.schema = &RUNS,
                           .records = {.stride = sizeof(struct run),
                                       .count = 30,
                                       .hidden = 27,
                                       .fill = fill_run,
                                       .ctx = "las"}};
    struct base_buf out;
    struct page_screen screen = {
        .alloc = &base_alloc_libc, .put = put, .ctx = &out, .width = 80, .ascii = true};
    size_t lines = 0;
    (void)state;

    assert_true(shoal_result_number(&result, 29, "moves") == 29);
    assert_true(shoal_result_number(&result, 0, "late") == sample("las").late);
    base_buf_init(&out, &base_alloc_libc, (size_t)1 << 20);
    assert_int_equal(page_show(&screen, &result), SHOAL_OK);
    for (const char *at = out.data; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_int_equal(lines, 5); /* titles, three rows, what is left out */
    assert_non_null(strstr(out.data, "... 27 more\n"));
    base_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_said_in_their_unit),
        cmocka_unit_test(what_is_not_known_is_a_dash),
        cmocka_unit_test(sparse_columns_nobody_knows_anything_of_are_not_shown),
        cmocka_unit_test(lists_of_a_record_are_tables_under_their_titles),
        cmocka_unit_test(small_amounts_keep_two_digits),
        cmocka_unit_test(whole_numbers_without_a_unit_have_no_places),
        cmocka_unit_test(tables_show_units_and_drop_what_matters_least),
        cmocka_unit_test(the_best_is_bold_where_it_tells_runs_apart),
        cmocka_unit_test(a_table_hides_rows_that_json_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
