/* goodput_fit.c - the seven parameters of a job's speed from what it has measured.
 *
 * Minimised is, after Pollux (Qiao et al., OSDI 2021),
 *
 *     rmse of log pass + rmse of log step + 1e-3 (overlap - 1)^2
 *         + 1e-2 ((node_each / node)^2 + (local_each / local)^2),
 *
 * whose last terms prefer models that scale well until measurements object. What samples cannot tell
 * is held: with one size of batch half a pass is constant; synchronisation nobody measured costs
 * nothing, across machines at least 1.1 times as much as inside one.
 *
 * The way: quasi-Newton (BFGS) in the logarithms of six parameters and in overlap, projected on their
 * bounds, from two starts that differ in overlap. rmse has a kink where a fit is perfect; 1e-5 inside
 * its root rounds it off. Some 30 evaluations, a hundred where the model explains all samples.
 *
 * Tests: tests/unit/num/test_goodput.c. */
#include "shoal/goodput.h"

#include "base/err.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { GRAD, GRAD_EACH, NODE, NODE_EACH, LOCAL, LOCAL_EACH, OVERLAP, N };
enum { STEPS_MAX = 200, HALVES_MAX = 40, IDLE_MAX = 3 };
static const double LEAST_S = 1e-8, MOST_S = 1e8, OVERLAP_MAX = 10;
static const double ROUND = 1e-10; /* inside a root of mean squares */
static const double OVERLAP_COST = 1e-3, EACH_COST = 1e-2, FARTHER = 1.1;

struct fit {
    const struct shoal_goodput_sample *samples;
    size_t count;
    double lo[N], hi[N]; /* equal: held */
};

/* ---- the objective ---- */

/* What is fitted of one sample, in logarithms, with slopes. */
struct point {
    double pass, step; /* log predicted - log measured */
    double d_pass[N], d_step[N];
};

/* `v` are the six times that x has the logarithms of. */
static struct point predict(const double *v, double overlap, const struct shoal_goodput_sample *s)
{
    struct point p = {0};
    double each = v[GRAD_EACH] * s->local, pass = v[GRAD] + each;
    int base = s->machines > 1 ? NODE : LOCAL;

    p.pass = log(pass / s->pass_s);
    p.step = log(pass / s->step_s);
    p.d_pass[GRAD] = v[GRAD] / pass;
    p.d_pass[GRAD_EACH] = each / pass;
    if (s->replicas == 1) {
        memcpy(p.d_step, p.d_pass, sizeof p.d_step);
        return p;
    }
    /* step = pass (1 + (sync / pass)^overlap)^(1 / overlap) */
    double first = v[base], more = s->replicas > 2 ? v[base + 1] * (s->replicas - 2) : 0;
    double longer = log((first + more) / pass), power = exp(overlap * longer);
    double share = 1 / (1 + power), added = log1p(power) / overlap;
    p.step += added;
    p.d_step[GRAD] = share * p.d_pass[GRAD];
    p.d_step[GRAD_EACH] = share * p.d_pass[GRAD_EACH];
    p.d_step[base] = (1 - share) * first / (first + more);
    p.d_step[base + 1] = (1 - share) * more / (first + more);
    p.d_step[OVERLAP] = ((1 - share) * longer - added) / overlap;
    return p;
}

/* 1e-2 (each / first)^2 and its slopes. */
static double each_cost(const double *x, int first, double *slope)
{
    double cost = EACH_COST * exp(2 * (x[first + 1] - x[first]));

    slope[first] -= 2 * cost;
    slope[first + 1] += 2 * cost;
    return cost;
}

static double objective(const struct fit *fit, const double *x, double *slope)
{
    double squares[2] = {0, 0}, d[2][N] = {{0}}, n = (double)fit->count, sum = 0, v[OVERLAP];

    for (int k = 0; k < OVERLAP; k++)
        v[k] = exp(x[k]);
    for (size_t i = 0; i < fit->count; i++) {
        struct point p = predict(v, x[OVERLAP], &fit->samples[i]);
        squares[0] += p.pass * p.pass / n;
        squares[1] += p.step * p.step / n;
        d[0][GRAD] += p.pass * p.d_pass[GRAD] / n;
        d[0][GRAD_EACH] += p.pass * p.d_pass[GRAD_EACH] / n;
        for (int k = 0; k < N; k++)
            d[1][k] += p.step * p.d_step[k] / n;
    }
    memset(slope, 0, N * sizeof *slope);
    for (int e = 0; e < 2; e++) {
        double root = sqrt(squares[e] + ROUND);
        sum += root;
        for (int k = 0; k < N; k++)
            slope[k] += d[e][k] / root;
    }
    slope[OVERLAP] += 2 * OVERLAP_COST * (x[OVERLAP] - 1);
    return sum + OVERLAP_COST * (x[OVERLAP] - 1) * (x[OVERLAP] - 1) + each_cost(x, NODE, slope) +
           each_cost(x, LOCAL, slope);
}

