/* goodput_fit.c - the seven parameters of a job's speed from what it has measured.
 *
 * Minimised is, after Pollux (Qiao et al., OSDI 2021),
 *
 *     rmse of log pass + rmse of log step + 1e-3 (overlap - 1)^2
 *         + 1e-2 ((node_each / node)^2 + (local_each / local)^2),
 *
 * whose last terms prefer models that scale well until measurements object. What samples cannot tell
 * is held: with one size of batch half a pass is constant; synchronisation nobody measured costs
 * nothing, across machines at least 1.1 times as much as inside one. rmse has a kink where a fit is
 * perfect; 1e-5 inside its root rounds it off.
 *
 * The way: Gauss-Newton steps with damping (Levenberg, Marquardt) from two starts that differ in
 * overlap. As sqrt(S) <= S / (2 r) + r / 2 for every r, equal at r = sqrt(S), what a step minimises
 * lies above the objective and touches it where it stands; S is as good as quadratic near there. The
 * parameters themselves are the variables, not their logarithms: one that samples would have at
 * nothing is at its bound after a step or two, where its logarithm would go on falling. A step that
 * leaves the bounds of a variable stops there, and is solved again for the others.
 *
 * Cost: some 37 evaluations of both starts together, each three logarithms or exponentials a sample.
 * Samples are kept by size of job, so that what all of one size have in common is worked out once.
 *
 * Tests: tests/unit/num/test_goodput.c. */
#include "shoal/goodput.h"

#include "base/err.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { GRAD, GRAD_EACH, NODE, NODE_EACH, LOCAL, LOCAL_EACH, OVERLAP, N };
enum { ALONE, ACROSS, INSIDE, WAYS };    /* of synchronising: not, across machines, inside one */
enum { PASS_PARTS = 2, STEP_PARTS = 5 }; /* that a pass, and a step, depend on */
enum { STEPS_MAX = 200, IDLE_MAX = 2, READY_MAX = 128 };
static const double LEAST_S = 1e-8, MOST_S = 1e8, OVERLAP_MAX = 10;
static const double ROUND = 1e-10; /* inside a root of mean squares */
static const double OVERLAP_COST = 1e-3, EACH_COST = 1e-2, FARTHER = 1.1;
static const double SHRINK_MOST = 8; /* synchronisation, in one step */
static const double ENOUGH = 1e-7;   /* a step that gains less, relative, is idle */
static const double DAMPING = 1e-3, DAMPING_LEAST = 1e-9, DAMPING_MOST = 1e10, DAMPED_BY = 8;

/* The parameters that a step's parts are of. */
static const int PART_OF[WAYS][STEP_PARTS] = {
    [ALONE] = {GRAD, GRAD_EACH, NODE, NODE_EACH, OVERLAP},
    [ACROSS] = {GRAD, GRAD_EACH, NODE, NODE_EACH, OVERLAP},
    [INSIDE] = {GRAD, GRAD_EACH, LOCAL, LOCAL_EACH, OVERLAP}};

/* A sample made ready: logarithms of its times, and the replicas beyond two. */
struct ready {
    double local, more, log_pass, log_step;
    int way;
};

struct fit {
    const struct shoal_goodput_sample *samples;
    size_t count;
    double lo[N], hi[N];           /* equal: held */
    struct ready ready[READY_MAX]; /* the samples, or so many of them at a time */
};

static bool comes_after(const struct ready *a, const struct ready *b)
{
    return a->way != b->way ? a->way > b->way : a->more > b->more;
}

static int way_of(const struct shoal_goodput_sample *s)
{
    if (s->replicas == 1)
        return ALONE;
    return s->machines > 1 ? ACROSS : INSIDE;
}

/* Makes samples ready, in order of size, from the one at `from` on; returns how many. */
static size_t make_ready(struct fit *fit, size_t from)
{
    size_t left = fit->count - from, count = left < READY_MAX ? left : READY_MAX;

    for (size_t i = 0; i < count; i++) {
        const struct shoal_goodput_sample *s = &fit->samples[from + i];
        struct ready r = {s->local, s->replicas - 2.0, log(s->pass_s), log(s->step_s), way_of(s)};
        size_t at = i;
        for (; at > 0 && comes_after(&fit->ready[at - 1], &r); at--)
            fit->ready[at] = fit->ready[at - 1];
        fit->ready[at] = r;
    }
    return count;
}

