/* least.c - what both solvers of least.h ask of a problem. */
#include "num/least.h"

#include <math.h>

bool num_least_sound(const struct num_least *p)
{
    if (p->rows == 0 || p->rows > NUM_LEAST_ROWS_MAX || p->columns == 0 ||
        p->columns > NUM_LEAST_COLUMNS_MAX)
        return false;
    for (size_t i = 0; i < p->rows * p->columns; i++)
        if (!isfinite(p->a[i]))
            return false;
    for (size_t i = 0; i < p->rows; i++)
        if (!isfinite(p->b[i]) ||
            (p->weight != NULL && !(p->weight[i] >= 0 && isfinite(p->weight[i]))))
            return false;
    return true;
}

double num_least_rss(const struct num_least *p, double intercept, const double *x)
{
    double sum = 0;

    for (size_t i = 0; i < p->rows; i++) {
        double off = p->b[i] - intercept;
        for (size_t j = 0; j < p->columns; j++)
            off -= p->a[i * p->columns + j] * x[j];
        sum += p->weight != NULL ? p->weight[i] * off * off : off * off;
    }
    return sum;
}
