/* nnls.c - least squares with coefficients that are not negative.
 *
 * Method: Lawson and Hanson's active sets (Solving Least Squares Problems, 1974, chapter 23). A set
 * of columns is free, the others are 0; the column whose coefficient would gain most is freed,
 * least squares are solved over the free ones, and those that would turn negative go back to 0 on
 * the way there. It ends where no column at 0 could gain: the conditions of Kuhn and Tucker, which
 * prove the least.
 *
 * Two departures. The rows are first folded into a triangle by reflections (Householder), some at a
 * time, so that every step works on at most `columns` rows; no normal equations, so the condition
 * of the data is not squared. And a column is freed for good only where the sum of squares falls as
 * computed: sums that strictly fall cannot repeat, so rounding never makes it cycle. Columns that
 * depend on the free ones to 1e-11 of their length stay at 0.
 *
 * Rows are scaled by the roots of their weights, columns and b to length 1 first. Cost: O(rows
 * columns^2), then O(columns^3) a step. Tests: tests/unit/num/test_nnls.c. */
#include "num/least.h"

#include "base/assert.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { N = NUM_LEAST_COLUMNS_MAX, WIDE = N + 1, FOLD = 64 };
static const double DEPENDENT = 1e-11; /* rest of a unit column beside the free ones */
static const double GAIN = 1e-12;      /* slope of a unit column, of the length of b */

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

/* Makes the first `columns` columns of m (rows, wide) upper triangular by reflections, which the
 * other columns undergo too. */
static void triangularise(double *m, size_t rows, size_t columns, size_t wide)
{
    for (size_t j = 0; j < columns && j < rows; j++) {
        double most = 0, square = 0;
        for (size_t i = j; i < rows; i++)
            most = fmax(most, fabs(m[i * wide + j]));
        if (!(most > 0))
            continue;
        for (size_t i = j; i < rows; i++) {
            double v = m[i * wide + j] / most;
            square += v * v;
        }
        double length = most * sqrt(square), head = m[j * wide + j];
        double to = head > 0 ? -length : length;
        /* reflected by v = column - to e_j, whose first entry is head - to; v.v = -2 to v_0 */
        double first = head - to, half = -to * first;
        for (size_t k = j + 1; k < wide; k++) {
            double dot = first * m[j * wide + k];
            for (size_t i = j + 1; i < rows; i++)
                dot += m[i * wide + j] * m[i * wide + k];
            dot /= half;
            m[j * wide + k] -= dot * first;
            for (size_t i = j + 1; i < rows; i++)
                m[i * wide + k] -= dot * m[i * wide + j];
        }
        m[j * wide + j] = to;
        for (size_t i = j + 1; i < rows; i++)
            m[i * wide + j] = 0;
    }
}

/* The problem once its rows are folded: columns and right side of length at most 1. */
struct small {
    size_t rows, columns;
    double r[N * WIDE]; /* (rows, columns + 1), b last */
    double x[N];
    double rest[N]; /* b - r x */
    double rss;
    size_t free[N]; /* columns, in the order they were freed */
    size_t free_count;
};

static void look_at_rest(const struct small *s, const double *x, double *rest, double *rss)
{
    size_t wide = s->columns + 1;

    *rss = 0;
    for (size_t i = 0; i < s->rows; i++) {
        rest[i] = s->r[i * wide + s->columns];
        for (size_t j = 0; j < s->columns; j++)
            rest[i] -= s->r[i * wide + j] * x[j];
        *rss += rest[i] * rest[i];
    }
}

/* Least squares over the columns of `free` alone, into z (by place in `free`). False where the last
 * of them depends on the others. */
static bool solve_free(const struct small *s, const size_t *free, size_t count, double *z)
{
    double m[N * WIDE];
    size_t wide = count + 1;

    if (count > s->rows)
        return false;
    for (size_t i = 0; i < s->rows; i++) {
        for (size_t k = 0; k < count; k++)
            m[i * wide + k] = s->r[i * (s->columns + 1) + free[k]];
        m[i * wide + count] = s->r[i * (s->columns + 1) + s->columns];
    }
    triangularise(m, s->rows, count, wide);
    for (size_t k = count; k-- > 0;) {
        double sum = m[k * wide + count], diagonal = m[k * wide + k];
        if (fabs(diagonal) <= DEPENDENT)
            return false;
        for (size_t l = k + 1; l < count; l++)
            sum -= m[k * wide + l] * z[l];
        z[k] = sum / diagonal;
    }
    return true;
}

/* Goes from x towards the least squares of the free columns, dropping those that reach 0 on the
 * way, until it arrives. False where a set turned out dependent. */
static bool settle(const struct small *s, size_t *free, size_t *count, double *x)
{
    while (*count > 0) {
        double z[N], part = 1;
        size_t kept = 0, hit = N;
        if (!solve_free(s, free, *count, z))
            return false;
        for (size_t k = 0; k < *count; k++) {
            double from = x[free[k]];
            if (z[k] <= 0 && from / (from - z[k]) < part) {
                part = from / (from - z[k]);
                hit = k;
            }
        }
        for (size_t k = 0; k < *count; k++) {
            double *at = &x[free[k]];
            *at = k == hit ? 0 : fmax(*at + part * (z[k] - *at), 0);
            if (hit == N)
                *at = z[k];
            if (*at > 0)
                free[kept++] = free[k];
        }
        *count = kept;
        if (hit == N)
            return true;
    }
    return true;
}

