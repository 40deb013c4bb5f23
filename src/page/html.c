/* html.c - a result as a page that needs no other file (shoal/result.h).
 *
 * The template is page.html with page.css and page.js in it, made at build time (tools/embed.c). Words and tables
 * are written here, so that they are read without the script; pictures go as JSON, which page.js draws. What comes
 * from data is escaped: base_buf_html in HTML, and in JSON no '<' stands at all.
 * Tests: tests/unit/page/test_html.c, tests/cli/test_pages.py. */
#include "base/assert.h"
#include "base/err.h"
#include "base/event.h"
#include "page/record.h"
#include "page/show.h"
#include "shoal/version.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    PAGE_BYTES_MAX = 64 << 20,
    ROWS_MAX = 2000,
    TABLE_BYTES = 160 << 10,  /* of one table */
    RECORDS_BYTES = 64 << 10, /* of the records as JSON; with more, the page has none */
    TITLES_MAX = 64
};

/* ---- words ---- */

static void put_lines(struct base_buf *out, const char *before, const char *text, const char *after)
{
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, "\n");
        if (length > 0) {
            struct base_buf line;
            base_buf_init(&line, out->alloc, PAGE_BYTES_MAX);
            base_buf_append(&line, text, length);
            base_buf_puts(out, before);
            if (base_buf_status(&line) == SHOAL_OK)
                base_buf_html(out, line.data);
            else
                out->status = base_buf_status(&line);
            base_buf_puts(out, after);
            base_buf_fini(&line);
        }
        text += length + (text[length] == '\n');
    }
}

static size_t count_notes(const shoal_result *result, shoal_note_level level)
{
    size_t count = 0;

    for (size_t i = 0; i < result->note_count; i++)
        count += result->notes[i].level == level;
    return count;
}

static void put_notes(struct base_buf *out, const shoal_result *result, shoal_note_level level)
{
    bool warn = level == SHOAL_NOTE_WARNING;

    if (count_notes(result, level) == 0)
        return;
    base_buf_puts(out, warn ? "<section aria-label=\"Warnings\">\n"
                            : "<section class=\"panel\" aria-label=\"Notes\"><ul class=\"plain dim "
                              "small\">\n");
    for (size_t i = 0; i < result->note_count; i++)
        if (result->notes[i].level == level)
            put_lines(out, warn ? "<p class=\"warn\">" : "<li>", result->notes[i].text,
                      warn ? "</p>\n" : "</li>\n");
    base_buf_puts(out, warn ? "</section>\n" : "</ul></section>\n");
}

/* ---- tables ---- */

/* Whether a cell's text does not begin with the number that it is sorted by; '~' is what is not sure. */
static bool needs_value(shoal_unit unit)
{
    return unit == SHOAL_UNIT_SECONDS || unit == SHOAL_UNIT_MS || unit == SHOAL_UNIT_BYTES ||
           unit == SHOAL_UNIT_DATE;
}

static void put_cell(struct base_buf *out, const struct page_column *column, const void *record)
{
    char text[PAGE_CELL_TEXT];
    bool words = page_column_is_text(column);

    (void)page_column_text(column, record, text, sizeof text);
    bool best = column->best[0] != '\0' && strcmp(text, column->best) == 0;
    bool wide = (column->field->flags & SHOAL_FIELD_WRAP) != 0;
    base_buf_puts(out, !words ? "<td class=\"r\"" : wide ? "<td class=\"w\"" : "<td");
    if (!words && (text[0] == '~' || needs_value(column->field->unit))) {
        double value = page_column_number(column, record);
        if (isfinite(value))
            base_buf_printf(out, " data-v=\"%.9g\"", value);
    }
    base_buf_puts(out, best ? "><b>" : ">");
    base_buf_html(out, text);
    base_buf_puts(out, best ? "</b></td>" : "</td>");
}