/* ---- the objective ---- */

/* Sums over samples: of e^2, e d and d d', where e is log predicted - log measured and d its slopes. */
struct sums {
    double squares, slope[STEP_PARTS], curve[STEP_PARTS][STEP_PARTS]; /* curve: lower half */
};

struct all_sums {
    struct sums pass, step[WAYS];
};

static inline void add(struct sums *sums, double e, const double *d, int parts)
{
    sums->squares += e * e;
    for (int i = 0; i < parts; i++) {
        sums->slope[i] += e * d[i];
        for (int j = 0; j <= i; j++)
            sums->curve[i][j] += d[i] * d[j];
    }
}

/* What all of one size synchronise for. */
struct sync {
    int way;
    double more, log_s, slope; /* slope: of log_s by its first part */
};

static struct sync sync_of(const double *x, const struct ready *r)
{
    const int *part = PART_OF[r->way];
    double s = x[part[2]] + x[part[3]] * r->more;

    return (struct sync){r->way, r->more, log(s), 1 / s};
}

/* step = (pass^overlap + sync^overlap)^(1 / overlap); d has the slopes of log_pass, and gets those of
 * the result. */
static double log_step(const struct sync *sync, double overlap, double log_pass, double *d)
{
    double longer = sync->log_s - log_pass, less = exp(-overlap * fabs(longer));
    double share = (longer > 0 ? less : 1) / (1 + less); /* of the pass */
    double added = fmax(longer, 0) + log(1 + less) / overlap;

    d[0] *= share;
    d[1] *= share;
    d[2] = (1 - share) * sync->slope;
    d[3] = d[2] * sync->more;
    d[4] = ((1 - share) * longer - added) / overlap;
    return log_pass + added;
}

static void add_samples(const struct ready *samples, size_t count, const double *x,
                        struct all_sums *sums)
{
    struct sync sync = {.way = ALONE};

    for (size_t i = 0; i < count; i++) {
        const struct ready *r = &samples[i];
        double by = 1 / (x[GRAD] + x[GRAD_EACH] * r->local), log_pass = -log(by);
        double d[STEP_PARTS] = {by, r->local * by};
        add(&sums->pass, log_pass - r->log_pass, d, PASS_PARTS);
        if (r->way == ALONE) {
            add(&sums->step[ALONE], log_pass - r->log_step, d, PASS_PARTS);
            continue;
        }
        if (r->way != sync.way || r->more != sync.more)
            sync = sync_of(x, r);
        double e = log_step(&sync, x[OVERLAP], log_pass, d) - r->log_step;
        add(&sums->step[r->way], e, d, STEP_PARTS);
    }
}

/* Where the way is: the objective there, its slopes, and its curvature (lower half). */
struct point {
    double x[N], f, slope[N], curve[N][N];
};

static void add_sums(struct point *p, const struct sums *sums, const int *part, int parts,
                     double by)
{
    for (int i = 0; i < parts; i++) {
        p->slope[part[i]] += sums->slope[i] * by;
        for (int j = 0; j <= i; j++)
            p->curve[part[i]][part[j]] += sums->curve[i][j] * by;
    }
}

/* 1e-2 (each / first)^2 */
static void add_each_cost(struct point *p, int first)
{
    double by = 1 / p->x[first], ratio = p->x[first + 1] * by;

    p->f += EACH_COST * ratio * ratio;
    p->slope[first] -= 2 * EACH_COST * ratio * ratio * by;
    p->slope[first + 1] += 2 * EACH_COST * ratio * by;
    p->curve[first][first] += 2 * EACH_COST * ratio * ratio * by * by;
    p->curve[first + 1][first] -= 2 * EACH_COST * ratio * by * by;
    p->curve[first + 1][first + 1] += 2 * EACH_COST * by * by;
}

