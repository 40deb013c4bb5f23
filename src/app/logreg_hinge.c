/* logreg_hinge.c - support vectors by Newton's method: what it does differently for the hinge.
 *
 * Problem. The hinge max(0, 1 - m), the most of a (1 - m) over a in [0, 1], has no curvature. The most
 * of a (1 - m) - smooth (a - center)^2 / 2 has, in the few rows with 0 < a < 1, so that Hessian passes
 * are cheap. The wider it is smoothed the fewer steps it takes and the further away its minimum is.
 *
 * Method. The method of multipliers: minimise the smoothed problem, move each row's center to its a,
 * and go on from there. Centers are 1/2 at first, and the width FIRST, where all margins of w = 0 are
 * smoothed. A smoothed problem is done when its own gap is OWN of what smoothing accounts for. The
 * width then falls to ENOUGH by NARROWER each time, and later by halves when a renewal of the centers
 * did not halve the gap. (Narrowing alone, without centers, took 5 times the passes on 200,000 x
 * 60,000 sparse rows, and 15 times on a harder problem of that shape.)
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
 * with the length, and its zero between two of them is the step. It also keeps what the direction
 * adds to each margin, so that SLOPE clocks move margins and read rows for the gradient alone. Moved
 * margins gather rounding: each renewal, and the claim at the end, takes them from the weights.
 *
 * The idea is that of Chapelle, "Training a support vector machine in the primal", 2007; multipliers
 * as in Yan and Li, "An efficient augmented Lagrangian method for support vector machine", 2020; the
 * rules for widths and the mixing of bounds are ours.
 *
 * Tests: tests/unit/app/test_logreg.c. */
#include "app/logreg_newton.h"

#include <math.h>
#include <string.h>

static const double FIRST = 4, NARROWER = 4, ENOUGH = 0.5, NARROWEST = 1e-5;
static const double OWN = 0.5; /* share of the gap that a smoothed problem may leave */

void logreg_hinge_begin(struct logreg_driver *d)
{
    d->smooth = FIRST;
    d->bound = -INFINITY;
}

/* ---- steps ---- */

shoal_status logreg_hinge_line(shoal_driver *driver, struct newton_vectors *v, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);

    d->moves = 1;
    d->stands = 0;
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
    double share = dual > d->dual; /* of rows without entries, say */
    if (apart > 0)
        share = fmin(fmax((dual - d->dual - both + old) / apart, 0), 1);
    for (size_t i = 0; i < v->size; i++)
        v->dual[i] += (float)share * (v->w[i] - v->g[i] - v->dual[i]);
    d->dual += share * (dual - d->dual);
    d->bound = fmax(d->bound, d->dual - 0.5 * logreg_dot(v->dual, v->dual, v->size));
}

/* The same point again, with margins from its weights. */
static shoal_status look_again(shoal_driver *driver, struct newton_vectors *v, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);

    d->least = INFINITY;
    d->step = d->tries = d->moves = 0;
    memset(v->d, 0, v->size * sizeof *v->d);
    return logreg_newton_try(driver, v, err);
}

/* The same, smoothed about the dual variables found there. */
static shoal_status renew(shoal_driver *driver, struct newton_vectors *v, double smooth,
                          shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);

    d->recentre = d->smooth;
    d->smooth = smooth;
    return look_again(driver, v, err);
}

static double gap_of(const struct logreg_driver *d)
{
    return logreg_gap(d->value, d->value - d->bound);
}

shoal_status logreg_hinge_stuck(shoal_driver *driver, struct newton_vectors *v, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);

    if (d->smooth > NARROWEST)
        return renew(driver, v, d->smooth / 2, err);
    d->still = 1;
    return d->moves ? look_again(driver, v, err)
                    : logreg_newton_finish(driver, d->value, SHOAL_STOP_STALLED, gap_of(d));
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
    double enough = logreg_enough(d, d->value);
    if (d->first == 0)
        d->first = gap;
    shoal_driver_report(driver, d->value, logreg_newton_progress(d->first, gap, enough), 0);
    bool done = gap <= enough, still = logreg_newton_still(d, d->value, gap) || d->still;
    if (done || still || d->epoch == logreg_epochs(o, d->way)) {
        shoal_stop why = done    ? SHOAL_STOP_TOLERANCE
                         : still ? SHOAL_STOP_STALLED
                                 : SHOAL_STOP_LIMIT;
        return d->moves ? look_again(driver, v, err)
                        : logreg_newton_finish(driver, d->value, why, gap_of(d));
    }
    d->epoch++;
    if (own > OWN * smoothing)
        return logreg_newton_turn(driver, v, err);
    double width = d->smooth, before = d->smoothing;
    d->smoothing = smoothing;
    if (width > ENOUGH)
        return renew(driver, v, fmax(width / NARROWER, ENOUGH), err);
    if (smoothing < before / 2)
        return renew(driver, v, width, err);
    return logreg_hinge_stuck(driver, v, err);
}
