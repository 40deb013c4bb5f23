/* result.c - results as JSON and CSV (shoal/result.h).
 *
 * Text is made in a buffer that is handed on when it is full, so that millions of records need no memory.
 * Numbers have the fewest digits that read back equal; what is not known is null, or an empty cell. */
#include "base/assert.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/err.h"
#include "base/event.h"
#include "page/record.h"
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { FLUSH_BYTES = 1 << 16, TEXT_MAX = 64 << 20, DEPTH_MAX = 8 };

struct sink {
    struct base_buf buf;
    shoal_put_fn put;
    void *ctx;
    bool stopped;
};

static void drain(struct sink *sink, size_t above)
{
    if (sink->buf.size <= above || base_buf_status(&sink->buf) != SHOAL_OK)
        return;
    sink->stopped = sink->stopped || !sink->put(sink->ctx, sink->buf.data, sink->buf.size);
    base_buf_clear(&sink->buf);
}

static shoal_status finish(struct sink *sink, shoal_err *err)
{
    drain(sink, 0);
    shoal_status st = base_buf_status(&sink->buf);
    base_buf_fini(&sink->buf);
    if (st != SHOAL_OK)
        return base_err_nomem(err, "writing a result");
    return sink->stopped ? base_err(err, SHOAL_E_IO, "the result was not taken") : SHOAL_OK;
}

/* ---- JSON ---- */

static void put_object(struct sink *sink, const shoal_field *fields, size_t count,
                       const void *record, const char *before, unsigned depth);

static void put_date(struct base_buf *out, double at_s)
{
    char text[BASE_UTC_TEXT];

    if (isfinite(at_s))
        base_buf_json_string(out, base_format_utc(at_s, text));
    else
        base_buf_puts(out, "null");
}

static void put_numbers(struct base_buf *out, const shoal_field *field, const void *record)
{
    const shoal_numbers *numbers = page_numbers_of(field, record);
    bool map = field->type == SHOAL_FIELD_MAP;

    base_buf_puts(out, map ? "{" : "[");
    for (size_t i = 0; i < numbers->count; i++) {
        base_buf_puts(out, i > 0 ? "," : "");
        if (map) {
            base_buf_json_string(out, numbers->names[i]);
            base_buf_puts(out, ":");
        }
        base_json_f64(out, numbers->values[i]);
    }
    base_buf_puts(out, map ? "}" : "]");
}

static void put_texts(struct base_buf *out, const shoal_texts *texts)
{
    base_buf_puts(out, "[");
    for (size_t i = 0; i < texts->count; i++) {
        base_buf_puts(out, i > 0 ? "," : "");
        base_buf_json_string(out, texts->items[i]);
    }
    base_buf_puts(out, "]");
}

static void put_records(struct sink *sink, const shoal_field *field, const void *record,
                        unsigned depth)
{
    const shoal_records *records = page_records_of(field, record);
    const shoal_schema *of = field->of;
    bool keyed = field->type == SHOAL_FIELD_KEYED;
    max_align_t scratch[PAGE_RECORD_BYTES / sizeof(max_align_t)];

    base_buf_puts(&sink->buf, keyed ? "{" : "[");
    for (size_t i = 0; i < records->count; i++) {
        const void *item = page_record(records, i, scratch);
        base_buf_puts(&sink->buf, i > 0 ? "," : "");
        if (keyed) {
            base_buf_json_string(&sink->buf, page_text_of(&of->fields[0], item));
            base_buf_puts(&sink->buf, ":");
        }
        put_object(sink, of->fields + keyed, of->field_count - keyed, item, "{", depth + 1);
        drain(sink, FLUSH_BYTES);
    }
    base_buf_puts(&sink->buf, keyed ? "}" : "]");
}

