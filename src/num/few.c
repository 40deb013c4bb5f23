/* few.c - a linear model with few coefficients: lasso, its penalty chosen by leaving groups out.
 *
 * Problem, over standardised columns z and b less its mean, weights summing to 1:
 *
 *     min over x of  1/2 sum_i w_i (b_i - z_i x)^2 + lambda sum_j |x_j|.
 *
 * With at most 32 columns all a solve needs is G = z'wz and c = z'wb: a sweep of coordinate descent
 * costs columns^2, whatever the rows. Every few sweeps the point goes straight to the least of the
 * orthant it is in (a linear system over the columns in use), as far as no sign changes: on
 * correlated columns, where descent by coordinates creeps, this ends it in a few steps. Both lower
 * the objective. It stops on a proof: r the residual, s r with s = min(1, lambda / max |z'wr|) is a
 * point of the dual problem, and the distance between the two objectives bounds the distance to the
 * least.
 *
 * The path: PENALTIES penalties from the smallest that leaves nothing to PATH_END of it, each solve
 * started from the one before. For each group the rows of the others are standardised by
 * themselves, from the moments of each group about the means of all, added up from both ends (no
 * subtraction, so nothing cancels). Errors are taken row by row. Tests, with the slow plain solver:
 * tests/unit/num/test_few.c. */
#include "num/least.h"

#include "base/room.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { N = NUM_LEAST_COLUMNS_MAX, PENALTIES = 80, SWEEPS_MAX = 4000, POLISH_EVERY = 4 };
static const double PATH_END = 1e-5;
static const double GAP = 1e-10;      /* of the variance of b */
static const double CONSTANT = 1e-20; /* variance of a column whose largest entry is 1 */
static const double ROUNDED = 1e-12;  /* variance of rows that differ from the mean of all by 1 */
static const double WEAKEST = 1e-6;   /* correlation that a path of penalties still looks for */
static const double PIVOT = 1e-12;

/* ---- one solve ---- */

struct gram {
    size_t columns;
    double g[N][N], c[N], bb;
    double x[N], gx[N]; /* the point, and g x */
};

static double soft(double v, double by)
{
    return v > by ? v - by : v < -by ? v + by : 0;
}

static void sweep(struct gram *p, double lambda)
{
    for (size_t j = 0; j < p->columns; j++) {
        double curve = p->g[j][j];
        if (!(curve > 0))
            continue; /* constant */
        double to = soft(p->c[j] - p->gx[j] + curve * p->x[j], lambda) / curve;
        double by = to - p->x[j];
        if (by == 0)
            continue;
        p->x[j] = to;
        for (size_t k = 0; k < p->columns; k++)
            p->gx[k] += by * p->g[k][j];
    }
}

/* l l' = g over the columns in `use`, as far as they are independent: how many, from the first. */
static size_t factor(const struct gram *p, const size_t *use, size_t count, double l[N][N])
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = p->g[use[i]][use[j]];
            for (size_t k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            if (i == j && !(sum > PIVOT))
                return i;
            l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
        }
    }
    return count;
}

static void solve_factored(double l[N][N], size_t count, double *z)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++)
            z[i] -= l[i][k] * z[k];
        z[i] /= l[i][i];
    }
    for (size_t i = count; i-- > 0;) {
        for (size_t k = i + 1; k < count; k++)
            z[i] -= l[k][i] * z[k];
        z[i] /= l[i][i];
    }
}

/* Where to go from x over the columns in `use`: to the least of the orthant (true); or, as column
 * `use[rank]` depends on those before it, along the line on which only the sum of sizes changes,
 * down it, until something reaches 0 (false). */
static bool direct(const struct gram *p, double lambda, const size_t *use, size_t count, double *by)
{
    double l[N][N], uphill = 0;
    size_t rank = factor(p, use, count, l);

    for (size_t i = 0; i < count; i++)
        by[i] = rank == count ? p->c[use[i]] - copysign(lambda, p->x[use[i]])
                : i < rank    ? p->g[use[i]][use[rank]]
                              : 0;
    solve_factored(l, rank, by);
    if (rank == count) {
        for (size_t i = 0; i < count; i++)
            by[i] -= p->x[use[i]];
        return true;
    }
    by[rank] = -1;
    for (size_t i = 0; i <= rank; i++)
        uphill += copysign(by[i], p->x[use[i]] * by[i]);
    bool leaves = false; /* some coefficient moves towards 0 */
    for (size_t i = 0; i <= rank; i++)
        leaves |= by[i] * p->x[use[i]] < 0;
    if (uphill > 0 || (uphill == 0 && !leaves))
        for (size_t i = 0; i <= rank; i++)
            by[i] = -by[i];
    return false;
}

