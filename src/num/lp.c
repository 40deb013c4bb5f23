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
 * Tests: tests/unit/num/test_lp.c. */
#include "num/lp.h"

#include "base/assert.h"
#include "base/room.h"
#include <math.h>
#include <string.h>

enum {
    LP_LANES = 8,
    LP_BLOCK = 8,
    LP_DENSE_ROWS_MAX = 40, /* up to here structural columns are kept dense */
    LP_NOWHERE = -1,
    COLUMNS_MAX = 1 << 22,
    REFINE_MAX = 4,      /* passes of refinement */
    REBUILD_PIVOTS = 96, /* pivots between rebuilds of the inverse */
    POLISH_PIVOTS = 20   /* strict pivots in one solve, besides rows / 4 */
};

static const double BOUND_NOISE = 1e-15;     /* of the largest b: nearer to 0 is 0 */
static const double SINGULAR = 1e-11;        /* smaller pivots of a rebuild: the column depends */
static const double RESIDUAL_FINE = 1e-15;   /* above: refine */
static const double DUAL_TOLERANCE = 1e-12;  /* of the terms that make up a reduced cost */
static const double ROW_NOISE = 1e-15;       /* of the largest dual */
static const double BASIS_NOISE = 1e-14;     /* of the largest basic cost x the largest entry */
static const double BOUND_TOLERANCE = 1e-10; /* of the largest b: further out is infeasible */
static const double HARRIS_SLACK = 1e-13;    /* of the largest b */
static const double TIE_SLACK = 1e-3;        /* of w, which is about 1 */
static const double PIVOT_TOLERANCE = 1e-12; /* of the largest entry of the column */
static const double PIVOT_SUSPECT = 1e-6;    /* below: only with a fresh inverse */
static const double RESIDUAL_MAX = 1e-11;    /* above: rebuild */

/* Two doubles handled at once, wherever they lie: what every 64-bit machine has. Wider vectors are
 * lowered through memory where the machine lacks them. */
typedef double lp_vec2 __attribute__((vector_size(16), aligned(8), may_alias));

struct lp_column {
    double cost;   /* scaled */
    double scale;  /* caller's value = scale x value here */
    double weight; /* 1 / length */
    int32_t where; /* position in the basis or LP_NOWHERE */
};

struct num_lp {
    const struct base_alloc *alloc;
    struct base_room room; /* of what grows by columns */
    uint32_t rows, pitch;  /* pitch: rows padded to LP_LANES */
    bool scaled;           /* row scales are set */
    bool doubtful;         /* a column was turned down that the rows were for and the basis not */
    bool fresh;            /* no pivot since the inverse was rebuilt */
    uint32_t since_rebuild;
    uint64_t pivots;
    uint64_t draws; /* of w */
    double bound_scale;

    void *memory;
    double *inverse; /* (rows, pitch): column c of the inverse at c x pitch */
    double *b, *row_scale;
    double *x, *w;      /* (pitch) of the basic variable in each position */
    double *basic_cost; /* (pitch) in the current phase */
    double *y, *dual;   /* (pitch) scaled duals; duals of the caller's rows */
    double *alpha;      /* (pitch) entering column in terms of the basis */
    double *work;
    double *gap, *logical_d;
    int32_t *head;  /* (rows) structural column >= 0, or ~row for a logical */
    int32_t *where; /* (rows) position of the logical of a row, or LP_NOWHERE */
    int32_t *todo;  /* (rows) of rebuild: columns to pivot in */
    bool *equal;
    bool *open; /* (rows) of rebuild: rows whose logical is not in the basis */

    struct lp_column *columns;
    double *d; /* reduced costs */
    size_t count;
    double *block; /* dense: (blocks, rows, LP_BLOCK) */
    size_t *start; /* sparse: (count + 1) */
    double *value;
    uint16_t *row;
};

/* The entries of a structural column: value[k x stride] in row row[k], or in row k where row is
 * NULL. */
struct lp_entries {
    double *value;
    const uint16_t *row;
    size_t count, stride;
};

static bool lp_is_dense(const struct num_lp *lp)
{
    return lp->rows <= LP_DENSE_ROWS_MAX;
}

static struct lp_entries lp_column_entries(const struct num_lp *lp, size_t j)
{
    if (lp_is_dense(lp)) {
        double *first = lp->block + j / LP_BLOCK * ((size_t)lp->rows * LP_BLOCK) + j % LP_BLOCK;
        return (struct lp_entries){first, NULL, lp->rows, LP_BLOCK};
    }
    size_t begin = lp->start[j];
    return (struct lp_entries){lp->value + begin, lp->row + begin, lp->start[j + 1] - begin, 1};
}

