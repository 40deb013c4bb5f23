/* lasso_reference.c - the specification of a solution of lasso.h, slow and plain.
 *
 * Proximal gradient steps (b - slope / L, then soft thresholds) with a constant L that no curvature
 * exceeds: the objective falls in every round. For small problems. */
#include "num/lasso.h"

#include <math.h>

/* x_ij, looked for. */
static double entry(const struct num_columns *x, uint32_t row, uint32_t column)
{
    if (x->index == NULL)
        return (double)x->value[(uint64_t)column * x->rows + row];
    for (uint64_t e = x->start[column]; e < x->start[column + 1]; e++)
        if (x->index[e] == row)
            return (double)x->value[e];
    return 0;
}

static double weight_of(const struct num_lasso *p, uint32_t row)
{
    return p->weight != NULL ? (double)p->weight[row] / p->total : 1 / p->total;
}

static double margin(const struct num_lasso *p, uint32_t row, double intercept, const double *b)
{
    double z = intercept;

    for (uint32_t j = 0; j < p->x.columns; j++)
        if (b[j] != 0)
            z += b[j] * entry(&p->x, row, j);
    return z;
}

double num_lasso_objective_reference(const struct num_lasso *p, double intercept, const double *b)
{
    double sum = 0;

    for (uint32_t i = 0; i < p->x.rows; i++) {
        double z = margin(p, i, intercept, b), y = (double)p->y[i];
        sum += weight_of(p, i) * (p->loss == NUM_LASSO_SQUARED
                                      ? (y - z) * (y - z) / 2
                                      : fmax(z, 0) - y * z + log1p(exp(-fabs(z))));
    }
    for (uint32_t j = 0; j < p->x.columns; j++)
        sum += p->lambda * (p->mix * fabs(b[j]) + (1 - p->mix) * b[j] * b[j] / 2);
    return sum;
}

/* No less than the largest curvature of the loss: its trace. */
static double curvature(const struct num_lasso *p)
{
    double sum = 0;

    for (uint32_t i = 0; i < p->x.rows; i++) {
        double square = 1;
        for (uint32_t j = 0; j < p->x.columns; j++)
            square += entry(&p->x, i, j) * entry(&p->x, i, j);
        sum += weight_of(p, i) * square;
    }
    return p->loss == NUM_LASSO_SQUARED ? sum : sum / 4;
}

static double soft(double a, double by)
{
    return a > by ? a - by : a < -by ? a + by : 0;
}

void num_lasso_solve_reference(const struct num_lasso *p, uint32_t rounds, double *slope,
                               double *out_intercept, double *b)
{
    double most = curvature(p), intercept = 0;

    for (uint32_t j = 0; j < p->x.columns; j++)
        b[j] = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        double sum = 0;
        for (uint32_t j = 0; j < p->x.columns; j++)
            slope[j] = 0;
        for (uint32_t i = 0; i < p->x.rows; i++) {
            double z = margin(p, i, intercept, b);
            double mean = p->loss == NUM_LASSO_SQUARED ? z : 1 / (1 + exp(-z));
            double u = weight_of(p, i) * ((double)p->y[i] - mean);
            sum += u;
            for (uint32_t j = 0; j < p->x.columns; j++)
                slope[j] += u * entry(&p->x, i, j);
        }
        if (p->intercept)
            intercept += sum / most;
        for (uint32_t j = 0; j < p->x.columns; j++)
            b[j] = soft(b[j] + slope[j] / most, p->lambda * p->mix / most) /
                   (1 + p->lambda * (1 - p->mix) / most);
    }
    *out_intercept = intercept;
}