/* ---- the way ---- */

struct way {
    double x[N], slope[N], f;
    double h[N][N]; /* inverse curvature */
    bool free[N];
};

/* At a bound and pushed against it is not free. Returns whether the set has changed. */
static bool find_free(const struct fit *fit, struct way *w)
{
    bool changed = false;

    for (int k = 0; k < N; k++) {
        bool at_lo = w->x[k] <= fit->lo[k] && w->slope[k] >= 0;
        bool at_hi = w->x[k] >= fit->hi[k] && w->slope[k] <= 0;
        bool free = fit->lo[k] < fit->hi[k] && !at_lo && !at_hi;
        changed |= free != w->free[k];
        w->free[k] = free;
    }
    return changed;
}

static void reset_curvature(struct way *w)
{
    memset(w->h, 0, sizeof w->h);
    for (int k = 0; k < N; k++)
        w->h[k][k] = 1;
}

static void learn_curvature(struct way *w, const double *step, const double *change)
{
    double sy = 0, hy[N] = {0}, yhy = 0;

    for (int i = 0; i < N; i++) {
        if (!w->free[i])
            continue;
        sy += step[i] * change[i];
        for (int j = 0; j < N; j++)
            hy[i] += w->free[j] ? w->h[i][j] * change[j] : 0;
        yhy += change[i] * hy[i];
    }
    if (!(sy > 1e-14))
        return;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            if (w->free[i] && w->free[j])
                w->h[i][j] += (1 + yhy / sy) * step[i] * step[j] / sy -
                              (hy[i] * step[j] + step[i] * hy[j]) / sy;
}

/* The way down from here; false when the curvature learnt points up. */
static bool direct(const struct way *w, double *d)
{
    double down = 0;

    for (int i = 0; i < N; i++) {
        d[i] = 0;
        for (int j = 0; w->free[i] && j < N; j++)
            d[i] -= w->free[j] ? w->h[i][j] * w->slope[j] : 0;
        down += d[i] * w->slope[i];
    }
    return down < 0;
}

/* Goes along d, by halves, until the objective falls enough; by how much it fell. */
static double descend(const struct fit *fit, struct way *w, const double *d)
{
    double t = 1, x[N], slope[N];

    for (int half = 0; half < HALVES_MAX; half++, t /= 2) {
        double promised = 0;
        for (int k = 0; k < N; k++) {
            x[k] = fmin(fmax(w->x[k] + t * fmin(fmax(d[k], -2), 2), fit->lo[k]), fit->hi[k]);
            promised += w->slope[k] * (x[k] - w->x[k]);
        }
        double f = objective(fit, x, slope);
        if (!(f <= w->f + 1e-4 * promised))
            continue;
        double gain = w->f - f, step[N], change[N];
        for (int k = 0; k < N; k++)
            step[k] = x[k] - w->x[k], change[k] = slope[k] - w->slope[k];
        learn_curvature(w, step, change);
        memcpy(w->x, x, sizeof x);
        memcpy(w->slope, slope, sizeof slope);
        w->f = f;
        return gain;
    }
    return 0;
}

static void minimise(const struct fit *fit, struct way *w)
{
    int idle = 0;

    w->f = objective(fit, w->x, w->slope);
    reset_curvature(w);
    for (int step = 0; step < STEPS_MAX && idle < IDLE_MAX; step++) {
        double d[N];
        if (find_free(fit, w))
            reset_curvature(w);
        if (!direct(w, d)) {
            reset_curvature(w);
            if (!direct(w, d))
                return; /* nothing is free, or there is no slope */
        }
        double gain = descend(fit, w, d);
        if (gain <= 1e-9 * w->f) {
            idle++;
            reset_curvature(w);
        } else {
            idle = 0;
        }
    }
}

/* ---- bounds and starts ---- */

struct seen {
    bool sizes, machines, inside, many; /* several batch sizes; across; inside one; above two */
    double pass_s, local, sync_node, sync_local; /* means */
};

static struct seen look(const struct fit *fit)
{
    struct seen seen = {0};
    double node = 0, inside = 0, n = (double)fit->count;

