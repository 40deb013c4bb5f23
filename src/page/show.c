/* show.c - see show.h.
 *
 * A column is a field, or one number of a field that has many. Columns are chosen once for the whole table:
 * those that are shown, less those nobody knows anything of, less those a narrow terminal has no room for. */
#include "page/show.h"

#include "base/assert.h"
#include "base/date.h"
#include "base/text.h"
#include "page/record.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { USD_PLACES_MAX = 7 };

/* ---- cells ---- */

static const char *count_text(double value, char *buf, size_t size)
{
    if (value >= 0 && value < 1.8e19)
        return base_format_count((uint64_t)(value + 0.5), buf, size);
    (void)snprintf(buf, size, "%.0f", value);
    return buf;
}

/* "$1,240", "$9.41", and below ten cents two digits that say something: "$0.0037". */
static const char *usd_text(double usd, char *buf, size_t size)
{
    double amount = fabs(usd);
    char count[48];
    int places = 2;

    for (double next = 0.0995; amount > 0 && amount < next && places < USD_PLACES_MAX; next /= 10)
        places++;
    if (amount < 99.995)
        (void)snprintf(buf, size, "%s$%.*f", usd < 0 ? "-" : "", places, amount);
    else
        (void)snprintf(buf, size, "%s$%s", usd < 0 ? "-" : "",
                       count_text(amount, count, sizeof count));
    return buf;
}

/* 0.87, 42.10, 1,240: two digits behind the point below a hundred, so that columns line up. */
static const char *plain_text(double value, char *buf, size_t size)
{
    if (fabs(value) >= 99.995)
        return count_text(value, buf, size);
    (void)snprintf(buf, size, "%.2f", value);
    return buf;
}

static const char *bytes_text(double bytes, char *buf, size_t size)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t i = 0;

    while (bytes >= 999.5 && i + 1 < BASE_COUNT(units)) {
        bytes /= 1000;
        i++;
    }
    (void)snprintf(buf, size, i == 0 ? "%.0f %s" : "%.3g %s", bytes, units[i]);
    return buf;
}

const char *page_unit_text(shoal_unit unit, double value, char *buf, size_t size)
{
    if (!isfinite(value)) {
        (void)snprintf(buf, size, "-");
        return buf;
    }
    switch (unit) {
    case SHOAL_UNIT_NONE: return plain_text(value, buf, size);
    case SHOAL_UNIT_COUNT: return count_text(value, buf, size);
    case SHOAL_UNIT_VALUE:
        if (fabs(value) >= 1e5 && fabs(value) < 1e15)
            (void)snprintf(buf, size, "%.0f", value);
        else
            (void)snprintf(buf, size, "%.6g", value);
        break;
    case SHOAL_UNIT_SECONDS: return base_format_duration(value, buf, size);
    case SHOAL_UNIT_HOURS: return plain_text(value / 3600, buf, size);
    case SHOAL_UNIT_MS:
        (void)snprintf(buf, size, value < 0.1 ? "%.1f us" : "%.1f ms",
                       value < 0.1 ? 1e3 * value : value);
        break;
    case SHOAL_UNIT_DATE: return base_date_format(value, BASE_DATE_MINUTE, buf, size);
    case SHOAL_UNIT_SHARE:
        (void)snprintf(buf, size, value > 0 && value < 0.0995 ? "%.1f %%" : "%.0f %%", 100 * value);
        break;
    case SHOAL_UNIT_PERCENT: (void)snprintf(buf, size, "%.1f %%", 100 * value); break;
    case SHOAL_UNIT_USD: return usd_text(value, buf, size);
    case SHOAL_UNIT_BYTES: return bytes_text(value, buf, size);
    case SHOAL_UNIT_TIMES: (void)snprintf(buf, size, "%.2fx", value); break;
    }
    return buf;
}

