/* lp_basis.c - the inverse of the linear program's basis: pivots, rebuilding, and the values and
 * duals it gives, refined against the original columns (see lp.c). */
#include "num/lp_core.h"

#include <math.h>
#include <string.h>

enum { REFINE_MAX = 4 }; /* passes of refinement */

static const double BOUND_NOISE = 1e-15;   /* of the largest b: nearer to 0 is 0 */
static const double SINGULAR = 1e-11;      /* smaller pivots of a rebuild: the column depends */
static const double RESIDUAL_FINE = 1e-15; /* above: refine */

void num_lp_unit_basis(struct num_lp *lp)
{
    memset(lp->inverse, 0, (size_t)lp->pitch * lp->rows * sizeof(double));
    for (size_t i = 0; i < lp->rows; i++) {
        lp_inverse_column(lp, i)[i] = 1;
        lp->head[i] = ~(int32_t)i;
        lp->where[i] = (int32_t)i;
    }
    lp->fresh = true;
    lp->since_rebuild = 0;
}

void num_lp_forward(const struct num_lp *lp, int32_t v, double *out)
{
    if (v < 0) {
        memcpy(out, lp_inverse_column(lp, lp_logical_row(v)), lp->pitch * sizeof(double));
        return;
    }
    memset(out, 0, lp->pitch * sizeof(double));
    struct lp_entries e = lp_column_entries(lp, (size_t)v);
    for (size_t k = 0; k < e.count; k++) {
        double a = e.value[k * e.stride];
        if (a != 0)
            lp_add_scaled(out, a, lp_inverse_column(lp, lp_entry_row(&e, k)), lp->pitch);
    }
}

/* out += inverse x v */
static void multiply(const struct num_lp *lp, const double *v, double *out)
{
    for (size_t c = 0; c < lp->rows; c++) {
        if (v[c] != 0)
            lp_add_scaled(out, v[c], lp_inverse_column(lp, c), lp->pitch);
    }
}

void num_lp_pivot_inverse(struct num_lp *lp, const double *alpha, size_t r, double gain)
{
    double reciprocal = 1 / alpha[r];
    for (size_t c = 0; c < lp->rows; c++) {
        double *column = lp_inverse_column(lp, c);
        if (column[r] == 0)
            continue;
        double p = column[r] * reciprocal;
        lp_add_scaled(column, -p, alpha, lp->pitch);
        column[r] = p;
        lp->y[c] += gain * p;
    }
}

void num_lp_move_out(struct num_lp *lp, int32_t v)
{
    if (v < 0)
        lp->where[~v] = LP_NOWHERE;
    else
        lp->columns[v].where = LP_NOWHERE;
}

void num_lp_move_in(struct num_lp *lp, int32_t v, size_t position)
{
    lp->head[position] = v;
    if (v < 0)
        lp->where[~v] = (int32_t)position;
    else
        lp->columns[v].where = (int32_t)position;
}

void num_lp_draw_ties(struct num_lp *lp)
{
    for (size_t i = 0; i < lp->rows; i++) {
        uint64_t h = ++lp->draws * 0x9E3779B97F4A7C15u;
        h = (h ^ (h >> 31)) * 0xBF58476D1CE4E5B9u;
        lp->w[i] = 0.5 + (double)(h >> 40) * 0x1p-25;
    }
}

/* r = b - basis x x; returns its largest entry. */
static double residual_x(const struct num_lp *lp, double *r)
{
    double worst = 0;
    memcpy(r, lp->b, lp->rows * sizeof(double));
    for (size_t i = 0; i < lp->rows; i++) {
        int32_t v = lp->head[i];
        if (v < 0) {
            r[~v] -= lp->x[i];
            continue;
        }
        struct lp_entries e = lp_column_entries(lp, (size_t)v);
        for (size_t k = 0; k < e.count; k++)
            r[lp_entry_row(&e, k)] -= lp->x[i] * e.value[k * e.stride];
    }
    for (size_t i = 0; i < lp->rows; i++)
        worst = lp_larger(worst, fabs(r[i]));
    return worst;
}

