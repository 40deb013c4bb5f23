/* test_result.c - a result is drawn from its rows alone: JSON, CSV and document agree with them. */
#include "unit/page/result_world.h"

#include "base/rand.h"
#include "torture.h"
#include <jansson.h>

static void json_has_every_field_that_has_a_name(void **state)
{
    struct run run = sample("las");
    shoal_result result = of(&run, 1);
    struct base_buf out;
    json_t *read = json_loads(written(shoal_result_json, &result, &out), 0, NULL);
    (void)state;

    assert_non_null(read);
    assert_int_equal(json_integer_value(json_object_get(read, "v")), 1);
    for (size_t i = 0; i + 1 < RUNS.field_count; i++)
        assert_non_null(json_object_get(read, FIELDS[i].name));
    assert_null(json_object_get(read, "raw"));
    assert_true(shoal_result_number(&result, 0, "jct_s") == 7500);
    assert_string_equal(shoal_result_text(&result, 0, "end"), "moved");
    assert_true(isnan(shoal_result_number(&result, 1, "jct_s")));
    assert_null(shoal_result_text(&result, 0, "jct_s"));
    assert_true(json_number_value(json_object_get(read, "jct_s")) == 7500);
    assert_string_equal(json_string_value(json_object_get(read, "at")), "2025-01-27T00:00:00Z");
    assert_string_equal(json_string_value(json_object_get(read, "end")), "moved");
    assert_true(json_is_null(json_object_get(json_object_get(read, "waits"), "price")));
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(json_object_get(read, "stays"), 0), "place")),
                        "zone, one");
    assert_true(json_number_value(json_object_get(
                    json_object_get(json_object_get(read, "by_place"), "two"), "usd")) == 1240);
    assert_non_null(strstr(out.data, "\"seed\":9223372036854775807"));
    json_decref(read);
    base_buf_fini(&out);
}

static void csv_quotes_what_needs_it_and_leaves_lists_out(void **state)
{
    struct run runs[] = {sample("a,b"), sample("say \"hi\"")};
    shoal_result result = of(runs, 2);
    struct base_buf out;
    (void)state;

    runs[1].jct_s = (double)NAN;
    assert_string_equal(
        written(shoal_result_csv, &result, &out),
        "name,jct_s,at,rho,seed,moves,end,late,shares.V100,shares.K80,waits.gang,waits.price\n"
        "\"a,b\",7500,2025-01-27T00:00:00Z,0.5,9223372036854775807,12345,moved,true,0.25,0.75,60,"
        "\n"
        "\"say \"\"hi\"\"\",,2025-01-27T00:00:00Z,0.5,9223372036854775807,12345,moved,true,0.25,"
        "0.75,60,\n");
    base_buf_fini(&out);
}

/* Of lists CSV has the one that says so, whichever is shown. */
static void csv_has_the_list_that_is_meant_for_it(void **state)
{
    static const struct stay few[] = {{"few", 1}}, all[] = {{"all", 1}, {"more", 2}};
    static const struct lists {
        shoal_records shown, whole;
    } lists = {{few, sizeof few[0], 1, NULL, NULL, 0}, {all, sizeof all[0], 2, NULL, NULL, 0}};
    shoal_field fields[] = {
        {offsetof(struct lists, shown), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, NULL, "FEW",
         .of = &STAYS},
        {offsetof(struct lists, whole), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 0, "all", NULL,
         .flags = SHOAL_FIELD_CSV, .of = &STAYS},
    };
    const shoal_schema schema = {"lists", NULL, "lists", fields, 2};
    const shoal_result result = {.schema = &schema,
                                 .records = {.first = &lists, .stride = sizeof lists, .count = 1}};
    struct base_buf out;
    (void)state;

    assert_string_equal(written(shoal_result_csv, &result, &out), "place,usd\nall,1\nmore,2\n");
    base_buf_fini(&out);
    fields[1].flags = 0;
    assert_string_equal(written(shoal_result_csv, &result, &out), "place,usd\nfew,1\n");
    base_buf_fini(&out);
}

