/* logreg_newton.c - the driver of Newton's method, clock by clock.
 *
 * Problem. Minimise f(w) = |w|^2 / 2 + cost x sum of losses, whose parts are with the executors.
 *
 * Method. A SLOPE clock gives f and its gradient g at the point, and each executor keeps the curves
 * of its rows there. The direction d solves H d = -g about: by conjugate gradients, preconditioned
 * by the diagonal of H (one DIAGONAL clock, then a TURN clock a step, until the residual is a tenth
 * of what it was, or three tenths for a hinge); or, with few columns, exactly (one HESSIAN clock, then Cholesky's factors here).
 * The next SLOPE clock tries w + d, then w + d / 2, ... until f falls enough (Armijo). An accepted
 * try already has the next gradient and curves; a refused one has overwritten the curves, which is
 * right since the accepted one always comes last and nobody goes back.
 *
 * That is of smooth losses with squares as penalty. What is different for a hinge is in
 * logreg_hinge.c, for the l1 penalty in logreg_prox.c.
 *
 * The slopes of the losses at w are dual variables, and their duality gap is |g|^2 / 2: f(w) is at
 * most that far above the minimum, which also follows from the penalty's curvature. It ends when that is
 * tol x f(w), when floats cannot show a better point or STILL_MAX directions have found none, or
 * after `epochs` directions.
 *
 * The point that tasks look at is table LOGREG_W: w + step x d before a slope, the direction of
 * conjugate gradients before a turn. Vectors are floats in the table LOGREG_KEPT; dot products and
 * what is decided by them are doubles. Sums of a clock are added in the order of executors, so all of
 * this is equal bit for bit for any number of workers. Tests: tests/unit/app/test_logreg.c. */
#include "app/logreg_newton.h"

#include "base/err.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum {
    STEPS_MAX = 40,
    TRIES_MAX = 10,
    STILL_MAX =
        50 /* directions without a gap lower by a hundredth, or an objective by a millionth */
};
static const double CG_TOL = 0.1, CG_TOL_HINGE = 0.3; /* its problems are not solved to the end */
static const double ARMIJO = 1e-4;

static struct newton_vectors vectors_of(shoal_driver *driver)
{
    const struct logreg_driver *d = shoal_driver_state(driver);
    size_t size = logreg_size(d);
    float *kept = shoal_driver_rows(driver, LOGREG_KEPT);

    return (struct newton_vectors){.size = size,
                                   .point = shoal_driver_rows(driver, LOGREG_W),
                                   .sum = shoal_driver_rows(driver, LOGREG_SUM),
                                   .w = kept,
                                   .g = kept + size,
                                   .d = kept + 2 * size,
                                   .left = kept + 3 * size,
                                   .scale = kept + 4 * size,
                                   .dual = kept + 5 * size};
}

double logreg_dot(const float *a, const float *b, size_t size)
{
    double sum[4] = {0};
    size_t i = 0;

    for (; i + 4 <= size; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += (double)a[i + k] * (double)b[i + k];
    for (; i < size; i++)
        sum[0] += (double)a[i] * (double)b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

shoal_status logreg_newton_next(shoal_driver *driver, struct newton_vectors *v, uint32_t fn,
                                shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);
    struct logreg_arg arg = {.smooth = (float)d->smooth,
                             .recentre = (float)d->recentre,
                             .moved = (float)(d->step - d->stands),
                             .moves = d->moves};
    uint32_t ours = 1u << LOGREG_LABEL | 1u << LOGREG_SUM | 1u << LOGREG_KEPT | 1u << LOGREG_GRAM;
    shoal_dispatch task = {.struct_size = sizeof task,
                           .fn = fn,
                           .clock = d->clock++,
                           .ends_clock = true,
                           .arg = &arg,
                           .arg_size = sizeof arg,
                           .unread = ours};
    shoal_status st = SHOAL_OK;

    d->recentre = 0;
    if (fn == LOGREG_SLOPE)
        d->stands = d->step;
    memset(v->sum, 0, v->size * sizeof *v->sum);
    for (; task.executor < d->executors && st == SHOAL_OK; task.executor++)
        st = shoal_driver_dispatch(driver, &task, err);
    return st;
}

shoal_status logreg_newton_start(shoal_driver *driver, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);
    struct newton_vectors v = vectors_of(driver);

    d->least = d->lowest = d->lowest_value = INFINITY;
    return logreg_newton_next(driver, &v, LOGREG_SLOPE, err);
}

shoal_status logreg_newton_finish(shoal_driver *driver, double value, shoal_stop why, double gap)
{
    shoal_driver_report(driver, value, 1, 0);
    return logreg_finish(driver, why, gap);
}

