/* complete.h - the unknown entries of a small matrix, estimated from the known ones.
 *
 * For matrices that are nearly of low rank once every row and column has its own mean: speeds of
 * jobs that share a GPU, ratings. Values lie in [0, 1]; so do the estimates. How far such an
 * estimate is off is itself estimated, by hiding some of the known entries.
 *
 * A row without a known entry gets the means of its columns, a column without one the means of its
 * rows; where both are empty, the mean of all. Equal input and seed give equal output. Any
 * thread. */
#ifndef NUM_COMPLETE_H
#define NUM_COMPLETE_H

#include "base/alloc.h"
#include "shoal/status.h"
#include <stdbool.h>

enum { NUM_COMPLETE_RANK_MAX = 6, NUM_COMPLETE_SIDE_MAX = 4096 };

struct num_complete_result {
    uint32_t rank; /* of what was added to the means, 0 .. NUM_COMPLETE_RANK_MAX */
    uint32_t sweeps;
    double error; /* mean |estimate - value| over entries that were hidden; with fewer than
                     NUM_COMPLETE_HIDE_MIN known ones, of guessing the mean */
};
enum { NUM_COMPLETE_HIDE_MIN = 8 };

/* value, known (rows, columns), row-major; value is read only where known. out_value (rows,
 * columns) holds known entries unchanged; it may be `value` itself. With nothing known every entry
 * is 0.5, and so is the error. SHOAL_E_INVAL for a known value outside [0, 1] (NaN included) or a
 * side of 0 or above the maximum; then, and when memory is short, nothing is written. */
SHOAL_MUST_USE shoal_status num_complete(const struct base_alloc *alloc, uint32_t rows,
                                         uint32_t columns, const double *value, const bool *known,
                                         uint64_t seed, double *out_value,
                                         struct num_complete_result *out);

#endif
