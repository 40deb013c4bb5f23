/* columns.h - a matrix by columns, borrowed.
 *
 * Sparse: column j holds rows index[start[j]] .. index[start[j + 1] - 1], ascending, with their
 * values. Dense (index is NULL): value is (columns, rows), all entries of a column together, and
 * start is not looked at. Immutable after it was made; any thread. */
#ifndef NUM_COLUMNS_H
#define NUM_COLUMNS_H

#include <stdint.h>

struct num_columns {
    uint32_t rows; /* below 2^31 */
    uint32_t columns;
    const uint64_t *start; /* (columns + 1) */
    const uint32_t *index; /* below rows, ascending in a column; NULL: dense */
    const float *value;
};

#endif
