/* lasso.c - coordinate descent over a working set, by priority, with a bound that ends it.
 *
 * Squared loss. A visit to column j finds g = x_j' u and moves b_j to the minimum along it,
 *
 *     b_j <- soft(g + h b_j, lambda mix) / (h + lambda (1 - mix)),   h = sum_i v_i x_ij^2,
 *
 * with v = weight / total, and u by as much: two passes over the column's entries, the second only
 * if it moved. Columns count as centred and are not: with c = sum_i v_i x_ij, what centring takes
 * off a slope is c x mean of u, and the mean changes by -step x c, so a sparse column stays sparse.
 * The intercept is thereby always the best one. A column that is constant has h = 0 and keeps b = 0;
 * columns that are equal share what one of them would have, the first one most of it (any shares are
 * a minimum of the lasso; with mix below 1 equal ones are).
 *
 * Logistic loss. Newton's method: v = weight p (1 - p) / total at the point, the parabola is
 * minimised as above, and the step is halved until the objective falls (Friedman, Hastie and
 * Tibshirani, "Regularization paths for generalized linear models via coordinate descent", 2010;
 * Lee, Sun and Saunders, "Proximal Newton-type methods for minimizing composite functions", 2014).
 *
 * Priority. Most coordinates of a set rest while some still move. An epoch visits its members: those
 * that moved when they were visited last, and of the others each in every REST-th round. That is the
 * schedule of STRADS (Lee and others, "On model parallelization and scheduling strategies for
 * distributed machine learning", 2014), which draws a coordinate with probability proportional to
 * |its last move| + eta, with two frequencies and without the dice. Frequencies in proportion to
 * moves were tried: 2.2 times fewer visits than a random order on 20 newsgroups, but they leave no
 * map from epoch to epoch that could be accelerated; this has 3.9 times fewer.
 *
 * Acceleration. A round is ANDERSON epochs over the same members, in order; then its points are
 * combined so that their differences cancel best (Bertrand and Massias, "Anderson acceleration of
 * coordinate descent", 2021). Since u is affine in b its combination is known without touching the
 * data; it is taken if the objective falls.
 *
 * The end. A gap falls as slopes do, gains as their squares: a round ends early with an epoch that gains
 * the square of what is asked for, and no sooner. When an epoch gains little, the slopes of the whole set are found at one point, which
 * gives the duality gap as far as the set tells and fresh priorities. Columns outside the set are
 * looked at by who calls. (Working sets as in Massias, Gramfort and Salmon, "Celer: a fast solver for
 * the lasso with dual extrapolation", 2018, and the strong rules of Tibshirani and others, 2012.)
 *
 * Cost: an epoch touches the entries of visited columns. Memory: (ANDERSON + 5) x (rows + columns of
 * the set) doubles. Sums are doubles throughout, data floats. */
#include "num/lasso_parts.h"

#include "base/rand.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { ANDERSON = 5, NEWTON_MAX = 50, HALVES_MAX = 30, INNER_MAX = 20, REST = 4 };
static const double CONSTANT = 1e-13;   /* h of a constant column, against sum of v x^2: rounding */
static const double INNER_SHARE = 0.03; /* of the first round's gain: enough for one parabola */
static const double ROUNDING = 1e-12;   /* of a slope against the penalty */
static const double STRICTER = 0.3;     /* after a look that found the end was not there */

/* A parabola and where its minimisation stands. */
struct descent {
    const struct num_lasso_ops *ops;
    const struct num_lasso *p;
    const struct num_lasso_effort *effort;
    struct num_lasso_set *set;
    struct num_lasso_work *work;
    struct base_rand rand;
    double *u;       /* (rows) residual of the parabola */
    const double *v; /* (rows); NULL: `flat` everywhere */
    double flat;
    double u_sum, v_sum; /* with an intercept: sums; else 0 and 1 */
    double soft, ridge;  /* lambda mix, lambda (1 - mix) */
    /* by column of the set */
    double *c, *h;
    uint8_t *rest; /* rounds since it moved or was visited, 0: it moved */
    uint32_t *member, members;
    /* of acceleration: points of this round, (ANDERSON + 1, set) and (ANDERSON + 1, rows) */
    double *old_b, *old_u, *kept_b, *kept_u;
    double old_sum[ANDERSON + 1];
    uint32_t olds;
    double *start_b;                /* (set) logistic: where the parabola was laid */
    double *curve, *inner_u, *free; /* (rows) v; logistic: u of the parabola; what is needed */
};

/* ---- visits ---- */

