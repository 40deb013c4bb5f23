/* lasso_point.c - points of lasso.h: their slopes, the best intercept, the objective, and the bound from
 * below that proves how good one is.
 *
 * The bound is the dual of the problem at t u, which is feasible for any t that brings the largest slope
 * down to the penalty. With squares in the penalty slopes may exceed it, at a price (excess). */
#include "num/lasso_parts.h"

#include <math.h>
#include <string.h>

enum { NEWTON_MAX = 50 };
static const double STEP_MAX = 2;     /* of a logistic intercept */
static const double CURVE_MIN = 1e-5; /* of p (1 - p) */

/* u from z; its sum. */
static double slopes_at(const struct num_lasso *p, const double *z, double *u)
{
    double sum = 0;

    for (uint32_t i = 0; i < p->x.rows; i++) {
        double mean = p->loss == NUM_LASSO_LOGISTIC ? num_lasso_sigmoid(z[i]) : z[i];
        u[i] = num_lasso_weight(p, i) * ((double)p->y[i] - mean) / p->total;
        sum += u[i];
    }
    return sum;
}

static void shift(struct num_lasso_point *point, uint32_t rows, double by)
{
    point->intercept += by;
    for (uint32_t i = 0; i < rows; i++)
        point->z[i] += by;
}

/* Sum of p (1 - p) weights / total. */
static double curve_sum(const struct num_lasso *p, const double *z)
{
    double sum = 0;

    for (uint32_t i = 0; i < p->x.rows; i++) {
        double mean = num_lasso_sigmoid(z[i]);
        sum += num_lasso_weight(p, i) * mean * (1 - mean) / p->total;
    }
    return sum;
}

/* u from z, with the best intercept: then u adds up to 0. */
void num_lasso_settle(const struct num_lasso *p, struct num_lasso_point *point)
{
    double sum = slopes_at(p, point->z, point->u);

    for (int i = 0; i < NEWTON_MAX && p->intercept && fabs(sum) > 1e-14; i++) {
        double step = sum, before = sum;
        if (p->loss == NUM_LASSO_LOGISTIC)
            step = fmin(fmax(sum / fmax(curve_sum(p, point->z), 1e-12), -STEP_MAX), STEP_MAX);
        shift(point, p->x.rows, step);
        sum = slopes_at(p, point->z, point->u);
        if (i > 3 && fabs(sum) >= fabs(before))
            break; /* rounding is all that is left */
    }
}

void num_lasso_begin(const struct num_lasso *p, struct num_lasso_point *point)
{
    point->intercept = 0;
    memset(point->z, 0, p->x.rows * sizeof *point->z);
    num_lasso_settle(p, point);
}

void num_lasso_place(const struct num_lasso_ops *ops, const struct num_lasso *p,
                     const struct num_lasso_set *set, struct num_lasso_point *point)
{
    for (uint32_t i = 0; i < p->x.rows; i++)
        point->z[i] = point->intercept;
    for (uint32_t i = 0; i < set->count; i++)
        if (set->b[i] != 0)
            ops->move(&p->x, set->column[i], -set->b[i], NULL, point->z);
    num_lasso_settle(p, point);
}

void num_lasso_curve(const struct num_lasso *p, const double *z, double *out_v)
{
    for (uint32_t i = 0; i < p->x.rows; i++) {
        double mean = num_lasso_sigmoid(z[i]);
        out_v[i] = num_lasso_weight(p, i) * fmax(mean * (1 - mean), CURVE_MIN) / p->total;
    }
}

double num_lasso_penalty(const struct num_lasso *p, const double *b, uint32_t count)
{
    double one = 0, two = 0;

    for (uint32_t i = 0; i < count; i++) {
        one += fabs(b[i]);
        two += b[i] * b[i];
    }
    return p->lambda * (p->mix * one + (1 - p->mix) * two / 2);
}

double num_lasso_loss_at(const struct num_lasso *p, const double *z)
{
    double sum = 0;

    for (uint32_t i = 0; i < p->x.rows; i++) {
        double y = (double)p->y[i], r = y - z[i];
        if (p->loss == NUM_LASSO_SQUARED)
            sum += num_lasso_weight(p, i) * r * r / 2;
        else
            sum += num_lasso_weight(p, i) * (fmax(z[i], 0) - y * z[i] + log1p(exp(-fabs(z[i]))));
    }
    return sum / p->total;
}

