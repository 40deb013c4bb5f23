/* logreg_newton.h - what the drivers of Newton's method share: logreg_newton.c (smooth objectives),
 * logreg_hinge.c (the hinge, smoothed) and logreg_prox.c (the l1 penalty).
 *
 * Each looks at a point (a SLOPE clock), finds a direction there (DIAGONAL and TURN clocks, or one
 * HESSIAN clock) and tries steps along it (SLOPE again). Private to src/app.
 * Tests: tests/unit/app/test_logreg.c. */
#ifndef APP_LOGREG_NEWTON_H
#define APP_LOGREG_NEWTON_H

#include "app/logreg.h"

/* The driver's vectors: (columns, lanes) each, one after the other in LOGREG_KEPT. */
struct newton_vectors {
    size_t size;
    float *point, *sum;              /* the tables */
    float *w, *g, *d, *left, *scale; /* left: -g - H d; scale: diagonal of H */
    float *dual;                     /* hinge: the sum of +-alpha x of the best dual variables */
};

/* Clears the sums and sends every executor a task. */
shoal_status logreg_newton_next(shoal_driver *driver, struct newton_vectors *v, uint32_t fn,
                                shoal_err *err);
/* A SLOPE clock at w + step x d, the driver's step. */
shoal_status logreg_newton_try(shoal_driver *driver, struct newton_vectors *v, shoal_err *err);
/* Clocks for a direction from w, where the slopes and curves are known. */
shoal_status logreg_newton_turn(shoal_driver *driver, struct newton_vectors *v, shoal_err *err);
/* Ends the job at w, with this objective, for this reason, at most `gap` of it above the minimum. */
shoal_status logreg_newton_finish(shoal_driver *driver, double value, shoal_stop why, double gap);
/* How far `now` is from `first` to `enough`, which all fall. */
double logreg_newton_progress(double first, double now, double enough);

/* The hinge: a direction is there; steps along it are known; the point is accepted; no step is good
 * enough. */
shoal_status logreg_hinge_line(shoal_driver *driver, struct newton_vectors *v, shoal_err *err);
shoal_status logreg_hinge_step(shoal_driver *driver, struct newton_vectors *v,
                               const struct logreg_result *sum, shoal_err *err);
shoal_status logreg_hinge_accept(shoal_driver *driver, struct newton_vectors *v,
                                 const struct logreg_result *sum, shoal_err *err);
shoal_status logreg_hinge_stuck(shoal_driver *driver, struct newton_vectors *v, shoal_err *err);

/* The l1 penalty: a point is looked at; the Hessian there is summed up. */
shoal_status logreg_prox_sloped(shoal_driver *driver, struct newton_vectors *v,
                                const struct logreg_result *sum, shoal_err *err);
shoal_status logreg_prox_solve(shoal_driver *driver, struct newton_vectors *v, shoal_err *err);

/* Whether a job that has this objective, and this gap, should give up: nothing has become better for
 * many directions. */
bool logreg_newton_still(struct logreg_driver *d, double value, double gap);

#endif