static size_t lp_entry_row(const struct lp_entries *e, size_t k)
{
    return e->row == NULL ? k : e->row[k];
}

/* y += a x over n doubles, n a multiple of LP_LANES */
static void lp_add_scaled(double *restrict y, double a, const double *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i += LP_LANES) {
        for (size_t k = 0; k < LP_LANES; k += 2)
            *(lp_vec2 *)(y + i + k) += a * *(const lp_vec2 *)(x + i + k);
    }
}

static double lp_dot(const double *restrict x, const double *restrict y, size_t n)
{
    lp_vec2 s[LP_LANES / 2] = {{0, 0}};
    for (size_t i = 0; i < n; i += LP_LANES) {
        for (size_t k = 0; k < LP_LANES; k += 2)
            s[k / 2] += *(const lp_vec2 *)(x + i + k) * *(const lp_vec2 *)(y + i + k);
    }
    lp_vec2 sum = (s[0] + s[1]) + (s[2] + s[3]);
    return sum[0] + sum[1];
}

static double *lp_inverse_column(const struct num_lp *lp, size_t c)
{
    return lp->inverse + c * lp->pitch;
}

static bool lp_is_fixed(const struct num_lp *lp, size_t position)
{
    int32_t v = lp->head[position];
    return v < 0 && lp->equal[~v];
}

/* fmax without its care for NaN, which keeps it from being one instruction. */
static double lp_larger(double a, double b)
{
    return a > b ? a : b;
}

static double lp_smaller(double a, double b)
{
    return a < b ? a : b;
}

/* ---- the inverse of the basis, and the solution it gives ---- */

/* The basis of all logicals, whose matrix is the unit matrix. */
static void unit_basis(struct num_lp *lp)
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