/* Frees column j if that lowers the sum of squares. */
static bool try_column(struct small *s, size_t j)
{
    double x[N], rest[N], z[N] = {0}, rss;
    size_t free[N], count = s->free_count;

    shoal_dassert(count < N); /* j is not among them */
    memcpy(x, s->x, sizeof x);
    memcpy(free, s->free, sizeof free);
    free[count++] = j;
    if (!solve_free(s, free, count, z) || !(z[count - 1] > 0))
        return false;
    if (!settle(s, free, &count, x))
        return false;
    look_at_rest(s, x, rest, &rss);
    if (!(rss < s->rss))
        return false;
    memcpy(s->x, x, sizeof x);
    memcpy(s->free, free, sizeof free);
    memcpy(s->rest, rest, sizeof rest);
    s->free_count = count;
    s->rss = rss;
    return true;
}

static void solve(struct small *s)
{
    bool tried[N] = {false};

    look_at_rest(s, s->x, s->rest, &s->rss);
    for (;;) {
        double best = GAIN;
        size_t pick = N;
        for (size_t j = 0; j < s->columns; j++) {
            double slope = 0;
            if (s->x[j] > 0 || tried[j])
                continue;
            for (size_t i = 0; i < s->rows; i++)
                slope += s->r[i * (s->columns + 1) + j] * s->rest[i];
            if (slope > best) {
                best = slope;
                pick = j;
            }
        }
        if (pick == N)
            return;
        tried[pick] = true;
        if (try_column(s, pick))
            memset(tried, 0, sizeof tried); /* the sum fell: all may be worth another look */
    }
}

/* The problem as given, and by what a column is divided: its largest entry, then its length. */
struct given {
    const struct num_least *p;
    double heaviest;
    double most[WIDE], length[WIDE];
};

/* Entry (i, j) with the root of its row's weight; column `columns` is b. */
static double entry(const struct given *g, size_t i, size_t j)
{
    const struct num_least *p = g->p;
    double v = j < p->columns ? p->a[i * p->columns + j] : p->b[i];

    if (p->weight == NULL)
        return v;
    return g->heaviest > 0 ? sqrt(p->weight[i] / g->heaviest) * v : 0;
}

static void measure(struct given *g)
{
    const struct num_least *p = g->p;

    for (size_t i = 0; p->weight != NULL && i < p->rows; i++)
        g->heaviest = fmax(g->heaviest, p->weight[i]);
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = 0; j <= p->columns; j++)
            g->most[j] = fmax(g->most[j], fabs(entry(g, i, j)));
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = 0; j <= p->columns; j++) {
            double v = g->most[j] > 0 ? entry(g, i, j) / g->most[j] : 0;
            g->length[j] += v * v;
        }
    for (size_t j = 0; j <= p->columns; j++)
        g->length[j] = sqrt(g->length[j]);
}

/* Folds the rows into a triangle, FOLD of them at a time: `m` has room for so many and the
 * triangle. */
static void fold(const struct given *g, double *m, struct small *s)
{
    size_t columns = g->p->columns, wide = columns + 1, used = 0;

    for (size_t i = 0; i < g->p->rows; i++) {
        for (size_t j = 0; j < wide; j++)
            m[used * wide + j] = g->most[j] > 0 ? entry(g, i, j) / g->most[j] / g->length[j] : 0;
        used++;
        if (used < columns + FOLD && i + 1 < g->p->rows)
            continue;
        triangularise(m, used, columns, wide);
        used = used < columns ? used : columns; /* below are parts of b that none explains */
    }
    s->rows = used;
    memcpy(s->r, m, used * wide * sizeof *m);
}

shoal_status num_nnls(const struct base_alloc *alloc, const struct num_least *p, double *x,
                      double *out_rss)
{
    size_t columns = p->columns;
    struct given g = {.p = p};
    struct small s = {.columns = columns};
    double result[N] = {0};

    if (!num_least_sound(p))
        return SHOAL_E_INVAL;
    shoal_assert(columns <= N);
    double *m = base_malloc(alloc, (columns + FOLD) * (columns + 1) * sizeof *m);
    if (m == NULL)
        return SHOAL_E_NOMEM;
    measure(&g);
    fold(&g, m, &s);
    base_free(alloc, m);
    solve(&s);

    for (size_t j = 0; j < columns; j++)
        if (s.x[j] > 0)
            result[j] = s.x[j] * (g.most[columns] / g.most[j]) * (g.length[columns] / g.length[j]);
    double rss = num_least_rss(p, 0, result);
    if (!isfinite(rss))
        return SHOAL_E_INVAL; /* numbers so far apart that their sums leave the range */
    memcpy(x, result, columns * sizeof *x);
    if (out_rss != NULL)
        *out_rss = rss;
    return SHOAL_OK;
}