static void put_heads(struct base_buf *out, const struct page_table *table)
{
    for (size_t c = 0; c < table->count; c++) {
        const struct page_column *column = &table->columns[c];
        if (!column->shown)
            continue;
        base_buf_puts(out, "<th scope=\"col\"");
        if (!page_column_is_text(column))
            base_buf_puts(out, " class=\"r\"");
        if (column->field->better != 0)
            base_buf_printf(out, " data-better=\"%d\"", column->field->better);
        if (column->field->help != NULL) {
            base_buf_puts(out, " title=\"");
            base_buf_html(out, column->field->help);
            base_buf_puts(out, "\"");
        }
        base_buf_puts(out, ">");
        base_buf_html(out, column->title);
        base_buf_puts(out, "</th>");
    }
}

static void put_table(struct base_buf *out, const char *title, const shoal_schema *schema,
                      const shoal_records *records)
{
    struct page_table table;
    max_align_t scratch[PAGE_RECORD_BYTES / sizeof(max_align_t)];
    size_t start, i = 0;
    char left[48];

    page_table_init(&table, schema, records);
    base_buf_puts(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table: ");
    base_buf_html(out, title);
    base_buf_puts(out, "\"><table>\n<thead><tr>");
    put_heads(out, &table);
    base_buf_puts(out, "</tr></thead>\n<tbody>\n");
    start = out->size;
    for (; i < records->count && i < ROWS_MAX && out->size - start < TABLE_BYTES; i++) {
        const void *record = page_record(records, i, scratch);
        base_buf_puts(out, "<tr>");
        for (size_t c = 0; c < table.count; c++)
            if (table.columns[c].shown)
                put_cell(out, &table.columns[c], record);
        base_buf_puts(out, "</tr>\n");
    }
    base_buf_puts(out, "</tbody></table></div>\n");
    if (i < records->count)
        base_buf_printf(
            out, "<p class=\"dim small\">%s left out</p>\n",
            page_unit_text(SHOAL_UNIT_COUNT, (double)(records->count - i), left, sizeof left));
}

/* Numbers and words that stand by themselves. */
static void put_fact(struct base_buf *out, const shoal_field *field, const void *record)
{
    char text[PAGE_CELL_TEXT];

    base_buf_puts(out, "<div><dt>");
    base_buf_html(out, field->title);
    base_buf_puts(out, "</dt><dd>");
    base_buf_html(out, page_cell_text(field, record, text, sizeof text));
    base_buf_puts(out, "</dd></div>\n");
}

static size_t put_known_facts(struct base_buf *out, const shoal_schema *schema, const void *record)
{
    size_t count = 0;

    for (size_t i = 0; i < schema->field_count; i++) {
        const shoal_field *field = &schema->fields[i];
        if (field->title == NULL || field->type > SHOAL_FIELD_CHOICE ||
            !page_is_known(field, record))
            continue;
        base_buf_puts(out, count++ == 0 ? "<dl class=\"facts\">\n" : "");
        put_fact(out, field, record);
    }
    base_buf_puts(out, count > 0 ? "</dl>" : "");
    return count;
}

static void put_facts(struct base_buf *out, const shoal_schema *schema, const void *record)
{
    struct base_buf facts;

    base_buf_init(&facts, out->alloc, PAGE_BYTES_MAX);
    if (put_known_facts(&facts, schema, record) > 0) {
        base_buf_puts(out, "<section class=\"panel\" aria-label=\"Facts\">");
        base_buf_append(out, facts.data, facts.size);
        base_buf_puts(out, "</section>\n");
    }
    if (base_buf_status(&facts) != SHOAL_OK)
        out->status = base_buf_status(&facts);
    base_buf_fini(&facts);
}

/* A list of a single record without a name is no table. */
static bool is_facts(const shoal_schema *schema, const shoal_records *records)
{
    return records->count == 1 && schema->fields[0].type < SHOAL_FIELD_BOOL;
}

/* `of`: which of several the list is about; NULL: there is one. */
static void put_section(struct base_buf *out, const char *title, const char *of,
                        const shoal_schema *schema, const shoal_records *records)
{
    max_align_t scratch[PAGE_RECORD_BYTES / sizeof(max_align_t)];
    struct base_buf name;

    base_buf_init(&name, out->alloc, PAGE_BYTES_MAX);
    base_buf_puts(&name, title != NULL ? title : schema->title != NULL ? schema->title : "Results");
    if (of != NULL) {
        base_buf_puts(&name, ": ");
        base_buf_puts(&name, of);
    }
    if (base_buf_status(&name) != SHOAL_OK) {
        out->status = base_buf_status(&name);
        base_buf_fini(&name);
        return;
    }
    base_buf_puts(out, "<section class=\"panel\">");
    base_buf_puts(out, "<div class=\"head\"><h2>");
    base_buf_html(out, name.data);
    base_buf_puts(out, "</h2></div>\n");
    if (is_facts(schema, records))
        (void)put_known_facts(out, schema, page_record(records, 0, scratch));
    else
        put_table(out, name.data, schema, records);
    base_buf_puts(out, "</section>\n");
    base_buf_fini(&name);
}

/* ---- pictures ---- */

/* The room of a picture, with its title and what is seen there; the script draws into it. */
static void put_picture(struct base_buf *out, const shoal_picture *picture)
{
    base_buf_puts(out, "<section class=\"panel\" id=\"p-");
    base_buf_html(out, picture->name);
    base_buf_puts(out, "\"><div class=\"head\"><h2>");
    base_buf_html(out, picture->title);
    base_buf_puts(out, "</h2>");
    if (picture->note != NULL) {
        base_buf_puts(out, "<p class=\"dim small\">");
        base_buf_html(out, picture->note);
        base_buf_puts(out, "</p>");
    }
    base_buf_puts(out, "</div><figure></figure></section>\n");
}

static void put_pictures(struct base_buf *out, const shoal_result *result, const char *after,
                         bool *placed)
{
    for (size_t i = 0; i < result->picture_count; i++) {
        const char *wanted = result->pictures[i].after;
        bool here = wanted == NULL || after == NULL ? wanted == after : strcmp(wanted, after) == 0;
        if (placed[i] || !here)
            continue;
        put_picture(out, &result->pictures[i]);
        placed[i] = true;
    }
}

static const char *const types[] = {[SHOAL_PICTURE_LINES] = "lines",
                                    [SHOAL_PICTURE_STEPS] = "steps",
                                    [SHOAL_PICTURE_BARS] = "bars",
                                    [SHOAL_PICTURE_DOTS] = "dots",
                                    [SHOAL_PICTURE_LANES] = "lanes"};
static const char *const units[] = {
    [SHOAL_UNIT_NONE] = "none",       [SHOAL_UNIT_COUNT] = "count", [SHOAL_UNIT_VALUE] = "value",
    [SHOAL_UNIT_SECONDS] = "seconds", [SHOAL_UNIT_HOURS] = "hours", [SHOAL_UNIT_MS] = "ms",
    [SHOAL_UNIT_DATE] = "date",       [SHOAL_UNIT_SHARE] = "share", [SHOAL_UNIT_USD] = "usd",
    [SHOAL_UNIT_BYTES] = "bytes",     [SHOAL_UNIT_TIMES] = "times", [SHOAL_UNIT_PERCENT] = "share"};

static void json_text(struct base_buf *out, const char *before, const char *text)
{
    base_buf_puts(out, before);
    if (text == NULL)
        base_buf_puts(out, "null");
    else
        base_buf_json_string(out, text);
}

/* Six digits are more than a picture shows. */
static void json_number(struct base_buf *out, double value)
{
    if (isfinite(value))
        base_buf_printf(out, "%.6g", value);
    else
        base_buf_puts(out, "null");
}

static void json_floats(struct base_buf *out, const char *before, const float *values, size_t count)
{
    if (values == NULL)
        return;
    base_buf_puts(out, before);
    for (size_t i = 0; i < count; i++) {
        base_buf_puts(out, i > 0 ? "," : "[");
        json_number(out, (double)values[i]);
    }
    base_buf_puts(out, count > 0 ? "]" : "[]");
}

static void json_texts(struct base_buf *out, const char *before, const char *const *texts,
                       size_t count)
{
    if (texts == NULL)
        return;
    base_buf_puts(out, before);
    for (size_t i = 0; i < count; i++)
        json_text(out, i > 0 ? "," : "[", texts[i]);
    base_buf_puts(out, count > 0 ? "]" : "[]");
}

static void json_axis(struct base_buf *out, const char *before, const shoal_axis *axis)
{
    base_buf_puts(out, before);
    json_text(out, "{\"title\":", axis->title);
    base_buf_printf(out, ",\"unit\":\"%s\",\"log\":%s", units[axis->unit],
                    axis->log ? "true" : "false");
    if (axis->low < axis->high)
        base_buf_printf(out, ",\"low\":%.9g,\"high\":%.9g", axis->low, axis->high);
    if (axis->from != 0)
        base_buf_printf(out, ",\"from\":%.12g", axis->from);
    base_buf_puts(out, axis->down ? ",\"down\":true" : "");
    base_buf_puts(out, "}");
}

static void json_series(struct base_buf *out, const shoal_series *series)
{
    size_t count = series->y == NULL ? 0 : series->count;

    json_text(out, "{\"name\":", series->name);
    base_buf_printf(out, ",\"colour\":%u,\"dots\":%s%s%s", series->colour % SHOAL_COLOURS,
                    series->dots ? "true" : "false", series->wide ? ",\"wide\":true" : "",
                    series->apart ? ",\"apart\":true" : "");
    json_floats(out, ",\"x\":", series->x, count);
    base_buf_puts(out, count == 0 ? ",\"y\":[]" : "");
    json_floats(out, ",\"y\":", count == 0 ? NULL : series->y, count);
    json_floats(out, ",\"low\":", series->low, count);
    json_floats(out, ",\"high\":", series->high, count);
    json_texts(out, ",\"texts\":", series->texts, count);
    base_buf_puts(out, "}");
}

/* Which texts rectangles have, each once, in the order of the first that has it. */
struct seen {
    const char **texts; /* by hash, NULL: free */
    uint32_t *index;
    size_t size, count; /* a power of two, twice the rectangles and more */
};

/* The place of `text`, new where it was not seen before. */
static uint32_t seen_index(struct seen *seen, const char *text, bool *out_new)
{
    size_t at = (size_t)(((uintptr_t)text >> 3) * 2654435761U) & (seen->size - 1);

    while (seen->texts[at] != NULL && seen->texts[at] != text)
        at = (at + 1) & (seen->size - 1);
    *out_new = seen->texts[at] == NULL;
    if (*out_new) {
        seen->texts[at] = text;
        seen->index[at] = (uint32_t)seen->count++;
    }
    return seen->index[at];
}

/* Rectangles as lists of numbers, the last of which says which of `texts`, or -1. */
static void json_rects(struct base_buf *out, const shoal_picture *picture)
{
    struct seen seen = {.size = 16};
    struct base_buf texts;
    bool first;

    while (seen.size < 2 * picture->rect_count)
        seen.size *= 2;
    seen.texts = base_calloc(out->alloc, seen.size, sizeof *seen.texts);
    seen.index = base_calloc(out->alloc, seen.size, sizeof *seen.index);
    base_buf_init(&texts, out->alloc, PAGE_BYTES_MAX);
    base_buf_puts(out, ",\"rects\":[");
    for (size_t i = 0; seen.texts != NULL && seen.index != NULL && i < picture->rect_count; i++) {
        const shoal_rect *r = &picture->rects[i];
        int64_t text = -1;
        first = false;
        if (r->text != NULL)
            text = (int64_t)seen_index(&seen, r->text, &first);
        if (first)
            json_text(&texts, text > 0 ? "," : "", r->text);
        base_buf_printf(out, "%s[%.6g,%.6g,%.4g,%.4g,%u,%u,%lld]", i > 0 ? "," : "",
                        (double)r->from, (double)r->to, (double)r->low, (double)r->high, r->lane,
                        r->colour % SHOAL_COLOURS, (long long)text);
    }
    base_buf_puts(out, "],\"texts\":[");
    base_buf_append(out, texts.size > 0 ? texts.data : "", texts.size);
    base_buf_puts(out, "]");
    if (seen.texts == NULL || seen.index == NULL)
        out->status = SHOAL_E_NOMEM;
    else if (base_buf_status(&texts) != SHOAL_OK)
        out->status = base_buf_status(&texts);
    base_free(out->alloc, seen.texts);
    base_free(out->alloc, seen.index);
    base_buf_fini(&texts);
}

static void json_picture(struct base_buf *out, const shoal_picture *picture)
{
    base_buf_printf(out, "{\"type\":\"%s\"", types[picture->type]);
    json_text(out, ",\"name\":", picture->name);
    json_text(out, ",\"title\":", picture->title);
    json_text(out, ",\"note\":", picture->note);
    json_axis(out, ",\"x\":", &picture->x);
    json_axis(out, ",\"y\":", &picture->y);
    base_buf_puts(out, ",\"series\":[");
    for (size_t i = 0; i < picture->series_count; i++) {
        base_buf_puts(out, i > 0 ? "," : "");
        json_series(out, &picture->series[i]);
    }
    base_buf_puts(out, "]");
    json_texts(out, ",\"labels\":", picture->labels.items, picture->labels.count);
    if (picture->type == SHOAL_PICTURE_LANES)
        json_rects(out, picture);
    base_buf_puts(out, ",\"marks\":[");
    for (size_t i = 0; i < picture->mark_count; i++) {
        base_buf_printf(out, "%s[%.9g", i > 0 ? "," : "", picture->marks[i].x);
        json_text(out, ",", picture->marks[i].text);
        base_buf_puts(out, "]");
    }
    base_buf_puts(out, "]");
    for (size_t i = 0; picture->heights != NULL && i < picture->labels.count; i++)
        base_buf_printf(out, "%s%.6g", i > 0 ? "," : ",\"heights\":[", picture->heights[i]);
    base_buf_puts(out, picture->heights != NULL && picture->labels.count > 0 ? "]}" : "}");
}

/* ---- the page ---- */

static bool append(void *ctx, const char *text, size_t size)
{
    base_buf_append(ctx, text, size);
    return base_buf_status(ctx) == SHOAL_OK;
}

/* The records as --json has them, and the pictures. Records that take too much room are left to --json. */
static void put_data(struct base_buf *out, const shoal_result *result)
{
    struct base_buf json, records;

    base_buf_init(&json, out->alloc, PAGE_BYTES_MAX);
    base_buf_init(&records, out->alloc, RECORDS_BYTES);
    base_buf_puts(&json, "{\"v\":1");
    json_text(&json, ",\"kind\":", result->schema->name);
    if (shoal_result_json(result, append, &records, NULL) == SHOAL_OK) {
        base_buf_puts(&json, ",\"records\":[");
        for (size_t i = 0; i + 1 < records.size; i++) /* lines, the last of which ends here */
            base_buf_append(&json, records.data[i] == '\n' ? "," : &records.data[i], 1);
        base_buf_puts(&json, "]");
    }
    base_buf_puts(&json, ",\"pictures\":[");
    for (size_t i = 0; i < result->picture_count; i++) {
        base_buf_puts(&json, i > 0 ? "," : "");
        json_picture(&json, &result->pictures[i]);
    }
    base_buf_puts(&json, "]}");
    for (size_t i = 0; base_buf_status(&json) == SHOAL_OK && i < json.size;) {
        size_t plain = strcspn(json.data + i, "<");
        base_buf_append(out, json.data + i, plain);
        if (i + plain < json.size)
            base_buf_puts(out, "\\u003c");
        i += plain + 1;
    }
    if (base_buf_status(&json) != SHOAL_OK)
        out->status = base_buf_status(&json);
    base_buf_fini(&records);
    base_buf_fini(&json);
}

/* What tells the records apart where each has lists of its own: their first field, a text. */
static const char *record_name(const shoal_result *result, const void *record)
{
    const shoal_field *field = &result->schema->fields[0];

    return result->records.count > 1 && field->type == SHOAL_FIELD_TEXT
               ? page_text_of(field, record)
               : NULL;
}

/* By which pictures find the list behind which they stand. */
static const char *list_name(const shoal_field *field)
{
    return field->name != NULL ? field->name : field->of->name;
}

static void put_list(struct base_buf *out, const shoal_result *result, const shoal_field *field)
{
    max_align_t scratch[PAGE_RECORD_BYTES / sizeof(max_align_t)];

    for (size_t i = 0; i < result->records.count && i < TITLES_MAX; i++) {
        const void *record = page_record(&result->records, i, scratch);
        const shoal_records *list = page_records_of(field, record);
        if (list->count > 0)
            put_section(out, field->title, record_name(result, record), field->of, list);
    }
}

static void put_main(struct base_buf *out, const shoal_result *result, const char *command,
                     bool *placed)
{
    const shoal_schema *schema = result->schema;
    max_align_t scratch[PAGE_RECORD_BYTES / sizeof(max_align_t)];
    bool table = schema->title != NULL;

    base_buf_puts(out, "<div class=\"title\"><h1>");
    base_buf_html(out, result->title != NULL ? result->title : schema->name);
    base_buf_puts(out, "</h1>\n");
    put_lines(out, "<p class=\"dim\">", result->heading, "</p>\n");
    base_buf_puts(out, "</div>\n");
    if (result->verdict != NULL && result->verdict[0] != '\0') {
        base_buf_puts(out, "<section class=\"panel words\" aria-label=\"In words\">\n");
        put_lines(out, "<p>", result->verdict, "</p>\n");
        base_buf_puts(out, "</section>\n");
    }
    put_notes(out, result, SHOAL_NOTE_WARNING);
    if (result->picture_count > 0)
        base_buf_puts(out,
                      "<noscript><p class=\"warn\">Pictures are drawn by a script, which does "
                      "not run here. Words and tables are complete without it.</p></noscript>\n");
    put_pictures(out, result, "", placed);
    if (table && result->records.count > 0)
        put_section(out, NULL, NULL, schema, &result->records);
    if (table)
        put_pictures(out, result, NULL, placed);
    for (size_t i = 0; i < schema->field_count && result->records.count > 0; i++) {
        const shoal_field *field = &schema->fields[i];
        if (field->show == 0 ||
            (field->type != SHOAL_FIELD_RECORDS && field->type != SHOAL_FIELD_KEYED))
            continue;
        put_list(out, result, field);
        put_pictures(out, result, list_name(field), placed);
        if (!table)
            put_pictures(out, result, NULL, placed);
        table = true;
    }
    for (size_t i = 0; i < result->picture_count; i++)
        if (!placed[i])
            put_picture(out, &result->pictures[i]);
    if (schema->title == NULL && result->records.count > 0)
        put_facts(out, schema, page_record(&result->records, 0, scratch));
    put_notes(out, result, SHOAL_NOTE_INFO);
    if (command != NULL) {
        base_buf_puts(out,
                      "<section class=\"panel\" aria-label=\"Command\"><p class=\"cmd mono\">");
        base_buf_html(out, command);
        base_buf_puts(out, "</p></section>\n");
    }
}

static void put_page(struct base_buf *out, const shoal_result *result, const char *command,
                     bool *placed)
{
    const char *at = page_template, *mark;

    while ((mark = strstr(at, "{{")) != NULL) {
        base_buf_append(out, at, (size_t)(mark - at));
        at = strstr(mark, "}}");
        shoal_assert(at != NULL);
        at += 2;
        if (strncmp(mark, "{{version}}", 11) == 0)
            base_buf_puts(out, SHOAL_VERSION);
        else if (strncmp(mark, "{{title}}", 9) == 0)
            base_buf_html(out, result->title != NULL ? result->title : result->schema->name);
        else if (strncmp(mark, "{{main}}", 8) == 0)
            put_main(out, result, command, placed);
        else if (strncmp(mark, "{{data}}", 8) == 0)
            put_data(out, result);
        else /* braces of the script's own */
            base_buf_append(out, mark, (size_t)(at - mark));
    }
    base_buf_puts(out, at);
}

shoal_status shoal_result_page(const shoal_result *result, const char *command, shoal_put_fn put,
                               void *ctx, shoal_err *err)
{
    struct base_buf out;
    bool *placed = base_calloc(&base_alloc_libc, result->picture_count + 1, sizeof *placed);

    base_buf_init(&out, &base_alloc_libc, PAGE_BYTES_MAX);
    if (placed == NULL)
        return base_err_nomem(err, "writing a page");
    put_page(&out, result, command, placed);
    shoal_status st = base_buf_status(&out);
    if (st != SHOAL_OK)
        st = base_err_nomem(err, "writing a page");
    else if (!put(ctx, out.data, out.size))
        st = base_err(err, SHOAL_E_IO, "the page was not taken");
    base_buf_fini(&out);
    base_free(&base_alloc_libc, placed);
    return st;
}
