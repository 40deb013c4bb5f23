/* cells.h - numbers of CSV files, whose columns are found by the names in the header, since their
 * order differs between files. Any thread. */
#ifndef SIM_CELLS_H
#define SIM_CELLS_H

#include "env/env.h"

enum { SIM_CELLS_COLUMNS_MAX = 5 };

/* A column wanted, and what may stand in it. */
struct sim_cells_column {
    const char *name;
    /* above 0; 0 or more; whole from 1 to max */
    enum { SIM_CELLS_POSITIVE, SIM_CELLS_ANY, SIM_CELLS_WHOLE } values;
    double max;
};

struct sim_cells {
    const struct base_alloc *alloc;
    double *cells; /* (rows, columns) */
    size_t row_count, cap;
    size_t column_count;
};

/* The named columns of a file, in the order of `columns`; at least a row. */
SHOAL_MUST_USE shoal_status sim_cells_read(shoal_env *env, const char *path,
                                           const struct sim_cells_column *columns,
                                           size_t column_count, struct sim_cells *out,
                                           shoal_err *err);
void sim_cells_fini(struct sim_cells *t);

#endif
