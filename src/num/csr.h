/* csr.h - a sparse matrix by rows, borrowed.
 *
 * Row i holds index[start[i]] .. index[start[i + 1] - 1], ascending, with their values; start[0]
 * need not be 0, so a range of rows is a matrix too. Immutable after it was made; any thread. */
#ifndef NUM_CSR_H
#define NUM_CSR_H

#include <stdint.h>

struct num_csr {
    uint64_t rows;
    uint32_t columns;
    const uint64_t *start; /* (rows + 1) */
    const uint32_t *index; /* below columns, ascending in a row */
    const float *value;    /* NULL: every entry is 1 */
};

#endif