/* A hair above the threshold is rounding: the second of two equal columns sees that. */
static double soft(double a, double by)
{
    double over = fabs(a) - by;

    return over > ROUNDING * by ? copysign(over, a) : 0;
}

static double slope_of(const struct descent *d, uint32_t i)
{
    d->work->updates++;
    return d->ops->dot(&d->p->x, d->set->column[i], d->u) - d->c[i] * d->u_sum / d->v_sum;
}

/* Where a coordinate of slope g wants to be. */
static double target(const struct descent *d, uint32_t i, double g)
{
    double h = d->h[i];

    return h > 0 ? soft(g + h * d->set->b[i], d->soft) / (h + d->ridge) : d->set->b[i];
}

/* Moves a coordinate; what that gained. */
static double visit(struct descent *d, uint32_t i)
{
    double next = target(d, i, slope_of(d, i)), step = next - d->set->b[i];

    d->rest[i] = step == 0;
    if (step == 0)
        return 0;
    d->set->b[i] = next;
    d->ops->move(&d->p->x, d->set->column[i], d->v != NULL ? step : step * d->flat, d->v, d->u);
    d->u_sum -= step * d->c[i];
    return (d->h[i] + d->ridge) * step * step / 2;
}

/* Who is visited in this round. */
static void choose(struct descent *d)
{
    bool all = d->effort->schedule == NUM_LASSO_CYCLIC;

    d->members = 0;
    for (uint32_t i = 0; i < d->set->count; i++) {
        if (all || d->rest[i] == 0 || d->rest[i] == REST)
            d->member[d->members++] = i;
        else
            d->rest[i]++;
    }
}

/* What the visits of an epoch gained. */
static double epoch(struct descent *d)
{
    bool random = d->effort->schedule == NUM_LASSO_RANDOM;
    uint32_t count = random ? d->set->count : d->members;
    double gain = 0;

    d->work->epochs++;
    for (uint32_t k = 0; k < count; k++)
        gain += visit(d, random ? (uint32_t)base_rand_below(&d->rand, count) : d->member[k]);
    return gain;
}

/* Slopes of the whole set at this point: the largest and the excess of num_lasso_bound, and who
 * would move. */
static double look(struct descent *d, double *out_excess)
{
    double most = 0;

    *out_excess = 0;
    for (uint32_t i = 0; i < d->set->count; i++) {
        double g = slope_of(d, i), over = fabs(g) - d->soft;
        most = fmax(most, fabs(g));
        *out_excess += over > 0 ? over * over : 0;
        d->rest[i] = target(d, i, g) == d->set->b[i];
    }
    return most;
}

/* ---- acceleration ---- */

/* The parabola's objective. */
static double model(const struct descent *d)
{
    double sum = 0;

    for (uint32_t i = 0; i < d->p->x.rows; i++) {
        double v = d->v != NULL ? d->v[i] : d->flat;
        sum += v > 0 ? d->u[i] * d->u[i] / v : 0;
    }
    return (sum - d->u_sum * d->u_sum / d->v_sum) / 2 +
           num_lasso_penalty(d->p, d->set->b, d->set->count);
}

static void keep(struct descent *d)
{
    size_t w = d->set->count, n = d->p->x.rows;

    memcpy(d->old_b + d->olds * w, d->set->b, w * sizeof *d->old_b);
    memcpy(d->old_u + d->olds * n, d->u, n * sizeof *d->old_u);
    d->old_sum[d->olds++] = d->u_sum;
}

/* Solves a small symmetric system by Cholesky; false: not positive. */
static bool small_solve(double a[ANDERSON][ANDERSON], double x[ANDERSON])
{
    for (int j = 0; j < ANDERSON; j++) {
        for (int k = 0; k < j; k++)
            a[j][j] -= a[j][k] * a[j][k];
        if (!(a[j][j] > 0))
            return false;
        a[j][j] = sqrt(a[j][j]);
        for (int i = j + 1; i < ANDERSON; i++) {
            for (int k = 0; k < j; k++)
                a[i][j] -= a[i][k] * a[j][k];
            a[i][j] /= a[j][j];
        }
    }
    for (int i = 0; i < ANDERSON; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= a[i][k] * x[k];
        x[i] /= a[i][i];
    }
    for (int i = ANDERSON - 1; i >= 0; i--) {
        for (int k = i + 1; k < ANDERSON; k++)
            x[i] -= a[k][i] * x[k];
        x[i] /= a[i][i];
    }
    return true;
}