const char *page_cell_text(const shoal_field *field, const void *record, char *buf, size_t size)
{
    const char *text = NULL;

    if (page_is_number(field)) {
        bool unsure = page_is_unsure(field, record) && size > 1;
        bool whole = field->type == SHOAL_FIELD_U64 || field->type == SHOAL_FIELD_U32;
        if (whole &&
            field->unit == SHOAL_UNIT_NONE) /* a name rather than an amount: no separators */
            (void)snprintf(buf + unsure, size - unsure, "%.0f", page_number_of(field, record));
        else
            (void)page_unit_text(field->unit, page_number_of(field, record), buf + unsure,
                                 size - unsure);
        if (unsure)
            buf[0] = '~';
        return buf;
    }
    if (field->type == SHOAL_FIELD_BOOL)
        text = *(const bool *)((const char *)record + field->offset) ? "yes" : "";
    else if (field->type <= SHOAL_FIELD_CHOICE)
        text = page_text_of(field, record);
    (void)snprintf(buf, size, "%s", text == NULL ? "-" : text);
    return buf;
}

/* ---- tables ---- */

static bool has_many(const shoal_field *field)
{
    return field->type == SHOAL_FIELD_NUMBERS || field->type == SHOAL_FIELD_MAP;
}

double page_column_number(const struct page_column *column, const void *record)
{
    if (!has_many(column->field))
        return page_number_of(column->field, record);
    const shoal_numbers *numbers = page_numbers_of(column->field, record);
    return column->index < numbers->count ? numbers->values[column->index] : (double)NAN;
}

const char *page_column_text(const struct page_column *column, const void *record, char *buf,
                             size_t size)
{
    if (has_many(column->field))
        return page_unit_text(column->field->unit, page_column_number(column, record), buf, size);
    return page_cell_text(column->field, record, buf, size);
}

static bool is_text(const shoal_field *field)
{
    return !page_is_number(field) && !has_many(field);
}

bool page_column_is_text(const struct page_column *column)
{
    return is_text(column->field);
}

static bool column_known(const struct page_column *column, const void *record)
{
    return is_text(column->field) ? page_is_known(column->field, record)
                                  : isfinite(page_column_number(column, record));
}

static void add_column(struct page_table *table, const shoal_field *field, size_t index,
                       const char *title)
{
    if (table->count < PAGE_COLUMNS_MAX)
        table->columns[table->count++] = (struct page_column){
            .field = field, .index = index, .title = title, .shown = true, .most = (double)NAN};
}

/* The best cell of a column, and whether another one says something else. */
static void find_best(const struct page_table *table, struct page_column *column)
{
    max_align_t scratch[PAGE_RECORD_BYTES / sizeof(max_align_t)];
    double best = (double)NAN;
    bool differs = false;

    for (size_t i = 0; i < table->records->count; i++) {
        const void *record = page_record(table->records, i, scratch);
        double value = page_column_number(column, record);
        column->most = fmax(column->most, value);
        if (column->field->better != 0 && !isnan(value) && !page_is_unsure(column->field, record) &&
            (isnan(best) || (value - best) * column->field->better > 0)) {
            best = value;
            (void)page_column_text(column, record, column->best, sizeof column->best);
        }
    }
    for (size_t i = 0; i < table->records->count && !differs && !isnan(best); i++) {
        char text[PAGE_CELL_TEXT];
        const void *record = page_record(table->records, i, scratch);
        differs = strcmp(page_column_text(column, record, text, sizeof text), column->best) != 0;
    }
    if (!differs)
        column->best[0] = '\0';
}

void page_table_init(struct page_table *table, const shoal_schema *schema,
                     const shoal_records *records)
{
    max_align_t scratch[PAGE_RECORD_BYTES / sizeof(max_align_t)];

    memset(table, 0, sizeof *table);
    table->schema = schema;
    table->records = records;
    for (size_t i = 0; i < schema->field_count; i++) {
        const shoal_field *field = &schema->fields[i];
        if (field->show == 0 || field->type > SHOAL_FIELD_MAP ||
            (field->title == NULL && !has_many(field)))
            continue;
        if (!has_many(field)) {
            add_column(table, field, 0, field->title);
        } else if (records->count > 0) {
            const shoal_numbers *numbers = page_numbers_of(field, page_record(records, 0, scratch));
            for (size_t n = 0; n < numbers->count && numbers->names != NULL; n++)
                add_column(table, field, n, numbers->names[n]);
        }
    }
    for (size_t c = 0; c < table->count; c++) {
        struct page_column *column = &table->columns[c];
        bool known = (column->field->flags & SHOAL_FIELD_SPARSE) == 0;
        for (size_t i = 0; i < records->count && !known; i++)
            known = column_known(column, page_record(records, i, scratch));
        column->shown = known;
        if (!page_column_is_text(column))
            find_best(table, column);
    }
}