/* Straight to the least of the orthant; a coefficient that reaches 0 first leaves, and again. */
static void polish(struct gram *p, double lambda)
{
    for (;;) {
        size_t use[N] = {0}, count = 0, hit = N;
        double by[N] = {0};
        for (size_t j = 0; j < p->columns; j++)
            if (p->x[j] != 0)
                use[count++] = j;
        if (count == 0)
            break;
        double part = direct(p, lambda, use, count, by) ? 1 : INFINITY;
        for (size_t k = 0; k < count; k++) {
            double from = p->x[use[k]];
            if (from * by[k] < 0 && -from / by[k] <= part) {
                part = -from / by[k];
                hit = k;
            }
        }
        if (isinf(part))
            break; /* nothing moves towards 0: rounding has the word */
        for (size_t k = 0; k < count; k++)
            p->x[use[k]] = k == hit ? 0 : p->x[use[k]] + part * by[k];
        if (hit == N)
            break;
    }
    for (size_t k = 0; k < p->columns; k++) { /* anew, so that rounding does not add up */
        p->gx[k] = 0;
        for (size_t j = 0; j < p->columns; j++)
            p->gx[k] += p->g[k][j] * p->x[j];
    }
}

/* How far the objective can be above its least. */
static double gap_of(const struct gram *p, double lambda)
{
    double xc = 0, xgx = 0, sum = 0, most = 0;

    for (size_t j = 0; j < p->columns; j++) {
        xc += p->x[j] * p->c[j];
        xgx += p->x[j] * p->gx[j];
        sum += fabs(p->x[j]);
        if (p->g[j][j] > 0)
            most = fmax(most, fabs(p->c[j] - p->gx[j]));
    }
    double rr = fmax(p->bb - 2 * xc + xgx, 0), rb = p->bb - xc;
    double s = most > lambda ? lambda / most : 1;
    return rr / 2 + lambda * sum - (s * rb - s * s * rr / 2);
}

/* From the point it is at. Returns the gap proven. */
static double solve(struct gram *p, double lambda)
{
    double gap = INFINITY;

    for (int i = 1; i <= SWEEPS_MAX; i++) {
        sweep(p, lambda);
        if (i % POLISH_EVERY != 0)
            continue;
        polish(p, lambda);
        gap = gap_of(p, lambda);
        if (gap <= GAP * p->bb)
            break;
    }
    if (!(p->bb > 0))
        return 0;
    return isnan(gap) ? INFINITY : fmax(gap, 0) / p->bb; /* no number proves nothing */
}

/* ---- moments ---- */

/* Of a set of rows, about fixed centres: column N is b. */
struct moments {
    double weight, sum[N + 1], square[N + 1][N + 1];
};

struct few {
    size_t rows, columns;
    uint32_t folds;
    double *z;       /* (rows, columns + 1), divided by scale, less centre */
    double *weight;  /* (rows), summing to 1 */
    uint32_t *row;   /* (rows), group by group */
    uint32_t *start; /* (folds + 1) */
    double scale[N + 1], centre[N + 1];
    struct moments *after; /* (folds + 1): of this group and all later ones */
    double *error;         /* (PENALTIES): of rows left out */
    double gap;
};

static void add_moments(struct moments *to, const struct moments *m, size_t wide)
{
    to->weight += m->weight;
    for (size_t j = 0; j < wide; j++) {
        to->sum[j] += m->sum[j];
        for (size_t k = 0; k < wide; k++)
            to->square[j][k] += m->square[j][k];
    }
}

static void group_moments(const struct few *f, uint32_t group, struct moments *out)
{
    size_t wide = f->columns + 1;

    memset(out, 0, sizeof *out);
    for (uint32_t e = f->start[group]; e < f->start[group + 1]; e++) {
        const double *z = &f->z[f->row[e] * wide];
        double w = f->weight[f->row[e]];
        out->weight += w;
        for (size_t j = 0; j < wide; j++) {
            out->sum[j] += w * z[j];
            for (size_t k = 0; k <= j; k++)
                out->square[j][k] += w * z[j] * z[k];
        }
    }
    for (size_t j = 0; j < wide; j++)
        for (size_t k = 0; k < j; k++)
            out->square[k][j] = out->square[j][k];
}

