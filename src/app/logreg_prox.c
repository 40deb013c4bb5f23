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
 * With very many rows a column a sample of them serves for H, and is so cheap that SLOPE clocks find
 * it too. A step that does not halve the subgradients ends that: then all rows count, and the Hessian
 * has clocks of its own.
 *
 * It ends when the sum of |subgradients| is tol x share of the smallest class of what it was at
 * w = 0: LIBLINEAR's rule.
 *
 * Tests: tests/unit/app/test_logreg.c. */
#include "app/logreg_newton.h"

#include <math.h>
#include <string.h>

enum { SWEEPS_MAX = 1000, TRIES_MAX = 10 };
static const double ARMIJO = 0.01, SWEEP_TOL = 0.1, DIAGONAL_MIN = 1e-12;

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

/* The Hessian, for the next clock's sums. */
static void clear(shoal_driver *driver, const struct newton_vectors *v)
{
    float *h = shoal_driver_rows(driver, LOGREG_GRAM);

    memset(h, 0, v->size * v->size * sizeof *h);
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
    clear(driver, v);
    for (size_t i = 0; i < n; i++) /* what the model promises of a full step, but for its square */
        v->left[i] = v->w[i] + v->d[i];
    d->down = logreg_dot(v->g, v->d, n) + absolutes(v->left, n) - absolutes(v->w, n);
    d->step = 1;
    d->tries = 0;
    return logreg_newton_try(driver, v, err);
}

static shoal_status accept(shoal_driver *driver, struct newton_vectors *v, double value,
                           shoal_err *err)
{
    const struct logreg_options *o = shoal_driver_options(driver);
    struct logreg_driver *d = shoal_driver_state(driver);
    double found = 0;

    memcpy(v->w, v->point, v->size * sizeof *v->w);
    memcpy(v->g, v->sum, v->size * sizeof *v->g);
    d->least = value;
    for (size_t i = 0; i < v->size; i++)
        found += subgradient((double)v->w[i], (double)v->g[i]);
    if (d->epoch == 0) {
        d->first = found;
    } else if (found > d->rest / 2 && d->sample > 1) {
        d->sample = 1;
        clear(driver, v);
    }
    d->rest = found;
    double enough = d->tol * d->share * d->first;
    shoal_driver_report(driver, value, logreg_newton_progress(d->first, found, enough), 0);
    if (!(found > enough) || d->epoch == logreg_epochs(o, d->way))
        return logreg_newton_finish(driver, value);
    d->epoch++;
    return d->sample > 1 ? logreg_prox_solve(driver, v, err) : logreg_newton_turn(driver, v, err);
}

shoal_status logreg_prox_sloped(shoal_driver *driver, struct newton_vectors *v, double loss,
                                shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);
    double value = loss + absolutes(v->point, v->size);

    if (d->epoch == 0 || value <= d->least + ARMIJO * d->step * d->down)
        return accept(driver, v, value, err);
    if (++d->tries > TRIES_MAX)
        return logreg_newton_finish(driver, d->least); /* as good as floats can tell */
    d->step /= 2;
    clear(driver, v);
    return logreg_newton_try(driver, v, err);
}