static void fill(const struct page_table *table, struct page_columns *out)
{
    max_align_t scratch[PAGE_RECORD_BYTES / sizeof(max_align_t)];

    for (size_t c = 0; c < table->count; c++)
        if (table->columns[c].shown)
            page_columns_cell(out, PAGE_DIM, "%s", table->columns[c].title);
    for (size_t i = 0; i < table->records->count; i++) {
        const void *record = page_record(table->records, i, scratch);
        for (size_t c = 0; c < table->count; c++) {
            const struct page_column *column = &table->columns[c];
            char text[PAGE_CELL_TEXT];
            if (!column->shown)
                continue;
            page_column_text(column, record, text, sizeof text);
            bool best = column->best[0] != '\0' && strcmp(text, column->best) == 0;
            page_columns_cell(out, best ? PAGE_BOLD : PAGE_PLAIN, "%s", text);
        }
    }
}

static char align_of(const shoal_field *field)
{
    if ((field->flags & SHOAL_FIELD_WRAP) != 0)
        return 'w';
    if ((field->flags & SHOAL_FIELD_CUT) != 0)
        return 'x';
    return is_text(field) ? 'l' : 'r';
}

/* Hides the columns that matter least of those shown; false when all are needed. */
static bool drop_columns(struct page_table *table)
{
    unsigned most = 1;

    for (size_t c = 0; c < table->count; c++)
        if (table->columns[c].shown && table->columns[c].field->show > most)
            most = table->columns[c].field->show;
    for (size_t c = 0; c < table->count && most > 1; c++)
        if (table->columns[c].field->show == most)
            table->columns[c].shown = false;
    return most > 1;
}

static bool put(const struct page_screen *screen, const char *text)
{
    return screen->put(screen->ctx, text, strlen(text));
}

static size_t shown_count(const shoal_records *records)
{
    return records->hidden < records->count ? records->count - records->hidden : 0;
}

shoal_status page_table(const struct page_screen *screen, const shoal_schema *schema,
                        const shoal_records *records)
{
    shoal_records shown = *records;
    struct page_table table;
    shoal_status st = SHOAL_OK;
    char more[32], line[80];
    bool again = true;

    shown.count = shown_count(records);
    page_table_init(&table, schema, &shown);
    for (size_t c = 0; c < table.count; c++)
        if ((table.columns[c].field->flags & SHOAL_FIELD_PAGE) != 0)
            table.columns[c].shown = false;
    while (again) {
        struct page_columns out;
        char aligns[PAGE_COLUMNS_MAX + 1] = "";
        size_t count = 0;
        for (size_t c = 0; c < table.count; c++)
            if (table.columns[c].shown)
                aligns[count++] = align_of(table.columns[c].field);
        if (count == 0)
            return SHOAL_OK;
        page_columns_init(&out, screen, aligns);
        fill(&table, &out);
        again =
            screen->terminal && page_columns_needs(&out) > screen->width && drop_columns(&table);
        if (!again)
            st = page_columns_put(&out);
        page_columns_fini(&out);
    }
    if (st != SHOAL_OK || shown.count == records->count)
        return st;
    (void)snprintf(line, sizeof line, "%s %s more\n", screen->ascii ? "..." : "\xe2\x80\xa6",
                   base_format_count(records->count - shown.count, more, sizeof more));
    return put(screen, line) ? SHOAL_OK : SHOAL_E_IO;
}

/* ---- results ---- */

static bool put_lines(const struct page_screen *screen, const char *text)
{
    return text == NULL || page_lines(screen, text);
}

