/* lp_step.c - one step of the simplex: the phase and its costs, prices of all columns, who enters,
 * and by Harris's rule who leaves (see lp.c). */
#include "num/lp_core.h"

#include <math.h>

static const double DUAL_TOLERANCE = 1e-12;  /* of the terms that make up a reduced cost */
static const double ROW_NOISE = 1e-15;       /* of the largest dual */
static const double BASIS_NOISE = 1e-14;     /* of the largest basic cost x the largest entry */
static const double BOUND_TOLERANCE = 1e-10; /* of the largest b: further out is infeasible */
static const double HARRIS_SLACK = 1e-13;    /* of the largest b */
static const double TIE_SLACK = 1e-3;        /* of w, which is about 1 */
static const double PIVOT_TOLERANCE = 1e-12; /* of the largest entry of the column */

/* How far x of a position lies outside its bounds: < 0 below, > 0 above, 0 within tolerance. */
static double outside(const struct num_lp *lp, size_t i)
{
    double slack = BOUND_TOLERANCE * lp->bound_scale;
    if (lp->x[i] < -slack)
        return lp->x[i];
    return lp->x[i] > slack && lp_is_fixed(lp, i) ? lp->x[i] : 0;
}

int num_lp_choose_phase(struct num_lp *lp)
{
    size_t m = lp->rows;
    int phase = 2;
    for (size_t i = 0; i < m; i++) {
        double out = outside(lp, i);
        lp->basic_cost[i] = out < 0 ? 1 : out > 0 ? -1 : 0;
        if (out != 0)
            phase = 1;
    }
    if (phase == 2) {
        for (size_t i = 0; i < m; i++)
            lp->basic_cost[i] = lp->head[i] < 0 ? 0 : lp->columns[lp->head[i]].cost;
    }
    return phase;
}

static void price_dense(struct num_lp *lp, double cost_factor)
{
    size_t m = lp->rows;
    const double *block = lp->block, *y = lp->y;
    for (size_t j = 0; j < lp->count; j += LP_BLOCK) {
        lp_vec2 s[LP_BLOCK / 2] = {{0, 0}};
        for (size_t i = 0; i < m; i++, block += LP_BLOCK) {
            for (size_t k = 0; k < LP_BLOCK; k += 2)
                s[k / 2] += y[i] * *(const lp_vec2 *)(block + k);
        }
        size_t width = lp->count - j < LP_BLOCK ? lp->count - j : LP_BLOCK;
        for (size_t k = 0; k < width; k++)
            lp->d[j + k] = cost_factor * lp->columns[j + k].cost - s[k / 2][k % 2];
    }
}

void num_lp_price(struct num_lp *lp, int phase)
{
    double cost_factor = phase == 2 ? 1 : 0;
    for (size_t i = 0; i < lp->rows; i++)
        lp->logical_d[i] = lp->equal[i] ? 0 : -lp->y[i];
    if (lp_is_dense(lp)) {
        price_dense(lp, cost_factor);
        return;
    }
    for (size_t j = 0; j < lp->count; j++) {
        double d = cost_factor * lp->columns[j].cost;
        for (size_t k = lp->start[j]; k < lp->start[j + 1]; k++)
            d -= lp->y[lp->row[k]] * lp->value[k];
        lp->d[j] = d;
    }
}

/* The best candidate that is left in d and logical_d; false: none. */
static bool select_entering(const struct num_lp *lp, int32_t *out_variable)
{
    double best = 0;
    bool found = false;
    for (size_t j = 0; j < lp->count; j++) {
        double score = lp->d[j] * lp->columns[j].weight;
        if (score > best && lp->columns[j].where == LP_NOWHERE) {
            best = score;
            found = true;
            *out_variable = (int32_t)j;
        }
    }
    for (size_t i = 0; i < lp->rows; i++) {
        double score = lp->logical_d[i] * 0.75;
        if (score > best && lp->where[i] == LP_NOWHERE) {
            best = score;
            found = true;
            *out_variable = ~(int32_t)i;
        }
    }
    return found;
}

/* Whether the reduced cost d of v, made up over the rows, is clear of rounding. */
static bool clear_of_rows(const struct num_lp *lp, int phase, int32_t v, double y_max)
{
    double d = v < 0 ? lp->logical_d[~v] : lp->d[v];
    double size = v < 0 ? fabs(lp->y[~v]) : 0;
    if (v >= 0) {
        struct lp_entries e = lp_column_entries(lp, (size_t)v);
        size = phase == 2 ? fabs(lp->columns[v].cost) : 0;
        for (size_t k = 0; k < e.count; k++)
            size += fabs(e.value[k * e.stride] * lp->y[lp_entry_row(&e, k)]);
    }
    return d > DUAL_TOLERANCE * size && d > ROW_NOISE * y_max;
}

/* The reduced cost of v once more, made up over the basis from its column in alpha; 0 where it is
 * not clear of rounding (`strict`: where it is not positive). */