/* The whole of what it takes to add a metric: one row, and the line that computes it. */
static void a_metric_is_one_row(void **state)
{
    shoal_field fields[sizeof FIELDS / sizeof FIELDS[0] + 1];
    shoal_schema schema = RUNS;
    struct {
        struct run run;
        double lost_s;
    } run = {sample("las"), 5400};
    shoal_result result = of(&run.run, 1);
    struct base_buf out;
    (void)state;

    memcpy(fields, FIELDS, sizeof FIELDS);
    fields[RUNS.field_count] = (shoal_field){(size_t)((char *)&run.lost_s - (char *)&run),
                                             SHOAL_FIELD_F64,
                                             SHOAL_UNIT_SECONDS,
                                             -1,
                                             1,
                                             "lost_s",
                                             "LOST",
                                             .help = "time lost to failures"};
    schema.fields = fields;
    schema.field_count++;
    result.schema = &schema;
    assert_non_null(strstr(written(shoal_result_json, &result, &out), "\"lost_s\":5400"));
    base_buf_fini(&out);
    assert_non_null(strstr(written(shoal_result_csv, &result, &out), ",lost_s\n"));
    base_buf_fini(&out);
    assert_non_null(strstr(shown(&result, 0, &out), "LOST\n"));
    assert_non_null(strstr(out.data, "1h30m\n"));
    base_buf_fini(&out);
    assert_non_null(strstr(written(page_of, &result, &out), "LOST"));
    assert_non_null(strstr(out.data, "\"lost_s\":5400"));
    base_buf_fini(&out);
    base_buf_init(&out, &base_alloc_libc, 1 << 16);
    page_document(schema.name, &schema, &out);
    assert_non_null(strstr(out.data, "| `lost_s` | LOST | s | time lost to failures |\n"));
    assert_non_null(strstr(out.data, "| `stays[].usd` | COST | US$ | what it cost |\n"));
    base_buf_fini(&out);
}

static void a_million_records_made_one_at_a_time_need_no_memory(void **state)
{
    shoal_result result = {
        .schema = &RUNS,
        .records = {.stride = sizeof(struct run), .count = 100000, .fill = fill_run, .ctx = "las"}};
    struct base_buf out;
    size_t lines = 0;
    (void)state;

    base_buf_init(&out, &base_alloc_libc, (size_t)1 << 28);
    assert_int_equal(shoal_result_csv(&result, put, &out, NULL), SHOAL_OK);
    for (size_t i = 0; i < out.size; i++) /* strict string checks read all of it for each line */
        lines += out.data[i] == '\n';
    assert_int_equal(lines, 100001);
    base_buf_fini(&out);
}

static bool take_none(void *ctx, const char *text, size_t size)
{
    (void)ctx, (void)text, (void)size;
    return false;
}

static void a_reader_that_leaves_is_an_error(void **state)
{
    struct run run = sample("las");
    shoal_result result = of(&run, 1);
    shoal_err err = SHOAL_ERR_INIT;
    (void)state;

    assert_int_equal(shoal_result_json(&result, take_none, NULL, &err), SHOAL_E_IO);
    assert_int_equal(shoal_result_csv(&result, take_none, NULL, &err), SHOAL_E_IO);
}

/* ---- pages and terminals ---- */

static bool grow(void *ctx, const char *text, size_t size)
{
    base_buf_append(ctx, text, size);
    return base_buf_status(ctx) == SHOAL_OK;
}

static void pages_cut_long_tables_and_say_so(void **state)
{
    enum { ROWS = 2500 };
    struct stay *rows = calloc(ROWS, sizeof *rows);
    shoal_result result = {.struct_size = sizeof result,
                           .schema = &STAYS,
                           .records = {.first = rows, .stride = sizeof *rows, .count = ROWS}};
    struct base_buf out;
    size_t cut = 0;

    (void)state;
    assert_non_null(rows);
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = (struct stay){"here", 1};
    base_buf_init(&out, &base_alloc_libc, (size_t)1 << 24);
    assert_int_equal(shoal_result_page(&result, NULL, grow, &out, NULL), SHOAL_OK);
    for (const char *at = out.data; (at = strstr(at, "<td>here</td>")) != NULL; at++)
        cut++;
    assert_int_equal(cut, 2000);
    assert_non_null(strstr(out.data, "<p class=\"dim small\">500 left out</p>"));
    result.records.count = 2000;
    base_buf_clear(&out);
    assert_int_equal(shoal_result_page(&result, NULL, grow, &out, NULL), SHOAL_OK);
    assert_null(strstr(out.data, "left out</p>"));
    base_buf_fini(&out);
    free(rows);
}

struct whole {
    double mean;
    shoal_records facts, stays;
};

#undef AT
#define AT(member) offsetof(struct whole, member)
static const shoal_field FACT_FIELDS[] = {
    {0, SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 1, "mean", "Mean", .help = "of all"},
};
static const shoal_schema FACTS = {"facts", "Figures", "Figures", FACT_FIELDS, 1};
static const shoal_field WHOLE_FIELDS[] = {
    {AT(facts), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, NULL, "Figures",
     .flags = SHOAL_FIELD_PAGE, .of = &FACTS},
    {AT(stays), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "stays", "Stays",
     .flags = SHOAL_FIELD_PAGE, .of = &STAYS},
};
#undef AT
static const shoal_schema WHOLE = {"whole", NULL, "all", WHOLE_FIELDS, 2};

