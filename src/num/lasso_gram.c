/* lasso_gram.c - the lasso from the products of its columns.
 *
 * With G = X'X / n, q = X'y / n and yy = y'y / n, columns and y centred where there is an intercept,
 * the loss is (yy - 2 q'b + b'Gb) / 2. Slopes s = q - G b of all columns are kept up to date: a visit
 * that does not move a coordinate costs nothing, one that does a column of G. Objective and bound need
 * no more than sums over columns, since b'Gb = b'(q - s):
 *
 *     objective = (yy - b'(q + s)) / 2 + penalty,   n u'u = yy - b'(q + s),   u'y = n u'u + b's,
 *
 * so the duality gap over all columns is known after every epoch (num_lasso_bound has the formulas by
 * rows). The covariance updates of Friedman, Hastie and Tibshirani (2010), with all of G made first.
 *
 * Cost: G takes rows x columns^2 / 2 products, some twenty of them in the time in which memory gives an
 * entry of X; the path then costs columns for each move. One scan of X per penalty costs rows x columns.
 * Sums are doubles, in blocks of rows; what rounding may have left in them is added to the gap.
 *
 * Centring would lose digits of columns far from 0, so their means are taken off while rows are packed;
 * what is left of the means is taken off the sums. */
#include "num/lasso_parts.h"

#include <float.h>
#include <string.h>

enum { EPOCHS_MAX = 100000, EPOCHS_PLACED = 100, STILL_MAX = 5, LINE_FLOATS = 16 };
static const double CONSTANT = 1e-13; /* of a centred square against the plain one: rounding */
static const double ROUNDING = 1e-12; /* of a slope against the penalty */

size_t num_lasso_gram_stride(uint32_t columns)
{
    return ((size_t)columns + 2 + NUM_LASSO_GRAM_ALIGN - 1) / NUM_LASSO_GRAM_ALIGN *
           NUM_LASSO_GRAM_ALIGN;
}

size_t num_lasso_gram_work_size(uint32_t columns)
{
    return num_lasso_gram_stride(columns) * NUM_LASSO_GRAM_ROWS;
}

/* A column's rows into its place in a panel. The next block's are asked for: memory has them ready when
 * this block's products are made. */
static void pack(const float *x, double mean, uint32_t count, size_t lanes, double *to)
{
    for (uint32_t k = 0; k < NUM_LASSO_GRAM_ROWS; k += LINE_FLOATS)
        __builtin_prefetch(x + NUM_LASSO_GRAM_ROWS + k);
    for (uint32_t k = 0; k < count; k++)
        to[k * lanes] = (double)x[k] - mean;
}

void num_lasso_gram_add(const struct num_lasso_ops *ops, const struct num_lasso *p,
                        const double *mean, uint32_t first, uint32_t count, double *work,
                        double *sum)
{
    const uint32_t w = p->x.columns, end = first + count;
    const size_t stride = num_lasso_gram_stride(w), lanes = ops->lanes;
    const float one[NUM_LASSO_GRAM_ROWS] = {0};

    memset(work, 0, stride * NUM_LASSO_GRAM_ROWS * sizeof *work);
    for (uint32_t rows; first < end; first += rows) {
        rows = end - first < NUM_LASSO_GRAM_ROWS ? end - first : NUM_LASSO_GRAM_ROWS;
        if (rows < NUM_LASSO_GRAM_ROWS)
            memset(work, 0, stride * NUM_LASSO_GRAM_ROWS * sizeof *work);
        for (uint32_t j = 0; j < w + 2; j++) {
            double *to = work + j / lanes * NUM_LASSO_GRAM_ROWS * lanes + j % lanes;
            if (j < w)
                pack(p->x.value + (size_t)j * p->x.rows + first, mean[j], rows, lanes, to);
            else if (j == w)
                pack(p->y + first, 0, rows, lanes, to);
            else
                pack(one, -1, rows, lanes, to);
        }
        ops->gram(stride, work, sum);
    }
}

struct num_lasso_gram num_lasso_gram_make(const struct num_lasso *p, double *sum,
                                          double *out_center, double *out_mean)
{
    const uint32_t w = p->x.columns;
    const size_t stride = num_lasso_gram_stride(w);
    struct num_lasso_gram m = {w, stride, sum, sum + w * stride, 0, 0};
    double by = 1 / p->total;

    *out_mean = p->intercept ? sum[w * stride + w + 1] * by : 0;
    m.yy = fmax(sum[w * stride + w] * by - *out_mean * *out_mean, 0);
    for (uint32_t j = 0; j < w; j++)
        out_center[j] = p->intercept ? sum[j * stride + w + 1] * by : 0;
    for (uint32_t j = 0; j < w; j++) {
        m.q[j] = sum[j * stride + w] * by - out_center[j] * *out_mean;
        for (uint32_t i = 0; i < j; i++)
            sum[j * stride + i] = sum[i * stride + j];
        double square = sum[j * stride + j] * by;
        for (uint32_t i = j; i < w; i++)
            sum[j * stride + i] = sum[j * stride + i] * by - out_center[j] * out_center[i];
        if (sum[j * stride + j] <= CONSTANT * square)
            sum[j * stride + j] = 0;
        memset(sum + j * stride + w, 0, (stride - w) * sizeof *sum);
    }
    memset(m.q + w, 0, (stride - w) * sizeof *sum);
    m.rounding = DBL_EPSILON * (NUM_LASSO_GRAM_ROWS + p->total / NUM_LASSO_GRAM_ROWS);
    return m;
}

