/* lp.h - a small dense linear program that grows by columns: maximise c.y, rows A y <= b or = b,
 * y >= 0.
 *
 * Made for masters of column generation: few rows (at most NUM_LP_ROWS_MAX), columns that arrive
 * while it is being solved. Rows are fixed at init; add columns and solve, as often as wanted: each
 * solve goes on from the last basis. After an optimal solve `dual` prices the rows, so the caller
 * can look for a column worth adding: one with cost - dual.column > 0. After an infeasible one
 * `dual` is the proof: dual.column >= 0 for every column, yet dual.b < 0; a column with dual.column
 * < 0 may help.
 *
 * Primal simplex with an explicit inverse that is rebuilt as rounding grows; a first phase where
 * b < 0 or a row is an equation. Cost of a pivot: O(rows^2 + rows x columns). Owner thread only. */
#ifndef NUM_LP_H
#define NUM_LP_H

#include "base/alloc.h"
#include "shoal/status.h"
#include <stdbool.h>

enum { NUM_LP_ROWS_MAX = 1024 };

enum num_lp_outcome {
    NUM_LP_OPTIMAL,
    NUM_LP_INFEASIBLE,
    NUM_LP_UNBOUNDED,
    NUM_LP_STUCK /* pivots ran out or rounding won: the last basis is kept, nothing is proven */
};

struct num_lp; /* opaque */

/* `equal` (row_count) says which rows are equations; NULL: none. Copies b and equal. SHOAL_E_INVAL
 * without rows or where b is not finite, SHOAL_E_LIMIT on too many rows. */
SHOAL_MUST_USE shoal_status num_lp_new(const struct base_alloc *alloc, uint32_t row_count,
                                       const double *b, const bool *equal, struct num_lp **out_lp);
void num_lp_free(struct num_lp *lp);
/* An empty one in *lp: as num_lp_new, but one that is there and has as many rows is used again. */
SHOAL_MUST_USE shoal_status num_lp_ready(const struct base_alloc *alloc, uint32_t row_count,
                                         const double *b, const bool *equal, struct num_lp **lp);
/* Forgets all columns and the basis; new right-hand sides (finite). Keeps the memory. */
void num_lp_reset(struct num_lp *lp, const double *b);
/* `column` (row_count) is copied. The index is 0, 1, ... in order of adding. SHOAL_E_INVAL where
 * something is not finite. */
SHOAL_MUST_USE shoal_status num_lp_add(struct num_lp *lp, double cost, const double *column,
                                       uint32_t *out_index);
uint32_t num_lp_column_count(const struct num_lp *lp);
/* At most pivot_max pivots (0: a generous default). Allocates nothing: SHOAL_OK with the
 * outcome. */
SHOAL_MUST_USE shoal_status num_lp_solve(struct num_lp *lp, uint32_t pivot_max,
                                         enum num_lp_outcome *out_outcome);
double num_lp_objective(const struct num_lp *lp);
/* (row_count) >= 0 for <= rows up to rounding. Valid after a solve, until the next call. */
const double *num_lp_dual(const struct num_lp *lp);
/* Value of a column in the current solution. */
double num_lp_value(const struct num_lp *lp, uint32_t index);
/* Since new or reset. */
uint64_t num_lp_pivots(const struct num_lp *lp);

#endif
