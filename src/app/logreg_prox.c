/* logreg_prox.c - logistic regression with penalty l1 and few columns, by proximal Newton steps.
 *
 * Problem. Minimise |w|_1 + cost x sum of losses, with so few columns that the Hessian H of the losses
 * can be summed up (a HESSIAN clock) and kept by the driver.
 *
 * Method. Around w the losses are about g'd + d'H d / 2. Coordinate descent minimises that plus
 * |w + d|_1 here in the driver, without looking at data: each step is exact for its coordinate, and
 * H d is kept up with it, until a sweep finds a tenth of the first one's subgradients. The next SLOPE
 * clocks try w + d, w + d / 2, ... until the objective falls by a part of what the model promised
 * (Yuan, Ho and Lin, "An improved GLMNET for l1-regularized logistic regression", 2012).
 *
 * It ends when the duality gap is tol x objective. With dual variables a in [0, cost] the dual is
 * D(a), a sum of entropies, and a is feasible where |x'a| <= 1 for every column x (signs of the labels
 * in it). The slopes of the losses at w give an a worth D(a) = loss - g'w; multiplied by s = 1 / max |g|
 * it is feasible. D(s a) is at least s D(a), as D is concave and D(0) = 0; and by Taylor's formula at
 * least D(a) + (1 - s) g'w - (1 - s)^2 / 2 x the most that |D''| can be on the way, which is the sum of
 * a / (1 - a / cost) over s. The better of the two counts.
 *
 * Tests: tests/unit/app/test_logreg.c. */
#include "app/logreg_newton.h"

#include <math.h>
#include <string.h>

enum { SWEEPS_MAX = 1000, TRIES_MAX = 10 };
static const double ARMIJO = 0.01, SWEEP_TOL = 0.1, DIAGONAL_MIN = 1e-12;
static const double NOISE = 1e-6; /* of an objective */

double logreg_l1_lost(double loss, double most, double along, double bend)
{
    double shrink = most > 1 ? 1 / most : 1, less = 1 - shrink;

    return fmin(less * (loss - along), less * less * bend / (2 * shrink) - less * along);
}

/* The least |.|, of what g' + d|w| can be. */
static double subgradient(double w, double g)
{
    if (w != 0)
        return fabs(g + (w > 0 ? 1 : -1));
    return fmax(fabs(g) - 1, 0);
}

static double absolutes(const float *w, size_t size)
{
    double sum = 0;

    for (size_t i = 0; i < size; i++)
        sum += fabs((double)w[i]);
    return sum;
}

/* The step from w that minimises g s + h s^2 / 2 + |w + s|. */
static double step_of(double w, double g, double h)
{
    if (g + 1 <= h * w)
        return -(g + 1) / h;
    if (g - 1 >= h * w)
        return -(g - 1) / h;
    return -w;
}

/* One sweep over all coordinates; v->left is H d. Returns how much subgradient it found. */
static double sweep(struct newton_vectors *v, const float *h)
{
    size_t n = v->size;
    double found = 0;

    for (size_t i = 0; i < n; i++) {
        const float *row = h + i * n;
        double w = (double)v->w[i] + (double)v->d[i], g = (double)v->g[i] + (double)v->left[i];
        float s = (float)step_of(w, g, fmax((double)row[i], DIAGONAL_MIN));
        found += subgradient(w, g);
        if (s == 0)
            continue;
        v->d[i] += s;
        for (size_t k = 0; k < n; k++)
            v->left[k] += s * row[k];
    }
    return found;
}

shoal_status logreg_prox_solve(shoal_driver *driver, struct newton_vectors *v, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);
    float *h = shoal_driver_rows(driver, LOGREG_GRAM);
    size_t n = v->size;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            h[k * n + i] = h[i * n + k];
    memset(v->d, 0, n * sizeof *v->d);
    memset(v->left, 0, n * sizeof *v->left);
    double first = sweep(v, h), found = first;
    for (int i = 1; i < SWEEPS_MAX && found > SWEEP_TOL * first; i++)
        found = sweep(v, h);
    memset(h, 0, n * n * sizeof *h); /* for the next clock's sums */
    for (size_t i = 0; i < n; i++) /* what the model promises of a full step, but for its square */
        v->left[i] = v->w[i] + v->d[i];
    d->down = logreg_dot(v->g, v->d, n) + absolutes(v->left, n) - absolutes(v->w, n);
    d->step = 1;
    d->tries = 0;
    return logreg_newton_try(driver, v, err);
}

/* How far the objective may be above its minimum at the point just looked at. */
static double above_least(const struct newton_vectors *v, double value, double bend)
{
    double most = 0, along = logreg_dot(v->sum, v->point, v->size);
    double loss = value - absolutes(v->point, v->size);

    for (size_t i = 0; i < v->size; i++)
        most = fmax(most, fabs((double)v->sum[i]));
    return value - (loss - along) + logreg_l1_lost(loss, most, along, bend);
}

static shoal_status accept(shoal_driver *driver, struct newton_vectors *v, double value,
                           double above, shoal_err *err)
{
    const struct logreg_options *o = shoal_driver_options(driver);
    struct logreg_driver *d = shoal_driver_state(driver);

    memcpy(v->w, v->point, v->size * sizeof *v->w);
    memcpy(v->g, v->sum, v->size * sizeof *v->g);
    d->least = value;
    d->above = above;
    if (d->epoch == 0)
        d->first = above;
    double enough = logreg_enough(d, value);
    shoal_driver_report(driver, value, logreg_newton_progress(d->first, above, enough), 0);
    if (above <= enough)
        return logreg_newton_finish(driver, value, SHOAL_STOP_TOLERANCE, logreg_gap(value, above));
    if (logreg_newton_still(d, value, above))
        return logreg_newton_finish(driver, value, SHOAL_STOP_STALLED, logreg_gap(value, above));
    if (d->epoch == logreg_epochs(o, d->way))
        return logreg_newton_finish(driver, value, SHOAL_STOP_LIMIT, logreg_gap(value, above));
    d->epoch++;
    return logreg_newton_turn(driver, v, err);
}

shoal_status logreg_prox_sloped(shoal_driver *driver, struct newton_vectors *v,
                                const struct logreg_result *sum, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);
    double value = sum->loss + absolutes(v->point, v->size);
    double above = above_least(v, value, sum->bend);
    bool lower = value <= d->least + ARMIJO * d->step * d->down;
    /* Near the minimum floats do not show what a step gains, but what is left to gain they do. */
    bool nearer = value <= d->least + NOISE * fabs(d->least) && above < d->above / 2;
    if (d->epoch == 0 || lower || nearer)
        return accept(driver, v, value, above, err);
    if (++d->tries > TRIES_MAX)
        return logreg_newton_finish(driver, d->least, SHOAL_STOP_STALLED, /* of floats */
                                    logreg_gap(d->least, d->above));
    d->step /= 2;
    return logreg_newton_try(driver, v, err);
}