/* out = inverse x column of variable v */
static void forward(const struct num_lp *lp, int32_t v, double *out)
{
    if (v < 0) {
        uint32_t row = (uint32_t)~v;
        memcpy(out, lp_inverse_column(lp, row), lp->pitch * sizeof(double));
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

/* Column `alpha` (in terms of the basis) takes position r; y rises by gain x new row r. */
static void pivot_inverse(struct num_lp *lp, const double *alpha, size_t r, double gain)
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

static void move_out(struct num_lp *lp, int32_t v)
{
    if (v < 0)
        lp->where[~v] = LP_NOWHERE;
    else
        lp->columns[v].where = LP_NOWHERE;
}

static void move_in(struct num_lp *lp, int32_t v, size_t position)
{
    lp->head[position] = v;
    if (v < 0)
        lp->where[~v] = (int32_t)position;
    else
        lp->columns[v].where = (int32_t)position;
}

/* Another w: numbers in [1/2, 1) that look unrelated, the same in every run. */
static void draw_ties(struct num_lp *lp)
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

/* x = inverse x b, refined; returns the residual it had at first, relative to b. */
static double recompute_x(struct num_lp *lp)
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

/* y = basic_cost x inverse */
static void recompute_y(struct num_lp *lp)
{
    for (size_t c = 0; c < lp->rows; c++)
        lp->y[c] = lp_dot(lp->basic_cost, lp_inverse_column(lp, c), lp->pitch);
}

/* Refines y; returns the residual it had at first, relative to the costs. */
static double refine_y(struct num_lp *lp)
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

/* Rebuilds the inverse from the identity, pivoting in the columns with the fewest entries first. A
 * column that depends on the others is left out; the logical of its row takes its place. */
static void rebuild(struct num_lp *lp)
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
    unit_basis(lp);
    for (size_t limit = lp_is_dense(lp) ? m : 2; left > 0; limit = limit < 8 ? limit + 1 : m) {
        size_t kept = 0;
        for (size_t k = 0; k < left; k++) {
            int32_t v = todo[k];
            if (lp_column_entries(lp, (size_t)v).count > limit) {
                todo[kept++] = v;
                continue;
            }
            forward(lp, v, lp->alpha);
            size_t best = m;
            double most = SINGULAR;
            for (size_t i = 0; i < m; i++) {
                if (open[i] && fabs(lp->alpha[i]) > most) {
                    most = fabs(lp->alpha[i]);
                    best = i;
                }
            }
            move_out(lp, v);
            if (best == m)
                continue;
            pivot_inverse(lp, lp->alpha, best, 0);
            open[best] = false;
            lp->where[best] = LP_NOWHERE;
            move_in(lp, v, best);
        }
        left = kept;
    }
    lp->fresh = true;
    lp->since_rebuild = 0;
    (void)recompute_x(lp);
    draw_ties(lp);
}

/* ---- one step: the phase and its costs, prices of all columns, who enters, and by Harris's rule who leaves ---- */

/* How far x of a position lies outside its bounds: < 0 below, > 0 above, 0 within tolerance. */
static double outside(const struct num_lp *lp, size_t i)
{
    double slack = BOUND_TOLERANCE * lp->bound_scale;
    if (lp->x[i] < -slack)
        return lp->x[i];
    return lp->x[i] > slack && lp_is_fixed(lp, i) ? lp->x[i] : 0;
}

/* Sets basic_cost for the phase that x calls for; returns 1 or 2. */
static int choose_phase(struct num_lp *lp)
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

/* Reduced costs of all variables. */
static void price(struct num_lp *lp, int phase)
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

/* Does not look at it again until the next pricing. */
static void reject(struct num_lp *lp, int32_t v)
{
    if (v < 0)
        lp->logical_d[~v] = 0;
    else
        lp->d[v] = 0;
}

/* Finds a variable worth entering and leaves its column in alpha; false: none is. */
static bool find_entering(struct num_lp *lp, int phase, bool strict, int32_t *out_variable,
                          double *out_gain)
{
    double y_max = 0;
    lp->doubtful = false;
    for (size_t i = 0; i < lp->rows; i++)
        y_max = lp_larger(y_max, fabs(lp->y[i]));
    int32_t v = 0;
    for (; select_entering(lp, &v); reject(lp, v)) {
        if (!clear_of_rows(lp, phase, v, y_max))
            continue;
        forward(lp, v, lp->alpha);
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

/* The row that blocks the entering column first; rows: none does. */
static size_t find_leaving(struct num_lp *lp, double *out_step)
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

/* Variable v, whose column is in alpha, takes position r. */
static void take_step(struct num_lp *lp, int32_t v, size_t r, double step, double gain)
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
    pivot_inverse(lp, lp->alpha, r, gain);
    move_out(lp, lp->head[r]);
    move_in(lp, v, r);
    lp->fresh = false;
    lp->since_rebuild++;
    lp->pivots++;
}

/* ---- memory: columns as they come, and their scaling ---- */

/* The power of two that brings v > 0 into [1/2, 1). */
static double unit_scale(double v)
{
    int exponent;
    (void)frexp(v, &exponent);
    return ldexp(1, -exponent);
}

static size_t padded(size_t n)
{
    return (n + LP_LANES - 1) / LP_LANES * LP_LANES;
}

shoal_status num_lp_new(const struct base_alloc *alloc, uint32_t row_count, const double *b,
                        const bool *equal, struct num_lp **out_lp)
{
    enum { VECTORS = 11 };
    if (row_count == 0)
        return SHOAL_E_INVAL;
    if (row_count > NUM_LP_ROWS_MAX)
        return SHOAL_E_LIMIT;
    for (uint32_t i = 0; i < row_count; i++) {
        if (!isfinite(b[i]))
            return SHOAL_E_INVAL;
    }
    struct num_lp *lp = base_calloc(alloc, 1, sizeof *lp);
    if (lp == NULL)
        return SHOAL_E_NOMEM;
    lp->alloc = lp->room.alloc = alloc;
    lp->rows = row_count;
    size_t pitch = padded(row_count);
    lp->pitch = (uint32_t)pitch;
    size_t doubles = pitch * row_count + VECTORS * pitch;
    size_t rest = pitch * (3 * sizeof(int32_t) + 2 * sizeof(bool));
    lp->memory = base_calloc(alloc, 1, doubles * sizeof(double) + rest);
    if (lp->memory == NULL) {
        num_lp_free(lp);
        return SHOAL_E_NOMEM;
    }
    double *next = lp->memory;
    double **vectors[VECTORS] = {&lp->b,          &lp->row_scale, &lp->x,        &lp->w,
                                 &lp->basic_cost, &lp->y,         &lp->dual,     &lp->alpha,
                                 &lp->work,       &lp->gap,       &lp->logical_d};
    for (size_t k = 0; k < VECTORS; k++, next += pitch)
        *vectors[k] = next;
    lp->inverse = next;
    next += pitch * row_count;
    void *integers = next;
    lp->head = integers;
    lp->where = lp->head + pitch;
    lp->todo = lp->where + pitch;
    void *flags = lp->todo + pitch;
    lp->equal = flags;
    lp->open = lp->equal + pitch;
    if (equal != NULL)
        memcpy(lp->equal, equal, row_count * sizeof *equal);
    num_lp_reset(lp, b);
    *out_lp = lp;
    return SHOAL_OK;
}

void num_lp_free(struct num_lp *lp)
{
    if (lp == NULL)
        return;
    base_free(lp->alloc, lp->memory);
    base_room_fini(&lp->room);
    base_free(lp->alloc, lp);
}

static void measure_bounds(struct num_lp *lp)
{
    double most = 0;
    for (size_t i = 0; i < lp->rows; i++)
        most = lp_larger(most, fabs(lp->b[i]));
    lp->bound_scale = most > 0 ? most : 1;
}

void num_lp_reset(struct num_lp *lp, const double *b)
{
    size_t m = lp->rows;
    for (size_t i = 0; i < m; i++) {
        shoal_assert(isfinite(b[i]));
        lp->b[i] = b[i];
        lp->x[i] = b[i];
        lp->row_scale[i] = 1;
        lp->dual[i] = 0;
        lp->y[i] = 0;
    }
    lp->count = 0;
    lp->scaled = false;
    lp->pivots = 0;
    lp->draws = 0;
    measure_bounds(lp);
    unit_basis(lp);
}

shoal_status num_lp_ready(const struct base_alloc *alloc, uint32_t row_count, const double *b,
                          const bool *equal, struct num_lp **lp)
{
    if (*lp == NULL || (*lp)->rows != row_count) {
        num_lp_free(*lp);
        *lp = NULL;
        return num_lp_new(alloc, row_count, b, equal, lp);
    }
    for (uint32_t i = 0; i < row_count; i++)
        (*lp)->equal[i] = equal != NULL && equal[i];
    num_lp_reset(*lp, b);
    return SHOAL_OK;
}

/* Room for the next column with `entry_count` non-zeros. */
static shoal_status reserve(struct num_lp *lp, size_t entry_count)
{
    size_t n = lp->count + 1;

    if (n > COLUMNS_MAX)
        return SHOAL_E_LIMIT;
    BASE_ROOM(&lp->room, lp->columns, n);
    BASE_ROOM(&lp->room, lp->d, n);
    if (lp_is_dense(lp)) {
        BASE_ROOM(&lp->room, lp->block, (n + LP_BLOCK - 1) / LP_BLOCK * LP_BLOCK * lp->rows);
    } else {
        size_t used = lp->count == 0 ? 0 : lp->start[lp->count];
        BASE_ROOM(&lp->room, lp->start, n + 1);
        BASE_ROOM(&lp->room, lp->value, used + entry_count + 1);
        BASE_ROOM(&lp->room, lp->row, used + entry_count + 1);
    }
    return base_room_status(&lp->room);
}

static double length_weight(const struct lp_entries *e)
{
    double sum = 1;
    for (size_t k = 0; k < e->count; k++) {
        double v = e->value[k * e->stride];
        sum += v * v;
    }
    return 1 / sqrt(sum);
}

shoal_status num_lp_add(struct num_lp *lp, double cost, const double *column, uint32_t *out_index)
{
    size_t m = lp->rows, nonzero = 0;
    double most = 0, finite = cost * 0;
    for (size_t i = 0; i < m; i++) {
        double v = fabs(column[i] * lp->row_scale[i]);
        finite += v * 0;
        most = v > most ? v : most;
        nonzero += column[i] != 0;
    }
    if (finite != 0) /* NaN or an infinity somewhere */
        return SHOAL_E_INVAL;
    shoal_status st = reserve(lp, nonzero);
    if (st != SHOAL_OK)
        return st;

    size_t j = lp->count;
    double scale = most > 0 ? unit_scale(most) : 1;
    if (lp_is_dense(lp)) {
        if (j % LP_BLOCK == 0)
            memset(lp->block + j * m, 0, m * LP_BLOCK * sizeof(double));
    } else {
        if (j == 0)
            lp->start[0] = 0;
        lp->start[j + 1] = lp->start[j] + nonzero;
    }
    struct lp_entries e = lp_column_entries(lp, j);
    uint16_t *row = lp_is_dense(lp) ? NULL : lp->row + lp->start[j];
    for (size_t i = 0, k = 0; i < m; i++) {
        double v = column[i] * lp->row_scale[i] * scale;
        if (row == NULL) {
            e.value[i * LP_BLOCK] = v;
        } else if (column[i] != 0) {
            row[k] = (uint16_t)i;
            e.value[k++] = v;
        }
    }
    lp->columns[j] = (struct lp_column){cost * scale, scale, length_weight(&e), LP_NOWHERE};
    lp->d[j] = 0;
    lp->count++;
    *out_index = (uint32_t)j;
    return SHOAL_OK;
}

/* Rows of small entries are scaled up, but not so far that a right-hand side that can hardly bind
 * dwarfs the others and, with them, the tolerances. */
static void scale_rows(struct num_lp *lp)
{
    size_t m = lp->rows;
    lp->scaled = lp->count > 0;
    memset(lp->work, 0, m * sizeof(double));
    for (size_t j = 0; j < lp->count; j++) {
        struct lp_entries e = lp_column_entries(lp, j);
        for (size_t k = 0; k < e.count; k++) {
            size_t i = lp_entry_row(&e, k);
            double v = fabs(e.value[k * e.stride]);
            lp->work[i] = v > lp->work[i] ? v : lp->work[i];
        }
    }
    double b_max = 0;
    for (size_t i = 0; i < m; i++)
        b_max = lp->work[i] >= 0.25 ? lp_larger(b_max, fabs(lp->b[i])) : b_max;
    if (b_max == 0)
        b_max = lp->bound_scale;
    bool any = false;
    for (size_t i = 0; i < m; i++) {
        if (lp->work[i] == 0 || lp->work[i] >= 0.25 || fabs(lp->b[i]) >= b_max)
            continue;
        any = true;
        lp->row_scale[i] = unit_scale(lp->work[i]);
        if (lp->b[i] != 0)
            lp->row_scale[i] = lp_smaller(lp->row_scale[i], unit_scale(fabs(lp->b[i]) / b_max));
        lp->b[i] *= lp->row_scale[i];
        lp->x[i] = lp->b[i];
    }
    if (!any)
        return;
    for (size_t j = 0; j < lp->count; j++) {
        struct lp_entries e = lp_column_entries(lp, j);
        for (size_t k = 0; k < e.count; k++)
            e.value[k * e.stride] *= lp->row_scale[lp_entry_row(&e, k)];
        lp->columns[j].weight = length_weight(&e);
    }
    measure_bounds(lp);
}

/* ---- the climb ---- */

/* Recomputes x and y from the inverse, rebuilding it when it has decayed. */
static void verify(struct num_lp *lp)
{
    double residual = recompute_x(lp);
    (void)choose_phase(lp);
    recompute_y(lp);
    residual = lp_larger(residual, refine_y(lp));
    if (residual <= RESIDUAL_MAX || lp->fresh)
        return;
    rebuild(lp);
    (void)choose_phase(lp);
    recompute_y(lp);
    (void)refine_y(lp);
}

/* Pivots until nothing is worth entering, first clearly, then strictly, for as long as the polish
 * lasts: with a nearly singular basis rounding can make the strict rule go round in circles. */
static enum num_lp_outcome climb(struct num_lp *lp, uint64_t pivots_end)
{
    int phase = choose_phase(lp);
    bool verified = false, strict = false;
    uint64_t polish = POLISH_PIVOTS + lp->rows / 4;
    recompute_y(lp);
    price(lp, phase);
    for (;;) {
        int32_t v;
        double gain, step;
        if (!find_entering(lp, phase, strict, &v, &gain)) {
            if (verified && (strict || polish == 0 || !lp->doubtful))
                return phase == 1 ? NUM_LP_INFEASIBLE : NUM_LP_OPTIMAL;
            strict = verified;
            if (!verified)
                verify(lp);
            verified = true;
            phase = choose_phase(lp);
            price(lp, phase);
            continue;
        }
        size_t r = find_leaving(lp, &step);
        bool suspect = r == lp->rows || fabs(lp->alpha[r]) < PIVOT_SUSPECT;
        if (suspect && !lp->fresh) {
            rebuild(lp);
            phase = choose_phase(lp);
            recompute_y(lp);
            price(lp, phase);
            continue;
        }
        if (r == lp->rows && strict) {
            reject(lp, v);
            continue;
        }
        if (r == lp->rows)
            return phase == 1 ? NUM_LP_STUCK : NUM_LP_UNBOUNDED;
        if (lp->pivots == pivots_end)
            return NUM_LP_STUCK;
        take_step(lp, v, r, step, gain);
        polish -= strict ? 1 : 0;
        strict = strict && polish > 0;
        verified = false;
        if (lp->since_rebuild >= REBUILD_PIVOTS + lp->rows / 2) {
            rebuild(lp);
            phase = 0;
        }
        int before = phase;
        phase = choose_phase(lp);
        if (phase == 1 || before != phase)
            recompute_y(lp);
        price(lp, phase);
    }
}

shoal_status num_lp_solve(struct num_lp *lp, uint32_t pivot_max, enum num_lp_outcome *out_outcome)
{
    if (!lp->scaled)
        scale_rows(lp);
    uint64_t limit = pivot_max > 0 ? pivot_max : 1000 + 20 * ((uint64_t)lp->rows + lp->count);
    draw_ties(lp);
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