/* Weights of the old points, which add up to 1. */
static bool mix_of(const struct descent *d, double x[ANDERSON])
{
    size_t w = d->set->count;
    double a[ANDERSON][ANDERSON] = {{0}}, trace = 0, sum = 0;

    for (size_t i = 0; i < w; i++) {
        double step[ANDERSON];
        for (int k = 0; k < ANDERSON; k++)
            step[k] =
                d->h[i] > 0 ? (d->old_b[(size_t)(k + 1) * w + i] - d->old_b[(size_t)k * w + i]) : 0;
        for (int k = 0; k < ANDERSON; k++)
            for (int l = 0; l <= k; l++)
                a[k][l] += step[k] * step[l] * d->h[i];
    }
    for (int k = 0; k < ANDERSON; k++)
        trace += a[k][k];
    for (int k = 0; k < ANDERSON; k++) {
        a[k][k] += 1e-12 * trace;
        x[k] = 1;
    }
    if (!small_solve(a, x))
        return false;
    for (int k = 0; k < ANDERSON; k++)
        sum += x[k];
    for (int k = 0; k < ANDERSON; k++)
        x[k] /= sum;
    return isfinite(sum) && sum != 0;
}

static void combine(const double *old, size_t size, const double x[ANDERSON], double *out)
{
    for (size_t i = 0; i < size; i++) {
        double sum = 0;
        for (size_t k = 0; k < ANDERSON; k++)
            sum += x[k] * old[(k + 1) * size + i];
        out[i] = sum;
    }
}

/* Jumps to the combination of the round's points if that is better. */
static void accelerate(struct descent *d)
{
    size_t w = d->set->count, n = d->p->x.rows;
    double x[ANDERSON], before, kept_sum = d->u_sum;

    if (!mix_of(d, x))
        return;
    before = model(d);
    memcpy(d->kept_b, d->set->b, w * sizeof *d->kept_b);
    memcpy(d->kept_u, d->u, n * sizeof *d->kept_u);
    combine(d->old_b, w, x, d->set->b);
    combine(d->old_u, n, x, d->u);
    combine(d->old_sum, 1, x, &d->u_sum);
    if (model(d) < before)
        return;
    memcpy(d->set->b, d->kept_b, w * sizeof *d->kept_b);
    memcpy(d->u, d->kept_u, n * sizeof *d->kept_u);
    d->u_sum = kept_sum;
}

/* Some epochs over the same members, until one gains no more than `enough`; what the last of them
 * gained. */
static double round_of(struct descent *d, double enough)
{
    bool random = d->effort->schedule == NUM_LASSO_RANDOM;
    double gain = 0;

    choose(d);
    d->olds = 0;
    for (int e = 0; e < ANDERSON; e++) {
        if (!random)
            keep(d);
        gain = epoch(d);
        if (gain <= enough)
            return gain;
    }
    if (!random) {
        keep(d);
        accelerate(d);
    }
    return gain;
}

/* ---- parabolas ---- */

static void add_up(struct descent *d)
{
    double v_sum = 0, u_sum = 0;

    for (uint32_t i = 0; i < d->p->x.rows; i++) {
        v_sum += d->v != NULL ? d->v[i] : d->flat;
        u_sum += d->u[i];
    }
    d->v_sum = d->p->intercept ? v_sum : 1;
    d->u_sum = d->p->intercept ? u_sum : 0;
}

/* c and h of the set's columns for these v. */
static void find_curves(struct descent *d)
{
    for (uint32_t i = 0; i < d->set->count; i++) {
        double sums[2], by = d->v != NULL ? 1 : d->flat;
        d->ops->sums(&d->p->x, d->set->column[i], d->v, sums);
        d->c[i] = d->p->intercept ? sums[0] * by : 0;
        d->h[i] = sums[1] * by - d->c[i] * d->c[i] / d->v_sum;
        if (d->h[i] <= CONSTANT * sums[1] * by)
            d->h[i] = 0;
        d->rest[i] = 0;
    }
}

static void begin_parabola(struct descent *d)
{
    add_up(d);
    find_curves(d);
}

/* The gap as far as the set tells, of a squared loss. */
static double gap_of(struct descent *d, double value)
{
    struct num_lasso_point here = {.u = d->free};
    double excess, most = look(d, &excess), mean = d->u_sum / d->v_sum;

    for (uint32_t i = 0; i < d->p->x.rows; i++)
        here.u[i] = d->u[i] - mean * (d->v != NULL ? d->v[i] : d->flat);
    return value - num_lasso_bound(d->p, &here, most, excess);
}

/* The gap that a solution may have. */
static double allowed(const struct descent *d, double value)
{
    return d->effort->tol * (d->effort->null > 0 ? d->effort->null : value);
}

