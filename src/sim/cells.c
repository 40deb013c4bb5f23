/* cells.c - see cells.h. Tests: tests/unit/sim/test_profile.c. */
#include "sim/cells.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "env/header.h"
#include <math.h>
#include <stdio.h>

enum { ROWS_MAX = 1000000 };

void sim_cells_fini(struct sim_cells *t)
{
    base_free(t->alloc, t->cells);
}

static shoal_status read_cell(struct env_lines *in, const struct sim_cells_column *column,
                              const struct env_field *f, double *out, shoal_err *err)
{
    char expected[100];
    bool good = base_parse_f64(f->text, f->length, out) && *out >= 0;

    if (good &&
        (column->values == SIM_CELLS_ANY || (column->values == SIM_CELLS_POSITIVE && *out > 0) ||
         (*out >= 1 && *out <= column->max && *out == floor(*out))))
        return SHOAL_OK;
    if (column->values == SIM_CELLS_WHOLE)
        snprintf(expected, sizeof expected, "%s, a whole number from 1 to %.0f", column->name,
                 column->max);
    else
        snprintf(expected, sizeof expected, "%s, a number %s", column->name,
                 column->values == SIM_CELLS_ANY ? "of 0 or more" : "above 0");
    return env_lines_expected(in, f, expected, err);
}

/* A file being read. */
struct reading {
    struct env_lines in;
    struct env_field fields[ENV_FIELDS_MAX];
    size_t field_count;
    const struct sim_cells_column *columns;
    struct env_column header[SIM_CELLS_COLUMNS_MAX];
};

static shoal_status next(struct reading *rd, shoal_err *err)
{
    return env_lines_fields(&rd->in, ',', 0, rd->fields, &rd->field_count, err);
}

static shoal_status read_header(struct reading *rd, size_t column_count, shoal_err *err)
{
    shoal_status st = next(rd, err);
    struct env_header header = {&rd->in, rd->fields, rd->field_count, false};

    if (st != SHOAL_OK)
        return st;
    for (size_t c = 0; c < column_count; c++)
        rd->header[c] = (struct env_column){rd->columns[c].name, true, -1};
    return env_header_find(&header, rd->header, column_count, err);
}

static shoal_status read_row(struct reading *rd, struct sim_cells *t, shoal_err *err)
{
    if (t->row_count == ROWS_MAX)
        return env_lines_bad(&rd->in, 0, err, "more than %d rows", ROWS_MAX);
    if (base_reserve(t->alloc, (void **)&t->cells, &t->cap, t->row_count + 1,
                     t->column_count * sizeof *t->cells) != 0)
        return base_err_nomem(err, "reading a profile");
    double *row = t->cells + t->row_count * t->column_count;
    for (size_t c = 0; c < t->column_count; c++) {
        int at = rd->header[c].at;
        if ((size_t)at >= rd->field_count)
            return env_lines_bad(&rd->in, 0, err, "expected %d fields, found %zu", at + 1,
                                 rd->field_count);
        shoal_status st = read_cell(&rd->in, &rd->columns[c], &rd->fields[at], &row[c], err);
        if (st != SHOAL_OK)
            return st;
    }
    t->row_count++;
    return SHOAL_OK;
}

shoal_status sim_cells_read(shoal_env *env, const char *path,
                            const struct sim_cells_column *columns, size_t column_count,
                            struct sim_cells *out, shoal_err *err)
{
    struct reading rd = {.columns = columns};
    struct sim_cells t = {.alloc = env_alloc(env), .column_count = column_count};

    shoal_assert(column_count <= SIM_CELLS_COLUMNS_MAX);
    shoal_status st = env_lines_open(env, "profile", path, &rd.in, err);
    if (st != SHOAL_OK)
        return st;
    st = read_header(&rd, column_count, err);
    while (st == SHOAL_OK && (st = next(&rd, err)) == SHOAL_OK)
        st = read_row(&rd, &t, err);
    if (st == SHOAL_END && t.row_count > 0)
        st = SHOAL_OK;
    else if (st == SHOAL_END && rd.in.line == 0)
        st = base_err(err, SHOAL_E_FORMAT, "cannot read profile '%s': it is empty", path);
    else if (st == SHOAL_END)
        st = env_lines_bad(&rd.in, 0, err, "expected rows of numbers, found none");
    env_lines_close(&rd.in);
    if (st != SHOAL_OK)
        sim_cells_fini(&t);
    else
        *out = t;
    return st;
}
