/* columns.h - columns found by the names in a header, and small CSV files made of them: models and
 * fleets. Readers of prices (reader.h) use the first part.
 *
 * Blank lines and lines that start with '#' are skipped. An unknown column is an error that offers
 * the nearest name. Owner thread only. */
#ifndef MARKET_COLUMNS_H
#define MARKET_COLUMNS_H

#include "env/lines.h"

enum { MARKET_COLUMNS_MAX = 16 };

struct market_column {
    const char *name;
    bool required;
};

/* The fields of a header, and the columns that are looked for among them. */
struct market_header {
    const struct env_lines *lines;
    struct env_field *fields;
    size_t field_count;
    const struct market_column *columns;
    size_t count;
    bool strict; /* any other column is an error */
};
/* Which field each column is (at[count]), -1: none; in capital letters or not, blanks around names
 * do not count and are cut off. SHOAL_E_FORMAT: a column that is unknown, there twice, or required
 * and missing. */
SHOAL_MUST_USE shoal_status market_columns_find(const struct market_header *header, int *at,
                                                shoal_err *err);

struct market_csv {
    struct env_lines lines;
    struct env_field fields[ENV_FIELDS_MAX];
    size_t field_count;
    size_t header_count;        /* columns of the header */
    int at[MARKET_COLUMNS_MAX]; /* by column wanted: which field, -1: it is not there */
};

/* Opens and reads the header. `what` ("fleet") and `path` are borrowed until closing; on failure it
 * is closed. */
SHOAL_MUST_USE shoal_status market_csv_open(shoal_env *env, const char *what, const char *path,
                                            const struct market_column *columns, size_t count,
                                            struct market_csv *csv, shoal_err *err);
void market_csv_close(struct market_csv *csv);
/* The next row. SHOAL_END after the last. */
SHOAL_MUST_USE shoal_status market_csv_next(struct market_csv *csv, shoal_err *err);
/* The field of a column, NULL where the file has no such column; its length may be 0. */
const struct env_field *market_csv_get(const struct market_csv *csv, size_t column);
/* "expected WHAT, found 'x'" at the field; SHOAL_E_FORMAT. */
shoal_status market_csv_expected(const struct market_csv *csv, const struct env_field *field,
                                 const char *what, shoal_err *err);

#endif