bool logreg_newton_still(struct logreg_driver *d, double value, double gap)
{
    if (gap < 0.99 * d->lowest || value < d->lowest_value * (1 - 1e-6)) {
        d->lowest = fmin(d->lowest, gap);
        d->lowest_value = fmin(d->lowest_value, value);
        d->lowest_at = d->epoch;
    }
    return d->epoch - d->lowest_at >= STILL_MAX;
}

/* ---- directions ---- */

shoal_status logreg_newton_try(shoal_driver *driver, struct newton_vectors *v, shoal_err *err)
{
    const struct logreg_driver *d = shoal_driver_state(driver);
    float step = (float)d->step;

    for (size_t i = 0; i < v->size; i++)
        v->point[i] = v->w[i] + step * v->d[i];
    return logreg_newton_next(driver, v, LOGREG_SLOPE, err);
}

static shoal_status begin_step(shoal_driver *driver, struct newton_vectors *v, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);

    d->step = 1;
    d->tries = 0;
    d->down = logreg_dot(v->g, v->d, v->size);
    return d->smooth > 0 ? logreg_hinge_line(driver, v, err) : logreg_newton_try(driver, v, err);
}

/* left' scale^-1 left */
static double residual(const struct newton_vectors *v)
{
    double sum = 0;

    for (size_t i = 0; i < v->size; i++)
        sum += (double)v->left[i] * (double)v->left[i] / (double)v->scale[i];
    return sum;
}

static shoal_status begin_turns(shoal_driver *driver, struct newton_vectors *v, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);

    for (size_t i = 0; i < v->size; i++) {
        v->scale[i] = v->sum[i] + 1;
        v->d[i] = 0;
        v->left[i] = -v->g[i];
        v->point[i] = v->left[i] / v->scale[i];
    }
    d->steps = 0;
    d->rest = d->rest_first = residual(v);
    return logreg_newton_next(driver, v, LOGREG_TURN, err);
}

static shoal_status turned(shoal_driver *driver, struct newton_vectors *v, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);
    double along = 0;

    for (size_t i = 0; i < v->size; i++) {
        v->sum[i] += v->point[i]; /* of the penalty */
        along += (double)v->point[i] * (double)v->sum[i];
    }
    float by = (float)(d->rest / along);
    if (!(along > 0) || !isfinite(by))
        return begin_step(driver, v, err);
    for (size_t i = 0; i < v->size; i++) {
        v->d[i] += by * v->point[i];
        v->left[i] -= by * v->sum[i];
    }
    double rest = residual(v), share = d->smooth > 0 ? CG_TOL_HINGE : CG_TOL;
    float turn = (float)(rest / d->rest);
    d->rest = rest;
    if (++d->steps == STEPS_MAX || !(rest > share * share * d->rest_first))
        return begin_step(driver, v, err);
    for (size_t i = 0; i < v->size; i++)
        v->point[i] = v->left[i] / v->scale[i] + turn * v->point[i];
    return logreg_newton_next(driver, v, LOGREG_TURN, err);
}

/* In place: the lower half of h (n, n) becomes its factor. The least pivot is 1, that of the
 * penalty; rounding may make it look less. Where rounding is all that is left of a pivot, the column
 * depends on those before it and gets no step: its pivot is infinite. */
static void cholesky(float *h, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float *row = h + i * n, lost = 4 * (float)n * FLT_EPSILON * row[i];
        for (size_t k = 0; k <= i; k++) {
            const float *other = h + k * n;
            float sum[8] = {0};
            size_t j = 0;
            for (; j + 8 <= k; j += 8)
                for (size_t l = 0; l < 8; l++)
                    sum[l] += row[j + l] * other[j + l];
            for (; j < k; j++)
                sum[0] += row[j] * other[j];
            float rest = row[k] - ((sum[0] + sum[1]) + (sum[2] + sum[3])) -
                         ((sum[4] + sum[5]) + (sum[6] + sum[7]));
            if (i == k)
                row[k] = rest > lost || lost < 1 ? sqrtf(fmaxf(rest, 1)) : INFINITY;
            else
                row[k] = rest / other[k];
        }
    }
}

/* d = -H^-1 g, with H in the table. */
static shoal_status solve(shoal_driver *driver, struct newton_vectors *v, shoal_err *err)
{
    float *h = shoal_driver_rows(driver, LOGREG_GRAM);
    size_t n = v->size;

    for (size_t i = 0; i < n; i++)
        h[i * n + i] += 1;
    cholesky(h, n);
    for (size_t i = 0; i < n; i++)
        v->d[i] =
            (float)((-(double)v->g[i] - logreg_dot(h + i * n, v->d, i)) / (double)h[i * n + i]);
    for (size_t i = n; i-- > 0;) {
        v->d[i] /= h[i * n + i];
        for (size_t k = 0; k < i; k++)
            v->d[k] -= h[i * n + k] * v->d[i];
    }
    memset(h, 0, n * n * sizeof *h);
    return begin_step(driver, v, err);
}

