/* columns.c - small CSV files of named columns (see columns.h). */
#include "market/columns.h"

#include "base/assert.h"
#include "base/err.h"
#include <string.h>

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
        env_field_trim(&csv->fields[i]);
    return st;
}

static shoal_status read_header(struct market_csv *csv, size_t count, shoal_err *err)
{
    shoal_status st = next_line(csv, err);
    struct env_header header = {&csv->lines, csv->fields, csv->field_count, true};

    if (st == SHOAL_END)
        return base_err(err, SHOAL_E_FORMAT, "cannot read %s '%.150s': it is empty",
                        csv->lines.what, csv->lines.path);
    if (st != SHOAL_OK)
        return st;
    csv->header_count = csv->field_count;
    return env_header_find(&header, csv->columns, count, err);
}

shoal_status market_csv_open(shoal_env *env, const char *what, const char *path,
                             const struct env_column *columns, size_t count, struct market_csv *csv,
                             shoal_err *err)
{
    shoal_assert(count <= MARKET_COLUMNS_MAX);
    csv->field_count = csv->header_count = 0;
    memcpy(csv->columns, columns, count * sizeof *columns);
    shoal_status st = env_lines_open(env, what, path, &csv->lines, err);
    if (st != SHOAL_OK)
        return st;
    st = read_header(csv, count, err);
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
    int at = csv->columns[column].at;

    return at < 0 ? NULL : &csv->fields[at];
}

shoal_status market_csv_expected(const struct market_csv *csv, const struct env_field *field,
                                 const char *what, shoal_err *err)
{
    return env_lines_expected(&csv->lines, field, what, err);
}
