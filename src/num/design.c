/* design.c - optimal design under a budget: checks, scaling, and the cheapest regular choice.
 *
 * After Ernest (Venkataraman, Yang, Franklin, Recht, Stoica: Ernest: Efficient Performance
 * Prediction for Large-Scale Advanced Analytics, NSDI 2016, section 3.2), which picks its training
 * runs by A-optimal design with weights relaxed from {0, 1} to [0, 1] under a bound on their total
 * cost; the theory is in Pukelsheim, Optimal Design of Experiments. Ernest hands the relaxation to
 * a solver of cone programs and keeps what has a large weight. Here the relaxation is solved by
 * exchanges, its gradient gives a bound that is proven whatever the point, and the
 * choice is a real one: rounded, within the budget, improved by exchanges (design_search.c). Where
 * the two are far apart, as when the budget pays for a few dear experiments only, rows are fixed in
 * and out by turns (design_search.c).
 *
 * Whether any choice is regular is decided exactly (but for the tolerance of what counts as
 * independent): sets of independent rows are a matroid, so taking rows by rising cost wherever they
 * add to the span gives the cheapest regular choice of all.
 *
 * Cost: O(rows used^2) an exchange, `used` the columns where a row is not 0. Work is bounded by
 * counts (RELAX_MAX, and MOVE_WORK_MAX of design_search.c): under a second for hundreds of rows with 4
 * columns used, some seconds for thousands; up to a minute where all 32 are used by 4096 rows. */
#include "num/design.h"

#include "base/err.h"
#include "num/design_parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 4000, STEPS_MIN = 64 };
static const double RELAX_MAX = 2e9;    /* multiplications for the relaxed problem, about */
static const double SINGULAR = 1e-12;   /* of a pivot of a matrix whose diagonal was 1 */
static const double INDEPENDENT = 1e-6; /* rest of a unit vector */

/* ---- points ---- */

double design_product(const struct design *d, const double *matrix, size_t i, size_t j)
{
    size_t n = d->columns;
    const double *ui = &d->u[i * n], *uj = &d->u[j * n];
    double sum = 0;

    for (uint8_t k = 0; k < d->used_count[i]; k++) {
        size_t a = d->used[i * n + k];
        double inner = 0;
        for (uint8_t l = 0; l < d->used_count[j]; l++) {
            size_t b = d->used[j * n + l];
            inner += matrix[a * n + b] * uj[b];
        }
        sum += ui[a] * inner;
    }
    return sum;
}

void design_add(const struct design *d, double *m, size_t i, double by)
{
    size_t n = d->columns;
    const double *u = &d->u[i * n];

    for (uint8_t k = 0; k < d->used_count[i]; k++)
        for (uint8_t l = 0; l < d->used_count[i]; l++) {
            size_t a = d->used[i * n + k], b = d->used[i * n + l];
            m[a * n + b] += by * u[a] * u[b];
        }
}

/* inverse = m^-1 and the logarithm of its determinant; false: singular. */
static bool invert(const double *m, size_t n, double *inverse, double *out_log)
{
    double l[DESIGN_N * DESIGN_N], back[DESIGN_N * DESIGN_N] = {0};

    *out_log = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = m[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= l[i * n + k] * l[j * n + k];
            if (i == j && !(sum > SINGULAR * m[i * n + i] && sum > 0))
                return false;
            l[i * n + j] = i == j ? sqrt(sum) : sum / l[j * n + j];
        }
        *out_log -= 2 * log(l[i * n + i]);
    }
    for (size_t j = 0; j < n; j++) { /* back = l^-1 */
        back[j * n + j] = 1 / l[j * n + j];
        for (size_t i = j + 1; i < n; i++) {
            double sum = 0;
            for (size_t k = j; k < i; k++)
                sum -= l[i * n + k] * back[k * n + j];
            back[i * n + j] = sum / l[i * n + i];
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = i; k < n; k++)
                sum += back[k * n + i] * back[k * n + j];
            inverse[i * n + j] = inverse[j * n + i] = sum;
        }
    return true;
}

static void multiply(const double *a, const double *b, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            out[i * n + j] = 0;
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++)
                out[i * n + j] += a[i * n + k] * b[k * n + j];
    }
}

