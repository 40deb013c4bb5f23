/* design.h - which experiments are worth making: optimal design under a budget.
 *
 * Experiment i would measure the row a_i (its features) at cost_i, with noise of standard deviation
 * sigma_i. Wanted are the experiments, each once or not at all, of total cost at most `budget`,
 * whose information matrix sum a_i a_i' / sigma_i^2 (+ `known`, what was measured before) makes the
 * prediction at the rows in `at` surest: the smallest sum of variances (A-optimality over the
 * predictions that matter; `at` the unit vectors gives the classical one) or the largest
 * determinant (D). Relaxed to weights between 0 and 1 first, whose optimum bounds what any choice
 * can reach, then rounded and improved by exchanges; the result says how far it can be from the
 * best.
 *
 * Deterministic; any thread. How: design.c. Tests, against all subsets:
 * tests/unit/num/test_design.c. */
#ifndef NUM_DESIGN_H
#define NUM_DESIGN_H

#include "base/alloc.h"
#include "shoal/status.h"
#include <stdbool.h>
#include <stddef.h>

enum { NUM_DESIGN_COLUMNS_MAX = 32, NUM_DESIGN_ROWS_MAX = 4096 };
enum num_design_by { NUM_DESIGN_A, NUM_DESIGN_D };

struct num_design_problem {
    enum num_design_by by;
    size_t rows, columns;
    const double *a;     /* (rows, columns) */
    const double *cost;  /* (rows), > 0 */
    const double *sigma; /* (rows), > 0; NULL: ones */
    const double *known; /* (columns, columns), symmetric, not negative; NULL: nothing */
    const double *at;    /* (at_rows, columns): A only */
    size_t at_rows;
    double budget;
};

struct num_design_result {
    double value; /* sum of variances, or minus the logarithm of the determinant: lower is better */
    double bound; /* no choice within the budget is below this */
    double cost;
};

/* pick: (rows), set on success, as is *out. SHOAL_E_INVAL: numbers out of range, or a budget within
 * which no choice makes the matrix regular (err says which, and what the cheapest such choice
 * costs). Directions whose information is below 1e-12 of their column's in all rows together count
 * as not measured. */
SHOAL_MUST_USE shoal_status num_design(const struct base_alloc *alloc,
                                       const struct num_design_problem *problem, bool *pick,
                                       struct num_design_result *out, shoal_err *err);

#endif
