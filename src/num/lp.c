/* lp.c - primal revised simplex with an explicit inverse, for small linear programs that grow by
 * columns.
 *
 * Variables: the caller's columns ("structural") and one logical per row, its slack; the logical of
 * an equation is fixed at 0 and never comes back once it has left. The first basis is all logicals.
 *
 * Phases. There are no artificial variables. Basic variables outside their bounds are infeasible;
 * as long as there are any, the cost to climb is minus the sum of infeasibilities (first phase),
 * else the caller's. A basis that lost feasibility to rounding is thus mended in the same way as
 * one that never had it.
 *
 * Pricing. Largest reduced cost per length of the column. All columns are priced each time from the
 * duals: no reduced cost is carried along, so none drifts. The winner's reduced cost is computed a
 * second way, from the column in terms of the basis; both must agree that it is worth entering.
 *
 * Ratio test. Harris: first the longest step with every bound relaxed by `slack`, then, among rows
 * that block before it, a large pivot. Rows that tie are told apart by a second right-hand side w,
 * a random positive direction that stands for an infinitesimal change of b: the order of (x, w) is
 * lexicographic, so a basis does not come back and nothing has to be taken out at the end.
 *
 * Scaling. Columns are divided by their largest entry when they arrive; rows by their largest entry
 * at the first solve, when that is below 1. Factors are powers of two: no rounding.
 *
 * Storage. The inverse is column-major, columns padded to LP_LANES. A column in terms of the basis
 * is a sum of its columns, and a pivot changes only those with a non-zero in the pivot row; both
 * run over contiguous memory and skip zeros. Few rows: structural columns lie in blocks of LP_BLOCK
 * side by side, so that pricing multiplies whole vectors; many rows: as lists of non-zeros.
 *
 * Accuracy. At each optimum x and the duals are recomputed and refined against the original
 * columns; if the residual was above RESIDUAL_MAX, the inverse is rebuilt (by pivoting the basic
 * columns in, largest pivot first among the rows left), and the simplex goes on if that shows
 * anything to gain.
 *
 * This file has the climb; lp_core.h says what the others do. Tests: tests/unit/num/test_lp.c. */
#include "num/lp_core.h"

#include "base/assert.h"
#include <math.h>

enum {
    REBUILD_PIVOTS = 96, /* pivots between rebuilds of the inverse */
    POLISH_PIVOTS = 20   /* strict pivots in one solve, besides rows / 4 */
};

static const double PIVOT_SUSPECT = 1e-6; /* below: only with a fresh inverse */
static const double RESIDUAL_MAX = 1e-11; /* above: rebuild */

/* Recomputes x and y from the inverse, rebuilding it when it has decayed. */
static void verify(struct num_lp *lp)
{
    double residual = num_lp_recompute_x(lp);
    (void)num_lp_choose_phase(lp);
    num_lp_recompute_y(lp);
    residual = lp_larger(residual, num_lp_refine_y(lp));
    if (residual <= RESIDUAL_MAX || lp->fresh)
        return;
    num_lp_rebuild(lp);
    (void)num_lp_choose_phase(lp);
    num_lp_recompute_y(lp);
    (void)num_lp_refine_y(lp);
}

/* Pivots until nothing is worth entering, first clearly, then strictly, for as long as the polish
 * lasts: with a nearly singular basis rounding can make the strict rule go round in circles. */
static enum num_lp_outcome climb(struct num_lp *lp, uint64_t pivots_end)
{
    int phase = num_lp_choose_phase(lp);
    bool verified = false, strict = false;
    uint64_t polish = POLISH_PIVOTS + lp->rows / 4;
    num_lp_recompute_y(lp);
    num_lp_price(lp, phase);
    for (;;) {
        int32_t v;
        double gain, step;
        if (!num_lp_find_entering(lp, phase, strict, &v, &gain)) {
            if (verified && (strict || polish == 0 || !lp->doubtful))
                return phase == 1 ? NUM_LP_INFEASIBLE : NUM_LP_OPTIMAL;
            strict = verified;
            if (!verified)
                verify(lp);
            verified = true;
            phase = num_lp_choose_phase(lp);
            num_lp_price(lp, phase);
            continue;
        }
        size_t r = num_lp_find_leaving(lp, &step);
        bool suspect = r == lp->rows || fabs(lp->alpha[r]) < PIVOT_SUSPECT;
        if (suspect && !lp->fresh) {
            num_lp_rebuild(lp);
            phase = num_lp_choose_phase(lp);
            num_lp_recompute_y(lp);
            num_lp_price(lp, phase);
            continue;
        }
        if (r == lp->rows && strict) {
            num_lp_reject(lp, v);
            continue;
        }
        if (r == lp->rows)
            return phase == 1 ? NUM_LP_STUCK : NUM_LP_UNBOUNDED;
        if (lp->pivots == pivots_end)
            return NUM_LP_STUCK;
        num_lp_take_step(lp, v, r, step, gain);
        polish -= strict ? 1 : 0;
        strict = strict && polish > 0;
        verified = false;
        if (lp->since_rebuild >= REBUILD_PIVOTS + lp->rows / 2) {
            num_lp_rebuild(lp);
            phase = 0;
        }
        int before = phase;
        phase = num_lp_choose_phase(lp);
        if (phase == 1 || before != phase)
            num_lp_recompute_y(lp);
        num_lp_price(lp, phase);
    }
}

shoal_status num_lp_solve(struct num_lp *lp, uint32_t pivot_max, enum num_lp_outcome *out_outcome)
{
    if (!lp->scaled)
        num_lp_scale_rows(lp);
    uint64_t limit = pivot_max > 0 ? pivot_max : 1000 + 20 * ((uint64_t)lp->rows + lp->count);
    num_lp_draw_ties(lp);
    *out_outcome = climb(lp, lp->pivots + limit);
    for (size_t i = 0; i < lp->rows; i++) {
        double y = lp->y[i] * lp->row_scale[i];
        lp->dual[i] = y < 0 && !lp->equal[i] ? 0 : y;
    }
    return SHOAL_OK;
}

/* ---- results ---- */

uint32_t num_lp_column_count(const struct num_lp *lp)
{
    return (uint32_t)lp->count;
}

double num_lp_objective(const struct num_lp *lp)
{
    double sum = 0;
    for (size_t i = 0; i < lp->rows; i++) {
        if (lp->head[i] >= 0)
            sum += lp->columns[lp->head[i]].cost * lp_larger(lp->x[i], 0);
    }
    return sum;
}

const double *num_lp_dual(const struct num_lp *lp)
{
    return lp->dual;
}

double num_lp_value(const struct num_lp *lp, uint32_t index)
{
    shoal_assert(index < lp->count);
    const struct lp_column *c = &lp->columns[index];
    return c->where == LP_NOWHERE ? 0 : lp_larger(lp->x[c->where], 0) * c->scale;
}

uint64_t num_lp_pivots(const struct num_lp *lp)
{
    return lp->pivots;
}