double num_lasso_objective(const struct num_lasso *p, const struct num_lasso_set *set,
                           const struct num_lasso_point *point)
{
    return num_lasso_loss_at(p, point->z) + num_lasso_penalty(p, set->b, set->count);
}

/* ---- the next penalty ---- */

static void swap(double *a, double *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/* Between penalties at which a coefficient appears or disappears the minimum of a squared loss is
 * linear in the penalty, and z is linear in b: what is new costs a pass over the rows, and one over each column
 * that ends at 0 (a predictor step, as in Park and Hastie, "L1-regularization path algorithm for
 * generalized linear models", 2007). */
bool num_lasso_ahead(const struct num_lasso_ops *ops, const struct num_lasso *p, double by,
                     struct num_lasso_past *past, struct num_lasso_set *set,
                     struct num_lasso_point *point)
{
    const uint32_t n = p->x.rows;
    double here = point->intercept, before, after;

    /* where it goes is put in the place of the past */
    for (uint32_t i = 0; i < n; i++)
        past->z[i] = point->z[i] + by * (point->z[i] - past->z[i]);
    for (uint32_t i = 0; i < set->count; i++) {
        double b = set->b[i], on = b + by * (b - past->b[i]);
        past->b[i] = on * b > 0 ? on : 0;
        if (past->b[i] != on)
            ops->move(&p->x, set->column[i], on - past->b[i], NULL, past->z);
    }
    before = num_lasso_objective(p, set, point);
    after = num_lasso_loss_at(p, past->z) + num_lasso_penalty(p, past->b, set->count);
    if (after < before) {
        swap(past->b, set->b, set->count);
        swap(past->z, point->z, n);
        point->intercept += by * (here - past->intercept);
        num_lasso_settle(p, point);
    } else {
        memcpy(past->b, set->b, set->count * sizeof *past->b);
        memcpy(past->z, point->z, n * sizeof *past->z);
    }
    past->intercept = here;
    return after < before;
}

/* ---- the bound ---- */

static double entropy(double q)
{
    return q > 0 && q < 1 ? -q * log(q) - (1 - q) * log(1 - q) : 0;
}

/* What the dual of the loss is at t u. */
static double dual_loss(const struct num_lasso *p, const struct num_lasso_point *point, double t)
{
    double sum = 0;

    for (uint32_t i = 0; i < p->x.rows; i++) {
        double s = num_lasso_weight(p, i), y = (double)p->y[i];
        if (!(s > 0))
            continue;
        double r = t * point->u[i] * p->total / s;
        sum += s * (p->loss == NUM_LASSO_SQUARED ? r * y - r * r / 2 : entropy(y - r));
    }
    return sum / p->total;
}

/* The best t of a squared loss. */
static double best_t(const struct num_lasso *p, const struct num_lasso_point *point)
{
    double uy = 0, uu = 0;

    for (uint32_t i = 0; i < p->x.rows; i++) {
        double s = num_lasso_weight(p, i);
        if (!(s > 0))
            continue;
        uy += point->u[i] * (double)p->y[i];
        uu += point->u[i] * point->u[i] * p->total / s;
    }
    return uu > 0 ? uy / uu : 1;
}

double num_lasso_bound(const struct num_lasso *p, const struct num_lasso_point *point, double most,
                       double excess)
{
    double soft = p->lambda * p->mix, ridge = p->lambda * (1 - p->mix);
    double limit = most > soft ? soft / most : 1, t = limit, bound;

    if (p->loss == NUM_LASSO_SQUARED && most > 0)
        t = fmin(fmax(best_t(p, point), -soft / most), soft / most);
    bound = dual_loss(p, point, t);
    if (ridge > 0)
        bound = fmax(bound, dual_loss(p, point, 1) - excess / (2 * ridge));
    return bound;
}

/* ---- the kernels for this machine; their text is lasso_body.inc ---- */

#define LANES_TEXT  "num/lasso_body.inc"
#define LANES_BYTES 8
#include "num/lanes.inc"

const struct num_lasso_ops *num_lasso_ops_find(uint32_t lanes_max)
{
    return LANES_FIND(&ops, lanes_max);
}