static void put_value(struct sink *sink, const shoal_field *field, const void *record,
                      unsigned depth)
{
    struct base_buf *out = &sink->buf;

    if (!page_is_known(field, record)) {
        base_buf_puts(out, "null");
        return;
    }
    switch (field->type) {
    case SHOAL_FIELD_U64:
        base_buf_printf(out, "%" PRIu64, *(const uint64_t *)((const char *)record + field->offset));
        break;
    case SHOAL_FIELD_F64:
    case SHOAL_FIELD_F32:
    case SHOAL_FIELD_U32:
        if (field->unit == SHOAL_UNIT_DATE)
            put_date(out, page_number_of(field, record));
        else
            base_json_f64(out, page_number_of(field, record));
        break;
    case SHOAL_FIELD_BOOL:
        base_buf_puts(out,
                      *(const bool *)((const char *)record + field->offset) ? "true" : "false");
        break;
    case SHOAL_FIELD_TEXT:
    case SHOAL_FIELD_CHOICE: base_buf_json_string(out, page_text_of(field, record)); break;
    case SHOAL_FIELD_JSON: base_buf_puts(out, page_text_of(field, record)); break;
    case SHOAL_FIELD_NUMBERS:
    case SHOAL_FIELD_MAP: put_numbers(out, field, record); break;
    case SHOAL_FIELD_TEXTS: put_texts(out, page_texts_of(field, record)); break;
    case SHOAL_FIELD_RECORD:
        put_object(sink, field->of->fields, field->of->field_count, page_record_of(field, record),
                   "{", depth + 1);
        break;
    case SHOAL_FIELD_RECORDS:
    case SHOAL_FIELD_KEYED: put_records(sink, field, record, depth); break;
    }
}

/* `before` opens the object: "{", or that and members before the first, which then has a comma. */
static void put_object(struct sink *sink, const shoal_field *fields, size_t count,
                       const void *record, const char *before, unsigned depth)
{
    const char *between = before[1] == '\0' ? "" : ",";

    shoal_assert(depth < DEPTH_MAX);
    base_buf_puts(&sink->buf, before);
    for (size_t i = 0; i < count; i++) {
        const shoal_field *field = &fields[i];
        bool optional = (field->flags & SHOAL_FIELD_OPTIONAL) != 0;
        if (field->name == NULL || (optional && !page_is_known(field, record)))
            continue;
        base_buf_printf(&sink->buf, "%s\"%s\":", between, field->name);
        put_value(sink, field, record, depth);
        between = ",";
    }
    base_buf_puts(&sink->buf, "}");
}

shoal_status shoal_result_json(const shoal_result *result, shoal_put_fn put, void *ctx,
                               shoal_err *err)
{
    struct sink sink = {.put = put, .ctx = ctx};
    max_align_t scratch[PAGE_RECORD_BYTES / sizeof(max_align_t)];

    base_buf_init(&sink.buf, &base_alloc_libc, TEXT_MAX);
    for (size_t i = 0; i < result->records.count && !sink.stopped; i++) {
        put_object(&sink, result->schema->fields, result->schema->field_count,
                   page_record(&result->records, i, scratch), "{\"v\":1", 0);
        base_buf_puts(&sink.buf, "\n");
        drain(&sink, FLUSH_BYTES);
    }
    return finish(&sink, err);
}

/* ---- CSV ---- */

/* A cell of CSV is one value; maps and lists of numbers with names are a cell for each. */
static bool in_csv(const shoal_field *field)
{
    return field->name != NULL && (field->type <= SHOAL_FIELD_MAP);
}

static void put_csv_text(struct base_buf *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        base_buf_puts(out, text);
        return;
    }
    base_buf_puts(out, "\"");
    for (; *text != '\0'; text++) {
        base_buf_append(out, text, 1);
        if (*text == '"')
            base_buf_append(out, "\"", 1);
    }
    base_buf_puts(out, "\"");
}

static void put_csv_number(struct base_buf *out, const shoal_field *field, double value)
{
    char text[BASE_UTC_TEXT];

    if (!isfinite(value))
        return;
    if (field->unit == SHOAL_UNIT_DATE)
        base_buf_puts(out, base_format_utc(value, text));
    else
        base_json_f64(out, value);
}

