/* lasso_parts.h - what the files of lasso.h share: lasso.c (descent), lasso_point.c (points and bounds),
 * lasso_groups.c (sets cut into groups). */
#ifndef NUM_LASSO_PARTS_H
#define NUM_LASSO_PARTS_H

#include "num/lasso.h"
#include <math.h>

static inline double num_lasso_weight(const struct num_lasso *p, uint32_t row)
{
    return p->weight != NULL ? (double)p->weight[row] : 1;
}

static inline double num_lasso_sigmoid(double z)
{
    return z > 0 ? 1 / (1 + exp(-z)) : exp(z) / (1 + exp(z));
}

/* u from z, with the best intercept: then u adds up to 0. */
void num_lasso_settle(const struct num_lasso *p, struct num_lasso_point *point);
double num_lasso_penalty(const struct num_lasso *p, const double *b, uint32_t count);
/* The mean loss. */
double num_lasso_loss_at(const struct num_lasso *p, const double *z);
/* Of a logistic loss: weight x curvature / total by row, the v of its parabola at z. */
void num_lasso_curve(const struct num_lasso *p, const double *z, double *out_v);

#endif