/* At p->x. */
static void evaluate(struct fit *fit, struct point *p)
{
    struct all_sums sums = {0};
    double n = (double)fit->count, over = p->x[OVERLAP] - 1, steps = 0;

    if (fit->count <= READY_MAX)
        add_samples(fit->ready, fit->count, p->x, &sums);
    for (size_t at = 0; fit->count > READY_MAX && at < fit->count; at += READY_MAX)
        add_samples(fit->ready, make_ready(fit, at), p->x, &sums);
    for (int way = 0; way < WAYS; way++)
        steps += sums.step[way].squares;
    double pass = sqrt(sums.pass.squares / n + ROUND), step = sqrt(steps / n + ROUND);
    p->f = pass + step + OVERLAP_COST * over * over;
    memset(p->slope, 0, sizeof p->slope);
    memset(p->curve, 0, sizeof p->curve);
    add_sums(p, &sums.pass, PART_OF[ALONE], PASS_PARTS, 1 / (n * pass));
    for (int way = 0; way < WAYS; way++)
        add_sums(p, &sums.step[way], PART_OF[way], way == ALONE ? PASS_PARTS : STEP_PARTS,
                 1 / (n * step));
    p->slope[OVERLAP] += 2 * OVERLAP_COST * over;
    p->curve[OVERLAP][OVERLAP] += 2 * OVERLAP_COST;
    add_each_cost(p, NODE);
    add_each_cost(p, LOCAL);
}

/* ---- the way ---- */

/* The step d of the variables `who` with (curve + damping times its diagonal) d = -slope; false: it
 * has none. By Cholesky, scaled to a diagonal of ones. */