    for (size_t i = 0; i < fit->count; i++) {
        const struct shoal_goodput_sample *s = &fit->samples[i];
        double sync = fmax(s->step_s - s->pass_s, 1e-3 * s->step_s);
        bool alone = s->replicas == 1, across = s->machines > 1;
        seen.sizes |= s->local != fit->samples[0].local;
        seen.machines |= across;
        seen.inside |= !across && !alone;
        seen.many |= s->replicas > 2;
        seen.pass_s += s->pass_s / n;
        seen.local += s->local / n;
        node += across, inside += !across && !alone;
        seen.sync_node += across ? sync : 0;
        seen.sync_local += !across && !alone ? sync : 0;
    }
    seen.sync_node /= fmax(node, 1);
    seen.sync_local /= fmax(inside, 1);
    return seen;
}

static void hold(struct fit *fit, int k, double value)
{
    fit->lo[k] = fit->hi[k] = value;
}

/* Bounds, and a start inside them. */
static void begin(struct fit *fit, const struct seen *seen, double *x)
{
    double start[N] = {seen->pass_s / 2,
                       seen->pass_s / 2 / seen->local,
                       seen->sync_node,
                       seen->sync_node / 10,
                       seen->sync_local,
                       seen->sync_local / 10,
                       1};

    for (int k = 0; k < OVERLAP; k++)
        fit->lo[k] = log(LEAST_S), fit->hi[k] = log(MOST_S);
    fit->lo[OVERLAP] = 1, fit->hi[OVERLAP] = OVERLAP_MAX;
    if (!seen->sizes)
        hold(fit, GRAD, log(fmax(seen->pass_s / 2, LEAST_S)));
    if (!seen->machines)
        hold(fit, NODE, log(LEAST_S)), hold(fit, NODE_EACH, log(LEAST_S));
    if (!seen->inside)
        hold(fit, LOCAL, log(LEAST_S)), hold(fit, LOCAL_EACH, log(LEAST_S));
    if (!seen->many)
        hold(fit, NODE_EACH, log(LEAST_S)), hold(fit, LOCAL_EACH, log(LEAST_S));
    if (!seen->machines && !seen->inside)
        hold(fit, OVERLAP, 1);
    for (int k = 0; k < N; k++)
        x[k] = fmin(fmax(k < OVERLAP ? log(fmax(start[k], LEAST_S)) : 1, fit->lo[k]), fit->hi[k]);
}

static bool sample_is_sound(const struct shoal_goodput_sample *s)
{
    return s->machines >= 1 && s->replicas >= s->machines && s->local > 0 && isfinite(s->local) &&
           s->pass_s > 0 && isfinite(s->pass_s) && s->step_s > 0 && isfinite(s->step_s);
}

shoal_status shoal_goodput_fit(const struct shoal_goodput_sample *samples, size_t count,
                               struct shoal_goodput_speed *out_speed, shoal_err *err)
{
    static const double OVERLAPS[] = {1.1, 3};
    struct fit fit = {.samples = samples, .count = count};
    struct way best = {.f = INFINITY};

    if (count == 0)
        return base_err(err, SHOAL_E_INVAL, "no sample to fit");
    for (size_t i = 0; i < count; i++)
        if (!sample_is_sound(&samples[i]))
            return base_err(err, SHOAL_E_INVAL,
                            "sample %zu: times and batches must be above 0 and "
                            "finite, with at least as many replicas as machines",
                            i);
    struct seen seen = look(&fit);
    for (size_t s = 0; s < sizeof OVERLAPS / sizeof *OVERLAPS; s++) {
        struct way w = {0};
        begin(&fit, &seen, w.x);
        w.x[OVERLAP] = fmin(OVERLAPS[s], fit.hi[OVERLAP]);
        minimise(&fit, &w);
        if (w.f < best.f)
            best = w;
        if (fit.hi[OVERLAP] <= 1)
            break;
    }
    double v[N];
    for (int k = 0; k < N; k++)
        v[k] = k < OVERLAP ? exp(best.x[k]) : best.x[k];
    if (!seen.machines) {
        v[NODE] = fmax(v[NODE], FARTHER * v[LOCAL]);
        v[NODE_EACH] = fmax(v[NODE_EACH], FARTHER * v[LOCAL_EACH]);
    }
    *out_speed = (struct shoal_goodput_speed){v[GRAD],  v[GRAD_EACH],  v[NODE],   v[NODE_EACH],
                                              v[LOCAL], v[LOCAL_EACH], v[OVERLAP]};
    return SHOAL_OK;
}