/* ---- slopes ---- */

double logreg_newton_progress(double first, double now, double enough)
{
    return fmin(fmax(log(first / now) / log(first / enough), 0), 0.99);
}

shoal_status logreg_newton_turn(shoal_driver *driver, struct newton_vectors *v, shoal_err *err)
{
    const struct logreg_driver *d = shoal_driver_state(driver);

    return logreg_newton_next(driver, v,
                              d->way == NUM_LINEAR_GRAM ? LOGREG_HESSIAN : LOGREG_DIAGONAL, err);
}

static shoal_status accept(shoal_driver *driver, struct newton_vectors *v, double value,
                           const struct logreg_result *sum, shoal_err *err)
{
    const struct logreg_options *o = shoal_driver_options(driver);
    struct logreg_driver *d = shoal_driver_state(driver);

    memcpy(v->w, v->point, v->size * sizeof *v->w);
    for (size_t i = 0; i < v->size; i++)
        v->g[i] = v->sum[i] + v->w[i];
    d->least = value;
    if (d->smooth > 0)
        return logreg_hinge_accept(driver, v, sum, err);
    double above = 0.5 * logreg_dot(v->g, v->g, v->size), enough = logreg_enough(d, value);
    if (d->epoch == 0)
        d->first = above;
    d->above = above;
    shoal_driver_report(driver, value, logreg_newton_progress(d->first, above, enough), 0);
    if (above <= enough)
        return logreg_newton_finish(driver, value, SHOAL_STOP_TOLERANCE, logreg_gap(value, above));
    if (logreg_newton_still(d, value, above))
        return logreg_newton_finish(driver, value, SHOAL_STOP_STALLED, logreg_gap(value, above));
    if (d->epoch++ == logreg_epochs(o, d->way))
        return logreg_newton_finish(driver, value, SHOAL_STOP_LIMIT, logreg_gap(value, above));
    return logreg_newton_turn(driver, v, err);
}

static shoal_status sloped(shoal_driver *driver, struct newton_vectors *v,
                           const struct logreg_result *sum, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);
    double value = sum->loss + 0.5 * logreg_dot(v->point, v->point, v->size);

    if (d->epoch == 0 || value <= d->least + ARMIJO * d->step * d->down)
        return accept(driver, v, value, sum, err);
    if (++d->tries > TRIES_MAX && d->way == NUM_LINEAR_GRAM && d->smooth == 0) {
        /* Cholesky's factor of a Hessian that floats cannot hold: from here on by turns. */
        d->way = NUM_LINEAR_NEWTON;
        d->step = d->down = d->tries = 0;
        memset(v->d, 0, v->size * sizeof *v->d); /* both may be no numbers */
        return logreg_newton_try(driver, v, err);
    }
    if (d->tries > TRIES_MAX) /* as good as floats can tell */
        return d->smooth > 0 ? logreg_hinge_stuck(driver, v, err)
                             : logreg_newton_finish(driver, d->least, SHOAL_STOP_STALLED,
                                                    logreg_gap(d->least, d->above));
    d->step /= 2;
    return logreg_newton_try(driver, v, err);
}

shoal_status logreg_newton_clock(shoal_driver *driver, uint32_t fn, shoal_err *err)
{
    struct logreg_driver *d = shoal_driver_state(driver);
    struct newton_vectors v = vectors_of(driver);
    bool prox = ((const struct logreg_options *)shoal_driver_options(driver))->penalty ==
                NUM_LINEAR_ABSOLUTE;
    struct logreg_result sum = logreg_take_sum(d);

    switch (fn) {
    case LOGREG_SLOPE:
        return prox ? logreg_prox_sloped(driver, &v, &sum, err) : sloped(driver, &v, &sum, err);
    case LOGREG_DIAGONAL: return begin_turns(driver, &v, err);
    case LOGREG_TURN: return turned(driver, &v, err);
    case LOGREG_LINE: return logreg_hinge_step(driver, &v, &sum, err);
    case LOGREG_HESSIAN: return prox ? logreg_prox_solve(driver, &v, err) : solve(driver, &v, err);
    default: break;
    }
    return base_err(err, SHOAL_E_INTERNAL, "a clock of task %u", fn);
}