static void solve_squared(struct descent *d, struct num_lasso_point *point)
{
    double value, enough;

    d->u = point->u;
    begin_parabola(d);
    value = model(d);
    enough = value > 0 ? allowed(d, value) / value : d->effort->tol;
    for (uint32_t e = 0; e < d->effort->rounds_max; e++) {
        if (round_of(d, enough * enough * value) > enough * value)
            continue;
        value = model(d);
        if (gap_of(d, value) <= allowed(d, value))
            break;
        enough *= STRICTER;
    }
    num_lasso_place(d->ops, d->p, d->set, point);
}

/* b = start + t (b - start), z by as much, until the objective falls; false: it does not. */
static bool search(struct descent *d, struct num_lasso_point *point, double before)
{
    const double *start = d->start_b;
    double *b = d->set->b, *dir = d->inner_u, *next = d->free, t = 1;
    double shift_by = d->u_sum / d->v_sum;
    uint32_t n = d->p->x.rows, w = d->set->count;

    for (uint32_t i = 0; i < n; i++)
        dir[i] = shift_by;
    for (uint32_t i = 0; i < w; i++)
        if (b[i] != start[i])
            d->ops->move(&d->p->x, d->set->column[i], start[i] - b[i], NULL, dir);
    memcpy(d->kept_b, b, w * sizeof *b);
    for (int halves = 0; halves < HALVES_MAX; halves++, t /= 2) {
        for (uint32_t i = 0; i < n; i++)
            next[i] = point->z[i] + t * dir[i];
        for (uint32_t i = 0; i < w; i++)
            b[i] = t < 1 ? start[i] + t * (d->kept_b[i] - start[i]) : d->kept_b[i];
        if (num_lasso_loss_at(d->p, next) + num_lasso_penalty(d->p, b, w) < before) {
            memcpy(point->z, next, n * sizeof *next);
            point->intercept += t * shift_by;
            return true;
        }
    }
    memcpy(b, start, w * sizeof *b);
    return false;
}

/* The parabola at the point. */
static void lay_parabola(struct descent *d, const struct num_lasso_point *point)
{
    num_lasso_curve(d->p, point->z, d->curve);
    memcpy(d->inner_u, point->u, d->p->x.rows * sizeof *point->u);
    d->u = d->inner_u;
    d->v = d->curve;
    begin_parabola(d);
}

static void solve_logistic(struct descent *d, struct num_lasso_point *point)
{
    for (int newton = 0; newton < NEWTON_MAX; newton++) {
        double value = num_lasso_objective(d->p, d->set, point), first = 0;
        double excess, most;
        lay_parabola(d, point);
        most = look(d, &excess);
        if (value - num_lasso_bound(d->p, point, most, excess) <= allowed(d, value))
            return;
        memcpy(d->start_b, d->set->b, d->set->count * sizeof *d->start_b);
        for (int e = 0; e < INNER_MAX; e++) {
            double gain = round_of(d, 0);
            first = fmax(first, gain);
            if (gain <= INNER_SHARE * first || gain <= STRICTER * allowed(d, value))
                break;
        }
        if (!search(d, point, value))
            return; /* rounding is all that is left */
        num_lasso_settle(d->p, point);
    }
}

/* ---- all of it ---- */

/* One piece of memory for all arrays; NULL: none. What is not used is not touched: it may be much. */
static double *share_out(const struct base_alloc *alloc, struct descent *d)
{
    size_t n = d->p->x.rows, w = d->set->count;
    size_t doubles = w * (ANDERSON + 5) + n * (ANDERSON + 5);
    double *memory = base_malloc(alloc, doubles * sizeof *memory + (w + 1) * 5), *at = memory;

    if (memory == NULL)
        return NULL;
    d->c = at;
    d->h = at += w;
    d->old_b = at += w;
    d->kept_b = at += w * (ANDERSON + 1);
    d->start_b = at += w;
    d->old_u = at += w;
    d->kept_u = at += n * (ANDERSON + 1);
    d->curve = at += n;
    d->inner_u = at += n;
    d->free = at += n;
    d->member = (uint32_t *)(void *)(at + n);
    d->rest = (uint8_t *)(d->member + w);
    return memory;
}

static double *begin(struct descent *d, const struct base_alloc *alloc)
{
    const struct num_lasso *p = d->p;
    double *memory = share_out(alloc, d);

    d->flat = 1 / p->total;
    d->soft = p->lambda * p->mix;
    d->ridge = p->lambda * (1 - p->mix);
    base_rand_init(&d->rand, d->effort->seed, "lasso.order");
    if (memory == NULL || p->weight == NULL)
        return memory;
    for (uint32_t i = 0; i < p->x.rows; i++)
        d->curve[i] = (double)p->weight[i] / p->total;
    d->v = d->curve;
    return memory;
}