/* Tables of the lists in a record, each under its title where there are several. */
static shoal_status put_tables(const struct page_screen *screen, const shoal_schema *schema,
                               const void *record, bool *between)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < schema->field_count && st == SHOAL_OK; i++) {
        const shoal_field *field = &schema->fields[i];
        if (field->show == 0 || (field->flags & SHOAL_FIELD_PAGE) != 0 ||
            (field->type != SHOAL_FIELD_RECORDS && field->type != SHOAL_FIELD_KEYED))
            continue;
        const shoal_records *records = page_records_of(field, record);
        if (shown_count(records) == 0)
            continue;
        if (*between && !put(screen, "\n"))
            return SHOAL_E_IO;
        if (field->title != NULL &&
            (!page_styled(screen, PAGE_BOLD, field->title) || !put(screen, "\n")))
            return SHOAL_E_IO;
        *between = true;
        st = page_table(screen, field->of, records);
    }
    return st;
}

shoal_status page_show(const struct page_screen *screen, const shoal_result *result)
{
    bool between = result->heading != NULL && result->heading[0] != '\0';
    max_align_t scratch[PAGE_RECORD_BYTES / sizeof(max_align_t)];
    shoal_status st = SHOAL_OK;

    if (!put_lines(screen, result->heading))
        return SHOAL_E_IO;
    if (result->schema->title != NULL && result->records.count > 0) {
        if (between && !put(screen, "\n"))
            return SHOAL_E_IO;
        between = true;
        st = page_table(screen, result->schema, &result->records);
    } else if (result->records.count > 0) {
        st =
            put_tables(screen, result->schema, page_record(&result->records, 0, scratch), &between);
    }
    if (st == SHOAL_OK && result->verdict != NULL && result->verdict[0] != '\0' &&
        ((between && !put(screen, "\n")) || !put_lines(screen, result->verdict)))
        st = SHOAL_E_IO;
    if (st == SHOAL_OK && !put_lines(screen, result->lines))
        st = SHOAL_E_IO;
    return st;
}

/* ---- documents ---- */

static const char *unit_name(const shoal_field *field)
{
    static const char *const names[] = {
        [SHOAL_UNIT_NONE] = "",       [SHOAL_UNIT_COUNT] = "",     [SHOAL_UNIT_VALUE] = "",
        [SHOAL_UNIT_SECONDS] = "s",   [SHOAL_UNIT_HOURS] = "s",    [SHOAL_UNIT_MS] = "ms",
        [SHOAL_UNIT_DATE] = "time",   [SHOAL_UNIT_SHARE] = "0..1", [SHOAL_UNIT_USD] = "US$",
        [SHOAL_UNIT_BYTES] = "bytes", [SHOAL_UNIT_TIMES] = "x",    [SHOAL_UNIT_PERCENT] = "0..1",
    };

    switch (field->type) {
    case SHOAL_FIELD_BOOL: return "true or false";
    case SHOAL_FIELD_TEXT:
    case SHOAL_FIELD_CHOICE:
    case SHOAL_FIELD_TEXTS: return "text";
    case SHOAL_FIELD_RECORD:
    case SHOAL_FIELD_KEYED: return "object";
    case SHOAL_FIELD_RECORDS: return "list";
    case SHOAL_FIELD_JSON: return "JSON";
    default: return names[field->unit];
    }
}

static void document(const shoal_schema *schema, const char *before, struct base_buf *out)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        const shoal_field *field = &schema->fields[i];
        char path[200];
        if (field->name == NULL)
            continue;
        (void)snprintf(path, sizeof path, "%s%s%s", before, field->name,
                       field->type == SHOAL_FIELD_RECORDS ? "[]"
                       : field->type == SHOAL_FIELD_KEYED ? ".*"
                                                          : "");
        base_buf_printf(out, "| `%s` | %s | %s | %s |\n", path,
                        field->title == NULL || field->show == 0 ? "" : field->title,
                        unit_name(field), field->help == NULL ? "" : field->help);
        if (field->of != NULL && strlen(path) + 2 < sizeof path) {
            (void)strcat(path, ".");
            document(field->of, path, out);
        }
    }
}

void page_document(const char *heading, const shoal_schema *schema, struct base_buf *out)
{
    base_buf_printf(out, "## %s\n\n%s.\n\n", heading, schema->help);
    base_buf_puts(out, "| field | shown as | unit | what it is |\n|---|---|---|---|\n");
    document(schema, "", out);
    base_buf_puts(out, "\n");
}