bool design_look(const struct design *d, struct design_point *p)
{
    size_t n = d->columns;
    double half[DESIGN_N * DESIGN_N], log_det;

    if (!invert(p->m, n, p->inverse, &log_det))
        return false;
    if (d->by == NUM_DESIGN_D) {
        memcpy(p->sure, p->inverse, n * n * sizeof *p->sure);
        p->value = log_det;
        return true;
    }
    multiply(p->inverse, d->wanted, n, half);
    multiply(half, p->inverse, n, p->sure);
    p->value = 0;
    for (size_t i = 0; i < n; i++)
        p->value += half[i * n + i];
    return true;
}

bool design_look_at_pick(const struct design *d, const bool *pick, struct design_point *p)
{
    memcpy(p->m, d->known, d->columns * d->columns * sizeof *p->m);
    for (size_t i = 0; i < d->rows; i++)
        if (pick[i])
            design_add(d, p->m, i, 1);
    return design_look(d, p);
}

/* With u in and v out by t each: the determinant grows by -down, down = -1 + t (q - p) + t^2 (pq -
 * r^2), and by Woodbury the trace falls by (t^2 (q p2 - 2 r r2 + p q2) + t (q2 - p2)) / down. */
double design_fall(const struct design *d, const struct design_pair *x, double t)
{
    double down = -1 + t * (x->q - x->p) + t * t * (x->p * x->q - x->r * x->r);

    if (!(down < -SINGULAR))
        return -INFINITY;
    if (d->by == NUM_DESIGN_D)
        return log(-down);
    double square = x->q * x->p2 - 2 * x->r * x->r2 + x->p * x->q2;
    return (t * t * square + t * (x->q2 - x->p2)) / down;
}

double design_cost(const struct design *d, const bool *pick)
{
    double sum = 0;

    for (size_t i = 0; i < d->rows; i++)
        sum += pick[i] ? d->cost[i] : 0;
    return sum;
}

/* ---- spans ---- */

bool design_span_add(struct design_span *span, const double *v)
{
    size_t n = span->columns;
    double rest[DESIGN_N], before = 0, after = 0;

    for (size_t k = 0; k < n; k++) {
        rest[k] = v[k];
        before += v[k] * v[k];
    }
    for (int twice = 0; twice < 2; twice++) /* the second time takes off what rounding left */
        for (size_t b = 0; b < span->rank; b++) {
            double dot = 0;
            for (size_t k = 0; k < n; k++)
                dot += rest[k] * span->basis[b * n + k];
            for (size_t k = 0; k < n; k++)
                rest[k] -= dot * span->basis[b * n + k];
        }
    for (size_t k = 0; k < n; k++)
        after += rest[k] * rest[k];
    if (span->rank == n || !(after > INDEPENDENT * INDEPENDENT * before))
        return false;
    for (size_t k = 0; k < n; k++)
        span->basis[span->rank * n + k] = rest[k] / sqrt(after);
    span->rank++;
    return true;
}

/* The columns of a symmetric matrix span what it is about; the largest first, each less what those
 * before it explain. */
void design_span_known(const struct design *d, struct design_span *span)
{
    size_t n = d->columns;
    double m[DESIGN_N * DESIGN_N];

    memset(span, 0, sizeof *span);
    span->columns = n;
    memcpy(m, d->known, n * n * sizeof *m);
    for (size_t step = 0; step < n; step++) {
        size_t at = 0;
        double column[DESIGN_N];
        for (size_t k = 1; k < n; k++)
            if (m[k * n + k] > m[at * n + at])
                at = k;
        double pivot = m[at * n + at];
        if (!(pivot > SINGULAR))
            return;
        for (size_t k = 0; k < n; k++)
            column[k] = m[k * n + at];
        design_span_add(span, column);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                m[i * n + j] -= column[i] * column[j] / pivot;
    }
}

/* ---- from the problem ---- */

static bool positive(double v)
{
    return v > 0 && isfinite(v);
}

