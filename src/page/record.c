/* record.c - see record.h. Tests: tests/unit/page/test_result.c. */
#include "page/record.h"

#include "base/assert.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

const void *page_record(const shoal_records *records, size_t index, void *scratch)
{
    if (records->fill == NULL)
        return (const char *)records->first + index * records->stride;
    shoal_assert(records->stride <= PAGE_RECORD_BYTES);
    records->fill(records->ctx, index, scratch);
    return scratch;
}

static const void *at(const shoal_field *field, const void *record)
{
    return (const char *)record + field->offset;
}

bool page_is_number(const shoal_field *field)
{
    return field->type <= SHOAL_FIELD_U32;
}

double page_number_of(const shoal_field *field, const void *record)
{
    switch (field->type) {
    case SHOAL_FIELD_F64: return *(const double *)at(field, record);
    case SHOAL_FIELD_F32: return (double)*(const float *)at(field, record);
    case SHOAL_FIELD_U64: return (double)*(const uint64_t *)at(field, record);
    case SHOAL_FIELD_U32: return *(const uint32_t *)at(field, record);
    default: return (double)NAN;
    }
}

const char *page_text_of(const shoal_field *field, const void *record)
{
    if (field->type == SHOAL_FIELD_TEXT || field->type == SHOAL_FIELD_JSON)
        return *(const char *const *)at(field, record);
    shoal_assert(field->type == SHOAL_FIELD_CHOICE);
    uint32_t wanted = *(const uint32_t *)at(field, record);
    for (uint32_t i = 0; field->choices[i] != NULL; i++)
        if (i == wanted)
            return field->choices[i];
    return NULL;
}

const shoal_numbers *page_numbers_of(const shoal_field *field, const void *record)
{
    shoal_assert(field->type == SHOAL_FIELD_NUMBERS || field->type == SHOAL_FIELD_MAP);
    return at(field, record);
}

const shoal_records *page_records_of(const shoal_field *field, const void *record)
{
    shoal_assert(field->type == SHOAL_FIELD_RECORDS || field->type == SHOAL_FIELD_KEYED);
    return at(field, record);
}

const shoal_texts *page_texts_of(const shoal_field *field, const void *record)
{
    shoal_assert(field->type == SHOAL_FIELD_TEXTS);
    return at(field, record);
}

const void *page_record_of(const shoal_field *field, const void *record)
{
    shoal_assert(field->type == SHOAL_FIELD_RECORD);
    return *(const void *const *)at(field, record);
}

bool page_is_known(const shoal_field *field, const void *record)
{
    switch (field->type) {
    case SHOAL_FIELD_F64:
    case SHOAL_FIELD_F32: return isfinite(page_number_of(field, record));
    case SHOAL_FIELD_U64:
    case SHOAL_FIELD_U32:
    case SHOAL_FIELD_BOOL: return true;
    case SHOAL_FIELD_TEXT:
    case SHOAL_FIELD_CHOICE:
    case SHOAL_FIELD_JSON: return page_text_of(field, record) != NULL;
    case SHOAL_FIELD_NUMBERS:
    case SHOAL_FIELD_MAP: return page_numbers_of(field, record)->values != NULL;
    case SHOAL_FIELD_TEXTS: return page_texts_of(field, record)->items != NULL;
    case SHOAL_FIELD_RECORD: return page_record_of(field, record) != NULL;
    case SHOAL_FIELD_RECORDS:
    case SHOAL_FIELD_KEYED: {
        const shoal_records *records = page_records_of(field, record);
        return records->first != NULL || records->fill != NULL;
    }
    }
    return false;
}

bool page_is_unsure(const shoal_field *field, const void *record)
{
    return field->unsure != 0 && *(const bool *)((const char *)record + field->unsure);
}

static const shoal_field *find_field(const shoal_schema *schema, const char *name)
{
    for (size_t i = 0; i < schema->field_count; i++)
        if (schema->fields[i].name != NULL && strcmp(schema->fields[i].name, name) == 0)
            return &schema->fields[i];
    return NULL;
}

double shoal_result_number(const shoal_result *result, size_t index, const char *name)
{
    max_align_t scratch[PAGE_RECORD_BYTES / sizeof(max_align_t)];
    const shoal_field *field = find_field(result->schema, name);

    if (field == NULL || index >= result->records.count)
        return (double)NAN;
    const void *record = page_record(&result->records, index, scratch);
    if (field->type == SHOAL_FIELD_BOOL)
        return *(const bool *)at(field, record) ? 1 : 0;
    return page_number_of(field, record);
}

const char *shoal_result_text(const shoal_result *result, size_t index, const char *name)
{
    max_align_t scratch[PAGE_RECORD_BYTES / sizeof(max_align_t)];
    const shoal_field *field = find_field(result->schema, name);

    if (field == NULL || index >= result->records.count ||
        (field->type != SHOAL_FIELD_TEXT && field->type != SHOAL_FIELD_CHOICE &&
         field->type != SHOAL_FIELD_JSON))
        return NULL;
    return page_text_of(field, page_record(&result->records, index, scratch));
}