/* The problem of the rows with these moments; their means and deviations (0: constant). */
static void standardise(const struct moments *m, size_t columns, struct gram *p, double *mean,
                        double *deviation)
{
    memset(p, 0, sizeof *p);
    p->columns = columns;
    for (size_t j = 0; j <= columns; j++) {
        mean[j] = m->sum[j] / m->weight;
        double about = m->square[j][j] / m->weight, variance = about - mean[j] * mean[j];
        deviation[j] = variance > fmax(CONSTANT, ROUNDED * about) ? sqrt(variance) : 0;
    }
    for (size_t j = 0; j < columns; j++) {
        if (!(deviation[j] > 0))
            continue;
        for (size_t k = 0; k < columns; k++)
            if (deviation[k] > 0)
                p->g[j][k] = (m->square[j][k] / m->weight - mean[j] * mean[k]) /
                             (deviation[j] * deviation[k]);
        p->g[j][j] = 1;
        p->c[j] = (m->square[j][columns] / m->weight - mean[j] * mean[columns]) / deviation[j];
    }
    p->bb = deviation[columns] * deviation[columns];
}

/* Intercept and coefficients for columns that are not standardised (but scaled and centred). */
static double plain(const struct gram *p, const double *mean, const double *deviation, double *x)
{
    double intercept = mean[p->columns];

    for (size_t j = 0; j < p->columns; j++) {
        x[j] = deviation[j] > 0 ? p->x[j] / deviation[j] : 0;
        intercept -= x[j] * mean[j];
    }
    return intercept;
}

/* ---- the path ---- */

static double penalty(double most, int at)
{
    return most * pow(PATH_END, (double)at / (PENALTIES - 1));
}

static double most_penalty(const struct gram *p)
{
    double most = WEAKEST * sqrt(p->bb);

    for (size_t j = 0; j < p->columns; j++)
        most = fmax(most, fabs(p->c[j]));
    return most;
}

static double errors_of(const struct few *f, uint32_t group, double intercept, const double *x)
{
    size_t wide = f->columns + 1;
    double sum = 0;

    for (uint32_t e = f->start[group]; e < f->start[group + 1]; e++) {
        const double *z = &f->z[f->row[e] * wide];
        double off = z[f->columns] - intercept;
        for (size_t j = 0; j < f->columns; j++)
            off -= x[j] * z[j];
        sum += f->weight[f->row[e]] * off * off;
    }
    return sum;
}

/* Adds the errors on each group by a fit to the others, for all penalties. False: all weight is in
 * one group. */
static bool leave_out(struct few *f, double most)
{
    struct moments before = {0}, group, rest;
    struct gram p;
    double mean[N + 1], deviation[N + 1], x[N] = {0};

    for (uint32_t g = 0; g < f->folds; g++) {
        rest = before;
        add_moments(&rest, &f->after[g + 1], f->columns + 1);
        group_moments(f, g, &group);
        add_moments(&before, &group, f->columns + 1);
        if (!(rest.weight > 0))
            return false;
        standardise(&rest, f->columns, &p, mean, deviation);
        for (int at = 0; at < PENALTIES; at++) {
            f->gap = fmax(f->gap, solve(&p, penalty(most, at)));
            double intercept = plain(&p, mean, deviation, x);
            f->error[at] += errors_of(f, g, intercept, x);
        }
    }
    return true;
}

/* ---- in and out ---- */

static bool sound(const struct num_least *p, const uint32_t *fold, uint32_t folds)
{
    bool seen[NUM_LEAST_FOLDS_MAX] = {false};
    double most = 0;

    if (!num_least_sound(p) || folds < 2 || folds > NUM_LEAST_FOLDS_MAX)
        return false;
    for (size_t i = 0; i < p->rows; i++) {
        if (fold[i] >= folds)
            return false;
        seen[fold[i]] = true;
        most = fmax(most, p->weight != NULL ? p->weight[i] : 1);
    }
    for (uint32_t g = 0; g < folds; g++)
        if (!seen[g])
            return false;
    return most > 0;
}

static void weigh(struct few *f, const double *weight)
{
    double most = 0, sum = 0;

    for (size_t i = 0; i < f->rows; i++)
        most = fmax(most, weight != NULL ? weight[i] : 1);
    for (size_t i = 0; i < f->rows; i++)
        sum += f->weight[i] = weight != NULL ? weight[i] / most : 1;
    for (size_t i = 0; i < f->rows; i++)
        f->weight[i] /= sum;
}