static double gain_over_basis(const struct num_lp *lp, int phase, int32_t v, bool strict)
{
    double cost = v >= 0 && phase == 2 ? lp->columns[v].cost : 0;
    double gain = cost, size = fabs(cost), alpha_max = 0, cost_max = 0;
    for (size_t i = 0; i < lp->rows; i++) {
        double term = lp->basic_cost[i] * lp->alpha[i];
        gain -= term;
        size += fabs(term);
        alpha_max = lp_larger(alpha_max, fabs(lp->alpha[i]));
        cost_max = lp_larger(cost_max, fabs(lp->basic_cost[i]));
    }
    double least = lp_larger(DUAL_TOLERANCE * size, BASIS_NOISE * alpha_max * cost_max);
    return gain > (strict ? 0 : least) ? gain : 0;
}

void num_lp_reject(struct num_lp *lp, int32_t v)
{
    if (v < 0)
        lp->logical_d[~v] = 0;
    else
        lp->d[v] = 0;
}

bool num_lp_find_entering(struct num_lp *lp, int phase, bool strict, int32_t *out_variable,
                          double *out_gain)
{
    double y_max = 0;
    lp->doubtful = false;
    for (size_t i = 0; i < lp->rows; i++)
        y_max = lp_larger(y_max, fabs(lp->y[i]));
    int32_t v = 0;
    for (; select_entering(lp, &v); num_lp_reject(lp, v)) {
        if (!clear_of_rows(lp, phase, v, y_max))
            continue;
        num_lp_forward(lp, v, lp->alpha);
        *out_gain = gain_over_basis(lp, phase, v, strict);
        if (*out_gain > 0) {
            *out_variable = v;
            return true;
        }
        lp->doubtful = true;
    }
    return false;
}

/* How far position i may move towards the bound it meets, < 0: it meets none. */
static double room(const struct num_lp *lp, size_t i, double pivot_min)
{
    double a = lp->alpha[i], out = outside(lp, i);
    if (fabs(a) <= pivot_min)
        return -1;
    if (out < 0)
        return a < 0 ? -out : -1;
    if (out > 0)
        return a > 0 ? out : -1;
    if (lp_is_fixed(lp, i))
        return 0;
    return a > 0 ? lp_larger(lp->x[i], 0) : -1;
}

size_t num_lp_find_leaving(struct num_lp *lp, double *out_step)
{
    size_t m = lp->rows;
    double most = 0, slack = HARRIS_SLACK * lp->bound_scale;
    for (size_t i = 0; i < m; i++)
        most = lp_larger(most, fabs(lp->alpha[i]));
    double pivot_min = PIVOT_TOLERANCE * most, step_max = INFINITY;
    for (size_t i = 0; i < m; i++) {
        lp->gap[i] = room(lp, i, pivot_min);
        if (lp->gap[i] >= 0)
            step_max = lp_smaller(step_max, (lp->gap[i] + slack) / fabs(lp->alpha[i]));
    }
    if (step_max == INFINITY)
        return m;
    /* ties: the same once more with w */
    double tie_max = INFINITY;
    size_t first = m;
    for (size_t i = 0; i < m; i++) {
        double a = fabs(lp->alpha[i]);
        if (lp->gap[i] < 0 || lp->gap[i] * (1 - 0x1p-40) > step_max * a) {
            lp->gap[i] = -1;
            continue;
        }
        double w = lp_is_fixed(lp, i) ? 0 : lp->alpha[i] > 0 ? lp->w[i] : -lp->w[i];
        if (lp->gap[i] <= slack && w < 0)
            w = 0;
        lp->work[i] = w;
        if ((w + TIE_SLACK) / a < tie_max || first == m) {
            tie_max = (w + TIE_SLACK) / a;
            first = i;
        }
    }
    size_t best = first; /* also where rounding of a large w would leave none */
    double best_size = fabs(lp->alpha[first]);
    for (size_t i = 0; i < m; i++) {
        double a = fabs(lp->alpha[i]);
        if (lp->gap[i] >= 0 && lp->work[i] <= tie_max * a && a > best_size) {
            best = i;
            best_size = a;
        }
    }
    *out_step = lp->gap[best] / best_size;
    return best;
}

void num_lp_take_step(struct num_lp *lp, int32_t v, size_t r, double step, double gain)
{
    double tie_step = lp_is_fixed(lp, r) ? 0 : lp->w[r] / lp->alpha[r];
    if (tie_step < 0 && step <= HARRIS_SLACK * lp->bound_scale)
        tie_step = 0;
    for (size_t i = 0; i < lp->rows; i++) {
        lp->x[i] -= step * lp->alpha[i];
        lp->w[i] -= tie_step * lp->alpha[i];
    }
    lp->x[r] = step;
    lp->w[r] = tie_step;
    num_lp_pivot_inverse(lp, lp->alpha, r, gain);
    num_lp_move_out(lp, lp->head[r]);
    num_lp_move_in(lp, v, r);
    lp->fresh = false;
    lp->since_rebuild++;
    lp->pivots++;
}