double num_lp_recompute_x(struct num_lp *lp)
{
    memset(lp->x, 0, lp->pitch * sizeof(double));
    multiply(lp, lp->b, lp->x);
    double at_first = residual_x(lp, lp->work), worst = at_first;
    for (int pass = 0; pass < REFINE_MAX && worst > RESIDUAL_FINE * lp->bound_scale; pass++) {
        multiply(lp, lp->work, lp->x);
        worst = residual_x(lp, lp->work);
    }
    for (size_t i = 0; i < lp->rows; i++) {
        if (fabs(lp->x[i]) <= BOUND_NOISE * lp->bound_scale)
            lp->x[i] = 0;
    }
    return at_first / lp->bound_scale;
}

static double column_dot(const struct num_lp *lp, int32_t v, const double *y)
{
    if (v < 0)
        return y[~v];
    struct lp_entries e = lp_column_entries(lp, (size_t)v);
    double sum = 0;
    for (size_t k = 0; k < e.count; k++)
        sum += e.value[k * e.stride] * y[lp_entry_row(&e, k)];
    return sum;
}

void num_lp_recompute_y(struct num_lp *lp)
{
    for (size_t c = 0; c < lp->rows; c++)
        lp->y[c] = lp_dot(lp->basic_cost, lp_inverse_column(lp, c), lp->pitch);
}

double num_lp_refine_y(struct num_lp *lp)
{
    double at_first = 0;
    double *r = lp->work;
    memset(r, 0, lp->pitch * sizeof(double));
    for (int pass = 0; pass <= REFINE_MAX; pass++) {
        double worst = 0, most = 0;
        for (size_t i = 0; i < lp->rows; i++) {
            r[i] = lp->basic_cost[i] - column_dot(lp, lp->head[i], lp->y);
            worst = lp_larger(worst, fabs(r[i]));
            most = lp_larger(most, fabs(lp->basic_cost[i]));
        }
        if (pass == 0 && most > 0)
            at_first = worst / most;
        if (worst <= RESIDUAL_FINE * most)
            break;
        for (size_t c = 0; c < lp->rows; c++)
            lp->y[c] += lp_dot(r, lp_inverse_column(lp, c), lp->pitch);
    }
    return at_first;
}

void num_lp_rebuild(struct num_lp *lp)
{
    size_t m = lp->rows, left = 0;
    int32_t *todo = lp->todo;
    for (size_t i = 0; i < m; i++) {
        if (lp->head[i] >= 0)
            todo[left++] = lp->head[i];
    }
    bool *open = lp->open;
    for (size_t i = 0; i < m; i++)
        open[i] = lp->where[i] == LP_NOWHERE;
    num_lp_unit_basis(lp);
    for (size_t limit = lp_is_dense(lp) ? m : 2; left > 0; limit = limit < 8 ? limit + 1 : m) {
        size_t kept = 0;
        for (size_t k = 0; k < left; k++) {
            int32_t v = todo[k];
            if (lp_column_entries(lp, (size_t)v).count > limit) {
                todo[kept++] = v;
                continue;
            }
            num_lp_forward(lp, v, lp->alpha);
            size_t best = m;
            double most = SINGULAR;
            for (size_t i = 0; i < m; i++) {
                if (open[i] && fabs(lp->alpha[i]) > most) {
                    most = fabs(lp->alpha[i]);
                    best = i;
                }
            }
            num_lp_move_out(lp, v);
            if (best == m)
                continue;
            num_lp_pivot_inverse(lp, lp->alpha, best, 0);
            open[best] = false;
            lp->where[best] = LP_NOWHERE;
            num_lp_move_in(lp, v, best);
        }
        left = kept;
    }
    lp->fresh = true;
    lp->since_rebuild = 0;
    (void)num_lp_recompute_x(lp);
    num_lp_draw_ties(lp);
}