/* Entries of at most 1, then less their mean: in two passes, so that large constants cost no
 * digits. */
static void scale(struct few *f, const struct num_least *p)
{
    size_t wide = f->columns + 1;

    for (size_t j = 0; j < wide; j++) {
        double most = 0, mean = 0;
        for (size_t i = 0; i < f->rows; i++)
            most = fmax(most, fabs(j < f->columns ? p->a[i * f->columns + j] : p->b[i]));
        f->scale[j] = most > 0 ? most : 1;
        for (size_t i = 0; i < f->rows; i++) {
            double v = j < f->columns ? p->a[i * f->columns + j] : p->b[i];
            f->z[i * wide + j] = v / f->scale[j];
            mean += f->weight[i] * f->z[i * wide + j];
        }
        f->centre[j] = mean;
        for (size_t i = 0; i < f->rows; i++)
            f->z[i * wide + j] -= mean;
    }
}

static void group_rows(struct few *f, const uint32_t *fold)
{
    memset(f->start, 0, (f->folds + 1) * sizeof *f->start);
    for (size_t i = 0; i < f->rows; i++)
        f->start[fold[i] + 1]++;
    for (uint32_t g = 0; g < f->folds; g++)
        f->start[g + 1] += f->start[g];
    uint32_t at[NUM_LEAST_FOLDS_MAX];
    memcpy(at, f->start, f->folds * sizeof *at);
    for (size_t i = 0; i < f->rows; i++)
        f->row[at[fold[i]]++] = (uint32_t)i;
    for (uint32_t g = f->folds; g-- > 0;) {
        group_moments(f, g, &f->after[g]);
        add_moments(&f->after[g], &f->after[g + 1], f->columns + 1);
    }
}

/* Fits all rows at the penalty chosen, in the units given. */
static void finish(struct few *f, const struct gram *all, double most, const double *mean,
                   const double *deviation, struct num_few_fit *out)
{
    struct gram p = *all;
    double x[N];
    int best = 0;

    for (int at = 1; at < PENALTIES; at++)
        if (f->error[at] < f->error[best])
            best = at;
    for (int at = 0; at <= best; at++)
        f->gap = fmax(f->gap, solve(&p, penalty(most, at)));
    double unit = f->scale[f->columns];
    double intercept = plain(&p, mean, deviation, x);
    *out = (struct num_few_fit){.lambda = penalty(most, best) * unit,
                                .cv_rss = f->error[best] * unit * unit,
                                .gap = f->gap};
    intercept += f->centre[f->columns];
    for (size_t j = 0; j < f->columns; j++) {
        intercept -= x[j] * f->centre[j];
        out->x[j] = x[j] / f->scale[j] * unit;
        out->used += x[j] != 0;
    }
    out->intercept = intercept * unit;
}

shoal_status num_few(const struct base_alloc *alloc, const struct num_least *p,
                     const uint32_t *fold, uint32_t folds, struct num_few_fit *out)
{
    size_t rows = p->rows, columns = p->columns;
    struct few f = {.rows = rows, .columns = columns, .folds = folds};
    struct num_few_fit fit;
    struct gram all;
    double mean[N + 1], deviation[N + 1];
    struct base_room room = {.alloc = alloc};

    if (!sound(p, fold, folds))
        return SHOAL_E_INVAL;
    BASE_ROOM(&room, f.z, rows * (columns + 1));
    BASE_ROOM(&room, f.weight, rows);
    BASE_ROOM(&room, f.row, rows);
    BASE_ROOM(&room, f.start, (size_t)folds + 1);
    BASE_ROOM_ZERO(&room, f.after, (size_t)folds + 1);
    BASE_ROOM_ZERO(&room, f.error, PENALTIES);
    shoal_status st = base_room_status(&room);
    if (st != SHOAL_OK)
        goto out;
    weigh(&f, p->weight);
    scale(&f, p);
    group_rows(&f, fold);
    standardise(&f.after[0], columns, &all, mean, deviation);
    double most = most_penalty(&all);
    st = SHOAL_E_INVAL;
    if (!leave_out(&f, most))
        goto out;
    finish(&f, &all, most, mean, deviation, &fit);
    fit.rss = num_least_rss(p, fit.intercept, fit.x);
    if (!isfinite(fit.rss) || !isfinite(fit.cv_rss) || !isfinite(fit.lambda))
        goto out; /* a number has left the range */
    *out = fit;
    st = SHOAL_OK;
out:
    base_room_fini(&room);
    return st;
}
