/* least.h - small dense least squares: with coefficients that are not negative, and with few of
 * them.
 *
 * For tens to thousands of rows and at most NUM_LEAST_COLUMNS_MAX columns, where exactness and a
 * proof matter more than speed; num/lasso.h is for data. Matrices are (rows, columns), row-major.
 * Deterministic. Any thread, on caller's memory. Tests: tests/unit/num/test_nnls.c, test_few.c. */
#ifndef NUM_LEAST_H
#define NUM_LEAST_H

#include "base/alloc.h"
#include "shoal/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NUM_LEAST_COLUMNS_MAX = 32, NUM_LEAST_ROWS_MAX = 100000, NUM_LEAST_FOLDS_MAX = 1000 };

/* What is to be explained, b, by what: the columns of a. */
struct num_least {
    size_t rows, columns;
    const double *a;      /* (rows, columns) */
    const double *b;      /* (rows) */
    const double *weight; /* (rows), of squared errors; NULL: ones */
};

/* At least a row and a column and not too many, finite numbers, no weight below 0. */
bool num_least_sound(const struct num_least *p);
/* The sum of weight_i * (b - intercept - a x)_i^2. */
double num_least_rss(const struct num_least *p, double intercept, const double *x);

/* x >= 0 with the smallest sum of weight_i * (a x - b)_i^2, by Lawson and Hanson's active sets.
 * SHOAL_E_INVAL: the problem is not sound, or its numbers are so far apart that the sum leaves the
 * range of a double; SHOAL_E_NOMEM. x (columns) changes only on success. *out_rss (may be NULL) is
 * that sum. A column of zeros, or one that depends on those used, gets 0. */
SHOAL_MUST_USE shoal_status num_nnls(const struct base_alloc *alloc, const struct num_least *p,
                                     double *x, double *out_rss);

struct num_few_fit {
    double intercept;
    double x[NUM_LEAST_COLUMNS_MAX];
    double lambda; /* the penalty that cross-validation chose */
    double rss;    /* on all rows: the sum of weight_i * error_i^2 */
    double cv_rss; /* (weighted) mean of squared errors on rows left out, at that penalty */
    size_t used;   /* coefficients that are not 0 */
    double gap;    /* proven: the worst distance of a fit's objective from its least, of a solve on
                      the way too, in shares of the variance of b */
};

/* Lasso with an intercept over standardised columns, the penalty chosen by leaving out one group of
 * rows at a time (fold[i] is row i's group, 0 .. folds - 1; every group has a row) along a path of
 * penalties, the larger of equals; coefficients are for the columns as given. Columns that are
 * constant get 0. SHOAL_E_INVAL: as above, fewer than 2 or more than NUM_LEAST_FOLDS_MAX folds, a
 * fold without a row, or all weight in one fold. *out changes only on success. */
SHOAL_MUST_USE shoal_status num_few(const struct base_alloc *alloc, const struct num_least *p,
                                    const uint32_t *fold, uint32_t folds, struct num_few_fit *out);

#endif