static bool solve(const struct point *p, const double *slope, double damping, const int *who, int n,
                  double *d)
{
    double l[N][N], y[N], scale[N];

    for (int i = 0; i < n; i++)
        scale[i] = 1 / sqrt(p->curve[who[i]][who[i]]);
    for (int i = 0; i < n; i++) {
        y[i] = -slope[who[i]] * scale[i];
        for (int j = 0; j <= i; j++) {
            double sum = p->curve[who[i]][who[j]] * scale[i] * scale[j];
            sum += i == j ? damping + 1e-12 : 0; /* the least that keeps it positive */
            for (int k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            if (i == j && !(sum > 0))
                return false;
            l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
        }
        for (int k = 0; k < i; k++)
            y[i] -= l[i][k] * y[k];
        y[i] /= l[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            y[i] -= l[k][i] * y[k];
        y[i] /= l[i][i];
        d[who[i]] = y[i] * scale[i];
    }
    return true;
}

/* Those that may move: not held, not at a bound and pushed against it, not without any effect. */
static int find_free(const struct fit *fit, const struct point *p, int *who)
{
    int n = 0;

    for (int k = 0; k < N; k++) {
        bool at_lo = p->x[k] <= fit->lo[k] && p->slope[k] >= 0;
        bool at_hi = p->x[k] >= fit->hi[k] && p->slope[k] <= 0;
        if (fit->lo[k] < fit->hi[k] && !at_lo && !at_hi && p->curve[k][k] > 0)
            who[n++] = k;
    }
    return n;
}

/* As far as variable k may go down in one step. Close to no synchronisation at all steps hardly depend
 * on it any more, if overlap is above 1: what jumped there would stay. */
static double least(const struct fit *fit, const struct point *p, int k)
{
    return k == NODE || k == LOCAL ? fmax(fit->lo[k], p->x[k] / SHRINK_MOST) : fit->lo[k];
}

/* Stops at their bounds the first `n` of `who` that would leave them; the others' slopes are then what
 * they will be. Returns how many are left. */
static int stop_at_bounds(const struct fit *fit, const struct point *p, double *slope, int *who,
                          int n, double *d)
{
    int left = 0;

    for (int i = 0; i < n; i++) {
        int k = who[i];
        double to = p->x[k] + d[k], lo = least(fit, p, k);
        if (to >= lo && to <= fit->hi[k]) {
            who[left++] = k;
            continue;
        }
        d[k] = (to > fit->hi[k] ? fit->hi[k] : lo) - p->x[k];
        for (int j = 0; j < N; j++)
            slope[j] += d[k] * (j < k ? p->curve[k][j] : p->curve[j][k]);
    }
    return left;
}

/* The step to take from p; false: there is none with so little damping. */
static bool direct(const struct fit *fit, const struct point *p, double damping, double *d)
{
    int who[N], n = find_free(fit, p, who), left = 0;
    double slope[N];

    memset(d, 0, N * sizeof *d);
    memcpy(slope, p->slope, sizeof slope);
    for (; n > 0; n = left) {
        if (!solve(p, slope, damping, who, n, d))
            return false;
        left = stop_at_bounds(fit, p, slope, who, n, d);
        if (left == n)
            break;
    }
    return true;
}

/* Goes on from *p until steps gain nothing, or none does. */
static void minimise(struct fit *fit, struct point *p)
{
    double damping = DAMPING;
    int idle = 0;

    evaluate(fit, p);
    for (int step = 0; step < STEPS_MAX && idle < IDLE_MAX && damping < DAMPING_MOST; step++) {
        double d[N], promised = 0;
        struct point next = {0};
        bool found = direct(fit, p, damping, d);
        for (int k = 0; found && k < N; k++) {
            next.x[k] = fmin(fmax(p->x[k] + d[k], fit->lo[k]), fit->hi[k]);
            promised += p->slope[k] * (next.x[k] - p->x[k]);
        }
        if (found)
            evaluate(fit, &next);
        if (!found || !(next.f <= p->f + 1e-4 * promised)) {
            if (found && damping > 1 && fabs(promised) <= ENOUGH * p->f)
                return;
            damping = fmax(damping * DAMPED_BY, DAMPING);
            continue;
        }
        idle = p->f - next.f <= ENOUGH * p->f ? idle + 1 : 0;
        *p = next;
        damping = damping / DAMPED_BY < DAMPING_LEAST ? 0 : damping / DAMPED_BY;
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
        fit->lo[k] = LEAST_S, fit->hi[k] = MOST_S;
    fit->lo[OVERLAP] = 1, fit->hi[OVERLAP] = OVERLAP_MAX;
    if (!seen->sizes)
        hold(fit, GRAD, fmin(fmax(seen->pass_s / 2, LEAST_S), MOST_S));
    if (!seen->machines)
        hold(fit, NODE, LEAST_S), hold(fit, NODE_EACH, LEAST_S);
    if (!seen->inside)
        hold(fit, LOCAL, LEAST_S), hold(fit, LOCAL_EACH, LEAST_S);
    if (!seen->many)
        hold(fit, NODE_EACH, LEAST_S), hold(fit, LOCAL_EACH, LEAST_S);
    if (!seen->machines && !seen->inside)
        hold(fit, OVERLAP, 1);
    for (int k = 0; k < N; k++)
        x[k] = fmin(fmax(start[k], fit->lo[k]), fit->hi[k]);
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
    struct point best = {.f = INFINITY};

    if (count == 0)
        return base_err(err, SHOAL_E_INVAL, "no sample to fit");
    for (size_t i = 0; i < count; i++)
        if (!sample_is_sound(&samples[i]))
            return base_err(err, SHOAL_E_INVAL,
                            "sample %zu: times and batches must be above 0 and "
                            "finite, with at least as many replicas as machines",
                            i);
    struct seen seen = look(&fit);
    (void)make_ready(&fit, 0);
    for (size_t s = 0; s < sizeof OVERLAPS / sizeof *OVERLAPS; s++) {
        struct point p = {0};
        begin(&fit, &seen, p.x);
        p.x[OVERLAP] = fmin(OVERLAPS[s], fit.hi[OVERLAP]);
        minimise(&fit, &p);
        if (p.f < best.f)
            best = p;
        if (fit.hi[OVERLAP] <= 1)
            break;
    }
    double *v = best.x;
    if (!seen.machines) {
        v[NODE] = fmax(v[NODE], FARTHER * v[LOCAL]);
        v[NODE_EACH] = fmax(v[NODE_EACH], FARTHER * v[LOCAL_EACH]);
    }
    *out_speed = (struct shoal_goodput_speed){v[GRAD],  v[GRAD_EACH],  v[NODE],   v[NODE_EACH],
                                              v[LOCAL], v[LOCAL_EACH], v[OVERLAP]};
    return SHOAL_OK;
}
