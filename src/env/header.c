/* header.c - see header.h. */
#include "env/header.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LIST_SIZE = 150 }; /* leaves room for "did you mean" in a hint */

void env_field_trim(struct env_field *field)
{
    while (field->length > 0 && field->text[0] == ' ') {
        field->text++;
        field->length--;
    }
    while (field->length > 0 && field->text[field->length - 1] == ' ')
        field->length--;
}

bool env_is_name(const char *text, size_t length, const char *name)
{
    while (length > 0 && text[0] == ' ') {
        text++;
        length--;
    }
    while (length > 0 && text[length - 1] == ' ')
        length--;
    return strlen(name) == length && strncasecmp(text, name, length) == 0;
}

/* "a, b, c": the names, or the required ones; whole names only, "..." for those left out. */
static const char *list_names(const struct env_column *columns, size_t count, bool required,
                              char list[LIST_SIZE])
{
    static const char more[] = ", ...";
    size_t used = 0;

    list[0] = '\0';
    for (size_t c = 0; c < count; c++) {
        if (required && !columns[c].required)
            continue;
        if (used + strlen(columns[c].name) + 2 + sizeof more > LIST_SIZE) {
            memcpy(list + used, more, sizeof more);
            break;
        }
        used += (size_t)snprintf(list + used, LIST_SIZE - used, "%s%s", used > 0 ? ", " : "",
                                 columns[c].name);
    }
    return list;
}

static shoal_status unknown(const struct env_header *header, const struct env_field *field,
                            const struct env_column *columns, size_t count, shoal_err *err)
{
    const char *names[ENV_FIELDS_MAX];
    char shown[ENV_SHOWN_MAX], list[LIST_SIZE];

    for (size_t c = 0; c < count; c++)
        names[c] = columns[c].name;
    list_names(columns, count, false, list);
    env_lines_show(field->text, field->length, shown);
    if (field->length == 0)
        env_lines_bad(header->lines, field->column, err,
                      "expected the name of a column, "
                      "found nothing");
    else
        env_lines_bad(header->lines, field->column, err, "unknown column '%s'", shown);
    const char *near = base_nearest(shown, names, count);
    if (near != NULL)
        base_err_hint(err, "did you mean '%s'? known are %s", near, list);
    else
        base_err_hint(err, "known are %s", list);
    return SHOAL_E_FORMAT;
}

static shoal_status missing(const struct env_header *header, const struct env_column *columns,
                            size_t count, const char *name, shoal_err *err)
{
    char list[LIST_SIZE];

    env_lines_bad(header->lines, 0, err, "expected a header with a column '%s'", name);
    base_err_hint(err, "a header must have %s", list_names(columns, count, true, list));
    return SHOAL_E_FORMAT;
}

shoal_status env_header_find(const struct env_header *header, struct env_column *columns,
                             size_t count, shoal_err *err)
{
    shoal_assert(count <= ENV_FIELDS_MAX);
    for (size_t c = 0; c < count; c++)
        columns[c].at = -1;
    for (size_t f = 0; f < header->field_count; f++) {
        struct env_field *field = &header->fields[f];
        size_t c = 0;
        env_field_trim(field);
        while (c < count && !env_is_name(field->text, field->length, columns[c].name))
            c++;
        if (c == count && header->strict)
            return unknown(header, field, columns, count, err);
        if (c == count)
            continue;
        if (columns[c].at >= 0)
            return env_lines_bad(header->lines, field->column, err, "column '%s' is there twice",
                                 columns[c].name);
        columns[c].at = (int)f;
    }
    for (size_t c = 0; c < count; c++)
        if (columns[c].required && columns[c].at < 0)
            return missing(header, columns, count, columns[c].name, err);
    return SHOAL_OK;
}