static void pictures_stand_where_they_say_and_one_record_without_a_name_is_no_table(void **state)
{
    struct stay stay = {"here", 1};
    struct whole whole = {.mean = 90, .stays = {.first = &stay, .stride = sizeof stay, .count = 1}};
    shoal_picture pictures[] = {{.name = "last", .title = "c", .after = "stays"},
                                {.name = "first", .title = "a", .after = ""},
                                {.name = "middle", .title = "b", .after = "facts", .x.down = true}};
    shoal_result result = {.struct_size = sizeof result,
                           .schema = &WHOLE,
                           .verdict = "it is good\n",
                           .lines = "  behind it\n",
                           .records = {.first = &whole, .stride = sizeof whole, .count = 1},
                           .pictures = pictures,
                           .picture_count = 3};
    struct base_buf out;
    struct page_screen screen = {.put = grow, .ctx = &out, .alloc = &base_alloc_libc, .width = 80};

    (void)state;
    whole.facts = (shoal_records){.first = &whole.mean, .stride = sizeof whole.mean, .count = 1};
    base_buf_init(&out, &base_alloc_libc, (size_t)1 << 24);
    assert_int_equal(shoal_result_page(&result, NULL, grow, &out, NULL), SHOAL_OK);
    const char *at = strstr(out.data, "id=\"p-first\"");
    assert_non_null(at);
    assert_non_null(at = strstr(at, "<h2>Figures</h2>"));
    assert_non_null(at = strstr(at, "<dt>Mean</dt><dd>1m30s</dd>"));
    assert_non_null(at = strstr(at, "id=\"p-middle\""));
    assert_non_null(at = strstr(at, "<td>here</td>"));
    assert_non_null(at = strstr(at, "id=\"p-last\""));
    assert_non_null(strstr(at, "\"down\":true"));
    assert_null(strstr(out.data, "behind it")); /* of a terminal alone */
    base_buf_clear(&out);
    assert_int_equal(page_show(&screen, &result), SHOAL_OK);
    assert_string_equal(out.data, "it is good\n  behind it\n");
    base_buf_fini(&out);
}

/* How many things there are that results own. */
static void release(void *owned)
{
    *(int *)owned -= 1;
}

static shoal_status make(const struct base_alloc *alloc, void *ctx)
{
    struct page_made *made = page_made_new(alloc);
    const shoal_result *result;
    struct run *run = page_made_alloc(made, 1, sizeof *run);

    *(int *)ctx += 1;
    if (run != NULL) {
        *run = sample(page_made_text(made, "policy %d", 7));
        made->result.schema = &RUNS;
        made->result.records = (shoal_records){.first = run, .stride = sizeof *run, .count = 1};
    }
    page_made_own(made, release, ctx);
    page_made_head(made, "%d jobs\n", 3);
    page_made_say(made, "%s is best", "las");
    for (int i = 0; i < 20; i++)
        page_made_note(made, SHOAL_NOTE_WARNING, "note %d", i);
    shoal_status st = page_made_finish(made, &result, NULL);
    if (st == SHOAL_OK) {
        bool whole = result->note_count == 20 && strcmp(result->notes[19].text, "note 19") == 0 &&
                     strcmp(((const struct run *)result->records.first)->name, "policy 7") == 0 &&
                     strcmp(result->heading, "3 jobs\n") == 0;
        shoal_result_free(result);
        st = whole ? SHOAL_OK : SHOAL_E_INTERNAL;
    }
    return st;
}

static void a_result_is_made_whole_or_not_at_all(void **state)
{
    int owned = 0;
    (void)state;

    torture_run(make, &owned);
    assert_int_equal(owned, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_every_field_that_has_a_name),
        cmocka_unit_test(csv_quotes_what_needs_it_and_leaves_lists_out),
        cmocka_unit_test(csv_has_the_list_that_is_meant_for_it),
        cmocka_unit_test(a_metric_is_one_row),
        cmocka_unit_test(a_million_records_made_one_at_a_time_need_no_memory),
        cmocka_unit_test(a_reader_that_leaves_is_an_error),
        cmocka_unit_test(pages_cut_long_tables_and_say_so),
        cmocka_unit_test(pictures_stand_where_they_say_and_one_record_without_a_name_is_no_table),
        cmocka_unit_test(a_result_is_made_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