/* ---- the solution at a penalty ---- */

struct descent {
    const struct num_lasso_ops *ops;
    const struct num_lasso_gram *m;
    double soft, ridge, *b, *s;
    struct num_lasso_work *work;
};

/* A hair above the threshold is rounding: the second of two equal columns sees that. */
static double soft(double a, double by)
{
    double over = fabs(a) - by;

    return over > ROUNDING * by ? copysign(over, a) : 0;
}

/* One epoch over all columns. Returns by how much the objective fell. */
static double epoch(const struct descent *d)
{
    double gain = 0;

    d->work->epochs++;
    for (uint32_t j = 0; j < d->m->columns; j++) {
        const double *column = d->m->g + j * d->m->stride;
        double h = column[j], b = d->b[j];
        if (!(h > 0) || (b == 0 && fabs(d->s[j]) <= d->soft))
            continue;
        double step = soft(d->s[j] + h * b, d->soft) / (h + d->ridge) - b;
        d->work->updates++;
        if (step == 0)
            continue;
        d->b[j] = b + step;
        d->ops->shift(d->m->stride, step, column, d->s);
        gain += (h + d->ridge) * step * step / 2;
    }
    return gain;
}

/* Objective, loss and gap here. */
static struct num_lasso_gram_found look(const struct descent *d)
{
    const struct num_lasso_gram *m = d->m;
    double fit = 0, along = 0, one = 0, two = 0, most = 0, excess = 0, size = 0;

    for (uint32_t j = 0; j < m->columns; j++) {
        double b = d->b[j], s = d->s[j], h = m->g[j * m->stride + j];
        if (!(h > 0))
            continue;
        fit += b * (m->q[j] + s);
        along += b * s;
        one += fabs(b);
        two += b * b;
        size += fabs(b) * sqrt(h);
        most = fmax(most, fabs(s));
        excess += fabs(s) > d->soft ? (fabs(s) - d->soft) * (fabs(s) - d->soft) : 0;
    }
    double rest = fmax(m->yy - fit, 0), uy = rest + along;
    double value = rest / 2 + d->soft * one + d->ridge * two / 2;
    double limit = most > 0 ? d->soft / most : 1, t = rest > 0 ? uy / rest : 1;

    t = most > 0 ? fmin(fmax(t, -limit), limit) : t;
    double bound = t * uy - t * t * rest / 2;
    if (d->ridge > 0)
        bound = fmax(bound, uy - rest / 2 - excess / (2 * d->ridge));
    double hidden = m->rounding * (sqrt(m->yy) + size) * (sqrt(m->yy) + size);
    return (struct num_lasso_gram_found){value, rest / 2, value - bound + hidden, false};
}

/* s = q - G b: what updates have rounded away is back. */
static void place(const struct descent *d)
{
    memcpy(d->s, d->m->q, d->m->stride * sizeof *d->s);
    for (uint32_t j = 0; j < d->m->columns; j++)
        if (d->b[j] != 0)
            d->ops->shift(d->m->stride, d->b[j], d->m->g + j * d->m->stride, d->s);
}

static bool good(const struct num_lasso_gram_found *found, double tol, double null)
{
    return found->gap <= tol * (null > 0 ? null : found->objective);
}

struct num_lasso_gram_found num_lasso_gram_solve(const struct num_lasso_ops *ops,
                                                 const struct num_lasso_gram *gram, double lambda,
                                                 double mix, double tol, double null, double *b,
                                                 double *slope, struct num_lasso_work *work)
{
    struct descent d = {ops, gram, lambda * mix, lambda * (1 - mix), b, slope, work};
    struct num_lasso_gram_found now = {0};
    uint32_t still = 0;

    for (uint32_t e = 0; e < EPOCHS_MAX; e += EPOCHS_PLACED) {
        place(&d);
        now = look(&d);
        for (uint32_t k = 0; k < EPOCHS_PLACED && (e + k == 0 || !good(&now, tol, null)); k++) {
            still = epoch(&d) > DBL_EPSILON * now.objective ? 0 : still + 1;
            now = look(&d);
            now.stuck = still >= STILL_MAX;
            if (now.stuck)
                return now;
        }
        if (good(&now, tol, null))
            break;
    }
    return now;
}