shoal_status num_lasso_solve(const struct base_alloc *alloc, const struct num_lasso_ops *ops,
                             const struct num_lasso *p, const struct num_lasso_effort *effort,
                             struct num_lasso_set *set, struct num_lasso_point *point,
                             struct num_lasso_work *work)
{
    struct descent d = {.ops = ops, .p = p, .effort = effort, .set = set, .work = work};
    double *memory = begin(&d, alloc);

    if (memory == NULL)
        return SHOAL_E_NOMEM;
    if (set->count > 0 && p->loss == NUM_LASSO_SQUARED)
        solve_squared(&d, point);
    else if (set->count > 0)
        solve_logistic(&d, point);
    base_free(alloc, memory);
    return SHOAL_OK;
}

/* ---- one of several groups ---- */

static const struct num_lasso_effort PRIORITY = {.schedule = NUM_LASSO_PRIORITY};

static struct descent group_of(const struct num_lasso_ops *ops, const struct num_lasso *p,
                               struct num_lasso_group *g, double *u, struct num_lasso_work *work)
{
    return (struct descent){.ops = ops,
                            .p = p,
                            .effort = &PRIORITY,
                            .set = &g->set,
                            .work = work,
                            .u = u,
                            .v = g->v,
                            .flat = 1 / p->total,
                            .soft = p->lambda * p->mix,
                            .ridge = p->lambda * (1 - p->mix),
                            .c = g->c,
                            .h = g->h,
                            .rest = g->rest,
                            .member = g->member,
                            .members = g->members};
}

void num_lasso_group_epoch(const struct num_lasso_ops *ops, const struct num_lasso *p,
                           enum num_lasso_turn turn, const double *u, struct num_lasso_group *group,
                           double *out_move, struct num_lasso_work *work)
{
    struct descent d = group_of(ops, p, group, out_move, work);

    memcpy(out_move, u, p->x.rows * sizeof *u);
    add_up(&d);
    if (turn == NUM_LASSO_FIRST)
        find_curves(&d);
    if (turn != NUM_LASSO_SAME)
        choose(&d);
    group->members = d.members;
    epoch(&d);
    double mean = d.u_sum / d.v_sum;
    for (uint32_t i = 0; i < p->x.rows; i++)
        out_move[i] -= mean * (d.v != NULL ? d.v[i] : d.flat) + u[i];
}

double num_lasso_group_look(const struct num_lasso_ops *ops, const struct num_lasso *p,
                            const double *u, struct num_lasso_group *group, double *scratch,
                            double *out_excess, struct num_lasso_work *work)
{
    struct descent d = group_of(ops, p, group, scratch, work);

    memcpy(scratch, u, p->x.rows * sizeof *u);
    add_up(&d);
    return look(&d, out_excess);
}

size_t num_lasso_history_size(uint32_t rows, uint32_t columns)
{
    return (ANDERSON + 2) * ((size_t)rows + columns);
}

/* The history in `memory`, as a round that this set is at; u is centred. */
static struct descent joint_of(const struct num_lasso *p, struct num_lasso_set *set,
                               const struct num_lasso_joint *joint, double *u)
{
    size_t n = p->x.rows, w = set->count;

    return (struct descent){.p = p,
                            .set = set,
                            .u = u,
                            .v = joint->v,
                            .flat = 1 / p->total,
                            .v_sum = 1,
                            .h = joint->h,
                            .old_b = joint->memory,
                            .kept_b = joint->memory + (ANDERSON + 1) * w,
                            .old_u = joint->memory + (ANDERSON + 2) * w,
                            .kept_u = joint->memory + (ANDERSON + 2) * w + (ANDERSON + 1) * n};
}

double num_lasso_joint_begin(const struct num_lasso *p, struct num_lasso_set *set,
                             struct num_lasso_joint *joint, double *u)
{
    struct descent d = joint_of(p, set, joint, u);

    joint->points = 0;
    keep(&d);
    joint->points = 1;
    return model(&d);
}

bool num_lasso_joint_next(const struct num_lasso *p, struct num_lasso_set *set,
                          struct num_lasso_joint *joint, double *u)
{
    struct descent d = joint_of(p, set, joint, u);

    d.olds = joint->points;
    keep(&d);
    joint->points = d.olds;
    if (d.olds <= ANDERSON)
        return false;
    accelerate(&d);
    return true;
}
