/* columns.c - columns by name, and small CSV files made of them (see columns.h). */
#include "market/columns.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- headers ---- */

static void trim(struct env_field *field)
{
    while (field->length > 0 && field->text[0] == ' ') {
        field->text++;
        field->length--;
    }
    while (field->length > 0 && field->text[field->length - 1] == ' ')
        field->length--;
}

static shoal_status unknown_column(const struct market_header *h, const struct env_field *field,
                                   shoal_err *err)
{
    const char *names[MARKET_COLUMNS_MAX];
    char shown[ENV_SHOWN_MAX], list[150] = "";

    for (size_t i = 0; i < h->count; i++) {
        size_t used = strlen(list);
        names[i] = h->columns[i].name;
        snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    env_lines_show(field->text, field->length, shown);
    env_lines_bad(h->lines, field->column, err, "unknown column '%s'", shown);
    const char *near = base_nearest(shown, names, h->count);
    if (near != NULL)
        base_err_hint(err, "did you mean '%s'? known are %s", near, list);
    else
        base_err_hint(err, "known are %s", list);
    return SHOAL_E_FORMAT;
}

shoal_status market_columns_find(const struct market_header *h, int *at, shoal_err *err)
{
    shoal_assert(h->count <= MARKET_COLUMNS_MAX);
    for (size_t c = 0; c < h->count; c++)
        at[c] = -1;
    for (size_t f = 0; f < h->field_count; f++) {
        struct env_field *field = &h->fields[f];
        size_t c = 0;
        trim(field);
        while (c < h->count && (strlen(h->columns[c].name) != field->length ||
                                strncasecmp(h->columns[c].name, field->text, field->length) != 0))
            c++;
        if (c == h->count && h->strict)
            return unknown_column(h, field, err);
        if (c == h->count)
            continue;
        if (at[c] >= 0)
            return env_lines_bad(h->lines, field->column, err, "column '%s' is there twice",
                                 h->columns[c].name);
        at[c] = (int)f;
    }
    for (size_t c = 0; c < h->count; c++)
        if (h->columns[c].required && at[c] < 0)
            return env_lines_bad(h->lines, 0, err, "expected a header with a column '%s'",
                                 h->columns[c].name);
    return SHOAL_OK;
}

/* ---- files ---- */

static shoal_status next_line(struct market_csv *csv, shoal_err *err)
{
    char *text;
    size_t length;
    shoal_status st;

    for (;;) {
        st = env_lines_next(&csv->lines, &text, &length, err);
        if (st != SHOAL_OK)
            return st;
        size_t blank = 0;
        while (blank < length && (text[blank] == ' ' || text[blank] == '\t'))
            blank++;
        if (blank < length && text[blank] != '#')
            break;
    }
    st = env_lines_split(&csv->lines, text, length, ',', csv->fields, &csv->field_count, err);
    for (size_t i = 0; st == SHOAL_OK && i < csv->field_count; i++)
        trim(&csv->fields[i]);
    return st;
}

static shoal_status read_header(struct market_csv *csv, const struct market_column *columns,
                                size_t count, shoal_err *err)
{
    shoal_status st = next_line(csv, err);

    if (st == SHOAL_END)
        return base_err(err, SHOAL_E_FORMAT, "cannot read %s '%.150s': it is empty",
                        csv->lines.what, csv->lines.path);
    if (st != SHOAL_OK)
        return st;
    csv->header_count = csv->field_count;
    struct market_header header = {.lines = &csv->lines,
                                   .fields = csv->fields,
                                   .field_count = csv->field_count,
                                   .columns = columns,
                                   .count = count,
                                   .strict = true};
    return market_columns_find(&header, csv->at, err);
}

shoal_status market_csv_open(shoal_env *env, const char *what, const char *path,
                             const struct market_column *columns, size_t count,
                             struct market_csv *csv, shoal_err *err)
{
    shoal_assert(count <= MARKET_COLUMNS_MAX);
    csv->field_count = csv->header_count = 0;
    for (size_t i = 0; i < MARKET_COLUMNS_MAX; i++)
        csv->at[i] = -1;
    shoal_status st = env_lines_open(env, what, path, &csv->lines, err);
    if (st != SHOAL_OK)
        return st;
    st = read_header(csv, columns, count, err);
    if (st != SHOAL_OK)
        env_lines_close(&csv->lines);
    return st;
}

void market_csv_close(struct market_csv *csv)
{
    env_lines_close(&csv->lines);
}

shoal_status market_csv_next(struct market_csv *csv, shoal_err *err)
{
    shoal_status st = next_line(csv, err);

    if (st == SHOAL_OK && csv->field_count != csv->header_count)
        return env_lines_bad(&csv->lines, 0, err, "expected %zu fields as in the header, found %zu",
                             csv->header_count, csv->field_count);
    return st;
}

const struct env_field *market_csv_get(const struct market_csv *csv, size_t column)
{
    return csv->at[column] < 0 ? NULL : &csv->fields[csv->at[column]];
}

shoal_status market_csv_expected(const struct market_csv *csv, const struct env_field *field,
                                 const char *what, shoal_err *err)
{
    char shown[ENV_SHOWN_MAX];

    return env_lines_bad(&csv->lines, field->column, err, "expected %s, found '%s'", what,
                         env_lines_show(field->text, field->length, shown));
}