static shoal_status check_numbers(const struct num_design_problem *p, shoal_err *err)
{
    size_t n = p->columns;

    if (p->rows == 0 || p->rows > NUM_DESIGN_ROWS_MAX || n == 0 || n > NUM_DESIGN_COLUMNS_MAX)
        return base_err(err, SHOAL_E_INVAL,
                        "cannot plan over %zu experiments of %zu coefficients: at most %d of %d",
                        p->rows, n, NUM_DESIGN_ROWS_MAX, NUM_DESIGN_COLUMNS_MAX);
    if (!positive(p->budget))
        return base_err(err, SHOAL_E_INVAL, "a budget must be above 0 and finite, not %g",
                        p->budget);
    for (size_t i = 0; i < p->rows; i++) {
        if (!positive(p->cost[i]) || (p->sigma != NULL && !positive(p->sigma[i])))
            return base_err(err, SHOAL_E_INVAL,
                            "experiment %zu: cost and noise must be above 0 and finite", i);
        for (size_t k = 0; k < n; k++)
            if (!isfinite(p->a[i * n + k]))
                return base_err(err, SHOAL_E_INVAL, "experiment %zu: feature %zu is not finite", i,
                                k);
    }
    if (p->by == NUM_DESIGN_A && p->at_rows == 0)
        return base_err(err, SHOAL_E_INVAL, "nothing to predict: A-optimality needs a row in `at`");
    for (size_t i = 0; p->by == NUM_DESIGN_A && i < p->at_rows * n; i++)
        if (!isfinite(p->at[i]))
            return base_err(err, SHOAL_E_INVAL, "prediction %zu: feature %zu is not finite", i / n,
                            i % n);
    return SHOAL_OK;
}

/* Symmetric, and no direction in which less than nothing is known. */
static shoal_status check_known(const struct num_design_problem *p, shoal_err *err)
{
    size_t n = p->columns;
    double m[DESIGN_N * DESIGN_N], size[DESIGN_N];

    for (size_t k = 0; k < n; k++) {
        size[k] = sqrt(p->known[k * n + k]);
        if (!(p->known[k * n + k] >= 0) || isinf(size[k]))
            return base_err(err, SHOAL_E_INVAL,
                            "what is known of coefficient %zu is not a number "
                            "of 0 or more",
                            k);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double most = size[i] * size[j], v = p->known[i * n + j];
            if (!(fabs(v) <= most * (1 + 1e-9)) || !(fabs(v - p->known[j * n + i]) <= 1e-9 * most))
                return base_err(err, SHOAL_E_INVAL,
                                "what is known is not a matrix of information: "
                                "see entry %zu, %zu",
                                i, j);
            m[i * n + j] = most > 0 ? v / most : 0;
        }
    for (size_t k = 0; k < n; k++) { /* elimination leaves no diagonal below 0 */
        double pivot = m[k * n + k];
        if (pivot < -1e-9)
            return base_err(err, SHOAL_E_INVAL,
                            "what is known is not a matrix of information: "
                            "less than nothing in some direction");
        if (pivot <= 1e-9)
            continue;
        for (size_t i = k + 1; i < n; i++)
            for (size_t j = k + 1; j < n; j++)
                m[i * n + j] -= m[i * n + k] * m[k * n + j] / pivot;
        for (size_t i = k + 1; i < n; i++)
            m[i * n + k] = 0;
    }
    return SHOAL_OK;
}

/* Sizes of columns over what is known and all affordable rows; false where one is 0. */
static bool column_sizes(const struct num_design_problem *p, double *size, size_t *out_missing)
{
    size_t n = p->columns;

    for (size_t k = 0; k < n; k++) {
        double sum = p->known != NULL ? sqrt(p->known[k * n + k]) : 0;
        for (size_t i = 0; i < p->rows; i++)
            if (p->cost[i] <= p->budget)
                sum = hypot(sum, p->a[i * n + k] / (p->sigma != NULL ? p->sigma[i] : 1));
        size[k] = sum;
        *out_missing = k;
        if (!(sum > 0) || !isfinite(sum))
            return false;
    }
    return true;
}

static void take_rows(const struct num_design_problem *p, const double *size, struct design *d)
{
    size_t n = p->columns;

    d->rows = 0;
    for (size_t i = 0; i < p->rows; i++) {
        size_t at = d->rows;
        if (p->cost[i] > p->budget)
            continue;
        d->used_count[at] = 0;
        for (size_t k = 0; k < n; k++) {
            double v = p->a[i * n + k] / (p->sigma != NULL ? p->sigma[i] : 1) / size[k];
            d->u[at * n + k] = v;
            if (v != 0)
                d->used[at * n + d->used_count[at]++] = (uint8_t)k;
        }
        d->pass += (double)d->used_count[at] * d->used_count[at];
        d->cost[at] = p->cost[i] / p->budget;
        d->from[at] = (uint32_t)i;
        d->rows++;
    }
}

