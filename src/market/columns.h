/* columns.h - small CSV files of named columns: models and fleets.
 *
 * Blank lines and lines that start with '#' are skipped, blanks around fields do not count. An
 * unknown column is an error that offers the nearest name (env/header.h). Owner thread only. */
#ifndef MARKET_COLUMNS_H
#define MARKET_COLUMNS_H

#include "env/header.h"

enum { MARKET_COLUMNS_MAX = 16 };

struct market_csv {
    struct env_lines lines;
    struct env_field fields[ENV_FIELDS_MAX];
    size_t field_count;
    size_t header_count; /* columns of the header */
    struct env_column columns[MARKET_COLUMNS_MAX];
};

/* Opens and reads the header. `what` ("fleet"), `path` and the names of columns are borrowed until
 * closing; on failure it is closed. */
SHOAL_MUST_USE shoal_status market_csv_open(shoal_env *env, const char *what, const char *path,
                                            const struct env_column *columns, size_t count,
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
