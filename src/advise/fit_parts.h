/* fit_parts.h - the models behind fit.h. `skip` is a machine count to leave out, 0: none; `ahead`
 * below 1: only the first such share of each curve's iterations is seen. Any thread. */
#ifndef ADVISE_FIT_PARTS_H
#define ADVISE_FIT_PARTS_H

#include "advise/fit.h"

enum { ADVISE_FEW_COLUMNS = 12 };

/* Iterations at which the curve passes a loss, in between by lines; INFINITY: it does not. */
double advise_curve_at(const struct advise_curve *curve, double loss);

SHOAL_MUST_USE shoal_status advise_time_fit(const struct base_alloc *alloc,
                                            const struct advise_runs *runs, uint32_t algorithm,
                                            uint32_t skip, struct advise_time *out);
double advise_time_step_s(const struct advise_time *time, double machines, double size);

/* `best`: NAN, or what is known. */
SHOAL_MUST_USE shoal_status advise_stretch_fit(const struct advise_algorithm *a, uint32_t skip,
                                               double ahead, double best, struct base_arena *arena,
                                               struct advise_model *out);
double advise_stretch_steps(const struct advise_model *model, uint32_t tail, double machines,
                            double loss);

SHOAL_MUST_USE shoal_status advise_few_fit(const struct advise_algorithm *a, uint32_t skip,
                                           double ahead, double best, struct base_arena *arena,
                                           struct advise_model *out);
double advise_few_steps(const struct advise_model *model, uint32_t which, double machines,
                        double loss);

/* Piecewise linear over log x, constant outside; x rising. */
double advise_between(const double *x, const double *y, uint32_t count, double at);

/* How far machine count `at` is from the counts but the one at index `without` (counts: none is
 * left out), in doublings: the variance there of a random walk over doublings that is known at
 * those, and beyond them the square of the distance. At least a quarter. */
double advise_way(const uint32_t *machines, uint32_t counts, uint32_t without, double at);

/* The chances of estimates from how badly each fits (the best first) a curve of so many points. */
void advise_odds(const double *badness, uint32_t count, size_t points, double *odds);

#endif
