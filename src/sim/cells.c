/* cells.c - see cells.h. Tests: tests/unit/sim/test_profile.c. */
#include "sim/cells.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "env/lines.h"
#include <math.h>
#include <string.h>

enum { ROWS_MAX = 1000000 };

void sim_cells_fini(struct sim_cells *t)
{
    base_free(t->alloc, t->cells);
}

static shoal_status find_columns(struct env_lines *in, const struct env_field *fields,
                                 size_t field_count, const struct sim_cells_column *columns,
                                 size_t column_count, int *at, shoal_err *err)
{
    for (size_t c = 0; c < column_count; c++) {
        const char *name = columns[c].name;
        at[c] = -1;
        for (size_t f = 0; f < field_count; f++)
            if (fields[f].length == strlen(name) &&
                memcmp(fields[f].text, name, fields[f].length) == 0)
                at[c] = (int)f;
        if (at[c] < 0)
            return env_lines_bad(in, 0, err, "expected a column '%s' in the header", name);
    }
    return SHOAL_OK;
}

static shoal_status read_cell(struct env_lines *in, const struct sim_cells_column *column,
                              const struct env_field *f, double *out, shoal_err *err)
{
    char shown[ENV_SHOWN_MAX];
    bool good = base_parse_f64(f->text, f->length, out) && *out >= 0;

    if (good &&
        (column->values == SIM_CELLS_ANY || (column->values == SIM_CELLS_POSITIVE && *out > 0) ||
         (*out >= 1 && *out <= column->max && *out == floor(*out))))
        return SHOAL_OK;
    env_lines_show(f->text, f->length, shown);
    if (column->values == SIM_CELLS_WHOLE)
        return env_lines_bad(in, f->column, err,
                             "expected %s, a whole number from 1 to %.0f, found '%s'", column->name,
                             column->max, shown);
    return env_lines_bad(in, f->column, err, "expected %s, a number %s, found '%s'", column->name,
                         column->values == SIM_CELLS_ANY ? "of 0 or more" : "above 0", shown);
}

static shoal_status read_row(struct env_lines *in, const struct sim_cells_column *columns,
                             const struct env_field *fields, size_t field_count, const int *at,
                             struct sim_cells *t, shoal_err *err)
{
    double *row = t->cells + t->row_count * t->column_count;

    for (size_t c = 0; c < t->column_count; c++) {
        if ((size_t)at[c] >= field_count)
            return env_lines_bad(in, 0, err, "expected %d fields, found %zu", at[c] + 1,
                                 field_count);
        shoal_status st = read_cell(in, &columns[c], &fields[at[c]], &row[c], err);
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
    struct env_lines in;
    struct env_field fields[ENV_FIELDS_MAX];
    struct sim_cells t = {.alloc = env_alloc(env), .column_count = column_count};
    int at[SIM_CELLS_COLUMNS_MAX] = {0};
    size_t length, field_count;
    char *text;
    bool header = true;

    shoal_assert(column_count <= SIM_CELLS_COLUMNS_MAX);
    shoal_status st = env_lines_open(env, "profile", path, &in, err);
    if (st != SHOAL_OK)
        return st;
    while ((st = env_lines_next(&in, &text, &length, err)) == SHOAL_OK) {
        if (length == 0)
            continue;
        st = env_lines_split(&in, text, length, ',', fields, &field_count, err);
        if (st == SHOAL_OK && header) {
            st = find_columns(&in, fields, field_count, columns, column_count, at, err);
            header = false;
        } else if (st == SHOAL_OK) {
            if (t.row_count == ROWS_MAX)
                st = env_lines_bad(&in, 0, err, "more than %d rows", ROWS_MAX);
            else if (base_reserve(t.alloc, (void **)&t.cells, &t.cap, t.row_count + 1,
                                  column_count * sizeof *t.cells) != 0)
                st = base_err_nomem(err, "reading a profile");
            else
                st = read_row(&in, columns, fields, field_count, at, &t, err);
        }
        if (st != SHOAL_OK)
            break;
    }
    if (st == SHOAL_END)
        st = t.row_count > 0 ? SHOAL_OK
                             : env_lines_bad(&in, 0, err, "expected rows of numbers, found none");
    env_lines_close(&in);
    if (st != SHOAL_OK)
        sim_cells_fini(&t);
    else
        *out = t;
    return st;
}