static void take_matrices(const struct num_design_problem *p, const double *size, struct design *d)
{
    size_t n = p->columns;

    for (size_t i = 0; i < n; i++) {
        d->shift -= p->by == NUM_DESIGN_D ? 2 * log(size[i]) : 0;
        for (size_t j = 0; j < n; j++) {
            if (p->known != NULL)
                d->known[i * n + j] = p->known[i * n + j] / size[i] / size[j];
            for (size_t r = 0; p->by == NUM_DESIGN_A && r < p->at_rows; r++)
                d->wanted[i * n + j] += p->at[r * n + i] / size[i] * (p->at[r * n + j] / size[j]);
        }
    }
}

static shoal_status make(const struct num_design_problem *p, struct design *d, shoal_err *err)
{
    double size[DESIGN_N];
    size_t missing, rows = p->rows, n = p->columns;

    if (!column_sizes(p, size, &missing))
        return base_err(err, SHOAL_E_INVAL,
                        "no experiment within the budget of %g tells anything about coefficient "
                        "%zu (or its numbers are out of range)",
                        p->budget, missing);
    d->by = p->by;
    d->columns = n;
    BASE_ROOM(&d->room, d->u, rows * n);
    BASE_ROOM(&d->room, d->used, rows * n);
    BASE_ROOM(&d->room, d->used_count, rows);
    BASE_ROOM(&d->room, d->cost, rows);
    BASE_ROOM(&d->room, d->from, rows);
    BASE_ROOM(&d->room, d->score, rows);
    BASE_ROOM(&d->room, d->rate, rows);
    BASE_ROOM(&d->room, d->key, rows);
    BASE_ROOM(&d->room, d->order, rows);
    BASE_ROOM(&d->room, d->other, rows);
    BASE_ROOM_ZERO(&d->room, d->state, rows); /* all free */
    BASE_ROOM(&d->room, d->tried, rows);
    if (base_room_status(&d->room) != SHOAL_OK)
        return base_err_nomem(err, "planning experiments");
    take_rows(p, size, d);
    take_matrices(p, size, d);
    return SHOAL_OK;
}

/* ---- choices to start from ---- */

static int by_key(const void *a, const void *b, void *ctx)
{
    const double *key = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (key[x] != key[y])
        return key[x] < key[y] ? -1 : 1;
    return x < y ? -1 : 1;
}

bool design_basis(struct design *d, const double *key, double most, bool *pick)
{
    struct design_span span;
    double cost = 0;

    design_span_known(d, &span);
    for (size_t i = 0; i < d->rows; i++) {
        d->order[i] = (uint32_t)i;
        pick[i] = false;
    }
    qsort_r(d->order, d->rows, sizeof *d->order, by_key, (void *)key);
    for (size_t k = 0; k < d->rows && span.rank < d->columns; k++) {
        size_t i = d->order[k];
        pick[i] = cost + d->cost[i] <= most && design_span_add(&span, &d->u[i * d->columns]);
        cost += pick[i] ? d->cost[i] : 0;
    }
    return span.rank == d->columns;
}

static shoal_status cheapest(const struct num_design_problem *p, struct design *d, bool *pick,
                             struct design_point *point, shoal_err *err)
{
    bool reached = design_basis(d, d->cost, INFINITY, pick);
    double least = design_cost(d, pick);

    if (reached && least <= 1 && design_look_at_pick(d, pick, point))
        return SHOAL_OK;
    if (reached && least > 1) {
        base_err(err, SHOAL_E_INVAL,
                 "no choice within the budget of %g tells all %zu coefficients apart: the "
                 "cheapest that does costs %g",
                 p->budget, p->columns, least * p->budget);
        base_err_hint(err, "raise the budget to at least %g, or plan for fewer algorithms",
                      least * p->budget * (1 + 1e-9));
        return SHOAL_E_INVAL;
    }
    base_err(err, SHOAL_E_INVAL,
             "the experiments within the budget of %g do not tell all %zu coefficients apart",
             p->budget, p->columns);
    base_err_hint(err, "offer more machine counts and fractions of the data");
    return SHOAL_E_INVAL;
}

