/* logreg_hinge.c - support vectors by Newton's method: what it does differently for the hinge.
 *
 * Problem. The hinge max(0, 1 - m) has no curvature. Rounded off to a parabola for margins within
 * `smooth` about 1 it has, in the few rows that are there, so that Hessian passes are cheap; the
 * more it is rounded off the fewer steps it takes and the further away its minimum is.
 *
 * Method. The width starts at FIRST, where all margins of w = 0 are on the parabola, and is divided
 * by NARROWER when the minimum of the smoothed problem is near: when what is left of its own gap is
 * no more than what smoothing accounts for. Each problem begins where the last one ended.
 *
 * Slopes of the smoothed loss are dual variables alpha of the hinge: in [0, cost], whatever w is.
 * So each SLOPE clock gives a lower bound of the minimum, sum of alpha - |v|^2 / 2 with v the sum
 * of +-alpha x, which is w - g. Of bounds found so far the best point between the best one and the
 * latest is kept (alpha may be mixed, as they are a convex set, and their v and sums mix alike).
 * The own gap of a smoothed problem is |g|^2 / 2. The job ends when objective - bound <= tol x
 * objective: that is certain, and no step depends on it.
 *
 * Halving of steps would take many passes, since the full step is good near the end of each width
 * only. One LINE clock finds the slope along the direction for NUM_LINEAR_STEPS lengths; it grows
 * with the length, and its zero between two of them is the step.
 *
 * The idea is that of Chapelle, "Training a support vector machine in the primal", 2007, with the
 * gap added; the mixing of bounds is ours.
 *
 * Tests: tests/unit/app/test_logreg.c. */
#include "app/logreg_newton.h"

#include <math.h>
#include <string.h>

static const double FIRST = 4, NARROWER = 4, NARROWEST = 1e-5;

void logreg_hinge_begin(struct logreg_driver *d)
{
    d->smooth = FIRST;
    d->bound = -INFINITY;
}

/* ---- steps ---- */

shoal_status logreg_hinge_line(shoal_driver *driver, struct newton_vectors *v, shoal_err *err)
{
    memcpy(v->point, v->d, v->size * sizeof *v->d);
    return logreg_newton_next(driver, v, LOGREG_LINE, err);
}

/* Where the slope, which grows from `down` below 0 at no step at all, is 0. */
static double zero_of(const double slope[NUM_LINEAR_STEPS], double down)
{
    double low = 0, at_low = down;
    int i = 0;

    while (i < NUM_LINEAR_STEPS && slope[i] > 0)
        i++;
    if (i == 0)
        return (double)num_linear_step[0];
    if (i < NUM_LINEAR_STEPS) {
        low = (double)num_linear_step[i];
        at_low = slope[i];
    }
    return low + ((double)num_linear_step[i - 1] - low) * at_low / (at_low - slope[i - 1]);
}

shoal_status logreg_hinge_step(shoal_driver *driver, struct newton_vectors *v,
                               const struct logreg_result *sum, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);
    double across = logreg_dot(v->w, v->d, v->size), square = logreg_dot(v->d, v->d, v->size);
    double slope[NUM_LINEAR_STEPS];

    for (int i = 0; i < NUM_LINEAR_STEPS; i++) /* with that of the penalty */
        slope[i] = sum->line[i] + across + (double)num_linear_step[i] * square;
    d->step = zero_of(slope, fmin(d->down, 0));
    return logreg_newton_try(driver, v, err);
}

/* ---- widths and bounds ---- */

/* v->dual and d->dual move to the best bound on the way to these dual variables, whose sum of
 * +-alpha x is w - g. */
static void mix(struct logreg_driver *d, struct newton_vectors *v, double dual)
{
    double old = 0, both = 0, latest = 0;

    for (size_t i = 0; i < v->size; i++) {
        double b = (double)v->dual[i], n = (double)v->w[i] - (double)v->g[i];
        old += b * b;
        both += b * n;
        latest += n * n;
    }
    double apart = old + latest - 2 * both;
    double share = apart > 0 ? fmin(fmax((dual - d->dual - both + old) / apart, 0), 1) : 0;
    for (size_t i = 0; i < v->size; i++)
        v->dual[i] += (float)share * (v->w[i] - v->g[i] - v->dual[i]);
    d->dual += share * (dual - d->dual);
    d->bound = fmax(d->bound, d->dual - 0.5 * logreg_dot(v->dual, v->dual, v->size));
}

/* The same point again, with a smaller kink. */
static shoal_status narrow(shoal_driver *driver, struct newton_vectors *v, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);

    d->smooth /= NARROWER;
    d->least = INFINITY;
    d->step = d->tries = 0;
    memset(v->d, 0, v->size * sizeof *v->d);
    return logreg_newton_try(driver, v, err);
}

shoal_status logreg_hinge_stuck(shoal_driver *driver, struct newton_vectors *v, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);

    if (d->smooth > NARROWEST)
        return narrow(driver, v, err);
    return logreg_newton_finish(driver, d->value);
}

shoal_status logreg_hinge_accept(shoal_driver *driver, struct newton_vectors *v,
                                 const struct logreg_result *sum, shoal_err *err)
{
    const struct logreg_options *o = shoal_driver_options(driver);
    struct logreg_driver *d = shoal_driver_state(driver);
    double own = 0.5 * logreg_dot(v->g, v->g, v->size), square = 0;

    for (size_t i = 0; i < v->size; i++) {
        double n = (double)v->w[i] - (double)v->g[i];
        square += n * n;
    }
    d->value = sum->sharp + 0.5 * logreg_dot(v->w, v->w, v->size);
    mix(d, v, sum->dual);
    double gap = d->value - d->bound, smoothing = d->value - (sum->dual - 0.5 * square) - own;
    double enough = d->tol * d->value;
    if (d->first == 0)
        d->first = gap;
    shoal_driver_report(driver, d->value, logreg_newton_progress(d->first, gap, enough), 0);
    if (!(gap > enough) || d->epoch == logreg_epochs(o, d->way))
        return logreg_newton_finish(driver, d->value);
    if (own <= smoothing)
        return logreg_hinge_stuck(driver, v, err);
    d->epoch++;
    return logreg_newton_turn(driver, v, err);
}