static void put_csv_value(struct base_buf *out, const shoal_field *field, const void *record)
{
    const char *text;

    if (field->type == SHOAL_FIELD_U64) {
        base_buf_printf(out, "%" PRIu64, *(const uint64_t *)((const char *)record + field->offset));
    } else if (page_is_number(field)) {
        put_csv_number(out, field, page_number_of(field, record));
    } else if (field->type == SHOAL_FIELD_BOOL) {
        base_buf_puts(out,
                      *(const bool *)((const char *)record + field->offset) ? "true" : "false");
    } else if (field->type <= SHOAL_FIELD_CHOICE) {
        text = page_text_of(field, record);
        if (text != NULL)
            put_csv_text(out, text);
    } else {
        const shoal_numbers *numbers = page_numbers_of(field, record);
        for (size_t i = 0; i < numbers->count; i++) {
            base_buf_puts(out, i > 0 ? "," : "");
            put_csv_number(out, field, numbers->values[i]);
        }
    }
}

static void put_csv_names(struct base_buf *out, const shoal_field *field, const void *first)
{
    const shoal_numbers *numbers;

    if (field->type != SHOAL_FIELD_NUMBERS && field->type != SHOAL_FIELD_MAP) {
        base_buf_puts(out, field->name);
        return;
    }
    numbers = page_numbers_of(field, first);
    for (size_t i = 0; i < numbers->count; i++) {
        struct base_buf name;
        base_buf_init(&name, out->alloc, 4096);
        if (numbers->names != NULL)
            base_buf_printf(&name, "%s.%s", field->name, numbers->names[i]);
        else
            base_buf_printf(&name, "%s.%zu", field->name, i);
        base_buf_puts(out, i > 0 ? "," : "");
        if (base_buf_status(&name) == SHOAL_OK)
            put_csv_text(out, name.data);
        else
            out->status = base_buf_status(&name);
        base_buf_fini(&name);
    }
}

static void put_csv_line(struct base_buf *out, const shoal_schema *schema, const void *record,
                         void (*cell)(struct base_buf *, const shoal_field *, const void *))
{
    const char *between = "";

    for (size_t i = 0; i < schema->field_count; i++) {
        const shoal_field *field = &schema->fields[i];
        if (!in_csv(field))
            continue;
        base_buf_puts(out, between);
        cell(out, field, record);
        between = ",";
    }
    base_buf_puts(out, "\n");
}

/* The list whose field asks for it, else the first list that tables show; NULL where there is none. */
static const shoal_field *csv_list(const shoal_schema *schema)
{
    const shoal_field *first = NULL;

    for (size_t i = 0; i < schema->field_count; i++) {
        const shoal_field *field = &schema->fields[i];
        if (field->type != SHOAL_FIELD_RECORDS)
            continue;
        if ((field->flags & SHOAL_FIELD_CSV) != 0)
            return field;
        if (first == NULL && field->show > 0)
            first = field;
    }
    return first;
}

shoal_status shoal_result_csv(const shoal_result *result, shoal_put_fn put, void *ctx,
                              shoal_err *err)
{
    struct sink sink = {.put = put, .ctx = ctx};
    const shoal_schema *schema = result->schema;
    const shoal_records *records = &result->records;
    max_align_t scratch[PAGE_RECORD_BYTES / sizeof(max_align_t)],
        head[PAGE_RECORD_BYTES / sizeof(max_align_t)];

    if (schema->title == NULL && records->count > 0) {
        const void *whole = page_record(records, 0, head);
        const shoal_field *field = csv_list(schema);
        if (field != NULL) {
            schema = field->of;
            records = page_records_of(field, whole);
        }
    }
    base_buf_init(&sink.buf, &base_alloc_libc, TEXT_MAX);
    if (records->count > 0)
        put_csv_line(&sink.buf, schema, page_record(records, 0, scratch), put_csv_names);
    for (size_t i = 0; i < records->count && !sink.stopped; i++) {
        put_csv_line(&sink.buf, schema, page_record(records, i, scratch), put_csv_value);
        drain(&sink, FLUSH_BYTES);
    }
    return finish(&sink, err);
}