bool design_round(struct design *d, const double *weight, bool *pick)
{
    for (size_t i = 0; i < d->rows; i++)
        d->key[i] = -weight[i];
    if (!design_basis(d, d->key, 1, pick))
        return false;
    double cost = design_cost(d, pick);
    for (size_t k = 0; k < d->rows; k++) { /* in the order the basis was taken in */
        size_t i = d->order[k];
        if (!pick[i] && weight[i] >= 0.5 && cost + d->cost[i] <= 1) {
            pick[i] = true;
            cost += d->cost[i];
        }
    }
    return true;
}

/* Any number of exchanges gives a bound, more of them a better one. */
static int steps_for(const struct design *d)
{
    return (int)fmin(STEPS_MAX, fmax(RELAX_MAX / (2 * d->pass + 1), STEPS_MIN));
}

/* The value of all rows at once, which more than the budget could not make better. */
static double bound_of_all(const struct design *d, bool *scratch, struct design_point *point)
{
    for (size_t i = 0; i < d->rows; i++)
        scratch[i] = true;
    return design_look_at_pick(d, scratch, point)
               ? point->value - DESIGN_ROUNDING * fabs(point->value)
               : -INFINITY;
}

/* Room for a relaxed choice, the best one and another; (rows) each. */
struct choices {
    double *weight;
    bool *pick, *other;
};

static shoal_status choose(const struct num_design_problem *p, struct design *d,
                           const struct choices *room, struct num_design_result *out,
                           shoal_err *err)
{
    double *weight = room->weight;
    bool *pick = room->pick, *other = room->other;
    struct design_point point;
    shoal_status st = cheapest(p, d, pick, &point, err);

    if (st != SHOAL_OK)
        return st;
    design_fill(d, pick, &point);
    for (size_t i = 0; i < d->rows; i++)
        weight[i] = pick[i] ? 1 : 0;
    double bound =
        fmax(design_relax(d, weight, steps_for(d), &point), bound_of_all(d, other, &point));
    double value = design_improve(d, pick, &point);
    if (design_round(d, weight, other) && design_look_at_pick(d, other, &point)) {
        double second = design_improve(d, other, &point);
        if (second < value) {
            value = second;
            memcpy(pick, other, d->rows * sizeof *pick);
        }
    }
    bound = design_branch(d, weight, pick, other, &value, bound);
    if (!isfinite(value) || !isfinite(bound))
        return base_err(err, SHOAL_E_INVAL,
                        "the experiments' numbers are too far apart to compare them");
    out->value = value + d->shift;
    out->bound = fmin(value, bound) + d->shift;
    return SHOAL_OK;
}

shoal_status num_design(const struct base_alloc *alloc, const struct num_design_problem *problem,
                        bool *pick, struct num_design_result *out, shoal_err *err)
{
    struct design d = {.room = {.alloc = alloc}};
    struct num_design_result result = {0};
    struct choices room = {NULL, NULL, NULL};
    shoal_status st = check_numbers(problem, err);

    if (st == SHOAL_OK && problem->known != NULL)
        st = check_known(problem, err);
    if (st == SHOAL_OK)
        st = make(problem, &d, err);
    if (st == SHOAL_OK) {
        BASE_ROOM(&d.room, room.weight, problem->rows);
        BASE_ROOM(&d.room, room.pick, problem->rows);
        BASE_ROOM(&d.room, room.other, problem->rows);
        if (base_room_status(&d.room) != SHOAL_OK)
            st = base_err_nomem(err, "planning experiments");
    }
    if (st == SHOAL_OK)
        st = choose(problem, &d, &room, &result, err);
    if (st == SHOAL_OK) {
        memset(pick, 0, problem->rows * sizeof *pick);
        for (size_t i = 0; i < d.rows; i++)
            if (room.pick[i]) {
                pick[d.from[i]] = true;
                result.cost += problem->cost[d.from[i]];
            }
        *out = result;
    }
    base_room_fini(&d.room);
    return st;
}
